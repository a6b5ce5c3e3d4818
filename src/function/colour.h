#pragma once

/* === function/colour ========================================================
 * Colourings: which rows or columns can share one direction.
 *
 *   needs   tape/memory function/pattern
 *   offers  ADX_UNCOLOURED adx_full_from adx_is_full adx_colour_columns
 *           adx_colour_stars adx_best_colouring
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_UNCOLOURED UINT32_MAX

typedef struct adx_colouring {
    uint32_t *colour;           // of each column
    uint32_t colours;
} adx_colouring;

// Rows to be computed by themselves: so many of the fullest that these and the
// colours that the others need at least are fewest.
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
    return at;                  // rows with more entries than this
}

// Columns in the order of their number of entries, or as they stand.
static void adx_sort_columns(const adx_entries *t, bool sorted,
                             uint32_t order[],uint32_t bucket[])
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

// What a greedy colouring needs.
typedef struct adx_greedy {
    const adx_entries *g;         // rows: of columns
    const adx_entries *t;         // columns: of rows
    uint32_t full;              // rows with more entries do not count
    const uint32_t *order;
    uint32_t *colour;
    uint32_t *taken;            // [colour]: by which column, + 1
} adx_greedy;

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

// Columns that share a row get different colours. Returns their number.
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

// Two edges away from v by way of w. (Gebremedhin, Manne & Pothen, algorithm 4.1.)
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
// four has three colours. Full vertices come last, each with its own.
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

// The best of several orders; UINT32_MAX: no memory.
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
