// tags: part
// SPDX-License-Identifier: MIT-0
// port: a solver that is handed its right-hand side and its data
// function: callback_runge_kutta
// with: x:3
// in: 3
// out: 1
// at: 1 0.5 0.8
// may: refuse
// call: y[0] = callback_runge_kutta@(x);

typedef void ode_side(double t, const double *y, double *f, void *data);

static void rk4_step(ode_side *side, double t, double h, double *y, int n,
                     void *data)
{
    double k1[4], k2[4], k3[4], k4[4], z[4];
    side(t, y, k1, data);
    for (int i = 0; i < n; i++)
        z[i] = y[i] + h / 2 * k1[i];
    side(t + h / 2, z, k2, data);
    for (int i = 0; i < n; i++)
        z[i] = y[i] + h / 2 * k2[i];
    side(t + h / 2, z, k3, data);
    for (int i = 0; i < n; i++)
        z[i] = y[i] + h * k3[i];
    side(t + h, z, k4, data);
    for (int i = 0; i < n; i++)
        y[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
}

struct pendulum_data { double damping; };

static void pendulum_side(double t, const double *y, double *f, void *data)
{
    const struct pendulum_data *p = data;
    f[0] = y[1];
    f[1] = -y[0] - p->damping * y[1] * t;
}

double callback_runge_kutta(const double *x)
{
    struct pendulum_data p = { x[2] };
    double y[2] = { x[0], x[1] };
    for (int i = 0; i < 10; i++)
        rk4_step(pendulum_side, 0.1 * i, 0.1, y, 2, &p);
    return y[0] * y[0] + y[1];
}
