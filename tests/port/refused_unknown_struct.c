// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure with numbers handed to a function that is not there
// function: refused_unknown_struct
// with: x:2

struct legacy_state { int n; double v[2]; };
void legacy_advance(struct legacy_state *s);

double refused_unknown_struct(const double *x)
{
    struct legacy_state s = { 2, { x[0], x[1] } };
    legacy_advance(&s); // refused: legacy_advance
    return s.v[0] + s.v[1];
}
