/* text.c - slices of text, names, buffers, memory, and files.
 *
 * Memory is kept until the program ends: it writes one file, and is done.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define _DEFAULT_SOURCE         // mmap, madvise
#include "port.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* --- memory --------------------------------------------------------------- */

static void *sure(void *p)
{
    if (p == NULL) {
        fputs("adrev-port: out of memory\n", stderr);
        exit(3);
    }
    return p;
}

// Zeroed. Large pages, where the system has them: a fault for each small page took
// as long as reading what is put there.
static char *pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    if (p == MAP_FAILED)
        return sure(calloc(1, bytes));
#ifdef MADV_HUGEPAGE
    madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p;
}

void *take(size_t bytes)
{
    enum { AT_ONCE = 1 << 25 };
    static char *block;
    static size_t left;

    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > left) {
        left = bytes > AT_ONCE ? bytes : AT_ONCE;
        block = pages(left);
    }
    left -= bytes;
    block += bytes;
    return block - bytes;
}

void *grow(void *old, size_t *room, size_t need, size_t each)
{
    if (need <= *room)
        return old;
    while (*room < need)
        *room = *room ? 2 * *room : 16;
    return sure(realloc(old, *room * each));
}

/* --- slices --------------------------------------------------------------- */

text text_of(const char *s) { return (text){ s, strlen(s) }; }
text text_in(const buffer *b) { return (text){ b->at, b->n }; }

char *text_copy(text t)
{
    char *s = take(t.n + 1);
    if (t.n)
        memcpy(s, t.at, t.n);
    return s;
}

bool starts(text t, const char *s)
{
    const size_t n = strlen(s);
    return t.n >= n && memcmp(t.at, s, n) == 0;
}

const char *base_name(const char *path)
{
    return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

size_t find(text t, const char *s)
{
    const size_t n = strlen(s);
    const char *at = t.at, *end = t.at + t.n;

    while (n <= (size_t)(end - at)
           && (at = memchr(at, *s, (size_t)(end - at) - n + 1)) != NULL)
        if (memcmp(at, s, n) == 0)
            return (size_t)(at - t.at);
        else
            at++;
    return t.n;
}

bool word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* --- names ---------------------------------------------------------------- */

static size_t row_of(const names *all, text name, int unit)
{
    unsigned h = 5381u + (unsigned)unit;
    for (size_t i = 0; i < name.n; i++)
        h = h * 33 ^ (unsigned char)name.at[i];
    size_t i = (h ^ h >> 15) & (all->room - 1);
    while (all->row[i].name.at != NULL
           && !(all->row[i].unit == unit && same(all->row[i].name, name)))
        i = (i + 1) & (all->room - 1);
    return i;
}

static void enlarge(names *all)
{
    const names old = *all;
    all->room = old.room ? 4 * old.room : 256;
    all->row = take(all->room * sizeof *all->row);
    for (size_t i = 0; i < old.room; i++)
        if (old.row[i].name.at != NULL)
            all->row[row_of(all, old.row[i].name, old.row[i].unit)] = old.row[i];
}

void *name_find(const names *all, text name, int unit)
{
    return all->room ? all->row[row_of(all, name, unit)].is : NULL;
}

void name_set(names *all, text name, int unit, void *is)
{
    if (2 * all->count >= all->room)
        enlarge(all);
    name_row *r = &all->row[row_of(all, name, unit)];
    all->count += r->name.at == NULL;
    *r = (name_row){ name, unit, is };
}

/* --- buffers -------------------------------------------------------------- */

void put_text(buffer *b, text t)
{
    if (t.n == 0)
        return;
    b->at = grow(b->at, &b->room, b->n + t.n + 1, 1);
    memcpy(b->at + b->n, t.at, t.n);
    b->n += t.n;
    b->at[b->n] = 0;
}

void put(buffer *b, const char *s) { put_text(b, text_of(s)); }
void put_char(buffer *b, char c) { put_text(b, (text){ &c, 1 }); }

void put_list(buffer *b, const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    const int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    b->at = grow(b->at, &b->room, b->n + (size_t)n + 1, 1);
    vsnprintf(b->at + b->n, (size_t)n + 1, format, list);
    b->n += (size_t)n;
}

void putf(buffer *b, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    put_list(b, format, list);
    va_end(list);
}

/* --- files ---------------------------------------------------------------- */

text read_file(const char *path, bool *found)
{
    FILE *f = fopen(path, "rb");
    buffer b = { 0 };

    *found = f != NULL;
    if (f == NULL)
        return (text){ "", 0 };
    for (size_t n = 1; n > 0; b.n += n) {
        b.at = grow(b.at, &b.room, b.n + 65537, 1);
        n = fread(b.at + b.n, 1, 65536, f);
    }
    fclose(f);
    b.at[b.n] = 0;
    return text_in(&b);
}

bool write_file(const char *path, text t)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL)
        return false;
    const bool whole = fwrite(t.at, 1, t.n, f) == t.n;
    return fclose(f) == 0 && whole;
}
