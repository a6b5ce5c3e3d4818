// SPDX-License-Identifier: MIT-0
// needs: nlopt.h -lnlopt
// libs: -lnlopt
/* Ten equal circles in a square of side 1, as large as they can be.
 *
 *     nlopt_packing [picture.svg]
 *
 * The variables are the radius, which is maximised, and the centres. No two
 * circles overlap and none leaves the square: 45 + 40 inequalities in one
 * vector. SLSQP finds a packing nearby from each of many random starts; the
 * best one is the known one, whose radius is 0.148204 (E. Specht,
 * packomania.com).
 *
 * Shows    adrev_nlopt.h: a vector of constraints with its Jacobian
 * Prints   largest radius 0.148204, success
 *          density 0.690
 */

#define ADREV_IMPLEMENTATION
#include "adrev_nlopt.h"
#include "chart.h"
#include "fail.h"
#include "packing.h"

#include <errno.h>

enum { STARTS = 40 };

/* --- its solution --------------------------------------------------------- */

// Numbers that look random, the same on every machine: x[n+1] = a x[n] + c.
static double random_number(void)
{
    static unsigned long state = 1;
    state = (state * 1103515245ul + 12345ul) & 0x7ffffffful;
    return (double)state / 2147483648.0;
}

// The best packing from many starts. Returns its radius, 0 if there is none.
static double pack(double best[PACKING])
{
    ad_model *f = ad_model_scalar(radius, NULL, PACKING);
    ad_model *c = ad_model_vector(overlaps, NULL, PACKING, LIMITS);
    nlopt_opt opt = nlopt_create(NLOPT_LD_SLSQP, PACKING);
    double largest = 0, tolerance[LIMITS];
    for (int i = 0; i < LIMITS; i++)
        tolerance[i] = 1e-9;
    if (ad_nlopt_maximise(opt, f) < 0
        || ad_nlopt_inequalities(opt, c, tolerance) < 0)
        fail(4, "nlopt_packing: out of memory");
    nlopt_set_lower_bounds1(opt, 0);
    nlopt_set_upper_bounds1(opt, 1);
    nlopt_set_xtol_rel(opt, 1e-9);
    nlopt_set_maxeval(opt, 500);
    for (int k = 0; k < STARTS; k++) {
        double x[PACKING], found = 0;
        for (int i = 0; i < PACKING; i++)
            x[i] = i == 0 ? 0.01 : random_number();
        if (nlopt_optimize(opt, x, &found) > 0 && found > largest) {
            largest = found;
            memcpy(best, x, sizeof x);
        }
    }
    ad_status status = ad_model_status(c);
    nlopt_destroy(opt);
    ad_model_free(f);
    ad_model_free(c);
    if (largest <= 0)
        fail(4, "nlopt_packing: %s", ad_message(status));
    printf("largest radius %.6f, %s\n", largest, ad_message(status));
    return largest;
}

/* --- the picture ---------------------------------------------------------- */

static bool draw(const char *path, const double x[PACKING])
{
    enum { AROUND = 90 };
    const double side[2][5] = { { 0, 1, 1, 0, 0 }, { 0, 0, 1, 1, 0 } };
    double across[AROUND + 1], up[AROUND + 1];
    chart c = { .right = 1.6, .top = 1, .equal = true, .radius = 3 };
    if (!chart_open(&c, path, "x", "y"))
        return false;
    c.colour = "#222";
    chart_curve(&c, 5, side[0], side[1], "the square");
    for (int i = 0; i < CIRCLES; i++) {
        for (int k = 0; k <= AROUND; k++) {
            const double angle = 2 * 3.14159265358979323846 * k / AROUND;
            across[k] = x[1 + 2 * i] + x[0] * cos(angle);
            up[k] = x[2 + 2 * i] + x[0] * sin(angle);
        }
        c.colour = NULL;
        c.line = 3;
        chart_curve(&c, AROUND + 1, across, up, i == 0 ? "circles" : "");
    }
    // Grey: pairs that touch.
    c.colour = "#999";
    c.line = 4;
    const char *name = "touching";
    for (int i = 0; i < CIRCLES; i++)
        for (int j = 0; j < i; j++) {
            const double *a = x + 1 + 2 * i, *b = x + 1 + 2 * j;
            const double ends[2][2] = { { a[0], b[0] }, { a[1], b[1] } };
            if (hypot(a[0] - b[0], a[1] - b[1]) > 2 * x[0] + 1e-5)
                continue;
            chart_curve(&c, 2, ends[0], ends[1], name);
            name = "";
        }
    return chart_close(&c);
}

int main(int count, char **words)
{
    double x[PACKING];
    double r = pack(x);
    printf("density %.3f\n", CIRCLES * 3.14159265358979323846 * r * r);
    if (count > 1 && !draw(words[1], x))
        fail(5, "nlopt_packing: cannot write %s: %s", words[1],
             strerror(errno));
}
