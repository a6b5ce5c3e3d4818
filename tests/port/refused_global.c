// tags: part
// SPDX-License-Identifier: MIT-0
// port: a number in a global variable that other files can read
// function: refused_global
// with: x:2

double refused_last_value; // refused: global|other files

double refused_global(const double *x)
{
    refused_last_value = x[0] * x[1];
    return refused_last_value + x[0];
}
