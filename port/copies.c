/* copies.c - comparisons of which the run sees whether a derivative may be lost.
 *
 *     a = lower; b = upper; c = a;
 *     while (...) {
 *         if (a == c) secant(); else interpolate();       // Brent's zero of f
 *         a = b; b += step;
 *         if (...) c = a;
 *     }
 *
 * That a copy is equal to what it is a copy of is so at all points nearby, too:
 * no derivative is lost. Only in the run it is seen whether it is a copy, or a
 * maximum, or a sum that cancels: then the difference of the two has no derivative
 * (ad_tie). If two other numbers are equal, the twin makes the tape fail (helpers.c): a
 * status, and no wrong derivative. That needs a tape, so it is for `ad_rev`.
 *
 * So the run looks at `==` and `!=` of two numbers that are kept somewhere; at orders
 * that ask the same (orders.c); and at differences that are compared with 0, quotients
 * that are compared with 1:
 * `const double h = b - a; if (h != 0) ...`.
 * The comparison must be made whenever the two are equal. So what decides before it
 * in its expression, by &&, || and ?:, must not ask about both in another way:
 * `fabs(a - b) < 1e-6 || a == b` never gets to it.
 *
 * It looks, too, at other numbers that are equal to a constant: `log(a/b) == 0` asks
 * whether a and b are equal. There a number of one input may be as it likes
 * (singles.c), and so may one that is computed of itself in a loop or the like: an
 * iteration would fail where it comes to its end.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <string.h>

enum { MOST_DEPTH = 3 };        // variables that are made of one another

static bool is_kept(const node *n)
{
    const function *f = n->kind == CallExpr ? function_called(n) : NULL;
    return n->kind == DeclRefExpr || n->kind == MemberExpr
        || n->kind == ArraySubscriptExpr
        || (n->kind == UnaryOperator && is(n->opcode, "*"))
        || (f != NULL && f->body != NULL);
}

static bool are_kept(const node *a, const node *b) { return is_kept(a) && is_kept(b); }

// Made of what is computed of itself again and again: at the end of an iteration it may
// be equal to something at all points.
static bool is_iterated(const node *n)
{
    if (is_number(n) && n->ty != NULL && n->ty->kind == T_NUM && num_returns(n->ty->num))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (is_iterated(n->kid[i]))
            return true;
    return false;
}

// Both operands of a comparison are the two of the question; or one of them is
// made of these by one operation. The derivative of |a - b| at 0 would say nothing.
static bool are_operands(const node *n, const question *q)
{
    const node *a = base_node(n->kid[0]), *b = base_node(n->kid[1]);
    if (!one_of(n->opcode, "== !="))
        return ((a == q->a && b == q->b) || (a == q->b && b == q->a))
            && are_kept(a, b) && !has_effect(a) && !has_effect(b);
    return a == q->a && b == q->b ? are_kept(a, b)
         : (are_kept(q->a, q->b) || !(is_iterated(a) || is_iterated(b)))
           && !is_folded(a, q->in) && !is_folded(b, q->in);
}

// Compares just the two: then it decides by their order, as n itself does.
static bool is_of_the_two(const node *n, const question *q)
{
    if (n->kind != BinaryOperator || !one_of(n->opcode, "== != < > <= >="))
        return false;
    const node *a = base_node(n->kid[0]), *b = base_node(n->kid[1]);
    return (same_code(a, q->a) && same_code(b, q->b))
        || (same_code(a, q->b) && same_code(b, q->a));
}

// Names x, or a local variable that is made of it.
static bool is_made_of(const node *n, const node *x, const question *q, int depth)
{
    if (is_of_the_two(n, q))
        return false;
    if (n->kind == x->kind && same_code(n, x))
        return true;
    const node *d = depth > 0 ? local_variable(n) : NULL;
    for (size_t i = 0; given(q->in->body, d, i) != NULL; i++)
        if (is_made_of(given(q->in->body, d, i), x, q, depth - 1))
            return true;
    for (int i = 0; i < n->kids; i++)
        if (is_made_of(n->kid[i], x, q, depth))
            return true;
    return false;
}

static bool asks_about_both(const node *n, const question *q)
{
    return is_made_of(n, q->a, q, MOST_DEPTH) && is_made_of(n, q->b, q, MOST_DEPTH);
}

// Whether n says if a loop goes on that computes one of the two anew until they
// are equal: then each run would end with a failure.
static bool is_end_of_steps(const node *n, const question *q)
{
    return is_condition(n) && n->parent->kind != IfStmt
        && (is_changed(n->parent, q->a, q->in)
            || is_changed(n->parent, q->b, q->in));
}

// Nothing else about the two decides in its expression whether n is asked.
static bool is_always_asked(const node *n, const question *q)
{
    for (const node *p = n->parent; p->kind != CompoundStmt && p->kind != IfStmt
             && p->kind != VarDecl && p->kind != FunctionDecl; n = p, p = p->parent)
        if ((((p->kind == BinaryOperator && one_of(p->opcode, "&& ||"))
              || p->kind == ConditionalOperator || p->kind == BinaryConditionalOperator)
             && n != p->kid[0] && asks_about_both(p->kid[0], q))
            || is_end_of_steps(n, q))
            return false;
    return true;
}

// Static data keep numbers of another run, which are on no tape, or on another.
static bool is_static(const node *n)
{
    while (n->kids && n->kind != CallExpr && n->kind != DeclRefExpr)
        n = base_node(n->kid[0]);
    const node *d = n->kind == DeclRefExpr ? node_by_id(n->ref) : NULL;
    return d != NULL && d->kind == VarDecl
        && (is(d->storage, "static") || d->parent == tree);
}

static bool has_tape(void) { return strcmp(opt.number, "ad_rev") == 0; }

// Where the truth of a number is asked for: `if (d)`.
static bool is_seen(const node *n, const question *q)
{
    return n->kind != BinaryOperator
        ? is_number(n) && is_kept(n) && !is_folded(n, q->in)
        : one_of(n->opcode, "== != < > <= >=") && are_operands(n, q);
}

bool run_sees(node *n, const question *q)
{
    if (!has_tape() || !is_seen(n, q) || !is_always_asked(n, q)
        || is_static(q->a) || is_static(q->b))
        return false;
    if (!n->asks_tie)
        note(n, "the tape fails where the two are equal, and not so nearby, too, "
             "unless --equal %.*s", (int)q->in->name.n, q->in->name.at);
    n->asks_tie = OF_TWO;
    return true;
}

/* --- numbers that are compared with a constant ----------------------------- */

static bool asks_constant(const node *n, question *q)
{
    q->a = base_node((node *)n);
    q->b = number_zero();
    if (n->kind == BinaryOperator && one_of(n->opcode, "== !=") && is_number(n->kid[0])
        && is_number(n->kid[1])) {
        const int constant = varies(n->kid[0]);
        q->a = base_node(n->kid[1 - constant]);
        q->b = base_node(n->kid[constant]);
    } else if (!is_number(n) || !is_truth(n))
        return false;
    return varies(q->a) && !varies(q->b) && active(q->a->ty) && !is_of_one(q->a->ty)
        && !reads_it(q->b, q->a) && !is_iterated(q->a);
}

static void look_at(node *n, const function *f)
{
    question q = { .in = f };
    node *const base = base_node(n);
    if (!base->asks_tie && asks_constant(n, &q) && !equal_harmless(n, &q)) {
        note(n, "the tape fails where this number is equal to the constant, and depends "
             "on several inputs, unless --equal %.*s", (int)f->name.n, f->name.at);
        base->asks_tie = OF_CONSTANT;
    }
    for (int i = 0; i < n->kids; i++)
        look_at(n->kid[i], f);
}

void constants_check(void)
{
    for (const function *f = functions; has_tape() && f != NULL; f = f->next)
        if (f->reached && f->body != NULL && !equal_allowed(f))
            look_at(f->body, f);
}
