/* names.c - declarations by their names: functions, and data at file scope.
 *
 * A name means something in each unit: what the unit declares static, or what
 * all units mean by it.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>
#include <string.h>

function *functions;
static function **function_end = &functions;

// What a name at file scope stands for. In a unit; or in all of them, of names
// with external linkage.
typedef struct meaning {
    node *data;                 // the declaration that defines comes first
    function *function;
} meaning;

static names meanings;

static meaning *meaning_of(text name, int unit)
{
    meaning *m = name_find(&meanings, name, unit);
    if (m == NULL) {
        m = take(sizeof *m);
        name_set(&meanings, name, unit, m);
    }
    return m;
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

static bool places_equal(const node *a, const node *b)
{
    return a->begin.expanded.file == b->begin.expanded.file
        && a->begin.expanded.at == b->begin.expanded.at;
}

bool is_state(const node *n)
{
    return n->kind == VarDecl && is(n->storage, "static") && !fixed_type(n);
}

// Whether data that change are in a function, or what it names is not the same in
// another unit: each unit has static functions and data of a header of its own.
static bool is_of_unit(const node *n, const node *in, int unit)
{
    bool own = is_state(n);
    if (n->kind == DeclRefExpr && !same(n->ref_name, in->name)) {
        const node *d = node_by_id(n->ref);
        const bool outer = d != NULL && d->parent == in->parent;
        const text name = n->ref_name;
        own = outer && d->kind == VarDecl
            ? variable_named(name, unit) != variable_named(name, in->unit)
            : outer && d->kind == FunctionDecl
              && function_named(name, unit) != function_named(name, in->unit);
    }
    for (int i = 0; i < n->kids && !own; i++)
        own = is_of_unit(n->kid[i], in, unit);
    return own;
}

// A function of a header that an earlier unit has, too.
static function *header_function(const node *decl)
{
    for (int u = 0; u < decl->unit && source_unit(decl->begin.expanded.file) < 0;
         u++) {
        const meaning *m = name_find(&meanings, decl->name, u);
        if (m != NULL && m->function != NULL && m->function->body != NULL
            && places_equal(m->function->decl, decl)
            && same_code(m->function->decl, decl)
            && (!is(decl->storage, "static") || !is_of_unit(decl, decl, u)))
            return m->function;
    }
    return NULL;
}

static function *function_new(node *decl)
{
    function *f = take(sizeof *f);
    f->name = decl->name;
    f->decl = decl;
    function_add(f);
    return f;
}

static function *function_meant(node *decl)
{
    meaning *here = meaning_of(decl->name, decl->unit);
    meaning *all = meaning_of(decl->name, -1);
    function *known = body_of(decl) ? header_function(decl) : NULL;

    if (known != NULL)
        here->function = known;
    if (here->function == NULL && is(decl->storage, "static"))
        here->function = function_new(decl);
    if (here->function == NULL && all->function == NULL)
        all->function = function_new(decl);
    return here->function ? here->function
                          : (here->function = all->function);
}

// Two files define it, perhaps of two programs: each means its own.
static function *function_again(function *f, node *decl)
{
    function *g = function_new(decl);
    g->also = f->decl;
    f->also = decl;
    meaning_of(decl->name, decl->unit)->function = g;
    return g;
}

static void note_function(node *decl)
{
    function *f = function_meant(decl);
    if (body_of(decl) != NULL && f->body != NULL && f->decl != decl
        && !places_equal(f->decl, decl) && !same_code(f->decl, decl))
        f = function_again(f, decl);
    decl->function = f;
    if (body_of(decl) == NULL || f->decl == decl)
        f->body = f->body ? f->body : body_of(f->decl);
    else if (f->body == NULL)
        f->decl = decl, f->body = body_of(decl);
}

static void define(meaning *m, node *decl)
{
    if (m->data == NULL || is(m->data->storage, "extern") || decl->init)
        m->data = decl;
}

// Constant data of a header that an earlier unit has, too, are the same.
static node *header_data(const node *decl)
{
    for (int u = 0; u < decl->unit && source_unit(decl->begin.expanded.file) < 0;
         u++) {
        const meaning *m = name_find(&meanings, decl->name, u);
        if (m != NULL && m->data != NULL && places_equal(m->data, decl)
            && find(decl->type, "const") < decl->type.n
            && same_code(m->data, decl))
            return m->data;
    }
    return NULL;
}

static void note_variable(node *decl)
{
    meaning *here = meaning_of(decl->name, decl->unit);
    node *known = is(decl->storage, "static") ? header_data(decl) : NULL;
    if (known != NULL)
        here->data = known;
    else
        define(here, decl);
    if (!is(decl->storage, "static"))
        define(meaning_of(decl->name, -1), decl);
}

void names_read(int unit)
{
    const node *root = units[unit].root;
    for (int i = 0; i < root->kids; i++)
        if (root->kid[i]->kind == FunctionDecl)
            note_function(root->kid[i]);
        else if (root->kid[i]->kind == VarDecl)
            note_variable(root->kid[i]);
}

// A function of a header stands where the first unit has it.
void names_settle(void)
{
    for (int i = 0; i < tree->kids; i++) {
        node *d = tree->kid[i];
        function *f = d->kind == FunctionDecl ? d->function : NULL;
        if (f == NULL || f->settled || body_of(d) == NULL)
            continue;
        f->settled = true;
        if (places_equal(f->decl, d)) {
            f->decl = d;
            f->body = body_of(d);
        }
    }
}

node *variable_named(text name, int unit)
{
    const meaning *m = name_find(&meanings, name, unit);
    const meaning *all = name_find(&meanings, name, -1);
    node *d = m ? m->data : NULL;
    if (d != NULL && !is(d->storage, "static") && all != NULL && all->data)
        return all->data;
    return d;
}

function *function_named(text name, int unit)
{
    const meaning *m = name_find(&meanings, name, unit);
    return m ? m->function : NULL;
}

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
    node *d = at && word_char(name.at[0]) ? variable_named(name, at->unit) : NULL;
    while (d != NULL && at != NULL && at->kind != FunctionDecl)
        at = at->parent;
    return d != NULL && at != NULL && local_in(at, name) ? NULL : d;
}

function *function_of(node *decl)
{
    if (decl->function == NULL && decl->kind == FunctionDecl)
        decl->function = function_named(decl->name, decl->unit);
    if (decl->function == NULL)
        note_function(decl);
    return decl->function;
}

// Data may be declared in functions, too, and only there.
node *data_meant(node *d)
{
    node *here = variable_named(d->name, d->unit);
    node *all = here ? here : variable_named(d->name, -1);
    if (all == NULL)
        note_variable(all = d);
    return all;
}

// The declaration that stands for all of a name.
node *declared(node *n)
{
    node *d = n->decl ? n->decl : node_by_id(n->ref);
    if (d != NULL && d->kind == VarDecl
        && (d->parent == tree || is(d->storage, "extern")))
        d = data_meant(d);
    if (n->kind == DeclRefExpr && is(n->ref_kind, "FunctionDecl")
        && function_named(n->ref_name, n->unit) != NULL)
        d = function_named(n->ref_name, n->unit)->decl;
    return n->decl = d;
}

// Each of its associations has an expression as its last part.
node *selected_node(const node *n)
{
    for (int i = 0; i < n->kids; i++)
        if (n->kid[i]->selected && n->kid[i]->kids > 0)
            return n->kid[i]->kid[n->kid[i]->kids - 1];
    return n->kid[0];
}

const node *condition_of(const node *n)
{
    return n->kind == ForStmt ? n->kid[2] : n->kind == DoStmt ? n->kid[1]
         : n->kid[0];
}

bool is_loop(const node *n)
{
    return n->kind == ForStmt || n->kind == WhileStmt || n->kind == DoStmt;
}

bool is_condition(const node *n)
{
    const node *p = n->parent;
    return (p->kind == IfStmt || p->kind == WhileStmt || p->kind == DoStmt
            || p->kind == ForStmt)
        && n == condition_of(p);
}

bool is_jump(const node *n)
{
    return n->kind == ReturnStmt || n->kind == BreakStmt
        || n->kind == ContinueStmt || n->kind == GotoStmt;
}

static bool jumps_on(const node *n)
{
    bool does = n->kind == BreakStmt || n->kind == ContinueStmt;
    for (int i = 0; i < n->kids && !does; i++)
        does = jumps_on(n->kid[i]);
    return does;
}

// do { ... } while (0), as macros have it, without a break.
static bool is_once(const node *n)
{
    return n->kind == DoStmt && n->kids == 2 && base_node(n->kid[1])->kind
        == IntegerLiteral && is(base_node(n->kid[1])->value, "0")
        && !jumps_on(n->kid[0]);
}

const node *last_statement(const node *n)
{
    for (;;)
        if (n->kind == CompoundStmt && n->kids)
            n = n->kid[n->kids - 1];
        else if (is_once(n))
            n = n->kid[0];
        else
            return n;
}

const node *local_variable(const node *n)
{
    const node *d = n->kind == DeclRefExpr ? node_by_id(n->ref) : NULL;
    return d != NULL && d->kind == VarDecl && d->parent != tree
        && d->storage.n == 0 ? d : NULL;
}

node *base_node(node *n)
{
    while (n->kids > 0)
        if (n->kind == ParenExpr || n->kind == ImplicitCastExpr
            || n->kind == CStyleCastExpr || n->kind == ConstantExpr)
            n = n->kid[0];
        else if (n->kind == GenericSelectionExpr)
            n = selected_node(n);
        else
            break;
    return n;
}

text callee_name(const node *call)
{
    const node *f = base_node(call->kid[0]);
    const bool named = f->kind == DeclRefExpr && is(f->ref_kind, "FunctionDecl");
    return named ? f->ref_name : (text){ "", 0 };
}

function *function_called(const node *call)
{
    const text name = callee_name(call);
    return name.n ? function_named(name, call->unit) : NULL;
}

library call_library(const node *call)
{
    const text name = callee_name(call);
    const function *f = function_called(call);
    if (f != NULL && f->body != NULL && !starts(name, "__tg_"))
        return (library){ .kind = L_NONE };
    return library_named(name);
}

bool is_number(const node *n) { return n->ty != NULL && n->ty->kind == T_NUM; }

function *origin_of(function *f) { return f->origin ? f->origin : f; }
