// tags: part
// SPDX-License-Identifier: MIT-0
// port: a pointer that is one of two, by a condition on a number
// function: pointer_choice
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// at: 3 2 1
// call: y[0] = pointer_choice@(x);

double pointer_choice(const double *x)
{
    const double *larger = x[0] > x[2] ? &x[0] : &x[2];
    const double *other = larger == x ? x + 2 : x;
    return *larger * *larger + 3 * *other * x[1];
}
