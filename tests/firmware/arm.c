// SPDX-License-Identifier: MIT-0
// tags: part
/* arm.c - a Cortex-M under QEMU, which prints and stops by semihosting. */

#include "boot.h"

static void semihosting(uint32_t call, const void *argument)
{
    register uint32_t r0 __asm__("r0") = call;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void board_write(const char *text)
{
    semihosting(4, text);
}

void board_quit(int status)
{
    semihosting(0x18, (const void *)(uintptr_t)(status ? 0x20023 : 0x20026));
    for (;;)
        continue;
}

static void fault(void)
{
    board_write("fault\n");
    board_quit(1);
}

static void reset(void)
{
#ifdef __ARM_FP
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;     // the FPU is on
#endif
    boot();
}

typedef void handler(void);

__attribute__((section(".first"), used)) static handler *const vectors[8] = {
    (handler *)board_stack_end, reset, fault, fault, fault, fault, fault
};
