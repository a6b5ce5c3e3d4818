#pragma once

/* === function/program =======================================================
 * A program is a list of nodes. Each node makes one number (an array node may
 * make several) from numbers made before, and no number is ever overwritten.
 *
 * Numbers are counted in the order in which they are made: first the inputs,
 * then constants and results of nodes. So the arguments of a node are smaller
 * numbers than its result, and a walk through the nodes in order meets every
 * number before its uses. `from` says for each number whether it is an input,
 * which constant it is, or which node makes it. A node of an array statement or
 * an external statement makes several numbers that follow one another; what
 * such a node needs beyond the fields of a node is in `many`.
 *
 *   needs   tape/memory core/cells function/api
 *   offers  ADX_OP_guard ADX_OP_many ADX_OP_chain_add ADX_OP_chain_sub
 *           ADX_OP_mul_add ADX_OP_mul_sub ADX_OP_end adx_attributes_of
 *           adx_cost_of adx_commutes ADX_ROUNDED_ALL ADX_FUSES_MUL adx_rounded
 *           ADX_FUSED_CHAIN ADX_FUSED adx_make_room_for adx_shared_rule
 *           adx_new_shared_rule adx_share_rule adx_release_rule adx_node
 *           adx_numbers ADX_MANY_KINDS ADX_MANY_* adx_many_kind ADX_MANY_COUNT
 *           adx_many_facts adx_facts_of ADX_EXTERNAL_value
 *           ADX_EXTERNAL_adjoint ADX_EXTERNAL_moving adx_many
 *           ADX_FROM_CONSTANT ADX_FROM_INPUT ADX_NOWHERE ADX_WAYS adx_seen_set
 *           adx_known_cell adx_cells adx_program adx_repeated
 *           adx_begin_program adx_variables_of adx_drop_many adx_end_program
 *           adx_free_program adx_spoil adx_has_room_for_number adx_new_number
 *           adx_new_constant adx_new_inputs adx_new_output
 *           adx_is_constant_number adx_constant_of adx_is_fixed adx_is
 *           adx_made_by adx_many_of adx_external_results adx_many_results
 *           adx_listed adx_many_arity adx_results_of adx_extent adx_in_range
 *           adx_range_ends adx_add_span adx_add_results_span adx_visit_reads
 * ========================================================================== */

/* --- operations ----------------------------------------------------------- */

enum {
    ADX_OP_guard = ADX_OP_COUNT,    // stops unless a is b; c: its number
    ADX_OP_many,                    // a: index in the list `many`
    ADX_OP_chain_add,               // in machines only: c + chain(a, b),
    ADX_OP_chain_sub,               // c - chain(a, b),
    ADX_OP_mul_add,                 // c + a * b, rounded twice,
    ADX_OP_mul_sub,                 // c - a * b
    ADX_OP_end
};

// The attributes of an operation, or of what only programs have, which is
// short.
ADX_INLINE unsigned adx_attributes_of(uint32_t op)
{
    return op < ADX_OP_COUNT ? adx_attributes[op] : ADX_COST_SHORT;
}

// What it takes to compute a result again, in calls of the math library.
static unsigned adx_cost_of(uint32_t op)
{
    return adx_attributes_of(op) & ADX_COST;
}

ADX_INLINE bool adx_commutes(uint32_t op)
{
    return (adx_attributes_of(op) & ADX_COMMUTES) != 0;
}

// The product and the sum are in two functions, because a compiler that
// contracts only within an expression then leaves them apart.
ADX_INLINE ad_real adx_more(ad_real z, ad_real product) { return z + product; }
ADX_INLINE ad_real adx_less(ad_real z, ad_real product) { return z - product; }

// ADX_ROUNDED(x), ADX_ROUNDED_ALL()   hide from the compiler how x, or what is
//   in memory, was computed: a product is rounded before a sum takes it, and
//   not contracted with it. Where a compiler has no such means (ADX_FUSES_MUL
//   is 0), products of the function itself and sums stay separate nodes.
#if defined __GNUC__ && defined __SSE2_MATH__
#define ADX_ROUNDED(x) __asm__("" : "+x"(x))
#elif defined __GNUC__ && defined __aarch64__
#define ADX_ROUNDED(x) __asm__("" : "+w"(x))
#endif
#ifdef ADX_ROUNDED
#define ADX_ROUNDED_ALL() __asm__("" : : : "memory")
#define ADX_FUSES_MUL 1
#else
#define ADX_ROUNDED(x) ((void)0)
#define ADX_ROUNDED_ALL() ((void)0)
#define ADX_FUSES_MUL 0
#endif

ADX_INLINE ad_real adx_rounded(ad_real x)
{
    ADX_ROUNDED(x);
    return x;
}

// A product and a sum as one node: DO(code, value), of x, y and z. ADX_FUSED is
// for a single point. In a loop over lanes, adx_rounded would prevent vectors,
// so function/run computes the products of mul_add and mul_sub in a loop of
// their own first.
#define ADX_FUSED_CHAIN(DO)                                                 \
    DO(ADX_OP_chain_add, adx_more(z, x * y))                                \
    DO(ADX_OP_chain_sub, adx_less(z, x * y))
#define ADX_FUSED(DO)                                                       \
    ADX_FUSED_CHAIN(DO)                                                     \
    DO(ADX_OP_mul_add, adx_more(z, adx_rounded(x * y)))                     \
    DO(ADX_OP_mul_sub, adx_less(z, adx_rounded(x * y)))

/* --- memory --------------------------------------------------------------- */

// Makes room for one more element than the n that an array has.
static inline bool adx_make_room_for(const ad_allocator *a, void **array,
                                     size_t *room, size_t n, size_t size)
{
    return adx_extend(a, array, room, n + 1, size);
}

/* --- shared rules --------------------------------------------------------- */

// What an external statement saved. The programs and machines that have it as a
// node share it, and the last of them frees it.
typedef struct adx_shared_rule {
    ad_allocator memory;        // that it was taken from
    atomic_size_t holders;      // programs and machines
    const ad_external_rule *rule;
    bool destroys;              // freeing it calls the rule's destroy
    _Alignas(16) char saved[];
} adx_shared_rule;

static adx_shared_rule *adx_new_shared_rule(const ad_allocator *a,
                                            const ad_array_operation *o)
{
    adx_shared_rule *shared =
        (adx_shared_rule *)adx_take(a, 1, sizeof *shared + o->bytes);
    if (shared == NULL)
        return NULL;
    *shared = (adx_shared_rule){ .memory = *a, .rule = o->rule };
    atomic_init(&shared->holders, 1);
    if (o->bytes > 0)
        memcpy(shared->saved, o->saved, o->bytes);
    return shared;
}

static adx_shared_rule *adx_share_rule(adx_shared_rule *shared)
{
    // relaxed: the caller holds it, so that it cannot go meanwhile.
    atomic_fetch_add_explicit(&shared->holders, 1, memory_order_relaxed);
    return shared;
}

static void adx_release_rule(adx_shared_rule *shared)
{
    // acq_rel: what the other holders did with it comes before its end.
    if (shared == NULL || atomic_fetch_sub_explicit(&shared->holders, 1,
                                                  memory_order_acq_rel) > 1)
        return;
    if (shared->destroys && shared->rule->destroy != NULL)
        shared->rule->destroy(shared->saved);
    const ad_allocator memory = shared->memory;
    adx_drop(&memory, shared);
}

typedef struct adx_node {
    uint32_t op;
    uint32_t r;                 // the result, or the first of several
    uint32_t a, b, c;           // arguments; those beyond the arity are a
} adx_node;

// A range: element (i, j) of a matrix is number base + i*rs + j*cs. A vector is
// one row, with stride cs. Where cs is 0, one number stands for all of a row.
typedef struct adx_numbers {
    uint32_t base;
    int32_t rs;
    int32_t cs;
} adx_numbers;

// The kinds of nodes with many results: each is an array statement, or a part
// of one, as a single node. The table says which of the counts m, k and n a
// kind has, and how many arguments. The arguments of a product are matrices [m
// x k] and [k x n]; all others are vectors of k numbers, or of n numbers if
// there is no k.
#define ADX_MANY_KINDS(ROW)                                                 \
    /*  kind      m  k  n  arguments         list  operation             */ \
    ROW(each,     0, 0, 1, ADX_AS_OPERATION, 0, 1)  /* of vectors        */ \
    ROW(sum,      0, 1, 0, 1,                0, 0)                          \
    ROW(most,     0, 1, 0, 1,                0, 0)  /* no derivative     */ \
    ROW(norm,     0, 1, 0, 1,                0, 0)  /* the length        */ \
    ROW(product,  1, 1, 1, 2,                0, 1)  /* mul, or chain, in    \
                                                       which 0 absorbs   */ \
    ROW(gather,   0, 0, 1, 0,                1, 0)  /* [n] of the list   */ \
    ROW(external, 1, 0, 1, 0,                1, 0)  /* of n inputs: m    */

// A rule is a function for each kind, and a switch over the kinds that is made
// from the table. So a new kind does not compile until it has all of its rules.
#define ADX_MANY_ENUM(kind, m, k, n, arguments, list, operation)            \
    ADX_MANY_##kind,
typedef enum adx_many_kind { ADX_MANY_KINDS(ADX_MANY_ENUM) ADX_MANY_COUNT }
    adx_many_kind;
#undef ADX_MANY_ENUM

#define ADX_AS_OPERATION (-1)

typedef struct adx_many_facts {
    bool m, k, n;               // whether it has that count
    int8_t arguments;
    bool list;                  // it reads the numbers in `list`
    bool operation;             // `op` is an operation
} adx_many_facts;

static const adx_many_facts *adx_facts_of(adx_many_kind kind)
{
#define ADX_MANY_FACTS(kind, m, k, n, arguments, list, operation)           \
    { m, k, n, arguments, list, operation },
    static const adx_many_facts facts[] = { ADX_MANY_KINDS(ADX_MANY_FACTS) };
#undef ADX_MANY_FACTS
    return &facts[kind];
}

// The part of an external statement that a node computes (its op). The list of
// the node has the operands x[n]; for adjoints, yb[m] follow. A node in one
// direction also has the tangents of all these behind them, and makes the
// tangents of the results behind the results.
enum {
    ADX_EXTERNAL_value = 0,     // y[m]
    ADX_EXTERNAL_adjoint = 1,   // xb[n]
    ADX_EXTERNAL_moving = 2     // | adjoint: in one direction
};

typedef struct adx_many {
    adx_many_kind kind;
    uint32_t op;                        // if the kind has one; ADX_EXTERNAL_...
    uint32_t m, k, n;
    adx_numbers arg[3];
    uint32_t *list;                     // [adx_listed] numbers; else NULL
    adx_shared_rule *shared;            // of an external statement
} adx_many;

// Where a number comes from.
#define ADX_FROM_CONSTANT 0x80000000u       // and above: which one
#define ADX_FROM_INPUT    0x7fffffffu       // below: which node
#define ADX_NOWHERE       UINT32_MAX        // no number

// A set of the table of known numbers (function/unique): the hashes of their
// keys, and the numbers. (With sets of 8, the table for 10^3 operations has 32
// kB; with sets of 4 it had 128.)
#define ADX_WAYS 8
typedef struct adx_seen_set {
    uint32_t hash[ADX_WAYS];
    uint32_t number[ADX_WAYS];  // 1 + the number; 0: none
} adx_seen_set;

// The cells that have been read. A program reads each cell once.
typedef struct adx_known_cell {
    uint16_t first;             // of its terms
    uint8_t terms;
    uint8_t result;
    bool known;
} adx_known_cell;

typedef struct adx_cells {
    adx_known_cell of[ADX_OP_COUNT][3]; // by operation and argument
    adx_term *term;             // of all cells, one after another
    size_t terms, room;
} adx_cells;

static void adx_drop_cells(const ad_allocator *a, adx_cells *cells)
{
    if (cells != NULL)
        adx_drop(a, cells->term);
    adx_drop(a, cells);
}

// The values of constants are apart from the numbers, so a number takes 4
// bytes: a recording writes to new memory, and the less it writes, the faster
// it is.
//
// The first numbers are the inputs. Nodes are in an order in which each reads
// only inputs, constants and results of nodes before it.
typedef struct adx_program {
    const ad_allocator *memory;
    adx_node *node;             // [nodes]
    size_t nodes, node_room;
    uint32_t *from;             // [number] the node whose result it is;
                                // ADX_FROM_INPUT; or ADX_FROM_CONSTANT and up
    size_t numbers, number_room;
    ad_real *constant;          // [constants] their values (adx_constant_of)
    size_t constants, constant_room;
    adx_many *many;             // [manys] what array nodes do: a node has the
    size_t manys, many_room;    // index
    uint32_t *output;           // [outputs] numbers, which may be equal
    size_t outputs, output_room;
    size_t inputs;
    size_t fixed;               // so many of the last inputs are parameters:
                                // there are no derivatives by them
    adx_seen_set *seen;         // the table of known numbers (function/unique)
    uint8_t *entered;           // [set] numbers that it was given, modulo 256
    size_t seen_sets;
    adx_cells *cells;           // cells that have been read (function/emit)
    bool plain;                 // do not simplify
    ad_status status;
    ad_fn_report report;
    bool counted;               // the report has `dead`, `operations`, `arrays`
    size_t guards;              // nodes that are guards
    size_t conditions;          // nodes that were made for guards
} adx_program;

// What a loop says of its step, for the programs that are derived from that
// (loop/replay). The first `carried` results of a step are the first inputs of
// the next one, and its last inputs are the parameters and the number of the
// step. carried is 0 for any other function, and for a step that carries on
// more than one row of a state.
typedef struct adx_repeated {
    size_t carried, parameters;
    size_t hands_on;            // numbers that its primal may hand on, at most
} adx_repeated;

static void adx_begin_program(adx_program *p, const ad_allocator *memory,
                              bool plain)
{
    memset(p, 0, sizeof *p);
    p->memory = memory;
    p->plain = plain;
}

// How many inputs derivatives are taken by: the first ones.
static size_t adx_variables_of(const adx_program *p)
{
    return p->inputs - p->fixed;
}

static void adx_drop_many(const ad_allocator *a, const adx_many *k)
{
    adx_drop(a, k->list);
    adx_release_rule(k->shared);
}

// Frees what is needed only while nodes are added.
static void adx_end_program(adx_program *p)
{
    adx_drop(p->memory, p->seen);
    adx_drop_cells(p->memory, p->cells);
    p->seen = NULL;
    p->entered = NULL;
    p->seen_sets = 0;
    p->cells = NULL;
}

static void adx_free_program(adx_program *p)
{
    for (size_t i = 0; i < p->manys; i++)
        adx_drop_many(p->memory, &p->many[i]);
    adx_drop(p->memory, p->many);
    adx_drop(p->memory, p->node);
    adx_drop(p->memory, p->from);
    adx_drop(p->memory, p->constant);
    adx_drop(p->memory, p->output);
    adx_end_program(p);
    memset(p, 0, sizeof *p);
}

// Notes that the program has failed. From then on it does not grow, and the
// first status stays. Functions that add to it still return numbers that are
// good as indices, so the status needs to be tested only at the end of a longer
// piece of work.
static void adx_spoil(adx_program *p, ad_status status)
{
    if (p->status == ADREV_OK)
        p->status = status;
}

// Makes room for one more number. False: there is none, and p is spoilt.
static inline bool adx_has_room_for_number(adx_program *p)
{
    if (p->numbers >= ADX_FROM_INPUT)
        adx_spoil(p, ADREV_ELIMIT);
    else if (!adx_make_room_for(p->memory, (void **)&p->from, &p->number_room,
                                p->numbers, sizeof *p->from))
        adx_spoil(p, ADREV_ENOMEM);
    if (p->number_room > ADX_FROM_INPUT)    // so that room for a number is also
        p->number_room = ADX_FROM_INPUT;    // within the limit
    return p->status == ADREV_OK;
}

// Appends a number. Each input and each constant is a number, and a node makes
// one, or several (adx_append_many).
static inline uint32_t adx_new_number(adx_program *p, uint32_t from)
{
    if (!adx_has_room_for_number(p))
        return 0;
    p->from[p->numbers] = from;
    return (uint32_t)p->numbers++;
}

static uint32_t adx_new_constant(adx_program *p, ad_real v)
{
    if (!adx_make_room_for(p->memory, (void **)&p->constant, &p->constant_room,
                           p->constants, sizeof *p->constant))
        adx_spoil(p, ADREV_ENOMEM);
    uint32_t x = adx_new_number(p, ADX_FROM_CONSTANT
                                       + (uint32_t)p->constants);
    if (p->status == ADREV_OK)
        p->constant[p->constants++] = v;
    return x;
}

// Appends n inputs. Number 0 is the first input or, if there is none, a
// constant: so 0 is always good as an index.
static void adx_new_inputs(adx_program *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        adx_new_number(p, ADX_FROM_INPUT);
    p->inputs += n;
}

static void adx_new_output(adx_program *p, uint32_t number)
{
    if (!adx_make_room_for(p->memory, (void **)&p->output, &p->output_room,
                           p->outputs, sizeof *p->output))
        adx_spoil(p, ADREV_ENOMEM);
    if (p->status == ADREV_OK)
        p->output[p->outputs++] = number;
}

static bool adx_is_constant_number(const adx_program *p, size_t x)
{
    return p->from[x] >= ADX_FROM_CONSTANT;
}

// Returns the value of a number that is a constant.
static const ad_real *adx_constant_of(const adx_program *p, size_t x)
{
    return &p->constant[p->from[x] - ADX_FROM_CONSTANT];
}

static bool adx_is_fixed(const adx_program *p, uint32_t x)
{
    return p->status == ADREV_OK && adx_is_constant_number(p, x);
}

// Whether x is the constant v; 0 and -0 differ.
static bool adx_is(const adx_program *p, uint32_t x, ad_real v)
{
    return adx_is_fixed(p, x)
        && memcmp(adx_constant_of(p, x), &v, sizeof v) == 0;
}

// Returns the node that makes x if it has this operation; else NULL.
static const adx_node *adx_made_by(const adx_program *p, uint32_t x,
                                   uint32_t op)
{
    uint32_t from = p->status == ADREV_OK ? p->from[x]
                                          : ADX_FROM_CONSTANT;
    return from < ADX_FROM_INPUT && p->node[from].op == op ? &p->node[from]
                                                           : NULL;
}

static const adx_many *adx_many_of(const adx_program *p, const adx_node *s)
{
    return s->op == ADX_OP_many ? &p->many[s->a] : NULL;
}

// How many operands and how many results an external node has, without the
// tangents behind them.
static size_t adx_external_operands(const adx_many *k)
{
    return (size_t)k->n + (k->op & ADX_EXTERNAL_adjoint ? k->m : 0);
}

static size_t adx_external_results(const adx_many *k)
{
    return k->op & ADX_EXTERNAL_adjoint ? k->n : k->m;
}

// How many numbers a node makes.
static size_t adx_many_results(const adx_many *k)
{
    const adx_many_facts *f = adx_facts_of(k->kind);
    if (k->kind == ADX_MANY_external)
        return adx_external_results(k) * (k->op & ADX_EXTERNAL_moving ? 2 : 1);
    return (size_t)(f->m ? k->m : 1) * (f->n ? k->n : 1);
}

// How many numbers are in its list.
static size_t adx_listed(const adx_many *k)
{
    if (k->kind == ADX_MANY_external)
        return adx_external_operands(k) * (k->op & ADX_EXTERNAL_moving ? 2 : 1);
    return adx_facts_of(k->kind)->list ? k->n : 0;
}

static int adx_many_arity(const adx_many *k)
{
    int arguments = adx_facts_of(k->kind)->arguments;
    return arguments == ADX_AS_OPERATION ? adx_row_of(k->op)->arity : arguments;
}

static size_t adx_results_of(const adx_program *p, const adx_node *s)
{
    const adx_many *k = adx_many_of(p, s);
    return k == NULL ? 1 : adx_many_results(k);
}

// Finds the rows and columns of argument i. rows is 0 if there is no such
// argument.
static void adx_extent(const adx_many *k, int i, size_t *rows, size_t *cols)
{
    const adx_many_facts *f = adx_facts_of(k->kind);
    bool second = f->k && i > 0;
    *rows = i >= adx_many_arity(k) ? 0 : second ? k->k : f->m ? k->m : 1;
    *cols = f->k && !second ? k->k : k->n;
}

static uint32_t adx_in_range(const adx_numbers *r, size_t i, size_t j)
{
    return r->base + (uint32_t)i * (uint32_t)r->rs
                   + (uint32_t)j * (uint32_t)r->cs;
}

// Finds the least and the largest number of a range, which are at two of its
// corners.
static void adx_range_ends(const adx_numbers *r, size_t rows, size_t cols,
                           uint32_t *low, uint32_t *high)
{
    *low = UINT32_MAX;
    *high = 0;
    for (size_t corner = 0; corner < 4; corner++) {
        uint32_t x = adx_in_range(r, corner & 1 ? rows - 1 : 0,
                                   corner & 2 ? cols - 1 : 0);
        *low = x < *low ? x : *low;
        *high = x > *high ? x : *high;
    }
}

// Adds the span of a range: the numbers from its first to its last. They keep
// their distances wherever they are stored. begin[n] says for each number how
// many spans begin at it, minus how many end just before it.
static void adx_add_span(uint32_t begin[], size_t n, const adx_numbers *r,
                         size_t rows, size_t cols)
{
    uint32_t low;
    uint32_t high;
    if (rows * cols == 0)
        return;
    adx_range_ends(r, rows, cols, &low, &high);
    begin[low]++;
    if (high + 1 < n)
        begin[high + 1]--;
}

// Adds the span of the results of an array node.
static void adx_add_results_span(uint32_t begin[], size_t n, uint32_t first,
                                 const adx_many *k)
{
    const adx_numbers results = { first, 0, 1 };
    adx_add_span(begin, n, &results, 1, adx_many_results(k));
}

// A function that is called for every number that a node reads. A guard has no
// third argument.
typedef void adx_visit_fn(void *user, uint32_t number);

// Visits every number that a node reads.
ADX_INLINE void adx_visit_reads(const adx_program *p, const adx_node *s,
                                adx_visit_fn *visit, void *user)
{
    const adx_many *k = adx_many_of(p, s);
    if (k == NULL) {
        visit(user, s->a);
        visit(user, s->b);
        if (s->op != ADX_OP_guard)
            visit(user, s->c);
        return;
    }
    for (size_t i = 0; i < adx_listed(k); i++)
        visit(user, k->list[i]);
    for (int a = 0; a < 3; a++) {
        size_t rows;
        size_t cols;
        adx_extent(k, a, &rows, &cols);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++)
                visit(user, adx_in_range(&k->arg[a], i, j));
    }
}
