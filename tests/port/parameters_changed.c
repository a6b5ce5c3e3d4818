// tags: part
// SPDX-License-Identifier: MIT-0
// port: parameters that the function changes: numbers, pointers, counts
// function: parameters_changed
// with: x:n
// with: a
// in: 4
// out: 1
// at: 1 2 3 0.5
// call: y[0] = parameters_changed@(x, 3, x[3]);

double parameters_changed(const double *x, int n, double a)
{
    a = a * a;
    x++;
    a += x[-1];
    for (; --n; x++)
        a *= *x;
    return a;
}
