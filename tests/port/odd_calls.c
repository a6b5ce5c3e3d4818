// tags: part
// SPDX-License-Identifier: MIT-0
// port: calls with side effects, pointers to functions
// function: odd_side_effects side_index nested_call_effects fptr_array
// function: fptr_param fptr_typedef_struct fptr_math fptr_choice
// function: callback_ctx_double odd_recursion param_modified void_ctx
// with: x:3
// in: 3
// out: 12
// at: 1.53 0.41 0.77
// at: 0.31 1.27 -0.52
// call: y[0] = odd_side_effects@(x);
// call: y[1] = side_index@(x);
// call: y[2] = nested_call_effects@(x);
// call: y[3] = fptr_array@(x);
// call: y[4] = fptr_param@(x);
// call: y[5] = fptr_typedef_struct@(x);
// call: y[6] = fptr_math@(x);
// call: y[7] = fptr_choice@(x);
// call: y[8] = callback_ctx_double@(x);
// call: y[9] = odd_recursion@(x);
// call: y[10] = param_modified@(x);
// call: y[11] = void_ctx@(x);

#include <math.h>

static double odd_side_effects_inc(double *p)
{
    *p += 1;
    return *p;
}

double odd_side_effects(const double *x)
{
    double a = x[0];
    double b = odd_side_effects_inc(&a) * 2;
    b += odd_side_effects_inc(&a);
    int i = 0;
    double c[3] = { 1, 2, 3 };
    c[i++] += x[1];
    c[++i] *= b;
    return a * b + c[0] + c[2];
}

static int side_index_next(int *i)
{
    return (*i)++;
}

double side_index(const double *x)
{
    int i = 0;
    double a[3] = { 1, 1, 1 };
    a[side_index_next(&i)] *= x[0];
    a[side_index_next(&i)] /= x[1] + 3;
    a[side_index_next(&i)]++;
    return a[0] * a[1] * a[2] + i;
}

static double nested_call_effects_g(double *s, double v)
{
    *s += v;
    return *s * v;
}

double nested_call_effects(const double *x)
{
    double s = 0;
    double a = nested_call_effects_g(&s, x[0]);
    double b = nested_call_effects_g(&s, nested_call_effects_g(&s, x[1]));
    return a + b * s;
}

static double fptr_array_a(double x)
{
    return x * x;
}

static double fptr_array_b(double x)
{
    return x + 1;
}

static double (*const fptr_array_t[])(double) = { fptr_array_a, fptr_array_b };
double fptr_array(const double *x)
{
    double s = 1;
    for (int i = 0; i < 2; i++)
        s *= fptr_array_t[i](x[i]);
    return s;
}

static double fptr_param_quad(double (*g)(double, void *), void *p, double a,
                              double b)
{
    return (b - a) / 6 * (g(a, p) + 4 * g((a + b) / 2, p) + g(b, p));
}

static double fptr_param_h(double t, void *p)
{
    const double *k = p;
    return exp(-k[0] * t) * k[1];
}

double fptr_param(const double *x)
{
    double k[2] = { x[0], x[1] };
    return fptr_param_quad(fptr_param_h, k, 0, 1);
}

typedef double fptr_typedef_struct_fn(double, void *);
typedef struct {
    fptr_typedef_struct_fn *f;
    void *p;
} func;
#define FPTR_TYPEDEF_STRUCT_EVAL(F, x) (*((F)->f))(x, (F)->p)
static double fptr_typedef_struct_g(double t, void *p)
{
    return t * *(double *)p;
}

double fptr_typedef_struct(const double *x)
{
    double k = x[1];
    func F;
    F.f = &fptr_typedef_struct_g;
    F.p = &k;
    return FPTR_TYPEDEF_STRUCT_EVAL(&F, x[0]);
}

static double fptr_math_apply(double (*g)(double), double v)
{
    return g(v);
}

double fptr_math(const double *x)
{
    return fptr_math_apply(sin, x[0]) * fptr_math_apply(cos, x[1]);
}

static double fptr_choice_a(double x)
{
    return x * x;
}

static double fptr_choice_b(double x)
{
    return x + 1;
}

double fptr_choice(const double *x)
{
    double (*g)(double) = x[0] > 0.5 ? fptr_choice_a : fptr_choice_b;
    return g(x[1]);
}

typedef double (*cb)(const double *, int, void *);
static double callback_ctx_double_eval(cb f, const double *x, int n, void *u)
{
    return f(x, n, u);
}

static double callback_ctx_double_g(const double *x, int n, void *u)
{
    double s = *(double *)u;
    while (n--)
        s += x[n] * x[n];
    return s;
}

double callback_ctx_double(const double *x)
{
    double k = x[0] * 3;
    return callback_ctx_double_eval(callback_ctx_double_g, x, 3, &k);
}

static double odd_recursion_fact(double x, int n)
{
    return n <= 0 ? 1 : (x - n) * odd_recursion_fact(x, n - 1);
}

double odd_recursion(const double *x)
{
    return odd_recursion_fact(x[0], 3) * odd_recursion_fact(x[1], 2);
}

static double param_modified_g(double a, int n)
{
    while (n--)
        a *= a;
    return a;
}

double param_modified(const double *x)
{
    return param_modified_g(x[0], 2) + param_modified_g(2, 1) * x[1];
}

struct void_ctx_ctx {
    double k;
    int n;
};
static double void_ctx_g(double x, void *data)
{
    struct void_ctx_ctx *c = (struct void_ctx_ctx *)data;
    return x * c->k + c->n;
}

double void_ctx(const double *x)
{
    struct void_ctx_ctx c = { x[1], 2 };
    return void_ctx_g(x[0], &c) * void_ctx_g(x[2], &c);
}
