#pragma once

/* === bulk/movements =========================================================
 * Movements copy numbers together with their ids, so they leave nothing on the
 * tape. The rows of y do not depend on each other, so large movements run in
 * parallel, in parts of 2^14 numbers. Fewer than 2^17 numbers are moved by one
 * thread: they are done before another thread is awake. Inside a branch one
 * thread moves all numbers, because a thread that waits for others runs other
 * branches meanwhile, and a copy is not worth that. A scatter is not cut into
 * parts, because its order matters.
 *
 *   needs   tape/memory parallel/pool bulk/folds
 * ========================================================================== */

// Whether n numbers from x and m numbers from y overlap in memory.
static bool adx_overlaps(const ad_rev *x, size_t n, const ad_rev *y, size_t m)
{
    uintptr_t a = (uintptr_t)x;
    uintptr_t b = (uintptr_t)y;
    return n > 0 && m > 0 && a < b + m * sizeof *y && b < a + n * sizeof *x;
}

// Whether n rows of x can be copied to m rows of y.
static bool adx_can_move(size_t n, const ad_rev *x, size_t m, const ad_rev *y,
                         size_t size)
{
    return !adx_bulk_huge(n, size) && !adx_bulk_huge(m, size)
        && (n * size == 0 || x != NULL) && (m * size == 0 || y != NULL)
        && !adx_overlaps(x, n * size, y, m * size);
}

// Copies row k of x to row i of y.
static void adx_move_row(ad_rev y[], size_t i, const ad_rev x[], size_t k,
                         size_t size)
{
    if (size == 1)
        y[i] = x[k];
    else if (size > 0)
        memcpy(y + i * size, x + k * size, size * sizeof *y);
}

#define ADX_TILE 8              // rows and columns that fit a cache together

typedef struct adx_walk adx_walk;
typedef struct adx_move adx_move;
typedef void adx_mover(const adx_move *m, size_t begin, size_t end);

// A movement: n rows of y, which `mover` copies from x.
struct adx_move {
    adx_mover *mover;
    const ad_rev *x;
    ad_rev *y;
    size_t n;
    size_t size;                // numbers of a row
    size_t first;               // slice: row k is row first + k*step of x
    size_t step;
    const ptrdiff_t *ix;        // gather: row k is row ix[k] of x
    const adx_walk *walk;       // rearrange
    bool tiled;                 // parts consist of whole tiles
    size_t grain;               // rows of a part
};

static void adx_move_slice(const adx_move *m, size_t begin, size_t end)
{
    const adx_move c = *m;      // a copy, which no y can overlap
    for (size_t k = begin; k < end; k++)
        adx_move_row(c.y, k, c.x, c.first + k * c.step, c.size);
}

static void adx_move_indexed(const adx_move *m, size_t begin, size_t end)
{
    const adx_move c = *m;
    for (size_t k = begin; k < end; k++)
        adx_move_row(c.y, k, c.x, (size_t)c.ix[k], c.size);
}

#ifdef ADREV_PARALLEL_IMPLEMENTED
#define ADX_MOVE_TOGETHER ((size_t)1 << 17)     // numbers that one thread moves
#define ADX_MOVE_PART ((size_t)1 << 14)         // numbers of a part

static void adx_move_part(size_t i, void *arg)
{
    const adx_move *m = (const adx_move *)arg;
    size_t begin = i * m->grain;
    size_t left = m->n - begin;
    m->mover(m, begin, begin + (left < m->grain ? left : m->grain));
}
#endif

// Moves all rows, in parallel if they are many.
static void adx_move_all(adx_move *m)
{
    if (m->n == 0 || m->size == 0)
        return;
#ifdef ADREV_PARALLEL_IMPLEMENTED
    if (adx_mine.inside == 0 && m->n > ADX_MOVE_TOGETHER / m->size) {
        size_t tiles = m->tiled ? ADX_TILE : 1;
        m->grain = (ADX_MOVE_PART / m->size / tiles + 1) * tiles;
        adx_execute(adx_mine.execute, adx_mine.user,
                    (m->n - 1) / m->grain + 1, adx_move_part, m);
        return;
    }
#endif
    m->mover(m, 0, m->n);
}

// Copies n rows of x to y: first, first + step, ...
static void adx_move_rows(size_t n, size_t size, const ad_rev x[],
                          size_t first, size_t step, ad_rev y[])
{
    adx_move m = { .mover = adx_move_slice, .x = x, .y = y, .n = n,
                   .size = size, .first = first, .step = step };
    adx_move_all(&m);
}

ADX_API ad_status ad_gather(size_t n, const ptrdiff_t ix[], size_t m,
                            size_t size, const ad_rev x[], ad_rev y[])
{
    bool right = adx_can_move(m, x, n, y, size) && (n == 0 || ix != NULL);
    for (size_t k = 0; right && k < n; k++)
        right = adx_inside(ix[k], m);
    if (!right)
        return adx_bulk_refuse(n, size, y);
    adx_move move = { .mover = adx_move_indexed, .x = x, .y = y, .n = n,
                      .size = size, .ix = ix };
    adx_move_all(&move);
    return ADREV_OK;
}

ADX_API ad_status ad_scatter(size_t n, const ptrdiff_t ix[], const ad_rev v[],
                             size_t m, size_t size, ad_rev y[])
{
    if (!adx_can_move(n, v, m, y, size) || (n > 0 && ix == NULL))
        return adx_bulk_refuse(m, size, y);
    for (size_t k = 0; k < n; k++)
        if (adx_inside(ix[k], m))
            adx_move_row(y, (size_t)ix[k], v, k, size);
    return ADREV_OK;
}

ADX_API ad_status ad_replicate(size_t n, size_t size, const ad_rev x[],
                               ad_rev y[])
{
    if (!adx_can_move(1, x, n, y, size))
        return adx_bulk_refuse(n, size, y);
    adx_move_rows(n, size, x, 0, 0, y);
    return ADREV_OK;
}

// Transposes: rows of x, m->n of m->size numbers, become columns of y. It goes
// tile by tile, so that each cache line that a tile touches is used as a whole.
static void adx_move_tiles(const adx_move *m, size_t begin, size_t end)
{
    const adx_move c = *m;
    for (size_t i0 = begin; i0 < end; i0 += ADX_TILE)
        for (size_t j0 = 0; j0 < c.size; j0 += ADX_TILE) {
            size_t i1 = i0 + ADX_TILE < end ? i0 + ADX_TILE : end;
            size_t j1 = j0 + ADX_TILE < c.size ? j0 + ADX_TILE : c.size;
            for (size_t j = j0; j < j1; j++)
                for (size_t i = i0; i < i1; i++)
                    c.y[j * c.n + i] = c.x[i * c.size + j];
        }
}

ADX_API ad_status ad_transpose(size_t m, size_t n, const ad_rev x[],
                               ad_rev y[])
{
    if (!adx_can_move(m, x, m, y, n))
        return adx_bulk_refuse(m, n, y);
    adx_move move = { .mover = adx_move_tiles, .x = x, .y = y, .n = m,
                      .size = n, .tiled = true };
    adx_move_all(&move);
    return ADREV_OK;
}

#define ADX_DIMENSIONS 16

// A walk through y in the order of its elements. Dimension k of y has this
// extent, and this stride in x.
struct adx_walk {
    size_t dims;
    size_t extent[ADX_DIMENSIONS];
    size_t stride[ADX_DIMENSIONS];
};

// Describes the walk of a rearrangement. Dimension k of y is dimension order[k]
// of x. *count becomes the number of elements, or stays 0 if that is not known.
// False: `order` is no permutation, or x is too large.
static bool adx_plan_walk(size_t dims, const size_t shape[],
                          const size_t order[], adx_walk *walk, size_t *count)
{
    size_t stride[ADX_DIMENSIONS];
    unsigned seen = 0;
    *count = 0;
    if (dims > ADX_DIMENSIONS || (dims > 0 && (shape == NULL || order == NULL)))
        return false;
    size_t total = 1;
    for (size_t k = dims; k-- > 0;) {
        stride[k] = total;
        if (adx_bulk_huge(total, shape[k]))
            return false;
        total *= shape[k];
    }
    *count = total;
    walk->dims = dims;
    for (size_t k = 0; k < dims; k++) {
        if (order[k] >= dims || (seen >> order[k] & 1) != 0)
            return false;
        seen |= 1u << order[k];
        walk->extent[k] = shape[order[k]];
        walk->stride[k] = stride[order[k]];
    }
    return true;
}

// Copies the elements of y from `begin` on. at[] are the indices of the current
// one, and `from` is its place in x. The indices move like the digits of a
// counter: the last one with each element, and any other when the one behind it
// starts again at 0.
static void adx_move_walk(const adx_move *m, size_t begin, size_t end)
{
    const adx_walk *w = m->walk;
    size_t at[ADX_DIMENSIONS];
    size_t from = 0;
    for (size_t k = w->dims, rest = begin; k-- > 0; rest /= w->extent[k]) {
        at[k] = rest % w->extent[k];
        from += at[k] * w->stride[k];
    }
    for (size_t i = begin; i < end; i++) {
        m->y[i] = m->x[from];
        for (size_t k = w->dims; k-- > 0;) {
            from += w->stride[k];
            if (++at[k] < w->extent[k])
                break;
            from -= at[k] * w->stride[k];
            at[k] = 0;
        }
    }
}

ADX_API ad_status ad_rearrange(size_t dims, const size_t shape[],
                               const size_t order[], const ad_rev x[],
                               ad_rev y[])
{
    adx_walk walk;
    size_t count;
    if (!adx_plan_walk(dims, shape, order, &walk, &count)
        || !adx_can_move(count, x, count, y, 1))
        return adx_bulk_refuse(count, 1, y);
    adx_move move = { .mover = adx_move_walk, .x = x, .y = y, .n = count,
                      .size = 1, .walk = &walk };
    adx_move_all(&move);
    return ADREV_OK;
}

ADX_API ad_status ad_concat(size_t parts, const size_t n[],
                            const ad_rev *const x[], size_t size, ad_rev y[])
{
    bool right = !adx_no_array(parts, n) && !adx_no_array(parts, x);
    size_t total = 0;
    for (size_t i = 0; right && i < parts; i++) {
        total = adx_size_plus(total, n[i]);
        right = !adx_bulk_huge(total, size);
    }
    total = right ? total : 0;
    for (size_t i = 0; right && i < parts; i++)
        right = adx_can_move(n[i], x[i], total, y, size);
    if (!right)
        return adx_bulk_refuse(total, size, y);
    for (size_t i = 0; i < parts; i++)
        if (n[i] * size > 0) {
            adx_move_rows(n[i], size, x[i], 0, 1, y);
            y += n[i] * size;
        }
    return ADREV_OK;
}

// Whether first, first + step, ... (n of them) are all below m.
static bool adx_slice_fits(size_t m, size_t first, ptrdiff_t step, size_t n)
{
    if (n == 0)
        return true;
    if (first >= m)
        return false;
    size_t by = step < 0 ? 0 - (size_t)step : (size_t)step;
    size_t room = step < 0 ? first : m - 1 - first;
    return by == 0 || (n - 1) <= room / by;
}

ADX_API ad_status ad_slice(size_t m, size_t size, const ad_rev x[],
                           size_t first, ptrdiff_t step, size_t n,
                           ad_rev y[])
{
    if (!adx_can_move(m, x, n, y, size) || !adx_slice_fits(m, first, step, n))
        return adx_bulk_refuse(n, size, y);
    adx_move_rows(n, size, x, first, (size_t)step, y);
    return ADREV_OK;
}

ADX_API ad_status ad_rotate(size_t n, size_t size, ptrdiff_t by,
                            const ad_rev x[], ad_rev y[])
{
    if (!adx_can_move(n, x, n, y, size))
        return adx_bulk_refuse(n, size, y);
    if (n * size == 0)
        return ADREV_OK;
    ptrdiff_t rest = by % (ptrdiff_t)n;
    size_t first = rest < 0 ? n - (0 - (size_t)rest) : (size_t)rest;
    size_t ahead = n - first;
    adx_move_rows(ahead, size, x, first, 1, y);
    adx_move_rows(first, size, x, 0, 1, y + ahead * size);
    return ADREV_OK;
}
