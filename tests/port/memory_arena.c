// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers in memory that a program hands out itself
// function: memory_arena
// with: x:2
// in: 2
// out: 1
// at: 2 3
// may: refuse
// call: y[0] = memory_arena@(x);
#include <stddef.h>

static char arena_bytes[4096];
static size_t arena_used;

static void *arena_take(size_t n)
{
    void *p = arena_bytes + arena_used;
    arena_used += (n + 15) / 16 * 16;
    return p;
}

double memory_arena(const double *x)
{
    double *a, *b;
    arena_used = 0;
    a = arena_take(2 * sizeof(double));
    b = arena_take(2 * sizeof *b);
    for (int i = 0; i < 2; i++) {
        a[i] = x[i] * x[i];
        b[i] = a[i] + x[0];
    }
    return a[0] * b[1] + a[1] * b[0];
}
