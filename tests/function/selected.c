// SPDX-License-Identifier: MIT-0
// tags: recorded code
/* selected.c - functions with a choice of inputs and results (ad_fn_select).
 *
 * Everything that can be asked of the choice is compared with the whole
 * function: rows of the results that were chosen, columns of the variables that
 * were. The whole is compared with differences by other tests.              */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "implementation.h"
#include "adrev_function.h"

#include "check.h"
#include "heap.h"

enum { N = 6, M = 4, MOST = N * N };

#define EXPECT(call, want)                                                  \
    do {                                                                    \
        ad_status got_ = (call);                                            \
        CHECK(got_ == (want), "%s: %s", #call, ad_message(got_));           \
    } while (0)

static uint64_t state = 88172645463325252u;

static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 20) % n;
}

static heap counted;
static const ad_allocator memory = { heap_alloc, heap_free, &counted };

// Products of variables with parameters, whichever these are; an array
// statement; a guard that x[5] decides.
static void f(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(x[0], x[1]), ad_exp(ad_mul(x[2], x[3]))));
    y[1] = ad_dot(3, x, x + 3);
    y[2] = ad_lt(x[5], 10) ? ad_rec(ad_mul(ad_sin(x[4]), ad_sqr(x[0]))) : x[4];
    y[3] = ad_rec(ad_div(x[1], ad_add(ad_sqr(x[5]), ad_mul(x[2], x[4]))));
}

/* --- a choice ------------------------------------------------------------- */

typedef struct choice {
    size_t nv, m;
    size_t variable[N], output[M + 2];
    size_t input[N];            // which of the whole's is each input
} choice;

static choice random_choice(void)
{
    choice c = { .nv = below(N + 1), .m = 1 + below(M + 2) };
    for (size_t i = 0; i < N; i++)
        c.input[i] = i;
    for (size_t i = 0; i < c.nv; i++) {
        size_t j = i + below(N - i), t = c.input[i];
        c.input[i] = c.variable[i] = c.input[j];
        c.input[j] = t;
    }
    for (size_t i = c.nv; i < N; i++)           // the others, in order
        for (size_t j = i + 1; j < N; j++)
            if (c.input[j] < c.input[i]) {
                size_t t = c.input[i];
                c.input[i] = c.input[j];
                c.input[j] = t;
            }
    for (size_t i = 0; i < c.m; i++)
        c.output[i] = below(M);
    return c;
}

// A point with directions and weights, for the whole and for the choice.
typedef struct point {
    ad_real x[N], v[N], w[M];           // of the whole: 0 where nothing is chosen
    ad_real own_x[N], own_v[N], own_w[M + 2];
    ad_real y[M], dy[M], dx[N], hv[N], J[M * N], H[N * N];
} point;

static ad_real number(void)
{
    return (ad_real)(0.5 + (double)below(1000) / 1000);
}

static void make_point(ad_fn *whole, const choice *c, point *p)
{
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < N; i++)
        p->x[c->input[i]] = p->own_x[i] = number();
    for (size_t i = 0; i < c->nv; i++)
        p->v[c->variable[i]] = p->own_v[i] = number();
    for (size_t i = 0; i < c->m; i++)
        p->w[c->output[i]] += p->own_w[i] = number();
    EXPECT(ad_fn_eval(whole, p->x, p->y), ADREV_OK);
    EXPECT(ad_fn_jvp(whole, p->x, p->v, p->dy), ADREV_OK);
    EXPECT(ad_fn_vjp(whole, p->x, p->w, p->dx), ADREV_OK);
    EXPECT(ad_fn_hvp(whole, p->x, p->w, p->v, p->hv), ADREV_OK);
    EXPECT(ad_fn_jacobian(whole, p->x, p->J), ADREV_OK);
    EXPECT(ad_fn_hessian(whole, p->x, p->w, p->H), ADREV_OK);
}

static ad_real J_of(const choice *c, const point *p, size_t i, size_t j)
{
    return p->J[c->output[i] * N + c->variable[j]];
}

static ad_real H_of(const choice *c, const point *p, size_t i, size_t j)
{
    return p->H[c->variable[i] * N + c->variable[j]];
}

#define ULPS 16         // sums in another order

static void check_vectors(ad_fn *fn, const choice *c, const point *p)
{
    ad_real y[M + 2], d[N] = {0}, series[3 * (M + 2)];
    EXPECT(ad_fn_eval(fn, p->own_x, y), ADREV_OK);
    for (size_t i = 0; i < c->m; i++)
        CHECK_CLOSE(y[i], p->y[c->output[i]], 0);
    EXPECT(ad_fn_jvp(fn, p->own_x, p->own_v, y), ADREV_OK);
    for (size_t i = 0; i < c->m; i++)
        CHECK_CLOSE(y[i], p->dy[c->output[i]], ULPS);
    EXPECT(ad_fn_taylor(fn, p->own_x, p->own_v, 2, series), ADREV_OK);
    for (size_t i = 0; i < c->m; i++)
        CHECK_CLOSE(series[c->m + i], y[i], 64);     // by recurrences
    if (c->nv == 0)
        return;
    EXPECT(ad_fn_vjp(fn, p->own_x, p->own_w, d), ADREV_OK);
    for (size_t i = 0; i < c->nv; i++)
        CHECK_CLOSE(d[i], p->dx[c->variable[i]], ULPS);
    EXPECT(ad_fn_hvp(fn, p->own_x, p->own_w, p->own_v, d), ADREV_OK);
    for (size_t i = 0; i < c->nv; i++)
        CHECK_NEAR(d[i], p->hv[c->variable[i]],
                   sizeof(ad_real) == 4 ? 1e-5 : 1e-13);
}

static void check_dense(ad_fn *fn, const choice *c, const point *p)
{
    ad_real y[M + 2], J[(M + 2) * N + 1], H[N * N + 1];
    J[c->m * c->nv] = H[c->nv * c->nv] = 77;
    EXPECT(ad_fn_jacobian(fn, p->own_x, J), ADREV_OK);
    EXPECT(ad_fn_linearize(fn, p->own_x, y, J), ADREV_OK);
    EXPECT(ad_fn_hessian(fn, p->own_x, p->own_w, H), ADREV_OK);
    for (size_t i = 0; i < c->m; i++)
        for (size_t j = 0; j < c->nv; j++)
            CHECK_CLOSE(J[i * c->nv + j], J_of(c, p, i, j), ULPS);
    for (size_t i = 0; i < c->nv; i++)
        for (size_t j = 0; j < c->nv; j++)
            CHECK_CLOSE(H[i * c->nv + j], H_of(c, p, i, j), 64);
    CHECK(J[c->m * c->nv] == 77 && H[c->nv * c->nv] == 77, "beyond the end");
}

// The pattern is that of the whole, as far as it was chosen.
static void check_sparse(ad_fn *fn, ad_fn *whole, const choice *c,
                         const point *p)
{
    size_t row[MOST], column[MOST], wants = 0, dense = 0;
    bool there[M * N] = {0};
    ad_real value[MOST];
    ad_sparsity about, all;
    EXPECT(ad_fn_jacobian_pattern(whole, &all, NULL, row, column), ADREV_OK);
    for (size_t k = 0; k < all.nonzeros; k++)
        there[row[k] * N + column[k]] = true;
    for (size_t i = 0; i < c->m; i++)
        for (size_t j = 0; j < c->nv; j++)
            wants += there[c->output[i] * N + c->variable[j]];
    EXPECT(ad_fn_jacobian_pattern(fn, &about, NULL, row, column), ADREV_OK);
    CHECK(about.nonzeros == wants, "%zu entries, not %zu", about.nonzeros,
          wants);
    EXPECT(ad_fn_jacobian_sparse(fn, p->own_x, value), ADREV_OK);
    for (size_t k = 0; k < about.nonzeros; k++)
        CHECK_CLOSE(value[k], J_of(c, p, row[k], column[k]), ULPS);
    EXPECT(ad_fn_hessian_pattern(fn, &about, NULL, row, column), ADREV_OK);
    EXPECT(ad_fn_hessian_sparse(fn, p->own_x, p->own_w, value), ADREV_OK);
    wants = 0;
    for (size_t k = 0; k < about.nonzeros; k++) {
        CHECK_CLOSE(value[k], H_of(c, p, row[k], column[k]), 64);
        wants += H_of(c, p, row[k], column[k]) != 0;
    }
    for (size_t i = 0; i < c->nv; i++)
        for (size_t j = 0; j <= i; j++)
            dense += H_of(c, p, i, j) != 0;
    CHECK(wants == dense, "%zu entries of %zu", wants, dense);
}

static void check_map(ad_fn *fn, const choice *c, const point *p)
{
    enum { POINTS = 37 };
    static ad_real dx[N][POINTS], dy[M + 2][POINTS];
    ad_column x[N], v[N], w[M + 2], to[N], y[M + 2];
    memset(dx, 0, sizeof dx);
    for (size_t i = 0; i < N; i++) {
        x[i] = (ad_column){ (ad_real *)&p->own_x[i], 0 };
        v[i] = (ad_column){ (ad_real *)&p->own_v[i], 0 };
        to[i] = (ad_column){ dx[i], 1 };
    }
    for (size_t i = 0; i < c->m; i++) {
        w[i] = (ad_column){ (ad_real *)&p->own_w[i], 0 };
        y[i] = (ad_column){ dy[i], 1 };
    }
    EXPECT(ad_fn_map_jvp(fn, POINTS, x, v, y, NULL), ADREV_OK);
    EXPECT(ad_fn_map_vjp(fn, POINTS, x, w, to, NULL, NULL), ADREV_OK);
    for (size_t l = 0; l < POINTS; l++) {
        for (size_t i = 0; i < c->m; i++)
            CHECK_CLOSE(dy[i][l], p->dy[c->output[i]], ULPS);
        for (size_t i = 0; i < c->nv; i++)
            CHECK_CLOSE(dx[i][l], p->dx[c->variable[i]], ULPS);
    }
    for (size_t i = c->nv; i < N; i++)
        CHECK(dx[i][0] == 0, "a parameter has an adjoint");
}

static void check_all(ad_fn *fn, ad_fn *whole, const choice *c)
{
    point p;
    CHECK(ad_fn_inputs(fn) == N && ad_fn_variables(fn) == c->nv
          && ad_fn_outputs(fn) == c->m, "sizes");
    make_point(whole, c, &p);
    check_vectors(fn, c, &p);
    check_dense(fn, c, &p);
    check_sparse(fn, whole, c, &p);
    check_map(fn, c, &p);
}

static ad_fn *record(void)
{
    const ad_fn_options o = { .allocator = &memory };
    const ad_real x[N] = { 1, 1, 1, 1, 1, 1 };
    ad_fn *fn = NULL;
    EXPECT(ad_fn_record_with(&fn, &o, f, NULL, N, x, M), ADREV_OK);
    return fn;
}

/* --- choices of choices, calls, files, code ------------------------------- */

// A choice of a choice is a choice of the whole; parameters may become
// variables again.
static void check_again(ad_fn *fn, ad_fn *whole, const choice *c)
{
    choice d = random_choice(), both = d;
    ad_fn *again = NULL;
    for (size_t i = 0; i < d.m; i++) {
        d.output[i] = below(c->m);
        both.output[i] = c->output[d.output[i]];
    }
    for (size_t i = 0; i < N; i++)
        both.input[i] = c->input[d.input[i]];
    memcpy(both.variable, both.input, sizeof both.variable);
    EXPECT(ad_fn_select(&again, fn, d.nv, d.variable, d.m, d.output), ADREV_OK);
    check_all(again, whole, &both);
    ad_fn_free(again);
}

typedef struct file {
    unsigned char v[20000];
    size_t n;
} file;

static void append(const char *text, size_t n, void *user)
{
    file *to = user;
    if (CHECK(to->n + n <= sizeof to->v, "a long file"))
        memcpy(to->v + to->n, text, n);
    to->n += n;
}

// Saved and loaded; and no byte of the number of variables may be anything.
static void check_file(ad_fn *fn, ad_fn *whole, const choice *c)
{
    static file saved;
    const ad_fn_options o = { .allocator = &memory };
    ad_fn *loaded = NULL;
    saved.n = 0;
    EXPECT(ad_fn_save(fn, append, &saved), ADREV_OK);
    EXPECT(ad_fn_load(&loaded, saved.v, saved.n, &o), ADREV_OK);
    check_all(loaded, whole, c);
    ad_fn_free(loaded);
    saved.v[4] = 3;
    EXPECT(ad_fn_load(&loaded, saved.v, saved.n, &o), ADREV_EFILE);
    CHECK(loaded == NULL, "loaded");
}

static void check_code(ad_fn *fn, ad_fn *whole, const choice *c)
{
    const ad_compile_options o = {
        .functions = ADREV_C_VALUE | ADREV_C_JVP | ADREV_C_VJP | ADREV_C_HVP
                   | ADREV_C_JACOBIAN | ADREV_C_HESSIAN
                   | ADREV_C_JACOBIAN_SPARSE | ADREV_C_HESSIAN_SPARSE,
        .flags = "-O0 -ffp-contract=off", .cache = "build/selected"
    };
    ad_status status = ad_fn_compile(fn, &o);
    if (status == ADREV_ECOMPILE)       // no compiler: replayed
        return;
    EXPECT(status, ADREV_OK);
    check_all(fn, whole, c);
}

static void calls(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_fn *fn = ctx;
    if (ad_fn_call(fn, x, y) != ADREV_OK)
        y[0] = ad_rec(NAN);
}

// In a call parameters are constants: on a tape, and in another function.
static void check_call(ad_fn *fn, const choice *c)
{
    ad_real x[N], J[(M + 2) * N], on_tape[(M + 2) * N], of_fn[(M + 2) * N];
    ad_real y[M + 2];
    ad_fn *outer = NULL;
    for (size_t i = 0; i < N; i++)
        x[i] = number();
    EXPECT(ad_fn_jacobian(fn, x, J), ADREV_OK);
    EXPECT(ad_jac(calls, fn, N, x, c->m, y, on_tape), ADREV_OK);
    EXPECT(ad_fn_record(&outer, calls, fn, N, x, c->m), ADREV_OK);
    EXPECT(ad_fn_jacobian(outer, x, of_fn), ADREV_OK);
    for (size_t i = 0; i < c->m; i++)
        for (size_t j = 0; j < N; j++) {
            ad_real want = j < c->nv ? J[i * c->nv + j] : 0;
            CHECK_CLOSE(on_tape[i * N + j], want, ULPS);
            CHECK_CLOSE(of_fn[i * N + j], want, ULPS);
        }
    ad_fn_free(outer);
}

/* --- what is wrong -------------------------------------------------------- */

static void check_wrong(void)
{
    const size_t twice[] = { 1, 2, 1 }, beyond[] = { 0, N }, one[] = { 3 };
    const size_t no_output[] = { M }, many[N + 1] = { 0, 1, 2, 3, 4, 5, 5 };
    const ad_real x[N] = { 1, 1, 1, 1, 1, 11 };
    ad_real y[M] = { 77 };
    ad_fn *whole = record(), *fn = whole;
    EXPECT(ad_fn_select(&fn, whole, 3, twice, 1, one), ADREV_ESHAPE);
    CHECK(fn == NULL, "made");
    EXPECT(ad_fn_select(&fn, whole, 2, beyond, 1, one), ADREV_ESHAPE);
    EXPECT(ad_fn_select(&fn, whole, N + 1, many, 1, one), ADREV_ESHAPE);
    EXPECT(ad_fn_select(&fn, whole, 1, one, 1, no_output), ADREV_ESHAPE);
    EXPECT(ad_fn_select(&fn, whole, 1, one, 0, one), ADREV_ESHAPE);
    EXPECT(ad_fn_select(&fn, NULL, 1, one, 1, one), ADREV_ESHAPE);
    EXPECT(ad_fn_select(NULL, whole, 1, one, 1, one), ADREV_ESHAPE);
    EXPECT(ad_fn_select(&fn, whole, 0, NULL, 0, NULL), ADREV_OK);
    CHECK(ad_fn_variables(fn) == N && ad_fn_outputs(fn) == M, "all");
    ad_fn_free(whole);          // the choice has what it needs
    EXPECT(ad_fn_eval(fn, x, y), ADREV_EPATH);
    CHECK(ad_fn_guard().index == 0 && y[0] == 77, "the guard");
    const ad_c_options casadi = { .casadi = true };
    ad_fn *part = NULL;
    EXPECT(ad_fn_select(&part, fn, 1, one, 1, one), ADREV_OK);
    EXPECT(ad_fn_write_c(part, &casadi, append, NULL, NULL), ADREV_ESHAPE);
    ad_fn_free(fn);
    ad_fn_free(part);
    CHECK(ad_fn_variables(NULL) == 0, "of NULL");
    CHECK(counted.live == 0, "%zu blocks are left", counted.live);
}

static void check_memory(void)
{
    const size_t variable[] = { 4, 0 }, output[] = { 2, 0, 2 };
    ad_fn *whole = record(), *fn = NULL;
    ad_status status = ADREV_ENOMEM;
    for (size_t k = 1; k < 100 && status == ADREV_ENOMEM; k++) {
        counted.allocations = 0;
        counted.failing = k;
        status = ad_fn_select(&fn, whole, 2, variable, 3, output);
        CHECK(status == (counted.allocations < k ? ADREV_OK : ADREV_ENOMEM)
              && (fn == NULL) == (status != ADREV_OK), "allocation %zu", k);
    }
    counted.failing = 0;
    EXPECT(status, ADREV_OK);
    ad_fn_free(fn);
    ad_fn_free(whole);
    CHECK(counted.live == 0, "%zu blocks are left", counted.live);
}

int main(void)
{
    for (int i = 0; i < 40; i++) {
        choice c = random_choice();
        ad_fn *whole = record(), *fn = NULL;
        EXPECT(ad_fn_select(&fn, whole, c.nv, c.variable, c.m, c.output),
               ADREV_OK);
        check_all(fn, whole, &c);
        check_again(fn, whole, &c);
        check_file(fn, whole, &c);
        check_call(fn, &c);
        if (i == 7 || i == 8)
            check_code(fn, whole, &c);
        ad_fn_free(fn);
        ad_fn_free(whole);
        CHECK(counted.live == 0, "%zu blocks are left", counted.live);
    }
    check_wrong();
    check_memory();
    return check_done("selected");
}
