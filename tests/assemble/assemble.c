// SPDX-License-Identifier: MIT-0
// tags: recorded code
/* assemble.c - functions that are sums of elements: values and derivatives of
 * random problems (assemblies.h), their bits, machine code, exports, guards,
 * what is wrong, and memory that runs out.                                  */

#include <stdbool.h>
#include <stddef.h>

#include "implementation.h"
#include "adrev_assemble.h"

#include "check.h"
#include "heap.h"
#include "assemblies.h"

static heap counted;
static const ad_allocator memory = { heap_alloc, heap_free, &counted };

/* --- bits ----------------------------------------------------------------- */

// The sum of contributions in the order that the header promises, each from
// its element alone.
static void check_bits(const problem *p, ad_assembly *a)
{
    ad_real y[MOST_M], sum[MOST_M] = {0};
    bool any[MOST_M] = {0};
    EXPECT(ad_assembly_eval(a, p->x, p->p, y), ADREV_OK);
    for (size_t k = 0; k < p->kinds; k++) {
        const struct shape *s = &shapes[p->of[k]];
        for (size_t i = 0; i < s->m; i++)
            for (size_t e = 0; e < p->kind[k].count; e++) {
                ad_real in[WIDE], out[WIDE];
                int32_t to = result_of(p, k, e, i);
                for (size_t j = 0; j < s->nv; j++) {
                    int32_t at = variable_of(p, k, e, j);
                    in[j] = at < 0 ? 0 : p->x[at];
                }
                for (size_t j = 0; j < s->np; j++) {
                    int32_t at = parameter_of(p, k, e, j);
                    in[s->nv + j] = at < 0 ? 0 : p->p[at];
                }
                EXPECT(ad_fn_eval(p->fn[k], in, out), ADREV_OK);
                if (to < 0)
                    continue;
                sum[to] = any[to] ? sum[to] + out[i] : out[i];
                any[to] = true;
            }
    }
    for (size_t i = 0; i < p->m; i++)
        CHECK_CLOSE(y[i], sum[i], 0);
}

static bool same(const problem *p, const answers *a, const answers *b)
{
    return memcmp(a->y, b->y, p->m * sizeof *a->y) == 0
        && memcmp(a->dy, b->dy, p->m * sizeof *a->dy) == 0
        && memcmp(a->dx, b->dx, p->n * sizeof *a->dx) == 0
        && memcmp(a->hv, b->hv, p->n * sizeof *a->hv) == 0
        && memcmp(a->J, b->J, p->m * p->n * sizeof *a->J) == 0
        && memcmp(a->H, b->H, p->n * p->n * sizeof *a->H) == 0;
}

static void check_bits_of(size_t count, bool compiled)
{
    const size_t counts[] = { count, count / 2, count + 3 };
    const ad_compile_options o = { .flags = "-O1 -ffp-contract=off",
                                   .cache = "build/assemble" };
    problem p;
    answers got, again;
    begin_problem(&p, counts, NULL);
    ad_assembly *a = assembly_of(&p, NULL);
    check_bits(&p, a);
    ask(&p, a, &got);
    ad_status status = compiled ? ad_assembly_compile(a, &o) : ADREV_OK;
    CHECK(status == ADREV_OK || status == ADREV_ECOMPILE, "compile: %s",
          ad_message(status));
    ask(&p, a, &again);
    CHECK(same(&p, &got, &again), "other bits, compiled: %d", compiled);
    ad_assembly_free(a);
    end_problem(&p);
}

// More elements than are done at a time, and results than are summed at a time:
// upwards, then downwards. Each y[i] is one element's, but nobody adds to one.
static void check_many(void)
{
    enum { MANY = 20011, UP = 10000, NONE = 9 };
    ad_fn *fn = element_of(0, NULL);
    int32_t *variable = room(2 * MANY, sizeof *variable);
    int32_t *parameter = room(MANY, sizeof *parameter);
    int32_t *result = room(MANY, sizeof *result);
    ad_real *x = room(MANY + 1, sizeof *x), *y = room(MANY, sizeof *y);
    ad_assembly *a = NULL;
    for (int32_t e = 0; e < MANY; e++) {
        variable[2 * e] = e;
        variable[2 * e + 1] = (e * 7) % MANY;
        result[e] = e == NONE ? -1 : e < UP ? e : MANY - 1 - (e - UP);
        x[e] = number();
    }
    const ad_real p = 2;
    const ad_elements of = { fn, MANY, variable, parameter, result };
    EXPECT(ad_fn_assemble(&a, NULL, MANY, 1, MANY, 1, &of), ADREV_OK);
    EXPECT(ad_assembly_eval(a, x, &p, y), ADREV_OK);
    for (size_t e = 0; e < MANY; e++) {
        const ad_real in[] = { x[e], x[e * 7 % MANY], p };
        ad_real want;
        EXPECT(ad_fn_eval(fn, in, &want), ADREV_OK);
        if (e != NONE)
            CHECK_CLOSE(y[result[e]], want, 0);
    }
    CHECK(y[NONE] == 0, "nobody adds to it");
    ad_assembly_free(a);
    ad_fn_free(fn);
    free(variable);
    free(parameter);
    free(result);
    free(x);
    free(y);
}

/* --- exports -------------------------------------------------------------- */

// All that is exported, spread again, is what the pattern's order says.
static void check_exports(void)
{
    const size_t counts[] = { 9, 5, 7 };
    const ad_layout layouts[] = {
        { .form = ADREV_CSC, .triangle = ADREV_BOTH, .base = 1 },
        { .form = ADREV_CSR, .triangle = ADREV_UPPER, .diagonal = true },
        { .transposed = true, .adds = true }, { .base = 0 },
    };
    problem p;
    answers r;
    begin_problem(&p, counts, NULL);
    ad_assembly *a = assembly_of(&p, NULL);
    ask(&p, a, &r);
    for (size_t i = 0; i < 4; i++)
        for (int hessian = 0; hessian < 2; hessian++) {
            enum { ROOM = MOST_N * (MOST_N + 1) };
            int32_t row[ROOM], column[ROOM];
            ad_real value[ROOM];
            ad_export *e = NULL;
            for (size_t k = 0; k < ROOM; k++)
                value[k] = 2;
            EXPECT(hessian ? ad_assembly_hessian_export(a, &layouts[i], &e)
                           : ad_assembly_jacobian_export(a, &layouts[i], &e),
                   ADREV_OK);
            EXPECT(ad_export_pattern(e, NULL, row, column), ADREV_OK);
            EXPECT(hessian ? ad_assembly_hessian(a, p.x, p.p, p.w, e, value)
                           : ad_assembly_jacobian(a, p.x, p.p, e, value),
                   ADREV_OK);
            size_t n = ad_export_entries(e, NULL, NULL);
            CHECK(n > 0, "entries");
            for (size_t k = 0; k < n; k++) {
                size_t r1 = (size_t)row[k] - layouts[i].base;
                size_t c1 = (size_t)column[k] - layouts[i].base;
                size_t at = layouts[i].transposed ? c1 * p.n + r1
                                                  : r1 * p.n + c1;
                ad_real want = hessian ? r.H[at] : r.J[at];
                CHECK_CLOSE(value[k], want + (layouts[i].adds ? 2 : 0), 0);
            }
            EXPECT(hessian ? ad_assembly_jacobian(a, p.x, p.p, e, value)
                           : ad_assembly_hessian(a, p.x, p.p, p.w, e, value),
                   ADREV_ESHAPE);
            ad_export_free(e);
        }
    ad_assembly_free(a);
    end_problem(&p);
}

/* --- guards --------------------------------------------------------------- */

static void branching(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_lt(x[0], 5) ? ad_rec(ad_sqr(x[0])) : x[0];
    y[1] = ad_lt(x[1], 7) ? ad_rec(ad_sin(x[1])) : x[1];
}

// The first element that is on another path is named, and nothing is written.
static void check_guards(void)
{
    enum { COUNT = 100 };
    const ad_real at[] = { 1, 1 };
    int32_t variable[2 * COUNT], result[2 * COUNT];
    ad_real x[2 * COUNT], y[2 * COUNT], w[2 * COUNT], value[2 * COUNT];
    ad_fn *fn = NULL;
    ad_assembly *a = NULL;
    for (int i = 0; i < 2 * COUNT; i++) {
        variable[i] = result[i] = i;
        x[i] = w[i] = 1;
        y[i] = value[i] = UNTOUCHED;
    }
    EXPECT(ad_fn_record(&fn, branching, NULL, 2, at, 2), ADREV_OK);
    const ad_elements of[] = { { fn, 0, NULL, NULL, NULL },
                               { fn, COUNT, variable, NULL, result } };
    EXPECT(ad_fn_assemble(&a, NULL, 2 * COUNT, 0, 2 * COUNT, 2, of), ADREV_OK);
    x[2 * 71 + 1] = 8;
    x[2 * 90] = 8;
    EXPECT(ad_assembly_eval(a, x, NULL, y), ADREV_EPATH);
    ad_element e = ad_assembly_element();
    CHECK(e.kind == 1 && e.element == 71 && e.array == NULL, "element %zu",
          e.element);
    CHECK(ad_fn_guard().index == 1, "guard %zu", ad_fn_guard().index);
    x[2 * 71 + 1] = 1;
    EXPECT(ad_assembly_vjp(a, x, NULL, w, y), ADREV_EPATH);
    CHECK(ad_assembly_element().element == 90 && ad_fn_guard().index == 0,
          "the other one");
    EXPECT(ad_assembly_jvp(a, x, NULL, w, y), ADREV_EPATH);
    EXPECT(ad_assembly_hvp(a, x, NULL, w, w, y), ADREV_EPATH);
    EXPECT(ad_assembly_jacobian(a, x, NULL, NULL, value), ADREV_EPATH);
    EXPECT(ad_assembly_hessian(a, x, NULL, w, NULL, value), ADREV_EPATH);
    EXPECT(ad_assembly_hessian_dense(a, x, NULL, w, value), ADREV_EPATH);
    for (int i = 0; i < 2 * COUNT; i++)
        CHECK(y[i] == UNTOUCHED && value[i] == UNTOUCHED, "written");
    x[2 * 90] = 1;
    EXPECT(ad_assembly_eval(a, x, NULL, x), ADREV_OK);  // over its argument
    CHECK_CLOSE(x[3], sinl(1), 2);
    ad_fn_free(fn);
    ad_assembly_free(a);
}

// Infinities in an element stay there, and zeros absorb them.
static void reciprocal(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_select(ad_gt(x[0], 0), ad_sqrt(x[0]), 0), 2));
}

static void check_infinities(void)
{
    const ad_real at[] = { 1 }, x[] = { 4, 9, 0 }, w[] = { 1, 1, 0 };
    const int32_t index[] = { 0, 1, 2 };
    ad_real dx[3] = {0};
    ad_fn *fn = NULL;
    ad_assembly *a = NULL;
    const ad_fn_options o = { .once = true };
    EXPECT(ad_fn_record_with(&fn, &o, reciprocal, NULL, 1, at, 1), ADREV_OK);
    const ad_elements of = { fn, 3, index, NULL, index };
    EXPECT(ad_fn_assemble(&a, NULL, 3, 0, 3, 1, &of), ADREV_OK);
    ad_status s = ad_assembly_vjp(a, x, NULL, w, dx);
    CHECK(s == ADREV_OK || s == ADREV_EPATH, "%s", ad_message(s));
    CHECK(s == ADREV_EPATH || (dx[2] == 0 && dx[0] == (ad_real)0.5), "absorbed");
    ad_fn_free(fn);
    ad_assembly_free(a);
}

/* --- what is wrong, and what is empty ------------------------------------- */

static void check_wrong_indices(ad_fn *fn)
{
    const int32_t good[] = { 0, 1, 1, 0 }, bad[] = { 0, 1, 2, 0 };
    const int32_t p[] = { 0, 0 }, p_bad[] = { 0, 1 };
    const int32_t y[] = { 0, -5 }, y_bad[] = { 3, 0 };
    const ad_elements wrong[] = { { fn, 2, bad, p, y }, { fn, 2, good, p_bad, y },
                                  { fn, 2, good, p, y_bad } };
    const ad_element want[] = { { 1, 1, "variable", 0, 2 },
                                { 1, 1, "parameter", 0, 1 },
                                { 1, 0, "result", 0, 3 } };
    const ad_elements none = { fn, 0, NULL, NULL, NULL };
    for (size_t i = 0; i < 3; i++) {
        const ad_elements kinds[] = { none, wrong[i] };
        ad_assembly *a = NULL;
        EXPECT(ad_fn_assemble(&a, NULL, 2, 1, 1, 2, kinds), ADREV_ESHAPE);
        ad_element e = ad_assembly_element();
        CHECK(a == NULL && e.kind == want[i].kind && e.element == want[i].element
              && strcmp(e.array, want[i].array) == 0
              && e.input == want[i].input && e.index == want[i].index,
              "witness %zu", i);
    }
    const ad_elements lacking[] = { { fn, 2, NULL, p, y },
                                    { fn, 2, good, NULL, y },
                                    { fn, 2, good, p, NULL },
                                    { NULL, 2, good, p, y } };
    for (size_t i = 0; i < 4; i++) {
        ad_assembly *a = NULL;
        EXPECT(ad_fn_assemble(&a, NULL, 2, 1, 1, 1, &lacking[i]), ADREV_ESHAPE);
        CHECK(ad_assembly_element().array == NULL, "no index is wrong");
    }
}

static void check_wrong_calls(ad_fn *fn)
{
    const int32_t v[] = { 0, 1 }, p[] = { 0 }, y[] = { 0 };
    const ad_elements of = { fn, 1, v, p, y };
    const ad_real x[2] = { 1, 2 }, one = 1;
    ad_real to[4] = { UNTOUCHED };
    ad_assembly *a = NULL;
    EXPECT(ad_fn_assemble(NULL, NULL, 2, 1, 1, 1, &of), ADREV_ESHAPE);
    EXPECT(ad_fn_assemble(&a, NULL, 2, 1, 0, 1, &of), ADREV_ESHAPE);
    EXPECT(ad_fn_assemble(&a, NULL, 2, 1, 1, 1, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_assemble(&a, NULL, (size_t)1 << 31, 1, 1, 1, &of),
           ADREV_ELIMIT);
    EXPECT(ad_fn_assemble(&a, NULL, 2, 1, 1, 1, &of), ADREV_OK);
    EXPECT(ad_assembly_eval(NULL, x, &one, to), ADREV_ESHAPE);
    EXPECT(ad_assembly_eval(a, NULL, &one, to), ADREV_ESHAPE);
    EXPECT(ad_assembly_eval(a, x, NULL, to), ADREV_ESHAPE);
    EXPECT(ad_assembly_eval(a, x, &one, NULL), ADREV_ESHAPE);
    EXPECT(ad_assembly_jvp(a, x, &one, NULL, to), ADREV_ESHAPE);
    EXPECT(ad_assembly_vjp(a, x, &one, NULL, to), ADREV_ESHAPE);
    EXPECT(ad_assembly_vjp(a, x, &one, &one, NULL), ADREV_ESHAPE);
    EXPECT(ad_assembly_hvp(a, x, &one, &one, NULL, to), ADREV_ESHAPE);
    EXPECT(ad_assembly_hvp(a, x, &one, NULL, x, to), ADREV_ESHAPE);
    EXPECT(ad_assembly_jacobian(a, x, &one, NULL, NULL), ADREV_ESHAPE);
    EXPECT(ad_assembly_hessian(a, x, &one, NULL, NULL, to), ADREV_ESHAPE);
    EXPECT(ad_assembly_jacobian_dense(a, x, &one, NULL), ADREV_ESHAPE);
    EXPECT(ad_assembly_hessian_dense(a, x, &one, NULL, to), ADREV_ESHAPE);
    EXPECT(ad_assembly_hessian_dense(NULL, x, &one, x, to), ADREV_ESHAPE);
    EXPECT(ad_assembly_jacobian_export(a, NULL, NULL), ADREV_ESHAPE);
    EXPECT(ad_assembly_jacobian_pattern(NULL, NULL, NULL, NULL, NULL),
           ADREV_ESHAPE);
    EXPECT(ad_assembly_gradient(NULL, x, &one, to, to), ADREV_ESHAPE);
    EXPECT(ad_assembly_compile(NULL, NULL), ADREV_ESHAPE);
    CHECK(to[0] == UNTOUCHED, "written");
    CHECK(ad_assembly_about(NULL).kinds == 0, "about NULL");
    EXPECT(ad_assembly_gradient(a, x, &one, to, to + 1), ADREV_OK);
    CHECK_CLOSE(to[0], 1 + sinl(2), 4);
    CHECK_CLOSE(to[1], -2 + 2 * cosl(2), 4);
    CHECK_CLOSE(to[2], 2 + cosl(2), 4);
    ad_assembly_free(a);
    ad_assembly_free(NULL);
}

// No kinds, no elements, no variables: results are 0, and matrices empty.
static void check_empty(ad_fn *fn)
{
    const ad_elements none = { fn, 0, NULL, NULL, NULL };
    for (size_t kinds = 0; kinds < 2; kinds++)
        for (size_t n = 0; n < 3; n += 2) {
            const ad_real x[2] = { 1, 2 }, w[] = { 1, 1 };
            ad_real y[2] = { 1, 1 }, dx[2] = { 1, 1 }, J[4] = { 1, 1, 1, 1 };
            size_t entries = 7;
            ad_assembly *a = NULL;
            EXPECT(ad_fn_assemble(&a, NULL, n, 0, 2, kinds, &none), ADREV_OK);
            EXPECT(ad_assembly_eval(a, n == 0 ? NULL : x, NULL, y), ADREV_OK);
            CHECK(y[0] == 0 && y[1] == 0, "values");
            EXPECT(ad_assembly_vjp(a, x, NULL, w, n == 0 ? NULL : dx), ADREV_OK);
            CHECK(dx[0] == (n == 0) && dx[1] == (n == 0), "adjoints");
            EXPECT(ad_assembly_jvp(a, x, NULL, n == 0 ? NULL : x, y), ADREV_OK);
            EXPECT(ad_assembly_hvp(a, x, NULL, w, n == 0 ? NULL : x, dx),
                   ADREV_OK);
            EXPECT(ad_assembly_hessian_pattern(a, &entries, NULL, NULL, NULL),
                   ADREV_OK);
            CHECK(entries == 0, "%zu entries", entries);
            EXPECT(ad_assembly_jacobian(a, x, NULL, NULL, NULL), ADREV_OK);
            EXPECT(ad_assembly_jacobian_dense(a, x, NULL, n == 0 ? NULL : J),
                   ADREV_OK);
            CHECK(J[0] == (n == 0) && J[3] == (n == 0), "dense");
            ad_assembly_free(a);
        }
}

// One element that reads one variable with all its inputs, and adds all its
// results to one: derivatives are those along the diagonal.
static void check_coinciding(void)
{
    const int32_t v[] = { 1, 1, 1 }, y[] = { 0, 0 };
    const ad_real x[] = { 9, (ad_real)0.8 }, one = 1;
    ad_real value[2] = { 0, UNTOUCHED }, second[2] = { 0, UNTOUCHED };
    size_t row, column, n;
    ad_fn *fn = element_of(1, NULL);        // x^2 exp(x/4) + x^2 - x
    const ad_elements of = { fn, 1, v, NULL, y };
    ad_assembly *a = NULL;
    EXPECT(ad_fn_assemble(&a, NULL, 2, 0, 1, 1, &of), ADREV_OK);
    EXPECT(ad_assembly_jacobian_pattern(a, &n, NULL, &row, &column), ADREV_OK);
    CHECK(n == 1 && row == 0 && column == 1, "J has one entry");
    EXPECT(ad_assembly_hessian_pattern(a, &n, NULL, &row, &column), ADREV_OK);
    CHECK(n == 1 && row == 1 && column == 1, "H has one entry");
    EXPECT(ad_assembly_jacobian(a, x, NULL, NULL, value), ADREV_OK);
    EXPECT(ad_assembly_hessian(a, x, NULL, &one, NULL, second), ADREV_OK);
    long double t = (long double)x[1], e = expl(t / 4);
    CHECK_CLOSE(value[0], (2 * t + t * t / 4) * e + 2 * t - 1, 8);
    CHECK_CLOSE(second[0], (2 + t + t * t / 16) * e + 2, 8);
    CHECK(value[1] == UNTOUCHED && second[1] == UNTOUCHED, "beyond");
    ad_assembly_free(a);
    ad_fn_free(fn);
}

/* --- memory --------------------------------------------------------------- */

typedef struct outcome {
    ad_status status;
    ad_assembly *a;
} outcome;

// Everything once; the first failure ends it.
static outcome everything(const problem *p)
{
    const ad_assembly_options o = { .allocator = &memory, .fixed = p->fixed };
    enum { ROOM = MOST_N * MOST_N };
    ad_real value[ROOM], y[MOST_M], dx[MOST_N];
    outcome r = { ADREV_OK, NULL };
    r.status = ad_fn_assemble(&r.a, &o, p->n, p->np, p->m, p->kinds, p->kind);
    CHECK((r.status == ADREV_OK) == (r.a != NULL), "made or not");
    if (r.status == ADREV_OK)
        r.status = ad_assembly_eval(r.a, p->x, p->p, y);
    if (r.status == ADREV_OK)
        r.status = ad_assembly_jvp(r.a, p->x, p->p, p->v, y);
    if (r.status == ADREV_OK)
        r.status = ad_assembly_vjp(r.a, p->x, p->p, p->w, dx);
    if (r.status == ADREV_OK)
        r.status = ad_assembly_hvp(r.a, p->x, p->p, p->w, p->v, dx);
    if (r.status == ADREV_OK)
        r.status = ad_assembly_jacobian(r.a, p->x, p->p, NULL, value);
    if (r.status == ADREV_OK)
        r.status = ad_assembly_hessian(r.a, p->x, p->p, p->w, NULL, value);
    return r;
}

// Each allocation fails in turn; of the later ones, by far most of which are
// those of programs, every seventh. (One that only makes a program shorter may
// fail without harm.) What was made goes on, and has the right answers.
static void check_memory(void)
{
    const size_t counts[] = { 5, 3, 4 };
    problem p;
    answers got, want;
    size_t k = 0, tries = 0, failures = 0;
    bool ran_out = true;
    begin_problem(&p, counts, &memory);
    ask_whole(&p, &want);
    while (ran_out && k < 100000) {
        counted.allocations = 0;
        counted.failing = k += k < 150 ? 1 : 7;
        tries++;
        outcome r = everything(&p);
        counted.failing = 0;
        ran_out = counted.allocations >= k;
        failures += r.status == ADREV_ENOMEM;
        CHECK(r.status == ADREV_OK || (ran_out && r.status == ADREV_ENOMEM),
              "allocation %zu: %s", k, ad_message(r.status));
        if (r.a != NULL && (k % 5 == 0 || !ran_out)) {
            ask(&p, r.a, &got);
            compare("after a failure", &p, &got, &want);
            size_t before = counted.allocations;
            ask(&p, r.a, &got);
            CHECK(counted.allocations == before, "%zu allocations",
                  counted.allocations - before);
        }
        ad_assembly_free(r.a);
    }
    CHECK(!ran_out && failures > 150 && 2 * failures > tries,
          "%zu of %zu failed", failures, tries);
    end_problem(&p);
    CHECK(counted.live == 0, "%zu blocks are left", counted.live);
}

int main(void)
{
    assemblies_all(200);
    for (size_t i = 0; i < 12; i++)
        check_bits_of(3 * ADREV_LANES_MOST * i / 4, i == 5 || i == 6);
    check_many();
    for (size_t side = 1; side < 24; side++)
        assemblies_grid(side);
    check_exports();
    check_guards();
    check_infinities();
    ad_fn *fn = element_of(0, NULL);
    check_wrong_indices(fn);
    check_wrong_calls(fn);
    check_empty(fn);
    ad_fn_free(fn);
    check_coinciding();
    check_memory();
    return check_done("assemble");
}
