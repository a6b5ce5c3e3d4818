/* inputs.c - which numbers are inputs and outputs.
 *
 * A mistake in their names is said with the names that there are.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdio.h>

// An input, if it is a parameter itself; or one of many.
static void set_varied(ty *t, void *parameter)
{
    num *n = num_root(t->num);
    n->varied = true;
    n->made = t == parameter && n->made == OF_NONE ? OF_ONE : OF_EACH;
    n->only = n;
}

static void set_useful(ty *t, void *unused)
{
    (void)unused;
    num_root(t->num)->useful = true;
}

static node *parameter(function *f, text name)
{
    for (int i = 0; i < f->decl->kids; i++)
        if (f->decl->kid[i]->kind == ParmVarDecl
            && same(f->decl->kid[i]->name, name))
            return f->decl->kid[i];
    return NULL;
}

static bool any_parameter(text name)
{
    for (int i = 0; i < opt.entries; i++)
        if (parameter(entry_named(opt.entry[i]), name) != NULL)
            return true;
    return false;
}

// A function that the user gives, as a twin: whatever goes in may come out, and
// so may what it knows by itself.
static void open_function(ty *f);

static void open_functions(ty *t, int depth)
{
    if (depth > 8 || t == NULL)
        return;
    if (t->kind == T_PTR || t->kind == T_ARR)
        open_functions(t->to, depth + 1);
    else if (t->kind == T_FUN)
        open_function(t);
    else if (t->kind == T_REC)
        for (int i = 0; i < t->record->fields; i++)
            open_functions(t->record->field[i], depth + 1);
}

static void open_function(ty *f)
{
    ty *hub = ty_number();
    ty_root(f)->open = true;
    for (int i = 0; i < f->pars; i++) {
        each_number(f->par[i], to_hub, hub);
        if (f->par[i]->kind == T_PTR)
            each_number(f->par[i], from_hub, hub);
    }
    num_root(hub->num)->varied = true;
    num_root(hub->num)->made = OF_SEVERAL;
    each_number(f->to, from_hub, hub);
}

void seed_inputs(function *f)
{
    for (int i = 0; i < f->decl->kids; i++) {
        node *p = f->decl->kid[i];
        if (p->kind != ParmVarDecl)
            continue;
        open_functions(p->ty, 0);
        bool input = opt.all;
        for (int k = 0; k < opt.withs; k++)
            input |= same(opt.with[k].name, p->name);
        if (input)
            each_number(p->ty, set_varied, p->ty);
    }
}

static bool listed_output(text name)
{
    for (int k = 0; k < opt.ofs; k++)
        if (same(opt.of[k].name, name))
            return true;
    return opt.ofs == 0;
}

void seed_outputs(function *f)
{
    each_number(f->type->to, set_useful, NULL);
    if (f->type->to->kind == T_NUM)
        num_root(f->type->to->num)->varied = true;        // an ad_rev, whatever it is
    for (int i = 0; i < f->decl->kids; i++) {
        node *p = f->decl->kid[i];
        if (p->kind != ParmVarDecl)
            continue;
        bool input = opt.all;
        for (int k = 0; k < opt.withs; k++)
            input |= same(opt.with[k].name, p->name);
        if (input || (p->ty->kind == T_PTR && listed_output(p->name)))
            each_number(p->ty, set_useful, NULL);
        if (opt.ofs && p->ty->kind == T_PTR && listed_output(p->name))
            each_number(p->ty, set_varied, NULL);
    }
}

/* --- wrong names ---------------------------------------------------------- */

void say_function(text name)
{
    const char *before = "";
    fprintf(stderr, "adrev-port: no function %.*s is defined in ", (int)name.n,
            name.at);
    for (int i = 0; i < unit_count && i < 8; i++, before = ", ")
        fprintf(stderr, "%s%s", before, units[i].path);
    fprintf(stderr, "%s: name the file that defines it\n",
            unit_count > 8 ? " ..." : "");
}

// And which parameters there are.
static void say_parameter(const char *what, text name)
{
    fprintf(stderr, "adrev-port: %s %.*s: no such parameter", what, (int)name.n,
            name.at);
    for (int i = 0; i < opt.entries; i++) {
        const node *d = entry_named(opt.entry[i])->decl;
        const char *before = " has ";
        fprintf(stderr, "; %.*s", (int)d->name.n, d->name.at);
        for (int k = 0; k < d->kids; k++)
            if (d->kid[k]->kind == ParmVarDecl) {
                fprintf(stderr, "%s%.*s", before, (int)d->kid[k]->name.n,
                        d->kid[k]->name.at);
                before = ", ";
            }
    }
    fprintf(stderr, "\n");
}

// Whole numbers and texts have no derivatives.
static bool has_numbers(const ty *t)
{
    while (t->kind == T_PTR || t->kind == T_ARR)
        t = t->to;
    return t->kind != T_OTHER;
}

static bool any_numbers(text name)
{
    for (int i = 0; i < opt.entries; i++) {
        const node *p = parameter(entry_named(opt.entry[i]), name);
        if (p != NULL && has_numbers(p->ty))
            return true;
    }
    return false;
}

// Whether each parameter that --with and --of name is right; what is not is said.
static bool all_are(bool (*right)(text), void (*say)(const char *, text))
{
    bool all = true;
    for (int k = 0; k < opt.withs + opt.ofs; k++) {
        const bool with = k < opt.withs;
        const text name = with ? opt.with[k].name : opt.of[k - opt.withs].name;
        if (right(name))
            continue;
        say(with ? "--with" : "--of", name);
        all = false;
    }
    return all;
}

static void say_no_number(const char *what, text name)
{
    fprintf(stderr, "adrev-port: %s %.*s: neither double nor float, so it has no "
            "derivatives\n", what, (int)name.n, name.at);
}

// When the types are known.
bool inputs_have_numbers(void)
{
    return all_are(any_numbers, say_no_number);
}

bool names_are_right(void)
{
    bool right = all_are(any_parameter, say_parameter);
    for (int k = 0; k < opt.equals; k++) {
        const function *f = functions;
        while (f != NULL && !same(f->name, opt.equal[k]))
            f = f->next;
        if (f == NULL)
            say_function(opt.equal[k]);
        right = right && f != NULL;
    }
    return right;
}
