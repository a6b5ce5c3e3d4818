/* mixture_data.c - draws the points of examples/mixture.txt:
 *
 *     cc -std=c11 mixture_data.c -o mixture_data -lm
 *     ./mixture_data > mixture.txt
 *
 * Four clusters in the plane, 400 points. The first line has the dimension,
 * the number of clusters and that of points. Then come parameters to start
 * from: a line with alpha for each cluster, one with its centre, one with the
 * logarithms of the diagonal of its matrix Q and the element below; then the
 * points; then gamma and m of the Wishart prior. See 10_gaussian_mixture.c.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include <math.h>
#include <stdint.h>
#include <stdio.h>

enum { CLUSTERS = 4, POINTS = 400 };

typedef struct cluster {
    double weight;
    double centre[2];
    double sigma[2];        // along its axes
    double angle;           // of the first axis, in radians
    double start[2];        // where the search for it begins
} cluster;

static const cluster clusters[CLUSTERS] = {
    { 0.40, { -2.5,  0.5 }, { 1.20, 0.40 },  0.9, { -1, 0 } },
    { 0.30, {  2.0,  1.5 }, { 1.50, 0.50 }, -0.4, {  1, 2 } },
    { 0.20, {  0.5, -1.5 }, { 0.60, 0.60 },  0.0, {  0, -1 } },
    { 0.10, {  4.0, -1.0 }, { 0.30, 0.80 },  0.3, {  3, 0 } },
};

// splitmix64: the same numbers everywhere. Above 0, up to 1.
static double uniform(void)
{
    static uint64_t state = 20;
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (double)((z >> 11) + 1) / 9007199254740992.0;
}

static void print_point(void)
{
    const cluster *c = clusters;
    double pick = uniform();
    while (c < clusters + CLUSTERS - 1 && pick > c->weight) {
        pick -= c->weight;
        c++;
    }
    // Box and Muller: two normal deviates at once
    double r = sqrt(-2 * log(uniform()));
    double phase = 6.283185307179586 * uniform();
    double u = c->sigma[0] * r * cos(phase);
    double v = c->sigma[1] * r * sin(phase);
    printf("%.3f %.3f\n",
           c->centre[0] + u * cos(c->angle) - v * sin(c->angle),
           c->centre[1] + u * sin(c->angle) + v * cos(c->angle));
}

int main(void)
{
    printf("2 %d %d\n", CLUSTERS, POINTS);
    for (int k = 0; k < CLUSTERS; k++)
        printf("0\n");
    for (int k = 0; k < CLUSTERS; k++)
        printf("%g %g\n", clusters[k].start[0], clusters[k].start[1]);
    for (int k = 0; k < CLUSTERS; k++)
        printf("0 0 0\n");
    for (int i = 0; i < POINTS; i++)
        print_point();
    printf("0.1 0\n");
    return fflush(stdout) != 0 || ferror(stdout);
}
