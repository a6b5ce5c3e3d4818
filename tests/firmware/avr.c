// SPDX-License-Identifier: MIT-0
// tags: part
/* avr.c - an ATmega2560 under QEMU, which prints by its serial port. The C
 * library starts it; memory is painted before that (boot.h says what for). QEMU
 * cannot be ended from within: the byte 4 says that the program has ended.   */

#include "board.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

extern uint8_t _end[];          // of what the linker has placed

void exit(int status) __attribute__((noreturn));

// Without a stack, which lies in what is painted.
__attribute__((naked, used, section(".init3"))) static void paint(void)
{
    __asm__ volatile("ldi r26, lo8(_end)\n\t"
                     "ldi r27, hi8(_end)\n\t"
                     "ldi r24, 0x5a\n\t"
                     "ldi r25, hi8(%0)\n"
                     "1:\tst X+, r24\n\t"
                     "cpi r26, lo8(%0)\n\t"
                     "cpc r27, r25\n\t"
                     "brne 1b" : : "i"(RAMEND + 1));
}

size_t board_stack(void)
{
    const volatile uint8_t *used = _end;
    while (*used == 0x5a)
        used++;
    return (size_t)(RAMEND + 1 - (uintptr_t)used);
}

void board_write(const char *text)
{
    UCSR0B = 1 << TXEN0;
    for (; *text != '\0'; text++)
        UDR0 = (uint8_t)*text;
}

void board_quit(int status)
{
    exit(status);
}

void exit(int status)
{
    board_write(status ? "failed\n\4" : "\4");
    cli();
    for (;;)
        sleep_cpu();
}
