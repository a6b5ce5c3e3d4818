// SPDX-License-Identifier: MIT-0
/* recorded.h - all that can be asked of a recorded function, at one point, and
 * what is right. Include it after adrev_function.h and check.h.
 *
 *     recorded("name", f, ctx, n, x, m)   records, or fails; recorded_plain: with
 *                                         every operation kept
 *     ask_all(fn, x, &a)                  each question of QUESTIONS once
 *     check_status("name", fn, &a, s)     all answered s, and wrote nothing more
 *     check_path("name", fn, x, guard)    all say that this guard failed
 *     check_answers("name", fn, x, &t)    values and derivatives are those of t
 *     check_report("name", got, want)     of ad_fn_about
 *     EXPECT(call, status)                                                   */

#ifndef ADREV_TESTS_RECORDED_H
#define ADREV_TESTS_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { MOST = 6 };              // inputs or outputs of most functions here

#define UNTOUCHED (-12345.5)
#define COUNT(a)  (sizeof(a) / sizeof(a)[0])

#define EXPECT(call, want)                                                  \
    do {                                                                    \
        ad_status got_ = (call);                                            \
        CHECK(got_ == (want), "%s: got \"%s\", want \"%s\"", #call,         \
              ad_message(got_), ad_message(want));                          \
    } while (0)

/* --- all that can be asked of a function, at one point -------------------- */

#define QUESTIONS(ROW)                                                      \
    ROW( EVAL,     "ad_fn_eval" )                                           \
    ROW( JVP,      "ad_fn_jvp" )                                            \
    ROW( VJP,      "ad_fn_vjp" )                                            \
    ROW( GRADIENT, "ad_fn_gradient" )                                       \
    ROW( JACOBIAN, "ad_fn_jacobian" )                                       \
    ROW( LINEAR,   "ad_fn_linearize" )                                      \
    ROW( HVP,      "ad_fn_hvp" )                                            \
    ROW( HESSIAN,  "ad_fn_hessian" )

#define ENTER(name, text) ASK_##name,
enum question { QUESTIONS(ENTER) ASK_COUNT };
#undef ENTER

#define ENTER(name, text) text,
static const char *const question_names[ASK_COUNT] = { QUESTIONS(ENTER) };
#undef ENTER

static const double direction[MOST] = { 1, -2, 0.5, 3, -1, 0.25 };
static const double weight[MOST] = { 2, -1, 0.5, 4, 1, -3 };

typedef struct answers {
    ad_status status[ASK_COUNT];
    double out[ASK_COUNT][MOST * MOST];
    double value;               // of the gradient
    double values[MOST];        // of the linearization
} answers;

static inline size_t length_of(enum question q, size_t n, size_t m)
{
    switch ((int)q) {
    case ASK_EVAL: case ASK_JVP: return m;
    case ASK_JACOBIAN: case ASK_LINEAR: return m * n;
    case ASK_HESSIAN: return n * n;
    }
    return n;
}

static inline ad_status ask(enum question q, ad_fn *fn, const double *x, answers *a)
{
    double *out = a->out[q];
    switch ((int)q) {
    case ASK_EVAL: return ad_fn_eval(fn, x, out);
    case ASK_JVP: return ad_fn_jvp(fn, x, direction, out);
    case ASK_VJP: return ad_fn_vjp(fn, x, weight, out);
    case ASK_GRADIENT: return ad_fn_gradient(fn, x, &a->value, out);
    case ASK_JACOBIAN: return ad_fn_jacobian(fn, x, out);
    case ASK_LINEAR: return ad_fn_linearize(fn, x, a->values, out);
    case ASK_HVP: return ad_fn_hvp(fn, x, weight, direction, out);
    }
    return ad_fn_hessian(fn, x, weight, out);
}

static inline void ask_all(ad_fn *fn, const double *x, answers *a)
{
    memset(a, 0, sizeof *a);
    a->value = UNTOUCHED;
    for (size_t i = 0; i < MOST; i++)
        a->values[i] = UNTOUCHED;
    for (int q = 0; q < ASK_COUNT; q++) {
        for (size_t i = 0; i < COUNT(a->out[q]); i++)
            a->out[q][i] = UNTOUCHED;
        a->status[q] = ask((enum question)q, fn, x, a);
    }
}

static inline size_t touched(const double *out, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++)
        n += out[i] != UNTOUCHED;
    return n;
}

// The status of every question; where it is not success, nothing is written.
static inline void check_status(const char *name, ad_fn *fn, const answers *a,
                         ad_status want)
{
    size_t n = ad_fn_inputs(fn);
    size_t m = ad_fn_outputs(fn);
    for (int q = 0; q < ASK_COUNT; q++) {
        bool shape = q == ASK_GRADIENT && m != 1;
        ad_status s = shape ? ADREV_ESHAPE : want;
        size_t length = s == ADREV_OK ? length_of((enum question)q, n, m) : 0;
        if (!CHECK(a->status[q] == s, "%s, %s: got \"%s\", want \"%s\"", name,
                   question_names[q], ad_message(a->status[q]), ad_message(s)))
            continue;
        CHECK(touched(a->out[q], length, COUNT(a->out[q])) == 0,
              "%s, %s: %zu numbers were touched beyond %zu", name,
              question_names[q],
              touched(a->out[q], length, COUNT(a->out[q])), length);
    }
    CHECK(a->status[ASK_GRADIENT] == ADREV_OK || a->value == UNTOUCHED,
          "%s: the value was touched", name);
    CHECK(touched(a->values, a->status[ASK_LINEAR] == ADREV_OK ? m : 0, MOST)
          == 0, "%s: values of the linearization were touched", name);
}

static inline void check_path(const char *name, ad_fn *fn, const double *x,
                       size_t index)
{
    static answers a;
    ask_all(fn, x, &a);
    check_status(name, fn, &a, ADREV_EPATH);
    CHECK(ad_fn_guard().index == index, "%s at (%g ...): guard %zu, want %zu",
          name, x[0], ad_fn_guard().index, index);
}

// The same bits, and NaN for NaN.
static inline bool same(double a, double b)
{
    return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}

/* --- what is right: values, first and second derivatives ------------------ */

struct truth {
    long double y[MOST];
    long double J[MOST * MOST];
    long double H[MOST * MOST];         // of the weighted sum
};

static inline void near(const char *name, enum question q, size_t i, double got,
                 long double want, long double scale)
{
    long double allowed = 64 * (long double)DBL_EPSILON * scale;
    bool equal = (long double)got == want || (got != got && isnan(want));
    CHECK(equal || fabsl((long double)got - want) <= allowed,
          "%s, %s [%zu]: got %.17g, want %.20Lg", name, question_names[q], i,
          got, want);
}

// a zero factor gives zero
static inline long double times(long double a, long double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

// Row i of a matrix of n columns times v, and column j of m rows.
static inline long double row_times(size_t n, const long double *A, size_t i,
                             const double *v, bool size)
{
    long double sum = 0;
    for (size_t j = 0; j < n; j++) {
        long double term = times(A[i * n + j], (long double)v[j]);
        sum += size ? fabsl(term) : term;
    }
    return sum;
}

static inline long double column_times(size_t m, size_t n, const long double *A,
                                size_t j, const double *w, bool size)
{
    long double sum = 0;
    for (size_t i = 0; i < m; i++) {
        long double term = times(A[i * n + j], (long double)w[i]);
        sum += size ? fabsl(term) : term;
    }
    return sum;
}

static inline void check_first(const char *name, size_t n, size_t m,
                        const answers *a, const struct truth *t)
{
    for (size_t i = 0; i < m; i++) {
        near(name, ASK_EVAL, i, a->out[ASK_EVAL][i], t->y[i], fabsl(t->y[i]));
        near(name, ASK_JVP, i, a->out[ASK_JVP][i],
             row_times(n, t->J, i, direction, false),
             row_times(n, t->J, i, direction, true));
    }
    for (size_t j = 0; j < n; j++)
        near(name, ASK_VJP, j, a->out[ASK_VJP][j],
             column_times(m, n, t->J, j, weight, false),
             column_times(m, n, t->J, j, weight, true));
    for (size_t i = 0; i < m * n; i++) {
        near(name, ASK_JACOBIAN, i, a->out[ASK_JACOBIAN][i], t->J[i],
             fabsl(t->J[i]));
        CHECK(same(a->out[ASK_LINEAR][i], a->out[ASK_JACOBIAN][i]),
              "%s: [%zu] of the linearization", name, i);
    }
    for (size_t i = 0; i < m; i++)
        CHECK(same(a->values[i], a->out[ASK_EVAL][i]),
              "%s: value %zu of the linearization", name, i);
    for (size_t j = 0; j < n && m == 1; j++)
        near(name, ASK_GRADIENT, j, a->out[ASK_GRADIENT][j], t->J[j],
             fabsl(t->J[j]));
    if (m == 1)
        CHECK(same(a->value, a->out[ASK_EVAL][0]), "%s: value of gradient",
              name);
}

// second: what the second derivatives are known to, as a part of the largest.
static inline void check_second(const char *name, size_t n, const answers *a,
                         const struct truth *t)
{
    long double largest = 0;
    for (size_t i = 0; i < n * n; i++)
        if (isfinite(t->H[i]))
            largest = fmaxl(largest, fabsl(t->H[i]));
    for (size_t i = 0; i < n; i++)
        near(name, ASK_HVP, i, a->out[ASK_HVP][i],
             row_times(n, t->H, i, direction, false), 8 * largest);
    for (size_t i = 0; i < n * n; i++)
        near(name, ASK_HESSIAN, i, a->out[ASK_HESSIAN][i], t->H[i],
             4 * largest);
}

static inline void check_answers(const char *name, ad_fn *fn, const double *x,
                          const struct truth *t)
{
    static answers a;
    size_t n = ad_fn_inputs(fn);
    size_t m = ad_fn_outputs(fn);
    ask_all(fn, x, &a);
    check_status(name, fn, &a, ADREV_OK);
    check_first(name, n, m, &a, t);
    check_second(name, n, &a, t);
}

static inline ad_fn *recorded(const char *name, ad_vector_fn *f, void *ctx, size_t n,
                       const double *x, size_t m)
{
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record(&fn, f, ctx, n, x, m);
    CHECK(s == ADREV_OK && fn != NULL, "%s: record: %s", name, ad_message(s));
    if (fn != NULL)
        CHECK(ad_fn_inputs(fn) == n && ad_fn_outputs(fn) == m,
              "%s: %zu inputs, %zu outputs", name, ad_fn_inputs(fn),
              ad_fn_outputs(fn));
    return fn;
}

// The same with every operation kept.
static inline ad_fn *recorded_plain(const char *name, ad_vector_fn *f, void *ctx,
                             size_t n, const double *x, size_t m)
{
    const ad_fn_options options = { .plain = true };
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record_with(&fn, &options, f, ctx, n, x, m);
    CHECK(s == ADREV_OK && fn != NULL, "%s: record plain: %s", name,
          ad_message(s));
    return fn;
}

static inline void check_report(const char *name, ad_fn_report got,
                         ad_fn_report want)
{
    CHECK(memcmp(&got, &want, sizeof got) == 0,
          "%s: recorded %zu (%zu), constant %zu (%zu), common %zu (%zu), "
          "identity %zu (%zu), dead %zu (%zu), operations %zu (%zu), arrays "
          "%zu (%zu), guards %zu (%zu)", name, got.recorded, want.recorded,
          got.constant, want.constant, got.common, want.common, got.identity,
          want.identity, got.dead, want.dead, got.operations, want.operations,
          got.arrays, want.arrays, got.guards, want.guards);
}

/* --- small programs ------------------------------------------------------- */

static inline void title(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_exp(x[0]), ad_sin(x[1])));
}

static inline void identity(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = x[0];
}

static inline void constant(const ad_rev *x, ad_rev *y, void *ctx)
{
    const double *v = ctx;
    (void)x;
    y[0] = ad_rec(*v);
}

#endif
