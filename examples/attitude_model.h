/* attitude_model.h - the model of attitude.h, in recorded numbers: what the
 * filter needs the Jacobians of, and those from a tape. Included after that and
 * a header of adrev.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ATTITUDE_MODEL_H
#define ATTITUDE_MODEL_H

// A quaternion in[0] to in[3] that has turned for a step at the rates in[4] to
// in[6], and has length 1 again.
static inline void turned(const ad_rev in[ATTITUDE_IN], ad_rev out[ATTITUDE_Q])
{
    const ad_rev *q = in, *w = in + ATTITUDE_Q;
    const number h = ATTITUDE_HALF;
    const ad_rev p[ATTITUDE_Q] = {
        ad_rec(ad_sub(q[0], ad_mul(h, ad_add(ad_mul(q[1], w[0]),
                                             ad_add(ad_mul(q[2], w[1]),
                                                    ad_mul(q[3], w[2])))))),
        ad_rec(ad_add(q[1], ad_mul(h, ad_add(ad_mul(q[0], w[0]),
                                             ad_sub(ad_mul(q[2], w[2]),
                                                    ad_mul(q[3], w[1])))))),
        ad_rec(ad_add(q[2], ad_mul(h, ad_add(ad_mul(q[0], w[1]),
                                             ad_sub(ad_mul(q[3], w[0]),
                                                    ad_mul(q[1], w[2])))))),
        ad_rec(ad_add(q[3], ad_mul(h, ad_add(ad_mul(q[0], w[2]),
                                             ad_sub(ad_mul(q[1], w[1]),
                                                    ad_mul(q[2], w[0]))))))
    };
    const ad_rev n = ad_rec(ad_div(1, ad_sqrt(
        ad_add(ad_add(ad_sqr(p[0]), ad_sqr(p[1])),
               ad_add(ad_sqr(p[2]), ad_sqr(p[3]))))));
    for (int i = 0; i < ATTITUDE_Q; i++)
        out[i] = ad_rec(ad_mul(p[i], n));
}

// In the body's axes: what the accelerometer reads at rest, which is up, and
// the magnetic field.
static inline void sighted(const ad_rev q[ATTITUDE_Q], ad_rev out[ATTITUDE_SEEN])
{
    const number north = ATTITUDE_NORTH, down = ATTITUDE_DOWN;
    const ad_rev to_north[3] = {
        ad_rec(ad_sub(ad_add(ad_sqr(q[0]), ad_sqr(q[1])),
                      ad_add(ad_sqr(q[2]), ad_sqr(q[3])))),
        ad_rec(ad_mul(2, ad_sub(ad_mul(q[1], q[2]), ad_mul(q[0], q[3])))),
        ad_rec(ad_mul(2, ad_add(ad_mul(q[1], q[3]), ad_mul(q[0], q[2]))))
    };
    out[0] = ad_rec(ad_mul(2, ad_sub(ad_mul(q[1], q[3]), ad_mul(q[0], q[2]))));
    out[1] = ad_rec(ad_mul(2, ad_add(ad_mul(q[2], q[3]), ad_mul(q[0], q[1]))));
    out[2] = ad_rec(ad_add(ad_sub(ad_sqr(q[0]), ad_sqr(q[1])),
                           ad_sub(ad_sqr(q[3]), ad_sqr(q[2]))));
    for (int k = 0; k < 3; k++)
        out[3 + k] = ad_rec(ad_sub(ad_mul(north, to_north[k]),
                                   ad_mul(down, out[k])));
}

// Values and Jacobian of either, from a tape that is current.
static inline ad_status values_and_jacobian(ad_tape *t, int m,
                                            const ad_rev out[], int n,
                                            const ad_rev in[], number y[],
                                            number J[])
{
    for (int i = 0; i < m; i++)
        y[i] = ad_value(out[i]);
    return ad_jacobian(t, (size_t)m, out, (size_t)n, in, J);
}

static inline ad_status linear_turn(ad_tape *t, const number in[ATTITUDE_IN],
                                    number q[ATTITUDE_Q],
                                    number J[ATTITUDE_Q * ATTITUDE_IN])
{
    ad_rev x[ATTITUDE_IN], out[ATTITUDE_Q];
    ad_tape_clear(t);
    ad_inputs(ATTITUDE_IN, in, x);
    turned(x, out);
    return values_and_jacobian(t, ATTITUDE_Q, out, ATTITUDE_IN, x, q, J);
}

static inline ad_status linear_sight(ad_tape *t, const number q[ATTITUDE_Q],
                                     number y[ATTITUDE_SEEN],
                                     number H[ATTITUDE_SEEN * ATTITUDE_Q])
{
    ad_rev x[ATTITUDE_Q], out[ATTITUDE_SEEN];
    ad_tape_clear(t);
    ad_inputs(ATTITUDE_Q, q, x);
    sighted(x, out);
    return values_and_jacobian(t, ATTITUDE_SEEN, out, ATTITUDE_Q, x, y, H);
}

#endif
