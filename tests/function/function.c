// SPDX-License-Identifier: MIT-0
// tags: recorded slow
/* function.c - recorded functions: what a program may do while it is recorded,
 * and what its recording answers at other points.
 *
 * The programs by which a differentiating compiler is judged (control_flow.c),
 * with second derivatives; guards; numbers that leave the recording; shapes. */

#include "implementation.h"
#include "adrev_function.h"

#include "check.h"
#include "recorded.h"

#include <stdint.h>
#include <stdlib.h>

#define LIST(...) { __VA_ARGS__ }

/* --- the program of the title --------------------------------------------- */

static void test_title(void)
{
    const double at[] = { 0, 0 }, x[] = { 1, 2 }, one = 1;
    double y = 0, g[2] = { 0 }, H[4] = { 0 };
    char text[100];
    ad_fn *fn = recorded("title", title, NULL, 2, at, 1);
    CHECK(ad_fn_gradient(fn, x, &y, g) == ADREV_OK, "gradient");
    CHECK(ad_fn_hessian(fn, x, &one, H) == ADREV_OK, "hessian");
    snprintf(text, sizeof text, "%.4f (%.4f, %.4f)\n%.4f %.4f %.4f %.4f", y,
             g[0], g[1], H[0], H[1], H[2], H[3]);
    CHECK(strcmp(text, "2.4717 (2.4717, -1.1312)\n"
                       "2.4717 -1.1312 -1.1312 -2.4717") == 0, "%s", text);

    long double e = expl(1);
    long double s = e * sinl(2);
    long double c = e * cosl(2);
    struct truth t = { { s }, { s, c }, { 2 * s, 2 * c, 2 * c, -2 * s } };
    check_answers("title", fn, x, &t);
    CHECK(ad_fn_about(fn).operations == 3 && ad_fn_about(fn).guards == 0,
          "three operations");
    ad_fn_free(fn);
}

/* --- S1 ... S24 of docs/behaviour/control-flow.md ------------------------- */

#define NUM       ad_rev
#define REC(e)    ad_rec(e)
#define NAME(f)   rev_##f
#include "slang_programs.h"

static void rev_s21(const ad_rev *x, const int *k, ad_rev *y)
{
    (void)k;
    y[0] = ad_rec(ad_add(ad_mul(ad_sqr(x[0]), x[1]), ad_sin(x[1])));
}

typedef void rev_program(const ad_rev *x, const int *k, ad_rev *y);

struct call {
    rev_program *f;
    int k;
};

static void run_call(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct call *c = ctx;
    c->f(x, &c->k, y);
}

/* Value and Jacobian by hand, in long double. Loops carry them along; P and Q
 * are the derivatives of s by x[0] and x[1].                                 */

#define TRUTH(name)                                                         \
    static void truth_##name(const long double *x, int k, long double *y,   \
                             long double *J)
#define SET(...)                                                            \
    memcpy(J, (const long double[]){ __VA_ARGS__ },                         \
           sizeof(const long double[]){ __VA_ARGS__ })

TRUTH(s1) { (void)k; y[0] = 2 * (x[0] + x[1]); SET(2, 2); }
TRUTH(s2) { (void)k; y[0] = x[0] * x[1]; SET(x[1], x[0]); }
TRUTH(s3) { (void)k; y[0] = 3 * x[0]; SET(3); }
TRUTH(s4) { (void)k; y[0] = x[0] + x[1] + x[2]; SET(1, 1, 1); }
TRUTH(s6) { (void)k; y[0] = x[0] + 15; SET(1); }
TRUTH(s10)
{
    long double u = x[0] * x[0];
    long double v = u * u + u;
    (void)k;
    y[0] = v * v * v;
    SET(3 * v * v * (2 * u + 1) * 2 * x[0]);
}
TRUTH(s11)
{
    (void)k;
    y[0] = x[0] * x[1] * x[1];
    y[1] = x[0] * x[0];
    SET(x[1] * x[1], 2 * x[0] * x[1], 2 * x[0], 0);
}
TRUTH(s12)
{
    (void)k;
    y[0] = sinl(x[0]);
    y[1] = cosl(x[0]) * x[1];
    SET(cosl(x[0]), 0, -sinl(x[0]) * x[1], cosl(x[0]));
}
TRUTH(s13)
{
    y[0] = 2 * x[0] + x[0] * x[0];
    SET(2 * x[0] + (k ? 0 : 2));
}
TRUTH(s18) { truth_s2(x, k, y, J); }
TRUTH(s19) { y[0] = k * x[0] + x[1] * x[1]; SET(k, 2 * x[1]); }
TRUTH(s21)
{
    (void)k;
    y[0] = x[0] * x[0] * x[1] + sinl(x[1]);
    SET(2 * x[0] * x[1], x[0] * x[0] + cosl(x[1]));
}
TRUTH(s23) { y[0] = powl(x[0], k); SET(k * powl(x[0], k - 1)); }
TRUTH(s24) { (void)k; y[0] = x[0] * x[0]; SET(2 * x[0]); }

TRUTH(s5)
{
    for (int i = 0; i < k; i++) {
        y[i] = x[i] * x[i] + x[i];
        J[i * k + i] = 2 * x[i] + 1;
    }
}

TRUTH(s5b)
{
    (void)k;
    for (int i = 0; i < 4; i++) {
        y[i] = 1;
        for (int j = 0; j <= i; j++)
            y[i] *= x[j];
        for (int j = 0; j <= i; j++)
            J[4 * i + j] = y[i] / x[j];
    }
}

// x[0] k^6 + 2 k^4 + 3 k^3 + 5 k^2 + 6 k, or one factor k less or more
TRUTH(s6b)
{
    long double s = x[0];
    long double P = 1;
    long double Q = 0;
    (void)k;
    for (int i = 0; i < 20; i++) {
        if (i % 3 == 1)
            continue;
        P *= x[1];
        Q = Q * x[1] + s;
        s *= x[1];
        if (s > 100)
            break;
        s += i;
    }
    y[0] = s;
    SET(P, Q);
}

TRUTH(s6c)
{
    long double s = x[0];
    long double P = 1;
    long double Q = 0;
    (void)k;
    for (int i = 0; i < 5; i++, s *= 2, P *= 2, Q *= 2)
        for (int j = 0; j < 5; j++) {
            s += x[1] * x[1] * j;
            Q += 2 * x[1] * j;
            if (s > 30)
                goto out;
            if (j > i)
                break;
        }
out:
    y[0] = s;
    SET(P, Q);
}

TRUTH(s7)
{
    long double u = x[0];
    int n = u < 0.5L ? 4 : u > 10 ? 6 : 0;
    (void)k;
    y[0] = n ? powl(u, n) + u : 0;
    SET(n ? n * powl(u, n - 1) + 1 : 0);
}

TRUTH(s8)
{
    (void)k;
    y[0] = x[1] * powl(x[0], 10);
    SET(10 * x[1] * powl(x[0], 9), powl(x[0], 10));
}

TRUTH(s9)
{
    long double u = x[0];
    (void)k;
    y[0] = u < 0.5L ? 2 * u * u : u > 0.5L ? 91 * u : u;
    SET(u < 0.5L ? 4 * u : u > 0.5L ? 91 : 1);
}

TRUTH(s14)
{
    long double u = x[0];
    int n = 1;
    (void)k;
    if (u < 1) {
        y[0] = u < 0 ? -u * u : u * u * u;
        SET(u < 0 ? -2 * u : 3 * u * u);
        return;
    }
    while (n < 16 && powl(u, n) <= 10)
        n *= 2;
    int twice = powl(u, n) > 10 && n < 16 ? 2 : 1;
    y[0] = twice * powl(u, n);
    SET(twice * n * powl(u, n - 1));
}

TRUTH(s15)
{
    long double q = x[1];
    (void)k;
    y[0] = x[0] * (q + 2 * q * q + 3 * q * q * q) + 3 * q + 8;
    SET(q + 2 * q * q + 3 * q * q * q, x[0] * (1 + 4 * q + 9 * q * q) + 3);
}

TRUTH(s16)
{
    y[0] = k == 0 ? x[0] * x[1] : k == 1 ? x[0] + x[1] * x[1] : x[0];
    SET(k == 0 ? x[1] : 1, k == 0 ? x[0] : k == 1 ? 2 * x[1] : 0);
}

TRUTH(s17)
{
    long double s = x[0];
    long double P = 1;
    long double Q = 0;
    (void)k;
    do {
        P *= 2 * s;
        Q = 2 * s * Q + 1;
        s = s * s + x[1];
    } while (s < 10);
    y[0] = s;
    SET(P, Q);
}

TRUTH(s22)
{
    long double sum = 0;
    y[0] = 1;
    for (int i = 1; i <= k; i++) {
        y[0] *= sinl(i * x[0]);
        sum += i / tanl(i * x[0]);
    }
    SET(y[0] * sum);
}

/* Points of a program, the one of the sheet first, with what the sheet says
 * there. All are recorded, and evaluated where the others are: where the path
 * is the same, the answer is right, and elsewhere it is ADREV_EPATH.         */

struct slang {
    const char *name;
    rev_program *f;
    void (*truth)(const long double *x, int k, long double *y, long double *J);
    size_t n;
    size_t m;
    int k;
    double y[4];
    double J[16];
    size_t numbers;
    double x[24];
};

#define PROGRAM(name, n, m, k, y, J, ...)                                   \
    { #name, rev_##name, truth_##name, n, m, k, y, J,                       \
      COUNT(((const double[]){ __VA_ARGS__ })), { __VA_ARGS__ } },

// clang-format off
static const struct slang slang[] = {
    /*      name n  m  k   value         derivatives         points: n numbers each */
    PROGRAM(s1,  2, 1, 0,  LIST(14),     LIST(2, 2),         3, 4,  -1, 0.5,  0, 0)
    PROGRAM(s2,  2, 1, 0,  LIST(12),     LIST(4, 3),         3, 4,  -1, 0.5,  0, 7)
    PROGRAM(s3,  1, 1, 0,  LIST(6),      LIST(3),            2,  -7.5,  0)
    PROGRAM(s4,  3, 1, 0,  LIST(6),      LIST(1, 1, 1),      1, 2, 3,  4, -0.5, 9)
    PROGRAM(s5,  4, 4, 4,  LIST(0, 2, 6, 12),
            LIST(1, 0, 0, 0,   0, 3, 0, 0,   0, 0, 5, 0,   0, 0, 0, 7),
            0, 1, 2, 3,   7, -2, 0.5, 1.25)
    PROGRAM(s5b, 4, 4, 0,  LIST(1, 2, 6, 24),
            LIST(1, 0, 0, 0,   2, 1, 0, 0,   6, 3, 2, 0,   24, 12, 8, 6),
            1, 2, 3, 4,   0.5, -3, 2, 1.5)
    PROGRAM(s6,  1, 1, 0,  LIST(16),     LIST(1),            1,  -20)
    PROGRAM(s6b, 2, 1, 0,  LIST(152),    LIST(64, 318),
            1, 2,   1.1, 2,   3, 2,   1, 1.5,   300, 1.25)
    PROGRAM(s6c, 2, 1, 0,  LIST(33.25),  LIST(4, 39),
            1, 1.5,   1.05, 1.5,   20, 1.5,   0.5, 0.25)
    PROGRAM(s7,  1, 1, 0,  LIST(65.0 / 256), LIST(17.0 / 16),
            0.25,  -3,  2,  5,  11,  12.5)
    PROGRAM(s8,  2, 1, 0,  LIST(1024),   LIST(5120, 1024),
            2, 1,   2, 3,   2, 0,   -1.5, 0.25,   0, 1)
    PROGRAM(s9,  1, 1, 0,  LIST(0.125),  LIST(1),            0.25,  -1,  2,  7)
    PROGRAM(s10, 1, 1, 0,  LIST(8000),   LIST(43200),        2,  -0.75,  0)
    PROGRAM(s11, 2, 2, 0,  LIST(5.76, 1), LIST(5.76, 4.8,   2, 0),
            1, 2.4,   -2, 0.5)
    PROGRAM(s12, 2, 2, 0,  LIST(1, 6.123233995736766e-17),
            LIST(6.123233995736766e-17, 0,   -1, 6.123233995736766e-17),
            1.5707963267948966, 1,   0.5, -2)
    PROGRAM(s13, 1, 1, 1,  LIST(3),      LIST(2),            1,  -4,  0.3)
    PROGRAM(s13, 1, 1, 0,  LIST(3),      LIST(4),            1,  -4,  0.3)
    PROGRAM(s14, 1, 1, 0,  LIST(32),     LIST(64),
            2,  2.5,  -2,  0.5,  1.1,  12,  3.5,  -0.25,  1.25)
    PROGRAM(s15, 2, 1, 0,  LIST(221),    LIST(102, 191),     2, 3,   -1, 0.5)
    PROGRAM(s16, 2, 1, 0,  LIST(12),     LIST(4, 3),         3, 4,   -1, 0.5)
    PROGRAM(s16, 2, 1, 1,  LIST(19),     LIST(1, 8),         3, 4,   -1, 0.5)
    PROGRAM(s16, 2, 1, 7,  LIST(3),      LIST(1, 0),         3, 4,   -1, 0.5)
    PROGRAM(s17, 2, 1, 0,  LIST(26),     LIST(80, 51),
            1, 1,   1.25, 0.875,   3, 2,   1, 0.5,   0.5, 2)
    PROGRAM(s18, 2, 1, 0,  LIST(12),     LIST(4, 3),         3, 4,   -1, 0.5)
    PROGRAM(s19, 2, 1, 3,  LIST(22),     LIST(3, 8),         2, 4,   -1, 0.5)
    PROGRAM(s21, 2, 1, 0,  LIST(2.2192176872376909), LIST(2.1, 3.0148421872844885),
            1.5, 0.7,   -1, 2)
    PROGRAM(s22, 1, 1, 5,  LIST(0.121520239910), LIST(1.269457052151),
            0.3,  0.25,  1)
    PROGRAM(s23, 1, 1, 13, LIST(8192),   LIST(53248),        2,  -0.5,  0)
    PROGRAM(s24, 1, 1, 0,  LIST(9),      LIST(6),            3,  -0.5,  0)
};
// clang-format on

enum { LEVELS = 7 };

// Derivative by x[k] of the weighted sum over rows of J[i][j]: central
// differences, extrapolated. The programs are polynomials and sines, and the
// steps too small to leave the path.
static long double second(const struct slang *s, const double *at, size_t j,
                          size_t k)
{
    long double table[LEVELS];
    long double h = 0.0078125L * (1 + fabsl((long double)at[k]));
    for (int i = 0; i < LEVELS; i++, h /= 2) {
        long double side[2];
        for (int b = 0; b < 2; b++) {
            long double x[MOST] = { 0 };
            struct truth t = { { 0 }, { 0 }, { 0 } };
            for (size_t l = 0; l < s->n; l++)
                x[l] = (long double)at[l];
            x[k] += b ? h : -h;
            s->truth(x, s->k, t.y, t.J);
            side[b] = column_times(s->m, s->n, t.J, j, weight, false);
        }
        long double factor = 4;
        table[i] = (side[1] - side[0]) / (2 * h);
        for (int l = i; l-- > 0; factor *= 4)
            table[l] = table[l + 1] + (table[l + 1] - table[l]) / (factor - 1);
    }
    return fabsl(table[0]) < 1e-18L ? 0 : table[0];    // else rounding
}

static struct truth truth_of(const struct slang *s, const double *at)
{
    struct truth t = { { 0 }, { 0 }, { 0 } };
    long double x[MOST] = { 0 };
    for (size_t l = 0; l < s->n; l++)
        x[l] = (long double)at[l];
    s->truth(x, s->k, t.y, t.J);
    for (size_t j = 0; j < s->n; j++)
        for (size_t k = 0; k < s->n; k++)
            t.H[j * s->n + k] = second(s, at, j, k);
    return t;
}

// What f decides at a point, as a hook on a tape is told: the oracle of paths.

enum { DECISIONS = 200 };

struct path {
    size_t n;
    double outcome[DECISIONS];
    double y[MOST];
};

static void decided(void *user, const ad_operation *o)
{
    struct path *p = user;
    bool left = o->code == ADREV_OP_detach && o->result.job == 0;   // ad_value
    bool step = o->code >= ADREV_OP_floor && o->code != ADREV_OP_detach;
    if ((left || step) && p->n < DECISIONS)
        p->outcome[p->n++] = o->result.v;
}

static struct path path_of(ad_vector_fn *f, void *ctx, size_t n,
                           const double *x, size_t m)
{
    struct path p = { .n = 0 };
    const ad_hooks hooks = { .trace = decided, .user = &p };
    ad_rev in[MOST];
    ad_rev out[MOST];
    ad_tape *t = ad_tape_new();
    ad_tape *before = ad_use(t);
    ad_inputs(n, x, in);
    ad_tape_hooks(t, &hooks);
    f(in, out, ctx);
    CHECK(ad_tape_status(t) == ADREV_OK, "tape: %s",
          ad_message(ad_tape_status(t)));
    for (size_t i = 0; i < m; i++)
        p.y[i] = out[i].v;
    ad_use(before);
    ad_tape_free(t);
    return p;
}

// The first decision that differs, or the number of them.
static size_t parting(const struct path *a, const struct path *b)
{
    size_t i = 0;
    while (i < a->n && i < b->n && same(a->outcome[i], b->outcome[i]))
        i++;
    return i;
}

static void slang_at(const struct slang *s, struct call *c, ad_fn *fn,
                     const struct path *was, const double *x)
{
    struct path is = path_of(run_call, c, s->n, x, s->m);
    size_t index = parting(was, &is);
    if (index < was->n) {
        check_path(s->name, fn, x, index);
        return;
    }
    struct truth t = truth_of(s, x);
    double y[MOST];
    check_answers(s->name, fn, x, &t);
    CHECK(ad_fn_eval(fn, x, y) == ADREV_OK, "%s: value", s->name);
    for (size_t i = 0; i < s->m; i++)
        CHECK(same(y[i], is.y[i]), "%s: result %zu is %.17g, on a tape %.17g",
              s->name, i, y[i], is.y[i]);
}

static void slang_pairs(const struct slang *s)
{
    struct call c = { s->f, s->k };
    for (size_t i = 0; i < s->numbers; i += s->n)
        for (int plain = 0; plain < 2; plain++) {
            struct path was = path_of(run_call, &c, s->n, &s->x[i], s->m);
            ad_fn *fn = (plain ? recorded_plain : recorded)(
                s->name, run_call, &c, s->n, &s->x[i], s->m);
            for (size_t k = 0; k < s->numbers && fn != NULL; k += s->n)
                slang_at(s, &c, fn, &was, &s->x[k]);
            ad_fn_free(fn);
        }
}

// The closed forms above against what the sheet prints, to its 12 digits.
static void slang_sheet(const struct slang *s)
{
    struct truth t = truth_of(s, s->x);
    for (size_t i = 0; i < s->m; i++)
        CHECK(fabsl(t.y[i] - (long double)s->y[i])
                  <= 1e-11L * (1 + fabsl(t.y[i])), "%s: sheet %.12g, form "
              "%.12Lg", s->name, s->y[i], t.y[i]);
    for (size_t i = 0; i < s->m * s->n; i++)
        CHECK(fabsl(t.J[i] - (long double)s->J[i])
                  <= 1e-11L * (1 + fabsl(t.J[i])), "%s: sheet %.12g, form "
              "%.12Lg", s->name, s->J[i], t.J[i]);
}

static void test_slang(void)
{
    for (size_t i = 0; i < COUNT(slang); i++) {
        slang_sheet(&slang[i]);
        slang_pairs(&slang[i]);
    }
}

// S21 as the sheet asks for it: forward over reverse along (1, -2).
static void test_s21(void)
{
    const double at[2] = { -3, 4 };
    const double x[2] = { 1.5, 0.7 };
    const double v[2] = { 1, -2 };
    const double one = 1;
    double hv[2];
    struct call c = { rev_s21, 0 };
    ad_fn *fn = recorded("s21", run_call, &c, 2, at, 1);
    CHECK(ad_fn_hvp(fn, x, &one, v, hv) == ADREV_OK, "hvp");
    CHECK_CLOSE(hv[0], -4.6L, 4);
    CHECK_CLOSE(hv[1], 3 + 2 * sinl((long double)0.7), 4);
    CHECK_NEAR(hv[1], 4.288435374475L, 1e-12L);
    ad_fn_free(fn);
}

// detach(x^2) x^2 and its pair: what is detached is computed again, but has no
// derivative, neither a first nor a second one.
static void test_detached_pair(void)
{
    const double at[2] = { -1, 2 };
    const double x[2] = { 3, 1 };
    struct call c = { rev_detached, 0 };
    // Weights 2 and -1: 2 (2 x^2), and mixed 2 x^2, with x^2 standing still.
    struct truth t = {
        { 81, 54 }, { 54, 0, 18, 54 }, { 2 * 18, -18, -18, 0 }
    };
    ad_fn *fn = recorded("detached", run_call, &c, 2, at, 2);
    CHECK(ad_fn_about(fn).guards == 0, "detach has a guard");
    check_answers("detached", fn, x, &t);
    ad_fn_free(fn);
}

/* --- which guard, and where ----------------------------------------------- */

// By hand, so that the oracle of paths is itself checked.
static void test_guards_by_hand(void)
{
    static const struct {
        const char *name;
        rev_program *f;
        double at[2];
        double other[2];
        size_t index;
    } cases[] = {
        { "s7, below to between", rev_s7, { 0.25 }, { 2 }, 0 },
        { "s7, between to below", rev_s7, { 2 }, { 0.25 }, 0 },
        { "s7, between to above", rev_s7, { 2 }, { 11 }, 1 },
        { "s7, above to between", rev_s7, { 11 }, { 2 }, 1 },
        { "s9, below to above", rev_s9, { 0.25 }, { 2 }, 0 },
        { "s9, above to equal", rev_s9, { 2 }, { 0.5 }, 1 },
        { "s9, equal to above", rev_s9, { 0.5 }, { 2 }, 1 },
        { "s14, the first return", rev_s14, { -2 }, { 0.5 }, 0 },
        { "s14, the second", rev_s14, { 0.5 }, { 2 }, 1 },
        { "s14, one round less", rev_s14, { 2 }, { 4 }, 3 },
        { "s14, one round more", rev_s14, { 4 }, { 2 }, 3 },
        { "s6b, a break before", rev_s6b, { 1, 2 }, { 2, 2 }, 4 },
        { "s6b, no break", rev_s6b, { 1, 2 }, { 1, 1.5 }, 5 },
        { "s17, at once", rev_s17, { 1, 1 }, { 3, 2 }, 0 },
        { "s17, once more", rev_s17, { 1, 1 }, { 1, 0.25 }, 2 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct call c = { cases[i].f, 0 };
        size_t n = cases[i].f == rev_s6b || cases[i].f == rev_s17 ? 2 : 1;
        ad_fn *fn = recorded(cases[i].name, run_call, &c, n, cases[i].at, 1);
        check_path(cases[i].name, fn, cases[i].other, cases[i].index);
        ad_fn_free(fn);
    }
}

// A comparison on a line of its own; the line is told to the test.
static int compared_at[2];

static void compare_twice(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = x[0];
    compared_at[0] = __LINE__ + 1;
    if (ad_lt(x[0], 1))
        y[0] = ad_rec(ad_mul(y[0], 2));
    compared_at[1] = __LINE__ + 1;
    double h = ad_value(ad_floor(x[1]));
    y[0] = ad_rec(ad_mul(y[0], h));
}

static void check_site(size_t index, int line)
{
    ad_guard g = ad_fn_guard();
    CHECK(g.index == index, "guard %zu, want %zu", g.index, index);
#if ADREV_DEBUG
    CHECK(g.file != NULL && strcmp(g.file, __FILE__) == 0, "file %s",
          g.file ? g.file : "NULL");
    CHECK(g.line == line, "line %d, want %d", g.line, line);
#else
    CHECK(g.file == NULL && g.line == 0, "a place without ADREV_DEBUG: %d",
          line);
#endif
}

static void test_guard_site(void)
{
    const double at[2] = { 0.5, 2.5 };
    const double left[2] = { 1.5, 2.5 };
    const double right[2] = { 0.25, 3.5 };
    const double fine[2] = { -1, 2.25 };
    double y = UNTOUCHED;
    ad_fn *fn = recorded("sites", compare_twice, NULL, 2, at, 1);
    CHECK(ad_fn_eval(fn, left, &y) == ADREV_EPATH, "x[0] crosses 1");
    check_site(0, compared_at[0]);
    CHECK(ad_fn_eval(fn, right, &y) == ADREV_EPATH, "x[1] crosses 3");
    check_site(1, compared_at[1]);
    CHECK(y == UNTOUCHED, "a result was written");
    CHECK(ad_fn_eval(fn, fine, &y) == ADREV_OK && y == -4, "-1*2*2, got %g", y);
    check_site(1, compared_at[1]);      // of the last ADREV_EPATH, still
    CHECK(ad_fn_eval(fn, left, &y) == ADREV_EPATH, "x[0] crosses 1 again");
    check_site(0, compared_at[0]);
    ad_fn_free(fn);
}

/* --- numbers that leave the recording ------------------------------------- */

static void leave_value(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_value(x[1])));
}

static void leave_expression(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_value(ad_sub(ad_mul(2, x[1]), 3))));
}

static void leave_integer(const ad_rev *x, ad_rev *y, void *ctx)
{
    int k = (int)ad_value(x[1]);
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_powi(x[0], k - 2), k));
}

static void leave_loop(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(0);
    for (int i = 0; i < ad_value(x[1]); i++)
        y[0] = ad_rec(ad_add(y[0], x[0]));
}

static void leave_dual(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_fwd d = ad_dual(x[1]);
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_value(d)));
}

static void leave_dual_expression(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_fwd d = ad_dual(ad_sub(ad_mul(2, x[1]), 3));
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_value(d)));
}

#define DEFINE(name, ...)                                                   \
    static void leave_##name(const ad_rev *x, ad_rev *y, void *ctx)         \
    {                                                                       \
        (void)ctx;                                                          \
        y[0] = ad_rec(ad_mul(ad_mul(x[0], 3), ad_div(ad_##name(x[1]),       \
                                                     ad_##name(x[1]))));    \
    }
ADREV_STEPS(DEFINE)
#undef DEFINE

// y = 3 x[0] where x[1] is what it was, here 3. Elsewhere the path is another;
// where it is not said to be, the numbers must be right all the same.
static void test_leaving(void)
{
    static const struct {
        const char *name;
        ad_vector_fn *f;
    } all[] = {
        { "ad_value", leave_value }, { "an int", leave_integer },
        { "a loop", leave_loop }, { "ad_value of an expression",
        leave_expression }, { "ad_dual", leave_dual },
        { "ad_dual of an expression", leave_dual_expression },
#define ENTER(name, ...) { "ad_" #name, leave_##name },
        ADREV_STEPS(ENTER)
#undef ENTER
    };
    const double at[2] = { 0.5, 3 };
    const double same_path[2] = { -2, 3 };
    const double other[2] = { -2, -4 };
    const struct truth t = { { -6 }, { 3, 0 }, { 0 } };
    for (size_t i = 0; i < COUNT(all); i++) {
        ad_fn *fn = recorded(all[i].name, all[i].f, NULL, 2, at, 1);
        check_answers(all[i].name, fn, same_path, &t);
        check_path(all[i].name, fn, other, 0);
        ad_fn_free(fn);
    }
}

// A choice by a condition that is a plain number is not a comparison, and is
// not frozen where it is itself a recorded number.
static void choose(const ad_rev *x, ad_rev *y, void *ctx)
{
    const bool *first = ctx;
    y[0] = ad_rec(ad_select(*first, ad_sqr(x[0]), ad_log(x[1])));
}

static void choose_each(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_each(ADREV_OP_select, 1, &x[0], &x[1], &x[2], y);
    y[0] = ad_rec(ad_sqr(y[0]));
}

static void test_select(void)
{
    const double at[3] = { 2, 3, 5 };
    const double x[2] = { -3, -1 };
    struct truth t = { { 9 }, { -6, 0 }, { 2 * 2, 0, 0, 0 } };
    bool first = true;
    ad_fn *fn = recorded("select", choose, &first, 2, at, 1);
    CHECK(ad_fn_about(fn).guards == 0, "select has a guard");
    check_answers("select", fn, x, &t);
    ad_fn_free(fn);

    fn = recorded("select by x[0]", choose_each, NULL, 3, at, 1);
    CHECK(ad_fn_about(fn).guards == 0, "select has a guard");
    t = (struct truth){ { 9 }, { 0, 6, 0 }, { 0, 0, 0, 0, 4, 0, 0, 0, 0 } };
    check_answers("select the first", fn, at, &t);
    t = (struct truth){ { 25 }, { 0, 0, 10 }, { 0, 0, 0, 0, 0, 0, 0, 0, 4 } };
    check_answers("select the second", fn, (const double[]){ 0, 3, 5 }, &t);
    ad_fn_free(fn);
}

// Min, max, clamp ... are evaluated, not decided: no guard, right everywhere.
static void piecewise(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_max(x[0], x[1]), ad_min(x[0], 1)));
    y[1] = ad_rec(ad_sqr(ad_clamp(ad_abs(x[0]), 1, 3)));
    y[2] = ad_rec(ad_mul(ad_relu(x[1]), ad_fdim(x[0], x[1])));
}

static void test_piecewise(void)
{
    const double at[2] = { 0.5, 0.25 };
    const double x[2] = { -2, 5 };
    const double z[2] = { 4, -1 };
    const double u[2] = { 2.5, 2 };
    ad_fn *fn = recorded("piecewise", piecewise, NULL, 2, at, 3);
    CHECK(ad_fn_about(fn).guards == 0, "a guard");
    // Weights 2, -1, 0.5.
    struct truth t = {
        { -10, 4, 0 }, { 5, -2,  -4, 0,  0, 0 }, { -2, 2, 2, 0 }
    };
    check_answers("piecewise, left", fn, x, &t);
    t = (struct truth){ { 4, 9, 0 }, { 1, 0, 0, 0, 0, 0 }, { 0 } };
    check_answers("piecewise, right", fn, z, &t);
    t = (struct truth){
        { 2.5L, 6.25L, 1 }, { 1, 0,  5, 0,  2, 0.5L - 2 },
        { -2, 0.5L, 0.5L, -1 }
    };
    check_answers("piecewise, inside", fn, u, &t);
    ad_fn_free(fn);
}

// detach(x y) y + detach(x): values follow, slopes do not.
static void detach_some(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev s = ad_rec(ad_detach(ad_mul(x[0], x[1])));
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(s, ad_mul(x[1], x[1])), ad_detach(x[0])));
    y[1] = ad_detach(x[1]);
}

static void test_detach(void)
{
    const double at[2] = { 1, 1 };
    const double x[2] = { 3, -2 };
    const struct truth t = {
        { -21, -2 }, { 0, 2 * -6 * -2, 0, 0 }, { 0, 0, 0, 2 * 2 * -6 }
    };
    ad_fn *fn = recorded("detach", detach_some, NULL, 2, at, 2);
    CHECK(ad_fn_about(fn).guards == 0, "detach has a guard");
    check_answers("detach", fn, x, &t);
    ad_fn_free(fn);
}

/* --- shapes --------------------------------------------------------------- */

static void some_results(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(3.5);
    y[1] = x[0];
    y[2] = ad_rec(ad_mul(x[1], x[0]));
    y[3] = x[0];
    y[4] = y[2];
    y[5] = ad_rec(ad_sub(y[0], 4));
}

// Constants, inputs, the same number twice, and an input nobody needs.
static void test_results(void)
{
    const double at[3] = { 1, 1, 1 };
    const double x[3] = { 3, -2, 7 };
    // Weights of x[0] x[1]: 0.5 and 1.
    const struct truth t = {
        { 3.5L, 3, -6, 3, -6, -0.5L },
        { 0, 0, 0,  1, 0, 0,  -2, 3, 0,  1, 0, 0,  -2, 3, 0,  0, 0, 0 },
        { 0, 1.5L, 0,  1.5L, 0, 0,  0, 0, 0 }
    };
    ad_fn *fn = recorded("results", some_results, NULL, 3, at, 6);
    ad_fn *plain = recorded_plain("results", some_results, NULL, 3, at, 6);
    check_answers("results", fn, x, &t);
    check_answers("results, plain", plain, x, &t);
    ad_fn_free(fn);
    ad_fn_free(plain);
}

// The smallest programs; without inputs their arrays may be NULL.
static void test_smallest(void)
{
    const double at[1] = { 2 };
    const double x[1] = { -5 };
    double v = 2.5;
    double y = 0;
    const struct truth straight = { { -5 }, { 1 }, { 0 } };
    const struct truth flat = { { 2.5L }, { 0 }, { 0 } };
    ad_fn *fn = recorded("identity", identity, NULL, 1, at, 1);
    check_answers("identity", fn, x, &straight);
    ad_fn_free(fn);
    fn = recorded("constant", constant, &v, 1, at, 1);
    check_answers("constant", fn, x, &flat);
    ad_fn_free(fn);

    fn = recorded("no inputs", constant, &v, 0, NULL, 1);
    check_answers("no inputs", fn, x, &flat);
    CHECK(ad_fn_eval(fn, NULL, &y) == ADREV_OK && y == 2.5, "got %g", y);
    y = UNTOUCHED;
    CHECK(ad_fn_jvp(fn, NULL, NULL, &y) == ADREV_OK && y == 0, "got %g", y);
    CHECK(ad_fn_vjp(fn, NULL, &v, NULL) == ADREV_OK, "vjp");
    CHECK(ad_fn_gradient(fn, NULL, &y, NULL) == ADREV_OK && y == 2.5,
          "got %g", y);
    CHECK(ad_fn_jacobian(fn, NULL, NULL) == ADREV_OK, "jacobian");
    CHECK(ad_fn_hvp(fn, NULL, &v, NULL, NULL) == ADREV_OK, "hvp");
    CHECK(ad_fn_hessian(fn, NULL, &v, NULL) == ADREV_OK, "hessian");
    ad_fn_free(fn);
}

/* Many inputs and results, neither a multiple of the lanes: y[i] is the sum of
 * (i + 1) / (j + 1) x[j]^2, and x[j] x[j + 1] for the j with j % m = i.      */

struct grid {
    size_t n;
    size_t m;
};

static void grid(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct grid *g = ctx;
    for (size_t i = 0; i < g->m; i++) {
        y[i] = ad_rec(0);
        for (size_t j = 0; j < g->n; j++) {
            double a = (double)(i + 1) / (double)(j + 1);
            ad_acc(&y[i], ad_mul(a, ad_sqr(x[j])));
            if (j % g->m == i && j + 1 < g->n)
                ad_acc(&y[i], ad_mul(x[j], x[j + 1]));
        }
    }
}

static long double grid_slope(const struct grid *g, const double *x, size_t i,
                              size_t j)
{
    long double d = 2 * (long double)x[j] * (long double)(i + 1)
                  / (long double)(j + 1);
    if (j % g->m == i && j + 1 < g->n)
        d += (long double)x[j + 1];
    if (j > 0 && (j - 1) % g->m == i)
        d += (long double)x[j - 1];
    return d;
}

static long double grid_second(const struct grid *g, const double *w, size_t j,
                               size_t k)
{
    long double d = 0;
    for (size_t i = 0; i < g->m && j == k; i++)
        d += 2 * (long double)w[i] * (long double)(i + 1)
           / (long double)(j + 1);
    if (j + 1 == k || k + 1 == j)
        d += (long double)w[(j < k ? j : k) % g->m];
    return d;
}

struct big {
    double *x, *v, *w, *dy, *dx, *J, *H;
};

static double *numbers(size_t n, uint32_t seed)
{
    double *x = malloc((n + 1) * sizeof *x);
    if (x == NULL)
        exit(EXIT_FAILURE);
    for (size_t i = 0; i <= n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (double)(seed >> 8) / 8388608 - 1;
    }
    return x;
}

static void free_big(struct big *b)
{
    double *all[] = { b->x, b->v, b->w, b->dy, b->dx, b->J, b->H };
    for (size_t i = 0; i < COUNT(all); i++)
        free(all[i]);
}

static void wrong_by(const char *what, struct grid g, size_t i, double got,
                     long double want, long double size)
{
    CHECK(fabsl((long double)got - want)
              <= 64 * (long double)DBL_EPSILON * size,
          "%zu x %zu, %s [%zu]: got %.17g, want %.20Lg", g.m, g.n, what, i,
          got, want);
}

static void check_big(struct grid g, const struct big *b)
{
    long double most = 2 * (long double)(g.m * g.m) * (long double)g.n;
    for (size_t j = 0; j < g.n; j++) {
        long double pulled = 0;
        for (size_t i = 0; i < g.m; i++) {
            long double d = grid_slope(&g, b->x, i, j);
            wrong_by("jacobian", g, i * g.n + j, b->J[i * g.n + j], d,
                     2 * (long double)(i + 1));
            pulled += d * (long double)b->w[i];
        }
        wrong_by("vjp", g, j, b->dx[j], pulled, most);
        for (size_t k = 0; k < g.n; k++)
            wrong_by("hessian", g, j * g.n + k, b->H[j * g.n + k],
                     grid_second(&g, b->w, j, k),
                     (long double)(g.m * g.m) / (long double)(j + 1) + 1);
    }
    for (size_t i = 0; i < g.m; i++) {
        long double pushed = 0;
        for (size_t j = 0; j < g.n; j++)
            pushed += grid_slope(&g, b->x, i, j) * (long double)b->v[j];
        wrong_by("jvp", g, i, b->dy[i], pushed, most);
    }
}

static void run_grid(size_t n, size_t m)
{
    struct grid g = { n, m };
    struct big b = {
        numbers(n, 1), numbers(n, 2), numbers(m, 3), numbers(m, 4),
        numbers(n, 5), numbers(m * n, 6), numbers(n * n, 7)
    };
    double *at = numbers(n, 8);
    ad_fn *fn = recorded("grid", grid, &g, n, at, m);
    double end = b.J[m * n] + b.H[n * n] + b.dx[n] + b.dy[m];
    CHECK(ad_fn_jacobian(fn, b.x, b.J) == ADREV_OK, "jacobian");
    CHECK(ad_fn_hessian(fn, b.x, b.w, b.H) == ADREV_OK, "hessian");
    CHECK(ad_fn_jvp(fn, b.x, b.v, b.dy) == ADREV_OK, "jvp");
    CHECK(ad_fn_vjp(fn, b.x, b.w, b.dx) == ADREV_OK, "vjp");
    check_big(g, &b);
    CHECK(end == b.J[m * n] + b.H[n * n] + b.dx[n] + b.dy[m],
          "%zu x %zu: a number after the last one was touched", m, n);
    ad_fn_free(fn);
    free_big(&b);
    free(at);
}

static void test_many(void)
{
    run_grid(1, 1);
    run_grid(ADREV_LANES_MOST, ADREV_LANES_MOST);
    run_grid(ADREV_LANES_MOST + 1, 3);
    run_grid(3, ADREV_LANES_MOST + 1);
    run_grid(2 * ADREV_LANES_MOST + 5, 2 * ADREV_LANES_MOST + 7);
    run_grid(5, 300);
    run_grid(130, 1);
}

int main(void)
{
    test_title();
    test_slang();
    test_s21();
    test_detached_pair();
    test_guards_by_hand();
    test_guard_site();
    test_leaving();
    test_select();
    test_piecewise();
    test_detach();
    test_results();
    test_smallest();
    test_many();
    return check_done("function");
}
