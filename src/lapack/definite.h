#pragma once

/* === lapack/definite ========================================================
 * Symmetric and positive definite matrices: systems with the log-determinant, and
 * the Cholesky factor itself.
 *
 *   needs   lapack/routines lapack/statements
 * ====================================================================== */

/* --- symmetric and positive definite ---------------------------------------- */

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

// A^-1, both triangles
static inline void adx_lapack_spd_inverse(const adx_lapack_call *c,
                                          ad_real inverse[])
{
    const size_t n = c->n;
    const adx_lapack_int N = (adx_lapack_int)n;
    adx_lapack_int info = 0;
    adx_lapack_copy(n * n, c->f, inverse);
    if (n > 0)
        ADX_LAPACK(potri)("L", &N, inverse, &N, &info, 1);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j + 1; i < n; i++)
            inverse[j + i * n] = inverse[i + j * n];
}

// Xd = A^-1 (Bd - Ad X), with Ad in both triangles
static inline void adx_lapack_spd_moved(const adx_lapack_call *c,
                                        const ad_real Ad[],
                                        const ad_real Bd[], ad_real Xd[])
{
    const size_t n = c->n;
    adx_lapack_copy(n * c->k, Bd, Xd);
    adx_lapack_gemm("N", "N", n, c->k, n, -1, Ad, n, c->f + n * n, n, Xd, n);
    adx_lapack_potrs(n, c->k, c->f, Xd);
}

static inline void adx_lapack_spd_push(const adx_lapack_call *c,
                                       const ad_real xd[], ad_real yd[],
                                       ad_real w[])
{
    const size_t n = c->n;
    ad_real *inverse = w + n * n;
    adx_lapack_unpack(n, xd, false, w);
    adx_lapack_spd_moved(c, w, xd + c->checked, yd);
    if (c->flags) {
        adx_lapack_spd_inverse(c, inverse);
        yd[n * c->k] = adx_lapack_inner(n * n, inverse, w);
    }
}

// C[n,n] += the lower triangle of a (V W' + W V'), V and W with k columns: twice
// <a V W', dA> where A is symmetric.
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

// W = Bb = A^-1 Xb; with S = -W X' + ldb A^-1, A's adjoint is S mirrored.
static inline void adx_lapack_spd_rows(const adx_lapack_call *c, size_t rows,
                                       const ad_real yb[], ad_real xb[],
                                       ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    ad_real *inverse = w + n * n;
    ad_real *W = inverse + n * n;
    bool inverted = false;
    for (size_t r = 0; r < rows; r++)
        adx_lapack_copy(nk, yb + r * c->results, W + r * nk);
    adx_lapack_potrs(n, rows * c->k, c->f, W);
    for (size_t r = 0; r < rows; r++, yb += c->results, xb += c->operands) {
        const ad_real determinant = c->flags ? yb[nk] : 0;
        adx_lapack_add(nk, 1, W + r * nk, xb + c->checked);
        adx_lapack_clear(n * n, w);
        adx_lapack_syr2k(c, -1, W + r * nk, c->f + n * n, w);
        if (determinant != 0 && !inverted)
            adx_lapack_spd_inverse(c, inverse);
        inverted |= determinant != 0;
        adx_lapack_add_halved(n, determinant, inverse, w, xb);
    }
}

static inline void adx_lapack_spd_pull(const adx_lapack_call *c,
                                       const ad_real yb[], ad_real xb[],
                                       ad_real w[])
{
    adx_lapack_spd_rows(c, 1, yb, xb, w);
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

// Wd = A^-1 (Xbd - Ad W)
static inline void adx_lapack_spd_second(const adx_lapack_call *c,
                                         const adx_lapack_moving *at,
                                         ad_real w[])
{
    const size_t n = c->n;
    const size_t nk = n * c->k;
    ad_real *Ad = w;
    ad_real *inverse = Ad + n * n;
    ad_real *C = inverse + n * n;
    ad_real *T = C + n * n;
    ad_real *W = T + n * n;
    ad_real *Wd = W + nk;
    ad_real *Xd = Wd + nk;
    adx_lapack_unpack(n, at->xd, false, Ad);
    adx_lapack_clear(n * n, C);
    adx_lapack_copy(nk, at->yb, W);
    adx_lapack_potrs(n, c->k, c->f, W);
    adx_lapack_spd_moved(c, Ad, at->xd + c->checked, Xd);
    adx_lapack_copy(nk, at->ybd, Wd);
    adx_lapack_gemm("N", "N", n, c->k, n, -1, Ad, n, W, n, Wd, n);
    adx_lapack_potrs(n, c->k, c->f, Wd);
    adx_lapack_add(nk, 1, Wd, at->xbd + c->checked);
    adx_lapack_syr2k(c, -1, Wd, c->f + n * n, C);
    adx_lapack_syr2k(c, -1, W, Xd, C);
    if (c->flags) {
        adx_lapack_spd_inverse(c, inverse);
        adx_lapack_spd_inverse_moved(c, at->yb[nk], Ad, inverse, T, C);
    }
    adx_lapack_add_halved(n, c->flags ? at->ybd[nk] : 0, inverse, C, at->xbd);
}

static const adx_lapack_kind adx_lapack_spd_kind = {
    "positive definite solve", adx_lapack_spd_value, adx_lapack_spd_push,
    adx_lapack_spd_pull, adx_lapack_spd_second, adx_lapack_spd_rows
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
        4 * n * n + 3 * n * k, NULL
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

/* --- Cholesky factors ------------------------------------------------------- */

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

static inline void adx_lapack_cholesky_push(const adx_lapack_call *c,
                                            const ad_real xd[], ad_real yd[],
                                            ad_real w[])
{
    adx_lapack_cholesky_moved(c, xd, w);
    adx_lapack_add_lower(c->n, w, yd);
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
static inline void adx_lapack_cholesky_pull(const adx_lapack_call *c,
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

// L' S L = P, so  Sd = L^-T (Pd - Ld' S L - L' S Ld) L^-1.
static inline void adx_lapack_cholesky_second(const adx_lapack_call *c,
                                              const adx_lapack_moving *at,
                                              ad_real w[])
{
    const size_t n = c->n;
    const size_t nn = n * n;
    const ad_real *L = c->f;
    ad_real *Ld = w;
    ad_real *Lb = Ld + nn;
    ad_real *S = Lb + nn;
    ad_real *Z = S + nn;
    ad_real *T = Z + nn;
    adx_lapack_cholesky_moved(c, at->xd, Ld);
    adx_lapack_unpack(n, at->yb, true, Lb);
    adx_lapack_copy(nn, Lb, S);
    adx_lapack_cholesky_back(n, L, n, S, n);
    adx_lapack_unpack(n, at->ybd, true, Z);                 // Pd
    adx_lapack_trmm("L", "T", "N", n, n, 1, L, n, Z, n);
    adx_lapack_gemm("T", "N", n, n, n, 1, Ld, n, Lb, n, Z, n);
    adx_lapack_phi(n, Z, n);
    adx_lapack_copy(nn, S, T);                              // Ld' (S L)
    adx_lapack_trmm("R", "N", "N", n, n, 1, L, n, T, n);
    adx_lapack_gemm("T", "N", n, n, n, -1, Ld, n, T, n, Z, n);
    adx_lapack_copy(nn, S, T);                              // (L' S) Ld
    adx_lapack_trmm("L", "T", "N", n, n, 1, L, n, T, n);
    adx_lapack_gemm("N", "N", n, n, n, -1, T, n, Ld, n, Z, n);
    adx_lapack_trsm("L", "L", "T", "N", n, n, L, n, Z, n);
    adx_lapack_trsm("R", "L", "N", "N", n, n, L, n, Z, n);
    adx_lapack_add_mirrored(n, Z, at->xbd);
}

static const adx_lapack_kind adx_lapack_cholesky_kind = {
    "Cholesky", adx_lapack_cholesky_value, adx_lapack_cholesky_push,
    adx_lapack_cholesky_pull, adx_lapack_cholesky_second, NULL
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
        5 * n * n + ADX_LAPACK_BLOCK * ADX_LAPACK_BLOCK, NULL
    };
    return adx_lapack_record(&c, &a);
}

static inline ad_status ad_lapack_cholesky(size_t n, const ad_rev A[],
                                           ad_rev L[])
{
    const ptrdiff_t row = (ptrdiff_t)n;
    return ad_lapack_cholesky_s(n, A, row, 1, L, row, 1);
}
