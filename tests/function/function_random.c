// SPDX-License-Identifier: MIT-0
// tags: recorded slow
/* function_random.c - random programs, recorded at one point and evaluated at
 * others.
 *
 * Values have the bits of the program run on a tape there, and where a decision
 * comes out differently the answer is ADREV_EPATH with the number of that one.
 * Jacobians, tangents and adjoints are those of the tape, within a part of the
 * sum of the absolute values of all paths. Second derivatives are compared with
 * differences of gradients that the oracle computes in long double. In lanes
 * (ad_fn_map and its kin) all is as at single points, bit by bit, and so it is
 * in machine code, for some programs.                                        */

#define _POSIX_C_SOURCE 200809L     // getpid

#include <stdlib.h>
#include <unistd.h>

#include "implementation.h"
#include "adrev_function.h"

#include "check.h"
#include "random_programs.h"

#ifndef PROGRAMS
#define PROGRAMS (1500 / ONE_IN(5))
#endif

enum { ELSEWHERE = 5, N = RANDOM_INPUTS, M = RANDOM_OUTPUTS };
enum { POINTS = 19 };           // side by side: more than two vectors of them
enum { COMPILED = 50 };         // one program in so many is compiled

#define UNTOUCHED ((ad_real)-12345.5)

// Ulps of the sum of paths: against the tape, which rounds in another order,
// and of second derivatives against the oracle, whose lgamma and tgamma differ
// from <math.h> by some tens of ulps close to zeros of digamma.
#define ULPS        8
#define SECOND_ULPS 512

static ad_tape *tape;
static char cache[64];          // of compiled functions
static uint64_t seed = 20;
static int number;              // of the program, for messages
static long evaluated;          // elsewhere, on the same path
static long left;               // elsewhere, on another path
static long seconds;            // second derivatives compared
static long translated;         // programs in machine code
static long skipped;            // too close to a kink for differences

// The same bits, and NaN for NaN.
static bool same(ad_real a, ad_real b)
{
    return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}

static long double unit(void)
{
    return sizeof(ad_real) == sizeof(float) ? (long double)FLT_EPSILON
                                            : (long double)DBL_EPSILON;
}

/* --- one point ------------------------------------------------------------ */

struct point {
    const random_program *p;
    ad_fn *fn;
    const ad_real *x;
    random_trace t;
    random_exact e;
    ad_real y[M];               // of the tape
    ad_real J[M * N];
    long double size[M * N];    // of all paths
    bool finite;
};

static void on_tape(struct point *at)
{
    ad_rev x[N];
    ad_rev y[M];
    const random_program *p = at->p;
    ad_tape_clear(tape);
    ad_inputs((size_t)p->n, at->x, x);
    random_run(x, y, (void *)(uintptr_t)p);
    for (int i = 0; i < p->m; i++)
        at->y[i] = y[i].v;
    memset(at->J, 0, sizeof at->J);
    ad_status s = ad_jacobian(tape, (size_t)p->m, y, (size_t)p->n, x, at->J);
    CHECK(s == ADREV_OK || s == ADREV_EPASSIVE, "tape: %s", ad_message(s));
}

static void measure(struct point *at)
{
    const random_program *p = at->p;
    long double x[N];
    for (int j = 0; j < p->n; j++)
        x[j] = (long double)at->x[j];
    random_exact_values(p, &at->t, x, true, &at->e);
    for (int i = 0; i < p->nodes; i++)      // the library's own slopes
        for (int j = 0; j < 3; j++)
            at->e.slope[i][j] = (long double)at->t.slope[i][j];
    at->finite = true;
    for (int i = 0; i < p->m; i++) {
        long double w[M] = { 0 };
        w[i] = 1;
        random_exact_sweep(p, &at->e, w, true, &at->size[i * p->n]);
    }
    for (int i = 0; i < p->nodes; i++)
        if (!isfinite(at->t.v[p->n + i]) || !isfinite(at->t.slope[i][0])
            || !isfinite(at->t.slope[i][1]) || !isfinite(at->t.slope[i][2]))
            at->finite = false;
    for (int i = 0; i < p->m * p->n; i++)
        if (!(at->size[i] < 1e200L))
            at->finite = false;
}

static void within(const char *how, int i, ad_real got, ad_real want,
                   long double size)
{
    long double off = fabsl((long double)got - (long double)want);
    // What underflows is not in proportion to anything.
    CHECK(off <= ULPS * unit() * size + (long double)1e-300,
          "program %d, %s [%d]: got %.17g, want %.17g, of paths %.3Lg: %.3Lg "
          "ulps", number, how, i, (double)got, (double)want, size,
          off / (unit() * size));
}

static void ok(const char *how, ad_status s)
{
    CHECK(s == ADREV_OK, "program %d, %s: %s", number, how, ad_message(s));
}

static void check_values(const struct point *at)
{
    ad_real y[M];
    ok("eval", ad_fn_eval(at->fn, at->x, y));
    for (int i = 0; i < at->p->m; i++)
        CHECK(same(y[i], at->y[i]), "program %d, y[%d]: got %.17g, want %.17g",
              number, i, (double)y[i], (double)at->y[i]);
}

static void check_jacobian(const struct point *at)
{
    const random_program *p = at->p;
    ad_real J[M * N];
    ok("jacobian", ad_fn_jacobian(at->fn, at->x, J));
    for (int i = 0; i < p->m * p->n; i++)
        within("jacobian", i, J[i], at->J[i], at->size[i]);
    ad_real values[M];
    ad_real L[M * N];
    ok("linearize", ad_fn_linearize(at->fn, at->x, values, L));
    for (int i = 0; i < p->m * p->n; i++)
        CHECK(same(L[i], J[i]), "program %d: linearize [%d]", number, i);
    for (int i = 0; i < p->m; i++)
        CHECK(same(values[i], at->y[i]), "program %d: value %d of linearize",
              number, i);
    if (p->m > 1)
        return;
    ad_real y = UNTOUCHED;
    ok("gradient", ad_fn_gradient(at->fn, at->x, &y, J));
    CHECK(same(y, at->y[0]), "program %d: value of the gradient", number);
    for (int i = 0; i < p->n; i++)
        within("gradient", i, J[i], at->J[i], at->size[i]);
}

static void draw(int n, ad_real *v)
{
    for (int i = 0; i < n; i++)
        v[i] = random_below(&seed, 4) ? (ad_real)oracle_uniform(&seed, -1, 1)
                                      : 0;
}

static void check_seeds(const struct point *at)
{
    const random_program *p = at->p;
    ad_real v[N], w[M], dy[M], dx[N];
    draw(p->n, v);
    draw(p->m, w);
    ok("jvp", ad_fn_jvp(at->fn, at->x, v, dy));
    ok("vjp", ad_fn_vjp(at->fn, at->x, w, dx));
    for (int i = 0; i < p->m; i++) {
        long double sum = 0;
        long double size = 0;
        for (int j = 0; j < p->n; j++) {
            sum += (long double)at->J[i * p->n + j] * (long double)v[j];
            size += at->size[i * p->n + j] * fabsl((long double)v[j]);
        }
        within("jvp", i, dy[i], (ad_real)sum, size);
    }
    for (int j = 0; j < p->n; j++) {
        long double sum = 0;
        long double size = 0;
        for (int i = 0; i < p->m; i++) {
            sum += (long double)at->J[i * p->n + j] * (long double)w[i];
            size += at->size[i * p->n + j] * fabsl((long double)w[i]);
        }
        within("vjp", j, dx[j], (ad_real)sum, size);
    }
}

/* --- second derivatives --------------------------------------------------- */

enum { LEVELS = 8 };

// H d of the weighted outputs: differences of exact gradients, extrapolated,
// with their error, the rounding of the gradients included. Decisions, steps
// and detached numbers stand still.
static void differences(struct point *at, const long double *w,
                        const long double *d, long double *hd,
                        long double *error)
{
    static long double table[LEVELS][LEVELS][N];
    const random_program *p = at->p;
    long double h = 0x1p-5L;
    long double size[N];
    long double rounded[N];
    random_exact_sweep(p, &at->e, w, true, size);
    random_second_size(p, &at->t, &at->e, w, NULL, rounded);
    for (int j = 0; j < p->n; j++)
        error[j] = (long double)INFINITY;
    for (int i = 0; i < LEVELS; i++, h /= 4) {
        long double g[2][N];
        for (int s = 0; s < 2; s++) {
            long double x[N];
            for (int j = 0; j < p->n; j++)
                x[j] = (long double)at->x[j] + (s ? h : -h) * d[j];
            random_exact_values(p, &at->t, x, false, &at->e);
            random_exact_sweep(p, &at->e, w, false, g[s]);
        }
        for (int j = 0; j < p->n; j++)
            table[0][i][j] = (g[1][j] - g[0][j]) / (2 * h);
        long double factor = 16;
        for (int l = 1; l <= i; l++, factor *= 16)
            for (int j = 0; j < p->n; j++) {
                long double a = table[l - 1][i][j];
                long double b = table[l - 1][i - 1][j];
                long double best = a + (a - b) / (factor - 1);
                long double e = fabsl(best - a) + fabsl(best - b)
                              + 4 * LDBL_EPSILON * (size[j] + rounded[j]) / h;
                table[l][i][j] = best;
                if (e < error[j]) {
                    error[j] = e;
                    hd[j] = best;
                }
            }
    }
    // Across a kink coarse steps may agree by chance: the finest must, too.
    for (int j = 0; j < p->n; j++)
        if (!(fabsl(table[0][LEVELS - 1][j] - hd[j]) <= 1e-5L * (1 + size[j])))
            error[j] = (long double)INFINITY;
}

static void second_within(const char *how, int i, ad_real got,
                          long double want, long double error,
                          long double size)
{
    long double off = fabsl((long double)got - want);
    // Close to a kink differences say nothing.
    if (!(error <= 1e-6L * (1 + size))) {
        skipped++;
        return;
    }
    seconds++;
    CHECK(off <= 16 * error + SECOND_ULPS * unit() * size + 1e-300L,
          "program %d, %s [%d]: got %.17g, want %.17Lg +- %.2Lg, of terms "
          "%.3Lg: %.3Lg ulps", number, how, i, (double)got, want, error, size,
          off / (unit() * size));
}

static void check_hvp(struct point *at, const ad_real *H, const ad_real *w,
                      const ad_real *v, int column)
{
    const random_program *p = at->p;
    long double wl[M], vl[N], x[N], want[N], error[N], size[N];
    ad_real hv[N];
    for (int i = 0; i < p->m; i++)
        wl[i] = (long double)w[i];
    for (int j = 0; j < p->n; j++) {
        vl[j] = (long double)v[j];
        x[j] = (long double)at->x[j];
        want[j] = 0;
    }
    ok("hvp", ad_fn_hvp(at->fn, at->x, w, v, hv));
    random_exact_values(p, &at->t, x, false, &at->e);
    random_second_size(p, &at->t, &at->e, wl, vl, size);
    differences(at, wl, vl, want, error);
    for (int j = 0; j < p->n; j++) {
        second_within("hvp", j, hv[j], want[j], error[j], size[j]);
        if (column >= 0)
            second_within("hessian", j, H[j * p->n + column], want[j],
                          error[j], size[j]);
    }
}

static void check_second(struct point *at)
{
    const random_program *p = at->p;
    ad_real w[M], v[N], H[N * N];
    draw(p->m, w);
    ok("hessian", ad_fn_hessian(at->fn, at->x, w, H));
    for (int k = 0; k < p->n; k++) {
        for (int j = 0; j < p->n; j++)
            v[j] = j == k;
        check_hvp(at, H, w, v, k);
    }
    draw(p->n, v);
    check_hvp(at, H, w, v, -1);
}

/* --- one program ---------------------------------------------------------- */

static void evaluate(struct point *at, bool second)
{
    on_tape(at);
    check_values(at);
    measure(at);
    if (!at->finite)
        return;
    check_jacobian(at);
    check_seeds(at);
    if (second && !at->t.kink)
        check_second(at);
}

static ad_status ask(const struct point *at, int question, ad_real *out)
{
    ad_real ones[N + M];
    for (int i = 0; i < N + M; i++)
        ones[i] = 1;
    switch (question) {
    case 0: return ad_fn_eval(at->fn, at->x, out);
    case 1: return ad_fn_jvp(at->fn, at->x, ones, out);
    case 2: return ad_fn_vjp(at->fn, at->x, ones, out);
    case 3: return ad_fn_jacobian(at->fn, at->x, out);
    case 4: return ad_fn_hvp(at->fn, at->x, ones, ones, out);
    }
    return ad_fn_hessian(at->fn, at->x, ones, out);
}

static void check_left(const struct point *at, int index)
{
    for (int question = 0; question < 6; question++) {
        ad_real out[N * N];
        bool touched = false;
        for (int i = 0; i < N * N; i++)
            out[i] = UNTOUCHED;
        ad_status s = ask(at, question, out);
        for (int i = 0; i < N * N; i++)
            touched = touched || out[i] != UNTOUCHED;
        CHECK(s == ADREV_EPATH, "program %d, question %d: got \"%s\", but "
              "decision %d is another one", number, question, ad_message(s),
              index);
        CHECK(!touched, "program %d, question %d: a number was touched",
              number, question);
        CHECK(s != ADREV_EPATH || ad_fn_guard().index == (size_t)index,
              "program %d, question %d: guard %zu, want %d", number, question,
              ad_fn_guard().index, index);
    }
}

// The first decision that comes out differently; zeros: it differs in the sign
// of a zero, and both answers are right.
static int parting(const random_trace *was, const random_trace *is,
                   bool *zeros)
{
    int i = 0;
    while (i < was->decisions && i < is->decisions
           && same(was->decision[i], is->decision[i]))
        i++;
    *zeros = i < was->decisions && i < is->decisions
          && was->decision[i] == is->decision[i];
    return i;
}

static void elsewhere(const random_program *p, ad_fn *fn,
                      const random_trace *was, const ad_real *x, bool second)
{
    static struct point at;
    bool zeros = false;
    at.p = p;
    at.fn = fn;
    at.x = x;
    random_trace_at(p, x, &at.t);
    int index = parting(was, &at.t, &zeros);
    if (at.t.open || zeros)
        return;
    if (index < was->decisions) {
        left++;
        check_left(&at, index);
    } else {
        evaluated++;
        evaluate(&at, second);
    }
}

/* --- lanes and machine code ----------------------------------------------- */

// What a function answers at some points.
struct table {
    ad_real y[POINTS][M];
    ad_real dy[POINTS][M];
    ad_real dx[POINTS][N];      // adjoints, from 0
    uint32_t left[POINTS];      // as ad_fn_map has it
};

static void one_by_one(const random_program *p, ad_fn *fn,
                       ad_real x[POINTS][N], struct table *t)
{
    ad_real ones[N + M];
    for (int i = 0; i < N + M; i++)
        ones[i] = 1;
    memset(t, 0, sizeof *t);
    for (int i = 0; i < POINTS; i++) {
        ad_status s = ad_fn_eval(fn, x[i], t->y[i]);
        t->left[i] = s == ADREV_EPATH ? 1 + (uint32_t)ad_fn_guard().index : 0;
        CHECK(s == ADREV_OK || s == ADREV_EPATH, "program %d: %s", number,
              ad_message(s));
        CHECK(ad_fn_jvp(fn, x[i], ones, t->dy[i]) == s, "jvp");
        CHECK(ad_fn_vjp(fn, x[i], ones, t->dx[i]) == s, "vjp");
        for (int j = 0; j < p->n; j++)
            t->dx[i][j] += 0;
    }
}

static void side_by_side(const random_program *p, ad_fn *fn,
                         ad_real x[POINTS][N], struct table *t)
{
    ad_real one = 1;
    ad_column in[N], ones[N + M], y[M], dy[M], dx[N];
    memset(t, 0, sizeof *t);
    for (int j = 0; j < N + M; j++)
        ones[j] = (ad_column){ &one, 0 };
    for (int j = 0; j < p->n; j++) {
        in[j] = (ad_column){ &x[0][j], N };
        dx[j] = (ad_column){ &t->dx[0][j], N };
    }
    for (int i = 0; i < p->m; i++) {
        y[i] = (ad_column){ &t->y[0][i], M };
        dy[i] = (ad_column){ &t->dy[0][i], M };
    }
    ad_status s = ad_fn_map(fn, POINTS, in, y, t->left);
    CHECK(s == ADREV_OK || s == ADREV_EPATH, "program %d: map: %s", number,
          ad_message(s));
    CHECK(ad_fn_map_jvp(fn, POINTS, in, ones, dy, NULL) == s, "map_jvp");
    CHECK(ad_fn_map_vjp(fn, POINTS, in, ones, dx, NULL, NULL) == s, "map_vjp");
}

static bool all_same(size_t n, const ad_real *a, const ad_real *b)
{
    size_t i = 0;
    while (i < n && same(a[i], b[i]))
        i++;
    return i == n;
}

// finite: only points where all values are; beside them machine code may have
// another sign of zero.
static void check_table(const random_program *p, const char *how, bool finite,
                        const struct table *got, const struct table *want)
{
    size_t n = (size_t)p->n;
    size_t m = (size_t)p->m;
    for (int i = 0; i < POINTS; i++) {
        bool all = true;
        for (int k = 0; k < p->m; k++)
            all = all && isfinite(want->y[i][k]) && isfinite(want->dy[i][k]);
        for (int k = 0; k < p->n; k++)
            all = all && isfinite(want->dx[i][k]);
        CHECK(got->left[i] == want->left[i], "program %d, %s, point %d: left "
              "%u, want %u", number, how, i, got->left[i], want->left[i]);
        if (finite && !all)
            continue;
        CHECK(all_same(m, got->y[i], want->y[i]), "program %d, %s, point %d: "
              "other values", number, how, i);
        CHECK(all_same(m, got->dy[i], want->dy[i]), "program %d, %s, point %d: "
              "other tangents", number, how, i);
        CHECK(all_same(n, got->dx[i], want->dx[i]), "program %d, %s, point %d: "
              "other adjoints", number, how, i);
    }
}

static void check_many(const random_program *p, ad_fn *fn,
                       ad_real x[POINTS][N])
{
    static struct table single, lanes, compiled;
    one_by_one(p, fn, x, &single);
    side_by_side(p, fn, x, &lanes);
    check_table(p, "in lanes", false, &lanes, &single);
    if (number % COMPILED != 0)
        return;
    const ad_compile_options o = { .flags = "-O1 -ffp-contract=off",
                                   .cache = cache };
    ad_status s = ad_fn_compile(fn, &o);
    if (!CHECK(s == ADREV_OK, "program %d: compile: %s", number, ad_message(s)))
        return;
    translated++;
    one_by_one(p, fn, x, &compiled);
    check_table(p, "compiled", true, &compiled, &single);
    side_by_side(p, fn, x, &lanes);
    check_table(p, "compiled, in lanes", true, &lanes, &single);
}

/* --- one program, at all points ------------------------------------------- */

static void run_program(void)
{
    static const double far[ELSEWHERE] = { 1e-6, 1e-3, 0.05, 0.3, 2 };
    static random_program p;
    static random_trace was;
    const ad_fn_options options = { .plain = number % 3 == 2 };
    ad_fn *fn = NULL;
    random_make(&p, &seed);
    random_trace_at(&p, p.x, &was);
    ad_status s = ad_fn_record_with(&fn, &options, random_run, &p,
                                    (size_t)p.n, p.x, (size_t)p.m);
    if (!CHECK(s == ADREV_OK && fn != NULL, "program %d: record: %s", number,
               ad_message(s)))
        return;
    CHECK(ad_fn_about(fn).guards <= (size_t)was.decisions,
          "program %d: %zu guards, %d decisions", number,
          ad_fn_about(fn).guards, was.decisions);
    ad_real x[POINTS][N];
    for (int i = 0; i < POINTS; i++)
        for (int j = 0; j < p.n; j++)
            x[i][j] = i >= ELSEWHERE ? x[i - ELSEWHERE][j] : p.x[j]
                    + (ad_real)oracle_uniform(&seed, -far[i], far[i]);
    for (int i = 0; i < ELSEWHERE; i++)
        elsewhere(&p, fn, &was, x[i], i == 2);
    elsewhere(&p, fn, &was, p.x, true);     // at last where it was recorded
    check_many(&p, fn, x);
    ad_fn_free(fn);
}

int main(void)
{
    char line[128];
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    snprintf(cache, sizeof cache, "/tmp/adrev-random-%ld", (long)getpid());
    for (number = 0; number < PROGRAMS; number++) {
        ad_use(tape);
        run_program();
        CHECK(ad_use(NULL) == tape, "program %d: the tape is current", number);
    }
    CHECK(evaluated > 3 * PROGRAMS && left > PROGRAMS / 2,
          "%ld points on the path, %ld on others", evaluated, left);
    CHECK(seconds > 20 * skipped, "%ld second derivatives, %ld skipped",
          seconds, skipped);
    CHECK(translated > PROGRAMS / COMPILED / 2, "%ld compiled", translated);
    ad_tape_free(tape);
    snprintf(line, sizeof line, "rm -r %s", cache);
    CHECK(system(line) == 0, "%s", line);
    return check_done("function_random");
}
