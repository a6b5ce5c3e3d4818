// SPDX-License-Identifier: MIT-0
/* oracle_quad.h - derivatives by central differences in 113 bits, where
 * port_runs are the originals. The error is about h^2 = 1e-24 of the third
 * derivative, and 1e-34 / h of the value. */

enum { PORT_MOST = 256 };

static void port_difference(int which, int n, int m, const port_double *at,
                            int j, port_double *column)
{
    real x[PORT_MOST], up[PORT_MOST], down[PORT_MOST];
    const real h = 1e-12Q * (fabs((real)at[j]) + 1e-3Q);
    for (int i = 0; i < n; i++)
        x[i] = at[i];
    memset(up, 0, sizeof up);
    memset(down, 0, sizeof down);
    x[j] = at[j] + h;
    port_runs[which](x, up);
    x[j] = at[j] - h;
    port_runs[which](x, down);
    for (int i = 0; i < m; i++)
        column[i] = (port_double)((up[i] - down[i]) / (2 * h));
}

// J[i*n + j] = dy[i]/dx[j]; not 0: the original computes with doubles only
static int port_oracle(int which, int n, int m, const port_double *at,
                       port_double *J)
{
    port_double column[PORT_MOST];
    if (port_runs[which] == NULL)
        return 1;
    for (int j = 0; j < n; j++) {
        port_difference(which, n, m, at, j, column);
        for (int i = 0; i < m; i++)
            J[i * n + j] = column[i];
    }
    return 0;
}

int (*const port_quad)(int, int, int, const port_double *, port_double *)
    = port_oracle;
