// tags: part
// SPDX-License-Identifier: MIT-0
// port: one function keeps a number in static data, another returns it
// function: output_by_state_set output_by_state_get
// with: x
// in: 1
// out: 1
// at: 1.5
// may: refuse
// call: output_by_state_set@(x[0]); y[0] = NUM(output_by_state_get@());

static double state_kept;

void output_by_state_set(double x)
{
    state_kept = x * x;
}

double output_by_state_get(void)
{
    return state_kept * 3;
}
