// tags: part
// SPDX-License-Identifier: MIT-0
// port: a number in a variable of another file
// function: refused_extern
// with: x:2

extern double refused_elsewhere[4]; // refused: other files|refused_elsewhere
void refused_use_elsewhere(void);

double refused_extern(const double *x)
{
    refused_elsewhere[0] = x[0];
    refused_use_elsewhere();
    return refused_elsewhere[1] * x[1];
}
