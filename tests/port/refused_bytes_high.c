// tags: part
// SPDX-License-Identifier: MIT-0
// port: the upper word of a number by an array of int
// function: refused_bytes_high
// with: x
// with: y

double refused_bytes_high(double x, double y)
{
    double r = y;
    ((int *)&r)[1] = ((int *)&x)[1]; // refused: byte|cast|pointer|alias
    return r;
}
