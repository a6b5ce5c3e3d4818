/* orders.c - orders that together ask whether two numbers are equal.
 *
 *     if (a >= b && a <= b) return 0;         if (a < b) return f(a, b);
 *                                             if (b < a) return f(a, b);
 *     c = (a > b) - (a < b);                  return 0;
 *
 * Of two numbers there are three cases: a is less than b, equal to it, or more.
 * What a comparison says in each is known, and so is what `&&`, `-`, `?:` and
 * functions of the program make of it; anything else in a condition may be true or
 * false. A condition asks for equality if it says in the equal case what it says
 * in no other that gets there by the same way: other choices come before it, or are
 * around it. equal.c says what is harmless of that.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>

typedef enum order { LESS, EQUAL, MORE } order;

enum { MOST_OTHERS = 5, MOST_DEPTH = 4 };

// Which case it is, and what is supposed of conditions about other things.
typedef struct supposed {
    question of;
    order is;
    const node *other[MOST_OTHERS];
    int others;
    unsigned chosen;            // bit i: other[i] is true
    bool asked;                 // one of the conditions was about the two
    int depth;
} supposed;

static long value_of(node *n, supposed *s);

/* --- comparisons ---------------------------------------------------------- */

// What is compared, and how. `folded`: by the size of a difference, without a sign.
typedef struct comparison {
    node *a, *b;
    text sign;                  // an operator; nothing: below 0, 0 or above
    bool folded;
} comparison;

static bool take_two(node *n, node *constant, const function *in, comparison *c)
{
    const node *of = two_in(n, constant, in);
    c->folded = of != NULL && is_folded(n, in);
    if (of != NULL)
        c->a = of->kid[0], c->b = of->kid[1];
    return of != NULL;
}

// 1e-12, also in a const variable, or a multiple of that: what is compared with it is as good as 0.
static bool is_tiny(node *n)
{
    n = base_node(n);
    if (n->kind == BinaryOperator && is(n->opcode, "*"))
        return is_tiny(n->kid[0]) || is_tiny(n->kid[1]);
    if (constant_variable(n) != NULL)
        return is_tiny(constant_variable(n)->kid[0]);
    const double size = n->kind == FloatingLiteral
        ? strtod(text_copy(n->value), NULL) : 1;
    return size > 0 && size < 1e-9;
}

// fabs(a - b) < 1e-12
static bool is_near(node *size, node *least, const function *in, comparison *c)
{
    return is_tiny(least) && take_two(size, number_zero(), in, c) && c->folded;
}

static text turned(text sign)
{
    return is(sign, "<") ? T(">") : is(sign, "<=") ? T(">=")
         : is(sign, ">") ? T("<") : is(sign, ">=") ? T("<=") : sign;
}

static text sign_of_call(const node *call)
{
    static const char *const table[][2] = {
        { "isless", "<" }, { "islessequal", "<=" }, { "isgreater", ">" },
        { "isgreaterequal", ">=" }, { "islessgreater", "!=" }, { "gsl_fcmp", "" }
    };
    const library l = call_library(call);
    for (size_t i = 0; l.kind == L_VALUE && i < sizeof table / sizeof *table; i++)
        if (is(text_of(l.why), table[i][0]))
            return text_of(table[i][1]);
    return (text){ NULL, 0 };
}

static bool is_comparison(node *n, const function *in, comparison *c)
{
    *c = (comparison){ .sign = T("!=") };
    if (is_number(n))
        return take_two(n, number_zero(), in, c);
    if (n->kind == CallExpr && n->kids == 2
        && is(text_of(call_library(n).why ? call_library(n).why : ""), "signbit")) {
        c->sign = T("<");
        return take_two(n->kid[1], number_zero(), in, c);
    }
    if (n->kind == CallExpr && n->kids > 2 && sign_of_call(n).at != NULL) {
        *c = (comparison){ n->kid[1], n->kid[2], sign_of_call(n), false };
        return true;
    }
    if (n->kind != BinaryOperator || !one_of(n->opcode, "< > <= >= == !=")
        || !is_number(n->kid[0]) || !is_number(n->kid[1]))
        return false;
    for (int left = 0; left < 2; left++) {
        node *const one = n->kid[left], *const two = n->kid[1 - left];
        c->sign = left ? turned(n->opcode) : n->opcode;
        if (take_two(one, two, in, c))
            return true;
        if (is_near(one, two, in, c)) {
            c->sign = c->sign.at[0] == '<' ? T("<=") : T(">");
            return true;
        }
    }
    *c = (comparison){ n->kid[0], n->kid[1], n->opcode, false };
    return true;
}

static long says(text sign, long by)
{
    return sign.n == 0 ? by : is(sign, "<") ? by < 0 : is(sign, "<=") ? by <= 0
         : is(sign, ">") ? by > 0 : is(sign, ">=") ? by >= 0
         : is(sign, "==") ? by == 0 : by != 0;
}

static bool are(node *a, node *b, const question *q)
{
    return same_code(base_node(a), q->a) && same_code(base_node(b), q->b);
}

/* --- functions that compare -----------------------------------------------
 * `less(a, b)`: in it, two numbers are compared which its arguments are, or lead
 * to.                                                                        */

static int argument_of(const node *n, const function *f)
{
    const int at = parameter_index(f, n);
    for (int i = 0; at < 0 && i < n->kids && n->kind != CallExpr; i++)
        if (argument_of(n->kid[i], f) >= 0)
            return argument_of(n->kid[i], f);
    return at;
}

// The first comparison of two of the arguments: `at` says which.
static bool compares_arguments(node *n, const function *f, comparison *c, int at[2])
{
    if (!(n->asks_tie && one_of(n->opcode, "== !=")) && is_comparison(n, f, c)
        && varies(c->a) && varies(c->b)) {
        at[0] = argument_of(c->a, f), at[1] = argument_of(c->b, f);
        if (at[0] >= 0 && at[1] >= 0 && at[0] != at[1])
            return true;
    }
    for (int i = 0; i < n->kids; i++)
        if (compares_arguments(n->kid[i], f, c, at))
            return true;
    return false;
}

static const function *function_that_compares(const node *call, comparison *c,
                                              int at[2])
{
    const function *f = call->kind == CallExpr ? function_called(call) : NULL;
    return f != NULL && f->body != NULL && f->type->to->kind == T_OTHER
        && !equal_allowed(f) && compares_arguments(f->body, f, c, at)
        && at[0] + 1 < call->kids && at[1] + 1 < call->kids ? f : NULL;
}

// Whether n has returned; then what, is in *value.
static bool run(node *n, supposed *s, long *value)
{
    const bool choice = n->kind == IfStmt;
    if (n->kind == ReturnStmt) {
        *value = n->kids ? value_of(n->kid[0], s) : 0;
        return true;
    }
    if (choice) {
        const int taken = value_of(n->kid[0], s) ? 1 : 2;
        return taken < n->kids && run(n->kid[taken], s, value);
    }
    for (int i = 0; n->kind == CompoundStmt && i < n->kids; i++)
        if (run(n->kid[i], s, value))
            return true;
    return false;
}

static bool value_of_call(const node *call, supposed *s, long *value)
{
    comparison c;
    int at[2];
    const function *f = s->depth ? function_that_compares(call, &c, at) : NULL;
    if (f == NULL)
        return false;
    node *const of[2] = { call->kid[at[0] + 1], call->kid[at[1] + 1] };
    const bool straight = are(of[0], of[1], &s->of);
    if (!straight && !are(of[1], of[0], &s->of))
        return false;
    supposed inner = { .of = { base_node(c.a), base_node(c.b), f },
                       .is = straight ? s->is : MORE - s->is,
                       .depth = s->depth - 1 };
    s->asked = true;
    *value = 0;
    return run(f->body, &inner, value);
}

/* --- conditions, and whole numbers that are made of them ------------------ */

static long value_of_other(const node *n, supposed *s)
{
    int i = 0;
    while (i < s->others && !same_code(s->other[i], n))
        i++;
    if (i == MOST_OTHERS)
        return 0;
    if (i == s->others)
        s->other[s->others++] = n;
    return s->chosen >> i & 1;
}

static long value_of_operator(text o, long x, long y)
{
    if (is(o, "<<") || is(o, ">>"))
        return y < 0 || y > 31 ? 0 : is(o, "<<") ? (long)((unsigned long)x << y) : x >> y;
    switch (o.at[0] * 2 + (o.n == 2)) {
    case '&' * 2 + 1: return x && y;
    case '|' * 2 + 1: return x || y;
    case '=' * 2 + 1: return x == y;
    case '!' * 2 + 1: return x != y;
    case '<' * 2 + 1: return x <= y;
    case '>' * 2 + 1: return x >= y;
    case '<' * 2: return x < y;
    case '>' * 2: return x > y;
    case '+' * 2: return x + y;
    case '-' * 2: return x - y;
    case '*' * 2: return x * y;
    case '&' * 2: return x & y;
    case '|' * 2: return x | y;
    case '^' * 2: return x ^ y;
    default: return y;          // a comma
    }
}

static bool is_whole(const node *n)
{
    return n->kind == BinaryOperator
        && one_of(n->opcode, "&& || == != < > <= >= + - * & | ^ << >> ,");
}

// That it begins as; not if it is no whole number.
static node *beginning(const node *n)
{
    const node *d = is_number(n) ? NULL : local_variable(n);
    return d != NULL && d->init && d->kids
        && (d->ty == NULL || d->ty->kind == T_OTHER) ? d->kid[0] : NULL;
}

// Without parentheses and casts, but for one that rounds a number.
static node *truth_of(node *n)
{
    node *const base = base_node(n);
    while (n != base && !is(n->cast, "FloatingToIntegral"))
        n = n->kind == GenericSelectionExpr ? base : n->kid[0];
    return n;
}

static bool value_of_comparison(node *n, supposed *s, long *value)
{
    comparison c;
    if (!is_comparison(n, s->of.in, &c))
        return false;
    const bool straight = are(c.a, c.b, &s->of);
    if (!straight && !are(c.b, c.a, &s->of))
        return false;
    const long by = ((long)s->is - EQUAL) * (straight ? 1 : -1);
    *value = says(c.sign, c.folded && by < 0 ? -by : by);
    s->asked = true;
    return true;
}

// Both sides are looked at, so that all other conditions are found.
static long value_of(node *n, supposed *s)
{
    long value, x, y, z;
    n = truth_of(n);
    if (value_of_comparison(n, s, &value) || value_of_call(n, s, &value))
        return value;
    if (n->kind == IntegerLiteral)
        return strtol(text_copy(n->value), NULL, 10);
    if (n->kind == UnaryOperator && one_of(n->opcode, "! - + ~")) {
        x = value_of(n->kid[0], s);
        return is(n->opcode, "!") ? !x : is(n->opcode, "-") ? -x
             : is(n->opcode, "~") ? ~x : x;
    }
    if (is_whole(n) && !is_number(n)) {
        x = value_of(n->kid[0], s), y = value_of(n->kid[1], s);
        return value_of_operator(n->opcode, x, y);
    }
    if (n->kind == ConditionalOperator && !is_number(n)) {
        x = value_of(n->kid[0], s);
        y = value_of(n->kid[1], s), z = value_of(n->kid[2], s);
        return x ? y : z;
    }
    if (n->kind == CallExpr && is(callee_name(n), "__builtin_expect"))
        return value_of(n->kid[1], s);
    if (beginning(n) != NULL && s->depth) {
        s->depth--;
        value = value_of(beginning(n), s);
        s->depth++;
        return value;
    }
    return value_of_other(n, s);
}

static long value_in(order is, node *n, supposed *s)
{
    s->is = is;
    return value_of(n, s);
}

/* --- the way to a condition ----------------------------------------------- */

static bool names_one(const node *n, const node *data)
{
    if (n->kind == DeclRefExpr && n->ref == data->ref)
        return true;
    for (int i = 0; i < n->kids; i++)
        if (names_one(n->kid[i], data))
            return true;
    return false;
}

// Not one at another variable of that name.
static bool is_change(const node *write, const node *x)
{
    return !is(write->opcode, "&")
        && names_one(write->kind == CallExpr ? write : write->kid[0], x);
}

static const nodes *writes_at(const node *x, const function *in)
{
    const bool named = x->kind == DeclRefExpr && !is(x->ref_kind, "FunctionDecl");
    return named ? writes_of(in, x->ref_name) : NULL;
}

// Some variable in x may change in n.
static bool changes_in(const node *n, const node *x, const function *in)
{
    const nodes *writes = writes_at(x, in);
    size_t i = writes ? first_from(writes, n->begins) : 0;
    while (writes && i < writes->n && !is_change(writes->at[i], x))
        i++;
    bool does = writes && i < writes->n && writes->at[i]->begins <= n->ends;
    for (int k = 0; k < x->kids && !does; k++)
        does = changes_in(n, x->kid[k], in);
    return does;
}

static bool changes(const node *n, const question *q)
{
    return changes_in(n, q->a, q->in) || changes_in(n, q->b, q->in);
}

// Where that was last so before n, as nodes of a body are counted; 0: nowhere.
static unsigned changed_before(const node *n, const node *x, const function *in)
{
    const nodes *writes = writes_at(x, in);
    size_t i = writes ? first_from(writes, n->begins) : 0;
    while (i > 0 && !is_change(writes->at[i - 1], x))
        i--;
    unsigned last = i > 0 ? writes->at[i - 1]->begins : 0;
    for (int k = 0; k < x->kids; k++) {
        const unsigned other = changed_before(n, x->kid[k], in);
        last = other > last ? other : last;
    }
    return last;
}

static unsigned two_changed_before(const node *n, const question *q)
{
    const unsigned a = changed_before(n, q->a, q->in);
    const unsigned b = changed_before(n, q->b, q->in);
    return a > b ? a : b;
}

static bool leaves(const node *n)
{
    return is_jump(last_statement(n));
}

// Of the cases in `way` those in which the condition is as in the equal one.
static unsigned as_equal(unsigned way, node *condition, supposed *s, long *equal)
{
    const int others = s->others;
    s->asked = false;
    *equal = value_in(EQUAL, condition, s);
    if (!s->asked) {                    // it is about other things
        s->others = others;
        return way;
    }
    for (order o = LESS; o <= MORE; o += 2)
        if (!value_in(o, condition, s) != !*equal)
            way &= ~(1u << o);
    return way;
}

// A choice before; 0: where the two are equal, nothing gets further.
static unsigned way_past(unsigned way, const node *choice, supposed *s)
{
    long equal;
    const unsigned left = as_equal(way, choice->kid[0], s, &equal);
    const int taken = equal ? 1 : 2;
    return s->asked && taken < choice->kids && leaves(choice->kid[taken]) ? 0 : left;
}

// Bit i: case i gets to n by the way of the equal one.
static unsigned way_to(const node *n, supposed *s)
{
    unsigned way = 1u << LESS | 1u << EQUAL | 1u << MORE;
    for (const node *p = n->parent; p->kind != FunctionDecl; n = p, p = p->parent) {
        const bool choice = p->kind == IfStmt || p->kind == ConditionalOperator;
        if (choice && n != p->kid[0]) {
            long equal;
            way = as_equal(way, p->kid[0], s, &equal);
            if (s->asked && !equal != (n != p->kid[1]))
                return 0;
        }
        if (!choice && p->kind != CompoundStmt && changes(p, &s->of))
            return way;
        if (p->kind != CompoundStmt)
            continue;
        const unsigned last = two_changed_before(n, &s->of);
        int at = p->kids;
        for (int i = 0; i < p->kids; i++)
            at = p->kid[i] == n ? i : at;
        while (at-- > 0 && way) {
            if (p->kid[at]->begins <= last)     // it is in there
                return way;
            if (p->kid[at]->kind == IfStmt)
                way = way_past(way, p->kid[at], s);
        }
    }
    return way;
}

/* --- questions ------------------------------------------------------------ */

// As it is supposed.
static bool asks_equality(node *n, supposed *s)
{
    const unsigned way = way_to(n, s);
    const long equal = value_in(EQUAL, n, s);
    bool others = false;
    for (order o = LESS; o <= MORE; o += 2) {
        if (!(way >> o & 1))
            continue;
        others = true;
        if (value_in(o, n, s) == equal)
            return false;
    }
    return others && (way >> EQUAL & 1);
}

static bool may_ask_equality(node *n, const question *q)
{
    supposed s = { .of = *q, .depth = MOST_DEPTH };
    do {
        if (asks_equality(n, &s))
            return true;
        s.chosen++;
    } while (s.chosen >> s.others == 0);
    return false;
}

// The largest condition, or whole number, that is made of n.
static node *whole_of(node *n)
{
    for (node *p = n->parent;; n = p, p = p->parent)
        if (p->kind != ParenExpr && p->kind != ImplicitCastExpr
            && p->kind != CStyleCastExpr && p->kind != ConstantExpr
            && !(p->kind == UnaryOperator && one_of(p->opcode, "! - + ~"))
            && !(is_whole(p) && (!is_number(p) || is(p->opcode, ",")))
            && !(p->kind == ConditionalOperator && !is_number(p)
                 && p->ty != NULL && p->ty->kind == T_OTHER))
            return n;
        else if (is_number(p) && p->kind != ParenExpr)
            return n;
}

// What equal.c looks at.
static bool asks_itself(const node *n, const comparison *c)
{
    return n->kind == BinaryOperator && one_of(n->opcode, "== !=") && !c->folded;
}

// Two numbers that n compares, by itself or by a function.
static bool question_in(node *n, const function *f, question *q)
{
    comparison c;
    int at[2];
    const node *begins = beginning(n);
    *q = (question){ .in = f };
    if (is_comparison(n, f, &c) && varies(c.a) && varies(c.b)) {
        if (asks_itself(n, &c))
            return false;
        q->a = base_node(c.a), q->b = base_node(c.b);
    } else if (function_that_compares(n, &c, at) != NULL) {
        q->a = base_node(n->kid[at[0] + 1]);
        q->b = base_node(n->kid[at[1] + 1]);
    } else if (begins != NULL)
        return question_in(truth_of((node *)begins), f, q);
    return q->a != NULL && are_apart(q);
}

static void look_at(node *n, const function *f)
{
    question q;
    if (is_truth(n) && question_in(truth_of(n), f, &q)) {
        node *whole = whole_of(n);
        if (may_ask_equality(whole, &q) && !equal_harmless(whole, &q)
            && !run_sees(truth_of(n), &q))
            refuse_equal(whole, &q);
    }
    for (int i = 0; i < n->kids; i++)
        look_at(n->kid[i], f);
}

void orders_check(void)
{
    for (const function *f = functions; f != NULL; f = f->next)
        if (f->reached && f->body != NULL && !equal_allowed(f))
            look_at(f->body, f);
}
