// SPDX-License-Identifier: MIT-0
// plan: listed
// needs: xxhash.h
/* compiled.c - ad_fn_compile: machine code gives the bits of the replay, is
 * found again in its cache, and is not believed where that was touched.      */

#define ADREV_IMPLEMENTATION
#include "../adrev_function.h"

#include "check.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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
        .flags = "-O1 -ffp-contract=off"
    };
    return ad_fn_compile(fn, &o);
}

// Every evaluation of one function against that of another.
static void compare(ad_fn *a, ad_fn *b, size_t m, const ad_real x[N])
{
    const ad_real w[2] = { 1, -2 };
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
        CHECK(same_bits(n, p, q), #call);                                   \
    } while (0)
    BOTH(m, ad_fn_eval(fn, x, to));
    BOTH(m, ad_fn_jvp(fn, x, v, to));
    BOTH(N, ad_fn_vjp(fn, x, w, to));
    BOTH(N, ad_fn_hvp(fn, x, w, v, to));
    BOTH(N * N, ad_fn_hessian(fn, x, w, to));
    if (m == 1)
        BOTH(N + 1, ad_fn_gradient(fn, x, to + N, to));
#undef BOTH
    // A program of its own, which adds in another order.
    CHECK(ad_fn_jacobian(a, x, p) == ADREV_OK
          && ad_fn_jacobian(b, x, q) == ADREV_OK, "jacobian");
    for (size_t i = 0; i < m * N; i++)
        CHECK_CLOSE(p[i], q[i], 4);
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

// Arguments and results may be the same array, as in a replay.
static void test_overlap(void)
{
    ad_real x[N] = { 0.31, -0.2, 0.7, 0.9, 1.3 };
    ad_real g[N];
    const ad_real one = 1;
    ad_fn *fn = recorded(program, 1);
    CHECK(compile(fn, NULL) == ADREV_OK, "compile");
    CHECK(ad_fn_vjp(fn, x, &one, g) == ADREV_OK, "apart");
    CHECK(ad_fn_vjp(fn, x, &one, x) == ADREV_OK, "in place");
    CHECK(same_bits(N, x, g), "in place the result is another one");
    ad_fn_free(fn);
}

// Memory that can be at an end.
static bool exhausted;

static void *some_alloc(size_t bytes, void *user)
{
    (void)user;
    return exhausted ? NULL : malloc(bytes);
}

static void some_free(void *block, void *user)
{
    (void)user;
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
          && compile(fn, NULL) == ADREV_OK, "compile");
    exhausted = true;
    ad_status s = ad_fn_eval(fn, &x, &y);
    exhausted = false;
    CHECK(s == ADREV_ENOMEM && y == 7, "%s, y is %g", ad_message(s),
          (double)y);
    ad_fn_free(fn);
}

static void test_blocks(void)
{
    enum { POINTS = 3 * ADREV_LANES_MOST + 5 };
    static ad_real x[N][POINTS];
    static ad_real dx[2][N][POINTS];
    static ad_real y[2][2][POINTS];
    ad_real one = 1;
    ad_fn *fn[2] = { recorded(smooth, 2), recorded(smooth, 2) };
    ad_column in[N];
    const ad_column w[2] = { { &one, 0 }, { &one, 0 } };
    CHECK(compile(fn[0], NULL) == ADREV_OK, "compile");
    for (size_t i = 0; i < N; i++) {
        in[i] = (ad_column){ x[i], 1 };
        for (size_t p = 0; p < POINTS; p++)
            x[i][p] = p % 7 == 0 ? 0 : (ad_real)(i + p % 11) / 8;
    }
    for (int k = 0; k < 2; k++) {
        ad_column out[2] = { { y[k][0], 1 }, { y[k][1], 1 } };
        ad_column d[N];
        for (size_t i = 0; i < N; i++)
            d[i] = (ad_column){ dx[k][i], 1 };
        CHECK(ad_fn_map_vjp(fn[k], POINTS, in, w, d, out, NULL) == ADREV_OK,
              "map");
    }
    CHECK(same_bits(2 * POINTS, y[0][0], y[1][0]), "values of points");
    CHECK(same_bits(N * POINTS, dx[0][0], dx[1][0]), "adjoints of points");
    ad_fn_free(fn[0]);
    ad_fn_free(fn[1]);
}

// Whatever was done to the files: the function is compiled anew, and right.
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
    static ad_real x[WIDE], w[WIDE], dx[WIDE], y[WIDE];
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
        .cache = cache, .flags = "-O0 -ffp-contract=off"
    };
    CHECK(ad_fn_record(&fn, wide, NULL, WIDE, x, WIDE) == ADREV_OK
          && ad_fn_compile(fn, &o) == ADREV_OK, "wide");
    CHECK(ad_fn_map_vjp(fn, 1, at, by, to, value, NULL) == ADREV_OK, "wide");
    for (size_t i = 0; i < WIDE; i++)
        CHECK(dx[i] == 2 * w[i] * x[i] && y[i] == x[i] * x[i] + 3,
              "%zu: %g, %g", i, (double)y[i], (double)dx[i]);
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
        CHECK(compile(fn, NULL) == ADREV_OK, "compile");
        CHECK(ad_fn_jacobian(fn, x, J) == ADREV_OK, "jacobian");
        for (int i = 0; i < 6; i++)
            CHECK_CLOSE(J[i], want[i], 8);
        ad_fn_free(fn);
    }
}

static void test_touched(const char *command)
{
    const ad_real x[N] = { 0.31, -0.2, 0.7, 0.9, 1.3 };
    char line[256];
    ad_fn *replayed = recorded(program, 1);
    ad_fn *fn = recorded(program, 1);
    snprintf(line, sizeof line, "cd %s && %s", cache, command);
    CHECK(system(line) == 0, "%s", line);
    CHECK(compile(fn, NULL) == ADREV_OK, "after %s", command);
    compare(fn, replayed, 1, x);
    ad_fn_free(fn);
    ad_fn_free(replayed);
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
    const ad_compile_options quoted = { .cache = "/tmp/a'b" };
    CHECK(ad_fn_compile(fn, &quoted) == ADREV_ECOMPILE, "a quote in a name");
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
    test_blocks();
    test_wide();
    test_stride();
    test_untouched();
    test_touched("true");
    test_touched("for f in *.so; do echo x >> $f; done");
    test_touched("for f in *.sum; do echo 0 > $f; done");
    test_touched("chmod 666 *.so");
    test_touched("rm *.sum");
    test_refused();
    snprintf(line, sizeof line, "rm -r %s", cache);
    CHECK(system(line) == 0, "%s", line);
    return check_done("compiled");
}
