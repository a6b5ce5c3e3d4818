// tags: part
// SPDX-License-Identifier: MIT-0
// port: one field active, the other read before and after
// function: activity_in_struct
// with: x
// in: 1
// out: 1
// at: 0.7
// call: y[0] = activity_in_struct@(x[0]);

struct two_fields { double hot, cold; struct two_fields *self; };

double activity_in_struct(double x)
{
    struct two_fields s = { 0, 2, 0 }, t;
    double *p = &s.hot;
    s.self = &s;
    *p = x;
    t = *s.self;
    t.cold *= s.self->cold;
    return t.hot * t.cold + s.cold;
}
