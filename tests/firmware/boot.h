// SPDX-License-Identifier: MIT-0
/* boot.h - what boards do before main, and how they measure the stack: memory
 * between the data and the stack is painted, and what is not paint any more has
 * been used. Places are those of board.ld.                                  */

#include "board.h"

extern uint32_t board_data_from[], board_data[], board_data_end[];
extern uint32_t board_bss[], board_bss_end[], board_stack_end[];

int main(void);

enum { BOARD_PAINT = 0x5a5a5a5a, BOARD_BOOT = 128 };    // bytes that boot uses

static inline void boot(void)
{
    const uintptr_t end = (uintptr_t)board_stack_end - BOARD_BOOT;
    const uint32_t *from = board_data_from;
    for (uint32_t *to = board_data; to < board_data_end; to++)
        *to = *from++;
    for (uint32_t *to = board_bss; to < board_bss_end; to++)
        *to = 0;
    for (volatile uint32_t *to = board_bss_end; (uintptr_t)to < end; to++)
        *to = BOARD_PAINT;
    board_quit(main());
}

size_t board_stack(void)
{
    const volatile uint32_t *used = board_bss_end;
    while (used < board_stack_end && *used == BOARD_PAINT)
        used++;
    return (size_t)(board_stack_end - used) * sizeof *used;
}
