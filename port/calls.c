/* calls.c - what flows in calls of the C library and of unseen functions.
 *
 * The arguments have been looked at: their types are given.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <string.h>

bool one_of(text o, const char *list)
{
    const char *s = strstr(list, text_copy(o));
    return s != NULL && (s == list || s[-1] == ' ')
        && (s[o.n] == ' ' || s[o.n] == 0);
}

ty *result_of(ty *f, node *call)
{
    ty *t = f->to;
    if (t->kind != T_NUM)
        return t;
    ty *value = computed(call);
    flows(t, value);
    return value;
}

ty *pointee(ty *t)
{
    static ty none = { .kind = T_OTHER };
    return t->kind == T_PTR || t->kind == T_ARR ? t->to : &none;
}

static ty *see_memory(node *call, library l, ty **arg, int n)
{
    ty *result = ty_of(call->type, call);
    if (l.kind == L_ALLOC && result->kind == T_PTR) {
        if (n > 0 && arg[0]->kind == T_PTR)
            join(result->to, pointee(arg[0]), call);
        put_off(MEMORY, call, result->to, NULL, NULL);
    } else if (l.kind == L_COPY && n > 1) {
        join(pointee(arg[0]), pointee(arg[1]), call);
        step_note(arg[0]);
        step_note(arg[1]);
        put_off(MEMORY, call, pointee(arg[0]), NULL, NULL);
        return arg[0];
    } else if (l.kind == L_SET && n > 0) {
        put_off(MEMORY, call, pointee(arg[0]), NULL, NULL);
        return arg[0];
    } else if (l.kind == L_PLACE && n > 0) {
        put_off(MEMORY, call, pointee(ty_bound(pointee(arg[0]))), NULL, NULL);
    }
    return result;
}

void see_printed(node *call, ty *arg, const char *why)
{
    put_off(PRINTED, call, arg, why, "keep it in memory");
    if (arg->kind != T_NUM)
        put_off(BYTES, call, arg, "recorded numbers are used as bytes",
                "print their values");
}

// How often a function may read the arguments that it does not name: wherever a
// va_list is named, but in a call that prints, and in what begins and ends it.
static void find_variadic(const node *n, int *reading)
{
    if (n->kind == DeclRefExpr && find(n->type, "va_list") < n->type.n) {
        const node *p = n->parent;
        while (p->kind == ImplicitCastExpr || p->kind == ParenExpr)
            p = p->parent;
        const text name = p->kind == CallExpr ? callee_name(p) : T("");
        if (!(name.n && one_of(name, "vprintf vfprintf vsyslog"))
            && !starts(name, "__builtin_va_start")
            && !starts(name, "__builtin_va_end"))
            ++*reading;
    }
    *reading += is(n->kind_name, "VAArgExpr");
    for (int i = 0; i < n->kids; i++)
        find_variadic(n->kid[i], reading);
}

bool prints_only(const function *f)
{
    int reading = 0;
    if (f == NULL || f->body == NULL || !f->decl->variadic)
        return false;
    find_variadic(f->body, &reading);
    return reading == 0;
}

ty *see_library(node *call, library l, ty **arg, int n)
{
    ty *value;
    switch (l.kind) {
    case L_CONSTANT:
        return computed(call);
    case L_HELPER:
    case L_OPERATION:
        value = computed(call);
        for (int i = 0; i < n && i < l.numbers; i++)
            flows(arg[i], value);
        return value;
    case L_VALUE:
        for (int i = 0; i < n; i++)
            if (arg[i]->kind != T_NUM)
                put_off(BYTES, call, arg[i], "a function that is not seen gets "
                        "recorded numbers", "pass values");
        return other();
    case L_STEP:
        return computed(call);
    case L_PARTS:
        value = computed(call);
        for (int i = 0; i < n && i < l.numbers; i++)
            flows(arg[i], value);
        for (int i = l.numbers; i < n; i++)         // all of them, or none
            if (pointee(arg[i])->kind == T_NUM)
                num_join(pointee(arg[i])->num, value->num);
        return value;
    case L_PASSIVE:
        for (int i = 0; i < n; i++)
            see_printed(call, arg[i], l.why);
        return ty_of(call->type, call);
    case L_FREE:
        return ty_of(call->type, call);
    case L_SORT:
        put_off(SORTED, call, arg[0], "qsort, bsearch or memcmp of recorded "
                "numbers", "sort indices by a loop of your own");
        return ty_of(call->type, call);
    default:
        return see_memory(call, l, arg, n);
    }
}

static bool reads(text name)
{
    return find(name, "scanf") < name.n || starts(name, "strto")
        || starts(name, "ato") || is(name, "fread")
        || is(name, "fgets") || is(name, "getline") || is(name, "fgetc")
        || is(name, "getc") || is(name, "read");
}

// A function that is not seen must not get anything that varies.
ty *see_unseen(node *call, ty **arg, int n)
{
    flow_reads |= reads(callee_name(call));
    for (int i = 0; i < n; i++)
        put_off(UNSEEN, call, arg[i], NULL, NULL);
    ty *value = ty_of(call->type, call);
    for (int i = 0; i < n; i++)
        flows(arg[i], value);
    if (value->kind == T_REC)
        put_off(SORTED, call, value, "a structure of a function that is not seen "
                "gets recorded numbers", "copy its members to one of your own");
    if (value->kind == T_PTR)
        put_off(BYTES, call, value, "memory of a function that is not seen gets "
                "recorded numbers", "copy them to memory of your own");
    return value;
}

// It returns an int, as C90 has it; arguments of what types, nobody knows.
ty *see_undeclared(node *call, ty **arg, int n)
{
    put_off(OUTSIDE, call, other(), NULL, NULL);
    for (int i = 0; i < n; i++)
        put_off(UNSEEN, call, arg[i], "a function that is not declared",
                "include the header that declares it, and give its source");
    return ty_of(call->type, call);
}

bool stub_given(text name)
{
    buffer b = { 0 };
    if (opt.stubs == NULL)
        return false;
    putf(&b, "%.*s%s(", (int)name.n, name.at, opt.suffix);
    return find(opt.stub_text, b.at) < opt.stub_text.n;
}

// Of a function that the user completes: whatever goes in may come out.
void stub_flows(ty *f)
{
    for (int i = 0; i < f->pars; i++)
        if (f->to->kind == T_NUM && f->par[i]->kind == T_NUM)
            num_join(f->par[i]->num, f->to->num);
}

static bool calls_alloc(const node *n)
{
    if (n->kind == CallExpr && call_library(n).kind == L_ALLOC)
        return true;
    for (int i = 0; i < n->kids; i++)
        if (calls_alloc(n->kid[i]))
            return true;
    return false;
}

// A function like malloc: it returns a pointer to void, and gets no address of
// anything but text.
bool gives_memory(const function *f)
{
    if (f == NULL || f->body == NULL || f->type->to->kind != T_PTR
        || f->type->to->to->kind != T_VOID || !calls_alloc(f->body))
        return false;
    for (int i = 0; i < f->type->pars; i++) {
        const ty *p = f->type->par[i];
        if (p->kind != T_OTHER && (p->kind != T_PTR || p->to->kind != T_OTHER))
            return false;
    }
    return true;
}
