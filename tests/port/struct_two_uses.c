// tags: part
// SPDX-License-Identifier: MIT-0
// port: one type of structure, once with recorded numbers and once without
// function: struct_two_uses
// with: x:2
// in: 2
// out: 1
// at: 0.25 3
// may: refuse
// call: y[0] = struct_two_uses@(x);

struct interval { double low, high; };

static double width_of(const struct interval *i)
{
    return i->high - i->low;
}

static double clip_to(double v, const struct interval *i)
{
    return v < i->low ? i->low : v > i->high ? i->high : v;
}

double struct_two_uses(const double *x)
{
    const struct interval fixed = { 0, 1 };
    struct interval moving = { x[0], x[1] };
    moving.low = clip_to(moving.low, &fixed);
    return width_of(&moving) * width_of(&fixed) + clip_to(0.5, &moving);
}
