// SPDX-License-Identifier: MIT-0
// tags: part
/* expressions_print.c - prints random expressions as C, for expressions.sh:
 *
 *     expressions_print CASES SEED > code.c
 *
 * The form of a case is in expressions.h. Operations whose operands a compiler
 * knows are only those that it cannot round differently than the C library.  */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 400, INPUTS = 5, CONSTANTS = 2, PLAIN = 3, INTEGERS = 2 };

static uint64_t seed;

// xorshift64*
static int below(int n)
{
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (int)((seed * 2685821657736338717u >> 33) % (unsigned)n);
}

/* --- operations ----------------------------------------------------------- */

// EXACT: compilers and the C library round it alike. STEP: that, and there is
// no derivative.
static const struct row {
    const char *name;
    int arity;
    enum { CLOSE, EXACT, STEP } kind;
} rows[] = {
    { "add", 2, EXACT }, { "sub", 2, EXACT }, { "mul", 2, EXACT },
    { "div", 2, EXACT }, { "fma", 3, EXACT }, { "neg", 1, EXACT },
    { "sqr", 1, EXACT }, { "abs", 1, EXACT }, { "min", 2, EXACT },
    { "max", 2, EXACT }, { "clamp", 3, EXACT }, { "fdim", 2, EXACT },
    { "copysign", 2, EXACT }, { "sqrt", 1, EXACT }, { "relu", 1, EXACT },
    { "floor", 1, STEP }, { "ceil", 1, STEP }, { "trunc", 1, STEP },
    { "round", 1, STEP }, { "rint", 1, STEP }, { "nearbyint", 1, STEP },
    { "sign", 1, STEP }, { "select", 2, EXACT }, { "ldexp", 1, EXACT },
    { "powi", 1, CLOSE }, { "fmod", 2, EXACT }, { "remainder", 2, EXACT },
    { "cbrt", 1, CLOSE }, { "hypot", 2, CLOSE }, { "pow", 2, CLOSE },
    { "exp", 1, CLOSE }, { "exp2", 1, CLOSE }, { "expm1", 1, CLOSE },
    { "log", 1, CLOSE }, { "log2", 1, CLOSE }, { "log10", 1, CLOSE },
    { "log1p", 1, CLOSE }, { "sin", 1, CLOSE }, { "cos", 1, CLOSE },
    { "tan", 1, CLOSE }, { "asin", 1, CLOSE }, { "acos", 1, CLOSE },
    { "atan", 1, CLOSE }, { "atan2", 2, CLOSE }, { "sinh", 1, CLOSE },
    { "cosh", 1, CLOSE }, { "tanh", 1, CLOSE }, { "asinh", 1, CLOSE },
    { "acosh", 1, CLOSE }, { "atanh", 1, CLOSE }, { "sigmoid", 1, CLOSE },
    { "softplus", 1, CLOSE }, { "erf", 1, CLOSE }, { "erfc", 1, CLOSE },
    { "lgamma", 1, CLOSE }, { "tgamma", 1, CLOSE }, { "exp10", 1, CLOSE },
    { "frac", 1, EXACT }, { "log_add_exp", 2, CLOSE }, { "digamma", 1, CLOSE },
    { "polygamma", 1, CLOSE }, { "jn", 1, CLOSE }, { "yn", 1, CLOSE },
    { "gamma_p", 2, CLOSE }, { "gamma_q", 2, CLOSE },
    { "beta_p", 3, CLOSE }, { "beta_q", 3, CLOSE },
};
enum { ROWS = sizeof rows / sizeof rows[0] };
enum { MUL = 2 };

// Whether the order k comes first.
static bool is_ordered(const char *name)
{
    return !strcmp(name, "polygamma") || !strcmp(name, "jn")
        || !strcmp(name, "yn");
}

// Rows come in turn, or are one of the first few. `arity` is asked for.
static int pick_row(int arity)
{
    static int turn[4];
    if (arity != 3 && below(5) < 2)
        for (;;) {
            int row = below(8);
            if (rows[row].arity == arity)
                return row;
        }
    for (;;) {
        turn[arity] = (turn[arity] + 1) % ROWS;
        if (rows[turn[arity]].arity == arity)
            return turn[arity];
    }
}

/* --- a case --------------------------------------------------------------- */

enum kind { X, C, P, N, LITERAL, OP, CHOOSE, DETACH, VALUE };

static const char *const kinds[] = {
    "X", "C", "P", "N", "LITERAL", "OP", "CHOOSE", "DETACH", "VALUE"
};

static struct node {
    enum kind kind;
    int row;
    int k;
    int arg[4];
    const char *literal;
    bool plain;                 // no recorded number, but a plain one
    bool known;                 // a compiler may know its value
    bool statement;             // recorded: y = ad_rec(...)
    bool sum;                   // recorded by ad_acc
    bool local;                 // kept in an ad_expr
} node[NODES];

static int nodes;

static int add_node(enum kind kind)
{
    if (nodes == NODES)
        exit(EXIT_FAILURE);
    node[nodes] = (struct node){ .kind = kind };
    return nodes++;
}

// Literals of several types.
static const char *const literals[] = {
    "2", "0.5", "-1", "3.0", "0", "-0.0", "1", "1.5f", "-0.75", "4u", "1e-3",
    "0.1", "-2.5", "7L", "1.0"
};
static const char *const comparisons[] = { "lt", "le", "gt", "ge", "eq", "ne" };

static int pick_leaf(void)
{
    int at;
    int from = below(20);
    if (from < 3) {             // an earlier statement, or a local
        for (int tries = 0; tries < 20 && nodes > 0; tries++) {
            at = below(nodes);
            if (node[at].statement || node[at].local)
                return at;
        }
        from = 10;
    }
    if (from < 5) {
        at = add_node(LITERAL);
        node[at].literal = literals[below(sizeof literals / sizeof *literals)];
        node[at].known = true;
    } else if (from < 6) {
        at = add_node(P);
        node[at].k = below(PLAIN);
    } else if (from < 7) {
        at = add_node(N);
        node[at].k = below(INTEGERS);
    } else if (from < 8) {
        at = add_node(C);
        node[at].k = below(CONSTANTS);
    } else {
        at = add_node(X);
        // Often the same.
        node[at].k = below(3) ? below(INPUTS) : 0;
    }
    node[at].plain = node[at].kind >= P;
    return at;
}

static int grow(int leaves);

static int apply(int row, const int *arg)
{
    bool known = true;
    for (int i = 0; i < rows[row].arity; i++)
        known = known && node[arg[i]].known;
    if (known && rows[row].kind == CLOSE)
        row = rows[row].arity == 2 ? MUL : 5;       // or neg
    int at = add_node(OP);
    node[at].row = row;
    node[at].known = known;
    node[at].k = below(8) - 3;
    memcpy(node[at].arg, arg, sizeof node[at].arg);
    if (is_ordered(rows[row].name))
        node[at].arg[1] = arg[0];
    // pow(1, x), powi(x, 0) and the like.
    if (!strncmp(rows[row].name, "pow", 3)
        && (node[at].k == 0 || node[arg[0]].known || node[arg[1]].known))
        node[at].known = true;
    if (!strcmp(rows[row].name, "select"))
        node[at].known = node[arg[node[at].k > 0 ? 0 : 1]].known;
    return at;
}

static int grow_unary(int leaves)
{
    int arg[4] = { grow(leaves) };
    int what = below(20);
    if (what < 2 && !node[arg[0]].known) {
        int at = add_node(what == 0 ? DETACH : VALUE);
        node[at].arg[0] = arg[0];
        node[at].plain = what == 1;
        node[at].known = node[arg[0]].known;
        return at;
    }
    return apply(pick_row(1), arg);
}

// Balanced, to the left, to the right, or anywhere.
static int share_of(int leaves)
{
    switch (below(4)) {
    case 0: return leaves / 2;
    case 1: return 1;
    case 2: return leaves - 1;
    }
    return 1 + below(leaves - 1);
}

static int grow_choice(int leaves)
{
    int at;
    int arg[4];
    int first = share_of(leaves);
    arg[0] = grow(1);
    arg[1] = grow(1);
    arg[2] = grow(first);
    arg[3] = grow(leaves - first);
    at = add_node(CHOOSE);
    node[at].row = below(6);
    memcpy(node[at].arg, arg, sizeof arg);
    node[at].known = node[arg[2]].known || node[arg[3]].known;
    return at;
}

static int grow(int leaves)
{
    int at;
    int what = below(20);
    if (leaves == 1)
        return what < 5 ? grow_unary(1) : pick_leaf();
    if (what < 3) {
        at = grow_unary(leaves);
    } else if (what < 5) {
        at = grow_choice(leaves);
    } else if (what < 7 && leaves >= 3) {
        int first = 1 + below(leaves - 2);
        int second = 1 + below(leaves - first - 1);
        int arg[4] = { grow(first), grow(second), 0, 0 };
        arg[2] = grow(leaves - first - second);
        at = apply(pick_row(3), arg);
    } else {
        int first = share_of(leaves);
        int arg[4] = { grow(first), 0, 0, 0 };
        arg[1] = grow(leaves - first);
        at = apply(pick_row(2), arg);
    }
    if (below(10) == 0 && !node[at].plain)
        node[at].local = true;
    return at;
}

// An expression that has an operation and is no plain number.
static void grow_statement(int leaves)
{
    int at = grow(leaves);
    if (node[at].kind < OP || node[at].plain || node[at].statement
        || node[at].local) {
        int arg[4] = { at, grow(1), 0, 0 };
        at = apply(below(2), arg);
    }
    int last = -1;
    for (int i = 0; i < nodes; i++)
        if (node[i].statement)
            last = i;
    if (last >= 0 && below(4) == 0) {
        int arg[4] = { last, at, 0, 0 };
        at = apply(0, arg);
        node[at].sum = true;
    }
    node[at].local = false;
    node[at].statement = true;
}

static void make_case(int number)
{
    int statements = 1 + below(3);
    nodes = 0;
    for (int i = 0; i < statements; i++)
        grow_statement(i == statements - 1 ? 1 + number % 14 : 1 + below(6));
}

/* --- printing ------------------------------------------------------------- */

static void print_use(int at);

static void print_operation(int at)
{
    const struct node *e = &node[at];
    switch (e->kind) {
    case X: printf("x[%d]", e->k); break;
    case C: printf("c[%d]", e->k); break;
    case P: printf("p[%d]", e->k); break;
    case N: printf("n[%d]", e->k); break;
    case LITERAL: printf("%s", e->literal); break;
    case DETACH: case VALUE:
        printf("%s", e->kind == DETACH ? "ad_detach(" : "ad_value(");
        print_use(e->arg[0]);
        printf(")");
        break;
    case CHOOSE:
        printf("ad_select(ad_%s(", comparisons[e->row]);
        for (int i = 0; i < 4; i++) {
            printf("%s", i == 0 ? "" : i == 2 ? "), " : ", ");
            print_use(e->arg[i]);
        }
        printf(")");
        break;
    case OP:
        printf("ad_%s(", rows[e->row].name);
        if (!strcmp(rows[e->row].name, "select"))
            printf("%d > 0, ", e->k);
        if (is_ordered(rows[e->row].name))
            printf("%d, ", e->k);
        for (int i = 0; i < rows[e->row].arity; i++) {
            printf("%s", i == 0 ? "" : ", ");
            print_use(e->arg[i]);
        }
        if (!strcmp(rows[e->row].name, "powi")
            || !strcmp(rows[e->row].name, "ldexp"))
            printf(", %d", e->k);
        printf(")");
    }
}

static void print_use(int at)
{
    if (node[at].statement)
        printf("s%d", at);
    else if (node[at].local)
        printf("e%d", at);
    else
        print_operation(at);
}

static void print_function(int number, bool rev)
{
    const char *type = rev ? "ad_rev" : "ad_fwd";
    const char *run = rev ? "ad_rec" : "ad_dual";
    printf("static %s %s_%d(const %s *x, const %s *c, const ad_real *p,\n"
           "    const int *n)\n{\n    (void)x, (void)c, (void)p, (void)n;\n",
           type, rev ? "rev" : "fwd", number, type, type);
    for (int i = 0; i < nodes; i++) {
        const struct node *e = &node[i];
        if (e->sum) {
            printf("    %s s%d = s%d;\n    ad_acc(&s%d, ", type, i, e->arg[0],
                   i);
            print_use(e->arg[1]);
            printf(");\n");
        } else if (e->statement) {
            printf("    %s s%d = %s(", type, i, run);
            print_operation(i);
            printf(");\n");
        } else if (e->local) {
            printf("    ad_expr e%d = ", i);
            print_operation(i);
            printf(";\n");
        }
        if (e->statement || e->local)
            printf("    (void)%c%d;\n", e->statement ? 's' : 'e', i);
    }
    printf("    return s%d;\n}\n\n", nodes - 1);
}

static int arguments_of(const struct node *e)
{
    return e->kind == OP ? rows[e->row].arity : e->kind == CHOOSE ? 4
         : e->kind > CHOOSE ? 1 : 0;
}

// Recorded numbers below a node, each as often as it occurs; of a statement,
// only where it is the top.
static int all_leaves_of(int at, bool top)
{
    const struct node *e = &node[at];
    if (!top && e->statement)
        return 1;
    int count = e->kind <= C;
    for (int i = 0; i < arguments_of(e); i++)
        count += all_leaves_of(e->arg[i], 0);
    return count;
}

// The same without those from which no derivative comes.
static int leaves_of(int at, bool top)
{
    const struct node *e = &node[at];
    if (!top && e->statement)
        return 1;
    int count = 0;
    if (e->kind == OP && rows[e->row].kind == STEP)
        return 0;
    switch (e->kind) {
    case X: case C: return 1;
    case P: case N: case LITERAL: case VALUE: return 0;
    case DETACH: return !node[e->arg[0]].plain;     // a constant, but a number
    case CHOOSE: return leaves_of(e->arg[2], 0) + leaves_of(e->arg[3], 0);
    case OP: break;
    }
    for (int i = e->sum; i < rows[e->row].arity; i++)
        count += leaves_of(e->arg[i], 0);
    return count + e->sum;
}

static int steps_of(int at, bool top)
{
    const struct node *e = &node[at];
    if ((!top && e->statement) || e->kind < OP)
        return 0;
    int count = 1;
    for (int i = 0; i < arguments_of(e); i++)
        count += steps_of(e->arg[i], 0);
    return count;
}

static void print_nodes(int number)
{
    printf("static const expr_node node_%d[] = {\n", number);
    for (int i = 0; i < nodes; i++) {
        const struct node *e = &node[i];
        const int *a = e->arg;
        printf("    { EXPR_%s, %s%s, %d, { %d, %d, %d, %d }, (ad_real)%s, "
               "%d, %d, %d },\n", kinds[e->kind],
               e->kind == OP || e->kind == CHOOSE ? "ADREV_OP_" : "0",
               e->kind == OP ? rows[e->row].name
                   : e->kind == CHOOSE ? comparisons[e->row] : "",
               e->k, a[0], a[1], a[2], a[3],
               e->literal != NULL ? e->literal : "0",
               e->statement ? leaves_of(i, true) : 0,
               e->statement ? all_leaves_of(i, true) : 0,
               e->statement ? steps_of(i, true) : 0);
    }
    printf("};\n\n");
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return EXIT_FAILURE;
    const int cases = atoi(argv[1]);
    seed = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15u + 1;
    static int counts[10000];
    if (cases < 1 || cases > 10000)
        return EXIT_FAILURE;
    printf("// Printed by expressions_print.c.\n"
           "#include \"adrev.h\"\n#include \"expressions.h\"\n\n");
    for (int i = 0; i < cases; i++) {
        make_case(i);
        print_function(i, true);
        print_function(i, false);
        print_nodes(i);
        counts[i] = nodes;
    }
    printf("const int expr_case_count = %d;\n"
           "const expr_case expr_cases[] = {\n", cases);
    for (int i = 0; i < cases; i++)
        printf("    { %d, node_%d, rev_%d, fwd_%d },\n", counts[i], i, i, i);
    printf("};\n");
    return 0;
}
