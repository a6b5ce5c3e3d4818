/* places.c - whether macros mean where a text is written what they mean where it
 * stands in the program.
 *
 * A text that is copied may name macros, also in `#if` lines in a body. Headers
 * define them around it, anew, or otherwise each time it is included. The written
 * file has one definition at a place: it must be the one that the source had there,
 * or the text is refused. What clang's preprocessor prints of both is read: all
 * directives in their order, and where each line of text stands.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>
#include <string.h>

#define MARK "pragma adrev_port "

typedef struct sense {          // of a word where the text is written
    text word;
    const macro *macro;         // NULL: it is none
} sense;

typedef struct passage {        // a text that is written
    const node *of;             // the declaration that it is made of
    text text;
    size_t at;                  // in the written file
    sense *word;
    size_t words, room;
    bool found, told;
} passage;

static passage *all;
static size_t count, all_room;

void passage_add(const node *of, text t, size_t at)
{
    all = grow(all, &all_room, count + 1, sizeof *all);
    all[count++] = (passage){ .of = of, .text = t, .at = at };
}

/* --- definitions at a place ----------------------------------------------- */

typedef struct table {
    names now;
    names pushed;               // by #pragma push_macro
    int file;                   // where the text comes from
    unsigned line;
} table;

// `#define stderr stderr` changes nothing.
static const macro *defined_as(const table *t, text word)
{
    const macro *m = name_find(&t->now, word, -1);
    return m != NULL && !m->call && same_tokens(m->body, word) ? NULL : m;
}

static void define(table *t, text printed, size_t name)
{
    macro *m = take(sizeof *m);
    *m = macro_read(printed, name);
    m->given = system_file(t->file);
    name_set(&t->now, m->name, -1, m);
}

static text word_at(text t, size_t i)
{
    i = skip_blank(t, i);
    return (text){ t.at + i, skip_token(t, i) - i };
}

// A line that begins with `#`; what it marks.
static text take_directive(table *t, text printed, size_t i)
{
    const size_t name = behind_directive(printed, i, "define");
    const size_t end = behind_directive(printed, i, "undef");
    const size_t mark = behind_directive(printed, i, MARK);
    const size_t push = behind_directive(printed, i, MARK "push");
    const size_t pop = behind_directive(printed, i, MARK "pop");
    if (name)
        define(t, printed, name);
    else if (end)
        name_set(&t->now, word_at(printed, end), -1, NULL);
    else if (push)
        name_set(&t->pushed, word_at(printed, push), -1,
                 name_find(&t->now, word_at(printed, push), -1));
    else if (pop)
        name_set(&t->now, word_at(printed, pop), -1,
                 name_find(&t->pushed, word_at(printed, pop), -1));
    else if (!line_marker(printed, i, &t->file, &t->line))
        return mark ? word_at(printed, mark) : T("");
    else
        t->line--;
    return T("");
}

/* --- where it is written -------------------------------------------------- */

static bool is_name(text w)
{
    return word_char(w.at[0]) && !(w.at[0] >= '0' && w.at[0] <= '9');
}

// The words of a text, and those of the macros that it names.
static void note_words(passage *p, text t, const table *now, names *noted)
{
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n; i = skip_token(t, i)) {
        const text w = { t.at + i, skip_token(t, i) - i };
        if (!is_name(w) || name_find(noted, w, -1) == p)
            continue;
        name_set(noted, w, -1, p);
        const macro *m = defined_as(now, w);
        if (m == NULL && macro_named(w, p->of->unit) == NULL)
            continue;
        p->word = grow(p->word, &p->room, p->words + 1, sizeof *p->word);
        p->word[p->words++] = (sense){ w, m };
        if (m != NULL)
            note_words(p, m->body, now, noted);
    }
}

static void read_written(text printed)
{
    names noted = { 0 };
    table now = { .file = -1 };
    for (size_t i = 0; i < printed.n; i = line_end(printed, i) + 1) {
        const text mark = take_directive(&now, printed, i);
        if (mark.n == 0 || mark.at[0] < '0' || mark.at[0] > '9')
            continue;
        passage *p = &all[strtoul(mark.at, NULL, 10)];
        note_words(p, p->text, &now, &noted);
    }
}

/* --- where it stands ------------------------------------------------------ */

static int by_place(const void *a, const void *b)
{
    const node *x = (*(passage *const *)a)->of, *y = (*(passage *const *)b)->of;
    const spot *s = &x->begin.expanded, *t = &y->begin.expanded;
    if (x->unit != y->unit)
        return x->unit - y->unit;
    return s->file != t->file ? s->file - t->file
         : (s->line > t->line) - (s->line < t->line);
}

// The text itself defines it, or ends it.
static bool is_own(text t, text word)
{
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n; i = skip_token(t, i)) {
        const size_t at = t.at[i] == '#' ? skip_blank(t, i + 1) : t.n;
        const text what = word_at(t, at);
        if (one_of(what, "define undef") && same(word_at(t, at + what.n), word))
            return true;
    }
    return false;
}

// Left out of what is written, which has in its place what it stands for.
static bool is_gone(const sense *s, int unit)
{
    const macro *m = s->macro == NULL ? macro_named(s->word, unit) : NULL;
    while (m != NULL && !m->gone && !names_gone(m->body, unit))
        m = m->before;
    return m != NULL;
}

static bool has_word(text t, text word)
{
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n; i = skip_token(t, i))
        if (same(word_at(t, i), word))
            return true;
    return false;
}

// Words that this program writes: macros of adrev.h, of the head, and of the system.
static bool is_ours(const passage *p, const sense *s)
{
    static const char *const ours[] = { "ad_", "AD_", "adrev", "ADREV", "real" };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (starts(s->word, ours[i]))
            return true;
    return s->macro != NULL && s->macro->given
        && !has_word(slice(span_of(p->of)), s->word);
}

static void compare(passage *p, const table *now)
{
    p->found = true;
    for (size_t i = 0; i < p->words && !p->told; i++) {
        const sense *s = &p->word[i];
        const macro *m = defined_as(now, s->word);
        if (same_macro(m, s->macro) || (m == NULL && is_ours(p, s))
            || is_gone(s, p->of->unit) || is_own(p->text, s->word))
            continue;
        p->told = true;
        refuse(p->of, "write it without the macro, give each file its own header, "
               "or convert the files one by one", "%.*s means something else "
               "where this would be written: headers define it in several ways, or "
               "around this only", (int)s->word.n, s->word.at);
    }
}

static bool has_text(text t, size_t i)
{
    while (i < t.n && (t.at[i] == ' ' || t.at[i] == '\t'))
        i++;
    return i < t.n && t.at[i] != '\n';
}

// Those of one unit, in the order of their places.
static void read_unit(passage **list, size_t n)
{
    const text printed = units[list[0]->of->unit].printed;
    table now = { .file = -1 };
    for (size_t i = 0; i < printed.n; i = line_end(printed, i) + 1, now.line++) {
        if (printed.at[i] == '#')
            take_directive(&now, printed, i);
        else if (has_text(printed, i)) {
            const node here = { .unit = list[0]->of->unit,
                .begin.expanded = { .file = now.file, .line = now.line } };
            const passage key = { .of = &here }, *at = &key;
            size_t low = 0;
            for (size_t high = n; low < high;)
                if (by_place(&list[low + (high - low) / 2], &at) < 0)
                    low += (high - low) / 2 + 1;
                else
                    high = low + (high - low) / 2;
            for (; low < n && by_place(&list[low], &at) == 0; low++)
                compare(list[low], &now);
        }
    }
    for (size_t i = 0; i < n; i++)              // #line: no place is known
        if (!list[i]->found)
            compare(list[i], &now);
}

/* --- all of it ------------------------------------------------------------ */

// The written file must not need what the command line of its sources defines.
static void put_ungiven(buffer *b)
{
    const macro *m;
    for (int u = 0; u < unit_count; u++)
        for (size_t i = 0; units[u].root && (m = next_given(&units[u], &i));)
            if (!system_asks(m))
                putf(b, "#undef %.*s\n", (int)m->name.n, m->name.at);
}

// Comments in a definition may go on in other lines.
static size_t directive_end(text t, size_t i)
{
    const size_t name = behind_directive(t, i, "define");
    const macro m = name ? macro_read(t, name) : (macro){ .body = { NULL, 0 } };
    return name ? (size_t)(m.body.at + m.body.n - t.at) : line_end(t, i);
}

// The directives of what is written, and marks where its texts begin.
static text skeleton(text written)
{
    buffer b = { 0 };
    size_t p = 0;
    bool first = true;                          // in its line
    put_ungiven(&b);
    for (size_t i = 0, end; i < written.n; i = end) {
        for (; p < count && i >= all[p].at; p++)
            putf(&b, "#" MARK "%zu\n", p);
        const size_t from = skip_blank(written, i);
        for (; i < from && i < written.n; i++)
            first |= written.at[i] == '\n';
        end = from < written.n && written.at[from] == '#' && first
            ? directive_end(written, from) : skip_token(written, from);
        const text l = { written.at + from, end - from };
        if (first && l.n && l.at[0] == '#' && !(is(l, "#include \"adrev.h\"")
                                                && !adrev_included())) {
            const size_t push = behind_directive(l, 0, "pragma push_macro(\"");
            const size_t pop = behind_directive(l, 0, "pragma pop_macro(\"");
            put_text(&b, l);
            put(&b, "\n");
            if (push || pop)
                putf(&b, "#" MARK "%s %.*s\n", push ? "push" : "pop",
                     (int)word_at(l, push + pop).n, l.at + push + pop);
        }
        first = false;
    }
    return text_in(&b);
}

// Only then may a macro have two meanings.
static bool may_differ(void)
{
    int read = 0;
    for (int u = 0; u < unit_count; u++) {
        read += units[u].root != NULL;
        for (size_t i = 0; units[u].root != NULL && i < units[u].headers; i++) {
            const int index = units[u].header[i].file;
            if (source_unit(index) < 0 && !system_file(index))
                return true;
        }
    }
    return read > 1;
}

void passages_check(text written)
{
    if (count == 0 || refused || !may_differ())
        return;
    const text printed = includes_printed(skeleton(written));
    read_written(printed);
    seen_again(printed);
    passage **list = take(count * sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = &all[i];
    qsort(list, count, sizeof *list, by_place);
    for (size_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && list[i + n]->of->unit == list[i]->of->unit;)
            n++;
        read_unit(&list[i], n);
    }
}
