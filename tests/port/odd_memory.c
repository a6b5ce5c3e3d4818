// tags: part
// SPDX-License-Identifier: MIT-0
// port: memory of several kinds
// function: struct_hack struct_flex xmalloc sizeof_num cast_record_array
// function: memcpy_whole_struct memcpy_part_struct ret_ptr_member void_member
// function: void_swap nested_struct_copy union_anon
// with: x:3
// in: 3
// out: 12
// at: 1.53 0.41 0.77
// at: 0.31 1.27 -0.52
// call: y[0] = struct_hack@(x);
// call: y[1] = struct_flex@(x);
// call: y[2] = xmalloc@(x);
// call: y[3] = sizeof_num@(x);
// call: y[4] = cast_record_array@(x);
// call: y[5] = memcpy_whole_struct@(x);
// call: y[6] = memcpy_part_struct@(x);
// call: y[7] = ret_ptr_member@(x);
// call: y[8] = void_member@(x);
// call: y[9] = void_swap@(x);
// call: y[10] = nested_struct_copy@(x);
// call: y[11] = union_anon@(x);

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

struct struct_hack_vec {
    int n;
    double v[1];
};
double struct_hack(const double *x)
{
    struct struct_hack_vec *a =
        malloc(sizeof(struct struct_hack_vec) + 2 * sizeof(double));
    a->n = 3;
    for (int i = 0; i < 3; i++)
        a->v[i] = x[i];
    double s = 1;
    for (int i = 0; i < a->n; i++)
        s *= a->v[i];
    free(a);
    return s;
}

struct struct_flex_vec {
    int n;
    double v[];
};
double struct_flex(const double *x)
{
    struct struct_flex_vec *a = malloc(sizeof *a + 3 * sizeof a->v[0]);
    a->n = 3;
    for (int i = 0; i < 3; i++)
        a->v[i] = x[i];
    double s = 1;
    for (int i = 0; i < a->n; i++)
        s *= a->v[i];
    free(a);
    return s;
}

static void *xmalloc_xmalloc(size_t n)
{
    void *p = malloc(n);
    if (!p) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return p;
}

double xmalloc(const double *x)
{
    double *a = xmalloc_xmalloc(3 * sizeof(double));
    for (int i = 0; i < 3; i++)
        a[i] = x[i] * x[0];
    double s = a[1] * a[2];
    free(a);
    return s;
}

double sizeof_num(const double *x)
{
    double *a = calloc(3, sizeof a[0]), *b = malloc(3 * sizeof(*b));
    memcpy(a, x, 3 * sizeof *x);
    memset(b, 0, sizeof(double) * 3);
    for (int i = 0; i < 3; i++)
        b[i] += a[i] * a[2 - i];
    double s = b[0] * b[1];
    free(a);
    free(b);
    return s;
}

struct cast_record_array_v {
    double x, y, z;
};
static double cast_record_array_norm(const double *p, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += p[i] * p[i];
    return s;
}

double cast_record_array(const double *x)
{
    struct cast_record_array_v v[2] = { { 1, x[0], 3 }, { x[1], 5, x[2] } };
    return cast_record_array_norm((const double *)v, 6) +
           cast_record_array_norm((double *)&v[1], 3);
}

struct memcpy_whole_struct_v {
    double x, y, z;
};
double memcpy_whole_struct(const double *x)
{
    struct memcpy_whole_struct_v v;
    memcpy(&v, x, sizeof v);
    double a[3];
    memcpy(a, &v, sizeof(struct memcpy_whole_struct_v));
    return a[0] * a[1] * v.z;
}

struct memcpy_part_struct_v {
    double x, y, z;
    int k;
};
double memcpy_part_struct(const double *x)
{
    struct memcpy_part_struct_v v = { 1, 2, 3, 4 };
    memcpy(&v.y, x, 2 * sizeof(double));
    return v.y * v.z * v.x;
}

struct ret_ptr_member_s {
    double x, y, z;
};
static double *ret_ptr_member_at(struct ret_ptr_member_s *s, int i)
{
    return &s->x + i;
}

double ret_ptr_member(const double *x)
{
    struct ret_ptr_member_s s = { 1, 2, 3 };
    *ret_ptr_member_at(&s, 2) = x[0] * x[1];
    return s.z * s.z + s.x;
}

struct void_member_ctx {
    void *data;
    int n;
};
static double void_member_g(struct void_member_ctx *c)
{
    double *d = c->data;
    return d[0] * d[1] * c->n;
}

double void_member(const double *x)
{
    double d[2] = { x[0], x[1] };
    struct void_member_ctx c = { d, 2 };
    return void_member_g(&c);
}

static void void_swap_swap(void **a, void **b)
{
    void *t = *a;
    *a = *b;
    *b = t;
}

double void_swap(const double *x)
{
    double u[1] = { x[0] }, v[1] = { 2 };
    void *p = u, *q = v;
    void_swap_swap(&p, &q);
    return ((double *)p)[0] * x[1] + ((double *)q)[0] * x[2];
}

struct nested_struct_copy_in {
    double a[2];
};
struct nested_struct_copy_out {
    struct nested_struct_copy_in i[2];
    double s;
};
double nested_struct_copy(const double *x)
{
    struct nested_struct_copy_out o = { { { { x[0], 1 } }, { { 2, x[1] } } },
                                        3 },
                                  p = o;
    struct nested_struct_copy_in *q = &p.i[1];
    *q = o.i[0];
    q->a[1] += x[2];
    return p.i[1].a[0] * p.i[1].a[1] + o.i[1].a[1] * p.s;
}

struct union_anon_p {
    union {
        struct {
            double x, y;
        };
        double v[2];
    };
    int n;
};
double union_anon(const double *x)
{
    struct union_anon_p p;
    p.n = 1;
    p.x = x[0];
    p.y = 2;
    p.v[1] *= x[1];
    return p.x * p.y;
}
