// SPDX-License-Identifier: MIT-0
/* twins.h - what twins are compiled with: NUMBER is ad_rev or ad_fwd. */
#define _GNU_SOURCE
#include "adrev.h"
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef NUMBER real;
typedef NUMBER single;

#define PORT_PASTE(a, b) a##b
#define PORT_NAME(number) PORT_PASTE(port_, number)
#define TABLE PORT_NAME(NUMBER)

static inline real port_self(real x) { return x; }
static inline real port_make(double v)
{
    real x = { 0 };
    x.v = v;
    return x;
}

static inline void port_put_real(real *place, real x) { *place = x; }
static inline void port_put_double(double *place, real x) { *place = x.v; }
static inline void port_put_float(float *place, real x) { *place = (float)x.v; }

// A number of either kind, in a place of either kind. A derivative that would
// be lost in a plain place is missed when Jacobians are compared.
#define NUM(x) _Generic((x), real: port_self, default: port_make)(x)
#define PUT(place, x)                                                       \
    _Generic((place), real: port_put_real, double: port_put_double,         \
             float: port_put_float)(&(place), NUM(x))

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
