// tags: part
// SPDX-License-Identifier: MIT-0
// port: a structure through a pointer as output, and assignment of structures
// function: struct_out
// with: x:3
// of: r
// in: 3
// out: 3
// at: 1 2 3
// call: struct moments@ r;
// call: struct_out@(x, 3, &r);
// call: y[0] = NUM(r.mean); y[1] = NUM(r.variance); y[2] = NUM(r.largest);

struct moments { int n; double mean, variance, largest; };

void struct_out(const double *x, int n, struct moments *r)
{
    struct moments m = { .n = n, .largest = x[0] };
    for (int i = 0; i < n; i++) {
        m.mean += x[i] / n;
        if (x[i] > m.largest)
            m.largest = x[i];
    }
    for (int i = 0; i < n; i++)
        m.variance += (x[i] - m.mean) * (x[i] - m.mean);
    m.variance /= m.n - 1;
    *r = m;
}
