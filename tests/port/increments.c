// tags: part
// SPDX-License-Identifier: MIT-0
// port: ++ and -- on numbers, before and after
// function: increments
// with: a
// with: b
// in: 2
// out: 1
// at: 0.5 3
// call: y[0] = increments@(x[0], x[1]);

double increments(double a, double b)
{
    double v[2] = { a, b };
    double r = a++ * 2;
    double *p = v;
    r += --b;
    r *= ++v[1] + v[0]--;
    (*p)++;
    r -= *p++;
    return r * a * b * *p;
}
