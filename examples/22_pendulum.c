/* 22  How does a pendulum's angle after two seconds depend on its length?
 *
 * The pendulum is written once, in pendulum.h. Here it is computed with plain
 * numbers, with forward ones (one derivative, no tape) and with recorded ones
 * (all derivatives by one sweep).
 *
 * Shows    one source for three kinds of numbers: adrev_real.h
 * Needs    02
 * Prints   after 2 s: 0.534910
 *          per metre: -0.267720 forward, -0.267720 by differences
 *          success: per radian 0.851527, per metre -0.267720, friction -0.547531
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev.h"

#define ADREV_SOURCE "pendulum.h"
#include "adrev_real.h"

#include <stdio.h>

enum { STEPS = 200 };

static ad_rev end(const ad_rev *x, void *unused)
{
    (void)unused;
    return pendulum_rev(x, STEPS, 0.01);
}

int main(void)
{
    const double x[3] = { 0.6, 1.0, 0.1 };      // angle, length, friction
    printf("after 2 s: %.6f\n", pendulum(x, STEPS, 0.01));

    const ad_fwd d[3] = { { x[0], 0 }, { x[1], 1 }, { x[2], 0 } };
    const double h = 1e-5;
    const double longer[3] = { x[0], x[1] + h, x[2] };
    const double shorter[3] = { x[0], x[1] - h, x[2] };
    printf("per metre: %.6f forward, %.6f by differences\n",
           pendulum_fwd(d, STEPS, 0.01).d,
           (pendulum(longer, STEPS, 0.01) - pendulum(shorter, STEPS, 0.01))
               / (2 * h));

    double g[3] = { 0, 0, 0 };
    ad_status status = ad_grad(end, NULL, 3, x, NULL, g);
    printf("%s: per radian %.6f, per metre %.6f, friction %.6f\n",
           ad_message(status), g[0], g[1], g[2]);
    return status != ADREV_OK;
}
