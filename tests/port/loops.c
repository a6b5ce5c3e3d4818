// tags: part
// SPDX-License-Identifier: MIT-0
// port: for, while and do, with several variables, break and continue
// function: loops
// with: x:n
// in: 5
// out: 1
// at: 1 -2 3 4 0.5
// call: y[0] = loops@(x, 5);

double loops(const double *x, int n)
{
    double s = 0, p = 1;
    int i = 0, j;
    for (i = 0, j = n - 1; i < j; i++, j--)
        s += x[i] * x[j];
    while (1) {
        if (i >= n)
            break;
        if (x[i] < 0) {
            i++;
            continue;
        }
        p *= x[i++];
    }
    do {
        s = s / 2 + p;
    } while (--j > 0 && s < 100);
    for (;;) {
        if (s > 10)
            break;
        s *= 2;
    }
    return s;
}
