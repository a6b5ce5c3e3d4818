#pragma once

/* === function/colour ========================================================
 * Colourings: columns (or rows) of one colour are computed in one direction.
 * Two kinds are made, both greedily: each vertex in turn gets the lowest colour
 * that is still free.
 *
 * For a Jacobian, columns that have an entry in one row get different colours
 * (a distance-2 colouring of the bipartite graph). Then each entry of a
 * direction belongs to one column. For a Hessian, a star colouring of the graph
 * of the matrix is enough: of two symmetric entries at least one can be read
 * off.
 *
 * A row with very many entries would need as many colours. Such rows are called
 * full: the colouring ignores them, and they are computed by themselves.
 *
 * The fewest colours cannot be found in reasonable time. A greedy colouring
 * visits, for each column, the entries of all rows that it has entries in: a
 * row of k entries takes k^2 steps; a star colouring may go one edge further.
 * (Gebremedhin, Manne & Pothen, What color is your Jacobian?)
 *
 *   needs   tape/memory function/pattern
 *   offers  ADX_UNCOLOURED adx_full_from adx_colour_columns adx_colour_stars
 *           adx_best_colouring
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_UNCOLOURED UINT32_MAX

typedef struct adx_colouring {
    uint32_t *colour;           // of each column
    uint32_t colours;
} adx_colouring;

// Which rows are full: those with more entries than what this returns. A row
// with n entries needs at least n colours. So n is chosen such that n, and the
// number of rows that have more entries, are fewest together. UINT32_MAX: no
// memory.
static uint32_t adx_full_from(const adx_entries *g, const ad_allocator *a)
{
    uint32_t *count = (uint32_t *)adx_take(a, g->cols + 1, sizeof *count);
    uint32_t best = (uint32_t)g->cols;
    uint32_t at = best;
    uint32_t longer = 0;
    if (count == NULL)
        return UINT32_MAX;
    memset(count, 0, (g->cols + 1) * sizeof *count);
    for (size_t i = 0; i < g->rows; i++)
        count[g->start[i + 1] - g->start[i]]++;
    for (uint32_t n = (uint32_t)g->cols + 1; n-- > 0; longer += count[n])
        if (longer + n < best || (longer == 0 && n < best)) {
            best = longer + n;
            at = n;
        }
    adx_drop(a, count);
    return at;
}

// The columns, those with most entries first (a counting sort), or as they
// stand.
static void adx_sort_columns(const adx_entries *t, bool sorted,
                             uint32_t order[], uint32_t bucket[])
{
    size_t n = t->rows;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    if (!sorted)
        return;
    memset(bucket, 0, (t->cols + 2) * sizeof *bucket);
    for (size_t i = 0; i < n; i++)
        bucket[t->cols - (t->start[i + 1] - t->start[i]) + 1]++;
    for (size_t i = 0; i <= t->cols; i++)
        bucket[i + 1] += bucket[i];
    for (uint32_t i = 0; i < n; i++)
        order[bucket[t->cols - (t->start[i + 1] - t->start[i])]++] = i;
}

// What a greedy colouring needs. A colour is taken for column v if v + 1 is
// noted for it, so that nothing has to be cleared from column to column.
typedef struct adx_greedy {
    const adx_entries *g;         // rows: of columns
    const adx_entries *t;         // columns: of rows
    uint32_t full;              // rows with more entries do not count
    const uint32_t *order;
    uint32_t *colour;
    uint32_t *taken;            // [colour] 1 + the last column it is taken for
} adx_greedy;

// The lowest colour that is not taken for v.
static uint32_t adx_free_colour(const adx_greedy *k, uint32_t v)
{
    uint32_t c = 0;
    while (k->taken[c] == v + 1)
        c++;
    return c;
}

static bool adx_is_full(const adx_greedy *k, uint32_t row)
{
    return k->g->start[row + 1] - k->g->start[row] > k->full;
}

// Colours columns so that those which share a row differ, full rows aside: for
// each column, the colours of all columns that share a row with it are taken.
// Returns the number of colours.
static uint32_t adx_colour_columns(const adx_greedy *k)
{
    uint32_t colours = 0;
    for (size_t i = 0; i < k->t->rows; i++) {
        uint32_t v = k->order[i];
        for (uint32_t a = k->t->start[v]; a < k->t->start[v + 1]; a++) {
            uint32_t row = k->t->col[a];
            if (adx_is_full(k, row))
                continue;
            for (uint32_t b = k->g->start[row]; b < k->g->start[row + 1]; b++) {
                uint32_t c = k->colour[k->g->col[b]];
                if (c != ADX_UNCOLOURED)
                    k->taken[c] = v + 1;
            }
        }
        uint32_t c = adx_free_colour(k, v);
        k->colour[v] = c;
        colours = c >= colours ? c + 1 : colours;
    }
    return colours;
}

// Colours that v may not have because of vertices x two edges away, by way of
// w. While w has no colour, v and x must differ, for w could be of any colour.
// When w has one, the path v w x must not go on to a y of the colour of w, if v
// is to have that of x. (Gebremedhin, Manne & Pothen, algorithm 4.1.)
static void adx_take_star(const adx_greedy *k, uint32_t v, uint32_t w)
{
    const adx_entries *g = k->g;
    for (uint32_t b = g->start[w]; b < g->start[w + 1]; b++) {
        uint32_t x = g->col[b];
        if (x == v || x == w || k->colour[x] == ADX_UNCOLOURED
            || adx_is_full(k, x))
            continue;
        bool taken = k->colour[w] == ADX_UNCOLOURED;
        for (uint32_t c = g->start[x]; c < g->start[x + 1] && !taken; c++) {
            uint32_t y = g->col[c];
            taken = y != w && y != x && k->colour[y] == k->colour[w]
                 && !adx_is_full(k, y);
        }
        if (taken)
            k->taken[k->colour[x]] = v + 1;
    }
}

// A star colouring of a symmetric graph: neighbours differ, and every path of
// four vertices has at least three colours. Full vertices come last, each with
// a colour of its own. Returns the number of colours.
static uint32_t adx_colour_stars(const adx_greedy *k)
{
    const adx_entries *g = k->g;
    uint32_t colours = 0;
    for (size_t i = 0; i < g->rows; i++) {
        uint32_t v = k->order[i];
        if (adx_is_full(k, v))
            continue;
        for (uint32_t a = g->start[v]; a < g->start[v + 1]; a++) {
            uint32_t w = g->col[a];
            if (w == v || adx_is_full(k, w))
                continue;
            if (k->colour[w] != ADX_UNCOLOURED)
                k->taken[k->colour[w]] = v + 1;
            adx_take_star(k, v, w);
        }
        uint32_t c = adx_free_colour(k, v);
        k->colour[v] = c;
        colours = c >= colours ? c + 1 : colours;
    }
    for (uint32_t v = 0; v < g->rows; v++)
        if (adx_is_full(k, v))
            k->colour[v] = colours++;
    return colours;
}

typedef uint32_t adx_colour_fn(const adx_greedy *k);

// Colours in two orders, as the columns stand and with the fullest first, and
// keeps the better one. Returns the number of colours; UINT32_MAX: no memory.
static uint32_t adx_best_colouring(const ad_allocator *a, const adx_entries *g,
                                   const adx_entries *t, uint32_t full,
                                   adx_colour_fn *colour, uint32_t best[])
{
    size_t n = t->rows;
    uint32_t *room = (uint32_t *)adx_take(a, 3 * n + t->cols + 4, sizeof *room);
    uint32_t fewest = UINT32_MAX;
    if (room == NULL)
        return UINT32_MAX;
    adx_greedy k = { g, t, full, room, room + n, room + 2 * n };
    for (int sorted = 0; sorted < 2; sorted++) {
        adx_sort_columns(t, sorted, room, room + 3 * n + 1);
        memset(k.colour, 0xff, n * sizeof *k.colour);
        memset(k.taken, 0, (n + 1) * sizeof *k.taken);
        uint32_t colours = colour(&k);
        if (colours < fewest) {
            fewest = colours;
            memcpy(best, k.colour, n * sizeof *best);
        }
    }
    adx_drop(a, room);
    return fewest;
}

ADX_SELDOM_END
