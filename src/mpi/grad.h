#pragma once

/* === mpi/grad ===============================================================
 * Value and gradient of a sum of parts. A rank goes through its parts one by
 * one, on one tape; with a pool, in several chunks, each with a tape of its
 * own.
 *
 *   needs   number/recording tape/memory sweep/session parallel/api
 *           parallel/pool mpi/api mpi/context mpi/agreement mpi/parts mpi/sums
 *   offers  adx_mpi_print
 * ========================================================================== */

// What one call of ad_mpi_grad computes.
typedef struct adx_mpi_task {
    ad_mpi *c;
    ad_part_fn *f;
    void *ctx;
    size_t n;
    const ad_real *x;
    bool value_only;
    uint64_t parts;
    size_t length;              // of a node: the gradient, the value, and how
                                // many parts depend on x
    const adx_context *caller;  // of the thread that may call MPI
    adx_mpi_flag stop;
    adx_mpi_count done;
} adx_mpi_task;

// Consecutive parts, on one thread.
typedef struct adx_mpi_chunk {
    adx_mpi_task *task;
    uint64_t begin, end;
    ad_status status;
    const char *why;            // it failed; NULL: only the status says it
    adx_mpi_row row;
} adx_mpi_chunk;

/* --- parts --------------------------------------------------------------- */

// Value and gradient of part i, into a vector. The tape has the inputs only, as
// before.
static ad_status adx_mpi_part(const adx_mpi_task *k, ad_tape *t, uint64_t i,
                              const ad_rev in[], ad_real v[])
{
    size_t g = k->length - 2;
    ad_use(t);                  // ad_mpi_watch_fn may have left another one
    ad_rev y = k->f((size_t)i, in, k->ctx);
    ad_use(t);
    ad_status status = adx_check_results(t, 1, &y);
    if (status != ADREV_OK)
        return status;
    v[g] = y.v;
    v[g + 1] = y.job != 0 || k->value_only;
    if (k->value_only)
        return ADREV_OK;
    if (y.job != 0)
        return ad_gradient(t, y, k->n, in, v);
    memset(v, 0, g * sizeof *v);
    return ADREV_OK;
}

// After a part, on the thread that may call MPI: whether to go on.
static bool adx_mpi_between(adx_mpi_task *k)
{
    k->c->done[k->c->rank] = k->done;
    return adx_mpi_look(k->c);
}

// Does the parts of a chunk on tape t, which is current.
static ad_status adx_mpi_parts(adx_mpi_chunk *p, ad_tape *t, ad_rev in[])
{
    adx_mpi_task *k = p->task;
    ad_status status = ADREV_OK;
    adx_begin_inputs(k->n, k->x, in, k->value_only);
    adx_close_off(k->n, in);
    for (uint64_t i = p->begin; i < p->end && status == ADREV_OK; i++) {
        ad_mark mark = ad_tape_mark(t);
        ad_real *v = adx_mpi_take_vector(&p->row);
        if (v == NULL)
            return ADREV_ENOMEM;
        status = adx_mpi_part(k, t, i, in, v);
        adx_mpi_push(&p->row, (adx_mpi_node){ .index = i, .v = v });
        if (status == ADREV_OK && !adx_is_closed_off(k->n, in))
            status = ADREV_EBEYOND;
        if (status == ADREV_OK)
            status = ad_tape_rewind(t, mark);
        k->done++;
        if (&adx_now == k->caller && !adx_mpi_between(k))
            k->stop = true;
        if (k->stop)
            return status;
    }
    return status;
}

static void adx_mpi_do_chunk(adx_mpi_chunk *p)
{
    const ad_allocator *memory = &p->task->c->memory;
    ad_rev *in = (ad_rev *)adx_take(memory, p->task->n + ADX_BEYOND,
                                    sizeof *in);
    ad_tape *t = in == NULL ? NULL : ad_tape_new_with(memory);
    ad_tape *before = ad_use(t);
    bool nested = adx_mpi_in_part;      // in a branch of another part
    adx_mpi_in_part = true;
    p->status = t == NULL ? ADREV_ENOMEM : adx_mpi_parts(p, t, in);
    adx_mpi_in_part = nested;
    if (t != NULL && t->status != ADREV_OK && t->status == p->status)
        p->why = ad_tape_reason(t);
    ad_use(before);
    ad_tape_free(t);
    adx_drop(memory, in);
    if (p->status != ADREV_OK)
        p->task->stop = true;
}

// One chunk, or a few for each thread of a pool.
static size_t adx_mpi_chunks(uint64_t parts)
{
#ifdef ADREV_PARALLEL_IMPLEMENTED
    size_t threads = adx_mine.execute != NULL ? 16
                   : adx_mine.seat == NULL
                   ? 1 : (size_t)adx_mine.pool->workers + 1;
    uint64_t chunks = threads == 1 ? 1 : 4 * (uint64_t)threads;
    return (size_t)(chunks < parts ? chunks : parts > 0 ? parts : 1);
#else
    (void)parts;
    return 1;
#endif
}

static void adx_mpi_call_chunk(size_t i, void *user)
{
    adx_mpi_do_chunk((adx_mpi_chunk *)user + i);
}

// The rows of all chunks become one, that of the first; after a failure they
// are freed. So they are if the sum was stopped: then they have gaps, and
// together more nodes than a row has room for.
static ad_status adx_mpi_join_chunks(adx_mpi_task *k, size_t chunks,
                                     adx_mpi_chunk chunk[])
{
    const adx_mpi_chunk *failed = NULL;
    for (size_t i = 0; failed == NULL && i < chunks; i++)
        failed = chunk[i].status != ADREV_OK ? &chunk[i] : NULL;
    for (size_t i = 1; i < chunks; i++) {
        adx_mpi_row *row = &chunk[i].row;
        for (size_t j = 0; !k->stop && j < row->count; j++)
            adx_mpi_push(&chunk[0].row, row->node[j]);
        row->count = k->stop ? row->count : 0;
        adx_mpi_free_row(row);
    }
    if (failed == NULL)
        return ADREV_OK;
    adx_mpi_stop(k->c, failed->status, failed->why);
    return failed->status;
}

// Does the parts of this rank. They become one row, that of the first chunk.
static ad_status adx_mpi_own_parts(adx_mpi_task *k, size_t chunks,
                                   adx_mpi_chunk chunk[])
{
    uint64_t begin, end;
    adx_mpi_cuts(k->c, k->parts, k->c->rank, &begin, &end);
    for (size_t i = 0; i < chunks; i++) {
        uint64_t n = end - begin;
        chunk[i] = (adx_mpi_chunk){ .task = k,
            .begin = begin + n / chunks * i + n % chunks * i / chunks };
        chunk[i].row.memory = &k->c->memory;
        chunk[i].row.parts = k->parts;
        chunk[i].row.length = k->length;
        if (i > 0)
            chunk[i - 1].end = chunk[i].begin;
    }
    chunk[chunks - 1].end = end;
#ifdef ADREV_PARALLEL_IMPLEMENTED
    if (chunks > 1)
        ad_fork_n(chunks, adx_mpi_call_chunk, chunk);
    else
#endif
        adx_mpi_call_chunk(0, chunk);
    return adx_mpi_join_chunks(k, chunks, chunk);
}

/* --- moving parts between ranks ------------------------------------------ */

ADX_API void ad_mpi_balance(ad_mpi *c, bool on)
{
    if (c != NULL && c->balance != on) {
        c->balance = on;
        c->parts = 0;
    }
}

// New cuts, so that all ranks take as long as rank r took for each of its
// parts.
static void adx_mpi_move_cuts(const ad_mpi *c, uint64_t parts,
                              const ad_real seconds[], uint64_t cut[])
{
    double all = 0;
    double before = 0;
    uint64_t begin, end;
    int r = 0;
    for (int i = 0; i < c->size; i++)
        all += (double)seconds[i];
    cut[0] = 0;
    cut[c->size] = parts;
    for (int i = 1; i < c->size; i++) {
        double want = all * i / c->size;
        while (r + 1 < c->size && before + (double)seconds[r] < want)
            before += (double)seconds[r++];
        adx_mpi_cuts(c, parts, r, &begin, &end);
        double part = (want - before) / (double)seconds[r];
        part = part > 0 ? part < 1 ? part : 1 : 0;      // NaN: 0
        uint64_t ideal = begin + (uint64_t)(part * (double)(end - begin));
        cut[i] = adx_mpi_round(ideal, parts / (uint64_t)c->size);
        if (cut[i] < cut[i - 1])
            cut[i] = cut[i - 1];
        if (cut[i] > parts)
            cut[i] = parts;
    }
}

// Rank 0 is told how long each rank took, and says who has which parts in the
// next call. A cut goes as two numbers of 24 bits, which a float has.
static void adx_mpi_rebalance(ad_mpi *c, uint64_t parts, double took)
{
    size_t n = 2 * ((size_t)c->size + 1);
    ad_real seconds = (ad_real)took;
    ad_real *all = (ad_real *)adx_take(&c->memory, n + (size_t)c->size,
                                       sizeof *all);
    if (all == NULL) {
        adx_mpi_stop(c, ADREV_ENOMEM, NULL);
        return;
    }
    ad_real *times = all + n;
    bool well = c->rank == 0 || adx_mpi_send_sum(c, 0, 1, &seconds);
    times[0] = seconds;
    for (int r = 1; well && c->rank == 0 && r < c->size; r++)
        well = adx_mpi_receive_sum(c, r, 1, &times[r]);
    if (well && c->rank == 0) {
        uint64_t *cut = c->cut_next;
        adx_mpi_move_cuts(c, parts, times, cut);
        for (int i = 0; i <= c->size; i++) {
            all[2 * i] = (ad_real)(cut[i] >> 24);
            all[2 * i + 1] = (ad_real)(cut[i] & 0xffffff);
        }
    }
    well = well && adx_mpi_spread(c, n, all);
    for (int i = 0; well && i <= c->size; i++)
        c->cut_next[i] = ((uint64_t)all[2 * i] << 24)
                       + (uint64_t)all[2 * i + 1];
    adx_drop(&c->memory, all);
}

/* --- the query ----------------------------------------------------------- */

// What all ranks must have alike, as one word; with ADREV_DEBUG also x.
static uint64_t adx_mpi_print(uint64_t kind, uint64_t a, uint64_t b, size_t n,
                              const ad_real x[])
{
    uint64_t print = ((kind * 0x9e3779b97f4a7c15u + a) * 0x9e3779b97f4a7c15u
                      + b) * 0x9e3779b97f4a7c15u;
    const unsigned char *byte = (const unsigned char *)x;
    for (size_t i = 0; ADREV_DEBUG && x != NULL && i < n * sizeof *x; i++)
        print = (print ^ byte[i]) * 0x100000001b3u;
    return print;
}

// The sum over all ranks of what this one has done, in all[k->length].
static void adx_mpi_finish(adx_mpi_task *k, adx_mpi_row *row, double took,
                           ad_real all[])
{
    ad_mpi *c = k->c;
    if (adx_mpi_look(c) && adx_mpi_sum(c, row, all) && c->balance)
        adx_mpi_rebalance(c, k->parts, took);
}

// Computes the parts of this rank, chunk by chunk, and in *all the sum over all
// ranks.
static ad_status adx_mpi_compute(adx_mpi_task *k, size_t chunks, ad_real **all)
{
    const ad_allocator *memory = &k->c->memory;
    adx_mpi_chunk *chunk = (adx_mpi_chunk *)adx_take(memory, chunks,
                                                     sizeof *chunk);
    *all = (ad_real *)adx_take(memory, k->length, sizeof **all);
    ad_status status = chunk == NULL || *all == NULL ? ADREV_ENOMEM : ADREV_OK;
    if (status == ADREV_OK) {
        double begun = MPI_Wtime();
        status = adx_mpi_own_parts(k, chunks, chunk);
        if (status == ADREV_OK)
            adx_mpi_finish(k, &chunk[0].row, MPI_Wtime() - begun, *all);
        adx_mpi_free_row(&chunk[0].row);
    }
    adx_drop(memory, chunk);
    return status;
}

// What says which sum it is: the sizes, and which rank has which parts.
static unsigned adx_mpi_stamp_of(const adx_mpi_task *k)
{
    const ad_mpi *c = k->c;
    unsigned parts = !c->balance ? 0 : c->parts != k->parts ? 1 : 2;
    return (unsigned)(adx_mpi_print(parts, k->parts, 2 * k->n + k->value_only,
                                    0, NULL) >> 40);
}

// Records and sweeps the parts, and adds up, if nothing has failed before.
static ad_status adx_mpi_do_task(adx_mpi_task *k, ad_real **all)
{
    ad_status status = adx_mpi_status_of(k->c);
    if (status != ADREV_OK)
        return status;
    ad_tape *before = ad_use(NULL);
    adx_mpi_begin_watch(k->c, k->parts);
    k->c->sum_stamp = adx_mpi_stamp_of(k);
    k->c->summing = true;
    status = adx_mpi_compute(k, adx_mpi_chunks(k->parts), all);
    k->c->summing = false;
    k->c->watch_parts = 0;
    ad_use(before);
    return status;
}

// Tells the user that all is done. As before, no call of an ad_mpi works there:
// other ranks make none.
static void adx_mpi_tell_last(ad_mpi *c, size_t parts)
{
    if (c->watch == NULL || c->rank != 0)
        return;
    ad_tape *before = ad_use(NULL);
    c->summing = true;
    c->watch(parts, parts, c->watch_user);
    c->summing = false;
    ad_use(before);
}

// Gives the sum to the user; the cuts of the next call are those of now.
static void adx_mpi_deliver(const adx_mpi_task *k, const ad_real all[],
                            ad_real *y, ad_real g[])
{
    ad_mpi *c = k->c;
    if (y != NULL)
        *y = all[k->length - 2];
    if (!k->value_only)
        memcpy(g, all, k->n * sizeof *g);
    memcpy(c->cut, c->cut_next, ((size_t)c->size + 1) * sizeof *c->cut);
    c->parts = c->balance ? k->parts : 0;
    adx_mpi_tell_last(c, (size_t)k->parts);
}

ADX_API ad_status ad_mpi_grad(ad_mpi *c, size_t parts, ad_part_fn *f,
                              void *ctx, size_t n, const ad_real x[],
                              ad_real *y, ad_real g[])
{
    ad_status status = adx_mpi_ready(c);
    if (status != ADREV_OK)
        return status;
    bool value_only = g == NULL || n == 0;
    bool wrong = f == NULL || parts == 0 || parts > ADX_MPI_MOST_PARTS
              || adx_no_array(n, x) || (y == NULL && value_only);
    adx_mpi_task k = { .c = c, .f = f, .ctx = ctx, .n = n, .x = x,
                       .value_only = value_only, .parts = parts,
                       .length = value_only ? 2 : n + 2, .caller = &adx_now };
    uint64_t print = adx_mpi_print(1, parts, n + value_only, wrong ? 0 : n, x);
    ad_real *all = NULL;
    status = wrong ? ADREV_ESHAPE : adx_mpi_do_task(&k, &all);
    status = adx_mpi_agree(c, status, print, false);
    if (status == ADREV_OK && all[k.length - 1] == 0) {
        status = ADREV_EPASSIVE;        // on all ranks: no failure of one
        c->why = ad_message(status);
    }
    if (status == ADREV_OK)
        adx_mpi_deliver(&k, all, y, g);
    adx_drop(&c->memory, all);
    return status;
}
