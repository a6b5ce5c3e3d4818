// SPDX-License-Identifier: MIT-0
// tags: formulas last-bits
/* gathers.c - strips along which maps give the other variables: values and
 * derivatives have the bits of loops that take one point after the other, for
 * as many points as are gathered at a time, one less and one more, and none;
 * and of a product by hand. Which texts have such strips, and which have not.
 */

#define ADREV_IMPLEMENTATION
#include "adrev_tensor.h"
#include "check.h"

#include <string.h>

enum {
    INPUTS = 4, OUTS = 2, NUMBERS = 16000, MIDDLE = NUMBERS / 2,
    MOST = 3 * ADX_GATHER_MOST, ROWS = 37, COLUMNS = 41, DEPTH = 29
};

typedef struct text_case {
    const char *text;
    bool strips;                // in values, or in derivatives
    int inputs, outs;
} text_case;

static const text_case texts[] = {
    { "rel R[n,m]; in A[R], x[m]; out y[i] = sum(j) A[i,j]*x[j];", true, 2, 1 },
    { "rel R[n,m]; in A[R], x[m]; out y[i] = -2.5*sum(j) A[i,j]*exp(x[j]);",
      true, 2, 1 },
    { "rel R[n,m]; in x[m], z[n];"
      "out y[i<n-1] = sum(j: R(i+1,j)) x[j]*z[i];"
      "out f = sum(i<n-3,j<m: R(n-2-i,m-1-j)) x[j]*z[i];", false, 2, 2 },
    { "rel R[n,m]; in z[-1:n-1], x[m], u[1:n+1];"
      "out y[i] = sum(j: R(i+1,j)) x[j]*z[i];"
      "out f = sum(i,j: R(n-i,m-1-j)) x[j]*u[i];", true, 3, 2 },
    // into one number; of factors that no map gives
    { "rel R[n,m]; in A[R], x[n], y[m];"
      "out f = sum(i,j) x[i]*A[i,j]*y[j]; out g = sum(i,j: R(i,j)) A[i,j]^2;",
      true, 3, 2 },
    { "rel R[n,m]; in x[n], y[m];"
      "out f = sum(i,j: R(i,j)) sin(x[i] - y[j]);", true, 2, 1 },
    // ranges behind the maps
    { "rel T[n,m,l]; in X[T], A[n,r], B[m,r], C[l,r];"
      "out f = sum(i,j,k: T(i,j,k))"
      " (X[i,j,k] - sum(s) A[i,s]*B[j,s]*C[k,s])^2;", true, 4, 1 },
    { "map a[k]->n; in W[n,2:r+2], z[k];"
      "out Y[i<k,s<r] = [1 < s] W[a[i],s+2]*z[i];"
      "out u[i<k,s<r] = [1 < s] tanh(W[a[i],s+2]);", true, 2, 2 },
    { "map a[k]->n; in W[r,n], z[k]; out Y[s<r,i<k] = exp(W[s,a[i]]*z[i]);",
      true, 2, 1 },
    // maps of maps, and of more than one index
    { "map a[k]->k; map b[k]->k; in x[k], z[k]; out y[i<k] = x[a[b[i]]]*z[i];"
      "out f = sum(i<k) exp(x[a[b[i]]]*z[a[i]]);", true, 2, 2 },
    { "map a[k]->n; map c[n]->l; in x[n], z[l];"
      "out y[i<k] = x[n-1-a[k-1-i]] + 3*z[c[a[i]]]*x[c[n-1-a[i]]];", true, 2,
      1 },
    { "map a[2*k]->n; in x[3*n]; out y[i<k] = x[3*a[2*i]+1]*x[a[2*i+1]+2];",
      true, 1, 1 },
    { "map a[-3:k-3]->n; in x[n]; out y[i<k] = x[a[i-3]]*x[n-1-a[k-4-i]];",
      true, 1, 1 },
    { "map a[k+r]->n; in x[n], z[k,r];"
      "out y[i<k] = sum(s<r) x[a[i+s]]*z[i,s];", true, 2, 1 },
    // diagonals, and numbers that are written far apart
    { "map a[k]->n; in M[n,n], z[k]; out d[i<k] = M[a[i],a[i]]*z[i];", true, 2,
      1 },
    { "map a[k]->n; in x[n]; D[i<k,j<k] = [i==j] exp(x[a[i]]);"
      "out f = sum(i<k) D[i,i]; out y[j] = sum(i<k) D[i,j]*D[i,j];", true, 1,
      2 },
    // conditions behind the strip
    { "rel R[n,m]; in x[n], y[m];"
      "out f = sum(i,j: R(i,j), i < j+30) x[i]*y[j];", false, 2, 1 },
};

enum { TEXTS = sizeof texts / sizeof texts[0] };

static int columns[3][MOST + 1];
static int given_map[4][2 * MOST + 16];
static ad_real given[3][INPUTS][NUMBERS];       // x, v, w
static ad_real got[2][4][INPUTS][NUMBERS];      // of two texts: y, dy, dx, hv

static void fill(void)
{
    uint32_t state = 1;
    for (int e = 0; e <= MOST; e++) {
        columns[0][e] = e % ROWS;               // no pair comes twice
        columns[1][e] = (5 * e + e / ROWS) % COLUMNS;
        columns[2][e] = 3 * e % DEPTH;
    }
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < INPUTS; i++)
            for (int j = 0; j < NUMBERS; j++) {
                state = state * 1664525u + 1013904223u;
                given[p][i][j] = (ad_real)((double)state / 4294967296.0 - 0.5);
            }
}

/* --- two texts ------------------------------------------------------------ */

static void give_map(ad_tensor *t, int which, const char *name, size_t n,
                     size_t below)
{
    uint32_t state = (uint32_t)which + 7;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        given_map[which][i] = (int)((state >> 8) % below);
    }
    CHECK(ad_tensor_map(t, name, given_map[which]) == ADREV_OK, "map %s", name);
}

static void give(ad_tensor *t, const char *text, size_t k, size_t r)
{
    const int *const column[] = { columns[0], columns[1], columns[2] };
    const char *const name[] = { "n", "m", "l", "k", "r" };
    const size_t size[] = { ROWS, COLUMNS, DEPTH, k, r };
    for (int i = 0; i < 5; i++)     // not all of them are in the text
        if (ad_tensor_size(t, name[i], size[i]) == ADREV_ENOMEM)
            CHECK(false, "no memory");
    if (strstr(text, "rel ") != NULL)
        CHECK(ad_tensor_relation(t, strstr(text, "rel R") ? "R" : "T", k,
                                 column) == ADREV_OK, "relation");
    if (strstr(text, "map a[2*k]"))
        give_map(t, 0, "a", 2 * k, ROWS);
    else if (strstr(text, "map a[k+r]"))
        give_map(t, 0, "a", k + r, ROWS);
    else if (strstr(text, "map a[k]->n") || strstr(text, "map a[-3"))
        give_map(t, 0, "a", k, ROWS);
    else if (strstr(text, "map a[k]->k"))
        give_map(t, 0, "a", k, k);
    if (strstr(text, "map b"))
        give_map(t, 1, "b", k, k);
    if (strstr(text, "map c"))
        give_map(t, 2, "c", ROWS, DEPTH);
}

// x and y with these strides, where a text has them as arrays of one index.
static ad_tensor *bound(const char *text, size_t k, size_t r, ptrdiff_t stride,
                        bool fused)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 0 };
    const ad_tensor_options o = { .fused = fused };
    if (!CHECK(ad_tensor_new(&t, text, &o, &e) == ADREV_OK, "%s", e.text))
        return NULL;
    give(t, text, k, r);
    if (strstr(text, " x["))
        CHECK(ad_tensor_layout(t, "x", &stride) == ADREV_OK, "%s: x", text);
    if (strstr(text, "out y["))
        CHECK(ad_tensor_layout(t, "y", &stride) == ADREV_OK, "%s: y", text);
    if (CHECK(ad_tensor_bind(t, &e) == ADREV_OK, "%s: %s", text, e.text))
        return t;
    ad_tensor_free(t);
    return NULL;
}

// From now on point by point. Returns how many strips there were.
static int forget_strips(ad_tensor *t)
{
    int n = 0;
    for (uint32_t i = 1; i < t->program->values; i++) {
        adx_tensor_value *v = &t->program->value[i];
        for (uint32_t j = 0; j < v->terms; j++)
            if (v->term[j].loop != NULL && v->term[j].loop->gathers != NULL) {
                v->term[j].loop->gathers = NULL;
                n++;
            }
    }
    return n;
}

static void run(ad_tensor *t, const text_case *c, int which)
{
    const ad_real *in[3][INPUTS];
    ad_real *out[4][INPUTS];
    for (int i = 0; i < INPUTS; i++) {
        for (int p = 0; p < 3; p++)
            in[p][i] = given[p][i] + MIDDLE;
        for (int p = 0; p < 4; p++) {
            for (int j = 0; j < NUMBERS; j++)
                got[which][p][i][j] = 77;
            out[p][i] = got[which][p][i] + MIDDLE;
        }
    }
    CHECK(ad_tensor_jvp(t, in[0], in[1], out[0], out[1]) == ADREV_OK
              && ad_tensor_vjp(t, in[0], in[2], NULL, out[2]) == ADREV_OK
              && ad_tensor_hvp(t, in[0], in[2], in[1], out[3]) == ADREV_OK,
          "%s", c->text);
}

static void compare(const text_case *c, size_t k, size_t r, ptrdiff_t stride,
                    bool fused)
{
    static const char *const name[] = { "y", "dy", "dx", "hv" };
    ad_tensor *t = bound(c->text, k, r, stride, fused);
    ad_tensor *plain = bound(c->text, k, r, stride, fused);
    int strips = t == NULL || plain == NULL ? 0 : forget_strips(plain);
    if (t == NULL || plain == NULL)
        return;
    CHECK(k == 1 || (strips > 0) == (c->strips && k > 1),
          "%s: %d strips for %d points", c->text, strips, (int)k);
    run(t, c, 0);
    run(plain, c, 1);
    for (int p = 0; p < 4; p++)
        CHECK(memcmp(got[0][p], got[1][p], sizeof got[0][p]) == 0,
              "%s: %s for %d points, r %d, stride %d, fused %d", c->text,
              name[p], (int)k, (int)r, (int)stride, fused);
    ad_tensor_free(t);
    ad_tensor_free(plain);
}

static void run_texts(void)
{
    static const size_t points[] = {
        0, 1, 2, 3, ADX_GATHER_MOST - 1, ADX_GATHER_MOST, ADX_GATHER_MOST + 1,
        2 * ADX_GATHER_MOST + 1
    };
    static const ptrdiff_t strides[] = { 1, 3, -2 };
    for (int i = 0; i < TEXTS; i++)
        for (size_t p = 0; p < sizeof points / sizeof points[0]; p++)
            for (int s = 0; s < 3; s++)
                compare(&texts[i], points[p], p % 2 ? 5 : 16, strides[s],
                        p % 3 == 0);
}

/* --- by hand -------------------------------------------------------------- */

// Sums are formed in the order of the entries, into one number, too.
static void run_by_hand(void)
{
    volatile ad_real y[ROWS] = {0};             // nothing is contracted
    volatile ad_real gx[COLUMNS] = {0};
    volatile ad_real f = 0;
    const ad_real *A = given[0][0] + MIDDLE, *x = given[0][1] + MIDDLE;
    for (int e = 0; e < MOST; e++) {
        int i = columns[0][e];
        int j = columns[1][e];
        volatile ad_real ax = A[e] * x[j];
        volatile ad_real aw = A[e] * given[2][0][MIDDLE + i];
        y[i] = y[i] + ax;
        gx[j] = gx[j] + aw;
        f = f + A[e];
    }
    const text_case c = {
        "rel R[n,m]; in A[R], x[m]; out y[i] = sum(j) A[i,j]*x[j];"
        "out f = sum(i,j: R(i,j)) A[i,j];", true, 2, 2
    };
    ad_tensor *t = bound(c.text, MOST, 1, 1, false);
    run(t, &c, 0);
    for (int i = 0; i < ROWS; i++)
        CHECK(got[0][0][0][MIDDLE + i] == y[i], "y[%d] by hand", i);
    for (int j = 0; j < COLUMNS; j++)
        CHECK(got[0][2][1][MIDDLE + j] == gx[j], "gx[%d] by hand", j);
    CHECK(got[0][0][1][MIDDLE] == f, "f by hand");
    ad_tensor_free(t);
}

int main(void)
{
    fill();
    run_texts();
    run_by_hand();
    return check_done("gathers");
}
