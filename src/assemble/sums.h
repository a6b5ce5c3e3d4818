#pragma once

/* === assemble/sums ==========================================================
 * Results as sums of contributions. Contributions are numbers in memory; a plan
 * says which of them each result adds. Within a result they are added in the
 * order of their places, so that sums do not depend on how many threads share
 * the results.
 *
 * A plan is one of two. Contributions in a row mostly belong to results that
 * are evenly spaced: then it is a list of such streaks, in the order of their
 * places, for each part of the results. Else it has two lists: the first
 * contribution of every result, and the others, result by result.
 *
 *   needs   tape/memory parallel/api
 *   offers  adx_sums adx_free_sums adx_in_parts adx_make_sums adx_sum_all
 * ========================================================================== */

enum {
    ADX_SUMS_GRAIN = 4096,      // results of a part
    ADX_STREAK_LEAST = 4,       // contributions of one in the mean, or there
                                // are lists
};

// n contributions in a row, and their results: to, to + stride ...
typedef struct adx_streak {
    uint32_t from, to, n;
    int32_t stride;
    bool first;                 // the results have none before
} adx_streak;

typedef struct adx_sums {
    size_t results;
    adx_streak *streak;         // NULL: there are lists
    uint32_t *part;             // [parts + 1] where its streaks begin
    bool holes;                 // some results have no contributions
    uint32_t *first;            // [results] place of a contribution
    uint32_t *more;             // [results + 1] where its others begin
    uint32_t *from;             // [more[results]] their places
    bool single;                // there are no others
} adx_sums;

static void adx_free_sums(const ad_allocator *a, adx_sums *s)
{
    adx_drop(a, s->streak);
    adx_drop(a, s->part);
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

/* --- streaks -------------------------------------------------------------- */

static size_t adx_sum_parts_of(size_t results)
{
    return (results + ADX_SUMS_GRAIN - 1) / ADX_SUMS_GRAIN;
}

// The result of each contribution, while streaks are made.
typedef struct adx_targets {
    uint32_t *of;               // [n] UINT32_MAX: none
    bool *first;                // [n] it is the first one of its result
    size_t n;
} adx_targets;

// false: a contribution has several results, or counts twice in one.
static bool adx_find_targets(adx_targets *t, size_t results,
                             const uint32_t end[], const uint32_t place[])
{
    bool once = true;
    memset(t->of, 0xff, t->n * sizeof *t->of);
    memset(t->first, 0, t->n * sizeof *t->first);
    for (uint32_t i = 0, k = 0; i < results; i++)
        for (uint32_t begin = k; k < end[i]; k++) {
            once = once && t->of[place[k]] == UINT32_MAX;
            t->of[place[k]] = i;
            t->first[place[k]] = k == begin;
        }
    return once;
}

// Whether contribution `at` can be in a streak with the one before it.
static bool adx_goes_on(const adx_targets *t, size_t at)
{
    return at < t->n && t->of[at] != UINT32_MAX
        && t->first[at] == t->first[at - 1]
        && t->of[at] / ADX_SUMS_GRAIN == t->of[at - 1] / ADX_SUMS_GRAIN;
}

// The streak that begins with contribution `at`.
static adx_streak adx_streak_at(const adx_targets *t, size_t at)
{
    adx_streak s = { (uint32_t)at, t->of[at], 1, 0, t->first[at] };
    if (s.to == UINT32_MAX || !adx_goes_on(t, at + 1))
        return s;
    s.stride = (int32_t)((int64_t)t->of[at + 1] - t->of[at]);
    while (adx_goes_on(t, at + s.n)
           && (int64_t)t->of[at + s.n] - t->of[at + s.n - 1] == s.stride)
        s.n++;
    return s;
}

// Goes through the streaks. streak NULL: counts them, in part[i + 1] those of
// part i; else lists them, those of part i from part[i] on. Returns how many.
static size_t adx_go_through_streaks(const adx_targets *t, uint32_t part[],
                                     adx_streak streak[])
{
    size_t all = 0;
    for (size_t at = 0; at < t->n;) {
        const adx_streak s = adx_streak_at(t, at);
        at += s.n;
        if (s.to == UINT32_MAX)
            continue;
        uint32_t *p = &part[s.to / ADX_SUMS_GRAIN];
        if (streak != NULL)
            streak[(*p)++] = s;
        else
            p[1]++;
        all++;
    }
    return all;
}

// Makes a plan of streaks, if there are few enough for what they add; else
// s->streak stays NULL. false: no memory.
static bool adx_list_streaks(const ad_allocator *a, adx_sums *s,
                             const adx_targets *t, size_t added)
{
    size_t parts = adx_sum_parts_of(s->results);
    s->part = (uint32_t *)adx_take(a, parts + 2, sizeof *s->part);
    if (s->part == NULL)
        return false;
    memset(s->part, 0, (parts + 2) * sizeof *s->part);
    // counted one part further on, so that listing leaves their beginnings
    size_t n = adx_go_through_streaks(t, s->part + 1, NULL);
    if (ADX_STREAK_LEAST * n > added)
        return true;
    s->streak = (adx_streak *)adx_take(a, n, sizeof *s->streak);
    if (s->streak == NULL)
        return false;
    for (size_t i = 0; i < parts; i++)
        s->part[i + 1] += s->part[i];
    (void)adx_go_through_streaks(t, s->part + 1, s->streak);
    return true;
}

// Makes a plan of streaks if there are few enough of them; else the plan stays
// without. False: no memory.
static bool adx_try_streaks(const ad_allocator *a, adx_sums *s,
                            const uint32_t end[], const uint32_t place[],
                            size_t contributions)
{
    adx_targets t = { .n = contributions };
    size_t added = s->results == 0 ? 0 : end[s->results - 1];
    t.of = (uint32_t *)adx_take(a, t.n, sizeof *t.of);
    t.first = (bool *)adx_take(a, t.n, sizeof *t.first);
    bool ok = t.of != NULL && t.first != NULL;
    if (ok && added > 0 && adx_find_targets(&t, s->results, end, place))
        ok = adx_list_streaks(a, s, &t, added);
    adx_drop(a, t.of);
    adx_drop(a, t.first);
    return ok;
}

// Adds a streak. The first contribution of a result is taken as it is, since 0
// plus -0 would be 0.
static void adx_add_streak(const adx_streak *s, const ad_real from[],
                           ad_real to[])
{
    const ad_real *restrict add = from + s->from;
    ad_real *restrict sum = to + s->to;
    const ptrdiff_t stride = s->stride;
    const ptrdiff_t n = (ptrdiff_t)s->n;
    if (stride == 1 && s->first)
        memmove(sum, add, s->n * sizeof *sum);
    else if (s->first)
        for (ptrdiff_t i = 0; i < n; i++)
            sum[i * stride] = add[i];
    else if (stride == 1)
        for (ptrdiff_t i = 0; i < n; i++)
            sum[i] += add[i];
    else
        for (ptrdiff_t i = 0; i < n; i++)
            sum[i * stride] += add[i];
}

/* --- plans ---------------------------------------------------------------- */

// Makes a plan of lists from those of all results. none: a place that has 0,
// for results without contributions.
static bool adx_make_lists(const ad_allocator *a, adx_sums *s,
                           const uint32_t end[], const uint32_t place[],
                           uint32_t none)
{
    size_t all = s->results == 0 ? 0 : end[s->results - 1];
    s->first = (uint32_t *)adx_take(a, s->results, sizeof *s->first);
    s->more = (uint32_t *)adx_take(a, s->results + 1, sizeof *s->more);
    s->from = (uint32_t *)adx_take(a, all, sizeof *s->from);
    if (s->first == NULL || s->more == NULL || s->from == NULL)
        return false;
    uint32_t begin = 0, to = 0;
    for (size_t i = 0; i < s->results; i++) {
        s->first[i] = begin < end[i] ? place[begin] : none;
        s->more[i] = to;
        for (begin++; begin < end[i]; begin++)
            s->from[to++] = place[begin];
        begin = end[i];
    }
    s->more[s->results] = to;
    s->single = to == 0;
    return true;
}

// A plan from lists of contributions: those of result i are place[end[i - 1]]
// to place[end[i] - 1], in order. contributions: how many there are; the place
// behind them has 0.
static bool adx_make_sums(const ad_allocator *a, adx_sums *s, size_t results,
                          const uint32_t end[], const uint32_t place[],
                          size_t contributions)
{
    s->results = results;
    for (size_t i = 0; i < results; i++)
        s->holes = s->holes || end[i] == (i == 0 ? 0 : end[i - 1]);
    return adx_try_streaks(a, s, end, place, contributions)
        && (s->streak != NULL
            || adx_make_lists(a, s, end, place, (uint32_t)contributions));
}

// What threads share while results are summed.
typedef struct adx_summing {
    const adx_sums *s;
    const ad_real *from;        // the contributions
    ad_real *to;                // [results]
} adx_summing;

// Parts begin ... end - 1, streak by streak.
static void adx_sum_parts(size_t begin, size_t end, void *user)
{
    const adx_summing *k = (const adx_summing *)user;
    const adx_sums *s = k->s;
    size_t first = begin * ADX_SUMS_GRAIN;
    size_t behind = end * ADX_SUMS_GRAIN;
    behind = behind < s->results ? behind : s->results;
    if (s->holes)
        memset(k->to + first, 0, (behind - first) * sizeof *k->to);
    for (uint32_t i = s->part[begin]; i < s->part[end]; i++)
        adx_add_streak(&s->streak[i], k->from, k->to);
}

// Results begin ... end - 1, by the lists.
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
    if (s->streak != NULL)
        adx_in_parts(adx_sum_parts_of(s->results), 1, adx_sum_parts, &k);
    else
        adx_in_parts(s->results, ADX_SUMS_GRAIN, adx_sum_some, &k);
}
