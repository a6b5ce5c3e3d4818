/* equal.c - questions whether two numbers that depend on inputs are equal.
 *
 *     if (a == b) return 0;           if (x[i] != x[i - 1]) v = sin(x[i]);
 *
 * Where they are, at some points only, the program goes a way of its own, which
 * need not depend on both numbers as the other way does: it leaves out what
 * depends on them, or uses again what was computed for one of the two. So `==`
 * and `!=` of such numbers, and differences that are compared with 0, are refused,
 * unless it is seen that the derivatives are those of the other way:
 *
 *   - a number is compared with itself, itself rounded, or a sum that it is in
 *   - only messages depend on the answer
 *   - a loop ends that computes one number anew of the other: nothing changes
 *   - a function that compares says the order, and only that is asked of it
 *   - the user says so: --equal FUNCTION
 *   - the run sees whether a derivative is lost (copies.c)
 *
 * What is not understood is refused.
 * caches.c knows other ways to ask.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdio.h>

enum { MOST_FLAGS = 3 };        // variables that the answer goes through

bool equal_allowed(const function *f)
{
    for (int i = 0; f != NULL && i < opt.equals; i++)
        if (same(opt.equal[i], f->name))
            return true;
    return false;
}

/* --- numbers that are compared -------------------------------------------- */

static bool is_literal(node *n, const char *spelled);

static text name_in(const node *n)
{
    text name = n->kind == DeclRefExpr ? n->ref_name : T("");
    for (int i = 0; i < n->kids && name.n == 0; i++)
        name = name_in(n->kid[i]);
    return name;
}

// Something is stored there, or its address is taken.
bool is_changed(const node *n, const node *x, const function *in)
{
    const nodes *writes = writes_of(in, name_in(x));
    for (size_t i = first_from(writes, n->begins);
         i < writes->n && writes->at[i]->begins <= n->ends; i++)
        if (writes->at[i]->kind != CallExpr
            && same_code(base_node(writes->at[i]->kid[0]), x))
            return true;
    return false;
}

// A local variable or a parameter whose number stays what it is.
static bool stays(const node *n, const function *in)
{
    return (local_variable(n) != NULL || parameter_index(in, n) >= 0)
        && !is_changed(in->body, n, in);
}

node *begins_as(const node *n, const function *in)
{
    const node *d = local_variable(n);
    return d != NULL && d->init && d->kids && stays(n, in) ? d->kid[0] : NULL;
}

// x, x + 0.5, x - 0.5
static bool is_shifted(node *n, const node *x)
{
    n = base_node(n);
    return same_code(n, x)
        || (n->kind == BinaryOperator && one_of(n->opcode, "+ -")
            && same_code(base_node(n->kid[0]), x) && is_literal(n->kid[1], "0.5 .5"));
}

// x and floor(x): x is a whole number. Also in a variable, but not of a difference,
// where 0 asks whether two numbers are equal.
static bool is_rounded(const node *n, node *x, const function *in)
{
    node *begin = begins_as(n, in);
    if (begin != NULL && stays(x, in) && two_in(x, number_zero(), in) == NULL)
        n = base_node(begin);
    return n->kind == CallExpr && n->kids == 2
        && one_of(callee_name(n), "floor ceil trunc rint round nearbyint floorf "
                  "ceilf truncf rintf roundf")
        && is_shifted(n->kid[1], x) && !has_effect(x);
}

// a + h or a - h, of a: they are equal where h is lost in rounding.
static bool is_sum_with(const node *sum, const node *a)
{
    return sum->kind == BinaryOperator && is_number(sum) && one_of(sum->opcode, "+ -")
        && (same_code(base_node(sum->kid[0]), a)
            || (is(sum->opcode, "+") && same_code(base_node(sum->kid[1]), a)));
}

bool varies(const node *n)
{
    return is_number(n) && n->ty != NULL && holds_varied(n->ty);
}

/* --- what is compared with a constant --------------------------------------
 * `a - b == 0` and `a/b == 1` ask whether a and b are equal; so does a variable
 * that is such a difference, or a parameter that gets one.                   */

// `static const double zero = 0`: a const variable with its value.
const node *constant_variable(const node *n)
{
    const node *d = n->kind == DeclRefExpr ? node_by_id(n->ref) : NULL;
    return d != NULL && d->kind == VarDecl && d->init && d->kids
        && starts(d->type, "const ") ? d : NULL;
}

static bool is_literal(node *n, const char *spelled)
{
    n = base_node(n);
    if (n->kind == UnaryOperator && is(n->opcode, "-"))
        n = base_node(n->kid[0]);
    const node *d = constant_variable(n);
    return d != NULL ? is_literal(d->kid[0], spelled)
         : (n->kind == IntegerLiteral || n->kind == FloatingLiteral)
           && one_of(n->value, spelled);
}

node *number_zero(void)
{
    static node n = { .kind = IntegerLiteral, .value = { "0", 1 } };
    return &n;
}

bool is_zero(node *n) { return is_literal(n, "0 0.0 0."); }

// What makes of two equal numbers what `constant` is; nothing: another constant.
static text operator_to(node *constant)
{
    return is_zero(constant) ? T("-")
         : is_literal(constant, "1 1.0 1.") ? T("/") : (text){ NULL, 0 };
}

static bool is_made_by(const node *n, text op)
{
    return n->kind == BinaryOperator && same(n->opcode, op);
}

static bool is_name(const node *n)
{
    return n->kind == DeclRefExpr || n->kind == MemberExpr;
}

// Made of one number that depends on inputs: not what several are put together to,
// as in a determinant.
static bool is_single(const node *n)
{
    if (n->kind == BinaryOperator && varies(n->kid[0]) && varies(n->kid[1]))
        return false;
    for (int i = 0; i < n->kids; i++)
        if (!is_single(n->kid[i]))
            return false;
    return true;
}

static bool is_made_of_two(const node *n, text op)
{
    return is_made_by(n, op) && is_single(n->kid[0]) && is_single(n->kid[1]);
}

// A store at `at`: of a difference, or, after `d = a`, of `d -= b`.
static const node *made_here(const node *n, const node *at, text op)
{
    if (n->kids < 2 || !same_code(base_node(n->kid[0]), at))
        return NULL;
    node *from = base_node(n->kid[1]);
    if (is(n->opcode, "="))
        return is_made_of_two(from, op) ? from : NULL;
    return n->opcode.n == 2 && n->opcode.at[0] == op.at[0]
        && (is_name(from) || from->kind == ArraySubscriptExpr)
        && local_variable(at) != NULL ? n : NULL;
}

static const node *made_in(const node *body, const node *at, text op)
{
    const nodes *stores = stores_in(body, local_variable(at));
    const node *of = NULL;
    for (size_t i = 0; i < stores->n && of == NULL; i++)
        of = made_here(stores->at[i], at, op);
    return of;
}

static void find_calls(names *calls, node *n)
{
    const text name = n->kind == CallExpr ? callee_name(n) : T("");
    if (name.n)
        name_set(calls, name, -1, nodes_with(name_find(calls, name, -1), n));
    for (int i = 0; i < n->kids; i++)
        find_calls(calls, n->kid[i]);
}

// What some call of f has as argument i. Calls are found once.
static const node *passed(const function *f, int i, text op)
{
    static names calls;         // a list for each name
    if (calls.room == 0)
        find_calls(&calls, tree);
    const nodes *list = name_find(&calls, f->name, -1);
    for (size_t k = 0; list != NULL && k < list->n; k++) {
        const node *n = list->at[k];
        if (i + 1 < n->kids && is_made_of_two(base_node(n->kid[i + 1]), op))
            return base_node(n->kid[i + 1]);
    }
    return NULL;
}

int parameter_index(const function *f, const node *n)
{
    int at = 0;
    for (int i = 0; n->kind == DeclRefExpr && i < f->decl->kids; i++)
        if (f->decl->kid[i]->kind == ParmVarDecl) {
            if (f->decl->kid[i]->id == n->ref)
                return at;
            at++;
        }
    return -1;
}

// fabs(d) or d*d: then d.
node *unsigned_part(node *n)
{
    const library l = n->kind == CallExpr ? call_library(n) : (library){ 0 };
    if (n->kind == CallExpr && n->kids == 2 && l.name && is(text_of(l.name), "abs"))
        return n->kid[1];
    return n->kind == BinaryOperator && is(n->opcode, "*")
        && same_code(base_node(n->kid[0]), base_node(n->kid[1])) ? n->kid[0] : NULL;
}

bool is_folded(const node *n, const function *in)
{
    node *begin = begins_as(base_node((node *)n), in);
    return unsigned_part(base_node((node *)n)) != NULL
        || (begin != NULL && unsigned_part(base_node(begin)) != NULL);
}

const node *two_in(node *n, node *constant, const function *in)
{
    const text op = operator_to(constant);
    n = base_node(n);
    if (is_zero(constant) && unsigned_part(n) != NULL)
        n = base_node(unsigned_part(n));
    if (op.n == 0 || is_made_by(n, op))
        return op.n ? n : NULL;
    const node *d = local_variable(n);
    const int parameter = parameter_index(in, n);
    node *begin = begins_as(n, in);
    if (begin != NULL && local_variable(base_node(begin)) != d
        && (local_variable(base_node(begin)) != NULL
            || unsigned_part(base_node(begin)) != NULL))
        return two_in(begin, constant, in);     // const double e = d;
    if (d != NULL && d->init && d->kids && is_made_by(base_node(d->kid[0]), op))
        return base_node(d->kid[0]);
    return !is_name(n) ? NULL
         : parameter >= 0 ? passed(in, parameter, op)
         : made_in(in->body, n, op);
}

/* --- which questions ------------------------------------------------------ */

// Two numbers that are compared, as operands.
static bool are_compared(const node *n, const function *in, node **a, node **b)
{
    if (n->kind == CallExpr && n->kids == 3 && call_library(n).kind == L_VALUE
        && is(text_of(call_library(n).why), "islessgreater")) {
        *a = n->kid[1], *b = n->kid[2];
        return true;
    }
    if (n->kind != BinaryOperator || !one_of(n->opcode, "== !="))
        return false;
    const int constant = operator_to(n->kid[0]).n ? 0 : 1;
    const node *of = operator_to(n->kid[constant]).n
        ? two_in(n->kid[1 - constant], n->kid[constant], in) : n;
    if (of == NULL)
        return false;
    *a = of->kid[0], *b = of->kid[1];
    return true;
}

// Neither is made of the other one alone.
bool are_apart(const question *q)
{
    return !(same_code(q->a, q->b) && !has_effect(q->a))
        && !is_rounded(q->a, q->b, q->in)
        && !is_rounded(q->b, q->a, q->in)
        && !is_sum_with(q->a, q->b) && !is_sum_with(q->b, q->a);
}

static bool asks(const node *n, question *q)
{
    node *a, *b;
    if (!are_compared(n, q->in, &a, &b) || !varies(a) || !varies(b))
        return false;
    q->a = base_node(a);
    q->b = base_node(b);
    return are_apart(q);
}

bool is_truth(const node *n)
{
    const node *p = n->parent;
    if (!is_number(n) || p->kind == ParenExpr)
        return !is_number(n);
    return (p->kind == UnaryOperator && is(p->opcode, "!"))
        || (p->kind == BinaryOperator && one_of(p->opcode, "&& ||"))
        || is(p->cast, "FloatingToBoolean") || is_condition(n)
        || ((p->kind == ConditionalOperator || p->kind == BinaryConditionalOperator)
            && n == condition_of(p));
}

/* --- parts of a function -------------------------------------------------- */

static bool is_one(node *n, const node *at)
{
    return same_code(base_node(n), at);
}

bool reads_it(const node *n, const node *at)
{
    if (n->kind == at->kind && same_code(n, at))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (reads_it(n->kid[i], at))
            return true;
    return false;
}

// A text, or a file: of another pointer a function may change what it leads to.
static bool is_told(node *argument)
{
    const text t = argument->type;
    return argument->ty == NULL || argument->ty->kind != T_PTR
        || starts(t, "const char *") || starts(t, "FILE *")
        || starts(t, "struct _IO_FILE *")
        || base_node(argument)->kind == StringLiteral
        || base_node(argument)->kind == PredefinedExpr;
}

// A function of numbers, which does nothing but compute.
static bool computes(const node *call)
{
    const library_kind what = call_library(call).kind;
    return what == L_OPERATION || what == L_VALUE;
}

// A function whose source is not seen, but known not to tell the program anything: it
// prints, or ends the program.
static bool prints_or_ends(const function *f)
{
    return prints_only(f)
        || one_of(f->name, "printf fprintf vprintf vfprintf puts fputs putchar putc "
                  "fputc fflush perror abort exit _exit _Exit quick_exit "
                  "__assert_fail __assert_rtn gsl_error gsl_warn gsl_stream_printf "
                  "Rprintf REprintf Rf_error Rf_warning");
}

static bool only_tells(const node *n)
{
    if (is_store(n) || is_jump(n))
        return false;
    if (n->kind == CallExpr && !computes(n)) {
        const function *f = function_called(n);
        const library l = call_library(n);
        if (f == NULL || f->body != NULL || !prints_or_ends(f)
            || (l.kind != L_NONE && l.kind != L_PASSIVE))
            return false;
        for (int i = 1; i < n->kids; i++)
            if (!is_told(n->kid[i]))
                return false;
    }
    for (int i = 0; i < n->kids; i++)
        if (!only_tells(n->kid[i]))
            return false;
    return true;
}

static bool stores_numbers(const node *n)
{
    if ((n->kind == CallExpr && !computes(n))
        || (is_store(n) && is_number(n->kid[0])))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (stores_numbers(n->kid[i]))
            return true;
    return false;
}

// The loop or the switch that a break in n leaves.
static const node *left_by_break(const node *n)
{
    while (n != NULL && !is_loop(n) && n->kind != SwitchStmt
           && n->kind != FunctionDecl)
        n = n->parent;
    return n;
}

/* --- loops that end when nothing changes -------------------------------------
 * One of the two numbers is computed of the other, or of itself; the other is a
 * copy. Both are variables of the function, nothing else stores in them, and no
 * other loop is around, in which what was computed could be used again.      */

// Of variables, and functions of numbers; not of an element that the turn says,
// nor of one choice or another.
static bool is_step(const node *n)
{
    if (n->kind == ArraySubscriptExpr)
        return base_node(n->kid[1])->kind == IntegerLiteral;
    if (n->kind == ConditionalOperator
        || (n->kind == MemberExpr && n->arrow)
        || (n->kind == UnaryOperator && is(n->opcode, "*"))
        || n->kind == StmtExpr || is_store(n))
        return false;
    for (int i = 1; n->kind == CallExpr && i < n->kids; i++)
        if (!is_number(n->kid[i]))
            return false;
    for (int i = 0; i < n->kids; i++)
        if (!is_step(n->kid[i]))
            return false;
    return true;
}

typedef enum source { COPY, STEP, ELSE } source;

static source comes_from(node *value, const question *q, bool itself)
{
    if (is_one(value, q->a) || is_one(value, q->b))
        return itself ? STEP : COPY;
    return is_step(value) && (itself || reads_it(value, q->a) || reads_it(value, q->b))
        ? STEP : ELSE;
}

static bool declares(const node *d, const question *q)
{
    return d->kind == VarDecl && (node_by_id(q->a->ref) == d
                                  || node_by_id(q->b->ref) == d);
}

static bool only_steps(const node *n, const question *q, int *steps);

// What a `for` begins with is done once.
static bool turns_only_step(const node *loop, const question *q)
{
    int steps = 0;
    for (int i = loop->kind == ForStmt; i < loop->kids; i++)
        if (!only_steps(loop->kid[i], q, &steps))
            return false;
    return steps > 0;
}

// Counts the steps; false: one of the two gets a value from elsewhere.
static bool only_steps(const node *n, const question *q, int *steps)
{
    source from = COPY;
    if (is_store(n) && (is_one(n->kid[0], q->a) || is_one(n->kid[0], q->b)))
        from = n->kids < 2 ? ELSE
            : comes_from(n->kid[1], q, n->kind == CompoundAssignOperator);
    else if (declares(n, q) && n->init && n->kids)
        from = comes_from(n->kid[0], q, false);
    *steps += from == STEP;
    for (int i = 0; i < n->kids && from != ELSE; i++)
        if (!only_steps(n->kid[i], q, steps))
            from = ELSE;
    return from != ELSE;
}

// The address of one of the two is taken, or a goto may lead anywhere.
static bool is_open(const node *n, const question *q)
{
    if (n->kind == GotoStmt || n->kind == LabelStmt
        || (n->kind == UnaryOperator && is(n->opcode, "&")
            && (is_one(n->kid[0], q->a) || is_one(n->kid[0], q->b))))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (is_open(n->kid[i], q))
            return true;
    return false;
}

static bool leaves(const node *choice)
{
    const node *last = choice->kids == 2 ? choice->kid[1] : choice;
    while (last->kind == CompoundStmt && last->kids == 1)
        last = last->kid[0];
    return last->kind == BreakStmt;
}

static bool ends_loop(const node *choice, const question *q)
{
    const node *loop = left_by_break(choice);
    return (is_loop(choice) || (choice->kind == IfStmt && leaves(choice)))
        && loop != NULL && is_loop(loop)
        && left_by_break(loop->parent)->kind == FunctionDecl
        && local_variable(q->a) && local_variable(q->b) && !is_open(q->in->body, q)
        && turns_only_step(loop, q);
}

/* --- functions that compare -------------------------------------------------
 * They say 0 of equal numbers, which is no loss if only an order is asked:
 * `compare(a, b) < 0`, qsort.                                                */

static bool asks_order(const node *n, const question *q)
{
    if (n->kind == BinaryOperator && one_of(n->opcode, "< > <= >=")
        && ((is_one(n->kid[0], q->a) && is_one(n->kid[1], q->b))
            || (is_one(n->kid[0], q->b) && is_one(n->kid[1], q->a))))
        return true;
    for (int i = 0; i < n->kids; i++)
        if (asks_order(n->kid[i], q))
            return true;
    return false;
}

static bool is_order_of(const node *name)
{
    const node *n = name->parent;
    while (n->kind == ParenExpr || n->kind == ImplicitCastExpr)
        name = n, n = n->parent;
    if (n->kind != CallExpr)
        return false;
    if (n->kid[0] != name)
        return is(callee_name(n), "qsort");
    for (name = n, n = n->parent; n->kind == ParenExpr; n = n->parent)
        name = n;
    return n->kind == BinaryOperator && one_of(n->opcode, "< > <= >=")
        && is_literal(n->kid[n->kid[0] == name], "0");
}

static bool only_order_asked(const node *n, const function *f)
{
    if (n->kind == DeclRefExpr && same(n->ref_name, f->name)
        && is(n->ref_kind, "FunctionDecl") && !is_order_of(n))
        return false;
    for (int i = 0; i < n->kids; i++)
        if (!only_order_asked(n->kid[i], f))
            return false;
    return true;
}

static bool only_orders(const question *q)
{
    return q->in->type->to->kind == T_OTHER && !has_effect(q->in->body)
        && asks_order(q->in->body, q) && only_order_asked(tree, q->in);
}

/* --- what depends on the answer ------------------------------------------- */

static bool is_harmless(const node *answer, const question *q, int flags);

static bool is_stored_to(const node *n)
{
    return n->parent->kind == BinaryOperator && is(n->parent->opcode, "=")
        && n->parent->kid[0] == n;
}

// All that names a local variable which keeps the answer.
static bool reads_harmlessly(const node *n, const node *d, const question *q,
                             int flags)
{
    if (n->kind == DeclRefExpr && n->ref == d->id && !is_stored_to(n)
        && !(is(n->parent->cast, "LValueToRValue")
             && is_harmless(n->parent, q, flags)))
        return false;
    for (int i = 0; i < n->kids; i++)
        if (!reads_harmlessly(n->kid[i], d, q, flags))
            return false;
    return true;
}

static bool is_kept_harmlessly(const node *d, const question *q, int flags)
{
    return d != NULL && flags > 0 && d->kind == VarDecl && d->parent != tree
        && d->storage.n == 0 && reads_harmlessly(q->in->body, d, q, flags - 1);
}

static bool goes_up(const node *p)
{
    return p->kind == ParenExpr || p->kind == ImplicitCastExpr
        || p->kind == ConstantExpr
        || (p->kind == UnaryOperator && is(p->opcode, "!"))
        || (p->kind == BinaryOperator && one_of(p->opcode, "&& ||"));
}

static bool is_harmless(const node *answer, const question *q, int flags)
{
    const node *n = answer;
    while (goes_up(n->parent))
        n = n->parent;
    const node *p = n->parent;
    if (!only_tells(n) && !(is_loop(p) && !stores_numbers(n)))
        return false;
    if (p->kind == VarDecl)
        return is_kept_harmlessly(p, q, flags);
    if (p->kind == BinaryOperator && is(p->opcode, "=") && n == p->kid[1])
        return p->parent->kind == CompoundStmt
            && is_kept_harmlessly(local_variable(base_node(p->kid[0])), q, flags);
    if ((p->kind != IfStmt && p->kind != ConditionalOperator && !is_loop(p))
        || n != condition_of(p))
        return false;
    bool tells = p->kind == IfStmt
        || (p->kind == ConditionalOperator && is(p->type, "void"));
    for (int i = 1; tells && i < p->kids; i++)
        tells = only_tells(p->kid[i]);
    return tells || ends_loop(p, q);
}

/* --- all of it ------------------------------------------------------------ */

bool equal_harmless(const node *answer, const question *q)
{
    return is_harmless(answer, q, MOST_FLAGS) || only_orders(q);
}

void refuse_equal(const node *answer, const question *q)
{
    buffer b = { 0 };
    putf(&b, "compute the same in either case; or, if no derivative is lost "
         "where they are equal: --equal %.*s", (int)q->in->name.n, q->in->name.at);
    refuse(answer, b.at, "two numbers that depend on inputs are compared: where "
           "they are equal, derivatives may be lost");
}

static void look_at(node *n, const function *f)
{
    question q = { .in = f };
    if (asks(n, &q) && !equal_harmless(n, &q) && !run_sees(n, &q))
        refuse_equal(n, &q);
    for (int i = 0; i < n->kids; i++)
        look_at(n->kid[i], f);
}

void equal_check(void)
{
    for (const function *f = functions; f != NULL; f = f->next)
        if (f->reached && f->body != NULL && !equal_allowed(f))
            look_at(f->body, f);
}

// Where a check finds that a derivative is lost, one of these may hide it.
static void print_questions(const node *n, const function *f)
{
    question q = { .in = f };
    if (asks(n, &q)) {
        const span s = span_of(n);
        const text t = slice(s);
        unsigned line, col;
        lines_of(s.file, s.begin, &line, &col);
        printf("%s:%u:%u: it may be this comparison: %.*s\n",
               file_at(s.file)->path, line, col, (int)t.n, t.at);
    }
    for (int i = 0; i < n->kids; i++)
        print_questions(n->kid[i], f);
}

void questions_print(void)
{
    for (const function *f = functions; f != NULL; f = f->next)
        if (f->reached && f->body != NULL)
            print_questions(f->body, f);
}
