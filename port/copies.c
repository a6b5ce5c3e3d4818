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
 * What may be a copy is a local variable that is copied to the other one, also by
 * way of others.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <string.h>

enum { MOST_LINKED = 16 };

typedef struct linked {
    const node *of[MOST_LINKED];
    int count;
} linked;

static bool is_linked(const linked *l, const node *d)
{
    for (int i = 0; i < l->count; i++)
        if (l->of[i] == d)
            return true;
    return false;
}

static void link_copy(linked *l, const node *to, node *from)
{
    const node *source = local_variable(base_node(from));
    if (to == NULL || source == NULL || l->count == MOST_LINKED
        || is_linked(l, to) == is_linked(l, source))
        return;
    l->of[l->count++] = is_linked(l, to) ? source : to;
}

static void link_copies(linked *l, const node *n)
{
    if (n->kind == BinaryOperator && is(n->opcode, "="))
        link_copy(l, local_variable(base_node(n->kid[0])), n->kid[1]);
    if (n->kind == VarDecl && n->init && n->kids)
        link_copy(l, n, n->kid[0]);
    for (int i = 0; i < n->kids; i++)
        link_copies(l, n->kid[i]);
}

bool may_be_copies(const node *a, const node *b, const function *f)
{
    linked l = { .of = { local_variable(a) }, .count = 1 };
    if (strcmp(opt.number, "ad_rev") != 0 || l.of[0] == NULL)
        return false;
    for (int before = 0; before < l.count;) {
        before = l.count;
        link_copies(&l, f->body);
    }
    return local_variable(b) != NULL && is_linked(&l, local_variable(b));
}
