// tags: part
// SPDX-License-Identifier: MIT-0
// port: a static variable that holds a recorded number within a call
// function: static_number
// with: x:2
// in: 2
// out: 1
// at: 2 3
// may: refuse
// call: y[0] = static_number@(x);

static double accumulate_static(double v, int restart)
{
    static double total;
    if (restart)
        total = 0;
    total += v * v;
    return total;
}

double static_number(const double *x)
{
    accumulate_static(x[0], 1);
    return accumulate_static(x[1], 0);
}
