/* caches.c - comparisons that ask whether a result may be used again.
 *
 *     if (x == last) return result;           if (x != last) {
 *     last = x;                                   last = x;
 *     return result = f(x);                       result = f(x);
 *                                             }
 *
 * What was computed then has the derivatives of then: if two inputs have the
 * same value, the result would depend on the first of them only. Such a test is
 * told by two things: one number is copied to the other, and what is asked is
 * whether they are equal. equal.c looks at each `==` and `!=`, too; here are also
 * other ways to ask: orders, differences, functions, whole numbers.
 * `if (x > most) most = x;` asks for an order. A loop that ends when nothing
 * changes (`if (x == old) break; old = x;`) goes on with the numbers of the
 * present turn.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"

// What a condition asks of two numbers; of several questions all bits.
enum {
    UP = 1, DOWN = 2,           // an order
    NEAR = 4,                   // of their difference, say
    EQUAL = 8
};

enum { MOST_DEPTH = 4 };

// Two things that are compared, as they are written: `kept` is that which a
// copy is kept in.
typedef struct pair {
    const node *fresh, *kept;
    const node *in;             // the body that they are named in
} pair;

/* --- names ---------------------------------------------------------------- */

// Also of another element of the same memory, if that is not a local variable.
static bool stands_for(const node *n, const node *what, bool any_element)
{
    if (what->kind == ParmVarDecl)
        return n->kind == DeclRefExpr && n->ref == what->id;
    if (n->kind != what->kind)
        return false;
    return same_code(n, what)
        || (any_element && n->kind != DeclRefExpr && is_number(n)
            && n->ty != NULL && n->ty->kind == T_NUM && what->ty != NULL
            && what->ty->kind == T_NUM
            && num_root(n->ty->num) == num_root(what->ty->num));
}

// An element of `kept` may have another index than where it is stored; not if
// `fresh` lies in the same memory.
static bool apart(const pair *p)
{
    const ty *a = p->fresh->ty, *b = p->kept->ty;
    return a != NULL && b != NULL && a->kind == T_NUM && b->kind == T_NUM
        && num_root(a->num) != num_root(b->num);
}

// A local variable stands for what it is made of.
static bool names_it(const node *n, const pair *p, bool kept, int depth)
{
    const node *d = depth > 0 ? local_variable(n) : NULL;
    if (stands_for(n, kept ? p->kept : p->fresh, kept && apart(p)))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (names_it(n->kid[i], p, kept, depth))
            return true;
    for (size_t i = 0; given(p->in, d, i) != NULL; i++)
        if (names_it(given(p->in, d, i), p, kept, depth - 1))
            return true;
    return false;
}

static bool names_both(const node *n, const pair *p, int depth)
{
    return names_it(n, p, false, depth) && names_it(n, p, true, depth);
}

// The number itself, and not what is computed from it.
static bool directly(node *n, const pair *p, bool kept)
{
    n = base_node(n);
    if (stands_for(n, kept ? p->kept : p->fresh, kept && apart(p)))
        return true;
    if (n->kind == MemberExpr || (n->kind == UnaryOperator && is(n->opcode, "*")))
        return directly(n->kid[0], p, kept);
    const node *d = local_variable(n);
    return d != NULL && d->init && d->kids && directly(d->kid[0], p, kept);
}

/* --- questions ------------------------------------------------------------ */

static unsigned asked(const node *n, const pair *p, int depth);

static bool is_order(text o) { return one_of(o, "< > <= >="); }

static unsigned order(const node *a, const node *b, bool less, const pair *p)
{
    if (directly((node *)a, p, false) && directly((node *)b, p, true))
        return less ? UP : DOWN;
    if (directly((node *)a, p, true) && directly((node *)b, p, false))
        return less ? DOWN : UP;
    return NEAR;
}

// What a function asks of two of its parameters, and says as a whole number. A
// number that it computes of both may be their difference.
static unsigned asked_in(const function *f, const node *call, const pair *p,
                         int depth)
{
    const node *of[2] = { NULL, NULL };
    int at = 0;
    for (int i = 0; i < f->decl->kids; i++) {
        const node *k = f->decl->kid[i];
        if (k->kind != ParmVarDecl || ++at >= call->kids)
            continue;
        for (int kept = 0; kept < 2; kept++)
            if (of[kept] == NULL && names_it(call->kid[at], p, kept, depth))
                of[kept] = k;
    }
    const pair inner = { of[0], of[1], f->body };
    if (of[0] == NULL || of[1] == NULL || of[0] == of[1])
        return is_number(call) ? NEAR : EQUAL;
    return asked(f->body, &inner, depth - 1);
}

static unsigned asked_by_call(const node *call, const pair *p, int depth)
{
    const text name = callee_name(call);
    const function *f = function_called(call);
    if (starts(name, "isless") && !starts(name, "islessgreater"))
        return order(call->kid[1], call->kid[2], true, p);
    if (starts(name, "isgreater"))
        return order(call->kid[1], call->kid[2], false, p);
    if (f != NULL && f->body != NULL && depth > 0)
        return asked_in(f, call, p, depth);
    return is_number(call) ? NEAR : EQUAL;
}

// `hit = x == last;`, where hit is declared before.
static unsigned asked_later(const node *d, const node *n, const pair *p, int depth)
{
    unsigned bits = 0;
    if (n->kind == BinaryOperator && is(n->opcode, "=")
        && local_variable(base_node(n->kid[0])) == d
        && names_both(n->kid[1], p, depth))
        return asked(n->kid[1], p, depth);
    for (int i = 0; i < n->kids; i++)
        bits |= asked_later(d, n->kid[i], p, depth);
    return bits;
}

static bool is_product(const node *n)
{
    if (n->kind == ArraySubscriptExpr || n->kind == MemberExpr)
        return true;
    if (n->kind == BinaryOperator ? !is(n->opcode, "*")
        : n->kind == CallExpr ? !is(callee_name(n), "fabs")
        : n->kind != ParenExpr && n->kind != ImplicitCastExpr
          && n->kind != DeclRefExpr && n->kind != FloatingLiteral)
        return false;
    for (int i = 0; i < n->kids; i++)
        if (!is_product(n->kid[i]))
            return false;
    return true;
}

// All that is stored in a variable.
static bool stores_products(const node *d, const node *n)
{
    if (n == d && d->init)
        return is_product(d->kid[0]);
    if (is_store(n) && local_variable(base_node(n->kid[0])) == d
        && (!one_of(n->opcode, "= *=") || !is_product(n->kid[n->kids - 1])))
        return false;
    for (int i = 0; i < n->kids; i++)
        if (!stores_products(d, n->kid[i]))
            return false;
    return true;
}

// `h = eps * fabs(x); if (h == 0) h = eps;` asks for a factor that is zero, and not
// whether h and eps are equal.
static bool asks_for_zero(const node *n, const pair *p)
{
    const node *d = local_variable(base_node(n->kid[0]));
    return d != NULL && is_zero(n->kid[1]) && stores_products(d, p->in);
}

// Of the smallest expressions that name both.
static unsigned asked(const node *n, const pair *p, int depth)
{
    unsigned bits = 0;
    for (int i = 0; i < n->kids; i++)
        if (names_both(n->kid[i], p, depth))
            bits |= asked(n->kid[i], p, depth);
    const bool compares = n->kind == BinaryOperator && one_of(n->opcode, "== !=");
    if (n->asks_tie || (compares && asks_for_zero(n, p)))
        return 0;
    if (compares && (bits & NEAR))
        return EQUAL;
    const node *d = local_variable(n);
    if (d != NULL && d->init && d->kids && depth > 0
        && names_both(d->kid[0], p, depth - 1))
        bits |= asked(d->kid[0], p, depth - 1);
    if (d != NULL && depth > 0 && !is_number(n))
        bits |= asked_later(d, p->in, p, depth - 1);
    if (bits)
        return bits;
    if (n->kind == BinaryOperator && is_order(n->opcode)
        && names_both(n, p, depth))
        return order(n->kid[0], n->kid[1], n->opcode.at[0] == '<', p);
    if (n->kind == BinaryOperator && one_of(n->opcode, "&& || , ="))
        return 0;
    if (!names_both(n, p, depth))
        return 0;
    if (n->kind == CallExpr)
        return asked_by_call(n, p, depth);
    return compares ? EQUAL : n->kind == BinaryOperator ? NEAR : 0;
}

static unsigned what_is_asked(const node *condition, const pair *p)
{
    unsigned bits = asked(condition, p, MOST_DEPTH);
    return (bits & (UP | DOWN)) == (UP | DOWN) ? bits | EQUAL : bits;
}

/* --- what depends on the answer ------------------------------------------- */

// A number that is neither of the two.
static bool reads_another(const node *n, const pair *p)
{
    if (n->kind == ImplicitCastExpr && is(n->cast, "LValueToRValue")
        && is_number(n) && n->ty != NULL && n->ty->kind == T_NUM
        && num_root(n->ty->num)->varied && !directly((node *)n, p, false)
        && !directly((node *)n, p, true))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (reads_another(n->kid[i], p))
            return true;
    return false;
}

// It leaves, and with nothing that was computed before.
static bool only_leaves(const node *branch, const pair *p)
{
    const node *last = last_statement(branch);
    return last->kind == BreakStmt || last->kind == GotoStmt
        ? branch == last || branch->kids == 1
        : last->kind == ReturnStmt && !reads_another(branch, p);
}

static bool any_leaves(const node *choice, const pair *p)
{
    for (int i = 1; i < choice->kids; i++)
        if (only_leaves(choice->kid[i], p))
            return true;
    return false;
}

static bool continues(const node *choice)
{
    for (int i = 1; i < choice->kids; i++)
        if (last_statement(choice->kid[i])->kind == ContinueStmt)
            return true;
    return false;
}

typedef enum where { IN_LOCAL, IN_MEMORY, IN_STATIC } where;

static where place_of(node *n)
{
    bool memory = false;
    while (n->kind == ArraySubscriptExpr || n->kind == MemberExpr
           || n->kind == UnaryOperator) {
        memory |= n->kind == UnaryOperator || (n->kind == MemberExpr && n->arrow);
        n = n->kid[0];
        memory |= n->kind == ImplicitCastExpr && is(n->cast, "LValueToRValue");
        n = base_node(n);
    }
    const node *d = n->kind == DeclRefExpr ? node_by_id(n->ref) : NULL;
    if (d != NULL && d->kind == VarDecl
        && (d->parent == tree || is(d->storage, "static")
            || is(d->storage, "extern")))
        return IN_STATIC;
    return memory ? IN_MEMORY : IN_LOCAL;
}

// One of the two gets another value than the other's.
static bool goes_on(const node *n, const node *store, const pair *p)
{
    if (n != store && is_store(n)
        && (directly(n->kid[0], p, false) || directly(n->kid[0], p, true)))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (goes_on(n->kid[i], store, p))
            return true;
    return false;
}

// A loop that looks for a number or keeps one, and no iteration: there one of the
// two is computed anew.
static bool loop_uses_again(const node *loop, const node *store, const pair *p)
{
    return (what_is_asked(condition_of(loop), p) & EQUAL)
        && !goes_on(loop, store, p);
}

// What the function was given, and does not change.
static bool is_given(const node *store, const pair *p)
{
    const node *d = p->fresh->kind == DeclRefExpr ? node_by_id(p->fresh->ref)
        : NULL;
    return d != NULL && d->kind == ParmVarDecl && !goes_on(p->in, store, p);
}

static bool returns_another(const node *n, const pair *p)
{
    if (n->kind == ReturnStmt)
        return reads_another(n, p);
    for (int i = 0; i < n->kids; i++)
        if (returns_another(n->kid[i], p))
            return true;
    return false;
}

// `if (fabs(x - m->at) < eps) return m->value; m->at = x;`
static bool returns_near(const node *choice, const node *store, const pair *p)
{
    for (int i = 1; i < choice->kids; i++)
        if (returns_another(choice->kid[i], p))
            return is_given(store, p);
    return false;
}

// Of the two it asks how far they are from each other: fabs(x - last) > eps.
static bool asks_distance(const node *n, const pair *p)
{
    if (n->kind == CallExpr && is_number(n) && call_library(n).name != NULL
        && is(text_of(call_library(n).name), "abs")
        && names_both(n, p, MOST_DEPTH))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (asks_distance(n->kid[i], p))
            return true;
    return false;
}

// A result for all numbers that are near the kept one; no iteration, in which one
// of the two is computed anew.
static bool keeps_near(const node *choice, const node *store, const pair *p,
                       bool within)
{
    return (within || continues(choice)) && asks_distance(choice->kid[0], p)
        && !goes_on(p->in, store, p);
}

// `store` is where fresh is copied to kept.
static bool uses_again(const node *choice, const node *store, const pair *p)
{
    const unsigned what = what_is_asked(choice->kid[0], p);
    const where kept_in = place_of((node *)p->kept);
    const bool within = is_under(store, choice);
    if (kept_in == IN_STATIC)
        return what & (NEAR | EQUAL);
    if (!(what & EQUAL))
        return (what & NEAR)
            && (keeps_near(choice, store, p, within)
                || (kept_in == IN_MEMORY && !within
                    && returns_near(choice, store, p)));
    if (kept_in == IN_MEMORY)
        return within || !any_leaves(choice, p);
    return within ? !any_leaves(choice, p) : continues(choice);
}

/* --- copies --------------------------------------------------------------- */

typedef struct copy {
    const node *at;
    pair of;
    struct copy *next;
} copy;

// Of a pointer, what it leads to is copied by memcpy only.
static bool has_varied(const node *n, bool behind)
{
    return n->ty != NULL && (behind || n->ty->kind != T_PTR)
        && holds_varied(n->ty);
}

static node *without_address(node *n)
{
    n = base_node(n);
    return n->kind == UnaryOperator && is(n->opcode, "&") ? base_node(n->kid[0])
         : n;
}

static bool is_place(const node *n)
{
    return n->kind == DeclRefExpr || n->kind == MemberExpr
        || n->kind == ArraySubscriptExpr
        || (n->kind == UnaryOperator && is(n->opcode, "*"));
}

static copy *copies_in(node *n, const node *body, copy *list)
{
    node *to = NULL, *from = NULL;
    if (n->kind == BinaryOperator && is(n->opcode, "=")) {
        to = base_node(n->kid[0]);
        for (from = base_node(n->kid[1]); from->kind == BinaryOperator
             && is(from->opcode, "=");)
            from = base_node(from->kid[1]);
    } else if (n->kind == CallExpr && n->kids > 2
               && call_library(n).kind == L_COPY) {
        to = without_address(n->kid[1]);
        from = without_address(n->kid[2]);
    }
    if (to != NULL && is_place(to) && is_place(from) && !same_code(to, from)
        && has_varied(from, n->kind == CallExpr)) {
        copy *c = take(sizeof *c);
        *c = (copy){ n, { from, to, body }, list };
        list = c;
    }
    for (int i = 0; i < n->kids; i++)
        list = copies_in(n->kid[i], body, list);
    return list;
}

static void refuse_use(const node *at)
{
    refuse(at, "compute it again", "a number is compared with one that "
           "is kept from before: what was computed then has the derivatives of "
           "then");
}

static bool depends_again(const node *n, const copy *c)
{
    switch (n->kind) {
    case IfStmt:
    case ConditionalOperator:
    case SwitchStmt:
        return uses_again(n, c->at, &c->of);
    case WhileStmt:
    case DoStmt:
    case ForStmt:
        return loop_uses_again(n, c->at, &c->of);
    case BinaryOperator:        // hit || (last = x, value = f(x))
        return one_of(n->opcode, "&& ||") && is_under(c->at, n->kid[1])
            && uses_again(n, c->at, &c->of);
    default:
        return false;
    }
}

static void look_at_choices(node *n, const copy *copies)
{
    for (const copy *c = copies; c != NULL; c = c->next)
        if (depends_again(n, c))
            refuse_use(condition_of(n));
    for (int i = 0; i < n->kids; i++)
        look_at_choices(n->kid[i], copies);
}

/* --- all of it ------------------------------------------------------------ */

void caches_check(void)
{
    for (function *f = functions; f != NULL; f = f->next)
        if (f->reached && f->body != NULL)
            look_at_choices(f->body, copies_in(f->body, f->body, NULL));
}
