/* edges.c - edges from number to number, where values move.
 *
 * Of what is not understood all numbers have edges to and from one, its hub:
 * whatever goes in may come out, anywhere.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"

void from_hub(ty *t, void *hub) { num_edge(((ty *)hub)->num, t->num); }
void to_hub(ty *t, void *hub) { num_edge(t->num, ((ty *)hub)->num); }

void entangle(ty *t, ty *hub)
{
    if (t == NULL)
        return;
    each_number(t, to_hub, hub);
    each_number(t, from_hub, hub);
}

void entangle_all(const node *n, ty *hub)
{
    for (int i = 0; i < n->kids; i++) {
        entangle(n->kid[i]->ty, hub);
        entangle_all(n->kid[i], hub);
    }
}

ty *other(void)
{
    static ty t = { .kind = T_OTHER, .name = { "int", 3 } };
    return &t;
}

ty *computed(node *n)        // a number of its own
{
    ty *t = ty_of(n->type, n);
    t = t->kind == T_NUM ? t : ty_number();
    t->num->mixes = WITH_OTHERS;
    return t;
}

void flows(ty *from, ty *to)
{
    if (from->kind == T_NUM && to->kind == T_NUM)
        num_edge(from->num, to->num);
}

void assign(ty *to, ty *from, node *at)
{
    if (to->kind == T_NUM)
        flows(from, to);
    else if (to->kind == T_PTR || from->kind == T_PTR
             || (to->kind == T_REC && from->kind == T_REC))
        join(to, from, at);
}

void compared(ty *t)
{
    if (t->kind == T_NUM)
        num_root(t->num)->useful = true;
}
