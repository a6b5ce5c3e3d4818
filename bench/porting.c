// SPDX-License-Identifier: MIT-0
/* porting.c - times of the programs of docs/porting.md: porting.sh.         */

#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { N = 1000, RUNS = 41, REPEAT = 200 };

typedef double value(const double p[3], int n, const double t[],
                     const double seen[], double g[3]);
value value_plain, value_hand, value_operators, value_source,
      value_source_plain;

static double t[N], seen[N];
static volatile double keep;

static double user_time(value *f)
{
    struct rusage u, v;
    const double p[3] = { 1.9, 0.2, 2 };
    double g[3] = { 0, 0, 0 };
    getrusage(RUSAGE_SELF, &u);
    for (int i = 0; i < REPEAT; i++)
        keep = f(p, N, t, seen, g);
    getrusage(RUSAGE_SELF, &v);
    return (double)(v.ru_utime.tv_sec - u.ru_utime.tv_sec)
         + 1e-6 * (double)(v.ru_utime.tv_usec - u.ru_utime.tv_usec);
}

static int compare(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return p < q ? -1 : p > q;
}

static void report(const char *name, value *f)
{
    double ratio[RUNS];
    for (int i = 0; i < RUNS; i++) {
        double plain = user_time(value_plain);
        ratio[i] = user_time(f) / plain;
    }
    qsort(ratio, RUNS, sizeof *ratio, compare);
    printf("%-22s takes %5.2f times as long as the plain program\n", name,
           ratio[RUNS / 2]);
}

int main(void)
{
    for (int i = 0; i < N; i++) {
        t[i] = 0.01 * i;
        seen[i] = 0.001 * i;
    }
    ad_tape *tape = ad_tape_new();
    ad_use(tape);
    report("hand: gradient", value_hand);
    report("operators: gradient", value_operators);
    report("source: gradient", value_source);
    report("source: plain", value_source_plain);
    ad_tape_free(tape);
}
