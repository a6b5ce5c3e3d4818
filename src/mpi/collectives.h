#pragma once

/* === mpi/collectives ========================================================
 * Statements in which all ranks take part. In a gather, and what is like it,
 * ranks send pieces of arrays to each other: each pair of ranks has a message
 * of its own.
 *
 * Broadcasts and reductions go by a binomial tree of ranks. The adjoint of a
 * broadcast is a sum up the tree, that of a sum a broadcast.
 *
 * Other reductions keep for each number the partial of the result with respect
 * to it. For MIN and MAX that is 1 shared by those that tie, which are counted
 * on the way up. For a product it is the product of all others: on the way down
 * each rank is told the product of all ranks to its left, and to its right.
 *
 *   needs   tape/memory tape/hooks mpi/api mpi/context mpi/agreement
 *           mpi/messages mpi/statements
 * ========================================================================== */

/* --- pieces of arrays ----------------------------------------------------- */

#define ADX_MPI_COLLECTIVE_TAG 3

// The sum of counts of all ranks; SIZE_MAX: impossible.
static size_t adx_mpi_total(const ad_mpi *c, const size_t count[])
{
    size_t sum = 0;
    for (int r = 0; c != NULL && r < c->size; r++)
        sum = count == NULL ? SIZE_MAX : adx_size_plus(sum, count[r]);
    return sum;
}

// A link with each rank, of which nothing goes or comes yet.
static adx_mpi_exchange *adx_mpi_links_with_all(ad_mpi *c, adx_mpi_kind kind)
{
    adx_mpi_exchange *s = adx_mpi_new_exchange(c, kind, (size_t)c->size);
    for (int r = 0; s != NULL && r < c->size; r++) {
        s->link[r].rank = r;
        s->link[r].send_tag = ADX_MPI_COLLECTIVE_TAG;
        s->link[r].receive_tag = ADX_MPI_COLLECTIVE_TAG;
    }
    return s;
}

// Every rank receives its count, one behind the other.
static void adx_mpi_receive_pieces(adx_mpi_exchange *s, const size_t count[])
{
    size_t at = 0;
    for (size_t r = 0; s != NULL && r < s->links; r++) {
        s->link[r].receives = true;
        s->link[r].in_at = at;
        at += s->link[r].in = count[r];
    }
}

static void adx_mpi_send_pieces(adx_mpi_exchange *s, const size_t count[])
{
    size_t at = 0;
    for (size_t r = 0; s != NULL && r < s->links; r++) {
        s->link[r].sends = true;
        s->link[r].out_at = at;
        at += s->link[r].out = count[r];
    }
}

ADX_API ad_status ad_mpi_gatherv(ad_mpi *c, int root, size_t n,
                                 const ad_rev x[], const size_t count[],
                                 ad_rev y[])
{
    bool here = c != NULL && c->rank == root;
    size_t m = here ? adx_mpi_total(c, count) : 0;
    bool wrong = !adx_mpi_is_rank(c, root) || adx_no_array(n, x)
              || (here && (adx_no_array(m, y) || count[root] != n));
    ad_status status = adx_mpi_enter_all(c, wrong, m, y,
                                         ADX_MPI_GATHER, root, 0);
    if (status != ADREV_OK)
        return status;
    adx_mpi_exchange *s = adx_mpi_links_with_all(c, ADX_MPI_GATHER);
    if (here)
        adx_mpi_receive_pieces(s, count);
    if (s != NULL) {
        s->link[root].sends = true;
        s->link[root].out = n;
    }
    return adx_mpi_run_exchange(c, s, n, x, m, y);
}

ADX_API ad_status ad_mpi_allgatherv(ad_mpi *c, size_t n, const ad_rev x[],
                                    const size_t count[], ad_rev y[])
{
    size_t m = adx_mpi_total(c, count);
    bool wrong = adx_no_array(n, x) || adx_no_array(m, y)
              || (c != NULL && count[c->rank] != n);
    ad_status status = adx_mpi_enter_all(c, wrong, m, y,
                                         ADX_MPI_ALLGATHER, 0, 0);
    if (status != ADREV_OK)
        return status;
    adx_mpi_exchange *s = adx_mpi_links_with_all(c, ADX_MPI_ALLGATHER);
    adx_mpi_receive_pieces(s, count);
    for (size_t r = 0; s != NULL && r < s->links; r++) {
        s->link[r].sends = true;
        s->link[r].out = n;
    }
    return adx_mpi_run_exchange(c, s, n, x, m, y);
}

ADX_API ad_status ad_mpi_scatterv(ad_mpi *c, int root, const size_t count[],
                                  const ad_rev x[], size_t m, ad_rev y[])
{
    bool here = c != NULL && c->rank == root;
    size_t n = here ? adx_mpi_total(c, count) : 0;
    bool wrong = !adx_mpi_is_rank(c, root) || adx_no_array(m, y)
              || (here && (adx_no_array(n, x) || count[root] != m));
    ad_status status = adx_mpi_enter_all(c, wrong, m, y,
                                         ADX_MPI_SCATTER, root, 0);
    if (status != ADREV_OK)
        return status;
    adx_mpi_exchange *s = adx_mpi_links_with_all(c, ADX_MPI_SCATTER);
    if (here)
        adx_mpi_send_pieces(s, count);
    if (s != NULL) {
        s->link[root].receives = true;
        s->link[root].in = m;
    }
    return adx_mpi_run_exchange(c, s, n, x, m, y);
}

ADX_API ad_status ad_mpi_alltoallv(ad_mpi *c, const size_t sends[],
                                   const ad_rev x[], const size_t receives[],
                                   ad_rev y[])
{
    size_t n = adx_mpi_total(c, sends);
    size_t m = adx_mpi_total(c, receives);
    bool wrong = adx_no_array(n, x) || adx_no_array(m, y)
              || (c != NULL && sends[c->rank] != receives[c->rank]);
    ad_status status = adx_mpi_enter_all(c, wrong, m, y,
                                         ADX_MPI_ALLTOALL, 0, 0);
    if (status != ADREV_OK)
        return status;
    adx_mpi_exchange *s = adx_mpi_links_with_all(c, ADX_MPI_ALLTOALL);
    adx_mpi_send_pieces(s, sends);
    adx_mpi_receive_pieces(s, receives);
    return adx_mpi_run_exchange(c, s, n, x, m, y);
}

/* --- what a broadcast or a reduction saves -------------------------------- */

// What the statement saves.
typedef struct adx_mpi_tree_sum {
    ad_mpi *c;
    adx_mpi_kind kind;
    int root;
    bool all;                   // allreduce
    size_t n;
    bool partial;               // partials follow; otherwise all are 1
} adx_mpi_tree_sum;

_Static_assert(sizeof(adx_mpi_tree_sum) % _Alignof(ad_real) == 0,
               "partials must be aligned");

static const ad_real *adx_mpi_partials(const adx_mpi_tree_sum *s)
{
    return s->partial ? (const ad_real *)(const void *)(s + 1) : NULL;
}

/* --- the tree ------------------------------------------------------------ */

// Ranks are counted from the root. Below rank r are r + 1, r + 2, r + 4 ..., up
// to the lowest bit that r has; above it is r without that bit.
typedef struct adx_mpi_place {
    ad_mpi *c;
    unsigned stamp;
    int root;
    int from_root;              // this rank, counted from the root
    int bit;                    // its lowest bit; root: beyond all ranks
} adx_mpi_place;

static adx_mpi_place adx_mpi_place_of(ad_mpi *c, adx_mpi_kind kind, int root)
{
    adx_mpi_place p = { c, kind, root,
                        (c->rank - root + c->size) % c->size, 1 };
    while ((p.from_root & p.bit) == 0 && p.bit < c->size)
        p.bit *= 2;
    return p;
}

// The rank `stride` below this one; -1: there is none.
static int adx_mpi_below(const adx_mpi_place *p, int stride)
{
    int r = p->from_root + stride;
    return r < p->c->size ? (r + p->root) % p->c->size : -1;
}

static int adx_mpi_above(const adx_mpi_place *p)
{
    return (p->from_root - p->bit + p->root) % p->c->size;
}

static bool adx_mpi_give(const adx_mpi_place *p, int to, size_t n,
                         const ad_real v[])
{
    return adx_mpi_send(p->c, to, ADX_MPI_COLLECTIVE_TAG, p->stamp, n, v);
}

static bool adx_mpi_get(const adx_mpi_place *p, int from, size_t n,
                        ad_real v[])
{
    return adx_mpi_receive(p->c, from, ADX_MPI_COLLECTIVE_TAG, p->stamp, n, v,
                           NULL);
}

// v[n] of the root to all.
static bool adx_mpi_down(const adx_mpi_place *p, size_t n, ad_real v[])
{
    if (p->from_root != 0 && !adx_mpi_get(p, adx_mpi_above(p), n, v))
        return false;
    for (int stride = p->bit / 2; stride > 0; stride /= 2) {
        int to = adx_mpi_below(p, stride);
        if (to >= 0 && !adx_mpi_give(p, to, n, v))
            return false;
    }
    return true;
}

typedef void adx_mpi_combine(size_t n, ad_real v[], const ad_real w[]);

// v[n] becomes what `combine` makes of all of them, on the root.
static bool adx_mpi_up(const adx_mpi_place *p, size_t n, ad_real v[],
                       adx_mpi_combine *combine)
{
    for (int stride = 1; stride < p->bit; stride *= 2) {
        int from = adx_mpi_below(p, stride);
        if (from < 0)
            continue;
        ad_real *room = adx_mpi_room(p->c, n + 1);
        if (room == NULL || !adx_mpi_get(p, from, n, room))
            return false;
        combine(n, v, room);
    }
    return p->from_root == 0 || adx_mpi_give(p, adx_mpi_above(p), n, v);
}

static void adx_mpi_add(size_t n, ad_real v[], const ad_real w[])
{
    for (size_t i = 0; i < n; i++)
        v[i] += w[i];
}

// v and w are pairs: a number, and how many ranks have it. Each number of v
// becomes the larger one; where both are equal, the counts are added. A NaN is
// a number that no rank has.
static void adx_mpi_larger(size_t n, ad_real v[], const ad_real w[])
{
    for (size_t i = 0; i < n; i += 2) {
        bool none = v[i] != v[i];
        bool tie = v[i] == w[i] || (none && w[i] != w[i]);
        if (tie)
            v[i + 1] += w[i + 1];
        else if (none || w[i] > v[i])
            memcpy(v + i, w + i, 2 * sizeof *v);
    }
}

/* --- the rule ------------------------------------------------------------ */

// dx += partial * a for k rows; a factor of exactly zero gives zero.
static void adx_mpi_pull(const adx_mpi_tree_sum *s, size_t k, const ad_real a[],
                         ad_real dx[])
{
    const ad_real *partial = adx_mpi_partials(s);
    for (size_t r = 0; r < k; r++)
        for (size_t i = 0; i < s->n; i++) {
            ad_real d = partial == NULL ? 1 : partial[i];
            ad_real b = a[r * s->n + i];
            dx[r * s->n + i] += d == 0 || b == 0 ? 0 : d * b;
        }
}

// A vector for the rows of a sweep; NULL: this rank has failed.
static ad_real *adx_mpi_new_rows(ad_mpi *c, size_t n)
{
    ad_real *a = (ad_real *)adx_take(&c->memory, n, sizeof *a);
    if (a == NULL)
        adx_mpi_stop(c, ADREV_ENOMEM, NULL);
    else
        memset(a, 0, n * sizeof *a);
    return a;
}

// Of a broadcast: the adjoints of all copies go up. Of a reduction: that of the
// result goes down, after those of all results have gone up.
static bool adx_mpi_tree_rows(const void *saved, size_t k, size_t m,
                              const ad_real dy[], size_t n, ad_real dx[])
{
    const adx_mpi_tree_sum *s = (const adx_mpi_tree_sum *)saved;
    size_t all = k * s->n;
    bool bcast = s->kind == ADX_MPI_BCAST;
    if (!adx_mpi_is_asked(s->c))
        return false;
    const adx_mpi_place p = adx_mpi_place_of(s->c, s->kind, s->root);
    ad_real *a = adx_mpi_new_rows(s->c, all);
    if (a == NULL)
        return false;
    if (m > 0)
        memcpy(a, dy, all * sizeof *a);
    bool well = (!bcast && !s->all) || adx_mpi_up(&p, all, a, adx_mpi_add);
    well = well && (bcast || adx_mpi_down(&p, all, a));
    if (well && n > 0)
        adx_mpi_pull(s, k, a, dx);
    adx_drop(&s->c->memory, a);
    return well;
}

static bool adx_mpi_tree_back(const void *saved, size_t m, const ad_real dy[],
                              size_t n, ad_real dx[])
{
    return adx_mpi_tree_rows(saved, 1, m, dy, n, dx);
}

// Tangents take the way of the numbers: up the tree as a sum, down it as a
// broadcast.
static bool adx_mpi_tree_on(const void *saved, size_t n, const ad_real dx[],
                            size_t m, ad_real dy[])
{
    const adx_mpi_tree_sum *s = (const adx_mpi_tree_sum *)saved;
    bool bcast = s->kind == ADX_MPI_BCAST;
    if (!adx_mpi_is_asked(s->c))
        return false;
    const adx_mpi_place p = adx_mpi_place_of(s->c, s->kind, s->root);
    ad_real *a = adx_mpi_new_rows(s->c, s->n);
    if (a == NULL)
        return false;
    if (n > 0)
        adx_mpi_pull(s, 1, dx, a);
    bool well = bcast || adx_mpi_up(&p, s->n, a, adx_mpi_add);
    well = well && ((!bcast && !s->all) || adx_mpi_down(&p, s->n, a));
    if (well && m > 0)
        memcpy(dy, a, m * sizeof *dy);
    adx_drop(&s->c->memory, a);
    return well;
}

static const ad_external_rule adx_mpi_tree_rule = {
    .name = "mpi", .pullback = adx_mpi_tree_back,
    .pullback_n = adx_mpi_tree_rows, .pushforward = adx_mpi_tree_on,
    .always = true
};

/* --- questions ----------------------------------------------------------- */

static void adx_mpi_and(size_t n, ad_real v[], const ad_real w[])
{
    for (size_t i = 0; i < n; i++)
        v[i] = w[i] == 0 ? 0 : v[i];
}

ADX_API bool ad_mpi_all(ad_mpi *c, bool mine)
{
    ad_real all = mine;
    if (c == NULL)
        return mine;
    if (adx_mpi_ready(c) != ADREV_OK || !adx_mpi_look(c))
        return false;
    if (ADREV_DEBUG && adx_fetching_alone) {
        adx_mpi_stop(c, ADREV_EEXTERNAL, "ad_mpi_all in get of a store: ranks "
                     "may call it more or less often; it belongs into agree");
        return false;
    }
    const adx_mpi_place p = adx_mpi_place_of(c, ADX_MPI_ALL, 0);
    return adx_mpi_meet_call(c, ADX_MPI_ALL, 0, 0)
        && adx_mpi_up(&p, 1, &all, adx_mpi_and)
        && adx_mpi_down(&p, 1, &all) && all != 0;
}

/* --- broadcasts ---------------------------------------------------------- */

ADX_API ad_status ad_mpi_bcast(ad_mpi *c, int root, size_t n, ad_rev x[])
{
    bool here = c != NULL && c->rank == root;
    bool wrong = adx_no_array(n, x) || !adx_mpi_is_rank(c, root);
    ad_status status = adx_mpi_enter_all(c, wrong, here ? 0 : n, x,
                                         ADX_MPI_BCAST, root, n);
    if (status != ADREV_OK)
        return status;
    const adx_mpi_tree_sum s = { .c = c, .kind = ADX_MPI_BCAST, .root = root,
                                 .n = n };
    const adx_mpi_place p = adx_mpi_place_of(c, ADX_MPI_BCAST, root);
    ad_real *v = adx_mpi_new_rows(c, n);
    for (size_t i = 0; v != NULL && here && i < n; i++)
        v[i] = x[i].v;
    if (v == NULL || !adx_mpi_down(&p, n, v))
        status = adx_mpi_refuse(c, here ? 0 : n, x);
    else if (here)
        status = adx_mpi_external(c, &adx_mpi_tree_rule, &s, sizeof s, n, x, 0,
                                  NULL, NULL);
    else
        status = adx_mpi_external(c, &adx_mpi_tree_rule, &s, sizeof s, 0, NULL,
                                  n, v, x);
    adx_drop(&c->memory, v);
    return status;
}

/* --- reductions ---------------------------------------------------------- */

// Values and partials of MIN and MAX; of MIN those of MAX of negative numbers.
// pair[2n] is scratch.
static bool adx_mpi_reduce_extreme(const adx_mpi_place *p, ad_real sign,
                                   size_t n, ad_real v[], ad_real partial[],
                                   ad_real pair[])
{
    for (size_t i = 0; i < n; i++) {
        pair[2 * i] = sign * v[i];
        pair[2 * i + 1] = 1;
    }
    if (!adx_mpi_up(p, 2 * n, pair, adx_mpi_larger)
        || !adx_mpi_down(p, 2 * n, pair))
        return false;
    for (size_t i = 0; i < n; i++) {
        ad_real y = sign * pair[2 * i];
        bool mine = v[i] == y || (v[i] != v[i] && y != y);
        partial[i] = mine ? 1 / pair[2 * i + 1] : 0;
        v[i] = y;
    }
    return true;
}

// Values and partials of a product. below[levels][n]: the products of the
// subtrees below. triple[3n]: the product of all, of those to the left, and of
// those to the right.
static bool adx_mpi_products_down(const adx_mpi_place *p, size_t levels,
                                  size_t n, const ad_real v[],
                                  ad_real partial[], const ad_real below[],
                                  ad_real triple[])
{
    ad_real *left = triple + n;
    ad_real *right = triple + 2 * n;
    if (p->from_root != 0 && !adx_mpi_get(p, adx_mpi_above(p), 3 * n, triple))
        return false;
    for (size_t i = 0; i < n; i++) {
        ad_real others = right[i];
        for (size_t l = levels; l-- > 0;)
            others = below[l * n + i] * others;
        partial[i] = left[i] * others;
    }
    // `right` grows to the left from here on: of the highest child it is what
    // came from above
    for (size_t l = levels; l-- > 0;) {
        int to = adx_mpi_below(p, 1 << l);
        ad_real *message = to < 0 ? NULL : adx_mpi_room(p->c, 3 * n + 1);
        if (to < 0)
            continue;
        if (message == NULL)
            return false;
        for (size_t i = 0; i < n; i++) {
            ad_real before = left[i] * v[i];
            for (size_t k = 0; k < l; k++)
                before *= below[k * n + i];
            message[i] = triple[i];
            message[n + i] = before;
            message[2 * n + i] = right[i];
            right[i] = below[l * n + i] * right[i];
        }
        if (!adx_mpi_give(p, to, 3 * n, message))
            return false;
    }
    return true;
}

// Products up the tree: v becomes the product over all ranks, which the root
// knows first. What came from below is kept level by level, so that on the way
// down partial[] becomes the product of the numbers of all other ranks. Nothing
// is divided, so zeros do no harm. False: a message failed, or no memory.
static bool adx_mpi_reduce_product(const adx_mpi_place *p, size_t n,
                                   ad_real v[], ad_real partial[])
{
    ad_mpi *c = p->c;
    size_t levels = 0;
    while (1 << levels < p->bit)
        levels++;
    ad_real *below = adx_mpi_new_rows(c, adx_size_times(levels + 4, n));
    if (below == NULL)
        return false;
    ad_real *triple = below + levels * n;
    ad_real *own = triple + 3 * n;
    bool well = true;
    if (n > 0)
        memcpy(own, v, n * sizeof *v);
    for (size_t l = 0; well && l < levels; l++) {
        int from = adx_mpi_below(p, 1 << l);
        ad_real *product = below + l * n;
        for (size_t i = 0; i < n; i++)
            product[i] = 1;
        well = from < 0 || adx_mpi_get(p, from, n, product);
        for (size_t i = 0; i < n; i++)
            v[i] *= product[i];
    }
    for (size_t i = 0; i < n; i++) {
        triple[i] = v[i];
        triple[n + i] = triple[2 * n + i] = 1;
    }
    well = well
        && (p->from_root == 0 || adx_mpi_give(p, adx_mpi_above(p), n, v))
        && adx_mpi_products_down(p, levels, n, own, partial, below, triple);
    if (well && n > 0)
        memcpy(v, triple, n * sizeof *v);
    adx_drop(&c->memory, below);
    return well;
}

// v[n] becomes the result, where it is wanted; partial[n] unless it is a sum.
static bool adx_mpi_reduce_values(const adx_mpi_place *p, ad_mpi_op op,
                                  bool all, size_t n, ad_real v[],
                                  ad_real partial[], ad_real pair[])
{
    switch (op) {
        case ADREV_MPI_PROD: return adx_mpi_reduce_product(p, n, v, partial);
        case ADREV_MPI_MIN:
        case ADREV_MPI_MAX:
            return adx_mpi_reduce_extreme(p, op == ADREV_MPI_MIN ? -1 : 1, n, v,
                                          partial, pair);
        case ADREV_MPI_SUM:
        default:
            return adx_mpi_up(p, n, v, adx_mpi_add)
                && (!all || adx_mpi_down(p, n, v));
    }
}

// here: this rank gets the result.
static ad_status adx_mpi_reduce(ad_mpi *c, ad_mpi_op op, int root, bool all,
                                size_t n, const ad_rev x[], ad_rev y[])
{
    bool here = all || (c != NULL && c->rank == root);
    bool sum = op == ADREV_MPI_SUM;
    bool wrong = adx_no_array(n, x) || (here && adx_no_array(n, y))
              || n > ADX_MOST_ELEMENTS / 8 || !adx_mpi_is_rank(c, root)
              || (unsigned)op > ADREV_MPI_MAX;
    size_t m = here ? n : 0;
    ad_status status = adx_mpi_enter_all(c, wrong, m, y, ADX_MPI_REDUCE,
                                         (all ? -8 : 8 * root) + (int)op, n);
    if (status != ADREV_OK)
        return status;
    const adx_mpi_place p = adx_mpi_place_of(c, ADX_MPI_REDUCE, root);
    size_t bytes = sizeof(adx_mpi_tree_sum) + (sum ? 0 : n * sizeof(ad_real));
    adx_mpi_tree_sum *s = (adx_mpi_tree_sum *)adx_take(&c->memory, bytes, 1);
    ad_real *v = adx_mpi_new_rows(c, 3 * n);
    for (size_t i = 0; v != NULL && i < n; i++)
        v[i] = x[i].v;
    if (s == NULL)
        adx_mpi_stop(c, ADREV_ENOMEM, NULL);
    if (s == NULL || v == NULL
        || !adx_mpi_reduce_values(&p, op, all, n, v,
                                  (ad_real *)(void *)(s + 1), v + n))
        status = adx_mpi_refuse(c, m, y);
    else {
        *s = (adx_mpi_tree_sum){ c, ADX_MPI_REDUCE, root, all, n, !sum };
        status = adx_mpi_external(c, &adx_mpi_tree_rule, s, bytes, n, x, m, v,
                                  y);
    }
    adx_drop(&c->memory, v);
    adx_drop(&c->memory, s);
    return status;
}

ADX_API ad_status ad_mpi_reduce(ad_mpi *c, ad_mpi_op op, int root, size_t n,
                                const ad_rev x[], ad_rev y[])
{
    return adx_mpi_reduce(c, op, root, false, n, x, y);
}

ADX_API ad_status ad_mpi_allreduce(ad_mpi *c, ad_mpi_op op, size_t n,
                                   const ad_rev x[], ad_rev y[])
{
    return adx_mpi_reduce(c, op, 0, true, n, x, y);
}
