// tags: part
// SPDX-License-Identifier: MIT-0
// port: a function that returns the address of a function
// function: returned_function
// with: x:2
// in: 2
// out: 1
// at: 1.5 0.5
// at: -1 3
// call: y[0] = returned_function@(x);

static double returned_kept;

static double returned_kept_squared(void)
{
    return returned_kept * returned_kept;
}

static double returned_kept_cubed(void)
{
    return returned_kept * returned_kept * returned_kept;
}

static double (*returned_choice(int third))(void)
{
    return third ? returned_kept_cubed : returned_kept_squared;
}

double returned_function(const double *x)
{
    returned_kept = x[0];
    return returned_choice(0)() * x[1] + returned_choice(1)();
}
