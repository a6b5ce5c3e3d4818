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
    const char *word = text_copy(o), *s = list;
    for (; o.n && (s = strstr(s, word)) != NULL; s++)
        if ((s == list || s[-1] == ' ') && (s[o.n] == ' ' || s[o.n] == 0))
            return true;
    return false;
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

// What is not seen, and not of the system, may set global data.
static bool sets_data(const node *call)
{
    const function *f = function_called(call);
    const int at = f ? f->decl->loc.expanded.file : -1;
    return f != NULL && f->body == NULL && at >= 0
        && strncmp(file_at(at)->path, "/usr/", 5) != 0
        && library_named(f->name).kind == L_NONE;
}

void see_printed(node *call, ty *arg, const char *why)
{
    put_off(PRINTED, call, arg, why, "keep it in memory");
    if (sets_data(call))
        put_off(TOLD, call, arg, NULL, NULL);
    if (arg->kind != T_NUM)
        put_off(BYTES, call, arg, "recorded numbers are used as bytes",
                "print their values");
}

static bool is_list(const node *n)
{
    return ((n->kind == DeclRefExpr && !is(n->ref_kind, "FunctionDecl"))
            || n->kind == MemberExpr
            || n->kind == ArraySubscriptExpr || n->kind == UnaryOperator)
        && (find(n->type, "va_list") < n->type.n
            || find(n->desugared, "va_list") < n->desugared.n);
}

// A list that others get only if they are given it.
static bool is_local(const node *n)
{
    if (n->kind != DeclRefExpr)
        return false;
    const node *d = n->decl ? n->decl : node_by_id(n->ref);
    return d != NULL && d->parent != tree && d->storage.n == 0;
}

static bool prints_list(text name)
{
    static const char chk[] = "_chk";
    const size_t n = sizeof chk - 1;
    if (starts(name, "__builtin_va_"))
        return true;
    if (starts(name, "__builtin___") && name.n > 12 + n)
        name = (text){ name.at + 12, name.n - 12 - n };
    return name.n && one_of(name, "vprintf vfprintf vdprintf vsyslog vsprintf "
                            "vsnprintf vasprintf");
}

// Whether the arguments that a function does not name may be read: by va_arg, or
// by what gets their list and does not only print it.
static bool reads_list(const node *n, int depth)
{
    if (is(n->kind_name, "VAArgExpr"))
        return true;
    if (is_list(n)) {
        const node *p = n->parent;
        if (!is_local(n))
            return true;
        while (p->kind == ImplicitCastExpr || p->kind == ParenExpr)
            p = p->parent;
        const text name = p->kind == CallExpr ? callee_name(p) : T("");
        const function *f = name.n ? function_called(p) : NULL;
        if (!prints_list(name) && (f == NULL || f->body == NULL || depth == 0
                                   || reads_list(f->body, depth - 1)))
            return true;
    }
    for (int i = 0; i < n->kids; i++)
        if (reads_list(n->kid[i], depth))
            return true;
    return false;
}

static bool has_format(const node *d)
{
    for (int i = 0; i < d->kids; i++)
        if (is(d->kid[i]->kind_name, "FormatAttr"))
            return true;
    return false;
}

static void or_any(ty *t, void *any)
{
    *(bool *)any |= t->kind == T_NUM;
}

static bool leads_to_numbers(ty *t)
{
    bool any = false;
    each_number(t, or_any, &any);
    while (t->kind == T_PTR || t->kind == T_ARR) {
        t = t->to;
        any |= t->kind == T_VOID;
    }
    return any;
}

// A function that is not seen may compute numbers from all that it gets.
static bool gives_numbers(const function *f)
{
    for (int i = 0; i < f->type->pars; i++) {
        ty *p = f->type->par[i];
        if (p->kind == T_PTR && !(p->to->kind == T_NUM && p->to->quals & Q_CONST)
            && leads_to_numbers(p))
            return true;
    }
    return leads_to_numbers(f->type->to);
}

// Its further arguments are for a message: as its body says, or, if it has none,
// an attribute, and that it gives no numbers.
bool prints_only(const function *f)
{
    if (f == NULL || !f->decl->variadic)
        return false;
    if (f->body == NULL)
        return has_format(f->decl) && find(f->name, "scan") == f->name.n
            && !gives_numbers(f);
    return !reads_list(f->body, 6);
}

// What bsearch finds is one of the elements.
static ty *see_sorted(node *call, ty **arg, int n)
{
    ty *result = ty_of(call->type, call);
    if (result->kind == T_PTR && n > 1)
        join(result->to, pointee(arg[1]), call);
    for (int i = 0; i < n && i < 2; i++)
        put_off(SORTED, call, arg[i], "qsort, bsearch or memcmp of recorded "
                "numbers", "sort indices by a loop of your own");
    return result;
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
        return see_sorted(call, arg, n);
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

static bool compares_texts(text name)
{
    return one_of(name, "strcmp strncmp strcoll strcasecmp strncasecmp memcmp "
                  "strstr strspn strcspn");
}

// A function that is not seen must not get anything that varies.
ty *see_unseen(node *call, ty **arg, int n)
{
    const function *f = function_called(call);
    const int named = prints_only(f) ? f->type->pars : n;
    flow_reads |= reads(callee_name(call));
    flow_compares_texts |= compares_texts(callee_name(call));
    for (int i = 0; i < n; i++)
        if (i < named)
            put_off(UNSEEN, call, arg[i], NULL, NULL);
        else
            see_printed(call, arg[i], "a function that prints");
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

// Whether its twin stands in the file of stubs.
bool stub_given(text name)
{
    const text t = opt.stub_text;
    buffer twin = { 0 };
    putf(&twin, "%.*s%s", (int)name.n, name.at, opt.suffix);
    for (size_t i = skip_blank(t, 0), end; i < t.n; i = skip_blank(t, end)) {
        end = skip_token(t, i);
        const size_t next = skip_blank(t, end);
        if (same((text){ t.at + i, end - i }, text_in(&twin))
            && next < t.n && t.at[next] == '(')
            return true;
    }
    return false;
}

// Of a function that the user completes: whatever goes in may come out. So all its
// numbers are recorded, also those of arrays, or none.
void stub_flows(ty *f)
{
    ty *hub = ty_number();
    for (int i = 0; i < f->pars; i++)
        each_number(f->par[i], join_number, hub);
    each_number(f->to, join_number, hub);
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
