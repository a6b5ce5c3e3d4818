/* adrev_struct.h - structures of numbers for adrev.                   0.1.0
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_struct.h"
 *
 * From one list of fields: a struct of plain numbers, its twin of recorded
 * numbers, and the ways between them and flat arrays.
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
 * declares the types body and body_rev, and body_most: how many numbers are in
 * one, a constant. Each function returns a status:
 *
 *     body_inputs(&plain, &twin)                  every number an input
 *     body_values(&twin, &plain)                  the plain numbers
 *     body_gradient(t, y, &twin, &plain)          dy/d(every number)
 *     body_pullback(t, m, y, dy, &twin, &plain)   as ad_pullback
 *     body_gather(&twin, n, rev)                  to an array, for ad_jacobian
 *     body_pack(&plain, n, real)                  numbers to an array
 *     body_unpack(n, real, &plain)                and back; the rest stays
 *     body_check(f, ctx, &plain, &twin, &report)  as ad_check, of a function
 *                                                 ad_rev f(const body_rev *, ctx)
 *     body_make_rev(allocator, &plain, &twin)     nodes for pointers to lead to
 *     body_make_plain(allocator, &twin, &plain)
 *     size_t n = body_count(&twin)                n in this very struct
 *
 *   other fields are those of the struct that is read, in a cotangent, too
 *   returns      ADREV_OK; ADREV_ESHAPE (a null argument, an n that is not
 *                the count, lists of different lengths); as ad_pullback
 *   check        needs the twin as room for the copies that f is given: with
 *                nodes for pointers to lead to. An index counts the numbers as
 *                body_gather does. f records nothing of its own in it
 *   derivatives  0 for numbers that are constants (ad_detach freezes one),
 *                unless all are: ADREV_EPASSIVE
 *   pointers     NULL, or to lists and trees of the caller's nodes: as many on
 *                the side that is written as on the other. make_... allocates
 *                them one by one and zeroes all numbers; on ADREV_ENOMEM the
 *                output holds the nodes that were made. A last field is
 *                followed in a loop, others by recursion.
 *   cost         a pass over the struct, two if there are pointers
 *   see          examples/08_camera.c, tests/struct/structs.c
 *
 * Needs adrev.h, which it includes; the switches are described there.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   struct/api struct/walk
 *
 * SPDX-License-Identifier: MIT-0           (the text stands at the end)
 */

// Outside the guard: with ADREV_IMPLEMENTATION a second time brings that.
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
