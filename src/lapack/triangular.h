#pragma once

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
