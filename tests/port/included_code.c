// tags: part
// SPDX-License-Identifier: MIT-0
// port: a file of code that is included in the middle, behind what it uses
// function: included_code
// with: x:n
// in: 3
// out: 1
// at: 1 2 3
// at: 0.5 -1 2
// keeps: middle_sum_ad(
// call: y[0] = included_code@(3, x);
#include <math.h>

typedef struct middle_data {
    int n;
} middle_data;

#define MIDDLE_WEIGHT 3.0

static const double middle_shift[2] = { 0.25, -0.5 };

#include "several/middle.c"

#define MIDDLE_WEIGHT 5.0

double included_code(int n, const double *x)
{
    const middle_data d = { n };
    return exp(-middle_sum(&d, x) / 20) * MIDDLE_WEIGHT;
}
