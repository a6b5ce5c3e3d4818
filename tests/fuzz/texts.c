// SPDX-License-Identifier: MIT-0
// tags: part
/* texts.c - any text of formulas. The first byte says which allocation fails.
 *
 * A text is accepted, or refused with a place in it. What is accepted is
 * printed, and the print is understood in the same way. Nothing leaks.      */

#include <stdbool.h>
#include <stddef.h>

#define ADREV_IMPLEMENTATION
#include "adrev_tensor.h"

#include "fuzz.h"
#include "heap.h"

typedef struct page {
    char text[1 << 16];
    size_t n;
} page;

static void put(const char *text, size_t n, void *user)
{
    page *p = user;
    FUZZ_MUST(p->n + n < sizeof p->text, "too long a print");
    memcpy(p->text + p->n, text, n);
    p->n += n;
    p->text[p->n] = '\0';
}

static void print_again(const ad_tensor *t)
{
    static page first;
    static page second;
    ad_tensor *again = NULL;
    ad_tensor_error e;
    first.n = second.n = 0;
    adx_print_tree(&t->tree, put, &first);
    FUZZ_MUST(ad_tensor_new(&again, first.text, NULL, &e) == ADREV_OK,
              "%s%s", first.text, e.text);
    adx_print_tree(&again->tree, put, &second);
    FUZZ_MUST(strcmp(first.text, second.text) == 0, "%s%s", first.text,
              second.text);
    ad_tensor_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    heap h = { .failing = data[0] };
    const ad_allocator a = { heap_alloc, heap_free, &h };
    const ad_tensor_options o = { .allocator = &a };
    char *text = malloc(size);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    ad_tensor *t = NULL;
    ad_tensor_error e;
    ad_status s = ad_tensor_new(&t, text, &o, &e);
    FUZZ_MUST((s == ADREV_OK) == (t != NULL), "%s", ad_message(s));
    FUZZ_MUST(s == ADREV_OK || s == ADREV_ESYNTAX
              || (s == ADREV_ENOMEM && data[0] > 0), "%s", ad_message(s));
    if (s == ADREV_ESYNTAX)
        FUZZ_MUST(strlen(e.text) < 240 && e.text[strlen(e.text) - 1] == '^'
                  && e.line > 0 && e.column > 0, "%s", e.text);
    if (s == ADREV_OK)
        print_again(t);
    ad_tensor_free(t);
    FUZZ_MUST(h.live == 0, "%zu blocks are left", h.live);
    free(text);
    return 0;
}
