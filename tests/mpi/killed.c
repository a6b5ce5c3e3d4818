// SPDX-License-Identifier: MIT-0
// tags: part
/* killed.c - a long reverse sweep on several ranks, whose states and adjoints
 * are kept in files. killed.sh ends it, and starts it again.
 *
 *     mpirun -n 2 killed DIR [RANK PUT [SCALE]]
 *
 * Prints a hash of the gradients of all ranks, and how many steps were not
 * reversed again. If RANK is given, that rank kills itself at its put number
 * PUT; -1: none does. SCALE is of the inputs.                                */

#define _POSIX_C_SOURCE 200809L
#define ADREV_IMPLEMENTATION
#include "adrev_loop.h"
#include "adrev_mpi.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 8, STEPS = 24 };

static ad_mpi *c;
static const char *folder;
static long puts_left = -1;

/* --- a store in files ----------------------------------------------------- */

static void name_of(char name[], size_t size, size_t number, const char *end)
{
    snprintf(name, size, "%s/%d.%zu%s", folder, ad_mpi_rank(c), number, end);
}

// A file that has this name is whole, since it had another one before.
static bool put(void *user, size_t number, const void *state, size_t bytes)
{
    char name[400], part[400];
    (void)user;
    name_of(name, sizeof name, number, "");
    name_of(part, sizeof part, number, ".part");
    FILE *f = fopen(part, "wb");
    if (f == NULL)
        return false;
    bool well = fwrite(state, 1, bytes, f) == bytes;
    well = fclose(f) == 0 && well;
    if (puts_left >= 0 && puts_left-- == 0)
        raise(SIGKILL);
    return well && rename(part, name) == 0;
}

static bool get(void *user, size_t number, void *state, size_t bytes)
{
    char name[400];
    (void)user;
    name_of(name, sizeof name, number, "");
    FILE *f = fopen(name, "rb");
    bool well = f != NULL && fread(state, 1, bytes, f) == bytes;
    if (f != NULL)
        fclose(f);
    return well;
}

// What all ranks have, or none.
static bool agree(void *user, bool mine)
{
    (void)user;
    return ad_mpi_all(c, mine);
}

/* --- the program ------------------------------------------------------------ */

// A ring of points, N of them on each rank, between two ghosts.
static void step(ad_step *s, void *ctx)
{
    static const size_t ends[] = { 1, N, 0, N + 1 };
    int rank = ad_mpi_rank(c), size = ad_mpi_size(c);
    const ad_mpi_side side[] = {
        { (rank + size - 1) % size, 1, &ends[0], 1, &ends[2], 1, 2 },
        { (rank + 1) % size, 1, &ends[1], 1, &ends[3], 2, 1 } };
    ad_rev u[N + 2], *v = s->next[0];
    (void)ctx;
    memcpy(u, s->state[0], sizeof u);
    ad_ignore(ad_mpi_halo(c, 2, side, N + 2, u));
    v[0] = u[0];
    v[N + 1] = u[N + 1];
    for (int i = 1; i <= N; i++)
        v[i] = ad_rec(ad_add(u[i], ad_mul(0.2, ad_mul(ad_sin(u[i]),
                             ad_sub(u[i - 1], u[i + 1])))));
}

static ad_status run(double scale, double g[N + 2], size_t *resumed)
{
    const ad_store store = { .put = put, .get = get, .every = 3,
                             .resume = true, .agree = agree };
    double at[N + 2];
    ad_rev x[N + 2], u[N + 2], part, all = {0};
    ad_scan_report report = {0};
    ad_tape *t = ad_tape_new();
    ad_use(t);
    for (int i = 0; i < N + 2; i++)
        at[i] = scale * sin(1.0 + i + N * ad_mpi_rank(c));
    ad_inputs(N + 2, at, x);
    const ad_scan_state state = { .size = N + 2, .initial = x, .last = u };
    const ad_scan_desc scan = { .step = step, .steps = STEPS, .states = 1,
        .state = &state, .schedule = { ADREV_STORE_ALL, 0, &store } };
    ad_ignore(ad_scan(&scan, &report));
    part = ad_dot(N, u + 1, u + 1);
    ad_ignore(ad_mpi_allreduce(c, ADREV_MPI_SUM, 1, &part, &all));
    ad_status s = ad_mpi_gradient(c, t, all, N + 2, x, g);
    *resumed = report.resumed;
    ad_tape_free(t);
    return s;
}

int main(int argc, char **argv)
{
    double g[N + 2];
    size_t resumed;
    MPI_Init(&argc, &argv);
    c = ad_mpi_new(MPI_COMM_WORLD);
    folder = argc > 1 ? argv[1] : ".";
    if (argc > 3 && atoi(argv[2]) == ad_mpi_rank(c))
        puts_left = atol(argv[3]);
    ad_status s = run(argc > 4 ? atof(argv[4]) : 1, g, &resumed);
    uint64_t hash = 0, all = 0;
    for (int i = 0; i < N + 2; i++) {
        uint64_t bits;
        memcpy(&bits, &g[i], sizeof bits);
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
    }
    MPI_Reduce(&hash, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
    if (ad_mpi_rank(c) == 0)
        printf("%s: %016" PRIx64 " %zu\n", ad_message(s), all, resumed);
    ad_mpi_free(c);
    MPI_Finalize();
    return s != ADREV_OK;
}
