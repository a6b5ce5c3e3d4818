// SPDX-License-Identifier: MIT-0
/* exported.c - what it costs to record an operation by its code, as other
 * languages do it, beside the operator, one operation a statement:
 *
 *     exported [-r rounds]
 *
 *   by code      ad_op1, ad_op2 or ad_op3, by pointers as from a shared library
 *   operator     ad_rec(ad_mul(x, y)), inlined
 *   ratio        of the two: the median of rounds, behind it half the distance
 *                between the quartiles in percent
 *
 * `mixed` takes add, sub, mul and div in an order that no processor foresees;
 * `constant` multiplies by a plain number. Tapes are swept once, to compare. */

#define ADREV_IMPLEMENTATION
#include "../adrev.h"

#include "report.h"

enum { CHAIN = 20000 };

static ad_rev (*volatile op1)(unsigned, ad_rev) = ad_op1;
static ad_rev (*volatile op2)(unsigned, ad_rev, ad_rev) = ad_op2;
static ad_rev (*volatile op3)(unsigned, ad_rev, ad_rev, ad_rev) = ad_op3;
static unsigned char order[CHAIN];

typedef ad_rev chain_fn(ad_rev x, ad_rev y, bool by_code);

#define CHAIN_OF(name, coded, written)                                      \
    static ad_rev chain_##name(ad_rev x, ad_rev y, bool by_code)            \
    {                                                                       \
        ad_rev s = ad_rec(ad_neg(x));                                       \
        (void)y;                                                            \
        if (by_code)                                                        \
            for (int i = 0; i < CHAIN; i++)                                 \
                s = coded;                                                  \
        else                                                                \
            for (int i = 0; i < CHAIN; i++)                                 \
                s = ad_rec(written);                                        \
        return s;                                                           \
    }
CHAIN_OF(add, op2(ADREV_OP_add, s, y), ad_add(s, y))
CHAIN_OF(mul, op2(ADREV_OP_mul, y, s), ad_mul(y, s))
CHAIN_OF(fma, op3(ADREV_OP_fma, y, s, x), ad_fma(y, s, x))
CHAIN_OF(neg, op1(ADREV_OP_neg, s), ad_neg(s))
CHAIN_OF(sin, op1(ADREV_OP_sin, s), ad_sin(s))

static ad_rev chain_constant(ad_rev x, ad_rev y, bool by_code)
{
    const double c = ad_value(y);
    ad_rev s = x;

    if (by_code) {
        const ad_rev constant = { .v = c };
        for (int i = 0; i < CHAIN; i++) {
            s = op2(ADREV_OP_mul, s, constant);
        }
    } else {
        for (int i = 0; i < CHAIN; i++) {
            s = ad_rec(ad_mul(s, c));
        }
    }
    return s;
}

static ad_rev chain_mixed(ad_rev x, ad_rev y, bool by_code)
{
    static const unsigned code[] = { ADREV_OP_add, ADREV_OP_sub, ADREV_OP_mul,
                                     ADREV_OP_div };
    ad_rev s = x;

    for (int i = 0; i < CHAIN; i++) {
        if (by_code) {
            s = op2(code[order[i]], s, y);
            continue;
        }
        switch (order[i]) {
        case 0:  s = ad_rec(ad_add(s, y)); break;
        case 1:  s = ad_rec(ad_sub(s, y)); break;
        case 2:  s = ad_rec(ad_mul(s, y)); break;
        default: s = ad_rec(ad_div(s, y)); break;
        }
    }
    return s;
}

static double record(ad_tape *t, chain_fn *chain, bool by_code, double *g)
{
    static const double at[2] = { 0.7, 0.999 };
    ad_rev x[2];

    ad_tape_clear(t);
    ad_inputs(2, at, x);
    const double begin = wall();
    const ad_rev y = chain(x[0], x[1], by_code);
    const double end = wall();

    if (ad_gradient(t, y, 2, x, g) != ADREV_OK) {
        g[0] = HUGE_VAL;
    }
    return end - begin;
}

// One line of the table; whether both derivatives are the same.
static bool row(ad_tape *t, const char *name, chain_fn *chain, size_t rounds)
{
    double coded[REPORT_ROUNDS];
    double written[REPORT_ROUNDS];
    double g[2];
    double want[2];

    for (size_t i = 0; i < rounds; i++) {
        written[i] = record(t, chain, false, want);
        coded[i] = record(t, chain, true, g);
    }
    const bool right = memcmp(g, want, sizeof g) == 0;
    const summary ratio = summarise(rounds, coded, written);

    printf("%-10s", name);
    print_seconds(summarise(rounds, coded, NULL).median / CHAIN);
    print_seconds(summarise(rounds, written, NULL).median / CHAIN);
    printf(" %6.2f %3.0f%%%s\n", ratio.median, 100.0 * ratio.spread,
           right ? "" : "  WRONG");
    return right;
}

int main(int argc, char **argv)
{
    const size_t rounds = take_rounds(&argc, &argv, 51);
    uint32_t state = 1;
    bool right = true;
    ad_tape *t = ad_tape_new();

    for (int i = 0; i < CHAIN; i++) {
        state = state * 1664525u + 1013904223u;
        order[i] = (unsigned char)(state >> 30);
    }
    ad_use(t);
    print_machine(ADREV_VERSION);
    printf("\nrecording one operation\noperation    by code  operator  ratio\n");
    right &= row(t, "add", chain_add, rounds);
    right &= row(t, "mul", chain_mul, rounds);
    right &= row(t, "mixed", chain_mixed, rounds);
    right &= row(t, "constant", chain_constant, rounds);
    right &= row(t, "fma", chain_fma, rounds);
    right &= row(t, "neg", chain_neg, rounds);
    right &= row(t, "sin", chain_sin, rounds);
    ad_tape_free(t);
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
