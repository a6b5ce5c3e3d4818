/* flow.c - what flows where; which numbers are active.
 *
 * Goes once through the functions that are reached from the named ones. Each
 * expression gets a type; each place where a value moves gives an edge from
 * number to number, each place where addresses meet joins them. Then what
 * depends on the inputs (varied) and what results depend on (useful) is spread
 * along the edges; what is both is active. Order and branches are not looked at,
 * which can only make more of it active.
 *
 * Joining is that of sets with representatives, so it takes almost linear time
 * (Steensgaard, Points-to analysis in almost linear time, 1996), and spreading
 * visits each edge twice. (Activity analysis: Hascoet & Pascual, The Tapenade
 * automatic differentiation tool, 2013.)
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
#include <string.h>

/* --- what is not understood ------------------------------------------------
 * Whatever goes in may come out, anywhere: so it is seen that something varies
 * there, and then it is refused.                                            */

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

static ty *see(node *n);
static void see_stmt(node *n);

static void see_condition(node *n)
{
    compared(see(n));
}

/* --- initialisers --------------------------------------------------------- */

// Where an initialiser's numbers go. A union's member may be read as another
// one, so all of them get the numbers.
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
                v->in_type = 1, see_variable(v);
            if (f != NULL)
                f->in_type = true, reach(f, d->unit);
            i = next;
        }
    }
}

static bool is_static_data(const node *d)
{
    return d->kind == VarDecl
        && (d->parent == tree || is(d->storage, "static"));
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
        return see_unseen(call, arg, n);
    if ((target == NULL && l.kind == L_NONE && name.n)
        || (l.kind == L_OPERATION && ty_of(call->type, call)->kind == T_OTHER))
        return see_undeclared(call, arg, n);    // exp10 without _GNU_SOURCE is an int
    if (l.kind != L_NONE)
        return see_library(call, l, arg, n);
    if (gives_memory(target)) {
        ty *result = ty_of(call->type, call);
        put_off(MEMORY, call, result->to, NULL, NULL);
        put_off(WRAPPED, call, result->to, NULL, NULL);
        return result;
    }
    if (target != NULL && target->body != NULL) {
        function *g = instance_of(target);
        call_instance(call->kid[0], g);
        call_note(g);
        f = g->type;
    }
    if (f->kind == T_PTR)
        f = f->to;
    put_off(OUTSIDE, call, f, NULL, NULL);
    if (f->kind != T_FUN)
        return see_unseen(call, arg, n);
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
        return see_unseen(call, arg, n);
    }
    const bool prints = prints_only(target);
    for (int i = 0; i < n; i++)
        if (i < f->pars && only_tested(call, i))
            continue;
        else if (i < f->pars)
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

// A function of which only the type is known computes its number of all that it gets.
static void flows_through(ty *f)
{
    for (int i = 0; i < f->pars; i++)
        flows(f->par[i], f->to);
    if (f->to->kind == T_NUM && num_root(f->to->num)->mixes == ALONE)
        num_root(f->to->num)->mixes = WITH_OTHERS;
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
        flows_through(f->type);
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
        reach(f, n->unit);
        while (p->kind == ImplicitCastExpr || p->kind == ParenExpr
               || p->kind == NO_NODE || p->kind == GenericSelectionExpr)
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

// An element or a member of static data is, too.
static bool is_kept(node *n)
{
    while (n->kind == ArraySubscriptExpr || n->kind == MemberExpr
           || (n->kind == UnaryOperator && is(n->opcode, "*")))
        n = base_node(n->kid[0]);
    const node *d = n->kind == DeclRefExpr ? n->decl : NULL;
    return d != NULL && is_static_data(d);
}

static bool is_literal(const node *n)
{
    return n->kind == FloatingLiteral || n->kind == IntegerLiteral;
}

// `if (fabs(x - last) < 0.1) return result;`: the result is one of another call
// then, and depends on the x of that call.
static void see_cache(node *n)
{
    const bool pair = n->kind == BinaryOperator && is(n->opcode, "-")
        && !equal_allowed(flow_in);
    for (int i = 0; pair && i < 2; i++) {
        node *kept = base_node(n->kid[i]);
        if (is_number(kept) && is_kept(kept)
            && !is_literal(base_node(n->kid[1 - i])))
            put_off(BYTES, n, kept->ty, "a number is compared with one that is "
                    "kept from another call: what was computed then has the "
                    "derivatives of then", "compute it in each call");
    }
    for (int i = 0; i < n->kids; i++)
        see_cache(n->kid[i]);
}

static bool is_char(const node *n)
{
    const text t = n->desugared.n ? n->desugared : n->type;
    return t.n >= 4 && is((text){ t.at + t.n - 4, 4 }, "char");
}

// A digit of a text, as in `s = 10 * s + (*p - '0')`: a number is read. Of a
// character also `*p - 48` and `*p & 15`.
static bool is_digit_of(const node *n)
{
    const node *zero = base_node(n->kid[1]);
    const bool literal = zero->kind == IntegerLiteral
        && is_char(base_node(n->kid[0]));
    if (one_of(n->opcode, "- -="))
        return (literal || zero->kind == CharacterLiteral)
            && is(zero->value, "48");
    return one_of(n->opcode, "& &=") && literal && is(zero->value, "15");
}

// Of `x + m - m`, where m is so large that x is rounded to a whole number: the
// derivative of the sum is 1, and that of rounding is 0.
static double constant_of(const node *n, int depth);

static double constant_named(const node *n, int depth)
{
    const node *d = node_by_id(n->ref);
    const bool fixed = d != NULL && d->kind == VarDecl && d->init && d->kids
        && (starts(d->type, "const ")
            || ((d->parent != tree || is(d->storage, "static"))
                && !data_changes(d)));
    return fixed && depth > 0 ? constant_of(d->kid[0], depth - 1) : 0;
}

static double constant_of(const node *n, int depth)
{
    n = base_node((node *)n);
    if (n->kind == FloatingLiteral || n->kind == IntegerLiteral)
        return strtod(text_copy(n->value), NULL);
    if (n->kind == DeclRefExpr)
        return constant_named(n, depth);
    if (n->kind != BinaryOperator || !one_of(n->opcode, "* / <<"))
        return 0;
    const double a = constant_of(n->kid[0], depth);
    const double b = constant_of(n->kid[1], depth);
    if (is(n->opcode, "<<"))
        return b >= 0 && b < 63 ? a * (double)(1LL << (int)b) : 0;
    return is(n->opcode, "*") ? a * b : b != 0 ? a / b : 0;
}

static void see_rounding(node *n, ty *sum)
{
    for (int i = 0; one_of(n->opcode, "+ - += -=") && i < 2; i++) {
        const double m = constant_of(n->kid[i], 2);
        const double least = sum->single ? 0x1p22 : 0x1p51;
        for (double power = least; power <= 4 * least; power *= 2)
            if (m == power || m == 1.5 * power)
                put_off(BYTES, n, sum, "a sum that rounds to a whole number, whose "
                        "derivative is 0", "call rint");
    }
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
        see_cache(n);
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
    if (t->kind == T_NUM) {
        t->num->mixes = WITH_OTHERS;
        see_rounding(n, t);
    }
    flow_reads |= is_digit_of(n);
    return t;
}

static ty *see_compound(node *n)
{
    ty *a = see(n->kid[0]), *b = see(n->kid[1]);
    flows(b, a);
    if (a->kind == T_NUM)
        num_root(a->num)->mixes = WITH_ITSELF;
    if (a->kind == T_PTR)
        step_note(a);
    if (a->kind == T_NUM)
        see_rounding(n, a);
    flow_reads |= is_digit_of(n);
    return a;
}

static ty *see_either(node *n, ty *a, ty *b)
{
    if (a->kind == T_PTR && b->kind == T_PTR) {
        join(a, b, n);
        return pointee(a)->kind == T_VOID ? b : a;
    }
    if (a->kind != T_NUM && b->kind != T_NUM)
        return a->kind == T_REC || a->kind == T_PTR ? a
             : b->kind == T_PTR ? b : ty_of(n->type, n);
    ty *t = computed(n);
    t->num->mixes = ALONE;
    flows(a, t);
    flows(b, t);
    return t;
}

static ty *see_choice(node *n)
{
    see_condition(n->kid[0]);
    ty *a = see(n->kid[1]);
    return see_either(n, a, see(n->kid[2]));
}

// a ?: b, whose parts are a, a as a condition, a as the result, and b.
static ty *see_first_or(node *n)
{
    ty *a = see(n->kid[0]);
    compared(a);
    return see_either(n, a, see(n->kid[3]));
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

// s.a[2] of `double a[2], b[2]`, which C does not define: it is s.b[0].
static bool beyond_member(const node *n)
{
    const node *a = base_node(n->kid[0]), *i = base_node(n->kid[1]);
    if (a->kind != MemberExpr || a->decl == NULL || a->decl->ty->kind != T_ARR
        || i->kind != IntegerLiteral)
        return false;
    const long at = strtol(text_copy(i->value), NULL, 10);
    const long size = strtol(text_copy(a->decl->ty->size), NULL, 10);
    const bool end = n->parent->kind == UnaryOperator && at == size;
    const record *r = record_of(a->decl->parent);
    return size > 0 && at >= size && !end && !r->is_union
        && r->field[r->fields - 1] != a->decl->ty;
}

static ty *see_element(node *n)
{
    ty *a = see(n->kid[0]), *b = see(n->kid[1]);
    const node *k = n->kid[0];
    if (beyond_member(n)) {
        node *m = base_node(n->kid[0]);
        put_off(BYTES, n, m->kid[0]->ty, "an element behind the end of an array "
                "in a structure", "name the member that stands there");
    }
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
    case BinaryConditionalOperator: return see_first_or(n);
    case GenericSelectionExpr: return see(selected_node(n));
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

static void see_attributes(const node *d)
{
    for (int i = 0; i < d->kids; i++)
        if (is(d->kid[i]->kind_name, "CleanupAttr"))
            refuse(d, "call that function where the block ends",
                   "an attribute by which a function is called at the end of the block");
}

// Declarators of a `for` share one declaration: all are recorded, or none.
static void see_declarations(node *n)
{
    ty *first = NULL;
    for (int i = 0; i < n->kids; i++) {
        node *d = n->kid[i];
        see_attributes(d);
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

static void look_at_stmt(node *n)
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

static void see_stmt(node *n)
{
    const function *const in = edges_in;
    edges_in = is_loop(n) ? NULL : in;
    look_at_stmt(n);
    edges_in = in;
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
        edges_in = has_label(f->body) ? NULL : f;
        see_stmt(f->body);
        flow_in = NULL;
        edges_in = NULL;
    }
    return any;
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

bool flow_run(void)
{
    for (int i = 0; i < opt.entries; i++) {
        function *f = entry_named(opt.entry[i]);
        if (f == NULL || f->body == NULL) {
            say_function(opt.entry[i]);
            return false;
        }
        f->entry = true;
        reach(f, -1);
    }
    if (!names_are_right())
        return false;
    while (see_functions())
        ;
    if (!inputs_have_numbers())
        return false;
    for (int i = 0; i < opt.entries; i++) {
        seed_inputs(entry_named(opt.entry[i]));
        seed_outputs(entry_named(opt.entry[i]));
    }
    steps_settle();
    once_find();
    num_spread();
    records_settle();
    for (function *f = functions; f != NULL; f = f->next)
        if (f->reached) {
            f->changed = ty_changed(f->type) || has_active(f->body);
            odd_numbers(f->decl);
        }
    merge_instances();
    writes_find();
    own_settle();
    types_conflicts();
    laters_check();
    equal_check();
    caches_check();
    orders_check();
    constants_check();
    globals_check();
    return true;
}
