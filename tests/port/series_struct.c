// tags: part
// SPDX-License-Identifier: MIT-0
// port: a series as a structure with an address of its numbers
// function: series_struct
// with: x
// of: r
// in: 1
// out: 2
// at: 0.4
// call: struct series_result@ r = { NUM(0), NUM(0) };
// call: if (series_struct@(x[0], &r) == 0) {
// call:     y[0] = NUM(r.value); y[1] = NUM(r.error);
// call: }
#include <math.h>

struct series_result { double value, error; };
struct series_data { double *c; int order; double low, high; };

static double series_numbers[4] = { 1.25, -0.5, 0.125, 0.0625 };
static struct series_data series_kept = { series_numbers, 3, -1, 1 };

static int series_eval(const struct series_data *cs, const double x,
                       struct series_result *r)
{
    double d = 0, dd = 0, e = 0;
    const double y = (2 * x - cs->low - cs->high) / (cs->high - cs->low);
    for (int j = cs->order; j >= 1; j--) {
        const double t = d;
        d = 2 * y * d - dd + cs->c[j];
        e += fabs(2 * y * t) + fabs(dd) + fabs(cs->c[j]);
        dd = t;
    }
    r->value = y * d - dd + 0.5 * cs->c[0];
    r->error = 2.2e-16 * e + fabs(cs->c[cs->order]);
    return 0;
}

int series_struct(const double x, struct series_result *r)
{
    if (x <= 0) {
        r->value = r->error = 0;
        return 1;
    } else {
        struct series_result part;
        const int status = series_eval(&series_kept, x, &part);
        r->value = exp(x) * part.value;
        r->error = exp(x) * part.error + 4.4e-16 * fabs(r->value);
        return status;
    }
}

int series_other(double x, struct series_result *r)
{
    return series_eval(&series_kept, x + 1, r);
}
