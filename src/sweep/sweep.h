#pragma once

/* === sweep/sweep ============================================================
 * A reverse sweep goes from the last statement to the first, with adj[operand]
 * += d * adj. A forward sweep goes from the first to the last, with tan += sum
 * of d * tan[operand]. Both do W directions at once, stored value by value:
 * adj[id*W + w]. W is a constant in each copy of the loop: 1, or a multiple of
 * the lanes. As everywhere, a zero factor absorbs the other one (core/types).
 *
 *   needs   number/recording tape/layout tape/entries tape/walk
 *   offers  adx_chained adx_is_plain adx_spread ADX_WIDEST ADX_ACROSS
 *           adx_total adx_stretch adx_reverse_extended adx_leap_of
 *           adx_reverse_1 adx_reverse adx_sweep_fn ADX_FOR_WIDTH adx_sweep
 *           adx_forward_extended adx_forward adx_forward_1
 * ========================================================================== */

/* --- reverse ------------------------------------------------------------- */

// A product of the chain rule: where a zero has to absorb the other factor, the
// plain product is NaN.
ADX_INLINE ad_real adx_chained(ad_real d, ad_real a)
{
    const ad_real p = d * a;
    if (ADX_UNLIKELY(ADX_UNORDERED(p, p)) && (adx_is_zero(d) || adx_is_zero(a)))
        return 0;
    return p;
}

ADX_COLD static void adx_spread_absorbing(ad_real adj[], const adx_operand *op,
                                          size_t n, const ad_real a[],
                                          size_t W)
{
    for (size_t i = 0; i < n; i++)
        for (size_t w = 0; w < W; w++)
            adj[op[i].id * W + w] += adx_chained(op[i].d, a[w]);
}

// Whether a is finite and not zero. The bits are shifted left, which drops the
// sign, and 1 is subtracted. That makes zeros the largest number of all, and
// infinities and NaN the next ones: their bits begin with all ones.
ADX_INLINE bool adx_is_plain(ad_real a)
{
    return (adx_bits)(adx_bits_shifted(a) - 1) < ADX_SPECIAL - 1;
}

ADX_INLINE void adx_spread_one(ad_real adj[], const adx_operand *p, ad_real a)
{
#if ADREV_COUNT
    if (p->id != 0)
        adx_count_reverse(p->d, adj[p->id]);
#endif
    adj[p->id] += p->d * a;
}

ADX_INLINE void adx_spread_two(ad_real adj[], const adx_operand *p, ad_real a)
{
    adx_spread_one(adj, p + 1, a);
    adx_spread_one(adj, p, a);
}

// Adds the contributions of one statement, whose adjoint a is plain, and
// returns op, where it ends. No statement is without operands. (In pairs:
// particles, bench/, 13 % faster. On small machines ADX_OPAQUE has gcc go on
// with p in the register where op was, instead of computing its end apart.)
ADX_INLINE const adx_operand *adx_spread_plain(ad_real adj[],
                                               const adx_operand *op,
                                               size_t n, ad_real a)
{
    const adx_operand *p = op + n;
#if ADREV_FIXED
    if (n & 1) {
        p--;
        ADX_OPAQUE(p);
        adx_spread_one(adj, p, a);
        if (n == 1)
            return p;
    }
    do {
        p -= 2;
        ADX_OPAQUE(p);
        adx_spread_two(adj, p, a);
    } while (p > op);
#else
    if (n & 1)
        adx_spread_one(adj, --p, a);
    while (p > op)
        adx_spread_two(adj, p -= 2, a);
#endif
    return p;
}

// The same of any statement. A zero partial needs care only where a is not
// finite. Nothing is added if a is zero. (One test for both: particles and dot,
// bench/, take a tenth less time in all than with three comparisons of
// numbers.)
ADX_INLINE void adx_spread(ad_real adj[], const adx_operand *op, size_t n,
                           ad_real a)
{
    if (ADX_UNLIKELY(!adx_is_plain(a))) {
        ad_real copy = a;       // so that a itself can stay in a register
        if (!adx_is_zero(a))
            adx_spread_absorbing(adj, op, n, &copy, 1);
        return;
    }
    adx_spread_plain(adj, op, n, a);
}

#ifndef ADX_LANES
#define ADX_WIDEST 1
#define ADX_SPREAD_LANES(adj, k, op, header, W) ((void)0)
#define ADX_GATHER_LANES(tan, k, op, header, W) ((void)0)
#else
#define ADX_WIDEST 8
#define ADX_SPREAD_LANES adx_spread_lanes
#define ADX_GATHER_LANES adx_gather_lanes

// How many numbers a register holds side by side: four, or two. Where registers
// have 16 bytes, gcc 12 keeps four doubles in memory. (bench: rotquat, gcc -O2,
// 0.68.)
#ifdef __AVX__
#define ADX_ACROSS 4
#else
#define ADX_ACROSS (sizeof(ad_real) == 4 ? 4 : 2)
#endif
typedef ad_real adx_lanes __attribute__((vector_size(ADX_ACROSS
                                                     * sizeof(ad_real)),
                                         aligned(sizeof(ad_real)), may_alias));
typedef __typeof__((adx_lanes){0} == (adx_lanes){0}) adx_mask;

ADX_INLINE ad_real adx_total(const adx_lanes *x)
{
    ad_real low = (*x)[0] + (*x)[1];
    return ADX_ACROSS == 2 ? low
         : low + ((*x)[ADX_ACROSS - 2] + (*x)[ADX_ACROSS - 1]);
}

// As adx_spread, for the statement of value k in all directions. In a direction
// whose adjoint is zero nothing is added, even if the partial is not finite.
ADX_INLINE void adx_spread_lanes(ad_real adj[], size_t k,
                                 const adx_operand *op, unsigned header,
                                 const size_t W)
{
    const size_t n = header & ADX_COUNT;
    const adx_mask sign = (adx_mask)-(adx_lanes){0};
    const adx_lanes *y = (const adx_lanes *)&adj[k * W];
    adx_lanes a[ADX_WIDEST / ADX_ACROSS];
    adx_mask live[ADX_WIDEST / ADX_ACROSS];
    adx_lanes size = {0};

    for (size_t r = 0; r < W / ADX_ACROSS; r++) {
        a[r] = y[r];
        live[r] = (adx_mask)(a[r] != 0);
        size += (adx_lanes)((adx_mask)a[r] & ~sign);
    }
    ad_real total = adx_total(&size);
    if (total == 0)
        return;
    if (ADX_UNLIKELY(total * 0 != 0)) {
        ad_real copy[ADX_WIDEST];
        memcpy(copy, a, sizeof *copy * W);
        adx_spread_absorbing(adj, op, n, copy, W);
    } else {
        for (const adx_operand *p = op + n; p-- > op;) {
            adx_lanes *x = (adx_lanes *)&adj[p->id * W];
            ad_real d = p->d;
            for (size_t r = 0; r < W / ADX_ACROSS; r++)
                x[r] += (adx_lanes)((adx_mask)(d * a[r]) & live[r]);
        }
    }
    for (size_t r = 0; header & ADX_SUM && r < W / ADX_ACROSS; r++)
        ((adx_lanes *)&adj[(k - 1) * W])[r] += a[r];
}

#endif

// A part of a tape. Its extended statements may use numbers that lie behind the
// adjoints of all values, `scratch` further on for each direction.
typedef struct adx_stretch {
    adx_place from;
    adx_place to;
    size_t scratch;
} adx_stretch;

static ad_real *adx_scratch(const ad_tape *t, const adx_stretch *s,
                            ad_real a[], size_t W)
{
    return a + (adx_live(t)->seq + 1 + (s == NULL ? 0 : s->scratch)) * W;
}

static bool adx_reverse_extended(const ad_tape *t, const adx_stretch *s,
                                 const adx_operand *op, ad_real adj[],
                                 size_t W)
{
    const adx_extended *e = adx_payload(op);
    return e->rule->reverse(e, adj, adx_scratch(t, s, adj, W), W);
}

static adx_leap *adx_leap_of(const adx_operand *op)
{
    adx_leap *leap;
    memcpy(&leap, adx_payload(op), sizeof leap);
    return leap;
}

#if ADREV_FIXED
// All of fixed memory is one block. y: behind the adjoint of the next value.
static bool adx_reverse_1(const ad_tape *t, ad_real adj[])
{
    const adx_operand *op = t->rest.op;
    const uint16_t *head = t->rest.head;
    const uint16_t *end = t->floor.adx_block == NULL
                        ? t->start : (const uint16_t *)t->floor.adx_head;
    ad_real *y = &adj[t->rest.seq] + 1;

    if (head < end)
        do {
            const unsigned header = *head++;
            if (ADX_UNLIKELY(header & ADX_OTHER)) {
                if (ADREV_FIXED < 2 && header == ADX_EXTENDED) {
                    op -= op[-1].id;
                    y -= adx_values(ADX_EXTENDED, op);
                    if (!adx_reverse_extended(t, NULL, op, adj, 1))
                        return false;
                    continue;
                }
                op -= adx_operands(header, op - 1);
                y -= adx_values(header, op);
                continue;
            }
            const size_t n = header & ADX_COUNT;
            const adx_operand *first = op - n;
            y--;
            ADX_OPAQUE(y);
            const ad_real a = *y;
            const adx_bits size = adx_bits_shifted(a);
            if (size == 0) {    // in a row of a Jacobian most are
                op = first;
                continue;
            }
            if (ADX_LIKELY(size < ADX_SPECIAL))
                op = adx_spread_plain(adj, first, n, a);
            else {
                ad_real copy = a;
                op = first;
                adx_spread_absorbing(adj, op, n, &copy, 1);
            }
            if (header & ADX_SUM) {
                ADX_OPAQUE(y);  // a branch: it takes less than what gcc makes
                y[-1] += a;
            }
        } while (head != end);
    return true;
}
#else
// Sweeps a stretch; s NULL: all of the tape above its floor. Operands and
// headers are read from the end of each block, block by block.
ADX_INLINE bool adx_reverse(const ad_tape *t, const adx_stretch *s,
                            ad_real adj[], const size_t W)
{
    const adx_context *c = adx_live(t);
    const adx_block *floor = s == NULL ? (const adx_block *)t->floor.adx_block
                                       : s->from.block;
    const adx_operand *op = s == NULL ? c->op : s->to.op;
    const uint16_t *head = s == NULL ? c->head : s->to.head;
    size_t k = s == NULL ? c->seq : s->to.seq;
    const adx_block *b = s == NULL ? t->block : s->to.block;

    while (b != NULL) {
        const uint16_t *end = b != floor ? adx_top_of_block(b) : s == NULL
                            ? (const uint16_t *)t->floor.adx_head
                            : s->from.head;
        bool leapt = false;
        while (head < end) {
            unsigned header = *head++;
            if (header & ADX_OTHER) {
                op -= adx_operands(header, op - 1);
                k -= adx_values(header, op);
                if (header == ADX_EXTENDED
                    && !adx_reverse_extended(t, s, op, adj, W))
                    return false;
                if (header == ADX_LEAP) {
                    adx_leap *leap = adx_leap_of(op);
                    if (!leap->reverse(leap, W))
                        return false;
                    b = leap->before.block;
                    op = leap->before.op;
                    head = leap->before.head;
                    k = leap->before.seq;
                    leapt = true;
                    break;
                }
                continue;
            }
            op -= header & ADX_COUNT;
            ADX_FETCH((uintptr_t)op - ADX_FAR);
            if (W > 1) {
                ADX_SPREAD_LANES(adj, k, op, header, W);
                k--;
                continue;
            }
            ad_real a = adj[k--];
            adx_spread(adj, op, header & ADX_COUNT, a);
            // A running sum: the value before has partial 1. Its adjoint is
            // this one plus what other statements contributed. Go on with it.
            while (header & ADX_SUM) {
#if ADREV_COUNT
                if (a != 0)
                    adx_count_reverse(1, adj[k]);
#endif
                a += adj[k];
                adj[k] = a;
                if (head == end || *head & ADX_OTHER)
                    break;
                header = *head++;
                op -= header & ADX_COUNT;
                k--;
                ADX_FETCH((uintptr_t)op - ADX_FAR);
                adx_spread(adj, op, header & ADX_COUNT, a);
            }
        }
        if (leapt)
            continue;
        if (b == floor)
            break;
        b = b->prev;
        if (b != NULL) {
            op = b->op;
            head = b->head;
        }
    }
    return true;
}

static bool adx_reverse_1(const ad_tape *t, ad_real adj[])
{
    return adx_reverse(t, NULL, adj, 1);
}

static bool adx_reverse_4(const ad_tape *t, ad_real adj[])
{
    return adx_reverse(t, NULL, adj, 4);
}

static bool adx_reverse_8(const ad_tape *t, ad_real adj[])
{
    return adx_reverse(t, NULL, adj, 8);
}

#endif

typedef bool adx_sweep_fn(const ad_tape *t, ad_real a[]);

// The copy of a sweep for W directions, of a whole tape or of a stretch. (With
// one copy for both, which is told at run time, nn takes 9 % longer with clang
// 14.)
#if ADREV_FIXED
#define ADX_FOR_WIDTH(W, sweep) ((void)(W), sweep##_1)
#else
#define ADX_FOR_WIDTH(W, sweep)                                             \
    ((W) == 8 ? sweep##_8 : (W) == 4 ? sweep##_4 : sweep##_1)
#endif

// The user's functions find no tape current: what they record must not move
// what is being swept.
ADX_INLINE bool adx_sweep(const ad_tape *t, adx_sweep_fn *sweep, ad_real a[])
{
    if (!t->calls)
        return sweep(t, a);
    ad_tape *before = ad_use(NULL);
    bool ok = sweep(t, a);
    ad_use(before);
    return ok;
}

/* --- forward ------------------------------------------------------------- */

// The tangent of value k, which may have a seed; a zero factor absorbs the
// other.
ADX_COLD static void adx_gather_absorbing(ad_real tan[], const ad_real seed[],
                                          size_t k, const adx_operand *op,
                                          unsigned header, size_t W)
{
    for (size_t w = 0; w < W; w++) {
        ad_real sum = seed[w];
        if (header & ADX_SUM)
            sum += tan[(k - 1) * W + w];
        for (size_t i = 0; i < (header & ADX_COUNT); i++)
            sum += adx_absorb(op[i].d, tan[op[i].id * W + w]);
        tan[k * W + w] = sum;
    }
}

ADX_INLINE void adx_gather(ad_real tan[], size_t k, const adx_operand *op,
                           unsigned header)
{
    ad_real seed = tan[k];
    ad_real y = header & ADX_SUM ? seed + tan[k - 1] : seed;

    for (size_t i = 0; i < (header & ADX_COUNT); i++)
        y += op[i].d * tan[op[i].id];
    tan[k] = y;
    if (ADX_UNLIKELY(y != y))
        adx_gather_absorbing(tan, &seed, k, op, header, 1);
}

#ifdef ADX_LANES
// Computes the tangents of value k in W directions. Plain products may be wrong
// only where a result is not finite (a zero that meets an infinity); then the
// sum is made again by the rule.
ADX_INLINE void adx_gather_lanes(ad_real tan[], size_t k,
                                 const adx_operand *op, unsigned header,
                                 const size_t W)
{
    ad_real seed[ADX_WIDEST];
    adx_lanes y[ADX_WIDEST / ADX_ACROSS];
    adx_lanes total = {0};

    memcpy(seed, &tan[k * W], sizeof *seed * W);
    memcpy(y, seed, sizeof *seed * W);
    for (size_t r = 0; header & ADX_SUM && r < W / ADX_ACROSS; r++)
        y[r] += ((const adx_lanes *)&tan[(k - 1) * W])[r];
    for (size_t i = 0; i < (header & ADX_COUNT); i++)
        for (size_t r = 0; r < W / ADX_ACROSS; r++)
            y[r] += op[i].d * ((const adx_lanes *)&tan[op[i].id * W])[r];
    for (size_t r = 0; r < W / ADX_ACROSS; r++)
        total += y[r];
    memcpy(&tan[k * W], y, sizeof *seed * W);
    if (ADX_UNLIKELY(adx_total(&total) * 0 != 0))
        adx_gather_absorbing(tan, seed, k, op, header, W);
}
#endif

static bool adx_forward_extended(const ad_tape *t, const adx_stretch *s,
                                 const adx_operand *op, ad_real tan[],
                                 size_t W)
{
    const adx_extended *e = adx_payload(op);
    return e->rule->forward(e, tan, adx_scratch(t, s, tan, W), W);
}

static adx_cursor adx_begin_stretch(const ad_tape *t, const adx_stretch *s)
{
    adx_cursor at = { .until = s == NULL ? NULL : &s->to };
    if (s == NULL)
        return adx_from(t, &t->floor);
    adx_put_cursor(t, &at, &s->from);
    return at;
}

// Sweeps a stretch forwards; s NULL: all of the tape above its floor.
ADX_INLINE bool adx_forward(const ad_tape *t, const adx_stretch *s,
                            ad_real tan[], const size_t W)
{
    adx_cursor at = adx_begin_stretch(t, s);

    for (unsigned header; (header = adx_next_entry(t, &at)) != 0;) {
        if (header == ADX_EXTENDED) {
            if (!adx_forward_extended(t, s, at.op, tan, W))
                return false;
        } else if (header == ADX_LEAP) {
            adx_leap *leap = adx_leap_of(at.op);
            if (!leap->forward(leap, W))
                return false;
            adx_put_cursor(t, &at, &leap->after);
        } else if (header & ADX_OTHER)
            continue;
        else if (W > 1)
            ADX_GATHER_LANES(tan, at.seq, at.op, header, W);
        else
            adx_gather(tan, at.seq, at.op, header);
    }
    return true;
}

static bool adx_forward_1(const ad_tape *t, ad_real tan[])
{
    return adx_forward(t, NULL, tan, 1);
}

#if !ADREV_FIXED
static bool adx_forward_4(const ad_tape *t, ad_real tan[])
{
    return adx_forward(t, NULL, tan, 4);
}

static bool adx_forward_8(const ad_tape *t, ad_real tan[])
{
    return adx_forward(t, NULL, tan, 8);
}
#endif
