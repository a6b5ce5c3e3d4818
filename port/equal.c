/* equal.c - questions whether two numbers that depend on inputs are equal.
 *
 *     if (a == b) return 0;           if (x[i] != x[i - 1]) v = sin(x[i]);
 *
 * Where they are, at some points only, the program goes a way of its own, which
 * need not depend on both numbers as the other way does: it leaves out what
 * depends on them, or uses again what was computed for one of the two. So `==`
 * and `!=` of such numbers are refused, however the answer is used, unless it is
 * seen that the derivatives are those of the other way:
 *
 *   - a number is compared with itself, itself rounded, or a sum that it is in
 *   - only messages depend on the answer
 *   - a loop ends that makes one number anew of the other: nothing changes
 *   - both are the state of a loop, as in a search for a root
 *   - a function that compares for a sort asks for the order, too
 *   - the user says so: --equal FUNCTION
 *
 * caches.c knows other ways to ask.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdio.h>

enum { MOST_FLAGS = 3 };        // variables that the answer goes through

typedef struct question {
    node *a, *b;                // without parentheses and casts
    const function *in;
} question;

bool equal_allowed(const function *f)
{
    for (int i = 0; f != NULL && i < opt.equals; i++)
        if (same(opt.equal[i], f->name))
            return true;
    return false;
}

/* --- which questions ------------------------------------------------------ */

static bool is_rounded(const node *n)
{
    return n->kind == CallExpr && one_of(callee_name(n),
        "floor ceil trunc rint round nearbyint floorf ceilf truncf rintf roundf");
}

// a + h of a: they are equal where h is lost in rounding.
static bool is_sum_with(const node *sum, const node *a)
{
    return sum->kind == BinaryOperator && one_of(sum->opcode, "+ -")
        && (same_code(base_node(sum->kid[0]), a)
            || same_code(base_node(sum->kid[1]), a));
}

static bool varies(const node *n)
{
    return is_number(n) && n->ty != NULL && holds_varied(n->ty);
}

static bool asks(const node *n, question *q)
{
    if (n->kind != BinaryOperator || !one_of(n->opcode, "== !=")
        || !varies(n->kid[0]) || !varies(n->kid[1]))
        return false;
    q->a = base_node(n->kid[0]);
    q->b = base_node(n->kid[1]);
    return !(same_code(q->a, q->b) && !has_effect(q->a))
        && !is_rounded(q->a) && !is_rounded(q->b)
        && !is_sum_with(q->a, q->b) && !is_sum_with(q->b, q->a);
}

/* --- parts of a function -------------------------------------------------- */

static bool is_one(node *n, const node *at)
{
    return same_code(base_node(n), at);
}

static bool reads(const node *n, const node *at)
{
    if (n->kind == at->kind && same_code(n, at))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (reads(n->kid[i], at))
            return true;
    return false;
}

static bool is_jump(const node *n)
{
    return n->kind == ReturnStmt || n->kind == BreakStmt
        || n->kind == ContinueStmt || n->kind == GotoStmt;
}

static bool is_store(const node *n)
{
    return (n->kind == BinaryOperator && is(n->opcode, "="))
        || n->kind == CompoundAssignOperator
        || (n->kind == UnaryOperator && one_of(n->opcode, "++ --"));
}

// What a function does whose source is not seen: it prints, or ends the program.
static bool only_tells(const node *n)
{
    if (is_store(n) || is_jump(n))
        return false;
    if (n->kind == CallExpr) {
        const function *f = function_called(n);
        const library l = call_library(n);
        if (f == NULL || f->body != NULL
            || (l.kind != L_NONE && l.kind != L_PASSIVE))
            return false;
    }
    for (int i = 0; i < n->kids; i++)
        if (!only_tells(n->kid[i]))
            return false;
    return true;
}

static bool stores_numbers(const node *n)
{
    if (n->kind == CallExpr || (is_store(n) && is_number(n->kid[0])))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (stores_numbers(n->kid[i]))
            return true;
    return false;
}

static bool is_loop(const node *n)
{
    return n->kind == ForStmt || n->kind == WhileStmt || n->kind == DoStmt;
}

static const node *loop_around(const node *n)
{
    while (n != NULL && !is_loop(n) && n->kind != FunctionDecl)
        n = n->parent;
    return n != NULL && is_loop(n) ? n : NULL;
}

static bool is_local(const node *n)
{
    const node *d = n->kind == DeclRefExpr ? node_by_id(n->ref) : NULL;
    return d != NULL && d->kind == VarDecl && d->parent != tree
        && d->storage.n == 0;
}

/* --- loops that end when nothing changes ----------------------------------- */

static bool reads_varied(const node *n, const question *q)
{
    const node *at = n->kind == ImplicitCastExpr
        && is(n->cast, "LValueToRValue") && varies(n)
        ? base_node((node *)n) : NULL;
    if (at != NULL && !same_code(at, q->a) && !same_code(at, q->b))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (reads_varied(n->kid[i], q))
            return true;
    return false;
}

// A branch that leaves, and with no number that was computed before.
static bool leaves(const node *branch, const question *q)
{
    const node *last = branch;
    while (last->kind == CompoundStmt && last->kids == 1)
        last = last->kid[0];
    return last->kind == BreakStmt || last->kind == GotoStmt
        || (last->kind == ReturnStmt && !reads_varied(last, q));
}

static const node *variable_of(node *n)
{
    while (n->kind == MemberExpr || n->kind == ArraySubscriptExpr
           || (n->kind == UnaryOperator && one_of(n->opcode, "& *")))
        n = base_node(n->kid[0]);
    return n;
}

// A function that is called changes what it gets by its address.
static bool is_given(const node *call, const question *q)
{
    for (int i = 1; i < call->kids; i++) {
        node *given = base_node(call->kid[i]);
        if (given->kind == UnaryOperator && is(given->opcode, "&")
            && (same_code(variable_of(given), variable_of(q->a))
                || same_code(variable_of(given), variable_of(q->b))))
            return true;
    }
    return false;
}

// One of the two gets another value than the other's.
static bool makes_anew(const node *n, const question *q)
{
    if (is_store(n) && (is_one(n->kid[0], q->a) || is_one(n->kid[0], q->b))
        && !(n->kids > 1 && is(n->opcode, "=")
             && (is_one(n->kid[1], q->a) || is_one(n->kid[1], q->b))))
        return true;
    if (n->kind == CallExpr && is_given(n, q))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (makes_anew(n->kid[i], q))
            return true;
    return false;
}

// `const double next = 0.5 * (s->x + a / s->x);`, compared with s->x.
static bool is_made_of(const node *a, const node *b)
{
    const node *d = is_local(a) ? node_by_id(a->ref) : NULL;
    return d != NULL && d->init && d->kids && !is_one(d->kid[0], b)
        && reads(d->kid[0], b);
}

static bool ends_loop(const node *choice, const question *q)
{
    const node *loop = is_loop(choice) ? choice : loop_around(choice);
    bool ends = is_loop(choice);
    for (int i = 1; choice->kind == IfStmt && i < choice->kids; i++)
        ends |= leaves(choice->kid[i], q);
    return ends && (is_made_of(q->a, q->b) || is_made_of(q->b, q->a)
                    || (loop != NULL && makes_anew(loop, q)));
}

/* --- the state of a loop --------------------------------------------------- */

// Numbers of arrays and of callers are no state.
static bool reads_elements(const node *n)
{
    if (n->kind == ArraySubscriptExpr
        || (n->kind == UnaryOperator && is(n->opcode, "*")))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (reads_elements(n->kid[i]))
            return true;
    return false;
}

// How often a number is stored in n; 100: also from elsewhere.
static int stores(const node *n, const node *at)
{
    int count = 0;
    if (is_store(n) && is_one(n->kid[0], at))
        count = n->kids > 1 && reads_elements(n->kid[1]) ? 100 : 1;
    for (int i = 0; i < n->kids; i++)
        count += stores(n->kid[i], at);
    return count;
}

static bool is_state(const node *loop, node *at)
{
    const int count = stores(loop, at);
    return (is_local(at) || (at->kind == MemberExpr
                                && is_local(variable_of(at))))
        && !reads_elements(at) && count > 0 && count < 100;
}

static bool compares_state(const node *n, const question *q)
{
    const node *loop = loop_around(n);
    return loop != NULL && is_state(loop, q->a) && is_state(loop, q->b);
}

/* --- functions for a sort -------------------------------------------------- */

static bool asks_order(const node *n, const question *q)
{
    if (n->kind == BinaryOperator && one_of(n->opcode, "< > <= >=")
        && ((is_one(n->kid[0], q->a) && is_one(n->kid[1], q->b))
            || (is_one(n->kid[0], q->b) && is_one(n->kid[1], q->a))))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (asks_order(n->kid[i], q))
            return true;
    return false;
}

static bool stores_any(const node *n)
{
    if (is_store(n) || n->kind == CallExpr)
        return true;
    for (int i = 0; i < n->kids; i++)
        if (stores_any(n->kid[i]))
            return true;
    return false;
}

static bool only_orders(const question *q)
{
    return q->in->type->to->kind == T_OTHER && !stores_any(q->in->body)
        && asks_order(q->in->body, q);
}

/* --- what depends on the answer ------------------------------------------- */

static bool is_harmless(const node *answer, const question *q, int flags);

// All that reads a local variable which keeps the answer.
static bool reads_harmlessly(const node *n, const node *d, const question *q,
                             int flags)
{
    if (n->kind == DeclRefExpr && n->ref == d->id
        && is(n->parent->cast, "LValueToRValue")
        && !is_harmless(n->parent, q, flags))
        return false;
    for (int i = 0; i < n->kids; i++)
        if (!reads_harmlessly(n->kid[i], d, q, flags))
            return false;
    return true;
}

static bool is_kept_harmlessly(const node *d, const question *q, int flags)
{
    return d != NULL && flags > 0 && d->kind == VarDecl && d->parent != tree
        && d->storage.n == 0 && reads_harmlessly(q->in->body, d, q, flags - 1);
}

static bool goes_up(const node *p)
{
    return p->kind == ParenExpr || p->kind == ImplicitCastExpr
        || p->kind == ConstantExpr
        || (p->kind == UnaryOperator && is(p->opcode, "!"))
        || (p->kind == BinaryOperator && one_of(p->opcode, "&& ||"));
}

static bool is_harmless(const node *answer, const question *q, int flags)
{
    const node *n = answer;
    while (goes_up(n->parent))
        n = n->parent;
    const node *p = n->parent;
    if (!only_tells(n) && !(is_loop(p) && !stores_numbers(n)))
        return false;
    if (p->kind == VarDecl)
        return is_kept_harmlessly(p, q, flags);
    if (p->kind == BinaryOperator && is(p->opcode, "=") && n == p->kid[1])
        return is_local(base_node(p->kid[0])) && p->parent->kind == CompoundStmt
            && is_kept_harmlessly(node_by_id(base_node(p->kid[0])->ref), q,
                                  flags);
    if (p->kind != IfStmt && p->kind != ConditionalOperator && !is_loop(p))
        return false;
    bool tells = !is_loop(p);
    for (int i = 1; tells && i < p->kids; i++)
        tells = only_tells(p->kid[i]) && !varies(p->kid[i]);
    return tells || ends_loop(p, q) || compares_state(p, q);
}

/* --- all of it ------------------------------------------------------------ */

static void look_at(const node *n, const function *f)
{
    question q = { .in = f };
    if (asks(n, &q) && !is_harmless(n, &q, MOST_FLAGS) && !only_orders(&q)) {
        buffer b = { 0 };
        putf(&b, "compute the same in either case; or, if no derivative is lost "
             "where they are equal: --equal %.*s", (int)f->name.n, f->name.at);
        refuse(n, b.at, "two numbers that depend on inputs are compared: where "
               "they are equal, derivatives may be lost");
    }
    for (int i = 0; i < n->kids; i++)
        look_at(n->kid[i], f);
}

static bool is_looked_at(const function *f)
{
    return f->reached && f->body != NULL;
}

void equal_check(void)
{
    for (const function *f = functions; f != NULL; f = f->next)
        if (is_looked_at(f) && !equal_allowed(f))
            look_at(f->body, f);
}

// Where a check finds that a derivative is lost, one of these may hide it.
static void print_questions(const node *n)
{
    question q = { NULL, NULL, NULL };
    if (asks(n, &q)) {
        const span s = span_of(n);
        const text t = slice(s);
        unsigned line, col;
        lines_of(s.file, s.begin, &line, &col);
        printf("%s:%u:%u: it may be this comparison: %.*s\n",
               file_at(s.file)->path, line, col, (int)t.n, t.at);
    }
    for (int i = 0; i < n->kids; i++)
        print_questions(n->kid[i]);
}

void questions_print(void)
{
    for (const function *f = functions; f != NULL; f = f->next)
        if (is_looked_at(f))
            print_questions(f->body);
}
