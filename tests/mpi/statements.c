// SPDX-License-Identifier: MIT-0
// tags: part
/* statements.c - each statement with messages (mpi.sh): values and tangents
 * against the same done by hand with the numbers of all ranks, adjoints against
 * tangents, by exact products of whole numbers; several rows at once; the same
 * in checkpoints; and as many messages back as forward.
 *
 *     mpirun -n 4 statements      also on one of these ranks                 */

#define ADREV_IMPLEMENTATION
#include "adrev_loop.h"
#include "adrev_mpi.h"
#include "check.h"
#include "ranks.h"

#define MOST 64

// What rank r has of rank s in the tests of gathers: lengths differ.
static size_t length(int r) { return (size_t)(r % 3) + 1; }
static size_t pair(int from, int to) { return (size_t)((from + 2 * to) % 3); }

static size_t before(int r)
{
    size_t n = 0;
    for (int s = 0; s < r; s++)
        n += length(s);
    return n;
}

// All numbers of all ranks.
typedef ad_real all_numbers[16][MOST];

typedef struct statement {
    const char *name;
    size_t n, m;                // inputs and results of this rank
    // the statement
    ad_status (*run)(ad_mpi *c, const ad_rev x[], ad_rev y[]);
    // the same by hand: results of this rank from all numbers; v: values,
    // where derivatives depend on them. d == NULL: values
    void (*plain)(all_numbers v, all_numbers d, ad_real y[]);
    bool fewer;                 // not as many messages back
} statement;

static int R, P;                // this rank, of how many
static MPI_Comm ranks;          // these

static ad_real at(all_numbers v, all_numbers d, int r, size_t i)
{
    return d == NULL ? v[r][i] : d[r][i];
}

/* --- exchanges ----------------------------------------------------------- */

static int next_rank(void) { return (R + 1) % P; }
static int last_rank(void) { return (R + P - 1) % P; }

static ad_status run_sendrecv(ad_mpi *c, const ad_rev x[], ad_rev y[])
{
    return ad_mpi_sendrecv(c, next_rank(), 3, x, last_rank(), 3, y);
}

static void plain_shift(all_numbers v, all_numbers d, ad_real y[])
{
    for (size_t i = 0; i < 3; i++)
        y[i] = at(v, d, last_rank(), i);
}

static ad_status run_send(ad_mpi *c, const ad_rev x[], ad_rev y[])
{
    ad_status s = ad_mpi_send(c, next_rank(), 3, x);
    return s == ADREV_OK ? ad_mpi_recv(c, last_rank(), 3, y) : s;
}

// Waits in another order than that of the messages.
static ad_status run_requests(ad_mpi *c, const ad_rev x[], ad_rev y[])
{
    ad_mpi_request *r[6];
    ad_status s = ADREV_OK;
    for (size_t i = 0; i < 3; i++) {
        s = ad_mpi_irecv(c, last_rank(), 1, &y[i], &r[i]);
        if (s == ADREV_OK)
            s = ad_mpi_isend(c, next_rank(), 1, &x[i], &r[3 + i]);
        if (s != ADREV_OK)
            return s;
    }
    for (size_t i = 6; i-- > 0 && s == ADREV_OK;)
        s = ad_mpi_wait(c, &r[i]);
    return s;
}

// y is the array of a halo whose ends come from the neighbours: a ring, so on
// two ranks both neighbours are the same, and on one it is itself.
static const size_t halo_ends[4] = { 1, 3, 0, 4 };

static void halo_sides(ad_mpi_side side[2])
{
    side[0] = (ad_mpi_side){ last_rank(), 1, &halo_ends[0], 1, &halo_ends[2],
                             1, 2 };
    side[1] = (ad_mpi_side){ next_rank(), 1, &halo_ends[1], 1, &halo_ends[3],
                             2, 1 };
}

static ad_status run_halo(ad_mpi *c, const ad_rev x[], ad_rev y[])
{
    ad_mpi_side side[3] = { { .rank = MPI_PROC_NULL } };
    halo_sides(side + 1);
    memcpy(y, x, 5 * sizeof *y);
    return ad_mpi_halo(c, 3, side, 5, y);
}

// Two halos that are under way at once, and end in the other order.
static ad_status run_halos(ad_mpi *c, const ad_rev x[], ad_rev y[])
{
    ad_mpi_request *first, *second;
    ad_mpi_side side[2];
    ad_rev twice[5];
    halo_sides(side);
    for (size_t i = 0; i < 5; i++) {
        y[i] = x[i];
        twice[i] = ad_rec(ad_mul(x[i], 2));
    }
    ad_status s = ad_mpi_halo_start(c, 2, side, 5, y, &first);
    if (s == ADREV_OK)
        s = ad_mpi_halo_start(c, 2, side, 5, twice, &second);
    if (s == ADREV_OK)
        s = ad_mpi_halo_finish(c, &second, 5, twice);
    if (s == ADREV_OK)
        s = ad_mpi_halo_finish(c, &first, 5, y);
    for (size_t i = 0; i < 5; i++)
        y[i] = ad_rec(ad_add(y[i], twice[i]));
    return s;
}

static void plain_halo(all_numbers v, all_numbers d, ad_real y[])
{
    for (size_t i = 1; i < 4; i++)
        y[i] = at(v, d, R, i);
    y[0] = at(v, d, last_rank(), 3);
    y[4] = at(v, d, next_rank(), 1);
}

static void plain_halos(all_numbers v, all_numbers d, ad_real y[])
{
    plain_halo(v, d, y);
    for (size_t i = 0; i < 5; i++)
        y[i] *= 3;
}

/* --- gathers ------------------------------------------------------------- */

static ad_status run_bcast(ad_mpi *c, const ad_rev x[], ad_rev y[])
{
    for (size_t i = 0; i < 4; i++)
        y[i] = x[i];
    return ad_mpi_bcast(c, P - 1, 4, y);
}

static void plain_bcast(all_numbers v, all_numbers d, ad_real y[])
{
    for (size_t i = 0; i < 4; i++)
        y[i] = at(v, d, P - 1, i);
}

static ad_status run_gatherv(ad_mpi *c, const ad_rev x[], ad_rev y[])
{
    size_t count[16];
    for (int r = 0; r < P; r++)
        count[r] = length(r);
    return ad_mpi_gatherv(c, P / 2, length(R), x, R == P / 2 ? count : NULL,
                          R == P / 2 ? y : NULL);
}

static ad_status run_allgatherv(ad_mpi *c, const ad_rev x[], ad_rev y[])
{
    size_t count[16];
    for (int r = 0; r < P; r++)
        count[r] = length(r);
    return ad_mpi_allgatherv(c, length(R), x, count, y);
}

static void plain_gather(all_numbers v, all_numbers d, ad_real y[])
{
    for (int r = 0; r < P; r++)
        for (size_t i = 0; i < length(r); i++)
            *y++ = at(v, d, r, i);
}

static ad_status run_scatterv(ad_mpi *c, const ad_rev x[], ad_rev y[])
{
    size_t count[16];
    for (int r = 0; r < P; r++)
        count[r] = length(r);
    return ad_mpi_scatterv(c, P - 1, R == P - 1 ? count : NULL,
                           R == P - 1 ? x : NULL, length(R), y);
}

static void plain_scatter(all_numbers v, all_numbers d, ad_real y[])
{
    for (size_t i = 0; i < length(R); i++)
        y[i] = at(v, d, P - 1, before(R) + i);
}

static ad_status run_alltoallv(ad_mpi *c, const ad_rev x[], ad_rev y[])
{
    size_t sends[16], receives[16];
    for (int r = 0; r < P; r++) {
        sends[r] = pair(R, r);
        receives[r] = pair(r, R);
    }
    return ad_mpi_alltoallv(c, sends, x, receives, y);
}

static void plain_alltoall(all_numbers v, all_numbers d, ad_real y[])
{
    for (int r = 0; r < P; r++) {
        size_t from = 0;
        for (int s = 0; s < R; s++)
            from += pair(r, s);
        for (size_t i = 0; i < pair(r, R); i++)
            *y++ = at(v, d, r, from + i);
    }
}

static size_t alltoall_sends(void)
{
    size_t n = 0;
    for (int r = 0; r < P; r++)
        n += pair(R, r);
    return n;
}

static size_t alltoall_receives(void)
{
    size_t n = 0;
    for (int r = 0; r < P; r++)
        n += pair(r, R);
    return n;
}

/* --- reductions ---------------------------------------------------------- */

#define REDUCTION(name, op)                                                 \
    static ad_status run_all_##name(ad_mpi *c, const ad_rev x[], ad_rev y[]) \
    {                                                                       \
        return ad_mpi_allreduce(c, op, 4, x, y);                            \
    }                                                                       \
    static ad_status run_##name(ad_mpi *c, const ad_rev x[], ad_rev y[])    \
    {                                                                       \
        return ad_mpi_reduce(c, op, P - 1, 4, x, y);                        \
    }
REDUCTION(sum, ADREV_MPI_SUM)
REDUCTION(prod, ADREV_MPI_PROD)
REDUCTION(min, ADREV_MPI_MIN)
REDUCTION(max, ADREV_MPI_MAX)

static void plain_sum(all_numbers v, all_numbers d, ad_real y[])
{
    for (size_t i = 0; i < 4; i++)
        for (int r = 0; r < P; r++)
            y[i] = (r == 0 ? 0 : y[i]) + at(v, d, r, i);
}

static void plain_prod(all_numbers v, all_numbers d, ad_real y[])
{
    for (size_t i = 0; i < 4; i++) {
        y[i] = d == NULL;
        for (int r = 0; d == NULL && r < P; r++)
            y[i] *= v[r][i];
        for (int r = 0; d != NULL && r < P; r++) {
            ad_real others = 1;
            for (int s = 0; s < P; s++)
                others *= s == r ? 1 : v[s][i];
            y[i] += others * d[r][i];
        }
    }
}

static void plain_extreme(ad_real sign, all_numbers v, all_numbers d,
                          ad_real y[])
{
    for (size_t i = 0; i < 4; i++) {
        ad_real best = v[0][i], tied = 0, sum = 0;
        for (int r = 1; r < P; r++)
            best = sign * v[r][i] > sign * best ? v[r][i] : best;
        for (int r = 0; r < P; r++)
            if (v[r][i] == best) {
                tied++;
                sum += d == NULL ? 0 : d[r][i];
            }
        y[i] = d == NULL ? best : sum / tied;
    }
}

static void plain_min(all_numbers v, all_numbers d, ad_real y[])
{
    plain_extreme(-1, v, d, y);
}

static void plain_max(all_numbers v, all_numbers d, ad_real y[])
{
    plain_extreme(1, v, d, y);
}

/* --- the checks ---------------------------------------------------------- */

static double total(double mine)
{
    double sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, ranks);
    return sum;
}

// Whole numbers from -3 to 3, so that zeros and ties are among them, and
// products of all are exact.
static ad_real number(unsigned seed, int r, size_t i)
{
    unsigned k = seed * 4096 + (unsigned)r * 256 + (unsigned)i;
    for (int round = 0; round < 3; round++) {
        k ^= k >> 15;
        k *= 2246822519u;
        k ^= k >> 13;
    }
    return (k >> 9 & 1023) >= 441 ? (ad_real)(k % 4) : -(ad_real)(k % 4);
}

static void fill(unsigned seed, all_numbers v)
{
    for (int r = 0; r < P; r++)
        for (size_t i = 0; i < MOST; i++)
            v[r][i] = number(seed, r, i);
}

// Adjoints: <dy, J dx> = <dy J, dx> over all ranks, for dx that has one number
// only and for one that has all.
static void check_adjoint(ad_mpi *c, ad_tape *t, const statement *k,
                          const ad_rev x[], const ad_rev y[], unsigned seed)
{
    static all_numbers d, w;
    ad_real tangent[MOST], dx[MOST] = {0};
    fill(seed, w);
    ad_status s = ad_mpi_pullback(c, t, k->m, y, w[R], k->n, x, dx);
    CHECK(s == ADREV_OK, "%s: pullback: %s", k->name, ad_mpi_reason(c));
    for (int rank = -1; rank < P; rank++) {
        fill(seed + 1, d);
        for (int r = 0; r < P && rank >= 0; r++)
            for (size_t i = 0; i < MOST; i++)
                d[r][i] = r == rank && i == seed % 3;
        s = ad_mpi_pushforward(c, t, k->n, x, d[R], k->m, y, tangent);
        CHECK(s == ADREV_OK, "%s: pushforward: %s", k->name, ad_message(s));
        double left = 0, right = 0;
        for (size_t i = 0; i < k->m; i++)
            left += (double)w[R][i] * (double)tangent[i];
        for (size_t i = 0; i < k->n; i++)
            right += (double)dx[i] * (double)d[R][i];
        left = total(left);
        right = total(right);
        CHECK_NEAR(right, left, 4000 * EPSILON);
    }
}

static void check_rows(ad_mpi *c, ad_tape *t, const statement *k,
                       const ad_rev x[], const ad_rev y[])
{
    enum { ROWS = 11 };
    ad_real J[ROWS * MOST], one[MOST], w[MOST];
    unsigned long mine = R == 0 ? k->m : 0, m = 0;
    ad_rev rows[ROWS];
    MPI_Allreduce(&mine, &m, 1, MPI_UNSIGNED_LONG, MPI_MAX, ranks);
    if (m == 0)
        return;
    for (size_t i = 0; i < ROWS && R == 0; i++)
        rows[i] = y[i % m];
    ad_status s = ad_mpi_jacobian(c, t, ROWS, rows, k->n, x, J);
    CHECK(s == ADREV_OK, "%s: jacobian: %s", k->name, ad_message(s));
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < k->m; j++)
            w[j] = R == 0 && j == i % m;
        s = ad_mpi_pullback(c, t, k->m, y, w, k->n, x, one);
        CHECK(s == ADREV_OK, "%s: a row: %s", k->name, ad_message(s));
        for (size_t j = 0; j < k->n; j++)
            CHECK_CLOSE(J[i * k->n + j], one[j], 0);
    }
}

// The statement in a checkpoint, whose sweep sends its messages once more: the
// same bits as without one.
static const statement *kept;
static ad_mpi *kept_by;

static void run_kept(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    CHECK(kept->run(kept_by, x, y) == ADREV_OK, "%s", kept->name);
}

static void check_checkpoint(ad_mpi *c, ad_tape *t, const statement *k,
                             unsigned seed)
{
    static all_numbers v, w;
    ad_real dx[2][MOST] = {{0}}, dy[2][MOST + 1] = {{0}};
    ad_rev x[MOST], y[MOST + 1];
    fill(seed, v);
    fill(seed + 3, w);
    kept = k;
    kept_by = c;
    for (int in = 0; in < 2; in++) {
        ad_tape_clear(t);
        ad_use(t);
        ad_inputs(k->n, v[R], x);
        if (in)
            ad_checkpoint(run_kept, NULL, k->n, x, k->m, y);
        else
            run_kept(x, y, NULL);
        ad_status s = ad_mpi_pullback(c, t, k->m, y, w[R], k->n, x, dx[in]);
        CHECK(s == ADREV_OK, "%s in a checkpoint, %d: pullback: %s", k->name,
              in, ad_mpi_reason(c));
        s = ad_mpi_pushforward(c, t, k->n, x, w[R], k->m, y, dy[in]);
        CHECK(s == ADREV_OK, "%s in a checkpoint, %d: pushforward: %s", k->name,
              in, ad_mpi_reason(c));
    }
    CHECK(memcmp(dx[0], dx[1], sizeof dx[0]) == 0, "%s in a checkpoint: "
          "adjoints", k->name);
    CHECK(memcmp(dy[0], dy[1], sizeof dy[0]) == 0, "%s in a checkpoint: "
          "tangents", k->name);
}

static void check(ad_mpi *c, const statement *k, unsigned seed)
{
    static all_numbers v, d;
    ad_real want[MOST], got[MOST];
    ad_rev in[MOST], x[MOST], y[MOST + 1];
    ad_tape *t = ad_tape_new();
    fill(seed, v);
    fill(seed + 7, d);
    ad_use(t);
    ad_inputs(k->n, v[R], in);
    for (size_t i = 0; i < k->n; i++)
        x[i] = ad_rec(ad_mul(in[i], 1));
    double sent = (double)ad_mpi_messages(c);
    ad_status s = k->run(c, x, y);
    double forward = total((double)ad_mpi_messages(c) - sent);
    CHECK(s == ADREV_OK, "%s: %s", k->name, ad_mpi_reason(c));
    k->plain(v, NULL, want);
    for (size_t i = 0; i < k->m; i++)
        CHECK(y[i].v == want[i], "%s: y[%zu] of %d is %g, want %g", k->name, i,
              R, (double)y[i].v, (double)want[i]);
    s = ad_mpi_pushforward(c, t, k->n, in, d[R], k->m, y, got);
    CHECK(s == ADREV_OK, "%s: pushforward: %s", k->name, ad_mpi_reason(c));
    k->plain(v, d, want);
    for (size_t i = 0; i < k->m; i++)
        CHECK_NEAR(got[i], want[i], 45 * EPSILON);
    sent = (double)ad_mpi_messages(c);
    s = ad_mpi_pullback(c, t, k->m, y, d[R], k->n, in, got);
    double back = total((double)ad_mpi_messages(c) - sent);
    CHECK(s == ADREV_OK && (k->fewer ? back <= forward : back == forward),
          "%s: %g messages forward, %g back", k->name, forward, back);
    check_adjoint(c, t, k, in, y, seed);
    check_rows(c, t, k, in, y);

    check_checkpoint(c, t, k, seed);

    // without a tape; and with constants alone, which is recorded all the same
    ad_use(NULL);
    for (size_t i = 0; i < k->n; i++)
        x[i] = (ad_rev){ .v = v[R][i] };
    k->plain(v, NULL, want);
    CHECK(k->run(c, x, y) == ADREV_OK, "%s: no tape", k->name);
    for (size_t i = 0; i < k->m; i++)
        CHECK(y[i].v == want[i] && y[i].job == 0, "%s: no tape", k->name);
    ad_tape_clear(t);
    ad_use(t);
    ad_rev alone = ad_input(2);
    bool active = R == 0;
    for (size_t i = 0; active && i < k->n; i++)
        x[i] = ad_rec(ad_mul(alone, v[R][i] / 2));
    CHECK(k->run(c, x, y) == ADREV_OK, "%s: constants", k->name);
    ad_real g = 0;
    ad_rev sum = ad_rec(ad_mul(alone, 0));
    for (size_t i = 0; i < k->m; i++)
        sum = ad_rec(ad_add(sum, y[i]));
    ad_rev all;
    CHECK(ad_mpi_allreduce(c, ADREV_MPI_SUM, 1, &sum, &all) == ADREV_OK, "sum");
    s = ad_mpi_gradient(c, t, all, 1, &alone, &g);
    CHECK(s == ADREV_OK && (active || g == 0), "%s: gradient with constants: %s",
          k->name, ad_message(s));
    ad_tape_free(t);
}

// NaN counts as missing; ties of equal zeros; infinities; a
// product with one zero.
static void check_special(ad_mpi *c)
{
    const ad_real nan = (ad_real)NAN, infinite = (ad_real)HUGE_VAL;
    const ad_real count = (ad_real)P;
    ad_real at[4], g[4], want[4] = {0};
    ad_rev x[4], low[4], high[4], product[4], all = {0};
    bool first = R == 0, last = R == P - 1;
    at[0] = first ? nan : (ad_real)(1 + R);
    at[1] = last ? -(ad_real)0 : 0;
    at[2] = last ? infinite : -infinite;
    at[3] = first ? 0 : 2;
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_inputs(4, at, x);
    CHECK(ad_mpi_allreduce(c, ADREV_MPI_MIN, 4, x, low) == ADREV_OK, "min");
    CHECK(ad_mpi_allreduce(c, ADREV_MPI_MAX, 4, x, high) == ADREV_OK, "max");
    CHECK(ad_mpi_allreduce(c, ADREV_MPI_PROD, 4, x, product) == ADREV_OK,
          "prod");
    CHECK_CLOSE(low[0].v, P == 1 ? nan : 2, 0);
    CHECK_CLOSE(high[0].v, P == 1 ? nan : count, 0);
    CHECK(low[1].v == 0 && high[2].v == infinite, "%g %g",
          (double)low[1].v, (double)high[2].v);
    for (size_t i = 0; i < 4; i++)
        for (int which = 0; which < 3; which++) {
            all = which == 0 ? low[i] : which == 1 ? high[i] : product[i];
            CHECK(ad_mpi_gradient(c, t, all, 4, x, g) == ADREV_OK, "special");
            want[0] = which == 2 ? nan : P == 1 ? 1
                    : which == 0 ? R == 1 : last;
            want[1] = which == 2 ? P == 1 : 1 / count;
            want[2] = which == 2 ? 1 : which == 1 ? last : !last || P == 1
                    ? 1 / (P == 1 ? 1 : count - 1) : 0;
            want[3] = which == 2 ? first ? (ad_real)(1 << (P - 1)) : P == 1
                    : which == 0 ? first : P == 1 ? 1 : first ? 0
                    : 1 / (count - 1);
            bool known = which < 2 || i == 1 || i == 3;
            for (size_t j = 0; known && j < 4; j++)
                CHECK_NEAR(g[j], j == i ? want[j] : 0, 4 * EPSILON);
        }
    ad_tape_free(t);
}

// Messages are waited for in reverse, with as many others between any two of
// them as ids have 13 bits; or as there are tags (mpi.sh), which is refused.
static void check_overtaking(ad_mpi *c)
{
    enum { N = 3 };
    const bool few = ADX_MPI_ID_TAGS < 8192;
    const uint32_t between = few ? ADX_MPI_ID_TAGS : 8192;
    const ad_real at[N] = { 1, 2, 3 }, one = 1;
    ad_mpi_request *in[N], *out[N];
    ad_rev x[N], y[N];
    ad_real g[N] = {0};
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_inputs(N, at, x);
    for (size_t i = 0; i < N; i++) {
        ad_ignore(ad_mpi_irecv(c, last_rank(), 1, &y[i], &in[i]));
        ad_ignore(ad_mpi_isend(c, next_rank(), 1, &x[i], &out[i]));
        c->next_id[next_rank()] += between - 1;
    }
    for (size_t i = N; i-- > 0;) {
        ad_ignore(ad_mpi_wait(c, &in[i]));
        ad_ignore(ad_mpi_wait(c, &out[i]));
    }
    ad_rev sum = ad_rec(ad_add(ad_mul(y[1], 10), ad_mul(y[2], 100)));
    ad_status s = ad_mpi_pullback(c, t, 1, &sum, &one, N, x, g);
    if (few)
        CHECK(s == ADREV_ELIMIT || (P > 1 && s == ADREV_EREMOTE), "too few "
              "tags: %s", ad_mpi_reason(c));
    else
        CHECK(s == ADREV_OK && g[0] == 0 && g[1] == 10 && g[2] == 100,
              "overtaking: %s, %g %g %g", ad_message(s), (double)g[0],
              (double)g[1], (double)g[2]);
    ad_use(NULL);
    ad_tape_free(t);
}

static void test_all(ad_mpi *c)
{
    size_t all = before(P);
    size_t last = R == P - 1 ? 4 : 0;
    const statement list[] = {
        { "sendrecv", 3, 3, run_sendrecv, plain_shift, false },
        { "send", 3, 3, run_send, plain_shift, false },
        { "requests", 3, 3, run_requests, plain_shift, false },
        { "halo", 5, 5, run_halo, plain_halo, false },
        { "halos", 5, 5, run_halos, plain_halos, false },
        { "bcast", 4, 4, run_bcast, plain_bcast, false },
        { "gatherv", length(R), R == P / 2 ? all : 0, run_gatherv, plain_gather,
          false },
        { "allgatherv", length(R), all, run_allgatherv, plain_gather, false },
        { "scatterv", R == P - 1 ? all : 0, length(R), run_scatterv,
          plain_scatter, false },
        { "alltoallv", alltoall_sends(), alltoall_receives(), run_alltoallv,
          plain_alltoall, false },
        { "sum", 4, last, run_sum, plain_sum, false },
        { "all_sum", 4, 4, run_all_sum, plain_sum, false },
        { "prod", 4, last, run_prod, plain_prod, true },
        { "all_prod", 4, 4, run_all_prod, plain_prod, false },
        { "min", 4, last, run_min, plain_min, true },
        { "all_min", 4, 4, run_all_min, plain_min, false },
        { "max", 4, last, run_max, plain_max, true },
        { "all_max", 4, 4, run_all_max, plain_max, false },
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (unsigned seed = 1; seed <= 4; seed += ONE_IN(2))
            check(c, &list[i], seed + (unsigned)i);
    check_special(c);
    check_overtaking(c);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    for (int size = 1; size <= ranks_size;
         size = size == 1 && ranks_size > 1 ? ranks_size : ranks_size + 1) {
        ranks = ranks_first(size);
        if (ranks == MPI_COMM_NULL)
            continue;
        R = ranks_rank;
        P = size;
        ad_mpi *c = ad_mpi_new(ranks);
        test_all(c);
        ad_mpi_free(c);
        MPI_Comm_free(&ranks);
    }
    return ranks_done("statements");
}
