/* gaps.c - what must be written again, and the text between it.
 *
 * Of a node the text between its parts is copied, and the parts are written by
 * a function that is given: so comments, macros and the layout stay.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>
#include <string.h>

/* --- what must be written again ------------------------------------------- */

static bool names_type(const node *n)
{
    return n->kind == CStyleCastExpr || n->kind == CompoundLiteralExpr
        || n->kind == VarDecl || n->kind == ParmVarDecl
        || n->kind == FieldDecl || n->kind == TypedefDecl
        || (n->kind == UnaryExprOrTypeTraitExpr && n->arg_type.n);
}

static bool names_in_dimensions(const node *n)
{
    if (n->ty == NULL || n->ty->kind != T_ARR)
        return false;
    const text t = slice((span){ n->loc.expanded.file, n->loc.expanded.at
                                 + n->loc.expanded.n, span_of(n).end });
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n && t.at[i] != '=';) {
        const size_t next = skip_token(t, i);
        const text w = { t.at + i, next - i };
        const node *v = outer_variable(n, w);
        const function *f = word_char(w.at[0])
            ? function_named(w, n->unit) : NULL;
        if ((v != NULL && v->renamed) || (f != NULL && f->decl->renamed))
            return true;
        i = next;
    }
    return false;
}

static bool names_passing(const node *n)
{
    const span s = span_of(n);
    const text t = n->loc.expanded.file != s.file || n->loc.expanded.at < s.begin
        ? T("") : slice((span){ s.file, s.begin, n->loc.expanded.at });
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n; i = skip_token(t, i))
        if (word_char(t.at[i])
            && is_passing((text){ t.at + i, skip_token(t, i) - i }, n->unit))
            return true;
    return false;
}

bool touched_itself(node *n)
{
    if (n->kind == VarDecl ? n->parent != tree && names_passing(n)
        : n->kind >= DeclRefExpr && n->begin.macro
          && is_passing(token(n->begin.expanded), n->unit))
        return true;
    if (n->kind == VarDecl && names_in_dimensions(n))
        return true;
    if (n->kind == CallExpr) {
        const ty *f = n->kid[0]->ty;
        if (f != NULL && f->kind == T_PTR)
            f = f->to;
        if (f != NULL && f->kind == T_FUN && ty_changed(f)
            && call_library(n).kind == L_NONE)
            return true;
    }
    if (n->kind == DeclRefExpr && n->addressed && ty_changed(n->ty))
        return true;
    if (n->kind == DeclRefExpr)
        return (n->decl != NULL && n->decl->renamed) || active(n->ty);
    if (n->kind == RecordDecl)
        return record_twin(n->record);
    if (n->kind == UnaryExprOrTypeTraitExpr && n->arg_type.n && n->arg == NULL)
        n->arg = ty_of(n->arg_type, n);
    if (n->kind == UnaryExprOrTypeTraitExpr)
        return ty_changed(n->arg);
    if (n->kind == FunctionDecl)
        return n->function != NULL && n->function->decl->renamed;
    if (n->kind == TypedefDecl && n->ty == NULL)
        n->ty = ty_of(n->type, n);
    if (n->kind == TypedefDecl)
        return ty_changed(n->ty) || typedef_twin(n);
    if (names_type(n) && ty_changed(n->ty))
        return true;
    if (n->kind == ReturnStmt)
        return n->kids > 0 && active(n->ty);
    return n->ty != NULL && n->kind != VarDecl && active(n->ty);
}

bool touched(node *n)
{
    if (n->touched_known)
        return n->touched;
    bool any = touched_itself(n);
    for (int i = 0; i < n->kids; i++)
        any = touched(n->kid[i]) || any;
    n->touched_known = 1;
    n->touched = any;
    return any;
}

/* --- macros whose text may stay --------------------------------------------
 * With `#define DEGREE PI/180`, x*DEGREE is (x*PI)/180: neither PI nor 180 is
 * what DEGREE stands for.                                                    */

enum { MOST_EXPANSIONS = 16 };

static bool at_expansion(const place *p, const place *at)
{
    return p->macro && p->expanded.file == at->expanded.file
        && p->expanded.at == at->expanded.at;
}

static bool ends_in(const node *n, const place *at)
{
    return at_expansion(&n->begin, at) || at_expansion(&n->end, at);
}

static bool any_in(const node *n, const place *at)
{
    bool any = ends_in(n, at);
    for (int i = 0; i < n->kids && !any; i++)
        any = any_in(n->kid[i], at);
    return any;
}

// Whether something beside n comes out of its macro.
static bool shares_expansion(const node *n)
{
    const place *at = &n->begin;
    for (const node *p = n->parent; p->kind >= DeclRefExpr;
         n = p, p = p->parent) {
        for (int i = 0; i < p->kids; i++)
            if (p->kid[i] != n && any_in(p->kid[i], at))
                return true;
        if (!ends_in(p, at))
            return false;
    }
    return false;
}

// What is expanded there.
static const macro *macro_at(const node *n)
{
    const text t = file_at(n->begin.expanded.file)->text;
    const size_t at = n->begin.expanded.at;
    return macro_named((text){ t.at + at, skip_token(t, at) - at }, n->unit);
}

// The tokens of a macro without parameters; of others from the parentheses on.
static text tokens_of(const macro *m)
{
    const size_t from = m->call ? closing(m->body, 0) : 0;
    const size_t at = skip_blank(m->body, from);
    return (text){ m->body.at + at, m->body.n - at };
}

static text first_token(text t, int unit, int depth)
{
    const text w = { t.at, skip_token(t, 0) };
    const macro *m = w.n && word_char(w.at[0]) ? macro_named(w, unit) : NULL;
    return m == NULL || m->call || depth == MOST_EXPANSIONS ? w
        : first_token(tokens_of(m), unit, depth + 1);
}

static text last_token(text t, int unit, int depth)
{
    text w = t;
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n; i += w.n)
        w = (text){ t.at + i, skip_token(t, i) - i };
    const macro *m = w.n && word_char(w.at[0]) ? macro_named(w, unit) : NULL;
    return m == NULL || m->call || depth == MOST_EXPANSIONS ? w
        : last_token(tokens_of(m), unit, depth + 1);
}

// One token, something in parentheses, or a call.
static bool is_closed(text t, int unit, int depth)
{
    size_t end = skip_token(t, 0);
    const text w = { t.at, end };
    if (t.n == 0 || depth == MOST_EXPANSIONS)
        return false;
    if (skip_blank(t, end) == t.n && word_char(t.at[0])) {
        const macro *m = macro_named(w, unit);
        return m == NULL || m->call || is_closed(tokens_of(m), unit, depth + 1);
    }
    if (word_char(t.at[0]))
        end = skip_blank(t, end);
    else
        end = 0;
    return end < t.n && t.at[end] == '('
        && skip_blank(t, closing(t, end)) == t.n;
}

bool whole_macro(const node *n)
{
    const macro *m = macro_at(n);
    if (m == NULL)
        return false;
    const text t = tokens_of(m);
    return is_closed(t, n->unit, 0)
        || (!shares_expansion(n)
            && same(first_token(t, n->unit, 0), token(n->begin.spelled))
            && same(last_token(t, n->unit, 0), token(n->end.spelled)));
}

/* --- code of other files ---------------------------------------------------
 * Parts of a node may stand in a file that is included between its braces. If
 * something in them is recorded, they are written in place of the directive. */

static size_t line_begin(text t, size_t at)
{
    while (at > 0 && t.at[at - 1] != '\n')
        at--;
    return at;
}

// Whether the directive at t.at[at] includes the file.
static bool includes(text t, size_t at, const char *path)
{
    size_t i = skip_blank(t, at + 1), from;
    if (!starts((text){ t.at + i, t.n - i }, "include"))
        return false;
    i = skip_blank(t, i + 7);
    if (i >= t.n || (t.at[i] != '"' && t.at[i] != '<'))
        return false;
    for (from = ++i; i < t.n && t.at[i] != '"' && t.at[i] != '>'; i++)
        ;
    return strcmp(base_name(text_copy((text){ t.at + from, i - from })),
                  base_name(path)) == 0;
}

// The line behind `from` that includes the file; empty: there is none.
static span directive_of(span all, size_t from, int index)
{
    const text t = file_at(all.file)->text;
    for (size_t i = from; i < all.end; i++) {
        const size_t line = line_begin(t, i);
        size_t end = i;
        if (t.at[i] != '#' || skip_blank(t, line) != i
            || !includes(t, i, file_at(index)->path))
            continue;
        while (end < t.n && t.at[end] != '\n')
            end++;
        return (span){ all.file, line, end };
    }
    return (span){ all.file, all.end, all.end };
}

/* --- gaps ----------------------------------------------------------------- */

// A part, and where it stands in the text of the whole: itself, or the line
// that includes it.
typedef struct standing {
    node *n;
    span at;
    bool foreign;
} standing;

static int by_place(const void *a, const void *b)
{
    const standing *x = a, *y = b;
    const size_t i = x->at.begin, j = y->at.begin;
    return i != j ? (i > j) - (i < j)
         : (x->n->begin.expanded.at > y->n->begin.expanded.at)
           - (x->n->begin.expanded.at < y->n->begin.expanded.at);
}

// The kids that stand in the text, in its order.
static int placed(node *n, standing *list)
{
    const span all = span_of(n);
    size_t last = all.begin;
    int count = 0;
    for (int i = 0; i < n->kids; i++) {
        node *k = n->kid[i];
        if (k->kind == NO_NODE || k->kind == FullComment
            || k->begin.expanded.file < 0)
            continue;
        const bool foreign = span_of(k).file != all.file;
        const span at = foreign ? directive_of(all, last, span_of(k).file)
            : span_of(k);
        if (foreign && at.begin == all.end && touched(k))
            refuse(k, "write it where it is included",
                   "code of a file that is included in a function");
        list[count++] = (standing){ k, at, foreign };
        last = foreign ? at.begin : at.end;
    }
    if (count)
        qsort(list, (size_t)count, sizeof *list, by_place);
    return count;
}

static bool any_touched(const standing *list, int n)
{
    for (int i = 0; i < n; i++)
        if (touched(list[i].n))
            return true;
    return false;
}

// Behind a statement of a macro, before the next one of it.
static void next_statement(buffer *b, int f, size_t at)
{
    const text t = file_at(f)->text;
    size_t i = line_begin(t, at);
    if (b->at[b->n - 1] != ';' && b->at[b->n - 1] != '}')
        put(b, ";");
    put(b, "\n");
    while (t.at[i] == ' ' || t.at[i] == '\t')
        put_char(b, t.at[i++]);
}

// One semicolon, whether it is in the macro or behind it.
static void end_statement(buffer *b, span s)
{
    const text t = file_at(s.file)->text;
    const size_t next = skip_blank(t, s.end);
    const char last = b->at[b->n - 1];
    if (next < t.n && t.at[next] == ';' && last == ';')
        b->n--;
    else if (last != ';' && last != '}' && t.at[next] != ';')
        put(b, ";");
}

// Whether a declaration begins in the macro that a comes from, and ends with the
// semicolon behind it.
static bool reaches_out(const node *a, const node *n)
{
    return in_macro(a) && n->begin.macro && !n->end.macro
        && n->begin.expanded.file == a->begin.expanded.file
        && n->begin.expanded.at == a->begin.expanded.at;
}

typedef void each_part(buffer *, node *, bool);

// Parts that follow each other, with the text of their file between them, from
// `at` to `end`.
static void write_parts(buffer *b, node *n, const standing *list, int count,
                        span all, bool apart, each_part *each)
{
    size_t at = all.begin;
    for (int i = 0; i < count;) {
        int k = i + 1;
        span s = span_of(list[i].n);
        while (k < count && one_macro(list[i].n, list[k].n))
            k++;
        const bool out = k < count && reaches_out(list[i].n, list[k].n);
        if (out)
            s.end = span_of(list[k++].n).end;
        if (s.file != all.file || s.begin < at || s.end > all.end) {
            i++;
            continue;
        }
        put_text(b, slice((span){ all.file, at, s.begin }));
        if (k > i + 1 && !any_touched(list + i, k - i))
            put_text(b, slice(s));
        else
            for (int j = i; j < k; j++) {
                if (j > i && n->kind == CompoundStmt)
                    next_statement(b, all.file, s.begin);
                else if (j > i)
                    put(b, ", ");
                each(b, list[j].n, apart || (out && j == k - 1));
            }
        if (n->kind == CompoundStmt && in_macro(list[i].n) && !out)
            end_statement(b, s);
        at = s.end;
        i = k;
    }
    put_text(b, slice((span){ all.file, at, all.end }));
}

// The text of an included file, without the comment at its top.
static span included_text(const standing *s)
{
    const int index = span_of(s->n).file;
    const text t = file_at(index)->text;
    return (span){ index, skip_blank(t, 0), t.n };
}

// Copies the text of n, with its kids written by `each`.
void write_gaps(buffer *b, node *n, bool apart, each_part *each)
{
    standing *list = take((size_t)(n->kids + 1) * sizeof *list);
    const int count = placed(n, list);
    const span all = span_of(n);
    size_t at = all.begin;

    for (int i = 0, k; i < count; i = k) {
        bool any = false;
        for (k = i; k < count && list[k].foreign == list[i].foreign
                    && (!list[i].foreign || list[k].at.begin == list[i].at.begin);
             k++)
            any = any || touched(list[k].n);
        const bool last = k == count;
        const size_t end = last ? all.end : list[k].at.begin;
        if (!list[i].foreign) {
            write_parts(b, n, list + i, k - i, (span){ all.file, at, end }, apart,
                        each);
            at = end;
        } else if (any && list[i].at.begin >= at && list[i].at.begin < all.end) {
            put_text(b, slice((span){ all.file, at, list[i].at.begin }));
            write_parts(b, n, list + i, k - i, included_text(&list[i]), apart,
                        each);
            at = list[i].at.end;
        }
    }
    put_text(b, slice((span){ all.file, at, all.end }));
}
