#pragma once

/* === lapack/triangular ======================================================
 * Systems with a triangular matrix, and with a Cholesky factor that is a result
 * or an input itself.
 *
 *   needs   lapack/routines lapack/statements
 * ====================================================================== */

/* --- triangular systems ----------------------------------------------------- */

// What ad_lapack_trisolve solves with.
enum {
    ADREV_LAPACK_LOWER = 0,         // the lower triangle of T
    ADREV_LAPACK_UPPER = 1,         // the upper triangle
    ADREV_LAPACK_TRANSPOSED = 2,    // T' X = B
    ADREV_LAPACK_UNIT = 4           // ones on the diagonal, which is not read
};

// f: L [n*n], X [n*k]; op(L) X = B, op by the flags
static inline const char *adx_lapack_op(const adx_lapack_call *c,
                                        bool transposed)
{
    return ((c->flags & ADREV_LAPACK_TRANSPOSED) != 0) != transposed ? "T"
                                                                     : "N";
}

static inline const char *adx_lapack_unit(const adx_lapack_call *c)
{
    return c->flags & ADREV_LAPACK_UNIT ? "U" : "N";
}

// B = op(L)^-1 B, or the transposed of that
static inline void adx_lapack_trisolve(const adx_lapack_call *c,
                                       bool transposed, ad_real B[])
{
    adx_lapack_trsm("L", "L", adx_lapack_op(c, transposed), adx_lapack_unit(c),
                    c->n, c->k, c->f, c->n, B, c->n);
}

static inline bool adx_lapack_no_diagonal(const adx_lapack_call *c)
{
    bool zero = false;
    for (size_t i = 0; i < c->n; i++)
        zero |= c->f[i + i * c->n] == 0;
    return zero && !(c->flags & ADREV_LAPACK_UNIT);
}

static inline const char *adx_lapack_tri_value(adx_lapack_call *c,
                                               const ad_real x[], ad_real y[],
                                               ad_real w[])
{
    const size_t nk = c->n * c->k;
    (void)w;
    adx_lapack_unpack(c->n, x, true, c->f);
    if (adx_lapack_no_diagonal(c))
        return "LAPACK: the triangle is singular, its diagonal has a 0";
    adx_lapack_copy(nk, x + c->checked, y);
    adx_lapack_trisolve(c, false, y);
    adx_lapack_copy(nk, y, c->f + c->n * c->n);
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

// B[n,k] -= op(Ld) X, or of the transposed
static inline void adx_lapack_tri_less(const adx_lapack_call *c,
                                       bool transposed, const ad_real Ld[],
                                       const ad_real X[], ad_real B[])
{
    adx_lapack_gemm(adx_lapack_op(c, transposed), "N", c->n, c->k, c->n, -1,
                    Ld, c->n, X, c->n, B, c->n);
}

// Xd = op(L)^-1 (Bd - op(Ld) X)
static inline void adx_lapack_tri_push(const adx_lapack_call *c,
                                       const ad_real xd[], ad_real yd[],
                                       ad_real w[])
{
    adx_lapack_tri_unpack(c, xd, w);
    adx_lapack_copy(c->n * c->k, xd + c->checked, yd);
    adx_lapack_tri_less(c, false, w, c->f + c->n * c->n, yd);
    adx_lapack_trisolve(c, false, yd);
}

// C[n,n] -= W X' or, transposed, X W'
static inline void adx_lapack_tri_outer(const adx_lapack_call *c,
                                        const ad_real W[], const ad_real X[],
                                        ad_real C[])
{
    const bool transposed = c->flags & ADREV_LAPACK_TRANSPOSED;
    adx_lapack_gemm("N", "T", c->n, c->n, c->k, -1, transposed ? X : W, c->n,
                    transposed ? W : X, c->n, C, c->n);
}

static inline void adx_lapack_tri_pack(const adx_lapack_call *c, ad_real C[],
                                       ad_real p[])
{
    for (size_t i = 0; i < c->n && c->flags & ADREV_LAPACK_UNIT; i++)
        C[i + i * c->n] = 0;
    adx_lapack_add_lower(c->n, C, p);
}

// W = op(L)^-T Xb = Bb,  op(L)b = -W X'
static inline void adx_lapack_tri_pull(const adx_lapack_call *c,
                                       const ad_real yb[], ad_real xb[],
                                       ad_real w[])
{
    const size_t n = c->n;
    ad_real *W = w + n * n;
    adx_lapack_copy(n * c->k, yb, W);
    adx_lapack_trisolve(c, true, W);
    adx_lapack_add(n * c->k, 1, W, xb + c->checked);
    adx_lapack_clear(n * n, w);
    adx_lapack_tri_outer(c, W, c->f + n * n, w);
    adx_lapack_tri_pack(c, w, xb);
}

// Wd = op(L)^-T (Xbd - op(Ld)' W)
static inline void adx_lapack_tri_second(const adx_lapack_call *c,
                                         const adx_lapack_moving *at,
                                         ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    ad_real *Ld = w;
    ad_real *C = Ld + n * n;
    ad_real *W = C + n * n;
    ad_real *Wd = W + nk;
    ad_real *Xd = Wd + nk;
    adx_lapack_tri_push(c, at->xd, Xd, Ld);
    adx_lapack_copy(nk, at->yb, W);
    adx_lapack_trisolve(c, true, W);
    adx_lapack_copy(nk, at->ybd, Wd);
    adx_lapack_tri_less(c, true, Ld, W, Wd);
    adx_lapack_trisolve(c, true, Wd);
    adx_lapack_add(nk, 1, Wd, at->xbd + c->checked);
    adx_lapack_clear(n * n, C);
    adx_lapack_tri_outer(c, Wd, c->f + n * n, C);
    adx_lapack_tri_outer(c, W, Xd, C);
    adx_lapack_tri_pack(c, C, at->xbd);
}

static const adx_lapack_kind adx_lapack_tri_kind = {
    "triangular solve", adx_lapack_tri_value, adx_lapack_tri_push,
    adx_lapack_tri_pull, adx_lapack_tri_second, NULL
};

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
    adx_lapack_call c = {
        &adx_lapack_tri_kind, n, n, k,
        flags ^ (upper ? (unsigned)ADREV_LAPACK_TRANSPOSED : 0u), 0, 0, 0,
        n * n + n * k, 2 * n * n + 3 * n * k, NULL
    };
    if (flags > 7)
        return ad_fail(ADREV_ESHAPE, NULL);
    return adx_lapack_record(&c, &a);
}

static inline ad_status ad_lapack_trisolve(unsigned flags, size_t n, size_t k,
                                           const ad_rev T[], const ad_rev B[],
                                           ad_rev X[])
{
    const ptrdiff_t side = (ptrdiff_t)k;
    return ad_lapack_trisolve_s(flags, n, k, T, (ptrdiff_t)n, 1, B, side, 1, X,
                                side, 1);
}

/* --- (L L') X = B ------------------------------------------------------------
 * f: L [n*n], X [n*k], Y [n*k] = L^-1 B. Adjoints and tangents go the way of two
 * triangular solves: V = L^-1 Xb, W = L^-T V = Bb, Lb = -(W Y' + X V').      */

static inline const char *adx_lapack_chol_value(adx_lapack_call *c,
                                                const ad_real x[], ad_real y[],
                                                ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    ad_real *Y = c->f + n * n + nk;
    (void)w;
    adx_lapack_unpack(n, x, true, c->f);
    if (adx_lapack_no_diagonal(c))
        return "LAPACK: the triangle is singular, its diagonal has a 0";
    adx_lapack_copy(nk, x + c->checked, Y);
    adx_lapack_trsm("L", "L", "N", "N", n, c->k, c->f, n, Y, n);
    adx_lapack_copy(nk, Y, y);
    adx_lapack_trsm("L", "L", "T", "N", n, c->k, c->f, n, y, n);
    adx_lapack_copy(nk, y, c->f + n * n);
    return NULL;
}

// For right sides Bd: Yd = L^-1 (Bd - Ld Y), Xd = L^-T (Yd - Ld' X). The same
// function serves V and W in the place of Y and X.
static inline void adx_lapack_chol_moved(const adx_lapack_call *c,
                                         const ad_real Ld[],
                                         const ad_real Y[], const ad_real X[],
                                         const ad_real Bd[], ad_real Yd[],
                                         ad_real Xd[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    adx_lapack_copy(nk, Bd, Yd);
    adx_lapack_gemm("N", "N", n, c->k, n, -1, Ld, n, Y, n, Yd, n);
    adx_lapack_trsm("L", "L", "N", "N", n, c->k, c->f, n, Yd, n);
    adx_lapack_copy(nk, Yd, Xd);
    adx_lapack_gemm("T", "N", n, c->k, n, -1, Ld, n, X, n, Xd, n);
    adx_lapack_trsm("L", "L", "T", "N", n, c->k, c->f, n, Xd, n);
}

static inline void adx_lapack_chol_push(const adx_lapack_call *c,
                                        const ad_real xd[], ad_real yd[],
                                        ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    const ad_real *X = c->f + n * n;
    adx_lapack_unpack(n, xd, true, w);
    adx_lapack_chol_moved(c, w, X + nk, X, xd + c->checked, w + n * n, yd);
}

// C[n,n] -= A B'
static inline void adx_lapack_outer(const adx_lapack_call *c,
                                    const ad_real A[], const ad_real B[],
                                    ad_real C[])
{
    adx_lapack_gemm("N", "T", c->n, c->n, c->k, -1, A, c->n, B, c->n, C, c->n);
}

static inline void adx_lapack_chol_adjoints(const adx_lapack_call *c,
                                            const ad_real yb[], ad_real V[],
                                            ad_real W[])
{
    const size_t n = c->n;
    adx_lapack_copy(n * c->k, yb, V);
    adx_lapack_trsm("L", "L", "N", "N", n, c->k, c->f, n, V, n);
    adx_lapack_copy(n * c->k, V, W);
    adx_lapack_trsm("L", "L", "T", "N", n, c->k, c->f, n, W, n);
}

static inline void adx_lapack_chol_pull(const adx_lapack_call *c,
                                        const ad_real yb[], ad_real xb[],
                                        ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    const ad_real *X = c->f + n * n;
    ad_real *V = w + n * n;
    ad_real *W = V + nk;
    adx_lapack_chol_adjoints(c, yb, V, W);
    adx_lapack_add(nk, 1, W, xb + c->checked);
    adx_lapack_clear(n * n, w);
    adx_lapack_outer(c, W, X + nk, w);
    adx_lapack_outer(c, X, V, w);
    adx_lapack_add_lower(n, w, xb);
}

static inline void adx_lapack_chol_second(const adx_lapack_call *c,
                                          const adx_lapack_moving *at,
                                          ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    const ad_real *X = c->f + n * n;
    ad_real *Ld = w;
    ad_real *C = Ld + n * n;
    ad_real *V = C + n * n;
    ad_real *W = V + nk;
    ad_real *Vd = W + nk;
    ad_real *Wd = Vd + nk;
    ad_real *Yd = Wd + nk;
    ad_real *Xd = Yd + nk;
    adx_lapack_unpack(n, at->xd, true, Ld);
    adx_lapack_chol_adjoints(c, at->yb, V, W);
    adx_lapack_chol_moved(c, Ld, X + nk, X, at->xd + c->checked, Yd, Xd);
    adx_lapack_chol_moved(c, Ld, V, W, at->ybd, Vd, Wd);
    adx_lapack_add(nk, 1, Wd, at->xbd + c->checked);
    adx_lapack_clear(n * n, C);
    adx_lapack_outer(c, Wd, X + nk, C);
    adx_lapack_outer(c, W, Yd, C);
    adx_lapack_outer(c, Xd, V, C);
    adx_lapack_outer(c, X, Vd, C);
    adx_lapack_add_lower(n, C, at->xbd);
}

static const adx_lapack_kind adx_lapack_chol_kind = {
    "solve by Cholesky factors", adx_lapack_chol_value, adx_lapack_chol_push,
    adx_lapack_chol_pull, adx_lapack_chol_second, NULL
};

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
    adx_lapack_call c = {
        &adx_lapack_chol_kind, n, n, k, 0, 0, 0, 0, n * n + 2 * n * k,
        2 * n * n + 6 * n * k, NULL
    };
    return adx_lapack_record(&c, &a);
}

static inline ad_status ad_lapack_cholesky_solve(size_t n, size_t k,
                                                 const ad_rev L[],
                                                 const ad_rev B[], ad_rev X[])
{
    const ptrdiff_t side = (ptrdiff_t)k;
    return ad_lapack_cholesky_solve_s(n, k, L, (ptrdiff_t)n, 1, B, side, 1, X,
                                      side, 1);
}
