// SPDX-License-Identifier: MIT-0
// tags: part
/* programs.c - a program in every way in which it can be run.
 *
 * On a tape, replayed, in lanes, saved and loaded, and compiled. Values have
 * the same bits everywhere, and so have derivatives in all ways but the tape,
 * which adds in another order: those agree within rounding of the sum of all
 * paths. Points that take another path are said to do so by all.             */

#define _POSIX_C_SOURCE 200809L     // getpid

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#define ADREV_IMPLEMENTATION
#include "adrev_function.h"

#include "random_programs.h"
#include "fuzz.h"

enum {
    N = RANDOM_INPUTS,
    M = RANDOM_OUTPUTS,
    POINTS = 9,
    ROOM = 1 << 16,
    ULPS = 64                   // of the sum of all paths
};

// One program in so many is compiled; a power of 2. Seeds all are.
#ifndef COMPILE_EVERY
#ifdef FUZZ_REPLAY
#define COMPILE_EVERY 1
#else
#define COMPILE_EVERY 4096
#endif
#endif

// Derivatives are compared where no slope is smaller, unless 0, or larger.
#define LEAST 1e-6
#define MOST  1e6

static char cache[64];

/* --- a program from the input --------------------------------------------- */

static ad_real number(fuzz_input *in)
{
    static const ad_real known[] = { 0, (ad_real)-0.0, 1, -1, 2, (ad_real)0.5 };
    unsigned b = fuzz_byte(in);
    return b < 6 ? known[b] : (ad_real)((double)b / 40 - 3.2);
}

static void draw(random_node *node, int at, fuzz_input *in)
{
    int kind = (int)fuzz_below(in, 60);
    node->kind = kind < 3 ? RANDOM_CHOICE : kind < 6 ? RANDOM_BRANCH
               : kind < 8 ? RANDOM_DETACH : kind < 9 ? RANDOM_FREEZE
               : RANDOM_OP;
    node->row = (int)fuzz_below(in, RANDOM_ROWS);
    node->k = fuzz_small(in);
    for (int j = 0; j < 3; j++) {
        bool fixed = fuzz_below(in, 6) == 5;
        node->arg[j].value = fixed ? -1 : (int)fuzz_below(in, (size_t)at);
        node->arg[j].constant = fixed ? number(in) : 0;
    }
}

static void make(random_program *p, fuzz_input *in)
{
    memset(p, 0, sizeof *p);
    p->n = 1 + (int)fuzz_below(in, RANDOM_INPUTS);
    p->m = 1 + (int)fuzz_below(in, RANDOM_OUTPUTS);
    for (int i = 0; i < p->n; i++)
        p->x[i] = number(in);
    do {
        draw(&p->node[p->nodes], p->n + p->nodes, in);
        p->nodes++;
    } while (p->nodes < RANDOM_NODES && fuzz_more(in));
    for (int i = 0; i < p->m; i++)
        p->output[i] = i < p->nodes ? p->n + p->nodes - 1 - i : 0;
}

/* --- asking --------------------------------------------------------------- */

enum { QUESTIONS = 6, ANSWERS = M * N + M };

static const ad_real ones[N + M] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

static ad_status ask(int question, ad_fn *fn, const ad_real *x, ad_real *out)
{
    switch (question) {
    case 0: return ad_fn_eval(fn, x, out);
    case 1: return ad_fn_jvp(fn, x, ones, out);
    case 2: return ad_fn_vjp(fn, x, ones, out);
    case 3: return ad_fn_jacobian(fn, x, out);
    case 4: return ad_fn_hvp(fn, x, ones, ones, out);
    }
    return ad_fn_linearize(fn, x, out, out + M);
}

// Whether another form of the function answers as fn does.
static void compare(const char *how, ad_fn *fn, ad_fn *other, const ad_real *x,
                    int questions)
{
    for (int question = 0; question < questions; question++) {
        ad_real a[ANSWERS] = { 0 };
        ad_real b[ANSWERS] = { 0 };
        ad_status s = ask(question, fn, x, a);
        ad_guard g = ad_fn_guard();
        ad_status r = ask(question, other, x, b);
        FUZZ_MUST(s == r, "%s, question %d: %s, %s", how, question,
                  ad_message(s), ad_message(r));
        FUZZ_MUST(s != ADREV_EPATH || g.index == ad_fn_guard().index,
                  "%s: another guard", how);
        FUZZ_MUST(fuzz_same(a, b, ANSWERS), "%s, question %d: other bits", how,
                  question);
    }
}

/* --- on a tape ------------------------------------------------------------ */

// Whether slopes are such that no order of their products overflows.
static bool moderate(const random_program *p, const random_trace *t)
{
    for (int i = 0; i < p->nodes; i++)
        for (int j = 0; j < 3; j++) {
            double s = fabs((double)t->slope[i][j]);
            if (s != 0 && !(s >= LEAST && s <= MOST))
                return false;
        }
    return true;
}

static void compare_slopes(const random_program *p, const random_trace *t,
                           const ad_real *J, const ad_real *K)
{
    random_exact e;
    memset(&e, 0, sizeof e);
    for (int i = 0; i < p->nodes; i++)
        for (int j = 0; j < 3; j++)
            e.slope[i][j] = (long double)t->slope[i][j];
    for (int i = 0; i < p->m; i++) {
        long double w[M] = { 0 }, size[N];
        w[i] = 1;
        random_exact_sweep(p, &e, w, true, size);
        for (int j = 0; j < p->n; j++) {
            double got = (double)J[i * p->n + j];
            double want = (double)K[i * p->n + j];
            FUZZ_MUST(fabs(got - want)
                          <= ULPS * DBL_EPSILON * (double)size[j],
                      "dy[%d]/dx[%d]: replayed %.17g, on the tape %.17g, of "
                      "paths %Lg", i, j, got, want, size[j]);
        }
    }
}

// Returns whether C says what the values are.
static bool compare_tape(random_program *p, ad_fn *fn, const ad_real *at)
{
    ad_tape *tape = ad_tape_new();
    random_trace t;
    ad_rev x[N], y[M];
    ad_real v[M], w[M], J[M * N], K[M * N] = { 0 };
    ad_use(tape);
    random_trace_at(p, at, &t);
    ad_inputs((size_t)p->n, at, x);
    random_run(x, y, p);
    ad_status r = ad_jacobian(tape, (size_t)p->m, y, (size_t)p->n, x, K);
    FUZZ_MUST(r == ADREV_OK || r == ADREV_EPASSIVE, "tape: %s", ad_message(r));
    ad_status s = ad_fn_eval(fn, at, w);
    for (int i = 0; i < p->m; i++)
        v[i] = y[i].v;
    FUZZ_MUST(s == ADREV_OK || s == ADREV_EPATH, "eval: %s", ad_message(s));
    FUZZ_MUST(s != ADREV_OK || t.open || fuzz_same(v, w, (size_t)p->m),
              "replayed: other values");
    if (s == ADREV_OK && !t.open && moderate(p, &t)) {
        s = ad_fn_jacobian(fn, at, J);
        FUZZ_MUST(s == ADREV_OK, "jacobian: %s", ad_message(s));
        compare_slopes(p, &t, J, K);
    }
    ad_tape_free(tape);
    return !t.open;
}

/* --- in lanes ------------------------------------------------------------- */

struct lanes {
    ad_real x[N][POINTS];
    ad_real d[N][POINTS];
    ad_real w[M][POINTS];
    ad_real y[M][POINTS];
    uint32_t left[POINTS];
};

static void columns(int n, ad_real v[][POINTS], ad_column to[])
{
    for (int i = 0; i < n; i++)
        to[i] = (ad_column){ v[i], 1 };
}

static void compare_point(const random_program *p, ad_fn *fn,
                          const struct lanes *l, int point, int question)
{
    bool back = question == 2;
    const ad_real (*to)[POINTS] = back ? l->d : l->y;
    ad_real x[N], a[ANSWERS], b[ANSWERS];
    int n = back ? p->n : p->m;
    for (int j = 0; j < p->n; j++)
        x[j] = l->x[j][point];
    ad_status s = ask(question, fn, x, a);
    FUZZ_MUST((s == ADREV_OK) == (l->left[point] == 0),
              "lanes: point %d was left for %u, %s", point, l->left[point],
              ad_message(s));
    FUZZ_MUST(s != ADREV_EPATH || ad_fn_guard().index + 1 == l->left[point],
              "lanes: another guard");
    for (int i = 0; i < n; i++)     // adjoints were added to 0: -0 is 0
        b[i] = to[i][point], a[i] = back ? 0 + a[i] : a[i];
    FUZZ_MUST(s != ADREV_OK || fuzz_same(a, b, (size_t)n),
              "lanes, question %d, point %d: other bits", question, point);
}

static void compare_lanes(const random_program *p, ad_fn *fn, fuzz_input *in)
{
    ad_column x[N], d[N], w[M], y[M];
    for (int question = 0; question < 3; question++) {
        struct lanes l;
        memset(&l, 0, sizeof l);
        for (int k = 0; k < POINTS; k++)
            for (int j = 0; j < p->n; j++) {
                l.x[j][k] = k == 0 ? p->x[j] : number(in);
                l.d[j][k] = question == 1;
            }
        for (int k = 0; k < POINTS; k++)
            for (int i = 0; i < p->m; i++)
                l.w[i][k] = 1;
        columns(p->n, l.x, x), columns(p->n, l.d, d);
        columns(p->m, l.w, w), columns(p->m, l.y, y);
        ad_status s = question == 0 ? ad_fn_map(fn, POINTS, x, y, l.left)
                    : question == 1 ? ad_fn_map_jvp(fn, POINTS, x, d, y, l.left)
                    : ad_fn_map_vjp(fn, POINTS, x, w, d, NULL, l.left);
        FUZZ_MUST(s == ADREV_OK || s == ADREV_EPATH, "lanes: %s",
                  ad_message(s));
        for (int k = 0; k < POINTS; k++)
            compare_point(p, fn, &l, k, question);
    }
}

/* --- saved and compiled --------------------------------------------------- */

struct file {
    size_t bytes;
    char data[ROOM];
};

static void collect(const char *text, size_t length, void *user)
{
    struct file *f = user;
    FUZZ_MUST(length <= ROOM - f->bytes, "a file of more than %d bytes", ROOM);
    memcpy(f->data + f->bytes, text, length);
    f->bytes += length;
}

static ad_fn *save_and_load(const ad_fn *fn)
{
    static struct file f;
    ad_fn *again;
    f.bytes = 0;
    ad_status s = ad_fn_save(fn, collect, &f);
    FUZZ_MUST(s == ADREV_OK, "save: %s", ad_message(s));
    s = ad_fn_load(&again, f.data, f.bytes, NULL);
    FUZZ_MUST(s == ADREV_OK, "load: %s", ad_message(s));
    return again;
}

static void empty_cache(void)
{
    char line[128];
    snprintf(line, sizeof line, "rm -rf %s", cache);
    FUZZ_MUST(system(line) == 0, "%s", line);
}

// False: it is not compiled, as without a compiler.
static bool compile(ad_fn *fn)
{
    ad_compile_options options = { .flags = "-O1 -ffp-contract=off",
                                   .cache = cache };
    if (cache[0] == 0) {
        snprintf(cache, sizeof cache, "/tmp/adrev-fuzz-%ld", (long)getpid());
        atexit(empty_cache);
    }
    return ad_fn_compile(fn, &options) == ADREV_OK;
}

/* --- one input ------------------------------------------------------------ */

// Of the input: the same ones are compiled each time.
static bool is_compiled(const uint8_t *data, size_t size)
{
    return (adx_xxh3(data, size, 0) & (COMPILE_EVERY - 1)) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = { data, size };
    random_program p;
    ad_fn *fn;
    ad_real near[N];
    make(&p, &in);
    in = (fuzz_input){ data, size };        // other points: the same bytes
    for (int i = 0; i < p.n; i++)
        near[i] = p.x[i] + number(&in) / 8;
    ad_status s = ad_fn_record(&fn, random_run, &p, (size_t)p.n, p.x,
                               (size_t)p.m);
    FUZZ_MUST(s == ADREV_OK, "record: %s", ad_fn_reason());
    bool known = compare_tape(&p, fn, p.x);
    known = compare_tape(&p, fn, near) && known;
    ad_fn *again = save_and_load(fn);
    compare("saved", fn, again, p.x, QUESTIONS);
    compare("saved", fn, again, near, QUESTIONS);
    compare_lanes(&p, fn, &in);
    if (known && is_compiled(data, size) && compile(again)) {
        compare("compiled", fn, again, p.x, 1);
        compare("compiled", fn, again, near, 1);
    }
    ad_fn_free(again);
    ad_fn_free(fn);
    return 0;
}
