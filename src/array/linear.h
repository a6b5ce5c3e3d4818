#pragma once

/* === array/linear ===========================================================
 * Linear statements: spans of operands with their partials, and one sum or n
 * results. They are enough for sums, scalar products with constants, norms and
 * operations on elements. Sweeps are the same for all: a loop over each span.
 *
 *   needs   number/recording tape/layout sweep/sweep array/operands
 *   offers  adx_axpy adx_few_products adx_products adx_inner_product
 *           adx_finite_all adx_copy_few adx_finite_few adx_zeros adx_chain
 *           adx_linear adx_linear_rule adx_addend adx_seal_linear
 *           adx_lay_linear adx_fill_span adx_add_linear adx_sum_of
 * ========================================================================== */

/* --- loops --------------------------------------------------------------- */

// y += a x; the arrays do not overlap.
static void adx_axpy(size_t n, ad_real a, const ad_real x[], ad_real y[])
{
    size_t i = 0;
#ifdef ADX_LANES
    for (; i + ADX_ACROSS <= n; i += ADX_ACROSS)
        *(adx_lanes *)&y[i] += a * *(const adx_lanes *)&x[i];
#endif
    for (; i < n; i++)
        y[i] += a * x[i];
}

// A scalar product with strides. It adds in the order of adx_inner_product, so
// it has the same bits: a value does not depend on which of its operands are
// recorded.
ADX_INLINE ad_real adx_few_products(ad_real total, size_t n, const ad_real x[],
                                    ptrdiff_t xs, const ad_real y[],
                                    ptrdiff_t ys)
{
    for (; n > 0; n--, x += xs, y += ys)
        total += *x * *y;
    return total;
}

// A scalar product in eight running sums, with any strides: the order of
// adx_inner_product. Small machines have one sum.
static ad_real adx_products(size_t n, const ad_real x[], ptrdiff_t xs,
                            const ad_real y[], ptrdiff_t ys)
{
    ad_real total = 0;
    size_t i = 0;
    if (n >= 8 && !ADREV_FIXED) {
        ad_real sum[8] = {0};
        for (; i + 8 <= n; i += 8, x += 8 * xs, y += 8 * ys)
            for (int k = 0; k < 8; k++)
                sum[k] += x[k * xs] * y[k * ys];
        for (int k = 0; k < 4; k++)
            sum[k] += sum[k + 4];
        total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    return adx_few_products(total, n - i, x, xs, y, ys);
}

// A scalar product in eight running sums, however wide a register is: in a
// single sum every addition would wait for the one before, and with a number of
// sums that depends on the register the last bits would, too.
ADX_APART ad_real adx_inner_product(size_t n, const ad_real x[],
                                    const ad_real y[])
{
#ifndef ADX_LANES
    return adx_products(n, x, 1, y, 1);
#else
    ad_real total = 0;
    size_t i = 0;
    const size_t half = 4 / ADX_ACROSS;
    adx_lanes sum[8 / ADX_ACROSS] = { {0} };
    for (; i + 8 <= n; i += 8)
        for (size_t r = 0; r < 2 * half; r++)
            sum[r] += ((const adx_lanes *)&x[i])[r]
                    * ((const adx_lanes *)&y[i])[r];
    for (size_t r = 0; r < half; r++) {
        sum[r] += sum[r + half];
        total += adx_total(&sum[r]);
    }
    for (x += i, y += i; i < n; i++)
        total += *x++ * *y++;
    return total;
#endif
}

// The sum of all a x. Each product is made by itself, because the sum of x
// alone may overflow.
static ad_real adx_sum_scaled(size_t n, ad_real a, const ad_real x[])
{
    ad_real total = 0;
    size_t i = 0;
#ifdef ADX_LANES
    adx_lanes sum = {0};
    for (; i + ADX_ACROSS <= n; i += ADX_ACROSS)
        sum += a * *(const adx_lanes *)&x[i];
    total = adx_total(&sum);
#endif
    for (; i < n; i++)
        total += a * x[i];
    return total;
}

// Whether all are finite, without a branch in the loop: x*0 is 0, or NaN where
// x is not finite.
static bool adx_finite_all(size_t n, const ad_real x[])
{
    ad_real sum = 0;
    size_t i = 0;
#ifdef ADX_LANES
    adx_lanes a = {0};
    for (; i + ADX_ACROSS <= n; i += ADX_ACROSS)
        a += *(const adx_lanes *)&x[i] * 0;
    sum = adx_total(&a);
#endif
    for (; i < n; i++)
        sum += x[i] * 0;
    return sum == 0;
}

// Copies what are mostly few numbers. For these a call of memcpy takes longer.
// A vector load would have to wait until numbers that were just written one by
// one are all stored, so the loop hides its pointers and stays a scalar one.
// (bench: loop, scan repl, 0.89; two at a time, with clang, 0.94.)
ADX_INLINE void adx_copy_few(size_t n, const ad_real *from, ad_real *to)
{
    if (n > 16) {
        memcpy(to, from, n * sizeof *to);
        return;
    }
    for (; n > 1; n -= 2, from += 2, to += 2) {
        ad_real x = from[0];
        ADX_OPAQUE(from);
        ad_real y = from[1];
        to[0] = x;
        ADX_OPAQUE(to);
        to[1] = y;
    }
    if (n > 0)
        *to = *from;
}

// As adx_finite_all, and scalar for the same reason as adx_copy_few.
ADX_INLINE bool adx_finite_few(size_t n, const ad_real *x)
{
    ad_real sum = 0;
    if (n > 16)
        return adx_finite_all(n, x);
    for (; n > 0; n--, x++) {
        ADX_OPAQUE(x);
        sum += *x * 0;
    }
    return sum == 0;
}

static bool adx_zeros(size_t n, const ad_real x[])
{
    for (size_t i = 0; i < n; i++)
        if (x[i] != 0)
            return false;
    return true;
}

// The chain rule for one partial in W directions: to += d from. `care` is for
// factors that may not be finite: then a factor of zero gives zero. Small
// machines look at each product instead of at all factors beforehand.
ADX_INLINE void adx_chain(ad_real to[], ad_real d, const ad_real from[],
                          size_t W, bool care)
{
#if ADREV_COUNT
    if (W == 1 && from[0] != 0)
        adx_count_reverse(d, to[0]);
#endif
    for (size_t w = 0; w < W; w++)
        to[w] += ADREV_FIXED ? adx_chained(d, from[w])
               : care ? adx_absorb(d, from[w]) : d * from[w];
}

/* --- linear statements --------------------------------------------------- */

// n operands, of which operand i has the partial scale * d[i].
typedef struct adx_span {
    adx_ids ids;
    ad_real *d;                 // NULL: 1; else with ADREV_FIXED scale is 1
    ad_real scale;
} adx_span;

#if ADREV_FIXED
// Small machines have a loop each for three kinds of spans. In all, n > 0, and
// adj are the adjoints that the ids name: those of a list, or else `id` and
// what follows at that stride. The sink may be one of them.
#define ADX_EACH_ID(product)                                                \
    if (list == NULL)                                                       \
        do {                                                                \
            adj[id] += product;                                             \
            id += stride;                                                   \
        } while (--n > 0);                                                  \
    else                                                                    \
        do                                                                  \
            adj[*list++] += product;                                        \
        while (--n > 0)

// adj += d y, element by element
ADX_INLINE void adx_add_each_at(size_t n, const ad_real d[],
                                const ad_real y[], const uint32_t *list,
                                uint32_t id, uint32_t stride, ad_real adj[])
{
    ADX_EACH_ID(adx_chained(*d++, *y++));
}

// adj += c
ADX_INLINE void adx_add_same_at(size_t n, ad_real c, const uint32_t *list,
                                uint32_t id, uint32_t stride, ad_real adj[])
{
    ADX_EACH_ID(c);
}

// adj += c d, where a zero c has nothing to add, and one that is infinite or
// NaN could meet a zero.
ADX_COLD static void adx_add_special(size_t n, ad_real c, const ad_real d[],
                                     const uint32_t *list, uint32_t id,
                                     uint32_t stride, ad_real adj[])
{
    if (adx_is_zero(c))
        return;
    ADX_EACH_ID(adx_chained(*d++, c));
}

// adj += c d. A plain c absorbs nothing, and nothing absorbs it.
ADX_INLINE void adx_add_scaled(size_t n, ad_real c, const ad_real d[],
                               const uint32_t *list, uint32_t id,
                               uint32_t stride, ad_real adj[])
{
    if (ADX_UNLIKELY(!adx_is_plain(c))) {
        adx_add_special(n, c, d, list, id, stride, adj);
        return;
    }
    ADX_EACH_ID(c * *d++);
}
#undef ADX_EACH_ID
#endif

// A linear statement has up to three spans. Either it has one result, the sum
// of all terms of all spans, or it has n results (`each`): result i is the sum
// of the i-th terms.
typedef struct adx_linear {
    adx_extended e;
    size_t n;                   // terms of a span; results if `each`
    size_t spans;               // how many are used
    bool each;
    adx_span span[3];
} adx_linear;

ADX_INLINE ad_real adx_partial(const adx_span *s, size_t i)
{
    return s->d == NULL ? s->scale : s->scale * s->d[i];
}

// The reverse sweep of one span in the fast case: one direction, adjacent ids,
// and no factor that needs care. So every loop is a vector loop.
static void adx_span_reverse(const adx_linear *s, const adx_span *p,
                             const ad_real y[], ad_real x[])
{
    ad_real a = y[0] * p->scale;
    if (!s->each && p->d != NULL)
        adx_axpy(s->n, a, p->d, x);
    else if (!s->each)
        for (size_t i = 0; i < s->n; i++)
            x[i] += a;
    else if (p->d == NULL)
        adx_axpy(s->n, p->scale, y, x);
    else
        for (size_t i = 0; i < s->n; i++)
            x[i] += p->scale * p->d[i] * y[i];
}

// The fast case of a span in which one number is the operand of all n results:
// what all results contribute to it, as one sum.
static ad_real adx_span_reverse_one(const adx_linear *s, const adx_span *p,
                                    const ad_real y[])
{
    return p->d == NULL ? adx_sum_scaled(s->n, p->scale, y)
                        : p->scale * adx_inner_product(s->n, p->d, y);
}

// A statement whose adjoints are all zero contributes nothing. Otherwise each
// span takes a vector loop if it can, and the general loop if not. A W that is
// known to the compiler unrolls the loop over directions.
ADX_INLINE bool adx_linear_reverse_w(const adx_linear *s, ad_real adj[],
                                     size_t W)
{
    const ad_real *y = &adj[s->e.first * W];
    size_t stride = s->each ? W : 0;

    if (adx_zeros(s->e.values * W, y))
        return true;
    bool care = s->e.care || !adx_finite_all(s->e.values * W, y);
    for (const adx_span *p = s->span; p < s->span + s->spans; p++) {
        if (adx_is_constant(&p->ids))
            continue;
        bool fast = !ADREV_COUNT && W == 1 && !care && p->ids.list == NULL;
        if (fast && p->ids.col == 1) {
            adx_span_reverse(s, p, y, &adj[p->ids.base]);
            continue;
        }
        if (fast && p->ids.col == 0 && s->each) {
            adj[p->ids.base] += adx_span_reverse_one(s, p, y);
            continue;
        }
        for (size_t i = 0; i < s->n; i++) {
            size_t id = adx_id(&p->ids, i);
            if (id != 0)        // 0 is the sink
                adx_chain(&adj[id * W], adx_partial(p, i), &y[i * stride], W,
                          care);
        }
    }
    return true;
}

#if ADREV_FIXED && !ADREV_COUNT
static bool adx_linear_reverse(const adx_extended *e, ad_real adj[],
                               ad_real scratch[], size_t W)
{
    const adx_linear *s = (const adx_linear *)e;
    const ad_real *y = &adj[e->first];
    (void)scratch; (void)W;
    if (adx_zeros(e->values, y))
        return true;
    const adx_span *p = s->span;
    for (size_t left = s->spans; left > 0; left--, p++) {
        const uint32_t *list = p->ids.list;
        const uint32_t id = p->ids.base;
        const uint32_t stride = p->ids.col;
        if (adx_is_constant(&p->ids))
            continue;
        if (p->d == NULL && !s->each)
            adx_add_same_at(s->n, adx_chained(p->scale, *y), list, id, stride,
                            adj);
        else if (p->d == NULL || !s->each)
            adx_add_scaled(s->n, p->d == NULL ? p->scale : *y,
                           p->d == NULL ? y : p->d, list, id, stride, adj);
        else
            adx_add_each_at(s->n, p->d, y, list, id, stride, adj);
    }
    return true;
}
#else
static bool adx_linear_reverse(const adx_extended *e, ad_real adj[],
                               ad_real scratch[], size_t W)
{
    const adx_linear *s = (const adx_linear *)e;
    (void)scratch;
    return W == 1 ? adx_linear_reverse_w(s, adj, 1)
         : W == 4 ? adx_linear_reverse_w(s, adj, 4)
         : adx_linear_reverse_w(s, adj, W);
}
#endif

// Each result gets, from each span, partial times tangent.
static bool adx_linear_forward(const adx_extended *e, ad_real tan[],
                               ad_real scratch[], size_t W)
{
    const adx_linear *s = (const adx_linear *)e;
    ad_real *y = &tan[e->first * W];
    size_t stride = s->each ? W : 0;
    (void)scratch;

    for (const adx_span *p = s->span; p < s->span + s->spans; p++)
        for (size_t i = 0; !adx_is_constant(&p->ids) && i < s->n; i++)
            adx_chain(&y[i * stride], adx_partial(p, i),
                      &tan[adx_id(&p->ids, i) * W], W, true);
    return true;
}

static const char adx_linear_rule_name[] = "linear";
static const adx_rule adx_linear_rule = {
    adx_linear_rule_name, adx_linear_reverse, adx_linear_forward, NULL
};

// Stores a span's partials and returns whether all are finite. A scale other
// than 1 or -1 is multiplied into them here, once, instead of in every sweep.
static bool adx_pack_scaled(adx_span *p, const adx_view *d, size_t n)
{
    ad_real fault = adx_pack_view(d, p->d);
    if (p->scale == 1 || p->scale == -1)
        return fault == 0;
    ADX_TALLY(reverse, mul, n);
    for (size_t i = 0; i < n; i++)
        p->d[i] *= p->scale;
    p->scale = 1;
    return ADREV_FIXED || adx_finite_all(n, p->d);
}

// What a span is made from when a statement is recorded.
typedef struct adx_addend {
    adx_view x;                 // operands
    const adx_view *d;          // their partials are these; NULL: 1
    ad_real scale;
    bool own;                   // the caller writes them, where there is room
} adx_addend;

// Ends a statement whose partials the caller has written (`own`): from now on
// it is known whether its sweep needs care.
static void adx_seal_linear(adx_linear *s)
{
    for (size_t k = 0; k < s->spans && !ADREV_FIXED; k++) {
        const adx_span *p = &s->span[k];
        s->e.care = s->e.care || p->scale * 0 != 0
               || (p->d != NULL && !adx_finite_all(s->n, p->d));
    }
}

#if ADREV_FIXED
ADX_COLD static void adx_place_lists(adx_linear *s, uint32_t *list)
{
    for (size_t k = 0; k < s->spans; k++)
        if (s->span[k].ids.listed) {
            s->span[k].ids.list = list;
            list += s->n;
        }
}

// Adds a statement whose ids are stored as `spacing` says: the struct, then the
// partials of those spans that `stored` has a bit for, then room for the lists.
// NULL: nothing is recorded, because all operands are constants or the tape has
// failed. What is left to the caller are scales other than 1, partials and ids.
static adx_linear *adx_lay_linear(size_t n, bool each, size_t spans,
                                  const uint64_t spacing[], unsigned stored)
{
    bool any = false;
    bool lists = false;
    size_t bytes = sizeof(adx_linear);
    for (size_t k = 0; k < spans; k++) {
        if (spacing[k] == 0)
            continue;
        any = true;
        bytes += stored >> k & 1 ? n * sizeof(ad_real) : 0;
        if (adx_is_list(spacing[k])) {
            bytes += n * sizeof(uint32_t);
            lists = true;
        }
    }
    if (!any || adx_now.tape->status != ADREV_OK)
        return NULL;
    adx_linear *s = adx_add_extended(&adx_linear_rule, bytes, each ? n : 1,
                                     spans * n);
    if (s == NULL)
        return NULL;
    ad_real *room = (ad_real *)(s + 1);
    s->n = n;
    s->spans = spans;
    s->each = each;
    for (adx_span *p = s->span; p < s->span + spans; p++, stored >>= 1) {
        const uint64_t ids = *spacing++;
        adx_set_ids(&p->ids, ids, 0);
        p->scale = 1;
        p->d = NULL;
        if (ids != 0 && stored & 1) {
            p->d = room;
            room += n;
        }
    }
    if (lists)
        adx_place_lists(s, (uint32_t *)(void *)room);
    return s;
}

// Says where the partials of x go, and writes its list of ids.
ADX_INLINE ad_real *adx_fill_span(size_t n, const ad_rev *x, ptrdiff_t inc,
                                  adx_span *p)
{
    if (p->ids.listed)
        adx_write_row(n, x, inc, &p->ids);
    return p->d;
}

// Records a linear statement of n terms in each addend.
static adx_linear *adx_add_linear(size_t n, bool each, size_t addends,
                                  const adx_addend addend[])
{
    uint64_t spacing[3] = { 0, 0, 0 };      // or gcc warns of addends == 0
    unsigned stored = 0;
    if (n == 0 || !adx_recording())
        return NULL;
    for (size_t k = 0; k < addends; k++) {
        spacing[k] = adx_spacing(n, addend[k].x.x, addend[k].x.cs);
        stored |= (unsigned)(addend[k].own || addend[k].d != NULL) << k;
    }
    adx_linear *s = adx_lay_linear(n, each, addends, spacing, stored);
    for (size_t k = 0; s != NULL && k < addends; k++) {
        adx_span *p = &s->span[k];
        p->scale = addend[k].scale;
        adx_fill_span(n, addend[k].x.x, addend[k].x.cs, p);
        if (p->d != NULL && !addend[k].own)
            adx_pack_scaled(p, addend[k].d, n);
    }
    return s;
}
#else
// Whether a span keeps partials of its own on the tape.
static bool adx_stores(const adx_addend *p, const adx_ids *ids)
{
    return !adx_is_constant(ids)
        && (p->own || p->d != NULL);
}

// Classifies the ids of all addends and adds up the bytes of the statement; 0:
// all operands are constants.
static size_t adx_linear_bytes(size_t n, size_t addends,
                               const adx_addend addend[], adx_ids ids[])
{
    size_t bytes = sizeof(adx_linear);
    bool active = false;

    for (size_t k = 0; k < addends; k++) {
        ids[k] = adx_classify(&addend[k].x);
        active = active || !adx_is_constant(&ids[k]);
        bytes += adx_stores(&addend[k], &ids[k]) ? n * sizeof(ad_real) : 0;
        bytes += ids[k].listed ? n * sizeof(uint32_t) : 0;
    }
    return active ? bytes : 0;
}

// Records a linear statement of n terms in each addend. Its memory is the
// struct, then the partials of every span that stores them, then the lists of
// ids. NULL: nothing is recorded, because all operands are constants or the
// tape has failed.
static adx_linear *adx_add_linear(size_t n, bool each, size_t addends,
                                  const adx_addend addend[])
{
    adx_ids ids[3];
    if (n == 0 || !adx_recording())
        return NULL;
    size_t bytes = adx_linear_bytes(n, addends, addend, ids);
    if (bytes == 0 || adx_now.tape->status != ADREV_OK)
        return NULL;
    adx_linear *s = adx_add_extended(&adx_linear_rule, bytes, each ? n : 1,
                                     addends * n);
    if (s == NULL)
        return NULL;

    ad_real *room = (ad_real *)(s + 1);
    s->n = n;
    s->spans = addends;
    s->each = each;
    for (size_t k = 0; k < addends; k++) {
        bool stores = adx_stores(&addend[k], &ids[k]);
        s->span[k] = (adx_span){ ids[k], stores ? room : NULL,
                                 addend[k].scale };
        bool finite = stores && !addend[k].own
                    ? adx_pack_scaled(&s->span[k], addend[k].d, n)
                    : addend[k].scale * 0 == 0;
        s->e.care = !ADREV_FIXED && (s->e.care || !finite);
        room += stores ? n : 0;
    }
    uint32_t *list = (uint32_t *)(void *)room;
    for (size_t k = 0; k < addends; k++)
        list = adx_write_list(&addend[k].x, &s->span[k].ids, list);
    return s;
}
#endif

// Names the result v of a sum or of a scalar product, and tells the hook.
static ad_rev adx_sum_result(ad_real v, size_t n, const adx_addend addend[],
                             const adx_linear *s)
{
    ad_rev y;
    bool product = addend->d != NULL;
    (void)n;
    adx_tell_array(product ? ADREV_ARRAY_dot : ADREV_ARRAY_sum, ADREV_OP_COUNT,
                   ADX_BASE(s), &addend->x, addend->d, NULL);
    ADX_TALLY(forward, add, s == NULL ? 0 : n - 1);
    ADX_TALLY(forward, mul, s == NULL || !product ? 0 : n);
    adx_set_result(&y, v, ADX_BASE(s), 0);
    return y;
}

static ad_rev adx_sum_of(ad_real v, size_t n, const adx_addend *addend)
{
    return adx_sum_result(v, n, addend, adx_add_linear(n, false, 1, addend));
}
