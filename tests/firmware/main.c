// SPDX-License-Identifier: MIT-0
// tags: part
/* main.c - runs a program of tests/firmware and prints what it finds. */

#include "board.h"

#include <string.h>

volatile number in[BOARD_NUMBERS];
volatile number out[BOARD_NUMBERS];
size_t results;

// Their addresses mark what is counted in a trace of all instructions. (They
// differ, or the compiler would make one of both.)
__attribute__((noinline)) static void counting_begins(void)
{
    __asm__ volatile("nop");
}

__attribute__((noinline)) static void counting_ends(void)
{
    __asm__ volatile("nop\n\tnop");
}

static void write_hexadecimal(uint32_t word)
{
    char text[10];
    for (int i = 0; i < 8; i++) {
        const unsigned digit = word >> (28 - 4 * i) & 15;
        text[i] = (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);
    }
    text[8] = ' ';
    text[9] = '\0';
    board_write(text);
}

// The words of a number are written from the one with the sign on.
static void write_number(number x)
{
    uint32_t word[sizeof x / sizeof(uint32_t)];
    memcpy(word, &x, sizeof x);
    for (size_t i = sizeof x / sizeof *word; i > 0; i--)
        write_hexadecimal(word[i - 1]);
}

int main(void)
{
    prepare();
    evaluate();
    counting_begins();
    evaluate();
    counting_ends();
    const size_t stack = board_stack();
    for (size_t i = 0; i < results; i++)
        write_number(out[i]);
    board_write("\nstack ");
    write_hexadecimal((uint32_t)stack);
    board_write("\n");
    return 0;
}
