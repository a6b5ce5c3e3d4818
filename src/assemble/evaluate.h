#pragma once

/* === assemble/evaluate ======================================================
 * An evaluation takes three steps: inputs of elements are gathered; the element
 * function is mapped over all elements of a kind (function/points), and its
 * results are the contributions; these are summed (assemble/sums).
 *
 *   needs   tape/memory function/api function/arrays function/functions
 *           function/points function/plans code/api code/wanted code/compile
 *           assemble/api assemble/sums assemble/elements
 *   offers  adx_assembling adx_begin_assembling adx_end_assembling
 *           adx_contribute adx_lacks_point
 * ========================================================================== */

// Elements that are gathered and mapped at a time: their inputs stay in the
// cache.
enum { ADX_ELEMENTS_AT_ONCE = 8192 };

// Numbers that elements read, and by which indices.
typedef struct adx_given_columns {
    const adx_indices *at;      // [n] for each input of the element function
    size_t n;
    const ad_real *from;        // the caller's x, p, v or w
} adx_given_columns;

// An evaluation. Its memory: contributions and a 0 behind them, gathered
// columns, columns, and what was left.
typedef struct adx_assembling {
    ad_assembly *a;
    adx_kind kind;                      // what is evaluated
    const ad_real *x, *p, *w, *v;       // w, v NULL: not given
    bool derivatives;                   // results are by variables, not by row
    adx_workspace *work;
    ad_real *contribution;              // of all elements, as assemble/elements
                                        // orders them
    ad_real *gathered;                  // columns whose indices are not evenly
                                        // spaced
    ad_column *column;                  // arguments and results of a map
    uint32_t *left;                     // [elements of a kind] the guards that
                                        // failed
} adx_assembling;

// Results of an element.
static size_t adx_element_results(const adx_assembling *s,
                                  const adx_element_kind *k)
{
    size_t entries = 0;
    adx_pattern *pattern;
    bool hessian = s->kind == ADX_KIND_hessian_sparse;
    if (!hessian && s->kind != ADX_KIND_jacobian_sparse)
        return s->derivatives ? k->nv : k->m;
    if (adx_pattern_of(k->fn, hessian, &pattern) == ADREV_OK)
        entries = pattern->g.start[pattern->g.rows];
    return entries;
}

// The columns that elements of a kind are given, in up to four groups: x, p, w
// or v, and v behind w.
static size_t adx_given_groups(const adx_assembling *s,
                               const adx_element_kind *k,
                               adx_given_columns group[4])
{
    size_t n = 0;
    group[n++] = (adx_given_columns){ k->at, k->nv, s->x };
    group[n++] = (adx_given_columns){ k->at + k->nv, k->n - k->nv, s->p };
    if (s->w != NULL)
        group[n++] = (adx_given_columns){ adx_results_at(k), k->m, s->w };
    if (s->v != NULL)
        group[n++] = (adx_given_columns){ adx_variables_at(k), k->nv, s->v };
    return n;
}

/* --- gathering ------------------------------------------------------------ */

// Elements of one kind whose columns are gathered: what threads share.
typedef struct adx_gathered {
    const adx_assembling *s;
    const adx_element_kind *k;
    size_t first, n;            // elements
    adx_given_columns group[4]; // what they read: x, p, v, w
    size_t groups;
} adx_gathered;

// Elements first ... end - 1 of a column with long runs.
static void adx_gather_runs(const adx_indices *at, const ad_real from[],
                            size_t first, size_t end, ad_real to[])
{
    size_t r = 0, behind = at->runs;    // run r begins at or before `first`
    while (behind - r > 1) {
        size_t middle = (r + behind) / 2;
        *(at->run[middle] <= first ? &r : &behind) = middle;
    }
    for (size_t e = first; e < end; r++) {
        size_t n = (at->run[r + 1] < end ? at->run[r + 1] : end) - e;
        if (at->of[e] < 0)
            memset(to, 0, n * sizeof *to);
        else
            memmove(to, from + at->of[e], n * sizeof *to);
        e += n;
        to += n;
    }
}

static void adx_gather_column(const adx_indices *at, const ad_real from[],
                              size_t first, size_t n, ad_real to[])
{
    const int32_t *of = at->of + first;
    if (at->run != NULL)
        adx_gather_runs(at, from, first, first + n, to);
    else if (!at->holes)
        for (size_t e = 0; e < n; e++)
            to[e] = from[of[e]];
    else
        for (size_t e = 0; e < n; e++)
            to[e] = of[e] < 0 ? 0 : from[of[e]];
}

// Elements begin ... end - 1 of those that are gathered now, column by column.
static void adx_gather_some(size_t begin, size_t end, void *user)
{
    const adx_gathered *g = (const adx_gathered *)user;
    ad_real *to = g->s->gathered;
    for (size_t i = 0; i < g->groups; i++)
        for (size_t j = 0; j < g->group[i].n; j++)
            if (!g->group[i].at[j].even) {
                adx_gather_column(&g->group[i].at[j], g->group[i].from,
                                  g->first + begin, end - begin, to + begin);
                to += ADX_ELEMENTS_AT_ONCE;
            }
}

// Fills in the columns, and gathers those that are not read where they are.
static void adx_give_columns(const adx_assembling *s,
                             const adx_element_kind *k, size_t first, size_t n)
{
    adx_gathered g = { .s = s, .k = k, .first = first, .n = n };
    ad_column *column = s->column;
    ad_real *to = s->gathered;
    g.groups = adx_given_groups(s, k, g.group);
    for (size_t i = 0; i < g.groups; i++)
        for (size_t j = 0; j < g.group[i].n; j++, column++) {
            const adx_indices *at = &g.group[i].at[j];
            // the map reads its columns only, but has no other type for them
            ptrdiff_t base = at->base + (ptrdiff_t)first * at->stride;
            *column = at->even
                ? (ad_column){ (ad_real *)(uintptr_t)(g.group[i].from + base),
                               at->stride }
                : (ad_column){ to, 1 };
            to += at->even ? 0 : ADX_ELEMENTS_AT_ONCE;
        }
    if (to > s->gathered)
        adx_in_parts(n, 1024, adx_gather_some, &g);
}

/* --- mapping -------------------------------------------------------------- */

// Notes the first element that is left, and why.
static ad_status adx_blame_element(const adx_assembling *s, size_t kind,
                                   size_t first, size_t n)
{
    size_t e = 0;
    while (e < n && s->left[e] == 0)
        e++;
    adx_last_element = (ad_element){ kind, first + e, NULL, 0, 0 };
    return e == n || s->left[e] == ADX_FAILED ? ADREV_EEXTERNAL
         : adx_flip_guard(s->a->kind[kind].fn, s->left[e] - 1);
}

// Evaluates n elements of a kind, from `first` on, as points of one map. Result
// i of element e goes to contribution[i * count + e]. If an element fails, it
// is remembered as the last one (ad_assembly_element), with its guard.
static ad_status adx_map_elements(adx_assembling *s, size_t kind, size_t first,
                                  size_t n, ad_real *contribution)
{
    const adx_element_kind *k = &s->a->kind[kind];
    size_t results = adx_element_results(s, k);
    ad_column *y = s->column + k->n + (s->w != NULL ? k->m : 0)
                                    + (s->v != NULL ? k->nv : 0);
    for (size_t i = 0; i < results; i++)
        y[i] = (ad_column){ contribution + i * k->count + first, 1 };
    adx_give_columns(s, k, first, n);
    bool both = s->w != NULL && s->v != NULL;
    const ad_column *second = s->column + k->n;
    adx_mapping map = {
        .fn = k->fn, .points = n,
        .given = { s->column, second, both ? second + k->m : NULL },
        .given_n = { k->n, s->w != NULL ? k->m : s->v != NULL ? k->nv : 0,
                     both ? k->nv : 0 },
        .wanted = { y }, .wanted_n = { results }, .left = s->left
    };
    ad_status status = adx_map_all(&map, s->kind);
    return status == ADREV_EPATH || status == ADREV_EEXTERNAL
         ? adx_blame_element(s, kind, first, n) : status;
}

// Memory for an evaluation with so many contributions, and some numbers
// besides, which are s->work->w.
static ad_status adx_begin_assembling(adx_assembling *s, size_t contributions,
                                      size_t besides)
{
    size_t columns = 0, given = 0;
    for (size_t i = 0; i < s->a->kinds; i++) {
        const adx_element_kind *k = &s->a->kind[i];
        size_t inputs = k->n + k->m + k->nv;
        size_t all = inputs + adx_element_results(s, k);
        given = inputs > given ? inputs : given;
        columns = all > columns ? all : columns;
    }
    size_t most = s->a->elements < ADX_ELEMENTS_AT_ONCE
                ? s->a->elements : ADX_ELEMENTS_AT_ONCE;
    size_t pointers = columns * (sizeof(ad_column) / sizeof(ad_real));
    size_t left = most / (sizeof(ad_real) / sizeof(uint32_t)) + 1;
    s->work = adx_take_workspace(&s->a->spare, &s->a->memory,
        besides + contributions + 1 + given * ADX_ELEMENTS_AT_ONCE + pointers
        + left + 4 * ADX_LINE);
    if (s->work == NULL)
        return ADREV_ENOMEM;
    s->contribution = adx_align(s->work->w + besides);
    s->contribution[contributions] = 0;
    s->gathered = adx_align(s->contribution + contributions + 1);
    ad_real *behind = adx_align(s->gathered + given * ADX_ELEMENTS_AT_ONCE);
    s->column = (ad_column *)(void *)behind;
    s->left = (uint32_t *)(void *)(behind + pointers);
    return ADREV_OK;
}

static void adx_end_assembling(adx_assembling *s)
{
    if (s->work != NULL)
        adx_give_workspace(&s->a->spare, &s->a->memory, s->work);
}

// All contributions of all elements.
static ad_status adx_contribute(adx_assembling *s)
{
    ad_real *to = s->contribution;
    ad_status status = ADREV_OK;
    for (size_t i = 0; i < s->a->kinds && status == ADREV_OK; i++) {
        size_t count = s->a->kind[i].count;
        for (size_t first = 0; first < count && status == ADREV_OK;
             first += ADX_ELEMENTS_AT_ONCE)
            status = adx_map_elements(s, i, first,
                                      count - first < ADX_ELEMENTS_AT_ONCE
                                      ? count - first : ADX_ELEMENTS_AT_ONCE,
                                      to);
        to += adx_element_results(s, &s->a->kind[i]) * count;
    }
    return status;
}

/* --- vectors -------------------------------------------------------------- */

static bool adx_lacks_point(const ad_assembly *a, const ad_real x[],
                            const ad_real p[])
{
    return a == NULL || (a->n > 0 && x == NULL) || (a->np > 0 && p == NULL);
}

static ad_status adx_assemble_vector(adx_assembling *s, ad_real to[])
{
    const ad_assembly *a = s->a;
    ad_status status = adx_begin_assembling(s, s->derivatives ? a->in_dx
                                                              : a->in_y, 0);
    if (status == ADREV_OK)
        status = adx_contribute(s);
    if (status == ADREV_OK)
        adx_sum_all(s->derivatives ? &a->dx : &a->y, s->contribution, to);
    adx_end_assembling(s);
    return status;
}

ADX_API ad_status ad_assembly_eval(ad_assembly *a, const ad_real x[],
                                   const ad_real p[], ad_real y[])
{
    adx_assembling s = { .a = a, .kind = ADX_KIND_value, .x = x, .p = p };
    return adx_lacks_point(a, x, p) || y == NULL ? ADREV_ESHAPE
         : adx_assemble_vector(&s, y);
}

ADX_API ad_status ad_assembly_jvp(ad_assembly *a, const ad_real x[],
                                  const ad_real p[], const ad_real v[],
                                  ad_real dy[])
{
    static const ad_real none;
    adx_assembling s = { .a = a, .kind = ADX_KIND_jvp, .x = x, .p = p,
                         .v = v != NULL ? v : &none };
    return adx_lacks_point(a, x, p) || (a->n > 0 && v == NULL) || dy == NULL
         ? ADREV_ESHAPE : adx_assemble_vector(&s, dy);
}

ADX_API ad_status ad_assembly_vjp(ad_assembly *a, const ad_real x[],
                                  const ad_real p[], const ad_real w[],
                                  ad_real dx[])
{
    adx_assembling s = { .a = a, .kind = ADX_KIND_vjp, .x = x, .p = p, .w = w,
                         .derivatives = true };
    return adx_lacks_point(a, x, p) || w == NULL || (a->n > 0 && dx == NULL)
         ? ADREV_ESHAPE : adx_assemble_vector(&s, dx);
}

ADX_API ad_status ad_assembly_hvp(ad_assembly *a, const ad_real x[],
                                  const ad_real p[], const ad_real w[],
                                  const ad_real v[], ad_real hv[])
{
    static const ad_real none;
    adx_assembling s = { .a = a, .kind = ADX_KIND_hvp, .x = x, .p = p, .w = w,
                         .v = v != NULL ? v : &none, .derivatives = true };
    return adx_lacks_point(a, x, p) || w == NULL
           || (a->n > 0 && (v == NULL || hv == NULL))
         ? ADREV_ESHAPE : adx_assemble_vector(&s, hv);
}

// The value is computed first; it is written when the gradient is known.
ADX_API ad_status ad_assembly_gradient(ad_assembly *a, const ad_real x[],
                                       const ad_real p[], ad_real *y,
                                       ad_real g[])
{
    static const ad_real one = 1;
    ad_real value = 0;
    if (a == NULL || a->m != 1)
        return ADREV_ESHAPE;
    ad_status status = y == NULL ? ADREV_OK : ad_assembly_eval(a, x, p, &value);
    if (status == ADREV_OK)
        status = ad_assembly_vjp(a, x, p, &one, g);
    if (status == ADREV_OK && y != NULL)
        *y = value;
    return status;
}

#if ADREV_COMPILE
ADX_API ad_status ad_assembly_compile(ad_assembly *a,
                                      const ad_compile_options *options)
{
    ad_compile_options o = { .compiler = NULL };
    ad_compile_report unread;
    ad_status status = ADREV_OK;
    if (a == NULL)
        return ADREV_ESHAPE;
    if (options != NULL)
        o = *options;
    if (o.functions == 0)
        o.functions = ADREV_C_VALUE | ADREV_C_JVP | ADREV_C_VJP | ADREV_C_HVP
                    | ADREV_C_JACOBIAN_SPARSE | ADREV_C_HESSIAN_SPARSE;
    for (size_t i = 0; i < a->kinds && status == ADREV_OK; i++) {
        ad_compile_report *report = o.report == NULL ? &unread : o.report;
        memset(report, 0, sizeof *report);
        status = adx_compile(a->kind[i].fn, &o, report, ADX_C_BLOCKS);
    }
    return status;
}
#else
ADX_API ad_status ad_assembly_compile(ad_assembly *a,
                                      const ad_compile_options *options)
{
    if (a == NULL)
        return ADREV_ESHAPE;
    return a->kinds == 0 ? ADREV_OK : ad_fn_compile(a->kind[0].fn, options);
}
#endif
