// SPDX-License-Identifier: MIT-0
/* operators.c - times of the loops of operators.cpp and operators_loops.c:
 * operators.sh.                                                             */

#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { N = 2000, RUNS = 41 };

typedef void loop(size_t n, const ad_rev *x, const ad_rev *y, ad_rev *z);
typedef ad_fwd chain(size_t n, ad_fwd x, ad_fwd y);
loop statement_cpp, sum_cpp, statement_c, sum_c;
chain forward_cpp, forward_c;

static double user_time(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec;
}

static ad_rev x[N], y[N], z[N];

static double time_loop(ad_tape *t, loop *f)
{
    double start = user_time();
    for (int repeat = 0; repeat < 200; repeat++) {
        ad_tape_clear(t);
        for (int i = 0; i < N; i++) {
            x[i] = ad_input(0.1 * i);
            y[i] = ad_input(0.2 * i);
        }
        f(N, x, y, z);
    }
    return user_time() - start;
}

static double time_chain(chain *f)
{
    double start = user_time();
    for (int repeat = 0; repeat < 10; repeat++)
        z[repeat].v = f(1000000, (ad_fwd){ 0.3, 1 }, (ad_fwd){ 0.4, 2 }).d;
    return user_time() - start;
}

static int compare(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

// C++ over C, each first in turn.
static void report(const char *name, ad_tape *t, loop *cpp, loop *c,
                   chain *fcpp, chain *fc)
{
    double ratio[RUNS];
    for (int i = 0; i < RUNS; i++) {
        double first = i % 2 ? cpp ? time_loop(t, cpp) : time_chain(fcpp) : 0;
        double in_c = c ? time_loop(t, c) : time_chain(fc);
        if (i % 2 == 0)
            first = cpp ? time_loop(t, cpp) : time_chain(fcpp);
        ratio[i] = first / in_c;
    }
    qsort(ratio, RUNS, sizeof *ratio, compare);
    printf("%-10s %.3f   quartiles %.3f %.3f\n", name, ratio[RUNS / 2],
           ratio[RUNS / 4], ratio[RUNS * 3 / 4]);
}

int main(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    report("statement", t, statement_cpp, statement_c, NULL, NULL);
    report("sum", t, sum_cpp, sum_c, NULL, NULL);
    report("forward", t, NULL, NULL, forward_cpp, forward_c);
    ad_tape_free(t);
}
