/* globals.c - data at file scope, which other code may see.
 *
 * Recorded numbers must not be where code that is not converted reads or writes
 * them. And what depends on inputs must not leave by plain data and come back
 * from there: that would be lost in silence.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"

/* --- what is written ------------------------------------------------------ */

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

static node *file_data(node *n)
{
    node *d = n->kind == DeclRefExpr && is(n->ref_kind, "VarDecl")
        ? declared(n) : NULL;
    return d != NULL && (d->parent == tree || is(d->storage, "extern"))
        ? d : NULL;
}

static void find_writes(node *n)
{
    node *d = file_data(n);
    if (d != NULL) {
        n->writes = may_write(n, 0);
        d->changing = d->changing || n->writes;
    }
    for (int i = 0; i < n->kids; i++)
        find_writes(n->kid[i]);
}

// Of all code, before anything is checked.
void writes_find(void)
{
    for (function *f = functions; f != NULL; f = f->next)
        if (f->body != NULL)
            find_writes(f->body);
    for (int i = 0; i < tree->kids; i++)
        if (tree->kid[i]->kind == VarDecl && tree->kid[i]->init)
            find_writes(tree->kid[i]);
}

// A variable of a function, and no pointer.
static bool is_inner_number(const node *d)
{
    return d != NULL && d->kind == VarDecl && d->parent != tree
        && !holds_pointer(d);
}

static void find_changes(const node *n)
{
    node *d = n->kind == DeclRefExpr ? node_by_id(n->ref) : NULL;
    if (is_inner_number(d) && !d->changes)
        d->changes = may_write(n, 0);
    for (int i = 0; i < n->kids; i++)
        find_changes(n->kid[i]);
}

// Of all numbers in a function at once: long ones have many.
bool data_changes(const node *d)
{
    node *f = d->parent == tree ? NULL : function_around(d);
    if (f == NULL)
        return d->changing;
    if (!is_inner_number(d))
        return any_write(f, d, 0);
    if (!f->changes_known)
        find_changes(f);
    f->changes_known = 1;
    return d->changes;
}

// What code that is not converted does.
static void mark_outer(node *n, const function *f)
{
    node *d = file_data(n);
    if (d != NULL) {
        d->outer_use = 1;
        d->outer_write = d->outer_write || n->writes;
        d->writer = d->writer || !n->writes ? d->writer : f;
    }
    for (int i = 0; i < n->kids; i++)
        mark_outer(n->kid[i], f);
}

static void mark_inner(node *n)
{
    node *d = file_data(n);
    if (d != NULL)
        d->inner_write = d->inner_write || n->writes;
    for (int i = 0; i < n->kids; i++)
        mark_inner(n->kid[i]);
}

static bool is_static(const node *d) { return is(d->storage, "static"); }

// Data whose address stands in other data can be had by who sees those.
static void mark_addresses(node *d)
{
    if (d->kind == VarDecl && d->init && (!d->visited || !is_static(d)))
        mark_outer(d, NULL);
}

static void mark_all(void)
{
    for (function *f = functions; f != NULL; f = f->next)
        if (f->body != NULL && f->reached)
            mark_inner(f->body);
        else if (f->body != NULL)
            mark_outer(f->body, f);
    for (int i = 0; i < tree->kids; i++)
        mark_addresses(tree->kid[i]);
}

/* --- checks --------------------------------------------------------------- */

static bool leads_elsewhere(const ty *t, int depth)
{
    if (t->kind == T_PTR)
        return true;
    if (t->kind == T_ARR)
        return leads_elsewhere(t->to, depth);
    for (int i = 0; t->kind == T_REC && depth < 8 && i < t->record->fields; i++)
        if (leads_elsewhere(t->record->field[i], depth + 1))
            return true;
    return false;
}

// Numbers that depend on inputs, and that other code may read.
static void leaving_check(node *d, const node *call)
{
    const node *at = d->use ? d->use : d;
    if ((is_static(d) && !d->outer_use) || !holds_varied(d->ty)
        || (!d->inner_write && !leads_elsewhere(d->ty, 0)))
        return;
    const text name = call ? callee_name(call) : T("");
    if (call != NULL)
        refuse(at, "give the source of that function, too, or pass the numbers as "
               "parameters", "%.*s, whose source is not seen, may use global "
               "data that depend on inputs: %.*s",
               name.n ? (int)name.n : 18, name.n ? name.at : "a function given",
               (int)d->name.n, d->name.at);
    else if (!ty_changed(d->ty))
        note(at, "global data get the value only, without derivatives");
}

static const char *conversion_of(const function *f)
{
    buffer b = { 0 };
    if (f == NULL)
        return "do not keep its address";
    putf(&b, "convert %.*s, too: --function %.*s; or let a function that is not "
         "static use them, and get nothing recorded", (int)f->name.n, f->name.at,
         (int)f->name.n, f->name.at);
    return b.at;
}

// A file that is not read, and has this word.
static const translation *other_user(text name)
{
    for (int u = 0; u < unit_count; u++)
        if (units[u].root == NULL) {
            const text t = file_at(units[u].file)->text;
            for (size_t i = 0; (i = skip_blank(t, i)) < t.n;) {
                const size_t next = skip_token(t, i);
                if (same((text){ t.at + i, next - i }, name))
                    return &units[u];
                i = next;
            }
        }
    return NULL;
}

// Data that only what is read can use: static ones, and with --whole others that
// are defined here.
static bool is_ours(const node *d)
{
    const bool whole = opt.whole && !is_static(d) && ty_changed(d->ty)
        && !(is(d->storage, "extern") && !d->init);
    const translation *other = whole ? other_user(d->name) : NULL;
    if (other != NULL)
        refuse(d->use ? d->use : d, "name that file on the command line", "%s may "
               "use global data that get recorded numbers: %.*s",
               base_name(other->path), (int)d->name.n, d->name.at);
    return is_static(d) || whole;
}

static const char share_proposal[] = "make it static, or a parameter; or, if no "
    "other file uses it, --whole";

static void global_check(node *d)
{
    const bool local = is_ours(d);
    const bool constant = starts(d->type, "const ")
        || find(d->type, " const") < d->type.n;

    if (!is_inside(d->inside))
        return;
    if (!local && ty_changed(d->ty))
        refuse(d, share_proposal,
               "recorded numbers in global data that other files see");
    if (!local && ty_changed(d->ty) && d->use != NULL)
        refuse(d->use, share_proposal,
               "recorded numbers in global data that other files see: %.*s",
               (int)d->name.n, d->name.at);
    else if (!constant && d->outer_write && (local || ty_changed(d->ty)))
        refuse(d->use ? d->use : d, conversion_of(d->writer),
               "global data that a function writes which is not converted: "
               "%.*s", (int)d->name.n, d->name.at);
}

// Data may be declared where they are used.
static void check_inner(const node *n, const node *call)
{
    node *d = n->kind == VarDecl && is(n->storage, "extern")
        ? data_meant((node *)n) : NULL;
    if (d != NULL && d->parent != tree && d->ty != NULL) {
        global_check(d);
        leaving_check(d, call);
    }
    for (int i = 0; i < n->kids; i++)
        check_inner(n->kid[i], call);
}

void globals_check(void)
{
    const node *call = unseen_call();
    mark_all();
    for (int i = 0; i < tree->kids; i++)
        if (tree->kid[i]->kind == VarDecl && tree->kid[i]->visited) {
            global_check(tree->kid[i]);
            leaving_check(tree->kid[i], call);
        }
    for (function *f = functions; f != NULL; f = f->next)
        if (f->body != NULL && f->reached)
            check_inner(f->body, call);
}
