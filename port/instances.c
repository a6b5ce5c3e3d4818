/* instances.c - functions that are looked at anew for each call; which ones run once.
 *
 * A function that gets addresses of numbers is copied for each call, so that
 * data in one call do not become recorded because of another call. What turns
 * out to be the same is merged in the end.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>
#include <string.h>

// Of a function that two files define, a file means its own; on the command line
// that of the first file is meant.
static bool is_meant(const function *f, int unit)
{
    return f->also == NULL || f->decl->unit == (unit < 0 ? 0 : unit);
}

void reach(function *f, int unit)
{
    if (f->type == NULL) {
        int n = 0;
        f->type = ty_of(f->decl->type, f->decl);
        for (int i = 0; i < f->decl->kids; i++) {
            node *p = f->decl->kid[i];
            if (p->kind == ParmVarDecl && n < f->type->pars)
                p->ty = f->type->par[n++];
        }
    }
    if (f->body != NULL && !is_meant(f, unit))
        refuse(f->also, "give one of the two files", "%.*s is defined in %s, too",
               (int)f->name.n, f->name.at, file_at(span_of(f->decl).file)->path);
    if (f->body != NULL)
        f->reached = true;
}

enum { MOST_INSTANCES = 400, MOST_COPIED = 400000 };

static int instance_count;
static long copied_nodes;

static bool leads_to_number(const ty *t)
{
    if (t->kind != T_PTR && t->kind != T_ARR)
        return false;
    while (t->kind == T_PTR || t->kind == T_ARR)
        t = t->to;
    return t->kind == T_NUM;
}

static bool has_static(const node *n)
{
    if (n->kind == VarDecl && is(n->storage, "static")
        && find(n->type, "const") == n->type.n)
        return true;
    for (int i = 0; i < n->kids; i++)
        if (has_static(n->kid[i]))
            return true;
    return false;
}

static long size_of(const node *n)
{
    long size = 1;
    for (int i = 0; i < n->kids; i++)
        size += size_of(n->kid[i]);
    return size;
}

static bool instantiable(const function *f)
{
    bool any = false;
    for (int i = 0; i < f->type->pars; i++)
        any |= leads_to_number(f->type->par[i]);
    return any && !f->entry && !f->addressed && !has_static(f->body)
        && instance_count < MOST_INSTANCES;
}

function *instance_of(function *f)
{
    for (function *g = flow_in; g != NULL; g = g->caller)
        if (origin_of(g) == f)
            return g;               // recursion
    if (!f->called) {
        f->called = true;
        f->caller = flow_in;
        return f;
    }
    if (!instantiable(f) || (copied_nodes += size_of(f->decl)) > MOST_COPIED)
        return f;
    function *g = take(sizeof *g);
    instance_count++;
    g->name = f->name;
    g->decl = tree_copy(f->decl);
    g->decl->function = g;
    g->body = body_of(g->decl);
    g->origin = f;
    g->caller = flow_in;
    g->number = ++f->instances + 1;
    function_add(g);
    reach(g, f->decl->unit);
    return g;
}

// The call is one of this instance.
void call_instance(node *callee, function *f)
{
    node *n = callee;
    while (n->kind != DeclRefExpr) {
        n->ty = f->type;
        n = n->kind == GenericSelectionExpr ? selected_node(n) : n->kid[0];
    }
    n->ty = f->type;
    n->decl = f->decl;
}

static bool same_activity(const node *a, const node *b)
{
    if (active(a->ty) != active(b->ty) || ty_changed(a->ty) != ty_changed(b->ty)
        || a->kids != b->kids)
        return false;
    if (a->kind == DeclRefExpr && a->decl != b->decl && a->decl && b->decl
        && a->decl->function && b->decl->function
        && function_written(a->decl->function)
           != function_written(b->decl->function))
        return false;
    for (int i = 0; i < a->kids; i++)
        if (!same_activity(a->kid[i], b->kid[i]))
            return false;
    return true;
}

function *function_written(function *f)
{
    while (f->merged != NULL)
        f = f->merged;
    return f;
}

/* --- what runs once --------------------------------------------------------
 * A value comes back to where it was only by what runs several times: loops, labels
 * that a goto may lead back to, functions that call themselves or are called there,
 * or by a pointer.                                                           */

void call_note(function *f)
{
    f->calls = grow(f->calls, &f->call_room, f->call_count + 1, sizeof *f->calls);
    f->calls[f->call_count++] = edges_in;
}

static bool runs_once(const function *f)
{
    for (size_t i = 0; i < f->call_count; i++)
        if (f->calls[i] == NULL || !f->calls[i]->once)
            return false;
    return !f->addressed;
}

void once_find(void)
{
    for (bool more = true; more;) {
        more = false;
        for (function *f = functions; f != NULL; f = f->next)
            if (!f->once && runs_once(f))
                f->once = more = true;
    }
}

bool has_label(const node *n)
{
    bool any = n->kind == LabelStmt;
    for (int i = 0; i < n->kids && !any; i++)
        any = has_label(n->kid[i]);
    return any;
}

/* --- in the end ------------------------------------------------------------ */

// Until nothing changes: instances that call merged ones may be the same then.
void merge_instances(void)
{
    for (bool again = true; again;) {
        again = false;
        for (function *g = functions; g != NULL; g = g->next)
            for (function *f = functions; g->origin && !g->merged && f != g;
                 f = f->next)
                if (origin_of(f) == g->origin && !f->merged
                    && same_activity(f->decl, g->decl)) {
                    g->merged = f;
                    again = true;
                }
    }
}
