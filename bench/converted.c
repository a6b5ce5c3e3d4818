// SPDX-License-Identifier: MIT-0
/* converted.c - programs of plain.c, converted by adrev-port.
 *
 * run.sh makes converted.h of plain.c, where clang is there. The column stands
 * beside that of adrev.c, which is the port by hand.
 */

#include "adrev_tool.h"
#include "converted.h"

static void gradient(const bench_case *c, const double *x, double *y, double *dy,
                     void (*program)(const bench_case *, const ad_rev *, ad_rev *,
                                     double *))
{
    const ad_rev *in = tool_begin(c, x, 0);
    ad_rev out;

    program(c, in, &out, NULL);
    tool_finish(c, in, out, y, dy);
}

#define PROGRAMS(ROW)                                                         \
    ROW(MUL, mul) ROW(DOT, dot) ROW(MATVEC, matvec) ROW(NN, nn)               \
    ROW(PARTICLES, particles) ROW(LOOP, loop) ROW(BURGERS, burgers)           \
    ROW(SIR, sir)

#define GRADIENT(workload, name)                                              \
    static void gradient_##name(const bench_case *c, const double *x,         \
                                double *y, double *dy)                        \
    {                                                                         \
        gradient(c, x, y, dy, run_##name##_ad);                               \
    }
PROGRAMS(GRADIENT)

#define RUN(workload, name) [BENCH_##workload] = gradient_##name,

static const bench_tool tool = {
    .name = "converted",
    .version = ADREV_VERSION,
    .run = { PROGRAMS(RUN) },
    .release = release_ad,
};

BENCH_REGISTER(tool)
