/* pendulum.h - where a pendulum is after some time, for 22_pendulum.c: included
 * by adrev_real.h, once for each kind of number.
 *
 * SPDX-License-Identifier: MIT-0
 */

// The angle's second derivative, with friction: angle, speed; length, friction.
static real real_name(swing)(real angle, real speed, const real p[2])
{
    return real_rec(ad_sub(ad_neg(ad_mul(ad_div(9.81, p[0]), ad_sin(angle))),
                           ad_mul(p[1], speed)));
}

// After so many steps of the midpoint rule, let go at x[0]. x[1] is the length,
// x[2] the friction. If it goes over the top, it has been let go too high.
static real real_name(pendulum)(const real x[3], int steps, double dt)
{
    real angle = x[0];
    real speed = real_rec(0);
    for (int i = 0; i < steps && ad_lt(ad_abs(angle), 3); i++) {
        real half = real_rec(ad_add(angle, ad_mul(dt / 2, speed)));
        real fast = real_rec(ad_add(speed, ad_mul(
            dt / 2, real_name(swing)(angle, speed, &x[1]))));
        real_acc(&angle, ad_mul(dt, fast));
        real_acc(&speed, ad_mul(dt, real_name(swing)(half, fast, &x[1])));
    }
    return angle;
}
