// tags: part
// SPDX-License-Identifier: MIT-0
// port: a stack of addresses without a type
// function: memory_generic
// with: x:3
// in: 3
// out: 1
// at: 2 3 5
// may: refuse
// call: y[0] = memory_generic@(x);

struct generic_stack { void *item[4]; int n; };

static void generic_push(struct generic_stack *s, void *p)
{
    s->item[s->n++] = p;
}

static void *generic_pop(struct generic_stack *s) { return s->item[--s->n]; }

double memory_generic(const double *x)
{
    struct generic_stack s = { { 0 }, 0 };
    double a = x[0] * x[1], b = x[2];
    generic_push(&s, &a);
    generic_push(&s, &b);
    *(double *)generic_pop(&s) *= a;
    return *(double *)generic_pop(&s) * b;
}
