// tags: part
// SPDX-License-Identifier: MIT-0
// port: one function, whose parameters are active in turn
// function: called_mixed
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = called_mixed@(x);

static const double mixed_weight[3] = { 0.5, 0.25, 1 };

static double dot_of(const double *a, const double *b, int n)
{
    double s = 0;
    while (n--)
        s += *a++ * *b++;
    return s;
}

double called_mixed(const double *x)
{
    double own[3] = { 1, 2, 3 };
    double s = dot_of(x, mixed_weight, 3) * dot_of(own, x, 3);
    s += dot_of(x, x, 3) + dot_of(own, mixed_weight, 3);
    return s;
}
