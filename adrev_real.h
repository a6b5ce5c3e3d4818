/* Made from src/ by `make headers`: changes belong there. */
/* adrev_real.h - one source for three kinds of numbers.               0.1.0
 *
 * A file that is written once, in these words:
 *
 *     real               a number
 *     real_rec(e)        the number that the expression e gives
 *     real_acc(&s, e)    s += e
 *     real_name(f)       the name of a function f of this file
 *
 *     real real_name(square_sum)(int n, const real x[])     // in model.h
 *     {
 *         real s = real_rec(0);
 *         for (int i = 0; i < n; i++)
 *             real_acc(&s, ad_mul(x[i], x[i]));
 *         return s;
 *     }
 *
 * gives all three by
 *
 *     #define ADREV_SOURCE "model.h"
 *     #include "adrev_real.h"
 *
 *     square_sum       of plain numbers      ad_real
 *     square_sum_rev   of recorded ones      ad_rev
 *     square_sum_fwd   of forward ones       ad_fwd
 *
 * The first of them compiles to what C's own operators would give. Comparisons
 * are ad_lt and the like, a number for a printf or an index is ad_value(x), and
 * a type or a function that belongs to all three stands in front of the
 * include. It may be included again, for another file. The macros are gone
 * afterwards.
 *
 *   see          examples/22_pendulum.c, docs/porting.md
 *
 * SPDX-License-Identifier: MIT-0           (the text stands at the end)
 */

#include "adrev.h"

#ifndef ADREV_SOURCE
#error "adrev_real.h: #define ADREV_SOURCE, the name of a file, in front of it"
#endif

#define real            ad_real
#define real_rec(e)     ad_value(e)
#define real_acc(s, e)  ((void)(*(s) += ad_value(e)))
#define real_name(name) name
#include ADREV_SOURCE
#undef real
#undef real_rec
#undef real_acc
#undef real_name

#define real            ad_rev
#define real_rec(e)     ad_rec(e)
#define real_acc(s, e)  ad_acc(s, e)
#define real_name(name) name##_rev
#include ADREV_SOURCE
#undef real
#undef real_rec
#undef real_acc
#undef real_name

#define real            ad_fwd
#define real_rec(e)     ad_dual(e)
#define real_acc(s, e)  ad_acc(s, e)
#define real_name(name) name##_fwd
#include ADREV_SOURCE
#undef real
#undef real_rec
#undef real_acc
#undef real_name

#undef ADREV_SOURCE

/* ===========================================================================
 * MIT No Attribution (MIT-0)
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to
 * deal in the Software without restriction, including without limitation the
 * rights to use, copy, modify, merge, publish, distribute, sublicense, and/or
 * sell copies of the Software, and to permit persons to whom the Software is
 * furnished to do so.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING
 * FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS
 * IN THE SOFTWARE.
 * ======================================================================== */
