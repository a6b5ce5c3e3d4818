// tags: part
// SPDX-License-Identifier: MIT-0
// port: dangling else, empty statements, blocks without need
// function: braces
// with: x
// in: 1
// out: 1
// at: 1.5
// at: -1.5
// call: y[0] = braces@(x[0], 3);

double braces(double x, int n)
{
    double r = 0;;
    if (n)
    { if (n > 2) { if (x > 0) r = x * x; else { r = -x; } }
        else r = 1; }
    for (int i = 0; i < n; i++) { { r += x; } }
    while (n --> 0) r *= 0.5;
    if (x > 100) ; else r++;
    { ; }
    return (((r)));
}
