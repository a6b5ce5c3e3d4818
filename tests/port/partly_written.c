// tags: part
// SPDX-License-Identifier: MIT-0
// port: an array of outputs, of which some places are written and some not
// function: partly_written
// with: x:2
// of: z:4
// in: 2
// out: 4
// at: 1.5 2
// call: for (int i = 0; i < 4; i++) PUT(y[i], i);
// call: partly_written@(x, y, 2);

void partly_written(const double *x, double *z, int n)
{
    for (int i = 0; i < n; i++)
        z[2 * i] = x[i] * x[0];
}
