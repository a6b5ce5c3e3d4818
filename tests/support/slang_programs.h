// SPDX-License-Identifier: MIT-0
/* slang_programs.h - S1 to S24 of docs/behaviour/control-flow.md, written once
 * for any number.
 *
 * The file that includes this defines
 *
 *     NUM         the type of a number: ad_rev or ad_fwd
 *     REC(e)      an expression as a NUM: ad_rec or ad_dual
 *     NAME(f)     the function's name for this type
 *
 * which are undefined again at the end. Every program maps numbers x, and
 * integers k beside them, to numbers y.                                     */

static void NAME(s1)(const NUM *x, const int *k, NUM *y)
{
    NUM t = REC(ad_add(x[0], x[1]));
    (void)k;
    y[0] = REC(ad_add(t, t));
}

static void NAME(s2)(const NUM *x, const int *k, NUM *y)
{
    (void)k;
    y[0] = REC(ad_mul(x[0], x[1]));
}

static void NAME(s3)(const NUM *x, const int *k, NUM *y)
{
    NUM db = REC(ad_add(x[0], x[0]));
    (void)k;
    y[0] = REC(ad_add(db, x[0]));
}

static void NAME(s4)(const NUM *x, const int *k, NUM *y)
{
    struct {
        NUM x;
        NUM y;
        NUM z;
    } v = { x[0], x[1], x[2] };
    (void)k;
    y[0] = REC(ad_add(ad_add(v.x, v.y), v.z));
}

// k[0]: how many elements
static void NAME(s5)(const NUM *x, const int *k, NUM *y)
{
    for (int i = 0; i < k[0]; i++)
        y[i] = REC(ad_add(ad_mul(x[i], x[i]), x[i]));
}

static void NAME(s5b)(const NUM *x, const int *k, NUM *y)
{
    (void)k;
    y[0] = x[0];
    for (int i = 1; i <= 3; i++)
        y[i] = REC(ad_mul(y[i - 1], x[i]));
}

static void NAME(s6)(const NUM *x, const int *k, NUM *y)
{
    NUM s = x[0];
    (void)k;
    for (int i = 0; i < 20; i++) {
        if (i > 5)
            continue;
        if (i > 9)
            break;
        s = REC(ad_add(s, i));
    }
    y[0] = s;
}

static void NAME(s6b)(const NUM *x, const int *k, NUM *y)
{
    NUM s = x[0];
    (void)k;
    for (int i = 0; i < 20; i++) {
        if (i % 3 == 1)
            continue;
        s = REC(ad_mul(s, x[1]));
        if (ad_gt(s, 100))
            break;
        ad_acc(&s, i);
    }
    y[0] = s;
}

static void NAME(s6c)(const NUM *x, const int *k, NUM *y)
{
    NUM s = x[0];
    (void)k;
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 5; j++) {
            ad_acc(&s, ad_mul(ad_mul(x[1], x[1]), j));
            if (ad_gt(s, 30))
                goto out;
            if (j > i)
                break;
        }
        s = REC(ad_mul(s, 2));
    }
out:
    y[0] = s;
}

static void NAME(s7)(const NUM *x, const int *k, NUM *y)
{
    NUM p = REC(0);
    NUM t;
    (void)k;
    if (ad_lt(x[0], 0.5)) {
        t = REC(ad_mul(x[0], x[0]));
        p = REC(ad_add(ad_mul(t, t), x[0]));
    }
    if (ad_gt(x[0], 10)) {
        t = REC(ad_mul(ad_mul(x[0], x[0]), x[0]));
        p = REC(ad_add(ad_mul(t, t), x[0]));
    }
    y[0] = p;
}

static void NAME(s8)(const NUM *x, const int *k, NUM *y)
{
    NUM p = x[1];
    (void)k;
    for (int i = 0; i < 10; i++)
        p = REC(ad_mul(x[0], p));
    y[0] = p;
}

static void NAME(s9)(const NUM *x, const int *k, NUM *y)
{
    NUM p = x[0];
    (void)k;
    if (ad_lt(x[0], 0.5))
        p = REC(ad_mul(p, ad_mul(2, x[0])));
    for (int i = 0; i < 10; i++)
        if (ad_gt(x[0], 0.5))
            p = REC(ad_add(p, ad_mul(x[0], 2 * i)));
    y[0] = p;
}

static NUM NAME(s10_f)(NUM x) { return REC(ad_sqr(x)); }
static NUM NAME(s10_g)(NUM y) { return REC(ad_add(ad_mul(y, y), y)); }
static NUM NAME(s10_h)(NUM z) { return REC(ad_powi(z, 3)); }

static void NAME(s10)(const NUM *x, const int *k, NUM *y)
{
    (void)k;
    y[0] = NAME(s10_h)(NAME(s10_g)(NAME(s10_f)(x[0])));
}

static void NAME(s11)(const NUM *x, const int *k, NUM *y)
{
    (void)k;
    y[0] = REC(ad_mul(x[0], ad_mul(x[1], x[1])));
    y[1] = REC(ad_mul(x[0], x[0]));
}

// k[0]: whether the derivative of g stops
static void NAME(s13)(const NUM *x, const int *k, NUM *y)
{
    NUM g = REC(ad_mul(2, x[0]));
    if (k[0])
        g = ad_detach(g);
    y[0] = REC(ad_add(g, ad_mul(x[0], x[0])));
}

static NUM NAME(s14_value)(NUM x)
{
    if (ad_lt(x, 0))
        return REC(ad_neg(ad_mul(x, x)));
    if (ad_lt(x, 1))
        return REC(ad_mul(ad_mul(x, x), x));
    for (int i = 0; i < 4; i++) {
        if (ad_gt(x, 10))
            return REC(ad_mul(2, x));
        x = REC(ad_mul(x, x));
    }
    return x;
}

static void NAME(s14)(const NUM *x, const int *k, NUM *y)
{
    (void)k;
    y[0] = NAME(s14_value)(x[0]);
}

static void NAME(s15)(const NUM *x, const int *k, NUM *y)
{
    NUM total = REC(0);
    NUM s = x[0];
    (void)k;
    for (int i = 0; i < 3; i++) {
        s = x[0];
        for (int j = 0; j <= i; j++)
            s = REC(ad_add(ad_mul(s, x[1]), j));
        ad_acc(&total, ad_mul(i + 1, s));
    }
    y[0] = total;
}

// k[0]: the case
static void NAME(s16)(const NUM *x, const int *k, NUM *y)
{
    switch (k[0]) {
    case 0:
        y[0] = REC(ad_mul(x[0], x[1]));
        break;
    case 1:
        y[0] = REC(ad_add(x[0], ad_sqr(x[1])));
        break;
    default:
        y[0] = x[0];
    }
}

static void NAME(s17)(const NUM *x, const int *k, NUM *y)
{
    NUM s = x[0];
    (void)k;
    do
        s = REC(ad_add(ad_mul(s, s), x[1]));
    while (ad_lt(s, 10));
    y[0] = s;
}

static void NAME(s18_inout)(NUM *x, NUM y) { *x = REC(ad_mul(*x, y)); }

static void NAME(s18)(const NUM *x, const int *k, NUM *y)
{
    (void)k;
    y[0] = x[0];
    NAME(s18_inout)(&y[0], x[1]);
}

static void NAME(s19)(const NUM *x, const int *k, NUM *y)
{
    struct {
        NUM a;
        int n;
        NUM b;
    } s = { x[0], k[0], x[1] };
    y[0] = REC(ad_add(ad_mul(s.a, s.n), ad_sqr(s.b)));
}

static void NAME(s22)(const NUM *x, const int *k, NUM *y)
{
    y[0] = REC(1);
    for (int i = 1; i <= k[0]; i++)
        y[0] = REC(ad_mul(y[0], ad_sin(ad_mul(i, x[0]))));
}

static NUM NAME(s23_power)(NUM x, int n)
{
    if (n == 0)
        return REC(1);
    NUM half = NAME(s23_power)(x, n / 2);
    NUM square = REC(ad_mul(half, half));
    return n % 2 ? REC(ad_mul(square, x)) : square;
}

static void NAME(s23)(const NUM *x, const int *k, NUM *y)
{
    y[0] = NAME(s23_power)(x[0], k[0]);
}

// The slope of the unused value is infinite: used by mistake, it would show.
static void NAME(s24)(const NUM *x, const int *k, NUM *y)
{
    NUM zero = REC(ad_sub(x[0], x[0]));
    NUM root = REC(ad_sqrt(zero));
    NUM z = REC(ad_exp(ad_add(x[0], root)));
    (void)k;
    (void)z;
    y[0] = REC(ad_mul(x[0], x[0]));
}

/* S12, forward of forward. ad_fwd carries plain numbers and does not nest, so
 * the inner pair is written here, with the one rule that is needed: the tangent
 * of sin x is cos x times the tangent of x. What differentiates the pair once
 * more is the library: forward, or over the tape in both directions. x: value
 * and inner tangent. y: sin and its inner tangent.                           */

static void NAME(s12)(const NUM *x, const int *k, NUM *y)
{
    (void)k;
    y[0] = REC(ad_sin(x[0]));
    y[1] = REC(ad_mul(ad_cos(x[0]), x[1]));
}

/* detach(x^2) x^2, again as a pair. The tangent of what is detached is zero, and
 * so is its tangent: first derivative x^2 (2 x), second 2 x^2.                */

static void NAME(detached)(const NUM *x, const int *k, NUM *y)
{
    NUM stopped = ad_detach(REC(ad_mul(x[0], x[0])));
    (void)k;
    y[0] = REC(ad_mul(stopped, ad_mul(x[0], x[0])));
    y[1] = REC(ad_mul(stopped, ad_mul(ad_mul(2, x[0]), x[1])));
}

#undef NUM
#undef REC
#undef NAME
