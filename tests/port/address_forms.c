// tags: part
// SPDX-License-Identifier: MIT-0
// port: *&x, &*p, &v[i], i[v], (*p).f, p[0].f
// function: address_forms
// with: x:3
// in: 3
// out: 1
// at: 0.5 2 3
// call: y[0] = address_forms@(x);

struct address_pair { double u, w; };

double address_forms(const double *x)
{
    struct address_pair s = { x[0], x[1] }, *p = &s;
    double v[3] = { x[2], 1, 2 }, *q = &*v;
    double (*whole)[3] = &v;
    double *each[2] = { &v[1], &p->w };
    *&v[1] += *&p->u;
    (*whole)[2] *= x[1];
    *each[0] *= *each[1];
    (&v[2])[-1] += 1[v];
    return *q * (*p).u + p[0].w * (*whole)[1] + *(*whole + 2) + (&s)->u;
}
