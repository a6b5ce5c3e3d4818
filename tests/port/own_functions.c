// tags: part
// SPDX-License-Identifier: MIT-0
// port: functions that get nothing recorded, and whose data others change
// function: own_root
// with: x:n
// in: 2
// out: 4
// at: 2 0.5
// at: 0.25 3
// own: own_fail own_factorial own_count own_report
// call: y[0] = own_root@(x, 2); y[1] = own_series@(x, 5); y[2] = own_steps@(x);
// call: y[3] = own_told@(x, 2);
// function: own_series
// function: own_steps
// function: own_told
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

typedef struct own_error {
    int code;
    const char *text;
} own_error;

typedef void own_handler(const own_error *);

static own_handler *own_handle;
static int own_errors;

own_handler *own_set_handler(own_handler *h)
{
    own_handler *before = own_handle;
    own_handle = h;
    return before;
}

// Keeps count of what went wrong.
void own_fail(int code, const char *text)
{
    const own_error e = { code, text };
    own_errors++;
    if (own_handle != NULL)
        own_handle(&e);
}

int own_errors_so_far(void) { return own_errors; }

double own_root(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        if (x[i] < 0)
            own_fail(i, "a negative number");
        else
            s += sqrt(x[i]);
    return s;
}

// A table that grows when it is asked for.
static double own_table[20] = { 1 };
static int own_top;

void own_forget(void) { own_top = 0; }

double own_factorial(int n)
{
    while (own_top < n) {
        own_table[own_top + 1] = own_table[own_top] * (own_top + 1);
        own_top++;
    }
    return own_table[n];
}

double own_series(const double *x, int n)
{
    double s = 0;
    for (int k = n; k >= 0; k--)
        s = s + pow(x[0], k) / own_factorial(k);
    return s * x[1];
}

// It has a number in a static variable of its own.
int own_count(int most)
{
    static int calls;
    calls = (calls + 1) % 7;
    return most + 0 * calls;
}

double own_steps(const double *x)
{
    double s = x[0];
    for (int i = 0; i < own_count(3); i++)
        s = s * x[1] + i;
    return s;
}

static FILE *own_log;

void own_log_to(FILE *f) { own_log = f; }

static void own_put(const char *format, va_list list)
{
    vfprintf(own_log, format, list);
}

// Numbers that are only told.
void own_report(const char *format, ...)
{
    va_list list;
    char text[80];
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (own_log == NULL)
        return;
    va_start(list, format);
    own_put(format, list);
    va_end(list);
    fputs(text, own_log);
}

double own_told(const double *x, int n)
{
    double s = 1;
    for (int i = 0; i < n; i++) {
        s *= x[i] + i;
        own_report("%d: %g\n", i, s);
    }
    return s;
}
