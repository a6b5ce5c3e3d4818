/* mixture.h - reads and draws the points of 10_gaussian_mixture.c.
 *
 * The file: a line `2 K n`; K lines with alpha; K lines with a centre; K lines
 * with log Q[0][0], log Q[1][1] and Q[1][0]; n lines with a point; and a line
 * with gamma and m of the Wishart prior. This is the GMM format of ADBench in
 * two dimensions.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef MIXTURE_H
#define MIXTURE_H

#include "chart.h"
#include "fail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLUSTERS = 20, MOST_POINTS = 100000 };

// Parameters of a cluster: alpha, two of the centre, three of Q.
enum { D = 2, T = 3, PER_CLUSTER = 1 + D + T };
enum { MOST_PARAMETERS = PER_CLUSTER * MOST_CLUSTERS };

typedef struct mixture {
    int K;                          // clusters
    int n;                          // points
    double start[MOST_PARAMETERS];  // K alpha, K centres, K times Q
    double gamma;                   // of the prior
    double m;
    double x[MOST_POINTS * D];
} mixture;

/* --- the data ------------------------------------------------------------- */

typedef struct lines {
    const char *path;
    FILE *file;
    long number;                    // of the line read last
} lines;

// The numbers of the next line, neither more nor less.
static void read_numbers(lines *in, const char *what, int n, double to[])
{
    char line[400];
    const char *at = line;

    in->number++;
    if (fgets(line, sizeof line, in->file) == NULL) {
        if (ferror(in->file))
            fail(3, "cannot read %s: %s", in->path, strerror(errno));
        fail(3, "%s:%ld: the file ends where there should be %s", in->path,
             in->number, what);
    }
    bool good = strchr(line, '\n') != NULL || feof(in->file);
    for (int i = 0; i < n && good; i++) {
        char *end = NULL;
        to[i] = strtod(at, &end);
        good = end != at && isfinite(to[i]);
        at = end;
    }
    if (!good || at[strspn(at, " \t\r\n")] != '\0')
        fail(3, "%s:%ld: not %s", in->path, in->number, what);
}

static void read_sizes(lines *in, mixture *m)
{
    double size[3];
    read_numbers(in, "three numbers: the dimension, of clusters, of points", 3,
                 size);
    if (size[0] != D)
        fail(3, "%s:1: the dimension is not 2", in->path);
    if (!(size[1] >= 1 && size[1] <= MOST_CLUSTERS) || fmod(size[1], 1) != 0)
        fail(3, "%s:1: clusters: not a whole number from 1 to %d", in->path,
             MOST_CLUSTERS);
    if (!(size[2] >= 0 && size[2] <= MOST_POINTS) || fmod(size[2], 1) != 0)
        fail(3, "%s:1: points: not a whole number up to %d", in->path,
             MOST_POINTS);
    m->K = (int)size[1];
    m->n = (int)size[2];
    if (m->n < PER_CLUSTER * m->K)
        fail(3, "%s:1: %d points, but %d parameters need as many", in->path,
             m->n, PER_CLUSTER * m->K);
}

static void read_mixture(const char *path, mixture *m)
{
    lines in = { path, fopen(path, "rb"), 0 };
    double *to = m->start;
    double wishart[2];
    if (in.file == NULL)
        fail(3, "cannot open %s: %s", path, strerror(errno));

    read_sizes(&in, m);
    for (int k = 0; k < m->K; k++)
        read_numbers(&in, "one number: alpha", 1, to++);
    for (int k = 0; k < m->K; k++, to += D)
        read_numbers(&in, "two numbers: a centre", D, to);
    for (int k = 0; k < m->K; k++, to += T)
        read_numbers(&in, "three numbers: a matrix Q", T, to);
    for (int s = 0; s < m->n; s++)
        read_numbers(&in, "two numbers: a point", D, &m->x[s * D]);
    read_numbers(&in, "two numbers: gamma and m", 2, wishart);
    m->gamma = wishart[0];
    m->m = wishart[1];
    for (int c = getc(in.file); c != EOF; c = getc(in.file))
        if (strchr(" \t\r\n", c) == NULL || c == '\0')
            fail(3, "%s: more lines than its first line says", path);
    fclose(in.file);
}

/* --- the picture ---------------------------------------------------------- */

enum { ELLIPSE = 61 };      // points of one, and a gap behind it

// Where |Q (x - centre)| = 2: two standard deviations in each direction.
static void ellipse(const double centre[D], const double q[T], double x[],
                    double y[])
{
    for (int i = 0; i < ELLIPSE - 1; i++) {
        double phase = 6.283185307179586 * i / (ELLIPSE - 2);
        double u = 2 * cos(phase) / exp(q[0]);
        x[i] = centre[0] + u;
        y[i] = centre[1] + (2 * sin(phase) - q[2] * u) / exp(q[1]);
    }
    x[ELLIPSE - 1] = y[ELLIPSE - 1] = (double)NAN;
}

// The points, and the clusters with these parameters.
static void draw_mixture(const char *path, const mixture *m, const double p[])
{
    static double x[MOST_POINTS];
    static double y[MOST_POINTS];
    static double ring[2][MOST_CLUSTERS * ELLIPSE];
    chart c = { .left = HUGE_VAL, .right = -HUGE_VAL, .bottom = HUGE_VAL,
                .top = -HUGE_VAL, .equal = true, .radius = 2 };

    for (int s = 0; s < m->n; s++) {
        x[s] = m->x[s * D];
        y[s] = m->x[s * D + 1];
        c.left = fmin(c.left, x[s]);
        c.right = fmax(c.right, x[s]);
        c.bottom = fmin(c.bottom, y[s]);
        c.top = fmax(c.top, y[s]);
    }
    for (int k = 0; k < m->K; k++)
        ellipse(&p[m->K + k * D], &p[m->K * (1 + D) + k * T],
                &ring[0][k * ELLIPSE], &ring[1][k * ELLIPSE]);

    if (!chart_open(&c, path, "x", "y"))
        fail(5, "cannot open %s: %s", path, strerror(errno));
    chart_points(&c, m->n, x, y, "points");
    chart_curve(&c, m->K * ELLIPSE, ring[0], ring[1], "2 sigma");
    if (!chart_close(&c))
        fail(5, "cannot write %s: %s", path, strerror(errno));
}

#endif
