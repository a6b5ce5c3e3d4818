// SPDX-License-Identifier: MIT-0
/* expressions.h - what expressions_print.c prints, and expressions_run.c runs.
 *
 * A case is a small program: some statements, each an expression of inputs x,
 * recorded constants c, plain numbers p and integers n that are known at run
 * time, literals, and results of earlier statements. It is printed as C, once
 * for recorded and once for forward numbers, and as a list of nodes, operands
 * before operations; the last node is the result.
 *
 * Include it after adrev.h.                                                 */

#ifndef ADREV_TESTS_EXPRESSIONS_H
#define ADREV_TESTS_EXPRESSIONS_H

enum { EXPR_INPUTS = 5, EXPR_CONSTANTS = 2, EXPR_PLAIN = 3, EXPR_INTEGERS = 2 };

enum expr_kind {
    EXPR_X,                     // x[k]
    EXPR_C,                     // c[k]: an ad_rev that was never an input
    EXPR_P,                     // p[k]
    EXPR_N,                     // n[k]
    EXPR_LITERAL,
    EXPR_OP,                    // row `op` of the table, of arg; k: see below
    EXPR_CHOOSE,                // select(arg0 op arg1, arg2, arg3)
    EXPR_DETACH,                // detach(arg0)
    EXPR_VALUE                  // value(arg0), a plain number
};

typedef struct expr_node {
    enum expr_kind kind;
    int op;
    int k;                      // exponent of powi, ldexp; condition of select
    int arg[4];
    ad_real literal;
    int leaves;                 // of a statement: its recorded numbers, each as
                                // often as it occurs; otherwise 0
    int all_leaves;             // those besides from which no derivative comes
    int steps;                  // of a statement: its operations
} expr_node;

typedef struct expr_at {
    ad_real x[EXPR_INPUTS];
    ad_real c[EXPR_CONSTANTS];
    ad_real p[EXPR_PLAIN];
    int n[EXPR_INTEGERS];
} expr_at;

typedef struct expr_case {
    int nodes;
    const expr_node *node;
    ad_rev (*rev)(const ad_rev *x, const ad_rev *c, const ad_real *p,
                  const int *n);
    ad_fwd (*fwd)(const ad_fwd *x, const ad_fwd *c, const ad_real *p,
                  const int *n);
} expr_case;

extern const expr_case expr_cases[];
extern const int expr_case_count;

#endif
