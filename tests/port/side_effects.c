// tags: part
// SPDX-License-Identifier: MIT-0
// port: side effects in arguments and indices happen once
// function: side_effects
// with: x:4
// in: 4
// out: 1
// at: 1 2 3 4
// call: y[0] = side_effects@(x);

static int side_counter;

static int next_index(void) { return side_counter++; }
static double next_of(const double **p) { return *(*p)++; }

double side_effects(const double *x)
{
    double v[4] = { 1, 1, 1, 1 }, s = 0;
    const double *p = x;
    int i = 0;
    side_counter = 0;
    v[next_index()] += x[0];
    v[next_index()] *= x[i++] + x[0];
    s += next_of(&p) * 2;
    s *= v[i++] + next_of(&p);
    *(v + i++) -= s;
    s += v[--i] * *p++;
    return s + i * *p + side_counter * x[3];
}
