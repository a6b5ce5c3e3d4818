// tags: part
// SPDX-License-Identifier: MIT-0
// port: complex numbers
// function: refused_complex
// with: x:2

#include <complex.h>

double refused_complex(const double *x)
{
    double complex z = x[0] + x[1] * I; // refused: complex
    return creal(z * z);
}
