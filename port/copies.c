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
 * both numbers are kept somewhere; at a variable that is the difference of two and does not
 * change, too, which is no copy of 0: `const double h = b - a; if (h != 0) ...`.
 *
 * What a comparison is not made for, because && or ?: leaves it out, does not depend
 * on it.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <string.h>

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

bool run_sees(node *n, const question *q)
{
    if (strcmp(opt.number, "ad_rev") != 0 || n->kind != BinaryOperator
        || !one_of(n->opcode, "== != < > <= >=") || !are_operands(n, q))
        return false;
    if (!n->asks_same)
        note(n, "the tape fails where the two are equal and none is a copy of the "
             "other, unless --equal %.*s", (int)q->in->name.n, q->in->name.at);
    n->asks_same = 1;
    return true;
}
