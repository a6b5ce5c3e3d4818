// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure of numbers that is walked as an array
// function: struct_as_array
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// may: refuse
// call: y[0] = struct_as_array@(x);

struct as_array { double x, y, z; };

double struct_as_array(const double *x)
{
    struct as_array p = { x[0], 2, x[2] };
    double *v = &p.x, s = 0;
    for (int i = 0; i < 3; i++)
        s = s * x[1] + v[i];
    return s + ((double *)&p)[2];
}
