// tags: part
// SPDX-License-Identifier: MIT-0
// port: functions by pointers of other types; arguments that are only printed
// function: fn_ptr_cast fn_cast_more fn_cast_void_ptr fn_mismatch fn_ptr_void
// function: variadic_passive log_macro fn_ptr_table_struct array_of_fnptr_ctx
// function: fn_decl_inside switch_num_return int_param_num bool_branch
// with: x:3
// in: 3
// out: 13
// at: 1.53 0.41 0.77
// at: 0.31 1.27 -0.52
// call: y[0] = fn_ptr_cast@(x);
// call: y[1] = fn_cast_more@(x);
// call: y[2] = fn_cast_void_ptr@(x);
// call: y[3] = fn_mismatch@(x);
// call: y[4] = fn_ptr_void@(x);
// call: y[5] = variadic_passive@(x);
// call: y[6] = log_macro@(x);
// call: y[7] = fn_ptr_table_struct@(x);
// call: y[8] = array_of_fnptr_ctx@(x);
// call: y[9] = fn_decl_inside@(x);
// call: y[10] = switch_num_return@(x);
// call: y[11] = int_param_num@(x);
// call: y[12] = bool_branch@(x);

#include <stdlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <math.h>
#include <stdbool.h>

typedef void (*any)(void);
static double fn_ptr_cast_sq(double v)
{
    return v * v;
}

static any table[1] = { (any)fn_ptr_cast_sq };
double fn_ptr_cast(const double *x)
{
    return ((double (*)(double))table[0])(x[0]) * x[1];
}

typedef void (*any_more)(void);
static double fn_cast_more_sq(double v, int n, double *o)
{
    *o = v * n;
    return v * v;
}

static any_more fn_cast_more_pick(int k)
{
    return k ? (any_more)fn_cast_more_sq : (any_more)0;
}

double fn_cast_more(const double *x)
{
    double o;
    any_more g = fn_cast_more_pick(1);
    double r = ((double (*)(double, int, double *))g)(x[0], 3, &o);
    return r * o * x[1];
}

static double fn_cast_void_ptr_sq(const double *v)
{
    return v[0] * v[1];
}

static void *fs[1];
double fn_cast_void_ptr(const double *x)
{
    fs[0] = (void *)fn_cast_void_ptr_sq;
    return ((double (*)(const double *))fs[0])(x)*x[2];
}

static double fn_mismatch_g(void *p)
{
    return *(double *)p * 2;
}

double fn_mismatch(const double *x)
{
    double (*h)(double *) = (double (*)(double *))fn_mismatch_g;
    double t = x[0] * x[1];
    return h(&t);
}

static double fn_ptr_void_sq(double v)
{
    return v * v;
}

static void *fn_ptr_void_get(void)
{
    return (void *)fn_ptr_void_sq;
}

double fn_ptr_void(const double *x)
{
    double (*g)(double) = (double (*)(double))fn_ptr_void_get();
    return g(x[0]);
}

static void variadic_passive_say(const char *fmt, ...)
{
    va_list a;
    va_start(a, fmt);
    vfprintf(stderr, fmt, a);
    va_end(a);
}

double variadic_passive(const double *x)
{
    if (x[0] > 100)
        variadic_passive_say("big %g\n", x[0]);
    return x[0] * x[1];
}

#define LOG_MACRO_LOG(...) fprintf(stderr, __VA_ARGS__)
double log_macro(const double *x)
{
    double y = x[0] * 2;
    if (y > 1e9)
        LOG_MACRO_LOG("y = %g %g\n", y, x[1]);
    return y * y;
}

struct fn_ptr_table_struct_op {
    const char *n;
    double (*f)(double);
};
static double fn_ptr_table_struct_sq(double v)
{
    return v * v;
}

static const struct fn_ptr_table_struct_op fn_ptr_table_struct_ops[] = {
    { "sq", fn_ptr_table_struct_sq }, { "exp", exp }
};
double fn_ptr_table_struct(const double *x)
{
    double y = x[0];
    for (int i = 0; i < 2; i++)
        y = fn_ptr_table_struct_ops[i].f(y) * x[i];
    return y;
}

typedef struct {
    double (*g)(const void *, double);
    const void *c;
} fun;
static double array_of_fnptr_ctx_lin(const void *c, double t)
{
    return *(const double *)c * t;
}

struct array_of_fnptr_ctx_two {
    double a, b;
};
static double array_of_fnptr_ctx_aff(const void *c, double t)
{
    const struct array_of_fnptr_ctx_two *w = c;
    return w->a * t + w->b;
}

double array_of_fnptr_ctx(const double *x)
{
    double k = x[0];
    struct array_of_fnptr_ctx_two w = { x[1], 2 };
    fun fs[2] = { { array_of_fnptr_ctx_lin, &k },
                  { array_of_fnptr_ctx_aff, &w } };
    double s = 0;
    for (int i = 0; i < 2; i++)
        s += fs[i].g(fs[i].c, x[2]);
    return s;
}

double fn_decl_inside(const double *x)
{
    double fn_decl_inside_g(double);
    return fn_decl_inside_g(x[0]) * x[1];
}

double fn_decl_inside_g(double a)
{
    return a * a;
}

static double switch_num_return_g(int k, double a)
{
    switch (k) {
    case 0:
        return a;
    case 1:
        return a * a;
    default:
        break;
    }
    return 1 / a;
}

double switch_num_return(const double *x)
{
    double s = 0;
    for (int k = 0; k < 3; k++)
        s += switch_num_return_g(k, x[k] + 3);
    return s;
}

static double int_param_num_g(int n, double a)
{
    return n * a;
}

double int_param_num(const double *x)
{
    return int_param_num_g(x[0] * 3, x[1]) + x[0];
}

static bool bool_branch_pos(double a)
{
    return a > 0;
}

double bool_branch(const double *x)
{
    bool p = bool_branch_pos(x[0]), q = x[1] > x[2];
    double y = p ? x[0] : 0;
    if (p && !q)
        y += x[1];
    return y * (q ? 2 : 3);
}
