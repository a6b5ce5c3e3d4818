// SPDX-License-Identifier: MIT-0
// tags: recorded slow
// flags: -pthread
/* loop_real.c - real loops as one statement: a recurrent network over its text
 * (lstm), and an epidemic fitted to counts.
 *
 * The networks of the ADBench problems are compared with their references; the
 * files lie in $ADBENCH, or in ../shared/adbench beside the checkout. One made
 * here is compared with its closed form by complex steps, and the bits of all
 * schedules with one another.                                                */

#include "implementation.h"
#include "adrev_function.h"
#include "adrev_loop.h"

#include "adbench_files.h"
#include "adbench_oracle.h"
#include "check.h"

// The other problems are not used.
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

_Static_assert(sizeof(ad_real) == sizeof(double), "references in double");

static const ad_schedule schedules[] = {
    { ADREV_STORE_ALL, 0, NULL }, { ADREV_EVERY, 7, NULL },
    { ADREV_BINOMIAL, 1, NULL }, { ADREV_BINOMIAL, 5, NULL },
    { ADREV_BYTES, 100000, NULL }
};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

static const double rounding = 1e-11;

// The largest difference, in units of the largest entry.
static double distance(size_t n, const double *got, const double *want)
{
    double most = 0;
    double off = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(want[i]));
        off = got[i] == got[i] ? fmax(off, fabs(got[i] - want[i]))
                               : HUGE_VAL;
    }
    return off / most;
}

/* --- a recurrent network ---------------------------------------------------- */

// One character: the state of all layers, and the sum so far.
static void character(ad_step *s, void *ctx)
{
    const struct lstm *p = ctx;
    const size_t b = p->b;
    const size_t n = 2 * p->l * b;
    const ad_rev *in = s->parameter, *win = in + 8 * p->l * b;
    const ad_rev *now = s->sequence[0], *next = now + b;
    double to[64];
    ad_rev u[64], state[256];
    for (size_t i = 0; i < n; i++)
        state[i] = s->state[0][i];
    for (size_t j = 0; j < b; j++) {
        u[j] = ad_rec(ad_mul(now[j], win[j]));
        to[j] = next[j].v;
    }
    for (size_t i = 0; i < p->l; i++)
        rev_lstm_layer(b, in + 8 * b * i, state + 2 * b * i,
                       state + 2 * b * i + b, u);
    for (size_t i = 0; i < n; i++)
        s->next[0][i] = state[i];
    ad_rev more = rev_lstm_likelihood(b, win + b, win + 2 * b, to, u);
    s->next[1][0] = ad_rec(ad_add(s->state[1][0], more));
}

// Likelihoods take the next character as plain numbers, from the sequence: a
// replay would keep those of the step that was recorded. With numbers that are
// recorded it may.
static void character_to_replay(ad_step *s, void *ctx)
{
    const struct lstm *p = ctx;
    const size_t b = p->b;
    const ad_rev *win = s->parameter + 8 * p->l * b;
    const ad_rev *now = s->sequence[0], *next = now + b;
    ad_rev u[64], state[256], sum = ad_rec(2.0), more = s->state[1][0];
    for (size_t i = 0; i < 2 * p->l * b; i++)
        state[i] = s->state[0][i];
    for (size_t j = 0; j < b; j++)
        u[j] = ad_rec(ad_mul(now[j], win[j]));
    for (size_t i = 0; i < p->l; i++)
        rev_lstm_layer(b, s->parameter + 8 * b * i, state + 2 * b * i,
                       state + 2 * b * i + b, u);
    for (size_t j = 0; j < b; j++) {
        u[j] = ad_rec(ad_add(ad_mul(u[j], win[b + j]), win[2 * b + j]));
        ad_acc(&sum, ad_exp(u[j]));
    }
    ad_rev lse = ad_rec(ad_log(sum));
    for (size_t j = 0; j < b; j++)
        ad_acc(&more, ad_mul(next[j], ad_sub(u[j], lse)));
    for (size_t i = 0; i < 2 * p->l * b; i++)
        s->next[0][i] = state[i];
    s->next[1][0] = more;
}

// The gradient to g; returns the value.
static double scan_lstm(const struct lstm *p, ad_schedule schedule,
                        ad_step_fn *step, double *g, ad_scan_report *report)
{
    static const int taps[] = { 0, 1 };
    const size_t n = lstm_inputs(p);
    const size_t words = p->c * p->b;
    const size_t cells = 2 * p->l * p->b;
    ad_rev *in = adbench_get(n + words + cells, sizeof *in);
    ad_rev *text = in + n, *begin = text + words;
    ad_rev zero = {0}, sum = {0};
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_inputs(n, p->in, in);
    for (size_t i = 0; i < words; i++)
        text[i] = ad_rec(p->text[i]);
    for (size_t i = 0; i < cells; i++)
        begin[i] = ad_rec(p->state[i]);
    const ad_scan_state states[] = {
        { .size = cells, .initial = begin },
        { .size = 1, .initial = &zero, .last = &sum }
    };
    const ad_scan_sequence letters = { .size = p->b, .rows = p->c, .row = text,
                                       .taps = 2, .tap = taps };
    const ad_scan_desc d = {
        .step = step, .ctx = (void *)(uintptr_t)p, .steps = p->c - 1,
        .states = 2, .state = states, .sequences = 1, .sequence = &letters,
        .parameters = n, .parameter = in, .schedule = schedule,
        .unreplayed = step == character
    };
    ad_status status = ad_scan(&d, report);
    CHECK(status == ADREV_OK, "lstm: %s", ad_message(status));
    double scale = (double)p->b * (double)(p->c - 1);
    ad_rev y = ad_rec(ad_div(ad_neg(sum), scale));
    status = ad_gradient(t, y, n, in, g);
    CHECK(status == ADREV_OK, "lstm: %s", ad_message(status));
    CHECK(ad_tape_stats(t).bytes < 1000000, "lstm: a tape of %zu bytes",
          ad_tape_stats(t).bytes);
    ad_tape_free(t);
    free(in);
    return y.v;
}

static void test_lstm(const char *name, const struct lstm *p, double F,
                      const double *want)
{
    const size_t n = lstm_inputs(p);
    double *first = adbench_get(n, sizeof *first);
    double *g = adbench_get(n, sizeof *g);
    ad_scan_report report;
    double y = scan_lstm(p, schedules[0], character, first, &report);
    CHECK(fabs(y - F) <= rounding * fabs(F), "%s: %.17g, want %.17g", name, y,
          F);
    CHECK(distance(n, first, want) <= rounding, "%s: off by %.2e", name,
          distance(n, first, want));
    CHECK(report.steps == p->c - 1 && report.evaluations == 2 * (p->c - 1),
          "%s: %zu runs", name, report.evaluations);
    for (int i = 1; i < SCHEDULES; i++) {
        if (schedules[i].kind == ADREV_BINOMIAL && schedules[i].n == 1
            && p->c > 50)
            continue;
        scan_lstm(p, schedules[i], character, g, &report);
        CHECK(memcmp(g, first, n * sizeof *g) == 0, "%s: schedule %d", name,
              i);
    }
    scan_lstm(p, schedules[0], character_to_replay, g, &report);
    CHECK(distance(n, g, want) <= rounding, "%s replayed: off by %.2e", name,
          distance(n, g, want));
    CHECK(p->c - 1 < ADREV_REPLAY_FROM || report.replayed == p->c - 1,
          "%s: %zu replayed", name, report.replayed);
    free(first);
    free(g);
}

static void run_references(void)
{
    const char *set = getenv("ADBENCH");
    const char *data = set != NULL ? set : "../shared/adbench";
    char path[4096];
    snprintf(path, sizeof path, "%s/MANIFEST.txt", data);
    FILE *manifest = fopen(path, "rb");
    if (manifest == NULL) {
        printf("loop_real: skipped, no data (set ADBENCH)\n");
        return;
    }
    struct reader r = reader_open(manifest);
    for (size_t k = read_size(&r, 1, 1000); k > 0 && !r.error; k--) {
        struct listed c = read_listed(&r);
        if (r.error || strncmp(c.kind, "lstm", 4) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", data, c.reference);
        struct reader ref = reader_open(fopen(path, "rb"));
        snprintf(path, sizeof path, "%s/%s", data, c.input);
        struct reader input = reader_open(fopen(path, "rb"));
        struct reference f = read_reference(&ref);
        struct lstm p = read_lstm(&input);
        const double *F = reference_of(&f, "F", 1);
        const double *J = reference_of(&f, "J", lstm_inputs(&p));
        if (CHECK(!ref.error && !input.error && F && J, "%s", c.name))
            test_lstm(c.name, &p, *F, J);
        reader_close(&input);
        reader_close(&ref);
    }
    CHECK(!r.error, "MANIFEST.txt: %s", r.error);
    reader_close(&r);
}

static void run_own(void)
{
    enum { L = 2, B = 3, C = 90, INPUTS = 8 * L * B + 3 * B };
    double in[INPUTS], state[2 * L * B], text[C * B], g[INPUTS];
    for (size_t i = 0; i < INPUTS; i++)
        in[i] = sin((double)(3 * i + 1)) / 2;
    for (size_t i = 0; i < 2 * L * B; i++)
        state[i] = cos((double)i) / 3;
    for (size_t i = 0; i < C * B; i++)
        text[i] = i * i % 7 < 3;
    const struct lstm p = { L, C, B, in, state, text };
    double F;
    complex_jacobian(complex_lstm, &p, INPUTS, p.in, 1, &F, g);
    test_lstm("own network", &p, F, g);
}

/* --- an epidemic -------------------------------------------------------------
 * Boys in bed at an English boarding school, 1978, day by day. The model as in
 * examples/06_influenza.c; once a loop, once a scan with all steps.          */

enum { DAYS = 14, PER_DAY = 10, BOYS = 763, STEPS = (DAYS - 1) * PER_DAY };

static const double counts[DAYS] = { 3, 8, 26, 76, 225, 298, 258, 233, 189,
                                     128, 68, 29, 14, 4 };

static void slope(const ad_rev y[2], const ad_rev rate[2], ad_rev d[2])
{
    ad_rev infections = ad_rec(ad_mul(ad_mul(rate[0], y[0]),
                                      ad_div(y[1], BOYS)));
    d[0] = ad_rec(ad_neg(infections));
    d[1] = ad_rec(ad_sub(infections, ad_mul(rate[1], y[1])));
}

static void runge_kutta(const ad_rev y[2], const ad_rev rate[2], ad_rev to[2])
{
    const double h = 1.0 / PER_DAY;
    ad_rev k[4][2], at[2];
    slope(y, rate, k[0]);
    for (int i = 1; i < 4; i++) {
        for (int j = 0; j < 2; j++)
            at[j] = ad_rec(ad_add(y[j], ad_mul(i < 3 ? h / 2 : h,
                                               k[i - 1][j])));
        slope(at, rate, k[i]);
    }
    for (int j = 0; j < 2; j++) {
        ad_expr ends = ad_add(k[0][j], k[3][j]);
        ad_expr middle = ad_add(k[1][j], k[2][j]);
        ad_expr sum = ad_add(ends, ad_mul(2, middle));
        to[j] = ad_rec(ad_add(y[j], ad_mul(h / 6, sum)));
    }
}

static void one_step(ad_step *s, void *ctx)
{
    (void)ctx;
    runge_kutta(s->state[0], s->parameter, s->next[0]);
}

typedef struct epidemic {
    bool scanned;
    ad_schedule schedule;
} epidemic;

// In bed on each day, for the logarithms of beta, gamma and I0.
static void in_bed(const ad_rev *p, ad_rev *y, void *ctx)
{
    const epidemic *e = ctx;
    const ad_rev rate[2] = { ad_rec(ad_exp(p[0])), ad_rec(ad_exp(p[1])) };
    ad_rev ill = ad_rec(ad_exp(p[2]));
    const ad_rev begin[2] = { ad_rec(ad_sub(BOYS, ill)), ill };
    ad_rev row[STEPS * 2], now[2] = { begin[0], begin[1] };
    const ad_scan_state state = { .size = 2, .initial = begin, .rows = row };
    const ad_scan_desc d = { .step = one_step, .steps = STEPS, .states = 1,
                             .state = &state, .parameters = 2,
                             .parameter = rate, .schedule = e->schedule };
    if (e->scanned)
        CHECK(ad_scan(&d, NULL) == ADREV_OK, "epidemic");
    for (size_t s = 0; s < STEPS && !e->scanned; s++) {
        runge_kutta(now, rate, &row[2 * s]);
        now[0] = row[2 * s];
        now[1] = row[2 * s + 1];
    }
    y[0] = ill;
    for (size_t i = 1; i < DAYS; i++)
        y[i] = row[2 * (i * PER_DAY - 1) + 1];
}

// Gauss and Newton's steps from near: J'J by elimination without pivots, which
// it does not need.
static double fit(epidemic *e, double p[3])
{
    double y[DAYS], J[DAYS * 3], sum = 0;
    for (int k = 0; k < 30; k++) {
        CHECK(ad_jac(in_bed, e, 3, p, DAYS, y, J) == ADREV_OK, "Jacobian");
        double A[3][4] = {{0}};
        sum = 0;
        for (int d = 0; d < DAYS; d++) {
            double off = counts[d] - y[d];
            sum += off * off;
            for (int i = 0; i < 3; i++) {
                A[i][3] += J[3 * d + i] * off;
                for (int j = 0; j < 3; j++)
                    A[i][j] += J[3 * d + i] * J[3 * d + j];
            }
        }
        for (int i = 0; i < 3; i++)
            for (int r = 0; r < 3; r++)
                for (int j = 3; r != i && j >= i; j--)
                    A[r][j] -= A[r][i] / A[i][i] * A[i][j];
        for (int i = 0; i < 3; i++)
            p[i] += A[i][3] / A[i][i];
    }
    return sum;
}

static void test_epidemic(void)
{
    double want[3] = { 0.5, -0.8, 1.2 };
    epidemic loop = { false, schedules[0] };
    double least = fit(&loop, want);
    CHECK(sqrt(least / DAYS) < 25, "%.1f boys off", sqrt(least / DAYS));
    for (int i = 0; i < SCHEDULES; i++) {
        double p[3] = { 0.5, -0.8, 1.2 };
        epidemic scan = { true, schedules[i] };
        double sum = fit(&scan, p);
        CHECK(fabs(sum - least) < 1e-10 * least, "schedule %d: %.15g, %.15g",
              i, sum, least);
        for (int j = 0; j < 3; j++)
            CHECK_NEAR(p[j], want[j], 1e-9);
    }
}

int main(void)
{
    run_own();
    run_references();
    test_epidemic();
    return check_done("loop_real");
}
