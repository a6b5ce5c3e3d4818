#pragma once

/* === array/products =========================================================
 * Products of matrices, and of a triangular matrix with a vector. As a linear
 * statement each result would store the partials of all its terms. A product
 * stores its two matrices once instead, and its sweeps multiply by them. A dot
 * product is a row times a column (with ADREV_FIXED, a linear statement), and
 * in a product with a vector the second matrix has one column.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries
 *           array/operands array/linear array/sums
 *   offers  adx_product adx_product_rule adx_triangle adx_triangle_rule
 * ========================================================================== */

/* --- products of matrices ------------------------------------------------ */

// C = A B, of which the reverse sweep makes Ab += Cb B' and Bb += A' Cb. So a
// matrix is saved if the other one has recorded numbers. Where n = 1, B is a
// vector.
typedef struct adx_product {
    adx_extended e;
    size_t m;
    size_t k;
    size_t n;
    adx_ids a_ids;
    adx_ids b_ids;
    ad_real *a;                 // [m*k]; NULL: B is constant
    ad_real *b;                 // [k*n]; NULL: A is constant
} adx_product;

// Rows of B that are worked on together: 64 rows of 512 numbers fill a cache of
// 256 kB. (A product of that size: 0.77.)
#define ADX_PANEL 64

// One direction, no factor that needs care, and the ids of each row of B
// adjacent, or B constant. Each element (i, l) of A meets row l of B and row i
// of the adjoints of C: their scalar product is added to the adjoint of the
// element, and a multiple of the latter row to the adjoints of the former. Rows
// of B and of its adjoints stay in the cache while i runs.
static void adx_product_fast(const adx_product *s, ad_real adj[])
{
    const ad_real *c = &adj[s->e.first];
    bool a_active = !adx_is_constant(&s->a_ids);
    bool b_active = !adx_is_constant(&s->b_ids);

    for (size_t from = 0; from < s->k; from += ADX_PANEL) {
        size_t to = s->k - from < ADX_PANEL ? s->k : from + ADX_PANEL;
        for (size_t i = 0; i < s->m; i++)
            for (size_t l = from; l < to; l++) {
                if (a_active)
                    adj[adx_id_of(&s->a_ids, i, l, s->k)] +=
                        adx_inner_product(s->n, &c[i * s->n], &s->b[l * s->n]);
                if (b_active)
                    adx_axpy(s->n, s->a[i * s->k + l], &c[i * s->n],
                             &adj[adx_id_of(&s->b_ids, l, 0, s->n)]);
            }
    }
}

#if !ADREV_FIXED
// adj += c d, where adj are the adjoints that the ids name: those of a list, or
// else `id` and what follows at that stride.
static void adx_add_scaled(size_t n, ad_real c, const ad_real d[],
                           const uint32_t *list, uint32_t id, uint32_t stride,
                           ad_real adj[])
{
    if (list == NULL && stride == 1) {
        adx_axpy(n, c, d, &adj[id]);
        return;
    }
    for (size_t i = 0; i < n; i++, id += stride) {
        size_t at = list != NULL ? list[i] : id;
        if (at != 0)
            adj[at] += c * d[i];
    }
}
#endif

#if ADREV_FIXED
// The fast case of a vector B with any ids: first the adjoints of A, row by
// row, then those of the vector.
static void adx_column_reverse(const adx_product *s, ad_real adj[])
{
    const ad_real *c = &adj[s->e.first];
    const ad_real *row = s->a;
    const uint32_t *list = s->a_ids.list;
    uint32_t id = s->a_ids.base;
    for (size_t i = 0; s->b != NULL && i < s->m; i++) {
        adx_add_scaled(s->k, c[i], s->b, list, id, s->a_ids.col, adj);
        id += s->a_ids.row;
        list = list == NULL ? NULL : list + s->k;
    }
    for (size_t i = 0; row != NULL && i < s->m; i++, row += s->k)
        adx_add_scaled(s->k, c[i], row, s->b_ids.list, s->b_ids.base,
                       s->b_ids.row, adj);
}
#else
// The fast case of a vector B with any ids. The adjoints of row i of A grow by
// c[i] times the vector, and those of the vector by c[i] times row i. `list` or
// `id` is where the ids of row i begin.
static void adx_column_reverse(const adx_product *s, ad_real adj[])
{
    const ad_real *c = &adj[s->e.first];
    const uint32_t *list = s->a_ids.list;
    uint32_t id = s->a_ids.base;

    for (size_t i = 0; i < s->m; i++) {
        if (c[i] != 0 && s->b != NULL)
            adx_add_scaled(s->k, c[i], s->b, list, id, s->a_ids.col, adj);
        if (c[i] != 0 && s->a != NULL)
            adx_add_scaled(s->k, c[i], &s->a[i * s->k], s->b_ids.list,
                           s->b_ids.base, s->b_ids.row, adj);
        id += s->a_ids.row;
        if (list != NULL)
            list += s->k;
    }
}
#endif

// The general case: any number of directions, any ids.
ADX_INLINE void adx_product_reverse_w(const adx_product *s, ad_real adj[],
                                      size_t W, bool care)
{
    const ad_real *from = &adj[s->e.first * W];
    size_t n = s->n;

    for (size_t i = 0; i < s->m; i++, from += n * W)
        for (size_t l = 0; l < s->k; l++)
            for (size_t j = 0; j < n; j++) {
                size_t x = adx_id_of(&s->a_ids, i, l, s->k);
                size_t y = adx_id_of(&s->b_ids, l, j, n);
                if (x != 0)
                    adx_chain(&adj[x * W], s->b[l * n + j], &from[j * W], W,
                              care);
                if (y != 0)
                    adx_chain(&adj[y * W], s->a[i * s->k + l], &from[j * W],
                              W, care);
            }
}

// Whether adx_product_fast and adx_triangle_fast can take operands with these
// ids.
static bool adx_rows_fit(const adx_ids *ids)
{
    return adx_is_constant(ids) || adx_adjacent(ids);
}

// C = A B. The adjoints, with a prime for transposes: Ab += Cb B', Bb += A' Cb.
// Which of the loops is used depends on the number of directions, on how the
// ids lie, and on whether zero factors need care.
static bool adx_product_reverse(const adx_extended *e, ad_real adj[],
                                ad_real scratch[], size_t W)
{
    const adx_product *s = (const adx_product *)e;
    (void)scratch;

    if (adx_zeros(e->values * W, &adj[e->first * W]))
        return true;
    bool care = !ADREV_FIXED
             && (s->e.care
                 || !adx_finite_all(e->values * W, &adj[e->first * W]));
    bool fast = W == 1 && !care && !ADREV_COUNT;
    if (fast && s->n == 1)
        adx_column_reverse(s, adj);
    else if (!ADREV_FIXED && fast && adx_rows_fit(&s->b_ids))
        adx_product_fast(s, adj);
    else if (!ADREV_FIXED && W == 4 && !care)
        adx_product_reverse_w(s, adj, 4, false);
    else if (!ADREV_FIXED && W == 8 && !care)
        adx_product_reverse_w(s, adj, 8, false);
    else
        adx_product_reverse_w(s, adj, ADREV_FIXED ? 1 : W, true);
    return true;
}

// C = A B. The tangent of C is that of A times B, plus A times that of B.
static bool adx_product_forward(const adx_extended *e, ad_real tan[],
                                ad_real scratch[], size_t W)
{
    const adx_product *s = (const adx_product *)e;
    ad_real *c = &tan[e->first * W];
    (void)scratch;

    for (size_t i = 0; i < s->m; i++)
        for (size_t l = 0; l < s->k; l++)
            for (size_t j = 0; j < s->n; j++) {
                ad_real *to = &c[(i * s->n + j) * W];
                if (!adx_is_constant(&s->a_ids))
                    adx_chain(to, s->b[l * s->n + j],
                              &tan[adx_id_of(&s->a_ids, i, l, s->k) * W], W,
                              true);
                if (!adx_is_constant(&s->b_ids))
                    adx_chain(to, s->a[i * s->k + l],
                              &tan[adx_id_of(&s->b_ids, l, j, s->n) * W], W,
                              true);
            }
    return true;
}

static const char adx_product_rule_name[] = "product";
static const adx_rule adx_product_rule = {
    adx_product_rule_name, adx_product_reverse, adx_product_forward, NULL
};

#if ADREV_FIXED
// Adds the entry of a product: the struct, then the matrices that are saved,
// then room for the lists of ids. The caller packs the matrices and writes the
// lists. NULL: all numbers are constants, or the tape has failed.
ADX_INLINE adx_product *adx_lay_product(size_t m, size_t k, size_t n,
                                        uint64_t a_ids, uint32_t a_row,
                                        uint64_t b_ids, uint32_t b_row)
{
    const size_t a_saved = b_ids == 0 ? 0 : m * k;
    const size_t b_saved = a_ids == 0 ? 0 : k * n;
    const size_t listed = (adx_is_list(a_ids) ? m * k : 0)
                        + (adx_is_list(b_ids) ? k * n : 0);
    if ((a_ids | b_ids) == 0 || adx_now.tape->status != ADREV_OK)
        return NULL;
    adx_product *s = adx_add_extended(&adx_product_rule,
        sizeof *s + (a_saved + b_saved) * sizeof(ad_real)
            + listed * sizeof(uint32_t), m * n, (m + n) * k);
    if (s == NULL)
        return NULL;
    ad_real *room = (ad_real *)(s + 1);
    s->a = a_saved == 0 ? NULL : room;
    room += a_saved;
    s->b = b_saved == 0 ? NULL : room;
    uint32_t *list = (uint32_t *)(void *)(room + b_saved);
    s->m = m;
    s->k = k;
    s->n = n;
    adx_set_ids(&s->a_ids, a_ids, a_row);
    adx_set_ids(&s->b_ids, b_ids, b_row);
    s->a_ids.list = s->a_ids.listed ? list : NULL;
    list += s->a_ids.listed ? m * k : 0;
    s->b_ids.list = s->b_ids.listed ? list : NULL;
    return s;
}

static void adx_fill_matrix(const adx_view *a, adx_ids *ids, ad_real *saved)
{
    if (saved != NULL)
        adx_pack_view(a, saved);
    if (ids->listed)
        adx_write_ids(a, ids, ids->list);
}

// Records a product; no value is known before.
static adx_product *adx_add_product(const adx_view *a, const adx_view *b,
                                    const ad_real **value)
{
    uint32_t a_row;
    uint32_t b_row;
    *value = NULL;
    if (adx_view_size(a) == 0 || b->cols == 0 || !adx_recording())
        return NULL;
    const uint64_t a_ids = adx_spacing_of(a, &a_row);
    const uint64_t b_ids = adx_spacing_of(b, &b_row);
    adx_product *s = adx_lay_product(a->rows, a->cols, b->cols, a_ids, a_row,
                                     b_ids, b_row);
    if (s == NULL)
        return NULL;
    ADX_TALLY(forward, add, a->rows * (a->cols - 1) * b->cols);
    ADX_TALLY(forward, mul, adx_view_size(a) * b->cols);
    adx_fill_matrix(a, &s->a_ids, s->a);
    adx_fill_matrix(b, &s->b_ids, s->b);
    return s;
}

// Records y = A x.
ADX_INLINE adx_product *adx_add_matvec(const adx_view *a, const ad_rev *x,
                                       ptrdiff_t incx)
{
    uint32_t row = 0;
    const size_t k = a->cols;
    if (adx_view_size(a) == 0 || !adx_recording())
        return NULL;
    const uint64_t a_ids = a->x == NULL ? 0 : adx_spacing_of(a, &row);
    const uint64_t x_ids = adx_spacing(k, x, incx);
    adx_product *s = adx_lay_product(a->rows, k, 1, a_ids, row, x_ids,
                                     (uint32_t)(x_ids >> 32));
    if (s == NULL)
        return NULL;
    ADX_TALLY(forward, add, a->rows * (k - 1));
    ADX_TALLY(forward, mul, a->rows * k);
    adx_fill_matrix(a, &s->a_ids, s->a);
    if (s->b != NULL)
        adx_pack_row(k, &x->v, incx * ADX_UNIT, s->b);
    if (s->b_ids.listed)
        adx_write_row(k, x, incx, &s->b_ids);
    return s;
}
#else
// Packs A and B right where the entry of the product will lie, before that
// entry is made, so that large matrices are read once: while they are packed,
// it is checked that their ids are as evenly spaced as the corners promise. If
// they turn out not to be, nothing has been recorded yet, and the caller
// classifies and packs in the usual way.
//
// For a vector B the results are computed in the same pass, while a row is in
// the cache, into the free room behind the entry. They stay there until another
// entry is made. (bench: matvec, arrays, 0.95.)
static bool adx_product_ahead(const adx_view *a, const adx_view *b,
                              adx_ids *ai, adx_ids *bi, ad_real *fault,
                              const ad_real **value)
{
    size_t bytes = sizeof(adx_product)
                 + (adx_view_size(a) + adx_view_size(b)) * sizeof(ad_real);
    *ai = adx_ids_of_corners(a);
    *bi = adx_ids_of_corners(b);
    if (ADREV_DEBUG || ADX_TRACED || ai->base == 0 || bi->base == 0)
        return false;
    adx_ahead ahead = adx_look_ahead(bytes, a->rows * sizeof(ad_real));
    if (ahead.payload == NULL)
        return false;
    ad_real *at = (ad_real *)((adx_product *)ahead.payload + 1);
    ad_real *column = at + adx_view_size(a);
    ad_real *product = b->cols == 1 ? (ad_real *)ahead.behind : NULL;
    bool even = adx_pack_even(b, bi, column, fault);
    for (size_t i = 0; even && i < a->rows; i++, at += a->cols) {
        even = adx_pack_even_at(a, ai, i, at, fault);
        if (product != NULL)
            product[i] = adx_inner_product(a->cols, at, column);
    }
    // a block that was added for this entry is of no use to others
    if (!even && ahead.added != NULL)
        adx_drop_next(adx_now.tape);
    *value = even ? product : NULL;
    return even;
}

// Adds the entry of a product: the struct, then the matrices that are saved,
// then the lists of ids. If both matrices are packed already, they lie where
// this puts them.
static adx_product *adx_lay_product(const adx_view *a, const adx_view *b,
                                    const adx_ids *ai, const adx_ids *bi)
{
    size_t a_size = adx_view_size(a);
    size_t b_size = adx_view_size(b);
    size_t a_saved = adx_is_constant(bi) ? 0 : a_size;
    size_t b_saved = adx_is_constant(ai) ? 0 : b_size;
    size_t listed = (ai->listed ? a_size : 0) + (bi->listed ? b_size : 0);
    adx_product *s = adx_add_extended(&adx_product_rule,
        sizeof *s + (a_saved + b_saved) * sizeof(ad_real)
            + listed * sizeof(uint32_t), a->rows * b->cols, a_size + b_size);
    if (s == NULL)
        return NULL;

    ad_real *room = (ad_real *)(s + 1);
    s->m = a->rows;
    s->k = a->cols;
    s->n = b->cols;
    s->a_ids = *ai;
    s->b_ids = *bi;
    s->a = adx_is_constant(bi) ? NULL : room;
    s->b = adx_is_constant(ai) ? NULL : room + a_saved;
    uint32_t *list = (uint32_t *)(void *)(room + a_saved + b_saved);
    list = adx_write_list(a, &s->a_ids, list);
    adx_write_list(b, &s->b_ids, list);
    return s;
}

// Records a product. *value points to the results if they are known already,
// else it is NULL.
static adx_product *adx_add_product(const adx_view *a, const adx_view *b,
                                    const ad_real **value)
{
    *value = NULL;
    if (adx_view_size(a) == 0 || b->cols == 0 || !adx_recording())
        return NULL;
    adx_ids ai;
    adx_ids bi;
    ad_real fault = 0;
    bool packed = adx_product_ahead(a, b, &ai, &bi, &fault, value);
    if (!packed) {
        ai = adx_classify(a);
        bi = adx_classify(b);
    }
    if ((adx_is_constant(&ai) && adx_is_constant(&bi))
        || adx_now.tape->status != ADREV_OK)
        return NULL;
    adx_product *s = adx_lay_product(a, b, &ai, &bi);
    if (s == NULL)
        return NULL;
    ADX_TALLY(forward, add, a->rows * (a->cols - 1) * b->cols);
    ADX_TALLY(forward, mul, adx_view_size(a) * b->cols);
    if (!packed && s->a != NULL)
        fault += adx_pack_view(a, s->a);
    if (!packed && s->b != NULL)
        fault += adx_pack_view(b, s->b);
    s->e.care = fault != 0;
    return s;
}
#endif

static const adx_product *adx_add_matrices(const adx_view *a, const adx_view *b,
                                           const ad_real **value)
{
    const adx_product *s = adx_add_product(a, b, value);
    adx_tell_array(ADREV_ARRAY_matmul, ADREV_OP_COUNT, ADX_BASE(s), a, b, NULL);
    return s;
}

// Columns of C are computed in panels of so many, so that their part of B stays
// in the cache and their sums on the stack. (A product of 768 x 768 instead of
// row by row, gcc: 0.5.)
#define ADX_COLUMNS 128

// Computes a panel: n columns of C, from column `from` on. Row i of it is the
// sum of the rows l of B, each times element (i, l) of A. If the statement s
// has saved B, its rows are contiguous, and the sum is a loop over vectors.
static void adx_multiply_panel(const adx_view *a, const adx_view *b,
                               const adx_product *s, size_t from, size_t n,
                               ad_rev C[], ptrdiff_t rs, ptrdiff_t cs)
{
    for (size_t i = 0; i < a->rows; i++) {
        ad_real sum[ADX_COLUMNS] = {0};
        for (size_t l = 0; l < a->cols; l++) {
            ad_real x = adx_element(a, i, l);
            if (s != NULL && s->b != NULL)
                adx_axpy(n, x, &s->b[l * b->cols + from], sum);
            else
                for (size_t j = 0; j < n; j++)
                    sum[j] += x * adx_element(b, l, from + j);
        }
        adx_put_results(ADX_BASE(s), i * b->cols + from, n, sum,
                        &C[(ptrdiff_t)i * rs + (ptrdiff_t)from * cs], cs);
    }
}

static void adx_multiply(const adx_view *a, const adx_view *b,
                         const adx_product *s, ad_rev C[], ptrdiff_t rs,
                         ptrdiff_t cs)
{
    for (size_t from = 0; from < b->cols; from += ADX_COLUMNS) {
        size_t left = b->cols - from;
        adx_multiply_panel(a, b, s, from,
                           left < ADX_COLUMNS ? left : ADX_COLUMNS, C, rs, cs);
    }
}

#if ADREV_FIXED
// y = A x, recorded and computed.
static void adx_matvec(const adx_view *a, const ad_rev *x, ptrdiff_t incx,
                       ad_rev *y, ptrdiff_t incy)
{
    incx = a->cols > 1 ? incx : 0;
    incy = a->rows > 1 ? incy : 0;
    const adx_product *s = adx_add_matvec(a, x, incx);
    const ptrdiff_t along = a->cs * a->unit;
    const ptrdiff_t down = a->rs * a->unit;
    const ptrdiff_t stride = incx * ADX_UNIT;
    const size_t k = a->cols;
    const ad_real *row = a->v;
    const ad_real *v = adx_first_value(x);
    for (size_t i = 0; i < a->rows; i++, y += incy) {
        const ad_real sum = adx_few_products(0, k, row, along, v, stride);
        adx_set_result(y, sum, ADX_BASE(s), i);
        if (k > 0)              // else there may be no array, and no NULL + 0
            row += down;
    }
}
#else
// y = A x, by scalar products, or from the results that adx_product_ahead left.
static void adx_multiply_vector(const adx_view *a, const adx_view *x,
                                const adx_product *s, const ad_real value[],
                                ad_rev y[], ptrdiff_t inc)
{
    const ptrdiff_t along = a->cs * a->unit;
    const ptrdiff_t down = x->rs * x->unit;
    // without columns there may be no array, and NULL + 0 is undefined
    const bool empty = a->cols == 0;
    for (size_t i = 0; i < a->rows; i++) {
        const ad_real *row = empty ? a->v
                           : a->v + (ptrdiff_t)i * a->rs * a->unit;
        ad_real v = value != NULL ? value[i]
                  : adx_products(a->cols, row, along, x->v, down);
        adx_set_result(&y[(ptrdiff_t)i * inc], v, ADX_BASE(s), i);
    }
}

static void adx_matvec(const adx_view *a, const ad_rev *x, ptrdiff_t incx,
                       ad_rev *y, ptrdiff_t incy)
{
    const adx_view column = adx_matrix(a->cols, 1, x, incx, 0);
    const ad_real *value;
    const adx_product *s = adx_add_matrices(a, &column, &value);
    adx_multiply_vector(a, &column, s, value, y, incy);
}
#endif

#if ADREV_FIXED
// A scalar product. The values of y are the partials of x, and those of x the
// ones of y, where they are wanted.
ADX_INLINE ad_real adx_dot_row(size_t n, const ad_rev *x, ptrdiff_t incx,
                               const ad_rev *y, ptrdiff_t incy, ad_real *dx,
                               ad_real *dy)
{
    ad_real total = 0;
    for (; n > 0; n--, x += incx, y += incy) {
        const ad_real a = x->v;
        const ad_real b = y->v;
        if (dx != NULL)
            *dx++ = b;
        if (dy != NULL)
            *dy++ = a;
        total += a * b;
    }
    return total;
}

// A linear statement: the partials of each array are the values of the other.
// Of an array with itself they are 2 x.
ADX_FRAME ADX_API ad_rev (ad_dot_s)(size_t n, const ad_rev *x, ptrdiff_t incx,
                                    const ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, y, incy))
        return adx_no_result();
    incx = n > 1 ? incx : 0;
    incy = n > 1 ? incy : 0;
    const size_t spans = x == y && incx == incy ? 1 : 2;
    adx_linear *s = NULL;
    ad_rev z;
    if (n > 0 && adx_recording()) {
        const uint64_t ids[2] = { adx_spacing(n, x, incx),
                                  spans == 1 ? 0 : adx_spacing(n, y, incy) };
        s = adx_lay_linear(n, false, spans, ids, 3);
    }
    ADX_TALLY(forward, add, s == NULL ? 0 : n - 1);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n);
    ad_real *dx = NULL;
    ad_real *dy = NULL;
    if (s != NULL) {
        dx = adx_fill_span(n, x, incx, &s->span[0]);
        if (spans == 2)
            dy = adx_fill_span(n, y, incy, &s->span[1]);
    }
    const ad_real sum = adx_dot_row(n, x, incx, y, incy, dx, dy);
    for (size_t i = 0; spans == 1 && s != NULL && i < n; i++)
        dx[i] *= 2;
    adx_set_result(&z, sum, ADX_BASE(s), 0);
    return z;
}
#else
// x . x: one span of n operands with partials 2 x, half of what a product of
// two vectors would store.
static ad_rev adx_square_sum(const adx_view *x)
{
    const adx_addend addend = { .x = *x, .d = x, .scale = 2 };
    return adx_sum_of(adx_scalar_product(x, x), x->cols, &addend);
}

ADX_API ad_rev (ad_dot_s)(size_t n, const ad_rev *x, ptrdiff_t incx,
                          const ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, y, incy))
        return adx_no_result();
    const adx_view a = adx_vector(n, x, incx);
    const adx_view b = adx_vector(n, y, incy);
    if (x == y && incx == incy)
        return adx_square_sum(&a);
    ad_rev z;
    const adx_view column = adx_matrix(n, 1, y, incy, 0);
    const ad_real *value;
    const adx_product *s = adx_add_product(&a, &column, &value);
    adx_tell_array(ADREV_ARRAY_dot, ADREV_OP_COUNT, ADX_BASE(s),
                   &a, &b, NULL);
    adx_multiply_vector(&a, &column, s, value, &z, 1);
    return z;
}
#endif

ADX_API void (ad_matmul_s)(size_t m, size_t k, size_t n, const ad_rev *A,
                           ptrdiff_t ars, ptrdiff_t acs, const ad_rev *B,
                           ptrdiff_t brs, ptrdiff_t bcs, ad_rev *C,
                           ptrdiff_t crs, ptrdiff_t ccs)
{
    if (adx_missing_matrix(m, k, A, ars, acs)
        || adx_missing_matrix(k, n, B, brs, bcs)
        || adx_missing_matrix(m, n, C, crs, ccs) || m == 0 || n == 0)
        return;
    const adx_view a = adx_matrix(m, k, A, ars, acs);
    if (n == 1) {
        adx_matvec(&a, B, brs, C, crs);
        return;
    }
    const adx_view b = adx_matrix(k, n, B, brs, bcs);
    const ad_real *value;
    adx_multiply(&a, &b, adx_add_matrices(&a, &b, &value), C, crs, ccs);
}

ADX_FRAME ADX_API void (ad_matvec_s)(size_t m, size_t n, const ad_rev *A,
                                     ptrdiff_t ars, ptrdiff_t acs,
                                     const ad_rev *x, ptrdiff_t incx,
                                     ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_matrix(m, n, A, ars, acs) || adx_missing_s(n, x, incx)
        || adx_missing_s(m, y, incy))
        return;
    const adx_view a = adx_matrix(m, n, A, ars, acs);
    adx_matvec(&a, x, incx, y, incy);
}

ADX_API void (ad_matvecc)(size_t m, size_t n, const ad_real A[],
                          const ad_rev x[], ad_rev y[])
{
    if (adx_missing(adx_size_times(m, n), A) || adx_missing(n, x)
        || adx_missing(m, y))
        return;
    const adx_view a = { NULL, A, m, n, (ptrdiff_t)n, 1, 1 };
    adx_matvec(&a, x, 1, y, 1);
}

/* --- a triangular matrix times a vector ---------------------------------- */

// y = L x. L has the diagonal d and, below it, l column by column. In reverse
//     xb[i] = d[i] yb[i] + the sum over j > i of l[j,i] yb[j],
//     db[i] = x[i] yb[i],
//     lb[j,i] = x[i] yb[j].
typedef struct adx_triangle {
    adx_extended e;
    size_t n;
    adx_ids d_ids;
    adx_ids l_ids;
    adx_ids x_ids;
    ad_real *d;                 // [n]
    ad_real *l;                 // [n(n-1)/2]
    ad_real *x;                 // [n]
} adx_triangle;

// One direction, adjacent ids, no factor that needs care. Column i of L and the
// adjoints of y below i are arrays of the same length, `below`.
static void adx_triangle_fast(const adx_triangle *s, ad_real adj[])
{
    const ad_real *y = &adj[s->e.first];
    const ad_real *l = s->l;
    ad_real *lb = adx_is_constant(&s->l_ids) ? NULL : &adj[s->l_ids.base];

    for (size_t i = 0; i < s->n; i++) {
        size_t below = s->n - 1 - i;
        if (!adx_is_constant(&s->d_ids))
            adj[s->d_ids.base + i] += s->x[i] * y[i];
        if (!adx_is_constant(&s->x_ids))
            adj[s->x_ids.base + i] += s->d[i] * y[i]
                                    + adx_inner_product(below, l, &y[i + 1]);
        if (lb != NULL) {
            adx_axpy(below, s->x[i], &y[i + 1], lb);
            lb += below;
        }
        l += below;
    }
}

// The general case: visits every element of L in any number of directions. It
// adds adjoints if `back`, else tangents.
static void adx_triangle_sweep(const adx_triangle *s, ad_real adj[], size_t W,
                               bool back)
{
    size_t at = 0;

    for (size_t i = 0; i < s->n; i++)
        for (size_t j = i; j < s->n; j++) {
            const adx_ids *ids = j == i ? &s->d_ids : &s->l_ids;
            ad_real c = j == i ? s->d[i] : s->l[at];
            ad_real *y = &adj[(s->e.first + j) * W];
            ad_real *element = &adj[adx_id(ids, j == i ? i : at) * W];
            ad_real *x = &adj[adx_id(&s->x_ids, i) * W];
            if (!adx_is_constant(ids))
                adx_chain(back ? element : y, s->x[i], back ? y : element, W,
                          true);
            if (!adx_is_constant(&s->x_ids))
                adx_chain(back ? x : y, c, back ? y : x, W, true);
            at += j > i;
        }
}

// The fast way is for one direction, adjacent ids and finite numbers; the other
// one is right for all.
static bool adx_triangle_reverse(const adx_extended *e, ad_real adj[],
                                 ad_real scratch[], size_t W)
{
    const adx_triangle *s = (const adx_triangle *)e;
    const ad_real *y = &adj[e->first * W];
    (void)scratch;

    if (adx_zeros(e->values * W, y))
        return true;
    if (!ADREV_FIXED && !ADREV_COUNT && W == 1 && !s->e.care
        && adx_finite_all(e->values, y) && adx_rows_fit(&s->d_ids)
        && adx_rows_fit(&s->l_ids) && adx_rows_fit(&s->x_ids))
        adx_triangle_fast(s, adj);
    else
        adx_triangle_sweep(s, adj, W, true);
    return true;
}

static bool adx_triangle_forward(const adx_extended *e, ad_real tan[],
                                 ad_real scratch[], size_t W)
{
    (void)scratch;
    adx_triangle_sweep((const adx_triangle *)e, tan, W, false);
    return true;
}

static const char adx_triangle_rule_name[] = "triangle";
static const adx_rule adx_triangle_rule = {
    adx_triangle_rule_name, adx_triangle_reverse, adx_triangle_forward, NULL
};

// Records the statement: the struct, then d, l and x, then the lists of ids.
// All three are saved, whichever are recorded.
static adx_triangle *adx_add_triangle(const adx_view *d, const adx_view *l,
                                      const adx_view *x)
{
    size_t n = x->cols;
    size_t below = l->cols;
    if (n == 0 || !adx_recording())
        return NULL;
    adx_ids di = adx_classify(d);
    adx_ids li = adx_classify(l);
    adx_ids xi = adx_classify(x);
    if ((adx_is_constant(&di) && adx_is_constant(&li) && adx_is_constant(&xi))
        || adx_now.tape->status != ADREV_OK)
        return NULL;
    size_t lists = (di.listed ? n : 0) + (li.listed ? below : 0)
                 + (xi.listed ? n : 0);
    adx_triangle *s = adx_add_extended(&adx_triangle_rule,
        sizeof *s + (2 * n + below) * sizeof(ad_real)
            + lists * sizeof(uint32_t), n, 2 * n + below);
    if (s == NULL)
        return NULL;

    s->n = n;
    s->d_ids = di;
    s->l_ids = li;
    s->x_ids = xi;
    s->d = (ad_real *)(s + 1);
    s->l = s->d + n;
    s->x = s->l + below;
    uint32_t *list = (uint32_t *)(void *)(s->x + n);
    list = adx_write_list(d, &s->d_ids, list);
    list = adx_write_list(l, &s->l_ids, list);
    adx_write_list(x, &s->x_ids, list);
    s->e.care = adx_pack_view(d, s->d) + adx_pack_view(l, s->l)
              + adx_pack_view(x, s->x) != 0;
    return s;
}

ADX_API void (ad_trimatvec)(size_t n, const ad_rev d[], const ad_rev l[],
                            const ad_rev x[], ad_rev y[])
{
    size_t below = n == 0 ? 0 : adx_size_times(n, n - 1) / 2;
    if (adx_missing(below, l) || adx_missing(n, x) || adx_missing(n, y))
        return;
    static const ad_real one = 1;
    const adx_view diagonal = d == NULL ? adx_constants(n, &one, 0)
                                        : adx_vector(n, d, 1);
    const adx_view lower = adx_vector(below, l, 1);
    const adx_view from = adx_vector(n, x, 1);
    const adx_triangle *s = adx_add_triangle(&diagonal, &lower, &from);

    adx_tell_array(ADREV_ARRAY_trimatvec, ADREV_OP_COUNT,
                   ADX_BASE(s), &diagonal, &lower, &from);
    ADX_TALLY(forward, add, s == NULL ? 0 : lower.cols);
    ADX_TALLY(forward, mul, s == NULL ? 0 : lower.cols + (d != NULL) * n);
    // the diagonal first, then column after column
    for (size_t i = 0; i < n; i++)
        adx_set_result(&y[i], adx_element(&diagonal, 0, i) * x[i].v,
                       ADX_BASE(s), i);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            y[j].v += (l++)->v * x[i].v;
}
