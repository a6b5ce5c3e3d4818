// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function of which nothing is known, in a structure of the caller
// function: refused_pointer_field
// with: x

struct unknown_law { double (*energy)(double, void *); void *data; };

double refused_pointer_field(double x, const struct unknown_law *law)
{
    return law->energy(x, law->data) * x; // refused: function|pointer|energy
}
