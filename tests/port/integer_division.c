// tags: part
// SPDX-License-Identifier: MIT-0
// port: quotients of integers stay quotients of integers
// function: integer_division
// with: x
// in: 1
// out: 1
// at: 1.5
// call: y[0] = integer_division@(x[0], 7, 2);

double integer_division(double x, int a, int b)
{
    return a / b * x + x * a / b + (x + a / b) / (a % b + 1)
           + (unsigned char)(200 + 100) * x - (a - 8) * x / b;
}
