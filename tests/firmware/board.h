// SPDX-License-Identifier: MIT-0
/* board.h - what a program of tests/firmware finds on its board, or on the
 * host: inputs that the compiler cannot see, a place for results, and a frame
 * around what is measured. A program defines `evaluate`, which reads `in` and
 * writes `out`; it runs twice, so that memory is in the state of later rounds,
 * and instructions of the second round are counted.
 *
 * A board prints the results as the bits of their numbers, and then the bytes
 * of stack that were used.                                                  */

#ifndef ADREV_TESTS_FIRMWARE_BOARD_H
#define ADREV_TESTS_FIRMWARE_BOARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef DOUBLE
typedef double number;
#define ADREV_REAL double
#else
typedef float number;
#define ADREV_REAL float
#endif

enum { BOARD_NUMBERS = 64 };

extern volatile number in[BOARD_NUMBERS];
extern volatile number out[BOARD_NUMBERS];
extern size_t results;          // how many there are in out

void prepare(void);             // once, before anything is counted
void evaluate(void);

// Of the board. quit does not return.
void board_write(const char *text);
void board_quit(int status);
size_t board_stack(void);

#endif
