// SPDX-License-Identifier: MIT-0
/* variant.h - how a program of tests/firmware is written: PLAIN (the value
 * only), HAND (with derivatives by hand), TAPE (by adrev.h, in fixed memory),
 * ARRAYS (the same by array statements), CODE (by C code that adrev_function.h
 * has written) or FORMULAS (by C code that adrev_tensor.h has written). With
 * WRITE or WRITE_FORMULAS the program is the one that writes that code.      */

#if defined ARRAYS && !defined TAPE
#define TAPE
#endif
#if defined TAPE || defined HAND || defined CODE || defined FORMULAS
#define GIVES_DERIVATIVES 1
#else
#define GIVES_DERIVATIVES 0
#endif

#if defined WRITE
#include "adrev_function.h"
#elif defined WRITE_FORMULAS
#include "adrev_function.h"
#include "adrev_tensor.h"
#elif defined FORMULAS
#include "formulas.h"
#elif defined CODE
#include "model.h"
#elif defined TAPE
#include "adrev.h"

#ifdef __AVR__                  // which has 8 kB of memory in all
static uint64_t tape_memory[512];
#else
static uint64_t tape_memory[640];
#endif
static ad_tape *tape;

static void tape_open(void)
{
    tape = ad_tape_in(tape_memory, sizeof tape_memory);
    ad_use(tape);
}

// A program whose tape has failed prints no results.
static void tape_check(ad_status status)
{
    if (status != ADREV_OK) {
        board_write("status ");
        board_quit(1);
    }
}
#endif
#if !defined TAPE && !defined WRITE && !defined WRITE_FORMULAS
static void tape_open(void)
{
}
#endif
