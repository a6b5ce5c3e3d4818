// tags: part
// SPDX-License-Identifier: MIT-0
// port: *p++ on both sides, *--p, p[-1], p += 2, pointer differences
// function: pointer_step
// with: x:6
// of: y:6
// in: 6
// out: 6
// at: 1 2 3 4 5 6.5
// call: pointer_step@(x, y);

void pointer_step(const double *x, double *y)
{
    const double *p = x;
    double *q = y;
    *q++ = *p++ * x[1];
    *q = *p++;
    q++;
    p += 2;
    *(q++) = *--p - x[0];
    *q++ = p[-1] + p[0] * *(x + 5) * x[p - x];
    q[0] = p[2];
    q[1] = 2[x] * (double)(q - y);
}
