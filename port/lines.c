/* lines.c - lines of 80 columns.
 *
 * A line that has become too long is broken behind a comma of the outermost
 * brackets, and what follows is aligned with what stands in them.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <string.h>

void trim(buffer *b)
{
    while (b->n && (b->at[b->n - 1] == ' ' || b->at[b->n - 1] == '\n'))
        b->n--;
}

typedef struct brackets {
    int depth;
    size_t column[64];          // of what stands in each
} brackets;

// The comma of least depth before column 80, and the brackets that are open
// there.
static size_t best_cut(text l, brackets b, size_t least, brackets *at)
{
    size_t cut = 0;
    at->depth = 99;
    for (size_t i = 0; i < l.n && i < 80;) {
        const char c = l.at[i];
        if (c == '/' && i + 1 < l.n && (l.at[i + 1] == '/' || l.at[i + 1] == '*'))
            break;
        const size_t next = skip_token(l, i);
        if (strchr("({[", c) != NULL && b.depth < 63)
            b.column[++b.depth] = next;
        if (strchr(")}]", c) != NULL && b.depth > 0)
            b.depth--;
        const bool choice = (c == '?' || c == ':') && i > 0
            && l.at[i - 1] == ' ' && next < l.n && l.at[next] == ' ';
        const size_t here = choice ? i : next;
        if ((c == ',' || choice) && b.depth > 0 && b.depth <= at->depth
            && here < l.n && here <= 80 && here >= least) {
            cut = here;
            *at = b;
        }
        i = next;
    }
    return cut;
}

// Behind the `=` of a declaration or an assignment.
static size_t assignment_cut(text l)
{
    for (size_t i = 0; i + 2 < l.n && i < 80; i = skip_token(l, i)) {
        if (strchr("({[\"/", l.at[i]) != NULL)
            break;
        if (l.at[i] == '=' && l.at[i + 1] == ' ' && l.at[i - 1] == ' ')
            return i + 1;
    }
    return 0;
}

static bool has_cut(text l)
{
    brackets at;
    return best_cut(l, (brackets){ 0 }, 0, &at) > 0;
}

static void put_line(buffer *b, text l)
{
    brackets open = { 0 }, at;
    size_t cut = l.n > 80 && !has_cut(l) ? assignment_cut(l) : 0;
    buffer moved = { 0 };
    if (cut > 0) {
        put_text(b, (text){ l.at, cut });
        put(b, "\n");
        put_text(&moved, (text){ l.at, skip_blank(l, 0) });
        put(&moved, "    ");
        put_text(&moved, (text){ l.at + cut + 1, l.n - cut - 1 });
        l = text_in(&moved);
    }
    for (int i = 0; i < 60 && l.n > 80
                    && ((cut = best_cut(l, open, 48, &at)) > 0
                        || (cut = best_cut(l, open, 0, &at)) > 0); i++) {
        buffer rest = { 0 };
        put_text(b, (text){ l.at, cut });
        trim(b);
        put(b, "\n");
        const size_t next = skip_blank(l, cut);
        size_t column = at.column[at.depth];
        if (column > 40 && l.n - next > 80 - column)
            column = 40;
        for (size_t k = 0; k < column; k++)
            put_char(&rest, ' ');
        put_text(&rest, (text){ l.at + next, l.n - next });
        l = text_in(&rest);
        open = at;
    }
    put_text(b, l);
}

// `if (...) statement` in two lines.
static void put_statement(buffer *b, text l)
{
    size_t i = skip_blank(l, 0);
    const size_t indent = i;
    if (starts((text){ l.at + i, l.n - i }, "else "))
        i += 5;
    const text t = { l.at + i, l.n - i };
    const size_t word = starts(t, "if (") ? 3 : starts(t, "while (") ? 6
        : starts(t, "for (") ? 4 : 0;
    const size_t end = word ? closing(l, i + word) : i > indent ? i : l.n;
    const size_t next = end < l.n ? skip_blank(l, end) : l.n;
    buffer rest = { 0 };
    if (next >= l.n || strchr("{;/", l.at[next]) != NULL) {
        put_line(b, l);
        return;
    }
    put_line(b, (text){ l.at, end });
    trim(b);
    put(b, "\n");
    for (size_t k = 0; k < indent + 4; k++)
        put_char(&rest, ' ');
    put_text(&rest, (text){ l.at + next, l.n - next });
    put_statement(b, text_in(&rest));
}

static bool plain_line(text l)
{
    const size_t i = skip_blank(l, 0);
    return i < l.n && l.at[i] == '#';
}

// A recording belongs to one thread: what asks for several is left out.
static bool for_threads(text l)
{
    size_t i = skip_blank(l, 0);
    if (i >= l.n || l.at[i] != '#')
        return false;
    i = skip_blank(l, i + 1);
    if (!starts((text){ l.at + i, l.n - i }, "pragma"))
        return false;
    i = skip_blank(l, i + 6);
    const text words = { l.at + i, l.n - i };
    if (!starts(words, "omp ") || starts(words, "omp simd"))
        return false;
    note(NULL, "#pragma omp is left out: a recording belongs to one thread");
    return true;
}

// A directive goes on behind a line that ends with a backslash.
static bool goes_on(text l)
{
    return l.n > 0 && l.at[l.n - 1] == '\\';
}

void put_lines(buffer *b, text t)
{
    bool directive = false;
    for (size_t i = 0; i < t.n;) {
        size_t e = i;
        while (e < t.n && t.at[e] != '\n')
            e++;
        const text l = { t.at + i, e - i };
        i = e + 1;
        if (for_threads(l))
            continue;
        directive = directive || plain_line(l);
        if (l.n <= 80 || directive)
            put_text(b, l);
        else
            put_statement(b, l);
        directive = directive && goes_on(l);
        put(b, e < t.n ? "\n" : "");
    }
}
