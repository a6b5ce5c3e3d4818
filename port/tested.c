/* tested.c - pointers that a function only compares with NULL.
 *
 * `check(void *p, const char *name, int what)` may look at p as an address in
 * one case, and behind it in another: `if (what == 1) n = *(int *)p;`. Of a
 * call whose other arguments are literals it is known which parts run. Where p
 * is only compared with NULL in them, nothing behind it is used as another type.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>

typedef struct tested_call {
    const node *call, *decl;
    const node *parameter;
} tested_call;

static bool stands_for(const node *n, const node *d)
{
    return n->kind == DeclRefExpr && n->ref == d->id;
}

// Whether it keeps the value that it is called with.
static bool keeps_value(const node *n, const node *d)
{
    if (stands_for(n, d))
        return is(n->parent->cast, "LValueToRValue");
    for (int i = 0; i < n->kids; i++)
        if (!keeps_value(n->kid[i], d))
            return false;
    return true;
}

static const node *argument_for(const tested_call *t, const node *n)
{
    int at = 0;
    for (int i = 0; i < t->decl->kids; i++) {
        const node *p = t->decl->kid[i];
        if (p->kind != ParmVarDecl)
            continue;
        at++;
        if (stands_for(n, p) && at < t->call->kids && keeps_value(t->decl, p))
            return base_node(t->call->kid[at]);
    }
    return n;
}

static bool literal(const tested_call *t, const node *n, long *value)
{
    n = argument_for(t, base_node((node *)n));
    if (n->kind == IntegerLiteral)
        *value = strtol(text_copy(n->value), NULL, 10);
    return n->kind == IntegerLiteral;
}

// Of a condition: 1 or 0, or -1 if it is not known.
static int truth(const tested_call *t, const node *n)
{
    long a, b;
    n = base_node((node *)n);
    if (literal(t, n, &a))
        return a != 0;
    if (n->kind == UnaryOperator && is(n->opcode, "!")) {
        const int of = truth(t, n->kid[0]);
        return of < 0 ? of : !of;
    }
    if (n->kind != BinaryOperator)
        return -1;
    if (is(n->opcode, "&&") || is(n->opcode, "||")) {
        const int decides = is(n->opcode, "||");
        const int x = truth(t, n->kid[0]), y = truth(t, n->kid[1]);
        return x == decides || y == decides ? decides : x < 0 || y < 0 ? -1
             : !decides;
    }
    if (!literal(t, n->kid[0], &a) || !literal(t, n->kid[1], &b))
        return -1;
    return is(n->opcode, "==") ? a == b : is(n->opcode, "!=") ? a != b : -1;
}

// The part of n that does not run, counted from 0; -1: none is known.
static int part_that_rests(const tested_call *t, const node *n)
{
    if (n->kids < 2)
        return -1;
    const int of = truth(t, n->kid[0]);
    if (of < 0)
        return -1;
    if (n->kind == IfStmt || n->kind == ConditionalOperator)
        return of ? 2 : 1;
    return n->kind == BinaryOperator && is(n->opcode, of ? "||" : "&&") ? 1
         : -1;
}

static bool only_compared(const node *n)
{
    const node *p = n->parent;
    while (p->kind == ParenExpr || is(p->cast, "LValueToRValue")
           || is(p->cast, "NoOp"))
        p = p->parent;
    return is(p->cast, "PointerToBoolean")
        || (p->kind == UnaryOperator && is(p->opcode, "!"))
        || (p->kind == BinaryOperator
            && (is(p->opcode, "==") || is(p->opcode, "!=")
                || is(p->opcode, "&&") || is(p->opcode, "||")))
        || ((p->kind == IfStmt || p->kind == ConditionalOperator)
            && base_node(p->kid[0]) == n);
}

static bool tests(const tested_call *t, const node *n)
{
    const int rests = part_that_rests(t, n);
    if (stands_for(n, t->parameter) && !only_compared(n))
        return false;
    for (int i = 0; i < n->kids; i++)
        if (i != rests && !tests(t, n->kid[i]))
            return false;
    return true;
}

bool only_tested(const node *call, int i)
{
    const function *f = function_called(call);
    tested_call t = { call, f ? f->decl : NULL, NULL };
    if (f == NULL || f->body == NULL)
        return false;
    for (int k = 0; k < f->decl->kids; k++)
        if (f->decl->kid[k]->kind == ParmVarDecl && i-- == 0)
            t.parameter = f->decl->kid[k];
    return t.parameter != NULL
        && (starts(t.parameter->type, "void *")
            || starts(t.parameter->type, "const void *"))
        && tests(&t, f->body);
}
