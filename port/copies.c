/* copies.c - comparisons of which one number may be a copy of the other.
 *
 *     a = lower; b = upper; c = a;
 *     while (...) {
 *         if (a == c) secant(); else interpolate();       // Brent's zero of f
 *         a = b; b += step;
 *         if (...) c = a;
 *     }
 *
 * That a copy is equal to what it is a copy of is so at all points nearby, too:
 * no derivative is lost. Only in the run it is seen whether it is a copy: then
 * both have the same place on the tape. If two other numbers are equal, the twin
 * makes the tape fail (`same` in helpers.c): a status, and no wrong derivative.
 * That needs a tape, so it is for `ad_rev`.
 *
 * So it looks at `==` and `!=`, and at orders that ask for equality (orders.c), if
 * both numbers are kept somewhere; at a variable that is the difference of two and
 * does not change, too, which is no copy of 0:
 * `const double h = b - a; if (h != 0) ...`.
 *
 * The comparison must be made whenever the two are equal. So what decides before it
 * in its expression, by &&, || and ?:, must not ask about both in another way:
 * `fabs(a - b) < 1e-6 || a == b` never gets to it.
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

// Both operands of a comparison are the two of the question; or one of them is
// their difference.
static bool are_operands(const node *n, const question *q)
{
    const node *a = base_node(n->kid[0]), *b = base_node(n->kid[1]);
    if (!one_of(n->opcode, "== !="))
        return ((a == q->a && b == q->b) || (a == q->b && b == q->a))
            && is_kept(a) && is_kept(b) && !has_effect(a) && !has_effect(b);
    return a == q->a && b == q->b ? is_kept(a) && is_kept(b)
         : begins_as(a, q->in) != NULL || begins_as(b, q->in) != NULL;
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
    const nodes *stores = d != NULL ? stores_in(q->in->body, d) : NULL;
    if (d != NULL && d->init && d->kids && is_made_of(d->kid[0], x, q, depth - 1))
        return true;
    for (size_t i = 0; stores != NULL && i < stores->n; i++)
        if (stores->at[i]->kids > 1
            && is_made_of(stores->at[i]->kid[1], x, q, depth - 1))
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
              || p->kind == ConditionalOperator)
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

static bool is_picked_by(const node *value)
{
    const node *n = base_node((node *)value);
    return n->kind == CallExpr
        && one_of(callee_name(n), "fmax fmin fabs fmaxf fminf fabsf");
}

// fmax(a, b) has a place of its own on the tape, although it is a or b.
static bool is_picked(const node *n, const function *in)
{
    const node *d = local_variable(n);
    const nodes *stores = d != NULL ? stores_in(in->body, d) : NULL;
    if (is_picked_by(n) || (d != NULL && d->init && d->kids && is_picked_by(d->kid[0])))
        return true;
    for (size_t i = 0; stores != NULL && i < stores->n; i++)
        if (stores->at[i]->kids > 1 && is_picked_by(stores->at[i]->kid[1]))
            return true;
    return false;
}

bool run_sees(node *n, const question *q)
{
    if (strcmp(opt.number, "ad_rev") != 0 || n->kind != BinaryOperator
        || !one_of(n->opcode, "== != < > <= >=") || !are_operands(n, q)
        || !is_always_asked(n, q) || is_static(q->a) || is_static(q->b)
        || is_picked(q->a, q->in) || is_picked(q->b, q->in))
        return false;
    if (!n->asks_same)
        note(n, "the tape fails where the two are equal and none is a copy of the "
             "other, unless --equal %.*s", (int)q->in->name.n, q->in->name.at);
    n->asks_same = 1;
    return true;
}
