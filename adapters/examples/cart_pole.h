// SPDX-License-Identifier: MIT-0
/* cart_pole.h - a cart that swings its pole up, as an optimisation problem: what
 * ipopt_cart_pole.c solves, and bench/adapters.c times. Model and numbers are
 * those of M. Kelly, An introduction to trajectory optimization, SIAM Review 59
 * (2017). Include it after adrev.h.                                          */

enum { STEPS = 200, MOMENTS = STEPS + 1 };
enum { PLACE, ANGLE, SPEED, SPIN, FORCE, EACH };   // of each moment
enum { VARIABLES = MOMENTS * EACH, EQUATIONS = 4 * STEPS };

static const double seconds = 2, cart = 1, pole = 0.3, length = 0.5;
static const double gravity = 9.81, pi = 3.14159265358979323846;

// Time derivatives of place, angle, speed and spin.
static void motion(const ad_rev *x, ad_rev rate[4])
{
    ad_rev s = ad_rec(ad_sin(x[ANGLE])), c = ad_rec(ad_cos(x[ANGLE]));
    ad_rev pull = ad_rec(ad_add(ad_mul(length * pole,
                                       ad_mul(s, ad_sqr(x[SPIN]))), x[FORCE]));
    ad_rev mass = ad_rec(ad_add(cart, ad_mul(pole, ad_sqr(s))));
    rate[0] = x[SPEED];
    rate[1] = x[SPIN];
    rate[2] = ad_rec(ad_div(ad_add(pull, ad_mul(pole * gravity, ad_mul(c, s))),
                            mass));
    rate[3] = ad_rec(ad_div(ad_neg(ad_add(ad_mul(c, pull),
                                          ad_mul((cart + pole) * gravity, s))),
                            ad_mul(length, mass)));
}

// The integral of the squared force, then what the equations of motion miss.
static void swing(const ad_rev *x, ad_rev *y, void *ctx)
{
    const double h = seconds / STEPS;
    ad_rev rate[2][4];
    (void)ctx;
    y[0] = ad_rec(ad_mul(0.5 * h, ad_add(ad_sqr(x[FORCE]),
                                         ad_sqr(x[STEPS * EACH + FORCE]))));
    for (int k = 1; k < STEPS; k++)
        ad_acc(&y[0], ad_mul(h, ad_sqr(x[k * EACH + FORCE])));
    motion(x, rate[0]);
    for (int k = 0; k < STEPS; k++) {
        const ad_rev *from = x + k * EACH, *to = from + EACH;
        motion(to, rate[(k + 1) % 2]);
        for (int i = 0; i < 4; i++)
            y[1 + 4 * k + i] = ad_rec(ad_sub(
                ad_sub(to[i], from[i]),
                ad_mul(0.5 * h, ad_add(rate[0][i], rate[1][i]))));
    }
}
