// tags: part
// SPDX-License-Identifier: MIT-0
// port: compound literals: arrays, structures, addresses of them
// function: compound_literals
// with: x:2
// in: 2
// out: 1
// at: 1.5 2.5
// call: y[0] = compound_literals@(x);

struct literal { double a, b; int n; };

static double sum_of(const double *v, int n)
{
    double s = 0;
    while (n-- > 0)
        s += *v++;
    return s;
}

static double of_literal(const struct literal *l)
{
    return l->a * l->a * l->n - l->b;
}

double compound_literals(const double *x)
{
    struct literal l = (struct literal){ .b = x[1], .n = 2 };
    double s = sum_of((double[]){ x[0], x[1] * x[0], 1 }, 3);
    l = (struct literal){ x[0], l.b * 3, 1 };
    s *= of_literal(&(struct literal){ .a = x[1], .n = 3 });
    return s + of_literal(&l) * *(const double[]){ x[0] * x[1], 3 };
}
