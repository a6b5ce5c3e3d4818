// tags: part
// SPDX-License-Identifier: MIT-0
// port: an output behind void *
// function: output_user_data
// with: x
// in: 1
// out: 1
// at: 1.5
// may: refuse
// call: struct user_result@ r = { 1, NUM(0) };
// call: output_user_data@(x[0], &r);
// call: y[0] = NUM(r.v);

struct user_result { int calls; double v; };

void output_user_data(double x, void *data)
{
    struct user_result *r = data;
    r->calls++;
    r->v = x * x * r->calls;
}
