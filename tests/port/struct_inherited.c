// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure that begins with another, and a cast between them
// function: struct_inherited
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// call: y[0] = struct_inherited@(x);

struct shape { int kind; double scale; };
struct disc { struct shape base; double radius; };
struct bar { struct shape base; double length, width; };

static double area_of(const struct shape *s)
{
    if (s->kind == 0) {
        const struct disc *d = (const struct disc *)s;
        return 3.14159 * s->scale * d->radius * d->radius;
    } else {
        const struct bar *b = (const struct bar *)s;
        return s->scale * b->length * b->width;
    }
}

double struct_inherited(const double *x)
{
    struct disc d = { { 0, 1 }, x[0] };
    struct bar b = { { 1, x[2] }, x[1], 2 };
    const struct shape *all[2] = { &d.base, (const struct shape *)&b };
    return area_of(all[0]) * area_of(all[1]);
}
