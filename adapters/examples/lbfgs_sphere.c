// SPDX-License-Identifier: MIT-0
// needs: lbfgs.h -llbfgs
// libs: -llbfgs
/* Twelve electrons on a sphere, as far apart as they can be (Thomson, 1904).
 *
 *     lbfgs_sphere [picture.svg]
 *
 * The energy is the sum of 1/distance over all pairs. Directions of any length
 * stand for points of the sphere, so there are no constraints: 36 variables.
 * The minimum is the icosahedron, with energy 49.165253.
 *
 * Shows    adrev_lbfgs.h: a function of many variables
 * Prints   energy 49.165253, success
 *          nearest neighbours are 1.0515 apart
 */

#define ADREV_IMPLEMENTATION
#include "adrev_lbfgs.h"
#include "chart.h"
#include "fail.h"

#include <errno.h>

enum { ELECTRONS = 12, VARIABLES = 3 * ELECTRONS };

/* --- the energy, over recorded numbers ------------------------------------ */

static ad_rev energy(const ad_rev *x, void *ctx)
{
    ad_rev on[VARIABLES], sum = { 0 };
    (void)ctx;
    for (int i = 0; i < ELECTRONS; i++) {
        ad_rev length = ad_rec(ad_sqrt(ad_dot(3, x + 3 * i, x + 3 * i)));
        for (int k = 3 * i; k < 3 * i + 3; k++)
            on[k] = ad_rec(ad_div(x[k], length));
        for (int j = 0; j < i; j++) {
            const ad_rev *a = on + 3 * i, *b = on + 3 * j;
            ad_rev square = ad_rec(ad_add(ad_add(ad_sqr(ad_sub(a[0], b[0])),
                                                 ad_sqr(ad_sub(a[1], b[1]))),
                                          ad_sqr(ad_sub(a[2], b[2]))));
            ad_acc(&sum, ad_div(1, ad_sqrt(square)));
        }
    }
    return sum;
}

/* --- the minimum ---------------------------------------------------------- */

// From points on a spiral around the sphere. Returns the energy.
static double spread(double x[VARIABLES])
{
    double least = 0;
    lbfgs_parameter_t p;
    for (int i = 0; i < ELECTRONS; i++) {
        const double z = (2.0 * i + 1) / ELECTRONS - 1, r = sqrt(1 - z * z);
        x[3 * i] = r * cos(2.4 * i);
        x[3 * i + 1] = r * sin(2.4 * i);
        x[3 * i + 2] = z;
    }
    lbfgs_parameter_init(&p);
    p.epsilon = 1e-9;
    ad_model *m = ad_model_scalar(energy, NULL, VARIABLES);
    int code = ad_lbfgs(m, x, &least, NULL, NULL, &p);
    ad_status status = ad_model_status(m);
    ad_model_free(m);
    if (status != ADREV_OK || !(least > 0))
        fail(4, "lbfgs_sphere: libLBFGS returns %d: %s", code,
             ad_message(status));
    printf("energy %.6f, %s\n", least, ad_message(status));
    for (int i = 0; i < ELECTRONS; i++) {
        double *a = x + 3 * i;
        double length = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
        for (int k = 0; k < 3; k++)
            a[k] /= length;
    }
    return least;
}

static double distance(const double *a, const double *b)
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])
                + (a[2] - b[2]) * (a[2] - b[2]));
}

// The least distance of two.
static double nearest(const double x[VARIABLES])
{
    double least = 2;
    for (int i = 0; i < ELECTRONS; i++)
        for (int j = 0; j < i; j++)
            least = fmin(least, distance(x + 3 * i, x + 3 * j));
    return least;
}

/* --- the picture: seen from a little above -------------------------------- */

// Across, up and towards the eye.
static void turn(const double *a, double seen[3])
{
    const double depth = sin(0.9) * a[0] + cos(0.9) * a[1];
    seen[0] = cos(0.9) * a[0] - sin(0.9) * a[1];
    seen[1] = cos(0.2) * a[2] - sin(0.2) * depth;
    seen[2] = sin(0.2) * a[2] + cos(0.2) * depth;
}

static bool draw(const char *path, const double x[VARIABLES], double near)
{
    enum { AROUND = 120 };
    const char *name[2] = { "behind", "in front" };
    double across[AROUND + 1], up[AROUND + 1], p[3], q[3];
    chart c = { .left = -1.5, .right = 2.2, .bottom = -1.1, .top = 1.1,
                .equal = true, .radius = 6 };
    if (!chart_open(&c, path, "x", "y"))
        return false;
    for (int k = 0; k <= AROUND; k++) {
        across[k] = cos(2 * 3.14159265358979323846 * k / AROUND);
        up[k] = sin(2 * 3.14159265358979323846 * k / AROUND);
    }
    c.colour = "#999";
    chart_curve(&c, AROUND + 1, across, up, "the sphere");
    for (int front = 0; front < 2; front++)
        for (int i = 0; i < ELECTRONS; i++)
            for (int j = 0; j < i; j++) {
                turn(x + 3 * i, p);
                turn(x + 3 * j, q);
                if (distance(x + 3 * i, x + 3 * j) > near * 1.001
                    || (p[2] + q[2] > 0) != front)
                    continue;
                const double ends[2][2] = { { p[0], q[0] }, { p[1], q[1] } };
                c.colour = front ? "#c33" : "#ecc";
                c.line = front ? 3 : 4;
                chart_curve(&c, 2, ends[0], ends[1], name[front]);
                name[front] = "";
            }
    for (int i = 0; i < ELECTRONS; i++) {
        turn(x + 3 * i, p);
        across[i] = p[0];
        up[i] = p[1];
    }
    c.colour = NULL;
    c.line = 1;
    chart_points(&c, ELECTRONS, across, up, "electrons");
    return chart_close(&c);
}

int main(int count, char **words)
{
    double x[VARIABLES];
    spread(x);
    double near = nearest(x);
    printf("nearest neighbours are %.4f apart\n", near);
    if (count > 1 && !draw(words[1], x, near))
        fail(5, "lbfgs_sphere: cannot write %s: %s", words[1],
             strerror(errno));
}
