// SPDX-License-Identifier: MIT-0
/* heap.h - memory of which one allocation fails, and which counts. Include it
 * after adrev.h.
 *
 *     heap h = { .failing = 3 };
 *     const ad_allocator memory = { heap_alloc, heap_free, &h };             */

#include <stdlib.h>
#include <string.h>

typedef struct heap {
    size_t allocations;
    size_t failing;             // this one; 0: none
    size_t live;
} heap;

static void *heap_alloc(size_t bytes, void *user)
{
    heap *h = user;
    if (++h->allocations == h->failing)
        return NULL;
    void *p = malloc(bytes);
    h->live += p != NULL;
    if (p != NULL)
        memset(p, 0xa5, bytes);         // nobody may count on zeros
    return p;
}

static void heap_free(void *p, void *user)
{
    heap *h = user;
    h->live -= p != NULL;
    free(p);
}
