// tags: part
// SPDX-License-Identifier: MIT-0
// port: an array of which some places hold constants for ever
// function: passive_array_slots
// with: x:2
// in: 2
// out: 1
// at: 1.5 2
// call: y[0] = passive_array_slots@(x);

double passive_array_slots(const double *x)
{
    double v[6], s = 0;
    for (int i = 0; i < 6; i++)
        v[i] = i * 0.5;
    v[3] = x[0];
    v[4] = v[3] * v[2];
    for (int i = 0; i < 6; i++)
        s = s * x[1] + v[i];
    return s;
}
