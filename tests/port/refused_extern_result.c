// tags: part
// SPDX-License-Identifier: MIT-0
// port: numbers that go into global data and come back as a result
// function: refused_extern_result
// with: x:2

struct refused_state { double size; int steps; };
extern struct refused_state refused_state;
double refused_from_state(void);

double refused_extern_result(const double *x)
{
    refused_state.size = x[0]; // refused: refused_from_state.*refused_state
    return refused_from_state() * x[1];
}
