#pragma once

/* === mpi/sums ===============================================================
 * The sum of the rows of all ranks, on all ranks: short nodes up a tree of
 * ranks and down again, long ones by slices, of which each rank adds up one.
 * The additions are those of the tree of parts either way.
 *
 * Ranks that disagree on the sum must not wait for each other's nodes. So the
 * stamps of messages say which sum it is, and a rank that has no nodes sends an
 * empty message in their place. Then each rank looks at a stamp of each that it
 * waits for, whatever that one does.
 *
 *   needs   mpi/api mpi/agreement mpi/messages mpi/parts
 *   offers  adx_mpi_send_sum adx_mpi_receive_sum adx_mpi_spread adx_mpi_sum
 * ========================================================================== */

#define ADX_MPI_SUM 2           // tag of messages of sums

static bool adx_mpi_send_sum(ad_mpi *c, int to, size_t n, const ad_real v[])
{
    return adx_mpi_send(c, to, ADX_MPI_SUM, c->sum_stamp, n, v);
}

static bool adx_mpi_receive_sum(ad_mpi *c, int from, size_t n, ad_real v[])
{
    return adx_mpi_receive(c, from, ADX_MPI_SUM, c->sum_stamp, n, v, NULL);
}

// Sends n numbers of each node of a row, from `begin` on.
static bool adx_mpi_send_row(ad_mpi *c, int to, const adx_mpi_row *row,
                             size_t begin, size_t n)
{
    bool well = row->count > 0 || adx_mpi_send_sum(c, to, 0, NULL);
    for (size_t i = 0; well && i < row->count; i++)
        well = adx_mpi_send_sum(c, to, n, row->node[i].v + begin);
    return well;
}

// Takes the nodes of the ranks from `from` to `to` - 1, which `from` sends, and
// adds them to the row.
static bool adx_mpi_take_row(ad_mpi *c, adx_mpi_row *row, int from, int to)
{
    uint64_t at, end, unused;
    adx_mpi_cuts(c, row->parts, from, &at, &unused);
    adx_mpi_cuts(c, row->parts, to - 1, &unused, &end);
    if (at == end)
        return adx_mpi_receive_sum(c, from, 0, NULL);
    while (at < end) {
        adx_mpi_node node = adx_mpi_next_node(&at, end, row->parts);
        node.v = adx_mpi_take_vector(row);
        if (node.v == NULL) {
            adx_mpi_stop(c, ADREV_ENOMEM, NULL);
            return false;
        }
        bool well = adx_mpi_receive_sum(c, from, row->length, node.v);
        adx_mpi_push(row, node);
        if (!well)
            return false;
    }
    return true;
}

// Sends a vector from rank 0 to all others, down a binomial tree.
static bool adx_mpi_spread(ad_mpi *c, size_t n, ad_real v[])
{
    int stride = 1;
    while ((c->rank & stride) == 0 && stride < c->size)
        stride *= 2;
    if (c->rank != 0 && !adx_mpi_receive_sum(c, c->rank - stride, n, v))
        return false;
    for (stride /= 2; stride > 0; stride /= 2)
        if (c->rank + stride < c->size
            && !adx_mpi_send_sum(c, c->rank + stride, n, v))
            return false;
    return true;
}

// Up the tree: rank r takes the rows of the ranks to its right, then sends its
// own to the left.
static bool adx_mpi_sum_by_tree(ad_mpi *c, adx_mpi_row *row)
{
    int stride = 1;
    for (; (c->rank & stride) == 0 && stride < c->size; stride *= 2) {
        int from = c->rank + stride;
        int to = from + stride < c->size ? from + stride : c->size;
        if (from < c->size && !adx_mpi_take_row(c, row, from, to))
            return false;
    }
    return c->rank == 0
        || adx_mpi_send_row(c, c->rank - stride, row, 0, row->length);
}

// The numbers of slice r: *from to *to - 1.
static size_t adx_mpi_slice(const ad_mpi *c, size_t n, int r, size_t *from)
{
    size_t size = (size_t)c->size;
    size_t at = (size_t)r;
    *from = n / size * at + n % size * at / size;
    at++;
    return n / size * at + n % size * at / size - *from;
}

// Adds up the slice of this rank in a row of its own.
static bool adx_mpi_add_slices(ad_mpi *c, const adx_mpi_row *row,
                               adx_mpi_row *slice, size_t begin)
{
    for (int r = 0; r < c->size; r++) {
        size_t own = 0;
        uint64_t at, end;
        adx_mpi_cuts(c, row->parts, r, &at, &end);
        if (at == end && r != c->rank && !adx_mpi_receive_sum(c, r, 0, NULL))
            return false;
        while (at < end) {
            adx_mpi_node node = adx_mpi_next_node(&at, end, row->parts);
            node.v = adx_mpi_take_vector(slice);
            if (node.v == NULL) {
                adx_mpi_stop(c, ADREV_ENOMEM, NULL);
                return false;
            }
            bool well = true;
            if (r == c->rank)
                memcpy(node.v, row->node[own++].v + begin,
                       slice->length * sizeof *node.v);
            else
                well = adx_mpi_receive_sum(c, r, slice->length, node.v);
            adx_mpi_push(slice, node);
            if (!well)
                return false;
        }
    }
    return true;
}

// Sends each rank its slice of the row's nodes. The ranks after this one come
// first, so that not all send to the same.
static bool adx_mpi_send_slices(ad_mpi *c, const adx_mpi_row *row)
{
    for (int k = 1; k < c->size; k++) {
        int to = (c->rank + k) % c->size;
        size_t from;
        size_t n = adx_mpi_slice(c, row->length, to, &from);
        if (!adx_mpi_send_row(c, to, row, from, n))
            return false;
    }
    return true;
}

// Sends the sum of this rank's slice to all others, and takes theirs.
static bool adx_mpi_exchange_slices(ad_mpi *c, const ad_real mine[], size_t n,
                                    ad_real all[])
{
    size_t from;
    size_t count = adx_mpi_slice(c, n, c->rank, &from);
    memcpy(all + from, mine, count * sizeof *all);
    for (int k = 1; k < c->size; k++)
        if (!adx_mpi_send_sum(c, (c->rank + k) % c->size, count, mine))
            return false;
    for (int k = 1; k < c->size; k++) {
        int r = (c->rank + c->size - k) % c->size;
        count = adx_mpi_slice(c, n, r, &from);
        if (!adx_mpi_receive_sum(c, r, count, all + from))
            return false;
    }
    return true;
}

// Each rank gets its slice of all nodes, adds them up in the tree's order, and
// sends the sum to the others. So every rank moves 2 (ranks - 1) / ranks of the
// numbers.
static bool adx_mpi_sum_by_slices(ad_mpi *c, adx_mpi_row *row, ad_real all[])
{
    size_t from;
    adx_mpi_row slice = { .memory = row->memory, .parts = row->parts };
    slice.length = adx_mpi_slice(c, row->length, c->rank, &from);
    bool well = adx_mpi_send_slices(c, row)
             && adx_mpi_add_slices(c, row, &slice, from)
             && adx_mpi_exchange_slices(c, slice.node[0].v, row->length, all);
    adx_mpi_free_row(&slice);
    return well;
}

// all[row->length]: the sum of the rows of all ranks. False: a rank has failed.
static bool adx_mpi_sum(ad_mpi *c, adx_mpi_row *row, ad_real all[])
{
    if (row->length >= ADREV_MPI_SLICE && c->size > 1)
        return adx_mpi_sum_by_slices(c, row, all);
    if (!adx_mpi_sum_by_tree(c, row))
        return false;
    if (c->rank == 0)
        memcpy(all, row->node[0].v, row->length * sizeof *all);
    return adx_mpi_spread(c, row->length, all);
}
