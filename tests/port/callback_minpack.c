// tags: part
// SPDX-License-Identifier: MIT-0
// port: residuals by a callback with counts and a flag, as cminpack has them
// function: callback_minpack
// with: x:n
// of: fvec:m
// in: 3
// out: 5
// at: 1 0.5 0.25
// call: struct measured_data d = { { 0.14, 0.18, 0.22, 0.25, 0.29 } };
// call: int status = callback_minpack@(&d, 5, 3, x, y, 1);
// call: if (status != 0) y[0] = x[2];

struct measured_data { const double y[15]; };

int callback_minpack(void *p, int m, int n, const double *x, double *fvec,
                     int iflag)
{
    const double *y = ((struct measured_data *)p)->y;
    (void)n;
    if (iflag == 0)
        return 0;
    for (int i = 0; i < m; ++i) {
        double tmp1 = i + 1;
        double tmp2 = 15 - i;
        double tmp3 = (i > 7) ? tmp2 : tmp1;
        fvec[i] = y[i] - (x[0] + tmp1 / (x[1] * tmp2 + x[2] * tmp3));
    }
    return 0;
}
