// Of line.c, behind #undef RANK, and not of plane.c.
// SPDX-License-Identifier: MIT-0
#ifdef RANK
static double ranked(double x) { return 7 * x; }
#else
static double ranked(double x) { return 11 * x; }
#endif
