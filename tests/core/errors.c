// SPDX-License-Identifier: MIT-0
// tags:
// flags: -DADREV_VALUES=1000 -DADREV_TRACE=1
// with: errors_plain.c
/* errors.c - one provocation for each row of ADREV_STATUS_TABLE, and more.
 * The code is checked, not the text; a refused query leaves its outputs
 * untouched; the tape works again after ad_tape_clear. A row that was never
 * met is an error of this file.                                             */

#include "implementation.h"
#include "adrev.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define UNTOUCHED 77

ad_rev errors_plain_product(ad_rev x, ad_rev y);    // in errors_plain.c

// A status keeps its number: new rows stand behind this one.
_Static_assert(ADREV_ECOMPILE == 18, "a status is not at the end of its table");

static bool met[ADREV_STATUS_COUNT];

#define EXPECT(call, want) expect((call), (want), #call, __LINE__)

static void expect(ad_status got, ad_status want, const char *call, int line)
{
    met[got] = true;
    check_that(got == want, __FILE__, line, "%s: got \"%s\", want \"%s\"",
               call, ad_message(got), ad_message(want));
}

static void untouched(size_t n, const ad_real out[], int line)
{
    for (size_t i = 0; i < n; i++)
        check_that(out[i] == UNTOUCHED, __FILE__, line,
                   "output %zu: got %g, want it untouched", i,
                   (double)out[i]);
}

// A gradient that must be right whatever went wrong before.
static void works(ad_tape *t, int line)
{
    ad_use(t);
    ad_rev x = ad_input(3);
    ad_rev y = ad_rec(ad_mul(x, ad_mul(x, 2)));
    ad_real g = 0;
    ad_status s = ad_gradient(t, y, 1, &x, &g);
    check_that(s == ADREV_OK && g == 12, __FILE__, line,
               "gradient: got %g, \"%s\", want 12", (double)g, ad_message(s));
}

static void works_after_clear(ad_tape *t, int line)
{
    ad_tape_clear(t);
    check_that(ad_tape_status(t) == ADREV_OK, __FILE__, line,
               "a cleared tape: got \"%s\"", ad_message(ad_tape_status(t)));
    works(t, line);
}

// All four queries for one y and one x answer the same, and write nothing.
static void refused_at(ad_tape *t, ad_rev y, ad_rev x, ad_status want,
                       int line)
{
    ad_real one = 1;
    ad_real out = UNTOUCHED;
    expect(ad_gradient(t, y, 1, &x, &out), want, "gradient", line);
    expect(ad_pullback(t, 1, &y, &one, 1, &x, &out), want, "pullback", line);
    expect(ad_pushforward(t, 1, &x, &one, 1, &y, &out), want, "pushforward",
           line);
    expect(ad_jacobian(t, 1, &y, 1, &x, &out), want, "jacobian", line);
    untouched(1, &out, line);
}

#define REFUSED(t, y, x, want) refused_at((t), (y), (x), (want), __LINE__)

static ad_rev plain(ad_real v)
{
    return (ad_rev){ .v = v };
}

/* --- success, no tape, constants ------------------------------------------ */

static void test_ok(ad_tape *t)
{
    EXPECT(ad_tape_status(t), ADREV_OK);
    works(t, __LINE__);
    works_after_clear(t, __LINE__);
}

static void test_no_tape(ad_tape *t)
{
    ad_rev x = ad_input(1);
    REFUSED(NULL, x, x, ADREV_ENOTAPE);
    EXPECT(ad_tape_status(NULL), ADREV_ENOTAPE);
    EXPECT(ad_tape_reserve(NULL, 1, 1), ADREV_ENOTAPE);
    EXPECT(ad_tape_rewind(NULL, ad_tape_mark(t)), ADREV_ENOTAPE);
    ad_tape_free(NULL);
}

static void test_nothing_current(ad_tape *t)
{
    CHECK(ad_use(NULL) == t, "ad_use does not return the tape that was used");
    ad_rev x = ad_input(2);
    ad_rev y = ad_rec(ad_mul(x, x));
    CHECK(x.job == 0 && y.job == 0 && y.v == 4, "recorded without a tape");
    CHECK(ad_use(t) == NULL, "a tape was current");
    CHECK(ad_tape_stats(t).values == 0, "recorded on a tape not current");
}

static void test_passive(ad_tape *t)
{
    ad_rev x = ad_input(2);
    ad_rev y = ad_rec(ad_mul(x, x));
    REFUSED(t, y, plain(2), ADREV_EPASSIVE);
    REFUSED(t, y, (ad_rev){ 0 }, ADREV_EPASSIVE);
    REFUSED(t, ad_rec(ad_detach(y)), x, ADREV_EPASSIVE);
    REFUSED(t, ad_rec(ad_floor(y)), x, ADREV_EPASSIVE);

    ad_rev ys[2] = { plain(1), plain(2) };
    ad_real dy[2] = { 1, 1 };
    ad_real out[2] = { UNTOUCHED, UNTOUCHED };
    const ad_rev xs[2] = { x, ys[0] };
    EXPECT(ad_gradient(t, y, 2, xs, out), ADREV_EPASSIVE);
    EXPECT(ad_pullback(t, 1, &y, dy, 2, xs, out), ADREV_EPASSIVE);
    EXPECT(ad_pushforward(t, 2, xs, dy, 1, &y, out), ADREV_EPASSIVE);
    EXPECT(ad_jacobian(t, 1, &y, 2, xs, out), ADREV_EPASSIVE);
    EXPECT(ad_pullback(t, 2, ys, dy, 1, &x, out), ADREV_EPASSIVE);
    EXPECT(ad_jacobian(t, 2, ys, 1, &x, out), ADREV_EPASSIVE);
    untouched(2, out, __LINE__);
    ys[1] = y;
    EXPECT(ad_pullback(t, 2, ys, dy, 1, &x, out), ADREV_OK);
    CHECK(out[0] == 4, "a constant among the outputs: got %g", (double)out[0]);
    EXPECT(ad_tape_status(t), ADREV_OK);
}

// Of no recording, and so a constant, whatever else is in it.
static void test_constant_with_seq(ad_tape *t)
{
    const ad_rev constant = { .v = 1, .seq = 7, .job = 0 };
    const ad_real dy[2] = { 1, 1 };
    ad_real out[2] = { 0, 0 };
    ad_rev x = ad_input(2);
    ad_rev y[2] = { constant, ad_rec(ad_mul(x, constant)) };
    REFUSED(t, y[1], constant, ADREV_EPASSIVE);
    EXPECT(ad_pullback(t, 2, y, dy, 1, &x, out), ADREV_OK);
    CHECK(out[0] == 1, "pullback: got %g, want 1", (double)out[0]);
    EXPECT(ad_pushforward(t, 1, &x, dy, 2, y, out), ADREV_OK);
    CHECK(out[0] == 0 && out[1] == 1, "pushforward: got %g, %g, want 0, 1",
          (double)out[0], (double)out[1]);
    EXPECT(ad_jacobian(t, 2, y, 1, &x, out), ADREV_OK);
    CHECK(out[0] == 0 && out[1] == 1, "jacobian: got %g, %g, want 0, 1",
          (double)out[0], (double)out[1]);
}

/* --- foreign values ------------------------------------------------------- */

static void test_stale_query(ad_tape *t)
{
    ad_rev x = ad_input(2);
    ad_rev y = ad_rec(ad_mul(x, x));
    ad_tape_clear(t);
    REFUSED(t, y, x, ADREV_EFOREIGN);
    ad_rev x2 = ad_input(2);
    ad_rev y2 = ad_rec(ad_mul(x2, x2));
    REFUSED(t, y2, x, ADREV_EFOREIGN);
    REFUSED(t, y, x2, ADREV_EFOREIGN);
    // A question wrongly put is not a failure of the recording.
    EXPECT(ad_tape_status(t), ADREV_OK);
    works(t, __LINE__);
}

static void test_stale_operand(ad_tape *t)
{
    ad_rev old = ad_input(2);
    ad_tape_clear(t);
    ad_rev x = ad_input(3);
    ad_rev before = ad_rec(ad_mul(x, x));
    ad_rev y = ad_rec(ad_mul(x, old));
    CHECK(y.v == 6 && y.job == 0, "got %g of job %u, want the constant 6",
          (double)y.v, (unsigned)y.job);
    EXPECT(ad_tape_status(t), ADREV_EFOREIGN);
    REFUSED(t, before, x, ADREV_EFOREIGN);
    size_t values = ad_tape_stats(t).values;
    DROP(ad_rec(ad_mul(x, x)));
    ad_input(1);
    CHECK(ad_tape_stats(t).values == values, "a failed tape records");
}

// In every form in which a value can enter a recording.
static void test_stale_operand_forms(ad_tape *t)
{
    for (int form = 0; form < 6; form++) {
        ad_tape_clear(t);
        ad_rev old = ad_input(2);
        ad_tape_clear(t);
        ad_rev x = ad_input(3);
        ad_rev s = plain(1);
        switch (form) {
        case 0: DROP(ad_rec(ad_sin(old))); break;
        case 1: DROP(ad_rec(ad_add(ad_mul(x, x), ad_mul(old, 2)))); break;
        case 2: ad_acc(&s, old); break;
        case 3: ad_acc(&old, x); break;
        case 4: DROP(ad_rec(old)); break;
        case 5: DROP(ad_rec(ad_select(true, old, x))); break;
        }
        ad_status got = ad_tape_status(t);
        CHECK(got == ADREV_EFOREIGN, "form %d of a stale operand: got \"%s\"",
              form, ad_message(got));
    }
}

static void test_other_tape(ad_tape *t)
{
    ad_tape *other = ad_tape_new();
    ad_rev x = ad_input(2);
    ad_use(other);
    ad_rev theirs = ad_input(2);
    ad_use(t);
    REFUSED(t, x, theirs, ADREV_EFOREIGN);
    REFUSED(t, theirs, x, ADREV_EFOREIGN);
    REFUSED(other, x, theirs, ADREV_EFOREIGN);
    DROP(ad_rec(ad_mul(x, theirs)));
    EXPECT(ad_tape_status(t), ADREV_EFOREIGN);
    EXPECT(ad_tape_status(other), ADREV_OK);
    ad_tape_free(other);
}

static void test_freed_tape(ad_tape *t)
{
    ad_tape *other = ad_tape_new();
    ad_use(other);
    ad_rev theirs = ad_input(2);
    ad_tape_free(other);
    CHECK(ad_use(t) == NULL, "a freed tape is current");
    DROP(ad_rec(ad_mul(theirs, 2)));
    EXPECT(ad_tape_status(t), ADREV_EFOREIGN);
}

static void test_forged(ad_tape *t)
{
    ad_rev x = ad_input(2);
    ad_rev y = ad_rec(ad_mul(x, x));
    ad_rev forged = y;
    forged.seq = y.seq + 1;
    REFUSED(t, forged, x, ADREV_EFOREIGN);
    REFUSED(t, y, forged, ADREV_EFOREIGN);
    forged.seq = UINT32_MAX;
    REFUSED(t, y, forged, ADREV_EFOREIGN);
    forged = y;
    forged.job = UINT32_MAX;
    REFUSED(t, y, forged, ADREV_EFOREIGN);
    EXPECT(ad_tape_status(t), ADREV_OK);
}

static void test_rewound_value(ad_tape *t)
{
    ad_rev x = ad_input(2);
    ad_mark mark = ad_tape_mark(t);
    ad_rev late = ad_rec(ad_mul(x, x));
    EXPECT(ad_tape_rewind(t, mark), ADREV_OK);
    REFUSED(t, late, x, ADREV_EFOREIGN);
    // The same place, a different value: the place is no excuse.
    ad_rev next = ad_rec(ad_mul(x, 3));
    REFUSED(t, late, x, ADREV_EFOREIGN);
    REFUSED(t, next, late, ADREV_EFOREIGN);
    EXPECT(ad_tape_status(t), ADREV_OK);
    DROP(ad_rec(ad_mul(late, x)));
    EXPECT(ad_tape_status(t), ADREV_EFOREIGN);
    // An error since the mark is forgotten.
    EXPECT(ad_tape_rewind(t, mark), ADREV_OK);
    EXPECT(ad_tape_status(t), ADREV_OK);
    works(t, __LINE__);
}

/* --- shapes --------------------------------------------------------------- */

static void test_null_arrays(ad_tape *t)
{
    ad_real d[2] = { 1, 1 };
    ad_real out[4] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED };
    ad_rev x = ad_input(2);
    ad_rev y = ad_rec(ad_mul(x, x));
    EXPECT(ad_gradient(t, y, 1, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_gradient(t, y, 1, &x, NULL), ADREV_ESHAPE);
    EXPECT(ad_pullback(t, 1, NULL, d, 1, &x, out), ADREV_ESHAPE);
    EXPECT(ad_pullback(t, 1, &y, NULL, 1, &x, out), ADREV_ESHAPE);
    EXPECT(ad_pullback(t, 1, &y, d, 1, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_pullback(t, 1, &y, d, 1, &x, NULL), ADREV_ESHAPE);
    EXPECT(ad_pushforward(t, 1, NULL, d, 1, &y, out), ADREV_ESHAPE);
    EXPECT(ad_pushforward(t, 1, &x, NULL, 1, &y, out), ADREV_ESHAPE);
    EXPECT(ad_pushforward(t, 1, &x, d, 1, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_pushforward(t, 1, &x, d, 1, &y, NULL), ADREV_ESHAPE);
    EXPECT(ad_jacobian(t, 1, NULL, 1, &x, out), ADREV_ESHAPE);
    EXPECT(ad_jacobian(t, 1, &y, 1, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_jacobian(t, 1, &y, 1, &x, NULL), ADREV_ESHAPE);
    untouched(4, out, __LINE__);
    EXPECT(ad_tape_status(t), ADREV_OK);
}

// Array statements: each null array on its own, and then nothing is read.
static void test_missing_arrays(ad_tape *t)
{
    static const ad_real c[2] = { 1, 2 };
    ad_rev x[2] = { ad_rec(1), ad_rec(2) };
    ad_rev y[2] = { ad_rec(3), ad_rec(4) };
    ad_rev got;
    void *volatile none = NULL;     // volatile: gcc -O3 warns of what is refused
#define MISSING(statement)                                                  \
    ad_tape_clear(t);                                                       \
    ad_inputs(2, c, x);                                                     \
    statement;                                                              \
    EXPECT(ad_tape_status(t), ADREV_ESHAPE);                                \
    CHECK(y[0].v == 3 && y[1].v == 4, "written: " #statement);
#define MISSING_SUM(sum)                                                    \
    MISSING(got = sum)                                                      \
    CHECK(got.v != got.v && got.job == 0, "a number: " #sum);
    MISSING_SUM(ad_sum(2, none))
    MISSING_SUM(ad_dot(2, none, x))
    MISSING_SUM(ad_dot(2, x, none))
    MISSING_SUM(ad_dotc(2, none, c))
    MISSING_SUM(ad_dotc(2, x, none))
    MISSING_SUM(ad_norm2(2, none))
    MISSING_SUM(ad_sqdist(2, none, x))
    MISSING_SUM(ad_sqdist(2, x, none))
    MISSING_SUM(ad_logsumexp(2, none))
    MISSING(ad_axpy(2, x[0], none, y))
    MISSING(ad_axpy(2, x[0], x, none))
    MISSING(ad_scale(2, x[0], none, y))
    MISSING(ad_scale(2, x[0], x, none))
    MISSING(ad_each(ADREV_OP_sin, 2, none, none, none, y))
    MISSING(ad_each(ADREV_OP_mul, 2, x, none, none, y))
    MISSING(ad_each(ADREV_OP_fma, 2, x, x, none, y))
    MISSING(ad_each(ADREV_OP_sin, 2, x, none, none, none))
    MISSING(ad_softmax(2, none, y))
    MISSING(ad_softmax(2, x, none))
    MISSING(ad_matvec(1, 2, none, x, y))
    MISSING(ad_matvec(1, 2, x, none, y))
    MISSING(ad_matvec(1, 2, x, x, none))
    MISSING(ad_matvecc(1, 2, none, x, y))
    MISSING(ad_matvecc(1, 2, c, none, y))
    MISSING(ad_matvecc(1, 2, c, x, none))
    MISSING(ad_matmul(1, 2, 1, none, x, y))
    MISSING(ad_matmul(1, 2, 1, x, none, y))
    MISSING(ad_matmul(1, 2, 1, x, x, none))
    MISSING(ad_trimatvec(2, x, none, x, y))
    MISSING(ad_trimatvec(2, x, x, none, y))
    MISSING(ad_trimatvec(2, x, x, x, none))
#undef MISSING_SUM
#undef MISSING
    ad_use(NULL);
    got = ad_sum(2, none);
    CHECK(got.v != got.v, "without a tape: a number");
    ad_use(t);
}

static void test_missing_functions(ad_tape *t)
{
    const ad_real x = 1;
    ad_real y = UNTOUCHED;
    ad_real g = UNTOUCHED;
    ad_check_report report = {0};
    EXPECT(ad_grad(NULL, NULL, 1, &x, &y, &g), ADREV_ESHAPE);
    EXPECT(ad_jac(NULL, NULL, 1, &x, 1, &y, &g), ADREV_ESHAPE);
    EXPECT(ad_check(NULL, NULL, 1, &x, &report), ADREV_ESHAPE);
    untouched(1, &y, __LINE__);
    untouched(1, &g, __LINE__);
    EXPECT(ad_tape_status(t), ADREV_OK);
}

// There are two values, so three x are one too many. So are lengths whose
// product, or size in bytes, does not fit a size_t.
static void test_too_long(ad_tape *t)
{
    ad_real out[4] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED };
    ad_rev x[3];
    x[0] = ad_input(2);
    x[1] = x[0];
    x[2] = x[0];
    ad_rev y = ad_rec(ad_mul(x[0], x[0]));
    ad_real d[3] = { 1, 1, 1 };
    EXPECT(ad_gradient(t, y, 3, x, out), ADREV_ESHAPE);
    EXPECT(ad_pullback(t, 1, &y, d, 3, x, out), ADREV_ESHAPE);
    EXPECT(ad_pushforward(t, 3, x, d, 1, &y, out), ADREV_ESHAPE);
    EXPECT(ad_jacobian(t, 1, &y, 3, x, out), ADREV_ESHAPE);
    EXPECT(ad_gradient(t, y, SIZE_MAX, x, out), ADREV_ESHAPE);
    EXPECT(ad_jacobian(t, 1, &y, SIZE_MAX, x, out), ADREV_ESHAPE);
    EXPECT(ad_jacobian(t, 1, &y, SIZE_MAX / 4, x, out), ADREV_ESHAPE);
    untouched(4, out, __LINE__);
}

// No x: nothing is asked and nothing written. No y: all adjoints are 0.
static void test_empty(ad_tape *t)
{
    ad_real one = 1;
    ad_real out = UNTOUCHED;
    ad_rev x = ad_input(2);
    ad_rev y = ad_rec(ad_mul(x, x));
    EXPECT(ad_gradient(t, y, 0, &x, &out), ADREV_OK);
    EXPECT(ad_gradient(t, y, 0, NULL, NULL), ADREV_OK);
    EXPECT(ad_pullback(t, 1, &y, &one, 0, NULL, NULL), ADREV_OK);
    EXPECT(ad_pullback(t, 0, NULL, NULL, 0, NULL, NULL), ADREV_OK);
    EXPECT(ad_pushforward(t, 1, &x, &one, 0, NULL, NULL), ADREV_OK);
    EXPECT(ad_jacobian(t, 1, &y, 0, NULL, NULL), ADREV_OK);
    EXPECT(ad_jacobian(t, 0, NULL, 1, &x, NULL), ADREV_OK);
    untouched(1, &out, __LINE__);
    EXPECT(ad_pullback(t, 0, NULL, NULL, 1, &x, &out), ADREV_OK);
    CHECK(out == 0, "no outputs: got adjoint %g", (double)out);
    out = UNTOUCHED;
    EXPECT(ad_pushforward(t, 0, NULL, NULL, 1, &y, &out), ADREV_OK);
    CHECK(out == 0, "no inputs: got tangent %g", (double)out);
}

/* --- marks ---------------------------------------------------------------- */

static void test_bad_marks(ad_tape *t)
{
    ad_tape *other = ad_tape_new();
    ad_rev x = ad_input(2);
    EXPECT(ad_tape_rewind(t, ad_tape_mark(other)), ADREV_EMARK);
    EXPECT(ad_tape_rewind(t, (ad_mark){ 0 }), ADREV_EMARK);

    ad_mark early = ad_tape_mark(t);
    DROP(ad_rec(ad_mul(x, x)));
    ad_mark late = ad_tape_mark(t);
    DROP(ad_rec(ad_mul(x, x)));
    EXPECT(ad_tape_rewind(t, early), ADREV_OK);
    EXPECT(ad_tape_rewind(t, late), ADREV_EMARK);
    DROP(ad_rec(ad_mul(x, x)));
    DROP(ad_rec(ad_mul(x, x)));
    EXPECT(ad_tape_rewind(t, late), ADREV_EMARK);
    EXPECT(ad_tape_rewind(t, early), ADREV_OK);
    REFUSED(t, plain(1), x, ADREV_EPASSIVE);

    ad_tape_clear(t);
    EXPECT(ad_tape_rewind(t, early), ADREV_EMARK);
    EXPECT(ad_tape_status(t), ADREV_OK);
    ad_tape_free(other);
}

// Each mark lies above what was recorded since the last rewind.
static void test_marks_too_deep(ad_tape *t)
{
    ad_rev x = ad_input(2);
    ad_rev y = x;
    int depth = 0;
    for (ad_status s = ADREV_OK; s == ADREV_OK && depth < 1000; depth++) {
        y = ad_rec(ad_mul(y, 1.5));
        ad_mark mark = ad_tape_mark(t);
        DROP(ad_rec(ad_mul(y, y)));
        s = ad_tape_rewind(t, mark);
        met[s] = true;
        CHECK(s == ADREV_OK || s == ADREV_EMARK, "got \"%s\"", ad_message(s));
    }
    CHECK(depth > ADREV_MARKS, "%d marks nest, want %d", depth - 1,
          ADREV_MARKS);
    // A refused rewind changes nothing.
    ad_real g = 0;
    EXPECT(ad_gradient(t, y, 1, &x, &g), ADREV_OK);
    CHECK_NEAR(g, powl(1.5L, depth), 1e-6L);
}

/* --- memory --------------------------------------------------------------- */

static bool memory_left;

static void *scarce_alloc(size_t bytes, void *user)
{
    (void)user;
    return memory_left ? malloc(bytes) : NULL;
}

static void scarce_free(void *block, void *user)
{
    (void)user;
    free(block);
}

static const ad_allocator scarce = { scarce_alloc, scarce_free, NULL };

// Many blocks, so that the last of them is refused.
static ad_rev powers(ad_rev x, int n)
{
    ad_rev y = x;
    for (int i = 0; i < n; i++)
        y = ad_rec(ad_mul(y, x));
    return y;
}

static void test_no_memory(ad_tape *unused)
{
    (void)unused;
    memory_left = false;
    CHECK(ad_tape_new_with(&scarce) == NULL, "a tape without memory");
    CHECK(ad_tape_new_with(&(ad_allocator){ scarce_alloc, NULL, NULL })
              == NULL, "a tape without free");
    CHECK(ad_tape_new_with(&(ad_allocator){ NULL, scarce_free, NULL })
              == NULL, "a tape without alloc");

    memory_left = true;
    ad_tape *t = ad_tape_new_with(&scarce);
    memory_left = false;
    ad_use(t);
    ad_rev x = ad_input(1);     // the first inputs need none
    if (!ADREV_DEBUG)
        EXPECT(ad_tape_status(t), ADREV_OK);
    ad_rev y = ad_rec(ad_sin(x));
    EXPECT(ad_tape_status(t), ADREV_ENOMEM);
    CHECK(y.v == adm_sin(x.v) && y.job == 0, "not a constant");
    REFUSED(t, y, x, ADREV_ENOMEM);
    x = ad_input(2);
    CHECK(x.v == 2 && x.job == 0, "an input of a failed tape: not a constant");
    memory_left = true;
    works_after_clear(t, __LINE__);
    ad_tape_free(t);
}

// The sweep's memory is missing, not the recording's: the tape has not failed.
static void test_no_memory_to_sweep(ad_tape *unused)
{
    (void)unused;
    memory_left = true;
    ad_tape *t = ad_tape_new_with(&scarce);
    ad_use(t);
    ad_rev x = ad_input(1);
    ad_rev y = powers(x, 900);
    memory_left = false;
    REFUSED(t, y, x, ADREV_ENOMEM);
    EXPECT(ad_tape_reserve(t, 1000000, 1000000), ADREV_ENOMEM);
    EXPECT(ad_tape_status(t), ADREV_OK);
    memory_left = true;
    ad_real g = 0;
    EXPECT(ad_gradient(t, y, 1, &x, &g), ADREV_OK);
    CHECK(g == 901, "got %g, want 901", (double)g);
    ad_tape_free(t);
}

static void test_reserve_too_much(ad_tape *t)
{
    ad_rev x = ad_input(2);
    size_t held = ad_tape_stats(t).bytes_held;
    EXPECT(ad_tape_reserve(t, SIZE_MAX, SIZE_MAX), ADREV_ENOMEM);
    EXPECT(ad_tape_reserve(t, SIZE_MAX / 12 + 1, 0), ADREV_ENOMEM);
    EXPECT(ad_tape_reserve(t, SIZE_MAX / 10 + 1, 0), ADREV_ENOMEM);
    EXPECT(ad_tape_reserve(t, SIZE_MAX / 8 + 1, 0), ADREV_ENOMEM);
    EXPECT(ad_tape_reserve(t, SIZE_MAX / 2 + 1, 0), ADREV_ENOMEM);
    EXPECT(ad_tape_reserve(t, 0, SIZE_MAX / 12 + 1), ADREV_ENOMEM);
    EXPECT(ad_tape_reserve(t, 0, SIZE_MAX / 4 + 1), ADREV_ENOMEM);
    EXPECT(ad_tape_status(t), ADREV_OK);
    CHECK(ad_tape_stats(t).bytes_held == held, "a refused reserve allocates");
    (void)x;
    works(t, __LINE__);
}

// In a buffer of the given size, with guards behind it.
static ad_status run_fixed(unsigned char *buffer, size_t bytes)
{
    memset(buffer, 0xA5, bytes + 64);
    ad_tape *t = ad_tape_in(buffer, bytes);
    if (t == NULL)
        return ADREV_ENOTAPE;
    ad_use(t);
    ad_rev x = ad_input(1);
    ad_rev y = powers(x, 20);
    ad_real g = UNTOUCHED;
    ad_status s = ad_gradient(t, y, 1, &x, &g);
    if (s == ADREV_OK)
        CHECK(g == 21, "%zu bytes: got %g, want 21", bytes, (double)g);
    else
        untouched(1, &g, __LINE__);
    // Too small for the gradient of one statement is a status as well.
    ad_tape_clear(t);
    x = ad_input(2);
    y = ad_rec(ad_mul(x, x));
    ad_status small = ad_gradient(t, y, 1, &x, &g);
    CHECK(small == ADREV_EFULL || (small == ADREV_OK && g == 4),
          "%zu bytes, after clear: got \"%s\", %g", bytes, ad_message(small),
          (double)g);
    ad_use(NULL);
    return s;
}

static void test_every_size(ad_tape *unused)
{
    (void)unused;
    enum { MOST = 4096 };
    static _Alignas(16) unsigned char buffer[MOST + 64];
    ad_status last = ADREV_ENOTAPE;
    for (size_t bytes = 0; bytes < MOST; bytes++) {
        ad_status s = run_fixed(buffer, bytes);
        for (size_t i = bytes; i < bytes + 64; i++)
            CHECK(buffer[i] == 0xA5, "%zu bytes: wrote beyond", bytes);
        CHECK(s == last || (s == ADREV_EFULL && last == ADREV_ENOTAPE)
                  || (s == ADREV_OK && last == ADREV_EFULL),
              "%zu bytes: \"%s\" after \"%s\"", bytes, ad_message(s),
              ad_message(last));
        last = s;
    }
    CHECK(last == ADREV_OK, "%d bytes are not enough", MOST);
    CHECK(ad_tape_in(NULL, MOST) == NULL, "a tape in no buffer");
}

static void test_full(ad_tape *unused)
{
    (void)unused;
    static _Alignas(16) unsigned char buffer[2000];
    ad_tape *t = ad_tape_in(buffer, sizeof buffer);
    ad_use(t);
    ad_rev x = ad_input(1);
    EXPECT(ad_tape_reserve(t, 1000, 1000), ADREV_EFULL);
    EXPECT(ad_tape_reserve(t, SIZE_MAX, SIZE_MAX), ADREV_EFULL);
    EXPECT(ad_tape_status(t), ADREV_OK);
    ad_rev y = powers(x, 500);
    CHECK(y.v == 1 && y.job == 0, "beyond the end: not a constant");
    EXPECT(ad_tape_status(t), ADREV_EFULL);
    EXPECT(ad_tape_reserve(t, 1, 1), ADREV_EFULL);
    REFUSED(t, x, x, ADREV_EFULL);
    works_after_clear(t, __LINE__);
    ad_tape_free(t);
}

// Inputs, statements, arrays and an external statement, as far as they fit.
static bool spread_back(const void *saved, size_t m, const ad_real dy[],
                        size_t n, ad_real dx[])
{
    (void)saved;
    for (size_t i = 0; i < n; i++)
        dx[i] += dy[i % m];
    return true;
}

static void record_all_kinds(void)
{
    static const ad_external_rule rule = { .name = "m",
                                           .pullback = spread_back };
    static const ad_real v[20] = { 1, 2, 3, 4, 5, 6 };
    ad_rev x[20], y[20];
    ad_inputs(10, v, x);
    ad_inputs(10, v, x + 10);
    for (size_t i = 0; i < 20; i++)
        y[i] = ad_rec(ad_mul(x[i], ad_add(x[19 - i], ad_sin(x[5]))));
    ad_inputs(3, v, x);
    ad_matvec(4, 4, x, y, y + 16);
    ad_external(&rule, v, sizeof v, 2, x + 3, 3, v, y);
    DROP(ad_rec(ad_mul(ad_logsumexp(20, y), ad_dot(10, x, y + 10))));
}

// What is missing is exactly that: with 8 bytes less nothing more is recorded.
// In the end the tape has as many bytes as one that grows says it needs.
static void test_missing(ad_tape *t)
{
    enum { MOST = 20000 };
    static _Alignas(16) unsigned char buffer[MOST];
    ad_tape_clear(t);
    CHECK(ad_tape_missing(t) == 0 && ad_tape_missing(NULL) == 0, "missing");
    record_all_kinds();
    size_t want = ad_tape_bytes(t);
    size_t bytes = 0;
    size_t values = 0;
    size_t missing = 8;
    while (ad_tape_in(buffer, bytes) == NULL)
        bytes += 8;
    for (int k = 0; k < 1000 && missing > 0 && bytes < MOST; k++) {
        ad_tape *fixed = ad_tape_in(buffer, bytes);
        ad_use(fixed);
        record_all_kinds();
        size_t recorded = ad_tape_stats(fixed).values;
        bool less = k > 0 && missing > 8 && !ADREV_DEBUG;
        CHECK(k == 0 || recorded > values || ADREV_DEBUG, "%zu bytes more",
              missing);
        CHECK((ad_tape_missing(fixed) > 0)
              == (ad_tape_status(fixed) == ADREV_EFULL), "%s, %zu missing",
              ad_message(ad_tape_status(fixed)), ad_tape_missing(fixed));
        size_t next = ad_tape_missing(fixed);
        fixed = less ? ad_tape_in(buffer, bytes - 8) : NULL;
        ad_use(fixed);
        if (less) {
            record_all_kinds();
            CHECK(ad_tape_stats(fixed).values == values
                  && ad_tape_missing(fixed) == 8, "%zu bytes: too many said",
                  missing);
        }
        values = recorded;
        missing = next;
        bytes += missing;
    }
    CHECK(missing == 0 && bytes == want, "%zu bytes, want %zu", bytes, want);
    ad_use(t);
    ad_tape_clear(t);
}

/* --- limits --------------------------------------------------------------- */

static void test_limit(ad_tape *t)
{
    static ad_real v[ADREV_VALUES + 1];
    static ad_rev x[ADREV_VALUES + 1];
    ad_inputs(ADREV_VALUES - 1, v, x);
    ad_rev y = ad_rec(ad_add(x[0], 1));
    EXPECT(ad_tape_status(t), ADREV_OK);
    ad_real g = 0;
    EXPECT(ad_gradient(t, y, 1, x, &g), ADREV_OK);
    CHECK(g == 1, "at the limit: got %g, want 1", (double)g);
    ad_mark mark = ad_tape_mark(t);
    ad_rev more = ad_rec(ad_mul(y, y));
    CHECK(more.job == 0, "one value beyond the limit was recorded");
    EXPECT(ad_tape_status(t), ADREV_ELIMIT);
    REFUSED(t, y, x[0], ADREV_ELIMIT);
    EXPECT(ad_tape_rewind(t, mark), ADREV_OK);
    ad_input(1);
    EXPECT(ad_tape_status(t), ADREV_ELIMIT);
    works_after_clear(t, __LINE__);
}

// Inputs that fail are constants, all of them.
static void test_limit_inputs(ad_tape *t)
{
    static ad_real v[ADREV_VALUES + 1];
    static ad_rev x[ADREV_VALUES + 1];
    ad_inputs(ADREV_VALUES + 1, v, x);
    EXPECT(ad_tape_status(t), ADREV_ELIMIT);
    CHECK(x[0].job == 0 && x[ADREV_VALUES].job == 0,
          "inputs of a failed tape are not constants");
    works_after_clear(t, __LINE__);
}

/* --- hooks ---------------------------------------------------------------- */

#define BECAUSE(t, about)                                                   \
    CHECK(strstr(ad_tape_reason(t), about) != NULL, "\"%s\" is not about "   \
          "\"%s\"", ad_tape_reason(t), about)

static void ignore(void *user, const ad_operation *operation)
{
    (void)user;
    (void)operation;
}

static ad_rev decline(void *user, ad_rev x)
{
    (void)user;
    return x;
}

static void test_untraced_code(ad_tape *t)
{
    const ad_hooks hooks = { .trace = ignore };
    ad_tape_hooks(t, &hooks);
    ad_rev x = ad_input(2);
    ad_rev y = ad_rec(ad_mul(x, x));
    EXPECT(ad_tape_status(t), ADREV_OK);
    ad_rev z = errors_plain_product(x, y);
    CHECK(z.v == 8, "got %g, want 8", (double)z.v);
    EXPECT(ad_tape_status(t), ADREV_EHOOK);
    REFUSED(t, y, x, ADREV_EHOOK);
    BECAUSE(t, "compiled without ADREV_TRACE");

    ad_tape_hooks(t, NULL);
    ad_tape_clear(t);
    BECAUSE(t, ad_message(ADREV_OK));
    x = ad_input(2);
    z = errors_plain_product(x, x);
    ad_real g = 0;
    EXPECT(ad_gradient(t, z, 1, &x, &g), ADREV_OK);
    CHECK(g == 4, "without the hook: got %g, want 4", (double)g);
}

// ad_rec of an expression that was made before there was a hook.
static ad_rev twice_from_before(ad_tape *t, ad_rev x)
{
    const ad_hooks hooks = { .trace = ignore };
    ad_expr e = ad_expr_of(ad_mul(x, 2));
    ad_tape_hooks(t, &hooks);
    ad_rev y = ad_rec(e);
    ad_tape_hooks(t, NULL);
    return y;
}

// Nobody knows its operations, unless each is a statement. One of constants has
// none.
static void test_expression_from_before(ad_tape *t)
{
    const ad_rev three = { .v = 3 };
    ad_rev old = ad_input(5);
    ad_tape_clear(t);
    ad_rev x = ad_input(2);
    ad_rev y = twice_from_before(t, three);
    CHECK(y.v == 6 && y.job == 0, "got %g of job %u", (double)y.v,
          (unsigned)y.job);
    EXPECT(ad_tape_status(t), ADREV_OK);
    y = twice_from_before(t, x);
    const bool fuses = ADREV_FUSE > 1;
    EXPECT(ad_tape_status(t), fuses ? ADREV_EHOOK : ADREV_OK);
    if (fuses) {
        REFUSED(t, y, x, ADREV_EHOOK);
        BECAUSE(t, "an expression that was made before");
    }
    ad_tape_clear(t);
    twice_from_before(t, old);
    EXPECT(ad_tape_status(t), ADREV_EFOREIGN);
    works_after_clear(t, __LINE__);
}

static void test_untraced_array(ad_tape *t)
{
    const ad_hooks hooks = { .trace = ignore };
    ad_mark mark = ad_tape_mark(t);
    ad_tape_hooks(t, &hooks);
    ad_rev x = ad_input(2);
    ad_sum(1, &x);
    EXPECT(ad_tape_status(t), ADREV_EHOOK);
    BECAUSE(t, "an array or external statement");
    EXPECT(ad_tape_rewind(t, mark), ADREV_OK);
    BECAUSE(t, ad_message(ADREV_OK));
    DROP(ad_rec(ad_mul(x, x)));               // gone by the rewind: another cause
    BECAUSE(t, ad_message(ADREV_EFOREIGN));
    BECAUSE(NULL, ad_message(ADREV_ENOTAPE));
}

static void test_declined(ad_tape *t)
{
    const ad_hooks hooks = { .foreign = decline };
    ad_rev old = ad_input(2);
    ad_tape_clear(t);
    ad_tape_hooks(t, &hooks);
    DROP(ad_rec(ad_mul(old, ad_input(1))));
    EXPECT(ad_tape_status(t), ADREV_EFOREIGN);
    ad_tape_hooks(t, NULL);
    works_after_clear(t, __LINE__);
}

/* --- the whole job -------------------------------------------------------- */

typedef struct inner {
    ad_rev captured;
    ad_status status;       // of a job inside the job
    ad_real gradient;
} inner;

static ad_rev square(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_mul(x[0], x[0]));
}

static ad_rev times_captured(const ad_rev *x, void *ctx)
{
    const inner *in = ctx;
    return ad_rec(ad_mul(x[0], in->captured));
}

static ad_rev constant(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_detach(x[0]));
}

// x^2 and the derivative of u^2 at u = x, which is a constant: x^2 * 2x.
static ad_rev nested(const ad_rev *x, void *ctx)
{
    inner *in = ctx;
    ad_rev y = ad_rec(ad_mul(x[0], x[0]));
    ad_real at = x[0].v;
    in->status = ad_grad(square, NULL, 1, &at, NULL, &in->gradient);
    return ad_rec(ad_mul(y, in->gradient));
}

static void two_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    const inner *in = ctx;
    y[0] = ad_rec(ad_mul(x[0], x[0]));
    y[1] = ad_rec(ad_mul(x[0], in->captured));
}

// The recording around a job that fails goes on as if nothing had been.
static void test_job_fails(ad_tape *t)
{
    inner in = { .captured = ad_input(5) };
    ad_tape_clear(t);
    ad_rev x = ad_input(3);
    ad_rev y = ad_rec(ad_mul(x, x));
    const ad_real at = 2;
    ad_real out[4] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED };
    EXPECT(ad_grad(times_captured, &in, 1, &at, out, out + 1),
           ADREV_EFOREIGN);
    EXPECT(ad_jac(two_rows, &in, 1, &at, 2, out, out + 2), ADREV_EFOREIGN);
    EXPECT(ad_grad(constant, NULL, 1, &at, out, out + 1), ADREV_EPASSIVE);
    EXPECT(ad_grad(square, NULL, 1, NULL, out, out + 1), ADREV_ESHAPE);
    EXPECT(ad_grad(square, NULL, 1, &at, NULL, NULL), ADREV_ESHAPE);
    EXPECT(ad_jac(two_rows, &in, 1, NULL, 2, out, out + 2), ADREV_ESHAPE);
    EXPECT(ad_jac(two_rows, &in, 1, &at, 2, NULL, NULL), ADREV_ESHAPE);
    untouched(4, out, __LINE__);

    EXPECT(ad_tape_status(t), ADREV_OK);
    ad_rev z = ad_rec(ad_mul(y, x));
    EXPECT(ad_gradient(t, z, 1, &x, out), ADREV_OK);
    CHECK(out[0] == 27, "got %g, want 27", (double)out[0]);
}

// The value only: of constants, too, with nothing left on the tape, nothing
// swept (there is no room for adjoints), and the errors of the function.
static void no_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_detach(x[0]));
    y[1] = ad_rec(7);
}

static ad_rev long_sum(const ad_rev *x, void *ctx)
{
    ad_rev y = x[0];
    (void)ctx;
    for (int i = 0; i < 100; i++)
        y = ad_rec(ad_add(ad_sin(y), x[0]));
    return y;
}

static void test_values_only(ad_tape *t)
{
    inner in = { .captured = ad_input(5) };
    const ad_real at = 3;
    ad_real out[2] = { UNTOUCHED, UNTOUCHED };
    size_t bytes = ad_tape_bytes(t);
    EXPECT(ad_grad(square, NULL, 1, &at, out, NULL), ADREV_OK);
    CHECK(out[0] == 9, "value only: got %g, want 9", (double)out[0]);
    EXPECT(ad_grad(constant, NULL, 1, &at, out, NULL), ADREV_OK);
    CHECK(out[0] == 3, "value of a constant: got %g, want 3", (double)out[0]);
    EXPECT(ad_grad(times_captured, &in, 1, &at, out, NULL), ADREV_OK);
    CHECK(out[0] == 15, "a captured number: got %g, want 15", (double)out[0]);
    EXPECT(ad_jac(two_rows, &in, 1, &at, 2, out, NULL), ADREV_OK);
    CHECK(out[0] == 9 && out[1] == 15, "values only: got %g, %g",
          (double)out[0], (double)out[1]);
    EXPECT(ad_jac(no_rows, NULL, 1, &at, 2, out, NULL), ADREV_OK);
    CHECK(out[0] == 3 && out[1] == 7, "constants: got %g, %g",
          (double)out[0], (double)out[1]);
    CHECK(ad_tape_bytes(t) == bytes, "bytes left on the tape");

    ad_real with[2] = { UNTOUCHED, UNTOUCHED };
    EXPECT(ad_grad(long_sum, NULL, 1, &at, with, with + 1), ADREV_OK);
    EXPECT(ad_grad(long_sum, NULL, 1, &at, out, NULL), ADREV_OK);
    CHECK(out[0] == with[0], "value only %.17g, with gradient %.17g",
          (double)out[0], (double)with[0]);
    static _Alignas(16) unsigned char few[1200];
    ad_tape *small = ad_tape_in(few, sizeof few);
    ad_use(small);
    EXPECT(ad_grad(long_sum, NULL, 1, &at, out, out + 1), ADREV_EFULL);
    EXPECT(ad_grad(long_sum, NULL, 1, &at, out, NULL), ADREV_OK);
    ad_use(t);

    out[0] = UNTOUCHED;
    out[1] = UNTOUCHED;
    ad_rev old = in.captured;
    ad_tape_clear(t);
    in.captured = ad_rec(ad_mul(ad_input(1), 2));
    ad_tape_clear(t);
    EXPECT(ad_grad(times_captured, &in, 1, &at, out, NULL), ADREV_EFOREIGN);
    EXPECT(ad_jac(two_rows, &in, 1, &at, 2, out, NULL), ADREV_EFOREIGN);
    untouched(2, out, __LINE__);
    (void)old;
}

/* --- arrays that are shorter than a function believes ---------------------- */

// What it does with the numbers x[n] ... x[n + 3] that are not there.
typedef struct overreach {
    int how;
    size_t n;               // from here on
    size_t m;
    int calls;
} overreach;

static ad_rev reaches(const ad_rev *x, void *ctx)
{
    overreach *o = ctx;
    const ad_rev *beyond = x + o->n;
    o->calls++;
    switch (o->how) {
    case 0: return ad_rec(ad_mul(x[0], beyond[0]));
    case 1: return ad_rec(ad_mul(x[0], beyond[3]));
    case 2: return beyond[0];
    case 3: return ad_dot(2, x, beyond);
    case 4: return ad_sum(o->n + 1, x);
    case 5: {
        ad_rev sum = x[0];
        ad_acc(&sum, beyond[1]);
        return sum;
    }
    case 6: return ad_rec(ad_max(x[0], beyond[0]));
    case 7: {                   // only a number: it is not a number
        ad_real v = ad_value(beyond[0]);
        CHECK(v != v, "beyond the inputs: %g", (double)v);
        return ad_rec(ad_sqr(x[0]));
    }
    default: return ad_rec(ad_sqr(x[0]));
    }
}

static void reaches_row(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = x[0];
    y[1] = reaches(x, ctx);
}

static void test_beyond_inputs(ad_tape *t)
{
    const ad_real x[3] = { 3, 4, 5 };
    for (int how = 0; how < 7; how++)
        for (size_t n = 1; n <= 3; n++) {
            overreach o = { .how = how, .n = n };
            ad_real out[8] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED,
                               UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED };
            EXPECT(ad_grad(reaches, &o, n, x, out, out + 1), ADREV_EBEYOND);
            EXPECT(ad_grad(reaches, &o, n, x, out, NULL), ADREV_EBEYOND);
            EXPECT(ad_jac(reaches_row, &o, n, x, 2, out, out + 2),
                   ADREV_EBEYOND);
            EXPECT(ad_jac(reaches_row, &o, n, x, 2, out, NULL),
                   ADREV_EBEYOND);
            untouched(8, out, __LINE__);
            ad_check_report report = {0};
            EXPECT(ad_check(reaches, &o, n, x, &report), ADREV_EBEYOND);
            EXPECT(ad_tape_status(t), ADREV_OK);
        }
    overreach o = { .how = 7, .n = 1 };
    ad_real y = 0;
    ad_real g = 0;
    EXPECT(ad_grad(reaches, &o, 1, x, &y, &g), ADREV_OK);
    CHECK(g == 6 && o.calls == 1, "gradient %g", (double)g);
    o.how = 8;
    EXPECT(ad_grad(reaches, &o, 1, x, &y, &g), ADREV_OK);
    ad_use(NULL);               // on a tape of its own
    o.how = 0;
    EXPECT(ad_grad(reaches, &o, 1, x, &y, &g), ADREV_EBEYOND);
    ad_use(t);
}

// Sets as many results as it likes: those with an even number first.
static void sets(const ad_rev *x, ad_rev *y, void *ctx)
{
    const overreach *o = ctx;
    for (size_t i = 0; i < o->m; i++)
        if (o->how == 0 || i % 2 == 0)
            y[i] = ad_rec(ad_mul(x[0], (double)i));
    if (o->how == 2)
        ad_acc(&y[1], x[0]);    // begins at 0
}

static void test_results_of_a_function(ad_tape *t)
{
    const ad_real x = 3;
    for (size_t m = 1; m < 4; m++)
        for (size_t set = 0; set < 7; set++) {
            overreach o = { .m = set };
            ad_real out[6] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED,
                               UNTOUCHED, UNTOUCHED };
            ad_status want = set < m ? ADREV_ESHAPE
                           : set > m ? ADREV_EBEYOND : ADREV_OK;
            EXPECT(ad_jac(sets, &o, 1, &x, m, out, out + 3), want);
            EXPECT(ad_jac(sets, &o, 1, &x, m, out, NULL), want);
            EXPECT(ad_jac(sets, &o, 0, NULL, 0, NULL, NULL),
                   set > 0 ? ADREV_EBEYOND : ADREV_OK);
            if (want != ADREV_OK)
                untouched(6, out, __LINE__);
            ad_check_report report = {0};
            EXPECT(ad_check_jac(sets, &o, 1, &x, m, &report), want);
            EXPECT(ad_tape_status(t), ADREV_OK);
        }
    overreach o = { .how = 1, .m = 2 };
    ad_real y[2] = { -1, -1 };
    ad_real J[2];
    EXPECT(ad_jac(sets, &o, 1, &x, 2, y, J), ADREV_ESHAPE);
    o.how = 2;
    EXPECT(ad_jac(sets, &o, 1, &x, 2, y, J), ADREV_OK);
    CHECK(y[0] == 0 && y[1] == 3 && J[1] == 1, "added to: %g, slope %g",
          (double)y[1], (double)J[1]);
}

// On a tape that has failed already a job fails likewise.
static void test_job_on_failed_tape(ad_tape *t)
{
    ad_rev old = ad_input(1);
    ad_tape_clear(t);
    DROP(ad_rec(ad_mul(old, old)));
    const ad_real at = 2;
    ad_real out[2] = { UNTOUCHED, UNTOUCHED };
    EXPECT(ad_grad(square, NULL, 1, &at, out, out + 1), ADREV_EFOREIGN);
    untouched(2, out, __LINE__);
    EXPECT(ad_tape_status(t), ADREV_EFOREIGN);
}

static void test_job_inside(ad_tape *t)
{
    inner in = { .status = ADREV_EHOOK };
    ad_rev x = ad_input(3);
    const ad_real at = 2;
    ad_real y = 0;
    ad_real g = 0;
    EXPECT(ad_grad(nested, &in, 1, &at, &y, &g), ADREV_OK);
    EXPECT(in.status, ADREV_OK);
    // d/dx of x^2 * 4, the inner gradient being a number
    CHECK(in.gradient == 4 && y == 16 && g == 16,
          "got %g, %g, %g, want 4, 16, 16", (double)in.gradient, (double)y,
          (double)g);
    ad_rev z = ad_rec(ad_mul(x, x));
    EXPECT(ad_gradient(t, z, 1, &x, &g), ADREV_OK);
    CHECK(g == 6, "the recording around: got %g, want 6", (double)g);
}

// A value of the recording around the job is no constant: it counts as one
// that the gradient does not ask for.
static void test_job_captures(ad_tape *t)
{
    inner in = { .captured = ad_input(5) };
    const ad_real at = 2;
    ad_real out[4] = { 0, 0, 0, 0 };
    EXPECT(ad_grad(times_captured, &in, 1, &at, out, out + 1), ADREV_OK);
    CHECK(out[0] == 10 && out[1] == 5, "got %g, %g, want 10, 5",
          (double)out[0], (double)out[1]);
    EXPECT(ad_jac(two_rows, &in, 1, &at, 2, out, out + 2), ADREV_OK);
    CHECK(out[0] == 4 && out[1] == 10 && out[2] == 4 && out[3] == 5,
          "got %g, %g, %g, %g, want 4, 10, 4, 5", (double)out[0],
          (double)out[1], (double)out[2], (double)out[3]);
    ad_tape_clear(t);
}

static void test_job_without_tape(ad_tape *t)
{
    inner in = { .captured = ad_input(5) };
    ad_use(NULL);
    const ad_real at = 2;
    ad_real y = UNTOUCHED;
    ad_real g = UNTOUCHED;
    EXPECT(ad_grad(times_captured, &in, 1, &at, &y, &g), ADREV_EFOREIGN);
    CHECK(y == UNTOUCHED && g == UNTOUCHED, "outputs touched");
    EXPECT(ad_grad(square, NULL, 1, &at, &y, &g), ADREV_OK);
    CHECK(y == 4 && g == 4, "got %g, %g, want 4, 4", (double)y, (double)g);
    EXPECT(ad_grad(square, NULL, 1, &at, NULL, &g), ADREV_OK);
    EXPECT(ad_grad(nested, &in, 1, &at, &y, &g), ADREV_OK);
    CHECK(y == 16 && g == 16, "got %g, %g, want 16, 16", (double)y,
          (double)g);
    CHECK(ad_use(t) == NULL, "a job leaves its own tape current");
}

/* --- all of them ---------------------------------------------------------- */

static void test_messages(void)
{
    for (int s = -2; s < ADREV_STATUS_COUNT + 3; s++) {
        const char *text = ad_message((ad_status)s);
        CHECK(text != NULL && text[0] != 0, "no message for %d", s);
    }
}

static void run(void (*test)(ad_tape *t))
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    test(t);
    ad_tape_stats(t);
    ad_tape_bytes(t);
    ad_tape_hooks(t, NULL);
    ad_use(t);
    works_after_clear(t, __LINE__);
    // and a second time, with memory from the first
    ad_tape_clear(t);
    test(t);
    ad_tape_free(t);
}

// More of it in external.c.
static void test_external(ad_tape *t)
{
    static const ad_external_rule nothing = { .name = "nothing" };
    const ad_real v = 2;
    ad_rev x = ad_input(1);
    ad_rev y = x;
    EXPECT(ad_external(&nothing, NULL, 0, 1, &x, 1, &v, &y), ADREV_EEXTERNAL);
    EXPECT(ad_tape_status(t), ADREV_EEXTERNAL);
    CHECK(y.v == 2 && y.job == 0, "no pullback: not a constant");
    REFUSED(t, y, x, ADREV_EEXTERNAL);
}

// What a statement of one's own cannot compute; the first reason stays.
static void test_failed_on_purpose(ad_tape *t)
{
    static const char why[] = "the third pivot is 0";
    ad_rev x = ad_input(2);
    ad_rev y = ad_rec(ad_mul(x, x));
    EXPECT(ad_fail(ADREV_OK, why), ADREV_OK);
    EXPECT(ad_tape_status(t), ADREV_OK);
    EXPECT(ad_fail(ADREV_ESINGULAR, why), ADREV_ESINGULAR);
    EXPECT(ad_fail(ADREV_ESHAPE, NULL), ADREV_ESINGULAR);
    BECAUSE(t, why);
    REFUSED(t, y, x, ADREV_ESINGULAR);
    ad_use(NULL);
    EXPECT(ad_fail(ADREV_ESHAPE, why), ADREV_ESHAPE);
    ad_use(t);
    works_after_clear(t, __LINE__);
}

int main(void)
{
    static void (*const tests[])(ad_tape *) = {
        test_ok, test_no_tape, test_nothing_current, test_passive,
        test_constant_with_seq,
        test_stale_query, test_stale_operand, test_stale_operand_forms,
        test_other_tape, test_freed_tape, test_forged, test_rewound_value,
        test_null_arrays, test_missing_arrays, test_missing_functions,
        test_too_long, test_empty,
        test_bad_marks, test_marks_too_deep,
        test_no_memory, test_no_memory_to_sweep, test_reserve_too_much,
        test_every_size, test_full, test_missing, test_limit, test_limit_inputs,
        test_untraced_code, test_expression_from_before, test_untraced_array,
        test_declined,
        test_job_fails, test_job_on_failed_tape, test_job_inside,
        test_job_captures, test_job_without_tape, test_external,
        test_failed_on_purpose,
        test_values_only, test_beyond_inputs, test_results_of_a_function,
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        run(tests[i]);
    test_messages();

    // Nobody forks here: those are met in parallel_errors.c.
    met[ADREV_EBUSY] = met[ADREV_ERACE] = true;
    // Statements have no places: see debug.c.
    met[ADREV_ENONFINITE] = true;
    // Nor are functions recorded: see function_errors.c, saved.c and
    // compiled.c.
    met[ADREV_EPATH] = met[ADREV_EFROZEN] = met[ADREV_EFILE] = true;
    met[ADREV_ECOMPILE] = true;
    // Nor are equations solved: see implicit.c.
    met[ADREV_EUNSOLVED] = true;
    // Nor are there other ranks: see tests/mpi/failures.c.
    met[ADREV_EREMOTE] = true;
    // Nor are texts read: see syntax.c.
    met[ADREV_ESYNTAX] = true;
#define ROW(name, text)                                                     \
    CHECK(met[ADREV_##name], "ADREV_" #name " was never met: " text);
    ADREV_STATUS_TABLE(ROW)
#undef ROW
    return check_done("errors");
}
