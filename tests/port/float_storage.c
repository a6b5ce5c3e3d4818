// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers of float in a program of doubles
// function: float_storage
// with: x:2
// in: 2
// out: 1
// at: 0.3 1.7
// tolerance: 1e-6
// may: refuse
// call: y[0] = float_storage@(x);

double float_storage(const double *x)
{
    float a = (float)(x[0] * x[1]);
    float b = (float)x[1];
    double r = a * b;
    r += (double)a / 3;
    return r * x[0];
}
