// SPDX-License-Identifier: MIT-0
// tags: formulas
/* zeros.c - a zero absorbs. Where the adjoint or the tangent of a function, a
 * quotient or a power is 0, what it adds is 0, whatever its partial is: for
 * each row of the operator table, at arguments where partials are infinite or
 * NaN, as on the tape; along strips, in sums, and behind maps. Powers at 0 have
 * the derivatives of ad_powi. A product that is no function does not absorb.
 * Where a maximum has no points it is -infinity, with derivative 0.         */

#include "implementation.h"
#include "adrev_tensor.h"
#include "check.h"

#define FRONT_select(name, x, y, z)  ad_select((x).v != 0, y, z)
#define FRONT_integer(name, x, y, z) ad_##name(x, (int)(y).v)
#define FRONT_order(name, x, y, z)   ad_##name((int)(x).v, y)
#include "fronts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1000, GIVEN = 5 };

static const double special[] = { 0, -0.0, 1, -1, 2.5, -0.5, 1e30,
                                  (double)INFINITY, -(double)INFINITY,
                                  (double)NAN };
enum { SPECIAL = sizeof special / sizeof special[0] };

static ad_real zero_or(ad_real factor, ad_real d)
{
    return factor == 0 || d == 0 ? 0 : factor * d;
}

static ad_tensor *opened(const char *text, const ad_tensor_options *o, size_t n)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 0 };
    CHECK(ad_tensor_new(&t, text, o, &e) == ADREV_OK, "%s", e.text);
    if (t != NULL && strstr(text, "[n]") != NULL)
        CHECK(ad_tensor_size(t, "n", n) == ADREV_OK, "size of %s", text);
    return t;
}

/* --- each row of the table ------------------------------------------------
 * but mul, which is a product.                                               */

typedef ad_rev row_fn(const ad_rev *a);

typedef struct row {
    const char *name;
    int arity;
    int op;
    row_fn *record;
} row;

#define DEFINE(name, n, ...)                                                \
    static ad_rev row_##name(const ad_rev *a)                               \
    {                                                                       \
        return ad_rec(CALL(name, n, a[0], a[1], a[2]));                     \
    }
ADREV_OPS(DEFINE)
#undef DEFINE

static const row rows[] = {
#define ENTER(name, n, ...)                                                 \
    { #name, n, ADREV_OP_##name, row_##name },
    ADREV_OPS(ENTER)
#undef ENTER
};
enum { ROWS = sizeof rows / sizeof rows[0] };

// c: whether u is chosen, and the row is not.
enum { C, U, X, Y, Z };

static ad_real given[GIVEN][MOST], along[GIVEN][MOST], weight[MOST];
static ad_real want[GIVEN][MOST];       // partials by the tape
static ad_real got[3][GIVEN][MOST];     // dx, hv, dy

// All combinations of special arguments. Returns how many.
static size_t fill_points(const row *r)
{
    size_t n = 1;
    for (int i = 0; i < r->arity; i++)
        n *= SPECIAL;
    for (size_t i = 0; i < n; i++) {
        size_t rest = i;
        for (int k = 0; k < 3; k++, rest /= SPECIAL)
            given[X + k][i] = (ad_real)special[rest % SPECIAL];
        if (whole_argument(r->op) == 1)
            given[Y][i] = (ad_real)(i / SPECIAL) - 4;
        if (whole_argument(r->op) == 0)
            given[X][i] = (ad_real)(i % SPECIAL);
        given[U][i] = (ad_real)(1 + i % 5) / 4;
        given[C][i] = (ad_real)(i / 2 % 2);
        weight[i] = (ad_real)(i % 5) / 2;
        for (int k = 0; k < GIVEN; k++)
            along[k][i] = (int)(i % 4) + 1 == k ? 3 : 0;
    }
    return n;
}

// The tape's partials of select(c, u, row).
static void sweep_points(ad_tape *t, const row *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ad_rev a[GIVEN];
        ad_real g[GIVEN];
        ad_tape_clear(t);
        for (int k = 0; k < GIVEN; k++)
            a[k] = ad_input(given[k][i]);
        ad_rev v = r->record(a + X);
        ad_rev f = ad_rec(ad_select(given[C][i] != 0, a[U], v));
        CHECK(ad_gradient(t, f, GIVEN, a, g) == ADREV_OK, "%s", r->name);
        for (int k = 0; k < GIVEN; k++)
            want[k][i] = g[k];
    }
}

static const char *const arguments[] = { "", "x[i]", "x[i], y[i]",
                                         "x[i], y[i], z[i]" };

static void check_vjp(const row *r, ad_tensor *t, size_t n)
{
    const ad_real *const x[] = { given[C], given[U], given[X], given[Y],
                                 given[Z] };
    const ad_real *const w[] = { weight };
    ad_real *const dx[] = { NULL, got[0][U], got[0][X], got[0][Y],
                            got[0][Z] };
    ad_status s = ad_tensor_vjp(t, x, w, NULL, dx);
    CHECK(s == ADREV_OK, "%s: %s", r->name, ad_message(s));
    for (int k = U; k <= U + r->arity; k++)
        for (size_t i = 0; i < n; i++)
            CHECK_CLOSE(got[0][k][i], zero_or(weight[i], want[k][i]), 8);
}

static void check_jvp(const row *r, ad_tensor *t, size_t n)
{
    const ad_real *const x[] = { given[C], given[U], given[X], given[Y],
                                 given[Z] };
    const ad_real *const v[] = { along[C], along[U], along[X], along[Y],
                                 along[Z] };
    ad_real *const dy[] = { got[2][0] };
    ad_status s = ad_tensor_jvp(t, x, v, NULL, dy);
    CHECK(s == ADREV_OK, "%s: %s", r->name, ad_message(s));
    for (size_t i = 0; i < n; i++) {
        int k = (int)(i % 4) + 1;
        ad_real d = k > U + r->arity ? 0 : want[k][i];
        CHECK_CLOSE(got[2][0][i], zero_or(3, d), 8);
    }
}

static void test_row(const row *r, ad_tape *tape, const ad_tensor_options *o)
{
    char text[200];
    size_t n = fill_points(r);
    snprintf(text, sizeof text, "in c[n], u[n], x[n], y[n], z[n];"
             "out f[i<n] = select(c[i], u[i], %s(%s));", r->name,
             arguments[r->arity]);
    ad_tensor *t = opened(text, o, n);
    sweep_points(tape, r, n);
    check_vjp(r, t, n);
    check_jvp(r, t, n);
    ad_tensor_free(t);
}

// Where the row is not chosen, all that is left is that of u^2.
static void test_second(const row *r, const ad_tensor_options *o)
{
    char text[200];
    size_t n = fill_points(r);
    const ad_real *const x[] = { given[C], given[U], given[X], given[Y],
                                 given[Z] };
    const ad_real *const w[] = { weight };
    const ad_real *const v[] = { along[C], along[U], along[X], along[Y],
                                 along[Z] };
    ad_real *const hv[] = { NULL, got[1][U], got[1][X], got[1][Y],
                            got[1][Z] };
    snprintf(text, sizeof text, "in c[n], u[n], x[n], y[n], z[n];"
             "out f[i<n] = select(c[i], u[i]^2, 1 + %s(%s));", r->name,
             arguments[r->arity]);
    ad_tensor *t = opened(text, o, n);
    ad_status s = ad_tensor_hvp(t, x, w, v, hv);
    CHECK(s == ADREV_OK, "%s: %s", r->name, ad_message(s));
    for (int k = U; k <= U + r->arity; k++)
        for (size_t i = 0; i < n; i++)
            if (given[C][i] != 0)
                CHECK_CLOSE(got[1][k][i],
                            k == U ? 2 * weight[i] * along[U][i] : 0, 2);
    ad_tensor_free(t);
}

// The first argument is one number for all: its adjoint is a sum. The row is
// chosen where that number's partial is finite.
static void test_sum(const row *r, ad_tape *tape, const ad_tensor_options *o)
{
    char text[200];
    const char *const args[] = { "", "a", "a, y[i]", "a, y[i], z[i]" };
    size_t n = fill_points(r);
    long double sum = 0;
    ad_real a, dx[1];
    snprintf(text, sizeof text, "in c[n], a, y[n], z[n];"
             "out f[i<n] = select(c[i], 1, %s(%s));", r->name, args[r->arity]);
    const ad_real *const x[] = { given[C], &a, given[Y], given[Z] };
    const ad_real *const w[] = { weight };
    ad_real *const to[] = { NULL, dx, NULL, NULL };
    ad_tensor *t = opened(text, o, n);
    for (int p = 0; p < SPECIAL; p++) {
        a = (ad_real)(whole_argument(r->op) == 0 ? p : special[p]);
        for (size_t i = 0; i < n; i++) {
            given[X][i] = a;
            given[C][i] = 0;
        }
        sweep_points(tape, r, n);
        sum = 0;
        for (size_t i = 0; i < n; i++) {
            given[C][i] = want[X][i] - want[X][i] == 0 ? 0 : 1;
            if (given[C][i] == 0)
                sum += (long double)want[X][i] * (long double)weight[i];
        }
        CHECK(ad_tensor_vjp(t, x, w, NULL, to) == ADREV_OK, "%s", text);
        CHECK(fabsl((long double)dx[0] - sum) <= 1e-4L * fabsl(sum) + 1e-6L,
              "%s at %g: %g, not %Lg", text, (double)a, (double)dx[0], sum);
    }
    ad_tensor_free(t);
}

static void test_rows(ad_tape *tape)
{
    const ad_tensor_options all[] = { { .fused = false }, { .fused = true } };
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < 2 && strcmp(rows[i].name, "mul") != 0; k++) {
            test_row(&rows[i], tape, &all[k]);
            test_second(&rows[i], &all[k]);
            test_sum(&rows[i], tape, &all[k]);
        }
}

/* --- quotients and maps --------------------------------------------------- */

// A choice between 1 and what is infinite, or NaN, at x = 0.
static void test_choices(void)
{
    static const char *const all[] = {
        "sqrt(x[i])", "1/x[i]", "x[i]/x[i]", "1/x[i]^2", "1/(x[i]*x[i])",
        "x[i]^-1", "x[i]^-2", "x[i]^-5", "fma(x[i], log(x[i]), 0)",
        "exp(1/x[i])", "sin(1/x[i])", "cbrt(x[i])^2", "pow(x[i], 0.5)",
        "sqrt(sqrt(x[i]))", "atan2(x[i], x[i])", "asin(1 + x[i])",
        "log(sum(j<2) x[i])", "sqrt(maximum(j<2) x[i])"
    };
    const ad_real x[] = { 0, -0.0, 0, 0, 0, 0, 0, 0, 0 };
    const ad_real v[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    ad_real f, y[1], g[9], h[9], dy;
    const ad_real *const in[] = { x }, *const dir[] = { v };
    ad_real *const to[] = { g }, *const ht[] = { h };
    ad_real *const yt[] = { y }, *const dt[] = { &dy };
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        char text[200];
        snprintf(text, sizeof text,
                 "in x[n]; out f = sum(i) select(lt(x[i],1), 1, %s);", all[k]);
        ad_tensor *t = opened(text, NULL, 9);
        CHECK(ad_tensor_gradient(t, in, &f, to) == ADREV_OK
                  && ad_tensor_jvp(t, in, dir, yt, dt) == ADREV_OK
                  && ad_tensor_hvp(t, in, NULL, dir, ht) == ADREV_OK
                  && f == 9 && y[0] == 9 && dy == 0, "%s: %g", text, (double)f);
        for (int i = 0; i < 9; i++)
            CHECK(g[i] == 0, "%s: %g", text, (double)g[i]);
        ad_tensor_free(t);
    }
}

// Entries of which some are 0, behind a map, in more strips than one.
static void test_map(void)
{
    enum { E = 300, N = 7 };
    static int to[E];
    static ad_real c[E];
    ad_real x[N], g[N];
    long double sum[N] = { 0 };
    const ad_real *const in[] = { x, c };
    ad_real *const dx[] = { g, NULL };
    ad_tensor *t = opened("map m[e]->k; in x[k], c[e];"
                          "out f = sum(i<e) select(c[i], 1, sqrt(x[m[i]]));",
                          NULL, 0);
    for (int i = 0; i < N; i++)
        x[i] = (ad_real)(i % 3);
    for (int i = 0; i < E; i++) {
        to[i] = i * 5 % N;
        c[i] = x[to[i]] == 0 || i % 4 == 0 ? 1 : 0;
        sum[to[i]] += c[i] != 0 ? 0 : 0.5L / sqrtl((long double)x[to[i]]);
    }
    CHECK(ad_tensor_size(t, "e", E) == ADREV_OK
              && ad_tensor_size(t, "k", N) == ADREV_OK
              && ad_tensor_map(t, "m", to) == ADREV_OK
              && ad_tensor_gradient(t, in, NULL, dx) == ADREV_OK, "a map");
    for (int i = 0; i < N; i++)
        CHECK_CLOSE(g[i], sum[i], 64);
    ad_tensor_free(t);
}

// A product of the text is computed as it stands.
static void test_products(void)
{
    const ad_real x[] = { 0, (ad_real)INFINITY };
    ad_real g[2];
    const ad_real *const in[] = { &x[0], &x[1] };
    ad_real *const to[] = { &g[0], &g[1] };
    ad_tensor *t = opened("in x, y; out f = select(1, x, y*log(x));", NULL, 0);
    CHECK(ad_tensor_gradient(t, in, NULL, to) == ADREV_OK && g[1] != g[1],
          "a product absorbs");
    ad_tensor_free(t);
    t = opened("in x, y; out f = select(1, x, fma(y, log(x), 0));", NULL, 0);
    CHECK(ad_tensor_gradient(t, in, NULL, to) == ADREV_OK && g[0] == 1
              && g[1] == 0, "fma does not absorb");
    ad_tensor_free(t);
}

// The length of a vector of zeros: on the tape, too, the zero of 2*x absorbs.
static void test_length(void)
{
    const ad_real x[] = { 0, 0, 0 };
    ad_real g[3];
    const ad_real *const in[] = { x };
    ad_real *const to[] = { g };
    ad_tensor *t = opened("in x[n]; out f = sqrt(sum(i) x[i]^2);", NULL, 3);
    CHECK(ad_tensor_gradient(t, in, NULL, to) == ADREV_OK, "a length");
    CHECK(g[0] == 0 && g[1] == 0 && g[2] == 0, "a length: %g", (double)g[0]);
    ad_tensor_free(t);
}

/* --- powers --------------------------------------------------------------- */

static ad_real powi_slope(ad_tape *tape, ad_real x, int power)
{
    ad_real g = 0;
    ad_tape_clear(tape);
    ad_rev a = ad_input(x);
    ad_rev f = ad_rec(ad_powi(a, power));
    CHECK(ad_gradient(tape, f, 1, &a, &g) == ADREV_OK, "powi");
    return g;
}

static ad_real powi_curvature(ad_real x, int power)
{
    int factor = power * (power - 1);
    return factor == 0 && x == x ? 0
         : (ad_real)(factor * pow((double)x, power - 2));
}

static void test_power(ad_tape *tape, int power, const ad_tensor_options *o)
{
    char text[100];
    ad_real x[SPECIAL], w[SPECIAL], v[SPECIAL], g[SPECIAL], h[SPECIAL];
    ad_real d[SPECIAL];
    const ad_real *const in[] = { x }, *const seed[] = { w };
    const ad_real *const dir[] = { v };
    ad_real *const dx[] = { g }, *const hv[] = { h }, *const dy[] = { d };
    for (int i = 0; i < SPECIAL; i++) {
        x[i] = (ad_real)(special[i] / (special[i] == 1e30 ? 1e29 : 1));
        w[i] = v[i] = 1;
    }
    snprintf(text, sizeof text, "in x[n]; out y[i] = x[i]^%d;", power);
    ad_tensor *t = opened(text, o, SPECIAL);
    CHECK(ad_tensor_vjp(t, in, seed, NULL, dx) == ADREV_OK
              && ad_tensor_jvp(t, in, dir, NULL, dy) == ADREV_OK
              && ad_tensor_hvp(t, in, seed, dir, hv) == ADREV_OK, "%s", text);
    for (int i = 0; i < SPECIAL; i++) {
        if (x[i] != x[i] && power < 2)
            continue;
        ad_real slope = powi_slope(tape, x[i], power);
        CHECK_CLOSE(g[i], slope, 16);
        CHECK_CLOSE(d[i], slope, 16);
        CHECK_CLOSE(h[i], powi_curvature(x[i], power), 32);
    }
    ad_tensor_free(t);
}

// A power that is not chosen, of infinite and other numbers.
static void test_unchosen_power(int power)
{
    char text[100];
    ad_real x[SPECIAL], g[SPECIAL], h[SPECIAL], v[SPECIAL];
    const ad_real *const in[] = { x }, *const dir[] = { v };
    ad_real *const dx[] = { g }, *const hv[] = { h };
    for (int i = 0; i < SPECIAL; i++) {
        x[i] = (ad_real)special[i];
        v[i] = 1;
    }
    snprintf(text, sizeof text,
             "in x[n]; out f = sum(i) select(1, 2, x[i]^%d);", power);
    ad_tensor *t = opened(text, NULL, SPECIAL);
    CHECK(ad_tensor_gradient(t, in, NULL, dx) == ADREV_OK
              && ad_tensor_hvp(t, in, NULL, dir, hv) == ADREV_OK, "%s", text);
    for (int i = 0; i < SPECIAL; i++)
        CHECK(g[i] == 0 && h[i] == 0, "%s at %g: %g %g", text, (double)x[i],
              (double)g[i], (double)h[i]);
    ad_tensor_free(t);
}

static void test_powers(ad_tape *tape)
{
    const ad_tensor_options written = { .as_written = true };
    for (int power = -6; power <= 6; power++) {
        test_power(tape, power, NULL);
        test_power(tape, power, &written);
        test_unchosen_power(power);
    }
}

/* --- maxima of nothing ---------------------------------------------------- */

// Rows 1 and 3 of R are empty; in the others the maximum is the second entry.
static void test_no_points(const char *word, ad_real none)
{
    static const int start[] = { 0, 2, 2, 4, 4 };
    static const int column[] = { 0, 1, 2, 0 };
    const ad_real a[] = { 1, -2, -3, 4 };
    const ad_real w[] = { 1, 2, 3, 4 }, v[] = { 1, 1, 1, 1 };
    const int most = strcmp(word, "maximum") == 0 ? 0 : 1;
    const ad_real *const in[] = { a }, *const seed[] = { w };
    const ad_real *const dir[] = { v };
    ad_real y[4], g[4], d[4], h[4];
    ad_real *const out[] = { y }, *const dx[] = { g }, *const dy[] = { d };
    ad_real *const hv[] = { h };
    char text[100];
    ad_tensor_cost cost;
    snprintf(text, sizeof text, "rel R[n,n]; in A[R];"
             "out y[i<n] = %s(j: R(i,j)) A[i,j];", word);
    ad_tensor *t = opened(text, NULL, 0);
    CHECK(ad_tensor_size(t, "n", 4) == ADREV_OK
              && ad_tensor_csr(t, "R", start, column) == ADREV_OK
              && ad_tensor_vjp(t, in, seed, out, dx) == ADREV_OK
              && ad_tensor_jvp(t, in, dir, NULL, dy) == ADREV_OK
              && ad_tensor_hvp(t, in, seed, dir, hv) == ADREV_OK
              && ad_tensor_count(t, ADREV_TENSOR_VALUE, NULL, &cost)
                     == ADREV_OK, "%s", text);
    CHECK(cost.fn == 2, "%s counts %d", word, (int)cost.fn);
    CHECK(y[0] == a[most] && y[2] == a[3 - most] && y[1] == none
              && y[3] == none, "%s: %g %g", word, (double)y[1], (double)y[3]);
    for (int i = 0; i < 4; i++) {
        bool picked = i == most || i == 3 - most;
        CHECK(g[i] == (picked ? w[i / 2 * 2] : 0) && h[i] == 0
                  && d[i] == (i % 2 == 0 ? 1 : 0), "%s: %d: %g %g", word, i,
              (double)g[i], (double)d[i]);
    }
    ad_tensor_free(t);
}

// A maximum of maxima is the maximum of all; a condition that is never true,
// and a size of 0.
static void test_nothing(void)
{
    static const char *const all[] = {
        "in x[n]; out f = maximum(i) x[i];",
        "in x[n]; out f = maximum(i: i < 0) x[i];",
        "in x[n]; out f = maximum(i<n) maximum(j: j < i-n) exp(x[j]);",
        "in x[n]; out f = -minimum(i: i > n) (x[i] + 1);",
    };
    const ad_real x[] = { -1, -2, -3 };
    ad_real f = 0, g[3] = { 7, 7, 7 };
    const ad_real *const in[] = { x };
    ad_real *const to[] = { g };
    for (int k = 0; k < 4; k++) {
        size_t n = k == 0 ? 0 : 3;
        ad_tensor *t = opened(all[k], NULL, n);
        ad_status s = ad_tensor_gradient(t, in, &f, to);
        CHECK(s == ADREV_OK && f == -ADX_K(INFINITY), "%s %s: %g", all[k],
              ad_message(s), (double)f);
        for (size_t i = 0; i < n; i++)
            CHECK(g[i] == 0, "%s: %g", all[k], (double)g[i]);
        ad_tensor_free(t);
    }
    ad_tensor *t = opened("in x[n];"
                          "out f = maximum(i<n) maximum(j: j < i) x[j];", NULL,
                          3);
    CHECK(ad_tensor_gradient(t, in, &f, to) == ADREV_OK && f == -1
              && g[0] == 1 && g[1] == 0 && g[2] == 0, "a maximum of maxima");
    ad_tensor_free(t);
}

int main(void)
{
    ad_tape *tape = ad_tape_new();
    ad_use(tape);
    test_rows(tape);
    test_choices();
    test_map();
    test_products();
    test_length();
    test_powers(tape);
    test_no_points("maximum", -ADX_K(INFINITY));
    test_no_points("minimum", ADX_K(INFINITY));
    test_nothing();
    ad_tape_free(tape);
    return check_done("zeros");
}
