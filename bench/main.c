// SPDX-License-Identifier: MIT-0
/* main.c - times every tool on every case and prints the table.
 *
 *     bench [-r rounds] [case...]
 *
 * A case is named in full (dot-1e7) or by its beginning (dot); none means all.
 * A round times the plain program and then each tool, for at least 2 ms each,
 * so that what disturbs the machine for longer disturbs all of them. A ratio is
 * taken within a round; the table shows the median over the rounds and, behind
 * it, half the distance between the quartiles in percent of the median.
 *
 * The result of every tool is compared with the hand-written derivative after
 * every timing; one that ever differs is printed as WRONG, not as a time.
 *
 *   n          inputs
 *   f          time of the plain program
 *   grad/f     time of value and derivative / f; for mul and rotquat: the time
 *   ns/op      adrev's time / operations of the program (workloads.h)
 *   B/op       adrev's tape with adjoints / operations
 *   error      adrev's derivative: largest relative error against by hand
 *   hand err   by hand: error of value and norm against workloads.h
 */

#include "report.h"
#include "workloads.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MAX_TOOLS = 16,
    MAX_ROUNDS = REPORT_ROUNDS,
    CEILING_MIB = 512,          // beyond most caches
    CEILING_ROUNDS = 11
};

// Cases that move fewer bytes live in a cache, and have no ceiling of memory.
static const double ceiling_bytes = 1e8;

// Shorter timings show the clock and interrupts.
static const double least_seconds = 2e-3;

// Tools may add in another order than the hand-written code; the longest sum
// has 1e7 terms. A wrong partial shows at 1e-3 and above.
static const double tolerance = 1e-9;

// A benchmark without memory has nothing to report.
static void die(const char *why)
{
    fprintf(stderr, "bench: %s\n", why);
    exit(EXIT_FAILURE);
}

/* ---------------------------------------------------------------------------
 * Tools
 * ------------------------------------------------------------------------- */

static const bench_tool *tools[MAX_TOOLS];
static size_t tool_count;

void bench_register(const bench_tool *tool)
{
    if (tool_count < MAX_TOOLS) {
        tools[tool_count++] = tool;
    }
}

// Order of the columns: plain, by hand, adrev, then the others as linked.
enum { PLAIN, HAND, ADREV, OTHERS };

// The tools that registered themselves come in the order of linking.
static void sort_tools(void)
{
    static const bench_tool absent = { .name = "adrev", .version = "absent" };
    const bench_tool *sorted[MAX_TOOLS + OTHERS];
    size_t n = OTHERS;

    sorted[PLAIN] = &bench_plain;
    sorted[HAND] = &bench_hand;
    sorted[ADREV] = &absent;
    for (size_t i = 0; i < tool_count; i++) {
        const bool ours = strcmp(tools[i]->name, absent.name) == 0;

        sorted[ours ? ADREV : n++] = tools[i];
    }
    if (n > MAX_TOOLS) {
        die("too many tools");
    }
    memcpy(tools, sorted, n * sizeof *tools);
    tool_count = n;
}

/* ---------------------------------------------------------------------------
 * Comparison
 * ------------------------------------------------------------------------- */

// Forward mode computes one number, along one direction; a sparse Jacobian has
// as many as it has entries.
static size_t derivatives(const bench_case *c)
{
    switch (c->workload) {
    case BENCH_FORWARD: return 1;
    case BENCH_BA:      return 31 * (size_t)BENCH_BA_SEEN;
    default:            return c->inputs * c->outputs;
    }
}

static double norm(size_t n, const double *v)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += v[i] * v[i];
    }
    return sqrt(sum);
}

/* ---------------------------------------------------------------------------
 * Measurement of one case
 * ------------------------------------------------------------------------- */

typedef struct lane {
    bench_run *run;             // NULL: takes no part
    size_t repeat;
    double seconds[MAX_ROUNDS];
    double error;               // of the derivative, largest seen
    double bytes;
    bool wrong;
} lane;

typedef struct bench {
    const bench_case *c;
    size_t rounds;
    double *x;
    double *y;
    double *dy;
    double *want_y;
    double *want_dy;
    double hand_error;          // by hand against the numbers in the table
    lane lanes[MAX_TOOLS];
} bench;

// Processor time: when another process gets this core, the clock stands still.
static double now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

// Seconds per run. The results of the tool before are wiped out first, so that
// one that writes nothing is found out. The first run finds the caches as that
// tool left them, and is not timed: whom it follows must not matter.
static double time_lane(bench *b, lane *l)
{
    const size_t n = derivatives(b->c);
    double start;

    for (size_t i = 0; i < n; i++) {
        b->dy[i] = (double)NAN;
    }
    for (size_t i = 0; i < b->c->outputs; i++) {
        b->y[i] = (double)NAN;
    }
    l->run(b->c, b->x, b->y, b->dy);
    start = now();
    for (size_t i = 0; i < l->repeat; i++) {
        l->run(b->c, b->x, b->y, b->dy);
    }
    return (now() - start) / (double)l->repeat;
}

// Plain computes no derivative; its value is checked like the others'.
static void check_lane(bench *b, size_t tool)
{
    lane *l = &b->lanes[tool];
    const double value = difference(b->c->outputs, b->y, b->want_y);
    const double error = tool == PLAIN
                       ? 0.0
                       : difference(derivatives(b->c), b->dy, b->want_dy);

    l->error = fmax(l->error, error);
    l->wrong |= !(value <= tolerance) || !(error <= tolerance);
}

// The first call makes the tool allocate; then as many runs as last long
// enough.
static void warm_up(bench *b, size_t tool)
{
    lane *l = &b->lanes[tool];

    l->repeat = 1;
    time_lane(b, l);
    while (time_lane(b, l) * (double)l->repeat < least_seconds) {
        l->repeat *= 2;
    }
    check_lane(b, tool);
    l->bytes = tools[tool]->bytes ? (double)tools[tool]->bytes() : 0.0;
}

// The rounds. A tool that takes no part leaves its times at zero.
static void measure(bench *b)
{
    for (size_t round = 0; round < b->rounds; round++) {
        for (size_t i = 0; i < tool_count; i++) {
            if (b->lanes[i].run) {
                b->lanes[i].seconds[round] = time_lane(b, &b->lanes[i]);
                check_lane(b, i);
            }
        }
    }
}

// The hand-written derivative, and what the table of cases says about it.
static void set_reference(bench *b)
{
    const bench_case *c = b->c;
    const size_t n = derivatives(c);
    double value = 0.0;

    bench_hand.run[c->workload](c, b->x, b->want_y, b->want_dy);
    for (size_t i = 0; i < c->outputs; i++) {
        value += b->want_y[i];
    }
    b->hand_error = fmax(fabs(value / c->value - 1.0),
                         fabs(norm(n, b->want_dy) / c->norm - 1.0));
    b->lanes[HAND].wrong = !(b->hand_error <= tolerance);
}

// Reserves the memory, finds the reference, and warms up whoever takes part.
static void open_case(bench *b, const bench_case *c, size_t rounds)
{
    *b = (bench){ .c = c, .rounds = rounds };
    b->x = get(c->inputs + bench_data(c), sizeof *b->x);
    b->y = get(c->outputs, sizeof *b->y);
    b->dy = get(derivatives(c), sizeof *b->dy);
    b->want_y = get(c->outputs, sizeof *b->want_y);
    b->want_dy = get(derivatives(c), sizeof *b->want_dy);
    bench_fill(c, b->x);
    set_reference(b);
    for (size_t i = 0; i < tool_count; i++) {
        b->lanes[i].run = tools[i]->run[c->workload];
        if (b->lanes[i].run) {
            warm_up(b, i);
        }
    }
}

// The tools give their memory back: the next case starts like the first.
static void close_case(bench *b)
{
    for (size_t i = 0; i < tool_count; i++) {
        if (tools[i]->release) {
            tools[i]->release();
        }
    }
    free(b->x);
    free(b->y);
    free(b->dy);
    free(b->want_y);
    free(b->want_dy);
}

/* ---------------------------------------------------------------------------
 * The table
 * ------------------------------------------------------------------------- */

// Programs of a few nanoseconds are no unit of measurement.
static bool is_short(const bench_case *c)
{
    return c->workload == BENCH_MUL || c->workload == BENCH_ROTQUAT;
}

// Median and spread of a tool's ratio, or of its time in nanoseconds.
static void print_cell(const bench *b, size_t tool)
{
    const lane *l = &b->lanes[tool];
    const double *unit = is_short(b->c) ? NULL : b->lanes[PLAIN].seconds;
    char text[32];
    summary s;

    if (!l->run || l->wrong) {
        printf(" %13s", l->run ? "WRONG" : "-");
        return;
    }
    s = summarise(b->rounds, l->seconds, unit);
    if (unit) {
        snprintf(text, sizeof text, "%.2f %3.0f%%", s.median, 1e2 * s.spread);
    } else {
        snprintf(text, sizeof text, "%.1fns %3.0f%%", 1e9 * s.median,
                 1e2 * s.spread);
    }
    printf(" %13s", text);
}

// The columns that exist for adrev only.
static void print_adrev(const bench *b)
{
    const lane *l = &b->lanes[ADREV];
    const double operations = b->c->operations;
    double seconds;

    if (!l->run) {
        printf(" %6s %6s %8s", "-", "-", "-");
        return;
    }
    seconds = summarise(b->rounds, l->seconds, NULL).median;
    printf(" %6.2f", 1e9 * seconds / operations);
    if (l->bytes > 0.0 && b->c->workload != BENCH_FORWARD) {
        printf(" %6.1f", l->bytes / operations);
    } else {
        printf(" %6s", "-");
    }
    printf(" %8.1e", l->error);
}

static void print_row(const bench *b)
{
    printf("%-13s %8.0f", b->c->name, (double)b->c->inputs);
    print_seconds(summarise(b->rounds, b->lanes[PLAIN].seconds, NULL).median);
    print_cell(b, ADREV);
    print_cell(b, HAND);
    print_adrev(b);
    printf(" %8.1e", b->hand_error);
    for (size_t i = OTHERS; i < tool_count; i++) {
        print_cell(b, i);
    }
    printf("\n");
    fflush(stdout);
}

static void print_titles(void)
{
    printf("%-13s %8s %9s %13s %13s %6s %6s %8s %8s", "problem", "n", "f",
           "adrev grad/f", "by hand/f", "ns/op", "B/op", "error", "hand err");
    for (size_t i = OTHERS; i < tool_count; i++) {
        printf(" %13s", tools[i]->name);
    }
    printf("\n");
}

/* ---------------------------------------------------------------------------
 * The header line
 * ------------------------------------------------------------------------- */

static void print_tools(void)
{
    print_machine(tools[ADREV]->version);
    for (size_t i = OTHERS; i < tool_count; i++) {
        printf("%s%s %s", i == OTHERS ? "others   " : ", ", tools[i]->name,
               tools[i]->version);
    }
    printf("%s", tool_count > OTHERS ? "\n" : "");
}

/* ---------------------------------------------------------------------------
 * Notes below the table
 * ------------------------------------------------------------------------- */

// Forward mode competes with dual numbers written by hand, not with the plain
// program.
static void note_forward(const bench *b)
{
    const lane *hand = &b->lanes[HAND];
    const lane *ours = &b->lanes[ADREV];

    if (b->c->workload == BENCH_FORWARD && ours->run && !ours->wrong) {
        const summary s = summarise(b->rounds, ours->seconds, hand->seconds);

        printf("%-13s %.2f times the dual arithmetic written by hand (%.0f%%),"
               " target 1.2\n", "", s.median, 1e2 * s.spread);
    }
}

// Bytes per second of a pass that reads and writes a big array.
static double bandwidth(void)
{
    const size_t n = (size_t)CEILING_MIB * 1024 * 1024 / sizeof(double);
    double *a = get(n, sizeof *a);
    double seconds[CEILING_ROUNDS];
    double best;

    for (size_t i = 0; i < n; i++) {
        a[i] = 1.0;
    }
    for (size_t round = 0; round < CEILING_ROUNDS; round++) {
        const double start = now();

        for (size_t i = 0; i < n; i++) {
            a[i] *= 1.0000001;
        }
        seconds[round] = now() - start;
    }
    best = summarise(CEILING_ROUNDS, seconds, NULL).median;
    // Reads the array, or the compiler would leave the passes out.
    best += a[n / 2] < 0.0 ? 1.0 : 0.0;
    free(a);
    return 2.0 * (double)(n * sizeof *a) / best;
}

typedef struct ceiling {
    double plain;       // seconds of the plain program
    double moved;       // bytes any gradient must move: x in, dy out
    double tape;        // bytes of adrev's tape, 0: unknown
    const char *name;
} ceiling;

// The largest case is the one that memory limits.
static void note_ceiling(ceiling *most, const bench *b)
{
    const double moved = (double)((b->c->inputs + derivatives(b->c))
                                  * sizeof(double));

    if (moved > most->moved) {
        most->moved = moved;
        most->name = b->c->name;
        most->tape = b->lanes[ADREV].bytes;
        most->plain = summarise(b->rounds, b->lanes[PLAIN].seconds,
                                NULL).median;
    }
}

static void print_ceiling(const ceiling *most)
{
    const double speed = bandwidth();

    printf("%-13s %8.0f %9s %13.1f GB/s, one pass that reads and writes "
           "%d MiB\n", "ceiling", CEILING_MIB * 1048576.0 / 8.0, "-",
           speed / 1e9, CEILING_MIB);
    if (most->moved < ceiling_bytes) {
        return;
    }
    printf("%-13s so %s takes at least %.2f f to read x and write the "
           "gradient", "", most->name, most->moved / speed / most->plain);
    if (most->tape > 0.0) {
        // Written once by the program and read once by the sweep.
        printf(", %.2f f with adrev's tape written and read",
               (most->moved + 2.0 * most->tape) / speed / most->plain);
    }
    printf("\n");
}

/* ---------------------------------------------------------------------------
 * Command line
 * ------------------------------------------------------------------------- */

#define AS_CASE(workload, ...) { BENCH_##workload, __VA_ARGS__ },

static const bench_case cases[] = { BENCH_CASES(AS_CASE) };

#undef AS_CASE

// Cases without rounds of their own run only if named in full.
static bool selected(const bench_case *c, int count, char *const *names)
{
    bool found = count == 0 && c->rounds > 0;

    for (int i = 0; i < count; i++) {
        found |= strcmp(names[i], c->name) == 0
              || (c->rounds > 0
                  && strncmp(names[i], c->name, strlen(names[i])) == 0);
    }
    return found;
}

// False if any tool was wrong.
static bool run_case(const bench_case *c, size_t rounds, ceiling *most)
{
    static bench b;             // too large for some stacks
    bool wrong = false;

    if (rounds == 0) {
        rounds = c->rounds ? c->rounds : 11;
    }
    open_case(&b, c, rounds);
    measure(&b);
    print_row(&b);
    note_forward(&b);
    note_ceiling(most, &b);
    for (size_t i = 0; i < tool_count; i++) {
        wrong |= b.lanes[i].wrong;
    }
    close_case(&b);
    return !wrong;
}

int main(int argc, char **argv)
{
    ceiling most = { 0 };
    size_t rounds = 0;
    bool right = true;

    if (argc > 2 && strcmp(argv[1], "-r") == 0) {
        rounds = (size_t)strtoul(argv[2], NULL, 10);
        rounds = rounds < MAX_ROUNDS ? rounds : MAX_ROUNDS;
        argc -= 2;
        argv += 2;
    }
    sort_tools();
    print_tools();
    print_titles();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (selected(&cases[i], argc - 1, argv + 1)) {
            right &= run_case(&cases[i], rounds, &most);
        }
    }
    if (most.moved > 0.0) {
        print_ceiling(&most);
    }
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
