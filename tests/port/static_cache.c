// tags: part
// SPDX-License-Identifier: MIT-0
// port: a static table that is computed at the first call, from constants
// function: static_cache
// with: x
// in: 1
// out: 1
// at: 0.5
// at: 1.5
// passive: binomial
// call: y[0] = static_cache@(x[0], 4);

double static_cache(double x, int n)
{
    static double binomial[8][8];
    static int ready;
    double s = 0, p = 1;
    if (!ready) {
        for (int i = 0; i < 8; i++) {
            binomial[i][0] = binomial[i][i] = 1;
            for (int j = 1; j < i; j++)
                binomial[i][j] = binomial[i - 1][j - 1] + binomial[i - 1][j];
        }
        ready = 1;
    }
    for (int i = 0; i <= n; i++) {
        s += binomial[n][i] * p;
        p *= x;
    }
    return s;
}
