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
    bool in_source;
    bool plain, twin;           // is needed
    buffer plain_text, twin_text;
} item;

static names rows;              // an item for each name of a unit
static item *items;
static size_t item_room;
static int item_count;

/* --- items ---------------------------------------------------------------- */

typedef struct row {
    int item;
    struct row *next;
} row;

static void add_name(text name, int unit, int i)
{
    row *r = take(sizeof *r);
    *r = (row){ i, name_find(&rows, name, unit) };
    name_set(&rows, name, unit, r);
}

static void add_names(node *n, int i)
{
    if ((n->kind == TypedefDecl || n->kind == RecordDecl || n->kind == EnumDecl
         || n->kind == EnumConstantDecl) && n->name.n)
        add_name(n->name, n->unit, i);
    for (int k = 0; k < n->kids; k++)
        if (n->kind == RecordDecl || n->kind == EnumDecl)
            add_names(n->kid[k], i);
}

// Declarations that share their text, such as a structure and its typedef.
static bool overlap(const node *a, const node *b)
{
    const span s = span_of(a), t = span_of(b);
    return s.file == t.file && s.begin < t.end && t.begin < s.end;
}

static bool is_type(const node *n)
{
    return n->kind == TypedefDecl || n->kind == RecordDecl
        || n->kind == EnumDecl;
}

static void add_item(node *n, int order)
{
    item *last = item_count ? &items[item_count - 1] : NULL;
    if (n->alike != NULL && n->alike->item) {
        n->item = n->alike->item;
    } else if (last != NULL && overlap(last->first, n)
               && last->first->unit == n->unit) {
        last->last = n;
        n->item = item_count;
    } else {
        const int f = n->begin.expanded.file;
        items = grow(items, &item_room, (size_t)item_count + 1, sizeof *items);
        items[item_count++] = (item){ .first = n, .last = n, .order = order,
                                      .in_source = source_unit(f) >= 0 };
        n->item = item_count;
    }
    add_names(n, n->item - 1);
}

static void add_items(void)
{
    for (int i = 0; i < tree->kids; i++) {
        node *n = tree->kid[i];
        const int f = n->begin.expanded.file;
        if (!n->implicit && f >= 0
            && (is_type(n) || (!system_file(f) && (n->kind == VarDecl
                                                   || n->kind == FunctionDecl))))
            add_item(n, i);
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

static void need_text(text t, int unit);

static text plain_of(text t)
{
    const size_t n = strlen(opt.suffix);
    if (t.n > n && memcmp(t.at + t.n - n, opt.suffix, n) == 0)
        t.n -= n;
    return t;
}

static void need_data(node *d);

// An enumeration's text from *at on. Data that it names, as in
// `ROWS = sizeof table / sizeof table[0]`, have the names of their twins.
static void put_data_names(buffer *b, node *n, int source, size_t *at)
{
    node *d = n->kind == DeclRefExpr && is(n->ref_kind, "VarDecl")
        ? declared(n) : NULL;
    const spot here = n->begin.argument ? n->begin.spelled : n->begin.expanded;
    if (d != NULL && d->parent == tree && here.file == source && here.at >= *at) {
        need_data(d);
        put_text(b, slice((span){ source, *at, here.at }));
        twin_name(b, d);
        *at = here.at + here.n;
    }
    for (int i = 0; i < n->kids; i++)
        put_data_names(b, n->kid[i], source, at);
}

static void write_plain(item *t)
{
    span s = span_of(t->first);
    size_t at;
    node *n;
    for (int i = -1; next_node(t, &i, &n);) {
        const span e = span_of(n);
        if (n->kind == VarDecl || n->kind == FunctionDecl)
            continue;
        s.begin = e.begin < s.begin ? e.begin : s.begin;
        s.end = e.end > s.end ? e.end : s.end;
    }
    at = s.begin;
    for (int i = -1; t->in_source && next_node(t, &i, &n);)
        if (n->kind == EnumDecl)
            put_data_names(&t->plain_text, n, s.file, &at);
    put_text(&t->plain_text, slice((span){ s.file, at, s.end }));
    put(&t->plain_text, ";");
}

// A typedef that contains a structure writes that, too.
static void write_twin(item *t)
{
    const int before = unit_written;
    unit_written = t->first->unit;
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
    unit_written = before;
}

static bool has_enumeration(const node *n)
{
    for (int i = 0; i < n->kids; i++)
        if (n->kid[i]->kind == EnumDecl || has_enumeration(n->kid[i]))
            return true;
    return false;
}

static void need_item(int i, bool twin)
{
    item *t = &items[i];
    if (twin && !t->twin) {
        t->twin = true;
        write_twin(t);
        need_text(text_in(&t->twin_text), t->first->unit);
        if (has_enumeration(t->first))
            need_item(i, false);
    } else if (!twin && !t->plain) {
        t->plain = true;
        write_plain(t);
        if (t->in_source)
            need_text(text_in(&t->plain_text), t->first->unit);
    }
}

static void need_macro(macro *m)
{
    for (; m != NULL && !m->wanted; m = m->before) {
        m->wanted = true;
        need_text(m->body, m->unit);
    }
}

static void need_name(text w, int unit)
{
    const text plain = plain_of(w);

    if (name_find(&needed, w, unit) != NULL)
        return;
    name_set(&needed, w, unit, &needed);
    need_macro(macro_named(w, unit));
    for (const row *r = name_find(&rows, w, unit); r != NULL; r = r->next)
        need_item(r->item, false);
    for (const row *r = plain.n < w.n ? name_find(&rows, plain, unit) : NULL;
         r != NULL; r = r->next)
        need_item(r->item, true);
}

static void need_text(text t, int unit)
{
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n;) {
        const size_t next = skip_token(t, i);
        if (word_char(t.at[i]))
            need_name((text){ t.at + i, next - i }, unit);
        i = next;
    }
}

static bool written_here(const function *f)
{
    return f->reached && f->decl->renamed && !f->merged;
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

static bool in_source(const node *d)
{
    return source_unit(d->begin.expanded.file) >= 0;
}

// Data have a twin's name if their type changes, or if the header has a copy of
// them: both may be seen by one file.
static void rename_data(node *d)
{
    d->renamed = ty_changed(d->ty)
        || ((in_source(d) || d->otherwise)
            && (is(d->storage, "static") || (d->init && constant_data(d))));
}

// What has a twin of another name: functions, and data of the sources.
static void rename_all(void)
{
    for (function *f = functions; f != NULL; f = f->next)
        if (f->reached && is_inside(function_written(f)->inside) && !f->own
            && (f->changed || in_source(f->decl) || f->decl->otherwise)) {
            f->decl->renamed = 1;
            f->decl->function = f;
        }
    for (int i = 0; i < tree->kids; i++) {
        node *d = tree->kid[i];
        if (d->kind == FunctionDecl && d->function != NULL)
            d->renamed = d->function->decl->renamed
                || (d->function->body == NULL && d->function->stub
                    && d->function->type && ty_changed(d->function->type));
        if (d->kind == VarDecl && d->visited && is_inside(d->inside))
            rename_data(d);
    }
}

/* --- names that two files have -------------------------------------------- */

static names owners;            // of a twin's name: the first that has it

static text stem_of(int unit)
{
    const char *name = base_name(units[unit].path);
    buffer b = { 0 };
    for (const char *s = name; *s && strcmp(s, ".c") != 0; s++)
        put_char(&b, word_char(*s) ? *s : '_');
    put(&b, "_");
    return text_in(&b);
}

// The name of a static function, or of data, has the name of its file in front
// where another file has that name, too.
static void own_name(node *d)
{
    node *owner = name_find(&owners, d->name, -1);
    if (owner == NULL)
        name_set(&owners, d->name, -1, d);
    else if (owner->unit != d->unit)
        d->prefix = stem_of(d->unit);
}

static void own_names(void)
{
    for (int fixed = 0; fixed < 2; fixed++)         // what is not static first
        for (int i = 0; unit_count > 1 && i < tree->kids; i++) {
            node *d = tree->kid[i];
            const bool whole = d->kind == VarDecl
                ? variable_named(d->name, d->unit) == d
                : d->kind == FunctionDecl && d->function
                  && d->function->decl == d;
            if (whole && d->renamed && is(d->storage, "static") == fixed)
                own_name(d);
        }
}

typedef struct piece {
    int order, unit;
    buffer above, text;
    bool function;
} piece;

// Whether a header that is included says that there are such data, or that there
// is such a function.
static bool header_declares(const node *d)
{
    for (int i = units[d->unit].first; i < units[d->unit].last; i++) {
        const node *n = tree->kid[i];
        if (n->kind == d->kind && same(n->name, d->name) && !in_source(n))
            return true;
    }
    return false;
}

static void write_variable(buffer *b, node *d)
{
    buffer o = { 0 };
    const span s = span_of(d);

    if (!d->renamed) {
        if (!in_source(d) || header_declares(d))
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
    if (!in_macro(f->decl))
        comment_above(&p.above, f->decl);
    if (stands_apart(f)) {
        signature_apart(&p.text, f);
        put(&p.text, "\n");
        write_body(&p.text, f);
        return p;
    }
    write_signature(&p.text, f);
    const size_t body = p.text.n;
    write_body(&p.text, f);
    if (p.text.n > 80 && find(text_in(&p.text), "\n") == p.text.n)
        unfold(&p.text, body);
    return p;
}

/* --- pieces ---------------------------------------------------------------- */

static int by_order(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

static piece *pieces;
static size_t piece_room;
static int piece_count;

static void add_piece(piece p)
{
    if (p.text.n == 0)
        return;
    pieces = grow(pieces, &piece_room, (size_t)piece_count + 1, sizeof p);
    const node *d = tree->kid[p.order / 2];
    p.unit = d->unit;
    if (means_more(text_in(&p.text), d->begin.expanded.file, p.unit))
        refuse(d, "write what the macros stand for, or include the file once",
               "a file that is included again, where its macros mean something "
               "else");
    pieces[piece_count++] = p;
}

// Functions in the order in which they are written.
static int place_in_order(int i) { return i * 1024; }

static void number_functions(void)
{
    for (int i = 0; i < tree->kids; i++) {
        const node *d = tree->kid[i];
        function *f = d->kind == FunctionDecl ? d->function : NULL;
        int at = place_in_order(i);
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

static bool is_early(const function *f)
{
    return written_here(f) && f->early;
}

// Of what a function, or data, names before it is written. The source declares it
// before, too: so its types stand above.
static void add_prototypes(buffer *b, const piece *p)
{
    const int at = p->order / 2;
    const node *d = tree->kid[at];
    for (function *f = functions; f != NULL; f = f->next)
        f->early = false;
    if (!p->function)
        find_early(d, place_in_order(at));
    for (function *f = functions; p->function && f != NULL; f = f->next)
        if (written_here(f) && origin_of(f) == d->function)
            find_early(f->body, f->position);
    for (function *f = functions; f != NULL; f = f->next) {
        if (!is_early(f) || f->announced)
            continue;
        f->announced = true;
        unit_written = f->decl->unit;
        if (stands_apart(f))
            signature_apart(b, f);
        else
            write_signature(b, f);
        trim(b);
        put(b, ";\n");
    }
}

/* --- macros in the output ------------------------------------------------- */

// Macros of <math.h>, which adrev.h includes, where a unit has data of the name.
static const char *const of_math[] = { "INFINITY", "NAN", "HUGE_VAL" };

static bool hides(int unit, const char *name)
{
    return name_find(&needed, text_of(name), unit) != NULL
        && macro_named(text_of(name), unit) == NULL
        && variable_named(text_of(name), unit) != NULL;
}

static void put_hidden(buffer *b, int unit, bool end)
{
    for (size_t i = 0; i < sizeof of_math / sizeof *of_math; i++)
        if (unit >= 0 && hides(unit, of_math[i]) && end)
            putf(b, "#pragma pop_macro(\"%s\")\n", of_math[i]);
        else if (unit >= 0 && hides(unit, of_math[i]))
            putf(b, "#pragma push_macro(\"%s\")\n#undef %s\n", of_math[i],
                 of_math[i]);
}

// Before what a unit needs is written: names of other units mean something else
// there.
static void put_meanings(buffer *b, int unit)
{
    for (size_t i = 0; i < needed.room; i++) {
        const name_row *r = &needed.row[i];
        macro *now = r->name.at && r->unit == unit ? current_macro(r->name) : NULL;
        macro *m = r->name.at && r->unit == unit ? macro_named(r->name, unit) : NULL;
        if (now != NULL && m == NULL)
            put_undef(b, now);
        else if (m != NULL && m->at.file < 0)
            put_macro(b, m);
    }
}

// The order of a directive is that of the declaration behind it.
typedef struct directive {
    int order;
    size_t at;
    macro *macro;
    bool ends;
} directive;

static directive *directives;
static size_t directive_room;
static int directive_count, directive_at;

static bool item_behind(const item *t, span s)
{
    const span at = span_of(t->first);
    return t->in_source ? behind(at, s)
        : s.file == units[t->first->unit].file
          && includes_behind(t->first->unit, at.file, s.begin);
}

static int order_at(span s, int unit)
{
    for (int i = 0; i < item_count; i++)
        if (items[i].first->unit == unit && item_behind(&items[i], s))
            return 2 * items[i].order;
    return -1;                          // behind all
}

static void add_directive(macro *m, span at, bool ends)
{
    const int order = at.file < 0 ? -1 : order_at(at, m->unit);
    if (order < 0)
        return;
    directives = grow(directives, &directive_room, (size_t)directive_count + 1,
                      sizeof *directives);
    directives[directive_count++] = (directive){
        order, at.begin, m, ends };
}

static int by_directive(const void *a, const void *b)
{
    const directive *x = a, *y = b;
    return x->order != y->order ? x->order - y->order
         : (x->at > y->at) - (x->at < y->at);
}

static void list_directives(void)
{
    for (size_t i = 0; i < needed.room; i++) {
        const name_row *r = &needed.row[i];
        macro *m = r->name.at ? macro_named(r->name, r->unit) : NULL;
        for (; m != NULL; m = m->before) {
            if (m->gone || names_gone(m->body, m->unit))
                continue;
            add_directive(m, m->at, false);
            add_directive(m, m->undef, true);
        }
    }
    if (directive_count)
        qsort(directives, (size_t)directive_count, sizeof *directives,
              by_directive);
}

static void put_directives(buffer *b, int order)
{
    buffer o = { 0 };
    for (; directive_at < directive_count
           && directives[directive_at].order <= order; directive_at++) {
        const directive *d = &directives[directive_at];
        if (d->ends)
            put_undef(&o, d->macro);
        else
            put_macro(&o, d->macro);
    }
    put(b, o.n ? "\n" : "");
    put_text(b, text_in(&o));
}

/* --- all of it ------------------------------------------------------------ */

// Data that are defined further down.
static bool declared_first(const node *d)
{
    const node *c = variable_named(d->name, d->unit);
    return c != NULL && c != d && c->renamed && in_source(d)
        && c->unit == d->unit && !is(d->storage, "extern");
}

static void write_data(node *d, int order)
{
    piece p = { .order = order };
    const bool needed_here = d->visited && is_inside(d->inside);
    const bool first = !needed_here && declared_first(d);
    if (!needed_here && !first)
        return;
    if (first) {
        d->ty = variable_named(d->name, d->unit)->ty;
        d->renamed = 1;
    }
    write_variable(&p.text, d);
    if (p.text.n && !first && first_declarator(d))
        comment_above(&p.above, d);
    add_piece(p);
}

// Data that only an enumeration names.
static void need_data(node *d)
{
    int order = 0;
    if (is_inside(d->inside))
        return;
    see_variable(d);
    d->inside = inside_mark();
    rename_data(d);
    while (tree->kid[order] != d)
        order++;
    const int before = unit_written, count = piece_count;
    unit_written = d->unit;
    write_data(d, 2 * order + 1);
    unit_written = before;
    if (piece_count > count)
        need_text(text_in(&pieces[count].text), d->unit);
}

// A function of the program that is called: one that stays its own, or one that
// is not seen; of the C library a header says it.
static bool is_called_there(const function *f)
{
    return f->own || (f->body == NULL && f->type != NULL && in_source(f->decl)
                      && !f->decl->renamed && library_named(f->name).kind == L_NONE);
}

// Unless a header declares it.
static void declare_own(const node *d, int order)
{
    function *f = d->function;
    const node *body = body_of((node *)d);
    span s = span_of(d);
    piece p = { .order = order };
    if (!is_called_there(f) || !is_inside(f->inside) || f->announced)
        return;
    f->announced = true;
    if (header_declares(d))
        return;
    if (body != NULL)
        s.end = span_of(body).begin;
    if (stands_apart(f))
        signature_apart(&p.text, f);
    else
        put_text(&p.text, slice(s));
    trim(&p.text);
    put(&p.text, ";");
    add_piece(p);
}

static void write_pieces(void)
{
    for (int i = 0; i < tree->kids; i++) {
        node *d = tree->kid[i];
        unit_written = d->unit;
        if (d->kind == VarDecl)
            write_data(d, 2 * i + 1);
        if (d->kind == FunctionDecl && d->function != NULL && !d->implicit)
            declare_own(d, 2 * i + 1);
        if (d->kind != FunctionDecl || d->function == NULL
            || d->function->decl != d || !d->function->reached)
            continue;
        if (written_here(d->function))
            add_piece(function_piece(d->function, 2 * i + 1));
        for (function *g = functions; g != NULL; g = g->next)
            if (g->origin == d->function && written_here(g))
                add_piece(function_piece(g, 2 * i + 1));
    }
}

static void need_pieces(void)
{
    const int n = piece_count;
    for (int i = 0; i < n; i++)
        need_text(text_in(&pieces[i].text), pieces[i].unit);
    for (int i = 0; i < item_count; i++) {
        item *t = &items[i];
        piece p = { .order = 2 * t->order };
        unit_written = t->first->unit;
        if (t->plain && t->in_source && t->plain_text.n > 1) {
            put_text(&p.text, text_in(&t->plain_text));
            put(&p.text, t->twin_text.n ? "\n" : "");
        }
        put_text(&p.text, text_in(&t->twin_text));
        if (p.text.n)
            comment_above(&p.above, t->first);
        add_piece(p);
    }
}

// A name of a type that means something else in each of two files.
static void type_once(names *all, node *n, const char *suffix)
{
    buffer key = { 0 };
    if (n->name.n == 0 || (n->kind == RecordDecl && !n->complete))
        return;
    put(&key, n->kind == RecordDecl || n->kind == EnumDecl ? "struct " : "");
    put_text(&key, n->name);
    put(&key, suffix);
    const node *first = name_find(all, text_in(&key), -1);
    if (first == NULL)
        name_set(all, text_in(&key), -1, n);
    else if (first->unit != n->unit && first->item != n->item
             && (first->begin.expanded.file != n->begin.expanded.file
                 || first->begin.expanded.at != n->begin.expanded.at))
        refuse(n, "give one of the two another name", "%.*s is another type in %s",
               (int)n->name.n, n->name.at,
               file_at(first->begin.expanded.file)->path);
}

static void enumerators_once(names *all, node *n)
{
    for (int i = 0; n->kind == EnumDecl && i < n->kids; i++)
        if (n->kid[i]->kind == EnumConstantDecl) {
            n->kid[i]->item = n->item;
            type_once(all, n->kid[i], "");
        }
}

// Of the types that are written, and of those of headers, which are included.
static void types_once(void)
{
    static names all;
    for (int i = 0; i < item_count; i++) {
        const item *t = &items[i];
        node *n;
        for (int k = -1; next_node(t, &k, &n);) {
            if (is_type(n) && (t->plain || !t->in_source)
                && !system_file(n->begin.expanded.file)) {
                type_once(&all, n, "");
                enumerators_once(&all, n);
            }
            if (is_type(n) && t->twin && n->kind != EnumDecl)
                type_once(&all, n, opt.suffix);
        }
    }
}

static bool names_function(const node *n)
{
    if (n->kind == DeclRefExpr && n->decl != NULL && n->decl->function != NULL)
        return true;
    for (int i = 0; i < n->kids; i++)
        if (names_function(n->kid[i]))
            return true;
    return false;
}

static bool needs_prototypes(const piece *p)
{
    const node *d = tree->kid[p->order / 2];
    return p->function || (d->kind == VarDecl && names_function(d));
}

static int written_units(void)
{
    int n = 0;
    for (int i = 0; i < piece_count; i++)
        n += i == 0 || pieces[i].unit != pieces[i - 1].unit;
    return n;
}

static void put_part(buffer *b, int unit)
{
    if (written_units() > 1)
        putf(b, "\n/* === from %s === */\n", base_name(units[unit].path));
    put_meanings(b, unit);
    put_hidden(b, unit, false);
}

static void put_pieces(buffer *b, buffer *helpers)
{
    int unit = -1;
    bool begun = false;

    for (int i = 0; i < piece_count; i++) {
        piece *p = &pieces[i];
        buffer prototypes = { 0 };
        if (p->unit != unit) {
            put_hidden(b, unit, true);
            put_part(b, unit = p->unit);
        }
        put_directives(b, p->order);
        put(b, "\n");
        if (needs_prototypes(p))
            add_prototypes(&prototypes, p);
        if (p->function && !begun)
            put_lines(b, text_in(helpers));
        begun |= p->function;
        put_lines(b, text_in(&prototypes));
        put(b, prototypes.n ? "\n" : "");
        put_text(b, text_in(&p->above));
        passage_add(tree->kid[p->order / 2], text_in(&p->text), b->n);
        put_lines(b, text_in(&p->text));
        put(b, "\n");
    }
    put_hidden(b, unit, true);
}

bool write_output(buffer *b)
{
    buffer all = { 0 }, helpers = { 0 }, wrappers = { 0 };

    seen_read();
    rename_all();
    own_names();
    add_items();
    write_pieces();
    add_wrappers(&wrappers);
    put_text(&all, text_in(&wrappers));
    need_pieces();
    types_once();
    seen_check();
    number_functions();
    list_directives();
    if (piece_count)
        qsort(pieces, (size_t)piece_count, sizeof *pieces, by_order);
    for (int i = 0; i < piece_count; i++)
        put_text(&all, text_in(&pieces[i].text));
    add_parts(&helpers, text_in(&all));
    put_text(&helpers, text_in(&wrappers));
    put_head(b);
    put_pieces(b, &helpers);
    passages_check(text_in(b));
    put(b, "\n");
    const size_t before = b->n;
    notes_print(b, "// ");
    put(b, b->n > before ? "\n#endif\n" : "#endif\n");
    return refused == 0;
}
