// tags: part
// SPDX-License-Identifier: MIT-0
// port: a solver with a right-hand side, whose data are plain numbers
// function: callback_passive_data
// with: x:2
// in: 2
// out: 1
// at: 1 0.5
// call: y[0] = callback_passive_data@(x, 8);

typedef double slope_of(double t, double y, void *data);

static double euler_solve(slope_of *f, double y, int n, void *data)
{
    for (int i = 0; i < n; i++)
        y += f(0.1 * i, y, data) * 0.1;
    return y;
}

struct slope_data { double rate; int kind; };

static double slope_decay(double t, double y, void *data)
{
    struct slope_data *d = data;
    return d->kind ? -d->rate * y * t : d->rate * y;
}

double callback_passive_data(const double *x, int n)
{
    struct slope_data d = { 0.75, 1 };
    return euler_solve(slope_decay, x[0] * x[1], n, &d);
}
