// tags: part
// SPDX-License-Identifier: MIT-0
// port: bit-fields beside a number
// function: bit_fields
// with: x:2
// in: 2
// out: 1
// at: 1.5 2
// call: y[0] = bit_fields@(x);

struct with_bits { unsigned kind : 3; signed shift : 4; double v; };

double bit_fields(const double *x)
{
    struct with_bits b = { 5, -2, x[0] };
    b.kind += 4;
    return b.v * b.kind + b.shift * x[1];
}
