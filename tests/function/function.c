// SPDX-License-Identifier: MIT-0
// tags: recorded slow threads
// flags: -pthread
// with: errors_plain.c function_debug.c
// needs: xxhash.h
/* function.c - recorded functions: what a program may do while it is recorded,
 * and what its recording answers at other points.
 *
 * The programs by which a differentiating compiler is judged (control_flow.c),
 * with second derivatives; guards; numbers that leave the recording; shapes;
 * zero factors, infinities and NaN; what simplifying may and may not remove;
 * every error; memory that runs out; threads; a large program.              */

#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

// A function without an allocator uses malloc: count it, too.
static void *counted_malloc(size_t bytes);
static void counted_free(void *block);
#define malloc counted_malloc
#define free counted_free
#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#undef malloc
#undef free

#include "check.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

enum { MOST = 6 };              // inputs or outputs of most functions here

#define UNTOUCHED (-12345.5)
#define INF       ((double)INFINITY)
#define QNAN      ((double)NAN)
#define COUNT(a)  (sizeof(a) / sizeof(a)[0])
#define LIST(...) { __VA_ARGS__ }

ad_rev errors_plain_product(ad_rev x, ad_rev y);    // in errors_plain.c

/* --- memory that is counted, and runs out --------------------------------- */

typedef struct heap {
    size_t allocations;         // asked for
    size_t failing;             // the number of the first that fails; 0: none
    bool for_ever;              // it and all later ones
    size_t live;                // blocks
    size_t bytes;
    size_t bytes_most;
    bool wrong;                 // a block came back that this heap did not give
    pthread_mutex_t lock;
} heap;

#define HEAP { .lock = PTHREAD_MUTEX_INITIALIZER }

// In front of each block, and aligned as by malloc.
struct block {
    max_align_t first;
    heap *owner;
    size_t bytes;
};

static struct block *heap_take(heap *h, size_t bytes)
{
    h->allocations++;
    bool at = h->failing > 0 && h->allocations >= h->failing;
    if (at && (h->for_ever || h->allocations == h->failing))
        return NULL;
    struct block *b = malloc(sizeof *b + bytes);
    if (b == NULL)
        return NULL;
    b->owner = h;
    b->bytes = bytes;
    h->live++;
    h->bytes += bytes;
    h->bytes_most = h->bytes > h->bytes_most ? h->bytes : h->bytes_most;
    return b;
}

// NaN to those who take it for numbers, far outside of every array to those who
// take it for an index, and no mark for `none`.
static void *filled(void *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)memory)[i] = i % 2 == 0 ? 0xf7 : 0xff;
    return memory;
}

// What was not written, or is read after it was given back, is no number.
static void *heap_alloc(size_t bytes, void *user)
{
    heap *h = user;
    pthread_mutex_lock(&h->lock);
    struct block *b = heap_take(h, bytes);
    pthread_mutex_unlock(&h->lock);
    return b == NULL ? NULL : filled(b + 1, bytes);
}

static void heap_free(void *memory, void *user)
{
    heap *h = user;
    struct block *b = (struct block *)memory - 1;
    pthread_mutex_lock(&h->lock);
    if (b->owner == h) {
        h->live--;
        h->bytes -= b->bytes;
        free(filled(b, sizeof *b + b->bytes));
    } else {
        h->wrong = true;
    }
    pthread_mutex_unlock(&h->lock);
}

static heap standard = HEAP;    // what malloc is in the library

static void *counted_malloc(size_t bytes)
{
    return heap_alloc(bytes, &standard);
}

static void counted_free(void *block)
{
    if (block != NULL)
        heap_free(block, &standard);
}

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

static size_t length_of(enum question q, size_t n, size_t m)
{
    switch ((int)q) {
    case ASK_EVAL: case ASK_JVP: return m;
    case ASK_JACOBIAN: case ASK_LINEAR: return m * n;
    case ASK_HESSIAN: return n * n;
    }
    return n;
}

static ad_status ask(enum question q, ad_fn *fn, const double *x, answers *a)
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

static void ask_all(ad_fn *fn, const double *x, answers *a)
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

static size_t touched(const double *out, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t i = from; i < to; i++)
        n += out[i] != UNTOUCHED;
    return n;
}

// The status of every question; where it is not success, nothing is written.
static void check_status(const char *name, ad_fn *fn, const answers *a,
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

static void check_path(const char *name, ad_fn *fn, const double *x,
                       size_t index)
{
    static answers a;
    ask_all(fn, x, &a);
    check_status(name, fn, &a, ADREV_EPATH);
    CHECK(ad_fn_guard().index == index, "%s at (%g ...): guard %zu, want %zu",
          name, x[0], ad_fn_guard().index, index);
}

// The same bits, and NaN for NaN.
static bool same(double a, double b)
{
    return (a != a && b != b) || memcmp(&a, &b, sizeof a) == 0;
}

/* --- what is right: values, first and second derivatives ------------------ */

struct truth {
    long double y[MOST];
    long double J[MOST * MOST];
    long double H[MOST * MOST];         // of the weighted sum
};

static void near(const char *name, enum question q, size_t i, double got,
                 long double want, long double scale)
{
    long double allowed = 64 * (long double)DBL_EPSILON * scale;
    bool equal = (long double)got == want || (got != got && isnan(want));
    CHECK(equal || fabsl((long double)got - want) <= allowed,
          "%s, %s [%zu]: got %.17g, want %.20Lg", name, question_names[q], i,
          got, want);
}

// a zero factor gives zero
static long double times(long double a, long double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

// Row i of a matrix of n columns times v, and column j of m rows.
static long double row_times(size_t n, const long double *A, size_t i,
                             const double *v, bool size)
{
    long double sum = 0;
    for (size_t j = 0; j < n; j++) {
        long double term = times(A[i * n + j], (long double)v[j]);
        sum += size ? fabsl(term) : term;
    }
    return sum;
}

static long double column_times(size_t m, size_t n, const long double *A,
                                size_t j, const double *w, bool size)
{
    long double sum = 0;
    for (size_t i = 0; i < m; i++) {
        long double term = times(A[i * n + j], (long double)w[i]);
        sum += size ? fabsl(term) : term;
    }
    return sum;
}

static void check_first(const char *name, size_t n, size_t m,
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
static void check_second(const char *name, size_t n, const answers *a,
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

static void check_answers(const char *name, ad_fn *fn, const double *x,
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

static ad_fn *recorded(const char *name, ad_vector_fn *f, void *ctx, size_t n,
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
static ad_fn *recorded_plain(const char *name, ad_vector_fn *f, void *ctx,
                             size_t n, const double *x, size_t m)
{
    const ad_fn_options options = { .plain = true };
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record_with(&fn, &options, f, ctx, n, x, m);
    CHECK(s == ADREV_OK && fn != NULL, "%s: record plain: %s", name,
          ad_message(s));
    return fn;
}

/* --- the program of the title --------------------------------------------- */

static void title(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_exp(x[0]), ad_sin(x[1])));
}

static void test_title(void)
{
    const double at[] = { 0, 0 }, x[] = { 1, 2 }, one = 1;
    double y = 0, g[2] = { 0 }, H[4] = { 0 };
    char text[100];
    ad_fn *fn = recorded("title", title, NULL, 2, at, 1);
    CHECK(ad_fn_gradient(fn, x, &y, g) == ADREV_OK, "gradient");
    CHECK(ad_fn_hessian(fn, x, &one, H) == ADREV_OK, "hessian");
    snprintf(text, sizeof text, "%.4f (%.4f, %.4f)\n%.4f %.4f %.4f %.4f", y,
             g[0], g[1], H[0], H[1], H[2], H[3]);
    CHECK(strcmp(text, "2.4717 (2.4717, -1.1312)\n"
                       "2.4717 -1.1312 -1.1312 -2.4717") == 0, "%s", text);

    long double e = expl(1);
    long double s = e * sinl(2);
    long double c = e * cosl(2);
    struct truth t = { { s }, { s, c }, { 2 * s, 2 * c, 2 * c, -2 * s } };
    check_answers("title", fn, x, &t);
    CHECK(ad_fn_about(fn).operations == 3 && ad_fn_about(fn).guards == 0,
          "three operations");
    ad_fn_free(fn);
}

/* --- S1 ... S24 of docs/behaviour/control-flow.md ------------------------- */

#define NUM       ad_rev
#define REC(e)    ad_rec(e)
#define NAME(f)   rev_##f
#include "slang_programs.h"

static void rev_s21(const ad_rev *x, const int *k, ad_rev *y)
{
    (void)k;
    y[0] = ad_rec(ad_add(ad_mul(ad_sqr(x[0]), x[1]), ad_sin(x[1])));
}

typedef void rev_program(const ad_rev *x, const int *k, ad_rev *y);

struct call {
    rev_program *f;
    int k;
};

static void run_call(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct call *c = ctx;
    c->f(x, &c->k, y);
}

/* Value and Jacobian by hand, in long double. Loops carry them along; P and Q
 * are the derivatives of s by x[0] and x[1].                                 */

#define TRUTH(name)                                                         \
    static void truth_##name(const long double *x, int k, long double *y,   \
                             long double *J)
#define SET(...)                                                            \
    memcpy(J, (const long double[]){ __VA_ARGS__ },                         \
           sizeof(const long double[]){ __VA_ARGS__ })

TRUTH(s1) { (void)k; y[0] = 2 * (x[0] + x[1]); SET(2, 2); }
TRUTH(s2) { (void)k; y[0] = x[0] * x[1]; SET(x[1], x[0]); }
TRUTH(s3) { (void)k; y[0] = 3 * x[0]; SET(3); }
TRUTH(s4) { (void)k; y[0] = x[0] + x[1] + x[2]; SET(1, 1, 1); }
TRUTH(s6) { (void)k; y[0] = x[0] + 15; SET(1); }
TRUTH(s10)
{
    long double u = x[0] * x[0];
    long double v = u * u + u;
    (void)k;
    y[0] = v * v * v;
    SET(3 * v * v * (2 * u + 1) * 2 * x[0]);
}
TRUTH(s11)
{
    (void)k;
    y[0] = x[0] * x[1] * x[1];
    y[1] = x[0] * x[0];
    SET(x[1] * x[1], 2 * x[0] * x[1], 2 * x[0], 0);
}
TRUTH(s12)
{
    (void)k;
    y[0] = sinl(x[0]);
    y[1] = cosl(x[0]) * x[1];
    SET(cosl(x[0]), 0, -sinl(x[0]) * x[1], cosl(x[0]));
}
TRUTH(s13)
{
    y[0] = 2 * x[0] + x[0] * x[0];
    SET(2 * x[0] + (k ? 0 : 2));
}
TRUTH(s18) { truth_s2(x, k, y, J); }
TRUTH(s19) { y[0] = k * x[0] + x[1] * x[1]; SET(k, 2 * x[1]); }
TRUTH(s21)
{
    (void)k;
    y[0] = x[0] * x[0] * x[1] + sinl(x[1]);
    SET(2 * x[0] * x[1], x[0] * x[0] + cosl(x[1]));
}
TRUTH(s23) { y[0] = powl(x[0], k); SET(k * powl(x[0], k - 1)); }
TRUTH(s24) { (void)k; y[0] = x[0] * x[0]; SET(2 * x[0]); }

TRUTH(s5)
{
    for (int i = 0; i < k; i++) {
        y[i] = x[i] * x[i] + x[i];
        J[i * k + i] = 2 * x[i] + 1;
    }
}

TRUTH(s5b)
{
    (void)k;
    for (int i = 0; i < 4; i++) {
        y[i] = 1;
        for (int j = 0; j <= i; j++)
            y[i] *= x[j];
        for (int j = 0; j <= i; j++)
            J[4 * i + j] = y[i] / x[j];
    }
}

// x[0] k^6 + 2 k^4 + 3 k^3 + 5 k^2 + 6 k, or one factor k less or more
TRUTH(s6b)
{
    long double s = x[0];
    long double P = 1;
    long double Q = 0;
    (void)k;
    for (int i = 0; i < 20; i++) {
        if (i % 3 == 1)
            continue;
        P *= x[1];
        Q = Q * x[1] + s;
        s *= x[1];
        if (s > 100)
            break;
        s += i;
    }
    y[0] = s;
    SET(P, Q);
}

TRUTH(s6c)
{
    long double s = x[0];
    long double P = 1;
    long double Q = 0;
    (void)k;
    for (int i = 0; i < 5; i++, s *= 2, P *= 2, Q *= 2)
        for (int j = 0; j < 5; j++) {
            s += x[1] * x[1] * j;
            Q += 2 * x[1] * j;
            if (s > 30)
                goto out;
            if (j > i)
                break;
        }
out:
    y[0] = s;
    SET(P, Q);
}

TRUTH(s7)
{
    long double u = x[0];
    int n = u < 0.5L ? 4 : u > 10 ? 6 : 0;
    (void)k;
    y[0] = n ? powl(u, n) + u : 0;
    SET(n ? n * powl(u, n - 1) + 1 : 0);
}

TRUTH(s8)
{
    (void)k;
    y[0] = x[1] * powl(x[0], 10);
    SET(10 * x[1] * powl(x[0], 9), powl(x[0], 10));
}

TRUTH(s9)
{
    long double u = x[0];
    (void)k;
    y[0] = u < 0.5L ? 2 * u * u : u > 0.5L ? 91 * u : u;
    SET(u < 0.5L ? 4 * u : u > 0.5L ? 91 : 1);
}

TRUTH(s14)
{
    long double u = x[0];
    int n = 1;
    (void)k;
    if (u < 1) {
        y[0] = u < 0 ? -u * u : u * u * u;
        SET(u < 0 ? -2 * u : 3 * u * u);
        return;
    }
    while (n < 16 && powl(u, n) <= 10)
        n *= 2;
    int twice = powl(u, n) > 10 && n < 16 ? 2 : 1;
    y[0] = twice * powl(u, n);
    SET(twice * n * powl(u, n - 1));
}

TRUTH(s15)
{
    long double q = x[1];
    (void)k;
    y[0] = x[0] * (q + 2 * q * q + 3 * q * q * q) + 3 * q + 8;
    SET(q + 2 * q * q + 3 * q * q * q, x[0] * (1 + 4 * q + 9 * q * q) + 3);
}

TRUTH(s16)
{
    y[0] = k == 0 ? x[0] * x[1] : k == 1 ? x[0] + x[1] * x[1] : x[0];
    SET(k == 0 ? x[1] : 1, k == 0 ? x[0] : k == 1 ? 2 * x[1] : 0);
}

TRUTH(s17)
{
    long double s = x[0];
    long double P = 1;
    long double Q = 0;
    (void)k;
    do {
        P *= 2 * s;
        Q = 2 * s * Q + 1;
        s = s * s + x[1];
    } while (s < 10);
    y[0] = s;
    SET(P, Q);
}

TRUTH(s22)
{
    long double sum = 0;
    y[0] = 1;
    for (int i = 1; i <= k; i++) {
        y[0] *= sinl(i * x[0]);
        sum += i / tanl(i * x[0]);
    }
    SET(y[0] * sum);
}

/* Points of a program, the one of the sheet first, with what the sheet says
 * there. All are recorded, and evaluated where the others are: where the path
 * is the same, the answer is right, and elsewhere it is ADREV_EPATH.         */

struct slang {
    const char *name;
    rev_program *f;
    void (*truth)(const long double *x, int k, long double *y, long double *J);
    size_t n;
    size_t m;
    int k;
    double y[4];
    double J[16];
    size_t numbers;
    double x[24];
};

#define PROGRAM(name, n, m, k, y, J, ...)                                   \
    { #name, rev_##name, truth_##name, n, m, k, y, J,                       \
      COUNT(((const double[]){ __VA_ARGS__ })), { __VA_ARGS__ } },

// clang-format off
static const struct slang slang[] = {
    /*      name n  m  k   value         derivatives         points: n numbers each */
    PROGRAM(s1,  2, 1, 0,  LIST(14),     LIST(2, 2),         3, 4,  -1, 0.5,  0, 0)
    PROGRAM(s2,  2, 1, 0,  LIST(12),     LIST(4, 3),         3, 4,  -1, 0.5,  0, 7)
    PROGRAM(s3,  1, 1, 0,  LIST(6),      LIST(3),            2,  -7.5,  0)
    PROGRAM(s4,  3, 1, 0,  LIST(6),      LIST(1, 1, 1),      1, 2, 3,  4, -0.5, 9)
    PROGRAM(s5,  4, 4, 4,  LIST(0, 2, 6, 12),
            LIST(1, 0, 0, 0,   0, 3, 0, 0,   0, 0, 5, 0,   0, 0, 0, 7),
            0, 1, 2, 3,   7, -2, 0.5, 1.25)
    PROGRAM(s5b, 4, 4, 0,  LIST(1, 2, 6, 24),
            LIST(1, 0, 0, 0,   2, 1, 0, 0,   6, 3, 2, 0,   24, 12, 8, 6),
            1, 2, 3, 4,   0.5, -3, 2, 1.5)
    PROGRAM(s6,  1, 1, 0,  LIST(16),     LIST(1),            1,  -20)
    PROGRAM(s6b, 2, 1, 0,  LIST(152),    LIST(64, 318),
            1, 2,   1.1, 2,   3, 2,   1, 1.5,   300, 1.25)
    PROGRAM(s6c, 2, 1, 0,  LIST(33.25),  LIST(4, 39),
            1, 1.5,   1.05, 1.5,   20, 1.5,   0.5, 0.25)
    PROGRAM(s7,  1, 1, 0,  LIST(65.0 / 256), LIST(17.0 / 16),
            0.25,  -3,  2,  5,  11,  12.5)
    PROGRAM(s8,  2, 1, 0,  LIST(1024),   LIST(5120, 1024),
            2, 1,   2, 3,   2, 0,   -1.5, 0.25,   0, 1)
    PROGRAM(s9,  1, 1, 0,  LIST(0.125),  LIST(1),            0.25,  -1,  2,  7)
    PROGRAM(s10, 1, 1, 0,  LIST(8000),   LIST(43200),        2,  -0.75,  0)
    PROGRAM(s11, 2, 2, 0,  LIST(5.76, 1), LIST(5.76, 4.8,   2, 0),
            1, 2.4,   -2, 0.5)
    PROGRAM(s12, 2, 2, 0,  LIST(1, 6.123233995736766e-17),
            LIST(6.123233995736766e-17, 0,   -1, 6.123233995736766e-17),
            1.5707963267948966, 1,   0.5, -2)
    PROGRAM(s13, 1, 1, 1,  LIST(3),      LIST(2),            1,  -4,  0.3)
    PROGRAM(s13, 1, 1, 0,  LIST(3),      LIST(4),            1,  -4,  0.3)
    PROGRAM(s14, 1, 1, 0,  LIST(32),     LIST(64),
            2,  2.5,  -2,  0.5,  1.1,  12,  3.5,  -0.25,  1.25)
    PROGRAM(s15, 2, 1, 0,  LIST(221),    LIST(102, 191),     2, 3,   -1, 0.5)
    PROGRAM(s16, 2, 1, 0,  LIST(12),     LIST(4, 3),         3, 4,   -1, 0.5)
    PROGRAM(s16, 2, 1, 1,  LIST(19),     LIST(1, 8),         3, 4,   -1, 0.5)
    PROGRAM(s16, 2, 1, 7,  LIST(3),      LIST(1, 0),         3, 4,   -1, 0.5)
    PROGRAM(s17, 2, 1, 0,  LIST(26),     LIST(80, 51),
            1, 1,   1.25, 0.875,   3, 2,   1, 0.5,   0.5, 2)
    PROGRAM(s18, 2, 1, 0,  LIST(12),     LIST(4, 3),         3, 4,   -1, 0.5)
    PROGRAM(s19, 2, 1, 3,  LIST(22),     LIST(3, 8),         2, 4,   -1, 0.5)
    PROGRAM(s21, 2, 1, 0,  LIST(2.2192176872376909), LIST(2.1, 3.0148421872844885),
            1.5, 0.7,   -1, 2)
    PROGRAM(s22, 1, 1, 5,  LIST(0.121520239910), LIST(1.269457052151),
            0.3,  0.25,  1)
    PROGRAM(s23, 1, 1, 13, LIST(8192),   LIST(53248),        2,  -0.5,  0)
    PROGRAM(s24, 1, 1, 0,  LIST(9),      LIST(6),            3,  -0.5,  0)
};
// clang-format on

enum { LEVELS = 7 };

// Derivative by x[k] of the weighted sum over rows of J[i][j]: central
// differences, extrapolated. The programs are polynomials and sines, and the
// steps too small to leave the path.
static long double second(const struct slang *s, const double *at, size_t j,
                          size_t k)
{
    long double table[LEVELS];
    long double h = 0.0078125L * (1 + fabsl((long double)at[k]));
    for (int i = 0; i < LEVELS; i++, h /= 2) {
        long double side[2];
        for (int b = 0; b < 2; b++) {
            long double x[MOST] = { 0 };
            struct truth t = { { 0 }, { 0 }, { 0 } };
            for (size_t l = 0; l < s->n; l++)
                x[l] = (long double)at[l];
            x[k] += b ? h : -h;
            s->truth(x, s->k, t.y, t.J);
            side[b] = column_times(s->m, s->n, t.J, j, weight, false);
        }
        long double factor = 4;
        table[i] = (side[1] - side[0]) / (2 * h);
        for (int l = i; l-- > 0; factor *= 4)
            table[l] = table[l + 1] + (table[l + 1] - table[l]) / (factor - 1);
    }
    return fabsl(table[0]) < 1e-18L ? 0 : table[0];    // else rounding
}

static struct truth truth_of(const struct slang *s, const double *at)
{
    struct truth t = { { 0 }, { 0 }, { 0 } };
    long double x[MOST] = { 0 };
    for (size_t l = 0; l < s->n; l++)
        x[l] = (long double)at[l];
    s->truth(x, s->k, t.y, t.J);
    for (size_t j = 0; j < s->n; j++)
        for (size_t k = 0; k < s->n; k++)
            t.H[j * s->n + k] = second(s, at, j, k);
    return t;
}

// What f decides at a point, as a hook on a tape is told: the oracle of paths.

enum { DECISIONS = 200 };

struct path {
    size_t n;
    double outcome[DECISIONS];
    double y[MOST];
};

static void decided(void *user, const ad_operation *o)
{
    struct path *p = user;
    bool left = o->code == ADREV_OP_detach && o->result.job == 0;   // ad_value
    bool step = o->code >= ADREV_OP_floor && o->code != ADREV_OP_detach;
    if ((left || step) && p->n < DECISIONS)
        p->outcome[p->n++] = o->result.v;
}

static struct path path_of(ad_vector_fn *f, void *ctx, size_t n,
                           const double *x, size_t m)
{
    struct path p = { .n = 0 };
    const ad_hooks hooks = { .trace = decided, .user = &p };
    ad_rev in[MOST];
    ad_rev out[MOST];
    ad_tape *t = ad_tape_new();
    ad_tape *before = ad_use(t);
    ad_inputs(n, x, in);
    ad_tape_hooks(t, &hooks);
    f(in, out, ctx);
    CHECK(ad_tape_status(t) == ADREV_OK, "tape: %s",
          ad_message(ad_tape_status(t)));
    for (size_t i = 0; i < m; i++)
        p.y[i] = out[i].v;
    ad_use(before);
    ad_tape_free(t);
    return p;
}

// The first decision that differs, or the number of them.
static size_t parting(const struct path *a, const struct path *b)
{
    size_t i = 0;
    while (i < a->n && i < b->n && same(a->outcome[i], b->outcome[i]))
        i++;
    return i;
}

static void slang_at(const struct slang *s, struct call *c, ad_fn *fn,
                     const struct path *was, const double *x)
{
    struct path is = path_of(run_call, c, s->n, x, s->m);
    size_t index = parting(was, &is);
    if (index < was->n) {
        check_path(s->name, fn, x, index);
        return;
    }
    struct truth t = truth_of(s, x);
    double y[MOST];
    check_answers(s->name, fn, x, &t);
    CHECK(ad_fn_eval(fn, x, y) == ADREV_OK, "%s: value", s->name);
    for (size_t i = 0; i < s->m; i++)
        CHECK(same(y[i], is.y[i]), "%s: result %zu is %.17g, on a tape %.17g",
              s->name, i, y[i], is.y[i]);
}

static void slang_pairs(const struct slang *s)
{
    struct call c = { s->f, s->k };
    for (size_t i = 0; i < s->numbers; i += s->n)
        for (int plain = 0; plain < 2; plain++) {
            struct path was = path_of(run_call, &c, s->n, &s->x[i], s->m);
            ad_fn *fn = (plain ? recorded_plain : recorded)(
                s->name, run_call, &c, s->n, &s->x[i], s->m);
            for (size_t k = 0; k < s->numbers && fn != NULL; k += s->n)
                slang_at(s, &c, fn, &was, &s->x[k]);
            ad_fn_free(fn);
        }
}

// The closed forms above against what the sheet prints, to its 12 digits.
static void slang_sheet(const struct slang *s)
{
    struct truth t = truth_of(s, s->x);
    for (size_t i = 0; i < s->m; i++)
        CHECK(fabsl(t.y[i] - (long double)s->y[i])
                  <= 1e-11L * (1 + fabsl(t.y[i])), "%s: sheet %.12g, form "
              "%.12Lg", s->name, s->y[i], t.y[i]);
    for (size_t i = 0; i < s->m * s->n; i++)
        CHECK(fabsl(t.J[i] - (long double)s->J[i])
                  <= 1e-11L * (1 + fabsl(t.J[i])), "%s: sheet %.12g, form "
              "%.12Lg", s->name, s->J[i], t.J[i]);
}

static void test_slang(void)
{
    for (size_t i = 0; i < COUNT(slang); i++) {
        slang_sheet(&slang[i]);
        slang_pairs(&slang[i]);
    }
}

// S21 as the sheet asks for it: forward over reverse along (1, -2).
static void test_s21(void)
{
    const double at[2] = { -3, 4 };
    const double x[2] = { 1.5, 0.7 };
    const double v[2] = { 1, -2 };
    const double one = 1;
    double hv[2];
    struct call c = { rev_s21, 0 };
    ad_fn *fn = recorded("s21", run_call, &c, 2, at, 1);
    CHECK(ad_fn_hvp(fn, x, &one, v, hv) == ADREV_OK, "hvp");
    CHECK_CLOSE(hv[0], -4.6L, 4);
    CHECK_CLOSE(hv[1], 3 + 2 * sinl((long double)0.7), 4);
    CHECK_NEAR(hv[1], 4.288435374475L, 1e-12L);
    ad_fn_free(fn);
}

// detach(x^2) x^2 and its pair: what is detached is computed again, but has no
// derivative, neither a first nor a second one.
static void test_detached_pair(void)
{
    const double at[2] = { -1, 2 };
    const double x[2] = { 3, 1 };
    struct call c = { rev_detached, 0 };
    // Weights 2 and -1: 2 (2 x^2), and mixed 2 x^2, with x^2 standing still.
    struct truth t = {
        { 81, 54 }, { 54, 0, 18, 54 }, { 2 * 18, -18, -18, 0 }
    };
    ad_fn *fn = recorded("detached", run_call, &c, 2, at, 2);
    CHECK(ad_fn_about(fn).guards == 0, "detach has a guard");
    check_answers("detached", fn, x, &t);
    ad_fn_free(fn);
}

/* --- which guard, and where ----------------------------------------------- */

// By hand, so that the oracle of paths is itself checked.
static void test_guards_by_hand(void)
{
    static const struct {
        const char *name;
        rev_program *f;
        double at[2];
        double other[2];
        size_t index;
    } cases[] = {
        { "s7, below to between", rev_s7, { 0.25 }, { 2 }, 0 },
        { "s7, between to below", rev_s7, { 2 }, { 0.25 }, 0 },
        { "s7, between to above", rev_s7, { 2 }, { 11 }, 1 },
        { "s7, above to between", rev_s7, { 11 }, { 2 }, 1 },
        { "s9, below to above", rev_s9, { 0.25 }, { 2 }, 0 },
        { "s9, above to equal", rev_s9, { 2 }, { 0.5 }, 1 },
        { "s9, equal to above", rev_s9, { 0.5 }, { 2 }, 1 },
        { "s14, the first return", rev_s14, { -2 }, { 0.5 }, 0 },
        { "s14, the second", rev_s14, { 0.5 }, { 2 }, 1 },
        { "s14, one round less", rev_s14, { 2 }, { 4 }, 3 },
        { "s14, one round more", rev_s14, { 4 }, { 2 }, 3 },
        { "s6b, a break before", rev_s6b, { 1, 2 }, { 2, 2 }, 4 },
        { "s6b, no break", rev_s6b, { 1, 2 }, { 1, 1.5 }, 5 },
        { "s17, at once", rev_s17, { 1, 1 }, { 3, 2 }, 0 },
        { "s17, once more", rev_s17, { 1, 1 }, { 1, 0.25 }, 2 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct call c = { cases[i].f, 0 };
        size_t n = cases[i].f == rev_s6b || cases[i].f == rev_s17 ? 2 : 1;
        ad_fn *fn = recorded(cases[i].name, run_call, &c, n, cases[i].at, 1);
        check_path(cases[i].name, fn, cases[i].other, cases[i].index);
        ad_fn_free(fn);
    }
}

// A comparison on a line of its own; the line is told to the test.
static int compared_at[2];

static void compare_twice(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = x[0];
    compared_at[0] = __LINE__ + 1;
    if (ad_lt(x[0], 1))
        y[0] = ad_rec(ad_mul(y[0], 2));
    compared_at[1] = __LINE__ + 1;
    double h = ad_value(ad_floor(x[1]));
    y[0] = ad_rec(ad_mul(y[0], h));
}

static void check_site(size_t index, int line)
{
    ad_guard g = ad_fn_guard();
    CHECK(g.index == index, "guard %zu, want %zu", g.index, index);
#if ADREV_DEBUG
    CHECK(g.file != NULL && strcmp(g.file, __FILE__) == 0, "file %s",
          g.file ? g.file : "NULL");
    CHECK(g.line == line, "line %d, want %d", g.line, line);
#else
    CHECK(g.file == NULL && g.line == 0, "a place without ADREV_DEBUG: %d",
          line);
#endif
}

static void test_guard_site(void)
{
    const double at[2] = { 0.5, 2.5 };
    const double left[2] = { 1.5, 2.5 };
    const double right[2] = { 0.25, 3.5 };
    const double fine[2] = { -1, 2.25 };
    double y = UNTOUCHED;
    ad_fn *fn = recorded("sites", compare_twice, NULL, 2, at, 1);
    CHECK(ad_fn_eval(fn, left, &y) == ADREV_EPATH, "x[0] crosses 1");
    check_site(0, compared_at[0]);
    CHECK(ad_fn_eval(fn, right, &y) == ADREV_EPATH, "x[1] crosses 3");
    check_site(1, compared_at[1]);
    CHECK(y == UNTOUCHED, "a result was written");
    CHECK(ad_fn_eval(fn, fine, &y) == ADREV_OK && y == -4, "-1*2*2, got %g", y);
    check_site(1, compared_at[1]);      // of the last ADREV_EPATH, still
    CHECK(ad_fn_eval(fn, left, &y) == ADREV_EPATH, "x[0] crosses 1 again");
    check_site(0, compared_at[0]);
    ad_fn_free(fn);
}

/* --- numbers that leave the recording ------------------------------------- */

static void leave_value(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_value(x[1])));
}

static void leave_expression(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_value(ad_sub(ad_mul(2, x[1]), 3))));
}

static void leave_integer(const ad_rev *x, ad_rev *y, void *ctx)
{
    int k = (int)ad_value(x[1]);
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_powi(x[0], k - 2), k));
}

static void leave_loop(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(0);
    for (int i = 0; i < ad_value(x[1]); i++)
        y[0] = ad_rec(ad_add(y[0], x[0]));
}

static void leave_dual(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_fwd d = ad_dual(x[1]);
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_value(d)));
}

static void leave_dual_expression(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_fwd d = ad_dual(ad_sub(ad_mul(2, x[1]), 3));
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_value(d)));
}

#define DEFINE(name, ...)                                                   \
    static void leave_##name(const ad_rev *x, ad_rev *y, void *ctx)         \
    {                                                                       \
        (void)ctx;                                                          \
        y[0] = ad_rec(ad_mul(ad_mul(x[0], 3), ad_div(ad_##name(x[1]),       \
                                                     ad_##name(x[1]))));    \
    }
ADREV_STEPS(DEFINE)
#undef DEFINE

// y = 3 x[0] where x[1] is what it was, here 3. Elsewhere the path is another;
// where it is not said to be, the numbers must be right all the same.
static void test_leaving(void)
{
    static const struct {
        const char *name;
        ad_vector_fn *f;
    } all[] = {
        { "ad_value", leave_value }, { "an int", leave_integer },
        { "a loop", leave_loop }, { "ad_value of an expression",
        leave_expression }, { "ad_dual", leave_dual },
        { "ad_dual of an expression", leave_dual_expression },
#define ENTER(name, ...) { "ad_" #name, leave_##name },
        ADREV_STEPS(ENTER)
#undef ENTER
    };
    const double at[2] = { 0.5, 3 };
    const double same_path[2] = { -2, 3 };
    const double other[2] = { -2, -4 };
    const struct truth t = { { -6 }, { 3, 0 }, { 0 } };
    for (size_t i = 0; i < COUNT(all); i++) {
        ad_fn *fn = recorded(all[i].name, all[i].f, NULL, 2, at, 1);
        check_answers(all[i].name, fn, same_path, &t);
        check_path(all[i].name, fn, other, 0);
        ad_fn_free(fn);
    }
}

// A choice by a condition that is a plain number is not a comparison, and is
// not frozen where it is itself a recorded number.
static void choose(const ad_rev *x, ad_rev *y, void *ctx)
{
    const bool *first = ctx;
    y[0] = ad_rec(ad_select(*first, ad_sqr(x[0]), ad_log(x[1])));
}

static void choose_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_each(ADREV_OP_select, 1, &x[0], &x[1], &x[2], y);
    y[0] = ad_rec(ad_sqr(y[0]));
}

static void test_select(void)
{
    const double at[3] = { 2, 3, 5 };
    const double x[2] = { -3, -1 };
    struct truth t = { { 9 }, { -6, 0 }, { 2 * 2, 0, 0, 0 } };
    bool first = true;
    ad_fn *fn = recorded("select", choose, &first, 2, at, 1);
    CHECK(ad_fn_about(fn).guards == 0, "select has a guard");
    check_answers("select", fn, x, &t);
    ad_fn_free(fn);

    fn = recorded("select by x[0]", choose_each, NULL, 3, at, 1);
    CHECK(ad_fn_about(fn).guards == 0, "select has a guard");
    t = (struct truth){ { 9 }, { 0, 6, 0 }, { 0, 0, 0, 0, 4, 0, 0, 0, 0 } };
    check_answers("select the first", fn, at, &t);
    t = (struct truth){ { 25 }, { 0, 0, 10 }, { 0, 0, 0, 0, 0, 0, 0, 0, 4 } };
    check_answers("select the second", fn, (const double[]){ 0, 3, 5 }, &t);
    ad_fn_free(fn);
}

// Min, max, clamp ... are evaluated, not decided: no guard, right everywhere.
static void piecewise(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_max(x[0], x[1]), ad_min(x[0], 1)));
    y[1] = ad_rec(ad_sqr(ad_clamp(ad_abs(x[0]), 1, 3)));
    y[2] = ad_rec(ad_mul(ad_relu(x[1]), ad_fdim(x[0], x[1])));
}

static void test_piecewise(void)
{
    const double at[2] = { 0.5, 0.25 };
    const double x[2] = { -2, 5 };
    const double z[2] = { 4, -1 };
    const double u[2] = { 2.5, 2 };
    ad_fn *fn = recorded("piecewise", piecewise, NULL, 2, at, 3);
    CHECK(ad_fn_about(fn).guards == 0, "a guard");
    // Weights 2, -1, 0.5.
    struct truth t = {
        { -10, 4, 0 }, { 5, -2,  -4, 0,  0, 0 }, { -2, 2, 2, 0 }
    };
    check_answers("piecewise, left", fn, x, &t);
    t = (struct truth){ { 4, 9, 0 }, { 1, 0, 0, 0, 0, 0 }, { 0 } };
    check_answers("piecewise, right", fn, z, &t);
    t = (struct truth){
        { 2.5L, 6.25L, 1 }, { 1, 0,  5, 0,  2, 0.5L - 2 },
        { -2, 0.5L, 0.5L, -1 }
    };
    check_answers("piecewise, inside", fn, u, &t);
    ad_fn_free(fn);
}

// detach(x y) y + detach(x): values follow, slopes do not.
static void detach_some(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev s = ad_rec(ad_detach(ad_mul(x[0], x[1])));
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(s, ad_mul(x[1], x[1])), ad_detach(x[0])));
    y[1] = ad_detach(x[1]);
}

static void test_detach(void)
{
    const double at[2] = { 1, 1 };
    const double x[2] = { 3, -2 };
    const struct truth t = {
        { -21, -2 }, { 0, 2 * -6 * -2, 0, 0 }, { 0, 0, 0, 2 * 2 * -6 }
    };
    ad_fn *fn = recorded("detach", detach_some, NULL, 2, at, 2);
    CHECK(ad_fn_about(fn).guards == 0, "detach has a guard");
    check_answers("detach", fn, x, &t);
    ad_fn_free(fn);
}

/* --- shapes --------------------------------------------------------------- */

static void some_results(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(3.5);
    y[1] = x[0];
    y[2] = ad_rec(ad_mul(x[1], x[0]));
    y[3] = x[0];
    y[4] = y[2];
    y[5] = ad_rec(ad_sub(y[0], 4));
}

// Constants, inputs, the same number twice, and an input nobody needs.
static void test_results(void)
{
    const double at[3] = { 1, 1, 1 };
    const double x[3] = { 3, -2, 7 };
    // Weights of x[0] x[1]: 0.5 and 1.
    const struct truth t = {
        { 3.5L, 3, -6, 3, -6, -0.5L },
        { 0, 0, 0,  1, 0, 0,  -2, 3, 0,  1, 0, 0,  -2, 3, 0,  0, 0, 0 },
        { 0, 1.5L, 0,  1.5L, 0, 0,  0, 0, 0 }
    };
    ad_fn *fn = recorded("results", some_results, NULL, 3, at, 6);
    ad_fn *plain = recorded_plain("results", some_results, NULL, 3, at, 6);
    check_answers("results", fn, x, &t);
    check_answers("results, plain", plain, x, &t);
    ad_fn_free(fn);
    ad_fn_free(plain);
}

static void identity(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = x[0];
}

static void constant(const ad_rev *x, ad_rev *y, void *ctx)
{
    const double *v = ctx;
    (void)x;
    y[0] = ad_rec(*v);
}

// The smallest programs; without inputs their arrays may be NULL.
static void test_smallest(void)
{
    const double at[1] = { 2 };
    const double x[1] = { -5 };
    double v = 2.5;
    double y = 0;
    const struct truth straight = { { -5 }, { 1 }, { 0 } };
    const struct truth flat = { { 2.5L }, { 0 }, { 0 } };
    ad_fn *fn = recorded("identity", identity, NULL, 1, at, 1);
    check_answers("identity", fn, x, &straight);
    ad_fn_free(fn);
    fn = recorded("constant", constant, &v, 1, at, 1);
    check_answers("constant", fn, x, &flat);
    ad_fn_free(fn);

    fn = recorded("no inputs", constant, &v, 0, NULL, 1);
    check_answers("no inputs", fn, x, &flat);
    CHECK(ad_fn_eval(fn, NULL, &y) == ADREV_OK && y == 2.5, "got %g", y);
    y = UNTOUCHED;
    CHECK(ad_fn_jvp(fn, NULL, NULL, &y) == ADREV_OK && y == 0, "got %g", y);
    CHECK(ad_fn_vjp(fn, NULL, &v, NULL) == ADREV_OK, "vjp");
    CHECK(ad_fn_gradient(fn, NULL, &y, NULL) == ADREV_OK && y == 2.5,
          "got %g", y);
    CHECK(ad_fn_jacobian(fn, NULL, NULL) == ADREV_OK, "jacobian");
    CHECK(ad_fn_hvp(fn, NULL, &v, NULL, NULL) == ADREV_OK, "hvp");
    CHECK(ad_fn_hessian(fn, NULL, &v, NULL) == ADREV_OK, "hessian");
    ad_fn_free(fn);
}

/* Many inputs and results, neither a multiple of the lanes: y[i] is the sum of
 * (i + 1) / (j + 1) x[j]^2, and x[j] x[j + 1] for the j with j % m = i.      */

struct grid {
    size_t n;
    size_t m;
};

static void grid(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct grid *g = ctx;
    for (size_t i = 0; i < g->m; i++) {
        y[i] = ad_rec(0);
        for (size_t j = 0; j < g->n; j++) {
            double a = (double)(i + 1) / (double)(j + 1);
            ad_acc(&y[i], ad_mul(a, ad_sqr(x[j])));
            if (j % g->m == i && j + 1 < g->n)
                ad_acc(&y[i], ad_mul(x[j], x[j + 1]));
        }
    }
}

static long double grid_slope(const struct grid *g, const double *x, size_t i,
                              size_t j)
{
    long double d = 2 * (long double)x[j] * (long double)(i + 1)
                  / (long double)(j + 1);
    if (j % g->m == i && j + 1 < g->n)
        d += (long double)x[j + 1];
    if (j > 0 && (j - 1) % g->m == i)
        d += (long double)x[j - 1];
    return d;
}

static long double grid_second(const struct grid *g, const double *w, size_t j,
                               size_t k)
{
    long double d = 0;
    for (size_t i = 0; i < g->m && j == k; i++)
        d += 2 * (long double)w[i] * (long double)(i + 1)
           / (long double)(j + 1);
    if (j + 1 == k || k + 1 == j)
        d += (long double)w[(j < k ? j : k) % g->m];
    return d;
}

struct big {
    double *x, *v, *w, *dy, *dx, *J, *H;
};

static double *numbers(size_t n, uint32_t seed)
{
    double *x = malloc((n + 1) * sizeof *x);
    if (x == NULL)
        exit(EXIT_FAILURE);
    for (size_t i = 0; i <= n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (double)(seed >> 8) / 8388608 - 1;
    }
    return x;
}

static void free_big(struct big *b)
{
    double *all[] = { b->x, b->v, b->w, b->dy, b->dx, b->J, b->H };
    for (size_t i = 0; i < COUNT(all); i++)
        free(all[i]);
}

static void wrong_by(const char *what, struct grid g, size_t i, double got,
                     long double want, long double size)
{
    CHECK(fabsl((long double)got - want)
              <= 64 * (long double)DBL_EPSILON * size,
          "%zu x %zu, %s [%zu]: got %.17g, want %.20Lg", g.m, g.n, what, i,
          got, want);
}

static void check_big(struct grid g, const struct big *b)
{
    long double most = 2 * (long double)(g.m * g.m) * (long double)g.n;
    for (size_t j = 0; j < g.n; j++) {
        long double pulled = 0;
        for (size_t i = 0; i < g.m; i++) {
            long double d = grid_slope(&g, b->x, i, j);
            wrong_by("jacobian", g, i * g.n + j, b->J[i * g.n + j], d,
                     2 * (long double)(i + 1));
            pulled += d * (long double)b->w[i];
        }
        wrong_by("vjp", g, j, b->dx[j], pulled, most);
        for (size_t k = 0; k < g.n; k++)
            wrong_by("hessian", g, j * g.n + k, b->H[j * g.n + k],
                     grid_second(&g, b->w, j, k),
                     (long double)(g.m * g.m) / (long double)(j + 1) + 1);
    }
    for (size_t i = 0; i < g.m; i++) {
        long double pushed = 0;
        for (size_t j = 0; j < g.n; j++)
            pushed += grid_slope(&g, b->x, i, j) * (long double)b->v[j];
        wrong_by("jvp", g, i, b->dy[i], pushed, most);
    }
}

static void run_grid(size_t n, size_t m)
{
    struct grid g = { n, m };
    struct big b = {
        numbers(n, 1), numbers(n, 2), numbers(m, 3), numbers(m, 4),
        numbers(n, 5), numbers(m * n, 6), numbers(n * n, 7)
    };
    double *at = numbers(n, 8);
    ad_fn *fn = recorded("grid", grid, &g, n, at, m);
    double end = b.J[m * n] + b.H[n * n] + b.dx[n] + b.dy[m];
    CHECK(ad_fn_jacobian(fn, b.x, b.J) == ADREV_OK, "jacobian");
    CHECK(ad_fn_hessian(fn, b.x, b.w, b.H) == ADREV_OK, "hessian");
    CHECK(ad_fn_jvp(fn, b.x, b.v, b.dy) == ADREV_OK, "jvp");
    CHECK(ad_fn_vjp(fn, b.x, b.w, b.dx) == ADREV_OK, "vjp");
    check_big(g, &b);
    CHECK(end == b.J[m * n] + b.H[n * n] + b.dx[n] + b.dy[m],
          "%zu x %zu: a number after the last one was touched", m, n);
    ad_fn_free(fn);
    free_big(&b);
    free(at);
}

static void test_many(void)
{
    run_grid(1, 1);
    run_grid(ADREV_LANES_MOST, ADREV_LANES_MOST);
    run_grid(ADREV_LANES_MOST + 1, 3);
    run_grid(3, ADREV_LANES_MOST + 1);
    run_grid(2 * ADREV_LANES_MOST + 5, 2 * ADREV_LANES_MOST + 7);
    run_grid(5, 300);
    run_grid(130, 1);
}

/* --- zero absorbs --------------------------------------------------------- */

static void root_or_0(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_select(ad_gt(x[0], 0), ad_sqrt(x[0]), 0));
}

static void chosen_0(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_select(false, ad_log(x[0]), ad_mul(x[0], x[0])));
    y[1] = ad_rec(ad_max(ad_sqrt(x[0]), 1));
    y[2] = ad_rec(ad_relu(ad_sub(ad_sqrt(x[0]), 1)));
    y[3] = ad_rec(ad_clamp(ad_cbrt(x[0]), 1, 2));
    y[4] = ad_rec(ad_sqr(ad_detach(ad_sqrt(x[0]))));
}

static void weighted_root(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[1], ad_sqrt(x[0])));
}

// On both sides of the end of a domain, with slopes of the side not taken that
// are infinite or NaN.
static void test_zero_absorbs(void)
{
    const double zero[1] = { 0 };
    const double minus[1] = { -2 };
    const double four[1] = { 4 };
    const struct truth none = { { 0 }, { 0 }, { 0 } };
    ad_fn *fn = recorded("root or 0", root_or_0, NULL, 1, minus, 1);
    check_answers("root or 0", fn, zero, &none);
    check_answers("root or 0", fn, minus, &none);
    check_path("root or 0", fn, four, 0);
    ad_fn_free(fn);

    const struct truth at_zero = {
        { 0, 1, 0, 1, 0 }, { 0 }, { 2 * 2 }
    };
    fn = recorded("chosen", chosen_0, NULL, 1, four, 5);
    check_answers("chosen, at 0", fn, zero, &at_zero);
    ad_fn_free(fn);
}

// Directions and weights of 0, where all slopes are infinite or NaN.
static void test_zero_seeds(void)
{
    const double at[2] = { 4, 2 };
    const double x[2] = { 0, 3 };
    const double none[2] = { 0, 0 };
    const double across[2] = { 0, 2 };
    const double one = 1;
    double dy = UNTOUCHED;
    double dx[2] = { UNTOUCHED, UNTOUCHED };
    ad_fn *fn = recorded("root", weighted_root, NULL, 2, at, 1);
    CHECK(ad_fn_jvp(fn, x, none, &dy) == ADREV_OK && dy == 0, "got %g", dy);
    CHECK(ad_fn_jvp(fn, x, across, &dy) == ADREV_OK && dy == 0, "got %g", dy);
    CHECK(ad_fn_vjp(fn, x, none, dx) == ADREV_OK && dx[0] == 0 && dx[1] == 0,
          "got %g, %g", dx[0], dx[1]);
    CHECK(ad_fn_hvp(fn, x, none, at, dx) == ADREV_OK && dx[0] == 0
              && dx[1] == 0, "w = 0: got %g, %g", dx[0], dx[1]);
    CHECK(ad_fn_hvp(fn, x, &one, none, dx) == ADREV_OK && dx[0] == 0
              && dx[1] == 0, "v = 0: got %g, %g", dx[0], dx[1]);

    // At x[1] = 0 the factor takes the infinite slope of the root away.
    double H[4];
    CHECK(ad_fn_gradient(fn, none, NULL, dx) == ADREV_OK && dx[0] == 0
              && dx[1] == 0, "0 sqrt(0): got %g, %g", dx[0], dx[1]);
    CHECK(ad_fn_hessian(fn, none, &one, H) == ADREV_OK, "hessian");
    CHECK(H[0] == 0 && H[1] == INF && H[2] == INF && H[3] == 0,
          "0 sqrt(0): got %g, %g, %g, %g", H[0], H[1], H[2], H[3]);
    CHECK(ad_fn_gradient(fn, x, NULL, dx) == ADREV_OK && dx[0] == INF
              && dx[1] == 0, "3 sqrt(0): got %g, %g", dx[0], dx[1]);
    ad_fn_free(fn);
}

/* --- infinities, NaN, -0, and what simplifying must not do-------------------
 * Pieces of programs that an optimiser is tempted to shorten. At every pair of
 * special numbers the value has the bits of a tape, simplified or not, and the
 * gradient is that of the tape.                                              */

#define A x[0]
#define B x[1]
#define PIECES(ROW)                                                         \
    ROW(  1, ad_add(A, 0) )              ROW(  2, ad_add(0, A) )            \
    ROW(  3, ad_add(A, -0.0) )           ROW(  4, ad_add(-0.0, A) )         \
    ROW(  5, ad_sub(A, 0) )              ROW(  6, ad_sub(A, -0.0) )         \
    ROW(  7, ad_sub(0, A) )              ROW(  8, ad_sub(-0.0, A) )         \
    ROW(  9, ad_mul(A, 1) )              ROW( 10, ad_mul(1, A) )            \
    ROW( 11, ad_mul(A, -1) )             ROW( 12, ad_mul(-1, A) )           \
    ROW( 13, ad_mul(A, 0) )              ROW( 14, ad_mul(-0.0, A) )         \
    ROW( 15, ad_mul(A, 2) )              ROW( 16, ad_add(A, A) )            \
    ROW( 17, ad_div(A, 1) )              ROW( 18, ad_div(A, -1) )           \
    ROW( 19, ad_div(0, A) )              ROW( 20, ad_div(A, A) )            \
    ROW( 21, ad_div(1, ad_div(1, A)) )   ROW( 22, ad_div(A, 2) )            \
    ROW( 23, ad_div(A, 3) )              ROW( 24, ad_sub(A, A) )            \
    ROW( 25, ad_neg(ad_neg(A)) )         ROW( 26, ad_neg(ad_sub(A, B)) )    \
    ROW( 27, ad_add(A, ad_neg(B)) )      ROW( 28, ad_sub(A, ad_neg(B)) )    \
    ROW( 29, ad_add(ad_sub(A, B), B) )                                      \
    ROW( 30, ad_div(ad_mul(A, B), B) )   ROW( 31, ad_mul(ad_neg(A), B) )    \
    ROW( 32, ad_mul(ad_neg(A), ad_neg(B)) )                                 \
    ROW( 33, ad_fma(A, 1, B) )           ROW( 34, ad_fma(A, B, 0) )         \
    ROW( 35, ad_fma(A, B, -0.0) )        ROW( 36, ad_fma(A, 0, B) )         \
    ROW( 37, ad_fma(0, A, B) )           ROW( 38, ad_fma(A, -1, B) )        \
    ROW( 39, ad_sqr(A) )                 ROW( 40, ad_mul(A, A) )            \
    ROW( 41, ad_pow(A, 0) )              ROW( 42, ad_pow(A, 1) )            \
    ROW( 43, ad_pow(A, 2) )              ROW( 44, ad_pow(A, -1) )           \
    ROW( 45, ad_pow(A, 0.5) )            ROW( 46, ad_pow(1, A) )            \
    ROW( 47, ad_powi(A, 0) )             ROW( 48, ad_powi(A, 1) )           \
    ROW( 49, ad_powi(A, 2) )             ROW( 50, ad_powi(A, -1) )          \
    ROW( 51, ad_sqrt(ad_sqr(A)) )        ROW( 52, ad_sqr(ad_sqrt(A)) )      \
    ROW( 53, ad_exp(ad_log(A)) )         ROW( 54, ad_log(ad_exp(A)) )       \
    ROW( 55, ad_abs(ad_abs(A)) )         ROW( 56, ad_abs(ad_neg(A)) )       \
    ROW( 57, ad_relu(ad_relu(A)) )       ROW( 58, ad_relu(ad_abs(A)) )      \
    ROW( 59, ad_max(A, A) )              ROW( 60, ad_min(A, A) )            \
    ROW( 61, ad_max(A, 0) )              ROW( 62, ad_max(0, A) )            \
    ROW( 63, ad_min(A, -0.0) )           ROW( 64, ad_min(A, B) )            \
    ROW( 65, ad_max(A, -INF) )           ROW( 66, ad_min(A, INF) )          \
    ROW( 67, ad_max(A, QNAN) )           ROW( 68, ad_max(A, B) )            \
    ROW( 69, ad_clamp(A, -INF, INF) )    ROW( 70, ad_clamp(A, 1, 1) )       \
    ROW( 71, ad_clamp(1, A, B) )         ROW( 72, ad_clamp(A, B, B) )       \
    ROW( 73, ad_select(true, A, B) )     ROW( 74, ad_select(false, A, B) )  \
    ROW( 75, ad_select(true, A, A) )     ROW( 76, ad_fdim(A, A) )           \
    ROW( 77, ad_fdim(A, 0) )             ROW( 78, ad_copysign(A, A) )       \
    ROW( 79, ad_copysign(A, 1) )         ROW( 80, ad_copysign(A, B) )       \
    ROW( 81, ad_copysign(1, A) )         ROW( 82, ad_hypot(A, 0) )          \
    ROW( 83, ad_hypot(A, B) )            ROW( 84, ad_atan2(A, B) )          \
    ROW( 85, ad_atan2(A, 1) )            ROW( 86, ad_ldexp(A, 0) )          \
    ROW( 87, ad_ldexp(ad_ldexp(A, 4), -4) )                                 \
    ROW( 88, ad_fmod(A, B) )             ROW( 89, ad_remainder(A, 1) )      \
    ROW( 90, ad_neg(ad_mul(A, B)) )                                         \
    ROW( 91, ad_add(ad_mul(A, B), ad_mul(B, A)) )                           \
    ROW( 92, ad_sub(ad_mul(A, B), ad_mul(B, A)) )                           \
    ROW( 93, ad_sub(ad_sub(A, B), ad_sub(B, A)) )                           \
    ROW( 94, ad_mul(ad_detach(A), B) )                                      \
    ROW( 95, ad_sub(A, ad_detach(A)) )                                      \
    ROW( 96, ad_add(ad_mul(A, 0.5), ad_mul(A, 0.5)) )                       \
    ROW( 97, ad_add(ad_add(A, 1e16), -1e16) )                               \
    ROW( 98, ad_mul(ad_mul(A, 1e300), 1e-300) )                             \
    ROW( 99, ad_mul(ad_select(true, 3, A), B) )                             \
    ROW( 100, ad_add(ad_mul(ad_powi(A, 0), 2), B) )                         \
    ROW( 101, ad_sub(A, ad_mul(A, B)) )  ROW( 102, ad_sub(ad_mul(A, B), A) ) \
    ROW( 103, ad_add(ad_mul(A, B), B) )                                     \
    ROW( 104, ad_add(ad_cos(A), ad_mul(A, B)) )                             \
    ROW( 105, ad_add(ad_relu(ad_mul(A, ad_neg(B))), ad_mul(A, A)) )         \
    ROW( 106, ad_add(ad_mul(A, A), ad_relu(ad_mul(A, ad_neg(B)))) )

#define DEFINE(id, e)                                                       \
    static void piece_##id(const ad_rev *x, ad_rev *y) { y[0] = ad_rec(e); }
PIECES(DEFINE)
#undef DEFINE

static const struct piece {
    void (*f)(const ad_rev *x, ad_rev *y);
    const char *text;
} pieces[] = {
#define ENTER(id, e) { piece_##id, #e },
    PIECES(ENTER)
#undef ENTER
};

static const double special[] = {
    0, -0.0, 1, -1, 2.5, -3, 1e-310, -5e-324, 1e300, -1e300, INF, -INF, QNAN
};

static void one_piece(const ad_rev *x, ad_rev *y, void *ctx)
{
    pieces[*(const size_t *)ctx].f(x, y);
}

static void tape_of(ad_vector_fn *f, void *ctx, size_t n, const double *x,
                    double *y, double *g)
{
    ad_rev in[MOST];
    ad_rev out[MOST];
    ad_tape *t = ad_tape_new();
    ad_tape *before = ad_use(t);
    ad_inputs(n, x, in);
    f(in, out, ctx);
    *y = out[0].v;
    for (size_t i = 0; i < n; i++)
        g[i] = 0;
    if (out[0].job != 0)
        CHECK(ad_gradient(t, out[0], n, in, g) == ADREV_OK, "a gradient");
    ad_use(before);
    ad_tape_free(t);
}

// Two ulps: the sum of two products may be rounded in another order. Where x y
// and y x are seen to be the same, their difference has slope 0, not NaN.
static bool as_on_tape(double got, double tape, bool shortened)
{
    return check_ulps((long double)got, (long double)tape) <= 2
        || (shortened && got == 0 && isnan(tape));
}

// C leaves open which of 0 and -0 is the smaller one.
static bool value_on_tape(size_t i, double got, double tape)
{
    bool tie = strstr(pieces[i].text, "ad_min") != NULL
            || strstr(pieces[i].text, "ad_max") != NULL;
    return same(got, tape) || (tie && got == 0 && tape == 0);
}

static void check_piece(size_t i, const char *how, ad_fn *fn, const double *x)
{
    double y = 0;
    double g[2];
    static answers a;
    tape_of(one_piece, &i, 2, x, &y, g);
    ask_all(fn, x, &a);
    check_status(pieces[i].text, fn, &a, ADREV_OK);
    CHECK(value_on_tape(i, a.out[ASK_EVAL][0], y), "%s, %s at (%g, %g): got "
          "%.17g, want %.17g", pieces[i].text, how, x[0], x[1],
          a.out[ASK_EVAL][0], y);
    bool shortened = strcmp(how, "plain") != 0;
    for (int k = 0; k < 2; k++) {
        CHECK(as_on_tape(a.out[ASK_GRADIENT][k], g[k], shortened),
              "%s, %s at (%g, %g), gradient [%d]: got %.17g, want %.17g",
              pieces[i].text, how, x[0], x[1], k, a.out[ASK_GRADIENT][k], g[k]);
        CHECK(as_on_tape(a.out[ASK_JACOBIAN][k], g[k], shortened),
              "%s, %s at (%g, %g), jacobian [%d]: got %.17g, want %.17g",
              pieces[i].text, how, x[0], x[1], k, a.out[ASK_JACOBIAN][k], g[k]);
    }
}

static void test_special(void)
{
    const double at[2] = { 0.75, 1.5 };
    for (size_t i = 0; i < COUNT(pieces); i++) {
        ad_fn *fn = recorded(pieces[i].text, one_piece, &i, 2, at, 1);
        ad_fn *plain = recorded_plain(pieces[i].text, one_piece, &i, 2, at, 1);
        for (size_t k = 0; k < COUNT(special) * COUNT(special); k++) {
            double x[2] = { special[k / COUNT(special)],
                            special[k % COUNT(special)] };
            check_piece(i, "simplified", fn, x);
            check_piece(i, "plain", plain, x);
        }
        ad_fn_free(fn);
        ad_fn_free(plain);
    }
}

// Recorded where the numbers are special, too.
static void test_recorded_special(void)
{
    const double at[][2] = { { QNAN, 1 }, { 0, -0.0 }, { INF, -INF } };
    for (size_t i = 0; i < COUNT(pieces); i++)
        for (size_t k = 0; k < COUNT(at); k++) {
            ad_fn *fn = recorded(pieces[i].text, one_piece, &i, 2, at[k], 1);
            check_piece(i, "recorded elsewhere", fn,
                        (const double[2]){ 2.5, -3 });
            check_piece(i, "recorded here", fn, at[k]);
            ad_fn_free(fn);
        }
}

// A guard that compared NaN: with NaN again it comes out as it did.
static void compare_nan(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = x[0];
    if (ad_lt(x[0], 1))
        y[0] = ad_rec(ad_mul(y[0], 2));
    if (ad_ge(x[0], 1))
        y[0] = ad_rec(ad_mul(y[0], 4));
    if (ad_eq(x[0], x[0]))
        y[0] = ad_rec(ad_mul(y[0], 8));
}

static void value_nan(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[1], ad_value(x[0])));
}

static void value_zero(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[1], 1 / ad_value(x[0])));
}

// Either the path is another one, or the value is that of the program.
static void check_honest(const char *name, ad_vector_fn *f, const double *at,
                         const double *x)
{
    double y = 0;
    double g[2];
    static answers a;
    ad_fn *fn = recorded(name, f, NULL, 2, at, 1);
    tape_of(f, NULL, 2, x, &y, g);
    ask_all(fn, x, &a);
    if (a.status[ASK_EVAL] == ADREV_EPATH)
        check_status(name, fn, &a, ADREV_EPATH);
    else
        CHECK(same(a.out[ASK_EVAL][0], y), "%s: recorded at %g, at %g: got "
              "%g, want %g or ADREV_EPATH", name, at[0], x[0],
              a.out[ASK_EVAL][0], y);
    ad_fn_free(fn);
}

static void test_guards_of_nan(void)
{
    const double nan[2] = { QNAN, 3 };
    const double five[2] = { 5, 3 };
    const double half[2] = { 0.5, 3 };
    const struct truth t = { { (long double)NAN }, { 1, 0 }, { 0 } };
    ad_fn *fn = recorded("NaN", compare_nan, NULL, 2, nan, 1);
    check_answers("NaN", fn, nan, &t);
    check_path("NaN to 5", fn, five, 1);
    check_path("NaN to 0.5", fn, half, 0);
    ad_fn_free(fn);
    fn = recorded("5", compare_nan, NULL, 2, five, 1);
    check_path("5 to NaN", fn, nan, 1);
    ad_fn_free(fn);

    const struct truth u = { { (long double)NAN }, { 0, (long double)NAN },
                             { 0 } };
    fn = recorded("ad_value of NaN", value_nan, NULL, 2, nan, 1);
    check_answers("ad_value of NaN", fn, nan, &u);
    ad_fn_free(fn);
    check_honest("ad_value of NaN", value_nan, nan, five);
    check_honest("ad_value of NaN", value_nan, five, nan);
    check_honest("ad_value of 0", value_zero, (const double[2]){ 0, 3 },
                 (const double[2]){ -0.0, 3 });
    check_honest("ad_value of -0", value_zero, (const double[2]){ -0.0, 3 },
                 (const double[2]){ 0, 3 });
}

/* --- what simplifying removes --------------------------------------------- */

static void twice_sine(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev a = ad_rec(ad_sin(x[0]));
    ad_rev b = ad_rec(ad_sin(x[0]));
    y[0] = ad_rec(ad_mul(a, b));
}

// Chains of the same: the products, then their sines.
static void twice_chain(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev a = ad_rec(ad_sin(ad_mul(x[0], x[1])));
    ad_rev b = ad_rec(ad_sin(ad_mul(x[0], x[1])));
    y[0] = ad_rec(ad_add(a, b));
}

static void both_orders(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev a = ad_rec(ad_mul(x[0], x[1]));
    ad_rev b = ad_rec(ad_mul(x[1], x[0]));
    y[0] = ad_rec(ad_sub(ad_add(a, x[0]), ad_add(x[0], b)));
}

static void squares(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(x[0], x[0]), ad_sqr(x[0])));
}

static void unused(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    DROP(ad_rec(ad_exp(ad_sub(x[1], x[0]))));
    y[0] = ad_rec(ad_mul(x[0], x[0]));
}

static void neutral(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_sub(ad_mul(x[0], 1), 0));
}

// What -(-x) leaves nobody needs.
static void minus_minus(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_neg(ad_neg(x[0])));
}

// The choice is the number 2, so its triple is a number, too.
static void of_constants(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(x[0], ad_mul(3, ad_select(true, 2, x[1]))));
}

// None of these is x, or 0, or 1, for every number.
static void not_neutral(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(x[0], 0));
    y[1] = ad_rec(ad_mul(x[0], 0));
    y[2] = ad_rec(ad_sub(x[0], x[0]));
    y[3] = ad_rec(ad_div(x[0], x[0]));
    y[4] = ad_rec(ad_sub(0, x[0]));
    y[5] = ad_rec(ad_div(0, x[0]));
}

static void two_names(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_hypot(x[0], x[1]));
    y[1] = ad_rec(ad_hypot(x[0], x[1]));
}

static void no_operation(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = x[1];
    y[1] = ad_rec(4);
}

static void one_array(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_sum(2, x);
    y[1] = ad_rec(ad_mul(y[0], y[0]));
}

static const struct reported {
    const char *name;
    ad_vector_fn *f;
    size_t m;
    ad_fn_report want;  // recorded, constant, common, identity, dead,
                        // operations, arrays, guards
} reported[] = {
    { "sin x sin x",       twice_sine,    1, { 3, 0, 1, 0, 0, 2, 0, 0 } },
    { "sin xy + sin xy",   twice_chain,   1, { 5, 0, 2, 0, 0, 3, 0, 0 } },
    { "xy + x - (x + yx)", both_orders,   1, { 5, 0, 2, 0, 0, 3, 0, 0 } },
    { "x x + sqr x",       squares,       1, { 3, 0, 1, 0, 0, 2, 0, 0 } },
    { "not used",          unused,        1, { 3, 0, 0, 0, 2, 1, 0, 0 } },
    { "x*1 - 0",           neutral,       1, { 2, 0, 0, 2, 0, 0, 0, 0 } },
    { "-(-x)",             minus_minus,   1, { 2, 0, 0, 1, 1, 0, 0, 0 } },
    { "3 select(true, 2)", of_constants,  1, { 3, 1, 0, 1, 0, 1, 0, 0 } },
    { "x + 0, 0 x ...",    not_neutral,   6, { 6, 0, 0, 0, 0, 6, 0, 0 } },
    { "two results",       two_names,     2, { 2, 0, 1, 0, 0, 1, 0, 0 } },
    { "no operation",      no_operation,  2, { 0, 0, 0, 0, 0, 0, 0, 0 } },
    { "an array",          one_array,     2, { 2, 0, 0, 0, 0, 2, 1, 0 } },
};

static void check_report(const char *name, ad_fn_report got,
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

static void test_report(void)
{
    const double at[2] = { 0.5, 2 };
    for (size_t i = 0; i < COUNT(reported); i++) {
        const struct reported *r = &reported[i];
        ad_fn *fn = recorded(r->name, r->f, NULL, 2, at, r->m);
        ad_fn *plain = recorded_plain(r->name, r->f, NULL, 2, at, r->m);
        ad_fn_report all = {
            .recorded = r->want.recorded, .operations = r->want.recorded,
            .arrays = r->want.arrays
        };
        check_report(r->name, ad_fn_about(fn), r->want);
        check_report(r->name, ad_fn_about(plain), all);
        ad_fn_free(fn);
        ad_fn_free(plain);
    }
}

// Comparisons, steps and ad_value are guards; select and detach are not.
static void decide(const ad_rev *x, ad_rev *y, void *ctx)
{
    bool less = ad_lt(x[0], x[1]);
    ad_rev unused_exp = ad_rec(ad_exp(x[1]));
    (void)ctx;
    y[0] = ad_rec(ad_select(less, x[0], x[1]));
    if (ad_ne(unused_exp, 1))
        y[0] = ad_rec(ad_mul(y[0], ad_floor(x[0])));
    y[0] = ad_rec(ad_mul(y[0], ad_value(x[0])));
    y[0] = ad_rec(ad_mul(y[0], ad_detach(x[1])));
}

static void test_guards_counted(void)
{
    const double at[2] = { 1.5, 2 };
    for (int plain = 0; plain < 2; plain++) {
        ad_fn *fn = (plain ? recorded_plain : recorded)("decide", decide, NULL,
                                                        2, at, 1);
        ad_fn_report r = ad_fn_about(fn);
        CHECK(r.guards == 4, "%zu guards", r.guards);
        CHECK(r.recorded == r.constant + r.common + r.identity + r.dead
                          + r.operations, "recorded %zu, constant %zu, common "
              "%zu, identity %zu, dead %zu, operations %zu", r.recorded,
              r.constant, r.common, r.identity, r.dead, r.operations);
        // What only a guard needs, e here, is kept: at 0 it is 1.
        check_path("decide", fn, (const double[2]){ -1, 0 }, 1);
        check_path("decide", fn, (const double[2]){ 1.25, 2 }, 3);
        check_path("decide", fn, (const double[2]){ 1.25, 1 }, 0);
        ad_fn_free(fn);
    }
}

// A number that is read behind the recording's back stays what it was.
static void peek(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = ad_rec(ad_mul(x[1], *(const bool *)ctx ? ad_value(x[0]) : x[0].v));
}

static void test_peek(void)
{
    const double at[2] = { 3, 5 };
    const double x[2] = { 4, 5 };
    for (int noticed = 0; noticed < 2; noticed++) {
        bool by_value = noticed == 1;
        double y = 7;
        ad_fn *fn = NULL;
        const ad_fn_options once = { .once = true };    // see frozen.c
        ad_status s = ad_fn_record_with(&fn, &once, peek, &by_value, 2, at, 1);
        CHECK(s == ADREV_OK, "%s", ad_message(s));
        s = ad_fn_eval(fn, x, &y);
        CHECK(by_value ? s == ADREV_EPATH && y == 7 : s == ADREV_OK && y == 15,
              "%s, y is %g", ad_message(s), (double)y);
        ad_fn_free(fn);
    }
}

// Statements that are taken apart, and what they are then.
static void apart(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int *which = ctx;
    ad_rev z[3];
    if (*which == 0)
        y[0] = ad_sqdist(2, x, x + 1);
    else if (*which == 1)
        y[0] = ad_logsumexp(3, x);
    else {
        ad_softmax(3, x, z);
        y[0] = z[0];
    }
}

static void test_apart(void)
{
    const double at[3] = { 0.1, 0.2, 0.3 };
    for (int which = 0; which < 3; which++) {
        ad_fn *fn = recorded("apart", apart, &which, 3, at, 1);
        ad_fn_report r = ad_fn_about(fn);
        CHECK(r.recorded == 1 && r.operations > 1 && r.arrays > 1
              && r.arrays <= r.operations, "%d: recorded %zu, operations %zu, "
              "arrays %zu", which, r.recorded, r.operations, r.arrays);
        ad_fn_free(fn);
    }
}

/* --- arrays -----------------------------------------------------------------
 * Each array statement, and the same written with single operations: all that
 * can be asked of the one is what the other answers.                         */

struct array_case {
    const char *name;
    size_t m;
    void (*array)(const ad_rev *x, ad_rev *y);
    void (*single)(const ad_rev *x, ad_rev *y);
};

static const double array_c[MOST] = { 2, -1, 0.5, 0, 3, -0.25 };

#define ARRAY(name) static void array_##name(const ad_rev *x, ad_rev *y)
#define SINGLE(name) static void single_##name(const ad_rev *x, ad_rev *y)
#define ADD_UP(n, term)                                                     \
    y[0] = ad_rec(0);                                                       \
    for (int i = 0; i < (n); i++)                                           \
        y[0] = ad_rec(ad_add(y[0], term));

ARRAY(sum) { y[0] = ad_sum(6, x); y[0] = ad_rec(ad_sqr(y[0])); }
SINGLE(sum) { ADD_UP(6, x[i]) y[0] = ad_rec(ad_sqr(y[0])); }
ARRAY(sum_s) { y[0] = ad_sum_s(3, x + 5, -2); y[0] = ad_rec(ad_exp(y[0])); }
SINGLE(sum_s) { ADD_UP(3, x[5 - 2 * i]) y[0] = ad_rec(ad_exp(y[0])); }
ARRAY(dot) { y[0] = ad_dot(3, x, x + 3); }
SINGLE(dot) { ADD_UP(3, ad_mul(x[i], x[i + 3])) }
ARRAY(square) { y[0] = ad_dot_s(6, x, 1, x + 5, -1); }
SINGLE(square) { ADD_UP(6, ad_mul(x[i], x[5 - i])) }
ARRAY(dotc) { y[0] = ad_dotc(6, x, array_c); y[0] = ad_rec(ad_sqr(y[0])); }
SINGLE(dotc)
{
    ADD_UP(6, ad_mul(x[i], array_c[i]))
    y[0] = ad_rec(ad_sqr(y[0]));
}
ARRAY(norm2) { y[0] = ad_norm2(6, x); }
SINGLE(norm2) { ADD_UP(6, ad_mul(x[i], x[i])) y[0] = ad_rec(ad_sqrt(y[0])); }
ARRAY(sqdist) { y[0] = ad_sqdist(3, x, x + 3); }
SINGLE(sqdist) { ADD_UP(3, ad_sqr(ad_sub(x[i], x[i + 3]))) }
ARRAY(logsumexp) { y[0] = ad_logsumexp(6, x); }
SINGLE(logsumexp) { ADD_UP(6, ad_exp(x[i])) y[0] = ad_rec(ad_log(y[0])); }
ARRAY(softmax) { ad_softmax(6, x, y); }
SINGLE(softmax)
{
    ADD_UP(6, ad_exp(x[i]))
    ad_rev total = y[0];
    for (int i = 0; i < 6; i++)
        y[i] = ad_rec(ad_div(ad_exp(x[i]), total));
}
ARRAY(axpy)
{
    for (int i = 0; i < 2; i++)
        y[i] = ad_rec(ad_mul(x[i + 3], x[i + 4]));
    ad_axpy(2, x[0], x + 1, y);
}
SINGLE(axpy)
{
    for (int i = 0; i < 2; i++)
        y[i] = ad_rec(ad_fma(x[0], x[1 + i], ad_mul(x[i + 3], x[i + 4])));
}
ARRAY(scale) { ad_scale_s(3, x[1], x, 2, y, 1); }
SINGLE(scale)
{
    for (int i = 0; i < 3; i++)
        y[i] = ad_rec(ad_mul(x[1], x[2 * i]));
}
ARRAY(each)
{
    ad_each(ADREV_OP_sin, 3, x, NULL, NULL, y);
    ad_each(ADREV_OP_atan2, 3, y, x + 3, NULL, y);
    ad_each(ADREV_OP_fma, 3, y, x, x + 2, y);
}
SINGLE(each)
{
    for (int i = 0; i < 3; i++)
        y[i] = ad_rec(ad_fma(ad_atan2(ad_sin(x[i]), x[i + 3]), x[i],
                             x[i + 2]));
}
ARRAY(matvec) { ad_matvec(2, 2, x, x + 4, y); }
SINGLE(matvec)
{
    for (int i = 0; i < 2; i++)
        y[i] = ad_rec(ad_add(ad_mul(x[2 * i], x[4]),
                             ad_mul(x[2 * i + 1], x[5])));
}
ARRAY(matvecc) { ad_matvecc(2, 3, array_c, x, y); ad_scale(2, x[3], y, y); }
SINGLE(matvecc)
{
    for (int i = 0; i < 2; i++) {
        ad_rev s = ad_rec(0);
        for (int j = 0; j < 3; j++)
            ad_acc(&s, ad_mul(array_c[3 * i + j], x[j]));
        y[i] = ad_rec(ad_mul(s, x[3]));
    }
}
// A square matrix times its transpose.
ARRAY(matmul) { ad_matmul_s(2, 2, 2, x, 2, 1, x, 1, 2, y, 2, 1); }
SINGLE(matmul)
{
    for (int i = 0; i < 4; i++)
        y[i] = ad_rec(ad_add(ad_mul(x[i / 2 * 2], x[i % 2 * 2]),
                             ad_mul(x[i / 2 * 2 + 1], x[i % 2 * 2 + 1])));
}
ARRAY(trimatvec) { ad_trimatvec(2, x, x + 2, x + 3, y); }
SINGLE(trimatvec)
{
    y[0] = ad_rec(ad_mul(x[0], x[3]));
    y[1] = ad_rec(ad_add(ad_mul(x[2], x[3]), ad_mul(x[1], x[4])));
}
// Squares, and what only begins with one.
ARRAY(squares)
{
    ad_scale(3, x[0], x, y);
    ad_each(ADREV_OP_mul, 3, x + 3, x + 3, NULL, y + 3);
}
SINGLE(squares)
{
    for (int i = 0; i < 3; i++) {
        y[i] = ad_rec(ad_mul(x[0], x[i]));
        y[3 + i] = ad_rec(ad_sqr(x[3 + i]));
    }
}
// Constants among the numbers, and one of them twice.
ARRAY(mixed)
{
    ad_rev a[4] = { x[0], ad_rec(3), x[1], x[0] };
    ad_rev b[4] = { ad_rec(-2), x[2], x[0], x[0] };
    y[0] = ad_dot(4, a, b);
    y[1] = ad_norm2(4, a);
}
SINGLE(mixed)
{
    y[0] = ad_rec(ad_fma(x[0], -2, ad_mul(x[2], 3)));
    y[0] = ad_rec(ad_add(y[0], ad_fma(x[1], x[0], ad_sqr(x[0]))));
    y[1] = ad_rec(ad_mul(2, ad_sqr(x[0])));
    y[1] = ad_rec(ad_sqrt(ad_add(y[1], ad_add(9, ad_sqr(x[1])))));
}

static const struct array_case array_cases[] = {
#define ENTER(name, m) { #name, m, array_##name, single_##name }
    ENTER(sum, 1), ENTER(sum_s, 1), ENTER(dot, 1), ENTER(square, 1),
    ENTER(dotc, 1), ENTER(norm2, 1), ENTER(sqdist, 1), ENTER(logsumexp, 1),
    ENTER(softmax, 6), ENTER(axpy, 2), ENTER(scale, 3), ENTER(each, 3),
    ENTER(matvec, 2), ENTER(matvecc, 2), ENTER(matmul, 4), ENTER(trimatvec, 2),
    ENTER(squares, 6), ENTER(mixed, 2)
#undef ENTER
};

static void run_array(const ad_rev *x, ad_rev *y, void *ctx)
{
    (*(const struct array_case *)ctx).array(x, y);
}

static void run_single(const ad_rev *x, ad_rev *y, void *ctx)
{
    (*(const struct array_case *)ctx).single(x, y);
}

// Sums of a dozen terms, the largest of which is below 32.
static void compare_answers(const struct array_case *c, const answers *a,
                            const answers *s)
{
    for (int q = 0; q < ASK_COUNT; q++) {
        size_t length = length_of((enum question)q, MOST, c->m);
        CHECK(a->status[q] == s->status[q], "%s, %s: %s", c->name,
              question_names[q], ad_message(a->status[q]));
        for (size_t i = 0; i < length && s->status[q] == ADREV_OK; i++)
            CHECK(fabs(a->out[q][i] - s->out[q][i])
                      <= 128 * DBL_EPSILON * (1 + fabs(s->out[q][i])),
                  "%s, %s [%zu]: got %.17g, with single operations %.17g",
                  c->name, question_names[q], i, a->out[q][i], s->out[q][i]);
    }
}

static void test_arrays(void)
{
    const double at[MOST] = { 1, 1, 1, 1, 1, 1 };
    const double x[2][MOST] = { { 0.5, -1, 2, 0.25, -1.5, 0.75 },
                                { 0, 1, -0.0, 2, -3, 0.125 } };
    for (size_t i = 0; i < COUNT(array_cases); i++) {
        struct array_case c = array_cases[i];
        ad_fn *array = recorded(c.name, run_array, &c, MOST, at, c.m);
        ad_fn *single = recorded(c.name, run_single, &c, MOST, at, c.m);
        for (int k = 0; k < 2; k++) {
            static answers a;
            static answers s;
            ask_all(array, x[k], &a);
            ask_all(single, x[k], &s);
            check_status(c.name, array, &a, ADREV_OK);
            compare_answers(&c, &a, &s);
        }
        CHECK(ad_fn_about(array).arrays > 0, "%s: no array", c.name);
        ad_fn_free(array);
        ad_fn_free(single);
    }
}

// By convention: a length has slope 0 at 0, and infinities that tie share.
static void test_array_edges(void)
{
    const double at[MOST] = { 1, 2, 3, 4, 5, 6 };
    const double zero[MOST] = { 0 };
    const double tied[MOST] = { INF, 1, INF, 2, 3, 4 };
    const double want[MOST] = { 0.5, 0, 0.5, 0, 0, 0 };
    double g[MOST];
    double y = 0;
    struct array_case c = { .array = array_norm2 };
    ad_fn *fn = recorded("norm2", run_array, &c, MOST, at, 1);
    CHECK(ad_fn_gradient(fn, zero, &y, g) == ADREV_OK && y == 0, "norm2 at 0");
    for (int i = 0; i < MOST; i++)
        CHECK(g[i] == 0, "norm2 at 0: slope %d is %g", i, g[i]);
    ad_fn_free(fn);
    c.array = array_logsumexp;
    fn = recorded("logsumexp", run_array, &c, MOST, at, 1);
    CHECK(ad_fn_gradient(fn, tied, &y, g) == ADREV_OK && y == INF,
          "logsumexp of infinities: %g", y);
    for (int i = 0; i < MOST; i++)
        CHECK(g[i] == want[i], "logsumexp: slope %d is %g, want %g", i, g[i],
              want[i]);
    ad_fn_free(fn);
}

#define EXPECT(call, want)                                                  \
    do {                                                                    \
        ad_status got_ = (call);                                            \
        CHECK(got_ == (want), "%s: got \"%s\", want \"%s\"", #call,         \
              ad_message(got_), ad_message(want));                          \
    } while (0)

// As on a tape to the last bit: the order of sums, and that they start at 0.
static void summing(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_matmul(1, 17, 1, x, x + 3, y);
    ad_matmul(2, 9, 1, x, x + 2, y + 1);
    ad_matvec(2, 9, x, x + 2, y + 3);
    ad_matmul(2, 1, 2, x, x + 2, y + 5);
    ad_matmul(1, 1, 2, x, x + 2, y + 9);
    ad_matmul(2, 1, 1, x, x + 2, y + 11);
    y[13] = ad_dot(1, x, x + 2);
    y[14] = ad_sum(1, x);
    y[15] = ad_dot(20, x, x);
}

static void test_sums(void)
{
    double x[20] = { 0 };
    double y[16];
    double want[16];
    double J[16 * 20];
    for (int k = 0; k < 40; k++) {
        const ad_fn_options o = { .plain = k % 2 == 1 };
        ad_fn *fn = NULL;
        for (int i = 0; i < 20; i++)
            x[i] = sin(k + 3.7 * i) * (i % 3 == 0 ? 100 : 1);
        if (k < 20)
            x[0] = k < 10 ? -0.0 : 0.0;
        EXPECT(ad_fn_record_with(&fn, &o, summing, NULL, 20, x, 16), ADREV_OK);
        EXPECT(ad_jac(summing, NULL, 20, x, 16, want, J), ADREV_OK);
        EXPECT(ad_fn_eval(fn, x, y), ADREV_OK);
        for (int i = 0; i < 16; i++)
            CHECK(memcmp(&y[i], &want[i], sizeof *y) == 0,
                  "sum %d: got %a, want %a", i, y[i], want[i]);
        ad_fn_free(fn);
    }
}

/* --- errors --------------------------------------------------------------- */

static ad_fn *const garbage = (ad_fn *)(uintptr_t)0x10;

// A status, and no function.
static void refused(const char *name, ad_vector_fn *f, void *ctx, size_t n,
                    const double *x, size_t m, ad_status want)
{
    ad_fn *fn = garbage;
    ad_status s = ad_fn_record(&fn, f, ctx, n, x, m);
    CHECK(s == want, "%s: got \"%s\", want \"%s\"", name, ad_message(s),
          ad_message(want));
    CHECK(fn == NULL || s == ADREV_OK, "%s: a function", name);
    CHECK(want == ADREV_EHOOK || want == ADREV_EMARK
          || strcmp(ad_fn_reason(), ad_message(want)) == 0, "%s: \"%s\"", name,
          ad_fn_reason());
    if (s == ADREV_OK)
        ad_fn_free(fn);
}

#define BECAUSE(about)                                                      \
    CHECK(strstr(ad_fn_reason(), about) != NULL, "\"%s\" is not about \"%s\"", \
          ad_fn_reason(), about)

static void test_null_record(void)
{
    const double x[2] = { 1, 2 };
    EXPECT(ad_fn_record(NULL, title, NULL, 2, x, 1), ADREV_ESHAPE);
    refused("no f", NULL, NULL, 2, x, 1, ADREV_ESHAPE);
    refused("no x", title, NULL, 2, NULL, 1, ADREV_ESHAPE);
    ad_fn *fn = NULL;
    EXPECT(ad_fn_record_with(&fn, NULL, title, NULL, 2, x, 1), ADREV_OK);
    ad_fn_free(fn);
    ad_fn_free(NULL);
    CHECK(ad_fn_eval(NULL, x, &(double){ 0 }) != ADREV_OK, "no function");
}

static void test_null_evaluate(void)
{
    const double x[2] = { 1, 2 };
    double out[4] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED };
    ad_fn *fn = recorded("title", title, NULL, 2, x, 1);
    EXPECT(ad_fn_eval(fn, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_eval(fn, x, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_jvp(fn, NULL, x, out), ADREV_ESHAPE);
    EXPECT(ad_fn_jvp(fn, x, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_jvp(fn, x, x, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_vjp(fn, NULL, x, out), ADREV_ESHAPE);
    EXPECT(ad_fn_vjp(fn, x, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_vjp(fn, x, x, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_gradient(fn, NULL, out, out + 1), ADREV_ESHAPE);
    EXPECT(ad_fn_gradient(fn, x, out, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_hvp(fn, NULL, x, x, out), ADREV_ESHAPE);
    EXPECT(ad_fn_hvp(fn, x, NULL, x, out), ADREV_ESHAPE);
    EXPECT(ad_fn_hvp(fn, x, x, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_hvp(fn, x, x, x, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_jacobian(fn, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_jacobian(fn, x, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_linearize(NULL, x, out, out), ADREV_ESHAPE);
    EXPECT(ad_fn_linearize(fn, NULL, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_linearize(fn, x, NULL, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_hessian(fn, NULL, x, out), ADREV_ESHAPE);
    EXPECT(ad_fn_hessian(fn, x, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_hessian(fn, x, x, NULL), ADREV_ESHAPE);
    CHECK(touched(out, 0, 4) == 0, "an output was touched");
    EXPECT(ad_fn_gradient(fn, x, NULL, out), ADREV_OK);
    CHECK(touched(out, 0, 4) == 2, "a gradient without the value");
    ad_fn_free(fn);
}

// A gradient is of one result.
static void test_gradient_shape(void)
{
    const double x[2] = { 1, 2 };
    double out[4] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED };
    struct call c = { rev_s11, 0 };
    ad_fn *fn = recorded("s11", run_call, &c, 2, x, 2);
    EXPECT(ad_fn_gradient(fn, x, out, out + 1), ADREV_ESHAPE);
    EXPECT(ad_fn_gradient(fn, x, NULL, out + 1), ADREV_ESHAPE);
    CHECK(touched(out, 0, 4) == 0, "an output was touched");
    ad_fn_free(fn);
}

// More than there can be: an answer, not an attempt.
static void test_too_many(void)
{
    const double x[1] = { 1 };
    ad_fn *fn = garbage;
    ad_status s = ad_fn_record(&fn, identity, NULL, 1, x, SIZE_MAX / 2);
    CHECK(s != ADREV_OK && fn == NULL, "SIZE_MAX/2 results: %s",
          ad_message(s));
}

/* --- numbers of others ---------------------------------------------------- */

struct stranger {
    ad_rev z;
    int use;
};

enum { STRANGE_USES = 9 };

static void strange(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct stranger *s = ctx;
    y[0] = ad_rec(ad_mul(x[0], x[0]));
    switch (s->use) {
    case 0:
        y[0] = ad_rec(ad_mul(x[0], s->z));
        CHECK(y[0].job == 0, "an operation that fails: of job %u", y[0].job);
        break;
    case 1: y[0] = ad_rec(ad_sin(s->z)); break;
    case 2: y[0] = s->z; break;
    case 3: y[0] = ad_rec(ad_select(true, x[0], s->z)); break;
    case 4: y[0] = ad_lt(x[0], s->z) ? y[0] : x[0]; break;
    case 5: y[0] = ad_sum(2, (const ad_rev[2]){ x[0], s->z }); break;
    case 6: y[0] = ad_rec(ad_mul(x[0], ad_detach(s->z))); break;
    case 7:
        DROP(ad_rec(s->z));
        y[0] = ad_rec(ad_mul(x[0], x[0]));
        CHECK(y[0].v == 4 && y[0].job == 0, "after a failure: %g of job %u",
              y[0].v, y[0].job);
        break;
    case 8: y[0] = ad_rec(ad_fma(x[0], x[0], s->z)); break;
    }
}

// The caller records on t; its numbers are of no use to f, and its recording
// goes on as if nothing had been.
static void test_foreign_tape(void)
{
    const double at[1] = { 2 };
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev z = ad_input(3);
    for (int use = 0; use < STRANGE_USES; use++) {
        char name[40];
        struct stranger s = { z, use };
        ad_stats before = ad_tape_stats(t);
        snprintf(name, sizeof name, "a number of a tape, use %d", use);
        refused(name, strange, &s, 1, at, 1, ADREV_EFOREIGN);
        ad_stats after = ad_tape_stats(t);
        CHECK(memcmp(&before, &after, sizeof before) == 0,
              "%s: the tape of the caller changes", name);
        CHECK(ad_tape_status(t) == ADREV_OK, "%s: the tape failed", name);
    }
    ad_rev w = ad_rec(ad_mul(z, z));
    double g = 0;
    EXPECT(ad_gradient(t, w, 1, &z, &g), ADREV_OK);
    CHECK(g == 6, "got %g, want 6", g);
    CHECK(ad_use(NULL) == t, "another tape is current");
    ad_tape_free(t);
}

static void keep(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev *kept = ctx;
    *kept = ad_rec(ad_mul(x[0], 5));
    y[0] = *kept;
}

// Nor are the numbers of a recording that is over.
static void test_foreign_recording(void)
{
    const double at[1] = { 2 };
    struct stranger s = { { 0, 0, 0 }, 0 };
    ad_fn *fn = NULL;
    EXPECT(ad_fn_record_with(&fn, &(ad_fn_options){ .once = true }, keep, &s.z,
                             1, at, 1), ADREV_OK);
    CHECK(s.z.job != 0, "a number was kept");
    for (s.use = 0; s.use < STRANGE_USES; s.use++)
        refused("a number of an old recording", strange, &s, 1, at, 1,
                ADREV_EFOREIGN);
    ad_fn_free(fn);
    s.use = 0;
    refused("a number of a freed function", strange, &s, 1, at, 1,
            ADREV_EFOREIGN);

    // Nor can a tape use them.
    ad_tape *t = ad_tape_new();
    ad_use(t);
    DROP(ad_rec(ad_mul(s.z, ad_input(1))));
    EXPECT(ad_tape_status(t), ADREV_EFOREIGN);
    ad_use(NULL);
    ad_tape_free(t);
}

// The tape that a function is recorded on gives no derivatives: they would be
// constants to the function.
static void asks_its_tape(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t *values = ctx;
    ad_tape *t = ad_use(NULL);
    double g = 77;
    ad_use(t);
    y[0] = x[0];
    for (size_t i = 0; i < *values; i++)
        y[0] = ad_rec(ad_mul(y[0], x[0]));
    ad_status s = ad_gradient(t, y[0], 1, x, &g);
    CHECK(s == ADREV_EHOOK && g == 77, "%zu values: \"%s\", %g", *values,
          ad_message(s), g);
}

static void test_asks_its_tape(void)
{
    const double at[1] = { 2 };
    for (size_t values = 1; values < 40; values += 19)
        refused("its tape's gradient", asks_its_tape, &values, 1, at, 1,
                ADREV_EHOOK);
    BECAUSE("derivatives are asked of the tape");
}

static size_t told;

static void count(void *user, const ad_operation *operation)
{
    (void)user;
    (void)operation;
    told++;
}

// Nor does it take other hooks: nothing would be recorded any more.
static void sets_hooks(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_tape *t = ad_use(NULL);
    ad_use(t);
    ad_tape_hooks(t, ctx);
    y[0] = ad_rec(ad_mul(x[0], x[0]));
    EXPECT(ad_tape_status(t), ADREV_EHOOK);
}

static void test_sets_hooks(void)
{
    const double at[1] = { 2 };
    const ad_hooks hooks = { .trace = count };
    told = 0;
    refused("hooks of its own", sets_hooks, (void *)&hooks, 1, at, 1,
            ADREV_EHOOK);
    refused("no hooks", sets_hooks, NULL, 1, at, 1, ADREV_EHOOK);
    BECAUSE("hooks are set on the tape");
    CHECK(told == 0, "its hook was told of %zu operations", told);
}

// Nor may it leave its tape.
static void leaves_tape(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = ad_rec(ad_mul(x[0], x[0]));
    ad_use(ctx);
}

static void test_leaves_tape(void)
{
    const double at[1] = { 2 };
    ad_tape *t = ad_tape_new();
    refused("no tape", leaves_tape, NULL, 1, at, 1, ADREV_EMARK);
    BECAUSE("another tape current");
    refused("another tape", leaves_tape, t, 1, at, 1, ADREV_EMARK);
    BECAUSE("another tape current");
    ad_fn_free(recorded("after all that", title, NULL, 2,
                        (const double[]){ 1, 2 }, 1));
    BECAUSE(ad_message(ADREV_OK));
    ad_tape_free(t);
}

enum { OWN_REWOUND, OWN_GRAD, OWN_TWICE, OWN_AS_MANY, OWN_CONSTANT, OWN_OUTPUT,
       OWN_USES };

static ad_rev sines_of(const ad_rev *x, void *ctx)
{
    const ad_rev *outer = ctx;
    return ad_rec(ad_sin(ad_mul(ad_sin(x[0]), ad_sin(*outer))));
}

// Numbers of f's own, whose ids may be those of what was rewound: constants.
static void own_numbers(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int use = *(const int *)ctx;
    ad_tape *t = ad_use(NULL);
    ad_use(t);
    const ad_mark mark = ad_tape_mark(t);
    ad_rev a = x[0];
    ad_rev b = x[0];
    double g;
    if (use == OWN_REWOUND) {
        DROP(ad_rec(ad_sin(x[0])));
        EXPECT(ad_tape_rewind(t, mark), ADREV_OK);
        a = ad_input(3);
    } else if (use == OWN_GRAD) {
        ad_rev outer = x[0];
        EXPECT(ad_grad(sines_of, &outer, 1, &x[0].v, NULL, &g), ADREV_OK);
        ad_input(4);
        a = ad_input(3);
    } else if (use == OWN_TWICE) {      // the second mark is of another job
        for (int i = 0; i < 9; i++)
            DROP(ad_rec(ad_sin(x[0])));
        EXPECT(ad_tape_rewind(t, mark), ADREV_OK);
        ad_input(4);
        a = ad_input(3);
        const ad_mark second = ad_tape_mark(t);
        ad_input(5);
        EXPECT(ad_tape_rewind(t, second), ADREV_OK);
    } else if (use == OWN_AS_MANY) {    // ids go on as if nothing had been
        DROP(ad_rec(ad_sin(x[0])));
        EXPECT(ad_tape_rewind(t, mark), ADREV_OK);
        a = ad_input(3);
        b = ad_rec(ad_neg(x[0]));
        b = ad_rec(ad_neg(b));
    } else {
        a.v = 3;
        a.job = 0;
    }
    const ad_rev both[2] = { x[0], a };
    y[0] = use == OWN_OUTPUT ? a : ad_rec(ad_mul(a, b));
    y[1] = ad_sum(2, both);
}

static void test_own_numbers(void)
{
    for (int use = 0; use < OWN_USES; use++) {
        const double at[1] = { 2 };
        const double x[1] = { 5 };
        double y[2] = { 0, 0 };
        double J[2] = { 0, 0 };
        ad_fn *fn = recorded("numbers of its own", own_numbers, &use, 1, at, 2);
        EXPECT(ad_fn_linearize(fn, x, y, J), ADREV_OK);
        const bool output = use == OWN_OUTPUT;
        CHECK(y[0] == (output ? 3 : 15) && J[0] == (output ? 0 : 3),
              "use %d: %g and %g", use, y[0], J[0]);
        CHECK(y[1] == 8 && J[1] == 1, "use %d: the sum %g and %g", use, y[1],
              J[1]);
        ad_fn_free(fn);
    }
}

// As if nothing had been recorded, and with ids as if x were still there.
static void clears_its_tape(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_tape *t = ad_use(NULL);
    (void)x;
    (void)ctx;
    ad_use(t);
    ad_tape_clear(t);
    ad_rev own = ad_input(3);
    y[0] = ad_rec(ad_mul(own, own));
}

static void test_clears_its_tape(void)
{
    const double at[1] = { 2 };
    double y = 0;
    double g = 77;
    ad_fn *fn = recorded("cleared", clears_its_tape, NULL, 1, at, 1);
    EXPECT(ad_fn_gradient(fn, at, &y, &g), ADREV_OK);
    CHECK(y == 9 && g == 0, "%g and %g, not 9 and 0", y, g);
    ad_fn_free(fn);
}

void function_debug(const ad_rev *x, ad_rev *y, void *ctx);

// Only the file of f knows lines.
static void test_guard_place(void)
{
    const double at[1] = { 1 };
    const double beyond[1] = { 3 };
    double y = 77;
    int line = 0;
    ad_fn *fn = recorded("with lines", function_debug, &line, 1, at, 1);
    EXPECT(ad_fn_eval(fn, beyond, &y), ADREV_EPATH);
    const ad_guard g = ad_fn_guard();
    CHECK(y == 77 && g.file != NULL && g.line == line
          && strstr(g.file, "function_debug.c") != NULL, "the guard of %s:%d",
          g.file == NULL ? "nowhere" : g.file, g.line);
    ad_fn_free(fn);
}

static void hidden(const ad_rev *x, ad_rev *y, void *ctx)
{
    const bool *traced = ctx;
    y[0] = *traced ? ad_rec(ad_mul(x[0], x[0]))
                   : errors_plain_product(x[0], x[0]);
}

static void test_untraced(void)
{
    const double at[1] = { 3 };
    bool traced = false;
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev x = ad_input(2);
    refused("compiled without ADREV_TRACE", hidden, &traced, 1, at, 1,
            ADREV_EHOOK);
    BECAUSE("compiled without ADREV_TRACE");
    EXPECT(ad_tape_status(t), ADREV_OK);
    ad_rev y = errors_plain_product(x, x);
    CHECK(y.job != 0 && ad_tape_status(t) == ADREV_OK, "fine without a hook");
    CHECK(ad_use(NULL) == t, "another tape is current");
    ad_tape_free(t);
    traced = true;
    refused("compiled with it", hidden, &traced, 1, at, 1, ADREV_OK);
}

/* --- beside other recordings ---------------------------------------------- */

// What is current stays current, with its hooks, and hears of nothing.
static void test_current_tape(void)
{
    const double at[2] = { 0.5, 0.25 };
    const double x[2] = { 1, 2 };
    const ad_hooks hooks = { .trace = count };
    double y = 0;
    double g[2];
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev u = ad_input(3);
    ad_rev v = ad_rec(ad_mul(u, u));
    ad_tape_hooks(t, &hooks);
    ad_stats before = ad_tape_stats(t);
    told = 0;
    ad_fn *fn = recorded("title", title, NULL, 2, at, 1);
    EXPECT(ad_fn_eval(fn, x, &y), ADREV_OK);
    EXPECT(ad_fn_gradient(fn, x, &y, g), ADREV_OK);
    ad_stats after = ad_tape_stats(t);
    CHECK(memcmp(&before, &after, sizeof before) == 0, "the tape changes");
    CHECK(told == 0, "its hook was told of %zu operations", told);
    v = ad_rec(ad_add(v, u));
    CHECK(told == 1, "its hook was told of %zu operations, not 1", told);
    EXPECT(ad_gradient(t, v, 1, &u, g), ADREV_OK);
    CHECK(g[0] == 7, "got %g, want 7", g[0]);
    CHECK(ad_use(NULL) == t, "another tape is current");
    ad_fn_free(fn);
    ad_tape_free(t);
    fn = recorded("title", title, NULL, 2, at, 1);
    CHECK(ad_use(NULL) == NULL, "a tape is current where none was");
    ad_fn_free(fn);
}

static void cube(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_powi(x[0], 3));
}

// Records another function while it is recorded; x[0] times its slope at 2.
static void outer(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_status *inner = ctx;
    const double one = 1;
    const double two = 2;
    double slope = 0;
    ad_fn *fn = NULL;
    ad_rev square = ad_rec(ad_mul(x[0], x[0]));
    *inner = ad_fn_record(&fn, cube, NULL, 1, &one, 1);
    if (*inner == ADREV_OK)
        *inner = ad_fn_gradient(fn, &two, NULL, &slope);
    ad_fn_free(fn);
    y[0] = ad_rec(ad_mul(square, slope));
}

// The same, and the inner one uses a number of the outer one.
static void outer_mixed(const ad_rev *x, ad_rev *y, void *ctx)
{
    const double one = 1;
    struct stranger s = { x[0], 0 };
    ad_fn *fn = NULL;
    *(ad_status *)ctx = ad_fn_record(&fn, strange, &s, 1, &one, 1);
    ad_fn_free(fn);
    y[0] = ad_rec(ad_mul(x[0], ad_mul(x[0], 12)));
}

// ad_grad is the same with a tape; it asks with a number of the outer one.
static ad_rev wave(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_mul(x[0], ad_mul(x[0], 3)));
}

static void outer_tape(const ad_rev *x, ad_rev *y, void *ctx)
{
    double at = ad_value(x[1]);
    double slope = 0;
    ad_rev square = ad_rec(ad_mul(x[0], x[0]));
    *(ad_status *)ctx = ad_grad(wave, NULL, 1, &at, NULL, &slope);
    y[0] = ad_rec(ad_mul(square, slope));
}

static void test_inside(void)
{
    const double at[2] = { 0.5, 2 };
    const double x[2] = { -3, 2 };
    const struct truth t = { { 108 }, { -72 }, { 48 } };
    const struct truth u = { { 108 }, { -72, 0 }, { 48, 0, 0, 0 } };
    ad_status inner = ADREV_ENOTAPE;
    ad_fn *fn = recorded("outer", outer, &inner, 1, at, 1);
    EXPECT(inner, ADREV_OK);
    check_answers("outer", fn, x, &t);
    ad_fn_free(fn);
    const ad_fn_options once = { .once = true };
    EXPECT(ad_fn_record_with(&fn, &once, outer_mixed, &inner, 1, at, 1),
           ADREV_OK);
    EXPECT(inner, ADREV_EFOREIGN);
    check_answers("outer, mixed", fn, x, &t);
    ad_fn_free(fn);
    fn = recorded("outer, tape", outer_tape, &inner, 2, at, 1);
    EXPECT(inner, ADREV_OK);
    check_answers("outer, tape", fn, x, &u);
    check_path("outer, tape", fn, (const double[2]){ -3, 1 }, 0);
    ad_fn_free(fn);
}

// Inputs that f makes itself are not those of the function: constants, if they
// are allowed at all.
static void own_input(const ad_rev *x, ad_rev *y, void *ctx)
{
    bool first = *(const bool *)ctx;
    ad_rev product = first ? ad_rec(0) : ad_rec(ad_mul(x[0], x[1]));
    ad_rev own = ad_input(3);
    if (first)
        product = ad_rec(ad_mul(x[0], x[1]));
    y[0] = ad_rec(ad_mul(product, own));
}

static void own_inputs(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev own[2];
    (void)ctx;
    ad_inputs(2, (const double[2]){ 1, 3 }, own);
    y[0] = ad_rec(ad_mul(ad_mul(x[0], own[0]), ad_mul(x[1], own[1])));
}

static void test_own_input(void)
{
    const double at[2] = { 2, 7 };
    const double x[2] = { 5, -4 };
    const struct truth t = { { -60 }, { -12, 15 }, { 0, 6, 6, 0 } };
    for (int i = 0; i < 3; i++) {
        bool first = i == 0;
        ad_fn *fn = NULL;
        ad_status s = ad_fn_record(&fn, i < 2 ? own_input : own_inputs, &first,
                                   2, at, 1);
        CHECK((s == ADREV_OK) == (fn != NULL), "%s", ad_message(s));
        if (fn != NULL)
            check_answers("an input of its own", fn, x, &t);
        ad_fn_free(fn);
    }
}

/* --- memory that runs out ------------------------------------------------- */

// A bit of everything: guards, steps, constants, common and dead operations,
// an array, one result or two.
static void mixture(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t *results = ctx;
    ad_rev s = ad_rec(ad_mul(ad_sin(x[0]), ad_exp(x[1])));
    DROP(ad_rec(ad_tan(s)));
    if (ad_lt(s, 100))
        s = ad_rec(ad_add(s, ad_mul(ad_floor(x[2]), ad_sin(x[0]))));
    for (int i = 0; i < 20; i++)
        s = ad_rec(ad_add(ad_mul(s, 0.5), ad_mul(x[i % 3], x[(i + 1) % 3])));
    y[0] = s;
    y[*results - 1] = ad_rec(ad_mul(ad_dot(3, x, x),
                                    ad_log(ad_add(ad_sqr(s), 1))));
}

static const double mixture_at[3] = { 0.5, 0.25, 2.5 };
static const double mixture_x[3] = { -0.75, 1.25, 2.125 };

static bool same_answers(const answers *a, const answers *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static size_t one_result = 1;
static size_t two_results = 2;

static answers mixture_answers(size_t *results)
{
    static answers a;
    ad_fn *fn = recorded("mixture", mixture, results, 3, mixture_at, *results);
    ask_all(fn, mixture_x, &a);
    check_status("mixture", fn, &a, ADREV_OK);
    ad_fn_free(fn);
    return a;
}

static ad_status record_from(heap *h, size_t *results, ad_fn **fn)
{
    const ad_allocator from = { heap_alloc, heap_free, h };
    const ad_fn_options options = { .allocator = &from, .once = true };
    *fn = garbage;
    return ad_fn_record_with(fn, &options, mixture, results, 3, mixture_at,
                             *results);
}

// Returns whether nothing failed.
static bool record_failing(size_t failing, bool for_ever)
{
    heap h = HEAP;
    ad_fn *fn = NULL;
    h.failing = failing;
    h.for_ever = for_ever;
    ad_status s = record_from(&h, &two_results, &fn);
    if (s == ADREV_OK) {
        ad_fn_free(fn);
    } else {
        CHECK(s == ADREV_ENOMEM && fn == NULL, "record, %zu fails: %s",
              failing, ad_message(s));
    }
    CHECK(h.live == 0 && !h.wrong, "record, %zu fails: %zu blocks leak",
          failing, h.live);
    CHECK(ad_use(NULL) == NULL, "record, %zu fails: a tape is current",
          failing);
    return s == ADREV_OK;
}

// A question to a function, with little memory; then it is asked again, and all
// others.
static bool ask_failing(enum question q, size_t failing, bool for_ever,
                        size_t *results, const answers *want)
{
    heap h = HEAP;
    ad_fn *fn = NULL;
    static answers a;
    if (!CHECK(record_from(&h, results, &fn) == ADREV_OK, "record"))
        return true;
    if (for_ever)       // asked before, where the path is another
        ask_all(fn, (const double[3]){ QNAN, 0, -9 }, &a);
    h.failing = h.allocations + failing;
    h.for_ever = for_ever;
    for (size_t i = 0; i < COUNT(a.out[q]); i++)
        a.out[q][i] = UNTOUCHED;
    ad_status s = ask(q, fn, mixture_x, &a);
    CHECK(s == want->status[q] || s == ADREV_ENOMEM, "%s, %zu fails: %s",
          question_names[q], failing, ad_message(s));
    CHECK(s == ADREV_OK || touched(a.out[q], 0, COUNT(a.out[q])) == 0,
          "%s, %zu fails: an output was touched", question_names[q], failing);
    h.failing = 0;
    ask_all(fn, mixture_x, &a);
    CHECK(same_answers(&a, want), "%s, %zu fails: other answers afterwards",
          question_names[q], failing);
    ad_fn_free(fn);
    CHECK(h.live == 0 && !h.wrong, "%s, %zu fails: %zu blocks leak",
          question_names[q], failing, h.live);
    return s != ADREV_ENOMEM;
}

// Question q with one allocation after the other failing, until it succeeds.
static void until_success(enum question q, bool for_ever, size_t *results,
                          const answers *want)
{
    size_t n = 1;
    while (n < 1000 && !ask_failing(q, n, for_ever, results, want))
        n++;
    CHECK(n < 1000, "%s never succeeds", question_names[q]);
    CHECK(n > 3 || for_ever || want->status[q] != ADREV_OK,
          "%s: asked first, only %zu allocations", question_names[q], n - 1);
}

static void test_memory(void)
{
    const answers one = mixture_answers(&one_result);
    const answers two = mixture_answers(&two_results);
    size_t before = standard.allocations;
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        size_t n = 1;
        while (n < 1000 && !record_failing(n, for_ever))
            n++;
        CHECK(n > 3 && n < 1000, "record: %zu allocations", n - 1);
        for (int q = 0; q < ASK_COUNT; q++) {
            until_success((enum question)q, for_ever, &one_result, &one);
            until_success((enum question)q, for_ever, &two_results, &two);
        }
    }
    CHECK(standard.allocations == before,
          "a function with an allocator uses malloc");
}

// A report that cannot be counted says what is known; later it can.
static void test_report_without_memory(void)
{
    heap h = HEAP;
    ad_fn *fn = NULL;
    if (!CHECK(record_from(&h, &two_results, &fn) == ADREV_OK, "record"))
        return;
    ad_fn_report r = ad_fn_about(fn);
    ad_fn_report known = r;
    known.dead = known.operations = known.arrays = 0;
    h.failing = h.allocations + 1;
    check_report("no memory", ad_fn_about(fn), known);
    h.failing = 0;
    CHECK(r.recorded == r.constant + r.common + r.identity + r.dead
                      + r.operations, "recorded %zu, operations %zu",
          r.recorded, r.operations);
    check_report("again", ad_fn_about(fn), r);
    ad_fn_free(fn);
    CHECK(h.live == 0 && !h.wrong, "a report: %zu blocks leak", h.live);
}

// Without an allocator all memory comes from malloc, and goes back.
static void test_malloc(void)
{
    size_t live = standard.live;
    size_t before = standard.allocations;
    mixture_answers(&two_results);
    CHECK(standard.allocations > before, "malloc is not used");
    CHECK(standard.live == live && !standard.wrong, "%zu blocks leak",
          standard.live - live);
}

// Asked again and again a function holds no more.
static void test_steady(void)
{
    heap h = HEAP;
    ad_fn *fn = NULL;
    static answers a;
    if (!CHECK(record_from(&h, &two_results, &fn) == ADREV_OK, "record"))
        return;
    ask_all(fn, mixture_x, &a);
    size_t bytes = h.bytes;
    for (int i = 0; i < 50; i++)
        ask_all(fn, mixture_x, &a);
    CHECK(h.bytes == bytes, "%zu bytes at first, then %zu", bytes, h.bytes);
    ad_fn_free(fn);
}

/* --- threads -------------------------------------------------------------- */

enum { THREADS = 6, POINTS = 12, ROUNDS = 12 };

// Threads write down what they got: CHECK is the main thread's alone.
struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    ad_fn *fn;
    int number;
    answers a[POINTS];
    ad_guard guard[POINTS];
};

static void point_of(int i, double *x)
{
    for (int k = 0; k < 3; k++)
        x[k] = mixture_at[k] + 0.03125 * ((i * (k + 3)) % 7);
    if (i % 4 == 3)
        x[2] += 2;                      // floor(x[2]) is the second guard
    if (i % 6 == 5)
        x[1] += 9;                      // exp(x[1]) the first
}

// Each thread begins with another point and another question.
static void *work(void *argument)
{
    struct worker *w = argument;
    double x[3];
    pthread_barrier_wait(w->start);
    point_of(w->number, x);
    ask((enum question)(w->number % ASK_COUNT), w->fn, x, &w->a[0]);
    for (int k = 0; k < POINTS; k++) {
        int i = (k + w->number) % POINTS;
        point_of(i, x);
        ask_all(w->fn, x, &w->a[i]);
        w->guard[i] = ad_fn_guard();
    }
    return NULL;
}

static void check_workers(const struct worker *w, const struct worker *alone)
{
    for (int i = 0; i < POINTS; i++) {
        CHECK(same_answers(&w->a[i], &alone->a[i]),
              "thread %d, point %d: other answers than alone", w->number, i);
        if (alone->a[i].status[ASK_HESSIAN] == ADREV_EPATH)
            CHECK(w->guard[i].index == (i % 6 == 5 ? 0 : 1),
                  "thread %d, point %d: guard %zu", w->number, i,
                  w->guard[i].index);
    }
}

static void run_threads(heap *h, const struct worker *alone)
{
    static struct worker workers[THREADS];
    pthread_barrier_t start;
    ad_fn *fn = NULL;
    if (!CHECK(record_from(h, &two_results, &fn) == ADREV_OK, "record"))
        return;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ .start = &start, .fn = fn, .number = i };
        CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0,
              "thread %d", i);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_barrier_destroy(&start);
    for (int i = 0; i < THREADS; i++)
        check_workers(&workers[i], alone);
    ad_fn_free(fn);
}

static void test_threads(void)
{
    static struct worker alone;
    heap h = HEAP;
    int paths = 0;
    ad_fn *fn = recorded("mixture", mixture, &two_results, 3, mixture_at, 2);
    for (int i = 0; i < POINTS; i++) {
        double x[3];
        point_of(i, x);
        ask_all(fn, x, &alone.a[i]);
        bool other = i % 4 == 3 || i % 6 == 5;
        check_status("mixture", fn, &alone.a[i],
                     other ? ADREV_EPATH : ADREV_OK);
        paths += other;
    }
    CHECK(paths > 2 && paths < POINTS - 2, "%d points of another path", paths);
    ad_fn_free(fn);
    for (int i = 0; i < ROUNDS; i++)
        run_threads(&h, &alone);
    CHECK(h.live == 0 && !h.wrong, "%zu blocks leak", h.live);
}

/* --- a large one-------------------------------------------------------------
 * v = v + h sin v, x[1] added now and then: a chain as deep as it is long, on a
 * stack on which nothing can recurse along it.                               */

struct chain {
    size_t steps;
    heap h;
    double seconds;
    double x[2];
    double y, g[2], hv[2], H[4];
    ad_status status;
    ad_fn_report report;
};

enum { STEPS = 50000 };         // two operations each

static void run_chain(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct chain *c = ctx;
    double h = 1.0 / (double)c->steps;
    ad_rev v = x[0];
    for (size_t i = 0; i < c->steps; i++)
        v = ad_rec(ad_fma(h, i % 1000 ? ad_rec(ad_sin(v))
                                      : ad_rec(ad_mul(x[1], x[1])), v));
    y[0] = v;
}

static void *evaluate_chain(void *argument)
{
    struct chain *c = argument;
    const double at[2] = { 1, 1 };
    const double one = 1;
    const double v[2] = { 1, -2 };
    const ad_allocator from = { heap_alloc, heap_free, &c->h };
    const ad_fn_options options = { .allocator = &from };
    ad_fn *fn = NULL;
    clock_t before = clock();
    ad_status s = ad_fn_record_with(&fn, &options, run_chain, c, 2, at, 1);
    s = s ? s : ad_fn_gradient(fn, c->x, &c->y, c->g);
    s = s ? s : ad_fn_hvp(fn, c->x, &one, v, c->hv);
    s = s ? s : ad_fn_hessian(fn, c->x, &one, c->H);
    c->seconds = (double)(clock() - before) / (double)CLOCKS_PER_SEC;
    if (fn != NULL)
        c->report = ad_fn_about(fn);
    ad_fn_free(fn);
    c->status = s;
    return NULL;
}

// The same recurrence with its derivatives, in long double.
static void check_chain(const struct chain *c)
{
    long double h = (long double)(1.0 / (double)c->steps);
    long double v = (long double)c->x[0];
    long double u = (long double)c->x[1];
    long double d[2] = { 1, 0 };
    long double H[3] = { 0, 0, 0 };     // 00, 01, 11
    for (size_t i = 0; i < c->steps; i++) {
        bool in = i % 1000 == 0;
        long double s = in ? 0 : h * sinl(v);
        long double k = in ? 0 : h * cosl(v);
        H[0] += k * H[0] - s * d[0] * d[0];
        H[1] += k * H[1] - s * d[0] * d[1];
        H[2] += k * H[2] - s * d[1] * d[1] + (in ? 2 * h : 0);
        d[0] += k * d[0];
        d[1] += k * d[1] + (in ? 2 * h * u : 0);
        v += in ? h * u * u : s;
    }
    // Rounding adds up along the chain, as the root of its length or so.
    const long double far = 1e-13L;
    CHECK_NEAR(c->y, v, far);
    CHECK_NEAR(c->g[0], d[0], far);
    CHECK_NEAR(c->g[1], d[1], far);
    CHECK_NEAR(c->H[0], H[0], far);
    CHECK_NEAR(c->H[1], H[1], far);
    CHECK_NEAR(c->H[2], H[1], far);
    CHECK_NEAR(c->H[3], H[2], far);
    CHECK_NEAR(c->hv[0], H[0] - 2 * H[1], far * 4);
    CHECK_NEAR(c->hv[1], H[1] - 2 * H[2], far * 4);
}

static void start_chain(struct chain *c)
{
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, (size_t)1 << 20);
    CHECK(pthread_create(&thread, &small, evaluate_chain, c) == 0, "a thread");
    pthread_join(thread, NULL);
    pthread_attr_destroy(&small);
    CHECK(c->status == ADREV_OK, "%zu steps: %s", c->steps,
          ad_message(c->status));
    CHECK(c->h.live == 0 && !c->h.wrong, "%zu blocks leak", c->h.live);
}

// Ten times as long: ten times the memory, but for what blocks are rounded up
// by, and ten times the seconds, but for what else the machine does.
static void test_large(void)
{
    static struct chain small = { .steps = STEPS / 10, .h = HEAP,
                                  .x = { 0.5, 2 } };
    static struct chain large = { .steps = STEPS, .h = HEAP,
                                  .x = { 0.5, 2 } };
    start_chain(&small);
    start_chain(&large);
    check_chain(&small);
    check_chain(&large);
    CHECK(large.report.recorded == 2 * STEPS, "%zu operations",
          large.report.recorded);
    // Of x[1]*x[1] nearly all are found again, however long ago they were.
    CHECK(large.report.common > STEPS / 1000 * 3 / 4, "%zu common",
          large.report.common);
    CHECK(large.h.bytes_most < 21 * small.h.bytes_most, "%zu bytes, then %zu",
          small.h.bytes_most, large.h.bytes_most);
    CHECK(large.h.allocations < 3 * small.h.allocations + 200,
          "%zu allocations, then %zu", small.h.allocations,
          large.h.allocations);
    CHECK(large.seconds < 40 * small.seconds + 0.05, "%g s, then %g s",
          small.seconds, large.seconds);
}

int main(void)
{
    test_title();
    test_slang();
    test_s21();
    test_detached_pair();
    test_guards_by_hand();
    test_guard_site();
    test_leaving();
    test_select();
    test_piecewise();
    test_detach();
    test_results();
    test_smallest();
    test_many();
    test_zero_absorbs();
    test_zero_seeds();
    test_special();
    test_recorded_special();
    test_guards_of_nan();
    test_report();
    test_apart();
    test_peek();
    test_guards_counted();
    test_arrays();
    test_array_edges();
    test_sums();
    test_null_record();
    test_null_evaluate();
    test_gradient_shape();
    test_too_many();
    test_foreign_tape();
    test_foreign_recording();
    test_own_numbers();
    test_clears_its_tape();
    test_guard_place();
    test_asks_its_tape();
    test_sets_hooks();
    test_leaves_tape();
    test_untraced();
    test_current_tape();
    test_inside();
    test_own_input();
    test_memory();
    test_report_without_memory();
    test_malloc();
    test_steady();
    test_threads();
    test_large();
    CHECK(standard.live == 0 && !standard.wrong, "%zu blocks leak",
          standard.live);
    return check_done("function");
}
