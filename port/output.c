/* output.c - the file that is written.
 *
 * In the order of the source: macros, types, tables and functions that the
 * twins need, and nothing else. What is needed is found by the names in what
 * was written: a name brings its declaration, and the names in that.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define _XOPEN_SOURCE 700
#include "port.h"
#include <stdlib.h>
#include <string.h>

// A declaration at file scope, with all that its text declares.
typedef struct item {
    node *first, *last;
    int order;
    bool in_main;
    bool plain, twin;           // is needed
    buffer plain_text, twin_text;
} item;

typedef struct name_row {
    text name;
    int item;
} name_row;

static item *items;
static size_t item_room;
static int item_count;
static name_row *rows;
static size_t row_room;
static int row_count;

/* --- items ---------------------------------------------------------------- */

static void add_name(text name, int i)
{
    if (name.n == 0)
        return;
    rows = grow(rows, &row_room, (size_t)row_count + 1, sizeof *rows);
    rows[row_count++] = (name_row){ name, i };
}

static void add_names(node *n, int i)
{
    if (n->kind == TypedefDecl || n->kind == RecordDecl || n->kind == EnumDecl
        || n->kind == EnumConstantDecl)
        add_name(n->name, i);
    for (int k = 0; k < n->kids; k++)
        if (n->kind == RecordDecl || n->kind == EnumDecl)
            add_names(n->kid[k], i);
}

static bool system_file(int f)
{
    const char *p = file_at(f)->path;
    return strncmp(p, "/usr/", 5) == 0 || p[0] == '<' || p[0] == '(';
}

// Declarations that share their text, such as a structure and its typedef.
static bool overlap(const node *a, const node *b)
{
    const span s = span_of(a), t = span_of(b);
    return s.file == t.file && s.begin < t.end && t.begin < s.end;
}

static void add_items(void)
{
    for (int i = 0; i < tree->kids; i++) {
        node *n = tree->kid[i];
        const int f = n->begin.expanded.file;
        const bool type = n->kind == TypedefDecl || n->kind == RecordDecl
            || n->kind == EnumDecl;
        if (n->implicit || f < 0 || system_file(f)
            || !(type || n->kind == VarDecl || n->kind == FunctionDecl))
            continue;
        item *last = item_count ? &items[item_count - 1] : NULL;
        if (last != NULL && overlap(last->first, n)) {
            last->last = n;
        } else {
            items = grow(items, &item_room, (size_t)item_count + 1, sizeof *items);
            items[item_count++] = (item){ .first = n, .last = n, .order = i,
                                          .in_main = f == main_file };
        }
        add_names(n, item_count - 1);
    }
}

// All nodes of an item: from the first to the last in the list of the tree.
static bool next_node(const item *t, int *i, node **n)
{
    if (*i < 0)
        *i = t->order;
    else if (tree->kid[*i] == t->last)
        return false;
    else
        ++*i;
    *n = tree->kid[*i];
    return true;
}

/* --- names that are needed ------------------------------------------------ */

static void need_text(text t);

static text plain_of(text t)
{
    const size_t n = strlen(opt.suffix);
    if (t.n > n && memcmp(t.at + t.n - n, opt.suffix, n) == 0)
        t.n -= n;
    return t;
}

static void write_plain(item *t)
{
    span s = span_of(t->first);
    node *n;
    for (int i = -1; next_node(t, &i, &n);) {
        const span e = span_of(n);
        if (n->kind == VarDecl || n->kind == FunctionDecl)
            continue;
        s.begin = e.begin < s.begin ? e.begin : s.begin;
        s.end = e.end > s.end ? e.end : s.end;
    }
    put_text(&t->plain_text, slice(s));
    put(&t->plain_text, ";");
}

static void force(ty *t)
{
    if (t->kind == T_NUM)
        num_root(t->num)->varied = num_root(t->num)->useful = true;
    else if (t->kind == T_PTR || t->kind == T_ARR)
        force(t->to);
}

void write_typedef(buffer *b, node *d, bool first)
{
    span all = span_of(d);
    node *r;

    if (d->ty == NULL)
        d->ty = ty_of(d->type, d);
    force(d->ty);
    r = ty_base(d->ty)->kind == T_REC ? ty_base(d->ty)->record->decl : NULL;
    const size_t name = d->loc.expanded.at;
    const span s = r ? span_of(r) : all;
    if (r != NULL && s.file == all.file && s.begin > all.begin
        && s.end <= all.end) {
        put_text(b, slice((span){ all.file, all.begin, s.begin }));
        if (first || r->name.n == 0) {
            write_record(b, r);
        } else {
            put_text(b, r->tag);
            put(b, " ");
            put_text(b, r->name);
            put(b, opt.suffix);
        }
        put_text(b, slice((span){ all.file, s.end, name }));
    } else if (ty_base(d->ty)->kind == T_FUN) {
        buffer o = { 0 };
        put_text(&o, d->name);
        put(&o, opt.suffix);
        put(b, "typedef ");
        ty_print(b, d->ty, text_in(&o));
        put(b, ";");
        return;
    } else {
        const text words = slice((span){ all.file, all.begin, name });
        write_type_words(b, words, ty_base(d->ty));
    }
    put_text(b, d->name);
    put(b, opt.suffix);
    put_text(b, slice((span){ all.file, name + d->loc.expanded.n, all.end }));
    put(b, ";");
}

// A typedef that contains a structure writes that, too.
static void write_twin(item *t)
{
    node *n;
    bool first = true;
    for (int i = -1; next_node(t, &i, &n);) {
        if (n->kind == RecordDecl && record_twin(record_of(n))) {
            bool contained = false;
            node *m;
            for (int k = -1; next_node(t, &k, &m);)
                contained |= m->kind == TypedefDecl && overlap(n, m);
            if (!contained) {
                write_record(&t->twin_text, n);
                put(&t->twin_text, ";");
            }
        } else if (n->kind == TypedefDecl) {
            put(&t->twin_text, first ? "" : "\n");
            write_typedef(&t->twin_text, n, first);
            first = false;
        }
    }
}

static void need_item(int i, bool twin)
{
    item *t = &items[i];
    if (twin && !t->twin) {
        t->twin = true;
        write_twin(t);
        need_text(text_in(&t->twin_text));
    } else if (!twin && !t->plain) {
        t->plain = true;
        write_plain(t);
        if (t->in_main)
            need_text(text_in(&t->plain_text));
    }
}

static void need_name(text w)
{
    macro *m = macro_named(w);
    const text plain = plain_of(w);

    if (m != NULL && m->at.file >= 0 && !m->wanted) {
        m->wanted = true;
        need_text(m->body);
    }
    for (int i = 0; i < row_count; i++)
        if (same(rows[i].name, w))
            need_item(rows[i].item, false);
        else if (plain.n < w.n && same(rows[i].name, plain))
            need_item(rows[i].item, true);
}

static void need_text(text t)
{
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n;) {
        const size_t next = skip_token(t, i);
        if (word_char(t.at[i]))
            need_name((text){ t.at + i, next - i });
        i = next;
    }
}

/* --- functions ------------------------------------------------------------ */

static bool storage_word(text w)
{
    return is(w, "static") || is(w, "inline") || is(w, "extern")
        || is(w, "__inline") || is(w, "__inline__");
}

// The specifiers, with `static` or `static inline` first.
static void write_function_words(buffer *b, text t, const function *f)
{
    buffer words = { 0 };
    bool fixed = false;

    for (size_t i = 0; i < t.n;) {
        const size_t next = skip_token(t, i);
        const text w = { t.at + i, next - i };
        i = next;
        fixed |= is(w, "static");
        if (!storage_word(w))
            put_text(&words, w);
        else
            i = skip_blank(t, i);
    }
    put(b, fixed && !f->decl->is_inline && !f->entry ? "static "
           : "static inline ");
    write_type_words(b, text_in(&words), ty_base(f->type->to));
}

static size_t words_end(text t, size_t begin, size_t name)
{
    size_t i = begin;
    while ((i = skip_blank(t, i)) < name) {
        if (t.at[i] == '*')
            return i;
        i = t.at[i] == '(' ? closing(t, i) : skip_token(t, i);
    }
    return name;
}

static size_t column_of(text t, size_t at)
{
    size_t i = at;
    while (i > 0 && t.at[i - 1] != '\n')
        i--;
    return at - i;
}

// Parameters that were aligned with the first one still are.
static void realign(buffer *b, size_t from, text source, size_t name)
{
    size_t open = name, now = from;
    buffer o = { 0 };
    while (open < source.n && source.at[open] != '(')
        open++;
    while (now < b->n && b->at[now] != '(')
        now++;
    const size_t before = column_of(source, open) + 1;
    const size_t after = column_of(text_in(b), now) + 1;
    for (size_t i = from; i < b->n;) {
        size_t n = 0;
        put_char(&o, b->at[i]);
        if (b->at[i++] != '\n')
            continue;
        while (i + n < b->n && b->at[i + n] == ' ')
            n++;
        if (n != before)
            continue;
        for (size_t k = 0; k < after; k++)
            put_char(&o, ' ');
        i += n;
    }
    b->n = from;
    put_text(b, text_in(&o));
}

void write_signature(buffer *b, function *f)
{
    const size_t from = b->n;
    const span all = span_of(f->decl);
    const text t = file_at(all.file)->text;
    const size_t name = f->decl->loc.expanded.at;
    const size_t words = words_end(t, all.begin, name);
    size_t at = name + f->decl->loc.expanded.n;
    const size_t end = f->body ? span_of(f->body).begin : all.end;

    write_function_words(b, slice((span){ all.file, all.begin, words }), f);
    put_text(b, slice((span){ all.file, words, name }));
    twin_name(b, f->decl);
    for (int i = 0; i < f->decl->kids; i++) {
        node *p = f->decl->kid[i];
        const span s = span_of(p);
        if (p->kind != ParmVarDecl || s.begin < at || s.end > end)
            continue;
        put_text(b, slice((span){ all.file, at, s.begin }));
        if (!ty_changed(p->ty)) {
            put_text(b, slice(s));
        } else {
            write_group(b, &p, 1, false, s);
            if (b->at[b->n - 1] == ';')
                b->n--;
        }
        at = s.end;
    }
    put_text(b, slice((span){ all.file, at, end }));
    realign(b, from, t, name);
}

// Parameters are declared behind the parentheses.
static bool old_definition(const node *d)
{
    const text t = file_at(span_of(d).file)->text;
    size_t open = d->loc.expanded.at;
    while (open < t.n && t.at[open] != '(')
        open++;
    const size_t end = open < t.n ? closing(t, open) : t.n;
    for (int i = 0; i < d->kids; i++)
        if (d->kid[i]->kind == ParmVarDecl
            && span_of(d->kid[i]).begin >= end)
            return !in_macro(d);
    return false;
}

// A function that a macro defines, or one of the old kind.
static void signature_apart(buffer *b, const function *f)
{
    buffer o = { 0 };
    put(b, f->entry || f->decl->is_inline ? "static inline " : "static ");
    twin_name(&o, f->decl);
    put(&o, "(");
    for (int i = 0, n = 0; i < f->decl->kids; i++)
        if (f->decl->kid[i]->kind == ParmVarDecl) {
            put(&o, n++ ? ", " : "");
            ty_print(&o, f->decl->kid[i]->ty, f->decl->kid[i]->name);
        }
    put(&o, o.at[o.n - 1] == '(' ? "void)" : ")");
    ty_print(b, f->type->to, text_in(&o));
}

static void trim(buffer *b)
{
    while (b->n && (b->at[b->n - 1] == ' ' || b->at[b->n - 1] == '\n'))
        b->n--;
}

static bool written_here(const function *f)
{
    return f->reached && f->decl->renamed && !f->merged;
}

/* --- lines of 80 columns -------------------------------------------------- */

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

static void put_line(buffer *b, text l)
{
    brackets open = { 0 }, at;
    size_t cut;
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

static void put_lines(buffer *b, text t)
{
    for (size_t i = 0; i < t.n;) {
        size_t e = i;
        while (e < t.n && t.at[e] != '\n')
            e++;
        const text l = { t.at + i, e - i };
        if (l.n <= 80 || plain_line(l))
            put_text(b, l);
        else
            put_statement(b, l);
        put(b, e < t.n ? "\n" : "");
        i = e + 1;
    }
}

/* --- the file ------------------------------------------------------------- */

static bool constant_data(const node *d)
{
    const text t = d->type;
    size_t i = t.n;
    while (i > 0 && t.at[i - 1] != '*')
        i--;
    return find((text){ t.at + i, t.n - i }, "const") < t.n - i;
}

// What has a twin of another name: functions, and data of this file.
static void rename_all(void)
{
    for (function *f = functions; f != NULL; f = f->next)
        if (f->reached && (f->changed
                           || f->decl->begin.expanded.file == main_file)) {
            f->decl->renamed = 1;
            f->decl->function = f;
        }
    for (int i = 0; i < tree->kids; i++) {
        node *d = tree->kid[i];
        if (d->kind == FunctionDecl && d->function != NULL)
            d->renamed = d->function->decl->renamed
                || (d->function->body == NULL && d->function->stub
                    && d->function->type && ty_changed(d->function->type));
        if (d->kind == VarDecl && d->visited)
            d->renamed = ty_changed(d->ty)
                || (d->begin.expanded.file == main_file
                    && (is(d->storage, "static")
                        || (d->init && constant_data(d))));
    }
}

typedef struct piece {
    int order;
    buffer above, text;
    bool function;
} piece;

static void write_variable(buffer *b, node *d)
{
    buffer o = { 0 };
    const span s = span_of(d);

    if (!d->renamed) {
        if (d->begin.expanded.file != main_file)
            return;
        put(b, "extern ");
        ty_print(b, d->ty, d->name);
        put(b, ";");
        return;
    }
    write_group(&o, &d, 1, false, s);
    if (!is(d->storage, "static"))
        put(b, "static ");
    put_text(b, text_in(&o));
    if (b->at[b->n - 1] != ';')
        put(b, ";");
}

static void comment_above(buffer *b, node *n)
{
    const span s = span_of(n);
    const size_t from = comment_before(s.file, s.begin);
    if (from < s.begin)
        put_text(b, slice((span){ s.file, from, s.begin }));
}

// A function on one line that has become too long.
static void unfold(buffer *b, size_t body)
{
    buffer o = { 0 };
    text t = { b->at + body + 1, b->n - body - 2 };
    put_text(&o, (text){ b->at, body });
    trim(&o);
    put(&o, "\n{");
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n;) {
        const size_t from = i;
        while (i < t.n && t.at[i] != ';')
            i = strchr("({[", t.at[i]) ? closing(t, i) : skip_token(t, i);
        i += i < t.n;
        put(&o, "\n    ");
        put_text(&o, (text){ t.at + from, i - from });
    }
    put(&o, "\n}");
    *b = o;
}

static piece function_piece(function *f, int order)
{
    piece p = { .order = order, .function = true };
    if (old_definition(f->decl)) {
        comment_above(&p.above, f->decl);
        signature_apart(&p.text, f);
        put(&p.text, "\n");
        write_body(&p.text, f);
        return p;
    }
    if (in_macro(f->decl)) {
        signature_apart(&p.text, f);
        put(&p.text, "\n");
        write_body(&p.text, f);
        return p;
    }
    comment_above(&p.above, f->decl);
    write_signature(&p.text, f);
    const size_t body = p.text.n;
    write_body(&p.text, f);
    if (p.text.n > 80 && find(text_in(&p.text), "\n") == p.text.n)
        unfold(&p.text, body);
    return p;
}

static bool before_others(const char *s) { return strstr(s, "adrev") != NULL; }

static const char *base_name(const char *s)
{
    return strrchr(s, '/') ? strrchr(s, '/') + 1 : s;
}

// Whether a place of the main file is in a declaration.
static bool in_declaration(size_t at)
{
    for (int i = 0; i < tree->kids; i++) {
        const span s = span_of(tree->kid[i]);
        if (s.file == main_file && s.begin < at && at < s.end)
            return true;
    }
    return false;
}

// A header of the source whose name the written file takes is found beside the
// source.
static void put_include(buffer *b, text l)
{
    const size_t open = find(l, "\"") + 1;
    const size_t n = open < l.n
        ? find((text){ l.at + open, l.n - open }, "\"") : 0;
    const char *name = n ? text_copy((text){ l.at + open, n }) : "";
    const char *dir = strrchr(opt.file, '/');
    char *full;

    if (opt.out != NULL && strcmp(base_name(name), base_name(opt.out)) == 0) {
        buffer path = { 0 };
        if (dir != NULL)
            put_text(&path, (text){ opt.file, (size_t)(dir - opt.file) + 1 });
        put(&path, name);
        full = realpath(path.at, NULL);
        putf(b, "#include \"%s\"\n", full ? full : name);
        free(full);
        return;
    }
    put_text(b, l);
    put(b, "\n");
}

static void put_includes(buffer *b)
{
    const text t = file_at(main_file)->text;
    bool header = false;
    for (size_t i = 0; i < t.n; i++) {
        const size_t line = i;
        while (i < t.n && t.at[i] != '\n')
            i++;
        const text l = { t.at + line, i - line };
        size_t k = 0;
        while (k < l.n && (l.at[k] == ' ' || l.at[k] == '#'))
            k++;
        if (l.n && l.at[0] == '#' && !in_declaration(line)
            && starts((text){ l.at + k, l.n - k }, "include")) {
            header |= before_others(text_copy(l));
            put_include(b, l);
        }
    }
    if (!header)
        put(b, "#include \"adrev.h\"\n");
    if (opt.stubs != NULL && opt.stub_text.n)
        putf(b, "#include \"%s\"\n", base_name(opt.stubs));
}

static void put_guard(buffer *b)
{
    const char *base = strrchr(opt.out, '/') ? strrchr(opt.out, '/') + 1 : opt.out;
    for (const char *s = base; *s; s++)
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

static void put_head(buffer *b)
{
    putf(b, "/* Made by adrev-port from %s: changes belong there.\n *\n",
         base_name(opt.file));
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

static int by_order(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

// The order of a macro is that of the declaration behind it.
static int macro_order(const macro *m)
{
    for (int i = 0; i < item_count; i++)
        if (items[i].in_main && span_of(items[i].first).begin > m->at.begin)
            return 2 * items[i].order;
    return 2 * tree->kids;
}

static piece *pieces;
static size_t piece_room;
static int piece_count;

static void add_piece(piece p)
{
    if (p.text.n == 0)
        return;
    pieces = grow(pieces, &piece_room, (size_t)piece_count + 1, sizeof p);
    pieces[piece_count++] = p;
}

// Functions in the order in which they are written.
static void number_functions(void)
{
    int at = 0;
    for (int i = 0; i < tree->kids; i++) {
        const node *d = tree->kid[i];
        function *f = d->kind == FunctionDecl ? d->function : NULL;
        if (f == NULL || f->decl != d)
            continue;
        f->position = ++at;
        for (function *g = f->instances ? functions : NULL; g != NULL; g = g->next)
            if (g->origin == f)
                g->position = ++at;
    }
}

// Names of functions that are written later.
static void find_early(const node *n, int at)
{
    if (n->kind == DeclRefExpr && n->decl != NULL && n->decl->function != NULL) {
        function *f = function_written(n->decl->function);
        f->early |= f->position > at;
    }
    for (int i = 0; i < n->kids; i++)
        find_early(n->kid[i], at);
}

static void add_prototypes(buffer *b)
{
    number_functions();
    for (function *f = functions; f != NULL; f = f->next)
        if (written_here(f))
            find_early(f->body, f->position);
    for (int i = 0; i < tree->kids; i++)
        if (tree->kid[i]->kind == VarDecl && tree->kid[i]->visited)
            find_early(tree->kid[i], 0);
    for (function *f = functions; f != NULL; f = f->next)
        if (written_here(f) && f->early) {
            if (in_macro(f->decl) || old_definition(f->decl))
                signature_apart(b, f);
            else
                write_signature(b, f);
            trim(b);
            put(b, ";\n");
        }
}

typedef struct helper {
    const char *name, *text;
} helper;

// @: the number; #: the suffix; $: how an expression is recorded.
static const helper parts[] = {
    { "float", "// x as a float: its derivative is that of x.\n"
      "static inline @ float#(@ x)\n{\n    x.v = (float)x.v;\n"
      "    return x;\n}\n" },
    { "modf", "static inline @ modf#(@ x, @ *whole)\n{\n"
      "    *whole = $(ad_trunc(x));\n"
      "    return isinf(ad_value(x)) ? $(ad_copysign(0.0, x))\n"
      "                              : $(ad_sub(x, *whole));\n}\n" },
    { "frexp", "static inline @ frexp#(@ x, int *e)\n{\n"
      "    (void)frexp(ad_value(x), e);\n"
      "    return $(ad_ldexp(x, -*e));\n}\n" },
    { "remquo", "static inline @ remquo#(@ x, @ y, int *q)\n{\n"
      "    (void)remquo(ad_value(x), ad_value(y), q);\n"
      "    return $(ad_remainder(x, y));\n}\n" },
    { "added", "static inline @ added#(@ *x, @ y)\n{\n"
      "    return *x = $(ad_add(*x, y));\n}\n" },
    { "subtracted", "static inline @ subtracted#(@ *x, @ y)\n{\n"
      "    return *x = $(ad_sub(*x, y));\n}\n" },
    { "multiplied", "static inline @ multiplied#(@ *x, @ y)\n{\n"
      "    return *x = $(ad_mul(*x, y));\n}\n" },
    { "divided", "static inline @ divided#(@ *x, @ y)\n{\n"
      "    return *x = $(ad_div(*x, y));\n}\n" },
    { "then_added", "static inline @ then_added#(@ *x, @ y)\n{\n"
      "    const @ before = *x;\n    *x = $(ad_add(*x, y));\n"
      "    return before;\n}\n" },
    { "then_subtracted", "static inline @ then_subtracted#(@ *x, @ y)\n{\n"
      "    const @ before = *x;\n    *x = $(ad_sub(*x, y));\n"
      "    return before;\n}\n" },
};

// Several files with the same helper may be included.
static void put_helper(buffer *b, const char *name, const char *s)
{
    putf(b, "#ifndef ADREV_PORT_%s%s\n#define ADREV_PORT_%s%s\n", name,
         opt.suffix, name, opt.suffix);
    for (; *s; s++)
        if (*s == '@')
            put(b, opt.number);
        else if (*s == '#')
            put(b, opt.suffix);
        else if (*s == '$')
            put(b, opt.rec);
        else
            put_char(b, *s);
    put(b, "#endif\n\n");
}

static bool calls(text all, text name)
{
    const char *s = text_copy(name);
    for (size_t i = find(all, s); i < all.n;) {
        if (i == 0 || !word_char(all.at[i - 1]))
            return true;
        all = (text){ all.at + i + 1, all.n - i - 1 };
        i = find(all, s);
    }
    return false;
}

static void add_parts(buffer *b, text all)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buffer name = { 0 };
        putf(&name, "%s%s(", parts[i].name, opt.suffix);
        if (calls(all, text_in(&name)))
            put_helper(b, parts[i].name, parts[i].text);
    }
}

// An operation whose address is taken.
static void add_wrappers(buffer *b)
{
    for (function *f = functions; f != NULL; f = f->next) {
        const library l = library_named(f->name);
        if (!f->addressed || f->body != NULL || l.kind != L_OPERATION
            || !ty_changed(f->type))
            continue;
        buffer name = { 0 };
        putf(b, "#ifndef ADREV_PORT_%.*s%s\n#define ADREV_PORT_%.*s%s\n",
             (int)f->name.n, f->name.at, opt.suffix, (int)f->name.n,
             f->name.at, opt.suffix);
        put(b, "static inline ");
        putf(&name, "%.*s%s(%s x%s)", (int)f->name.n, f->name.at, opt.suffix,
             opt.number, "");
        if (f->type->pars > 1) {
            name.n = 0;
            putf(&name, "%.*s%s(%s x, %s y)", (int)f->name.n, f->name.at,
                 opt.suffix, opt.number, opt.number);
        }
        putf(b, "%s %s\n{\n    return %s(ad_%s(x%s));\n}\n#endif\n\n", opt.number,
             name.at, opt.rec, l.name, f->type->pars > 1 ? ", y" : "");
    }
}

// Data that are defined further down.
static bool declared_first(const node *d)
{
    const node *c = variable_named(d->name);
    return c != NULL && c != d && c->visited && c->renamed
        && d->begin.expanded.file == main_file && !is(d->storage, "extern");
}

static void write_pieces(void)
{
    for (int i = 0; i < tree->kids; i++) {
        node *d = tree->kid[i];
        if (d->kind == FunctionDecl && d->function != NULL
            && d->function->decl == d && d->function->reached) {
            if (written_here(d->function))
                add_piece(function_piece(d->function, 2 * i + 1));
            for (function *g = functions; g != NULL; g = g->next)
                if (g->origin == d->function && written_here(g))
                    add_piece(function_piece(g, 2 * i + 1));
        } else if (d->kind == VarDecl && d->visited) {
            piece p = { .order = 2 * i + 1 };
            write_variable(&p.text, d);
            if (p.text.n)
                comment_above(&p.above, d);
            add_piece(p);
        } else if (d->kind == VarDecl && declared_first(d)) {
            piece p = { .order = 2 * i + 1 };
            d->ty = variable_named(d->name)->ty;
            d->renamed = 1;
            write_variable(&p.text, d);
            add_piece(p);
        }
    }
}

static void need_pieces(void)
{
    const int n = piece_count;
    for (int i = 0; i < n; i++)
        need_text(text_in(&pieces[i].text));
    for (int i = 0; i < item_count; i++) {
        item *t = &items[i];
        piece p = { .order = 2 * t->order };
        if (t->plain && t->in_main && t->plain_text.n > 1) {
            put_text(&p.text, text_in(&t->plain_text));
            put(&p.text, t->twin_text.n ? "\n" : "");
        }
        put_text(&p.text, text_in(&t->twin_text));
        if (p.text.n)
            comment_above(&p.above, t->first);
        add_piece(p);
    }
}

static void put_macros(buffer *b, int *from, int order, macro **list, int n)
{
    bool any = false;
    while (*from < n && macro_order(list[*from]) <= order) {
        put(b, any ? "" : "\n");
        put_text(b, slice(list[*from]->at));
        put(b, "\n");
        any = true;
        ++*from;
    }
}

static int by_macro(const void *a, const void *b)
{
    const macro *x = *(macro *const *)a, *y = *(macro *const *)b;
    return (x->at.begin > y->at.begin) - (x->at.begin < y->at.begin);
}

static macro **wanted_macros(int *n)
{
    const text t = file_at(main_file)->text;
    macro **list = NULL;
    size_t room = 0;
    *n = 0;
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n;) {
        const size_t next = skip_token(t, i);
        macro *m = macro_named((text){ t.at + i, next - i });
        if (m != NULL && m->wanted && m->at.file >= 0) {
            m->wanted = false;
            list = grow(list, &room, (size_t)*n + 1, sizeof *list);
            list[(*n)++] = m;
        }
        i = next;
    }
    if (*n)
        qsort(list, (size_t)*n, sizeof *list, by_macro);
    return list;
}

bool write_output(buffer *b)
{
    buffer all = { 0 }, helpers = { 0 }, prototypes = { 0 };
    int macro_count, macro_at = 0;
    bool functions_begun = false;

    rename_all();
    add_items();
    write_pieces();
    add_wrappers(&helpers);
    need_pieces();
    add_prototypes(&prototypes);
    qsort(pieces, (size_t)piece_count, sizeof *pieces, by_order);
    macro **macros = wanted_macros(&macro_count);
    for (int i = 0; i < piece_count; i++)
        put_text(&all, text_in(&pieces[i].text));
    add_parts(&helpers, text_in(&all));
    put_head(b);
    for (int i = 0; i < piece_count; i++) {
        piece *p = &pieces[i];
        put_macros(b, &macro_at, p->order, macros, macro_count);
        put(b, "\n");
        if (p->function && !functions_begun) {
            put_lines(b, text_in(&helpers));
            put_lines(b, text_in(&prototypes));
            put(b, prototypes.n ? "\n" : "");
            functions_begun = true;
        }
        put_text(b, text_in(&p->above));
        put_lines(b, text_in(&p->text));
        put(b, "\n");
    }
    put(b, "\n");
    const size_t before = b->n;
    notes_print(b, "// ");
    put(b, b->n > before ? "\n#endif\n" : "#endif\n");
    return refused == 0;
}
