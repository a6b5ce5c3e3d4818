/* adrev_tensor.h - formulas over indexed arrays.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_tensor.h"
 *
 * A text declares arrays and gives formulas:
 *
 *     in A[m,n], x[n], b[m];
 *     r[i] = sum(j) A[i,j]*x[j] - b[i];
 *     out f = 0.5*sum(i) r[i]^2;
 *
 * ad_tensor_new reads it, and says what is wrong and where:
 *
 *     2:26: 'j' runs over another range here than before
 *         out y[i] = sum(j) A[j,i]*x[j];
 *                                  ^
 *
 * The language is described in docs/tensor-language.md.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   tensor/api tensor/tree tensor/messages tensor/scan tensor/decimal
 *   tensor/names tensor/forms tensor/conditions tensor/expressions
 *   tensor/arena tensor/sets tensor/nests tensor/binding tensor/syntax
 *   tensor/print tensor/programs tensor/lower tensor/formulas tensor/derive
 *   tensor/run tensor/queries
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#include "adrev.h"

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
#include "tensor/syntax.h"
#include "tensor/print.h"
#include "tensor/programs.h"
#include "tensor/lower.h"
#include "tensor/splits.h"
#include "tensor/formulas.h"
#include "tensor/derive.h"
#include "tensor/run.h"
#include "tensor/queries.h"

#endif // ADREV_TENSOR_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
