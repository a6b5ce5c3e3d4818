// SPDX-License-Identifier: MIT-0
// tags: formulas last-bits
/* matrices.c - products of matrices in texts: all layouts, sizes around those of
 * tiles and panels, loops around them, constants and several terms. A packed
 * product has the bits of the loops that run where there is no memory for it,
 * and, `fused`, those of fma. `gemm` is called with what it says.           */

#define ADREV_IMPLEMENTATION
#include "adrev_tensor.h"
#include "check.h"
#include "tensor_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- memory that ends ----------------------------------------------------- */

typedef struct rations {
    long left;                  // blocks
    long refused;
    long held;
} rations;

static void *rationed(size_t bytes, void *user)
{
    rations *r = user;
    if (r->left == 0) {
        r->refused++;
        return NULL;
    }
    r->left--;
    r->held++;
    return malloc(bytes);
}

static void returned(void *block, void *user)
{
    ((rations *)user)->held--;
    free(block);
}

// What evaluations have kept is gone.
static void bind_anew(ad_tensor *t, rations *r)
{
    r->left = -1;
    adx_unbind_tensor(t);
    OK(ad_tensor_bind(t, NULL));
}

/* --- numbers and matrices ------------------------------------------------- */

// Numbers whose products and sums are all rounded.
static ad_real number(void)
{
    return (ad_real)((double)drawn(1000000) / 300007 - 1.7);
}

// How the places of a matrix lie: the distances of rows and of columns.
enum { ROWS, COLUMNS, SPACED, BACKWARDS, LAYOUTS };

typedef struct matrix {
    ptrdiff_t stride[2];
    ad_real *room, *first;
    size_t numbers;
} matrix;

static matrix matrix_of(int layout, size_t m, size_t n)
{
    matrix a = { { (ptrdiff_t)n, 1 }, NULL, NULL, 0 };
    if (layout == COLUMNS) {
        a.stride[0] = 1;
        a.stride[1] = (ptrdiff_t)m;
    } else if (layout == SPACED) {
        a.stride[0] = 2 * (ptrdiff_t)n + 3;
        a.stride[1] = 2;
    } else if (layout == BACKWARDS)
        a.stride[1] = -1;
    a.numbers = 2 * (m + 1) * (n + 1) + 3 * m + 1;
    a.room = malloc(a.numbers * sizeof *a.room);
    for (size_t i = 0; i < a.numbers; i++)
        a.room[i] = number();
    a.first = a.room + (layout == BACKWARDS && n > 0 ? n - 1 : 0);
    return a;
}

static ad_real *at(const matrix *a, size_t i, size_t j)
{
    return a->first + (ptrdiff_t)i * a->stride[0] + (ptrdiff_t)j * a->stride[1];
}

/* --- what is to come out --------------------------------------------------- */

typedef struct product {
    size_t m, k, n;
    matrix A, B, C;
    bool fused;
    const ad_allocator *memory;
} product;

// One product after the other.
static ad_real in_order(const product *p, ad_real factor, size_t i, size_t j)
{
    ad_real sum = 0;
    for (size_t l = 0; l < p->k; l++) {
        volatile ad_real a = factor * *at(&p->A, i, l);
        volatile ad_real ab = a * *at(&p->B, l, j);
        sum = !p->fused ? sum + ab
            : sizeof(ad_real) == sizeof(float)
                ? (ad_real)fmaf((float)a, (float)*at(&p->B, l, j), (float)sum)
                : (ad_real)fma((double)a, (double)*at(&p->B, l, j),
                               (double)sum);
    }
    return sum;
}

// Below these sizes the order is another one.
static bool is_packed(const product *p)
{
    return p->m >= 8 && p->n >= 8 && p->k >= 8 && p->m * p->k * p->n >= 2048;
}

static void compare(const product *p, ad_real factor, const char *name)
{
    double error = sizeof(ad_real) == sizeof(float) ? 1e-3 : 1e-11;
    bool good = true;
    for (size_t i = 0; i < p->m; i++)
        for (size_t j = 0; j < p->n; j++) {
            ad_real want = in_order(p, factor, i, j);
            ad_real got = *at(&p->C, i, j);
            good = good && (is_packed(p) ? got == want
                            : fabs((double)(got - want)) < error);
        }
    CHECK(good, "%s: %zu x %zu x %zu, fused %d, strides %td %td, %td %td, "
          "%td %td", name, p->m, p->k, p->n, p->fused, p->A.stride[0],
          p->A.stride[1], p->B.stride[0], p->B.stride[1], p->C.stride[0],
          p->C.stride[1]);
}

/* --- one product ----------------------------------------------------------- */

static ad_tensor *bound_product(const product *p, const char *text)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 0 };
    const ad_tensor_options o = { .allocator = p->memory, .fused = p->fused };
    CHECK(ad_tensor_new(&t, text, &o, &e) == ADREV_OK, "%s", e.text);
    OK(ad_tensor_size(t, "m", p->m));
    OK(ad_tensor_size(t, "k", p->k));
    OK(ad_tensor_size(t, "n", p->n));
    OK(ad_tensor_layout(t, "A", p->A.stride));
    OK(ad_tensor_layout(t, "B", p->B.stride));
    OK(ad_tensor_layout(t, "C", p->C.stride));
    CHECK(ad_tensor_bind(t, &e) == ADREV_OK, "%s", e.text);
    return t;
}

// With less and less refused: the same bits, or nothing written.
static void run_refusals(const product *p, ad_tensor *t, rations *r)
{
    const ad_real *x[] = { p->A.first, p->B.first };
    ad_real *y[] = { p->C.first };
    size_t bytes = p->C.numbers * sizeof *p->C.room;
    ad_real *want = malloc(bytes);
    ad_status s = ADREV_ENOMEM;
    long survived = 0;
    r->left = -1;
    OK(ad_tensor_eval(t, x, y));
    memcpy(want, p->C.room, bytes);
    r->left = 0;
    CHECK(ad_tensor_eval(t, x, y) == ADREV_OK && r->refused == 0,
          "the next evaluation takes memory");
    for (long n = 0; s != ADREV_OK || r->refused > 0; n++) {
        bind_anew(t, r);
        r->left = n;
        r->refused = 0;
        for (size_t i = 0; i < p->m; i++)
            for (size_t j = 0; j < p->n; j++)
                *at(&p->C, i, j) = 77;
        s = ad_tensor_eval(t, x, y);
        survived += s == ADREV_OK && r->refused > 0;
        CHECK(s == ADREV_ENOMEM || (s == ADREV_OK
                                    && memcmp(want, p->C.room, bytes) == 0),
              "%zu x %zu x %zu: other bits without memory", p->m, p->k, p->n);
        bool written = false;
        for (size_t i = 0; i < p->m && s == ADREV_ENOMEM; i++)
            for (size_t j = 0; j < p->n; j++)
                written = written || *at(&p->C, i, j) != 77;
        CHECK(!written, "written without memory");
    }
    CHECK(survived == is_packed(p), "%zu x %zu x %zu: %ld evaluations without "
          "a panel", p->m, p->k, p->n, survived);
    r->left = -1;
    free(want);
}

static void run_product(size_t m, size_t k, size_t n, int layouts, bool fused)
{
    static const char text[] = "in A[m,k], B[k,n];"
                               "out C[i,j] = sum(l) A[i,l]*B[l,j];";
    rations r = { .left = -1 };
    const ad_allocator memory = { rationed, returned, &r };
    product p = { .m = m, .k = k, .n = n, .fused = fused, .memory = &memory };
    p.A = matrix_of(layouts % LAYOUTS, m, k);
    p.B = matrix_of(layouts / LAYOUTS % LAYOUTS, k, n);
    p.C = matrix_of(layouts / LAYOUTS / LAYOUTS % LAYOUTS, m, n);
    const ad_real *x[] = { p.A.first, p.B.first };
    ad_real *y[] = { p.C.first };
    ad_tensor *t = bound_product(&p, text);
    OK(ad_tensor_eval(t, x, y));
    compare(&p, 1, "product");
    run_refusals(&p, t, &r);
    ad_tensor_free(t);
    CHECK(r.held == 0, "%ld blocks are left", r.held);
    free(p.A.room);
    free(p.B.room);
    free(p.C.room);
}

static void run_sizes(void)
{
    static const size_t edges[][3] = {
        { 96, 96, 96 }, { 9, 511, 25 }, { 9, 512, 25 }, { 9, 513, 49 },
        { 63, 17, 9 }, { 64, 17, 9 }, { 65, 17, 9 }, { 129, 9, 31 },
        { 8, 9, 1535 }, { 8, 9, 1536 }, { 8, 9, 1537 }, { 8, 1025, 24 },
        { 48, 600, 72 }, { 66, 520, 100 }, { 1540, 8, 8 }
    };
    int layouts = 0;
    for (size_t n = 0; n <= 20; n++)
        for (int which = 0; which < 4; which++, layouts++) {
            run_product(which == 0 ? n : 16, which == 1 ? n : 16,
                        which == 2 ? n : 17, layouts, n % 2);
            run_product(n, n, n, layouts * 5, n % 2 == 0);
        }
    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        for (int fused = 0; fused < 2; fused++)
            run_product(edges[i][0], edges[i][1], edges[i][2],
                        (int)drawn(LAYOUTS * LAYOUTS * LAYOUTS), fused);
    for (layouts = 0; layouts < LAYOUTS * LAYOUTS * LAYOUTS; layouts++)
        for (int fused = 0; fused < 2; fused++) {
            size_t m = 13 + drawn(20);
            size_t k = 11 + drawn(12);
            run_product(m, k, 14 + drawn(45), layouts, fused);
        }
}

/* --- other texts ----------------------------------------------------------- */

// The adjoints of a product are products, too.
static void run_adjoints(void)
{
    product p = { .m = 19, .k = 23, .n = 29 };
    p.A = matrix_of(ROWS, p.m, p.k);
    p.B = matrix_of(COLUMNS, p.k, p.n);
    p.C = matrix_of(ROWS, p.m, p.n);
    matrix G = matrix_of(ROWS, p.m, p.k);
    matrix H = matrix_of(COLUMNS, p.k, p.n);
    ad_tensor *t = bound_product(&p, "in A[m,k], B[k,n];"
                             "out C[i,j] = sum(l) A[i,l]*B[l,j];");
    const ad_real *x[] = { p.A.first, p.B.first };
    const ad_real *w[] = { p.C.first };
    ad_real *dx[] = { G.first, H.first };
    OK(ad_tensor_vjp(t, x, w, NULL, dx));
    const product by_a = {
        .m = p.m, .k = p.n, .n = p.k, .A = p.C, .C = G,
        .B = { { p.B.stride[1], p.B.stride[0] }, NULL, p.B.first, 0 }
    };
    const product by_b = {
        .m = p.k, .k = p.m, .n = p.n, .B = p.C, .C = H,
        .A = { { p.A.stride[1], p.A.stride[0] }, NULL, p.A.first, 0 }
    };
    compare(&by_a, 1, "adjoint of A");
    compare(&by_b, 1, "adjoint of B");
    ad_tensor_free(t);
    free(p.A.room);
    free(p.B.room);
    free(p.C.room);
    free(G.room);
    free(H.room);
}

// The constant of a term is multiplied with its first factor.
static void run_constants(void)
{
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int fused = 0; fused < 2; fused++) {
            product p = { .m = 21, .k = 17, .n = 26, .fused = fused };
            p.A = matrix_of(ROWS, p.m, p.k);
            p.B = matrix_of(SPACED, p.k, p.n);
            p.C = matrix_of(layout, p.m, p.n);
            ad_tensor *t = bound_product(&p, "in A[m,k], B[k,n];"
                                 "out C[i,j] = sum(l) 0.3*A[i,l]*B[l,j];");
            const ad_real *x[] = { p.A.first, p.B.first };
            ad_real *y[] = { p.C.first };
            OK(ad_tensor_eval(t, x, y));
            compare(&p, (ad_real)0.3, "0.3 A B");
            ad_tensor_free(t);
            free(p.A.room);
            free(p.B.room);
            free(p.C.room);
        }
}

enum { MOST = 4000 };

// A text whose inputs and results have MOST numbers at most, with panels and
// without: the same bits. The work of loops by hand, `want`, is close.
static void run_text(const char *text, size_t inputs, size_t results,
                     void (*want)(const ad_real *const x[], ad_real *y))
{
    static ad_real room[3][MOST], y[MOST], again[MOST], by_hand[MOST];
    rations r = { .left = -1 };
    const ad_allocator memory = { rationed, returned, &r };
    const ad_real *x[3] = { room[0], room[1], room[2] };
    ad_real *to[] = { y };
    ad_real *to_again[] = { again };
    ad_tensor *t = NULL;
    ad_tensor_error e = { 0 };
    const ad_tensor_options o = { .allocator = &memory };
    for (size_t i = 0; i < MOST; i++)
        for (size_t a = 0; a < inputs; a++)
            room[a][i] = number();
    CHECK(ad_tensor_new(&t, text, &o, &e) == ADREV_OK, "%s", e.text);
    CHECK(ad_tensor_bind(t, &e) == ADREV_OK, "%s", e.text);
    OK(ad_tensor_eval(t, x, to));
    want(x, by_hand);
    for (long left = 0; left < 10; left++) {
        bind_anew(t, &r);
        r.left = left;
        memset(again, 0, sizeof again);
        if (ad_tensor_eval(t, x, to_again) == ADREV_OK)
            CHECK(memcmp(y, again, results * sizeof *y) == 0,
                  "%s\nother bits with %ld blocks", text, left);
    }
    double error = sizeof(ad_real) == sizeof(float) ? 1e-3 : 1e-11;
    for (size_t i = 0; i < results; i++)
        CHECK(fabs((double)(y[i] - by_hand[i])) < error, "%s\n[%zu]: %g, not %g",
              text, i, (double)y[i], (double)by_hand[i]);
    ad_tensor_free(t);
}

// A[3,9,11], B[3,11,10]
static void batch(const ad_real *const x[], ad_real *y)
{
    memset(y, 0, 3 * 90 * sizeof *y);
    for (int b = 0; b < 3; b++)
        for (int i = 0; i < 9; i++)
            for (int j = 0; j < 10; j++)
                for (int l = 0; l < 11; l++)
                    y[(b * 9 + i) * 10 + j] += x[0][(b * 9 + i) * 11 + l]
                                             * x[1][(b * 11 + l) * 10 + j];
}

static void summed_batch(const ad_real *const x[], ad_real *y)
{
    static ad_real each[3 * 90];
    batch(x, each);
    for (int i = 0; i < 90; i++)
        y[i] = each[i] + each[90 + i] + each[180 + i];
}

// D - A B + A B, with D[9,10] and matrices of a batch
static void several(const ad_real *const x[], ad_real *y)
{
    static ad_real each[3 * 90];
    batch(x, each);
    for (int i = 0; i < 90; i++)
        y[i] = x[2][i] - each[i] + each[90 + i];
}

// x[30], w[11,10]: windows of x are rows.
static void windows(const ad_real *const x[], ad_real *y)
{
    memset(y, 0, 200 * sizeof *y);
    for (int i = 0; i < 20; i++)
        for (int c = 0; c < 10; c++)
            for (int l = 0; l < 11; l++)
                y[i * 10 + c] += x[0][i + l] * x[1][l * 10 + c];
}

// The columns of the result lie apart and turned round.
static void turned(const ad_real *const x[], ad_real *y)
{
    static ad_real each[3 * 90];
    batch(x, each);
    for (int b = 0; b < 3; b++)
        for (int i = 0; i < 9; i++)
            for (int j = 0; j < 10; j++)
                y[(j * 3 + b) * 9 + i] = each[(b * 9 + i) * 10 + j];
}

static void run_texts(void)
{
    run_text("in A[3,9,11], B[3,11,10];"
             "out C[b,i,j] = sum(l) A[b,i,l]*B[b,l,j];", 2, 270, batch);
    run_text("in A[3,9,11], B[3,11,10];"
             "out C[i,j] = sum(b,l) A[b,i,l]*B[b,l,j];", 2, 90, summed_batch);
    run_text("in A[3,9,11], B[3,11,10];"
             "out C[j,b,i] = sum(l) A[b,i,l]*B[b,l,j];", 2, 270, turned);
    run_text("in A[3,9,11], B[3,11,10], D[9,10]; out C[i,j] = D[i,j]"
             " - (sum(l) A[0,i,l]*B[0,l,j]) + sum(l) A[1,i,l]*B[1,l,j];", 3, 90,
             several);
    run_text("in x[30], w[11,10]; out y[i<20,c] = sum(l) x[i+l]*w[l,c];", 2,
             200, windows);
}

/* --- gemm ------------------------------------------------------------------ */

static struct { long calls; size_t m, k, n; const ad_real *A, *B; ad_real *C;
                ptrdiff_t stride[6]; } told;

static void plain_gemm(size_t m, size_t k, size_t n, const ad_real *A,
                       ptrdiff_t ars, ptrdiff_t acs, const ad_real *B,
                       ptrdiff_t brs, ptrdiff_t bcs, ad_real *C, ptrdiff_t crs,
                       ptrdiff_t ccs)
{
    const ptrdiff_t stride[6] = { ars, acs, brs, bcs, crs, ccs };
    told.calls++;
    told.m = m;
    told.k = k;
    told.n = n;
    told.A = A;
    told.B = B;
    told.C = C;
    memcpy(told.stride, stride, sizeof stride);
    for (ptrdiff_t i = 0; i < (ptrdiff_t)m; i++)
        for (ptrdiff_t j = 0; j < (ptrdiff_t)n; j++)
            for (ptrdiff_t l = 0; l < (ptrdiff_t)k; l++)
                C[i * crs + j * ccs] += A[i * ars + l * acs]
                                      * B[l * brs + j * bcs];
}

static void run_gemm(void)
{
    enum { M = 9, K = 14, N = 33 };
    static ad_real A[M * K], B[K * N], C[M * N], D[M * N];
    const ad_real *x[] = { A, B };
    ad_real *y[] = { C };
    ad_real *z[] = { D };
    for (int scaled = 0; scaled < 2; scaled++) {
        rations r = { .left = -1 };
        const ad_allocator memory = { rationed, returned, &r };
        const ad_tensor_options with = { .allocator = &memory,
                                         .gemm = plain_gemm };
        const char *text = scaled
            ? "in A[9,14], B[14,33]; out C[i,j] = sum(l) 0.7*A[i,l]*B[l,j];"
            : "in A[9,14], B[14,33]; out C[i,j] = sum(l) A[i,l]*B[l,j];";
        ad_tensor *t = NULL;
        ad_tensor *u = NULL;
        for (int i = 0; i < M * K; i++)
            A[i] = number();
        for (int i = 0; i < K * N; i++)
            B[i] = number();
        OK(ad_tensor_new(&t, text, &with, NULL));
        OK(ad_tensor_new(&u, text, NULL, NULL));
        told.calls = 0;
        OK(ad_tensor_eval(t, x, y));
        OK(ad_tensor_eval(u, x, z));
        CHECK(told.calls == 1 && told.m == M && told.k == K && told.n == N
                  && told.B == B && told.C == C && (scaled || told.A == A),
              "gemm: %ld calls, %zu x %zu x %zu", told.calls, told.m, told.k,
              told.n);
        CHECK(told.stride[0] == K && told.stride[1] == 1 && told.stride[2] == N
                  && told.stride[3] == 1 && told.stride[4] == N
                  && told.stride[5] == 1, "gemm: strides");
        for (int i = 0; i < M * N; i++)
            CHECK_NEAR(C[i], D[i], sizeof(ad_real) == sizeof(float) ? 1e-3L
                                                                    : 1e-9L);
        bind_anew(t, &r);
        r.left = 2;             // none for a scaled copy
        OK(ad_tensor_eval(t, x, y));
        CHECK(r.held > 0 && (r.refused > 0) == (told.calls == 1),
              "gemm: %ld calls without memory", told.calls);
        if (scaled)
            CHECK(memcmp(C, D, sizeof C) == 0, "other bits without a copy");
        ad_tensor_free(t);
        ad_tensor_free(u);
        CHECK(r.held == 0, "%ld blocks are left", r.held);
    }
}

/* --- fused strips ---------------------------------------------------------- */

static ad_real fused(ad_real a, ad_real b, ad_real c)
{
    return sizeof(ad_real) == sizeof(float)
        ? (ad_real)fmaf((float)a, (float)b, (float)c)
        : (ad_real)fma((double)a, (double)b, (double)c);
}

// A matrix times a vector, by rows and by columns; a sum that adds to another.
static void run_strips(void)
{
    enum { N = 43 };
    static ad_real A[N * N], x[N], y[N], z[N];
    const ad_real *in[] = { A, x };
    ad_real *out[] = { y, z };
    const ad_tensor_options o = { .fused = true };
    ad_tensor *t = NULL;
    for (int i = 0; i < N * N; i++)
        A[i] = number();
    for (int i = 0; i < N; i++)
        x[i] = number();
    OK(ad_tensor_new(&t, "in A[43,43], x[43]; out y[i] = sum(j) A[i,j]*x[j];"
                         "out z[i] = sum(j) A[j,i]*x[j];", &o, NULL));
    OK(ad_tensor_eval(t, in, out));
    for (int i = 0; i < N; i++) {
        ad_real sum[8] = { 0 };
        ad_real column = 0;
        for (int j = 0; j < N; j++) {
            ad_real *to = &sum[j < N / 8 * 8 ? j % 8 : 0];
            *to = fused(A[i * N + j], x[j], *to);
            column = fused(A[j * N + i], x[j], column);
        }
        ad_real row = ((sum[0] + sum[4]) + (sum[1] + sum[5]))
                    + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
        CHECK(y[i] == row, "row %d: %.17g, not %.17g", i, (double)y[i],
              (double)row);
        CHECK(z[i] == column, "column %d: %.17g, not %.17g", i, (double)z[i],
              (double)column);
    }
    ad_tensor_free(t);
}

int main(void)
{
    run_sizes();
    run_adjoints();
    run_constants();
    run_texts();
    run_gemm();
    run_strips();
    return check_done("matrices");
}
