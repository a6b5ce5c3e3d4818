#pragma once

/* === code/casadi ============================================================
 * CasADi's entry points call the functions of code/functions and store matrices
 * by columns. Their working memory w has three parts: zeros, for inputs that
 * are not given; scratch room for results that are not asked for or must be
 * reordered; and the work of the function that is called.
 *
 *   needs   tape/memory function/api function/functions function/pattern
 *           function/plans code/api code/text code/lists code/wanted
 *   offers  adx_write_points
 * ========================================================================== */

ADX_SELDOM_BEGIN

// A kind of entry point. `in` and `out` have a letter for the shape of each
// input and result: n, m is a column of that many numbers; N, M the same
// without entries; J a Jacobian; T a Jacobian transposed; H a Hessian; Z an n x
// m matrix without entries.
typedef struct adx_point_kind {
    unsigned functions;         // written if one of these is asked for,
    unsigned more;              // and one of these, unless it is 0
    const char *prefix;         // of the name
    const char *in;
    const char *in_name[4];
    const char *out;
    const char *out_name[3];
    const char *at;             // which inputs the functions take
} adx_point_kind;

#define ADX_C_JACOBIANS (ADREV_C_JACOBIAN | ADREV_C_JACOBIAN_SPARSE)
#define ADX_C_HESSIANS  (ADREV_C_HESSIAN | ADREV_C_HESSIAN_SPARSE)

static const adx_point_kind adx_point_kinds[] = {
    { ADREV_C_VALUE, 0, "", "n", { "x" }, "m", { "y" }, "0" },
    { ADREV_C_JVP, 0, "fwd1_", "nMn", { "x", "out_y", "fwd_x" },
      "m", { "fwd_y" }, "02" },
    { ADREV_C_VJP, 0, "adj1_", "nMm", { "x", "out_y", "adj_y" },
      "n", { "adj_x" }, "02" },
    { ADX_C_JACOBIANS, 0, "jac_", "nM", { "x", "out_y" },
      "J", { "jac_y_x" }, "0" },
    { ADX_C_HESSIANS, ADX_C_JACOBIANS, "jac_adj1_", "nMmN",
      { "x", "out_y", "adj_y", "out_adj_x" }, "HZT",
      { "jac_adj_x_x", "jac_adj_x_out_y", "jac_adj_x_adj_y" }, "02" },
    { ADREV_C_GRADIENT, 0, "grad_", "n", { "x" }, "mn", { "y", "g" }, "0" },
    { ADREV_C_HVP, 0, "hvp_", "nmn", { "x", "w", "v" }, "n", { "hv" },
      "012" },
    { ADX_C_HESSIANS, 0, "hess_", "nm", { "x", "w" }, "H", { "h" }, "01" },
};
#define ADX_POINT_KINDS (sizeof adx_point_kinds / sizeof *adx_point_kinds)

// A sparse matrix by columns, which are the rows of g.
typedef struct adx_by_columns {
    adx_entries g;
    uint32_t *order;            // of our entries; NULL: the same
    bool borrowed;              // g
} adx_by_columns;

// An entry point while it is written.
typedef struct adx_point {
    adx_text *text;
    ad_fn *fn;
    const adx_point_kind *kind;
    unsigned asked;             // functions that are written
    bool unrolled;              // lists are written without loops
    size_t zeros;               // at the beginning of work
    size_t scratch;             // behind them
    adx_by_columns matrix[3];   // of sparse results
} adx_point;

// Lists a matrix by columns, and for each entry where it is in `from`, which is
// by rows. If `lower`, `from` is the lower triangle of a symmetric matrix.
//
// The columns are visited in order. So the entries of a row i come in the order
// in which `from` has them, and next[i] is the next one of them. An entry of
// the upper triangle, (i, j) with i <= j, is the entry (j, i) of the lower one.
static bool adx_order_columns(const ad_allocator *a, const adx_entries *from,
                              bool lower, adx_by_columns *out)
{
    adx_entries *g = &out->g;
    uint32_t *next = (uint32_t *)adx_take(a, from->rows, sizeof *next);
    bool ok = next != NULL && (lower ? adx_symmetric(a, from, g)
                                     : adx_transpose(a, from, g));
    if (ok) {
        memcpy(next, from->start, from->rows * sizeof *next);
        out->order = (uint32_t *)adx_take(a, g->start[g->rows],
                                          sizeof *out->order);
        ok = out->order != NULL;
    }
    for (uint32_t j = 0; ok && j < g->rows; j++)
        for (uint32_t k = g->start[j]; k < g->start[j + 1]; k++) {
            uint32_t i = g->col[k];
            out->order[k] = lower && i <= j ? from->start[j] + k - g->start[j]
                                            : next[i]++;
        }
    adx_drop(a, next);
    return ok;
}

// Returns which of the functions that are asked for can compute a result of
// this shape.
static unsigned adx_bits_of_shape(const adx_point *e, char shape)
{
    unsigned bits = shape == 'J' || shape == 'T' ? ADX_C_JACOBIANS
                  : shape == 'H' ? ADX_C_HESSIANS : e->kind->functions;
    return shape == 'Z' ? 0 : bits & e->asked;
}

// Returns the function that computes a result; of two, the sparse one.
static const adx_c_kind *adx_kind_of_shape(const adx_point *e, char shape)
{
    size_t i = ADX_C_KINDS;
    while (i > 0 && !(adx_c_kinds[i - 1].bit & adx_bits_of_shape(e, shape)))
        i--;
    return i == 0 ? NULL : &adx_c_kinds[i - 1];
}

// How many numbers result r has.
static size_t adx_shape_length(const adx_point *e, size_t r)
{
    char shape = e->kind->out[r];
    const adx_entries *g = &e->matrix[r].g;
    size_t n = e->fn->n;
    size_t m = e->fn->m;
    return shape == 'n' ? n : shape == 'm' ? m : shape == 'Z' ? 0
         : g->start != NULL ? g->start[g->rows] : shape == 'H' ? n * n : m * n;
}

// Whether result r is a matrix that the function does not write by columns.
// Such a matrix goes through the scratch room.
static bool adx_is_moved(const adx_point *e, size_t r)
{
    return e->matrix[r].order != NULL || e->kind->out[r] == 'J';
}

// Adds up the scratch room. Either of two vectors may not be asked for, so both
// have room. Matrices are made one after another and share their room. Even an
// empty result has a place, because `work` begins behind it and must not
// overlap it (restrict).
static void adx_find_scratch(adx_point *e)
{
    bool two = strcmp(e->kind->out, "mn") == 0;
    for (size_t r = 0; e->kind->out[r] != '\0'; r++) {
        size_t length = adx_shape_length(e, r);
        length = length == 0 ? 1 : length;
        if (two)
            e->scratch += length;
        else if (adx_is_moved(e, r) && length > e->scratch)
            e->scratch = length;
    }
}

static void adx_end_point(adx_point *e)
{
    for (size_t r = 0; r < 3; r++) {
        if (!e->matrix[r].borrowed)
            adx_free_graph(&e->fn->memory, &e->matrix[r].g);
        adx_drop(&e->fn->memory, e->matrix[r].order);
    }
}

// Finds what the point needs before it is written: the order of sparse results
// by columns, zeros for inputs, and scratch room.
static ad_status adx_begin_point(adx_point *e)
{
    ad_status status = ADREV_OK;
    e->zeros = e->fn->n > e->fn->m ? e->fn->n : e->fn->m;
    for (size_t r = 0; e->kind->out[r] != '\0' && status == ADREV_OK; r++) {
        char shape = e->kind->out[r];
        unsigned sparse = adx_bits_of_shape(e, shape) & ADX_C_SPARSE;
        adx_pattern *s;
        if (sparse == 0)
            continue;
        status = adx_pattern_of(e->fn, shape == 'H', &s);
        if (status == ADREV_OK && shape == 'T')
            e->matrix[r] = (adx_by_columns){ s->g, NULL, true };
        else if (status == ADREV_OK
                 && !adx_order_columns(&e->fn->memory, &s->g, shape == 'H',
                                       &e->matrix[r]))
            status = ADREV_ENOMEM;
    }
    if (status == ADREV_OK)
        adx_find_scratch(e);
    return status;
}

static void adx_say_head(adx_point *e, const char *type, const char *what,
                         const char *parameters)
{
    adx_text *t = e->text;
    t->muted = false;
    adx_say(t, "CASADI_SYMBOL_EXPORT %s%s%s%s(%s)%s\n", type, e->kind->prefix,
            t->name, what, parameters, t->header ? ";" : "\n{");
    t->muted = t->header;       // what follows is the body
}

// Where columns begin, and the rows of all entries, as one list.
static void adx_say_columns(adx_point *e, const adx_entries *g)
{
    const ad_allocator *a = &e->fn->memory;
    size_t begins = g->rows + 1;
    size_t entries = g->start[g->rows];
    uint32_t *list = (uint32_t *)adx_take(a, begins + entries, sizeof *list);
    e->text->failed = e->text->failed || list == NULL;
    if (list == NULL)
        return;
    memcpy(list, g->start, begins * sizeof *list);
    memcpy(list + begins, g->col, entries * sizeof *list);
    adx_say_list(e->text, a, e->unrolled, list, begins + entries);
    adx_drop(a, list);
}

// Writes the shape of an input or result. By CasADi's convention a dense matrix
// has its size and a 1; any other one has where its columns begin, and the row
// of each entry.
static void adx_say_sparsity(adx_point *e, char shape, const adx_entries *g,
                             size_t which)
{
    adx_text *t = e->text;
    bool transposed = strchr("THZ", shape) != NULL;
    bool column = strchr("nmNM", shape) != NULL;
    unsigned long rows = strchr("nNTHZ", shape) != NULL ? e->fn->n : e->fn->m;
    unsigned long cols = column ? 1 : shape == 'H' || !transposed ? e->fn->n
                                                                  : e->fn->m;
    size_t entries = g == NULL || g->start == NULL ? rows * cols
                                                   : g->start[g->rows];
    if (strchr("NMZ", shape) != NULL) {         // the rest is zero
        adx_say(t, "    static const casadi_int s%lu[%lu] = { %lu, %lu };\n",
                (unsigned long)which, cols + 3, rows, cols);
        return;
    }
    adx_say(t, "    static const casadi_int s%lu[] = {\n    %lu, %lu,%s\n",
            (unsigned long)which, rows, cols,
            entries == rows * cols ? " 1" : "");
    if (entries < rows * cols)
        adx_say_columns(e, g);
    adx_say(t, "    };\n");
}

static void adx_say_sparsities(adx_point *e, const char *what,
                               const char *shapes, bool results)
{
    size_t n = strlen(shapes);
    adx_say_head(e, "const casadi_int *", what, "casadi_int i");
    for (size_t i = 0; i < n; i++)
        adx_say_sparsity(e, shapes[i], results ? &e->matrix[i].g : NULL, i);
    adx_say(e->text, "    switch (i) {\n");
    for (size_t i = 0; i < n; i++)
        adx_say(e->text, "    case %lu: return s%lu;\n", (unsigned long)i,
                (unsigned long)i);
    adx_say(e->text, "    default: return 0;\n    }\n}\n\n");
}

static void adx_say_point_names(adx_point *e, const char *what,
                                const char *const name[], size_t n)
{
    adx_say_head(e, "const char *", what, "casadi_int i");
    adx_say(e->text, "    switch (i) {\n");
    for (size_t i = 0; i < n; i++)
        adx_say(e->text, "    case %lu: return \"%s\";\n", (unsigned long)i,
                name[i]);
    adx_say(e->text, "    default: return 0;\n    }\n}\n\n");
}

// Writes the entry points of one line each, which differ only in their names.
static void adx_say_point_rest(adx_point *e)
{
    static const char *const rest[][4] = {
        { "casadi_real ", "_default_in", "casadi_int i",
          "    (void)i;\n    return 0;\n" },
        { "int ", "_alloc_mem", "void", "    return 0;\n" },
        { "int ", "_init_mem", "int mem", "    (void)mem;\n    return 0;\n" },
        { "void ", "_free_mem", "int mem", "    (void)mem;\n" },
        { "int ", "_checkout", "void", "    return 0;\n" },
        { "void ", "_release", "int mem", "    (void)mem;\n" },
        { "void ", "_incref", "void", "" },
        { "void ", "_decref", "void", "" },
    };
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        adx_say_head(e, rest[i][0], rest[i][1], rest[i][2]);
        adx_say(e->text, "%s}\n\n", rest[i][3]);
    }
}

// Writes the entry point that tells the sizes of the arrays: no integers, and
// as much work as the function that needs most.
static void adx_say_point_work(adx_point *e)
{
    adx_text *t = e->text;
    adx_say_head(e, "int ", "_work", "casadi_int *sz_arg, casadi_int *sz_res, "
                                     "casadi_int *sz_iw, casadi_int *sz_w");
    adx_say(t, "    casadi_int most = 0;\n");
    for (size_t r = 0; e->kind->out[r] != '\0'; r++) {
        const adx_c_kind *kind = adx_kind_of_shape(e, e->kind->out[r]);
        if (kind != NULL)
            adx_say(t, "    if (most < %s_%s_WORK) most = %s_%s_WORK;\n",
                    t->name, kind->what, t->name, kind->what);
    }
    adx_say(t, "    if (sz_arg) *sz_arg = %lu;\n    if (sz_res) *sz_res = %lu;"
            "\n    if (sz_iw) *sz_iw = 0;\n    if (sz_w) *sz_w = most + %lu;\n"
            "    return 0;\n}\n\n", (unsigned long)strlen(e->kind->in),
            (unsigned long)strlen(e->kind->out),
            (unsigned long)(e->zeros + e->scratch));
}

// Begins a call, as in "left = f_hessian(x0, x2, ".
static void adx_say_point_call(adx_point *e, const adx_c_kind *kind)
{
    adx_say(e->text, "        left = %s_%s(", e->text->name, kind->what);
    for (size_t i = 0; i < 3 && kind->in[i] != NULL; i++)
        adx_say(e->text, "x%c, ", e->kind->at[i]);
}

// Calls a function whose results are vectors. It writes them in place, or to
// scratch if they are not asked for.
static void adx_say_point_direct(adx_point *e)
{
    adx_text *t = e->text;
    size_t n = strlen(e->kind->out);
    size_t at = e->zeros;
    adx_say(t, "    if (res[0]%s) {\n", n == 2 ? " || res[1]" : "");
    adx_say_point_call(e, adx_kind_of_shape(e, *e->kind->out));
    for (size_t r = 0; r < n; at += adx_shape_length(e, r++))
        if (n == 1)
            adx_say(t, "res[0], ");
        else
            adx_say(t, "res[%lu] ? res[%lu] : w + %lu, ", (unsigned long)r,
                    (unsigned long)r, (unsigned long)at);
    adx_say(t, "w + %lu);\n        if (left) return left;\n    }\n",
            (unsigned long)(e->zeros + e->scratch));
}

static void adx_say_point_order(adx_point *e, size_t r)
{
    const adx_by_columns *matrix = &e->matrix[r];
    size_t entries = adx_shape_length(e, r);
    adx_say(e->text, "    static const int order%lu[] = {\n",
            (unsigned long)r);
    adx_say_list(e->text, &e->fn->memory, e->unrolled, matrix->order, entries);
    adx_say(e->text, "    };\n");
}

// Writes the call that computes result r, a matrix, and the loop that puts its
// entries in the order of columns.
static void adx_say_point_matrix(adx_point *e, size_t r)
{
    adx_text *t = e->text;
    char shape = e->kind->out[r];
    bool sparse = e->matrix[r].order != NULL;
    bool moved = adx_is_moved(e, r);
    unsigned long from = e->zeros;
    unsigned long n = e->fn->n;
    unsigned long m = e->fn->m;
    adx_say(t, "    if (res[%lu]) {\n", (unsigned long)r);
    adx_say_point_call(e, adx_kind_of_shape(e, shape));
    if (moved)
        adx_say(t, "w + %lu, ", from);
    else
        adx_say(t, "res[%lu], ", (unsigned long)r);
    adx_say(t, "w + %lu);\n        if (left) return left;\n",
            (unsigned long)(e->zeros + e->scratch));
    if (sparse)
        adx_say(t, "        for (i = 0; i < %lu; i++)\n"
                "            res[%lu][i] = w[%lu + order%lu[i]];\n",
                (unsigned long)adx_shape_length(e, r), (unsigned long)r, from,
                (unsigned long)r);
    else if (moved && m * n > 0)
        adx_say(t, "        for (i = 0; i < %lu; i++)\n"
                "            res[%lu][i] = w[%lu + i %% %lu * %lu + i / %lu];"
                "\n", m * n, (unsigned long)r, from, m, n, m);
    adx_say(t, "    }\n");
}

// Writes the entry point itself. Inputs that are not given become zeros, and
// then each result is computed.
static void adx_say_point(adx_point *e)
{
    adx_text *t = e->text;
    const char *out = e->kind->out;
    adx_say_head(e, "int ", "", "const casadi_real **arg, casadi_real **res, "
                                "casadi_int *iw, casadi_real *w, int mem");
    for (size_t r = 0; out[r] != '\0'; r++)
        if (e->matrix[r].order != NULL)
            adx_say_point_order(e, r);
    for (const char *at = e->kind->at; *at != '\0'; at++)
        adx_say(t, "    const casadi_real *x%c = arg[%c] ? arg[%c] : w;\n",
                *at, *at, *at);
    adx_say(t, "    long i;\n    int left = 0;\n    (void)iw; (void)mem;\n"
            "    for (i = 0; i < %lu; i++) w[i] = 0;\n",
            (unsigned long)e->zeros);
    if (strchr("nm", *out) != NULL)
        adx_say_point_direct(e);
    else
        for (size_t r = 0; out[r] != '\0'; r++)
            if (out[r] != 'Z')
                adx_say_point_matrix(e, r);
    adx_say(t, "    return left;\n}\n\n");
}

static ad_status adx_write_point(const adx_c_file *file,
                                 const adx_point_kind *kind)
{
    adx_text *t = file->text;
    adx_point e = { .text = t, .fn = file->fn, .kind = kind,
                    .asked = file->asked,
                    .unrolled = file->options->unrolled };
    size_t in = strlen(kind->in);
    size_t out = strlen(kind->out);
    ad_status status = adx_begin_point(&e);
    if (status == ADREV_OK) {
        adx_say_point(&e);
        adx_say_head(&e, "casadi_int ", "_n_in", "void");
        adx_say(t, "    return %lu;\n}\n\n", (unsigned long)in);
        adx_say_head(&e, "casadi_int ", "_n_out", "void");
        adx_say(t, "    return %lu;\n}\n\n", (unsigned long)out);
        adx_say_point_names(&e, "_name_in", kind->in_name, in);
        adx_say_point_names(&e, "_name_out", kind->out_name, out);
        adx_say_sparsities(&e, "_sparsity_in", kind->in, false);
        adx_say_sparsities(&e, "_sparsity_out", kind->out, true);
        adx_say_point_work(&e);
        adx_say_point_rest(&e);
    }
    adx_end_point(&e);
    return status;
}

static ad_status adx_write_points(const adx_c_file *file)
{
    adx_text *t = file->text;
    const unsigned asked = file->asked;
    ad_status status = ADREV_OK;
    adx_say(t, "#ifndef casadi_real\n#define casadi_real double\n#endif\n"
            "#ifndef casadi_int\n#define casadi_int long long int\n#endif\n"
            "#ifndef CASADI_SYMBOL_EXPORT\n#ifdef _WIN32\n"
            "#define CASADI_SYMBOL_EXPORT __declspec(dllexport)\n#else\n"
            "#define CASADI_SYMBOL_EXPORT\n#endif\n#endif\n\n");
    for (size_t i = 0; i < ADX_POINT_KINDS && status == ADREV_OK; i++) {
        const adx_point_kind *kind = &adx_point_kinds[i];
        if (kind->functions & asked && (kind->more == 0 || kind->more & asked))
            status = adx_write_point(file, kind);
        t->muted = false;
    }
    return status;
}

ADX_SELDOM_END
