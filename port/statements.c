/* statements.c - writes statements and declarations.
 *
 * A statement is copied as it stands if nothing recorded is in it, and
 * otherwise by its gaps (expressions.c), so that one statement becomes one
 * statement. A declaration of recorded and of plain numbers is parted.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>
#include <string.h>

int unit_written;
static const ty *result_type;           // of the function that is written

/* --- words of a type ------------------------------------------------------ */

static bool names_record(text word, const ty *base)
{
    return base->kind == T_REC && same(word, base->record->name);
}

// A macro that stands for the type.
static bool number_macro(text w, const ty *base)
{
    text t = w;
    for (int i = 0; i < 8; i++) {
        const macro *m = macro_named(t, unit_written);
        if (m == NULL || m->call)
            break;
        t = m->body;
        while (t.n && t.at[0] == ' ')
            t.at++, t.n--;
    }
    if (t.at == w.at)
        return false;
    return is(t, "double") || is(t, "float")
        || (base->alias != NULL && same(t, base->alias->name));
}

// A macro that stands for the structure: `#define POINT struct point`.
static bool record_macro(text w, const ty *base)
{
    const macro *m = base->kind == T_REC ? macro_named(w, unit_written) : NULL;
    size_t i = 0, last = 0;
    while (m != NULL && !m->call && (i = skip_blank(m->body, i)) < m->body.n) {
        last = i;
        i = skip_token(m->body, i);
    }
    return m != NULL && m->body.n > 0
        && same((text){ m->body.at + last, i - last }, base->record->name);
}

static bool has_declarator(text t, int unit, int depth)
{
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n;) {
        const size_t next = skip_token(t, i);
        const text w = { t.at + i, next - i };
        const macro *m = word_char(w.at[0]) ? macro_named(w, unit) : NULL;
        if (strchr("*[(", w.at[0]) != NULL && depth > 0)
            return true;
        if (m != NULL && !m->call && depth < 8
            && has_declarator(m->body, unit, depth + 1))
            return true;
        i = next;
    }
    return false;
}

// Whether a macro among these words stands for more than a type's name: for
// `double *`.
bool macro_declares(text words, int unit)
{
    return has_declarator(words, unit, 0);
}

// Where no word is known to be the type: only storage and qualifiers stay.
static void words_anew(buffer *b, size_t from, text t)
{
    static const char *const kept[] = { "static", "extern", "register", "const",
                                        "volatile", "inline" };
    b->n = from;
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n;) {
        const size_t next = skip_token(t, i);
        const text w = { t.at + i, next - i };
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
            if (is(w, kept[k]))
                putf(b, "%s ", kept[k]);
        i = next;
    }
    putf(b, "%s ", opt.number);
}

// The specifiers of a declaration, for what is recorded.
void write_type_words(buffer *b, text t, const ty *base)
{
    const size_t from = b->n;
    bool done = false;

    for (size_t i = 0; i < t.n;) {
        const size_t next = skip_token(t, i);
        const text w = { t.at + i, next - i };
        const bool number = is(w, "double") || is(w, "float")
            || number_macro(w, base) || (word_char(w.at[0]) && base->kind == T_NUM
                && base->alias != NULL && same(w, base->alias->name));
        i = next;
        if (active(base) && number) {
            put(b, opt.number);
            done = true;
        } else if (base->alias != NULL && ty_changed(base)
                   && same(w, base->alias->name)) {
            put_text(b, w);
            put(b, opt.suffix);
            done = true;
        } else if (!done && ty_changed(base) && typedef_named(w, unit_written) != NULL) {
            put_text(b, w);
            put(b, opt.suffix);
            done = true;
        } else if (ty_changed(base) && record_macro(w, base)) {
            putf(b, "%s%.*s%s", base->record->tagless ? "" : base->record->is_union
                 ? "union " : "struct ", (int)base->record->name.n,
                 base->record->name.at, opt.suffix);
            done = true;
        } else if (names_record(w, base) && ty_changed(base)) {
            put_text(b, w);
            put(b, opt.suffix);
            done = true;
        } else {
            put_text(b, w);
        }
    }
    if (!done && ty_changed(base) && base->kind == T_NUM)
        words_anew(b, from, t);
}

/* --- initialisers --------------------------------------------------------- */

static bool zero(node *n)
{
    n = base_node(n);
    if (n->kind != IntegerLiteral && n->kind != FloatingLiteral)
        return false;
    const text t = n->value;
    for (size_t i = 0; i < t.n; i++)
        if (t.at[i] != '0' && t.at[i] != '.')
            return false;
    return true;
}

static void write_value(buffer *b, node *n, ty *t, bool apart, bool fixed,
                        bool alone)
{
    if (!active(t)) {
        write_as(b, n, F_PLAIN, apart);
    } else if (zero(n) && alone) {
        put(b, "0");
    } else if (fixed) {
        const bool real = strcmp(opt.number, "real") == 0;
        put(b, real ? "real_constant(" : "{ .v = ");
        write_as(b, n, F_PLAIN, apart);
        put(b, real ? ")" : " }");
    } else {
        write_as(b, n, F_NUMBER, apart);
    }
}

typedef struct part {
    node *n;
    ty *t;
} part;

static int by_place(const void *a, const void *b)
{
    const part *x = a, *y = b;
    const uint32_t i = x->n->begin.expanded.at, j = y->n->begin.expanded.at;
    return (i > j) - (i < j);
}

static ty *part_type(node *list, ty *t, int i)
{
    if (t->kind == T_REC && t->record->is_union)
        return list->kid[i]->ty ? list->kid[i]->ty : t->record->field[0];
    if (t->kind == T_REC)
        return i < t->record->fields ? t->record->field[i] : t;
    return t->kind == T_ARR ? t->to : t;
}

static int parts_of(node *n, ty *t, part *list)
{
    int count = 0;
    for (int i = 0; i < n->kids; i++)
        if (n->kid[i]->kind != ImplicitValueInitExpr
            && n->kid[i]->kind != NO_NODE
            && n->kid[i]->begin.expanded.file >= 0)
            list[count++] = (part){ n->kid[i], part_type(n, t, i) };
    if (count)
        qsort(list, (size_t)count, sizeof *list, by_place);
    return count;
}

static void write_part(buffer *b, part p, bool apart, bool fixed, bool alone)
{
    if (p.n->kind == InitListExpr)
        write_init(b, p.n, p.t, apart, fixed);
    else
        write_value(b, p.n, p.t, apart, fixed, alone);
}

// The whole initialiser of a variable.
static bool outermost(const node *list)
{
    return list->parent->kind == VarDecl;
}

static void write_list(buffer *b, node *n, part *list, int count, bool apart,
                       bool fixed)
{
    const span all = span_of(n);
    size_t at = all.begin;

    for (int i = 0; i < count; i++) {
        const span s = span_of(list[i].n);
        if (s.begin < at || s.end > all.end)
            continue;
        put_text(b, slice((span){ all.file, at, s.begin }));
        write_part(b, list[i], apart, fixed, count == 1 && outermost(n));
        at = s.end;
    }
    put_text(b, slice((span){ all.file, at, all.end }));
}

// Braces as they stand; each number is given what it needs.
void write_init(buffer *b, node *n, ty *t, bool apart, bool fixed)
{
    if (n->kind != InitListExpr) {
        const bool braces = active(t) && zero(n);
        put(b, braces ? "{ " : "");
        write_value(b, n, t, apart, fixed, true);
        put(b, braces ? " }" : "");
        return;
    }
    part *list = malloc((size_t)(n->kids + 1) * sizeof *list);
    const int count = list ? parts_of(n, t, list) : 0;
    if (t->kind == T_NUM && count == 1 && active(t) && !zero(list[0].n)) {
        write_value(b, list[0].n, t, apart, fixed, true);
    } else if (!apart && !in_macro(n)) {
        write_list(b, n, list, count, apart, fixed);
    } else {
        put(b, "{ ");
        for (int i = 0; i < count; i++) {
            put(b, i ? ", " : "");
            write_part(b, list[i], true, fixed, count == 1 && outermost(n));
        }
        put(b, " }");
    }
    free(list);
}

/* --- declarations --------------------------------------------------------- */

static node *init_of(const node *d)
{
    for (int i = 0; d->init && i < d->kids; i++)
        if (d->kid[i]->kind != FullComment && d->kid[i]->kind != UNKNOWN_KIND)
            return d->kid[i];
    return NULL;
}

static bool takes_parentheses(text w)
{
    return is(w, "__attribute__") || is(w, "typeof") || is(w, "__typeof__")
        || is(w, "_Alignas") || is(w, "_Atomic");
}

// Where the first declarator begins: at `*`, `(` or the name.
static size_t declarator_begin(const node *d, size_t begin, size_t name)
{
    const text t = file_at(d->begin.expanded.file)->text;
    text last = { "", 0 };
    size_t i = begin;

    while ((i = skip_blank(t, i)) < name) {
        const char c = t.at[i];
        if (c == '*')
            return i;
        if (c == '(' && !takes_parentheses(last))
            return i;
        if (c == '(' || c == '{') {
            i = closing(t, i);
            continue;
        }
        const size_t next = skip_token(t, i);
        last = (text){ t.at + i, next - i };
        i = next;
    }
    return name;
}

static bool fixed_storage(const node *d)
{
    return d->kind == VarDecl
        && (is(d->storage, "static") || d->parent->kind == TranslationUnitDecl);
}

static void declare_apart(buffer *b, node *d)
{
    node *init = init_of(d);
    buffer name = { 0 };

    twin_name(&name, d);
    if (d->storage.n) {
        put_text(b, d->storage);
        put(b, " ");
    }
    ty_print(b, d->ty, text_in(&name));
    if (init != NULL) {
        put(b, " = ");
        write_init(b, init, d->ty, true, fixed_storage(d));
    }
}

static ty *function_in(ty *t)
{
    ty *base = ty_base(t);
    return base->kind == T_FUN && base->alias == NULL ? base : NULL;
}

// Names in dimensions may be those of twins.
static void put_dimensions(buffer *b, const node *d, text t)
{
    for (size_t i = 0; i < t.n;) {
        const size_t next = skip_token(t, i);
        const text w = { t.at + i, next - i };
        const node *v = outer_variable(d, w);
        const function *f = word_char(w.at[0])
            ? function_named(w, d->unit) : NULL;
        if (v != NULL && v->renamed)
            twin_name(b, v);
        else if (f != NULL && f->reached && f->decl->renamed)
            twin_name(b, f->decl);
        else
            put_text(b, w);
        i = next;
    }
}

// One declarator from `from`: its text, with another name and initialiser.
static void write_declarator(buffer *b, node *d, size_t from)
{
    node *init = init_of(d);
    const int f = d->begin.expanded.file;
    const size_t name = d->loc.expanded.at, end = span_of(d).end;
    const size_t behind = name + d->loc.expanded.n;
    size_t stop = init ? span_of(init).begin : end;

    put_text(b, slice((span){ f, from, name }));
    if (d->name.n)
        twin_name(b, d);
    if (init == NULL) {
        put_dimensions(b, d, slice((span){ f, behind, end }));
        return;
    }
    put_dimensions(b, d, slice((span){ f, behind, stop }));
    write_init(b, init, d->ty, false, fixed_storage(d));
    put_text(b, slice((span){ f, span_of(init).end, end }));
}

static void indent_as(buffer *b, int f, size_t at)
{
    const text t = file_at(f)->text;
    size_t i = at, n = 0;
    while (i > 0 && t.at[i - 1] != '\n')
        i--;
    while (i + n < at && (t.at[i + n] == ' ' || t.at[i + n] == '\t'))
        n++;
    if (i + n < at) {               // not the first on its line
        put(b, " ");
        return;
    }
    put(b, "\n");
    put_text(b, (text){ t.at + i, n });
}

static bool within(span a, span b)
{
    return a.file == b.file && a.begin >= b.begin && a.end <= b.end;
}

// An enumeration that a member of a structure at file scope declares. It is
// written with the plain structure: its names must stand but once.
static const node *enumeration_in(const node *d, span words)
{
    const node *r = d->parent, *top = r;
    while (top->kind == RecordDecl)
        top = top->parent;
    for (int i = 0; top == tree && i < r->kids; i++)
        if (r->kid[i]->kind == EnumDecl && within(span_of(r->kid[i]), words))
            return r->kid[i];
    return NULL;
}

static bool has_negative(const node *n)
{
    if (n->kind == UnaryOperator && is(n->opcode, "-"))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (has_negative(n->kid[i]))
            return true;
    return false;
}

static void name_enumeration(buffer *b, const node *e, span words)
{
    const span s = span_of(e);
    put_text(b, slice((span){ words.file, words.begin, s.begin }));
    if (e->name.n)
        putf(b, "enum %.*s", (int)e->name.n, e->name.at);
    else
        put(b, has_negative(e) ? "int" : "unsigned");
    put_text(b, slice((span){ words.file, s.end, words.end }));
}

// The specifiers. A structure that is declared in them is written here if it is
// in another one, or has no name; otherwise it was written before.
static void write_specifiers(buffer *b, node *d, span words, bool again)
{
    ty *base = ty_base(d->ty);
    node *r = base->kind == T_REC ? base->record->decl : NULL;
    const span s = r ? span_of(r) : words;

    const node *e = enumeration_in(d, words);

    if (e != NULL) {
        name_enumeration(b, e, words);
        return;
    }
    if (r == NULL || s.file != words.file || s.begin < words.begin
        || s.end > words.end) {
        write_type_words(b, slice(words), base);
        return;
    }
    put_text(b, slice((span){ words.file, words.begin, s.begin }));
    if (!again && (d->kind == FieldDecl || base->record->tagless)) {
        write_record(b, r);
    } else {
        put_text(b, r->tag);
        put(b, " ");
        put_text(b, r->name);
        put(b, record_twin(r->record) ? opt.suffix : "");
    }
    put_text(b, slice((span){ words.file, s.end, words.end }));
}

// The declarator before that of d, in the same declaration.
static const node *sibling_before(const node *d)
{
    const node *before = NULL;
    for (int i = 0; d->parent != NULL && i < d->parent->kids; i++) {
        const node *k = d->parent->kid[i];
        if (k == d)
            return before;
        if (k->kind == d->kind && span_of(k).file == span_of(d).file
            && span_of(k).begin == span_of(d).begin)
            before = k;
    }
    return NULL;
}

bool first_declarator(const node *d) { return sibling_before(d) == NULL; }

// Where a declarator begins, and where its specifiers end.
static size_t declarator_start(const node *d, size_t *words)
{
    const size_t begin = span_of(d).begin;
    const text t = file_at(span_of(d).file)->text;
    const node *before = sibling_before(d), *first = d;
    for (const node *k = before; k != NULL; k = sibling_before(k))
        first = k;
    *words = declarator_begin(first, begin, first->loc.expanded.at);
    return before == NULL ? *words
         : skip_blank(t, skip_blank(t, span_of(before).end) + 1);
}

static bool words_declare(const node *d)
{
    const span s = span_of(d);
    return macro_declares(slice((span){ s.file, s.begin, d->loc.expanded.at }),
                          d->unit);
}

void write_group(buffer *b, node **decl, int n, bool apart, span all)
{
    const node *first = decl[0];

    if (apart || in_macro(first) || first->loc.macro
        || (ty_changed(first->ty) && words_declare(first))) {
        for (int i = 0; i < n; i++) {
            put(b, i ? "; " : "");
            declare_apart(b, decl[i]);
        }
        const text words = slice(all);
        put(b, !apart && words.n && words.at[words.n - 1] != ';' ? "" : ";");
        return;
    }
    const size_t begin = span_of(first).begin;
    const text t = file_at(all.file)->text;
    size_t start, from = declarator_start(first, &start);

    for (int i = 0; i < n; i++) {
        node *d = decl[i];
        const bool fresh = i == 0 || ty_changed(d->ty) != ty_changed(decl[i - 1]->ty)
            || function_in(d->ty) != NULL;
        if (i > 0) {
            const size_t comma = skip_blank(t, span_of(decl[i - 1]).end);
            from = comma + 1;
            if (fresh) {
                put(b, ";");
                indent_as(b, all.file, begin);
                from = skip_blank(t, from);
            } else {
                put(b, ",");
            }
        }
        if (function_in(d->ty) != NULL && ty_changed(d->ty)) {
            declare_apart(b, d);
            continue;
        }
        if (fresh)
            write_specifiers(b, d, (span){ all.file, begin, start }, i > 0);
        write_declarator(b, d, from);
    }
    put_text(b, slice((span){ all.file, span_of(decl[n - 1]).end, all.end }));
}

/* --- structures ----------------------------------------------------------- */

// Fields of one declaration: from list[i] on.
static int field_group(node **list, int n, int i)
{
    int k = i + 1;
    while (k < n && list[k]->kind == FieldDecl
           && span_of(list[k]).begin == span_of(list[i]).begin)
        k++;
    return k;
}

// Structures in the structure that no named field declares.
static bool anonymous(node **list, int n, int i)
{
    for (int k = i + 1; k < n; k++)
        if (list[k]->kind == FieldDecl && !list[k]->implicit
            && within(span_of(list[i]), span_of(list[k])))
            return false;
    return true;
}

static void write_fields(buffer *b, node **list, int n, span all, size_t at)
{
    for (int i = 0; i < n;) {
        node *d = list[i];
        int k = i + 1;
        span s = span_of(d);
        if (d->kind == FieldDecl && d->implicit) {
            i = k;
            continue;
        }
        if (d->kind == FieldDecl)
            k = field_group(list, n, i);
        s.end = span_of(list[k - 1]).end;
        if (s.begin < at || (d->kind == RecordDecl && !anonymous(list, n, i))) {
            i = k;
            continue;
        }
        put_text(b, slice((span){ all.file, at, s.begin }));
        if (d->kind == RecordDecl)
            write_record(b, d);
        else if (touched(d))
            write_group(b, list + i, k - i, false, s);
        else
            write_group(b, list + i, k - i, false, s);
        at = s.end;
        i = k;
    }
    put_text(b, slice((span){ all.file, at, all.end }));
}

// `struct name { ... }`, its twin if it has one.
void write_record(buffer *b, node *r)
{
    const span all = span_of(r);
    const text t = file_at(all.file)->text;
    size_t open = all.begin;
    node **list = malloc((size_t)(r->kids + 1) * sizeof *list);
    int n = 0;

    if (list == NULL || !record_twin(r->record)) {
        put_text(b, slice(all));
        free(list);
        return;
    }
    for (int i = 0; i < r->kids; i++)
        if (r->kid[i]->kind == FieldDecl || r->kid[i]->kind == RecordDecl)
            list[n++] = r->kid[i];
    while (open < all.end && t.at[open] != '{')
        open++;
    if (r->name.n && r->loc.macro) {
        putf(b, "%.*s %.*s%s ", (int)r->tag.n, r->tag.at, (int)r->name.n,
             r->name.at, opt.suffix);
        write_fields(b, list, n, all, open);
    } else if (r->name.n) {
        const size_t name = r->loc.expanded.at;
        put_text(b, slice((span){ all.file, all.begin, name + r->name.n }));
        put(b, opt.suffix);
        write_fields(b, list, n, all, name + r->name.n);
    } else {
        put_text(b, slice((span){ all.file, all.begin, open }));
        write_fields(b, list, n, all, open);
    }
    free(list);
}

/* --- declarations in functions -------------------------------------------- */

static void write_record_here(buffer *b, node *d);

static void write_declarations(buffer *b, node *n, bool apart)
{
    node **list = malloc((size_t)(n->kids + 1) * sizeof *list);
    int count = 0;

    for (int i = 0; list && i < n->kids; i++)
        if (n->kid[i]->kind == VarDecl)
            list[count++] = n->kid[i];
        else if (n->kid[i]->kind == FunctionDecl)
            continue;               // prototypes stand above
        else if (touched(n->kid[i]))
            write_record_here(b, n->kid[i]);
    if (count)
        write_group(b, list, count, apart, span_of(n));
    else if (b->n && n->kids && touched(n))
        while (b->at[b->n - 1] == ' ' || b->at[b->n - 1] == '\n')
            b->n--;
    free(list);
}

static void each_enumerator(buffer *b, node *n, bool apart)
{
    if (n->kind == EnumConstantDecl)
        write_gaps(b, n, apart, each_enumerator);
    else
        write_as(b, n, F_PLAIN, apart);
}

// A structure that a variable's declaration contains is written with it.
static void write_record_here(buffer *b, node *d)
{
    const node *p = d->parent;
    for (int i = 0; i < p->kids; i++)
        if (p->kid[i] != d && within(span_of(d), span_of(p->kid[i]))) {
            if (d->name.n == 0)
                return;
            break;
        }
    if (d->kind == EnumDecl) {
        write_gaps(b, d, false, each_enumerator);
        put(b, ";");
    } else if (d->kind == TypedefDecl) {
        if (typedef_plain(d)) {
            put_text(b, slice(span_of(d)));
            put(b, ";");
            indent_as(b, span_of(d).file, span_of(d).begin);
        }
        write_typedef(b, d, true);
        indent_as(b, span_of(d).file, span_of(d).begin);
    } else if (d->kind == RecordDecl) {
        for (int i = 0; i < p->kids; i++)
            if (p->kid[i]->kind == TypedefDecl
                && within(span_of(d), span_of(p->kid[i])))
                return;
        write_record(b, d);
        put(b, ";");
        indent_as(b, span_of(d).file, span_of(d).begin);
    } else {
        refuse(d, "declare it outside of the function",
               "a type with recorded numbers that is declared in a function");
    }
}

/* --- statements ----------------------------------------------------------- */

static bool expression(const node *n)
{
    return n->kind >= DeclRefExpr;
}

static bool is_condition(const node *n)
{
    const node *p = n->parent;
    return (p->kind == IfStmt && n == p->kid[0])
        || (p->kind == WhileStmt && n == p->kid[0])
        || (p->kind == DoStmt && n == p->kid[1])
        || (p->kind == ForStmt && n == p->kid[2]);
}

static void write_condition(buffer *b, node *n, bool apart)
{
    if (!active(n->ty)) {
        write_as(b, n, F_PLAIN, apart);
        return;
    }
    put(b, "ad_ne(");
    write_as(b, n, F_PLAIN, apart);
    put(b, ", 0)");
}

static void write_part_of(buffer *b, node *n, bool apart)
{
    const node *p = n->parent;

    if (!expression(n))
        write_stmt(b, n, apart, 0);
    else if (is_condition(n))
        write_condition(b, n, apart);
    else if (p->kind == ReturnStmt)
        write_as(b, n, active(result_type) ? F_NUMBER : F_PLAIN, apart);
    else if (p->kind == SwitchStmt && n == p->kid[0])
        write_as(b, n, F_PLAIN, apart);
    else if ((p->kind == CaseStmt && n == p->kid[0]) || n->kind == ConstantExpr)
        write_as(b, n, F_PLAIN, apart);
    else
        write_void(b, n, apart);
}

static void put_line(buffer *b, int indent)
{
    put(b, "\n");
    for (int i = 0; i < indent; i++)
        put(b, " ");
}

static void write_apart(buffer *b, node *n, int indent);

static void body_apart(buffer *b, node *n, int indent)
{
    put(b, " ");
    write_stmt(b, n, true, indent);
}

static void for_apart(buffer *b, node *n, int indent)
{
    put(b, "for (");
    if (n->kid[0]->kind == DeclStmt)
        write_declarations(b, n->kid[0], true);
    else if (n->kid[0]->kind != NO_NODE)
        write_void(b, n->kid[0], true), put(b, ";");
    else
        put(b, ";");
    put(b, " ");
    if (n->kid[2]->kind != NO_NODE)
        write_condition(b, n->kid[2], true);
    put(b, "; ");
    if (n->kid[3]->kind != NO_NODE)
        write_void(b, n->kid[3], true);
    put(b, ")");
    body_apart(b, n->kid[4], indent);
}

static void head_apart(buffer *b, const char *word, node *n, int indent)
{
    put(b, word);
    put(b, " (");
    write_condition(b, n->kid[0], true);
    put(b, ")");
    body_apart(b, n->kid[1], indent);
}

static void write_apart(buffer *b, node *n, int indent)
{
    switch (n->kind) {
    case NullStmt: put(b, ";"); return;
    case BreakStmt: put(b, "break;"); return;
    case ContinueStmt: put(b, "continue;"); return;
    case DeclStmt: write_declarations(b, n, true); return;
    case ForStmt: for_apart(b, n, indent); return;
    case WhileStmt: head_apart(b, "while", n, indent); return;
    case SwitchStmt: head_apart(b, "switch", n, indent); return;
    case IfStmt:
        head_apart(b, "if", n, indent);
        if (n->kids > 2) {
            put(b, " else");
            body_apart(b, n->kid[2], indent);
        }
        return;
    case DoStmt:
        put(b, "do");
        body_apart(b, n->kid[0], indent);
        put(b, " while (");
        write_condition(b, n->kid[1], true);
        put(b, ");");
        return;
    case ReturnStmt:
        put(b, n->kids ? "return " : "return");
        if (n->kids)
            write_part_of(b, n->kid[0], true);
        put(b, ";");
        return;
    case CompoundStmt:
        put(b, "{");
        for (int i = 0; i < n->kids; i++) {
            put_line(b, indent + 4);
            write_stmt(b, n->kid[i], true, indent + 4);
        }
        put_line(b, indent);
        put(b, "}");
        return;
    case CaseStmt:
        put(b, "case ");
        write_as(b, n->kid[0], F_PLAIN, true);
        put(b, ": ");
        write_stmt(b, n->kid[n->kids - 1], true, indent);
        return;
    case DefaultStmt:
        put(b, "default: ");
        write_stmt(b, n->kid[0], true, indent);
        return;
    case NO_NODE:
        return;
    default:
        refuse(n, "write it without the macro",
               "a statement in a macro that is not understood");
    }
}

static void expand(buffer *b, node *n, int indent)
{
    if (expression(n)) {
        write_void(b, n, true);
        put(b, n->parent->kind == CompoundStmt || n->parent->kind == IfStmt
               || n->parent->kind == ForStmt || n->parent->kind == WhileStmt
               || n->parent->kind == DoStmt || n->parent->kind == CaseStmt
               || n->parent->kind == DefaultStmt ? ";" : "");
    } else {
        write_apart(b, n, indent);
    }
}

// The indentation of the line that n stands on.
static int indent_of(const node *n)
{
    const text t = file_at(n->begin.expanded.file)->text;
    size_t i = n->begin.expanded.at;
    int count = 0;
    while (i > 0 && t.at[i - 1] != '\n')
        i--;
    while (i < t.n && (t.at[i] == ' ' || t.at[i] == '\t'))
        count += t.at[i++] == '\t' ? 8 : 1;
    return count;
}

// Where a statement begins in a macro and ends outside of it, or the other way
// round, and is not the same: from the tree.
static bool torn(const node *n)
{
    if (expression(n) || n->kind == CompoundStmt || n->kind == DeclStmt)
        return false;
    return n->begin.macro && !(n->kids == 0);
}

static bool head_touched(node *n)
{
    for (int i = 0; i < n->kids; i++)
        if (n->kid[i]->begin.macro && touched(n->kid[i]))
            return true;
    return false;
}

void write_stmt(buffer *b, node *n, bool apart, int indent)
{
    span s;

    if (n->kind == NO_NODE)
        return;
    if (!apart && !touched(n)) {
        put_text(b, slice(span_of(n)));
        return;
    }
    if (apart && !touched(n) && !n->begin.macro) {
        put_text(b, slice(span_of(n)));
        put(b, expression(n) ? ";" : "");
        return;
    }
    if (apart && !touched(n) && spelled_whole(n, &s)) {
        put_text(b, slice(s));
        put(b, expression(n) ? ";" : "");
        return;
    }
    if (apart && !in_macro(n) && !n->begin.macro) {     // the body of a macro loop
        write_stmt(b, n, false, indent);
        put(b, expression(n) ? ";" : "");
        return;
    }
    if (apart) {
        expand(b, n, indent ? indent : indent_of(n));
    } else if (in_macro(n) && n->kind == StmtExpr) {
        write_void(b, n, false);
    } else if (in_macro(n) || (torn(n) && head_touched(n))) {
        const span all = span_of(n);
        const text t = file_at(all.file)->text;
        const size_t next = skip_blank(t, all.end);
        expand(b, n, indent_of(n));
        if (b->at[b->n - 1] == ';' && next < t.n && t.at[next] == ';')
            b->n--;
    }
    else if (n->kind == DeclStmt)
        write_declarations(b, n, false);
    else if (expression(n))
        write_void(b, n, false);
    else
        write_gaps(b, n, false, write_part_of);
}

void write_body(buffer *b, function *f)
{
    result_type = f->type->to;
    write_stmt(b, f->body, in_macro(f->decl), 0);
}
