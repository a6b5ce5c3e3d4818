// tags: part
// SPDX-License-Identifier: MIT-0
// port: structures in structures, arrays of structures in a structure
// function: struct_nested
// with: b
// in: 6
// out: 1
// at: 0 0 3 1 1 4
// call: nested_body@ b; b.n = 2;
// call: for (int i = 0; i < 2; i++) {
// call:     PUT(b.part[i].at.x, x[3*i]); PUT(b.part[i].at.y, x[3*i + 1]);
// call:     PUT(b.part[i].mass, x[3*i + 2]); b.part[i].tag = 'a';
// call: }
// call: y[0] = struct_nested@(&b);

typedef struct { double x, y; } nested_point;

typedef struct nested_body {
    struct nested_part {
        nested_point at;
        double mass;
        char tag;
    } part[2];
    int n;
} nested_body;

double struct_nested(const nested_body *b)
{
    double mass = 0;
    nested_point c = { 0, 0 };
    double spread = 0;
    for (int i = 0; i < b->n; i++) {
        const struct nested_part *p = &b->part[i];
        mass += p->mass;
        c.x += p->mass * p->at.x;
        c.y += p->mass * p->at.y;
    }
    c.x /= mass;
    c.y /= mass;
    for (const struct nested_part *p = b->part; p < b->part + b->n; p++) {
        const nested_point d = { p->at.x - c.x, p->at.y - c.y };
        if (p->tag == 'a')
            spread += p->mass * (d.x * d.x + d.y * d.y);
    }
    return spread;
}
