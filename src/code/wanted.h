#pragma once

/* === code/wanted ============================================================
 * Which C functions are asked for, and the programs from which they are made. A
 * sparse matrix is a program, too: it makes the entries in the order of the
 * pattern, by one derivation for each direction of the plan (function/plans),
 * all in one program.
 *
 *   needs   tape/memory core/cells function/api function/program
 *           function/unique function/copy function/adjoints function/matrices
 *           function/functions function/evaluation function/pattern
 *           function/plans code/api code/text code/layout code/statements
 *           code/repeats code/loops code/functions code/blocks
 *   offers  adx_make_sparse ADX_C_PRIMAL ADX_C_PULLBACK ADX_C_BLOCKS ADX_C_ALL
 *           adx_c_kind adx_c_kinds ADX_C_KINDS ADX_C_SPARSE ADX_C_LOADED
 *           adx_c_file adx_do_kinds
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Seeds direction d: the inputs (or, in reverse, the outputs) of its colour get
// the derivative 1, or the one full row or column that it is for.
static void adx_seed_direction(adx_making *k, const adx_pattern *s, uint32_t d)
{
    bool apart = d >= s->groups;
    bool reverse = s->by_rows != apart;
    const uint32_t *group = apart ? s->apart : s->group;
    size_t n = reverse ? s->g.rows : s->g.cols;
    adx_clear_derived(k);
    for (size_t i = 0; i < n; i++)
        if (group[i] == (apart ? d - s->groups : d))
            k->derived[reverse ? k->from->output[i] : i] = adx_fixed(k->to, 1);
}

// Makes the entries of a sparse matrix in the order of its pattern, as
// ad_fn_jacobian_pattern computes them: one sweep of derivation for all columns
// or rows of a colour, and in entry[] the number that it makes of each entry.
static ad_status adx_make_entries(adx_program *q, const adx_program *p,
                                  const adx_pattern *s, uint32_t entry[])
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    bool *moved = adx_find_moved(p, 0, s->g.cols);
    if (moved == NULL)
        adx_spoil(q, ADREV_ENOMEM);
    adx_copy_nodes(&k);
    for (uint32_t d = 0; d < s->groups + s->aparts; d++) {
        bool reverse = s->by_rows != (d >= s->groups);
        adx_seed_direction(&k, s, d);
        if (reverse)
            adx_adjoint_nodes(&k, moved);
        else
            adx_tangent_nodes(&k);
        for (uint32_t i = s->first[d]; i < s->first[d + 1]; i++) {
            uint32_t at = s->at[s->entry[i]];
            entry[s->entry[i]] = k.derived[reverse ? at : p->output[at]];
        }
    }
    adx_drop(p->memory, moved);
    adx_end_making(&k);
    return q->status;
}

// Makes the program of a sparse Jacobian. A sparse Hessian is the sparse
// Jacobian of the adjoint program, without the values that this has as outputs,
// too.
static ad_status adx_make_sparse(adx_program *q, ad_fn *fn, bool hessian)
{
    const ad_allocator *a = &fn->memory;
    const adx_program *p = &fn->program;
    adx_program adjoint;
    adx_pattern *s;
    adx_begin_program(&adjoint, a, false);
    ad_status status = adx_pattern_of(fn, hessian, &s);
    if (status == ADREV_OK && hessian)
        status = adx_make_adjoint(&adjoint, p, fn->variables,
                                  fn->repeated.carried > 0);
    if (status != ADREV_OK) {
        adx_free_program(&adjoint);
        return status;
    }
    size_t entries = s->g.start[s->g.rows];
    uint32_t *entry = (uint32_t *)adx_take(a, entries, sizeof *entry);
    if (hessian)
        adjoint.outputs = fn->variables;        // without the values
    status = entry == NULL ? ADREV_ENOMEM
           : adx_make_entries(q, hessian ? &adjoint : p, s, entry);
    if (status == ADREV_OK)
        adx_matrix_outputs(q, entries, entry);
    adx_drop(a, entry);
    adx_free_program(&adjoint);
    return status == ADREV_OK ? q->status : status;
}

// Functions besides those that users can ask for. They are for loops
// (function/matrices), and exist as machine code only.
enum {
    ADX_C_PRIMAL = 1 << ADREV_C_COUNT, ADX_C_PULLBACK = 2 << ADREV_C_COUNT,
    ADX_C_BLOCKS = 4 << ADREV_C_COUNT,  // every kind also for blocks of points
    ADX_C_ALL = (8 << ADREV_C_COUNT) - 1
};

// A kind of C function: what it computes, its name, inputs and results. For a
// Jacobian without values, and for sparse matrices, adx_make_c_kind decides
// what is computed, and `kind` only says where the code belongs.
typedef struct adx_c_kind {
    unsigned bit;               // ADREV_C_...
    adx_kind kind;
    const char *what;           // its name behind the prefix
    const char *in[3];
    const char *out[2];
} adx_c_kind;

static const adx_c_kind adx_c_kinds[] = {
    { ADREV_C_VALUE,    ADX_KIND_value,   "value",    { "x" },   { "y" } },
    { ADREV_C_JVP,      ADX_KIND_jvp,     "jvp", { "x", "v" },   { "dy" } },
    { ADREV_C_VJP,      ADX_KIND_vjp,     "vjp", { "x", "w" },   { "dx" } },
    { ADREV_C_GRADIENT, ADX_KIND_linear,  "gradient", { "x" },   { "y", "g" } },
    { ADREV_C_HVP,      ADX_KIND_hvp,     "hvp", { "x", "w", "v" }, { "hv" } },
    { ADREV_C_JACOBIAN, ADX_KIND_linear,  "jacobian", { "x" },   { "J" } },
    { ADREV_C_HESSIAN,  ADX_KIND_hessian, "hessian", { "x", "w" }, { "H" } },
    { ADREV_C_JACOBIAN_SPARSE, ADX_KIND_jacobian_sparse, "jacobian_sparse",
      { "x" }, { "J" } },
    { ADREV_C_HESSIAN_SPARSE, ADX_KIND_hessian_sparse, "hessian_sparse",
      { "x", "w" }, { "H" } },
    { ADREV_C_LINEARIZE, ADX_KIND_linear, "linearize", { "x" },  { "y", "J" } },
    { ADX_C_PRIMAL,     ADX_KIND_primal, "primal", { "x" }, { "y", "kept" } },
    { ADX_C_PULLBACK,   ADX_KIND_pullback, "pullback",
      { "x", "w", "kept" }, { "dx" } },
};
#define ADX_C_KINDS (sizeof adx_c_kinds / sizeof *adx_c_kinds)
#define ADX_C_SPARSE (ADREV_C_JACOBIAN_SPARSE | ADREV_C_HESSIAN_SPARSE)
// The kinds that evaluations use: gradients and Jacobians come with values.
#define ADX_C_LOADED (ADX_C_ALL & ~(ADREV_C_GRADIENT | ADREV_C_JACOBIAN))

// Makes the program behind a C function. Its outputs are the results of the
// first array, then those of the second.
static ad_status adx_make_c_kind(adx_program *q, ad_fn *fn,
                                 const adx_c_kind *kind)
{
    adx_begin_program(q, &fn->memory, false);
    if (kind->bit & ADX_C_SPARSE)
        return adx_make_sparse(q, fn, kind->bit == ADREV_C_HESSIAN_SPARSE);
    return kind->bit == ADREV_C_JACOBIAN
         ? adx_make_jacobian(q, &fn->program, false)
         : adx_make_derived(q, fn, kind->kind);
}

// The pattern of a sparse kind, which has been found when the program was made;
// NULL: the kind is not sparse.
static const adx_entries *adx_entries_of(ad_fn *fn, unsigned bit)
{
    adx_pattern *s;
    return !(bit & ADX_C_SPARSE)
        || adx_pattern_of(fn, bit == ADREV_C_HESSIAN_SPARSE, &s) != ADREV_OK
         ? NULL : &s->g;
}

// The length of an array, by its name.
static size_t adx_c_length(ad_fn *fn, const adx_c_kind *kind,
                           const char *array)
{
    bool matrix = array != NULL && (*array == 'J' || *array == 'H');
    const adx_entries *g = matrix ? adx_entries_of(fn, kind->bit) : NULL;
    size_t n = fn->variables;
    return array == NULL ? 0
         : g != NULL ? g->start[g->rows]
         : *array == 'k' ? adx_handed_on(fn)
         : strchr("yw", *array) != NULL || strcmp(array, "dy") == 0 ? fn->m
         : *array == 'J' ? fn->m * n
         : *array == 'H' ? n * n : strcmp(array, "x") == 0 ? fn->n : n;
}

#define ADX_LEVELS_LEAST 1000           // nodes, for the order of levels
#define ADX_LEVELS_LEAST_TEXT 50000     // bytes, without it

// Everything that is to be written.
typedef struct adx_c_file {
    ad_fn *fn;
    const ad_c_options *options;
    unsigned asked;             // functions
    adx_text *text;
    bool needed[ADX_HELPER_COUNT];      // helpers that a function calls
    ad_c_size *size;            // of each function; NULL: of no interest
} adx_c_file;

// Finds the helper functions that a program calls.
static ad_status adx_need_helpers(adx_c_file *file, const adx_program *q)
{
    bool *used = (bool *)adx_take(q->memory, q->numbers, sizeof *used);
    ad_status status = used == NULL ? ADREV_ENOMEM : ADREV_OK;
    if (used != NULL)
        adx_find_used(q, used);
    for (size_t i = 0; status == ADREV_OK && i < q->nodes; i++) {
        const adx_many *m = adx_many_of(q, &q->node[i]);
        uint32_t op = m == NULL ? q->node[i].op : m->op;
        bool external = m != NULL && m->kind == ADX_MANY_external;
        if (external && adx_is_used(q, &q->node[i], used))
            status = ADREV_EEXTERNAL;
        bool plain = op >= ADX_OP_COUNT
                  || (m != NULL && !adx_facts_of(m->kind)->operation);
        if (!plain && adx_is_used(q, &q->node[i], used)
            && !adx_find_helpers(adx_value_text(file->text, op), file->needed))
            status = ADREV_EEXTERNAL;
    }
    adx_drop(q->memory, used);
    return status == ADREV_OK && !adx_are_in_dialect(file->text, file->needed)
         ? ADREV_EEXTERNAL : status;
}

static void adx_measure_code(const adx_writing *k, size_t bytes,
                             ad_c_size *size)
{
    const adx_program *p = k->p;
    size->statements = k->rolled != NULL ? adx_rolled_text(k) : 0;
    for (size_t i = 0; i < p->nodes && k->rolled == NULL; i++)
        size->statements += adx_is_used(p, &p->node[i], k->used);
    for (size_t i = 0; i < p->numbers; i++)
        size->constants += k->used[i]
                        && adx_is_constant_number(p, i);
    size->work = k->places == 0 ? 1 : k->places;
    size->bytes = bytes;
    size->loops = k->rolled != NULL ? k->rolled->written : 0;
}

// Whether there is a function that makes many steps in one call. It pays for
// steps with few numbers, where the call itself takes a part of the time.
static bool adx_is_looped(const adx_writing *k, const ad_fn *fn, adx_kind kind)
{
    return fn->repeated.carried > 0 && fn->repeated.carried == fn->m
        && fn->n <= ADX_CHECKED_MOST
        && (kind == ADX_KIND_value || kind == ADX_KIND_vjp
            || kind == ADX_KIND_primal || kind == ADX_KIND_pullback)
        && adx_has_check(k);
}

// The arrays of a C function, and how many of its results nothing checks.
static void adx_name_arrays(adx_writing *k, adx_results *results,
                            const adx_c_file *file, const adx_c_kind *kind)
{
    ad_fn *fn = file->fn;
    size_t common = file->options->common;
    *results = (adx_results){ { kind->out[0], kind->out[1] },
                              { adx_c_length(fn, kind, kind->out[0]),
                                adx_c_length(fn, kind, kind->out[1]) } };
    k->results = results;
    k->chosen = fn->variables < fn->n;
    // Two kinds of results may be not finite without harm: of a step of a loop
    // the adjoint of its number, and what is handed on, since some of that may
    // not be needed.
    k->unchecked = kind->kind == ADX_KIND_primal ? results->length[1]
                 : fn->repeated.carried > 0
                   && (kind->kind == ADX_KIND_vjp
                       || kind->kind == ADX_KIND_pullback);
    for (int i = 0, at = 0; i < 3; i++) {
        k->array[at] = kind->in[i];
        k->length[at++] = adx_c_length(fn, kind, kind->in[i]);
        if (i == 0 && common > 0) {
            k->array[at] = "c";
            k->length[at++] = common;
            k->length[0] -= common;
        }
    }
}

// The length of a C function, without its pattern, as it would be written now.
static size_t adx_count_text(adx_writing *k)
{
    adx_text *t = k->text;
    const adx_entries *entries = k->entries;
    adx_text dry = *t;
    dry.write = NULL;
    dry.bytes = 0;
    k->text = &dry;
    k->entries = NULL;
    adx_say_function(k);
    k->text = t;
    k->entries = entries;
    return dry.bytes;
}

// Makes of a function what it was before loops were looked for. false: no
// memory.
static bool adx_undo_loops(adx_writing *k, adx_program *q)
{
    if (k->rolled != NULL)
        adx_split_equal(q, k->rolled->was, k->used);
    if (k->rolled != NULL)
        k->rolled->was = NULL;
    adx_free_rolled(q->memory, k->rolled);
    k->rolled = NULL;
    k->places = 0;
    adx_end_writing(k);
    return adx_begin_writing(k);
}

// Gives the function loops. The order of levels needs more memory, and is only
// tried for long texts, and taken if the text has half the length. false: no
// memory.
static bool adx_find_loops(adx_writing *k, adx_program *q)
{
    if (!adx_begin_loops(k, q, false))
        return false;
    size_t bytes = q->manys > 0 || q->nodes < ADX_LEVELS_LEAST
                 ? 0 : adx_count_text(k);
    if (bytes < ADX_LEVELS_LEAST_TEXT)
        return true;
    bool rolled = k->rolled != NULL;
    if (!adx_undo_loops(k, q) || !adx_begin_loops(k, q, true))
        return false;
    if (k->rolled != NULL && 2 * adx_count_text(k) < bytes)
        return true;
    return adx_undo_loops(k, q) && (!rolled || adx_begin_loops(k, q, false));
}

// Writes what ad_fn_compile needs besides a C function. q has more outputs than
// that: values behind the derivatives, which only blocks of points want.
static void adx_write_besides(adx_writing *k, const adx_program *q,
                              const adx_c_file *file, const adx_c_kind *kind)
{
    const ad_fn *fn = file->fn;
    bool wanted = kind->bit <= ADREV_C_VJP || (file->asked & ADX_C_BLOCKS);
    if (k->text->loaded && wanted && adx_has_block(k)) {
        adx_find_used(q, k->used);
        adx_say_block(k);
    }
    if (adx_is_looped(k, fn, kind->kind))
        adx_say_loop(k, fn->repeated.carried, fn->repeated.parameters);
}

// Writes one C function and what belongs to it, or its declaration.
static ad_status adx_write_program(adx_c_file *file, const adx_c_kind *kind,
                                   adx_program *q, ad_c_size *size)
{
    adx_text *t = file->text;
    size_t split = file->options->split;
    size_t before = t->bytes;
    size_t all = q->outputs;
    adx_results results;
    adx_writing k = { .text = t, .p = q, .what = kind->what,
                      .split = split == 0 ? 2000 : split,
                      .unrolled = file->options->unrolled,
                      .entries = adx_entries_of(file->fn, kind->bit) };
    adx_name_arrays(&k, &results, file, kind);
    q->outputs = results.length[0] + results.length[1];
    bool ok = adx_begin_writing(&k);
    if (ok && !k.unrolled)
        ok = adx_find_loops(&k, q);
    if (ok && t->header) {
        adx_declare_function(&k);
    } else if (ok) {
        adx_say_function(&k);
        if (size != NULL)
            adx_measure_code(&k, t->bytes - before, size);
        q->outputs = all;
        adx_write_besides(&k, q, file, kind);
    }
    adx_free_rolled(q->memory, k.rolled);
    adx_end_writing(&k);
    return ok && !t->failed ? ADREV_OK : ADREV_ENOMEM;
}

static ad_status adx_do_kind(adx_c_file *file, size_t which)
{
    const adx_c_kind *kind = &adx_c_kinds[which];
    adx_program q;
    ad_status status = adx_make_c_kind(&q, file->fn, kind);
    size_t all = q.outputs;
    if (status == ADREV_OK && !file->text->loaded)
        q.outputs = adx_c_length(file->fn, kind, kind->out[0])
                  + adx_c_length(file->fn, kind, kind->out[1]);
    if (status == ADREV_OK)
        status = adx_need_helpers(file, &q);
    q.outputs = all;
    if (status == ADREV_OK)
        status = adx_write_program(file, kind, &q, file->size == NULL
                                   ? NULL : &file->size[which]);
    adx_free_program(&q);
    return status;
}

// Writes all that are asked for, and finds what helpers they need.
static ad_status adx_do_kinds(adx_c_file *file)
{
    ad_status status = ADREV_OK;
    for (size_t i = 0; i < ADX_C_KINDS && status == ADREV_OK; i++)
        if (file->asked & adx_c_kinds[i].bit)
            status = adx_do_kind(file, i);
    return status;
}

ADX_SELDOM_END
