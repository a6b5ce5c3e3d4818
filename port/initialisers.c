/* initialisers.c - writes initialisers: of numbers, arrays and structures.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>
#include <string.h>

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
        if (s.file != all.file && ty_changed(list[i].t))
            refuse(n, "write them where they are included",
                   "numbers of a recorded table that stand in another file");
        if (s.file != all.file || s.begin < at || s.end > all.end)
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
