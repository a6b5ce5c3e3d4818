// tags: part
// SPDX-License-Identifier: MIT-0
// port: an address that is only tested, by a function for all addresses
// function: callback_checked
// with: y:2
// of: ydot:2
// in: 2
// out: 2
// at: 2 3
// may: refuse
// call: double rate = 0.5;
// call: if (callback_checked@(0.1, x, y, &rate) != 0) return;
#include <stddef.h>

static int check_address(void *p, const char *name, int kind)
{
    if (kind == 0 && p == NULL)
        return 1;
    if (kind == 1) {
        int *flag = (int *)p;
        return *flag < 0;
    }
    return name == NULL;
}

int callback_checked(double t, const double *y, double *ydot, void *data)
{
    double rate = *(double *)data;
    if (check_address((void *)y, "y", 0) || check_address(ydot, "ydot", 0))
        return 1;
    ydot[0] = y[1];
    ydot[1] = -rate * y[0] * t;
    return 0;
}
