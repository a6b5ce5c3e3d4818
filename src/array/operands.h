#pragma once

/* === array/operands =========================================================
 * Statements that are not a list of partials. Most of them are linear
 * (array/linear): spans of operands with their partials, and either one sum or
 * n results. What a statement saves lies behind its struct, in the same entry
 * of the tape. Loops run over W directions; with one direction and evenly
 * spaced ids they are vector loops.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/hooks
 *           sweep/queries
 *   offers  adx_view ADX_UNIT adx_ids adx_first_value adx_matrix adx_vector
 *           adx_constants adx_offset adx_element adx_view_size ADX_BASE
 *           adx_missing adx_missing_matrix adx_missing_s adx_no_result
 *           adx_pack_row adx_pack_one adx_pack_view adx_id_here adx_is_list
 *           adx_spacing adx_spacing_of adx_ids_of_corners adx_set_ids
 *           adx_classify adx_pack_even_at adx_pack_even adx_is_constant
 *           adx_write_ids adx_write_list adx_write_row adx_id adx_id_of
 *           adx_adjacent adx_recording adx_public_view adx_array_operation
 *           adx_tell_array adx_add_extended adx_set_result adx_name_written
 *           adx_put_results
 * ========================================================================== */

/* --- operands ------------------------------------------------------------ */

// What an array statement reads: a matrix of recorded numbers or of constants,
// with strides. A vector is one row.
typedef struct adx_view {
    const ad_rev *x;            // NULL: constants
    const ad_real *v;           // the first value
    size_t rows;
    size_t cols;
    ptrdiff_t rs;               // from row to row, in elements
    ptrdiff_t cs;
    ptrdiff_t unit;             // of an element, in ad_real
} adx_view;

#define ADX_UNIT ((ptrdiff_t)(sizeof(ad_rev) / sizeof(ad_real)))
ADX_STATIC_ASSERT(sizeof(ad_rev) % sizeof(ad_real) == 0
                  && offsetof(ad_rev, v) == 0,
                  "the values of an array of ad_rev are a strided array");

// The ids of a view's elements on this tape. Ids that are evenly spaced in both
// directions, as those of an array of inputs are, need no memory: a base and
// two strides say them. Others are a list. The arithmetic is modulo 2^32, so a
// stride may stand for a negative one.
typedef struct adx_ids {
    uint32_t *list;             // row by row; NULL: base + i*row + j*col
    uint32_t base;              // 0 and no list: constants
    uint32_t row;               // modulo 2^32
    uint32_t col;
    bool listed;
} adx_ids;

// x may be NULL.
ADX_INLINE const ad_real *adx_first_value(const ad_rev *x)
{
    return (const ad_real *)(const void *)x;
}

// The stride of a single row or column does not matter, however large it is.
static adx_view adx_matrix(size_t rows, size_t cols, const ad_rev x[],
                           ptrdiff_t rs, ptrdiff_t cs)
{
    return (adx_view){ x, adx_first_value(x), rows, cols, rows > 1 ? rs : 0,
                       cols > 1 ? cs : 0, ADX_UNIT };
}

static adx_view adx_vector(size_t n, const ad_rev x[], ptrdiff_t inc)
{
    return adx_matrix(1, n, x, 0, inc);
}

static adx_view adx_constants(size_t n, const ad_real c[], ptrdiff_t inc)
{
    return (adx_view){ NULL, c, 1, n, 0, n > 1 ? inc : 0, 1 };
}

static inline ptrdiff_t adx_offset(const adx_view *a, size_t i, size_t j)
{
    return (ptrdiff_t)i * a->rs + (ptrdiff_t)j * a->cs;
}

static inline ad_real adx_element(const adx_view *a, size_t i, size_t j)
{
    return a->v[adx_offset(a, i, j) * a->unit];
}

static size_t adx_view_size(const adx_view *a) { return a->rows * a->cols; }

// A column as a row, because the loops run along rows. Other views stay as they
// are.
static inline adx_view adx_lying(const adx_view *a)
{
    adx_view row = *a;
    if (a->cols == 1) {
        row.rows = 1;
        row.cols = a->rows;
        row.cs = a->rs;
    }
    return row;
}

// The part that a statement of this kind shares with all others; NULL if the
// statement was not recorded.
#define ADX_BASE(s) ((s) == NULL ? NULL : &(s)->e)

// Whether an array of n elements is impossible, or needed and not given. If so,
// the tape fails.
static bool adx_missing(size_t n, const void *x)
{
    if (!adx_no_array(n, x))
        return false;
    adx_failed(ADREV_ESHAPE);
    return true;
}

// The same of a matrix, and of a vector, with strides. If all lengths are
// short, their products and sums are possible.
#define ADX_SHORT_BITS (4 * sizeof(size_t) - 4)

ADX_INLINE bool adx_missing_matrix(size_t rows, size_t cols, const void *x,
                                   ptrdiff_t rs, ptrdiff_t cs)
{
    const size_t any = rows | cols | (size_t)rs | (size_t)cs;
    if (x != NULL && any >> ADX_SHORT_BITS == 0)
        return false;
    return adx_missing(adx_spread_of(rows, rs, cols, cs), x);
}

ADX_INLINE bool adx_missing_s(size_t n, const void *x, ptrdiff_t inc)
{
    return adx_missing_matrix(1, n, x, 0, inc);
}

static ad_rev adx_no_result(void) { return adx_passive(ADX_K(NAN)); }

#ifdef ADX_LANES
typedef ad_real adx_duo __attribute__((vector_size(2 * sizeof(ad_real)),
                                       aligned(sizeof(ad_real)), may_alias));
typedef uint64_t adx_duo_ids __attribute__((vector_size(16)));
#endif

// Copies one row of values into consecutive places. Returns the sum of all v*0,
// which is NaN if a value is not finite and 0 otherwise (with ADREV_FIXED it is
// not asked for: adx_chain looks at products). The loop takes two
// values at a time, because gcc -O2 without AVX would put four together in
// memory (ten times slower), and it keeps two sums, so that an addition need
// not wait for the one before.
ADX_INLINE ad_real adx_pack_row(size_t n, const ad_real v[], ptrdiff_t stride,
                                ad_real to[])
{
    ad_real fault = 0;
    size_t j = 0;
#ifdef ADX_LANES
    adx_duo fault_a = {0};
    adx_duo fault_b = {0};
    for (; j + 4 <= n; j += 4, v += 4 * stride) {
        adx_duo a = { v[0], v[stride] };
        adx_duo b = { v[2 * stride], v[3 * stride] };
        *(adx_duo *)&to[j] = a;
        *(adx_duo *)&to[j + 2] = b;
        fault_a += a * 0;
        fault_b += b * 0;
    }
    fault_a += fault_b;
    fault = fault_a[0] + fault_a[1];
#endif
    for (; j < n; j++, v += stride) {
        to[j] = *v;
        if (!ADREV_FIXED)
            fault += *v * 0;
    }
    return fault;
}

// Row i. A stride that is known to the compiler makes vector loops. (bench:
// dot-1e3, arrays, 0.83.)
static ad_real adx_pack_one(const adx_view *a, size_t i, ad_real to[])
{
    const ptrdiff_t stride = a->cs * a->unit;
    const ad_real *v = a->v + (ptrdiff_t)i * a->rs * a->unit;
    return ADREV_FIXED ? adx_pack_row(a->cols, v, stride, to)
         : stride == ADX_UNIT ? adx_pack_row(a->cols, v, ADX_UNIT, to)
         : stride == 1 ? adx_pack_row(a->cols, v, 1, to)
         : adx_pack_row(a->cols, v, stride, to);
}

// The whole view, row by row. The result is that of adx_pack_row.
static ad_real adx_pack_view(const adx_view *a, ad_real to[])
{
    ad_real fault = 0;
    if (ADREV_FIXED && a->cols == 1)
        return adx_pack_row(a->rows, a->v, a->rs * a->unit, to);
    if (ADREV_FIXED) {
        for (size_t i = 0; i < a->rows; i++)
            adx_pack_one(a, i, to + i * a->cols);
        return 0;
    }
    const adx_view b = adx_lying(a);
    for (size_t i = 0; i < b.rows; i++)
        fault += adx_pack_one(&b, i, to + i * b.cols);
    return fault;
}

// The id of x on the current tape; 0: a constant. Only a value of another job
// has to be looked up.
static inline uint32_t adx_id_here(ad_rev x)
{
    return x.job == (uint32_t)adx_now.job && x.job != 0 ? x.seq
                                                        : adx_resolve(x);
}

#if ADREV_FIXED
// How the ids of a row are stored: by a base and, in the upper half of a word,
// a stride; or as a list; or, if all numbers are constants, not at all: 0. Of
// the latter two the base is 0.
#define ADX_LISTED ((uint64_t)1 << 32)

ADX_INLINE bool adx_is_list(uint64_t spacing)
{
    return (uint32_t)spacing == 0 && spacing != 0;
}

ADX_APART uint64_t adx_look_up_all(size_t n, const ad_rev *x, ptrdiff_t inc)
{
    uint32_t any = 0;
    for (; n > 0; n--, x += inc)
        any |= adx_id_here(*x);
    return any == 0 ? 0 : ADX_LISTED;
}

// Finds that out for n > 0 numbers: base and stride are read off the first two.
// (The stride of a single number does not matter, however large it is; and a
// number with stride 0 is a single one.)
// Numbers of an older job, from before a rewind, are looked up one by one: of
// one job some are still there and some are not.
ADX_APART uint64_t adx_spacing(size_t n, const ad_rev *x, ptrdiff_t inc)
{
    const ad_rev *at = x;
    const uint32_t job = x->job;
    const uint32_t base = x->seq;
    inc = n > 1 ? inc : 0;
    n = inc != 0 ? n : 1;
    const uint32_t stride = x[inc].seq - base;
    size_t left = n;
    uint32_t seq = base;
    if (job != (uint32_t)adx_now.job && (base | job) != 0)
        return adx_look_up_all(n, x, inc);
    do {
        const uint32_t others = at->job;
        const uint32_t id = at->seq;
        at += inc;
        ADX_OPAQUE(at);         // or gcc reads one number after the other
        if (others != job || id != seq)
            return adx_look_up_all(n, x, inc);
        seq += stride;
    } while (--left > 0);
    return adx_compound(stride, base);
}

// The same of a matrix. One column, or rows that follow one another, are a row.
// Otherwise all rows have the stride of the first one, and begin at a stride.
// A list is looked for by itself: its code may be the one that a row should
// have, if that row should begin with id 0.
static uint64_t adx_spacing_of(const adx_view *a, uint32_t *row)
{
    const ad_rev *x = a->x;
    const size_t n = a->cols;
    if (a->rows == 1 || n == 1 || a->rs == (ptrdiff_t)n * a->cs) {
        const uint64_t all = adx_spacing(a->rows * n, x,
                                         n == 1 ? a->rs : a->cs);
        *row = (uint32_t)(all >> 32) * (uint32_t)n;
        return all;
    }
    const uint64_t first = adx_spacing(n, x, a->cs);
    uint64_t other = 0;
    const uint32_t stride = (uint32_t)(first >> 32);
    uint32_t seq = (uint32_t)first;
    *row = first == 0 ? 0 : x[a->rs].seq - seq;
    for (size_t i = 1; i < a->rows; i++) {  // all of them are looked up
        x += a->rs;
        seq += *row;
        const uint64_t here = adx_spacing(n, x, a->cs);
        other |= here ^ adx_compound(stride, seq);
        other |= (uint64_t)adx_is_list(here);
    }
    return other == 0 ? first : ADX_LISTED;
}
#else
// Whether the compound ids of a row are id, id + stride ... The loop has no
// branch: it collects every difference in `other` and looks once at the end.
static bool adx_even_row(size_t n, const ad_rev x[], ptrdiff_t inc,
                         uint64_t id, uint64_t stride)
{
    if (inc == 1)
        return adx_in_strides(n, x, id, stride);
    if (inc == 0)
        n = n > 0;              // the same number again and again
    uint64_t other = 0;
    for (size_t j = 0; j < n; j++, id += stride, x += inc)
        other |= adx_word(x) ^ id;
    return other == 0;
}

// The compound id that row i begins with, if the ids are evenly spaced.
static inline uint64_t adx_even_id(const adx_view *a, const adx_ids *ids,
                                   size_t i)
{
    return adx_compound(a->x->job, ids->base + (uint32_t)i * ids->row);
}

static bool adx_even_at(const adx_view *a, const adx_ids *ids, size_t i)
{
    return adx_even_row(a->cols, a->x + (ptrdiff_t)i * a->rs, a->cs,
                        adx_even_id(a, ids, i), (uint64_t)(int32_t)ids->col);
}

// The spacing that the ids have if they are evenly spaced, read off the four
// corners; base 0: they are not. A corner must be a value of this tape, and
// newer than `since`, because the spacing of older values depends on the
// schedule. Whether the numbers in between keep to it is for adx_are_even to
// find out.
static adx_ids adx_ids_of_corners(const adx_view *a)
{
    static const adx_ids none;
    adx_ids ids = none;
    if (a->x == NULL || adx_view_size(a) == 0)
        return ids;
    ptrdiff_t across = (ptrdiff_t)(a->cols - 1) * a->cs;
    ptrdiff_t down = (ptrdiff_t)(a->rows - 1) * a->rs;
    const ptrdiff_t corner[4] = { 0, across, down, across + down };
    for (int i = 0; i < 4; i++)
        if ((i & 1 && a->cols == 1) || (i & 2 && a->rows == 1))
            continue;                   // it is one of the others
        else if ((a->x[corner[i]].job != (uint32_t)adx_now.job
             && !adx_member(adx_now.tape, a->x[corner[i]]))
            || a->x[corner[i]].seq <= ADX_SINCE)
            return ids;
    uint32_t base = a->x->seq;
    uint32_t row = a->rows == 1 ? 0 : a->x[a->rs].seq - base;
    uint32_t col = a->cols == 1 ? 0 : a->x[a->cs].seq - base;
    if (a->x[corner[3]].seq == base + (uint32_t)(a->rows - 1) * row
                             + (uint32_t)(a->cols - 1) * col)
        ids.base = base, ids.row = row, ids.col = col;
    return ids;
}

// The spacing that belongs to the view that adx_lying makes.
static inline adx_ids adx_lying_ids(const adx_view *a, const adx_ids *ids)
{
    adx_ids along = *ids;
    if (a->cols == 1)
        along.col = ids->row;
    return along;
}

// Whether all ids are what the corners promise.
static bool adx_are_even(const adx_view *a, const adx_ids *ids)
{
    const adx_view b = adx_lying(a);
    const adx_ids along = adx_lying_ids(a, ids);
    size_t i = 0;
    while (i < b.rows && adx_even_at(&b, &along, i))
        i++;
    return i == b.rows;
}

static bool adx_find_spacing(const adx_view *a, adx_ids *ids)
{
    *ids = adx_ids_of_corners(a);
    bool constant = adx_word(a->x) == 0;        // then all may be
    return (ids->base != 0 || constant) && adx_are_even(a, ids);
}
#endif

// Decides how the ids are stored: by their spacing, as a list (`listed`), or
// not at all because all numbers are constants. The list itself is written
// later, when the statement has its memory. But values of other recordings are
// looked up here: that may add entries, which must come before the statement.
#if ADREV_FIXED
// Sets ids as their spacing says. A list has no place yet.
ADX_INLINE void adx_set_ids(adx_ids *ids, uint64_t spacing, uint32_t row)
{
    ids->list = NULL;
    ids->base = (uint32_t)spacing;
    ids->row = row;
    ids->col = (uint32_t)(spacing >> 32);
    ids->listed = adx_is_list(spacing);
}

static adx_ids adx_classify(const adx_view *a)
{
    adx_ids ids;
    uint32_t row = 0;
    const bool any = a->x != NULL && adx_view_size(a) > 0;
    const uint64_t spacing = any ? adx_spacing_of(a, &row) : 0;
    adx_set_ids(&ids, spacing, row);
    return ids;
}
#else
// Whether any of the numbers is recorded. All of them are looked up.
ADX_APART bool adx_has_variable(const adx_view *a)
{
    const adx_view b = adx_lying(a);
    bool active = false;
    for (size_t i = 0; i < b.rows; i++)
        for (size_t j = 0; j < b.cols; j++)
            if (adx_id_here(b.x[adx_offset(&b, i, j)]) != 0)
                active = true;
    return active;
}

static adx_ids adx_classify(const adx_view *a)
{
    static const adx_ids none;
    adx_ids ids;                // the only one, so that it is not copied
    const bool any = a->x != NULL && adx_view_size(a) > 0;
    if (any && adx_find_spacing(a, &ids))
        return ids;
    ids = none;
    ids.listed = any && adx_has_variable(a);
    return ids;
}

// Packs a row of adjacent numbers and checks its ids in one loop, so that the
// numbers are read once.
static bool adx_pack_even_row(size_t n, const ad_rev x[], uint64_t id,
                              uint64_t stride, ad_real to[], ad_real *fault)
{
    uint64_t other = 0;
    size_t j = 0;
#ifdef ADX_LANES
    adx_duo_ids other_a = {0};
    adx_duo_ids other_b = {0};
    adx_duo_ids even = { id, id + stride };
    adx_duo fault_a = {0};
    adx_duo fault_b = {0};
    for (; j + 4 <= n; j += 4, even += 4 * stride) {
        adx_duo a = { x[j].v, x[j + 1].v };
        adx_duo b = { x[j + 2].v, x[j + 3].v };
        other_a |= even ^ (adx_duo_ids){ adx_word(&x[j]), adx_word(&x[j + 1]) };
        other_b |= (even + 2 * stride)
                 ^ (adx_duo_ids){ adx_word(&x[j + 2]), adx_word(&x[j + 3]) };
        *(adx_duo *)&to[j] = a;
        *(adx_duo *)&to[j + 2] = b;
        fault_a += a * 0;
        fault_b += b * 0;
    }
    other_a |= other_b;
    fault_a += fault_b;
    other = other_a[0] | other_a[1];
    *fault += fault_a[0] + fault_a[1];
#endif
    for (; j < n; j++) {
        other |= adx_word(&x[j]) ^ (id + j * stride);
        to[j] = x[j].v;
        *fault += x[j].v * 0;
    }
    return other == 0;
}

// Packs row i of any view, as adx_pack_even_row does one of stride 1. So a
// large matrix is read from memory only once. (bench: matvec, arrays, 0.87.)
static bool adx_pack_even_at(const adx_view *a, const adx_ids *ids, size_t i,
                             ad_real to[], ad_real *fault)
{
    if (a->cs == 1)
        return adx_pack_even_row(a->cols, a->x + (ptrdiff_t)i * a->rs,
                                 adx_even_id(a, ids, i),
                                 (uint64_t)(int32_t)ids->col, to, fault);
    *fault += adx_pack_one(a, i, to);
    return adx_even_at(a, ids, i);
}

// Packs all rows of a view whose ids are evenly spaced, as long as they are.
// False: they are not.
static bool adx_pack_even(const adx_view *a, const adx_ids *ids, ad_real to[],
                          ad_real *fault)
{
    const adx_view b = adx_lying(a);
    const adx_ids along = adx_lying_ids(a, ids);
    size_t i = 0;
    while (i < b.rows
           && adx_pack_even_at(&b, &along, i, to + i * b.cols, fault))
        i++;
    return i == b.rows;
}
#endif

ADX_INLINE bool adx_is_constant(const adx_ids *ids)
{
    return ids->base == 0 && !ids->listed;
}

// Writes the list, if there is one, and returns the end of it. A constant among
// recorded numbers becomes the sink.
ADX_APART uint32_t *adx_write_ids(const adx_view *a, adx_ids *ids, uint32_t *to)
{
    const adx_view b = adx_lying(a);
    ids->list = to;
    for (size_t i = 0; i < b.rows; i++)
        for (size_t j = 0; j < b.cols; j++) {
            uint32_t id = adx_id_here(b.x[adx_offset(&b, i, j)]);
            *to++ = id == 0 ? (uint32_t)ADX_SINK : id;
        }
    return to;
}

ADX_INLINE uint32_t *adx_write_list(const adx_view *a, adx_ids *ids,
                                    uint32_t *to)
{
    return ids->listed ? adx_write_ids(a, ids, to) : to;
}

#if ADREV_FIXED
ADX_APART void adx_write_row(size_t n, const ad_rev *x, ptrdiff_t inc,
                             adx_ids *ids)
{
    const adx_view row = adx_vector(n, x, inc);
    adx_write_ids(&row, ids, ids->list);
}
#endif

// The id of number i of a row: of a matrix, adx_id_of.
ADX_INLINE size_t adx_id(const adx_ids *ids, size_t i)
{
    return ids->list != NULL ? ids->list[i]
                             : (uint32_t)(ids->base + (uint32_t)i * ids->col);
}

ADX_INLINE size_t adx_id_of(const adx_ids *ids, size_t i, size_t j,
                            size_t cols)
{
    return ids->list != NULL ? ids->list[i * cols + j]
         : (uint32_t)(ids->base + (uint32_t)i * ids->row
                      + (uint32_t)j * ids->col);
}

// Whether the ids follow one another, so that the adjoints are a plain array.
static bool adx_adjacent(const adx_ids *ids)
{
    return ids->list == NULL && ids->base != 0 && ids->col == 1;
}

// Whether array statements are recorded now. A trace hook that cannot be told
// of arrays makes the tape fail: it would miss operations.
static bool adx_recording(void)
{
    ad_tape *t = adx_now.tape;
    if (t == NULL || t->status != ADREV_OK)
        return false;
#if !ADREV_FIXED
    if (ADX_TRACED && t->hooks.array == NULL)
        adx_fail_because(t, ADREV_EHOOK, "an array or external statement, and "
                         "the hooks that trace have none for it");
#endif
    return t->status == ADREV_OK;
}

#if !ADREV_FIXED
static ad_array_view adx_public_view(const adx_view *a)
{
    return (ad_array_view){ a->x, a->x == NULL ? a->v : NULL, a->rows, a->cols,
                            a->rs, a->cs };
}

static ad_array_operation adx_array_operation(ad_array_kind kind,
                                              const adx_extended *e)
{
    return (ad_array_operation){
        .kind = kind,
        .result = { 0, (uint32_t)e->first, (uint32_t)adx_now.job },
        .results = e->values, .file = adx_now.file, .line = adx_now.line
    };
}
#endif

// Tells the trace hook of an array statement. This comes before the results are
// named, because they may lie where the operands are.
static void adx_tell_array(ad_array_kind kind, ad_opcode code,
                           const adx_extended *e, const adx_view *a,
                           const adx_view *b, const adx_view *c)
{
#if ADREV_FIXED
    (void)kind; (void)code; (void)e; (void)a; (void)b; (void)c;
#else
    if (e == NULL || !ADX_UNLIKELY(ADX_TRACED))
        return;
    const ad_hooks *hooks = &adx_now.tape->hooks;
    ad_array_operation told = adx_array_operation(kind, e);
    const adx_view *view[] = { a, b, c };

    told.code = code;
    for (size_t i = 0; i < 3; i++)
        if (view[i] != NULL)
            told.arg[i] = adx_public_view(view[i]);
    hooks->array(hooks->user, &told);
#endif
}

// Adds an entry of that many bytes and fills in what all kinds have in common.
// The caller fills in the rest. NULL: the tape has failed.
static void *adx_add_extended(const adx_rule *rule, size_t bytes,
                              size_t values, size_t operands)
{
    adx_operand *site = NULL;
    if (ADREV_DEBUG) {
        adx_note_site(0);
        if (adx_now.tape->status != ADREV_OK)
            return NULL;
        site = adx_now.op - ADX_SITE_OPERANDS;
    }
    adx_extended *e = adx_add_bytes(&adx_now, ADX_EXTENDED, bytes, values);
    if (e == NULL)
        return NULL;
    e->rule = rule;
    e->before = NULL;
    e->site = site;
    e->care = false;
    e->first = adx_now.seq - values + 1;
    e->values = values;
    e->operands = operands;
    return e;
}

// With ADREV_DEBUG a site keeps one value: here the first result that is not
// finite.
static void adx_note_value(adx_operand *at, ad_real v)
{
    adx_site site;
    adx_stop_at(v);
    memcpy(&site, at, sizeof site);
    if (site.value * 0 != 0)
        return;
    site.value = v;
    memcpy(at, &site, sizeof site);
}

// Makes y result i of a statement, or a constant if no statement was recorded.
static void adx_set_result(ad_rev *y, ad_real v, const adx_extended *e,
                           size_t i)
{
    if (ADREV_DEBUG && e != NULL && v * 0 != 0)
        adx_note_value(e->site, v);
    adx_name(y, v, e == NULL ? 0 : adx_compound(adx_now.job, e->first + i));
}

#if ADREV_FIXED
// Gives n > 0 values that are written already their ids.
ADX_INLINE void adx_name_written(const adx_extended *e, size_t n, ad_rev *y)
{
    const uint32_t job = e == NULL ? 0 : (uint32_t)adx_now.job;
    const uint32_t stride = e != NULL;
    uint32_t seq = e == NULL ? 0 : (uint32_t)e->first;
    do {
        y->seq = seq;
        y->job = job;
        y++;
        ADX_OPAQUE(y);
        seq += stride;
    } while (--n > 0);
}
#endif

// Makes every inc-th element of y a result, from result `first` on.
static void adx_put_results(const adx_extended *e, size_t first, size_t n,
                            const ad_real v[], ad_rev y[], ptrdiff_t inc)
{
    if (inc == 1 && e != NULL && !ADREV_DEBUG)
        adx_name_run(n, v, y, adx_compound(adx_now.job, e->first + first));
    else
        for (size_t i = 0; i < n; i++)
            adx_set_result(&y[(ptrdiff_t)i * inc], v[i], e, first + i);
}
