/* later.c - what can only be decided when it is known which numbers are active.
 *
 * Calls of functions that are not seen, casts of pointers, sizes of memory and
 * data that outlive a call are put off while flow.c goes through the functions,
 * and checked in the end.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>
#include <string.h>

typedef struct later {
    later_kind kind;
    node *at;
    ty *type;
    function *in;
    const char *why, *proposal;
} later;

static later *laters;
static size_t later_room, later_count;

void put_off(later_kind what, node *at, ty *type, const char *why,
                    const char *proposal)
{
    laters = grow(laters, &later_room, later_count + 1, sizeof *laters);
    laters[later_count++] = (later){ what, at, type, flow_in, why, proposal };
}


/* --- what was put off ----------------------------------------------------- */

static void or_active(ty *t, void *any) { *(bool *)any |= active(t); }
static void or_varied(ty *t, void *any) { *(bool *)any |= num_root(t->num)->varied; }

static bool holds(ty *t, void (*f)(ty *, void *))
{
    bool any = false;
    each_number(t, f, &any);
    return any;
}

static node *sizeof_in(node *n)
{
    if (n->kind == UnaryExprOrTypeTraitExpr)
        return n;
    for (int i = 0; i < n->kids; i++) {
        node *s = sizeof_in(n->kid[i]);
        if (s != NULL)
            return s;
    }
    return NULL;
}

static bool zero_literal(node *n)
{
    n = base_node(n);
    return n->kind == IntegerLiteral && is(n->value, "0");
}

// The plain type in `sizeof (double)` is that of the memory.
static void sizes_named(node *n, ty *of)
{
    if (n->kind == UnaryExprOrTypeTraitExpr && n->arg_type.n) {
        ty *t = ty_of(n->arg_type, n), *base = ty_base(t);
        ty *number = of;
        while (number->kind == T_PTR || number->kind == T_ARR)
            number = number->to;
        while (base->kind == T_PTR || base->kind == T_ARR)
            base = base->to;
        n->arg = t;
        if (base->kind == T_NUM && number->kind == T_NUM)
            base->num = number->num;
    }
    for (int i = 0; i < n->kids; i++)
        sizes_named(n->kid[i], of);
}

static void sizes_known(node *n)
{
    if (n->kind == UnaryExprOrTypeTraitExpr)
        n->sized = 1;
    for (int i = 0; i < n->kids; i++)
        sizes_known(n->kid[i]);
}

static ty *size_type(node *n)
{
    if (n->arg_type.n == 0)
        return n->kids ? n->kid[0]->ty : NULL;
    if (n->arg == NULL)
        n->arg = ty_of(n->arg_type, n);
    return n->arg;
}

// The division by a size that n is in: of a size, a number of rows divided by
// whole numbers before.
static node *quotient(node *n)
{
    node *p = n->parent;
    for (;; n = p, p = p->parent) {
        if (p->kind == ParenExpr || p->kind == ImplicitCastExpr)
            continue;
        if (p->kind != BinaryOperator || !is(p->opcode, "/"))
            return NULL;
        if (n == p->kid[1]
            || base_node(p->kid[1])->kind == UnaryExprOrTypeTraitExpr)
            return p;
    }
}

// The number of elements: sizeof a / sizeof (double).
static bool quotient_known(node *q)
{
    node *a = base_node(q->kid[0]), *b = base_node(q->kid[1]);
    while (a->kind == BinaryOperator && is(a->opcode, "/"))
        a = base_node(a->kid[0]);       // sizeof a / 5 / sizeof (double)
    if (a->kind != UnaryExprOrTypeTraitExpr
        || b->kind != UnaryExprOrTypeTraitExpr)
        return false;
    ty *t = size_type(a), *u = size_type(b);
    if (t == NULL || u == NULL)
        return false;
    if (ty_changed(t) && b->arg_type.n)
        sizes_named(b, t);
    return ty_changed(t) == ty_changed(size_type(b));
}

// The size of what is recorded is another one: it must not be a mere number.
static void size_check(later *l)
{
    node *q = quotient(l->at);
    ty *t = size_type(l->at);
    if (l->at->sized || l->in == NULL || !l->in->changed || t == NULL)
        return;
    while (t->kind == T_ARR)
        t = t->to;
    if (!ty_changed(t) && !(l->at->arg_type.n && t->kind == T_NUM))
        return;
    if (q == NULL || !quotient_known(q))
        refuse(l->at, "use it in the call of malloc or memcpy itself, or count "
               "elements", "the size of numbers, some of which are recorded");
}

static void memory_check(later *l)
{
    const library lib = call_library(l->at);
    ty *of = l->type;
    bool sized = false;

    while (of->kind == T_VOID && of->bound != NULL)
        of = of->bound;
    for (int i = 1; i < l->at->kids; i++)
        sizes_known(l->at->kid[i]);
    if (!ty_changed(of))
        return;
    for (int i = 1; i < l->at->kids; i++) {
        sized |= sizeof_in(l->at->kid[i]) != NULL;
        sizes_named(l->at->kid[i], of);
    }
    if (lib.kind == L_SET && !zero_literal(l->at->kid[2]))
        refuse(l->at, "set the numbers in a loop",
               "recorded numbers are filled with bytes (aliasing)");
    if (!sized)
        refuse(l->at, "write the size with sizeof, in the call itself",
               "memory for recorded numbers has a size in bytes");
}

static const char *stub_proposal(text name)
{
    buffer b = { 0 };
    putf(&b, "give its source too, or write a derivative for it: --stubs FILE "
         "writes a stub %.*s%s", (int)name.n, name.at, opt.suffix);
    return b.at;
}

static void unseen_check(later *l)
{
    const text name = callee_name(l->at);
    if (!holds(l->type, or_varied))
        return;
    if (l->why != NULL) {
        refuse(l->at, l->proposal, "%s: no derivative comes through it",
               l->why);
        return;
    }
    const function *f = function_called(l->at);
    if (f != NULL)
        f = f->body ? NULL : f;
    if (f != NULL) {
        ((function *)f)->stub = true;
        refuse(l->at, stub_proposal(name), "the source of %.*s is not seen",
               (int)name.n, name.at);
    } else {
        refuse(l->at, "pass these numbers as parameters",
               "recorded numbers where their type is not known");
    }
}

static node *first_name(node *n, const node *d)
{
    if (n->kind == DeclRefExpr && n->decl == d)
        return n;
    for (int i = 0; i < n->kids; i++) {
        node *found = first_name(n->kid[i], d);
        if (found != NULL)
            return found;
    }
    return NULL;
}

// Numbers that are kept from call to call are of an earlier recording then.
static void kept_check(later *l)
{
    node *n = l->in ? first_name(l->in->body, l->at) : NULL;
    if (n == NULL || !ty_changed(l->at->ty) || l->at->ty->kind == T_PTR)
        return;
    const node *p = n->parent;
    while (p->kind == ArraySubscriptExpr || p->kind == MemberExpr
           || (p->kind == ImplicitCastExpr && !is(p->cast, "LValueToRValue")))
        p = p->parent;
    if (p->kind == ImplicitCastExpr)
        refuse(n, "make it a parameter", "recorded numbers that are kept from "
               "one call to the next");
    else
        note(l->at, "static data keeps numbers of the last recording");
}

// A parameter of a function whose calls are all seen, and which gets no
// function: it is NULL.
static bool only_null(const later *l)
{
    const node *n = base_node(l->at->kid[0]);
    if (n->kind == UnaryOperator && is(n->opcode, "*"))
        n = base_node(n->kid[0]);
    return n->kind == DeclRefExpr && n->decl != NULL
        && n->decl->kind == ParmVarDecl && !ty_root(l->type)->open
        && l->in != NULL && !l->in->entry && !origin_of(l->in)->addressed;
}

// A function that gives memory must not look into it.
static void wrapped_check(later *l)
{
    const function *f = function_called(l->at);
    const ty *t = f->type->to->to;
    const ty *of = l->type;
    while (of->kind == T_VOID && of->bound != NULL)
        of = of->bound;
    while (t->kind == T_VOID && t->bound != NULL)
        t = t->bound;
    if (ty_changed(of) && t->kind != T_VOID)
        refuse(l->at, "call malloc here", "memory for recorded numbers by a "
               "function that looks into it");
}

void laters_check(void)
{
    for (size_t i = 0; i < later_count; i++)
        if (laters[i].kind == MEMORY)
            memory_check(&laters[i]);
    for (size_t i = 0; i < later_count; i++) {
        later *l = &laters[i];
        if (l->kind == PRINTED) {
            if (flow_reads && holds(l->type, or_varied))
                refuse(l->at, l->proposal, "%s: numbers are written, and numbers "
                       "are read, perhaps the same ones", l->why);
        } else if (l->kind == ODD_HERE) {
            if (holds(l->type, or_varied))
                refuse(l->at, l->proposal, "%s", l->why);
        } else if (l->kind == WRAPPED)
            wrapped_check(l);
        else if (l->kind == KEPT)
            kept_check(l);
        else if (l->kind == SIZE)
            size_check(l);
        else if (l->kind == UNSEEN)
            unseen_check(l);
        else if ((l->kind == BYTES || l->kind == SORTED)
                 && holds(l->type, l->kind == BYTES ? or_varied : or_active))
            refuse(l->at, l->proposal, "%s", l->why);
        else if (l->kind == POINTER && !ty_root(l->type)->known
                 && !ty_root(l->type)->open && !only_null(l)
                 && (ty_changed(l->type) || l->in->changed))
            refuse(l->at, l->proposal, "%s", l->why);
        else if (l->kind == ODD && l->in != NULL
                 && (l->in->changed
                     || (l->type != NULL && holds(l->type, or_varied))))
            refuse(l->at, l->proposal, "%s", l->why);
    }
}

/* --- global data ---------------------------------------------------------- */

// Whether data that n names, or an address that it is, may be written from
// there: by an assignment, or because the address goes where it is not followed.
static bool may_write(const node *n, int depth);

static bool holds_pointer(const node *n)
{
    const text t = n->desugared.n ? n->desugared : n->type;
    return find(t, "*") < t.n;
}

static node *parameter_of(const function *f, int at)
{
    for (int i = 0; i < f->decl->kids; i++)
        if (f->decl->kid[i]->kind == ParmVarDecl && at-- == 0)
            return f->decl->kid[i];
    return NULL;
}

static bool any_write(const node *n, const node *d, int depth)
{
    if (n->kind == DeclRefExpr && n->ref == d->id && may_write(n, depth))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (any_write(n->kid[i], d, depth))
            return true;
    return false;
}

static bool call_writes(const node *call, const node *argument, int depth)
{
    const function *f = function_called(call);
    int at = 0;
    while (call->kid[at] != argument)
        at++;
    if (at == 0)
        return false;
    if (f == NULL || depth > 6)
        return true;
    const node *p = parameter_of(f, at - 1);
    if (f->body != NULL && p != NULL)
        return any_write(f->body, p, depth + 1);
    return p == NULL || !starts(p->type, "const ");
}

static node *function_around(const node *n)
{
    while (n != NULL && n->kind != FunctionDecl)
        n = n->parent;
    return (node *)n;
}

static const node *local_named(const node *n)
{
    n = base_node((node *)n);
    const node *d = n->kind == DeclRefExpr ? node_by_id(n->ref) : NULL;
    return d != NULL && (d->kind == ParmVarDecl
                         || (d->kind == VarDecl && d->parent != tree
                             && d->storage.n == 0)) ? d : NULL;
}

// An address that becomes the value of a variable: what is written through that.
static bool copy_writes(const node *variable, const node *at, int depth)
{
    const node *f = function_around(at);
    return variable == NULL || f == NULL || depth > 6
        || any_write(f, variable, depth + 1);
}

static bool may_write(const node *n, int depth)
{
    const bool local = local_named(n) != NULL && holds_pointer(n);
    for (const node *p = n->parent; ; n = p, p = p->parent) {
        const text o = p->opcode;
        if (p->kind == ImplicitCastExpr && is(p->cast, "LValueToRValue")
            && !holds_pointer(p))
            return false;               // a value is read
        if (p->kind == ImplicitCastExpr || p->kind == CStyleCastExpr
            || p->kind == ParenExpr || p->kind == MemberExpr
            || (p->kind == ArraySubscriptExpr && n == p->kid[0]))
            continue;
        if (p->kind == UnaryExprOrTypeTraitExpr)
            return false;
        if (p->kind == UnaryOperator && is(o, "!"))
            return false;
        if (p->kind == UnaryOperator && (is(o, "*") || is(o, "&")))
            continue;
        if (p->kind == UnaryOperator && holds_pointer(p)
            && (is(o, "++") || is(o, "--")) && n->kind == DeclRefExpr && local)
            continue;
        if (p->kind == CompoundAssignOperator && n == p->kid[0]
            && n->kind == DeclRefExpr && local)
            return false;
        if (p->kind == CompoundStmt || p->kind == ForStmt)
            return false;               // a value that is not used
        if (p->kind == BinaryOperator && is(o, "=") && n == p->kid[0]
            && n->kind == DeclRefExpr && local)
            return false;
        if (p->kind == BinaryOperator && is(o, "=") && n == p->kid[1]
            && holds_pointer(p))
            return copy_writes(local_named(p->kid[0]), p, depth);
        if (p->kind == VarDecl && holds_pointer(p) && p->parent != tree
            && p->storage.n == 0)
            return copy_writes(p, p, depth);
        if (p->kind == BinaryOperator && (is(o, "+") || is(o, "-"))
            && holds_pointer(p))
            continue;
        if (p->kind == BinaryOperator && !is(o, "=") && !is(o, ","))
            return false;
        if (p->kind == CallExpr)
            return call_writes(p, n, depth);
        return true;
    }
}

static void mark_writes(node *n)
{
    node *d = n->kind == DeclRefExpr && is(n->ref_kind, "VarDecl")
        ? declared(n) : NULL;
    if (d != NULL && d->parent == tree && !d->outer_write && may_write(n, 0))
        d->outer_write = 1;
    for (int i = 0; i < n->kids; i++)
        mark_writes(n->kid[i]);
}

static void global_check(node *d)
{
    const bool local = is(d->storage, "static");
    const bool constant = starts(d->type, "const ")
        || find(d->type, " const") < d->type.n;

    if (!local && ty_changed(d->ty))
        refuse(d, "make it static, or a parameter",
               "recorded numbers in global data that other files see");
    if (!local && ty_changed(d->ty) && d->use != NULL)
        refuse(d->use, "make it static, or a parameter",
               "recorded numbers in global data that other files see: %.*s",
               (int)d->name.n, d->name.at);
    else if (!constant && d->outer_write && (local || ty_changed(d->ty)))
        refuse(d->use ? d->use : d, "convert that function, too: --function",
               "global data that a function writes which is not converted: "
               "%.*s", (int)d->name.n, d->name.at);
}

void globals_check(void)
{
    for (function *f = functions; f != NULL; f = f->next)
        if (f->body != NULL && !f->reached)
            mark_writes(f->body);
    for (int i = 0; i < tree->kids; i++)
        if (tree->kid[i]->kind == VarDecl && tree->kid[i]->visited)
            global_check(tree->kid[i]);
}
