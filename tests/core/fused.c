// SPDX-License-Identifier: MIT-0
// tags: slow fuse
// needs: long-double
/* fused.c - how many statements and operands an expression becomes.
 *
 * Up to ADREV_FUSE operands are one statement; longer expressions are split
 * into the fewest statements that hold them, or nearly so. However it is cut,
 * value and gradient are the same: all numbers here are exact.
 *
 * To be built with ADREV_FUSE 1, 2, 3, 5 and the default.                    */

#include "implementation.h"
#include "adrev.h"

#include "check.h"
#include "oracle.h"

#include <stdlib.h>

enum { LONGEST = 20, FUSE = ADREV_FUSE };

static ad_tape *tape;
static ad_rev x[LONGEST];
static ad_real c[LONGEST];

/* --- the shapes --------------------------------------------------------------
 * LEFT, RIGHT: sums of c[i] x[i], nested to one side; PRODUCT: x[0] x[1] ...;
 * TREE: the sum in halves; MIXED: sums of no order.                          */

#define TERM(i) ad_mul(c[i], x[i])

#define LEFT1 TERM(0)
#define LEFT2 ad_add(LEFT1, TERM(1))
#define LEFT3 ad_add(LEFT2, TERM(2))
#define LEFT4 ad_add(LEFT3, TERM(3))
#define LEFT5 ad_add(LEFT4, TERM(4))
#define LEFT6 ad_add(LEFT5, TERM(5))
#define LEFT7 ad_add(LEFT6, TERM(6))
#define LEFT8 ad_add(LEFT7, TERM(7))
#define LEFT9 ad_add(LEFT8, TERM(8))
#define LEFT10 ad_add(LEFT9, TERM(9))
#define LEFT11 ad_add(LEFT10, TERM(10))
#define LEFT12 ad_add(LEFT11, TERM(11))
#define LEFT13 ad_add(LEFT12, TERM(12))
#define LEFT14 ad_add(LEFT13, TERM(13))
#define LEFT15 ad_add(LEFT14, TERM(14))
#define LEFT16 ad_add(LEFT15, TERM(15))
#define LEFT17 ad_add(LEFT16, TERM(16))
#define LEFT18 ad_add(LEFT17, TERM(17))
#define LEFT19 ad_add(LEFT18, TERM(18))
#define LEFT20 ad_add(LEFT19, TERM(19))

#define RIGHT3 ad_add(TERM(2), ad_add(TERM(1), TERM(0)))
#define RIGHT9                                                              \
    ad_add(TERM(8), ad_add(TERM(7), ad_add(TERM(6), ad_add(TERM(5),         \
        ad_add(TERM(4), ad_add(TERM(3), RIGHT3))))))

#define PRODUCT1 ad_mul(1, x[0])
#define PRODUCT2 ad_mul(x[1], PRODUCT1)
#define PRODUCT3 ad_mul(x[2], PRODUCT2)
#define PRODUCT4 ad_mul(PRODUCT3, x[3])
#define PRODUCT5 ad_mul(x[4], PRODUCT4)
#define PRODUCT6 ad_mul(x[5], PRODUCT5)
#define PRODUCT7 ad_mul(PRODUCT6, x[6])
#define PRODUCT8 ad_mul(x[7], PRODUCT7)
#define PRODUCT9 ad_mul(PRODUCT8, x[8])
#define PRODUCT10 ad_mul(x[9], PRODUCT9)
#define PRODUCT11 ad_mul(x[10], PRODUCT10)
#define PRODUCT12 ad_mul(PRODUCT11, x[11])
#define PRODUCT13 ad_mul(x[12], PRODUCT12)
#define PRODUCT14 ad_mul(PRODUCT13, x[13])
#define PRODUCT15 ad_mul(x[14], PRODUCT14)
#define PRODUCT16 ad_mul(x[15], PRODUCT15)
#define PRODUCT17 ad_mul(x[16], PRODUCT16)
#define PRODUCT18 ad_mul(x[17], PRODUCT17)
#define PRODUCT19 ad_mul(x[18], PRODUCT18)
#define PRODUCT20 ad_mul(x[19], PRODUCT19)

#define TREE_2(i) ad_add(TERM(i), TERM(i + 1))
#define TREE_3(i) ad_add(TREE_2(i), TERM(i + 2))
#define TREE_4(i) ad_add(TREE_2(i), TREE_2(i + 2))
#define TREE_5(i) ad_add(TREE_2(i), ad_add(TERM(i + 2), TREE_2(i + 3)))
#define TREE4  TREE_4(0)
#define TREE12 ad_add(ad_add(TREE_4(0), TREE_4(4)), TREE_4(8))
#define TREE16 ad_add(ad_add(TREE_4(0), TREE_4(4)),                         \
                      ad_add(TREE_4(8), TREE_4(12)))

#define MIXED5  TREE_5(0)
#define MIXED6  ad_add(TERM(0), TREE_5(1))
#define MIXED7  ad_add(TREE_5(2), ad_add(TERM(1), TERM(0)))
#define MIXED8  ad_add(TREE_3(0), ad_add(TREE_4(4), TERM(3)))
#define MIXED10 ad_add(ad_add(TREE_2(0), TREE_5(2)), TREE_3(7))
#define MIXED11 ad_add(TREE_5(6), ad_add(TREE_3(0), TREE_3(3)))
#define MIXED13 ad_add(ad_add(TERM(12), TREE_4(0)), ad_add(TREE_5(4), TREE_3(9)))
#define MIXED14 ad_add(TREE_2(12), ad_add(LEFT9, TREE_3(9)))
#define MIXED15 ad_add(ad_add(TREE_5(10), TERM(0)), ad_add(TREE_5(1), TREE_4(6)))
#define MIXED17 ad_add(ad_add(RIGHT9, TREE_4(9)), ad_add(TREE_3(13), TERM(16)))
#define MIXED18 ad_add(ad_add(LEFT12, TREE_5(12)), TERM(17))
#define MIXED19 ad_add(TREE_2(17), ad_add(ad_add(TREE_3(14), LEFT9), TREE_5(9)))
#define MIXED20 ad_add(TREE_5(15), ad_add(TREE_3(12), LEFT12))

#define ALL_LENGTHS(ROW, shape)                                             \
    ROW(shape, 1) ROW(shape, 2) ROW(shape, 3) ROW(shape, 4) ROW(shape, 5)   \
    ROW(shape, 6) ROW(shape, 7) ROW(shape, 8) ROW(shape, 9) ROW(shape, 10)  \
    ROW(shape, 11) ROW(shape, 12) ROW(shape, 13) ROW(shape, 14)             \
    ROW(shape, 15) ROW(shape, 16) ROW(shape, 17) ROW(shape, 18)             \
    ROW(shape, 19) ROW(shape, 20)

#define SHAPES(ROW)                                                         \
    ALL_LENGTHS(ROW, LEFT) ALL_LENGTHS(ROW, PRODUCT)                        \
    ROW(RIGHT, 3) ROW(RIGHT, 9) ROW(TREE, 4) ROW(TREE, 12) ROW(TREE, 16)    \
    ROW(MIXED, 5) ROW(MIXED, 6) ROW(MIXED, 7) ROW(MIXED, 8) ROW(MIXED, 10)  \
    ROW(MIXED, 11) ROW(MIXED, 13) ROW(MIXED, 14) ROW(MIXED, 15)             \
    ROW(MIXED, 17) ROW(MIXED, 18) ROW(MIXED, 19) ROW(MIXED, 20)

enum shape { LEFT, RIGHT, PRODUCT, TREE, MIXED };

#define DEFINE(shape, k)                                                    \
    static ad_rev write_##shape##_##k(void) { return ad_rec(shape##k); }
SHAPES(DEFINE)
#undef DEFINE

static const struct written {
    enum shape shape;
    int k;
    ad_rev (*write)(void);
} written[] = {
#define ENTER(shape, k) { shape, k, write_##shape##_##k },
    SHAPES(ENTER)
#undef ENTER
};

/* --- counting ------------------------------------------------------------- */

// k operands are the leaves of a tree whose nodes have at most FUSE branches.
static size_t fewest(int k)
{
    int more = FUSE > 1 ? FUSE - 1 : 1;         // operands per further node
    return k <= FUSE ? 1 : (size_t)((k - 2) / more + 1);
}

static void start(void)
{
    ad_tape_clear(tape);
    for (int i = 0; i < LONGEST; i++) {
        x[i] = ad_input((ad_real)(1 + i % 2));
        c[i] = (ad_real)(i - 7 - (i <= 7));     // not 0
    }
}

static void check_slopes(ad_rev y, int k, bool product)
{
    ad_real g[LONGEST] = { 0 };
    ad_real want = product ? 1 : 0;
    for (int i = 0; i < k; i++)
        want = product ? want * x[i].v : want + c[i] * x[i].v;
    CHECK_CLOSE(y.v, want, 0);
    CHECK(ad_gradient(tape, y, LONGEST, x, g) == ADREV_OK, "a gradient exists");
    for (int i = 0; i < LONGEST; i++)
        CHECK_CLOSE(g[i], i >= k ? 0 : product ? want / x[i].v : c[i], 0);
}

// Every statement but the last is an operand of another; a running sum needs
// no operand for that.
static void check_counts(int k, size_t least, size_t most)
{
    ad_stats s = ad_tape_stats(tape);
    CHECK(s.statements >= least && s.statements <= most,
          "%d operands: %zu statements, not %zu to %zu", k, s.statements,
          least, most);
    CHECK(s.operands >= (size_t)k && s.operands + 1 <= (size_t)k + s.statements,
          "%d operands: %zu operands in %zu statements", k, s.operands,
          s.statements);
    CHECK(s.values == LONGEST + s.statements, "%zu values", s.values);
}

static void run_written(const struct written *w)
{
    start();
    ad_rev y = w->write();
    check_slopes(y, w->k, w->shape == PRODUCT);
    if (FUSE == 1)
        // Every operation is a statement; a term is one, too.
        check_counts(w->k, (size_t)w->k - (w->shape == PRODUCT),
                     2 * (size_t)w->k - 1);
    else if (w->shape == TREE || w->shape == MIXED)
        // Parts are cut where they meet, which need not be the best.
        check_counts(w->k, fewest(w->k), 2 * fewest(w->k));
    else
        check_counts(w->k, fewest(w->k), fewest(w->k));
}

/* --- an expression kept ------------------------------------------------------
 * In an ad_expr, which is used twice: 2 (e + c e) for e = c x + ...: however it
 * is cut, the slopes add up.                                                 */

#define KEPT(k)                                                             \
    do {                                                                    \
        start();                                                            \
        ad_expr e = LEFT##k;                                                \
        ad_rev y = ad_rec(ad_mul(ad_add(e, ad_mul(0.5, e)), 2));            \
        ad_real g[LONGEST] = { 0 };                                         \
        CHECK(ad_gradient(tape, y, LONGEST, x, g) == ADREV_OK, "kept");     \
        for (int i = 0; i < LONGEST; i++)                                   \
            CHECK_CLOSE(g[i], i < k ? 3 * c[i] : 0, 0);                     \
    } while (0)

static void run_kept(void)
{
    KEPT(1);
    KEPT(2);
    KEPT(3);
    KEPT(6);
    KEPT(7);
    KEPT(12);
    KEPT(13);

    // A number, too, may be kept as one.
    start();
    ad_expr e = x[0];
    ad_real g[1];
    CHECK(ad_gradient(tape, ad_rec(ad_mul(e, ad_mul(e, 3))), 1, x, g) == ADREV_OK,
          "a number kept");
    CHECK_CLOSE(g[0], 6 * ad_value(x[0]), 0);
}

/* --- the same variable several times ------------------------------------------
 * In any number, on any side, as the sum it belongs to, and with more of them
 * than fit: however many operands they become, their slopes must add up.     */

static ad_rev power5(ad_rev a)
{
    return ad_rec(ad_mul(a, ad_mul(a, ad_mul(a, ad_mul(a, a)))));
}

static ad_rev horner(ad_rev a)
{
    return ad_rec(ad_add(ad_mul(ad_add(ad_mul(ad_add(ad_mul(ad_sub(
        ad_mul(ad_add(a, 3), a), a), a), a), a), ad_mul(2, a)), a), a));
}

static ad_rev pairs(ad_rev a, ad_rev b)
{
    return ad_rec(ad_sub(
        ad_mul(ad_add(ad_mul(a, b), ad_mul(b, b)), ad_sub(ad_mul(b, a), a)),
        ad_mul(ad_add(a, ad_mul(a, a)), ad_add(b, ad_sub(b, ad_mul(a, b))))));
}

static ad_rev sum_of_itself(ad_rev a, ad_rev b)
{
    ad_rev s = ad_rec(ad_mul(a, b));
    s = ad_rec(ad_add(s, ad_mul(s, a)));
    s = ad_rec(ad_add(ad_add(s, ad_mul(b, s)), s));
    s = ad_rec(ad_sub(ad_add(s, ad_add(b, b)), s));
    return ad_rec(ad_add(ad_add(s, s), ad_mul(s, s)));
}

static void check_pair(ad_rev y, double v, double da, double db)
{
    ad_real g[2] = { 0 };
    CHECK_CLOSE(y.v, v, 0);
    CHECK(ad_gradient(tape, y, 2, x, g) == ADREV_OK, "a gradient exists");
    CHECK_CLOSE(g[0], da, 0);
    CHECK_CLOSE(g[1], db, 0);
}

static void run_repeated(void)
{
    for (int i = -3; i <= 3; i++)
        for (int j = -3; j <= 3; j++) {
            double a = i;
            double b = j;
            start();
            x[0] = ad_input((ad_real)a);
            x[1] = ad_input((ad_real)b);
            check_pair(power5(x[0]), a * a * a * a * a, 5 * a * a * a * a, 0);
            check_pair(ad_rec(ad_sub(x[0], ad_mul(x[1], x[0]))), a - a * b,
                       1 - b, -a);
            // a^5 + 2 a^4 + a^3 + 2 a^2 + a
            check_pair(horner(x[0]),
                       a + a * a * (2 + a * (1 + a * (2 + a))),
                       1 + a * (4 + a * (3 + a * (8 + a * 5))), 0);
            // (ab + bb)(ab - a) - (a + aa)(2b - ab)
            check_pair(pairs(x[0], x[1]),
                       (a * b + b * b) * (a * b - a)
                           - (a + a * a) * (2 * b - a * b),
                       b * (a * b - a) + (a * b + b * b) * (b - 1)
                           - (1 + 2 * a) * (2 * b - a * b) + (a + a * a) * b,
                       (a + 2 * b) * (a * b - a) + (a * b + b * b) * a
                           - (a + a * a) * (2 - a));
            // The sum leaves 2b, and so 4b + 4bb.
            check_pair(sum_of_itself(x[0], x[1]), 4 * b + 4 * b * b, 0,
                       4 + 8 * b);
        }
}

/* --- running sums ------------------------------------------------------------
 * n terms are n statements, and n times the operands of a term: the sum itself
 * is not stored. A constant that the sum begins with may take an operand.    */

// Without the optimiser, and with AddressSanitizer, the sum is an operand like any
// other: the compiler does not see that its partial is 1.
#if defined __OPTIMIZE__ && !defined __SANITIZE_ADDRESS__
enum { STORED = 0 };
#else
enum { STORED = 1 };
#endif

static void run_sum(int n)
{
    ad_rev s = { 0 };
    ad_real g[LONGEST] = { 0 };
    start();
    for (int i = 0; i < n; i++)
        ad_acc(&s, TERM(i % LONGEST));
    ad_stats stats = ad_tape_stats(tape);
    if (FUSE > 1) {
        CHECK(stats.statements == (size_t)n, "%zu statements for %d terms",
              stats.statements, n);
        CHECK(stats.operands <= (size_t)(n + 1 + STORED * n), "%zu operands for %d terms",
              stats.operands, n);
    }
    CHECK(ad_gradient(tape, s, LONGEST, x, g) == ADREV_OK, "a gradient exists");
    for (int i = 0; i < LONGEST; i++) {
        int times = n / LONGEST + (i < n % LONGEST);
        CHECK_CLOSE(g[i], c[i] * (ad_real)times, 0);
    }
}

static void run_sum_of_products(int n)
{
    ad_rev s = { 0 };
    start();
    for (int i = 0; i < n; i++)
        ad_acc(&s, ad_mul(x[i], ad_mul(x[i + 1], c[i])));
    ad_stats stats = ad_tape_stats(tape);
    if (FUSE > 2) {
        CHECK(stats.statements == (size_t)n, "%zu statements for %d terms",
              stats.statements, n);
        CHECK(stats.operands <= (size_t)(2 * n + 1 + STORED * n), "%zu operands for %d terms",
              stats.operands, n);
    }
    ad_real g = 0;
    CHECK(ad_gradient(tape, s, 1, &x[1], &g) == ADREV_OK, "a gradient exists");
    CHECK_CLOSE(g, c[0] * x[0].v + (n > 1 ? c[1] * x[2].v : 0), 0);
}

/* --- the value just before ---------------------------------------------------
 * It is not stored either when it is the sum or a variable that is added to
 * one. s is a product, t another one, recorded after it.                     */

#define S x[4]
#define T x[5]
#define COPY x[6]       // of T; no compiler knows
#define AFTER(ROW)                                             \
    /*   sum  term                       d/ds  d/dt  stored */ \
    ROW( S,   T,                         1,    1,    1 )       \
    ROW( T,   S,                         1,    1,    1 )       \
    ROW( S,   COPY,                      1,    1,    1 )       \
    ROW( T,   T,                         0,    2,    1 )       \
    ROW( T,   COPY,                      0,    2,    1 )       \
    ROW( S,   ad_mul(2, T),              1,    2,    2 )       \
    ROW( S,   ad_neg(T),                 1,    -1,   2 )       \
    ROW( S,   ad_select(S.v < 99, T, S), 1,    1,    1 )       \
    ROW( S,   ad_select(S.v > 99, T, S), 2,    0,    2 )       \
    ROW( S,   3,                         1,    0,    1 )

enum {
#define ROW(...) + 1
    AFTERS = 0 AFTER(ROW)
#undef ROW
};

static ad_rev after(int which)
{
    ad_rev y[AFTERS] = { { 0 } };
    int k = 0;
#define ROW(sum, term, ds, dt, stored)                                      \
    y[k] = sum;                                                             \
    if (k++ == which)                                                       \
        ad_acc(&y[k - 1], term);
    AFTER(ROW)
#undef ROW
    return y[which];
}

static void run_after(int which)
{
    static const struct {
        int ds, dt;
        size_t stored;
    } want[] = {
#define ROW(sum, term, ...) { __VA_ARGS__ },
        AFTER(ROW)
#undef ROW
    };
    start();
    S = ad_rec(ad_mul(x[0], x[1]));
    T = ad_rec(ad_mul(x[2], x[3]));
    volatile int copy = 6;
    x[copy] = T;
    size_t before = ad_tape_stats(tape).operands;
    ad_rev y = after(which);
    size_t operands = ad_tape_stats(tape).operands - before;
    CHECK(FUSE < 4 || STORED != 0 || operands == want[which].stored,
          "sum %d: %zu operands, want %zu", which, operands,
          want[which].stored);
    const ad_real d[2] = { (ad_real)want[which].ds, (ad_real)want[which].dt };
    ad_real g[4] = { 0 };
    CHECK(ad_gradient(tape, y, 4, x, g) == ADREV_OK, "a gradient exists");
    for (int i = 0; i < 4; i++)
        CHECK_CLOSE(g[i], d[i / 2] * x[i ^ 1].v, 0);
    const ad_real direction[4] = { 1, 2, 3, 4 };
    ad_real slope = 0;
    CHECK(ad_pushforward(tape, 4, x, direction, 1, &y, &slope) == ADREV_OK,
          "a directional derivative exists");
    CHECK_CLOSE(slope, g[0] + 2 * g[1] + 3 * g[2] + 4 * g[3], 0);
}

/* --- a sum that is in its own term ----------------------------------------------
 * As the first operand or a later one; straight after it was recorded, and from
 * before a mark that was returned to, where each use is a call.              */

#define OWN(ROW)                                                            \
    /*   term, y the sum       its slope by the sum, by x[0]  */            \
    ROW( ad_mul(x[0], y),               x[0].v,       y.v )                 \
    ROW( ad_mul(y, x[0]),               x[0].v,       y.v )                 \
    ROW( ad_sub(x[0], y),               -1,           1 )                   \
    ROW( ad_mul(ad_detach(x[0]), y),    x[0].v,       0 )                   \
    ROW( ad_mul(x[0], ad_sub(y, 3)),    x[0].v,       y.v - 3 )             \
    ROW( ad_mul(x[0], ad_mul(y, y)),    2 * x[0].v * y.v, y.v * y.v )       \
    ROW( ad_add(y, ad_mul(x[0], y)),    1 + x[0].v,   y.v )

static void check_own(ad_rev y, ad_real by_sum, ad_real by_x)
{
    ad_real g[2] = { 0 };
    CHECK(ad_gradient(tape, y, 2, x, g) == ADREV_OK, "a gradient exists");
    CHECK_CLOSE(g[0], by_sum * x[1].v + by_x, 0);
    CHECK_CLOSE(g[1], by_sum * x[0].v, 0);
}

static void run_own(bool rewound)
{
#define ROW(term, by_sum, by_x)                                             \
    do {                                                                    \
        start();                                                            \
        x[0] = ad_input(3);                                                 \
        x[1] = ad_input(5);                                                 \
        const ad_mark mark = ad_tape_mark(tape);                            \
        if (rewound) {                                                      \
            DROP(ad_rec(ad_mul(x[0], x[1])));                               \
            CHECK(ad_tape_rewind(tape, mark) == ADREV_OK, "rewound");       \
        }                                                                   \
        ad_rev y = ad_rec(ad_mul(x[0], x[1]));                              \
        const ad_real dy = 1 + by_sum;                                      \
        const ad_real dx = by_x;                                            \
        ad_acc(&y, term);                                                   \
        check_own(y, dy, dx);                                               \
        ad_rev copy = y;                                                    \
        ad_acc(&copy, ad_sub(2, ad_neg(y)));                                \
        check_own(copy, 2 * dy, 2 * dx);                                    \
    } while (0);
    OWN(ROW)
#undef ROW
}

/* --- functions that take and return expressions ------------------------------
 * They name the number of operands; where fewer fit, they take and return
 * recorded numbers.                                                          */

#if ADREV_FUSE >= 6
#define WIDTH(n)     ad_expr_##n
#define RESULT(e)    (e)
#else
#define WIDTH(n)     ad_rev
#define RESULT(e)    ad_rec(e)
#endif

static inline WIDTH(4) ratio(ad_rev a, ad_rev b)
{
    return RESULT(ad_div(ad_mul(a, b), ad_sqr(ad_add(ad_sqr(ad_add(a, b)), 2))));
}

#define DEFINE(n, sum)                                                      \
    static inline WIDTH(sum) offset_##n(WIDTH(n) z, ad_rev a, ad_rev b)     \
    {                                                                       \
        return RESULT(ad_add(ad_mul(2, ad_sub(a, z)), b));                  \
    }
DEFINE(1, 3)
DEFINE(2, 4)
DEFINE(4, 6)
#undef DEFINE

static ad_rev composed(const ad_rev *at, void *ctx)
{
    (void)ctx;
    ad_rev p = ad_rec(ratio(at[0], at[1]));
    ad_rev q = ad_rec(ad_add(p, ad_mul(0.5, ratio(at[1], p))));
    ad_rev r = ad_rec(offset_4(RESULT(ad_mul(0.5, ratio(at[1], q))), p, q));
    return ad_rec(ad_mul(offset_1(RESULT(ad_sqr(r)), p, q),
                         offset_2(RESULT(ad_mul(p, q)), q, r)));
}

static long double composed_value(long double a, long double b)
{
#define SQUARE(x)   ((x) * (x))
#define RATIO(a, b) ((a) * (b) / SQUARE(SQUARE((a) + (b)) + 2))
    long double p = RATIO(a, b);
    long double q = p + 0.5L * RATIO(b, p);
    long double r = 2 * (p - 0.5L * RATIO(b, q)) + q;
#undef RATIO
#undef SQUARE
    return (2 * (p - r * r) + q) * (2 * (q - p * q) + r);
}

// A central difference of fourth order.
static long double composed_slope(const ad_real at[2], int i)
{
    const long double u = (long double)at[0];
    const long double v = (long double)at[1];
    long double slope = 0;
    for (int k = 1; k <= 2; k++) {
        const long double h = 1e-4L * k;
        const long double a = i == 0 ? h : 0;
        const long double b = i == 1 ? h : 0;
        const long double d = (composed_value(u + a, v + b)
                               - composed_value(u - a, v - b)) / (2 * h);
        slope += k == 1 ? 4 * d / 3 : -d / 3;
    }
    return slope;
}

static void run_composed(void)
{
    const ad_real at[2] = { 1.25, 0.75 };
    ad_real y;
    ad_real g[2];
    if (!CHECK(ad_grad(composed, NULL, 2, at, &y, g) == ADREV_OK, "grad"))
        return;
    for (int i = 0; i < 2; i++) {
        CHECK_NEAR((long double)g[i], composed_slope(at, i),
                   sizeof(ad_real) == 4 ? 1e-4L : 1e-9L);
    }
}

// Where each operator is a call, an ad_fwd beside an ad_rev compiles: it is seen
// when it runs.
#if ADREV_FUSE == 1
static void run_mixed(void)
{
    const ad_fwd u = { 2, 3 };
    const ad_fwd v = ad_dual(ad_mul(ad_sqr(u), u));
    CHECK(v.v == 8 && v.d == 36, "u^3: %g, %g", (double)v.v, (double)v.d);
    for (int dual = 0; dual <= 1; dual++) {
        ad_tape_clear(tape);
        const ad_rev w = ad_input(2);
        CHECK(ad_tape_status(tape) == ADREV_OK, "before");
        if (dual)
            (void)ad_dual(ad_mul(u, w));
        else
            (void)ad_rec(ad_mul(u, w));
        CHECK(ad_tape_status(tape) == ADREV_ESHAPE, "an ad_fwd and an ad_rev, "
              "%d: %d", dual, (int)ad_tape_status(tape));
    }
    ad_tape_clear(tape);
}
#else
static void run_mixed(void) {}
#endif

int main(void)
{
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++)
        run_written(&written[i]);
    run_kept();
    run_repeated();
    for (int n = 1; n <= 1000; n = n * 3 / 2 + 1)
        run_sum(n);
    for (int n = 1; n < LONGEST; n++)
        run_sum_of_products(n);
    for (int which = 0; which < AFTERS; which++)
        run_after(which);
    run_own(false);
    run_own(true);
    run_composed();
    run_mixed();
    ad_tape_free(tape);
    return check_done("fused");
}
