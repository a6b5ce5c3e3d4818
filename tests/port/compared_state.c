// tags: part
// SPDX-License-Identifier: MIT-0
// port: a search whose state is compared; a message; the order of two numbers
// function: compared_root
// with: x:3
// function: compared_said
// in: 3
// out: 2
// at: 0.5 0.25 2.5
// at: 1.5 0.75 0.3
// tolerance: 1e-9
// call: y[0] = compared_root@(x);
// call: y[1] = compared_said@(x);
#include <math.h>
#include <stdio.h>

typedef struct compared_bracket {
    double a, b, c, fa, fb, fc;
} compared_bracket;

static double cube_less(double p, double x) { return x * x * x - p; }

// After a step c is a, or what a was before.
double compared_root(const double *x)
{
    compared_bracket s = { 0, 4, 0, 0, 0, 0 };
    compared_bracket *q = &s;
    q->fa = cube_less(x[0], q->a);
    q->fb = cube_less(x[0], q->b);
    q->c = q->a;
    q->fc = q->fa;
    for (int i = 0; i < 60 && fabs(q->fb) > 1e-15; i++) {
        double d;
        if (q->a == q->c)
            d = (q->b - q->a) / (q->fb - q->fa) * q->fb;
        else
            d = 0.5 * (q->b - q->c);
        q->a = q->b;
        q->fa = q->fb;
        q->b -= d;
        q->fb = cube_less(x[0], q->b);
        if (q->fb * q->fc > 0) {
            q->c = q->a;
            q->fc = q->fa;
        }
    }
    return q->b;
}

static int compared_sign(double a, double b)
{
    return a == b ? 0 : a < b ? -1 : 1;
}

double compared_said(const double *x)
{
    if (x[0] == x[1])
        fprintf(stderr, "equal\n");
    if (x[2] == floor(x[2]) || x[1] + 1 == x[1])
        return x[1];
    return compared_sign(x[0], x[1]) < 0 ? x[0] : x[1] * x[2];
}
