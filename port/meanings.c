/* meanings.c - what macros mean at a place of the file that is written.
 *
 * A name may be one macro in one unit, and another or none in the next one.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <string.h>

names needed;

static names current;           // what a name is at this place of the output

// Of a header: it is there from the start.
static macro *first_meaning(text name)
{
    if (unit_of_includes >= 0) {
        macro *m = macro_named(name, unit_of_includes);
        while (m != NULL && m->setting && !setting_stays(name))
            m = m->before;
        return m != NULL && (m->given || m->passing) ? NULL : m;
    }
    for (int u = 0; u < unit_count; u++) {
        macro *m = units[u].root ? macro_named(name, u) : NULL;
        if (m != NULL && m->at.file < 0 && !m->given)
            return m;
    }
    return NULL;
}

static macro none;              // a name that is no macro here

macro *current_macro(text name)
{
    macro *m = name_find(&current, name, -1);
    return m == &none ? NULL : m ? m : first_meaning(name);
}

// Headers of two files define it in different ways.
static bool is_ambiguous(text name)
{
    const macro *one = NULL;
    for (int u = 0; u < unit_count; u++) {
        const macro *m = units[u].root ? macro_named(name, u) : NULL;
        if (m == NULL || m->at.file >= 0 || m->given)
            continue;
        if (one != NULL && !same_macro(m, one))
            return true;
        one = m;
    }
    return false;
}

// Behind what a file includes: such macros are defined in its part.
void put_ends(buffer *b)
{
    names done = { 0 };
    for (size_t i = 0; i < needed.room; i++) {
        const text name = needed.row[i].name;
        if (name.at == NULL || name_find(&done, name, -1) || !is_ambiguous(name))
            continue;
        name_set(&done, name, -1, &done);
        name_set(&current, name, -1, &none);
        putf(b, "#undef %.*s\n", (int)name.n, name.at);
    }
}

void put_definition(buffer *b, const macro *m)
{
    if (m->at.file >= 0)
        put_text(b, slice(m->at));
    else
        putf(b, "#define %.*s%s%.*s", (int)m->name.n, m->name.at,
             m->call ? "" : " ", (int)m->body.n, m->body.at);
    put(b, "\n");
}

void put_macro(buffer *b, macro *m)
{
    const macro *now = current_macro(m->name);
    if (same_macro(m, now))
        return;
    if (now != NULL)
        putf(b, "#undef %.*s\n", (int)m->name.n, m->name.at);
    put_definition(b, m);
    name_set(&current, m->name, -1, m);
}

void put_undef(buffer *b, const macro *m)
{
    if (current_macro(m->name) == NULL)
        return;
    putf(b, "#undef %.*s\n", (int)m->name.n, m->name.at);
    name_set(&current, m->name, -1, &none);
}

// `#define T state.T`: where that is written in place of T, the header must not have
// the macro, or T would be replaced again. s: the name, where it is spelled.
void macro_goes(text name, spot s, int unit)
{
    for (macro *m = macro_named(name, unit); m != NULL; m = m->before)
        m->gone |= !m->call && m->at.file == s.file && m->at.begin < s.at
            && s.at < m->at.end;
}

// Whether a text names a macro that is gone: so does what makes use of it.
bool names_gone(text t, int unit)
{
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n; i = skip_token(t, i)) {
        const text w = { t.at + i, skip_token(t, i) - i };
        const macro *m = word_char(w.at[0]) ? macro_named(w, unit) : NULL;
        for (; m != NULL; m = m->before)
            if (m->gone)
                return true;
    }
    return false;
}

// Takes such directives out of the body of a function, from b->at[from] on.
void drop_gone(buffer *b, size_t from, int unit)
{
    size_t to = from;
    for (size_t i = from, end; i < b->n; i = end) {
        for (end = i; end < b->n && b->at[end] != '\n';)
            end++;
        end += end < b->n;
        const text l = { b->at + i, end - i };
        const size_t hash = skip_blank(l, 0);
        const size_t at = hash < l.n && l.at[hash] == '#' ? skip_blank(l, hash + 1)
            : l.n;
        const text word = { l.at + at, skip_token(l, at) - at };
        if (one_of(word, "define undef") && names_gone(l, unit))
            continue;
        memmove(b->at + to, b->at + i, l.n);
        to += l.n;
    }
    b->n = to;
    if (b->at != NULL)
        b->at[to] = 0;
}
