// tags: part
// SPDX-License-Identifier: MIT-0
// port: a local matrix of variable size, eliminated in place
// function: vla_matrix
// with: x:n*n
// in: 9
// out: 1
// at: 4 1 0.5 1 3 1 0.25 1 5
// call: y[0] = vla_matrix@(3, x);
#include <math.h>
#include <string.h>

double vla_matrix(int n, const double *x)
{
    double a[n][n];
    double det = 1;
    memcpy(a, x, sizeof a);
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(a[i][k]) > fabs(a[p][k]))
                p = i;
        if (p != k) {
            for (int j = 0; j < n; j++) {
                double t = a[k][j];
                a[k][j] = a[p][j];
                a[p][j] = t;
            }
            det = -det;
        }
        det *= a[k][k];
        for (int i = k + 1; i < n; i++) {
            const double f = a[i][k] / a[k][k];
            for (int j = k; j < n; j++)
                a[i][j] -= f * a[k][j];
        }
    }
    return det;
}
