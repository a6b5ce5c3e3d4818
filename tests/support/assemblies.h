// SPDX-License-Identifier: MIT-0
/* assemblies.h - random sums of elements, checked against two oracles. Include
 * it after adrev_assemble.h and check.h.
 *
 *     assemblies_all(rounds)      random problems; every question of each
 *     assemblies_grid(side)       a stencil, whose indices have long runs
 *     assemblies_digest           of the bits of all answers
 *
 * The first oracle is the same problem recorded as one function without
 * structure; the second computes values in long double and differences of them.
 * Patterns are compared with what the elements' formulas say.               */

#ifndef ADREV_TESTS_ASSEMBLIES_H
#define ADREV_TESTS_ASSEMBLIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define UNTOUCHED ((ad_real)-12345.5)

enum { KINDS = 3, WIDE = 4, MOST_N = 24, MOST_M = 20 };

#define EXPECT(call, want)                                                  \
    do {                                                                    \
        ad_status got_ = (call);                                            \
        CHECK(got_ == (want), "%s: %s", #call, ad_message(got_));           \
    } while (0)

static uint64_t assemblies_state = 88172645463325252u;
static uint64_t assemblies_digest = 14695981039346656037u;

static size_t below(size_t n)
{
    assemblies_state ^= assemblies_state << 13;
    assemblies_state ^= assemblies_state >> 7;
    assemblies_state ^= assemblies_state << 17;
    return (size_t)(assemblies_state >> 20) % n;
}

static ad_real number(void)
{
    return (ad_real)(0.4 + (double)below(1000) / 1000);
}

static void digest(size_t n, const ad_real v[])
{
    const unsigned char *byte = (const unsigned char *)v;
    for (size_t i = 0; i < n * sizeof *v; i++)
        assemblies_digest = (assemblies_digest ^ byte[i]) * 1099511628211u;
}

static void *room(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);
    if (p == NULL)
        abort();
    return p;
}

/* --- element functions ---------------------------------------------------- */

// Variables, then parameters.
static const struct shape {
    size_t nv, np, m;
    // what the formulas below say: results by variables, and curvature
    bool jacobian[WIDE][WIDE];
    bool hessian[WIDE][WIDE];
} shapes[KINDS] = {
    { 2, 1, 1, { { 1, 1 } }, { { 1, 1 }, { 1, 1 } } },
    { 3, 0, 2, { { 1, 1, 1 }, { 1, 0, 1 } },
      { { 0, 1, 1 }, { 1, 0, 1 }, { 1, 1, 1 } } },
    { 1, 2, 3, { { 1 }, { 1 }, { 0 } }, { { 1 } } },
};

static void spring(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(x[2], ad_sqr(ad_sub(x[1], x[0]))),
                         ad_sin(ad_mul(x[0], x[1]))));
}

static void triple(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_mul(x[0], x[1]), ad_exp(ad_mul(0.25, x[2]))));
    y[1] = ad_rec(ad_sub(ad_sqr(x[2]), x[0]));
}

static void single(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[1], ad_powi(x[0], 3)));
    y[1] = ad_rec(ad_tanh(ad_mul(x[0], x[2])));
    y[2] = ad_rec(ad_mul(x[1], x[2]));
}

static ad_vector_fn *const functions[KINDS] = { spring, triple, single };

// The same in long double.
static void plain_element(size_t kind, const long double x[], long double y[])
{
    if (kind == 0)
        y[0] = x[2] * (x[1] - x[0]) * (x[1] - x[0]) + sinl(x[0] * x[1]);
    else if (kind == 1) {
        y[0] = x[0] * x[1] * expl(x[2] / 4);
        y[1] = x[2] * x[2] - x[0];
    } else {
        y[0] = x[1] * x[0] * x[0] * x[0];
        y[1] = tanhl(x[0] * x[2]);
        y[2] = x[1] * x[2];
    }
}

/* --- problems ------------------------------------------------------------- */

typedef struct problem {
    size_t n, np, m, kinds;
    size_t of[KINDS];           // which function each kind has
    ad_fn *fn[KINDS];
    ad_elements kind[KINDS];
    int32_t *index[3 * KINDS];  // what the kinds have
    bool fixed[MOST_N];
    ad_real x[MOST_N], p[MOST_N], v[MOST_N], w[MOST_M];
} problem;

static ad_fn *element_of(size_t kind, const ad_allocator *heap)
{
    const ad_real x[WIDE] = { 1, 1, 1, 1 };
    const size_t variable[WIDE] = { 0, 1, 2, 3 };
    const struct shape *s = &shapes[kind];
    const ad_fn_options o = { .allocator = heap };
    ad_fn *whole = NULL, *fn = NULL;
    EXPECT(ad_fn_record_with(&whole, &o, functions[kind], NULL, s->nv + s->np,
                             x, s->m), ADREV_OK);
    EXPECT(ad_fn_select(&fn, whole, s->nv, variable, 0, NULL), ADREV_OK);
    ad_fn_free(whole);
    return fn;
}

// Indices of so many elements: some evenly spaced, some below 0.
static int32_t *random_indices(size_t count, size_t width, size_t limit)
{
    int32_t *v = room(count * width, sizeof *v);
    for (size_t i = 0; i < width; i++) {
        size_t base = below(limit), step = below(3);
        bool even = below(2) == 0 && base + step * count < limit;
        bool holes = below(2) == 0;
        for (size_t e = 0; e < count; e++)
            v[e * width + i] = even ? (int32_t)(base + step * e)
                             : holes && below(8) == 0 ? -1 - (int32_t)below(9)
                             : (int32_t)below(limit);
    }
    return v;
}

static void begin_problem(problem *p, const size_t counts[KINDS],
                          const ad_allocator *heap)
{
    *p = (problem){ .n = 1 + below(MOST_N), .np = 1 + below(MOST_N),
                    .m = 1 + below(MOST_M), .kinds = 1 + below(KINDS) };
    for (size_t i = 0; i < p->n; i++)
        p->fixed[i] = below(6) == 0;
    for (size_t k = 0; k < p->kinds; k++) {
        const struct shape *s = &shapes[p->of[k] = below(KINDS)];
        size_t count = counts[k];
        p->fn[k] = element_of(p->of[k], heap);
        p->index[3 * k] = random_indices(count, s->nv, p->n);
        p->index[3 * k + 1] = random_indices(count, s->np, p->np);
        p->index[3 * k + 2] = random_indices(count, s->m, p->m);
        p->kind[k] = (ad_elements){ p->fn[k], count, p->index[3 * k],
                                    p->index[3 * k + 1], p->index[3 * k + 2] };
    }
    for (size_t i = 0; i < MOST_N; i++) {
        p->x[i] = number();
        p->p[i] = number();
        p->v[i] = number();
    }
    for (size_t i = 0; i < MOST_M; i++)
        p->w[i] = number();
}

static void end_problem(problem *p)
{
    for (size_t k = 0; k < p->kinds; k++)
        ad_fn_free(p->fn[k]);
    for (size_t i = 0; i < 3 * KINDS; i++)
        free(p->index[i]);
}

static ad_assembly *assembly_of(const problem *p, const ad_allocator *heap)
{
    const ad_assembly_options o = { .allocator = heap, .fixed = p->fixed };
    ad_assembly *a = NULL;
    EXPECT(ad_fn_assemble(&a, &o, p->n, p->np, p->m, p->kinds, p->kind),
           ADREV_OK);
    return a;
}

// Element e of kind k reads its input i there, or -1; parameters follow.
static int32_t variable_of(const problem *p, size_t k, size_t e, size_t i)
{
    return p->kind[k].variable[e * shapes[p->of[k]].nv + i];
}

static int32_t parameter_of(const problem *p, size_t k, size_t e, size_t i)
{
    return p->kind[k].parameter[e * shapes[p->of[k]].np + i];
}

static int32_t result_of(const problem *p, size_t k, size_t e, size_t i)
{
    return p->kind[k].result[e * shapes[p->of[k]].m + i];
}

/* --- the first oracle: without structure ---------------------------------- */

static void whole(const ad_rev *x, ad_rev *y, void *ctx)
{
    const problem *p = ctx;
    for (size_t i = 0; i < p->m; i++)
        y[i] = ad_rec(0);
    for (size_t k = 0; k < p->kinds; k++) {
        const struct shape *s = &shapes[p->of[k]];
        for (size_t e = 0; e < p->kind[k].count; e++) {
            ad_rev in[WIDE], out[WIDE];
            for (size_t i = 0; i < s->nv; i++) {
                int32_t at = variable_of(p, k, e, i);
                in[i] = at < 0 ? ad_rec(0) : x[at];
            }
            for (size_t i = 0; i < s->np; i++) {
                int32_t at = parameter_of(p, k, e, i);
                in[s->nv + i] = at < 0 ? ad_rec(0) : ad_rec(p->p[at]);
            }
            functions[p->of[k]](in, out, NULL);
            for (size_t i = 0; i < s->m; i++) {
                int32_t at = result_of(p, k, e, i);
                if (at >= 0)
                    y[at] = ad_rec(ad_add(y[at], out[i]));
            }
        }
    }
}

/* --- the second oracle: long double --------------------------------------- */

static void plain(const problem *p, const long double x[], long double y[])
{
    memset(y, 0, p->m * sizeof *y);
    for (size_t k = 0; k < p->kinds; k++) {
        const struct shape *s = &shapes[p->of[k]];
        for (size_t e = 0; e < p->kind[k].count; e++) {
            long double in[WIDE], out[WIDE];
            for (size_t i = 0; i < s->nv; i++) {
                int32_t at = variable_of(p, k, e, i);
                in[i] = at < 0 ? 0 : x[at];
            }
            for (size_t i = 0; i < s->np; i++) {
                int32_t at = parameter_of(p, k, e, i);
                in[s->nv + i] = at < 0 ? 0 : (long double)p->p[at];
            }
            plain_element(p->of[k], in, out);
            for (size_t i = 0; i < s->m; i++)
                if (result_of(p, k, e, i) >= 0)
                    y[result_of(p, k, e, i)] += out[i];
        }
    }
}

/* --- comparisons ---------------------------------------------------------- */

// Sums of up to some hundred terms, in another order.
static void check_sum(const char *what, long double got, long double want,
                      long double terms)
{
    long double unit = sizeof(ad_real) == sizeof(float) ? 1e-7L : 2e-16L;
    long double off = fabsl(got - want);
    CHECK(off <= unit * 100 * (fabsl(want) + terms), "%s: got %.17Lg, want %.17Lg",
          what, (long double)got, want);
}

// y and J by differences.
static void check_differences(const problem *p, const ad_real y[],
                              const ad_real J[])
{
    long double x[MOST_N] = {0}, up[MOST_M], down[MOST_M], h = 1e-6L, terms = 1;
    for (size_t k = 0; k < p->kinds; k++)
        terms += (long double)p->kind[k].count;
    for (size_t i = 0; i < p->n; i++)
        x[i] = (long double)p->x[i];
    plain(p, x, up);
    for (size_t i = 0; i < p->m; i++)
        check_sum("y", (long double)y[i], up[i], terms);
    for (size_t j = 0; j < p->n; j++) {
        long double at = x[j];
        x[j] = at + h;
        plain(p, x, up);
        x[j] = at - h;
        plain(p, x, down);
        x[j] = at;
        for (size_t i = 0; i < p->m && !p->fixed[j]; i++) {
            long double want = (up[i] - down[i]) / (2 * h);
            // the third derivatives of so many terms, times h^2
            long double unit = sizeof(ad_real) == sizeof(float) ? 1e-4L : 1e-10L;
            CHECK(fabsl((long double)J[i * p->n + j] - want) <= unit * terms,
                  "J[%zu][%zu]: %Lg, not %Lg", i, j,
                  (long double)J[i * p->n + j], want);
        }
    }
}

// Spreads the entries of a sparse matrix, and looks at the pattern: sorted, no
// entry twice, and those of the elements' formulas.
static void spread(const problem *p, bool hessian, size_t n, const size_t start[],
                   const size_t row[], const size_t column[],
                   const ad_real value[], const bool there[], ad_real to[])
{
    size_t rows = hessian ? p->n : p->m, wants = 0;
    memset(to, 0, rows * p->n * sizeof *to);
    for (size_t k = 0; k < n; k++) {
        if (!CHECK(row[k] < rows && column[k] < p->n
                   && there[row[k] * p->n + column[k]], "entry %zu, %zu",
                   row[k], column[k]))
            return;
        CHECK(start[row[k]] <= k && k < start[row[k] + 1]
              && (k == start[row[k]] || column[k] > column[k - 1]), "sorted");
        to[row[k] * p->n + column[k]] = value[k];
        if (hessian)
            to[column[k] * p->n + row[k]] = value[k];
    }
    for (size_t i = 0; i < rows * p->n; i++)
        wants += there[i];
    CHECK(n == wants && start[rows] == n, "%zu entries, not %zu", n, wants);
}

// Where the formulas say that entries are; of the Hessian the lower triangle.
static void find_entries(const problem *p, bool hessian, bool there[])
{
    memset(there, 0, (hessian ? p->n : p->m) * p->n);
    for (size_t k = 0; k < p->kinds; k++) {
        const struct shape *s = &shapes[p->of[k]];
        for (size_t e = 0; e < p->kind[k].count; e++)
            for (size_t i = 0; i < (hessian ? s->nv : s->m); i++)
                for (size_t j = 0; j < s->nv; j++) {
                    int32_t r = hessian ? variable_of(p, k, e, i)
                                        : result_of(p, k, e, i);
                    int32_t c = variable_of(p, k, e, j);
                    bool is = hessian ? s->hessian[i][j] : s->jacobian[i][j];
                    if (!is || r < 0 || c < 0 || p->fixed[c]
                        || (hessian && (p->fixed[r] || r < c)))
                        continue;
                    there[(size_t)r * p->n + (size_t)c] = true;
                }
    }
}

/* --- all questions -------------------------------------------------------- */

typedef struct answers {
    ad_real y[MOST_M], dy[MOST_M], dx[MOST_N], hv[MOST_N];
    ad_real J[MOST_M * MOST_N], H[MOST_N * MOST_N];
} answers;

static void ask_matrix(const problem *p, ad_assembly *a, bool hessian,
                       ad_real to[])
{
    enum { ROOM = MOST_N * MOST_N + 1 };
    size_t start[MOST_N + 1], row[ROOM], column[ROOM], n;
    ad_real value[ROOM];
    bool there[ROOM];
    if (hessian) {
        EXPECT(ad_assembly_hessian_pattern(a, &n, start, row, column), ADREV_OK);
        value[n] = UNTOUCHED;
        EXPECT(ad_assembly_hessian(a, p->x, p->p, p->w, NULL, value), ADREV_OK);
    } else {
        EXPECT(ad_assembly_jacobian_pattern(a, &n, start, row, column),
               ADREV_OK);
        value[n] = UNTOUCHED;
        EXPECT(ad_assembly_jacobian(a, p->x, p->p, NULL, value), ADREV_OK);
    }
    CHECK(value[n] == UNTOUCHED, "beyond the end");
    find_entries(p, hessian, there);
    spread(p, hessian, n, start, row, column, value, there, to);
}

// Dense matrices are the sparse ones, with zeros.
static void check_dense(const problem *p, ad_assembly *a, const answers *r)
{
    ad_real J[MOST_M * MOST_N + 1], H[MOST_N * MOST_N + 1];
    const size_t in_J = p->m * p->n, in_H = p->n * p->n;
    J[in_J] = H[in_H] = UNTOUCHED;
    EXPECT(ad_assembly_jacobian_dense(a, p->x, p->p, J), ADREV_OK);
    EXPECT(ad_assembly_hessian_dense(a, p->x, p->p, p->w, H), ADREV_OK);
    CHECK(memcmp(J, r->J, in_J * sizeof *J) == 0 && J[in_J] == UNTOUCHED,
          "dense J");
    CHECK(memcmp(H, r->H, in_H * sizeof *H) == 0 && H[in_H] == UNTOUCHED,
          "dense H");
}

static void ask(const problem *p, ad_assembly *a, answers *r)
{
    EXPECT(ad_assembly_eval(a, p->x, p->p, r->y), ADREV_OK);
    EXPECT(ad_assembly_jvp(a, p->x, p->p, p->v, r->dy), ADREV_OK);
    EXPECT(ad_assembly_vjp(a, p->x, p->p, p->w, r->dx), ADREV_OK);
    EXPECT(ad_assembly_hvp(a, p->x, p->p, p->w, p->v, r->hv), ADREV_OK);
    ask_matrix(p, a, false, r->J);
    ask_matrix(p, a, true, r->H);
    check_dense(p, a, r);
    digest(p->m, r->y);
    digest(p->m, r->dy);
    digest(p->n, r->dx);
    digest(p->n, r->hv);
    digest(p->m * p->n, r->J);
    digest(p->n * p->n, r->H);
}

// What the function without structure says, with no derivatives by variables
// that are fixed.
static void ask_whole(const problem *p, answers *r)
{
    ad_fn *fn = NULL;
    ad_real v[MOST_N];
    EXPECT(ad_fn_record(&fn, whole, (void *)(uintptr_t)p, p->n, p->x, p->m),
           ADREV_OK);
    for (size_t i = 0; i < p->n; i++)
        v[i] = p->fixed[i] ? 0 : p->v[i];
    EXPECT(ad_fn_eval(fn, p->x, r->y), ADREV_OK);
    EXPECT(ad_fn_jvp(fn, p->x, v, r->dy), ADREV_OK);
    EXPECT(ad_fn_vjp(fn, p->x, p->w, r->dx), ADREV_OK);
    EXPECT(ad_fn_hvp(fn, p->x, p->w, v, r->hv), ADREV_OK);
    EXPECT(ad_fn_jacobian(fn, p->x, r->J), ADREV_OK);
    EXPECT(ad_fn_hessian(fn, p->x, p->w, r->H), ADREV_OK);
    for (size_t j = 0; j < p->n; j++)
        for (size_t i = 0; p->fixed[j] && i < MOST_N; i++) {
            r->dx[j] = r->hv[j] = 0;
            if (i < p->m)
                r->J[i * p->n + j] = 0;
            if (i < p->n)
                r->H[i * p->n + j] = r->H[j * p->n + i] = 0;
        }
    ad_fn_free(fn);
}

static void compare(const char *what, const problem *p, const answers *got,
                    const answers *want)
{
    long double terms = 1;
    for (size_t k = 0; k < p->kinds; k++)
        terms += (long double)p->kind[k].count;
    for (size_t i = 0; i < p->m; i++) {
        check_sum(what, (long double)got->y[i], (long double)want->y[i],
                  terms);
        check_sum(what, (long double)got->dy[i], (long double)want->dy[i],
                  8 * terms);
    }
    for (size_t i = 0; i < p->n; i++) {
        check_sum(what, (long double)got->dx[i], (long double)want->dx[i],
                  8 * terms);
        check_sum(what, (long double)got->hv[i], (long double)want->hv[i],
                  32 * terms);
    }
    for (size_t i = 0; i < p->m * p->n; i++)
        check_sum(what, (long double)got->J[i], (long double)want->J[i],
                  8 * terms);
    for (size_t i = 0; i < p->n * p->n; i++)
        check_sum(what, (long double)got->H[i], (long double)want->H[i],
                  32 * terms);
}

// Random problems of this many elements of each kind.
static void assemblies_of(const size_t counts[KINDS])
{
    problem p;
    answers got, want;
    begin_problem(&p, counts, NULL);
    ad_assembly *a = assembly_of(&p, NULL);
    ad_assembly_size size = ad_assembly_about(a);
    CHECK(size.variables == p.n && size.parameters == p.np
          && size.results == p.m && size.kinds == p.kinds, "sizes");
    ask(&p, a, &got);
    ask_whole(&p, &want);
    compare("without structure", &p, &got, &want);
    check_differences(&p, got.y, got.J);
    ad_assembly_free(a);
    end_problem(&p);
}

// The points of a square with those to the left and to the right, which are
// missing at the border: indices in runs, with holes between them.
static void assemblies_grid(size_t side)
{
    size_t n = side * side;
    int32_t *variable = room(3 * n, sizeof *variable);
    int32_t *result = room(2 * n, sizeof *result);
    ad_real *x = room(n, sizeof *x), *w = room(2 * n, sizeof *w);
    ad_real *y = room(2 * n, sizeof *y), *dx = room(n, sizeof *dx);
    ad_fn *fn = element_of(1, NULL);
    ad_assembly *a = NULL;
    for (size_t e = 0; e < n; e++) {
        int32_t at = (int32_t)e;
        variable[3 * e] = at;
        variable[3 * e + 1] = e % side == 0 ? -1 - at % 5 : at - 1;
        variable[3 * e + 2] = e % side == side - 1 ? -2 : at + 1;
        result[2 * e] = at;
        result[2 * e + 1] = (int32_t)(2 * n - 1 - e);
        x[e] = number();
        w[e] = w[n + e] = number();
    }
    const ad_elements of = { fn, n, variable, NULL, result };
    EXPECT(ad_fn_assemble(&a, NULL, n, 0, 2 * n, 1, &of), ADREV_OK);
    EXPECT(ad_assembly_eval(a, x, NULL, y), ADREV_OK);
    EXPECT(ad_assembly_vjp(a, x, NULL, w, dx), ADREV_OK);
    for (size_t e = 0; e < n; e++) {
        ad_real in[3], out[2];
        for (size_t i = 0; i < 3; i++)
            in[i] = variable[3 * e + i] < 0 ? 0 : x[variable[3 * e + i]];
        EXPECT(ad_fn_eval(fn, in, out), ADREV_OK);
        CHECK_CLOSE(y[e], out[0], 0);
        CHECK_CLOSE(y[2 * n - 1 - e], out[1], 0);
    }
    digest(2 * n, y);
    digest(n, dx);
    ad_assembly_free(a);
    ad_fn_free(fn);
    free(variable);
    free(result);
    free(x);
    free(w);
    free(y);
    free(dx);
}

static void assemblies_all(size_t rounds)
{
    static const size_t counts[] = { 0, 1, 2, 5, ADREV_LANES_MOST - 1,
                                     ADREV_LANES_MOST, ADREV_LANES_MOST + 1,
                                     4 * ADREV_LANES_MOST + 3 };
    for (size_t i = 0; i < rounds; i++) {
        const size_t c[KINDS] = { counts[below(8)], counts[below(8)],
                                  counts[below(8)] };
        assemblies_of(c);
    }
}

#endif
