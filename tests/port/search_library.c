// tags: part
// SPDX-License-Identifier: MIT-0
// port: bsearch for a number in a table
// function: search_library
// with: x
// in: 1
// out: 1
// at: 2.5
// may: refuse
// call: y[0] = search_library@(x[0]);
#include <stdlib.h>

struct search_row { double from, to, slope; };

static const struct search_row search_rows[] = {
    { 0, 1, 0.5 }, { 1, 2, 1.5 }, { 2, 3, 2.5 },
};

static int in_row(const void *key, const void *row)
{
    const double x = *(const double *)key;
    const struct search_row *r = row;
    return x < r->from ? -1 : x >= r->to;
}

double search_library(double x)
{
    const struct search_row *r = bsearch(&x, search_rows, 3,
                                         sizeof *search_rows, in_row);
    return r ? r->slope * (x - r->from) : 0;
}
