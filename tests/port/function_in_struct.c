// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure of functions and a parameter
// function: function_in_struct
// with: x:2
// in: 2
// out: 1
// at: 0.3 2
// may: refuse
// call: y[0] = function_in_struct@(x);

struct system_of {
    double (*energy)(const struct system_of *s, double q);
    double stiffness;
};

static double quartic_energy(const struct system_of *s, double q)
{
    return s->stiffness * q * q * q * q;
}

double function_in_struct(const double *x)
{
    struct system_of s = { quartic_energy, x[1] };
    return s.energy(&s, x[0]) + s.stiffness;
}
