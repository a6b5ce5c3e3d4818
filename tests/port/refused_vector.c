// tags: part
// SPDX-License-Identifier: MIT-0
// port: vectors of numbers of the compiler
// function: refused_vector
// with: x:4

typedef double refused_vec __attribute__((vector_size(16)));

double refused_vector(const double *x)
{
    refused_vec a = { x[0], x[1] }, b = { x[2], x[3] }; // refused: vector
    refused_vec c = a * b;
    return c[0] + c[1];
}
