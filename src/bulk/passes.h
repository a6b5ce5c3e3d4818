#pragma once

/* === bulk/passes =============================================================
 * Operators that are given by a function of rows: their operands; the chunk
 * tapes, on each of which one chunk is recorded; and the passes. A pass goes
 * through all chunks and does one thing with each: it computes values, pulls
 * adjoints back, or pushes tangents forward.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/hooks
 *           sweep/session array/operands array/linear parallel/api
 *           parallel/pool function/api bulk/api bulk/captured
 *   offers  adx_strip ADX_BULK_MAP ADX_BULK_REDUCE ADX_BULK_PREFIX adx_bulk
 *           adx_strip_of adx_part_count adx_extent_of adx_place_source
 *           adx_list_operands ADX_SHAPE_map ADX_SHAPE_fold ADX_SHAPE_prefix
 *           ADX_DUTY_values ADX_DUTY_pull ADX_DUTY_push adx_chunk_tape
 *           adx_pass adx_apply_op adx_run_chunk adx_operand_of adx_open_pass
 *           adx_close_pass adx_do_pass
 * ========================================================================== */

/* --- operands of functions ----------------------------------------------- */

// An argument of the function: where the numbers of each element are. The
// numbers of element i begin at i*stride.
typedef struct adx_strip {
    _Alignas(8)                 // numbers stand behind several
    const ad_real *v;           // in the caller's array; NULL: in the values
                                // that the statement kept, from `at` on
    ptrdiff_t unit;             // distance from number to number, in ad_real
    ptrdiff_t stride;           // distance from element to element
    size_t size;                // numbers of an element
    size_t at;                  // index of the operand that is the first number
                                // of element 0
    ptrdiff_t next;             // from this index to that of element 1
    bool shared;                // all elements have the same numbers (stride 0)
} adx_strip;

typedef enum adx_outcome_kind {
    ADX_BULK_MAP,               // the results of f
    ADX_BULK_REDUCE,            // the reduction of these by op
    ADX_BULK_PREFIX             // their prefixes by op
} adx_outcome_kind;

// A bulk operator. In a statement on the tape, the arrays that its pointers
// name lie behind it (adx_open_bulk).
typedef struct adx_bulk {
    _Alignas(8) adx_outcome_kind kind;  // numbers stand behind it on the tape
    ad_vector_fn *f;            // NULL: elements are taken as they are
    ad_vector_fn *op;           // NULL: sums
    void *ctx;
    size_t n;
    size_t d;                   // results of f
    size_t width;               // numbers that belong to one element alone
    size_t shared;              // numbers that all elements share
    size_t sources;             // arguments
    size_t operands;            // numbers of the arguments; captured numbers
                                // follow them
    size_t radix;               // rows that op combines into one part
    size_t chunk;               // elements of f that are recorded together
    size_t kept;                // numbers in the levels (bulk/reductions)
    ad_allocator memory;
    bool sealed;                // on the tape: nothing changes any more
    struct ad_fn *fn;           // f, recorded; or NULL
    const char *why;            // f failed, if it said so (ad_fail)
    adx_strip *source;
    adx_captured captured;
    ad_real *v;                 // [operands] values
    ad_real *part;              // [kept] the levels
} adx_bulk;

// Returns where the numbers of element i of an argument are.
static const ad_real *adx_strip_of(const adx_bulk *b, const adx_strip *s,
                                   size_t i)
{
    return (s->v == NULL ? b->v + s->at : s->v) + (ptrdiff_t)i * s->stride;
}

// How many parts of `size` elements n elements make, the last part perhaps
// shorter.
static size_t adx_part_count(size_t n, size_t size)
{
    return (n + size - 1) / size;
}

// How many operands an argument has. A number that lies in several overlapping
// windows is one operand.
static size_t adx_extent_of(size_t n, const ad_rows *x)
{
    size_t stride = adx_magnitude(x->step);
    return stride > x->size ? n * x->size : (n - 1) * stride + x->size;
}

// Describes an argument: where it is in memory, and which operands it has, from
// index `at` on. If windows go backwards, element 0 has the last of these
// operands.
static adx_strip adx_place_source(size_t n, const ad_rows *x, size_t at)
{
    adx_strip s = { .unit = ADX_UNIT, .stride = x->step * ADX_UNIT,
                     .size = x->size, .shared = x->step == 0 };
    bool apart = adx_magnitude(x->step) > x->size;
    s.v = x->size == 0 ? NULL : &x->x->v;
    s.next = apart ? (ptrdiff_t)x->size : x->step;
    s.at = s.next < 0 ? at + (n - 1) * adx_magnitude(s.next) : at;
    return s;
}

// Writes the operands of an argument in order. Returns where the next ones go.
static ad_rev *adx_list_operands(size_t n, const ad_rows *x, ad_rev *to)
{
    const ad_rev *from = x->x;
    if (x->size == 0)
        return to;
    if (adx_magnitude(x->step) <= x->size) {
        size_t count = adx_extent_of(n, x);
        from -= x->step < 0 ? (n - 1) * adx_magnitude(x->step) : 0;
        memcpy(to, from, count * sizeof *to);
        return to + count;
    }
    for (size_t i = 0; i < n; i++, from += x->step, to += x->size)
        memcpy(to, from, x->size * sizeof *to);
    return to;
}

/* --- chunk tapes ----------------------------------------------------------
 * A pass takes all elements of a map, or all rows that op combines, chunk by
 * chunk. While the function runs for a chunk, a chunk tape is current, and its
 * foreign hook is called for each number that the function captures. When
 * values are computed, all numbers are constants and nothing is recorded. For
 * derivatives, the numbers of a chunk are inputs of its tape, in this order:
 * numbers that all chunks share, captured numbers, the carry of a prefix, the
 * items.                                                                     */

typedef enum adx_shape {
    ADX_SHAPE_map,              // f is called for each item
    ADX_SHAPE_fold,             // op combines all items of a chunk into a row
    ADX_SHAPE_prefix            // op combines each item with the result before
} adx_shape;

typedef enum adx_duty {
    ADX_DUTY_values, ADX_DUTY_pull, ADX_DUTY_push
} adx_duty;

#define ADX_CHUNKS_MOST 64      // chunks in progress at a time, at most

typedef struct adx_chunk_tape adx_chunk_tape;
typedef struct adx_pass {
    adx_bulk *b;
    adx_shape shape;
    adx_duty duty;
    size_t items;
    size_t chunk;
    const uint32_t *only;       // map: the elements that the items are; NULL:
                                // all elements
    const ad_real *v;           // fold, prefix: the rows, [items*d] numbers
    ptrdiff_t unit;             // distance from each of these to the next
    ad_real *to;                // results: their values; push: their tangents
    const ad_real *dy;          // pull: adjoints of the results
    size_t dy_stride;           // distance from row to row of dy
    ad_real *dx;                // pull: adjoints are added here; of a map to
                                // those of the operands, else to those of v
    const ad_real *tx;          // push: tangents in the same order as dx
    ad_real *captured;          // pull: adjoints of captured numbers are added
                                // here
    const ad_real *captured_t;  // push: tangents of captured numbers
    const ad_real *before;      // prefix: [chunks - 1][d] carries, with which
                                // the second chunk and all later ones begin
    const ad_real *before_t;    // push: tangents of the carries
    ad_real *before_adj;        // pull: adjoints of the carries
    size_t first;               // the first of the chunks in progress
    adx_chunk_tape *room[ADX_CHUNKS_MOST];
} adx_pass;

struct adx_chunk_tape {
    ad_tape *tape;
    const adx_pass *p;
    bool active;                // the numbers of the chunk are inputs
    bool collect;               // captured numbers may be added to the table
    bool missing;               // a captured number was not in the table
    bool unset;                 // a result was not set
    ad_status status;
    size_t inputs;
    size_t rows;
    ad_rev *in;
    ad_rev *arg;                // arguments of f, or of op
    ad_rev *y;
    ad_real *din;               // adjoints or tangents of the inputs
    ad_real *dy;                // adjoints or tangents of the results
};

// The foreign hook: x is a number of the recording outside. When values are
// computed, x becomes a constant, and is entered into the table if that is
// allowed (collect). For derivatives it becomes the input that stands for it.
static ad_rev adx_on_captured(void *user, ad_rev x)
{
    adx_chunk_tape *r = (adx_chunk_tape *)user;
    adx_bulk *b = r->p->b;
    uint64_t id = adx_compound(x.job, x.seq);
    if (!adx_runs_on(r->tape))
        return x;
    uint32_t known = adx_find_captured(&b->captured, id);
    if (known == 0 && b->sealed)
        return x;               // the first run did not use it: refused
    if (known != 0 && r->p->duty != ADX_DUTY_values) {
        size_t before = r->p->shape == ADX_SHAPE_map ? b->shared : 0;
        return adx_known(x, (uint32_t)before + known);
    }
    r->missing = r->missing || known == 0;
    if (known == 0 && r->collect
        && !adx_add_captured(&b->memory, &b->captured, id))
        r->status = ADREV_ENOMEM;
    return adx_passive(0);
}

// How many inputs come before those of the items.
static size_t adx_leading_inputs(const adx_pass *p)
{
    size_t captured = p->duty == ADX_DUTY_values ? 0 : p->b->captured.n;
    return captured + (p->shape == ADX_SHAPE_map ? p->b->shared : 0)
         + (p->shape == ADX_SHAPE_prefix ? p->b->d : 0);
}

// How many numbers an item has.
static size_t adx_item_width(const adx_pass *p)
{
    return p->shape == ADX_SHAPE_map ? p->b->width : p->b->d;
}

// How many rows of results so many items have.
static size_t adx_rows_of(const adx_pass *p, size_t items)
{
    return p->shape == ADX_SHAPE_fold ? 1 : items;
}

static void adx_free_chunk_tape(const ad_allocator *a, adx_chunk_tape *r)
{
    if (r == NULL)
        return;
    ad_tape_free(r->tape);
    adx_drop(a, r->in);
    adx_drop(a, r->din);
    adx_drop(a, r);
}

// A chunk tape with room for the inputs, results and arguments of a chunk.
// NULL: no memory.
static adx_chunk_tape *adx_new_chunk_tape(const adx_pass *p)
{
    const adx_bulk *b = p->b;
    size_t inputs = adx_leading_inputs(p) + p->chunk * adx_item_width(p);
    size_t results = adx_rows_of(p, p->chunk) * b->d;
    size_t args = p->shape == ADX_SHAPE_map ? b->shared + b->width : 2 * b->d;
    adx_chunk_tape *r = (adx_chunk_tape *)adx_take(&b->memory, 1, sizeof *r);
    if (r == NULL)
        return NULL;
    memset(r, 0, sizeof *r);
    r->p = p;
    r->tape = adx_new_tape_apart(&b->memory, adx_on_captured, r);
    if (r->tape != NULL)
        r->tape->selective = true;
    r->in = (ad_rev *)adx_take(&b->memory, inputs + results + args,
                               sizeof *r->in);
    r->din = (ad_real *)adx_take(&b->memory, inputs + results,
                                 sizeof *r->din);
    if (r->tape == NULL || r->in == NULL || r->din == NULL) {
        adx_free_chunk_tape(&b->memory, r);
        return NULL;
    }
    r->y = r->in + inputs;
    r->arg = r->y + results;
    r->dy = r->din + inputs;
    return r;
}

// The element that an item is.
static size_t adx_element_of(const adx_pass *p, size_t item)
{
    return p->only == NULL ? item : p->only[item];
}

// Writes the values of the inputs of a map: first the shared numbers, then the
// elements.
static void adx_fill_map(adx_chunk_tape *r, const adx_bulk *b, size_t first,
                         size_t items)
{
    const adx_strip *end = b->source + b->sources;
    ad_rev *to = r->in;
    for (const adx_strip *s = b->source; s < end; s++)
        for (size_t j = 0; s->shared && j < s->size; j++)
            (to++)->v = adx_strip_of(b, s, 0)[(ptrdiff_t)j * s->unit];
    to = r->in + adx_leading_inputs(r->p);
    for (size_t e = 0; e < items; e++)
        for (const adx_strip *s = b->source; s < end; s++) {
            if (s->shared || s->size == 0)
                continue;
            const ad_real *v = adx_strip_of(b, s,
                                            adx_element_of(r->p, first + e));
            for (size_t j = 0; j < s->size; j++, v += s->unit)
                (to++)->v = *v;
        }
}

// Writes the values of the inputs of a fold or a prefix: the rows and, of a
// prefix, the carry in front of them.
static void adx_fill_rows(adx_chunk_tape *r, const adx_pass *p, size_t chunk,
                          size_t items)
{
    size_t d = p->b->d;
    ad_rev *to = r->in + adx_leading_inputs(p);
    const ad_real *v = p->v + (ptrdiff_t)(chunk * p->chunk * d) * p->unit;
    for (size_t i = 0; i < items * d; i++, v += p->unit)
        to[i].v = *v;
    if (p->shape != ADX_SHAPE_prefix)
        return;
    to -= d;
    for (size_t j = 0; j < d; j++)
        to[j].v = chunk == 0 ? 0 : p->before[(chunk - 1) * d + j];
}

// Makes the values in r->in inputs of the chunk tape or, if it is not active,
// constants.
static void adx_name_inputs(adx_chunk_tape *r)
{
    size_t first = r->active ? adx_add_inputs(&adx_now, r->inputs) : 0;
    uint64_t id = first == 0 ? 0 : adx_compound(adx_now.job, first);
    for (size_t i = 0; i < r->inputs; i++)
        adx_name(&r->in[i], r->in[i].v, id == 0 ? 0 : id + i);
}

// Calls f for an element. If some arguments are shared, all of them are copied
// to r->arg, one after the other; else they lie so already.
static void adx_call_f(adx_chunk_tape *r, const adx_bulk *b, size_t item)
{
    size_t ahead = adx_leading_inputs(r->p);
    const ad_rev *shared = r->in;
    const ad_rev *own = r->in + ahead + item * b->width;
    ad_rev *to = r->arg;
    for (size_t k = 0; b->shared > 0 && k < b->sources; k++) {
        const adx_strip *s = &b->source[k];
        const ad_rev **from = s->shared ? &shared : &own;
        if ((!s->shared || item == 0) && s->size > 0)
            memcpy(to, *from, s->size * sizeof *to);
        *from += s->size;
        to += s->size;
    }
    b->f(b->shared > 0 ? r->arg : own, r->y + item * b->d, b->ctx);
}

// Computes y = left op right; y may be either of them. False: op did not set
// all of y.
static bool adx_apply_op(const adx_bulk *b, const ad_rev *left,
                         const ad_rev *right, ad_rev *pair, ad_rev *y)
{
    memcpy(pair, left, b->d * sizeof *y);
    memcpy(pair + b->d, right, b->d * sizeof *y);
    adx_unset(b->d, y);
    b->op(pair, y, b->ctx);
    return adx_all_set(b->d, y);
}

// Combines the rows of a chunk, one after the other: for a fold into one row,
// for a prefix into as many rows as there are. carried: the first row is
// combined with the carry.
static void adx_call_op(adx_chunk_tape *r, const adx_bulk *b, size_t items,
                        bool carried)
{
    size_t d = b->d;
    bool prefix = r->p->shape == ADX_SHAPE_prefix;
    const ad_rev *x = r->in + adx_leading_inputs(r->p);
    ad_rev *y = r->y;
    if (carried)
        r->unset |= !adx_apply_op(b, x - d, x, r->arg, y);
    else
        memcpy(y, x, d * sizeof *y);
    for (size_t i = 1; i < items; i++) {
        ad_rev *to = prefix ? y + d : y;
        r->unset |= !adx_apply_op(b, y, x + i * d, r->arg, to);
        y = to;
    }
}

// Fills in the inputs of a chunk, and runs its functions.
static void adx_run_chunk(adx_chunk_tape *r, size_t chunk, size_t items)
{
    const adx_pass *p = r->p;
    const adx_bulk *b = p->b;
    ad_tape_clear(r->tape);
    ad_tape *before = ad_use(r->tape);
    r->inputs = adx_leading_inputs(p) + items * adx_item_width(p);
    r->rows = adx_rows_of(p, items);
    r->missing = false;
    r->unset = false;
    r->status = ADREV_OK;
    if (p->shape == ADX_SHAPE_map)
        adx_fill_map(r, b, chunk * p->chunk, items);
    else
        adx_fill_rows(r, p, chunk, items);
    adx_name_inputs(r);
    adx_unset(r->rows * b->d, r->y);
    if (p->shape == ADX_SHAPE_map) {
        for (size_t i = 0; i < items; i++)
            adx_call_f(r, b, i);
        r->unset = !adx_all_set(r->rows * b->d, r->y);
    } else {
        adx_call_op(r, b, items, p->shape == ADX_SHAPE_prefix && chunk > 0);
    }
    ad_status status = adx_end_apart(r->tape, r->rows * b->d, r->y);
    if (r->status == ADREV_OK)
        r->status = status;
    if (r->status == ADREV_OK && r->unset)
        r->status = ADREV_ESHAPE;
    ad_use(before);
}

/* --- a chunk's derivatives ----------------------------------------------- */

// The index, among all results, of row i of a chunk.
static size_t adx_result_row(const adx_pass *p, size_t chunk, size_t i)
{
    return p->shape == ADX_SHAPE_fold ? chunk
         : adx_element_of(p, chunk * p->chunk + i);
}

// Writes the results of a chunk, or their tangents, to their rows.
static void adx_store_rows(const adx_chunk_tape *r, size_t chunk)
{
    const adx_pass *p = r->p;
    size_t d = p->b->d;
    for (size_t i = 0; i < r->rows; i++) {
        ad_real *to = p->to + adx_result_row(p, chunk, i) * d;
        for (size_t j = 0; j < d; j++)
            to[j] = p->duty == ADX_DUTY_values ? r->y[i * d + j].v
                                               : r->dy[i * d + j];
    }
}

// Computes the adjoints of the inputs of a chunk, in r->din. If the adjoints of
// its results are all 0, these stay 0 without a sweep.
static void adx_pull_chunk(adx_chunk_tape *r, size_t chunk)
{
    const adx_pass *p = r->p;
    size_t d = p->b->d;
    for (size_t i = 0; i < r->rows; i++)
        memcpy(r->dy + i * d,
               p->dy + adx_result_row(p, chunk, i) * p->dy_stride,
               d * sizeof *r->dy);
    memset(r->din, 0, r->inputs * sizeof *r->din);
    if (adx_zeros(r->rows * d, r->dy))
        return;
    ad_status status = ad_pullback(r->tape, r->rows * d, r->y, r->dy,
                                   r->inputs, r->in, r->din);
    if (status != ADREV_EPASSIVE)   // which says that results are constants
        r->status = status;
}

// The index of the operand that is the first number of an element.
static size_t adx_operand_of(const adx_strip *s, size_t element)
{
    return s->at + (size_t)((ptrdiff_t)element * s->next);
}

// Writes the tangents of the inputs of a map, in the order of adx_fill_map.
static void adx_tangents_of_map(adx_chunk_tape *r, size_t chunk, size_t items)
{
    const adx_pass *p = r->p;
    const adx_strip *end = p->b->source + p->b->sources;
    ad_real *to = r->din;
    for (const adx_strip *s = p->b->source; s < end; s++)
        for (size_t j = 0; s->shared && j < s->size; j++)
            *to++ = p->tx[s->at + j];
    to = r->din + adx_leading_inputs(p);
    for (size_t e = 0; e < items; e++)
        for (const adx_strip *s = p->b->source; s < end; s++) {
            size_t i = adx_element_of(p, chunk * p->chunk + e);
            for (size_t j = 0; !s->shared && j < s->size; j++)
                *to++ = p->tx[adx_operand_of(s, i) + j];
        }
}

// Computes the tangents of the results of a chunk, in r->dy.
static void adx_push_chunk(adx_chunk_tape *r, size_t chunk, size_t items)
{
    const adx_pass *p = r->p;
    size_t d = p->b->d;
    size_t known = p->b->captured.n;
    ad_real *to = r->din + adx_leading_inputs(p);
    if (p->shape == ADX_SHAPE_map)
        adx_tangents_of_map(r, chunk, items);
    else
        memcpy(to, p->tx + chunk * p->chunk * d, items * d * sizeof *to);
    if (p->shape == ADX_SHAPE_prefix && chunk > 0)
        memcpy(to - d, p->before_t + (chunk - 1) * d, d * sizeof *to);
    else if (p->shape == ADX_SHAPE_prefix)
        memset(to - d, 0, d * sizeof *to);
    if (known > 0)
        memcpy(r->din + (p->shape == ADX_SHAPE_map ? p->b->shared : 0),
               p->captured_t, known * sizeof *to);
    memset(r->dy, 0, r->rows * d * sizeof *to);
    ad_status status = ad_pushforward(r->tape, r->inputs, r->in, r->din,
                                      r->rows * d, r->y, r->dy);
    if (status != ADREV_EPASSIVE)
        r->status = status;
}

// Adds the adjoints of a chunk of a map to those of the operands: the shared
// numbers and the elements.
static void adx_deliver_map(const adx_chunk_tape *r, size_t chunk, size_t items)
{
    const adx_pass *p = r->p;
    const adx_strip *end = p->b->source + p->b->sources;
    const ad_real *from = r->din;
    for (const adx_strip *s = p->b->source; s < end; s++)
        for (size_t j = 0; s->shared && j < s->size; j++)
            p->dx[s->at + j] += *from++;
    from = r->din + adx_leading_inputs(p);
    for (size_t e = 0; e < items; e++)
        for (const adx_strip *s = p->b->source; s < end; s++) {
            size_t i = adx_element_of(p, chunk * p->chunk + e);
            for (size_t j = 0; !s->shared && j < s->size; j++)
                p->dx[adx_operand_of(s, i) + j] += *from++;
        }
}

// Adds all adjoints that a chunk contributes. One thread does this for all
// chunks, in their order.
static void adx_deliver(const adx_chunk_tape *r, size_t chunk, size_t items)
{
    const adx_pass *p = r->p;
    size_t d = p->b->d;
    const ad_real *from = r->din + adx_leading_inputs(p);
    const ad_real *known = r->din + (p->shape == ADX_SHAPE_map ? p->b->shared
                                                               : 0);
    for (size_t i = 0; i < p->b->captured.n; i++)
        p->captured[i] += known[i];
    if (p->shape == ADX_SHAPE_prefix && chunk > 0)
        memcpy(p->before_adj + (chunk - 1) * d, from - d, d * sizeof *from);
    if (p->shape == ADX_SHAPE_map)
        adx_deliver_map(r, chunk, items);
    else
        for (size_t i = 0; i < items * d; i++)
            p->dx[chunk * p->chunk * d + i] += from[i];
}

// How many items a chunk has: the last one may have fewer.
static size_t adx_items_of(const adx_pass *p, size_t chunk)
{
    size_t left = p->items - chunk * p->chunk;
    return left < p->chunk ? left : p->chunk;
}

// Runs a chunk and computes what the pass is for. Adjoints stay in r->din, for
// adx_deliver.
static void adx_do_chunk(adx_chunk_tape *r, size_t chunk)
{
    const adx_pass *p = r->p;
    size_t items = adx_items_of(p, chunk);
    r->active = p->duty != ADX_DUTY_values;
    adx_run_chunk(r, chunk, items);
    if (r->status == ADREV_OK && p->duty == ADX_DUTY_pull)
        adx_pull_chunk(r, chunk);
    if (r->status == ADREV_OK && p->duty == ADX_DUTY_push)
        adx_push_chunk(r, chunk, items);
    if (r->status == ADREV_OK && p->duty != ADX_DUTY_pull)
        adx_store_rows(r, chunk);
}

/* --- passes ------------------------------------------------------------------
 * A pass works on several chunks at a time, each on a tape of its own. While
 * chunks run in parallel, none of them adds to the table of captured numbers. A
 * chunk that would have added one is run again when its turn comes. So the
 * table has the order that one thread would have given it.                   */

// How many chunks are in progress at a time. The choice affects time and
// memory, never results.
static size_t adx_chunks_at_once(void)
{
#ifdef ADREV_PARALLEL_IMPLEMENTED
    if (adx_mine_rows.statements > 0)
        return 1;
    if (adx_mine.execute != NULL)
        return ADX_CHUNKS_MOST / 2;
    size_t threads = adx_mine.seat == NULL
                   ? 1 : (size_t)adx_mine.pool->workers + 1;
    return threads == 1 ? 1 : threads < ADX_CHUNKS_MOST / 4 ? 4 * threads
                                                         : ADX_CHUNKS_MOST;
#else
    return 1;
#endif
}

#ifdef ADREV_PARALLEL_IMPLEMENTED
static void adx_do_chunks(size_t begin, size_t end, void *user)
{
    const adx_pass *p = (const adx_pass *)user;
    for (size_t k = begin; k < end; k++)
        adx_do_chunk(p->room[k], p->first + k);
}
#endif

// Does the next `count` chunks: runs them in parallel, then, in their order,
// adds captured numbers and adjoints.
static ad_status adx_do_batch(adx_pass *p, size_t count)
{
    ad_status status = ADREV_OK;
    for (size_t k = 0; k < count; k++)
        p->room[k]->collect = count == 1;
#ifdef ADREV_PARALLEL_IMPLEMENTED
    if (count > 1)
        ad_parallel_for(count, 1, adx_do_chunks, p);
    else
#endif
        adx_do_chunk(p->room[0], p->first);
    for (size_t k = 0; k < count && status == ADREV_OK; k++) {
        adx_chunk_tape *r = p->room[k];
        if (r->missing && !r->collect) {
            r->collect = true;
            adx_do_chunk(r, p->first + k);
        }
        status = r->status;
        if (status != ADREV_OK && !p->b->sealed)
            p->b->why = r->tape->failure.why;
        if (status == ADREV_OK && p->duty == ADX_DUTY_pull)
            adx_deliver(r, p->first + k, adx_items_of(p, p->first + k));
    }
    return status;
}

// Makes `count` chunk tapes.
static ad_status adx_open_pass(adx_pass *p, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        p->room[k] = adx_new_chunk_tape(p);
        if (p->room[k] == NULL)
            return ADREV_ENOMEM;
    }
    return ADREV_OK;
}

static void adx_close_pass(adx_pass *p)
{
    for (size_t k = 0; k < ADX_CHUNKS_MOST; k++)
        adx_free_chunk_tape(&p->b->memory, p->room[k]);
}

// Does all chunks of a pass.
static ad_status adx_do_pass(adx_pass *p)
{
    size_t chunks = adx_part_count(p->items, p->chunk);
    size_t most = adx_chunks_at_once();
    most = chunks < most ? chunks : most;
    ad_status status = adx_open_pass(p, most);
    for (p->first = 0; status == ADREV_OK && p->first < chunks;
         p->first += most) {
        size_t left = chunks - p->first;
        status = adx_do_batch(p, left < most ? left : most);
    }
    adx_close_pass(p);
    return status;
}
