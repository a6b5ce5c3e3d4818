// tags: part
// SPDX-License-Identifier: MIT-0
// port: places that change
// function: ptr_int_table const_global_mod global_via_ptr local_static_ptr
// function: cond_ptr_assign loop_carried_ptr ptr_array_sort
// function: nested_ternary_lvalue multi_dim_ptr array_param_sizes typedef_ptr
// function: assign_in_cond complex_macro_chain f2c_static_work int_compound
// function: div_use
// with: x:3
// in: 3
// out: 16
// at: 1.53 0.41 0.77
// at: 0.31 1.27 -0.52
// call: y[0] = ptr_int_table@(x);
// call: y[1] = const_global_mod@(x);
// call: y[2] = global_via_ptr@(x);
// call: y[3] = local_static_ptr@(x);
// call: y[4] = cond_ptr_assign@(x);
// call: y[5] = loop_carried_ptr@(x);
// call: y[6] = ptr_array_sort@(x);
// call: y[7] = nested_ternary_lvalue@(x);
// call: y[8] = multi_dim_ptr@(x);
// call: y[9] = array_param_sizes@(x);
// call: y[10] = typedef_ptr@(x);
// call: y[11] = assign_in_cond@(x);
// call: y[12] = complex_macro_chain@(x);
// call: y[13] = f2c_static_work@(x);
// call: y[14] = int_compound@(x);
// call: y[15] = div_use@(x);

#include <stdlib.h>

static double s1, s2;
static double *const where[] = { &s1, &s2 };
double ptr_int_table(const double *x)
{
    *where[0] = x[0];
    *where[1] = x[1] * *where[0];
    return s1 * s2;
}

static double const_global_mod_coef[2] = { 1, 2 };
static void const_global_mod_set(double a)
{
    const_global_mod_coef[1] = a;
}

double const_global_mod(const double *x)
{
    const_global_mod_set(x[0] * x[0]);
    return const_global_mod_coef[0] * x[1] + const_global_mod_coef[1] * x[2];
}

static double global_via_ptr_state;
static double *global_via_ptr_where = &global_via_ptr_state;
double global_via_ptr(const double *x)
{
    *global_via_ptr_where = x[0] * x[1];
    return global_via_ptr_state * global_via_ptr_state;
}

static double *local_static_ptr_buf(void)
{
    static double local_static_ptr_b[4];
    return local_static_ptr_b;
}

double local_static_ptr(const double *x)
{
    local_static_ptr_buf()[0] = x[0];
    local_static_ptr_buf()[1] = x[1] * local_static_ptr_buf()[0];
    return local_static_ptr_buf()[0] + local_static_ptr_buf()[1];
}

double cond_ptr_assign(const double *x)
{
    double a = x[0], b = x[1], *p;
    if (x[2] > 0)
        p = &a;
    else
        p = &b;
    *p = *p * *p;
    return a * b;
}

double loop_carried_ptr(const double *x)
{
    double a[2][3] = { { x[0], x[1], x[2] } }, *cur = a[0], *next = a[1];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++)
            next[i] = cur[i] * cur[(i + 1) % 3] + 0.1;
        double *t = cur;
        cur = next;
        next = t;
    }
    return cur[0] + a[0][1];
}

double ptr_array_sort(const double *x)
{
    const double *p[3] = { &x[0], &x[1], &x[2] };
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            if (*p[j] > *p[j + 1]) {
                const double *t = p[j];
                p[j] = p[j + 1];
                p[j + 1] = t;
            }
    return *p[0] + 2 * *p[1] * *p[2];
}

double nested_ternary_lvalue(const double *x)
{
    double a[3] = { 1, 1, 1 };
    int k = x[0] > 0 ? 1 : 2;
    (k == 1 ? a : a + 1)[1] = x[1];
    *(k > 1 ? &a[0] : &a[2]) += x[2];
    return a[0] * a[1] * a[2];
}

static double multi_dim_ptr_tr(double (*m)[3], int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += (*(m + i))[i];
    return s;
}

double multi_dim_ptr(const double *x)
{
    double m[3][3] = { { 0 } };
    double(*p)[3] = m;
    p[1][1] = x[0] * x[1];
    (*p)[0] = x[2];
    return multi_dim_ptr_tr(m, 3) * multi_dim_ptr_tr(p + 1, 1);
}

static double array_param_sizes_g(const double a[static 3], double b[const 2])
{
    b[0] = a[2];
    return a[0] * a[1];
}

double array_param_sizes(const double *x)
{
    double b[2] = { 1, 2 };
    return array_param_sizes_g(x, b) * b[0];
}

typedef double *typedef_ptr_vec;
typedef const double *cvec;
typedef struct typedef_ptr_pt *ppt;
struct typedef_ptr_pt {
    double x;
    typedef_ptr_vec v;
};
static double typedef_ptr_g(ppt p, cvec c)
{
    return p->x * p->v[0] * c[1];
}

double typedef_ptr(const double *x)
{
    double a[1] = { x[2] };
    struct typedef_ptr_pt p = { x[0], a };
    return typedef_ptr_g(&p, x);
}

double assign_in_cond(const double *x)
{
    double a, b = 0;
    if ((a = x[0]) > 0.5)
        b = a * x[1];
    else if (!(b = x[2]))
        return 1;
    return a + b;
}

#define COMPLEX_MACRO_CHAIN_A(i) a[(i)-1]
#define COMPLEX_MACRO_CHAIN_MAT(m, i, j) (m)[(i) + 2 * (j)]
#define COMPLEX_MACRO_CHAIN_DOT2(u, v) \
    (COMPLEX_MACRO_CHAIN_A(1) * (u) + COMPLEX_MACRO_CHAIN_A(2) * (v))
double complex_macro_chain(const double *x)
{
    double a[2] = { x[0], x[1] }, m[4] = { 1, 2, 3, x[2] };
    COMPLEX_MACRO_CHAIN_A(2) +=
        COMPLEX_MACRO_CHAIN_MAT(m, 1, 1) * COMPLEX_MACRO_CHAIN_A(1);
    COMPLEX_MACRO_CHAIN_MAT(m, 0, 1) = COMPLEX_MACRO_CHAIN_DOT2(x[0], 2);
    return COMPLEX_MACRO_CHAIN_DOT2(COMPLEX_MACRO_CHAIN_MAT(m, 0, 1),
                                    COMPLEX_MACRO_CHAIN_A(1));
}

static double f2c_static_work_work[10];
static double t1, t2;
double f2c_static_work(const double *x)
{
    t1 = x[0];
    t2 = t1 * x[1];
    f2c_static_work_work[0] = t2;
    f2c_static_work_work[1] = f2c_static_work_work[0] * x[2];
    return f2c_static_work_work[1] + t1;
}

double int_compound(const double *x)
{
    int n = 5;
    n *= x[0];
    n += 2.5;
    unsigned k = 7;
    k -= x[1];
    return n * x[2] + k;
}

double div_use(const double *x)
{
    div_t d = div(17, 5);
    return d.quot * x[0] + d.rem * x[1];
}
