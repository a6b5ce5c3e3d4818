// tags: part
// SPDX-License-Identifier: MIT-0
// port: macros that are statements, with do { } while (0), and a swap
// function: macro_statements
// with: x:3
// of: z:3
// in: 3
// out: 3
// at: 3 1 2
// at: 1 2 3
// call: macro_statements@(x, y);
#define PORT_SWAP(a, b) \
    do { double swap_t = (a); (a) = (b); (b) = swap_t; } while (0)
#define PORT_ADD_TO(r, e) (r) += (e); (r) *= 0.5
#define PORT_EACH(i, n) for (int i = 0; i < (n); i++)

void macro_statements(const double *x, double *z)
{
    PORT_EACH(i, 3)
        z[i] = x[i];
    if (z[0] > z[1])
        PORT_SWAP(z[0], z[1]);
    if (z[1] > z[2])
        PORT_SWAP(z[1], z[2]);
    PORT_EACH(i, 3) {
        PORT_ADD_TO(z[i], x[0] * x[1]);
    }
}
