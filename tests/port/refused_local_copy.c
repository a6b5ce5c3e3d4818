// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure with a number, kept in an array of char
// function: refused_local_copy
// with: x

#include <string.h>

double refused_local_copy(double x)
{
    struct { double v; int n; } a = { x, 1 };
    char copy[sizeof a];
    memcpy(copy, &a, sizeof a); // refused: byte|alias|char
    a.v = 0;
    memcpy(&a, copy, sizeof a); // refused: byte|alias|char
    return a.v * a.n;
}
