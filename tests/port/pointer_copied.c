// tags: part
// SPDX-License-Identifier: MIT-0
// port: a table whose address is copied by a function that is not converted
// function: pointer_copied
// with: x
// in: 1
// out: 1
// at: 0.5
// call: y[0] = pointer_copied@(x);

static double copied_table[3] = { 1, 0.5, 0.25 };

static double copied_series(double x, double *c, int n)
{
    double *p, sum;
    p = c;
    sum = *p++;
    while (--n) {
        sum = sum * x + *p;
        p += 1;
    }
    return sum;
}

double copied_other(double x) { return copied_series(x + 1, copied_table, 3); }

double pointer_copied(const double *x)
{
    return copied_series(x[0], copied_table, 3);
}
