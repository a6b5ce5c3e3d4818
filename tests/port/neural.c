// tags: part
// SPDX-License-Identifier: MIT-0
// port: a network of layers in one array of parameters
// function: neural
// with: w:22
// in: 22
// out: 1
// at: 1 2 -1 0.5 0.3 1 -2 1 0.1 0.2 0.3 -0.5 1 1 0.7 2 -1 0.1 0.4 0.6 -0.2 1
// call: y[0] = neural@(x, (double[]){ 0.5, -1.5, 2 });
#include <math.h>
#include <stddef.h>

static const double *dense_layer(const double *w, const double *in, int n,
                                 double *out, int m, double (*act)(double))
{
    for (int i = 0; i < m; i++) {
        double s = *w++;
        for (int j = 0; j < n; j++)
            s += *w++ * in[j];
        out[i] = act ? act(s) : s;
    }
    return w;
}

double neural(const double *w, const double *in)
{
    double a[4], b[1], c;
    const double *p = dense_layer(w, in, 3, a, 4, tanh);
    p = dense_layer(p, a, 4, b, 1, NULL);
    c = b[0] + *p;
    return c * c;
}
