// tags: part
// SPDX-License-Identifier: MIT-0
// port: arguments that overlap
// function: aliasing
// with: v:n
// of: v:n
// in: 4
// out: 4
// at: 1 2 3 4
// call: for (int i = 0; i < 4; i++) y[i] = x[i];
// call: aliasing@(y, 4);

static void add_into(double *z, const double *a, const double *b, int n)
{
    for (int i = 0; i < n; i++)
        z[i] = a[i] * b[i] + a[0];
}

void aliasing(double *v, int n)
{
    add_into(v, v, v, n);
    add_into(v + 1, v, v + 1, n - 1);
}
