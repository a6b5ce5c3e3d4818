// tags: part
// SPDX-License-Identifier: MIT-0
// port: initialisers of local arrays: partial, designated, nested, of strings
// function: initialisers
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = initialisers@(x);
#include <string.h>

double initialisers(const double *x)
{
    double a[4] = { x[0] };
    double b[] = { x[1], x[2] * x[0], 3 };
    double c[5] = { [3] = x[2], x[1], [0] = 1 };
    double d[2][3] = { { x[0], x[1] }, { [2] = x[2] } };
    double e[2][2] = { { x[0], 1 }, { x[2] } };
    const char name[] = "port";
    double s = (double)strlen(name);
    for (int i = 0; i < 4; i++)
        s = s * 0.5 + a[i] + c[i + 1];
    for (int i = 0; i < (int)(sizeof b / sizeof b[0]); i++)
        s += b[i] * b[i];
    return s * (d[0][0] + d[0][1] * d[0][2] + d[1][2] * d[1][2])
           + e[0][0] * e[1][0] * e[0][1] + e[1][1];
}
