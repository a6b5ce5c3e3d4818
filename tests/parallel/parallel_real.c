// SPDX-License-Identifier: MIT-0
// tags: slow threads
// flags: -pthread
/* parallel_real.c - real problems with forks: a mixture over its points (gmm),
 * a batch of texts (lstm), and bundle adjustment (ba).
 *
 * Each runs without a pool and on pools of 1, 2, 3 and 8 threads, small ones
 * often: the bits are the same everywhere. They are compared with an oracle
 * (closed form or complex steps), and with the program without forks. The
 * largest mixture of the ADBench problems is compared with its reference, too;
 * the files lie in $ADBENCH, or in ../shared/adbench beside the checkout.
 *
 * A difference is measured as in adbench.c: with M the largest entry,
 *
 *     normal       |got - want| / M
 *     component    |got - want| / max(|want|, M/1000)                       */

#include "implementation.h"
#include "adrev_parallel.h"

#include "adbench_files.h"
#include "adbench_oracle.h"
#include "check.h"

// Hands are not used.
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#define NUM       ad_rev
#define REC(e)    ad_rec(e)
#define NAME(f)   rev_##f
#include "adbench_programs.h"
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

#include "forks.h"

_Static_assert(sizeof(ad_real) == sizeof(double), "references in double");

/* --- measures ------------------------------------------------------------- */

struct tolerance {
    double value;
    double normal;
    double component;
};

// The smallest entries of a gradient are what is left of ten thousand terms
// that cancel, added in another order: 1e-14 of their sizes.
static const struct tolerance rounding = { 1e-13, 1e-13, 1e-10 };

// The larger one; NaN is larger than everything.
static double worse(double a, double b)
{
    return isnan(b) || b > a ? b : a;
}

// got and want: a value, and n - 1 derivatives.
static void compare(const char *name, const char *against, size_t n,
                    const double *got, const double *want, struct tolerance t)
{
    double M = 0;
    double normal = 0;
    double component = 0;
    double value = fabs(got[0] - want[0]) / fmax(1, fabs(want[0]));
    for (size_t i = 1; i < n; i++)
        M = fmax(M, fabs(want[i]));
    for (size_t i = 1; i < n; i++) {
        double off = fabs(got[i] - want[i]);
        if (off == 0)
            continue;
        normal = worse(normal, off / M);
        component = worse(component, off / fmax(fabs(want[i]), M / 1000));
    }
    CHECK(value <= t.value, "%s against %s: value off by %.2e, allowed %.0e",
          name, against, value, t.value);
    CHECK(normal <= t.normal,
          "%s against %s: normal error %.2e, allowed %.0e", name, against,
          normal, t.normal);
    CHECK(component <= t.component,
          "%s against %s: component error %.2e, allowed %.0e", name, against,
          component, t.component);
}

/* --- pools ---------------------------------------------------------------- */

enum { POOLS = 5, OFTEN = 10 };

static ad_pool *pools[POOLS];
static const char *const names[POOLS] = { "no pool", "1 thread", "2 threads",
                                          "3 threads", "8 threads" };

static void open_pools(void)
{
    static const unsigned threads[POOLS] = { 0, 1, 2, 3, 8 };
    for (size_t i = 1; i < POOLS; i++) {
        pools[i] = ad_pool_new(threads[i]);
        CHECK(pools[i] && ad_pool_threads(pools[i]) == threads[i], "%s",
              names[i]);
    }
}

static void close_pools(void)
{
    right(ad_pool_use(NULL), "ad_pool_use");
    for (size_t i = 1; i < POOLS; i++)
        ad_pool_free(pools[i]);
}

// Writes n numbers: a value, then derivatives.
typedef void real_run(const void *problem, double *to);

// The numbers of a problem to `to`, which all pools must make, each so many
// times, and which the program without forks makes but for rounding.
static void on_all_pools(const char *name, real_run *run, const void *problem,
                         int times, size_t n, double *to)
{
    double *other = adbench_get(n, sizeof *other);
    for (size_t i = 0; i < POOLS; i++) {
        pool_name = names[i];
        right(ad_pool_use(pools[i]), "ad_pool_use");
        tape = ad_tape_new();
        ad_use(tape);
        for (int k = 0; k < times; k++) {
            bool first = i == 0 && k == 0;
            ad_tape_clear(tape);
            run(problem, first ? to : other);
            CHECK(first || memcmp(to, other, n * sizeof *to) == 0,
                  "%s: other bits with %s, run %d", name, pool_name, k);
        }
        ad_tape_free(tape);
    }
    right(ad_pool_use(NULL), "ad_pool_use");
    pool_name = "no forks";
    forking = false;
    tape = ad_tape_new();
    ad_use(tape);
    run(problem, other);
    compare(name, pool_name, n, to, other, rounding);
    ad_tape_free(tape);
    forking = true;
    free(other);
}

/* --- numbers -------------------------------------------------------------- */

static double *fill(size_t n, double from, double to, double *x)
{
    for (size_t i = 0; i < n; i++)
        *x++ = uniform(from, to);
    return x;
}

/* --- gmm ------------------------------------------------------------------ */

enum { GRAIN = 40 };            // points of a part

// What all parts share: matrices, means, and the constants of the exponents.
struct shared {
    const struct gmm *g;
    size_t n;
    ad_rev *x;
    ad_rev *sum;                // of each part
};

static void gmm_part_of(size_t begin, size_t end, void *ctx)
{
    const struct shared *s = ctx;
    const struct gmm *g = s->g;
    size_t d = g->d;
    ad_rev *own = adbench_get(s->n + g->K, sizeof *own);
    const ad_rev *mu = own + g->K * d * d;
    const ad_rev *base = mu + g->K * d;
    ad_rev *t = own + s->n;
    ad_rev sum = { 0 };

    ad_capture(s->n, s->x, own);
    for (size_t i = begin; i < end; i++) {
        const double *x = g->points + i * g->stride;
        for (size_t k = 0; k < g->K; k++) {
            ad_rev zz = rev_gmm_distance(d, own + k * d * d, mu + k * d, x);
            t[k] = ad_rec(ad_sub(base[k], ad_mul(0.5, zz)));
        }
        ad_acc(&sum, rev_log_sum_exp(g->K, t));
    }
    s->sum[begin / GRAIN] = sum;
    free(own);
}

// As rev_gmm, with the points in parts.
static ad_rev gmm_in_parts(const struct gmm *g, const ad_rev *in)
{
    size_t d = g->d;
    size_t K = g->K;
    size_t parts = (g->n - 1) / GRAIN + 1;
    const ad_rev *icf = in + K + K * d;
    struct shared s = { .g = g, .n = K * (d * d + d + 1) };
    double n = (double)g->n;
    ad_rev F = ad_rec(-n * (double)d / 2 * log(2 * ADBENCH_PI)
                      - gmm_constant(g));

    s.x = adbench_get(s.n, sizeof *s.x);
    s.sum = adbench_get(parts, sizeof *s.sum);
    memcpy(s.x + K * d * d, in + K, K * d * sizeof *in);
    for (size_t k = 0; k < K; k++, icf += gmm_triangle(d)) {
        ad_rev *Q = s.x + k * d * d;
        ad_rev q = ad_sum(d, icf);
        rev_gmm_matrix(d, icf, Q);
        s.x[K * d * d + K * d + k] = ad_rec(ad_add(in[k], q));
        ad_acc(&F, rev_gmm_wishart(g, Q, q));
    }
    if (forking)
        ad_parallel_for(g->n, GRAIN, gmm_part_of, &s);
    else
        for (size_t i = 0; i < g->n; i += GRAIN)
            gmm_part_of(i, i + GRAIN < g->n ? i + GRAIN : g->n, &s);
    ad_acc(&F, ad_sum(parts, s.sum));
    F = ad_rec(ad_sub(F, ad_mul(n, rev_log_sum_exp(K, in))));
    free(s.x);
    free(s.sum);
    return F;
}

static void run_gmm(const void *problem, double *to)
{
    const struct gmm *g = problem;
    size_t n = gmm_inputs(g);
    ad_rev *in = adbench_get(n, sizeof *in);
    ad_inputs(n, g->in, in);
    ad_rev F = gmm_in_parts(g, in);
    right(ad_gradient(tape, F, n, in, to + 1), "gmm");
    to[0] = F.v;
    free(in);
}

// want: a reference, value first; or NULL
static void test_gmm(const char *name, const struct gmm *g,
                     const double *want, struct tolerance t)
{
    size_t n = gmm_inputs(g) + 1;
    double *got = adbench_get(n, sizeof *got);
    double *hand = adbench_get(n, sizeof *hand);
    on_all_pools(name, run_gmm, g, 1, n, got);
    hand[0] = oracle_gmm(g, hand + 1);
    compare(name, "closed form", n, got, hand, t);
    if (want)
        compare(name, "reference", n, got, want, t);
    free(hand);
    free(got);
}

static void test_many_points(void)
{
    enum { D = 2, M = 3, N = 10000, INPUTS = M * (1 + D + D * (D + 1) / 2) };
    static double in[INPUTS + N * D];
    struct gmm g = { .d = D, .K = M, .n = N, .stride = D, .in = in,
                     .points = in + INPUTS, .gamma = 0.75, .m = 3 };
    seed = 1;
    fill(N * D, -1, 2, fill(INPUTS, -0.7, 0.7, in));
    test_gmm("gmm of 10000 points", &g, NULL, rounding);
}

/* --- the largest mixture of the references -------------------------------- */

static const char *data;        // the folder

// Terms of its points. Without optimisation each takes a microsecond.
#if defined __OPTIMIZE__ || !defined __GNUC__
#define MOST_TERMS SIZE_MAX
#else
#define MOST_TERMS 500000u
#endif

static FILE *open_data(const char *name)
{
    char path[4 * READER_WORD];
    int n = snprintf(path, sizeof path, "%s/%s", data, name);
    return n > 0 && (size_t)n < sizeof path ? fopen(path, "r") : NULL;
}

// The mixture with the most terms, of those in the manifest.
static bool find_largest(FILE *manifest, struct listed *largest)
{
    struct reader r = reader_open(manifest);
    size_t most = 0;
    for (size_t n = read_size(&r, 1, SOME); n > 0 && !r.error; n--) {
        struct listed c = read_listed(&r);
        if (r.error || strcmp(c.kind, "gmm") != 0)
            continue;
        struct reader input = reader_open(open_data(c.input));
        struct gmm g = read_gmm(&input, false);
        size_t size = input.error ? 0 : g.n * g.K * gmm_triangle(g.d);
        CHECK(!input.error, "%s: cannot be read", c.input);
        if (size > most && size <= MOST_TERMS) {
            most = size;
            *largest = c;
        }
        reader_close(&input);
    }
    CHECK(!r.error, "MANIFEST.txt: cannot be read");
    reader_close(&r);
    return CHECK(most > 0, "MANIFEST.txt: no mixture");
}

static void test_reference(void)
{
    struct listed c;
    const char *set = getenv("ADBENCH");
    data = set ? set : "../shared/adbench";
    FILE *manifest = open_data("MANIFEST.txt");
    if (!manifest) {
        printf("parallel_real: skipped, no data (set ADBENCH)\n");
        return;
    }
    if (!find_largest(manifest, &c))
        return;
    struct reader input = reader_open(open_data(c.input));
    struct reader ref = reader_open(open_data(c.reference));
    struct gmm g = read_gmm(&input, false);
    struct reference f = read_reference(&ref);
    size_t n = input.error ? 0 : gmm_inputs(&g);
    const double *F = reference_of(&f, "F", 1);
    const double *J = reference_of(&f, "J", n);
    if (CHECK(!input.error && !ref.error && F && J, "%s: cannot be read",
              c.name)) {
        double *want = adbench_get(n + 1, sizeof *want);
        struct tolerance t = { c.value, c.normal, c.component };
        want[0] = *F;
        memcpy(want + 1, J, n * sizeof *J);
        test_gmm(c.name, &g, want, t);
        free(want);
    }
    reader_close(&ref);
    reader_close(&input);
}

/* --- lstm ----------------------------------------------------------------- */

enum { TEXTS = 7, LAYERS = 2, BITS = 6, LONGEST = 20 + 7 * TEXTS };

// The mean loss of some texts, of different lengths.
struct batch {
    struct lstm text[TEXTS];
};

struct some_texts {
    const struct batch *b;
    const ad_rev *in;
    ad_rev *loss;
    size_t first;
    size_t n;
};

// Halves of halves, down to a text.
static void read_texts(void *ctx)
{
    const struct some_texts *s = ctx;
    size_t half = s->n / 2;
    if (s->n > 1) {
        struct some_texts a = *s, b = *s;
        a.n = half;
        b.first += half;
        b.n -= half;
        both(read_texts, &a, read_texts, &b);
        return;
    }
    const struct lstm *p = &s->b->text[s->first];
    ad_rev *own = adbench_get(lstm_inputs(p), sizeof *own);
    ad_capture(lstm_inputs(p), s->in, own);
    s->loss[s->first] = rev_lstm(p, own);
    free(own);
}

static void run_lstm(const void *problem, double *to)
{
    const struct batch *b = problem;
    size_t n = lstm_inputs(b->text);
    ad_rev *in = adbench_get(n, sizeof *in);
    ad_rev loss[TEXTS];
    struct some_texts all = { b, in, loss, 0, TEXTS };
    ad_inputs(n, b->text->in, in);
    read_texts(&all);
    ad_rev F = ad_rec(ad_div(ad_sum(TEXTS, loss), TEXTS));
    right(ad_gradient(tape, F, n, in, to + 1), "lstm");
    to[0] = F.v;
    free(in);
}

static void test_lstm(void)
{
    enum { INPUTS = 8 * LAYERS * BITS + 3 * BITS, STATE = 2 * LAYERS * BITS };
    static double x[INPUTS + STATE + TEXTS * LONGEST * BITS];
    double got[INPUTS + 1];
    double want[INPUTS + 1] = { 0 };
    struct batch b;
    seed = 2;
    double *text = fill(INPUTS + STATE, -1, 1, x);
    for (size_t i = 0; i < TEXTS * LONGEST * BITS; i++)
        text[i] = uniform(0, 2) < 1 ? 0 : 1;
    for (size_t i = 0; i < TEXTS; i++) {
        double one[INPUTS + 1];
        b.text[i] = (struct lstm){ .l = LAYERS, .c = 20 + 7 * i, .b = BITS,
                                   .in = x, .state = x + INPUTS,
                                   .text = text + i * LONGEST * BITS };
        complex_jacobian(complex_lstm, &b.text[i], INPUTS, x, 1, one, one + 1);
        for (size_t k = 0; k <= INPUTS; k++)
            want[k] += one[k] / TEXTS;
    }
    on_all_pools("lstm", run_lstm, &b, OFTEN, INPUTS + 1, got);
    compare("lstm", "complex steps", INPUTS + 1, got, want, rounding);
}

/* --- ba ------------------------------------------------------------------- */

enum { CAMERAS = 6, SIGHTS = 50, SEEN = 400, ROWS = 20,
       BA_NUMBERS = BA_CAMERA * CAMERAS + BA_POINT * SIGHTS + SEEN };

// Cameras, points, weights in one array, as in the columns of the matrix.
struct scene {
    double x[BA_NUMBERS];
    struct ba_seen seen[SEEN];
};

// Where input j of observation i stands.
static size_t ba_column(const struct scene *s, size_t i, size_t j)
{
    if (j < BA_CAMERA)
        return BA_CAMERA * s->seen[i].camera + j;
    if (j < BA_CAMERA + BA_POINT)
        return BA_CAMERA * CAMERAS + BA_POINT * s->seen[i].point
             + j - BA_CAMERA;
    return BA_CAMERA * CAMERAS + BA_POINT * SIGHTS + i;
}

struct ba_work {
    const struct scene *s;
    const ad_rev *x;
    ad_rev e[2 * SEEN];
    ad_rev w[SEEN];
};

// A part uses the same camera many times: imported once.
static void look(size_t begin, size_t end, void *ctx)
{
    struct ba_work *b = ctx;
    for (size_t i = begin; i < end; i++) {
        ad_rev in[BA_INPUTS];
        for (size_t j = 0; j < BA_INPUTS; j++)
            in[j] = b->x[ba_column(b->s, i, j)];
        ad_capture(BA_INPUTS, in, in);
        rev_ba_error(in, b->s->seen[i].at, b->e + 2 * i);
        b->w[i] = rev_ba_weight(in[BA_INPUTS - 1]);
    }
}

// Half the sum of all squares with its gradient, then some rows of the matrix.
static void run_ba(const void *problem, double *to)
{
    static struct ba_work b;
    ad_rev x[BA_NUMBERS];
    b.s = problem;
    b.x = x;
    ad_inputs(BA_NUMBERS, b.s->x, x);
    if (forking)
        ad_parallel_for(SEEN, 7, look, &b);
    else
        look(0, SEEN, &b);
    ad_rev y = ad_rec(ad_mul(0.5, ad_add(ad_dot(2 * SEEN, b.e, b.e),
                                         ad_dot(SEEN, b.w, b.w))));
    to[0] = y.v;
    right(ad_gradient(tape, y, BA_NUMBERS, x, to + 1), "ba");
    right(ad_jacobian(tape, ROWS, b.e, BA_NUMBERS, x, to + 1 + BA_NUMBERS),
          "ba: rows");
}

// The same numbers from the small matrix of every observation.
static void solve_ba(const struct scene *s, double *to)
{
    double *g = to + 1;
    double *J = g + BA_NUMBERS;
    for (size_t i = 0; i < SEEN; i++) {
        double in[BA_INPUTS];
        double e[2];
        double row[2 * BA_INPUTS];
        for (size_t j = 0; j < BA_INPUTS; j++)
            in[j] = s->x[ba_column(s, i, j)];
        complex_jacobian(complex_ba, s->seen[i].at, BA_INPUTS, in, 2, e, row);
        for (size_t j = 0; j < BA_INPUTS; j++) {
            size_t at = ba_column(s, i, j);
            g[at] += e[0] * row[j] + e[1] * row[BA_INPUTS + j];
            for (size_t k = 0; k < 2 && 2 * i + k < ROWS; k++)
                J[(2 * i + k) * BA_NUMBERS + at] = row[k * BA_INPUTS + j];
        }
        double w = in[BA_INPUTS - 1];
        double term = 1 - w * w;
        g[ba_column(s, i, BA_INPUTS - 1)] -= 2 * w * term;
        to[0] += (e[0] * e[0] + e[1] * e[1] + term * term) / 2;
    }
}

static void make_scene(struct scene *s)
{
    double *x = s->x;
    seed = 3;
    for (size_t i = 0; i < CAMERAS; i++) {
        x = fill(3, -0.8, 0.8, x);
        x = fill(2, -1, 1, x);
        x = fill(1, -9, -6, x);
        x = fill(1, 300, 600, x);
        x = fill(2, -15, 15, x);
        x = fill(2, -0.1, 0.1, x);
    }
    fill(SEEN, 0.1, 1, fill(BA_POINT * SIGHTS, -2, 2, x));
    for (size_t i = 0; i < SEEN; i++) {
        s->seen[i].camera = i % CAMERAS;
        s->seen[i].point = (size_t)uniform(0, SIGHTS);
        fill(2, -300, 300, s->seen[i].at);
    }
}

static void test_ba(void)
{
    enum { N = 1 + BA_NUMBERS + ROWS * BA_NUMBERS };
    static struct scene s;
    static double got[N];
    static double want[N];
    make_scene(&s);
    on_all_pools("ba", run_ba, &s, OFTEN, N, got);
    solve_ba(&s, want);
    compare("ba", "complex steps", 1 + BA_NUMBERS, got, want, rounding);
    for (size_t i = 0; i < ROWS; i++) {
        size_t at = BA_NUMBERS * (i + 1);
        got[at] = want[at] = 0;         // before the row: compared already
        compare("ba: a row", "complex steps", 1 + BA_NUMBERS, got + at,
                want + at, rounding);
    }
}

int main(void)
{
    open_pools();
    test_many_points();
    test_reference();
    test_lstm();
    test_ba();
    close_pools();
    return check_done("parallel_real");
}
