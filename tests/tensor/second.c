// SPDX-License-Identifier: MIT-0
// tags: slow formulas recorded
/* second.c - second derivatives of formulas with each row of the table.
 *
 * Each row is an expression in sums, products, quotients, powers and the
 * argument of a maximum. The same is recorded as a function of scalars
 * (adrev_function.h), whose program adrev differentiates by other means: the
 * products with the Hessian agree, and ad_tensor_hvp is symmetric. The rows
 * themselves are compared with closed forms in tests/core/second_partials.c.
 *
 * Then counts, and programs whose functions have few points.                */

#include "implementation.h"
#include "adrev_function.h"
#include "adrev_tensor.h"

#include "check.h"
#include "random_numbers.h"

#define FRONT_select(name, x, y, z)  ad_select((x).v != 0, y, z)
#define FRONT_integer(name, x, y, z) ad_##name(x, exponent)
#define FRONT_order(name, x, y, z)   ad_##name(exponent, y)
#include "fronts.h"

#include <stdlib.h>
#include <string.h>

enum { N = 3, ROUNDS = 8, SIZE = 3 * N };

static ad_real weight(size_t i) { return (ad_real)(1 + i) / 4; }

/* --- a row in formulas ----------------------------------------------------
 * u, v and m are the row at other arguments: parts of what is added up.      */

static const char formulas[] =
    "in x[n], y[n], z[n], w[n];\n"
    "u[i] = %s;\n"
    "m = maximum(i) w[i]*u[i];\n"
    "out f = sum(i) (w[i]*u[i]*x[i] + u[i]^3 + u[i]/(4 + u[i]^2)\n"
    "                + (4 + y[i]^2)^-2*u[i]) + m^2;\n";

typedef ad_rev row_fn(const ad_rev *a, int exponent);

#define DEFINE(name, n, ...)                                                \
    static ad_rev row_##name(const ad_rev *a, int exponent)                 \
    {                                                                       \
        (void)exponent;                                                     \
        return ad_rec(CALL(name, n, a[0], a[1], a[2]));                     \
    }
ADREV_OPS(DEFINE)
#undef DEFINE

static row_fn *const rows[] = {
#define ENTER(name, ...) row_##name,
    ADREV_OPS(ENTER)
#undef ENTER
};
enum { ROWS = sizeof rows / sizeof rows[0] };

typedef struct task {
    row_fn *row;
    int exponent[N];
} task;

// The formulas, for x, y and z one behind the other.
static void by_scalars(const ad_rev *x, ad_rev *y, void *ctx)
{
    const task *task = ctx;
    ad_rev f = ad_rec(0.0);
    ad_rev m = ad_rec(0.0);
    for (size_t i = 0; i < N; i++) {
        const ad_rev a[] = { x[i], x[N + i], x[2 * N + i] };
        ad_rev u = task->row(a, task->exponent[i]);
        ad_rev wu = ad_rec(ad_mul(weight(i), u));
        ad_rev v = ad_rec(ad_mul(ad_sqr(u), u));
        ad_rev q = ad_rec(ad_div(u, ad_add(4, ad_sqr(u))));
        ad_rev p = ad_rec(ad_div(u, ad_sqr(ad_add(4, ad_sqr(a[1])))));
        m = i == 0 || ad_gt(wu, m) ? wu : m;
        f = ad_rec(ad_add(f, ad_add(ad_mul(wu, a[0]),
                                    ad_add(v, ad_add(q, p)))));
    }
    y[0] = ad_rec(ad_add(f, ad_sqr(m)));
}

static ad_tensor *made(const char *text)
{
    ad_tensor_error error = { .text = "" };
    ad_tensor *t = NULL;
    if (CHECK(ad_tensor_new(&t, text, NULL, &error) == ADREV_OK
                  && ad_tensor_size(t, "n", N) == ADREV_OK
                  && ad_tensor_bind(t, &error) == ADREV_OK, "%s: %s", text,
              error.text))
        return t;
    ad_tensor_free(t);
    return NULL;
}

static ad_tensor *formulas_of(const ad_op_info *row)
{
    static const char *const list[] = { "x[i]", "x[i], y[i]",
                                        "x[i], y[i], z[i]" };
    char call[64], text[512];
    snprintf(call, sizeof call, "%s(%s)", row->name, list[row->arity - 1]);
    snprintf(text, sizeof text, formulas, call);
    return made(text);
}

static void product_of(ad_tensor *t, const ad_real x[SIZE],
                       const ad_real v[SIZE], ad_real hv[SIZE])
{
    const ad_real w[N] = { weight(0), weight(1), weight(2) }, one = 1;
    const ad_real *in[] = { x, x + N, x + 2 * N, w };
    const ad_real *dir[] = { v, v + N, v + 2 * N, NULL }, *ws[] = { &one };
    ad_real *out[] = { hv, hv + N, hv + 2 * N, NULL };
    CHECK(ad_tensor_hvp(t, in, ws, dir, out) == ADREV_OK, "hvp");
}

// The arguments of row `op`, inside its box; those that are whole stay whole.
static void draw_arguments(ad_opcode op, uint64_t *seed, ad_real x[SIZE])
{
    const double *box = ad_op_table()[op].box;
    int whole = whole_argument((int)op);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < N; i++) {
            double at = oracle_uniform(seed, box[2 * k], box[2 * k + 1]);
            x[k * N + i] = (ad_real)(k == whole ? (int)at : at);
        }
}

// An exponent or order has no derivative; but x and y are in the formulas, too.
static void run_round(ad_opcode op, ad_tensor *t, uint64_t *seed)
{
    const char *name = ad_op_table()[op].name;
    ad_real x[SIZE], v[SIZE], hv[SIZE], want[SIZE], one = 1;
    task task = { .row = rows[op] };
    ad_fn *fn = NULL;
    draw_arguments(op, seed, x);
    for (int i = 0; i < N; i++)
        task.exponent[i] = (int)x[whole_argument((int)op) == 0 ? i : N + i];
    for (int i = 0; i < SIZE; i++)
        v[i] = (ad_real)oracle_uniform(seed, -1, 1);
    if (!CHECK(ad_fn_record(&fn, by_scalars, &task, SIZE, x, 1) == ADREV_OK
                   && ad_fn_hvp(fn, x, &one, v, want) == ADREV_OK,
               "%s is recorded", name))
        return;
    ad_real largest = 0;
    product_of(t, x, v, hv);
    for (int i = 0; i < SIZE; i++)
        largest = want[i] > largest ? want[i]
                : -want[i] > largest ? -want[i] : largest;
    for (int i = 0; i < SIZE; i++)
        CHECK(hv[i] - want[i] <= 1e-13 * (1 + largest)
                  && want[i] - hv[i] <= 1e-13 * (1 + largest),
              "%s, %d: got %.17g, want %.17g", name, i, (double)hv[i],
              (double)want[i]);
    ad_fn_free(fn);
}

static void run_symmetry(ad_opcode op, ad_tensor *t, uint64_t *seed)
{
    ad_real x[SIZE], H[SIZE][SIZE];
    draw_arguments(op, seed, x);
    for (int i = 0; i < SIZE; i++) {
        ad_real v[SIZE] = { 0 };
        v[i] = 1;
        product_of(t, x, v, H[i]);
    }
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < i; j++)
            CHECK_NEAR(H[i][j], H[j][i], 1e-12);
}

static void run_row(ad_opcode op)
{
    uint64_t seed = 0x9e3779b97f4a7c15u + op;
    ad_tensor *t = formulas_of(&ad_op_table()[op]);
    for (int i = 0; i < ROUNDS && t != NULL; i++)
        run_round(op, t, &seed);
    if (t != NULL)
        run_symmetry(op, t, &seed);
    ad_tensor_free(t);
}

/* --- A24: counts, few points ---------------------------------------------- */

static void run_count(const char *text, uint64_t add, uint64_t mul, uint64_t fn)
{
    ad_tensor *t = made(text);
    ad_tensor_cost c = { 0 };
    if (t == NULL)
        return;
    CHECK(ad_tensor_count(t, ADREV_TENSOR_HVP, NULL, &c) == ADREV_OK
              && c.add == add && c.mul == mul && c.fn == fn,
          "%s: %d additions, %d multiplications, %d functions; want %d, %d, %d",
          text, (int)c.add, (int)c.mul, (int)c.fn, (int)add, (int)mul, (int)fn);
    ad_tensor_free(t);
}

// At i = 1 alone there are a sine and second derivatives; y is not there else.
static void run_few(void)
{
    ad_tensor *t = made("in x[n]; y[i] = [i == 1] x[i]^2;"
                        "out f = sum(i) [0 < i < 2] sin(y[i]*x[i]);");
    const ad_real x[] = { (ad_real)NAN, (ad_real)0.5, (ad_real)NAN }, one = 1;
    const ad_real v[] = { 1, 2, 1 }, *in[] = { x }, *w[] = { &one };
    const ad_real *dir[] = { v };
    ad_real hv[N], *out[] = { hv };
    if (t == NULL)
        return;
    CHECK(ad_tensor_hvp(t, in, w, dir, out) == ADREV_OK, "hvp");
    // sin(x^3): 6 x cos(x^3) - 9 x^4 sin(x^3)
    CHECK_NEAR(hv[1], 2 * (3 * cosl(0.125L) - 9.0L / 16 * sinl(0.125L)),
               1e-14);
    CHECK(hv[0] == 0 && hv[2] == 0, "elsewhere: %g, %g", (double)hv[0],
          (double)hv[2]);
    ad_tensor_free(t);
}

// As C has them: row k of the steps, or of the comparisons behind them.
static ad_real step_value(size_t k, ad_real x, ad_real y)
{
    const double a = (double)x;
    const double value[] = {
        floor(a), ceil(a), trunc(a), round(a), rint(a), nearbyint(a),
        (a > 0) - (a < 0), x < y, x <= y, x > y, x >= y, x == y, x != y
    };
    return (ad_real)value[k];
}

// Steps and comparisons have values, and derivative 0.
static void run_steps(void)
{
    static const char *const calls[] = {
#define ENTER(name, ...) #name "(x[i])",
        ADREV_STEPS(ENTER)
#undef ENTER
#define ENTER(name, operator) #name "(x[i], y[i])",
        ADREV_COMPARISONS(ENTER)
#undef ENTER
    };
    const ad_real x[] = { (ad_real)-1.5, 2, (ad_real)0.75 }, y[] = { 3, 2, -1 };
    const ad_real *in[] = { x, y };
    for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
        char text[200];
        snprintf(text, sizeof text, "in x[n], y[n]; out u[i] = %s;"
                 "out f = sum(i) x[i]*%s;", calls[k], calls[k]);
        ad_tensor *t = made(text);
        ad_real u[N], f, gx[N], gy[N];
        ad_real *out[] = { u, &f }, *g[] = { gx, gy };
        const ad_real one = 1, *w[] = { NULL, &one };
        if (t != NULL)
            CHECK(ad_tensor_vjp(t, in, w, out, g) == ADREV_OK, "%s", text);
        for (int i = 0; i < N && t != NULL; i++) {
            CHECK(u[i] == step_value(k, x[i], y[i]), "%s at %d: got %g",
                  calls[k], i, (double)u[i]);
            CHECK(gx[i] == u[i] && gy[i] == 0, "gradient of %s", calls[k]);
        }
        ad_tensor_free(t);
    }
}

int main(void)
{
    run_steps();
    for (int op = 0; op < ROWS; op++)
        run_row((ad_opcode)op);
    // -sin(x) is one function; times v, and times the weight of the result
    run_count("in x[n]; out f = sum(i) sin(x[i]);", 0, 2 * N, N);
    // two seconds for each argument, four products, two sums; two weights
    run_count("in x[n], y[n]; out f = sum(i) atan2(x[i], y[i]);", 2 * N, 6 * N,
              4 * N);
    // linear in pieces: nothing to be done
    run_count("in x[n]; out f = sum(i) relu(x[i]);", 0, 0, 0);
    run_count("in x[n], y[n]; out f = sum(i) max(x[i], abs(y[i]));", 0, 0, 0);
    // the exponent of powi has no derivative
    run_count("in x[n], y[n]; out f = sum(i) powi(x[i], y[i]);", 0, 2 * N, N);
    run_few();
    return check_done("second");
}
