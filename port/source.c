/* source.c - files, places in them, and macros.
 *
 * A node that comes out of a macro has two places: where its token is spelled,
 * and where the macro stands that was expanded. Texts are copied from the
 * latter, whole invocations at a time.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static file *files;
static size_t file_room;
static int file_count;
int main_file = -1;

int file_named(text path)
{
    static int last = -1;

    if (last >= 0 && is(path, files[last].path))
        return last;
    for (int i = 0; i < file_count; i++)
        if (is(path, files[i].path))
            return last = i;
    files = grow(files, &file_room, (size_t)file_count + 1, sizeof *files);
    files[file_count] = (file){ .path = text_copy(path) };
    return last = file_count++;
}

file *file_at(int index)
{
    static file none = { .path = "(unknown)" };
    bool found;

    if (index < 0)
        return &none;
    file *f = &files[index];
    if (!f->read) {
        f->text = read_file(f->path, &found);
        f->read = true;
    }
    return f;
}

void lines_of(int index, size_t at, unsigned *line, unsigned *col)
{
    const text t = file_at(index)->text;
    *line = *col = 1;
    for (size_t i = 0; i < at && i < t.n; i++)
        if (t.at[i] == '\n')
            ++*line, *col = 1;
        else
            ++*col;
}

text slice(span s)
{
    const text t = file_at(s.file)->text;
    if (s.file < 0 || s.begin >= s.end || s.end > t.n)
        return (text){ "", 0 };
    return (text){ t.at + s.begin, s.end - s.begin };
}

text token(spot s)
{
    return slice((span){ s.file, s.at, s.at + s.n });
}

/* --- tokens --------------------------------------------------------------- */

static size_t skip_comment(text t, size_t i)
{
    if (t.at[i + 1] == '/') {
        while (i < t.n && t.at[i] != '\n')
            i++;
        return i;
    }
    const size_t n = find((text){ t.at + i + 2, t.n - i - 2 }, "*/");
    return i + 4 + n < t.n ? i + 4 + n : t.n;
}

size_t skip_blank(text t, size_t i)
{
    while (i < t.n)
        if (isspace((unsigned char)t.at[i]) || (t.at[i] == '\\' && i + 1 < t.n
                                                && t.at[i + 1] == '\n'))
            i++;
        else if (t.at[i] == '/' && i + 1 < t.n
                 && (t.at[i + 1] == '/' || t.at[i + 1] == '*'))
            i = skip_comment(t, i);
        else
            break;
    return i;
}

// Behind the token at i. Punctuation is taken one character at a time.
size_t skip_token(text t, size_t i)
{
    if (i >= t.n)
        return t.n;
    const char c = t.at[i];
    if (c == '"' || c == '\'') {
        for (i++; i < t.n && t.at[i] != c; i++)
            i += t.at[i] == '\\';
        return i < t.n ? i + 1 : t.n;
    }
    if (isdigit((unsigned char)c)) {
        while (i < t.n && (word_char(t.at[i]) || t.at[i] == '.'
                           || ((t.at[i] == '+' || t.at[i] == '-')
                               && strchr("eEpP", t.at[i - 1]) != NULL)))
            i++;
        return i;
    }
    if (!word_char(c))
        return i + 1;
    while (i < t.n && word_char(t.at[i]))
        i++;
    return i;
}

size_t closing(text t, size_t i)
{
    int depth = 0;
    while ((i = skip_blank(t, i)) < t.n) {
        const char c = t.at[i];
        i = skip_token(t, i);
        depth += (c == '(') + (c == '[') + (c == '{');
        depth -= (c == ')') + (c == ']') + (c == '}');
        if (depth == 0)
            return i;
    }
    return t.n;
}

/* --- macros --------------------------------------------------------------- */

static macro *macros;
static size_t macro_room, macro_count;
static unsigned *macro_table;
static size_t table_room;

static size_t slot_of(text name)
{
    unsigned h = 5381;
    for (size_t i = 0; i < name.n; i++)
        h = h * 33 ^ (unsigned char)name.at[i];
    size_t i = h & (table_room - 1);
    while (macro_table[i] && !same(macros[macro_table[i] - 1].name, name))
        i = (i + 1) & (table_room - 1);
    return i;
}

macro *macro_named(text name)
{
    if (table_room == 0)
        return NULL;
    const unsigned i = macro_table[slot_of(name)];
    return i ? &macros[i - 1] : NULL;
}

// A #define at t.at[i], behind the name of the directive.
static macro macro_read(text t, size_t i)
{
    macro m = { .at = { -1, 0, 0 } };
    while (i < t.n && (t.at[i] == ' ' || t.at[i] == '\t'))
        i++;
    const size_t from = i;
    while (i < t.n && word_char(t.at[i]))
        i++;
    m.name = (text){ t.at + from, i - from };
    m.call = i < t.n && t.at[i] == '(';
    const size_t body = i;
    while (i < t.n && t.at[i] != '\n')
        i += t.at[i] == '\\' && i + 1 < t.n ? 2 : 1;
    m.body = (text){ t.at + body, i - body };
    return m;
}

static void macro_add(macro m)
{
    macros = grow(macros, &macro_room, macro_count + 1, sizeof *macros);
    macros[macro_count++] = m;
}

// Directives of the main file, so that they can be copied.
static void macros_place(void)
{
    const text t = file_at(main_file)->text;
    for (size_t i = 0; i < t.n; i++) {
        const size_t line = i;
        while (i < t.n && (t.at[i] == ' ' || t.at[i] == '\t'))
            i++;
        size_t j = i + 1;
        if (i < t.n && t.at[i] == '#') {
            while (j < t.n && (t.at[j] == ' ' || t.at[j] == '\t'))
                j++;
            if (starts((text){ t.at + j, t.n - j }, "define")) {
                const macro m = macro_read(t, j + 6);
                macro *known = macro_named(m.name);
                if (known != NULL)
                    known->at = (span){ main_file, line,
                        (size_t)(m.body.at + m.body.n - t.at) };
            }
        }
        while (i < t.n && t.at[i] != '\n')
            i += t.at[i] == '\\' && i + 1 < t.n ? 2 : 1;
    }
}

// What clang -dM prints.
void macros_read(text dump)
{
    for (size_t i = 0; i < dump.n; i++) {
        if (starts((text){ dump.at + i, dump.n - i }, "#define "))
            macro_add(macro_read(dump, i + 8));
        while (i < dump.n && dump.at[i] != '\n')
            i++;
    }
    for (table_room = 64; table_room < 3 * macro_count; )
        table_room *= 2;
    macro_table = take(table_room * sizeof *macro_table);
    for (size_t i = 0; i < macro_count; i++)
        macro_table[slot_of(macros[i].name)] = (unsigned)i + 1;
    macros_place();
}

/* --- spans ---------------------------------------------------------------- */

// Behind the invocation of a macro whose name is the token s.
static size_t invocation_end(spot s)
{
    const text t = file_at(s.file)->text;
    const macro *m = macro_named(token(s));
    const size_t i = skip_blank(t, s.at + s.n);

    if (m != NULL && m->call && i < t.n && t.at[i] == '(')
        return closing(t, i);
    return s.at + s.n;
}

span span_of(const node *n)
{
    span s = { n->begin.expanded.file, n->begin.expanded.at, 0 };

    if (s.file < 0)
        return s;
    const place *e = n->end.expanded.file == s.file ? &n->end : &n->begin;
    s.end = e->macro ? invocation_end(e->expanded)
                     : e->expanded.at + e->expanded.n;
    if (s.end < s.begin)
        s.end = s.begin;
    return s;
}

bool in_macro(const node *n)
{
    return n->begin.macro && n->end.macro
        && n->begin.expanded.file == n->end.expanded.file
        && n->begin.expanded.at == n->end.expanded.at;
}

bool one_macro(const node *a, const node *b)
{
    return in_macro(a) && in_macro(b)
        && a->begin.expanded.at == b->begin.expanded.at;
}

// Whether a node of a macro stands in one piece among the arguments.
bool spelled_whole(const node *n, span *s)
{
    const span all = span_of(n);
    const spot *b = &n->begin.spelled, *e = &n->end.spelled;

    *s = (span){ b->file, b->at, e->at + e->n };
    return n->begin.argument && n->end.argument && b->file == e->file
        && b->file == all.file && b->at > all.begin && b->at <= e->at
        && e->at + e->n < all.end;
}

/* --- comments ------------------------------------------------------------- */

static size_t line_begin(text t, size_t i)
{
    while (i > 0 && t.at[i - 1] != '\n')
        i--;
    return i;
}

// Where the comment begins that stands directly above; `at` if there is none.
size_t comment_before(int index, size_t at)
{
    const text t = file_at(index)->text;
    size_t first = line_begin(t, at);

    if (skip_blank(t, first) < at)
        return at;
    while (first > 0) {
        const size_t line = line_begin(t, first - 1);
        size_t i = line;
        while (i < first && (t.at[i] == ' ' || t.at[i] == '\t'))
            i++;
        const text l = { t.at + i, first - i };
        if (starts(l, "//") || starts(l, "/*")) {
            if (skip_blank(t, i) < first)
                break;
            first = line;
            continue;
        }
        size_t e = first - 1;
        while (e > i && isspace((unsigned char)t.at[e - 1]))
            e--;
        if (e < i + 2 || t.at[e - 1] != '/' || t.at[e - 2] != '*')
            break;
        size_t open = e - 2;
        while (open > 1 && !(t.at[open - 2] == '/' && t.at[open - 1] == '*'))
            open--;
        const size_t begin = line_begin(t, open - 2);
        if (open < 2 || skip_blank(t, begin) < e)
            break;
        first = begin;
    }
    return first < at && skip_blank(t, first) >= at ? first : at;
}
