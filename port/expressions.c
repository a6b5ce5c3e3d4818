/* expressions.c - writes expressions.
 *
 * What nothing recorded is in is copied as it stands, and so is the text between
 * the parts of other nodes (gaps.c). A node from within a macro is written
 * `apart`: from the tree alone.
 *
 * An expression has one of three forms: plain C, a recorded number, or an
 * expression of operators that is to be recorded.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>
#include <string.h>

static form write(buffer *b, node *n, bool apart);
static form write_parts_call(buffer *b, node *n, library l, bool apart);

static void each_natural(buffer *b, node *n, bool apart)
{
    write_as(b, n, F_PLAIN, apart);
}

/* --- helpers -------------------------------------------------------------- */

static void write_operand(buffer *b, node *n, bool apart)
{
    buffer o = { 0 };
    const node *m = base_node(n);
    write(&o, n, apart);
    const bool group = open_comma(text_in(&o));

    if (m->kind == MemberExpr && m->decl != NULL && m->decl->bitfield)
        put(b, "+");
    put(b, group ? "(" : "");
    put_text(b, text_in(&o));
    put(b, group ? ")" : "");
    free(o.at);
}

static text natural(node *n, bool apart)
{
    buffer b = { 0 };
    write(&b, n, apart);
    return text_in(&b);
}

/* --- one expression in the form that is wanted ----------------------------- */

// Behind `return`, where parentheses are gone.
static void put_apart(buffer *b, text t)
{
    if (b->n && t.n && word_char(b->at[b->n - 1]) && word_char(t.at[0]))
        put(b, " ");
    put_text(b, t);
}

static void wrap(buffer *b, const char *name, text t)
{
    put_apart(b, text_of(name));
    put(b, "(");
    put_text(b, t);
    put(b, ")");
}

// Its value is that of a place, which may be recorded where the value is not.
static bool is_assignment(const node *n)
{
    while (n->kind == ParenExpr)
        n = n->kid[0];
    return n->kind == CompoundAssignOperator
        || (n->kind == BinaryOperator && is(n->opcode, "="));
}

// Writes an expression in the form that is wanted: an expression of operators
// is recorded for a number, and the value of a number is taken for plain C.
void write_as(buffer *b, node *n, form want, bool apart)
{
    buffer o = { 0 };
    const form f = write(&o, n, apart);
    const text t = text_in(&o);
    const bool plain = is_number(n) && (!active(n->ty) || is_assignment(n));

    if (want == F_NUMBER && f != F_NUMBER)
        wrap(b, opt.rec, t);
    else if (want == F_PLAIN && f != F_PLAIN && plain)
        wrap(b, "ad_value", t);
    else
        put_apart(b, t);
    free(o.at);
}

bool number_of(const node *n)
{
    return is_number(n) && active(n->ty);
}

// The twin looks whether a derivative is lost where n is equal to the other (copies.c),
// or, if that is NULL, to 0.
static void ask_tie(buffer *b, const node *asks, node *n, node *with, bool apart)
{
    putf(b, "%s_or_fail%s(", asks->asks_tie == OF_TWO ? "same" : "constant", opt.suffix);
    write_as(b, n, F_NUMBER, apart);
    put(b, ", ");
    if (with != NULL)
        write_as(b, with, asks->asks_tie == OF_TWO ? F_NUMBER : F_PLAIN, apart);
    else
        putf(b, asks->asks_tie == OF_TWO ? "%s(0)" : "0", opt.rec);
    put(b, ")");
}

// The same; but of |d| == 0 and d*d == 0 it looks at d: the derivative of the whole says
// nothing there. Of d*d, or what is rounded to float, the whole answers: it may be 0
// where d is not.
static void ask_part(buffer *b, const node *asks, node *n, node *with, bool apart)
{
    node *const base = base_node(n);
    const bool zero = asks->asks_tie == OF_CONSTANT && (with == NULL || is_zero(with));
    node *part = zero ? unsigned_part(base) : NULL;
    const bool answers = base->kind == CallExpr && base->ty->single == n->ty->single;
    if (part == NULL || answers || !is_pure(part)) {
        ask_tie(b, asks, part && answers ? part : n, with, apart);
        return;
    }
    put(b, "(");
    ask_tie(b, asks, part, with, apart);
    put(b, " || ad_eq(");
    write_operand(b, n, apart);
    put(b, ", 0))");
}

// A number, where its truth is asked for; or whether it is 0.
static void write_whether(buffer *b, node *n, bool is_zero, bool apart)
{
    const node *asks = base_node(n);
    if (number_of(n) && asks->asks_tie) {
        put(b, is_zero ? "" : "!");
        ask_part(b, asks, n, NULL, apart);
    } else {
        put(b, is_zero ? "ad_eq(" : "ad_ne(");
        write_operand(b, n, apart);
        put(b, ", 0)");
    }
}

void write_truth(buffer *b, node *n, bool apart)
{
    if (number_of(n))
        write_whether(b, n, false, apart);
    else
        write_as(b, n, F_PLAIN, apart);
}

/* --- operators ------------------------------------------------------------ */

static form call_of_two(buffer *b, const char *name, node *n, bool apart)
{
    put(b, name);
    put(b, "(");
    write_operand(b, n->kid[0], apart);
    put_break(b, n->kid[0], n->kid[1], apart);
    write_operand(b, n->kid[1], apart);
    put(b, ")");
    return F_EXPR;
}

static form write_assignment(buffer *b, node *n, bool apart)
{
    const bool number = number_of(n->kid[0]);
    write(b, n->kid[0], apart);
    if (apart || in_macro(n->kid[0]) || in_macro(n->kid[1]))
        put(b, " = ");
    else
        put_text(b, slice((span){ span_of(n).file, span_of(n->kid[0]).end,
                                  span_of(n->kid[1]).begin }));
    write_as(b, n->kid[1], number ? F_NUMBER : F_PLAIN, apart);
    return number ? F_NUMBER : F_PLAIN;
}

static form plain_binary(buffer *b, node *n, bool apart,
                         void (*each)(buffer *, node *, bool))
{
    if (!apart) {
        write_gaps(b, n, apart, each);
        return F_PLAIN;
    }
    each(b, n->kid[0], apart);
    put(b, is(n->opcode, ",") ? "" : " ");
    put_text(b, n->opcode);
    put(b, " ");
    each(b, n->kid[1], apart);
    return F_PLAIN;
}

static form write_comma(buffer *b, node *n, bool apart)
{
    write_void(b, n->kid[0], apart);
    put(b, ", ");
    write_as(b, n->kid[1], number_of(n) ? F_NUMBER : F_PLAIN, apart);
    return number_of(n) ? F_NUMBER : F_PLAIN;
}

// The value of an operation in float, out of one in double.
static form rounded(buffer *b, const node *n, size_t from)
{
    if (!n->ty->single)
        return F_EXPR;
    if (strcmp(opt.number, "real") == 0)
        refuse(n, "use --number ad_rev or ad_fwd",
               "a number in float, with --number real");
    buffer o = { 0 };
    put_text(&o, (text){ b->at + from, b->n - from });
    b->n = from;
    putf(b, "float%s(%s(", opt.suffix, opt.rec);
    put_text(b, text_in(&o));
    put(b, "))");
    free(o.at);
    return F_NUMBER;
}

// `n == m`, or an order, where the run sees more.
static void write_asking(buffer *b, const char *name, node *n, bool apart)
{
    const bool turn = n->asks_tie == OF_CONSTANT && !varies(n->kid[0]);
    node *of = n->kid[turn], *with = n->kid[!turn];
    if (one_of(n->opcode, "== !=")) {
        put(b, is(n->opcode, "!=") ? "!" : "");
        ask_part(b, n, of, with, apart);
        return;
    }
    putf(b, "%s(apart_or_fail%s(", name, opt.suffix);
    write_as(b, of, F_NUMBER, apart);
    put(b, ", ");
    write_as(b, with, F_NUMBER, apart);
    put(b, "), ");
    write_as(b, with, F_NUMBER, apart);
    put(b, ")");
}

static form write_binary(buffer *b, node *n, bool apart)
{
    const char *name = operator_of(n->opcode);
    const size_t from = b->n;

    if (is(n->opcode, "="))
        return write_assignment(b, n, apart);
    if (is(n->opcode, ","))
        return write_comma(b, n, apart);
    if (is(n->opcode, "&&") || is(n->opcode, "||"))
        return plain_binary(b, n, apart, write_truth);
    if (name != NULL && number_of(n)) {
        call_of_two(b, name, n, apart);
        return rounded(b, n, from);
    }
    if (name != NULL && (number_of(n->kid[0]) || number_of(n->kid[1]))) {
        if (n->asks_tie)
            write_asking(b, name, n, apart);
        else
            call_of_two(b, name, n, apart);
        return F_PLAIN;
    }
    return plain_binary(b, n, apart, each_natural);
}

/* --- compound assignment -------------------------------------------------- */

static void put_address(buffer *b, node *n, bool apart)
{
    node *m = n;
    while (m->kind == ParenExpr)
        m = m->kid[0];
    if (m->kind == UnaryOperator && is(m->opcode, "*")) {
        write_as(b, m->kid[0], F_PLAIN, apart);
        return;
    }
    put(b, "&");
    write(b, n, apart);
}

// *place += n, or minus it.
static void accumulate(buffer *b, node *target, node *n, const char *one,
                       bool minus, bool apart)
{
    put(b, opt.acc);
    put(b, "(");
    put_address(b, target, apart);
    put(b, ", ");
    if (n == NULL) {
        put(b, one);
    } else {
        put(b, minus ? "ad_neg(" : "");
        write_operand(b, n, apart);
        put(b, minus ? ")" : "");
    }
    put(b, ")");
}

// By a function, where the place must be evaluated once.
static void change(buffer *b, node *target, const char *how, node *n, bool apart)
{
    putf(b, "%s%s%s(", how, target->ty->single ? "_in_float" : "", opt.suffix);
    put_address(b, target, apart);
    put(b, ", ");
    if (n != NULL)
        write_as(b, n, F_NUMBER, apart);
    else
        putf(b, "%s(1)", opt.rec);
    put(b, ")");
}

static void reassign(buffer *b, node *target, const char *name, node *n,
                     bool apart)
{
    const bool single = target->ty->single;
    const text p = natural(target, apart);
    if (has_effect(target)) {
        change(b, target, change_name(name), n, apart);
        return;
    }
    put_text(b, p);
    put(b, " = ");
    if (single)
        putf(b, "float%s(", opt.suffix);
    putf(b, "%s(%s(", opt.rec, name);
    put_text(b, p);
    put(b, ", ");
    if (n != NULL)
        write_operand(b, n, apart);
    else
        put(b, "1");
    put(b, single ? ")))" : "))");
}

// As a statement, or as a value in parentheses.
static form write_compound(buffer *b, node *n, bool apart, bool value)
{
    const text o = n->opcode;
    if (!number_of(n->kid[0]))
        return plain_binary(b, n, apart, each_natural);
    if (!value && (is(o, "+=") || is(o, "-=")) && !n->kid[0]->ty->single) {
        accumulate(b, n->kid[0], n->kid[1], NULL, is(o, "-="), apart);
        return F_NUMBER;
    }
    put(b, value ? "(" : "");
    reassign(b, n->kid[0], compound_name(o), n->kid[1], apart);
    put(b, value ? ")" : "");
    return F_NUMBER;
}

static form write_step(buffer *b, node *n, bool apart, bool value)
{
    const bool up = is(n->opcode, "++");
    if (!value && !n->kid[0]->ty->single) {
        accumulate(b, n->kid[0], NULL, up ? "1" : "-1", false, apart);
        return F_NUMBER;
    }
    if (n->postfix && value && n->kid[0]->ty->single)
        refuse(n, "do the step in a statement of its own",
               "the value of a recorded number before a step");
    if (n->postfix && value) {
        change(b, n->kid[0], up ? "then_added" : "then_subtracted", NULL, apart);
        return F_NUMBER;
    }
    put(b, value ? "(" : "");
    reassign(b, n->kid[0], up ? "ad_add" : "ad_sub", NULL, apart);
    put(b, value ? ")" : "");
    return F_NUMBER;
}

static form write_unary(buffer *b, node *n, bool apart)
{
    const text o = n->opcode;
    if (number_of(n->kid[0]) && (is(o, "++") || is(o, "--")))
        return write_step(b, n, apart, true);
    if (number_of(n) && is(o, "-")) {
        put(b, "ad_neg(");
        write_operand(b, n->kid[0], apart);
        put(b, ")");
        return F_EXPR;
    }
    if (number_of(n) && (is(o, "+") || is(o, "__extension__")))
        return write(b, n->kid[0], apart);
    if (is(o, "!") && number_of(n->kid[0])) {
        write_whether(b, n->kid[0], true, apart);
        return F_PLAIN;
    }
    if (!apart) {
        write_gaps(b, n, apart, each_natural);
    } else {
        put(b, n->postfix ? "" : text_copy(o));
        write_as(b, n->kid[0], F_PLAIN, apart);
        put(b, n->postfix ? text_copy(o) : "");
    }
    return number_of(n) ? F_NUMBER : F_PLAIN;
}

/* --- calls ---------------------------------------------------------------- */

// Whether the C library's bits are those of the operation. In float they are where
// the result is exact before it is rounded, and of a square root. exp10 is a power.
static bool has_same_bits(const node *call, library l)
{
    return l.single && call->ty->single
        ? one_of(text_of(l.name), "sqrt abs fmax fmin max min trunc floor ceil rint "
                 "round nearbyint copysign ldexp")
        : !one_of(text_of(l.name), "exp10");
}

// By a helper that has the value of the C library's function.
static bool write_with_value(buffer *b, node *n, library l, bool apart)
{
    function *f = function_named(callee_name(n), n->unit);
    if (has_same_bits(n, l) || f == NULL || f->addressed
        || strcmp(opt.number, "real") == 0)
        return false;
    f->with_value = true;
    putf(b, "%.*s%s(", (int)f->name.n, f->name.at, opt.suffix);
    for (int i = 1; i < n->kids; i++) {
        if (i > 1)
            put_break(b, n->kid[i - 1], n->kid[i], apart);
        write_as(b, n->kid[i], is_number(n->kid[i]) ? F_NUMBER : F_PLAIN, apart);
    }
    put(b, ")");
    return true;
}

static form write_operation(buffer *b, node *n, library l, bool apart)
{
    const size_t from = b->n;
    if (write_with_value(b, n, l, apart))
        return F_NUMBER;
    putf(b, "ad_%s(", l.name);
    for (int i = 1; i < n->kids; i++) {
        if (i > 1)
            put_break(b, n->kid[i - 1], n->kid[i], apart);
        write_operand(b, n->kid[i], apart);
    }
    put(b, ")");
    return rounded(b, n, from);
}

static const ty *parameter_type(const node *call, int i)
{
    const ty *f = call->kid[0]->ty;
    if (f != NULL && f->kind == T_PTR)
        f = f->to;
    return f != NULL && f->kind == T_FUN && i < f->pars ? f->par[i] : NULL;
}

static void write_argument(buffer *b, node *n, bool apart)
{
    const node *call = n->parent;
    int i = 0;
    while (call->kid[i] != n)
        i++;
    const ty *p = i > 0 && call_library(call).kind == L_NONE
        ? parameter_type(call, i - 1) : NULL;
    write_as(b, n, active(p) ? F_NUMBER : F_PLAIN, apart);
}

static form result_form(const node *call)
{
    const ty *f = call->kid[0]->ty;
    if (f != NULL && f->kind == T_PTR)
        f = f->to;
    return f != NULL && f->kind == T_FUN && active(f->to) ? F_NUMBER : F_PLAIN;
}

static form write_call(buffer *b, node *n, bool apart)
{
    const library l = call_library(n);
    if (l.kind == L_OPERATION && number_of(n))
        return write_operation(b, n, l, apart);
    if (l.kind == L_HELPER && number_of(n))
        return write_parts_call(b, n, l, apart);
    if (l.kind == L_PARTS && (number_of(n)
                              || ty_changed(n->kid[n->kids - 1]->ty))) {
        const bool plain = is_number(n) && !number_of(n);
        put(b, plain ? "ad_value(" : "");
        write_parts_call(b, n, l, apart);
        put(b, plain ? ")" : "");
        return plain ? F_PLAIN : F_NUMBER;
    }
    const form f = l.kind == L_NONE ? result_form(n) : F_PLAIN;
    const bool value = f == F_NUMBER && is_number(n) && !number_of(n);
    put(b, value ? "ad_value(" : "");
    if (!apart) {
        write_gaps(b, n, apart, write_argument);
    } else {
        for (int i = 0; i < n->kids; i++) {
            put(b, i > 1 ? ", " : "");
            write_argument(b, n->kid[i], apart);
            put(b, i == 0 ? "(" : "");
        }
        put(b, ")");
    }
    put(b, value ? ")" : "");
    return value ? F_PLAIN : f;
}

/* --- casts ---------------------------------------------------------------- */

// `(type)` of a cast, a compound literal or sizeof, with the type as it is now.
static void write_parentheses(buffer *b, node *n, ty *t, bool apart)
{
    const span s = span_of(n);
    const text all = slice(s);
    size_t i = 0;

    put(b, "(");
    while (i < all.n && all.at[i] != '(')
        i++;
    const text words = { all.at + i + 1, i < all.n ? closing(all, i) - i - 2 : 0 };
    if (apart || in_macro(n) || i == all.n || ty_base(t)->kind == T_FUN
        || (ty_changed(t) && names_macro(words, n->unit)))
        ty_print(b, t, T(""));
    else
        write_type_words(b, words, ty_base(t));
    put(b, ")");
}

// In a macro `__typeof__` may name what is recorded now.
static text type_words(const node *n)
{
    return n->desugared.n && find(n->type, "typeof") < n->type.n ? n->desugared
         : n->type;
}

static form write_cast(buffer *b, node *n, bool apart)
{
    node *k = n->kid[0];
    const bool explicit = n->kind == CStyleCastExpr;

    if (is(n->cast, "LValueToRValue")) {
        if (!number_of(k) || number_of(n))
            return write(b, k, apart);
        wrap(b, "ad_value", natural(k, apart));
        return F_PLAIN;
    }
    if (number_of(n) && (is(n->cast, "FloatingCast") || is(n->cast, "NoOp"))) {
        const size_t from = b->n;
        const form f = write(b, k, apart);
        if (n->ty->single && is_number(k) && !k->ty->single)
            return rounded(b, n, from);
        return f;
    }
    if (is(n->cast, "FloatingToIntegral") && is_number(k)
        && num_root(k->ty->num)->varied)
        note(n, "a whole number is made of a recorded one: derivative 0");
    if (is(n->cast, "FloatingToBoolean") && number_of(k)) {
        write_truth(b, k, apart);
        return F_PLAIN;
    }
    if (!explicit && is(n->cast, "FloatingToIntegral"))
        write_as(b, k, F_PLAIN, apart);
    if (!explicit)
        return is(n->cast, "FloatingToIntegral") ? F_PLAIN : write(b, k, apart);
    if (ty_changed(n->ty) && n->ty->kind != T_NUM)
        write_parentheses(b, n, n->ty, apart);
    else if (apart || in_macro(n))
        putf(b, "(%.*s)", (int)type_words(n).n, type_words(n).at);
    else
        put_text(b, slice((span){ span_of(n).file, span_of(n).begin,
                                  span_of(k).begin }));
    write_as(b, k, F_PLAIN, apart);
    return F_PLAIN;
}

/* --- the rest ------------------------------------------------------------- */

static form write_name(buffer *b, node *n, bool apart)
{
    if (n->addressed && ty_changed(n->ty)) {
        put_text(b, n->ref_name);
        put(b, opt.suffix);
    } else if (n->decl != NULL && n->decl->renamed) {
        twin_name(b, n->decl);
    } else
        put_text(b, n->ref_name.n ? n->ref_name
                 : token(apart ? n->begin.spelled : n->begin.expanded));
    return number_of(n) ? F_NUMBER : F_PLAIN;
}

// Parentheses are needed by what is no call.
static form write_group_of(buffer *b, node *n, bool apart)
{
    const node *k = n->kid[0];
    while (k->kind == ParenExpr)
        k = k->kid[0];
    const bool operation = k->kind != ConditionalOperator
        && k->kind != BinaryConditionalOperator
        && k->kind != CompoundAssignOperator
        && !(k->kind == BinaryOperator && operator_of(k->opcode) == NULL);
    buffer o = { 0 };
    const form f = write(&o, n->kid[0], apart);
    const bool bare = number_of(n) && operation
        && n->parent->kind != UnaryExprOrTypeTraitExpr && f != F_PLAIN;
    const bool test = k->kind == BinaryOperator && !number_of(n) && o.n > 4
        && memcmp(o.at, "ad_", 3) == 0 && operator_of(k->opcode) != NULL
        && closing(text_in(&o), 5) == o.n;
    put(b, bare || test ? "" : "(");
    put_text(b, text_in(&o));
    put(b, bare || test ? "" : ")");
    free(o.at);
    return f;
}

static form write_choice(buffer *b, node *n, bool apart)
{
    const form want = number_of(n) ? F_NUMBER : F_PLAIN;
    node **k = n->kid;
    const span s = span_of(n);
    const bool gaps = !apart && !in_macro(k[0]) && !in_macro(k[1])
        && !in_macro(k[2]);

    write_truth(b, k[0], apart);
    put_text(b, gaps ? slice((span){ s.file, span_of(k[0]).end,
                                     span_of(k[1]).begin }) : T(" ? "));
    write_as(b, k[1], want, apart);
    put_text(b, gaps ? slice((span){ s.file, span_of(k[1]).end,
                                     span_of(k[2]).begin }) : T(" : "));
    write_as(b, k[2], want, apart);
    return want;
}

// a ?: b: a is written twice.
static form write_first_or(buffer *b, node *n, bool apart)
{
    node *a = n->kid[0], *c = n->kid[3];
    const form want = number_of(n) ? F_NUMBER : F_PLAIN;
    if (has_effect(a))
        refuse(n, "compute the condition in a statement of its own",
               "?: without its middle part, of an expression that has effects");
    write_truth(b, a, apart);
    put(b, " ? ");
    write_as(b, a, want, apart);
    put(b, " : ");
    write_as(b, c, want, apart);
    return want;
}

static form write_place(buffer *b, node *n, bool apart)
{
    if (!apart) {
        write_gaps(b, n, apart, each_natural);
    } else if (n->kind == MemberExpr) {
        write_as(b, n->kid[0], F_PLAIN, apart);
        if (n->name.n) {
            const node *k = n->kid[0];
            const bool hidden = k->kind == MemberExpr && k->name.n == 0;
            put(b, hidden ? "" : n->arrow ? "->" : ".");
            put_text(b, n->name);
            macro_goes(n->name, n->end.spelled, n->unit);
        } else {
            put(b, n->arrow ? "->" : ".");
        }
    } else {
        write_as(b, n->kid[0], F_PLAIN, apart);
        put(b, "[");
        write_as(b, n->kid[1], F_PLAIN, apart);
        put(b, "]");
    }
    return number_of(n) ? F_NUMBER : F_PLAIN;
}

static form write_size(buffer *b, node *n, bool apart)
{
    if (n->arg_type.n == 0 && !apart) {
        write_gaps(b, n, apart, each_natural);
    } else if (n->arg_type.n == 0) {
        put(b, "sizeof ");
        write_as(b, n->kid[0], F_PLAIN, apart);
    } else {
        put(b, "sizeof ");
        write_parentheses(b, n, n->arg, apart);
    }
    return F_PLAIN;
}

static form write_literal(buffer *b, node *n, bool apart)
{
    if (n->kind == CompoundLiteralExpr) {
        write_parentheses(b, n, n->ty, apart);
        put(b, apart ? "" : " ");
        write_init(b, n->kid[0], n->ty, apart, false);
        return F_PLAIN;
    }
    const text t = token(apart ? n->begin.spelled : n->begin.expanded);
    if (apart && (n->begin.spelled.file < 0 || t.n == 0))
        put_text(b, n->value);
    else if (apart)
        put_text(b, t);
    else
        put_text(b, slice(span_of(n)));
    return F_PLAIN;
}

static form write_parts_call(buffer *b, node *n, library l, bool apart)
{
    putf(b, "%s%s(", l.why, opt.suffix);
    for (int i = 1; i < n->kids; i++) {
        put(b, i > 1 ? ", " : "");
        write_as(b, n->kid[i], i <= l.numbers ? F_NUMBER : F_PLAIN, apart);
    }
    put(b, ")");
    return number_of(n) ? F_NUMBER : F_PLAIN;
}

static form write(buffer *b, node *n, bool apart)
{
    span s;

    if (in_macro(n) && !apart) {
        const bool whole = whole_macro(n);
        if (!touched(n) && whole) {
            put_text(b, slice(span_of(n)));
            return F_PLAIN;
        }
        if (touched(n) && whole && write_kept(b, n))
            return F_PLAIN;
        apart = true;
    }
    if (!touched(n) && !apart) {
        put_text(b, slice(span_of(n)));
        return F_PLAIN;
    }
    if (!touched(n) && spelled_whole(n, &s)) {
        put_text(b, slice(s));
        return F_PLAIN;
    }
    switch (n->kind) {
    case DeclRefExpr: return write_name(b, n, apart);
    case ParenExpr: return write_group_of(b, n, apart);
    case ConstantExpr: return write(b, n->kid[0], apart);
    case ImplicitCastExpr:
    case CStyleCastExpr: return write_cast(b, n, apart);
    case UnaryOperator: return write_unary(b, n, apart);
    case BinaryOperator: return write_binary(b, n, apart);
    case CompoundAssignOperator: return write_compound(b, n, apart, true);
    case ConditionalOperator: return write_choice(b, n, apart);
    case BinaryConditionalOperator: return write_first_or(b, n, apart);
    case GenericSelectionExpr: return write(b, selected_node(n), apart);
    case CallExpr: return write_call(b, n, apart);
    case MemberExpr:
    case ArraySubscriptExpr: return write_place(b, n, apart);
    case UnaryExprOrTypeTraitExpr: return write_size(b, n, apart);
    case InitListExpr:
        write_init(b, n, n->ty, apart, false);
        return F_PLAIN;
    case IntegerLiteral:
    case FloatingLiteral:
    case CharacterLiteral:
    case StringLiteral:
    case PredefinedExpr:
    case CompoundLiteralExpr: return write_literal(b, n, apart);
    default:
        refuse(n, apart ? "write it without the macro" : "write it in another way",
               "an expression%s that is not understood", apart ? " in a macro" : "");
        put_text(b, slice(span_of(n)));
        return F_PLAIN;
    }
}

/* --- expressions as statements -------------------------------------------- */

void write_void(buffer *b, node *n, bool apart)
{
    node *k = n;
    while (k->kind == ParenExpr)
        k = k->kid[0];
    if (in_macro(n) && !apart) {
        if (!touched(n)) {
            put_text(b, slice(span_of(n)));
            return;
        }
        if (write_kept(b, n))
            return;
        apart = true;
    }
    if (k->kind == CompoundAssignOperator && touched(k)) {
        write_compound(b, k, apart, false);
    } else if (k->kind == UnaryOperator && number_of(k->kid[0])
               && (is(k->opcode, "++") || is(k->opcode, "--"))) {
        write_step(b, k, apart, false);
    } else if (k->kind == BinaryOperator && is(k->opcode, ",") && touched(k)) {
        write_void(b, k->kid[0], apart);
        put(b, ", ");
        write_void(b, k->kid[1], apart);
    } else {
        buffer o = { 0 };
        write(&o, n, apart);
        put_text(b, text_in(&o));
        free(o.at);
    }
}
