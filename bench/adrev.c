// SPDX-License-Identifier: MIT-0
/* adrev.c - the programs of plain.c with adrev.
 *
 * Loops over single numbers, as a user would translate them: one ad_rec per
 * statement, ad_acc for +=. Array statements would be faster in dot, matvec and
 * nn, but would measure something else.
 */

#define ADREV_IMPLEMENTATION
#include "../adrev.h"

#include "adrev_tool.h"
#include "real.h"

#include <stdlib.h>
#include <string.h>

static ad_tape *tape;
static ad_rev *room_base;
static size_t room_size;

// The user's arrays of numbers, kept between gradients like the tape.
static ad_rev *room(size_t n)
{
    if (n > room_size) {
        free(room_base);
        room_base = malloc(n * sizeof *room_base);
        room_size = room_base ? n : 0;
    }
    return room_base;
}

static void release(void)
{
    ad_tape_free(tape);
    free(room_base);
    tape = NULL;
    room_base = NULL;
    room_size = 0;
}

static size_t bytes(void)
{
    return ad_tape_bytes(tape);
}

// A new recording.
static inline void clear(void)
{
    if (!tape) {
        tape = ad_tape_new();
        ad_use(tape);
    }
    ad_tape_clear(tape);
}

// The same with its inputs; extra numbers follow them, for the program.
static ad_rev *begin(const bench_case *c, const double *x, size_t extra)
{
    ad_rev *in = room(c->inputs + extra);

    clear();
    ad_inputs(c->inputs, x, in);
    return in;
}

// On failure dy stays as the driver has set it: not a number.
static void finish(const bench_case *c, const ad_rev *in, ad_rev out,
                   double *y, double *dy)
{
    *y = ad_value(out);
    ad_ignore(ad_gradient(tape, out, c->inputs, in, dy));
}

ad_tape *tool_clear(void)
{
    clear();
    return tape;
}

ad_rev *tool_begin(const bench_case *c, const double *x, size_t extra)
{
    return begin(c, x, extra);
}

void tool_finish(const bench_case *c, const ad_rev *in, ad_rev out, double *y,
                 double *dy)
{
    finish(c, in, out, y, dy);
}

ad_rev *tool_room(size_t n)
{
    return room(n);
}

/* ---------------------------------------------------------------------------
 * mul, rotquat
 * ------------------------------------------------------------------------- */

static void run_mul(const bench_case *c, const double *x, double *y, double *dy)
{
    ad_rev in[2];

    clear();
    ad_inputs(2, x, in);
    finish(c, in, ad_rec(ad_mul(in[0], in[1])), y, dy);
}

// One statement with six operands.
static ad_rev product3(const ad_rev *a, const ad_rev *b)
{
    return ad_rec(ad_add(ad_add(ad_mul(a[0], b[0]), ad_mul(a[1], b[1])),
                         ad_mul(a[2], b[2])));
}

// Component i, given the two products that make that of u x v.
#define ROTATED(i, plus, minus)                                               \
    ad_rec(ad_add(ad_add(ad_mul(along, u[i]), ad_mul(scale, v[i])),           \
                  ad_mul(twice, ad_sub(plus, minus))))

static void rotate(const ad_rev *v, const ad_rev *u, ad_rev s, ad_rev *out)
{
    const ad_rev uv = product3(u, v);
    const ad_rev uu = product3(u, u);
    const ad_rev along = ad_rec(ad_mul(2.0, uv));
    const ad_rev scale = ad_rec(ad_sub(ad_mul(s, s), uu));
    const ad_rev twice = ad_rec(ad_mul(2.0, s));

    out[0] = ROTATED(0, ad_mul(u[1], v[2]), ad_mul(u[2], v[1]));
    out[1] = ROTATED(1, ad_mul(u[2], v[2]), ad_mul(u[0], v[2]));
    out[2] = ROTATED(2, ad_mul(u[0], v[1]), ad_mul(u[1], v[0]));
}

#undef ROTATED

// Three outputs: ad_jacobian sweeps them together.
static void run_rotquat(const bench_case *c, const double *x,
                        double *y, double *dy)
{
    ad_rev in[7];
    ad_rev out[3];

    clear();
    ad_inputs(7, x, in);
    rotate(in, in + 3, in[6], out);
    for (int i = 0; i < 3; i++) {
        y[i] = ad_value(out[i]);
    }
    ad_ignore(ad_jacobian(tape, 3, out, c->inputs, in, dy));
}

/* ---------------------------------------------------------------------------
 * dot, matvec, nn
 * ------------------------------------------------------------------------- */

// n statements: s += x*y has three operands, of which the first is the value
// before, with partial 1.
static ad_rev dot(size_t n, const ad_rev *x, const ad_rev *y)
{
    ad_rev s = { 0 };

    for (size_t i = 0; i < n; i++) {
        ad_acc(&s, ad_mul(x[i], y[i]));
    }
    return s;
}

static void run_dot(const bench_case *c, const double *x, double *y, double *dy)
{
    const ad_rev *in = begin(c, x, 0);

    finish(c, in, dot(c->size, in, in + c->size), y, dy);
}

static void run_matvec(const bench_case *c, const double *x,
                       double *y, double *dy)
{
    const size_t n = c->size;
    const ad_rev *in = begin(c, x, 0);
    ad_rev sum = { 0 };

    for (size_t i = 0; i < n; i++) {
        ad_acc(&sum, dot(n, in + i * n, in + n * n));
    }
    finish(c, in, sum, y, dy);
}

// Weights m x n row-major, then biases; returns what follows them.
static const ad_rev *dense_relu(size_t m, size_t n, const ad_rev *w,
                                const ad_rev *x, ad_rev *y)
{
    const ad_rev *b = w + m * n;

    for (size_t i = 0; i < m; i++) {
        ad_rev s = b[i];

        for (size_t j = 0; j < n; j++) {
            ad_acc(&s, ad_mul(w[i * n + j], x[j]));
        }
        y[i] = ad_rec(ad_relu(s));
    }
    return b + m;
}

// Comparing looks at values, and copying a number records nothing: the maximum
// is free.
static ad_rev weighted_softmax(size_t n, ad_rev *h)
{
    ad_rev top = { 0 };
    ad_rev total = { 0 };
    ad_rev sum = { 0 };

    for (size_t i = 0; i < n; i++) {
        top = ad_gt(h[i], top) ? h[i] : top;
    }
    for (size_t i = 0; i < n; i++) {
        h[i] = ad_rec(ad_exp(ad_sub(h[i], top)));
        ad_acc(&total, h[i]);
    }
    for (size_t i = 0; i < n; i++) {
        const double weight = (double)(i + 1) / (double)n;

        ad_acc(&sum, ad_mul(weight, ad_div(h[i], total)));
    }
    return sum;
}

static void run_nn(const bench_case *c, const double *x, double *y, double *dy)
{
    const ad_rev *in = begin(c, x, 0);
    const ad_rev *next;
    ad_rev hidden[BENCH_NN_HIDDEN];
    ad_rev out[BENCH_NN_OUT];

    next = dense_relu(BENCH_NN_HIDDEN, BENCH_NN_IN, in,
                      in + c->inputs - BENCH_NN_IN, hidden);
    dense_relu(BENCH_NN_OUT, BENCH_NN_HIDDEN, next, hidden, out);
    finish(c, in, weighted_softmax(BENCH_NN_OUT, out), y, dy);
}

/* ---------------------------------------------------------------------------
 * particles, loop, forward
 * ------------------------------------------------------------------------- */

// Three short statements per component and step. What is overwritten in p and v
// lives on in the tape.
static void spring(size_t steps, ad_rev *p, ad_rev *v)
{
    for (size_t k = 0; k < steps; k++) {
        for (int i = 0; i < 2; i++) {
            const ad_rev a = ad_rec(ad_div(ad_sub(ad_mul(-BENCH_SPRING_K, p[i]),
                                                  ad_mul(BENCH_SPRING_D, v[i])),
                                           BENCH_SPRING_M));

            p[i] = ad_rec(ad_add(p[i], ad_mul(BENCH_SPRING_H, v[i])));
            v[i] = ad_rec(ad_add(v[i], ad_mul(BENCH_SPRING_H, a)));
        }
    }
}

static void run_particles(const bench_case *c, const double *x,
                          double *y, double *dy)
{
    const ad_rev *in = begin(c, x, 0);
    ad_rev sum = { 0 };

    for (size_t i = 0; i < c->size; i++) {
        ad_rev p[2] = { in[4 * i], in[4 * i + 1] };
        ad_rev v[2] = { in[4 * i + 2], in[4 * i + 3] };

        spring(c->steps, p, v);
        ad_acc(&sum, ad_mul(p[0], p[1]));
    }
    finish(c, in, sum, y, dy);
}

// sin(x)*a + exp(-x*x)*b + c: a macro, so that ad_rev and ad_fwd share it
#define LOOP_STEP(x, in)                                                      \
    ad_add(ad_add(ad_mul(ad_sin(x), (in)[1]),                                 \
                  ad_mul(ad_exp(ad_mul(ad_neg(x), x)), (in)[2])),             \
           (in)[3])

static void run_loop(const bench_case *c, const double *start,
                     double *y, double *dy)
{
    const ad_rev *in = begin(c, start, 0);
    ad_rev x = in[0];
    ad_rev sum = { 0 };

    for (size_t k = 0; k < c->steps; k++) {
        x = ad_rec(LOOP_STEP(x, in));
        ad_acc(&sum, x);
    }
    finish(c, in, ad_rec(ad_div(sum, (double)c->steps)), y, dy);
}

// Forward mode needs no tape: the same expressions carry value and tangent.
static void run_forward(const bench_case *c, const double *start,
                        double *y, double *dy)
{
    static const double d[] = BENCH_DIRECTION;
    ad_fwd in[4];
    ad_fwd x;
    ad_fwd sum = { 0.0, 0.0 };

    for (int i = 0; i < 4; i++) {
        in[i] = (ad_fwd){ start[i], d[i] };
    }
    x = in[0];
    for (size_t k = 0; k < c->steps; k++) {
        x = ad_dual(LOOP_STEP(x, in));
        sum = ad_dual(ad_add(sum, x));
    }
    sum = ad_dual(ad_div(sum, (double)c->steps));
    *y = sum.v;
    *dy = sum.d;
}

#undef LOOP_STEP

/* ---------------------------------------------------------------------------
 * external: ns/op is what a statement of the user's takes, with its pullback
 * ------------------------------------------------------------------------- */

static bool scale_back(const void *saved, size_t m, const double dy[],
                       size_t n, double dx[])
{
    (void)m, (void)n;
    dx[0] += *(const double *)saved * dy[0];
    return true;
}

static void run_external(const bench_case *c, const double *x,
                         double *y, double *dy)
{
    static const ad_external_rule rule = { .name = "scale",
                                           .pullback = scale_back };
    static const double factors[] = BENCH_FACTORS;
    const ad_rev *in = begin(c, x, 0);
    ad_rev z = in[0];

    for (size_t k = 0; k < c->steps; k++) {
        const double *factor = &factors[k % 2];
        const double v = z.v * *factor;

        ad_external(&rule, factor, sizeof *factor, 1, &z, 1, &v, &z);
    }
    finish(c, in, z, y, dy);
}

/* ---------------------------------------------------------------------------
 * sir
 * ------------------------------------------------------------------------- */

static void sir_slope(const ad_rev *p, const ad_rev *at, ad_rev *k)
{
    const ad_rev infections = ad_rec(ad_div(
        ad_mul(ad_mul(p[0], at[0]), at[1]), BENCH_SIR_N));

    k[0] = ad_rec(ad_neg(infections));
    k[1] = ad_rec(ad_sub(infections, ad_mul(p[1], at[1])));
}

static void sir_step(const ad_rev *p, ad_rev *x)
{
    const double h = BENCH_SIR_H;
    ad_rev k[4][2], at[2];

    sir_slope(p, x, k[0]);
    for (int i = 1; i < 4; i++) {
        for (int j = 0; j < 2; j++) {
            at[j] = ad_rec(ad_add(x[j], ad_mul(i < 3 ? h / 2 : h,
                                               k[i - 1][j])));
        }
        sir_slope(p, at, k[i]);
    }
    for (int j = 0; j < 2; j++) {
        x[j] = ad_rec(ad_add(x[j], ad_mul(h / 6, ad_add(
            ad_add(ad_add(k[0][j], ad_mul(2.0, k[1][j])),
                   ad_mul(2.0, k[2][j])), k[3][j]))));
    }
}

static void run_sir(const bench_case *c, const double *start, double *y,
                    double *dy)
{
    const ad_rev *p = begin(c, start, 0);
    ad_rev x[2] = { ad_rec(ad_sub(BENCH_SIR_N, p[2])), p[2] };
    ad_rev sum = { 0 };

    for (size_t k = 0; k < c->steps; k++) {
        sir_step(p, x);
        ad_acc(&sum, x[1]);
    }
    finish(c, p, ad_rec(ad_div(sum, (double)c->steps)), y, dy);
}

/* ---------------------------------------------------------------------------
 * burgers
 * ------------------------------------------------------------------------- */

// One statement of 15 operations, in which seven variables (six for u) occur
// twelve times. Its parts are expressions with a name, not statements.
static void advance(size_t side, double a, double r, const ad_rev *u,
                    const ad_rev *v, const ad_rev *w, ad_rev *next)
{
    for (size_t i = 1; i + 1 < side; i++) {
        for (size_t k = i * side + 1; k + 1 < (i + 1) * side; k++) {
            const ad_expr west = ad_mul(ad_mul(a, u[k]),
                                        ad_sub(w[k], w[k - 1]));
            const ad_expr south = ad_mul(ad_mul(a, v[k]),
                                         ad_sub(w[k], w[k - side]));
            const ad_expr near = ad_add(ad_add(ad_add(w[k + 1], w[k - 1]),
                                               w[k + side]), w[k - side]);
            const ad_expr spread = ad_mul(r, ad_sub(near, ad_mul(4.0, w[k])));

            next[k] = ad_rec(ad_add(ad_sub(ad_sub(w[k], west), south),
                                    spread));
        }
    }
}

// Copies of the inputs are the inputs: no statement, in either pair of fields.
static void run_burgers(const bench_case *c, const double *x,
                        double *y, double *dy)
{
    const size_t side = c->size;
    const size_t cells = side * side;
    const double a = BENCH_BURGERS_DT * (double)(side - 1);
    const double r = BENCH_BURGERS_NU * a * (double)(side - 1);
    ad_rev *in = begin(c, x, 4 * cells);
    ad_rev *now = in + 2 * cells;
    ad_rev *next = in + 4 * cells;

    memcpy(now, in, 2 * cells * sizeof *now);
    memcpy(next, in, 2 * cells * sizeof *next);

    for (size_t k = 0; k < c->steps; k++) {
        ad_rev *swap = now;

        advance(side, a, r, now, now + cells, now, next);
        advance(side, a, r, now, now + cells, now + cells, next + cells);
        now = next;
        next = swap;
    }
    finish(c, in, dot(2 * cells, now, now), y, dy);
}

static const bench_tool tool = {
    .name = "adrev",
    .version = ADREV_VERSION,
    .run = {
        [BENCH_MUL] = run_mul,
        [BENCH_ROTQUAT] = run_rotquat,
        [BENCH_DOT] = run_dot,
        [BENCH_MATVEC] = run_matvec,
        [BENCH_NN] = run_nn,
        [BENCH_PARTICLES] = run_particles,
        [BENCH_LOOP] = run_loop,
        [BENCH_EXTERNAL] = run_external,
        [BENCH_FORWARD] = run_forward,
        [BENCH_BURGERS] = run_burgers,
        [BENCH_GMM] = adrev_gmm,
        [BENCH_LSTM] = adrev_lstm,
        [BENCH_BA] = adrev_ba,
        [BENCH_SKIN] = adrev_skin,
        [BENCH_SIR] = run_sir,
    },
    .bytes = bytes,
    .release = release,
};

BENCH_REGISTER(tool)
