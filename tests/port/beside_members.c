// tags: part
// SPDX-License-Identifier: MIT-0
// port: pointers from one member of a structure to the next
// function: member_step member_step_plain member_step_arg member_step_memcpy
// function: member_step_pointer member_step_back member_nested member_mixed
// function: member_reference global_struct_step array_of_struct_step
// with: x:3
// in: 3
// out: 11
// at: 1.53 0.41 0.77
// at: 0.31 1.27 -0.52
// call: y[0] = member_step@(x);
// call: y[1] = member_step_plain@(x);
// call: y[2] = member_step_arg@(x);
// call: y[3] = member_step_memcpy@(x);
// call: y[4] = member_step_pointer@(x);
// call: y[5] = member_step_back@(x);
// call: y[6] = member_nested@(x);
// call: y[7] = member_mixed@(x);
// call: y[8] = member_reference@(x);
// call: y[9] = global_struct_step@(x);
// call: y[10] = array_of_struct_step@(x);

#include <string.h>

struct member_step_s {
    double x, y, z;
};
double member_step(const double *x)
{
    struct member_step_s s = { x[0], x[1], x[2] };
    double *p = &s.x;
    return p[1] * p[2] + *p;
}

struct member_step_plain_s {
    double x, y, z;
};
double member_step_plain(const double *x)
{
    struct member_step_plain_s s = { 1, 2, 3 };
    double *p = &s.x;
    p[1] = x[0] * x[1];
    return s.y * s.y + s.x + s.z * x[2];
}

struct member_step_arg_s {
    double x, y, z;
};
static double member_step_arg_sum(const double *a, int n)
{
    double t = 0;
    for (int i = 0; i < n; i++)
        t += a[i] * a[i];
    return t;
}

double member_step_arg(const double *x)
{
    struct member_step_arg_s s = { 1, 2, 3 };
    s.z = x[0] * x[2];
    return member_step_arg_sum(&s.x, 3);
}

struct member_step_memcpy_s {
    double x, y, z;
};
double member_step_memcpy(const double *x)
{
    struct member_step_memcpy_s s = { 1, 2, 3 };
    double a[3];
    s.y = x[0] * x[1];
    memcpy(a, &s.x, 3 * sizeof(double));
    return a[1] * a[1] + a[0];
}

struct member_step_pointer_s {
    double *a, *b;
};
double member_step_pointer(const double *x)
{
    double u[2] = { 1, 2 }, v[2] = { 3, 4 };
    struct member_step_pointer_s s = { u, v };
    double **p = &s.a;
    p[1][0] = x[0] * x[1];
    return s.b[0] * v[1] + u[0];
}

struct member_step_back_s {
    double x, y, z;
};
double member_step_back(const double *x)
{
    struct member_step_back_s s = { 1, 2, 3 };
    double *p = &s.z;
    s.x = x[0];
    p--;
    return *(p - 1) * *p;
}

struct member_nested_v {
    double x, y;
};
struct member_nested_s {
    struct member_nested_v a, b;
};
double member_nested(const double *x)
{
    struct member_nested_s s = { { 1, 2 }, { 3, 4 } };
    double *p = &s.a.y;
    p[1] = x[0] * x[1];
    return s.b.x * s.b.x;
}

struct member_mixed_s {
    int n;
    double x, y;
    const char *t;
};
double member_mixed(const double *x)
{
    struct member_mixed_s s = { 1, 2, 3, "" };
    double *p = &s.x;
    p[1] = x[0] * x[1];
    return s.y * s.y * p[0];
}

struct member_reference_s {
    double x, y;
};
static void member_reference_set(double *a, double v)
{
    *a = v;
}

double member_reference(const double *x)
{
    struct member_reference_s s;
    member_reference_set(&s.x, x[0]);
    member_reference_set(&s.y, 2);
    return s.x * s.y * s.x;
}

struct global_struct_step_s {
    double x, y;
};
static struct global_struct_step_s global_struct_step_g;
double global_struct_step(const double *x)
{
    global_struct_step_g.x = x[0];
    global_struct_step_g.y = x[1];
    const double *p = &global_struct_step_g.x;
    return p[0] * p[1];
}

struct array_of_struct_step_s {
    double x, y;
};
double array_of_struct_step(const double *x)
{
    struct array_of_struct_step_s s[3] = { { 0, 0 } };
    double *p = &s[0].x;
    for (int i = 0; i < 6; i++)
        p[i] = x[i % 3] * (i + 1);
    return s[1].x * s[2].y;
}
