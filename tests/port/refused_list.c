// tags: part
// SPDX-License-Identifier: MIT-0
// port: lists of arguments that a structure, an array or a global variable keeps
// function: refused_list
// with: x:2
#include <stdarg.h>

struct refused_list_kept { va_list list; };

static double refused_list_take(struct refused_list_kept *k)
{
    return va_arg(k->list, double);
}

static double refused_list_member(int n, ...)
{
    struct refused_list_kept k;
    va_start(k.list, n);
    const double first = refused_list_take(&k);
    va_end(k.list);
    return first;
}

static double refused_list_copy(int n, ...)
{
    struct refused_list_kept k;
    va_list list;
    va_start(list, n);
    va_copy(k.list, list);
    const double first = refused_list_take(&k);
    va_end(k.list);
    va_end(list);
    return first;
}

static va_list refused_list_global;

static double refused_list_next(void)
{
    const double next = va_arg(refused_list_global, double);
    return next;
}

static double refused_list_shared(int n, ...)
{
    va_start(refused_list_global, n);
    const double first = refused_list_next();
    va_end(refused_list_global);
    return first;
}

double refused_list(const double *x)
{
    const double a = refused_list_member(1, x[0]); // refused: type is not known
    const double b = refused_list_copy(1, x[1]); // refused: type is not known
    return a * b * refused_list_shared(1, x[0] * x[1]); // refused: type is not known
}
