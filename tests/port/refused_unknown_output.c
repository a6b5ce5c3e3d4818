// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function that is not there fills in what numbers are made of
// function: refused_unknown_output
// with: x:2

double *legacy_workspace(const double *x);

double refused_unknown_output(const double *x)
{
    const double *w = legacy_workspace(x); // refused: legacy_workspace
    return w[0] * x[0];
}
