// tags: part
// SPDX-License-Identifier: MIT-0
// port: void * that leads to numbers at one call and to integers at another
// function: memory_two_kinds
// with: x:2
// in: 2
// out: 1
// at: 2 3
// may: refuse
// call: y[0] = memory_two_kinds@(x);

static void visit(void (*f)(void *, int), void *data, int n)
{
    for (int i = 0; i < n; i++)
        f(data, i);
}

static void visit_sum(void *data, int i) { *(double *)data *= 1 + i; }
static void visit_count(void *data, int i) { *(int *)data += i; }

double memory_two_kinds(const double *x)
{
    double s = x[0] * x[1];
    int n = 0;
    visit(visit_sum, &s, 3);
    visit(visit_count, &n, 3);
    return s * n;
}
