/* adrev_bulk.h - operators on whole arrays: map, reduce, prefix, histogram.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_bulk.h"           // before adrev.h
 *
 * Applying a function to every element is one statement; the tape keeps only
 * its arguments:
 *
 *     #include <stdio.h>
 *
 *     static void f(const ad_rev *x, ad_rev *y, void *ctx)
 *     {
 *         (void)ctx;
 *         y[0] = ad_rec(ad_add(ad_mul(x[1], ad_sqr(x[0])), x[2]));
 *     }
 *
 *     int main(void)
 *     {
 *         const double at[] = { 1, 2, -1, 3, 7 };
 *         ad_tape *t = ad_tape_new();
 *         ad_rev x[5], y;
 *         double g[5] = {0};
 *         ad_use(t);
 *         ad_inputs(5, at, x);
 *         const ad_rows of[] = { { x, 1, 1 }, { x + 3, 2, 0 } };
 *         ad_map_reduce(f, NULL, NULL, 3, 2, of, 1, NULL, &y);
 *         ad_status s = ad_gradient(t, y, 5, x, g);
 *         printf("%s: %g, gradient %g %g %g, %g %g\n", ad_message(s),
 *                ad_value(y), g[0], g[1], g[2], g[3], g[4]);
 *         ad_tape_free(t);
 *     }
 *
 *     success: 39, gradient 6 12 -6, 6 3      3 x^2 + 7 for x = 1, 2, -1
 *
 * Linear algebra is in adrev.h; loops are in adrev_loop.h, which includes this
 * header.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   bulk/api          the interface
 *   bulk/folds        reductions, prefixes, bins by an operation
 *   bulk/movements    gathers, scatters, transposes: copies
 *   bulk/captured     tapes apart, and the numbers captured there
 *   bulk/passes       operators given by a function, in chunks
 *   bulk/maps         maps, with a recorded function in lanes
 *   bulk/reductions   reductions and prefixes by a function
 *   bulk/statement    the statement of an operator on the tape
 *   bulk/calls        the same, recorded as it happens
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#include "adrev.h"

#if ADREV_FIXED
#error "adrev_bulk.h needs tapes that grow: not with ADREV_FIXED"
#endif

#ifndef ADREV_BULK_H
#define ADREV_BULK_H

#include "bulk/api.h"

#endif // ADREV_BULK_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_BULK_IMPLEMENTED
#define ADREV_BULK_IMPLEMENTED

#include "bulk/folds.h"
#include "bulk/movements.h"
#include "bulk/captured.h"
#include "bulk/passes.h"
#include "bulk/maps.h"
#include "bulk/reductions.h"
#include "bulk/statement.h"
#include "bulk/calls.h"

#endif // ADREV_BULK_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
