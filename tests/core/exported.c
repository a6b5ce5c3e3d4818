// SPDX-License-Identifier: MIT-0
// tags:
// flags: -DADREV_TRACE=1
/* exported.c - ad_op1, ad_op2 and ad_op3 against the macros: for each row of the
 * table, each choice of variables among the arguments and several points, the
 * value, the tape and the derivatives have the same bits; hooks are told the
 * same; codes that are none fail the tape.                                  */

#include "implementation.h"
#include "adrev.h"

#include "check.h"

#define FRONT_select(name, x, y, z)  ad_select(p[0] != 0, y, z)
#define FRONT_integer(name, x, y, z) ad_##name(x, (int)p[1])
#define FRONT_order(name, x, y, z)   ad_##name((int)p[0], y)
#include "fronts.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS = 12, EVENTS = 8 };

/* --- the macros, for each choice of variables ------------------------------- */

typedef ad_rev row_fn(unsigned mask, const ad_rev *a, const ad_real *p);

#define CASE(name, n, mask, x, y, z)                                        \
    case mask: return ad_rec(CALL(name, n, x, y, z));
#define MASKS_1(name) CASE(name, 1, 1, a[0], 0, 0)
#define MASKS_2(name)                                                       \
    CASE(name, 2, 1, a[0], p[1], 0) CASE(name, 2, 2, p[0], a[1], 0)         \
    CASE(name, 2, 3, a[0], a[1], 0)
#define MASKS_3(name)                                                       \
    CASE(name, 3, 1, a[0], p[1], p[2]) CASE(name, 3, 2, p[0], a[1], p[2])   \
    CASE(name, 3, 3, a[0], a[1], p[2]) CASE(name, 3, 4, p[0], p[1], a[2])   \
    CASE(name, 3, 5, a[0], p[1], a[2]) CASE(name, 3, 6, p[0], a[1], a[2])   \
    CASE(name, 3, 7, a[0], a[1], a[2])
#define DEFINE(name, n, ...)                                                \
    static ad_rev macro_##name(unsigned mask, const ad_rev *a,              \
                               const ad_real *p)                            \
    {                                                                       \
        (void)p;                                                            \
        switch (mask) { MASKS_##n(name) }                                   \
        return a[0];                                                        \
    }
#define DEFINE_STEP(name, ...)                                              \
    static ad_rev macro_##name(unsigned mask, const ad_rev *a,              \
                               const ad_real *p)                            \
        { (void)p; (void)mask; return ad_rec(ad_##name(a[0])); }
#define TEST(name, mask, x, y) case mask: return ad_rec(ad_##name(x, y));
#define DEFINE_TEST(name, ...)                                              \
    static ad_rev macro_##name(unsigned mask, const ad_rev *a,              \
                               const ad_real *p)                            \
    {                                                                       \
        switch (mask) {                                                     \
        TEST(name, 1, a[0], p[1]) TEST(name, 2, p[0], a[1])                 \
        TEST(name, 3, a[0], a[1])                                           \
        }                                                                   \
        return a[0];                                                        \
    }
ADREV_OPS(DEFINE)
ADREV_STEPS(DEFINE_STEP)
ADREV_COMPARISONS(DEFINE_TEST)
#undef DEFINE

static ad_rev macro_detach(unsigned mask, const ad_rev *a, const ad_real *p)
{
    (void)p; (void)mask;
    return ad_rec(ad_detach(a[0]));
}

#define ENTER(name, ...) [ADREV_OP_##name] = macro_##name,
static row_fn *const rows[ADREV_OP_COUNT] = {
    ADREV_OPS(ENTER) ADREV_STEPS(ENTER) ADREV_COMPARISONS(ENTER)
    [ADREV_OP_detach] = macro_detach
};
#undef ENTER

static ad_rev by_code(unsigned op, unsigned mask, const ad_rev *a,
                      const ad_real *p)
{
    ad_rev x[3];
    for (unsigned i = 0; i < 3; i++)
        x[i] = mask >> i & 1 ? a[i] : ad_rec(p[i]);
    switch (ad_op_arity(op)) {
    case 1:  return ad_op1(op, x[0]);
    case 2:  return ad_op2(op, x[0], x[1]);
    default: return ad_op3(op, x[0], x[1], x[2]);
    }
}

/* --- both, side by side ------------------------------------------------------ */

typedef struct event {
    ad_opcode code;
    ad_real v, arg[3];
    uint32_t seq, of[3];
} event;

// What one way of recording left behind.
typedef struct trace {
    ad_real v;
    bool constant;
    ad_status status;
    ad_stats stats;
    ad_real g[4];           // of v + last, with respect to the arguments and
                            // to the value just before
    int events;
    event event[EVENTS];
} trace;

static void note(void *user, const ad_operation *told)
{
    trace *r = user;
    if (r->events == EVENTS)
        return;
    event *e = &r->event[r->events++];
    e->code = told->code;
    e->v = told->result.v;
    e->seq = told->result.seq;
    for (int i = 0; i < 3; i++) {
        e->arg[i] = told->arg[i].v;
        e->of[i] = told->arg[i].seq;
    }
}

static trace record(ad_tape *t, bool code, bool watched, unsigned op,
                    unsigned mask, const ad_real *p)
{
    trace r;
    memset(&r, 0, sizeof r);
    const ad_hooks hooks = { .trace = note, .user = &r };
    ad_tape_hooks(t, watched ? &hooks : NULL);
    ad_tape_clear(t);
    ad_rev a[4];
    ad_inputs(3, p, a);
    a[3] = ad_rec(ad_neg(a[1]));        // a statement in between
    ad_rev y = code ? by_code(op, mask, a, p) : rows[op](mask, a, p);
    r.v = y.v;
    r.constant = y.job == 0;
    r.stats = ad_tape_stats(t);
    r.status = r.constant ? ad_tape_status(t)
                          : ad_gradient(t, y, 4, a, r.g);
    ad_tape_hooks(t, NULL);
    return r;
}

static bool same_bits(ad_real a, ad_real b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

static void check_same(unsigned op, unsigned mask, const ad_real *p,
                       bool watched, const trace *m, const trace *c)
{
    const char *name = ad_op_name(op);
    CHECK(same_bits(m->v, c->v), "%s %u: got %a, want %a", name, mask,
          (double)c->v, (double)m->v);
    CHECK(m->constant == c->constant, "%s %u: constant: %d", name, mask,
          c->constant);
    CHECK(m->status == c->status, "%s %u: %s", name, mask,
          ad_message(c->status));
    // Of a select with a plain number the macro makes a statement.
    CHECK((op == ADREV_OP_select && !watched)
              || (m->stats.values == c->stats.values
                  && m->stats.statements == c->stats.statements
                  && m->stats.operands == c->stats.operands),
          "%s %u: %zu values, %zu operands, want %zu, %zu", name, mask,
          c->stats.values, c->stats.operands, m->stats.values,
          m->stats.operands);
    for (int i = 0; i < 4; i++)
        CHECK(same_bits(m->g[i], c->g[i]), "%s %u at %g, %g, %g: partial %d "
              "is %a, want %a", name, mask, (double)p[0], (double)p[1],
              (double)p[2], i, (double)c->g[i], (double)m->g[i]);
    CHECK(m->events == c->events && (m->events > 0) == watched,
          "%s %u: %d events, want %d", name, mask, c->events, m->events);
    for (int i = 0; i < m->events && i < c->events; i++)
        CHECK(memcmp(&m->event[i], &c->event[i], sizeof *m->event) == 0,
              "%s %u: event %d differs", name, mask, i);
}

static ad_real random_in(ad_real from, ad_real to)
{
    return from + (to - from) * (ad_real)rand() / (ad_real)RAND_MAX;
}

static void sample(unsigned op, int point, ad_real *p)
{
    const double *box = ad_op_table()[op].box;
    for (int i = 0; i < 3; i++) {
        p[i] = point == 0 ? 1 : point == 1 ? 0
             : random_in((ad_real)box[2 * i], (ad_real)box[2 * i + 1]);
        if (i == whole_argument((int)op))
            p[i] = (ad_real)(int)p[i];          // no -0
    }
    if (op == ADREV_OP_select)
        p[0] = (ad_real)(point % 2);
}

// An exponent or order, and the condition of a select, are plain numbers.
static bool is_possible(unsigned op, unsigned mask)
{
    return (mask >> whole_argument((int)op) & 1) == 0
        && (op != ADREV_OP_select || (mask & 1) == 0);
}

static void test_rows(ad_tape *t)
{
    for (unsigned op = 0; op < ADREV_OP_COUNT; op++)
        for (unsigned mask = 1; mask >> ad_op_arity(op) == 0; mask++)
            for (int k = 0; k < POINTS && is_possible(op, mask); k++)
                for (int watched = 0; watched < 2; watched++) {
                    ad_real p[3];
                    sample(op, k, p);
                    trace m = record(t, false, watched, op, mask, p);
                    trace c = record(t, true, watched, op, mask, p);
                    check_same(op, mask, p, watched, &m, &c);
                }
}

/* --- what is unusual -------------------------------------------------------- */

static ad_status wrong(ad_tape *t, int arity, unsigned op)
{
    ad_tape_clear(t);
    ad_rev x = ad_input(2);
    ad_rev y = arity == 1 ? ad_op1(op, x) : arity == 2 ? ad_op2(op, x, x)
             : ad_op3(op, x, x, x);
    bool nan = y.v != y.v && y.job == 0;
    ad_status status = ad_tape_status(t);
    CHECK(nan == (status == ADREV_ESHAPE), "code %u of %d arguments: got %g "
          "with %s", op, arity, (double)y.v, ad_message(status));
    CHECK(status == ADREV_OK || strncmp(ad_tape_reason(t), "ad_op", 5) == 0,
          "code %u: the reason is: %s", op, ad_tape_reason(t));
    return status;
}

static void test_codes(ad_tape *t)
{
    for (int arity = 1; arity <= 3; arity++) {
        for (unsigned op = 0; op < ADREV_OP_COUNT; op++) {
            bool order = whole_argument((int)op) < 3;
            ad_status want = arity == (int)ad_op_arity(op) && !order
                           ? ADREV_OK : ADREV_ESHAPE;
            CHECK(wrong(t, arity, op) == want, "%s with %d arguments",
                  ad_op_name(op), arity);
        }
        CHECK(wrong(t, arity, ADREV_OP_COUNT) == ADREV_ESHAPE, "a code");
        CHECK(wrong(t, arity, 0xffffffffu) == ADREV_ESHAPE, "a code");
    }
    ad_tape_clear(t);
    ad_rev x = ad_input(2);
    DROP(ad_op2(ADREV_OP_powi, x, ad_rec(0.5)));
    CHECK(ad_tape_status(t) == ADREV_ESHAPE, "an exponent of 0.5");
    ad_tape_clear(t);
    x = ad_input(2);
    DROP(ad_op2(ADREV_OP_polygamma, x, x));
    CHECK(ad_tape_status(t) == ADREV_ESHAPE, "an order that is a variable");
}

static void test_names(void)
{
    for (unsigned op = 0; op < ADREV_OP_COUNT; op++) {
        CHECK(ad_op_find(ad_op_name(op)) == op, "%s", ad_op_name(op));
        CHECK((int)ad_op_arity(op) == ad_op_table()[op].arity, "arity of %s",
              ad_op_name(op));
    }
    CHECK(ad_op_find("fmax") == ADREV_OP_max, "fmax");
    CHECK(ad_op_find("fmin") == ADREV_OP_min, "fmin");
    CHECK(ad_op_find("fabs") == ADREV_OP_abs, "fabs");
    CHECK(ad_op_find("") == ADREV_OP_COUNT, "no name");
    CHECK(ad_op_find("mu") == ADREV_OP_COUNT, "a part of a name");
    CHECK(ad_op_find(NULL) == ADREV_OP_COUNT, "NULL");
    CHECK(ad_op_name(ADREV_OP_COUNT) == NULL, "a name of no code");
    CHECK(ad_op_arity(ADREV_OP_COUNT) == 0, "an arity of no code");
}

static ad_rev cube(ad_rev x)
{
    return ad_op2(ADREV_OP_mul, ad_op2(ADREV_OP_mul, x, x), x);
}

// The same variable twice and three times; a sum of the value just before; a
// condition that is a variable; constants of an earlier recording.
static void test_sharing(ad_tape *t)
{
    ad_tape_clear(t);
    ad_rev x = ad_input(3), g[2];
    ad_real dx = 0;
    ad_rev y = cube(x);
    CHECK(ad_gradient(t, y, 1, &x, &dx) == ADREV_OK && dx == 27, "got %g",
          (double)dx);
    CHECK(ad_tape_stats(t).operands == 3, "x x has more than one operand");
    y = ad_op3(ADREV_OP_fma, x, x, x);
    CHECK(ad_gradient(t, y, 1, &x, &dx) == ADREV_OK && dx == 7, "got %g",
          (double)dx);
    y = ad_op3(ADREV_OP_select, x, y, x);
    CHECK(ad_gradient(t, y, 1, &x, &dx) == ADREV_OK && dx == 7, "got %g",
          (double)dx);
    y = ad_op3(ADREV_OP_select, ad_rec(0.0), y, x);
    CHECK(y.seq == x.seq && y.job == x.job && y.v == x.v, "not x itself");
    ad_tape_clear(t);
    ad_inputs(2, (const ad_real[]){ 1, 2 }, g);
    ad_rev s = ad_op2(ADREV_OP_mul, g[0], g[1]);
    size_t before = ad_tape_stats(t).operands;
    s = ad_op2(ADREV_OP_add, s, g[0]);
    CHECK(ad_tape_stats(t).operands == before + 1, "a sum of %zu operands",
          ad_tape_stats(t).operands - before);
    CHECK(ad_gradient(t, s, 1, g, &dx) == ADREV_OK && dx == 3, "got %g",
          (double)dx);
    CHECK(ad_value(ad_op2(ADREV_OP_add, x, g[0])) == 4, "a foreign value");
    CHECK(ad_tape_status(t) == ADREV_EFOREIGN, "a foreign value");
}

// Without a tape, and on one that has no room.
static void test_nowhere(void)
{
    ad_tape *was = ad_use(NULL);
    ad_rev y = ad_op2(ADREV_OP_add, ad_rec(1.0), ad_rec(2.0));
    CHECK(y.v == 3 && y.job == 0 && y.seq == 0, "without a tape");
    y = ad_op1(ADREV_OP_COUNT, y);
    CHECK(y.v != y.v && y.job == 0, "without a tape, a code that is none");
    static double buffer[400];
    ad_tape *t = ad_tape_in(buffer, sizeof buffer);
    ad_use(t);
    y = ad_input(1);
    int n = 0;
    for (; n < 1000 && ad_tape_status(t) == ADREV_OK; n++)
        y = ad_op2(ADREV_OP_sub, ad_op1(ADREV_OP_sin, y), ad_rec(1.0));
    CHECK(n < 1000 && ad_tape_status(t) == ADREV_EFULL, "%d: %s", n,
          ad_message(ad_tape_status(t)));
    ad_tape_free(t);
    ad_use(was);
}

int main(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    test_rows(t);
    test_codes(t);
    test_names();
    test_sharing(t);
    test_nowhere();
    ad_tape_free(t);
    return check_done("exported");
}
