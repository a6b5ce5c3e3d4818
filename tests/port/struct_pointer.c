// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure by pointer, with numbers and others in it
// function: struct_pointer
// with: s
// in: 3
// out: 1
// at: 2 0.5 1.5
// call: struct oscillator@ s; s.id = 7; PUT(s.k, x[0]); PUT(s.m, x[1]);
// call: PUT(s.amplitude, x[2]);
// call: y[0] = struct_pointer@(&s);
#include <math.h>

struct oscillator {
    int id;
    double k, m;
    double amplitude;
};

double struct_pointer(const struct oscillator *s)
{
    const double omega = sqrt(s->k / s->m);
    return s->amplitude * cos(omega * s->id) + (*s).k;
}
