// tags: part
// SPDX-License-Identifier: MIT-0
// port: macros without parentheses, of which an operator outside takes a part
// function: macro_open
// with: x
// in: 1
// out: 5
// at: 1.5
// at: -2
// call: macro_open@(x[0], 3, y);
#define OPEN_PI 3.14159
#define OPEN_DEGREE OPEN_PI/180.0
#define OPEN_LESS -1
#define OPEN_SUM(a, b) a+b
#define OPEN_PARTS (2.0)+(3.0)
#define OPEN_HALF 1.0/2.0

void macro_open(double x, int n, double *y)
{
    y[0] = x*OPEN_DEGREE;
    y[1] = x OPEN_LESS;
    y[2] = x*OPEN_SUM(n, 0.5);
    y[3] = x*OPEN_PARTS + OPEN_HALF*x;
    y[4] = x + OPEN_HALF;
}
