// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function by a pointer of which nothing is known
// function: refused_pointer
// with: x:2

double refused_pointer(const double *x, double (*f)(double))
{
    return f(x[0]) * x[1]; // refused: f|pointer
}
