// SPDX-License-Identifier: MIT-0
/* mpi.c - what ranks cost, and what they gain.
 *
 *     mpirun -n 2 mpi [-r rounds]
 *     mpi -r rounds own
 *
 * Times are on the wall, medians of rounds; ratios are taken within a round,
 * and have half the distance between the quartiles behind them, in percent. The
 * ranks that a row does not need wait in a barrier, which takes a processor: so
 * do not start more ranks than there are processors.
 *
 *   sum of parts     ad_mpi_grad on rank 0 alone / on all ranks. n is the length
 *                    of the gradient; from ADREV_MPI_SLICE on, slices are added.
 *                    same: the bits of y and g are those of one rank
 *   idle statements  a sweep over 40 steps with halos of which no side has a
 *                    neighbour / over the same steps without halos; and the tape's
 *                    bytes, which are the memory of a rank
 *   halos            the same on all ranks at once, with two neighbours in a ring;
 *                    and the ratio without what 40 messages take. own: only this,
 *                    on one rank that is both of its neighbours, so that callgrind
 *                    can count
 *   message          half of there and back, and a number of a long message: what
 *                    a model needs (alpha, 1/beta)
 */

#define ADREV_IMPLEMENTATION
#include "../adrev_mpi.h"

#include "report.h"

enum { ROUNDS = 9, PARTS = 64, LONG = 1000000, STEPS = 40, POINTS = 2500 };

static int rank, size;
static bool wrong;
static bool own;                // one rank is its own neighbour

/* ---------------------------------------------------------------------------
 * Sums of parts
 * ------------------------------------------------------------------------- */

typedef struct problem {
    size_t n;
    size_t terms;               // of a part
} problem;

static ad_rev part(size_t i, const ad_rev *x, void *ctx)
{
    const problem *p = ctx;
    ad_rev s = { .v = 0 };
    size_t k = i * 7919 % p->n;
    for (size_t j = 0; j < p->terms; j++) {
        size_t next = k + 1 < p->n ? k + 1 : 0;
        s = ad_rec(ad_add(s, ad_sqr(ad_sub(ad_sin(ad_mul(x[k], x[next])),
                                           (double)j * 1e-3))));
        k = next;
    }
    return s;
}

static double seconds_of(ad_mpi *c, const problem *p, const double x[],
                         double *y, double g[])
{
    double begun = wall();
    ad_status s = ad_mpi_grad(c, PARTS, part, (void *)p, p->n, x, y, g);
    if (s != ADREV_OK) {
        printf("ad_mpi_grad: %s\n", ad_mpi_reason(c));
        wrong = true;
    }
    return wall() - begun;
}

static void sums(ad_mpi *all, ad_mpi *alone, problem p, size_t rounds)
{
    double one[REPORT_ROUNDS], many[REPORT_ROUNDS], y[2] = {0};
    double *x = get(p.n, sizeof *x);
    double *g = get(p.n, sizeof *g), *h = get(p.n, sizeof *h);
    bool same = true;
    for (size_t i = 0; i < p.n; i++)
        x[i] = 0.5 + 1e-3 * (double)(i % 977);
    for (size_t r = 0; r <= rounds; r++) {      // the first one warms up
        size_t k = r == 0 ? 0 : r - 1;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            one[k] = seconds_of(alone, &p, x, &y[0], g);
        MPI_Barrier(MPI_COMM_WORLD);
        many[k] = seconds_of(all, &p, x, &y[1], h);
        same = same && (rank != 0 || (memcmp(g, h, p.n * sizeof *g) == 0
                                      && memcmp(&y[0], &y[1],
                                                sizeof y[0]) == 0));
    }
    wrong |= !same;
    if (rank == 0) {
        summary s = summarise(rounds, one, many);
        printf("%-16s %9zu", "sum of parts", p.n);
        print_seconds(summarise(rounds, one, NULL).median);
        print_seconds(summarise(rounds, many, NULL).median);
        printf("   %5.2f +-%2.0f %%   %s\n", s.median, 100 * s.spread,
               same ? "same" : "DIFFERENT BITS");
    }
    free(x);
    free(g);
    free(h);
}

/* ---------------------------------------------------------------------------
 * What statements cost, with messages and without
 * ------------------------------------------------------------------------- */

// Steps; c is NULL: without halos. What comes from neighbours is not used, so
// that the gradient is that of one rank.
static void record(ad_mpi *c, ad_tape *t, ad_rev x[], ad_rev *y)
{
    static double at[POINTS];
    static ad_rev u[POINTS + 2], v[POINTS];
    const size_t ends[] = { 0, POINTS - 1, POINTS, POINTS + 1 };
    const int r = ad_mpi_rank(c), n = ad_mpi_size(c);
    const bool idle = n == 1 && !own;
    const ad_mpi_side side[] = {
        { idle ? MPI_PROC_NULL : (r + n - 1) % n, 1, ends, 1, ends + 2, 0, 1 },
        { idle ? MPI_PROC_NULL : (r + 1) % n, 1, ends + 1, 1, ends + 3, 1, 0 } };
    for (size_t i = 0; i < POINTS; i++)
        at[i] = sin(0.1 * (double)i);
    ad_tape_clear(t);
    ad_use(t);
    ad_inputs(POINTS, at, x);
    memcpy(u, x, POINTS * sizeof *u);
    for (int k = 0; k < STEPS; k++) {
        if (c != NULL)
            ad_ignore(ad_mpi_halo(c, 2, side, POINTS + 2, u));
        v[0] = u[0];
        v[POINTS - 1] = u[POINTS - 1];
        for (size_t i = 1; i + 1 < POINTS; i++)
            v[i] = ad_rec(ad_add(u[i], ad_mul(ad_mul(0.1, ad_add(1, ad_sqr(u[i]))),
                           ad_add(ad_sub(u[i - 1], ad_mul(2, u[i])), u[i + 1]))));
        memcpy(u, v, sizeof v);
    }
    *y = ad_sum(POINTS, u);
    ad_use(NULL);
}

// alpha: seconds of a message; 0: there are none.
static void statements(ad_mpi *c, const char *name, double alpha, size_t rounds)
{
    double with[REPORT_ROUNDS], without[REPORT_ROUNDS];
    static ad_rev x[POINTS], z[POINTS];
    static double g[POINTS], h[POINTS];
    ad_tape *plain = ad_tape_new(), *t = ad_tape_new();
    ad_rev y, w;
    const double one = 1;       // of w on each rank: all have adjoints
    record(NULL, plain, x, &y);
    record(c, t, z, &w);
    for (size_t r = 0; r <= rounds; r++) {
        size_t k = r == 0 ? 0 : r - 1;
        wrong |= ad_mpi_agree(c, ADREV_OK) != ADREV_OK;
        double begun = wall();
        for (int i = 0; i < 10; i++)
            wrong |= ad_gradient(plain, y, POINTS, x, g) != ADREV_OK;
        without[k] = wall() - begun;
        wrong |= ad_mpi_agree(c, ADREV_OK) != ADREV_OK;
        begun = wall();
        for (int i = 0; i < 10; i++)
            wrong |= ad_mpi_pullback(c, t, 1, &w, &one, POINTS, z, h)
                  != ADREV_OK;
        with[k] = wall() - begun;
    }
    double only[REPORT_ROUNDS];
    for (size_t k = 0; k < rounds; k++)
        only[k] = with[k] - 10 * STEPS * alpha;
    bool same = memcmp(g, h, sizeof g) == 0;
    wrong |= !same;
    if (rank == 0) {
        summary s = summarise(rounds, with, without);
        printf("%-16s %9d", name, STEPS);
        print_seconds(summarise(rounds, without, NULL).median / 10);
        print_seconds(summarise(rounds, with, NULL).median / 10);
        printf("   %5.2f +-%2.0f %%   %s   ", s.median, 100 * s.spread,
               same ? "same" : "DIFFERENT BITS");
        if (alpha > 0)
            printf("%.2f without messages\n",
                   summarise(rounds, only, without).median);
        else
            printf("tape %.4f of the plain one\n",
                   (double)ad_tape_bytes(t) / (double)ad_tape_bytes(plain));
    }
    ad_tape_free(plain);
    ad_tape_free(t);
}

/* ---------------------------------------------------------------------------
 * Messages
 * ------------------------------------------------------------------------- */

// Seconds of half of there and back, for n numbers.
static double message(ad_mpi *c, size_t n, int times)
{
    ad_rev *x = get(n, sizeof *x);
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = wall();
    for (int i = 0; i < times && rank < 2; i++) {
        ad_status s = rank == 0 ? ad_mpi_send(c, 1, n, x)
                                : ad_mpi_recv(c, 0, n, x);
        if (s == ADREV_OK)
            s = rank == 0 ? ad_mpi_recv(c, 1, n, x) : ad_mpi_send(c, 0, n, x);
        wrong |= s != ADREV_OK;
    }
    double took = (wall() - begun) / times / 2;
    free(x);
    return took;
}

// Returns the seconds of a short one.
static double messages(ad_mpi *c)
{
    message(c, 1, 100);
    double one = message(c, 1, 1000);
    double many = message(c, LONG, 10);
    if (rank == 0) {
        printf("%-16s        1", "message");
        print_seconds(one);
        printf("\n%-16s %9d", "a number of", LONG);
        print_seconds((many - one) / LONG);
        printf("\n");
    }
    return one;
}

int main(int argc, char **argv)
{
    MPI_Comm first;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    size_t rounds = take_rounds(&argc, &argv, ROUNDS);
    own = argc > 1 && strcmp(argv[1], "own") == 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &first);
    ad_mpi *all = ad_mpi_new(MPI_COMM_WORLD);
    ad_mpi *alone = ad_mpi_new(first);
    if (rank == 0) {
        print_machine(ADREV_VERSION);
        printf("%d ranks%26s   plain     ranks    ratio\n", size, "n");
    }
    if (!own) {
        sums(all, alone, (problem){ 1000, 40000 }, rounds);
        sums(all, alone, (problem){ LONG, 400000 }, rounds);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        statements(alone, own ? "halos" : "idle statements", 0, rounds);
    MPI_Barrier(MPI_COMM_WORLD);
    if (size > 1 && !own)
        statements(all, "halos", messages(all), rounds);
    ad_mpi_free(all);
    ad_mpi_free(alone);
    MPI_Finalize();
    return wrong;
}
