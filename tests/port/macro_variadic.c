// tags: part
// SPDX-License-Identifier: MIT-0
// port: a macro with as many numbers as one likes
// function: macro_variadic
// with: x:2
// in: 2
// out: 1
// at: 1.5 2
// call: y[0] = macro_variadic@(x);
#define PORT_COUNT(...) (sizeof (double[]){ __VA_ARGS__ } / sizeof(double))
#define PORT_SUM(...) \
    summed_up((double[]){ __VA_ARGS__ }, (int)PORT_COUNT(__VA_ARGS__))

static double summed_up(const double *v, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += v[i] * (i + 1);
    return s;
}

double macro_variadic(const double *x)
{
    return PORT_SUM(x[0], x[1] * x[1], 3, x[0]) * PORT_SUM(x[1]);
}
