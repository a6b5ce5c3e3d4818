// tags: part
// SPDX-License-Identifier: MIT-0
// port: an array of structures as input
// function: struct_array
// with: body:n
// in: 6
// out: 1
// at: 0 0 1 1 2.5 2
// call: struct charged@ body[2];
// call: for (int i = 0; i < 2; i++) {
// call:     PUT(body[i].r[0], x[3*i]); PUT(body[i].r[1], x[3*i + 1]);
// call:     PUT(body[i].q, x[3*i + 2]);
// call: }
// call: y[0] = struct_array@(body, 2);
#include <math.h>

struct charged { double r[2]; double q; };

double struct_array(const struct charged body[], int n)
{
    double energy = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            double d2 = 0;
            for (int k = 0; k < 2; k++) {
                const double d = body[i].r[k] - body[j].r[k];
                d2 += d * d;
            }
            energy += body[i].q * body[j].q / sqrt(d2);
        }
    return energy;
}
