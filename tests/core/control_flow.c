// SPDX-License-Identifier: MIT-0
// tags: debug
/* control_flow.c - the programs by which a differentiating compiler is judged.
 *
 * Loops left early, branches, recursion, in-out parameters, structs, values
 * detached or not used. Each program runs on the tape (Jacobian in one piece,
 * rows by ad_pullback, columns by ad_pushforward) and with forward numbers.
 * Below: what the tape of such a program must not hold.                      */

#include "implementation.h"
#include "adrev.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 10 };     // inputs or outputs of a program

#define NUM       ad_rev
#define REC(e)    ad_rec(e)
#define NAME(f)   rev_##f
#include "slang_programs.h"

#define NUM       ad_fwd
#define REC(e)    ad_dual(e)
#define NAME(f)   fwd_##f
#include "slang_programs.h"

typedef void rev_program(const ad_rev *x, const int *k, ad_rev *y);
typedef void fwd_program(const ad_fwd *x, const int *k, ad_fwd *y);

static ad_tape *tape;

/* --- values and Jacobians ------------------------------------------------- */

struct run {
    const char *name;
    rev_program *rev;
    fwd_program *fwd;
    size_t n;
    size_t m;
    int k;
    double x[MOST];
    double y[MOST];
    double J[MOST * MOST];      // m rows of n
};

#define PROGRAM(name) #name, rev_##name, fwd_##name

// clang-format off
static const struct run runs[] = {
    { PROGRAM(s1),  2, 1, 0, { 3, 4 },      { 14 },          { 2, 2 } },
    { PROGRAM(s2),  2, 1, 0, { 3, 4 },      { 12 },          { 4, 3 } },
    { PROGRAM(s3),  1, 1, 0, { 2 },         { 6 },           { 3 } },
    { PROGRAM(s4),  3, 1, 0, { 1, 2, 3 },   { 6 },           { 1, 1, 1 } },
    { PROGRAM(s5),  4, 4, 4, { 0, 1, 2, 3 }, { 0, 2, 6, 12 },
      { 1, 0, 0, 0,   0, 3, 0, 0,   0, 0, 5, 0,   0, 0, 0, 7 } },
    { PROGRAM(s5b), 4, 4, 0, { 1, 2, 3, 4 }, { 1, 2, 6, 24 },
      { 1, 0, 0, 0,   2, 1, 0, 0,   6, 3, 2, 0,   24, 12, 8, 6 } },
    { PROGRAM(s6),  1, 1, 0, { 1 },         { 16 },          { 1 } },
    { PROGRAM(s6b), 2, 1, 0, { 1, 2 },      { 152 },         { 64, 318 } },
    { PROGRAM(s6c), 2, 1, 0, { 1, 1.5 },    { 33.25 },       { 4, 39 } },
    { PROGRAM(s7),  1, 1, 0, { 0.25 },      { 65.0 / 256 },  { 17.0 / 16 } },
    { PROGRAM(s7),  1, 1, 0, { 2 },         { 0 },           { 0 } },
    { PROGRAM(s7),  1, 1, 0, { 11 },        { 1771572 },     { 966307 } },
    { PROGRAM(s8),  2, 1, 0, { 2, 0 },      { 0 },           { 0, 1024 } },
    { PROGRAM(s8),  2, 1, 0, { 2, 1 },      { 1024 },        { 5120, 1024 } },
    { PROGRAM(s8),  2, 1, 0, { 2, 3 },      { 3072 },        { 15360, 1024 } },
    { PROGRAM(s9),  1, 1, 0, { 0.25 },      { 0.125 },       { 1 } },
    { PROGRAM(s9),  1, 1, 0, { 2 },         { 182 },         { 91 } },
    { PROGRAM(s9),  1, 1, 0, { 0.5 },       { 0.5 },         { 1 } },
    { PROGRAM(s10), 1, 1, 0, { 2 },         { 8000 },        { 43200 } },
    { PROGRAM(s11), 2, 2, 0, { 1, 2.4 },    { 5.76, 1 },     { 5.76, 4.8,   2, 0 } },
    { PROGRAM(s13), 1, 1, 1, { 1 },         { 3 },           { 2 } },
    { PROGRAM(s13), 1, 1, 0, { 1 },         { 3 },           { 4 } },
    { PROGRAM(s14), 1, 1, 0, { -2 },        { -4 },          { 4 } },
    { PROGRAM(s14), 1, 1, 0, { 0.5 },       { 0.125 },       { 0.75 } },
    { PROGRAM(s14), 1, 1, 0, { 1 },         { 1 },           { 16 } },
    { PROGRAM(s14), 1, 1, 0, { 2 },         { 32 },          { 64 } },
    { PROGRAM(s15), 2, 1, 0, { 2, 3 },      { 221 },         { 102, 191 } },
    { PROGRAM(s16), 2, 1, 0, { 3, 4 },      { 12 },          { 4, 3 } },
    { PROGRAM(s16), 2, 1, 1, { 3, 4 },      { 19 },          { 1, 8 } },
    { PROGRAM(s16), 2, 1, 7, { 3, 4 },      { 3 },           { 1, 0 } },
    { PROGRAM(s17), 2, 1, 0, { 1, 1 },      { 26 },          { 80, 51 } },
    { PROGRAM(s18), 2, 1, 0, { 3, 4 },      { 12 },          { 4, 3 } },
    { PROGRAM(s19), 2, 1, 3, { 2, 4 },      { 22 },          { 3, 8 } },
    { PROGRAM(s23), 1, 1, 13, { 2 },        { 8192 },        { 53248 } },
    { PROGRAM(s24), 1, 1, 0, { 3 },         { 9 },           { 6 } },
};
// clang-format on

// The numbers are integers or short fractions: 2 ulps are for 2.4 and 5.76.
static void close_to(const struct run *r, const char *how, size_t i, size_t j,
                     ad_real got, double want)
{
    const long double given = (long double)got;
    const long double right = (long double)(ad_real)want;
    CHECK(check_ulps(given, right) <= 2, "%s at (%g, %g), %s [%zu][%zu]: got %.17g, want %.17g",
          r->name, r->x[0], r->x[1], how, i, j, (double)got, want);
}

static void check_matrix(const struct run *r, const char *how,
                         const ad_real *J)
{
    for (size_t i = 0; i < r->m; i++)
        for (size_t j = 0; j < r->n; j++)
            close_to(r, how, i, j, J[i * r->n + j], r->J[i * r->n + j]);
}

static void check_reverse(const struct run *r, const ad_rev *x,
                          const ad_rev *y)
{
    ad_real J[MOST * MOST] = { 0 };
    bool constant = true;
    for (size_t i = 0; i < r->m; i++) {
        close_to(r, "value", i, 0, y[i].v, r->y[i]);
        constant = constant && y[i].job == 0;
    }

    // A result that no input reached is a constant, and has no gradient.
    ad_status want = constant ? ADREV_EPASSIVE : ADREV_OK;
    ad_status s = ad_jacobian(tape, r->m, y, r->n, x, J);
    CHECK(s == want, "%s: %s", r->name, ad_message(s));
    check_matrix(r, "jacobian", J);

    for (size_t i = 0; i < r->m; i++) {
        ad_real seed[MOST] = { 0 };
        seed[i] = 1;
        s = ad_pullback(tape, r->m, y, seed, r->n, x, &J[i * r->n]);
        CHECK(s == want, "%s: %s", r->name, ad_message(s));
    }
    check_matrix(r, "pullback", J);
    for (size_t j = 0; j < r->n; j++) {
        ad_real direction[MOST] = { 0 };
        ad_real column[MOST] = { 0 };
        direction[j] = 1;
        s = ad_pushforward(tape, r->n, x, direction, r->m, y, column);
        CHECK(s == want, "%s: %s", r->name, ad_message(s));
        for (size_t i = 0; i < r->m; i++)
            J[i * r->n + j] = column[i];
    }
    check_matrix(r, "pushforward", J);
}

static void check_forward(const struct run *r)
{
    ad_real J[MOST * MOST] = { 0 };
    for (size_t j = 0; j < r->n; j++) {
        ad_fwd x[MOST] = { { 0 } };
        ad_fwd y[MOST] = { { 0 } };
        for (size_t i = 0; i < r->n; i++)
            x[i] = (ad_fwd){ (ad_real)r->x[i], i == j };
        r->fwd(x, &r->k, y);
        for (size_t i = 0; i < r->m; i++) {
            close_to(r, "forward value", i, 0, y[i].v, r->y[i]);
            J[i * r->n + j] = y[i].d;
        }
    }
    check_matrix(r, "forward", J);
}

static void record(rev_program *f, size_t n, const double *at, int k,
                   ad_rev *x, ad_rev *y)
{
    ad_tape_clear(tape);
    for (size_t i = 0; i < n; i++)
        x[i] = ad_input((ad_real)at[i]);
    f(x, &k, y);
}

static void run_all(void)
{
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        ad_rev x[MOST];
        ad_rev y[MOST];
        record(runs[i].rev, runs[i].n, runs[i].x, runs[i].k, x, y);
        check_reverse(&runs[i], x, y);
        check_forward(&runs[i]);
    }
}

/* --- the seeds and tangents that the programs are given ------------------- */

static void pulled(const char *name, rev_program *f, size_t n,
                   const double *at, size_t m, const double *seed,
                   const double *want)
{
    ad_rev x[MOST];
    ad_rev y[MOST];
    ad_real dy[MOST];
    ad_real dx[MOST] = { 0 };
    record(f, n, at, (int)m, x, y);
    for (size_t i = 0; i < m; i++)
        dy[i] = (ad_real)seed[i];
    CHECK(ad_pullback(tape, m, y, dy, n, x, dx) == ADREV_OK, "%s", name);
    for (size_t j = 0; j < n; j++)
        CHECK(fabs((double)dx[j] - want[j]) <= 2e-7 * fabs(want[j]),
              "%s: adjoint %zu: got %.17g, want %.17g", name, j,
              (double)dx[j], want[j]);
    for (size_t j = 0; j < n && sizeof(ad_real) == sizeof(double); j++)
        CHECK_CLOSE(dx[j], want[j], 2);
}

static void pushed(const char *name, rev_program *rev, fwd_program *fwd,
                   size_t n, const double *at, const double *direction,
                   size_t m, const double *want)
{
    ad_rev x[MOST];
    ad_rev y[MOST];
    ad_fwd xd[MOST];
    ad_fwd yd[MOST];
    ad_real dx[MOST];
    ad_real dy[MOST] = { 0 };
    int k = (int)m;
    record(rev, n, at, k, x, y);
    for (size_t j = 0; j < n; j++) {
        dx[j] = (ad_real)direction[j];
        xd[j] = (ad_fwd){ (ad_real)at[j], dx[j] };
    }
    fwd(xd, &k, yd);
    CHECK(ad_pushforward(tape, n, x, dx, m, y, dy) == ADREV_OK, "%s", name);
    for (size_t i = 0; i < m; i++) {
        CHECK_CLOSE(dy[i], (ad_real)want[i], 2);
        CHECK_CLOSE(yd[i].d, (ad_real)want[i], 2);
    }
}

#define LIST(...) (const double[]){ __VA_ARGS__ }
#define PUSHED(name, ...) pushed(#name, rev_##name, fwd_##name, __VA_ARGS__)
#define PULLED(name, ...) pulled(#name, rev_##name, __VA_ARGS__)

static void run_seeds(void)
{
    PUSHED(s1, 2, LIST(3, 4), LIST(1, 0), 1, LIST(2));
    PUSHED(s2, 2, LIST(3, 4), LIST(1, 2), 1, LIST(10));
    PULLED(s2, 2, LIST(3, 4), 1, LIST(5), LIST(20, 15));
    PULLED(s3, 1, LIST(2), 1, LIST(5), LIST(15));
    PULLED(s5, 10, LIST(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), 10,
           LIST(1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
           LIST(1, 3, 5, 7, 9, 11, 13, 15, 17, 19));
    PULLED(s5b, 4, LIST(1, 2, 3, 4), 4, LIST(0, 0, 0, 1), LIST(24, 12, 8, 6));
    PULLED(s5b, 4, LIST(1, 2, 3, 4), 4, LIST(1, 1, 1, 1), LIST(33, 16, 10, 6));
    PUSHED(s11, 2, LIST(1, 2.4), LIST(1, 0), 2, LIST(5.76, 2));
    PULLED(s11, 2, LIST(1, 2.4), 2, LIST(1, 0), LIST(5.76, 4.8));
    PULLED(s11, 2, LIST(1, 2.4), 2, LIST(0, 1), LIST(2, 0));
    PULLED(s18, 2, LIST(3, 4), 1, LIST(5), LIST(20, 15));
}

/* --- S12: twice forward --------------------------------------------------- */

static void run_s12(void)
{
    double at[2] = { 1.5707963267948966, 1 };
    // volatile: no cosine is the compiler's, whose pi has more bits than
    // MinGW's
    volatile ad_real x = (ad_real)at[0];
    long double cosine = cosl((long double)x);   // not 0: x is not pi/2
    ad_fwd in[2] = { { x, 1 }, { 1, 0 } };
    ad_fwd out[2];
    int k = 0;
    fwd_s12(in, &k, out);
    CHECK_CLOSE(out[0].v, 1, 0);
    CHECK_CLOSE(out[0].d, cosine, 1);
    CHECK_CLOSE(out[1].v, cosine, 1);
    CHECK_CLOSE(out[1].d, -1, 0);

    ad_rev a[2];
    ad_rev y[2];
    ad_real direction[2] = { 1, 0 };
    ad_real second = 0;
    ad_real g[2] = { 0 };
    record(rev_s12, 2, at, 0, a, y);
    CHECK(ad_pushforward(tape, 2, a, direction, 1, &y[1], &second)
              == ADREV_OK, "forward of forward over the tape");
    CHECK_CLOSE(second, -1, 0);
    CHECK(ad_gradient(tape, y[1], 2, a, g) == ADREV_OK, "reverse of forward");
    CHECK_CLOSE(g[0], -1, 0);
    CHECK_CLOSE(g[1], cosine, 1);
}

static void run_s22(void)
{
    ad_real x = (ad_real)0.3;
    long double product = 1;
    long double sum = 0;
    for (int i = 1; i <= 5; i++) {
        product *= sinl(i * (long double)x);
        sum += i / tanl(i * (long double)x);
    }

    ad_rev a;
    ad_rev y;
    ad_real g = 0;
    record(rev_s22, 1, LIST(0.3), 5, &a, &y);
    CHECK(ad_gradient(tape, y, 1, &a, &g) == ADREV_OK, "gradient");
    CHECK_CLOSE(y.v, product, 8);       // five sines and products
    CHECK_CLOSE(g, product * sum, 16);  // and five terms
    int k = 5;
    ad_fwd in = { x, 1 };
    ad_fwd out;
    fwd_s22(&in, &k, &out);
    CHECK_CLOSE(out.v, product, 8);
    CHECK_CLOSE(out.d, product * sum, 16);
    if (sizeof(ad_real) == sizeof(double)) {
        CHECK_NEAR(y.v, 0.121520239910, 1e-11);     // as printed in the sheet
        CHECK_NEAR(g, 1.269457052151, 1e-12);
    }
}

/* --- what a tape must not hold -------------------------------------------- */

static ad_stats size_of_s5(int n)
{
    ad_rev *x = malloc((size_t)n * sizeof *x);
    ad_rev *y = malloc((size_t)n * sizeof *y);
    if (!x || !y)
        exit(EXIT_FAILURE);
    ad_tape_clear(tape);
    for (int i = 0; i < n; i++)
        x[i] = ad_input((ad_real)i);
    rev_s5(x, &n, y);
    free(x);
    free(y);
    return ad_tape_stats(tape);
}

// N elements cost N times one element; no N x N.
static void run_linear(void)
{
    ad_stats one = size_of_s5(10);
    for (int n = 100; n <= 10000; n *= 10) {
        ad_stats s = size_of_s5(n);
        size_t times = (size_t)n / 10;
        CHECK(s.statements == times * one.statements, "%zu statements for %d",
              s.statements, n);
        CHECK(s.operands == times * one.operands, "%zu operands for %d",
              s.operands, n);
        CHECK(s.values == times * one.values, "%zu values for %d", s.values,
              n);
        CHECK(s.bytes <= times * one.bytes, "%zu bytes for %d", s.bytes, n);
    }
    CHECK(one.values == 10 + one.statements, "inputs and statements");
}

// Arithmetic on the counter is not recorded, whatever type the counter has.
static void run_induction(void)
{
    ad_tape_clear(tape);
    ad_rev x = ad_input(2);
    ad_rev p = x;
    for (int i = 0; i < 10; i++)
        p = ad_rec(ad_add(p, ad_mul(x, 2 * i)));
    ad_stats plain = ad_tape_stats(tape);

    ad_tape_clear(tape);
    x = ad_input(2);
    p = x;
    ad_rev counter = ad_rec(0);
    for (int i = 0; i < 10; i++) {
        ad_rev twice = ad_rec(ad_mul(2, counter));
        CHECK(twice.job == 0, "a constant");
        p = ad_rec(ad_add(p, ad_mul(x, twice)));
        counter = ad_rec(ad_add(counter, 1));
    }
    ad_stats numbers = ad_tape_stats(tape);
    // A constant in an ad_rev takes the place of an operand.
    CHECK(ADREV_FUSE < 3 || plain.statements == numbers.statements,
          "%zu and %zu statements", plain.statements, numbers.statements);
    if (ADREV_FUSE >= 2)
        CHECK(plain.statements == 10, "one statement per iteration, not %zu",
              plain.statements);
    CHECK_CLOSE(p.v, 182, 0);
}

// First and second derivative of a product with a detached factor, at 3.
static void run_detached(void)
{
    ad_fwd in[2] = { { 3, 1 }, { 1, 0 } };
    ad_fwd out[2];
    int k = 0;
    fwd_detached(in, &k, out);
    CHECK_CLOSE(out[0].v, 81, 0);
    CHECK_CLOSE(out[0].d, 54, 0);
    CHECK_CLOSE(out[1].v, 54, 0);
    CHECK_CLOSE(out[1].d, 18, 0);

    ad_rev a[2];
    ad_rev y[2];
    ad_real g[2] = { 0 };
    record(rev_detached, 2, LIST(3, 1), 0, a, y);
    CHECK(ad_gradient(tape, y[0], 2, a, g) == ADREV_OK, "first");
    CHECK_CLOSE(g[0], 54, 0);
    CHECK(ad_gradient(tape, y[1], 2, a, g) == ADREV_OK, "second");
    CHECK_CLOSE(g[0], 18, 0);
    CHECK_CLOSE(g[1], 54, 0);
}

int main(void)
{
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
    run_all();
    run_seeds();
    run_s12();
    run_s22();
    run_linear();
    run_induction();
    run_detached();
    ad_tape_free(tape);
    return check_done("control_flow");
}
