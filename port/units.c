/* units.c - the files that are read.
 *
 * Files come from the command line and from compile_commands.json. One is read
 * only when something is needed that it seems to define: a name outside of all
 * braces. So a long list of files costs little.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define _XOPEN_SOURCE 700
#include "port.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static size_t unit_room;

/* --- lists of words ------------------------------------------------------- */

static void add_flag(translation *u, text w)
{
    const char **list = take((size_t)(u->flags + 1) * sizeof *list);
    if (u->flags)
        memcpy(list, u->flag, (size_t)u->flags * sizeof *list);
    list[u->flags++] = text_copy(w);
    u->flag = list;
}

// The next word of a command, as a shell reads it.
static bool next_word(text t, size_t *i, buffer *w)
{
    char quote = 0;
    w->n = 0;
    put(w, "");
    while (*i < t.n && isspace((unsigned char)t.at[*i]))
        ++*i;
    if (*i >= t.n)
        return false;
    for (; *i < t.n && (quote || !isspace((unsigned char)t.at[*i])); ++*i) {
        const char c = t.at[*i];
        if (c == '\\' && quote != '\'' && *i + 1 < t.n)
            put_char(w, t.at[++*i]);
        else if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? 0 : c;
        else
            put_char(w, c);
    }
    return true;
}

/* --- compile_commands.json ------------------------------------------------ */

static text folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (text){ path, (size_t)(slash - path) } : T(".");
}

static text path_in(text folder, text path)
{
    buffer b = { 0 };
    if (path.n == 0 || path.at[0] != '/')
        putf(&b, "%.*s/", (int)folder.n, folder.at);
    put_text(&b, path);
    char *full = realpath(b.at, NULL);
    return full ? text_of(full) : text_in(&b);
}

// Headers ask for what the processor has. That of a cross project is not one of
// this machine's compiler.
static bool of_processor(text w)
{
    static const char *const some[] = { "-march=native", "-march=x86",
                                        "-msse", "-mssse", "-mavx",
                                        "-mfma", "-mf16c", "-mbmi", "-mpopcnt",
                                        "-mlzcnt" };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (starts(w, some[i]))
            return true;
    return false;
}

// Flags that say how a file is read. Folders and files of some are of
// `directory`.
static void take_flags(translation *u, text *word, int n, text directory)
{
    static const char *const paths[] = { "-I", "-isystem", "-iquote",
                                         "-idirafter", "-include" };
    for (int i = 0; i < n; i++) {
        const text w = word[i];
        const bool next = i + 1 < n;
        if (is(w, "-D") || is(w, "-U")) {
            add_flag(u, w);
            add_flag(u, next ? word[++i] : T(""));
        } else if (starts(w, "-D") || starts(w, "-U") || starts(w, "-std=")
                   || starts(w, "-fno-builtin") || of_processor(w)) {
            add_flag(u, w);
        }
        for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
            const size_t length = strlen(paths[k]);
            if (!starts(w, paths[k]) || (w.n == length && !next)
                || (k == 0 && starts(w, "-Im")) || (w.n > length && k == 4))
                continue;
            const text path = w.n > length
                ? (text){ w.at + length, w.n - length } : word[++i];
            add_flag(u, text_of(paths[k]));
            add_flag(u, path_in(directory, path));
            break;
        }
    }
}

static translation *unit_at(text path)
{
    for (int i = 0; i < unit_count; i++)
        if (same(path_in(T("."), text_of(units[i].path)), path))
            return &units[i];
    return NULL;
}

static translation *add_unit(const char *path)
{
    units = grow(units, &unit_room, (size_t)unit_count + 1, sizeof *units);
    units[unit_count] = (translation){ .path = path };
    return &units[unit_count++];
}

typedef struct command {
    text directory, file, line;
    text word[512];
    int words;
} command;

static void read_arguments(command *c)
{
    if (!json_next('['))
        return;
    while (!json_next(']') && json_more()) {
        if (c->words < 512)
            c->word[c->words++] = json_string();
        json_next(',');
    }
}

static void read_command(command *c)
{
    text name;
    bool first = true;
    memset(c, 0, sizeof *c);
    while (json_member(&name, &first))
        if (is(name, "directory"))
            c->directory = json_string();
        else if (is(name, "file"))
            c->file = json_string();
        else if (is(name, "command"))
            c->line = json_string();
        else if (is(name, "arguments"))
            read_arguments(c);
        else
            json_skip();
}

static void split_line(command *c)
{
    buffer w = { 0 };
    for (size_t i = 0; c->words < 512 && next_word(c->line, &i, &w);)
        c->word[c->words++] = text_of(text_copy(text_in(&w)));
}

// A file that is listed twice has the flags of its first command.
static void take_command(command *c, text folder)
{
    const text directory = path_in(folder, c->directory);
    const text path = path_in(directory, c->file);
    translation *u = unit_at(path);
    if (path.n < 2 || path.at[path.n - 1] != 'c' || path.at[path.n - 2] != '.')
        return;
    if (u != NULL && u->tried)
        return;
    if (u == NULL)
        u = add_unit(text_copy(path));
    u->tried = true;
    if (c->words == 0)
        split_line(c);
    take_flags(u, c->word, c->words, directory);
}

static bool read_commands(void)
{
    bool found;
    const text t = read_file(opt.commands, &found);
    command *c = take(sizeof *c);

    json_begin(t);
    if (!found || !json_next('['))
        return false;
    while (json_next('{')) {
        read_command(c);
        take_command(c, folder_of(opt.commands));
        json_next(',');
    }
    return true;
}

/* --- what a file seems to define ------------------------------------------ */

static names defined;           // a list of units for each name

typedef struct holder {
    int unit;
    bool surely;                // it looks like a definition
    struct holder *next;
} holder;

static void seems_to_define(text name, int unit, bool surely)
{
    holder *last = name_find(&defined, name, -1);
    if (last != NULL && last->unit == unit) {
        last->surely |= surely;
        return;
    }
    holder *h = take(sizeof *h);
    *h = (holder){ unit, surely, last };
    name_set(&defined, name, -1, h);
}

// Whether a name before t.at[i] is followed by a body, or by a value.
static bool is_defined(text t, size_t i)
{
    i = skip_blank(t, i);
    const bool call = i < t.n && t.at[i] == '(';
    while (i < t.n && (t.at[i] == '(' || t.at[i] == '['))
        i = skip_blank(t, closing(t, i));
    return i < t.n && (call ? t.at[i] == '{' || word_char(t.at[i])
                                : t.at[i] == '=');
}

static void look_at(int unit, const char *path, text t, int depth);

// A file of code that is included belongs to the file that includes it. Long ones
// are made by programs, and define nothing that others call.
static void look_at_included(int unit, const char *path, text name, int depth)
{
    enum { MOST_DEPTH = 4, MOST_BYTES = 65536 };
    const text inner = { name.at + 1, name.n > 2 ? name.n - 2 : 0 };
    bool found;
    if (depth == MOST_DEPTH || inner.n < 3 || name.at[0] != '"'
        || !is((text){ inner.at + inner.n - 2, 2 }, ".c"))
        return;
    const char *full = text_copy(path_in(folder_of(path), inner));
    struct stat s;
    if (stat(full, &s) != 0 || s.st_size > MOST_BYTES)
        return;
    const text t = read_file(full, &found);
    if (found)
        look_at(unit, full, t, depth + 1);
}

// All words outside of braces. What stands in several files may be declared in
// them: those come last in which it only may be defined. At depth 0 included files
// are left out.
static void look_at(int unit, const char *path, text t, int depth)
{
    bool includes = false;
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n;) {
        const size_t next = t.at[i] == '{' ? closing(t, i) : skip_token(t, i);
        const text w = { t.at + i, next - i };
        if (includes && depth > 0)
            look_at_included(unit, path, w, depth);
        if (word_char(w.at[0]) && !isdigit((unsigned char)w.at[0]))
            seems_to_define(w, unit, is_defined(t, next));
        includes = is(w, "include");
        i = next;
    }
}

static void look_into(int unit, int depth)
{
    look_at(unit, units[unit].path, file_at(units[unit].file)->text, depth);
}

// Once something is not found.
static void look_deeper(void)
{
    static bool done;
    for (int i = 0; i < unit_count && !done; i++)
        if (!units[i].tried)
            look_into(i, 1);
    done = true;
}

/* --- reading -------------------------------------------------------------- */

// One word of a shell command, whatever is in it.
void put_quoted(buffer *b, const char *s)
{
    put(b, " '");
    for (; *s; s++)
        if (*s == '\'')
            put(b, "'\\''");
        else
            put_char(b, *s);
    put(b, "'");
}

static text output_of(FILE *f, int *status)
{
    buffer b = { 0 };

    if (f == NULL) {
        *status = -1;
        return T("");
    }
    for (size_t n = 1; n > 0; b.n += n) {
        b.at = grow(b.at, &b.room, b.n + (1 << 20), 1);
        n = fread(b.at + b.n, 1, (1 << 20) - 1, f);
    }
    *status = pclose(f);
    b.at[b.n] = 0;
    return text_in(&b);
}

// One that is not counted.
int unit_beside(void)
{
    units = grow(units, &unit_room, (size_t)unit_count + 1, sizeof *units);
    units[unit_count] = (translation){ .path = "", .file = -1 };
    return unit_count;
}

void flags_put(buffer *b, const translation *u)
{
    for (int i = 0; i < u->flags; i++)
        put_quoted(b, u->flag[i]);
    for (int i = 0; i < opt.flag_count; i++)
        put_quoted(b, opt.flags[i]);
}

// Begins to run; output_of reads it. Pages that are large save clang a part of its
// time.
static FILE *clang(const translation *u, const char *what)
{
    buffer b = { 0 };
    setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 0);
    putf(&b, "%s -std=gnu11 -w", opt.clang);
    flags_put(&b, u);
    putf(&b, " %s", what);
    put_quoted(&b, u->path);
    return popen(b.at, "r");
}

static bool all_have(const char *flag)
{
    bool have = true;
    for (int u = 0; u < unit_count; u++) {
        bool has = units[u].root == NULL;
        for (int i = 0; i < units[u].flags; i++)
            has |= strcmp(units[u].flag[i], flag) == 0;
        have &= has;
    }
    return have;
}

// Flags that say where headers are. Of what is read before a source (-include), what
// is read before each; of what is defined, nothing: the written file defines it.
static void places_put(buffer *b, const translation *u, bool first)
{
    for (int i = 0; i < u->flags; i++) {
        const text flag = text_of(u->flag[i]);
        const bool before = is(flag, "-include");
        const bool skipped = is(flag, "-D") || is(flag, "-U")
            || (before && (!first || !all_have(u->flag[i + 1])));
        if (!skipped && !starts(flag, "-D") && !starts(flag, "-U"))
            put_quoted(b, u->flag[i]);
        i += skipped;
    }
    put(b, " -iquote");
    put_quoted(b, text_copy(folder_of(u->path)));
}

text includes_printed(text includes)
{
    buffer b = { 0 };
    int status;
    putf(&b, "%s -std=gnu11 -w", opt.clang);
    bool first = true;
    for (int u = 0; u < unit_count; u++)
        if (units[u].root != NULL) {
            places_put(&b, &units[u], first);
            first = false;
        }
    for (int i = 0; i < opt.flag_count; i++)
        put_quoted(&b, opt.flags[i]);
    putf(&b, " -E -dD -x c - 2> /dev/null << 'END OF INCLUDES'\n%.*s\n"
         "END OF INCLUDES\n", (int)includes.n, includes.at);
    return output_of(popen(b.at, "r"), &status);
}

// 127 is what the shell says of a program that is not there.
static void say_unread(const translation *u, int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        fprintf(stderr, "adrev-port: %s is not installed, which reads the "
                "files: install clang, or name one by --clang\n", opt.clang);
    else if (status != 0)
        fprintf(stderr, "adrev-port: %s cannot read %s: give it your compiler's "
                "flags, such as -I and -D, behind --, or by -p\n", opt.clang,
                u->path);
    else
        fprintf(stderr, "adrev-port: %s: what %s prints is not understood\n",
                u->path, opt.clang);
}

// The tree is read while clang writes it.
static node *read_tree(FILE *f, int unit, int *status)
{
    *status = -1;
    if (f == NULL)
        return NULL;
    json_begin_pipe(fileno(f));
    node *root = tree_read(unit);
    *status = pclose(f);
    return root;
}

static bool read_unit(int i)
{
    translation *u = &units[i];
    int status, unused;
    u->tried = true;
    FILE *tree_of = clang(u, "-fsyntax-only -Xclang -ast-dump=json");
    FILE *macros_of = clang(u, "-E -dD 2> /dev/null");      // beside it
    u->printed = output_of(macros_of, &unused);
    node *root = read_tree(tree_of, i, &status);
    if (root == NULL || status != 0) {
        say_unread(u, status);
        return false;
    }
    u->root = root;
    macros_read(u->printed, i);
    for (int k = 0; k < root->kids; k++)
        root->kid[k]->parent = tree;
    names_read(i);
    return true;
}

/* --- what is needed ------------------------------------------------------- */

static bool unreadable;
static bool *used;              // [from][to]: a function of `from` calls one there

static bool is_found(text name)
{
    const function *f = function_named(name, -1);
    const node *d = variable_named(name, -1);
    return (f != NULL && f->body != NULL)
        || (d != NULL && !is(d->storage, "extern"));
}

// Reads the files that seem to define what they call `spelled`: those that surely
// do before the others, those of the command line before those of the list. By
// another name, or in included files, `surely`: the word may stand in many.
static bool seek_spelled(text name, text spelled, bool surely)
{
    bool found = false;
    for (int turn = 0; turn < 4 && !found; turn += surely ? 2 : 1)
        for (const holder *h = name_find(&defined, spelled, -1); h; h = h->next) {
            const translation *u = &units[h->unit];
            if (u->given != (turn < 2) || h->surely != (turn % 2 == 0)
                || u->tried)
                continue;
            unreadable |= !read_unit(h->unit) && u->given;
            found |= is_found(name);
        }
    return found;
}

static bool holds(text name, int unit)
{
    for (const holder *h = name_find(&defined, name, -1); h; h = h->next)
        if (h->unit == unit)
            return true;
    return false;
}

// A macro may make the name of two words: FUNCTION(matrix, view).
static bool seek_joined(text name)
{
    enum { MOST_READ = 4 };
    int count = 0;
    for (size_t i = 1; i + 1 < name.n; i++) {
        if (name.at[i] != '_')
            continue;
        const text head = { name.at, i };
        const text tail = { name.at + i + 1, name.n - i - 1 };
        for (const holder *h = name_find(&defined, tail, -1); h; h = h->next)
            if (!units[h->unit].tried && holds(head, h->unit)
                && count++ < MOST_READ && read_unit(h->unit) && is_found(name))
                return true;
    }
    return false;
}

// Another file may call it by a macro that a header has: `#define solve
// library_solve`.
static void seek(text name)
{
    bool found = seek_spelled(name, name, false);
    for (int u = 0; u < unit_count && !found; u++) {
        const macro *m = units[u].root ? macro_for(name, u) : NULL;
        found = m != NULL && seek_spelled(name, m->name, true);
    }
    if (found)
        return;
    look_deeper();
    if (!seek_spelled(name, name, true))
        seek_joined(name);
}

// All of the command line: text that is left out, as by `#if 0`, may hide what a
// file defines.
static void read_given(void)
{
    for (int i = 0; i < unit_count; i++)
        if (units[i].given && !units[i].tried)
            unreadable |= !read_unit(i);
}

static void follow(node *n);

static void use(int from, int to)
{
    used = used ? used : take((size_t)unit_count * (size_t)unit_count);
    used[from * unit_count + to] = true;
}

static void link_all(text t);

// What GSL has is in the operator table; the original needs GSL's own, and what
// that calls.
static void link_to(text name)
{
    if (!opt.check || !starts(name, "gsl_"))
        return;
    for (const holder *h = name_find(&defined, name, -1); h; h = h->next) {
        translation *u = &units[h->unit];
        if (!h->surely || u->linked)
            continue;
        u->linked = true;
        link_all(file_at(u->file)->text);
    }
}

static void link_all(text t)
{
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n; i = skip_token(t, i))
        link_to((text){ t.at + i, skip_token(t, i) - i });
}

static void follow_function(text name, int unit)
{
    function *f = function_named(name, unit);
    const bool first = f != NULL && !f->followed;

    if (first && f->body == NULL && library_named(name).kind == L_NONE)
        seek(name);
    else if (first && f->body == NULL)
        link_to(name);
    if (f != NULL && f->body != NULL)
        use(unit, f->decl->unit);
    if (!first)
        return;
    f->followed = true;
    if (f->body != NULL)
        follow(f->decl);
}

static void follow_data(text name, int unit)
{
    node *d = variable_named(name, unit);
    if (d != NULL && is(d->storage, "extern") && !d->init && !d->followed) {
        d->followed = 1;
        seek(name);
        d = variable_named(name, unit);
    }
    if (d != NULL)
        use(unit, d->unit);
    if (d == NULL || d->followed)
        return;
    d->followed = 1;
    follow(d);
}

static void follow(node *n)
{
    if (n->kind == DeclRefExpr && is(n->ref_kind, "FunctionDecl"))
        follow_function(n->ref_name, n->unit);
    else if (n->kind == DeclRefExpr && is(n->ref_kind, "VarDecl"))
        follow_data(n->ref_name, n->unit);
    else if (n->kind == VarDecl && is(n->storage, "extern"))
        follow_data(n->name, n->unit);
    for (int i = 0; i < n->kids; i++)
        follow(n->kid[i]);
}

// Of a static function, the one of the file that is named first.
function *entry_named(text name)
{
    function *f = function_named(name, -1);
    for (int i = 0; i < unit_count && (f == NULL || f->body == NULL); i++)
        if (units[i].root != NULL)
            f = function_named(name, i);
    return f;
}

/* --- all of it ------------------------------------------------------------ */

// Files that use others come behind them.
static void order(bool *done, int u)
{
    if (done[u])
        return;
    done[u] = true;
    const node *root = units[u].root;
    for (int i = 0; used != NULL && i < unit_count; i++)
        if (used[u * unit_count + i])
            order(done, i);
    units[u].first = tree->kids;
    for (int i = 0; i < root->kids; i++)
        tree->kid[tree->kids++] = root->kid[i];
    units[u].last = tree->kids;
}

static void join_trees(void)
{
    bool *done = take((size_t)unit_count * sizeof *done);
    int count = 0;
    for (int u = 0; u < unit_count; u++)
        count += units[u].root ? units[u].root->kids : 0;
    tree->kid = take((size_t)(count + 1) * sizeof *tree->kid);
    for (int u = 0; u < unit_count; u++)
        if (units[u].root != NULL)
            order(done, u);
    names_settle();
}

bool units_list(void)
{
    tree = take(sizeof *tree);
    tree->kind = TranslationUnitDecl;
    for (int i = 0; i < opt.files; i++)
        add_unit(opt.file[i])->given = true;
    if (opt.commands != NULL && !read_commands())
        return false;
    for (int i = 0; i < unit_count; i++) {
        units[i].tried = false;
        units[i].file = file_named(text_of(units[i].path));
        source_set(units[i].file, i);
        look_into(i, 0);
    }
    return true;
}

// `#define solve library_solve`: a function that is named as its source has it.
static text meant(text name)
{
    for (int u = 0; u < unit_count; u++) {
        const macro *m = units[u].root ? macro_named(name, u) : NULL;
        const text body = m ? m->body : T("");
        const size_t from = skip_blank(body, 0), end = skip_token(body, from);
        const function *f = m == NULL || m->call || skip_blank(body, end) < body.n
            ? NULL : entry_named((text){ body.at + from, end - from });
        if (f != NULL && f->body != NULL)
            return f->name;
    }
    return name;
}

// Reads what the named functions need. false: a file of the command line cannot
// be read.
bool units_read(void)
{
    for (int i = 0; i < opt.entries; i++) {
        seek_spelled(opt.entry[i], opt.entry[i], false);
        const function *f = entry_named(opt.entry[i]);
        if (f == NULL || f->body == NULL)
            opt.entry[i] = meant(opt.entry[i]);
        f = entry_named(opt.entry[i]);
        if (f == NULL || f->body == NULL)
            read_given();
    }
    for (int i = 0; i < opt.entries; i++) {
        function *f = entry_named(opt.entry[i]);
        if (f != NULL)
            follow_function(opt.entry[i], f->decl->unit);
    }
    join_trees();
    alike_read();
    return !unreadable;
}

/* --- a rule of make ------------------------------------------------------- */

static void put_file(buffer *b, const char *path)
{
    put(b, " \\\n ");
    for (; *path; path++) {
        put(b, *path == ' ' ? "\\" : *path == '$' ? "$" : "");
        put_char(b, *path);
    }
}

// What the written file is made of, as compilers say it with -MMD -MP.
bool depend_write(void)
{
    buffer b = { 0 }, rules = { 0 };
    putf(&b, "%s:", opt.out);
    for (int u = 0; u < unit_count; u++) {
        if (units[u].root == NULL)
            continue;
        put_file(&b, units[u].path);
        for (size_t i = 0; i < units[u].headers; i++) {
            const char *path = file_at(units[u].header[i].file)->path;
            if (path[0] == '<' || units[u].header[i].file == units[u].file
                || strncmp(path, "/usr/", 5) == 0)
                continue;
            put_file(&b, path);
            putf(&rules, "\n%s:\n", path);
        }
    }
    put(&b, "\n");
    put_text(&b, text_in(&rules));
    return write_file(opt.depend, text_in(&b));
}
