// tags: part
// SPDX-License-Identifier: MIT-0
// port: static variables that are written before they are read
// function: old_temporaries
// with: x:n
// of: f:n
// in: 3
// out: 3
// at: 1 2 3
// call: old_temporaries@(3, x, y, 1);
#include <math.h>
#define port_real port_real_type
#define port_real_type double

static port_real old_sign(port_real a, port_real b)
{
    port_real x;
    x = (a >= 0 ? a : -a);
    return( b >= 0 ? x : -x);
}

void old_temporaries(int n, const port_real *x, port_real *f, int kind)
{
    static int i;
    static port_real temp, temp1;
    port_real d__1, d__2;

    /* Parameter adjustments */
    --f;
    --x;

    switch (kind) {
    case 1: goto first_part;
    case 2: goto second_part;
    }
first_part:
    temp = 0.;
    for (i = 1; i <= n; ++i) {
        temp1 = x[i] - 1.;
        temp += temp1 * temp1;
        f[i] = old_sign(temp, x[1] - 2.5) * temp1;
    }
second_part:
    d__1 = f[1];
    f[1] = (d__2 = x[2] - 1., fabs(d__2)) * (d__1 * d__1) + temp;
}
