// tags: part
// SPDX-License-Identifier: MIT-0
// port: a choice by an array of flags and by products with comparisons
// function: masked
// with: x:3
// in: 3
// out: 1
// at: 0.75 2 -1
// call: y[0] = masked@(x);
#include <stddef.h>

double masked(const double *x)
{
    const char on[3] = { 1, 0, 1 };
    double s = 0, *place[2] = { &s, NULL };
    for (int i = 0; i < 3; i++) {
        const int use = on[i] && x[i] > -2;
        *place[0] += use * x[i] * x[(i + 1) % 3] + (x[i] < 0) * x[i];
        s -= on[i] ? 0 : x[i];
    }
    return s + (x[0] > 0 ? 1 : -1) * x[2] + !!x[1] * x[0];
}
