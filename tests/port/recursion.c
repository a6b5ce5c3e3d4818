// tags: part
// SPDX-License-Identifier: MIT-0
// port: recursion over a number and an array
// function: recursion
// with: x:n
// in: 5
// out: 1
// at: 1 2 3 4 5
// call: y[0] = recursion@(x, 5);

static double power_by_squares(double b, unsigned e)
{
    double h;
    if (e == 0)
        return 1;
    h = power_by_squares(b, e / 2);
    return e % 2 ? h * h * b : h * h;
}

double recursion(const double *x, int n)
{
    if (n == 1)
        return power_by_squares(x[0], 5);
    return recursion(x, n / 2) * 0.5 + recursion(x + n / 2, n - n / 2) * x[0];
}
