// What asks.c and power.c share.
#ifndef ASKS_H
#define ASKS_H

#ifndef ASKS_LOCAL
#error "for files of the library only"
#endif

#define JOINED(a, b) a##_##b
#define TYPE(name) name

struct hidden;
double gsl_hypot(double x, double y);
double library_cube(double x);
double library_power(double x, int n);
#define power library_power

#endif
