// tags: part
// SPDX-License-Identifier: MIT-0
// port: jumps, labels, fallthrough
// function: odd_early_return goto_out goto_state fallthrough duff while_assign
// function: empty_loop_body enum_case_arith unsigned_wrap ternary_nested
// function: ternary_void
// with: x:3
// in: 3
// out: 11
// at: 1.53 0.41 0.77
// at: 0.31 1.27 -0.52
// call: y[0] = odd_early_return@(x);
// call: y[1] = goto_out@(x);
// call: y[2] = goto_state@(x);
// call: y[3] = fallthrough@(x);
// call: y[4] = duff@(x);
// call: y[5] = while_assign@(x);
// call: y[6] = empty_loop_body@(x);
// call: y[7] = enum_case_arith@(x);
// call: y[8] = unsigned_wrap@(x);
// call: y[9] = ternary_nested@(x);
// call: y[10] = ternary_void@(x);

double odd_early_return(const double *x)
{
    for (int i = 0; i < 3; i++)
        if (x[i] > 0.8)
            return x[i] * x[0];
    return x[0] * x[1] * x[2];
}

double goto_out(const double *x)
{
    double s = 0;
    int i = 0;
again:
    s += x[i] * x[0];
    if (++i < 3 && s < 10)
        goto again;
    if (s > 1)
        goto out;
    s *= 2;
out:
    return s;
}

double goto_state(const double *x)
{
    double y = x[0];
    int state = 0;
top:
    switch (state) {
    case 0:
        y *= x[1];
        state = 2;
        goto top;
    case 1:
        return y;
    case 2:
        y += x[2];
        state = 1;
        goto top;
    default:
        return 0;
    }
}

double fallthrough(const double *x)
{
    double s = 0;
    for (int i = 0; i < 4; i++)
        switch (i) {
        case 0:
            s += x[0];
            // fall through
        case 1:
            s *= x[1];
            break;
        case 2: {
            double t = s;
            s = t * t;
        }
            // fall through
        default:
            s -= x[2];
        }
    return s;
}

double duff(const double *x)
{
    double s = 0;
    int n = 3, i = 0;
    switch (n % 4) {
    case 0:
        do {
            s += x[i++ % 3];
            // fall through
        case 3:
            s *= x[i++ % 3];
            // fall through
        case 2:
            s += x[i++ % 3] * x[0];
            // fall through
        case 1:
            s -= x[i++ % 3];
        } while (i < 7);
    }
    return s;
}

double while_assign(const double *x)
{
    double y = x[0], d;
    int n = 0;
    while ((d = y - x[1] * 0.5) > 0.1 && n++ < 5)
        y = 0.5 * (y + x[1] * 0.5);
    return y * d;
}

double empty_loop_body(const double *x)
{
    double s = x[0];
    int n = 3;
    while (s *= x[1], --n)
        ;
    for (; n < 3; s += x[2], n++)
        ;
    return s;
}

enum { ENUM_CASE_ARITH_A = 2, ENUM_CASE_ARITH_B = ENUM_CASE_ARITH_A * 3 };
double enum_case_arith(const double *x)
{
    double r = 0;
    switch ((int)(x[0] * 4)) {
    case ENUM_CASE_ARITH_A:
        r = x[1];
        break;
    case ENUM_CASE_ARITH_B:
        r = x[2];
        break;
    case 0 ... 1:
        r = x[0] * x[1];
        break;
    default:
        r = x[0];
    }
    return r * r;
}

double unsigned_wrap(const double *x)
{
    unsigned n = 2;
    double s = 0;
    for (unsigned i = n; i-- > 0;)
        s += x[i] * (i - 1.0);
    return s;
}

double ternary_nested(const double *x)
{
    return x[0] > 0.5 ? x[1] > 0.5 ? x[0] * x[1] : x[0]
           : x[2] < 0 ? -x[2]
                      : x[2] * x[2];
}

static void ternary_void_a(double *p)
{
    *p *= 2;
}

static void b(double *p)
{
    *p += 1;
}

double ternary_void(const double *x)
{
    double y = x[0];
    y > 0.5 ? ternary_void_a(&y) : b(&y);
    return y * x[1];
}
