#pragma once

/* === mpi/gathers ============================================================
 * Statements in which ranks send pieces of arrays to each other. Each pair of
 * ranks has a message of its own.
 *
 *   needs   tape/memory mpi/api mpi/context mpi/statements
 *   offers  ADX_MPI_COLLECTIVE_TAG
 * ========================================================================== */

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
