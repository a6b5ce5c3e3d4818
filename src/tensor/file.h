#pragma once

/* === tensor/file ==========================================================
 * A bound text as a file of C code, without its functions of parts: a function
 * for each step, listed once for all parts that call it, and what stands before
 * them all.
 *
 *   needs   tape/memory code/api code/text tensor/api tensor/tree tensor/arena
 *           tensor/binding tensor/open tensor/print tensor/programs
 *           tensor/sharing tensor/fusion tensor/bundles tensor/emission
 *           tensor/steps
 *   offers  ADX_TENSOR_PARTS adx_parameter_kind ADX_PARAMETER_WRITTEN
 *           ADX_PARAMETER_READ ADX_PARAMETER_SIZE ADX_PARAMETER_TABLE
 *           ADX_PARAMETER_FLAG ADX_PARAMETER_PICKS ADX_PARAMETER_SUMS
 *           ADX_PARAMETER_PART ADX_PARAMETER_RANGE adx_parameter adx_step_text
 *           adx_tensor_file adx_table_type adx_has_parameter adx_parameter_fn
 *           adx_say_each_parameter adx_add_part adx_host_of adx_begin_file
 *           adx_file_status adx_end_file adx_say_steps
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_TENSOR_PARTS (ADREV_TENSOR_HVP + 1)

// The kinds of parameters of the function of a step.
typedef enum adx_parameter_kind {
    ADX_PARAMETER_WRITTEN,      // the numbers of a value
    ADX_PARAMETER_READ,
    ADX_PARAMETER_SIZE,         // that is open
    ADX_PARAMETER_TABLE,        // in the code of ad_tensor_compile
    ADX_PARAMETER_FLAG,         // of a bundle: whether a value is needed
    ADX_PARAMETER_PICKS,        // flags of numbers
    ADX_PARAMETER_SUMS,         // memory for the sums of a part
    ADX_PARAMETER_PART,         // which part
    ADX_PARAMETER_RANGE         // its range
} adx_parameter_kind;

typedef struct adx_parameter {
    adx_parameter_kind kind;
    uint32_t number;            // of the value, or the table
} adx_parameter;

// A function of the file: parameters and body, without its name. Equal ones are
// written once.
typedef struct adx_step_text {
    struct adx_step_text *next;
    uint32_t value;             // that it computes
    const char *text;
    size_t n;
    uint32_t number;            // in the name of the function
    adx_parameter *parameter;   // in their order
    uint32_t parameters;
} adx_step_text;

typedef struct adx_tensor_file {
    ad_tensor *t;
    adx_arena a;
    const ad_c_options *options;
    bool loaded;                // for ad_tensor_compile: tables are parameters
    ad_status status;
    adx_table_list tables;
    adx_step_text *step;        // all of them, the latest first
    uint32_t steps;
    bool helper[ADX_HELPER_COUNT];
    unsigned bounds;            // ADX_CALLS_...
    bool rolled;                // what stands before the steps
    adx_fusion part[ADX_TENSOR_PARTS];
    adx_step_text **of[ADX_TENSOR_PARTS];   // [values]; NULL: no such part
    adx_bytes functions;        // text of the steps
} adx_tensor_file;

// Notes a failure; the first one stays.
static void adx_fail_file(adx_tensor_file *k, ad_status status)
{
    if (k->status == ADREV_OK)
        k->status = status;
}

/* --- steps --------------------------------------------------------------- */

// Returns the C type of a table's elements.
static const char *adx_table_type(const adx_tensor_file *k, adx_table_kind kind)
{
    return kind == ADX_TABLE_WORDS ? "unsigned long long"
         : kind == ADX_TABLE_INTS ? k->loaded ? "int" : "long"
         : k->loaded ? "unsigned" : "unsigned long";
}

// Adds a parameter to a step's function, or counts it only.
static void adx_add_parameter(adx_step_text *s, adx_parameter_kind kind,
                              uint32_t number)
{
    const adx_parameter p = { kind, number };
    if (s->parameter != NULL)   // or else counts
        s->parameter[s->parameters] = p;
    s->parameters++;
}

// Lists what the step that was written last needs, in the order of its
// parameters.
static void adx_list_parameters(const adx_tensor_file *k, const adx_emission *e,
                                adx_step_text *s)
{
    uint32_t values = k->t->program->values;
    s->parameters = 0;
    for (uint32_t i = 0; i < adx_open_of(k->t); i++)
        if (e->size[i])
            adx_add_parameter(s, ADX_PARAMETER_SIZE, i);
    for (uint32_t i = 1; i < values; i++)
        if (e->written[i])
            adx_add_parameter(s, ADX_PARAMETER_WRITTEN, i);
    for (uint32_t i = 1; i < values; i++)
        if (e->read[i] && !e->written[i])
            adx_add_parameter(s, ADX_PARAMETER_READ, i);
    for (uint32_t i = 0; k->loaded && i < k->tables.n; i++)
        if (k->tables.table[i].read)
            adx_add_parameter(s, ADX_PARAMETER_TABLE, i);
    for (uint32_t i = 1; i < values; i++)
        if (e->flag[i])
            adx_add_parameter(s, ADX_PARAMETER_FLAG, i);
    if (e->picks)
        adx_add_parameter(s, ADX_PARAMETER_PICKS, 0);
    if (e->sums)
        adx_add_parameter(s, ADX_PARAMETER_SUMS, 0);
    bool sums = e->cut != NULL && e->cut->way == ADX_STEP_SUMS;
    if (sums || e->listed)
        adx_add_parameter(s, ADX_PARAMETER_PART, 0);
    if (e->cut != NULL && !sums)
        adx_add_parameter(s, ADX_PARAMETER_RANGE, 0);
}

// Returns the record of the step that was written last. NULL: no memory.
static adx_step_text *adx_new_step_text(adx_tensor_file *k, uint32_t value,
                                        const adx_emission *e)
{
    adx_step_text *s = ADX_GET(&k->a, 1, adx_step_text);
    if (s == NULL)
        return NULL;
    adx_list_parameters(k, e, s);
    s->value = value;
    s->parameter = ADX_GET(&k->a, s->parameters, adx_parameter);
    if (s->parameter == NULL)
        return NULL;
    adx_list_parameters(k, e, s);
    return s;
}

// Whether a step's function has this parameter.
static bool adx_has_parameter(const adx_step_text *s, adx_parameter_kind kind,
                              uint32_t number)
{
    for (uint32_t i = 0; s != NULL && i < s->parameters; i++)
        if (s->parameter[i].kind == kind && s->parameter[i].number == number)
            return true;
    return false;
}

// Writes one parameter, as it is declared or as a call gives it.
typedef void adx_parameter_fn(adx_text *t, const adx_parameter *p, void *user);

// Writes the parameters of a step's function in turn, as `say` writes one.
static void adx_say_each_parameter(adx_text *t, const adx_step_text *s,
                                   adx_parameter_fn *say, void *user)
{
    for (uint32_t i = 0; i < s->parameters; i++) {
        adx_say(t, i == 0 ? "(" : ", ");
        say(t, &s->parameter[i], user);
    }
}

// Writes the declaration of a parameter of a loop function.
static void adx_say_parameter(adx_text *t, const adx_parameter *p, void *user)
{
    const adx_tensor_file *k = (const adx_tensor_file *)user;
    unsigned long i = p->number;
    switch (p->kind) {
    case ADX_PARAMETER_SIZE:
        adx_say(t, "long ");
        adx_say_size(t, k->t, p->number); break;
    case ADX_PARAMETER_WRITTEN:
        adx_say(t, "%s *restrict b%lu", t->real, i); break;
    case ADX_PARAMETER_READ:
        adx_say(t, "const %s *restrict b%lu", t->real, i); break;
    case ADX_PARAMETER_TABLE:
        adx_say(t, "const %s *restrict t%lu",
                adx_table_type(k, k->tables.table[i].kind), i); break;
    case ADX_PARAMETER_FLAG: adx_say(t, "int n%lu", i); break;
    case ADX_PARAMETER_PICKS:
        adx_say(t, "unsigned char *restrict done"); break;
    case ADX_PARAMETER_SUMS: adx_say(t, "%s *restrict sums", t->real); break;
    case ADX_PARAMETER_PART: adx_say(t, "long which"); break;
    case ADX_PARAMETER_RANGE: adx_say(t, "long lo, long hi"); break;
    }
}

// Writes the tables of steps as constants of the file, with its name in front.
static void adx_say_step_tables(const adx_tensor_file *k, adx_text *t)
{
    for (uint32_t i = 0; !k->loaded && i < k->tables.n; i++)
        if (k->tables.table[i].read)
            adx_say(t, "    const %s *const t%lu = %s_t%lu;\n",
                    adx_table_type(k, k->tables.table[i].kind),
                    (unsigned long)i, t->name, (unsigned long)i);
}

// Returns the step with this very text. NULL: there is none.
static adx_step_text *adx_find_text(const adx_tensor_file *k, uint32_t value,
                                    const adx_bytes *b)
{
    adx_step_text *s = k->step;
    while (s != NULL && (s->value != value || s->n != b->n
                         || memcmp(s->text, b->v, b->n) != 0))
        s = s->next;
    return s;
}

// Returns a new function; its text is kept. NULL: no memory.
static adx_step_text *adx_keep_text(adx_tensor_file *k, adx_step_text *s,
                                    const char *name, const adx_bytes *b)
{
    char *text = ADX_GET(&k->a, b->n, char);
    if (text == NULL)
        return NULL;
    memcpy(text, b->v, b->n);
    s->text = text;
    s->n = b->n;
    s->number = k->steps++;
    s->next = k->step;
    k->step = s;
    adx_text to = { .write = adx_put_bytes, .user = &k->functions };
    adx_say(&to, "static void %s_step%lu", name, (unsigned long)s->number);
    adx_put_text(&to, text, b->n);
    return s;
}

// Returns the function of a value in a part, which may be one of another part.
// NULL: no memory.
static adx_step_text *adx_step_of(adx_tensor_file *k, adx_emission *e,
                                  uint32_t value)
{
    adx_bytes body = { .memory = &k->t->memory };
    adx_bytes all = { .memory = &k->t->memory };
    adx_text head = e->text;
    adx_step_text *before = NULL;
    e->text.user = &body;
    head.user = &all;
    adx_say_step(e, value);
    adx_step_text *s = adx_new_step_text(k, value, e);
    if (s != NULL) {
        adx_say_each_parameter(&head, s, adx_say_parameter, k);
        adx_say(&head, s->parameters == 0 ? "(void)\n{\n" : ")\n{\n");
    }
    adx_say_step_tables(k, &head);
    adx_put_text(&head, (const char *)body.v, body.n);
    adx_say(&head, "}\n\n");
    if (body.failed || all.failed)
        adx_arena_fail(&k->a, ADREV_ENOMEM);
    else if (s != NULL)
        before = adx_find_text(k, value, &all);
    if (before == NULL && k->a.status == ADREV_OK)
        before = adx_keep_text(k, s, e->text.name, &all);
    adx_drop(body.memory, body.v);
    adx_drop(all.memory, all.v);
    return before;
}

// Writes the steps of a part. Those without C text are refused, or left to the
// loops of tensor/run.
static void adx_add_part(adx_tensor_file *k, ad_tensor_part part)
{
    const adx_tensor_program *p = k->t->program;
    adx_fusion *f = &k->part[part];
    adx_emission e = { .a = &k->a, .f = f, .tables = &k->tables,
                       .helper = k->helper };
    const ad_c_options *o = k->options;
    e.text.write = adx_put_bytes;
    e.text.name = o->name == NULL ? "f" : o->name;
    e.text.real = o->single ? "float" : "double";
    e.text.single = o->single;
    e.read = ADX_GET(&k->a, p->values, bool);
    e.written = ADX_GET(&k->a, p->values, bool);
    e.flag = ADX_GET(&k->a, p->values, bool);
    e.size = ADX_GET(&k->a, 1 + adx_open_of(k->t), bool);
    k->of[part] = ADX_GET(&k->a, p->values, adx_step_text *);
    if (!adx_fuse_part(f, &k->a, k->t, part, k->loaded)
        || !adx_find_bundles(f) || !adx_cut_steps(f) || k->of[part] == NULL)
        return;
    for (uint32_t i = 0; i < p->steps && k->a.status == ADREV_OK; i++) {
        uint32_t v = p->order[i];
        bool within = f->fate[v] == ADX_FATE_HOSTED && f->thin[v] != 0;
        if (!f->needed[v] || !adx_is_stored(f, v) || adx_is_follower(f, v)
            || within)
            continue;
        if (f->spelled[v])
            k->of[part][v] = adx_step_of(k, &e, v);
        else if (!k->loaded)
            adx_fail_file(k, ADREV_EEXTERNAL);
    }
    k->bounds |= e.bounds;
    k->rolled = k->rolled || e.rolled;
}

// Returns the value whose loops also compute this one; 0: it has loops of its
// own.
static uint32_t adx_host_of(const adx_fusion *f, uint32_t value)
{
    if (f->host[value] == 0)
        return 0;
    value = f->host[value];
    while (f->fate[value] == ADX_FATE_INLINED)
        value = f->host[value];
    return value;
}

/* --- begin and end ------------------------------------------------------- */

// Begins a file without functions.
static void adx_begin_file(adx_tensor_file *k, ad_tensor *t,
                           const ad_c_options *o, bool loaded)
{
    memset(k, 0, sizeof *k);
    k->t = t;
    k->a.memory = &t->memory;
    k->options = o;
    k->loaded = loaded;
    k->functions.memory = &t->memory;
}

// Returns the status of all that was written.
static ad_status adx_file_status(const adx_tensor_file *k)
{
    return k->a.status != ADREV_OK ? k->a.status
         : k->functions.failed ? ADREV_ENOMEM : k->status;
}

static void adx_end_file(adx_tensor_file *k)
{
    adx_drop(&k->t->memory, k->functions.v);
    adx_free_arena(&k->a);
}

/* --- the file ------------------------------------------------------------ */

// Writes the functions that bounds of loops call: most, least, and division
// that rounds.
static void adx_say_bound_functions(adx_text *t, unsigned calls)
{
    const char *f = t->name;
    if (calls & ADX_CALLS_MOST)
        adx_say(t, "static inline long %s_most(long a, long b)\n"
                "{\n    return a > b ? a : b;\n}\n\n", f);
    if (calls & ADX_CALLS_LEAST)
        adx_say(t, "static inline long %s_least(long a, long b)\n"
                "{\n    return a < b ? a : b;\n}\n\n", f);
    if (calls & ADX_CALLS_FLOOR)
        adx_say(t, "static inline long %s_floor(long a, long b)\n"
                "{\n    return a / b - (a %% b < 0);\n}\n\n", f);
}

// Writes what must stand before loops that gcc must not unroll
// (tensor/emission).
static void adx_say_rolled(adx_text *t)
{
    adx_say(t, "#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 8\n"
            "#define %s_ROLLED _Pragma(\"GCC unroll 1\")\n#else\n"
            "#define %s_ROLLED\n#endif\n\n", t->name, t->name);
}

// Writes a table as a constant array, ten numbers in a line.
static void adx_say_table_data(const adx_tensor_file *k, adx_text *t,
                               uint32_t number)
{
    const adx_table_data *d = &k->tables.table[number];
    adx_say(t, "static const %s %s_t%lu[%llu] = {",
            adx_table_type(k, d->kind), t->name, (unsigned long)number,
            (unsigned long long)(d->n > 0 ? d->n : 1));
    for (uint64_t i = 0; i < d->n; i++) {
        adx_say(t, i % 10 == 0 ? "\n    " : " ");
        if (d->kind == ADX_TABLE_WORDS)
            adx_say(t, "%lluu", (unsigned long long)
                                    ((const uint64_t *)d->data)[i]);
        else if (d->kind == ADX_TABLE_INTS)
            adx_say(t, "%ld", (long)((const int32_t *)d->data)[i]);
        else
            adx_say(t, "%lu", (unsigned long)((const uint32_t *)d->data)[i]);
        adx_say(t, i + 1 < d->n ? "," : "");
    }
    adx_say(t, d->n > 0 ? "\n};\n\n" : " 0 };\n\n");
}

static void adx_put_to_text(const char *text, size_t n, void *user)
{
    adx_put_text((adx_text *)user, text, n);
}

// Writes a comment that says what sizes mean that are arguments, and how arrays
// lie, by their strides.
static void adx_say_open_origin(const adx_tensor_file *k, adx_text *t)
{
    const adx_tree *tree = &k->t->tree;
    adx_say(t, "\n\nArrays have the strides of the largest sizes. Numbers from "
            "index to index:\n");
    for (uint32_t i = 1; i < k->t->program->values; i++) {
        const adx_tensor_value *v = adx_tensor_value_at(k->t, i);
        const adx_tensor_array *a = &tree->array[v->array];
        if (v->array == 0 || v->dims == 0 || (a->formula != 0 && !a->out))
            continue;
        adx_say(t, "    ");
        adx_put_text(t, tree->text + a->name.at, a->name.length);
        for (uint32_t d = 0; d < v->dims; d++)
            adx_say(t, "%s%lld", d == 0 ? "[" : ", ", (long long)v->stride[d]);
        adx_say(t, "]\n");
    }
    adx_say(t, "Functions return 2 if a size is not in its range. Then nothing "
            "has been written.");
}

// Writes the largest and the least number of a size that is an argument.
static void adx_say_size_limits(const adx_tensor_file *k, adx_text *t)
{
    const adx_open_sizes *o = k->t->open;
    for (uint32_t i = 0; i < adx_open_of(k->t); i++)
        for (int most = 0; most < 2; most++) {
            adx_say(t, "#define %s_", t->name);
            adx_say_size(t, k->t, i);
            adx_say(t, "%s %lld\n", most ? "MOST" : "LEAST",
                    (long long)(most ? k->t->given.size[o->size[i]]
                                     : o->least[i]));
        }
    adx_say(t, o == NULL ? "" : "\n");
}

// Writes a comment with the text, as it was understood, and its sizes.
static void adx_say_origin(const adx_tensor_file *k, adx_text *t)
{
    const adx_tree *tree = &k->t->tree;
    adx_say(t, "/* written by adrev " ADREV_VERSION " from\n\n");
    adx_print_tree(tree, adx_put_to_text, t);
    for (uint32_t i = 1; i < tree->size_count; i++) {
        uint32_t open = k->t->open == NULL ? 0 : k->t->open->var[i];
        adx_say(t, i == 1 ? "\nwith " : ", ");
        adx_put_text(t, tree->text + tree->size[i].at, tree->size[i].length);
        if (open > 0)
            adx_say(t, " from %lld to %lld",
                    (long long)k->t->open->least[open - 1],
                    (long long)k->t->given.size[i]);
        else
            adx_say(t, " = %lld", (long long)k->t->given.size[i]);
    }
    if (k->t->open != NULL)
        adx_say_open_origin(k, t);
    adx_say(t, " */\n\n");
}

// Writes what stands in front of the functions of the steps, and these
// functions.
static void adx_say_steps(adx_tensor_file *k, adx_text *t)
{
    const ad_c_options *o = k->options;
    if (k->loaded)
        adx_say(t, "/* written by adrev " ADREV_VERSION " */\n\n");
    else
        adx_say_origin(k, t);
    if (o->header != NULL)
        adx_say(t, "#include \"%s\"\n", o->header);
    adx_say_math(t, k->loaded);
    if (k->rolled)
        adx_say_rolled(t);
    adx_say_size_limits(k, t);
    adx_say_bound_functions(t, k->bounds);
    adx_say_helpers(t, k->helper);
    for (uint32_t i = 0; !k->loaded && i < k->tables.n; i++)
        adx_say_table_data(k, t, i);
    adx_put_text(t, (const char *)k->functions.v, k->functions.n);
}

ADX_SELDOM_END
