#pragma once

/* === code/matrix ============================================================
 * The derivative of a product A x also needs a product with the transposed A.
 * The adjoint of one row's product needs no other row, so one loop does
 * everything that belongs to a row, and reads A once.
 *
 * Every node from the product to the product with the transposed matrix is in
 * one of four classes: done before the loop, done once for each row, done along
 * each row, or done after the loop. What runs along a row is done block by
 * block, while the block is in the cache. It is done together with the product
 * of the row if the adjoint of that product is known before, else after it
 * (`waits`).
 *
 *   needs   tape/memory core/cells function/program function/copy code/text
 *           code/layout code/statements
 *   offers  ADX_ROW_BLOCK ADX_BEFORE ADX_BY_ROW ADX_ALONG adx_row_loop
 *           adx_find_rows adx_say_of_row
 * ========================================================================== */

enum { ADX_ROW_BLOCK = 64 };

// Where a node is done. A node that is done along the rows (ADX_ALONG) is
// complete only when all rows are, so a node that reads it comes after the
// loop. The product itself is an exception: its element is complete at the end
// of its row.
enum { ADX_BEFORE = 0, ADX_BY_ROW = 1, ADX_AFTER = 2, ADX_ALONG = 4 };

// The nodes of a loop over rows: from the product to the product with the
// transposed matrix.
typedef struct adx_row_loop {
    const adx_program *p;
    size_t begin, end;
    uint32_t rows, columns;
    uint8_t *where;             // [number] where its node is done
    bool waits;                 // what goes along a row needs the row's product
    unsigned seen;
} adx_row_loop;

static void adx_see_where(void *user, uint32_t number)
{
    adx_row_loop *r = (adx_row_loop *)user;
    r->seen |= r->where[number];
}

// Whether row i has what it needs of an argument: either the argument is made
// before the loop, or it is a column, with elements `stride` apart, that one
// node makes, and row i makes element i of it.
static bool adx_is_at_hand(adx_row_loop *r, const adx_many *m, int a,
                           int32_t stride)
{
    const adx_numbers *x = &m->arg[a];
    size_t rows;
    size_t cols;
    adx_extent(m, a, &rows, &cols);
    r->seen = ADX_BEFORE;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            adx_see_where(r, adx_in_range(x, i, j));
    return r->seen == ADX_BEFORE
        || (r->seen == ADX_BY_ROW && stride == 1 && rows * cols == r->rows
            && r->where[x->base] == ADX_BY_ROW  // so a node makes it
            && r->p->node[r->p->from[x->base]].r == x->base);
}

// Whether a node is a vector times one number.
static bool adx_is_multiple(const adx_many *m)
{
    return m->kind == ADX_MANY_product && m->k == 1 && (m->m == 1 || m->n == 1);
}

// Whether a node is a column times a row, as the adjoint of the matrix is. Rows
// of it are written while rows of the matrix are read.
static bool adx_is_outer(const adx_many *m)
{
    return m != NULL && m->kind == ADX_MANY_product && m->k == 1 && m->n > 1
        && m->m > 1 && adx_adds_in_place(m);
}

// Whether m is the product with the transposed matrix that goes with a product.
static bool adx_is_transposed(const adx_many *m, const adx_many *first)
{
    return m != NULL && m->kind == ADX_MANY_product && m->n == 1
        && m->op == ADX_OP_chain && m->k == first->m && m->m == first->k
        && adx_adds_in_place(m) && m->arg[0].base == first->arg[0].base
        && m->arg[0].rs == first->arg[0].cs
        && m->arg[0].cs == first->arg[0].rs;
}

// Decides where node i is done, when this is known of the nodes before it. The
// node runs along the rows if it is the product with the transposed matrix, or
// an outer product of the same shape, and if row i has its element of the
// factor that varies from row to row. It is done for each row if it makes one
// number for each row, from numbers that the row has.
static uint8_t adx_where(adx_row_loop *r, size_t i)
{
    const adx_node *s = &r->p->node[i];
    const adx_many *m = adx_many_of(r->p, s);
    if (i == r->begin)
        return ADX_BY_ROW;
    // The argument that is tested last is the one of which row i needs one
    // element: it decides about `waits`.
    if (i == r->end
            ? adx_is_at_hand(r, m, 0, 0)
              && adx_is_at_hand(r, m, 1, m->arg[1].rs)
            : adx_is_outer(m) && m->m == r->rows && m->n == r->columns
              && adx_is_at_hand(r, m, 1, 0)
              && adx_is_at_hand(r, m, 0, m->arg[0].rs)) {
        r->waits |= r->seen == ADX_BY_ROW;
        return ADX_ALONG;
    }
    r->seen = ADX_BEFORE;
    adx_visit_reads(r->p, s, adx_see_where, r);
    if (r->seen == ADX_BEFORE)
        return ADX_BEFORE;
    bool by_row = m != NULL && adx_many_results(m) == r->rows
               && (m->kind == ADX_MANY_each || adx_is_multiple(m));
    int arity = !by_row ? 0 : m->kind == ADX_MANY_each
              ? adx_row_of(m->op)->arity : 2;
    for (int a = 0; by_row && a < arity; a++)
        by_row = adx_is_at_hand(r, m, a, m->n == 1 ? m->arg[a].rs
                                                   : m->arg[a].cs);
    return by_row ? ADX_BY_ROW : ADX_AFTER;
}

// Whether node `begin` begins a loop of this kind. If so, *r says where it ends
// and where its nodes are done. If the row's product need not wait, it is done
// along the row, too.
static bool adx_find_rows(const adx_writing *k, adx_row_loop *r, size_t begin)
{
    const adx_program *p = k->p;
    const adx_many *first = adx_many_of(p, &p->node[begin]);
    if (k->sections > 1 || k->guarded || first == NULL || !adx_is_inner(first))
        return false;
    size_t end = begin + 1;
    while (end < p->nodes
           && !(adx_is_used(p, &p->node[end], k->used)
                && adx_is_transposed(adx_many_of(p, &p->node[end]), first)))
        end++;
    *r = (adx_row_loop){ .p = p, .begin = begin, .end = end, .rows = first->m,
                         .columns = first->k };
    r->where = end < p->nodes ? (uint8_t *)adx_take(p->memory, p->numbers, 1)
                              : NULL;
    if (r->where == NULL)
        return false;
    memset(r->where, ADX_BEFORE, p->numbers);
    for (size_t i = begin; i <= end; i++) {
        const adx_node *s = &p->node[i];
        memset(&r->where[s->r], adx_where(r, i), adx_results_of(p, s));
    }
    if (!r->waits)
        r->where[p->node[begin].r] = ADX_ALONG;
    if (r->where[p->node[end].r] == ADX_ALONG)
        return true;
    adx_drop(p->memory, r->where);
    return false;
}

// Writes what one node does in row `row`, or in its columns from .. to. Loop
// variables get the names that the node's own text uses: i, j and l.
static void adx_say_of_row(adx_writing *k, const adx_row_loop *r,
                           const adx_node *s)
{
    const adx_many *m = adx_many_of(k->p, s);
    const char *names, *over = NULL;
    if (adx_is_inner(m))
        names = "const long i = row;\n            long j, l";
    else if (m->kind == ADX_MANY_each)
        names = "const long i = row";
    else if (adx_is_multiple(m))
        names = m->n == 1 ? "const long i = row, j = 0, l = 0"
                          : "const long i = 0, j = row, l = 0";
    else if (adx_is_outer(m)) {
        names = "const long i = row, l = 0;\n            long j";
        over = "j";
    } else {
        names = "const long l = row, j = 0;\n            long i";
        over = "i";
    }
    adx_say(k->text, "            {\n            %s;\n", names);
    if (over != NULL)
        adx_say(k->text, "            for (%s = from; %s < to; %s++)\n", over,
                over, over);
    if (adx_is_inner(m) && r->waits)
        adx_say_row(k, s, m);
    else if (adx_is_inner(m)) {
        adx_say(k->text, "            (void)i;\n");
        adx_say_eight(k, m, "from", "to");
    } else if (m->kind == ADX_MANY_each)
        adx_say_one(k, s, m);
    else {
        adx_say(k->text, "                {\n");
        adx_say_term(k, s, m);
        adx_say(k->text, "                }\n            (void)i; (void)l;\n");
    }
    adx_say(k->text, "            }\n");
}

ADX_SELDOM_END
