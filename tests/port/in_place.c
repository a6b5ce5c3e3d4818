// tags: part
// SPDX-License-Identifier: MIT-0
// port: update in place: a sweep of Gauss and Seidel
// function: in_place
// with: u:n
// of: u:n
// in: 5
// out: 5
// at: 0 1 3 2 5
// call: for (int i = 0; i < 5; i++) y[i] = x[i];
// call: in_place@(y, 5, 3);

void in_place(double *u, int n, int sweeps)
{
    for (int s = 0; s < sweeps; s++)
        for (int i = 1; i < n - 1; i++) {
            u[i] = (u[i - 1] + u[i + 1]) / 2;
            u[i] *= u[i];
            u[i] /= 1 + u[i];
        }
}
