#pragma once

/* === code/functions =========================================================
 * A whole C function, with the pattern of a sparse matrix in front of it, or
 * its declaration. Compilers take too long for very long functions, so the
 * nodes of a long one are split into several C functions, f_value_0, f_value_1
 * ..., which f_value calls one after the other.
 *
 * Code for devices (OpenCL, CUDA) has more than functions: tables in front of
 * them, and kernels, which call them for one point a work item.
 *
 * At the beginning of this room are the checks that compiled functions have.
 *
 *   needs   tape/memory core/cells function/program function/copy
 *           function/functions function/pattern code/api code/text code/layout
 *           code/loops code/lists code/bodies
 *   offers  adx_has_check adx_say_sum adx_declare_function adx_say_function
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- checks -----------------------------------------------------------------
 * For ad_fn_compile: code that looks whether results are finite before it
 * writes them. If they are not, the function returns -1, and the replay says
 * what is wrong.                                                            */

// Whether the function looks at its results before it writes them. A caller
// that reads what has just been written has to wait for it.
static bool adx_has_check(const adx_writing *k)
{
    return k->text->loaded && k->p->manys == 0 && k->sections == 1
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
// no bound is known, as of all operations but sums and products.
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

/* --- kernels -------------------------------------------------------------- */

// Writes the tables of all loops, which device code has outside of functions.
static void adx_say_tables(adx_writing *k)
{
    adx_text *t = k->text;
    bool muted = t->muted;
    t->muted = true;
    t->tables = ADX_TABLES_ONLY;
    for (size_t section = 0; section < k->sections; section++)
        adx_say_nodes(k, section);
    adx_say_results(k);
    t->tables = ADX_TABLES_DONE;
    t->muted = muted;
}

// Writes an array as an argument, from point p on. An input of stride 0 is one
// number for all points.
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

/* --- functions ------------------------------------------------------------ */

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
    for (size_t section = 0; section < k->sections; section++) {
        adx_say(k->text, "    left = %s_%s_%lu(", k->text->name, k->what,
                (unsigned long)section);
        adx_say_inputs(k, false);
        adx_say_passed(k->text, "work");
        adx_say(k->text, ");\n    if (left != 0) return left;\n");
    }
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
    if (k->sections > 1)
        adx_say(t, "    int left = 0;\n");
    if (k->tells)
        adx_say(t, "    long fault = 0;\n");
    adx_say_unused(k);
    adx_say_results_unused(k);
}

// Writes the whole function, in this order:
//
//     the pattern of a sparse matrix
//     the constants that its loops read
//     its sections, if it is split
//     #define f_value_WORK 12
//     int f_value(const double *restrict x, ...)
//     {
//         loads and nodes, or calls of the sections
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
    k->tells = t->loaded && k->sections == 1 && k->p->manys > 0
            && k->p->outputs > 0;
    if (k->entries != NULL)
        adx_say_pattern(k);
    adx_say_constants(k);
    if (t->dialect != ADREV_C99)
        adx_say_tables(k);
    for (size_t i = 0; k->sections > 1 && i < k->sections; i++)
        adx_say_section(k, i);
    adx_say_opening(k);
    if (k->sections > 1)
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

ADX_SELDOM_END
