// tags: part
// SPDX-License-Identifier: MIT-0
// port: pointers in odd places
// function: cond_lvalue array_decay_assign ptr_diff ptr_cmp ptr_in_struct_arr
// function: ptr_to_ptr_out double_ptr_alias struct_ptr_chain incr_deref
// function: neg_index vla_pointer flat_2d calloc_2d calloc_contig
// function: const_ptr_cast compound_literal compound_literal_ptr
// with: x:3
// in: 3
// out: 17
// at: 1.53 0.41 0.77
// at: 0.31 1.27 -0.52
// call: y[0] = cond_lvalue@(x);
// call: y[1] = array_decay_assign@(x);
// call: y[2] = ptr_diff@(x);
// call: y[3] = ptr_cmp@(x);
// call: y[4] = ptr_in_struct_arr@(x);
// call: y[5] = ptr_to_ptr_out@(x);
// call: y[6] = double_ptr_alias@(x);
// call: y[7] = struct_ptr_chain@(x);
// call: y[8] = incr_deref@(x);
// call: y[9] = neg_index@(x);
// call: y[10] = vla_pointer@(x);
// call: y[11] = flat_2d@(x);
// call: y[12] = calloc_2d@(x);
// call: y[13] = calloc_contig@(x);
// call: y[14] = const_ptr_cast@(x);
// call: y[15] = compound_literal@(x);
// call: y[16] = compound_literal_ptr@(x);

#include <stdlib.h>

double cond_lvalue(const double *x)
{
    double a = 1, b = 2;
    *(x[0] > 0.5 ? &a : &b) = x[1] * x[2];
    return a * a + b * b * b;
}

double array_decay_assign(const double *x)
{
    double a[2][3];
    double *r[2] = { a[0], a[1] };
    for (int i = 0; i < 3; i++) {
        r[0][i] = x[i];
        r[1][2 - i] = x[i] * x[i];
    }
    return a[0][1] * a[1][0];
}

double ptr_diff(const double *x)
{
    double a[4] = { 0, x[0], x[1], 2 };
    double *p = a + 3;
    while (p - a > 0 && *p > 0)
        p--;
    return *++p * a[1] + (double)(p - a);
}

double ptr_cmp(const double *x)
{
    const double *e = x + 3;
    double s = 1;
    for (const double *p = x; p != e; ++p)
        s = s * *p + 1;
    return s;
}

struct ptr_in_struct_arr_s {
    double *p[2];
};
double ptr_in_struct_arr(const double *x)
{
    double a = x[0], b = 2;
    struct ptr_in_struct_arr_s s = { { &a, &b } };
    *s.p[1] = *s.p[0] * x[1];
    return b * b;
}

static void ptr_to_ptr_out_pick(const double *a, const double *b,
                                const double **r)
{
    *r = *a > *b ? a : b;
}

double ptr_to_ptr_out(const double *x)
{
    const double *r;
    ptr_to_ptr_out_pick(&x[0], &x[1], &r);
    return *r * x[2];
}

double double_ptr_alias(const double *x)
{
    double a = 1, b = 2, *p = &a, **q = &p;
    *q = &b;
    **q = x[0] * x[1];
    return b * b + a;
}

struct struct_ptr_chain_a {
    double v;
};
struct struct_ptr_chain_b {
    struct struct_ptr_chain_a *a;
};
struct struct_ptr_chain_c {
    struct struct_ptr_chain_b *b[2];
};
double struct_ptr_chain(const double *x)
{
    struct struct_ptr_chain_a a = { x[0] }, a2 = { 2 };
    struct struct_ptr_chain_b b = { &a }, b2 = { &a2 };
    struct struct_ptr_chain_c c = { { &b, &b2 } };
    c.b[1]->a->v *= x[1];
    return c.b[0]->a->v * a2.v;
}

double incr_deref(const double *x)
{
    double a[3] = { x[0], x[1], x[2] }, *p = a;
    *p++ *= 2;
    (*p)++;
    *++p -= x[0];
    return a[0] * a[1] * a[2];
}

double neg_index(const double *x)
{
    const double *p = x + 2;
    return p[-1] * p[-2] + 1 [p - 1];
}

double vla_pointer(const double *x)
{
    int n = 2;
    double buf[6];
    double(*a)[n] = (double(*)[n])buf;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < n; j++)
            a[i][j] = x[i] * (j + 1);
    return buf[5] * buf[0];
}

static double flat_2d_sum(const double *p, int n)
{
    double t = 0;
    for (int i = 0; i < n; i++)
        t += p[i] * i;
    return t;
}

double flat_2d(const double *x)
{
    double a[2][3] = { { x[0], 1, x[1] }, { 2, x[2] } };
    return flat_2d_sum(&a[0][0], 6) + flat_2d_sum(a[1], 3);
}

static double **calloc_2d_alloc(int n, int m)
{
    double **a = malloc(n * sizeof(double *));
    for (int i = 0; i < n; i++)
        a[i] = calloc(m, sizeof(double));
    return a;
}

double calloc_2d(const double *x)
{
    double **a = calloc_2d_alloc(2, 3);
    for (int i = 0; i < 3; i++)
        a[0][i] = x[i], a[1][i] = x[i] * x[0];
    double s = a[0][1] * a[1][2] + a[1][1];
    free(a[0]);
    free(a[1]);
    free(a);
    return s;
}

double calloc_contig(const double *x)
{
    double **a = malloc(2 * sizeof(double *));
    a[0] = malloc(6 * sizeof(double));
    a[1] = a[0] + 3;
    for (int i = 0; i < 6; i++)
        a[0][i] = x[i % 3] * i;
    double s = a[1][2] * a[1][1];
    free(a[0]);
    free(a);
    return s;
}

double const_ptr_cast(const double *x)
{
    double *y = (double *)x;
    double s = y[0] * y[1];
    const double *const z = y;
    return s + z[2];
}

struct compound_literal_p {
    double x, y;
};
static double compound_literal_dot(struct compound_literal_p a,
                                   struct compound_literal_p b)
{
    return a.x * b.x + a.y * b.y;
}

double compound_literal(const double *x)
{
    const double *q = (double[]){ x[0], 2, x[1] };
    return compound_literal_dot((struct compound_literal_p){ x[0], x[1] },
                                (struct compound_literal_p){ .y = x[2] }) +
           q[2] * q[1];
}

struct compound_literal_ptr_p {
    double x, y;
};
static double compound_literal_ptr_g(const struct compound_literal_ptr_p *a)
{
    return a->x * a->y;
}

double compound_literal_ptr(const double *x)
{
    return compound_literal_ptr_g(
        &(struct compound_literal_ptr_p){ x[0], x[1] });
}
