// SPDX-License-Identifier: MIT-0
// tags: debug
// flags:
/* external.c - users' own derivatives: S20 of the sheet, rules with several
 * inputs and outputs in every kind of sweep, what is saved and destroyed,
 * statements that are swept always, and what happens when a function is missing
 * or fails. (Within checkpoints and loops: always.c.)                        */

#include "implementation.h"
#include "adrev.h"
#include "check.h"
#include "heap.h"
#include "told.h"

#include <stdlib.h>
#include <string.h>

static ad_tape *tape;

/* --- S20: straight through ------------------------------------------------ */

static bool pass_back(const void *saved, size_t m, const ad_real dy[],
                      size_t n, ad_real dx[])
{
    (void)saved;
    (void)m;
    for (size_t i = 0; i < n; i++)
        dx[i] += dy[i];
    return true;
}

static const ad_external_rule straight = { .name = "straight through",
                                           .pullback = pass_back };

static ad_rev rounded(ad_rev x)
{
    ad_rev y;
    ad_real v = adm_round(x.v);
    ad_external(&straight, NULL, 0, 1, &x, 1, &v, &y);
    return y;
}

static void run_s20(void)
{
    ad_rev x = ad_input((ad_real)1.6);
    ad_rev y = ad_rec(ad_mul(3, rounded(ad_rec(ad_mul(x, x)))));
    ad_real g = 0;
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK, "gradient");
    CHECK_CLOSE(y.v, 9, 0);
    CHECK_NEAR(g, 9.6, 1e-6);
}

/* --- a rule with two outputs ---------------------------------------------- */

// y = (the sum of c x, the product of the first two), with c saved.
typedef struct weights {
    long double stamp;          // wants the strictest alignment
    size_t n;
    ad_real c[8];
    ad_real first[2];
    int *destroyed;             // counts
} weights;

static int pullbacks;
static int fail_at;             // the pullback that fails; 0: none

static bool two_back(const void *saved, size_t m, const ad_real dy[],
                     size_t n, ad_real dx[])
{
    const weights *w = saved;
    pullbacks++;
    CHECK(m == 2 && n == w->n && w->stamp == 42, "m %zu, n %zu", m, n);
    CHECK((uintptr_t)saved % _Alignof(max_align_t) == 0, "alignment");
    for (size_t i = 0; i < n; i++)
        dx[i] += w->c[i] * dy[0];
    dx[0] += w->first[1] * dy[1];
    dx[1] += w->first[0] * dy[1];
    return pullbacks != fail_at;
}

static int rows_pulled;          // by calls for several of them
static int calls_for_rows;

static bool two_back_n(const void *saved, size_t k, size_t m,
                       const ad_real dy[], size_t n, ad_real dx[])
{
    CHECK(k > 1 && k <= 8, "%zu rows", k);
    rows_pulled += (int)k;
    calls_for_rows++;
    for (size_t r = 0; r < k; r++)
        if (!two_back(saved, m, dy + r * m, n, dx + r * n))
            return false;
    return true;
}

static int columns_pushed;
static int calls_for_columns;

static bool two_forward(const void *saved, size_t n, const ad_real dx[],
                        size_t m, ad_real dy[])
{
    const weights *w = saved;
    CHECK(m == 2 && n == w->n, "m %zu, n %zu", m, n);
    dy[0] = 0;
    for (size_t i = 0; i < n; i++)
        dy[0] += w->c[i] * dx[i];
    dy[1] = w->first[1] * dx[0] + w->first[0] * dx[1];
    return true;
}

static bool two_forward_n(const void *saved, size_t k, size_t n,
                          const ad_real dx[], size_t m, ad_real dy[])
{
    CHECK(k > 1 && k <= 8, "%zu columns", k);
    columns_pushed += (int)k;
    calls_for_columns++;
    for (size_t r = 0; r < k; r++)
        if (!two_forward(saved, n, dx + r * n, m, dy + r * m))
            return false;
    return true;
}

static void count_destroyed(const void *saved)
{
    const weights *w = saved;
    ++*w->destroyed;
}

static const ad_external_rule both = { .name = "both ways",
                                       .pullback = two_back,
                                       .pushforward = two_forward,
                                       .destroy = count_destroyed };
static const ad_external_rule back = { .name = "reverse only",
                                       .pullback = two_back,
                                       .destroy = count_destroyed };

static const ad_external_rule abreast = { .name = "several rows",
                                          .pullback = two_back,
                                          .destroy = count_destroyed,
                                          .pullback_n = two_back_n };

static const ad_external_rule columns = { .name = "several columns",
                                          .pullback = two_back,
                                          .pushforward = two_forward,
                                          .destroy = count_destroyed,
                                          .pushforward_n = two_forward_n };

static int destroyed;

static ad_status record(const ad_external_rule *rule, size_t n,
                        const ad_rev x[], ad_rev y[2])
{
    weights w = { .stamp = 42, .n = n, .first = { x[0].v, x[1].v },
                  .destroyed = &destroyed };
    ad_real v[2] = { 0, x[0].v * x[1].v };
    for (size_t i = 0; i < n; i++) {
        w.c[i] = (ad_real)i + (ad_real)0.5;
        v[0] += w.c[i] * x[i].v;
    }
    return ad_external(rule, &w, sizeof w, n, x, 2, v, y);
}

static void in_scalars(size_t n, const ad_rev x[], ad_rev y[2])
{
    y[0] = (ad_rev){ 0 };
    for (size_t i = 0; i < n; i++)
        ad_acc(&y[0], ad_mul(x[i], (ad_real)i + (ad_real)0.5));
    y[1] = ad_rec(ad_mul(x[0], x[1]));
}

// m rows, some of them the outputs twice, of n inputs.
static void compare(size_t m, size_t n, const ad_rev x[], const ad_rev got[],
                    const ad_rev want[])
{
    ad_rev y[2][12] = { { { 0 } } };
    ad_real J[2][12 * 8];
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < 2; k++)
            y[k][i] = ad_rec(ad_mul(k ? want[i % 2] : got[i % 2],
                                    (ad_real)(i + 1)));
    CHECK(ad_jacobian(tape, m, y[0], n, x, J[0]) == ADREV_OK, "%zu", m);
    CHECK(ad_jacobian(tape, m, y[1], n, x, J[1]) == ADREV_OK, "%zu", m);
    for (size_t i = 0; i < m * n; i++)
        CHECK_NEAR(J[0][i], J[1][i], 1e-6);
}

// All widths of sweeps, and both directions; x even, shuffled, with constants.
static void run_jacobians(const ad_external_rule *rule)
{
    ad_rev x[8];
    ad_real v[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    for (int how = 0; how < 3; how++) {
        ad_tape_clear(tape);
        ad_inputs(8, v, x);
        ad_rev arg[8];
        for (size_t i = 0; i < 8; i++)
            arg[i] = how == 0 ? x[i] : how == 1 ? x[i * 3 % 8]
                   : i == 4 ? (ad_rev){ .v = 2 } : x[i];
        ad_rev got[2], want[2];
        CHECK(record(rule, 8, arg, got) == ADREV_OK, "recorded");
        in_scalars(8, arg, want);
        CHECK_NEAR(got[0].v, want[0].v, 1e-6);
        for (size_t m = 1; m <= 12; m++) {
            compare(m, 8, x, got, want);
            compare(m, 1, x + 1, got, want);
        }
    }
}

static void run_pushed(void)
{
    ad_rev x[2], y[2];
    ad_real dy[2] = { 7, 7 };
    ad_inputs(2, (ad_real[]){ 3, 4 }, x);
    record(&back, 2, x, y);
    CHECK(ad_pushforward(tape, 2, x, (ad_real[]){ 1, 1 }, 2, y, dy)
              == ADREV_EEXTERNAL && dy[0] == 7, "no pushforward");
    ad_tape_clear(tape);
    ad_inputs(2, (ad_real[]){ 3, 4 }, x);
    record(&both, 2, x, y);
    CHECK(ad_pushforward(tape, 2, x, (ad_real[]){ 1, 1 }, 2, y, dy)
              == ADREV_OK, "pushed");
    CHECK_CLOSE(dy[0], 2, 0);
    CHECK_CLOSE(dy[1], 7, 0);
}

// Row i of 10: i times a result, but row 3 is an input.
static void record_rows(ad_rev x[8], ad_rev rows[10])
{
    ad_rev y[2];
    ad_inputs(8, (ad_real[8]){ 1, 2, 3, 4, 5, 6, 7, 8 }, x);
    CHECK(record(&abreast, 8, x, y) == ADREV_OK, "recorded");
    for (size_t i = 0; i < 10; i++)
        rows[i] = i == 3 ? x[2] : ad_rec(ad_mul(y[i % 2], (ad_real)i));
}

// Rows 0 and 3 have no adjoints here; the others are pulled `calls` times
// together, or one by one.
static void check_rows(ad_tape *t, int calls)
{
    ad_rev x[8], rows[10];
    ad_real J[10 * 8], want[10 * 8] = { 0 };
    ad_use(t);
    record_rows(x, rows);
    for (size_t i = 1; i < 10; i++)
        CHECK(ad_gradient(t, rows[i], 8, x, want + i * 8) == ADREV_OK,
              "row %zu", i);
    rows_pulled = calls_for_rows = pullbacks = 0;
    CHECK(ad_jacobian(t, 10, rows, 8, x, J) == ADREV_OK, "Jacobian");
    CHECK(memcmp(J, want, sizeof J) == 0, "with %d calls", calls);
    CHECK(pullbacks == 8, "%d rows of 8", pullbacks);
#ifdef ADX_LANES
    CHECK(rows_pulled == (calls > 0 ? 8 : 0) && calls_for_rows == calls,
          "%d rows, %d calls of %d", rows_pulled, calls_for_rows, calls);
#endif
    fail_at = 3;
    pullbacks = 0;
    CHECK(ad_jacobian(t, 10, rows, 8, x, J) == ADREV_EEXTERNAL, "fails");
    fail_at = 0;
    CHECK(ad_jacobian(t, 1, rows + 1, 8, x, J) == ADREV_OK
              && memcmp(J, want + 8, 8 * sizeof *J) == 0, "one row");
    ad_use(tape);
}

// Several rows are pulled by one call, those without adjoints not at all; fewer
// at a time where there is no memory for more.
static void run_abreast(void)
{
    static _Alignas(64) unsigned char buffer[8000];
    ad_rev x[8], rows[10];
    record_rows(x, rows);
    const size_t bytes = ad_tape_bytes(tape);
    const size_t row = (ad_tape_stats(tape).values + 1 + 8 + 2)
                     * sizeof(ad_real);
    ad_tape_clear(tape);
    check_rows(tape, 2);                // 8 and 2 rows
    for (int i = 0; i < 3; i++) {       // 8, 4, 1 at a time
        size_t all = bytes + (i == 0 ? 7 : i == 1 ? 3 : 0) * row;
        CHECK(all <= sizeof buffer, "%zu bytes", all);
        ad_tape *t = ad_tape_in(buffer, all);
        check_rows(t, i == 2 ? 0 : 2 + i);
        ad_tape_free(t);
    }
}

// More results than inputs: columns are pushed together.
static void run_columns(void)
{
    ad_rev x[8], y[2], rows[20];
    ad_real J[20 * 8], g[8];
    ad_inputs(8, (ad_real[8]){ 1, 2, 3, 4, 5, 6, 7, 8 }, x);
    CHECK(record(&columns, 8, x, y) == ADREV_OK, "recorded");
    for (size_t i = 0; i < 20; i++)
        rows[i] = ad_rec(ad_mul(y[i % 2], (ad_real)i));
    columns_pushed = calls_for_columns = 0;
    CHECK(ad_jacobian(tape, 20, rows, 8, x, J) == ADREV_OK, "Jacobian");
#ifdef ADX_LANES
    CHECK(columns_pushed == 8 && calls_for_columns == 1,
          "%d columns, %d calls", columns_pushed, calls_for_columns);
#endif
    for (size_t i = 0; i < 20; i++) {
        CHECK(ad_gradient(tape, rows[i], 8, x, g) == ADREV_OK, "row %zu", i);
        for (size_t j = 0; j < 8; j++)
            CHECK_NEAR(J[i * 8 + j], g[j], 1e-6);
    }
}

/* --- life ----------------------------------------------------------------- */

// Destroyed once each: at a rewind, a clear, the end of the tape, or at once.
static void run_destroyed(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev x[2], y[2];
    ad_inputs(2, (ad_real[]){ 3, 4 }, x);
    destroyed = 0;
    record(&both, 2, x, y);
    ad_mark mark = ad_tape_mark(t);
    record(&both, 2, y, y);
    record(&both, 2, y, y);
    CHECK(destroyed == 0, "%d destroyed while in use", destroyed);
    CHECK(ad_tape_rewind(t, mark) == ADREV_OK && destroyed == 2,
          "rewind: %d destroyed, want 2", destroyed);
    record(&both, 2, x, y);
    ad_tape_clear(t);
    CHECK(destroyed == 4, "clear: %d destroyed, want 4", destroyed);
    ad_inputs(2, (ad_real[]){ 3, 4 }, x);
    record(&both, 2, x, y);
    ad_rev c[2] = { { .v = 1 }, { .v = 2 } };
    record(&both, 2, c, y);
    CHECK(destroyed == 5 && y[0].job == 0 && y[1].v == 2,
          "of constants: %d destroyed, want 5", destroyed);
    ad_tape_free(t);
    CHECK(destroyed == 6, "free: %d destroyed, want 6", destroyed);
    record(&both, 2, c, y);
    CHECK(destroyed == 7, "without a tape: %d destroyed, want 7", destroyed);
    ad_use(tape);
}

// Not called where no output has an adjoint.
static void run_unused(void)
{
    ad_rev x[2], y[2];
    ad_real g[2];
    ad_inputs(2, (ad_real[]){ 3, 4 }, x);
    record(&both, 2, x, y);
    ad_rev z = ad_rec(ad_mul(x[0], x[1]));
    pullbacks = 0;
    CHECK(ad_gradient(tape, z, 2, x, g) == ADREV_OK && g[0] == 4, "gradient");
    CHECK(pullbacks == 0, "called without need");
}

/* --- mistakes ------------------------------------------------------------- */

static void expect_failed(ad_status got, ad_status want, const ad_rev *y)
{
    CHECK(got == want, "got \"%s\"", ad_message(got));
    CHECK(ad_tape_status(tape) == want, "the tape: \"%s\"",
          ad_message(ad_tape_status(tape)));
    CHECK(y->job == 0, "not a constant");
    ad_tape_clear(tape);
    CHECK(ad_tape_status(tape) == ADREV_OK, "not usable after clear");
}

static void run_mistakes(void)
{
    static const ad_external_rule none = { .name = "nothing" };
    const ad_real v[1] = { 2 };
    ad_rev y = { 0, 1, 1 };
    ad_rev x = ad_input(1);
    expect_failed(ad_external(&none, NULL, 0, 1, &x, 1, v, &y),
                  ADREV_EEXTERNAL, &y);
    x = ad_input(1);
    y.job = 1;
    expect_failed(ad_external(NULL, NULL, 0, 1, &x, 1, v, &y),
                  ADREV_EEXTERNAL, &y);
    x = ad_input(1);
    y.job = 0;
    expect_failed(ad_external(&straight, NULL, 0, 1, &x, 0, v, &y),
                  ADREV_ESHAPE, &y);
    expect_failed(ad_external(&straight, NULL, 0, 1, NULL, 1, v, &y),
                  ADREV_ESHAPE, &y);
    expect_failed(ad_external(&straight, NULL, 5, 1, &x, 1, v, &y),
                  ADREV_ESHAPE, &y);
    expect_failed(ad_external(&straight, NULL, 0, 1, &x, 1, NULL, &y),
                  ADREV_ESHAPE, &y);
    ad_rev old = ad_input(1);
    ad_tape_clear(tape);
    expect_failed(ad_external(&straight, NULL, 0, 1, &old, 1, v, &y),
                  ADREV_EFOREIGN, &y);
}

// A pullback that fails: outputs untouched, and the next query may succeed.
static void run_failing(void)
{
    ad_rev x[2], y[2];
    ad_real g[2] = { 7, 7 };
    ad_inputs(2, (ad_real[]){ 3, 4 }, x);
    record(&both, 2, x, y);
    pullbacks = 0;
    fail_at = 1;
    CHECK(ad_gradient(tape, y[1], 2, x, g) == ADREV_EEXTERNAL && g[0] == 7,
          "a pullback that fails");
    CHECK(ad_gradient(tape, y[1], 2, x, g) == ADREV_OK && g[0] == 4,
          "the next query");
    fail_at = 0;
}

// A pullback that differentiates by itself: it finds no tape current, and
// what it records does not disturb the sweep.
static ad_rev cube(const ad_rev *x, void *ctx)
{
    ad_rev y = x[0];
    (void)ctx;
    for (int i = 0; i < 3000; i++)
        y = ad_rec(ad_add(y, ad_sub(x[0], x[0])));
    return ad_rec(ad_mul(y, ad_mul(y, y)));
}

static bool cube_back(const void *saved, size_t m, const ad_real dy[],
                      size_t n, ad_real dx[])
{
    const ad_real *x = saved;
    ad_real g = 0;
    (void)m;
    CHECK(ad_use(NULL) == NULL, "a tape is current in a pullback");
    for (size_t i = 0; i < n; i++) {
        if (ad_grad(cube, NULL, 1, &x[i], NULL, &g) != ADREV_OK)
            return false;
        dx[i] += dy[0] * g;
    }
    return true;
}

static void record_cubes(ad_tape *t)
{
    static const ad_external_rule rule = { .name = "cubes",
                                           .pullback = cube_back };
    const ad_real at[2] = { 2, 3 };
    ad_rev x[2], y;
    ad_real g[2] = { 7, 7 };
    ad_use(t);
    ad_inputs(2, at, x);
    ad_rev z[2] = { ad_rec(ad_mul(2, x[0])), x[1] };
    const ad_real saved[2] = { z[0].v, z[1].v };
    const ad_real v = 4 * 4 * 4 + 3 * 3 * 3;
    ad_external(&rule, saved, sizeof saved, 2, z, 1, &v, &y);
    y = ad_rec(ad_mul(y, x[1]));
    CHECK(ad_gradient(t, y, 2, x, g) == ADREV_OK && g[0] == 288
              && g[1] == 27 * 3 + 91, "got %g %g", (double)g[0],
          (double)g[1]);
    CHECK(ad_use(tape) == t, "the tape is no longer current");
}

static void run_recording_pullback(void)
{
    static _Alignas(16) unsigned char buffer[2000];
    ad_tape *t = ad_tape_new();
    record_cubes(t);
    ad_tape_free(t);
    record_cubes(ad_tape_in(buffer, sizeof buffer));
}

// A saved pointer that is NULL is not given to destroy; too many bytes are
// refused.
static void run_bad_saved(void)
{
    const ad_real v[2] = { 1, 2 };
    ad_rev x[2], y[2];
    ad_inputs(2, v, x);
    CHECK(ad_external(&both, NULL, 8, 2, x, 2, v, y) == ADREV_ESHAPE, "NULL");
    ad_tape_clear(tape);
    ad_inputs(2, v, x);
    CHECK(ad_external(&straight, v, SIZE_MAX - 60, 1, x, 1, v, y)
              == ADREV_ESHAPE, "too many bytes");
}

// Every allocation fails in turn: whatever is recorded is destroyed once.
static void run_no_memory(void)
{
    bool done = false;
    for (size_t n = 1; !done; n++) {
        heap h = { .failing = n + 1, .for_ever = true };
        const ad_allocator allocator = { heap_alloc, heap_free, &h };
        ad_tape *t = ad_tape_new_with(&allocator);
        CHECK(t != NULL, "the tape itself");
        ad_use(t);
        ad_rev x[2], y[2];
        ad_real g[2] = { 7, 7 };
        ad_inputs(2, (ad_real[]){ 3, 4 }, x);
        destroyed = 0;
        ad_status recorded = record(&both, 2, x, y);
        CHECK(recorded == ad_tape_status(t), "recorded");
        ad_status s = ad_gradient(t, y[1], 2, x, g);
        done = s == ADREV_OK;
        CHECK(done ? g[0] == 4 : s == ADREV_ENOMEM && g[0] == 7,
              "with %zu allocations: \"%s\"", n, ad_message(s));
        ad_tape_free(t);
        CHECK(destroyed == 1, "%d times destroyed", destroyed);
        CHECK(h.live == 0, "%zu blocks leak", h.live);
    }
    ad_use(tape);
}

// Scratch and what is saved count in fixed memory, to the byte.
static ad_status in_fixed(void *buffer, size_t bytes, size_t *need)
{
    ad_tape *t = ad_tape_in(buffer, bytes);
    if (t == NULL)
        return ADREV_EFULL;
    ad_use(t);
    ad_rev x[8], y[2];
    ad_real g[8];
    ad_inputs(8, (ad_real[8]){ 1, 2, 3 }, x);
    record(&both, 8, x, y);
    y[0] = ad_rec(ad_mul(y[0], y[1]));
    ad_status s = ad_gradient(t, y[0], 8, x, g);
    *need = ad_tape_bytes(t);
    ad_tape_free(t);
    ad_use(tape);
    return s;
}

static void run_fixed(void)
{
    static _Alignas(64) unsigned char buffer[4000];
    size_t need = 0;
    size_t again = 0;
    CHECK(in_fixed(buffer, sizeof buffer, &need) == ADREV_OK, "fixed memory");
    CHECK(in_fixed(buffer, need, &again) == ADREV_OK && again == need,
          "in %zu bytes", need);
    for (size_t less = 8; less < need; less += 8)
        CHECK(in_fixed(buffer, need - less, &again) == ADREV_EFULL,
              "in %zu - %zu bytes", need, less);
}

/* --- statements that are swept always -------------------------------------- */

static bool tell_back(const void *saved, size_t m, const ad_real dy[],
                      size_t n, ad_real dx[])
{
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m; i++)
            dx[j] += dy[i] * (ad_real)(j + 1);
    return tell(*(const char *)saved);
}

static bool tell_forward(const void *saved, size_t n, const ad_real dx[],
                         size_t m, ad_real dy[])
{
    for (size_t i = 0; i < m; i++) {
        dy[i] = 0;
        for (size_t j = 0; j < n; j++)
            dy[i] += dx[j] * (ad_real)(j + 1);
    }
    return tell(*(const char *)saved);
}

static void tell_destroyed(const void *saved)
{
    tell((char)(*(const char *)saved - 'a' + 'A'));
}

static const ad_external_rule message = {
    .name = "message", .pullback = tell_back, .pushforward = tell_forward,
    .destroy = tell_destroyed, .always = true
};

// y[i] = sum of (j + 1) x[j], for i < m <= 2.
static ad_status post(char name, size_t n, const ad_rev x[], size_t m,
                      ad_rev y[])
{
    ad_real v[2] = { 0, 0 };
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < n; j++)
            v[i] += x[j].v * (ad_real)(j + 1);
    return ad_external(&message, &name, 1, n, x, m, m == 0 ? NULL : v, y);
}

// Constants, no inputs, no results, no adjoints: all are recorded, and every
// sweep calls them in its order.
static void run_always(void)
{
    const ad_rev c[2] = { { .v = 2 }, { .v = 3 } };
    ad_rev x[2], y[2], z;
    ad_real g[2] = { 0, 0 }, J[24];
    expect_told(told, "begin");
    ad_inputs(2, (ad_real[]){ 3, 4 }, x);
    CHECK(post('a', 2, c, 1, &z) == ADREV_OK && z.v == 8 && z.job != 0,
          "of constants");
    CHECK(post('b', 0, NULL, 1, &z) == ADREV_OK && z.v == 0 && z.job != 0,
          "of nothing");
    CHECK(post('c', 2, x, 0, NULL) == ADREV_OK, "without results");
    CHECK(post('d', 0, NULL, 0, NULL) == ADREV_OK, "without anything");
    CHECK(post('e', 2, x, 2, y) == ADREV_OK, "of numbers");
    z = ad_rec(ad_mul(x[0], x[1]));
    CHECK(ad_gradient(tape, z, 2, x, g) == ADREV_OK && g[0] == 4 && g[1] == 3,
          "got %g %g", (double)g[0], (double)g[1]);
    expect_told("edcba", "a gradient");
    CHECK(ad_pullback(tape, 0, NULL, NULL, 2, x, g) == ADREV_OK && g[0] == 0,
          "a sweep of no results");
    expect_told("edcba", "a sweep of no results");
    CHECK(ad_pushforward(tape, 2, x, (ad_real[]){ 0, 0 }, 1, &z, g)
              == ADREV_OK && g[0] == 0, "pushed");
    expect_told("abcde", "forwards");
    const ad_rev rows[12] = { y[0], z, y[1], z, z, z, z, z, z, z, z, y[1] };
    for (size_t m = 3; m <= 12; m += 9) {       // backwards, then forwards
        CHECK(ad_jacobian(tape, m, rows, 2, x, J) == ADREV_OK, "Jacobian");
        for (size_t i = 0; i < m; i++) {
            bool sum = i == 0 || i == 2 || i == 11;
            CHECK(J[2 * i] == (sum ? 1 : 4) && J[2 * i + 1] == (sum ? 2 : 3),
                  "row %zu: %g %g", i, (double)J[2 * i], (double)J[2 * i + 1]);
        }
        CHECK(tells >= (m == 3 ? 15 : 10) && tells % 5 == 0, "%zu calls",
              tells);
        expect_told(told, "a Jacobian");
    }
    ad_tape_clear(tape);
    expect_told("EDCBA", "clear");
}

// A mark on either side of a statement without results.
static void run_always_marked(void)
{
    ad_rev x = ad_input(3);
    ad_mark before = ad_tape_mark(tape);
    post('a', 1, &x, 0, NULL);
    ad_mark behind = ad_tape_mark(tape);
    for (int i = 0; i < 2; i++) {
        post('b', 1, &x, 0, NULL);
        CHECK(ad_tape_rewind(tape, behind) == ADREV_OK, "behind it");
        expect_told("B", "rewind to behind it");
        CHECK(ad_pullback(tape, 0, NULL, NULL, 0, NULL, NULL) == ADREV_OK,
              "swept");
        expect_told("a", "a sweep");
    }
    CHECK(ad_tape_rewind(tape, before) == ADREV_OK, "before it");
    expect_told("A", "rewind to before it");
    post('c', 0, NULL, 0, NULL);
    CHECK(ad_tape_rewind(tape, before) == ADREV_OK, "before another one");
    expect_told("C", "rewind to before another one");
    ad_tape_clear(tape);
    expect_told("", "nothing is left");
}

// As the last statement of a recording, one without results takes exactly the
// memory that ad_tape_bytes says.
static ad_status always_in(void *buffer, size_t bytes, size_t *need)
{
    ad_tape *t = buffer == NULL ? ad_tape_new() : ad_tape_in(buffer, bytes);
    if (t == NULL)
        return ADREV_EFULL;
    ad_use(t);
    ad_rev x = ad_input(3);
    ad_rev y = ad_rec(ad_mul(x, x));
    ad_real g = 0;
    ad_status status = post('a', 1, &y, 0, NULL);
    CHECK(status == ad_tape_status(t), "the tape's own status");
    if (status == ADREV_OK)
        status = ad_gradient(t, y, 1, &x, &g);
    CHECK(status != ADREV_OK || g == 6, "got %g", (double)g);
    *need = ad_tape_bytes(t);
    ad_tape_free(t);
    ad_use(tape);
    CHECK(strcmp(told, status == ADREV_OK ? "aA" : "A") == 0, "told %s", told);
    expect_told(told, "fixed memory");
    return status;
}

static void run_always_fixed(void)
{
    static _Alignas(64) unsigned char buffer[4000];
    size_t need = 0;
    size_t again = 0;
    CHECK(always_in(NULL, 0, &need) == ADREV_OK, "growing");
    CHECK(need <= sizeof buffer && always_in(buffer, need, &again) == ADREV_OK
              && again == need, "%zu bytes, then %zu", need, again);
    CHECK(always_in(buffer, need - 8, &again) == ADREV_EFULL, "8 bytes less");
}

// Without a tape, or on one that has failed, nothing is recorded.
static void run_always_unrecorded(void)
{
    ad_rev y;
    ad_use(NULL);
    CHECK(post('a', 0, NULL, 0, NULL) == ADREV_OK, "without a tape");
    expect_told("A", "without a tape");
    ad_use(tape);
    ad_fail(ADREV_ENONFINITE, NULL);
    CHECK(post('b', 0, NULL, 1, &y) == ADREV_ENONFINITE && y.job == 0,
          "on a tape that has failed");
    expect_told("B", "on a tape that has failed");
}

int main(void)
{
    tape = ad_tape_new();
    if (tape == NULL)
        return EXIT_FAILURE;
    ad_use(tape);
    run_s20();
    run_jacobians(&both);
    run_jacobians(&back);
    run_jacobians(&abreast);
    run_jacobians(&columns);
    void (*const runs[])(void) = { run_pushed, run_destroyed, run_unused,
                                   run_mistakes, run_failing, run_no_memory,
                                   run_fixed, run_recording_pullback,
                                   run_bad_saved, run_abreast, run_columns,
                                   run_always,
                                   run_always_marked, run_always_fixed,
                                   run_always_unrecorded };
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        ad_tape_clear(tape);
        runs[i]();
    }
    ad_tape_free(tape);
    return check_done("external");
}
