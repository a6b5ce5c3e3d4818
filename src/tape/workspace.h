#pragma once

/* === tape/workspace =========================================================
 * Memory of one evaluation at a time. What an evaluation gives back is kept for
 * the next one, so that evaluations in a row allocate nothing; of two at a time
 * the second one allocates its own.
 *
 *   needs   tape/memory
 *   offers  ADX_LINE adx_align adx_workspace adx_spare adx_take_workspace
 *           adx_give_workspace adx_drop_spare
 * ========================================================================== */

#ifndef __STDC_NO_ATOMICS__
#include <stdatomic.h>

#define ADX_LINE (64 / sizeof(ad_real))     // numbers of a line of the cache

// Lanes begin with a line: vectors that cross two lines take up to 1.3 times as
// long (gmm, bench/).
static ADX_UNUSED ad_real *adx_align(ad_real *p)
{
    return p + (64 - (uintptr_t)p % 64) % 64 / sizeof *p;
}

typedef struct adx_workspace {
    size_t size;                // numbers
    size_t lanes;               // of the replay whose constants are in it, or 0
    ad_real *w;                 // in `memory`
    ad_real memory[];
} adx_workspace;

typedef _Atomic(adx_workspace *) adx_spare;     // NULL: there is none

// Takes the workspace that is kept, if it is large enough, or a new one; NULL:
// no memory.
static ADX_UNUSED adx_workspace *adx_take_workspace(adx_spare *spare,
                                         const ad_allocator *a, size_t size)
{
    // acquire: pairs with the release in adx_give_workspace, which makes the
    // constants in it visible.
    adx_workspace *work = atomic_exchange_explicit(spare, NULL,
                                                   memory_order_acquire);
    if (work != NULL && work->size >= size)
        return work;
    adx_drop(a, work);
    if (size > SIZE_MAX / 16 / sizeof *work->w)
        return NULL;
    work = (adx_workspace *)adx_take(a, sizeof *work
                                     + (size + ADX_LINE) * sizeof *work->w, 1);
    if (work == NULL)
        return NULL;
    work->size = size;
    work->lanes = 0;
    work->w = adx_align(work->memory);
    return work;
}

// Keeps a workspace, in place of one that is kept.
static ADX_UNUSED void adx_give_workspace(adx_spare *spare, const ad_allocator *a,
                               adx_workspace *work)
{
    // release: pairs with the acquire in adx_take_workspace.
    adx_drop(a, atomic_exchange_explicit(spare, work, memory_order_acq_rel));
}

// relaxed: nobody else has the function any more.
static ADX_UNUSED void adx_drop_spare(adx_spare *spare, const ad_allocator *a)
{
    adx_drop(a, atomic_exchange_explicit(spare, NULL, memory_order_relaxed));
}

#endif
