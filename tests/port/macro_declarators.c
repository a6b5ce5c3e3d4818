// tags: part
// SPDX-License-Identifier: MIT-0
// port: macros that stand for types and declarators
// function: macro_type2 macro_struct
// with: x:3
// in: 3
// out: 2
// at: 1.53 0.41 0.77
// at: 0.31 1.27 -0.52
// call: y[0] = macro_type2@(x);
// call: y[1] = macro_struct@(x);

#define MACRO_TYPE2_REAL double
#define MACRO_TYPE2_VEC MACRO_TYPE2_REAL *
#define MACRO_TYPE2_MAT(n) MACRO_TYPE2_REAL n[2][2]
#define MACRO_TYPE2_CVEC const MACRO_TYPE2_VEC
typedef MACRO_TYPE2_REAL macro_type2_real_t;
struct macro_type2_s {
    MACRO_TYPE2_VEC p;
    MACRO_TYPE2_REAL a, b;
    MACRO_TYPE2_MAT(m);
};
static MACRO_TYPE2_VEC macro_type2_first(MACRO_TYPE2_VEC v)
{
    return v;
}

static MACRO_TYPE2_REAL macro_type2_sum(MACRO_TYPE2_VEC v, int n)
{
    MACRO_TYPE2_REAL s = 0;
    for (int i = 0; i < n; i++)
        s += v[i];
    return s;
}

double macro_type2(const MACRO_TYPE2_REAL *x)
{
    MACRO_TYPE2_REAL a[2] = { 1, 2 };
    MACRO_TYPE2_VEC p = a;
    p[1] = x[0] * x[1];
    struct macro_type2_s s = { a, x[2], 2, { { 1, 2 }, { 3, 4 } } };
    s.m[1][0] = x[1];
    macro_type2_real_t z = *macro_type2_first(p + 1);
    return s.p[1] * a[1] + macro_type2_sum(a, 2) * s.a + z * s.m[1][0];
}

#define MACRO_STRUCT_P struct point
MACRO_STRUCT_P
{
    double x, y;
};
static double macro_struct_n(MACRO_STRUCT_P a)
{
    return a.x * a.y;
}

double macro_struct(const double *x)
{
    MACRO_STRUCT_P a = { x[0], x[1] }, *b = &a;
    return macro_struct_n(a) * macro_struct_n(*b);
}
