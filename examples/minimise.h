/* minimise.h - the minimum of a function of many variables, for the examples.
 *
 *     minimum found = minimise(f, ctx, n, x);      // x: from where, to where
 *     minimum found = minimise_by(g, ctx, n, x);   // g: value and gradient
 *
 * By libLBFGS (Debian: liblbfgs-dev, link with -llbfgs) where its header is
 * installed, unless NO_LBFGS is defined; else by gradient steps.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef MINIMISE_H
#define MINIMISE_H

#include "adrev.h"

#if !defined NO_LBFGS && defined __has_include
#if __has_include(<lbfgs.h>)
#define MINIMISE_LBFGS
#include <lbfgs.h>
#endif
#endif

enum { MINIMISE_MOST = 200 };       // variables

typedef struct minimum {
    double f;
    int gradients;          // how many it took
    bool good;              // f is finite, and the last gradient nearly 0
    ad_status status;
    const char *method;
} minimum;

// The value at x, and the gradient.
typedef ad_status minimise_fn(void *ctx, size_t n, const double x[], double *f,
                              double g[]);

// The function and what has been found.
typedef struct minimise_job {
    minimise_fn *f;
    void *ctx;
    size_t n;
    minimum found;
} minimise_job;

// Infinite if there is no value.
static double minimise_value(minimise_job *job, const double x[], double g[])
{
    double value = HUGE_VAL;
    if (job->found.status == ADREV_OK)
        job->found.status = job->f(job->ctx, job->n, x, &value, g);
    job->found.gradients++;
    return isnan(value) ? HUGE_VAL : value;
}

#ifdef MINIMISE_LBFGS

static double minimise_evaluate(void *user, const double *x, double *g,
                                const int n, const double step)
{
    (void)n;                // rounded up
    (void)step;
    return minimise_value(user, x, g);
}

static void minimise_run(minimise_job *job, double x[])
{
    const size_t n = job->n;
    double *at = lbfgs_malloc((int)n);      // aligned for it, zero behind n
    lbfgs_parameter_t p;
    if (at == NULL)
        return;

    memcpy(at, x, n * sizeof *x);
    lbfgs_parameter_init(&p);
    p.epsilon = 1e-5;
    p.max_iterations = 1000;
    int code = lbfgs((int)n, at, &job->found.f, minimise_evaluate, NULL, job,
                     &p);
    job->found.good = code == LBFGS_SUCCESS || code == LBFGS_ALREADY_MINIMIZED;
    job->found.method = "L-BFGS";
    memcpy(x, at, n * sizeof *x);
    lbfgs_free(at);
}

#else

static double minimise_dot(size_t n, const double x[], const double y[])
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static bool minimise_small(size_t n, const double g[], const double x[])
{
    double scale = fmax(1, minimise_dot(n, x, x));
    return minimise_dot(n, g, g) <= 1e-10 * scale;
}

// Along the gradient, as far as the change of the last gradient suggests
// (Barzilai and Borwein); half as far, and so on, as long as the value is not
// below the largest of the last ten (Grippo, Lampariello and Lucidi).
static void minimise_run(minimise_job *job, double x[])
{
    enum { LAST = 10, MOST_GRADIENTS = 10000 };
    const size_t n = job->n;
    minimum *found = &job->found;
    double g[MINIMISE_MOST] = {0};
    double last[LAST];
    double far = 0;

    found->method = "gradient steps";
    found->f = minimise_value(job, x, g);
    for (int i = 0; i < LAST; i++)
        last[i] = found->f;

    for (int k = 1; found->gradients < MOST_GRADIENTS; k++) {
        double next[MINIMISE_MOST];
        double slope[MINIMISE_MOST] = {0};
        double gg = minimise_dot(n, g, g);
        double worst = last[0];
        double f = HUGE_VAL;
        bool lower = false;

        found->good = minimise_small(n, g, x);
        if (found->good || !isfinite(gg))
            return;
        for (int i = 1; i < LAST; i++)
            worst = fmax(worst, last[i]);
        if (!isfinite(far) || far <= 0)
            far = 1 / sqrt(gg);
        for (; !lower && far * sqrt(gg) > 1e-15; far /= lower ? 1 : 2) {
            for (size_t i = 0; i < n; i++)
                next[i] = x[i] - far * g[i];
            f = minimise_value(job, next, slope);
            lower = f <= worst - 1e-4 * far * gg;
        }
        if (!lower)
            return;
        double bend = 0;
        for (size_t i = 0; i < n; i++)
            bend += (next[i] - x[i]) * (slope[i] - g[i]);
        far = far * far * gg / bend;
        memcpy(x, next, n * sizeof *x);
        memcpy(g, slope, n * sizeof *g);
        found->f = last[k % LAST] = f;
    }
}

#endif

// Goes from x to a minimum nearby. n is at most MINIMISE_MOST.
static inline minimum minimise_by(minimise_fn *f, void *ctx, size_t n,
                                  double x[])
{
    minimise_job job = { .f = f, .ctx = ctx, .n = n };
    job.found.f = HUGE_VAL;
    minimise_run(&job, x);
    job.found.good = job.found.good && isfinite(job.found.f);
    return job.found;
}

typedef struct minimise_recorded {
    ad_scalar_fn *f;
    void *ctx;
} minimise_recorded;

static inline ad_status minimise_grad(void *ctx, size_t n, const double x[],
                                      double *f, double g[])
{
    const minimise_recorded *r = ctx;
    return ad_grad(r->f, r->ctx, n, x, f, g);
}

// The same. Uses the current tape, or one of its own for each gradient.
static inline minimum minimise(ad_scalar_fn *f, void *ctx, size_t n, double x[])
{
    minimise_recorded r = { f, ctx };
    return minimise_by(minimise_grad, &r, n, x);
}

#endif
