// tags: part
// SPDX-License-Identifier: MIT-0
// port: a message of a function that may set global data
// function: refused_told
// with: x:2

extern double refused_told_number;
void refused_told_message(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

double refused_told(const double *x)
{
    refused_told_message("%g", x[1]); // refused: may set refused_told_number
    return x[0] * refused_told_number;
}
