/* adrev_code.h - recorded functions as C code, as machine code, as files.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_function.h"       // includes this header
 *
 * Writes a recorded function and its derivatives as C99 that needs nothing but
 * <math.h>:
 *
 *     #include <stdio.h>
 *
 *     static void f(const ad_rev *x, ad_rev *y, void *ctx)
 *     {
 *         (void)ctx;
 *         y[0] = ad_rec(ad_mul(x[0], ad_sin(x[1])));
 *     }
 *
 *     static void put(const char *text, size_t length, void *file)
 *     {
 *         fwrite(text, 1, length, file);
 *     }
 *
 *     int main(void)
 *     {
 *         ad_fn *fn;
 *         const double at[] = { 1, 2 };
 *         const ad_c_options gradient = { .functions = ADREV_C_GRADIENT };
 *         if (ad_fn_record(&fn, f, NULL, 2, at, 1) != ADREV_OK
 *             || ad_fn_write_c(fn, &gradient, put, stdout, NULL) != ADREV_OK)
 *             return 1;
 *         ad_fn_free(fn);
 *     }
 *
 *     ...
 *         const double v2 = sin(x[1]);
 *         const double v3 = x[0] * v2;
 *         const double v5 = cos(x[1]);
 *         const double v6 = x[0] * v5;
 *         y[0] = v3;
 *         g[0] = v2;
 *         g[1] = v6;
 *         return 0;
 *
 * ad_fn_compile has the system's compiler turn that text into machine code and
 * evaluates the function by it; ad_fn_save and ad_fn_load keep a function in a
 * file.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   code/api          the interface
 *   code/text         names, literals and formulas as text
 *   code/layout       where a number is in C code
 *   code/statements   a C statement for each node
 *   code/matrix       one loop for a product and its adjoint
 *   code/repeats      what repeats in a program
 *   code/order        another order of nodes, in which more repeats
 *   code/access       what the statements of loops read
 *   code/loops        loops for what repeats
 *   code/lists        lists of integers as initialisers
 *   code/bodies       what stands in a C function
 *   code/functions    a C function; kernels of OpenCL and CUDA
 *   code/blocks       loops over points and steps, for machine code
 *   code/wanted       which functions, and their programs
 *   code/casadi       CasADi's entry points
 *   code/write        the C file, and its header
 *   code/save         files of recorded functions
 *   code/cache        files of compiled code, and their cache
 *   code/compile      machine code
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#ifndef ADREV_FUNCTION_H
#error include adrev_function.h, which includes this header
#endif

#ifndef ADREV_CODE_H
#define ADREV_CODE_H

#include "code/api.h"

#endif // ADREV_CODE_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_CODE_IMPLEMENTED
#define ADREV_CODE_IMPLEMENTED

#include <float.h>
#include <stdarg.h>
#include <stdio.h>

#include "code/text.h"
#include "code/layout.h"
#include "code/statements.h"
#include "code/matrix.h"
#include "code/repeats.h"
#include "code/order.h"
#include "code/access.h"
#include "code/loops.h"
#include "code/lists.h"
#include "code/bodies.h"
#include "code/functions.h"
#include "code/blocks.h"
#include "code/wanted.h"
#include "code/casadi.h"
#include "code/write.h"
#include "code/save.h"
#include "code/cache.h"
#include "code/compile.h"

#endif // ADREV_CODE_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
