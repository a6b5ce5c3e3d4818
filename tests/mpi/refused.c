// SPDX-License-Identifier: MIT-0
// tags: part
/* refused.c - where statements with messages are refused (mpi.sh): in branches,
 * recorded functions and maps; and a scan next to recorded functions, which
 * runs its steps all the same.                                               */

#define ADREV_IMPLEMENTATION
#define ADREV_TRACE 1
#include "adrev_parallel.h"
#include "adrev_function.h"
#include "adrev_loop.h"
#include "adrev_mpi.h"
#include "check.h"
#include "ranks.h"

static ad_mpi *c;

static void sum_all(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_rev squared = ad_rec(ad_sqr(x[0]));
    ad_ignore(ad_mpi_allreduce(c, ADREV_MPI_SUM, 1, &squared, y));
}

static ad_rev x, part[3];

static void branch(size_t i, void *ctx)
{
    (void)ctx;
    part[i] = ad_rec(ad_mul(x, i + 1));
    if (i == 1)
        ad_ignore(ad_mpi_allreduce(c, ADREV_MPI_SUM, 1, &part[i], &part[i]));
}

// After what failed on all ranks alike: the tape says why, and the next program
// works.
static void check(ad_tape *t, ad_status want, const char *what)
{
    ad_rev y;
    ad_real g = 0;
    CHECK(ad_tape_status(t) == want || ad_tape_status(t) == ADREV_EREMOTE,
          "%s: %s", what, ad_tape_reason(t));
    ad_status s = ad_mpi_agree(c, ad_tape_status(t));
    CHECK(s == want || s == ADREV_EREMOTE, "%s: %s", what, ad_message(s));
    ad_tape_clear(t);
    x = ad_input(ranks_rank + 1);
    sum_all(&x, &y, NULL);
    s = ad_mpi_gradient(c, t, y, 1, &x, &g);
    CHECK(s == ADREV_OK && g == 2 * (ranks_rank + 1), "after %s: %s, %g", what,
          ad_mpi_reason(c), g);
    ad_tape_clear(t);
    x = ad_input(ranks_rank + 1);
}

int main(int argc, char **argv)
{
    const ad_real at[] = { 1, 2, 3 };
    ranks_begin(&argc, &argv);
    c = ad_mpi_new(MPI_COMM_WORLD);
    ad_tape *t = ad_tape_new();
    ad_fn *fn = NULL;
    ad_rev in[3], y[3];
    ad_use(t);
    x = ad_input(ranks_rank + 1);
    ad_fork_n(3, branch, NULL);
    check(t, ADREV_EBUSY, "a branch");

    ad_use(NULL);
    ad_status s = ad_fn_record(&fn, sum_all, NULL, 1, at, 1);
    CHECK(s == ADREV_EHOOK || s == ADREV_EREMOTE, "a function: %s",
          ad_message(s));
    ad_fn_free(fn);
    s = ad_mpi_agree(c, ADREV_OK);
    CHECK(s == ADREV_EHOOK || s == ADREV_EREMOTE, "a function: %s",
          ad_message(s));
    ad_use(t);
    check(t, ADREV_OK, "a function");

    ad_inputs(3, at, in);
    const ad_rows rows = { in, 1, 1 };
    ad_ignore(ad_map(sum_all, NULL, 3, 1, &rows, 1, y));
    check(t, ADREV_EHOOK, "a map");

    // a loop of which other steps would be replayed: x becomes the sum of the
    // squares of all ranks, three times
    x = ad_input(0.5);
    ad_rev state = x;
    ad_real g = 0;
    s = ad_loop(sum_all, NULL, 3, 1, &state, 0, NULL,
                (ad_schedule){ ADREV_BINOMIAL, 2, NULL });
    CHECK(s == ADREV_OK, "a loop: %s", ad_tape_reason(t));
    s = ad_mpi_gradient(c, t, state, 1, &x, &g);
    double p = ranks_size, v[3] = { 0.5, p * 0.25, 0 };
    v[2] = p * v[1] * v[1];
    // of the last sum's terms, rank 0 and all others pass it on alike
    CHECK_NEAR(g, 2 * v[0] * 2 * v[1] * 2 * v[2] * p * p, 1e-14);
    CHECK(s == ADREV_OK, "a loop: %s", ad_mpi_reason(c));
    ad_tape_free(t);
    ad_mpi_free(c);
    return ranks_done("refused");
}
