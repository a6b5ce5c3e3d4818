// tags: part
// SPDX-License-Identifier: MIT-0
// port: a right-hand side with parameters in user data, as ODE solvers have
// function: callback_ode
// with: y:3
// of: ydot:3
// in: 3
// out: 3
// at: 1 0.1 0.2
// call: double p[3] = { 0.04, 1e4, 3e7 };
// call: if (callback_ode@(0.5, x, y, p) != 0) return;

int callback_ode(double t, const double *y, double *ydot, void *user_data)
{
    double *p = (double *)user_data;
    double y1 = y[0], y2 = y[1], y3 = y[2];
    double yd1, yd3;
    (void)t;
    yd1 = ydot[0] = -p[0] * y1 + p[1] * y2 * y3;
    yd3 = ydot[2] = p[2] * y2 * y2;
    ydot[1] = -yd1 - yd3;
    return 0;
}
