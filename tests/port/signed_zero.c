// tags: part
// SPDX-License-Identifier: MIT-0
// port: the signs of zeros
// function: signed_zero
// with: x
// of: y:6
// in: 1
// out: 6
// at: 0
// at: 1.5
// call: signed_zero@(x[0], y);

void signed_zero(double x, double *y)
{
    double s = 0, t = -0.0;
    y[0] = -x;
    y[1] = 0 - x;
    y[2] = x * -1;
    s -= x;
    y[3] = s;
    t += -x;
    y[4] = t;
    y[5] = -(x - x) + -0.0;
}
