// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function that the caller gives, by a pointer and in a structure
// function: callback_given
// function: callback_given_wave
// with: x
// in: 1
// out: 1
// at: 0.5
// at: 1.25
// call: const callback_given_rule@ r = { callback_given_wave@, 3 };
// call: y[0] = callback_given@(x[0], callback_given_wave@, &r);
#include <math.h>

typedef struct callback_given_rule {
    double (*f)(double x);
    int points;
} callback_given_rule;

double callback_given_wave(double x) { return sin(x) + x; }

// Nothing of f is known here: what it returns may depend on x by itself.
double callback_given(double x, double (*f)(double x), const callback_given_rule *r)
{
    double sum = f(0.25);
    for (int i = 0; i < r->points; i++)
        sum += r->f(x * i) / (1 + i);
    return sum * f(x);
}
