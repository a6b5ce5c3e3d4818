// tags: part
// SPDX-License-Identifier: MIT-0
// port: an element behind the end of an array in a structure
// function: refused_beyond
// with: s

typedef struct beyond_pair {
    double a[2], b[2];
} beyond_pair;

double refused_beyond(beyond_pair *s)
{
    double *end = &s->a[2];
    double sum = 0;
    for (double *p = s->a; p < end; p++)
        sum += *p;
    return sum
        + s->a[2]; // refused: behind the end
}
