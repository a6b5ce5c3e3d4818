// SPDX-License-Identifier: MIT-0
// tags: recorded slow
// with: errors_plain.c function_debug.c
/* function_errors.c - recorded functions: every error, and what f may do with
 * other recordings while it is recorded.                                    */

#include "implementation.h"
#include "adrev_function.h"

#include "check.h"
#include "recorded.h"

#include <stdint.h>


ad_rev errors_plain_product(ad_rev x, ad_rev y);    // in errors_plain.c

/* --- errors --------------------------------------------------------------- */

static ad_fn *const garbage = (ad_fn *)(uintptr_t)0x10;

// A status, and no function.
static void refused(const char *name, ad_vector_fn *f, void *ctx, size_t n,
                    const double *x, size_t m, ad_status want)
{
    ad_fn *fn = garbage;
    ad_status s = ad_fn_record(&fn, f, ctx, n, x, m);
    CHECK(s == want, "%s: got \"%s\", want \"%s\"", name, ad_message(s),
          ad_message(want));
    CHECK(fn == NULL || s == ADREV_OK, "%s: a function", name);
    CHECK(want == ADREV_EHOOK || want == ADREV_EMARK
          || strcmp(ad_fn_reason(), ad_message(want)) == 0, "%s: \"%s\"", name,
          ad_fn_reason());
    if (s == ADREV_OK)
        ad_fn_free(fn);
}

#define BECAUSE(about)                                                      \
    CHECK(strstr(ad_fn_reason(), about) != NULL, "\"%s\" is not about \"%s\"", \
          ad_fn_reason(), about)

static void test_null_record(void)
{
    const double x[2] = { 1, 2 };
    EXPECT(ad_fn_record(NULL, title, NULL, 2, x, 1), ADREV_ESHAPE);
    refused("no f", NULL, NULL, 2, x, 1, ADREV_ESHAPE);
    refused("no x", title, NULL, 2, NULL, 1, ADREV_ESHAPE);
    ad_fn *fn = NULL;
    EXPECT(ad_fn_record_with(&fn, NULL, title, NULL, 2, x, 1), ADREV_OK);
    ad_fn_free(fn);
    ad_fn_free(NULL);
    CHECK(ad_fn_eval(NULL, x, &(double){ 0 }) != ADREV_OK, "no function");
}

static void test_null_evaluate(void)
{
    const double x[2] = { 1, 2 };
    double out[4] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED };
    ad_fn *fn = recorded("title", title, NULL, 2, x, 1);
    EXPECT(ad_fn_eval(fn, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_eval(fn, x, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_jvp(fn, NULL, x, out), ADREV_ESHAPE);
    EXPECT(ad_fn_jvp(fn, x, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_jvp(fn, x, x, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_vjp(fn, NULL, x, out), ADREV_ESHAPE);
    EXPECT(ad_fn_vjp(fn, x, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_vjp(fn, x, x, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_gradient(fn, NULL, out, out + 1), ADREV_ESHAPE);
    EXPECT(ad_fn_gradient(fn, x, out, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_hvp(fn, NULL, x, x, out), ADREV_ESHAPE);
    EXPECT(ad_fn_hvp(fn, x, NULL, x, out), ADREV_ESHAPE);
    EXPECT(ad_fn_hvp(fn, x, x, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_hvp(fn, x, x, x, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_jacobian(fn, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_jacobian(fn, x, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_linearize(NULL, x, out, out), ADREV_ESHAPE);
    EXPECT(ad_fn_linearize(fn, NULL, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_linearize(fn, x, NULL, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_hessian(fn, NULL, x, out), ADREV_ESHAPE);
    EXPECT(ad_fn_hessian(fn, x, NULL, out), ADREV_ESHAPE);
    EXPECT(ad_fn_hessian(fn, x, x, NULL), ADREV_ESHAPE);
    CHECK(touched(out, 0, 4) == 0, "an output was touched");
    EXPECT(ad_fn_gradient(fn, x, NULL, out), ADREV_OK);
    CHECK(touched(out, 0, 4) == 2, "a gradient without the value");
    ad_fn_free(fn);
}

// A gradient is of one result.
static void two_results(const ad_rev *x, ad_rev *y, void *ctx)
{
    title(x, &y[0], ctx);
    title(x, &y[1], ctx);
}

static void test_gradient_shape(void)
{
    const double x[2] = { 1, 2 };
    double out[4] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED };
    ad_fn *fn = recorded("two results", two_results, NULL, 2, x, 2);
    EXPECT(ad_fn_gradient(fn, x, out, out + 1), ADREV_ESHAPE);
    EXPECT(ad_fn_gradient(fn, x, NULL, out + 1), ADREV_ESHAPE);
    CHECK(touched(out, 0, 4) == 0, "an output was touched");
    ad_fn_free(fn);
}

// More than there can be: an answer, not an attempt.
static void test_too_many(void)
{
    const double x[1] = { 1 };
    ad_fn *fn = garbage;
    ad_status s = ad_fn_record(&fn, identity, NULL, 1, x, SIZE_MAX / 2);
    CHECK(s != ADREV_OK && fn == NULL, "SIZE_MAX/2 results: %s",
          ad_message(s));
}

/* --- numbers of others ---------------------------------------------------- */

struct stranger {
    ad_rev z;
    int use;
};

enum { STRANGE_USES = 9 };

static void strange(const ad_rev *x, ad_rev *y, void *ctx)
{
    const struct stranger *s = ctx;
    y[0] = ad_rec(ad_mul(x[0], x[0]));
    switch (s->use) {
    case 0:
        y[0] = ad_rec(ad_mul(x[0], s->z));
        CHECK(y[0].job == 0, "an operation that fails: of job %u", y[0].job);
        break;
    case 1: y[0] = ad_rec(ad_sin(s->z)); break;
    case 2: y[0] = s->z; break;
    case 3: y[0] = ad_rec(ad_select(true, x[0], s->z)); break;
    case 4: y[0] = ad_lt(x[0], s->z) ? y[0] : x[0]; break;
    case 5: y[0] = ad_sum(2, (const ad_rev[2]){ x[0], s->z }); break;
    case 6: y[0] = ad_rec(ad_mul(x[0], ad_detach(s->z))); break;
    case 7:
        DROP(ad_rec(s->z));
        y[0] = ad_rec(ad_mul(x[0], x[0]));
        CHECK(y[0].v == 4 && y[0].job == 0, "after a failure: %g of job %u",
              y[0].v, y[0].job);
        break;
    case 8: y[0] = ad_rec(ad_fma(x[0], x[0], s->z)); break;
    }
}

// The caller records on t; its numbers are of no use to f, and its recording
// goes on as if nothing had been.
static void test_foreign_tape(void)
{
    const double at[1] = { 2 };
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev z = ad_input(3);
    for (int use = 0; use < STRANGE_USES; use++) {
        char name[40];
        struct stranger s = { z, use };
        ad_stats before = ad_tape_stats(t);
        snprintf(name, sizeof name, "a number of a tape, use %d", use);
        refused(name, strange, &s, 1, at, 1, ADREV_EFOREIGN);
        ad_stats after = ad_tape_stats(t);
        CHECK(memcmp(&before, &after, sizeof before) == 0,
              "%s: the tape of the caller changes", name);
        CHECK(ad_tape_status(t) == ADREV_OK, "%s: the tape failed", name);
    }
    ad_rev w = ad_rec(ad_mul(z, z));
    double g = 0;
    EXPECT(ad_gradient(t, w, 1, &z, &g), ADREV_OK);
    CHECK(g == 6, "got %g, want 6", g);
    CHECK(ad_use(NULL) == t, "another tape is current");
    ad_tape_free(t);
}

static void keep(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev *kept = ctx;
    *kept = ad_rec(ad_mul(x[0], 5));
    y[0] = *kept;
}

// Nor are the numbers of a recording that is over.
static void test_foreign_recording(void)
{
    const double at[1] = { 2 };
    struct stranger s = { { 0, 0, 0 }, 0 };
    ad_fn *fn = NULL;
    EXPECT(ad_fn_record_with(&fn, &(ad_fn_options){ .once = true }, keep, &s.z,
                             1, at, 1), ADREV_OK);
    CHECK(s.z.job != 0, "a number was kept");
    for (s.use = 0; s.use < STRANGE_USES; s.use++)
        refused("a number of an old recording", strange, &s, 1, at, 1,
                ADREV_EFOREIGN);
    ad_fn_free(fn);
    s.use = 0;
    refused("a number of a freed function", strange, &s, 1, at, 1,
            ADREV_EFOREIGN);

    // Nor can a tape use them.
    ad_tape *t = ad_tape_new();
    ad_use(t);
    DROP(ad_rec(ad_mul(s.z, ad_input(1))));
    EXPECT(ad_tape_status(t), ADREV_EFOREIGN);
    ad_use(NULL);
    ad_tape_free(t);
}

// The tape that a function is recorded on gives no derivatives: they would be
// constants to the function.
static void asks_its_tape(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t *values = ctx;
    ad_tape *t = ad_use(NULL);
    double g = 77;
    ad_use(t);
    y[0] = x[0];
    for (size_t i = 0; i < *values; i++)
        y[0] = ad_rec(ad_mul(y[0], x[0]));
    ad_status s = ad_gradient(t, y[0], 1, x, &g);
    CHECK(s == ADREV_EHOOK && g == 77, "%zu values: \"%s\", %g", *values,
          ad_message(s), g);
}

static void test_asks_its_tape(void)
{
    const double at[1] = { 2 };
    for (size_t values = 1; values < 40; values += 19)
        refused("its tape's gradient", asks_its_tape, &values, 1, at, 1,
                ADREV_EHOOK);
    BECAUSE("derivatives are asked of the tape");
}

static size_t told;

static void count(void *user, const ad_operation *operation)
{
    (void)user;
    (void)operation;
    told++;
}

// Nor does it take other hooks: nothing would be recorded any more.
static void sets_hooks(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_tape *t = ad_use(NULL);
    ad_use(t);
    ad_tape_hooks(t, ctx);
    y[0] = ad_rec(ad_mul(x[0], x[0]));
    EXPECT(ad_tape_status(t), ADREV_EHOOK);
}

static void test_sets_hooks(void)
{
    const double at[1] = { 2 };
    const ad_hooks hooks = { .trace = count };
    told = 0;
    refused("hooks of its own", sets_hooks, (void *)&hooks, 1, at, 1,
            ADREV_EHOOK);
    refused("no hooks", sets_hooks, NULL, 1, at, 1, ADREV_EHOOK);
    BECAUSE("hooks are set on the tape");
    CHECK(told == 0, "its hook was told of %zu operations", told);
}

// Nor may it leave its tape.
static void leaves_tape(const ad_rev *x, ad_rev *y, void *ctx)
{
    y[0] = ad_rec(ad_mul(x[0], x[0]));
    ad_use(ctx);
}

static void test_leaves_tape(void)
{
    const double at[1] = { 2 };
    ad_tape *t = ad_tape_new();
    refused("no tape", leaves_tape, NULL, 1, at, 1, ADREV_EMARK);
    BECAUSE("another tape current");
    refused("another tape", leaves_tape, t, 1, at, 1, ADREV_EMARK);
    BECAUSE("another tape current");
    ad_fn_free(recorded("after all that", title, NULL, 2,
                        (const double[]){ 1, 2 }, 1));
    BECAUSE(ad_message(ADREV_OK));
    ad_tape_free(t);
}

enum { OWN_REWOUND, OWN_GRAD, OWN_TWICE, OWN_AS_MANY, OWN_CONSTANT, OWN_OUTPUT,
       OWN_USES };

static ad_rev sines_of(const ad_rev *x, void *ctx)
{
    const ad_rev *outer = ctx;
    return ad_rec(ad_sin(ad_mul(ad_sin(x[0]), ad_sin(*outer))));
}

// Numbers of f's own, whose ids may be those of what was rewound: constants.
static void own_numbers(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int use = *(const int *)ctx;
    ad_tape *t = ad_use(NULL);
    ad_use(t);
    const ad_mark mark = ad_tape_mark(t);
    ad_rev a = x[0];
    ad_rev b = x[0];
    double g;
    if (use == OWN_REWOUND) {
        DROP(ad_rec(ad_sin(x[0])));
        EXPECT(ad_tape_rewind(t, mark), ADREV_OK);
        a = ad_input(3);
    } else if (use == OWN_GRAD) {
        ad_rev outer = x[0];
        EXPECT(ad_grad(sines_of, &outer, 1, &x[0].v, NULL, &g), ADREV_OK);
        ad_input(4);
        a = ad_input(3);
    } else if (use == OWN_TWICE) {      // the second mark is of another job
        for (int i = 0; i < 9; i++)
            DROP(ad_rec(ad_sin(x[0])));
        EXPECT(ad_tape_rewind(t, mark), ADREV_OK);
        ad_input(4);
        a = ad_input(3);
        const ad_mark second = ad_tape_mark(t);
        ad_input(5);
        EXPECT(ad_tape_rewind(t, second), ADREV_OK);
    } else if (use == OWN_AS_MANY) {    // ids go on as if nothing had been
        DROP(ad_rec(ad_sin(x[0])));
        EXPECT(ad_tape_rewind(t, mark), ADREV_OK);
        a = ad_input(3);
        b = ad_rec(ad_neg(x[0]));
        b = ad_rec(ad_neg(b));
    } else {
        a.v = 3;
        a.job = 0;
    }
    const ad_rev both[2] = { x[0], a };
    y[0] = use == OWN_OUTPUT ? a : ad_rec(ad_mul(a, b));
    y[1] = ad_sum(2, both);
}

static void test_own_numbers(void)
{
    for (int use = 0; use < OWN_USES; use++) {
        const double at[1] = { 2 };
        const double x[1] = { 5 };
        double y[2] = { 0, 0 };
        double J[2] = { 0, 0 };
        ad_fn *fn = recorded("numbers of its own", own_numbers, &use, 1, at, 2);
        EXPECT(ad_fn_linearize(fn, x, y, J), ADREV_OK);
        const bool output = use == OWN_OUTPUT;
        CHECK(y[0] == (output ? 3 : 15) && J[0] == (output ? 0 : 3),
              "use %d: %g and %g", use, y[0], J[0]);
        CHECK(y[1] == 8 && J[1] == 1, "use %d: the sum %g and %g", use, y[1],
              J[1]);
        ad_fn_free(fn);
    }
}

// As if nothing had been recorded, and with ids as if x were still there.
static void clears_its_tape(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_tape *t = ad_use(NULL);
    (void)x;
    (void)ctx;
    ad_use(t);
    ad_tape_clear(t);
    ad_rev own = ad_input(3);
    y[0] = ad_rec(ad_mul(own, own));
}

static void test_clears_its_tape(void)
{
    const double at[1] = { 2 };
    double y = 0;
    double g = 77;
    ad_fn *fn = recorded("cleared", clears_its_tape, NULL, 1, at, 1);
    EXPECT(ad_fn_gradient(fn, at, &y, &g), ADREV_OK);
    CHECK(y == 9 && g == 0, "%g and %g, not 9 and 0", y, g);
    ad_fn_free(fn);
}

void function_debug(const ad_rev *x, ad_rev *y, void *ctx);

// Only the file of f knows lines.
static void test_guard_place(void)
{
    const double at[1] = { 1 };
    const double beyond[1] = { 3 };
    double y = 77;
    int line = 0;
    ad_fn *fn = recorded("with lines", function_debug, &line, 1, at, 1);
    EXPECT(ad_fn_eval(fn, beyond, &y), ADREV_EPATH);
    const ad_guard g = ad_fn_guard();
    CHECK(y == 77 && g.file != NULL && g.line == line
          && strstr(g.file, "function_debug.c") != NULL, "the guard of %s:%d",
          g.file == NULL ? "nowhere" : g.file, g.line);
    ad_fn_free(fn);
}

static void hidden(const ad_rev *x, ad_rev *y, void *ctx)
{
    const bool *traced = ctx;
    y[0] = *traced ? ad_rec(ad_mul(x[0], x[0]))
                   : errors_plain_product(x[0], x[0]);
}

static void test_untraced(void)
{
    const double at[1] = { 3 };
    bool traced = false;
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev x = ad_input(2);
    refused("compiled without ADREV_TRACE", hidden, &traced, 1, at, 1,
            ADREV_EHOOK);
    BECAUSE("compiled without ADREV_TRACE");
    EXPECT(ad_tape_status(t), ADREV_OK);
    ad_rev y = errors_plain_product(x, x);
    CHECK(y.job != 0 && ad_tape_status(t) == ADREV_OK, "fine without a hook");
    CHECK(ad_use(NULL) == t, "another tape is current");
    ad_tape_free(t);
    traced = true;
    refused("compiled with it", hidden, &traced, 1, at, 1, ADREV_OK);
}

/* --- beside other recordings ---------------------------------------------- */

// What is current stays current, with its hooks, and hears of nothing.
static void test_current_tape(void)
{
    const double at[2] = { 0.5, 0.25 };
    const double x[2] = { 1, 2 };
    const ad_hooks hooks = { .trace = count };
    double y = 0;
    double g[2];
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev u = ad_input(3);
    ad_rev v = ad_rec(ad_mul(u, u));
    ad_tape_hooks(t, &hooks);
    ad_stats before = ad_tape_stats(t);
    told = 0;
    ad_fn *fn = recorded("title", title, NULL, 2, at, 1);
    EXPECT(ad_fn_eval(fn, x, &y), ADREV_OK);
    EXPECT(ad_fn_gradient(fn, x, &y, g), ADREV_OK);
    ad_stats after = ad_tape_stats(t);
    CHECK(memcmp(&before, &after, sizeof before) == 0, "the tape changes");
    CHECK(told == 0, "its hook was told of %zu operations", told);
    v = ad_rec(ad_add(v, u));
    CHECK(told == 1, "its hook was told of %zu operations, not 1", told);
    EXPECT(ad_gradient(t, v, 1, &u, g), ADREV_OK);
    CHECK(g[0] == 7, "got %g, want 7", g[0]);
    CHECK(ad_use(NULL) == t, "another tape is current");
    ad_fn_free(fn);
    ad_tape_free(t);
    fn = recorded("title", title, NULL, 2, at, 1);
    CHECK(ad_use(NULL) == NULL, "a tape is current where none was");
    ad_fn_free(fn);
}

static void cube(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_powi(x[0], 3));
}

// Records another function while it is recorded; x[0] times its slope at 2.
static void outer(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_status *inner = ctx;
    const double one = 1;
    const double two = 2;
    double slope = 0;
    ad_fn *fn = NULL;
    ad_rev square = ad_rec(ad_mul(x[0], x[0]));
    *inner = ad_fn_record(&fn, cube, NULL, 1, &one, 1);
    if (*inner == ADREV_OK)
        *inner = ad_fn_gradient(fn, &two, NULL, &slope);
    ad_fn_free(fn);
    y[0] = ad_rec(ad_mul(square, slope));
}

// The same, and the inner one uses a number of the outer one.
static void outer_mixed(const ad_rev *x, ad_rev *y, void *ctx)
{
    const double one = 1;
    struct stranger s = { x[0], 0 };
    ad_fn *fn = NULL;
    *(ad_status *)ctx = ad_fn_record(&fn, strange, &s, 1, &one, 1);
    ad_fn_free(fn);
    y[0] = ad_rec(ad_mul(x[0], ad_mul(x[0], 12)));
}

// ad_grad is the same with a tape; it asks with a number of the outer one.
static ad_rev wave(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_mul(x[0], ad_mul(x[0], 3)));
}

static void outer_tape(const ad_rev *x, ad_rev *y, void *ctx)
{
    double at = ad_value(x[1]);
    double slope = 0;
    ad_rev square = ad_rec(ad_mul(x[0], x[0]));
    *(ad_status *)ctx = ad_grad(wave, NULL, 1, &at, NULL, &slope);
    y[0] = ad_rec(ad_mul(square, slope));
}

static void test_inside(void)
{
    const double at[2] = { 0.5, 2 };
    const double x[2] = { -3, 2 };
    const struct truth t = { { 108 }, { -72 }, { 48 } };
    const struct truth u = { { 108 }, { -72, 0 }, { 48, 0, 0, 0 } };
    ad_status inner = ADREV_ENOTAPE;
    ad_fn *fn = recorded("outer", outer, &inner, 1, at, 1);
    EXPECT(inner, ADREV_OK);
    check_answers("outer", fn, x, &t);
    ad_fn_free(fn);
    const ad_fn_options once = { .once = true };
    EXPECT(ad_fn_record_with(&fn, &once, outer_mixed, &inner, 1, at, 1),
           ADREV_OK);
    EXPECT(inner, ADREV_EFOREIGN);
    check_answers("outer, mixed", fn, x, &t);
    ad_fn_free(fn);
    fn = recorded("outer, tape", outer_tape, &inner, 2, at, 1);
    EXPECT(inner, ADREV_OK);
    check_answers("outer, tape", fn, x, &u);
    check_path("outer, tape", fn, (const double[2]){ -3, 1 }, 0);
    ad_fn_free(fn);
}

// Inputs that f makes itself are not those of the function: constants, if they
// are allowed at all.
static void own_input(const ad_rev *x, ad_rev *y, void *ctx)
{
    bool first = *(const bool *)ctx;
    ad_rev product = first ? ad_rec(0) : ad_rec(ad_mul(x[0], x[1]));
    ad_rev own = ad_input(3);
    if (first)
        product = ad_rec(ad_mul(x[0], x[1]));
    y[0] = ad_rec(ad_mul(product, own));
}

static void own_inputs(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev own[2];
    (void)ctx;
    ad_inputs(2, (const double[2]){ 1, 3 }, own);
    y[0] = ad_rec(ad_mul(ad_mul(x[0], own[0]), ad_mul(x[1], own[1])));
}

static void test_own_input(void)
{
    const double at[2] = { 2, 7 };
    const double x[2] = { 5, -4 };
    const struct truth t = { { -60 }, { -12, 15 }, { 0, 6, 6, 0 } };
    for (int i = 0; i < 3; i++) {
        bool first = i == 0;
        ad_fn *fn = NULL;
        ad_status s = ad_fn_record(&fn, i < 2 ? own_input : own_inputs, &first,
                                   2, at, 1);
        CHECK((s == ADREV_OK) == (fn != NULL), "%s", ad_message(s));
        if (fn != NULL)
            check_answers("an input of its own", fn, x, &t);
        ad_fn_free(fn);
    }
}

// Operations may leave no statements on the tape of a function that is recorded.
static void asks_for_ties(const ad_rev *x, ad_rev *y, void *unused)
{
    const ad_rev l = ad_rec(ad_log(ad_div(x[0], x[1])));
    const int inputs = ad_tie(l, (ad_rev){ .v = 0 });
    (void)unused;
    CHECK(ad_tie(x[0], x[0]) == 0 && ad_tie(l, l) == 0, "copies are no copies");
    CHECK(inputs == 2 || x[0].job == 0,         // it is also run with plain numbers
          "log(x/y) == 0 depends on %d inputs", inputs);
    y[0] = l;
}

static void test_ties(void)
{
    const double x[] = { 2, 2 };
    ad_fn *fn = NULL;
    CHECK(ad_fn_record(&fn, asks_for_ties, NULL, 2, x, 1) == ADREV_OK, "%s",
          ad_fn_reason());
    ad_fn_free(fn);
}

int main(void)
{
    test_null_record();
    test_null_evaluate();
    test_gradient_shape();
    test_too_many();
    test_foreign_tape();
    test_foreign_recording();
    test_own_numbers();
    test_clears_its_tape();
    test_guard_place();
    test_asks_its_tape();
    test_sets_hooks();
    test_leaves_tape();
    test_untraced();
    test_current_tape();
    test_inside();
    test_own_input();
    test_ties();
    return check_done("function_errors");
}
