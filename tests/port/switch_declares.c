// tags: part
// SPDX-License-Identifier: MIT-0
// port: declarations in a switch, ranges of cases, jumps out of loops
// function: switch_declares
// with: x:4
// in: 4
// out: 3
// at: 1 2 3 4
// may: refuse
// call: for (int i = 0; i < 3; i++) y[i] = switch_declares@(x, 4, 3 * i);

double switch_declares(const double *x, int n, int kind)
{
    double s = 0;
    for (int i = 0; i < n; i++) {
        switch (kind + i) {
            double t;
        case 0:
        case 1:
            t = x[i] * x[i];
            s += t;
            continue;
        case 2 ... 4:
            t = s;
            s += t * x[i];
            break;
        default:
            t = 1;
            s -= x[i] * t;
            if (i == 2)
                goto out;
        }
        s *= 2;
    }
out:
    return s;
}
