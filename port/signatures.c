/* signatures.c - the heads of functions that are written.
 *
 * Most are the text of the source, with types and names of the twin; some are
 * written from their types.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <string.h>

static bool storage_word(text w)
{
    return is(w, "static") || is(w, "inline") || is(w, "extern")
        || is(w, "__inline") || is(w, "__inline__");
}

// The specifiers, with `static` or `static inline` first.
static void write_function_words(buffer *b, text t, const function *f)
{
    buffer words = { 0 };
    bool fixed = false;

    for (size_t i = 0; i < t.n;) {
        const size_t next = skip_token(t, i);
        const text w = { t.at + i, next - i };
        i = next;
        fixed |= is(w, "static");
        if (!storage_word(w))
            put_text(&words, w);
        else
            i = skip_blank(t, i);
    }
    put(b, fixed && !f->decl->is_inline && !f->entry ? "static "
           : "static inline ");
    write_type_words(b, text_in(&words), ty_base(f->type->to));
}

static size_t words_end(text t, size_t begin, size_t name)
{
    size_t i = begin;
    while ((i = skip_blank(t, i)) < name) {
        if (t.at[i] == '*')
            return i;
        i = t.at[i] == '(' ? closing(t, i) : skip_token(t, i);
    }
    return name;
}

static size_t column_of(text t, size_t at)
{
    size_t i = at;
    while (i > 0 && t.at[i - 1] != '\n')
        i--;
    return at - i;
}

// Parameters that were aligned with the first one still are.
static void realign(buffer *b, size_t from, text source, size_t name)
{
    size_t open = name, now = from;
    buffer o = { 0 };
    while (open < source.n && source.at[open] != '(')
        open++;
    while (now < b->n && b->at[now] != '(')
        now++;
    const size_t before = column_of(source, open) + 1;
    const size_t after = column_of(text_in(b), now) + 1;
    for (size_t i = from; i < b->n;) {
        size_t n = 0;
        put_char(&o, b->at[i]);
        if (b->at[i++] != '\n')
            continue;
        while (i + n < b->n && b->at[i + n] == ' ')
            n++;
        if (n != before)
            continue;
        for (size_t k = 0; k < after; k++)
            put_char(&o, ' ');
        i += n;
    }
    b->n = from;
    put_text(b, text_in(&o));
}

void write_signature(buffer *b, function *f)
{
    const size_t from = b->n;
    const span all = span_of(f->decl);
    const text t = file_at(all.file)->text;
    const size_t name = f->decl->loc.expanded.at;
    const size_t words = words_end(t, all.begin, name);
    size_t at = name + f->decl->loc.expanded.n;
    const size_t end = f->body ? span_of(f->body).begin : all.end;

    write_function_words(b, slice((span){ all.file, all.begin, words }), f);
    put_text(b, slice((span){ all.file, words, name }));
    twin_name(b, f->decl);
    for (int i = 0; i < f->decl->kids; i++) {
        node *p = f->decl->kid[i];
        const span s = span_of(p);
        if (p->kind != ParmVarDecl || s.begin < at || s.end > end)
            continue;
        put_text(b, slice((span){ all.file, at, s.begin }));
        if (!ty_changed(p->ty)) {
            put_text(b, slice(s));
        } else {
            write_group(b, &p, 1, false, s);
            if (b->at[b->n - 1] == ';')
                b->n--;
        }
        at = s.end;
    }
    put_text(b, slice((span){ all.file, at, end }));
    realign(b, from, t, name);
}

// Parameters are declared behind the parentheses.
static bool old_definition(const node *d)
{
    const text t = file_at(span_of(d).file)->text;
    size_t open = d->loc.expanded.at;
    while (open < t.n && t.at[open] != '(')
        open++;
    const size_t end = open < t.n ? closing(t, open) : t.n;
    for (int i = 0; i < d->kids; i++)
        if (d->kid[i]->kind == ParmVarDecl
            && span_of(d->kid[i]).begin >= end)
            return !in_macro(d);
    return false;
}

// Parameters that a macro stands for, and that change.
static bool macro_parameters(const node *d)
{
    bool some = false, changed = false;
    for (int i = 0; i < d->kids; i++)
        if (d->kid[i]->kind == ParmVarDecl) {
            some |= in_macro(d->kid[i]);
            changed |= ty_changed(d->kid[i]->ty);
        }
    return some && changed;
}

// What has no text of its own that could be kept: a function that a macro
// defines, or its parameters, one of the old kind, one that returns the address
// of a function.
bool stands_apart(const function *f)
{
    const ty *t = f->type->to;
    while (t->kind == T_PTR && t->alias == NULL)
        t = t->to;
    const span s = span_of(f->decl);
    return in_macro(f->decl) || old_definition(f->decl)
        || macro_parameters(f->decl)
        || (ty_changed(t)
            && macro_declares(slice((span){ s.file, s.begin,
                                            f->decl->loc.expanded.at }),
                              f->decl->unit))
        || (t->kind == T_FUN && t->alias == NULL && ty_changed(t));
}

// The head of a twin that is put together anew: `static double f(double x)`.
void signature_apart(buffer *b, const function *f)
{
    buffer o = { 0 };
    put(b, f->own ? "" : f->entry || f->decl->is_inline ? "static inline "
           : "static ");
    twin_name(&o, f->decl);
    put(&o, "(");
    for (int i = 0, n = 0; i < f->decl->kids; i++)
        if (f->decl->kid[i]->kind == ParmVarDecl) {
            put(&o, n++ ? ", " : "");
            ty_print(&o, f->decl->kid[i]->ty, f->decl->kid[i]->name);
        }
    put(&o, o.at[o.n - 1] == '(' ? "void)" : ")");
    ty_print(b, f->type->to, text_in(&o));
}
