// SPDX-License-Identifier: MIT-0
// tags:
// flags: -DADREV_COUNT=1
/* operation_counts.c - how much work a derivative is: programs over arrays and views
 * whose adjoint is cheap only if nothing is done for structural zeros. The
 * figures (additions, multiplications) are those of a tensor language with a
 * proven bound; each is met or undercut, and grows linearly in n.           */

#ifndef ADREV_COUNT         // for compilers that read the file without flags
#define ADREV_COUNT 1
#endif
#define ADREV_IMPLEMENTATION
#include "adrev.h"
#include "check.h"

#include <stdlib.h>

static ad_tape *tape;
static ad_rev x[64];
static ad_real g[64];

static void begin(size_t n)
{
    ad_tape_clear(tape);
    for (size_t i = 0; i < n; i++)
        x[i] = ad_input((ad_real)(i + 1));
    ad_counts = (ad_count_both){ 0 };
}

static void end(size_t m, const ad_rev y[], const ad_real seed[], size_t n)
{
    ad_status s = ad_pullback(tape, m, y, seed, n, x, g);
    CHECK(s == ADREV_OK, "got \"%s\"", ad_message(s));
}

static void end_one(ad_rev y, double value, size_t n)
{
    end(1, &y, (ad_real[]){ 1 }, n);
    CHECK_CLOSE(y.v, value, 0);
}

// At most these; exactly, if so said.
static void counted(const char *name, const ad_operations *got, size_t add,
                    size_t mul, bool exact)
{
    CHECK(exact ? got->add == add && got->mul == mul
                : got->add <= add && got->mul <= mul,
          "%s: (%zu, %zu), want (%zu, %zu)", name, (size_t)got->add,
          (size_t)got->mul, add, mul);
}

static void forward(const char *name, size_t add, size_t mul)
{
    counted(name, &ad_counts.forward, add, mul, true);
}

static void reverse(const char *name, size_t add, size_t mul)
{
    counted(name, &ad_counts.reverse, add, mul, false);
}

static void written(const char *name, size_t most)
{
    CHECK(ad_counts.reverse.written <= most && ad_counts.reverse.written > 0,
          "%s: %zu written, want at most %zu", name,
          (size_t)ad_counts.reverse.written, most);
}

// An n x n matrix with a vector on its diagonal; elsewhere constants.
static ad_rev *diagonal(size_t n, const ad_rev *v, ptrdiff_t inc)
{
    ad_rev *A = calloc(n * n, sizeof *A);
    for (size_t i = 0; A != NULL && i < n; i++)
        A[i * (n + 1)] = v[(ptrdiff_t)i * inc];
    return A;
}

/* --- the sheet ------------------------------------------------------------ */

// A1: k traces of a diagonal matrix, added.
static void traces(size_t n, size_t k, const ad_rev *v)
{
    ad_rev *A = diagonal(n, v, 1);
    ad_rev trace[8];
    for (size_t i = 0; i < k; i++)
        trace[i] = ad_sum_s(n, A, (ptrdiff_t)n + 1);
    ad_rev y = ad_sum(k, trace);
    ad_status s = ad_gradient(tape, y, 1, v, g);
    CHECK(s == ADREV_OK && g[0] == (ad_real)k, "trace: got %g", (double)g[0]);
    forward("A1", k * n - 1, 0);
    reverse("A1", n * (k - 1), 0);
    written("A1", n * (2 * k + 1));
    free(A);
}

static void run_a1(void)
{
    static const size_t sizes[4][2] = { { 3, 2 }, { 5, 4 }, { 16, 4 },
                                        { 16, 8 } };
    for (int i = 0; i < 4; i++) {
        begin(sizes[i][0]);
        traces(sizes[i][0], sizes[i][1], x);
    }
}

// A2: a row and a column of a diagonal matrix, which cross in one entry.
static void cross(size_t n, const ad_rev *v)
{
    ad_rev *A = diagonal(n, v, 1);
    ad_rev y = ad_dot_s(n, A, (ptrdiff_t)n, A, 1);
    ad_status s = ad_gradient(tape, y, 1, v, g);
    CHECK(s == ADREV_OK && g[0] == 2 * v[0].v, "cross: got %g", (double)g[0]);
    counted("A2", &ad_counts.forward, n - 1, n, false);
    reverse("A2", 1, 2);        // the bound of the sheet is (1, 2n)
    written("A2", 5 * n + 1);
    free(A);
}

static void run_a2(void)
{
    begin(4);
    cross(4, x);
}

// A4: the trace of s times the unit matrix.
static void unit(size_t n, const ad_rev *s)
{
    ad_rev *A = diagonal(n, s, 0);
    ad_rev y = ad_sum_s(n, A, (ptrdiff_t)n + 1);
    CHECK(ad_gradient(tape, y, 1, s, g) == ADREV_OK && g[0] == (ad_real)n,
          "unit: got %g", (double)g[0]);
    forward("A4", n - 1, 0);
    reverse("A4", n - 1, 0);
    written("A4", 2 * n + 1);
    free(A);
}

static void run_a4(void)
{
    begin(1);
    unit(12, x);
}

static void run_a7(void)
{
    begin(1);
    ad_rev copies[5] = { x[0], x[0], x[0], x[0], x[0] };
    ad_rev y = ad_rec(ad_mul(2, copies[4]));
    end_one(y, 2, 1);
    forward("A7", 0, 1);
    reverse("A7", 0, 1);
    written("A7", 1);
}

static void run_a8(void)
{
    static const ad_real seed[3][2] = { { 1, 1 }, { 1, 0 }, { 0, 1 } };
    static const double want[3][2] = { { 54, 33 }, { 8, 0 }, { 46, 33 } };
    for (int i = 0; i < 3; i++) {
        begin(2);
        ad_rev a = ad_rec(ad_add(ad_mul(2, x[0]), ad_mul(3, x[1])));
        ad_rev b = ad_rec(ad_add(ad_mul(4, x[0]), a));
        ad_rev y[2] = { ad_rec(ad_mul(8, x[0])),
                        ad_rec(ad_add(ad_mul(5, a), ad_mul(6, b))) };
        CHECK(y[0].v == 8 && y[1].v == 112, "got %g", (double)y[1].v);
        end(2, y, seed[i], 2);
        CHECK_CLOSE(g[0], want[i][0], 0);
        CHECK_CLOSE(g[1], want[i][1], 0);
        forward("A8", 3, 6);
        reverse("A8", 3, 6);
    }
}

static void run_a9(void)
{
    begin(12);
    ad_rev some[11] = { x[0] };
    for (size_t i = 1; i < 11; i++)
        some[i] = x[i + 1];
    end_one(ad_sum(11, some), 76, 12);
    CHECK(g[0] == 1 && g[1] == 0 && g[11] == 1, "the one left out");
    forward("A9", 10, 0);
    reverse("A9", 0, 0);
    written("A9", 11);
}

static void run_a10(void)
{
    begin(8);
    ad_rev y = x[0];
    for (size_t i = 1; i < 8; i++)
        y = ad_rec(ad_mul(y, x[i]));
    end_one(y, 40320, 8);
    for (size_t i = 0; i < 8; i++)
        CHECK_CLOSE(g[i], 40320 / (double)(i + 1), 1);
    forward("A10", 0, 7);
    reverse("A10", 0, 14);
}

static void run_a11(void)
{
    begin(10);
    end_one(ad_dot(10, x, x), 385, 10);
    CHECK_CLOSE(g[9], 20, 0);
    forward("A11", 9, 10);
    reverse("A11, a square", 0, 20);
    begin(10);
    ad_rev y[10];
    for (size_t i = 0; i < 10; i++)
        y[i] = x[i];
    end_one(ad_dot(10, x, y), 385, 10);
    forward("A11, named", 9, 10);
    reverse("A11, named", 10, 20);
}

static void run_a12(void)
{
    ad_real ones[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    ad_rev C[9];
    begin(18);
    ad_matmul(3, 3, 3, x, x + 9, C);
    end(9, C, ones, 18);
    CHECK_CLOSE(g[0], 10 + 11 + 12, 0);
    CHECK_CLOSE(g[9], 1 + 4 + 7, 0);
    forward("A12", 18, 27);
    reverse("A12", 36, 54);
}

static void run_a13(void)
{
    ad_real ones[12];
    ad_rev C[12];
    for (size_t i = 0; i < 12; i++)
        ones[i] = 1;
    begin(7);
    ad_matmul(3, 1, 4, x, x + 3, C);
    end(12, C, ones, 7);
    for (size_t i = 0; i < 7; i++)
        CHECK_CLOSE(g[i], i < 3 ? 22 : 6, 0);
    forward("A13", 0, 12);
    reverse("A13", 17, 24);
}

static void antidiagonal(size_t n, const ad_rev *A, double value)
{
    ad_rev y = ad_sum_s(n, A + n - 1, (ptrdiff_t)n - 1);
    CHECK(ad_gradient(tape, y, 1, A + n - 1, g) == ADREV_OK && g[0] == 1,
          "antidiagonal");
    CHECK_CLOSE(y.v, value, 0);
    forward("A15", n - 1, 0);
    reverse("A15", 0, 0);
    written("A15", n);
}

static void run_a15(void)
{
    begin(16);
    ad_rev upper[10];
    size_t k = 0;
    for (size_t i = 0; i < 4; i++)
        for (size_t j = i; j < 4; j++)
            upper[k++] = x[4 * i + j];
    end_one(ad_sum(10, upper), 1 + 2 + 3 + 4 + 6 + 7 + 8 + 11 + 12 + 16, 16);
    forward("A15, triangle", 9, 0);
    reverse("A15, triangle", 0, 0);
    written("A15, triangle", 10);
    begin(16);
    antidiagonal(4, x, 30 + 4);
    begin(64);
    antidiagonal(8, x, 252 + 8);
}

static void run_a16(void)
{
    static const double strided[6] = { 2, 1, 4, 3, 6, 5 };
    static const double reversed[4] = { 8, 6, 4, 2 };
    begin(6);
    end_one(ad_dot_s(3, x, 2, x + 1, 2), 44, 6);
    for (size_t i = 0; i < 6; i++)
        CHECK_CLOSE(g[i], strided[i], 0);
    forward("A16", 2, 3);
    reverse("A16", 0, 6);
    begin(4);
    end_one(ad_dot_s(4, x, 1, x + 3, -1), 20, 4);
    for (size_t i = 0; i < 4; i++)
        CHECK_CLOSE(g[i], reversed[i], 0);
    forward("A16, reversed", 3, 4);
    reverse("A16, reversed", 4, 8);
}

/* --- A23: growth ---------------------------------------------------------- */

// The bounds above, exact in n, for matrices of n^2 entries.
static void run_growth(void)
{
    for (size_t n = 64; n <= 4096; n *= 4) {
        ad_rev *v = calloc(n, sizeof *v);
        ad_rev *A = calloc(n * n, sizeof *A);
        for (int what = 0; v != NULL && A != NULL && what < 4; what++) {
            begin(0);
            double sum = 0;
            for (size_t i = 0; i < n; i++) {
                v[i] = ad_input((ad_real)(i % 7));
                A[(i + 1) * (n - 1)] = v[i];
                sum += (double)v[i].v;
            }
            what == 0 ? traces(n, 4, v) : what == 1 ? cross(n, v)
                : what == 2 ? unit(n, v) : antidiagonal(n, A, sum);
        }
        free(v);
        free(A);
    }
}

// What is counted, on one row of each kind.
static void run_kinds(void)
{
    begin(2);
    ad_rev y = ad_rec(ad_div(ad_sin(x[0]), x[1]));
    end(1, &y, (ad_real[]){ 1 }, 2);
    CHECK(ad_counts.forward.fn == 1 && ad_counts.forward.mul == 1
              && ad_counts.forward.add == 0, "sin(x)/y, forward");
    CHECK(ad_counts.reverse.fn == 1 && ad_counts.reverse.mul == 5
              && ad_counts.reverse.add == 0
              && ad_counts.reverse.written == (ADREV_FUSE == 1 ? 3 : 2),
          "sin(x)/y, reverse: %zu",
          (size_t)ad_counts.reverse.mul);
}

// What one operation counts as, forward; and how many products and functions
// its partials take, in reverse before the sweep.
static void kind(const char *name, ad_rev y, size_t add, size_t mul, size_t fn,
                 size_t partial_mul, size_t partial_fn)
{
    const ad_operations *f = &ad_counts.forward;
    const ad_operations *r = &ad_counts.reverse;
    CHECK(y.job != 0 && f->add == add && f->mul == mul && f->fn == fn,
          "%s: (%zu, %zu, %zu), want (%zu, %zu, %zu)", name, (size_t)f->add,
          (size_t)f->mul, (size_t)f->fn, add, mul, fn);
    CHECK(r->mul == partial_mul && r->fn == partial_fn,
          "%s: partials (%zu, %zu), want (%zu, %zu)", name, (size_t)r->mul,
          (size_t)r->fn, partial_mul, partial_fn);
    ad_counts = (ad_count_both){ 0 };
}

static void run_arithmetic(void)
{
    begin(3);
    kind("add", ad_rec(ad_add(x[0], x[1])), 1, 0, 0, 0, 0);
    kind("sub", ad_rec(ad_sub(x[0], x[1])), 1, 0, 0, 0, 0);
    kind("mul", ad_rec(ad_mul(x[0], x[1])), 0, 1, 0, 0, 0);
    kind("div", ad_rec(ad_div(x[0], x[1])), 0, 1, 0, 2, 0);
    kind("fma", ad_rec(ad_fma(x[0], x[1], x[2])), 1, 1, 0, 0, 0);
    kind("neg", ad_rec(ad_neg(x[0])), 0, 1, 0, 0, 0);
    kind("sqr", ad_rec(ad_sqr(x[0])), 0, 1, 0, 1, 0);
    kind("atan2", ad_rec(ad_atan2(x[0], x[1])), 0, 0, 1, 0, 2);
}

// A sum that nothing depends on costs nothing on the way back.
static void run_dead_sum(void)
{
    begin(2);
    ad_rev y = ad_rec(ad_mul(x[0], x[1]));
    ad_rev z = y;
    for (int i = 0; i < 5; i++)
        ad_acc(&z, ad_mul(x[0], x[1]));
    end(1, &y, (ad_real[]){ 1 }, 2);
    CHECK(ad_counts.reverse.written == 2, "dead sum: %zu written",
          (size_t)ad_counts.reverse.written);
}

// S24: what nothing depends on is not visited, wherever it is.
// (Its partial is computed as it is recorded.)
static void run_dead_exp(void)
{
    ad_operations want = { 0 };
    for (int dead = 0; dead < 2; dead++) {
        begin(1);
        if (dead)
            DROP(ad_rec(ad_exp(x[0])));
        ad_rev y = ad_rec(ad_sqr(x[0]));
        if (dead)
            DROP(ad_rec(ad_exp(x[0])));
        end(1, &y, (ad_real[]){ 1 }, 1);
        const ad_operations *got = &ad_counts.reverse;
        if (!dead)
            want = *got;
        CHECK(got->written == 1 && got->mul == want.mul
                  && got->add == want.add, "dead exp: written %zu, (%zu, %zu), "
              "want (%zu, %zu)", (size_t)got->written, (size_t)got->add,
              (size_t)got->mul, (size_t)want.add, (size_t)want.mul);
    }
}

int main(void)
{
    tape = ad_tape_new();
    if (tape == NULL)
        return EXIT_FAILURE;
    ad_use(tape);
    run_a1();
    run_a2();
    run_a4();
    run_a7();
    run_a8();
    run_a9();
    run_a10();
    run_a11();
    run_a12();
    run_a13();
    run_a15();
    run_a16();
    run_growth();
    run_kinds();
    run_arithmetic();
    run_dead_sum();
    run_dead_exp();
    ad_tape_free(tape);
    return check_done("operation_counts");
}
