/* json.c - reads JSON, one member after another.
 *
 * Only what clang and build systems write is read: names are slices of the
 * text, and what is not needed is skipped. What a program writes is read while
 * it still writes: from `at` to `end` stands what has come of it, in a block
 * that is kept. A token that the block ends in is copied to the next one.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define _XOPEN_SOURCE 700
#include "port.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 18 };

static const char *at, *end;
static char *block;             // where `end` is in
static size_t block_left;       // behind `end`
static int pipe_read = -1;      // what follows; -1: nothing does

static void next_block(const char **from)
{
    const size_t kept = (size_t)(end - *from);
    block = take(kept + BLOCK + 1);
    if (kept)
        memcpy(block, *from, kept);
    at = block + (at - *from);
    *from = block;
    end = block += kept;
    block_left = BLOCK;
}

// Waits for more. What stands from *from on stays in one piece. false: there is
// no more.
static bool more(const char **from)
{
    if (pipe_read < 0)
        return false;
    if (block_left == 0)
        next_block(from);
    const ssize_t n = read(pipe_read, block, block_left);
    if (n <= 0) {
        pipe_read = -1;
        return false;
    }
    block += n;
    block_left -= (size_t)n;
    end = block;
    return true;
}

// Blanks at `at`, n of them.
static bool indented(size_t n)
{
    static const char blanks[] = "                                "
                                 "                                ";
    return n < sizeof blanks && n <= (size_t)(end - at)
        && memcmp(at, blanks, n) == 0;
}

// Most of what clang writes is blanks: a line begins with as many of them as the
// one before, or with two fewer if something ends, or with more.
static void skip_indent(void)
{
    static size_t before;
    const char *from = at;

    if (indented(before))
        at += before;
    else if (before > 2 && indented(before - 2))
        at += before - 2;
    while (at < end && *at == ' ')
        at++;
    before = (size_t)(at - from);
}

static void skip_blanks(void)
{
    do {
        while (at < end && (*at == ' ' || *at == '\r' || *at == '\t'))
            at++;
        while (at < end && *at == '\n') {
            at++;
            skip_indent();
        }
    } while (at == end ? more(&at) : *at == '\r' || *at == '\t');
}

static inline void blank(void)
{
    if (at == end || *at <= ' ')
        skip_blanks();
}

bool json_next(char c)
{
    blank();
    if (at < end && *at == c) {
        at++;
        return true;
    }
    return false;
}

static char unescaped(const char **p)
{
    const char c = *(*p)++;
    if (c == 'n') return '\n';
    if (c == 't') return '\t';
    if (c != 'u') return c;
    const char hex[5] = { (*p)[0], (*p)[1], (*p)[2], (*p)[3], 0 };
    *p += 4;
    return (char)strtol(hex, NULL, 16);
}

static text plain_text(text raw)
{
    buffer b = { 0 };
    for (const char *p = raw.at; p < raw.at + raw.n;)
        if (*p == '\\')
            p++, put_char(&b, unescaped(&p));
        else
            put_char(&b, *p++);
    return text_in(&b);
}

// Passes what is in a string as it is. false: it has no end.
static bool plain_until_stop(const char **from)
{
    static const bool stops[256] = { [0] = true, ['"'] = true, ['\\'] = true };
    do                                  // at `end` there is a 0
        while (!stops[(unsigned char)*at])
            at++;
    while (at == end && more(from));
    return at < end;
}

text json_string(void)
{
    if (!json_next('"'))
        return (text){ "", 0 };
    const char *from = at;
    bool escaped = false;
    for (; plain_until_stop(&from) && *at != '"'; at++)
        if (*at == '\\' && (at + 1 < end || more(&from)))
            escaped = true, at++;
    const text t = { from, (size_t)(at - from) };
    at++;
    return escaped ? plain_text(t) : t;
}

// A number, true, false or null.
static text bare(void)
{
    blank();
    const char *from = at;
    while ((at < end || more(&from)) && *at != ',' && *at != '}' && *at != ']'
           && *at != '\n')
        at++;
    return (text){ from, (size_t)(at - from) };
}

void json_skip(void)
{
    int depth = 0;
    do {
        blank();
        if (at >= end)
            return;
        if (*at == '"')
            json_string();
        else if (*at == '{' || *at == '[')
            depth++, at++;
        else if (*at == '}' || *at == ']')
            depth--, at++;
        else if (*at == ',' || *at == ':')
            at++;
        else
            bare();
    } while (depth > 0);
}

text json_scalar(void)
{
    blank();
    return at < end && *at == '"' ? json_string() : bare();
}

void json_begin(text t)
{
    at = t.at;
    end = t.at + t.n;
    pipe_read = -1;
}

void json_begin_pipe(int descriptor)
{
    at = end = block;
    pipe_read = descriptor;
}

bool json_more(void)
{
    blank();
    return at < end;
}

bool json_object(void)
{
    return json_more() && *at == '{';
}

// Whether there is another member of the object; then its name.
bool json_member(text *name, bool *first)
{
    if (json_next('}'))
        return false;
    if (!*first)
        json_next(',');
    *first = false;
    *name = json_string();
    json_next(':');
    return json_more();
}
