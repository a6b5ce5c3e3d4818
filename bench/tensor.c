// SPDX-License-Identifier: MIT-0
/* tensor.c - what formulas over indexed arrays cost, beside C by hand:
 *
 *     tensor [-r rounds] [program ...]     default: all of them
 *     tensor -q [program ...]              small, once, without times
 *
 * `bind` is one of them: seconds to read a text and to bind it, of eight.
 *
 *   by hand      value in seconds; the gradient, and all that follows, divided
 *                by that (rows diag: times)
 *   adrev        value and gradient, interpreted; own: gradient / value
 *   compiled     the same by ad_tensor_compile (with -DBENCH_TENSOR_COMPILED)
 *   tape         the gradient of a tape of adrev, recorded and swept
 *   openblas, eigen, torch   which bench/alone.sh links where they are
 *   error        largest of any number, against what is by hand
 *
 * A ratio is the median of rounds, behind it half the distance between the
 * quartiles in percent. Gradients are computed together with the value, those
 * of convolutions and matrices alone: these are linear. One thread each.
 *
 *   squares      0.5 |A x - b|^2, with respect to x
 *   conv         3 x 3, padded, with respect to the image; by hand with tests
 *   conv-core    the same; by hand without tests but at the edges
 *   burgers      the sum of squares after a step, with respect to u
 *   spmv         5 to 10 entries a row, with respect to both factors
 *   matmul       with respect to both factors
 *   attention    with respect to Q, K and V
 *   cp           a sparse tensor less its factorisation, with respect to that
 *   diag-1 to 3  diag(x): four traces; row 0 times column 0; four such products
 *
 * Not representative: dense programs whose inner loops are long. */

#define ADREV_IMPLEMENTATION
#ifdef BENCH_TENSOR_COMPILED
#include "../adrev_function.h"
#endif
#include "../adrev_tensor.h"

#include "report.h"
#include "tensor.h"

// A wrong partial shows at 1e-3 and above. Where sums cancel, numbers below a
// thousandth of the largest have fewer digits.
static const double tolerance = 1e-10;
static const double least_part = 1e-3;

// Shorter timings show the clock and interrupts.
static const double least_seconds = 2e-3;

// Runs that last longer show nothing of the caches as they were before.
static const double long_seconds = 1.0;

// A program that takes longer than this for all rounds gets fewer, at least
// three.
static const double most_seconds = 30.0;

/* ---------------------------------------------------------------------------
 * Programs
 * ------------------------------------------------------------------------- */

#define LEAST_SQUARES                                                         \
    "in A[m,n], x[n], b[m];"                                                  \
    "r[i] = sum(j) A[i,j]*x[j] - b[i];"                                       \
    "out f = 0.5*sum(i) r[i]^2;"

#define CONVOLUTION                                                           \
    "y[i<h,j<w] = sum(a,b) x?[i+a-1,j+b-1]*k[a,b];"

#define BURGERS_STEP                                                          \
    "w[i,j] = u[i,j] + [0 < i < n-1, 0 < j < n-1]"                            \
    " (nu*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1] - 4*u[i,j])"             \
    "  - a*u[i,j]*(u[i,j] - u[i-1,j]));"

#define SPARSE                                                                \
    "rel R[m,n]; in A[R], x[n];"                                              \
    "out y[i] = sum(j) A[i,j]*x[j];"

#define ATTENTION                                                             \
    "in Q[n,d], K[m,d], V[m,d], c;"                                           \
    "s[i,j] = c*sum(k) Q[i,k]*K[j,k];"                                        \
    "t[i] = detach(maximum(j) s[i,j]);"                                       \
    "p[i,j] = exp(s[i,j] - t[i]);"                                            \
    "z[i] = sum(j) p[i,j];"                                                   \
    "out O[i,k] = (sum(j) p[i,j]*V[j,k])/z[i];"

#define FACTORISATION                                                         \
    "rel T[l,m,n]; in X[T], A[l,r], B[m,r], C[n,r];"                          \
    "out f = sum(i,j,k: T(i,j,k))"                                            \
    " (X[i,j,k] - sum(s) A[i,s]*B[j,s]*C[k,s])^2;"

#define DIAGONAL "in x[n]; A[i<n,j<n] = [i==j] x[i];"
#define TRACE    "sum(i) A[i,i]"

typedef struct program {
    const char *name;
    const char *text;
    const char *sizes[TENSOR_SIZES];
    size_t usual[TENSOR_SIZES];
    size_t small[TENSOR_SIZES];
    // Numbers of inputs, results and entries, and what else there is to fill.
    void (*fill)(tensor_data *d);
    const char *relation;
    tensor_name by;                 // what tools call it
    bool wanted[TENSOR_INPUTS];     // adjoints
    bool alone;                     // without the value
    bool fused;
    bool in_seconds;
} program;

static void fill_squares(tensor_data *d)
{
    d->count[0] = d->size[0] * d->size[1];
    d->count[1] = d->size[1];
    d->count[2] = d->size[0];
    d->results = 1;
}

static void fill_conv(tensor_data *d)
{
    d->count[0] = d->results = d->size[0] * d->size[1];
    d->count[1] = d->size[2] * d->size[3];
}

static void fill_burgers(tensor_data *d)
{
    d->count[0] = d->size[0] * d->size[0];
    d->count[1] = d->count[2] = 1;
    d->results = 1;
}

// The same at every call.
static size_t pseudorandom(size_t i, size_t below)
{
    uint64_t x = ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 31) * UINT64_C(0xd6e8feb86659fd93);
    return (size_t)((x ^ x >> 32) % below);
}

// A row is cut into as many parts as it has entries, one in each.
static void fill_sparse(tensor_data *d)
{
    const size_t m = d->size[0];
    const size_t n = d->size[1];
    int *start = get(m + 1, sizeof *start);
    int *row = get(10 * m, sizeof *row);
    int *column = get(10 * m, sizeof *column);
    size_t e = 0;

    for (size_t i = 0; i < m; i++) {
        const size_t parts = 5 + pseudorandom(i, 6);

        for (size_t part = 0; part < parts; part++, e++) {
            row[e] = (int)i;
            column[e] = (int)(part * (n / parts)
                              + pseudorandom(m + e, n / parts));
        }
        start[i + 1] = (int)e;
    }
    d->entries = d->count[0] = e;
    d->count[1] = n;
    d->results = m;
    d->start = start;
    d->column[0] = row;
    d->column[1] = column;
}

static void fill_matmul(tensor_data *d)
{
    d->count[0] = d->size[0] * d->size[1];
    d->count[1] = d->size[1] * d->size[2];
    d->results = d->size[0] * d->size[2];
}

static void fill_attention(tensor_data *d)
{
    d->count[0] = d->results = d->size[0] * d->size[2];
    d->count[1] = d->count[2] = d->size[1] * d->size[2];
    d->count[3] = 1;
}

// One entry in each 1000 places (8, of a small tensor), row by row.
static void fill_cp(tensor_data *d)
{
    const size_t places = d->size[0] * d->size[1] * d->size[2];
    const size_t apart = places > 1000000 ? 1000 : 8;
    const size_t entries = places / apart;
    int *column[TENSOR_COLUMNS];

    for (int k = 0; k < TENSOR_COLUMNS; k++) {
        d->column[k] = column[k] = get(entries, sizeof *column[k]);
        d->count[k + 1] = d->size[k] * d->size[3];
    }
    for (size_t e = 0; e < entries; e++) {
        const size_t at = e * apart + pseudorandom(e, apart);

        column[0][e] = (int)(at / d->size[2] / d->size[1]);
        column[1][e] = (int)(at / d->size[2] % d->size[1]);
        column[2][e] = (int)(at % d->size[2]);
    }
    d->entries = d->count[0] = entries;
    d->results = 1;
}

static void fill_diagonal(tensor_data *d)
{
    d->count[0] = d->size[0];
    d->results = 1;
}

#define MATMUL(n)                                                             \
    {                                                                         \
        .name = "matmul-" #n,                                                 \
        .text = "in A[m,k], B[k,n]; out C[i,j] = sum(l) A[i,l]*B[l,j];",      \
        .sizes = { "m", "k", "n" }, .usual = { n, n, n },                     \
        .small = { 9, 21, 17 }, .fill = fill_matmul, .by = TENSOR_MATMUL,     \
        .wanted = { true, true }, .alone = true, .fused = true                \
    }

#define CONV(title, tool)                                                     \
    {                                                                         \
        .name = title, .text = "in x[h,w], k[p,q]; out " CONVOLUTION,         \
        .sizes = { "h", "w", "p", "q" }, .usual = { 512, 512, 3, 3 },         \
        .small = { 7, 9, 3, 3 }, .fill = fill_conv, .by = tool,               \
        .wanted = { true }, .alone = true                                     \
    }

#define DIAG(title, formula, tool)                                            \
    {                                                                         \
        .name = title, .text = DIAGONAL "out f = " formula ";",               \
        .sizes = { "n" }, .usual = { 10000 }, .small = { 16 },                \
        .fill = fill_diagonal, .by = tool, .wanted = { true },                \
        .in_seconds = true                                                    \
    }

static const program programs[] = {
    {
        .name = "squares", .text = LEAST_SQUARES, .sizes = { "m", "n" },
        .usual = { 1000, 1000 }, .small = { 7, 20 }, .fill = fill_squares,
        .by = TENSOR_SQUARES, .wanted = { false, true }
    },
    CONV("conv", TENSOR_CONV),
    CONV("conv-core", TENSOR_CORE),
    {
        .name = "burgers",
        .text = "in u[n,n], a, nu;" BURGERS_STEP "out f = sum(i,j) w[i,j]^2;",
        .sizes = { "n" }, .usual = { 512 }, .small = { 7 },
        .fill = fill_burgers, .by = TENSOR_BURGERS, .wanted = { true }
    },
    {
        .name = "spmv", .text = SPARSE, .sizes = { "m", "n" },
        .usual = { 100000, 100000 }, .small = { 12, 30 }, .fill = fill_sparse,
        .relation = "R", .by = TENSOR_SPMV, .wanted = { true, true }
    },
    MATMUL(96), MATMUL(192), MATMUL(384), MATMUL(768), MATMUL(1536),
    {
        .name = "attention", .text = ATTENTION, .sizes = { "n", "m", "d" },
        .usual = { 512, 512, 64 }, .small = { 5, 7, 3 },
        .fill = fill_attention, .by = TENSOR_ATTENTION,
        .wanted = { true, true, true }
    },
    {
        .name = "cp", .text = FACTORISATION, .sizes = { "l", "m", "n", "r" },
        .usual = { 2000, 1000, 500, 16 }, .small = { 6, 5, 8, 3 },
        .fill = fill_cp, .relation = "T", .by = TENSOR_CP,
        .wanted = { false, true, true, true }
    },
    DIAG("diag-1", TRACE " + " TRACE " + " TRACE " + " TRACE, TENSOR_TRACES),
    DIAG("diag-2", "sum(i) A[i,0]*A[0,i]", TENSOR_DOT),
    DIAG("diag-3", "sum(c<4,i) A[i,c]*A[c,i]", TENSOR_DOTS),
};

enum { PROGRAMS = sizeof programs / sizeof programs[0] };

// From -1 to 1.
static double *numbers(size_t n, size_t first)
{
    double *v = get(n, sizeof *v);

    for (size_t i = 0; i < n; i++) {
        v[i] = 2e-6 * (double)pseudorandom(first + i, 1000000) - 1.0;
    }
    return v;
}

static double *one_number(double x)
{
    double *v = get(1, sizeof *v);

    *v = x;
    return v;
}

// Inputs that are one number are an eighth; the adjoint of one result is 1.
static void open_data(const program *p, bool quick, tensor_data *d)
{
    memset(d, 0, sizeof *d);
    memcpy(d->size, quick ? p->small : p->usual, sizeof d->size);
    p->fill(d);
    for (int i = 0; i < TENSOR_INPUTS && d->count[i] > 0; i++) {
        d->x[i] = d->count[i] > 1 ? numbers(d->count[i], (size_t)i << 30)
                                  : one_number(0.125);
    }
    d->w = d->results > 1 ? numbers(d->results, (size_t)9 << 30)
                          : one_number(1.0);
}

static void close_data(tensor_data *d)
{
    for (int i = 0; i < TENSOR_INPUTS; i++) {
        free((void *)d->x[i]);
    }
    for (int i = 0; i < TENSOR_COLUMNS; i++) {
        free((void *)d->column[i]);
    }
    free((void *)d->start);
    free((void *)d->w);
}

/* ---------------------------------------------------------------------------
 * adrev's tools
 * ------------------------------------------------------------------------- */

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static ad_tensor *bound(const program *p, const tensor_data *d)
{
    const ad_tensor_options options = { .fused = p->fused };
    ad_tensor_error e = { 0 };
    ad_tensor *t = NULL;
    ad_status status = ad_tensor_new(&t, p->text, &options, &e);

    for (int i = 0; i < TENSOR_SIZES && p->sizes[i] && !status; i++) {
        status = ad_tensor_size(t, p->sizes[i], d->size[i]);
    }
    if (!status && d->start) {
        status = ad_tensor_csr(t, p->relation, d->start, d->column[1]);
    } else if (!status && p->relation) {
        status = ad_tensor_relation(t, p->relation, d->entries, d->column);
    }
    if (!status) {
        status = ad_tensor_bind(t, &e);
    }
    if (status) {
        die(p->name, e.text[0] ? e.text : ad_message(status));
    }
    return t;
}

static void eval(ad_tensor *t, const tensor_data *d, double *y)
{
    double *const out[] = { y };
    const ad_status status = ad_tensor_eval(t, d->x, out);

    if (status) {
        die("ad_tensor_eval", ad_message(status));
    }
}

static void vjp(ad_tensor *t, const tensor_data *d, double *y,
                double *const g[])
{
    const double *const seed[] = { d->w };
    double *const out[] = { y };
    const ad_status status = ad_tensor_vjp(t, d->x, seed, out, g);

    if (status) {
        die("ad_tensor_vjp", ad_message(status));
    }
}

static ad_tensor *interpreted;

static void interpreted_value(const tensor_data *d, double *y)
{
    eval(interpreted, d, y);
}

static void interpreted_gradient(const tensor_data *d, double *y,
                                 double *const g[])
{
    vjp(interpreted, d, y, g);
}

#ifdef BENCH_TENSOR_COMPILED

static ad_tensor *compiled;

static void compiled_value(const tensor_data *d, double *y)
{
    eval(compiled, d, y);
}

static void compiled_gradient(const tensor_data *d, double *y,
                              double *const g[])
{
    vjp(compiled, d, y, g);
}

// Code that gcc compiles, whoever compiled this file.
static void compile(const program *p, const tensor_data *d)
{
    const ad_compile_options options = {
        .compiler = "gcc", .functions = ADREV_C_VALUE | ADREV_C_VJP
    };

    compiled = bound(p, d);
    const ad_status status = ad_tensor_compile(compiled, &options);
    if (status) {
        printf("%s is not compiled: %s\n", p->name, ad_message(status));
        ad_tensor_free(compiled);
        compiled = NULL;
    }
}

#endif

/* ---------------------------------------------------------------------------
 * The tape of adrev
 * ------------------------------------------------------------------------- */

static ad_tape *tape;

// A number of the row after a step.
static ad_rev stepped(const tensor_data *d, const ad_rev *u)
{
    const size_t n = d->size[0];
    const double a = *d->x[1];
    const double nu = *d->x[2];

    return ad_rec(ad_add(*u, ad_sub(
        ad_mul(nu, ad_sub(ad_add(ad_add(u[-(ptrdiff_t)n], u[n]),
                                 ad_add(u[-1], u[1])), ad_mul(4.0, *u))),
        ad_mul(ad_mul(a, *u), ad_sub(*u, u[-(ptrdiff_t)n])))));
}

static void tape_burgers(const tensor_data *d, double *y, double *const g[])
{
    const size_t n = d->size[0];
    ad_rev *u = get(n * n, sizeof *u);
    ad_rev f = ad_rec(0.0);

    ad_use(tape);
    ad_tape_clear(tape);
    ad_inputs(n * n, d->x[0], u);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            const bool inner = i > 0 && i + 1 < n && j > 0 && j + 1 < n;
            const ad_rev *at = u + i * n + j;

            ad_acc(&f, ad_sqr(inner ? stepped(d, at) : *at));
        }
    }
    *y = ad_value(f);
    if (ad_gradient(tape, f, n * n, u, g[0]) != ADREV_OK) {
        g[0][0] = HUGE_VAL;
    }
    ad_use(NULL);
    free(u);
}

/* ---------------------------------------------------------------------------
 * Measurement of a program
 * ------------------------------------------------------------------------- */

enum { VALUE, GRADIENT, PARTS };
enum { HAND, ADREV, COMPILED, TAPE, OPENBLAS, EIGEN, TORCH, TOOLS };

typedef struct lane {
    tensor_run run;
    size_t repeat[PARTS];
    double seconds[PARTS][REPORT_ROUNDS];
} lane;

typedef struct bench {
    const program *p;
    tensor_data d;
    lane lanes[TOOLS];
    double *y, *g[TENSOR_INPUTS];
    double *want_y, *want_g[TENSOR_INPUTS];
    size_t rounds;
    double error;
} bench;

static tensor_run run_of(size_t tool, tensor_name by)
{
    switch (tool) {
    case HAND:     return tensor_hand.run[by];
    case ADREV:    return (tensor_run){ interpreted_value,
                                        interpreted_gradient };
#ifdef BENCH_TENSOR_COMPILED
    case COMPILED: return !compiled ? (tensor_run){ NULL, NULL }
                        : (tensor_run){ compiled_value, compiled_gradient };
#endif
    case TAPE:     return (tensor_run){ NULL, by == TENSOR_BURGERS
                                              ? tape_burgers : NULL };
#ifdef BENCH_TENSOR_OPENBLAS
    case OPENBLAS: return tensor_openblas.run[by];
#endif
#ifdef BENCH_TENSOR_EIGEN
    case EIGEN:    return tensor_eigen.run[by];
#endif
#ifdef BENCH_TENSOR_TORCH
    case TORCH:    return tensor_torch.run[by];
#endif
    default:       return (tensor_run){ NULL, NULL };
    }
}

static bool takes_part(const lane *l, int part)
{
    return part == VALUE ? l->run.value != NULL : l->run.gradient != NULL;
}

// Processor time: when another process gets this core, the clock stands still.
static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static void run_once(bench *b, const lane *l, int part)
{
    if (part == VALUE) {
        l->run.value(&b->d, b->y);
    } else {
        l->run.gradient(&b->d, b->p->alone ? NULL : b->y, b->g);
    }
}

// The results of the tool before are wiped out, so that one that writes nothing
// is found out.
static void wipe(bench *b)
{
    for (size_t i = 0; i < b->d.results; i++) {
        b->y[i] = (double)NAN;
    }
    for (int i = 0; i < TENSOR_INPUTS; i++) {
        for (size_t j = 0; b->g[i] && j < b->d.count[i]; j++) {
            b->g[i][j] = (double)NAN;
        }
    }
}

static void check_array(bench *b, size_t n, const double *got,
                        const double *want)
{
    b->error = fmax(b->error, difference_down_to(least_part, n, got, want));
}

static void check(bench *b, int part)
{
    if (part == VALUE || !b->p->alone) {
        check_array(b, b->d.results, b->y, b->want_y);
    }
    for (int i = 0; part == GRADIENT && i < TENSOR_INPUTS; i++) {
        if (b->g[i]) {
            check_array(b, b->d.count[i], b->g[i], b->want_g[i]);
        }
    }
}

// Seconds per run. The first run finds the caches as the tool before left them,
// and is not timed, unless it is long.
static double time_lane(bench *b, lane *l, int part)
{
    double start = now();

    wipe(b);
    run_once(b, l, part);
    check(b, part);
    if (now() - start > long_seconds) {
        return now() - start;
    }
    start = now();
    for (size_t i = 0; i < l->repeat[part]; i++) {
        run_once(b, l, part);
    }
    return (now() - start) / (double)l->repeat[part];
}

// Finds how many runs last long enough. Returns how long a round takes.
static double warm_up(bench *b)
{
    double total = 0.0;

    for (size_t i = 0; i < TOOLS; i++) {
        for (int part = 0; part < PARTS; part++) {
            lane *l = &b->lanes[i];
            double seconds = 0.0;

            for (l->repeat[part] = 1; takes_part(l, part);
                 l->repeat[part] *= 2) {
                seconds = time_lane(b, l, part) * (double)l->repeat[part];
                if (seconds >= least_seconds) {
                    break;
                }
            }
            total += seconds * (1.0 + 1.0 / (double)l->repeat[part]);
        }
    }
    return total;
}

static void measure(bench *b, size_t rounds)
{
    const double total = warm_up(b);
    const double fit = most_seconds / total;

    b->rounds = fit < 3.0 ? 3 : fit < (double)rounds ? (size_t)fit : rounds;
    b->rounds = b->rounds < rounds ? b->rounds : rounds;
    for (size_t round = 0; round < b->rounds; round++) {
        for (size_t i = 0; i < TOOLS; i++) {
            lane *l = &b->lanes[i];

            for (int part = 0; part < PARTS; part++) {
                if (takes_part(l, part)) {
                    l->seconds[part][round] = time_lane(b, l, part);
                }
            }
        }
    }
}

// Each tool once.
static void check_all(bench *b)
{
    for (size_t i = 0; i < TOOLS; i++) {
        for (int part = 0; part < PARTS; part++) {
            if (takes_part(&b->lanes[i], part)) {
                wipe(b);
                run_once(b, &b->lanes[i], part);
                check(b, part);
            }
        }
    }
}

static void open_bench(bench *b, const program *p, bool quick)
{
    memset(b, 0, sizeof *b);
    b->p = p;
    open_data(p, quick, &b->d);
    b->y = get(b->d.results, sizeof *b->y);
    b->want_y = get(b->d.results, sizeof *b->want_y);
    for (int i = 0; i < TENSOR_INPUTS; i++) {
        b->g[i] = p->wanted[i] ? get(b->d.count[i], sizeof **b->g) : NULL;
        b->want_g[i] = p->wanted[i] ? get(b->d.count[i], sizeof **b->g) : NULL;
    }
    tensor_hand.run[p->by].value(&b->d, b->want_y);
    tensor_hand.run[p->by].gradient(&b->d, p->alone ? NULL : b->want_y,
                                    b->want_g);
    interpreted = bound(p, &b->d);
#ifdef BENCH_TENSOR_COMPILED
    compile(p, &b->d);
#endif
    tape = ad_tape_new();
    for (size_t i = 0; i < TOOLS; i++) {
        b->lanes[i].run = run_of(i, p->by);
    }
}

static void close_bench(bench *b)
{
    for (int i = 0; i < TENSOR_INPUTS; i++) {
        free(b->g[i]);
        free(b->want_g[i]);
    }
    free(b->y);
    free(b->want_y);
    close_data(&b->d);
    ad_tensor_free(interpreted);
#ifdef BENCH_TENSOR_COMPILED
    ad_tensor_free(compiled);
#endif
    ad_tape_free(tape);
}

/* ---------------------------------------------------------------------------
 * The table
 * ------------------------------------------------------------------------- */

// Of a tool's part to `unit`, or its time.
static void print_cell(const bench *b, size_t tool, int part,
                       const double *unit)
{
    const lane *l = &b->lanes[tool];
    const summary s = summarise(b->rounds, l->seconds[part], unit);

    if (!takes_part(l, part)) {
        printf(" %9s", "-");
    } else if (unit) {
        printf(" %5.*f %2.0f%%", s.median < 100.0 ? 2 : 0, s.median,
               1e2 * s.spread);
    } else {
        print_seconds(s.median);
    }
}

// The columns behind the value by hand; PARTS: adrev's gradient / its value.
static const struct { size_t tool; int part; const char *title; } columns[] = {
    { HAND, GRADIENT, "grad" }, { ADREV, VALUE, "adrev" },
    { ADREV, GRADIENT, "grad" }, { ADREV, PARTS, "own" },
    { COMPILED, VALUE, "compiled" }, { COMPILED, GRADIENT, "grad" },
    { TAPE, GRADIENT, "tape grad" }, { OPENBLAS, VALUE, "openblas" },
    { EIGEN, VALUE, "eigen" }, { TORCH, VALUE, "torch" },
    { TORCH, GRADIENT, "grad" },
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

static void print_head(void)
{
    printf("\n%-11s  by hand ", "program");
    for (size_t i = 0; i < COLUMNS; i++) {
        printf(" %9s", columns[i].title);
    }
    printf("  error\n");
}

static void print_row(const bench *b)
{
    const double *hand = b->lanes[HAND].seconds[VALUE];

    printf("%-11s", b->p->name);
    print_seconds(summarise(b->rounds, hand, NULL).median);
    for (size_t i = 0; i < COLUMNS; i++) {
        if (columns[i].part == PARTS) {
            print_cell(b, columns[i].tool, GRADIENT,
                       b->lanes[columns[i].tool].seconds[VALUE]);
        } else {
            print_cell(b, columns[i].tool, columns[i].part,
                       b->p->in_seconds ? NULL : hand);
        }
    }
    printf("  %.1e%s\n", b->error, b->error <= tolerance ? "" : "  WRONG");
    fflush(stdout);
}

// Whether all results are right.
static bool row(const program *p, size_t rounds, bool quick)
{
    bench b;

    open_bench(&b, p, quick);
    if (quick) {
        check_all(&b);
        printf("%-11s %.1e%s\n", p->name, b.error,
               b.error <= tolerance ? "" : "  WRONG");
    } else {
        measure(&b, rounds);
        print_row(&b);
    }
    const bool right = b.error <= tolerance;
    close_bench(&b);
    return right;
}

/* ---------------------------------------------------------------------------
 * Reading and binding
 * ------------------------------------------------------------------------- */

typedef struct reading {
    const char *name;
    const char *text;
    struct { const char *name; size_t n; } size[TENSOR_SIZES];
    const char *map[2];             // of the first size
    const char *relation;
    size_t entries;
    int columns;
} reading;

static const reading readings[] = {
    { .name = "squares", .text = LEAST_SQUARES,
      .size = { { "m", 3 }, { "n", 2 } } },
    { .name = "conv",
      .text = "in x[h,w], k[p,q], z[h,w];" CONVOLUTION
              "out f = sum(i,j) (y[i,j] - z[i,j])^2;",
      .size = { { "h", 64 }, { "w", 48 }, { "p", 3 }, { "q", 3 } } },
    { .name = "burgers", .text = "in u[n,n], a, nu; out " BURGERS_STEP,
      .size = { { "n", 100 } } },
    { .name = "spmv", .text = SPARSE, .size = { { "m", 4 }, { "n", 4 } },
      .relation = "R", .entries = 6, .columns = 2 },
    { .name = "attention", .text = ATTENTION,
      .size = { { "n", 128 }, { "m", 128 }, { "d", 64 } } },
    { .name = "graph",
      .text = "map src[e]->n, dst[e]->n; in h[n,d], W[d,d], q[n];"
              "m[i,k] = sum(l) W[k,l]*h[i,l];"
              "out g[i<n,k] = tanh(q[i]*sum(a: dst[a]==i) m[src[a],k]);",
      .size = { { "e", 4 }, { "n", 3 }, { "d", 8 } },
      .map = { "src", "dst" } },
    { .name = "trace",
      .text = DIAGONAL "out f = " TRACE " + " TRACE ";"
              "out g = sum(i) A[i,0]*A[0,i];",
      .size = { { "n", 1000000 } } },
    { .name = "cp", .text = FACTORISATION,
      .size = { { "l", 20 }, { "m", 30 }, { "n", 40 }, { "r", 8 } },
      .relation = "T", .entries = 1000, .columns = 3 },
};

enum { READINGS = sizeof readings / sizeof readings[0], MOST_ENTRIES = 1000 };

// Entry e is that number in the order of the first, then the second column.
static ad_status relate(const reading *r, ad_tensor *t)
{
    static int column[TENSOR_COLUMNS][MOST_ENTRIES];
    const int *const columns_of[] = { column[0], column[1], column[2] };

    for (size_t e = 0; e < r->entries; e++) {
        column[0][e] = (int)(e % r->size[0].n);
        column[1][e] = (int)(e / r->size[0].n % r->size[1].n);
        column[2][e] = (int)((7 * e + e / r->size[0].n) % 40);
    }
    return ad_tensor_relation(t, r->relation, r->entries, columns_of);
}

// Seconds to read and bind it once.
static double read_once(const reading *r)
{
    static const int map[] = { 1, 2, 0, 1 };
    ad_tensor_error e = { 0 };
    ad_tensor *t = NULL;
    const double start = wall();
    ad_status status = ad_tensor_new(&t, r->text, NULL, &e);

    for (int i = 0; i < TENSOR_SIZES && r->size[i].name && !status; i++) {
        status = ad_tensor_size(t, r->size[i].name, r->size[i].n);
    }
    for (int i = 0; i < 2 && r->map[i] && !status; i++) {
        status = ad_tensor_map(t, r->map[i], map);
    }
    if (!status && r->relation) {
        status = relate(r, t);
    }
    if (!status) {
        status = ad_tensor_bind(t, &e);
    }
    const double seconds = wall() - start;
    if (status) {
        die(r->name, e.text[0] ? e.text : ad_message(status));
    }
    ad_tensor_free(t);
    return seconds;
}

static void print_readings(size_t rounds, bool quick)
{
    double seconds[REPORT_ROUNDS];

    printf("%s", quick ? "" : "\nnew and bind");
    for (size_t i = 0; i < READINGS; i++) {
        read_once(&readings[i]);
        for (size_t round = 0; round < rounds && !quick; round++) {
            seconds[round] = read_once(&readings[i]);
        }
        if (!quick) {
            printf("  %s", readings[i].name);
            print_seconds(summarise(rounds, seconds, NULL).median);
        }
    }
    printf("%s", quick ? "" : "\n");
}

// All are asked for if none is.
static bool asked(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return argc == 1;
}

int main(int argc, char **argv)
{
    const bool quick = argc > 1 && strcmp(argv[1], "-q") == 0;
    bool right = true;

    argc -= quick;
    argv += quick;
    const size_t rounds = take_rounds(&argc, &argv, 9);
    if (!quick) {
        print_machine(ADREV_VERSION);
#ifdef BENCH_TENSOR_OPENBLAS
        printf("openblas with kernels for %s\n", tensor_openblas_core());
#endif
        print_head();
    }
    for (size_t i = 0; i < PROGRAMS; i++) {
        if (asked(argc, argv, programs[i].name)) {
            right &= row(&programs[i], rounds, quick);
        }
    }
    if (asked(argc, argv, "bind")) {
        print_readings(rounds, quick);
    }
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
