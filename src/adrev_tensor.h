/* adrev_tensor.h - formulas over indexed arrays.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_tensor.h"
 *
 * A text declares arrays and gives formulas. It is bound to sizes, and then
 * evaluated with its derivatives:
 *
 *     #include <stdio.h>
 *
 *     static const char text[] = "in A[m,n], x[n], b[m];"
 *                                "r[i] = sum(j) A[i,j]*x[j] - b[i];"
 *                                "out f = 0.5*sum(i) r[i]^2;";
 *
 *     int main(void)
 *     {
 *         const ad_real A[] = { 1, 2, 3, 4, 5, 6 }, x[] = { 1, -1 };
 *         const ad_real b[] = { 0, 0, 1 }, *in[] = { A, x, b };
 *         ad_real f, gx[2], *g[] = { NULL, gx, NULL };     // only that of x
 *         ad_tensor_error e;
 *         ad_tensor *t;
 *         if (ad_tensor_new(&t, text, NULL, &e) != ADREV_OK)
 *             return puts(e.text), 1;
 *         ad_tensor_size(t, "m", 3);
 *         ad_tensor_size(t, "n", 2);
 *         if (ad_tensor_bind(t, &e) != ADREV_OK
 *             || ad_tensor_gradient(t, in, &f, g) != ADREV_OK)
 *             return 1;
 *         printf("f = %g, gradient (%g, %g)\n", f, gx[0], gx[1]);
 *         ad_tensor_free(t);
 *     }
 *
 *     f = 3, gradient (-14, -18)
 *
 * Loops visit only the points where a condition is true. So zeros that are
 * there for want of a condition cost nothing, in derivatives, too.
 *
 * An error has a place:
 *
 *     2:26: 'j' runs over another range here than before
 *         out y[i] = sum(j) A[j,i]*x[j];
 *                                  ^
 *
 * The language, and what a text costs: docs/tensor-language.md.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   tensor/api           the interface
 *   tensor/tree          a text as it is understood
 *   tensor/messages      what is wrong with a text, in words
 *   tensor/scan          the words of a text
 *   tensor/decimal       the value of a number in a text
 *   tensor/names         what a name stands for; ranges of indices
 *   tensor/forms         reads affine forms
 *   tensor/conditions    reads conditions, and what sums bind
 *   tensor/expressions   reads the right sides of formulas
 *   tensor/arena         memory of a text that is bound
 *   tensor/sets          sets of integer points
 *   tensor/nests         loops over the points of a set
 *   tensor/binding       sizes, relations, maps and layouts
 *   tensor/open          ranges of indices where sizes are open
 *   tensor/syntax        from a text to its tree
 *   tensor/print         a tree as text of the language
 *   tensor/programs      a text that is bound: values, which are sums of terms
 *   tensor/entries       points as a list, over which loops run
 *   tensor/sharing       equal values and equal terms
 *   tensor/lower         ranges and conditions go into the sets of terms
 *   tensor/splits        sets where a condition is true
 *   tensor/paths         in which order factors are multiplied
 *   tensor/values        unnamed values, for what stands inside an expression
 *   tensor/formulas      from expressions to terms
 *   tensor/derive        derivation: tangents and adjoints of programs
 *   tensor/parts         values are cut into parts, for threads
 *   tensor/matrices      products of matrices by a packed kernel
 *   tensor/gathers       strips along which maps give the other variables
 *   tensor/storage       values with memory for their entries only
 *   tensor/prepare       chooses the loops of terms
 *   tensor/run           evaluates programs by loops
 *   tensor/queries       binding, values, derivatives and counts
 *   tensor/spelling      steps as formulas of the language
 *   tensor/explain       what became of a text, in words
 *   tensor/call          a text as one statement of a recording
 *
 * and, if adrev_function.h has been included before:
 *
 *   tensor/pointwise     values whose numbers are single expressions
 *   tensor/fusion        which values are computed where they are read
 *   tensor/bundles       steps that share their outermost loop; parts of steps
 *   tensor/emission      tables, forms and places as C text
 *   tensor/points        numbers, and values that are computed one by one
 *   tensor/loops         the loops of a term
 *   tensor/steps         a step, or the steps of a bundle
 *   tensor/file          the steps of a file of C code
 *   tensor/written       its functions, and ad_tensor_write_c
 *   tensor/compiled      machine code
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#include "adrev.h"

#if ADREV_FIXED
#error "adrev_tensor.h needs tapes that grow: not with ADREV_FIXED"
#endif

#ifndef ADREV_TENSOR_H
#define ADREV_TENSOR_H

#include "tensor/api.h"

#endif // ADREV_TENSOR_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_TENSOR_IMPLEMENTED
#define ADREV_TENSOR_IMPLEMENTED

#include "tensor/tree.h"
#include "tensor/messages.h"
#include "tensor/scan.h"
#include "tensor/decimal.h"
#include "tensor/names.h"
#include "tensor/forms.h"
#include "tensor/conditions.h"
#include "tensor/expressions.h"
#include "tensor/arena.h"
#include "tensor/sets.h"
#include "tensor/nests.h"
#include "tensor/binding.h"
#include "tensor/open.h"
#include "tensor/syntax.h"
#include "tensor/print.h"
#include "tensor/programs.h"
#include "tensor/entries.h"
#include "tensor/sharing.h"
#include "tensor/lower.h"
#include "tensor/splits.h"
#include "tensor/paths.h"
#include "tensor/values.h"
#include "tensor/formulas.h"
#include "tensor/derive.h"
#include "tensor/parts.h"
#include "tensor/matrices.h"
#include "tensor/gathers.h"
#include "tensor/storage.h"
#include "tensor/prepare.h"
#include "tensor/run.h"
#include "tensor/queries.h"
#include "tensor/spelling.h"
#include "tensor/explain.h"
#include "tensor/call.h"
#ifdef ADREV_CODE_H
#include "tensor/pointwise.h"
#include "tensor/fusion.h"
#include "tensor/bundles.h"
#include "tensor/emission.h"
#include "tensor/points.h"
#include "tensor/loops.h"
#include "tensor/steps.h"
#include "tensor/file.h"
#include "tensor/written.h"
#include "tensor/compiled.h"
#endif

#endif // ADREV_TENSOR_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
