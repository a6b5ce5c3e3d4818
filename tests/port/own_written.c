// tags: part
// SPDX-License-Identifier: MIT-0
// port: functions that get nothing recorded, and must be written all the same
// function: own_sampled
// with: x:2
// in: 2
// out: 4
// at: 0.5 2
// at: 0.75 -1
// call: y[0] = own_sampled@(x); y[1] = own_called_back@(x);
// call: y[2] = own_indexed@(x); y[3] = own_kept@(x);
// function: own_called_back
// function: own_indexed
// function: own_kept
#include <math.h>
#include <string.h>

// The same table is read by a function with recorded numbers.
static double own_nodes[4];
static int own_ready;

void own_prepare(void)
{
    for (int i = 0; i < 4; i++)
        own_nodes[i] = 0.5 + i;
    own_ready = 1;
}

double own_sampled(const double *x)
{
    double s = 0;
    if (!own_ready)
        own_prepare();
    for (int i = 0; i < 4; i++)
        s += exp(-own_nodes[i] * x[0]) * x[1];
    return s;
}

// It counts, and it calls what has recorded numbers in static data.
static double own_sum, own_step;

static void own_add_one(void) { own_sum = own_sum + own_step * own_step; }

int own_repeat(void (*f)(void), int n)
{
    static int times;
    for (times = 0; times < n; times++)
        f();
    return times;
}

double own_called_back(const double *x)
{
    own_sum = x[0];
    own_step = x[1];
    return own_repeat(own_add_one, 3) * own_sum;
}

// An index that one function moves and another reads.
static int own_at;

void own_move(int by) { own_at = (own_at + by) % 2; }

double own_indexed(const double *x)
{
    double s;
    own_at = 0;
    own_move(1);
    s = x[own_at];
    own_move(1);
    return s * s + x[own_at];
}

// An address that is kept as one of no type.
static const void *own_slot;

void own_keep(const void *p) { own_slot = p; }
const void *own_fetch(void) { return own_slot; }

double own_kept(const double *x)
{
    double a[2] = { x[0] * x[1], x[1] };
    own_keep(a);
    const double *p = own_fetch();
    return p[0] * p[1] + p[0];
}
