// tags: part
// SPDX-License-Identifier: MIT-0
// port: const, restrict, volatile, register, static and inline
// function: qualifiers
// with: x:n
// of: z:n
// in: 3
// out: 3
// at: 1 2 3
// call: qualifiers@(x, y, 3);

static inline double squared_of(register const double v) { return v * v; }

static void scaled_to(int n, const double *restrict x, double *restrict z,
                      const double *const factor)
{
    for (register int i = 0; i < n; i++)
        z[i] = *factor * x[i];
}

void qualifiers(const double x[restrict static 3], double *restrict z, int n)
{
    const double factor = squared_of(x[0]);
    volatile double kept = x[1];
    scaled_to(n, x, z, &factor);
    z[0] += kept * kept;
}
