// tags: part
// SPDX-License-Identifier: MIT-0
// port: a global structure of constants
// function: struct_global_passive
// with: t
// in: 1
// out: 1
// at: 300
// call: y[0] = struct_global_passive@(x[0]);
#include <math.h>
#include <stddef.h>

static const struct gas_data {
    const char *name;
    double a[3];
    double molar;
} gas_table[] = {
    { "nitrogen", { 3.5, -1e-4, 5e-7 }, 28.0134 },
    { "oxygen", { 3.8, -3e-3, 9.8e-6 }, 31.9988 },
};

double struct_global_passive(double t)
{
    double h = 0;
    for (size_t i = 0; i < sizeof gas_table / sizeof gas_table[0]; i++) {
        const struct gas_data *g = &gas_table[i];
        h += (g->a[0] + t * (g->a[1] + t * g->a[2])) / g->molar;
    }
    return 8.314 * t * h;
}
