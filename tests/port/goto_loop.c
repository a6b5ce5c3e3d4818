// tags: part
// SPDX-License-Identifier: MIT-0
// port: goto, forwards and backwards
// function: goto_loop
// with: x
// in: 1
// out: 1
// at: 0.8
// at: -3
// call: y[0] = goto_loop@(x[0]);

double goto_loop(double x)
{
    double r = 1;
    int n = 0;
    if (x < 0)
        goto negative;
again:
    r = r * x + n;
    if (++n < 4)
        goto again;
    goto done;
negative:
    r = -x * x;
done:
    return r;
}
