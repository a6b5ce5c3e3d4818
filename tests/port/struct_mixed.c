// tags: part
// SPDX-License-Identifier: MIT-0
// port: constants of a structure assigned to one with numbers
// function: struct_mixed
// with: x
// in: 1
// out: 1
// at: 1.5
// may: refuse
// call: y[0] = struct_mixed@(x[0]);

struct mixed_params { double k, c[2]; int n; };

static const struct mixed_params mixed_defaults = { 2, { 0.5, 0.25 }, 3 };

static struct mixed_params mixed_make(int n)
{
    struct mixed_params p = { n, { 1, 2 }, n };
    return p;
}

double struct_mixed(double x)
{
    struct mixed_params p = mixed_defaults, q = mixed_make(2);
    p.k *= x;
    p.c[1] = q.c[1] * mixed_defaults.c[0];
    q.c[0] = x;
    return p.k * p.c[0] + p.c[1] * q.c[0] + q.k * p.n;
}
