// SPDX-License-Identifier: MIT-0
/* cases.h - tensor programs with known values, gradients and operations: A1 to
 * A21, as texts of the language. Include it after adrev_tensor.h.
 *
 * Operations are those of the cost model. A library may need fewer, because it
 * shares equal expressions, folds constants or knows squares; where none of
 * these can help, the numbers are `exact`. Entries written are not in the
 * table: ad_tensor_cost has no number for them.                             */

#ifndef ADREV_TESTS_TENSOR_CASES_H
#define ADREV_TESTS_TENSOR_CASES_H

#include <stdbool.h>
#include <stddef.h>

enum {
    CASE_SIZES = 4, CASE_MAPS = 2, CASE_COLUMNS = 3, CASE_INPUTS = 8,
    CASE_OUTS = 2, CASE_NUMBERS = 256
};

typedef struct case_count { unsigned add, mul, fn; bool exact; } case_count;

typedef struct tensor_case {
    const char *name, *text;
    struct { const char *name; size_t n; } size[CASE_SIZES];
    struct {
        const char *name;
        size_t entries;
        const int *column[CASE_COLUMNS];
        const int *start;       // and column[1]: once more as rows
    } relation;
    struct { const char *name; const int *value; } map[CASE_MAPS];
    struct {
        size_t n;               // 0: no more inputs
        const ad_real *x;       // NULL: all 1
        const ad_real *g;       // the gradient, where it is known
        bool unwanted;          // and not to be computed
    } in[CASE_INPUTS];
    struct {
        size_t n;
        const ad_real *w;       // NULL: all 1
        const ad_real *y;       // NULL: not known
    } out[CASE_OUTS];
    case_count F, R;
    bool linear;                // R needs no values but those of inputs
} tensor_case;

#define V(...) (const ad_real[]){ __VA_ARGS__ }
#define I(...) (const int[]){ __VA_ARGS__ }
#define CASE_DIAGONAL "in x[n]; A[i<n,j<n] = [i==j] x[i];\n"
#define CASE_TRACE "sum(i) A[i,i]"
#define CASE_TRACES_2 CASE_TRACE " + " CASE_TRACE
#define CASE_TRACES_4 CASE_TRACES_2 " + " CASE_TRACES_2
#define CASE_CONVOLUTION                                                    \
    "in x[1-m:n], c[m]; out y[i<n] = sum(j) x[i-j]*c[j];"

static const ad_real case_count_64[64] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
    21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39,
    40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58,
    59, 60, 61, 62, 63
};

// n = 5; the numbers off the band are not to matter.
static const ad_real case_band[25] = {
    2, -1, 77, 77, 77, -1, 2, -1, 77, 77, 77, -1, 2, -1, 77,
    77, 77, -1, 2, -1, 77, 77, 77, -1, 2
};

static const tensor_case tensor_cases[] = {
    // A1: k traces of a diagonal matrix. With sharing F is n - 1 and k - 1, or
    // one multiplication by k.
    { "A1 traces, 3 x 2", CASE_DIAGONAL "out f = " CASE_TRACES_2 ";",
      .size = { { "n", 3 } }, .in = { { 3, NULL, V(2, 2, 2), false } },
      .out = { { 1, NULL, V(6) } }, .F = { .add = 5 }, .R = { .add = 3 },
      .linear = true },
    { "A1 traces, 5 x 4", CASE_DIAGONAL "out f = " CASE_TRACES_4 ";",
      .size = { { "n", 5 } },
      .in = { { 5, V(1, 2, 3, 4, 5), V(4, 4, 4, 4, 4), false } },
      .out = { { 1, NULL, V(60) } }, .F = { .add = 19 }, .R = { .add = 15 },
      .linear = true },
    { "A1 traces, 16 x 4", CASE_DIAGONAL "out f = " CASE_TRACES_4 ";",
      .size = { { "n", 16 } }, .in = { { 16, NULL, NULL, false } },
      .out = { { 1, NULL, V(64) } }, .F = { .add = 63 }, .R = { .add = 48 },
      .linear = true },
    { "A1 traces, 16 x 8",
      CASE_DIAGONAL "out f = " CASE_TRACES_4 " + " CASE_TRACES_4 ";",
      .size = { { "n", 16 } }, .in = { { 16, NULL, NULL, false } },
      .out = { { 1, NULL, V(128) } }, .F = { .add = 127 },
      .R = { .add = 112 }, .linear = true },
    { "A1 traces, shared", CASE_DIAGONAL "t = " CASE_TRACE ";"
      " out f = t + t + t + t;",
      .size = { { "n", 5 } },
      .in = { { 5, V(1, 2, 3, 4, 5), V(4, 4, 4, 4, 4), false } },
      .out = { { 1, NULL, V(60) } }, .F = { .add = 7 }, .R = { .add = 3 },
      .linear = true },

    // A2: the predicate of the view reaches the product.
    { "A2 dot of column and row", CASE_DIAGONAL
      "out f = sum(i) A[i,0]*A[0,i];",
      .size = { { "n", 4 } },
      .in = { { 4, V(3, 4, 5, 6), V(6, 0, 0, 0), false } },
      .out = { { 1, NULL, V(9) } }, .F = { .mul = 1 },
      .R = { .add = 1, .mul = 2 },
      .linear = true },
    { "A2 dot of column and row, 64", CASE_DIAGONAL
      "out f = sum(i) A[i,0]*A[0,i];",
      .size = { { "n", 64 } }, .in = { { 64, NULL, NULL, false } },
      .out = { { 1, NULL, V(1) } }, .F = { .mul = 1 },
      .R = { .add = 1, .mul = 2 },
      .linear = true },

    // A3
    { "A3 dots, 4", CASE_DIAGONAL "out f = sum(c<4,i) A[i,c]*A[c,i];",
      .size = { { "n", 4 } },
      .in = { { 4, V(3, 4, 5, 6), V(6, 8, 10, 12), false } },
      .out = { { 1, NULL, V(86) } }, .F = { 15, 16, 0, false },
      .R = { 16, 32, 0, false },
      .linear = true },
    { "A3 dots, 8", CASE_DIAGONAL "out f = sum(c<4,i) A[i,c]*A[c,i];",
      .size = { { "n", 8 } },
      .in = { { 8, V(3, 4, 5, 6, 7, 8, 9, 1), V(6, 8, 10, 12, 0, 0, 0, 0),
                false } },
      .out = { { 1, NULL, V(86) } }, .F = { 31, 32, 0, false },
      .R = { 16, 64, 0, false },
      .linear = true },
    { "A3 dots, 16, a predicate", CASE_DIAGONAL
      "out f = sum(c,i: c < 4) A[i,c]*A[c,i];",
      .size = { { "n", 16 } }, .in = { { 16, NULL, NULL, false } },
      .out = { { 1, NULL, V(4) } }, .F = { 63, 64, 0, false },
      .R = { 16, 128, 0, false },
      .linear = true },

    // A4
    { "A4 trace of s times eye",
      "in s; A[i<7,j<7] = [i==j] s; out f = sum(i) A[i,i];",
      .in = { { 1, V(3), V(7), false } }, .out = { { 1, NULL, V(21) } },
      .F = { .add = 6 }, .R = { .add = 6 }, .linear = true },

    // A5: with respect to x; the last one with respect to both
    { "A5 convolution, 4, 2", CASE_CONVOLUTION,
      .size = { { "n", 4 }, { "m", 2 } },
      .in = { { 5, V(1, 2, 3, 4, 5), V(-1, 1, 1, 1, 2), false },
              { 2, V(2, -1), NULL, true } },
      .out = { { 4, NULL, V(3, 4, 5, 6) } }, .F = { 4, 8, 0, true },
      .R = { 3, 8, 0, true }, .linear = true },
    { "A5 convolution, 4, 3", CASE_CONVOLUTION,
      .size = { { "n", 4 }, { "m", 3 } },
      .in = { { 6, V(1, 2, 3, 4, 5, 6), V(3, 2, 4, 4, 1, 2), false },
              { 3, V(2, -1, 3), NULL, true } },
      .out = { { 4, NULL, V(7, 11, 15, 19) } }, .F = { 8, 12, 0, true },
      .R = { 6, 12, 0, true }, .linear = true },
    { "A5 convolution, 6, 3", CASE_CONVOLUTION,
      .size = { { "n", 6 }, { "m", 3 } },
      .in = { { 8, NULL, V(1, 2, 3, 3, 3, 3, 2, 1), false },
              { 3, NULL, NULL, true } },
      .out = { { 6, NULL, V(3, 3, 3, 3, 3, 3) } }, .F = { 12, 18, 0, true },
      .R = { 10, 18, 0, true }, .linear = true },
    { "A5 convolution, 6, 3, both", CASE_CONVOLUTION,
      .size = { { "n", 6 }, { "m", 3 } },
      .in = { { 8, NULL, V(1, 2, 3, 3, 3, 3, 2, 1), false },
              { 3, NULL, V(6, 6, 6), false } },
      .out = { { 6, NULL, V(3, 3, 3, 3, 3, 3) } }, .F = { 12, 18, 0, true },
      .R = { 25, 36, 0, true }, .linear = true },
    { "A5 convolution, padded",
      "in x[n], c[m]; out y[i<n] = sum(j) x?[i-j]*c[j];",
      .size = { { "n", 4 }, { "m", 2 } },
      .in = { { 4, V(2, 3, 4, 5), V(1, 1, 1, 2), false },
              { 2, V(2, -1), V(14, 9), false } },
      .out = { { 4, NULL, V(4, 4, 5, 6) } }, .F = { 3, 7, 0, true },
      .R = { 8, 14, 0, true }, .linear = true },

    // A6: -z is a multiplication.
    { "A6 deconvolution", "in x[1-m:n], c[m], z[n];\n"
      "y[i<n] = sum(j) x[i-j]*c[j]; out f = sum(i) (y[i] - z[i])^2;",
      .size = { { "n", 4 }, { "m", 2 } },
      .in = { { 5, V(1, 2, 3, 4, 5), V(-4, 2, 4, 6, 20), false },
              { 2, V(2, -1), NULL, true }, { 4, NULL, NULL, true } },
      .out = { { 1, NULL, V(54) } }, .F = { 11, 16, 0, false },
      .R = { 7, 16, 0, false } },
    { "A6 batch, the let outside", "in w[m], x[b,1-m:n], z[b,n];\n"
      "y[k<b,i<n] = sum(j) x[k,i-j]*w[j];\n"
      "out f = sum(k,i) (y[k,i] - z[k,i])^2;",
      .size = { { "b", 2 }, { "n", 4 }, { "m", 2 } },
      .in = { { 2, V(1, 2), V(1256, 940), false },
              { 10, V(1, 2, 3, 4, 5, 2, 4, 6, 8, 10), NULL, true },
              { 8, NULL, NULL, true } },
      .out = { { 1, NULL, V(1474) } }, .F = { 23, 32, 0, false },
      .R = { 22, 32, 0, false } },
    { "A6 batch, the let inside", "in w[m], x[b,1-m:n], z[b,n];\n"
      "out f = sum(k,i) ((sum(j) x[k,i-j]*w[j]) - z[k,i])^2;",
      .size = { { "b", 2 }, { "n", 4 }, { "m", 2 } },
      .in = { { 2, V(1, 2), V(1256, 940), false },
              { 10, V(1, 2, 3, 4, 5, 2, 4, 6, 8, 10), NULL, true },
              { 8, NULL, NULL, true } },
      .out = { { 1, NULL, V(1474) } }, .F = { 23, 32, 0, false },
      .R = { 22, 32, 0, false } },

    // A7, A8
    { "A7 dead copies", "in x; a = x; b = x; c = x; d = x; e = x;"
      " out y = 2*x;",
      .in = { { 1, V(3), V(2), false } }, .out = { { 1, NULL, V(6) } },
      .F = { 0, 1, 0, true }, .R = { 0, 1, 0, true }, .linear = true },
    { "A8 linear graph, both", "in x, y; a = 2*x + 3*y; b = 4*x + a;"
      " out z = 8*x; out w = 5*a + 6*b;",
      .in = { { 1, V(1), V(54), false }, { 1, V(2), V(33), false } },
      .out = { { 1, V(1), V(8) }, { 1, V(1), V(112) } },
      .F = { 3, 6, 0, false }, .R = { 3, 6, 0, false }, .linear = true },
    { "A8 linear graph, z", "in x, y; a = 2*x + 3*y; b = 4*x + a;"
      " out z = 8*x; out w = 5*a + 6*b;",
      .in = { { 1, V(1), V(8), false }, { 1, V(2), V(0), false } },
      .out = { { 1, V(1), V(8) }, { 1, V(0), V(112) } },
      .F = { 3, 6, 0, false }, .R = { 3, 6, 0, false }, .linear = true },
    { "A8 linear graph, w", "in x, y; a = 2*x + 3*y; b = 4*x + a;"
      " out z = 8*x; out w = 5*a + 6*b;",
      .in = { { 1, V(1), V(46), false }, { 1, V(2), V(33), false } },
      .out = { { 1, V(0), V(8) }, { 1, V(1), V(112) } },
      .F = { 3, 6, 0, false }, .R = { 3, 6, 0, false }, .linear = true },

    // A9 to A11
    { "A9 skipping sum", "in x[n]; out f = sum(i: i != 1) x[i];",
      .size = { { "n", 6 } },
      .in = { { 6, V(1, 2, 3, 4, 5, 6), V(7, 0, 7, 7, 7, 7), false } },
      .out = { { 1, V(7), V(19) } }, .F = { 4, 0, 0, true },
      .R = { 0, 0, 0, true }, .linear = true },
    { "A10 product", "in a, b, c, d, e, g, h, k; out f = a*b*c*d*e*g*h*k;",
      .in = { { 1, V(1), V(40320), false }, { 1, V(2), V(20160), false },
              { 1, V(3), V(13440), false }, { 1, V(4), V(10080), false },
              { 1, V(5), V(8064), false }, { 1, V(6), V(6720), false },
              { 1, V(7), V(5760), false }, { 1, V(8), V(5040), false } },
      .out = { { 1, NULL, V(40320) } }, .F = { 0, 7, 0, true },
      .R = { 0, 14, 0, false } },
    { "A11 sum of squares", "in x[n]; out f = sum(i) x[i]*x[i];",
      .size = { { "n", 6 } },
      .in = { { 6, V(1, 2, 3, 4, 5, 6), V(2, 4, 6, 8, 10, 12), false } },
      .out = { { 1, NULL, V(91) } }, .F = { 5, 6, 0, false },
      .R = { 6, 12, 0, false },
      .linear = true },
    { "A11 sum of squares, named",
      "in x[n]; y[i] = x[i]*x[i]; out f = sum(i) y[i];",
      .size = { { "n", 6 } },
      .in = { { 6, V(1, 2, 3, 4, 5, 6), V(2, 4, 6, 8, 10, 12), false } },
      .out = { { 1, NULL, V(91) } }, .F = { 5, 6, 0, false },
      .R = { 6, 12, 0, false },
      .linear = true },
    { "A11 sum of squares, a power", "in x[n]; out f = sum(i) x[i]^2;",
      .size = { { "n", 6 } },
      .in = { { 6, V(1, 2, 3, 4, 5, 6), V(2, 4, 6, 8, 10, 12), false } },
      .out = { { 1, NULL, V(91) } }, .F = { 5, 6, 0, false },
      .R = { 6, 12, 0, false },
      .linear = true },

    // A12, A13
    { "A12 matrix product", "in A[m,k], B[k,n];"
      " out C[i,j] = sum(l) A[i,l]*B[l,j];",
      .size = { { "m", 3 }, { "k", 3 }, { "n", 3 } },
      .in = { { 9, NULL, V(3, 3, 3, 3, 3, 3, 3, 3, 3), false },
              { 9, NULL, V(3, 3, 3, 3, 3, 3, 3, 3, 3), false } },
      .out = { { 9, NULL, V(3, 3, 3, 3, 3, 3, 3, 3, 3) } },
      .F = { 18, 27, 0, true }, .R = { 36, 54, 0, true }, .linear = true },
    { "A12 matrix product, 4, 5, 6", "in A[m,k], B[k,n];"
      " out C[i,j] = sum(l) A[i,l]*B[l,j];",
      .size = { { "m", 4 }, { "k", 5 }, { "n", 6 } },
      .in = { { 20, NULL, NULL, false }, { 30, NULL, NULL, false } },
      .out = { { 24, NULL, NULL } }, .F = { 96, 120, 0, true },
      .R = { 190, 240, 0, true }, .linear = true },
    { "A13 outer product", "in x[n], y[m]; out C[i,j] = x[i]*y[j];",
      .size = { { "n", 3 }, { "m", 4 } },
      .in = { { 3, V(1, 2, 3), V(22, 22, 22), false },
              { 4, V(4, 5, 6, 7), V(6, 6, 6, 6), false } },
      .out = { { 12, NULL, V(4, 5, 6, 7, 8, 10, 12, 14, 12, 15, 18, 21) } },
      .F = { 0, 12, 0, true }, .R = { 17, 24, 0, true }, .linear = true },

    // A14: a derivative call is a function and a multiplication by its adjoint.
    { "A14 predicated function", "in x[n]; out f = sum(i: i != 2) sqr(x[i]);",
      .size = { { "n", 4 } },
      .in = { { 4, V(1, 2, 3, 4), V(2, 4, 0, 8), false } },
      .out = { { 1, NULL, V(21) } }, .F = { 2, 0, 3, false },
      .R = { 0, 3, 3, false }, .linear = true },

    // A15
    { "A15 triangle", "in A[n,n]; out f = sum(i,j: i <= j) A[i,j];",
      .size = { { "n", 4 } },
      .in = { { 16, case_count_64,
                V(1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1), false } },
      .out = { { 1, NULL, V(0 + 1 + 2 + 3 + 5 + 6 + 7 + 10 + 11 + 15) } },
      .F = { 9, 0, 0, true }, .R = { 0, 0, 0, true }, .linear = true },
    { "A15 antidiagonal, 4", "in A[n,n]; out f = sum(i,j: i+j == n-1) A[i,j];",
      .size = { { "n", 4 } },
      .in = { { 16, case_count_64,
                V(0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0), false } },
      .out = { { 1, NULL, V(30) } }, .F = { 3, 0, 0, true },
      .R = { 0, 0, 0, true }, .linear = true },
    { "A15 antidiagonal, 8", "in A[n,n]; out f = sum(i,j: i+j == n-1) A[i,j];",
      .size = { { "n", 8 } }, .in = { { 64, case_count_64, NULL, false } },
      .out = { { 1, NULL, V(252) } }, .F = { 7, 0, 0, true },
      .R = { 0, 0, 0, true }, .linear = true },

    // A16
    { "A16 strided views", "in x[n]; out f = sum(i<3) x[2*i]*x[2*i+1];",
      .size = { { "n", 6 } },
      .in = { { 6, V(1, 2, 3, 4, 5, 6), V(2, 1, 4, 3, 6, 5), false } },
      .out = { { 1, NULL, V(44) } }, .F = { 2, 3, 0, true },
      .R = { 0, 6, 0, true }, .linear = true },
    { "A16 reversed view", "in x[n]; out f = sum(i) x[i]*x[n-1-i];",
      .size = { { "n", 4 } },
      .in = { { 4, V(1, 2, 3, 4), V(8, 6, 4, 2), false } },
      .out = { { 1, NULL, V(20) } }, .F = { 3, 4, 0, true },
      .R = { 4, 8, 0, false }, .linear = true },

    // A17, A18
    { "A17 masks", "in x[n], y[n]; out M[i,j] = [i==j] x[i] + [i<j] y[j];",
      .size = { { "n", 4 } },
      .in = { { 4, V(1, 2, 3, 4), V(1, 1, 1, 1), false },
              { 4, V(5, 6, 7, 8), V(0, 1, 2, 3), false } },
      .out = { { 16, NULL,
                 V(1, 6, 7, 8, 0, 2, 7, 8, 0, 0, 3, 8, 0, 0, 0, 4) } },
      .F = { 0, 0, 0, true }, .R = { 3, 0, 0, true }, .linear = true },
    { "A18 band, 5", "in A[n,n], x[n];"
      " out y[i] = sum(j: i-1 <= j <= i+1) A[i,j]*x[j];",
      .size = { { "n", 5 } },
      .in = { { 25, case_band,
                V(1, 2, 0, 0, 0, 1, 2, 3, 0, 0, 0, 2, 3, 4, 0,
                  0, 0, 3, 4, 5, 0, 0, 0, 4, 5), false },
              { 5, V(1, 2, 3, 4, 5), V(1, 0, 0, 0, 1), false } },
      .out = { { 5, NULL, V(0, 0, 0, 0, 6) } }, .F = { 8, 13, 0, true },
      .R = { 8, 26, 0, true }, .linear = true },
    { "A18 band, 10", "in A[n,n], x[n];"
      " out y[i] = sum(j: i-1 <= j <= i+1) A[i,j]*x[j];",
      .size = { { "n", 10 } },
      .in = { { 100, NULL, NULL, false }, { 10, NULL, NULL, false } },
      .out = { { 10, NULL, V(2, 3, 3, 3, 3, 3, 3, 3, 3, 2) } },
      .F = { 18, 28, 0, true }, .R = { 18, 56, 0, true }, .linear = true },

    // A19: with respect to both, to x, to A; by columns and by rows
    { "A19 sparse", "rel R[m,n]; in A[R], x[n]; out y[i] = sum(j) A[i,j]*x[j];",
      .size = { { "m", 4 }, { "n", 4 } },
      .relation = { "R", 6, { I(0, 0, 1, 3, 3, 3), I(0, 2, 1, 0, 1, 3), NULL },
                    I(0, 2, 3, 3, 6) },
      .in = { { 6, V(1, 3, 12, 31, 32, 34), V(1, 3, 4, 4, 8, 16), false },
              { 4, V(1, 2, 3, 4), V(125, 152, 3, 136), false } },
      .out = { { 4, V(1, 2, 3, 4), V(10, 24, 0, 231) } },
      .F = { 3, 6, 0, true }, .R = { 2, 12, 0, true }, .linear = true },
    { "A19 sparse, x", "rel R[m,n]; in A[R], x[n];"
      " out y[i] = sum(j: R(i,j)) A[i,j]*x[j];",
      .size = { { "m", 4 }, { "n", 4 } },
      .relation = { "R", 6, { I(0, 0, 1, 3, 3, 3), I(0, 2, 1, 0, 1, 3), NULL },
                    NULL },
      .in = { { 6, V(1, 3, 12, 31, 32, 34), NULL, true },
              { 4, V(1, 2, 3, 4), V(125, 152, 3, 136), false } },
      .out = { { 4, V(1, 2, 3, 4), V(10, 24, 0, 231) } },
      .F = { 3, 6, 0, true }, .R = { 2, 6, 0, true }, .linear = true },
    { "A19 sparse, A, not sorted",
      "rel R[m,n]; in A[R], x[n]; out y[i] = sum(j) A[i,j]*x[j];",
      .size = { { "m", 4 }, { "n", 4 } },
      .relation = { "R", 6, { I(3, 0, 3, 1, 0, 3), I(3, 0, 0, 1, 2, 1), NULL },
                    NULL },
      .in = { { 6, V(34, 1, 31, 12, 3, 32), V(16, 1, 4, 4, 3, 8), false },
              { 4, V(1, 2, 3, 4), NULL, true } },
      .out = { { 4, V(1, 2, 3, 4), V(10, 24, 0, 231) } },
      .F = { 3, 6, 0, true }, .R = { 0, 6, 0, true }, .linear = true },

    // A20, A21
    { "A20 edges", "rel E[n,n]; in x[n];"
      " out f = sum(i,j: E(i,j)) (x[i] - x[j])^2;",
      .size = { { "n", 4 } },
      .relation = { "E", 3, { I(0, 1, 0), I(1, 2, 3), NULL }, NULL },
      .in = { { 4, V(1, 4, 2, 8), V(-20, 10, -4, 14), false } },
      .out = { { 1, NULL, V(62) } }, .F = { 5, 6, 0, false },
      .R = { 5, 9, 0, false } },
    { "A20 edges, a product", "rel E[n,n]; in x[n];"
      " out f = sum(i,j: E(i,j)) (x[i] - x[j])*(x[i] - x[j]);",
      .size = { { "n", 4 } },
      .relation = { "E", 3, { I(0, 1, 0), I(1, 2, 3), NULL }, NULL },
      .in = { { 4, V(1, 4, 2, 8), V(-20, 10, -4, 14), false } },
      .out = { { 1, NULL, V(62) } }, .F = { 8, 9, 0, false },
      .R = { 11, 18, 0, false } },
    { "A20 edges, two maps", "map a[e]->n, b[e]->n; in x[n];"
      " out f = sum(k<e) (x[a[k]] - x[b[k]])^2;",
      .size = { { "e", 3 }, { "n", 4 } },
      .map = { { "a", I(0, 1, 0) }, { "b", I(1, 2, 3) } },
      .in = { { 4, V(1, 4, 2, 8), V(-20, 10, -4, 14), false } },
      .out = { { 1, NULL, V(62) } }, .F = { 5, 6, 0, false },
      .R = { 5, 9, 0, false } },
    { "A21 segments", "map seg[n]->m; in x[n];"
      " out y[s<m] = sum(e: seg[e] == s) x[e];",
      .size = { { "n", 6 }, { "m", 3 } },
      .map = { { "seg", I(0, 2, 0, 1, 2, 2) } },
      .in = { { 6, V(1, 2, 3, 4, 5, 6), V(1, 100, 1, 10, 100, 100), false } },
      .out = { { 3, V(1, 10, 100), V(4, 4, 13) } }, .F = { 3, 0, 0, true },
      .R = { 0, 0, 0, true }, .linear = true },

    // A convolution of 6 x 6 with 3 x 3, padded, with respect to both
    { "convolution of a plane", "in x[h,w], k[p,q];\n"
      "out y[i<h,j<w] = sum(a,b) x?[i+a-1,j+b-1]*k[a,b];",
      .size = { { "h", 6 }, { "w", 6 }, { "p", 3 }, { "q", 3 } },
      .in = { { 36, NULL, NULL, false },
              { 9, NULL, V(25, 30, 25, 30, 36, 30, 25, 30, 25), false } },
      .out = { { 36, NULL, NULL } }, .F = { 220, 256, 0, true },
      .R = { 467, 512, 0, true }, .linear = true },
};

enum { TENSOR_CASES = sizeof tensor_cases / sizeof tensor_cases[0] };

#undef V
#undef I

#endif
