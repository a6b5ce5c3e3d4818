#pragma once

/* === mpi/messages ===========================================================
 * Numbers that go from rank to rank. Who sends does not wait: the numbers are
 * copied, and go when the other takes them. So no order of statements can make
 * a sweep wait for itself. Who receives waits until the message is there, or
 * until a rank has failed.
 *
 * A message begins with four numbers: its stamp, which says to what kind of
 * statement it belongs, its id (mpi/statements; else 0), and its length, as two
 * numbers of 24 bits and more, which a float has. So the length is right before
 * anything is written, and statements that do not belong together are noticed.
 * Messages of more than ADREV_MPI_PIECE numbers go in pieces.
 *
 *   needs   tape/memory mpi/api mpi/context mpi/agreement
 *   offers  adx_mpi_outgoing adx_mpi_post adx_mpi_relieve adx_mpi_send
 *           adx_mpi_has_gone adx_mpi_receive
 * ========================================================================== */

// Numbers that may be under way from this rank before ad_mpi_send waits: 64
// MiB.
#ifndef ADX_MPI_GOING
#define ADX_MPI_GOING ((size_t)1 << 23)
#endif

// Numbers before those of a message.
enum {
    ADX_MPI_AT_STAMP, ADX_MPI_AT_ID, ADX_MPI_AT_LENGTH, ADX_MPI_AT_MORE,
    ADX_MPI_FRONT
};

_Static_assert(ADREV_MPI_PIECE >= ADX_MPI_FRONT,
               "ADREV_MPI_PIECE must have room for the front of a message");

static size_t adx_mpi_pieces(size_t n)
{
    return (n + ADX_MPI_FRONT + ADREV_MPI_PIECE - 1) / ADREV_MPI_PIECE;
}

// Where the pieces of a message are.
static ad_real *adx_mpi_numbers(adx_mpi_parcel *p)
{
    char *end = (char *)&p->request[p->pieces];
    size_t past = (size_t)(end - (char *)p) % sizeof(ad_real);
    return (ad_real *)(void *)(end + (past == 0 ? 0 : sizeof(ad_real) - past));
}

// A message of n numbers, to be filled behind its front. NULL: this rank has
// failed.
static ad_real *adx_mpi_outgoing(ad_mpi *c, size_t n, adx_mpi_parcel **parcel)
{
    size_t pieces = adx_mpi_pieces(n);
    size_t bytes = sizeof **parcel + pieces * sizeof(MPI_Request)
                 + (n + ADX_MPI_FRONT + 1) * sizeof(ad_real);
    *parcel = n > ADX_MOST_ELEMENTS / 4 || pieces > INT32_MAX
            ? NULL : (adx_mpi_parcel *)adx_take(&c->memory, bytes, 1);
    if (*parcel == NULL) {
        adx_mpi_stop(c, ADREV_ENOMEM, NULL);
        return NULL;
    }
    (*parcel)->n = n;
    (*parcel)->pieces = pieces;
    return adx_mpi_numbers(*parcel) + ADX_MPI_FRONT;
}

// Sends it. The message frees itself.
static bool adx_mpi_post(ad_mpi *c, adx_mpi_parcel *p, int to, int tag,
                         unsigned stamp, uint32_t id)
{
    ad_real *at = adx_mpi_numbers(p);
    size_t left = p->n + ADX_MPI_FRONT;
    at[ADX_MPI_AT_STAMP] = (ad_real)stamp;
    at[ADX_MPI_AT_ID] = (ad_real)id;
    at[ADX_MPI_AT_LENGTH] = (ad_real)(p->n & 0xffffff);
    at[ADX_MPI_AT_MORE] = (ad_real)(p->n >> 24);
    for (size_t i = 0; i < p->pieces; i++)
        p->request[i] = MPI_REQUEST_NULL;
    for (size_t i = 0; i < p->pieces && !c->broken; i++) {
        int piece = (int)(left < ADREV_MPI_PIECE ? left : ADREV_MPI_PIECE);
        adx_mpi_ok(c, MPI_Isend(at, piece, adx_mpi_real(), to, tag, c->data,
                                &p->request[i]));
        c->sent[to]++;
        at += piece;
        left -= (size_t)piece;
    }
    c->messages++;
    c->going_numbers += p->n;
    p->next = c->going;
    c->going = p;
    adx_mpi_reap(c, false);
    return !c->stopped;
}

// Waits while too much is under way. Only where nobody waits for what this rank
// does next: a statement that sends and receives would wait for itself.
static bool adx_mpi_relieve(ad_mpi *c)
{
    for (unsigned looks = 0; c->going_numbers > ADX_MPI_GOING
                             && adx_mpi_look(c); looks++) {
        adx_mpi_rest(c, looks);
        adx_mpi_reap(c, false);
    }
    return !c->stopped;
}

// Sends n numbers. False: a rank has failed.
static bool adx_mpi_send(ad_mpi *c, int to, int tag, unsigned stamp, size_t n,
                         const ad_real v[])
{
    adx_mpi_parcel *p;
    ad_real *at = adx_mpi_outgoing(c, n, &p);
    if (at == NULL)
        return false;
    if (n > 0)
        memcpy(at, v, n * sizeof *v);
    return adx_mpi_post(c, p, to, tag, stamp, 0);
}

/* --- receiving ----------------------------------------------------------- */

// With ADREV_DEBUG: whether that rank has gone on to an agreement without
// having failed. (If it has failed, its note is under way.)
static bool adx_mpi_has_gone(ad_mpi *c, int rank)
{
    MPI_Status status;
    adx_mpi_word *met = &c->met[rank];
    if (met->epoch == 0
        && adx_mpi_arrived(c, c->control, rank, ADX_MPI_MEET, &status))
        *met = adx_mpi_hear(c, rank, ADX_MPI_MEET);
    return met->epoch != 0 && met->status == ADREV_OK;
}

// Whether what is waited for will never come from there.
static bool adx_mpi_left(ad_mpi *c, int from)
{
    if (!adx_mpi_has_gone(c, from) || c->met[from].sent != c->taken[from])
        return false;
    adx_mpi_stop(c, ADREV_ESHAPE, "a rank waits for a message of one that went "
                 "on to a query: a call was forgotten there");
    return true;
}

// Waits for a message, whose numbers then are *n. False: a rank has failed.
static bool adx_mpi_await(ad_mpi *c, int from, int tag, int *n)
{
    MPI_Status status;
    for (unsigned looks = 0; !adx_mpi_arrived(c, c->data, from, tag, &status);
         looks++) {
        if (looks % 16 == 0 && !adx_mpi_look(c))
            return false;
        if (ADREV_DEBUG && looks % 64 == 1 && adx_mpi_left(c, from))
            return false;
        adx_mpi_rest(c, looks);
    }
    return !c->broken
        && adx_mpi_ok(c, MPI_Get_count(&status, adx_mpi_real(), n));
}

static bool adx_mpi_take_piece(ad_mpi *c, int from, int tag, int n,
                               ad_real to[])
{
    c->taken[from]++;
    return adx_mpi_ok(c, MPI_Recv(to, n, adx_mpi_real(), from, tag, c->data,
                                  MPI_STATUS_IGNORE));
}

// Whether this is the front of the message that is expected.
static bool adx_mpi_is_front(ad_mpi *c, const ad_real front[], unsigned stamp,
                             size_t n)
{
    bool kind = front[ADX_MPI_AT_STAMP] == (ad_real)stamp;
    if (kind && front[ADX_MPI_AT_LENGTH] == (ad_real)(n & 0xffffff)
        && front[ADX_MPI_AT_MORE] == (ad_real)(n >> 24))
        return true;
    adx_mpi_stop(c, ADREV_ESHAPE, kind
                 ? "a message has another length than is expected"
                 : "a message of another statement than is expected: ranks "
                   "make different calls");
    return false;
}

// Takes the message of n numbers that comes next. Its first piece goes through
// `spare`, because of its front. id: what it says there; may be NULL.
//
// False: a rank has failed; what was written until then stays.
static bool adx_mpi_receive(ad_mpi *c, int from, int tag, unsigned stamp,
                            size_t n, ad_real to[], uint32_t *id)
{
    int count = 0;
    if (!adx_mpi_look(c) || !adx_mpi_await(c, from, tag, &count)
        || !adx_mpi_take_piece(c, from, tag, count, c->spare)
        || !adx_mpi_is_front(c, c->spare, stamp, n))
        return false;
    size_t have = (size_t)count - ADX_MPI_FRONT;
    if (id != NULL)
        *id = (uint32_t)c->spare[ADX_MPI_AT_ID];
    if (have > 0)
        memcpy(to, c->spare + ADX_MPI_FRONT, have * sizeof *to);
    while (have < n) {
        if (!adx_mpi_await(c, from, tag, &count))
            return false;
        if ((size_t)count > n - have) {
            adx_mpi_stop(c, ADREV_ESHAPE, "a message has more pieces than its "
                         "length: ranks have different ADREV_MPI_PIECE");
            return false;
        }
        if (!adx_mpi_take_piece(c, from, tag, count, to + have))
            return false;
        have += (size_t)count;
    }
    return true;
}
