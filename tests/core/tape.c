// SPDX-License-Identifier: MIT-0
// tags:
// flags:
/* tape.c - the life of a recording: growing and fixed memory, sizes, reserve,
 * clear, marks, several tapes, and what may be asked of one recording. Runs
 * with ADREV_REAL=float, too. hostile.c runs the same with memory that
 * notices every wrong access.
 *
 * Programs are random. The test keeps its own list of partials and sweeps it
 * itself; with each adjoint it sums the magnitudes of what was added, so that
 * cancellation is no excuse and no error.                                   */

#include "implementation.h"
#include "adrev.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- memory that counts --------------------------------------------------- */

static size_t allocations;
static size_t frees;

#ifndef TAPE_NAME
#define TAPE_NAME "tape"

static void *tape_alloc(size_t bytes, void *user)
{
    (void)user;
    allocations++;
    return malloc(bytes);
}

static void tape_free(void *block, void *user)
{
    (void)user;
    frees++;
    free(block);
}

static void tape_inspect(void) { }
#else
// in hostile.c
static void *tape_alloc(size_t bytes, void *user);
static void tape_free(void *block, void *user);
static void tape_inspect(void);
#endif

static ad_tape *new_tape(void)
{
    const ad_allocator allocator = { tape_alloc, tape_free, NULL };
    ad_tape *t = ad_tape_new_with(&allocator);
    ad_use(t);
    return t;
}

/* --- random programs ------------------------------------------------------ */

enum {
    MOST = 3000,            // values of one program
    WIDE = 16,              // operands of the widest operation
    INPUT = 0
};

typedef struct node {
    int n;                  // 0: an input
    int arg[WIDE];
    double d[WIDE];
} node;

typedef struct program {
    uint32_t random;
    int count;
    ad_rev x[MOST];
    node node[MOST];
} program;

static uint32_t next(program *p, uint32_t below)
{
    p->random ^= p->random << 13;
    p->random ^= p->random >> 17;
    p->random ^= p->random << 5;
    return p->random % below;
}

static void begin(program *p, uint32_t seed)
{
    p->random = seed * 2654435761u + 12345;
    p->count = 0;
}

static void append(program *p, ad_rev x, node n)
{
    p->x[p->count] = x;
    p->node[p->count] = n;
    p->count++;
}

static void add_input(program *p)
{
    ad_real v = (ad_real)((double)next(p, 2001) / 1000 - 1);
    append(p, ad_input(v), (node){ .n = INPUT });
}

// A recent value more often than an old one; there is one.
static int any(program *p)
{
    uint32_t count = (uint32_t)p->count;
    if (count > 8 && next(p, 2) == 0)
        return p->count - 1 - (int)next(p, 8);
    return (int)next(p, count);
}

static void add_average(program *p)
{
    int a = any(p);
    int b = any(p);
    int c = any(p);
    ad_rev y = ad_rec(ad_add(ad_mul((ad_real)0.5, p->x[a]),
                             ad_div(ad_sub(p->x[b], p->x[c]), 4)));
    append(p, y, (node){ 3, { a, b, c }, { 0.5, 0.25, -0.25 } });
}

static void add_product(program *p)
{
    int a = any(p);
    int b = any(p);
    double va = (double)p->x[a].v;
    double vb = (double)p->x[b].v;
    ad_rev y = ad_rec(ad_mul(ad_mul(p->x[a], p->x[b]), (ad_real)0.5));
    append(p, y, (node){ 2, { a, b }, { 0.5 * vb, 0.5 * va } });
}

static void add_affine(program *p)
{
    int a = any(p);
    ad_rev shift = { .v = (ad_real)0.25 };     // a constant
    ad_rev y = ad_rec(ad_add(ad_mul(p->x[a], (ad_real)-0.75), shift));
    append(p, y, (node){ 1, { a }, { -0.75 } });
}

static void add_sine(program *p)
{
    int a = any(p);
    ad_rev y = ad_rec(ad_sin(p->x[a]));
    append(p, y, (node){ 1, { a }, { cos((double)p->x[a].v) } });
}

// A few terms of a sum that starts with a constant.
static void add_sum(program *p)
{
    int terms = 1 + (int)next(p, 6);
    ad_rev s = { 0 };
    for (int i = 0; i < terms; i++) {
        int a = any(p);
        ad_acc(&s, ad_mul(p->x[a], (ad_real)0.125));
        node n = { 1, { a }, { 0.125 } };
        if (i > 0) {
            n.arg[n.n] = p->count - 1;
            n.d[n.n++] = 1;
        }
        append(p, s, n);
    }
}

// More operands than one statement has room for, some of them twice.
static void add_wide(program *p)
{
    node n = { .n = WIDE };
    ad_rev x[WIDE];
    for (int i = 0; i < WIDE; i++) {
        n.arg[i] = any(p);
        n.d[i] = i % 2 == 0 ? 0.0625 : -0.0625;
        x[i] = p->x[n.arg[i]];
    }
#define PAIR(i) ad_sub(x[2 * (i)], x[2 * (i) + 1])
#define FOUR(i) ad_add(PAIR(2 * (i)), PAIR(2 * (i) + 1))
    ad_rev y = ad_rec(ad_mul(ad_add(ad_add(FOUR(0), FOUR(1)),
                                    ad_add(FOUR(2), FOUR(3))),
                             (ad_real)0.0625));
#undef PAIR
#undef FOUR
    append(p, y, n);
}

static void step(program *p)
{
    switch (p->count == 0 ? 0 : next(p, 12)) {
    case 0: add_input(p); break;
    case 1: add_sine(p); break;
    case 2: add_sum(p); break;
    case 3: add_wide(p); break;
    case 4:
    case 5:
    case 6: add_affine(p); break;
    case 7:
    case 8: add_product(p); break;
    default: add_average(p); break;
    }
}

static void steps(program *p, int n)
{
    for (int i = 0; i < n && p->count < MOST - 10; i++)
        step(p);
}

/* --- the other sweep ------------------------------------------------------ */

static double adjoint[MOST];
static double magnitude[MOST];

static void sweep_back(const program *p)
{
    for (int i = p->count - 1; i >= 0; i--)
        for (int k = 0; k < p->node[i].n; k++) {
            int arg = p->node[i].arg[k];
            adjoint[arg] += adjoint[i] * p->node[i].d[k];
            magnitude[arg] += magnitude[i] * fabs(p->node[i].d[k]);
        }
}

static void seed_none(void)
{
    memset(adjoint, 0, sizeof adjoint);
    memset(magnitude, 0, sizeof magnitude);
}

static void seed(int i, double weight)
{
    adjoint[i] += weight;
    magnitude[i] += fabs(weight);
}

static void check_adjoint(int i, ad_real got, const char *what)
{
    bool single = sizeof(ad_real) == sizeof(float);
    double eps = single ? (double)FLT_EPSILON : DBL_EPSILON;
    double least = single ? (double)FLT_MIN : DBL_MIN;
    double off = fabs((double)got - adjoint[i]);
    // One rounding in each of at most MOST steps; some underflow.
    double allowed = MOST * (eps * magnitude[i] + least);
    CHECK(off <= allowed,
          "%s: adjoint of value %d: got %.17g, want %.17g +- %.3g", what, i,
          (double)got, adjoint[i], allowed);
}

// With respect to everything: inputs and what was computed from them.
static ad_status check_gradient(ad_tape *t, const program *p, int y,
                                const char *what)
{
    static ad_real g[MOST];
    ad_status s = ad_gradient(t, p->x[y], (size_t)p->count, p->x, g);
    if (s != ADREV_OK)
        return s;
    seed_none();
    seed(y, 1);
    sweep_back(p);
    for (int i = 0; i < p->count; i++)
        check_adjoint(i, g[i], what);
    return s;
}

static void gradient_is_right(ad_tape *t, const program *p, const char *what)
{
    if (p->count == 0)
        return;
    ad_status s = check_gradient(t, p, p->count - 1, what);
    CHECK(s == ADREV_OK, "%s: got \"%s\"", what, ad_message(s));
}

/* --- sizes ---------------------------------------------------------------- */

static program a_program;
static program another;

static int size_of_run(uint32_t seed_)
{
    return 1 + (int)(seed_ * 7 % 120);
}

static ad_status run_in(void *buffer, size_t bytes, uint32_t seed_)
{
    ad_tape *t = ad_tape_in(buffer, bytes);
    if (t == NULL)
        return ADREV_EFULL;
    ad_use(t);
    begin(&another, seed_);
    steps(&another, size_of_run(seed_));
    ad_status s = ad_tape_status(t);
    if (s == ADREV_OK)
        s = check_gradient(t, &another, another.count - 1, "fixed memory");
    if (s == ADREV_OK) {
        size_t again = ad_tape_bytes(t);
        CHECK(again == bytes || again < bytes, "%zu bytes want %zu", bytes,
              again);
        CHECK(ad_tape_stats(t).bytes_held <= bytes, "it holds more than all");
    }
    ad_tape_free(t);
    return s;
}

// Exactly as many bytes do, and no fewer; where the buffer begins at an odd
// address, as many more as it takes to the next round one.
static void test_bytes(void)
{
    static _Alignas(64) unsigned char buffer[200000];
    ad_tape *t = new_tape();
    for (uint32_t i = 1; i <= 400; i++) {
        ad_use(t);
        ad_tape_clear(t);
        begin(&a_program, i);
        steps(&a_program, size_of_run(i));
        gradient_is_right(t, &a_program, "growing memory");
        size_t bytes = ad_tape_bytes(t);
        ad_status s = run_in(buffer, bytes, i);
        CHECK(s == ADREV_OK, "program %u in its %zu bytes: got \"%s\"",
              (unsigned)i, bytes, ad_message(s));
        s = run_in(buffer, bytes - 8, i);
        CHECK(s == ADREV_EFULL, "program %u in %zu - 8 bytes: got \"%s\"",
              (unsigned)i, bytes, ad_message(s));
        s = run_in(buffer + i % 16, bytes + 16, i);
        CHECK(s == ADREV_OK, "program %u, %u bytes off: got \"%s\"",
              (unsigned)i, (unsigned)i % 16, ad_message(s));
    }
    ad_tape_free(t);
}

// 1 operand or 2 in each of n statements: the size of an operand, and of a
// statement with its adjoint, to the byte.
static size_t bytes_of(ad_tape *t, int statements, bool two)
{
    ad_tape_clear(t);
    ad_rev x = ad_input(1);
    ad_rev z = ad_input(1);
    ad_rev y = x;
    for (int i = 0; i < statements; i++)
        y = two ? ad_rec(ad_mul(x, z)) : ad_rec(ad_sin(x));
    CHECK(y.v > 0, "got %g", (double)y.v);
    return ad_tape_bytes(t);
}

static void test_bytes_large(void)
{
    enum { N = 100000 };
    ad_tape *t = new_tape();
    size_t operand = sizeof(ad_real) + 4;
    size_t value = sizeof(ad_real) + 2;
    size_t one = bytes_of(t, 2 * N, false) - bytes_of(t, N, false);
    size_t two = bytes_of(t, 2 * N, true) - bytes_of(t, N, true);
    CHECK(one == N * (operand + value), "got %zu per statement of 1 operand",
          one / N);
    CHECK(two == N * (2 * operand + value),
          "got %zu per statement of 2 operands", two / N);
    ad_tape_free(t);
}

static size_t bytes_of_inputs(ad_tape *t, size_t n, bool at_once)
{
    static ad_real v[300000];
    static ad_rev x[300000];
    ad_tape_clear(t);
    if (at_once)
        ad_inputs(n, v, x);
    else
        for (size_t i = 0; i < n; i++)
            x[i] = ad_input(v[i]);
    ad_rev y = ad_rec(ad_add(ad_mul(x[0], 2), ad_mul(x[n - 1], 3)));
    ad_real g = 0;
    CHECK(ad_gradient(t, y, 1, &x[n - 1], &g) == ADREV_OK, "%zu inputs", n);
    CHECK(g == 3 || n == 1, "%zu inputs: got %g, want 3", n, (double)g);
    return ad_tape_bytes(t);
}

// One entry, also where the number of inputs needs more than 16 bits.
static void test_bytes_inputs(void)
{
    static const size_t n[] = { 2, 3, 255, 256, 257, 32768, 65534, 65535,
                                65536, 65537, 70000, 300000 };
    ad_tape *t = new_tape();
    size_t one = bytes_of_inputs(t, 2, true);
    for (size_t i = 0; i < sizeof n / sizeof n[0]; i++) {
        size_t at_once = bytes_of_inputs(t, n[i], true);
        size_t singly = bytes_of_inputs(t, n[i], false);
        size_t want = (n[i] - 2) * sizeof(ad_real);
        CHECK(at_once == singly, "%zu inputs: %zu bytes at once, else %zu",
              n[i], at_once, singly);
        CHECK(at_once - one <= want + 8 && at_once - one + 8 >= want,
              "%zu inputs: got %zu bytes more than for two, want %zu", n[i],
              at_once - one, want);
    }
    ad_tape_free(t);
}

// A sweep finds its way past a long entry of inputs to what lies below.
static void test_inputs_between(void)
{
    enum { N = 70000 };
    ad_tape *t = new_tape();
    ad_rev x = ad_input(3);
    ad_rev below = ad_rec(ad_mul(x, x));
    ad_rev z = x;
    for (int i = 0; i < N; i++)
        z = ad_input(2);
    ad_rev y = ad_rec(ad_mul(below, z));
    ad_real g = 0;
    CHECK(ad_gradient(t, y, 1, &x, &g) == ADREV_OK && g == 12,
          "got %g, want 12", (double)g);
    ad_tape_free(t);
}

// What was rewound needs nothing.
static void test_bytes_rewound(void)
{
    static _Alignas(16) unsigned char buffer[200000];
    for (uint32_t i = 1; i <= 100; i++) {
        size_t bytes = 0;
        for (int fixed = 0; fixed < 2; fixed++) {
            ad_tape *t = fixed ? ad_tape_in(buffer, bytes) : new_tape();
            ad_use(t);
            begin(&a_program, i);
            steps(&a_program, 10);
            ad_mark mark = ad_tape_mark(t);
            begin(&another, i + 1);
            steps(&another, fixed ? 0 : 30);
            CHECK(ad_tape_rewind(t, mark) == ADREV_OK, "rewind");
            steps(&a_program, 20);
            gradient_is_right(t, &a_program, "after a rewind");
            bytes = ad_tape_bytes(t);
            ad_tape_free(t);
        }
    }
}

static void test_stats(void)
{
    if (ADREV_FUSE == 1)        // then a statement is an operation
        return;
    ad_tape *t = new_tape();
    ad_stats s = ad_tape_stats(t);
    CHECK(s.values == 0 && s.statements == 0 && s.operands == 0,
          "a new tape holds %zu values", s.values);
    ad_rev x[3];
    ad_inputs(3, (ad_real[]){ 1, 2, 3 }, x);
    DROP(ad_rec(ad_mul(x[0], x[1])));
    DROP(ad_rec(ad_mul(ad_mul(x[1], 2), x[2])));
    DROP(ad_rec(ad_sin(x[0])));
    DROP(ad_rec(ad_mul(3, 4)));                   // a constant: nothing
    DROP(ad_rec(x[0]));                           // that value: nothing
    ad_input(7);
    s = ad_tape_stats(t);
    CHECK(s.values == 7, "values: got %zu, want 7", s.values);
    CHECK(s.statements == 3, "statements: got %zu, want 3", s.statements);
    CHECK(s.operands == 5, "operands: got %zu, want 5", s.operands);
    CHECK(s.bytes == ad_tape_bytes(t), "bytes: got %zu, want %zu", s.bytes,
          ad_tape_bytes(t));
    CHECK(s.bytes_held > 0, "nothing is held");
    ad_tape_clear(t);
    CHECK(ad_tape_stats(t).values == 0, "a cleared tape holds values");
    CHECK(ad_tape_stats(t).bytes_held == s.bytes_held,
          "clear gives memory back");
    ad_tape_free(t);
}

/* --- clear and reserve ---------------------------------------------------- */

static void test_clear(void)
{
    enum { TIMES = 20000 };
    ad_tape *t = new_tape();
    size_t large = bytes_of(t, 200000, true);
    CHECK(large > 200000, "got %zu", large);
    size_t before = 0;
    for (uint32_t i = 0; i < 20; i++) {
        if (i == 10)
            before = allocations + frees;
        ad_tape_clear(t);
        begin(&a_program, i % 10);
        steps(&a_program, 1000);
        gradient_is_right(t, &a_program, "after clear");
    }
    CHECK(allocations + frees == before, "cleared, it allocates again");

    // At 1 us for each of 200000 statements this would be an hour.
    clock_t start = clock();
    for (int i = 0; i < TIMES; i++) {
        ad_tape_clear(t);
        ad_input(1);
    }
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    CHECK(seconds < 1, "%d times clear took %g s", TIMES, seconds);
    ad_tape_free(t);
}

// Statements of 1 and of 2 operands, on what is there already.
static void record_reserved(program *p, size_t ones, size_t twos)
{
    for (size_t i = 0; i < ones; i++)
        add_sine(p);
    for (size_t i = 0; i < twos; i++)
        add_product(p);
}

static void test_reserve(void)
{
    for (uint32_t i = 1; i <= 200; i++) {
        ad_tape *t = new_tape();
        begin(&a_program, i);
        steps(&a_program, (int)next(&a_program, 200) + 2);
        gradient_is_right(t, &a_program, "before reserve");
        size_t ones = next(&a_program, 300);
        size_t twos = next(&a_program, 300);
        CHECK(ad_tape_reserve(t, ones + twos, ones + 2 * twos) == ADREV_OK,
              "reserve");
        size_t before = allocations + frees;
        record_reserved(&a_program, ones, twos);
        gradient_is_right(t, &a_program, "in reserved memory");
        CHECK(ADREV_FUSE == 1 || allocations + frees == before,
              "program %u: %zu + %zu statements in reserved memory allocate",
              (unsigned)i, ones, twos);
        ad_tape_free(t);
    }
}

// n statements; returns whether the gradient found room.
static bool powers_fit(ad_tape *t, ad_rev x, size_t n)
{
    ad_rev y = x;
    for (size_t i = 0; i < n; i++)
        y = ad_rec(ad_mul(y, (ad_real)1.5));
    ad_real g = 0;
    return ad_gradient(t, y, 1, &x, &g) == ADREV_OK;
}

// What reserve grants, fits; it may be one statement too careful.
static void test_reserve_fixed(void)
{
    static _Alignas(16) unsigned char buffer[4096];
    size_t granted = 0;
    size_t fitting = 0;
    for (size_t n = 0; n < 300; n++) {
        ad_tape *t = ad_tape_in(buffer, sizeof buffer);
        ad_use(t);
        ad_rev x = ad_input(1);
        bool grants = ad_tape_reserve(t, n, n) == ADREV_OK;
        CHECK(ad_tape_status(t) == ADREV_OK, "reserve fails the tape");
        bool fits = powers_fit(t, x, n);
        CHECK(fits || !grants, "%zu statements are granted, but do not fit",
              n);
        granted += grants;
        fitting += fits;
        ad_tape_free(t);
    }
    CHECK(fitting < 300 && fitting - granted <= 1,
          "granted up to %zu statements, but up to %zu fit", granted, fitting);
}

// A fixed tape need not be freed: the buffer may be used anew, also while the
// tape that was in it is still current.
static void test_same_buffer(void)
{
    static _Alignas(16) unsigned char buffer[4096];
    for (int i = 0; i < 3; i++) {
        ad_tape *t = ad_tape_in(buffer, sizeof buffer);
        ad_use(t);
        ad_rev x = ad_input(3);
        ad_rev y = ad_rec(ad_mul(x, x));
        ad_real g = 0;
        ad_status s = ad_gradient(t, y, 1, &x, &g);
        CHECK(s == ADREV_OK && g == 6, "time %d: got \"%s\", %g, want 6", i,
              ad_message(s), (double)g);
    }
    ad_use(NULL);
}

/* --- marks ---------------------------------------------------------------- */

typedef struct place {
    ad_mark mark;
    int count;
    ad_stats stats;
} place;

static void go_back(ad_tape *t, program *p, const place *to)
{
    ad_rev late = p->x[p->count - 1];
    ad_status s = ad_tape_rewind(t, to->mark);
    CHECK(s == ADREV_OK, "rewind: got \"%s\"", ad_message(s));
    ad_stats stats = ad_tape_stats(t);
    CHECK(stats.values == to->stats.values
              && stats.operands == to->stats.operands
              && stats.bytes == to->stats.bytes,
          "rewound to %zu values, %zu bytes; marked at %zu, %zu",
          stats.values, stats.bytes, to->stats.values, to->stats.bytes);
    ad_real g = 7;
    if (p->count > to->count) {
        s = ad_gradient(t, late, 1, &late, &g);
        CHECK(s == ADREV_EFOREIGN && g == 7,
              "a value from beyond the rewind: got \"%s\"", ad_message(s));
    }
    p->count = to->count;
}

// Steps, marks, returns and questions in random order. A place is forgotten
// when one below it is returned to, so they nest no deeper than there are.
static void wander(ad_tape *t, program *p, uint32_t seed_)
{
    place places[ADREV_MARKS];
    uint32_t depth = 0;
    begin(p, seed_);
    steps(p, 1 + (int)(seed_ % 4));
    for (int i = 0; i < 120; i++) {
        uint32_t what = next(p, 10);
        if (what == 0 && depth < ADREV_MARKS) {
            places[depth].mark = ad_tape_mark(t);
            places[depth].count = p->count;
            places[depth++].stats = ad_tape_stats(t);
        } else if (what <= 2 && depth > 0) {
            depth -= next(p, 4) == 0 ? next(p, depth) : 0;
            go_back(t, p, &places[depth - 1]);
        } else if (what == 3) {
            gradient_is_right(t, p, "between marks");
        } else {
            steps(p, 1 + (int)next(p, 6));
        }
    }
    gradient_is_right(t, p, "after marks");
}

static void test_marks(void)
{
    ad_tape *t = new_tape();
    for (uint32_t i = 1; i <= 150; i++) {
        ad_tape_clear(t);
        wander(t, &a_program, i);
        CHECK(ad_tape_status(t) == ADREV_OK, "got \"%s\"",
              ad_message(ad_tape_status(t)));
    }
    ad_tape_free(t);
}

// To the same mark 10000 times, inputs after it: nothing grows.
static void test_same_mark(void)
{
    ad_tape *t = new_tape();
    begin(&a_program, 9);
    steps(&a_program, 5);
    place here = { ad_tape_mark(t), a_program.count, ad_tape_stats(t) };
    size_t before = 0;
    for (int i = 0; i < 10000; i++) {
        add_input(&a_program);
        add_product(&a_program);
        if (i % 1000 == 0)
            gradient_is_right(t, &a_program, "the same mark");
        go_back(t, &a_program, &here);
        if (i == 1000)          // there are adjoints now, too
            before = allocations;
    }
    CHECK(allocations == before, "returning to a mark allocates");
    gradient_is_right(t, &a_program, "at the mark");
    ad_tape_free(t);
}

// Every level that there is, then again from half way down.
static void test_deepest_marks(void)
{
    static place places[ADREV_MARKS];
    ad_tape *t = new_tape();
    begin(&a_program, 3);
    for (int from = 0; from < ADREV_MARKS; from += ADREV_MARKS / 2 + 1) {
        if (from > 0)
            go_back(t, &a_program, &places[from - 1]);
        for (int i = from; i < ADREV_MARKS; i++) {
            steps(&a_program, 3);
            places[i].mark = ad_tape_mark(t);
            places[i].count = a_program.count;
            places[i].stats = ad_tape_stats(t);
            steps(&a_program, 2);
            go_back(t, &a_program, &places[i]);
        }
        steps(&a_program, 3);
        gradient_is_right(t, &a_program, "at the deepest mark");
    }
    for (int i = ADREV_MARKS - 1; i >= 0; i--) {
        go_back(t, &a_program, &places[i]);
        gradient_is_right(t, &a_program, "on the way up");
    }
    ad_tape_free(t);
}

static ad_rev squared(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_mul(x[0], x[0]));
}

// ad_grad leaves the recording around it as it was, however often.
static void test_jobs_in_between(void)
{
    ad_tape *t = new_tape();
    begin(&a_program, 4);
    for (int i = 0; i < 100; i++) {
        steps(&a_program, 2);
        ad_real at = (ad_real)i;
        ad_real g = 0;
        ad_status s = ad_grad(squared, NULL, 1, &at, NULL, &g);
        CHECK(s == ADREV_OK && g == 2 * at, "job %d: got \"%s\", %g", i,
              ad_message(s), (double)g);
    }
    gradient_is_right(t, &a_program, "jobs in between");
    ad_tape_free(t);
}

typedef struct outer {
    ad_tape *tape;
    ad_rev x;
    ad_rev square;          // of x
    ad_status status;
    ad_real g;              // with respect to x, asked from inside the job
} outer;

static ad_rev asks_for_outer(const ad_rev *x, void *ctx)
{
    outer *o = ctx;
    ad_rev y = ad_rec(ad_mul(x[0], o->square));
    o->status = ad_gradient(o->tape, y, 1, &o->x, &o->g);
    return y;
}

// Inside a job, too, a query sees the whole recording.
static void test_query_inside_job(void)
{
    ad_tape *t = new_tape();
    ad_rev x = ad_input(3);
    outer o = { .tape = t, .x = x, .square = ad_rec(ad_mul(x, x)), .g = 77 };
    const ad_real at = 2;
    ad_real g = 0;
    CHECK(ad_grad(asks_for_outer, &o, 1, &at, NULL, &g) == ADREV_OK && g == 9,
          "got %g, want 9", (double)g);
    CHECK(o.status == ADREV_OK && o.g == 12, "inside: got \"%s\", %g, want 12",
          ad_message(o.status), (double)o.g);
    ad_tape_free(t);
}

/* --- several tapes -------------------------------------------------------- */

// Two recordings and none, in turns, with marks in one of them.
static void test_two_tapes(void)
{
    ad_tape *a = new_tape();
    ad_tape *b = new_tape();
    for (uint32_t i = 1; i <= 50; i++) {
        ad_tape_clear(a);
        ad_tape_clear(b);
        begin(&a_program, i);
        begin(&another, i + 1000);
        ad_use(a);
        steps(&a_program, 3);
        place here = { ad_tape_mark(a), a_program.count, ad_tape_stats(a) };
        for (int k = 0; k < 20; k++) {
            CHECK(ad_use(b) == a, "a was current");
            steps(&another, (int)next(&another, 5));
            CHECK(ad_use(NULL) == b, "b was current");
            ad_rev none = ad_input(1);
            CHECK(none.job == 0, "recorded without a tape");
            CHECK(ad_use(a) == NULL, "no tape was current");
            steps(&a_program, (int)next(&a_program, 5));
            // also while the other is current
            if (k % 7 == 3)
                gradient_is_right(b, &another, "the tape not current");
            if (k == 10)
                go_back(a, &a_program, &here);
        }
        gradient_is_right(a, &a_program, "the one tape");
        gradient_is_right(b, &another, "the other tape");
    }
    ad_tape_free(b);
    ad_rev x = ad_input(1);
    CHECK(x.job != 0, "the tape that is current was not freed");
    ad_tape_free(a);
    CHECK(ad_use(NULL) == NULL, "a freed tape is current");
}

// Cleared or rewound while another one is current.
static void test_not_current(void)
{
    ad_tape *a = new_tape();
    ad_rev x = ad_input(2);
    ad_mark mark = ad_tape_mark(a);
    ad_rev y = ad_rec(ad_mul(x, x));
    ad_tape *b = new_tape();
    ad_rev z = ad_input(5);
    CHECK(ad_tape_rewind(a, mark) == ADREV_OK, "rewind of the other tape");
    ad_rev w = ad_rec(ad_mul(z, z));
    ad_real g = 0;
    CHECK(ad_gradient(b, w, 1, &z, &g) == ADREV_OK && g == 10, "got %g",
          (double)g);
    CHECK(ad_gradient(a, y, 1, &x, &g) == ADREV_EFOREIGN, "rewound");
    ad_tape_clear(a);
    CHECK(ad_gradient(a, x, 1, &x, &g) == ADREV_EFOREIGN, "cleared");
    ad_rev v = ad_rec(ad_mul(w, z));
    CHECK(ad_gradient(b, v, 1, &z, &g) == ADREV_OK && g == 75, "got %g",
          (double)g);
    ad_tape_free(a);
    ad_tape_free(b);
}

/* --- questions ------------------------------------------------------------ */

// dx = dy J for several outputs, some of them constants or one another.
static void check_pullback(ad_tape *t, program *p, int m)
{
    enum { ROWS = 20 };
    static ad_real dx[MOST];
    ad_rev y[ROWS];
    ad_real dy[ROWS];
    seed_none();
    for (int i = 0; i < m; i++) {
        int from = any(p);
        dy[i] = (ad_real)next(p, 9) - 4;
        y[i] = p->x[from];
        if (i % 5 == 4)
            y[i] = (ad_rev){ .v = 1 };
        else
            seed(from, (double)dy[i]);
    }
    sweep_back(p);
    ad_status s = ad_pullback(t, (size_t)m, y, dy, (size_t)p->count, p->x, dx);
    CHECK(s == ADREV_OK, "pullback: got \"%s\"", ad_message(s));
    for (int i = 0; i < p->count; i++)
        check_adjoint(i, dx[i], "pullback");
}

static void test_pullback(void)
{
    ad_tape *t = new_tape();
    for (uint32_t i = 1; i <= 30; i++) {
        ad_tape_clear(t);
        begin(&a_program, i);
        steps(&a_program, 100);
        for (int m = 1; m <= 20; m++)
            check_pullback(t, &a_program, m);
        gradient_is_right(t, &a_program, "after pullbacks");
    }
    ad_tape_free(t);
}

static void test_zero_seed(void)
{
    static ad_real dx[MOST];
    ad_tape *t = new_tape();
    begin(&a_program, 2);
    steps(&a_program, 50);
    gradient_is_right(t, &a_program, "before");
    size_t n = (size_t)a_program.count;
    const ad_real none = 0;
    const ad_rev y = a_program.x[n - 1];
    CHECK(ad_pullback(t, 1, &y, &none, n, a_program.x, dx) == ADREV_OK,
          "pullback");
    for (size_t i = 0; i < n; i++)
        CHECK(dx[i] == 0, "dx[%zu]: got %g, want 0", i, (double)dx[i]);
    ad_tape_free(t);
}

// Tapes of few values are swept in a way of their own: all sizes around that,
// every value as the output, with and without a mark in between.
static void test_few(void)
{
    ad_tape *t = new_tape();
    for (uint32_t i = 0; i < 600; i++) {
        ad_tape_clear(t);
        begin(&a_program, i);
        for (int size = 1 + (int)(i % 24); a_program.count < size;) {
            step(&a_program);
            if (i % 5 == 4 && next(&a_program, 20) == 0)
                ad_tape_mark(t);
        }
        for (int y = 0; y < a_program.count; y++) {
            ad_status s = check_gradient(t, &a_program, y, "few");
            CHECK(s == ADREV_OK, "few: got \"%s\"", ad_message(s));
        }
    }
    ad_tape_free(t);
}

// y an input; x not below y; x recorded after y; the same x twice.
static void test_odd_questions(void)
{
    ad_tape *t = new_tape();
    ad_rev a = ad_input(2);
    ad_rev b = ad_input(3);
    ad_rev square = ad_rec(ad_mul(a, a));
    ad_rev y = ad_rec(ad_mul(square, square));
    ad_rev later = ad_rec(ad_mul(y, b));
    const ad_rev x[6] = { a, b, a, square, y, later };
    static const double want[6] = { 32, 0, 32, 8, 1, 0 };
    static const double of_input[6] = { 1, 0, 1, 0, 0, 0 };
    ad_real g[6];
    CHECK(ad_gradient(t, y, 5, x, g) == ADREV_OK, "gradient");
    CHECK(ad_gradient(t, y, 1, &x[5], &g[5]) == ADREV_OK, "gradient");
    for (int i = 0; i < 6; i++)
        CHECK_CLOSE(g[i], want[i], 0);
    CHECK(ad_gradient(t, a, 5, x, g) == ADREV_OK, "gradient");
    for (int i = 0; i < 5; i++)
        CHECK_CLOSE(g[i], of_input[i], 0);
    ad_tape_free(t);
}

/* --- Jacobians ------------------------------------------------------------ */

enum { SIDE = 40 };

// Any values for y and x; every third y of more than two is a constant.
static void check_jacobian(ad_tape *t, program *p, int m, int n)
{
    static ad_real J[SIDE * SIDE];
    ad_rev y[SIDE] = { { 0, 0, 0 } };
    ad_rev x[SIDE] = { { 0, 0, 0 } };
    int row[SIDE];
    int column[SIDE];
    for (int i = 0; i < m; i++) {
        row[i] = i % 3 == 2 ? -1 : any(p);
        y[i] = row[i] < 0 ? (ad_rev){ .v = 1 } : p->x[row[i]];
    }
    for (int j = 0; j < n; j++) {
        column[j] = any(p);
        x[j] = p->x[column[j]];
    }
    memset(J, 0x55, sizeof J);
    ad_status s = ad_jacobian(t, (size_t)m, y, (size_t)n, x, J);
    CHECK(s == ADREV_OK, "jacobian %d x %d: got \"%s\"", m, n, ad_message(s));
    for (int i = 0; i < m; i++) {
        seed_none();
        if (row[i] >= 0)
            seed(row[i], 1);
        sweep_back(p);
        for (int j = 0; j < n; j++)
            check_adjoint(column[j], J[i * n + j], "jacobian");
    }
}

static void check_shapes(ad_tape *t, program *p)
{
    static const int side[] = { 1, 2, 3, 7, 8, 9, 16, 17, SIDE };
    enum { SIDES = sizeof side / sizeof side[0] };
    for (int i = 0; i < SIDES; i++)
        for (int j = 0; j < SIDES; j++)
            check_jacobian(t, p, side[i], side[j]);
    gradient_is_right(t, p, "after a jacobian");
}

static void test_jacobian(void)
{
    ad_tape *t = new_tape();
    for (uint32_t i = 1; i <= 5; i++) {
        ad_tape_clear(t);
        begin(&a_program, i);
        steps(&a_program, 60);
        check_shapes(t, &a_program);
    }
    ad_tape_free(t);
}

// With room for one adjoint of each value only, and a little more.
static void test_jacobian_fixed(void)
{
    static _Alignas(16) unsigned char buffer[100000];
    size_t bytes = 8192;
    for (size_t more = 0; more < 6000; more += 1000) {
        ad_tape *t = ad_tape_in(buffer, bytes + more);
        ad_use(t);
        begin(&a_program, 8);
        steps(&a_program, 60);
        if (more == 0) {
            bytes = ad_tape_bytes(t);
            ad_tape_free(t);
            t = ad_tape_in(buffer, bytes);
            ad_use(t);
            begin(&a_program, 8);
            steps(&a_program, 60);
        }
        check_shapes(t, &a_program);
        ad_tape_free(t);
    }
}

// <w, J v> is the same from both sides, with any values for y and x.
static void check_duality(ad_tape *t, program *p)
{
    enum { N = 10 };
    ad_rev x[N];
    ad_rev y[N];
    ad_real v[N];
    ad_real w[N];
    ad_real forward[N];
    ad_real reverse[N];
    double left = 0;
    double right = 0;
    double size = 0;
    for (int i = 0; i < N; i++) {
        x[i] = p->x[any(p)];
        y[i] = p->x[any(p)];
        v[i] = (ad_real)next(p, 9) - 4;
        w[i] = (ad_real)next(p, 9) - 4;
    }
    CHECK(ad_pushforward(t, N, x, v, N, y, forward) == ADREV_OK, "forward");
    CHECK(ad_pullback(t, N, y, w, N, x, reverse) == ADREV_OK, "reverse");
    for (int i = 0; i < N; i++) {
        left += (double)w[i] * (double)forward[i];
        right += (double)v[i] * (double)reverse[i];
        size += fabs((double)w[i] * (double)forward[i])
              + fabs((double)v[i] * (double)reverse[i]);
    }
    double eps = sizeof(ad_real) == sizeof(float) ? 1e-4 : 1e-12;
    CHECK(fabs(left - right) <= eps * (1 + size),
          "forward %.17g, reverse %.17g", left, right);
}

static void test_duality(void)
{
    ad_tape *t = new_tape();
    for (uint32_t i = 1; i <= 50; i++) {
        ad_tape_clear(t);
        begin(&a_program, i);
        steps(&a_program, 80);
        for (int k = 0; k < 5; k++)
            check_duality(t, &a_program);
    }
    ad_tape_free(t);
}

// Marks between the first inputs, which have no entry on the tape.
static void test_first_inputs(void)
{
    ad_tape *t = new_tape();
    for (uint32_t first = 0; first < 4; first++) {
        ad_tape_clear(t);
        begin(&a_program, first + 5);
        for (uint32_t i = 0; i < first; i++)
            add_input(&a_program);
        place here = { ad_tape_mark(t), a_program.count, ad_tape_stats(t) };
        for (int i = 0; i < 5; i++) {
            add_input(&a_program);
            add_input(&a_program);
            steps(&a_program, i);
            gradient_is_right(t, &a_program, "behind the first inputs");
            go_back(t, &a_program, &here);
        }
        add_input(&a_program);
        steps(&a_program, 9);
        gradient_is_right(t, &a_program, "after the first inputs");
        for (int i = 0; i < 5; i++)
            check_duality(t, &a_program);
    }
    ad_tape_free(t);
}

/* --- all of them ---------------------------------------------------------- */

int main(void)
{
    static void (*const tests[])(void) = {
        test_bytes, test_bytes_large, test_bytes_inputs,
        test_inputs_between, test_bytes_rewound,
        test_stats, test_clear, test_reserve, test_reserve_fixed,
        test_same_buffer,
        test_marks, test_same_mark, test_deepest_marks,
        test_jobs_in_between, test_query_inside_job,
        test_two_tapes, test_not_current,
        test_pullback, test_zero_seed, test_few, test_odd_questions,
        test_jacobian, test_jacobian_fixed, test_duality,
        test_first_inputs,
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        tests[i]();
        tape_inspect();
    }
    CHECK(allocations == frees, "%zu allocations, %zu frees", allocations,
          frees);
    return check_done(TAPE_NAME);
}
