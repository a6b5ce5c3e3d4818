// SPDX-License-Identifier: MIT-0
// tags:
// flags: -DADREV_TRACE=1
/* hooks.c - the trace hook is told of every operation, with its operands and
 * in order: what it was told is enough to compute value and gradient again.
 * The foreign hook turns values of another recording into inputs.           */

#include "implementation.h"
#include "adrev.h"
#include "check.h"

#include <string.h>

/* --- a log of operations -------------------------------------------------- */

enum { MOST = 2000 };

typedef struct journal {
    int count;
    ad_operation op[MOST];
} journal;

static journal told;

static void write_down(void *user, const ad_operation *operation)
{
    journal *j = user;
    CHECK(j == &told, "another user pointer");
    if (j->count < MOST)
        j->op[j->count++] = *operation;
}

static ad_tape *watched(void)
{
    const ad_hooks hooks = { .trace = write_down, .user = &told };
    ad_tape *t = ad_tape_new();
    ad_tape_hooks(t, &hooks);
    ad_use(t);
    told.count = 0;
    return t;
}

static bool same(ad_rev a, ad_rev b)
{
    return a.seq == b.seq && a.job == b.job;
}

static void check_told(int i, ad_opcode code, double result)
{
    if (!CHECK(i < told.count, "operation %d: only %d were told", i,
               told.count))
        return;
    CHECK(told.op[i].code == code, "operation %d: got code %d, want %d", i,
          (int)told.op[i].code, (int)code);
    CHECK(told.op[i].result.v == result, "operation %d: got %g, want %g", i,
          told.op[i].result.v, result);
}

static void check_arg(int i, int k, ad_rev want)
{
    ad_rev got = told.op[i].arg[k];
    CHECK(got.v == want.v && got.job == want.job
              && (want.job == 0 || got.seq == want.seq),
          "operation %d, argument %d: got %g (%u of %u), want %g (%u of %u)",
          i, k, got.v, got.seq, got.job, want.v, want.seq, want.job);
}

/* --- what is told --------------------------------------------------------- */

// A chain: C leaves open which of two operands is evaluated first.
static void test_operations(void)
{
    ad_tape *t = watched();
    ad_rev x = ad_input(2);
    ad_rev z = ad_input(5);
    CHECK(told.count == 0, "an input is an operation");
    ad_rev y = ad_rec(ad_sub(ad_fma(x, 3, ad_mul(x, ad_add(z, 1))), z));
    CHECK(told.count == 4, "got %d operations, want 4", told.count);
    check_told(0, ADREV_OP_add, 6);
    check_arg(0, 0, z);
    check_arg(0, 1, (ad_rev){ .v = 1 });
    check_told(1, ADREV_OP_mul, 12);
    check_arg(1, 0, x);
    check_arg(1, 1, told.op[0].result);
    check_told(2, ADREV_OP_fma, 18);
    check_arg(2, 0, x);
    check_arg(2, 1, (ad_rev){ .v = 3 });
    check_arg(2, 2, told.op[1].result);
    check_told(3, ADREV_OP_sub, 13);
    check_arg(3, 0, told.op[2].result);
    check_arg(3, 1, z);
    CHECK(same(told.op[3].result, y), "the last result is not y");
    CHECK(told.op[0].file == NULL, "a file without ADREV_DEBUG");
    ad_tape_free(t);
}

// Comparisons with their outcome, steps, and select as it was decided.
static void test_decisions(void)
{
    ad_tape *t = watched();
    ad_rev x = ad_input(2.5);
    ad_rev z = ad_input(4);
    CHECK(!ad_lt(z, x), "4 < 2.5");
    CHECK(ad_ge(z, 3), "4 < 3");
    check_told(0, ADREV_OP_lt, 0);
    check_arg(0, 0, z);
    check_arg(0, 1, x);
    check_told(1, ADREV_OP_ge, 1);
    check_arg(1, 1, (ad_rev){ .v = 3 });
    ad_rev f = ad_rec(ad_floor(x));
    check_told(2, ADREV_OP_floor, 2);
    check_arg(2, 0, x);
    CHECK(f.job == 0 && told.op[2].result.job == 0, "a step is no constant");
    ad_rev s = ad_rec(ad_select(false, x, z));
    check_told(3, ADREV_OP_select, 4);
    check_arg(3, 0, (ad_rev){ .v = 0 });
    check_arg(3, 1, x);
    check_arg(3, 2, z);
    CHECK(same(told.op[3].result, s), "the result of select");
    DROP(ad_rec(ad_powi(x, 3)));
    check_told(4, ADREV_OP_powi, 15.625);
    check_arg(4, 1, (ad_rev){ .v = 3 });
    CHECK(told.count == 5, "got %d operations, want 5", told.count);
    ad_tape_free(t);
}

// A program that takes a plain number may do anything with it: a constant.
// Without its derivative a number is still a result of the recording.
static void test_leaving(void)
{
    ad_tape *t = watched();
    ad_rev x = ad_input(2.5);
    ad_real g = 0;

    CHECK(ad_value(x) == 2.5, "ad_value");
    check_told(0, ADREV_OP_detach, 2.5);
    check_arg(0, 0, x);
    CHECK(told.op[0].result.job == 0, "ad_value is no constant");
    CHECK(ad_value(ad_mul(x, 2)) == 5, "ad_value of an expression");
    check_told(1, ADREV_OP_mul, 5);
    check_told(2, ADREV_OP_detach, 5);
    ad_rev d = ad_detach(x);
    check_told(3, ADREV_OP_detach, 2.5);
    check_arg(3, 0, x);
    CHECK(same(told.op[3].result, d) && d.v == 2.5, "the result of detach");
    ad_rev square = ad_rec(ad_detach(ad_mul(x, x)));
    check_told(4, ADREV_OP_mul, 6.25);
    check_told(5, ADREV_OP_detach, 6.25);
    ad_rev y = ad_rec(ad_fma(d, x, square));
    CHECK(ad_gradient(t, y, 1, &x, &g) == ADREV_OK, "gradient");
    CHECK(g == 2.5,
          "d(detach(x) x + detach(x x)) = %g, want 2.5", (double)g);
    ad_tape_hooks(t, NULL);
    CHECK(ad_detach(x).job == 0, "without a hook a constant");
    ad_tape_free(t);
}

// Constants are nobody's business, nor is another tape's recording.
static void test_not_told(void)
{
    ad_tape *t = watched();
    ad_rev x = ad_input(2);
    ad_rev c = { .v = 3 };
    DROP(ad_rec(ad_mul(c, ad_add(c, 4))));
    DROP(ad_rec(ad_floor(c)));
    CHECK(ad_lt(c, 4), "3 < 4");
    DROP(ad_rec(x));
    CHECK(ad_value(c) == 3 && told.count == 0, "got %d operations, want none",
          told.count);
    ad_tape *other = ad_tape_new();
    ad_use(other);
    DROP(ad_rec(ad_sin(ad_input(1))));
    ad_use(NULL);
    DROP(ad_rec(ad_sin(ad_input(1))));
    CHECK(told.count == 0, "got %d operations of others", told.count);
    ad_use(t);
    DROP(ad_rec(ad_sin(x)));
    CHECK(told.count == 1, "back on the tape: got %d", told.count);
    ad_tape_free(other);
    ad_tape_free(t);
}

/* --- the program again, from what was told -------------------------------- */

#define ADJOINTS 4000

static ad_real value_of(const ad_operation *o)
{
    ad_real x = o->arg[0].v;
    ad_real y = o->arg[1].v;
    ad_real z = o->arg[2].v;
    switch ((int)o->code) {
#define ROW(name, ...)                                                      \
    case ADREV_OP_##name: return adx_f_##name(x, y, z);
    ADREV_OPS(ROW)
#undef ROW
    }
    return (ad_real)NAN;
}

// The derivative with respect to argument k, by the table.
static ad_real partial_of(const ad_operation *o, int k)
{
    ad_real x = o->arg[0].v;
    ad_real y = o->arg[1].v;
    ad_real z = o->arg[2].v;
    ad_real v = o->result.v;
    switch ((int)o->code) {
#define ROW(name, ...)                                                      \
    case ADREV_OP_##name:                                                   \
        return k == 0 ? adx_fx_##name(x, y, z, v)                           \
             : k == 1 ? adx_fy_##name(x, y, z, v)                           \
                      : adx_fz_##name(x, y, z, v);
    ADREV_OPS(ROW)
#undef ROW
    }
    return 0;
}

static bool is_elementary(const ad_operation *o)
{
    return o->code < ADREV_OP_floor;
}

// Each argument must be an input or the result of something told before.
static void check_known(const bool known[], const ad_operation *o, int arity)
{
    for (int k = 0; k < arity; k++)
        CHECK(o->arg[k].job == 0
                  || (o->arg[k].seq < ADJOINTS && known[o->arg[k].seq]),
              "%s: argument %d comes from nowhere", ad_op_table()[o->code].name,
              k);
}

static void check_replay(int inputs, const ad_rev x[], ad_rev y,
                         const ad_real g[])
{
    static ad_real adjoint[ADJOINTS];
    static bool known[ADJOINTS];
    memset(adjoint, 0, sizeof adjoint);
    memset(known, 0, sizeof known);
    for (int i = 0; i < inputs; i++)
        known[x[i].seq] = true;
    for (int i = 0; i < told.count; i++) {
        const ad_operation *o = &told.op[i];
        check_known(known, o, ad_op_table()[o->code].arity);
        if (!is_elementary(o))
            continue;
        CHECK_CLOSE(o->result.v, value_of(o), 0);
        known[o->result.seq] = true;
    }
    CHECK(known[y.seq], "y was never told");
    adjoint[y.seq] = 1;
    for (int i = told.count - 1; i >= 0; i--) {
        const ad_operation *o = &told.op[i];
        for (int k = 0; is_elementary(o) && k < 3; k++)
            if (o->arg[k].job != 0)
                adjoint[o->arg[k].seq] +=
                    adjoint[o->result.seq] * partial_of(o, k);
    }
    for (int i = 0; i < inputs; i++)
        CHECK_NEAR(g[i], adjoint[x[i].seq], 1e-12L);
}

// Loops, a branch, a sum, constants, repeated operands, every kind of arity.
static ad_rev program(const ad_rev *x)
{
    ad_rev s = { .v = 1 };
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 10; k++) {
            ad_acc(&s, ad_mul(ad_sin(ad_mul(x[i], k + 1)), x[(i + 1) % 3]));
            if (ad_gt(s, x[i]))
                s = ad_rec(ad_div(s, ad_add(ad_sqr(s), 2)));
        }
        s = ad_rec(ad_select(ad_lt(s, 0.5), ad_exp(s), ad_mul(s, s)));
        s = ad_rec(ad_fma(s, x[i], ad_clamp(x[0], -9, x[2])));
        s = ad_rec(ad_add(s, ad_mul(ad_floor(x[i]), ad_atan2(s, x[i]))));
    }
    return ad_rec(ad_add(s, ad_hypot(x[0], ad_max(x[1], x[2]))));
}

static void test_replay(void)
{
    const ad_real at[3] = { 0.7, -1.3, 2.1 };
    ad_rev x[3];
    ad_real watched_g[3];
    ad_real plain_g[3];
    ad_tape *t = watched();
    ad_inputs(3, at, x);
    ad_rev y = program(x);
    CHECK(ad_gradient(t, y, 3, x, watched_g) == ADREV_OK, "gradient");
    check_replay(3, x, y, watched_g);
    size_t elementary = ad_tape_stats(t).statements;

    // Without the hook expressions are fused again, and agree.
    int count = told.count;
    ad_tape_hooks(t, NULL);
    ad_tape_clear(t);
    ad_inputs(3, at, x);
    ad_rev again = program(x);
    CHECK(told.count == count, "a hook that was removed is called");
    CHECK(again.v == y.v, "watched %g, else %g", y.v, again.v);
    CHECK(ad_gradient(t, again, 3, x, plain_g) == ADREV_OK, "gradient");
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(plain_g[i], watched_g[i], 1e-12L);
    CHECK(ADREV_FUSE == 1 || ad_tape_stats(t).statements < elementary,
          "without the hook %zu statements, with it %zu",
          ad_tape_stats(t).statements, elementary);
    ad_tape_free(t);
}

// Set and removed in the middle of a recording.
static void test_midway(void)
{
    const ad_hooks hooks = { .trace = write_down, .user = &told };
    ad_tape *t = ad_tape_new();
    ad_use(t);
    told.count = 0;
    ad_rev x = ad_input(2);
    ad_rev a = ad_rec(ad_mul(x, ad_mul(x, x)));
    ad_tape_hooks(t, &hooks);
    ad_rev b = ad_rec(ad_mul(a, ad_add(x, 1)));
    ad_tape_hooks(t, NULL);
    ad_rev c = ad_rec(ad_mul(b, x));
    ad_real g = 0;
    CHECK(told.count == 2, "got %d operations, want 2", told.count);
    check_arg(1, 0, a);
    // x^4 (x + 1)
    CHECK(ad_gradient(t, c, 1, &x, &g) == ADREV_OK && g == 112,
          "got %g, want 112", g);
    ad_tape_free(t);
}

/* --- foreign values ------------------------------------------------------- */

enum { IMPORTS = 16 };

typedef struct imports {
    int count;
    int asked;
    bool constant;              // give back a constant instead
    ad_rev theirs[IMPORTS];
    ad_rev ours[IMPORTS];
} imports;

static ad_rev import_value(void *user, ad_rev x)
{
    imports *in = user;
    in->asked++;
    if (in->constant)
        return (ad_rev){ .v = x.v };
    for (int i = 0; i < in->count; i++)
        if (same(in->theirs[i], x))
            return in->ours[i];
    if (in->count == IMPORTS)
        return x;
    in->theirs[in->count] = x;
    in->ours[in->count] = ad_input(x.v);
    return in->ours[in->count++];
}

static ad_rev decline(void *user, ad_rev x)
{
    (void)user;
    return x;
}

// y = sin(u v) + u w^2 with u, v of another tape and w our own.
static ad_rev mixture(ad_rev u, ad_rev v, ad_rev w)
{
    ad_rev a = ad_rec(ad_sin(ad_mul(u, v)));
    return ad_rec(ad_add(a, ad_mul(u, ad_mul(w, w))));
}

static void check_imports(ad_tape *t, ad_tape *other)
{
    imports in = { .count = 0 };
    const ad_hooks hooks = { .foreign = import_value, .user = &in };
    ad_use(other);
    ad_rev s = ad_input(2);
    ad_rev u = ad_rec(ad_mul(s, s));
    ad_rev v = ad_rec(ad_sin(s));
    ad_use(t);
    ad_tape_clear(t);
    ad_tape_hooks(t, &hooks);
    ad_rev w = ad_input(3);
    ad_rev y = mixture(u, v, w);
    CHECK(in.count == 2, "got %d imports, want 2", in.count);
    CHECK(same(in.theirs[0], u) && same(in.theirs[1], v),
          "the hook is asked for values %u, %u, want %u, %u",
          (unsigned)in.theirs[0].seq, (unsigned)in.theirs[1].seq,
          (unsigned)u.seq, (unsigned)v.seq);
    CHECK(ad_tape_status(t) == ADREV_OK, "got \"%s\"",
          ad_message(ad_tape_status(t)));
    ad_rev x[3] = { in.ours[0], in.ours[1], w };
    ad_real g[3] = { 0 };
    CHECK(ad_gradient(t, y, 3, x, g) == ADREV_OK, "gradient");
    CHECK_NEAR(g[0], v.v * cos(u.v * v.v) + 9, 1e-14L);
    CHECK_NEAR(g[1], u.v * cos(u.v * v.v), 1e-14L);
    CHECK_NEAR(g[2], 6 * u.v, 1e-14L);

    // The other tape takes over where the imports end.
    ad_real ds = 0;
    CHECK(ad_pullback(other, 2, in.theirs, g, 1, &s, &ds) == ADREV_OK,
          "pullback");
    CHECK_NEAR(ds, g[0] * 4 + g[1] * cos(2.0), 1e-14L);
    ad_tape_hooks(t, NULL);
}

static void test_imports(void)
{
    ad_tape *t = ad_tape_new();
    ad_tape *other = ad_tape_new();
    for (int i = 0; i < 3; i++)
        check_imports(t, other);
    ad_tape_free(other);
    ad_tape_free(t);
}

// More operands of one statement are foreign than there are of our own, one
// of them twice, and in every form in which a value is used.
static void test_import_forms(void)
{
    imports in = { .count = 0 };
    const ad_hooks hooks = { .foreign = import_value, .user = &in };
    ad_tape *other = ad_tape_new();
    ad_use(other);
    ad_rev a = ad_input(2);
    ad_rev b = ad_input(3);
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_tape_hooks(t, &hooks);
    ad_rev x = ad_input(5);
    ad_rev y = ad_rec(ad_add(ad_mul(a, b), ad_add(ad_mul(a, x), a)));
    ad_rev r = ad_rec(a);
    ad_rev s = a;
    ad_acc(&s, b);
    y = ad_rec(ad_add(y, ad_add(r, s)));
    CHECK(in.count == 2, "got %d imports, want 2", in.count);
    CHECK(same(r, in.ours[0]) && r.v == 2, "ad_rec of a foreign value");
    ad_rev all[3] = { in.ours[0], in.ours[1], x };
    ad_real g[3] = { 0 };
    CHECK(ad_gradient(t, y, 3, all, g) == ADREV_OK, "gradient");
    // ab + ax + a + a + (a + b)
    CHECK(g[0] == 11 && g[1] == 3 && g[2] == 2,
          "got %g, %g, %g, want 11, 3, 2", g[0], g[1], g[2]);
    ad_tape_free(other);
    ad_tape_free(t);
}

static void test_constant_import(void)
{
    imports in = { .constant = true };
    const ad_hooks hooks = { .foreign = import_value, .user = &in };
    ad_tape *other = ad_tape_new();
    ad_use(other);
    ad_rev a = ad_input(2);
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_tape_hooks(t, &hooks);
    ad_rev x = ad_input(5);
    ad_rev y = ad_rec(ad_mul(a, x));
    ad_real g = 0;
    CHECK(ad_gradient(t, y, 1, &x, &g) == ADREV_OK && g == 2, "got %g, want 2",
          g);
    ad_rev c = ad_rec(ad_sin(a));
    CHECK(c.job == 0 && c.v == sin(2.0), "of constants alone: no constant");
    CHECK(in.asked >= 2, "asked %d times", in.asked);
    CHECK(ad_tape_status(t) == ADREV_OK, "got \"%s\"",
          ad_message(ad_tape_status(t)));
    ad_tape_free(other);
    ad_tape_free(t);
}

// Asked in vain, and not asked for what needs no answer.
static void test_decline(void)
{
    const ad_hooks hooks = { .foreign = decline };
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_rev old = ad_input(2);
    ad_tape_clear(t);
    ad_tape_hooks(t, &hooks);
    ad_rev x = ad_input(3);
    DROP(ad_rec(ad_mul(x, 2)));
    CHECK(ad_tape_status(t) == ADREV_OK, "got \"%s\"",
          ad_message(ad_tape_status(t)));
    DROP(ad_rec(ad_mul(x, old)));
    CHECK(ad_tape_status(t) == ADREV_EFOREIGN, "got \"%s\"",
          ad_message(ad_tape_status(t)));
    ad_tape_free(t);
}

static ad_rev other_foreign(void *user, ad_rev x)
{
    (void)x;
    return *(const ad_rev *)user;
}

// An answer that is foreign itself is none.
static void test_foreign_answer(void)
{
    ad_rev old = { 0 };
    const ad_hooks hooks = { .foreign = other_foreign, .user = &old };
    ad_tape *t = ad_tape_new();
    ad_use(t);
    old = ad_input(2);
    ad_tape_clear(t);
    ad_rev less_old = ad_input(3);
    ad_tape_clear(t);
    ad_tape_hooks(t, &hooks);
    DROP(ad_rec(ad_mul(less_old, less_old)));
    CHECK(ad_tape_status(t) == ADREV_EFOREIGN, "got \"%s\"",
          ad_message(ad_tape_status(t)));
    ad_tape_free(t);
}

// The trace is told of the import, not of the foreign value.
static void test_imports_watched(void)
{
    imports in = { .count = 0 };
    ad_tape *other = ad_tape_new();
    ad_use(other);
    ad_rev a = ad_input(2);
    const ad_hooks foreign = { .foreign = import_value, .user = &in };
    ad_tape *t = watched();
    ad_rev x = ad_input(5);
    ad_tape_hooks(t, &foreign);
    ad_rev ours = ad_rec(a);
    ad_tape_hooks(t, &(ad_hooks){ .trace = write_down, .user = &told });
    DROP(ad_rec(ad_mul(ours, x)));
    check_told(0, ADREV_OP_mul, 10);
    check_arg(0, 0, ours);
    CHECK(same(ours, in.ours[0]), "ad_rec of a foreign value");
    ad_tape_free(other);
    ad_tape_free(t);
}

// One user pointer serves both hooks.
typedef struct both {
    imports in;
    int operations;
    ad_operation last;
} both;

static void count_operation(void *user, const ad_operation *operation)
{
    both *b = user;
    b->operations++;
    b->last = *operation;
}

static ad_rev import_both(void *user, ad_rev x)
{
    both *b = user;
    return import_value(&b->in, x);
}

static void test_both_hooks(void)
{
    static both b;
    const ad_hooks hooks = { .trace = count_operation,
                             .foreign = import_both, .user = &b };
    ad_tape *other = ad_tape_new();
    ad_use(other);
    ad_rev a = ad_input(2);
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_tape_hooks(t, &hooks);
    ad_rev x = ad_input(5);
    ad_rev y = ad_rec(ad_mul(a, x));
    CHECK(b.operations == 1, "got %d operations, want 1", b.operations);
    CHECK(b.in.count == 1 && same(b.last.arg[0], b.in.ours[0]),
          "the trace is not told of the import");
    ad_rev all[2] = { b.in.ours[0], x };
    ad_real g[2] = { 0 };
    CHECK(ad_gradient(t, y, 2, all, g) == ADREV_OK, "gradient");
    CHECK(g[0] == 5 && g[1] == 2, "got %g, %g, want 5, 2", g[0], g[1]);
    ad_tape_free(other);
    ad_tape_free(t);
}

int main(void)
{
    test_operations();
    test_decisions();
    test_leaving();
    test_not_told();
    test_replay();
    test_midway();
    test_imports();
    test_import_forms();
    test_constant_import();
    test_decline();
    test_foreign_answer();
    test_imports_watched();
    test_both_hooks();
    return check_done("hooks");
}
