#pragma once

/* === sweep/queries ==========================================================
 * Gradients, pullbacks, pushforwards and Jacobians of a recording. A query
 * checks its arguments, clears the adjoints (or tangents), seeds them, sweeps,
 * and reads the result. A Jacobian of m results by n inputs takes W of its rows
 * in each reverse sweep, or W of its columns in each forward sweep, whichever
 * makes fewer sweeps; W is at most 8, and less where there is less memory.
 *
 *   needs   number/recording tape/layout tape/memory tape/hooks tape/walk
 *           sweep/sweep
 *   offers  adx_in_strides adx_derivative adx_read adx_check_values
 *           adx_check_query adx_cleared adx_pullback adx_width adx_afford
 *           adx_rows adx_columns adx_prefers_forward
 * ========================================================================== */

/* --- queries ------------------------------------------------------------- */

// Whether the compound ids of x are id, id + stride ... The loop has no branch,
// so it becomes a vector loop, which pays for long arrays.
ADX_APART bool adx_in_strides(size_t n, const ad_rev x[], uint64_t id,
                            uint64_t stride)
{
#if ADX_WORDS
    uint64_t other = 0;

    for (size_t i = 0; i < n; i++, id += stride)
        other |= adx_word(&x[i]) ^ id;
    return other == 0;
#else
    const uint32_t job = (uint32_t)(id >> 32);
    uint32_t seq = (uint32_t)id;
    uint32_t other = 0;

    for (size_t i = 0; i < n; i++, seq += (uint32_t)stride)
        other |= (x[i].job ^ job) | (x[i].seq ^ seq);
    return other == 0;
#endif
}

// The adjoints or tangents of x, which may lie on another tape.
ADX_INLINE ad_real *adx_derivative(const ad_tape *t, ad_real a[], ad_rev x,
                                   size_t W)
{
#if !ADREV_FIXED
    if (ADX_UNLIKELY(t->annex != NULL) && !adx_member(t, x))
        a = t->annex->owner(t, x)->adjoint;
#endif
    (void)t;
    return &a[x.seq * W];
}

// A number that is only copied, as a word: ARM has more addresses for these.
#if defined __GNUC__ || defined __clang__
typedef adx_bits __attribute__((may_alias)) adx_raw;
#else
typedef ad_real adx_raw;
#endif

// Reads the adjoints or tangents of x. `run`: all are values of t, with ids one
// after the other, so theirs lie in a row.
static inline void adx_read(const ad_tape *t, size_t n, const ad_rev x[],
                            ad_real adj[], bool run, ad_real to[])
{
    if (run && !ADREV_FIXED)
        memcpy(to, adx_derivative(t, adj, *x, 1), n * sizeof *to);
    else if (ADX_UNLIKELY(adx_annex_of(t) != NULL))
        for (size_t j = 0; j < n; j++)
            to[j] = *adx_derivative(t, adj, x[j], 1);
    else
        for (size_t j = 0; j < n; j++)
            *(adx_raw *)&to[j] = *(const adx_raw *)&adj[x[j].seq];
}

// Whether all of x are of the newest segment. Values of older ones are valid,
// too, but rare.
ADX_FAST bool adx_all_newest(const adx_context *c, size_t n, const ad_rev x[])
{
#if ADX_WORDS
    const uint64_t first = adx_compound((uint32_t)c->job, 1);
    for (const ad_rev *end = x + n; x < end; x++)
        if (adx_word(x) - first >= c->seq)
            return false;
#else
    const adx_job job = c->job;
    if (n > 0)
        do {
            const uint32_t seq = x->seq;
            const uint32_t others = x->job;
            ADX_OPAQUE(x);      // or gcc reads one number after the other
            // with ADREV_FIXED nobody has the job but the values up to c->seq
            if (others != job || (!ADREV_FIXED && seq > c->seq))
                return false;
            x++;
        } while (--n > 0);
#endif
    return true;
}

// Whether x is one of the first `length` values of a segment.
ADX_INLINE bool adx_is_early(const ad_rev *x, const adx_segment *s,
                             uint32_t length)
{
#if ADX_WORDS
    return adx_word(x) - adx_compound(s->job, (size_t)s->begin + 1) < length;
#else
    return x->job == s->job && x->seq - s->begin - 1 < length;
#endif
}

// Checks values that are not all of the newest segment. `some`: constants are
// allowed, unless all are constants.
ADX_SELDOM static ad_status adx_check_others(const ad_tape *t, size_t n,
                                             const ad_rev x[], bool some)
{
    size_t constants = 0;

    for (size_t i = 0; i < n; i++)
        if (x[i].job == 0)
            constants++;
        else if (x[i].job == ADX_JOB_BEYOND)
            return ADREV_EBEYOND;
        else if (!adx_member(t, x[i])
                 && (adx_annex_of(t) == NULL
                     || adx_annex_of(t)->owner(t, x[i]) == NULL))
            return ADREV_EFOREIGN;
    return constants > 0 && (!some || constants == n) ? ADREV_EPASSIVE
                                                      : ADREV_OK;
}

// Checks values. run: the ids of x are consecutive, so the first and the last
// stand for all.
ADX_INLINE ad_status adx_check_values(const ad_tape *t, size_t n,
                                      const ad_rev x[], bool some, bool run)
{
    if (adx_no_array(n, x))
        return ADREV_ESHAPE;
    if (ADREV_FIXED)
        return adx_all_newest(adx_live(t), n, x)
             ? ADREV_OK : adx_check_others(t, n, x, some);

    const adx_segment *last = &t->segment[t->segments - 1];
    uint32_t length = (uint32_t)adx_live(t)->seq - last->begin;
    if (run && !adx_is_early(x, last, length))
        return adx_check_others(t, n, x, some);
    for (size_t i = run ? n - 1 : 0; i < n; i++)
        if (!adx_is_early(&x[i], last, length))
            return adx_check_others(t, n, x, some);
    return ADREV_OK;
}

// (Not with ADREV_FIXED, where what this saves is less than its code.)
static inline bool adx_is_run(size_t n, const ad_rev x[])
{
    return !ADREV_FIXED && n > 16 && x != NULL
        && adx_in_strides(n, x, adx_word(x), 1);
}

// Refuses to sweep a tape with open forks, or one on which a function is being
// recorded: there the result would be a constant that no guard watches, so the
// tape fails.
ADX_COLD static ad_status adx_check_open(ad_tape *t)
{
    // but not ad_grad or its kin, which sweep only what they recorded
    if (t->floor.adx_block != NULL
        || (adx_is_observed(t) && t->floor.adx_seq > 0))
        return ADREV_OK;
    if (adx_has_forks(t))
        return ADREV_EBUSY;
    adx_fail_because(t, ADREV_EHOOK, "derivatives are asked of the tape on "
                     "which a function is recorded");
    return ADREV_EHOOK;
}

// What all queries check, for outputs y and inputs x. `missing`: another array
// is NULL or impossible. Lengths are checked before anything is read.
ADX_FAST ad_status adx_check_query(ad_tape *t, size_t m, const ad_rev y[],
                                   size_t n, const ad_rev x[], bool missing,
                                   bool *run)
{
    ad_status status = ad_tape_status(t);
    *run = false;
    if (status == ADREV_OK
        && ADX_UNLIKELY(adx_has_forks(t) || adx_is_observed(t)))
        status = adx_check_open(t);
    if (status == ADREV_OK && (missing || n > ADX_MOST_ELEMENTS))
        status = ADREV_ESHAPE;
    if (status == ADREV_OK)
        status = adx_check_values(t, m, y, true, false);
    if (status == ADREV_OK && n > adx_live(t)->seq && adx_annex_of(t) == NULL)
        status = ADREV_ESHAPE;
    if (status == ADREV_OK) {
        *run = adx_is_run(n, x);
        status = adx_check_values(t, n, x, false, !ADREV_FIXED && *run);
    }
    return status;
}

// For short arrays. The C library may clear these by masked stores, for which
// the loads of the following sweep would have to wait.
ADX_INLINE void adx_zero_few(ad_real *p, size_t n)
{
    static const ad_real none[4] = {0};

    for (; n >= 4 && !ADREV_FIXED; n -= 4, p += 4) {
        memcpy(p, none, sizeof none);
        ADX_OPAQUE(p);
    }
    if (ADREV_FIXED && n >= 4) {        // some of the last four twice
        ad_real *last = p + n;
        ADX_OPAQUE(last);
        last -= 4;
        do {
            p[0] = p[1] = p[2] = p[3] = 0;
            p += 4;
            ADX_OPAQUE(p);
        } while (p < last);
        last[0] = last[1] = last[2] = last[3] = 0;
        return;
    }
    for (; n > 0; n--, p++) {
        *p = 0;
        ADX_OPAQUE(p);
    }
}

static inline void adx_zero(ad_real *p, size_t n)
{
    if (n > 128 && !ADREV_FIXED)
        memset(p, 0, n * sizeof *p);
    else
        adx_zero_few(p, n);
}

// Room for adjoints in so many directions; NULL: no memory.
static inline ad_real *adx_uncleared(ad_tape *t, size_t width)
{
    size_t values = adx_live(t)->seq;
#if ADREV_FIXED
    return adx_adjoints(t, values, width);
#else
    ad_real *p = t->adjoint;
    if (ADX_UNLIKELY((values + 1 + t->scratch) * width > t->adjoint_count))
        p = adx_adjoints(t, values, width);
    return ADX_UNLIKELY(t->annex != NULL) && p != NULL
        && !t->annex->afford(t, width) ? NULL : p;
#endif
}

// Makes them zero from the floor on. A reverse sweep writes below the floor but
// does not read there. A forward sweep reads everywhere, and passes floor 0.
static inline void adx_clear(ad_tape *t, ad_real *p, size_t width,
                             size_t floor)
{
    if (ADX_UNLIKELY(adx_annex_of(t) != NULL))
        adx_annex_of(t)->zero(t, width);
    adx_zero(p + floor * width, (adx_live(t)->seq + 1 - floor) * width);
}

static inline ad_real *adx_cleared(ad_tape *t, size_t width, size_t floor)
{
    ad_real *p = adx_uncleared(t, width);
    if (p != NULL)
        adx_clear(t, p, width, floor);
    return p;
}

// Seeds the adjoints of y, sweeps back once, and reads those of x.
ADX_NOINLINE static ad_status adx_pullback(ad_tape *t, size_t m,
                                           const ad_rev y[],
                                           const ad_real dy[], size_t n,
                                           const ad_rev x[], ad_real dx[])
{
    bool missing = adx_no_array(m, dy) || adx_no_array(n, dx);
    bool run;
    ad_status status = adx_check_query(t, m, y, n, x, missing, &run);
    if (status != ADREV_OK)
        return status;
    ad_real *adj = adx_cleared(t, 1, t->floor.adx_seq);
    if (adj == NULL)
        return ADREV_ENOMEM;

    for (size_t i = 0; i < m; i++)
        if (y[i].job != 0)
            *adx_derivative(t, adj, y[i], 1) += dy[i];
    if (!adx_sweep(t, adx_reverse_1, adj))
        return ADREV_EEXTERNAL;
    adx_read(t, n, x, adj, run, dx);
    return ADREV_OK;
}

#define ADX_FEW ((size_t)16)

// Whether t has few values, and nothing but t is to be swept.
ADX_INLINE bool adx_is_few(const ad_tape *t)
{
    return adx_live(t)->seq <= ADX_FEW && t->block == t->first
        && t->status == ADREV_OK && !adx_is_observed(t)
        && adx_annex_of(t) == NULL;
}

// The gradient of a small tape, with adjoints on the stack. False: not possible
// in this way, and nothing was written. (bench: mul, 0.84.)
ADX_INLINE bool adx_gradient_of_few(const ad_tape *t, ad_rev y, size_t n,
                                    const ad_rev x[], ad_real g[])
{
    ad_real adj[ADX_FEW + 4];
    const adx_context *c = adx_live(t);
    const uint16_t *head = c->head;
    const adx_operand *op = c->op;
    size_t k = c->seq;

    if (!adx_is_few(t) || n > k || x == NULL || g == NULL
        || !adx_all_newest(c, 1, &y) || !adx_all_newest(c, n, x))
        return false;
    adx_zero_few(adj, (k / 4 + 1) * 4);
    adj[y.seq] = 1;
    while (head < t->start) {
        unsigned header = *head++;
        if (header & ADX_OTHER) {
            if (header == ADX_EXTENDED)
                return false;
            op -= adx_operands(header, op - 1);
            k -= adx_values(header, op);
            continue;
        }
        op -= header & ADX_COUNT;
        ad_real a = adj[k--];
        adx_spread(adj, op, header & ADX_COUNT, a);
        if (header & ADX_SUM)
            adj[k] += a;
    }
    for (size_t i = 0; i < n; i++)
        g[i] = adj[x[i].seq];
    return true;
}

ADX_API ad_status ad_gradient(ad_tape *t, ad_rev y, size_t n,
                              const ad_rev x[], ad_real g[])
{
    static const ad_real one = 1;
    if (!ADREV_COUNT && !ADREV_FIXED && t != NULL
        && adx_gradient_of_few(t, y, n, x, g))
        return ADREV_OK;
    return adx_pullback(t, 1, &y, &one, n, x, g);
}

ADX_API ad_status ad_pullback(ad_tape *t, size_t m, const ad_rev y[],
                              const ad_real dy[], size_t n, const ad_rev x[],
                              ad_real dx[])
{
    return adx_pullback(t, m, y, dy, n, x, dx);
}

ADX_API ad_status ad_pushforward(ad_tape *t, size_t n, const ad_rev x[],
                                 const ad_real dx[], size_t m,
                                 const ad_rev y[], ad_real dy[])
{
    bool missing = adx_no_array(m, dy) || adx_no_array(n, dx);
    bool run;
    ad_status status = adx_check_query(t, m, y, n, x, missing, &run);
    if (status != ADREV_OK)
        return status;
    ad_real *tan = adx_cleared(t, 1, 0);
    if (tan == NULL)
        return ADREV_ENOMEM;

    for (size_t j = 0; j < n; j++)
        *adx_derivative(t, tan, x[j], 1) += dx[j];
    if (!adx_sweep(t, adx_forward_1, tan))
        return ADREV_EEXTERNAL;
    for (size_t i = 0; i < m; i++)
        dy[i] = y[i].job == 0 ? 0 : *adx_derivative(t, tan, y[i], 1);
    return ADREV_OK;
}

/* --- Jacobian ------------------------------------------------------------ */

// How many directions the next sweep does when `left` are left.
static size_t adx_width(size_t left, size_t most)
{
    size_t width = left > 4 ? ADX_WIDEST : left > 1 ? 4 : 1;
    return width < most ? width : most;
}

static bool adx_afford(ad_tape *t, size_t width)
{
    return adx_adjoints(t, adx_live(t)->seq, width) != NULL
        && (adx_annex_of(t) == NULL || adx_annex_of(t)->afford(t, width));
}

// One reverse sweep for `width` rows of a Jacobian; adj is cleared.
static bool adx_rows(const ad_tape *t, ad_real adj[], size_t width,
                     size_t first, size_t m, const ad_rev y[], size_t n,
                     const ad_rev x[], ad_real J[])
{
    for (size_t w = 0; w < width && first + w < m; w++)
        if (y[first + w].job != 0)
            adx_derivative(t, adj, y[first + w], width)[w] = 1;
    if (!adx_sweep(t, ADX_FOR_WIDTH(width, adx_reverse), adj))
        return false;
    if (ADX_WIDEST == 1) {
        adx_read(t, n, x, adj, false, J + first * n);
        return true;
    }
    size_t rows = m - first < width ? m - first : width;
    for (size_t j = 0; j < n; j++) {
        const ad_real *column = adx_derivative(t, adj, x[j], width);
        for (size_t w = 0; w < rows; w++)
            J[(first + w) * n + j] = column[w];
    }
    return true;
}

// One forward sweep for `width` columns; tan is cleared.
static bool adx_columns(const ad_tape *t, ad_real tan[], size_t width,
                        size_t first, size_t m, const ad_rev y[], size_t n,
                        const ad_rev x[], ad_real J[])
{
    for (size_t w = 0; w < width && first + w < n; w++)
        adx_derivative(t, tan, x[first + w], width)[w] = 1;
    if (!adx_sweep(t, ADX_FOR_WIDTH(width, adx_forward), tan))
        return false;
    for (size_t i = 0; i < m; i++)
        for (size_t w = 0; w < width && first + w < n; w++)
            J[i * n + first + w] = y[i].job == 0
                                 ? 0 : adx_derivative(t, tan, y[i], width)[w];
    return true;
}

static bool adx_prefers_forward(const ad_tape *t, size_t m, size_t n)
{
    return (n + 7) / 8 < (m + 7) / 8 && !t->one_way;
}

ADX_API ad_status ad_jacobian(ad_tape *t, size_t m, const ad_rev y[],
                              size_t n, const ad_rev x[], ad_real J[])
{
    bool missing = m > ADX_MOST_ELEMENTS
                || adx_no_array(adx_size_times(m, n), J);
    bool run;
    ad_status status = adx_check_query(t, m, y, n, x, missing, &run);
    if (status != ADREV_OK)
        return status;

    bool forward = adx_prefers_forward(t, m, n);
    size_t count = forward ? n : m;
    size_t most = ADX_WIDEST;
    while (most > 1 && !adx_afford(t, adx_width(count, most)))
        most = most == 8 ? 4 : 1;
    // All sweeps use this room: nothing in one of them may take adjoints of
    // this tape again, which writes there or frees it.
    ad_real *a = adx_uncleared(t, adx_width(count, most));
    if (a == NULL)
        return ADREV_ENOMEM;

    for (size_t i = 0; i < count;) {    // the widest sweep comes first
        size_t width = adx_width(count - i, most);
        adx_clear(t, a, width, forward ? 0 : t->floor.adx_seq);
        if (!(forward ? adx_columns(t, a, width, i, m, y, n, x, J)
                      : adx_rows(t, a, width, i, m, y, n, x, J)))
            return ADREV_EEXTERNAL;
        i += width;
    }
    return ADREV_OK;
}
