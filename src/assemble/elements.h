#pragma once

/* === assemble/elements ======================================================
 * An assembly and its kinds of elements. A kind has a copy of its function, and
 * indices by column: input i of all elements side by side. A column of evenly
 * spaced indices is read where it is; others are gathered.
 *
 * Contributions of all elements stand kind by kind, result by result of the
 * element, and element by element.
 *
 *   needs   tape/memory function/api function/pattern function/life
 *           assemble/api assemble/sums
 *   offers  adx_indices adx_element_kind adx_assembled adx_last_element
 *           adx_results_at adx_variables_at adx_free_assembled
 * ========================================================================== */

// The indices of one input, or of one result, of all elements. A run is of
// elements in a row whose indices are consecutive, or all below 0.
typedef struct adx_indices {
    const int32_t *of;          // [count]
    bool even;                  // of[e] = base + e*stride, none below 0
    bool holes;                 // some are below 0
    int32_t base;
    ptrdiff_t stride;
    uint32_t runs;
    const uint32_t *run;        // [runs + 1] where they begin; NULL: they are
                                // too short to be copied at once
} adx_indices;

typedef struct adx_element_kind {
    ad_fn *fn;
    size_t count;
    size_t nv, n, m;            // variables, inputs and results of an element
    int32_t *index;             // [n + m + nv][count]
    uint32_t *run;              // of all columns
    adx_indices *at;            // [n] inputs, [m] results, then the variables
                                // again, below 0 where they are fixed
} adx_element_kind;

// A sparse matrix: its pattern, and the sums that its entries are.
typedef struct adx_assembled {
    const ad_allocator *memory;
    adx_entries g;              // rows, and the columns of their entries
    adx_sums sums;              // one for each entry
    size_t contributions;       // of all elements
} adx_assembled;

struct ad_assembly {
    ad_allocator memory;
    size_t n, np, m, kinds, elements;
    adx_element_kind *kind;
    adx_sums y, dx;
    size_t in_y, in_dx;                         // contributions
    _Atomic(adx_assembled *) matrix[2];         // Jacobian, Hessian
    adx_spare spare;
};

static ADX_THREAD ad_element adx_last_element;

ADX_API ad_element ad_assembly_element(void) { return adx_last_element; }

ADX_API ad_assembly_size ad_assembly_about(const ad_assembly *a)
{
    return a == NULL ? (ad_assembly_size){ 0, 0, 0, 0, 0 }
         : (ad_assembly_size){ a->n, a->np, a->m, a->kinds, a->elements };
}

static const adx_indices *adx_results_at(const adx_element_kind *k)
{
    return k->at + k->n;
}

static const adx_indices *adx_variables_at(const adx_element_kind *k)
{
    return k->at + k->n + k->m;
}

/* --- indices -------------------------------------------------------------- */

// Notes an index that is out of range.
static ad_status adx_blame_index(size_t kind, size_t element, const char *array,
                                 size_t input, int32_t index)
{
    adx_last_element = (ad_element){ kind, element, array, input, index };
    return ADREV_ESHAPE;
}

// Copies indices, which the user has element by element, into columns.
static ad_status adx_copy_indices(size_t kind, const char *array, size_t count,
                                  size_t width, const int32_t from[],
                                  size_t limit, int32_t to[])
{
    for (size_t e = 0; e < count; e++)
        for (size_t i = 0; i < width; i++) {
            int32_t v = from[e * width + i];
            if (v >= 0 && (size_t)v >= limit)
                return adx_blame_index(kind, e, array, i, v);
            to[i * count + e] = v;
        }
    return ADREV_OK;
}

// Whether element e is of the run that the one before it is of.
static bool adx_follows(const int32_t of[], size_t e)
{
    return of[e] < 0 ? of[e - 1] < 0 : of[e - 1] >= 0 && of[e] == of[e - 1] + 1;
}

// Runs that are worth a call each (bratu, bench/: 0.8 of the time with them).
static bool adx_has_long_runs(const adx_indices *at, size_t count)
{
    return !at->even && count > 0 && at->runs <= count / 8;
}

// Finds out how a column of indices lies: evenly spaced, in runs, or with
// holes.
static void adx_describe_indices(adx_indices *at, size_t count,
                                 const int32_t of[])
{
    ptrdiff_t stride = count > 1 ? (ptrdiff_t)of[1] - of[0] : 0;
    *at = (adx_indices){ of, count > 0, false, count > 0 ? of[0] : 0, stride, 0,
                         NULL };
    for (size_t e = 0; e < count; e++) {
        at->holes = at->holes || of[e] < 0;
        at->even = at->even && of[e] >= 0
                && of[e] == at->base + (ptrdiff_t)e * stride;
        at->runs += e == 0 || !adx_follows(of, e);
    }
}

// Lists the runs of those columns in which they are long.
static bool adx_list_runs(adx_element_kind *k, const ad_allocator *a)
{
    size_t columns = k->n + k->m + k->nv, all = 0;
    for (size_t i = 0; i < columns; i++)
        if (adx_has_long_runs(&k->at[i], k->count))
            all += k->at[i].runs + 1;
    uint32_t *to = k->run = (uint32_t *)adx_take(a, all, sizeof *to);
    for (size_t i = 0; i < columns && to != NULL; i++) {
        adx_indices *at = &k->at[i];
        if (!adx_has_long_runs(at, k->count))
            continue;
        at->run = to;
        for (uint32_t e = 0; e < k->count; e++)
            if (e == 0 || !adx_follows(at->of, e))
                *to++ = e;
        *to++ = (uint32_t)k->count;
    }
    return to != NULL;
}

// Variables that are fixed have no derivatives: their indices are below 0.
static void adx_leave_fixed(const adx_element_kind *k, const bool fixed[],
                            int32_t to[])
{
    for (size_t i = 0; i < k->nv * k->count; i++)
        to[i] = k->index[i] >= 0 && fixed != NULL && fixed[k->index[i]]
              ? -1 : k->index[i];
}

// Copies the indices of a kind by columns: variables, parameters, results, and
// once more the variables, where fixed ones are left out, for derivatives.
static ad_status adx_fill_indices(ad_assembly *a, size_t kind,
                                  const ad_elements *from, const bool fixed[])
{
    adx_element_kind *k = &a->kind[kind];
    size_t np = k->n - k->nv;
    int32_t *parameter = k->index + k->nv * k->count;
    int32_t *result = k->index + k->n * k->count;
    ad_status status = adx_copy_indices(kind, "variable", k->count, k->nv,
                                        from->variable, a->n, k->index);
    if (status == ADREV_OK)
        status = adx_copy_indices(kind, "parameter", k->count, np,
                                  from->parameter, a->np, parameter);
    if (status == ADREV_OK)
        status = adx_copy_indices(kind, "result", k->count, k->m, from->result,
                                  a->m, result);
    if (status != ADREV_OK)
        return status;
    adx_leave_fixed(k, fixed, result + k->m * k->count);
    for (size_t i = 0; i < k->n + k->m + k->nv; i++)
        adx_describe_indices(&k->at[i], k->count, k->index + i * k->count);
    return adx_list_runs(k, &a->memory) ? ADREV_OK : ADREV_ENOMEM;
}

/* --- making --------------------------------------------------------------- */

// The copy of the element function is the whole of it, with the allocator of
// the user's.
static ad_status adx_fill_kind(ad_assembly *a, size_t kind,
                               const ad_elements *from, const bool fixed[])
{
    adx_element_kind *k = &a->kind[kind];
    k->count = from->count;
    k->nv = from->fn->variables;
    k->n = from->fn->n;
    k->m = from->fn->m;
    size_t width = k->n + k->m + k->nv;
    if (k->count > UINT32_MAX / width / sizeof *k->index)
        return ADREV_ELIMIT;
    const adx_selection all = { k->nv, k->m, NULL, NULL };
    ad_status status = adx_select(&k->fn, from->fn, all);
    if (status != ADREV_OK)
        return status;
    k->index = (int32_t *)adx_take(&a->memory, width * k->count,
                                   sizeof *k->index);
    k->at = (adx_indices *)adx_take(&a->memory, width, sizeof *k->at);
    return k->index == NULL || k->at == NULL ? ADREV_ENOMEM
         : adx_fill_indices(a, kind, from, fixed);
}

// By which indices contributions of a kind are added: those of a vector of
// results, or of one of derivatives by the inputs.
static const adx_indices *adx_columns_of(const adx_element_kind *k, bool inputs,
                                         size_t *n)
{
    *n = inputs ? k->nv : k->m;
    return inputs ? adx_variables_at(k) : adx_results_at(k);
}

// Goes through the contributions in order. place NULL: counts, in end[i + 1],
// those of each result i; else lists them.
static void adx_go_through(const ad_assembly *a, bool inputs, uint32_t end[],
                           uint32_t place[])
{
    uint32_t at = 0;
    for (size_t kind = 0; kind < a->kinds; kind++) {
        size_t n;
        const adx_element_kind *k = &a->kind[kind];
        const adx_indices *columns = adx_columns_of(k, inputs, &n);
        for (size_t i = 0; i < n; i++)
            for (size_t e = 0; e < k->count; e++, at++) {
                int32_t to = columns[i].of[e];
                if (to >= 0 && place != NULL)
                    place[end[to]++] = at;
                else if (to >= 0)
                    end[to + 1]++;
            }
    }
}

// How many contributions a vector has; SIZE_MAX: too many.
static size_t adx_count_contributions(const ad_assembly *a, bool inputs)
{
    size_t all = 0;
    for (size_t kind = 0; kind < a->kinds; kind++) {
        size_t n;
        adx_columns_of(&a->kind[kind], inputs, &n);
        all += n * a->kind[kind].count;
        if (all >= UINT32_MAX - 1)
            return SIZE_MAX;
    }
    return all;
}

// The plan of the results, or of the adjoints of inputs: a counting sort of all
// contributions by the number that they are added to.
static ad_status adx_plan_vector(ad_assembly *a, bool inputs, adx_sums *s,
                                 size_t *contributions)
{
    const ad_allocator *memory = &a->memory;
    size_t results = inputs ? a->n : a->m;
    size_t all = adx_count_contributions(a, inputs);
    if (all == SIZE_MAX)
        return ADREV_ELIMIT;
    *contributions = all;
    uint32_t *end = (uint32_t *)adx_take(memory, results + 1, sizeof *end);
    uint32_t *place = (uint32_t *)adx_take(memory, all, sizeof *place);
    bool ok = end != NULL && place != NULL;
    if (ok) {
        memset(end, 0, (results + 1) * sizeof *end);
        adx_go_through(a, inputs, end, NULL);
        for (size_t i = 0; i < results; i++)
            end[i + 1] += end[i];
        adx_go_through(a, inputs, end, place);
        ok = adx_make_sums(memory, s, results, end, place, (uint32_t)all);
    }
    adx_drop(memory, end);
    adx_drop(memory, place);
    return ok ? ADREV_OK : ADREV_ENOMEM;
}

// Whether an array is missing that some kind needs.
static bool adx_lacks_elements(size_t kinds, const ad_elements kind[])
{
    if (kinds > 0 && kind == NULL)
        return true;
    for (size_t i = 0; i < kinds; i++) {
        const ad_elements *k = &kind[i];
        size_t nv = ad_fn_variables(k->fn);
        if (k->fn == NULL
            || (k->count > 0
                && (k->result == NULL || (nv > 0 && k->variable == NULL)
                    || (k->fn->n > nv && k->parameter == NULL))))
            return true;
    }
    return false;
}

static void adx_free_assembled(adx_assembled *s)
{
    if (s == NULL)
        return;
    adx_free_graph(s->memory, &s->g);
    adx_free_sums(s->memory, &s->sums);
    adx_drop(s->memory, s);
}

ADX_API void ad_assembly_free(ad_assembly *a)
{
    if (a == NULL)
        return;
    ad_allocator memory = a->memory;
    for (size_t i = 0; i < a->kinds; i++) {
        ad_fn_free(a->kind[i].fn);
        adx_drop(&memory, a->kind[i].index);
        adx_drop(&memory, a->kind[i].run);
        adx_drop(&memory, a->kind[i].at);
    }
    // relaxed: nobody else has the assembly any more
    for (size_t i = 0; i < 2; i++)
        adx_free_assembled(atomic_load_explicit(&a->matrix[i],
                                                memory_order_relaxed));
    adx_free_sums(&memory, &a->y);
    adx_free_sums(&memory, &a->dx);
    adx_drop_spare(&a->spare, &memory);
    adx_drop(&memory, a->kind);
    adx_drop(&memory, a);
}

static ad_status adx_fill_assembly(ad_assembly *a, size_t kinds,
                                   const ad_elements kind[], const bool fixed[])
{
    a->kind = (adx_element_kind *)adx_take(&a->memory, kinds, sizeof *a->kind);
    if (a->kind == NULL)
        return ADREV_ENOMEM;
    memset(a->kind, 0, kinds * sizeof *a->kind);
    a->kinds = kinds;
    ad_status status = ADREV_OK;
    for (size_t i = 0; i < kinds && status == ADREV_OK; i++) {
        status = adx_fill_kind(a, i, &kind[i], fixed);
        a->elements += kind[i].count;
    }
    if (status == ADREV_OK)
        status = adx_plan_vector(a, false, &a->y, &a->in_y);
    return status != ADREV_OK ? status
         : adx_plan_vector(a, true, &a->dx, &a->in_dx);
}

ADX_API ad_status ad_fn_assemble(ad_assembly **out,
                                 const ad_assembly_options *options, size_t n,
                                 size_t np, size_t m, size_t kinds,
                                 const ad_elements kind[])
{
    static const ad_assembly_options none;
    const ad_assembly_options *o = options == NULL ? &none : options;
    if (out == NULL)
        return ADREV_ESHAPE;
    *out = NULL;
    adx_last_element = (ad_element){ 0, 0, NULL, 0, 0 };
    if (m == 0 || adx_lacks_elements(kinds, kind))
        return ADREV_ESHAPE;
    if (n > INT32_MAX || np > INT32_MAX || m > INT32_MAX)
        return ADREV_ELIMIT;
    const ad_allocator *memory = adx_allocator_or(o->allocator);
    ad_assembly *a = memory == NULL ? NULL
                   : (ad_assembly *)adx_take(memory, 1, sizeof *a);
    if (a == NULL)
        return ADREV_ENOMEM;
    memset(a, 0, sizeof *a);
    a->memory = *memory;
    a->n = n;
    a->np = np;
    a->m = m;
    ad_status status = adx_fill_assembly(a, kinds, kind, o->fixed);
    if (status == ADREV_OK)
        *out = a;
    else
        ad_assembly_free(a);
    return status;
}
