// SPDX-License-Identifier: MIT-0
// tags:
/* marks.c - which marks may be returned to: those made at a place that has stood
 * ever since, and no other. Statements, inputs, arrays, regions, marks,
 * returns, clears, and ad_grad and ad_check with all of these within, in random
 * order.
 *
 * The oracle is a list of what is on the tape, each thing with a number of its
 * own: a mark stands as long as the thing before it is the same. Derivatives
 * are carried along with the values. Blocks are small, so that places lie in
 * many of them.                                                              */

#ifndef ADREV_BLOCK
#define ADREV_BLOCK 200
#endif
#ifndef ADREV_MARKS
#define ADREV_MARKS 4
#endif
#define ADREV_IMPLEMENTATION
#include "adrev.h"
#include "check.h"

enum { THINGS = 4000, MARKS = 12, DEEPEST = 2 };

typedef struct thing {
    unsigned long number;
    ad_rev x;                   // its value; job 0: it has none
    double slope;               // of that by the first input
} thing;

typedef struct place {
    ad_mark mark;
    size_t things;              // on the tape when it was made
    unsigned long last;         // the number of the last of them
    unsigned long clear;        // the recording
} place;

static ad_tape *tape;
static thing things[THINGS];
static size_t count;
static unsigned long numbers;
static unsigned long clears;
static place places[MARKS];
static size_t returns[2];       // refused, and made
static size_t mood;
static bool deep;               // marks have nested too deep since the clear
static uint64_t seed = 1;

static size_t random_below(size_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % n;
}

static void add(ad_rev x, double slope)
{
    things[count++] = (thing){ ++numbers, x, slope };
}

// The latest value at or below thing i; there is always one.
static const thing *value_below(size_t i)
{
    while (things[i].x.job == 0)
        i--;
    return &things[i];
}

static void record(void)
{
    const thing *a = value_below(random_below(count));
    const thing *b = value_below(count - 1);
    ad_rev v[3] = { a->x, b->x, a->x };
    switch (random_below(3)) {
    case 0:
        add(ad_rec(ad_sin(a->x)), cos((double)a->x.v) * a->slope);
        break;
    case 1:
        add(ad_rec(ad_mul(0.25, ad_add(ad_mul(a->x, a->x), b->x))),
            0.5 * (double)a->x.v * a->slope + 0.25 * b->slope);
        break;
    default:
        add(ad_sum(3, v), 2 * a->slope + b->slope);
        break;
    }
    if (fabs((double)things[count - 1].x.v) > 1 || things[count - 1].slope > 9)
        things[count - 1].x.job = 0;    // not used any further
}

static void mark(void)
{
    place *p = &places[random_below(MARKS)];
    p->mark = ad_tape_mark(tape);
    p->things = count;
    p->last = things[count - 1].number;
    p->clear = clears;
}

static bool stands(const place *p)
{
    return p->things > 0 && p->clear == clears && p->things <= count
        && things[p->things - 1].number == p->last;
}

static void rewind_to(const place *p)
{
    ad_status want = stands(p) ? ADREV_OK : ADREV_EMARK;
    ad_status s = ad_tape_rewind(tape, p->mark);
    deep = deep || tape->segments > ADREV_MARKS;
    if (s == ADREV_EMARK && want == ADREV_OK && deep)
        return;
    CHECK(s == want, "return to %zu of %zu things: %s, want %s", p->things,
          count, ad_message(s), ad_message(want));
    if (s == ADREV_OK && want == ADREV_OK)
        count = p->things;
    returns[s == ADREV_OK]++;
}

static void start(void)
{
    if (random_below(2) == 0) {
        ad_tape_free(tape);             // without blocks, too
        tape = ad_tape_new();
        ad_use(tape);
    } else
        ad_tape_clear(tape);
    clears++;
    count = 0;
    deep = false;
    add(ad_input((ad_real)0.5), 1);
}

static void question(void)
{
    const thing *a = value_below(random_below(count));
    ad_real g = 0;
    ad_status s = ad_gradient(tape, a->x, 1, &things[0].x, &g);
    CHECK(s == ADREV_OK, "%zu things: %s", count, ad_message(s));
    CHECK(fabs((double)g - a->slope) <= 1e-4 * (1 + fabs(a->slope)),
          "%zu things: got %.17g, want %.17g", count, (double)g, a->slope);
}

static void act(size_t depth);

typedef struct inner {
    size_t depth;
    size_t inputs;
    bool left;                  // the place at which it began
} inner;

// Anything may happen within, even that the place is left at which it began.
static ad_rev within(const ad_rev *x, void *ctx)
{
    inner *in = ctx;
    add((ad_rev){ 0 }, 0);              // what the session begins with
    unsigned long here = things[count - 1].number;
    size_t at = count;
    for (size_t i = random_below(50); i-- > 0;)
        act(in->depth + 1);
    in->left = at > count || things[at - 1].number != here;
    if (in->left)
        return (ad_rev){ 0 };           // x has gone
    count = at - 1;
    return in->inputs == 0 ? (ad_rev){ 0 } : ad_rec(ad_sin(*x));
}

// The same without returns: ad_check calls it many times.
static ad_rev harmless(const ad_rev *x, void *ctx)
{
    (void)ctx;
    size_t at = count;
    add((ad_rev){ 0 }, 0);
    for (size_t i = random_below(4); i-- > 0;) {
        if (random_below(3) == 0)
            mark();
        if (random_below(2) == 0)
            record();
        else
            ad_region_begin("here");
        add((ad_rev){ 0 }, 0);
    }
    count = at;
    return ad_rec(ad_sin(*x));
}

static void job(size_t depth)
{
    const ad_real at = (ad_real)0.25;
    ad_real g = 0;
    inner in = { depth, random_below(2), false };
    ad_status s = ad_grad(within, &in, in.inputs, &at, NULL, &g);
    CHECK(s == (in.left ? ADREV_EMARK : ADREV_OK), "%s, %s", ad_message(s),
          in.left ? "left" : "not left");
    CHECK(s != ADREV_OK || in.inputs == 0
          || fabs((double)g - cos(0.25)) < 1e-6, "inside: %g", (double)g);
}

static void check(void)
{
    const ad_real at = (ad_real)0.25;
    ad_check_report report = { 0 };
    ad_status s = ad_check(harmless, NULL, 1, &at, &report);
    CHECK(s == ADREV_OK && ad_check_passed(&report), "%s", ad_message(s));
}

// What happens, in each of three moods: mixed; hardly any values; short.
enum { RECORD, REGION, INPUT, MARK, RETURN, ASK, JOB, CHECK_F, START, WAYS };

static const size_t share[3][WAYS] = {
    { 300, 100, 60, 240, 140, 60, 40, 20, 40 },
    { 10, 400, 10, 260, 250, 10, 20, 10, 30 },
    { 60, 100, 100, 240, 180, 20, 20, 80, 200 },
};

static int way_to_go(void)
{
    size_t left = random_below(1000);
    int way = 0;
    while (way < START && left >= share[mood][way])
        left -= share[mood][way++];
    return count > THINGS - 100 ? START : way;
}

static void act(size_t depth)
{
    bool room = tape->segments < ADREV_MARKS;
    switch (way_to_go()) {
    case RECORD: record(); break;
    case REGION: ad_region_begin("a region"); add((ad_rev){ 0 }, 0); break;
    case INPUT: add(ad_input((ad_real)0.75), 0); break;
    case MARK: mark(); break;
    case RETURN: rewind_to(&places[random_below(MARKS)]); break;
    case ASK: question(); break;
    case JOB: if (depth < DEEPEST && room) job(depth); break;
    case CHECK_F: if (room) check(); break;
    default: if (depth == 0) start(); break;
    }
}

// The case that was found first: nothing but a region between two marks, behind
// so many others.
static void test_region_between(size_t others)
{
    ad_tape_clear(tape);
    ad_rev x = ad_input(2);
    while (others-- > 0)
        ad_region_begin("before");
    ad_mark a = ad_tape_mark(tape);
    ad_region_begin("between");
    ad_mark b = ad_tape_mark(tape);
    CHECK(ad_tape_rewind(tape, a) == ADREV_OK, "the first mark");
    ad_rev y = ad_rec(ad_mul(x, x));
    CHECK(ad_tape_rewind(tape, b) == ADREV_EMARK, "the second mark");
    ad_real g = 0;
    CHECK(ad_gradient(tape, y, 1, &x, &g) == ADREV_OK && g == 4, "got %g",
          (double)g);
}

static ad_rev marks(const ad_rev *x, void *ctx)
{
    *(ad_mark *)ctx = ad_tape_mark(tape);
    ad_region_begin("inside");
    return x == NULL ? (ad_rev){ 0 } : ad_rec(ad_sin(*x));
}

static ad_rev marks_alone(const ad_rev *x, void *ctx)
{
    (void)x;
    return marks(NULL, ctx);
}

// A mark that ad_grad or ad_check leaves behind, before any value of theirs.
static void test_left_behind(void)
{
    for (int how = 0; how < 3; how++) {
        const ad_real at = 1;
        ad_real g = 0;
        ad_check_report report = { 0 };
        ad_mark m = { 0 };
        ad_tape_clear(tape);
        ad_rev x = ad_input(2);
        ad_rev y = ad_rec(ad_mul(x, x));
        ad_status s = how == 0 ? ad_grad(marks_alone, &m, 0, NULL, NULL, NULL)
                    : how == 1 ? ad_grad(marks, &m, 1, &at, NULL, &g)
                               : ad_check(marks, &m, 1, &at, &report);
        CHECK(s == ADREV_OK, "%d: %s", how, ad_message(s));
        for (int i = 0; i < 40; i++) {
            s = ad_tape_rewind(tape, m);
            CHECK(s == ADREV_EMARK, "%d, %d values later: %s", how, i,
                  ad_message(s));
            y = ad_rec(ad_sin(y));
        }
    }
}

// Again and again behind things without values: nothing nests.
static void test_again(void)
{
    ad_tape_clear(tape);
    ad_rev x = ad_input(2);
    for (int i = 0; ADREV_MARKS > 1 && i < 4 * ADREV_MARKS; i++) {
        ad_region_begin("again");
        ad_mark m = ad_tape_mark(tape);
        DROP(ad_rec(ad_sin(x)));
        CHECK(ad_tape_rewind(tape, m) == ADREV_OK, "time %d", i);
    }
}

int main(void)
{
    tape = ad_tape_new();
    ad_use(tape);
    for (size_t others = 0; others < 300000; others = 16 * others + 15)
        test_region_between(others);
    test_left_behind();
    test_again();
    start();
    for (long i = 0; i < 400000; i++) {
        mood = random_below(500) == 0 ? random_below(3) : mood;
        act(0);
    }
    CHECK(returns[0] > 1000 && returns[1] > 1000, "%zu returns, %zu refused",
          returns[1], returns[0]);
    ad_tape_free(tape);
    return check_done("marks");
}
