// tags: part
// SPDX-License-Identifier: MIT-0
// port: global data that functions declare for themselves
// function: refused_extern_local
// with: x:2

static double refused_local_get(void)
{
    extern double refused_local_data;
    return refused_local_data;
}

double refused_extern_local(const double *x)
{
    extern double refused_local_data; // refused: other files
    refused_local_data = x[0];
    return refused_local_get() * x[1];
}
