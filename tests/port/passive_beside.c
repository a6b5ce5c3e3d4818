// tags: part
// SPDX-License-Identifier: MIT-0
// port: passive work beside active work: tables, counters, a plain sum
// function: passive_beside
// with: x:n
// in: 3
// out: 1
// at: 1 2 3
// passive: table total angle
// call: y[0] = passive_beside@(x, 3);
#include <math.h>

double passive_beside(const double *x, int n)
{
    double table[8], total = 0, r = 0;
    int count = 0;
    for (int i = 0; i < 8; i++) {
        const double angle = 0.25 * i;
        table[i] = cos(angle) * sqrt(angle + 1);
        total += table[i];
    }
    for (int i = 0; i < n; i++)
        if (x[i] > 1.5) {
            r += table[i] * x[i] * x[i];
            count++;
        }
    return r * total / count;
}
