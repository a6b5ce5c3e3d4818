#pragma once

/* === tensor/run =============================================================
 * Evaluates programs: the values that are needed, one after the other, by loops
 * over the sets of their terms. The innermost loop is a kernel over numbers
 * that are evenly spaced. Sums are made in an order that depends on the sizes
 * alone: a part adds in the order of its loops, and sums of parts are added in
 * that of the parts.
 *
 *   needs   tape/memory core/cells tensor/api tensor/nests tensor/binding
 *           tensor/programs tensor/sharing tensor/parts tensor/matrices
 *           tensor/gathers tensor/storage
 *   offers  adx_evaluating adx_clear_all adx_one adx_clears_all adx_run_value
 *           adx_run_coded
 * ========================================================================== */

/* --- an evaluation ------------------------------------------------------- */

// An evaluation: what holds for all of it; then the value, term and loop that
// it has come to; then the part of that value, if threads share it. A part has
// a copy of its own, which differs in the last group and in where x points.
typedef struct adx_evaluating {
    ad_tensor *t;
    ad_real **base;             // [value] number at its least indices; NULL:
                                // it is not there, or all 0
    bool *needed;               // [value]
    int64_t *x;                 // [variables of a set] the point of the loops
    adx_workspace *lists;       // memory of all of these but the numbers of
    adx_workspace *numbers;     // values, and of those
    bool *picked;               // of one value that is a most
    const adx_tensor_code *code;    // machine code; NULL: loops run here

    const adx_tensor_value *value;
    const adx_tensor_term *term;
    const adx_loop *loop;       // of the term
    ad_real *out;               // numbers of the value,
    const ad_real *factor[3];   // and of those that the term multiplies

    bool shares;                // parts, with other threads
    const adx_value_cut *cut;   // how parts are made; NULL: this is the whole
    uint32_t index;             // of the part
    int64_t lo, hi;             // its results, or its points: lo <= i < hi
    adx_part_memory part;       // what its loops write to
    ad_real *sums;              // of parts that add to the same numbers
} adx_evaluating;

// Whether a term is a product with something that is all 0.
static bool adx_is_nothing(const adx_evaluating *e, const adx_tensor_term *term)
{
    for (uint32_t f = 0; f < term->factors; f++)
        if (e->base[term->factor[f].value] == NULL)
            return true;
    return false;
}

// Numbers whose index is lo <= i < hi in one dimension.
typedef struct adx_result_range {
    const adx_tensor_value *value;
    uint32_t dim;
    int64_t lo, hi;
    ad_real with;               // what they become
} adx_result_range;

// Returns the number with which a value begins, to which terms are added, or
// with which they are compared.
static ad_real adx_begin_with(const adx_tensor_value *v)
{
    return v->kind != ADX_VALUE_MOST ? 0
         : v->op == ADREV_OP_min ? ADX_K(INFINITY) : -ADX_K(INFINITY);
}

// Gives the numbers of a range their first value, from dimension `dim` on.
static void adx_clear_results_from(const adx_result_range *r, uint32_t dim,
                                   ad_real *to)
{
    const adx_tensor_value *v = r->value;
    if (dim == v->dims) {
        *to = r->with;
        return;
    }
    int64_t lo = dim == r->dim ? r->lo - v->low[dim] : 0;
    int64_t hi = dim == r->dim ? r->hi - v->low[dim] : v->extent[dim];
    if (dim + 1 == v->dims && v->stride[dim] == 1 && r->with == 0) {
        memset(to + lo, 0, (size_t)(hi - lo) * sizeof *to);
        return;
    }
    for (int64_t i = lo; i < hi; i++)
        adx_clear_results_from(r, dim + 1, to + i * v->stride[dim]);
}

// Makes all numbers of a value 0.
static void adx_clear_all(const adx_tensor_value *v, ad_real *to)
{
    const adx_result_range all = { v, UINT32_MAX, 0, 0, 0 };
    adx_clear_results_from(&all, 0, to);
}

// Makes the numbers 0 that a strip adds to.
static bool adx_clear_points(void *user, const int64_t x[], uint32_t var,
                             int64_t count)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    ad_real *to = e->out + adx_sparse_at(&e->loop->out.place, x);
    int64_t stride = var == UINT32_MAX ? 0 : e->loop->out.stride;
    for (int64_t i = 0; i < (stride == 0 ? 1 : count); i++)
        to[i * stride] = 0;
    return true;
}

/* --- kernels ----------------------------------------------------------------
 * Products of two numbers along the innermost loop; 1 where there are fewer.
 * Distances of 0 and 1 are constants of the loops, so that they become vectors.
 * (A product of matrices by these loops, n = 256, gcc: 0.28.)                */

// Returns a*b + sum, in one rounding or in two.
ADX_INLINE ad_real adx_sum_with(bool fused, ad_real a, ad_real b, ad_real sum)
{
    return fused ? adm_fma(a, b, sum) : adx_tensor_more(sum, a * b);
}

// Returns a factor where the other one is `by`: a product of the chain rule is
// 0 where one of them is. Both choose between numbers that are there, so that
// loops become vectors.
ADX_INLINE ad_real adx_beside(bool absorbs, ad_real factor, ad_real by)
{
    return absorbs && by == 0 ? 0 : factor;
}

// Returns k*a*b + sum.
ADX_INLINE ad_real adx_product_with(bool fused, bool absorbs, ad_real k,
                                    ad_real a, ad_real b, ad_real sum)
{
    return adx_sum_with(fused, k * adx_beside(absorbs, a, b),
                        adx_beside(absorbs, b, a), sum);
}

// Returns a sum of products that is made in eight parts, as those of adrev's
// array statements are.
ADX_INLINE ad_real adx_add_products_by(bool fused, bool absorbs, int64_t n,
                                       const ad_real *restrict a, int64_t as,
                                       const ad_real *restrict b, int64_t bs)
{
    ad_real sum[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int64_t j = 0; j < 8; j++)
            sum[j] = adx_product_with(fused, absorbs, 1, a[(i + j) * as],
                                      b[(i + j) * bs], sum[j]);
    for (; i < n; i++)
        sum[0] = adx_product_with(fused, absorbs, 1, a[i * as], b[i * bs],
                                  sum[0]);
    return ((sum[0] + sum[4]) + (sum[1] + sum[5]))
         + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

// Returns a sum of n products. Steps of 0 and 1 have loops of their own.
ADX_INLINE ad_real adx_add_products(bool fused, int64_t n, const ad_real *a,
                                    int64_t as, const ad_real *b, int64_t bs)
{
    return as == 1 && bs == 1 ? adx_add_products_by(fused, false, n, a, 1, b, 1)
         : as == 1 && bs == 0 ? adx_add_products_by(fused, false, n, a, 1, b, 0)
         : as == 1 ? adx_add_products_by(fused, false, n, a, 1, b, bs)
         : bs == 1 ? adx_add_products_by(fused, false, n, a, as, b, 1)
         : adx_add_products_by(fused, false, n, a, as, b, bs);
}

// Returns the same where a factor that is 0 absorbs the other.
ADX_INLINE ad_real adx_add_chains(bool fused, int64_t n, const ad_real *a,
                                  int64_t as, const ad_real *b, int64_t bs)
{
    return as == 1 && bs == 1 ? adx_add_products_by(fused, true, n, a, 1, b, 1)
         : adx_add_products_by(fused, true, n, a, as, b, bs);
}

// What a kernel runs along: to[i*stride] = k * a[i*as] * b[i*bs], or += that,
// for 0 <= i < n. Distances are in numbers; 0: it is one number, as `to` of a
// dot.
typedef struct adx_tensor_strip {
    int64_t n;
    ad_real k;
    bool absorbs;               // a and b are factors of the chain rule: a zero
                                // absorbs the other
    ad_real *to;
    int64_t stride;
    const ad_real *a;
    int64_t as;
    const ad_real *b;
    int64_t bs;
} adx_tensor_strip;

// Does a strip that adds to one number.
static void adx_run_dot(const adx_tensor_strip *s, bool fused)
{
    ad_real sum =
        s->absorbs
        ? fused ? adx_add_chains(true, s->n, s->a, s->as, s->b, s->bs)
                : adx_add_chains(false, s->n, s->a, s->as, s->b, s->bs)
        : fused ? adx_add_products(true, s->n, s->a, s->as, s->b, s->bs)
                : adx_add_products(false, s->n, s->a, s->as, s->b, s->bs);
    *s->to = adx_sum_with(fused, s->k, sum, *s->to);
}

typedef enum adx_strip_way { ADX_STRIP_STORE, ADX_STRIP_ADD, ADX_STRIP_FUSE }
    adx_strip_way;

// Does to = k*a*b along a strip, or += that.
ADX_INLINE void adx_strip_by(const adx_tensor_strip *s, adx_strip_way way,
                             bool absorbs, int64_t stride, int64_t as,
                             int64_t bs)
{
    ad_real *restrict to = s->to;
    const ad_real *restrict a = s->a;
    const ad_real *restrict b = s->b;
    const ad_real k = s->k;
    const int64_t n = s->n;
    if (way == ADX_STRIP_STORE)
        for (int64_t i = 0; i < n; i++)
            to[i * stride] = k * adx_beside(absorbs, a[i * as], b[i * bs])
                           * adx_beside(absorbs, b[i * bs], a[i * as]);
    else
        for (int64_t i = 0; i < n; i++)
            to[i * stride] = adx_product_with(way == ADX_STRIP_FUSE, absorbs, k,
                                              a[i * as], b[i * bs],
                                              to[i * stride]);
}

// Does a strip of the chain rule, which mostly has two arrays, or an array and
// a number.
ADX_INLINE void adx_run_chain_as(const adx_tensor_strip *s, adx_strip_way way)
{
    bool next = s->stride == 1 && s->as == 1 && s->n > 1;
    if (next && s->bs == 1)
        adx_strip_by(s, way, true, 1, 1, 1);
    else if (next && s->bs == 0)
        adx_strip_by(s, way, true, 1, 1, 0);
    else
        adx_strip_by(s, way, true, s->stride, s->as, s->bs);
}

// Does a strip, by the loop for its strides. Those of 0 and 1 are constants
// there, so that compilers make vectors.
ADX_INLINE void adx_run_strip_as(const adx_tensor_strip *s, adx_strip_way way)
{
    bool next = s->stride == 1 && s->n > 1;
    if (s->absorbs)
        adx_run_chain_as(s, way);
    else if (next && s->as == 1 && s->bs == 1)
        adx_strip_by(s, way, false, 1, 1, 1);
    else if (next && s->as == 1 && s->bs == 0)
        adx_strip_by(s, way, false, 1, 1, 0);
    else if (next && s->as == 0 && s->bs == 1)
        adx_strip_by(s, way, false, 1, 0, 1);
    else if (next && s->as == 0 && s->bs == 0)
        adx_strip_by(s, way, false, 1, 0, 0);
    else if (s->stride == 0 && s->n > 1)
        adx_strip_by(s, way, false, 0, s->as, s->bs);
    else
        adx_strip_by(s, way, false, s->stride, s->as, s->bs);
}

// Does a strip that stores, adds, or adds fused.
static void adx_run_strip(const adx_tensor_strip *s, bool store, bool fused)
{
    if (store)
        adx_run_strip_as(s, ADX_STRIP_STORE);
    else if (fused)
        adx_run_strip_as(s, ADX_STRIP_FUSE);
    else
        adx_run_strip_as(s, ADX_STRIP_ADD);
}

static const ad_real adx_one[1] = { 1 };

// The numbers that are read along a strip. If there are fewer factors, the rest
// are 1.
typedef struct adx_reads {
    const ad_real *from[3];
    int64_t stride[3];
} adx_reads;

static const adx_reads adx_no_reads = {
    { adx_one, adx_one, adx_one }, { 0, 0, 0 }
};

// Returns where a term reads at the point x, and how far on along the strip.
ADX_INLINE adx_reads adx_reads_at(const adx_evaluating *e, const int64_t x[],
                                  bool loop)
{
    const adx_loop *l = e->loop;
    adx_reads r = adx_no_reads;
    for (uint32_t f = 0; f < e->term->factors; f++) {
        r.from[f] = e->factor[f] + adx_sparse_at(&l->factor[f].place, x);
        r.stride[f] = loop ? l->factor[f].stride : 0;
    }
    return r;
}

// Adds along a strip; `loop`: of the nest's innermost loop, which forms sums of
// its own.
ADX_INLINE void adx_add_strip(const adx_evaluating *e, const adx_reads *r,
                              ad_real *to, int64_t stride, int64_t n, bool loop)
{
    const adx_tensor_strip s = { n, e->term->k, e->term->absorbs, to, stride,
                                 r->from[0], r->stride[0], r->from[1],
                                 r->stride[1] };
    if (loop && s.stride == 0 && !e->value->once)
        adx_run_dot(&s, e->t->options.fused);
    else
        adx_run_strip(&s, e->value->once, e->t->options.fused);
}

// Returns the derivative of a partial by argument `by`: a dual number's way
// through the text of the partial, which depends on the argument, and on the
// result, which depends on it as well.
static ad_real adx_operation_second(const adx_tensor_value *of,
                                    const ad_real x[3], ad_real v)
{
    const adx_tensor_second *s = of->second;
    const ad_real value[] = { x[0], x[1], x[2], v };
    ad_real dot[] = { 0, 0, 0, 0 };
    dot[s->by] = 1;
    dot[3] = adx_partial_at(of->op, s->by, x[0], x[1], x[2], v);
    return adx_cell_tangent(&s->cell, s->moving, value, dot);
}

// Computes a function, or a partial of it, from its arguments.
static ad_real adx_operation_of_values(const adx_tensor_value *of,
                                       const ad_real x[3])
{
    ad_real v = adx_compute(of->op, x[0], x[1], x[2]);
    return of->kind == ADX_VALUE_SECOND ? adx_operation_second(of, x, v)
         : of->kind == ADX_VALUE_PARTIAL
         ? adx_partial_at(of->op, of->which, x[0], x[1], x[2], v) : v;
}

// Computes an application along a strip.
static void adx_application_strip(const adx_evaluating *e, const adx_reads *r,
                                  ad_real *to, int64_t stride, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const ad_real a[] = { r->from[0][i * r->stride[0]],
                              r->from[1][i * r->stride[1]],
                              r->from[2][i * r->stride[2]] };
        to[i * stride] = adx_operation_of_values(e->value, a);
    }
}

// Computes a sum, or an application, along a strip.
ADX_INLINE void adx_run_value_strip(const adx_evaluating *e, const adx_reads *r,
                                    ad_real *to, int64_t stride, int64_t n,
                                    bool loop)
{
    if (e->value->kind == ADX_VALUE_SUM)
        adx_add_strip(e, r, to, stride, n, loop);
    else
        adx_application_strip(e, r, to, stride, n);
}

// Does a strip of a sum or of an application.
static bool adx_run_along(void *user, const int64_t x[], uint32_t var,
                          int64_t n)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    const adx_stream_of *out = &e->loop->out;
    bool loop = var != UINT32_MAX;
    const adx_reads r = adx_reads_at(e, x, loop);
    adx_run_value_strip(e, &r, e->out + adx_sparse_at(&out->place, x),
                        loop ? out->stride : 0, n, loop);
    return true;
}

// Does a strip of a maximum or minimum: the largest number, or the least; NaN
// where there is one.
static bool adx_run_most(void *user, const int64_t x[], uint32_t var,
                         int64_t n)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    const adx_loop *l = e->loop;
    bool loop = var != UINT32_MAX;
    bool least = e->value->op == ADREV_OP_min;
    ad_real *out = e->out + adx_sparse_at(&l->out.place, x);
    const ad_real *a = e->factor[0] + adx_sparse_at(&l->factor[0].place, x);
    for (int64_t i = 0; i < n; i++) {
        ad_real v = a[loop ? i * l->factor[0].stride : 0];
        ad_real *to = &out[loop ? i * l->out.stride : 0];
        if (v != v || (least ? v < *to : v > *to))
            *to = v;
    }
    return true;
}

// Does a strip of a term that adds only at picked points: at the first one
// whose number is the extreme.
static bool adx_run_pick(void *user, const int64_t x[], uint32_t var, int64_t n)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    const adx_loop *l = e->loop;
    const adx_tensor_value *most = adx_tensor_value_at(e->t, e->term->most);
    bool loop = var != UINT32_MAX;
    int64_t at = adx_sparse_at(&l->at.place, x);
    const ad_real *picked = e->base[e->term->picked.value]
                          + adx_sparse_at(&l->picked.place, x);
    ad_real *out = e->out + adx_sparse_at(&l->out.place, x);
    const ad_real *from = e->factor[0]
                        + adx_sparse_at(&l->factor[0].place, x);
    for (int64_t i = 0; i < n; i++) {
        int64_t j = at + (loop ? i * l->at.stride : 0);
        bool *done = &e->picked[j + most->first];
        if (*done || picked[loop ? i * l->picked.stride : 0]
                     != e->base[e->term->most][j])
            continue;
        *done = true;
        ad_real *to = &out[loop ? i * l->out.stride : 0];
        *to = adx_sum_with(e->t->options.fused, e->term->k,
                           from[loop ? i * l->factor[0].stride : 0], *to);
    }
    return true;
}

/* --- strips with maps (tensor/gathers) ------------------------------------ */

// Adds products, or stores them, one after the other.
ADX_INLINE void adx_scatter_by(const adx_tensor_strip *s, const int64_t at[],
                               adx_strip_way way)
{
    for (int64_t i = 0; i < s->n; i++) {
        ad_real *to = &s->to[at[i]];
        ad_real a = s->k * adx_beside(s->absorbs, s->a[i * s->as],
                                      s->b[i * s->bs]);
        ad_real b = adx_beside(s->absorbs, s->b[i * s->bs], s->a[i * s->as]);
        *to = way == ADX_STRIP_STORE ? a * b
            : adx_sum_with(way == ADX_STRIP_FUSE, a, b, *to);
    }
}

// Adds products to numbers at these places.
static void adx_scatter_sums(const adx_evaluating *e, const adx_reads *r,
                             const int64_t at[], int64_t n)
{
    const adx_tensor_strip s = { n, e->term->k, e->term->absorbs, e->out, 0,
                                 r->from[0], r->stride[0], r->from[1],
                                 r->stride[1] };
    if (e->value->once)
        adx_scatter_by(&s, at, ADX_STRIP_STORE);
    else if (e->t->options.fused)
        adx_scatter_by(&s, at, ADX_STRIP_FUSE);
    else
        adx_scatter_by(&s, at, ADX_STRIP_ADD);
}

// Stores the numbers of an application at these places.
static void adx_scatter_applications(const adx_evaluating *e,
                                     const adx_reads *r, const int64_t at[],
                                     int64_t n)
{
    ad_real value[ADX_GATHER_MOST];
    adx_application_strip(e, r, value, 1, n);
    for (int64_t i = 0; i < n; i++)
        e->out[at[i]] = value[i];
}

// Does points along maps that stand alone.
static void adx_gather_points(const adx_evaluating *e, const adx_gathering *s)
{
    const adx_gather_form *out = &s->g->out;
    adx_reads r = adx_no_reads;
    ad_real room[3][ADX_GATHER_MOST];
    int64_t at[ADX_GATHER_MOST];
    for (uint32_t f = 0; f < e->term->factors; f++)
        r.from[f] = adx_gather_numbers(s, &s->g->factor[f], e->factor[f],
                                       room[f], &r.stride[f]);
    if (adx_has_even_places(s, out)) {
        adx_run_value_strip(e, &r, e->out + adx_first_place(s, out),
                            out->stride, s->n, false);
        return;
    }
    adx_gather_places(s, out, at);
    if (e->value->kind == ADX_VALUE_SUM)
        adx_scatter_sums(e, &r, at, s->n);
    else
        adx_scatter_applications(e, &r, at, s->n);
}

// Does the range at each point along maps.
static void adx_gather_ranges(const adx_evaluating *e, const adx_gathering *s)
{
    const adx_loop *l = e->loop;
    int64_t low = s->g->inner->low;
    int64_t n = s->g->inner->high - low + 1;
    adx_reads r = adx_no_reads;
    int64_t at[3][ADX_GATHER_MOST];
    int64_t to[ADX_GATHER_MOST];
    adx_gather_places(s, &s->g->out, to);
    for (uint32_t f = 0; f < e->term->factors; f++) {
        adx_gather_places(s, &s->g->factor[f], at[f]);
        r.stride[f] = l->factor[f].stride;
    }
    for (int64_t i = 0; i < s->n; i++) {
        for (uint32_t f = 0; f < e->term->factors; f++)
            r.from[f] = e->factor[f] + at[f][i] + low * r.stride[f];
        adx_run_value_strip(e, &r, e->out + to[i] + low * l->out.stride,
                            l->out.stride, n, true);
    }
}

// Does a strip along maps, some points at a time.
static void adx_run_gathering(const adx_evaluating *e, adx_gathering *s,
                              int64_t n)
{
    for (; n > 0; n -= s->n) {
        s->n = n < ADX_GATHER_MOST ? n : ADX_GATHER_MOST;
        adx_ask_maps(s);
        if (s->g->inner != NULL)
            adx_gather_ranges(e, s);
        else
            adx_gather_points(e, s);
        s->first += s->n;
        if (s->list != NULL)
            s->list += s->n * s->every;
    }
}

// Does a strip along maps, from its first point on.
static bool adx_run_gathers(void *user, const int64_t x[], uint32_t var,
                            int64_t n)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    adx_gathering s;
    s.g = e->loop->gathers;
    s.x = x;
    s.first = x[var];
    s.list = NULL;
    s.every = 0;
    adx_run_gathering(e, &s, n);
    return true;
}

// Runs a part whose points are listed. The list has the values of the first
// variables of the nest.
static void adx_run_listed(const adx_evaluating *e, const adx_part_list *l)
{
    adx_gathering s;
    s.g = e->loop->gathers;
    s.x = e->x;
    s.first = 0;
    s.list = l->x + l->start[e->index] * l->levels;
    s.every = l->levels;
    adx_run_gathering(e, &s, (int64_t)(l->start[e->index + 1]
                                       - l->start[e->index]));
}

// Whether the innermost loops of a term, or of this part of it, are strips with
// maps, for which a kernel can be used. That is so if no part cuts the levels
// behind the strip, and if a list has all points of a strip.
static bool adx_has_gathers(const adx_evaluating *e,
                            const adx_tensor_term *term)
{
    const adx_gathers *g = term->loop->gathers;
    const adx_term_cut *c = e->cut == NULL ? NULL
                          : &e->cut->term[term - e->value->term];
    return g != NULL
        && (c == NULL || (c->list != NULL ? g->level == 0
                          : c->form.n == 0 || c->last <= g->level));
}

/* --- terms ---------------------------------------------------------------- */

// Visits the strips of a term, or those of the part that is being run.
static void adx_walk_term(adx_evaluating *e, const adx_tensor_term *term,
                          adx_point_fn *visit)
{
    bool gathers = visit == adx_run_gathers;
    adx_nest nest = *term->loop->nest;
    e->term = term;
    e->loop = term->loop;
    for (uint32_t f = 0; f < term->factors; f++)
        e->factor[f] = e->base[term->factor[f].value];
    if (e->cut != NULL) {
        const adx_term_cut *c = &e->cut->term[term - e->value->term];
        const adx_nest_walk w = { &nest, visit, e, e->x };
        if (c->list != NULL && gathers)
            adx_run_listed(e, c->list);
        else if (c->list != NULL)
            adx_walk_list(c->list, e->index, &w);
        if (c->list != NULL)
            return;
        nest = adx_nest_of_part(&nest, c, e->lo, e->hi, &e->part);
    }
    if (gathers)
        nest.levels = term->loop->gathers->level + 1;
    adx_walk_nest(&nest, e->x, visit, e);
}

// Clears what a part of a value must clear: everything, if the value has no
// parts.
static void adx_clear_part(const adx_evaluating *e)
{
    adx_result_range r = { e->value, UINT32_MAX, 0, 0,
                           adx_begin_with(e->value) };
    if (e->cut != NULL) {
        r.dim = e->cut->dim;
        r.lo = e->lo;
        r.hi = e->hi;
    }
    adx_clear_results_from(&r, 0, e->out);
}

// Whether all numbers of a value are made 0 first, not only those that are
// written.
static bool adx_clears_all(const adx_tensor_value *v)
{
    uint64_t points = 0;
    for (uint32_t j = 0; j < v->terms; j++)
        points = v->term[j].loop->points > v->size ? v->size
               : points + v->term[j].loop->points;
    return v->cleared || v->kind == ADX_VALUE_MOST
        || (!v->once && (v->full || points >= v->size / 4));
}

// Makes 0, or what a most begins with, what is added to, or what is read
// without having been written.
static void adx_clear_value(adx_evaluating *e)
{
    const adx_tensor_value *v = e->value;
    bool lacks = false;         // what is not added is still read
    for (uint32_t j = 0; j < v->terms; j++)
        lacks = lacks || adx_is_nothing(e, &v->term[j]);
    if (lacks || adx_clears_all(v))
        adx_clear_part(e);
    else if (!v->once)
        for (uint32_t j = 0; j < v->terms; j++)
            adx_walk_term(e, &v->term[j], adx_clear_points);
}

// Makes the extremes along a strip be not picked yet.
static bool adx_forget_picks_at(void *user, const int64_t x[], uint32_t var,
                                int64_t n)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    const adx_tensor_value *most = adx_tensor_value_at(e->t, e->term->most);
    bool *done = e->picked + adx_sparse_at(&e->loop->at.place, x) + most->first;
    int64_t stride = var == UINT32_MAX ? 0 : e->loop->at.stride;
    for (int64_t i = 0; i < n; i++)
        done[i * stride] = false;
    return true;
}

// Runs a term as products of matrices. False: the loops of its nest do it.
static bool adx_run_as_matrices(const adx_evaluating *e,
                                const adx_tensor_term *term)
{
    const adx_matrices *m = term->loop->matrices;
    adx_matrix_part part;
    if (m == NULL)
        return false;
    if (e->cut != NULL)
        part = adx_matrix_part_of(m, &e->cut->term[term - e->value->term].form,
                                  e->lo, e->hi);
    return adx_run_matrices(e->t, m, e->cut == NULL ? NULL : &part, e->out,
                            e->base[term->factor[0].value],
                            e->base[term->factor[1].value]);
}

// Makes the numbers of an extreme be not picked yet. A part forgets those of
// its own, of all terms from `term` on that pick from the same value.
static void adx_forget_picks(adx_evaluating *e, uint32_t term)
{
    const adx_tensor_value *v = e->value;
    uint32_t most = v->term[term].most;
    if (e->cut == NULL)
        memset(e->picked, 0, (size_t)adx_tensor_value_at(e->t, most)->span
                             * sizeof *e->picked);
    else
        for (uint32_t j = term; j < v->terms && v->term[j].most == most; j++)
            adx_walk_term(e, &v->term[j], adx_forget_picks_at);
}

// Adds a term, by the way of doing strips that it needs.
static void adx_run_term(adx_evaluating *e, const adx_tensor_term *term)
{
    adx_walk_term(e, term, adx_has_gathers(e, term) ? adx_run_gathers
                  : term->most != 0 ? adx_run_pick
                  : e->value->kind == ADX_VALUE_MOST ? adx_run_most
                                                     : adx_run_along);
}

// Adds the terms of a value, or of a part of it.
static void adx_run_terms(adx_evaluating *e)
{
    const adx_tensor_value *v = e->value;
    uint32_t picking = 0;
    for (uint32_t j = 0; j < v->terms; j++) {
        const adx_tensor_term *term = &v->term[j];
        if (adx_is_nothing(e, term) || adx_run_as_matrices(e, term))
            continue;
        if (term->most != 0 && term->most != picking)
            adx_forget_picks(e, j);
        picking = term->most;
        adx_run_term(e, term);
    }
}

/* --- parts ---------------------------------------------------------------- */

// Returns the evaluation of a part: i is that of its memory.
static adx_evaluating adx_part_of_value(const adx_evaluating *e, uint32_t i,
                                        int64_t lo, int64_t hi)
{
    const adx_tensor_program *p = e->t->program;
    adx_evaluating part = *e;
    part.cut = e->value->cut;
    part.index = i;
    part.lo = lo;
    part.hi = hi;
    part.x += (size_t)i * p->vars;
    part.part.level += (size_t)i * p->vars;
    part.part.bound += (size_t)i * (p->bounds + 2);
    return part;
}

// Computes the part lo <= i < hi of a value: of its results, or of its points.
static void adx_run_part(const adx_evaluating *e, uint32_t memory, int64_t lo,
                         int64_t hi)
{
    adx_evaluating part = adx_part_of_value(e, memory, lo, hi);
    if (part.cut->kind == ADX_CUT_RESULTS)
        adx_clear_value(&part);
    adx_run_terms(&part);
}

// Runs part i of the value: a task of the pool.
static void adx_run_part_at(size_t i, void *user)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    const adx_value_cut *c = e->value->cut;
    adx_run_part(e, (uint32_t)i,
                 adx_part_from(c->from, c->to, (uint32_t)i, c->parts),
                 adx_part_from(c->from, c->to, (uint32_t)i + 1, c->parts));
}

// Adds the numbers of one part to the value, from dimension `dim` on.
static void adx_add_sums(const adx_tensor_value *v, uint32_t dim,
                         const ad_real *from, ad_real *to)
{
    if (dim == v->dims)
        *to += *from;
    else
        for (int64_t i = 0; i < v->extent[dim]; i++)
            adx_add_sums(v, dim + 1, from + i * v->stride[dim],
                         to + i * v->stride[dim]);
}

// The sums of part i, in `to`.
static void adx_sum_part(const adx_evaluating *e, uint32_t i, uint32_t memory,
                         ad_real *to)
{
    const adx_value_cut *c = e->value->cut;
    uint32_t j = 0;
    uint32_t k = i;
    while (k >= c->term[j].parts)
        k -= c->term[j++].parts;
    const adx_term_cut *of = &c->term[j];
    adx_evaluating part =
        adx_part_of_value(e, memory,
                          adx_part_from(of->from, of->to, k, of->parts),
                          adx_part_from(of->from, of->to, k + 1, of->parts));
    part.out = to + e->value->first;
    memset(to, 0, (size_t)e->value->span * sizeof *to);
    const adx_tensor_term *term = &e->value->term[j];
    if (!adx_is_nothing(e, term) && !adx_run_as_matrices(&part, term))
        adx_run_term(&part, term);
}

// Runs part i of a sum into sums of its own: a task of the pool.
static void adx_sum_part_at(size_t i, void *user)
{
    const adx_evaluating *e = (const adx_evaluating *)user;
    adx_sum_part(e, (uint32_t)i, (uint32_t)i,
                 e->sums + i * (size_t)e->value->span);
}

// Computes sums of the parts, and of these the sum.
static void adx_run_sums(adx_evaluating *e)
{
    const adx_tensor_value *v = e->value;
    adx_clear_all(v, e->out);
    if (e->shares)
        adx_do_parts(v->cut->parts, adx_sum_part_at, e);
    for (uint32_t i = 0; i < v->cut->parts; i++) {
        ad_real *sums = e->sums + (e->shares ? i * (size_t)v->span : 0);
        if (!e->shares)
            adx_sum_part(e, i, 0, sums);
        adx_add_sums(v, 0, sums + v->first, e->out);
    }
}

// Computes a value, in parts where it is cut.
static void adx_run_value(adx_evaluating *e, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(e->t, value);
    e->value = v;
    e->out = e->base[value];
    if (v->size == 0)
        return;
    bool sums = v->cut != NULL && v->cut->kind == ADX_CUT_SUMS;
    bool parts = v->cut != NULL && e->shares;
    uint32_t lacking = 0;
    for (uint32_t j = 0; j < v->terms; j++)
        lacking += adx_is_nothing(e, &v->term[j]);
    if (!sums && (!parts || v->cut->kind == ADX_CUT_POINTS))
        adx_clear_value(e);
    if (sums)
        adx_run_sums(e);
    else if (parts)
        adx_do_parts(v->cut->parts, adx_run_part_at, e);
    else
        adx_run_terms(e);
    if (lacking > 0 && lacking == v->terms)     // times infinity it is 0, too
        e->base[value] = NULL;
}

/* --- machine code -----------------------------------------------------------
 * Steps of ad_tensor_compile, in parts where threads share them.            */

typedef struct adx_coded_step {
    const adx_evaluating *e;
    const adx_tensor_value *value;
    adx_tensor_step_fn *fn;
    const adx_step_cut *cut;
} adx_coded_step;

// Calls the function of a step; `which` is the part, or -1 for all of them.
static void adx_call_coded(const adx_coded_step *s, ad_real *sums,
                           int64_t which, int64_t lo, int64_t hi)
{
    const adx_evaluating *e = s->e;
    s->fn(e->base, e->code->table, (const unsigned char *)e->needed,
          (unsigned char *)e->picked, sums, (long)which, (long)lo, (long)hi);
}

// Runs part i of a step: a range of its loop.
static void adx_call_coded_part(size_t i, void *user)
{
    const adx_coded_step *s = (const adx_coded_step *)user;
    const adx_step_cut *c = s->cut;
    uint32_t part = (uint32_t)i;
    adx_call_coded(s, s->e->sums, part,
                  adx_part_from(c->from, c->to, part, c->parts),
                  adx_part_from(c->from, c->to, part + 1, c->parts));
}

// Runs part i of a step that is a sum, into sums of its own.
static void adx_call_coded_sum(size_t i, void *user)
{
    const adx_coded_step *s = (const adx_coded_step *)user;
    adx_call_coded(s, s->e->sums + i * (size_t)s->value->span, (int64_t)i,
                   0, 0);
}

// Computes sums of the parts, and of these the sum, as adx_run_sums does.
static void adx_call_coded_sums(adx_coded_step *s, ad_real *to)
{
    const adx_tensor_value *v = s->value;
    adx_clear_all(v, to);
    if (s->e->shares)
        adx_do_parts(s->cut->parts, adx_call_coded_sum, s);
    for (uint32_t i = 0; i < s->cut->parts; i++) {
        ad_real *sums = s->e->sums + (s->e->shares ? i * (size_t)v->span : 0);
        if (!s->e->shares)
            adx_call_coded(s, sums, i, 0, 0);
        adx_add_sums(v, 0, sums + v->first, to);
    }
}

// Runs a step's function, in parts if threads can share them.
static void adx_run_coded(const adx_evaluating *e, ad_tensor_part part,
                          uint32_t value)
{
    adx_coded_step s = { e, adx_tensor_value_at(e->t, value),
                         e->code->step[part][value],
                         &e->code->cut[part][value] };
    if (s.cut->clears)
        adx_clear_all(s.value, e->base[value]);
    if (s.cut->way == ADX_STEP_SUMS)
        adx_call_coded_sums(&s, e->base[value]);
    else if (s.cut->way != ADX_STEP_WHOLE && adx_shares_parts())
        adx_do_parts(s.cut->parts, adx_call_coded_part, &s);
    else
        adx_call_coded(&s, e->sums, -1, s.cut->from, s.cut->to);
}
