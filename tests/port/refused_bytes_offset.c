// tags: part
// SPDX-License-Identifier: MIT-0
// port: a field by its offset in bytes
// function: refused_bytes_offset
// with: x:2

#include <stddef.h>

struct by_offset { int kind; double a, b; };

double refused_bytes_offset(const double *x)
{
    struct by_offset s = { 1, x[0], x[1] };
    char *base = (char *)&s; // refused: byte|char|cast|pointer|alias
    return s.a * *(double *)(base + offsetof(struct by_offset, b));
}
