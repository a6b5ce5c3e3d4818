// tags: part
// SPDX-License-Identifier: MIT-0
// port: names that collide with those of the library or of the twin
// function: names
// with: real_part
// in: 1
// out: 1
// at: 1.5
// call: y[0] = names@(x[0]);
#include <math.h>

static double ad_add_local(double x) { return x + 1; }
static double names_ad2(double x_ad) { return x_ad * x_ad; }

double names(double real_part)
{
    double ad_value_of = real_part, value = 2, d = 3, v = real_part, tape = 1;
    const double ad_x = ad_add_local(ad_value_of);
    {
        double v = value * d;
        tape += v * ad_x;
    }
    return names_ad2(ad_x) + tape + v;
}
