// tags: part
// SPDX-License-Identifier: MIT-0
/* seen_run.c - twins that compare numbers: if these are equal and a derivative may be
 * lost, the tape fails; of copies, and of others, derivatives are right. port.sh
 * converts seen_equal.c for it. */

#define ADREV_IMPLEMENTATION
#include "adrev.h"
#include "seen_equal_ad.h"
#include "seen_equal.c"
#include <stdio.h>

typedef struct pair {
    const char *name;
    double (*of)(const double *x);
    ad_rev (*twin)(const ad_rev *x);
    bool fails;                 // where two are equal, and none is a copy
} pair;

#define OF(name) { #name, name, name##_ad, true }
#define NOT(name) { #name, name, name##_ad, false }

static const pair all[] = {
    OF(seen_equal), OF(seen_unequal), OF(seen_memo), OF(seen_loop), OF(seen_orders),
    OF(seen_sign), OF(seen_chain), OF(seen_call), OF(seen_step), OF(seen_quotient),
    OF(seen_picked), OF(seen_direct), OF(seen_elements), OF(seen_function),
    OF(seen_logarithm), OF(seen_shifted), OF(seen_given), OF(seen_member),
    OF(seen_vector), OF(seen_size), OF(seen_square), OF(seen_product),
    OF(seen_operation), OF(seen_first_or), NOT(seen_little), NOT(seen_effect),
    NOT(seen_one), NOT(seen_root), NOT(seen_search), NOT(seen_recursion),
    NOT(seen_jump), NOT(seen_pointer)
};

static int wrong;

static void say(const pair *p, const char *what)
{
    printf("%s: %s\n", p->name, what);
    wrong++;
}

// By x[i], or, of copies, by both.
static double slope(const pair *p, const double x[2], int i, bool copies)
{
    const double h[2] = { copies || i == 0 ? 1e-6 : 0, copies || i == 1 ? 1e-6 : 0 };
    const double up[2] = { x[0] + h[0], x[1] + h[1] };
    const double down[2] = { x[0] - h[0], x[1] - h[1] };
    return (p->of(up) - p->of(down)) / 2e-6;
}

static void look(const pair *p, double a, double b, bool copies)
{
    const double x[2] = { a, b };
    ad_tape *tape = ad_tape_new();
    ad_rev rx[2];
    double g[2] = { 0, 0 };
    ad_use(tape);
    ad_inputs(2, x, rx);
    if (copies)
        rx[1] = rx[0];
    const ad_rev y = p->twin(rx);
    const ad_status status = ad_gradient(tape, y, copies ? 1 : 2, rx, g);
    if (ad_value(y) - p->of(x) != 0)
        say(p, "another value");
    if (a == b && !copies && p->fails) {
        if (status != ADREV_EHOOK)
            say(p, "two numbers are equal, and the tape does not fail");
    } else if (status != ADREV_OK) {
        say(p, "the tape fails without need");
    } else {
        for (int i = 0; i < 2 - copies; i++)
            if (fabs(g[i] - slope(p, x, i, copies)) > 1e-7)
                say(p, "a wrong derivative");
    }
    ad_tape_free(tape);
}

int main(void)
{
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        look(&all[i], 0.5, 1.25, false);
        look(&all[i], 1.5, 0.75, false);
        look(&all[i], 0.75, 0.75, false);
        look(&all[i], 0.75, 0.75, true);
        look(&all[i], 0.5, 0.75, false);
    }
    return wrong != 0;
}
