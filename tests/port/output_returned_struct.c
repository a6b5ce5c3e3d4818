// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure is returned, with numbers and a count
// function: output_returned_struct
// with: x:2
// in: 2
// out: 2
// at: 1.5 2
// call: struct returned_pair@ r = output_returned_struct@(x);
// call: y[0] = NUM(r.sum); y[1] = NUM(r.part[1]);

struct returned_pair { int n; double sum, part[2]; };

struct returned_pair output_returned_struct(const double *x)
{
    struct returned_pair r = { 2, x[0] + x[1], { 1 } };
    r.part[1] = r.sum * x[0];
    return r;
}
