// SPDX-License-Identifier: MIT-0
/* adrev_real.c - gmm, lstm, ba and skin with adrev.
 *
 * The formulas of plain_real.c over single numbers. As many terms of a sum as
 * a statement has operands are written as one expression: that is all the
 * tuning there is. On failure dy stays as the driver has set it: not a number.
 */

#include "adrev_tool.h"
#include "adrev_ba.h"
#include "adrev_skin.h"
#include "real.h"

#include <math.h>

/* ---------------------------------------------------------------------------
 * gmm
 * ------------------------------------------------------------------------- */

// Row j of Q (x - mu). A product has two operands: five beside the sum so far
// make a statement.
#define TERM(i) ad_mul(q[i], ad_sub(x[i], mu[i]))

static ad_rev row(size_t n, const ad_rev *q, const ad_rev *mu, const double *x)
{
    ad_rev z = { 0 };

    for (; n >= 5; n -= 5, q += 5, mu += 5, x += 5) {
        ad_acc(&z, ad_add(ad_add(ad_add(TERM(0), TERM(1)),
                                 ad_add(TERM(2), TERM(3))), TERM(4)));
    }
    switch (n) {
    case 4:
        ad_acc(&z, ad_add(ad_add(TERM(0), TERM(1)),
                          ad_add(TERM(2), TERM(3))));
        break;
    case 3:
        ad_acc(&z, ad_add(ad_add(TERM(0), TERM(1)), TERM(2)));
        break;
    case 2:
        ad_acc(&z, ad_add(TERM(0), TERM(1)));
        break;
    case 1:
        ad_acc(&z, TERM(0));
        break;
    }
    return z;
}

#undef TERM

// base - ||Q (x - mu)||^2 / 2
static ad_rev exponent(size_t d, ad_rev base, const ad_rev *Q,
                       const ad_rev *mu, const double *x)
{
    ad_rev z[GMM_MAX];
    ad_rev t = base;
    size_t i = 0;

    for (size_t j = 0; j < d; j++) {
        z[j] = row(j + 1, Q + j * d, mu, x);
    }
    for (; i + 5 <= d; i += 5) {
        ad_acc(&t, ad_mul(-0.5, ad_add(ad_add(ad_add(ad_sqr(z[i]),
                                                     ad_sqr(z[i + 1])),
                                              ad_add(ad_sqr(z[i + 2]),
                                                     ad_sqr(z[i + 3]))),
                                       ad_sqr(z[i + 4]))));
    }
    for (; i < d; i++) {
        ad_acc(&t, ad_mul(-0.5, ad_sqr(z[i])));
    }
    return t;
}

// The maximum cancels: a plain number.
#define TERM(i) ad_exp(ad_sub(v[i], top))

static ad_rev log_sum_exp(size_t n, const ad_rev *v)
{
    double top = ad_value(v[0]);
    ad_rev sum = { 0 };

    for (size_t i = 1; i < n; i++) {
        top = ad_value(v[i]) > top ? ad_value(v[i]) : top;
    }
    for (; n >= 5; n -= 5, v += 5) {
        ad_acc(&sum, ad_add(ad_add(ad_add(TERM(0), TERM(1)),
                                   ad_add(TERM(2), TERM(3))), TERM(4)));
    }
    for (; n > 0; n--, v++) {
        ad_acc(&sum, TERM(0));
    }
    return ad_rec(ad_add(top, ad_log(sum)));
}

#undef TERM

// gamma^2/2 ||Q||^2 - m sum q of a component
static ad_rev wishart(size_t d, const ad_rev *icf)
{
    ad_rev square = { 0 };
    ad_rev q = { 0 };

    for (size_t i = 0; i < d; i++) {
        ad_acc(&square, ad_exp(ad_mul(2.0, icf[i])));
    }
    for (size_t i = d; i < gmm_triangle(d); i++) {
        ad_acc(&square, ad_sqr(icf[i]));
    }
    for (size_t i = 0; i < d; i++) {
        ad_acc(&q, icf[i]);
    }
    return ad_rec(ad_sub(ad_mul(GMM_GAMMA * GMM_GAMMA / 2.0, square),
                         ad_mul(GMM_M, q)));
}

// What no point has a part in.
static ad_rev prior(size_t d, const ad_rev *in)
{
    const ad_rev *icf = in + GMM_K + GMM_K * d;
    ad_rev sum = ad_rec(gmm_constant(d));

    for (size_t k = 0; k < GMM_K; k++) {
        ad_acc(&sum, wishart(d, icf + k * gmm_triangle(d)));
    }
    return ad_rec(ad_sub(sum, ad_mul(GMM_N, log_sum_exp(GMM_K, in))));
}

// Q row by row; returns alpha and the sum of the logarithms.
static ad_rev component(size_t d, ad_rev alpha, const ad_rev *icf, ad_rev *Q)
{
    const ad_rev *below = icf + d;
    ad_rev base = alpha;

    for (size_t i = 0; i < d; i++) {
        Q[i * d + i] = ad_rec(ad_exp(icf[i]));
        for (size_t j = i + 1; j < d; j++) {
            Q[j * d + i] = *below++;
        }
    }
    for (size_t i = 0; i < d; i++) {
        ad_acc(&base, icf[i]);
    }
    return base;
}

// The likelihood of n points.
static ad_rev gmm_points(size_t d, const ad_rev *in, ad_rev *Q, size_t n,
                         const double *points)
{
    const ad_rev *mu = in + GMM_K;
    const ad_rev *icf = mu + GMM_K * d;
    ad_rev base[GMM_K];
    ad_rev t[GMM_K];
    ad_rev sum = { 0 };

    for (size_t k = 0; k < GMM_K; k++) {
        base[k] = component(d, in[k], icf + k * gmm_triangle(d),
                            Q + k * d * d);
    }
    for (; n > 0; n--, points += d) {
        for (size_t k = 0; k < GMM_K; k++) {
            t[k] = exponent(d, base[k], Q + k * d * d, mu + k * d, points);
        }
        ad_acc(&sum, log_sum_exp(GMM_K, t));
    }
    return sum;
}

// The gradient of a sum is a sum of gradients: so many points at a time that
// the tape stays in the cache. One recording of all points, 44 MB at d = 10,
// takes 1.7 times as long (gmm-d10-1).
void adrev_gmm(const bench_case *c, const double *x, double *y, double *dy)
{
    const size_t n = GMM_N / c->steps;
    const ad_rev *inputs = tool_begin(c, x, 0);

    tool_finish(c, inputs, prior(c->size, inputs), y, dy);
    for (size_t s = 0; s < c->steps; s++) {
        ad_rev *in = tool_begin(c, x, GMM_K * c->size * c->size);
        double part[GMM_MOST];
        double value = (double)NAN;

        part[0] = (double)NAN;
        tool_finish(c, in, gmm_points(c->size, in, in + c->inputs, n,
                                      x + c->inputs + s * n * c->size),
                    &value, part);
        *y += value;
        for (size_t i = 0; i < c->inputs; i++) {
            dy[i] += part[i];
        }
    }
}

/* ---------------------------------------------------------------------------
 * lstm
 * ------------------------------------------------------------------------- */

#define SIGMA(y) ad_div(1.0, ad_add(1.0, ad_exp(ad_neg(y))))
#define GATE(k, v) ad_add(ad_mul(v, w[k * LSTM_B + j]), b[k * LSTM_B + j])

// A cell is two statements, one for s and one for h.
static void layer(const ad_rev *w, ad_rev *h, ad_rev *s, ad_rev *u)
{
    const ad_rev *b = w + 4 * LSTM_B;

    for (size_t j = 0; j < LSTM_B; j++) {
        const ad_rev in = u[j];
        const ad_rev old = h[j];
        const ad_expr f = SIGMA(GATE(0, in));
        const ad_expr i = SIGMA(GATE(1, old));
        const ad_expr o = SIGMA(GATE(2, in));
        const ad_expr a = ad_tanh(GATE(3, old));

        s[j] = ad_rec(ad_add(ad_mul(s[j], f), ad_mul(i, a)));
        const ad_rev next = ad_rec(ad_mul(o, ad_tanh(s[j])));

        h[j] = next;
        u[j] = next;
    }
}

#undef SIGMA
#undef GATE

// What the next character adds to the total.
static ad_rev likelihood(const ad_rev *extra, const double *next, ad_rev *u)
{
    ad_rev sum = { 2.0, 0, 0 };
    ad_rev total = { 0 };

    for (size_t j = 0; j < LSTM_B; j++) {
        u[j] = ad_rec(ad_add(ad_mul(u[j], extra[LSTM_B + j]),
                             extra[2 * LSTM_B + j]));
    }
    for (size_t j = 0; j < LSTM_B; j++) {
        ad_acc(&sum, ad_exp(u[j]));
    }
    sum = ad_rec(ad_log(sum));
    for (size_t j = 0; j < LSTM_B; j++) {
        ad_acc(&total, ad_mul(next[j], ad_sub(u[j], sum)));
    }
    return total;
}

void adrev_lstm(const bench_case *c, const double *x, double *y, double *dy)
{
    const double *text = x + c->inputs + LSTM_STATE;
    const ad_rev *in = tool_begin(c, x, 0);
    const ad_rev *extra = in + 8 * LSTM_L * LSTM_B;
    ad_rev state[LSTM_STATE];
    ad_rev total = { 0 };

    for (size_t i = 0; i < LSTM_STATE; i++) {
        state[i] = ad_rec(x[c->inputs + i]);
    }
    for (size_t t = 0; t + 1 < c->steps; t++, text += LSTM_B) {
        ad_rev u[LSTM_B];

        for (size_t j = 0; j < LSTM_B; j++) {
            u[j] = ad_rec(ad_mul(text[j], extra[j]));
        }
        for (size_t i = 0; i < LSTM_L; i++) {
            ad_rev *h = state + 2 * LSTM_B * i;

            layer(in + 8 * LSTM_B * i, h, h + LSTM_B, u);
        }
        ad_acc(&total, likelihood(extra, text + LSTM_B, u));
    }
    tool_finish(c, in, ad_rec(ad_div(ad_neg(total), LSTM_B
                                     * (double)(c->steps - 1))), y, dy);
}

/* ---------------------------------------------------------------------------
 * ba
 * ------------------------------------------------------------------------- */

// The terms of the weights have a diagonal matrix, which the adjoints of the
// weights are when every term has adjoint 1.
static void weights(const double *x, double *y, double *dy)
{
    static double one[BA_SEEN];
    ad_tape *tape = tool_clear();
    ad_rev *w = tool_room(2 * BA_SEEN);
    ad_rev *term = w + BA_SEEN;

    ad_inputs(BA_SEEN, ba_weight(x, 0), w);
    for (size_t i = 0; i < BA_SEEN; i++) {
        term[i] = ad_rec(ad_sub(1.0, ad_sqr(w[i])));
        y[2 * BA_SEEN + i] = ad_value(term[i]);
        one[i] = 1.0;
    }
    ad_ignore(ad_pullback(tape, BA_SEEN, term, one, BA_SEEN, w,
                          dy + 2 * BA_ROW * BA_SEEN));
}

// A small dense Jacobian per observation, on one tape.
void adrev_ba(const bench_case *c, const double *x, double *y, double *dy)
{
    (void)c;
    weights(x, y, dy);
    for (size_t i = 0; i < BA_SEEN; i++) {
        ad_tape *tape = tool_clear();
        ad_rev in[BA_ROW];
        ad_rev e[2];

        ad_inputs(11, ba_camera(x, i), in);
        ad_inputs(3, ba_point(x, i), in + 11);
        in[14] = ad_input(*ba_weight(x, i));
        ba_errors(in, ba_measured(x, i), e);
        y[2 * i] = ad_value(e[0]);
        y[2 * i + 1] = ad_value(e[1]);
        ad_ignore(ad_jacobian(tape, 2, e, BA_ROW, in, dy + 2 * BA_ROW * i));
    }
}

/* ---------------------------------------------------------------------------
 * skin
 * ------------------------------------------------------------------------- */

// Fewer inputs than outputs: ad_jacobian sweeps forwards.
void adrev_skin(const bench_case *c, const double *x, double *y, double *dy)
{
    ad_tape *tape = tool_clear();
    ad_rev in[SKIN_THETA];
    ad_rev out[3 * SKIN_POINTS];

    ad_inputs(SKIN_THETA, x, in);
    skin_points(x, in, out);
    for (size_t i = 0; i < c->outputs; i++) {
        y[i] = ad_value(out[i]);
    }
    ad_ignore(ad_jacobian(tape, c->outputs, out, c->inputs, in, dy));
}
