#pragma once

/* === mpi/exchanges ==========================================================
 * Messages between two ranks, and halos.
 *
 *   needs   tape/memory mpi/api mpi/context mpi/agreement mpi/messages
 *           mpi/statements
 * ========================================================================== */

/* --- one message --------------------------------------------------------- */

// A link that sends n numbers, and receives m; MPI_PROC_NULL: it does not.
static adx_mpi_exchange *adx_mpi_pair(ad_mpi *c, int to, size_t n, int from,
                                      size_t m)
{
    adx_mpi_exchange *s = adx_mpi_new_exchange(c, ADX_MPI_SEND, 2);
    if (s == NULL)
        return NULL;
    s->link[0].rank = to;
    s->link[0].sends = to != MPI_PROC_NULL;
    s->link[0].out = n;
    s->link[1].rank = from;
    s->link[1].receives = from != MPI_PROC_NULL;
    s->link[1].in = m;
    return s;
}

ADX_API ad_status ad_mpi_sendrecv(ad_mpi *c, int to, size_t n,
                                  const ad_rev x[], int from, size_t m,
                                  ad_rev y[])
{
    bool wrong = adx_no_array(n, x) || adx_no_array(m, y)
              || (to != MPI_PROC_NULL && !adx_mpi_is_rank(c, to))
              || (from != MPI_PROC_NULL && !adx_mpi_is_rank(c, from));
    size_t come = from == MPI_PROC_NULL ? 0 : m;
    ad_status status = adx_mpi_enter(c, wrong, come, y);
    if (status != ADREV_OK)
        return status;
    return adx_mpi_run_exchange(c, adx_mpi_pair(c, to, n, from, come),
                                to == MPI_PROC_NULL ? 0 : n, x, come, y);
}

ADX_API ad_status ad_mpi_send(ad_mpi *c, int to, size_t n, const ad_rev x[])
{
    bool wrong = adx_no_array(n, x) || !adx_mpi_is_rank(c, to);
    ad_status status = adx_mpi_enter(c, wrong, 0, NULL);
    if (status != ADREV_OK)
        return status;
    status = adx_mpi_run_exchange(c, adx_mpi_pair(c, to, n, MPI_PROC_NULL, 0),
                                  n, x, 0, NULL);
    return adx_mpi_relieve(c) ? status : adx_mpi_refuse(c, 0, NULL);
}

ADX_API ad_status ad_mpi_recv(ad_mpi *c, int from, size_t m, ad_rev y[])
{
    bool wrong = adx_no_array(m, y) || !adx_mpi_is_rank(c, from);
    ad_status status = adx_mpi_enter(c, wrong, m, y);
    if (status != ADREV_OK)
        return status;
    return adx_mpi_run_exchange(c, adx_mpi_pair(c, MPI_PROC_NULL, 0, from, m),
                                0, NULL, m, y);
}

/* --- requests ------------------------------------------------------------ */

// A request that has not begun to receive anything. It takes over s, even if
// there is no memory for it: then NULL.
static ad_mpi_request *adx_mpi_new_request(ad_mpi *c, adx_mpi_exchange *s,
                                           size_t m, bool placed)
{
    size_t links = s == NULL ? 0 : s->links;
    size_t bytes = adx_size_times(m, placed ? sizeof(size_t) + sizeof(ad_real)
                                            : sizeof(ad_real));
    bytes = adx_size_plus(bytes, sizeof(ad_mpi_request) + links);
    ad_mpi_request *r = (ad_mpi_request *)adx_take(&c->memory, bytes, 1);
    if (r == NULL) {
        adx_drop(&c->memory, s);
        return NULL;
    }
    memset(r, 0, sizeof *r);
    r->c = c;
    r->exchange = s;
    r->m = m;
    r->to = placed ? (size_t *)(void *)(r + 1) : NULL;
    r->v = (ad_real *)(void *)((char *)(r + 1)
                               + (placed ? m * sizeof(size_t) : 0));
    r->got = (bool *)(void *)(r->v + m);
    memset(r->got, 0, links * sizeof *r->got);
    r->failures = c->failures;
    ad_mpi_request **end = &c->posted;
    while (*end != NULL)
        end = &(*end)->next;
    *end = r;
    return r;
}

// Takes it out of the list, and frees it.
static void adx_mpi_free_request(ad_mpi_request *r)
{
    ad_mpi *c = r->c;
    ad_mpi_request **at = &c->posted;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    adx_drop(&c->memory, r->exchange);
    adx_drop(&c->memory, r);
}

// Whether it was started before a failure, which all ranks know and which ended
// it: so it stops nobody, and the tape records on.
static bool adx_mpi_has_ended(const ad_mpi_request *r)
{
    ad_mpi *c = r->c;
    if (r->exchange == NULL || r->failures == c->failures)
        return false;
    c->why = "what is waited for was started before a failure, which ended it";
    return true;
}

// Takes the messages of a request. False: a rank has failed.
static bool adx_mpi_complete(ad_mpi_request *r)
{
    ad_mpi *c = r->c;
    for (size_t i = 0; i < r->exchange->links; i++) {
        const adx_mpi_link *k = &r->exchange->link[i];
        if (k->receives
            && !adx_mpi_fetch(c, k->rank, k->receive_tag, r, i))
            return false;
    }
    return true;
}

// Records what has come, as results y, and frees the request.
static ad_status adx_mpi_end_request(ad_mpi_request *r, ad_rev y[])
{
    adx_mpi_exchange *s = r->exchange;
    r->exchange = NULL;
    ad_status status = adx_mpi_record(s, 0, NULL, r->m, r->v, y);
    adx_mpi_free_request(r);
    return status;
}

ADX_API ad_status ad_mpi_isend(ad_mpi *c, int to, size_t n, const ad_rev x[],
                               ad_mpi_request **request)
{
    bool wrong = adx_no_array(n, x) || !adx_mpi_is_rank(c, to)
              || request == NULL;
    if (request != NULL)
        *request = NULL;
    ad_status status = adx_mpi_enter(c, wrong, 0, NULL);
    if (status == ADREV_OK)     // who sends does not wait
        status = adx_mpi_run_exchange(c, adx_mpi_pair(c, to, n, MPI_PROC_NULL,
                                                      0), n, x, 0, NULL);
    if (status == ADREV_OK) {
        *request = adx_mpi_new_request(c, NULL, 0, false);
        if (*request == NULL)
            status = adx_mpi_fail(c, ADREV_ENOMEM, NULL, 0, NULL);
    }
    return status;
}

ADX_API ad_status ad_mpi_irecv(ad_mpi *c, int from, size_t m, ad_rev y[],
                               ad_mpi_request **request)
{
    bool wrong = adx_no_array(m, y) || !adx_mpi_is_rank(c, from)
              || request == NULL;
    if (request != NULL)
        *request = NULL;
    ad_status status = adx_mpi_enter(c, wrong, m, y);
    if (status != ADREV_OK)
        return status;
    adx_mpi_exchange *s = adx_mpi_pair(c, MPI_PROC_NULL, 0, from, m);
    *request = s == NULL ? NULL : adx_mpi_new_request(c, s, m, false);
    if (*request == NULL)
        return adx_mpi_fail(c, ADREV_ENOMEM, NULL, m, y);
    (*request)->y = y;
    return ADREV_OK;
}

// A request that is given up: results are NaN.
static ad_status adx_mpi_give_up(ad_mpi_request *r, ad_rev y[])
{
    ad_status status = adx_mpi_refuse(r->c, y == NULL ? 0 : r->m, y);
    adx_mpi_free_request(r);
    return status;
}

ADX_API ad_status ad_mpi_wait(ad_mpi *c, ad_mpi_request **request)
{
    ad_mpi_request *r = request == NULL ? NULL : *request;
    bool wrong = r == NULL || r->c != c || r->to != NULL;
    ad_status status = adx_mpi_enter(c, wrong, 0, NULL);
    if (wrong || adx_mpi_is_apart(c))
        return status;
    *request = NULL;
    if (status == ADREV_OK && r->exchange == NULL) {
        adx_mpi_free_request(r);
        return ADREV_OK;
    }
    if (status == ADREV_OK && adx_mpi_has_ended(r)) {
        adx_mpi_spoil(r->m, r->y);
        adx_mpi_free_request(r);
        return ADREV_EREMOTE;
    }
    if (status != ADREV_OK || !adx_mpi_complete(r))
        return adx_mpi_give_up(r, r->y);
    return adx_mpi_end_request(r, r->y);
}

/* --- halos --------------------------------------------------------------- */

static bool adx_mpi_no_indices(size_t count, const size_t index[], size_t n)
{
    bool wrong = adx_no_array(count, index);
    for (size_t i = 0; !wrong && i < count; i++)
        wrong = index[i] >= n;
    return wrong;
}

// Whether the sides of a halo are impossible. Otherwise how many numbers go and
// come in all.
static bool adx_mpi_wrong_sides(const ad_mpi *c, size_t sides,
                                const ad_mpi_side side[], size_t n,
                                const ad_rev x[], size_t *out, size_t *in)
{
    bool wrong = adx_no_array(sides, side) || adx_no_array(n, x);
    *out = *in = 0;
    for (size_t i = 0; !wrong && i < sides; i++) {
        const ad_mpi_side *k = &side[i];
        if (k->rank == MPI_PROC_NULL)
            continue;
        wrong = !adx_mpi_is_rank(c, k->rank)
             || k->send_key < 0 || k->send_key >= ADX_MPI_KEYS
             || k->receive_key < 0 || k->receive_key >= ADX_MPI_KEYS
             || adx_mpi_no_indices(k->sends, k->from, n)
             || adx_mpi_no_indices(k->receives, k->to, n);
        *out = adx_size_plus(*out, k->sends);
        *in = adx_size_plus(*in, k->receives);
    }
    return wrong || *out > ADX_MOST_ELEMENTS || *in > ADX_MOST_ELEMENTS;
}

_Static_assert(ADX_MPI_KEYS <= 64, "the keys of a rank must be bits of a word");

// Whether two sides of one rank have the same key. Then the order of sides
// would say what goes where; but what a rank sends up, the other gets from
// below.
static bool adx_mpi_same_keys(const ad_mpi *c, size_t sides,
                              const ad_mpi_side side[])
{
    bool same = false;
    for (size_t i = 0; i < sides; i++) {
        if (side[i].rank == MPI_PROC_NULL)
            continue;
        uint64_t *keys = c->keys + 2 * (size_t)side[i].rank;
        const uint64_t send = (uint64_t)1 << side[i].send_key;
        const uint64_t receive = (uint64_t)1 << side[i].receive_key;
        same |= (keys[0] & send) != 0 || (keys[1] & receive) != 0;
        keys[0] |= send;
        keys[1] |= receive;
    }
    for (size_t i = 0; i < sides; i++)
        if (side[i].rank != MPI_PROC_NULL)
            memset(c->keys + 2 * (size_t)side[i].rank, 0, 2 * sizeof *c->keys);
    return same;
}

// As adx_mpi_enter, for a halo.
static ad_status adx_mpi_enter_halo(ad_mpi *c, bool wrong, size_t sides,
                                    const ad_mpi_side side[])
{
    ad_status status = adx_mpi_enter(c, wrong, 0, NULL);
    if (status == ADREV_OK && adx_mpi_same_keys(c, sides, side))
        status = adx_mpi_fail(c, ADREV_ESHAPE, "a halo: two sides of one rank "
                              "have the same key", 0, NULL);
    return status;
}

// The links of a halo.
static adx_mpi_exchange *adx_mpi_halo_links(ad_mpi *c, size_t sides,
                                            const ad_mpi_side side[])
{
    adx_mpi_exchange *s = adx_mpi_new_exchange(c, ADX_MPI_HALO, sides);
    size_t out = 0;
    size_t in = 0;
    for (size_t i = 0; s != NULL && i < sides; i++) {
        adx_mpi_link *k = &s->link[i];
        k->rank = side[i].rank;
        if (k->rank == MPI_PROC_NULL)
            continue;
        k->sends = k->receives = true;
        k->send_tag = ADX_MPI_BY_KEY + ADX_MPI_KEYS + side[i].send_key;
        k->receive_tag = ADX_MPI_BY_KEY + ADX_MPI_KEYS + side[i].receive_key;
        k->out_at = out;
        k->in_at = in;
        out += k->out = side[i].sends;
        in += k->in = side[i].receives;
    }
    return s;
}

// The numbers that go, in the order of sides; NULL: no memory.
static ad_rev *adx_mpi_gather_sides(const ad_mpi *c, size_t sides,
                                    const ad_mpi_side side[], size_t out,
                                    const ad_rev x[])
{
    ad_rev *list = (ad_rev *)adx_take(&c->memory, out, sizeof *list);
    size_t k = 0;
    for (size_t i = 0; list != NULL && i < sides; i++)
        for (size_t j = 0; side[i].rank != MPI_PROC_NULL && j < side[i].sends;
             j++)
            list[k++] = x[side[i].from[j]];
    return list;
}

// Lists where the numbers that come go, in the order of sides. to NULL: puts
// them there, from y into x.
static void adx_mpi_place_sides(size_t sides, const ad_mpi_side side[],
                                size_t to[], const ad_rev y[], ad_rev x[])
{
    size_t k = 0;
    for (size_t i = 0; i < sides; i++)
        for (size_t j = 0; side[i].rank != MPI_PROC_NULL
                           && j < side[i].receives; j++, k++)
            if (to != NULL)
                to[k] = side[i].to[j];
            else
                x[side[i].to[j]] = y[k];
}

ADX_API ad_status ad_mpi_halo(ad_mpi *c, size_t sides,
                              const ad_mpi_side side[], size_t n, ad_rev x[])
{
    size_t out, in;
    bool wrong = adx_mpi_wrong_sides(c, sides, side, n, x, &out, &in);
    ad_status status = adx_mpi_enter_halo(c, wrong, sides, side);
    if (status != ADREV_OK)
        return status;
    ad_rev *list = adx_mpi_gather_sides(c, sides, side, out, x);
    ad_rev *y = list == NULL ? NULL
              : (ad_rev *)adx_take(&c->memory, in, sizeof *y);
    if (y == NULL)
        status = adx_mpi_fail(c, ADREV_ENOMEM, NULL, 0, NULL);
    else {
        status = adx_mpi_run_exchange(c, adx_mpi_halo_links(c, sides, side),
                                      out, list, in, y);
        adx_mpi_place_sides(sides, side, NULL, y, x);
    }
    adx_drop(&c->memory, y);
    adx_drop(&c->memory, list);
    return status;
}

// Sends, records that, and frees s; what comes is left to the request.
static ad_status adx_mpi_start_halo(adx_mpi_exchange *s, ad_mpi_request *r,
                                    size_t out, const ad_rev list[])
{
    ad_mpi *c = s->c;
    for (size_t i = 0; i < s->links; i++) {
        s->link[i].receives = false;
        r->exchange->link[i].sends = false;
    }
    if (adx_mpi_send_links(s, list))
        return adx_mpi_record(s, out, list, 0, NULL, NULL);
    adx_drop(&c->memory, s);
    return adx_mpi_refuse(c, 0, NULL);
}

ADX_API ad_status ad_mpi_halo_start(ad_mpi *c, size_t sides,
                                    const ad_mpi_side side[], size_t n,
                                    const ad_rev x[],
                                    ad_mpi_request **request)
{
    size_t out, in;
    bool wrong = adx_mpi_wrong_sides(c, sides, side, n, x, &out, &in)
              || request == NULL;
    if (request != NULL)
        *request = NULL;
    ad_status status = adx_mpi_enter_halo(c, wrong, sides, side);
    if (status != ADREV_OK)
        return status;
    ad_rev *list = adx_mpi_gather_sides(c, sides, side, out, x);
    adx_mpi_exchange *s = adx_mpi_halo_links(c, sides, side);
    adx_mpi_exchange *come = adx_mpi_halo_links(c, sides, side);
    ad_mpi_request *r = come == NULL ? NULL
                      : adx_mpi_new_request(c, come, in, true);
    if (list == NULL || s == NULL || r == NULL) {
        adx_drop(&c->memory, s);
        status = adx_mpi_fail(c, ADREV_ENOMEM, NULL, 0, NULL);
    } else {
        adx_mpi_place_sides(sides, side, r->to, NULL, NULL);
        status = adx_mpi_start_halo(s, r, out, list);
    }
    if (status == ADREV_OK)
        *request = r;
    else if (r != NULL)
        adx_mpi_free_request(r);
    adx_drop(&c->memory, list);
    return status;
}

ADX_API ad_status ad_mpi_halo_finish(ad_mpi *c, ad_mpi_request **request,
                                     size_t n, ad_rev x[])
{
    ad_mpi_request *r = request == NULL ? NULL : *request;
    bool wrong = r == NULL || r->c != c || r->to == NULL
              || adx_no_array(n, x) || adx_mpi_no_indices(r->m, r->to, n);
    ad_status status = adx_mpi_enter(c, wrong, 0, NULL);
    if (wrong || adx_mpi_is_apart(c))
        return status;
    *request = NULL;
    ad_rev *y = (ad_rev *)adx_take(&c->memory, r->m, sizeof *y);
    bool ended = y != NULL && status == ADREV_OK && adx_mpi_has_ended(r);
    if (y == NULL)
        adx_mpi_stop(c, ADREV_ENOMEM, NULL);
    if (ended) {
        adx_mpi_spoil(r->m, y);
        status = ADREV_EREMOTE;
    } else if (y == NULL || status != ADREV_OK || !adx_mpi_complete(r))
        status = adx_mpi_refuse(c, 0, NULL);
    else {
        status = adx_mpi_record(r->exchange, 0, NULL, r->m, r->v, y);
        r->exchange = NULL;
    }
    for (size_t i = 0; i < r->m && (ended || status == ADREV_OK); i++)
        x[r->to[i]] = y[i];
    adx_drop(&c->memory, y);
    adx_mpi_free_request(r);
    return status;
}
