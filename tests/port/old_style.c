// tags: part
// SPDX-License-Identifier: MIT-0
// port: a definition in the style of before 1989
// function: old_style
// with: a
// with: v:n
// in: 3
// out: 1
// at: 1.5 2 3
// call: y[0] = old_style@(x[0], x + 1, 2);

double old_style(a, v, n)
    double a;
    const double *v;
    int n;
{
    register double s;
    register int i;
    s = a;
    for (i = 0; i < n; ++i)
        s = s * v[i] + a;
    return (s);
}
