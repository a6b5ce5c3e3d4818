/* equal.c - questions whether two numbers that depend on inputs are equal.
 *
 *     if (a == b) return 0;           if (x[i] != x[i - 1]) v = sin(x[i]);
 *
 * Where they are, at some points only, the program goes a way of its own, which
 * need not depend on both numbers as the other way does: it leaves out what
 * depends on them, or uses again what was computed for one of the two. So `==`
 * and `!=` of such numbers, and differences that are compared with 0, are refused,
 * unless it is seen that the derivatives are those of the other way:
 *
 *   - a number is compared with itself, itself rounded, or a sum that it is in
 *   - only messages depend on the answer
 *   - a loop ends that computes one number anew of the other: nothing changes
 *   - a function that compares says the order, and only that is asked of it
 *   - the user says so: --equal FUNCTION
 *   - one may be a copy of the other, and the run sees whether it is (copies.c)
 *
 * What is not understood is refused.
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

// x and floor(x): x is a whole number.
static bool is_rounded(const node *n, const node *x)
{
    return n->kind == CallExpr && n->kids == 2
        && one_of(callee_name(n), "floor ceil trunc rint round nearbyint floorf "
                  "ceilf truncf rintf roundf")
        && same_code(base_node(n->kid[1]), x) && !has_effect(x);
}

// a + h or a - h, of a: they are equal where h is lost in rounding.
static bool is_sum_with(const node *sum, const node *a)
{
    return sum->kind == BinaryOperator && one_of(sum->opcode, "+ -")
        && (same_code(base_node(sum->kid[0]), a)
            || (is(sum->opcode, "+") && same_code(base_node(sum->kid[1]), a)));
}

static bool varies(const node *n)
{
    return is_number(n) && n->ty != NULL && holds_varied(n->ty);
}

bool is_zero(node *n)
{
    n = base_node(n);
    return (n->kind == IntegerLiteral || n->kind == FloatingLiteral)
        && one_of(n->value, "0 0.0 0.");
}

// a - b, or a variable that begins as that.
static const node *difference(node *n)
{
    n = base_node(n);
    const node *d = local_variable(n);
    if (d != NULL && d->init && d->kids)
        n = base_node(d->kid[0]);
    return n->kind == BinaryOperator && is(n->opcode, "-") ? n : NULL;
}

// Two numbers that are compared, as operands.
static bool are_compared(const node *n, node **a, node **b)
{
    if (n->kind == CallExpr && n->kids == 3 && call_library(n).kind == L_VALUE
        && is(text_of(call_library(n).why), "islessgreater")) {
        *a = n->kid[1], *b = n->kid[2];
        return true;
    }
    if (n->kind != BinaryOperator || !one_of(n->opcode, "== !="))
        return false;
    const int zero = is_zero(n->kid[0]) ? 0 : 1;
    const node *of = is_zero(n->kid[zero]) ? difference(n->kid[1 - zero]) : n;
    if (of == NULL)
        return false;
    *a = of->kid[0], *b = of->kid[1];
    return true;
}

static bool asks(const node *n, question *q)
{
    node *a, *b;
    if (!are_compared(n, &a, &b) || !varies(a) || !varies(b))
        return false;
    q->a = base_node(a);
    q->b = base_node(b);
    return !(same_code(q->a, q->b) && !has_effect(q->a))
        && !is_rounded(q->a, q->b) && !is_rounded(q->b, q->a)
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

// A text, or a file: of another pointer a function may change what it leads to.
static bool is_told(node *argument)
{
    const text t = argument->type;
    return argument->ty == NULL || argument->ty->kind != T_PTR
        || starts(t, "const char *") || starts(t, "FILE *")
        || starts(t, "struct _IO_FILE *")
        || base_node(argument)->kind == StringLiteral
        || base_node(argument)->kind == PredefinedExpr;
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
        for (int i = 1; i < n->kids; i++)
            if (!is_told(n->kid[i]))
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

// The loop or the switch that a break in n leaves.
static const node *left_by_break(const node *n)
{
    while (n != NULL && !is_loop(n) && n->kind != SwitchStmt
           && n->kind != FunctionDecl)
        n = n->parent;
    return n;
}

/* --- loops that end when nothing changes -------------------------------------
 * One of the two numbers is computed of the other, or of itself; the other is a
 * copy. Both are variables of the function, nothing else stores in them, and no
 * other loop is around, in which what was computed could be used again.      */

// Of variables, and functions of numbers; not of an element that the turn says,
// nor of one choice or another.
static bool is_step(const node *n)
{
    if (n->kind == ArraySubscriptExpr)
        return base_node(n->kid[1])->kind == IntegerLiteral;
    if (n->kind == ConditionalOperator
        || (n->kind == MemberExpr && n->arrow)
        || (n->kind == UnaryOperator && is(n->opcode, "*"))
        || n->kind == StmtExpr || is_store(n))
        return false;
    for (int i = 1; n->kind == CallExpr && i < n->kids; i++)
        if (!is_number(n->kid[i]))
            return false;
    for (int i = 0; i < n->kids; i++)
        if (!is_step(n->kid[i]))
            return false;
    return true;
}

typedef enum source { COPY, STEP, ELSE } source;

static source comes_from(node *value, const question *q, bool itself)
{
    if (is_one(value, q->a) || is_one(value, q->b))
        return itself ? STEP : COPY;
    return is_step(value) && (itself || reads(value, q->a) || reads(value, q->b))
        ? STEP : ELSE;
}

static bool declares(const node *d, const question *q)
{
    return d->kind == VarDecl && (node_by_id(q->a->ref) == d
                                  || node_by_id(q->b->ref) == d);
}

// Counts the steps; false: one of the two gets a value from elsewhere.
static bool only_steps(const node *n, const question *q, int *steps)
{
    source from = COPY;
    if (is_store(n) && (is_one(n->kid[0], q->a) || is_one(n->kid[0], q->b)))
        from = n->kids < 2 ? ELSE
            : comes_from(n->kid[1], q, n->kind == CompoundAssignOperator);
    else if (declares(n, q) && n->init && n->kids)
        from = comes_from(n->kid[0], q, false);
    *steps += from == STEP;
    for (int i = 0; i < n->kids && from != ELSE; i++)
        if (!only_steps(n->kid[i], q, steps))
            from = ELSE;
    return from != ELSE;
}

// The address of one of the two is taken, or a goto may lead anywhere.
static bool is_open(const node *n, const question *q)
{
    if (n->kind == GotoStmt || n->kind == LabelStmt
        || (n->kind == UnaryOperator && is(n->opcode, "&")
            && (is_one(n->kid[0], q->a) || is_one(n->kid[0], q->b))))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (is_open(n->kid[i], q))
            return true;
    return false;
}

static bool leaves(const node *choice)
{
    const node *last = choice->kids == 2 ? choice->kid[1] : choice;
    while (last->kind == CompoundStmt && last->kids == 1)
        last = last->kid[0];
    return last->kind == BreakStmt;
}

static bool ends_loop(const node *choice, const question *q)
{
    const node *loop = left_by_break(choice);
    int steps = 0;
    return (is_loop(choice) || (choice->kind == IfStmt && leaves(choice)))
        && loop != NULL && is_loop(loop)
        && left_by_break(loop->parent)->kind == FunctionDecl
        && local_variable(q->a) && local_variable(q->b) && !is_open(q->in->body, q)
        && only_steps(loop, q, &steps) && steps > 0;
}

/* --- functions that compare -------------------------------------------------
 * They say 0 of equal numbers, which is no loss if only an order is asked:
 * `compare(a, b) < 0`, qsort.                                                */

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

static bool is_order_of(const node *name)
{
    const node *n = name->parent;
    while (n->kind == ParenExpr || n->kind == ImplicitCastExpr)
        name = n, n = n->parent;
    if (n->kind != CallExpr)
        return false;
    if (n->kid[0] != name)
        return is(callee_name(n), "qsort");
    for (name = n, n = n->parent; n->kind == ParenExpr; n = n->parent)
        name = n;
    return n->kind == BinaryOperator && one_of(n->opcode, "< > <= >=")
        && is_zero(n->kid[n->kid[0] == name]);
}

static bool only_order_asked(const node *n, const function *f)
{
    if (n->kind == DeclRefExpr && same(n->ref_name, f->name)
        && is(n->ref_kind, "FunctionDecl") && !is_order_of(n))
        return false;
    for (int i = 0; i < n->kids; i++)
        if (!only_order_asked(n->kid[i], f))
            return false;
    return true;
}

static bool only_orders(const question *q)
{
    return q->in->type->to->kind == T_OTHER && !has_effect(q->in->body)
        && asks_order(q->in->body, q) && only_order_asked(tree, q->in);
}

/* --- what depends on the answer ------------------------------------------- */

static bool is_harmless(const node *answer, const question *q, int flags);

static bool is_stored_to(const node *n)
{
    return n->parent->kind == BinaryOperator && is(n->parent->opcode, "=")
        && n->parent->kid[0] == n;
}

// All that names a local variable which keeps the answer.
static bool reads_harmlessly(const node *n, const node *d, const question *q,
                             int flags)
{
    if (n->kind == DeclRefExpr && n->ref == d->id && !is_stored_to(n)
        && !(is(n->parent->cast, "LValueToRValue")
             && is_harmless(n->parent, q, flags)))
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
        return p->parent->kind == CompoundStmt
            && is_kept_harmlessly(local_variable(base_node(p->kid[0])), q, flags);
    if ((p->kind != IfStmt && p->kind != ConditionalOperator && !is_loop(p))
        || n != condition_of(p))
        return false;
    bool tells = p->kind == IfStmt
        || (p->kind == ConditionalOperator && is(p->type, "void"));
    for (int i = 1; tells && i < p->kids; i++)
        tells = only_tells(p->kid[i]);
    return tells || ends_loop(p, q);
}

/* --- all of it ------------------------------------------------------------ */

static void look_at(node *n, const function *f)
{
    question q = { .in = f };
    const bool may_lose = asks(n, &q) && !is_harmless(n, &q, MOST_FLAGS)
        && !only_orders(&q);
    if (may_lose && n->kind == BinaryOperator && base_node(n->kid[0]) == q.a
        && base_node(n->kid[1]) == q.b && may_be_copies(q.a, q.b, f)) {
        n->asks_same = 1;
        note(n, "the tape fails where the two are equal and none is a copy of the "
             "other, unless --equal %.*s", (int)f->name.n, f->name.at);
    } else if (may_lose) {
        buffer b = { 0 };
        putf(&b, "compute the same in either case; or, if no derivative is lost "
             "where they are equal: --equal %.*s", (int)f->name.n, f->name.at);
        refuse(n, b.at, "two numbers that depend on inputs are compared: where "
               "they are equal, derivatives may be lost");
    }
    for (int i = 0; i < n->kids; i++)
        look_at(n->kid[i], f);
}

void equal_check(void)
{
    for (const function *f = functions; f != NULL; f = f->next)
        if (f->reached && f->body != NULL && !equal_allowed(f))
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
        if (f->reached && f->body != NULL)
            print_questions(f->body);
}
