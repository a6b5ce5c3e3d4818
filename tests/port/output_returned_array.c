// tags: part
// SPDX-License-Identifier: MIT-0
// port: an array of numbers is returned
// function: output_returned_array
// with: x:n
// in: 3
// out: 3
// at: 1 2 3
// may: refuse
// call: real *v = output_returned_array@(x, 3);
// call: for (int i = 0; i < 3; i++) y[i] = v[i];
// call: free(v);
#include <stdlib.h>

double *output_returned_array(const double *x, int n)
{
    double *v = malloc((size_t)n * sizeof *v);
    for (int i = 0; i < n; i++)
        v[i] = x[i] * x[n - 1 - i];
    return v;
}
