// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers in global data, where a function is called that nothing declares
// function: refused_extern_undeclared
// with: x:2

extern double refused_loose_in, refused_loose_out;

double refused_extern_undeclared(const double *x)
{
    refused_loose_in = x[0]; // refused: refused_loose_run.*refused_loose_in
    refused_loose_run();
    return refused_loose_out * x[1];
}
