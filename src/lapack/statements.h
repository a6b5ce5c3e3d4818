#pragma once

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
