#pragma once

/* === code/bodies ============================================================
 * What stands in a C function: the inputs and constants that arrays need in
 * `work`, a statement for each used node in program order, and the results.
 * Nothing but `work` is written before all guards have been passed.
 *
 *   needs   tape/memory function/program function/copy function/places
 *           code/api code/text code/layout code/statements code/matrix
 *           code/loops
 *   offers  adx_say_array adx_say_passed adx_say_inputs adx_say_unused
 *           adx_say_loads adx_say_nodes adx_say_section adx_say_results
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Writes an array as a parameter, "const double *restrict x".
static void adx_say_array(adx_text *t, const char *array, bool constant)
{
    adx_say(t, "%s%s%s *%s %s", adx_array_space(t), constant ? "const " : "",
            t->real, adx_restrict_word(t), array);
    if (t->dialect != ADREV_C99)
        adx_say(t, ", const %s %s_stride", adx_stride_type(t), array);
}

// Writes an array as an argument.
static void adx_say_passed(adx_text *t, const char *array)
{
    adx_say(t, t->dialect == ADREV_C99 ? "%s" : "%s, %s_stride", array, array);
}

// Writes the inputs as parameters or as arguments, with a comma behind each.
static void adx_say_inputs(adx_writing *k, bool declared)
{
    for (int i = 0; i < ADX_ARRAYS && k->array[i] != NULL; i++) {
        if (declared)
            adx_say_array(k->text, k->array[i], true);
        else
            adx_say_passed(k->text, k->array[i]);
        adx_say(k->text, ", ");
    }
}

// So that no compiler warns of an input that the code does not use.
static void adx_say_unused(adx_writing *k)
{
    adx_say(k->text, "   ");
    for (int i = 0; i < ADX_ARRAYS && k->array[i] != NULL; i++)
        adx_say(k->text, k->text->dialect == ADREV_C99 ? " (void)%s;"
                : " (void)%s; (void)%s_stride;", k->array[i], k->array[i]);
    adx_say(k->text, k->text->dialect == ADREV_C99 ? " (void)work;\n"
                     : " (void)work; (void)work_stride;\n");
}

// Copies those inputs and constants to work that arrays need there.
static void adx_say_loads(adx_writing *k)
{
    const adx_program *p = k->p;
    for (uint32_t i = 0; i < p->numbers; i++) {
        if (!k->stored[i] || p->from[i] < ADX_FROM_INPUT)
            continue;
        adx_say(k->text, "    ");
        adx_say_work(k, k->place[i]);
        adx_say(k->text, " = ");
        if (adx_is_constant_number(p, i))
            adx_say_literal(k->text, *adx_constant_of(p, i));
        else
            adx_say_input(k, i);
        adx_say(k->text, ";\n");
    }
}

static void adx_say_any(adx_writing *k, const adx_node *s)
{
    if (s->op == ADX_OP_guard)
        adx_say_guard(k, s);
    else if (s->op == ADX_OP_many)
        adx_say_many(k, s);
    else
        adx_say_node(k, s);
}

// Writes the used nodes of a row loop that are done there.
static void adx_say_where(adx_writing *k, const adx_row_loop *r, uint8_t where)
{
    const adx_program *p = k->p;
    for (size_t i = r->begin; i <= r->end; i++) {
        const adx_node *s = &p->node[i];
        if (!adx_is_used(p, s, k->used) || r->where[s->r] != where)
            continue;
        if (where == ADX_BEFORE || where == ADX_AFTER)
            adx_say_any(k, s);
        else
            adx_say_of_row(k, r, s);
    }
}

// Writes what is done along row `row`, block by block.
static void adx_say_blocks(adx_writing *k, const adx_row_loop *r)
{
    const unsigned long columns = r->columns;
    adx_say(k->text, "            long from;\n"
            "            for (from = 0; from < %lu; from += %d) {\n"
            "            const long to = from + %d < %lu ? from + %d : %lu;\n",
            columns, ADX_ROW_BLOCK, ADX_ROW_BLOCK, columns, ADX_ROW_BLOCK,
            columns);
    adx_say_where(k, r, ADX_ALONG);
    adx_say(k->text, "            }\n");
}

// A row loop (code/matrix): what comes before it; zeros in the results of the
// product with the transposed matrix, which are added up in place; the rows;
// and what comes after. Where a row's product need not wait, it is added up
// block by block with the rest of the row; where the rest waits, all of the
// product comes first.
static void adx_say_rows(adx_writing *k, const adx_row_loop *r)
{
    const adx_node *first = &k->p->node[r->begin];
    const adx_node *last = &k->p->node[r->end];
    adx_say_where(k, r, ADX_BEFORE);
    adx_say(k->text, "    {\n        long i;\n");
    adx_say_zeros(k, last, adx_many_of(k->p, last));
    adx_say(k->text, "    }\n    {\n        long row;\n"
            "        for (row = 0; row < %lu; row++) {\n",
            (unsigned long)r->rows);
    if (!r->waits) {
        adx_say(k->text, "            %s sum[8] = { 0 };\n", k->text->real);
        adx_say_blocks(k, r);
        adx_say(k->text, "            {\n            const long i = row;\n"
                "            long j, l;\n");
        adx_say_sum_of_eight(k, first, adx_many_of(k->p, first));
        adx_say(k->text, "            }\n");
    }
    adx_say_where(k, r, ADX_BY_ROW);
    if (r->waits)
        adx_say_blocks(k, r);
    adx_say(k->text, "        }\n    }\n");
    adx_say_where(k, r, ADX_AFTER);
}

// Writes the nodes of the next section of the program; section 0 is the first.
// A row loop counts as one node.
static void adx_say_nodes(adx_writing *k, size_t section)
{
    const adx_program *p = k->p;
    adx_row_loop rows;
    size_t i = section == 0 ? 0 : k->next;
    if (k->rolled != NULL) {
        adx_say_roots(k, section, false);
        return;
    }
    for (size_t count = 0; i < p->nodes && count < k->split; i++) {
        if (!adx_is_used(p, &p->node[i], k->used))
            continue;
        count++;
        if (!adx_find_rows(k, &rows, i)) {
            adx_say_any(k, &p->node[i]);
            continue;
        }
        adx_say_rows(k, &rows);
        adx_drop(p->memory, rows.where);
        i = rows.end;
    }
    k->next = i;
}

// A C function that makes a section of the program.
static void adx_say_section(adx_writing *k, size_t section)
{
    adx_say(k->text, "static %sint %s_%s_%lu(",
            k->text->dialect == ADREV_CUDA ? "__device__ " : "",
            k->text->name, k->what, (unsigned long)section);
    adx_say_inputs(k, true);
    adx_say_array(k->text, "work", false);
    adx_say(k->text, ")\n{\n");
    adx_say_unused(k);
    if (section == 0)
        adx_say_loads(k);
    adx_say_nodes(k, section);
    adx_say(k->text, "    return 0;\n}\n\n");
}

// How many of the outputs from `at` on follow one another in work or in an
// array of inputs.
static size_t adx_run_length(const adx_writing *k, size_t at, size_t most)
{
    const adx_program *p = k->p;
    const uint32_t *output = p->output + at;
    adx_numbers run = { *output, 0, 1 };
    bool stored = k->stored[*output];
    size_t n = 1;
    if (!stored && p->from[*output] != ADX_FROM_INPUT)
        return 1;
    while (n < most && k->stored[output[n]] == stored
           && (stored ? k->place[output[n]] == k->place[*output] + n
               : output[n] == *output + n
                 && adx_array_of(k, &run, 1, n + 1) >= 0))
        n++;
    return n;
}

// Writes a run of outputs as a loop.
static void adx_say_run(adx_writing *k, const char *array, size_t i, size_t at,
                        size_t n)
{
    uint32_t first = k->p->output[at];
    const char *from = "work";
    size_t base = k->place[first];
    if (!k->stored[first]) {    // then it is an input: in array a, at base
        size_t a = 0;
        for (base = first; base >= k->length[a]; a++)
            base -= k->length[a];
        from = k->array[a];
    }
    adx_say(k->text, "    {\n        long i;\n"
            "        for (i = 0; i < %lu; i++)\n            ",
            (unsigned long)n);
    adx_open_element(k->text, array);
    adx_say(k->text, "%lu + i%s = ", (unsigned long)i,
            adx_close_element(k->text));
    adx_open_element(k->text, from);
    adx_say(k->text, "%lu + i%s;\n    }\n", (unsigned long)base,
            adx_close_element(k->text));
}

// Looks whether results i to i + n, which have been written, are finite.
static void adx_say_look(adx_writing *k, const char *array, size_t i, size_t n)
{
    if (n == 1)
        adx_say(k->text, "    fault |= %s[%lu] - %s[%lu] != 0;\n", array,
                (unsigned long)i, array, (unsigned long)i);
    else
        adx_say(k->text, "    {\n        long i;\n"
                "        for (i = %lu; i < %lu; i++)\n"
                "            fault |= %s[i] - %s[i] != 0;\n    }\n",
                (unsigned long)i, (unsigned long)(i + n), array, array);
}

// Writes results [i] on, the first of which is output `at`: those that an array
// node has written at home already, or a run, or a single one. Returns how
// many.
static size_t adx_say_some_results(adx_writing *k, const char *array,
                                   size_t i, size_t at, size_t most)
{
    const adx_program *p = k->p;
    uint32_t x = p->output[at];
    if (k->home[x] == at)       // a node has written them
        return adx_results_of(p, &p->node[p->from[x]]);
    size_t n = adx_run_length(k, at, most);
    if (n > 4) {
        adx_say_run(k, array, i, at, n);
        return n;
    }
    adx_say(k->text, "    ");
    adx_open_element(k->text, array);
    adx_say(k->text, "%lu%s = ", (unsigned long)i, adx_close_element(k->text));
    adx_say_number(k, x);
    adx_say(k->text, ";\n");
    return 1;
}

// Writes all results. Those that `tells` has to look at, and that no node has
// told of at home, are looked at here.
static void adx_say_results(adx_writing *k)
{
    const adx_program *p = k->p;
    const adx_results *results = k->results;
    size_t at = 0;
    if (k->rolled != NULL) {
        adx_say_roots(k, k->sections, true);
        return;
    }
    for (size_t a = 0; a < 2; a++)
        for (size_t i = 0, n; i < results->length[a]; i += n, at += n) {
            uint32_t x = p->output[at];
            bool told = k->home[x] == at
                     && adx_tells_at_home(k, &p->node[p->from[x]]);
            n = adx_say_some_results(k, results->array[a], i, at,
                                     results->length[a] - i);
            if (k->tells && !told && at < p->outputs - k->unchecked)
                adx_say_look(k, results->array[a], i, n);
        }
}

ADX_SELDOM_END
