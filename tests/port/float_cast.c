// tags: part
// SPDX-License-Identifier: MIT-0
// port: a cast to float within an expression rounds
// function: float_cast
// with: x
// in: 1
// out: 1
// at: 0.1
// tolerance: 1e-6
// may: refuse
// call: y[0] = float_cast@(x[0]);

double float_cast(double x)
{
    return (double)(float)(x * 3) + x * x;
}
