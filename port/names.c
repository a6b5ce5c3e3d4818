/* names.c - declarations by their names: functions, and data at file scope.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>
#include <string.h>

function *functions;
static function **function_end = &functions;

// File-scope declarations by name: the one that defines comes first.
typedef struct name_entry {
    text name;
    node *decl;
    function *function;
} name_entry;

static name_entry *names;
static size_t name_room, name_count;

static name_entry *name_find(text name)
{
    unsigned h = 5381;
    for (size_t i = 0; i < name.n; i++)
        h = h * 33 ^ (unsigned char)name.at[i];
    size_t i = h & (name_room - 1);
    while (names[i].name.at != NULL && !same(names[i].name, name))
        i = (i + 1) & (name_room - 1);
    return &names[i];
}

node *body_of(node *decl)
{
    for (int i = 0; i < decl->kids; i++)
        if (decl->kid[i]->kind == CompoundStmt)
            return decl->kid[i];
    return NULL;
}

void function_add(function *f)
{
    *function_end = f;
    function_end = &f->next;
}

static void note_function(node *decl)
{
    name_entry *e = name_find(decl->name);
    if (e->name.at == NULL) {
        e->name = decl->name;
        name_count++;
    }
    if (e->function == NULL) {
        e->function = take(sizeof *e->function);
        e->function->name = decl->name;
        e->function->decl = decl;
        function_add(e->function);
    }
    decl->function = e->function;
    if (body_of(decl) != NULL) {
        e->function->decl = decl;
        e->function->body = body_of(decl);
    }
}

static void note_variable(node *decl)
{
    name_entry *e = name_find(decl->name);
    e->name = decl->name;
    if (e->decl == NULL || is(e->decl->storage, "extern") || decl->init)
        e->decl = decl;
}

static void note_title(node *n, node *in)
{
    node *r = in->ref ? node_by_id(in->ref) : NULL;
    if (r != NULL && r->kind == RecordDecl && r->complete && r->name.n == 0
        && in->parent->parent == n)
        record_entitle(r, n->name);
    for (int i = 0; i < in->kids; i++)
        note_title(n, in->kid[i]);
}

static void note_inner(node *n)
{
    if (n->kind == RecordDecl)
        record_of(n);
    if (n->kind == TypedefDecl) {
        typedef_note(n);
        note_title(n, n);
    }
    for (int i = 0; i < n->kids; i++)
        note_inner(n->kid[i]);
}

void flow_read(void)
{
    for (name_room = 64; name_room < 4u * (size_t)tree->kids;)
        name_room *= 2;
    names = take(name_room * sizeof *names);
    for (int i = 0; i < tree->kids; i++) {
        node *n = tree->kid[i];
        if (n->kind == FunctionDecl)
            note_function(n);
        else if (n->kind == VarDecl)
            note_variable(n);
        note_inner(n);
    }
    records_link();
}

node *variable_named(text name) { return name_find(name)->decl; }
static bool local_in(const node *n, text name)
{
    if ((n->kind == VarDecl || n->kind == ParmVarDecl) && same(n->name, name))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (local_in(n->kid[i], name))
            return true;
    return false;
}

// Data at file scope, unless the function around `at` has a local of that name.
node *outer_variable(const node *at, text name)
{
    node *d = word_char(name.at[0]) ? variable_named(name) : NULL;
    while (d != NULL && at != NULL && at->kind != FunctionDecl)
        at = at->parent;
    return d != NULL && at != NULL && local_in(at, name) ? NULL : d;
}

function *function_named(text name) { return name_find(name)->function; }

function *function_of(node *decl)
{
    if (decl->function == NULL && decl->kind == FunctionDecl)
        decl->function = function_named(decl->name);
    if (decl->function == NULL)
        note_function(decl);
    return decl->function;
}

// The declaration that stands for all of a name.
node *declared(node *n)
{
    node *d = n->decl ? n->decl : node_by_id(n->ref);
    if (d != NULL && d->kind == VarDecl && d->parent == tree)
        d = name_find(d->name)->decl;
    if (n->kind == DeclRefExpr && is(n->ref_kind, "FunctionDecl")
        && function_named(n->ref_name) != NULL)
        d = function_named(n->ref_name)->decl;
    return n->decl = d;
}

node *base_node(node *n)
{
    while (n->kids > 0 && (n->kind == ParenExpr || n->kind == ImplicitCastExpr
                           || n->kind == CStyleCastExpr
                           || n->kind == ConstantExpr))
        n = n->kid[0];
    return n;
}

text callee_name(const node *call)
{
    const node *f = base_node(call->kid[0]);
    const bool named = f->kind == DeclRefExpr && is(f->ref_kind, "FunctionDecl");
    return named ? f->ref_name : (text){ "", 0 };
}

library call_library(const node *call)
{
    const text name = callee_name(call);
    const function *f = name.n ? function_named(name) : NULL;
    if (f != NULL && f->body != NULL && !starts(name, "__tg_"))
        return (library){ .kind = L_NONE };
    return library_named(name);
}

bool is_number(const node *n) { return n->ty != NULL && n->ty->kind == T_NUM; }

