// tags: part
// SPDX-License-Identifier: MIT-0
// port: a number in an array of char
// function: refused_bytes_memory
// with: x

double refused_bytes_memory(double x)
{
    _Alignas(16) char room[64];
    double *p = (double *)room; // refused: byte|char|cast|pointer|alias
    p[0] = x * x;
    return p[0] + x;
}
