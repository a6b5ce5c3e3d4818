#pragma once

/* === function/directions ====================================================
 * Computes several rows or columns of a matrix at once: each lane has a
 * direction of its own. All lanes have the same point, so a guard fails in
 * every lane or in none.
 *
 *   needs   tape/memory function/api function/places function/arrays
 *           function/run function/functions function/evaluation
 *   offers  adx_directions adx_all_directions adx_fails_late adx_fill_dense
 * ========================================================================== */

// How many lanes n directions take: 4, 8 or 16, for which there are blocks
// (function/run); beyond, n rounded up to a multiple of 4, or the longest block
// if that is faster, even with lanes to spare. The loops of a block have a
// constant length and take half of the time. Calls of the math library gain
// nothing, since they cost the same for each lane, and arrays gain nothing
// either. (bench: skin, replay, 26 directions, 0.25 to 0.5 with 32 lanes
// instead of 28.)
static size_t adx_lanes_for(const adx_machine *m, size_t n)
{
    size_t few = (n + 3) / 4 * 4;
    if (few >= ADREV_LANES_MOST)
        return ADREV_LANES_MOST;
    size_t block = few <= 4 ? 4 : few <= 8 ? 8 : few <= 16 ? 16
                 : ADREV_LANES_MOST;
    bool gains = m->manys == 0 && m->calls * (block - few) < 2 * m->nodes;
    return gains ? block : few;
}

// Directions at one point. One of the given arrays is the direction: a unit
// vector, or the sum of several, whose entries form a group.
typedef struct adx_directions {
    ad_fn *fn;
    adx_kind kind;
    size_t gives;               // given arrays
    adx_given given[3];         // x NULL: the direction
    size_t n;                   // directions
    size_t results;             // of each direction
    const uint32_t *group;      // of each entry of a direction; NULL: its index
} adx_directions;

// Writes the inputs of all lanes. Lane l has direction first + l.
static void adx_fill_lanes(const adx_directions *d, ad_real w[], size_t lanes,
                           size_t first)
{
    for (size_t k = 0; k < d->gives; k++)
        for (size_t i = 0; i < d->given[k].n; i++, w += lanes) {
            const ad_real *x = d->given[k].x;
            ad_real same = x == NULL ? 0 : x[i];
            for (size_t l = 0; l < lanes; l++)
                w[l] = same;
            if (x != NULL)
                continue;               // groups are those of a direction
            size_t own = d->group == NULL ? i : d->group[i];
            if (own >= first && own - first < lanes)
                w[own - first] = 1;
        }
}

// A sum for each lane, so that no addition waits for the one before.
static bool adx_lanes_have_nan(const adx_machine *m, const ad_real w[],
                               size_t lanes)
{
    ad_real fault[ADREV_LANES_MOST] = {0};
    for (size_t i = 0; i < m->outputs; i++) {
        const ad_real *r = w + m->output[i] * lanes;
        for (size_t l = 0; l < lanes; l++)
            fault[l] += r[l] * 0;
    }
    for (size_t l = 0; l < lanes; l++)
        if (fault[l] != 0)
            return true;
    return false;
}

// A function that takes the results of directions first ... first + lanes - 1.
// Result i of lane l is r[output[i]*lanes + l].
typedef void adx_take_fn(void *user, const adx_machine *m, const ad_real r[],
                         size_t lanes, size_t first);

static bool adx_any_failed(const uint32_t flipped[], size_t lanes)
{
    for (size_t l = 0; l < lanes; l++)
        if (flipped[l] == ADX_FAILED)
            return true;
    return false;
}

// Runs all directions, as many at a time as there are lanes. If a result is a
// NaN or an external node fails, these directions are run again with care (see
// adx_run_point).
static ad_status adx_sweep_directions(const adx_directions *d,
                                      const adx_machine *m,
                                      adx_workspace *work, adx_take_fn *take,
                                      void *user)
{
    uint32_t flipped[ADREV_LANES_MOST];
    size_t lanes = work->lanes;

    for (size_t first = 0; first < d->n; first += lanes) {
        bool failed = false;
        for (int careful = 0; careful < 2; careful++) {
            adx_fill_lanes(d, work->w, lanes, first);
            adx_run_lanes(m, work->w, lanes, careful, flipped);
            failed = adx_any_failed(flipped, lanes);
            if (flipped[0] != 0 && !failed)
                return adx_flip_guard(d->fn, flipped[0] - 1);
            if (!failed && !adx_lanes_have_nan(m, work->w, lanes))
                break;
        }
        if (failed)
            return ADREV_EEXTERNAL;
        take(user, m, work->w, lanes, first);
    }
    return ADREV_OK;
}

// Runs all directions. A guard that fails does so in the first lanes already,
// when nothing has been written. But an external node may fail later: see
// adx_fails_late.
static ad_status adx_all_directions(const adx_directions *d,
                                    adx_take_fn *take, void *user)
{
    adx_machine *m;
    if (d->n == 0)
        return ADREV_OK;
    ad_status status = adx_machine_of(d->fn, d->kind, &m);
    if (status != ADREV_OK)
        return status;
    adx_workspace *work = adx_take_work(m, adx_lanes_for(m, d->n));
    if (work == NULL)
        return ADREV_ENOMEM;
    status = adx_sweep_directions(d, m, work, take, user);
    adx_give_work(m, work);
    return status;
}

// A dense matrix: result i of direction j goes to to[i*across + j*down].
typedef struct adx_dense {
    const adx_directions *d;
    ad_real *to;
    size_t across;
    size_t down;
} adx_dense;

static void adx_take_dense(void *user, const adx_machine *m,
                           const ad_real r[], size_t lanes, size_t first)
{
    const adx_dense *k = (const adx_dense *)user;
    size_t left = k->d->n - first < lanes ? k->d->n - first : lanes;
    for (size_t i = 0; i < k->d->results; i++)
        for (size_t l = 0; l < left; l++)
            k->to[i * k->across + (first + l) * k->down] =
                r[m->output[i] * lanes + l];
}

// Whether a direction may fail after others have written their results.
static bool adx_fails_late(const adx_directions *d)
{
    return d->n > ADREV_LANES_MOST && adx_has_external(&d->fn->program);
}

// Computes a dense matrix from all directions. On failure nothing is written.
static ad_status adx_fill_dense(const adx_directions *d, ad_real to[],
                                size_t across, size_t down)
{
    adx_dense k = { d, to, across, down };
    if (!adx_fails_late(d))
        return adx_all_directions(d, adx_take_dense, &k);
    size_t entries = d->n * d->results;
    k.to = (ad_real *)adx_take(&d->fn->memory, entries, sizeof *to);
    if (k.to == NULL)
        return ADREV_ENOMEM;
    ad_status status = adx_all_directions(d, adx_take_dense, &k);
    if (status == ADREV_OK)
        memcpy(to, k.to, entries * sizeof *to);
    adx_drop(&d->fn->memory, k.to);
    return status;
}
