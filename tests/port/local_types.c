// tags: part
// SPDX-License-Identifier: MIT-0
// port: types, constants and prototypes that are local to a function
// function: local_types
// with: x:2
// in: 2
// out: 1
// at: 1 2
// call: y[0] = local_types@(x);

static double local_helper(double v);

double local_types(const double *x)
{
    enum { LOCAL_A = 2, LOCAL_B };
    struct local_pair { double a, b; } p = { x[0], x[1] };
    typedef struct local_pair local_pair;
    typedef double local_vec[LOCAL_B];
    static const struct { int n; double w; } rule[] = { { 1, 0.5 }, { 2, 2 } };
    double local_helper(double);
    local_vec v = { 0, x[0], p.b };
    local_pair q = p;
    for (int i = 0; i < LOCAL_A; i++)
        q.a += rule[i].w * v[rule[i].n];
    return local_helper(q.a) * q.b;
}

static double local_helper(double v)
{
    return v * v;
}
