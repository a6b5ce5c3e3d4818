// tags: part
// SPDX-License-Identifier: MIT-0
// port: reversal in place by two pointers that meet
// function: pointer_reverse
// with: v:n
// of: v:n
// in: 5
// out: 5
// at: 1 2 3 4 5
// call: for (int i = 0; i < 5; i++) y[i] = x[i];
// call: pointer_reverse@(y, 5);

void pointer_reverse(double *v, int n)
{
    double *a = v, *b = v + n - 1;
    while (a < b) {
        const double t = *a;
        *a++ = *b * t;
        *b-- = t;
    }
}
