// SPDX-License-Identifier: MIT-0
// tags: recorded slow
/* sparse.c - sparse Jacobians and Hessians of recorded functions.
 *
 * Programs are lists of steps, run with recorded numbers and, as the oracle,
 * with numbers in long double that carry two directions and their second
 * derivative. A pattern must be sorted and hold every entry that is not zero;
 * of the structured programs it must be the pattern that they were built with,
 * in no more directions than that needs. Values are compared with the oracle,
 * with the dense matrices, and with the tape.                               */

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "implementation.h"
#include "adrev_function.h"

#include "check.h"
#include "heap.h"

#include <stdint.h>
#include <string.h>

#define UNTOUCHED ((ad_real)-12345.5)
#define NOWHERE   ((size_t)-77)
#define ENDS      4             // canaries behind each output

static uint64_t state = 88172645463325252u;

static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 20) % n;
}

static double uniform(double from, double to)
{
    return from + (to - from) * (double)below(1u << 30) / (1 << 30);
}

static void *room(size_t count, size_t size)
{
    void *p = calloc(count + ENDS, size);
    if (p == NULL)
        abort();
    return p;
}

/* --- programs: step k makes number n + k ---------------------------------- */

enum kind {
    CONSTANT, ADD, SUB, MUL, SQR, SIN, TANH, EXPSIN, LOG2SQR, SQRT1SQR, OVER,
    POWER, FMA, LEAST, ABS, FLOOR, ATAN2, LARGER, KINDS
};

struct step {
    enum kind kind;
    size_t a;
    size_t b;
    double c;
};

struct program {
    const char *name;
    size_t n;
    size_t m;
    size_t steps;
    size_t held;
    struct step *step;
    size_t *result;
};

static struct program begin(const char *name, size_t n, size_t m)
{
    struct program p = { name, n, m, 0, 0, NULL, NULL };
    p.result = room(m, sizeof *p.result);
    return p;
}

static void end(struct program *p)
{
    free(p->step);
    free(p->result);
}

static size_t put(struct program *p, enum kind kind, size_t a, size_t b,
                  double c)
{
    if (p->steps == p->held) {
        p->held = p->held > 0 ? 2 * p->held : 64;
        p->step = realloc(p->step, p->held * sizeof *p->step);
        if (p->step == NULL)
            abort();
    }
    p->step[p->steps] = (struct step){ kind, a, b, c };
    return p->n + p->steps++;
}

static size_t constant(struct program *p, double c)
{
    return put(p, CONSTANT, 0, 0, c);
}

static ad_rev rev_step(const struct step *s, ad_rev a, ad_rev b)
{
    ad_real c = (ad_real)s->c;
    switch ((int)s->kind) {
    case CONSTANT: return ad_rec(c);
    case ADD:      return ad_rec(ad_add(a, b));
    case SUB:      return ad_rec(ad_sub(a, b));
    case MUL:      return ad_rec(ad_mul(a, b));
    case SQR:      return ad_rec(ad_sqr(a));
    case SIN:      return ad_rec(ad_sin(a));
    case TANH:     return ad_rec(ad_tanh(a));
    case EXPSIN:   return ad_rec(ad_exp(ad_sin(a)));
    case LOG2SQR:  return ad_rec(ad_log(ad_add(ad_sqr(a), 2)));
    case SQRT1SQR: return ad_rec(ad_sqrt(ad_add(ad_sqr(a), 1)));
    case OVER:     return ad_rec(ad_div(a, ad_add(ad_sqr(b), 2)));
    case POWER:    return ad_rec(ad_pow(ad_add(ad_sqr(a), 1), ad_sin(b)));
    case FMA:      return ad_rec(ad_fma(a, b, ad_mul(a, c)));
    case LEAST:    return ad_rec(ad_min(a, b));
    case ABS:      return ad_rec(ad_abs(a));
    case FLOOR:    return ad_rec(ad_add(ad_floor(a), b));
    case ATAN2:    return ad_rec(ad_atan2(a, ad_add(ad_sqr(b), 1)));
    }
    return ad_lt(a, b) ? b : a;
}

static void run(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct program *p = ctx;
    ad_rev *v = room(p->n + p->steps, sizeof *v);
    for (size_t i = 0; i < p->n; i++)
        v[i] = x[i];
    for (size_t k = 0; k < p->steps; k++)
        v[p->n + k] = rev_step(&p->step[k], v[p->step[k].a],
                               v[p->step[k].b]);
    for (size_t i = 0; i < p->m; i++)
        y[i] = v[p->result[i]];
    free(v);
}

/* --- the oracle: v + a s + b t + ab st ------------------------------------ */

typedef struct hyper {
    long double v;
    long double a;
    long double b;
    long double ab;
} hyper;

// f(x) with f, f' and f'' at x.
static hyper along(hyper x, long double f, long double f1, long double f2)
{
    return (hyper){ f, f1 * x.a, f1 * x.b, f1 * x.ab + f2 * x.a * x.b };
}

static hyper plus(hyper x, hyper y, long double c)
{
    return (hyper){ x.v + c * y.v, x.a + c * y.a, x.b + c * y.b,
                    x.ab + c * y.ab };
}

static hyper times(hyper x, hyper y)
{
    return (hyper){ x.v * y.v, x.a * y.v + x.v * y.a, x.b * y.v + x.v * y.b,
                    x.ab * y.v + x.a * y.b + x.b * y.a + x.v * y.ab };
}

static hyper shifted_square(hyper x, long double c)
{
    hyper y = times(x, x);
    y.v += c;
    return y;
}

static hyper of_sin(hyper x)
{
    return along(x, sinl(x.v), cosl(x.v), -sinl(x.v));
}

static hyper of_exp(hyper x)
{
    return along(x, expl(x.v), expl(x.v), expl(x.v));
}

static hyper of_log(hyper x)
{
    return along(x, logl(x.v), 1 / x.v, -1 / (x.v * x.v));
}

static hyper of_tanh(hyper x)
{
    long double t = tanhl(x.v);
    return along(x, t, 1 - t * t, -2 * t * (1 - t * t));
}

static hyper of_sqrt(hyper x)
{
    long double r = sqrtl(x.v);
    return along(x, r, 1 / (2 * r), -1 / (4 * r * r * r));
}

static hyper quotient(hyper x, hyper y)
{
    return times(x, along(y, 1 / y.v, -1 / (y.v * y.v),
                          2 / (y.v * y.v * y.v)));
}

// atan2(a, c) with c > 0
static hyper of_atan2(hyper a, hyper c)
{
    hyper q = quotient(a, c);
    long double d = 1 + q.v * q.v;
    return along(q, atanl(q.v), 1 / d, -2 * q.v / (d * d));
}

static hyper hyper_step(const struct step *s, hyper a, hyper b)
{
    hyper c = { (long double)s->c, 0, 0, 0 };
    switch ((int)s->kind) {
    case CONSTANT: return c;
    case ADD:      return plus(a, b, 1);
    case SUB:      return plus(a, b, -1);
    case MUL:      return times(a, b);
    case SQR:      return times(a, a);
    case SIN:      return of_sin(a);
    case TANH:     return of_tanh(a);
    case EXPSIN:   return of_exp(of_sin(a));
    case LOG2SQR:  return of_log(shifted_square(a, 2));
    case SQRT1SQR: return of_sqrt(shifted_square(a, 1));
    case OVER:     return quotient(a, shifted_square(b, 2));
    case POWER:    return of_exp(times(of_sin(b),
                                       of_log(shifted_square(a, 1))));
    case FMA:      return plus(times(a, b), times(a, c), 1);
    case LEAST:    return a.v < b.v ? a : b;
    case ABS:      return a.v < 0 ? plus((hyper){ 0, 0, 0, 0 }, a, -1) : a;
    case FLOOR:    b.v += floorl(a.v); return b;
    case ATAN2:    return of_atan2(a, shifted_square(b, 1));
    }
    return a.v < b.v ? b : a;
}

// The results with directions e[i] and e[j]; v [n + steps] is overwritten.
static void oracle(const struct program *p, const ad_real *x, size_t i,
                   size_t j, hyper *v)
{
    for (size_t k = 0; k < p->n; k++)
        v[k] = (hyper){ (long double)x[k], k == i, k == j, 0 };
    for (size_t k = 0; k < p->steps; k++)
        v[p->n + k] = hyper_step(&p->step[k], v[p->step[k].a],
                                 v[p->step[k].b]);
}

/* --- patterns ------------------------------------------------------------- */

struct pattern {
    bool hessian;
    size_t rows;
    ad_sparsity about;
    size_t *start;
    size_t *row;
    size_t *column;
};

static ad_status ask_pattern(ad_fn *fn, bool hessian, ad_sparsity *about,
                             size_t *start, size_t *row, size_t *column)
{
    return hessian ? ad_fn_hessian_pattern(fn, about, start, row, column)
                   : ad_fn_jacobian_pattern(fn, about, start, row, column);
}

static size_t *places(size_t count)
{
    size_t *p = room(count, sizeof *p);
    for (size_t i = 0; i < count + ENDS; i++)
        p[i] = NOWHERE;
    return p;
}

static bool ends_here(const size_t *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (p[i] == NOWHERE)
            return false;
    for (size_t i = 0; i < ENDS; i++)
        if (p[count + i] != NOWHERE)
            return false;
    return true;
}

// Each output may be left out: what is asked for alone is the same.
static void check_parts(ad_fn *fn, const struct pattern *p, const char *name)
{
    size_t k = p->about.nonzeros;
    size_t *alone = places(k > p->rows ? k : p->rows + 1);
    ad_sparsity about = { NOWHERE, NOWHERE, NOWHERE };
    CHECK(ask_pattern(fn, p->hessian, NULL, alone, NULL, NULL) == ADREV_OK
              && memcmp(alone, p->start, (p->rows + 1) * sizeof *alone) == 0,
          "%s: start alone", name);
    CHECK(ask_pattern(fn, p->hessian, NULL, NULL, alone, NULL) == ADREV_OK
              && memcmp(alone, p->row, k * sizeof *alone) == 0,
          "%s: row alone", name);
    CHECK(ask_pattern(fn, p->hessian, NULL, NULL, NULL, alone) == ADREV_OK
              && memcmp(alone, p->column, k * sizeof *alone) == 0,
          "%s: column alone", name);
    CHECK(ask_pattern(fn, p->hessian, &about, NULL, NULL, NULL) == ADREV_OK
              && memcmp(&about, &p->about, sizeof about) == 0,
          "%s: about alone", name);
    CHECK(ask_pattern(fn, p->hessian, NULL, NULL, NULL, NULL) == ADREV_OK,
          "%s: nothing asked", name);
    free(alone);
}

static void check_sorted(const struct pattern *p, size_t columns,
                         const char *name)
{
    size_t k = p->about.nonzeros;
    bool right = p->start[0] == 0 && p->start[p->rows] == k;
    for (size_t i = 0; i < p->rows && right; i++)
        right = p->start[i] <= p->start[i + 1] && p->start[i + 1] <= k;
    CHECK(right, "%s: start does not count up to %zu", name, k);
    for (size_t i = 0; i < p->rows && right; i++)
        for (size_t e = p->start[i]; e < p->start[i + 1]; e++) {
            right &= p->row[e] == i && p->column[e] < columns;
            right &= e == p->start[i] || p->column[e] > p->column[e - 1];
            right &= !p->hessian || p->column[e] <= i;
        }
    CHECK(right, "%s: entries are not sorted", name);
}

static struct pattern pattern_of(ad_fn *fn, bool hessian, const char *name)
{
    struct pattern p = { .hessian = hessian };
    size_t n = ad_fn_inputs(fn);
    p.rows = hessian ? n : ad_fn_outputs(fn);
    ad_status s = ask_pattern(fn, hessian, &p.about, NULL, NULL, NULL);
    CHECK(s == ADREV_OK, "%s: %s", name, ad_message(s));
    p.start = places(p.rows + 1);
    p.row = places(p.about.nonzeros);
    p.column = places(p.about.nonzeros);
    s = ask_pattern(fn, hessian, &p.about, p.start, p.row, p.column);
    CHECK(s == ADREV_OK, "%s: %s", name, ad_message(s));
    CHECK(ends_here(p.start, p.rows + 1)
              && ends_here(p.row, p.about.nonzeros)
              && ends_here(p.column, p.about.nonzeros),
          "%s: an output is too short or too long", name);
    CHECK(p.about.apart <= p.about.directions, "%s: apart", name);
    CHECK(p.about.directions > 0 || p.about.nonzeros == 0,
          "%s: no directions for %zu entries", name, p.about.nonzeros);
    check_sorted(&p, n, name);
    check_parts(fn, &p, name);
    return p;
}

static void forget(struct pattern *p)
{
    free(p->start);
    free(p->row);
    free(p->column);
}

// Where the entry is, or nonzeros.
static size_t entry(const struct pattern *p, size_t i, size_t j)
{
    for (size_t e = p->start[i]; e < p->start[i + 1]; e++)
        if (p->column[e] == j)
            return e;
    return p->about.nonzeros;
}

/* --- values --------------------------------------------------------------- */

static ad_real *numbers(size_t count)
{
    ad_real *p = room(count, sizeof *p);
    for (size_t i = 0; i < count + ENDS; i++)
        p[i] = UNTOUCHED;
    return p;
}

static bool untouched(const ad_real *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (memcmp(&p[i], &(ad_real){ UNTOUCHED }, sizeof *p) != 0)
            return false;
    return true;
}

static ad_real *values_of(ad_fn *fn, const struct pattern *p,
                          const ad_real *x, const ad_real *w,
                          const char *name)
{
    size_t k = p->about.nonzeros;
    ad_real *value = numbers(k);
    ad_real *again = numbers(k);
    for (int i = 0; i < 2; i++) {
        ad_real *out = i == 0 ? value : again;
        ad_status s = p->hessian ? ad_fn_hessian_sparse(fn, x, w, out)
                                 : ad_fn_jacobian_sparse(fn, x, out);
        CHECK(s == ADREV_OK, "%s: values: %s", name, ad_message(s));
        CHECK(untouched(out, k, k + ENDS), "%s: written beyond", name);
    }
    CHECK(memcmp(value, again, k * sizeof *value) == 0,
          "%s: not the same bits again", name);
    free(again);
    return value;
}

static bool close_to(long double got, long double want, long double size)
{
    return fabsl(got - want) <= 1e-13L * (size + fabsl(want));
}

// A whole matrix: what is not in the pattern must be 0.
static void check_against(const struct pattern *p, const ad_real *value,
                          size_t columns, const ad_real *dense,
                          const char *name)
{
    size_t k = p->about.nonzeros;
    long double size = 1;
    for (size_t i = 0; i < p->rows * columns; i++)
        size = fmaxl(size, fabsl((long double)dense[i]));
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = 0; j < (p->hessian ? i + 1 : columns); j++) {
            size_t e = entry(p, i, j);
            long double got = e < k ? (long double)value[e] : 0;
            long double want = (long double)dense[i * columns + j];
            bool right = e < k ? close_to(got, want, size) : want == 0;
            CHECK(right, "%s: (%zu, %zu) %s: got %.17Lg, want %.17Lg", name,
                  i, j, e < k ? "" : "not in the pattern", got, want);
        }
}

static void jacobian_by_tape(const struct program *p, ad_fn *fn,
                             const struct pattern *s, const ad_real *x)
{
    ad_real *J = numbers(p->n * p->m);
    ad_real *value = values_of(fn, s, x, NULL, p->name);
    ad_status status = ad_jac(run, (void *)(uintptr_t)p, p->n, x, p->m, NULL,
                              J);
    CHECK(status == ADREV_OK || status == ADREV_EPASSIVE, "%s: tape: %s",
          p->name, ad_message(status));
    if (status == ADREV_OK)
        check_against(s, value, p->n, J, p->name);
    status = ad_fn_jacobian(fn, x, J);
    CHECK(status == ADREV_OK, "%s: dense: %s", p->name, ad_message(status));
    check_against(s, value, p->n, J, p->name);
    free(value);
    free(J);
}

// Both matrices at (i, j) by the oracle.
static void check_entry(const struct program *p, const struct pattern s[2],
                        ad_real *const value[2], const ad_real *x,
                        const ad_real *w, size_t i, size_t j, hyper *v)
{
    long double h = 0;
    size_t e = entry(&s[1], i > j ? i : j, i > j ? j : i);
    oracle(p, x, i, j, v);
    for (size_t r = 0; r < p->m; r++)
        h += (long double)w[r] * v[p->result[r]].ab;
    long double got = e < s[1].about.nonzeros ? (long double)value[1][e] : 0;
    CHECK(e < s[1].about.nonzeros ? close_to(got, h, 100) : h == 0,
          "%s: H(%zu, %zu): got %.17Lg, want %.17Lg", p->name, i, j, got, h);
    for (size_t r = 0; r < p->m && i == j; r++) {
        long double d = v[p->result[r]].a;
        e = entry(&s[0], r, i);
        got = e < s[0].about.nonzeros ? (long double)value[0][e] : 0;
        CHECK(e < s[0].about.nonzeros ? close_to(got, d, 10) : d == 0,
              "%s: J(%zu, %zu): got %.17Lg, want %.17Lg", p->name, r, i, got,
              d);
    }
}

static void by_oracle(const struct program *p, const struct pattern s[2],
                      ad_real *const value[2], const ad_real *x,
                      const ad_real *w)
{
    hyper *v = room(p->n + p->steps, sizeof *v);
    bool all = p->n * p->n * p->steps < 3000000;
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j <= i && all; j++)
            check_entry(p, s, value, x, w, i, j, v);
    for (size_t k = 0; k < 400 && !all; k++) {
        size_t i = below(p->n);
        size_t reach = s[1].start[i + 1] - s[1].start[i];
        size_t near = reach > 0 ? s[1].column[s[1].start[i] + below(reach)]
                                : i;
        check_entry(p, s, value, x, w, i,
                    k % 3 == 0 ? i : k % 3 == 1 ? below(p->n) : near, v);
    }
    free(v);
}

static void hessian_by_dense(const struct program *p, ad_fn *fn,
                             const struct pattern *s, const ad_real *x,
                             const ad_real *w)
{
    ad_real *H = numbers(p->n * p->n);
    ad_real *value = values_of(fn, s, x, w, p->name);
    ad_status status = ad_fn_hessian(fn, x, w, H);
    CHECK(status == ADREV_OK, "%s: dense: %s", p->name, ad_message(status));
    check_against(s, value, p->n, H, p->name);
    free(value);
    free(H);
}

/* --- one program, all checks ---------------------------------------------- */

typedef bool present_fn(size_t i, size_t j, size_t k);

// What is known of the matrices of a program; NULL, 0: nothing.
struct truth {
    present_fn *jacobian;
    present_fn *hessian;
    size_t k;                   // for both of them
    size_t jacobian_most;       // directions
    size_t hessian_most;
};

static void check_truth(const struct pattern *p, size_t columns,
                        present_fn *present, size_t k, size_t most,
                        const char *name)
{
    const char *what = p->hessian ? "Hessian" : "Jacobian";
    CHECK(most == 0 || p->about.directions <= most,
          "%s: %zu directions of the %s, wanted %zu", name,
          p->about.directions, what, most);
    for (size_t i = 0; i < p->rows && present != NULL; i++)
        for (size_t j = 0; j < (p->hessian ? i + 1 : columns); j++)
            CHECK((entry(p, i, j) < p->about.nonzeros) == present(i, j, k),
                  "%s: %s: (%zu, %zu) %s", name, what, i, j,
                  present(i, j, k) ? "is missing" : "is 0");
}

static void point(const struct program *p, ad_real *x, ad_real *w)
{
    for (size_t i = 0; i < p->n; i++)
        x[i] = (ad_real)uniform(0.2, 0.9);
    for (size_t i = 0; i < p->m; i++)
        w[i] = (ad_real)uniform(-1.5, -0.5);
}

static void check_program(struct program *p, const struct truth *t)
{
    ad_real *x = numbers(p->n);
    ad_real *w = numbers(p->m);
    ad_fn *fn = NULL;
    point(p, x, w);
    ad_status status = ad_fn_record(&fn, run, p, p->n, x, p->m);
    if (!CHECK(status == ADREV_OK, "%s: %s", p->name, ad_message(status)))
        return;
    struct pattern s[2] = { pattern_of(fn, false, p->name),
                            pattern_of(fn, true, p->name) };
    check_truth(&s[0], p->n, t->jacobian, t->k, t->jacobian_most, p->name);
    check_truth(&s[1], p->n, t->hessian, t->k, t->hessian_most, p->name);
    for (int points = 0; points < 2; points++) {
        jacobian_by_tape(p, fn, &s[0], x);
        hessian_by_dense(p, fn, &s[1], x, w);
        ad_real *value[2] = { values_of(fn, &s[0], x, NULL, p->name),
                              values_of(fn, &s[1], x, w, p->name) };
        by_oracle(p, s, value, x, w);
        free(value[0]);
        free(value[1]);
        // a little on, where no comparison comes out differently
        for (size_t i = 0; i < p->n; i++)
            x[i] += (ad_real)1e-9;
    }
    forget(&s[0]);
    forget(&s[1]);
    ad_fn_free(fn);
    free(x);
    free(w);
    end(p);
}

/* --- structured programs -------------------------------------------------- */

static bool none(size_t i, size_t j, size_t k)
{
    (void)i, (void)j, (void)k;
    return false;
}

static bool full(size_t i, size_t j, size_t k)
{
    (void)i, (void)j, (void)k;
    return true;
}

static bool near(size_t i, size_t j, size_t k)
{
    return i <= j + k && j <= i + k;
}

static bool is_diagonal(size_t i, size_t j, size_t k)
{
    (void)k;
    return i == j;
}

static bool same_block(size_t i, size_t j, size_t k)
{
    return i / k == j / k;
}

static bool arrow(size_t i, size_t j, size_t k)
{
    return i < k || j < k || i == j;
}

// y[i] = sum over |i - j| <= k of x[i] x[j], plus sin x[i]
static void banded(size_t n, size_t k)
{
    struct program p = begin("banded", n, n);
    for (size_t i = 0; i < n; i++) {
        size_t y = put(&p, SIN, i, 0, 0);
        for (size_t j = i < k ? 0 : i - k; j < n && j <= i + k; j++)
            y = put(&p, ADD, y, put(&p, MUL, i, j, 0), 0);
        p.result[i] = y;
    }
    check_program(&p, &(struct truth){ near, near, k, 2 * k + 1, 2 * k + 1 });
}

// Rosenbrock's function, chained: one result, tridiagonal Hessian.
static struct program chained(size_t n)
{
    struct program p = begin("chained", n, 1);
    size_t y = constant(&p, 0);
    size_t ten = constant(&p, 10);
    size_t one = constant(&p, 1);
    for (size_t i = 0; i + 1 < n; i++) {
        size_t a = put(&p, SUB, i + 1, put(&p, SQR, i, 0, 0), 0);
        size_t b = put(&p, SUB, one, i, 0);
        a = put(&p, SQR, put(&p, MUL, ten, a, 0), 0, 0);
        y = put(&p, ADD, y, put(&p, ADD, a, put(&p, SQR, b, 0, 0), 0), 0);
    }
    p.result[0] = y;
    return p;
}

// k full rows, k full columns, and the diagonal
static void arrows(size_t n, size_t k)
{
    struct program p = begin("arrow", n, n);
    for (size_t i = 0; i < n; i++) {
        size_t y = put(&p, SQR, i, 0, 0);
        for (size_t j = 0; j < (i < k ? n : k); j++)
            y = put(&p, ADD, y, put(&p, MUL, i < k ? j : i, j, 0), 0);
        p.result[i] = y;
    }
    check_program(&p, &(struct truth){ arrow, NULL, k, 2 * k + 2, 2 * k + 2 });
}

// sum of x[0] ... x[k-1] times x[i] squared, and sin x[0] x[1]: an arrow
static void arrow_hessian(size_t n, size_t k)
{
    struct program p = begin("arrow of one result", n, 1);
    size_t y = constant(&p, 0);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < k; j++) {
            size_t sum = put(&p, ADD, i, j, 0);
            y = put(&p, ADD, y, put(&p, SQR, sum, 0, 0), 0);
        }
    p.result[0] = y;
    check_program(&p, &(struct truth){ full, arrow, k, 1, 2 * k + 1 });
}

static void blocks(size_t n, size_t k)
{
    struct program p = begin("blocks", n, n);
    for (size_t i = 0; i < n; i++) {
        size_t y = constant(&p, 0);
        for (size_t j = i / k * k; j < n && j < i / k * k + k; j++)
            y = put(&p, ADD, y, j, 0);
        p.result[i] = put(&p, EXPSIN, y, 0, 0);
    }
    check_program(&p, &(struct truth){ same_block, same_block, k, k, k });
}

static void dense(size_t n, size_t m)
{
    struct program p = begin("dense", n, m);
    for (size_t i = 0; i < m; i++) {
        size_t y = constant(&p, (double)i);
        for (size_t j = 0; j < n; j++)
            y = put(&p, ADD, y, j, 0);
        p.result[i] = put(&p, EXPSIN, y, 0, 0);
    }
    size_t most = n > m ? n : m;
    check_program(&p, &(struct truth){ full, full, 0, most, n });
}

static bool every_third(size_t i, size_t j, size_t k)
{
    (void)k;
    return i % 3 == 0 && i == j && j % 2 == 0;
}

// Only inputs of even number are used, and only by every third result.
static void holes(size_t n)
{
    struct program p = begin("empty rows and columns", n, n);
    for (size_t i = 0; i < n; i++)
        p.result[i] = i % 3 == 0 && i % 2 == 0 ? put(&p, TANH, i, 0, 0)
                                               : constant(&p, 7);
    check_program(&p, &(struct truth){ every_third, every_third, 0, 1, 1 });
}

static void constants(size_t n, size_t m)
{
    struct program p = begin("constants", n, m);
    for (size_t i = 0; i < m; i++)
        p.result[i] = constant(&p, (double)i - 1);
    check_program(&p, &(struct truth){ none, none, 0, 0, 0 });
}

// y[i] = 3 x[i], and one result that is an input.
static void linear(size_t n)
{
    struct program p = begin("linear", n, n);
    size_t three = constant(&p, 3);
    for (size_t i = 0; i < n; i++)
        p.result[i] = i == 0 ? 0 : put(&p, MUL, three, i, 0);
    check_program(&p, &(struct truth){ is_diagonal, none, 0, 1, 0 });
}

static bool pair(size_t i, size_t j, size_t k)
{
    (void)k;
    return i / 2 == j / 2 && i != j;
}

// x[0] x[1] + x[2] x[3] + ...: no diagonal
static void products(size_t n)
{
    struct program p = begin("products", n, 1);
    size_t y = constant(&p, 0);
    for (size_t i = 0; i + 1 < n; i += 2)
        y = put(&p, ADD, y, put(&p, MUL, i, i + 1, 0), 0);
    p.result[0] = y;
    check_program(&p, &(struct truth){ full, pair, 0, 1, 2 });
}

/* --- random programs ------------------------------------------------------ */

// An expression of some of `few` inputs.
static size_t tree(struct program *p, int depth, const size_t few[4])
{
    if (depth == 0)
        return few[below(4)];
    size_t a = tree(p, depth - 1, few);
    size_t b = tree(p, (int)below((size_t)depth), few);
    enum kind kind = (enum kind)below(KINDS);
    return put(p, kind, a, b, 0.75);
}

static void random_program(size_t n, size_t m)
{
    struct program p = begin("random", n, m);
    for (size_t i = 0; i < m; i++) {
        size_t y = constant(&p, 0.5);
        for (size_t t = below(4); t > 0; t--) {
            size_t few[4];
            size_t from = below(n);
            for (int k = 0; k < 4; k++)
                few[k] = below(3) == 0 ? below(n) : (from + below(3)) % n;
            size_t z = tree(&p, (int)below(4), few);
            y = put(&p, t % 2 == 0 ? ADD : SUB, y, z, 0);
        }
        p.result[i] = y;
    }
    check_program(&p, &(struct truth){ NULL, NULL, 0, n > m ? n : m, n });
}

/* --- arrays in the program ---------------------------------------------------
 * Blocks of B inputs; y has, for each block, its norm, its softmax, and its
 * product with a constant matrix: block diagonal, and so are the second
 * derivatives. (Sections of a vector, so that ids are strided, too.)        */

enum { B = 5, PER = 2 * B + 3 };

static void of_block(const ad_rev *x, ad_rev *y)
{
    static const ad_real A[B * B] = { 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 1,
                                      0, 0, 0, 0, 0, 2, 1, 5, 1, 1, 1, 1 };
    ad_rev z[B];
    y[0] = ad_norm2(B, x);
    y[1] = ad_logsumexp(B, x);
    ad_softmax(B, x, y + 2);
    ad_matvecc(B, B, A, x, z);
    for (int i = 0; i < B; i++)
        y[2 + B + i] = ad_rec(ad_sqr(z[i]));
    y[2 + B + B] = ad_dot_s(B, x, 1, x + B - 1, -1);
}

static void of_blocks(const ad_rev *x, ad_rev *y, void *ctx)
{
    for (size_t i = 0; i < *(size_t *)ctx; i++)
        of_block(x + i * B, y + i * PER);
}

// The Hessian against differences of gradients from the tape: as good as they
// are, 1e-8.
static void arrays_by_tape(const ad_real *x, size_t n, size_t m,
                           const ad_real *w, const struct pattern *p,
                           const ad_real *value, void *ctx)
{
    ad_real *J = numbers(n * m);
    long double *H = room(n * n, sizeof *H);
    ad_real *moved = numbers(n);
    for (size_t j = 0; j < n; j++)
        for (int side = -1; side <= 1; side += 2) {
            memcpy(moved, x, n * sizeof *x);
            moved[j] += (ad_real)(side * 1e-5);
            ad_status s = ad_jac(of_blocks, ctx, n, moved, m, NULL, J);
            CHECK(s == ADREV_OK, "tape: %s", ad_message(s));
            for (size_t i = 0; i < n * m; i++)
                H[i % n * n + j] += side * (long double)(w[i / n] * J[i])
                                    / 2e-5L;
        }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            size_t e = entry(p, i, j);
            bool in = e < p->about.nonzeros;
            long double got = in ? (long double)value[e] : 0;
            CHECK(fabsl(got - H[i * n + j]) < 1e-8L * (1 + fabsl(got)),
                  "arrays: H(%zu, %zu): got %.17Lg, want %.17Lg", i, j, got,
                  H[i * n + j]);
            CHECK(!in || i / B == j / B, "arrays: H(%zu, %zu) is 0", i, j);
        }
    free(J);
    free(H);
    free(moved);
}

static void arrays(size_t count)
{
    size_t n = count * B;
    size_t m = count * PER;
    ad_real *x = numbers(n);
    ad_real *w = numbers(m);
    ad_real *J = numbers(n * m);
    ad_fn *fn = NULL;
    for (size_t i = 0; i < n; i++)
        x[i] = (ad_real)uniform(-1, 1);
    for (size_t i = 0; i < m; i++)
        w[i] = (ad_real)uniform(0.5, 1);
    ad_status s = ad_fn_record(&fn, of_blocks, &count, n, x, m);
    CHECK(s == ADREV_OK, "arrays: %s", ad_message(s));
    struct pattern p[2] = { pattern_of(fn, false, "arrays"),
                            pattern_of(fn, true, "arrays") };
    CHECK(p[0].about.directions <= B && p[1].about.directions <= B,
          "arrays: %zu and %zu directions", p[0].about.directions,
          p[1].about.directions);
    ad_real *value = values_of(fn, &p[0], x, NULL, "arrays");
    s = ad_jac(of_blocks, &count, n, x, m, NULL, J);
    CHECK(s == ADREV_OK, "arrays: tape: %s", ad_message(s));
    check_against(&p[0], value, n, J, "arrays");
    free(value);
    value = values_of(fn, &p[1], x, w, "arrays");
    arrays_by_tape(x, n, m, w, &p[1], value, &count);
    free(value);
    forget(&p[0]);
    forget(&p[1]);
    ad_fn_free(fn);
    free(x);
    free(w);
    free(J);
}

/* --- very many inputs ----------------------------------------------------- */

static ad_sparsity large(size_t n)
{
    struct program p = chained(n);
    ad_real *x = numbers(n);
    ad_real w = 1;
    ad_fn *fn = NULL;
    for (size_t i = 0; i < n; i++)
        x[i] = (ad_real)uniform(-1, 1);
    ad_status s = ad_fn_record(&fn, run, &p, n, x, 1);
    CHECK(s == ADREV_OK, "large: %s", ad_message(s));
    struct pattern h = pattern_of(fn, true, "large");
    CHECK(h.about.nonzeros == 2 * n - 1, "large: %zu entries",
          h.about.nonzeros);
    CHECK(h.about.directions <= 3, "large: %zu directions",
          h.about.directions);
    ad_real *value = values_of(fn, &h, x, &w, "large");
    for (size_t e = 0; e < h.about.nonzeros; e++) {
        size_t i = h.row[e];
        long double a = (long double)x[i];
        long double next = i + 1 < n ? (long double)x[i + 1] : 0;
        long double want = (i > 0 ? 200 : 0)
                         + (i + 1 < n ? 1200 * a * a - 400 * next + 2 : 0);
        if (h.column[e] < i)
            want = -400 * (long double)x[h.column[e]];
        CHECK(close_to((long double)value[e], want, 3000),
              "large: entry %zu: got %.17g, want %.17Lg", e,
              (double)value[e], want);
    }
    ad_sparsity about = h.about;
    forget(&h);
    free(value);
    ad_fn_free(fn);
    free(x);
    end(&p);
    return about;
}

static void residuals(const ad_rev *x, ad_rev *y, void *ctx)
{
    size_t n = *(size_t *)ctx;
    for (size_t i = 0; i + 1 < n; i++) {
        y[2 * i] = ad_rec(ad_mul(10, ad_sub(x[i + 1], ad_sqr(x[i]))));
        y[2 * i + 1] = ad_rec(ad_sub(1, x[i]));
    }
}

static void large_jacobian(size_t n)
{
    ad_real *x = numbers(n);
    ad_fn *fn = NULL;
    for (size_t i = 0; i < n; i++)
        x[i] = (ad_real)uniform(-1, 1);
    ad_status s = ad_fn_record(&fn, residuals, &n, n, x, 2 * n - 2);
    CHECK(s == ADREV_OK, "residuals: %s", ad_message(s));
    struct pattern p = pattern_of(fn, false, "residuals");
    CHECK(p.about.directions <= 2 && p.about.nonzeros == 3 * (n - 1),
          "residuals: %zu directions, %zu entries", p.about.directions,
          p.about.nonzeros);
    ad_real *value = values_of(fn, &p, x, NULL, "residuals");
    for (size_t e = 0; e < p.about.nonzeros; e++) {
        size_t i = p.row[e] / 2;
        ad_real want = p.row[e] % 2 == 1 ? -1
                     : p.column[e] == i ? -20 * x[i] : 10;
        CHECK_CLOSE(value[e], want, 1);
    }
    forget(&p);
    free(value);
    free(x);
    ad_fn_free(fn);
}

/* --- guards and errors ---------------------------------------------------- */

static void guarded(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], x[1]));
    y[1] = ad_lt(x[0], 2) ? ad_rec(ad_sqr(x[2])) : ad_rec(ad_exp(x[2]));
    y[2] = ad_gt(x[1], x[2]) ? ad_rec(ad_mul(x[1], 3)) : x[2];
}

static void check_guards(void)
{
    const ad_real at[] = { 1, 5, 3 };
    const ad_real bad[][3] = { { 2, 5, 3 }, { 1, 3, 3 } };
    const ad_real w[] = { 1, 2, 3 };
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record(&fn, guarded, NULL, 3, at, 3);
    CHECK(s == ADREV_OK, "guarded: %s", ad_message(s));
    for (int round = 0; round < 2; round++) {
        for (size_t k = 0; k < 2; k++) {
            ad_real out[8] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED,
                               UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED };
            s = ad_fn_jacobian_sparse(fn, bad[k], out);
            CHECK(s == ADREV_EPATH && ad_fn_guard().index == k,
                  "guard %zu: %s, %zu", k, ad_message(s),
                  ad_fn_guard().index);
            s = ad_fn_hessian_sparse(fn, bad[k], w, out);
            CHECK(s == ADREV_EPATH && ad_fn_guard().index == k,
                  "guard %zu: %s, %zu", k, ad_message(s),
                  ad_fn_guard().index);
            CHECK(untouched(out, 0, 8), "guard %zu: outputs touched", k);
        }
        // with the pattern known it must be the same
        struct pattern p = pattern_of(fn, round == 1, "guarded");
        CHECK(p.about.nonzeros == (round == 1 ? 2 : 4), "guarded: %zu",
              p.about.nonzeros);
        forget(&p);
    }
    ad_fn_free(fn);
}

static void check_errors(void)
{
    const ad_real at[] = { 1, 5, 3 };
    ad_real out[8] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED,
                       UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED };
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record(&fn, guarded, NULL, 3, at, 3);
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    CHECK(ad_fn_jacobian_sparse(fn, NULL, out) == ADREV_ESHAPE, "x");
    CHECK(ad_fn_jacobian_sparse(fn, at, NULL) == ADREV_ESHAPE, "value");
    CHECK(ad_fn_hessian_sparse(fn, NULL, at, out) == ADREV_ESHAPE, "x");
    CHECK(ad_fn_hessian_sparse(fn, at, NULL, out) == ADREV_ESHAPE, "w");
    CHECK(ad_fn_hessian_sparse(fn, at, at, NULL) == ADREV_ESHAPE, "value");
    CHECK(untouched(out, 0, 8), "outputs touched");
    ad_fn_free(fn);
}

/* --- infinities: a zero absorbs, in both matrices ------------------------- */

static void absorbs(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_sqrt(x[0]), x[1]));
    y[1] = ad_rec(ad_sqrt(x[1]));
}

static void check_absorbing(void)
{
    const ad_real at[] = { 1, 1 };
    const ad_real x[] = { 0, 0 };
    ad_real J[4];
    ad_real value[3];
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record(&fn, absorbs, NULL, 2, at, 2);
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    s = ad_fn_jacobian_sparse(fn, x, value);
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    s = ad_jac(absorbs, NULL, 2, x, 2, NULL, J);
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    CHECK_CLOSE(value[0], J[0], 0);
    CHECK_CLOSE(value[1], J[1], 0);
    CHECK_CLOSE(value[2], J[3], 0);
    CHECK(J[0] == 0, "0 * inf: got %g", (double)J[0]);
    ad_fn_free(fn);
}

/* --- memory that runs out ------------------------------------------------- */

enum { SMALL = 6 };

// Returns whether all steps succeeded.
static bool steps(ad_fn *fn, const ad_real *x, const ad_real *w,
                  const ad_real *want)
{
    ad_real value[SMALL * SMALL];
    size_t start[SMALL + 1];
    bool ok = true;
    for (int step = 0; step < 4; step++) {
        ad_sparsity about = { NOWHERE, NOWHERE, NOWHERE };
        for (int i = 0; i < SMALL * SMALL; i++)
            value[i] = UNTOUCHED;
        for (int i = 0; i <= SMALL; i++)
            start[i] = NOWHERE;
        ad_status s = step == 0 ? ad_fn_hessian_sparse(fn, x, w, value)
                    : step == 1 ? ad_fn_jacobian_pattern(fn, &about, start,
                                                         NULL, NULL)
                    : step == 2 ? ad_fn_jacobian_sparse(fn, x, value)
                    : ad_fn_hessian_pattern(fn, &about, start, NULL, NULL);
        CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "step %d: %s", step,
              ad_message(s));
        CHECK(s == ADREV_OK
                  || (untouched(value, 0, SMALL * SMALL)
                      && about.nonzeros == NOWHERE && start[0] == NOWHERE),
              "step %d: outputs touched", step);
        CHECK(s != ADREV_OK || step > 0
                  || memcmp(value, want, SMALL * sizeof *want) == 0,
              "step %d: other values", step);
        ok &= s == ADREV_OK;
    }
    return ok;
}

static bool attempt(size_t failing, bool for_ever, struct program *p,
                    const ad_real *x, const ad_real *w, const ad_real *want)
{
    heap h = { 0 };
    ad_allocator a = { heap_alloc, heap_free, &h };
    ad_fn_options options = { .allocator = &a };
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record_with(&fn, &options, run, p, p->n, x, p->m);
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    heap_fails(&h, failing, for_ever);
    bool ok = steps(fn, x, w, want);
    h.failing = 0;
    CHECK(steps(fn, x, w, want), "with memory back it fails");
    ad_fn_free(fn);
    CHECK(h.live == 0, "failing at %zu: %zu blocks leaked", failing, h.live);
    return ok;
}

static void check_memory(void)
{
    struct program p = chained(SMALL);
    ad_real x[SMALL];
    ad_real want[SMALL * SMALL];
    const ad_real w = 1;
    ad_fn *fn = NULL;
    for (int i = 0; i < SMALL; i++)
        x[i] = (ad_real)uniform(-1, 1);
    ad_status s = ad_fn_record(&fn, run, &p, SMALL, x, 1);
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    s = ad_fn_hessian_sparse(fn, x, &w, want);
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    ad_fn_free(fn);
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        size_t n = 1;
        while (n < 2000 && !attempt(n, for_ever, &p, x, &w, want))
            n++;
        CHECK(n > 3 && n < 2000, "%zu allocations", n - 1);
    }
    end(&p);
}

// Few entries, each made over and over; many results of one long chain. Both
// must be found with little memory and in little time.
static void winding(const ad_rev *x, ad_rev *y, void *ctx)
{
    size_t m = *(const size_t *)ctx;
    ad_rev s = ad_sum(16, x);
    for (size_t i = 0; i < 16 * m; i++) {
        s = ad_rec(ad_sin(ad_add(s, x[i % 16])));
        y[i / 16] = s;
    }
}

static void check_winding(size_t m, size_t most)
{
    heap h = { 0 };
    const ad_allocator a = { heap_alloc, heap_free, &h };
    const ad_fn_options o = { .allocator = &a };
    ad_real x[16] = { 0 };
    ad_fn *fn = NULL;
    ad_sparsity about = { 0 };
    ad_status s = ad_fn_record_with(&fn, &o, winding, &m, 16, x, m);
    CHECK(s == ADREV_OK, "winding: %s", ad_message(s));
    h.largest = 0;
    s = ad_fn_jacobian_pattern(fn, &about, NULL, NULL, NULL);
    CHECK(s == ADREV_OK && about.nonzeros == 16 * m, "%zu entries of J, %s",
          about.nonzeros, ad_message(s));
    s = ad_fn_hessian_pattern(fn, &about, NULL, NULL, NULL);
    CHECK(s == ADREV_OK && about.nonzeros == 17 * 8, "%zu entries of H, %s",
          about.nonzeros, ad_message(s));
    CHECK(h.largest < most, "a block of %zu bytes", h.largest);
    ad_fn_free(fn);
}

static void structured(void)
{
    for (size_t k = 0; k < 5; k++) {
        banded(40, k);
        blocks(37, k + 1);
    }
    banded(1, 1);
    banded(3, 5);
    banded(150, 1);
    for (size_t k = 1; k < 4; k++) {
        arrows(50, k);
        arrow_hessian(50, k);
    }
    arrow_hessian(120, 1);
    blocks(90, 3);
    dense(20, 20);
    dense(1, 30);
    dense(30, 1);
    dense(7, 21);
    dense(70, 65);
    holes(31);
    holes(90);
    constants(5, 3);
    constants(1, 1);
    linear(40);
    products(40);
    struct program p = chained(100);
    check_program(&p, &(struct truth){ full, near, 1, 1, 3 });
}

int main(void)
{
    structured();
    for (int i = 0; i < 60; i++) {
        size_t n = 1 + below(20);
        random_program(n, 1 + below(20));
    }
    random_program(100, 40);
    random_program(60, 200);
    random_program(300, 300);
    arrays(1);
    arrays(6);
    check_guards();
    check_errors();
    check_absorbing();
    check_memory();
    check_winding(1000, 2000000);
    check_winding(6000, 12000000);
    ad_sparsity once = large(10000);
    ad_sparsity twice = large(100000);
    CHECK(once.directions == twice.directions, "%zu and %zu directions",
          once.directions, twice.directions);
    large_jacobian(20000);
    return check_done("sparse");
}
