// SPDX-License-Identifier: MIT-0
// tags: formulas last-bits
/* paths.c - the order in which factors are multiplied and variables are summed:
 * operations against closed forms and against the best order of a chain of
 * matrices, values and gradients against the text's own order, and texts that
 * are evaluated as they are written.                                        */

#include "implementation.h"
#include "adrev_tensor.h"
#include "check.h"
#include "tensor_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 11, NUMBERS = 4096 };

static ad_tensor_cost count(const char *text, bool as_written,
                            ad_tensor_part part)
{
    ad_tensor_cost c = { 0 };
    ad_tensor *t = bound(text, as_written);
    OK(ad_tensor_count(t, part, NULL, &c));
    ad_tensor_free(t);
    return c;
}

static void counts(const char *text, bool as_written, uint64_t add,
                   uint64_t mul)
{
    ad_tensor_cost c = count(text, as_written, ADREV_TENSOR_VALUE);
    CHECK(c.add == add && c.mul == mul, "%s\nas written %d: (%d, %d), not "
          "(%d, %d)", text, as_written, (int)c.add, (int)c.mul, (int)add,
          (int)mul);
}

/* --- values ---------------------------------------------------------------- */

typedef struct evaluated {
    ad_real y[NUMBERS];
    ad_real dx[INPUTS][NUMBERS];
} evaluated;

static ad_real input[INPUTS][NUMBERS];
static ad_real ones[NUMBERS];

static void evaluate(const char *text, bool as_written, evaluated *e)
{
    const ad_real *x[INPUTS];
    const ad_real *w[] = { ones };
    ad_real *y[] = { e->y };
    ad_real *dx[INPUTS];
    ad_tensor *t = bound(text, as_written);
    memset(e, 0, sizeof *e);
    for (int i = 0; i < INPUTS; i++) {
        x[i] = input[i];
        dx[i] = e->dx[i];
    }
    OK(ad_tensor_vjp(t, x, w, y, dx));
    ad_tensor_free(t);
}

static bool close_to(const ad_real *a, const ad_real *b, size_t n)
{
    double error = sizeof(ad_real) == sizeof(float) ? 1e-3 : 1e-11;
    bool close = true;
    for (size_t i = 0; i < n; i++)
        close = close && fabs((double)(a[i] - b[i]))
                             <= error * (1 + fabs((double)b[i]));
    return close;
}

// The same values and gradients in both orders; the one by the path takes no
// more operations, and its gradient at most 4 times its value's.
static void both_orders(const char *text)
{
    static evaluated path, written;
    ad_tensor_cost c = count(text, false, ADREV_TENSOR_VALUE);
    ad_tensor_cost of = count(text, true, ADREV_TENSOR_VALUE);
    ad_tensor_cost g = count(text, false, ADREV_TENSOR_VJP);
    evaluate(text, false, &path);
    evaluate(text, true, &written);
    CHECK(close_to(path.y, written.y, NUMBERS), "%s\nother values", text);
    for (int i = 0; i < INPUTS; i++)
        CHECK(close_to(path.dx[i], written.dx[i], NUMBERS),
              "%s\nanother gradient by input %d", text, i);
    CHECK(c.add + c.mul <= of.add + of.mul, "%s\nis dearer than the text",
          text);
    CHECK(g.add + g.mul + g.io <= 4 * (c.add + c.mul + c.io),
          "%s\na gradient of more than 4 times the value", text);
}

/* --- closed forms ---------------------------------------------------------- */

static void run_closed(void)
{
    // A (B (C x)), though the text begins with A B
    counts("in A[3,4], B[4,5], C[5,6], x[6];"
           "out y[i] = sum(j,k,l) A[i,j]*B[j,k]*C[k,l]*x[l];", false,
           30 - 5 + 20 - 4 + 12 - 3, 30 + 20 + 12);
    counts("in A[3,4], B[4,5], C[5,6], x[6];"
           "out y[i] = sum(j,k,l) A[i,j]*B[j,k]*C[k,l]*x[l];", true,
           360 - 3, 60 + 360 + 360);
    // (A B) C and A (B C), in any order of the text
    counts("in A[10,100], B[100,5], C[5,50];"
           "out y[i,l] = sum(j,k) C[k,l]*A[i,j]*B[j,k];", false,
           5000 - 50 + 2500 - 500, 5000 + 2500);
    counts("in A[50,5], B[5,100], C[100,10];"
           "out y[i,l] = sum(j,k) C[k,l]*A[i,j]*B[j,k];", false,
           5000 - 50 + 2500 - 500, 5000 + 2500);
    // a sum over one factor only
    counts("in x[7], y[9]; out f = sum(i,j) x[i]*y[j];", false, 6 + 8, 1);
    counts("in x[7], y[9]; out f = sum(i,j) x[i]*y[j];", true, 62, 63);
    // a constant, and a factor without indices
    counts("in x[7], y[9], c; out f[i] = sum(j) 3*x[i]*y[j]*c;", false, 8,
           1 + 7 + 7);
    // a weighted product of three matrices of the same index
    counts("in A[8,4], B[9,4], C[10,4];"
           "out T[i,j,k] = sum(r) A[i,r]*B[j,r]*C[k,r];", false, 2880 - 720,
           8 * 9 * 4 + 2880);
    // there is nothing to gain, or there are conditions
    counts("in a[6], b[6], c[6]; out f = sum(i) a[i]*b[i]*c[i];", false, 5, 12);
    counts("in A[6,6], B[6,6], x[6];"
           "out f[i] = sum(j,k: j <= k) A[i,j]*B[j,k]*x[k];", false,
           6 * 21 - 6, 2 * 6 * 21);
    counts("in A[6,6], B[6,6], x[6];"       // an equation leaves a box
           "out f[i] = sum(j,k: j == k) A[i,j]*B[j,k]*x[k];", false, 30,
           6 + 36);
    // more factors than are looked at
    counts("in a[2], b[2], c[2], d[2], e[2], f[2], g[2], h[2], k[2], m[2],"
           "p[2]; out y = sum(i,j) a[i]*b[i]*c[i]*d[i]*e[i]*f[i]*g[i]*h[i]*k[i]"
           "*m[i]*p[j];", false, 3, 9 * 2 + 4);
}

/* --- chains ---------------------------------------------------------------- */

enum { CHAIN = 7 };

// The fewest multiplications for matrices i to j of these sizes.
static uint64_t best_chain(const size_t size[], int i, int j)
{
    uint64_t best = UINT64_MAX;
    for (int k = i; k < j; k++) {
        uint64_t n = best_chain(size, i, k) + best_chain(size, k + 1, j)
                   + (uint64_t)(size[i] * size[k + 1] * size[j + 1]);
        best = n < best ? n : best;
    }
    return i == j ? 0 : best;
}

// A chain of matrices, its factors in a random order.
static void write_chain(char *text, size_t room, int n, const size_t size[])
{
    int order[CHAIN];
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        int other = (int)drawn((uint64_t)i + 1);
        order[i] = order[other];
        order[other] = i;
        at += (size_t)snprintf(text + at, room - at, "in M%d[%zu,%zu]; ", i,
                               size[i], size[i + 1]);
    }
    at += (size_t)snprintf(text + at, room - at, "out y[i0,i%d] = sum(i1", n);
    for (int i = 2; i < n; i++)
        at += (size_t)snprintf(text + at, room - at, ",i%d", i);
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, room - at, "%sM%d[i%d,i%d]",
                               i == 0 ? ") " : "*", order[i], order[i],
                               order[i] + 1);
    snprintf(text + at, room - at, ";");
}

static void run_chains(void)
{
    char text[1000];
    for (int round = 0; round < 60; round++) {
        size_t size[CHAIN + 1];
        int n = 3 + (int)drawn(CHAIN - 2);
        for (int i = 0; i <= n; i++)
            size[i] = 2 + drawn(n > 5 ? 3 : 8);
        write_chain(text, sizeof text, n, size);
        ad_tensor_cost c = count(text, false, ADREV_TENSOR_VALUE);
        CHECK(c.mul == best_chain(size, 0, n - 1), "%s\n%d multiplications, "
              "not %d", text, (int)c.mul, (int)best_chain(size, 0, n - 1));
        both_orders(text);
    }
}

/* --- texts ----------------------------------------------------------------- */

static void run_texts(void)
{
    static const char *const texts[] = {
        "in A[5,6], B[6,7], C[7,4]; out y[i,l] = sum(j,k) A[i,j]*B[j,k]*C[k,l];",
        "in A[5,6], B[6,7]; out y = sum(i,j,k) A[i,j]*B[j,k]*A[i,j];",
        "in A[5,6], x[6]; out y[i] = sum(j,k) A[i,j]*A[k,j]*x[k+1];",
        "in A[6,6], x[6]; out f = sum(i,j) -2*A[i,j]*x[j]*x[i]*(x[j] + x[i]);",
        "in A[6,6], x[6]; out f = sum(i,j) exp(A[i,j])*x[i]^2*detach(x[j]);",
        "in A[5,6], B[6,5], C[5,5]; D[i,j] = -A[j,i];"
        "out y[i,m] = sum(j,k,l) A[i,j]*D[j,k]*A[k,l]*B[l,m]*C[m,i];",
        "in a[3], b[4], c[5]; out T[i,j,k] = a[i]*b[j]*c[k]*2;",
        "in a[3], b[4], c[5]; out y[i,j<4] = sum(k,l<3) a[i]*c[k]*b[2];",
        "in A[4,4], B[4,4], x[4]; y[i] = sum(j) A[i,j]*x[j];"
        "out f = sum(i,j,k) y[i]*B[i,j]*y[j]*A[j,k]*x[k];",
        "in A[4,4], x[4]; n[i,j] = [i<=j] A[i,j];"
        "out f = sum(i,j,k) x[i]*n[i,j]*A[j,k]*x[k];",
        "in A[4,4], x[4]; out f[i] = sum(j,k) A[i,j]*A[j,k]*x[k]"
        " - sum(j,k) (sum(l) A[j,l]*A[k,l]*x[l])*x[j]*A[i,k];",
        "in A[4,0], B[0,3], x[3]; out f[i] = sum(j,k) A[i,j]*B[j,k]*x[k];",
        "in A[4,1], B[1,3], x[3]; out f[i] = sum(j,k) A[i,j]*B[j,k]*x[k];",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        both_orders(texts[i]);
}

// As written: the bits of the same order, written as formulas.
static void run_as_written(void)
{
    static evaluated one, other;
    const char *text = "in A[5,6], B[6,7], x[7];"
                       "out y[i] = sum(j,k) A[i,j]*B[j,k]*x[k];";
    evaluate(text, true, &one);
    evaluate("in A[5,6], B[6,7], x[7]; P[i,j,k] = A[i,j]*B[j,k];"
             "out y[i] = sum(j,k) P[i,j,k]*x[k];", true, &other);
    CHECK(memcmp(one.y, other.y, 5 * sizeof *one.y) == 0,
          "as written: other bits");
    evaluate(text, false, &one);
    evaluate("in A[5,6], B[6,7], x[7]; z[j] = sum(k) B[j,k]*x[k];"
             "out y[i] = sum(j) A[i,j]*z[j];", true, &other);
    CHECK(memcmp(one.y, other.y, 5 * sizeof *one.y) == 0,
          "by the path: other bits");
}

// Signs of what is seen through, and conditions of parts of other sets.
static void run_signs(void)
{
    static evaluated e;
    evaluate("in x[4]; b[i] = -x[i]; out f = b[1]^2;", false, &e);
    CHECK(e.y[0] == input[0][1] * input[0][1]
              && e.dx[0][1] == 2 * input[0][1], "a square of minus x");
    evaluate("in x[4]; b[i] = -x[i]; out f = sum(i) b[i]^2*b[2];", false, &e);
    CHECK(e.y[0] < 0, "a cube of minus x");
    evaluate("in x[2]; out a[i in 0-1:2] = sum(j in 0-1:2)"
             " x?[i+j]*[0 <= i+j-2 < 2] 1;", false, &e);
    CHECK(e.y[0] == 0 && e.y[1] == 0 && e.y[2] == 0, "points outside");
}

int main(void)
{
    for (int i = 0; i < NUMBERS; i++) {
        ones[i] = 1;
        for (int a = 0; a < INPUTS; a++)
            input[a][i] = (ad_real)(0.3 + (double)drawn(1000000) / 3000017);
    }
    run_closed();
    run_chains();
    run_texts();
    run_as_written();
    run_signs();
    return check_done("paths");
}
