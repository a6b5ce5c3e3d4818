#pragma once

/* === code/functions =========================================================
 * A C function: the inputs and constants that arrays need in `work`, a
 * statement for each used node in program order, and the results. Nothing but
 * `work` is written before all guards have been passed. Compilers take too long
 * for very long functions, so the nodes of a long one are split into several C
 * functions, f_value_0, f_value_1 ..., which f_value calls one after the other.
 *
 * For ad_fn_compile there is more (`loaded`): the size of work as data; a check
 * whether the results are finite, which makes the function return -1; a loop
 * over a block of points; and a loop over the steps of a loop.
 *
 *   needs   tape/memory core/derived function/operations function/program
 *           function/copy function/places function/functions function/pattern
 *           code/api code/text code/layout code/statements code/matrix
 *           code/loops code/lists
 *   offers  adx_has_check adx_declare_function adx_say_function adx_say_block
 *           adx_has_block adx_say_loop
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

// Writes the nodes of the next part of the program; part 0 is the first. A row
// loop counts as one node.
static void adx_say_nodes(adx_writing *k, size_t part)
{
    const adx_program *p = k->p;
    adx_row_loop rows;
    size_t i = part == 0 ? 0 : k->next;
    if (k->rolled != NULL) {
        adx_say_roots(k, part, false);
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

// A C function that makes a part of the program.
static void adx_say_part(adx_writing *k, size_t part)
{
    adx_say(k->text, "static %sint %s_%s_%lu(",
            k->text->dialect == ADREV_CUDA ? "__device__ " : "",
            k->text->name, k->what, (unsigned long)part);
    adx_say_inputs(k, true);
    adx_say_array(k->text, "work", false);
    adx_say(k->text, ")\n{\n");
    adx_say_unused(k);
    if (part == 0)
        adx_say_loads(k);
    adx_say_nodes(k, part);
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
        adx_say_roots(k, k->parts, true);
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

static void adx_say_pattern_list(adx_writing *k, const char *list,
                                 const uint32_t v[], size_t n)
{
    adx_say(k->text, "%sconst int %s_%s_%s[%lu] = {\n",
            k->text->exported ? "" : "static ", k->text->name, k->what, list,
            (unsigned long)(n == 0 ? 1 : n));
    adx_say_list(k->text, k->p->memory, k->unrolled, v, n);
    adx_say(k->text, "};\n");
}

// The row of each entry.
static uint32_t *adx_row_of_each(const ad_allocator *a, const adx_entries *g)
{
    uint32_t *row = (uint32_t *)adx_take(a, g->start[g->rows], sizeof *row);
    for (uint32_t i = 0; row != NULL && i < g->rows; i++)
        for (size_t j = g->start[i]; j < g->start[i + 1]; j++)
            row[j] = i;
    return row;
}

// The pattern of a sparse matrix, as lists of constants, which kernels do not
// need.
static void adx_say_pattern(adx_writing *k)
{
    const ad_allocator *a = k->p->memory;
    const adx_entries *g = k->entries;
    size_t n = g->start[g->rows];
    adx_say(k->text, "#define %s_%s_NONZEROS %lu\n", k->text->name, k->what,
            (unsigned long)n);
    if (k->text->dialect != ADREV_C99)
        return;
    uint32_t *row = adx_row_of_each(a, g);
    adx_say_pattern_list(k, "start", g->start, g->rows + 1);
    if (row != NULL)
        adx_say_pattern_list(k, "row", row, n);
    k->text->failed = k->text->failed || row == NULL;
    adx_say_pattern_list(k, "column", g->col, n);
    adx_say(k->text, "\n");
    adx_drop(a, row);
}

// So that no compiler warns of constants that are not used, or of results
// without entries.
static void adx_say_results_unused(adx_writing *k)
{
    const adx_results *results = k->results;
    static const char *const list[] = { "start", "row", "column" };
    for (size_t a = 0; a < 2; a++)
        if (results->array[a] != NULL && results->length[a] == 0)
            adx_say(k->text, "    (void)%s;\n", results->array[a]);
    for (size_t i = 0; k->entries != NULL && k->text->dialect == ADREV_C99
                       && i < 3; i++)
        adx_say(k->text, "    (void)%s_%s_%s;\n", k->text->name, k->what,
                list[i]);
}

// The body of a function whose nodes are in functions of their own.
static void adx_say_calls(adx_writing *k)
{
    for (size_t part = 0; part < k->parts; part++) {
        adx_say(k->text, "    left = %s_%s_%lu(", k->text->name, k->what,
                (unsigned long)part);
        adx_say_inputs(k, false);
        adx_say_passed(k->text, "work");
        adx_say(k->text, ");\n    if (left != 0) return left;\n");
    }
}

// Whether the function looks at its results before it writes them. A caller
// that reads what has just been written has to wait for it.
static bool adx_has_check(const adx_writing *k)
{
    return k->text->loaded && k->p->manys == 0 && k->parts == 1
        && k->rolled == NULL && k->p->outputs > 0
        && k->p->outputs <= ADX_CHECKED_MOST;
}

// Writes the sum of some numbers, or of their squares, as a balanced tree, so
// that it is soon known.
static void adx_say_sum(adx_writing *k, const uint32_t *x, size_t n,
                        bool squares)
{
    if (n == 1) {
        adx_say_number(k, *x);
        adx_say(k->text, squares ? " * " : "");
        if (squares)
            adx_say_number(k, *x);
        return;
    }
    adx_say(k->text, "(");
    adx_say_sum(k, x, n / 2, squares);
    adx_say(k->text, n > (squares ? 4 : 8) ? "\n        + " : " + ");
    adx_say_sum(k, x + n / 2, n - n / 2, squares);
    adx_say(k->text, ")");
}

// Bounds the size of a node's result: arguments below 2^e in size, with e[] for
// each number, make a result below 2 to the power of what is returned. `most`:
// no bound is known.
static int adx_bits_of(const adx_node *s, const int e[], int most)
{
    int a = e[s->a];
    int b = adx_row_of(s->op)->arity > 1 ? e[s->b] : a;
    int bits = most;
    if (a >= most || b >= most)
        return most;
    switch (s->op) {
    case ADREV_OP_neg: bits = a; break;
    case ADREV_OP_sqr: bits = 2 * a; break;
    case ADREV_OP_add: case ADREV_OP_sub: bits = (a > b ? a : b) + 1; break;
    case ADREV_OP_mul: case ADX_OP_chain: bits = a + b; break;
    default: break;
    }
    return bits > most ? most : bits < -most ? -most : bits;
}

// Whether all results are finite where every input is below 2^small in size.
static bool adx_is_bounded(const adx_writing *k, int small, int most)
{
    const adx_program *p = k->p;
    int *e = (int *)adx_take(p->memory, p->numbers, sizeof *e);
    bool bounded = e != NULL;
    for (uint32_t i = 0; bounded && i < p->numbers; i++) {
        e[i] = small;
        if (!adx_is_constant_number(p, i))
            continue;
        double c = (double)*adx_constant_of(p, i);
        if (c - c == 0)
            (void)frexp(c, &e[i]);
        else
            e[i] = most;
    }
    for (size_t i = 0; bounded && i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], k->used)
            && p->node[i].op != ADX_OP_guard)
            e[p->node[i].r] = adx_bits_of(&p->node[i], e, most);
    for (size_t i = 0; bounded && i < p->outputs; i++)
        bounded = e[p->output[i]] < most;
    adx_drop(p->memory, e);
    return bounded;
}

// Few inputs are cheaper to look at than many results: with less than half as
// many inputs as n results, the code first asks whether all inputs are small,
// in a sense that leaves every result finite (adx_is_bounded). Then the results
// need not be looked at. The sum of the squares being below 2^(most/4), each
// input is below 2^(most/8). False: this would not pay, and nothing was
// written.
static bool adx_say_small_inputs(adx_writing *k, size_t n)
{
    const adx_program *p = k->p;
    uint32_t input[ADX_CHECKED_MOST / 2];
    size_t inputs = 0;
    int most = k->text->single ? FLT_MAX_EXP : DBL_MAX_EXP;
    for (uint32_t i = 0; i < p->inputs && 2 * inputs < n; i++)
        if (k->used[i])
            input[inputs++] = i;
    if (inputs == 0 || 2 * inputs >= n || !adx_is_bounded(k, most / 8, most))
        return false;
    adx_say(k->text, "    const int small = ");
    adx_say_sum(k, input, inputs, true);
    adx_say(k->text, " < ");
    adx_say_literal(k->text, (ad_real)ldexp(1, most / 4));
    adx_say(k->text, ";\n");
    return true;
}

// The check of adx_has_check: if the sum of all results, each counted once, is
// not finite, the function returns -1 and has written nothing.
static void adx_say_check(adx_writing *k)
{
    const adx_program *p = k->p;
    uint32_t seen[ADX_CHECKED_MOST];
    size_t n = 0;
    // the different results, without constants
    for (size_t i = 0; i < p->outputs - k->unchecked; i++) {
        uint32_t x = p->output[i];
        size_t j = 0;
        while (j < n && seen[j] != x)
            j++;
        if (j == n && !adx_is_constant_number(p, x))
            seen[n++] = x;
    }
    if (n == 0)
        return;
    bool small = adx_say_small_inputs(k, n);
    adx_say(k->text, "    const %s all = ", k->text->real);
    adx_say_sum(k, seen, n, false);
    adx_say(k->text, ";\n    if (%sall - all != 0)\n        return -1;\n",
            small ? "!small && " : "");
}

// What an array is, for the header. Of a sparse matrix the entries are listed.
static const char *adx_array_meaning(const adx_writing *k, const char *array)
{
    static const char *const meaning[][2] = {
        { "x", "the point" },
        { "y", "f(x)" },
        { "v", "a direction of x" },
        { "dy", "J v: how y changes along v" },
        { "w", "a weight of each y" },
        { "dx", "w J: dx[i] = d(w y)/dx[i]" },
        { "g", "g[i] = dy/dx[i]" },
        { "hv", "H v, where H has the second derivatives of w y" },
        { "J", "J[i*n + j] = dy[i]/dx[j], where n is the length of x" },
        { "H", "H[i*n + j] = d2(w y)/dx[i]dx[j], both triangles" },
    };
    if (k->chosen && k->entries == NULL && strcmp(array, "J") == 0)
        return "J[i*n + j] = dy[i]/dx[j], where n is the number of derivatives";
    if (k->entries != NULL && strchr("JH", *array) != NULL)
        return *array == 'J' ? "J[k] = dy[row[k]]/dx[column[k]]"
                             : "H[k] = d2(w y)/dx[row[k]]dx[column[k]], the"
                               " lower triangle";
    for (size_t i = 0; i < sizeof meaning / sizeof *meaning; i++)
        if (strcmp(array, meaning[i][0]) == 0)
            return meaning[i][1];
    return "";
}

static void adx_say_meaning(adx_writing *k, const char *array, size_t length,
                            bool out)
{
    adx_say(k->text, " *   %-2s [%lu]  %s  %s\n", array, (unsigned long)length,
            out ? "out" : "in ", adx_array_meaning(k, array));
}

// Declares the pattern in a header, with a comment that says what `start` is.
static void adx_declare_pattern(adx_writing *k)
{
    adx_text *t = k->text;
    const adx_entries *g = k->entries;
    size_t n = g->start[g->rows];
    size_t room = n == 0 ? 1 : n;
    adx_say(t, "/* Entries of %s_%s, row by row: those of row i are start[i] to"
            "\n * start[i + 1] - 1. */\n", t->name, k->what);
    adx_say(t, "#define %s_%s_NONZEROS %lu\n", t->name, k->what,
            (unsigned long)n);
    adx_say(t, "extern const int %s_%s_start[%lu];\n", t->name, k->what,
            (unsigned long)(g->rows + 1));
    adx_say(t, "extern const int %s_%s_row[%lu];\n", t->name, k->what,
            (unsigned long)room);
    adx_say(t, "extern const int %s_%s_column[%lu];\n\n", t->name, k->what,
            (unsigned long)room);
}

// Declares the function in a header, with a comment that says what its arrays
// are. (C++ has no restrict, which is no part of a function's type.)
static void adx_declare_function(adx_writing *k)
{
    adx_text *t = k->text;
    const adx_results *results = k->results;
    if (k->entries != NULL)
        adx_declare_pattern(k);
    adx_say(t, "/* %s_%s\n", t->name, k->what);
    for (int i = 0; i < ADX_ARRAYS && k->array[i] != NULL; i++)
        adx_say_meaning(k, k->array[i], k->length[i], false);
    for (size_t a = 0; a < 2 && results->array[a] != NULL; a++)
        adx_say_meaning(k, results->array[a], results->length[a], true);
    adx_say(t, " */\n#define %s_%s_WORK %lu\nint %s_%s(", t->name, k->what,
            (unsigned long)(k->places == 0 ? 1 : k->places), t->name, k->what);
    for (int i = 0; i < ADX_ARRAYS && k->array[i] != NULL; i++)
        adx_say(t, "const %s *%s, ", t->real, k->array[i]);
    for (size_t a = 0; a < 2 && results->array[a] != NULL; a++)
        adx_say(t, "%s *%s, ", t->real, results->array[a]);
    adx_say(t, "%s *work);\n\n", t->real);
}

// Writes the function up to its first node, and before it the length of `work`.
static void adx_say_opening(adx_writing *k)
{
    adx_text *t = k->text;
    const adx_results *results = k->results;
    adx_say(t, "#define %s_%s_WORK %lu\n%sint %s_%s(", t->name, k->what,
            (unsigned long)(k->places == 0 ? 1 : k->places),
            adx_function_space(t), t->name, k->what);
    adx_say_inputs(k, true);
    for (size_t a = 0; a < 2 && results->array[a] != NULL; a++) {
        adx_say_array(t, results->array[a], false);
        adx_say(t, ", ");
    }
    adx_say_array(t, "work", false);
    adx_say(t, ")\n{\n");
    if (k->parts > 1)
        adx_say(t, "    int left = 0;\n");
    if (k->tells)
        adx_say(t, "    long fault = 0;\n");
    adx_say_unused(k);
    adx_say_results_unused(k);
}

// Writes the tables of all loops, which device code has outside of functions.
static void adx_say_tables(adx_writing *k)
{
    adx_text *t = k->text;
    bool muted = t->muted;
    t->muted = true;
    t->tables = ADX_TABLES_ONLY;
    for (size_t part = 0; part < k->parts; part++)
        adx_say_nodes(k, part);
    adx_say_results(k);
    t->tables = ADX_TABLES_DONE;
    t->muted = muted;
}

static void adx_say_kernel_argument(adx_text *t, const char *array, bool input)
{
    if (input)
        adx_say(t, "%s_stride == 0 ? %s : %s + p, "
                "%s_stride == 0 ? 1 : %s_stride,\n            ", array, array,
                array, array, array);
    else
        adx_say(t, "%s + p, %s_stride,\n            ", array, array);
}

// Writes the kernel, which calls the function for one point.
static void adx_say_kernel(adx_writing *k)
{
    adx_text *t = k->text;
    const adx_results *results = k->results;
    bool cuda = t->dialect == ADREV_CUDA;
    adx_say(t, "%s void %s_%s_kernel(const %s points, ",
            cuda ? "extern \"C\" __global__" : "__kernel", t->name, k->what,
            adx_stride_type(t));
    adx_say_inputs(k, true);
    for (size_t a = 0; a < 2 && results->array[a] != NULL; a++) {
        adx_say_array(t, results->array[a], false);
        adx_say(t, ", ");
    }
    adx_say_array(t, "work", false);
    adx_say(t, ", %sint *%s left)\n{\n    const %s p = %s;\n"
            "    if (p < points)\n        left[p] = %s_%s(\n            ",
            adx_array_space(t), adx_restrict_word(t), adx_stride_type(t),
            cuda ? "(long long)blockIdx.x * blockDim.x + threadIdx.x"
                 : "(long)get_global_id(0)", t->name, k->what);
    for (int i = 0; i < ADX_ARRAYS && k->array[i] != NULL; i++)
        adx_say_kernel_argument(t, k->array[i], true);
    for (size_t a = 0; a < 2 && results->array[a] != NULL; a++)
        adx_say_kernel_argument(t, results->array[a], false);
    adx_say(t, "work + p, work_stride);\n}\n\n");
}

// Writes the whole function, in this order:
//
//     the pattern of a sparse matrix
//     its parts, if it is split
//     #define f_value_WORK 12
//     int f_value(const double *restrict x, ...)
//     {
//         loads and nodes, or calls of the parts
//         a check of the results before they are written
//         results
//     }
//     const unsigned long f_value_size = f_value_WORK;
//     int f_value_checks(double x) { return x - x != 0; }
//
// The last two are for ad_fn_compile. It calls the last one, which is named
// f_value_tells where the results are looked at after they have been written,
// with an infinity. Flags such as -ffast-math make the compiler believe that
// there is none, and then the check is worth nothing.
static void adx_say_function(adx_writing *k)
{
    adx_text *t = k->text;
    bool checks = adx_has_check(k);
    k->tells = t->loaded && k->parts == 1 && k->p->manys > 0
            && k->p->outputs > 0;
    if (k->entries != NULL)
        adx_say_pattern(k);
    if (t->dialect != ADREV_C99)
        adx_say_tables(k);
    for (size_t part = 0; k->parts > 1 && part < k->parts; part++)
        adx_say_part(k, part);
    adx_say_opening(k);
    if (k->parts > 1)
        adx_say_calls(k);
    else {
        adx_say_loads(k);
        adx_say_nodes(k, 0);
    }
    if (checks)
        adx_say_check(k);
    adx_say_results(k);
    adx_say(t, "    return %s;\n}\n\n", k->tells ? "fault ? -1 : 0" : "0");
    if (t->dialect != ADREV_C99)
        adx_say_kernel(k);
    if (t->loaded)
        adx_say(t, "const unsigned long %s_%s_size = %s_%s_WORK;\n\n",
                t->name, k->what, t->name, k->what);
    if (checks || k->tells)
        adx_say(t, "int %s_%s_%s(%s x) { return x - x != 0; }\n\n",
                t->name, k->what, checks ? "checks" : "tells", t->real);
}

// Whether a point's results are finite, as far as their sum says so, which may
// overflow, too.
static void adx_say_fault(adx_writing *k)
{
    if (k->p->outputs == 0)
        return;
    adx_say(k->text, "    const %s all = ", k->text->real);
    adx_say_sum(k, k->p->output, k->p->outputs, false);
    adx_say(k->text, ";\n    fault |= all - all != 0;\n");
}

// Writes all points of a block as one loop, which the compiler turns into one
// of vectors. Inputs are read where they are. This is only for programs without
// guards and arrays.
static void adx_say_block(adx_writing *k)
{
    adx_text *t = k->text;
    const adx_program *p = k->p;
    k->block = true;
    k->split = SIZE_MAX;        // values make it longer than the function
    adx_say(t, "long %s_%s_block(const %s *const *x, %s *restrict y, "
            "long n)\n{\n    long l, fault = 0;\n", t->name, k->what, t->real,
            t->real);
    for (size_t i = 0; i < p->inputs; i++)
        if (k->used[i])
            adx_say(t, "    const %s *const x%lu = x[%lu];\n", t->real,
                    (unsigned long)i, (unsigned long)i);
    adx_say(t, "    for (l = 0; l < n; l++) {\n");
    adx_say_nodes(k, 0);
    for (size_t i = 0; i < p->outputs; i++) {
        adx_say(t, "    y[%lu + l] = ",
                (unsigned long)(i * adx_lanes_of(p->inputs, p->outputs)));
        adx_say_number(k, p->output[i]);
        adx_say(t, ";\n");
    }
    adx_say_fault(k);
    adx_say(t, "    }\n    return fault;\n}\n\n");
    k->block = false;
}

static bool adx_has_block(const adx_writing *k)
{
    for (size_t i = 0; i < k->p->nodes; i++)
        if (k->p->node[i].op == ADX_OP_guard)
            return false;
    return k->p->manys == 0 && k->parts == 1 && k->rolled == NULL;
}

// What a loop keeps of a step is asked for long before it is needed. Each step
// waits for the one before, and must not wait for memory as well.
static const char adx_loop_fetch[] =
    "#ifdef __GNUC__\n"
    "#define FETCH(at) \\\n"
    "    __builtin_prefetch((const void *)((unsigned long)(at) + far))\n"
    "#else\n"
    "#define FETCH(at) ((void)(at), (void)far)\n"
    "#endif\n";

// The steps of a loop, as adx_compiled.loop describes them. Of the IN inputs of
// a step the first W are carried on, D are data, P are parameters, and the last
// one is the number of the step. STEP calls the step's function. Of each step
// ROW numbers are kept: what is carried on, the mark, and what is handed on.
static const char adx_loop_primal[] =
    "    real x[IN], y[W], *at = kept;\n"
    "    (void)sums; (void)fixed_sums;\n"
    "    for (i = 0; i < W; i++) x[i] = state[i];\n"
    "    for (i = 0; i < P; i++) x[W + D + i] = fixed[i];\n"
    "    for (s = 0; s < steps; s++) {\n"
    "        if (kept) {\n"
    "            at = kept + s * stride;\n"
    "            for (i = 0; i < ROW; i += 8) FETCH(at + i);\n"
    "            for (i = 0; i < W; i++) at[i] = x[i];\n"
    "            if (mark) at[W] = *mark;\n"
    "        }\n"
    "        for (i = 0; i < D; i++) x[W + i] = data[i][s * move[i]];\n"
    "        x[IN - 1] = (real)(first + s);\n"
    "        if (STEP) break;\n"
    "        for (i = 0; i < W; i++) x[i] = y[i];\n"
    "    }\n"
    "    for (i = 0; i < W; i++) state[i] = x[i];\n";

// The same backwards: w are the adjoints of what is carried on.
static const char adx_loop_pullback[] =
    "    real x[IN], w[W], dx[IN], sum[P + 1];\n"
    "    for (i = 0; i < W; i++) w[i] = state[i];\n"
    "    for (i = 0; i < P; i++) x[W + D + i] = fixed[i];\n"
    "    for (i = 0; i < P; i++) sum[i] = fixed_sums[i];\n"
    "    for (s = 0; s < steps; s++) {\n"
    "        real *at = kept + s * stride;\n"
    "        for (i = 0; i < ROW; i += 8) FETCH(at + i);\n"
    "        for (i = 0; i < W && w[i] == 0; i++) ;\n"
    "        if (i == W || (mark && at[W] != *mark)) break;\n"
    "        for (i = 0; i < W; i++) x[i] = at[i];\n"
    "        for (i = 0; i < D; i++) x[W + i] = data[i][s * move[i]];\n"
    "        x[IN - 1] = (real)(first - s);\n"
    "        if (STEP) break;\n"
    "        for (i = 0; i < D; i++) sums[i][s * move[i]] += dx[W + i];\n"
    "        for (i = 0; i < P; i++) sum[i] += dx[W + D + i];\n"
    "        for (i = 0; i < W; i++) w[i] = dx[i];\n"
    "    }\n"
    "    for (i = 0; i < W; i++) state[i] = w[i];\n"
    "    for (i = 0; i < P; i++) fixed_sums[i] = sum[i];\n";

// Writes the loop around a step's function: the constants W, D, P, IN, ROW, and
// one of the two bodies.
static void adx_say_loop(adx_writing *k, size_t carried, size_t parameters)
{
    adx_text *t = k->text;
    // The step's function is value or primal, or back vjp or pullback. primal
    // hands numbers on to pullback, behind the state and the mark.
    bool back = k->array[1] != NULL;
    const char *handed = back ? k->array[2] : k->results->array[1];
    size_t behind = handed == NULL ? 0
                  : 1 + (back ? k->length[2] : k->results->length[1]);
    adx_put_text(t, adx_loop_fetch, sizeof adx_loop_fetch - 1);
    adx_say(t, "#define STEP %s_%s(x, %s%s%s, work)\n", t->name, k->what,
            back ? "w, " : "y", handed != NULL ? back ? "at + W + 1, " :
            ", at + W + 1" : "", back ? "dx" : "");
    adx_say(t, "long %s_%s_loop(long steps, long first, %s *state, %s *kept, "
            "long stride, const %s *mark, const %s *const *data, "
            "%s *const *sums, const long *move, const %s *fixed, "
            "%s *fixed_sums, %s *work)\n{\n",
            t->name, k->what, t->real, t->real, t->real, t->real, t->real,
            t->real, t->real, t->real);
    adx_say(t, "    enum { W = %lu, D = %lu, P = %lu, IN = W + D + P + 1,\n"
            "           ROW = W + %lu, FAR = %d };\n    typedef %s real;\n"
            "    const unsigned long far = stride < 0 ? 0UL - FAR : FAR;\n"
            "    long s;\n    int i;\n", (unsigned long)carried,
            (unsigned long)(k->length[0] - carried - parameters - 1),
            (unsigned long)parameters, (unsigned long)behind, ADX_FAR,
            t->real);
    const char *body = back ? adx_loop_pullback : adx_loop_primal;
    adx_put_text(t, body, strlen(body));
    adx_say(t, "    return s;\n}\n#undef STEP\n#undef FETCH\n\n");
}

ADX_SELDOM_END
