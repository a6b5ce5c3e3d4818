/* head.c - the head of the file that is written: a comment, a guard, includes.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define _XOPEN_SOURCE 700
#include "port.h"
#include <stdlib.h>
#include <string.h>

static bool before_others(const char *s) { return strstr(s, "adrev") != NULL; }

// Whether a place of a file is in a declaration.
static bool in_declaration(const translation *u, int index, size_t at)
{
    for (int i = u->first; i < u->last; i++) {
        const span s = span_of(tree->kid[i]);
        if (s.file == index && s.begin < at && at < s.end)
            return true;
    }
    return false;
}

// The file that a line includes; nothing, if a macro says it.
static text included(text l)
{
    size_t i = 0;
    while (i < l.n && l.at[i] != '"' && l.at[i] != '<')
        i++;
    const char close = i < l.n && l.at[i] == '<' ? '>' : '"';
    const size_t from = i < l.n ? ++i : i;
    while (i < l.n && l.at[i] != close)
        i++;
    return (text){ l.at + from, i - from };
}

// Folders whose files have their names in front: <io.h> is not <sys/io.h>.
static bool named_with_folder(text path, size_t tail)
{
    static const char *const folder[] = { "/sys/", "/bits/", "/linux/", "/asm/",
                                          "/asm-generic/" };
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++) {
        const size_t n = strlen(folder[i]);
        if (path.n >= tail + n && memcmp(path.at + path.n - tail - n, folder[i],
                                         n) == 0)
            return true;
    }
    return false;
}

// Whether it is read: a line may stand where a condition excludes it.
static bool is_read(const translation *u, text name)
{
    for (size_t i = 0; i < u->headers; i++) {
        const text path = text_of(file_at(u->header[i].file)->path);
        text tail = name;
        while (starts(tail, "../") || starts(tail, "./"))
            tail = (text){ tail.at + 1, tail.n - 1 };
        if (path.n >= tail.n
            && same((text){ path.at + path.n - tail.n, tail.n }, tail)
            && (path.n == tail.n || path.at[path.n - tail.n - 1] == '/'
                || (tail.n && tail.at[0] == '/'))
            && !named_with_folder(path, tail.n))
            return true;
    }
    return name.n == 0;
}

// A header of the source whose name the written file takes is found beside the
// source.
static void put_include(buffer *b, text l, const translation *u)
{
    const char *name = text_copy(included(l));
    const char *slash = strrchr(u->path, '/');

    if (opt.out != NULL && strcmp(base_name(name), base_name(opt.out)) == 0) {
        buffer path = { 0 };
        if (slash != NULL)
            put_text(&path, (text){ u->path, (size_t)(slash - u->path) + 1 });
        put(&path, name);
        char *full = realpath(path.at, NULL);
        putf(b, "#include \"%s\"\n", full ? full : name);
        free(full);
        return;
    }
    put_text(b, l);
    put(b, "\n");
}

// The words behind the name of a directive; nothing, if it is another one.
static text behind_word(text l, const char *word)
{
    size_t k = 0;
    while (k < l.n && (l.at[k] == ' ' || l.at[k] == '#'))
        k++;
    const text rest = { l.at + k, l.n - k };
    const size_t n = strlen(word);
    return l.n && l.at[0] == '#' && starts(rest, word)
        ? (text){ rest.at + n, rest.n - n } : T("");
}

static bool is_include(text l) { return behind_word(l, "include").n > 0; }

static bool has_word(text t, text word)
{
    const char *const end = t.at + t.n;
    for (const char *at = t.at; (size_t)(end - at) >= word.n; at++) {
        at = memchr(at, word.at[0], (size_t)(end - at) - word.n + 1);
        if (at == NULL)
            return false;
        if (memcmp(at, word.at, word.n) == 0
            && (at == t.at || !word_char(at[-1]))
            && (at + word.n == end || !word_char(at[word.n])))
            return true;
    }
    return false;
}

// Whether a condition in a text names the word.
static bool is_tested(text t, text word)
{
    for (size_t i = 0; i < t.n; i++) {
        const char *end = memchr(t.at + i, '\n', t.n - i);
        const text line = { t.at + i, end ? (size_t)(end - t.at) - i : t.n - i };
        i += line.n;
        if (memchr(line.at, '#', line.n) == NULL)
            continue;
        const size_t from = skip_blank(line, 0);
        const text l = { line.at + from, line.n - from };
        if ((behind_word(l, "if").n || behind_word(l, "elif").n)
            && has_word(l, word))
            return true;
    }
    return false;
}

/* --- settings: macros that headers ask for -------------------------------- */

// Whether a header of the unit names it, or one of the system tests it; not one of
// adrev. What asks a header for its functions (`STB_IMAGE_IMPLEMENTATION`) is for one
// file of a program.
static bool header_asks(text name, const translation *u, bool of_system)
{
    if (name.n == 0 || find(name, "IMPLEMENTATION") < name.n)
        return false;
    for (size_t i = 0; i < u->headers; i++) {
        const int index = u->header[i].file;
        const file *f = file_at(index);
        if (system_file(index) != of_system || source_unit(index) >= 0
            || before_others(base_name(f->path)))
            continue;
        if (of_system ? is_tested(f->text, name) : has_word(f->text, name))
            return true;
    }
    return false;
}

bool system_asks(const macro *m)
{
    return header_asks(m->name, &units[m->unit], true);
}

static names settings;          // of the includes of a unit
static names stay;              // of headers of the system

bool setting_stays(text name) { return name_find(&stay, name, -1) != NULL; }

// What headers of the system say by it is not looked at: that must be one thing.
static void put_staying(buffer *b, macro *m)
{
    const macro *first = name_find(&stay, m->name, -1);
    if (first != NULL && !same_macro(first, m))
        refuse_line(m->at, "convert the files one by one", "two files set what a "
                    "header asks for in different ways");
    if (first != NULL)
        return;
    name_set(&stay, m->name, -1, m);
    putf(b, "#ifndef %.*s\n", (int)m->name.n, m->name.at);
    put_definition(b, m);
    put(b, "#endif\n");
}

// Others hold for the includes of the unit.
static void put_setting(buffer *b, macro *m, const translation *u)
{
    const int unit = (int)(u - units), n = (int)m->name.n;
    const macro *now = name_find(&settings, m->name, unit);
    if (!m->given && header_asks(m->name, u, true)) {
        put_staying(b, m);
        return;
    }
    if (same_macro(now, m) || !header_asks(m->name, u, false))
        return;
    name_set(&settings, m->name, unit, m);
    if (now == NULL)
        putf(b, "#pragma push_macro(\"%.*s\")\n", n, m->name.at);
    putf(b, "#undef %.*s\n", n, m->name.at);
    put_definition(b, m);
}

static void end_settings(buffer *b, const translation *u)
{
    for (size_t i = 0; i < settings.room; i++) {
        const name_row *r = &settings.row[i];
        if (r->name.at != NULL && r->unit == (int)(u - units))
            putf(b, "#pragma pop_macro(\"%.*s\")\n", (int)r->name.n, r->name.at);
    }
}

static text word_behind(text l, const char *directive)
{
    const text rest = behind_word(l, directive);
    const size_t from = skip_blank(rest, 0);
    return (text){ rest.at + from, skip_token(rest, from) - from };
}

// What the source defines before it includes headers, if it is read.
static void put_settings(buffer *b, text l, const translation *u, span line)
{
    const text name = word_behind(l, "define"), end = word_behind(l, "undef");
    macro *m = name.n ? macro_named(name, (int)(u - units)) : NULL;
    while (m != NULL && (m->at.file != line.file || m->at.begin < line.begin
                         || m->at.begin >= line.end))
        m = m->before;
    if (m != NULL)
        put_setting(b, m, u);
    if (end.n && name_find(&settings, end, (int)(u - units)) != NULL)
        putf(b, "#undef %.*s\n", (int)end.n, end.at);
}

static size_t last_include(text t)
{
    size_t last = 0;
    for (size_t i = 0; i < t.n; i++) {
        const size_t line = i;
        while (i < t.n && t.at[i] != '\n')
            i++;
        if (is_include((text){ t.at + line, i - line }))
            last = line;
    }
    return last;
}

// A file of code that is included is a source, too.
static bool is_code(text name)
{
    return name.n > 2 && is((text){ name.at + name.n - 2, 2 }, ".c");
}

static bool put_includes_of(buffer *b, const translation *u, int index)
{
    static names seen;
    const text t = file_at(index)->text;
    const size_t last = last_include(t);
    bool adrev = false;
    for (size_t i = 0; i < t.n && i <= last; i++) {
        const size_t line = i;
        while (i < t.n && t.at[i] != '\n')
            i++;
        const text l = { t.at + line, i - line };
        put_settings(b, l, u, (span){ index, line, i });
        if (!is_include(l) || in_declaration(u, index, line)
            || !is_read(u, included(l)) || is_code(included(l))
            || name_find(&seen, l, -1) != NULL)
            continue;
        name_set(&seen, l, -1, &seen);
        adrev |= before_others(text_copy(l));
        put_include(b, l, u);
    }
    return adrev;
}

static bool header_included;    // adrev.h

bool adrev_included(void) { return header_included; }

static buffer made_of(const translation *u)
{
    buffer b = { 0 };
    macro *m;
    for (size_t i = 0; (m = next_given(u, &i)) != NULL;)
        put_setting(&b, m, u);
    header_included |= put_includes_of(&b, u, u->file);
    for (size_t i = 0; i < u->headers; i++) {
        const int index = u->header[i].file;
        if (index != u->file && source_unit(index) >= 0
            && is_code(text_of(file_at(index)->path)))
            header_included |= put_includes_of(&b, u, index);
    }
    end_settings(&b, u);
    const text t = text_in(&b);         // perhaps others have its headers before
    b.n = find(t, "#include") < t.n || find(t, "#ifndef") < t.n ? t.n : 0;
    return b;
}

text includes_of(int unit)
{
    static buffer *made;
    if (made == NULL) {
        made = take((size_t)unit_count * sizeof *made);
        for (int u = 0; u < unit_count; u++)
            if (units[u].root != NULL)
                made[u] = made_of(&units[u]);
    }
    return text_in(&made[unit]);
}

static void put_includes(buffer *b)
{
    for (int u = 0; u < unit_count; u++)
        if (units[u].root != NULL) {
            put_text(b, includes_of(u));
            put_ends(b);
        }
    if (!header_included)
        put(b, "#include \"adrev.h\"\n");
    if (opt.stubs != NULL && opt.stub_text.n)
        putf(b, "#include \"%s\"\n", base_name(opt.stubs));
}

static void put_guard(buffer *b)
{
    for (const char *s = base_name(opt.out); *s; s++)
        put_char(b, word_char(*s) ? (char)(*s >= 'a' && *s <= 'z' ? *s - 32 : *s)
                                  : '_');
}

static const char real_kinds[] =
"\n// `real` is double with ADREV_PORT_PLAIN, ad_fwd with ADREV_PORT_FORWARD, and\n"
"// ad_rev otherwise.\n"
"#ifndef real_rec\n"
"#if defined ADREV_PORT_PLAIN\n"
"typedef double real;\n"
"#define real_rec(e) ad_value(e)\n"
"#define real_acc(s, e) ((void)(*(s) += ad_value(e)))\n"
"#define real_constant(c) c\n"
"#elif defined ADREV_PORT_FORWARD\n"
"typedef ad_fwd real;\n"
"#define real_rec(e) ad_dual(e)\n"
"#define real_acc(s, e) ad_acc(s, e)\n"
"#define real_constant(c) { .v = c }\n"
"#else\n"
"typedef ad_rev real;\n"
"#define real_rec(e) ad_rec(e)\n"
"#define real_acc(s, e) ad_acc(s, e)\n"
"#define real_constant(c) { .v = c }\n"
"#endif\n"
"#endif\n";

void put_head(buffer *b)
{
    const char *before = "/* Made by adrev-port from ";
    for (int u = 0; u < unit_count; u++)
        if (units[u].root != NULL) {
            putf(b, "%s%s", before, base_name(units[u].path));
            before = ", ";
        }
    put(b, ": changes belong there.\n *\n");
    for (int i = 0; i < opt.entries; i++)
        putf(b, " *     %.*s%s", (int)opt.entry[i].n, opt.entry[i].at, opt.suffix),
        putf(b, i + 1 < opt.entries ? "\n" : "");
    put(b, " of");
    if (opt.all)
        put(b, " all its numbers");
    for (int i = 0; i < opt.withs; i++)
        putf(b, "%s %.*s", i ? "," : "", (int)opt.with[i].name.n, opt.with[i].name.at);
    put(b, "\n */\n\n#ifndef ");
    put_guard(b);
    put(b, "\n#define ");
    put_guard(b);
    put(b, "\n\n");
    put_includes(b);
    if (strcmp(opt.number, "real") == 0)
        put(b, real_kinds);
}
