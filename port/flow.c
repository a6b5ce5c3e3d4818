/* flow.c - what flows where; which numbers are active.
 *
 * Goes once through the functions that are reached from the named ones. Each
 * expression gets a type; each place where a value moves gives an edge from
 * number to number, each place where addresses meet joins them. Then what
 * depends on the inputs (varied) and what results depend on (useful) is spread
 * along the edges; what is both is active. Order and branches are not looked at,
 * which can only make more of it active.
 *
 * Comparisons count as results: so a recorded function sees its branches.
 *
 * What cannot be decided before the end is put off (`later`): calls of
 * functions that are not seen, casts of pointers, sizes of memory.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

function *flow_in;
bool flow_reads;

/* --- what is not understood ------------------------------------------------
 * Whatever goes in may come out, anywhere: so it is seen that something varies
 * there, and then it is refused.                                            */

static void from_hub(ty *t, void *hub) { num_edge(((ty *)hub)->num, t->num); }
static void to_hub(ty *t, void *hub) { num_edge(t->num, ((ty *)hub)->num); }

static void entangle(ty *t, ty *hub)
{
    if (t == NULL)
        return;
    each_number(t, to_hub, hub);
    each_number(t, from_hub, hub);
}

static void entangle_all(const node *n, ty *hub)
{
    for (int i = 0; i < n->kids; i++) {
        entangle(n->kid[i]->ty, hub);
        entangle_all(n->kid[i], hub);
    }
}

// Complex numbers and vectors get what they are made of, and nothing else.
static bool closed(const node *n)
{
    return is(n->kind_name, "ImaginaryLiteral")
        || find(n->type, "_Complex") < n->type.n
        || find(n->desugared, "_Complex") < n->desugared.n
        || starts(n->cast, "Floating")
        || find(n->type, "vector_size") < n->type.n
        || find(n->desugared, "vector_size") < n->desugared.n;
}

// Puts off a node whose parts have been seen; its type, if it has one.
static ty *odd(node *n, const char *why, const char *proposal)
{
    ty *hub = ty_number();
    entangle_all(n, hub);
    put_off(closed(n) ? ODD_HERE : ODD, n, hub, why, proposal);
    if (n->type.n == 0)
        return hub;
    ty *t = ty_of(n->type, n);
    if (t->kind != T_NUM && t->kind != T_PTR && t->kind != T_REC)
        return t;
    entangle(t, hub);
    return t;
}

/* --- values that move ----------------------------------------------------- */

static ty *see(node *n);
static void see_stmt(node *n);

static ty *other(void)
{
    static ty t = { .kind = T_OTHER, .name = { "int", 3 } };
    return &t;
}

static ty *computed(node *n)        // a number of its own
{
    ty *t = ty_of(n->type, n);
    return t->kind == T_NUM ? t : ty_number();
}

static void flows(ty *from, ty *to)
{
    if (from->kind == T_NUM && to->kind == T_NUM)
        num_edge(from->num, to->num);
}

static void assign(ty *to, ty *from, node *at)
{
    if (to->kind == T_NUM)
        flows(from, to);
    else if (to->kind == T_PTR || from->kind == T_PTR
             || (to->kind == T_REC && from->kind == T_REC))
        join(to, from, at);
}

static void compared(ty *t)
{
    if (t->kind == T_NUM)
        num_root(t->num)->useful = true;
}

static void see_condition(node *n)
{
    compared(see(n));
}

/* --- initialisers --------------------------------------------------------- */

static void see_init(ty *t, node *n)
{
    if (n->kind == ImplicitValueInitExpr)
        return;
    if (n->kind != InitListExpr) {
        ty *from = see(n);
        if (n->kind != StringLiteral)
            assign(t, from, n);
        return;
    }
    n->ty = t;
    if (t->kind == T_REC && t->record->is_union) {
        for (int i = 0; i < n->kids; i++)
            see_init(n->kid[i]->kind == InitListExpr
                     ? ty_of(n->kid[i]->type, n) : t->record->field[0],
                     n->kid[i]);
        if (n->kids && n->kid[0]->kind != ImplicitValueInitExpr)
            for (int i = 0; i < t->record->fields; i++)
                if (n->kid[0]->ty != NULL)
                    assign(t->record->field[i], n->kid[0]->ty, n);
    } else if (t->kind == T_REC) {
        for (int i = 0; i < n->kids && i < t->record->fields; i++)
            see_init(t->record->field[i], n->kid[i]);
    } else {
        ty *each = t->kind == T_ARR ? t->to : t;
        for (int i = 0; i < n->kids; i++)
            see_init(each, n->kid[i]);
    }
}

static bool is_attribute(const node *n)
{
    return n->kind == UNKNOWN_KIND && n->kind_name.n > 4
        && memcmp(n->kind_name.at + n->kind_name.n - 4, "Attr", 4) == 0;
}

// Dimensions are not in the tree: what they name is needed, too.
static void see_dimensions(node *d)
{
    if (d->ty->kind != T_ARR || d->loc.expanded.file < 0)
        return;
    const text t = slice((span){ d->loc.expanded.file,
                                 d->loc.expanded.at + d->loc.expanded.n,
                                 span_of(d).end });
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n && t.at[i] == '[';) {
        const size_t end = closing(t, i);
        while ((i = skip_blank(t, i)) < end) {
            const size_t next = skip_token(t, i);
            const text w = { t.at + i, next - i };
            node *v = outer_variable(d, w);
            function *f = word_char(w.at[0])
                ? function_named(w, d->unit) : NULL;
            if (v != NULL)
                see_variable(v);
            if (f != NULL)
                reach(f);
            i = next;
        }
    }
}

void see_variable(node *d)
{
    if (d->visited)
        return;
    d->visited = 1;
    if (d->ty == NULL)
        d->ty = ty_of(d->type, d);
    see_dimensions(d);
    for (int i = 0; d->init && i < d->kids; i++)
        if (d->kid[i]->kind != FullComment && !is_attribute(d->kid[i]))
            see_init(d->ty, d->kid[i]);
}

/* --- calls ---------------------------------------------------------------- */

void reach(function *f)
{
    if (f->type == NULL) {
        int n = 0;
        f->type = ty_of(f->decl->type, f->decl);
        for (int i = 0; i < f->decl->kids; i++) {
            node *p = f->decl->kid[i];
            if (p->kind == ParmVarDecl && n < f->type->pars)
                p->ty = f->type->par[n++];
        }
    }
    if (f->body != NULL && f->also != NULL && !f->reached)
        refuse(f->also, "give one of the two files", "%.*s is defined in %s, too",
               (int)f->name.n, f->name.at, file_at(span_of(f->decl).file)->path);
    if (f->body != NULL)
        f->reached = true;
}

static ty *result_of(ty *f, node *call)
{
    ty *t = f->to;
    if (t->kind != T_NUM)
        return t;
    ty *value = computed(call);
    flows(t, value);
    return value;
}

static ty *pointee(ty *t)
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
    }
    return result;
}

static void see_printed(node *call, ty *arg, const char *why)
{
    put_off(PRINTED, call, arg, why, "keep it in memory");
    if (arg->kind != T_NUM)
        put_off(BYTES, call, arg, "recorded numbers are used as bytes",
                "print their values");
}

// What a function does with the arguments that it does not name.
typedef struct variadic_use {
    int prints, others;
} variadic_use;

static bool one_of(text o, const char *list);

// Where a va_list is named: in a call that prints, or in what begins and ends it.
static void find_variadic(const node *n, variadic_use *u)
{
    if (n->kind == DeclRefExpr && find(n->type, "va_list") < n->type.n) {
        const node *p = n->parent;
        while (p->kind == ImplicitCastExpr || p->kind == ParenExpr)
            p = p->parent;
        const text name = p->kind == CallExpr ? callee_name(p) : T("");
        if (name.n && one_of(name, "vprintf vfprintf vsyslog"))
            u->prints++;
        else if (!starts(name, "__builtin_va_start")
                 && !starts(name, "__builtin_va_end"))
            u->others++;
    }
    u->others += is(n->kind_name, "VAArgExpr");
    for (int i = 0; i < n->kids; i++)
        find_variadic(n->kid[i], u);
}

static bool prints_only(const function *f)
{
    variadic_use u = { 0, 0 };
    if (f == NULL || f->body == NULL || !f->decl->variadic)
        return false;
    find_variadic(f->body, &u);
    return u.prints > 0 && u.others == 0;
}

static ty *see_library(node *call, library l, ty **arg, int n)
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
    case L_TEXT:
        for (int i = 0; i < n; i++)
            put_off(UNSEEN, call, arg[i], l.why, "print it; a text has no "
                    "derivative");
        return ty_of(call->type, call);
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
    return find(name, "scanf") < name.n || is(name, "fread")
        || is(name, "fgets") || is(name, "getline") || is(name, "fgetc")
        || is(name, "getc") || is(name, "read");
}

// A function that is not seen must not get anything that varies.
static ty *see_unseen(node *call, ty *f, ty **arg, int n)
{
    (void)f;
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
static ty *see_undeclared(node *call, ty **arg, int n)
{
    put_off(OUTSIDE, call, other(), NULL, NULL);
    for (int i = 0; i < n; i++)
        put_off(UNSEEN, call, arg[i], "a function that is not declared",
                "include the header that declares it, and give its source");
    return ty_of(call->type, call);
}

static bool stub_given(text name)
{
    buffer b = { 0 };
    if (opt.stubs == NULL)
        return false;
    putf(&b, "%.*s%s(", (int)name.n, name.at, opt.suffix);
    return find(opt.stub_text, b.at) < opt.stub_text.n;
}

// Of a function that the user completes: whatever goes in may come out.
static void stub_flows(ty *f)
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
static bool gives_memory(const function *f)
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

// An address may become one of bytes where it is only freed.
static ty *see_freed(node *n)
{
    for (; n->kind == ImplicitCastExpr || n->kind == CStyleCastExpr
           || n->kind == ParenExpr; n = n->kid[0]) {
        if (n->kind != ParenExpr && !is(n->cast, "BitCast")
            && !is(n->cast, "NoOp"))
            break;
        n->ty = ty_of(n->type, n);
    }
    return see(n);
}

static ty *see_call(node *call)
{
    const text name = callee_name(call);
    const library l = call_library(call);
    function *target = function_called(call);
    const int n = call->kids - 1;
    ty **arg = take((size_t)(n + 1) * sizeof *arg);
    ty *f = see(call->kid[0]);

    for (int i = 0; i < n; i++)
        arg[i] = l.kind == L_FREE ? see_freed(call->kid[i + 1])
                                  : see(call->kid[i + 1]);
    if (l.kind == L_REFUSED && strstr(l.why, "_create"))
        put_off(ODD, call, other(), l.why, "call the function itself: a recording "
                "belongs to one thread");
    else if (l.kind == L_REFUSED)
        put_off(strstr(l.why, "jmp") ? ODD : UNSEEN, call, n ? arg[0] : other(),
                l.why, "write it by other functions of <math.h>");
    if (l.kind == L_REFUSED)
        return see_unseen(call, f, arg, n);
    if (l.kind != L_NONE)
        return see_library(call, l, arg, n);
    if (target == NULL && name.n)
        return see_undeclared(call, arg, n);
    if (gives_memory(target)) {
        ty *result = ty_of(call->type, call);
        put_off(MEMORY, call, result->to, NULL, NULL);
        put_off(WRAPPED, call, result->to, NULL, NULL);
        return result;
    }
    if (target != NULL && target->body != NULL) {
        function *g = instance_of(target);
        call_instance(call->kid[0], g);
        f = g->type;
    }
    if (f->kind == T_PTR)
        f = f->to;
    put_off(OUTSIDE, call, f, NULL, NULL);
    if (f->kind != T_FUN)
        return see_unseen(call, f, arg, n);
    for (int i = 0; target == NULL && i < f->pars; i++)
        flows(f->par[i], f->to);
    for (int i = 0; target == NULL && i < n; i++)
        step_note(arg[i]);
    if (target == NULL)
        put_off(POINTER, call, f, "a function by a pointer of which nothing is "
                "known", "name the function that is called");
    if (target != NULL && target->body == NULL && stub_given(name)) {
        target->stub = true;
        stub_flows(f);
    } else if (target != NULL && target->body == NULL) {
        return see_unseen(call, f, arg, n);
    }
    const bool prints = prints_only(target);
    for (int i = 0; i < n; i++)
        if (i < f->pars)
            assign(f->par[i], arg[i], call->kid[i + 1]);
        else if (prints)
            see_printed(call, arg[i], "a function that prints");
        else
            put_off(UNSEEN, call, arg[i], NULL, NULL);
    return result_of(f, call);
}

/* --- expressions ---------------------------------------------------------- */

static ty *pointer_to(ty *t)
{
    ty *p = ty_new(T_PTR);
    p->to = t;
    return p;
}

static void see_address(function *f, node *n)
{
    const library l = library_named(f->name);
    f->addressed = true;
    n->addressed = 1;
    ty_root(f->type)->known = true;
    if (f->body != NULL)
        return;
    if (l.kind == L_OPERATION)
        for (int i = 0; i < f->type->pars; i++)
            flows(f->type->par[i], f->type->to);
    else if (l.kind != L_FREE)
        put_off(BYTES, n, f->type, "a function that is not seen gets recorded "
                "numbers", "write a stub for it: --stubs FILE");
}

static ty *see_name(node *n)
{
    node *d = declared(n);
    if (d == NULL)
        return ty_of(n->type, n);
    if (d->kind == FunctionDecl) {
        function *f = function_of(d);
        const node *p = n->parent;
        reach(f);
        while (p->kind == ImplicitCastExpr || p->kind == ParenExpr)
            p = p->parent;
        if (p->kind != CallExpr || base_node(p->kid[0]) != n)
            see_address(f, n);
        return f->type;
    }
    if (d->kind == VarDecl && d->parent == tree) {
        d->use = d->use ? d->use : n;
        see_variable(d);
    }
    if (d->kind == EnumConstantDecl)
        return other();
    return d->ty ? d->ty : (d->ty = ty_of(d->type, d));
}

static ty *see_pointer_cast(node *n, ty *from)
{
    ty *to = ty_of(n->type, n);
    if (to->kind == T_PTR && from->kind == T_PTR)
        join(to->to, from->to, n);
    else
        put_off(BYTES, n, from, "the address of recorded numbers becomes "
                "a whole number (aliasing)", "use pointers");
    return to;
}

static ty *see_cast(node *n)
{
    ty *from = see(n->kid[0]);
    const text c = n->cast;

    if (is(c, "LValueToRValue")) {
        if (from->kind != T_NUM)
            return from;
        ty *value = computed(n);
        flows(from, value);
        return value;
    }
    if (is(c, "NoOp") && n->kind == ImplicitCastExpr)
        return from;
    if (is(c, "NoOp") && from->kind == T_PTR) {
        ty *to = ty_of(n->type, n);
        if (to->kind == T_PTR)
            join(to->to, from->to, n);
        return to;
    }
    if (is(c, "NoOp"))
        return from;
    if (is(c, "ArrayToPointerDecay"))
        return pointer_to(from->kind == T_ARR ? from->to : from);
    if (is(c, "FunctionToPointerDecay") || is(c, "BuiltinFnToFnPtr"))
        return pointer_to(from);
    if (is(c, "IntegralToFloating"))
        return computed(n);
    if (is(c, "FloatingCast")) {
        ty *value = computed(n);
        flows(from, value);
        return value;
    }
    if (is(c, "FloatingToIntegral"))
        return other();
    if (is(c, "FloatingToBoolean")) {
        compared(from);
        return other();
    }
    if (is(c, "BitCast") || is(c, "PointerToIntegral"))
        return see_pointer_cast(n, from);
    if (is(c, "IntegralCast") || is(c, "IntegralToBoolean")
        || is(c, "PointerToBoolean") || is(c, "ToVoid")
        || is(c, "BooleanToSignedIntegral"))
        return ty_of(n->type, n);
    if (is(c, "NullToPointer"))
        return ty_of(n->type, n);
    if (is(c, "IntegralToPointer")) {
        ty *to = ty_of(n->type, n);
        put_off(BYTES, n, to, "a whole number becomes the address of recorded "
                "numbers (aliasing)", "use pointers");
        return to;
    }
    return odd(n, starts(c, "Floating") ? "complex numbers"
               : "a cast that is not understood", "write it in another way");
}

static ty *see_unary(node *n)
{
    ty *t = see(n->kid[0]);
    const text o = n->opcode;

    if (is(o, "&")) {
        address_note(n->kid[0]);
        return pointer_to(t);
    }
    if (is(o, "*"))
        return t->kind == T_PTR || t->kind == T_ARR ? t->to : t;
    if (is(o, "!")) {
        compared(t);
        return other();
    }
    if (is(o, "__extension__"))
        return t;
    if (t->kind == T_NUM && (is(o, "-") || is(o, "+") || is(o, "++")
                             || is(o, "--"))) {
        ty *value = computed(n);
        flows(t, value);
        return value;
    }
    if (is(o, "__real") || is(o, "__imag"))
        return odd(n, "complex numbers", "write them as two numbers");
    if (t->kind == T_PTR && (is(o, "++") || is(o, "--")))
        step_note(t);
    return t->kind == T_PTR ? t : ty_of(n->type, n);
}

static bool one_of(text o, const char *list)
{
    const char *s = strstr(list, text_copy(o));
    return s != NULL && (s == list || s[-1] == ' ')
        && (s[o.n] == ' ' || s[o.n] == 0);
}

static ty *see_binary(node *n)
{
    ty *a, *b;
    const text o = n->opcode;

    if (is(o, "&&") || is(o, "||")) {
        see_condition(n->kid[0]);
        see_condition(n->kid[1]);
        return other();
    }
    a = see(n->kid[0]);
    b = see(n->kid[1]);
    if (is(o, ","))
        return b;
    if (is(o, "=")) {
        assign(a, b, n);
        return a;
    }
    if (one_of(o, "< > <= >= == !=")) {
        compared(a);
        compared(b);
        if (a->kind == T_PTR && b->kind == T_PTR)
            join(a, b, n);
        return other();
    }
    if (a->kind == T_PTR && b->kind == T_PTR) {
        join(a, b, n);
        return other();
    }
    if (a->kind == T_PTR || b->kind == T_PTR) {
        step_note(a->kind == T_PTR ? a : b);
        return a->kind == T_PTR ? a : b;
    }
    ty *t = ty_of(n->type, n);
    flows(a, t);
    flows(b, t);
    return t;
}

static ty *see_compound(node *n)
{
    ty *a = see(n->kid[0]), *b = see(n->kid[1]);
    flows(b, a);
    if (a->kind == T_PTR)
        step_note(a);
    return a;
}

static ty *see_choice(node *n)
{
    see_condition(n->kid[0]);
    ty *a = see(n->kid[1]), *b = see(n->kid[2]);
    if (a->kind == T_PTR && b->kind == T_PTR) {
        join(a, b, n);
        return pointee(a)->kind == T_VOID ? b : a;
    }
    if (a->kind != T_NUM && b->kind != T_NUM)
        return a->kind == T_REC || a->kind == T_PTR ? a
             : b->kind == T_PTR ? b : ty_of(n->type, n);
    ty *t = computed(n);
    flows(a, t);
    flows(b, t);
    return t;
}

static ty *see_member(node *n)
{
    ty *in = see(n->kid[0]);
    node *f = node_by_id(n->ref);
    in = n->arrow ? pointee(in) : in;
    if (f == NULL || f->ty == NULL
        || (in->kind == T_REC && in->record != record_of(f->parent))) {
        return odd(n, "a member that is not understood", "name it");
    }
    n->decl = f;
    if (f->parent->record != NULL && f->parent->record->use == NULL)
        f->parent->record->use = n;
    return f->ty;
}

static ty *see_element(node *n)
{
    ty *a = see(n->kid[0]), *b = see(n->kid[1]);
    const node *k = n->kid[0];
    if (a->kind == T_PTR && !is(k->cast, "ArrayToPointerDecay")
        && !is(base_node(n->kid[1])->value, "0"))
        step_note(a);
    return a->kind == T_PTR || a->kind == T_ARR ? a->to : pointee(b);
}

static ty *see_statement_expression(node *n)
{
    node *body = n->kid[0];
    for (int i = 0; i + 1 < body->kids; i++)
        see_stmt(body->kid[i]);
    if (body->kids == 0)
        return other();
    node *last = body->kid[body->kids - 1];
    see_stmt(last);
    return last->ty ? last->ty : other();
}

static ty *look(node *n)
{
    switch (n->kind) {
    case DeclRefExpr: return see_name(n);
    case ParenExpr: return see(n->kid[0]);
    case ConstantExpr: return see(n->kid[0]);
    case ImplicitCastExpr:
    case CStyleCastExpr: return see_cast(n);
    case FloatingLiteral: return computed(n);
    case IntegerLiteral:
    case CharacterLiteral:
    case OffsetOfExpr: return ty_of(n->type, n);
    case StringLiteral:
    case PredefinedExpr: return ty_of(n->type, n);
    case UnaryOperator: return see_unary(n);
    case BinaryOperator: return see_binary(n);
    case CompoundAssignOperator: return see_compound(n);
    case ConditionalOperator: return see_choice(n);
    case CallExpr: return see_call(n);
    case MemberExpr: return see_member(n);
    case ArraySubscriptExpr: return see_element(n);
    case StmtExpr: return see_statement_expression(n);
    case InitListExpr: {
        ty *t = ty_of(n->type, n);
        see_init(t, n);
        return t;
    }
    case CompoundLiteralExpr: {
        ty *t = ty_of(n->type, n);
        see_init(t, n->kid[0]);
        return t;
    }
    case UnaryExprOrTypeTraitExpr:
        for (int i = 0; i < n->kids; i++)
            see(n->kid[i]);
        if (is(n->name, "sizeof"))
            put_off(SIZE, n, NULL, NULL, NULL);
        return ty_of(n->type, n);
    default:
        for (int i = 0; i < n->kids; i++)
            see_stmt(n->kid[i]);
        return odd(n, "an expression that is not understood",
                   "write it in another way");
    }
}

static bool floating(text t)
{
    const size_t n = t.n;
    return (n >= 6 && memcmp(t.at + n - 6, "double", 6) == 0)
        || (n >= 5 && memcmp(t.at + n - 5, "float", 5) == 0);
}

// A number for clang must be one here.
static ty *see(node *n)
{
    n->ty = look(n);
    const bool vector = find(n->type, "vector_size") < n->type.n
        || find(n->desugared, "vector_size") < n->desugared.n;
    if (vector) {
        n->ty = odd(n, "vectors of the compiler", "write a loop");
    } else if (floating(n->desugared.n ? n->desugared : n->type)
               && n->ty->kind != T_NUM) {
        ty *hub = ty_number();
        entangle_all(n, hub);
        entangle(n->ty, hub);
        put_off(ODD, n, hub, "a number that is not understood",
                "write it in another way");
        n->ty = hub;
    }
    return n->ty;
}

/* --- statements ----------------------------------------------------------- */

static void see_enumerators(node *d)
{
    for (int i = 0; i < d->kids; i++)
        for (int k = 0; k < d->kid[i]->kids; k++)
            if (d->kid[i]->kid[k]->kind >= DeclRefExpr
                && d->kid[i]->kid[k]->kind != FullComment)
                see(d->kid[i]->kid[k]);
}

// Declarators of a `for` share one declaration: all are recorded, or none.
static void see_declarations(node *n)
{
    ty *first = NULL;
    for (int i = 0; i < n->kids; i++) {
        node *d = n->kid[i];
        if (d->kind == VarDecl && is(d->storage, "static"))
            put_off(KEPT, d, ty_of(T("int"), d), NULL, NULL);
        if (d->kind == VarDecl)
            see_variable(d);
        if (d->kind == EnumDecl)
            see_enumerators(d);
        if (d->kind != VarDecl || n->parent->kind != ForStmt)
            continue;
        ty *base = ty_base(d->ty);
        if (first != NULL && base->kind == T_NUM && first->kind == T_NUM)
            num_join(first->num, base->num);
        first = base;
    }
}

static void see_all(node *n)
{
    for (int i = 0; i < n->kids; i++)
        see_stmt(n->kid[i]);
}

static void see_stmt(node *n)
{
    switch (n->kind) {
    case NO_NODE:
    case NullStmt:
    case BreakStmt:
    case ContinueStmt:
    case GotoStmt:
    case FullComment:
        return;
    case DeclStmt:
        see_declarations(n);
        return;
    case IfStmt:
    case WhileStmt:
    case SwitchStmt:
        see_condition(n->kid[0]);
        for (int i = 1; i < n->kids; i++)
            see_stmt(n->kid[i]);
        return;
    case DoStmt:
        see_stmt(n->kid[0]);
        see_condition(n->kid[1]);
        return;
    case ForStmt:
        see_stmt(n->kid[0]);
        if (n->kid[2]->kind != NO_NODE)
            see_condition(n->kid[2]);
        see_stmt(n->kid[3]);
        see_stmt(n->kid[4]);
        return;
    case ReturnStmt:
        n->ty = flow_in->type->to;
        if (n->kids)
            assign(flow_in->type->to, see(n->kid[0]), n);
        return;
    case CompoundStmt:
    case CaseStmt:
    case DefaultStmt:
    case LabelStmt:
    case AttributedStmt:
        see_all(n);
        return;
    case UNKNOWN_KIND:
        if (is_attribute(n))
            return;
        see_all(n);
        n->ty = odd(n, find(n->kind_name, "Asm") < n->kind_name.n
                    ? "asm" : "a statement that is not understood",
                    "write it in C, or write a stub: --stubs FILE");
        return;
    default:
        see(n);
    }
}

static bool see_functions(void)
{
    bool any = false;
    for (function *f = functions; f != NULL; f = f->next) {
        if (!f->reached || f->decl->visited || f->body == NULL)
            continue;
        f->decl->visited = any = true;
        if (f->entry)
            f->called = true;
        flow_in = f;
        see_stmt(f->body);
        flow_in = NULL;
    }
    return any;
}

/* --- inputs and outputs --------------------------------------------------- */

static void set_varied(ty *t, void *unused)
{
    (void)unused;
    num_root(t->num)->varied = true;
}

static void set_useful(ty *t, void *unused)
{
    (void)unused;
    num_root(t->num)->useful = true;
}

static node *parameter(function *f, text name)
{
    for (int i = 0; i < f->decl->kids; i++)
        if (f->decl->kid[i]->kind == ParmVarDecl
            && same(f->decl->kid[i]->name, name))
            return f->decl->kid[i];
    return NULL;
}

static bool any_parameter(text name)
{
    for (int i = 0; i < opt.entries; i++)
        if (parameter(entry_named(opt.entry[i]), name) != NULL)
            return true;
    return false;
}

// A function that the user gives, as a twin: whatever goes in may come out, and
// so may what it knows by itself.
static void open_function(ty *f);

static void open_functions(ty *t, int depth)
{
    if (depth > 8 || t == NULL)
        return;
    if (t->kind == T_PTR || t->kind == T_ARR)
        open_functions(t->to, depth + 1);
    else if (t->kind == T_FUN)
        open_function(t);
    else if (t->kind == T_REC)
        for (int i = 0; i < t->record->fields; i++)
            open_functions(t->record->field[i], depth + 1);
}

static void open_function(ty *f)
{
    ty *hub = ty_number();
    ty_root(f)->open = true;
    for (int i = 0; i < f->pars; i++) {
        each_number(f->par[i], to_hub, hub);
        if (f->par[i]->kind == T_PTR)
            each_number(f->par[i], from_hub, hub);
    }
    num_root(hub->num)->varied = true;
    each_number(f->to, from_hub, hub);
}

static void seed_inputs(function *f)
{
    for (int i = 0; i < f->decl->kids; i++) {
        node *p = f->decl->kid[i];
        if (p->kind != ParmVarDecl)
            continue;
        open_functions(p->ty, 0);
        bool input = opt.all;
        for (int k = 0; k < opt.withs; k++)
            input |= same(opt.with[k].name, p->name);
        if (input)
            each_number(p->ty, set_varied, NULL);
    }
}

static bool listed_output(text name)
{
    for (int k = 0; k < opt.ofs; k++)
        if (same(opt.of[k].name, name))
            return true;
    return opt.ofs == 0;
}

static void seed_outputs(function *f)
{
    each_number(f->type->to, set_useful, NULL);
    if (f->type->to->kind == T_NUM)
        num_root(f->type->to->num)->varied = true;        // an ad_rev, whatever it is
    for (int i = 0; i < f->decl->kids; i++) {
        node *p = f->decl->kid[i];
        if (p->kind != ParmVarDecl)
            continue;
        bool input = opt.all;
        for (int k = 0; k < opt.withs; k++)
            input |= same(opt.with[k].name, p->name);
        if (input || (p->ty->kind == T_PTR && listed_output(p->name)))
            each_number(p->ty, set_useful, NULL);
        if (opt.ofs && p->ty->kind == T_PTR && listed_output(p->name))
            each_number(p->ty, set_varied, NULL);
    }
}

/* --- all of it ------------------------------------------------------------ */

// Whether a node of a function has something recorded.
static bool has_active(node *n)
{
    if (active(n->ty) || (n->ty != NULL && n->kind != CallExpr
                          && ty_changed(n->ty)))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (has_active(n->kid[i]))
            return true;
    return false;
}

static void odd_numbers(node *n)
{
    if (is_number(n) && n->ty->odd && num_root(n->ty->num)->varied)
        refuse(n, "use double", "%s",
               find(n->ty->name, "omplex") < n->ty->name.n
               ? "complex numbers" : find(n->ty->name, "128") < n->ty->name.n
               ? "a number of 128 bits"
               : find(n->ty->name, "long") == n->ty->name.n ? "vectors" : "long double");
    for (int i = 0; i < n->kids; i++)
        odd_numbers(n->kid[i]);
}

static void say_function(text name)
{
    const char *before = "";
    fprintf(stderr, "adrev-port: no function %.*s is defined in ", (int)name.n,
            name.at);
    for (int i = 0; i < unit_count && i < 8; i++, before = ", ")
        fprintf(stderr, "%s%s", before, units[i].path);
    fprintf(stderr, "%s: name the file that defines it\n",
            unit_count > 8 ? " ..." : "");
}

// And which parameters there are.
static void say_parameter(const char *what, text name)
{
    fprintf(stderr, "adrev-port: %s %.*s: no such parameter", what, (int)name.n,
            name.at);
    for (int i = 0; i < opt.entries; i++) {
        const node *d = entry_named(opt.entry[i])->decl;
        const char *before = " has ";
        fprintf(stderr, "; %.*s", (int)d->name.n, d->name.at);
        for (int k = 0; k < d->kids; k++)
            if (d->kid[k]->kind == ParmVarDecl) {
                fprintf(stderr, "%s%.*s", before, (int)d->kid[k]->name.n,
                        d->kid[k]->name.at);
                before = ", ";
            }
    }
    fprintf(stderr, "\n");
}

static bool names_are_right(void)
{
    bool right = true;
    for (int k = 0; k < opt.withs + opt.ofs; k++) {
        const bool with = k < opt.withs;
        const text name = with ? opt.with[k].name : opt.of[k - opt.withs].name;
        if (any_parameter(name))
            continue;
        say_parameter(with ? "--with" : "--of", name);
        right = false;
    }
    return right;
}

bool flow_run(void)
{
    for (int i = 0; i < opt.entries; i++) {
        function *f = entry_named(opt.entry[i]);
        if (f == NULL || f->body == NULL) {
            say_function(opt.entry[i]);
            return false;
        }
        f->entry = true;
        reach(f);
    }
    if (!names_are_right())
        return false;
    while (see_functions())
        ;
    for (int i = 0; i < opt.entries; i++) {
        seed_inputs(entry_named(opt.entry[i]));
        seed_outputs(entry_named(opt.entry[i]));
    }
    steps_settle();
    num_spread();
    records_settle();
    for (function *f = functions; f != NULL; f = f->next)
        if (f->reached) {
            f->changed = ty_changed(f->type) || has_active(f->body);
            odd_numbers(f->decl);
        }
    merge_instances();
    types_conflicts();
    laters_check();
    globals_check();
    return true;
}

