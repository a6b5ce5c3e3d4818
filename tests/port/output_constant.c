// tags: part
// SPDX-License-Identifier: MIT-0
// port: an output that no input reaches, by its own pointer
// function: output_constant
// with: x
// of: fixed
// of: moving
// in: 1
// out: 2
// at: 1.5
// may: refuse
// call: output_constant@(x[0], &y[0], &y[1]);

void output_constant(double x, double *fixed, double *moving)
{
    *fixed = 2.5;
    *moving = *fixed * x;
}
