// tags: part
// Data that other files see, and a structure that they only name.
// SPDX-License-Identifier: MIT-0
#include "body.h"
#include <math.h>

struct registry {
    double slope;
    const double *table;
};

int kinds;
int kinds = 2;
double offset = 0.125;
const double softening[] = { 0.25, 0.5 };
static const double weights[] = { 1.5, 2.5 };
static const struct registry registry = { 0.75, weights };

static double inverse(double r, const double *p) { return p[0] / r; }
static double inverse_square(double r, const double *p) { return *p / square(r); }

static const law laws[] = { inverse, inverse_square };

double weight_of(int kind) { return weights[kind]; }
law law_of(int kind) { return laws[kind]; }

double pull(const body *a, const body *b)
{
    const double d = sqrt(square(a->at[0] - b->at[0])
                          + square(a->at[1] - b->at[1]) + softening[a->kind]);
    return law_of(b->kind)(d, &a->mass) * b->mass;
}

const struct registry *the_registry(void) { return &registry; }

double registered(const struct registry *r, double x)
{
    return r->slope * sin(x) * r->table[1];
}
