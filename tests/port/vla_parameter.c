// tags: part
// SPDX-License-Identifier: MIT-0
// port: parameters of variable length, matrices a[n][m]
// function: vla_parameter
// with: a:m*n
// with: x:n
// of: r:m
// in: 9
// out: 2
// at: 1 2 3 4 5 6 0.5 -1 2
// call: vla_parameter@(2, 3, (const real (*)[3])x, x + 6, y);

static double vla_dot(int n, const double a[n], const double b[n])
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i] * b[i];
    return s;
}

void vla_parameter(int m, int n, const double a[m][n], const double x[n],
                   double r[m])
{
    for (int i = 0; i < m; i++)
        r[i] = vla_dot(n, a[i], x);
}
