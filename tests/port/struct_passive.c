// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure that no number reaches stays as it is
// function: struct_passive
// with: x:n
// in: 3
// out: 1
// at: 1 2 3
// passive: weight
// call: struct stencil s = { { 0.5, -1, 0.5 }, 3 };
// call: y[0] = struct_passive@(x, 3, &s);

struct stencil { double weight[3]; int width; };

double struct_passive(const double *x, int n, const struct stencil *s)
{
    double r = 0;
    for (int i = 0; i < n && i < s->width; i++)
        r += s->weight[i] * x[i] * x[i];
    return r;
}
