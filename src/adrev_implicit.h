/* adrev_implicit.h - derivatives of what a solver found.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_implicit.h"       // includes adrev_function.h
 *
 * A solution x of g(x, p) = 0, or a minimum, becomes one statement that depends
 * on the parameters p, whichever solver found it:
 *
 *     #include <math.h>
 *     #include <stdio.h>
 *
 *     static void kepler(const ad_rev *z, ad_rev *g, void *ctx)  // E - e sin E
 *     {                                                           // - M
 *         (void)ctx;
 *         g[0] = ad_rec(ad_sub(ad_sub(z[0], ad_mul(z[1], ad_sin(z[0]))),
 *                              z[2]));
 *     }
 *
 *     int main(void)
 *     {
 *         const double at[] = { 1, 0.5, 1 }, v[] = { 0.3, 1.2 };  // e, M
 *         double E = 1.2, d[2];
 *         ad_fn *g;
 *         if (ad_fn_record(&g, kepler, NULL, 3, at, 1) != ADREV_OK)
 *             return 1;
 *         for (int i = 0; i < 40; i++)        // a solver of any kind
 *             E = v[1] + v[0] * sin(E);
 *         ad_tape *t = ad_tape_new();
 *         ad_use(t);
 *         ad_rev p[2], x;
 *         ad_inputs(2, v, p);
 *         const ad_implicit_desc solved = { .g = g, .n = 1, .x = &E };
 *         ad_implicit(&solved, p, &x);
 *         ad_status s = ad_gradient(t, x, 2, p, d);
 *         printf("%s: E = %.6f, dE/de = %.6f, dE/dM = %.6f\n", ad_message(s),
 *                ad_value(x), d[0], d[1]);
 *         ad_tape_free(t);
 *         ad_fn_free(g);
 *     }
 *
 *     success: E = 1.499232, dE/de = 1.019305, dE/dM = 1.021921
 *
 * The steps of the solver are not recorded, so their number and their errors do
 * not matter. Systems are solved by LU factors, or by a solver of the user's,
 * which is given the Jacobian as a sparse matrix, or as products with it. A
 * recorded function may have such a statement in it: then it finds the solution
 * again at each point, and has second derivatives there.
 *
 * It is a header of its own because it needs recorded functions, which are long
 * to compile, and nothing in them needs it.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   implicit/api         the interface
 *   implicit/solve       the Jacobian at a point, and systems with it
 *   implicit/statement   the statement, its sweeps and its replay
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#include "adrev_function.h"

#ifndef ADREV_IMPLICIT_H
#define ADREV_IMPLICIT_H

#include "implicit/api.h"

#endif // ADREV_IMPLICIT_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_IMPLICIT_IMPLEMENTED
#define ADREV_IMPLICIT_IMPLEMENTED

#include "implicit/solve.h"
#include "implicit/statement.h"

#endif // ADREV_IMPLICIT_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
