// tags: part
// SPDX-License-Identifier: MIT-0
// port: outputs behind addresses in a structure
// function: output_fields
// with: x:2
// of: r
// in: 2
// out: 3
// at: 1.5 2
// may: refuse
// call: struct output_set@ r; real v[2]; r.v = v; r.n = 2;
// call: output_fields@(x, &r);
// call: y[0] = v[0]; y[1] = v[1]; y[2] = NUM(r.total);

struct output_set { int n; double *v, total; };

void output_fields(const double *x, struct output_set *r)
{
    r->total = 1;
    for (int i = 0; i < r->n; i++)
        r->total *= r->v[i] = x[i] * x[i];
}
