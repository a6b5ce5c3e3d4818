// SPDX-License-Identifier: MIT-0
// tags:
// flags:
/* hostile.c - tests/core/tape.c in memory that notices every wrong access: blocks
 * as small as they can be, poisoned when they come and when they go, guarded
 * on both sides, and within one test no address comes twice.                */

#define ADREV_BLOCK 1
#define TAPE_NAME "hostile"
#include "tape.c"

/* A block: header, guard, the bytes, guard, each a multiple of 16 bytes. All
 * of them lie in one arena that is only ever used forwards. A block that was
 * freed keeps its poison, which is looked at when the test is done; then the
 * arena is used anew.                                                        */

enum { GUARD = 64, FRESH = 0xCB, GONE = 0xDD, FENCE = 0xFE };

typedef struct block {
    size_t bytes;
    bool live;
} block;

#define ARENA ((size_t)1 << 29)

static unsigned char *arena;
static size_t used;

static size_t rounded(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

static size_t span(size_t bytes)
{
    return rounded(sizeof(block)) + GUARD + rounded(bytes) + GUARD;
}

static unsigned char *bytes_of_block(block *b)
{
    return (unsigned char *)b + rounded(sizeof(block)) + GUARD;
}

static void *tape_alloc(size_t bytes, void *user)
{
    (void)user;
    allocations++;
    if (arena == NULL)
        arena = malloc(ARENA);
    if (arena == NULL || bytes > ARENA || span(bytes) > ARENA - used)
        return NULL;
    block *b = (void *)(arena + used);
    memset(b, FENCE, span(bytes));
    used += span(bytes);
    b->bytes = bytes;
    b->live = true;
    return memset(bytes_of_block(b), FRESH, bytes);
}

static bool all(const unsigned char *from, size_t n, int want)
{
    for (size_t i = 0; i < n; i++)
        if (from[i] != want)
            return false;
    return true;
}

static void check_guards(block *b)
{
    const unsigned char *inside = bytes_of_block(b);
    size_t behind = rounded(b->bytes) - b->bytes + GUARD;
    CHECK(all(inside - GUARD, GUARD, FENCE), "written before a block");
    CHECK(all(inside + b->bytes, behind, FENCE), "written behind a block");
}

static void tape_free(void *memory, void *user)
{
    (void)user;
    frees++;
    block *b = (void *)((unsigned char *)memory - GUARD
                        - rounded(sizeof(block)));
    CHECK(b->live, "a block is freed twice, or was never given");
    check_guards(b);
    b->live = false;
    memset(memory, GONE, b->bytes);
}

// Once nothing is alive: was anything written after it was freed?
static void tape_inspect(void)
{
    for (size_t at = 0; at < used;) {
        block *b = (void *)(arena + at);
        CHECK(!b->live, "%zu bytes leaked", b->bytes);
        CHECK(b->live || all(bytes_of_block(b), b->bytes, GONE),
              "%zu bytes were written after they were freed", b->bytes);
        check_guards(b);
        at += span(b->bytes);
    }
    used = 0;
}
