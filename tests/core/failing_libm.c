// SPDX-License-Identifier: MIT-0
// tags:
/* failing_libm.c - a libm that fails leaves the tape whole: functions that give
 * NaN, or nonsense with errno and exceptions of floating point, or that never
 * return. Sweeps call no function of it at all.                             */

#include "implementation.h"
#include "adrev.h"
#include "check.h"

#include <errno.h>
#include <fenv.h>
#include <setjmp.h>

static enum { RIGHT, NOT_A_NUMBER, NONSENSE, NO_RETURN } way;
static jmp_buf out;
static long calls;

// What the program links in place of the library's. x is the right value.
static double fail(double x)
{
    calls++;
    if (way == NO_RETURN)
        longjmp(out, 1);
    if (way == NOT_A_NUMBER)
        return (double)NAN;
    if (way == NONSENSE) {
        errno = ERANGE;
        (void)feraiseexcept(FE_OVERFLOW | FE_INVALID);
        return -1e300;
    }
    return x;
}

double exp(double x);
double exp(double x) { return fail((double)expl((long double)x)); }
float expf(float x);
float expf(float x) { return (float)fail((double)expl((long double)x)); }
double sin(double x);
double sin(double x) { return fail((double)sinl((long double)x)); }
float sinf(float x);
float sinf(float x) { return (float)fail((double)sinl((long double)x)); }

static ad_tape *tape;
static volatile ad_real at[2] = { 2, (ad_real)0.5 };    // nothing is folded

static void begin(ad_rev x[2])
{
    ad_tape_clear(tape);
    for (int i = 0; i < 2; i++)
        x[i] = ad_input(at[i]);
}

// Two results of x: one calls what fails, the other does not.
typedef struct results {
    ad_status status[3];
    ad_real y[2];
    ad_real g[2][2];            // of one, then of the other
    ad_real J[4];
    size_t bytes;
} results;

static void run(results *r)
{
    ad_rev x[2], y[2];
    begin(x);
    const ad_rev square = ad_rec(ad_mul(x[0], ad_sqr(x[1])));
    y[0] = ad_rec(ad_mul(ad_exp(ad_mul(x[0], x[1])), ad_sin(x[1])));
    y[1] = ad_rec(ad_add(square, ad_div(x[0], x[1])));
    const long before = calls;
    for (int i = 0; i < 2; i++) {
        r->y[i] = ad_value(y[i]);
        r->status[i] = ad_gradient(tape, y[i], 2, x, r->g[i]);
    }
    r->status[2] = ad_jacobian(tape, 2, y, 2, x, r->J);
    CHECK(calls == before, "a sweep called a function of libm");
    r->bytes = ad_tape_bytes(tape);
}

static bool all_well(const results *r)
{
    bool well = true;
    for (int i = 0; i < 3; i++)
        well = well && r->status[i] == ADREV_OK;
    return well;
}

// The result that does not call it: y = x0 x1^2 + x0/x1.
static void check_other(const results *r, const char *what)
{
    CHECK(all_well(r), "%s: a status", what);
    CHECK(r->y[1] == (ad_real)4.5 && r->g[1][0] == (ad_real)2.25
              && r->g[1][1] == -6 && r->J[2] == r->g[1][0]
              && r->J[3] == r->g[1][1],
          "%s: %g, gradient %g %g", what, (double)r->y[1], (double)r->g[1][0],
          (double)r->g[1][1]);
}

// What comes back is what goes on: no branch of the tape looks at it.
static void test_values(const results *good)
{
    static results r;
    way = NOT_A_NUMBER;
    run(&r);
    check_other(&r, "NaN");
    CHECK(isnan(r.y[0]) && isnan(r.g[0][0]) && isnan(r.g[0][1]), "no NaN");
    CHECK(r.bytes == good->bytes, "NaN: another tape");

    way = NONSENSE;
    run(&r);
    check_other(&r, "nonsense");
    CHECK(errno == ERANGE && fetestexcept(FE_OVERFLOW),
          "errno and exceptions are not those of libm");
    CHECK(r.bytes == good->bytes, "nonsense: another tape");
    (void)feclearexcept(FE_ALL_EXCEPT);
    errno = 0;
    way = RIGHT;
    run(&r);
    CHECK(memcmp(&r, good, sizeof r) == 0, "other results afterwards");
}

// A function that does not return: the operation is as if it had not been.
static void test_no_return(void)
{
    ad_rev x[2];
    ad_real g[2] = { 0, 0 };
    begin(x);
    const ad_rev y = ad_rec(ad_mul(x[0], x[1]));
    const size_t bytes = ad_tape_bytes(tape);
    way = NO_RETURN;
    if (setjmp(out) == 0) {
        const ad_rev lost = ad_rec(ad_exp(x[1]));
        CHECK(lost.job == 0, "it returned");
    }
    way = RIGHT;
    CHECK(ad_tape_bytes(tape) == bytes, "something was recorded all the same");
    const ad_rev z = ad_rec(ad_mul(y, x[1]));       // x0 x1^2
    CHECK(ad_gradient(tape, z, 2, x, g) == ADREV_OK && g[0] == (ad_real)0.25
              && g[1] == 2,
          "afterwards: gradient %g %g", (double)g[0], (double)g[1]);
}

// In the middle of a session the tape is that of before, once it is cleared.
static ad_rev calls_exp(const ad_rev *x, void *unused)
{
    (void)unused;
    return ad_rec(ad_mul(x[0], ad_exp(x[1])));
}

static void test_session(const results *good)
{
    const ad_real from[2] = { at[0], at[1] };
    ad_real y = 0, g[2] = { 0, 0 };
    static results r;
    way = NO_RETURN;
    if (setjmp(out) == 0) {
        const ad_status s = ad_grad(calls_exp, NULL, 2, from, &y, g);
        CHECK(s != ADREV_OK, "it returned");
    }
    way = RIGHT;
    run(&r);
    CHECK(memcmp(&r, good, sizeof r) == 0, "a session that was left: %g, not "
          "%g", (double)r.y[0], (double)good->y[0]);
}

int main(void)
{
    static results good;
    tape = ad_tape_new();
    ad_use(tape);
    run(&good);
    check_other(&good, "a libm that works");
    CHECK(calls > 0, "the functions of this file are not called");
    test_values(&good);
    test_no_return();
    test_session(&good);
    ad_tape_free(tape);
    return check_done("failing_libm");
}
