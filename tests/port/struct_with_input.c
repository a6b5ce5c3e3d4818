// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure that points to the input
// function: struct_with_input
// with: x:n
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = struct_with_input@(x, 3);

struct view_of { const double *data; int n, stride; };

static double view_at(struct view_of v, int i) { return v.data[i * v.stride]; }

static double view_sum(const struct view_of *v)
{
    double s = 0;
    for (int i = 0; i < v->n; i++)
        s += view_at(*v, i) * view_at(*v, 0);
    return s;
}

double struct_with_input(const double *x, int n)
{
    struct view_of all = { x, n, 1 }, odd = { x + 1, n / 2, 2 };
    return view_sum(&all) * view_sum(&odd);
}
