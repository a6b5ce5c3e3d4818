// tags: part
// SPDX-License-Identifier: MIT-0
// port: a pointer to numbers or to constants
// function: pointer_mixed
// with: x:2
// in: 2
// out: 2
// at: 1.5 2
// may: refuse
// call: y[0] = pointer_mixed@(x, 0); y[1] = pointer_mixed@(x, 1);

static const double pointer_fixed[2] = { 3, 4 };

double pointer_mixed(const double *x, int which)
{
    const double *rows[2] = { pointer_fixed, x };
    const double *p = which ? x : pointer_fixed;
    return p[0] * p[1] * x[0] + rows[which][1] + rows[0][0];
}
