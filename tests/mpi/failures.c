// SPDX-License-Identifier: MIT-0
// tags: part
/* failures.c - what fails on one rank alone ends the program on all of them,
 * and the next one works (mpi.sh): tapes that fail, wrong arguments, messages
 * that do not belong together, memory, sweeps, requests; and an MPI function
 * that fails breaks the communicator on all of them.                         */

#define ADREV_IMPLEMENTATION
#include "adrev_mpi.h"
#include "check.h"
#include "heap.h"
#include "ranks.h"

static int R, P;
static bool odd_one;            // this rank is the one that fails

#define EXPECT(call, want)                                                  \
    do {                                                                    \
        ad_status expect_got = (call);                                      \
        ad_status expect_want = (want);                                     \
        CHECK(expect_got == expect_want, "%s on %d: %s, want: %s", #call, R, \
              ad_message(expect_got), ad_message(expect_want));             \
    } while (0)

/* --- MPI that fails ------------------------------------------------------- */

// The library's calls of MPI come through here. One of them fails on this rank:
// number `fails` of a function, counted from when it was set.
typedef enum function { ISEND, IPROBE, RECV, TEST, FUNCTIONS } function;

static struct { function which; unsigned long fails, calls; } fake;
static bool other_switches;     // of this rank than of the others
static bool unbuffered;         // MPI keeps no message that nobody has taken

static bool breaks(function which)
{
    return fake.fails > 0 && which == fake.which && ++fake.calls == fake.fails;
}

int MPI_Isend(const void *from, int n, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    return breaks(ISEND) ? MPI_ERR_OTHER
         : unbuffered ? PMPI_Issend(from, n, type, to, tag, comm, request)
         : PMPI_Isend(from, n, type, to, tag, comm, request);
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *there, MPI_Status *status)
{
    return breaks(IPROBE) ? MPI_ERR_OTHER
         : PMPI_Iprobe(from, tag, comm, there, status);
}

int MPI_Recv(void *to, int n, MPI_Datatype type, int from, int tag,
             MPI_Comm comm, MPI_Status *status)
{
    return breaks(RECV) ? MPI_ERR_OTHER
         : PMPI_Recv(to, n, type, from, tag, comm, status);
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    return breaks(TEST) ? MPI_ERR_OTHER : PMPI_Test(request, done, status);
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type,
                  MPI_Op op, MPI_Comm comm)
{
    if (!other_switches)
        return PMPI_Allreduce(from, to, n, type, op, comm);
    const int *mine = from;
    const int other[] = { mine[0], mine[1] + 1, mine[2] - 1 };
    return PMPI_Allreduce(other, to, n, type, op, comm);
}

/* --- a program ------------------------------------------------------------ */

// A program with all kinds of statements. `meet` is called in its middle.
static ad_status program(ad_mpi *c, ad_tape *t, double *g, void (*meet)(void))
{
    const double at[] = { 1.5, 0.5 + R, 2, -1 };
    const size_t ends[] = { 1, 0 };
    size_t count[16];
    ad_rev x[4], y[8], z[64] = {{0}}, all[64];
    ad_mpi_request *request = NULL, *message = NULL, *sent = NULL;
    ad_mpi_side side = { (R + 1) % P, 1, &ends[0], 1, &ends[1], 0, 0 };
    for (int r = 0; r < P; r++)
        count[r] = 2;
    side.rank = R % 2 == 0 ? R + 1 : R - 1;
    if (side.rank >= P)
        side.rank = MPI_PROC_NULL;
    ad_tape_clear(t);
    ad_use(t);
    ad_inputs(4, at, x);
    ad_ignore(ad_mpi_halo_start(c, 1, &side, 4, x, &request));
    ad_ignore(ad_mpi_irecv(c, (R + P - 1) % P, 2, y, &message));
    if (meet != NULL && odd_one)
        meet();
    ad_ignore(ad_mpi_isend(c, (R + 1) % P, 2, x + 1, &sent));
    ad_ignore(ad_mpi_allreduce(c, ADREV_MPI_PROD, 2, x, z));
    ad_ignore(ad_mpi_reduce(c, ADREV_MPI_MAX, 0, 1, x + 1, z + 2));
    if (request != NULL)
        ad_ignore(ad_mpi_halo_finish(c, &request, 4, x));
    if (message != NULL)
        ad_ignore(ad_mpi_wait(c, &message));
    if (sent != NULL)
        ad_ignore(ad_mpi_wait(c, &sent));
    ad_ignore(ad_mpi_allgatherv(c, 2, z, count, all));
    ad_ignore(ad_mpi_bcast(c, 0, 2, z));
    ad_ignore(ad_mpi_sendrecv(c, (R + 1) % P, 1, z, (R + P - 1) % P, 1, y));
    z[3] = ad_rec(ad_add(ad_mul(all[1], y[0]), z[1]));
    ad_ignore(ad_mpi_allreduce(c, ADREV_MPI_SUM, 1, z + 3, z + 4));
    ad_status s = ad_mpi_gradient(c, t, z[4], 4, x, g);
    double J[8];
    ad_status more = ad_mpi_jacobian(c, t, 2, z + 3, 4, x, J);
    CHECK(s != ADREV_OK || more == ADREV_OK || more == ADREV_ENOMEM
          || more == ADREV_EREMOTE, "jacobian: %s", ad_message(more));
    return s;
}

static void works(ad_mpi *c, ad_tape *t)
{
    double g[4];
    EXPECT(program(c, t, g, NULL), ADREV_OK);
    CHECK(g[0] == g[0], "a gradient");
}

/* --- tapes --------------------------------------------------------------- */

static void fail_tape(void)
{
    EXPECT(ad_fail(ADREV_ENONFINITE, "on purpose"), ADREV_ENONFINITE);
}

static void test_tapes(ad_mpi *c, ad_tape *t)
{
    double g[4] = { 7, 7, 7, 7 };
    ad_status mine = odd_one ? ADREV_ENONFINITE : ADREV_EREMOTE;
    EXPECT(program(c, t, g, fail_tape), mine);
    CHECK(g[0] == 7 && g[3] == 7, "the gradient is untouched");
    EXPECT(ad_tape_status(t), mine);
    works(c, t);

    // nobody asks for a derivative
    ad_rev x, y;
    ad_tape_clear(t);
    x = ad_input(1);
    if (odd_one)
        fail_tape();
    EXPECT(ad_mpi_allreduce(c, ADREV_MPI_SUM, 1, &x, &y), mine);
    CHECK(y.v != y.v && y.job == 0, "NaN after a failure");
    EXPECT(ad_mpi_agree(c, ADREV_OK), mine);
    works(c, t);

    // a statement has no room on a tape, which its status says alone; but its
    // messages have come
    static _Alignas(16) char room[1800];
    static ad_rev many[400];
    ad_tape *small = ad_tape_in(room, sizeof room);
    ad_use(odd_one ? small : NULL);
    ad_status s = ad_mpi_allreduce(c, ADREV_MPI_SUM, 400, many, many);
    CHECK(odd_one ? s == ADREV_EFULL : s == ADREV_OK || s == ADREV_EREMOTE,
          "no room: %s", ad_message(s));
    EXPECT(ad_mpi_agree(c, ADREV_OK), odd_one ? ADREV_EFULL : ADREV_EREMOTE);
    ad_use(NULL);
    ad_tape_free(small);
    works(c, t);

    // a full tape
    small = ad_tape_in(room, sizeof room);
    EXPECT(program(c, odd_one ? small : t, g, NULL),
           odd_one ? ADREV_EFULL : ADREV_EREMOTE);
    ad_tape_free(small);
    works(c, t);
}

/* --- arguments ----------------------------------------------------------- */

// Makes call k; here: with something wrong. Returns its status, or
// ADREV_STATUS_COUNT: there is no such call.
static ad_status call(ad_mpi *c, int k, bool here)
{
    static ad_rev kept[1];
    ad_rev x[8] = {{0}}, y[8 * 16];
    static const size_t ends[] = { 1, 0 };
    size_t one[16], n = here ? SIZE_MAX : 1, much = here ? SIZE_MAX / 16 : 1;
    int up = (R + 1) % P, down = (R + P - 1) % P;
    ad_mpi_side side = { up, n, ends, 1, ends + 1, 0, 0 };
    ad_mpi_side other = { up, 1, here ? NULL : ends, 1, ends + 1, 0, 0 };
    ad_mpi_side keyed = { up, 1, ends, 1, ends + 1, here ? 64 : 0, 0 };
    ad_mpi_side twice[3] = { { .rank = MPI_PROC_NULL },
                             { up, 1, ends, 1, ends + 1, 5, 6 },
                             { up, 1, ends, 1, ends + 1, 6, 5 } };
    if (here && k == 25)
        twice[2].send_key = 5;
    if (here && k == 26)
        twice[2].receive_key = 6;
    ad_mpi_request *r;
    for (int i = 0; i < P; i++)
        one[i] = here && i == P - 1 ? SIZE_MAX - 1 : 1;
    switch (k) {
        case 0: return ad_mpi_allreduce(c, ADREV_MPI_SUM, n, x, y);
        case 1: return ad_mpi_allreduce(c, ADREV_MPI_MAX, much, x, y);
        case 2: return ad_mpi_allreduce(c, ADREV_MPI_PROD, 1, here ? NULL : x,
                                        y);
        case 3: return ad_mpi_allreduce(c, (ad_mpi_op)(here ? 9 : 0), 1, x, y);
        case 4: return ad_mpi_reduce(c, ADREV_MPI_MIN, here ? P : 0, 1, x, y);
        case 5: return ad_mpi_bcast(c, 0, n, x);
        case 6: return ad_mpi_bcast(c, here ? -1 : 0, 1, x);
        case 7: return ad_mpi_sendrecv(c, up, n, x, down, 1, y);
        case 8: return ad_mpi_sendrecv(c, up, 1, x, down, n, y);
        case 9: return ad_mpi_sendrecv(c, here ? P : up, 1, x, down, 1, y);
        case 10: return ad_mpi_send(c, up, n, x);
        case 11: return ad_mpi_recv(c, here ? -7 : down, 1, y);
        case 12: return ad_mpi_allgatherv(c, 1, x, one, y);
        case 13: return ad_mpi_allgatherv(c, 1, x, here ? NULL : one, y);
        case 14: return ad_mpi_alltoallv(c, one, x, one, y);
        case 15: return ad_mpi_gatherv(c, 0, n, x, one, y);
        case 16: return ad_mpi_scatterv(c, 0, one, x, n, y);
        case 17: return ad_mpi_halo(c, 1, &side, 2, x);
        case 18: return ad_mpi_halo(c, 1, &other, 2, x);
        case 19: return ad_mpi_halo(c, 1, &keyed, 2, x);
        case 20: return ad_mpi_halo(c, 1, &keyed, 2, here ? NULL : x);
        case 21: return ad_mpi_isend(c, up, n, x, &r);
        case 22: return ad_mpi_irecv(c, down, n, kept, &r);
        case 23: return ad_mpi_halo_start(c, n, &keyed, 2, x, &r);
        case 24: r = NULL; return ad_mpi_wait(c, here ? NULL : &r);
        case 25: return ad_mpi_halo(c, 3, twice, 2, x);
        case 26: return ad_mpi_halo_start(c, 3, twice, 2, x, &r);
        default: return ADREV_STATUS_COUNT;
    }
}

// Wrong on one rank: there ADREV_ESHAPE, and at the next agreement all know.
static void test_arguments(ad_mpi *c, ad_tape *t)
{
    for (int k = 0;; k++) {
        ad_tape_clear(t);
        ad_use(t);
        ad_status s = call(c, k, odd_one);
        if (s == ADREV_STATUS_COUNT)
            break;
        bool remote = s == ADREV_OK || s == ADREV_EREMOTE;
        bool all = k == 24;     // wrong on all ranks: who is first tells the others
        bool wrong = s == ADREV_ESHAPE;
        CHECK(all ? wrong || remote : odd_one ? wrong : remote, "call %d: %s",
              k, ad_message(s));
        s = ad_mpi_agree(c, ad_tape_status(t));
        CHECK(all ? s == ADREV_ESHAPE || s == ADREV_EREMOTE
                  : s == (odd_one ? ADREV_ESHAPE : ADREV_EREMOTE),
              "after call %d: %s", k, ad_message(s));
        EXPECT(ad_mpi_agree(c, ADREV_OK), ADREV_OK);
    }
    works(c, t);
    ad_rev x = {0};
    ad_rev y = {0};
    EXPECT(ad_mpi_recv(NULL, 0, 1, &y), ADREV_ENOTAPE);
    CHECK(y.v != y.v, "NaN without an ad_mpi");
    EXPECT(ad_mpi_bcast(NULL, 0, 1, &x), ADREV_ENOTAPE);
    EXPECT(ad_mpi_send(NULL, 0, 1, &x), ADREV_ENOTAPE);
    EXPECT(ad_mpi_halo(NULL, 0, NULL, 1, &x), ADREV_ENOTAPE);
    EXPECT(ad_mpi_allreduce(NULL, ADREV_MPI_SUM, 1, &x, &x), ADREV_ENOTAPE);
    works(c, t);
}

// Messages that do not belong together.
static void test_mismatches(ad_mpi *c, ad_tape *t)
{
    ad_rev x[4], y[64];
    const double at[] = { 1, 2, 3, 4 };
    size_t count[16];
    for (int r = 0; r < P; r++)
        count[r] = 4;
    for (int k = 0; k < 5; k++) {
        if ((k == 1 || (k == 4 && P > 3)) && !ADREV_DEBUG)
            continue;           // each waits for the other
        ad_tape_clear(t);
        ad_use(t);
        ad_inputs(4, at, x);
        bool here = odd_one;
        if (k == 0)
            ad_ignore(ad_mpi_allreduce(c, ADREV_MPI_SUM, here ? 3 : 4, x, y));
        else if (k == 1)
            ad_ignore(here ? ad_mpi_bcast(c, 0, 4, x)
                           : ad_mpi_allreduce(c, ADREV_MPI_SUM, 4, x, y));
        else if (k == 2)
            ad_ignore(ad_mpi_sendrecv(c, (R + 1) % P, here ? 3 : 4, x,
                                      (R + P - 1) % P, 4, y));
        else if (k == 4)
            ad_ignore(here ? ad_mpi_gatherv(c, 0, 4, x, count, y)
                           : ad_mpi_reduce(c, ADREV_MPI_SUM, 0, 4, x, y));
        else
            ad_ignore(ad_mpi_sendrecv(c, (R + 1) % P, 4, x, (R + P - 1) % P,
                                      here ? 4 : 4 - (R + 1 == P), y));
        ad_status s = ad_mpi_agree(c, ad_tape_status(t));
        int bad = s == ADREV_ESHAPE, any = 0;
        MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        CHECK(k == 3 || (any && s != ADREV_OK), "mismatch %d: %s", k,
              ad_message(s));
    }
    works(c, t);

    double g[8];
    ad_tape_clear(t);
    ad_inputs(4, at, x);
    ad_rev z = ad_rec(ad_mul(x[0], x[1]));
    EXPECT(odd_one ? ad_mpi_gradient(c, t, z, 4, x, g)
                   : ad_mpi_pushforward(c, t, 4, x, at, 1, &z, g),
           ADREV_ESHAPE);
    EXPECT(ad_mpi_jacobian(c, t, odd_one ? 2 : 1, x, 4, x, g),
           ADREV_ESHAPE);
    works(c, t);
}

// With ADREV_DEBUG: a call that one rank forgets, and a message that nobody
// takes.
static void test_forgotten(ad_mpi *c, ad_tape *t)
{
    double g[4];
    const double at[] = { 1, 2, 3, 4 };
    ad_rev x[4], y[4];
    ad_tape_clear(t);
    ad_use(t);
    ad_inputs(4, at, x);
    ad_rev z = ad_rec(ad_mul(x[0], x[1]));
    if (!odd_one)
        ad_ignore(ad_mpi_allreduce(c, ADREV_MPI_SUM, 4, x, y));
    ad_status s = ad_mpi_gradient(c, t, z, 4, x, g);
    CHECK(s == ADREV_ESHAPE || s == ADREV_EREMOTE, "a forgotten call: %s",
          ad_message(s));
    works(c, t);
    ad_tape_clear(t);
    ad_inputs(4, at, x);
    if (odd_one)
        EXPECT(ad_mpi_send(c, (R + 1) % P, 4, x), ADREV_OK);
    z = ad_rec(ad_mul(x[0], x[1]));
    s = ad_mpi_gradient(c, t, z, 4, x, g);
    CHECK(s == ADREV_ESHAPE || s == ADREV_EREMOTE, "nobody receives: %s",
          ad_message(s));
    works(c, t);
}

/* --- sweeps -------------------------------------------------------------- */

static bool no_pullback(const void *saved, size_t m, const ad_real dy[],
                        size_t n, ad_real dx[])
{
    (void)saved, (void)m, (void)dy, (void)n, (void)dx;
    return false;
}

// A statement of the user's fails in the sweep of one rank, while the others
// wait for its adjoints.
static void test_sweeps(ad_mpi *c, ad_tape *t)
{
    const ad_external_rule rule = { .name = "no", .pullback = no_pullback };
    double g[2] = { 7, 7 };
    const double at[] = { 1, 2 };
    ad_rev x[2], y, z;
    ad_tape_clear(t);
    ad_use(t);
    ad_inputs(2, at, x);
    EXPECT(ad_mpi_allreduce(c, ADREV_MPI_SUM, 1, x, &y), ADREV_OK);
    if (odd_one)
        EXPECT(ad_external(&rule, NULL, 0, 1, &y, 1, at, &y), ADREV_OK);
    EXPECT(ad_mpi_allreduce(c, ADREV_MPI_PROD, 1, &y, &z), ADREV_OK);
    for (int k = 0; k < 2; k++)
        EXPECT(ad_mpi_gradient(c, t, z, 2, x, g),
               odd_one ? ADREV_EEXTERNAL : ADREV_EREMOTE);
    CHECK(g[0] == 7, "the gradient is untouched");
    EXPECT(ad_mpi_gradient(c, odd_one ? NULL : t, z, 2, x, g),
           odd_one ? ADREV_ENOTAPE : ADREV_EREMOTE);
    ad_rev constant = {0};
    EXPECT(ad_mpi_gradient(c, t, constant, 2, x, g),
           R == 0 ? ADREV_EPASSIVE : ADREV_EREMOTE);
    works(c, t);
    ad_tape_clear(t);
    ad_inputs(2, at, x);
    EXPECT(ad_mpi_allreduce(c, ADREV_MPI_SUM, 1, x, &y), ADREV_OK);
    EXPECT(ad_gradient(t, y, 2, x, g), ADREV_EEXTERNAL);    // of one rank
    CHECK(strstr(ad_mpi_reason(c), "swept by ad_mpi_gradient") != NULL, "%s",
          ad_mpi_reason(c));
    EXPECT(ad_mpi_gradient(c, t, y, 2, x, g), ADREV_OK);
    works(c, t);
}

// Statements of two communicators in one recording, in either order.
static void test_two(ad_mpi *c, ad_tape *t)
{
    const double one = 1;
    double g = 7, dy;
    ad_mpi *d = ad_mpi_new(MPI_COMM_WORLD);
    for (int k = 0; k < 4; k++) {
        ad_mpi *first = k % 2 == 0 ? c : d, *asked = k < 2 ? c : d;
        ad_mpi *second = first == c ? d : c;
        ad_tape_clear(t);
        ad_rev x = ad_input(3), y = {0}, z = {0};
        EXPECT(ad_mpi_allreduce(first, ADREV_MPI_SUM, 1, &x, &y), ADREV_OK);
        EXPECT(ad_mpi_sendrecv(second, R, 1, &y, R, 1, &z), ADREV_OK);
        for (int forward = 0; forward < 2; forward++) {
            ad_status s = forward
                        ? ad_mpi_pushforward(asked, t, 1, &x, &one, 1, &z, &dy)
                        : ad_mpi_gradient(asked, t, z, 1, &x, &g);
            CHECK(s == ADREV_EEXTERNAL || s == ADREV_EREMOTE, "order %d: %s", k,
                  ad_message(s));
            CHECK(s == ADREV_EREMOTE
                  || strstr(ad_mpi_reason(asked), "another ad_mpi") != NULL,
                  "order %d: %s", k, ad_mpi_reason(asked));
            EXPECT(ad_mpi_agree(asked == c ? d : c, ADREV_OK), ADREV_OK);
        }
        CHECK(g == 7, "the gradient is untouched");
    }
    works(d, t);
    works(c, t);
    ad_mpi_free(d);
}

// A halo that was started before a failure.
static void test_old_halo(ad_mpi *c, ad_tape *t)
{
    const size_t ends[] = { 1, 0 };
    const double at[] = { 1, 2 };
    ad_mpi_side side = { R, 1, &ends[0], 1, &ends[1], 0, 0 };
    ad_mpi_request *r = NULL;
    ad_rev x[2];
    ad_tape_clear(t);
    ad_inputs(2, at, x);
    EXPECT(ad_mpi_halo_start(c, 1, &side, 2, x, &r), ADREV_OK);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(ad_mpi_agree(c, odd_one ? ADREV_ERACE : ADREV_OK),
           odd_one ? ADREV_ERACE : ADREV_EREMOTE);
    EXPECT(ad_mpi_halo_finish(c, &r, 2, x), ADREV_EREMOTE);
    CHECK(r == NULL && x[0].v != x[0].v && x[1].v == 2, "a halo ends with a "
          "failure");
    EXPECT(ad_tape_status(t), ADREV_OK);
    EXPECT(ad_mpi_agree(c, ADREV_OK), ADREV_OK);
}

static void test_requests(ad_mpi *c, ad_tape *t)
{
    ad_rev x[2], y[2];
    ad_mpi_request *r = NULL, *forgotten = NULL;
    const double at[] = { 1, 2 };
    ad_tape_clear(t);
    ad_use(t);
    ad_inputs(2, at, x);
    EXPECT(ad_mpi_irecv(c, (R + 1) % P, 2, y, &r), ADREV_OK);
    EXPECT(ad_mpi_irecv(c, (R + 1) % P, 2, y, &forgotten), ADREV_OK);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT(ad_mpi_agree(c, odd_one ? ADREV_ERACE : ADREV_OK),
           odd_one ? ADREV_ERACE : ADREV_EREMOTE);
    // all ranks know that it has ended: nobody is stopped by it
    EXPECT(ad_mpi_wait(c, &r), ADREV_EREMOTE);
    CHECK(r == NULL && y[0].v != y[0].v, "a request ends with a failure");
    CHECK(strstr(ad_mpi_reason(c), "before a failure") != NULL, "%s",
          ad_mpi_reason(c));
    EXPECT(ad_tape_status(t), ADREV_OK);
    EXPECT(ad_mpi_agree(c, ADREV_OK), ADREV_OK);
    test_old_halo(c, t);
    works(c, t);
}

/* --- what nobody reads ---------------------------------------------------- */

static ad_rev part(size_t i, const ad_rev *x, void *ctx)
{
    (void)ctx;
    return ad_rec(ad_mul(ad_sqr(x[0]), (double)i));
}

static bool go_on(size_t done, size_t parts, void *user)
{
    (void)user;
    return done <= parts;
}

// Ranks that fail where no other one looks for notes, and progress that rank 0
// does not want to know.
static void test_unread(ad_mpi *c, ad_tape *t)
{
    const double at = 3;
    double g = 0;
    for (int k = 0; k < 4; k++)
        EXPECT(ad_mpi_agree(c, odd_one ? ADREV_ERACE : ADREV_OK),
               odd_one ? ADREV_ERACE : ADREV_EREMOTE);
    for (int k = 0; k < 4; k++)
        EXPECT(ad_mpi_agree(c, ADREV_ERACE), ADREV_ERACE);
    ad_mpi_watch(c, R == 0 ? 1e9 : 0, go_on, NULL);
    EXPECT(ad_mpi_grad(c, 40, part, NULL, 1, &at, NULL, &g), ADREV_OK);
    CHECK(g == 2 * 3 * 780, "a watched sum: %g", g);
    ad_mpi_watch(c, 0, NULL, NULL);
    works(c, t);
}

// A program that goes on after a failure whatever calls return: only the rank
// that failed has a status of its own.
static void test_heedless(ad_mpi *c, ad_tape *t, bool taped)
{
    ad_rev x[2] = {{ .v = 1 }, { .v = 2 }}, y[2] = {{0}};
    ad_mpi_request *r = NULL;
    ad_tape_clear(t);
    ad_use(taped ? t : NULL);
    if (odd_one)
        EXPECT(ad_mpi_send(c, P, 2, x), ADREV_ESHAPE);
    MPI_Barrier(MPI_COMM_WORLD);
    while (!odd_one && ad_mpi_allreduce(c, ADREV_MPI_SUM, 2, x, y) == ADREV_OK)
        continue;
    ad_ignore(ad_mpi_irecv(c, (R + 1) % P, 2, y, &r));
    ad_ignore(ad_mpi_wait(c, &r));
    ad_ignore(ad_mpi_halo_finish(c, &r, 2, x));
    EXPECT(ad_mpi_agree(c, ADREV_OK), odd_one ? ADREV_ESHAPE : ADREV_EREMOTE);
    works(c, t);
}

/* --- memory -------------------------------------------------------------- */

// Runs the program with allocators of its own; allocation k of rank `failing`
// fails, none if k is 0. Returns how many that rank made until the program was
// over. *refused: whether the program, not only what it needs, lacked memory.
static size_t short_of_memory(int failing, size_t k, bool *refused)
{
    heap h = { .failing = R == failing ? k : 0 };
    const ad_allocator memory = { heap_alloc, heap_free, &h };
    ad_mpi *c = ad_mpi_new_with(MPI_COMM_WORLD, &memory);
    ad_tape *t = ad_tape_new_with(&memory);
    int well = c != NULL && t != NULL, all = 0;
    MPI_Allreduce(&well, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    ad_status want = k == 0 ? ADREV_OK
                   : R == failing ? ADREV_ENOMEM : ADREV_EREMOTE;
    ad_status s = ADREV_OK;
    double g[4];
    if (all)
        s = program(c, t, g, NULL);
    CHECK(s == want || s == ADREV_OK, "allocation %zu: %s", k, ad_message(s));
    unsigned long made = h.allocations;
    if (all)
        works(c, t);
    ad_use(NULL);
    ad_tape_free(t);
    ad_mpi_free(c);
    CHECK(h.live == 0, "allocation %zu: %zu blocks are left", k, h.live);
    MPI_Bcast(&made, 1, MPI_UNSIGNED_LONG, failing, MPI_COMM_WORLD);
    *refused = s != ADREV_OK;
    return made;
}

// Each allocation of one rank fails in turn, those of its tape included.
static void test_memory(int failing)
{
    bool refused;
    size_t last = short_of_memory(failing, 0, &refused), failed = 0;
    for (size_t k = 1; k <= last; k += ONE_IN(3)) {
        short_of_memory(failing, k, &refused);
        failed += refused ? ONE_IN(3) : 0;
    }
    // the others are those of the context, of the tape, and of the Jacobian,
    // whose status the program does not return
    CHECK(failed > last / 2 && last > 50, "%zu of %zu allocations met the "
          "program", failed, last);
}

// What nobody waits for, and what fails when it is started.
static void test_leaks(void)
{
    heap h = {0};
    const ad_allocator memory = { heap_alloc, heap_free, &h };
    const size_t ends[] = { 1, 0 };
    ad_mpi_side side = { 0, 1, &ends[0], 1, &ends[1], 0, 0 };
    ad_mpi *c = ad_mpi_new_with(MPI_COMM_SELF, &memory);
    ad_tape *t = ad_tape_new_with(&memory);
    ad_mpi_request *received, *halo;
    ad_rev x[2], y;
    const double at[] = { 1, 2 };
    ad_use(t);
    ad_inputs(2, at, x);
    EXPECT(ad_mpi_irecv(c, 0, 1, &y, &received), ADREV_OK);
    EXPECT(ad_mpi_halo_start(c, 1, &side, 2, x, &halo), ADREV_OK);
    for (int k = 1; k < 16; k++) {      // each of its allocations
        h.failing = h.allocations + (size_t)k;
        ad_status s = ad_mpi_halo_start(c, 1, &side, 2, x, &halo);
        CHECK((halo == NULL) == (s != ADREV_OK), "allocation %d: %s", k,
              ad_message(s));
        EXPECT(ad_mpi_agree(c, ad_tape_status(t)), s);
        ad_tape_clear(t);
        ad_inputs(2, at, x);
    }
    ad_use(NULL);
    ad_tape_free(t);
    ad_mpi_free(c);
    CHECK(h.live == 0, "%zu blocks are left", h.live);
}

/* --- a communicator that breaks ------------------------------------------- */

// Call k of a function fails on one rank. Returns whether the program came to
// it: then nobody waits, each rank is told, and the communicator can only be
// freed.
static bool broken_at(int failing, function which, unsigned long k)
{
    heap h = {0};
    const ad_allocator memory = { heap_alloc, heap_free, &h };
    ad_mpi *c = ad_mpi_new_with(MPI_COMM_WORLD, &memory);
    ad_tape *t = ad_tape_new_with(&memory);
    double g[4];
    ad_rev x = {0};
    fake.which = which;
    fake.calls = 0;
    fake.fails = R == failing ? k : 0;
    ad_status s = program(c, t, g, NULL);
    int hit = R == failing && fake.calls >= k;
    fake.fails = 0;
    MPI_Bcast(&hit, 1, MPI_INT, failing, MPI_COMM_WORLD);
    CHECK(s == ADREV_OK || (hit && s == ADREV_EREMOTE), "function %d fails: %s",
          (int)which, ad_message(s));
    if (hit) {
        EXPECT(ad_mpi_agree(c, ADREV_OK), ADREV_EREMOTE);
        CHECK(strstr(ad_mpi_reason(c), "cannot be used any more") != NULL,
              "function %d: %s", (int)which, ad_mpi_reason(c));
        ad_tape_clear(t);
        EXPECT(ad_mpi_bcast(c, 0, 1, &x), ADREV_EREMOTE);
        CHECK(!ad_mpi_all(c, true), "nobody can be asked");
    } else
        works(c, t);
    ad_use(NULL);
    ad_tape_free(t);
    ad_mpi_free(c);
    CHECK(h.live == 0, "function %d fails: %zu blocks are left", (int)which,
          h.live);
    return hit != 0;
}

static void test_broken(int failing)
{
    // how many calls of the others there are is up to chance
    const unsigned long step[FUNCTIONS] = { ONE_IN(3), ONE_IN(3) * 97, ONE_IN(3),
                                            ONE_IN(3) * 37 };
    for (function which = ISEND; which < FUNCTIONS; which++)
        for (unsigned long k = 1; k < 1000; k += step[which])
            if (!broken_at(failing, which, k))
                break;
    ad_tape *t = ad_tape_new();
    other_switches = R == failing && P > 1;
    ad_mpi *c = ad_mpi_new(MPI_COMM_WORLD);
    CHECK((c == NULL) == (P > 1), "other switches");
    other_switches = false;
    ad_mpi_free(c);
    if (P > 1) {
        MPI_Comm own, both;
        MPI_Comm_split(MPI_COMM_WORLD, R == 0, R, &own);
        MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, R == 0, 0, &both);
        CHECK(ad_mpi_new(both) == NULL, "an intercommunicator");
        MPI_Comm_free(&both);
        MPI_Comm_free(&own);
    }
    c = ad_mpi_new(MPI_COMM_WORLD);
    works(c, t);
    ad_use(NULL);
    ad_tape_free(t);
    ad_mpi_free(c);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    R = ranks_rank;
    P = ranks_size;
    ad_mpi *c = ad_mpi_new(MPI_COMM_WORLD);
    ad_tape *t = ad_tape_new();
    works(c, t);
    test_two(c, t);
    for (int r = 0; r < P; r++) {
        odd_one = R == r;
        unbuffered = r % 2 == 1;
        test_tapes(c, t);
        test_arguments(c, t);
        test_mismatches(c, t);
        if (ADREV_DEBUG)
            test_forgotten(c, t);
        test_sweeps(c, t);
        test_requests(c, t);
        test_unread(c, t);
        test_heedless(c, t, true);
        test_heedless(c, t, false);
    }
    unbuffered = false;
    ad_use(NULL);
    ad_tape_free(t);
    ad_mpi_free(c);
    test_memory(0);
    unbuffered = true;
    test_memory(P - 1);
    unbuffered = false;         // a broken one keeps what MPI may read
    test_leaks();
    test_broken(0);
    test_broken(P - 1);
    return ranks_done("failures");
}
