// tags: part
// SPDX-License-Identifier: MIT-0
// port: global work memory, used by two functions of one call
// function: global_work
// with: x:n
// in: 3
// out: 1
// at: 1 2 4
// may: refuse
// call: y[0] = global_work@(x, 3);

static double global_scratch[16];

static void fill_scratch(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        global_scratch[i] = x[i] * x[i];
}

double global_work(const double *x, int n)
{
    double s = 0;
    fill_scratch(x, n);
    for (int i = 0; i < n; i++)
        s += global_scratch[i] * (i + 1);
    return s;
}
