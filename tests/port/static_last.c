// tags: part
// SPDX-License-Identifier: MIT-0
// port: a result that is kept for the next call with the same numbers
// function: static_last
// with: x:2
// in: 2
// out: 1
// at: 1.5 2
// at: 1.5 2
// may: refuse
// call: y[0] = static_last@(x);

double static_last(const double *x)
{
    static double last[2], result;
    static int known;
    if (!known || last[0] != x[0] || last[1] != x[1]) {
        known = 1;
        last[0] = x[0];
        last[1] = x[1];
        result = x[0] * x[1] * x[1];
    }
    return result;
}
