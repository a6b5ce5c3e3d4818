#pragma once

/* === bulk/folds =============================================================
 * There are three kinds of bulk operators. Operators given by a row of the
 * operator table are statements of their own, whose partials are known: they
 * are in this room. Movements are copies (bulk/movements). An operator given by
 * a function is one external statement, which keeps the values of its operands
 * (bulk/statement). A sweep takes its elements chunk by chunk, records each
 * chunk on a chunk tape and sweeps that tape. Where a chunk ends depends on the
 * program alone, and the contributions of chunks are added in their order, so
 * the bits do not depend on threads.
 *
 *   needs   number/recording number/operators number/fronts tape/layout
 *           tape/memory array/operands array/linear array/sums
 *   offers  adx_now_status adx_bulk_allocator adx_bulk_take adx_bulk_no_memory
 *           adx_bulk_huge adx_results_or_nan adx_bulk_refuse adx_fold_plain
 *           adx_prefixed adx_prefixed_rule adx_bins adx_bins_rule adx_inside
 * ========================================================================== */

/* --- memory and failure -------------------------------------------------- */

// The status of the current tape; ADREV_OK if no tape is current.
static ad_status adx_now_status(void)
{
    return adx_now.tape == NULL ? ADREV_OK : adx_now.tape->status;
}

// Returns the allocator for temporary memory. NULL: there is none, since the
// tape is in fixed memory.
static const ad_allocator *adx_bulk_allocator(void)
{
    const ad_tape *t = adx_now.tape;
    if (t != NULL)
        return t->allocator.alloc == NULL ? NULL : &t->allocator;
    return adx_allocator_or(NULL);
}

// Takes temporary memory. NULL: no memory, or no allocator.
static void *adx_bulk_take(const ad_allocator *a, size_t n, size_t size)
{
    return a == NULL ? NULL : adx_take(a, n, size);
}

// Reports that adx_bulk_take has failed: ADREV_EFULL if the tape is in fixed
// memory, which has none to give.
static ad_status adx_bulk_no_memory(void)
{
    return adx_failed(adx_bulk_allocator() == NULL && adx_now.tape != NULL
                      ? ADREV_EFULL : ADREV_ENOMEM);
}

// Whether n rows of this size are more than an array can have. Each of the two
// numbers has a limit of its own, even if the other is 0.
static bool adx_bulk_huge(size_t n, size_t size)
{
    return n > ADX_MOST_ELEMENTS || size > ADX_MOST_ELEMENTS
        || adx_size_times(n, size) > ADX_MOST_ELEMENTS;
}

// No array has more numbers than this. An array that claims to have more is not
// written.
#define ADX_RESULTS_MOST (SIZE_MAX >> (sizeof(size_t) > 4 ? 24 : 6))

// After a failure, makes the results NaN: n rows of `size`, if an array can
// have so many. Returns status.
static ad_status adx_results_or_nan(ad_status status, size_t n, size_t size,
                                    ad_rev y[])
{
    if (status == ADREV_OK || y == NULL || adx_bulk_huge(n, size)
        || n * size > ADX_RESULTS_MOST)
        return status;
    for (size_t i = 0; i < n * size; i++)
        y[i] = adx_no_result();
    return status;
}

// Reports that a call has impossible arguments, and makes its results NaN.
static ad_status adx_bulk_refuse(size_t n, size_t size, ad_rev y[])
{
    return adx_results_or_nan(adx_failed(ADREV_ESHAPE), n, size, y);
}

/* --- rows of the operator table ------------------------------------------ */

// Whether ad_reduce_op and its kin have this operation.
static bool adx_is_fold(ad_opcode op)
{
    return op == ADREV_OP_add || op == ADREV_OP_mul || op == ADREV_OP_min
        || op == ADREV_OP_max;
}

// The neutral number e of an operation: e op x is x.
static ad_real adx_neutral(ad_opcode op)
{
    return op == ADREV_OP_mul ? 1 : op == ADREV_OP_min ? ADX_K(INFINITY)
         : op == ADREV_OP_max ? -ADX_K(INFINITY) : 0;
}

// Whether x replaces `best` as the least or largest number. It does not if they
// are equal; any number replaces a NaN.
static bool adx_is_better(ad_opcode op, ad_real x, ad_real best)
{
    return (op == ADREV_OP_max ? x > best : x < best)
        || (best != best && x == x);
}

// Computes an operation by the loops of array statements, so that the bits are
// the same, and tells the hook of it.
static ad_rev adx_bulk_traced(ad_opcode op, ad_rev a, ad_rev b, ad_rev c)
{
    const ad_real *const x[3] = { &a.v, &b.v, &c.v };
    ad_real d[3] = { 0, 0, 0 };
    ad_real *const to[3] = { &d[0], &d[1], &d[2] };
    ad_real v;
    adx_any_each_op(op).loops(1, x, &v, to);
    return adx_traced(op, v, a, d[0], b, d[1], c, d[2]);
}

// Computes best op x as elementary operations, for a hook. Of two equal numbers
// the first must stay and have all of the derivative; max of the operator table
// does not do that. A comparison would become a guard. So ad_select chooses x
// by how much better it is, a number that is 0 unless x is better.
static ad_rev adx_fold_traced(ad_opcode op, ad_rev best, ad_rev x)
{
    ad_rev none = adx_passive(0);
    if (op == ADREV_OP_add || op == ADREV_OP_mul)
        return adx_bulk_traced(op, best, x, none);
    ad_rev most = adx_bulk_traced(op, x, best, none);
    bool up = op == ADREV_OP_max;
    ad_rev by = adx_bulk_traced(ADREV_OP_fdim, up ? most : best,
                                up ? best : most, none);
    ad_rev y = adx_bulk_traced(ADREV_OP_select, by, x, best);
    return y;
}

// Computes and records a op b. A least or largest number is a copy.
static ad_rev adx_fold_plain(ad_opcode op, ad_rev a, ad_rev b)
{
    if (adx_now.trace)
        return adx_fold_traced(op, a, b);
    if (op == ADREV_OP_add)
        return ad_rec(ad_add(a, b));
    if (op == ADREV_OP_mul)
        return ad_rec(ad_mul(a, b));
    return adx_is_better(op, b.v, a.v) ? b : a;
}

// Returns the product of x. d, which may be NULL, becomes its partials: each is
// the product of the numbers before, times the product of the numbers behind.
// The loop forwards writes the former to d, and the loop backwards multiplies
// by the latter. So nothing is divided, and a zero in x does no harm; as in the
// chain rule, a factor of zero absorbs the other.
static ad_real adx_product_partials(size_t n, const ad_rev x[], ad_real d[])
{
    ad_real before = 1;
    ad_real behind = 1;
    for (size_t i = 0; i < n; i++) {
        if (d != NULL)
            d[i] = before;
        before *= x[i].v;
    }
    for (size_t i = n; d != NULL && i-- > 0;) {
        d[i] = adx_absorb(d[i], behind);
        behind = adx_absorb(behind, x[i].v);
    }
    return before;
}

// Records a product as one statement with n operands.
static ad_rev adx_whole_product(size_t n, const ad_rev x[])
{
    const adx_addend addend = { .x = adx_vector(n, x, 1), .scale = 1,
                                .own = true };
    adx_linear *s = adx_add_linear(n, false, 1, &addend);
    ad_rev y;

    ad_real v = adx_product_partials(n, x, s == NULL ? NULL : s->span[0].d);
    if (s != NULL)
        adx_seal_linear(s);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n - 1);
    adx_set_result(&y, v, ADX_BASE(s), 0);
    return y;
}

// Folds x with op: one statement for a sum or a product, unless a hook wants to
// see each operation.
static ad_rev adx_reduced(ad_opcode op, size_t n, const ad_rev x[])
{
    if (n == 0)
        return adx_passive(adx_neutral(op));
    if (!adx_now.trace && n > 1 && op == ADREV_OP_add)
        return (ad_sum)(n, x);
    if (!adx_now.trace && n > 1 && op == ADREV_OP_mul)
        return adx_whole_product(n, x);
    ad_rev y = x[0];
    for (size_t i = 1; i < n; i++)
        y = adx_fold_plain(op, y, x[i]);
    return y;
}

ADX_API ad_status ad_reduce_op(ad_opcode op, size_t n, const ad_rev x[],
                               ad_rev *y)
{
    if (!adx_is_fold(op) || adx_no_array(n, x) || y == NULL)
        return adx_bulk_refuse(1, 1, y);
    if (adx_now_status() == ADREV_OK)
        *y = adx_reduced(op, n, x);
    return adx_results_or_nan(adx_now_status(), 1, 1, y);
}

/* --- prefixes ------------------------------------------------------------ */

// The statement of prefix sums or products: y[i] = y[i-1] op x[i] has the
// partial a[i] with respect to y[i-1], and b[i] with respect to x[i]. A sweep
// goes through x once.
typedef struct adx_prefixed {
    adx_extended e;
    adx_ids ids;                // of x
    const ad_real *a;           // NULL (sums): all partials are 1
    const ad_real *b;           // likewise
} adx_prefixed;

static ad_real adx_scaled_by(const ad_real d[], size_t i, ad_real x)
{
    return d == NULL ? x : adx_absorb(d[i], x);
}

// r is the complete adjoint of y[i]: what y[i] has from elsewhere, and a[i+1]
// times the adjoint of y[i+1].
static bool adx_prefixed_reverse(const adx_extended *e, ad_real adj[],
                                 ad_real scratch[], size_t W)
{
    const adx_prefixed *s = (const adx_prefixed *)e;
    const ad_real *y = &adj[e->first * W];
    (void)scratch;
    for (size_t w = 0; w < W; w++) {
        ad_real r = 0;
        for (size_t i = e->values; i-- > 0;) {
            bool last = i + 1 == e->values;
            r = y[i * W + w] + (last ? 0 : adx_scaled_by(s->a, i + 1, r));
            adj[adx_id(&s->ids, i) * W + w] += adx_scaled_by(s->b, i, r);
        }
    }
    return true;
}

// yd[i] = a[i] yd[i-1] + b[i] xd[i].
static bool adx_prefixed_forward(const adx_extended *e, ad_real tan[],
                                 ad_real scratch[], size_t W)
{
    const adx_prefixed *s = (const adx_prefixed *)e;
    (void)scratch;
    for (size_t w = 0; w < W; w++) {
        ad_real r = 0;
        for (size_t i = 0; i < e->values; i++) {
            ad_real x = tan[adx_id(&s->ids, i) * W + w];
            r = (i == 0 ? 0 : adx_scaled_by(s->a, i, r))
              + adx_scaled_by(s->b, i, x);
            tan[(e->first + i) * W + w] += r;
        }
    }
    return true;
}

static const adx_rule adx_prefixed_rule = {
    "prefix", adx_prefixed_reverse, adx_prefixed_forward, NULL
};

// Adds the statement to the tape. NULL: all of x are constants, or the tape has
// failed.
static adx_prefixed *adx_add_prefixed(bool product, size_t n, const ad_rev x[])
{
    const adx_view view = adx_vector(n, x, 1);
    if (!adx_recording())
        return NULL;
    adx_ids ids = adx_classify(&view);
    if (adx_is_constant(&ids) || adx_now.tape->status != ADREV_OK)
        return NULL;
    size_t reals = product ? 2 * n * sizeof(ad_real) : 0;
    adx_prefixed *s = adx_add_extended(&adx_prefixed_rule,
        sizeof *s + reals + (ids.listed ? n * sizeof(uint32_t) : 0), n, n);
    if (s == NULL)
        return NULL;
    ad_real *room = (ad_real *)(s + 1);
    s->a = product ? room : NULL;
    s->b = product ? room + n : NULL;
    s->ids = ids;
    adx_write_list(&view, &s->ids, (uint32_t *)(void *)((char *)room + reals));
    return s;
}

// Computes the values and, of products, the partials. y may be x.
static void adx_prefix_statement(ad_opcode op, size_t n, const ad_rev x[],
                                 adx_prefixed *s, ad_rev y[])
{
    bool product = op == ADREV_OP_mul;
    ad_real *a = s == NULL || !product ? NULL : (ad_real *)(s + 1);
    ad_real v = adx_neutral(op);
    for (size_t i = 0; i < n; i++) {
        ad_real last = v;
        ad_real xi = x[i].v;
        v = i == 0 ? xi : product ? last * xi : last + xi;
        if (a != NULL) {
            a[i] = xi;
            a[n + i] = last;
        }
        adx_set_result(&y[i], v, ADX_BASE(s), i);
    }
}

// Computes prefixes as elementary operations, for a hook.
static ad_status adx_prefix_traced(ad_opcode op, size_t n, const ad_rev x[],
                                   ad_rev y[])
{
    const ad_allocator *memory = adx_bulk_allocator();
    ad_rev *z = (ad_rev *)adx_bulk_take(memory, n, sizeof *z);
    if (z == NULL)
        return adx_bulk_no_memory();
    for (size_t i = 0; i < n; i++)
        z[i] = i == 0 ? x[0] : adx_fold_traced(op, z[i - 1], x[i]);
    memcpy(y, z, n * sizeof *y);
    adx_drop(memory, z);
    return adx_now_status();
}

// Computes and records the prefixes. A least or largest number is a copy.
static ad_status adx_prefixes(ad_opcode op, size_t n, const ad_rev x[],
                              ad_rev y[])
{
    ad_status status = adx_now_status();
    if (status != ADREV_OK || n == 0)
        return status;
    if (adx_now.trace)
        return adx_prefix_traced(op, n, x, y);
    if (op == ADREV_OP_min || op == ADREV_OP_max) {
        ad_rev best = x[0];
        for (size_t i = 0; i < n; i++)
            y[i] = best = adx_is_better(op, x[i].v, best.v) ? x[i] : best;
        return ADREV_OK;
    }
    adx_prefixed *s = adx_add_prefixed(op == ADREV_OP_mul, n, x);
    status = adx_now_status();
    if (status == ADREV_OK)
        adx_prefix_statement(op, n, x, s, y);
    return status;
}

ADX_API ad_status ad_prefix_op(ad_opcode op, size_t n, const ad_rev x[],
                               ad_rev y[])
{
    if (!adx_is_fold(op) || adx_no_array(n, x) || adx_no_array(n, y))
        return adx_bulk_refuse(n, 1, y);
    return adx_results_or_nan(adx_prefixes(op, n, x, y), n, 1, y);
}

/* --- histograms ---------------------------------------------------------- */

// The statement of a histogram. Result k has the partial own[k] with respect to
// what was in bin k before, and d[i] with respect to each v[i] that goes to bin
// k (at[i] == k).
typedef struct adx_bins {
    adx_extended e;
    size_t terms;
    ad_real *own;               // [values] NULL (sums): all partials are 1
    ad_real *d;                 // [terms] likewise
    uint32_t *bin;              // [values] ids of the bins as they were
    uint32_t *v;                // [terms] ids of the terms
    uint32_t *at;               // [terms] the bin of each
} adx_bins;

// Each bin as it was gets own[k] times the adjoint of the bin as it is; each
// term gets d[i] times that of its bin.
static bool adx_bins_reverse(const adx_extended *e, ad_real adj[],
                             ad_real scratch[], size_t W)
{
    const adx_bins *s = (const adx_bins *)e;
    const ad_real *y = &adj[e->first * W];
    (void)scratch;
    for (size_t w = 0; w < W; w++) {
        for (size_t k = 0; k < e->values; k++)
            adj[s->bin[k] * W + w] += adx_scaled_by(s->own, k, y[k * W + w]);
        for (size_t i = 0; i < s->terms; i++)
            adj[s->v[i] * W + w] += adx_scaled_by(s->d, i, y[s->at[i] * W + w]);
    }
    return true;
}

// The same forward: a bin's tangent is the sum of those of its terms, each
// times its partial.
static bool adx_bins_forward(const adx_extended *e, ad_real tan[],
                             ad_real scratch[], size_t W)
{
    const adx_bins *s = (const adx_bins *)e;
    ad_real *y = &tan[e->first * W];
    (void)scratch;
    for (size_t w = 0; w < W; w++) {
        for (size_t k = 0; k < e->values; k++)
            y[k * W + w] += adx_scaled_by(s->own, k, tan[s->bin[k] * W + w]);
        for (size_t i = 0; i < s->terms; i++)
            y[s->at[i] * W + w] += adx_scaled_by(s->d, i, tan[s->v[i] * W + w]);
    }
    return true;
}

static const adx_rule adx_bins_rule = {
    "histogram", adx_bins_reverse, adx_bins_forward, NULL
};

// Whether an index is in 0 ... m - 1.
static bool adx_inside(ptrdiff_t i, size_t m)
{
    return i >= 0 && (size_t)i < m;
}

// Returns the id of x; a constant has that of the sink, to which adjoints may
// be added.
static uint32_t adx_id_or_sink(ad_rev x)
{
    uint32_t id = adx_id_here(x);
    return id == 0 ? (uint32_t)adx_now.sink : id;
}

// Counts the terms, which are the v whose index is that of a bin. Returns
// whether a term or a bin is recorded.
static bool adx_bins_active(size_t n, const ptrdiff_t ix[], const ad_rev v[],
                            size_t m, const ad_rev bin[], size_t *terms)
{
    bool active = false;
    *terms = 0;
    for (size_t k = 0; k < m; k++)
        active = adx_id_here(bin[k]) != 0 || active;
    for (size_t i = 0; i < n; i++)
        if (adx_inside(ix[i], m)) {
            active = adx_id_here(v[i]) != 0 || active;
            ++*terms;
        }
    return active;
}

// Adds the statement to the tape. NULL: all numbers are constants, or the tape
// has failed.
static adx_bins *adx_add_bins(bool product, size_t n, const ptrdiff_t ix[],
                              const ad_rev v[], size_t m, const ad_rev bin[])
{
    size_t terms;
    if (!adx_recording() || !adx_bins_active(n, ix, v, m, bin, &terms)
        || adx_now.tape->status != ADREV_OK)
        return NULL;
    size_t reals = product ? m + terms : 0;
    adx_bins *s = adx_add_extended(&adx_bins_rule,
        sizeof *s + reals * sizeof(ad_real)
            + (m + 2 * terms) * sizeof(uint32_t), m, m + terms);
    if (s == NULL)
        return NULL;
    ad_real *room = (ad_real *)(s + 1);
    s->terms = terms;
    s->own = product ? room : NULL;
    s->d = product ? room + m : NULL;
    s->bin = (uint32_t *)(void *)(room + reals);
    s->v = s->bin + m;
    s->at = s->v + terms;
    for (size_t k = 0; k < m; k++)
        s->bin[k] = adx_id_or_sink(bin[k]);
    for (size_t i = 0, j = 0; i < n; i++)
        if (adx_inside(ix[i], m)) {
            s->v[j] = adx_id_or_sink(v[i]);
            s->at[j++] = (uint32_t)ix[i];
        }
    return s;
}

// Computes the partials of products as adx_product_partials does, bin by bin:
// the product of what comes before a number, times the product of what comes
// behind it. On both ways own[k] is the running product of bin k. At the end it
// is the product of all v of the bin, which is the partial with respect to the
// bin as it was.
static void adx_bins_products(adx_bins *s, const ad_rev v[],
                              const ptrdiff_t ix[], size_t n,
                              const ad_rev bin[])
{
    size_t m = s->e.values;
    size_t j = 0;
    for (size_t k = 0; k < m; k++)
        s->own[k] = bin[k].v;
    for (size_t i = 0; i < n; i++)
        if (adx_inside(ix[i], m)) {
            s->d[j++] = s->own[ix[i]];
            s->own[ix[i]] *= v[i].v;
        }
    for (size_t k = 0; k < m; k++)
        s->own[k] = 1;
    for (size_t i = n; i-- > 0;)
        if (adx_inside(ix[i], m)) {
            j--;
            s->d[j] = adx_absorb(s->d[j], s->own[ix[i]]);
            s->own[ix[i]] = adx_absorb(s->own[ix[i]], v[i].v);
        }
}

// Computes a histogram as elementary operations, for a hook.
static ad_status adx_histogram_traced(ad_opcode op, size_t n,
                                      const ptrdiff_t ix[], const ad_rev v[],
                                      size_t m, ad_rev bin[])
{
    const ad_allocator *memory = adx_bulk_allocator();
    ad_rev *y = (ad_rev *)adx_bulk_take(memory, m, sizeof *y);
    if (y == NULL)
        return adx_bulk_no_memory();
    memcpy(y, bin, m * sizeof *y);
    for (size_t i = 0; i < n; i++)
        if (adx_inside(ix[i], m))
            y[ix[i]] = adx_fold_traced(op, y[ix[i]], v[i]);
    memcpy(bin, y, m * sizeof *y);
    adx_drop(memory, y);
    return adx_now_status();
}

// Computes the values of the bins. A least or largest number is a copy and
// makes no statement.
static void adx_histogram_values(ad_opcode op, size_t n, const ptrdiff_t ix[],
                                 const ad_rev v[], size_t m, ad_rev bin[],
                                 const adx_bins *s)
{
    for (size_t i = 0; i < n; i++) {
        if (!adx_inside(ix[i], m))
            continue;
        ad_rev *y = &bin[ix[i]];
        if (op == ADREV_OP_add)
            y->v += v[i].v;
        else if (op == ADREV_OP_mul)
            y->v *= v[i].v;
        else if (adx_is_better(op, v[i].v, y->v))
            *y = v[i];
    }
    if (op == ADREV_OP_add || op == ADREV_OP_mul)
        for (size_t k = 0; k < m; k++)
            adx_set_result(&bin[k], bin[k].v, ADX_BASE(s), k);
}

// Computes and records the bins of a histogram.
static ad_status adx_fill_bins(ad_opcode op, size_t n, const ptrdiff_t ix[],
                               const ad_rev v[], size_t m, ad_rev bin[])
{
    ad_status status = adx_now_status();
    if (status != ADREV_OK || m == 0 || n == 0)
        return status;
    if (adx_now.trace)
        return adx_histogram_traced(op, n, ix, v, m, bin);
    bool product = op == ADREV_OP_mul;
    adx_bins *s = product || op == ADREV_OP_add
                ? adx_add_bins(product, n, ix, v, m, bin) : NULL;
    status = adx_now_status();
    if (status != ADREV_OK)
        return status;
    if (s != NULL && product)
        adx_bins_products(s, v, ix, n, bin);
    adx_histogram_values(op, n, ix, v, m, bin, s);
    return ADREV_OK;
}

ADX_API ad_status ad_histogram(ad_opcode op, size_t n, const ptrdiff_t ix[],
                               const ad_rev v[], size_t m, ad_rev bin[])
{
    if (!adx_is_fold(op) || adx_no_array(n, ix) || adx_no_array(n, v)
        || adx_no_array(m, bin))
        return adx_bulk_refuse(m, 1, bin);
    return adx_results_or_nan(adx_fill_bins(op, n, ix, v, m, bin), m, 1, bin);
}
