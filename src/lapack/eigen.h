#pragma once

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
