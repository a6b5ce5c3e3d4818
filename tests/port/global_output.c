// tags: part
// SPDX-License-Identifier: MIT-0
// port: global data that only other functions read: a note says that they have
// no derivatives
// function: global_output
// with: x:2
// in: 2
// out: 1
// at: 1.5 0.5
// keeps: global data get the value only, without derivatives: global_size
// call: y[0] = global_output@(x);

static double global_size;

double global_size_now(void)
{
    return global_size;
}

double global_output(const double *x)
{
    global_size = x[0] * x[0] + x[1] * x[1];
    return x[0] * x[1];
}
