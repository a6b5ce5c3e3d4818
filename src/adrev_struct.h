/* adrev_struct.h - structures of numbers for adrev.                   0.1.0
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_struct.h"
 *
 * One list of fields gives a struct of plain numbers, its twin of recorded
 * numbers, and functions that convert between them and flat arrays.
 *
 *     #define BODY(FIELD)                  \       plain           twin
 *         FIELD(real,    mass)             \       ad_real         ad_rev
 *         FIELD(reals,   spin, [3][3])     \
 *         FIELD(record,  pose, start)      \       pose            pose_rev
 *         FIELD(records, pose, way, [8])   \
 *         FIELD(other,   int, id)          \       the same type, copied
 *         FIELD(others,  char, name, [16]) \
 *         FIELD(pointer, body, next)               body *          body_rev *
 *     ADREV_STRUCT(body, BODY);
 *
 * declares the types body and body_rev, and the constant body_most: the most
 * numbers that one holds, not counting those behind pointers or visited by hand
 * (ADREV_STRUCT_VISITED). These functions return a status, except body_count:
 *
 *     body_inputs(&plain, &twin)                  every number as an input
 *     body_values(&twin, &plain)                  the plain numbers
 *     body_gradient(t, y, &twin, &plain)          dy/d(every number)
 *     body_pullback(t, m, y, dy, &twin, &plain)   as ad_pullback
 *     body_gather(&twin, n, rev)                  to an array, for ad_jacobian
 *     body_pack(&plain, n, real)                  numbers to an array
 *     body_unpack(n, real, &plain)                and back; other fields stay
 *     body_check(f, ctx, &plain, &twin, &report)  as ad_check, of a function
 *                                               ad_rev f(const body_rev *, ctx)
 *     body_make_rev(allocator, &plain, &twin)     makes nodes behind pointers
 *     body_make_plain(allocator, &twin, &plain)
 *     size_t n = body_count(&twin)                n of this very struct
 *
 *   other fields are copied from the struct that is read, also into a gradient
 *   returns      ADREV_OK; ADREV_ESHAPE (a null argument, an n that is not
 *                the count, lists of different lengths); as ad_pullback
 *   check        f is given the twin, again and again, with other numbers in
 *                it. So the twin must have its nodes, and f stores nothing in
 *                it. An index counts the numbers in the order of body_gather
 *   derivatives  0 for numbers that are constants (ad_detach makes one), but
 *                ADREV_EPASSIVE if all are
 *   pointers     are NULL, or lead to lists and trees of the caller's nodes:
 *                as many on the side that is written as on the other. make_...
 *                allocates the nodes one by one and zeroes all numbers; on
 *                ADREV_ENOMEM the output holds the nodes that were made. A
 *                pointer that is the last field is followed in a loop, others
 *                by recursion
 *   cost         one or two passes over the struct
 *   see          examples/08_camera.c, tests/struct/structs.c
 *
 * Includes adrev.h, which describes the switches.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   struct/api    the macros that declare structs
 *   struct/walk   conversions, as walks through the fields
 *
 * SPDX-License-Identifier: MIT-0           (the text stands at the end)
 */

// Outside the guard: a second time, with ADREV_IMPLEMENTATION, it brings the
// implementation.
#include "adrev.h"

#ifndef ADREV_STRUCT_H
#define ADREV_STRUCT_H

#include "struct/api.h"

#endif // ADREV_STRUCT_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_STRUCT_IMPLEMENTED
#define ADREV_STRUCT_IMPLEMENTED

#include "struct/walk.h"

#endif // ADREV_STRUCT_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION

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
