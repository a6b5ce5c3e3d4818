// SPDX-License-Identifier: MIT-0
// tags: recorded
/* system.c - adrev_system.h: what the adapters of SUNDIALS, PETSc and odeiv2
 * share.
 *
 * Jacobians by rows and columns, products from both sides, of equations, an ODE
 * and a DAE, against differences in long double; a path with other entries;
 * statuses; memory.                                                          */

#include "implementation.h"
#include "adrev_function.h"

#include <adrev_system.h>

#include "check.h"
#include "solvers.h"

enum { N = 3, P = 2 };

/* --- three systems of one formula ----------------------------------------- */

static void formula(const ad_rev *y, const ad_rev *p, ad_rev *r)
{
    r[0] = ad_rec(ad_add(ad_mul(p[0], ad_mul(y[0], y[1])), ad_exp(y[1])));
    r[1] = ad_rec(ad_sub(ad_mul(y[2], ad_sin(y[2])), p[1]));
    r[2] = ad_rec(ad_add(ad_mul(p[1], ad_sqr(y[0])), ad_mul(p[0], y[2])));
}

static void formula_ld(const ld *y, const ld *p, ld *r)
{
    r[0] = p[0] * y[0] * y[1] + expl(y[1]);
    r[1] = y[2] * sinl(y[2]) - p[1];
    r[2] = p[1] * y[0] * y[0] + p[0] * y[2];
}

static void equations(const ad_rev *y, const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)ctx;
    formula(y, p, r);
}

static void ode(ad_rev t, const ad_rev *y, const ad_rev *p, ad_rev *rate,
                void *ctx)
{
    (void)ctx;
    formula(y, p, rate);
    rate[1] = ad_rec(ad_mul(rate[1], ad_sqr(t)));
}

// Neither pattern is part of the other: dr0/dy1', dr2/dy1' are of y' alone.
static void dae(ad_rev t, const ad_rev *y, const ad_rev *rate, const ad_rev *p,
                ad_rev *r, void *ctx)
{
    ode(t, y, p, r, ctx);
    r[0] = ad_rec(ad_sub(r[0], ad_mul(y[0], rate[1])));
    r[2] = ad_rec(ad_sub(ad_mul(r[2], ad_sqr(rate[1])), rate[2]));
}

static void equations_ld(const ld *x, ld *r, const void *ctx)
{
    (void)ctx;
    formula_ld(x, x + N, r);
}

static void ode_ld(const ld *x, ld *r, const void *ctx)
{
    (void)ctx;
    formula_ld(x, x + N + 1, r);
    r[1] *= x[N] * x[N];
}

static void dae_ld(const ld *x, ld *r, const void *ctx)
{
    const ld *rate = x + N;
    (void)ctx;
    formula_ld(x, x + 2 * N + 1, r);
    r[1] *= x[2 * N] * x[2 * N];
    r[0] -= x[0] * rate[1];
    r[2] = r[2] * rate[1] * rate[1] - rate[2];
}

static const double at_y[N] = { 0.7, -0.4, 1.3 };
static const double at_rate[N] = { 0.2, 1.7, -0.6 };

static void set(ad_system *s)
{
    s->p[0] = 1.1;
    s->p[1] = -0.8;
    adx_system_at(s, 2.5, at_y, s->dae != NULL ? at_rate : NULL);
}

/* --- derivatives ---------------------------------------------------------- */

// Every entry of M, and 0 where it has none. J [N*inputs].
static void compare_matrix(ad_system *s, bool rows, double c, const ld J[],
                           size_t inputs, const char *name)
{
    adx_system_matrix *M = rows ? &s->by_rows : &s->by_columns;
    double got[N * N] = { 0 };
    ld want[N * N];
    CHECK(adx_system_jacobian(s, M, c) == ADREV_OK, "%s: a Jacobian", name);
    for (size_t i = 0; i < N; i++) {
        for (size_t k = M->start[i]; k < M->start[i + 1]; k++) {
            CHECK(k == M->start[i] || M->across[k - 1] < M->across[k],
                  "%s: sorted", name);
            got[rows ? i * N + M->across[k] : M->across[k] * N + i]
                = M->value[k];
        }
        for (size_t j = 0; j < N; j++)
            want[i * N + j] = J[i * inputs + j]
                + (s->dae != NULL ? (ld)c * J[i * inputs + N + j] : 0);
    }
    // Differences of order 6 in long double are right to 1e-13.
    CHECK(solvers_near(N * N, got, want, 1e-13L), "%s: rows %d", name, rows);
}

static void compare(ad_system *s, solvers_ld *f, const char *name)
{
    ld J[N * SOLVERS_MOST] = { 0 }, want[SOLVERS_MOST] = { 0 }, along[N] = { 0 };
    double out[N], w[N] = { 0.3, -1.2, 0.8 };
    const size_t inputs = s->p_at + P;
    set(s);
    difference_jacobian(f, NULL, inputs, s->x, N, J);
    compare_matrix(s, false, 1.9, J, inputs, name);
    compare_matrix(s, true, -0.3, J, inputs, name);
    for (size_t j = 0; j < inputs; j++) {
        s->v[j] = 0.1 * (double)j - 0.2;
        for (size_t i = 0; i < N; i++) {
            want[j] += (ld)w[i] * J[i * inputs + j];
            along[i] += (ld)s->v[j] * J[i * inputs + j];
        }
    }
    CHECK(adx_system_jvp(s, out) == ADREV_OK
          && solvers_near(N, out, along, 1e-13L), "%s: J v", name);
    CHECK(adx_system_vjp(s, w) == ADREV_OK
          && solvers_near(inputs, s->v, want, 1e-13L), "%s: J' w", name);
    adx_system_direction(s, w, NULL, 2);
    bool right = true;
    for (size_t j = 0; j < inputs; j++) {
        const double is = j < N ? w[j] : s->dae == NULL || j >= 2 * N ? 0
                        : 2 * w[j - N];
        right = right && s->v[j] == is;
    }
    CHECK(right, "%s: a direction", name);
    ad_system_free(s);
}

static void test_derivatives(void)
{
    compare(ad_system_equations(equations, NULL, N, P), equations_ld,
            "equations");
    compare(ad_system_ode(ode, NULL, N, P), ode_ld, "ODE");
    compare(ad_system_dae(dae, NULL, N, P), dae_ld, "DAE");
}

// As many entries as the diagonal has, but of y'.
static void only_rates(ad_rev t, const ad_rev *y, const ad_rev *rate,
                       const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)t;
    (void)y;
    (void)p;
    (void)ctx;
    for (int i = 0; i < N; i++)
        r[i] = ad_rec(ad_mul(i + 2, rate[i]));
}

static void test_rates(void)
{
    ad_system *s = ad_system_dae(only_rates, NULL, N, 0);
    adx_system_at(s, 0, at_y, at_rate);
    CHECK(adx_system_jacobian(s, &s->by_rows, 10) == ADREV_OK
          && s->by_rows.count == N && s->by_rows.value[0] == 20
          && s->by_rows.value[2] == 40, "c times what belongs to dy/dt");
    ad_system_free(s);
}

// dy/dt = f as a DAE.
static void test_implicit(void)
{
    double rate[N], residual[N];
    ad_system *f = ad_system_ode(ode, NULL, N, P);
    ad_system *F = ad_system_implicit(ode, NULL, N, P);
    set(f);
    set(F);
    CHECK(adx_system_eval(f, rate) == ADREV_OK
          && adx_system_eval(F, residual) == ADREV_OK, "both");
    for (int i = 0; i < N; i++)
        CHECK_CLOSE(residual[i], at_rate[i] - rate[i], 1);
    ad_system_free(f);
    ad_system_free(F);
}

/* --- paths, statuses, memory ---------------------------------------------- */

// Beyond y0 = 2, row 0 has y2 in place of y1.
static void branches(const ad_rev *y, const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)ctx;
    r[0] = ad_lt(y[0], 2) ? ad_rec(ad_mul(p[0], ad_sqr(y[1])))
                          : ad_rec(ad_mul(p[0], ad_sqr(y[2])));
    r[1] = ad_rec(ad_log(y[1]));
    r[2] = y[2];
}

static void test_paths(void)
{
    const double first[N] = { 1, 3, 4 }, second[N] = { 5, 3, 4 };
    ad_system *s = ad_system_equations(branches, NULL, N, 1);
    adx_system_matrix *M = &s->by_rows;
    s->p[0] = 10;
    CHECK(ad_system_entries(s, 0, first, NULL) == 4, "diagonal and one");
    adx_system_at(s, 0, first, NULL);
    CHECK(adx_system_jacobian(s, M, 0) == ADREV_OK && M->changes == 1
          && M->count == 4 && M->across[1] == 1 && M->value[0] == 0
          && M->value[1] == 60, "the first path");
    adx_system_at(s, 0, second, NULL);
    CHECK(adx_system_jacobian(s, M, 0) == ADREV_OK && M->changes == 2
          && M->count == 5 && M->across[2] == 2 && M->value[1] == 0
          && M->value[2] == 80, "the second path has both patterns");
    adx_system_at(s, 0, first, NULL);
    CHECK(adx_system_jacobian(s, M, 0) == ADREV_OK && M->changes == 2
          && M->count == 5 && M->value[1] == 60 && M->value[2] == 0,
          "the first path again");
    ad_system_free(s);
}

static void frozen_ode(ad_rev t, const ad_rev *y, const ad_rev *p, ad_rev *r,
                       void *ctx)
{
    (void)t;
    (void)p;
    (void)ctx;
    r[0] = ad_rec(ad_mul(y[0].v, y[0]));
}

static void scaled(const ad_rev *y, const ad_rev *p, ad_rev *r, void *ctx)
{
    (void)p;
    r[0] = ad_rec(ad_mul(*(const double *)ctx, y[0]));
}

static void test_statuses(void)
{
    double y = 3, out = 7, factor = 2;
    ad_system *s = ad_system_ode(frozen_ode, NULL, 1, 0);
    CHECK(ad_system_entries(s, 0, &y, NULL) == 0
          && ad_system_status(s) == ADREV_EFROZEN && s->model->stopped
          && adx_system_eval(s, &out) == ADREV_EFROZEN && out == 7, "stops");
    ad_system_free(s);
    CHECK(ad_system_status(NULL) == ADREV_ENOMEM, "no system");
    CHECK(ad_system_entries(NULL, 0, &y, NULL) == 0, "none has no entries");
    CHECK(ad_system_ode(frozen_ode, NULL, SIZE_MAX / 4, 1) == NULL
          && ad_system_dae(dae, NULL, SIZE_MAX / 8, 1) == NULL
          && ad_system_equations(scaled, NULL, 1, SIZE_MAX) == NULL,
          "impossible sizes");
    CHECK(ad_system_ode(NULL, NULL, 1, 0) == NULL
          && ad_system_dae(NULL, NULL, 1, 0) == NULL
          && ad_system_implicit(NULL, NULL, 1, 0) == NULL
          && ad_system_equations(NULL, NULL, 1, 0) == NULL, "no function");
    ad_system_free(NULL);

    s = ad_system_equations(scaled, &factor, 1, 0);
    adx_system_at(s, 0, &y, NULL);
    CHECK(adx_system_eval(s, &out) == ADREV_OK && out == 6, "a constant");
    factor = 5;
    CHECK(ad_system_clear(s) == ADREV_OK && adx_system_eval(s, &out) == ADREV_OK
          && out == 15, "recorded again: %g", out);
    ad_system_free(s);
}

// Evaluations after the first ones allocate nothing, neither the function nor
// the system itself.
static void test_memory(void)
{
    static const ad_allocator counts = { solvers_alloc, solvers_free, NULL };
    const ad_fn_options options = { .allocator = &counts };
    ad_system *s = ad_system_dae(dae, NULL, N, P);
    ad_traced_free(s->model->traced);
    s->model->traced = ad_traced_new_with(&options, adx_model_of_vector,
                                          s->model, s->p_at + P, N, 0);
    long before = 0;
    const double *raw = NULL;
    double out[N];
    for (int k = 0; k < 6; k++) {
        if (k == 3) {
            before = solvers_allocations;
            raw = s->by_rows.raw;
        }
        set(s);
        s->x[0] += 0.01 * k;
        CHECK(adx_system_eval(s, out) == ADREV_OK
              && adx_system_jacobian(s, &s->by_columns, 1) == ADREV_OK
              && adx_system_jacobian(s, &s->by_rows, 1) == ADREV_OK
              && adx_system_vjp(s, at_y) == ADREV_OK
              && adx_system_jvp(s, out) == ADREV_OK, "evaluates");
    }
    CHECK(before > 0 && solvers_allocations == before && s->by_rows.raw == raw,
          "%ld allocations", solvers_allocations - before);
    ad_system_free(s);
}

int main(void)
{
    test_derivatives();
    test_rates();
    test_implicit();
    test_paths();
    test_statuses();
    test_memory();
    return check_done("system");
}
