#pragma once

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
