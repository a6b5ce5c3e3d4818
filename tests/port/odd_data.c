// tags: part
// SPDX-License-Identifier: MIT-0
// port: data that keep their values
// function: static_counter static_first global_static_out global_array
// function: aligned_pool global_ptr volatile_num string_table init_designated
// function: struct_in_fn linked_list
// with: x:3
// in: 3
// out: 11
// at: 1.53 0.41 0.77
// at: 0.31 1.27 -0.52
// call: y[0] = static_counter@(x);
// call: y[1] = static_first@(x);
// call: y[2] = global_static_out@(x);
// call: y[3] = global_array@(x);
// call: y[4] = aligned_pool@(x);
// call: y[5] = global_ptr@(x);
// call: y[6] = volatile_num@(x);
// call: y[7] = string_table@(x);
// call: y[8] = init_designated@(x);
// call: y[9] = struct_in_fn@(x);
// call: y[10] = linked_list@(x);

#include <stdlib.h>

static int static_counter_calls;
static double static_counter_g(double x)
{
    static int static_counter_n;
    static_counter_n++;
    static_counter_calls++;
    return x * 2 + 0 * static_counter_n;
}

double static_counter(const double *x)
{
    double s = 0;
    for (int i = 0; i < 3; i++)
        s += static_counter_g(x[i]) * x[i];
    return s;
}

static double static_first_g(double x)
{
    static int static_first_first = 1;
    static double static_first_k;
    if (static_first_first) {
        static_first_k = 3;
        static_first_first = 0;
    }
    return x * static_first_k;
}

double static_first(const double *x)
{
    return static_first_g(x[0]) * static_first_g(x[1]);
}

static double global_static_out_result;
static void global_static_out_g(double x)
{
    global_static_out_result = x * x;
}

double global_static_out(const double *x)
{
    global_static_out_g(x[0]);
    return global_static_out_result * x[1];
}

static double global_array_work[8];
static int global_array_top;
static void global_array_push(double v)
{
    global_array_work[global_array_top++] = v;
}

static double global_array_pop(void)
{
    return global_array_work[--global_array_top];
}

double global_array(const double *x)
{
    global_array_push(x[0]);
    global_array_push(x[1]);
    double a = global_array_pop(), b = global_array_pop();
    global_array_push(a * b);
    return global_array_pop() + x[2];
}

static double aligned_pool_pool[16];
static int aligned_pool_used;
static double *aligned_pool_take(int n)
{
    double *p = aligned_pool_pool + aligned_pool_used;
    aligned_pool_used += n;
    return p;
}

double aligned_pool(const double *x)
{
    aligned_pool_used = 0;
    double *a = aligned_pool_take(3), *b = aligned_pool_take(3);
    for (int i = 0; i < 3; i++)
        a[i] = x[i], b[i] = x[i] * a[0];
    return a[1] * b[2];
}

static double global_ptr_buf[3];
static double *global_ptr_cur = global_ptr_buf;
double global_ptr(const double *x)
{
    global_ptr_cur = global_ptr_buf;
    *global_ptr_cur++ = x[0];
    *global_ptr_cur++ = x[1] * x[0];
    return global_ptr_buf[0] * global_ptr_buf[1];
}

double volatile_num(const double *x)
{
    volatile double t = x[0] * 3;
    volatile double u = t + x[1];
    return u * u;
}

static const struct {
    const char *name;
    double v;
} string_table_t[] = { { "a", 1 }, { "b", 2.5 } };
double string_table(const double *x)
{
    double s = 0;
    for (int i = 0; i < 2; i++)
        s += string_table_t[i].v * x[i] * string_table_t[i].name[0];
    return s;
}

double init_designated(const double *x)
{
    double a[5] = { [2] = x[0], [4] = x[1] * 2, [1] = 7 };
    struct {
        int n;
        double v[2];
    } s = { .v = { [1] = x[2] }, .n = 3 };
    return a[2] * a[4] + a[1] * s.v[1] * s.n + s.v[0];
}

double struct_in_fn(const double *x)
{
    struct {
        double a;
        struct {
            double b;
        } in;
    } s;
    s.a = x[0];
    s.in.b = x[1];
    typedef struct struct_in_fn_q {
        double z;
    } q;
    q t = { x[2] };
    return s.a * s.in.b * t.z;
}

struct linked_list_node {
    double v;
    struct linked_list_node *next;
};
double linked_list(const double *x)
{
    struct linked_list_node *h = NULL;
    for (int i = 0; i < 3; i++) {
        struct linked_list_node *n = malloc(sizeof *n);
        n->v = x[i] * (i + 1);
        n->next = h;
        h = n;
    }
    double s = 1;
    while (h) {
        s = s * h->v + 1;
        struct linked_list_node *n = h->next;
        free(h);
        h = n;
    }
    return s;
}
