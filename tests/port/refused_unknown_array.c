// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers handed by address to a function whose source is not there
// function: refused_unknown_array
// with: x:n

void legacy_transform(int n, double *v);

double refused_unknown_array(const double *x, int n)
{
    double v[8] = { 0 };
    for (int i = 0; i < n; i++)
        v[i] = x[i];
    legacy_transform(n, v); // refused: legacy_transform
    return v[0];
}
