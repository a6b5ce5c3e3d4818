// tags: part
// SPDX-License-Identifier: MIT-0
// port: two buffers whose pointers are exchanged at each step
// function: pointer_swap
// with: u:8
// in: 8
// out: 2
// at: 0 0.1 0.4 0.9 0.8 0.5 0.2 0
// call: y[0] = pointer_swap@(x, 5); y[1] = pointer_swap@(x, 4);

double pointer_swap(const double *u, int steps)
{
    double a[8], b[8];
    double *now = a, *next = b, *t;
    double s = 0;
    for (int i = 0; i < 8; i++)
        now[i] = next[i] = u[i];
    while (steps-- > 0) {
        for (int i = 1; i < 7; i++)
            next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
        t = now;
        now = next;
        next = t;
    }
    for (int i = 0; i < 8; i++)
        s += now[i] * now[i];
    return s;
}
