#pragma once

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
