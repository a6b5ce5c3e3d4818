// tags: part
// SPDX-License-Identifier: MIT-0
// port: what stands behind && || and ?: happens only where it is reached
// function: short_circuit
// with: x:3
// in: 3
// out: 1
// at: 1 2 3
// at: -1.25 2 3
// call: y[0] = short_circuit@(x);

static int add_to(double *s, double v) { *s += v; return *s > 2; }

double short_circuit(const double *x)
{
    double s = x[0];
    int n = x[0] > 0 && (s *= x[1], 1);
    n += add_to(&s, x[2]) || add_to(&s, x[1] * x[1]);
    n += x[0] > 0 ? add_to(&s, 1) : (s = s * s) > 4;
    s *= n;
    return n && x[2] > 0 ? s += x[1] : 0;
}
