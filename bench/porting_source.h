// SPDX-License-Identifier: MIT-0
/* porting_source.h - the end of a unit that bench/porting.sh makes.  */

struct data { int n; const double *t; const double *seen; };

static ad_rev misfit_of(const ad_rev *p, void *ctx)
{
    const struct data *d = ctx;
    return misfit_rev(p, d->n, d->t, d->seen);
}

double value_source(const double p[3], int n, const double t[],
                    const double seen[], double g[3]);
double value_source(const double p[3], int n, const double t[],
                    const double seen[], double g[3])
{
    struct data d = { n, t, seen };
    double y = 0;
    ad_ignore(ad_grad(misfit_of, &d, 3, p, &y, g));
    return y;
}

double value_source_plain(const double p[3], int n, const double t[],
                          const double seen[], double g[3]);
double value_source_plain(const double p[3], int n, const double t[],
                          const double seen[], double g[3])
{
    (void)g;
    return misfit(p, n, t, seen);
}
