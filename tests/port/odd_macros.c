// tags: part
// SPDX-License-Identifier: MIT-0
// port: macros in odd places
// function: macro_swap macro_sqr macro_function macro_loop macro_field
// function: macro_paste macro_ret alloc_define do_while_macro likely
// with: x:3
// in: 3
// out: 10
// at: 1.53 0.41 0.77
// at: 0.31 1.27 -0.52
// call: y[0] = macro_swap@(x);
// call: y[1] = macro_sqr@(x);
// call: y[2] = macro_function@(x);
// call: y[3] = macro_loop@(x);
// call: y[4] = macro_field@(x);
// call: y[5] = macro_paste@(x);
// call: y[6] = macro_ret@(x);
// call: y[7] = alloc_define@(x);
// call: y[8] = do_while_macro@(x);
// call: y[9] = likely@(x);

#include <stdlib.h>

#define MACRO_SWAP_SWAP(a, b) \
    do { \
        double t_ = (a); \
        (a) = (b); \
        (b) = t_; \
    } while (0)
double macro_swap(const double *x)
{
    double a = x[0], b = x[1];
    if (a < b)
        MACRO_SWAP_SWAP(a, b);
    else
        MACRO_SWAP_SWAP(b, a);
    return a * a - b;
}

#define MACRO_SQR_SQR(x) ((x) * (x))
#define MACRO_SQR_MAX(a, b) ((a) > (b) ? (a) : (b))
double macro_sqr(const double *x)
{
    return MACRO_SQR_SQR(x[0] + x[1]) +
           MACRO_SQR_MAX(x[0], MACRO_SQR_SQR(x[1]));
}

#define MACRO_FUNCTION_DEF(name, op) \
    static double name(double a, double b) \
    { \
        return a op b; \
    }
MACRO_FUNCTION_DEF(macro_function_mul, *)
MACRO_FUNCTION_DEF(macro_function_add, +)
double macro_function(const double *x)
{
    return macro_function_mul(x[0], macro_function_add(x[1], x[2]));
}

#define MACRO_LOOP_FOR(i, n) for (int i = 0; i < (n); i++)
double macro_loop(const double *x)
{
    double s = 0;
    MACRO_LOOP_FOR(i, 3) MACRO_LOOP_FOR(j, 2) s += x[i] * x[j];
    return s;
}

#define MACRO_FIELD_X(v) ((v)->a[0])
struct macro_field_s {
    double a[3];
};
double macro_field(const double *x)
{
    struct macro_field_s s = { { x[0], x[1], x[2] } };
    struct macro_field_s *p = &s;
    MACRO_FIELD_X(p) *= x[1];
    return MACRO_FIELD_X(p) + p->a[1];
}

#define MACRO_PASTE_VAR(n) v_##n
double macro_paste(const double *x)
{
    double MACRO_PASTE_VAR(1) = x[0], MACRO_PASTE_VAR(2) = x[1];
    MACRO_PASTE_VAR(1) += MACRO_PASTE_VAR(2) * MACRO_PASTE_VAR(2);
    return MACRO_PASTE_VAR(1);
}

#define MACRO_RET_CHECK(c, v) \
    if (!(c)) \
    return (v)
double macro_ret(const double *x)
{
    MACRO_RET_CHECK(x[0] > -100, 0);
    MACRO_RET_CHECK(x[1] < 0.5, x[0] * x[1]);
    return x[2] * x[2];
}

#define ALLOC_DEFINE_NEW(t, n) ((t *)malloc((n) * sizeof(t)))
double alloc_define(const double *x)
{
    double *a = ALLOC_DEFINE_NEW(double, 3);
    int *k = ALLOC_DEFINE_NEW(int, 3);
    for (int i = 0; i < 3; i++)
        a[i] = x[i], k[i] = 2 - i;
    double s = a[k[0]] * a[k[1]];
    free(a);
    free(k);
    return s;
}

#define DO_WHILE_MACRO_BEGIN do {
#define DO_WHILE_MACRO_END \
    } \
    while (0)
double do_while_macro(const double *x)
{
    double y = x[0];
    DO_WHILE_MACRO_BEGIN y *= x[1];
    DO_WHILE_MACRO_END;
    return y;
}

#define likely_likely(x) __builtin_expect(!!(x), 1)
double likely(const double *x)
{
    if (likely_likely(x[0] > 0.5))
        return x[0] * x[1];
    return x[1];
}
