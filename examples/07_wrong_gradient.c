/* 07  A gradient that is wrong, and one that is not a number.
 *
 * Shows    ad_check, ad_explain, ad_find_nonfinite
 * Needs    02
 * Prints   stiffness agrees: gradient 4.5, differences 4.5
 *          length    disagrees: gradient -12, differences -9
 *          -12 is the sum of 1 terms: 6 * -2
 *          repaired: every check agrees
 *          length 0: a partial is inf, of 3 operands
 *
 * An energy as a function of a stiffness x[0] and a length x[1]. The first
 * version forgets the derivative of one of its terms.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include <stdio.h>

static ad_rev energy(const ad_rev *x, void *ctx)
{
    const bool *wrong = ctx;
    ad_rev stretch = ad_rec(ad_sub(5, ad_mul(2, x[1])));
    ad_rev other = *wrong ? ad_detach(x[1]) : x[1];
    ad_rev square = ad_rec(ad_mul(stretch, stretch));
    return ad_rec(ad_add(ad_mul(ad_mul(0.5, x[0]), square),
                         ad_mul(6, ad_sqrt(other))));
}

static void check(bool wrong)
{
    static const char *const name[] = { "stiffness", "length" };
    static const char *const verdict[] = {
        "agrees", "disagrees", "kink", "noisy"
    };
    const double x[2] = { 2, 1 };
    ad_check_entry entry[2];
    ad_check_report report = { .entry = entry, .room = 2 };

    if (ad_check(energy, &wrong, 2, x, &report) != ADREV_OK)
        return;
    for (size_t i = 0; i < report.listed && wrong; i++)
        printf("%-9s %s: gradient %g, differences %g\n", name[i],
               verdict[entry[i].verdict], entry[i].gradient, entry[i].difference);
    if (ad_check_passed(&report))
        puts("repaired: every check agrees");
}

// What the derivative by the length is made of, and what it is at length 0.
static void look(bool wrong)
{
    ad_tape *t = ad_tape_new();
    ad_rev x[2];
    ad_term term[1];
    ad_explanation sum;
    ad_nonfinite found;

    ad_use(t);
    ad_inputs(2, (const double[]){ 2, wrong }, x);
    ad_rev y = energy(x, &wrong);
    if (wrong && ad_explain(t, y, x[1], 1, term, &sum) == ADREV_OK)
        printf("%.6g is the sum of %zu terms: %.6g * %.6g\n", sum.derivative,
               sum.terms, term[0].adjoint, term[0].partial);
    if (!wrong && ad_find_nonfinite(t, y, &found) == ADREV_OK)
        printf("length 0: a partial is %g, of %zu operands\n",
               found.partial.partial[found.partial.operands - 1],
               found.partial.operands);
    ad_tape_free(t);
}

int main(void)
{
    check(true);
    look(true);
    check(false);
    look(false);
    return 0;
}
