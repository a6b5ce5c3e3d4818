// SPDX-License-Identifier: MIT-0
/* mpi_scale.c - how far derivatives scale, on paper.
 *
 *     mpirun -n RANKS mpi_scale [alpha numbers_per_second]    a power of 2 ranks
 *
 * A message of n numbers takes alpha + n beta seconds, of which its sender is
 * busy for n beta. What ranks compute is measured here, on one of them at a
 * time; alpha and beta of a network are given (2e-6 s and 1.25e9 numbers a
 * second).
 *
 * A graph has for each rank what it does in order: compute, send, receive. It
 * is replayed by a simulation of all ranks.
 *
 *   recorded     one call of ad_mpi_grad on the ranks that there are: every
 *                message, and the time between. `planned`: the messages are those
 *                of the plan below, in the same order. Measured and replayed
 *                times, with alpha and beta as measured here, must be about the
 *                same; more ranks than processors make both longer
 *   sum          efficiency of ad_mpi_grad: `model` by the formula, `replayed`
 *                the planned graph. Strong: 4096 parts in all; weak: 8 for each
 *   plate        a nonlinear equation in square blocks, a halo in each step, by
 *                the formula, and the graph of 20 steps: in plain C, and recorded
 *                with its reverse sweep, which has twice the halos. Strong: 4096 x
 *                4096 points; weak: 128 x 128 for each rank
 *
 * PREDICTION: nothing here has run on more ranks than were started. The formula
 * knows no noise, no contention of messages, and no load that differs.
 */

#define ADREV_IMPLEMENTATION
#include "../adrev_mpi.h"

#include "report.h"

enum { PARTS = 16, STRONG = 4096, WEAK = 8, MOST_RANKS = 4096, ROUNDS = 5,
       BLOCK = 128, PLATE = 4096, PLATE_STEPS = 20, WORDS = ADX_MPI_WORDS };

static int rank, size;
static bool wrong;

/* ---------------------------------------------------------------------------
 * Graphs
 * ------------------------------------------------------------------------- */

typedef enum what { COMPUTE, SEND, RECEIVE } what;

typedef struct op {
    int what;
    int peer;
    double amount;              // seconds, or numbers of a message
} op;

typedef struct ops {
    op *op;
    size_t n, room;
} ops;

static void append(ops *to, what w, int peer, double amount)
{
    if (to->n == to->room) {
        to->room = 2 * to->room + 16;
        to->op = realloc(to->op, to->room * sizeof *to->op);
        if (to->op == NULL)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    to->op[to->n++] = (op){ (int)w, peer, amount };
}

static void free_graph(int ranks, ops *graph)
{
    for (int r = 0; r < ranks; r++)
        free(graph[r].op);
    free(graph);
}

/* ---------------------------------------------------------------------------
 * Recording: the library's calls of MPI come through here
 * ------------------------------------------------------------------------- */

static ops *recorded;           // NULL: not now
static double latest;           // the end of the last call
static bool waiting;            // what came since then is no computing

static void note_computing(void)
{
    if (!waiting)
        append(recorded, COMPUTE, 0, wall() - latest);
    waiting = false;
}

int MPI_Isend(const void *from, int n, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    if (recorded != NULL) {
        note_computing();
        append(recorded, SEND, to, n);
    }
    int code = PMPI_Isend(from, n, type, to, tag, comm, request);
    latest = wall();
    return code;
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *there, MPI_Status *status)
{
    if (recorded != NULL && from != MPI_ANY_SOURCE && !waiting) {
        note_computing();
        waiting = true;
    }
    return PMPI_Iprobe(from, tag, comm, there, status);
}

int MPI_Recv(void *to, int n, MPI_Datatype type, int from, int tag,
             MPI_Comm comm, MPI_Status *status)
{
    int code = PMPI_Recv(to, n, type, from, tag, comm, status);
    if (recorded != NULL)
        append(recorded, RECEIVE, from, n);
    waiting = false;
    latest = wall();
    return code;
}

// All ranks' ops on rank 0; elsewhere NULL.
static ops *collect(const ops *mine)
{
    ops *graph = rank == 0 ? get((size_t)size, sizeof *graph) : NULL;
    int n = (int)(mine->n * sizeof *mine->op);
    if (rank != 0) {
        PMPI_Send(&n, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        PMPI_Send(mine->op, n, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        return NULL;
    }
    for (int r = 0; r < size; r++) {
        if (r > 0)
            PMPI_Recv(&n, 1, MPI_INT, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        graph[r].op = get((size_t)n + 1, 1);
        graph[r].n = (size_t)n / sizeof(op);
        if (r > 0)
            PMPI_Recv(graph[r].op, n, MPI_BYTE, r, 2, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE);
        else
            memcpy(graph[0].op, mine->op, (size_t)n);
    }
    return graph;
}

/* ---------------------------------------------------------------------------
 * Replaying
 * ------------------------------------------------------------------------- */

typedef struct network {
    double alpha;               // seconds of a message
    double beta;                // seconds of a number
} network;

// Messages from one rank to another, in their order: when each is there.
typedef struct lane {
    int from;
    double *there;
    size_t n, room, taken;
} lane;

typedef struct actor {
    double now;
    size_t next;                // op
    lane *in;
    size_t lanes;
} actor;

static lane *lane_from(actor *a, int from)
{
    for (size_t i = 0; i < a->lanes; i++)
        if (a->in[i].from == from)
            return &a->in[i];
    if ((a->lanes & (a->lanes - 1)) == 0)
        a->in = realloc(a->in, (2 * a->lanes + 1) * sizeof *a->in);
    if (a->in == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    a->in[a->lanes] = (lane){ .from = from };
    return &a->in[a->lanes++];
}

static void put(lane *l, double there)
{
    if (l->n == l->room) {
        l->room = 2 * l->room + 4;
        l->there = realloc(l->there, l->room * sizeof *l->there);
        if (l->there == NULL)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    l->there[l->n++] = there;
}

// Goes on with one rank as far as its messages have been sent.
static bool go_on(int r, const ops *graph, actor *all, network w)
{
    actor *a = &all[r];
    size_t before = a->next;
    for (; a->next < graph[r].n; a->next++) {
        const op *o = &graph[r].op[a->next];
        if (o->what == COMPUTE)
            a->now += o->amount;
        if (o->what == SEND) {
            a->now += o->amount * w.beta;
            put(lane_from(&all[o->peer], r), a->now + w.alpha);
        }
        if (o->what == RECEIVE) {
            lane *l = lane_from(a, o->peer);
            if (l->taken == l->n)
                break;
            a->now = fmax(a->now, l->there[l->taken++]);
        }
    }
    return a->next > before;
}

// How long the last rank takes.
static double replay(int ranks, const ops *graph, network w)
{
    actor *all = get((size_t)ranks, sizeof *all);
    double end = 0;
    bool moved = true;
    while (moved) {
        moved = false;
        for (int r = 0; r < ranks; r++)
            moved |= go_on(r, graph, all, w);
    }
    for (int r = 0; r < ranks; r++) {
        wrong |= all[r].next < graph[r].n;      // it waits for ever
        end = fmax(end, all[r].now);
        for (size_t i = 0; i < all[r].lanes; i++)
            free(all[r].in[i].there);
        free(all[r].in);
    }
    free(all);
    return end;
}

/* ---------------------------------------------------------------------------
 * The plan of ad_mpi_grad (mpi/grad, mpi/sums, mpi/agreement)
 * ------------------------------------------------------------------------- */

// What one rank computes.
typedef struct costs {
    size_t n;                   // numbers of the gradient
    double part;                // seconds of a part
    double sum;                 // of adding a number to another
} costs;

static void plan_send(ops *to, int peer, size_t n)
{
    for (size_t left = n + ADX_MPI_FRONT; left > 0;) {      // in pieces
        size_t piece = left < ADREV_MPI_PIECE ? left : ADREV_MPI_PIECE;
        append(to, SEND, peer, (double)piece);
        left -= piece;
    }
}

static void plan_receive(ops *to, int peer, size_t n)
{
    for (size_t left = n + ADX_MPI_FRONT; left > 0;) {
        size_t piece = left < ADREV_MPI_PIECE ? left : ADREV_MPI_PIECE;
        append(to, RECEIVE, peer, (double)piece);
        left -= piece;
    }
}

// Up a binomial tree and down again; of words if n is 0.
static void plan_tree(ops *to, int ranks, int r, size_t n, double sum)
{
    int step = 1;
    for (; (r & step) == 0 && step < ranks; step *= 2) {
        if (n == 0)
            append(to, RECEIVE, r + step, WORDS);
        else
            plan_receive(to, r + step, n);
        append(to, COMPUTE, 0, (double)n * sum);
    }
    if (r != 0 && n == 0) {
        append(to, SEND, r - step, WORDS);
        append(to, RECEIVE, r - step, WORDS);
    } else if (r != 0) {
        plan_send(to, r - step, n);
        plan_receive(to, r - step, n);
    }
    for (step /= 2; step > 0; step /= 2)
        if (n == 0)
            append(to, SEND, r + step, WORDS);
        else
            plan_send(to, r + step, n);
}

static size_t slice(size_t n, int ranks, int r)
{
    size_t p = (size_t)ranks, i = (size_t)r;
    return n / p * (i + 1) + n % p * (i + 1) / p - n / p * i - n % p * i / p;
}

static void plan_slices(ops *to, int ranks, int r, size_t n, double sum)
{
    size_t own = slice(n, ranks, r);
    for (int k = 1; k < ranks; k++)
        plan_send(to, (r + k) % ranks, slice(n, ranks, (r + k) % ranks));
    for (int k = 0; k < ranks; k++)
        if (k != r)
            plan_receive(to, k, own);
    append(to, COMPUTE, 0, (double)(ranks - 1) * (double)own * sum);
    for (int k = 1; k < ranks; k++)
        plan_send(to, (r + k) % ranks, own);
    for (int k = 1; k < ranks; k++) {
        int from = (r + ranks - k) % ranks;
        plan_receive(to, from, slice(n, ranks, from));
    }
}

// The same for slices, without a graph of ranks^2 messages: each rank sends all
// of a round before it waits for any. For slices of one piece.
static double replay_slices(int ranks, size_t parts, const costs *c, network w)
{
    const size_t p = (size_t)ranks, n = c->n + 2;
    double *there = get(p * p, sizeof *there);  // [to][from]
    double *now = get(p, sizeof *now);
    ops *tree = get(p, sizeof *tree);
    wrong |= slice(n, ranks, ranks - 1) + ADX_MPI_FRONT > ADREV_MPI_PIECE;
    for (size_t r = 0; r < p; r++) {
        now[r] = (double)parts / ranks * c->part;
        for (size_t k = 1; k < p; k++) {
            size_t to = (r + k) % p, front = ADX_MPI_FRONT;
            now[r] += (double)(slice(n, ranks, (int)to) + front) * w.beta;
            there[to * p + r] = now[r] + w.alpha;
        }
    }
    for (size_t r = 0; r < p; r++) {
        double own = (double)slice(n, ranks, (int)r);
        for (size_t k = 0; k < p; k++)
            now[r] = k == r ? now[r] : fmax(now[r], there[r * p + k]);
        now[r] += (double)(p - 1) * own * c->sum;
    }
    for (size_t r = 0; r < p; r++)
        for (size_t k = 1; k < p; k++) {
            now[r] += (double)(slice(n, ranks, (int)r) + ADX_MPI_FRONT) * w.beta;
            there[(r + k) % p * p + r] = now[r] + w.alpha;
        }
    for (size_t r = 0; r < p; r++) {
        for (size_t k = 0; k < p; k++)
            now[r] = k == r ? now[r] : fmax(now[r], there[r * p + k]);
        append(&tree[r], COMPUTE, 0, now[r]);
        plan_tree(&tree[r], ranks, (int)r, 0, 0);
    }
    double end = replay(ranks, tree, w);
    free_graph(ranks, tree);
    free(there);
    free(now);
    return end;
}

// For a power of 2 of ranks and of parts.
static ops *plan(int ranks, size_t parts, const costs *c)
{
    ops *graph = get((size_t)ranks, sizeof *graph);
    const size_t n = c->n + 2;
    for (int r = 0; r < ranks; r++) {
        append(&graph[r], COMPUTE, 0, (double)parts / ranks * c->part);
        if (n >= ADREV_MPI_SLICE && ranks > 1)
            plan_slices(&graph[r], ranks, r, n, c->sum);
        else
            plan_tree(&graph[r], ranks, r, n, c->sum);
        plan_tree(&graph[r], ranks, r, 0, 0);
    }
    return graph;
}

// A plate in square blocks of side x side points: in each step `halos` halos,
// each followed by its part of what is computed. For a power of 4 of ranks.
static ops *plan_plate(int ranks, double side, double seconds, int halos)
{
    ops *graph = get((size_t)ranks, sizeof *graph);
    const int q = (int)lround(sqrt(ranks));
    for (int r = 0; r < ranks; r++) {
        const int near[4] = { r >= q ? r - q : -1, r + q < ranks ? r + q : -1,
                              r % q > 0 ? r - 1 : -1,
                              r % q + 1 < q ? r + 1 : -1 };
        for (int s = 0; s < PLATE_STEPS * halos; s++) {
            for (int k = 0; k < 4; k++)
                if (near[k] >= 0)
                    append(&graph[r], SEND, near[k], side + ADX_MPI_FRONT);
            for (int k = 0; k < 4; k++)
                if (near[k] >= 0)
                    append(&graph[r], RECEIVE, near[k], side + ADX_MPI_FRONT);
            append(&graph[r], COMPUTE, 0, seconds / halos);
        }
    }
    return graph;
}

// The same as the sum of parts, by a formula.
static double model(int ranks, size_t parts, const costs *c, network w)
{
    const double p = ranks, n = (double)c->n + 2, deep = log2(p);
    double t = (double)parts / p * c->part;
    if (n >= ADREV_MPI_SLICE && ranks > 1)
        t += 2 * w.alpha + 2 * n * (p - 1) / p * w.beta
           + n * (p - 1) / p * c->sum;
    else
        t += deep * (2 * (w.alpha + n * w.beta) + n * c->sum);
    return t + 2 * deep * (w.alpha + WORDS * w.beta);
}

// Whether the recorded messages are those of the plan, in the same order.
static bool is_planned(int ranks, const ops *got, const ops *want)
{
    for (int r = 0; r < ranks; r++) {
        size_t k = 0;
        for (size_t i = 0; i < want[r].n; i++) {
            const op *o = &want[r].op[i];
            if (o->what == COMPUTE)
                continue;
            while (k < got[r].n && got[r].op[k].what == COMPUTE)
                k++;
            // a receive may have room for more than comes
            if (k == got[r].n || got[r].op[k].what != o->what
                || got[r].op[k].peer != o->peer
                || (o->what == SEND && got[r].op[k].amount != o->amount))
                return false;
            k++;
        }
        for (; k < got[r].n; k++)
            if (got[r].op[k].what != COMPUTE)
                return false;
    }
    return true;
}

/* ---------------------------------------------------------------------------
 * What is measured
 * ------------------------------------------------------------------------- */

typedef struct problem {
    size_t n, terms;
} problem;

static ad_rev part(size_t i, const ad_rev *x, void *ctx)
{
    const problem *p = ctx;
    ad_rev s = { .v = 0 };
    size_t k = i * 7919 % p->n;
    for (size_t j = 0; j < p->terms; j++, k = k + 1 < p->n ? k + 1 : 0)
        s = ad_rec(ad_add(s, ad_sqr(ad_sin(ad_mul(x[k], x[(k + 1) % p->n])))));
    return s;
}

// One call, between two barriers. graph: what it did, on rank 0; or NULL.
static double seconds_of(ad_mpi *c, const problem *p, const double x[],
                         double g[], ops **graph)
{
    ops mine = { .n = 0 };
    double y;
    PMPI_Barrier(MPI_COMM_WORLD);
    double begun = latest = wall();
    waiting = false;
    recorded = graph == NULL ? NULL : &mine;
    ad_status s = ad_mpi_grad(c, PARTS, part, (void *)(uintptr_t)p, p->n, x,
                              &y, g);
    if (recorded != NULL)
        note_computing();
    recorded = NULL;
    double took = wall() - begun;
    wrong |= s != ADREV_OK;
    PMPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX,
                   MPI_COMM_WORLD);
    if (graph != NULL)
        *graph = collect(&mine);
    free(mine.op);
    return took;
}

// Parts on one rank alone; the others sleep in the barrier, or wait for a
// processor. Then sums of two vectors.
static costs measure_costs(ad_mpi *alone, const problem *p, const double x[],
                           double g[])
{
    costs c = { .n = p->n };
    double times[ROUNDS], y;
    for (int r = 0; r <= ROUNDS && rank == 0; r++) {
        double begun = wall();
        wrong |= ad_mpi_grad(alone, PARTS, part, (void *)(uintptr_t)p, p->n, x,
                             &y, g) != ADREV_OK;
        times[r > 0 ? r - 1 : 0] = (wall() - begun) / PARTS;
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        c.part = summarise(ROUNDS, times, NULL).median;
    for (int r = 0; r <= ROUNDS && rank == 0; r++) {
        double begun = wall();
        for (size_t i = 0; i < p->n; i++)
            g[i] += x[i];
        times[r > 0 ? r - 1 : 0] = (wall() - begun) / (double)p->n;
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        c.sum = summarise(ROUNDS, times, NULL).median;
    return c;
}

// Half of there and back, between the first two ranks, by the library.
static double message(ad_mpi *c, size_t n, int times)
{
    ad_rev *x = get(n, sizeof *x);
    PMPI_Barrier(MPI_COMM_WORLD);
    double begun = wall();
    for (int i = 0; i < 2 * times && rank < 2; i++)
        wrong |= ((i + rank) % 2 == 0 ? ad_mpi_send(c, 1 - rank, n, x)
                                      : ad_mpi_recv(c, 1 - rank, n, x))
              != ADREV_OK;
    double took = (wall() - begun) / times / 2;
    free(x);
    return took;
}

static network measure_network(ad_mpi *c)
{
    enum { LONG = 100000 };
    network w = { 0, 0 };
    message(c, 1, 100);
    w.alpha = message(c, 1, 1000);
    w.beta = (message(c, LONG, 50) - w.alpha) / LONG;
    return w;
}

enum { SIDE = 64, STEPS = 20, POINTS = SIDE * SIDE };

// The neighbours of a point.
static void around(int i, int at[4])
{
    at[0] = i > 0 ? i - 1 : i;
    at[1] = i + 1 < POINTS ? i + 1 : i;
    at[2] = i >= SIDE ? i - SIDE : i;
    at[3] = i + SIDE < POINTS ? i + SIDE : i;
}

// The steps in plain C.
static void run_plain(double u[2][POINTS])
{
    int n[4];
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < POINTS; i++) {
            const double *v = u[s % 2];
            around(i, n);
            u[1 - s % 2][i] = v[i] + 0.1 * (1 + v[i])
                * (v[n[0]] + v[n[1]] + v[n[2]] + v[n[3]] - 4 * v[i]);
        }
}

// Seconds of a point in a step: in plain C, and recorded and swept.
static void measure_plate(double *plain, double *derived)
{
    static ad_rev u[2][POINTS], x[POINTS];
    static double at[POINTS], v[2][POINTS], g[POINTS], times[2][ROUNDS];
    ad_tape *t = ad_tape_new();
    for (int i = 0; i < POINTS; i++)
        at[i] = 0.001 * (i % 97);
    for (int r = 0; r <= ROUNDS && rank == 0; r++) {
        int k = r > 0 ? r - 1 : 0;
        memcpy(v[0], at, sizeof at);
        double begun = wall();
        run_plain(v);
        double middle = wall();
        ad_tape_clear(t);
        ad_use(t);
        ad_inputs(POINTS, at, x);
        memcpy(u[0], x, sizeof x);
        for (int s = 0; s < STEPS; s++)
            for (int i = 0; i < POINTS; i++) {
                const ad_rev *w = u[s % 2];
                int n[4];
                around(i, n);
                ad_expr flow = ad_sub(ad_add(ad_add(w[n[0]], w[n[1]]),
                                             ad_add(w[n[2]], w[n[3]])),
                                      ad_mul(4, w[i]));
                u[1 - s % 2][i] = ad_rec(ad_add(w[i], ad_mul(
                    ad_mul(0.1, flow), ad_add(1, w[i]))));
            }
        ad_rev y = ad_norm2(POINTS, u[STEPS % 2]);
        wrong |= ad_gradient(t, y, POINTS, x, g) != ADREV_OK;
        times[0][k] = (middle - begun) / STEPS / POINTS;
        times[1][k] = (wall() - middle) / STEPS / POINTS;
        for (int i = 0; i < POINTS; i++)
            wrong |= fabs(v[STEPS % 2][i] - u[STEPS % 2][i].v) > 1e-12;
    }
    ad_use(NULL);
    ad_tape_free(t);
    *plain = rank == 0 ? summarise(ROUNDS, times[0], NULL).median : 0;
    *derived = rank == 0 ? summarise(ROUNDS, times[1], NULL).median : 0;
    PMPI_Barrier(MPI_COMM_WORLD);
}

/* ---------------------------------------------------------------------------
 * Tables
 * ------------------------------------------------------------------------- */

static void compare_recorded(ad_mpi *c, const problem *p, const costs *k,
                             const double x[], double g[], network w)
{
    double measured[ROUNDS], replayed[ROUNDS];
    bool planned = true;
    seconds_of(c, p, x, g, NULL);
    for (int r = 0; r < ROUNDS; r++) {
        ops *graph;
        measured[r] = seconds_of(c, p, x, g, &graph);
        if (rank != 0)
            continue;
        ops *want = plan(size, PARTS, k);
        planned &= is_planned(size, graph, want);
        replayed[r] = replay(size, graph, w);
        free_graph(size, want);
        free_graph(size, graph);
    }
    if (rank != 0)
        return;
    wrong |= !planned;
    printf("recorded  n = %-8zu measured", p->n);
    print_seconds(summarise(ROUNDS, measured, NULL).median);
    printf("   replayed");
    print_seconds(summarise(ROUNDS, replayed, NULL).median);
    printf("   replayed/measured %.3f   %s\n",
           summarise(ROUNDS, replayed, measured).median,
           planned ? "planned" : "NOT PLANNED");
}

static double replayed_plan(int ranks, ops *graph, network w)
{
    double t = replay(ranks, graph, w);
    free_graph(ranks, graph);
    return t;
}

// Of slices both ways, as long as the graph is small.
static double replayed_sum(int ranks, size_t parts, const costs *c, network w)
{
    bool sliced = c->n + 2 >= ADREV_MPI_SLICE;
    double t = sliced ? replay_slices(ranks, parts, c, w) : 0;
    if (sliced && ranks > 64)
        return t;
    double same = replayed_plan(ranks, plan(ranks, parts, c), w);
    wrong |= sliced && fabs(t - same) > 1e-9 * same;
    return same;
}

static void predict_sum(const costs *c, network w, bool weak)
{
    const char *kind = weak ? "weak" : "strong";
    double one = model(1, weak ? WEAK : STRONG, c, w);
    for (int row = 0; row < 2; row++) {
        printf("sum, n = %-8zu %-7s %-9s", c->n, kind,
               row == 0 ? "model" : "replayed");
        for (int p = 16; p <= MOST_RANKS; p *= 4) {
            size_t parts = weak ? (size_t)p * WEAK : STRONG;
            double ideal = weak ? one : one / p;
            if (row == 0)
                printf(" %6.1f %%", 100 * ideal / model(p, parts, c, w));
            else
                printf(" %6.1f %%", 100 * ideal
                                    / replayed_sum(p, parts, c, w));
        }
        printf("\n");
    }
}

// halos: in each step.
static void predict_plate(double point, int halos, network w, bool weak)
{
    const char *which = halos == 1 ? "plain" : "gradient";
    for (int row = 0; row < 2; row++) {
        printf("plate, %-11s %-7s %-9s", which, weak ? "weak" : "strong",
               row == 0 ? "model" : "replayed");
        for (int p = 16; p <= MOST_RANKS; p *= 4) {
            double side = weak ? BLOCK : PLATE / sqrt(p);
            double compute = side * side * point;
            double halo = halos * (4 * side * w.beta + w.alpha);
            double step = row == 0 ? compute + halo     // 4 at a time
                : replayed_plan(p, plan_plate(p, side, compute, halos), w)
                  / PLATE_STEPS;
            printf(" %6.1f %%", 100 * compute / step);
        }
        printf("\n");
    }
}

static void predict(const costs c[2], double plain, double derived, network w)
{
    printf("\nPREDICTION of efficiency, alpha %.1e s, %.2e numbers/s\n%33s",
           w.alpha, 1 / w.beta, "ranks");
    for (int p = 16; p <= MOST_RANKS; p *= 4)
        printf(" %6d  ", p);
    printf("\n");
    for (int i = 0; i < 4; i++)
        predict_sum(&c[i / 2], w, i % 2 > 0);
    for (int weak = 0; weak < 2; weak++) {
        predict_plate(plain, 1, w, weak > 0);
        predict_plate(derived, 2, w, weak > 0);
    }
}

int main(int argc, char **argv)
{
    static const problem problems[2] = { { 1000, 3000 }, { 1000000, 100000 } };
    network far = { 2e-6, 1 / 1.25e9 };
    costs c[2];
    double plain, derived;
    MPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 3)
        far = (network){ atof(argv[1]), 1 / atof(argv[2]) };
    ad_mpi *alone = ad_mpi_new(MPI_COMM_SELF);
    ad_mpi *all = ad_mpi_new(MPI_COMM_WORLD);
    network near = { 0, 0 };
    if (size > 1)
        near = measure_network(all);
    if (rank == 0)
        printf("flags %s, %d ranks\nalpha %.2e s, %.2e numbers/s, here, "
               "through the library\n", BENCH_FLAGS, size, near.alpha,
               1 / near.beta);
    for (int i = 0; i < 2; i++) {
        size_t n = problems[i].n;
        double *x = get(n, sizeof *x), *g = get(n, sizeof *g);
        for (size_t k = 0; k < n; k++)
            x[k] = 0.5 + (double)(k % 11) / 20;
        c[i] = measure_costs(alone, &problems[i], x, g);
        if (rank == 0) {
            printf("n = %-8zu a part", n);
            print_seconds(c[i].part);
            printf(", to add a number");
            print_seconds(c[i].sum);
            printf("\n");
        }
        compare_recorded(all, &problems[i], &c[i], x, g, near);
        free(x);
        free(g);
    }
    measure_plate(&plain, &derived);
    if (rank == 0) {
        printf("plate      a point in plain C");
        print_seconds(plain);
        printf(", recorded and swept");
        print_seconds(derived);
        printf("\n");
        predict(c, plain, derived, far);
    }
    ad_mpi_free(all);
    ad_mpi_free(alone);
    MPI_Finalize();
    return wrong;
}
