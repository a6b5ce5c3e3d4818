// tags: part
// SPDX-License-Identifier: MIT-0
/* same_tape.c - what adrev-port writes records what a port by hand does: the
 * same statements, operands and bytes, so that it costs the same. port.sh
 * converts polynomial.c for it. */

#define ADREV_IMPLEMENTATION
#include "adrev.h"
#include "polynomial_ad.h"
#include <stdio.h>
#include <string.h>

static ad_rev by_hand(const ad_rev *x, int n)
{
    ad_rev s = ad_rec(0), p = ad_rec(1);
    for (int i = 0; i < n; i++) {
        s = ad_rec(ad_add(ad_mul(s, x[0]), i + 1));
        p = ad_rec(ad_mul(p, x[1]));
    }
    return ad_rec(ad_add(s, p));
}

typedef ad_rev function(const ad_rev *x, int n);

// The tape of it, and its gradient.
static ad_stats recorded(function *f, ad_real g[2])
{
    static const ad_real at[2] = { 0.5, 2 };
    ad_tape *tape = ad_tape_new();
    ad_rev x[2];
    ad_use(tape);
    ad_inputs(2, at, x);
    if (ad_gradient(tape, f(x, 50), 2, x, g) != ADREV_OK)
        g[0] = 0;
    const ad_stats size = ad_tape_stats(tape);
    ad_tape_free(tape);
    return size;
}

int main(void)
{
    ad_real g[2] = { 0, 0 }, h[2] = { 0, 0 };
    const ad_stats a = recorded(polynomial_ad, g), b = recorded(by_hand, h);
    const bool same = a.statements == b.statements && a.operands == b.operands
        && a.bytes == b.bytes && memcmp(g, h, sizeof g) == 0;
    if (!same)
        printf("converted: %zu statements, %zu operands, %zu bytes; by hand: "
               "%zu, %zu, %zu\n", a.statements, a.operands, a.bytes,
               b.statements, b.operands, b.bytes);
    return !same || a.statements < 100 || g[0] == 0;
}
