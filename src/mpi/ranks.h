#pragma once

/* === mpi/ranks ==============================================================
 * Making and freeing what a rank knows of the others.
 *
 *   needs   tape/memory mpi/api mpi/context mpi/agreement
 * ========================================================================== */

// Requests that nobody has waited for.
static void adx_mpi_free_requests(ad_mpi *c)
{
    while (c->posted != NULL) {
        ad_mpi_request *r = c->posted;
        c->posted = r->next;
        adx_drop(&c->memory, r->exchange);
        adx_drop(&c->memory, r);
    }
}

// Frees the object alone: its communicators and messages are gone.
static void adx_mpi_free_memory(ad_mpi *c)
{
    const ad_allocator memory = c->memory;
    adx_drop(&memory, c->met);
    adx_drop(&memory, c->sent);
    adx_drop(&memory, c->taken);
    adx_drop(&memory, c->meeting);
    adx_drop(&memory, c->told);
    adx_drop(&memory, c->heard);
    adx_drop(&memory, c->cut);
    adx_drop(&memory, c->cut_next);
    adx_drop(&memory, c->done);
    adx_drop(&memory, c->spare);
    adx_drop(&memory, c->next_id);
    adx_drop(&memory, c->keys);
    adx_drop(&memory, c->room);
    adx_drop(&memory, c);
}

// How many tags there are for ids: the same on all ranks. MPI has 32767 at
// least.
static uint32_t adx_mpi_count_tags(void)
{
    void *largest = NULL;
    int known = 0;
    int most = 32767;
    if (MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&largest, &known)
            == MPI_SUCCESS && known)
        most = *(const int *)largest;
    most -= ADX_MPI_BY_ID - 1;
    return (uint32_t)(most < ADX_MPI_ID_TAGS ? most : ADX_MPI_ID_TAGS);
}

// Without communicators; NULL: no memory.
static ad_mpi *adx_mpi_new_memory(const ad_allocator *memory, int rank,
                                  int size)
{
    size_t n = (size_t)size;
    ad_mpi *c = (ad_mpi *)adx_take(memory, 1, sizeof *c);
    if (c == NULL)
        return NULL;
    memset(c, 0, sizeof *c);
    c->memory = *memory;
    c->rank = rank;
    c->size = size;
    c->why = ad_message(ADREV_OK);
    for (int i = 0; i < ADX_MPI_SLOTS; i++)
        c->saying[i] = MPI_REQUEST_NULL;
    c->id_tags = adx_mpi_count_tags();
    c->met = (adx_mpi_word *)adx_take(memory, n, sizeof *c->met);
    c->sent = (uint64_t *)adx_take(memory, n, sizeof *c->sent);
    c->taken = (uint64_t *)adx_take(memory, n, sizeof *c->taken);
    c->meeting = (adx_mpi_word *)adx_take(memory, n, sizeof *c->meeting);
    c->heard = (uint64_t *)adx_take(memory, ADX_MPI_SAID * n, sizeof *c->heard);
    c->told = (MPI_Request *)adx_take(memory, 2 * n, sizeof *c->told);
    c->cut = (uint64_t *)adx_take(memory, n + 1, sizeof *c->cut);
    c->cut_next = (uint64_t *)adx_take(memory, n + 1, sizeof *c->cut_next);
    c->done = (uint64_t *)adx_take(memory, n, sizeof *c->done);
    c->next_id = (uint32_t *)adx_take(memory, n, sizeof *c->next_id);
    c->keys = (uint64_t *)adx_take(memory, 2 * n, sizeof *c->keys);
    c->spare = (ad_real *)adx_take(memory, ADREV_MPI_PIECE, sizeof *c->spare);
    if (c->meeting == NULL || c->heard == NULL
        || c->met == NULL || c->sent == NULL || c->taken == NULL
        || c->told == NULL || c->cut == NULL || c->cut_next == NULL
        || c->done == NULL || c->next_id == NULL || c->keys == NULL
        || c->spare == NULL) {
        adx_mpi_free_memory(c);
        return NULL;
    }
    memset(c->met, 0, n * sizeof *c->met);
    memset(c->sent, 0, n * sizeof *c->sent);
    memset(c->heard, 0, ADX_MPI_SAID * n * sizeof *c->heard);
    memset(c->taken, 0, n * sizeof *c->taken);
    memset(c->next_id, 0, n * sizeof *c->next_id);
    memset(c->keys, 0, 2 * n * sizeof *c->keys);
    memset(c->cut_next, 0, (n + 1) * sizeof *c->cut_next);
    for (size_t i = 0; i < 2 * n; i++)
        c->told[i] = MPI_REQUEST_NULL;
    return c;
}

// What must be the same on all ranks, as one number.
static int adx_mpi_switches(void)
{
    uint64_t h = sizeof(ad_real) + 16 * (uint64_t)ADREV_DEBUG;
    h = h * 0x9e3779b97f4a7c15u + ADREV_MPI_SLICE;
    h = h * 0x9e3779b97f4a7c15u + ADREV_MPI_PIECE;
    return (int)(h >> 34);
}

// Duplicates the communicator twice, if all ranks have memory and the same
// switches.
static bool adx_mpi_duplicate(ad_mpi *c, MPI_Comm comm)
{
    const int mine[3] = { c != NULL, adx_mpi_switches(), -adx_mpi_switches() };
    int least[3] = {0};
    if (MPI_Allreduce(mine, least, 3, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS
        || least[0] == 0 || least[1] != -least[2]
        || MPI_Comm_dup(comm, &c->data) != MPI_SUCCESS)
        return false;
    if (MPI_Comm_dup(comm, &c->control) == MPI_SUCCESS)
        return true;
    MPI_Comm_free(&c->data);
    return false;
}

ADX_API ad_mpi *ad_mpi_new_with(MPI_Comm comm, const ad_allocator *allocator)
{
    int begun = 0;
    int ended = 0;
    int rank = 0;
    int size = 0;
    int between = 0;            // two groups of ranks
    if (MPI_Initialized(&begun) != MPI_SUCCESS || !begun
        || MPI_Finalized(&ended) != MPI_SUCCESS || ended
        || comm == MPI_COMM_NULL
        || MPI_Comm_test_inter(comm, &between) != MPI_SUCCESS || between
        || MPI_Comm_rank(comm, &rank) != MPI_SUCCESS
        || MPI_Comm_size(comm, &size) != MPI_SUCCESS)
        return NULL;
    ad_mpi *c = !adx_is_allocator(allocator) ? NULL
              : adx_mpi_new_memory(allocator, rank, size);
    if (adx_mpi_duplicate(c, comm))
        return c;
    if (c != NULL)
        adx_mpi_free_memory(c);
    return NULL;
}

#ifndef ADREV_NO_STDLIB
ADX_API ad_mpi *ad_mpi_new(MPI_Comm comm)
{
    return ad_mpi_new_with(comm, &adx_libc);
}
#endif

// Whether MPI has done with n requests, as far as it still says so.
static bool adx_mpi_has_done(size_t n, MPI_Request request[])
{
    int done = 1;
    for (size_t i = 0; done != 0 && i < n; i++)
        if (MPI_Test(&request[i], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            done = 0;
    return done != 0;
}

// Frees messages that are under way where nobody takes them any more. False:
// MPI still reads one of them, or what this rank told others.
static bool adx_mpi_free_going(ad_mpi *c)
{
    while (c->going != NULL) {
        adx_mpi_parcel *p = c->going;
        if (!adx_mpi_has_done(p->pieces, p->request))
            return false;
        c->going = p->next;
        adx_drop(&c->memory, p);
    }
    return adx_mpi_has_done(ADX_MPI_SLOTS, c->saying)
        && adx_mpi_has_done(2 * (size_t)c->size, c->told);
}

// Messages that nobody has taken are thrown away, as after a failure. Memory
// that MPI may read stays, if that is broken.
ADX_API void ad_mpi_free(ad_mpi *c)
{
    if (c == NULL)
        return;
    adx_mpi_stop(c, ADREV_EREMOTE, NULL);
    ad_ignore(adx_mpi_agree(c, ADREV_EREMOTE, 0, false));
    if (!c->broken) {
        adx_mpi_ok(c, MPI_Barrier(c->control));
        MPI_Comm_free(&c->data);
        MPI_Comm_free(&c->control);
    }
    adx_mpi_free_requests(c);
    if (adx_mpi_free_going(c))
        adx_mpi_free_memory(c);
}

ADX_API int ad_mpi_rank(const ad_mpi *c)
{
    return c == NULL ? 0 : c->rank;
}

ADX_API int ad_mpi_size(const ad_mpi *c)
{
    return c == NULL ? 1 : c->size;
}

ADX_API ad_status ad_mpi_agree(ad_mpi *c, ad_status mine)
{
    ad_status status = adx_mpi_ready(c);
    return status != ADREV_OK ? status : adx_mpi_agree(c, mine, 0, false);
}

ADX_API const char *ad_mpi_reason(const ad_mpi *c)
{
    return c == NULL ? ad_message(ADREV_ENOTAPE) : c->why;
}

ADX_API uint64_t ad_mpi_messages(const ad_mpi *c)
{
    return c == NULL ? 0 : c->messages;
}
