// tags: part
// SPDX-License-Identifier: MIT-0
// port: returns in the middle, from loops
// function: early_return
// with: x:n
// in: 3
// out: 1
// at: 1 5 2
// at: 7 1 1
// at: 1 1 1
// call: y[0] = early_return@(x, 3, 4.0);

double early_return(const double *x, int n, double limit)
{
    double s = 0;
    if (n <= 0)
        return 0;
    if (x[0] > limit)
        return x[0] * x[1];
    for (int i = 0; i < n; i++) {
        s += x[i] * x[i];
        if (s > limit)
            return s / x[0];
    }
    return s - limit;
}
