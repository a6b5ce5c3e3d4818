// What the files of this project share.
// SPDX-License-Identifier: MIT-0
#ifndef BODY_H
#define BODY_H

#include <stddef.h>

typedef struct {
    double mass;
    double at[2];
    int kind;
} body;

struct registry;                        // only tables.c knows it

typedef double (*law)(double distance, const double *parameter);

extern const double softening[];        // tables.c
extern int kinds;                       // tables.c, tentative
double pull(const body *a, const body *b);
double potential(const body *b, int n);
double weight_of(int kind);
double bounded(double x);               // limits.c
const struct registry *the_registry(void);
double registered(const struct registry *r, double x);
law law_of(int kind);

// A helper of each unit.
static inline double square(double x) { return x * x; }

#endif
