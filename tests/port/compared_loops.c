// tags: part
// SPDX-License-Identifier: MIT-0
// port: loops that ask whether two numbers are equal, and go on with new ones
// function: compared_loops
// with: x:3
// in: 3
// out: 1
// at: 0.7 1.3 2
// call: y[0] = compared_loops@(x);

double compared_loops(const double *x)
{
    double s = 0, old = -1, term = x[1], root = 1, before;
    int n = 0, same;
    while (s != old) {
        old = s;
        s += term;
        term *= n < 9 ? x[0] / ++n : 0;
    }
    n = 0;
    do {
        before = root;
        root = 0.5 * (root + x[2] / root);
        same = root == before;
    } while (!same && n++ < 8);
    for (n = 0; n < 8 && before != s; n++) {
        before = s;
        s *= 0.5 + root / 8;
    }
    return s + root;
}
