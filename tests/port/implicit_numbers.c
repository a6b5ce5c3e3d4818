// tags: part
// SPDX-License-Identifier: MIT-0
// port: integers that become numbers: arguments, returns, initialisers
// function: implicit_numbers
// with: x
// in: 1
// out: 1
// at: 4.75
// call: y[0] = implicit_numbers@(x[0], 3);

static double from_three(double a, double b, double c) { return a * b - c; }
static double plain_or(double x, int n) { if (n) return n; return x; }
static double zero_for(double x) { if (x > 1e9) return 1; return 0; }

double implicit_numbers(double x, int n)
{
    double a = n, b[2] = { 1, n }, c = 'a';
    double r = from_three(x, n, 'b') + from_three(2, 3, x);
    a *= x;
    b[1] = n / 2;
    c = n;
    r += plain_or(x, n) * x + plain_or(x, 0) + zero_for(x);
    r = r + b[0] * a + b[1] * r + c;
    return r;
}
