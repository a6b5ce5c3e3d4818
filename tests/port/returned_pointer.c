// tags: part
// SPDX-License-Identifier: MIT-0
// port: functions that return addresses of numbers
// function: returned_pointer
// with: x:4
// in: 4
// out: 1
// at: 1 2 3 4
// call: y[0] = returned_pointer@(x);

static double *row_at(double *a, int i, int n) { return a + i * n; }

static const double *largest_at(const double *v, int n)
{
    const double *p = v;
    while (--n > 0)
        if (*++v > *p)
            p = v;
    return p;
}

double returned_pointer(const double *x)
{
    double a[4] = { x[0], x[1], x[2], x[3] };
    *row_at(a, 1, 2) += x[0] * x[1];
    row_at(a, 0, 2)[1] *= 3;
    return *largest_at(a, 4) * a[1] + (largest_at(x, 4) - x) * *row_at(a, 1, 2);
}
