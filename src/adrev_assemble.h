/* adrev_assemble.h - functions that are sums of many small elements.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_assemble.h"       // before adrev.h
 *
 * Meshes, collocation, stencils, networks, sums over data: the function is the
 * same small one again and again, each time of other variables. It is recorded
 * once, and an index map says which variables each element reads, and to which
 * results it adds:
 *
 *     #include <stdio.h>
 *
 *     static void f(const ad_rev *x, ad_rev *y, void *ctx)
 *     {
 *         (void)ctx;                    // a spring: x, neighbour, stiffness
 *         y[0] = ad_rec(ad_mul(x[2], ad_sqr(ad_sub(x[1], x[0]))));
 *     }
 *
 *     int main(void)
 *     {
 *         const double at[] = { 0, 1, 1 }, x[] = { 0, 1, 3 }, k[] = { 1, 10 };
 *         const size_t ends[] = { 0, 1 };
 *         const int32_t variable[] = { 0, 1, 1, 2 }, parameter[] = { 0, 1 };
 *         const int32_t result[] = { 0, 0 };
 *         ad_fn *all, *spring;
 *         ad_assembly *chain;
 *         double y, g[3];
 *         if (ad_fn_record(&all, f, NULL, 3, at, 1) != ADREV_OK
 *             || ad_fn_select(&spring, all, 2, ends, 0, NULL) != ADREV_OK)
 *             return 1;
 *         const ad_elements of = { spring, 2, variable, parameter, result };
 *         if (ad_fn_assemble(&chain, NULL, 3, 2, 1, 1, &of) != ADREV_OK
 *             || ad_assembly_gradient(chain, x, k, &y, g) != ADREV_OK)
 *             return 1;
 *         printf("%g, gradient %g %g %g\n", y, g[0], g[1], g[2]);
 *         ad_assembly_free(chain);
 *         ad_fn_free(spring);
 *         ad_fn_free(all);
 *     }
 *
 *     41, gradient -2 -38 40
 *
 * Derivatives are those of the element, for all elements side by side, and
 * summed: so patterns need no colouring, the time to make or to compile them
 * does not depend on the number of elements, and threads share them.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   assemble/api        the interface
 *   assemble/sums       results as sums of contributions
 *   assemble/elements   kinds of elements, and their indices
 *   assemble/evaluate   values, products, gradients
 *   assemble/matrices   sparse Jacobians and Hessians
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#include "adrev_function.h"

#ifndef ADREV_ASSEMBLE_H
#define ADREV_ASSEMBLE_H

#include "assemble/api.h"

#endif // ADREV_ASSEMBLE_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_ASSEMBLE_IMPLEMENTED
#define ADREV_ASSEMBLE_IMPLEMENTED

#include "assemble/sums.h"
#include "assemble/elements.h"
#include "assemble/evaluate.h"
#include "assemble/matrices.h"

#endif // ADREV_ASSEMBLE_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
