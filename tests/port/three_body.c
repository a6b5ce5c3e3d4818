// tags: part
// SPDX-License-Identifier: MIT-0
// port: a simulation with structures, by half steps
// function: three_body
// with: x:12
// in: 12
// out: 1
// at: 0 0 0 0 1 0 0 1 -2 0 0 -0.7
// call: y[0] = three_body@(x, 20, 0.01);
#include <math.h>

enum { BODIES = 3 };

typedef struct {
    struct { double r[2], v[2], a[2]; } body[BODIES];
    double time;
} three_state;

static const double body_mass[BODIES] = { 1, 0.1, 0.05 };

static void three_forces(three_state *s)
{
    for (int i = 0; i < BODIES; i++)
        s->body[i].a[0] = s->body[i].a[1] = 0;
    for (int i = 0; i < BODIES; i++)
        for (int j = i + 1; j < BODIES; j++) {
            double d[2], r2 = 1e-4, f;
            for (int k = 0; k < 2; k++) {
                d[k] = s->body[j].r[k] - s->body[i].r[k];
                r2 += d[k] * d[k];
            }
            f = 1 / (r2 * sqrt(r2));
            for (int k = 0; k < 2; k++) {
                s->body[i].a[k] += body_mass[j] * f * d[k];
                s->body[j].a[k] -= body_mass[i] * f * d[k];
            }
        }
}

double three_body(const double *x, int steps, double h)
{
    three_state s = { .time = 0 };
    for (int i = 0; i < BODIES; i++)
        for (int k = 0; k < 2; k++) {
            s.body[i].r[k] = x[4 * i + k];
            s.body[i].v[k] = x[4 * i + 2 + k];
        }
    three_forces(&s);
    while (steps--) {
        for (int half = 0; half < 2; half++) {
            for (int i = 0; i < BODIES; i++)
                for (int k = 0; k < 2; k++) {
                    s.body[i].v[k] += h / 2 * s.body[i].a[k];
                    if (half == 0)
                        s.body[i].r[k] += h * s.body[i].v[k];
                }
            if (half == 0)
                three_forces(&s);
        }
        s.time += h;
    }
    return s.body[1].r[0] * s.body[2].v[1] + s.time * s.body[0].r[1];
}
