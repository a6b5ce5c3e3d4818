#pragma once

/* === mpi/statements =========================================================
 * What all statements with messages have in common: when they are refused, what
 * happens if they fail, how a tape with them is swept; and exchanges, which are
 * all but reductions and broadcasts.
 *
 * An exchange has *links*. A link sends some of the operands to a rank, and
 * receives some of the results from there. Its rule is the same with adjoints,
 * the other way round. A message has a number, its id, which the sender gives
 * it and tells the receiver. Adjoints and tangents are found by it, since
 * messages may be waited for in another order than they were sent: its tag is
 * the id, modulo the number of tags that MPI has.
 *
 *   needs   number/recording tape/layout tape/memory sweep/sweep sweep/queries
 *           array/external mpi/api mpi/context mpi/agreement mpi/messages
 *           mpi/grad
 *   offers  ADX_MPI_KEYS ADX_MPI_BY_KEY adx_mpi_kind ADX_MPI_SEND ADX_MPI_HALO
 *           ADX_MPI_BCAST ADX_MPI_REDUCE ADX_MPI_GATHER ADX_MPI_SCATTER
 *           ADX_MPI_ALLGATHER ADX_MPI_ALLTOALL ADX_MPI_ALL adx_mpi_link
 *           adx_mpi_spoil adx_mpi_fail adx_mpi_refuse adx_mpi_enter
 *           adx_mpi_meet_call adx_mpi_enter_all adx_mpi_is_rank adx_mpi_room
 *           adx_mpi_new_exchange adx_mpi_send_links adx_mpi_fetch
 *           adx_mpi_is_asked adx_mpi_external adx_mpi_record
 *           adx_mpi_run_exchange
 * ========================================================================== */

// Tags of messages with numbers. Values are found by the key of their side;
// adjoints and tangents by their ids (ADX_MPI_BY_ID).
#define ADX_MPI_KEYS 64
#define ADX_MPI_BY_KEY 64

// What a stamp says: what statement a message belongs to. Those of sums are
// below (mpi/sums).
typedef enum adx_mpi_kind {
    ADX_MPI_SEND = 2, ADX_MPI_HALO, ADX_MPI_BCAST, ADX_MPI_REDUCE,
    ADX_MPI_GATHER, ADX_MPI_SCATTER, ADX_MPI_ALLGATHER, ADX_MPI_ALLTOALL,
    ADX_MPI_ALL
} adx_mpi_kind;

typedef struct adx_mpi_link {
    int rank;
    int send_tag, receive_tag;  // of values
    uint32_t out_id, in_id;
    size_t out, out_at;         // operands that go, from this one on
    size_t in, in_at;           // results that come
    bool sends, receives;       // also if there are no numbers in it
} adx_mpi_link;

// What the statement saves.
struct adx_mpi_exchange {
    ad_mpi *c;
    adx_mpi_kind kind;
    size_t links;
    adx_mpi_link link[];
};

/* --- refusals and failures ----------------------------------------------- */

static void adx_mpi_spoil(size_t m, ad_rev y[])
{
    for (size_t i = 0; !adx_no_array(m, y) && i < m; i++)
        y[i] = adx_passive(ADX_K(NAN));
}

// Fails the statement: its tape, this rank, and the others. Results become NaN.
ADX_COLD static ad_status adx_mpi_fail(ad_mpi *c, ad_status status,
                                       const char *why, size_t m, ad_rev y[])
{
    adx_mpi_stop(c, status, why);
    if (adx_now.tape != NULL)
        adx_fail_because(adx_now.tape, status, why == NULL ? c->why : why);
    adx_mpi_spoil(m, y);
    return status;
}

// The failure of a rank, here or elsewhere, as what a statement returns.
ADX_COLD static ad_status adx_mpi_refuse(ad_mpi *c, size_t m, ad_rev y[])
{
    return adx_mpi_fail(c, adx_mpi_status_of(c), c->why, m, y);
}

// Whether a statement can be made here and now. If not, results become NaN.
//
//   wrong        in    arguments are impossible
static ad_status adx_mpi_enter(ad_mpi *c, bool wrong, size_t m, ad_rev y[])
{
    ad_tape *t = adx_now.tape;
    if (c == NULL) {
        adx_mpi_spoil(m, y);
        return ad_fail(ADREV_ENOTAPE, "a statement with messages: ad_mpi is "
                       "NULL");
    }
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK) {
        adx_mpi_spoil(m, y);
        return status;
    }
    if (adx_always_status() != ADREV_OK)
        return adx_mpi_fail(c, t->status, ad_tape_reason(t), m, y);
    if (!adx_mpi_look(c))       // first: what is wrong may come from it
        return adx_mpi_refuse(c, m, y);
    if (wrong)
        return adx_mpi_fail(c, ADREV_ESHAPE, "a message: an array, a rank or a "
                            "length is impossible", m, y);
    c->why = ad_message(ADREV_OK);
    return ADREV_OK;
}

// With ADREV_DEBUG: whether the rank before this one makes the same collective
// call. If any two ranks make different ones, so do two neighbours in this
// ring. Its own word may be read later: it waits for that before it says the
// next one.
static bool adx_mpi_same_call(ad_mpi *c, uint64_t print)
{
    MPI_Status status;
    int before = (c->rank + c->size - 1) % c->size;
    for (unsigned looks = 0; !adx_mpi_finished(c, 1, &c->saying[ADX_MPI_CALL],
                                               false); looks++) {
        if (!adx_mpi_look(c))
            return false;
        adx_mpi_rest(c, looks);
    }
    adx_mpi_say(c, (c->rank + 1) % c->size, ADX_MPI_CALL,
                (adx_mpi_word){ .epoch = c->epoch, .print = print });
    for (unsigned looks = 0;; looks++) {
        bool gone = adx_mpi_has_gone(c, before);
        if (adx_mpi_arrived(c, c->control, before, ADX_MPI_CALL, &status)) {
            adx_mpi_word word = adx_mpi_hear(c, before, ADX_MPI_CALL);
            if (word.epoch == c->epoch)
                return word.print == print;
        } else if (!adx_mpi_look(c) || gone)
            return false;
        adx_mpi_rest(c, looks);
    }
}

// Whether all ranks make the same collective call, as far as is looked at. If
// not, this rank has failed.
//
//   kind, what, n  in    alike on all ranks
static bool adx_mpi_meet_call(ad_mpi *c, adx_mpi_kind kind, int what, size_t n)
{
    if (!ADREV_DEBUG || c->size == 1
        || adx_mpi_same_call(c, ((uint64_t)kind * 1009 + (uint64_t)what)
                                * 0x9e3779b97f4a7c15u + n))
        return true;
    if (!c->stopped)
        adx_mpi_stop(c, ADREV_ESHAPE, "ranks make different collective calls, "
                     "or one was forgotten");
    return false;
}

// As adx_mpi_enter, for a collective statement.
static ad_status adx_mpi_enter_all(ad_mpi *c, bool wrong, size_t m, ad_rev y[],
                                   adx_mpi_kind kind, int what, size_t n)
{
    ad_status status = adx_mpi_enter(c, wrong, m, y);
    return status != ADREV_OK || adx_mpi_meet_call(c, kind, what, n)
         ? status : adx_mpi_refuse(c, m, y);
}

static bool adx_mpi_is_rank(const ad_mpi *c, int rank)
{
    return c != NULL && rank >= 0 && rank < c->size;
}

// Room for the rows of a message that comes; NULL: this rank has failed.
static ad_real *adx_mpi_room(ad_mpi *c, size_t n)
{
    void *room = c->room;
    bool well = n <= ADX_MOST_ELEMENTS
             && adx_extend(&c->memory, &room, &c->room_size, n,
                           sizeof *c->room);
    c->room = (ad_real *)room;
    if (!well)
        adx_mpi_stop(c, ADREV_ENOMEM, NULL);
    return well ? c->room : NULL;
}

/* --- values -------------------------------------------------------------- */

// For so many links; NULL: no memory.
static adx_mpi_exchange *adx_mpi_new_exchange(ad_mpi *c, adx_mpi_kind kind,
                                              size_t links)
{
    size_t bytes = adx_size_plus(sizeof(adx_mpi_exchange),
                                 adx_size_times(links, sizeof(adx_mpi_link)));
    adx_mpi_exchange *s = (adx_mpi_exchange *)adx_take(&c->memory, bytes, 1);
    if (s == NULL)
        return NULL;
    memset(s, 0, bytes);
    s->c = c;
    s->kind = kind;
    s->links = links;
    for (size_t i = 0; i < links; i++)
        s->link[i].send_tag = s->link[i].receive_tag = ADX_MPI_BY_KEY;
    return s;
}

static size_t adx_mpi_exchange_bytes(const adx_mpi_exchange *s)
{
    return sizeof *s + s->links * sizeof s->link[0];
}

// Sends all messages of an exchange before anything is received.
static bool adx_mpi_send_links(adx_mpi_exchange *s, const ad_rev x[])
{
    ad_mpi *c = s->c;
    for (size_t i = 0; i < s->links; i++) {
        adx_mpi_link *k = &s->link[i];
        adx_mpi_parcel *p;
        if (!k->sends)
            continue;
        k->out_id = c->next_id[k->rank]++ & ADX_MPI_LAST_ID;
        ad_real *to = adx_mpi_outgoing(c, k->out, &p);
        for (size_t j = 0; to != NULL && j < k->out; j++)
            to[j] = x[k->out_at + j].v;
        if (to == NULL || !adx_mpi_post(c, p, k->rank, k->send_tag, s->kind,
                                        k->out_id))
            return false;
    }
    return true;
}

static bool adx_mpi_receive_link(adx_mpi_exchange *s, adx_mpi_link *k,
                                 ad_real v[])
{
    return adx_mpi_receive(s->c, k->rank, k->receive_tag, s->kind, k->in,
                           v == NULL ? NULL : v + k->in_at, &k->in_id);
}

// Takes the messages that earlier requests have waited for, and that come
// before those of link `only` of request `last`, or before all that come now.
static bool adx_mpi_fetch(ad_mpi *c, int rank, int tag,
                          const ad_mpi_request *last, size_t only)
{
    for (ad_mpi_request *r = c->posted; r != NULL; r = r->next) {
        bool alive = r->exchange != NULL && r->failures == c->failures;
        for (size_t i = 0; alive && i < r->exchange->links; i++) {
            adx_mpi_link *k = &r->exchange->link[i];
            if (r == last && i > only)
                return true;
            if (r->got[i] || !k->receives || k->rank != rank
                || k->receive_tag != tag)
                continue;
            if (!adx_mpi_receive_link(r->exchange, k, r->v))
                return false;
            r->got[i] = true;
        }
        if (r == last)
            return true;
    }
    return true;
}

// v[m]: the results.
static bool adx_mpi_receive_links(adx_mpi_exchange *s, ad_real v[])
{
    for (size_t i = 0; i < s->links; i++) {
        adx_mpi_link *k = &s->link[i];
        if (k->receives
            && (!adx_mpi_fetch(s->c, k->rank, k->receive_tag, NULL, 0)
                || !adx_mpi_receive_link(s, k, v)))
            return false;
    }
    return true;
}

/* --- the rule ------------------------------------------------------------ */

// Whose query sweeps now, on this thread; NULL: nobody's.
static ADX_THREAD ad_mpi *adx_mpi_asked;

// Whether statements of c can be swept now. Those of another one than that of
// the query cannot: nobody would notice there if a rank failed.
static bool adx_mpi_is_asked(ad_mpi *c)
{
    if (adx_mpi_asked == NULL)
        c->why = "statements with messages are swept by ad_mpi_gradient and "
                 "its kin";
    else if (adx_mpi_asked != c)
        adx_mpi_stop(adx_mpi_asked, ADREV_EEXTERNAL, "a recording has "
                     "statements of another ad_mpi than that of the query");
    return adx_mpi_asked == c;
}

static int adx_mpi_id_tag(const ad_mpi *c, uint32_t id)
{
    return ADX_MPI_BY_ID + (int)(id % c->id_tags);
}

// Sends `n` numbers of each of k rows, which are `stride` apart.
static bool adx_mpi_send_rows(const adx_mpi_exchange *s, int to, uint32_t id,
                              size_t k, size_t n, const ad_real v[],
                              size_t stride)
{
    adx_mpi_parcel *p;
    ad_real *at = adx_mpi_outgoing(s->c, k * n, &p);
    if (at == NULL)
        return false;
    for (size_t r = 0; n > 0 && r < k; r++)
        memcpy(at + r * n, v + r * stride, n * sizeof *v);
    return adx_mpi_post(s->c, p, to, adx_mpi_id_tag(s->c, id), s->kind, id);
}

// Receives k rows of n numbers into `room`; NULL: a rank has failed.
static const ad_real *adx_mpi_receive_rows(const adx_mpi_exchange *s, int from,
                                           uint32_t id, size_t k, size_t n)
{
    uint32_t come;
    ad_real *room = adx_mpi_room(s->c, k * n + 1);
    if (room == NULL || !adx_mpi_receive(s->c, from, adx_mpi_id_tag(s->c, id),
                                         s->kind, k * n, room, &come))
        return NULL;
    if (come == id)
        return room;
    adx_mpi_stop(s->c, ADREV_ELIMIT, "more messages overtake each other than "
                 "MPI has tags");
    return NULL;
}

// The adjoints of what was received go back; those of what was sent come.
static bool adx_mpi_exchange_rows(const void *saved, size_t k, size_t m,
                                  const ad_real dy[], size_t n, ad_real dx[])
{
    const adx_mpi_exchange *s = (const adx_mpi_exchange *)saved;
    if (!adx_mpi_is_asked(s->c))
        return false;
    for (size_t i = 0; i < s->links; i++) {
        const adx_mpi_link *e = &s->link[i];
        if (e->receives && !adx_mpi_send_rows(s, e->rank, e->in_id, k, e->in,
                                              e->in == 0 ? NULL : dy + e->in_at,
                                              m))
            return false;
    }
    for (size_t i = 0; i < s->links; i++) {
        const adx_mpi_link *e = &s->link[i];
        const ad_real *from = !e->sends ? NULL
                            : adx_mpi_receive_rows(s, e->rank, e->out_id, k,
                                                   e->out);
        if (e->sends && from == NULL)
            return false;
        for (size_t r = 0; e->sends && r < k; r++)
            for (size_t j = 0; j < e->out; j++)
                dx[r * n + e->out_at + j] += from[r * e->out + j];
    }
    return true;
}

static bool adx_mpi_exchange_back(const void *saved, size_t m,
                                  const ad_real dy[], size_t n, ad_real dx[])
{
    return adx_mpi_exchange_rows(saved, 1, m, dy, n, dx);
}

// The pushforward: tangents go the way of the values. All links send before any
// receives, so that no two ranks wait for each other.
static bool adx_mpi_exchange_on(const void *saved, size_t n,
                                const ad_real dx[], size_t m, ad_real dy[])
{
    const adx_mpi_exchange *s = (const adx_mpi_exchange *)saved;
    (void)n;
    (void)m;
    if (!adx_mpi_is_asked(s->c))
        return false;
    for (size_t i = 0; i < s->links; i++) {
        const adx_mpi_link *e = &s->link[i];
        if (e->sends && !adx_mpi_send_rows(s, e->rank, e->out_id, 1, e->out,
                                           e->out == 0 ? NULL : dx + e->out_at,
                                           0))
            return false;
    }
    for (size_t i = 0; i < s->links; i++) {
        const adx_mpi_link *e = &s->link[i];
        const ad_real *from = !e->receives ? NULL
                            : adx_mpi_receive_rows(s, e->rank, e->in_id, 1,
                                                   e->in);
        if (e->receives && from == NULL)
            return false;
        if (e->receives && e->in > 0)
            memcpy(dy + e->in_at, from, e->in * sizeof *dy);
    }
    return true;
}

static const ad_external_rule adx_mpi_exchange_rule = {
    .name = "mpi", .pullback = adx_mpi_exchange_back,
    .pullback_n = adx_mpi_exchange_rows, .pushforward = adx_mpi_exchange_on,
    .always = true
};

/* --- statements ---------------------------------------------------------- */

// Records a statement whose messages have gone and come.
static ad_status adx_mpi_external(ad_mpi *c, const ad_external_rule *rule,
                                  const void *saved, size_t bytes, size_t n,
                                  const ad_rev x[], size_t m, const ad_real v[],
                                  ad_rev y[])
{
    ad_status status = (ad_external)(rule, saved, bytes, n, x, m, v, y);
    const ad_tape *t = adx_now.tape;
    if (status != ADREV_OK)
        adx_mpi_stop(c, status, t == NULL ? NULL : ad_tape_reason(t));
    return status;
}

// Records an exchange, and frees it.
static ad_status adx_mpi_record(adx_mpi_exchange *s, size_t n,
                                const ad_rev x[], size_t m, const ad_real v[],
                                ad_rev y[])
{
    ad_mpi *c = s->c;
    ad_status status = adx_mpi_external(c, &adx_mpi_exchange_rule, s,
                                        adx_mpi_exchange_bytes(s), n, x, m, v,
                                        y);
    adx_drop(&c->memory, s);
    return status;
}

// Does an exchange as one statement, and frees it. s NULL: no memory for it.
static ad_status adx_mpi_run_exchange(ad_mpi *c, adx_mpi_exchange *s, size_t n,
                                      const ad_rev x[], size_t m, ad_rev y[])
{
    ad_real *v = s == NULL ? NULL
               : (ad_real *)adx_take(&c->memory, m, sizeof *v);
    ad_status status = ADREV_OK;
    if (v == NULL)
        status = adx_mpi_fail(c, ADREV_ENOMEM, NULL, m, y);
    else if (!adx_mpi_send_links(s, x) || !adx_mpi_receive_links(s, v))
        status = adx_mpi_refuse(c, m, y);
    else {
        status = adx_mpi_record(s, n, x, m, v, y);
        s = NULL;
    }
    adx_drop(&c->memory, v);
    adx_drop(&c->memory, s);
    return status;
}

/* --- derivatives of a recording that is spread over ranks -------------------
 * Each rank sweeps its own tape; the statements in it exchange adjoints or
 * tangents. All agree before and after, so that none begins a sweep that
 * another does not, and none returns what another could not complete.        */

// The status of a query before its sweep, on all ranks.
static ad_status adx_mpi_begin_query(ad_mpi *c, ad_tape *t, ad_status status,
                                     uint64_t kind, size_t m)
{
    if (status != ADREV_OK && t != NULL && t->status == status)
        adx_mpi_stop(c, status, ad_tape_reason(t));
    return adx_mpi_agree(c, status, adx_mpi_print(kind, m, 0, 0, NULL), true);
}

// Sweeps the tape of this rank; a[] are its adjoints or tangents.
static ad_status adx_mpi_sweep(ad_mpi *c, const ad_tape *t, adx_sweep_fn *sweep,
                               ad_real a[])
{
    ad_mpi *before = adx_mpi_asked;
    adx_mpi_asked = c;
    bool well = adx_sweep(t, sweep, a);
    adx_mpi_asked = before;
    ad_status status = adx_mpi_status_of(c);
    return adx_mpi_agree(c, well || status != ADREV_OK ? status
                                                       : ADREV_EEXTERNAL,
                         0, false);
}

// A reverse sweep on all ranks, from dy[] on this one. A rank with a wrong
// argument takes part in the agreement, too: then none of them sweeps.
static ad_status adx_mpi_pull_back(ad_mpi *c, ad_tape *t, size_t m,
                                   const ad_rev y[], const ad_real dy[],
                                   size_t n, const ad_rev x[], ad_real dx[],
                                   uint64_t kind)
{
    bool missing = adx_no_array(m, dy) || adx_no_array(n, dx);
    bool run;
    ad_status status = adx_check_query(t, m, y, n, x, missing, &run);
    ad_real *adj = status != ADREV_OK ? NULL
                 : adx_cleared(t, 1, t->floor.adx_seq);
    if (status == ADREV_OK && adj == NULL)
        status = ADREV_ENOMEM;
    status = adx_mpi_begin_query(c, t, status, kind, 0);
    if (status != ADREV_OK)
        return status;
    for (size_t i = 0; i < m; i++)
        if (y[i].job != 0)
            *adx_derivative(t, adj, y[i], 1) += dy[i];
    status = adx_mpi_sweep(c, t, adx_reverse_1, adj);
    if (status == ADREV_OK)
        adx_read(t, n, x, adj, run, dx);
    return status;
}

ADX_API ad_status ad_mpi_gradient(ad_mpi *c, ad_tape *t, ad_rev y, size_t n,
                                  const ad_rev x[], ad_real g[])
{
    static const ad_real one = 1;
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    return adx_mpi_pull_back(c, t, c->rank == 0, &y, &one, n, x, g, 2);
}

ADX_API ad_status ad_mpi_pullback(ad_mpi *c, ad_tape *t, size_t m,
                                  const ad_rev y[], const ad_real dy[],
                                  size_t n, const ad_rev x[], ad_real dx[])
{
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    return adx_mpi_pull_back(c, t, m, y, dy, n, x, dx, 3);
}

ADX_API ad_status ad_mpi_pushforward(ad_mpi *c, ad_tape *t, size_t n,
                                     const ad_rev x[], const ad_real dx[],
                                     size_t m, const ad_rev y[], ad_real dy[])
{
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    bool missing = adx_no_array(m, dy) || adx_no_array(n, dx);
    bool run;
    status = adx_check_query(t, m, y, n, x, missing, &run);
    ad_real *tan = status != ADREV_OK ? NULL : adx_cleared(t, 1, 0);
    if (status == ADREV_OK && tan == NULL)
        status = ADREV_ENOMEM;
    status = adx_mpi_begin_query(c, t, status, 4, 0);
    if (status != ADREV_OK)
        return status;
    for (size_t j = 0; j < n; j++)
        *adx_derivative(t, tan, x[j], 1) += dx[j];
    status = adx_mpi_sweep(c, t, adx_forward_1, tan);
    for (size_t i = 0; status == ADREV_OK && i < m; i++)
        dy[i] = y[i].job == 0 ? 0 : *adx_derivative(t, tan, y[i], 1);
    return status;
}

// One sweep for rows `first` to `first + width - 1`.
static ad_status adx_mpi_rows(ad_mpi *c, ad_tape *t, size_t width, size_t first,
                              size_t m, const ad_rev y[], size_t n,
                              const ad_rev x[], ad_real J[])
{
    size_t rows = m - first < width ? m - first : width;
    ad_real *adj = adx_cleared(t, width, t->floor.adx_seq);
    for (size_t w = 0; c->rank == 0 && w < rows; w++)
        if (y[first + w].job != 0)
            adx_derivative(t, adj, y[first + w], width)[w] += 1;
    ad_status status = adx_mpi_sweep(c, t, ADX_FOR_WIDTH(width, adx_reverse),
                                     adj);
    for (size_t j = 0; status == ADREV_OK && j < n; j++) {
        const ad_real *column = adx_derivative(t, adj, x[j], width);
        for (size_t w = 0; w < rows; w++)
            J[(first + w) * n + j] = column[w];
    }
    return status;
}

ADX_API ad_status ad_mpi_jacobian(ad_mpi *c, ad_tape *t, size_t m,
                                  const ad_rev y[], size_t n,
                                  const ad_rev x[], ad_real J[])
{
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    bool missing = m > ADX_MOST_ELEMENTS
                || adx_no_array(adx_size_times(m, n), J);
    bool run;
    status = adx_check_query(t, c->rank == 0 ? m : 0, y, n, x,
                                       missing, &run);
    size_t width = adx_width(m, ADX_WIDEST);
    if (status == ADREV_OK && !adx_afford(t, width))
        status = ADREV_ENOMEM;
    status = adx_mpi_begin_query(c, t, status, 5, m);
    for (size_t i = 0; status == ADREV_OK && i < m; i += width)
        status = adx_mpi_rows(c, t, width, i, m, y, n, x, J);
    return status;
}
