// SPDX-License-Identifier: MIT-0
/* heap.h - memory that counts, and of which an allocation fails, once or with
 * all later ones. Include it after adrev.h. Not for several threads.
 *
 *     heap h = { .failing = 3 };
 *     const ad_allocator memory = { heap_alloc, heap_free, &h };
 *     ... h.live == 0: nothing is lost, and no NULL was given back
 *
 *     heap_fails(&h, 2, true);         the second from now on, and all later ones
 *     heap_fails(&h, 0, false);        none                                  */

#include <stdlib.h>
#include <string.h>

typedef struct heap {
    size_t allocations;         // asked for
    size_t failing;             // the number of the first that fails; 0: none
    bool for_ever;              // it and all later ones
    size_t limit;               // bytes of a block; a larger one fails; 0: any
    size_t largest;             // bytes of the largest that was asked for
    size_t live;                // blocks
} heap;

// The n-th allocation from now on fails; 0: none.
static inline void heap_fails(heap *h, size_t n, bool for_ever)
{
    h->failing = n > 0 ? h->allocations + n : 0;
    h->for_ever = for_ever;
}

static bool heap_refuses(const heap *h, size_t bytes)
{
    const size_t i = h->allocations;
    return (h->limit > 0 && bytes > h->limit)
        || (h->failing > 0
            && (h->for_ever ? i >= h->failing : i == h->failing));
}

static void *heap_alloc(size_t bytes, void *user)
{
    heap *h = user;
    h->allocations++;
    h->largest = bytes > h->largest ? bytes : h->largest;
    void *p = heap_refuses(h, bytes) ? NULL : malloc(bytes);
    h->live += p != NULL;
    if (p != NULL)
        memset(p, 0xa5, bytes);         // nothing may count on zeros
    return p;
}

static void heap_free(void *p, void *user)
{
    heap *h = user;
    h->live--;
    free(p);
}
