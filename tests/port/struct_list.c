// tags: part
// SPDX-License-Identifier: MIT-0
// port: a linked list of nodes with numbers, on the stack
// function: struct_list
// with: x:3
// in: 3
// out: 1
// at: 2 3 0.5
// call: y[0] = struct_list@(x);
#include <stddef.h>

struct link {
    double value;
    struct link *next;
};

static double list_fold(const struct link *p)
{
    double s = 0;
    for (; p != NULL; p = p->next)
        s = s * p->value + 1;
    return s;
}

double struct_list(const double *x)
{
    struct link c = { x[2], NULL }, b = { x[1], &c }, a = { x[0], &b };
    c.value *= a.value;
    return list_fold(&a) + list_fold(a.next);
}
