#pragma once

/* === tensor/written =========================================================
 * A bound text as a file of C code: a function for each step, and for each part
 * one that calls them.
 *
 *   needs   tape/memory code/api code/text code/write tensor/api tensor/tree
 *           tensor/messages tensor/arena tensor/binding tensor/open
 *           tensor/print tensor/programs tensor/sharing tensor/derive
 *           tensor/queries tensor/fusion tensor/blocks tensor/ranges
 *           tensor/emission tensor/steps
 *   offers  ADX_TENSOR_PARTS ADX_PARAMETER_WRITTEN ADX_PARAMETER_READ
 *           ADX_PARAMETER_SIZE ADX_PARAMETER_TABLE ADX_PARAMETER_FLAG
 *           ADX_PARAMETER_PICKS ADX_PARAMETER_SUMS ADX_PARAMETER_PART
 *           ADX_PARAMETER_RANGE adx_parameter adx_step_text adx_tensor_file
 *           adx_table_type adx_add_part adx_host_of adx_begin_file
 *           adx_file_status adx_end_file adx_say_steps adx_part_texts
 *           adx_say_call adx_check_text_options
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_TENSOR_PARTS (ADREV_TENSOR_HVP + 1)

// What a step is given.
typedef enum adx_parameter_kind {
    ADX_PARAMETER_WRITTEN,      // the numbers of a value
    ADX_PARAMETER_READ,
    ADX_PARAMETER_SIZE,         // that is open
    ADX_PARAMETER_TABLE,        // in the code of ad_tensor_compile
    ADX_PARAMETER_FLAG,         // of a block: whether a value is needed
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
    uint32_t value;
    const char *text;
    size_t n;
    uint32_t number;
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

static void adx_fail_file(adx_tensor_file *k, ad_status status)
{
    if (k->status == ADREV_OK)
        k->status = status;
}

/* --- steps --------------------------------------------------------------- */

static const char *adx_table_type(const adx_tensor_file *k, adx_table_kind kind)
{
    return kind == ADX_TABLE_WORDS ? "unsigned long long"
         : kind == ADX_TABLE_INTS ? k->loaded ? "int" : "long"
         : k->loaded ? "unsigned" : "unsigned long";
}

static void adx_add_parameter(adx_step_text *s, adx_parameter_kind kind,
                              uint32_t number)
{
    const adx_parameter p = { kind, number };
    if (s->parameter != NULL)   // or else counts
        s->parameter[s->parameters] = p;
    s->parameters++;
}

// What the step that was written last needs, in the order of its parameters.
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

// The record of the step that was written last. NULL: no memory.
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

static void adx_say_each_parameter(adx_text *t, const adx_step_text *s,
                                   adx_parameter_fn *say, void *user)
{
    for (uint32_t i = 0; i < s->parameters; i++) {
        adx_say(t, i == 0 ? "(" : ", ");
        say(t, &s->parameter[i], user);
    }
}

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

// Tables are constants of the file, with its name in front.
static void adx_say_step_tables(const adx_tensor_file *k, adx_text *t)
{
    for (uint32_t i = 0; !k->loaded && i < k->tables.n; i++)
        if (k->tables.table[i].read)
            adx_say(t, "    const %s *const t%lu = %s_t%lu;\n",
                    adx_table_type(k, k->tables.table[i].kind),
                    (unsigned long)i, t->name, (unsigned long)i);
}

static adx_step_text *adx_find_text(const adx_tensor_file *k, uint32_t value,
                                    const adx_bytes *b)
{
    adx_step_text *s = k->step;
    while (s != NULL && (s->value != value || s->n != b->n
                         || memcmp(s->text, b->v, b->n) != 0))
        s = s->next;
    return s;
}

// A new function; its text is kept. NULL: no memory.
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

// The function of a value in a part, which may be one of another part. NULL: no
// memory.
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
        || !adx_find_blocks(f) || !adx_cut_steps(f) || k->of[part] == NULL)
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

// The value with which a value is computed; 0: alone.
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

// The status of all that was written.
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

// Before loops that gcc must not unroll (tensor/emission).
static void adx_say_rolled(adx_text *t)
{
    adx_say(t, "#if defined __GNUC__ && !defined __clang__ && __GNUC__ >= 8\n"
            "#define %s_ROLLED _Pragma(\"GCC unroll 1\")\n#else\n"
            "#define %s_ROLLED\n#endif\n\n", t->name, t->name);
}

// A table as a constant array, ten numbers in a line.
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

// What sizes that are arguments mean, and how arrays lie: by their strides.
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

// The largest and the least number of a size that is an argument.
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

// A comment with the text, as it was understood, and its sizes.
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

// What stands before the functions of the steps, and these.
static void adx_say_steps(adx_tensor_file *k, adx_text *t)
{
    const ad_c_options *o = k->options;
    if (k->loaded)
        adx_say(t, "/* written by adrev " ADREV_VERSION " */\n\n");
    else
        adx_say_origin(k, t);
    if (o->header != NULL)
        adx_say(t, "#include \"%s\"\n", o->header);
    adx_say(t, "#include <math.h>\n\n");
    if (k->rolled)
        adx_say_rolled(t);
    adx_say_size_limits(k, t);
    adx_say_bound_functions(t, k->bounds);
    adx_say_helpers(t, k->helper);
    for (uint32_t i = 0; !k->loaded && i < k->tables.n; i++)
        adx_say_table_data(k, t, i);
    adx_put_text(t, (const char *)k->functions.v, k->functions.n);
}

/* --- functions of parts -----------------------------------------------------
 * They have the arrays of ad_tensor_eval and its like, in the same order:
 *
 *     int f_vjp(const double *const x[], const double *const w[],
 *               double *const y[], double *const dx[], double *work);
 *
 * Before them stand the sizes that are open.
 * r0, r1, ... say which results are wanted.                                   */

typedef struct adx_part_text {
    const char *name;
    const char *parameters;     // % is double or float
    unsigned bit;               // of ad_c_options
} adx_part_text;

static const adx_part_text adx_part_texts[ADX_TENSOR_PARTS] = {
    { "value", "(const % *const x[], % *const y[], % *work)", ADREV_C_VALUE },
    { "jvp", "(const % *const x[], const % *const v[], % *const y[], "
      "% *const dy[], % *work)", ADREV_C_JVP },
    { "vjp", "(const % *const x[], const % *const w[], % *const y[], "
      "% *const dx[], % *work)", ADREV_C_VJP },
    { "hvp", "(const % *const x[], const % *const w[], const % *const v[], "
      "% *const hv[], % *work)", ADREV_C_HVP }
};

// A result of a part, in the order of its arrays.
typedef struct adx_part_result {
    uint32_t value;             // 0: nothing adds to it
    uint32_t like;              // a value of its shape
    const char *array;
    uint32_t order;
    bool used;                  // r... stands in the text
} adx_part_result;

typedef struct adx_part_writing {
    adx_tensor_file *k;
    adx_text *t;
    ad_tensor_part part;
    adx_part_result *result;
    uint32_t results;
    bool *needs;                // [values] what one result needs
    bool given[3];              // x, v and w stand in the text
} adx_part_writing;

static void adx_list_results(adx_part_writing *w, const uint32_t value[],
                             const uint32_t like[], uint32_t n,
                             const char *array)
{
    for (uint32_t i = 0; i < n; i++)
        w->result[w->results++] = (adx_part_result){ value[i], like[i], array,
                                                     i, false };
}

// False: no memory.
static bool adx_begin_part(adx_part_writing *w)
{
    const ad_tensor *t = w->k->t;
    const adx_tensor_program *p = t->program;
    uint32_t ins = t->tree.inputs;
    uint32_t outs = t->tree.outs;
    w->result = ADX_GET(&w->k->a, 2 * outs + ins, adx_part_result);
    w->needs = ADX_GET(&w->k->a, p->values, bool);
    if (w->result == NULL || w->needs == NULL)
        return false;
    if (w->part != ADREV_TENSOR_HVP)
        adx_list_results(w, p->out, p->out, outs, "y");
    if (w->part == ADREV_TENSOR_JVP)
        adx_list_results(w, p->tangent_out, p->out, outs, "dy");
    if (w->part == ADREV_TENSOR_VJP)
        adx_list_results(w, p->adjoint_in, p->input, ins, "dx");
    if (w->part == ADREV_TENSOR_HVP)
        adx_list_results(w, p->second_in, p->input, ins, "hv");
    return true;
}

// "r0 | r2": when a value is needed. Of no result: never.
static void adx_say_condition(adx_part_writing *w, uint32_t value)
{
    const adx_tensor_program *p = w->k->t->program;
    const char *before = "";
    for (uint32_t i = 0; i < w->results; i++) {
        memset(w->needs, 0, p->values * sizeof *w->needs);
        w->needs[w->result[i].value] = true;
        adx_need_all(p, w->needs);
        if (w->result[i].value == 0 || !w->needs[value])
            continue;
        adx_say(w->t, "%sr%lu", before, (unsigned long)i);
        w->result[i].used = true;
        before = " | ";
    }
}

static const char *adx_array_of_given(adx_value_kind kind)
{
    return kind == ADX_VALUE_INPUT ? "x"
         : kind == ADX_VALUE_TANGENT_IN ? "v" : "w";
}

// Whether any step of the part has a value as a parameter.
static bool adx_is_parameter(const adx_part_writing *w, uint32_t value)
{
    for (uint32_t i = 0; i < w->k->t->program->values; i++) {
        const adx_step_text *s = w->k->of[w->part][i];
        if (adx_has_parameter(s, ADX_PARAMETER_READ, value)
            || adx_has_parameter(s, ADX_PARAMETER_WRITTEN, value))
            return true;
    }
    return false;
}

// Whether a step of the part needs flags for picks, or memory for sums.
static bool adx_part_uses(const adx_part_writing *w, adx_parameter_kind kind)
{
    for (uint32_t i = 0; i < w->k->t->program->values; i++)
        if (adx_has_parameter(w->k->of[w->part][i], kind, 0))
            return true;
    return false;
}

// "n_ - 1", the end of a range.
static void adx_say_range_end(const adx_part_writing *w, const int64_t form[])
{
    bool any = false;
    for (uint32_t i = 0; i < adx_open_of(w->k->t); i++) {
        int64_t k = form[1 + i];
        if (k == 0)
            continue;
        adx_say(w->t, "%s%lld*", any ? " + " : "", (long long)k);
        adx_say_size(w->t, w->k->t, i);
        any = true;
    }
    if (form[0] != 0 || !any)
        adx_say(w->t, "%s%lld", any ? " + " : "", (long long)form[0]);
}

// " && n_ - 1 >= 0", where a range may be empty.
static void adx_say_not_empty(const adx_part_writing *w,
                              const adx_tensor_value *v)
{
    uint32_t open = adx_open_of(w->k->t);
    for (uint32_t d = 0; v->range.from != NULL && d < v->dims; d++) {
        int64_t *form = ADX_GET(&w->k->a, 1 + open, int64_t);
        size_t at = (size_t)d * (1 + open);
        if (form == NULL)
            return;
        adx_add_open(&w->k->a, form, 1, v->range.last + at, open);
        adx_add_open(&w->k->a, form, -1, v->range.from + at, open);
        if (adx_open_extreme(w->k->t, form, false) >= 0)
            continue;
        adx_say(w->t, " && ");
        adx_say_range_end(w, form);
        adx_say(w->t, " >= 0");
    }
}

// Declares the arrays of the part that steps read. An empty one needs no
// number.
static void adx_say_given(adx_part_writing *w)
{
    const adx_tensor_program *p = w->k->t->program;
    for (uint32_t i = 1; i < p->values; i++) {
        const adx_tensor_value *v = &p->value[i];
        if (v->kind > ADX_VALUE_WEIGHT || !adx_is_parameter(w, i))
            continue;
        const char *array = adx_array_of_given(v->kind);
        unsigned long order = v->order;
        w->given[array[0] == 'x' ? 0 : array[0] == 'v' ? 1 : 2] = true;
        adx_say(w->t, "    const %s *const b%lu = %s != 0 ? %s[%lu] : 0;\n",
                w->t->real, (unsigned long)i, array, array, order);
        if (v->size == 0)
            continue;
        adx_say(w->t, "    if (b%lu == 0 && (", (unsigned long)i);
        adx_say_condition(w, i);
        adx_say(w->t, ")");
        adx_say_not_empty(w, v);
        adx_say(w->t, ")\n        return 1;\n");
    }
}

// Whether an array of arrays stands in the text.
static bool adx_is_parameter_used(const adx_part_writing *w, const char *array)
{
    bool used = (strcmp(array, "x") == 0 && w->given[0])
             || (strcmp(array, "v") == 0 && w->given[1])
             || (strcmp(array, "w") == 0 && w->given[2]);
    for (uint32_t i = 0; i < w->results; i++)
        used = used || (w->result[i].used
                        && strcmp(w->result[i].array, array) == 0);
    return used;
}

// Says which results are wanted, where that matters. Compilers warn of what is
// not used.
static void adx_say_wanted(const adx_part_writing *w, adx_text *t)
{
    static const char *const parameters[ADX_TENSOR_PARTS][5] = {
        { "x", "y" }, { "x", "v", "y", "dy" }, { "x", "w", "y", "dx" },
        { "x", "w", "v", "hv" }
    };
    for (uint32_t i = 0; i < 5 && parameters[w->part][i] != NULL; i++)
        if (!adx_is_parameter_used(w, parameters[w->part][i]))
            adx_say(t, "    (void)%s;\n", parameters[w->part][i]);
    for (uint32_t i = 0; i < w->results; i++)
        if (w->result[i].used)
            adx_say(t, "    const int r%lu = %s != 0 && %s[%lu] != 0;\n",
                    (unsigned long)i, w->result[i].array, w->result[i].array,
                    (unsigned long)w->result[i].order);
}

// Declares where values are stored: in work, unless they are results that are
// wanted. Returns how many numbers of work there are.
static uint64_t adx_say_stored(adx_part_writing *w)
{
    const adx_tensor_program *p = w->k->t->program;
    uint64_t at = 0;
    for (uint32_t i = 1; i < p->values; i++) {
        const adx_tensor_value *v = &p->value[i];
        uint32_t r = 0;
        if (v->kind <= ADX_VALUE_WEIGHT || !adx_is_parameter(w, i))
            continue;
        while (r < w->results && w->result[r].value != i)
            r++;
        adx_say(w->t, "    %s *const b%lu = ", w->t->real, (unsigned long)i);
        if (r < w->results) {
            w->result[r].used = true;
            adx_say(w->t, "r%lu ? %s[%lu] : ", (unsigned long)r,
                    w->result[r].array, (unsigned long)w->result[r].order);
        }
        adx_say(w->t, "work + %llu;\n",
                (unsigned long long)(at + (uint64_t)v->first));
        at += v->span;
    }
    return at;
}

static void adx_say_part_argument(adx_text *t, const adx_parameter *p, void *user)
{
    switch (p->kind) {
    case ADX_PARAMETER_WRITTEN: case ADX_PARAMETER_READ:
        adx_say(t, "b%lu", (unsigned long)p->number); break;
    case ADX_PARAMETER_FLAG:
        adx_say_condition((adx_part_writing *)user, p->number); break;
    case ADX_PARAMETER_PICKS: adx_say(t, "done"); break;
    case ADX_PARAMETER_SUMS: adx_say(t, "sums"); break;
    case ADX_PARAMETER_SIZE:
        adx_say_size(t, ((adx_part_writing *)user)->k->t, p->number); break;
    case ADX_PARAMETER_TABLE: case ADX_PARAMETER_PART:
    case ADX_PARAMETER_RANGE: break;            // of machine code
    }
}

// "f_step3(b7, b2, b3);"
static void adx_say_call(adx_text *t, const adx_step_text *s,
                         adx_parameter_fn *say, void *user)
{
    adx_say(t, "%s_step%lu", t->name, (unsigned long)s->number);
    adx_say_each_parameter(t, s, say, user);
    adx_say(t, s->parameters == 0 ? "();\n" : ");\n");
}

// Calls a step if its value is needed and nothing hosts it.
static void adx_say_guarded(adx_part_writing *w, uint32_t value)
{
    const adx_step_text *s = w->k->of[w->part][value];
    uint32_t host = adx_host_of(&w->k->part[w->part], value);
    adx_say(w->t, "    if ((");
    adx_say_condition(w, value);
    adx_say(w->t, ")");
    for (uint32_t i = 0; i < s->parameters; i++)
        if (s->parameter[i].kind == ADX_PARAMETER_FLAG
            && s->parameter[i].number != value) {   // of a block, some step
            adx_say(w->t, " || (");
            adx_say_condition(w, s->parameter[i].number);
            adx_say(w->t, ")");
        }
    if (host != 0) {
        adx_say(w->t, " && !(");
        adx_say_condition(w, host);
        adx_say(w->t, ")");
    }
    adx_say(w->t, ")\n        ");
    adx_say_call(w->t, s, adx_say_part_argument, w);
}

// A loop over all numbers along an index, from 0 on.
static void adx_say_unmade_loop(const adx_part_writing *w,
                                const adx_tensor_value *v, uint32_t d)
{
    unsigned long x = d;
    uint32_t open = adx_open_of(w->k->t);
    adx_say(w->t, "        for (long x%lu = 0; x%lu < ", x, x);
    if (v->range.from == NULL)
        adx_say(w->t, "%lld", (long long)v->extent[d]);
    else {
        int64_t *form = ADX_GET(&w->k->a, 1 + open, int64_t);
        size_t at = (size_t)d * (1 + open);
        if (form == NULL)
            return;
        form[0] = 1;
        adx_add_open(&w->k->a, form, 1, v->range.last + at, open);
        adx_add_open(&w->k->a, form, -1, v->range.from + at, open);
        adx_say_range_end(w, form);
    }
    adx_say(w->t, "; x%lu++)\n", x);
}

// Results that nothing adds to are 0.
static void adx_say_unmade(adx_part_writing *w)
{
    for (uint32_t i = 0; i < w->results; i++) {
        adx_part_result *r = &w->result[i];
        const adx_tensor_value *v = adx_tensor_value_at(w->k->t, r->like);
        if (r->value != 0 || v->size == 0)
            continue;
        r->used = true;
        adx_say(w->t, "    if (r%lu)\n", (unsigned long)i);
        for (uint32_t d = 0; d < v->dims; d++)
            adx_say_unmade_loop(w, v, d);
        adx_say(w->t, "            %s[%lu][0", r->array,
                (unsigned long)r->order);
        for (uint32_t d = 0; d < v->dims; d++)
            adx_say(w->t, " + (%lld)*x%lu", (long long)v->stride[d],
                    (unsigned long)d);
        adx_say(w->t, "] = 0;\n");
    }
}

// The prototype of a part, with double or float.
static void adx_say_prototype(const adx_tensor_file *k, adx_text *t,
                              const char *name, const char *parameters)
{
    adx_say(t, "%sint %s_%s(", t->exported ? "" : "static ", t->name, name);
    for (uint32_t i = 0; i < adx_open_of(k->t); i++) {
        adx_say(t, "long ");
        adx_say_size(t, k->t, i);
        adx_say(t, ", ");
    }
    for (const char *c = parameters + 1; *c != '\0'; c++)
        if (*c == '%')
            adx_say(t, "%s", t->real);
        else
            adx_put_text(t, c, 1);
}

// Asks whether the sizes are in their ranges.
static void adx_say_size_tests(const adx_tensor_file *k, adx_text *t)
{
    for (uint32_t i = 0; i < adx_open_of(k->t); i++) {
        adx_say(t, "    if (");
        adx_say_size(t, k->t, i);
        adx_say(t, " < %lld || ", (long long)k->t->open->least[i]);
        adx_say_size(t, k->t, i);
        adx_say(t, " > %lld)\n        return 2;\n",
                (long long)k->t->given.size[k->t->open->size[i]]);
    }
}

static void adx_say_tensor_part(adx_tensor_file *k, adx_text *t,
                                ad_tensor_part part)
{
    adx_part_writing w = { .k = k, .t = t, .part = part };
    const adx_tensor_program *p = k->t->program;
    const adx_part_text *as = &adx_part_texts[part];
    adx_bytes body = { .memory = &k->t->memory };
    adx_text to = *t;
    if (!adx_begin_part(&w))
        return;
    to.write = adx_put_bytes;
    to.user = &body;
    to.bytes = 0;
    w.t = &to;
    adx_say_given(&w);
    uint64_t numbers = adx_say_stored(&w);
    if (adx_part_uses(&w, ADX_PARAMETER_PICKS)) {
        adx_say(&to, "    unsigned char *const done = (unsigned char *)"
                "(work + %llu);\n", (unsigned long long)numbers);
        numbers += (p->picks + 3) / 4;          // of four bytes
    }
    if (adx_part_uses(&w, ADX_PARAMETER_SUMS)) {
        adx_say(&to, "    %s *const sums = work + %llu;\n", to.real,
                (unsigned long long)numbers);
        numbers += p->sums;
    }
    if (numbers == 0)
        adx_say(&to, "    (void)work;\n");
    for (uint32_t i = 0; i < p->steps; i++)
        if (k->of[part][p->order[i]] != NULL)
            adx_say_guarded(&w, p->order[i]);
    adx_say_unmade(&w);
    adx_say(t, "#define %s_%s_WORK %llu\n", t->name, as->name,
            (unsigned long long)(numbers == 0 ? 1 : numbers));
    adx_say_prototype(k, t, as->name, as->parameters);
    adx_say(t, "\n{\n");
    adx_say_wanted(&w, t);
    adx_say_size_tests(k, t);
    adx_put_text(t, (const char *)body.v, body.n);
    adx_say(t, "    return 0;\n}\n\n");
    if (body.failed)
        adx_arena_fail(&k->a, ADREV_ENOMEM);
    adx_drop(body.memory, body.v);
}

// The gradient of a text whose only result is a number.
static void adx_say_gradient(const adx_tensor_file *k, adx_text *t)
{
    adx_say(t, "#define %s_gradient_WORK %s_vjp_WORK\n", t->name, t->name);
    adx_say_prototype(k, t, "gradient",
                      "(const % *const x[], % *f, % *const g[], % *work)");
    adx_say(t, "\n{\n    const %s one = 1;\n"
            "    const %s *const w[] = { &one };\n"
            "    %s *const y[] = { f };\n"
            "    return %s_vjp(", t->real, t->real, t->real, t->name);
    for (uint32_t i = 0; i < adx_open_of(k->t); i++) {
        adx_say_size(t, k->t, i);
        adx_say(t, ", ");
    }
    adx_say(t, "x, w, y, g, work);\n}\n");
}

/* --- write_c ------------------------------------------------------------- */

static bool adx_is_scalar_text(const ad_tensor *t)
{
    for (uint32_t i = 1; i < t->tree.array_count; i++)
        if (t->tree.array[i].out && t->tree.array[i].rank > 0)
            return false;
    return t->tree.outs == 1;
}

static unsigned adx_parts_asked(const ad_tensor *t, unsigned asked)
{
    if (asked == 0)
        asked = ADREV_C_VALUE | ADREV_C_VJP
              | (adx_is_scalar_text(t) ? ADREV_C_GRADIENT : 0u);
    return asked & ADREV_C_GRADIENT ? asked | ADREV_C_VJP : asked;
}

static ad_status adx_check_text_options(const ad_tensor *t,
                                        const ad_c_options *o, unsigned asked)
{
    const unsigned can = ADREV_C_VALUE | ADREV_C_JVP | ADREV_C_VJP
                       | ADREV_C_GRADIENT | ADREV_C_HVP;
    if ((asked & ~can) != 0 || o->casadi
        || (asked & ADREV_C_GRADIENT && !adx_is_scalar_text(t))
        || (o->header != NULL && !o->exported)
        || (o->name != NULL && !adx_is_usable(o->name))
        || !adx_is_includable(o->header))
        return ADREV_ESHAPE;
    return ADREV_OK;
}

// The file of a text that is bound.
static ad_status adx_write_tensor(ad_tensor *t, const ad_c_options *o,
                                  ad_write_fn *write, void *user, size_t *bytes)
{
    unsigned asked = adx_parts_asked(t, o->functions);
    adx_tensor_file k;
    ad_status status = adx_check_text_options(t, o, asked);
    if (status != ADREV_OK)
        return status;
    adx_begin_file(&k, t, o, false);
    adx_text to = { .write = write, .user = user,
                    .name = o->name == NULL ? "f" : o->name,
                    .real = o->single ? "float" : "double",
                    .single = o->single, .exported = o->exported };
    adx_bytes parts = { .memory = &t->memory };
    adx_text of_parts = to;
    of_parts.write = adx_put_bytes;
    of_parts.user = &parts;
    for (int part = 0; part < ADX_TENSOR_PARTS; part++)
        if (asked & adx_part_texts[part].bit) {
            adx_add_part(&k, (ad_tensor_part)part);
            if (adx_file_status(&k) == ADREV_OK)
                adx_say_tensor_part(&k, &of_parts, (ad_tensor_part)part);
        }
    status = adx_file_status(&k);
    if (status == ADREV_OK && parts.failed)
        status = ADREV_ENOMEM;
    if (status == ADREV_OK) {
        adx_say_steps(&k, &to);
        adx_put_text(&to, (const char *)parts.v, parts.n);
        if (asked & ADREV_C_GRADIENT)
            adx_say_gradient(&k, &to);
        if (bytes != NULL)
            *bytes = to.bytes;
    }
    adx_drop(parts.memory, parts.v);
    adx_end_file(&k);
    return status;
}

/* --- with sizes as arguments ------------------------------------------------
 * The text is bound a second time, with variables in place of these sizes.   */

// What is wrong with an argument. NULL: nothing.
static const char *adx_wrong_argument(const ad_tensor *t,
                                      const ad_c_argument *a, uint32_t size,
                                      const adx_open_sizes *open)
{
    return size == 0 ? "an argument is no size of the text"
         : open->var[size] != 0 ? "a size is an argument twice"
         : a->least > (size_t)t->given.size[size]
         ? "the least size of an argument is larger than its largest" : NULL;
}

// False: an argument is wrong, or there is no memory.
static bool adx_open_arguments(ad_tensor *t, const ad_c_argument a[],
                               adx_open_sizes *open)
{
    uint32_t n = 0;
    while (a[n].name != NULL && n < t->tree.size_count)
        n++;
    open->var = ADX_GET(&t->arena, t->tree.size_count, uint32_t);
    open->size = ADX_GET(&t->arena, n, uint32_t);
    open->least = ADX_GET(&t->arena, n, int64_t);
    for (uint32_t i = 0; t->arena.status == ADREV_OK && i < n; i++) {
        uint32_t size = 0;
        if (adx_named(t, a[i].name, ADX_NAMES_SIZE, &size) != ADREV_OK)
            adx_arena_fail(&t->arena, ADREV_ESYNTAX);
        open->why = adx_wrong_argument(t, &a[i], size, open);
        if (open->why != NULL)
            return false;
        open->var[size] = 1 + i;
        open->size[i] = size;
        open->least[i] = (int64_t)a[i].least;
        open->n++;
    }
    return t->arena.status == ADREV_OK;
}

static ad_status adx_write_open(ad_tensor *t, const ad_c_options *o,
                                ad_write_fn *write, void *user, size_t *bytes,
                                ad_tensor_error *error)
{
    adx_open_sizes open = { .n = 0 };
    ad_tensor as = *t;
    memset(&as.arena, 0, sizeof as.arena);
    as.arena.memory = &t->memory;
    as.program = NULL;
    as.code = NULL;
    if (!adx_open_arguments(&as, o->arguments, &open))
        adx_arena_fail(&as.arena, ADREV_ESHAPE);
    else {
        as.open = open.n > 0 ? &open : NULL;
        adx_bind_program(&as, error);
    }
    ad_status status = as.arena.status;
    if (open.why != NULL)
        adx_explain_text(error, open.why);
    else if (status == ADREV_ELIMIT)
        adx_explain_text(error, "too large: an array, or the points at which "
                                "something is to be proved for all sizes");
    if (status == ADREV_OK)
        status = adx_write_tensor(&as, o, write, user, bytes);
    adx_free_arena(&as.arena);
    return status;
}

ADX_API ad_status ad_tensor_write_c(ad_tensor *t, const ad_c_options *options,
                                    ad_write_fn *write, void *user,
                                    size_t *bytes)
{
    static const ad_c_options none;
    const ad_c_options *o = options == NULL ? &none : options;
    ad_tensor_error error = { 0, 0, "" };
    ad_status status = t == NULL ? ADREV_ESHAPE : ad_tensor_bind(t, &error);
    if (status == ADREV_OK)
        status = o->arguments == NULL
               ? adx_write_tensor(t, o, write, user, bytes)
               : adx_write_open(t, o, write, user, bytes, &error);
    if (status != ADREV_OK && error.text[0] == '\0')
        adx_explain_status(&error, status);
    if (status != ADREV_OK && o->reason != NULL)
        memcpy(o->reason, error.text, sizeof error.text);
    return status;
}

ADX_SELDOM_END
