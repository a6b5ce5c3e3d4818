// SPDX-License-Identifier: MIT-0
/* plain.h - what the originals are compiled with. */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double real;
typedef float single;

#define PUT(place, number) ((place) = (number))
#define NUM(number) (number)

#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"
