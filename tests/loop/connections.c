// SPDX-License-Identifier: MIT-0
// tags:
/* connections.c - ad_connected through array statements and the operators of
 * adrev_bulk.h, against derivatives: with operands that are nowhere zero, what
 * is connected has a derivative, and nothing else has; and through loops and
 * calls that use numbers from outside. (Others: scan.c, scan_random.c.)      */

#include "implementation.h"
#include "adrev_loop.h"

#include "check.h"

enum { N = 6 };

static void combine(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(x[0], 2), ad_mul(x[1], x[0])));
}

// A program writes N results of N inputs.
typedef void program(const ad_rev *x, ad_rev *y);

static void sums(const ad_rev *x, ad_rev *y)
{
    for (size_t i = 0; i < N; i++)
        y[i] = ad_sum(i, x);
}

static void each(const ad_rev *x, ad_rev *y)
{
    ad_each(ADREV_OP_mul, N, x, x, NULL, y);
    y[2] = ad_rec(1.5);
}

static void softmax(const ad_rev *x, ad_rev *y)
{
    for (size_t i = 0; i < N; i++)
        y[i] = ad_rec(0);
    ad_softmax(3, x + 1, y);
}

static void product(const ad_rev *x, ad_rev *y)
{
    ad_matmul(2, 2, 3, x, x, y);
}

static void triangle(const ad_rev *x, ad_rev *y)
{
    const ad_rev l[] = { x[3], x[4], x[5] };
    for (size_t i = 0; i < N; i++)
        y[i] = x[i];
    ad_trimatvec(3, NULL, l, x, y);
}

static void prefixes(const ad_rev *x, ad_rev *y)
{
    ad_prefix_op(ADREV_OP_mul, N, x, y);
}

static void histogram(const ad_rev *x, ad_rev *y)
{
    static const ptrdiff_t ix[] = { 0, 2, 0 };
    memcpy(y, x, N * sizeof *y);
    ad_histogram(ADREV_OP_mul, 3, ix, x + 3, 3, y);
}

static void map(const ad_rev *x, ad_rev *y)
{
    const ad_rows rows[] = { { x, 2, 1 } };     // windows
    ad_map(combine, NULL, N - 1, 1, rows, 1, y);
    y[N - 1] = ad_rec(ad_sin(x[0]));
}

static void shared(const ad_rev *x, ad_rev *y)
{
    const ad_rows rows[] = { { x + N - 1, 1, -1 }, { x + 2, 1, 0 } };
    ad_map(combine, NULL, N, 2, rows, 1, y);
}

static void reduction(const ad_rev *x, ad_rev *y)
{
    for (size_t i = 0; i < N; i++)
        y[i] = x[i];
    ad_reduce(combine, NULL, 4, 1, x + 1, NULL, y);
}

static void scanned(const ad_rev *x, ad_rev *y)
{
    ad_prefix(combine, NULL, N, 1, x, y);
}

static void moved(const ad_rev *x, ad_rev *y)
{
    ad_rotate(N, 1, 2, x, y);
}

// Numbers that are used through ctx, each in one step.
static const ad_rev *outside;

static void take(ad_step *s, void *ctx)
{
    (void)ctx;
    s->next[0][0] = ad_rec(ad_mul(s->state[0][0], outside[ad_step_index(s)]));
}

static void steps(const ad_rev *x, ad_rev *y)
{
    const ad_scan_state state = { .size = 1, .initial = x, .last = y };
    for (size_t i = 0; i < N; i++)
        y[i] = x[i];
    outside = x + 1;
    CHECK(ad_scan(&(ad_scan_desc){ .step = take, .steps = 3, .states = 1,
                                   .state = &state }, NULL) == ADREV_OK, "scan");
}

static void take_two(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], outside[0]));
    y[1] = ad_rec(ad_sin(outside[2]));
}

static void call(const ad_rev *x, ad_rev *y)
{
    for (size_t i = 0; i < N; i++)
        y[i] = x[i];
    outside = x + 1;
    CHECK(ad_checkpoint(take_two, NULL, 1, x, 2, y) == ADREV_OK, "checkpoint");
}

static const struct {
    const char *name;
    program *f;
} programs[] = {
    { "sums", sums }, { "each", each }, { "softmax", softmax },
    { "product", product }, { "triangle", triangle },
    { "prefixes", prefixes }, { "histogram", histogram }, { "map", map },
    { "shared", shared }, { "reduction", reduction }, { "scanned", scanned },
    { "moved", moved }, { "steps", steps }, { "call", call }
};

int main(void)
{
    static const ad_real at[N] = { 1.5, 2.25, 0.75, 1.25, 3.5, 0.5 };
    ad_tape *t = ad_tape_new();
    ad_use(t);
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        ad_rev x[N], y[N];
        ad_connection found[N];
        ad_tape_clear(t);
        ad_inputs(N, at, x);
        programs[p].f(x, y);
        for (size_t i = 0; i < N; i++) {
            ad_real g[N] = { 0 };
            if (y[i].job == 0)
                continue;
            CHECK(ad_gradient(t, y[i], N, x, g) == ADREV_OK
                  && ad_connected(t, 1, &y[i], N, x, found) == ADREV_OK,
                  "%s %zu", programs[p].name, i);
            for (size_t j = 0; j < N; j++)
                CHECK((found[j] == ADREV_CONNECTED) == (g[j] != 0),
                      "%s: y%zu by x%zu is %g, but %d", programs[p].name, i,
                      j, (double)g[j], (int)found[j]);
        }
    }
    ad_rev constant = ad_rec(2), x = ad_input(1), other;
    ad_connection answer = ADREV_CONNECTED;
    CHECK(ad_connected(t, 1, &x, 1, &constant, &answer) == ADREV_OK
          && answer == ADREV_NOT_ASKED, "a constant");
    CHECK(ad_connected(t, 1, &constant, 1, &x, &answer) == ADREV_EPASSIVE,
          "of a constant");
    CHECK(ad_connected(NULL, 1, &x, 1, &x, &answer) == ADREV_ENOTAPE
          && ad_connected(t, 1, &x, 1, NULL, &answer) == ADREV_ESHAPE
          && ad_connected(t, 1, &x, 1, &x, NULL) == ADREV_ESHAPE, "errors");
    other = x;
    ad_tape_clear(t);
    x = ad_input(1);
    CHECK(ad_connected(t, 1, &x, 1, &other, &answer) == ADREV_EFOREIGN,
          "foreign");
    ad_tape_free(t);
    return check_done("connections");
}
