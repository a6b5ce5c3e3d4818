// tags: part
// SPDX-License-Identifier: MIT-0
// port: functions of a header, at one call with constants, then with numbers
// function: included_versions
// with: d
// in: 1
// out: 1
// at: 0.75
// call: y[0] = included_versions@(x[0]);
#include "included_rotations.h"

static void turned_both(double d, double rb[2], double rp[2])
{
    double w[2];
    turn_unit(w);
    turn_by(0.5, w);
    rb[0] = w[0];
    rb[1] = w[1];
    turn_unit(rp);
    turn_by(0.25, rp);
    turn_by(d, rp);
}

double included_versions(double d)
{
    double rb[2], rp[2];
    turned_both(d, rb, rp);
    return rp[0] * rp[1] * rb[0] + rb[1];
}
