// SPDX-License-Identifier: MIT-0
/* adolc.cpp - the programs with ADOL-C, if it is installed.
 *
 * Each gradient is taped anew, as by the other tools, and swept from the values
 * that taping left behind. The buffers are made large enough to keep the tape
 * in memory: ADOL-C would otherwise write it to files.
 */

#include "programs.hpp"

#include <adolc/adolc.h>

namespace {

// Buffer sizes belong to a tag: a new one for each case.
short tag = 1;

struct state {
    std::vector<adouble> x;
    std::vector<adouble> room;
    std::vector<double *> rows;
};

state *kept;

void release()
{
    // A recording saves all locations that ever were: start with none.
    delete kept;
    if (kept) {
        removeTape(tag++, ADOLC_REMOVE_COMPLETELY);
        setStoreManagerType(ADOLC_LOCATION_SINGLETONS);
        setStoreManagerType(ADOLC_LOCATION_BLOCKS);
    }
    kept = nullptr;
}

// A new recording with its inputs.
void begin(const bench_case *c, const double *x)
{
    // Generous: no case fills a buffer, and dot-1e7 takes 2 GB in all.
    const auto size = static_cast<unsigned>(3.0 * c->operations + 1000.0
                                            + 3.0 * double(c->inputs));

    if (!kept) {
        kept = new state{ std::vector<adouble>(c->inputs),
                          std::vector<adouble>(bench::room(c)),
                          std::vector<double *>(c->outputs) };
    }
    trace_on(tag, 1, size, 2 * size, size, size);
    for (std::size_t i = 0; i < c->inputs; i++) {
        kept->x[i] <<= x[i];
    }
}

// One output: a scalar sweep. Three: one sweep with vectors of three.
void sweep(const bench_case *c, double *dy)
{
    static double one[] = { 1.0 };
    static double seed[3][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
    static double *seeds[] = { seed[0], seed[1], seed[2] };
    const int m = int(c->outputs);
    const int n = int(c->inputs);

    if (m == 1) {
        fos_reverse(tag, m, n, one, dy);
        return;
    }
    for (int i = 0; i < m; i++) {
        kept->rows[std::size_t(i)] = dy + i * n;
    }
    fov_reverse(tag, m, n, m, seeds, kept->rows.data());
}

// The outputs must be gone before the recording ends.
template <bench_workload W>
void gradient(const bench_case *c, const double *x, double *y, double *dy)
{
    begin(c, x);
    {
        adouble out[BENCH_MAX_OUTPUTS];

        bench::run<W>(c, kept->x.data(), out, kept->room.data());
        for (std::size_t i = 0; i < c->outputs; i++) {
            out[i] >>= y[i];
        }
    }
    trace_off();
    sweep(c, dy);
}

const bench_tool tool = {
    "ADOL-C", "", BENCH_ALL_PROGRAMS(gradient), nullptr, release
};

BENCH_REGISTER(tool)

}  // namespace
