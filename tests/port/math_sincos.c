// tags: part
// SPDX-License-Identifier: MIT-0
// port: sincos, lgamma_r, modf of which one result is used
// function: sincos_use sincos_one sincos_mem modf_unused modf_whole lgamma_use
// with: x:3
// in: 3
// out: 6
// at: 1.53 0.41 0.77
// at: 0.31 1.27 -0.52
// call: y[0] = sincos_use@(x);
// call: y[1] = sincos_one@(x);
// call: y[2] = sincos_mem@(x);
// call: y[3] = modf_unused@(x);
// call: y[4] = modf_whole@(x);
// call: y[5] = lgamma_use@(x);

#define _GNU_SOURCE
#include <math.h>

double sincos_use(const double *x)
{
    double s, c;
    sincos(x[0], &s, &c);
    return s * x[1] + c * c;
}

double sincos_one(const double *x)
{
    double s, c;
    sincos(x[0], &s, &c);
    double p, q;
    sincos(2.0, &p, &q);
    return s * x[1] + q;
}

struct sincos_mem_r {
    double s, c, t;
};
double sincos_mem(const double *x)
{
    struct sincos_mem_r r;
    sincos(x[0] * x[1], &r.s, &r.c);
    r.t = 2;
    return r.c * r.t;
}

double modf_unused(const double *x)
{
    double ip;
    return modf(x[0] * 3, &ip) * x[1];
}

double modf_whole(const double *x)
{
    double ip;
    (void)modf(x[0] * 3, &ip);
    return ip * x[1];
}

double lgamma_use(const double *x)
{
    int s, t;
    return lgamma_r(x[0] + 2, &s) * s + lgamma_r(-x[1] - 0.25, &t) * t;
}
