// tags: part
// SPDX-License-Identifier: MIT-0
// port: a variable that becomes active only in the second turn of a loop
// function: activity_late
// with: x
// in: 1
// out: 1
// at: 0.7
// call: y[0] = activity_late@(x[0]);

double activity_late(double x)
{
    double a = 1, b = 2, c = 3, d = 4;
    for (int i = 0; i < 5; i++) {
        d += c;
        c = b * 0.5;
        b = a + i;
        a = i == 1 ? x * x : a;
    }
    return d;
}
