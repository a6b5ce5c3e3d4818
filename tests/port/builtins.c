// tags: part
// SPDX-License-Identifier: MIT-0
// port: attributes, __builtin functions and __restrict__ of GNU C
// function: builtins
// with: x:2
// in: 2
// out: 1
// at: 1.5 2
// may: refuse
// tolerance: 1e-8
// bytes: 8
// call: y[0] = builtins@(x);

__attribute__((noinline, const)) static double apart_from(double v)
{
    return __builtin_sqrt(v) + __builtin_fabs(-v);
}

double builtins(const double *__restrict__ x)
{
    __attribute__((aligned(32))) double v[2] = { x[0], x[1] };
    if (__builtin_expect(x[0] > 0, 1))
        v[0] *= x[1];
    return apart_from(v[0]) * v[1] + __builtin_pow(x[0], 2.0);
}
