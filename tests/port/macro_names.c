// tags: part
// SPDX-License-Identifier: MIT-0
// port: macros that stand for names, fields and whole expressions
// function: macro_names
// with: s
// in: 2
// out: 1
// at: 1.5 2
// call: struct named_fields@ s; PUT(s.rate[0], x[0]); PUT(s.rate[1], x[1]);
// call: y[0] = macro_names@(&s);
#define PORT_FAST rate[0]
#define PORT_SLOW(s) ((s)->rate[1])
#define PORT_BOTH (s->PORT_FAST * PORT_SLOW(s))
#define PORT_DOUBLE(e) ((double)(e))

struct named_fields { double rate[2]; };

double macro_names(const struct named_fields *s)
{
    double r = PORT_BOTH + s->PORT_FAST;
    r += PORT_DOUBLE(3) / 2 * PORT_DOUBLE(PORT_SLOW(s));
    return r * PORT_BOTH;
}
