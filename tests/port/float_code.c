// tags: part
// SPDX-License-Identifier: MIT-0
// port: a program in float
// function: float_code
// with: x:n
// in: 3
// out: 1
// at: 0.5 1.25 3
// tolerance: 1e-5
// may: refuse
// call: single v[3]; for (int i = 0; i < 3; i++) v[i] = x[i];
// call: y[0] = NUM(float_code@(v, 3));
#include <math.h>

float float_code(const float *x, int n)
{
    float s = 0.1f;
    for (int i = 0; i < n; i++)
        s += x[i] * expf(-x[i]) / (i + 1);
    float sums[] = { s, 1.1f }, *place = sums;
    *place++ += x[1] / 3;
    *place-- *= x[0];
    *place++ -= 0.1 * x[2];
    *place-- /= s;
    s = place[0] + place[1];
    return sqrtf(s) * 0.3f;
}
