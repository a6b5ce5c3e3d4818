// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers that go into global data and come back by a function not seen
// function: refused_extern_unseen
// with: x:2

extern double refused_before, refused_after[2];
void refused_transform(void);

double refused_extern_unseen(const double *x)
{
    refused_before = x[0]; // refused: refused_transform.*refused_before
    refused_transform();
    return refused_after[1] * x[1];
}
