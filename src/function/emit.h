#pragma once

/* === function/emit ==========================================================
 * Adds a node to a program, unless an identity gives its result. Identities
 * keep every bit of a value: x + 0 is not simplified, because -0 + 0 is 0. The
 * product x x becomes a square, whose adjoint is one term instead of two. (Its
 * factor 2 x overflows only where x x has overflowed long before.)
 *
 * Cells of the operator table become nodes, too. In this way partials enter a
 * program, and partials of partials.
 *
 *   needs   tape/memory core/cells function/program function/unique
 *   offers  adx_emit_of adx_emit adx_emit2 adx_emit_guard adx_append_many
 *           adx_numbers_of adx_single adx_is_single adx_emit_each
 *           adx_emit_each2 adx_emit_fold adx_emit_product adx_emit_external
 *           adx_partial_of
 * ========================================================================== */

// Returns the number that an identity says is the result of an operation, so
// that no node is needed. ADX_NOWHERE: no identity applies. Few operations have
// any, so a new row of the table needs nothing here.
ADX_INLINE uint32_t adx_identity(adx_program *p, uint32_t op, uint32_t x,
                                 uint32_t y, uint32_t z)
{
    const adx_node *s;
    switch (op) {
    case ADREV_OP_add:
        return adx_is(p, y, -ADX_K(0.0)) ? x : adx_is(p, x, -ADX_K(0.0)) ? y
             : ADX_NOWHERE;
    case ADREV_OP_sub:
        return adx_is(p, y, 0) ? x : ADX_NOWHERE;
    case ADREV_OP_mul:
        return adx_is(p, y, 1) ? x : adx_is(p, x, 1) ? y : ADX_NOWHERE;
    case ADREV_OP_div:
        return adx_is(p, y, 1) ? x : ADX_NOWHERE;
    case ADREV_OP_neg:
        s = adx_made_by(p, x, ADREV_OP_neg);
        return s != NULL ? s->a : ADX_NOWHERE;
    case ADREV_OP_select:
        return y == z ? y
             : !adx_is_fixed(p, x) ? ADX_NOWHERE
             : *adx_constant_of(p, x) != 0 ? y : z;
    case ADX_OP_chain:
        return adx_is(p, x, 1) ? y : adx_is(p, y, 1) ? x
             : adx_is(p, x, 0) ? x : adx_is(p, y, 0) ? y : ADX_NOWHERE;
    default:
        return ADX_NOWHERE;
    }
}

// Makes room for one more node and its number. False: there is none, and p is
// spoilt.
ADX_NOINLINE static bool adx_grow_program(adx_program *p)
{
    if (!adx_make_room_for(p->memory, (void **)&p->node, &p->node_room,
                           p->nodes, sizeof *p->node))
        adx_spoil(p, ADREV_ENOMEM);
    return adx_has_room_for_number(p);
}

ADX_INLINE bool adx_has_room_for_node(adx_program *p)
{
    return (p->nodes < p->node_room && p->numbers < p->number_room)
        || adx_grow_program(p);
}

// Appends a node as it is. There is room for it.
ADX_INLINE uint32_t adx_append_node(adx_program *p, uint32_t op, uint32_t x,
                                    uint32_t y, uint32_t z)
{
    uint32_t r = (uint32_t)p->numbers++;
    // Memory further on is fetched before it is needed. (bench: recording, 10^7
    // operations, 0.97.)
    ADX_FETCH((uintptr_t)&p->node[p->nodes] + ADX_FAR);
    p->from[r] = (uint32_t)p->nodes;
    p->node[p->nodes++] = (adx_node){ op, r, x, y, z };
    return r;
}

// Appends a node, unless a number with this key is known already.
ADX_INLINE uint32_t adx_once(adx_program *p, adx_key key, uint32_t op,
                             uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t hash = 0;
    uint32_t known = adx_seen(p, &key, &hash);
    if (known != ADX_NOWHERE) {
        p->report.common++;
        return known;
    }
    if (p->status != ADREV_OK || !adx_has_room_for_node(p))
        return 0;
    uint32_t r = adx_append_node(p, op, x, y, z);
    adx_enter_number(p, hash, r);
    return r;
}

// Returns the result of an operation on numbers of the program; arguments
// beyond its arity are x. An operation on constants is computed now. An
// identity gives a number that exists already. The product of a number with
// itself becomes a square. The arguments of an operation that commutes are put
// in order, so that x y and y x have the same key. Anything else becomes a
// node, unless a node with its key is known. Every operation of a recording
// comes here, so each test costs. (bench: recording, 10^3 operations, 0.78 of
// what it was with more tests here and in adx_trace.)
ADX_INLINE uint32_t adx_emit_of(adx_program *p, uint32_t op, uint32_t x,
                                uint32_t y, uint32_t z)
{
    if (p->status != ADREV_OK)
        return 0;
    const uint32_t from[3] = { p->from[x], p->from[y], p->from[z] };
    if ((from[0] & from[1] & from[2]) >= ADX_FROM_CONSTANT) {
        p->report.constant++;
        return adx_fixed(p, adx_compute(op, *adx_constant_of(p, x),
                                        *adx_constant_of(p, y),
                                        *adx_constant_of(p, z)));
    }
    if (p->plain)
        return adx_has_room_for_node(p) ? adx_append_node(p, op, x, y, z) : 0;
    bool some = (from[0] | from[1] | from[2]) >= ADX_FROM_CONSTANT;
    uint32_t same = some || (adx_attributes_of(op) & ADX_IDENTITY) != 0
                  ? adx_identity(p, op, x, y, z) : ADX_NOWHERE;
    if (same != ADX_NOWHERE) {
        p->report.identity++;
        return same;
    }
    if (op == ADREV_OP_mul && x == y)
        op = ADREV_OP_sqr;      // one partial: 2 x w instead of x w + x w
    bool turn = adx_commutes(op) && x > y;
    uint32_t a = turn ? y : x;
    uint32_t b = turn ? x : y;
    uint32_t c = turn ? y : z;
    return adx_once(p, adx_node_key(op, a, b, c), op, a, b, c);
}

// Returns the result of an operation, as adx_emit_of does; arguments beyond its
// arity may be anything.
static uint32_t adx_emit(adx_program *p, uint32_t op, uint32_t x, uint32_t y,
                         uint32_t z)
{
    int arity = adx_row_of(op)->arity;
    return adx_emit_of(p, op, x, arity > 1 ? y : x, arity > 2 ? z : x);
}

static uint32_t adx_emit2(adx_program *p, uint32_t op, uint32_t x, uint32_t y)
{
    return adx_emit(p, op, x, y, x);
}

// Adds a guard: a replay goes on only if x has the value of the constant `was`.
// A constant x needs no guard.
static void adx_emit_guard(adx_program *p, uint32_t x, uint32_t was,
                           uint32_t which)
{
    size_t nodes = p->nodes;
    if (!adx_is_fixed(p, x))
        adx_once(p, adx_guard_key(x, was), ADX_OP_guard, x, was, which);
    p->guards += p->nodes - nodes;
}

/* --- nodes with many results --------------------------------------------- */

// Appends a node with many results; returns the first of them. The list of k
// and its hold on the shared rule become the program's, or are given up on
// failure.
static uint32_t adx_append_many(adx_program *p, const adx_many *k)
{
    size_t results = adx_many_results(k);
    uint32_t first = 0;
    if (p->nodes >= ADX_FROM_INPUT)     // nodes without results have no numbers
        adx_spoil(p, ADREV_ELIMIT);
    if (!adx_make_room_for(p->memory, (void **)&p->many, &p->many_room,
                           p->manys, sizeof *p->many)
        || !adx_make_room_for(p->memory, (void **)&p->node, &p->node_room,
                              p->nodes, sizeof *p->node))
        adx_spoil(p, ADREV_ENOMEM);
    for (size_t i = 0; i < results && p->status == ADREV_OK; i++) {
        uint32_t r = adx_new_number(p, (uint32_t)p->nodes);
        first = i == 0 ? r : first;
    }
    if (p->status != ADREV_OK) {
        adx_drop_many(p->memory, k);
        return 0;
    }
    uint32_t which = (uint32_t)p->manys;
    p->many[p->manys++] = *k;
    p->node[p->nodes++] = (adx_node){ ADX_OP_many, first, which, 0, 0 };
    return first;
}

// Whether a list has the numbers of a range, row by row.
static bool adx_is_even(const uint32_t list[], size_t rows, size_t cols,
                        const adx_numbers *r)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            if (list[i * cols + j] != adx_in_range(r, i, j))
                return false;
    return true;
}

static bool adx_all_fixed(const adx_program *p, const uint32_t list[],
                          size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!adx_is_fixed(p, list[i]))
            return false;
    return true;
}

// Returns a range with the numbers of a list, which are those of a matrix:
// array nodes can read only ranges. Numbers at even distances are a range
// already. Constants get new numbers that follow one another, which costs
// evaluations nothing. Any other list is gathered by an additional node.
static adx_numbers adx_numbers_of(adx_program *p, const uint32_t list[],
                                  size_t rows, size_t cols)
{
    size_t n = rows * cols;
    adx_numbers r = { 0, (int32_t)cols, 1 };
    if (n == 0 || p->status != ADREV_OK)
        return r;
    adx_numbers even = { list[0], 0, 0 };
    if (rows > 1)
        even.rs = (int32_t)(list[cols] - list[0]);
    if (cols > 1)
        even.cs = (int32_t)(list[1] - list[0]);
    if (adx_is_even(list, rows, cols, &even))
        return even;
    if (adx_all_fixed(p, list, n)) {
        r.base = (uint32_t)p->numbers;
        for (size_t i = 0; i < n && p->status == ADREV_OK; i++)
            adx_fixed_anew(p, *adx_constant_of(p, list[i]));
        return r;
    }
    adx_many gather = { .kind = ADX_MANY_gather, .n = (uint32_t)n };
    gather.list = (uint32_t *)adx_take(p->memory, n, sizeof *gather.list);
    if (gather.list == NULL) {
        adx_spoil(p, ADREV_ENOMEM);
        return r;
    }
    memcpy(gather.list, list, n * sizeof *list);
    r.base = adx_append_many(p, &gather);
    return r;
}

static adx_numbers adx_single(uint32_t number)
{
    return (adx_numbers){ number, 0, 0 };
}

static bool adx_is_single(const adx_numbers *r) { return r->cs == 0; }

static bool adx_is_one(const adx_program *p, const adx_numbers *r)
{
    return adx_is_single(r) && adx_is(p, r->base, 1);
}

// Adds an operation on n numbers of each argument. The result is a single
// number if all arguments are, or if n is 1.
//
// Of the identities (adx_identity) only a factor of 1 and the square are looked
// for. The others ask what an argument is, or which node made it, and in a
// range that could differ from number to number.
static adx_numbers adx_emit_each(adx_program *p, size_t n, uint32_t op,
                                 adx_numbers x, adx_numbers y, adx_numbers z)
{
    int arity = adx_row_of(op)->arity;
    y = arity > 1 ? y : x;
    z = arity > 2 ? z : x;
    if (n == 1 || (adx_is_single(&x) && adx_is_single(&y) && adx_is_single(&z)))
        return adx_single(adx_emit(p, op, x.base, y.base, z.base));
    bool times = op == ADREV_OP_mul || op == ADX_OP_chain;
    if (!p->plain && op == ADREV_OP_mul && x.base == y.base && x.cs == y.cs)
        op = ADREV_OP_sqr;
    if (!p->plain && times && adx_is_one(p, &x))
        return y;
    if (!p->plain && times && adx_is_one(p, &y))
        return x;
    adx_many each = { .kind = ADX_MANY_each, .op = op, .n = (uint32_t)n,
                      .arg = { x, y, z } };
    return (adx_numbers){ adx_append_many(p, &each), 0, 1 };
}

static adx_numbers adx_emit_each2(adx_program *p, size_t n, uint32_t op,
                                  adx_numbers x, adx_numbers y)
{
    return adx_emit_each(p, n, op, x, y, x);
}

// Adds a sum, a largest number or a Euclidean length: a node with k operands
// and one result.
static uint32_t adx_emit_fold(adx_program *p, adx_many_kind kind, size_t k,
                              adx_numbers x)
{
    if (k == 1 && kind != ADX_MANY_norm)
        return x.base;
    adx_many fold = { .kind = kind, .k = (uint32_t)k, .arg = { x } };
    return adx_append_many(p, &fold);
}

// Adds the product of matrices [m x k] and [k x n]. If k is 1 and one of them
// is a single number, this is a vector times that number, element by element.
static adx_numbers adx_emit_product(adx_program *p, uint32_t op, size_t m,
                                    size_t k, size_t n, adx_numbers a,
                                    adx_numbers b)
{
    if (k == 1 && m == 1 && !p->plain) {
        b.rs = 0;
        return adx_emit_each2(p, n, op, adx_single(a.base), b);
    }
    if (k == 1 && n == 1 && !p->plain) {
        adx_numbers column = { a.base, 0, a.rs };
        adx_numbers r = adx_emit_each2(p, m, op, column, adx_single(b.base));
        r.rs = r.cs;
        return r;
    }
    adx_many product = { .kind = ADX_MANY_product, .op = op, .m = (uint32_t)m,
                         .k = (uint32_t)k, .n = (uint32_t)n,
                         .arg = { a, b } };
    return (adx_numbers){ adx_append_many(p, &product), (int32_t)n, 1 };
}

// Adds a part of an external statement. The list becomes the program's. The
// table of known numbers is not asked: only the rule knows whether two calls do
// the same.
static uint32_t adx_emit_external(adx_program *p, const adx_many *of,
                                  uint32_t op, uint32_t *list)
{
    adx_many part = { .kind = ADX_MANY_external, .op = op, .m = of->m,
                      .n = of->n, .list = list,
                      .shared = adx_share_rule(of->shared) };
    if (list == NULL)
        adx_spoil(p, ADREV_ENOMEM);
    return adx_append_many(p, &part);
}

ADX_SELDOM_BEGIN

/* --- cells ---------------------------------------------------------------- */

// Keeps the terms of a cell for the next time. If there is no memory, nothing
// is lost: the cell is then read again.
static void adx_keep_cell(adx_program *p, uint32_t op, int i,
                          const adx_formula *f)
{
    if (p->cells == NULL) {
        p->cells = (adx_cells *)adx_take(p->memory, 1, sizeof *p->cells);
        if (p->cells != NULL)
            memset(p->cells, 0, sizeof *p->cells);
    }
    adx_cells *k = p->cells;
    if (k == NULL || !adx_extend(p->memory, (void **)&k->term, &k->room,
                                 k->terms + f->terms, sizeof *k->term))
        return;
    k->of[op][i] = (adx_known_cell){ (uint16_t)k->terms, f->terms, f->result,
                                     true };
    for (size_t j = 0; j < f->terms; j++)
        k->term[k->terms++] = f->term[j];
}

// Returns the terms of a cell, which are in f or in the cells that the program
// keeps. f says how many there are, and which of them is the result.
static const adx_term *adx_read_cell(adx_program *p, uint32_t op, int i,
                                     adx_formula *f)
{
    const adx_known_cell *cell = p->cells == NULL ? NULL
                               : &p->cells->of[op][i];
    if (cell != NULL && cell->known) {
        f->terms = cell->terms;
        f->result = cell->result;
        return cell->terms > 0 ? p->cells->term + cell->first : f->term;
    }
    adx_parse_partial(op, (uint32_t)i, f);
    if (f->wrong)
        adx_spoil(p, ADREV_EHOOK);
    adx_keep_cell(p, op, i, f);
    return f->term;
}

// Makes partial i of an operation on n numbers of each argument, whose result
// is v: the terms of the cell become nodes, in their order. made[] has the
// range that each index of a term stands for.
static adx_numbers adx_partial_of(adx_program *p, size_t n, uint32_t op, int i,
                                  const adx_numbers arg[3], adx_numbers v)
{
    adx_formula f;
    const adx_term *term = adx_read_cell(p, op, i, &f);
    adx_numbers made[ADX_TERM_FIRST + ADX_TERMS];
    adx_numbers *to = made + ADX_TERM_FIRST;
    for (int k = 0; k < 3; k++)
        made[k] = arg[k];
    made[3] = v;
    for (; f.terms > 0; f.terms--, term++)
        *to++ = term->op == ADX_TERM_NUMBER
              ? adx_single(adx_fixed(p, term->v))
              : adx_emit_each(p, n, term->op, made[term->arg[0]],
                              made[term->arg[1]], made[term->arg[2]]);
    return made[f.result];
}

ADX_SELDOM_END
