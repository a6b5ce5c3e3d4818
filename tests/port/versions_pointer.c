// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function by pointer that is also called by name with constants
// function: versions_pointer
// with: x
// in: 1
// out: 1
// at: 0.75
// call: y[0] = versions_pointer@(x[0], 3);

typedef double versions_law(double a, double b);

static double versions_add(double a, double b) { return a + b; }
static double versions_mul(double a, double b) { return a * b; }

static double versions_fold(versions_law *law, double start, int n)
{
    double r = start;
    for (int i = 1; i <= n; i++)
        r = law(r, versions_mul(i, 0.5));
    return r;
}

double versions_pointer(double x, int n)
{
    versions_law *choice = n > 2 ? versions_mul : versions_add;
    const double plain = versions_fold(versions_add, 1, n);
    return versions_fold(choice, x, n) * plain + choice(plain, 2);
}
