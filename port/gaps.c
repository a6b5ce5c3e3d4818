/* gaps.c - what must be written again, and the text between it.
 *
 * Of a node the text between its parts is copied, and the parts are written by
 * a function that is given: so comments, macros and the layout stay.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>

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
        if ((v != NULL && v->renamed) || (f != NULL && f->reached))
            return true;
        i = next;
    }
    return false;
}

bool touched_itself(node *n)
{
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

/* --- gaps ----------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const node *x = *(node *const *)a, *y = *(node *const *)b;
    const uint32_t i = x->begin.expanded.at, j = y->begin.expanded.at;
    return (i > j) - (i < j);
}

// The kids that stand in the text, in its order.
static int placed(node *n, node **list)
{
    int count = 0;
    for (int i = 0; i < n->kids; i++)
        if (n->kid[i]->kind != NO_NODE && n->kid[i]->kind != FullComment
            && n->kid[i]->begin.expanded.file >= 0)
            list[count++] = n->kid[i];
    if (count)
        qsort(list, (size_t)count, sizeof *list, by_place);
    return count;
}

static bool any_touched(node **list, int n)
{
    for (int i = 0; i < n; i++)
        if (touched(list[i]))
            return true;
    return false;
}

// Behind a statement of a macro, before the next one of it.
static void next_statement(buffer *b, int f, size_t at)
{
    const text t = file_at(f)->text;
    size_t i = at;
    if (b->at[b->n - 1] != ';' && b->at[b->n - 1] != '}')
        put(b, ";");
    while (i > 0 && t.at[i - 1] != '\n')
        i--;
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

// Copies the text of n, with its kids written by `each`.
void write_gaps(buffer *b, node *n, bool apart,
                void (*each)(buffer *, node *, bool))
{
    node **list = malloc((size_t)(n->kids + 1) * sizeof *list);
    const int count = list ? placed(n, list) : 0;
    const span all = span_of(n);
    size_t at = all.begin;

    for (int i = 0; i < count;) {
        int k = i + 1;
        const span s = span_of(list[i]);
        while (k < count && one_macro(list[i], list[k]))
            k++;
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
                each(b, list[j], apart);
            }
        if (n->kind == CompoundStmt && in_macro(list[i]))
            end_statement(b, s);
        at = s.end;
        i = k;
    }
    put_text(b, slice((span){ all.file, at, all.end }));
    free(list);
}
