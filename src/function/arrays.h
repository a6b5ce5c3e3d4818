#pragma once

/* === function/arrays ========================================================
 * Replay of array nodes, for one point and for lanes of points. What is
 * computed at one point is what array/linear and array/sums compute on a tape,
 * with the same sums in the same order, so the bits are the same. Elements of
 * lanes lie side by side: of `lanes` points, number x has w[x*lanes] to
 * w[x*lanes + lanes - 1]. So in lanes each product or sum is a loop over the
 * lanes.
 *
 *   needs   core/cells array/operands array/linear array/sums function/program
 *           function/places
 *   offers  adx_stream adx_map_of ADX_FAILED adx_run_many
 * ========================================================================== */

/* --- loops --------------------------------------------------------------- */

// An argument of an operation on n numbers: where the first number is, and how
// far each is from the one before.
typedef struct adx_stream {
    const ad_real *v;
    ptrdiff_t stride;
} adx_stream;

typedef void adx_map_fn(size_t n, ad_real r[restrict], adx_stream a,
                        adx_stream b, adx_stream c);

// The loop of one operation. Results overlap no argument: adx_place_node sees
// to that.
#define ADX_LOOP(value, sa, sb, sc)                                         \
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {                          \
        ad_real x = a.v[i * (sa)];                                          \
        ad_real y = b.v[i * (sb)];                                          \
        ad_real z = c.v[i * (sc)];                                          \
        (void)x; (void)y; (void)z;                                          \
        r[i] = (ad_real)(value);                                            \
    }
#define ADX_MAP(name, value)                                                \
    static void adx_map_##name(size_t n, ad_real r[restrict], adx_stream a, \
                               adx_stream b, adx_stream c)                  \
    {                                                                       \
        if (a.stride == 1 && b.stride == 1 && c.stride == 1) {              \
            ADX_LOOP(value, 1, 1, 1)                                        \
        } else {                                                            \
            ADX_LOOP(value, a.stride, b.stride, c.stride)                   \
        }                                                                   \
    }
#define ADX_STEP(name, ...) ADX_MAP(name, adx_f_##name(x))
#define ADX_ROW(name, ...) ADX_MAP(name, adx_f_##name(x, y, z))
#define ADX_COMPARISON(name, operator) ADX_MAP(name, x operator y)
ADREV_OPS(ADX_ROW)
ADREV_STEPS(ADX_STEP)
ADREV_COMPARISONS(ADX_COMPARISON)
ADX_STEP(detach, )
ADX_CHAIN(ADX_ROW)
ADX_DERIVED(ADX_ROW)
ADX_MAP(chain_add, adx_more(z, adx_absorb(x, y)))
ADX_MAP(chain_sub, adx_less(z, adx_absorb(x, y)))
ADX_MAP(plain_chain_add, adx_more(z, x * y))
ADX_MAP(plain_chain_sub, adx_less(z, x * y))
ADX_MAP(mul_add, adx_more(z, adx_rounded(x * y)))
ADX_MAP(mul_sub, adx_less(z, adx_rounded(x * y)))
#undef ADX_STEP
#undef ADX_ROW
#undef ADX_COMPARISON
#undef ADX_MAP
#undef ADX_LOOP

// The loop for an operation. careful: in the chain rule, a factor of zero
// absorbs the other. Otherwise factors are simply multiplied, which gives the
// same as long as all numbers are finite.
static adx_map_fn *adx_map_of(uint32_t op, bool careful)
{
#define ADX_NAMED(name, ...) [ADREV_OP_##name] = adx_map_##name,
#define ADX_OTHER_NAMED(name, ...) [ADX_OP_##name] = adx_map_##name,
    static adx_map_fn *const map[] = {
        ADREV_OPS(ADX_NAMED) ADREV_STEPS(ADX_NAMED)
        ADREV_COMPARISONS(ADX_NAMED) ADX_NAMED(detach, )
        ADX_CHAIN(ADX_OTHER_NAMED) ADX_DERIVED(ADX_OTHER_NAMED)
        ADX_OTHER_NAMED(chain_add, ) ADX_OTHER_NAMED(chain_sub, )
        ADX_OTHER_NAMED(mul_add, ) ADX_OTHER_NAMED(mul_sub, )
    };
    static adx_map_fn *const plain[ADX_OP_end] = {
        [ADX_OP_chain] = adx_map_mul,
        [ADX_OP_chain_add] = adx_map_plain_chain_add,
        [ADX_OP_chain_sub] = adx_map_plain_chain_sub
    };
#undef ADX_NAMED
#undef ADX_OTHER_NAMED
    return careful || plain[op] == NULL ? map[op] : plain[op];
}

/* --- nodes with many results ------------------------------------------------
 * There are L lanes, and number i of lane l is at w[i*L + l]. A single point
 * has L = 1. Sums are made in the order in which the array statements of a tape
 * make them, so the bits are the same.                                       */

static ad_real *adx_lanes_at(ad_real w[], size_t L, const adx_numbers *r,
                             size_t i, size_t j)
{
    return w + adx_in_range(r, i, j) * L;
}

// Replays an operation on arrays. A single point takes one loop over the n
// elements; else each element takes a loop over the lanes.
static void adx_run_each(const adx_many *k, ad_real r[], ad_real w[],
                         size_t L, bool careful)
{
    adx_map_fn *map = adx_map_of(k->op, careful);
    size_t count = L == 1 ? 1 : k->n;
    for (size_t i = 0; i < count; i++) {
        adx_stream from[3];
        for (int a = 0; a < 3; a++)
            from[a] = (adx_stream){ adx_lanes_at(w, L, &k->arg[a], 0, i),
                                  L == 1 ? k->arg[a].cs : 1 };
        map(L == 1 ? k->n : L, r + i * L, from[0], from[1], from[2]);
    }
}

// Computes a sum, a largest number or a Euclidean length, in lane l.
static ad_real adx_run_fold(const adx_many *k, ad_real w[], size_t L,
                            size_t l)
{
    const adx_numbers *x = &k->arg[0];
    const adx_view view = { NULL, adx_lanes_at(w, L, x, 0, 0) + l, 1, k->k, 0,
                            x->cs, (ptrdiff_t)L };
    ad_real sum = 0;
    if (k->kind == ADX_MANY_most)
        return adx_largest(&view);
    if (k->kind == ADX_MANY_norm)
        return adx_length(&view);
    for (size_t i = 0; i < k->k; i++)
        sum += adx_element(&view, 0, i);
    return sum;
}

// Whether the product of a matrix and a vector is summed column by column, in
// the chain rule. The columns must be contiguous; then the loops run along
// vectors.
static bool adx_adds_columns(const adx_many *k)
{
    return k->n == 1 && k->arg[0].rs == 1 && k->op == ADX_OP_chain;
}

// Whether a sum of products is made of eight sums side by side, as a tape makes
// the product of two vectors. Other sums of products are one sum.
static bool adx_has_eight_sums(const adx_many *k, bool careful)
{
    return k->n == 1 && !adx_adds_columns(k)
        && !(careful && k->op == ADX_OP_chain);
}

// Computes one element of a product at a single point.
static ad_real adx_run_inner(const adx_many *k, ad_real w[], size_t i,
                             size_t j, bool careful)
{
    const ad_real *a = adx_lanes_at(w, 1, &k->arg[0], i, 0);
    const ad_real *b = adx_lanes_at(w, 1, &k->arg[1], 0, j);
    ptrdiff_t as = k->arg[0].cs;
    ptrdiff_t bs = k->arg[1].rs;
    ad_real sum = 0;
    if (adx_has_eight_sums(k, careful))
        return as == 1 && bs == 1 ? adx_inner_product(k->k, a, b)
                                  : adx_products(k->k, a, as, b, bs);
    for (size_t n = 0; n < k->k; n++, a += as, b += bs)
        sum += careful && k->op == ADX_OP_chain ? adx_absorb(*a, *b) : *a * *b;
    return sum;
}

// Adds a[l] b[l] to sum[l] for all lanes. The arrays do not overlap.
static void adx_add_lanes(size_t L, ad_real *restrict sum, const ad_real *a,
                          const ad_real *b, bool careful)
{
    if (careful)
        for (size_t l = 0; l < L; l++)
            sum[l] += adx_absorb(a[l], b[l]);
    else
        for (size_t l = 0; l < L; l++)
            sum[l] += a[l] * b[l];
}

// Computes one element of a product in L lanes, with the bits of adx_run_inner:
// product n goes to sum n mod 8, and the eight sums are added in the order of
// adx_inner_product.
static void adx_run_inner_lanes(const adx_many *k, ad_real w[], size_t L,
                                size_t i, size_t j, bool careful, ad_real r[])
{
    ad_real sums[8][ADREV_LANES_MOST];
    const ad_real *a = adx_lanes_at(w, L, &k->arg[0], i, 0);
    const ad_real *b = adx_lanes_at(w, L, &k->arg[1], 0, j);
    ptrdiff_t as = k->arg[0].cs * (ptrdiff_t)L;
    ptrdiff_t bs = k->arg[1].rs * (ptrdiff_t)L;
    size_t eight = adx_has_eight_sums(k, careful) ? k->k / 8 * 8 : 0;
    careful = careful && k->op == ADX_OP_chain;
    memset(r, 0, L * sizeof *r);
    for (size_t q = 0; q < 8 && eight > 0; q++)
        memset(sums[q], 0, L * sizeof *r);
    size_t n = 0;
    for (; n < eight; n++, a += as, b += bs)
        adx_add_lanes(L, sums[n % 8], a, b, false);
    for (size_t l = 0; l < L && eight > 0; l++)
        r[l] = ((sums[0][l] + sums[4][l]) + (sums[1][l] + sums[5][l]))
             + ((sums[2][l] + sums[6][l]) + (sums[3][l] + sums[7][l]));
    for (; n < k->k; n++, a += as, b += bs)
        adx_add_lanes(L, r, a, b, careful);
}

// Computes y = 0 + a x, a sum of one term, in which -0 becomes 0. The arrays do
// not overlap.
static void adx_scale_row(size_t n, ad_real a, const ad_real *restrict x,
                          ad_real *restrict y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a * x[i] + 0;
}

// Computes a product at a single point by loops along contiguous memory: rows
// of b, each of which is added to a row of the result, or columns of a
// (adx_adds_columns). Each element is summed in the order of l, as in
// adx_run_inner where that makes one sum. False: neither rows nor columns are
// contiguous.
static bool adx_run_rows(const adx_many *k, ad_real r[], ad_real w[])
{
    const adx_numbers *a = &k->arg[0];
    const adx_numbers *b = &k->arg[1];
    bool rows = k->n > 1 && b->cs == 1;
    bool columns = adx_adds_columns(k);
    if (rows && k->k == 1) {
        for (size_t i = 0; i < k->m; i++)
            adx_scale_row(k->n, *adx_lanes_at(w, 1, a, i, 0),
                          adx_lanes_at(w, 1, b, 0, 0), r + i * k->n);
        return true;
    }
    if (rows || columns)
        memset(r, 0, adx_many_results(k) * sizeof *r);
    for (size_t i = 0; rows && i < k->m; i++)
        for (size_t l = 0; l < k->k; l++)
            adx_axpy(k->n, *adx_lanes_at(w, 1, a, i, l),
                     adx_lanes_at(w, 1, b, l, 0), r + i * k->n);
    for (size_t l = 0; columns && l < k->k; l++)
        adx_axpy(k->m, *adx_lanes_at(w, 1, b, l, 0),
                 adx_lanes_at(w, 1, a, 0, l), r);
    return rows || columns;
}

/* --- external statements ---------------------------------------------------
 * A rule that is `abreast` is called once for all lanes whose inputs are the
 * same; any other one once for those of them whose adjoints and tangents are,
 * too.
 *
 * A lane moves unless all of its tangents are 0, or all adjoints are 0 and so
 * are their tangents. One that does not move joins a call with tangents only
 * where it needs no row of its own. Where adjoints are 0 and do not move, so
 * are the results.                                                           */

#define ADX_FAILED UINT32_MAX   // in place of a guard: a replay failed

// A call, and its arrays: as in ad_external_point, a row for each direction.
typedef struct adx_replaying {
    const adx_many *k;
    bool adjoint;               // what the node computes
    size_t L;                   // lanes
    size_t most;                // directions of a call
    size_t d;                   // directions of this one
    bool moving;                // they move
    ad_real *x;
    ad_real *y;
    ad_real *xd;
    ad_real *yb;
    ad_real *ybd;
    ad_real *out;               // xb
    ad_real *moved;             // yd, or xbd
    bool moves[ADREV_LANES_MOST];   // whether a lane does
    size_t row[ADREV_LANES_MOST];   // of a lane in this call, or
} adx_replaying;

enum {
    ADX_NEEDS_NONE = ADREV_LANES_MOST,  // it needs none
    ADX_WAITS,                      // for a later call
    ADX_SERVED                      // by an earlier one, or failed at a guard
};

// Lays out the room of an external node for L lanes: the numbers of one point,
// then rows for its directions.
static void adx_begin_replaying(adx_replaying *c, const adx_many *k,
                                ad_real room[], size_t L,
                                const uint32_t flipped[])
{
    c->k = k;
    c->adjoint = k->op & ADX_EXTERNAL_adjoint;
    c->L = L;
    c->most = k->shared->rule->abreast ? L : 1;
    const size_t adjoints = c->adjoint ? L * k->m : 0;
    c->x = room;
    c->y = c->x + k->n;
    c->yb = c->y + k->m;                // these first: the others need not move
    c->out = c->yb + adjoints;
    c->xd = c->out + (c->adjoint ? L * k->n : 0);
    c->ybd = c->xd + L * k->n;
    c->moved = c->ybd + adjoints;
    for (size_t l = 0; l < L; l++)
        c->row[l] = flipped[l] == 0 ? ADX_WAITS : ADX_SERVED;
}

// Numbers of lane l from a list.
static void adx_take_of_lane(const adx_replaying *c, const ad_real w[],
                             size_t l, size_t n, const uint32_t list[],
                             ad_real to[])
{
    for (size_t i = 0; i < n; i++)
        to[i] = w[list[i] * c->L + l];
}

static bool adx_replays_at(const adx_replaying *c, const ad_real w[], size_t l)
{
    for (size_t i = 0; i < c->k->n; i++)
        if (memcmp(&c->x[i], &w[c->k->list[i] * c->L + l], sizeof *w) != 0)
            return false;
    return true;
}

// Whether row d of an array is that before it again.
static bool adx_is_row_again(const adx_replaying *c, const ad_real a[],
                             size_t n)
{
    const ad_real *row = a + c->d * n;
    return memcmp(row, row - n, n * sizeof *row) == 0;
}

// Has a lane join the call, unless it needs a row and there is none for it.
static void adx_join_replay(adx_replaying *c, const ad_real w[], size_t l)
{
    const size_t n = c->k->n;
    const size_t m = c->adjoint ? c->k->m : 0;
    const uint32_t *list = c->k->list + n;
    ad_real *xd = c->xd + c->d * n;
    ad_real *yb = c->yb + c->d * m;
    ad_real *ybd = c->ybd + c->d * m;
    bool moving = c->k->op & ADX_EXTERNAL_moving;
    adx_take_of_lane(c, w, l, m, list, yb);
    bool still = c->adjoint && adx_zeros(m, yb);
    if (moving) {
        adx_take_of_lane(c, w, l, n, list + m, xd);
        adx_take_of_lane(c, w, l, m, list + m + n, ybd);
        moving = !adx_zeros(m, ybd) || !(still || adx_zeros(n, xd));
    }
    bool again = c->d > 0 && adx_is_row_again(c, c->yb, m)
              && (!moving || (c->moving && adx_is_row_again(c, c->xd, n)
                              && adx_is_row_again(c, c->ybd, m)));
    if (!moving && (still || !c->adjoint))
        c->row[l] = ADX_NEEDS_NONE;
    else if (again)
        c->row[l] = c->d - 1;
    else if (c->d == 0 || (c->d < c->most && c->moving == moving))
        c->row[l] = c->d++;
    else
        c->row[l] = ADX_WAITS;
    c->moves[l] = moving;
    c->moving = c->moving || (moving && c->row[l] < ADX_NEEDS_NONE);
}

// Lets the rule compute what is asked for.
static bool adx_ask_rule(const adx_replaying *c)
{
    const adx_many *k = c->k;
    const size_t results = c->adjoint ? k->n : k->m;
    if (c->adjoint && c->d == 0)
        return true;
    memset(c->y, 0, k->m * sizeof *c->y);
    memset(c->out, 0, (c->adjoint ? c->d * k->n : 0) * sizeof *c->out);
    memset(c->moved, 0, (c->moving ? c->d * results : 0) * sizeof *c->moved);
    ad_external_point at = { .n = k->n, .m = k->m, .k = c->d, .x = c->x };
    at.xd = c->moving ? c->xd : NULL;
    at.yb = c->adjoint ? c->yb : NULL;
    at.ybd = c->adjoint && c->moving ? c->ybd : NULL;
    *(c->adjoint ? &at.xb : &at.y) = c->adjoint ? c->out : c->y;
    *(c->adjoint ? &at.xbd : &at.yd) = c->moving ? c->moved : NULL;
    ad_tape *before = ad_use(NULL);
    bool ok = k->shared->rule->replay(k->shared->saved, &at);
    ad_use(before);
    return ok;
}

// Writes numbers of lane l; NULL: zeros. Returns where those of the next begin.
static ad_real *adx_give_to_lane(const adx_replaying *c, size_t n,
                                 const ad_real from[], size_t l, ad_real r[])
{
    for (size_t i = 0; i < n; i++)
        r[i * c->L + l] = from == NULL ? 0 : from[i];
    return r + n * c->L;
}

// Writes what lane l gets: its own adjoints and tangents, the common values, or
// zeros.
static void adx_give_replayed(const adx_replaying *c, size_t l, bool failed,
                              ad_real r[])
{
    const size_t n = adx_external_results(c->k);
    const size_t row = c->row[l];
    const bool has = !failed && row < ADX_NEEDS_NONE;
    const bool moved = has && c->moves[l];
    if (c->adjoint)
        r = adx_give_to_lane(c, n, has ? c->out + row * n : NULL, l, r);
    else
        r = adx_give_to_lane(c, n, failed ? NULL : c->y, l, r);
    if (c->k->op & ADX_EXTERNAL_moving)
        adx_give_to_lane(c, n, moved ? c->moved + row * n : NULL, l, r);
}

// Lanes that have failed at a guard are left out: a replay of such a point
// alone would have stopped there.
static void adx_run_external(const adx_many *k, ad_real r[], const ad_real w[],
                             ad_real room[], size_t L, uint32_t flipped[])
{
    adx_replaying c;
    adx_begin_replaying(&c, k, room, L, flipped);
    for (size_t l = 0; l < L; l++) {
        if (flipped[l] != 0)
            adx_give_replayed(&c, l, true, r);
        if (c.row[l] != ADX_WAITS)
            continue;
        c.d = 0;
        c.moving = false;
        adx_take_of_lane(&c, w, l, k->n, k->list, c.x);
        for (size_t j = l; j < L; j++)
            if (c.row[j] == ADX_WAITS && adx_replays_at(&c, w, j))
                adx_join_replay(&c, w, j);
        bool ok = adx_ask_rule(&c);
        for (size_t j = l; j < L; j++)
            if (c.row[j] <= ADX_NEEDS_NONE) {
                adx_give_replayed(&c, j, !ok, r);
                c.row[j] = ADX_SERVED;
                flipped[j] = ok ? 0 : ADX_FAILED;
            }
    }
}

// A product of matrices in L lanes; at one point by rows, where that is faster
// and as right.
static void adx_run_product(const adx_many *k, ad_real r[], ad_real w[],
                            size_t L, bool careful)
{
    if (L == 1 && !careful && adx_run_rows(k, r, w))
        return;
    for (size_t i = 0; i < k->m; i++)
        for (size_t j = 0; j < k->n; j++)
            if (L == 1)
                r[i * k->n + j] = adx_run_inner(k, w, i, j, careful);
            else
                adx_run_inner_lanes(k, w, L, i, j, careful,
                                    r + (i * k->n + j) * L);
}

static void adx_run_gather(const adx_many *k, ad_real r[], const ad_real w[],
                           size_t L)
{
    for (size_t i = 0; i < k->n; i++)
        memcpy(r + i * L, w + k->list[i] * L, L * sizeof *w);
}

// Replays a node with many results. flipped[L]: ADX_FAILED where its rule
// fails.
static void adx_run_many(const adx_machine *m, const adx_node *s, ad_real w[],
                         size_t L, bool careful, uint32_t flipped[])
{
    const adx_many *k = &m->many[s->a];
    ad_real *r = w + s->r * L;
    switch (k->kind) {
    case ADX_MANY_each:
        adx_run_each(k, r, w, L, careful);
        break;
    case ADX_MANY_sum: case ADX_MANY_most: case ADX_MANY_norm:
        for (size_t l = 0; l < L; l++)
            r[l] = adx_run_fold(k, w, L, l);
        break;
    case ADX_MANY_product:
        adx_run_product(k, r, w, L, careful);
        break;
    case ADX_MANY_gather:
        adx_run_gather(k, r, w, L);
        break;
    case ADX_MANY_external:
        adx_run_external(k, r, w, w + m->places * L, L, flipped);
        break;
    case ADX_MANY_COUNT:
        break;
    }
}
