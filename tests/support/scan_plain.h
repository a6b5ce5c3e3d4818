// SPDX-License-Identifier: MIT-0
/* scan_plain.h - runs scans as a test says: by the library, or step by step on
 * the plain tape, which is the oracle. Include it after adrev_loop.h, in the
 * one file of the program.                                                  */

#ifndef ADREV_TESTS_SCAN_PLAIN_H
#define ADREV_TESTS_SCAN_PLAIN_H

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(ad_real) == sizeof(double), "expected values in double");

enum { MOST = 16, REPORTS = 4 };

/* --- how the scans of a program run now ----------------------------------- */

static struct {
    ad_schedule schedule;
    bool unreplayed;
    bool compiled;
    bool whole;
    ad_replays *replays;    // of the scans that have a report
    bool plain;             // by plain_scan below, as statements of the tape
    const ad_store *store;  // [REPORTS] one for each scan; NULL: none
    size_t calls;           // of steps
    ad_status status;       // the first that was not ADREV_OK
    size_t scans;           // that have a report
    ad_scan_report report[REPORTS];
} how;

static inline void start_program(void)
{
    how.calls = 0;
    how.status = ADREV_OK;
    how.scans = 0;
    // A report is written whole, whatever was there.
    memset(how.report, 0xEE, sizeof how.report);
}

/* --- the same on the plain tape ------------------------------------------- */

static size_t plain_index;

static inline size_t index_of(ad_step *s)
{
    return how.plain ? plain_index : ad_step_index(s);
}

static inline ad_rev number_of(ad_step *s)
{
    return how.plain ? ad_rec((ad_real)plain_index) : ad_step_number(s);
}

struct plain {
    const ad_scan_desc *d;
    ad_rev *buffer[MOST];       // of each state: depth rows, and the new ones
    size_t depth[MOST];
    ad_rev *taken[2 * MOST];    // what a step is shown, of states and sequences
    ad_rev *made[2 * MOST];     // what it returns, of states and outputs
};

static inline void *plain_alloc(size_t n, size_t size)
{
    void *block = calloc(n + 1, size);
    if (block == NULL)
        exit(EXIT_FAILURE);
    return block;
}

static inline size_t plain_depth(const ad_scan_state *state)
{
    int lowest = state->taps == 0 ? -1 : 0;
    for (size_t i = 0; i < state->taps; i++)
        lowest = state->tap[i] < lowest ? state->tap[i] : lowest;
    return (size_t)-lowest;
}

static inline void plain_begin(struct plain *p, const ad_scan_desc *d)
{
    *p = (struct plain){ .d = d };
    for (size_t i = 0; i < d->states; i++) {
        const ad_scan_state *state = &d->state[i];
        size_t taps = state->taps == 0 ? 1 : state->taps;
        p->depth[i] = plain_depth(state);
        p->buffer[i] = plain_alloc((p->depth[i] + d->steps) * state->size,
                                   sizeof(ad_rev));
        p->taken[i] = plain_alloc(taps * state->size, sizeof(ad_rev));
        p->made[i] = plain_alloc(state->size, sizeof(ad_rev));
        memcpy(p->buffer[i], state->initial,
               p->depth[i] * state->size * sizeof(ad_rev));
    }
    for (size_t i = 0; i < d->sequences; i++) {
        size_t taps = d->sequence[i].taps == 0 ? 1 : d->sequence[i].taps;
        p->taken[MOST + i] = plain_alloc(taps * d->sequence[i].size,
                                         sizeof(ad_rev));
    }
    for (size_t i = 0; i < d->outputs; i++)
        p->made[MOST + i] = plain_alloc(d->output[i].size, sizeof(ad_rev));
}

static inline void plain_end(struct plain *p)
{
    for (size_t i = 0; i < MOST; i++)
        free(p->buffer[i]);
    for (size_t i = 0; i < 2 * MOST; i++) {
        free(p->taken[i]);
        free(p->made[i]);
    }
}

static inline void plain_take(struct plain *p, size_t step)
{
    for (size_t i = 0; i < p->d->states; i++) {
        const ad_scan_state *state = &p->d->state[i];
        for (size_t j = 0; j < (state->taps == 0 ? 1 : state->taps); j++) {
            int tap = state->taps == 0 ? -1 : state->tap[j];
            size_t row = step + p->depth[i] - (size_t)-tap;
            memcpy(p->taken[i] + j * state->size,
                   p->buffer[i] + row * state->size,
                   state->size * sizeof(ad_rev));
        }
    }
    for (size_t i = 0; i < p->d->sequences; i++) {
        const ad_scan_sequence *q = &p->d->sequence[i];
        int lowest = 0;
        for (size_t j = 0; j < q->taps; j++)
            lowest = q->tap[j] < lowest ? q->tap[j] : lowest;
        for (size_t j = 0; j < (q->taps == 0 ? 1 : q->taps); j++) {
            int tap = q->taps == 0 ? 0 : q->tap[j];
            size_t row = step + (size_t)(tap - lowest);
            row = q->backward ? q->rows - 1 - row : row;
            memcpy(p->taken[MOST + i] + j * q->size, q->row + row * q->size,
                   q->size * sizeof(ad_rev));
        }
    }
}

static inline void plain_keep(struct plain *p, size_t step)
{
    for (size_t i = 0; i < p->d->states; i++) {
        const ad_scan_state *state = &p->d->state[i];
        size_t row = p->depth[i] + step;
        memcpy(p->buffer[i] + row * state->size, p->made[i],
               state->size * sizeof(ad_rev));
        if (state->rows != NULL)
            memcpy(state->rows + step * state->size, p->made[i],
                   state->size * sizeof(ad_rev));
    }
    for (size_t i = 0; i < p->d->outputs; i++) {
        const ad_scan_output *o = &p->d->output[i];
        memcpy(o->row + step * o->size, p->made[MOST + i],
               o->size * sizeof(ad_rev));
    }
}

// Every step on the current tape: a tape that grows, and no truncation.
static inline ad_status plain_scan(const ad_scan_desc *d, size_t *ran)
{
    struct plain p;
    ad_step s = { .parameter = d->parameter, .untraced = d->untraced };
    size_t index = plain_index;
    size_t n = 0;

    plain_begin(&p, d);
    s.state = (const ad_rev *const *)p.taken;
    s.sequence = (const ad_rev *const *)(p.taken + MOST);
    s.next = p.made;
    s.output = p.made + MOST;
    while (n < d->steps && !s.stop && s.status == ADREV_OK) {
        plain_index = n;
        plain_take(&p, n);
        d->step(&s, d->ctx);
        plain_keep(&p, n++);
    }
    for (size_t i = 0; i < d->states; i++)
        if (d->state[i].last != NULL)
            memcpy(d->state[i].last, p.buffer[i] + n * d->state[i].size,
                   p.depth[i] * d->state[i].size * sizeof(ad_rev));
    plain_end(&p);
    plain_index = index;
    *ran = n;
    return s.status;
}

/* --- running a scan ------------------------------------------------------- */

// Returns how many steps it had.
static inline size_t scan_with(ad_scan_desc d, ad_scan_report *report,
                        const ad_store *store)
{
    ad_status status = ADREV_OK;
    size_t ran = 0;
    d.schedule = how.schedule;
    d.schedule.store = store;
    d.unreplayed = how.unreplayed;
    d.compiled = how.compiled;
    d.whole = how.whole;
    d.replays = report == NULL ? NULL : how.replays;
    if (how.plain)
        status = plain_scan(&d, &ran);
    else
        status = ad_scan(&d, report);
    if (how.status == ADREV_OK)
        how.status = status;
    return how.plain ? ran : report == NULL ? 0 : report->steps;
}

static inline size_t scan(ad_scan_desc d)
{
    size_t i = how.scans++ % REPORTS;
    return scan_with(d, &how.report[i],
                     how.store == NULL ? NULL : &how.store[i]);
}

// Within a step it runs again in every sweep: no report and no store.
static inline void scan_within(ad_scan_desc d)
{
    scan_with(d, NULL, NULL);
}

static inline ad_rev total(size_t n, const ad_rev *x)
{
    ad_rev sum = ad_rec(0);
    for (size_t i = 0; i < n; i++)
        ad_acc(&sum, x[i]);
    return sum;
}

static inline bool same_bits(size_t n, const double *a, const double *b)
{
    return n == 0 || memcmp(a, b, n * sizeof *a) == 0;
}

#endif
