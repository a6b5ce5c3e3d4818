// tags: part
// SPDX-License-Identifier: MIT-0
// port: a number that only decides, in an array, a structure and a copy
// function: condition_only
// with: x:3
// in: 3
// out: 1
// at: 1.5 2 0.5
// at: 1.5 2 -0.5
// call: y[0] = condition_only@(x);

struct decision { double margin; int chosen; };

double condition_only(const double *x)
{
    struct decision d = { x[2] * 2, 0 };
    double copies[2] = { x[2], d.margin };
    if (copies[1] > 0)
        d.chosen = 1;
    return d.chosen ? x[0] * x[0] : x[1] * (copies[0] < 0);
}
