// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure that a function which is not seen returns
// function: refused_unknown_result
// with: x:2

struct refused_made { double value; struct refused_made *next; };
struct refused_made refused_make(void);

double refused_unknown_result(const double *x)
{
    struct refused_made v = refused_make(); // refused: structure of a function
    v.value += x[0];
    return v.value * v.next->value;
}
