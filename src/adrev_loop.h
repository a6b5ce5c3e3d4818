/* adrev_loop.h - loops whose tape does not grow with their length.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_loop.h"           // before adrev.h
 *
 * A loop of 100 000 steps is one statement; the tape keeps 20 of its states:
 *
 *     #include <stdio.h>
 *
 *     static void step(ad_step *s, void *ctx)
 *     {
 *         const ad_rev x = s->state[0][0], r = s->parameter[0];
 *         (void)ctx;
 *         s->next[0][0] = ad_rec(ad_mul(r, ad_sin(x)));
 *     }
 *
 *     int main(void)
 *     {
 *         ad_tape *t = ad_tape_new();
 *         ad_use(t);
 *         ad_rev x = ad_input(0.5), r = ad_input(2.0), y;
 *         const ad_scan_state state = { .size = 1, .initial = &x, .last = &y };
 *         const ad_scan_desc loop = {
 *             .step = step, .steps = 100000, .states = 1, .state = &state,
 *             .parameters = 1, .parameter = &r,
 *             .schedule = { ADREV_BINOMIAL, 20, NULL }
 *         };
 *         double g = 0;
 *         ad_scan(&loop, NULL);
 *         ad_status s = ad_gradient(t, y, 1, &r, &g);
 *         printf("%s: y = %.6f, dy/dr = %.6f\n", ad_message(s), ad_value(y),
 *                g);
 *         ad_tape_free(t);
 *     }
 *
 *     success: y = 1.895494, dy/dr = 0.578584
 *
 * ad_checkpoint does the same for one call. Operators on whole arrays (ad_map,
 * ad_reduce ...) are in adrev_bulk.h, which this header includes. For second
 * derivatives record a function that contains the loop (ad_fn_record of
 * adrev_function.h).
 *
 * If adrev_function.h is included before this header where both are
 * implemented, a step is recorded once, and replayed while it takes the same
 * path. The other order does not compile.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   loop/api           the interface
 *   loop/stage         tapes apart
 *   loop/checkpoint    a call that is run again in the sweep
 *   loop/schedule      which states of a loop are kept
 *   loop/scan          inputs, outputs and window of a scan's step
 *   loop/step          one step, called or recorded
 *   loop/replay        steps as recorded functions
 *   loop/lean          many steps that carry on one row, by one function
 *   loop/resume        sweeps that go on where another process has ended
 *   loop/sweep         runs of steps, forwards and back
 *   loop/recorded      a scan in a recorded function
 *   loop/first         the first run of a scan
 *   loop/unrolled      a scan recorded as it happens
 *   loop/connections   which results depend on which inputs
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#include "adrev_bulk.h"

#ifndef ADREV_LOOP_H
#define ADREV_LOOP_H

#include "loop/api.h"

#endif // ADREV_LOOP_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_LOOP_IMPLEMENTED
#define ADREV_LOOP_IMPLEMENTED

#include <limits.h>

#include "loop/stage.h"
#include "loop/checkpoint.h"
#include "loop/schedule.h"
#include "loop/scan.h"
#include "loop/step.h"
#include "loop/replay.h"
#include "loop/lean.h"
#include "loop/resume.h"
#include "loop/sweep.h"
#include "loop/recorded.h"
#include "loop/first.h"
#include "loop/unrolled.h"
#include "loop/connections.h"

#endif // ADREV_LOOP_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
