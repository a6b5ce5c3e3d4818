/* steps.c - pointers that step from one member of a structure to the next.
 *
 * `double *p = &s.x; p[1]` is s.y. Numbers are marked where a pointer to them
 * steps; if the address of a member is such a pointer, the members beside it of
 * the same type are joined with it. So a function that gets &s.x and looks at
 * one number joins nothing.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"

typedef struct address {        // of a member: one of a structure's leaves
    record *whole;              // the structure around it, as far as it is seen
    ty *member;
} address;

static address *addresses;
static size_t address_room, address_count;

static ty **stepping;           // pointers that step
static size_t step_room, step_count;

void step_note(ty *pointer)
{
    stepping = grow(stepping, &step_room, step_count + 1, sizeof *stepping);
    stepping[step_count++] = pointer;
}

static const node *bare(const node *n)
{
    while (n->kind == ParenExpr)
        n = n->kid[0];
    return n;
}

// The member that n is in: s.a of s.a.x, and of s.a[2].x.
static const node *member_around(const node *n)
{
    const node *k = bare(n->kid[0]);
    while (!n->arrow && k->kind == ArraySubscriptExpr)
        k = base_node(k->kid[0]);
    return !n->arrow && k->kind == MemberExpr && k->decl != NULL ? k : NULL;
}

void address_note(const node *n)
{
    const node *m = bare(n);
    if (m->kind != MemberExpr || m->decl == NULL)
        return;
    ty *member = m->decl->ty;
    for (const node *k = m; k != NULL; k = member_around(m))
        m = k;
    addresses = grow(addresses, &address_room, address_count + 1,
                     sizeof *addresses);
    addresses[address_count++] = (address){ record_of(m->decl->parent), member };
}

/* --- what lies side by side ----------------------------------------------- */

enum { MOST_LEAVES = 512 };

typedef struct leaves {
    ty *leaf[MOST_LEAVES];
    int count;
} leaves;

static ty *element(ty *t)
{
    while (t->kind == T_ARR)
        t = t->to;
    return t;
}

static void list_leaves(leaves *all, record *r)
{
    for (int i = 0; i < r->fields && all->count < MOST_LEAVES; i++) {
        record *inner = element(r->field[i])->record;
        if (inner != NULL && !inner->is_union)
            list_leaves(all, inner);
        else
            all->leaf[all->count++] = r->field[i];
    }
}

// How many pointers lead to a number; -1: none does.
static int pointers_to(ty *t, ty **number)
{
    int n = 0;
    for (t = ty_bound(element(t)); t->kind == T_PTR;
         t = ty_bound(element(t->to)))
        n++;
    t = t->kind == T_REC && only_numbers(t) ? only_numbers(t) : t;
    *number = t;
    return t->kind == T_NUM && n < 8 ? n : -1;
}

static void mark_steps(void)
{
    ty *t;
    for (size_t i = 0; i < step_count; i++) {
        const int n = pointers_to(stepping[i], &t);
        if (n > 0)
            num_root(t->num)->stepped |= 1u << n;
    }
}

// Whether a pointer to t steps.
static bool is_stepped(ty *t)
{
    ty *number;
    const int n = pointers_to(t, &number);
    return n >= 0 && num_root(number->num)->stepped >> (n + 1) & 1;
}

// Joins a leaf with the next ones of its type, and so on. true: with any.
static bool join_beside(const leaves *all, int at)
{
    bool any = false;
    ty *x, *y;
    const int n = pointers_to(all->leaf[at], &x);
    for (int way = -1; way <= 1; way += 2)
        for (int i = at + way; i >= 0 && i < all->count; i += way) {
            if (pointers_to(all->leaf[i], &y) != n || y->single != x->single
                || y->odd != x->odd)
                break;
            any |= num_root(x->num) != num_root(y->num);
            num_join(x->num, y->num);
        }
    return any;
}

static bool settle_address(const address *a)
{
    leaves all = { .count = 0 };
    bool any = false;
    if (!is_stepped(a->member))
        return false;
    list_leaves(&all, a->whole);
    for (int i = 0; i < all.count; i++)
        if (all.leaf[i] == a->member)
            any = join_beside(&all, i) || any;
    return any;
}

// Until nothing changes: what is joined may be stepped over, too.
void steps_settle(void)
{
    for (bool again = true; again;) {
        again = false;
        mark_steps();
        for (size_t i = 0; i < address_count; i++)
            again = settle_address(&addresses[i]) || again;
    }
}
