// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers in global data that a function of the user may read
// function: refused_extern_callback
// with: x:2

extern double refused_shared;

double refused_extern_callback(const double *x, double (*given)(void))
{
    refused_shared = x[0]; // refused: a function given.*refused_shared
    return given() * x[1];
}
