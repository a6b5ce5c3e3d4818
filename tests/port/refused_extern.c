// tags: part
// SPDX-License-Identifier: MIT-0
// port: a number in a variable of another file
// function: refused_extern
// with: x:2

extern double refused_elsewhere[4];
void refused_use_elsewhere(void);

double refused_extern(const double *x)
{
    refused_elsewhere[0] = x[0]; // refused: global|extern|refused_elsewhere
    refused_use_elsewhere();
    return refused_elsewhere[1] * x[1];
}
