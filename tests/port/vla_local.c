// tags: part
// SPDX-License-Identifier: MIT-0
// port: a local array of variable length
// function: vla_local
// with: x:n
// in: 5
// out: 1
// at: 1 -2 0.5 3 0.25
// call: y[0] = vla_local@(5, x);

double vla_local(int n, const double *x)
{
    double sums[n + 1];
    sums[0] = 0;
    for (int i = 0; i < n; i++)
        sums[i + 1] = sums[i] + x[i] * x[i];
    return sums[n] * sums[n / 2]
           + sums[1] * (double)(sizeof sums / sizeof *sums);
}
