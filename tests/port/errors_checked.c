// tags: part
// SPDX-License-Identifier: MIT-0
// port: isnan, isfinite, isinf, signbit and fpclassify of numbers
// function: errors_checked
// with: x
// in: 1
// out: 1
// at: 2
// at: -0.5
// call: y[0] = errors_checked@(x[0]);
#include <math.h>

double errors_checked(double x)
{
    double r = 1 / (x - 1);
    if (isnan(r) || isinf(r) || !isfinite(r))
        return 0;
    if (signbit(x))
        r = -r * x;
    if (fpclassify(r) == FP_ZERO)
        return x;
    return r * x;
}
