// tags: part
// SPDX-License-Identifier: MIT-0
// port: a search for a minimum with a function by pointer
// function: search_golden
// with: a
// in: 1
// out: 1
// at: 1.5
// tolerance: 1e-9
// call: y[0] = search_golden@(x[0]);
#include <math.h>

typedef double (*searched)(double x, double a);

static double searched_f(double x, double a) { return x * x * a - 3 * x; }

static double golden(searched f, double low, double high, double a)
{
    const double r = (sqrt(5.0) - 1) / 2;
    double p = high - r * (high - low), q = low + r * (high - low);
    double fp = f(p, a), fq = f(q, a);
    while (high - low > 0.5) {
        if (fp < fq) {
            high = q;
            q = p, fq = fp;
            fp = f(p = high - r * (high - low), a);
        } else {
            low = p;
            p = q, fp = fq;
            fq = f(q = low + r * (high - low), a);
        }
    }
    return (f)((low + high) / 2, a);
}

double search_golden(double a)
{
    return golden(searched_f, 0, 4, a);
}
