// SPDX-License-Identifier: MIT-0
// tags: part
/* hessians.c - second derivatives on several ranks (mpi.sh): H v for a function
 * that is spread over ranks, and for a sum of parts.
 *
 * Numbers and their tangents along v are recorded side by side. What a rank
 * computes alone is a recorded function, called together with its tangent as
 * one statement (`along`, below); messages go twice, since sums and copies are
 * their own tangents. Then the tangent of the result is a recorded number,
 * whose gradient is H v: a reverse sweep over forward mode.
 *
 * A ring of points, in which u[i] becomes u[i] + sin(u[i]) (u[i-1] - u[i+1]) /
 * 4, against ad_fn_hvp of the whole ring on one rank.                        */

#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#include "adrev_mpi.h"
#include "check.h"
#include "ranks.h"

enum { ALL = 24, STEPS = 5 };

/* --- a recorded function together with its tangent -------------------------- */

// Adjoints of x and of its tangent xd, where y = F(x) and yd = J(x) xd.
static bool along_back(const void *saved, size_t m, const ad_real dy[],
                       size_t n, ad_real dx[])
{
    ad_fn *fn = *(ad_fn *const *)saved;
    const ad_real *at = (const ad_real *)(const void *)((ad_fn *const *)saved
                                                        + 1);
    ad_real room[2 * (ALL + 2)];
    n /= 2;
    m /= 2;
    if (ad_fn_vjp(fn, at, dy, room) != ADREV_OK
        || ad_fn_hvp(fn, at, dy + m, at + n, room + n) != ADREV_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        dx[i] += room[i] + room[n + i];
    if (ad_fn_vjp(fn, at, dy + m, room) != ADREV_OK)
        return false;
    for (size_t i = 0; i < n; i++)
        dx[n + i] += room[i];
    return true;
}

// y = F(x) and its tangent yd along xd as one statement: x and xd lie one
// behind the other, and so do y and yd. fn must outlive the recording.
static ad_status along(ad_fn *fn, const ad_rev x[], ad_rev y[])
{
    static const ad_external_rule rule = { .name = "along",
                                           .pullback = along_back };
    size_t n = ad_fn_inputs(fn), m = ad_fn_outputs(fn);
    struct { ad_fn *fn; ad_real at[2 * (ALL + 2)]; } saved = { .fn = fn };
    ad_real v[2 * (ALL + 2)];
    for (size_t i = 0; i < 2 * n; i++)
        saved.at[i] = x[i].v;
    ad_status s = ad_fn_eval(fn, saved.at, v);
    if (s == ADREV_OK)
        s = ad_fn_jvp(fn, saved.at, saved.at + n, v + m);
    return s != ADREV_OK ? s : ad_external(&rule, &saved, sizeof saved, 2 * n, x,
                                           2 * m, v, y);
}

/* --- a ring of points ------------------------------------------------------- */

// A step of n points between two ghosts, which stay as they are.
static void step(const ad_rev *u, ad_rev *v, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    v[0] = u[0];
    v[n + 1] = u[n + 1];
    for (size_t i = 1; i <= n; i++)
        v[i] = ad_rec(ad_add(u[i], ad_mul(ad_mul(0.25, ad_sin(u[i])),
                                          ad_sub(u[i - 1], u[i + 1]))));
}

// Of what the points come to, as one rank has it.
static void misfit(const ad_rev *u, ad_rev *y, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    ad_rev sum = { .v = 0 };
    for (size_t i = 1; i <= n; i++)
        sum = ad_rec(ad_add(sum, ad_mul(ad_sqr(u[i]), ad_exp(u[i]))));
    *y = sum;
}

// The whole ring.
static void whole(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    ad_rev u[ALL + 2], v[ALL + 2];
    memcpy(u + 1, x, n * sizeof *u);
    for (int s = 0; s < STEPS; s++) {
        u[0] = u[n];
        u[n + 1] = u[1];
        step(u, v, ctx);
        memcpy(u, v, sizeof u);
    }
    misfit(u, y, ctx);
}

static ad_real start(size_t i) { return (ad_real)sin(1 + 0.7 * (double)i); }
static ad_real direction(size_t i) { return (ad_real)(i * i % 7) / 4 - 1; }

// u and its tangents are an array of 2(n + 2) numbers, whose ghosts come from
// the neighbours: by two sides for each of them.
static ad_status exchange(ad_mpi *c, size_t n, ad_rev u[])
{
    const size_t at[] = { 1, n + 3, n, 2 * n + 2,           // what goes
                          0, n + 2, n + 1, 2 * n + 3 };     // and comes
    const int rank = ad_mpi_rank(c), size = ad_mpi_size(c);
    const ad_mpi_side side[] = {
        { (rank + size - 1) % size, 2, at, 2, at + 4, 0, 1 },
        { (rank + 1) % size, 2, at + 2, 2, at + 6, 1, 0 } };
    return ad_mpi_halo(c, 2, side, 2 * (n + 2), u);
}

static void test_ring(ad_mpi *c)
{
    size_t n = ALL / (size_t)ad_mpi_size(c), all = ALL;
    const size_t first = n * (size_t)ad_mpi_rank(c);
    const ad_real one = 1;
    ad_real x[ALL], v[ALL], g[ALL], want_g[ALL], hv[ALL], at[ALL + 2];
    ad_rev in[ALL], u[2 * (ALL + 2)] = {{0}}, w[2 * (ALL + 2)], y[2], sum[2];
    ad_fn *ring = NULL, *move = NULL, *end = NULL;
    for (size_t i = 0; i < ALL; i++) {
        x[i] = start(i);
        v[i] = direction(i);
        at[i] = (ad_real)0.5;
    }
    at[ALL] = at[ALL + 1] = 1;
    CHECK(ad_fn_record(&ring, whole, &all, ALL, x, 1) == ADREV_OK
              && ad_fn_gradient(ring, x, NULL, want_g) == ADREV_OK
              && ad_fn_hvp(ring, x, &one, v, hv) == ADREV_OK
              && ad_fn_record(&move, step, &n, n + 2, at, n + 2) == ADREV_OK
              && ad_fn_record(&end, misfit, &n, n + 2, at, 1) == ADREV_OK,
          "recording");
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_inputs(n, x + first, in);
    memcpy(u + 1, in, n * sizeof *u);
    for (size_t i = 0; i < n; i++)
        u[n + 3 + i].v = v[first + i];
    for (int s = 0; s < STEPS; s++) {
        CHECK(exchange(c, n, u) == ADREV_OK && along(move, u, w) == ADREV_OK,
              "step %d: %s", s, ad_tape_reason(t));
        memcpy(u, w, sizeof u);
    }
    CHECK(along(end, u, y) == ADREV_OK, "the end: %s", ad_tape_reason(t));
    CHECK(ad_mpi_allreduce(c, ADREV_MPI_SUM, 2, y, sum) == ADREV_OK, "the sum");
    ad_status s = ad_mpi_gradient(c, t, sum[0], n, in, g);
    CHECK(s == ADREV_OK, "%s", ad_mpi_reason(c));
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(g[i], want_g[first + i], 500 * EPSILON);
    s = ad_mpi_gradient(c, t, sum[1], n, in, g);
    CHECK(s == ADREV_OK, "%s", ad_mpi_reason(c));
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR(g[i], hv[first + i], 4000 * EPSILON);
    ad_use(NULL);
    ad_tape_free(t);
    ad_fn_free(ring);
    ad_fn_free(move);
    ad_fn_free(end);
}

/* --- a sum of parts --------------------------------------------------------- */

enum { PARTS = 100, N = 4 };

typedef struct data {
    double t;
    ad_fn *fn;
} data;

// A part: how far a curve is from a datum.
static void curve(const ad_rev *x, ad_rev *y, void *ctx)
{
    const data *d = ctx;
    y[0] = ad_rec(ad_sqr(ad_sub(ad_mul(x[0], ad_exp(ad_mul(x[1], -d->t))),
                                ad_div(x[2], ad_add(d->t, x[3])))));
}

static const ad_real parts_at[N] = { 2, 0.5, 1.5, 1 };
static const ad_real parts_along[N] = { 1, -0.5, 0.25, 2 };

// The tangent of part i along that direction.
static ad_rev tangent(size_t i, const ad_rev *x, void *ctx)
{
    const data *d = ctx;
    ad_rev both[2 * N] = {{0}}, y[2];
    memcpy(both, x, N * sizeof *x);
    for (size_t j = 0; j < N; j++)
        both[N + j].v = parts_along[j];
    ad_ignore(along(d[i].fn, both, y));
    return y[1];
}

static void test_parts(ad_mpi *c)
{
    static data d[PARTS];
    const ad_real one = 1;
    ad_real hv[N], want[N] = {0}, part[N], y = 0, slope = 0, dy;
    for (size_t i = 0; i < PARTS; i++) {
        d[i].t = 0.05 * (double)i;
        CHECK(ad_fn_record(&d[i].fn, curve, &d[i], N, parts_at, 1) == ADREV_OK
                  && ad_fn_hvp(d[i].fn, parts_at, &one, parts_along, part)
                         == ADREV_OK
                  && ad_fn_jvp(d[i].fn, parts_at, parts_along, &dy) == ADREV_OK,
              "part %zu", i);
        slope += dy;
        for (size_t j = 0; j < N; j++)
            want[j] += part[j];
    }
    ad_status s = ad_mpi_grad(c, PARTS, tangent, d, N, parts_at, &y, hv);
    CHECK(s == ADREV_OK, "%s", ad_mpi_reason(c));
    CHECK_NEAR(y, slope, 500 * EPSILON);
    for (size_t j = 0; j < N; j++)
        CHECK_NEAR(hv[j], want[j], 4000 * EPSILON);
    for (size_t i = 0; i < PARTS; i++)
        ad_fn_free(d[i].fn);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    for (int size = 1; size <= ranks_size; size++) {
        MPI_Comm comm = ranks_first(size);
        if (comm == MPI_COMM_NULL)
            continue;
        ad_mpi *c = ad_mpi_new(comm);
        test_ring(c);
        test_parts(c);
        ad_mpi_free(c);
        MPI_Comm_free(&comm);
    }
    return ranks_done("hessians");
}
