#pragma once

/* === check/differences ======================================================
 * Finding mistakes. ad_check compares derivatives with differences for many
 * increments. It weighs what it sees against three sizes, so that it neither
 * misses mistakes nor raises false alarms: the spread of the extrapolated
 * differences, the rounding of f, and the sum of the absolute values of all
 * paths from x to y, which bounds the rounding of the gradient itself. The
 * other tools walk over the entries and skip kinds that they do not know.
 *
 *   needs   number/recording tape/layout tape/life sweep/session
 *   offers  ADX_NARROW ADX_EPSILON ADX_TIGHT ADX_ROWS ADX_PASSES adx_row
 *           ADX_CACHED adx_probe adx_finite adx_most adx_scale_of adx_restart
 *           adx_evaluate adx_add_row adx_allowed adx_has_converged adx_agrees
 *           adx_judge adx_judge_kink
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- differences ------------------------------------------------------------
 * A pass is a series of increments h, each a quarter of the one before, and a
 * row for each. Up to four passes differ in their first one. Increments are
 * powers of 2 in units of the scale of x. Slopes are taken along d, the
 * direction whose components are such scales, so all of them have the unit of
 * f.                                                                         */

#define ADX_NARROW  (sizeof(ad_real) == 4)
#define ADX_EPSILON (ADX_NARROW ? ADX_K(0x1p-23) : ADX_K(0x1p-52))
#define ADX_TIGHT   (ADX_NARROW ? ADX_K(0x1p-12) : ADX_K(0x1p-26))
#define ADX_LOOSE   (ADX_NARROW ? ADX_K(0x1p-6) : ADX_K(0x1p-10))
#define ADX_SAFETY  8           // of the error estimates
#define ADX_ROWS    11          // increments in a pass: 2^-3 to 2^-23
#define ADX_PASSES  4

typedef struct adx_row {
    ad_real h;
    ad_real left;               // slopes from x to x - h d, x + h d
    ad_real right;
    ad_real slope;              // central difference, extrapolated
    ad_real error;              // of `slope`; infinite: nothing is known
    ad_real noise;              // what the rounding of f does to a slope
} adx_row;

// The values of f at this many increments are cached for the other outputs:
// more than those of one pass.
#define ADX_CACHED (3 * (size_t)ADX_ROWS)

typedef struct adx_probe {
    ad_vector_fn *f;
    void *ctx;
    adx_session session;
    ad_mark mark;               // behind the recording of f
    const ad_real *x;
    size_t n, m;
    ad_rev *at;                 // [n] constants that f is given
    ad_rev *to;                 // [m] results of f
    ad_rev *out;                // [m] results as recorded
    ad_real *d;                 // [n] direction
    ad_real *J;                 // [m*n] gradients
    ad_real *slope;             // [m] forward, along d
    ad_real *cached;            // [ADX_CACHED*m] values; NULL if m is 1
    ad_real tried[ADX_CACHED];  // the increment of each of them
    size_t tries;
    size_t which;               // the output of the present check, and its
    const ad_real *g;           // [n] gradient
    ad_real y;                  // value
    uint32_t id;                // id; 0: a constant
    ad_real largest;            // |g d| of any input; |g| where d is below 1
    uint32_t in;                // id of the first input
    size_t first;               // inputs of the present check
    size_t count;
    size_t evaluations;
    ad_status status;
    ad_real unit;               // scale of the inputs, if below 1
    bool sure;                  // a row agrees to many digits
    ad_verdict kink;            // what the last pass says of a kink
    const adx_row *by;          // the row that decided
    size_t rows;
    adx_row row[ADX_ROWS * ADX_PASSES];
} adx_probe;

static bool adx_finite(ad_real x) { return x - x == 0; }

static ad_real adx_most(ad_real a, ad_real b)
{
    return a > b ? a : b;
}

// The power of 2 below |x|; 1 for 0.
static ad_real adx_scale_of(ad_real x)
{
    int e = 1;
    int least = ADX_NARROW ? -110 : -1000;
    if (x != 0 && adx_finite(x))
        (void)frexp((double)x, &e);
    return adm_ldexp(1, (e < least ? least : e) - 1);
}

// Forgets what f has recorded since its gradient was taken.
static void adx_restart(adx_probe *p)
{
    adx_session *s = &p->session;
    adx_return_to(s->tape, &p->mark);
    s->job = adx_new_job(s->tape);
    adx_begin_segment(s->tape, s->segment, &p->mark, s->job, true);
}

// Whether f has been called with that increment; if so, its values are in place
// i of the cache.
static bool adx_find_cached(const adx_probe *p, ad_real h, size_t *i)
{
    for (*i = 0; *i < p->tries; ++*i)
        if (p->tried[*i] == h)
            return true;
    return false;
}

static void adx_keep_values(adx_probe *p, ad_real h)
{
    if (p->cached == NULL || p->tries == ADX_CACHED)
        return;
    for (size_t i = 0; i < p->m; i++)
        p->cached[p->tries * p->m + i] = p->to[i].v;
    p->tried[p->tries++] = h;
}

// The output at hand of f at x + h d, from the cache if f has been called
// there. NaN if h is so small that a component does not move. f is given
// constants, and what it records nevertheless is thrown away.
static ad_real adx_evaluate(adx_probe *p, ad_real h)
{
    ad_tape *t = p->session.tape;
    bool moved = true;
    size_t i;

    if (adx_find_cached(p, h, &i))
        return p->cached[i * p->m + p->which];
    adx_unset(p->m, p->to);
    p->to[p->which].v = ADX_K(NAN);
    for (size_t j = p->first; j < p->first + p->count; j++) {
        p->at[j].v = p->x[j] + h * p->d[j];
        moved = moved && p->at[j].v != p->x[j];
    }
    if (moved && p->status == ADREV_OK) {
        p->f(p->at, p->to, p->ctx);
        ad_use(t);
        p->evaluations++;
        p->status = adx_alive(&p->session) ? t->status : ADREV_EMARK;
    }
    for (size_t j = p->first; j < p->first + p->count; j++)
        p->at[j] = adx_passive(p->x[j]);
    if (p->status == ADREV_OK)
        adx_restart(p);
    if (moved)
        adx_keep_values(p, h);
    return p->to[p->which].v;
}

// Adds the row of h. Its central difference extends the tableau T of
// Richardson's extrapolation, which holds the last row of k entries: the error
// of a central difference goes with h^2, so each column gains a factor of 16
// for a quarter of h. The slope of the row is the entry that differs least
// from its two neighbours, and that difference is its error (Ridders). Returns
// how many entries T has now.
static size_t adx_add_row(adx_probe *p, ad_real h, ad_real T[], size_t k)
{
    adx_row *r = &p->row[p->rows++];
    ad_real high = adx_evaluate(p, h);
    ad_real low = adx_evaluate(p, -h);
    ad_real size = adx_most(adm_fabs(high), adm_fabs(low));
    ad_real c = (high / 2 - low / 2) / h;
    ad_real power = 1;

    r->h = h;
    r->left = (p->y - low) / h;
    r->right = (high - p->y) / h;
    r->noise = 2 * ADX_EPSILON * adx_most(size, adm_fabs(p->y)) / h;
    r->slope = c;
    r->error = ADX_K(INFINITY);
    if (!adx_finite(c))
        return 0;
    for (size_t m = 0; m < k; m++) {
        ad_real before = T[m];
        power *= 16;
        ad_real next = c + (c - before) / (power - 1);
        ad_real error = adx_most(adm_fabs(next - c), adm_fabs(next - before));
        if (error < r->error) {
            r->error = error;
            r->slope = next;
        }
        T[m] = c;
        c = next;
    }
    T[k] = c;
    r->error += r->noise;
    return k + 1;
}

// How much a slope may differ from the derivative g: by the error of the
// differences, and by the rounding of g, which `paths` bounds.
static ad_real adx_allowed(const adx_row *r, ad_real g, ad_real paths)
{
    return ADX_SAFETY * r->error + 64 * ADX_EPSILON * paths
        + ADX_TIGHT * adx_most(adm_fabs(g), adm_fabs(r->slope));
}

// Whether a row says something, that is, whether its error is small beside the
// slope. Where the error is no more than the rounding of f would explain, a
// smaller demand is enough: it must be small beside other slopes here, beside
// the paths that cancel, or beside the largest slope along any input. Where
// there is no gradient at all, it may also be small beside f.
static bool adx_has_converged(const adx_probe *p, const adx_row *r, ad_real g,
                              ad_real paths, ad_real most)
{
    ad_real size = adm_fabs(r->slope);
    ad_real error = ADX_SAFETY * r->error;

    if (!adx_finite(error))             // as in the first row of a pass
        return false;
    if (r->error <= 256 * r->noise) {
        size = adx_most(adx_most(size, paths), adm_fabs(r[-1].left));
        size = adx_most(adx_most(size, p->largest * p->unit),
                        adm_fabs(r[-1].right));
    }
    if (g == 0)
        size = adx_most(size, adm_fabs(p->y) * p->unit);
    return error <= most * size;
}

static bool adx_agrees(const adx_probe *p, const adx_row *r, ad_real g,
                       ad_real paths)
{
    if (adm_fabs(r->slope - g) <= adx_allowed(r, g, paths))
        return true;
    // 1/x at 1e-200: the gradient overflows, and so does the difference.
    return p->count == 1 && !adx_finite(g)
        && r->slope / adm_fabs(p->d[p->first]) == p->g[p->first];
}

// Judges by the row with the least error among those that have converged. If g
// differs from it, there may still be another row that agrees with g and
// contradicts the best one by more than both errors. Then g is believed,
// because the best row can be perfectly steady and wrong: where two increments
// span whole periods of f, or rounding makes two values equal.
static ad_verdict adx_judge(adx_probe *p, ad_real g, ad_real paths)
{
    const adx_row *best = NULL;

    for (const adx_row *r = p->row; r < p->row + p->rows; r++) {
        if (r->error < p->by->error)
            p->by = r;
        if (adx_has_converged(p, r, g, paths, ADX_LOOSE)
            && (best == NULL || r->error < best->error))
            best = r;
    }
    if (best == NULL)
        return ADREV_NOISY;
    p->by = best;
    for (const adx_row *r = p->row; r < p->row + p->rows; r++) {
        ad_real apart = adm_fabs(r->slope - best->slope);
        if (adx_has_converged(p, r, g, paths, ADX_LOOSE)
            && adx_agrees(p, r, g, paths)
            && (r == best || apart > ADX_SAFETY * (r->error + best->error))) {
            p->by = r;
            return ADREV_AGREES;
        }
    }
    return ADREV_DISAGREES;
}

/* --- kinks --------------------------------------------------------------- */

static bool adx_is_between(ad_real x, ad_real low, ad_real high)
{
    return x >= low && x <= high;
}

// Whether f is bent at x. In a smooth function the difference between the
// slopes to the right and to the left shrinks with h, by 4 from row to row. So
// a and b, which divide this jump in one row by that in the next, are near 4
// there, near 1 at a kink, and near 1/4 where f itself jumps. If neither is
// near 4, there is a kink in two cases: the jump of the slope is larger than
// the errors; or f jumps, and by much of what it changes in the first row, not
// by a quantum of its rounding.
static bool adx_is_bent(const adx_row *first, const adx_row *r)
{
    ad_real jump = r[0].right - r[0].left;
    ad_real before = r[-1].right - r[-1].left;
    ad_real a = before / jump;
    ad_real b = (r[-2].right - r[-2].left) / before;
    ad_real error = r[0].error < r[-1].error ? r[0].error : r[-1].error;
    ad_real fifth = 1 / (ad_real)5;
    ad_real most = 5 / (ad_real)4;
    ad_real all = adx_most(adm_fabs(first->left), adm_fabs(first->right));

    if (!adx_is_between(a, fifth, most) || !adx_is_between(b, fifth, most))
        return false;
    return adm_fabs(jump) > 32 * error
        || (adx_most(a, b) < 1 / (ad_real)3
            && adm_fabs(jump) > 16384 * r->noise
            && adm_fabs(jump) * r->h > ADX_LOOSE * all * first->h);
}

// Whether a slope grows without bound as h shrinks.
static bool adx_steepens(ad_real before, ad_real now)
{
    return adm_fabs(now) > adm_fabs(before) * 5 / 4;
}

// f is finite on one side only. The gradient must be the limit of the slope
// there.
static ad_verdict adx_judge_edge(ad_real now, ad_real before, ad_real noise,
                                 ad_real g)
{
    ad_real change = now - before;
    if (!adx_finite(g))
        return adx_steepens(before, now) ? ADREV_KINK : ADREV_DISAGREES;
    return adm_fabs(now + change / 3 - g) <= 8 * adm_fabs(change) + 64 * noise
             + ADX_TIGHT * adm_fabs(now) ? ADREV_KINK : ADREV_DISAGREES;
}

// Whether the slopes to both sides differ by no more than noise.
static bool adx_is_straight(const adx_row *r)
{
    return adm_fabs(r->right - r->left) <= 64 * r->noise;
}

// What the last rows of a pass say of a kink at x. Rows at the end in which the
// two slopes differ by no more than noise are passed over. AGREES: there is no
// kink. KINK: there is one, and g fits it. NOISY: there is one, and g lies
// outside of the slopes to both sides. DISAGREES: f is finite on one side only,
// and g is not the limit there.
static ad_verdict adx_judge_kink(const adx_row *first, const adx_row *begin,
                                 const adx_row *end, ad_real g)
{
    const adx_row *r = end - 1;
    while (r - begin > 2 && adx_is_straight(r)
           && (adx_finite(r->left) || adx_finite(r->right)))
        r--;
    if (r - begin < 2)
        return ADREV_AGREES;
    if (adx_finite(r[0].right) && adx_finite(r[-1].right)
        && !adx_finite(r[0].left) && !adx_finite(r[-1].left))
        return adx_judge_edge(r[0].right, r[-1].right, r[0].noise, g);
    if (adx_finite(r[0].left) && adx_finite(r[-1].left)
        && !adx_finite(r[0].right) && !adx_finite(r[-1].right))
        return adx_judge_edge(r[0].left, r[-1].left, r[0].noise, g);
    if (!adx_finite(g) && g == g && adx_steepens(r[-1].right, r[0].right)
        && adx_steepens(r[-2].right, r[-1].right))
        return ADREV_KINK;
    if (adx_is_straight(r) || !adx_is_bent(first, r))
        return ADREV_AGREES;
    ad_real low = r->left < r->right ? r->left : r->right;
    ad_real high = adx_most(r->left, r->right);
    ad_real slack = ADX_LOOSE * (high - low);
    return adx_is_between(g, low - slack, high + slack) ? ADREV_KINK
                                                     : ADREV_NOISY;
}

ADX_SELDOM_END
