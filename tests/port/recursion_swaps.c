// tags: part
// SPDX-License-Identifier: MIT-0
// port: a recursion whose arguments change places, so that both become active
// function: recursion_swaps
// with: x
// in: 1
// out: 1
// at: 0.75
// call: y[0] = recursion_swaps@(x[0]);

static double swapping(double a, double b, int n)
{
    double keep = 1;
    if (n == 0)
        return a + 2 * b * keep;
    keep = a;
    return swapping(b, a * 0.5, n - 1) + keep;
}

double recursion_swaps(double x)
{
    return swapping(3, x, 4) * swapping(2, 5, 3) + swapping(x, 1, 1);
}
