// tags: part
// SPDX-License-Identifier: MIT-0
// port: enumerations that structures declare
// function: enum_struct enum_tagged enum_local
// with: x:3
// in: 3
// out: 3
// at: 1.53 0.41 0.77
// at: 0.31 1.27 -0.52
// call: y[0] = enum_struct@(x);
// call: y[1] = enum_tagged@(x);
// call: y[2] = enum_local@(x);

struct enum_struct_st {
    enum { ENUM_STRUCT_RED, ENUM_STRUCT_GREEN } colour;
    double w;
};
double enum_struct(const double *x)
{
    struct enum_struct_st s = { ENUM_STRUCT_GREEN, x[0] };
    return s.colour == ENUM_STRUCT_GREEN ? s.w * s.w : x[1];
}

struct enum_tagged_st {
    enum enum_tagged_mode {
        ENUM_TAGGED_RED,
        ENUM_TAGGED_GREEN = 4
    } colour,
        other;
    struct {
        enum { ENUM_TAGGED_NEG = -1, ENUM_TAGGED_POS } s;
        double v;
    } in;
    double w;
};
struct enum_tagged_tk {
    enum enum_tagged_kind { ENUM_TAGGED_P, ENUM_TAGGED_Q } k;
    double z;
};
typedef struct enum_tagged_tk enum_tagged_tt;
double enum_tagged(const double *x)
{
    struct enum_tagged_st s = {
        ENUM_TAGGED_GREEN, ENUM_TAGGED_RED, { ENUM_TAGGED_POS, x[1] }, x[0]
    };
    enum enum_tagged_mode m = s.colour;
    enum_tagged_tt t = { ENUM_TAGGED_Q, x[2] };
    enum enum_tagged_kind k = t.k;
    return m == ENUM_TAGGED_GREEN && s.in.s > ENUM_TAGGED_NEG &&
                   k == ENUM_TAGGED_Q
               ? s.w * s.w * s.in.v * t.z
               : x[1];
}

double enum_local(const double *x)
{
    struct enum_local_st {
        enum { ENUM_LOCAL_RED, ENUM_LOCAL_GREEN } c;
        double w;
    } s = { ENUM_LOCAL_GREEN, x[0] };
    return s.c == ENUM_LOCAL_GREEN ? s.w * s.w : x[1];
}
