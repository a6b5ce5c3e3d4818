/* later.c - what can only be decided when it is known which numbers are active.
 *
 * Calls of functions that are not seen, casts of pointers, sizes of memory and
 * data that outlive a call are put off while flow.c goes through the functions,
 * and checked in the end. Data at file scope are checked by globals.c.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>
#include <string.h>

function *flow_in;
bool flow_reads, flow_compares_texts;

typedef struct later {
    later_kind kind;
    node *at;
    ty *type;
    function *in;
    const char *why, *proposal;
} later;

static later *laters;
static size_t later_room, later_count;

void put_off(later_kind what, node *at, ty *type, const char *why,
                    const char *proposal)
{
    laters = grow(laters, &later_room, later_count + 1, sizeof *laters);
    laters[later_count++] = (later){ what, at, type, flow_in, why, proposal };
}

/* --- what was put off ----------------------------------------------------- */

static void or_active(ty *t, void *any) { *(bool *)any |= active(t); }
static void or_varied(ty *t, void *any) { *(bool *)any |= num_root(t->num)->varied; }

static bool holds(ty *t, void (*f)(ty *, void *))
{
    bool any = false;
    each_number(t, f, &any);
    return any;
}

bool holds_varied(ty *t) { return holds(t, or_varied); }
bool holds_active(ty *t) { return holds(t, or_active); }

static node *sizeof_in(node *n)
{
    if (n->kind == UnaryExprOrTypeTraitExpr)
        return n;
    for (int i = 0; i < n->kids; i++) {
        node *s = sizeof_in(n->kid[i]);
        if (s != NULL)
            return s;
    }
    return NULL;
}

static bool zero_literal(node *n)
{
    n = base_node(n);
    return n->kind == IntegerLiteral && is(n->value, "0");
}

// What may be behind memory for `of`: the last member of a structure has as
// many elements as there is room for.
static ty *last_numbers(ty *of)
{
    while (of->kind == T_PTR || of->kind == T_ARR || of->kind == T_REC) {
        const record *r = of->record;
        if (of->kind == T_REC
            && (r->fields == 0 || r->field[r->fields - 1]->kind != T_ARR))
            break;
        of = of->kind == T_REC ? r->field[r->fields - 1] : of->to;
    }
    return of;
}

// A size of plain numbers in that of a structure that has others.
static bool sizes_mixed(const node *n, const ty *of)
{
    if (n->kind == UnaryExprOrTypeTraitExpr && n->arg != NULL
        && of->kind == T_REC && n->arg->kind == T_NUM && !active(n->arg))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (sizes_mixed(n->kid[i], of))
            return true;
    return false;
}

// The plain type in `sizeof (double)` is that of the memory.
static void sizes_named(node *n, ty *of)
{
    if (n->kind == UnaryExprOrTypeTraitExpr && n->arg_type.n) {
        ty *t = ty_of(n->arg_type, n), *base = ty_base(t);
        ty *number = last_numbers(of);
        while (base->kind == T_PTR || base->kind == T_ARR)
            base = base->to;
        n->arg = t;
        if (base->kind == T_NUM && number->kind == T_NUM)
            base->num = number->num;
    }
    for (int i = 0; i < n->kids; i++)
        sizes_named(n->kid[i], of);
}

static void sizes_known(node *n)
{
    if (n->kind == UnaryExprOrTypeTraitExpr)
        n->sized = 1;
    for (int i = 0; i < n->kids; i++)
        sizes_known(n->kid[i]);
}

static ty *size_type(node *n)
{
    if (n->arg_type.n == 0)
        return n->kids ? n->kid[0]->ty : NULL;
    if (n->arg == NULL)
        n->arg = ty_of(n->arg_type, n);
    return n->arg;
}

// The division by a size that n is in: of a size, a number of rows divided by
// whole numbers before.
static node *quotient(node *n)
{
    node *p = n->parent;
    for (;; n = p, p = p->parent) {
        if (p->kind == ParenExpr || p->kind == ImplicitCastExpr)
            continue;
        if (p->kind != BinaryOperator || !is(p->opcode, "/"))
            return NULL;
        if (n == p->kid[1]
            || base_node(p->kid[1])->kind == UnaryExprOrTypeTraitExpr)
            return p;
    }
}

// The number of elements: sizeof a / sizeof (double).
static bool quotient_known(node *q)
{
    node *a = base_node(q->kid[0]), *b = base_node(q->kid[1]);
    while (a->kind == BinaryOperator && is(a->opcode, "/"))
        a = base_node(a->kid[0]);       // sizeof a / 5 / sizeof (double)
    if (a->kind != UnaryExprOrTypeTraitExpr
        || b->kind != UnaryExprOrTypeTraitExpr)
        return false;
    ty *t = size_type(a), *u = size_type(b);
    if (t == NULL || u == NULL)
        return false;
    if (ty_changed(t) && b->arg_type.n)
        sizes_named(b, t);
    return ty_changed(t) == ty_changed(size_type(b));
}

// The size of what is recorded is another one: it must not be a mere number.
static void size_check(later *l)
{
    node *q = quotient(l->at);
    ty *t = size_type(l->at);
    if (l->at->sized || l->in == NULL || !l->in->changed || t == NULL)
        return;
    while (t->kind == T_ARR)
        t = t->to;
    if (!ty_changed(t) && !(l->at->arg_type.n && t->kind == T_NUM))
        return;
    if (q == NULL || !quotient_known(q))
        refuse(l->at, "use it in the call of malloc or memcpy itself, or count "
               "elements", "the size of numbers, some of which are recorded");
}

/* A size that is computed before: `const size_t bytes = n * sizeof (double);`, and
 * then malloc(bytes). It is one of the memory if it is used in such calls only. */

static bool counts_bytes(const node *d)
{
    return d != NULL && d->kind == VarDecl && d->parent != tree
        && d->storage.n == 0 && d->init && d->kids && d->ty != NULL
        && d->ty->kind == T_OTHER && sizeof_in(d->kid[0]) != NULL;
}

static bool takes_bytes(const node *n)
{
    const node *p = n->parent;
    for (; p->kind == ParenExpr || p->kind == ImplicitCastExpr
           || (p->kind == BinaryOperator && one_of(p->opcode, "* +"));
         p = p->parent)
        continue;
    if (p->kind != CallExpr)
        return false;
    const library_kind what = call_library(p).kind;
    return what == L_ALLOC || what == L_COPY || what == L_SET || what == L_PLACE
        || (what == L_NONE && gives_memory(function_called(p)));
}

// All uses of d give memory, or copy it.
static bool only_bytes(const node *n, const node *d)
{
    if (n->kind == DeclRefExpr && n->ref == d->id)
        return takes_bytes(n);
    for (int i = 0; i < n->kids; i++)
        if (!only_bytes(n->kid[i], d))
            return false;
    return true;
}

// What the sizes in the arguments of a call say of the memory `of`.
typedef struct sizes {
    const function *in;
    ty *of;
    bool any, mixed;
} sizes;

// One variable, and memory of recorded numbers and of others.
static void same_use(node *d, bool recorded)
{
    if (d->counted && d->counted != (recorded ? 1u : 2u))
        refuse(d, "compute one size for each", "the size of numbers, some of which "
               "are recorded");
    d->counted = recorded ? 1 : 2;
}

static void take_size(node *n, sizes *s)
{
    s->any = true;
    sizes_known(n);
    if (!ty_changed(s->of))
        return;
    sizes_named(n, s->of);
    s->mixed |= sizes_mixed(n, s->of);
}

// All sizes in an argument: also those which variables have got. It says whether
// there are any.
static bool take_sizes(node *n, sizes *s)
{
    node *d = n->kind == DeclRefExpr ? n->decl : NULL;
    bool any = n->kind == UnaryExprOrTypeTraitExpr;
    if (any) {
        take_size(n, s);
    } else if (counts_bytes(d) && s->in != NULL && only_bytes(s->in->body, d)) {
        same_use(d, ty_changed(s->of));
        take_size(d->kid[0], s);
        any = true;
    }
    for (int i = 0; i < n->kids; i++)
        any |= take_sizes(n->kid[i], s);
    return any;
}

// `sizeof *a + n * 8`: a part of the sum is a mere number of bytes. A literal
// alone is room to spare; what is added to an address is none of the size.
static bool take_sum(node *n, sizes *s)
{
    node *sum = base_node(n);
    if (sum->kind != BinaryOperator || !is(sum->opcode, "+")
        || sum->ty == NULL || sum->ty->kind == T_PTR)
        return take_sizes(n, s);
    const bool a = take_sum(sum->kid[0], s), b = take_sum(sum->kid[1], s);
    s->mixed |= a != b && base_node(sum->kid[a])->kind != IntegerLiteral;
    return a || b;
}

static void memory_check(later *l)
{
    const library lib = call_library(l->at);
    ty *of = l->type;

    while (of->kind == T_VOID && of->bound != NULL)
        of = of->bound;
    sizes s = { .in = l->in, .of = of };
    for (int i = 1; i < l->at->kids; i++)
        take_sum(l->at->kid[i], &s);
    if (!ty_changed(of))
        return;
    if (lib.kind == L_SET && !zero_literal(l->at->kid[2]))
        refuse(l->at, "set the numbers in a loop",
               "recorded numbers are filled with bytes (aliasing)");
    if (!s.any || s.mixed)
        refuse(l->at, "write the size with sizeof, in the call itself",
               "memory for recorded numbers has a size in bytes");
}

// Of arrays the stub's lengths and derivatives would be a guess: the user writes it.
static const char *stub_proposal(const function *f)
{
    buffer b = { 0 };
    putf(&b, "give its source too, or write a derivative for it: ");
    putf(&b, stubbable(f) ? "--stubs FILE writes a stub %.*s%s"
         : "a function %.*s%s of recorded numbers, by ad_external, in FILE of "
           "--stubs FILE", (int)f->name.n, f->name.at, opt.suffix);
    return b.at;
}

static void unseen_check(later *l)
{
    const text name = callee_name(l->at);
    if (!holds(l->type, or_varied))
        return;
    if (l->why != NULL) {
        refuse(l->at, l->proposal, "%s: no derivative comes through it",
               l->why);
        return;
    }
    const function *f = function_called(l->at);
    if (f != NULL)
        f = f->body ? NULL : f;
    if (f != NULL) {
        ((function *)f)->stub = true;
        refuse(l->at, stub_proposal(f), "the source of %.*s is not seen",
               (int)name.n, name.at);
    } else {
        refuse(l->at, "pass these numbers as parameters",
               "recorded numbers where their type is not known");
    }
}

static node *first_name(node *n, const node *d)
{
    if (n->kind == DeclRefExpr && n->decl == d)
        return n;
    for (int i = 0; i < n->kids; i++) {
        node *found = first_name(n->kid[i], d);
        if (found != NULL)
            return found;
    }
    return NULL;
}

// Numbers that are kept from call to call are of an earlier recording then.
static void kept_check(later *l)
{
    node *n = l->in ? first_name(l->in->body, l->at) : NULL;
    if (n == NULL || !ty_changed(l->at->ty) || l->at->ty->kind == T_PTR)
        return;
    const node *p = n->parent;
    while (p->kind == ArraySubscriptExpr || p->kind == MemberExpr
           || (p->kind == ImplicitCastExpr && !is(p->cast, "LValueToRValue")))
        p = p->parent;
    if (p->kind == ImplicitCastExpr)
        refuse(n, "make it a parameter", "recorded numbers that are kept from "
               "one call to the next");
    else
        note(l->at, "static data keeps numbers of the last recording");
}

// A parameter of a function whose calls are all seen, and which gets no
// function: it is NULL.
static bool only_null(const later *l)
{
    const node *n = base_node(l->at->kid[0]);
    if (n->kind == UnaryOperator && is(n->opcode, "*"))
        n = base_node(n->kid[0]);
    return n->kind == DeclRefExpr && n->decl != NULL
        && n->decl->kind == ParmVarDecl && !ty_root(l->type)->open
        && l->in != NULL && !l->in->entry && !origin_of(l->in)->addressed;
}

// A function that gives memory must not look into it.
static void wrapped_check(later *l)
{
    const function *f = function_called(l->at);
    const ty *t = f->type->to->to;
    const ty *of = l->type;
    while (of->kind == T_VOID && of->bound != NULL)
        of = of->bound;
    while (t->kind == T_VOID && t->bound != NULL)
        t = t->bound;
    if (ty_changed(of) && t->kind != T_VOID)
        refuse(l->at, "call malloc here", "memory for recorded numbers by a "
               "function that looks into it");
}

static void or_any(ty *t, void *any)
{
    *(bool *)any |= !(t->quals & Q_CONST);
}

// Numbers that are read, and that any other file may set; NULL: there are none.
static const node *shared_numbers(void)
{
    for (int i = 0; i < tree->kids; i++) {
        const node *d = tree->kid[i];
        if (d->kind == VarDecl && d->visited && d->use != NULL
            && !is(d->storage, "static") && holds(d->ty, or_any))
            return d;
    }
    return NULL;
}

static bool makes_text(const node *call)
{
    const text name = callee_name(call);
    return find(name, "sprintf") < name.n || find(name, "snprintf") < name.n;
}

void laters_check(void)
{
    for (size_t i = 0; i < later_count; i++)
        if (laters[i].kind == MEMORY)
            memory_check(&laters[i]);
    for (size_t i = 0; i < later_count; i++) {
        later *l = &laters[i];
        if (l->kind == PRINTED) {
            if (flow_reads && holds(l->type, or_varied))
                refuse(l->at, l->proposal, "%s: numbers are written, and numbers "
                       "are read, perhaps the same ones", l->why);
            else if (flow_compares_texts && makes_text(l->at)
                     && holds(l->type, or_varied))
                refuse(l->at, "compare numbers", "%s: a text is made of numbers, and "
                       "texts are compared, perhaps this one", l->why);
        } else if (l->kind == TOLD) {
            const node *d = shared_numbers();
            if (d != NULL && holds(l->type, or_varied))
                refuse(l->at, "give its source, too", "a function whose source is "
                       "not seen gets numbers, and may set %.*s", (int)d->name.n,
                       d->name.at);
        } else if (l->kind == ODD_HERE) {
            if (holds(l->type, or_varied))
                refuse(l->at, l->proposal, "%s", l->why);
        } else if (l->kind == WRAPPED)
            wrapped_check(l);
        else if (l->kind == KEPT)
            kept_check(l);
        else if (l->kind == SIZE)
            size_check(l);
        else if (l->kind == UNSEEN)
            unseen_check(l);
        else if ((l->kind == BYTES || l->kind == SORTED)
                 && holds(l->type, l->kind == BYTES ? or_varied : or_active))
            refuse(l->at, l->proposal, "%s", l->why);
        else if (l->kind == POINTER && !ty_root(l->type)->known
                 && !ty_root(l->type)->open && !only_null(l)
                 && (ty_changed(l->type) || l->in->changed))
            refuse(l->at, l->proposal, "%s", l->why);
        else if (l->kind == ODD && l->in != NULL
                 && (l->in->changed
                     || (l->type != NULL && holds(l->type, or_varied))))
            refuse(l->at, l->proposal, "%s", l->why);
    }
}

/* --- code that is not seen ------------------------------------------------ */

// Functions of the C library use no data of the program; what they are given is
// looked at elsewhere.
static bool of_c_library(const function *f)
{
    static const char *const headers[] = {
        "assert.h", "complex.h", "ctype.h", "errno.h", "fenv.h", "float.h",
        "inttypes.h", "locale.h", "math.h", "mathcalls.h", "signal.h",
        "stdio.h", "stdlib.h", "string.h", "strings.h", "sys/time.h", "time.h",
        "unistd.h", "wchar.h",
    };
    const int at = f->decl->loc.expanded.file;
    const char *path = at < 0 ? "" : file_at(at)->path;
    if (starts(f->name, "__builtin_") || f->decl->implicit)
        return true;
    if (strncmp(path, "/usr/", 5) != 0)
        return false;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        const char *end = strstr(path, headers[i]);
        if (end != NULL && end[-1] == '/' && strcmp(end, headers[i]) == 0)
            return true;
    }
    return strstr(path, "/bits/") != NULL;
}

static bool runs_unseen(const later *l)
{
    const function *f = function_called(l->at);
    if (f != NULL)
        return f->body == NULL && !f->stub && !of_c_library(f);
    if (l->type->kind != T_FUN)
        return true;
    return ty_root(l->type)->open
        || (!ty_root(l->type)->known && !only_null(l));
}

const node *unseen_call(void)
{
    for (size_t i = 0; i < later_count; i++)
        if (laters[i].kind == OUTSIDE && runs_unseen(&laters[i]))
            return laters[i].at;
    return NULL;
}

/* --- numbers that cannot be recorded ---------------------------------------- */

// Values in long double are followed as others are: they may be plain. Others get
// where nothing follows them.
static bool odd_recorded(const ty *t)
{
    const bool plain = find(t->name, "long double") < t->name.n
        && find(t->name, "omplex") == t->name.n;
    return plain ? num_active(t->num) : num_root(t->num)->varied;
}

static const char *odd_name(text t)
{
    return find(t, "omplex") < t.n ? "complex numbers"
         : find(t, "128") < t.n ? "a number of 128 bits"
         : find(t, "long") == t.n ? "vectors" : "long double";
}

// Also of numbers whose address only goes on to somewhere else.
void odd_numbers(node *n)
{
    const ty *t = n->ty;
    while (t != NULL && (t->kind == T_PTR || t->kind == T_ARR))
        t = t->to;
    if (t != NULL && t->kind == T_NUM && t->odd && odd_recorded(t))
        refuse(n, "use double", "%s", odd_name(t->name));
    for (int i = 0; i < n->kids; i++)
        odd_numbers(n->kid[i]);
}
