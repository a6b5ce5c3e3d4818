// SPDX-License-Identifier: MIT-0
/* parallel.c - what forks cost, and how much faster programs with forks become.
 *
 *     parallel [-r rounds] [costs] [program...] [ceiling]     default: all
 *
 * Times are on the wall. A round times each number of threads once, one after
 * the other, so that what disturbs the machine for longer disturbs all; ratios
 * are taken within a round, and are medians with, behind the first, half the
 * distance between the quartiles in percent. Busy neighbours make speed-ups
 * look small: the rows of the ceiling say what the machine gave.
 *
 *   no forks     the same program, its branches called one after the other
 *   /1           time with one thread / time with so many
 *   /plain       time without forks / time with so many
 *   predicted    /1 by the measured job graph: work that fills the threads
 *                without a gap, except where the program has none
 *   gradient     same: bit by bit as with one thread, in every round
 *
 * record is the program on a cleared tape, reverse the gradient. What is not
 * representative: particles is four instructions for each number of the tape,
 * so that memory is all it waits for; in price, most of the time to record is
 * spent on random numbers.
 */

#define ADREV_IMPLEMENTATION
#include "../adrev_parallel.h"

#include "report.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

// The mixture and the network of the tests; bundles and hands are not used.
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#define NUM       ad_rev
#define REC(e)    ad_rec(e)
#define NAME(f)   rev_##f
#include "../tests/support/adbench_programs.h"
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

enum {
    ROUNDS = 9,
    COST_ROUNDS = 41,           // of what takes microseconds
    WARM = 3,                   // until every thread's tape has grown
    MEASURED = 5,               // recordings whose jobs are timed
    LANES = 12                  // no forks; 1, 2, 4, ... 512 threads, or all
};

// Sums in another order; of ten thousand terms that cancel, in gmm. A wrong
// partial shows at 1e-3 and above.
static const double tolerance = 1e-9;

static bool wrong;              // anything

/* ---------------------------------------------------------------------------
 * Forks that can be left out
 * ------------------------------------------------------------------------- */

static bool forking;

static void each(size_t n, void (*f)(size_t i, void *ctx), void *ctx)
{
    if (forking) {
        ad_fork_n(n, f, ctx);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        f(i, ctx);
    }
}

// n is a multiple of grain.
static ad_rev reduce(size_t n, size_t grain,
                     ad_rev (*f)(size_t begin, size_t end, void *ctx),
                     void *ctx)
{
    ad_rev *part;
    ad_rev sum;

    if (forking) {
        return ad_parallel_reduce(n, grain, f, NULL, ctx);
    }
    part = get(n / grain, sizeof *part);
    for (size_t i = 0; i < n / grain; i++) {
        part[i] = f(i * grain, (i + 1) * grain, ctx);
    }
    sum = ad_sum(n / grain, part);
    free(part);
    return sum;
}

/* ---------------------------------------------------------------------------
 * Numbers
 * ------------------------------------------------------------------------- */

// The i-th of SplitMix64, between 0 and 1.
static double uniform(uint64_t i)
{
    uint64_t z = i * 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

// A normal number that depends on i only (Box and Muller).
static double normal(uint64_t i)
{
    const double angle = 6.28318530717958648 * uniform(2 * i + 2);

    return sqrt(-2.0 * log(uniform(2 * i + 1))) * cos(angle);
}

static void fill(uint64_t stream, double from, double to, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = from + (to - from) * uniform((stream << 40) + i + 1);
    }
}

/* ---------------------------------------------------------------------------
 * particles: damped springs, a branch each
 * ------------------------------------------------------------------------- */

enum { PARTICLES = 2000, STEPS = 1000 };

#define SPRING_K 0.5
#define SPRING_D 0.2
#define SPRING_H 0.05

static void fill_particles(double *x)
{
    for (size_t i = 0; i < PARTICLES; i++) {
        const double start[] = { 0.5 * (double)(i + 1), 0.1, 1.0, 1.0 };

        memcpy(x + 4 * i, start, sizeof start);
    }
}

typedef struct swarm {
    const ad_rev *x;
    ad_rev part[PARTICLES];
} swarm;

static void follow(size_t i, void *ctx)
{
    swarm *s = ctx;
    ad_rev x[4];
    ad_rev *p = x;
    ad_rev *v = x + 2;

    ad_capture(4, s->x + 4 * i, x);
    for (size_t k = 0; k < STEPS; k++) {
        for (size_t j = 0; j < 2; j++) {
            const ad_rev a = ad_rec(ad_sub(ad_mul(-SPRING_K, p[j]),
                                           ad_mul(SPRING_D, v[j])));

            p[j] = ad_rec(ad_add(p[j], ad_mul(SPRING_H, v[j])));
            v[j] = ad_rec(ad_add(v[j], ad_mul(SPRING_H, a)));
        }
    }
    s->part[i] = ad_rec(ad_mul(p[0], p[1]));
}

static ad_rev particles(const ad_rev *x)
{
    static swarm s;

    s.x = x;
    each(PARTICLES, follow, &s);
    return ad_sum(PARTICLES, s.part);
}

// A step is linear: p and v end as p = a p0 + b v0.
static void solve_particles(const double *x, double *g)
{
    double a = 1.0, b = 0.0, c = 0.0, d = 1.0;

    for (size_t k = 0; k < STEPS; k++) {
        const double to_p[] = { a + SPRING_H * c, b + SPRING_H * d };

        c += SPRING_H * (-SPRING_K * a - SPRING_D * c);
        d += SPRING_H * (-SPRING_K * b - SPRING_D * d);
        a = to_p[0];
        b = to_p[1];
    }
    for (size_t i = 0; i < PARTICLES; i++, x += 4, g += 4) {
        const double first = a * x[0] + b * x[2];
        const double second = a * x[1] + b * x[3];

        g[0] = a * second;
        g[1] = a * first;
        g[2] = b * second;
        g[3] = b * first;
    }
}

/* ---------------------------------------------------------------------------
 * gmm: the points of a mixture in parts
 * ------------------------------------------------------------------------- */

enum {
    GMM_D = 10,
    GMM_K = 25,
    GMM_N = 10000,
    GMM_GRAIN = 40,
    GMM_Q = GMM_K * GMM_D * GMM_D,
    GMM_MU = GMM_K * GMM_D,
    GMM_SHARED = GMM_Q + GMM_MU + GMM_K,
    GMM_INPUTS = GMM_K * (1 + GMM_D + GMM_D * (GMM_D + 1) / 2)
};

static double points[GMM_N * GMM_D];

static void fill_gmm(double *x)
{
    fill(1, -1.0, 1.0, GMM_K, x);
    fill(2, 0.0, 1.0, GMM_MU, x + GMM_K);
    fill(3, -0.5, 0.5, GMM_INPUTS - GMM_K - GMM_MU, x + GMM_K + GMM_MU);
    fill(4, -1.0, 2.0, GMM_N * GMM_D, points);
}

// What all parts share: matrices, means, and the constants of the exponents.
typedef struct mixture {
    ad_rev shared[GMM_SHARED];
} mixture;

static ad_rev likelihood(size_t begin, size_t end, void *ctx)
{
    const mixture *m = ctx;
    ad_rev own[GMM_SHARED];
    const ad_rev *mu = own + GMM_Q;
    const ad_rev *base = mu + GMM_MU;
    ad_rev t[GMM_K];
    ad_rev sum = { 0 };

    ad_capture(GMM_SHARED, m->shared, own);
    for (size_t s = begin; s < end; s++) {
        for (size_t k = 0; k < GMM_K; k++) {
            const ad_rev zz = rev_gmm_distance(GMM_D,
                                               own + k * GMM_D * GMM_D,
                                               mu + k * GMM_D,
                                               points + s * GMM_D);

            t[k] = ad_rec(ad_sub(base[k], ad_mul(0.5, zz)));
        }
        ad_acc(&sum, rev_log_sum_exp(GMM_K, t));
    }
    return sum;
}

static ad_rev gmm(const ad_rev *x)
{
    static const struct gmm g = { .d = GMM_D, .K = GMM_K, .n = GMM_N,
                                  .gamma = 0.75, .m = 2.0 };
    static mixture m;
    const ad_rev *icf = x + GMM_K + GMM_MU;
    ad_rev *base = m.shared + GMM_Q + GMM_MU;
    ad_rev rest = { 0 };

    memcpy(m.shared + GMM_Q, x + GMM_K, GMM_MU * sizeof *x);
    for (size_t k = 0; k < GMM_K; k++, icf += gmm_triangle(GMM_D)) {
        ad_rev *Q = m.shared + k * GMM_D * GMM_D;
        const ad_rev q = ad_sum(GMM_D, icf);

        rev_gmm_matrix(GMM_D, icf, Q);
        base[k] = ad_rec(ad_add(x[k], q));
        ad_acc(&rest, rev_gmm_wishart(&g, Q, q));
    }
    ad_acc(&rest, ad_mul(-GMM_N, rev_log_sum_exp(GMM_K, x)));
    return ad_rec(ad_add(rest, reduce(GMM_N, GMM_GRAIN, likelihood, &m)));
}

/* ---------------------------------------------------------------------------
 * lstm: texts in a batch, a branch each
 * ------------------------------------------------------------------------- */

enum {
    LSTM_BATCH = 16,
    LSTM_L = 2,
    LSTM_C = 1024,
    LSTM_B = 14,
    LSTM_INPUTS = 8 * LSTM_L * LSTM_B + 3 * LSTM_B
};

static double texts[LSTM_BATCH][LSTM_C * LSTM_B];
static double state[2 * LSTM_L * LSTM_B];

static void fill_lstm(double *x)
{
    fill(5, -1.0, 1.0, LSTM_INPUTS, x);
    fill(6, -1.0, 1.0, 2 * LSTM_L * LSTM_B, state);
    for (size_t i = 0; i < LSTM_BATCH; i++) {
        fill(7 + i, 0.0, 1.0, LSTM_C * LSTM_B, texts[i]);
        for (size_t j = 0; j < LSTM_C * LSTM_B; j++) {
            texts[i][j] = texts[i][j] < 0.5 ? 0.0 : 1.0;
        }
    }
}

typedef struct batch {
    const ad_rev *x;
    ad_rev loss[LSTM_BATCH];
} batch;

static void read_text(size_t i, void *ctx)
{
    batch *b = ctx;
    const struct lstm p = { .l = LSTM_L, .c = LSTM_C, .b = LSTM_B,
                            .state = state, .text = texts[i] };
    ad_rev x[LSTM_INPUTS];

    ad_capture(LSTM_INPUTS, b->x, x);
    b->loss[i] = rev_lstm(&p, x);
}

static ad_rev lstm(const ad_rev *x)
{
    static batch b;

    b.x = x;
    each(LSTM_BATCH, read_text, &b);
    return ad_rec(ad_div(ad_sum(LSTM_BATCH, b.loss), LSTM_BATCH));
}

/* ---------------------------------------------------------------------------
 * price: an Asian option, paths in parts
 * ------------------------------------------------------------------------- */

enum { PATHS = 100000, PATH_GRAIN = 500, MONTHS = 12 };
enum { STOCK, VOLATILITY, RATE, YEARS, MARKET };

#define STRIKE 100.0

static void fill_price(double *x)
{
    static const double market[MARKET] = { 100.0, 0.2, 0.05, 1.0 };

    memcpy(x, market, sizeof market);
}

static ad_rev payments(size_t begin, size_t end, void *ctx)
{
    ad_rev x[MARKET];
    ad_rev s[MONTHS];
    ad_rev sum = { 0 };

    ad_capture(MARKET, (const ad_rev *)ctx, x);
    const ad_rev dt = ad_rec(ad_div(x[YEARS], MONTHS));
    const ad_rev noise = ad_rec(ad_mul(x[VOLATILITY], ad_sqrt(dt)));
    const ad_rev drift = ad_rec(ad_sub(ad_mul(x[RATE], dt),
                                       ad_div(ad_sqr(noise), 2.0)));
    const ad_rev discount = ad_rec(ad_exp(ad_neg(ad_mul(x[RATE], x[YEARS]))));

    for (size_t i = begin; i < end; i++) {
        ad_rev last = x[STOCK];

        for (size_t k = 0; k < MONTHS; k++) {
            const double z = normal(i * MONTHS + k);

            last = ad_rec(ad_mul(last, ad_exp(ad_fma(noise, z, drift))));
            s[k] = last;
        }
        last = ad_rec(ad_div(ad_sum(MONTHS, s), MONTHS));
        ad_acc(&sum, ad_mul(discount, ad_relu(ad_sub(last, STRIKE))));
    }
    return sum;
}

static ad_rev price(const ad_rev *x)
{
    ad_rev market[MARKET];

    memcpy(market, x, sizeof market);
    return ad_rec(ad_div(reduce(PATHS, PATH_GRAIN, payments, market), PATHS));
}

/* ---------------------------------------------------------------------------
 * Programs
 * ------------------------------------------------------------------------- */

typedef struct program {
    const char *name;
    const char *what;
    size_t inputs;
    void (*fill)(double *x);
    ad_rev (*record)(const ad_rev *x);
    void (*solve)(const double *x, double *g);      // closed form, or NULL
} program;

static const program programs[] = {
    { "particles", "2000 particles, 1000 steps", 4 * PARTICLES,
      fill_particles, particles, solve_particles },
    { "gmm", "10 dimensions, 25 components, 10000 points", GMM_INPUTS,
      fill_gmm, gmm, NULL },
    { "lstm", "2 layers, 16 texts of 1024 characters", LSTM_INPUTS,
      fill_lstm, lstm, NULL },
    { "price", "Asian option, 100000 paths of 12 months", MARKET,
      fill_price, price, NULL },
};

/* ---------------------------------------------------------------------------
 * Lanes: one number of threads each
 * ------------------------------------------------------------------------- */

enum { RECORD, REVERSE, TOTAL, PARTS };

typedef struct lane {
    unsigned threads;           // 0: no forks
    ad_pool *pool;
    ad_tape *tape;
    double seconds[PARTS][REPORT_ROUNDS];
    bool same;
} lane;

// lanes[0] has no forks, lanes[1] one thread.
static lane lanes[LANES];
static size_t lane_count;
static size_t rounds = ROUNDS;

static void add_lane(unsigned threads)
{
    lane *l = &lanes[lane_count++];

    l->threads = threads;
    if (threads > 0) {
        l->pool = ad_pool_new(threads);
        if (!l->pool || ad_pool_threads(l->pool) != threads) {
            fprintf(stderr, "parallel: no %u threads\n", threads);
            exit(EXIT_FAILURE);
        }
    }
}

// Powers of two up to the processors there are, and those; 2 in any case.
static void open_lanes(void)
{
    ad_pool *all = ad_pool_new(0);
    const unsigned most = ad_pool_threads(all);

    ad_pool_free(all);
    for (unsigned n = 0; n <= 2; n++) {
        add_lane(n);
    }
    for (unsigned n = 4; n <= most && lane_count < LANES - 1; n *= 2) {
        add_lane(n);
    }
    if (most > 2 && (most & (most - 1)) != 0) {
        add_lane(most);
    }
}

static void close_lanes(void)
{
    ad_use(NULL);
    ad_ignore(ad_pool_use(NULL));   // not in a branch: it is left
    for (size_t i = 0; i < lane_count; i++) {
        ad_pool_free(lanes[i].pool);
    }
}

static void check(ad_status s, const char *what)
{
    if (s != ADREV_OK) {
        fprintf(stderr, "parallel: %s: %s\n", what, ad_message(s));
        exit(EXIT_FAILURE);
    }
}

static void use(const lane *l)
{
    forking = l->threads > 0;
    check(ad_pool_use(l->pool), "ad_pool_use");
    ad_use(l->tape);
}

/* ---------------------------------------------------------------------------
 * One program
 * ------------------------------------------------------------------------- */

typedef struct bench {
    const program *p;
    double *x;
    ad_rev *in;
    double *want;               // with one thread: value, then gradient
    double *got;
    double *plain;              // the closed form, or without forks
    double error;
    size_t jobs;
    ad_job *job;
} bench;

// Value and gradient to `to`; the times of both parts.
static void run(const bench *b, const lane *l, double *to,
                double seconds[PARTS])
{
    const size_t n = b->p->inputs;
    double start;
    double middle;
    ad_rev y;

    for (size_t i = 0; i <= n; i++) {
        to[i] = (double)NAN;
    }
    use(l);
    start = wall();
    ad_tape_clear(l->tape);
    ad_inputs(n, b->x, b->in);
    y = b->p->record(b->in);
    middle = wall();
    check(ad_gradient(l->tape, y, n, b->in, to + 1), b->p->name);
    seconds[REVERSE] = wall() - middle;
    seconds[RECORD] = middle - start;
    seconds[TOTAL] = seconds[RECORD] + seconds[REVERSE];
    to[0] = ad_value(y);
}

static void time_lane(bench *b, lane *l, size_t round)
{
    double seconds[PARTS];

    run(b, l, b->got, seconds);
    for (size_t part = 0; part < PARTS; part++) {
        l->seconds[part][round] = seconds[part];
    }
    if (l->threads > 0) {
        l->same &= memcmp(b->got, b->want,
                          (b->p->inputs + 1) * sizeof *b->got) == 0;
    }
}

// Forks without a pool have the bits of those with one, too.
static void set_reference(bench *b)
{
    const size_t n = b->p->inputs;
    lane alone = lanes[1];
    double seconds[PARTS];

    run(b, &lanes[1], b->want, seconds);
    run(b, &lanes[0], b->plain, seconds);
    if (b->p->solve) {
        b->p->solve(b->x, b->plain + 1);
    }
    b->error = fmax(difference(1, b->want, b->plain),
                    difference(n, b->want + 1, b->plain + 1));
    alone.pool = NULL;
    run(b, &alone, b->got, seconds);
    lanes[1].same = memcmp(b->got, b->want, (n + 1) * sizeof *b->got) == 0;
}

// Of each job the shortest time it took: what interrupted it is not its own.
static void measure_jobs(bench *b)
{
    const lane *l = &lanes[1];
    double seconds[PARTS];
    ad_job *job;

    ad_tape_measure(l->tape, true);
    run(b, l, b->got, seconds);
    b->jobs = ad_tape_jobs(l->tape, 0, NULL);
    b->job = get(b->jobs, sizeof *b->job);
    job = get(b->jobs, sizeof *job);
    ad_tape_jobs(l->tape, b->jobs, b->job);
    for (size_t i = 1; i < MEASURED; i++) {
        run(b, l, b->got, seconds);
        ad_tape_jobs(l->tape, b->jobs, job);
        for (size_t k = 0; k < b->jobs; k++) {
            b->job[k].primal = fmin(b->job[k].primal, job[k].primal);
            b->job[k].reverse = fmin(b->job[k].reverse, job[k].reverse);
        }
    }
    ad_tape_measure(l->tape, false);
    free(job);
}

static void open_bench(bench *b, const program *p)
{
    const size_t n = p->inputs;

    *b = (bench){ .p = p };
    b->x = get(n, sizeof *b->x);
    b->in = get(n, sizeof *b->in);
    b->want = get(n + 1, sizeof *b->want);
    b->got = get(n + 1, sizeof *b->got);
    b->plain = get(n + 1, sizeof *b->plain);
    p->fill(b->x);
    for (size_t i = 0; i < lane_count; i++) {
        lanes[i].same = true;
        lanes[i].tape = ad_tape_new();
        if (!lanes[i].tape) {
            check(ADREV_ENOMEM, p->name);
        }
    }
    set_reference(b);
}

// The memory of one program is not that of the next.
static void close_bench(bench *b)
{
    for (size_t i = 0; i < lane_count; i++) {
        ad_tape_free(lanes[i].tape);
        lanes[i].tape = NULL;
    }
    free(b->x);
    free(b->in);
    free(b->want);
    free(b->got);
    free(b->plain);
    free(b->job);
}

/* ---------------------------------------------------------------------------
 * The table
 * ------------------------------------------------------------------------- */

static void print_titles(void)
{
    printf("\n%-13s %-11s", "problem", "threads");
    for (size_t part = 0; part < PARTS; part++) {
        static const char *const name[] = { "record", "reverse", "total" };

        printf(" | %9s %10s %6s %9s", name[part], "/1", "/plain",
               "predicted");
    }
    printf(" | gradient\n");
}

// The time that the jobs take on so many threads.
static void predict(const bench *b, unsigned threads, double seconds[PARTS])
{
    check(ad_job_predict(b->jobs, b->job, threads, &seconds[RECORD],
                         &seconds[REVERSE]), "ad_job_predict");
    seconds[TOTAL] = seconds[RECORD] + seconds[REVERSE];
}

static void print_predicted(const bench *b, unsigned threads, size_t part)
{
    double one[PARTS];
    double many[PARTS];

    predict(b, 1, one);
    predict(b, threads, many);
    printf(" %9.2f", one[part] / many[part]);
}

// Time, ratios, prediction.
static void print_cell(const bench *b, const lane *l, size_t part)
{
    const double *seconds = l->seconds[part];
    const summary one = summarise(rounds, lanes[1].seconds[part], seconds);
    const summary plain = summarise(rounds, lanes[0].seconds[part], seconds);

    printf(" |");
    print_seconds(summarise(rounds, seconds, NULL).median);
    printf(" %5.2f %3.0f%% %6.2f", one.median, 1e2 * one.spread,
           plain.median);
    if (l->threads > 1) {
        print_predicted(b, l->threads, part);
    } else {
        printf(" %9s", "");
    }
}

static void print_lane(const bench *b, lane *l)
{
    char threads[16] = "no forks";

    if (l->threads > 0) {
        snprintf(threads, sizeof threads, "%u", l->threads);
    }
    printf("%-13s %-11s", l == lanes ? b->p->name : "", threads);
    for (size_t part = 0; part < PARTS; part++) {
        print_cell(b, l, part);
    }
    printf(" | %s\n", l->threads == 0 ? "" : l->same ? "same" : "DIFFERS");
    wrong |= !l->same;
}

// What more threads than there are would give.
static void print_projection(const bench *b, unsigned threads)
{
    char text[32];

    snprintf(text, sizeof text, "%u predicted", threads);
    printf("%-12s %-12s", "", text);
    for (size_t part = 0; part < PARTS; part++) {
        printf(" | %9s %10s %6s", "", "", "");
        print_predicted(b, threads, part);
    }
    printf(" |\n");
}

static void print_graph(const bench *b)
{
    const ad_parallelism p = ad_job_parallelism(b->jobs, b->job);
    size_t imports = 0;

    for (size_t i = 0; i < b->jobs; i++) {
        imports += b->job[i].imports;
    }
    printf("%-13s %s: %zu statements, %zu on the longest path, parallelism "
           "%.1f, %zu jobs, %zu imports\n", "", b->p->what, p.work, p.span,
           p.parallelism, p.jobs, imports);
    printf("%-13s largest error %.1e %s\n", "", b->error,
           b->p->solve ? "against the closed form"
                       : "against the program without forks");
    if (!(b->error <= tolerance)) {
        printf("%-13s WRONG\n", "");
        wrong = true;
    }
}

// What the predictions leave out: clearing of adjoints, imports that are
// applied after a join, the forks themselves.
static void print_share(const bench *b)
{
    double in_jobs[PARTS];
    double best[PARTS];

    predict(b, 1, in_jobs);
    for (size_t part = 0; part < PARTS; part++) {
        best[part] = lanes[1].seconds[part][0];
        for (size_t i = 1; i < rounds; i++) {
            best[part] = fmin(best[part], lanes[1].seconds[part][i]);
        }
    }
    printf("%-13s jobs are %.0f%% of record and %.0f%% of reverse with one "
           "thread, fastest of all rounds\n", "",
           1e2 * in_jobs[RECORD] / best[RECORD],
           1e2 * in_jobs[REVERSE] / best[REVERSE]);
}

// How fast the tape was written, and read, beside the ceiling.
static void print_traffic(void)
{
    printf("%-13s tape %.0f MB, written and read at", "",
           1e-6 * (double)ad_tape_bytes(lanes[1].tape));
    for (size_t i = 1; i < lane_count; i++) {
        const double bytes = 1e-9 * (double)ad_tape_bytes(lanes[i].tape);
        const lane *l = &lanes[i];

        printf("%s %.1f and %.1f GB/s by %u", i > 1 ? "," : "",
               bytes / summarise(rounds, l->seconds[RECORD], NULL).median,
               bytes / summarise(rounds, l->seconds[REVERSE], NULL).median,
               l->threads);
    }
    printf("\n");
}

static void run_program(const program *p)
{
    bench b;

    open_bench(&b, p);
    for (size_t round = 0; round < WARM + rounds; round++) {
        for (size_t i = 0; i < lane_count; i++) {
            time_lane(&b, &lanes[i], round < WARM ? 0 : round - WARM);
        }
    }
    measure_jobs(&b);
    for (size_t i = 0; i < lane_count; i++) {
        print_lane(&b, &lanes[i]);
    }
    for (unsigned n = 4; n <= 64; n *= 2) {
        print_projection(&b, n);
    }
    print_graph(&b);
    print_share(&b);
    print_traffic();
    fflush(stdout);
    close_bench(&b);
}

/* ---------------------------------------------------------------------------
 * The ceiling
 * ------------------------------------------------------------------------- */

enum { CEILING_MIB = 256, CEILING_PARTS = 256 };

// As a tape is written and read: once, and no byte of it twice.
static void pass(size_t begin, size_t end, void *ctx)
{
    double *a = ctx;

    for (size_t i = begin; i < end; i++) {
        a[i] *= 1.0000001;
    }
}

// Arithmetic alone: a chain of additions.
static void chain(size_t begin, size_t end, void *ctx)
{
    volatile double *to = ctx;
    double sum = 0.0;

    for (size_t i = begin; i < end; i++) {
        sum += (double)i;
    }
    to[16 * (begin / (end - begin))] = sum;
}

static void time_ceiling(const char *name, size_t n,
                         void (*f)(size_t begin, size_t end, void *ctx),
                         void *ctx, double bytes)
{
    for (size_t round = 0; round <= rounds; round++) {
        for (size_t i = 1; i < lane_count; i++) {
            const size_t to = round > 0 ? round - 1 : 0;
            double start;

            use(&lanes[i]);
            start = wall();
            ad_parallel_for(n, n / CEILING_PARTS, f, ctx);
            lanes[i].seconds[RECORD][to] = wall() - start;
        }
    }
    for (size_t i = 1; i < lane_count; i++) {
        const double *seconds = lanes[i].seconds[RECORD];
        const summary s = summarise(rounds, lanes[1].seconds[RECORD], seconds);
        const double median = summarise(rounds, seconds, NULL).median;

        printf("%-13s %-11u |", i > 1 ? "" : name, lanes[i].threads);
        print_seconds(median);
        printf(" %5.2f %3.0f%%", s.median, 1e2 * s.spread);
        if (bytes > 0.0) {
            printf("     %.1f GB/s, one pass that reads and writes %d MiB",
                   1e-9 * bytes / median, CEILING_MIB);
        } else {
            printf("     additions, without memory");
        }
        printf("\n");
    }
}

static void print_ceiling(void)
{
    const size_t n = (size_t)CEILING_MIB * 1024 * 1024 / sizeof(double);
    double *a = get(n, sizeof *a);

    for (size_t i = 0; i < n; i++) {
        a[i] = 1.0;
    }
    time_ceiling("memory", n, pass, a, 2.0 * (double)(n * sizeof *a));
    time_ceiling("arithmetic", n, chain, a, 0.0);
    free(a);
}

/* ---------------------------------------------------------------------------
 * What a fork costs
 * ------------------------------------------------------------------------- */

enum { FORKS = 1000, STEALS = 200, WAKES = 50 };

// A branch of the k-th fork and its result.
typedef struct twig {
    size_t i;                       // 2 k, or 2 k + 1
    ad_rev y;
} twig;

static twig twigs[2 * FORKS];
static atomic_bool started[2 * FORKS];

static void record_nothing(void *ctx)
{
    (void)ctx;
}

static void record_one(void *ctx)
{
    twig *t = ctx;

    t->y = ad_rec(ad_sin(ad_input(1.0)));
}

// Both branches of a fork have begun: on two threads, so that one was stolen.
static void meet(size_t i)
{
    atomic_store(&started[i], true);
    for (int turn = 0; !atomic_load(&started[i ^ 1]); turn++) {
        if (turn > 10000) {
            sched_yield();      // the other has no processor
        }
    }
}

static bool meet_again(const void *saved, size_t m, const double dy[],
                       size_t n, double dx[])
{
    (void)m, (void)n;
    meet(*(const size_t *)saved);
    dx[0] += dy[0];
    return true;
}

static void record_apart(void *ctx)
{
    static const ad_external_rule rule = { .name = "apart",
                                           .pullback = meet_again };
    twig *t = ctx;
    const ad_rev x = ad_input(1.0);
    const double v = 1.0;

    meet(t->i);
    ad_external(&rule, &t->i, sizeof t->i, 1, &x, 1, &v, &t->y);
}

static void set_twigs(void)
{
    for (size_t i = 0; i < 2 * FORKS; i++) {
        twigs[i] = (twig){ .i = i };
        atomic_store(&started[i], false);
    }
}

// How long that took.
static double rest(double seconds)
{
    const double start = wall();
    double now = start;

    while (now - start < seconds) {
        now = wall();
    }
    return now - start;
}

// Seconds per fork, of the recording and of the sweep; pause: before each fork,
// for threads that find nothing to do to fall asleep.
static void time_forks(ad_tape *t, size_t n, void (*f)(void *), double pause,
                       double *record, double *sweep)
{
    double rested = 0.0;
    double g = 0.0;
    double start;
    ad_rev x;
    ad_rev y;

    set_twigs();
    ad_tape_clear(t);
    x = y = ad_input(1.0);
    start = wall();
    for (size_t k = 0; k < n; k++) {
        if (pause > 0.0) {
            rested += rest(pause);
        }
        ad_fork2(f, &twigs[2 * k], f, &twigs[2 * k + 1]);
    }
    *record = (wall() - start - rested) / (double)n;
    for (size_t i = 0; i < 2 * n; i++) {
        ad_acc(&y, twigs[i].y);
        atomic_store(&started[i], false);
    }
    start = wall();
    check(ad_gradient(t, y, 1, &x, &g), "forks");
    *sweep = (wall() - start) / (double)n;
}

// Median over the rounds, without a pool: NULL.
static void print_forks(const char *name, ad_pool *pool, size_t n,
                        void (*f)(void *), double pause)
{
    double record[COST_ROUNDS];
    double sweep[COST_ROUNDS];
    ad_tape *t = ad_tape_new();
    double warm;

    check(ad_pool_use(pool), "ad_pool_use");
    ad_use(t);
    time_forks(t, n, f, pause, &warm, &warm);
    for (size_t round = 0; round < COST_ROUNDS; round++) {
        time_forks(t, n, f, pause, &record[round], &sweep[round]);
    }
    printf("%-44s", name);
    print_seconds(summarise(COST_ROUNDS, record, NULL).median);
    if (pause <= 0.0 && f != record_nothing) {
        print_seconds(summarise(COST_ROUNDS, sweep, NULL).median);
    }
    printf("\n");
    fflush(stdout);
    ad_use(NULL);
    ad_tape_free(t);
}

static void print_fork_costs(void)
{
    ad_pool *one = lanes[1].pool;
    ad_pool *two = lanes[2].pool;

    printf("\n%-44s %9s %9s\n", "fork2 and join of two branches", "record",
           "reverse");
    print_forks("that record nothing, no pool", NULL, FORKS, record_nothing,
                0.0);
    print_forks("that record nothing, 1 thread", one, FORKS, record_nothing,
                0.0);
    print_forks("that record nothing, 2 threads", two, FORKS, record_nothing,
                0.0);
    print_forks("of a statement each, no pool", NULL, FORKS, record_one, 0.0);
    print_forks("of a statement each, 1 thread", one, FORKS, record_one, 0.0);
    print_forks("of a statement each, 2 threads", two, FORKS, record_one,
                0.0);
    print_forks("that wait for each other: one is stolen", two, STEALS,
                record_apart, 0.0);
    print_forks("the same, by a thread that has to wake up", two, WAKES,
                record_apart, 3e-4);
}

/* ---------------------------------------------------------------------------
 * What an import costs
 * ------------------------------------------------------------------------- */

enum { IMPORTS = 1000, IMPORTERS = 50 };

typedef struct importer {
    const ad_rev *x;            // NULL: values of the branch's own
    bool capture;
    double first;               // seconds of a use of each
    double again;
    ad_rev y[IMPORTERS];
} importer;

static void double_all(const ad_rev *x, ad_rev *y, double *seconds)
{
    const double start = wall();

    for (size_t i = 0; i < IMPORTS; i++) {
        y[i] = ad_rec(ad_mul(x[i], 2.0));
    }
    *seconds += wall() - start;
}

static void import(size_t i, void *ctx)
{
    importer *m = ctx;
    ad_rev own[IMPORTS];
    ad_rev y[2][IMPORTS];
    const ad_rev *x = m->x ? m->x : own;
    double start;

    if (!m->x) {
        for (size_t k = 0; k < IMPORTS; k++) {
            own[k] = ad_input(1.0);
        }
    }
    start = wall();
    if (m->capture) {
        ad_capture(IMPORTS, m->x, own);
        x = own;
        m->first += wall() - start;
        double_all(x, y[0], &m->again);
    } else {
        double_all(x, y[0], &m->first);
    }
    double_all(x, y[1], &m->again);
    m->y[i] = ad_sum(2 * IMPORTS, y[0]);
}

// Nanoseconds per value: its first use, another use, the sweep.
static void time_imports(ad_tape *t, bool imported, bool capture,
                         double ns[3])
{
    static ad_rev x[IMPORTS];
    static importer m;
    const double scale = 1e9 / IMPORTS / IMPORTERS;
    double g[IMPORTS];
    double start;
    ad_rev y;

    ad_tape_clear(t);
    for (size_t i = 0; i < IMPORTS; i++) {
        x[i] = ad_input(1.0);
    }
    m = (importer){ .x = imported ? x : NULL, .capture = capture };
    ad_fork_n(IMPORTERS, import, &m);
    y = ad_sum(IMPORTERS, m.y);
    start = wall();
    check(ad_gradient(t, y, IMPORTS, x, g), "imports");
    ns[2] = scale * (wall() - start);
    ns[0] = scale * m.first;
    ns[1] = scale * m.again;
}

static double without(const double *with, const double *own)
{
    double v[COST_ROUNDS];

    for (size_t i = 0; i < COST_ROUNDS; i++) {
        v[i] = with[i] - own[i];
    }
    return summarise(COST_ROUNDS, v, NULL).median;
}

static void print_import_costs(void)
{
    double own[3][COST_ROUNDS];
    double used[3][COST_ROUNDS];
    double captured[3][COST_ROUNDS];
    ad_tape *t = ad_tape_new();

    check(ad_pool_use(NULL), "ad_pool_use");
    ad_use(t);
    for (size_t round = 0; round <= COST_ROUNDS; round++) {
        const size_t to = round > 0 ? round - 1 : 0;
        double ns[3][3];

        time_imports(t, false, false, ns[0]);
        time_imports(t, true, false, ns[1]);
        time_imports(t, true, true, ns[2]);
        for (size_t k = 0; k < 3; k++) {
            own[k][to] = ns[0][k];
            used[k][to] = ns[1][k];
            captured[k][to] = ns[2][k];
        }
    }
    printf("\n%-44s %9s %9s\n", "more than a value of the branch's own",
           "record", "reverse");
    printf("%-44s %6.1f ns %6.1f ns\n", "first use of a value of another task",
           without(used[0], own[0]), without(used[2], own[2]));
    printf("%-44s %6.1f ns\n", "every further use",
           without(used[1], own[1]));
    printf("%-44s %6.1f ns %6.1f ns\n", "ad_capture, per value (in all)",
           summarise(COST_ROUNDS, captured[0], NULL).median,
           without(captured[2], own[2]));
    ad_use(NULL);
    ad_tape_free(t);
}

/* ---------------------------------------------------------------------------
 * Command line
 * ------------------------------------------------------------------------- */

static bool selected(const char *name, int count, char *const *names)
{
    bool found = count == 0;

    for (int i = 0; i < count; i++) {
        found |= strcmp(names[i], name) == 0;
    }
    return found;
}

int main(int argc, char **argv)
{
    rounds = take_rounds(&argc, &argv, rounds);
    print_machine(ADREV_VERSION);
    open_lanes();
    if (selected("costs", argc - 1, argv + 1)) {
        print_fork_costs();
        print_import_costs();
    }
    print_titles();
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (selected(programs[i].name, argc - 1, argv + 1)) {
            run_program(&programs[i]);
        }
    }
    if (selected("ceiling", argc - 1, argv + 1)) {
        print_ceiling();
    }
    close_lanes();
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
