/* operators.c - names of operators, and what stands between operands.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <string.h>

// Whether the text has a comma that would part the arguments of a macro.
bool open_comma(text t)
{
    int depth = 0;
    for (size_t i = 0; i < t.n;) {
        const char c = t.at[i];
        depth += (c == '(') - (c == ')');
        if (c == ',' && depth == 0)
            return true;
        i = skip_token(t, i);
    }
    return false;
}

bool is_store(const node *n)
{
    return n->kind == CompoundAssignOperator
        || (n->kind == BinaryOperator && is(n->opcode, "="))
        || (n->kind == UnaryOperator && one_of(n->opcode, "++ --"));
}

// The list, or a new one.
nodes *nodes_with(nodes *list, node *n)
{
    if (list == NULL)
        list = take(sizeof *list);
    list->at = grow(list->at, &list->room, list->n + 1, sizeof *list->at);
    list->at[list->n++] = n;
    return list;
}

static void find_stores(node *body, node *n)
{
    if (is_store(n)) {
        node *d = (node *)local_variable(base_node(n->kid[0]));
        body->stores = nodes_with(body->stores, n);
        if (d != NULL)
            d->stores = nodes_with(d->stores, n);
    }
    for (int i = 0; i < n->kids; i++)
        find_stores(body, n->kid[i]);
}

// Stores at a local variable, or, if that is NULL, all of a body; in order. They are
// found once: each condition of a long function asks for them.
const nodes *stores_in(const node *body, const node *variable)
{
    static const nodes none;
    if (body->stores == NULL) {
        ((node *)body)->stores = take(sizeof none);
        find_stores((node *)body, (node *)body);
    }
    const node *n = variable ? variable : body;
    return n->stores ? n->stores : &none;
}

static void list_write(names *all, text name, node *n)
{
    nodes *list = name_find(all, name, -1);
    if (list == NULL)
        name_set(all, name, -1, list = nodes_with(NULL, n));
    else if (list->at[list->n - 1] != n)
        nodes_with(list, n);
}

// By each name at `at`. false: there is none.
static bool list_names(names *all, const node *at, node *n)
{
    bool any = at->kind == DeclRefExpr;
    if (any)
        list_write(all, at->ref_name, n);
    for (int i = 0; i < at->kids; i++)
        any |= list_names(all, at->kid[i], n);
    return any;
}

static void find_writes(names *all, node *n)
{
    static unsigned count;
    n->begins = ++count;
    if ((is_store(n) || (n->kind == UnaryOperator && is(n->opcode, "&")))
        && !list_names(all, n->kid[0], n))
        list_write(all, T(""), n);
    for (int i = 1; n->kind == CallExpr && i < n->kids; i++)
        if (n->kid[i]->ty != NULL && n->kid[i]->ty->kind == T_PTR
            && (n->kid[i]->ty->to->quals & Q_CONST) == 0)
            list_names(all, n->kid[i], n);
    for (int i = 0; i < n->kids; i++)
        find_writes(all, n->kid[i]);
    n->ends = count;
}

// Stores, operators & and calls that get a pointer which is not to constants; in order,
// and found once, as stores are. Without a name: what names nothing.
const nodes *writes_of(const function *f, text name)
{
    static const nodes none;
    node *body = f->body;
    if (body->places == NULL) {
        body->places = take(sizeof *body->places);
        find_writes(body->places, body);
    }
    const nodes *list = name_find(body->places, name, -1);
    return list ? list : &none;
}

size_t first_from(const nodes *list, unsigned begins)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (list->at[middle]->begins < begins)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

node *given(const node *body, const node *variable, size_t i)
{
    if (variable == NULL)
        return NULL;
    const bool begins = variable->init && variable->kids;
    const nodes *stores = stores_in(body, variable);
    if (begins && i == 0)
        return variable->kid[0];
    i -= begins;
    return i >= stores->n ? NULL
         : stores->at[i]->kid[stores->at[i]->kids > 1];
}

bool has_effect(const node *n)
{
    if (is_store(n) || n->kind == CallExpr)
        return true;
    for (int i = 0; i < n->kids; i++)
        if (has_effect(n->kid[i]))
            return true;
    return false;
}

// It may be computed once more: it does nothing else.
bool is_pure(const node *n)
{
    const function *f = n->kind == CallExpr ? function_called(n) : NULL;
    const library_kind what = f != NULL ? call_library(n).kind : L_NONE;
    if (is_store(n) || (n->kind == CallExpr && what != L_OPERATION
                        && (f == NULL || f->body == NULL || has_effect(f->body))))
        return false;
    for (int i = 0; i < n->kids; i++)
        if (!is_pure(n->kid[i]))
            return false;
    return true;
}

const char *operator_of(text o)
{
    static const char *const table[][2] = {
        { "+", "ad_add" }, { "-", "ad_sub" }, { "*", "ad_mul" },
        { "/", "ad_div" }, { "<", "ad_lt" }, { "<=", "ad_le" },
        { ">", "ad_gt" }, { ">=", "ad_ge" }, { "==", "ad_eq" },
        { "!=", "ad_ne" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is(o, table[i][0]))
            return table[i][1];
    return NULL;
}

const char *change_name(const char *op)
{
    return strcmp(op, "ad_add") == 0 ? "added" : strcmp(op, "ad_sub") == 0
         ? "subtracted" : strcmp(op, "ad_mul") == 0 ? "multiplied" : "divided";
}

const char *compound_name(text o)
{
    o.n -= 1;
    return operator_of(o);
}

void twin_name(buffer *b, const node *d)
{
    if (d->renamed)
        put_text(b, d->prefix);
    put_text(b, d->name);
    if (d->renamed)
        put(b, opt.suffix);
    if (d->kind == FunctionDecl && d->renamed && d->function != NULL
        && function_written(d->function)->number)
        putf(b, "%d", function_written(d->function)->number);
}

// The comment in a gap between two operands, and what follows it there.
static text comment_in(text gap)
{
    for (size_t i = 0; i + 1 < gap.n; i++)
        if (gap.at[i] == '/' && (gap.at[i + 1] == '/' || gap.at[i + 1] == '*'))
            return (text){ gap.at + i, skip_blank(gap, i) - i };
    return (text){ gap.at, 0 };
}

// What stands between two operands: a comma, and comments. Lines are broken
// again in the end.
void put_break(buffer *b, const node *left, const node *right, bool apart)
{
    const span l = span_of(left), r = span_of(right);
    const bool side_by_side = !apart && l.file == r.file && l.end <= r.begin
                              && !in_macro(left) && !in_macro(right);
    put(b, ", ");
    if (!side_by_side)
        return;
    const text comment = comment_in(slice((span){ l.file, l.end, r.begin }));
    put_text(b, comment);
    if (comment.n > 0 && b->at[b->n - 1] != '\n' && b->at[b->n - 1] != ' ')
        put(b, " ");
}
