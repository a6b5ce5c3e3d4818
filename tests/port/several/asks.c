// A file of a library: a header tests what it defines, and names of functions are
// not as they look; a structure that it only names; macros that stand for
// parameters, types, and several declarations; a number of rows, and a letter, that
// must be one; more numbers than the check knows of; numbers that a function of the
// caller's has; a function that the operator table has; a member whose name is a
// macro.
#define ASKS_LOCAL
#include "asks.h"
#include <stdlib.h>

#define asks library_asks
#define AND(name) , double *name
#define NUMBER double
#define SQUARES(a, b) \
    double a##2 = (a) * (a); \
    double b##2 = (b) * (b)

enum { ROWS = 11 };

typedef struct table {
    double *x;
    struct hidden *next;
    double *(*weights)(int n);
} table;

#define weights (t->weights)

double asks(table *t, const int *rows AND(y), char how)
{
    switch (how) {
    case 'm':
        break;
    default:
        abort();
    }
    if (*rows != ROWS || t->next != NULL)
        abort();
    double sum = 0;
    for (int i = 0; i < *rows; i++)
        for (int j = 0; j < *rows; j++) {
            t->x[i * *rows + j] *= 2;
            sum += power(t->x[i * *rows + j], 2) * y[i];
        }
    TYPE(table) first = *t;
    NUMBER *x = (NUMBER *)first.x, u = x[0], v = x[1];
    SQUARES(u, v);
    double *weight = weights(2);
    weight[1] *= weight[0];
    y[0] = sum;
    return library_cube(u2) + gsl_hypot(v2, u) * weight[1];
}

#undef NUMBER
#define NUMBER int
