/* seen.c - what includes of the written file say, and what they said to each
 * source.
 *
 * What a header says may depend on what stands before it: `#if MODE`. The
 * written file includes it once, for all units. What a unit finds there
 * otherwise than in its own includes is written for this unit, if it is a
 * function or data, and refused if it is a type. Lines are compared as clang's
 * preprocessor prints them.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>

int unit_of_includes = -1;

/* --- lines ---------------------------------------------------------------- */

typedef struct line {
    int file;
    unsigned number;
    text words;
} line;

static bool own_header(int index)       // it is none of the system
{
    return index >= 0 && source_unit(index) < 0 && !system_file(index);
}

typedef struct view {           // of such headers
    line *at;
    size_t n, room;
} view;

static view *views;             // of each unit, and last of what is written

static int by_line(const void *a, const void *b)
{
    const line *x = a, *y = b;
    if (x->file != y->file)
        return x->file - y->file;
    if (x->number != y->number)
        return x->number > y->number ? 1 : -1;
    return (x->words.at > y->words.at) - (x->words.at < y->words.at);
}

static view view_of(text printed)
{
    view v = { 0 };
    int now = -1;
    unsigned number = 0;
    for (size_t i = 0, end; i < printed.n; i = end + 1, number++) {
        for (end = i; end < printed.n && printed.at[end] != '\n';)
            end++;
        if (line_marker(printed, i, &now, &number)) {
            number--;
        } else if (end > i && own_header(now)) {
            v.at = grow(v.at, &v.room, v.n + 1, sizeof *v.at);
            v.at[v.n++] = (line){ now, number, { printed.at + i, end - i } };
        }
    }
    if (v.n)
        qsort(v.at, v.n, sizeof *v.at, by_line);
    return v;
}

// What is printed of the lines of a declaration.
static text said(const view *v, const node *d)
{
    const spot *begin = &d->begin.expanded;
    const line from = { begin->file, begin->line, { NULL, 0 } };
    buffer b = { 0 };
    size_t low = 0, high = v->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_line(&v->at[middle], &from) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < v->n && v->at[low].file == from.file
           && v->at[low].number <= d->end.expanded.line; low++) {
        put_text(&b, v->at[low].words);
        put(&b, "\n");
    }
    return text_in(&b);
}

/* --- what is otherwise ---------------------------------------------------- */

static names others;            // such declarations, by their names in a unit

static void mark(node *d)
{
    d->otherwise = 1;
    if (d->name.n)
        name_set(&others, d->name, d->unit, d);
    for (int i = 0; i < d->kids && d->kind == EnumDecl; i++)
        name_set(&others, d->kid[i]->name, d->unit, d);
}

static bool of_header(const node *d)
{
    return !d->implicit && own_header(d->begin.expanded.file);
}

static bool is_shared(int index, int unit)
{
    for (int u = 0; u < unit_count; u++)
        for (size_t i = 0; u != unit && i < units[u].headers; i++)
            if (units[u].header[i].file == index)
                return true;
    return false;
}

// Another unit includes another file of this name.
static bool has_namesake(int index, int unit)
{
    const char *name = base_name(file_at(index)->path);
    for (int u = 0; u < unit_count; u++)
        for (size_t i = 0; u != unit && i < units[u].headers; i++) {
            const int other = units[u].header[i].file;
            if (other != index && !system_file(other)
                && strcmp(base_name(file_at(other)->path), name) == 0)
                return true;
        }
    return false;
}

static bool keeps_state(const node *n)
{
    bool keeps = is_state(n);
    for (int i = 0; i < n->kids && !keeps; i++)
        keeps = keeps_state(n->kid[i]);
    return keeps;
}

// Each unit has static data of a header of its own.
static bool is_of_each(const node *d)
{
    const bool can = d->kind == VarDecl
        || (d->kind == FunctionDecl && is(d->storage, "static"));
    return can && keeps_state(d)
        && is_shared(d->begin.expanded.file, d->unit);
}

static bool names_other(text t, int unit)
{
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n; i = skip_token(t, i)) {
        const text w = { t.at + i, skip_token(t, i) - i };
        if (word_char(w.at[0]) && name_find(&others, w, unit) != NULL)
            return true;
    }
    return false;
}

static bool is_otherwise(const node *d)
{
    const text seen = said(&views[d->unit], d);
    return !same_tokens(seen, said(&views[unit_count], d))
        || names_other(seen, d->unit) || is_of_each(d)
        || ((d->kind == FunctionDecl || d->kind == VarDecl)
            && has_namesake(d->begin.expanded.file, d->unit));
}

// Until nothing more is found: one names others.
static void mark_all(void)
{
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < tree->kids; i++) {
            node *d = tree->kid[i];
            if (of_header(d) && !d->otherwise && is_otherwise(d)) {
                mark(d);
                more = true;
            }
        }
    }
    for (int i = 0; i < tree->kids; i++) {
        const node *d = tree->kid[i];
        if (d->otherwise && d->kind == FunctionDecl && d->function != NULL)
            d->function->decl->otherwise = 1;
    }
}

/* --- when it is looked at ------------------------------------------------- */

// Only then may includes say something else.
static bool may_differ(void)
{
    int read = 0;
    bool own = false, set = false;
    for (int u = 0; u < unit_count; u++) {
        if (units[u].root == NULL)
            continue;
        const text includes = includes_of(u);
        read++;
        set |= find(includes, "#undef") < includes.n;
        for (size_t i = 0; i < units[u].headers; i++)
            own |= own_header(units[u].header[i].file);
    }
    return own && (read > 1 || set);
}

void seen_read(void)
{
    buffer b = { 0 };
    if (!may_differ())
        return;
    for (int u = 0; u < unit_count; u++)
        if (units[u].root != NULL)
            put_text(&b, includes_of(u));
    const text printed = includes_printed(text_in(&b));
    views = take((size_t)(unit_count + 1) * sizeof *views);
    for (int u = 0; u < unit_count; u++)
        if (units[u].root != NULL)
            views[u] = view_of(units[u].printed);
    views[unit_count] = view_of(printed);
    unit_of_includes = unit_beside();
    macros_read(printed, unit_of_includes);
    mark_all();
}

// Of a type that a text names, or an enumerator.
static bool refused_type(const node *d, text name)
{
    const bool is_type = d != NULL && d->kind != FunctionDecl && d->kind != VarDecl;
    if (is_type)
        refuse(d, "convert the files one by one, or define the same macros "
               "in them before they include it", "%.*s is something else in "
               "%s than where the written file includes it",
               (int)name.n, name.at, base_name(units[d->unit].path));
    return is_type;
}

// One that two units share, with the same words, though a type or an enumerator
// that it names is something else in each.
static void check_shared(node *d)
{
    const function *f = d->kind == FunctionDecl ? d->function : NULL;
    const node *one = f ? f->decl : d->kind == VarDecl ? data_meant(d) : d;
    if (!of_header(d) || one == d || !(f ? f->reached : one->visited))
        return;
    const text t = said(&views[d->unit], d);
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n; i = skip_token(t, i)) {
        const text w = { t.at + i, skip_token(t, i) - i };
        if (word_char(w.at[0])
            && refused_type(name_find(&others, w, d->unit), w))
            return;
    }
}

// What the written file says in the end: macros are ended between its includes.
void seen_again(text printed)
{
    if (views == NULL)
        return;
    const view last = view_of(printed);
    for (int i = 0; i < tree->kids; i++) {
        const node *d = tree->kid[i];
        if (of_header(d) && !d->otherwise
            && !same_tokens(said(&views[unit_count], d), said(&last, d))) {
            refuse(d, "convert the files one by one", "a header that would say "
                   "something else, as two others define a macro in different "
                   "ways that it tests");
            return;
        }
    }
}

void seen_check(void)
{
    for (int i = 0; views != NULL && i < tree->kids; i++)
        check_shared(tree->kid[i]);
    for (size_t i = 0; i < needed.room; i++) {
        const name_row *r = &needed.row[i];
        if (r->name.at != NULL)
            refused_type(name_find(&others, r->name, r->unit), r->name);
    }
}
