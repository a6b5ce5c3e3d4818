// tags: part
// SPDX-License-Identifier: MIT-0
// port: structures by value and returned by value
// function: struct_value
// with: a
// with: b
// in: 6
// out: 1
// at: 1 2 3 -1 0.5 2
// call: vec3@ a = { x[0], x[1], x[2] }, b = { x[3], x[4], x[5] };
// call: y[0] = struct_value@(a, b);

typedef struct {
    double x, y, z;
} vec3;

static vec3 vec3_cross(vec3 a, vec3 b)
{
    vec3 r;
    r.x = a.y * b.z - a.z * b.y;
    r.y = a.z * b.x - a.x * b.z;
    r.z = a.x * b.y - a.y * b.x;
    return r;
}

static vec3 vec3_scale(vec3 a, double s)
{
    return (vec3){ a.x * s, a.y * s, a.z * s };
}

static inline double vec3_dot(const vec3 a, const vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

double struct_value(vec3 a, vec3 b)
{
    vec3 c = vec3_cross(a, vec3_scale(b, 2)), d = c;
    d.x += vec3_cross(b, a).z;
    return vec3_dot(c, d) + vec3_cross(a, b).x;
}
