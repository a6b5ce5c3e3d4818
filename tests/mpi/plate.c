// SPDX-License-Identifier: MIT-0
// tags: part
/* plate.c - a nonlinear heat equation on 24 x 24 points, cut into strips and
 * into blocks (mpi.sh): a gradient, several rows at once and tangents, with
 * respect to the initial state, are those of one rank, by halos, by halos in
 * two steps, both in a scan and in checkpoints, too, with as many messages back
 * as forward.
 *
 *     mpirun -n 4 plate       also on 2 of these ranks                       */

#define ADREV_IMPLEMENTATION
#include "adrev_loop.h"
#include "adrev_mpi.h"
#include "check.h"
#include "ranks.h"

enum { N = 24, STEPS = 24, RING = (N + 2) * (N + 2), ROWS = 3 };

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
    static ad_rev u[RING];
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
    static ad_rev u[RING];
    memcpy(v, before, ring(b) * sizeof *v);
    for (size_t k = 0; k < b->steps; k++) {
        memcpy(u, v, ring(b) * sizeof *v);
        step(u, v, ctx);
    }
}

static ad_real initial(size_t i, size_t j)
{
    return (ad_real)(sin(0.2 * (double)i) * cos(0.3 * (double)j)
                     + 0.01 * (double)(i + j));
}

// A direction of the initial state, and the weights of the results.
static ad_real direction(size_t i, size_t j)
{
    return (ad_real)((7 * i + 3 * j) % 11) / 8 - (ad_real)0.5;
}

static ad_real weight(size_t row, size_t i, size_t j)
{
    return row == 0 ? (ad_real)i / 4 : row == 1 ? (ad_real)j / 2
         : (ad_real)1 - (ad_real)((i + j) % 2);
}

typedef enum way {
    PLAIN, SPLIT, LOOP, SPLIT_LOOP, CHECKPOINT, SPLIT_CHECKPOINT, WAYS
} way;

// The results are weighted sums of squares at the end; derivatives have rings.
typedef struct results {
    ad_real y[ROWS];
    ad_real g[RING], J[ROWS * RING];
    ad_real tangent[ROWS];
    double counts[2];           // messages forward, and back by the gradient
} results;

static void all_steps(block *b, way how, ad_rev u[])
{
    static ad_rev v[RING];
    size_t n = ring(b);
    const bool loop = how == LOOP || how == SPLIT_LOOP;
    const bool checkpoint = how == CHECKPOINT || how == SPLIT_CHECKPOINT;
    b->split = how == SPLIT || how == SPLIT_LOOP || how == SPLIT_CHECKPOINT;
    b->steps = checkpoint ? 8 : 1;
    if (loop)
        ad_loop(step, b, STEPS, n, u, 0, NULL,
                (ad_schedule){ ADREV_BINOMIAL, 5, NULL });
    for (size_t k = 0; !loop && k < STEPS; k += b->steps) {
        if (checkpoint)
            ad_checkpoint(some_steps, b, n, u, n, v);
        else
            step(u, v, b);
        memcpy(u, v, n * sizeof *u);
    }
}

static ad_status ask(const block *b, ad_tape *t, const ad_rev y[],
                     const ad_rev x[], const ad_real dx[], results *r)
{
    ad_mpi *c = b->c;
    size_t n = ring(b);
    double sent = (double)ad_mpi_messages(c);
    ad_status s = c == NULL ? ad_gradient(t, y[0], n, x, r->g)
                            : ad_mpi_gradient(c, t, y[0], n, x, r->g);
    r->counts[1] = (double)ad_mpi_messages(c) - sent;
    if (s == ADREV_OK)
        s = c == NULL ? ad_jacobian(t, ROWS, y, n, x, r->J)
                      : ad_mpi_jacobian(c, t, ROWS, y, n, x, r->J);
    if (s == ADREV_OK)
        s = c == NULL ? ad_pushforward(t, n, x, dx, ROWS, y, r->tangent)
                      : ad_mpi_pushforward(c, t, n, x, dx, ROWS, y, r->tangent);
    return s;
}

static ad_status run(block *b, way how, results *r)
{
    static ad_rev x[RING], u[RING];
    static ad_real at[RING], dx[RING];
    ad_rev part[ROWS] = {{0}}, all[ROWS];
    ad_tape *t = ad_tape_new();
    memset(at, 0, sizeof at);
    memset(dx, 0, sizeof dx);
    for (size_t i = 1; i <= b->h; i++)
        for (size_t j = 1; j <= b->w; j++) {
            at[place(b, i, j)] = initial(b->top + i, b->left + j);
            dx[place(b, i, j)] = direction(b->top + i, b->left + j);
        }
    ad_use(t);
    ad_inputs(ring(b), at, x);
    memcpy(u, x, sizeof u);
    double sent = (double)ad_mpi_messages(b->c);
    all_steps(b, how, u);
    for (size_t i = 1; i <= b->h; i++)
        for (size_t j = 1; j <= b->w; j++)
            for (size_t k = 0; k < ROWS; k++)
                part[k] = ad_rec(ad_add(part[k], ad_mul(
                    ad_sqr(u[place(b, i, j)]),
                    weight(k, b->top + i, b->left + j))));
    memcpy(all, part, sizeof all);
    if (b->c != NULL)
        ad_mpi_allreduce(b->c, ADREV_MPI_SUM, ROWS, part, all);
    r->counts[0] = (double)ad_mpi_messages(b->c) - sent;
    for (size_t k = 0; k < ROWS; k++)
        r->y[k] = ad_value(all[k]);
    ad_status s = ask(b, t, all, x, dx, r);
    ad_tape_free(t);
    return s;
}

static results want;            // of the whole plate

// How far the derivatives of a block are from those of the whole, at most, as a
// part of the largest of their row.
static double distance(const block *b, const ad_real got[],
                       const ad_real whole[])
{
    double off = 0, largest = 0;
    for (size_t i = 0; i < RING; i++)
        largest = fmax(largest, fabs((double)whole[i]));
    for (size_t i = 1; i <= b->h; i++)
        for (size_t j = 1; j <= b->w; j++) {
            size_t k = (b->top + i) * (N + 2) + b->left + j;
            off = fmax(off, fabs((double)got[place(b, i, j)]
                                 - (double)whole[k]));
        }
    return off / largest;
}

static void check(MPI_Comm comm, ad_mpi *c, int rows, int cols, way how)
{
    static results r;
    static block b;
    double all[2] = {0}, most = 0;
    make_block(&b, c, rows, cols);
    ad_status s = run(&b, how, &r);
    CHECK(s == ADREV_OK, "%d x %d, way %d: %s", rows, cols, (int)how,
          ad_mpi_reason(c));
    double off = distance(&b, r.g, want.g);
    for (size_t k = 0; k < ROWS; k++) {
        CHECK_NEAR(r.y[k], want.y[k], 50 * EPSILON);
        CHECK_NEAR(r.tangent[k], want.tangent[k], 50 * EPSILON);
        off = fmax(off, distance(&b, r.J + k * ring(&b), want.J + k * RING));
    }
    MPI_Allreduce(&off, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(r.counts, all, 2, MPI_DOUBLE, MPI_SUM, comm);
    CHECK(most < 1.8 * EPSILON, "%d x %d, way %d: off by %g", rows, cols,
          (int)how, most);
    CHECK(how >= LOOP || all[0] == all[1], "%g messages forward, %g back",
          all[0], all[1]);
    if (ranks_rank == 0 && getenv("TELL") != NULL)
        printf("%d x %d, way %d: off by %.2g of the largest, %g messages "
               "forward, %g back\n", rows, cols, (int)how, most, all[0], all[1]);
}

// The whole plate on one rank: its tangents are products of its rows.
static void begin(void)
{
    static block whole;
    make_block(&whole, NULL, 1, 1);
    CHECK(run(&whole, PLAIN, &want) == ADREV_OK, "one rank");
    for (size_t k = 0; k < ROWS; k++) {
        double sum = 0;
        for (size_t i = 1; i <= N; i++)
            for (size_t j = 1; j <= N; j++)
                sum += (double)want.J[k * RING + i * (N + 2) + j]
                     * (double)direction(i, j);
        CHECK_NEAR(want.tangent[k], sum, 1000 * EPSILON);
    }
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    begin();
    for (int size = 2; size <= ranks_size; size *= 2) {
        MPI_Comm comm = ranks_first(size);
        if (comm == MPI_COMM_NULL)
            continue;
        ad_mpi *c = ad_mpi_new(comm);
        for (way how = PLAIN; how < WAYS; how++) {
            check(comm, c, size, 1, how);
            check(comm, c, size / 2, 2, how);
        }
        ad_mpi_free(c);
        MPI_Comm_free(&comm);
    }
    return ranks_done("plate");
}
