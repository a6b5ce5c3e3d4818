// SPDX-License-Identifier: MIT-0
/* sacado.cpp - the programs with Sacado's reverse mode, if it is installed.
 *
 * A sweep marks the memory of the recording as free; the next operation starts
 * to fill it again. There is no vector mode: a Jacobian is one sweep per row.
 */

// The configuration asks for Kokkos, which these headers do not need.
#define TRILINOS_NO_CONFIG_H

#include "programs.hpp"

#include <Sacado_trad.hpp>

namespace {

using number = Sacado::Rad::ADvar<double>;

struct state {
    std::vector<number> x;
    std::vector<number> room;
};

state *kept;

void release()
{
    delete kept;
    kept = nullptr;
    Sacado::Rad::ADcontext<double>::re_init();
}

// Adjoints of the outputs are named together: those of other rows would still
// be there otherwise.
void sweep(std::size_t outputs, number *out, std::size_t row)
{
    number *all[BENCH_MAX_OUTPUTS];
    double weight[BENCH_MAX_OUTPUTS];

    for (std::size_t i = 0; i < outputs; i++) {
        all[i] = &out[i];
        weight[i] = i == row ? 1.0 : 0.0;
    }
    number::Weighted_Gradcomp(outputs, all, weight);
}

template <bench_workload W>
void gradient(const bench_case *c, const double *x, double *y, double *dy)
{
    number out[BENCH_MAX_OUTPUTS];

    if (!kept) {
        kept = new state{ std::vector<number>(c->inputs),
                          std::vector<number>(bench::room(c)) };
    }
    for (std::size_t i = 0; i < c->inputs; i++) {
        kept->x[i] = x[i];
    }
    bench::run<W>(c, kept->x.data(), out, kept->room.data());
    for (std::size_t i = 0; i < c->outputs; i++) {
        y[i] = out[i].val();
        sweep(c->outputs, out, i);
        for (std::size_t j = 0; j < c->inputs; j++) {
            dy[i * c->inputs + j] = kept->x[j].adj();
        }
    }
}

const bench_tool tool = {
    "Sacado", "", BENCH_ALL_PROGRAMS(gradient), nullptr, release
};

BENCH_REGISTER(tool)

}  // namespace
