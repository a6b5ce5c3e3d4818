// tags: part
// SPDX-License-Identifier: MIT-0
// port: sizes compared, divided and added up
// function: sizes_of_numbers
// with: x:4
// in: 4
// out: 1
// at: 1 2 3 4
// may: refuse
// call: y[0] = sizes_of_numbers@(x);
#include <stdlib.h>
#include <string.h>

struct sized_pair { double a, b; };

double sizes_of_numbers(const double *x)
{
    double v[4], s = 0;
    struct sized_pair p;
    char *room = malloc(sizeof(struct sized_pair) + sizeof v);
    const size_t bytes = sizeof(double) * (sizeof v / sizeof *v);
    free(room);
    if (bytes != sizeof v)
        return 0;
    memcpy(v, x, bytes);
    memcpy(&p, v, sizeof p);
    for (size_t i = 0; i < bytes / sizeof(double); i++)
        s += v[i] * (double)(i + 1);
    return s * p.a + p.b * (double)(sizeof p / sizeof p.a);
}
