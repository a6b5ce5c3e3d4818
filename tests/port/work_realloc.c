// tags: part
// SPDX-License-Identifier: MIT-0
// port: an array that grows by realloc
// function: work_realloc
// with: x:2
// in: 2
// out: 1
// at: 1.5 0.25
// may: refuse
// call: y[0] = work_realloc@(x, 9);
#include <stdlib.h>

double work_realloc(const double *x, int n)
{
    double *v = NULL, s = 0;
    int room = 0;
    for (int i = 0; i < n; i++) {
        if (i == room) {
            double *more;
            room = room ? 2 * room : 2;
            more = realloc(v, (size_t)room * sizeof *v);
            if (more == NULL)
                break;
            v = more;
        }
        v[i] = i == 0 ? x[0] : v[i - 1] * x[1] + x[0];
    }
    for (int i = 0; i < n; i++)
        s += v[i];
    free(v);
    return s;
}
