/* Made from src/ by `make headers`: changes belong there. */
/* adrev_lapack.h - LAPACK's routines as statements of a recording.
 *
 *     #define ADREV_IMPLEMENTATION            // in exactly one .c file
 *     #include "adrev_lapack.h"
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         const double a[] = { 4, 1, 2, 3 }, b[] = { 1, 2 };
 *         double g[4];
 *         ad_rev A[4], B[2], x[2];
 *         ad_tape *t = ad_tape_new();
 *         ad_use(t);
 *         ad_inputs(4, a, A);
 *         ad_inputs(2, b, B);
 *         ad_lapack_solve(2, 1, A, B, x);
 *         ad_status s = ad_gradient(t, x[0], 4, A, g);
 *         printf("%s: %g, (%g, %g, %g, %g)\n", ad_message(s), ad_value(x[0]),
 *                g[0], g[1], g[2], g[3]);
 *         ad_tape_free(t);
 *     }
 *
 *     success: 0.1, (-0.03, -0.18, 0.01, 0.06)
 *
 * Compile with -llapack -lblas -lm (Debian: liblapack-dev; libopenblas-dev is
 * several times as fast, with the same names). For functions that are recorded,
 * include adrev_function.h before this header.
 *
 * Each call is one external statement (ad_external): forward and reverse
 * sweeps, recorded functions, second derivatives (ad_fn_hvp, ad_fn_hessian). A
 * sweep solves with the factors that the call has kept; a replay factors again,
 * once for all directions at a point.
 *
 * Matrices are those of the array statements of adrev.h: row by row, or with
 * strides (_s): element (i, j) of A is A[i*ars + j*acs], so that a leading
 * dimension is (ld, 1), or (1, ld) for columns. Inputs may overlap one another;
 * results may lie where inputs do. The values of recorded numbers do not lie
 * side by side, so they are gathered in any case, and that is done column by
 * column, as LAPACK wants them: no layout costs a second copy.
 *
 * A symmetric matrix is given by its lower triangle with the diagonal; what
 * lies above is not read. The derivative with respect to an element below the
 * diagonal is that of both mirrored elements together.
 *
 * Failure. A matrix with an element that is not finite, one that is singular (a
 * pivot is exactly 0), and one that is not positive definite have no factors,
 * and LAPACK says so. That is no number that could go on as an infinity or a
 * NaN, but data that cannot be used. So the call returns ADREV_ESINGULAR, the
 * tape fails with it, ad_tape_reason says what it was, and results are NaN. In
 * a recorded function the status at such a point is ADREV_EEXTERNAL. Right
 * sides that are not finite give results that are not finite. Other statuses:
 * ADREV_ESHAPE (an array is NULL, or an impossible length), ADREV_ELIMIT (more
 * than 2^28 rows or columns, 32000 for eigenvalues), ADREV_ENOMEM.
 *
 * Memory of a statement: what is said below, by malloc, freed when the
 * statement leaves the tape; on the tape about 200 bytes, and 4 per operand if
 * ids are not evenly spaced. Several threads may sweep at once.
 *
 * Formulas: M. Giles, "An extended collection of matrix derivative results for
 * forward and reverse mode algorithmic differentiation", 2008; I. Murray,
 * "Differentiation of the Cholesky decomposition", 2016.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   lapack/routines     what is called of LAPACK and BLAS
 *   lapack/statements   a call as an external statement: operands; triangles
 *   lapack/solve        A X = B, and log |det A|
 *   lapack/definite     the same of positive definite ones; Cholesky factors
 *   lapack/triangular   systems with a triangle, and with a Cholesky factor
 *   lapack/eigen        eigenvalues and eigenvectors
 *   lapack/squares      least squares
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_LAPACK_H
#define ADREV_LAPACK_H

#include "adrev.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* === lapack/routines ========================================================
 * Configuration, and the routines of LAPACK and BLAS by their names for
 * ad_real.
 *
 *   offers  adx_lapack_int ADX_LAPACK adx_lapack_gemm adx_lapack_trmm
 *           adx_lapack_trsm adx_lapack_potrs
 * ====================================================================== */

/* --- configuration -------------------------------------------------------- */

// ADREV_LAPACK_INT   INTEGER of the LAPACK that is linked.          default int
//   int64_t for one with 64-bit integers.
#ifndef ADREV_LAPACK_INT
#define ADREV_LAPACK_INT int
#endif

// ADREV_LAPACK_NAME  a routine's name as the linker knows it.   default name##_
#ifndef ADREV_LAPACK_NAME
#define ADREV_LAPACK_NAME(name) name##_
#endif

// ADREV_LAPACK_DECLARED   another header has declared the routines below, with
//   the lengths of strings at the end.                     default: not defined

/* --- LAPACK --------------------------------------------------------------- */

typedef ADREV_LAPACK_INT adx_lapack_int;

#define ADX_LAPACK_double(name) ADREV_LAPACK_NAME(d##name)
#define ADX_LAPACK_float(name)  ADREV_LAPACK_NAME(s##name)
#define ADX_LAPACK_PASTE(real, name) ADX_LAPACK_##real(name)
#define ADX_LAPACK_OF(real, name)    ADX_LAPACK_PASTE(real, name)
#define ADX_LAPACK(name)             ADX_LAPACK_OF(ADREV_REAL, name)

// gfortran passes the length of each string behind all arguments, and may rely
// on it (since version 8); libraries written in C ignore it.
#ifndef ADREV_LAPACK_DECLARED
#ifdef __cplusplus
extern "C" {
#endif
typedef const adx_lapack_int *adx_lapack_n;
void ADX_LAPACK(gemm)(const char *, const char *, adx_lapack_n, adx_lapack_n,
                      adx_lapack_n, const ad_real *, const ad_real *,
                      adx_lapack_n, const ad_real *, adx_lapack_n,
                      const ad_real *, ad_real *, adx_lapack_n, size_t, size_t);
void ADX_LAPACK(syr2k)(const char *, const char *, adx_lapack_n, adx_lapack_n,
                       const ad_real *, const ad_real *, adx_lapack_n,
                       const ad_real *, adx_lapack_n, const ad_real *,
                       ad_real *, adx_lapack_n, size_t, size_t);
void ADX_LAPACK(trsm)(const char *, const char *, const char *, const char *,
                      adx_lapack_n, adx_lapack_n, const ad_real *,
                      const ad_real *, adx_lapack_n, ad_real *, adx_lapack_n,
                      size_t, size_t, size_t, size_t);
void ADX_LAPACK(trmm)(const char *, const char *, const char *, const char *,
                      adx_lapack_n, adx_lapack_n, const ad_real *,
                      const ad_real *, adx_lapack_n, ad_real *, adx_lapack_n,
                      size_t, size_t, size_t, size_t);
void ADX_LAPACK(getrf)(adx_lapack_n, adx_lapack_n, ad_real *, adx_lapack_n,
                       adx_lapack_int *, adx_lapack_int *);
void ADX_LAPACK(getrs)(const char *, adx_lapack_n, adx_lapack_n,
                       const ad_real *, adx_lapack_n, adx_lapack_n, ad_real *,
                       adx_lapack_n, adx_lapack_int *, size_t);
void ADX_LAPACK(potrf)(const char *, adx_lapack_n, ad_real *, adx_lapack_n,
                       adx_lapack_int *, size_t);
void ADX_LAPACK(potri)(const char *, adx_lapack_n, ad_real *, adx_lapack_n,
                       adx_lapack_int *, size_t);
void ADX_LAPACK(geqrf)(adx_lapack_n, adx_lapack_n, ad_real *, adx_lapack_n,
                       ad_real *, ad_real *, adx_lapack_n, adx_lapack_int *);
void ADX_LAPACK(ormqr)(const char *, const char *, adx_lapack_n, adx_lapack_n,
                       adx_lapack_n, const ad_real *, adx_lapack_n,
                       const ad_real *, ad_real *, adx_lapack_n, ad_real *,
                       adx_lapack_n, adx_lapack_int *, size_t, size_t);
void ADX_LAPACK(syevd)(const char *, const char *, adx_lapack_n, ad_real *,
                       adx_lapack_n, ad_real *, ad_real *, adx_lapack_n,
                       adx_lapack_int *, adx_lapack_n, adx_lapack_int *,
                       size_t, size_t);
#ifdef __cplusplus
}
#endif
#endif

// C[m,n] += a op(A) op(B), where op is "N" (as it is) or "T" (transposed), and
// the inner dimension is k. Matrices lie column by column, `ld` apart.
static inline void adx_lapack_gemm(const char *ta, const char *tb, size_t m,
                                   size_t n, size_t k, ad_real a,
                                   const ad_real *A, size_t lda,
                                   const ad_real *B, size_t ldb, ad_real *C,
                                   size_t ldc)
{
    const adx_lapack_int M = (adx_lapack_int)m;
    const adx_lapack_int N = (adx_lapack_int)n;
    const adx_lapack_int K = (adx_lapack_int)k;
    const adx_lapack_int LDA = (adx_lapack_int)lda;
    const adx_lapack_int LDB = (adx_lapack_int)ldb;
    const adx_lapack_int LDC = (adx_lapack_int)ldc;
    const ad_real one = 1;
    if (m > 0 && n > 0 && k > 0)
        ADX_LAPACK(gemm)(ta, tb, &M, &N, &K, &a, A, &LDA, B, &LDB, &one, C,
                         &LDC, 1, 1);
}

// B[m,n] = a op(L) B ("L"), or a B op(L) ("R"), L lower triangular.
static inline void adx_lapack_trmm(const char *side, const char *t,
                                   const char *unit, size_t m, size_t n,
                                   ad_real a, const ad_real *L, size_t ldl,
                                   ad_real *B, size_t ldb)
{
    const adx_lapack_int M = (adx_lapack_int)m;
    const adx_lapack_int N = (adx_lapack_int)n;
    const adx_lapack_int LDL = (adx_lapack_int)ldl;
    const adx_lapack_int LDB = (adx_lapack_int)ldb;
    if (m > 0 && n > 0)
        ADX_LAPACK(trmm)(side, "L", t, unit, &M, &N, &a, L, &LDL, B, &LDB, 1,
                         1, 1, 1);
}

// The same with the inverse of op(L); uplo "U": of the upper triangle.
static inline void adx_lapack_trsm(const char *side, const char *uplo,
                                   const char *t, const char *unit, size_t m,
                                   size_t n, const ad_real *L, size_t ldl,
                                   ad_real *B, size_t ldb)
{
    const adx_lapack_int M = (adx_lapack_int)m;
    const adx_lapack_int N = (adx_lapack_int)n;
    const adx_lapack_int LDL = (adx_lapack_int)ldl;
    const adx_lapack_int LDB = (adx_lapack_int)ldb;
    const ad_real one = 1;
    if (m > 0 && n > 0)
        ADX_LAPACK(trsm)(side, uplo, t, unit, &M, &N, &one, L, &LDL, B, &LDB,
                         1, 1, 1, 1);
}

// B[n,k] = (L L')^-1 B
static inline void adx_lapack_potrs(size_t n, size_t k, const ad_real *L,
                                    ad_real *B)
{
    adx_lapack_trsm("L", "L", "N", "N", n, k, L, n, B, n);
    adx_lapack_trsm("L", "L", "T", "N", n, k, L, n, B, n);
}

/* === lapack/statements ======================================================
 * A call as an external statement: what is kept, how sweeps and replays come to
 * the functions of its kind, and how matrices are gathered and scattered.
 *
 *   needs   lapack/routines
 *   offers  adx_lapack_kind adx_lapack_call adx_lapack_moving
 *           adx_lapack_of_ints adx_lapack_full adx_lapack_lower
 *           adx_lapack_constant adx_lapack_arrays adx_lapack_record
 *           adx_lapack_is_again adx_lapack_unpack adx_lapack_add_lower
 *           adx_lapack_add_mirrored adx_lapack_phi adx_lapack_eps
 *           adx_lapack_copy adx_lapack_clear adx_lapack_add adx_lapack_inner
 * ====================================================================== */

/* --- a statement ---------------------------------------------------------- */

typedef struct adx_lapack_kind adx_lapack_kind;

// What a statement saves. All functions of a kind see operands and results as
// arrays, matrices column by column; of symmetric and triangular ones the lower
// triangle alone, packed.
typedef struct adx_lapack_call {
    const adx_lapack_kind *kind;
    size_t m;                   // sizes, as the kind uses them
    size_t n;
    size_t k;
    unsigned flags;
    size_t checked;             // operands that must be finite: the first ones
    size_t operands;
    size_t results;
    size_t kept;                // numbers in f
    size_t work;                // numbers that functions of the kind work with
    size_t each;                // and more of them for each direction
    ad_real *f;                 // [kept] factors at the point of the recording
} adx_lapack_call;

// Adjoints with their tangents, a row for each direction: ad_external_point.
typedef struct adx_lapack_moving {
    size_t d;                   // directions
    const ad_real *xd;
    const ad_real *yb;
    const ad_real *ybd;         // never NULL
    ad_real *xbd;               // added to
} adx_lapack_moving;

// Directions are rows, one after the other. They share what does not depend on
// them, and their right sides are solved for in one call of LAPACK.
//
// value     sets f and y; returns what is wrong with x, or NULL
// push      sets yd, which is 0 before; pull and second add to xb and xbd
struct adx_lapack_kind {
    const char *name;
    const char *(*value)(adx_lapack_call *c, const ad_real x[], ad_real y[],
                         ad_real w[]);
    void (*push)(const adx_lapack_call *c, size_t d, const ad_real xd[],
                 ad_real yd[], ad_real w[]);
    void (*pull)(const adx_lapack_call *c, size_t d, const ad_real yb[],
                 ad_real xb[], ad_real w[]);
    void (*second)(const adx_lapack_call *c, const adx_lapack_moving *at,
                   ad_real w[]);
};

static inline ad_real *adx_lapack_reals(size_t n)
{
    return (ad_real *)malloc((n + 1) * sizeof(ad_real));
}

// How many numbers take the memory of n integers.
static inline size_t adx_lapack_of_ints(size_t n)
{
    return (n * sizeof(adx_lapack_int) + sizeof(ad_real) - 1) / sizeof(ad_real);
}

static inline const char *adx_lapack_value(adx_lapack_call *c,
                                           const ad_real x[], ad_real y[],
                                           ad_real w[])
{
    for (size_t i = 0; i < c->checked; i++)
        if (!isfinite(x[i]))
            return "LAPACK: an element of the matrix is not finite";
    return c->kind->value(c, x, y, w);
}

static inline bool adx_lapack_pullback_n(const void *saved, size_t d, size_t m,
                                         const ad_real dy[], size_t n,
                                         ad_real dx[])
{
    const adx_lapack_call *c = (const adx_lapack_call *)saved;
    ad_real *w = adx_lapack_reals(c->work + d * c->each);
    (void)m;
    (void)n;
    if (w != NULL)
        c->kind->pull(c, d, dy, dx, w);
    free(w);
    return w != NULL;
}

static inline bool adx_lapack_pullback(const void *saved, size_t m,
                                       const ad_real dy[], size_t n,
                                       ad_real dx[])
{
    return adx_lapack_pullback_n(saved, 1, m, dy, n, dx);
}

static inline bool adx_lapack_pushforward_n(const void *saved, size_t d,
                                            size_t n, const ad_real dx[],
                                            size_t m, ad_real dy[])
{
    const adx_lapack_call *c = (const adx_lapack_call *)saved;
    ad_real *w = adx_lapack_reals(c->work + d * c->each);
    (void)n;
    memset(dy, 0, d * m * sizeof *dy);
    if (w != NULL)
        c->kind->push(c, d, dx, dy, w);
    free(w);
    return w != NULL;
}

static inline bool adx_lapack_pushforward(const void *saved, size_t n,
                                          const ad_real dx[], size_t m,
                                          ad_real dy[])
{
    return adx_lapack_pushforward_n(saved, 1, n, dx, m, dy);
}

static inline void adx_lapack_destroy(const void *saved)
{
    free(((const adx_lapack_call *)saved)->f);
}

// Computes the values at another point, and then what is asked for, with its
// own factors.
static inline bool adx_lapack_replay(const void *saved,
                                     const ad_external_point *at)
{
    adx_lapack_call c = *(const adx_lapack_call *)saved;
    const size_t d = at->k;
    ad_real *f = adx_lapack_reals(c.kept + c.results + c.work + d * c.each);
    ad_real *y = f + c.kept;
    ad_real *w = y + c.results;
    c.f = f;
    bool ok = f != NULL && adx_lapack_value(&c, at->x, y, w) == NULL;
    if (ok && at->y != NULL)
        memcpy(at->y, y, c.results * sizeof *y);
    if (ok && at->yd != NULL)
        c.kind->push(&c, d, at->xd, at->yd, w);
    if (ok && at->xb != NULL)
        c.kind->pull(&c, d, at->yb, at->xb, w);
    if (ok && at->xbd != NULL) {
        const adx_lapack_moving moving = { d, at->xd, at->yb, at->ybd,
                                           at->xbd };
        c.kind->second(&c, &moving, w);
    }
    free(f);
    return ok;
}

static const ad_external_rule adx_lapack_rule = {
    "LAPACK", adx_lapack_pullback, adx_lapack_pushforward, adx_lapack_destroy,
    adx_lapack_replay, adx_lapack_pullback_n, false, true,
    adx_lapack_pushforward_n
};

/* --- views ------------------------------------------------------------------
 * An array of the caller's, walked column by column.                         */

typedef struct adx_lapack_view {
    ad_rev *x;
    size_t rows;
    size_t cols;
    ptrdiff_t rs;
    ptrdiff_t cs;
    bool lower;                 // the lower triangle alone
} adx_lapack_view;

static inline adx_lapack_view adx_lapack_full(const ad_rev *x, size_t rows,
                                              size_t cols, ptrdiff_t rs,
                                              ptrdiff_t cs)
{
    const adx_lapack_view v = { (ad_rev *)(uintptr_t)x, rows, cols, rs, cs,
                                false };
    return v;
}

static inline adx_lapack_view adx_lapack_lower(const ad_rev *x, size_t n,
                                               ptrdiff_t rs, ptrdiff_t cs)
{
    const adx_lapack_view v = { (ad_rev *)(uintptr_t)x, n, n, rs, cs, true };
    return v;
}

static inline size_t adx_lapack_packed(size_t n) { return n * (n + 1) / 2; }

static inline size_t adx_lapack_count(const adx_lapack_view *v)
{
    return v->lower ? adx_lapack_packed(v->rows) : v->rows * v->cols;
}

static inline ad_rev *adx_lapack_at(const adx_lapack_view *v, size_t i,
                                    size_t j)
{
    return v->x + (ptrdiff_t)i * v->rs + (ptrdiff_t)j * v->cs;
}

static inline void adx_lapack_gather(const adx_lapack_view *v, ad_rev x[])
{
    for (size_t j = 0; j < v->cols; j++)
        for (size_t i = v->lower ? j : 0; i < v->rows; i++)
            *x++ = *adx_lapack_at(v, i, j);
}

static inline ad_rev adx_lapack_constant(ad_real v)
{
    ad_rev x;
    x.v = v;
    x.seq = 0;
    x.job = 0;
    return x;
}

static inline void adx_lapack_scatter(const adx_lapack_view *v,
                                      const ad_rev x[])
{
    const ad_rev zero = adx_lapack_constant(0);
    for (size_t j = 0; j < v->cols; j++)
        for (size_t i = 0; i < v->rows; i++)
            *adx_lapack_at(v, i, j) = v->lower && i < j ? zero : *x++;
}

// Results that there are not.
static inline void adx_lapack_spoil(const adx_lapack_view *v)
{
    const ad_rev nan = adx_lapack_constant((ad_real)NAN);
    for (size_t j = 0; j < v->cols; j++)
        for (size_t i = 0; i < v->rows; i++)
            *adx_lapack_at(v, i, j) = nan;
}

// Two matrices in, two out; those of size 0 are not there.
typedef struct adx_lapack_arrays {
    adx_lapack_view in[2];
    adx_lapack_view out[2];
} adx_lapack_arrays;

// Memory of a call while it is made.
typedef struct adx_lapack_making {
    ad_rev *number;             // operands, then results
    ad_real *value;             // the same, then the work
} adx_lapack_making;

static inline ad_status adx_lapack_sized(adx_lapack_call *c,
                                         const adx_lapack_arrays *a)
{
    const size_t most = (size_t)1 << (sizeof(size_t) * 8 - 8) / 2;
    const adx_lapack_view *all[4] = { &a->in[0], &a->in[1], &a->out[0],
                                      &a->out[1] };
    for (size_t i = 0; i < 4; i++) {
        if (all[i]->rows > most || all[i]->cols > most)
            return ADREV_ELIMIT;
        if (adx_lapack_count(all[i]) > 0 && all[i]->x == NULL)
            return ADREV_ESHAPE;
    }
    c->checked = adx_lapack_count(all[0]);
    c->operands = c->checked + adx_lapack_count(all[1]);
    c->results = adx_lapack_count(all[2]) + adx_lapack_count(all[3]);
    return ADREV_OK;
}

// Values, and the statement.
static inline ad_status adx_lapack_do(adx_lapack_call *c,
                                      const adx_lapack_arrays *a,
                                      const adx_lapack_making *k)
{
    ad_rev *y = k->number + c->operands;
    ad_real *v = k->value + c->operands;
    adx_lapack_gather(&a->in[0], k->number);
    adx_lapack_gather(&a->in[1], k->number + c->checked);
    for (size_t i = 0; i < c->operands; i++)
        k->value[i] = k->number[i].v;
    const char *wrong = adx_lapack_value(c, k->value, v, v + c->results);
    if (wrong != NULL) {
        free(c->f);
        adx_lapack_spoil(&a->out[0]);
        adx_lapack_spoil(&a->out[1]);
        return ad_fail(ADREV_ESINGULAR, wrong);
    }
    // from here on f is the tape's: if nothing is recorded it is freed at once
    ad_status status = (ad_external)(&adx_lapack_rule, c, sizeof *c,
                                     c->operands, k->number, c->results, v, y);
    adx_lapack_scatter(&a->out[0], y);
    adx_lapack_scatter(&a->out[1], y + adx_lapack_count(&a->out[0]));
    return status;
}

// The call with its kind, sizes, numbers kept and work.
static inline ad_status adx_lapack_record(adx_lapack_call *c,
                                          const adx_lapack_arrays *a)
{
    adx_lapack_making k;
    ad_status status = adx_lapack_sized(c, a);
    const size_t number = c->operands + c->results;
    if (status != ADREV_OK || c->results == 0)
        return ad_fail(status, NULL);
    k.number = (ad_rev *)malloc(number * sizeof *k.number);
    k.value = adx_lapack_reals(number + c->work);
    c->f = adx_lapack_reals(c->kept);
    if (k.number == NULL || k.value == NULL || c->f == NULL) {
        free(c->f);
        status = ad_fail(ADREV_ENOMEM, NULL);
        adx_lapack_spoil(&a->out[0]);
        adx_lapack_spoil(&a->out[1]);
    } else {
        status = adx_lapack_do(c, a, &k);
    }
    free(k.number);
    free(k.value);
    return status;
}

// Whether a direction has the adjoints of the one before.
static inline bool adx_lapack_is_again(const adx_lapack_call *c,
                                       const adx_lapack_moving *at, size_t r)
{
    const ad_real *yb = at->yb + r * c->results;
    return r > 0 && memcmp(yb, yb - c->results, c->results * sizeof *yb) == 0;
}

/* --- packed triangles ----------------------------------------------------- */

// S[n,n], both triangles, of the lower one; lower: L with zeros above.
static inline void adx_lapack_unpack(size_t n, const ad_real p[], bool lower,
                                     ad_real S[])
{
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < j; i++)
            S[i + j * n] = lower ? 0 : S[j + i * n];
        for (size_t i = j; i < n; i++)
            S[i + j * n] = *p++;
    }
}

// Adds a lower triangle to a packed one.
static inline void adx_lapack_add_lower(size_t n, const ad_real L[],
                                        ad_real p[])
{
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++)
            *p++ += L[i + j * n];
}

// Adds what <S, dA> is to the elements that a symmetric A is given by.
static inline void adx_lapack_add_mirrored(size_t n, const ad_real S[],
                                           ad_real p[])
{
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++)
            *p++ += i == j ? S[i + i * n] : S[i + j * n] + S[j + i * n];
}

// Keeps the lower triangle, and half of the diagonal: Murray's Phi.
static inline void adx_lapack_phi(size_t n, ad_real S[], size_t ld)
{
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < j; i++)
            S[i + j * ld] = 0;
        S[j + j * ld] *= (ad_real)0.5;
    }
}

// The distance from 1 to the next number.
static inline double adx_lapack_eps(void)
{
    return sizeof(ad_real) == sizeof(float) ? (double)FLT_EPSILON : DBL_EPSILON;
}

static inline void adx_lapack_copy(size_t n, const ad_real from[],
                                   ad_real to[])
{
    if (n > 0)
        memcpy(to, from, n * sizeof *to);
}

static inline void adx_lapack_clear(size_t n, ad_real to[])
{
    if (n > 0)
        memset(to, 0, n * sizeof *to);
}

static inline void adx_lapack_add(size_t n, ad_real a, const ad_real from[],
                                  ad_real to[])
{
    for (size_t i = 0; i < n; i++)
        to[i] += a * from[i];
}

static inline ad_real adx_lapack_inner(size_t n, const ad_real a[],
                                       const ad_real b[])
{
    ad_real sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* === lapack/solve ===========================================================
 * Systems with any matrix, and its log-determinant, by LU factors.
 *
 *   needs   lapack/routines lapack/statements
 * ====================================================================== */

/* --- A X = B -------------------------------------------------------------- */

// f: LU [n*n], X [n*k], pivots [n]
static inline adx_lapack_int *adx_lapack_pivots(const adx_lapack_call *c)
{
    return (adx_lapack_int *)(void *)(c->f + c->n * c->n + c->n * c->k);
}

// B[n,k] = A^-1 B ("N"), or A^-T B ("T")
static inline void adx_lapack_getrs(const adx_lapack_call *c, const char *t,
                                    size_t k, ad_real *B)
{
    const adx_lapack_int n = (adx_lapack_int)c->n;
    const adx_lapack_int columns = (adx_lapack_int)k;
    adx_lapack_int info = 0;
    if (n > 0 && k > 0)
        ADX_LAPACK(getrs)(t, &n, &columns, c->f, &n, adx_lapack_pivots(c), B,
                          &n, &info, 1);
}

static inline bool adx_lapack_getrf(const adx_lapack_call *c,
                                    const ad_real A[])
{
    const adx_lapack_int n = (adx_lapack_int)c->n;
    adx_lapack_int info = 0;
    adx_lapack_copy(c->n * c->n, A, c->f);
    if (n > 0)
        ADX_LAPACK(getrf)(&n, &n, c->f, &n, adx_lapack_pivots(c), &info);
    return info == 0;
}

static inline const char *adx_lapack_solve_value(adx_lapack_call *c,
                                                 const ad_real x[],
                                                 ad_real y[], ad_real w[])
{
    const size_t n = c->n;
    (void)w;
    if (!adx_lapack_getrf(c, x))
        return "LAPACK: the matrix is singular, a pivot is 0";
    adx_lapack_copy(n * c->k, x + n * n, y);
    adx_lapack_getrs(c, "N", c->k, y);
    adx_lapack_copy(n * c->k, y, c->f + n * n);
    return NULL;
}

// Xd = A^-1 (Bd - Ad X)
static inline void adx_lapack_solve_push(const adx_lapack_call *c, size_t d,
                                         const ad_real xd[], ad_real yd[],
                                         ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    (void)w;
    for (size_t r = 0; r < d; r++, xd += c->operands) {
        ad_real *Xd = yd + r * nk;
        adx_lapack_copy(nk, xd + n * n, Xd);
        adx_lapack_gemm("N", "N", n, c->k, n, -1, xd, n, c->f + n * n, n, Xd,
                        n);
    }
    adx_lapack_getrs(c, "N", d * c->k, yd);
}

// Bb = A^-T Xb,  Ab = -Bb X'
static inline void adx_lapack_solve_pull(const adx_lapack_call *c, size_t d,
                                         const ad_real yb[], ad_real xb[],
                                         ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    adx_lapack_copy(d * nk, yb, w);
    adx_lapack_getrs(c, "T", d * c->k, w);
    for (size_t r = 0; r < d; r++, w += nk, xb += c->operands) {
        adx_lapack_add(nk, 1, w, xb + n * n);
        adx_lapack_gemm("N", "T", n, n, c->k, -1, w, n, c->f + n * n, n, xb,
                        n);
    }
}

// Wd = A^-T (Xbd - Ad' W),  Abd = -Wd X' - W Xd'
static inline void adx_lapack_solve_second(const adx_lapack_call *c,
                                           const adx_lapack_moving *at,
                                           ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    const size_t all = at->d * nk;
    ad_real *W = w;
    ad_real *Wd = W + all;
    ad_real *Xd = Wd + all;
    adx_lapack_copy(all, at->yb, W);
    adx_lapack_getrs(c, "T", at->d * c->k, W);
    adx_lapack_solve_push(c, at->d, at->xd, Xd, NULL);
    adx_lapack_copy(all, at->ybd, Wd);
    for (size_t r = 0; r < at->d; r++)
        adx_lapack_gemm("T", "N", n, c->k, n, -1, at->xd + r * c->operands, n,
                        W + r * nk, n, Wd + r * nk, n);
    adx_lapack_getrs(c, "T", at->d * c->k, Wd);
    for (size_t r = 0; r < at->d; r++, W += nk, Wd += nk, Xd += nk) {
        ad_real *xbd = at->xbd + r * c->operands;
        adx_lapack_add(nk, 1, Wd, xbd + n * n);
        adx_lapack_gemm("N", "T", n, n, c->k, -1, Wd, n, c->f + n * n, n, xbd,
                        n);
        adx_lapack_gemm("N", "T", n, n, c->k, -1, W, n, Xd, n, xbd, n);
    }
}

static const adx_lapack_kind adx_lapack_solve_kind = {
    "solve", adx_lapack_solve_value, adx_lapack_solve_push,
    adx_lapack_solve_pull, adx_lapack_solve_second
};

// X = A^-1 B, by LU factors with row exchanges (getrf, getrs).
//
//   n            in    rows of A, B and X
//   k            in    columns of B and X: right sides
//   A   [n*n]    in    any matrix that is not singular
//   B   [n*k]    in
//   X   [n*k]    out
//
//   returns      ADREV_OK, or as said at the top of this file; this holds for
//                all functions below
//   cost         2/3 n^3 + 2 n^2 k; each direction of a sweep 4 n^2 k
//   memory       n (n + k) numbers
static inline ad_status ad_lapack_solve_s(size_t n, size_t k, const ad_rev *A,
                                          ptrdiff_t ars, ptrdiff_t acs,
                                          const ad_rev *B, ptrdiff_t brs,
                                          ptrdiff_t bcs, ad_rev *X,
                                          ptrdiff_t xrs, ptrdiff_t xcs)
{
    const adx_lapack_arrays a = {
        { adx_lapack_full(A, n, n, ars, acs),
          adx_lapack_full(B, n, k, brs, bcs) },
        { adx_lapack_full(X, n, k, xrs, xcs),
          adx_lapack_full(NULL, 0, 0, 0, 0) }
    };
    adx_lapack_call c = {
        &adx_lapack_solve_kind, n, n, k, 0, 0, 0, 0,
        n * n + n * k + adx_lapack_of_ints(n), 0, 3 * n * k, NULL
    };
    return adx_lapack_record(&c, &a);
}

static inline ad_status ad_lapack_solve(size_t n, size_t k, const ad_rev A[],
                                        const ad_rev B[], ad_rev X[])
{
    const ptrdiff_t row = (ptrdiff_t)n;
    const ptrdiff_t side = (ptrdiff_t)k;
    return ad_lapack_solve_s(n, k, A, row, 1, B, side, 1, X, side, 1);
}

/* --- log |det A| ---------------------------------------------------------- */

// The sign is asked for: at first it is found, later it must be the same.
enum { ADX_LAPACK_SIGN = 1, ADX_LAPACK_SIGNED = 2, ADX_LAPACK_NEGATIVE = 4 };

// w[n,n] = A^-T
static inline void adx_lapack_inverse(const adx_lapack_call *c, ad_real w[])
{
    const size_t n = c->n;
    adx_lapack_clear(n * n, w);
    for (size_t i = 0; i < n; i++)
        w[i + i * n] = 1;
    adx_lapack_getrs(c, "T", n, w);
}

static inline bool adx_lapack_is_negative(const adx_lapack_call *c)
{
    const adx_lapack_int *pivot = adx_lapack_pivots(c);
    bool negative = false;
    for (size_t i = 0; i < c->n; i++) {
        negative ^= pivot[i] != (adx_lapack_int)i + 1;
        negative ^= c->f[i + i * c->n] < 0;
    }
    return negative;
}

static inline const char *adx_lapack_logdet_value(adx_lapack_call *c,
                                                  const ad_real x[],
                                                  ad_real y[], ad_real w[])
{
    (void)w;
    if (!adx_lapack_getrf(c, x))
        return "LAPACK: the matrix is singular, a pivot is 0";
    *y = 0;
    for (size_t i = 0; i < c->n; i++)
        *y += (ad_real)log(fabs((double)c->f[i + i * c->n]));
    const unsigned sign = ADX_LAPACK_SIGNED
        | (adx_lapack_is_negative(c) ? (unsigned)ADX_LAPACK_NEGATIVE : 0u);
    if (c->flags == ADX_LAPACK_SIGN)
        c->flags = sign;
    return c->flags == 0 || c->flags == sign ? NULL
         : "LAPACK: the determinant has another sign here";
}

// trace(A^-1 Ad)
static inline void adx_lapack_logdet_push(const adx_lapack_call *c, size_t d,
                                          const ad_real xd[], ad_real yd[],
                                          ad_real w[])
{
    adx_lapack_inverse(c, w);
    for (size_t r = 0; r < d; r++)
        yd[r] = adx_lapack_inner(c->operands, w, xd + r * c->operands);
}

static inline void adx_lapack_logdet_pull(const adx_lapack_call *c, size_t d,
                                          const ad_real yb[], ad_real xb[],
                                          ad_real w[])
{
    adx_lapack_inverse(c, w);
    for (size_t r = 0; r < d; r++)
        adx_lapack_add(c->operands, yb[r], w, xb + r * c->operands);
}

// The tangent of A^-T is -A^-T Ad' A^-T.
static inline void adx_lapack_logdet_second(const adx_lapack_call *c,
                                            const adx_lapack_moving *at,
                                            ad_real w[])
{
    const size_t n = c->n;
    ad_real *moved = w + n * n;
    adx_lapack_inverse(c, w);
    for (size_t r = 0; r < at->d; r++) {
        ad_real *xbd = at->xbd + r * n * n;
        adx_lapack_add(n * n, at->ybd[r], w, xbd);
        adx_lapack_clear(n * n, moved);
        adx_lapack_gemm("T", "N", n, n, n, 1, at->xd + r * n * n, n, w, n,
                        moved, n);
        adx_lapack_getrs(c, "T", n, moved);
        adx_lapack_add(n * n, -at->yb[r], moved, xbd);
    }
}

static const adx_lapack_kind adx_lapack_logdet_kind = {
    "log-determinant", adx_lapack_logdet_value, adx_lapack_logdet_push,
    adx_lapack_logdet_pull, adx_lapack_logdet_second
};

// log |det A|, by LU factors; n = 0: 0. NaN on failure.
//
//   sign         out   1 or -1, the sign of the determinant; may be NULL. In a
//                      recorded function it belongs to the point of the
//                      recording: where it differs, there is no answer
//                      (ADREV_EEXTERNAL), unless sign is NULL
//
//   cost         2/3 n^3; each direction of a sweep 2 n^3, for the inverse
//   memory       n^2 numbers
static inline ad_rev ad_lapack_logdet_s(size_t n, const ad_rev *A,
                                        ptrdiff_t ars, ptrdiff_t acs,
                                        int *sign)
{
    ad_rev y = adx_lapack_constant((ad_real)NAN);
    const adx_lapack_arrays a = {
        { adx_lapack_full(A, n, n, ars, acs),
          adx_lapack_full(NULL, 0, 0, 0, 0) },
        { adx_lapack_full(&y, 1, 1, 1, 1),
          adx_lapack_full(NULL, 0, 0, 0, 0) }
    };
    adx_lapack_call c = {
        &adx_lapack_logdet_kind, n, n, 0,
        sign == NULL ? 0u : (unsigned)ADX_LAPACK_SIGN, 0, 0, 0,
        n * n + adx_lapack_of_ints(n), 2 * n * n, 0, NULL
    };
    adx_lapack_record(&c, &a);
    if (sign != NULL)
        *sign = c.flags & ADX_LAPACK_NEGATIVE ? -1 : 1;
    return y;
}

static inline ad_rev ad_lapack_logdet(size_t n, const ad_rev A[], int *sign)
{
    return ad_lapack_logdet_s(n, A, (ptrdiff_t)n, 1, sign);
}

/* === lapack/definite ========================================================
 * Symmetric and positive definite matrices: systems with the log-determinant,
 * and the Cholesky factor itself.
 *
 *   needs   lapack/routines lapack/statements
 * ====================================================================== */

/* --- symmetric and positive definite -------------------------------------- */

// L[n,n] of the packed A; false: not positive definite.
static inline bool adx_lapack_potrf(size_t n, const ad_real p[], ad_real L[])
{
    const adx_lapack_int N = (adx_lapack_int)n;
    adx_lapack_int info = 0;
    adx_lapack_unpack(n, p, true, L);
    if (n > 0)
        ADX_LAPACK(potrf)("L", &N, L, &N, &info, 1);
    return info == 0;
}

// f: L [n*n], X [n*k]. results: X, then the log-determinant if flags are set.
static inline const char *adx_lapack_spd_value(adx_lapack_call *c,
                                               const ad_real x[], ad_real y[],
                                               ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    (void)w;
    if (!adx_lapack_potrf(n, x, c->f))
        return "LAPACK: the matrix is not positive definite";
    adx_lapack_copy(nk, x + c->checked, y);
    adx_lapack_potrs(n, c->k, c->f, y);
    adx_lapack_copy(nk, y, c->f + n * n);
    if (c->flags) {
        y[nk] = 0;
        for (size_t i = 0; i < n; i++)
            y[nk] += 2 * (ad_real)log((double)c->f[i + i * n]);
    }
    return NULL;
}

// A^-1, the lower triangle; in both triangles if mirrored
static inline void adx_lapack_spd_inverse(const adx_lapack_call *c,
                                          bool mirrored, ad_real inverse[])
{
    const size_t n = c->n;
    const adx_lapack_int N = (adx_lapack_int)n;
    adx_lapack_int info = 0;
    adx_lapack_copy(n * n, c->f, inverse);
    if (n > 0)
        ADX_LAPACK(potri)("L", &N, inverse, &N, &info, 1);
    for (size_t j = 0; mirrored && j < n; j++)
        for (size_t i = 0; i < j; i++)
            inverse[i + j * n] = inverse[j + i * n];
}

// B[n,k] -= Ad X, with Ad in both triangles
static inline void adx_lapack_spd_less(const adx_lapack_call *c,
                                       const ad_real Ad[], const ad_real X[],
                                       ad_real B[])
{
    adx_lapack_gemm("N", "N", c->n, c->k, c->n, -1, Ad, c->n, X, c->n, B,
                    c->n);
}

// Xd = A^-1 (Bd - Ad X)
static inline void adx_lapack_spd_push(const adx_lapack_call *c, size_t d,
                                       const ad_real xd[], ad_real yd[],
                                       ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    ad_real *inverse = w;
    ad_real *Ad = inverse + n * n;
    ad_real *Xd = w + c->work;
    if (c->flags)
        adx_lapack_spd_inverse(c, true, inverse);
    for (size_t r = 0; r < d; r++, xd += c->operands) {
        adx_lapack_unpack(n, xd, false, Ad);
        adx_lapack_copy(nk, xd + c->checked, Xd + r * nk);
        adx_lapack_spd_less(c, Ad, c->f + n * n, Xd + r * nk);
        if (c->flags)
            yd[r * c->results + nk] = adx_lapack_inner(n * n, inverse, Ad);
    }
    adx_lapack_potrs(n, d * c->k, c->f, Xd);
    for (size_t r = 0; r < d; r++)
        adx_lapack_copy(nk, Xd + r * nk, yd + r * c->results);
}

// C[n,n] += the lower triangle of a (V W' + W V'), V and W with k columns:
// twice <a V W', dA> where A is symmetric.
static inline void adx_lapack_syr2k(const adx_lapack_call *c, ad_real a,
                                    const ad_real V[], const ad_real W[],
                                    ad_real C[])
{
    const adx_lapack_int n = (adx_lapack_int)c->n;
    const adx_lapack_int k = (adx_lapack_int)c->k;
    const ad_real one = 1;
    if (n > 0 && k > 0)
        ADX_LAPACK(syr2k)("L", "N", &n, &k, &a, V, &n, W, &n, &one, C, &n, 1,
                          1);
}

// Adds to packed adjoints what lies in the lower triangle of C, and a times the
// inverse; elements of the diagonal count half in both.
static inline void adx_lapack_add_halved(size_t n, ad_real a,
                                         const ad_real inverse[],
                                         const ad_real C[], ad_real p[])
{
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            ad_real two = C[i + j * n]
                        + (a == 0 ? 0 : 2 * a * inverse[i + j * n]);
            *p++ += i == j ? two / 2 : two;
        }
}

static inline bool adx_lapack_any_logdet(const adx_lapack_call *c, size_t d,
                                         const ad_real yb[])
{
    for (size_t r = 1; c->flags && r <= d; r++)
        if (yb[r * c->results - 1] != 0)
            return true;
    return false;
}

// W = Bb = A^-1 Xb; with S = -W X' + ldb A^-1, A's adjoint is S mirrored.
static inline void adx_lapack_spd_pull(const adx_lapack_call *c, size_t d,
                                       const ad_real yb[], ad_real xb[],
                                       ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    ad_real *inverse = w;
    ad_real *C = inverse + n * n;
    ad_real *W = w + c->work;
    if (adx_lapack_any_logdet(c, d, yb))
        adx_lapack_spd_inverse(c, false, inverse);
    for (size_t r = 0; r < d; r++)
        adx_lapack_copy(nk, yb + r * c->results, W + r * nk);
    adx_lapack_potrs(n, d * c->k, c->f, W);
    for (size_t r = 0; r < d; r++, yb += c->results, xb += c->operands) {
        adx_lapack_add(nk, 1, W + r * nk, xb + c->checked);
        adx_lapack_clear(n * n, C);
        adx_lapack_syr2k(c, -1, W + r * nk, c->f + n * n, C);
        adx_lapack_add_halved(n, c->flags ? yb[nk] : 0, inverse, C, xb);
    }
}

// C -= 2 ldb A^-1 Ad A^-1, the tangent of the inverse; T[n,n]
static inline void adx_lapack_spd_inverse_moved(const adx_lapack_call *c,
                                                ad_real a, const ad_real Ad[],
                                                const ad_real inverse[],
                                                ad_real T[], ad_real C[])
{
    const size_t n = c->n;
    if (a == 0)
        return;
    adx_lapack_clear(n * n, T);
    adx_lapack_gemm("N", "N", n, n, n, 1, Ad, n, inverse, n, T, n);
    adx_lapack_gemm("N", "N", n, n, n, -2 * a, inverse, n, T, n, C, n);
}

// Xd and Wd = A^-1 (Xbd - Ad W), of all directions; Ad[n,n]
static inline void adx_lapack_spd_moved(const adx_lapack_call *c,
                                        const adx_lapack_moving *at,
                                        const ad_real W[], ad_real Xd[],
                                        ad_real Wd[], ad_real Ad[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    for (size_t r = 0; r < at->d; r++) {
        const ad_real *xd = at->xd + r * c->operands;
        adx_lapack_unpack(n, xd, false, Ad);
        adx_lapack_copy(nk, xd + c->checked, Xd + r * nk);
        adx_lapack_spd_less(c, Ad, c->f + n * n, Xd + r * nk);
        adx_lapack_copy(nk, at->ybd + r * c->results, Wd + r * nk);
        adx_lapack_spd_less(c, Ad, W + r * nk, Wd + r * nk);
    }
    adx_lapack_potrs(n, at->d * c->k, c->f, Xd);
    adx_lapack_potrs(n, at->d * c->k, c->f, Wd);
}

// With W = A^-1 Xb and its tangent: Bbd = Wd, and Abd = -Wd X' - W Xd', made
// symmetric; the log-determinant adds ybd A^-1, and yb times the tangent of
// A^-1.
static inline void adx_lapack_spd_second(const adx_lapack_call *c,
                                         const adx_lapack_moving *at,
                                         ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    ad_real *inverse = w;
    ad_real *C = inverse + n * n;
    ad_real *Ad = C + n * n;
    ad_real *T = Ad + n * n;
    ad_real *W = w + c->work;
    ad_real *Xd = W + at->d * nk;
    ad_real *Wd = Xd + at->d * nk;
    for (size_t r = 0; r < at->d; r++)
        adx_lapack_copy(nk, at->yb + r * c->results, W + r * nk);
    adx_lapack_potrs(n, at->d * c->k, c->f, W);
    adx_lapack_spd_moved(c, at, W, Xd, Wd, Ad);
    if (c->flags)
        adx_lapack_spd_inverse(c, true, inverse);
    for (size_t r = 0; r < at->d; r++, W += nk, Xd += nk, Wd += nk) {
        const ad_real *yb = at->yb + r * c->results;
        const ad_real *ybd = at->ybd + r * c->results;
        ad_real *xbd = at->xbd + r * c->operands;
        adx_lapack_add(nk, 1, Wd, xbd + c->checked);
        adx_lapack_clear(n * n, C);
        adx_lapack_syr2k(c, -1, Wd, c->f + n * n, C);
        adx_lapack_syr2k(c, -1, W, Xd, C);
        if (c->flags) {
            adx_lapack_unpack(n, at->xd + r * c->operands, false, Ad);
            adx_lapack_spd_inverse_moved(c, yb[nk], Ad, inverse, T, C);
        }
        adx_lapack_add_halved(n, c->flags ? ybd[nk] : 0, inverse, C, xbd);
    }
}

static const adx_lapack_kind adx_lapack_spd_kind = {
    "positive definite solve", adx_lapack_spd_value, adx_lapack_spd_push,
    adx_lapack_spd_pull, adx_lapack_spd_second
};

// X = A^-1 B, and log det A, of a symmetric positive definite A (potrf, potrs):
// what a Gaussian process or a Gaussian density needs, from one factorisation.
//
//   A   [n*n]    in    lower triangle
//   B   [n*k]    in    NULL if k is 0
//   X   [n*k]    out   NULL if k is 0
//   logdet       out   may be NULL
//
//   cost         1/3 n^3 + 2 n^2 k; each direction of a sweep 4 n^2 k, and with
//                logdet 2/3 n^3
//   memory       n (n + k) numbers
static inline ad_status ad_lapack_solve_spd_s(size_t n, size_t k,
                                              const ad_rev *A, ptrdiff_t ars,
                                              ptrdiff_t acs, const ad_rev *B,
                                              ptrdiff_t brs, ptrdiff_t bcs,
                                              ad_rev *X, ptrdiff_t xrs,
                                              ptrdiff_t xcs, ad_rev *logdet)
{
    const size_t one = logdet != NULL;
    const adx_lapack_arrays a = {
        { adx_lapack_lower(A, n, ars, acs),
          adx_lapack_full(B, n, k, brs, bcs) },
        { adx_lapack_full(X, n, k, xrs, xcs),
          adx_lapack_full(logdet, one, one, 1, 1) }
    };
    adx_lapack_call c = {
        &adx_lapack_spd_kind, n, n, k, (unsigned)one, 0, 0, 0, n * n + n * k,
        4 * n * n, 3 * n * k, NULL
    };
    return adx_lapack_record(&c, &a);
}

static inline ad_status ad_lapack_solve_spd(size_t n, size_t k,
                                            const ad_rev A[],
                                            const ad_rev B[], ad_rev X[],
                                            ad_rev *logdet)
{
    const ptrdiff_t side = (ptrdiff_t)k;
    return ad_lapack_solve_spd_s(n, k, A, (ptrdiff_t)n, 1, B, side, 1, X, side,
                                 1, logdet);
}

// log det A alone; n = 0: 0. NaN on failure.
static inline ad_rev ad_lapack_logdet_spd_s(size_t n, const ad_rev *A,
                                            ptrdiff_t ars, ptrdiff_t acs)
{
    ad_rev y = adx_lapack_constant((ad_real)NAN);
    ad_lapack_solve_spd_s(n, 0, A, ars, acs, NULL, 0, 0, NULL, 0, 0, &y);
    return y;
}

static inline ad_rev ad_lapack_logdet_spd(size_t n, const ad_rev A[])
{
    return ad_lapack_logdet_spd_s(n, A, (ptrdiff_t)n, 1);
}

/* --- Cholesky factors ----------------------------------------------------- */

static inline const char *adx_lapack_cholesky_value(adx_lapack_call *c,
                                                    const ad_real x[],
                                                    ad_real y[], ad_real w[])
{
    const size_t n = c->n;
    (void)w;
    if (!adx_lapack_potrf(n, x, c->f))
        return "LAPACK: the matrix is not positive definite";
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++)
            *y++ = c->f[i + j * n];
    return NULL;
}

// Ld = L Phi(L^-1 Ad L^-T)
static inline void adx_lapack_cholesky_moved(const adx_lapack_call *c,
                                             const ad_real xd[], ad_real Ld[])
{
    const size_t n = c->n;
    adx_lapack_unpack(n, xd, false, Ld);
    adx_lapack_trsm("L", "L", "N", "N", n, n, c->f, n, Ld, n);
    adx_lapack_trsm("R", "L", "T", "N", n, n, c->f, n, Ld, n);
    adx_lapack_phi(n, Ld, n);
    adx_lapack_trmm("L", "N", "N", n, n, 1, c->f, n, Ld, n);
}

static inline void adx_lapack_cholesky_push(const adx_lapack_call *c, size_t d,
                                            const ad_real xd[], ad_real yd[],
                                            ad_real w[])
{
    for (size_t r = 0; r < d; r++) {
        adx_lapack_cholesky_moved(c, xd + r * c->operands, w);
        adx_lapack_add_lower(c->n, w, yd + r * c->results);
    }
}

// S = L^-T Phi(L' Lb) L^-1, in the place of Lb
static inline void adx_lapack_cholesky_back(size_t n, const ad_real L[],
                                            size_t ldl, ad_real Lb[],
                                            size_t ld)
{
    adx_lapack_trmm("L", "T", "N", n, n, 1, L, ldl, Lb, ld);
    adx_lapack_phi(n, Lb, ld);
    adx_lapack_trsm("L", "L", "T", "N", n, n, L, ldl, Lb, ld);
    adx_lapack_trsm("R", "L", "N", "N", n, n, L, ldl, Lb, ld);
}

// The same for a block of the diagonal, whose lower triangle is D: then the
// adjoint of its symmetric matrix, and W[nb,nb] that plus its transpose.
static inline void adx_lapack_cholesky_block(size_t nb, const ad_real L[],
                                             size_t ld, ad_real D[],
                                             ad_real W[])
{
    for (size_t j = 0; j < nb; j++)
        for (size_t i = 0; i < nb; i++)
            W[i + j * nb] = i < j ? 0 : D[i + j * ld];
    adx_lapack_cholesky_back(nb, L, ld, W, nb);
    for (size_t j = 0; j < nb; j++)
        for (size_t i = j; i < nb; i++) {
            ad_real both = W[i + j * nb] + W[j + i * nb];
            D[i + j * ld] = i == j ? W[i + i * nb] : both;
            W[i + j * nb] = W[j + i * nb] = both;
        }
}

enum { ADX_LAPACK_BLOCK = 48 };

// Murray's blocked reverse sweep: the columns from the last block to the first.
//     R D        rows of the block
//     B C        rows below it
static inline void adx_lapack_cholesky_row(const adx_lapack_call *c,
                                           const ad_real yb[], ad_real xb[],
                                           ad_real w[])
{
    const size_t n = c->n;
    const ad_real *L = c->f;
    ad_real *Lb = w;
    ad_real *W = w + n * n;
    adx_lapack_unpack(n, yb, true, Lb);
    for (size_t end = n; end > 0;) {
        size_t nb = end < ADX_LAPACK_BLOCK ? end : (size_t)ADX_LAPACK_BLOCK;
        size_t j = end - nb;
        size_t below = n - end;
        const ad_real *D = L + j + j * n;
        const ad_real *C = D + nb;
        ad_real *Db = Lb + j + j * n;
        ad_real *Cb = Db + nb;
        adx_lapack_trsm("R", "L", "N", "N", below, nb, D, n, Cb, n);
        adx_lapack_gemm("N", "N", below, j, nb, -1, Cb, n, L + j, n, Lb + end,
                        n);
        adx_lapack_gemm("T", "N", nb, nb, below, -1, Cb, n, C, n, Db, n);
        adx_lapack_cholesky_block(nb, D, n, Db, W);
        adx_lapack_gemm("T", "N", nb, j, below, -1, Cb, n, L + end, n, Lb + j,
                        n);
        adx_lapack_gemm("N", "N", nb, j, nb, -1, W, nb, L + j, n, Lb + j, n);
        end = j;
    }
    adx_lapack_add_lower(n, Lb, xb);
}

static inline void adx_lapack_cholesky_pull(const adx_lapack_call *c, size_t d,
                                            const ad_real yb[], ad_real xb[],
                                            ad_real w[])
{
    for (size_t r = 0; r < d; r++)
        adx_lapack_cholesky_row(c, yb + r * c->results, xb + r * c->operands,
                                w);
}

// Lb, S L and L' S of packed adjoints
static inline void adx_lapack_cholesky_adjoints(const adx_lapack_call *c,
                                                const ad_real yb[],
                                                ad_real Lb[], ad_real SL[],
                                                ad_real LS[])
{
    const size_t n = c->n;
    const ad_real *L = c->f;
    adx_lapack_unpack(n, yb, true, Lb);
    adx_lapack_copy(n * n, Lb, SL);
    adx_lapack_cholesky_back(n, L, n, SL, n);
    adx_lapack_copy(n * n, SL, LS);
    adx_lapack_trmm("R", "N", "N", n, n, 1, L, n, SL, n);
    adx_lapack_trmm("L", "T", "N", n, n, 1, L, n, LS, n);
}

// L' S L = P, so  Sd = L^-T (Pd - Ld' S L - L' S Ld) L^-1.
static inline void adx_lapack_cholesky_second(const adx_lapack_call *c,
                                              const adx_lapack_moving *at,
                                              ad_real w[])
{
    const size_t n = c->n;
    const size_t nn = n * n;
    const ad_real *L = c->f;
    ad_real *Lb = w;
    ad_real *SL = Lb + nn;
    ad_real *LS = SL + nn;                                  // L' S
    ad_real *Ld = LS + nn;
    ad_real *Z = Ld + nn;
    for (size_t r = 0; r < at->d; r++) {
        if (!adx_lapack_is_again(c, at, r))
            adx_lapack_cholesky_adjoints(c, at->yb + r * c->results, Lb, SL,
                                         LS);
        adx_lapack_cholesky_moved(c, at->xd + r * c->operands, Ld);
        adx_lapack_unpack(n, at->ybd + r * c->results, true, Z);     // Pd
        adx_lapack_trmm("L", "T", "N", n, n, 1, L, n, Z, n);
        adx_lapack_gemm("T", "N", n, n, n, 1, Ld, n, Lb, n, Z, n);
        adx_lapack_phi(n, Z, n);
        adx_lapack_gemm("T", "N", n, n, n, -1, Ld, n, SL, n, Z, n);
        adx_lapack_gemm("N", "N", n, n, n, -1, LS, n, Ld, n, Z, n);
        adx_lapack_trsm("L", "L", "T", "N", n, n, L, n, Z, n);
        adx_lapack_trsm("R", "L", "N", "N", n, n, L, n, Z, n);
        adx_lapack_add_mirrored(n, Z, at->xbd + r * c->operands);
    }
}

static const adx_lapack_kind adx_lapack_cholesky_kind = {
    "Cholesky", adx_lapack_cholesky_value, adx_lapack_cholesky_push,
    adx_lapack_cholesky_pull, adx_lapack_cholesky_second
};

// L L' = A, L lower triangular with a positive diagonal (potrf).
//
//   A   [n*n]    in    lower triangle of a symmetric positive definite matrix
//   L   [n*n]    out   with zeros above the diagonal, which are constants. It
//                      may be A
//
//   cost         1/3 n^3; each direction of a reverse sweep 2/3 n^3, of a
//                forward one 3 n^3
//   memory       n^2 numbers
static inline ad_status ad_lapack_cholesky_s(size_t n, const ad_rev *A,
                                             ptrdiff_t ars, ptrdiff_t acs,
                                             ad_rev *L, ptrdiff_t lrs,
                                             ptrdiff_t lcs)
{
    const adx_lapack_arrays a = {
        { adx_lapack_lower(A, n, ars, acs),
          adx_lapack_full(NULL, 0, 0, 0, 0) },
        { adx_lapack_lower(L, n, lrs, lcs),
          adx_lapack_full(NULL, 0, 0, 0, 0) }
    };
    adx_lapack_call c = {
        &adx_lapack_cholesky_kind, n, n, 0, 0, 0, 0, 0, n * n,
        5 * n * n + ADX_LAPACK_BLOCK * ADX_LAPACK_BLOCK, 0, NULL
    };
    return adx_lapack_record(&c, &a);
}

static inline ad_status ad_lapack_cholesky(size_t n, const ad_rev A[],
                                           ad_rev L[])
{
    const ptrdiff_t row = (ptrdiff_t)n;
    return ad_lapack_cholesky_s(n, A, row, 1, L, row, 1);
}

/* === lapack/triangular ======================================================
 * Systems with a triangular matrix, and with a Cholesky factor that is a result
 * or an input itself.
 *
 *   needs   lapack/routines lapack/statements
 * ====================================================================== */

/* --- triangular systems ------------------------------------------------------
 * Factors: X_s = op_s(L)^-1 X_(s-1), where X_0 = B, and op_s is L or its
 * transpose. A triangular system has one; (L L') X = B has two, with L and then
 * with L'. In a direction, and with V_s for the adjoint of X_s:
 *
 *     X_s d     = op_s(L)^-1 (X_(s-1) d - op_s(Ld) X_s)
 *     V_(s-1)   = op_s(L)^-T V_s             op_s(L)b  = -V_(s-1) X_s'
 *     V_(s-1) d = op_s(L)^-T (V_s d - op_s(Ld)' V_(s-1))
 *     op_s(L)bd = -V_(s-1) d X_s' - V_(s-1) X_s d'
 *
 * c->m is their number; f: L [n*n], then each X_s [n*k]. Arrays of all factors
 * begin with that of the first: X_1, but V_0.                               */

// What ad_lapack_trisolve solves with.
enum {
    ADREV_LAPACK_LOWER = 0,         // the lower triangle of T
    ADREV_LAPACK_UPPER = 1,         // the upper triangle
    ADREV_LAPACK_TRANSPOSED = 2,    // T' X = B
    ADREV_LAPACK_UNIT = 4           // ones on the diagonal, which is not read
};

// X_(s+1), the solution with the first s + 1 factors.
static inline const ad_real *adx_lapack_solved(const adx_lapack_call *c,
                                               size_t s)
{
    return c->f + c->n * c->n + s * c->n * c->k;
}

// op_s, or its transpose
static inline const char *adx_lapack_op(const adx_lapack_call *c, size_t s,
                                        bool transposed)
{
    const bool flag = c->flags & ADREV_LAPACK_TRANSPOSED;
    return (flag != (s == 1)) != transposed ? "T" : "N";
}

// B = op_s(L)^-1 B, or the transpose of that, for d k columns
static inline void adx_lapack_solve_with(const adx_lapack_call *c, size_t s,
                                         bool transposed, size_t d, ad_real B[])
{
    adx_lapack_trsm("L", "L", adx_lapack_op(c, s, transposed),
                    c->flags & ADREV_LAPACK_UNIT ? "U" : "N", c->n, d * c->k,
                    c->f, c->n, B, c->n);
}

static inline bool adx_lapack_no_diagonal(const adx_lapack_call *c)
{
    bool zero = false;
    for (size_t i = 0; i < c->n; i++)
        zero |= c->f[i + i * c->n] == 0;
    return zero && !(c->flags & ADREV_LAPACK_UNIT);
}

// Solves with one factor after the other, and keeps what each has made.
static inline const char *adx_lapack_tri_value(adx_lapack_call *c,
                                               const ad_real x[], ad_real y[],
                                               ad_real w[])
{
    const size_t nk = c->n * c->k;
    ad_real *X = c->f + c->n * c->n;
    (void)w;
    adx_lapack_unpack(c->n, x, true, c->f);
    if (adx_lapack_no_diagonal(c))
        return "LAPACK: the triangle is singular, its diagonal has a 0";
    adx_lapack_copy(nk, x + c->checked, y);
    for (size_t s = 0; s < c->m; s++) {
        adx_lapack_solve_with(c, s, false, 1, y);
        adx_lapack_copy(nk, y, X + s * nk);
    }
    return NULL;
}

// L[n,n] of packed tangents, without the diagonal if that is not read.
static inline void adx_lapack_tri_unpack(const adx_lapack_call *c,
                                         const ad_real p[], ad_real L[])
{
    adx_lapack_unpack(c->n, p, true, L);
    for (size_t i = 0; i < c->n && c->flags & ADREV_LAPACK_UNIT; i++)
        L[i + i * c->n] = 0;
}

// B -= op_s(Ld) X, or of the transpose, in each direction: rows of B [d][n*k],
// and rows of X that are `step` apart. Ld[n,n] is room.
static inline void adx_lapack_tri_less(const adx_lapack_call *c, size_t s,
                                       bool transposed, size_t d,
                                       const ad_real xd[], const ad_real X[],
                                       size_t step, ad_real B[], ad_real Ld[])
{
    const size_t n = c->n;
    for (size_t r = 0; r < d; r++) {
        adx_lapack_tri_unpack(c, xd + r * c->operands, Ld);
        adx_lapack_gemm(adx_lapack_op(c, s, transposed), "N", n, c->k, n, -1,
                        Ld, n, X + r * step, n, B + r * n * c->k, n);
    }
}

// Tangents of each X_s: Xd [c->m][d][n*k].
static inline void adx_lapack_tri_moved(const adx_lapack_call *c, size_t d,
                                        const ad_real xd[], ad_real Xd[],
                                        ad_real Ld[])
{
    const size_t nk = c->n * c->k;
    for (size_t r = 0; r < d; r++)
        adx_lapack_copy(nk, xd + r * c->operands + c->checked, Xd + r * nk);
    for (size_t s = 0; s < c->m; s++, Xd += d * nk) {
        if (s > 0)
            adx_lapack_copy(d * nk, Xd - d * nk, Xd);
        adx_lapack_tri_less(c, s, false, d, xd, adx_lapack_solved(c, s), 0,
                            Xd, Ld);
        adx_lapack_solve_with(c, s, false, d, Xd);
    }
}

static inline void adx_lapack_tri_push(const adx_lapack_call *c, size_t d,
                                       const ad_real xd[], ad_real yd[],
                                       ad_real w[])
{
    const size_t all = d * c->results;
    ad_real *Xd = w + c->work;
    adx_lapack_tri_moved(c, d, xd, Xd, w);
    adx_lapack_copy(all, Xd + (c->m - 1) * all, yd);
}

// Each V_(s-1) of adjoints yb: V [c->m][d][n*k].
static inline void adx_lapack_tri_adjoints(const adx_lapack_call *c, size_t d,
                                           const ad_real yb[], ad_real V[])
{
    const size_t all = d * c->results;
    for (size_t s = c->m; s-- > 0;) {
        ad_real *to = V + s * all;
        adx_lapack_copy(all, s + 1 == c->m ? yb : to + all, to);
        adx_lapack_solve_with(c, s, true, d, to);
    }
}

// C[n,n] -= the adjoint that V_(s-1) and X_s make: V X', or X V'
static inline void adx_lapack_tri_outer(const adx_lapack_call *c, size_t s,
                                        const ad_real V[], const ad_real X[],
                                        ad_real C[])
{
    const size_t n = c->n;
    const bool transposed = *adx_lapack_op(c, s, false) == 'T';
    adx_lapack_gemm("N", "T", n, n, c->k, -1, transposed ? X : V, n,
                    transposed ? V : X, n, C, n);
}

static inline void adx_lapack_tri_pack(const adx_lapack_call *c, ad_real C[],
                                       ad_real p[])
{
    for (size_t i = 0; i < c->n && c->flags & ADREV_LAPACK_UNIT; i++)
        C[i + i * c->n] = 0;
    adx_lapack_add_lower(c->n, C, p);
}

// Bb = V_0; Lb is the sum of those of all factors.
static inline void adx_lapack_tri_pull(const adx_lapack_call *c, size_t d,
                                       const ad_real yb[], ad_real xb[],
                                       ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    const ad_real *V = w + c->work;
    adx_lapack_tri_adjoints(c, d, yb, w + c->work);
    for (size_t r = 0; r < d; r++, V += nk, xb += c->operands) {
        adx_lapack_add(nk, 1, V, xb + c->checked);
        adx_lapack_clear(n * n, w);
        for (size_t s = 0; s < c->m; s++)
            adx_lapack_tri_outer(c, s, V + s * d * nk,
                                 adx_lapack_solved(c, s), w);
        adx_lapack_tri_pack(c, w, xb);
    }
}

// Tangents of each V_(s-1): Vd [c->m][d][n*k].
static inline void adx_lapack_tri_adjoints_moved(const adx_lapack_call *c,
                                                 const adx_lapack_moving *at,
                                                 const ad_real V[],
                                                 ad_real Vd[], ad_real Ld[])
{
    const size_t nk = c->n * c->k;
    const size_t all = at->d * nk;
    for (size_t s = c->m; s-- > 0;) {
        ad_real *to = Vd + s * all;
        adx_lapack_copy(all, s + 1 == c->m ? at->ybd : to + all, to);
        adx_lapack_tri_less(c, s, true, at->d, at->xd, V + s * all, nk, to, Ld);
        adx_lapack_solve_with(c, s, true, at->d, to);
    }
}

// The tangents of what tri_pull adds, as above.
static inline void adx_lapack_tri_second(const adx_lapack_call *c,
                                         const adx_lapack_moving *at,
                                         ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    const size_t all = at->d * nk;
    ad_real *C = w;                     // first of all, room for Ld
    ad_real *V = w + c->work;
    ad_real *Xd = V + c->m * all;
    ad_real *Vd = Xd + c->m * all;
    adx_lapack_tri_adjoints(c, at->d, at->yb, V);
    adx_lapack_tri_moved(c, at->d, at->xd, Xd, C);
    adx_lapack_tri_adjoints_moved(c, at, V, Vd, C);
    for (size_t r = 0; r < at->d; r++, V += nk, Xd += nk, Vd += nk) {
        ad_real *xbd = at->xbd + r * c->operands;
        adx_lapack_add(nk, 1, Vd, xbd + c->checked);
        adx_lapack_clear(n * n, C);
        for (size_t s = 0; s < c->m; s++) {
            adx_lapack_tri_outer(c, s, Vd + s * all, adx_lapack_solved(c, s),
                                 C);
            adx_lapack_tri_outer(c, s, V + s * all, Xd + s * all, C);
        }
        adx_lapack_tri_pack(c, C, xbd);
    }
}

static const adx_lapack_kind adx_lapack_tri_kind = {
    "triangular solve", adx_lapack_tri_value, adx_lapack_tri_push,
    adx_lapack_tri_pull, adx_lapack_tri_second
};

static inline ad_status adx_lapack_record_factors(size_t m, unsigned flags,
                                                  size_t n, size_t k,
                                                  const adx_lapack_arrays *a)
{
    const size_t nk = n * k;
    adx_lapack_call c = {
        &adx_lapack_tri_kind, m, n, k, flags, 0, 0, 0, n * n + m * nk,
        n * n, 3 * m * nk, NULL
    };
    return adx_lapack_record(&c, a);
}

// X = T^-1 B, with a triangle of T (trsm).
//
//   flags        in    ADREV_LAPACK_LOWER or _UPPER; | _TRANSPOSED; | _UNIT
//   T   [n*n]    in    the other triangle is not read
//   B   [n*k]    in
//   X   [n*k]    out
//
//   cost         n^2 k; each direction of a sweep 3 n^2 k
//   memory       n (n + k) numbers
static inline ad_status ad_lapack_trisolve_s(unsigned flags, size_t n,
                                             size_t k, const ad_rev *T,
                                             ptrdiff_t trs, ptrdiff_t tcs,
                                             const ad_rev *B, ptrdiff_t brs,
                                             ptrdiff_t bcs, ad_rev *X,
                                             ptrdiff_t xrs, ptrdiff_t xcs)
{
    const bool upper = flags & ADREV_LAPACK_UPPER;      // the lower one of T'
    const adx_lapack_arrays a = {
        { adx_lapack_lower(T, n, upper ? tcs : trs, upper ? trs : tcs),
          adx_lapack_full(B, n, k, brs, bcs) },
        { adx_lapack_full(X, n, k, xrs, xcs),
          adx_lapack_full(NULL, 0, 0, 0, 0) }
    };
    if (flags > 7)
        return ad_fail(ADREV_ESHAPE, NULL);
    flags ^= upper ? (unsigned)ADREV_LAPACK_TRANSPOSED : 0u;
    return adx_lapack_record_factors(1, flags, n, k, &a);
}

static inline ad_status ad_lapack_trisolve(unsigned flags, size_t n, size_t k,
                                           const ad_rev T[], const ad_rev B[],
                                           ad_rev X[])
{
    const ptrdiff_t side = (ptrdiff_t)k;
    return ad_lapack_trisolve_s(flags, n, k, T, (ptrdiff_t)n, 1, B, side, 1, X,
                                side, 1);
}

/* --- (L L') X = B --------------------------------------------------------- */

// X = (L L')^-1 B, with the L of ad_lapack_cholesky (or any lower triangle).
//
//   L   [n*n]    in    lower triangle
//   B   [n*k]    in
//   X   [n*k]    out
//
//   cost         2 n^2 k; each direction of a sweep 6 n^2 k
//   memory       n (n + 2k) numbers
static inline ad_status ad_lapack_cholesky_solve_s(size_t n, size_t k,
                                                   const ad_rev *L,
                                                   ptrdiff_t lrs,
                                                   ptrdiff_t lcs,
                                                   const ad_rev *B,
                                                   ptrdiff_t brs,
                                                   ptrdiff_t bcs, ad_rev *X,
                                                   ptrdiff_t xrs,
                                                   ptrdiff_t xcs)
{
    const adx_lapack_arrays a = {
        { adx_lapack_lower(L, n, lrs, lcs),
          adx_lapack_full(B, n, k, brs, bcs) },
        { adx_lapack_full(X, n, k, xrs, xcs),
          adx_lapack_full(NULL, 0, 0, 0, 0) }
    };
    return adx_lapack_record_factors(2, 0, n, k, &a);
}

static inline ad_status ad_lapack_cholesky_solve(size_t n, size_t k,
                                                 const ad_rev L[],
                                                 const ad_rev B[], ad_rev X[])
{
    const ptrdiff_t side = (ptrdiff_t)k;
    return ad_lapack_cholesky_solve_s(n, k, L, (ptrdiff_t)n, 1, B, side, 1, X,
                                      side, 1);
}

/* === lapack/eigen ===========================================================
 * Eigenvalues and eigenvectors of symmetric matrices.
 *
 *   needs   lapack/routines lapack/statements
 * ====================================================================== */

/* --- eigenvalues of symmetric matrices ---------------------------------------
 * f: eigenvalues [n], vectors V [n*n], groups [n]: the first of the eigenvalues
 * that coincide with this one. With M = V' Ad V, Q = V' Vb, and for eigenvalues
 * of different groups F[i,j] = 1/(w[j] - w[i]):
 *
 *     wd[i] = M[i,i]      Vd = V E,  E = F o M
 *     Ab = V N V'         N = diag(wb) + F o Q
 *     Abd = V (E N - N E + Nd) V'                                            */

enum { ADX_LAPACK_VECTORS = 1, ADX_LAPACK_EIGEN_MOST = 32000 };

static inline void adx_lapack_find_groups(size_t n, const ad_real w[],
                                          ad_real group[])
{
    const double most = fmax(fabs((double)w[0]), fabs((double)w[n - 1]));
    for (size_t i = 0; i < n; i++)
        group[i] = i > 0 && (double)(w[i] - w[i - 1])
                            <= 16 * (double)n * adx_lapack_eps() * most
                 ? group[i - 1] : (ad_real)i;
}

// The largest component of each vector, the first of them, is positive.
static inline void adx_lapack_signs(size_t n, ad_real V[])
{
    for (size_t j = 0; j < n; j++) {
        ad_real *v = V + j * n;
        size_t most = 0;
        for (size_t i = 1; i < n; i++)
            if (fabs((double)v[i]) > fabs((double)v[most]))
                most = i;
        const ad_real sign = v[most] < 0 ? (ad_real)-1 : (ad_real)1;
        for (size_t i = 0; i < n; i++)
            v[i] *= sign;
    }
}

// The sign of each vector is fixed, so that results do not depend on LAPACK's
// version.
static inline const char *adx_lapack_eigen_value(adx_lapack_call *c,
                                                 const ad_real x[],
                                                 ad_real y[], ad_real w[])
{
    const size_t n = c->n;
    const adx_lapack_int N = (adx_lapack_int)n;
    const adx_lapack_int room = (adx_lapack_int)(1 + 6 * n + 2 * n * n);
    const adx_lapack_int ints = (adx_lapack_int)(3 + 5 * n);
    adx_lapack_int info = 0;
    ad_real *V = c->f + n;
    adx_lapack_unpack(n, x, false, V);
    ADX_LAPACK(syevd)("V", "L", &N, V, &N, c->f, w, &room,
                      (adx_lapack_int *)(void *)(w + room), &ints, &info, 1,
                      1);
    if (info != 0)
        return "LAPACK: the eigenvalues did not converge";
    adx_lapack_signs(n, V);
    adx_lapack_find_groups(n, c->f, V + n * n);
    adx_lapack_copy(n, c->f, y);
    if (c->flags & ADX_LAPACK_VECTORS)
        adx_lapack_copy(n * n, V, y + n);
    return NULL;
}

// C[n,n] = V' S V, or V S V' if out; T[n,n]
static inline void adx_lapack_turn(const adx_lapack_call *c, bool out,
                                   const ad_real S[], ad_real T[],
                                   ad_real C[])
{
    const size_t n = c->n;
    const ad_real *V = c->f + n;
    adx_lapack_clear(n * n, T);
    adx_lapack_clear(n * n, C);
    adx_lapack_gemm("N", out ? "T" : "N", n, n, n, 1, S, n, V, n, T, n);
    adx_lapack_gemm(out ? "N" : "T", "N", n, n, n, 1, V, n, T, n, C, n);
}

// d[n], `step` apart, as means over groups; added to out
static inline void adx_lapack_add_means(const adx_lapack_call *c,
                                        const ad_real d[], size_t step,
                                        ad_real out[], size_t out_step)
{
    const ad_real *group = c->f + c->n + c->n * c->n;
    for (size_t i = 0, end; i < c->n; i = end) {
        ad_real sum = 0;
        for (end = i; end < c->n && group[end] == group[i]; end++)
            sum += d[end * step];
        for (size_t j = i; j < end; j++)
            out[j * out_step] += sum / (ad_real)(end - i);
    }
}

// E = F o M. Within a group there is no derivative, unless M is 0 there.
static inline void adx_lapack_gaps(const adx_lapack_call *c, const ad_real M[],
                                   ad_real E[])
{
    const size_t n = c->n;
    const ad_real *w = c->f;
    const ad_real *group = w + n + n * n;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            ad_real m = M[i + j * n];
            E[i + j * n] = i == j || m == 0 ? 0
                         : group[i] == group[j] ? (ad_real)NAN
                         : m / (w[j] - w[i]);
        }
}

// wd is the diagonal of M, with its means where eigenvalues coincide; Vd = V E.
static inline void adx_lapack_eigen_push(const adx_lapack_call *c, size_t d,
                                         const ad_real xd[], ad_real yd[],
                                         ad_real w[])
{
    const size_t n = c->n;
    ad_real *M = w + n * n;
    ad_real *T = M + n * n;
    for (size_t r = 0; r < d; r++, xd += c->operands, yd += c->results) {
        adx_lapack_unpack(n, xd, false, w);
        adx_lapack_turn(c, false, w, T, M);
        adx_lapack_add_means(c, M, n + 1, yd, 1);
        if (c->flags & ADX_LAPACK_VECTORS) {
            adx_lapack_gaps(c, M, T);
            adx_lapack_gemm("N", "N", n, n, n, 1, c->f + n, n, T, n, yd + n, n);
        }
    }
}

static inline bool adx_lapack_all_zero(size_t n, const ad_real x[])
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            return false;
    return true;
}

// N, and Q, which is 0 if vectors are no results.
static inline void adx_lapack_eigen_inner(const adx_lapack_call *c,
                                          const ad_real yb[], ad_real Q[],
                                          ad_real N[])
{
    const size_t n = c->n;
    adx_lapack_clear(n * n, Q);
    if (c->flags & ADX_LAPACK_VECTORS && !adx_lapack_all_zero(n * n, yb + n))
        adx_lapack_gemm("T", "N", n, n, n, 1, c->f + n, n, yb + n, n, Q, n);
    adx_lapack_gaps(c, Q, N);
    adx_lapack_add_means(c, yb, 1, N, n + 1);
}

// Ab = V N V', folded onto the triangle that is stored.
static inline void adx_lapack_eigen_pull(const adx_lapack_call *c, size_t d,
                                         const ad_real yb[], ad_real xb[],
                                         ad_real w[])
{
    const size_t n = c->n;
    ad_real *N = w + n * n;
    ad_real *T = N + n * n;
    for (size_t r = 0; r < d; r++) {
        adx_lapack_eigen_inner(c, yb + r * c->results, w, N);
        adx_lapack_turn(c, true, N, T, w);
        adx_lapack_add_mirrored(n, w, xb + r * c->operands);
    }
}

// Whether eigenvalues coincide on which a result depends: where they part, a
// second derivative cannot be told from what is known here.
static inline bool adx_lapack_parting(const adx_lapack_call *c,
                                      const ad_real yb[], const ad_real ybd[])
{
    const size_t n = c->n;
    const ad_real *group = c->f + n + n * n;
    const bool vectors = c->flags & ADX_LAPACK_VECTORS
        && !(adx_lapack_all_zero(n * n, yb + n)
             && adx_lapack_all_zero(n * n, ybd + n));
    for (size_t i = 1; i < n; i++)
        if (group[i] == group[i - 1]
            && (vectors || !adx_lapack_all_zero(2, yb + i - 1)
                || !adx_lapack_all_zero(2, ybd + i - 1)))
            return true;
    return false;
}

// Nd = diag(wbd) + Fd o Q + F o Qd,
// Qd = E' Q + V' Vbd,  Fd = -F F (wd[j] - wd[i])
static inline void adx_lapack_eigen_inner_moved(const adx_lapack_call *c,
                                                const ad_real ybd[],
                                                const ad_real M[],
                                                const ad_real E[],
                                                const ad_real Q[],
                                                ad_real Qd[], ad_real Nd[])
{
    const size_t n = c->n;
    const ad_real *w = c->f;
    adx_lapack_clear(n * n, Qd);
    if (c->flags & ADX_LAPACK_VECTORS)
        adx_lapack_gemm("T", "N", n, n, n, 1, c->f + n, n, ybd + n, n, Qd, n);
    adx_lapack_gemm("T", "N", n, n, n, 1, E, n, Q, n, Qd, n);
    adx_lapack_gaps(c, Qd, Nd);
    adx_lapack_add_means(c, ybd, 1, Nd, n + 1);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            if (i != j && Q[i + j * n] != 0)
                Nd[i + j * n] -= Q[i + j * n]
                               * (M[j + j * n] - M[i + i * n])
                               / (w[j] - w[i]) / (w[j] - w[i]);
}

// One direction, with Q and N of the adjoints; w [4 n*n]
static inline void adx_lapack_eigen_second_row(const adx_lapack_call *c,
                                               const ad_real xd[],
                                               const ad_real ybd[],
                                               const ad_real Q[],
                                               const ad_real N[],
                                               ad_real xbd[], ad_real w[])
{
    const size_t n = c->n;
    const size_t nn = n * n;
    const ad_real *group = c->f + n + nn;
    ad_real *M = w;
    ad_real *E = M + nn;
    ad_real *T = E + nn;
    ad_real *Nd = T + nn;
    adx_lapack_unpack(n, xd, false, E);
    adx_lapack_turn(c, false, E, T, M);
    for (size_t j = 0; j < n; j++)          // groups on which nothing depends
        for (size_t i = 0; i < n; i++)
            if (i != j && group[i] == group[j])
                M[i + j * n] = 0;
    adx_lapack_gaps(c, M, E);
    adx_lapack_eigen_inner_moved(c, ybd, M, E, Q, T, Nd);
    adx_lapack_gemm("N", "N", n, n, n, 1, E, n, N, n, Nd, n);
    adx_lapack_gemm("N", "N", n, n, n, -1, N, n, E, n, Nd, n);
    adx_lapack_turn(c, true, Nd, T, M);
    adx_lapack_add_mirrored(n, M, xbd);
}

// Abd, as above; NaN where it cannot be told.
static inline void adx_lapack_eigen_second(const adx_lapack_call *c,
                                           const adx_lapack_moving *at,
                                           ad_real w[])
{
    const size_t nn = c->n * c->n;
    ad_real *Q = w;
    ad_real *N = Q + nn;
    for (size_t r = 0; r < at->d; r++) {
        const ad_real *yb = at->yb + r * c->results;
        const ad_real *ybd = at->ybd + r * c->results;
        ad_real *xbd = at->xbd + r * c->operands;
        if (!adx_lapack_is_again(c, at, r))
            adx_lapack_eigen_inner(c, yb, Q, N);
        if (adx_lapack_parting(c, yb, ybd))
            for (size_t i = 0; i < c->operands; i++)
                xbd[i] = (ad_real)NAN;
        else
            adx_lapack_eigen_second_row(c, at->xd + r * c->operands, ybd, Q, N,
                                        xbd, N + nn);
    }
}

static const adx_lapack_kind adx_lapack_eigen_kind = {
    "symmetric eigenvalues", adx_lapack_eigen_value, adx_lapack_eigen_push,
    adx_lapack_eigen_pull, adx_lapack_eigen_second
};

// Eigenvalues of a symmetric matrix, in ascending order, and its eigenvectors
// (syevd).
//
//   A   [n*n]    in    lower triangle
//   w   [n]      out   eigenvalues
//   V   [n*n]    out   column j, V[i*n + j], is the vector of w[j]: of length
//                      1, its largest component, the first of these, positive.
//                      NULL: not wanted
//
// Eigenvalues coincide if neighbours differ by no more than 16 n times the
// rounding error of the largest one. Then they share their derivative equally,
// as ties of ad_max do: right for every function that treats them alike (a sum,
// a product, the largest one's tie). Where a derivative does not exist it is
// NaN: that of a vector whose eigenvalue coincides with another; and second
// derivatives of eigenvalues that coincide, which cannot be told without
// their vectors. What no result depends on spoils nothing.
//
//   cost         4 to 9 n^3; each direction of a sweep 4 n^3, with vectors 6
//   memory       n (n + 2) numbers
static inline ad_status ad_lapack_eigen_s(size_t n, const ad_rev *A,
                                          ptrdiff_t ars, ptrdiff_t acs,
                                          ad_rev *w, ptrdiff_t incw, ad_rev *V,
                                          ptrdiff_t vrs, ptrdiff_t vcs)
{
    const size_t vectors = V == NULL ? 0 : n;
    const size_t value = 1 + 6 * n + 2 * n * n + adx_lapack_of_ints(3 + 5 * n);
    const adx_lapack_arrays a = {
        { adx_lapack_lower(A, n, ars, acs),
          adx_lapack_full(NULL, 0, 0, 0, 0) },
        { adx_lapack_full(w, n, 1, incw, 1),
          adx_lapack_full(V, vectors, vectors, vrs, vcs) }
    };
    adx_lapack_call c = {
        &adx_lapack_eigen_kind, n, n, 0,
        V == NULL ? 0u : (unsigned)ADX_LAPACK_VECTORS, 0, 0, 0, n * (n + 2),
        value > 6 * n * n ? value : 6 * n * n, 0, NULL
    };
    if (n > ADX_LAPACK_EIGEN_MOST)
        return ad_fail(ADREV_ELIMIT, NULL);
    return adx_lapack_record(&c, &a);
}

static inline ad_status ad_lapack_eigen(size_t n, const ad_rev A[], ad_rev w[],
                                        ad_rev V[])
{
    const ptrdiff_t row = (ptrdiff_t)n;
    return ad_lapack_eigen_s(n, A, row, 1, w, 1, V, row, 1);
}

/* === lapack/squares =========================================================
 * Least squares by QR factors.
 *
 *   needs   lapack/routines lapack/statements
 * ====================================================================== */

/* --- least squares -----------------------------------------------------------
 * f: the factors of A [m*n] as geqrf leaves them, tau [n], X [n*k], the
 * residual D [m*k] = B - A X. With A = Q (R; 0):
 *
 *     Xd = R^-1 Z,  Z = (Q' T)top + R^-T Ad' D,  T = Bd - Ad X
 *     U = R^-T Xb,  W = R^-1 U,  Bb = Q (U; 0),  Ab = D W' - Bb X'
 *     Ud = R^-T (Xbd - Ad' Bb) - (Q' Ad W)top,  Wd = R^-1 Ud
 *     Bbd = Ad W + Q (Ud; 0),  Dd = T - Q (Z; 0)                             */

enum { ADX_LAPACK_PANEL = 64 };         // of geqrf and ormqr, for each column

static inline ad_real *adx_lapack_tau(const adx_lapack_call *c)
{
    return c->f + c->m * c->n;
}

static inline ad_real *adx_lapack_lsq_x(const adx_lapack_call *c)
{
    return adx_lapack_tau(c) + c->n;
}

static inline ad_real *adx_lapack_residual(const adx_lapack_call *c)
{
    return adx_lapack_lsq_x(c) + c->n * c->k;
}

// C[m, d k] = Q C or Q' C; room[64 d k]
static inline void adx_lapack_q(const adx_lapack_call *c, const char *t,
                                size_t d, ad_real C[], ad_real room[])
{
    const adx_lapack_int m = (adx_lapack_int)c->m;
    const adx_lapack_int n = (adx_lapack_int)c->n;
    const adx_lapack_int k = (adx_lapack_int)(d * c->k);
    const adx_lapack_int length = (adx_lapack_int)ADX_LAPACK_PANEL * k;
    adx_lapack_int info = 0;
    ADX_LAPACK(ormqr)("L", t, &m, &k, &n, c->f, &m, adx_lapack_tau(c), C, &m,
                      room, &length, &info, 1, 1);
}

// B[n, d k] = R^-1 B ("N") or R^-T B ("T")
static inline void adx_lapack_r(const adx_lapack_call *c, const char *t,
                                size_t d, ad_real B[])
{
    adx_lapack_trsm("L", "U", t, "N", c->n, d * c->k, c->f, c->m, B, c->n);
}

// Adds a times the first n rows of the m of C, in d k columns.
static inline void adx_lapack_add_top(const adx_lapack_call *c, size_t d,
                                      ad_real a, const ad_real C[],
                                      ad_real B[])
{
    for (size_t j = 0; j < d * c->k; j++)
        adx_lapack_add(c->n, a, C + j * c->m, B + j * c->n);
}

// C[m, d k] = (B; 0)
static inline void adx_lapack_extend(const adx_lapack_call *c, size_t d,
                                     const ad_real B[], ad_real C[])
{
    adx_lapack_clear(d * c->m * c->k, C);
    for (size_t j = 0; j < d * c->k; j++)
        adx_lapack_copy(c->n, B + j * c->n, C + j * c->m);
}

// Whether a column is, to rounding, a combination of those before it.
static inline bool adx_lapack_is_dependent(const adx_lapack_call *c)
{
    const double eps = adx_lapack_eps();
    for (size_t j = 0; j < c->n; j++) {
        const ad_real *column = c->f + j * c->m;
        double length = 0;
        for (size_t i = 0; i <= j; i++)
            length = hypot(length, (double)column[i]);
        if (!(fabs((double)column[j]) > eps * (double)c->m * length))
            return true;
    }
    return false;
}

// X = R^-1 (Q' B)top. What stands below it in Q' B, turned back by Q, is the
// residual D.
static inline const char *adx_lapack_lsq_value(adx_lapack_call *c,
                                               const ad_real x[], ad_real y[],
                                               ad_real w[])
{
    const adx_lapack_int m = (adx_lapack_int)c->m;
    const adx_lapack_int n = (adx_lapack_int)c->n;
    const adx_lapack_int length = (adx_lapack_int)(ADX_LAPACK_PANEL * c->n);
    const size_t mk = c->m * c->k;
    ad_real *D = adx_lapack_residual(c);
    adx_lapack_int info = 0;
    adx_lapack_copy(c->checked, x, c->f);
    ADX_LAPACK(geqrf)(&m, &n, c->f, &m, adx_lapack_tau(c), w, &length, &info);
    if (adx_lapack_is_dependent(c))
        return "LAPACK: the matrix has not full rank";
    adx_lapack_copy(mk, x + c->checked, D);
    adx_lapack_q(c, "T", 1, D, w);
    for (size_t j = 0; j < c->k; j++) {         // D = Q (0; the rest)
        adx_lapack_copy(c->n, D + j * c->m, y + j * c->n);
        adx_lapack_clear(c->n, D + j * c->m);
    }
    adx_lapack_r(c, "N", 1, y);
    adx_lapack_copy(c->n * c->k, y, adx_lapack_lsq_x(c));
    adx_lapack_q(c, "N", 1, D, w);
    return NULL;
}

// Z [d][n*k] and T [d][m*k]; C [d][m*k], room[64 d k]
static inline void adx_lapack_lsq_moved(const adx_lapack_call *c, size_t d,
                                        const ad_real xd[], ad_real Z[],
                                        ad_real T[], ad_real C[],
                                        ad_real room[])
{
    const size_t m = c->m;
    const size_t n = c->n;
    const size_t mk = m * c->k;
    const size_t nk = n * c->k;
    adx_lapack_clear(d * nk, Z);
    for (size_t r = 0; r < d; r++, xd += c->operands) {
        adx_lapack_copy(mk, xd + c->checked, T + r * mk);
        adx_lapack_gemm("N", "N", m, c->k, n, -1, xd, m, adx_lapack_lsq_x(c),
                        n, T + r * mk, m);
        adx_lapack_gemm("T", "N", n, c->k, m, 1, xd, m, adx_lapack_residual(c),
                        m, Z + r * nk, n);
    }
    adx_lapack_r(c, "T", d, Z);
    adx_lapack_copy(d * mk, T, C);
    adx_lapack_q(c, "T", d, C, room);
    adx_lapack_add_top(c, d, 1, C, Z);
}

static inline void adx_lapack_lsq_push(const adx_lapack_call *c, size_t d,
                                       const ad_real xd[], ad_real yd[],
                                       ad_real w[])
{
    const size_t all = d * c->m * c->k;
    adx_lapack_lsq_moved(c, d, xd, yd, w, w + all, w + 2 * all);
    adx_lapack_r(c, "N", d, yd);
}

// W [d][n*k] and Bb [d][m*k]
static inline void adx_lapack_lsq_adjoints(const adx_lapack_call *c, size_t d,
                                           const ad_real yb[], ad_real W[],
                                           ad_real Bb[], ad_real room[])
{
    adx_lapack_copy(d * c->n * c->k, yb, W);
    adx_lapack_r(c, "T", d, W);
    adx_lapack_extend(c, d, W, Bb);
    adx_lapack_q(c, "N", d, Bb, room);
    adx_lapack_r(c, "N", d, W);
}

// Ab[m,n] += D W' - Bb X'
static inline void adx_lapack_lsq_outer(const adx_lapack_call *c,
                                        const ad_real D[], const ad_real W[],
                                        const ad_real Bb[], const ad_real X[],
                                        ad_real Ab[])
{
    const size_t m = c->m;
    const size_t n = c->n;
    adx_lapack_gemm("N", "T", m, n, c->k, 1, D, m, W, n, Ab, m);
    adx_lapack_gemm("N", "T", m, n, c->k, -1, Bb, m, X, n, Ab, m);
}

// Bb and Ab, as above.
static inline void adx_lapack_lsq_pull(const adx_lapack_call *c, size_t d,
                                       const ad_real yb[], ad_real xb[],
                                       ad_real w[])
{
    const size_t mk = c->m * c->k;
    const size_t nk = c->n * c->k;
    ad_real *Bb = w;
    ad_real *W = Bb + d * mk;
    adx_lapack_lsq_adjoints(c, d, yb, W, Bb, W + d * nk);
    for (size_t r = 0; r < d; r++, Bb += mk, W += nk, xb += c->operands) {
        adx_lapack_add(mk, 1, Bb, xb + c->checked);
        adx_lapack_lsq_outer(c, adx_lapack_residual(c), W, Bb,
                             adx_lapack_lsq_x(c), xb);
    }
}

// Ud, from Bb and W; C becomes Ad W; each of them has rows
static inline void adx_lapack_lsq_adjoints_moved(const adx_lapack_call *c,
                                                 const adx_lapack_moving *at,
                                                 const ad_real W[],
                                                 const ad_real Bb[],
                                                 ad_real Ud[], ad_real C[],
                                                 ad_real T[], ad_real room[])
{
    const size_t m = c->m;
    const size_t n = c->n;
    const size_t mk = m * c->k;
    const size_t nk = n * c->k;
    adx_lapack_copy(at->d * nk, at->ybd, Ud);
    adx_lapack_clear(at->d * mk, C);
    for (size_t r = 0; r < at->d; r++) {
        const ad_real *Ad = at->xd + r * c->operands;
        adx_lapack_gemm("T", "N", n, c->k, m, -1, Ad, m, Bb + r * mk, m,
                        Ud + r * nk, n);
        adx_lapack_gemm("N", "N", m, c->k, n, 1, Ad, m, W + r * nk, n,
                        C + r * mk, m);
    }
    adx_lapack_r(c, "T", at->d, Ud);
    adx_lapack_copy(at->d * mk, C, T);
    adx_lapack_q(c, "T", at->d, T, room);
    adx_lapack_add_top(c, at->d, -1, T, Ud);
}

// Adds Bbd = Ad W + Q (Ud; 0), and Abd = D Wd' + Dd W' - Bbd X' - Bb Xd'.
static inline void adx_lapack_lsq_second(const adx_lapack_call *c,
                                         const adx_lapack_moving *at,
                                         ad_real w[])
{
    const size_t d = at->d;
    const size_t mk = c->m * c->k;
    const size_t nk = c->n * c->k;
    ad_real *Bb = w;
    ad_real *C = Bb + d * mk;           // Ad W, then Bbd
    ad_real *T = C + d * mk;
    ad_real *Dd = T + d * mk;
    ad_real *W = Dd + d * mk;
    ad_real *Ud = W + d * nk;           // then Wd
    ad_real *Z = Ud + d * nk;           // then Xd
    ad_real *room = Z + d * nk;
    adx_lapack_lsq_adjoints(c, d, at->yb, W, Bb, room);
    adx_lapack_lsq_adjoints_moved(c, at, W, Bb, Ud, C, T, room);
    adx_lapack_extend(c, d, Ud, T);
    adx_lapack_q(c, "N", d, T, room);
    adx_lapack_add(d * mk, 1, T, C);
    adx_lapack_r(c, "N", d, Ud);
    adx_lapack_lsq_moved(c, d, at->xd, Z, Dd, T, room);
    adx_lapack_extend(c, d, Z, T);
    adx_lapack_q(c, "N", d, T, room);
    adx_lapack_add(d * mk, -1, T, Dd);
    adx_lapack_r(c, "N", d, Z);
    for (size_t r = 0; r < d; r++, C += mk, Dd += mk, Ud += nk, Z += nk) {
        ad_real *xbd = at->xbd + r * c->operands;
        adx_lapack_add(mk, 1, C, xbd + c->checked);
        adx_lapack_lsq_outer(c, adx_lapack_residual(c), Ud, C,
                             adx_lapack_lsq_x(c), xbd);
        adx_lapack_lsq_outer(c, Dd, W, Bb, Z, xbd);
        Bb += mk;
        W += nk;
    }
}

static const adx_lapack_kind adx_lapack_lsq_kind = {
    "least squares", adx_lapack_lsq_value, adx_lapack_lsq_push,
    adx_lapack_lsq_pull, adx_lapack_lsq_second
};

// X minimises the sum of squares of B - A X, column by column (geqrf, ormqr).
//
//   m            in    rows of A and B, at least n, or ADREV_ESHAPE
//   A   [m*n]    in    of full rank: no column may be a combination of those
//                      before it, to within m rounding errors of its own
//   B   [m*k]    in
//   X   [n*k]    out
//
//   cost         2 n^2 (m - n/3) + 4 m n k; each direction of a sweep 12 m n k
//   memory       m (n + k) + n (k + 1) numbers
static inline ad_status ad_lapack_least_squares_s(size_t m, size_t n, size_t k,
                                                  const ad_rev *A,
                                                  ptrdiff_t ars, ptrdiff_t acs,
                                                  const ad_rev *B,
                                                  ptrdiff_t brs, ptrdiff_t bcs,
                                                  ad_rev *X, ptrdiff_t xrs,
                                                  ptrdiff_t xcs)
{
    const size_t widest = n > k ? n : k;
    const adx_lapack_arrays a = {
        { adx_lapack_full(A, m, n, ars, acs),
          adx_lapack_full(B, m, k, brs, bcs) },
        { adx_lapack_full(X, n, k, xrs, xcs),
          adx_lapack_full(NULL, 0, 0, 0, 0) }
    };
    adx_lapack_call c = {
        &adx_lapack_lsq_kind, m, n, k, 0, 0, 0, 0,
        m * n + n + n * k + m * k,
        ADX_LAPACK_PANEL * widest,
        4 * m * k + 3 * n * k + ADX_LAPACK_PANEL * k, NULL
    };
    if (m < n)
        return ad_fail(ADREV_ESHAPE, NULL);
    return adx_lapack_record(&c, &a);
}

static inline ad_status ad_lapack_least_squares(size_t m, size_t n, size_t k,
                                                const ad_rev A[],
                                                const ad_rev B[], ad_rev X[])
{
    const ptrdiff_t side = (ptrdiff_t)k;
    return ad_lapack_least_squares_s(m, n, k, A, (ptrdiff_t)n, 1, B, side, 1,
                                     X, side, 1);
}

#endif
