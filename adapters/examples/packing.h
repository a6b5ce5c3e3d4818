// SPDX-License-Identifier: MIT-0
/* packing.h - circles of one size in a square of side 1: what nlopt_packing.c
 * solves, and bench/adapters.c times. Include it after adrev.h.              */

enum { CIRCLES = 10, PACKING = 1 + 2 * CIRCLES };       // variables
enum { LIMITS = CIRCLES * (CIRCLES - 1) / 2 + 4 * CIRCLES };

// x: the radius, then the centres.
static ad_rev radius(const ad_rev *x, void *ctx)
{
    (void)ctx;
    return x[0];
}

// How much circles overlap, in squared distances, and how far they stand out.
static void overlaps(const ad_rev *x, ad_rev *c, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < CIRCLES; i++) {
        const ad_rev *a = x + 1 + 2 * i;
        for (int j = 0; j < i; j++) {
            const ad_rev *b = x + 1 + 2 * j;
            *c++ = ad_rec(ad_sub(ad_mul(4, ad_sqr(x[0])),
                                 ad_add(ad_sqr(ad_sub(a[0], b[0])),
                                        ad_sqr(ad_sub(a[1], b[1])))));
        }
        for (int k = 0; k < 2; k++) {
            *c++ = ad_rec(ad_sub(x[0], a[k]));
            *c++ = ad_rec(ad_sub(ad_add(x[0], a[k]), 1));
        }
    }
}
