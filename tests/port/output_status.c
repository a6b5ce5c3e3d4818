// tags: part
// SPDX-License-Identifier: MIT-0
// port: a status is returned, the number comes by a pointer
// function: output_status
// with: x
// of: result
// in: 1
// out: 1
// at: 2
// at: -2
// call: if (output_status@(x[0], &y[0]) != 0) y[0] = x[0];
#include <errno.h>
#include <math.h>
#include <stddef.h>

int output_status(double x, double *result)
{
    if (x < 0)
        return EDOM;
    if (result == NULL)
        return -1;
    *result = sqrt(x) * log(x);
    return 0;
}
