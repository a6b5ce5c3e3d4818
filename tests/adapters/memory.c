// SPDX-License-Identifier: MIT-0
// tags: recorded
/* memory.c - what adapters make of memory that is not there: each allocation of
 * adrev_model.h and adrev_system.h fails in turn, alone or with all later ones.
 * They return NULL or ADREV_ENOMEM, lose nothing, and go on when there is
 * memory again.                                                              */

#include "implementation.h"
#include "adrev_assemble.h"

#include <limits.h>
#include <math.h>

#include "check.h"
#include "heap.h"

static heap memory;

static void *get(size_t bytes)
{
    return heap_alloc(bytes, &memory);
}

static void *get_zeros(size_t count, size_t size)
{
    void *p = get(count * size);
    return p == NULL ? NULL : memset(p, 0, count * size);
}

static void give_back(void *p)
{
    if (p != NULL)
        heap_free(p, &memory);
}

// A block that fails to grow stays.
static void *grow(void *p, size_t bytes)
{
    memory.allocations++;
    if (heap_refuses(&memory, bytes))
        return NULL;
    memory.live += p == NULL;
    return realloc(p, bytes);
}

// Of the adapters alone: what adrev itself allocates has tests of its own.
#define malloc get
#define calloc get_zeros
#define realloc grow
#define free give_back
#include <adrev_system.h>
#undef malloc
#undef calloc
#undef realloc
#undef free

/* --- what is done --------------------------------------------------------- */

// Beyond y0 = 2 there is another entry.
static void branches(const ad_rev *y, const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)ctx;
    r[0] = ad_lt(y[0], 2) ? ad_rec(ad_mul(p[0], ad_sqr(y[1])))
                          : ad_rec(ad_mul(p[0], ad_mul(y[1], y[2])));
    r[1] = ad_rec(ad_exp(y[1]));
    r[2] = y[2];
}

// A Jacobian on two paths. Whether all went well, or ended with ADREV_ENOMEM.
static bool solve(ad_system *s, size_t *failures)
{
    const double at[2][3] = { { 1, 3, 4 }, { 5, 3, 4 } };
    bool right = true;
    s->p[0] = 10;
    for (int k = 0; k < 2; k++) {
        adx_system_at(s, 0, at[k], NULL);
        ad_status status = adx_system_jacobian(s, &s->by_rows, 0);
        if (status == ADREV_ENOMEM) {       // and again, with memory
            ++*failures;
            right = right && s->model->stopped
                 && ad_system_status(s) == ADREV_ENOMEM;
            heap_fails(&memory, 0, false);
            right = right && ad_system_clear(s) == ADREV_OK;
            status = adx_system_jacobian(s, &s->by_rows, 0);
        }
        const adx_system_matrix *M = &s->by_rows;
        right = right && status == ADREV_OK && M->start[3] == M->count
             && M->across[1] == 1 && M->value[1] == (k == 0 ? 60 : 40)
             && M->value[2] == (k == 0 ? exp(3) : 30);
    }
    return right;
}

static bool estimate(ad_model *m, size_t *failures)
{
    if (adx_model_room(m, 7) == NULL) {
        ++*failures;
        heap_fails(&memory, 0, false);
        return ad_model_status(m) == ADREV_ENOMEM && m->stopped
            && ad_model_clear(m) == ADREV_OK && adx_model_room(m, 7) != NULL;
    }
    return ad_model_status(m) == ADREV_OK;
}

static ad_rev square(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_sqr(x[0]));
}

static ad_assembly *new_assembly(void)
{
    const double at = 3;
    const int32_t index = 0;
    ad_fn *fn = NULL;
    ad_assembly *a = NULL;
    ad_model *m = ad_model_scalar(square, NULL, 1);
    CHECK(ad_fn_record(&fn, adx_model_of_scalar, m, 1, &at, 1) == ADREV_OK,
          "a square");
    const ad_elements kind = { fn, 1, &index, NULL, &index };
    CHECK(ad_fn_assemble(&a, NULL, 1, 0, 1, 1, &kind) == ADREV_OK,
          "an assembly");
    ad_fn_free(fn);
    ad_model_free(m);
    return a;
}

int main(void)
{
    ad_assembly *a = new_assembly();
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        size_t failures = 0, missing = 0;
        for (size_t n = 1; n <= 40; n++) {
            heap_fails(&memory, n, for_ever != 0);
            ad_system *s = ad_system_equations(branches, NULL, 3, 1);
            ad_system *e = ad_system_elements(a, n % 2 == 0);
            ad_model *m = ad_model_scalar(square, NULL, 1);
            missing += (s == NULL) + (e == NULL) + (m == NULL);
            CHECK(s == NULL || solve(s, &failures), "allocation %zu", n);
            CHECK(m == NULL || estimate(m, &failures), "allocation %zu", n);
            ad_system_free(s);
            ad_system_free(e);
            ad_model_free(m);
            CHECK(memory.live == 0, "allocation %zu: %zu blocks are lost", n,
                  memory.live);
        }
        CHECK(failures > 8 && missing > 8, "%zu failures, %zu objects missing",
              failures, missing);
    }
    ad_assembly_free(a);
    return check_done("memory");
}
