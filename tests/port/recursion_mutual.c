// tags: part
// SPDX-License-Identifier: MIT-0
// port: two functions that call each other
// function: recursion_mutual
// with: x
// in: 1
// out: 1
// at: 0.4
// call: y[0] = recursion_mutual@(x[0], 7);

static double odd_step(double x, int n);

static double even_step(double x, int n)
{
    return n == 0 ? x : odd_step(x * x + 0.5, n - 1);
}

static double odd_step(double x, int n)
{
    return n == 0 ? 1 / x : even_step(x / 2, n - 1);
}

double recursion_mutual(double x, int n)
{
    return even_step(x, n) + odd_step(x, n - 1);
}
