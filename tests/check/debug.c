// SPDX-License-Identifier: MIT-0
// tags:
// flags: -DADREV_DEBUG=1 -UADREV_BLOCK -DADREV_BLOCK=512
/* debug.c - with ADREV_DEBUG every value knows where it was recorded, and a
 * failed tape where it failed; the results are the same.                    */

#include "implementation.h"
#include "adrev.h"
#include "check.h"

#include <string.h>

enum { MOST = 500 };

static void check_where(ad_tape *t, ad_rev x, int line, const char *what)
{
    const char *file = "untouched";
    int got = -1;
    ad_tape_where(t, x, &file, &got);
    CHECK(file != NULL && strcmp(file, __FILE__) == 0 && got == line,
          "%s: got %s:%d, want %s:%d", what, file == NULL ? "NULL" : file,
          got, __FILE__, line);
}

static void check_nowhere(ad_tape *t, ad_rev x, const char *what)
{
    const char *file = "untouched";
    int line = -1;
    ad_tape_where(t, x, &file, &line);
    CHECK(file == NULL && line == 0, "%s: got %s:%d, want NULL:0", what,
          file == NULL ? "NULL" : file, line);
}

static void check_failure(ad_tape *t, int line, const char *what)
{
    const char *file = "untouched";
    int got = -1;
    ad_tape_failed_at(t, &file, &got);
    CHECK(file != NULL && strcmp(file, __FILE__) == 0 && got == line,
          "%s: got %s:%d, want %s:%d", what, file == NULL ? "NULL" : file,
          got, __FILE__, line);
}

/* --- where a value was recorded ------------------------------------------- */

static void test_where(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev x = ad_input(2);
    ad_rev y = ad_rec(ad_mul(x, x)); int line_y = __LINE__;
    ad_rev z = ad_rec(ad_add(y, ad_sin(x))); int line_z = __LINE__;
    ad_acc(&z, y); int line_acc = __LINE__;
    ad_rev before = y;
    check_where(t, before, line_y, "a product");
    check_where(t, z, line_acc, "a sum");
    ad_rev w = ad_rec(ad_mul(z, 2)); int line_w = __LINE__;
    check_where(t, w, line_w, "the last");
    check_where(t, y, line_y, "the first");
    CHECK(line_z < line_acc, "lines");

    check_nowhere(t, (ad_rev){ .v = 1 }, "a constant");
    ad_tape_clear(t);
    check_nowhere(t, y, "a value from before a clear");
    check_nowhere(NULL, y, "no tape");
    ad_tape_free(t);
}

// Statements over many blocks, inputs in between, and after a rewind.
static void record_lines(ad_rev y[MOST], int line[MOST])
{
    for (int i = 0; i < MOST; i += 2) {
        ad_rev x = ad_input(1);
        y[i] = ad_rec(ad_mul(x, i)); line[i] = __LINE__;
        y[i + 1] = ad_rec(ad_sin(x)); line[i + 1] = __LINE__;
    }
}

static void test_where_blocks(void)
{
    static ad_rev y[MOST];
    static int line[MOST];
    ad_tape *t = ad_tape_new();
    ad_use(t);
    record_lines(y, line);
    ad_mark mark = ad_tape_mark(t);
    record_lines(y, line);
    CHECK(ad_tape_rewind(t, mark) == ADREV_OK, "rewind");
    check_nowhere(t, y[0], "a value from beyond a rewind");
    record_lines(y, line);
    for (int i = 0; i < MOST; i++)
        check_where(t, y[i], line[i], "one of many");
    ad_tape_free(t);
}

/* --- where a recording failed --------------------------------------------- */

static void test_foreign(void)
{
    const char *file = "untouched";
    int line = -1;
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev old = ad_input(2);
    ad_tape_clear(t);
    ad_rev x = ad_input(2);
    DROP(ad_rec(ad_mul(x, x)));
    ad_tape_failed_at(t, &file, &line);
    CHECK(file == NULL && line == 0, "a tape that did not fail: got line %d",
          line);
    DROP(ad_rec(ad_mul(x, old))); int here = __LINE__;
    DROP(ad_rec(ad_mul(x, x)));
    DROP(ad_rec(ad_mul(old, old)));
    CHECK(ad_tape_status(t) == ADREV_EFOREIGN, "got \"%s\"",
          ad_message(ad_tape_status(t)));
    check_failure(t, here, "a foreign value");
    ad_tape_clear(t);
    ad_tape_failed_at(t, &file, &line);
    CHECK(file == NULL && line == 0, "a cleared tape: got line %d", line);
    const ad_mark mark = ad_tape_mark(t);
    DROP(ad_rec(ad_mul(old, old))); here = __LINE__;
    CHECK(ad_tape_rewind(t, mark) == ADREV_OK, "rewound");
    check_failure(t, here, "after a rewind");
    ad_tape_clear(t);
    ad_tape_failed_at(t, &file, &line);
    CHECK(file == NULL && line == 0, "rewound and cleared: got line %d", line);
    DROP(ad_rec(ad_mul(old, old))); here = __LINE__;
    ad_tape_failure(t, &file, &line);       // the old name
    CHECK(file != NULL && line == here, "old name: got line %d, want %d", line,
          here);
    ad_tape_free(t);
}

static void test_full(void)
{
    static _Alignas(16) unsigned char buffer[2000];
    ad_tape *t = ad_tape_in(buffer, sizeof buffer);
    ad_use(t);
    ad_rev y = ad_input(2);
    int here = 0;
    for (int i = 0; i < 100; i++) {
        y = ad_rec(ad_mul(y, 0.5)); here = __LINE__;
    }
    CHECK(ad_tape_status(t) == ADREV_EFULL, "got \"%s\"",
          ad_message(ad_tape_status(t)));
    check_failure(t, here, "a full tape");
    ad_tape_free(t);
}

/* --- the same results ----------------------------------------------------- */

// sum over i of (i + 1) sin(x[i]) x[i - 1]
static void test_results(void)
{
    ad_rev x[MOST];
    ad_real g[MOST];
    ad_tape *t = ad_tape_new();
    ad_use(t);
    for (int i = 0; i < MOST; i++)
        x[i] = ad_input((ad_real)(i % 7) - 3);
    ad_rev s = { 0 };
    for (int i = 1; i < MOST; i++)
        ad_acc(&s, ad_mul(ad_mul(i + 1, ad_sin(x[i])), x[i - 1]));
    CHECK(ad_gradient(t, s, MOST, x, g) == ADREV_OK, "gradient");
    for (int i = 0; i < MOST; i++) {
        double left = i > 0 ? (i + 1) * cos(x[i].v) * x[i - 1].v : 0;
        double right = i + 1 < MOST ? (i + 2) * sin(x[i + 1].v) : 0;
        double size = fabs(left) + fabs(right);
        CHECK(fabs(g[i] - (left + right)) <= 1e-14 * size,
              "g[%d]: got %.17g, want %.17g", i, g[i], left + right);
    }
    ad_tape_free(t);
}

// The size stays exact, with 26 bytes more for each statement.
static size_t run(ad_tape *t, ad_status *status)
{
    ad_use(t);
    ad_rev x = ad_input(1);
    ad_rev y = x;
    for (int i = 0; i < 100; i++)
        y = ad_rec(ad_mul(y, x));
    ad_real g = 0;
    *status = ad_gradient(t, y, 1, &x, &g);
    CHECK(*status != ADREV_OK || g == 101, "got %g, want 101", g);
    size_t bytes = ad_tape_bytes(t);
    ad_tape_free(t);
    return bytes;
}

static void test_bytes(void)
{
    static _Alignas(16) unsigned char buffer[100000];
    ad_status s = ADREV_OK;
    size_t bytes = run(ad_tape_new(), &s);
    CHECK(s == ADREV_OK, "growing memory: got \"%s\"", ad_message(s));
    run(ad_tape_in(buffer, bytes), &s);
    CHECK(s == ADREV_OK, "its %zu bytes: got \"%s\"", bytes, ad_message(s));
    run(ad_tape_in(buffer, bytes - 8), &s);
    CHECK(s == ADREV_EFULL, "8 bytes less: got \"%s\"", ad_message(s));
}

/* --- the first number that is not finite ---------------------------------- */

// One of several ways to meet one; returns the line.
static int meet(int how, const ad_rev x[])
{
    ad_rev y[2];
    ad_rev good = ad_rec(ad_mul(x[0], 2));
    ad_rev bad = good;
    int line = 0;
    (void)bad;
    switch (how) {
    case 0: bad = ad_rec(ad_log(ad_sub(x[0], x[0]))); line = __LINE__; break;
    case 1: bad = ad_rec(ad_sqrt(ad_neg(x[0]))); line = __LINE__; break;
    case 2: ad_acc(&bad, ad_div(x[0], 0.0)); line = __LINE__; break;
    case 3: bad = ad_input((ad_real)INFINITY); line = __LINE__; break;
    case 4: ad_each(ADREV_OP_log, 2, x + 1, NULL, NULL, y); line = __LINE__; break;
    case 5:
        bad = ad_dotc(2, x, (ad_real[]){ 1, (ad_real)NAN }); line = __LINE__;
        break;
    case 6:                     // a constant: where it is used
        bad = ad_logsumexp(1, &(ad_rev){ .v = (ad_real)NAN });
        break;
    default: break;
    }
    bad = ad_rec(ad_mul(ad_mul(x[0], bad), 0.0));
    DROP(ad_rec(ad_exp(ad_mul(1000, good))));
    return line == 0 ? __LINE__ - (how == 6 ? 2 : 1) : line;
}

static void test_stop(void)
{
    for (int how = 0; how < 8; how++)
        for (int stop = 0; stop < 2; stop++) {
            ad_tape *t = ad_tape_new();
            ad_tape_stop_nonfinite(t, stop);
            ad_use(t);
            ad_rev x[3];
            ad_real g;
            ad_inputs(3, (ad_real[]){ 3, 2, 0 }, x);
            int line = meet(how, x);
            ad_status want = stop ? ADREV_ENONFINITE : ADREV_OK;
            CHECK(ad_tape_status(t) == want, "way %d: got \"%s\"", how,
                  ad_message(ad_tape_status(t)));
            if (stop)
                check_failure(t, line, "a number that is not finite");
            ad_tape_clear(t);                   // it stays set
            ad_inputs(3, (ad_real[]){ 3, 2, 0 }, x);
            ad_rev root = ad_rec(ad_sqrt(x[2]));
            CHECK(ad_gradient(t, root, 1, &x[2], &g) == ADREV_OK
                  && isinf(g), "a finite number with an infinite slope");
            meet(how, x);
            CHECK(ad_tape_status(t) == want, "again, way %d", how);
            ad_tape_stop_nonfinite(t, false);
            ad_tape_clear(t);
            ad_inputs(3, (ad_real[]){ 3, 2, 0 }, x);
            meet(how, x);
            CHECK(ad_tape_status(t) == ADREV_OK, "taken back");
            ad_tape_free(t);
        }
    ad_tape_stop_nonfinite(NULL, true);
}

static ad_rev meets(const ad_rev *x, void *ctx)
{
    int *line = ctx;
    ad_rev y = ad_rec(ad_sin(x[0]));
    *line = __LINE__ + 1;
    y = ad_rec(ad_div(y, ad_sub(x[0], x[0])));
    return ad_rec(ad_atan(y));
}

static void test_stop_in_job(void)
{
    ad_tape *t = ad_tape_new();
    ad_real x = 3;
    ad_real y = 77;
    ad_real g = 77;
    int line = 0;
    ad_use(t);
    CHECK(ad_grad(meets, &line, 1, &x, &y, &g) == ADREV_OK, "not yet");
    y = g = 77;
    ad_tape_stop_nonfinite(t, true);
    CHECK(ad_grad(meets, &line, 1, &x, &y, &g) == ADREV_ENONFINITE && y == 77
          && g == 77, "in ad_grad");
    check_failure(t, line, "in ad_grad");
    CHECK(ad_tape_status(t) == ADREV_OK, "the tape around it goes on");
    ad_tape_free(t);
}

int main(void)
{
    test_stop();
    test_stop_in_job();
    test_where();
    test_where_blocks();
    test_foreign();
    test_full();
    test_results();
    test_bytes();
    return check_done("debug");
}
