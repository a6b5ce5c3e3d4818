// tags: part
// SPDX-License-Identifier: MIT-0
// port: a number that becomes active through an alias of its address
// function: activity_through_pointer
// with: x
// in: 1
// out: 1
// at: 0.7
// call: y[0] = activity_through_pointer@(x[0]);

double activity_through_pointer(double x)
{
    double a = 1, b[2] = { 2, 3 };
    double *p = &a, **q = &p, *r = b;
    **q = x * 3;
    r++;
    *r *= x;
    p = b;
    *p += a;
    return a * b[0] + b[1];
}
