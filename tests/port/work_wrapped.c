// tags: part
// SPDX-License-Identifier: MIT-0
// port: memory by a function and a macro of the program
// function: work_wrapped
// with: x:n
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = work_wrapped@(x, 3);
#include <stdlib.h>
#define PORT_NEW(type, n) ((type *)checked_memory((size_t)(n) * sizeof(type)))

static void *checked_memory(size_t bytes)
{
    void *p = malloc(bytes);
    if (p == NULL)
        abort();
    return p;
}

double work_wrapped(const double *x, int n)
{
    double *a = PORT_NEW(double, n), s = 0;
    int *order = PORT_NEW(int, n);
    double *b = checked_memory((size_t)n * sizeof *b);
    for (int i = 0; i < n; i++) {
        a[i] = x[i] * x[0];
        order[i] = n - 1 - i;
    }
    for (int i = 0; i < n; i++)
        b[order[i]] = a[i] * a[i];
    for (int i = 0; i < n; i++)
        s += b[i] * x[i];
    free(a);
    free(b);
    free(order);
    return s;
}
