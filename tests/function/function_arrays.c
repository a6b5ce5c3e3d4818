// SPDX-License-Identifier: MIT-0
// tags: recorded slow
/* function_arrays.c - array statements in recorded functions: what can be asked
 * of each is what the same program of single operations answers.            */

#include "implementation.h"
#include "adrev_function.h"

#include "check.h"
#include "recorded.h"

#define INF       ((double)INFINITY)

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

enum { SUMS = 17 };

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
    y[16] = ad_sum(20, x);
}

static void test_sums(void)
{
    double x[20] = { 0 };
    double y[SUMS];
    double want[SUMS];
    double J[SUMS * 20];
    for (int k = 0; k < 40; k++) {
        const ad_fn_options o = { .plain = k % 2 == 1 };
        ad_fn *fn = NULL;
        for (int i = 0; i < 20; i++)
            x[i] = sin(k + 3.7 * i) * (i % 3 == 0 ? 100 : 1);
        if (k < 20)
            x[0] = k < 10 ? -0.0 : 0.0;
        EXPECT(ad_fn_record_with(&fn, &o, summing, NULL, 20, x, SUMS), ADREV_OK);
        EXPECT(ad_jac(summing, NULL, 20, x, SUMS, want, J), ADREV_OK);
        EXPECT(ad_fn_eval(fn, x, y), ADREV_OK);
        for (int i = 0; i < SUMS; i++)
            CHECK(memcmp(&y[i], &want[i], sizeof *y) == 0,
                  "sum %d: got %a, want %a", i, y[i], want[i]);
        ad_fn_free(fn);
    }
}

int main(void)
{
    test_arrays();
    test_array_edges();
    test_sums();
    return check_done("function_arrays");
}
