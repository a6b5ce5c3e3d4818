// SPDX-License-Identifier: MIT-0
// tags: recorded
/* no_stdlib.c - recorded functions without malloc: ADREV_NO_STDLIB and the
 * caller's allocator, from which comes all that they take and to which all of
 * it goes back, whichever allocation fails.                                  */

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static void *my_alloc(size_t bytes, void *user)
{
    (void)user;
    return malloc(bytes);
}

static void my_free(void *block, void *user)
{
    (void)user;
    free(block);
}

// The library's are none: xxHash names them, and nobody calls them.
static int library_calls;

static void *library_alloc(size_t bytes)
{
    library_calls++;
    return malloc(bytes);
}

static void library_free(void *block)
{
    library_calls++;
    free(block);
}

#define malloc  library_alloc
#define free    library_free
#define calloc  this_is_not_there
#define realloc this_is_not_there_either
#define ADREV_NO_STDLIB
#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#include "adrev_bulk.h"
#include "adrev_loop.h"
#include "adrev_struct.h"
#include "adrev_tensor.h"

#include "check.h"

#include <string.h>

// As memory that runs out.
static struct heap {
    size_t allocations;
    size_t failing;             // from this one on; 0: none
    size_t live;
} heap;

static void *counted_alloc(size_t bytes, void *user)
{
    struct heap *h = user;
    h->allocations++;
    void *p = h->failing > 0 && h->allocations >= h->failing
            ? NULL : my_alloc(bytes, user);
    h->live += p != NULL;
    return p;
}

static void counted_free(void *block, void *user)
{
    struct heap *h = user;
    h->live -= block != NULL;
    my_free(block, user);
}

static const ad_allocator counted = { counted_alloc, counted_free, &heap };
static const ad_fn_options options = { .allocator = &counted };

// x0^2 x1, or from x0 = 1 on x0 x1.
static void branch(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], x[1]));
    if (ad_lt(x[0], 1))
        y[0] = ad_rec(ad_mul(y[0], x[0]));
}

static void check_gradient(ad_fn *fn, const ad_real x[2])
{
    ad_real y = 0;
    ad_real g[2] = { 0, 0 };
    bool below = x[0] < 1;
    CHECK(ad_fn_gradient(fn, x, &y, g) == ADREV_OK, "gradient");
    CHECK_CLOSE(y, below ? x[0] * x[0] * x[1] : x[0] * x[1], 1);
    CHECK_CLOSE(g[0], below ? 2 * x[0] * x[1] : x[1], 1);
    CHECK_CLOSE(g[1], below ? x[0] * x[0] : x[0], 1);
}

/* --- files, which have an allocator, too ---------------------------------- */

static unsigned char file[4096];
static size_t file_bytes;

static void collect(const char *text, size_t length, void *user)
{
    (void)user;
    if (length <= sizeof file - file_bytes)
        memcpy(file + file_bytes, text, length);
    file_bytes += length;
}

static void check_file(const ad_fn *fn, const ad_real x[2])
{
    ad_fn *again = NULL;
    file_bytes = 0;
    CHECK(ad_fn_save(fn, collect, NULL) == ADREV_OK
              && file_bytes <= sizeof file, "save: %zu bytes", file_bytes);
    CHECK(ad_fn_load(&again, file, file_bytes, NULL) == ADREV_ENOMEM
              && again == NULL, "loaded without an allocator");
    CHECK(ad_fn_load(&again, file, file_bytes, &options) == ADREV_OK, "load");
    check_gradient(again, x);
    ad_fn_free(again);
}

/* --- one path, and two ---------------------------------------------------- */

static void check_function(void)
{
    const ad_real x[2] = { (ad_real)0.5, (ad_real)1.75 };
    ad_fn *fn = NULL;
    CHECK(ad_fn_record_with(&fn, NULL, branch, NULL, 2, x, 1) == ADREV_ENOMEM
              && fn == NULL, "recorded without an allocator");
    CHECK(ad_fn_record_with(&fn, &options, branch, NULL, 2, x, 1) == ADREV_OK,
          "%s", ad_fn_reason());
    check_gradient(fn, x);
    check_file(fn, x);
    const ad_c_options code = { .functions = ADREV_C_VALUE };
    file_bytes = 0;
    CHECK(ad_fn_write_c(fn, &code, collect, NULL, NULL) == ADREV_OK
              && file_bytes > 0, "C code");
    CHECK(ad_fn_compile(fn, NULL) == ADREV_ECOMPILE, "machine code");
    ad_fn_free(fn);
    CHECK(heap.live == 0, "%zu blocks leaked", heap.live);
}

// At two points, on two paths. Whether all allocations are granted.
static bool follow(size_t failing)
{
    static const ad_real at[2][2] = { { (ad_real)0.5, (ad_real)1.75 },
                                      { (ad_real)1.5, (ad_real)2.25 } };
    heap = (struct heap){ .failing = failing };
    bool all = true;
    ad_traced *t = ad_traced_new_with(&options, branch, NULL, 2, 1, 0);
    for (int i = 0; t != NULL && i < 4; i++) {
        ad_fn *fn = NULL;
        ad_status s = ad_traced_at(t, at[i % 2], &fn);
        CHECK((s == ADREV_OK) == (fn != NULL)
                  && (s == ADREV_OK || s == ADREV_ENOMEM), "%s",
              ad_message(s));
        all = all && s == ADREV_OK;
        heap.failing = 0;       // for what the gradient takes
        if (s == ADREV_OK)
            check_gradient(fn, at[i % 2]);
        heap.failing = failing;
    }
    if (t != NULL && all) {
        size_t recordings = 0;
        CHECK(ad_traced_paths(t, &recordings) == 2 && recordings == 2,
              "%zu recordings", recordings);
    }
    ad_traced_free(t);
    CHECK(heap.live == 0, "failing from %zu: %zu blocks leaked", failing,
          heap.live);
    return t != NULL && all;
}

static void check_paths(void)
{
    size_t n = 1;
    CHECK(ad_traced_new_with(NULL, branch, NULL, 2, 1, 0) == NULL,
          "paths without an allocator");
    CHECK(follow(0), "with all memory");
    while (n < 2000 && !follow(n))
        n++;
    CHECK(n > 10 && n < 2000, "%zu allocations", n);
}

/* --- texts of formulas ----------------------------------------------------- */

static void check_text(void)
{
    const ad_tensor_options from = { .allocator = &counted };
    ad_tensor *t = NULL;
    CHECK(ad_tensor_new(&t, "out y = 1;", NULL, NULL) == ADREV_ENOMEM
          && t == NULL, "read without an allocator");
    CHECK(ad_tensor_new(&t, "out y = 1;", &from, NULL) == ADREV_OK, "a text");
    ad_tensor_free(t);
    CHECK(heap.live == 0, "%zu blocks leaked", heap.live);
}

int main(void)
{
    check_function();
    check_paths();
    heap.failing = 0;
    check_text();
    (void)library_alloc;        // without xxHash nobody names them
    (void)library_free;
    CHECK(library_calls == 0, "%d calls of malloc and free", library_calls);
    return check_done("no_stdlib");
}
