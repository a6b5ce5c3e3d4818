// SPDX-License-Identifier: MIT-0
/* report.h - what the tables of the benchmark have in common: the line above
 * them, medians, seconds in three digits, and a clock on the wall. */

#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef BENCH_FLAGS
#define BENCH_FLAGS "(flags not given)"
#endif

enum { REPORT_ROUNDS = 101 };       // most of them

// A benchmark without memory has nothing to report.
static inline void *get(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);

    if (!p) {
        fprintf(stderr, "bench: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return p;
}

/* ---------------------------------------------------------------------------
 * Statistics
 * ------------------------------------------------------------------------- */

typedef struct summary {
    double median;
    double spread;      // half the interquartile range / median
} summary;

static inline int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

// Between two values, the straight line through them.
static inline double quantile(const double *sorted, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t i = (size_t)at;
    const size_t j = i + 1 < n ? i + 1 : i;

    return sorted[i] + (at - (double)i) * (sorted[j] - sorted[i]);
}

// Of times[i] / unit[i]; unit NULL: of the times.
static inline summary summarise(size_t n, const double *times,
                                const double *unit)
{
    double v[REPORT_ROUNDS];
    summary s;

    for (size_t i = 0; i < n; i++) {
        v[i] = unit ? times[i] / unit[i] : times[i];
    }
    qsort(v, n, sizeof *v, ascending);
    s.median = quantile(v, n, 0.5);
    s.spread = (quantile(v, n, 0.75) - quantile(v, n, 0.25)) / 2.0 / s.median;
    return s;
}

// Largest error of an entry relative to that entry. Entries below `least` times
// the largest are taken relative to that: they are what cancellation left.
static inline double difference_down_to(double least, size_t n,
                                        const double *got, const double *want)
{
    double largest = 0.0;
    double worst = 0.0;

    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(want[i]));
    }
    for (size_t i = 0; i < n; i++) {
        const double size = fmax(fabs(want[i]), least * largest);
        const double error = fabs(got[i] - want[i]);

        if (!(error <= worst * size)) {
            worst = isnan(error) ? HUGE_VAL : error / size;
        }
    }
    return worst;
}

static inline double difference(size_t n, const double *got,
                                const double *want)
{
    return difference_down_to(1e-6, n, got, want);
}

/* ---------------------------------------------------------------------------
 * Seconds
 * ------------------------------------------------------------------------- */

// On the wall: threads are to be seen.
static inline double wall(void)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Three digits and the unit that suits.
static inline void print_seconds(double s)
{
    static const char *const unit[] = { "s ", "ms", "us", "ns" };
    int i = 0;

    while (i < 3 && s < 1.0) {
        s *= 1e3;
        i++;
    }
    printf(" %6.*f %s", s < 10.0 ? 2 : s < 100.0 ? 1 : 0, s, unit[i]);
}

/* ---------------------------------------------------------------------------
 * Command line
 * ------------------------------------------------------------------------- */

// How many rounds `-r rounds` asks for, or as many as usual; what is left of
// the arguments follows argv[0].
static inline size_t take_rounds(int *argc, char ***argv, size_t usual)
{
    if (*argc < 3 || strcmp((*argv)[1], "-r") != 0) {
        return usual;
    }
    const size_t rounds = strtoul((*argv)[2], NULL, 10);

    *argc -= 2;
    *argv += 2;
    return rounds < 1 ? 1 : rounds > REPORT_ROUNDS ? REPORT_ROUNDS : rounds;
}

// A row of a table for each size in the arguments or, without any, for the
// usual three; whether all of them are right.
static inline bool print_rows(int argc, char **argv,
                              const char *const usual[3], size_t rounds,
                              bool (*row)(size_t n, size_t rounds))
{
    const int count = argc > 1 ? argc - 1 : 3;
    bool right = true;

    for (int i = 0; i < count; i++) {
        right &= row(strtoul(argc > 1 ? argv[i + 1] : usual[i], NULL, 10),
                     rounds);
    }
    return right;
}

/* ---------------------------------------------------------------------------
 * The header line
 * ------------------------------------------------------------------------- */

// The text after the colon of the first line that begins with key, and how
// many lines do.
static inline int processor_field(const char *key, char *text, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    char line[512];
    int count = 0;

    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');

        if (colon && strncmp(line, key, strlen(key)) == 0 && count++ == 0) {
            snprintf(text, size, "%s", colon + 2);
            text[strcspn(text, "\n")] = '\0';
        }
    }
    if (f) {
        fclose(f);
    }
    return count;
}

// What else ran in the last minute: a busy neighbour slows large tapes down,
// and takes the processors that threads were to have.
static inline void print_load(void)
{
    FILE *f = fopen("/proc/loadavg", "r");
    double load = 0.0;

    if (f && fscanf(f, "%lf", &load) == 1) {
        printf("      load %.2f", load);
    }
    if (f) {
        fclose(f);
    }
}

static inline void print_machine(const char *version)
{
    char model[256] = "unknown processor";
    char date[32];
    const time_t t = time(NULL);
    const int cores = processor_field("model name", model, sizeof model);

    strftime(date, sizeof date, "%Y-%m-%d", localtime(&t));
    printf("machine  %s, %d cores", model, cores);
    print_load();
#ifdef __clang__
    printf("      clang %d.%d", __clang_major__, __clang_minor__);
#else
    printf("      gcc %d.%d", __GNUC__, __GNUC_MINOR__);
#endif
    printf(" %s      adrev %s      %s\n", BENCH_FLAGS, version, date);
}

#endif
