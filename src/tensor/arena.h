#pragma once

/* === tensor/arena ===========================================================
 * Memory of a text that is bound: pieces that live until all are freed. The
 * first failure stays in the arena: functions that take memory may go on with
 * NULL, and who called them looks at the status at the end.
 *
 *   needs   tape/memory
 *   offers  adx_arena adx_arena_fail ADX_GET adx_free_arena
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef struct adx_arena_block {
    struct adx_arena_block *next;
    ad_real align;              // what follows is aligned for all that we have
} adx_arena_block;

typedef struct adx_arena {
    const ad_allocator *memory;
    adx_arena_block *block;     // the latest, which leads to those before
    char *at;                   // free memory in it
    size_t left;                // bytes there
    ad_status status;           // of everything that was made in it
} adx_arena;

// Notes a failure; the first one stays.
static void adx_arena_fail(adx_arena *a, ad_status status)
{
    if (a->status == ADREV_OK)
        a->status = status;
}

#define ADX_ARENA_BLOCK 16000   // bytes

// Returns n elements, all zeros. NULL: no memory, which a->status says, too. n
// has 64 bits on all machines, since texts count in them.
static void *adx_arena_get(adx_arena *a, uint64_t n, size_t size)
{
    if (n > SIZE_MAX / 4 / size) {
        adx_arena_fail(a, ADREV_ENOMEM);
        return NULL;
    }
    size_t bytes = ((size_t)n * size + 15) / 16 * 16;
    if (bytes > a->left) {
        size_t room = bytes > ADX_ARENA_BLOCK / 4 ? bytes : ADX_ARENA_BLOCK;
        adx_arena_block *b = a->status != ADREV_OK ? NULL
            : (adx_arena_block *)adx_take(a->memory, 1, sizeof *b + room);
        if (b == NULL) {
            adx_arena_fail(a, ADREV_ENOMEM);
            return NULL;
        }
        b->next = a->block;
        a->block = b;
        if (room == bytes && a->left > 0) {     // the other one goes on
            memset(b + 1, 0, bytes);
            return b + 1;
        }
        a->at = (char *)(b + 1);
        a->left = room;
    }
    void *to = a->at;
    a->at += bytes;
    a->left -= bytes;
    memset(to, 0, bytes);
    return to;
}

#define ADX_GET(a, n, type) ((type *)adx_arena_get(a, n, sizeof(type)))

static void adx_free_arena(adx_arena *a)
{
    while (a->block != NULL) {
        adx_arena_block *next = a->block->next;
        adx_drop(a->memory, a->block);
        a->block = next;
    }
    a->left = 0;
}

ADX_SELDOM_END
