// tags: part
// SPDX-License-Identifier: MIT-0
// port: an output that is added to, and was set by the caller
// function: output_accumulates
// with: x:2
// of: g:2
// in: 2
// out: 2
// at: 1.5 0.5
// call: PUT(y[0], 10); PUT(y[1], 20);
// call: output_accumulates@(x, y);

void output_accumulates(const double *x, double *g)
{
    g[0] += x[0] * x[1];
    g[1] = g[1] * 2 - x[0];
}
