#pragma once

/* === mpi/parts ==============================================================
 * Parts of a sum, which rank has them, and the tree by which they are added.
 *
 * Node (level, index) of the tree is the sum of parts index*2^level to (index +
 * 1)*2^level - 1: that of its left child and its right one or, where there are
 * no parts to the right, its left child alone. So each node's bits are given by
 * the parts, whoever adds them up. What a rank has done is a *row*: the nodes
 * that make up its parts, as large as possible, from left to right. Rows of
 * neighbours become one by adding the nodes of the right one, one by one.
 *
 *   needs   tape/memory mpi/api
 *   offers  ADX_MPI_MOST_PARTS adx_mpi_node adx_mpi_row adx_mpi_take_vector
 *           adx_mpi_free_row adx_mpi_push adx_mpi_next_node adx_mpi_round
 *           adx_mpi_cuts
 * ========================================================================== */

#define ADX_MPI_MOST_PARTS ((uint64_t)1 << 48)

typedef struct adx_mpi_node {
    unsigned level;
    uint64_t index;
    ad_real *v;                 // [length]
} adx_mpi_node;

// The nodes of consecutive parts. There are at most two of a level.
typedef struct adx_mpi_row {
    const ad_allocator *memory;
    uint64_t parts;             // of the whole sum
    size_t length;              // numbers of a node
    size_t count;
    ad_real *idle;              // of a node no longer needed; or NULL
    adx_mpi_node node[100];
} adx_mpi_row;

// Memory for a node; NULL: there is none.
static ad_real *adx_mpi_take_vector(adx_mpi_row *row)
{
    ad_real *v = row->idle;
    row->idle = NULL;
    return v != NULL ? v : (ad_real *)adx_take(row->memory, row->length,
                                               sizeof *v);
}

static void adx_mpi_drop_vector(adx_mpi_row *row, ad_real *v)
{
    if (row->idle == NULL)
        row->idle = v;
    else
        adx_drop(row->memory, v);
}

static void adx_mpi_free_row(adx_mpi_row *row)
{
    for (size_t i = 0; i < row->count; i++)
        adx_drop(row->memory, row->node[i].v);
    adx_drop(row->memory, row->idle);
    row->count = 0;
    row->idle = NULL;
}

// Whether there are no parts to the right of this node.
static bool adx_mpi_is_last(const adx_mpi_node *node, uint64_t parts)
{
    return (node->index + 1) << node->level >= parts;
}

// Adds the last two nodes, if they are the children of one.
static bool adx_mpi_add_last(adx_mpi_row *row)
{
    if (row->count < 2)
        return false;
    adx_mpi_node *left = &row->node[row->count - 2];
    const adx_mpi_node *right = left + 1;
    if (left->level != right->level || left->index % 2 != 0
        || right->index != left->index + 1)
        return false;
    ad_real *restrict to = left->v;
    const ad_real *restrict from = right->v;
    for (size_t i = 0; i < row->length; i++)
        to[i] += from[i];
    left->level++;
    left->index /= 2;
    row->count--;
    adx_mpi_drop_vector(row, right->v);
    return true;
}

// The last node becomes its parent, if it has no sibling to the right.
static bool adx_mpi_raise_last(adx_mpi_row *row)
{
    adx_mpi_node *last = &row->node[row->count - 1];
    if (last->index % 2 != 0 || (last->index == 0 && row->count == 1)
        || !adx_mpi_is_last(last, row->parts))
        return false;
    last->level++;
    last->index /= 2;
    return true;
}

// Adds a node at the right end of a row, which takes over its memory.
static void adx_mpi_push(adx_mpi_row *row, adx_mpi_node node)
{
    row->node[row->count++] = node;
    while (adx_mpi_add_last(row) || adx_mpi_raise_last(row))
        continue;
}

// The first node of the row of parts from *at to `end`; *at goes behind it.
// What adx_mpi_push makes of these parts one by one is a row of these nodes.
static adx_mpi_node adx_mpi_next_node(uint64_t *at, uint64_t end,
                                      uint64_t parts)
{
    adx_mpi_node node = { .index = *at };
    for (;;) {
        const adx_mpi_node wider = { .level = node.level + 1,
                                     .index = node.index / 2 };
        uint64_t to = (wider.index + 1) << wider.level;
        bool whole = node.index == 0 && *at == 0
                  && adx_mpi_is_last(&node, parts);
        if (whole || node.index % 2 != 0
            || (to > end && (end < parts || to < parts)))
            break;
        node = wider;
    }
    uint64_t to = (node.index + 1) << node.level;
    *at = to < end ? to : end;
    return node;
}

/* --- who has which ------------------------------------------------------- */

// The number near to `ideal` that is divided by the highest power of 2: so rows
// are short. The loads of ranks differ by a sixteenth at most.
static uint64_t adx_mpi_round(uint64_t ideal, uint64_t share)
{
    uint64_t least = ideal - share / 32;
    uint64_t most = ideal + share / 32;
    uint64_t power = 1;
    while (most / (2 * power) * (2 * power) >= least && 2 * power <= most)
        power *= 2;
    return most / power * power;
}

// Parts are shared equally, unless there are cuts that were made for their
// number (mpi/grad).
static void adx_mpi_cuts(const ad_mpi *c, uint64_t parts, int rank,
                         uint64_t *begin, uint64_t *end)
{
    uint64_t size = (uint64_t)c->size;
    if (c->balance && c->parts == parts) {
        *begin = c->cut[rank];
        *end = c->cut[rank + 1];
        return;
    }
    uint64_t r = (uint64_t)rank;
    uint64_t share = parts / size;
    *begin = r == 0 ? 0 : adx_mpi_round(share * r + parts % size * r / size,
                                        share);
    r++;
    *end = r == size ? parts
         : adx_mpi_round(share * r + parts % size * r / size, share);
}

ADX_API void ad_mpi_range(const ad_mpi *c, size_t parts, size_t *begin,
                          size_t *end)
{
    uint64_t from = 0;
    uint64_t to = 0;
    if (c != NULL && parts <= ADX_MPI_MOST_PARTS)
        adx_mpi_cuts(c, parts, c->rank, &from, &to);
    *begin = (size_t)from;
    *end = (size_t)to;
}
