// SPDX-License-Identifier: MIT-0
/* compiling.c - from which size on ad_fn_compile does not pay: one gradient of
 * a function with n inputs on a tape, replayed and compiled, and how long the
 * compiler takes. Prints the table of docs/compiling.md:
 *
 *     cc -O3 -march=native -I. bench/compiling.c -lm && ./a.out
 *
 * rosenbrock is arithmetic alone, waves are mostly calls of the math library.
 * Times are the best of several runs, of at least 0.1 s altogether.          */

#define _POSIX_C_SOURCE 199309L     // clock_gettime
#define ADREV_IMPLEMENTATION
#include "../adrev_function.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 10000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static ad_rev rosenbrock(const ad_rev *x, void *ctx)
{
    const size_t *n = ctx;
    ad_rev s = { 0 };
    for (size_t i = 0; i + 1 < *n; i++)
        ad_acc(&s, ad_add(
            ad_mul(100, ad_sqr(ad_sub(x[i + 1], ad_mul(x[i], x[i])))),
            ad_sqr(ad_sub(1, x[i]))));
    return s;
}

static ad_rev waves(const ad_rev *x, void *ctx)
{
    const size_t *n = ctx;
    ad_rev s = { 0 };
    for (size_t i = 0; i + 1 < *n; i++)
        ad_acc(&s, ad_exp(ad_mul(ad_sin(x[i]), ad_cos(x[i + 1]))));
    return s;
}

typedef struct problem {
    const char *name;
    ad_scalar_fn *f;
    size_t n;
    ad_fn *fn;
    ad_real x[MOST];
    ad_real g[MOST];
} problem;

static void as_vector(const ad_rev *x, ad_rev *y, void *ctx)
{
    problem *p = ctx;
    y[0] = p->f(x, &p->n);
}

static ad_status on_tape(problem *p)
{
    ad_real y;
    return ad_grad(p->f, &p->n, p->n, p->x, &y, p->g);
}

static ad_status recorded(problem *p)
{
    ad_real y;
    return ad_fn_gradient(p->fn, p->x, &y, p->g);
}

// Seconds of one gradient.
static double measure(problem *p, ad_status (*gradient)(problem *p))
{
    double best = 1e300;
    size_t often = 1;
    for (int k = 0; k < 30;) {
        double begin = now();
        for (size_t i = 0; i < often; i++)
            if (gradient(p) != ADREV_OK)
                return -1;
        double seconds = now() - begin;
        best = seconds / (double)often < best ? seconds / (double)often : best;
        if (seconds < 4e-3 && k == 0)
            often *= 2;
        else
            k++;
    }
    return best;
}

static void say(double seconds)
{
    printf(seconds < 1e-6 ? "%8.0f ns" : seconds < 1e-3 ? "%8.1f us"
           : "%8.2f ms", seconds * (seconds < 1e-6 ? 1e9
           : seconds < 1e-3 ? 1e6 : 1e3));
}

static void row(problem *p)
{
    static ad_compile_report report;
    char directory[64];
    char line[100];
    snprintf(directory, sizeof directory, "/tmp/adrev-compiling-%p",
             (void *)p);
    const ad_compile_options options = {
        .functions = ADREV_C_GRADIENT, .limit = (size_t)1 << 30,
        .cache = directory, .report = &report
    };
    for (size_t i = 0; i < p->n; i++)
        p->x[i] = 1 + (ad_real)(i % 7) / 10;
    if (ad_fn_record(&p->fn, as_vector, p, p->n, p->x, 1) != ADREV_OK)
        return;
    double tape = measure(p, on_tape);
    double replayed = measure(p, recorded);
    double begin = now();
    ad_status s = ad_fn_compile(p->fn, &options);
    double build = now() - begin;
    if (s != ADREV_OK) {
        printf("%s\n", ad_compile_message(report.reason));
        return;
    }
    double compiled = measure(p, recorded);
    printf("%-10s %6zu %7.0f kB", p->name, p->n, (double)report.bytes / 1e3);
    say(tape);
    say(replayed);
    say(compiled);
    printf("%7.1f s\n", build);
    ad_fn_free(p->fn);
    snprintf(line, sizeof line, "rm -r %s", directory);
    if (system(line) != 0)
        puts(line);
}

int main(void)
{
    static const size_t size[] = { 10, 100, 300, 1000, 3000, 10000 };
    static problem p[2] = { { .name = "rosenbrock", .f = rosenbrock },
                            { .name = "waves", .f = waves } };
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("             n      code       tape   replayed   compiled"
           " compiler\n");
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
            p[k].n = size[i];
            row(&p[k]);
        }
}
