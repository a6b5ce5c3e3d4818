/* messages.c - refusals, and notes at the end of the written file.
 *
 * A refusal is three lines: place and reason, the expression, a proposal.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct message {
    int file;
    unsigned line, col;
    size_t at;
    char *said, *expression;
    const char *proposal;
} message;

static message *refusals, *notes;
static size_t refusal_room, note_room, note_count;
int refused;

// The expression on one line, shortened.
static char *one_line(text t)
{
    buffer b = { 0 };
    for (size_t i = 0; i < t.n && b.n < 70; i++)
        if (!isspace((unsigned char)t.at[i]))
            put_char(&b, t.at[i]);
        else if (b.n && b.at[b.n - 1] != ' ')
            put_char(&b, ' ');
    trim(&b);
    if (b.n >= 70)
        put(&b, " ...");
    return b.n ? text_copy(text_in(&b)) : text_copy(T("?"));
}

// Of a function without its body.
static text head_of(const node *n)
{
    const node *body = n->kind == FunctionDecl ? body_of((node *)n) : NULL;
    span s = span_of(n);
    if (body != NULL && span_of(body).begin > s.begin)
        s.end = span_of(body).begin;
    return slice(s);
}

static const char no_place[] = "(no place)";

static message message_at(const node *at, const char *said)
{
    message m = { .file = units[0].file, .line = 1, .col = 1, .said = text_copy(text_of(said)),
                  .expression = text_copy(text_of(no_place)) };
    const spot *s = NULL;

    for (; at != NULL && s == NULL; at = at->parent)
        if (at->begin.expanded.file >= 0) {
            s = at->loc.expanded.file >= 0 && at->kind != CallExpr
                ? &at->loc.expanded : &at->begin.expanded;
            m.expression = one_line(head_of(at));
        }
    if (s == NULL)
        return m;
    m.file = s->file;
    m.at = s->at;
    lines_of(s->file, s->at, &m.line, &m.col);
    return m;
}

static bool told(const message *list, size_t n, const message *m)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].file == m->file && list[i].at == m->at
            && strcmp(list[i].said, m->said) == 0)
            return true;
    return false;
}

static bool add_refusal(message m, const char *proposal)
{
    m.proposal = proposal;
    if (told(refusals, (size_t)refused, &m))
        return false;
    refusals = grow(refusals, &refusal_room, (size_t)refused + 1, sizeof m);
    refusals[refused++] = m;
    return false;
}

bool refuse(const node *at, const char *proposal, const char *format, ...)
{
    buffer b = { 0 };
    va_list list;
    va_start(list, format);
    put_list(&b, format, list);
    va_end(list);
    return add_refusal(message_at(at, b.at), proposal);
}

void refuse_line(span at, const char *proposal, const char *said)
{
    message m = { .file = at.file, .at = at.begin, .said = text_copy(text_of(said)),
                  .expression = one_line(slice(at)) };
    lines_of(at.file, at.begin, &m.line, &m.col);
    add_refusal(m, proposal);
}

void note(const node *at, const char *format, ...)
{
    buffer b = { 0 };
    va_list list;
    va_start(list, format);
    put_list(&b, format, list);
    va_end(list);
    message m = message_at(at, b.at);
    if (told(notes, note_count, &m))
        return;
    notes = grow(notes, &note_room, note_count + 1, sizeof m);
    notes[note_count++] = m;
}

static int by_place(const void *a, const void *b)
{
    const message *x = a, *y = b;
    return x->file != y->file ? x->file - y->file
         : x->at != y->at ? (x->at > y->at) - (x->at < y->at)
         : strcmp(x->said, y->said);
}

void refusals_print(void)
{
    if (refused)
        qsort(refusals, (size_t)refused, sizeof *refusals, by_place);
    for (int i = 0; i < refused; i++) {
        const message *m = &refusals[i];
        fprintf(stderr, "%s:%u:%u: %s\n    %s\n    %s\n",
                file_at(m->file)->path, m->line, m->col, m->said,
                m->expression, m->proposal);
    }
}

void notes_print(buffer *b, const char *before)
{
    if (note_count)
        qsort(notes, note_count, sizeof *notes, by_place);
    for (size_t i = 0; i < note_count; i++) {
        const message *m = &notes[i];
        if (strcmp(m->expression, no_place) == 0) {
            putf(b, "%s%s\n", before, m->said);
            continue;
        }
        putf(b, "%s%s%sline %u: %s: %s\n", before,
             unit_count > 1 ? base_name(file_at(m->file)->path) : "",
             unit_count > 1 ? ", " : "", m->line, m->said, m->expression);
    }
}
