#pragma once

/* === assemble/sums ==========================================================
 * Results as sums of contributions. Contributions are numbers in memory; a plan
 * says which of them each result adds. Most results have one, and so a plan has
 * two parts: the first contribution of every result, and the others, result by
 * result. Within a result they are added in the order of their places, so that
 * sums do not depend on how many threads share the results.
 *
 *   needs   tape/memory parallel/api
 *   offers  adx_sums adx_free_sums adx_in_parts adx_make_sums adx_sum_all
 * ========================================================================== */

enum {
    ADX_SUMS_GRAIN = 4096,      // results of a part
};

typedef struct adx_sums {
    size_t results;
    uint32_t *first;            // [results] place of a contribution
    uint32_t *more;             // [results + 1] where its others begin
    uint32_t *from;             // [more[results]] their places
    bool single;                // there are no others
} adx_sums;

static void adx_free_sums(const ad_allocator *a, adx_sums *s)
{
    adx_drop(a, s->first);
    adx_drop(a, s->more);
    adx_drop(a, s->from);
    *s = (adx_sums){ .results = 0 };
}

// Calls f for parts of 0 ... n - 1, on the pool if there is one.
static void adx_in_parts(size_t n, size_t grain,
                         void (*f)(size_t begin, size_t end, void *user),
                         void *user)
{
#ifdef ADREV_PARALLEL_H
    if (n > grain) {
        ad_tape *before = ad_use(NULL);
        ad_parallel_for(n, grain, f, user);
        ad_use(before);
        return;
    }
#endif
    (void)grain;
    f(0, n, user);
}

// A plan from lists of contributions: those of result i are place[end[i - 1]]
// to place[end[i] - 1]. none: a place that has 0.
static bool adx_make_sums(const ad_allocator *a, adx_sums *s, size_t results,
                          const uint32_t end[], const uint32_t place[],
                          uint32_t none)
{
    size_t all = results == 0 ? 0 : end[results - 1];
    s->results = results;
    s->first = (uint32_t *)adx_take(a, results, sizeof *s->first);
    s->more = (uint32_t *)adx_take(a, results + 1, sizeof *s->more);
    s->from = (uint32_t *)adx_take(a, all, sizeof *s->from);
    if (s->first == NULL || s->more == NULL || s->from == NULL)
        return false;
    uint32_t begin = 0, to = 0;
    for (size_t i = 0; i < results; i++) {
        s->first[i] = begin < end[i] ? place[begin] : none;
        s->more[i] = to;
        for (begin++; begin < end[i]; begin++)
            s->from[to++] = place[begin];
        begin = end[i];
    }
    s->more[results] = to;
    s->single = to == 0;
    return true;
}

typedef struct adx_summing {
    const adx_sums *s;
    const ad_real *from;
    ad_real *to;
} adx_summing;

static void adx_sum_some(size_t begin, size_t end, void *user)
{
    const adx_summing *k = (const adx_summing *)user;
    const adx_sums *s = k->s;
    for (size_t i = begin; i < end; i++)
        k->to[i] = k->from[s->first[i]];
    for (size_t i = begin; !s->single && i < end; i++) {
        ad_real sum = k->to[i];
        for (uint32_t j = s->more[i]; j < s->more[i + 1]; j++)
            sum += k->from[s->from[j]];
        k->to[i] = sum;
    }
}

// to[results] = the sums.
static void adx_sum_all(const adx_sums *s, const ad_real from[], ad_real to[])
{
    adx_summing k = { s, from, to };
    adx_in_parts(s->results, ADX_SUMS_GRAIN, adx_sum_some, &k);
}
