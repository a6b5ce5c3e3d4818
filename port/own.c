/* own.c - functions that stay the program's own.
 *
 * A function that gets nothing recorded is copied, if it has no state: its copy
 * does the same then. If static data change in it, or in what it calls, there
 * would be two of them, and each would see half of the changes. Such a function
 * is declared and called where it is, if that can be: its name is known outside
 * of its file, nothing that it calls is recorded, and nothing that is written
 * uses the same data. Otherwise it is written, and globals.c refuses it if
 * others change these data.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"

/* --- data that change ----------------------------------------------------- */

bool fixed_type(const node *d)
{
    const text t = d->desugared.n ? d->desugared : d->type;
    for (size_t i = t.n; i-- > 0;)      // what is behind the last pointer
        if (t.at[i] == '*')
            return starts((text){ t.at + i + 1, t.n - i - 1 }, "const");
    return starts(t, "const ");
}

// Static data, of a file or of a function, that some function changes.
static bool has_state(const node *d)
{
    return d->kind == VarDecl && is(d->storage, "static") && !fixed_type(d)
        && data_changes(d);
}

/* --- what a function leads to ----------------------------------------------
 * Inside is what the written file needs, outside what a function of the program
 * needs. A mark is the number of the walk that has made it.                  */

static unsigned walks, inside;          // the latest; the latest one inside

typedef struct walk {
    unsigned number;
    function *last;             // a list of those that are to be looked at
    bool state;                 // it leads to data that change
    bool tied;                  // to data that are inside, too, or to what is
                                // recorded
} walk;

static void lead_to(walk *w, function *f)
{
    const bool outer = w->number != inside;
    unsigned *mark = outer ? &f->outside : &f->inside;
    if (*mark == w->number)
        return;
    *mark = w->number;
    w->tied |= outer && (f->changed || holds_active(f->type));
    if (!outer && f->own)
        return;
    f->waiting = w->last;
    w->last = f;
}

// Functions whose address may be what is called here.
static void lead_by_pointer(walk *w, const node *call)
{
    ty *t = call->kid[0]->ty;
    t = t && t->kind == T_PTR ? t->to : t;
    const bool known = t && t->kind == T_FUN;
    w->tied |= !known;
    for (function *f = functions; known && f != NULL; f = f->next)
        if (f->addressed && ty_root(f->type) == ty_root(t))
            lead_to(w, f);
}

static void look_at(walk *w, node *n);

static void look_at_data(walk *w, node *d)
{
    unsigned *mark = w->number != inside ? &d->outside : &d->inside;
    if (*mark == w->number)
        return;
    *mark = w->number;
    w->tied |= d->ty != NULL && holds_active(d->ty);
    if (has_state(d)) {
        w->state = true;
        w->tied |= d->inside == inside;
    }
    for (int i = 0; d->init && i < d->kids; i++)
        look_at(w, d->kid[i]);
}

static void look_at(walk *w, node *n)
{
    node *d = n->kind != DeclRefExpr || n->decl != NULL ? n->decl : declared(n);
    d = n->kind == VarDecl ? n : d;
    if (d != NULL && d->kind == FunctionDecl)
        lead_to(w, function_written(function_of(d)));
    if (d != NULL && d->kind == VarDecl
        && (d->parent == tree || d->storage.n))
        look_at_data(w, d);
    if (n->kind == CallExpr && callee_name(n).n == 0)
        lead_by_pointer(w, n);
    for (int i = 0; i < n->kids; i++)
        look_at(w, n->kid[i]);
}

static void finish(walk *w)
{
    while (w->last != NULL) {
        function *f = w->last;
        w->last = f->waiting;
        if (f->body != NULL)
            look_at(w, f->body);
    }
}

static walk outer_walk(function *f)
{
    walk w = { .number = ++walks };
    lead_to(&w, f);
    finish(&w);
    return w;
}

// From the named functions on; functions of the program are not entered.
static void inner_walk(void)
{
    walk w = { .number = inside = ++walks };
    for (function *f = functions; f != NULL; f = f->next)
        if (f->entry || f->in_type)
            lead_to(&w, f);
    for (int i = 0; i < tree->kids; i++)
        if (tree->kid[i]->in_type)
            look_at_data(&w, tree->kid[i]);
    finish(&w);
}

/* --- decisions ------------------------------------------------------------ */

// A declaration may say what the definition does not.
static bool known_outside(const node *d)
{
    for (; d != NULL; d = d->previous ? node_by_id(d->previous) : NULL)
        if (is(d->storage, "static") || d->is_inline)
            return false;
    return true;
}

// If two files define it, its name does not say which one is meant.
static bool can_stay(function *f)
{
    const node *d = f->decl;
    return f->reached && !f->changed && !f->entry && !f->in_type && !f->origin
        && f->also == NULL && source_unit(d->begin.expanded.file) >= 0 && known_outside(d);
}

// true: one was found that must be written.
static bool leave_one(void)
{
    for (function *f = functions; f != NULL; f = f->next)
        if (f->own && f->inside == inside && outer_walk(f).tied) {
            f->own = false;
            return true;
        }
    return false;
}

bool is_inside(unsigned mark) { return mark == inside; }

unsigned inside_mark(void) { return inside; }

void own_settle(void)
{
    for (function *f = functions; f != NULL; f = f->next)
        f->own = can_stay(f) && outer_walk(f).state;
    do
        inner_walk();
    while (leave_one());
    for (function *f = functions; f != NULL; f = f->next)
        if (f->own && f->inside == inside)
            note(f->decl, "stays the program's own, and is called there");
}
