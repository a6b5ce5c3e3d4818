// SPDX-License-Identifier: MIT-0
// needs: coin/IpStdCInterface.h -lipopt
// libs: -lipopt
/* A cart swings its pole up, in two seconds and with little force.
 *
 *     ipopt_cart_pole [picture.svg]
 *
 * Position, angle, their rates and the force at 201 moments are 1005 variables,
 * and the equations of motion from one moment to the next 800 constraints
 * (trapezoidal collocation). What is known, where it begins and ends, is said
 * by equal bounds. Model and numbers are those of M. Kelly, An introduction to
 * trajectory optimization, SIAM Review 59 (2017). At the end the force is given
 * to a simulation with small steps, which knows nothing of the constraints.
 *
 * Shows    adrev_ipopt.h: sparse Jacobian and Hessian of the Lagrangian
 * Prints   Ipopt: solved, success
 *          integral of the squared force 58.83 N2s, largest force 13.98 N
 *          simulated, it ends at 1.00 m and 3.13 rad
 */

#define ADREV_IMPLEMENTATION
#include "adrev_ipopt.h"
#include "cart_pole.h"
#include "chart.h"
#include "fail.h"

#include <errno.h>

static const double distance = 1;

/* --- its solution --------------------------------------------------------- */

// From a straight line between both ends.
static void solve(double x[VARIABLES], double *cost)
{
    static double low[VARIABLES], high[VARIABLES], zero[EQUATIONS];
    const double most[EACH] = { 2, 20, 100, 100, 20 };
    for (int i = 0; i < VARIABLES; i++) {
        const int k = i / EACH, what = i % EACH;
        const double goal = what == PLACE ? distance : what == ANGLE ? pi : 0;
        x[i] = goal * k / STEPS;
        low[i] = -most[what];
        high[i] = most[what];
        if (what != FORCE && (k == 0 || k == STEPS))
            low[i] = high[i] = x[i];
    }
    ad_model *m = ad_model_vector(swing, NULL, VARIABLES, 1 + EQUATIONS);
    ad_ipopt p = { .model = m, .x_lower = low, .x_upper = high,
                   .g_lower = zero, .g_upper = zero,
                   .options = "print_level=0 sb=yes tol=1e-9" };
    int found = (int)ad_ipopt_solve(&p, x);
    if (found != Solve_Succeeded)
        fail(4, "ipopt_cart_pole: Ipopt returns %d: %s", found,
             ad_message(ad_model_status(m)));
    printf("Ipopt: solved, %s\n", ad_message(ad_model_status(m)));
    ad_model_free(m);
    *cost = p.f;
}

/* --- a simulation in plain numbers ---------------------------------------- */

static void plain_motion(const double x[4], double force, double rate[4])
{
    const double s = sin(x[ANGLE]), c = cos(x[ANGLE]);
    const double pull = length * pole * s * x[SPIN] * x[SPIN] + force;
    const double mass = cart + pole * s * s;
    rate[0] = x[SPEED];
    rate[1] = x[SPIN];
    rate[2] = (pull + pole * gravity * c * s) / mass;
    rate[3] = -(c * pull + (cart + pole) * gravity * s) / (length * mass);
}

// Runge and Kutta's steps; the force is linear between two moments.
static void simulate(const double x[VARIABLES], double end[4])
{
    enum { FINE = 100 };
    const double h = seconds / STEPS / FINE;
    memset(end, 0, 4 * sizeof *end);
    for (int k = 0; k < STEPS * FINE; k++) {
        const double *at = x + k / FINE * EACH;
        const double step[4] = { 0, h / 2, h / 2, h };
        const double weight[4] = { h / 6, h / 3, h / 3, h / 6 };
        double sum[4], rate[4] = { 0 }, next[4];
        memcpy(sum, end, sizeof sum);
        for (int i = 0; i < 4; i++) {
            const double part = (k % FINE + step[i] / h) / FINE;
            for (int j = 0; j < 4; j++)
                next[j] = end[j] + step[i] * rate[j];
            plain_motion(next, at[FORCE] + part * (at[EACH + FORCE] - at[FORCE]),
                         rate);
            for (int j = 0; j < 4; j++)
                sum[j] += weight[i] * rate[j];
        }
        memcpy(end, sum, sizeof sum);
    }
}

/* --- the picture ---------------------------------------------------------- */

static bool draw(const char *path, const double x[VARIABLES])
{
    double across[MOMENTS], up[MOMENTS], force[MOMENTS], time[MOMENTS];
    chart c = { .left = -0.6, .right = 1.8, .bottom = -0.6, .top = 0.75,
                .equal = true, .panels = 2, .radius = 2 };
    for (int k = 0; k < MOMENTS; k++) {
        const double *at = x + k * EACH;
        across[k] = at[PLACE] + length * sin(at[ANGLE]);
        up[k] = -length * cos(at[ANGLE]);
        force[k] = at[FORCE];
        time[k] = seconds * k / STEPS;
    }
    chart f = { .below = &c, .right = seconds, .bottom = -12, .top = 12 };
    if (!chart_open(&c, path, "along the rail (m)", "height (m)"))
        return false;
    for (int k = 0; k < MOMENTS; k += 10) {
        const double foot[2] = { x[k * EACH + PLACE], across[k] };
        const double head[2] = { 0, up[k] };
        c.colour = k == 0 || k == STEPS ? "#999" : "#ddd";
        chart_curve(&c, 2, foot, head, "");
    }
    c.colour = NULL;
    chart_curve(&c, MOMENTS, across, up, "end of the pole");
    chart_points(&c, MOMENTS, across, up, "each 1/100 s");
    if (!chart_open(&f, NULL, "time (s)", "force (N)"))
        return false;
    chart_curve(&f, MOMENTS, time, force, "force on the cart");
    return chart_close(&f) && chart_close(&c);
}

int main(int count, char **words)
{
    static double x[VARIABLES];
    double cost = 0, largest = 0, end[4];
    solve(x, &cost);
    for (int k = 0; k < MOMENTS; k++)
        largest = fmax(largest, fabs(x[k * EACH + FORCE]));
    simulate(x, end);
    printf("integral of the squared force %.2f N2s, largest force %.2f N\n",
           cost, largest);
    printf("simulated, it ends at %.2f m and %.2f rad\n", end[PLACE],
           end[ANGLE]);
    if (count > 1 && !draw(words[1], x))
        fail(5, "ipopt_cart_pole: cannot write %s: %s", words[1],
             strerror(errno));
}
