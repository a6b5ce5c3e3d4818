// tags: part
// SPDX-License-Identifier: MIT-0
// port: a sort by hand of numbers, with their places
// function: sort_insertion
// with: x:n
// in: 5
// out: 1
// at: 3 1 4 1.5 9
// call: y[0] = sort_insertion@(x, 5);

double sort_insertion(const double *x, int n)
{
    double v[16], s = 0;
    int place[16];
    for (int i = 0; i < n; i++) {
        int j = i;
        for (; j > 0 && v[j - 1] > x[i]; j--) {
            v[j] = v[j - 1];
            place[j] = place[j - 1];
        }
        v[j] = x[i];
        place[j] = i;
    }
    for (int i = 0; i < n; i++)
        s += v[i] * v[i] * (i + 1) + place[i] * x[i];
    return s;
}
