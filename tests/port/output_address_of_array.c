// tags: part
// SPDX-License-Identifier: MIT-0
// port: the address of a new array is an output
// function: output_address_of_array
// with: x
// of: out
// in: 1
// out: 2
// at: 1.5
// may: refuse
// call: real *v = 0;
// call: output_address_of_array@(x[0], &v);
// call: if (v) { y[0] = v[0]; y[1] = v[1]; free(v); }
#include <stdlib.h>

void output_address_of_array(double x, double **out)
{
    *out = malloc(2 * sizeof **out);
    (*out)[0] = x * x;
    (*out)[1] = (*out)[0] * x;
}
