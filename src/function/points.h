#pragma once

/* === function/points ========================================================
 * Evaluates a function at many points, block by block, by machine code or by a
 * replay in lanes. If a block of machine code has a result that is not finite,
 * the block is done again in pieces of as many points as a replay has lanes. A
 * piece that still has such a result is replayed, and the lanes that have one
 * are replayed with care. So a point's bits do not depend on its neighbours.
 *
 * Adjoints are added in an order that does not depend on threads. So they wait
 * until their block is done or, if blocks run in parallel, until all blocks of
 * a batch are done. Then one thread adds them, block by block.
 *
 *   needs   tape/memory parallel/api function/api function/places
 *           function/arrays function/run function/functions
 *   offers  adx_mapping adx_map_all
 * ========================================================================== */

#define ADX_BATCH 64            // a batch has so many times ADREV_LANES_MOST
                                // points

// A call of ad_fn_map or its kin. Threads share it, block by block.
typedef struct adx_mapping {
    ad_fn *fn;
    adx_machine *machine;       // what is replayed
    adx_compiled *compiled;     // what runs in its place; NULL: nothing
    size_t points;
    size_t lanes;               // points of a block
    const ad_column *given[3];  // [given_n[i]] columns of the inputs, in the
    size_t given_n[3];          // order of the machine's: x, then weights or dx
    const ad_column *wanted[2]; // for the first results, and for the next ones
    size_t wanted_n[2];
    bool adds;                  // the first results are adjoints, to be added
    uint32_t *left;             // [points] see ad_fn_map
    ad_real *waiting;           // [blocks of a batch][results][lanes]; or NULL
    size_t first;               // first block of the batch
    bool done[ADX_BATCH];       // in parallel: blocks of the batch that are
                                // done
    atomic_int status;
} adx_mapping;

// Copies the numbers of n lanes. The arrays do not overlap, but gcc 12 makes
// `rep movs` of a memcpy that it knows to be short. (bench: burgers, replay,
// 0.77.)
static void adx_copy_lanes(size_t n, const ad_real from[], ad_real to[])
{
    memmove(to, from, n * sizeof *to);
}

// Fills in an input for n points. Lanes behind the last point repeat that
// point.
static void adx_fill_column(const ad_column *c, size_t point, size_t n,
                            size_t lanes, ad_real *w)
{
    const ad_real *v = c->v + (ptrdiff_t)point * c->step;
    if (c->step == 0) {
        ad_real all = *v;
        for (size_t l = 0; l < lanes; l++)
            w[l] = all;
        return;
    }
    if (c->step == 1)
        adx_copy_lanes(n, v, w);
    else
        for (size_t l = 0; l < n; l++)
            w[l] = v[(ptrdiff_t)l * c->step];
    for (size_t l = n; l < lanes; l++)
        w[l] = w[n - 1];
}

// Memory for one block after another. Parameters, which all points share, are
// filled in for the first block only; otherwise they would take half of the
// time (gmm, bench/).
typedef struct adx_block_memory {
    adx_workspace *work;        // of replays
    bool in_work;               // parameters have been filled in there
    adx_workspace *room;
    // For machine code: pointers to the columns of the inputs. Columns that are
    // not read in place are copied to the room.
    const ad_real **at;
    ad_real *filled;            // [inputs][lanes]
    bool in_room;               // parameters have been filled in there
    ad_real *y;                 // [results][lanes]; NULL: not needed
} adx_block_memory;

// Fills in the inputs of a piece for a replay.
static void adx_fill_block(const adx_mapping *k, size_t point, size_t n,
                           adx_block_memory *own)
{
    ad_real *w = own->work->w;
    for (size_t g = 0; g < 3; g++)
        for (size_t i = 0; i < k->given_n[g]; i++, w += ADREV_LANES_MOST)
            if (k->given[g][i].step != 0 || !own->in_work)
                adx_fill_column(&k->given[g][i], point, n, ADREV_LANES_MOST,
                                w);
    own->in_work = true;
}

// Returns the sum of n lanes, in an order that depends on n only.
static ad_real adx_sum_lanes(size_t n, const ad_real from[])
{
    ad_real sum[8] = {0};
    size_t l = 0;
    for (; l + 8 <= n; l += 8)
        for (size_t i = 0; i < 8; i++)
            sum[i] += from[l + i];
    for (; l < n; l++)
        sum[0] += from[l];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5]))
         + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

// Adds contributions to a column of adjoints, point by point. In a column of
// step 0 all points have the same adjoint, which gets their sum.
static void adx_add_column(const ad_column *to, size_t point, size_t n,
                           const ad_real from[])
{
    if (to->v == NULL)
        return;
    ad_real *v = to->v + (ptrdiff_t)point * to->step;
    if (to->step == 0)
        *v += adx_sum_lanes(n, from);
    else if (to->step == 1)
        for (size_t l = 0; l < n; l++)
            v[l] += from[l];
    else
        for (size_t l = 0; l < n; l++)
            v[(ptrdiff_t)l * to->step] += from[l];
}

// Writes a column of results for the lanes in `take`; NULL: for all lanes.
static void adx_store_column(const ad_column *to, size_t point, size_t n,
                             const ad_real from[], const bool take[])
{
    if (to->v != NULL && take == NULL && to->step == 1) {
        adx_copy_lanes(n, from, to->v + point);
        return;
    }
    for (size_t l = 0; to->v != NULL && l < n; l++)
        if (take == NULL || take[l])
            to->v[(ptrdiff_t)(point + l) * to->step] = from[l];
}

// Writes the results of a block that are not adjoints. Those of result r begin
// at from[r * k->lanes].
static void adx_store_block(const adx_mapping *k, size_t point, size_t n,
                            const ad_real from[])
{
    for (size_t g = 0; g < 2; g++)
        for (size_t i = 0; i < k->wanted_n[g]; i++, from += k->lanes)
            if (g != 0 || !k->adds)
                adx_store_column(&k->wanted[g][i], point, n, from, NULL);
}

// Adds the adjoints of a block.
static void adx_add_adjoints(const adx_mapping *k, size_t point, size_t n,
                             const ad_real y[])
{
    for (size_t i = 0; i < k->wanted_n[0]; i++)
        adx_add_column(&k->wanted[0][i], point, n, y + i * k->lanes);
}

// Takes the results of a replay from the lanes in `take`; NULL: from all lanes.
// Adjoints are stored in y, where they wait; if y is NULL, they are added at
// once.
static void adx_take_lanes(const adx_mapping *k, size_t point, size_t n,
                           const ad_real w[], const bool take[], ad_real y[])
{
    const uint32_t *output = k->machine->output;
    for (size_t g = 0; g < 2; g++)
        for (size_t i = 0; i < k->wanted_n[g]; i++) {
            const ad_column *to = &k->wanted[g][i];
            const ad_real *from = w + *output++ * ADREV_LANES_MOST;
            if (g != 0 || !k->adds)
                adx_store_column(to, point, n, from, take);
            else if (y == NULL)
                adx_add_column(to, point, n, from);
            else if (to->v != NULL)
                adx_store_column(&(ad_column){ y + i * k->lanes, 1 }, 0, n,
                                 from, take);
        }
}

// Finds the lanes that have a NaN among their results. Returns whether there
// are any.
static bool adx_lanes_with_nan(const adx_machine *m, const ad_real w[],
                               size_t n, bool nan[])
{
    ad_real fault[ADREV_LANES_MOST] = {0};
    bool any = false;
    for (size_t i = 0; i < m->outputs; i++)
        for (size_t l = 0; l < ADREV_LANES_MOST; l++)
            fault[l] += w[m->output[i] * ADREV_LANES_MOST + l] * 0;
    for (size_t l = 0; l < n; l++) {
        nan[l] = fault[l] != 0;
        any = any || nan[l];
    }
    return any;
}

// Notes the lanes that did not pass a guard. Returns whether there are any.
static bool adx_note_left(adx_mapping *k, size_t point, size_t n,
                          const uint32_t flipped[])
{
    bool any = false;
    for (size_t l = 0; l < n; l++) {
        any = any || flipped[l] != 0;
        if (k->left != NULL)
            k->left[point + l] = flipped[l];
    }
    int none = ADREV_OK;
    if (any)    // relaxed: it is read when all is joined. A failure stays
        atomic_compare_exchange_strong_explicit(&k->status, &none, ADREV_EPATH,
                                                memory_order_relaxed,
                                                memory_order_relaxed);
    return any;
}

// Notes the lanes of `of` in which an external node failed although all was
// done with care, and removes them from `of`.
static void adx_note_failed(adx_mapping *k, size_t point, size_t n,
                            const uint32_t flipped[], bool of[])
{
    for (size_t l = 0; l < n; l++) {
        if (!of[l] || flipped[l] == 0)
            continue;
        of[l] = false;
        if (k->left != NULL)
            k->left[point + l] = flipped[l];
        atomic_store_explicit(&k->status, ADREV_EEXTERNAL,
                              memory_order_relaxed);    // as above
    }
}

// Lanes in which an external node failed count as lanes with a NaN, since they
// may not fail when all is done with care.
static bool adx_forgive_failed(size_t n, uint32_t flipped[], bool nan[])
{
    bool any = false;
    for (size_t l = 0; l < n; l++) {
        if (flipped[l] != ADX_FAILED)
            continue;
        flipped[l] = 0;
        nan[l] = true;
        any = true;
    }
    return any;
}

// Finishes a piece in which some lanes failed at a guard or have a NaN. The
// good lanes give their results first. Then those with a NaN are done again
// with care (see adx_run_point). The adjoints of lanes that failed are 0.
static void adx_map_some(adx_mapping *k, adx_block_memory *own, size_t point,
                         size_t n, uint32_t flipped[], bool nan[], ad_real y[])
{
    ad_real *w = own->work->w;
    bool take[ADREV_LANES_MOST] = {0};
    for (size_t l = 0; l < n; l++) {
        take[l] = flipped[l] == 0 && !nan[l];
        nan[l] = flipped[l] == 0 && nan[l];
    }
    for (size_t i = 0; k->adds && i < k->wanted_n[0]; i++)
        memset(y + i * k->lanes, 0, n * sizeof *y);
    adx_take_lanes(k, point, n, w, take, y);
    adx_fill_block(k, point, n, own);
    adx_run_lanes(k->machine, w, ADREV_LANES_MOST, true, flipped);
    adx_note_failed(k, point, n, flipped, nan);
    adx_take_lanes(k, point, n, w, nan, y);
}

// Says where machine code finds its inputs. Columns whose numbers are side by
// side are read in place (burgers, bench/: copies took half of the time). But
// the code takes `lanes` points, and must not read behind the last one.
static void adx_point_columns(const adx_mapping *k, size_t point, size_t n,
                              size_t lanes, adx_block_memory *own)
{
    const ad_real **at = own->at;
    ad_real *w = own->filled;
    for (size_t g = 0; g < 3; g++)
        for (size_t i = 0; i < k->given_n[g]; i++, w += k->lanes) {
            const ad_column *c = &k->given[g][i];
            bool in_place = c->step == 1 && n == lanes;
            *at++ = in_place ? c->v + point : w;
            if (c->step == 0 && !own->in_room)
                adx_fill_column(c, point, n, k->lanes, w);
            else if (c->step != 0 && !in_place)
                adx_fill_column(c, point, n, lanes, w);
        }
    own->in_room = true;
}

// Evaluates n points by machine code. False: there is none, or a result is not
// finite.
static bool adx_map_compiled(const adx_mapping *k, adx_block_memory *own,
                             size_t point, size_t n, ad_real y[])
{
    size_t lanes = (n + ADREV_LANES_MOST - 1) / ADREV_LANES_MOST
                 * ADREV_LANES_MOST;
    if (k->compiled->block == NULL)
        return false;
    adx_point_columns(k, point, n, lanes, own);
    if (k->compiled->block(own->at, y, (long)lanes) != 0)
        return false;
    for (size_t l = 0; k->left != NULL && l < n; l++)
        k->left[point + l] = 0;
    adx_store_block(k, point, n, y);
    return true;
}

// Evaluates a piece of a block, of up to ADREV_LANES_MOST points, by a replay.
// Returns whether its adjoints have been added at once. They are if the piece
// is the whole block and blocks do not wait for one another. (bench: gmm-d10,
// replay, 0.8 of the way by y.)
static bool adx_map_lanes(adx_mapping *k, adx_block_memory *own, size_t point,
                          size_t n, ad_real y[])
{
    ad_real *w = own->work->w;
    uint32_t flipped[ADREV_LANES_MOST];
    bool nan[ADREV_LANES_MOST];
    if (adx_map_compiled(k, own, point, n, y))
        return false;
    adx_fill_block(k, point, n, own);
    adx_run_lanes(k->machine, w, ADREV_LANES_MOST, false, flipped);
    bool again = adx_lanes_with_nan(k->machine, w, n, nan);
    again = adx_forgive_failed(n, flipped, nan) || again;
    if (adx_note_left(k, point, n, flipped) || again) {
        adx_map_some(k, own, point, n, flipped, nan, y);
        return false;
    }
    bool alone = k->lanes == ADREV_LANES_MOST && k->waiting == NULL;
    adx_take_lanes(k, point, n, w, NULL, alone ? NULL : y);
    return alone;
}

static size_t adx_points_of(const adx_mapping *k, size_t block)
{
    size_t left = k->points - block * k->lanes;
    return left < k->lanes ? left : k->lanes;
}

// Evaluates a block. Its adjoints stay in y[results][lanes] if they wait for
// other blocks; else they are added.
static void adx_map_block(adx_mapping *k, adx_block_memory *own, size_t block,
                          ad_real y[])
{
    size_t point = block * k->lanes;
    size_t n = adx_points_of(k, block);
    bool added = false;         // only if there is a single piece
    if (n <= ADREV_LANES_MOST || !adx_map_compiled(k, own, point, n, y))
        for (size_t l = 0; l < n; l += ADREV_LANES_MOST)
            added = adx_map_lanes(k, own, point + l,
                                  n - l < ADREV_LANES_MOST ? n - l
                                                           : ADREV_LANES_MOST,
                                  y == NULL ? NULL : y + l);
    if (k->adds && k->waiting == NULL && !added)
        adx_add_adjoints(k, point, n, y);
}

static void adx_close_block_memory(const adx_mapping *k, adx_block_memory *own)
{
    adx_give_work(k->machine, own->work);
    if (own->room != NULL)
        adx_give_workspace(&k->compiled->spare_block, &k->fn->memory,
                           own->room);
}

// Takes the memory of one thread. False: there is none.
static bool adx_open_block_memory(const adx_mapping *k, adx_block_memory *own)
{
    adx_machine *m = k->machine;
    size_t pointers = (m->inputs * sizeof(ad_real *) + sizeof(ad_real) - 1)
                    / sizeof(ad_real);
    *own = (adx_block_memory){ .work = adx_take_work(m, ADREV_LANES_MOST) };
    if (own->work == NULL)
        return false;
    if (k->compiled->block == NULL && !k->adds)
        return true;            // a replay has its results in its workspace
    own->room = adx_take_workspace(&k->compiled->spare_block, &k->fn->memory,
                                   (m->inputs + m->outputs) * k->lanes
                                   + pointers + ADX_LINE);
    if (own->room == NULL) {
        adx_give_work(m, own->work);
        return false;
    }
    own->at = (const ad_real **)(void *)own->room->w;
    own->y = adx_align(own->room->w + pointers);
    own->filled = own->y + m->outputs * k->lanes;
    return true;
}

#ifdef ADREV_PARALLEL_H
static ad_real *adx_waiting_of(const adx_mapping *k, size_t block)
{
    return k->waiting + block * k->machine->outputs * k->lanes;
}

// Does the blocks of a batch from `begin` on that are not done yet.
static void adx_map_range(adx_mapping *k, adx_block_memory *own, size_t begin,
                          size_t end)
{
    for (size_t i = begin; i < end; i++) {
        if (!k->done[i])
            adx_map_block(k, own, k->first + i,
                          k->waiting == NULL ? own->y : adx_waiting_of(k, i));
        k->done[i] = true;
    }
}

// Does blocks of a batch with memory of this thread. If there is no memory,
// they stay undone.
static void adx_map_blocks(size_t begin, size_t end, void *user)
{
    adx_mapping *k = (adx_mapping *)user;
    adx_block_memory own;
    if (!adx_open_block_memory(k, &own))
        return;
    adx_map_range(k, &own, begin, end);
    adx_close_block_memory(k, &own);
}

// Does a batch in parallel, unless it is one block. Afterwards blocks for which
// a thread had no memory are done with `own`, and then all adjoints are added
// in order.
static void adx_map_batch(adx_mapping *k, adx_block_memory *own, size_t blocks)
{
    memset(k->done, 0, sizeof k->done);
    if (blocks > 1) {
        ad_tape *before = ad_use(NULL);
        ad_parallel_for(blocks, 4 * ADREV_LANES_MOST / k->lanes, adx_map_blocks,
                        k);
        ad_use(before);
    }
    adx_map_range(k, own, 0, blocks);
    for (size_t b = 0; k->adds && b < blocks; b++)
        adx_add_adjoints(k, (k->first + b) * k->lanes,
                         adx_points_of(k, k->first + b), adx_waiting_of(k, b));
}

// Does all blocks on the pool, batch after batch.
static ad_status adx_map_batches(adx_mapping *k, adx_block_memory *own,
                                 size_t blocks)
{
    size_t most = ADX_BATCH * ADREV_LANES_MOST / k->lanes;
    most = blocks < most ? blocks : most;
    if (k->adds)
        k->waiting = (ad_real *)adx_take(&k->fn->memory, most
            * k->machine->outputs * k->lanes, sizeof *k->waiting);
    if (k->adds && k->waiting == NULL)
        return ADREV_ENOMEM;
    for (; k->first < blocks; k->first += most)
        adx_map_batch(k, own, blocks - k->first < most ? blocks - k->first
                                                        : most);
    adx_drop(&k->fn->memory, k->waiting);
    return ADREV_OK;
}
#else
static ad_status adx_map_batches(adx_mapping *k, adx_block_memory *own,
                                 size_t blocks)
{
    for (size_t b = 0; b < blocks; b++)
        adx_map_block(k, own, b, own->y);
    return ADREV_OK;
}
#endif

// Whether a column that is not optional is missing, or one is longer than an
// array can be.
static bool adx_lacks_columns(size_t n, const ad_column c[], bool optional,
                              size_t points)
{
    if (c == NULL)
        return n > 0 && !optional;
    for (size_t i = 0; i < n; i++) {
        size_t spread = adx_spread_of(1, 0, points, c[i].step);
        if (c[i].v == NULL ? !optional : spread > ADX_MOST_ELEMENTS)
            return true;
    }
    return points > ADX_MOST_ELEMENTS;
}

// Evaluates a kind of program at all points.
static ad_status adx_map_all(adx_mapping *k, adx_kind kind)
{
    ad_status status = adx_machine_of(k->fn, kind, &k->machine);
    if (status != ADREV_OK)
        return status;
    k->compiled = &k->fn->compiled[kind];
    k->lanes = adx_lanes_of(k->machine->inputs, k->machine->outputs);
    atomic_init(&k->status, ADREV_OK);
    adx_block_memory own;
    if (!adx_open_block_memory(k, &own))
        return ADREV_ENOMEM;
    status = adx_map_batches(k, &own, (k->points + k->lanes - 1) / k->lanes);
    adx_close_block_memory(k, &own);
    return status != ADREV_OK ? status
         : (ad_status)atomic_load_explicit(&k->status, memory_order_relaxed);
}

ADX_API ad_status ad_fn_map(ad_fn *fn, size_t points, const ad_column x[],
                            const ad_column y[], uint32_t left[])
{
    if (fn == NULL || adx_lacks_columns(fn->n, x, false, points)
        || adx_lacks_columns(fn->m, y, y != NULL, points))
        return ADREV_ESHAPE;
    adx_mapping k = { .fn = fn, .points = points, .given = { x },
                      .given_n = { fn->n }, .wanted = { y },
                      .wanted_n = { fn->m }, .left = left };
    return adx_map_all(&k, ADX_KIND_value);
}

ADX_API ad_status ad_fn_map_jvp(ad_fn *fn, size_t points, const ad_column x[],
                                const ad_column dx[], const ad_column dy[],
                                uint32_t left[])
{
    if (fn == NULL || adx_lacks_columns(fn->n, x, false, points)
        || adx_lacks_columns(fn->variables, dx, false, points)
        || adx_lacks_columns(fn->m, dy, dy != NULL, points))
        return ADREV_ESHAPE;
    adx_mapping k = { .fn = fn, .points = points, .given = { x, dx },
                      .given_n = { fn->n, fn->variables }, .wanted = { dy },
                      .wanted_n = { fn->m }, .left = left };
    return adx_map_all(&k, ADX_KIND_jvp);
}

ADX_API ad_status ad_fn_map_vjp(ad_fn *fn, size_t points, const ad_column x[],
                                const ad_column w[], const ad_column dx[],
                                const ad_column y[], uint32_t left[])
{
    if (fn == NULL || adx_lacks_columns(fn->n, x, false, points)
        || adx_lacks_columns(fn->m, w, false, points)
        || adx_lacks_columns(fn->variables, dx, dx != NULL, points)
        || adx_lacks_columns(fn->m, y, true, points))
        return ADREV_ESHAPE;
    adx_mapping k = { .fn = fn, .points = points, .given = { x, w },
                      .given_n = { fn->n, fn->m }, .wanted = { dx, y },
                      .wanted_n = { fn->variables, y == NULL ? 0 : fn->m },
                      .adds = true, .left = left };
    return adx_map_all(&k, ADX_KIND_vjp);
}
