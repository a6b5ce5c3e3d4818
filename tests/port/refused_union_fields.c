// tags: part
// SPDX-License-Identifier: MIT-0
// port: a union of numbers and others in a structure
// function: refused_union_fields
// with: x

struct tagged_value {
    int kind;
    union { double number; long whole; } is; // refused: union
};

double refused_union_fields(double x)
{
    struct tagged_value v;
    v.kind = 1;
    v.is.number = x * x;
    return v.kind ? v.is.number : (double)v.is.whole;
}
