// SPDX-License-Identifier: MIT-0
// tags: recorded code
/* compiled.c - ad_fn_compile: machine code gives the bits of the replay, is
 * found again in its cache, and is not believed where that was touched.      */

#define _POSIX_C_SOURCE 200809L     // setegid

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Processes of several machines, or containers, that share a cache may have the
// same number: here all of them do.
static pid_t same_number(void) { return 7; }

#define getpid same_number
#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#undef getpid

#include "check.h"
#include "shell.h"

#define N 5
#define WIDE 600

static char cache[64];

static void program(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev s = x[0];
    (void)ctx;
    for (int i = 1; i < N; i++)
        s = ad_rec(ad_add(ad_mul(s, ad_sin(x[i])),
                          ad_tanh(ad_mul(x[i], x[i - 1]))));
    if (ad_lt(x[0], 5))
        s = ad_rec(ad_mul(s, 2.5));
    y[0] = s;
}

// Without guards: blocks of points are compiled, too. sqrt(0) needs care.
static void smooth(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_exp(ad_mul(x[1], x[2]))));
    y[1] = ad_rec(ad_select(false, ad_sqrt(x[3]), ad_mul(x[4], x[3])));
}

static bool same_bits(size_t n, const ad_real *a, const ad_real *b)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

// A NaN has any sign.
static bool alike(size_t n, const ad_real *a, const ad_real *b)
{
    for (size_t i = 0; i < n; i++)
        if (!same_bits(1, &a[i], &b[i]) && !(isnan(a[i]) && isnan(b[i])))
            return false;
    return true;
}

static ad_fn *recorded(ad_vector_fn *f, size_t m)
{
    static const ad_real at[N] = { 0.3, 0.2, 0.7, 0.4, 1.1 };
    ad_fn *fn = NULL;
    CHECK(ad_fn_record(&fn, f, NULL, N, at, m) == ADREV_OK, "record");
    return fn;
}

static ad_status compile(ad_fn *fn, const char *compiler)
{
    const ad_compile_options o = {
        .compiler = compiler, .cache = cache,
        .flags = ONE_IN(2) > 1
               ? "-O0 -ffp-contract=off -Wall -Wextra -Werror"
               : "-O1 -ffp-contract=off -Wall -Wextra -Werror"
    };
    return ad_fn_compile(fn, &o);
}

// Every evaluation of one function of up to 4 results against that of another.
static void compare(ad_fn *a, ad_fn *b, size_t m, const ad_real x[N])
{
    const ad_real w[4] = { 1, -2, 0.5, 3 };
    const ad_real v[N] = { 1, 2, 3, 4, 5 };
    ad_real p[2 * N * N];
    ad_real q[2 * N * N];
#define BOTH(n, call)                                                       \
    do {                                                                    \
        ad_fn *fn = a;                                                      \
        ad_real *to = p;                                                    \
        ad_status s = call;                                                 \
        fn = b;                                                             \
        to = q;                                                             \
        ad_status t = call;                                                 \
        CHECK(s == ADREV_OK && t == ADREV_OK, #call ": %s, %s",             \
              ad_message(s), ad_message(t));                                \
        CHECK(alike(n, p, q), #call);                                       \
    } while (0)
    BOTH(m, ad_fn_eval(fn, x, to));
    BOTH(m, ad_fn_jvp(fn, x, v, to));
    BOTH(N, ad_fn_vjp(fn, x, w, to));
    BOTH(N, ad_fn_hvp(fn, x, w, v, to));
    BOTH(N * N, ad_fn_hessian(fn, x, w, to));
    BOTH(m * N, ad_fn_jacobian(fn, x, to));
    BOTH(m * N + m, ad_fn_linearize(fn, x, to + m * N, to));
    if (m == 1)
        BOTH(N + 1, ad_fn_gradient(fn, x, to + N, to));
#undef BOTH
}

static void test_bits(void)
{
    const ad_real x[N] = { 0.31, -0.2, 0.7, 0.9, 1.3 };
    const ad_real zero[N] = { 0.31, -0.2, 0.7, 0, 1.3 };
    const ad_real left[N] = { 6, 1, 1, 1, 1 };
    ad_real y = 7;
    for (int k = 0; k < 2; k++) {
        size_t m = k == 0 ? 1 : 2;
        ad_fn *replayed = recorded(k == 0 ? program : smooth, m);
        ad_fn *fn = recorded(k == 0 ? program : smooth, m);
        ad_status s = compile(fn, NULL);
        CHECK(s == ADREV_OK, "compile: %s", ad_message(s));
        compare(fn, replayed, m, x);
        compare(fn, replayed, m, zero);
        if (k == 0) {
            CHECK(ad_fn_eval(fn, left, &y) == ADREV_EPATH && y == 7, "guard");
            CHECK(ad_fn_guard().index == 0, "which guard");
        }
        ad_fn_free(fn);
        ad_fn_free(replayed);
    }
}

// As many results as inputs, and a guard.
static void square(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < N; i++)
        y[i] = ad_rec(ad_mul(x[i], ad_sin(ad_mul(x[(i + 1) % N], x[0]))));
    if (ad_lt(x[0], 5))
        y[0] = ad_rec(ad_mul(y[0], 2.5));
}

// Code of an array writes its results one by one, while it reads.
static void turned(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ad_real A[N * N] = { 1, 2, 3, 4, 5, 5, 1, 2, 3, 4, 4, 5, 1, 2,
                                      3, 3, 4, 5, 1, 2, 2, 3, 4, 5, 1 };
    (void)ctx;
    ad_matvecc(N, N, A, x, y);
}

// A call with its result q apart from its arguments and then, with the array
// of one of them, in place. q is set to from before each call.
#define IN_PLACE(n, from, apart, call)                                      \
    do {                                                                    \
        memcpy(q, from, sizeof q);                                          \
        CHECK(apart == ADREV_OK && call == ADREV_OK, #call);                \
        CHECK(same_bits(n, q, want), #call);                                \
    } while (0)

static void check_vectors(ad_fn *fn)
{
    const ad_real x[N] = { 0.31, -0.2, 0.7, 0.9, 1.3 };
    const ad_real v[N] = { 1, 2, 3, 4, 5 };
    const ad_real w[N] = { -1, 2, 0.5, 3, -2 };
    ad_real q[N];
    ad_real want[N];
    IN_PLACE(N, x, ad_fn_eval(fn, x, want), ad_fn_eval(fn, q, q));
    IN_PLACE(N, x, ad_fn_jvp(fn, x, v, want), ad_fn_jvp(fn, q, v, q));
    IN_PLACE(N, v, ad_fn_jvp(fn, x, v, want), ad_fn_jvp(fn, x, q, q));
    IN_PLACE(N, x, ad_fn_jvp(fn, x, x, want), ad_fn_jvp(fn, q, q, q));
    IN_PLACE(N, x, ad_fn_vjp(fn, x, w, want), ad_fn_vjp(fn, q, w, q));
    IN_PLACE(N, w, ad_fn_vjp(fn, x, w, want), ad_fn_vjp(fn, x, q, q));
    IN_PLACE(N, x, ad_fn_vjp(fn, x, x, want), ad_fn_vjp(fn, q, q, q));
    IN_PLACE(N, x, ad_fn_hvp(fn, x, w, v, want), ad_fn_hvp(fn, q, w, v, q));
    IN_PLACE(N, w, ad_fn_hvp(fn, x, w, v, want), ad_fn_hvp(fn, x, q, v, q));
    IN_PLACE(N, v, ad_fn_hvp(fn, x, w, v, want), ad_fn_hvp(fn, x, w, q, q));
    IN_PLACE(N, x, ad_fn_hvp(fn, x, x, x, want), ad_fn_hvp(fn, q, q, q, q));
    IN_PLACE(N, x, ad_fn_taylor(fn, x, v, 0, want),
             ad_fn_taylor(fn, q, v, 0, q));
}

static void check_linear(ad_fn *fn)
{
    const ad_real x[N] = { 0.31, -0.2, 0.7, 0.9, 1.3 };
    ad_real q[N];
    ad_real want[N];
    ad_real J[2][N * N];
    IN_PLACE(N, x, ad_fn_linearize(fn, x, want, J[0]),
             ad_fn_linearize(fn, q, q, J[1]));
    CHECK(same_bits(N * N, J[0], J[1]), "J");
}

static void check_gradient(ad_fn *fn)
{
    const ad_real x[N] = { 0.31, -0.2, 0.7, 0.9, 1.3 };
    ad_real q[N];
    ad_real want[N];
    ad_real g[2][N];
    ad_real y[2];
    IN_PLACE(N, x, ad_fn_gradient(fn, x, &y[0], want),
             ad_fn_gradient(fn, q, &y[1], q));
    CHECK(same_bits(1, &y[0], &y[1]), "y");
    IN_PLACE(1, x, ad_fn_gradient(fn, x, want, g[0]),
             ad_fn_gradient(fn, q, q, g[1]));
    CHECK(same_bits(N, g[0], g[1]), "g");
}
#undef IN_PLACE

// In place nothing is written either, where a guard is not passed.
static void check_left(ad_fn *fn)
{
    const ad_real left[N] = { 6, 1, 1, 1, 1 };
    ad_real J[N * N];
    ad_real q[N];
    memcpy(q, left, sizeof q);
    CHECK(ad_fn_eval(fn, q, q) == ADREV_EPATH
          && ad_fn_jvp(fn, q, q, q) == ADREV_EPATH
          && ad_fn_vjp(fn, q, q, q) == ADREV_EPATH
          && ad_fn_hvp(fn, q, q, q, q) == ADREV_EPATH
          && ad_fn_linearize(fn, q, q, J) == ADREV_EPATH, "guard");
    CHECK(same_bits(N, q, left), "written on failure");
}

// A vector of results may lie where arguments do, replayed and compiled.
static void test_overlap(void)
{
    for (int compiled = 0; compiled < 2; compiled++) {
        ad_fn *many = recorded(square, N);
        ad_fn *array = recorded(turned, N);
        ad_fn *one = recorded(program, 1);
        if (compiled == 1)
            CHECK(compile(many, NULL) == ADREV_OK
                  && compile(array, NULL) == ADREV_OK
                  && compile(one, NULL) == ADREV_OK, "compile");
        check_vectors(many);
        check_vectors(array);
        check_linear(many);
        check_linear(array);
        check_gradient(one);
        check_left(many);
        ad_fn_free(many);
        ad_fn_free(array);
        ad_fn_free(one);
    }
}

// Memory of which one allocation can fail. Behind each block is a number:
// machine code writes where no sanitizer looks.
static long allocations_left = LONG_MAX;

enum { AHEAD = 16 };            // of a block: its size
static const uint64_t behind = UINT64_C(0x9e3779b97f4a7c15);

static void *some_alloc(size_t bytes, void *user)
{
    (void)user;
    char *block = allocations_left-- == 0
                ? NULL : malloc(AHEAD + bytes + sizeof behind);
    if (block == NULL)
        return NULL;
    memcpy(block, &bytes, sizeof bytes);
    memcpy(block + AHEAD + bytes, &behind, sizeof behind);
    return block + AHEAD;
}

static void some_free(void *p, void *user)
{
    char *block = p == NULL ? NULL : (char *)p - AHEAD;
    size_t bytes;
    (void)user;
    if (p == NULL)
        return;
    memcpy(&bytes, block, sizeof bytes);
    CHECK(memcmp(block + AHEAD + bytes, &behind, sizeof behind) == 0,
          "written behind a block of %zu bytes", bytes);
    free(block);
}

static void exponential(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_exp(x[0]));
}

// A result that is not finite is computed once more, with care: where there is
// no memory for that, nothing has been written.
static void test_untouched(void)
{
    const ad_allocator a = { some_alloc, some_free, NULL };
    const ad_fn_options o = { .allocator = &a };
    const ad_real x = 1000;
    ad_real y = 7;
    ad_fn *fn = NULL;
    CHECK(ad_fn_record_with(&fn, &o, exponential, NULL, 1, &x, 1) == ADREV_OK
          && compile(fn, quick_compiler()) == ADREV_OK, "compile");
    allocations_left = 0;
    ad_status s = ad_fn_eval(fn, &x, &y);
    allocations_left = LONG_MAX;
    CHECK(s == ADREV_ENOMEM && y == 7, "%s, y is %g", ad_message(s),
          (double)y);
    ad_fn_free(fn);
}

// So many results that machine code writes them where they belong.
enum { MANY = 1100 };

static void many(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev t = ad_gt(x[0], 0) ? x[1] : x[2];
    for (size_t i = 0; i < MANY; i++)
        y[i] = ad_rec(ad_mul(ad_exp(x[i]), ad_add(x[(i + 1) % MANY], t)));
}

static void many_alike(ad_fn *fn[2], const ad_real x[MANY], const char *what)
{
    static ad_real y[2][MANY], dx[2][MANY], w[MANY];
    for (size_t i = 0; i < MANY; i++)
        w[i] = (ad_real)(i % 7) - 2;
    for (int k = 0; k < 2; k++)
        CHECK(ad_fn_eval(fn[k], x, y[k]) == ADREV_OK
              && ad_fn_vjp(fn[k], x, w, dx[k]) == ADREV_OK, "%s", what);
    CHECK(same_bits(MANY, y[0], y[1]) && same_bits(MANY, dx[0], dx[1]),
          "%s: other bits", what);
    // over its argument: by way of other memory
    memcpy(w, x, sizeof w);
    CHECK(ad_fn_eval(fn[0], w, w) == ADREV_OK && same_bits(MANY, w, y[1]),
          "%s, over x", what);
    memcpy(w, x, sizeof w);
    CHECK(ad_fn_jvp(fn[0], x, w, w) == ADREV_OK
          && ad_fn_jvp(fn[1], x, x, dx[1]) == ADREV_OK
          && same_bits(MANY, w, dx[1]), "%s: tangents", what);
}

static void test_many(void)
{
    static ad_real x[MANY], y[MANY], was[MANY];
    const ad_allocator a = { some_alloc, some_free, NULL };
    const ad_fn_options o = { .allocator = &a };
    const ad_compile_options quick = {
        .compiler = quick_compiler(), .cache = cache,
        .flags = "-O0 -ffp-contract=off"
    };
    ad_fn *fn[2] = { NULL, NULL };
    for (size_t i = 0; i < MANY; i++) {
        x[i] = (ad_real)0.001 * (ad_real)(i + 1);
        y[i] = was[i] = (ad_real)i;
    }
    for (int k = 0; k < 2; k++)
        CHECK(ad_fn_record_with(&fn[k], &o, many, NULL, MANY, x, MANY)
                  == ADREV_OK, "record");
    CHECK(ad_fn_compile(fn[0], &quick) == ADREV_OK, "compile");
    ad_status s = ADREV_ENOMEM;
    for (long n = 0; s == ADREV_ENOMEM && n < 100; n++) {
        allocations_left = n;
        s = ad_fn_eval(fn[0], x, y);
        allocations_left = LONG_MAX;
        CHECK(s == ADREV_OK || (s == ADREV_ENOMEM && same_bits(MANY, y, was)),
              "%ld allocations: %s", n, ad_message(s));
    }
    CHECK(s == ADREV_OK, "never: %s", ad_message(s));
    memcpy(y, was, sizeof y);
    many_alike(fn, x, "many");
    x[5] = 1000;                // exp overflows: 0 times infinity
    x[6] = -x[1];
    many_alike(fn, x, "infinite");
    x[5] = 0;
    x[0] = -1;
    s = ad_fn_eval(fn[0], x, y);
    CHECK(s == ADREV_EPATH && same_bits(MANY, y, was), "another path: %s",
          ad_message(s));
    ad_fn_free(fn[0]);
    ad_fn_free(fn[1]);
}

// A sparse Jacobian with a full row; more entries than are compiled unasked.
enum { LONG = 40 };

static void chained(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[LONG - 1] = x[0];
    for (size_t i = 0; i + 1 < LONG; i++) {
        y[i] = ad_rec(ad_mul(x[i], ad_exp(x[i + 1])));
        ad_acc(&y[LONG - 1], x[i + 1]);
    }
    if (ad_lt(x[0], 5))
        y[0] = ad_rec(ad_mul(y[0], 2.5));
}

typedef ad_status evaluation(ad_fn *fn, const ad_real *x, ad_real *to);

static ad_status eval_value(ad_fn *fn, const ad_real *x, ad_real *to)
{
    return ad_fn_eval(fn, x, to);
}

static ad_status eval_jvp(ad_fn *fn, const ad_real *x, ad_real *to)
{
    return ad_fn_jvp(fn, x, x, to);
}

static ad_status eval_vjp(ad_fn *fn, const ad_real *x, ad_real *to)
{
    return ad_fn_vjp(fn, x, x, to);
}

static ad_status eval_hvp(ad_fn *fn, const ad_real *x, ad_real *to)
{
    return ad_fn_hvp(fn, x, x, x, to);
}

static ad_status eval_linearize(ad_fn *fn, const ad_real *x, ad_real *to)
{
    return ad_fn_linearize(fn, x, to + LONG * LONG, to);
}

static ad_status eval_hessian(ad_fn *fn, const ad_real *x, ad_real *to)
{
    return ad_fn_hessian(fn, x, x, to);
}

static ad_status eval_jacobian_sparse(ad_fn *fn, const ad_real *x, ad_real *to)
{
    return ad_fn_jacobian_sparse(fn, x, to);
}

static ad_status eval_hessian_sparse(ad_fn *fn, const ad_real *x, ad_real *to)
{
    return ad_fn_hessian_sparse(fn, x, x, to);
}

static const struct asked {
    unsigned functions;
    adx_kind kind;
    evaluation *of;
} asked[] = {
    { ADREV_C_VALUE, ADX_KIND_value, eval_value },
    { ADREV_C_JVP, ADX_KIND_jvp, eval_jvp },
    { ADREV_C_VJP, ADX_KIND_vjp, eval_vjp },
    { ADREV_C_HVP, ADX_KIND_hvp, eval_hvp },
    { ADREV_C_LINEARIZE, ADX_KIND_linear, eval_linearize },
    { ADREV_C_JACOBIAN, ADX_KIND_linear, eval_linearize },
    { ADREV_C_HESSIAN, ADX_KIND_hessian, eval_hessian },
    { ADREV_C_JACOBIAN_SPARSE, ADX_KIND_jacobian_sparse,
      eval_jacobian_sparse },
    { ADREV_C_HESSIAN_SPARSE, ADX_KIND_hessian_sparse, eval_hessian_sparse }
};
enum { ASKED = sizeof asked / sizeof *asked, MOST = LONG * LONG + LONG };

// With each allocation failing; results are written as a whole or not at all.
static void check_asked(const struct asked *k, ad_fn *fn[2], const ad_real *x,
                        ad_status want)
{
    static ad_real got[2][MOST], was[MOST];
    ad_status s = ADREV_ENOMEM;
    for (size_t i = 0; i < MOST; i++)
        was[i] = got[0][i] = got[1][i] = (ad_real)i;
    for (long n = 0; s == ADREV_ENOMEM && n < 5000; n++) {
        allocations_left = n;
        s = k->of(fn[0], x, got[0]);
        allocations_left = LONG_MAX;
        CHECK(s == want || (s == ADREV_ENOMEM && same_bits(MOST, got[0], was)),
              "functions %u, %ld allocations: %s", k->functions, n,
              ad_message(s));
    }
    CHECK(s == want, "functions %u: %s", k->functions, ad_message(s));
    CHECK(k->of(fn[1], x, got[1]) == want, "functions %u", k->functions);
    for (size_t i = 0; i < MOST; i++)
        CHECK(alike(1, &got[0][i], &got[1][i]),
              "functions %u, number %zu: %.17g, %.17g", k->functions, i,
              (double)got[0][i], (double)got[1][i]);
}

// The function is compiled for this only.
static void check_code(const struct asked *k, const ad_fn *fn)
{
    for (int i = 0; i < ADX_KINDS; i++)
        CHECK(adx_has_code(&fn->compiled[i]) == (i == (int)k->kind),
              "functions %u, kind %d", k->functions, i);
}

// And it is evaluated without a replay (many results have one at hand, in case
// of an infinity).
static void check_only(const struct asked *k, ad_fn *fn, const ad_real *x)
{
    static ad_real to[MOST];
    check_code(k, fn);
    CHECK(k->of(fn, x, to) == ADREV_OK, "functions %u", k->functions);
    for (int i = 0; i < ADX_KINDS; i++) {
        bool it = i == (int)k->kind;
        CHECK(atomic_load(&fn->machine[i]) == NULL
              || (it && (i == ADX_KIND_linear || i == ADX_KIND_hessian)),
              "functions %u, kind %d is replayed", k->functions, i);
    }
}

// One call after the other: the last one counts.
static void check_last(ad_fn *fn[2], const ad_real *x)
{
    for (size_t i = 0; i < 2 * ASKED; i++) {
        const struct asked *k = &asked[i * 4 % ASKED];
        const ad_compile_options some = {
            .compiler = quick_compiler(), .cache = cache,
            .flags = "-O0 -ffp-contract=off", .functions = k->functions
        };
        CHECK(ad_fn_compile(fn[0], &some) == ADREV_OK, "compile %u",
              k->functions);
        check_code(k, fn[0]);
        for (size_t j = 0; j < ASKED; j++)
            check_asked(&asked[j], fn, x, ADREV_OK);
    }
}

static void test_asked(void)
{
    const ad_allocator a = { some_alloc, some_free, NULL };
    const ad_fn_options o = { .allocator = &a };
    ad_compile_options some = { .compiler = quick_compiler(), .cache = cache,
                                .flags = "-O0 -ffp-contract=off" };
    ad_real x[LONG], infinite[LONG], left[LONG];
    for (size_t i = 0; i < LONG; i++)
        x[i] = infinite[i] = left[i] = (ad_real)0.1 * (ad_real)(i % 7 + 1);
    infinite[20] = 0;               // times exp(1000)
    infinite[21] = 1000;
    left[0] = 6;
    for (size_t i = 0; i < ASKED; i++) {
        const struct asked *k = &asked[i];
        ad_fn *fn[2] = { NULL, NULL };
        for (int j = 0; j < 2; j++)
            CHECK(ad_fn_record_with(&fn[j], &o, chained, NULL, LONG, x, LONG)
                      == ADREV_OK, "record");
        some.functions = k->functions;
        CHECK(ad_fn_compile(fn[0], &some) == ADREV_OK, "compile %u",
              k->functions);
        check_only(k, fn[0], x);
        for (size_t j = 0; j < ASKED; j++)
            check_asked(&asked[j], fn, x, ADREV_OK);
        check_asked(k, fn, infinite, ADREV_OK);
        check_asked(k, fn, left, ADREV_EPATH);
        if (i == 0)
            check_last(fn, x);
        ad_fn_free(fn[0]);
        ad_fn_free(fn[1]);
    }
    ad_fn *fn = recorded(smooth, 2);
    some.functions = 1u << ADREV_C_COUNT;
    CHECK(ad_fn_compile(fn, &some) == ADREV_ESHAPE, "no such function");
    some.functions = ADREV_C_GRADIENT;
    CHECK(ad_fn_compile(fn, &some) == ADREV_OK
          && adx_has_code(&fn->compiled[ADX_KIND_linear]), "gradient");
    ad_fn_free(fn);
}

// The adjoint of a matrix is a product of a column and a row: -1 times 0.
static void outer(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev z[2];
    (void)ctx;
    ad_matvec(2, 2, x, x + 3, z);
    y[0] = ad_rec(ad_neg(ad_add(z[0], z[1])));
}

static void test_outer(void)
{
    const ad_real x[N] = { 1, 2, 3, 4, 0 };
    ad_fn *fn[2] = { recorded(outer, 1), recorded(outer, 1) };
    CHECK(compile(fn[0], quick_compiler()) == ADREV_OK, "compile");
    compare(fn[0], fn[1], 1, x);
    ad_fn_free(fn[0]);
    ad_fn_free(fn[1]);
}

// Many results of few inputs: if these are small it is known that all results
// are finite, unless the function can do more with them than polynomials do. In
// each function x[4] is the only factor of what overflows.
static void rest(const ad_rev *x, ad_rev *y)
{
    for (size_t k = 1; k < 4; k++) {
        y[k] = (ad_rev){ 0 };
        for (size_t i = 0; i < N; i++)
            ad_acc(&y[k], ad_mul(ad_mul(k, x[i]), x[(i + k) % N]));
    }
}

static void negatives(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rev minus = ad_rec(ad_neg(x[0]));
    (void)ctx;
    rest(x, y);
    y[0] = ad_rec(ad_add(ad_mul(ad_mul(minus, x[1]), ad_mul(minus, x[2])),
                         ad_mul(ad_neg(x[3]), x[1])));
    y[1] = ad_rec(ad_sub(ad_mul(x[4], ad_mul(minus, x[0])),
                         ad_mul(ad_neg(x[1]), ad_neg(x[2]))));
}

static void squares(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_expr power = ad_sqr(x[0]);
    (void)ctx;
    for (int i = 0; i < 4; i++)
        power = ad_sqr(power);
    y[0] = ad_rec(ad_mul(x[4], power));
    rest(x, y);
}

static void factors(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev power = x[0];
    (void)ctx;
    for (int i = 1; i < 32; i++)
        power = ad_rec(ad_mul(power, x[i % 4]));
    y[0] = ad_rec(ad_mul(x[4], power));
    rest(x, y);
}

static void sums(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev much = x[0];
    (void)ctx;
    for (int i = 0; i < 300; i++)
        much = ad_rec(ad_add(much, much));
    y[0] = ad_rec(ad_mul(x[4], ad_mul(ad_sqr(ad_sqr(much)), x[1])));
    rest(x, y);
}

static void powers(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[4], ad_exp(ad_mul(100, x[0]))));
    rest(x, y);
}

static void constants(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_real large = sizeof large == 4 ? ADX_K(1e38) : ADX_K(1e308);
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[4], ad_mul(ad_mul(large, x[0]), x[1])));
    rest(x, y);
}

static void infinity(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_mul(x[4], (ad_real)INFINITY), x[0]));
    rest(x, y);
}

static void test_small_inputs(void)
{
    static ad_vector_fn *const f[] = { negatives, squares, factors, sums,
                                       powers, constants, infinity };
    const ad_real odd[] = { 1.5, -0.0, 1e15, -1e30, (ad_real)NAN,
                            (ad_real)INFINITY };
    for (size_t i = 0; i < sizeof f / sizeof *f; i++) {
        ad_fn *fn[2] = { recorded(f[i], 4), recorded(f[i], 4) };
        CHECK(compile(fn[0], quick_compiler()) == ADREV_OK, "compile");
        for (size_t k = 0; k < sizeof odd / sizeof *odd; k++)
            for (size_t l = 0; l < 3; l++) {
                const ad_real x[N] = { odd[k], l == 2 ? odd[k] : 2, -3, 0.7,
                                       l == 0 ? 0.3 : 0 };
                compare(fn[0], fn[1], 4, x);
            }
        ad_fn_free(fn[0]);
        ad_fn_free(fn[1]);
    }
}

// Arrays of many results say themselves which is not finite, each in its way:
// elements, the product of a column and a row, and sums of products. Where a
// root is 0 its slope is infinite, and its weight 0.
enum { ROOTS = 700, ROWS = 2, COLUMNS = 1100, TALL = 600 };

static void each_root(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev root[ROOTS];
    (void)ctx;
    ad_each(ADREV_OP_sqrt, ROOTS, x, NULL, NULL, root);
    y[0] = ad_dot(ROOTS, root, x + ROOTS);
}

// Of a matrix times a constant column.
static void outer_roots(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev root[TALL];
    const ad_rev column[2] = { ad_rec(2), ad_rec(1) };
    (void)ctx;
    ad_matvec(TALL, 2, x, column, root);
    ad_each(ADREV_OP_sqrt, TALL, root, NULL, NULL, root);
    y[0] = ad_dot(TALL, root, x + (size_t)2 * TALL);
}

static void sum_of_roots(const ad_rev *x, ad_rev *y, void *ctx)
{
    static ad_real A[ROWS * COLUMNS];
    ad_rev root[ROWS];
    (void)ctx;
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        A[i] = (ad_real)(i % 3);
    ad_matvecc(ROWS, COLUMNS, A, x, root);
    ad_each(ADREV_OP_sqrt, ROWS, root, NULL, NULL, root);
    y[0] = ad_dot(ROWS, root, x + COLUMNS);
}

// The same of rows: one loop does all of a row, block by block.
enum { TERMS = 15, FACTORS = 75 };

static void row_roots(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev root[TERMS];
    const ad_rev *column = x + (size_t)TERMS * FACTORS;
    (void)ctx;
    ad_matvec(TERMS, FACTORS, x, column, root);
    ad_each(ADREV_OP_sqrt, TERMS, root, NULL, NULL, root);
    y[0] = ad_dot(TERMS, root, column + FACTORS);
}

// The adjoints of its rows are known before their products.
static void row_terms(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev row[TERMS];
    const ad_rev *column = x + (size_t)TERMS * FACTORS;
    (void)ctx;
    ad_matvec(TERMS, FACTORS, x, column, row);
    y[0] = ad_dot(TERMS, row, column + FACTORS);
}

// Two matrices that are not equally wide: the adjoint of each row of one is the
// product of the other's.
enum { NARROW = FACTORS / 5 };

static void both_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev row[2][TERMS];
    const int *narrow = (const int *)ctx;
    for (int k = 0; k < 2; k++)
        ad_matvec(TERMS, k == *narrow ? NARROW : FACTORS,
                  x + (k == *narrow ? (size_t)TERMS * FACTORS + FACTORS : 0),
                  x + (size_t)TERMS * FACTORS, row[k]);
    y[0] = ad_dot(TERMS, row[0], row[1]);
}

// How often the text of a gradient says that.
struct told {
    const char *what;
    size_t matched, times;
};

static void tell(const char *text, size_t n, void *user)
{
    struct told *t = user;
    for (size_t i = 0; i < n; i++) {
        t->matched = text[i] == t->what[t->matched] ? t->matched + 1
                   : text[i] == t->what[0];
        if (t->what[t->matched] == '\0') {
            t->times++;
            t->matched = 0;
        }
    }
}

static size_t times_told(const char *what, ad_vector_fn *f, size_t n)
{
    static ad_real x[3 * TALL];
    const ad_c_options gradient = { .functions = ADREV_C_GRADIENT };
    struct told t = { what, 0, 0 };
    ad_fn *fn = NULL;
    for (size_t i = 0; i < n; i++)
        x[i] = 1;
    CHECK(ad_fn_record(&fn, f, NULL, n, x, 1) == ADREV_OK
          && ad_fn_write_c(fn, &gradient, tell, &t, NULL) == ADREV_OK, "text");
    ad_fn_free(fn);
    return t.times;
}

// Needs the sum of all rows before it knows the adjoint of one.
static void share_of_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev row[TERMS];
    const ad_rev *column = x + (size_t)TERMS * FACTORS;
    (void)ctx;
    ad_matvec(TERMS, FACTORS, x, column, row);
    ad_scale(TERMS, ad_rec(ad_div(1, ad_sum(TERMS, row))), row, row);
    ad_each(ADREV_OP_sqr, TERMS, row, NULL, NULL, row);
    y[0] = ad_dot(TERMS, row, column + FACTORS);
}

static void check_roots_of(ad_vector_fn *f, void *ctx, size_t n,
                           size_t weights)
{
    static ad_real x[3 * TALL], g[2][3 * TALL], y[2];
    ad_fn *fn[2] = { NULL, NULL };
    for (size_t i = 0; i < n; i++)
        x[i] = (ad_real)(i % 5) + 3;
    for (int k = 0; k < 2; k++)
        CHECK(ad_fn_record(&fn[k], f, ctx, n, x, 1) == ADREV_OK, "record");
    CHECK(compile(fn[0], quick_compiler()) == ADREV_OK
          && adx_has_code(&fn[0]->compiled[ADX_KIND_linear]), "compile");
    for (int zero = 0; zero < 2; zero++) {
        if (zero) {
            memset(x, 0, weights * sizeof *x);
            x[weights + 1] = 0;
        }
        for (int k = 0; k < 2; k++)
            CHECK(ad_fn_gradient(fn[k], x, &y[k], g[k]) == ADREV_OK, "%zu", n);
        CHECK(same_bits(1, &y[0], &y[1]) && alike(n, g[0], g[1]),
              "%zu inputs, zero %d", n, zero);
        CHECK(zero || g[0][0] - g[0][0] == 0, "%zu: finite", n);
    }
    ad_fn_free(fn[0]);
    ad_fn_free(fn[1]);
}

static void check_roots(ad_vector_fn *f, size_t n, size_t weights)
{
    check_roots_of(f, NULL, n, weights);
}

static void test_roots(void)
{
    check_roots(each_root, 2 * ROOTS, ROOTS);
    check_roots(outer_roots, 3 * TALL, 2 * TALL);
    check_roots(sum_of_roots, COLUMNS + ROWS, COLUMNS);
    const size_t n = (size_t)TERMS * FACTORS + FACTORS + TERMS;
    check_roots(row_roots, n, n - TERMS);
    check_roots(row_terms, n, 0);
    check_roots(share_of_rows, n, 0);
    for (int narrow = 0; narrow < 2; narrow++)
        check_roots_of(both_rows, &narrow, (size_t)TERMS * FACTORS + FACTORS
                                           + (size_t)TERMS * NARROW, 0);
    CHECK(times_told("long row;", row_roots, n) == 1, "rows");
    CHECK(times_told("long row;", row_terms, n) == 1, "known rows");
    CHECK(times_told("long row;", share_of_rows, n) == 0, "shares");

    // One loop along the row less where the product is made in the blocks.
    CHECK(times_told("8 <= to", row_roots, n) == 0, "rows in blocks");
    CHECK(times_told("8 <= to", row_terms, n) == 1, "known rows in blocks");
}

// The slope of the root at 0 is infinite; it does not count where x[4] is 0.
static void rooted(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_exp(ad_mul(x[1], x[2]))));
    y[1] = ad_rec(ad_mul(x[4], ad_sqrt(x[3])));
}

// Calls that wait for one another, with negated factors between them: the block
// has several phases.
static void phased(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev less = ad_rec(ad_neg(ad_mul(x[0], x[1])));
    ad_rev s = ad_rec(ad_sin(ad_add(less, x[2])));
    ad_rev e = ad_rec(ad_exp(ad_mul(ad_neg(s), less)));
    y[0] = ad_rec(ad_mul(ad_mul(e, less), ad_tanh(ad_div(x[3], e))));
    y[1] = ad_rec(ad_cos(ad_sub(ad_mul(s, ad_neg(e)), x[4])));
}

// So many calls that there is one phase, in an order that is not that of a
// loop.
static void crowded(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = x[3];
    y[1] = x[4];
    for (uint32_t i = 0; i < 70; i++) {
        ad_rev a = ad_rec(ad_mul(x[i % 3], 1 + (ad_real)i / 64));
        if (i * 2654435761u >> 31)
            ad_acc(&y[i % 2], ad_sin(a));
        else
            ad_acc(&y[i % 2], ad_exp(ad_neg(a)));
    }
}

enum { BLOCKS_POINTS = 9 * ADREV_LANES_MOST + 5 };

static void point_at(ad_real x[][BLOCKS_POINTS], size_t n, ad_column to[])
{
    for (size_t i = 0; i < n; i++)
        to[i] = (ad_column){ x[i], 1 };
}

static bool is_at_root(size_t p)
{
    return p % 97 == 50;
}

// Values, or derivatives along x or with weights 1: replayed and compiled.
// Input 0 lies in steps of 2, input 2 is one for all points.
static void check_blocks(ad_fn *fn[2], adx_kind kind)
{
    enum { P = BLOCKS_POINTS };
    static ad_real x[N][P], twice[2 * P], result[2][N + 2][P];
    static uint32_t left[P];
    ad_real one = 1;
    const ad_column w[2] = { { &one, 0 }, { &one, 0 } };
    ad_column in[N], out[N + 2];
    point_at(x, N, in);
    in[0] = (ad_column){ twice, 2 };
    in[2].step = 0;
    for (size_t p = 0; p < P; p++) {
        twice[2 * p] = (ad_real)(p % 11) / 8;
        for (size_t i = 1; i < N; i++)
            x[i][p] = i > 2 && is_at_root(p) ? 0 : (ad_real)(i + p % 13) / 8;
    }
    memset(result, 0, sizeof result);
    for (int k = 0; k < 2; k++) {
        memset(left, 1, sizeof left);
        point_at(result[k], N + 2, out);
        ad_status s = kind == ADX_KIND_value
                        ? ad_fn_map(fn[k], P, in, out, left)
                    : kind == ADX_KIND_jvp
                        ? ad_fn_map_jvp(fn[k], P, in, in, out, left)
                        : ad_fn_map_vjp(fn[k], P, in, w, out, out + N, left);
        CHECK(s == ADREV_OK, "kind %d: %s", (int)kind, ad_message(s));
        for (size_t p = 0; p < P; p++)
            CHECK(left[p] == 0, "kind %d, %zu: left", (int)kind, p);
    }
    CHECK(same_bits((N + 2) * P, result[0][0], result[1][0]), "kind %d",
          (int)kind);
}

// Machine code tells where a point is not finite, also the last one.
static void check_block(const ad_fn *fn, adx_kind kind)
{
    const adx_compiled *c = &fn->compiled[kind];
    ad_real x[ADREV_LANES_MOST];
    ad_real y[(N + 2) * 4 * ADREV_LANES_MOST];
    const ad_real *at[2 * N];
    for (size_t i = 0; i < ADREV_LANES_MOST; i++)
        x[i] = 1;
    for (size_t i = 0; i < 2 * N; i++)
        at[i] = x;
    if (!CHECK(c->block != NULL, "kind %d: no block", (int)kind))
        return;
    CHECK(c->block(at, y, ADREV_LANES_MOST) == 0, "finite");
    x[ADREV_LANES_MOST - 1] = (ad_real)INFINITY;
    CHECK(c->block(at, y, ADREV_LANES_MOST) != 0, "infinite");
    CHECK(c->block(at, y, 0) == 0, "no points");
}

static void test_blocks(void)
{
    static const adx_kind kinds[] = { ADX_KIND_value, ADX_KIND_jvp,
                                      ADX_KIND_vjp };
    static ad_vector_fn *const f[] = { rooted, phased, crowded };
    for (size_t j = 0; j < sizeof f / sizeof *f; j++) {
        ad_fn *fn[2] = { recorded(f[j], 2), recorded(f[j], 2) };
        CHECK(compile(fn[0], NULL) == ADREV_OK, "compile");
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            check_block(fn[0], kinds[i]);
            check_blocks(fn, kinds[i]);
        }
        ad_fn_free(fn[0]);
        ad_fn_free(fn[1]);
    }
}

// Depends on more of x[0] than a comparison with zero shows.
static void signs(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_real sign = copysign((ad_real)1, ad_value(x[0]));
    y[0] = ad_rec(ad_mul(x[1], sign));
}

// Guards tell numbers apart by their bits, as a replay does.
static void test_signs(void)
{
    static const ad_real at[] = { 0, (ad_real)-0.0, (ad_real)NAN, 2,
                                  (ad_real)INFINITY };
    enum { POINTS = sizeof at / sizeof *at };
    for (size_t i = 0; i < POINTS; i++) {
        const ad_real x[N] = { at[i], 3 };
        ad_fn *fn[2] = { NULL, NULL };
        for (int k = 0; k < 2; k++)
            CHECK(ad_fn_record(&fn[k], signs, NULL, N, x, 1) == ADREV_OK,
                  "record at %g", (double)at[i]);
        CHECK(compile(fn[0], quick_compiler()) == ADREV_OK, "compile");
        for (size_t j = 0; j < POINTS; j++) {
            const ad_real z[N] = { at[j], 3 };
            ad_real y = 0;
            ad_status s = ad_fn_eval(fn[0], z, &y);
            ad_status want = ad_fn_eval(fn[1], z, &y);
            CHECK(s == want && want == (i == j ? ADREV_OK : ADREV_EPATH),
                  "recorded at %g, at %g: %s", (double)at[i], (double)at[j],
                  ad_message(s));
        }
        ad_fn_free(fn[0]);
        ad_fn_free(fn[1]);
    }
}

static void root_of_zero(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(x[0], x[1]), ad_mul(x[3], ad_sqrt(x[2]))));
}

// With flags that know no infinity, code cannot see one. Derivatives are right
// all the same: the slope of the root is infinite, and multiplied by 0.
static void test_no_infinity(void)
{
    static const char *const flags[] = {
        "-O1", "-O1 -ffinite-math-only", "-O1 -ffast-math"
    };
    const ad_real x[] = { 3, 2, 0, 0 };
    const ad_real v[] = { 1, 1, 1, 1 };
    const ad_real w = 5;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        const ad_compile_options o = { .cache = cache, .flags = flags[i] };
        ad_real dx[4] = { 0 };
        ad_real dy = 0;
        ad_fn *fn = NULL;
        CHECK(ad_fn_record(&fn, root_of_zero, NULL, 4, x, 1) == ADREV_OK
              && ad_fn_compile(fn, &o) == ADREV_OK, "%s", flags[i]);
        CHECK(ad_fn_vjp(fn, x, &w, dx) == ADREV_OK
              && ad_fn_jvp(fn, x, v, &dy) == ADREV_OK, "%s", flags[i]);
        CHECK(dx[0] == 10 && dx[1] == 15 && dx[2] == 0 && dx[3] == 0,
              "%s: %g, %g, %g, %g", flags[i], (double)dx[0], (double)dx[1],
              (double)dx[2], (double)dx[3]);
        CHECK(dy == 5, "%s: %g", flags[i], (double)dy);
        ad_fn_free(fn);
    }
}

// Values are no results of the product alone, but they are of its blocks, and
// make them longer than one C function is to be.
static void wide(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < WIDE; i++)
        y[i] = ad_rec(ad_add(ad_mul(x[i], x[i]), 3));
}

static void test_wide(void)
{
    static ad_real x[WIDE], w[WIDE], dx[WIDE], y[WIDE], J[WIDE * WIDE];
    static ad_column at[WIDE], by[WIDE], to[WIDE], value[WIDE];
    ad_fn *fn = NULL;
    for (size_t i = 0; i < WIDE; i++) {
        x[i] = (ad_real)i / 8;
        w[i] = (ad_real)(i % 5);
        at[i] = (ad_column){ &x[i], 0 };
        by[i] = (ad_column){ &w[i], 0 };
        to[i] = (ad_column){ &dx[i], 0 };
        value[i] = (ad_column){ &y[i], 1 };
    }
    const ad_compile_options o = {
        .compiler = quick_compiler(), .cache = cache,
        .flags = "-O0 -ffp-contract=off"
    };
    CHECK(ad_fn_record(&fn, wide, NULL, WIDE, x, WIDE) == ADREV_OK
          && ad_fn_compile(fn, &o) == ADREV_OK, "wide");
    CHECK(ad_fn_map_vjp(fn, 1, at, by, to, value, NULL) == ADREV_OK, "wide");
    for (size_t i = 0; i < WIDE; i++)
        CHECK(dx[i] == 2 * w[i] * x[i] && y[i] == x[i] * x[i] + 3,
              "%zu: %g, %g", i, (double)y[i], (double)dx[i]);
    // Its Jacobian takes several sweeps; the values wait for all of them.
    CHECK(ad_fn_linearize(fn, x, x, J) == ADREV_OK
          && same_bits(WIDE, x, y), "in place");
    for (size_t i = 0; i < WIDE; i++)
        CHECK(J[i * WIDE + i] == (ad_real)i / 4, "J: %zu", i);
    ad_fn_free(fn);
}

// A column times one number: its derivative by that number is the column as it
// lies, with its stride.
static void column(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev a[N + 1];
    (void)ctx;
    for (int i = 0; i <= N; i++)
        a[i] = ad_rec(ad_sin(ad_mul(x[0], i + 1.0)));
    ad_matmul_s(3, 1, 1, a, 2, 1, &x[1], 1, 1, y, 1, 1);
}

static void test_stride(void)
{
    const ad_real x[2] = { 1.3, 2 };
    ad_real J[6];
    ad_real want[6];
    for (int plain = 0; plain < 2; plain++) {
        const ad_fn_options o = { .plain = plain == 1 };
        ad_fn *fn = NULL;
        CHECK(ad_fn_record_with(&fn, &o, column, NULL, 2, x, 3) == ADREV_OK
              && ad_fn_jacobian(fn, x, want) == ADREV_OK, "record");
        CHECK(compile(fn, quick_compiler()) == ADREV_OK, "compile");
        CHECK(ad_fn_jacobian(fn, x, J) == ADREV_OK, "jacobian");
        for (int i = 0; i < 6; i++)
            CHECK_CLOSE(J[i], want[i], 8);
        ad_fn_free(fn);
    }
}

// Numbers put together from several arrays: runs at even and at uneven places,
// forwards and backwards, among constants and single results, are those of the
// replay; and a long run is short to say.
enum { PICKED = 400 };

static void pick(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    ad_rev a[PICKED], b[PICKED], c[PICKED];
    for (size_t i = 0; i < n; i++)
        a[i] = x[i * 7 % n];
    a[n / 2] = ad_rec(2.5);
    a[n / 3] = ad_rec(ad_mul(x[0], x[1]));
    ad_each(ADREV_OP_sin, n, a, NULL, NULL, b);
    for (size_t i = 0; i < n; i++)
        c[i] = i < n / 2 ? b[n - 1 - i] : i % 5 == 0 ? x[i] : b[i * i % n];
    y[0] = ad_dot(n, c, x);
    y[1] = ad_sum(n, c);
}

static void count_bytes(const char *text, size_t length, void *user)
{
    (void)text;
    *(size_t *)user += length;
}

static void test_picked(void)
{
    static const size_t sizes[] = { 6, 9, 10, 40, PICKED };
    static const ad_real weight[2] = { 1.5, -0.25 };
    ad_real x[PICKED], y[2][2], dx[2][PICKED];
    size_t bytes[sizeof sizes / sizeof *sizes] = { 0 };
    for (size_t i = 0; i < PICKED; i++)
        x[i] = (ad_real)(0.1 + 0.013 * (double)i);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t n = sizes[k];
        const ad_c_options value = { .functions = ADREV_C_VALUE };
        ad_fn *fn = NULL;
        CHECK(ad_fn_record(&fn, pick, &n, n, x, 2) == ADREV_OK, "record");
        for (int compiled = 0; compiled < 2; compiled++) {
            CHECK(!compiled || compile(fn, quick_compiler()) == ADREV_OK, "compile");
            CHECK(ad_fn_eval(fn, x, y[compiled]) == ADREV_OK
                  && ad_fn_vjp(fn, x, weight, dx[compiled]) == ADREV_OK, "ask");
        }
        CHECK(memcmp(y[0], y[1], sizeof y[0]) == 0
              && memcmp(dx[0], dx[1], n * sizeof **dx) == 0, "%zu picked", n);
        CHECK(ad_fn_write_c(fn, &value, count_bytes, &bytes[k], NULL)
              == ADREV_OK, "write");
        ad_fn_free(fn);
    }
    // Three lists, of 27 bytes for each statement, or 5 for each place of a
    // table: all in statements would be 80 bytes a number, and two half lists
    // are.
    CHECK(bytes[4] - bytes[3] < (PICKED - 40) * 50, "%zu bytes, and %zu",
          bytes[3], bytes[4]);
}

// Whatever was done to the files: the function is compiled anew, and right.
static void test_touched(const char *command)
{
    const ad_real x[N] = { 0.31, -0.2, 0.7, 0.9, 1.3 };
    char line[256];
    ad_fn *replayed = recorded(program, 1);
    ad_fn *fn = recorded(program, 1);
    snprintf(line, sizeof line, "cd %s && %s", cache, command);
    CHECK(system(line) == 0, "%s", line);
    CHECK(compile(fn, quick_compiler()) == ADREV_OK, "after %s", command);
    compare(fn, replayed, 1, x);
    ad_fn_free(fn);
    ad_fn_free(replayed);
}

// What is known of the processor is something, and always the same: no clocks.
static void test_processor(void)
{
    ad_fn *fn = recorded(program, 1);
    adx_bytes b[2] = { { .memory = &fn->memory }, { .memory = &fn->memory } };
    for (int k = 0; k < 2; k++)
        adx_keep_processor(&b[k]);
    CHECK(b[0].n == b[1].n && (b[0].n == 0 || memcmp(b[0].v, b[1].v, b[0].n)
                                              == 0), "two processors");
    CHECK(b[0].n > 0 || access("/proc/cpuinfo", R_OK) != 0, "none");
    for (int k = 0; k < 2; k++)
        adx_drop(&fn->memory, b[k].v);
    ad_fn_free(fn);
}

// Compiles one of two functions, and checks its value.
static void child(int k, const char *compiler, const char *flags)
{
    const ad_real x[N] = { 0.31, -0.2, 0.7, 0.9, 1.3 };
    const ad_compile_options o = {
        .compiler = compiler, .cache = cache, .flags = flags
    };
    ad_vector_fn *f = k % 2 == 0 ? program : smooth;
    size_t m = k % 2 == 0 ? 1 : 2;
    ad_real y[2][2];
    ad_fn *replayed = recorded(f, m);
    ad_fn *fn = recorded(f, m);
    ad_status s = ad_fn_compile(fn, &o);
    bool same = ad_fn_eval(fn, x, y[0]) == ADREV_OK
             && ad_fn_eval(replayed, x, y[1]) == ADREV_OK
             && same_bits(m, y[0], y[1]);
    _exit(s != ADREV_OK ? 1 : !same ? 2 : 0);
}

// Processes at the same time, with equal and with different functions. None
// gets another one's code, and none fails. different: functions.
static void test_together(int different, const char *compiler,
                          const char *flags)
{
    enum { PROCESSES = 6 };
    pid_t process[PROCESSES];
    for (int k = 0; k < PROCESSES; k++)
        if ((process[k] = fork()) == 0)
            child(k % different, compiler, flags);
    for (int k = 0; k < PROCESSES; k++) {
        int end = -1;
        waitpid(process[k], &end, 0);
        CHECK(WIFEXITED(end) && WEXITSTATUS(end) == 0, "process %d: %s", k,
              !WIFEXITED(end) ? "killed" : WEXITSTATUS(end) == 1
              ? "not compiled" : "code of another function");
    }
}

static void test_processes(void)
{
    char slow[128];
    char line[512];
    snprintf(slow, sizeof slow, "%s/slow", cache);
    snprintf(line, sizeof line, "printf '#!/bin/sh\\nsleep 0.2\\ncc \"$@\"\\n'"
             " > %s; chmod +x %s", slow, slow);
    CHECK(system(line) == 0, "%s", line);
    test_together(2, slow, "-O0");
    for (int round = 0; round < 4; round++) {
        snprintf(line, sizeof line, "-O0 -DROUND=%d", round);
        test_together(1, quick_compiler(), line);
    }
    snprintf(line, sizeof line, "ls %s | grep -v -e '\\.so$' -e slow", cache);
    CHECK(system(line) != 0, "files are left");
}

// Whatever new files may be: those of the cache are the user's alone.
static void test_umask(void)
{
    static const mode_t masks[] = { 0, 0777 };
    char line[512];
    for (size_t i = 0; i < 2; i++) {
        ad_fn *fn = recorded(program, 1);
        const ad_compile_options o = {
            .compiler = quick_compiler(), .cache = cache,
            .flags = i == 0 ? "-O0 -DA" : "-O0 -DB"
        };
        mode_t before = umask(masks[i]);
        ad_status s = ad_fn_compile(fn, &o);
        umask(before);
        CHECK(s == ADREV_OK, "umask %o: %s", (unsigned)masks[i],
              ad_message(s));
        ad_fn_free(fn);
    }
    snprintf(line, sizeof line, "ls -l %s | grep '^-......*[rwx].* .*\\.so'"
             " | grep -v '^-rwx------'", cache);
    CHECK(system(line) != 0, "others may read or write a library");
}

// Directories above the cache.
static void test_way(void)
{
    char above[128];
    char in[160];
    char linked[160];
    ad_fn *fn = recorded(program, 1);
    snprintf(above, sizeof above, "%s/above", cache);
    snprintf(in, sizeof in, "%s/in", above);
    snprintf(linked, sizeof linked, "%s/linked", cache);
    const ad_compile_options o = { .cache = in, .flags = "-O0" };
    const ad_compile_options by_link = { .cache = linked, .flags = "-O0" };
    CHECK(ad_fn_compile(fn, &o) == ADREV_OK, "a new directory");
    CHECK(symlink(in, linked) == 0, "symlink");
    CHECK(ad_fn_compile(fn, &by_link) == ADREV_OK, "a link");
    CHECK(chmod(above, 0777) == 0, "chmod");
    CHECK(ad_fn_compile(fn, &o) == ADREV_ECOMPILE, "others may rename it");
    CHECK(ad_fn_compile(fn, &by_link) == ADREV_ECOMPILE, "by a link, too");
    CHECK(chmod(above, 01777) == 0, "chmod");
    CHECK(ad_fn_compile(fn, &o) == ADREV_OK, "sticky");
    if (geteuid() == 0) {       // a program with more rights than its user
        CHECK(chown(above, 1, 1) == 0, "chown");
        CHECK(ad_fn_compile(fn, &o) == ADREV_ECOMPILE, "another user's");
        CHECK(chown(above, 0, 0) == 0 && setegid(1) == 0, "setegid");
        CHECK(ad_fn_compile(fn, &o) == ADREV_ECOMPILE, "setgid");
        CHECK(setegid(getgid()) == 0, "setegid");
    }
    CHECK(ad_fn_compile(fn, &o) == ADREV_OK, "as before");
    ad_fn_free(fn);
}

// Names in which a shell sees more than letters.
static void test_names(void)
{
    static const char *const name[] = {
        "o'brien", "''", "a b", "$HOME", "`false`", "a\nb", "\"", "\\", "-c",
        "*", "; exit 1 #", "\xc3\xa4"
    };
    const ad_real x[N] = { 0.31, -0.2, 0.7, 0.9, 1.3 };
    char in[128];
    ad_fn *replayed = recorded(program, 1);
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        ad_fn *fn = recorded(program, 1);
        snprintf(in, sizeof in, "%s/%s", cache, name[i]);
        const ad_compile_options o = {
            // tcc makes nothing in a directory with a quotation mark
            .compiler = strchr(name[i], '"') ? "cc" : quick_compiler(),
            .cache = in, .flags = "-O0 -ffp-contract=off"
        };
        for (int again = 0; again < 2; again++)
            CHECK(ad_fn_compile(fn, &o) == ADREV_OK && fn->library != NULL,
                  "a cache called %s", name[i]);
        CHECK(access(in, W_OK) == 0, "there is no %s", in);
        compare(fn, replayed, 1, x);
        ad_fn_free(fn);
    }
    ad_fn_free(replayed);
}

// A compiler that writes down its words, one in a line, and compiles nothing.
static void write_teller(const char *path)
{
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fprintf(f, "#!/bin/sh\ntest \"$1\" = --version && exit\n"
                               "printf '%%s\\n' \"$@\" > %s.words\n", path) > 0
          && fclose(f) == 0 && chmod(path, 0700) == 0, "%s", path);
}

// What of these words the compiler is told.
static void test_word(const char *teller, const char *flags, const char *want)
{
    char path[160];
    char told[512] = "";
    const ad_compile_options o = {
        .compiler = teller, .cache = cache, .flags = flags
    };
    ad_fn *fn = recorded(program, 1);
    CHECK(ad_fn_compile(fn, &o) == ADREV_ECOMPILE, "%s", flags);
    snprintf(path, sizeof path, "%s.words", teller);
    FILE *f = fopen(path, "r");
    if (f != NULL) {
        told[fread(told, 1, sizeof told - 1, f)] = '\0';
        fclose(f);
        remove(path);
    }
    char *end = strstr(told, "-fPIC\n");
    if (end != NULL)
        *end = '\0';
    CHECK(strcmp(told, want) == 0, "%s: told %s, not %s", flags, told, want);
    ad_fn_free(fn);
}

static void test_words(void)
{
    static const char *const pair[][2] = {
        { "", "" },
        { " -O2\t-g\n", "-O2\n-g\n" },
        { "-DX='\"s\"' -DY=\\\"t\\\"", "-DX=\"s\"\n-DY=\"t\"\n" },
        { "-Wl,-rpath,'$ORIGIN' -L$HOME", "-Wl,-rpath,$ORIGIN\n-L$HOME\n" },
        { "\"a b\"c '' \"\\$\\x\\\"\" d\\ e",
          "a bc\n\n$\\x\"\nd e\n" },
        { "it\\'s \"it's\" *", "it's\nit's\n*\n" },
        { "-I/tmp/a,b:c+d=e~f@g%h", "-I/tmp/a,b:c+d=e~f@g%h\n" },
        { "a;b 'a", "" }, { "\"a", "" }, { "\"a\\", "" }, { "a\\", "" },
    };
    char teller[128];
    snprintf(teller, sizeof teller, "%s/teller", cache);
    write_teller(teller);
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        test_word(teller, pair[i][0], pair[i][1]);
}

// The flags, with the name of a file behind them, do not make it, and nothing
// is printed.
static void test_command(const char *compiler, const char *flags)
{
    char made[128];
    char said[128];
    char text[2][512];
    struct stat s = {0};
    snprintf(made, sizeof made, "%s/made", cache);
    snprintf(said, sizeof said, "%s/said", cache);
    snprintf(text[0], sizeof text[0], "%s", compiler);
    snprintf(text[1], sizeof text[1], "%s%s", flags, made);
    const ad_compile_options o = {
        .compiler = text[0], .cache = cache, .flags = text[1]
    };
    ad_fn *fn = recorded(program, 1);
    fflush(NULL);
    int before[2] = { dup(1), dup(2) };
    int file = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, 1);
    dup2(file, 2);
    ad_status status = ad_fn_compile(fn, &o);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(before[i], i + 1);
        close(before[i]);
    }
    close(file);
    CHECK(status == ADREV_ECOMPILE, "%s %s: %s", text[0], text[1],
          ad_message(status));
    CHECK(access(made, F_OK) != 0, "%s %s is a command", text[0], text[1]);
    CHECK(stat(said, &s) == 0 && s.st_size == 0, "%s %s prints %ld bytes",
          text[0], text[1], (long)s.st_size);
    remove(made);
    remove(said);
    ad_fn_free(fn);
}

// No character of the options begins another command, or writes a file.
static void test_commands(void)
{
    static const char *const flags[] = {
        "; touch ", "& touch ", "| touch ", "\n touch ", "&& touch ",
        "|| touch ", "> ", "2> ", ">", "'; touch ", "\"; touch ",
        "\\'; touch ", "\"'; touch \"", "'\\''; touch ", "# ", "-O0 ; touch ",
        "-O0 '\n' touch "
    };
    static const char *const compiler[] = {
        "", " ", "''", "cc; echo said", "cc && echo said;", "echo said; cc",
        "$(echo cc)", "`echo cc`", "cc 2>&1 #", "(cc)", "no-such-compiler",
        "cc 'open"
    };
    char line[160];
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        test_command("cc", flags[i]);
    for (size_t i = 0; i < sizeof compiler / sizeof *compiler; i++)
        test_command(compiler[i], "-I");
    snprintf(line, sizeof line, "$(touch %s/made) ", cache);
    test_command("cc", line);
    snprintf(line, sizeof line, "\"`touch %s/made`\" ", cache);
    test_command("cc", line);
}

static void test_refused(void)
{
    const ad_real x[N] = { 0.31, -0.2, 0.7, 0.9, 1.3 };
    ad_real y = 0;
    ad_fn *fn = recorded(program, 1);
    CHECK(compile(fn, "no-such-compiler") == ADREV_ECOMPILE, "no compiler");
    CHECK(chmod(cache, 0777) == 0, "chmod");
    CHECK(compile(fn, NULL) == ADREV_ECOMPILE, "others may write the cache");
    CHECK(chmod(cache, 0700) == 0, "chmod");
    const ad_compile_options small = { .cache = cache, .limit = 100 };
    CHECK(ad_fn_compile(fn, &small) == ADREV_ECOMPILE, "too long");
    CHECK(ad_fn_compile(NULL, NULL) == ADREV_ESHAPE, "no function");
    CHECK(ad_fn_eval(fn, x, &y) == ADREV_OK && y != 0, "replayed as before");
    ad_fn_free(fn);
}

int main(void)
{
    char line[128];
    snprintf(cache, sizeof cache, "/tmp/adrev-test-%ld", (long)getpid());
    test_bits();
    test_bits();                // from the cache
    test_overlap();
    test_outer();
    test_small_inputs();
    test_roots();
    test_blocks();
    test_wide();
    test_signs();
    test_no_infinity();
    test_stride();
    test_picked();
    test_untouched();
    test_many();
    test_asked();
    test_touched("true");
    test_touched("for f in *.so; do echo x >> $f; done");
    test_touched("for f in *.so; do : > $f; done");
    test_touched("chmod 666 *.so");
    test_touched("for f in *.so; do mv $f x; ln -s x $f; done");
    test_touched("rm *.so x");
    test_processor();
    test_processes();
    test_umask();
    test_way();
    test_names();
    test_words();
    test_commands();
    test_refused();
    snprintf(line, sizeof line, "rm -r %s", cache);
    CHECK(system(line) == 0, "%s", line);
    return check_done("compiled");
}
