// tags: part
// SPDX-License-Identifier: MIT-0
// port: values in odd places
// function: comma_expr chained_assign logical_assign bool_num cmp_value
// function: int_roundtrip int_div_mix neg_pow float_counter
// function: float_counter_active shadow sizeof_expr union_two bit_field
// function: struct_memcpy struct_memcpy_array struct_memset struct_assign_self
// with: x:3
// in: 3
// out: 18
// at: 1.53 0.41 0.77
// at: 0.31 1.27 -0.52
// call: y[0] = comma_expr@(x);
// call: y[1] = chained_assign@(x);
// call: y[2] = logical_assign@(x);
// call: y[3] = bool_num@(x);
// call: y[4] = cmp_value@(x);
// call: y[5] = int_roundtrip@(x);
// call: y[6] = int_div_mix@(x);
// call: y[7] = neg_pow@(x);
// call: y[8] = float_counter@(x);
// call: y[9] = float_counter_active@(x);
// call: y[10] = shadow@(x);
// call: y[11] = sizeof_expr@(x);
// call: y[12] = union_two@(x);
// call: y[13] = bit_field@(x);
// call: y[14] = struct_memcpy@(x);
// call: y[15] = struct_memcpy_array@(x);
// call: y[16] = struct_memset@(x);
// call: y[17] = struct_assign_self@(x);

#include <stdbool.h>
#include <string.h>

double comma_expr(const double *x)
{
    double a, b;
    int i;
    for (i = 0, a = x[0], b = 1; i < 3; i++, a *= x[1], b += a)
        ;
    return (a += 1, b *= a, b);
}

double chained_assign(const double *x)
{
    double a, b, c[2];
    a = b = c[1] = x[0] * x[1];
    a += b -= c[1] *= 2;
    return a * b + c[1];
}

double logical_assign(const double *x)
{
    double y = 0;
    int ok = x[0] > 0.3 && (y = x[1] * x[1]) > 0.1;
    return ok ? y : y * 2 + x[2];
}

double bool_num(const double *x)
{
    bool b = x[0];
    bool c = x[1] > 0;
    double s = b + c;
    return s * x[2] * !x[0] + x[1] * (x[0] > 0.5);
}

double cmp_value(const double *x)
{
    return (x[0] > 0.5) * x[1] + (x[1] <= x[2]) * x[0] * x[0] + (x[0] == x[0]);
}

double int_roundtrip(const double *x)
{
    int i = (int)(x[0] * 10);
    double y = i;
    return y * x[1];
}

double int_div_mix(const double *x)
{
    int n = 7;
    return x[0] * (n / 2) + x[1] * n / 2 + 1 / 2 * x[2] + n % 3 * x[0];
}

double neg_pow(const double *x)
{
    return -x[0] * -x[1] - -x[2] + +x[0] - (-(x[1]));
}

double float_counter(const double *x)
{
    double s = 0;
    for (double t = 0; t < 1; t += 0.25)
        s += x[0] * t * t;
    for (float u = 0; u < 2; u++)
        s *= x[1] + u;
    return s;
}

double float_counter_active(const double *x)
{
    double s = 0;
    for (double t = x[0]; t < 3; t += 0.5)
        s += t * x[1];
    return s;
}

double shadow(const double *x)
{
    double s = x[0];
    {
        double s = x[1] * 2;
        {
            int s = 3;
            (void)s;
        }
        s *= s;
        if (s > 0) {
            double x = s;
            s = x * x;
        }
    }
    return s * x[2];
}

double sizeof_expr(const double *x)
{
    double a[3] = { x[0], x[1], x[2] }, s = 0;
    for (unsigned i = 0; i < sizeof(a) / sizeof(a[0]); i++)
        s += a[i] * a[i];
    return s * sizeof(int);
}

union union_two_u {
    double d[2];
    struct {
        double re, im;
    } c;
};
double union_two(const double *x)
{
    union union_two_u u;
    u.c.re = x[0];
    u.c.im = x[1] * x[0];
    return u.d[0] * u.d[1];
}

struct bit_field_b {
    unsigned flag : 1;
    int shift : 4;
    double v;
    unsigned many : 7;
};
double bit_field(const double *x)
{
    struct bit_field_b b = { 1, -3, x[0], 100 };
    b.v *= b.flag + b.shift;
    return b.v * b.many * x[1];
}

struct struct_memcpy_s {
    double a;
    int n;
    double b[2];
};
double struct_memcpy(const double *x)
{
    struct struct_memcpy_s s = { x[0], 2, { x[1], 3 } }, t;
    memcpy(&t, &s, sizeof t);
    return t.a * t.b[0] * t.b[1] * t.n;
}

struct struct_memcpy_array_s {
    double a, b;
};
double struct_memcpy_array(const double *x)
{
    struct struct_memcpy_array_s s[3], t[3];
    for (int i = 0; i < 3; i++)
        s[i].a = x[i], s[i].b = i;
    memcpy(t, s, sizeof s);
    memmove(&t[0], &t[1], 2 * sizeof *t);
    return t[0].a * t[1].a + t[2].b;
}

struct struct_memset_s {
    double a, b;
};
double struct_memset(const double *x)
{
    struct struct_memset_s s;
    memset(&s, 0, sizeof(struct struct_memset_s));
    s.a = x[0];
    return s.a * s.a + s.b;
}

struct struct_assign_self_s {
    double v[2];
    int n;
};
double struct_assign_self(const double *x)
{
    struct struct_assign_self_s a = { { x[0], x[1] }, 1 }, b[2];
    b[0] = b[1] = a;
    b[1].v[0] *= b[0].v[1];
    a = b[1];
    return a.v[0] * a.v[1];
}
