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

static const ty *result_type;           // of the function that is written

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

// Begins a line that is indented as the one at this place of the source.
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
        if (s.file != all.file && touched(d))
            refuse(d, "write it where it is included",
                   "a member of a structure that stands in another file");
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

/* --- type definitions ----------------------------------------------------- */

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

static void write_part_of(buffer *b, node *n, bool apart)
{
    const node *p = n->parent;

    if (!expression(n))
        write_stmt(b, n, apart, 0);
    else if (is_condition(n))
        write_truth(b, n, apart);
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
        write_truth(b, n->kid[2], true);
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
    write_truth(b, n->kid[0], true);
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
        write_truth(b, n->kid[1], true);
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
    if (span_of(f->body).file != span_of(f->decl).file)
        refuse(f->decl, "write it where it is included",
               "a function whose braces stand in another file");
    const size_t from = b->n;
    result_type = f->type->to;
    write_stmt(b, f->body, in_macro(f->decl), 0);
    drop_gone(b, from, f->decl->unit);
}
