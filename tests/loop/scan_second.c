// SPDX-License-Identifier: MIT-0
// tags: recorded slow
// flags: -DADREV_REPLAY_FROM=1
/* scan_second.c - second derivatives of loops, and steps that are replayed.
 *
 * Recorded as functions, the programs of scan_programs.h must have the Hessians
 * of the table, and the first few the Taylor coefficients of their closed form.
 * On a tape, with steps recorded once and replayed, values and gradients must
 * have the same bits under every schedule, and those of steps that are run
 * again within rounding: also where the path of a step changes from step to
 * step, is another one once in a thousand steps, depends on what the step is
 * told beside its numbers, or is never the same.                             */

#include "implementation.h"
#include "adrev_function.h"
#include "adrev_loop.h"

#include "check.h"
#include "scan_programs.h"
#include "scan_store.h"

static ad_tape *tape;

// Between replayed and unreplayed steps, as a part of the largest entry: an
// adjoint is summed in another order.
#define REPLAYED 1e-13

struct way {
    const char *name;
    ad_schedule schedule;
    size_t every;
};

static const struct way ways[] = {
    { "all", { ADREV_STORE_ALL, 0, NULL }, 0 },
    { "every", { ADREV_EVERY, 1, NULL }, 0 },
    { "every", { ADREV_EVERY, 3, NULL }, 0 },
    { "every", { ADREV_EVERY, 100, NULL }, 0 },
    { "binomial", { ADREV_BINOMIAL, 2, NULL }, 0 },
    { "binomial", { ADREV_BINOMIAL, 5, NULL }, 0 },
    { "bytes", { ADREV_BYTES, 200, NULL }, 0 },
    { "all", { ADREV_STORE_ALL, 0, NULL }, 4 },
    { "binomial", { ADREV_BINOMIAL, 2, NULL }, 7 },
};

enum { WAYS = sizeof ways / sizeof ways[0] };

static struct shelf shelf[REPORTS];
static ad_store store[REPORTS];

// The recording before has its states on the shelf: it goes first.
static void go(const struct way *w)
{
    ad_tape_clear(tape);
    how.schedule = w->schedule;
    how.store = w->every == 0 ? NULL : store;
    memset(shelf, 0, sizeof shelf);
    for (size_t i = 0; i < REPORTS; i++)
        store[i] = store_in(&shelf[i], w->every);
}

static size_t entry(size_t n, size_t i, size_t j)
{
    size_t low = i < j ? i : j;
    size_t high = i < j ? j : i;
    return low * n - low * (low + 1) / 2 + high;
}

static void *beside(const struct run *r)
{
    return (void *)(uintptr_t)r->k;
}

/* --- as functions --------------------------------------------------------- */

static void check_second(const struct run *r, ad_fn *fn)
{
    static const double one = 1;
    static double H[MOST * MOST];
    double got[MOST * (MOST + 1) / 2] = { 0 };
    double v[MOST] = { 0 };
    double hv[MOST] = { 0 };
    double want[MOST] = { 0 };
    size_t n = r->n;

    CHECK(ad_fn_hessian(fn, r->x, &one, H) == ADREV_OK, "%s", r->name);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++) {
            got[entry(n, i, j)] = H[i * n + j];
            CHECK(H[i * n + j] == H[j * n + i], "%s: not symmetric", r->name);
        }
    check_numbers(r, "Hessian", n * (n + 1) / 2, got, r->H);
    for (size_t i = 0; i < n; i++)
        v[i] = (double)(i * 5 % 7) - 2.5;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n && r->H != NULL; j++)
            want[i] += r->H[entry(n, i, j)] * v[j];
    CHECK(ad_fn_hvp(fn, r->x, &one, v, hv) == ADREV_OK, "%s", r->name);
    check_numbers(r, "Hessian times vector", n, hv, want);
}

static void record_function(const struct run *r)
{
    ad_fn *fn = NULL;
    double y = 0;
    double g[MOST] = { 0 };
    start_program();
    ad_status s = ad_fn_record(&fn, r->f, beside(r), r->n, r->x, 1);
    if (!CHECK(s == ADREV_OK && how.status == ADREV_OK, "%s {%d %d}: %s",
               r->name, r->k[0], r->k[1], ad_message(s)))
        return;
    CHECK(ad_fn_gradient(fn, r->x, &y, g) == ADREV_OK, "%s", r->name);
    check_numbers(r, "value", 1, &y, &r->value);
    check_numbers(r, "gradient", r->n, g, r->g);
    check_second(r, fn);
    ad_fn_free(fn);
}

// A loop that is cut off is cut off in a recording, too: its derivative is not
// that of its value.
static void record_cut(const struct run *r)
{
    ad_fn *fn = NULL;
    double y = 0;
    double g[MOST] = { 0 };
    start_program();
    CHECK(ad_fn_record(&fn, r->f, beside(r), r->n, r->x, 1) == ADREV_OK
          && how.status == ADREV_OK, "%s", r->name);
    if (fn == NULL)
        return;
    CHECK(ad_fn_gradient(fn, r->x, &y, g) == ADREV_OK, "%s", r->name);
    check_numbers(r, "value", 1, &y, &r->value);
    check_numbers(r, "recorded gradient", r->n, g, r->g);
    ad_fn_free(fn);
}

static void run_functions(void)
{
    for (size_t i = 0; i < RUNS; i++)
        for (size_t w = 0; w < WAYS; w += 4) {
            go(&ways[w]);
            record_function(&runs[i]);
        }
    go(&ways[0]);
    for (size_t i = 0; i < CUTS; i++)
        record_cut(&cut[i]);
}

/* --- as one step of a function -------------------------------------------- */

// Gradient and Hessian at a point near the recorded one, whole against
// unrolled.
static void compare_near(const struct run *r, ad_fn *whole, ad_fn *unrolled,
                         double by)
{
    static const double one = 1;
    static double H[2][MOST * MOST];
    double x[MOST], y[2] = { 0 }, g[2][MOST] = {{ 0 }}, v[MOST], hv[MOST];
    double taken[MOST], scale = 1;
    size_t n = r->n;
    for (size_t i = 0; i < n; i++) {
        x[i] = r->x[i] * (1 + by * (double)(i % 3));
        v[i] = 1 - (double)(i % 4);
    }
    if (ad_fn_gradient(unrolled, x, &y[0], g[0]) != ADREV_OK
        || ad_fn_hessian(unrolled, x, &one, H[0]) != ADREV_OK
        || ad_fn_hvp(unrolled, x, &one, v, taken) != ADREV_OK)
        return;
    CHECK(ad_fn_gradient(whole, x, &y[1], g[1]) == ADREV_OK
          && ad_fn_hessian(whole, x, &one, H[1]) == ADREV_OK
          && ad_fn_hvp(whole, x, &one, v, hv) == ADREV_OK, "%s: whole",
          r->name);
    for (size_t i = 0; i < n * n; i++)
        scale = fmax(scale, fabs(H[0][i]));
    CHECK(fabs(y[1] - y[0]) <= 1e-13 * fmax(1, fabs(y[0])), "%s: %.17g, %.17g",
          r->name, y[1], y[0]);
    for (size_t i = 0; i < n; i++)
        CHECK(fabs(g[1][i] - g[0][i]) <= 1e-11 * scale
              && fabs(hv[i] - taken[i]) <= 1e-11 * scale,
              "%s: %zu: %.17g, %.17g; %.17g, %.17g", r->name, i, g[1][i],
              g[0][i], hv[i], taken[i]);
    for (size_t i = 0; i < n * n; i++)
        CHECK(fabs(H[1][i] - H[0][i]) <= 1e-11 * scale, "%s: H %zu: %.17g, "
              "%.17g", r->name, i, H[1][i], H[0][i]);
}

static void compare_whole(const struct run *r)
{
    ad_fn *fn[2] = { NULL, NULL };
    for (int whole = 0; whole < 2; whole++) {
        start_program();
        how.whole = whole;
        CHECK(ad_fn_record(&fn[whole], r->f, beside(r), r->n, r->x, 1)
                  == ADREV_OK && how.status == ADREV_OK, "%s", r->name);
    }
    for (int i = -1; i < 2 && fn[0] != NULL && fn[1] != NULL; i++)
        compare_near(r, fn[1], fn[0], 0.01 * i);
    ad_fn_free(fn[0]);
    ad_fn_free(fn[1]);
}

// However long the loop is, the function has a few operations.
static void run_short(void)
{
    const struct run *r = &runs[0];
    ad_fn *fn = NULL;
    start_program();
    how.whole = true;
    CHECK(ad_fn_record(&fn, r->f, beside(r), r->n, r->x, 1) == ADREV_OK
          && ad_fn_about(fn).operations <= 3, "%s: %zu operations", r->name,
          ad_fn_about(fn).operations);
    ad_fn_free(fn);
}

static void run_whole_functions(void)
{
    for (size_t i = 0; i < RUNS; i++)
        for (size_t w = 0; w < WAYS; w++) {
            if (ways[w].every != 0)
                continue;
            go(&ways[w]);
            how.whole = true;
            record_function(&runs[i]);
            compare_whole(&runs[i]);
        }
    run_short();
    how.whole = false;
}

// Where a recorded loop would have another number of steps, it says so.
static void run_path(void)
{
    static const double three = 3;
    static const double near = 1.49;
    static int none[2] = { 0 };
    for (size_t i = 0; i < RUNS; i++) {
        ad_fn *fn = NULL;
        double y = 77;
        double x = 1.5;
        if (runs[i].f != until_square || runs[i].x[0] != 1.5)
            continue;
        start_program();
        CHECK(ad_fn_record(&fn, until_square, none, 1, &x, 1) == ADREV_OK,
              "recorded");
        CHECK(ad_fn_eval(fn, &three, &y) == ADREV_EPATH && y == 77,
              "3 steps or 2: got %g", y);
        CHECK(ad_fn_eval(fn, &near, &y) == ADREV_OK, "3 steps, too");
        ad_fn_free(fn);
    }
    ad_traced *traced = ad_traced_new(until_square, none, 1, 1, 0);
    for (size_t i = 0; i < RUNS; i++) {
        ad_fn *fn = NULL;
        double y = 0;
        double g = 0;
        if (runs[i].f != until_square)
            continue;
        start_program();
        CHECK(ad_traced_at(traced, runs[i].x, &fn) == ADREV_OK, "traced");
        CHECK(ad_fn_gradient(fn, runs[i].x, &y, &g) == ADREV_OK, "traced");
        CHECK(y == runs[i].value && g == runs[i].g[0], "traced: %g %g", y, g);
    }
    CHECK(ad_traced_paths(traced, NULL) == 2, "%zu paths",
          ad_traced_paths(traced, NULL));
    ad_traced_free(traced);
}

/* --- higher orders -------------------------------------------------------- */

static void check_orders(int steps, double x, size_t orders,
                         const double *want, double tolerance)
{
    int k[2] = { steps, 0 };
    static const double one = 1;
    double c[8] = { 0 };
    double factorial = 1;
    ad_fn *fn = NULL;
    start_program();
    CHECK(ad_fn_record(&fn, squares, k, 1, &x, 1) == ADREV_OK, "B3");
    CHECK(ad_fn_taylor(fn, &x, &one, orders, c) == ADREV_OK, "B3");
    for (size_t i = 0; i <= orders; i++) {
        factorial *= i == 0 ? 1 : (double)i;
        CHECK(fabs(c[i] * factorial - want[i]) <= tolerance * fabs(want[i]),
              "x^%d at %g, order %zu: got %.17g, want %.17g", 1 << steps, x, i,
              c[i] * factorial, want[i]);
    }
    ad_fn_free(fn);
}

// x^(2^steps) is what the squares are.
static void run_orders(void)
{
    static const double b1[] = { 5.0625, 13.5, 27, 36, 24, 0 };
    static const double b1_3[] = { 81, 108, 108, 72, 24, 0 };
    double b2[6];
    double b3[6];
    double p = 1;
    double q = 1;
    for (int i = 0; i < 6; i++) {
        b2[i] = p * pow(1.1, 32 - i);
        b3[i] = q * pow(0.95, 16 - i);
        p *= 32 - i;
        q *= 16 - i;
    }
    CHECK_NEAR(b2[3], 472085.646838237, 1e-14);     // as the sheet has them
    CHECK_NEAR(b3[4], 23602.9286291040, 1e-14);
    check_orders(2, 1.5, 5, b1, 0);
    check_orders(2, 3, 5, b1_3, 0);
    check_orders(5, 1.1, 5, b2, ROUNDED);
    check_orders(4, 0.95, 5, b3, ROUNDED);
}

/* --- replayed ------------------------------------------------------------- */

static double largest_of(size_t n, const double *x)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(x[i]));
    return largest;
}

static void check_same(const char *name, size_t n, const double *got,
                       const double *want)
{
    double allowed = REPLAYED * largest_of(n, want);
    for (size_t i = 0; i < n; i++)
        CHECK(fabs(got[i] - want[i]) <= allowed, "%s [%zu]: replayed %.17g, "
              "unreplayed %.17g", name, i, got[i], want[i]);
}

static void check_report(const struct run *r)
{
    bool never = how.unreplayed || (r->kind & INDEX);
    for (size_t i = 0; i < how.scans; i++) {
        const ad_scan_report *p = &how.report[i];
        CHECK(p->steps == r->steps, "%s: %zu steps", r->name, p->steps);
        CHECK(p->recorded + p->replayed <= p->evaluations, "%s: %zu recorded "
              "and %zu replayed of %zu", r->name, p->recorded, p->replayed,
              p->evaluations);
        CHECK(!never || (p->replayed == 0 && p->paths == 0), "%s: %zu steps "
              "are replayed", r->name, p->replayed);
        CHECK(p->replayed == 0 || p->paths > 0, "%s: replayed without a path",
              r->name);
    }
}

// Returns the status of the gradient.
static ad_status gradient_of(const struct run *r, double *value, double *g)
{
    ad_rev x[MOST];
    ad_rev y;
    ad_status s = record_run(tape, r, x, &y);
    *value = y.v;
    if (s == ADREV_OK)
        s = ad_gradient(tape, y, r->n, x, g);
    check_report(r);
    double again[MOST] = { 0 };
    if (s == ADREV_OK)
        s = ad_gradient(tape, y, r->n, x, again);
    CHECK(same_bits(r->n, g, again), "%s: the second sweep is another",
          r->name);
    check_report(r);
    return s;
}

// The table, and the loops that are cut off.
static void run_replayed_one(const struct run *r)
{
    double plain[MOST] = { 0 };
    double first[MOST] = { 0 };
    double value = 0;
    double v = 0;
    how.unreplayed = true;
    go(&ways[0]);
    CHECK(gradient_of(r, &value, plain) == ADREV_OK, "%s", r->name);
    how.unreplayed = false;
    for (size_t w = 0; w < WAYS; w++) {
        double g[MOST] = { 0 };
        go(&ways[w]);
        ad_status s = gradient_of(r, &v, g);
        CHECK(s == ADREV_OK, "%s {%d %d}, %s: %s", r->name, r->k[0], r->k[1],
              ways[w].name, ad_message(s));
        CHECK(same_bits(1, &v, &value), "%s: %.17g, unreplayed %.17g",
              r->name, v, value);
        if (w == 0)
            memcpy(first, g, sizeof g);
        CHECK(same_bits(r->n, g, first), "%s {%d %d}, %s %zu, store %zu: "
              "other bits", r->name, r->k[0], r->k[1], ways[w].name,
              ways[w].schedule.n, ways[w].every);
        check_same(r->name, r->n, g, plain);
        check_numbers(r, "gradient", r->n, g, r->g);
    }
}

static void run_replayed(void)
{
    for (size_t i = 0; i < RUNS; i++)
        run_replayed_one(&runs[i]);
    for (size_t i = 0; i < CUTS; i++)
        run_replayed_one(&cut[i]);
}

// What the tangents of replayed steps say.
static void run_tangents(void)
{
    for (size_t i = 0; i < RUNS; i++) {
        const struct run *r = &runs[i];
        double dy[MOST] = { 0 };
        ad_rev x[MOST];
        ad_rev y;
        go(&ways[i % WAYS]);
        CHECK(record_run(tape, r, x, &y) == ADREV_OK, "%s", r->name);
        for (size_t j = 0; j < r->n; j++) {
            double dx[MOST] = { 0 };
            dx[j] = 1;
            CHECK(ad_pushforward(tape, r->n, x, dx, 1, &y, &dy[j])
                      == ADREV_OK, "%s", r->name);
        }
        check_numbers(r, "tangent", r->n, dy, r->g);
    }
}

// A long loop is recorded once: each step that a sweep reverses is a replay.
static void run_once(void)
{
    for (size_t i = 0; i < RUNS; i++) {
        const struct run *r = &runs[i];
        ad_rev x[MOST];
        ad_rev y;
        double g[MOST];
        if (r->f != wave)
            continue;
        for (size_t w = 0; w < WAYS; w++) {
            go(&ways[w]);
            CHECK(record_run(tape, r, x, &y) == ADREV_OK, "wave");
            CHECK(ad_gradient(tape, y, r->n, x, g) == ADREV_OK, "wave");
            const ad_scan_report *p = &how.report[0];
            CHECK(p->paths == 1, "%s: %zu paths", ways[w].name, p->paths);
            CHECK(p->replayed >= 990 && p->replayed <= p->evaluations,
                  "%s: %zu of %zu replayed", ways[w].name, p->replayed,
                  p->evaluations);
            CHECK(p->recorded <= 10, "%s: %zu recorded", ways[w].name,
                  p->recorded);
            CHECK(how.calls <= p->evaluations - p->replayed + p->checks + 10,
                  "%s: %zu calls, %zu of %zu replayed", ways[w].name, how.calls,
                  p->replayed, p->evaluations);
        }
    }
}

/* --- paths that change ---------------------------------------------------- */

struct branching {
    const char *name;
    ad_step_fn *step;
    size_t steps;
    size_t paths;           // most
    size_t apart;           // steps that a sweep records; 0: any
    bool replayed;
};

// The shortcut of Collatz, on numbers: halves and (3x + 1)/2, by value.
static void collatz_step(ad_step *s, void *ctx)
{
    ad_rev x = s->state[0][0];
    (void)ctx;
    how.calls++;
    if (ad_gt(x, 1))
        s->next[0][0] = ad_rec(ad_mul(x, s->parameter[0]));
    else
        s->next[0][0] = ad_rec(ad_add(ad_mul(x, 3), s->parameter[1]));
}

// Grows, and falls back: every 500 steps or so.
static void rare_step(ad_step *s, void *ctx)
{
    ad_rev x = ad_rec(ad_add(s->state[0][0], ad_mul(0.002, s->parameter[0])));
    (void)ctx;
    how.calls++;
    if (ad_ge(x, 1))
        x = ad_rec(ad_mul(ad_sin(x), s->parameter[1]));
    s->next[0][0] = x;
}

// Three comparisons: up to eight paths.
static void eight_step(ad_step *s, void *ctx)
{
    ad_rev x = s->state[0][0];
    ad_rev y = ad_rec(ad_mul(ad_mul(3.9, x), ad_sub(1, x)));
    (void)ctx;
    how.calls++;
    if (ad_lt(x, 0.5))
        y = ad_rec(ad_mul(y, ad_cos(ad_mul(0.01, s->parameter[0]))));
    if (ad_lt(y, 0.3))
        y = ad_rec(ad_add(y, ad_mul(0.01, s->parameter[1])));
    if (ad_gt(y, 0.9))
        y = ad_rec(ad_mul(y, 0.75));
    s->next[0][0] = y;
}

// A plain number of the state: never the same path.
static void plain_number_step(ad_step *s, void *ctx)
{
    double x = ad_value(s->state[0][0]);
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_mul(s->state[0][0], s->parameter[0]),
                                  ad_mul(sin(x), s->parameter[1])));
}

// Floors: as many paths as there are integers that the state passes.
static void floor_step(ad_step *s, void *ctx)
{
    ad_rev x = s->state[0][0];
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_mul(ad_sub(x, ad_floor(x)),
                                         s->parameter[0]),
                                  ad_mul(ad_mul(0.37, number_of(s)),
                                         s->parameter[1])));
}

static void number_step(ad_step *s, void *ctx)
{
    ad_rev i = number_of(s);
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_mul(s->state[0][0], s->parameter[0]),
                                  ad_mul(s->parameter[1],
                                         ad_div(i, ad_add(i, 1)))));
}

static void number_branch_step(ad_step *s, void *ctx)
{
    number_step(s, ctx);
    if (ad_gt(number_of(s), 600))
        s->next[0][0] = ad_rec(ad_sin(s->next[0][0]));
}

static void index_step(ad_step *s, void *ctx)
{
    double i = (double)index_of(s);
    (void)ctx;
    how.calls++;
    s->next[0][0] = ad_rec(ad_add(ad_mul(s->state[0][0], s->parameter[0]),
                                  ad_mul(s->parameter[1], i / (i + 1))));
}

// Asks from the 100th step on, when it may be replayed already.
static void index_late_step(ad_step *s, void *ctx)
{
    ad_rev x = ad_rec(ad_mul(s->state[0][0], s->parameter[0]));
    (void)ctx;
    how.calls++;
    if (ad_gt(number_of(s), 99))
        x = ad_rec(ad_add(x, ad_mul(s->parameter[1],
                                    sin((double)index_of(s)))));
    s->next[0][0] = x;
}

static void draw_step(ad_step *s, void *ctx)
{
    uint32_t *seed = s->untraced;
    (void)ctx;
    how.calls++;
    *seed = (1103515245u * *seed + 12345u) & 0x7FFFFFFFu;
    double u = (double)*seed / 2147483648.0;
    // a draw that multiplies the state, and one that decides
    if (u < 0.3)
        s->next[0][0] = ad_rec(ad_mul(s->state[0][0], u));
    else
        s->next[0][0] = ad_rec(ad_add(ad_mul(s->state[0][0], s->parameter[0]),
                                      ad_mul(u, s->parameter[1])));
}

// Ends at a step that depends on the values.
static void ending_step(ad_step *s, void *ctx)
{
    ad_rev x = ad_rec(ad_add(s->state[0][0], ad_mul(0.01, s->parameter[1])));
    (void)ctx;
    how.calls++;
    s->next[0][0] = x;
    s->stop = ad_ge(ad_mul(x, s->parameter[0]), 3);
}

// A step of arrays.
static void array_step(ad_step *s, void *ctx)
{
    ad_rev in[3] = { s->state[0][0], s->parameter[0], s->parameter[1] };
    ad_rev out[3];
    (void)ctx;
    how.calls++;
    ad_softmax(3, in, out);
    s->next[0][0] = ad_dot(3, in, out);
}

static ad_fn *called;       // within the steps

static void called_body(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(ad_sin(x[0]), x[1]), x[2]));
}

static void called_step(ad_step *s, void *ctx)
{
    const ad_rev in[3] = { s->state[0][0], s->parameter[0], s->parameter[1] };
    (void)ctx;
    how.calls++;
    s->status = ad_fn_call(called, in, s->next[0]);
}

static const struct branching loops[] = {
    { "collatz", collatz_step, 1000, 2, 10, true },
    { "rare", rare_step, 1000, 2, 10, true },
    { "eight", eight_step, 200, 8, 30, true },
    { "plain number", plain_number_step, 200, 1000, 0, true },
    { "floor", floor_step, 300, 1000, 0, true },
    { "number", number_step, 1000, 1, 5, true },
    { "number, branch", number_branch_step, 1000, 2, 10, true },
    { "index", index_step, 1000, 0, 0, false },
    { "index, late", index_late_step, 300, 1000, 0, true },
    { "draws", draw_step, 1000, 1000, 0, true },
    { "ending", ending_step, 1000, 2, 10, true },
    { "arrays", array_step, 300, 1, 5, true },
    { "calls", called_step, 300, 1, 5, true },
};

enum { LOOPS = sizeof loops / sizeof loops[0] };

static ad_rev row_of_loop[1000];

// Sum of all states of a loop; returns how many steps it had.
static size_t branch_loop(const struct branching *b, const ad_rev *x,
                          ad_rev *y)
{
    uint32_t seed = 7;
    bool draws = b->step == draw_step;
    const ad_scan_state state = { .size = 1, .initial = x,
                                  .rows = row_of_loop };
    size_t n = scan((ad_scan_desc){ .step = b->step, .steps = b->steps,
                                    .states = 1, .state = &state,
                                    .parameters = 2, .parameter = x + 1,
                                    .untraced = draws ? &seed : NULL,
                                    .untraced_bytes = draws ? sizeof seed
                                                            : 0 });
    *y = ad_sum(n < 1000 ? n : 1000, row_of_loop);
    return n;
}

struct outcome {
    size_t steps;
    double value;
    double g[3];
};

static struct outcome outcome_of(const struct branching *b)
{
    static const double at[3] = { 0.7, 0.65, 0.8 };
    struct outcome o = { 0 };
    ad_rev x[3];
    ad_rev y;
    double again[3] = { 0 };
    ad_tape_clear(tape);
    start_program();
    ad_inputs(3, at, x);
    o.steps = branch_loop(b, x, &y);
    o.value = y.v;
    CHECK(how.status == ADREV_OK, "%s: %s", b->name, ad_message(how.status));
    ad_status s = ad_gradient(tape, y, 3, x, o.g);
    CHECK(s == ADREV_OK, "%s: %s", b->name, ad_message(s));
    s = ad_gradient(tape, y, 3, x, again);
    CHECK(s == ADREV_OK && same_bits(3, o.g, again),
          "%s: the second sweep is another", b->name);
    return o;
}

static void run_loop(const struct branching *b)
{
    struct outcome first = { 0 };
    how.plain = true;
    struct outcome plain = outcome_of(b);
    how.plain = false;
    for (int unreplayed = 1; unreplayed >= 0; unreplayed--)
        for (size_t w = 0; w < WAYS; w++) {
            how.unreplayed = unreplayed;
            go(&ways[w]);
            struct outcome o = outcome_of(b);
            const ad_scan_report *p = &how.report[0];
            CHECK(o.steps == plain.steps, "%s: %zu steps, want %zu", b->name,
                  o.steps, plain.steps);
            CHECK(same_bits(1, &o.value, &plain.value), "%s, %s %zu, replayed "
                  "%d: %.17g, want %.17g", b->name, ways[w].name,
                  ways[w].schedule.n, !unreplayed, o.value, plain.value);
            check_same(b->name, 3, o.g, plain.g);
            if (w == 0)
                first = o;
            CHECK(same_bits(3, o.g, first.g), "%s, %s %zu, store %zu, replayed "
                  "%d: other bits", b->name, ways[w].name, ways[w].schedule.n,
                  ways[w].every, !unreplayed);
            if (unreplayed || !b->replayed) {
                CHECK(p->replayed == 0, "%s: replayed", b->name);
                CHECK(p->evaluations == how.calls, "%s: %zu calls, %zu "
                      "reported", b->name, how.calls, p->evaluations);
                continue;
            }
            CHECK(p->paths <= b->paths, "%s: %zu paths", b->name, p->paths);
            CHECK(b->apart == 0 || p->replayed + 2 * b->apart >= 2 * o.steps,
                  "%s, %s: %zu replayed in two sweeps of %zu steps", b->name,
                  ways[w].name, p->replayed, o.steps);
            // Recording a function is a call, too.
            CHECK(how.calls <= p->evaluations - p->replayed + p->checks
                                   + 2 * p->paths,
                  "%s, %s: %zu calls, %zu evaluations, %zu replayed", b->name,
                  ways[w].name, how.calls, p->evaluations, p->replayed);
        }
}

static void run_branches(void)
{
    static const double at[3] = { 0.1, 0.2, 0.3 };
    CHECK(ad_fn_record(&called, called_body, NULL, 3, at, 1) == ADREV_OK,
          "the function that is called");
    for (size_t i = 0; i < LOOPS; i++)
        run_loop(&loops[i]);
    ad_tape_clear(tape);
    ad_fn_free(called);
    called = NULL;
}

// Numbers by ctx in replayed steps: the same ones in all, and one that is used
// on one of two paths alone.
static ad_rev by_ctx[2];

static void ctx_step(ad_step *s, void *ctx)
{
    const ad_rev *w = ctx;
    ad_rev x = s->state[0][0];
    how.calls++;
    if (ad_gt(x, 1))
        s->next[0][0] = ad_rec(ad_mul(x, w[0]));
    else
        s->next[0][0] = ad_rec(ad_add(ad_mul(x, 3), w[1]));
}

static void run_by_ctx(void)
{
    static const struct branching plainly = { "plain", collatz_step, 1000, 2,
                                              0, true };
    static const double at[3] = { 0.7, 0.65, 0.8 };
    double first[3] = { 0 };
    how.plain = true;
    struct outcome want = outcome_of(&plainly);
    how.plain = false;
    for (size_t w = 0; w < WAYS; w++) {
        ad_rev x[3];
        double g[3] = { 0 };
        go(&ways[w]);
        ad_tape_clear(tape);
        start_program();
        ad_inputs(3, at, x);
        by_ctx[0] = x[1];
        by_ctx[1] = x[2];
        const ad_scan_state state = { .size = 1, .initial = x,
                                      .rows = row_of_loop };
        scan((ad_scan_desc){ .step = ctx_step, .ctx = by_ctx, .steps = 1000,
                             .states = 1, .state = &state });
        ad_rev y = ad_sum(1000, row_of_loop);
        CHECK(how.status == ADREV_OK && y.v == want.value, "by ctx: %s, %.17g",
              ad_message(how.status), y.v);
        CHECK(ad_gradient(tape, y, 3, x, g) == ADREV_OK, "by ctx");
        if (w == 0)
            memcpy(first, g, sizeof g);
        CHECK(same_bits(3, g, first), "by ctx, %s", ways[w].name);
        check_same("by ctx", 3, g, want.g);
    }
}

/* --- recorded as a whole -------------------------------------------------- */

// The loops above as functions: first derivatives as on the tape, second ones
// as differences of the first.
static void loop_function(const ad_rev *x, ad_rev *y, void *ctx)
{
    branch_loop(ctx, x, y);
}

static void run_whole(const struct branching *b)
{
    static const double at[3] = { 0.7, 0.65, 0.8 };
    static const double one = 1;
    const double h = 1e-6;
    double H[9] = { 0 };
    double g[3] = { 0 };
    double y = 0;
    ad_fn *fn = NULL;
    go(&ways[0]);
    how.plain = true;
    struct outcome want = outcome_of(b);
    how.plain = false;
    ad_use(NULL);
    start_program();
    ad_status s = ad_fn_record(&fn, loop_function, (void *)(uintptr_t)b, 3, at,
                               1);
    ad_use(tape);
    if (!CHECK(s == ADREV_OK, "%s: %s", b->name, ad_message(s)))
        return;
    CHECK(ad_fn_gradient(fn, at, &y, g) == ADREV_OK, "%s", b->name);
    CHECK(fabs(y - want.value) <= 1e-13 * fabs(want.value), "%s: %.17g, want "
          "%.17g", b->name, y, want.value);
    check_same(b->name, 3, g, want.g);
    CHECK(ad_fn_hessian(fn, at, &one, H) == ADREV_OK, "%s", b->name);
    for (int j = 0; j < 3 && b->step != plain_number_step; j++) {
        double up[3] = { at[0], at[1], at[2] };
        double down[3] = { at[0], at[1], at[2] };
        double gu[3];
        double gd[3];
        up[j] += h;
        down[j] -= h;
        if (ad_fn_gradient(fn, up, NULL, gu) != ADREV_OK
            || ad_fn_gradient(fn, down, NULL, gd) != ADREV_OK)
            continue;       // another path
        for (int i = 0; i < 3; i++)     // differences of order h^2, eps/h
            CHECK(fabs((gu[i] - gd[i]) / (up[j] - down[j]) - H[3 * i + j])
                      <= 1e-5 * (largest_of(9, H) + largest_of(3, g)),
                  "%s: H[%d][%d] = %.17g, by differences %.17g", b->name, i,
                  j, H[3 * i + j], (gu[i] - gd[i]) / (up[j] - down[j]));
    }
    ad_fn_free(fn);
}

static void run_wholes(void)
{
    static const double at[3] = { 0.1, 0.2, 0.3 };
    CHECK(ad_fn_record(&called, called_body, NULL, 3, at, 1) == ADREV_OK,
          "recorded");
    for (size_t i = 0; i < LOOPS; i++)
        if (loops[i].step != eight_step)    // chaos: no differences
            run_whole(&loops[i]);
    ad_fn_free(called);
    called = NULL;
}

// Calls that are not recorded are, in a function, recorded.
static void checkpointed(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_checkpoint_options options = { .keep = ADREV_KEEP_AUTOMATIC };
    ad_rev z[2];
    (void)ctx;
    ad_checkpoint(called_body, NULL, 3, x, 1, z);
    ad_rev in[3] = { z[0], x[1], x[2] };
    ad_checkpoint_with(&options, called_body, NULL, 3, in, 1, z + 1);
    *y = ad_rec(ad_mul(z[0], z[1]));
}

static void directly(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev z[2];
    called_body(x, z, ctx);
    ad_rev in[3] = { z[0], x[1], x[2] };
    called_body(in, z + 1, ctx);
    *y = ad_rec(ad_mul(z[0], z[1]));
}

static void run_checkpointed(void)
{
    static const double at[3] = { 0.4, 1.2, -0.3 };
    static const double one = 1;
    double H[2][9];
    ad_fn *fn[2] = { NULL, NULL };
    CHECK(ad_fn_record(&fn[0], checkpointed, NULL, 3, at, 1) == ADREV_OK,
          "calls in a function");
    CHECK(ad_fn_record(&fn[1], directly, NULL, 3, at, 1) == ADREV_OK,
          "the same without");
    for (int i = 0; i < 2; i++)
        CHECK(ad_fn_hessian(fn[i], at, &one, H[i]) == ADREV_OK, "Hessian");
    CHECK(same_bits(9, H[0], H[1]), "calls in a function: another program");
    ad_fn_free(fn[0]);
    ad_fn_free(fn[1]);
}

// Compiled steps: where there is no compiler they are replayed.
static void run_compiled(void)
{
    static const size_t which[] = { 0, 5 };     // with branches, and without
    for (size_t i = 0; i < 2; i++) {
        const struct branching *b = &loops[which[i]];
        double first[3] = { 0 };
        how.plain = true;
        struct outcome want = outcome_of(b);
        how.plain = false;
        how.compiled = true;
        for (size_t w = 0; w < WAYS; w += 2) {
            go(&ways[w]);
            struct outcome o = outcome_of(b);
            if (w == 0)
                memcpy(first, o.g, sizeof first);
            // A compiler of its own may contract products and sums.
            CHECK(fabs(o.value - want.value) <= 1e-12 * fabs(want.value),
                  "%s compiled: %.17g, want %.17g", b->name, o.value,
                  want.value);
            for (int j = 0; j < 3; j++)
                CHECK(fabs(o.g[j] - want.g[j])
                          <= 1e-12 * largest_of(3, want.g),
                      "%s compiled [%d]: %.17g, want %.17g", b->name, j,
                      o.g[j], want.g[j]);
            CHECK(same_bits(3, o.g, first), "%s compiled, %s: other bits",
                  b->name, ways[w].name);
        }
        how.compiled = false;
    }
}

/* --- functions that several scans share ----------------------------------- */

// All ways one after the other, with the functions of the first: the paths that
// a scan met are known to the next.
static void run_shared_loop(const struct branching *b, bool compiled)
{
    struct outcome first[WAYS];
    how.plain = true;
    struct outcome plain = outcome_of(b);
    how.plain = false;
    how.compiled = compiled;
    how.replays = ad_replays_new(NULL);
    CHECK(how.replays != NULL, "no memory");
    for (int again = 0; again < 3; again++)
        for (size_t w = 0; w < WAYS; w++) {
            go(&ways[w]);
            struct outcome o = outcome_of(b);
            const ad_scan_report *p = &how.report[0];
            CHECK(o.steps == plain.steps, "%s, shared: %zu steps, want %zu",
                  b->name, o.steps, plain.steps);
            // A compiler of its own may contract products and sums.
            CHECK(same_bits(1, &o.value, &plain.value) || (compiled
                  && fabs(o.value - plain.value) <= 1e-12
                                                   * fabs(plain.value)),
                  "%s, shared: %.17g, want %.17g", b->name, o.value,
                  plain.value);
            check_same(b->name, 3, o.g, plain.g);
            if (again == 1)
                first[w] = o;
            // By then all paths that are kept are known.
            CHECK(again < 2 || same_bits(3, o.g, first[w].g), "%s, shared, "
                  "%s %zu: other bits", b->name, ways[w].name,
                  ways[w].schedule.n);
            CHECK(again == 0 || b->apart == 0 || p->paths == 0, "%s, shared: "
                  "%zu paths anew", b->name, p->paths);
            CHECK(again == 0 || b->apart == 0
                      || p->replayed >= 2 * o.steps, "%s, shared: %zu "
                  "replayed in two sweeps of %zu steps", b->name, p->replayed,
                  o.steps);
        }
    ad_tape_clear(tape);
    ad_replays_free(how.replays);
    how.replays = NULL;
    how.compiled = false;
}

// Two scans of one recording, other steps, other sizes: nothing is mixed up,
// and what a later scan adds does not change a sweep of the earlier one.
static void run_shared_mixed(void)
{
    static const double at[3] = { 0.7, 0.65, 0.8 };
    const struct branching *few = &loops[0];
    const struct branching *many = &loops[2];
    ad_rev x[3];
    ad_rev y[4];
    double g[4][3];
    double again[3];
    how.replays = ad_replays_new(NULL);
    go(&ways[0]);
    ad_inputs(3, at, x);
    for (int i = 0; i < 4; i++) {
        branch_loop(i % 2 ? many : few, x, &y[i]);
        CHECK(ad_gradient(tape, y[i], 3, x, g[i]) == ADREV_OK, "mixed");
    }
    for (int i = 0; i < 4; i++) {
        CHECK(ad_gradient(tape, y[i], 3, x, again) == ADREV_OK
              && same_bits(3, g[i], again), "mixed: sweep %d again", i);
        check_same("mixed", 3, g[i], g[i % 2]);
    }
    // the same step at other values, and within another sum
    const double other[3] = { 0.71, 0.66, 0.79 };
    ad_tape_clear(tape);
    start_program();
    ad_inputs(3, other, x);
    branch_loop(few, x, y);
    CHECK(ad_gradient(tape, y[0], 3, x, g[0]) == ADREV_OK, "mixed");
    how.plain = true;
    ad_tape_clear(tape);
    ad_inputs(3, other, x);
    branch_loop(few, x, y);
    CHECK(ad_gradient(tape, y[0], 3, x, g[1]) == ADREV_OK, "mixed");
    how.plain = false;
    check_same("mixed, other values", 3, g[0], g[1]);
    ad_tape_clear(tape);
    ad_replays_free(how.replays);
    how.replays = NULL;
    ad_replays_free(NULL);
}

static void run_shared(void)
{
    static const double at[3] = { 0.1, 0.2, 0.3 };
    CHECK(ad_fn_record(&called, called_body, NULL, 3, at, 1) == ADREV_OK,
          "recorded");
    for (size_t i = 0; i < LOOPS; i++)
        run_shared_loop(&loops[i], false);
    run_shared_loop(&loops[0], true);
    run_shared_loop(&loops[5], true);
    run_shared_loop(&loops[10], true);
    run_shared_mixed();
    ad_tape_clear(tape);
    ad_fn_free(called);
    called = NULL;
}

/* --- truncated loops --------------------------------------------------------
 * Derivatives are those of the last steps alone, from a constant state.      */

enum { CUT_STEPS = 5, CUT_INPUTS = 2 + CUT_STEPS };

struct cut_at {
    size_t reversed;
    bool whole;
};

// s sin(w s) + u.
static ad_rev cut_formula(ad_rev s, ad_rev w, ad_rev u)
{
    return ad_rec(ad_add(ad_mul(s, ad_sin(ad_mul(w, s))), u));
}

static void cut_step(ad_step *s, void *ctx)
{
    (void)ctx;
    s->next[0][0] = cut_formula(s->state[0][0], s->parameter[0],
                                s->sequence[0][0]);
}

static void cut_scan(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct cut_at *at = ctx;
    ad_rev last;
    const ad_scan_state state = { .size = 1, .initial = x, .last = &last };
    const ad_scan_sequence u = { .size = 1, .rows = CUT_STEPS, .row = x + 2 };
    const ad_scan_desc d = { .step = cut_step, .steps = CUT_STEPS, .states = 1,
                             .state = &state, .sequences = 1, .sequence = &u,
                             .parameters = 1, .parameter = x + 1,
                             .truncated = true, .reversed = at->reversed,
                             .whole = at->whole };
    ad_status s = ad_scan(&d, NULL);
    CHECK(s == ADREV_OK, "truncated: %s", ad_message(s));
    y[0] = ad_rec(ad_mul(last, last));
}

static void cut_rest(const ad_rev *x, ad_rev *y, void *ctx)
{
    size_t first = CUT_STEPS - ((const struct cut_at *)ctx)->reversed;
    double s = x[0].v;
    for (size_t i = 0; i < first; i++)
        s = s * sin(x[1].v * s) + x[2 + i].v;
    ad_rev last = first == 0 ? x[0] : ad_rec(s);
    for (size_t i = first; i < CUT_STEPS; i++)
        last = cut_formula(last, x[1], x[2 + i]);
    y[0] = ad_rec(ad_mul(last, last));
}

static void hessian_at(ad_vector_fn *f, struct cut_at at, const double x[],
                       double g[], double H[])
{
    static const double one = 1;
    ad_fn *fn = NULL;
    const ad_fn_options once = { .once = true };    // cut_rest freezes on purpose
    ad_status s = ad_fn_record_with(&fn, &once, f, &at, CUT_INPUTS, x, 1);
    CHECK(s == ADREV_OK && ad_fn_vjp(fn, x, &one, g) == ADREV_OK
          && ad_fn_hessian(fn, x, &one, H) == ADREV_OK, "truncated after %zu",
          at.reversed);
    ad_fn_free(fn);
}

static void run_truncated(void)
{
    static const double x[CUT_INPUTS] = { 1.1, 0.7, 0.3, -0.2, 0.5, 0.9, 0.4 };
    for (size_t k = 0; k <= CUT_STEPS; k++) {
        double g[3][CUT_INPUTS] = { { 0 } };
        double H[3][CUT_INPUTS * CUT_INPUTS] = { { 0 } };
        hessian_at(cut_rest, (struct cut_at){ k, false }, x, g[0], H[0]);
        hessian_at(cut_scan, (struct cut_at){ k, false }, x, g[1], H[1]);
        hessian_at(cut_scan, (struct cut_at){ k, true }, x, g[2], H[2]);
        for (int way = 1; way < 3; way++) {
            for (int i = 0; i < CUT_INPUTS; i++)
                CHECK_NEAR(g[way][i], g[0][i], 1e-13);
            for (int i = 0; i < CUT_INPUTS * CUT_INPUTS; i++)
                CHECK_NEAR(H[way][i], H[0][i], 1e-13);
        }
        CHECK(k == 0 || H[0][CUT_INPUTS + 1] != 0, "nothing to compare");
    }
}

int main(void)
{
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    run_functions();
    run_whole_functions();
    run_path();
    run_orders();
    run_truncated();
    run_checkpointed();
    ad_use(tape);
    run_wholes();
    run_replayed();
    run_tangents();
    run_once();
    run_branches();
    run_by_ctx();
    run_compiled();
    run_shared();
    ad_tape_free(tape);
    return check_done("scan_second");
}
