// tags: part
// SPDX-License-Identifier: MIT-0
// port: memcpy behind a function of the program
// function: memory_wrapped_copy
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// may: refuse
// call: y[0] = memory_wrapped_copy@(x);
#include <string.h>

static void *copied_to(void *to, const void *from, size_t bytes)
{
    return memcpy(to, from, bytes);
}

double memory_wrapped_copy(const double *x)
{
    double a[3];
    int k[2] = { 1, 2 }, j[2];
    copied_to(a, x, sizeof a);
    copied_to(j, k, sizeof j);
    return a[0] * a[j[0]] * a[j[1]];
}
