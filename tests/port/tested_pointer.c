// tags: part
// SPDX-License-Identifier: MIT-0
// port: the address of numbers goes to a function that only compares it
// function: tested_pointer
// with: x:n
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = tested_pointer@(x, 3);
#include <stdio.h>

// Case 1 looks at a whole number, the others whether there is something.
static int failed(void *value, const char *name, int what)
{
    if (what == 0 && value == NULL) {
        fprintf(stderr, "%s has no memory\n", name);
        return 1;
    } else if (what == 1) {
        int *status = (int *)value;
        if (*status < 0) {
            fprintf(stderr, "%s says %d\n", name, *status);
            return 1;
        }
    } else if (what == 2 && !value)
        return 1;
    return 0;
}

double tested_pointer(const double *x, int n)
{
    int status = n > 0 ? 0 : -1;
    double s = 0;
    if (failed((void *)x, "x", 0) || failed((void *)x, "x", 2))
        return 0;
    if (failed(&status, "n", 1))
        return 0;
    for (int i = 0; i < n; i++)
        s += x[i] * x[i];
    return s;
}
