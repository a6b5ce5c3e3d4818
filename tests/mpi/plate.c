// SPDX-License-Identifier: MIT-0
// tags: part
/* plate.c - a nonlinear heat equation on 48 x 48 points, cut into strips and
 * into blocks (mpi.sh): the gradient with respect to the initial state is that
 * of one rank, by halos, by halos in two steps, in a scan and in checkpoints,
 * with as many messages back as forward.                                     */

#define ADREV_IMPLEMENTATION
#include "adrev_loop.h"
#include "adrev_mpi.h"
#include "check.h"
#include "ranks.h"

#define N 48
#define STEPS 40

// A block of the plate with a ring of ghosts around it: point (i, j) of it is
// u[i * (w + 2) + j], 1 <= i <= h, 1 <= j <= w.
typedef struct block {
    ad_mpi *c;                  // NULL: all of the plate, no neighbours
    size_t h, w;
    size_t top, left;           // of its first point on the plate
    ad_mpi_side side[4];
    size_t list[8][N];
    bool split;                 // halos in two steps
    size_t steps;               // of a checkpoint
} block;

static size_t place(const block *b, size_t i, size_t j)
{
    return i * (b->w + 2) + j;
}

static size_t ring(const block *b) { return (b->h + 2) * (b->w + 2); }

// Side s: 0 above, 1 below, 2 left, 3 right.
static void set_side(block *b, int s, int rank)
{
    bool row = s < 2;
    size_t n = row ? b->w : b->h;
    size_t own = s == 0 || s == 2 ? 1 : row ? b->h : b->w;
    size_t ghost = s == 0 || s == 2 ? 0 : own + 1;
    for (size_t k = 1; k <= n; k++) {
        b->list[2 * s][k - 1] = row ? place(b, own, k) : place(b, k, own);
        b->list[2 * s + 1][k - 1] = row ? place(b, ghost, k)
                                        : place(b, k, ghost);
    }
    b->side[s] = (ad_mpi_side){ rank, n, b->list[2 * s], n,
                                b->list[2 * s + 1], 0, 0 };
}

// Block (r, q) of rows x cols of them.
static void make_block(block *b, ad_mpi *c, int rows, int cols)
{
    int rank = ad_mpi_rank(c);
    int r = rank / cols, q = rank % cols;
    *b = (block){ .c = c, .h = N / (size_t)rows, .w = N / (size_t)cols };
    b->top = b->h * (size_t)r;
    b->left = b->w * (size_t)q;
    set_side(b, 0, r > 0 ? rank - cols : MPI_PROC_NULL);
    set_side(b, 1, r < rows - 1 ? rank + cols : MPI_PROC_NULL);
    set_side(b, 2, q > 0 ? rank - 1 : MPI_PROC_NULL);
    set_side(b, 3, q < cols - 1 ? rank + 1 : MPI_PROC_NULL);
}

static void new_point(const block *b, const ad_rev *u, ad_rev *v, size_t i,
                      size_t j)
{
    size_t k = place(b, i, j), w = b->w + 2;
    v[k] = ad_rec(ad_add(u[k],
        ad_mul(ad_mul(0.2, ad_add(1, ad_mul(0.1, ad_sqr(u[k])))),
               ad_sub(ad_add(ad_add(u[k - w], u[k + w]),
                             ad_add(u[k - 1], u[k + 1])),
                      ad_mul(4, u[k])))));
}

static void points(const block *b, const ad_rev *u, ad_rev *v, bool border)
{
    for (size_t i = 1; i <= b->h; i++)
        for (size_t j = 1; j <= b->w; j++)
            if (border == (i == 1 || i == b->h || j == 1 || j == b->w))
                new_point(b, u, v, i, j);
}

static void step(const ad_rev *before, ad_rev *v, void *ctx)
{
    const block *b = ctx;
    static ad_rev u[(N + 2) * (N + 2)];
    ad_mpi_request *request;
    memcpy(u, before, ring(b) * sizeof *u);
    memcpy(v, before, ring(b) * sizeof *v);
    if (b->c != NULL && b->split) {
        ad_mpi_halo_start(b->c, 4, b->side, ring(b), u, &request);
        points(b, u, v, false);
        ad_mpi_halo_finish(b->c, &request, ring(b), u);
    } else {
        if (b->c != NULL)
            ad_mpi_halo(b->c, 4, b->side, ring(b), u);
        points(b, u, v, false);
    }
    points(b, u, v, true);
}

static void some_steps(const ad_rev *before, ad_rev *v, void *ctx)
{
    const block *b = ctx;
    static ad_rev u[(N + 2) * (N + 2)];
    memcpy(v, before, ring(b) * sizeof *v);
    for (size_t k = 0; k < b->steps; k++) {
        memcpy(u, v, ring(b) * sizeof *v);
        step(u, v, ctx);
    }
}

static double initial(size_t i, size_t j)
{
    return sin(0.2 * (double)i) * cos(0.3 * (double)j) + 0.01 * (double)(i + j);
}

typedef enum way { PLAIN, SPLIT, LOOP, CHECKPOINT } way;

// Value and gradient of the weighted sum of squares at the end. g has a ring,
// too. Returns messages forward and back.
static ad_status run(block *b, way how, double *y, double g[], double counts[2])
{
    static ad_rev x[(N + 2) * (N + 2)], u[(N + 2) * (N + 2)];
    static ad_rev v[(N + 2) * (N + 2)];
    static double at[(N + 2) * (N + 2)];
    ad_rev sum = {0}, all;
    ad_tape *t = ad_tape_new();
    size_t n = ring(b);
    memset(at, 0, sizeof at);
    for (size_t i = 1; i <= b->h; i++)
        for (size_t j = 1; j <= b->w; j++)
            at[place(b, i, j)] = initial(b->top + i, b->left + j);
    ad_use(t);
    ad_inputs(n, at, x);
    memcpy(u, x, n * sizeof *u);
    b->split = how == SPLIT;
    b->steps = how == CHECKPOINT ? 10 : 1;
    double sent = (double)ad_mpi_messages(b->c);
    if (how == LOOP)
        ad_loop(step, b, STEPS, n, u, 0, NULL,
                (ad_schedule){ ADREV_BINOMIAL, 5, NULL });
    for (size_t k = 0; how != LOOP && k < STEPS; k += b->steps) {
        if (how == CHECKPOINT)
            ad_checkpoint(some_steps, b, n, u, n, v);
        else
            step(u, v, b);
        memcpy(u, v, n * sizeof *u);
    }
    for (size_t i = 1; i <= b->h; i++)
        for (size_t j = 1; j <= b->w; j++)
            sum = ad_rec(ad_add(sum, ad_mul(ad_sqr(u[place(b, i, j)]),
                                 (double)(b->top + i) * 0.25)));
    all = sum;
    if (b->c != NULL)
        ad_mpi_allreduce(b->c, ADREV_MPI_SUM, 1, &sum, &all);
    counts[0] = (double)ad_mpi_messages(b->c) - sent;
    *y = ad_value(all);
    ad_status s = b->c == NULL ? ad_gradient(t, all, n, x, g)
                : ad_mpi_gradient(b->c, t, all, n, x, g);
    counts[1] = (double)ad_mpi_messages(b->c) - sent - counts[0];
    ad_tape_free(t);
    return s;
}

static double want[(N + 2) * (N + 2)], want_y, largest;

static void check(ad_mpi *c, int rows, int cols, way how)
{
    static double g[(N + 2) * (N + 2)];
    static block b;
    double y, counts[2], all[2] = {0}, off = 0, most = 0;
    make_block(&b, c, rows, cols);
    ad_status s = run(&b, how, &y, g, counts);
    CHECK(s == ADREV_OK, "%d x %d, way %d: %s", rows, cols, how,
          ad_mpi_reason(c));
    CHECK_NEAR(y, want_y, 1e-14);
    for (size_t i = 1; i <= b.h; i++)
        for (size_t j = 1; j <= b.w; j++) {
            size_t k = (b.top + i) * (N + 2) + b.left + j;
            off = fmax(off, fabs(g[place(&b, i, j)] - want[k]) / largest);
        }
    MPI_Allreduce(&off, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(counts, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    CHECK(most < 4e-16, "%d x %d, way %d: off by %g", rows, cols, how, most);
    CHECK(how >= LOOP || all[0] == all[1], "%g messages forward, %g back",
          all[0], all[1]);
    if (ranks_rank == 0 && getenv("TELL") != NULL)
        printf("%d x %d, way %d: off by %.2g of the largest, %g messages "
               "forward, %g back\n", rows, cols, how, most, all[0], all[1]);
}

int main(int argc, char **argv)
{
    static block whole;
    double counts[2];
    ranks_begin(&argc, &argv);
    make_block(&whole, NULL, 1, 1);
    CHECK(run(&whole, PLAIN, &want_y, want, counts) == ADREV_OK, "one rank");
    for (size_t i = 0; i < (N + 2) * (N + 2); i++)
        largest = fmax(largest, fabs(want[i]));
    ad_mpi *c = ad_mpi_new(MPI_COMM_WORLD);
    for (way how = PLAIN; how <= CHECKPOINT; how++) {
        check(c, ranks_size, 1, how);
        if (ranks_size % 2 == 0)
            check(c, ranks_size / 2, 2, how);
    }
    ad_mpi_free(c);
    return ranks_done("plate");
}
