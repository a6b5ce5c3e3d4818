#pragma once

/* === function/pattern =======================================================
 * The sparsity patterns of Jacobians and Hessians: which entries can be other
 * than zero. Colourings are in function/colour, values in function/plans.
 * (Gebremedhin, Manne & Pothen, What color is your Jacobian?)
 *
 * Row i of the pattern of a Jacobian has the inputs on which output i depends.
 * Sets of outputs are propagated back through the program, 64 outputs at a
 * time, as the bits of a word.
 *
 * An entry of a Hessian comes from a node that is curved in two of its
 * arguments (a second partial is not zero): each input on which the first
 * argument depends is paired with each input of the second. So the sets of
 * inputs of such arguments are propagated forwards, and the pairs are
 * collected.
 *
 * A pattern is of the program, not of a point: an entry that is zero everywhere
 * by cancellation is in it, and none is ever missing.
 *
 *   needs   tape/memory core/cells function/program function/emit
 *           function/copy
 *   offers  adx_entries adx_free_graph adx_new_graph adx_transpose
 *           adx_jacobian_graph adx_hessian_graph
 * ========================================================================== */

/* --- lists --------------------------------------------------------------- */

// Entries are counted in 32 bits. Tests set a lower limit.
#ifndef ADX_ENTRIES_MOST
#define ADX_ENTRIES_MOST UINT32_MAX
#endif

// A list that grows.
typedef struct adx_index_list {
    const ad_allocator *memory;
    uint32_t *v;
    size_t n;
    size_t room;
    bool failed;                // an entry was lost: no memory, or full
    bool full;                  // the limit is reached
} adx_index_list;

static void adx_list_add(adx_index_list *l, uint32_t v)
{
    l->full = l->full || l->n >= ADX_ENTRIES_MOST;
    if (!l->failed && !l->full
        && adx_make_room_for(l->memory, (void **)&l->v, &l->room, l->n,
                             sizeof *l->v))
        l->v[l->n++] = v;
    else
        l->failed = true;
}

// A pattern by rows: the columns of row i are col[start[i]] up to start[i + 1].
typedef struct adx_entries {
    size_t rows;
    size_t cols;
    uint32_t *start;            // [rows + 1]
    uint32_t *col;
} adx_entries;

static void adx_free_graph(const ad_allocator *a, adx_entries *g)
{
    adx_drop(a, g->start);
    adx_drop(a, g->col);
    memset(g, 0, sizeof *g);
}

static bool adx_new_graph(const ad_allocator *a, adx_entries *g, size_t rows,
                          size_t cols, size_t entries)
{
    g->rows = rows;
    g->cols = cols;
    g->start = (uint32_t *)adx_take(a, rows + 1, sizeof *g->start);
    g->col = (uint32_t *)adx_take(a, entries, sizeof *g->col);
    if (g->start != NULL)
        memset(g->start, 0, (rows + 1) * sizeof *g->start);
    return g->start != NULL && g->col != NULL;
}

// Transposes a pattern, by a counting sort. The rows of the result are sorted,
// so transposing twice sorts a pattern.
static bool adx_transpose(const ad_allocator *a, const adx_entries *g,
                          adx_entries *t)
{
    if (!adx_new_graph(a, t, g->cols, g->rows, g->start[g->rows]))
        return false;
    for (size_t i = 0; i < g->start[g->rows]; i++)
        t->start[g->col[i] + 1]++;
    for (size_t i = 0; i < t->rows; i++)
        t->start[i + 1] += t->start[i];
    for (uint32_t i = 0; i < g->rows; i++)
        for (uint32_t k = g->start[i]; k < g->start[i + 1]; k++)
            t->col[t->start[g->col[k]]++] = i;
    memmove(t->start + 1, t->start, t->rows * sizeof *t->start);
    t->start[0] = 0;
    return true;
}

static bool adx_sort_graph(const ad_allocator *a, adx_entries *g)
{
    adx_entries t = {0};
    adx_entries sorted = {0};
    bool ok = adx_transpose(a, g, &t) && adx_transpose(a, &t, &sorted);
    adx_free_graph(a, &t);
    adx_free_graph(a, ok ? g : &sorted);
    if (ok)
        *g = sorted;
    return ok;
}

/* --- the pattern of a Jacobian ------------------------------------------- */

// Whether an operation has a derivative by argument i.
static bool adx_has_partial(uint32_t op, int i)
{
    return op != ADX_OP_guard && i < adx_row_of(op)->arity
        && strcmp(adx_row_of(op)->partial[i], "0") != 0;
}

// Adds to a list the inputs on which number x depends, by a depth-first search
// where met[] is `now` for the numbers that it has met.
static void adx_collect_inputs(const adx_program *p, uint32_t x,
                               uint32_t met[], uint32_t now,
                               adx_index_list *stack, adx_index_list *to)
{
    adx_list_add(stack, x);
    while (stack->n > 0 && !stack->failed) {
        uint32_t i = stack->v[--stack->n];
        if (met[i] == now)
            continue;
        met[i] = now;
        uint32_t from = p->from[i];
        if (from == ADX_FROM_INPUT)
            adx_list_add(to, i);
        else if (from < ADX_FROM_INPUT)
            for (int k = 0; k < 3; k++)
                if (adx_has_partial(p->node[from].op, k))
                    adx_list_add(stack, adx_argument(&p->node[from], k));
    }
}

// Whether x is an input. The inputs are the first numbers.
static bool adx_is_variable(const adx_program *p, uint32_t x)
{
    return p->from[x] == ADX_FROM_INPUT && x < adx_variables_of(p);
}

// Outputs that are propagated together: each is a bit of a word.
#define ADX_REACH 64

typedef struct adx_reaching {
    const adx_program *p;
    uint32_t *met;             // [number] see adx_visit_reach
    uint64_t *bits;             // [number] the outputs that depend on it
    adx_index_list stack;
    adx_index_list order;       // numbers, each after those it is made from
    adx_index_list to;          // columns of the graph
} adx_reaching;

// Appends to `order` the number x and all numbers from which it is made, as far
// as they are not there yet, by a depth-first search with a stack of its own. A
// number is appended when it is met for the second time, behind its arguments.
// met[] is below `now` before that, `now` while the number waits for its
// arguments, and now + 1 afterwards.
static void adx_visit_reach(adx_reaching *k, uint32_t x, uint32_t now)
{
    adx_list_add(&k->stack, x);
    while (k->stack.n > 0 && !k->stack.failed) {
        uint32_t i = k->stack.v[k->stack.n - 1];
        uint32_t from = k->p->from[i];
        if (k->met[i] >= now) {
            k->stack.n--;
            if (k->met[i] == now)
                adx_list_add(&k->order, i);
            k->met[i] = now + 1;
            continue;
        }
        k->met[i] = now;
        k->bits[i] = 0;
        for (int a = 0; a < 3 && from < ADX_FROM_INPUT; a++) {
            const adx_node *s = &k->p->node[from];
            if (adx_has_partial(s->op, a) && k->met[adx_argument(s, a)] < now)
                adx_list_add(&k->stack, adx_argument(s, a));
        }
    }
}

// Writes the rows first ... first + n - 1 of the pattern. Output first + i
// begins with bit i. The nodes that any of these outputs needs are visited
// once, from the last to the first, and each gives its bits to its arguments.
// Then bit r of an input says whether row first + r has an entry for it.
static void adx_reach_rows(adx_reaching *k, uint32_t first, uint32_t n,
                           uint32_t start[])
{
    const adx_program *p = k->p;
    size_t inputs = 0;
    k->order.n = 0;
    for (uint32_t i = 0; i < n; i++)
        adx_visit_reach(k, p->output[first + i],
                        2 * (first / ADX_REACH + 1));
    if (k->stack.failed || k->order.failed)
        return;
    for (uint32_t i = 0; i < n; i++)
        k->bits[p->output[first + i]] |= (uint64_t)1 << i;
    for (size_t i = k->order.n; i-- > 0;) {
        uint32_t x = k->order.v[i];
        uint32_t from = p->from[x];
        for (int a = 0; a < 3 && from < ADX_FROM_INPUT; a++)
            if (adx_has_partial(p->node[from].op, a))
                k->bits[adx_argument(&p->node[from], a)] |= k->bits[x];
    }
    for (size_t i = 0; i < k->order.n; i++)
        if (adx_is_variable(p, k->order.v[i]))
            k->order.v[inputs++] = k->order.v[i];
    for (uint32_t r = 0; r < n; r++) {
        start[first + r] = (uint32_t)k->to.n;
        for (size_t i = 0; i < inputs; i++)
            if (k->bits[k->order.v[i]] >> r & 1)
                adx_list_add(&k->to, k->order.v[i]);
    }
}

static bool adx_reach_all(adx_reaching *k, uint32_t start[])
{
    uint32_t m = (uint32_t)k->p->outputs;
    memset(k->met, 0, k->p->numbers * sizeof *k->met);
    for (uint32_t i = 0; i < m; i += ADX_REACH)
        adx_reach_rows(k, i, m - i < ADX_REACH ? m - i : ADX_REACH, start);
    start[m] = (uint32_t)k->to.n;
    return !k->stack.failed && !k->order.failed && !k->to.failed;
}

// Finds the pattern of the Jacobian of a program without array nodes.
static bool adx_jacobian_graph(adx_program *p, adx_entries *g)
{
    const ad_allocator *a = p->memory;
    adx_reaching k = { .p = p, .stack = { .memory = a },
                       .order = { .memory = a }, .to = { .memory = a } };
    uint32_t *start = (uint32_t *)adx_take(a, p->outputs + 1, sizeof *start);
    k.met = (uint32_t *)adx_take(a, p->numbers, sizeof *k.met);
    k.bits = (uint64_t *)adx_take(a, p->numbers, sizeof *k.bits);
    bool ok = k.met != NULL && k.bits != NULL && start != NULL
           && adx_reach_all(&k, start)
           && adx_new_graph(a, g, p->outputs, adx_variables_of(p), k.to.n);
    if (ok) {
        memcpy(g->start, start, (p->outputs + 1) * sizeof *start);
        if (k.to.n > 0)
            memcpy(g->col, k.to.v, k.to.n * sizeof *k.to.v);
        ok = adx_sort_graph(a, g);
    }
    if (!ok && k.to.full)
        adx_spoil(p, ADREV_ELIMIT);
    adx_drop(a, k.stack.v);
    adx_drop(a, k.order.v);
    adx_drop(a, k.to.v);
    adx_drop(a, k.met);
    adx_drop(a, k.bits);
    adx_drop(a, start);
    return ok;
}

/* --- the pattern of a Hessian -------------------------------------------- */

// Returns in which pairs of arguments an operation is curved. Bit 3i + j says
// that the partial with respect to argument i depends on argument j. To find
// out, the partials are made in a program of their own, whose inputs are the
// arguments.
static unsigned adx_curvature_of(uint32_t op, const ad_allocator *a,
                                 ad_status *status)
{
    adx_program p;
    unsigned bits = 0;
    adx_begin_program(&p, a, true);
    adx_new_inputs(&p, 3);
    uint32_t v = adx_emit(&p, op, 0, 1, 2);
    const adx_numbers arg[3] = { adx_single(0), adx_single(1), adx_single(2) };
    for (int i = 0; i < adx_row_of(op)->arity && p.status == ADREV_OK; i++) {
        adx_index_list stack = { .memory = a };
        adx_index_list to = { .memory = a };
        uint32_t d = adx_partial_of(&p, 1, op, i, arg, adx_single(v)).base;
        uint32_t *met = (uint32_t *)adx_take(a, p.numbers, sizeof *met);
        if (met != NULL && p.status == ADREV_OK) {
            memset(met, 0, p.numbers * sizeof *met);
            adx_collect_inputs(&p, d, met, 1, &stack, &to);
        }
        if (met == NULL || stack.failed || to.failed)
            adx_spoil(&p, ADREV_ENOMEM);
        for (size_t k = 0; k < to.n; k++)
            bits |= 1u << (3 * (unsigned)i + to.v[k]);
        adx_drop(a, met);
        adx_drop(a, stack.v);
        adx_drop(a, to.v);
    }
    *status = p.status;
    adx_free_program(&p);
    return bits;
}

// For each number the sorted set of inputs on which it depends: n[x] items from
// at[x] on. Equal sets share their items where that is noticed.
typedef struct adx_sets {
    const adx_program *p;
    adx_index_list item;        // inputs of all sets
    uint32_t *at;
    uint32_t *n;
    bool *wanted;               // numbers whose set matters
    unsigned *curved;           // [op] pairs of arguments: adx_curvature_of
} adx_sets;

// Makes the set of number x the union of the sets of a and b. They are merged
// behind all items. If one of them turns out to contain the other, x shares
// that one instead.
static void adx_unite(adx_sets *k, uint32_t x, uint32_t a, uint32_t b)
{
    if (k->n[a] == 0 || a == b || k->n[b] == 0) {
        uint32_t from = k->n[a] == 0 ? b : a;
        uint32_t at = k->at[from];
        k->n[x] = k->n[from];
        k->at[x] = at;
        return;
    }
    uint32_t start = (uint32_t)k->item.n;
    uint32_t i = 0;
    uint32_t j = 0;
    while (i < k->n[a] || j < k->n[b]) {
        uint32_t u = i < k->n[a] ? k->item.v[k->at[a] + i] : UINT32_MAX;
        uint32_t v = j < k->n[b] ? k->item.v[k->at[b] + j] : UINT32_MAX;
        adx_list_add(&k->item, u < v ? u : v);
        if (k->item.failed)
            return;
        i += u <= v;
        j += v <= u;
    }
    uint32_t n = (uint32_t)k->item.n - start;
    uint32_t whole = n == k->n[a] ? a : b;
    if (n == k->n[whole]) {             // it had all of the other
        k->item.n = start;
        start = k->at[whole];
    }
    k->at[x] = start;
    k->n[x] = n;
}

static void adx_unite_arguments(adx_sets *k, const adx_node *s)
{
    k->n[s->r] = 0;
    for (int i = 0; i < 3; i++)
        if (adx_has_partial(s->op, i))
            adx_unite(k, s->r, s->r, adx_argument(s, i));
}

// Finds the numbers whose set matters: the arguments in which an operation is
// curved, and all numbers from which these are made. A sum of n terms that no
// curved operation uses needs no set.
static void adx_find_wanted(adx_sets *k, const bool used[])
{
    const adx_program *p = k->p;
    memset(k->wanted, 0, p->numbers * sizeof *k->wanted);
    for (size_t i = p->nodes; i-- > 0;) {
        const adx_node *s = &p->node[i];
        if (s->op == ADX_OP_guard || !used[s->r])
            continue;
        unsigned curved = k->curved[s->op];
        for (int j = 0; j < 3; j++)
            if (adx_has_partial(s->op, j)
                && (k->wanted[s->r] || (curved >> (3 * j) & 7) != 0
                    || (curved >> j & 0111) != 0))
                k->wanted[adx_argument(s, j)] = true;
    }
}

// Makes a pattern of n rows from a list of pairs: sorted, each pair once.
static bool adx_graph_of_pairs(const ad_allocator *a,
                               const adx_index_list *pairs, size_t n,
                               adx_entries *g)
{
    if (!adx_new_graph(a, g, n, n, pairs->n / 2))
        return false;
    for (size_t i = 0; i < pairs->n; i += 2)
        g->start[pairs->v[i] + 1]++;
    for (size_t i = 0; i < n; i++)
        g->start[i + 1] += g->start[i];
    for (size_t i = 0; i < pairs->n; i += 2)
        g->col[g->start[pairs->v[i]]++] = pairs->v[i + 1];
    memmove(g->start + 1, g->start, n * sizeof *g->start);
    g->start[0] = 0;
    if (!adx_sort_graph(a, g))
        return false;
    uint32_t to = 0;
    for (size_t i = 0, from = 0; i < n; i++) {
        size_t end = g->start[i + 1];
        uint32_t first = to;
        for (; from < end; from++)
            if (to == first || g->col[to - 1] != g->col[from])
                g->col[to++] = g->col[from];
        g->start[i + 1] = to;
    }
    return true;
}

// Pairs every input of a with every input of b, in the lower triangle.
static void adx_add_pairs(const adx_sets *k, uint32_t a, uint32_t b,
                          adx_index_list *pairs)
{
    for (uint32_t i = 0; i < k->n[a]; i++)
        for (uint32_t j = 0; j < k->n[b]; j++) {
            uint32_t x = k->item.v[k->at[a] + i];
            uint32_t y = k->item.v[k->at[b] + j];
            adx_list_add(pairs, x > y ? x : y);
            adx_list_add(pairs, x > y ? y : x);
        }
}

// Removes the repetitions from a list of pairs.
static void adx_thin_pairs(adx_index_list *pairs, size_t inputs)
{
    adx_entries g = {0};
    if (pairs->failed || !adx_graph_of_pairs(pairs->memory, pairs, inputs, &g))
        pairs->failed = true;
    pairs->n = 0;
    for (uint32_t i = 0; i < inputs && !pairs->failed; i++)
        for (uint32_t k = g.start[i]; k < g.start[i + 1]; k++) {
            adx_list_add(pairs, i);
            adx_list_add(pairs, g.col[k]);
        }
    adx_free_graph(pairs->memory, &g);
}

// Visits the nodes from the first to the last. The set of a result is the union
// of the sets of the arguments; where the operation is curved, pairs are added.
// Many nodes add the same pairs, so the list is cleared of repetitions whenever
// it has doubled.
static void adx_find_pairs(adx_sets *k, const bool used[],
                           adx_index_list *pairs)
{
    const adx_program *p = k->p;
    size_t most = 4096 + 8 * p->inputs;
    for (uint32_t i = 0; i < p->numbers; i++)
        if (adx_is_variable(p, i)) {
            k->at[i] = (uint32_t)k->item.n;
            k->n[i] = 1;
            adx_list_add(&k->item, i);
        } else
            k->n[i] = 0;
    for (size_t i = 0; i < p->nodes && !k->item.failed && !pairs->failed;
         i++) {
        const adx_node *s = &p->node[i];
        if (s->op == ADX_OP_guard || !used[s->r])
            continue;
        if (k->wanted[s->r])
            adx_unite_arguments(k, s);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b <= a; b++)
                if (k->curved[s->op] >> (3 * a + b) & 1
                    || k->curved[s->op] >> (3 * b + a) & 1)
                    adx_add_pairs(k, adx_argument(s, a), adx_argument(s, b),
                                  pairs);
        if (pairs->n > most) {
            adx_thin_pairs(pairs, p->inputs);
            most = most > 2 * pairs->n ? most : 2 * pairs->n;
        }
    }
}

// Finds the pattern of the lower triangle of the Hessian, for any weights, of a
// program without array nodes.
static bool adx_hessian_graph(adx_program *p, adx_entries *g)
{
    const ad_allocator *a = p->memory;
    unsigned curved[ADX_OP_COUNT];
    ad_status status = ADREV_OK;
    adx_index_list pairs = { .memory = a };
    adx_sets k = { .p = p, .item = { .memory = a }, .curved = curved };
    k.at = (uint32_t *)adx_take(a, p->numbers, sizeof *k.at);
    k.n = (uint32_t *)adx_take(a, p->numbers, sizeof *k.n);
    k.wanted = (bool *)adx_take(a, p->numbers, sizeof *k.wanted);
    bool *used = (bool *)adx_take(a, p->numbers, sizeof *used);
    bool ok = k.at != NULL && k.n != NULL && k.wanted != NULL && used != NULL;
    for (uint32_t op = 0; op < ADX_OP_COUNT && ok; op++) {
        curved[op] = adx_curvature_of(op, a, &status);
        ok = status == ADREV_OK;
    }
    if (ok) {
        adx_find_used(p, used);
        adx_find_wanted(&k, used);
        adx_find_pairs(&k, used, &pairs);
        ok = !k.item.failed && !pairs.failed
          && adx_graph_of_pairs(a, &pairs, adx_variables_of(p), g);
    }
    if (!ok && (k.item.full || pairs.full))
        adx_spoil(p, ADREV_ELIMIT);
    adx_drop(a, k.at);
    adx_drop(a, k.n);
    adx_drop(a, k.wanted);
    adx_drop(a, k.item.v);
    adx_drop(a, used);
    adx_drop(a, pairs.v);
    return ok;
}
