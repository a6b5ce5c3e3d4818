// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function whose source is not there
// function: refused_unknown
// with: x:2

double legacy_spline(double t);

double refused_unknown(const double *x)
{
    double a = x[0] * x[1];
    return a + legacy_spline(a); // refused: legacy_spline
}
