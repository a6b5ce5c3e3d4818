#pragma once

/* === tensor/paths ===========================================================
 * In which order the factors of a product are multiplied, and the variables
 * summed: two at a time, so that there are as few multiplications as possible.
 * A variable is summed as soon as no factor that is left has it. All subsets of
 * the factors are looked at, each once, with all divisions of it into two
 * (dynamic programming): 3^k steps for k factors. (As in tensor networks:
 * Pfeifer, Haegeman & Verstraete, Faster identification of optimal contraction
 * sequences, 2014.)
 *
 *   needs   tensor/arena
 *   offers  ADX_PATH_MOST adx_product_path adx_path_vars adx_path_whole
 *           adx_path_after adx_path_at adx_find_path
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_PATH_MOST 10        /* factors; 3^10 pairs of subsets */

// The cheapest way to the product of a subset of the factors.
typedef struct adx_path_way {
    double muls;
    double all;                 // operations
    uint32_t one;               // of the two subsets that are multiplied last
} adx_path_way;

// A set of variables is a number, with a bit for each that is not gone.
typedef struct adx_product_path {
    uint32_t factors;
    uint64_t has[ADX_PATH_MOST];        // the variables of each factor
    uint64_t written;           // those of what is written
    uint64_t live;              // all
    uint32_t vars;
    double extent[64];
    adx_path_way *way;          // of each subset
} adx_product_path;

// Returns how many points a box of variables has.
static double adx_path_points(const adx_product_path *p, uint64_t vars)
{
    double n = 1;
    for (uint32_t v = 0; v < p->vars; v++)
        n *= vars >> v & 1 ? p->extent[v] : 1;
    return n;
}

// Returns the variables that a subset of the factors has, as bits.
static uint64_t adx_path_vars(const adx_product_path *p, uint32_t subset)
{
    uint64_t vars = 0;
    for (uint32_t i = 0; i < p->factors; i++)
        vars |= subset >> i & 1 ? p->has[i] : 0;
    return vars;
}

// Returns the subset of all factors.
static uint32_t adx_path_whole(const adx_product_path *p)
{
    return ((uint32_t)1 << p->factors) - 1;
}

// Returns the variables that a product of these factors still has: others are
// summed.
static uint64_t adx_path_after(const adx_product_path *p, uint32_t subset)
{
    uint32_t rest = adx_path_whole(p) & ~subset;
    return adx_path_vars(p, subset)
         & (p->written | adx_path_vars(p, rest));
}

// Returns the variables of the points at which two products are multiplied; in
// the end also those that no factor has.
static uint64_t adx_path_at(const adx_product_path *p, uint32_t one,
                            uint32_t other)
{
    uint64_t none = p->live & ~adx_path_vars(p, adx_path_whole(p));
    return adx_path_after(p, one) | adx_path_after(p, other)
         | ((one | other) == adx_path_whole(p) ? p->written | none : 0);
}

// whether a way takes fewer multiplications, or as many and fewer operations
// in all.
static bool adx_is_cheaper(const adx_path_way *one, const adx_path_way *other)
{
    return one->muls < other->muls
        || (one->muls == other->muls && one->all < other->all);
}

// Finds the cheapest way to compute the product of a subset of the factors: the
// best of all divisions into two smaller subsets, whose ways are known.
static void adx_find_way(adx_product_path *p, uint32_t subset)
{
    adx_path_way best = { 1e300, 1e300, 0 };
    bool whole = subset == adx_path_whole(p);
    double result = adx_path_points(p, whole ? p->written
                                             : adx_path_after(p, subset));
    if ((subset & (subset - 1)) == 0) {         // one factor
        best.muls = 0;
        best.all = adx_path_points(p, adx_path_vars(p, subset)) - result;
        best.one = subset;
    }
    for (uint32_t one = (subset - 1) & subset; one > 0;
         one = (one - 1) & subset) {
        uint32_t other = subset & ~one;
        if (one < other)
            continue;
        double points = adx_path_points(p, adx_path_at(p, one, other));
        const adx_path_way to = {
            p->way[one].muls + p->way[other].muls + points,
            p->way[one].all + p->way[other].all + 2 * points - result, one
        };
        if (adx_is_cheaper(&to, &best))
            best = to;
    }
    p->way[subset] = best;
}

// Returns the cost as the text has it: one factor after the other, then all
// sums at once.
static double adx_written_cost(const adx_product_path *p)
{
    double all = 2 * adx_path_points(p, p->live)
               - adx_path_points(p, p->written);
    for (uint32_t i = 2; i < p->factors; i++)
        all += adx_path_points(p, adx_path_vars(p, ((uint32_t)1 << i) - 1));
    return all;
}

// Finds the cheapest order. False: the text's is as cheap, as it is where all
// factors have all variables; or no memory.
static bool adx_find_path(adx_arena *a, adx_product_path *p)
{
    bool differ = false;
    for (uint32_t i = 0; i < p->factors; i++)
        differ = differ || p->has[i] != p->live;
    if (!differ)
        return false;
    p->way = ADX_GET(a, (size_t)1 << p->factors, adx_path_way);
    for (uint32_t s = 1; p->way != NULL && s <= adx_path_whole(p); s++)
        adx_find_way(p, s);
    return p->way != NULL
        && p->way[adx_path_whole(p)].all < adx_written_cost(p);
}

ADX_SELDOM_END
