// SPDX-License-Identifier: MIT-0
/* bulk_fn.h - programs of bulk.h as recorded functions: values, products with
 * the Jacobian, and second derivatives against the same program element by
 * element, or against numbers computed by hand.                             */

#ifndef ADREV_TESTS_BULK_FN_H
#define ADREV_TESTS_BULK_FN_H

static void table_recorded(const table_row *r)
{
    ad_fn *fn;
    ad_real x[12], y[8], w[8], dx[12];
    for (size_t i = 0; i < r->n; i++)
        x[i] = (ad_real)r->x[i];
    for (size_t i = 0; i < r->m; i++)
        w[i] = (ad_real)r->w[i];
    ad_status s = ad_fn_record(&fn, r->f, r->ctx, r->n, x, r->m);
    CHECK(s == ADREV_OK, "%s: %s", r->name, ad_message(s));
    if (s != ADREV_OK)
        return;
    CHECK(ad_fn_eval(fn, x, y) == ADREV_OK, "%s: eval", r->name);
    CHECK(ad_fn_vjp(fn, x, w, dx) == ADREV_OK, "%s: vjp", r->name);
    for (size_t i = 0; i < r->m; i++)
        BULK_EXACT(y[i], r->y[i], r->name);
    for (size_t i = 0; i < r->n; i++)
        BULK_EXACT(dx[i], r->dx[i], r->name);
    ad_fn_free(fn);
}

// A maximum has no guards: the winner may be another one.
static void table_other_winner(void)
{
    static const ad_real at[][4] = {
        { 3, 9, 4, 1 }, { 3, 1, 4, 9 }, { 5, 5, 5, 5 }, { 1, 2, 2, 0 },
        { BULK_NAN, 1, 2, 2 }, { BULK_INF, 1, BULK_INF, 2 },
        { -BULK_INF, -BULK_INF, 3, BULK_NAN }, { BULK_NAN, 7, 7, BULK_NAN },
    };
    static const size_t most[] = { 1, 3, 0, 1, 2, 0, 2, 1 };
    static const size_t least[] = { 3, 1, 0, 3, 1, 1, 0, 1 };
    for (int up = 0; up < 2; up++) {
        ad_fn *fn;
        const ad_real one = 1;
        table_op op = { up ? ADREV_OP_max : ADREV_OP_min, 4 };
        if (!CHECK(ad_fn_record(&fn, table_reduce_op, &op, 4, at[0], 1)
                   == ADREV_OK, "a maximum is not recorded"))
            return;
        for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
            size_t k = up ? most[i] : least[i];
            ad_real y, g[4];
            CHECK(ad_fn_eval(fn, at[i], &y) == ADREV_OK, "%zu: a guard", i);
            CHECK(ad_fn_vjp(fn, at[i], &one, g) == ADREV_OK, "%zu", i);
            CHECK(y == at[i][k], "%zu: %g", i, (double)y);
            for (size_t j = 0; j < 4; j++)
                CHECK(g[j] == (j == k), "%zu: d/dx[%zu] = %g", i, j,
                      (double)g[j]);
        }
        ad_fn_free(fn);
    }
}

static void hessian_of(const pair_row *r, ad_vector_fn *f, size_t n,
                       const ad_real *x, const ad_real *w, ad_real *y,
                       ad_real *H)
{
    pair_size size = { n, pair_memory };
    ad_fn *fn;
    ad_status s = ad_fn_record(&fn, f, &size, r->a * n + r->b, x,
                               r->c * n + r->d);
    CHECK(s == ADREV_OK, "%s, n = %zu: %s", r->name, n, ad_message(s));
    if (s != ADREV_OK)
        return;
    CHECK(ad_fn_eval(fn, x, y) == ADREV_OK, "%s: eval", r->name);
    s = ad_fn_hessian(fn, x, w, H);
    CHECK(s == ADREV_OK, "%s, n = %zu: %s", r->name, n, ad_message(s));
    ad_fn_free(fn);
}

enum { HESSIAN = 305 };

static void pair_hessian(const pair_row *r, ad_tape *t, size_t n)
{
    static ad_real x[HESSIAN], w[PAIR_RESULTS], H[2][HESSIAN * HESSIAN];
    static ad_real y[2][PAIR_RESULTS];
    static pair_run run;
    size_t inputs = r->a * n + r->b;
    size_t m = r->c * n + r->d;
    if (inputs > HESSIAN || m == 0 || inputs == 0)
        return;
    for (size_t i = 0; i < inputs; i++)
        x[i] = bulk_uniform(r->from, r->to);
    for (size_t i = 0; i < m; i++)
        w[i] = bulk_uniform(-1, 1);
    hessian_of(r, r->f, n, x, w, y[0], H[0]);
    hessian_of(r, r->each, n, x, w, y[1], H[1]);
    pair_compare(r->name, "Hessian", n, inputs * inputs, H[0], H[1]);
    pair_go(r, r->f, t, n, x, w, x, &run);
    for (size_t i = 0; i < m; i++)
        CHECK(memcmp(&run.y[i], &y[0][i], sizeof y[0][i]) == 0,
              "%s, n = %zu: %zu is %g, not %g", r->name, n, i,
              (double)y[0][i], (double)run.y[i]);
}

// The product of x squared: H = 4 x[i] x[j] (p/x[i]x[j])^2, 2 p/x[i]^2 on the
// diagonal, also where a number is 0.
static void product_squared(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rows rows[] = { { x, 1, 1 } };
    static const ad_real one = 1;
    (void)ctx;
    BULK_OK(ad_map_reduce(bulk_square, bulk_mul, NULL, 4, 1, rows, 1, &one,
                          y));
}

static void closed_hessian(const ad_real *x)
{
    ad_fn *fn;
    const ad_real one = 1;
    ad_real H[16];
    if (!CHECK(ad_fn_record(&fn, product_squared, NULL, 4, x, 1) == ADREV_OK,
               "a product is not recorded"))
        return;
    CHECK(ad_fn_hessian(fn, x, &one, H) == ADREV_OK, "a Hessian");
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) {
            double want = i == j ? 2 : 4 * (double)x[i] * (double)x[j];
            for (size_t k = 0; k < 4; k++)
                want *= k == i || k == j ? 1 : (double)(x[k] * x[k]);
            CHECK_NEAR(H[4 * i + j], want, bulk_tolerance());
        }
    ad_fn_free(fn);
}

static void bulk_recorded(ad_tape *t)
{
    static const size_t n[] = { 0, 1, 2, 3, 31, 33, 65, 100, 200, 300 };
    static const ad_real x[][4] = { { 2, 3, .5, -1 }, { 2, 0, .5, -1 },
                                    { 0, 3, 0, 1 } };
    for (size_t i = 0; i < TABLE_ROWS; i++)
        table_recorded(&table[i]);
    table_other_winner();
    for (size_t i = 0; i < PAIRS; i++)
        for (size_t k = 0; k < sizeof n / sizeof n[0]; k++)
            if (n[k] <= pairs[i].most)
                pair_hessian(&pairs[i], t, n[k]);
    for (size_t i = 0; i < 3; i++)
        closed_hessian(x[i]);
}

#endif
