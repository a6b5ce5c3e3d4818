#pragma once

/* === tensor/written =========================================================
 * The functions of parts, which call the steps of a file (tensor/file), and
 * ad_tensor_write_c.
 *
 *   needs   tape/memory code/api code/text code/write tensor/api tensor/tree
 *           tensor/messages tensor/arena tensor/binding tensor/open
 *           tensor/programs tensor/sharing tensor/derive tensor/queries
 *           tensor/emission tensor/file
 *   offers  adx_part_texts adx_say_call adx_check_text_options
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- functions of parts -----------------------------------------------------
 * They have the arrays of ad_tensor_eval and its like, in the same order:
 *
 *     int f_vjp(const double *const x[], const double *const w[],
 *               double *const y[], double *const dx[], double *work);
 *
 * Before them stand the sizes that are open.
 * r0, r1, ... say which results are wanted.                                  */

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

// Adds results to those of a part: `like` has their indices, `array` their
// name.
static void adx_list_results(adx_part_writing *w, const uint32_t value[],
                             const uint32_t like[], uint32_t n,
                             const char *array)
{
    for (uint32_t i = 0; i < n; i++)
        w->result[w->results++] = (adx_part_result){ value[i], like[i], array,
                                                     i, false };
}

// Takes the memory of a part's function. False: there is none.
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

// Writes "r0 | r2": when a value is needed. A value of no result is never
// needed.
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

// Returns the name of the array that a given value is an element of.
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

// Writes "n_ - 1", the end of a range.
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

// Writes " && n_ - 1 >= 0", where a range may be empty.
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

// Writes the argument that a part's function passes to a step.
static void adx_say_part_argument(adx_text *t, const adx_parameter *p,
                                  void *user)
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

// Writes "f_step3(b7, b2, b3);".
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
            && s->parameter[i].number != value) {   // of a bundle, some step
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

// Writes a loop over all numbers along an index, from 0 on.
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

// Writes code that makes results 0 that nothing adds to.
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

// Writes the prototype of a part, with double or float.
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

// Writes tests of whether the sizes are in their ranges.
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

// Writes the C function of one part, after its body is known: the macro with
// the size of its work, the prototype, tests of sizes, the body.
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

// Writes the gradient of a text whose only result is a number.
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

// Whether a text has one result, and that is a number.
static bool adx_is_scalar_text(const ad_tensor *t)
{
    for (uint32_t i = 1; i < t->tree.array_count; i++)
        if (t->tree.array[i].out && t->tree.array[i].rank > 0)
            return false;
    return t->tree.outs == 1;
}

// Returns which parts are to be written: a gradient needs the VJP that it
// calls.
static unsigned adx_parts_asked(const ad_tensor *t, unsigned asked)
{
    if (asked == 0)
        asked = ADREV_C_VALUE | ADREV_C_VJP
              | (adx_is_scalar_text(t) ? ADREV_C_GRADIENT : 0u);
    return asked & ADREV_C_GRADIENT ? asked | ADREV_C_VJP : asked;
}

// Checks what ad_tensor_write_c is asked for.
static ad_status adx_check_text_options(const ad_tensor *t,
                                        const ad_c_options *o, unsigned asked)
{
    const unsigned can = ADREV_C_VALUE | ADREV_C_JVP | ADREV_C_VJP
                       | ADREV_C_GRADIENT | ADREV_C_HVP;
    if ((asked & ~can) != 0 || o->casadi || o->dialect != ADREV_C99
        || o->common > 0
        || (asked & ADREV_C_GRADIENT && !adx_is_scalar_text(t))
        || (o->header != NULL && !o->exported)
        || (o->name != NULL && !adx_is_usable(o->name))
        || !adx_is_includable(o->header))
        return ADREV_ESHAPE;
    return ADREV_OK;
}

// Writes the file of a text that is bound.
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

// Says what is wrong with an argument. NULL: nothing.
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

// Writes C code whose sizes are arguments: a copy of the tensor is bound with
// open sizes for that.
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
