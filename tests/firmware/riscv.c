// SPDX-License-Identifier: MIT-0
// tags: part
/* riscv.c - QEMU's `virt` board, which prints and stops by semihosting. */

#include "boot.h"

static void semihosting(long call, const void *argument)
{
    register long a0 __asm__("a0") = call;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".balign 16\n"
                     ".option push\n"
                     ".option norvc\n"
                     "slli x0, x0, 0x1f\n"
                     "ebreak\n"
                     "srai x0, x0, 7\n"
                     ".option pop"
                     : "+r"(a0) : "r"(a1) : "memory");
}

void board_write(const char *text)
{
    semihosting(4, text);
}

void board_quit(int status)
{
    const uintptr_t reason = status ? 0x20023 : 0x20026;
#if __riscv_xlen == 64
    const uintptr_t block[2] = { reason, (uintptr_t)status };
    semihosting(0x18, block);
#else
    semihosting(0x18, (const void *)reason);
#endif
    for (;;)
        continue;
}

__attribute__((used)) static void start(void)
{
    boot();
}

__attribute__((naked, used, section(".first"))) void reset(void)
{
    __asm__ volatile("la sp, board_stack_end\n"
#ifdef __riscv_flen
                     "li t0, 0x6000\n"
                     "csrs mstatus, t0\n"               // the FPU is on
#endif
                     "j start");
}
