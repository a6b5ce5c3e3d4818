// SPDX-License-Identifier: MIT-0
/* included_rotations.h - a part of included_versions.c. */

static void turn_unit(double r[2])
{
    r[0] = r[1] = 1;
}

static void turn_by(double angle, double r[2])
{
    const double t = r[0] - angle * r[1];
    r[1] += angle * r[0];
    r[0] = t;
}
