#pragma once

/* === tensor/matrices ========================================================
 * Products of matrices: terms C[i,j] += sum over l of A[i,l]*B[l,j], at all
 * points of a box. Any other variables are loops around. What is read may have
 * any strides. Panels of A and B are packed, so that a kernel reads them in
 * order and makes a tile of C in registers.
 *
 * Each number of C is the sum that a loop over the innermost summed variable
 * makes, one product after the other, beginning with what C holds: with the
 * constant k of the term
 *
 *     c = ((c + (k*a[0])*b[0]) + (k*a[1])*b[1]) + ...
 *
 * or, `fused`, c = fma(k*a[0], b[0], c) and so on. The loops of the term's nest
 * do the same, for the variable that they have innermost is i or j. They run
 * where there is no memory for panels. So bits depend on the sizes alone, if
 * the compiler does not contract.
 *
 *   needs   tape/memory tensor/api tensor/arena tensor/sets tensor/nests
 *           tensor/binding tensor/programs
 *   offers  adx_tensor_more adx_matrices adx_find_matrices adx_matrix_part
 *           adx_matrix_part_of adx_run_matrices
 * ========================================================================== */

// C += scale * A * B, where A is m x k and B is k x n. Numbers of a matrix are
// `..rs` apart from row to row, `..cs` from column to column.
typedef struct adx_matrix_product {
    int64_t m, k, n;
    const ad_real *a;
    int64_t ars, acs;
    const ad_real *b;
    int64_t brs, bcs;
    ad_real *c;
    int64_t crs, ccs;
    ad_real scale;
    bool right;                 // scales B in place of A
    bool fused;
} adx_matrix_product;

// A product and its sum stand in two functions: a compiler that contracts only
// within an expression leaves them apart.
ADX_INLINE ad_real adx_tensor_more(ad_real sum, ad_real product)
{
    return sum + product;
}

/* --- vectors ----------------------------------------------------------------
 * A tile has as many rows and vectors as there are registers for.            */

#ifdef ADX_LANES
#ifdef __AVX512F__
#define ADX_WIDE_BYTES 64
#define ADX_TILE_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#else
#ifdef __AVX__
#define ADX_WIDE_BYTES 32
#else
#define ADX_WIDE_BYTES 16
#endif
#define ADX_TILE_ROWS(DO) DO(0) DO(1) DO(2) DO(3)
#endif

typedef ad_real adx_wide __attribute__((vector_size(ADX_WIDE_BYTES),
                                        aligned(sizeof(ad_real)), may_alias));
enum { ADX_WIDE = ADX_WIDE_BYTES / sizeof(ad_real) };
#define ADX_ONE_ROW(r) + 1
enum { ADX_TILE_M = 0 ADX_TILE_ROWS(ADX_ONE_ROW), ADX_TILE_N = 3 * ADX_WIDE };
#undef ADX_ONE_ROW

// sum = fma(x, y, sum) of vectors. Where there is no instruction for it: fma of
// each number.
#ifdef __has_builtin
#define ADX_HAS_BUILTIN(name) __has_builtin(name)
#else
#define ADX_HAS_BUILTIN(name) 0
#endif
#if ADX_HAS_BUILTIN(__builtin_elementwise_fma)
#define ADX_WIDE_FMA(x, y, sum) sum = __builtin_elementwise_fma(x, y, sum)
#elif defined __AVX512F__ && ADX_HAS_BUILTIN(__builtin_ia32_vfmaddpd512_mask)
#ifdef __clang__
#define ADX_ALL_16 65535
#else
#define ADX_ALL_16 -1
#endif
#define ADX_WIDE_FMA_double(x, y, sum)                                      \
    __builtin_ia32_vfmaddpd512_mask(x, y, sum, (unsigned char)255, 4)
#define ADX_WIDE_FMA_float(x, y, sum)                                       \
    __builtin_ia32_vfmaddps512_mask(x, y, sum, ADX_ALL_16, 4)
#define ADX_WIDE_FMA(x, y, sum)                                             \
    sum = ADX_JOIN(ADX_WIDE_FMA_, ADREV_REAL)(x, y, sum)
#elif defined __FMA__ && !defined __AVX512F__                               \
    && ADX_HAS_BUILTIN(__builtin_ia32_vfmaddpd256)
#define ADX_WIDE_FMA_double(x, y, sum) __builtin_ia32_vfmaddpd256(x, y, sum)
#define ADX_WIDE_FMA_float(x, y, sum) __builtin_ia32_vfmaddps256(x, y, sum)
#define ADX_WIDE_FMA(x, y, sum)                                             \
    sum = ADX_JOIN(ADX_WIDE_FMA_, ADREV_REAL)(x, y, sum)
#else
#define ADX_WIDE_FMA(x, y, sum)                                             \
    for (int lane = 0; lane < ADX_WIDE; lane++)                             \
        sum[lane] = adm_fma(x[lane], y[lane], sum[lane])
#endif

#else
enum { ADX_TILE_M = 4, ADX_TILE_N = 8 };
#endif

// Numbers of a panel along k, m and n: a panel of A is to stay in the second
// cache, one of B in the third. (n = 768, AVX-512: 7 % faster than 256 x 128.)
enum { ADX_PANEL_K = 512, ADX_PANEL_M = 64, ADX_PANEL_N = 1536 };
// So few numbers stay where they are. (n = 96: 10 % faster than packed.)
enum { ADX_UNPACKED_MOST = 32768 };

/* --- packing -------------------------------------------------------------- */

// Packs `width` numbers for each of k, the next one `along` further; beyond
// `count` zeros.
ADX_INLINE void adx_pack_strip(int width, int64_t count, int64_t k,
                               const ad_real *from, int64_t stride,
                               int64_t along, ad_real *restrict to)
{
    for (; count >= width && k > 0; k--, from += along, to += width)
        for (int i = 0; i < width; i++)
            to[i] = from[i * stride];
    for (; k > 0; k--, from += along, to += width)
        for (int i = 0; i < width; i++)
            to[i] = i < count ? from[i * stride] : 0;
}

// Packs all strips of a panel, each for `width` rows or columns.
ADX_INLINE void adx_pack_panel(int width, int64_t count, int64_t k,
                               const ad_real *from, int64_t stride,
                               int64_t along, ad_real scale, ad_real *to)
{
    for (; count > 0; count -= width, from += width * stride, to += width * k) {
        if (stride == 1)
            adx_pack_strip(width, count, k, from, 1, along, to);
        else
            adx_pack_strip(width, count, k, from, stride, along, to);
        for (int64_t i = 0; scale != 1 && i < width * k; i++)
            to[i] = scale * to[i];
    }
}

// Packs a panel of A.
static void adx_pack_rows(int64_t count, int64_t k, const ad_real *from,
                          int64_t stride, int64_t along, ad_real scale,
                          ad_real *to)
{
    adx_pack_panel(ADX_TILE_M, count, k, from, stride, along, scale, to);
}

// Packs a panel of B.
static void adx_pack_columns(int64_t count, int64_t k, const ad_real *from,
                             int64_t stride, int64_t along, ad_real scale,
                             ad_real *to)
{
    adx_pack_panel(ADX_TILE_N, count, k, from, stride, along, scale, to);
}

/* --- tiles ---------------------------------------------------------------- */

#ifdef ADX_LANES

#define ADX_WIDE_AT(at) (*(adx_wide *)(at))
#define ADX_CONST_WIDE(at) (*(const adx_wide *)(at))
#define ADX_TILE_LOAD(r)                                                    \
    adx_wide sum##r##0 = ADX_WIDE_AT(c + r * stride);                       \
    adx_wide sum##r##1 = ADX_WIDE_AT(c + r * stride + ADX_WIDE);            \
    adx_wide sum##r##2 = ADX_WIDE_AT(c + r * stride + 2 * ADX_WIDE);
#define ADX_TILE_STORE(r)                                                   \
    ADX_WIDE_AT(c + r * stride) = sum##r##0;                                \
    ADX_WIDE_AT(c + r * stride + ADX_WIDE) = sum##r##1;                     \
    ADX_WIDE_AT(c + r * stride + 2 * ADX_WIDE) = sum##r##2;
#define ADX_TILE_ADD(r)                                                     \
    {                                                                       \
        const adx_wide x = a[r * row] - none;                               \
        const adx_wide p0 = x * y0;                                         \
        const adx_wide p1 = x * y1;                                         \
        const adx_wide p2 = x * y2;                                         \
        sum##r##0 = sum##r##0 + p0;                                         \
        sum##r##1 = sum##r##1 + p1;                                         \
        sum##r##2 = sum##r##2 + p2;                                         \
    }
#define ADX_TILE_FUSE(r)                                                    \
    {                                                                       \
        const adx_wide x = a[r * row] - none;                               \
        ADX_WIDE_FMA(x, y0, sum##r##0);                                     \
        ADX_WIDE_FMA(x, y1, sum##r##1);                                     \
        ADX_WIDE_FMA(x, y2, sum##r##2);                                     \
    }

// A tile of C, whose rows are `stride` apart, += a strip of A times one of B.
// Numbers of A are `row` and `column` apart, rows of B `next`.
#define ADX_DEFINE_TILE(name, DO)                                           \
    static void name(int64_t k, const ad_real *restrict a, int64_t row,     \
                     int64_t column, const ad_real *restrict b,             \
                     int64_t next, ad_real *restrict c, int64_t stride)     \
    {                                                                       \
        const adx_wide none = { 0 };                                        \
        ADX_TILE_ROWS(ADX_TILE_LOAD)                                        \
        for (; k > 0; k--, a += column, b += next) {                        \
            const adx_wide y0 = ADX_CONST_WIDE(b);                          \
            const adx_wide y1 = ADX_CONST_WIDE(b + ADX_WIDE);               \
            const adx_wide y2 = ADX_CONST_WIDE(b + 2 * ADX_WIDE);           \
            ADX_TILE_ROWS(DO)                                               \
        }                                                                   \
        ADX_TILE_ROWS(ADX_TILE_STORE)                                       \
    }
ADX_DEFINE_TILE(adx_add_tile, ADX_TILE_ADD)
ADX_DEFINE_TILE(adx_fuse_tile, ADX_TILE_FUSE)
#undef ADX_DEFINE_TILE

#else

// Adds to a tile where there are no vectors, one product after the other.
static void adx_add_tile(int64_t k, const ad_real *restrict a, int64_t row,
                         int64_t column, const ad_real *restrict b,
                         int64_t next, ad_real *restrict c, int64_t stride)
{
    for (; k > 0; k--, a += column, b += next)
        for (int i = 0; i < ADX_TILE_M; i++)
            for (int j = 0; j < ADX_TILE_N; j++)
                c[i * stride + j] = adx_tensor_more(c[i * stride + j],
                                                  a[i * row] * b[j]);
}

// Adds to a tile where there are no vectors, by fused multiplications.
static void adx_fuse_tile(int64_t k, const ad_real *restrict a, int64_t row,
                          int64_t column, const ad_real *restrict b,
                          int64_t next, ad_real *restrict c, int64_t stride)
{
    for (; k > 0; k--, a += column, b += next)
        for (int i = 0; i < ADX_TILE_M; i++)
            for (int j = 0; j < ADX_TILE_N; j++)
                c[i * stride + j] = adm_fma(a[i * row], b[j],
                                            c[i * stride + j]);
}

#endif

// Rows of A, or columns of B, for a tile: packed, or where they lie. The next
// one is `stride` further, numbers of the sum `along`.
typedef struct adx_matrix_strip {
    const ad_real *at;
    int64_t stride;
    int64_t along;
} adx_matrix_strip;

static void adx_run_tile(bool fused, int64_t k, adx_matrix_strip a,
                         adx_matrix_strip b, ad_real *c, int64_t stride)
{
    if (fused)
        adx_fuse_tile(k, a.at, a.stride, a.along, b.at, b.along, c, stride);
    else
        adx_add_tile(k, a.at, a.stride, a.along, b.at, b.along, c, stride);
}

// Adds to a tile at the edge of C, or one whose numbers do not lie side by
// side, by way of a tile that is full. What it has too much is not looked at.
static void adx_run_edge(const adx_matrix_product *p, int64_t m, int64_t n,
                         int64_t k, adx_matrix_strip a, adx_matrix_strip b,
                         ad_real *c)
{
    ad_real tile[ADX_TILE_M * ADX_TILE_N] = { 0 };
    m = m < ADX_TILE_M ? m : ADX_TILE_M;
    n = n < ADX_TILE_N ? n : ADX_TILE_N;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            tile[i * ADX_TILE_N + j] = c[i * p->crs + j * p->ccs];
    adx_run_tile(p->fused, k, a, b, tile, ADX_TILE_N);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            c[i * p->crs + j * p->ccs] = tile[i * ADX_TILE_N + j];
}

// Rows of A, or columns of B, of a part of a product.
typedef struct adx_matrix_side {
    int64_t count;
    int64_t tile;               // of them
    const ad_real *from;
    int64_t stride, along;      // as those of a strip
    ad_real scale;
    bool all;                   // are packed; else those of the last tile, if
                                // there are less than it has
    ad_real *packed;
} adx_matrix_side;

// Returns the strip of A or B from i on: packed, or in place where it is not.
static adx_matrix_strip adx_side_strip(const adx_matrix_side *s, int64_t k,
                                       int64_t i)
{
    const adx_matrix_strip packed = { s->packed + i * k, 1, s->tile };
    const adx_matrix_strip in_place = { s->from + i * s->stride, s->stride,
                                        s->along };
    return s->all || s->count - i < s->tile ? packed : in_place;
}

// Few numbers stay where they are.
static void adx_pack_side(adx_matrix_side *s, int64_t k)
{
    bool rows = s->tile == ADX_TILE_M;
    s->all = s->scale != 1 || s->count * k > ADX_UNPACKED_MOST
          || (!rows && s->stride != 1);
    int64_t i = s->all ? 0 : s->count / s->tile * s->tile;
    (rows ? adx_pack_rows : adx_pack_columns)(
        s->count - i, k, s->from + i * s->stride, s->stride, s->along, s->scale,
        s->packed + i * k);
}

// Computes m x n numbers of C from two panels: k products for each.
static void adx_run_panels(const adx_matrix_product *p,
                           const adx_matrix_side *a, const adx_matrix_side *b,
                           int64_t k, ad_real *c)
{
    for (int64_t j = 0; j < b->count; j += ADX_TILE_N)
        for (int64_t i = 0; i < a->count; i += ADX_TILE_M) {
            int64_t m = a->count - i;
            int64_t n = b->count - j;
            ad_real *to = c + i * p->crs + j * p->ccs;
            if (p->ccs == 1 && m >= ADX_TILE_M && n >= ADX_TILE_N)
                adx_run_tile(p->fused, k, adx_side_strip(a, k, i),
                             adx_side_strip(b, k, j), to, p->crs);
            else
                adx_run_edge(p, m, n, k, adx_side_strip(a, k, i),
                             adx_side_strip(b, k, j), to);
        }
}

/* --- products ------------------------------------------------------------- */

static int64_t adx_lesser_of(int64_t a, int64_t b) { return a < b ? a : b; }

// Returns n, rounded up to whole tiles.
static int64_t adx_whole_tiles(int64_t n, int64_t tile)
{
    return (n + tile - 1) / tile * tile;
}

// Says how many numbers a panel of A has, and one of B.
static void adx_panel_sizes(const adx_matrix_product *p, int64_t size[2])
{
    int64_t k = adx_lesser_of(p->k, ADX_PANEL_K);
    size[0] = k * adx_whole_tiles(adx_lesser_of(p->m, ADX_PANEL_M), ADX_TILE_M);
    size[1] = k * adx_whole_tiles(adx_lesser_of(p->n, ADX_PANEL_N), ADX_TILE_N);
}

// Turns a product so that C is written row by row: where its columns lie side
// by side, the transposed product is computed.
static void adx_turn_product(adx_matrix_product *p)
{
    const adx_matrix_product of = *p;
    if (p->ccs == 1 || p->crs != 1)
        return;
    p->m = of.n;
    p->n = of.m;
    p->a = of.b;
    p->ars = of.bcs;
    p->acs = of.brs;
    p->b = of.a;
    p->brs = of.acs;
    p->bcs = of.ars;
    p->crs = of.ccs;
    p->ccs = of.crs;
    p->right = !of.right;
}

// Computes a product; panel: room for a panel of A and one of B.
static void adx_run_matrix_product(const adx_matrix_product *p, ad_real *panel)
{
    int64_t size[2];
    adx_panel_sizes(p, size);
    adx_matrix_side a = { 0, ADX_TILE_M, p->a, p->ars, p->acs,
                          p->right ? 1 : p->scale, false, panel };
    adx_matrix_side b = { 0, ADX_TILE_N, p->b, p->bcs, p->brs,
                          p->right ? p->scale : 1, false, panel + size[0] };
    for (int64_t j = 0; j < p->n; j += ADX_PANEL_N)
        for (int64_t l = 0; l < p->k; l += ADX_PANEL_K) {
            int64_t k = adx_lesser_of(p->k - l, ADX_PANEL_K);
            b.count = adx_lesser_of(p->n - j, ADX_PANEL_N);
            b.from = p->b + l * p->brs + j * p->bcs;
            adx_pack_side(&b, k);
            for (int64_t i = 0; i < p->m; i += ADX_PANEL_M) {
                a.count = adx_lesser_of(p->m - i, ADX_PANEL_M);
                a.from = p->a + i * p->ars + l * p->acs;
                adx_pack_side(&a, k);
                adx_run_panels(p, &a, &b, k, p->c + i * p->crs + j * p->ccs);
            }
        }
}

/* --- terms that are products of matrices ---------------------------------- */

// A loop around the product; by how much places change: of what is written, and
// of the two factors.
typedef struct adx_matrix_loop {
    uint32_t var;
    int64_t n;
    int64_t stride[3];
} adx_matrix_loop;

typedef struct adx_matrices {
    adx_matrix_product product; // of the first numbers; without addresses
    uint32_t var[3];            // of m, k and n
    const int64_t *low;         // [vars]
    int64_t first[3];
    adx_matrix_loop *loop;      // the outermost first
    uint32_t loops;
} adx_matrices;

// Below this, the loops of a nest are as fast: then dot products may be summed
// in parts.
enum { ADX_MATRIX_LEAST = 8, ADX_PRODUCT_LEAST = 2048 };

ADX_SELDOM_BEGIN

// Places as forms of the variables: what is written, and the factors.
typedef struct adx_matrix_forms {
    const adx_set *set;
    int64_t *form[3];
} adx_matrix_forms;

// Finds the places of the three matrices of a product as forms in the variables
// of its set. False: no memory.
static bool adx_make_matrix_forms(ad_tensor *t, uint32_t value,
                                  const adx_tensor_term *term,
                                  adx_matrix_forms *f)
{
    f->set = term->set;
    for (int i = 0; i < 3; i++) {
        const adx_access to = i == 0 ? (adx_access){ value, term->out }
                                     : term->factor[i - 1];
        f->form[i] = ADX_GET(&t->arena, f->set->width, int64_t);
        if (f->form[i] == NULL)
            return false;
        adx_place_form(f->set, &t->program->value[to.value], to.row, true,
                       f->form[i]);
    }
    return true;
}

// Returns how many values a variable has in its bounds.
static int64_t adx_var_extent(const adx_set *s, uint32_t v)
{
    return s->high[v] - s->low[v] + 1;
}

// Returns the variable of the largest extent that is written and is in factor
// `in` only. UINT32_MAX: there is none.
static uint32_t adx_matrix_index(const adx_matrix_forms *f, int in)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t v = 0; v < f->set->vars; v++)
        if (!f->set->gone[v] && f->form[0][1 + v] != 0
            && f->form[in][1 + v] != 0 && f->form[3 - in][1 + v] == 0
            && (best == UINT32_MAX || adx_var_extent(f->set, v)
                                          >= adx_var_extent(f->set, best)))
            best = v;
    return best;
}

// Returns the innermost variable of a nest that is not written. UINT32_MAX:
// none.
static uint32_t adx_innermost_summed(const adx_matrix_forms *f,
                                     const adx_nest *nest)
{
    for (uint32_t l = nest->levels; l-- > 0;)
        if (f->form[0][1 + nest->level[l].var] == 0)
            return nest->level[l].var;
    return UINT32_MAX;
}

// Whether a term adds products of two numbers at all points of a box, and each
// index of what is written is that of one variable.
static bool adx_may_be_matrices(const adx_tensor_value *v,
                                const adx_tensor_term *term)
{
    uint64_t points = adx_box_points(term->set);
    bool may = v->kind == ADX_VALUE_SUM && term->most == 0 && term->factors == 2
            && !term->absorbs && points != UINT64_MAX
            && points >= ADX_PRODUCT_LEAST;
    for (uint32_t i = 0; may && i < v->dims; i++) {
        uint32_t count;
        uint32_t some;
        adx_divisor_of(term->set, adx_form_of(term->set, term->out + i), &count,
                       &some);
        may = count <= 1;
    }
    return may;
}

// The loops of a nest that are around the product, and where it begins.
static bool adx_add_matrix_loops(ad_tensor *t, const adx_matrix_forms *f,
                                 const adx_nest *nest, const uint32_t var[3],
                                 adx_matrices *to)
{
    to->loop = ADX_GET(&t->arena, nest->levels, adx_matrix_loop);
    for (int i = 0; i < 3; i++)
        to->first[i] = f->form[i][0];
    for (uint32_t l = 0; to->loop != NULL && l < nest->levels; l++) {
        uint32_t v = nest->level[l].var;
        bool inside = v == var[0] || v == var[1] || v == var[2];
        adx_matrix_loop *loop = &to->loop[to->loops];
        to->loops += !inside;
        for (int i = 0; i < 3; i++) {
            to->first[i] += f->form[i][1 + v] * f->set->low[v];
            if (!inside)
                loop->stride[i] = f->form[i][1 + v];
        }
        if (!inside) {
            loop->var = v;
            loop->n = adx_var_extent(f->set, v);
        }
    }
    return to->loop != NULL;
}

// Describes a term as a product of matrices inside loops: the extents of its
// three variables, and the strides of the three matrices. NULL: no memory.
static adx_matrices *adx_make_matrices(ad_tensor *t,
                                       const adx_matrix_forms *f,
                                       const adx_nest *nest,
                                       const uint32_t var[3], ad_real scale)
{
    adx_matrices *to = ADX_GET(&t->arena, 1, adx_matrices);
    int64_t *const *form = f->form;
    if (to == NULL || !adx_add_matrix_loops(t, f, nest, var, to))
        return NULL;
    memcpy(to->var, var, sizeof to->var);
    to->low = f->set->low;
    to->product = (adx_matrix_product){
        .m = adx_var_extent(f->set, var[0]),
        .k = adx_var_extent(f->set, var[1]),
        .n = adx_var_extent(f->set, var[2]),
        .ars = form[1][1 + var[0]], .acs = form[1][1 + var[1]],
        .brs = form[2][1 + var[1]], .bcs = form[2][1 + var[2]],
        .crs = form[0][1 + var[0]], .ccs = form[0][1 + var[2]],
        .scale = scale, .fused = t->options.fused
    };
    return to;
}

// Whether the numbers of C along v lie one beside the other.
static bool adx_is_side_by_side(const adx_matrix_forms *f, uint32_t v)
{
    return adx_is_unit(f->form[0][1 + v]);
}

// Returns a term that is a product of matrices, and a nest that adds in the
// same order. NULL: it is none, or no memory.
static adx_matrices *adx_find_matrices(ad_tensor *t, uint32_t value,
                                       const adx_tensor_term *term,
                                       const int64_t stride[],
                                       const adx_nest **nest)
{
    adx_matrix_forms f;
    if (!adx_may_be_matrices(&t->program->value[value], term)
        || !adx_make_matrix_forms(t, value, term, &f))
        return NULL;
    uint32_t var[3] = { adx_matrix_index(&f, 1), UINT32_MAX,
                        adx_matrix_index(&f, 2) };
    if (var[0] == UINT32_MAX || var[2] == UINT32_MAX
        || adx_var_extent(f.set, var[0]) < ADX_MATRIX_LEAST
        || adx_var_extent(f.set, var[2]) < ADX_MATRIX_LEAST)
        return NULL;
    bool columns = !adx_is_side_by_side(&f, var[2])
                && adx_is_side_by_side(&f, var[0]);
    const adx_nest *by = adx_make_nest(f.set, columns ? var[0] : var[2],
                                       stride);
    if (by == NULL)
        return NULL;
    var[1] = adx_innermost_summed(&f, by);
    if (var[1] == UINT32_MAX
        || adx_var_extent(f.set, var[1]) < ADX_MATRIX_LEAST)
        return NULL;
    *nest = by;
    return adx_make_matrices(t, &f, by, var, term->k);
}

ADX_SELDOM_END

/* --- evaluation ----------------------------------------------------------- */

// A part: n values of one variable, from its value number `from` on.
typedef struct adx_matrix_part {
    uint32_t var;               // UINT32_MAX: all
    int64_t from;
    int64_t n;
} adx_matrix_part;

typedef struct adx_matrix_walk {
    const adx_matrices *of;
    const ad_tensor *t;
    adx_matrix_part part;
    ad_real *room;
} adx_matrix_walk;

// How many values a variable has: as an index of the product, or in a loop.
static int64_t adx_values_of_var(const adx_matrices *m, uint32_t var)
{
    const int64_t size[3] = { m->product.m, m->product.k, m->product.n };
    for (int i = 0; i < 3; i++)
        if (m->var[i] == var)
            return size[i];
    for (uint32_t i = 0; i < m->loops; i++)
        if (m->loop[i].var == var)
            return m->loop[i].n;
    return 0;
}

// Returns the part in which lo <= f(x) < hi for a form of one variable.
static adx_matrix_part adx_matrix_part_of(const adx_matrices *m,
                                          const adx_sparse_form *f, int64_t lo,
                                          int64_t hi)
{
    if (f->n == 0)              // all, or nothing
        return (adx_matrix_part){ UINT32_MAX, 0, f->c >= lo && f->c < hi };
    const uint32_t var = f->var[0];
    const int64_t k = f->k[0];
    const int64_t low = m->low[var];
    // its least and largest value with lo <= c + k x <= hi - 1
    int64_t from = k > 0 ? adx_ceil_div(lo - f->c, k)
                         : adx_ceil_div(f->c - hi + 1, -k);
    int64_t last = k > 0 ? adx_floor_div(hi - 1 - f->c, k)
                         : adx_floor_div(f->c - lo, -k);
    const int64_t n = adx_values_of_var(m, var);
    from = from < low ? 0 : from - low;
    last = last - low < n ? last - low : n - 1;
    return (adx_matrix_part){ var, from, last - from + 1 };
}

// Returns the product itself, of a part, where these are the first numbers of
// all.
static adx_matrix_product adx_product_at(const adx_matrix_walk *w, ad_real *c,
                                         const ad_real *a, const ad_real *b)
{
    adx_matrix_product p = w->of->product;
    p.a = a;
    p.b = b;
    p.c = c;
    const adx_matrix_part *part = &w->part;
    if (w->of->var[0] == part->var) {
        p.m = part->n;
        p.a += part->from * p.ars;
        p.c += part->from * p.crs;
    } else if (w->of->var[1] == part->var) {
        p.k = part->n;
        p.a += part->from * p.acs;
        p.b += part->from * p.brs;
    } else if (w->of->var[2] == part->var) {
        p.n = part->n;
        p.b += part->from * p.bcs;
        p.c += part->from * p.ccs;
    }
    return p;
}

// A times the constant of the term, for the caller's function.
static void adx_scale_matrix(adx_matrix_product *p, ad_real *to)
{
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t l = 0; l < p->k; l++)
            to[i * p->k + l] = p->scale * p->a[i * p->ars + l * p->acs];
    p->a = to;
    p->ars = p->k;
    p->acs = 1;
}

// Runs the loops around a product of matrices, from number `loop` on, and
// inside them the product itself.
static void adx_run_matrix_loop(const adx_matrix_walk *w, uint32_t loop,
                                ad_real *c, const ad_real *a,
                                const ad_real *b)
{
    if (loop < w->of->loops) {
        const adx_matrix_loop *l = &w->of->loop[loop];
        bool part = l->var == w->part.var;
        int64_t end = part ? w->part.from + w->part.n : l->n;
        for (int64_t i = part ? w->part.from : 0; i < end; i++)
            adx_run_matrix_loop(w, loop + 1, c + i * l->stride[0],
                                a + i * l->stride[1], b + i * l->stride[2]);
        return;
    }
    adx_matrix_product p = adx_product_at(w, c, a, b);
    if (w->t->options.gemm == NULL) {
        adx_turn_product(&p);
        adx_run_matrix_product(&p, w->room);
        return;
    }
    if (p.scale != 1)
        adx_scale_matrix(&p, w->room);
    w->t->options.gemm((size_t)p.m, (size_t)p.k, (size_t)p.n,
                       p.a, (ptrdiff_t)p.ars, (ptrdiff_t)p.acs,
                       p.b, (ptrdiff_t)p.brs, (ptrdiff_t)p.bcs,
                       p.c, (ptrdiff_t)p.crs, (ptrdiff_t)p.ccs);
}

// Returns how many numbers of memory a product takes.
static int64_t adx_matrix_room(const ad_tensor *t, adx_matrix_product p)
{
    int64_t size[2];
    if (t->options.gemm != NULL)
        return p.scale == 1 ? 0 : p.m * p.k;
    adx_turn_product(&p);
    adx_panel_sizes(&p, size);
    return size[0] + size[1];
}

// Adds the products of a part to what is written; part NULL: all. False: no
// memory, and nothing was done.
static bool adx_run_matrices(ad_tensor *t, const adx_matrices *of,
                             const adx_matrix_part *part, ad_real *c,
                             const ad_real *a, const ad_real *b)
{
    const adx_matrix_part all = { UINT32_MAX, 0, 1 };
    if (part != NULL && part->n <= 0)
        return true;
    adx_spare *spare = &t->panels[adx_spare_of_thread()];
    adx_workspace *room = adx_take_workspace(
        spare, &t->memory, (size_t)adx_matrix_room(t, of->product));
    if (room == NULL)
        return false;
    const adx_matrix_walk w = { of, t, part == NULL ? all : *part, room->w };
    adx_run_matrix_loop(&w, 0, c + of->first[0], a + of->first[1],
                        b + of->first[2]);
    adx_give_workspace(spare, &t->memory, room);
    return true;
}
