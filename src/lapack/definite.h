#pragma once

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
