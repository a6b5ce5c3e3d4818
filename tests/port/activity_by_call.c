// tags: part
// SPDX-License-Identifier: MIT-0
// port: activity that comes and goes through calls and addresses
// function: activity_by_call
// with: x:2
// in: 2
// out: 1
// at: 0.7 3
// call: y[0] = activity_by_call@(x);

static void put_through(const double *from, double *to) { *to = *from * 2; }
static double first_of(const double *v) { return v[0]; }
static double plain_of(double v) { return v * v; }

// Its local variables are looked at anew for each call, too.
static double last_of(const double *v, int n)
{
    double last = v[n - 1];
    return last;
}
static double twice_last(const double *v, int n) { return 2 * last_of(v, n); }

double activity_by_call(const double *x)
{
    double plain = 1.5, a, b, c, v[3];
    put_through(x, &a);
    put_through(&plain, &b);
    put_through(&a, v);
    v[1] = plain_of(plain) + plain_of(b);
    c = plain_of(v[0]);
    v[2] = first_of(v) * first_of(&v[1]);
    c += twice_last(x, 2);
    b += twice_last(&plain, 1);
    return c + v[2] * b + x[1] * v[1];
}
