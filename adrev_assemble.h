/* Made from src/ by `make headers`: changes belong there. */
/* adrev_assemble.h - functions that are sums of many small elements.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_assemble.h"       // before adrev.h
 *
 * Meshes, collocation, stencils, networks, sums over data: the function is the
 * same small one again and again, each time of other variables. It is recorded
 * once, and an index map says which variables each element reads, and to which
 * results it adds:
 *
 *     #include <stdio.h>
 *
 *     static void f(const ad_rev *x, ad_rev *y, void *ctx)
 *     {
 *         (void)ctx;                    // a spring: x, neighbour, stiffness
 *         y[0] = ad_rec(ad_mul(x[2], ad_sqr(ad_sub(x[1], x[0]))));
 *     }
 *
 *     int main(void)
 *     {
 *         const double at[] = { 0, 1, 1 }, x[] = { 0, 1, 3 }, k[] = { 1, 10 };
 *         const size_t ends[] = { 0, 1 };
 *         const int32_t variable[] = { 0, 1, 1, 2 }, parameter[] = { 0, 1 };
 *         const int32_t result[] = { 0, 0 };
 *         ad_fn *all, *spring;
 *         ad_assembly *chain;
 *         double y, g[3];
 *         if (ad_fn_record(&all, f, NULL, 3, at, 1) != ADREV_OK
 *             || ad_fn_select(&spring, all, 2, ends, 0, NULL) != ADREV_OK)
 *             return 1;
 *         const ad_elements of = { spring, 2, variable, parameter, result };
 *         if (ad_fn_assemble(&chain, NULL, 3, 2, 1, 1, &of) != ADREV_OK
 *             || ad_assembly_gradient(chain, x, k, &y, g) != ADREV_OK)
 *             return 1;
 *         printf("%g, gradient %g %g %g\n", y, g[0], g[1], g[2]);
 *         ad_assembly_free(chain);
 *         ad_fn_free(spring);
 *         ad_fn_free(all);
 *     }
 *
 *     41, gradient -2 -38 40
 *
 * Derivatives are those of the element, for all elements side by side, and
 * summed: so patterns need no colouring, the time to make or to compile them
 * does not depend on the number of elements, and threads share them.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   assemble/api        the interface
 *   assemble/sums       results as sums of contributions
 *   assemble/elements   kinds of elements, and their indices
 *   assemble/evaluate   values, products, gradients
 *   assemble/matrices   sparse Jacobians and Hessians
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#include "adrev_function.h"

#ifndef ADREV_ASSEMBLE_H
#define ADREV_ASSEMBLE_H

/* === assemble/api ===========================================================
 * Functions that are sums of elements: the types, and every public function
 * with its contract.
 *
 *   needs   function/api code/api
 * ========================================================================== */

/* --- types ---------------------------------------------------------------- */

// Elements of one kind: the same function, with variables, parameters and
// results of its own in each element.
typedef struct ad_elements {
    ad_fn *fn;                  // of one element: nv = ad_fn_variables(fn)
                                // variables, then ad_fn_inputs(fn) - nv
                                // parameters (ad_fn_select)
    size_t count;               // of elements; may be 0
    const int32_t *variable;    // [count][nv] in x, which element e reads as
                                // its input i; below 0: the number 0
    const int32_t *parameter;   // [count][np] in p, the same
    const int32_t *result;      // [count][m] in y, to which its result i is
                                // added; below 0: it is not wanted
} ad_elements;

typedef struct ad_assembly_options {
    const ad_allocator *allocator;  // NULL: malloc and free; ADREV_NO_STDLIB:
                                    // ADREV_ENOMEM. Called from all threads
                                    // that use the assembly
    const bool *fixed;          // [n] variables that are held: there are no
                                // derivatives by them; NULL: none
} ad_assembly_options;

typedef struct ad_assembly ad_assembly;

typedef struct ad_assembly_size {
    size_t variables, parameters, results;      // n, np, m
    size_t kinds, elements;
} ad_assembly_size;

// Which element something is about.
typedef struct ad_element {
    size_t kind, element;       // counted from 0, within the kind
    const char *array;          // "variable", "parameter" or "result", if an
                                // index is out of range; else NULL
    size_t input;               // then: of the element, or its result
    int32_t index;              // then: what the array has there
} ad_element;

/* --- interface --------------------------------------------------------------
 * An assembly does not change: any number of threads may use it at once. After
 * the first call of each function, further evaluations allocate nothing. If
 * adrev_parallel.h is included before this header where both are implemented,
 * elements and sums run on the pool, whose threads may allocate their memory
 * each time. Results do not depend on the number of threads, on lanes, or on
 * whether elements are compiled (without contraction). Contributions to a
 * number are added kind by kind; of a kind, result by result of the element
 * function (adjoints: input by input; matrices: entry by entry); and then
 * element by element.
 *
 * Results are written only if ADREV_OK is returned, after all arguments have
 * been read, so that a result may lie where an argument does. Otherwise:
 *
 *     ADREV_EPATH    a guard of an element came out differently:
 *                    ad_assembly_element says of which element, ad_fn_guard
 *                    which guard. It is the first such element
 *     ADREV_EEXTERNAL  an external statement failed in an element: the same
 *     ADREV_ENOMEM   the allocator returned NULL
 *     ADREV_ESHAPE   an array is NULL that must not be
 *
 * There is no function for Taylor coefficients along v: the first one is J v,
 * the second one of a weighted sum is v H v / 2 (ad_assembly_hvp), and higher
 * ones are sums of those of the elements, each by ad_fn_taylor.
 *
 * Arrays: x [n], p [np], y, dy and w [m], v, dx and hv [n].                  */

#ifdef __cplusplus
extern "C" {
#endif

/* --- making --------------------------------------------------------------- */

// The function y = sum of elements, of n variables and np parameters, with m
// results.
//
//   out          out   to be freed with ad_assembly_free; NULL on failure
//   options      in    NULL: all-zero
//   kind [kinds] in    copied, with their functions and indices: all of it may
//                      be freed or changed afterwards. One element may read a
//                      variable several times, and add to a result several
//                      times. A result that nobody adds to is 0
//
//   returns      ADREV_OK; ADREV_ESHAPE: an index is n (np, m) or more: see
//                ad_assembly_element; or m is 0, or an array is NULL;
//                ADREV_ELIMIT: more than 2^31 - 1 variables, parameters or
//                results, or 2^32 - 2 contributions of elements; ADREV_ENOMEM
//   cost         some ns for each index. Programs and patterns are made when
//                they are first needed, in a time that depends on the length of
//                an element's program, and in a few ns for each of its entries
//                of each element
//   memory       of the assembly 8 to 16 bytes, and of an evaluation a number
//                for each contribution of each element
ADX_TRY ad_status ad_fn_assemble(ad_assembly **out,
                                 const ad_assembly_options *options, size_t n,
                                 size_t np, size_t m, size_t kinds,
                                 const ad_elements kind[]);
ADX_API void ad_assembly_free(ad_assembly *a);

// All zero of NULL.
ADX_API ad_assembly_size ad_assembly_about(const ad_assembly *a);

// What the last ADREV_EPATH or ADREV_EEXTERNAL of an assembly, or the last
// index out of range, was about, on this thread.
ADX_API ad_element ad_assembly_element(void);

// From now on elements are evaluated by machine code, in blocks. The time to
// compile depends on the element functions only, not on the number of elements.
// Elements with guards, array statements or external statements are replayed as
// before.
//
//   options      in    as of ad_fn_compile; functions 0: value, jvp, vjp, hvp
//                      and both sparse matrices
//
//   returns      as ad_fn_compile
//   threads      no other thread may use the assembly meanwhile
ADX_TRY ad_status ad_assembly_compile(ad_assembly *a,
                                      const ad_compile_options *options);

/* --- evaluation ----------------------------------------------------------- */

// y = the sum of all elements at x, with the parameters p.
ADX_TRY ad_status ad_assembly_eval(ad_assembly *a, const ad_real x[],
                                   const ad_real p[], ad_real y[]);

// dy = J v.
ADX_TRY ad_status ad_assembly_jvp(ad_assembly *a, const ad_real x[],
                                  const ad_real p[], const ad_real v[],
                                  ad_real dy[]);

// dx = w J.
ADX_TRY ad_status ad_assembly_vjp(ad_assembly *a, const ad_real x[],
                                  const ad_real p[], const ad_real w[],
                                  ad_real dx[]);

// Value (y may be NULL) and gradient, if there is one result.
ADX_TRY ad_status ad_assembly_gradient(ad_assembly *a, const ad_real x[],
                                       const ad_real p[], ad_real *y,
                                       ad_real g[]);

// hv = H v, with H the second derivatives of the sum of w[i] y[i].
ADX_TRY ad_status ad_assembly_hvp(ad_assembly *a, const ad_real x[],
                                  const ad_real p[], const ad_real w[],
                                  const ad_real v[], ad_real hv[]);

/* --- sparse matrices --------------------------------------------------------
 * As those of a recorded function: the Jacobian, and the lower triangle of the
 * Hessian, sorted by row, then column, or in any form of ad_layout. The pattern
 * is that of the elements; within one, that of its function. A fixed variable
 * has a column of the Jacobian, and a row and a column of the Hessian, without
 * entries.                                                                   */

//   nonzeros     out   may be NULL, as all others may
//   start        out   [m + 1], Hessian [n + 1]
ADX_TRY ad_status ad_assembly_jacobian_pattern(ad_assembly *a, size_t *nonzeros,
                                               size_t start[], size_t row[],
                                               size_t column[]);
ADX_TRY ad_status ad_assembly_hessian_pattern(ad_assembly *a, size_t *nonzeros,
                                              size_t start[], size_t row[],
                                              size_t column[]);

// The form that a solver takes, as ad_fn_jacobian_export.
ADX_TRY ad_status ad_assembly_jacobian_export(ad_assembly *a,
                                              const ad_layout *layout,
                                              ad_export **out);
ADX_TRY ad_status ad_assembly_hessian_export(ad_assembly *a,
                                             const ad_layout *layout,
                                             ad_export **out);

// Values of the entries.
//
//   e            in    the form; NULL: in the order of the pattern
//   value        out   [nonzeros]; or as ad_fn_jacobian_values
//
//   returns      as above; ADREV_ESHAPE: also if e does not fit
ADX_TRY ad_status ad_assembly_jacobian(ad_assembly *a, const ad_real x[],
                                       const ad_real p[], ad_export *e,
                                       ad_real value[]);
ADX_TRY ad_status ad_assembly_hessian(ad_assembly *a, const ad_real x[],
                                      const ad_real p[], const ad_real w[],
                                      ad_export *e, ad_real value[]);

/* --- dense matrices ---------------------------------------------------------
 * Of small assemblies: zeros stand where the pattern has no entry.           */

// J[i*n + j] = dy[i]/dx[j].
//
//   J [m*n]      out
//
//   cost         as the sparse matrix, and once through J
ADX_TRY ad_status ad_assembly_jacobian_dense(ad_assembly *a, const ad_real x[],
                                             const ad_real p[], ad_real J[]);

// H[i*n + j] = d2(w y)/dx[i]dx[j], both triangles.
//
//   H [n*n]      out
ADX_TRY ad_status ad_assembly_hessian_dense(ad_assembly *a, const ad_real x[],
                                            const ad_real p[],
                                            const ad_real w[], ad_real H[]);

#ifdef __cplusplus
}
#endif

#endif // ADREV_ASSEMBLE_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_ASSEMBLE_IMPLEMENTED
#define ADREV_ASSEMBLE_IMPLEMENTED

/* === assemble/sums ==========================================================
 * Results as sums of contributions. Contributions are numbers in memory; a plan
 * says which of them each result adds. Within a result they are added in the
 * order of their places, so that sums do not depend on how many threads share
 * the results.
 *
 * A plan is one of two. Contributions in a row mostly belong to results that
 * are evenly spaced: then it is a list of such streaks, in the order of their
 * places, for each part of the results. Else it has two lists: the first
 * contribution of every result, and the others, result by result.
 *
 *   needs   tape/memory parallel/api
 *   offers  adx_sums adx_free_sums adx_in_parts adx_make_sums adx_sum_all
 * ========================================================================== */

enum {
    ADX_SUMS_GRAIN = 4096,      // results of a part
    ADX_STREAK_LEAST = 4,       // contributions of one in the mean, or there
                                // are lists
};

// n contributions in a row, and their results: to, to + stride ...
typedef struct adx_streak {
    uint32_t from, to, n;
    int32_t stride;
    bool first;                 // the results have none before
} adx_streak;

typedef struct adx_sums {
    size_t results;
    adx_streak *streak;         // NULL: there are lists
    uint32_t *part;             // [parts + 1] where its streaks begin
    bool holes;                 // some results have no contributions
    uint32_t *first;            // [results] place of a contribution
    uint32_t *more;             // [results + 1] where its others begin
    uint32_t *from;             // [more[results]] their places
    bool single;                // there are no others
} adx_sums;

static void adx_free_sums(const ad_allocator *a, adx_sums *s)
{
    adx_drop(a, s->streak);
    adx_drop(a, s->part);
    adx_drop(a, s->first);
    adx_drop(a, s->more);
    adx_drop(a, s->from);
    *s = (adx_sums){ .results = 0 };
}

// Calls f for parts of 0 ... n - 1, on the pool if there is one.
static void adx_in_parts(size_t n, size_t grain,
                         void (*f)(size_t begin, size_t end, void *user),
                         void *user)
{
#ifdef ADREV_PARALLEL_H
    if (n > grain) {
        ad_tape *before = ad_use(NULL);
        ad_parallel_for(n, grain, f, user);
        ad_use(before);
        return;
    }
#endif
    (void)grain;
    f(0, n, user);
}

/* --- streaks -------------------------------------------------------------- */

static size_t adx_sum_parts_of(size_t results)
{
    return (results + ADX_SUMS_GRAIN - 1) / ADX_SUMS_GRAIN;
}

// The result of each contribution, while streaks are made.
typedef struct adx_targets {
    uint32_t *of;               // [n] UINT32_MAX: none
    bool *first;                // [n] it is the first one of its result
    size_t n;
} adx_targets;

// false: a contribution has several results, or counts twice in one.
static bool adx_find_targets(adx_targets *t, size_t results,
                             const uint32_t end[], const uint32_t place[])
{
    bool once = true;
    memset(t->of, 0xff, t->n * sizeof *t->of);
    memset(t->first, 0, t->n * sizeof *t->first);
    for (uint32_t i = 0, k = 0; i < results; i++)
        for (uint32_t begin = k; k < end[i]; k++) {
            once = once && t->of[place[k]] == UINT32_MAX;
            t->of[place[k]] = i;
            t->first[place[k]] = k == begin;
        }
    return once;
}

// Whether contribution `at` can be in a streak with the one before it.
static bool adx_goes_on(const adx_targets *t, size_t at)
{
    return at < t->n && t->of[at] != UINT32_MAX
        && t->first[at] == t->first[at - 1]
        && t->of[at] / ADX_SUMS_GRAIN == t->of[at - 1] / ADX_SUMS_GRAIN;
}

// The streak that begins with contribution `at`.
static adx_streak adx_streak_at(const adx_targets *t, size_t at)
{
    adx_streak s = { (uint32_t)at, t->of[at], 1, 0, t->first[at] };
    if (s.to == UINT32_MAX || !adx_goes_on(t, at + 1))
        return s;
    s.stride = (int32_t)((int64_t)t->of[at + 1] - t->of[at]);
    while (adx_goes_on(t, at + s.n)
           && (int64_t)t->of[at + s.n] - t->of[at + s.n - 1] == s.stride)
        s.n++;
    return s;
}

// Goes through the streaks. streak NULL: counts them, in part[i + 1] those of
// part i; else lists them, those of part i from part[i] on. Returns how many.
static size_t adx_go_through_streaks(const adx_targets *t, uint32_t part[],
                                     adx_streak streak[])
{
    size_t all = 0;
    for (size_t at = 0; at < t->n;) {
        const adx_streak s = adx_streak_at(t, at);
        at += s.n;
        if (s.to == UINT32_MAX)
            continue;
        uint32_t *p = &part[s.to / ADX_SUMS_GRAIN];
        if (streak != NULL)
            streak[(*p)++] = s;
        else
            p[1]++;
        all++;
    }
    return all;
}

// Makes a plan of streaks, if there are few enough for what they add; else
// s->streak stays NULL. false: no memory.
static bool adx_list_streaks(const ad_allocator *a, adx_sums *s,
                             const adx_targets *t, size_t added)
{
    size_t parts = adx_sum_parts_of(s->results);
    s->part = (uint32_t *)adx_take(a, parts + 2, sizeof *s->part);
    if (s->part == NULL)
        return false;
    memset(s->part, 0, (parts + 2) * sizeof *s->part);
    // counted one part further on, so that listing leaves their beginnings
    size_t n = adx_go_through_streaks(t, s->part + 1, NULL);
    if (ADX_STREAK_LEAST * n > added)
        return true;
    s->streak = (adx_streak *)adx_take(a, n, sizeof *s->streak);
    if (s->streak == NULL)
        return false;
    for (size_t i = 0; i < parts; i++)
        s->part[i + 1] += s->part[i];
    (void)adx_go_through_streaks(t, s->part + 1, s->streak);
    return true;
}

// Makes a plan of streaks if there are few enough of them; else the plan stays
// without. False: no memory.
static bool adx_try_streaks(const ad_allocator *a, adx_sums *s,
                            const uint32_t end[], const uint32_t place[],
                            size_t contributions)
{
    adx_targets t = { .n = contributions };
    size_t added = s->results == 0 ? 0 : end[s->results - 1];
    t.of = (uint32_t *)adx_take(a, t.n, sizeof *t.of);
    t.first = (bool *)adx_take(a, t.n, sizeof *t.first);
    bool ok = t.of != NULL && t.first != NULL;
    if (ok && added > 0 && adx_find_targets(&t, s->results, end, place))
        ok = adx_list_streaks(a, s, &t, added);
    adx_drop(a, t.of);
    adx_drop(a, t.first);
    return ok;
}

// Adds a streak. The first contribution of a result is taken as it is, since 0
// plus -0 would be 0.
static void adx_add_streak(const adx_streak *s, const ad_real from[],
                           ad_real to[])
{
    const ad_real *restrict add = from + s->from;
    ad_real *restrict sum = to + s->to;
    const ptrdiff_t stride = s->stride;
    const ptrdiff_t n = (ptrdiff_t)s->n;
    if (stride == 1 && s->first)
        memmove(sum, add, s->n * sizeof *sum);
    else if (s->first)
        for (ptrdiff_t i = 0; i < n; i++)
            sum[i * stride] = add[i];
    else if (stride == 1)
        for (ptrdiff_t i = 0; i < n; i++)
            sum[i] += add[i];
    else
        for (ptrdiff_t i = 0; i < n; i++)
            sum[i * stride] += add[i];
}

/* --- plans ---------------------------------------------------------------- */

// Makes a plan of lists from those of all results. none: a place that has 0,
// for results without contributions.
static bool adx_make_lists(const ad_allocator *a, adx_sums *s,
                           const uint32_t end[], const uint32_t place[],
                           uint32_t none)
{
    size_t all = s->results == 0 ? 0 : end[s->results - 1];
    s->first = (uint32_t *)adx_take(a, s->results, sizeof *s->first);
    s->more = (uint32_t *)adx_take(a, s->results + 1, sizeof *s->more);
    s->from = (uint32_t *)adx_take(a, all, sizeof *s->from);
    if (s->first == NULL || s->more == NULL || s->from == NULL)
        return false;
    uint32_t begin = 0, to = 0;
    for (size_t i = 0; i < s->results; i++) {
        s->first[i] = begin < end[i] ? place[begin] : none;
        s->more[i] = to;
        for (begin++; begin < end[i]; begin++)
            s->from[to++] = place[begin];
        begin = end[i];
    }
    s->more[s->results] = to;
    s->single = to == 0;
    return true;
}

// A plan from lists of contributions: those of result i are place[end[i - 1]]
// to place[end[i] - 1], in order. contributions: how many there are; the place
// behind them has 0.
static bool adx_make_sums(const ad_allocator *a, adx_sums *s, size_t results,
                          const uint32_t end[], const uint32_t place[],
                          size_t contributions)
{
    s->results = results;
    for (size_t i = 0; i < results; i++)
        s->holes = s->holes || end[i] == (i == 0 ? 0 : end[i - 1]);
    return adx_try_streaks(a, s, end, place, contributions)
        && (s->streak != NULL
            || adx_make_lists(a, s, end, place, (uint32_t)contributions));
}

// What threads share while results are summed.
typedef struct adx_summing {
    const adx_sums *s;
    const ad_real *from;        // the contributions
    ad_real *to;                // [results]
} adx_summing;

// Parts begin ... end - 1, streak by streak.
static void adx_sum_parts(size_t begin, size_t end, void *user)
{
    const adx_summing *k = (const adx_summing *)user;
    const adx_sums *s = k->s;
    size_t first = begin * ADX_SUMS_GRAIN;
    size_t behind = end * ADX_SUMS_GRAIN;
    behind = behind < s->results ? behind : s->results;
    if (s->holes)
        memset(k->to + first, 0, (behind - first) * sizeof *k->to);
    for (uint32_t i = s->part[begin]; i < s->part[end]; i++)
        adx_add_streak(&s->streak[i], k->from, k->to);
}

// Results begin ... end - 1, by the lists.
static void adx_sum_some(size_t begin, size_t end, void *user)
{
    const adx_summing *k = (const adx_summing *)user;
    const adx_sums *s = k->s;
    for (size_t i = begin; i < end; i++)
        k->to[i] = k->from[s->first[i]];
    for (size_t i = begin; !s->single && i < end; i++) {
        ad_real sum = k->to[i];
        for (uint32_t j = s->more[i]; j < s->more[i + 1]; j++)
            sum += k->from[s->from[j]];
        k->to[i] = sum;
    }
}

// to[results] = the sums.
static void adx_sum_all(const adx_sums *s, const ad_real from[], ad_real to[])
{
    adx_summing k = { s, from, to };
    if (s->streak != NULL)
        adx_in_parts(adx_sum_parts_of(s->results), 1, adx_sum_parts, &k);
    else
        adx_in_parts(s->results, ADX_SUMS_GRAIN, adx_sum_some, &k);
}

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

/* === assemble/matrices ======================================================
 * Sparse matrices of an assembly. Each entry of an element's matrix contributes
 * to one entry of the whole. If two inputs of an element are one variable, an
 * entry beside the diagonal of the element's Hessian lies on that of the whole,
 * and contributes twice. The pattern is found once, by sorting the places of
 * all contributions; the values are sums as those of results are
 * (assemble/sums).
 *
 *   needs   tape/memory function/api function/program function/places
 *           function/functions function/pattern function/plans function/export
 *           code/wanted assemble/api assemble/sums assemble/elements
 *           assemble/evaluate
 * ========================================================================== */

/* --- patterns ------------------------------------------------------------- */

// The machine of a sparse matrix, which is made once.
static ad_status adx_make_sparse_machine(ad_fn *fn, bool hessian)
{
    adx_kind kind = hessian ? ADX_KIND_hessian_sparse
                            : ADX_KIND_jacobian_sparse;
    adx_program q;
    // acquire: pairs with the release that publishes it
    if (atomic_load_explicit(&fn->machine[kind], memory_order_acquire) != NULL)
        return ADREV_OK;
    adx_begin_program(&q, &fn->memory, false);
    ad_status status = adx_make_sparse(&q, fn, hessian);
    adx_machine *m = status == ADREV_OK ? adx_make_machine(&q) : NULL;
    adx_free_program(&q);
    if (m != NULL)
        adx_publish_machine(fn, kind, m);
    return status == ADREV_OK && m == NULL ? ADREV_ENOMEM : status;
}

// Lists, entry by entry, the contributions of a kind's elements, which begin
// at place `at`. Rows and columns are those of the whole.
static void adx_list_kind(const adx_element_kind *k, const adx_entries *g,
                          bool hessian, uint32_t at, adx_unsorted *u)
{
    const adx_indices *columns = adx_variables_at(k);
    const adx_indices *rows = hessian ? columns : adx_results_at(k);
    for (size_t i = 0; i < g->rows; i++)
        for (size_t j = g->start[i]; j < g->start[i + 1]; j++)
            for (size_t e = 0; e < k->count; e++, at++) {
                int32_t row = rows[i].of[e];
                int32_t column = columns[g->col[j]].of[e];
                bool twice = hessian && row == column && g->col[j] != i;
                for (int times = row < 0 || column < 0 ? 0 : 1 + twice;
                     times > 0; times--) {
                    bool turned = hessian && row < column;
                    u->index[turned][u->n] = (uint32_t)row;
                    u->index[!turned][u->n] = (uint32_t)column;
                    u->from[u->n++] = at;
                }
            }
}

// Entries that are there several times become one, whose contributions are a
// list: end[i] is where that of entry i ends.
static void adx_join_entries(const adx_unsorted *u, adx_entries *g,
                             uint32_t end[], uint32_t place[])
{
    uint32_t entries = 0, k = 0;
    for (size_t i = 0; i < g->rows; i++) {
        uint32_t first = entries;
        g->start[i] = entries;
        for (; k < u->count[i]; k++) {
            uint32_t column = u->index[1][u->order[0][k]];
            if (entries == first || g->col[entries - 1] != column)
                g->col[entries++] = column;
            place[k] = u->from[u->order[0][k]];
            end[entries - 1] = k + 1;
        }
    }
    g->start[g->rows] = entries;
}

static bool adx_sort_assembled(adx_assembled *s, adx_unsorted *u, size_t rows,
                               size_t columns)
{
    const ad_allocator *a = s->memory;
    uint32_t *end = (uint32_t *)adx_take(a, u->n, sizeof *end);
    uint32_t *place = (uint32_t *)adx_take(a, u->n, sizeof *place);
    bool ok = end != NULL && place != NULL
           && adx_new_graph(a, &s->g, rows, columns, u->n);
    if (ok) {
        adx_sort_lines(u, rows, columns);
        adx_join_entries(u, &s->g, end, place);
        ok = adx_make_sums(a, &s->sums, s->g.start[rows], end, place,
                           (uint32_t)s->contributions);
    }
    adx_drop(a, end);
    adx_drop(a, place);
    return ok;
}

// Makes the programs of the elements' matrices, and counts contributions, and
// the most entries that these can be.
static ad_status adx_count_assembled(ad_assembly *a, bool hessian, size_t *all,
                                     size_t *most)
{
    *all = *most = 0;
    for (size_t i = 0; i < a->kinds; i++) {
        adx_pattern *p;
        adx_element_kind *k = &a->kind[i];
        ad_status status = adx_pattern_of(k->fn, hessian, &p);
        if (status == ADREV_OK)
            status = adx_make_sparse_machine(k->fn, hessian);
        if (status != ADREV_OK)
            return status;
        size_t entries = p->g.start[p->g.rows];
        if (entries > 0 && k->count > (UINT32_MAX / 2 - *all) / entries)
            return ADREV_ELIMIT;
        *all += entries * k->count;
        *most += entries * k->count * (hessian ? 2 : 1);
    }
    return ADREV_OK;
}

// Lists the entries of all elements, kind by kind, and sorts them into rows and
// columns of the assembly, so that equal ones become one entry.
static ad_status adx_fill_assembled(ad_assembly *a, bool hessian,
                                    adx_assembled *s)
{
    adx_unsorted u;
    size_t most, rows = hessian ? a->n : a->m;
    ad_status status = adx_count_assembled(a, hessian, &s->contributions,
                                           &most);
    if (status != ADREV_OK)
        return status;
    bool ok = adx_begin_unsorted(&a->memory, rows > a->n ? rows : a->n, most,
                                 &u);
    uint32_t at = 0;
    for (size_t i = 0; i < a->kinds && ok; i++) {
        adx_pattern *p;
        adx_element_kind *k = &a->kind[i];
        ok = adx_pattern_of(k->fn, hessian, &p) == ADREV_OK;
        if (!ok)
            break;
        adx_list_kind(k, &p->g, hessian, at, &u);
        at += p->g.start[p->g.rows] * (uint32_t)k->count;
    }
    ok = ok && adx_sort_assembled(s, &u, rows, a->n);
    adx_end_unsorted(&a->memory, &u);
    return ok ? ADREV_OK : ADREV_ENOMEM;
}

// A matrix is made once: NULL until a thread has published it. The acquire
// pairs with the release of the exchange.
static ad_status adx_assembled_of(ad_assembly *a, bool hessian,
                                  adx_assembled **out)
{
    adx_assembled *s = atomic_load_explicit(&a->matrix[hessian],
                                            memory_order_acquire);
    adx_assembled *other = NULL;
    *out = s;
    if (s != NULL)
        return ADREV_OK;
    s = (adx_assembled *)adx_take(&a->memory, 1, sizeof *s);
    if (s == NULL)
        return ADREV_ENOMEM;
    memset(s, 0, sizeof *s);
    s->memory = &a->memory;
    ad_status status = adx_fill_assembled(a, hessian, s);
    if (status != ADREV_OK) {
        adx_free_assembled(s);
        return status;
    }
    if (!atomic_compare_exchange_strong_explicit(&a->matrix[hessian], &other, s,
                                                 memory_order_acq_rel,
                                                 memory_order_acquire)) {
        adx_free_assembled(s);
        s = other;
    }
    *out = s;
    return ADREV_OK;
}

static ad_status adx_tell_assembled(ad_assembly *a, bool hessian,
                                    size_t *nonzeros, size_t start[],
                                    size_t row[], size_t column[])
{
    adx_assembled *s;
    if (a == NULL)
        return ADREV_ESHAPE;
    ad_status status = adx_assembled_of(a, hessian, &s);
    if (status != ADREV_OK)
        return status;
    if (nonzeros != NULL)
        *nonzeros = s->g.start[s->g.rows];
    adx_tell_entries(&s->g, start, row, column);
    return ADREV_OK;
}

ADX_API ad_status ad_assembly_jacobian_pattern(ad_assembly *a, size_t *nonzeros,
                                               size_t start[], size_t row[],
                                               size_t column[])
{
    return adx_tell_assembled(a, false, nonzeros, start, row, column);
}

ADX_API ad_status ad_assembly_hessian_pattern(ad_assembly *a, size_t *nonzeros,
                                              size_t start[], size_t row[],
                                              size_t column[])
{
    return adx_tell_assembled(a, true, nonzeros, start, row, column);
}

static ad_status adx_export_assembled(ad_assembly *a, bool hessian,
                                      const ad_layout *layout, ad_export **out)
{
    adx_assembled *s;
    if (out != NULL)
        *out = NULL;
    if (a == NULL || out == NULL)
        return ADREV_ESHAPE;
    ad_status status = adx_assembled_of(a, hessian, &s);
    return status != ADREV_OK ? status
         : adx_new_export(out, &a->memory, layout, &s->g, hessian);
}

ADX_API ad_status ad_assembly_jacobian_export(ad_assembly *a,
                                              const ad_layout *layout,
                                              ad_export **out)
{
    return adx_export_assembled(a, false, layout, out);
}

ADX_API ad_status ad_assembly_hessian_export(ad_assembly *a,
                                             const ad_layout *layout,
                                             ad_export **out)
{
    return adx_export_assembled(a, true, layout, out);
}

/* --- values --------------------------------------------------------------- */

// The sums go to value[], or, if that is NULL, to memory of the evaluation:
// k->work->w. The evaluation is still to be ended.
static ad_status adx_sum_entries(adx_assembling *k, const adx_assembled *s,
                                 ad_real value[])
{
    size_t entries = s->g.start[s->g.rows];
    ad_status status = adx_begin_assembling(k, s->contributions,
                                            value == NULL ? entries : 0);
    if (status == ADREV_OK)
        status = adx_contribute(k);
    if (status == ADREV_OK)
        adx_sum_all(&s->sums, k->contribution,
                    value == NULL ? k->work->w : value);
    return status;
}

// Sums go into the solver's array at once, if its order is that of the pattern.
static ad_status adx_assemble_matrix(adx_assembling *k, bool hessian,
                                     ad_export *e, ad_real value[])
{
    adx_assembled *s;
    ad_status status = adx_assembled_of(k->a, hessian, &s);
    if (status != ADREV_OK)
        return status;
    size_t entries = s->g.start[s->g.rows];
    bool direct = value != NULL && (e == NULL || adx_is_plain_export(e));
    if ((e != NULL && !adx_export_fits(e, &s->g, hessian))
        || (value == NULL && (e == NULL ? entries : e->entries) > 0))
        return ADREV_ESHAPE;
    status = adx_sum_entries(k, s, direct ? value : NULL);
    if (status == ADREV_OK && e != NULL && !direct)
        adx_write_export(e, k->work->w, value);
    adx_end_assembling(k);
    return status;
}

// The same as a dense matrix with a->n columns.
static ad_status adx_assemble_dense(adx_assembling *k, bool hessian,
                                    ad_real to[])
{
    adx_assembled *s;
    const size_t n = k->a->n;
    ad_status status = adx_assembled_of(k->a, hessian, &s);
    if (status != ADREV_OK)
        return status;
    status = adx_sum_entries(k, s, NULL);
    if (status == ADREV_OK && n > 0)
        memset(to, 0, s->g.rows * n * sizeof *to);
    for (size_t i = 0; status == ADREV_OK && i < s->g.rows; i++)
        for (size_t j = s->g.start[i]; j < s->g.start[i + 1]; j++) {
            to[i * n + s->g.col[j]] = k->work->w[j];
            if (hessian)
                to[s->g.col[j] * n + i] = k->work->w[j];
        }
    adx_end_assembling(k);
    return status;
}

ADX_API ad_status ad_assembly_jacobian(ad_assembly *a, const ad_real x[],
                                       const ad_real p[], ad_export *e,
                                       ad_real value[])
{
    adx_assembling k = { .a = a, .kind = ADX_KIND_jacobian_sparse, .x = x,
                         .p = p };
    return adx_lacks_point(a, x, p) ? ADREV_ESHAPE
         : adx_assemble_matrix(&k, false, e, value);
}

ADX_API ad_status ad_assembly_hessian(ad_assembly *a, const ad_real x[],
                                      const ad_real p[], const ad_real w[],
                                      ad_export *e, ad_real value[])
{
    adx_assembling k = { .a = a, .kind = ADX_KIND_hessian_sparse, .x = x,
                         .p = p, .w = w };
    return adx_lacks_point(a, x, p) || w == NULL ? ADREV_ESHAPE
         : adx_assemble_matrix(&k, true, e, value);
}

ADX_API ad_status ad_assembly_jacobian_dense(ad_assembly *a, const ad_real x[],
                                             const ad_real p[], ad_real J[])
{
    adx_assembling k = { .a = a, .kind = ADX_KIND_jacobian_sparse, .x = x,
                         .p = p };
    return adx_lacks_point(a, x, p) || (J == NULL && a->n > 0) ? ADREV_ESHAPE
         : adx_assemble_dense(&k, false, J);
}

ADX_API ad_status ad_assembly_hessian_dense(ad_assembly *a, const ad_real x[],
                                            const ad_real p[],
                                            const ad_real w[], ad_real H[])
{
    adx_assembling k = { .a = a, .kind = ADX_KIND_hessian_sparse, .x = x,
                         .p = p, .w = w };
    return adx_lacks_point(a, x, p) || w == NULL || (H == NULL && a->n > 0)
         ? ADREV_ESHAPE : adx_assemble_dense(&k, true, H);
}

#endif // ADREV_ASSEMBLE_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
