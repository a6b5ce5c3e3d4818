// tags: part
// SPDX-License-Identifier: MIT-0
// port: memcpy and memset of structures
// function: memory_struct
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = memory_struct@(x);
#include <string.h>

struct copied { int n; double v[2]; double w; };

double memory_struct(const double *x)
{
    struct copied a, b, many[2];
    memset(&a, 0, sizeof a);
    memset(many, 0, sizeof(many));
    a.n = 2;
    a.v[0] = x[0] * x[1];
    a.w = x[2];
    memcpy(&b, &a, sizeof(struct copied));
    b.v[1] = a.v[0] + b.w;
    many[1] = b;
    return many[1].v[1] * b.w + many[0].w + b.n * a.v[0] + a.v[1];
}
