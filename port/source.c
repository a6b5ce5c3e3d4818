/* source.c - files, places in them, and macros.
 *
 * A node that comes out of a macro has two places: where its token is spelled,
 * and where the macro stands that was expanded. Texts are copied from the
 * latter, whole invocations at a time.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define _XOPEN_SOURCE 700
#include "port.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

translation *units;
int unit_count;

static file *files;
static size_t file_room;
static int file_count;

int source_unit(int index)
{
    return index >= 0 && index < file_count ? files[index].source - 1 : -1;
}

void source_set(int index, int unit) { files[index].source = unit + 1; }

// A file of code that a source includes belongs to the source.
static void source_included(int index, int unit, size_t at, bool enters)
{
    file *f = &files[index];
    const char *path = files[index].path;
    const size_t n = strlen(path);
    if (index == units[unit].file || n < 3 || strcmp(path + n - 2, ".c") != 0
        || strncmp(path, "/usr/", 5) == 0)
        return;
    if (files[index].source == 0)
        source_set(index, unit);
    f->again |= enters && f->included;
    f->first = f->included ? f->first : at;
    f->last = f->last > at ? f->last : at;
    if (source_unit(index) != unit) {   // places in two sources are not compared
        f->first = 0;
        f->last = SIZE_MAX;
    }
    f->included = at + 1;
}

bool behind(span a, span b)
{
    if (a.file == b.file)
        return a.begin > b.begin;
    const size_t x = files[a.file].included, y = files[b.file].included;
    return (x ? x - 1 : a.begin) > (y ? y - 1 : b.begin);
}

static int file_add(text path)
{
    files = grow(files, &file_room, (size_t)file_count + 1, sizeof *files);
    files[file_count] = (file){ .path = text_copy(path) };
    return file_count++;
}

// Two paths may name one file.
int file_named(text path)
{
    static names paths, places;         // what is kept is the index, and one
    static int last = -1;

    if (last >= 0 && is(path, files[last].path))
        return last;
    uintptr_t known = (uintptr_t)name_find(&paths, path, -1);
    if (known == 0) {
        const text name = text_of(text_copy(path));
        char *full = realpath(name.at, NULL);
        const text real = full ? text_of(full) : name;
        known = (uintptr_t)name_find(&places, real, -1);
        if (known == 0)
            known = (uintptr_t)file_add(path) + 1;
        name_set(&paths, name, -1, (void *)known);
        name_set(&places, real, -1, (void *)known);
    }
    return last = (int)known - 1;
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

void unit_include(int unit, int index, size_t at)
{
    struct translation *u = &units[unit];
    for (size_t i = 0; i < u->headers; i++)
        if (u->header[i].file == index)
            return;
    u->header = grow(u->header, &u->header_room, u->headers + 1,
                     sizeof *u->header);
    u->header[u->headers++] = (header){ index, at };
}

bool system_file(int index)
{
    const char *p = file_at(index)->path;
    return strncmp(p, "/usr/", 5) == 0 || p[0] == '<' || p[0] == '(';
}

// Whether a header is read behind a place of the source.
bool includes_behind(int unit, int index, size_t at)
{
    const translation *u = &units[unit];
    for (size_t i = 0; i < u->headers; i++)
        if (u->header[i].file == index)
            return u->header[i].at > at;
    return false;
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

static names macros;            // the latest of a name in a unit

macro *macro_named(text name, int unit)
{
    return name_find(&macros, name, unit);
}

// The macro of the unit that stands for one word; NULL: there is none.
const macro *macro_for(text word, int unit)
{
    for (size_t i = 0; i < macros.room; i++) {
        const macro *m = macros.row[i].is;
        if (m == NULL || macros.row[i].unit != unit || m->call)
            continue;
        const size_t from = skip_blank(m->body, 0), end = skip_token(m->body, from);
        if (same((text){ m->body.at + from, end - from }, word)
            && skip_blank(m->body, end) == m->body.n)
            return m;
    }
    return NULL;
}

// The next macro of the command line; NULL: there is none.
macro *next_given(const translation *u, size_t *i)
{
    while (*i < macros.room) {
        macro *m = macros.row[(*i)++].is;
        while (m != NULL && !m->given)
            m = m->before;
        if (m != NULL && m->unit == (int)(u - units))
            return m;
    }
    return NULL;
}

// A #define at t.at[i], behind the name of the directive.
macro macro_read(text t, size_t i)
{
    macro m = { .at = { -1, 0, 0 }, .undef = { -1, 0, 0 } };
    while (i < t.n && (t.at[i] == ' ' || t.at[i] == '\t'))
        i++;
    const size_t from = i;
    while (i < t.n && word_char(t.at[i]))
        i++;
    m.name = (text){ t.at + from, i - from };
    m.call = i < t.n && t.at[i] == '(';
    const size_t body = i;
    while (i < t.n && t.at[i] != '\n')
        i = t.at[i] == '/' && i + 1 < t.n && t.at[i + 1] == '*'
            ? skip_comment(t, i)
            : t.at[i] == '"' || t.at[i] == '\'' ? skip_token(t, i)
            : i + (t.at[i] == '\\' && i + 1 < t.n ? 2 : 1);
    m.body = (text){ t.at + body, i - body };
    return m;
}

// The same tokens; how much white space is between them, or which comments, does
// not matter (C11 6.10.3).
bool same_tokens(text a, text b)
{
    size_t i = skip_blank(a, 0), k = skip_blank(b, 0);
    while (i < a.n && k < b.n) {
        const size_t ends = skip_token(a, i), end = skip_token(b, k);
        const size_t next = skip_blank(a, ends), other = skip_blank(b, end);
        if (!same((text){ a.at + i, ends - i }, (text){ b.at + k, end - k })
            || (next < a.n && other < b.n && (next == ends) != (other == end)))
            return false;
        i = next;
        k = other;
    }
    return i >= a.n && k >= b.n;
}

bool same_macro(const macro *a, const macro *b)
{
    return a == b || (a != NULL && b != NULL && a->call == b->call
                      && same_tokens(a->body, b->body));
}

static void macro_add(macro m, int unit)
{
    macro *made = take(sizeof *made);
    *made = m;
    made->unit = unit;
    made->before = macro_named(m.name, unit);
    name_set(&macros, m.name, unit, made);
}

// Behind `#` and the word, in a line that begins at t.at[i]; 0 if it is another
// directive.
size_t behind_directive(text t, size_t i, const char *word)
{
    while (i < t.n && (t.at[i] == ' ' || t.at[i] == '\t'))
        i++;
    if (i >= t.n || t.at[i++] != '#')
        return 0;
    while (i < t.n && (t.at[i] == ' ' || t.at[i] == '\t'))
        i++;
    return starts((text){ t.at + i, t.n - i }, word) ? i + strlen(word) : 0;
}

size_t line_end(text t, size_t i)
{
    while (i < t.n && t.at[i] != '\n')
        i += t.at[i] == '\\' && i + 1 < t.n ? 2 : 1;
    return i < t.n ? i : t.n;
}

// A definition of the source, so that it can be copied.
static bool macro_here(int index, size_t at, int unit)
{
    const text t = file_at(index)->text;
    const size_t name = behind_directive(t, at, "define");
    if (name == 0)
        return false;
    macro m = macro_read(t, name);
    m.at = (span){ index, at, (size_t)(m.body.at + m.body.n - t.at) };
    macro_add(m, unit);
    return true;
}

static void macro_ends(text t, size_t i, int now, size_t at, int unit)
{
    macro *m = macro_named(macro_read(t, i).name, unit);
    if (m != NULL && at)
        m->undef = (span){ now, at, at + 1 };
    if (m != NULL && !at)
        m->passing = true;
}

// What stands for several things in turn, as in templates (`#define BASE double`).
bool is_passing(text name, int unit)
{
    const macro *m = macro_named(name, unit);
    return m != NULL && m->passing;
}

// What it defines itself it defines each time.
static bool is_between(span s, const file *f)
{
    if (s.file < 0 || &files[s.file] == f)
        return false;
    const size_t x = files[s.file].included, at = x ? x - 1 : s.begin;
    return at >= f->first && at <= f->last;
}

// Whether a text names a macro that has one meaning where `f` is included first and
// another one where it is included again, or macros that name such macros.
static bool means_more_at(text t, const file *f, int unit, int depth)
{
    enum { MOST_DEPTH = 12 };
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n; i = skip_token(t, i)) {
        const text w = { t.at + i, skip_token(t, i) - i };
        const macro *m = word_char(w.at[0]) ? macro_named(w, unit) : NULL;
        for (; m != NULL; m = m->before)
            if (m->passing || is_between(m->at, f) || is_between(m->undef, f)
                || (m->before != NULL && !same_macro(m, m->before))
                || depth == MOST_DEPTH
                || means_more_at(m->body, f, unit, depth + 1))
                return true;
    }
    return false;
}

bool means_more(text t, int index, int unit)
{
    return index >= 0 && files[index].again
        && means_more_at(t, &files[index], unit, 0);
}

// Where a line of a source begins; lines come in their order.
typedef struct reading {
    int file;
    size_t at;
    unsigned line;              // that begins there
} reading;

static size_t begin_of(reading *r, int now, unsigned line)
{
    const text t = file_at(now)->text;
    if (now != r->file || line < r->line)
        *r = (reading){ now, 0, 1 };
    for (; r->line < line && r->at < t.n; r->line++) {
        while (r->at < t.n && t.at[r->at] != '\n')
            r->at++;
        r->at++;
    }
    return r->at;
}

// `# 12 "file" 1` at t.at[i]: where the next line stands.
bool line_marker(text t, size_t i, int *now, unsigned *line)
{
    if (i + 2 >= t.n || t.at[i] != '#' || !isdigit((unsigned char)t.at[i + 2]))
        return false;
    *line = (unsigned)strtoul(t.at + i + 2, NULL, 10);
    while (i < t.n && t.at[i] != '"' && t.at[i] != '\n')
        i++;
    const size_t from = i + 1;
    for (i = from; i < t.n && t.at[i] != '"' && t.at[i] != '\n';)
        i++;
    *now = file_named((text){ t.at + from, i - from });
    return true;
}

// Whether the file begins there.
static bool is_entered(text t, size_t i)
{
    const text line = { t.at + i, line_end(t, i) - i };
    return find(line, "\" 1") < line.n;
}

// What clang -E -dD prints: directives, in a text whose lines are told.
void macros_read(text t, int unit)
{
    const int source = units[unit].file;
    const int unit_text = file_named(T("<stdin>"));
    reading r = { source, 0, 1 };
    unsigned line = 1;
    size_t at = 0;                      // in the source itself
    int now = source;

    for (size_t i = 0; i < t.n; i = line_end(t, i) + 1, line++) {
        if (t.at[i] != '#')
            continue;
        const size_t name = behind_directive(t, i, "define");
        const bool here = source_unit(now) >= 0;
        const size_t before = now == source ? begin_of(&r, now, line) : at;
        if (line_marker(t, i, &now, &line)) {
            at = before;
            source_included(now, unit, at, is_entered(t, i));
            unit_include(unit, now, at);
            line--;
        } else if (behind_directive(t, i, "undef")) {
            if (now != unit_text)
                macro_ends(t, behind_directive(t, i, "undef"), now,
                           here ? begin_of(&r, now, line) : 0, unit);
        } else if (name && (!here
                            || !macro_here(now, begin_of(&r, now, line), unit))) {
            macro m = macro_read(t, name);
            m.given = file_at(now)->path[0] == '<'
                && strstr(file_at(now)->path, "command") != NULL;
            m.setting = now == unit_text;
            macro_add(m, unit);
        }
    }
}

/* --- spans ---------------------------------------------------------------- */

// Behind the invocation of a macro whose name is the token s.
static size_t invocation_end(spot s, int unit)
{
    const text t = file_at(s.file)->text;
    const macro *m = macro_named(token(s), unit);
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
    s.end = e->macro ? invocation_end(e->expanded, n->unit)
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
