// SPDX-License-Identifier: MIT-0
// tags:
/* fixed.c - ADREV_FIXED: the same results from tapes that neither grow nor have
 * hooks, in exactly the memory that they say. The oracle is forward mode. With
 * ADREV_FIXED=2 without array and external statements.                      */

#ifndef ADREV_FIXED
#define ADREV_FIXED 1
#endif
#ifdef FIXED_TASKS      // two tasks by turns, each with a slot of its own
#include <stddef.h>
static int task;
static struct ad_tape **slot(void)
{
    static struct ad_tape *of_task[2];
    return &of_task[task];
}
#define ADREV_CURRENT (*slot())
#endif
#define ADREV_IMPLEMENTATION
#include "adrev.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS = 5, VALUES = 60, ROOM = 1 << 16 };

static _Alignas(max_align_t) char memory[ROOM];
static _Alignas(max_align_t) char other[ROOM];

// Whether two derivatives differ by rounding only: `factor` such units.
static bool is_close(ad_real got, ad_real want, ad_real factor)
{
    const ad_real unit = sizeof got == 4 ? (ad_real)0x1p-23 : (ad_real)0x1p-52;
    ad_real size = want < 0 ? -want : want;
    ad_real off = got < want ? want - got : got - want;
    return off <= factor * (1 + size) * unit;
}

static ad_tape *begin(size_t bytes)
{
    memset(memory, 0xa5, sizeof memory);
    ad_tape *t = ad_tape_in(memory, bytes);
    ad_use(t);
    return t;
}

/* --- random programs ------------------------------------------------------ */

static unsigned state;

static unsigned draw(unsigned n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

static ad_real weight(void) { return (ad_real)(draw(2000) + 1) / 1000 - 1; }

// One statement of the values a, b and c, of any kind of number.
#define STEP(RECORD, which, a, b, c, w)                                     \
    ((which) == 0 ? RECORD(ad_add(ad_mul(a, b), ad_mul(w, c)))              \
     : (which) == 1 ? RECORD(ad_add(a, ad_mul(w, ad_sin(b))))               \
     : (which) == 2 ? RECORD(ad_mul(ad_tanh(ad_sub(a, b)), w))              \
     : (which) == 3 ? RECORD(ad_div(a, ad_add(ad_sqr(b), 2)))               \
     : (which) == 4 ? RECORD(ad_sub(ad_mul(a, w), ad_mul(w, a)))            \
     : RECORD(ad_select(ad_lt(a, b), ad_mul(c, w),                          \
                        ad_exp(ad_neg(ad_sqr(a))))))

// The program, on recorded or on forward numbers. Some operands are constants.
#define PROGRAM(name, number, RECORD)                                       \
    static number name(const number x[], unsigned seed)                     \
    {                                                                       \
        number v[VALUES];                                                   \
        state = seed;                                                       \
        memcpy(v, x, INPUTS * sizeof *v);                                   \
        for (unsigned i = INPUTS; i < VALUES; i++) {                        \
            unsigned which = draw(6);                                       \
            number a = v[draw(3) == 0 ? i - 1 : draw(i)];                   \
            number b = v[draw(i)];                                          \
            number c = v[draw(i)];                                          \
            ad_real w = weight();                                           \
            if (draw(8) == 0)                                               \
                b = (number){ .v = w };                                     \
            v[i] = STEP(RECORD, which, a, b, c, w);                         \
        }                                                                   \
        return v[VALUES - 1];                                               \
    }
PROGRAM(program_rev, ad_rev, ad_rec)
PROGRAM(program_fwd, ad_fwd, ad_dual)

static ad_status record_and_sweep(ad_tape *t, unsigned seed, ad_real g[])
{
    ad_real at[INPUTS];
    ad_rev x[INPUTS];
    for (int i = 0; i < INPUTS; i++)
        at[i] = (ad_real)(i + 1) / 4;
    ad_inputs(INPUTS, at, x);
    ad_rev y = program_rev(x, seed);
    return ad_gradient(t, y, INPUTS, x, g);
}

static void test_gradients(unsigned seed)
{
    ad_real g[INPUTS] = {0};
    ad_fwd x[INPUTS];
    ad_tape *t = begin(ROOM);
    ad_status status = record_and_sweep(t, seed, g);
    if (status == ADREV_EPASSIVE)
        return;
    CHECK(status == ADREV_OK, "program %u: %s", seed, ad_message(status));
    for (int k = 0; k < INPUTS; k++) {
        for (int i = 0; i < INPUTS; i++)
            x[i] = (ad_fwd){ (ad_real)(i + 1) / 4, i == k };
        ad_real want = program_fwd(x, seed).d;
        CHECK(is_close(g[k], want, 400), "program %u: derivative %d is %.9g, not "
              "%.9g", seed, k, (double)g[k], (double)want);
    }
}

// The bytes that a recording needs are enough, and eight bytes less are not.
static void test_exact_memory(unsigned seed)
{
    ad_real g[INPUTS] = {0};
    ad_real again[INPUTS] = {0};
    ad_tape *t = begin(ROOM);
    ad_status status = record_and_sweep(t, seed, g);
    size_t bytes = ad_tape_bytes(t);

    t = begin(bytes);
    CHECK(record_and_sweep(t, seed, again) == status,
          "program %u: %zu bytes should do: %s", seed, bytes,
          ad_message(ad_tape_status(t)));
    CHECK(memcmp(g, again, sizeof g) == 0, "program %u: other bits", seed);
    t = begin(bytes - 8);
    CHECK(record_and_sweep(t, seed, again) == ADREV_EFULL,
          "program %u: %zu bytes are too few", seed, bytes - 8);
    CHECK(ad_tape_missing(t) == 8, "program %u: %zu bytes are missing, not 8",
          seed, ad_tape_missing(t));
    ad_rev x = ad_input(1);
    CHECK(x.job == 0, "a tape that is full records nothing more");
    ad_tape_clear(t);
    CHECK(ad_tape_status(t) == ADREV_OK && ad_input(1).job != 0,
          "a tape that was cleared works again");
}

// Whatever the memory is, either all fits or the status says EFULL.
static void test_all_sizes(void)
{
    ad_real g[INPUTS] = {0};
    bool fits = false;
    for (size_t bytes = 0; bytes < 6000; bytes += 4) {
        ad_tape *t = begin(bytes);
        if (t == NULL) {
            CHECK(!fits, "%zu bytes make no tape, fewer did", bytes);
            continue;
        }
        fits = true;
        ad_status status = record_and_sweep(t, 3, g);
        CHECK(status == ADREV_OK || status == ADREV_EFULL, "%zu bytes: %s",
              bytes, ad_message(status));
        CHECK((unsigned char)memory[bytes] == 0xa5,
              "%zu bytes: something was written behind them", bytes);
    }
}

/* --- the life of a tape --------------------------------------------------- */

static void test_foreign(void)
{
    ad_real g = 0;
    ad_tape *t = begin(ROOM);
    ad_rev old = ad_input(2);
    ad_tape_clear(t);
    ad_rev x = ad_input(2);
    DROP(ad_rec(ad_mul(old, x)));
    CHECK(ad_tape_status(t) == ADREV_EFOREIGN, "a value from before a clear");
    ad_tape_clear(t);
    x = ad_input(3);
    CHECK(ad_gradient(t, old, 1, &x, &g) == ADREV_EFOREIGN, "a foreign result");
    ad_rev constant = { .v = 2 };
    CHECK(ad_gradient(t, constant, 1, &x, &g) == ADREV_EPASSIVE,
          "a constant result");
    CHECK(ad_gradient(t, x, 1, NULL, &g) == ADREV_ESHAPE, "no inputs");
    CHECK(ad_gradient(NULL, x, 1, &x, &g) == ADREV_ENOTAPE, "no tape");
    ad_use(NULL);
    ad_rev y = ad_rec(ad_mul(x, 2));
    CHECK(y.job == 0 && y.v == 6, "without a tape all are constants");
}

// Two tapes by turns, as a program and its interrupts use them: many recordings
// on each, so that their numbers come from several batches.
static void test_two_tapes(void)
{
    ad_tape *t = begin(ROOM);
    ad_tape *u = ad_tape_in(other, sizeof other);
    ad_rev x = ad_input(3);
    for (int i = 0; i < 700; i++) {
        ad_tape *before = ad_use(u);
        ad_tape_clear(u);
        ad_rev a = ad_input((ad_real)i);
        ad_rev b = ad_rec(ad_mul(a, ad_add(a, 1)));
        ad_real g = 0;
        CHECK(ad_gradient(u, b, 1, &a, &g) == ADREV_OK
                  && g == (ad_real)(2 * i + 1),
              "recording %d: %g", i, (double)g);
        CHECK(ad_gradient(u, x, 1, &a, &g) == ADREV_EFOREIGN,
              "recording %d: a value of another tape", i);
        ad_use(before);
        x = ad_rec(ad_mul(x, 1));
        if (i % 50 == 0) {
            ad_tape_clear(t);
            x = ad_input(3);
        }
    }
    CHECK(ad_tape_status(t) == ADREV_OK, "%s", ad_message(ad_tape_status(t)));
}

static void test_marks(void)
{
    ad_real g[2] = {0};
    ad_tape *t = begin(ROOM);
    ad_rev x[2] = { ad_input(2), ad_input(3) };
    ad_rev y = ad_rec(ad_mul(x[0], x[1]));
    ad_mark mark = ad_tape_mark(t);
    size_t bytes = ad_tape_bytes(t);
    for (int i = 0; i < 40; i++) {
        ad_rev z = ad_rec(ad_add(ad_mul(y, x[0]), ad_input((ad_real)i)));
        ad_rev sum = ad_rec(ad_mul(z, x[1]));
        CHECK(ad_gradient(t, sum, 2, x, g) == ADREV_OK && g[0] == 36
                  && g[1] == (ad_real)(24 + i),
              "turn %d: %g %g", i, (double)g[0], (double)g[1]);
        CHECK(ad_tape_rewind(t, mark) == ADREV_OK, "turn %d", i);
        CHECK(ad_tape_bytes(t) == bytes, "turn %d: memory comes back", i);
        CHECK(ad_gradient(t, z, 2, x, g) == ADREV_EFOREIGN,
              "turn %d: a value that was rewound", i);
    }
    for (int i = 0; ad_tape_status(t) == ADREV_OK; i++)
        y = ad_rec(ad_mul(y, x[0]));
    CHECK(ad_tape_status(t) == ADREV_EFULL, "a tape that is filled");
    CHECK(ad_tape_rewind(t, mark) == ADREV_OK
              && ad_tape_status(t) == ADREV_OK,
          "rewound to before the error");
    CHECK(ad_rec(ad_mul(x[0], x[1])).job != 0, "and recording again");
}

static void program(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_sin(x[1])));
    y[1] = ad_rec(ad_div(x[1], x[2]));
    y[2] = x[2];
    y[3] = ad_rec(ad_sqr(x[0]));
}

static ad_rev scalar(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_mul(ad_mul(x[0], x[1]), x[2]));
}

static void test_functions(void)
{
    const ad_real x[3] = { 2, (ad_real)0.5, 4 };
    ad_real y[4];
    ad_real J[12] = {0};
    ad_real g[3] = {0};
    ad_tape *t = begin(ROOM);
    size_t bytes = ad_tape_bytes(t);

    CHECK(ad_grad(scalar, NULL, 3, x, y, g) == ADREV_OK && y[0] == 4
              && g[0] == 2 && g[1] == 8 && g[2] == 1,
          "ad_grad: %g %g %g", (double)g[0], (double)g[1], (double)g[2]);
    CHECK(ad_jac(program, NULL, 3, x, 4, y, J) == ADREV_OK, "ad_jac");
    CHECK_CLOSE(J[0], sinl(0.5L), 2);
    CHECK_CLOSE(J[1], 2 * cosl(0.5L), 2);
    CHECK(J[2] == 0 && J[3] == 0 && J[4] == (ad_real)0.25
              && J[5] == (ad_real)-0.03125 && J[6] == 0 && J[7] == 0
              && J[8] == 1 && J[9] == 4 && J[10] == 0 && J[11] == 0,
          "the Jacobian's other elements");
    CHECK(ad_tape_bytes(t) == bytes, "the tape is as it was");
    ad_use(NULL);
    CHECK(ad_grad(scalar, NULL, 3, x, y, g) == ADREV_ENOTAPE,
          "ad_grad without a tape");
}

// More rows than columns: forward sweeps.
static void test_tall(void)
{
    ad_real J[20] = {0};
    ad_rev y[20];
    ad_tape *t = begin(ROOM);
    ad_rev x = ad_input(3);
    for (int i = 0; i < 20; i++)
        y[i] = ad_rec(ad_mul(ad_sqr(x), (ad_real)i));
    CHECK(ad_jacobian(t, 20, y, 1, &x, J) == ADREV_OK, "a tall Jacobian");
    for (int i = 0; i < 20; i++)
        CHECK(J[i] == (ad_real)(6 * i), "row %d: %g", i, (double)J[i]);
    ad_real dx = 2;
    ad_real dy[20] = {0};
    CHECK(ad_pushforward(t, 1, &x, &dx, 20, y, dy) == ADREV_OK && dy[3] == 36,
          "a pushforward");
}

// What the inlined code leaves to tape/apart.
static void test_unusual(void)
{
    ad_real g[2] = {0};
    ad_tape *t = begin(ROOM);
    ad_rev x[2] = { ad_input(0), ad_input(2) };
    ad_rev zero = { .v = 0 };
    ad_rev y = ad_rec(ad_add(ad_mul(ad_mul(ad_sqrt(x[0]), zero), x[1]), x[1]));
    CHECK(ad_gradient(t, y, 2, x, g) == ADREV_OK && g[0] == 0 && g[1] == 1,
          "0 times infinity: %g %g", (double)g[0], (double)g[1]);
    y = ad_rec(ad_sqrt(x[0]));
    CHECK(ad_gradient(t, y, 1, x, g) == ADREV_OK && g[0] > 0 && g[0] * 0 != 0,
          "the slope of sqrt at 0: %g", (double)g[0]);
    y = ad_rec(ad_mul(x[0], x[0]));
    y = ad_rec(ad_mul(y, (ad_real)INFINITY));
    CHECK(ad_gradient(t, y, 1, x, g) == ADREV_OK && g[0] == 0,
          "a zero partial of an infinite adjoint: %g", (double)g[0]);
    ad_rev sum = ad_rec(0);
    for (int i = 1; i <= 4; i++)
        ad_acc(&sum, ad_mul(x[1], (ad_real)i));
    CHECK(ad_gradient(t, sum, 2, x, g) == ADREV_OK && g[0] == 0 && g[1] == 10,
          "a running sum: %g", (double)g[1]);
}

#ifdef FIXED_TASKS
// Each task has its own current tape, whatever the other one does in between.
static void test_tasks(void)
{
    ad_real g = 0;
    ad_rev x[2];
    ad_rev y[2];
    ad_tape *t[2] = { begin(ROOM), ad_tape_in(other, sizeof other) };
    task = 1;
    DROP(ad_input(1));
    CHECK(ad_use(t[1]) == NULL, "a task begins without a tape");
    for (task = 0; task < 2; task++)
        y[task] = x[task] = ad_input((ad_real)(task + 2));
    for (int i = 0; i < 40; i++) {
        task = i % 2;
        y[task] = ad_rec(ad_mul(y[task], ad_sub(x[task], 1)));
        CHECK(ad_tape_status(t[task]) == ADREV_OK, "step %d", i);
    }
    task = 1;
    CHECK(ad_gradient(t[1], y[1], 1, &x[1], &g) == ADREV_OK
              && y[1].v == 3 << 20 && g == (1 << 20) + (60 << 19),
          "task 1: %g", (double)g);
    task = 0;
    CHECK(ad_gradient(t[0], y[0], 1, &x[0], &g) == ADREV_OK && y[0].v == 2
              && g == 1 + 2 * 20,
          "task 0: %g", (double)g);
    task = 1;
    ad_use(NULL);
    task = 0;
}
#endif

/* --- array and external statements ---------------------------------------- */

#if ADREV_FIXED < 2
static bool pull(const void *saved, size_t m, const ad_real dy[], size_t n,
                 ad_real dx[])
{
    const ad_real *factor = (const ad_real *)saved;
    for (size_t i = 0; i < m && i < n; i++)
        dx[i] += *factor * dy[i];
    return true;
}

static ad_rev network(const ad_rev p[], const ad_rev x[])
{
    static const ad_external_rule rule = { .pullback = pull };
    const ad_real factor = 3;
    ad_rev h[4];
    ad_rev soft[4];
    ad_real v[4];

    ad_matvec(4, 3, p, x, h);
    ad_each(ADREV_OP_tanh, 4, h, NULL, NULL, h);
    ad_softmax(4, h, soft);
    for (int i = 0; i < 4; i++)
        v[i] = 3 * soft[i].v;
    ad_external(&rule, &factor, sizeof factor, 4, soft, 4, v, soft);
    return ad_rec(ad_add(ad_dot(4, soft, p + 12), ad_norm2(16, p)));
}

// The same, of single statements.
static ad_rev network_by_hand(const ad_rev p[], const ad_rev x[])
{
    ad_rev h[4];
    ad_rev total = ad_rec(0);
    ad_rev y = ad_rec(0);
    ad_rev size = ad_rec(0);
    for (int i = 0; i < 4; i++) {
        h[i] = ad_rec(0);
        for (int j = 0; j < 3; j++)
            ad_acc(&h[i], ad_mul(p[3 * i + j], x[j]));
        h[i] = ad_rec(ad_exp(ad_tanh(h[i])));
        ad_acc(&total, h[i]);
    }
    for (int i = 0; i < 4; i++)
        ad_acc(&y, ad_mul(ad_mul(3, ad_div(h[i], total)), p[12 + i]));
    for (int i = 0; i < 16; i++)
        ad_acc(&size, ad_sqr(p[i]));
    return ad_rec(ad_add(y, ad_sqrt(size)));
}

static ad_status record_network(ad_tape *t, bool by_hand, ad_real g[])
{
    ad_rev in[19];
    for (int i = 0; i < 19; i++)
        in[i] = ad_input((ad_real)(i * 7 % 11) / 8 - (ad_real)0.5);
    ad_rev y = (by_hand ? network_by_hand : network)(in, in + 16);
    return ad_gradient(t, y, 19, in, g);
}

static void test_arrays(void)
{
    ad_real g[19] = {0};
    ad_real want[19] = {0};
    ad_tape *t = begin(ROOM);
    CHECK(record_network(t, true, want) == ADREV_OK, "single statements");
    t = begin(ROOM);
    ad_status status = record_network(t, false, g);
    CHECK(status == ADREV_OK, "array statements: %s", ad_message(status));
    size_t bytes = ad_tape_bytes(t);
    for (int i = 0; i < 19; i++) {
        CHECK(is_close(g[i], want[i], 40), "derivative %d is %.9g, not %.9g",
              i, (double)g[i], (double)want[i]);
    }
    t = begin(bytes);
    CHECK(record_network(t, false, g) == ADREV_OK, "%zu bytes should do",
          bytes);
    for (size_t less = 8; less < bytes - 1000; less += 8) {
        t = begin(bytes - less);
        status = t == NULL ? ADREV_EFULL : record_network(t, false, g);
        CHECK(status == ADREV_EFULL, "%zu bytes less: %s", less,
              ad_message(status));
        CHECK((unsigned char)memory[bytes - less] == 0xa5,
              "%zu bytes less: something was written behind them", less);
    }
}
// A matrix whose numbers are inputs in many orders, times a vector: the partial
// of w'Ax with respect to A[i,j] is w[i] x[j], wherever the number stands.
static void test_spacing(void)
{
    enum { M = 3, N = 4, ALL = 2 * M * N };
    static const ad_real w[M] = { 1, -2, 4 }, v[N] = { 3, 5, -1, 8 };
    for (size_t odd = 0; odd < 3 * M * N; odd++) {
        ad_tape *t = begin(ROOM);
        ad_rev in[ALL], a[M * N], x[N], y[M];
        ad_real zero[ALL] = {0}, got[ALL], want[ALL] = {0};
        ad_inputs(ALL, zero, in);
        for (size_t i = 0; i < N; i++)
            x[i] = (ad_rev){ .v = v[i] };
        for (size_t i = 0; i < M * N; i++) {    // rows, columns, every other one
            size_t at = odd < M * N ? i : odd < 2 * M * N ? i % N * M + i / N
                                                          : 2 * i;
            if (i == odd % (M * N))             // and one that stands apart
                at = (at + 5) % (M * N);
            a[i] = in[at];
            want[at] += w[i / N] * v[i % N];
        }
        ad_matvec(M, N, a, x, y);
        CHECK(ad_gradient(t, ad_dotc(M, y, w), ALL, in, got) == ADREV_OK,
              "order %zu", odd);
        for (size_t i = 0; i < ALL; i++)
            CHECK(is_close(got[i], want[i], 4), "order %zu, input %zu: %g %g",
                  odd, i, (double)got[i], (double)want[i]);
    }
}

// One number, whatever its stride: nothing lies beside it.
static void test_single_elements(void)
{
    static const ptrdiff_t inc[5] = { 1, -1, 0, 1 << 20, PTRDIFF_MAX };
    for (size_t k = 0; k < 5; k++) {
        ad_tape *t = begin(ROOM);
        ad_rev *x = malloc(sizeof *x);
        ad_rev *y = malloc(sizeof *y);
        ad_real g = 0;
        if (x != NULL && y != NULL) {
            *x = ad_input(3);
            ad_each_s(ADREV_OP_mul, 1, x, inc[k], x, inc[k], NULL, 0, y, inc[k]);
            ad_matvec_s(1, 1, x, inc[k], inc[k], y, inc[k], y, inc[k]);
            const ad_rev sum = ad_sum_s(1, y, inc[k]);
            *y = ad_dot_s(1, &sum, inc[k], x, inc[k]);
            CHECK(ad_gradient(t, *y, 1, x, &g) == ADREV_OK && y->v == 81
                      && g == 4 * 27,
                  "stride %td: x^4 is %g, its slope %g", inc[k],
                  (double)y->v, (double)g);
        }
        free(x);
        free(y);
    }
}

// One number as all elements, which stride 0 makes of it; also of an array that
// is too long, which must return at once.
static void test_stride_of_zero(void)
{
    ad_tape *t = begin(ROOM);
    ad_real g[2] = { 0, 0 };
    const ad_rev x[2] = { ad_input(3), ad_input(5) };
    const ad_rev three = ad_sum_s(3, x, 0);
    const ad_rev y = ad_rec(ad_add(three, ad_dot_s(3, x, 0, x + 1, 0)));
    CHECK(ad_gradient(t, y, 2, x, g) == ADREV_OK && y.v == 9 + 45
              && g[0] == 3 + 15 && g[1] == 9,
          "stride 0: %g, its slopes %g %g", (double)y.v, (double)g[0],
          (double)g[1]);
    const volatile size_t n = SIZE_MAX;
    const ad_rev most = ad_sum_s(n, x, 0);
    CHECK(ad_tape_status(t) != ADREV_OK, "SIZE_MAX times x is %g",
          (double)most.v);
}

#if ADREV_COUNT
// What is done for partials, for a scale and for a list of ids with a constant.
static void test_counts(void)
{
    static const ad_real at[4] = { 1, 2, 3, 4 };
    static const ad_real c[4] = { 2, 3, 4, 5 };
    ad_tape *t = begin(ROOM);
    ad_rev x[4], h[4];
    ad_real g[4];
    ad_inputs(4, at, x);
    ad_each(ADREV_OP_sqr, 4, x, NULL, NULL, h);
    const ad_rev y = ad_rec(ad_add(ad_dotc(4, h, c), ad_sum(4, x)));
    ad_counts = (ad_count_both){0};
    CHECK(ad_gradient(t, y, 4, x, g) == ADREV_OK, "squares and a sum");
    // y: 2 written. The sum: 4; squares by c: 4, each by its factor; squares:
    // 4, each by its partial, and added to what the sum gave.
    CHECK(ad_counts.reverse.written == 14 && ad_counts.reverse.mul == 8
              && ad_counts.reverse.add == 4,
          "%d written, %d products, %d sums", (int)ad_counts.reverse.written,
          (int)ad_counts.reverse.mul, (int)ad_counts.reverse.add);

    t = begin(ROOM);
    ad_inputs(3, at, x);
    x[3] = x[1];
    x[1] = (ad_rev){ .v = 5 };
    const ad_rev sum = ad_dotc(4, x, c);
    ad_counts = (ad_count_both){0};
    CHECK(ad_gradient(t, sum, 1, x, g) == ADREV_OK, "a list");
    CHECK(ad_counts.reverse.written == 3 && ad_counts.reverse.mul == 3
              && ad_counts.reverse.add == 0,
          "a list: %d written, %d products, %d sums",
          (int)ad_counts.reverse.written, (int)ad_counts.reverse.mul,
          (int)ad_counts.reverse.add);
}
#endif

// Zero absorbs what is not finite: a partial, an element, an adjoint.
static void test_zero_factors(void)
{
    const ad_real infinite = (ad_real)INFINITY;
    const ad_real at[6] = { 0, 4, infinite, 2, 0, 3 };
    static const ad_real c[3] = { 0, 1, 0 };
    ad_tape *t = begin(ROOM);
    ad_rev x[6], h[3], d[2] = { { .v = 1 }, { .v = 1 } };
    ad_real g[6];
    ad_inputs(6, at, x);
    ad_each(ADREV_OP_sqrt, 3, x, NULL, NULL, h);
    CHECK(ad_gradient(t, ad_dotc(3, h, c), 3, x, g) == ADREV_OK, "roots");
    CHECK(g[0] == 0 && g[1] == (ad_real)0.25 && g[2] == 0, "roots: %g %g %g",
          (double)g[0], (double)g[1], (double)g[2]);

    ad_matvec(2, 2, x, x + 3, h);           // rows (0, 4), (inf, 2) by (2, 0)
    CHECK(ad_gradient(t, h[0], 6, x, g) == ADREV_OK && g[3] == 0 && g[4] == 4
          && g[0] == 2 && g[1] == 0 && g[2] == 0, "a row without infinity");
    ad_rev y = ad_rec(ad_mul(h[0], infinite));
    CHECK(ad_gradient(t, y, 6, x, g) == ADREV_OK && g[0] == infinite
          && g[1] == 0 && g[3] == 0 && g[4] == infinite,
          "an infinite adjoint: %g %g %g %g", (double)g[0], (double)g[1],
          (double)g[3], (double)g[4]);
    y = ad_rec(ad_mul(ad_dot(2, x, x + 3), infinite));
    CHECK(ad_gradient(t, y, 6, x, g) == ADREV_OK && g[0] == infinite
          && g[1] == 0 && g[3] == 0 && g[4] == infinite,
          "an infinite adjoint of a scalar product: %g %g %g %g", (double)g[0],
          (double)g[1], (double)g[3], (double)g[4]);
    ad_trimatvec(2, d, x, x + 4, h);        // l = 0, x = (0, 3)
    y = ad_rec(ad_mul(h[1], infinite));
    CHECK(ad_gradient(t, y, 6, x, g) == ADREV_OK && g[0] == 0 && g[4] == 0
          && g[5] == infinite, "a triangle: %g %g %g", (double)g[0],
          (double)g[4], (double)g[5]);
}

enum {
    MIXED_M = 3,
    MIXED_N = 4,
    MIXED_ALL = MIXED_N - 1 + (MIXED_M + 1) * MIXED_N,
    MIXED_KINDS = 5,
    MIXED_RESULTS = (MIXED_M + 3) * MIXED_M + 4
};

// Rows of all kinds: inputs, constants, one input again and again, inputs and
// constants by turns in both ways. The ids that rows 1, 2, 3 and 0 begin with
// are multiples of the first one, so that a row may begin where id 0 would
// follow.
typedef ad_rev mixed_rows[MIXED_M + 1][MIXED_N + 1];

static void fill_mixed(mixed_rows a, unsigned kinds, const ad_rev in[])
{
    for (unsigned i = 0; i <= MIXED_M; i++, kinds /= MIXED_KINDS)
        for (unsigned j = 0; j < MIXED_N; j++) {
            const unsigned kind = kinds % MIXED_KINDS;
            const unsigned at = MIXED_N - 1 + (i + MIXED_M) % 4 * MIXED_N;
            a[i][j] = in[kind == 2 ? at - 1 : at + j];
            if (kind == 1 || (kind > 2 && j % 2 == kind % 2))
                a[i][j] = (ad_rev){ .v = a[i][j].v };
        }
}

// Matrices of m rows: from row 1 on, the same one stored by columns, from row 2
// backwards, and the first one times its transpose.
static void mixed_products(size_t m, mixed_rows a, ad_rev y[])
{
    enum { M = MIXED_M, N = MIXED_N, ROW = MIXED_N + 1 };
    ad_rev columns[MIXED_N][MIXED_M], each[MIXED_N];
    for (size_t j = 0; j < N; j++)
        for (size_t i = 0; i < M; i++)
            columns[j][i] = a[i + 1][j];
    ad_matvec_s(m, N, a[1], ROW, 1, a[0], 1, y, 1);
    ad_matvec_s(m, N, columns[0], 1, M, a[0], 1, y + M, 1);
    ad_matvec_s(m, N, a[2], -ROW, 1, a[3], 1, y + 2 * M, 1);
    ad_matmul_s(m, N, m, a[1], ROW, 1, a[1], 1, ROW, y + 3 * M, M, 1);
    y += (M + 3) * M;
    y[0] = ad_dot(N, a[0], a[0]);
    y[1] = ad_dot_s(N, a[1] + N - 1, -1, a[0], 1);
    y[2] = ad_dot_s(N / 2, a[0], 2, a[1] + 1, 2);
    ad_each(ADREV_OP_sub, N, a[1], a[0], NULL, each);
    ad_each(ADREV_OP_sqr, N, each, NULL, NULL, each);
    y[3] = ad_sum(N, each);
}

// The same by statements of single numbers.
static void mixed_products_by_hand(size_t m, mixed_rows a, ad_rev y[])
{
    enum { M = MIXED_M, N = MIXED_N };
    ad_rev *rest = y + (M + 3) * M;
    for (size_t j = 0; j < N; j++) {
        for (size_t i = 0; i < m; i++) {
            const ad_rev x = a[i + 1][j];
            ad_acc(&y[i], ad_mul(x, a[0][j]));
            ad_acc(&y[M + i], ad_mul(x, a[0][j]));
            ad_acc(&y[2 * M + i], ad_mul(a[2 - i][j], a[3][j]));
            for (size_t k = 0; k < m; k++)
                ad_acc(&y[(3 + i) * M + k], ad_mul(x, a[k + 1][j]));
        }
        ad_acc(&rest[0], ad_sqr(a[0][j]));
        ad_acc(&rest[1], ad_mul(a[1][N - 1 - j], a[0][j]));
        if (j % 2 == 0)
            ad_acc(&rest[2], ad_mul(a[0][j], a[1][j + 1]));
        ad_acc(&rest[3], ad_sqr(ad_sub(a[1][j], a[0][j])));
    }
}

static ad_rev mixed_sum(bool by_hand, size_t m, mixed_rows a)
{
    ad_rev y[MIXED_RESULTS] = { { .v = 0 } }, sum = { .v = 0 };
    if (by_hand)
        mixed_products_by_hand(m, a, y);
    else
        mixed_products(m, a, y);
    for (int i = 0; i < MIXED_RESULTS; i++)
        ad_acc(&sum, ad_mul(y[i], i + 1));
    return sum;
}

// All numbers are whole, so the results are the same in any order.
static void test_mixtures(size_t m)
{
    enum { K = MIXED_KINDS, N = MIXED_ALL };
    for (unsigned kinds = 0; kinds < K * K * K * K; kinds++) {
        ad_tape *t = begin(ROOM);
        mixed_rows a;
        ad_rev in[N];
        ad_real at[N], g[N], want[N];
        for (int i = 0; i < N; i++)
            at[i] = (ad_real)(i * i % 7 - 3);
        ad_inputs(N, at, in);
        fill_mixed(a, kinds, in);
        const ad_rev one = mixed_sum(true, m, a);
        const ad_rev y = mixed_sum(false, m, a);
        if (y.job == 0) {
            CHECK(one.job == 0 && y.v == one.v, "constants %u", kinds);
            continue;
        }
        CHECK(ad_gradient(t, one, N, in, want) == ADREV_OK
              && ad_gradient(t, y, N, in, g) == ADREV_OK && y.v == one.v
              && memcmp(g, want, sizeof g) == 0, "%zu rows of kinds %u: %g, %g",
              m, kinds, (double)y.v, (double)one.v);
    }
}

// Elements with strides, in place, beside the same operations one by one.
static void test_strides(void)
{
    enum { N = 5, ALL = 3 * N };
    static const ptrdiff_t inc[4] = { 1, 2, -1, 0 };
    for (size_t k = 0; k < 64; k++) {
        ad_tape *t = begin(ROOM);
        const ptrdiff_t ia = inc[k % 4], ib = inc[k / 4 % 4], ic = inc[k / 16];
        ad_rev x[ALL], h[2 * N], sum = {0};
        ad_real at[ALL], g[ALL], want[ALL];
        for (size_t i = 0; i < ALL; i++)
            at[i] = (ad_real)(i % 7) / 8 - (ad_real)0.25;
        ad_inputs(ALL, at, x);
        const ad_rev *a = ia < 0 ? x + N : x, *b = ib < 0 ? x + ALL - 1 : x + N;
        const ptrdiff_t iy = ic == 0 ? 2 : ic;
        ad_rev *y = iy < 0 ? h + N - 1 : h;
        for (ptrdiff_t i = 0; i < N; i++)
            y[i * iy] = a[i * ia];
        ad_each_s(ADREV_OP_fma, N, y, iy, b, ib, a, ia, y, iy);
        ad_each_s(ADREV_OP_sub, N, y, iy, b, ib, NULL, 0, y, iy);
        for (ptrdiff_t i = 0; i < N; i++)
            ad_acc(&sum, ad_mul((ad_real)(i + 1), y[i * iy]));
        CHECK(ad_gradient(t, sum, ALL, x, g) == ADREV_OK, "strides %zu", k);
        sum = (ad_rev){0};
        for (ptrdiff_t i = 0; i < N; i++) {
            const ad_rev p = ad_rec(ad_fma(a[i * ia], b[i * ib], a[i * ia]));
            const ad_rev q = ad_rec(ad_sub(p, b[i * ib]));
            CHECK(q.v == y[i * iy].v, "strides %zu: value %td", k, i);
            ad_acc(&sum, ad_mul((ad_real)(i + 1), q));
        }
        CHECK(ad_gradient(t, sum, ALL, x, want) == ADREV_OK, "one by one");
        for (size_t i = 0; i < ALL; i++)
            CHECK(is_close(g[i], want[i], 40), "strides %zu, input %zu: %g %g",
                  k, i, (double)g[i], (double)want[i]);
    }
}

// Values from before and behind a mark have one job; those behind it are gone
// after a rewind, and an array that begins with the others does not hide them.
static void test_rewound_arrays(void)
{
    static const ad_real v[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    ad_tape *t = begin(ROOM);
    ad_rev x[8], fresh[4];
    ad_real g[4] = {0};
    ad_inputs(4, v, x);
    ad_mark mark = ad_tape_mark(t);
    ad_inputs(4, v + 4, x + 4);
    CHECK(ad_tape_rewind(t, mark) == ADREV_OK, "rewind");
    ad_rev sum = ad_sum(4, x);
    CHECK(ad_gradient(t, sum, 4, x, g) == ADREV_OK && g[3] == 1,
          "what stood before the mark");
    ad_inputs(4, v, fresh);
    sum = ad_sum(8, x);
    CHECK(ad_gradient(t, sum, 4, fresh, g) == ADREV_EFOREIGN,
          "values that were rewound, in an array: %s",
          ad_message(ad_tape_status(t)));
}

// An external statement that is recorded can be swept, in memory of every size:
// otherwise the tape is full, and says how much is missing.
static void test_external_of_all_sizes(void)
{
    enum { N = 20 };
    static const ad_external_rule rule = { .pullback = pull };
    static const ad_real two = 2, v[N] = {0};
    unsigned recorded = 0;
    for (size_t bytes = 400; bytes <= 3000; bytes += 8) {
        ad_tape *t = begin(bytes);
        ad_rev x[N], y[N];
        ad_real g[N];
        if (t == NULL)
            continue;
        ad_inputs(N, v, x);
        ad_ignore(ad_external(&rule, &two, sizeof two, N, x, N, v, y));
        const ad_status status = ad_tape_status(t);
        if (status == ADREV_OK) {
            recorded++;
            CHECK(ad_gradient(t, y[3], N, x, g) == ADREV_OK && g[3] == 2,
                  "%zu bytes: recorded, but not swept", bytes);
        } else
            CHECK(status == ADREV_EFULL && ad_tape_missing(t) > 0,
                  "%zu bytes: %s", bytes, ad_message(status));
    }
    CHECK(recorded > 100, "recorded in %u sizes", recorded);
}

// Array statements write nothing behind the memory of their tape.
static void test_full_of_arrays(void)
{
    for (size_t bytes = 0; bytes < 2000; bytes += 8) {
        ad_tape *t = begin(bytes);
        ad_rev x[8];
        ad_real g[8], c[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
        if (t == NULL)
            continue;
        ad_inputs(8, c, x);
        ad_each(ADREV_OP_sqr, 8, x, NULL, NULL, x);
        const ad_status status = ad_gradient(t, ad_sum(8, x), 8, x, g);
        CHECK(status == ADREV_OK || status == ADREV_EFULL
              || status == ADREV_ENOMEM, "%zu bytes: %d", bytes, (int)status);
        for (size_t i = bytes; i < sizeof memory; i++)
            if (memory[i] != (char)0xa5) {
                CHECK(false, "%zu bytes: byte %zu is written", bytes, i);
                break;
            }
    }
}
#endif

int main(void)
{
    for (unsigned seed = 1; seed <= 300; seed++) {
        test_gradients(seed);
        test_exact_memory(seed);
    }
    test_all_sizes();
    test_foreign();
    test_two_tapes();
    test_marks();
    test_functions();
    test_tall();
    test_unusual();
#ifdef FIXED_TASKS
    test_tasks();
#endif
#if ADREV_FIXED < 2
    test_arrays();
    test_spacing();
    test_single_elements();
    test_stride_of_zero();
#if ADREV_COUNT
    test_counts();
#endif
    test_zero_factors();
    test_mixtures(2);
    test_mixtures(3);
    test_strides();
    test_full_of_arrays();
    test_rewound_arrays();
    test_external_of_all_sizes();
#endif
    return check_done("fixed");
}
