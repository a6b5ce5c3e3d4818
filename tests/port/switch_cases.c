// tags: part
// SPDX-License-Identifier: MIT-0
// port: switch with fallthrough, default in the middle, return in a case
// function: switch_cases
// with: x
// in: 1
// out: 5
// at: 0.7
// call: for (int i = 0; i < 5; i++) y[i] = switch_cases@(x[0], i);

double switch_cases(double x, int kind)
{
    double r = 1;
    switch (kind) {
    case 0:
        r = x;
        /* fall through */
    case 1:
        r *= x;
        break;
    default:
        r = 5 * x;
        break;
    case 2: {
        double t = x + 1;
        r = t * t;
        break;
    }
    case 3:
        return x * x * x;
    }
    return r + 1;
}
