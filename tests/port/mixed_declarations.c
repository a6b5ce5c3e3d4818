// tags: part
// SPDX-License-Identifier: MIT-0
// port: one declaration with constants, numbers, pointers and arrays
// function: mixed_declarations
// with: x:2
// in: 2
// out: 1
// at: 1 2
// passive: h
// call: y[0] = mixed_declarations@(x);

double mixed_declarations(const double *x)
{
    double h = 0.125, s = 0, *p = &s, w[2] = { 1, 2 }, v[2] = { x[1], h };
    for (double t = 0, r = x[0]; t < 1; t += h)
        s += r *= t + h;
    *p += w[1] * v[0] + v[1];
    return s * h;
}
