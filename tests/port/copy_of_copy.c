// tags: part
// SPDX-License-Identifier: MIT-0
// port: arrays copied by structures, parts copied by memcpy
// function: copy_of_copy
// with: x:4
// in: 4
// out: 1
// at: 1 2 3 4
// call: y[0] = copy_of_copy@(x);
#include <string.h>

struct four_numbers { double v[4]; int n; };

static struct four_numbers turned_around(struct four_numbers a)
{
    struct four_numbers b = a;
    memcpy(&b.v[1], &a.v[0], 3 * sizeof b.v[0]);
    b.v[0] = a.v[3];
    a.v[0] = 100;
    return b;
}

double copy_of_copy(const double *x)
{
    struct four_numbers a, all[2];
    memcpy(a.v, x, sizeof a.v);
    a.n = 4;
    all[0] = turned_around(a);
    all[1] = turned_around(turned_around(all[0]));
    memcpy(&a, &all[1], sizeof a);
    return a.v[0] * a.v[1] + a.v[2] * all[0].v[0] * a.n + all[1].v[3];
}
