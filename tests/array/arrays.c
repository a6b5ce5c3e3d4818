// SPDX-License-Identifier: MIT-0
// tags: debug
// flags:
/* arrays.c - array statements against the same written with scalars: values,
 * Jacobians in both directions, pullbacks and pushforwards, for all kinds of
 * operands, strides and lengths; then the edges of each function, what they
 * cost in memory, and what may overlap.
 *
 * The oracle is the scalar part of the library, which has its own tests.    */

#include "implementation.h"
#include "adrev.h"
#include "check.h"
#include "fronts.h"

#include <stdlib.h>
#include <string.h>

static ad_tape *tape;
static uint32_t state = 1;

static uint32_t next(uint32_t below)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % below;
}

static ad_real number(void)
{
    return (ad_real)((double)next(4001) / 1000 - 2);
}

/* --- operands of all kinds ------------------------------------------------ */

enum { MOST = 400, INPUTS = 2 * MOST };

// How the ids of an array lie.
typedef enum layout {
    EVEN, SPACED, BACKWARDS, SHUFFLED, CROSSED, RESULTS, MIXED, SAME, CONSTANT,
    LAYOUTS
} layout;

static ad_rev input[INPUTS];
static size_t used;             // of the inputs

static ad_rev take(void) { return input[used++ % INPUTS]; }

static void arrange(layout how, size_t n, ad_rev out[])
{
    ad_rev one = take();
    const size_t phase = next(3);
    for (size_t i = 0; i < n; i++)
        out[i] = how == CONSTANT || (how == MIXED && (i + phase) % 3 == 1)
               ? (ad_rev){ .v = number() } : how == SAME ? one : take();
    for (size_t i = 0; how == SPACED && i < n; i++) {
        out[i] = input[(used + 2 * i) % INPUTS];
        used += i + 1 == n ? 2 * n : 0;
    }
    for (size_t i = 0; how == BACKWARDS && i < n / 2; i++) {
        ad_rev x = out[i];
        out[i] = out[n - 1 - i];
        out[n - 1 - i] = x;
    }
    for (size_t i = n; how == SHUFFLED && i > 1; i--) {
        size_t k = next((uint32_t)i);
        ad_rev x = out[i - 1];
        out[i - 1] = out[k];
        out[k] = x;
    }
    if (how == CROSSED && n > 3) {          // the ends are those of an even one
        size_t k = 1 + next((uint32_t)n - 3);
        ad_rev x = out[k];
        out[k] = out[k + 1];
        out[k + 1] = x;
    }
    for (size_t i = 0; how == RESULTS && i < n; i++)
        out[i] = ad_rec(ad_add(ad_mul(out[i], (ad_real)0.5), take()));
}

/* --- programs, with arrays and with scalars ------------------------------- */

typedef struct job {
    size_t n;                   // operands of a vector; side of a matrix
    size_t m;                   // results
    ptrdiff_t inc;              // of a and b
    ad_rev *a;
    ad_rev *b;
    ad_rev *A;                  // n x n, rows inc*n apart
    ad_rev scalar;
    ad_rev y[MOST];
} job;

typedef void program(job *j, bool arrays);

#define A(i) j->a[(ptrdiff_t)(i) * j->inc]
#define B(i) j->b[(ptrdiff_t)(i) * j->inc]

static void sum(job *j, bool arrays)
{
    ad_rev s = { 0 };
    for (size_t i = 0; i < j->n; i++)
        ad_acc(&s, A(i));
    j->y[0] = arrays ? ad_sum_s(j->n, j->a, j->inc) : s;
    j->m = 1;
}

static void dot(job *j, bool arrays)
{
    ad_rev s = { 0 };
    for (size_t i = 0; i < j->n; i++)
        ad_acc(&s, ad_mul(A(i), B(i)));
    j->y[0] = arrays ? ad_dot_s(j->n, j->a, j->inc, j->b, j->inc) : s;
    j->m = 1;
}

static void square(job *j, bool arrays)
{
    ad_rev s = { 0 };
    for (size_t i = 0; i < j->n; i++)
        ad_acc(&s, ad_mul(A(i), A(i)));
    j->y[0] = arrays ? ad_dot_s(j->n, j->a, j->inc, j->a, j->inc) : s;
    j->m = 1;
}

static void weighted(job *j, bool arrays)
{
    static const ad_real c[3] = { (ad_real)0.5, 0, (ad_real)-1.5 };
    ad_rev s = { 0 };
    ad_real weight[MOST] = { 0 };
    for (size_t i = 0; i < j->n; i++) {
        weight[i] = c[i % 3];
        ad_acc(&s, ad_mul(A(i), weight[i]));
    }
    j->y[0] = arrays ? ad_dotc_s(j->n, j->a, j->inc, weight, 1) : s;
    j->m = 1;
}

static void norm2(job *j, bool arrays)
{
    ad_rev s = { .v = 0 };
    for (size_t i = 0; i < j->n; i++)
        ad_acc(&s, ad_sqr(A(i)));
    s = j->n == 0 ? s : ad_rec(ad_sqrt(s));
    j->y[0] = arrays ? ad_norm2_s(j->n, j->a, j->inc) : s;
    j->m = 1;
}

static void sqdist(job *j, bool arrays)
{
    ad_rev s = { 0 };
    for (size_t i = 0; i < j->n; i++)
        ad_acc(&s, ad_sqr(ad_sub(A(i), B(i))));
    j->y[0] = arrays ? ad_sqdist_s(j->n, j->a, j->inc, j->b, j->inc) : s;
    j->m = 1;
}

static void logsumexp(job *j, bool arrays)
{
    ad_rev s = { 0 };
    for (size_t i = 0; i < j->n; i++)
        ad_acc(&s, ad_exp(A(i)));
    s = ad_rec(ad_log(s));
    j->y[0] = arrays ? ad_logsumexp_s(j->n, j->a, j->inc) : s;
    j->m = 1;
}

static void softmax(job *j, bool arrays)
{
    ad_rev s = { 0 };
    for (size_t i = 0; i < j->n; i++)
        ad_acc(&s, ad_exp(A(i)));
    for (size_t i = 0; !arrays && i < j->n; i++)
        j->y[i] = ad_rec(ad_div(ad_exp(A(i)), s));
    if (arrays)
        ad_softmax_s(j->n, j->a, j->inc, j->y, 1);
    j->m = j->n;
}

static void axpy(job *j, bool arrays)
{
    for (size_t i = 0; i < j->n; i++)
        j->y[i] = B(i);
    for (size_t i = 0; !arrays && i < j->n; i++)
        j->y[i] = ad_rec(ad_add(ad_mul(j->scalar, A(i)), j->y[i]));
    if (arrays)
        ad_axpy_s(j->n, j->scalar, j->a, j->inc, j->y, 1);
    j->m = j->n;
}

static void scale(job *j, bool arrays)
{
    for (size_t i = 0; !arrays && i < j->n; i++)
        j->y[i] = ad_rec(ad_mul(j->scalar, A(i)));
    if (arrays)
        ad_scale_s(j->n, j->scalar, j->a, j->inc, j->y, 1);
    j->m = j->n;
}

// The scalar is broadcast by a stride of 0.
static void each(job *j, bool arrays)
{
    for (size_t i = 0; !arrays && i < j->n; i++) {
        j->y[i] = ad_rec(ad_fma(A(i), j->scalar, B(i)));
        j->y[i] = ad_rec(ad_sub(ad_tanh(j->y[i]), A(i)));
    }
    if (arrays) {
        ad_each_s(ADREV_OP_fma, j->n, j->a, j->inc, &j->scalar, 0, j->b,
                  j->inc, j->y, 1);
        ad_each(ADREV_OP_tanh, j->n, j->y, NULL, NULL, j->y);
        ad_each_s(ADREV_OP_sub, j->n, j->y, 1, j->a, j->inc, NULL, 0, j->y,
                  1);
    }
    j->m = j->n;
}

static void matvec(job *j, bool arrays)
{
    ptrdiff_t rs = (ptrdiff_t)j->n * 2;
    for (size_t i = 0; !arrays && i < j->n; i++) {
        j->y[i] = (ad_rev){ 0 };
        for (size_t k = 0; k < j->n; k++)
            ad_acc(&j->y[i], ad_mul(j->A[(ptrdiff_t)i * rs + (ptrdiff_t)k],
                                    A(k)));
    }
    if (arrays)
        ad_matvec_s(j->n, j->n, j->A, rs, 1, j->a, j->inc, j->y, 1);
    j->m = j->n;
}

// A[1..n] times A, transposed: the operands overlap.
static void overlapping(job *j, bool arrays)
{
    for (size_t i = 0; !arrays && i < j->n; i++) {
        j->y[i] = (ad_rev){ 0 };
        for (size_t k = 0; k < j->n; k++)
            ad_acc(&j->y[i], ad_mul(j->A[i + k * j->n], j->A[k]));
    }
    if (arrays)
        ad_matvec_s(j->n, j->n, j->A, 1, (ptrdiff_t)j->n, j->A, 1, j->y, 1);
    j->m = j->n;
}

static void matvecc(job *j, bool arrays)
{
    static const ad_real c[] = { 1, (ad_real)-0.5, 0, 2, (ad_real)0.25 };
    ad_real matrix[MOST];
    for (size_t i = 0; i < j->n * (j->n + 1); i++)
        matrix[i] = c[i % 5];
    j->m = j->n + 1;
    for (size_t i = 0; !arrays && i < j->m; i++) {
        j->y[i] = (ad_rev){ 0 };
        for (size_t k = 0; k < j->n; k++)
            ad_acc(&j->y[i], ad_mul(matrix[i * j->n + k], j->A[k]));
    }
    if (arrays)
        ad_matvecc(j->m, j->n, matrix, j->A, j->y);
}

// (n x n) times (n x 3), the latter stored by columns.
static void matmul(job *j, bool arrays)
{
    size_t n = j->n;
    const ad_rev *right = j->A + n;
    for (size_t i = 0; !arrays && i < n; i++)
        for (size_t k = 0; k < 3; k++) {
            j->y[i * 3 + k] = (ad_rev){ 0 };
            for (size_t l = 0; l < n; l++)
                ad_acc(&j->y[i * 3 + k],
                       ad_mul(j->A[i * n + l], right[k * n + l]));
        }
    if (arrays)
        ad_matmul_s(n, n, 3, j->A, (ptrdiff_t)n, 1, right, 1, (ptrdiff_t)n,
                    j->y, 3, 1);
    j->m = 3 * n;
}

static void plain_matmul(job *j, bool arrays)
{
    size_t n = j->n;
    for (size_t i = 0; !arrays && i < 2; i++)
        for (size_t k = 0; k < n; k++) {
            j->y[i * n + k] = (ad_rev){ 0 };
            for (size_t l = 0; l < n; l++)
                ad_acc(&j->y[i * n + k],
                       ad_mul(j->A[i * n + l], j->A[l * n + k]));
        }
    if (arrays)
        ad_matmul(2, n, n, j->A, j->A, j->y);
    j->m = 2 * n;
}

static void triangle(job *j, bool arrays)
{
    const ad_rev *l = j->A + j->n;
    const ad_rev *x = j->inc < 0 ? j->b - 2 * j->n : j->b;
    bool ones = j->inc == 1;
    j->m = j->n;
    for (size_t i = 0; !arrays && i < j->n; i++)
        j->y[i] = ones ? ad_rec(ad_mul(1, x[i]))
                       : ad_rec(ad_mul(j->A[i], x[i]));
    for (size_t i = 0; !arrays && i < j->n; i++)
        for (size_t k = i + 1; k < j->n; k++)
            ad_acc(&j->y[k], ad_mul(*l++, x[i]));
    if (arrays)
        ad_trimatvec(j->n, ones ? NULL : j->A, l, x, j->y);
}

#undef A
#undef B

/* --- comparison ----------------------------------------------------------- */

static bool near(ad_real got, ad_real want, ad_real size)
{
    double eps = sizeof(ad_real) == 4 ? 2e-4 : 1e-11;
    return fabs((double)got - (double)want) <= eps * (1 + (double)size);
}

static void compare(const char *name, size_t count, const ad_real got[],
                    const ad_real want[], const char *what)
{
    ad_real size = 0;
    for (size_t i = 0; i < count; i++)
        size = adm_fabs(want[i]) > size ? adm_fabs(want[i]) : size;
    for (size_t i = 0; i < count; i++)
        CHECK(near(got[i], want[i], size), "%s: %s [%zu]: got %g, want %g",
              name, what, i, (double)got[i], (double)want[i]);
}

// Rows of y with respect to `count` inputs: few of them make it go forward.
static void compare_jacobians(const char *name, const job *got,
                              const job *want, size_t first, size_t count)
{
    static ad_real J[2][MOST * INPUTS];
    ad_status s = ad_jacobian(tape, got->m, got->y, count, input + first,
                              J[0]);
    ad_status r = ad_jacobian(tape, want->m, want->y, count, input + first,
                              J[1]);
    CHECK(s == r, "%s: jacobian: got \"%s\", want \"%s\"", name,
          ad_message(s), ad_message(r));
    if (s == ADREV_OK)
        compare(name, got->m * count, J[0], J[1], "jacobian");
}

static void compare_sweeps(const char *name, const job *got, const job *want)
{
    static ad_real g[2][INPUTS];
    static ad_real dy[2][MOST];
    static ad_real seed[INPUTS];
    for (size_t i = 0; i < INPUTS; i++)
        seed[i] = next(4) == 0 ? 0 : number();
    ad_status s = ad_pullback(tape, got->m, got->y, seed, INPUTS, input, g[0]);
    ad_status r = ad_pullback(tape, want->m, want->y, seed, INPUTS, input,
                              g[1]);
    CHECK(s == r, "%s: pullback: got \"%s\"", name, ad_message(s));
    if (s == ADREV_OK)
        compare(name, INPUTS, g[0], g[1], "pullback");
    s = ad_pushforward(tape, INPUTS, input, seed, got->m, got->y, dy[0]);
    r = ad_pushforward(tape, INPUTS, input, seed, want->m, want->y, dy[1]);
    CHECK(s == r, "%s: pushforward: got \"%s\"", name, ad_message(s));
    if (s == ADREV_OK)
        compare(name, got->m, dy[0], dy[1], "pushforward");
}

static void compare_programs(const char *name, program *f, size_t n,
                             ptrdiff_t inc, layout la, layout lb)
{
    static ad_rev a[2 * MOST], b[2 * MOST], matrix[2 * MOST];
    static job got, want;
    ad_real v[INPUTS];
    ad_tape_clear(tape);
    for (size_t i = 0; i < INPUTS; i++)
        v[i] = number();
    ad_inputs(INPUTS, v, input);
    used = next(INPUTS);
    arrange(la, 2 * n + 1, a);
    arrange(lb, 2 * n + 1, b);
    arrange(next(2) ? la : lb, 2 * n * (n + 2), matrix);
    size_t start = inc < 0 ? 2 * n : 0;
    got = (job){ .n = n, .inc = inc, .a = a + start, .b = b + start,
                 .A = matrix, .scalar = take() };
    want = got;
    f(&got, true);
    f(&want, false);
    for (size_t i = 0; i < got.m; i++) {
        CHECK(near(got.y[i].v, want.y[i].v, adm_fabs(want.y[i].v)),
              "%s: value %zu: got %g, want %g", name, i, (double)got.y[i].v,
              (double)want.y[i].v);
        CHECK(got.y[i].job == 0 || got.y[i].seq != 0, "%s: id 0", name);
    }
    compare_sweeps(name, &got, &want);
    compare_jacobians(name, &got, &want, 0, INPUTS);
    for (size_t k = 1; k <= 9; k += 4)
        compare_jacobians(name, &got, &want, used % (INPUTS - 9), k);
    CHECK(ad_tape_status(tape) == ADREV_OK, "%s fails the tape", name);
}

static void run_programs(void)
{
    static const struct { const char *name; program *f; bool matrix; } all[] = {
        { "sum", sum, 0 }, { "dot", dot, 0 }, { "square", square, 0 },
        { "dotc", weighted, 0 }, { "norm2", norm2, 0 },
        { "sqdist", sqdist, 0 }, { "logsumexp", logsumexp, 0 },
        { "softmax", softmax, 0 }, { "axpy", axpy, 0 }, { "scale", scale, 0 },
        { "each", each, 0 }, { "matvec", matvec, 1 },
        { "overlapping", overlapping, 1 }, { "matvecc", matvecc, 1 },
        { "matmul", matmul, 1 }, { "plain matmul", plain_matmul, 1 },
        { "trimatvec", triangle, 1 },
    };
    static const size_t lengths[] = { 1, 2, 3, 4, 9, 13 };
    static const ptrdiff_t strides[] = { 1, 2, -1 };
    for (size_t p = 0; p < sizeof all / sizeof all[0]; p++)
        for (int la = 0; la < LAYOUTS; la++)
            for (int k = 0; k < 6; k++) {
                layout lb = (layout)next(LAYOUTS);
                size_t n = lengths[k] > 9 && all[p].matrix ? 5 : lengths[k];
                compare_programs(all[p].name, all[p].f, n, strides[k % 3],
                                 (layout)la, lb);
            }
}

/* --- every row of the table ----------------------------------------------- */

#define FRONT_select(name, x, y, z)  ad_select(ad_value(x) != 0, y, z)
#define FRONT_integer(name, x, y, z) ad_##name(x, (int)ad_value(y))
#define FRONT_order(name, x, y, z)   ad_##name((int)ad_value(x), y)

static ad_rev scalar_row(ad_opcode op, const ad_rev *x)
{
#define ROW(name, n, ...)                                                   \
    case ADREV_OP_##name: return ad_rec(CALL(name, n, x[0], x[1], x[2]));
#define STEP(name, ...) ROW(name, 1, 0)
    switch (op) {
        ADREV_OPS(ROW)
        ADREV_STEPS(STEP)
    default: return (ad_rev){ 0 };
    }
#undef ROW
#undef STEP
}

static void run_row(ad_opcode op)
{
    enum { N = 7 };
    const ad_op_info *info = &ad_op_table()[op];
    ad_rev x[3 * N], y[N], z[N];
    ad_real J[2][N * 3 * N];
    ad_real v[3 * N];
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < N; i++) {
            const double *box = &info->box[2 * k];
            v[k * N + i] = (ad_real)(box[0] + (box[1] - box[0])
                                     * (double)(i + 1) / (N + 1));
        }
    if (whole_argument((int)op) < 3)
        for (size_t i = 0; i < N; i++)
            v[(size_t)whole_argument((int)op) * N + i] = (ad_real)i - 3;
    ad_tape_clear(tape);
    ad_inputs(3 * N, v, x);
    for (size_t i = 0; i < N; i++)
        z[i] = scalar_row(op, (ad_rev[3]){ x[i], x[N + i], x[2 * N + i] });
    ad_each(op, N, x, info->arity > 1 ? x + N : NULL,
            info->arity > 2 ? x + 2 * N : NULL, y);
    for (size_t i = 0; i < N; i++)
        CHECK_CLOSE(y[i].v, z[i].v, 0);
    ad_status s = ad_jacobian(tape, N, y, 3 * N, x, J[0]);
    CHECK(s == ad_jacobian(tape, N, z, 3 * N, x, J[1]), "%s: got \"%s\"",
          info->name, ad_message(s));
    for (size_t i = 0; s == ADREV_OK && i < N * 3 * N; i++)
        CHECK_CLOSE(J[0][i], J[1][i], 1);
}

static void run_rows(void)
{
    for (int op = 0; op < ADREV_OP_lt; op++)
        if (op != ADREV_OP_select)
            run_row((ad_opcode)op);
    ad_rev y = { .v = 5 };
    ad_each(ADREV_OP_lt, 1, &y, &y, NULL, &y);
    ad_each(ADREV_OP_COUNT, 1, &y, NULL, NULL, &y);
    CHECK(y.v == 5, "a comparison is no element-wise operation");
}

/* --- edges ---------------------------------------------------------------- */

static ad_rev vector[8];

static void gradient(ad_rev y, size_t n, ad_real g[])
{
    ad_status s = ad_gradient(tape, y, n, vector, g);
    CHECK(s == ADREV_OK, "got \"%s\"", ad_message(s));
}

static void begin(size_t n, const ad_real v[])
{
    ad_tape_clear(tape);
    ad_inputs(n, v, vector);
}

static void run_norm2_edges(void)
{
    ad_real g[3];
    ad_real big = sizeof(ad_real) == 4 ? (ad_real)1e30 : (ad_real)1e200;
    begin(2, (ad_real[]){ 0, 0 });
    ad_rev y = ad_norm2(2, vector);
    gradient(y, 2, g);
    CHECK(y.v == 0 && g[0] == 0 && g[1] == 0, "norm2 at 0");
    begin(2, (ad_real[]){ 3 * big, 4 * big });
    y = ad_norm2(2, vector);
    gradient(y, 2, g);
    CHECK_CLOSE(y.v, 5 * big, 2);
    CHECK_CLOSE(g[0], (ad_real)0.6, 2);
    begin(2, (ad_real[]){ 3 / big, -4 / big });
    y = ad_norm2(2, vector);
    gradient(y, 2, g);
    CHECK_CLOSE(y.v, 5 / big, 2);
    CHECK_CLOSE(g[1], (ad_real)-0.8, 2);
    begin(2, (ad_real[]){ 1, (ad_real)NAN });
    CHECK(isnan(ad_norm2(2, vector).v), "norm2 hides a NaN");
    begin(2, (ad_real[]){ -(ad_real)INFINITY, 1 });
    CHECK(ad_norm2(2, vector).v == (ad_real)INFINITY, "norm2 of infinity");
}

static void run_logsumexp_edges(void)
{
    const ad_real inf = (ad_real)INFINITY;
    const ad_real log2 = (ad_real)0.69314718055994530942L;
    ad_real g[3];
    begin(2, (ad_real[]){ 1000, 1000 });
    ad_rev y = ad_logsumexp(2, vector);
    gradient(y, 2, g);
    CHECK_CLOSE(y.v, 1000 + log2, 1);
    CHECK(g[0] == (ad_real)0.5 && g[1] == (ad_real)0.5, "equal entries");
    begin(3, (ad_real[]){ -inf, 2, -10000 });
    y = ad_logsumexp(3, vector);
    gradient(y, 3, g);
    CHECK(y.v == 2 && g[0] == 0 && g[1] == 1 && g[2] == 0, "-inf entries");
    begin(2, (ad_real[]){ -inf, -inf });
    y = ad_logsumexp(2, vector);
    gradient(y, 2, g);
    CHECK(y.v == -inf && g[0] == (ad_real)0.5, "only -inf");
    begin(2, (ad_real[]){ inf, 0 });
    y = ad_logsumexp(2, vector);
    gradient(y, 2, g);
    CHECK(y.v == inf && g[0] == 1 && g[1] == 0, "an infinite entry");
    begin(2, (ad_real[]){ (ad_real)NAN, 0 });
    CHECK(isnan(ad_logsumexp(2, vector).v), "logsumexp hides a NaN");
}

static void run_empty(void)
{
    const ad_real inf = (ad_real)INFINITY;
    begin(1, (ad_real[]){ 1 });
    size_t before = ad_tape_stats(tape).statements;
    ad_rev y = { .v = 7 };
    CHECK(ad_sum(0, NULL).v == 0 && ad_dot(0, NULL, NULL).v == 0
              && ad_norm2(0, NULL).v == 0 && ad_dotc(0, NULL, NULL).v == 0
              && ad_sqdist(0, NULL, NULL).v == 0
              && ad_logsumexp(0, NULL).v == -inf, "of nothing");
    ad_softmax(0, NULL, NULL);
    ad_axpy(0, vector[0], NULL, NULL);
    ad_trimatvec(0, NULL, NULL, NULL, NULL);
    ad_matmul(0, 3, 0, NULL, NULL, NULL);
    ad_matvec(1, 0, NULL, NULL, &y);
    CHECK(y.v == 0 && y.job == 0, "a product of nothing is the constant 0");
    CHECK(ad_tape_stats(tape).statements == before, "nothing is recorded");
}

// A zero factor absorbs: constants in an array, partials, adjoints.
static void run_absorbing(void)
{
    const ad_real inf = (ad_real)INFINITY;
    ad_real g[4];
    ad_real J[16] = { 0 };
    begin(4, (ad_real[]){ 0, 4, inf, 2 });
    ad_rev y[4];
    ad_each(ADREV_OP_sqrt, 2, vector, NULL, NULL, y);
    gradient(ad_rec(ad_add(ad_mul(y[0], 0), y[1])), 2, g);
    CHECK(g[0] == 0 && g[1] == (ad_real)0.25, "got %g", (double)g[0]);
    CHECK(ad_jacobian(tape, 2, y, 2, vector, J) == ADREV_OK && J[0] == inf
              && J[1] == 0 && J[2] == 0, "got %g %g %g", (double)J[0],
          (double)J[1], (double)J[2]);
    ad_rev zeros[2] = { { .v = 0 }, { .v = 3 } };
    gradient(ad_dot(2, vector + 2, zeros), 4, g);
    CHECK(g[2] == 0 && g[3] == 3, "beside an infinite operand");
    // y[0] = 0 * sqrt'(0): the adjoint of the product is infinite
    ad_matmul(1, 2, 1, zeros, vector, y);
    gradient(ad_rec(ad_sqrt(ad_mul(0, y[0]))), 4, g);
    CHECK(g[0] == 0 && g[1] == 0, "an infinite adjoint");
}

// C = AB, of which one result is asked for: an infinite entry, wherever it is,
// does not reach what that one does not depend on. Every step-th input.
static void check_product(size_t m, size_t k, size_t n, ptrdiff_t step)
{
    enum { MANY = 80 };
    const size_t count = m * k + k * n;
    ad_rev x[MANY];
    ad_rev C[MANY];
    ad_real g[MANY];
    for (size_t p = 0; p < count; p++)
        for (size_t r = 0; r < m * n; r++) {
            ad_real v[MANY];
            for (size_t i = 0; i < count; i++)
                v[i] = i == p ? (ad_real)INFINITY : (ad_real)(i + 1);
            ad_tape_clear(tape);
            for (size_t i = 0; i < count; i++)
                x[i * (size_t)step] = ad_input(v[i]);
            ad_matmul_s(m, k, n, x, (ptrdiff_t)k * step, step,
                        x + m * k * (size_t)step, (ptrdiff_t)n * step, step,
                        C, (ptrdiff_t)n, 1);
            for (size_t i = 0; i < count; i++)
                x[i] = x[i * (size_t)step];
            CHECK(ad_gradient(tape, C[r], count, x, g) == ADREV_OK, "product");
            for (size_t i = 0; i < count; i++) {
                const size_t j = i - m * k;
                ad_real want = i < m * k
                    ? (i / k == r / n ? v[m * k + i % k * n + r % n] : 0)
                    : (j % n == r % n ? v[r / n * k + j / n] : 0);
                CHECK(g[i] == want, "%zu x %zu x %zu, infinity at %zu, result "
                      "%zu: got g[%zu] = %g, want %g", m, k, n, p, r, i,
                      (double)g[i], (double)want);
            }
        }
}

static void run_absorbing_products(void)
{
    for (ptrdiff_t step = 1; step <= 2; step++) {
        check_product(1, 9, 1, step);
        check_product(2, 5, 1, step);
        check_product(2, 5, 2, step);
        check_product(3, 1, 4, step);
        check_product(2, 3, 6, step);
    }
}

// More elements than are worked on at a time.
static void run_long_each(void)
{
    enum { N = 150 };
    static ad_real v[4 * N];
    static ad_rev x[4 * N];
    static ad_rev y[2 * N];
    static ad_real g[4 * N];
    for (size_t i = 0; i < 4 * N; i++)
        v[i] = (ad_real)(i + 1) / 8;
    for (int inc = 1; inc <= 2; inc++) {
        const size_t step = (size_t)inc;
        ad_tape_clear(tape);
        ad_inputs(4 * N, v, x);
        ad_each_s(ADREV_OP_mul, N, x, inc, x + 2 * N, inc, NULL, 0, y, inc);
        ad_rev sum = ad_rec(0);
        for (size_t i = 0; i < N; i++)
            ad_acc(&sum, ad_mul((ad_real)i, y[i * step]));
        CHECK(ad_gradient(tape, sum, 4 * N, x, g) == ADREV_OK, "long");
        for (size_t i = 0; i < N; i++) {
            const size_t a = i * step;
            const size_t b = 2 * N + i * step;
            CHECK(y[a].v == v[a] * v[b] && g[a] == (ad_real)i * v[b]
                      && g[b] == (ad_real)i * v[a],
                  "long, every %d: %zu: got %g, %g, %g", inc, i,
                  (double)y[a].v, (double)g[a], (double)g[b]);
        }
    }
}

// Two neighbours of a long run have changed places.
static void check_crossed(size_t n)
{
    enum { MOST_CROSSED = 24 };
    ad_real v[2 * MOST_CROSSED];
    ad_rev x[2 * MOST_CROSSED];
    ad_rev order[2 * MOST_CROSSED];
    ad_real g[2 * MOST_CROSSED];
    for (size_t i = 0; i < 2 * n; i++)
        v[i] = (ad_real)(i + 1);
    for (size_t k = 0; k + 1 < 2 * n; k++) {
        ad_tape_clear(tape);
        ad_inputs(2 * n, v, x);
        memcpy(order, x, sizeof x);
        order[k] = x[k + 1];
        order[k + 1] = x[k];
        ad_rev y = ad_dot(n, order, order + n);
        CHECK(ad_gradient(tape, y, 2 * n, x, g) == ADREV_OK, "crossed");
        for (size_t i = 0; i < 2 * n; i++) {
            size_t at = i == k ? k + 1 : i == k + 1 ? k : i;
            CHECK(g[i] == order[(at + n) % (2 * n)].v, "%zu crossed at %zu: "
                  "got g[%zu] = %g", n, k, i, (double)g[i]);
        }
    }
}

static void run_crossed(void)
{
    for (size_t n = 20; n < 24; n++)
        check_crossed(n);
}

// Products of one number, whose adjoints have a sum beyond the largest number.
static void run_broadcast(void)
{
    const ad_real big = sizeof(ad_real) == 4 ? (ad_real)2e38 : (ad_real)1.5e308;
    const ad_real factor[] = { 0, (ad_real)0.25 };
    for (size_t i = 0; i < 2; i++) {
        ad_rev x[2];
        ad_rev y[5] = { { 0, 0, 0 } };
        ad_real g[2];
        ad_tape_clear(tape);
        ad_inputs(2, (ad_real[]){ 3, factor[i] }, x);
        ad_axpy_s(5, x[1], x, 0, y, 1);
        ad_status s = ad_pullback(tape, 4, y, (ad_real[]){ big, big, -big,
                                  -big }, 1, x, g);
        CHECK(s == ADREV_OK && g[0] == 0, "axpy of one number: got %g",
              (double)g[0]);
        s = ad_pullback(tape, 5, y, (ad_real[]){ big, big, 0, 0, 1 }, 1, x, g);
        CHECK(s == ADREV_OK && g[0] == factor[i] * big + factor[i] * big
                  + factor[i], "axpy of one number: got %g", (double)g[0]);
    }
}

// Partials beyond the largest number are infinite in their own row only.
static void run_overflow(void)
{
    enum { N = 8, M = 5 };
    ad_real v[N] = { sizeof(ad_real) == 4 ? (ad_real)3e38 : (ad_real)1.5e308 };
    ad_rev x[N];
    ad_real J[M * N];
    for (int what = 0; what < 2; what++) {
        ad_tape_clear(tape);
        ad_inputs(N, v, x);
        const ad_rev zero[N] = { { 0, 0, 0 } };
        ad_rev s = what == 0 ? ad_dot(N, x, x) : ad_sqdist(N, x, zero);
        const ad_rev y[M] = { x[1], s, x[2], x[3], x[4] };
        CHECK(ad_jacobian(tape, M, y, N, x, J) == ADREV_OK, "jacobian");
        for (int i = 0; i < M; i++)
            CHECK(i == 1 ? J[i * N] == (ad_real)INFINITY : J[i * N] == 0,
                  "row %d: got %g", i, (double)J[i * N]);
    }
}

static void run_in_place(void)
{
    ad_real g[3];
    begin(3, (ad_real[]){ 1, 2, 3 });
    ad_rev x[3] = { vector[0], vector[1], vector[2] };
    ad_scale(3, vector[2], x, x);
    ad_each(ADREV_OP_mul, 3, x, vector, NULL, x);
    gradient(ad_sum(3, x), 3, g);       // 3 (1 + 4 + 9), w.r.t. x2 twice
    CHECK(g[0] == 6 && g[1] == 12 && g[2] == 32, "got %g %g %g",
          (double)g[0], (double)g[1], (double)g[2]);
    ad_softmax(3, x, x);
    CHECK_NEAR(x[0].v + x[1].v + x[2].v, 1, 1e-6);
}

/* --- cost ----------------------------------------------------------------- */

// 8 bytes per evenly spaced operand and 4 more per other one; nothing where
// all partials are equal.
static void check_cost(const char *what, size_t *before, size_t want)
{
    size_t bytes = ad_tape_bytes(tape);
    size_t cost = bytes - *before;
    CHECK(cost >= want && cost < want + 400, "%s: %zu bytes", what, cost);
    *before = bytes;
}

static void run_bytes(void)
{
    enum { N = 3000 };
    static ad_real v[2 * N];
    static ad_rev x[2 * N];
    static ad_rev odd[N];
    const size_t real = sizeof(ad_real);
    ad_tape_clear(tape);
    ad_inputs(2 * N, v, x);
    for (size_t i = 0; i < N; i++)
        odd[i] = x[i * i % N];
    size_t bytes = ad_tape_bytes(tape);
    ad_sum(N, x);
    check_cost("sum", &bytes, 0);
    ad_dot(N, x, x + N);
    check_cost("dot", &bytes, 2 * N * real);
    ad_dot(N, x, x);
    check_cost("square", &bytes, N * real);
    ad_sum(N, odd);
    check_cost("listed", &bytes, N * sizeof(uint32_t));
    ad_matvec(50, 50, x, x + 2500, odd);
    check_cost("matvec", &bytes, 2600 * real);
    CHECK(ad_tape_stats(tape).statements == 5, "one statement each");
}

// Numbers that look evenly spaced and are not take no more memory than others
// that are not.
static void run_bytes_crossed(void)
{
    enum { N = 20000 };
    static ad_real v[2 * N];
    static ad_rev x[2 * N];
    static ad_rev y[2 * N];
    size_t held[3];
    ad_tape *before = tape;
    for (size_t what = 0; what < 3; what++) {
        tape = ad_tape_new();
        ad_use(tape);
        ad_inputs(2 * N, v, x);
        memcpy(y, x, sizeof x);
        size_t last = what == 0 ? 2 * N - 1 : N + N / 2;
        y[last] = x[what == 2 ? last : last - 1];
        y[last - 1] = x[what == 2 ? last - 1 : last];
        DROP(ad_rec(ad_mul(x[0], x[1])));         // the first block is there
        for (int i = 0; i < 2; i++)
            ad_dot(N, y, y + N);
        CHECK(ad_tape_status(tape) == ADREV_OK, "crossed");
        held[what] = ad_tape_stats(tape).bytes_held;
        ad_tape_free(tape);
    }
    CHECK(held[0] == held[1] && held[2] < held[1], "%zu bytes, %zu and %zu",
          held[0], held[1], held[2]);
    tape = before;
    ad_use(tape);
}

// As many bytes for operands from before a mark, before and after a rewind.
static void run_bytes_rewound(void)
{
    enum { N = 1000 };
    static ad_real v[2 * N];
    static ad_rev x[2 * N];
    ad_tape_clear(tape);
    ad_inputs(2 * N, v, x);
    ad_mark mark = ad_tape_mark(tape);
    size_t bytes = ad_tape_bytes(tape);
    for (int i = 0; i < 3; i++) {
        ad_dot(N, x, x + N);
        check_cost("rewound", &bytes, 2 * N * sizeof(ad_real));
        CHECK(ad_tape_rewind(tape, mark) == ADREV_OK, "rewind");
        bytes = ad_tape_bytes(tape);
    }
}

// A program of arrays runs in exactly the bytes that it is said to need.
static ad_status in_fixed(void *buffer, size_t bytes, size_t *need)
{
    ad_tape *t = ad_tape_in(buffer, bytes);
    if (t == NULL)
        return ADREV_EFULL;
    ad_tape *before = ad_use(t);
    ad_rev x[6], y[6];
    ad_real g[6];
    ad_inputs(6, (ad_real[]){ 1, 2, 3, 4, 5, 6 }, x);
    ad_rev mixed[3] = { x[5], { .v = 2 }, x[0] };
    ad_softmax(6, x, y);
    ad_matvec(2, 2, x, y + 1, y + 3);
    ad_trimatvec(3, mixed, x, y, y + 3);
    y[0] = ad_rec(ad_mul(ad_dot(3, mixed, y + 3), ad_norm2(6, y)));
    ad_status s = ad_gradient(t, y[0], 6, x, g);
    *need = ad_tape_bytes(t);
    ad_use(before);
    return s;
}

static void run_fixed(void)
{
    static _Alignas(64) unsigned char buffer[20000];
    size_t need = 0;
    size_t again = 0;
    CHECK(in_fixed(buffer, sizeof buffer, &need) == ADREV_OK, "fixed memory");
    CHECK(in_fixed(buffer, need, &again) == ADREV_OK && again == need,
          "exactly %zu bytes", need);
    for (size_t less = 8; less < need; less += 8)
        CHECK(in_fixed(buffer, need - less, &again) == ADREV_EFULL,
              "%zu bytes less than %zu", less, need);
}

static void unused_hook(void *user, const ad_operation *operation)
{
    (void)user;
    (void)operation;
}

static void run_traced(void)
{
    begin(2, (ad_real[]){ 1, 2 });
    const ad_hooks hooks = { .trace = unused_hook };
    ad_tape_hooks(tape, &hooks);
    ad_rev y = ad_sum(2, vector);
    CHECK(ad_tape_status(tape) == ADREV_EHOOK && y.v == 3 && y.job == 0,
          "under a trace hook");
    ad_tape_hooks(tape, NULL);
    begin(1, (ad_real[]){ 1 });
    ad_rev old = vector[0];
    begin(2, (ad_real[]){ 1, 2 });
    y = ad_sum(2, (ad_rev[2]){ vector[0], old });
    CHECK(ad_tape_status(tape) == ADREV_EFOREIGN && y.job == 0, "foreign");
}

int main(void)
{
    tape = ad_tape_new();
    if (tape == NULL)
        return EXIT_FAILURE;
    ad_use(tape);
    run_programs();
    run_rows();
    run_norm2_edges();
    run_logsumexp_edges();
    run_empty();
    run_absorbing();
    run_absorbing_products();
    run_crossed();
    run_broadcast();
    run_long_each();
    run_overflow();
    run_in_place();
    run_bytes();
    run_bytes_rewound();
    run_bytes_crossed();
    run_fixed();
    run_traced();
    ad_use(NULL);
    ad_tape_free(tape);
    return check_done("arrays");
}
