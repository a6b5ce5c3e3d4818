// tags: part
// SPDX-License-Identifier: MIT-0
// port: several outputs, one by return, two by pointers
// function: several_outputs
// with: x:2
// in: 2
// out: 4
// at: 1.5 0.5
// call: int count = 0;
// call: y[0] = several_outputs@(x, &y[1], y + 2, &count);
// call: if (count != 2) y[0] = x[0];

double several_outputs(const double *x, double *sum, double pair[2], int *count)
{
    *sum = x[0] + x[1];
    pair[0] = x[0] * x[1];
    pair[1] = *sum / pair[0];
    *count = 2;
    return pair[1] - *sum;
}
