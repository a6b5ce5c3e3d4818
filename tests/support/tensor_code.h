// SPDX-License-Identifier: MIT-0
/* tensor_code.h - one bound text, evaluated by the library or by C code that
 * was written of it, with the same arrays. Include it after adrev_function.h,
 * adrev_tensor.h and check.h.
 *
 *     code_bind(text, n, &seed)        sizes n, random relations and maps
 *     code_open(t, &seed, layouts)     arrays of exactly as many numbers as t
 *                                      needs, perhaps with strides
 *     code_ask(c, part, &seed, kind)   a random subset of results
 *     code_run_library(c, t)           evaluates; code_run_written(c, f) does
 *     code_keep(c)                     what is there is what the next one must
 *                                      give, everywhere: code_is_kept(c)
 *
 * Numbers of results that nobody asked for, and those between two results,
 * must stay as they were. A NaN has any sign.                                */

#ifndef ADREV_TESTS_TENSOR_CODE_H
#define ADREV_TESTS_TENSOR_CODE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CODE_ARRAYS = 12, CODE_TEXT = 9000 };

#define CODE_UNTOUCHED ((ad_real)77)

// ADREV_C_ names without their ADREV_C_
enum code_part { CODE_VALUE, CODE_JVP, CODE_VJP, CODE_HVP, CODE_GRADIENT,
                 CODE_PARTS };

static const unsigned code_bits[CODE_PARTS] = {
    ADREV_C_VALUE, ADREV_C_JVP, ADREV_C_VJP, ADREV_C_HVP, ADREV_C_GRADIENT
};
static const char *const code_names[CODE_PARTS] = {
    "value", "jvp", "vjp", "hvp", "gradient"
};

/* --- chance --------------------------------------------------------------- */

static inline uint64_t code_next(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int code_below(uint64_t *seed, int n)
{
    return (int)(code_next(seed) % (unsigned)n);
}

// Numbers with all their digits; small whole ones, so that there are ties; and
// now and then what is special.
enum code_kind { CODE_PLAIN, CODE_WHOLE, CODE_SPECIAL, CODE_KINDS };

static inline ad_real code_number(uint64_t *seed, enum code_kind kind)
{
    static const double special[] = { 0, -0.0, (double)INFINITY,
                                      -(double)INFINITY, (double)NAN, 1e-310,
                                      1e-40, 1e30, 1e300, -1 };
    int special_count = (int)(sizeof special / sizeof special[0]);
    if (kind == CODE_SPECIAL && code_below(seed, 4) == 0)
        return (ad_real)special[code_below(seed, special_count)];
    if (kind == CODE_WHOLE)
        return (ad_real)(code_below(seed, 5) - 2);
    return (ad_real)((double)(code_next(seed) >> 11) * 0x1p-51 - 2);
}

/* --- arrays --------------------------------------------------------------- */

typedef struct code_array {
    size_t numbers;             // of memory, from the lowest to the highest
    ad_real *all, *at;          // memory; the number of the least indices
    ad_real *kept;
    bool *place;                // of a number; else it lies between
} code_array;

typedef struct code_case {
    int ins, outs;
    bool has_hvp, has_gradient;
    code_array x[CODE_ARRAYS], v[CODE_ARRAYS], dx[CODE_ARRAYS];
    code_array w[CODE_ARRAYS], y[CODE_ARRAYS], dy[CODE_ARRAYS];
    // of a call:
    enum code_part part;
    bool any_y, any_d;          // else the array of arrays is NULL
    const ad_real *in_x[CODE_ARRAYS], *in_v[CODE_ARRAYS], *in_w[CODE_ARRAYS];
    ad_real *to_y[CODE_ARRAYS], *to_d[CODE_ARRAYS];
} code_case;

// What code of ad_tensor_write_c looks like.
typedef struct code_functions {
    int (*value)(const ad_real *const x[], ad_real *const y[], ad_real *work);
    int (*jvp)(const ad_real *const x[], const ad_real *const v[],
               ad_real *const y[], ad_real *const dy[], ad_real *work);
    int (*vjp)(const ad_real *const x[], const ad_real *const w[],
               ad_real *const y[], ad_real *const dx[], ad_real *work);
    int (*hvp)(const ad_real *const x[], const ad_real *const w[],
               const ad_real *const v[], ad_real *const hv[], ad_real *work);
    int (*gradient)(const ad_real *const x[], ad_real *f, ad_real *const g[],
                    ad_real *work);
    size_t work[CODE_PARTS];
} code_functions;

static inline void *code_get(size_t n, size_t size)
{
    void *p = malloc(n * size > 0 ? n * size : 1);
    if (p == NULL)
        abort();
    return p;
}

static inline void code_mark_places(bool *place, int dims,
                                    const int64_t extent[],
                                    const ptrdiff_t stride[])
{
    if (dims == 0)
        *place = true;
    for (int64_t i = 0; dims > 0 && i < extent[0]; i++)
        code_mark_places(place + i * stride[0], dims - 1, extent + 1,
                         stride + 1);
}

static inline void code_make_array(code_array *a, int dims,
                                   const int64_t extent[],
                                   const ptrdiff_t stride[])
{
    size_t first = 0;
    a->numbers = 1;
    for (int d = 0; d < dims; d++)
        if (extent[d] == 0)
            a->numbers = 0;
    for (int d = 0; d < dims && a->numbers > 0; d++) {
        ptrdiff_t far = (ptrdiff_t)(extent[d] - 1) * stride[d];
        a->numbers += (size_t)(far < 0 ? -far : far);
        first += far < 0 ? (size_t)-far : 0;
    }
    a->all = code_get(a->numbers, sizeof *a->all);
    a->kept = code_get(a->numbers, sizeof *a->kept);
    a->place = code_get(a->numbers, sizeof *a->place);
    a->at = a->all + first;
    memset(a->place, 0, a->numbers * sizeof *a->place);
    if (a->numbers > 0)
        code_mark_places(a->place + first, dims, extent, stride);
}

static inline void code_free_array(code_array *a)
{
    free(a->all);
    free(a->kept);
    free(a->place);
}

static inline void code_fill(const code_array *a, uint64_t *seed,
                             enum code_kind kind)
{
    for (size_t i = 0; i < a->numbers; i++)
        a->all[i] = code_number(seed, kind);
}

static inline void code_clear(const code_array *a)
{
    for (size_t i = 0; i < a->numbers; i++)
        a->all[i] = CODE_UNTOUCHED;
}

static inline bool code_same(ad_real a, ad_real b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

// The first number that is another one, or was not to be written; a->numbers:
// none.
static inline size_t code_other(const code_array *a, bool asked)
{
    size_t i = 0;
    while (i < a->numbers && code_same(a->all[i], a->kept[i])
           && ((asked && a->place[i]) || a->all[i] == CODE_UNTOUCHED))
        i++;
    return i;
}

/* --- a case --------------------------------------------------------------- */

// Dense, or any places that do not overlap, by any order of the dimensions.
static inline void code_lay_out(int dims, const int64_t extent[],
                                ptrdiff_t stride[], uint64_t *seed, bool any)
{
    int order[8];
    ptrdiff_t step = any ? 1 + code_below(seed, 2) : 1;
    for (int d = 0; d < dims; d++)
        order[d] = dims - 1 - d;
    for (int d = dims - 1; any && d > 0; d--) {
        int other = code_below(seed, d + 1);
        int was = order[d];
        order[d] = order[other];
        order[other] = was;
    }
    for (int d = 0; d < dims; d++) {
        stride[order[d]] = any && code_below(seed, 3) == 0 ? -step : step;
        step *= (ptrdiff_t)(extent[order[d]] > 0 ? extent[order[d]] : 1);
        step += any ? code_below(seed, 2) : 0;
    }
}

static inline const adx_tensor_value *code_value_of(const ad_tensor *t,
                                                    bool input, int order)
{
    const adx_tensor_program *p = t->program;
    return &p->value[input ? p->input[order] : p->out[order]];
}

// The layout of an input or a result, which t is told of.
static inline void code_lay_out_one(ad_tensor *t, const char *text, bool input,
                                    int order, uint64_t *seed)
{
    const adx_tensor_value *v = code_value_of(t, input, order);
    char name[70] = "";
    ptrdiff_t stride[8];
    for (uint32_t i = 1; i < t->tree.array_count; i++) {
        const adx_tensor_array *a = &t->tree.array[i];
        if ((input ? a->formula == 0 : a->out) && (int)a->order == order)
            memcpy(name, text + a->name.at, a->name.length);
    }
    code_lay_out((int)v->dims, v->extent, stride, seed, true);
    CHECK(ad_tensor_layout(t, name, stride) == ADREV_OK
              && ad_tensor_bind(t, NULL) == ADREV_OK, "layout of %s", name);
}

static inline void code_make_arrays(code_case *c, const ad_tensor *t)
{
    for (int i = 0; i < c->ins; i++) {
        const adx_tensor_value *v = code_value_of(t, true, i);
        code_make_array(&c->x[i], (int)v->dims, v->extent, v->stride);
        code_make_array(&c->v[i], (int)v->dims, v->extent, v->stride);
        code_make_array(&c->dx[i], (int)v->dims, v->extent, v->stride);
    }
    for (int i = 0; i < c->outs; i++) {
        const adx_tensor_value *v = code_value_of(t, false, i);
        code_make_array(&c->w[i], (int)v->dims, v->extent, v->stride);
        code_make_array(&c->y[i], (int)v->dims, v->extent, v->stride);
        code_make_array(&c->dy[i], (int)v->dims, v->extent, v->stride);
    }
}

static inline void code_open(code_case *c, ad_tensor *t, const char *text,
                             uint64_t *seed, bool layouts)
{
    ad_tensor_cost cost;
    memset(c, 0, sizeof *c);
    c->ins = (int)t->tree.inputs;
    c->outs = (int)t->tree.outs;
    for (int i = 0; i < c->ins && layouts; i++)
        if (code_below(seed, 2) == 0)
            code_lay_out_one(t, text, true, i, seed);
    for (int i = 0; i < c->outs && layouts; i++)
        if (code_below(seed, 2) == 0)
            code_lay_out_one(t, text, false, i, seed);
    c->has_hvp = ad_tensor_count(t, ADREV_TENSOR_HVP, NULL, &cost) == ADREV_OK;
    c->has_gradient = c->outs == 1 && code_value_of(t, false, 0)->dims == 0;
    code_make_arrays(c, t);
}

static inline void code_close(code_case *c)
{
    for (int i = 0; i < c->ins; i++) {
        code_free_array(&c->x[i]);
        code_free_array(&c->v[i]);
        code_free_array(&c->dx[i]);
    }
    for (int i = 0; i < c->outs; i++) {
        code_free_array(&c->w[i]);
        code_free_array(&c->y[i]);
        code_free_array(&c->dy[i]);
    }
}

static inline void code_fill_given(code_case *c, uint64_t *seed,
                                   enum code_kind kind)
{
    for (int i = 0; i < c->ins; i++) {
        code_fill(&c->x[i], seed, kind);
        code_fill(&c->v[i], seed, kind);
        c->in_x[i] = c->x[i].at;
        c->in_v[i] = c->v[i].at;
    }
    for (int i = 0; i < c->outs; i++) {
        code_fill(&c->w[i], seed, kind);
        c->in_w[i] = c->w[i].at;
    }
}

/* --- a call --------------------------------------------------------------- */

static inline int code_derivatives(const code_case *c)
{
    return c->part == CODE_VALUE ? 0 : c->part == CODE_JVP ? c->outs : c->ins;
}

static inline code_array *code_derivative(code_case *c, int i)
{
    return c->part == CODE_JVP ? &c->dy[i] : &c->dx[i];
}

// One time in three all results, else some of them.
static inline void code_ask(code_case *c, enum code_part part, uint64_t *seed)
{
    bool all = code_below(seed, 3) == 0;
    c->part = part;
    c->any_y = part != CODE_HVP && (all || code_below(seed, 8) > 0);
    c->any_d = all || code_below(seed, 8) > 0;
    for (int i = 0; i < c->outs; i++)
        c->to_y[i] = c->any_y && (all || code_below(seed, 3) > 0) ? c->y[i].at
                                                                  : NULL;
    for (int i = 0; i < code_derivatives(c); i++)
        c->to_d[i] = c->any_d && (all || code_below(seed, 3) > 0)
                   ? code_derivative(c, i)->at : NULL;
}

// Directions and seeds that are missing: of each array one time in three.
static inline void code_leave_out(code_case *c, uint64_t *seed)
{
    for (int i = 0; i < c->ins; i++)
        c->in_v[i] = code_below(seed, 3) > 0 ? c->v[i].at : NULL;
    for (int i = 0; i < c->outs; i++)
        c->in_w[i] = code_below(seed, 3) > 0 ? c->w[i].at : NULL;
}

static inline void code_begin(code_case *c)
{
    for (int i = 0; i < c->outs; i++) {
        code_clear(&c->y[i]);
        code_clear(&c->dy[i]);
    }
    for (int i = 0; i < c->ins; i++)
        code_clear(&c->dx[i]);
}

static inline ad_status code_run_library(code_case *c, ad_tensor *t)
{
    ad_real *const *y = c->any_y ? c->to_y : NULL;
    ad_real *const *d = c->any_d ? c->to_d : NULL;
    code_begin(c);
    switch (c->part) {
    case CODE_VALUE: return ad_tensor_eval(t, c->in_x, y);
    case CODE_JVP: return ad_tensor_jvp(t, c->in_x, c->in_v, y, d);
    case CODE_VJP: return ad_tensor_vjp(t, c->in_x, c->in_w, y, d);
    case CODE_HVP: return ad_tensor_hvp(t, c->in_x, c->in_w, c->in_v, d);
    default: return ad_tensor_gradient(t, c->in_x, y != NULL ? y[0] : NULL, d);
    }
}

enum { CODE_GUARDS = 3 };

static inline int code_call(const code_case *c, const code_functions *f,
                            ad_real *work)
{
    ad_real *const *y = c->any_y ? c->to_y : NULL;
    ad_real *const *d = c->any_d ? c->to_d : NULL;
    switch (c->part) {
    case CODE_VALUE: return f->value(c->in_x, y, work);
    case CODE_JVP: return f->jvp(c->in_x, c->in_v, y, d, work);
    case CODE_VJP: return f->vjp(c->in_x, c->in_w, y, d, work);
    case CODE_HVP: return f->hvp(c->in_x, c->in_w, c->in_v, d, work);
    default: return f->gradient(c->in_x, y != NULL ? y[0] : NULL, d, work);
    }
}

// `work` has exactly the numbers that the code asks for, whatever is in them.
// True as to what lies behind them.
static inline int code_run_written(code_case *c, const code_functions *f,
                                   bool *inside)
{
    size_t n = f->work[c->part];
    ad_real *exact = code_get(n, sizeof *exact);
    ad_real *work = code_get(n + 2 * CODE_GUARDS, sizeof *work);
    for (size_t i = 0; i < n + 2 * CODE_GUARDS; i++)
        work[i] = (ad_real)NAN;
    memset(work, 0x5a, CODE_GUARDS * sizeof *work);
    memset(work + CODE_GUARDS + n, 0x5a, CODE_GUARDS * sizeof *work);
    code_begin(c);
    int got = code_call(c, f, work + CODE_GUARDS);
    const unsigned char *before = (const unsigned char *)work;
    const unsigned char *behind = (const unsigned char *)
                                  (work + CODE_GUARDS + n);
    *inside = true;
    for (size_t i = 0; i < CODE_GUARDS * sizeof *work; i++)
        *inside = *inside && before[i] == 0x5a && behind[i] == 0x5a;
    memset(exact, 0xff, n * sizeof *exact);     // NaN
    code_begin(c);                  // sanitizers watch this one
    *inside = *inside && code_call(c, f, exact) == got;
    free(work);
    free(exact);
    return got;
}

/* --- comparing ------------------------------------------------------------ */

static inline void code_keep_array(code_array *a)
{
    memcpy(a->kept, a->all, a->numbers * sizeof *a->all);
}

static inline void code_keep(code_case *c)
{
    for (int i = 0; i < c->outs; i++) {
        code_keep_array(&c->y[i]);
        code_keep_array(&c->dy[i]);
    }
    for (int i = 0; i < c->ins; i++)
        code_keep_array(&c->dx[i]);
}

static inline bool code_is_alike(const code_array *a, bool asked,
                                 const char *which, int order, char why[200])
{
    size_t i = code_other(a, asked);
    if (i < a->numbers)
        snprintf(why, 200, "%s %d[%zu]: got %.17g, want %.17g%s", which, order,
                 i, (double)a->all[i], (double)a->kept[i],
                 asked && a->place[i] ? "" : ", and not to be written");
    return i == a->numbers;
}

// True: all numbers are those that were kept.
static inline bool code_is_kept(code_case *c, char why[200])
{
    bool same = true;
    int n = code_derivatives(c);
    bool forward = c->part == CODE_JVP;
    for (int i = 0; i < c->outs && same; i++)
        same = code_is_alike(&c->y[i], c->any_y && c->to_y[i] != NULL, "y", i,
                             why)
            && code_is_alike(&c->dy[i], forward && c->any_d
                                            && c->to_d[i] != NULL, "dy", i,
                             why);
    for (int i = 0; i < c->ins && same; i++)
        same = code_is_alike(&c->dx[i], !forward && n > 0 && c->any_d
                                            && c->to_d[i] != NULL, "dx", i,
                             why);
    return same;
}

// Nothing was written.
static inline bool code_is_untouched(code_case *c)
{
    bool same = true;
    for (int i = 0; i < c->outs; i++)
        for (size_t k = 0; k < c->y[i].numbers; k++)
            same = same && c->y[i].all[k] == CODE_UNTOUCHED
                && c->dy[i].all[k] == CODE_UNTOUCHED;
    for (int i = 0; i < c->ins; i++)
        for (size_t k = 0; k < c->dx[i].numbers; k++)
            same = same && c->dx[i].all[k] == CODE_UNTOUCHED;
    return same;
}

/* --- texts ---------------------------------------------------------------- */

// A relation of about half of all entries, in no order, and nothing in the
// rows of every third number.
static inline ad_status code_give_relation(ad_tensor *t, const char *name,
                                           uint32_t relation, uint64_t *seed)
{
    const adx_tensor_relation *r = &t->tree.relation[relation];
    int64_t to[3] = { 1, 1, 1 }, from = 0;
    int *column[3];
    size_t most = 1, n = 0;
    for (uint32_t c = 0; c < r->arity; c++)
        if (!adx_dim_range(t, &t->tree.dim[r->first + c], &from, &to[c]))
            return ADREV_ESHAPE;
    for (int c = 0; c < 3; c++)
        most *= (size_t)to[c];
    for (int c = 0; c < 3; c++)
        column[c] = code_get(most, sizeof *column[c]);
    size_t start = most > 0 ? (size_t)(code_next(seed) % most) : 0;
    for (size_t i = 0; i < most; i++) {
        size_t e = (i * 1000003 + start) % most;    // a prime: each once
        int at[3] = { (int)(e / (size_t)(to[1] * to[2])),
                      (int)(e / (size_t)to[2] % (size_t)to[1]),
                      (int)(e % (size_t)to[2]) };
        if (at[0] % 3 == 1 || code_below(seed, 2) == 0)
            continue;
        for (int c = 0; c < 3; c++)
            column[c][n] = at[c];
        n++;
    }
    ad_status s = ad_tensor_relation(t, name, n, (const int *const *)column);
    for (int c = 0; c < 3; c++)
        free(column[c]);
    return s;
}

static inline ad_status code_give_map(ad_tensor *t, const char *name,
                                      uint32_t map, uint64_t *seed)
{
    const adx_tensor_map *m = &t->tree.map[map];
    int64_t from = 0, to = 0, low = 0, end = 0;
    if (!adx_dim_range(t, &t->tree.dim[m->domain], &from, &to)
        || !adx_dim_range(t, &t->tree.dim[m->values], &low, &end))
        return ADREV_ESHAPE;
    int *value = code_get((size_t)(to - from), sizeof *value);
    for (int64_t i = 0; i < to - from && end > low; i++)
        value[i] = (int)low + code_below(seed, (int)(end - low));
    ad_status s = ad_tensor_map(t, name, value);
    free(value);
    return s;
}

static inline const char *code_name(const char *text, adx_spot spot)
{
    static char name[70];
    memcpy(name, text + spot.at, spot.length);
    name[spot.length] = '\0';
    return name;
}

// Gives everything that a text has a name for: sizes n, but m is n + 1 and e is
// 2 n.
static inline ad_status code_give(ad_tensor *t, const char *text, size_t n,
                                  uint64_t *seed)
{
    ad_status s = ADREV_OK;
    for (uint32_t i = 1; i < t->tree.size_count && s == ADREV_OK; i++) {
        const char *name = code_name(text, t->tree.size[i]);
        s = ad_tensor_size(t, name, *name == 'm' ? n + 1
                                  : *name == 'e' ? 2 * n : n);
    }
    for (uint32_t i = 1; i < t->tree.relation_count && s == ADREV_OK; i++)
        s = code_give_relation(t, code_name(text, t->tree.relation[i].name), i,
                               seed);
    for (uint32_t i = 1; i < t->tree.map_count && s == ADREV_OK; i++)
        s = code_give_map(t, code_name(text, t->tree.map[i].name), i, seed);
    return s;
}

static inline ad_tensor *code_bind(const char *text, size_t n, uint64_t *seed,
                                   const ad_tensor_options *options)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 0, 0, "" };
    ad_status s = ad_tensor_new(&t, text, options, &e);
    if (s == ADREV_OK)
        s = code_give(t, text, n, seed);
    if (s == ADREV_OK)
        s = ad_tensor_bind(t, &e);
    CHECK(s == ADREV_OK, "%s, n = %zu: %s: %s", text, n, ad_message(s), e.text);
    if (s == ADREV_OK)
        return t;
    ad_tensor_free(t);
    return NULL;
}

// What texts can have, each with the sizes that are worth a try: bit k is that
// of code_sizes[k].
static const size_t code_sizes[] = { 0, 1, 2, 3, 7, 8, 9, 33 };
enum { CODE_SIZES = sizeof code_sizes / sizeof code_sizes[0] };

typedef struct code_text { const char *text; unsigned sizes; } code_text;

static const code_text code_texts[] = {
    // reductions: eight sums, and what is left over
    { "in x[n], y[n]; out f = sum(i) x[i]*y[i];", 0xff },
    { "in A[n,m], x[m]; out y[i] = sum(j) A[i,j]*x[j];", 0xff },
    { "in x[n], y[n]; out f = 3*(sum(i) x[i]*y[i]) - 0.5*sum(i) x[i]^2;"
      "out g = sum(i) x[i];", 0xd1 },
    { "in A[n,m], B[m,n]; out C[i,j] = sum(k) A[i,k]*B[k,j];", 0x25 },
    { "in A[n,n], B[n,n]; out C[i,j] = sum(k) A[k,i]*B[j,k];", 0x50 },
    { "in x[n], y[n], z[n]; out f = -sum(i) x[i]*y[i]*z[i];", 0xa2 },
    // sums of parts, of numbers that are computed there
    { "in C[n,n]; out f = sum(i,j) exp(C[i,j]);", 0x80 },
    // single expressions, hosted and not
    { "in x[n], y[n]; a[i] = exp(sin(x[i])*y[i]);"
      "out u[i] = a[i] - select(lt(x[i], y[i]), x[i], y[i])/2;"
      "out f = sum(i) a[i]*u[i];", 0x27 },
    { "in x[n]; out f = sum(i) exp(x[i])*x[i]/(1 + sqr(x[i]));", 0x93 },
    { "in x[n], y[n]; d[i<n,j<n] = x[i] - y[j];"
      "out f = sum(i,j) (d[i,j]^2 + 1)^-1;", 0x16 },
    { "in A[n,m], b[m]; out s[i] = sum(j) tanh(A[i,j] + b[j]);"
      "out t[j] = sum(i) detach(s[i])*A[i,j];", 0x2a },
    // results of all kinds: no derivative, no input, another's number
    { "in x[n]; out y[i] = x[i]; out c[i<n] = 2; out f = 3;"
      "out g = x[n-1];", 0x0e },
    { "in x[n], a, b; out y[i] = x[i]/n; out f = a*a; out g = floor(b);", 0x13 },
    { "in x[n]; y[i] = 2*x[i]; out z[i<n] = y[n-1-i]; out f = sum(i) y[i];"
      "out u[i] = y[i] + y[i];", 0x8d },
    // relations with empty rows, entries in no order
    { "rel R[n,m]; in A[R], x[m]; out y[i] = sum(j) A[i,j]*x[j];", 0xff },
    { "rel T[n,n,m]; in X[T], A[n,n], B[n,n], C[m,n];"
      "out f = sum(i,j,k: T(i,j,k)) (X[i,j,k]"
      " - sum(s) A[i,s]*B[j,s]*C[k,s])^2;", 0x09 },
    { "rel R[n,n]; in x[n]; out f = sum(i,j: R(i,j), i != j)"
      " (x[i] - x[j])^2;", 0x62 },
    { "rel R[n,m]; in x[n], y[m];"
      "out u[i] = [exists(j<m: R(i,j))] x[i];"
      "out v[j] = sum(i: R(i,j) | i == j) x[i]*y[j];", 0x17 },
    { "rel R[n,n]; in F[R,m], x[n]; out y[i,k<m] = sum(j) F[i,j,k]*x[j];",
      0x0a },
    { "rel R[n]; in A[R], x[n]; out y[i] = A[i]*x[i];"
      "out f = maximum(i: R(i)) x[i];", 0x1d },
    // maps: read through, turned round, of one another
    { "map s[e]->n, d[e]->n; in x[n], q[e];"
      "out y[i<n] = sum(a: d[a]==i) q[a]*x[s[a]];", 0xff },
    { "map s[n]->n; in x[n]; out y[i<n] = x[s[s[i]]] + x?[s[i]+1];", 0x36 },
    { "map s[m]->n; in x[n], A[m,n];"
      "out f = sum(i<m,j: s[i] <= j) A[i,j]*x[s[i]];"
      "out g[j<n] = [s[j] != j] x[j];", 0x4a },
    // conditions of all kinds
    { "in A[n,n]; out f = sum(i,j: i <= j) A[i,j];"
      "out g = sum(i,j: i+j == n-1 | i == j+2, i > 1) A[i,j]^2;", 0x79 },
    { "in A[n,n], x[n]; out y[i] = sum(j: i-1 <= j <= i+1) A[i,j]*x[j];",
      0xa6 },
    { "in x[n]; out y[k<2*n] = sum(i,j<3: 2*i + j == k) x[i];", 0x4e },
    { "in x[e], c[n]; out y[i] = c[i]*x[2*i]*x[2*i+1];"
      "out z[i<n] = [exists(j<n: 2*j == i)] x[i];", 0x1f },
    { "in x[1-m:n], c[m]; out y[i<n] = sum(j) x[i-j]*c[j];", 0x9e },
    { "in x[n,n], k[3,3]; out y[i<n,j<n] ="
      " sum(a,b) x?[i+a-1,j+b-1]*k[a,b];", 0x37 },
    { "in x[n]; out y[i in 1:n+1] = x[i-1]; out f = sum(i in 1:n+1) y[i];",
      0x23 },
    { "in x[n]; A[i<n,j<n] = [i==j] x[i]; out f = sum(i) A[i,0]*A[0,i];"
      "out g = sum(i) A[i,i] + sum(i) A[i,i];", 0x56 },
    // maxima and minima, and the first of equal ones
    { "in x[n,m]; out y[i] = maximum(j) x[i,j]; out z = minimum(i,j) x[i,j];",
      0xff },
    { "in x[n], y[n]; out f[i] = maximum(j: j != i) x[i]*y[j];"
      "out g = minimum(i) sqr(x[i]) + maximum(i) y[i];", 0x3a },
    { "map s[n]->n; in x[n]; out y[i<n] = minimum(j<n: s[j] == i) x[j];",
      0x55 },
    { "in Q[n,n], K[m,n], V[m,n], c; s[i,j] = c*sum(k) Q[i,k]*K[j,k];"
      "t[i] = detach(maximum(j) s[i,j]); p[i,j] = exp(s[i,j] - t[i]);"
      "z[i] = sum(j) p[i,j]; out O[i,k] = (sum(j) p[i,j]*V[j,k])/z[i];", 0x2b },
    // second derivatives
    { "in A[n,n], x[n], b[n]; r[i] = sum(j) A[i,j]*x[j] - b[i];"
      "out f = 0.5*sum(i) r[i]^2;", 0x33 },
    { "in x[n], y[n]; out f = sum(i) exp(x[i]*y[i])/y[i] + sqr(x[0]);", 0x44 },
    { "in x[n]; out f = sum(i) fma(x[i], x[i], x[n-1-i])^3;", 0x9a },
};
enum { CODE_TEXTS = sizeof code_texts / sizeof code_texts[0] };

#endif
