// SPDX-License-Identifier: MIT-0
// tags: threads
// flags: -pthread
/* threads.c - a tape for each of several threads at once: the gradients are
 * those of one thread, bit for bit, and no two recordings of the process have
 * the same number. A tape may change hands between two recordings, or within
 * one.                                                                      */

#define _POSIX_C_SOURCE 200809L
#include "implementation.h"
#include "adrev.h"
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREADS = 8,
    RECORDINGS = 120,           // of each thread
    INPUTS = 16
};

/* CHECK counts in plain variables, so only the main thread may use it: the
 * others write down what they got.                                          */

typedef struct worker {
    int number;
    ad_tape *tape;
    pthread_t thread;
    ad_status status;                       // the last that was an error
    ad_rev last[RECORDINGS];                // the result of each recording
    ad_real g[RECORDINGS][INPUTS];
} worker;

static worker workers[THREADS];
static worker alone;

static uint32_t next(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 8;
}

// Any size from a handful of statements to several blocks.
static ad_rev record(const ad_rev x[INPUTS], uint32_t random)
{
    ad_rev y = x[0];
    uint32_t n = next(&random) % (next(&random) % 16 == 0 ? 6000 : 200) + 1;
    for (uint32_t i = 0; i < n; i++) {
        const ad_rev *a = &x[next(&random) % INPUTS];
        if (next(&random) % 2 == 0)
            y = ad_rec(ad_add(ad_sin(y), ad_mul(*a, (ad_real)0.5)));
        else
            ad_acc(&y, ad_mul(*a, (ad_real)0.01));
    }
    return ad_rec(ad_lgamma(ad_add(2, ad_sqr(y))));     // without signgam
}

static void make_recording(worker *w, int i)
{
    ad_rev x[INPUTS];
    uint32_t seed = (uint32_t)(w->number * RECORDINGS + i);
    for (int k = 0; k < INPUTS; k++)
        x[k] = ad_input((ad_real)k / 8 - 1);
    w->last[i] = record(x, seed);
    ad_status s = ad_gradient(w->tape, w->last[i], INPUTS, x, w->g[i]);
    if (s != ADREV_OK)
        w->status = s;
}

static void *work(void *argument)
{
    worker *w = argument;
    ad_use(w->tape);
    for (int i = 0; i < RECORDINGS; i++) {
        ad_tape_clear(w->tape);
        make_recording(w, i);
    }
    ad_use(NULL);
    return NULL;
}

static void start(worker *w, int number, void *(*body)(void *))
{
    w->number = number;
    int error = pthread_create(&w->thread, NULL, body, w);
    CHECK(error == 0, "thread %d: error %d", number, error);
}

/* --- the same bits -------------------------------------------------------- */

static void run_all(void)
{
    for (int i = 0; i < THREADS; i++)
        workers[i].tape = ad_tape_new();
    for (int i = 0; i < THREADS; i++)
        start(&workers[i], i, work);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
}

static void test_same_bits(void)
{
    alone.tape = ad_tape_new();
    for (int i = 0; i < THREADS; i++) {
        CHECK(workers[i].status == ADREV_OK, "thread %d: got \"%s\"", i,
              ad_message(workers[i].status));
        alone.number = i;
        work(&alone);
        CHECK(memcmp(alone.g, workers[i].g, sizeof alone.g) == 0,
              "thread %d: not the gradients of one thread", i);
        CHECK(alone.last[7].v == workers[i].last[7].v, "another value");
    }
    CHECK(alone.status == ADREV_OK, "got \"%s\"", ad_message(alone.status));
    ad_tape_free(alone.tape);
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void test_job_numbers(void)
{
    static uint32_t job[THREADS * RECORDINGS];
    size_t n = 0;
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < RECORDINGS; k++)
            job[n++] = workers[i].last[k].job;
    qsort(job, n, sizeof job[0], compare);
    CHECK(job[0] != 0, "a result is a constant");
    for (size_t i = 1; i < n; i++)
        CHECK(job[i] != job[i - 1], "two recordings have number %u",
              (unsigned)job[i]);
}

// Each thread's last value, on every tape: only its own knows it.
static void test_foreign(void)
{
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < THREADS; k++) {
            ad_rev y = workers[k].last[RECORDINGS - 1];
            ad_real g = 7;
            ad_status s = ad_gradient(workers[i].tape, y, 1, &y, &g);
            CHECK(s == (i == k ? ADREV_OK : ADREV_EFOREIGN),
                  "a value of thread %d on the tape of %d: got \"%s\"", k, i,
                  ad_message(s));
        }
    for (int i = 0; i < THREADS; i++) {
        ad_use(workers[i].tape);
        DROP(ad_rec(ad_sin(workers[(i + 1) % THREADS].last[RECORDINGS - 1])));
        CHECK(ad_tape_status(workers[i].tape) == ADREV_EFOREIGN,
              "a value of another thread is used");
        ad_tape_clear(workers[i].tape);
    }
    ad_use(NULL);
}

/* --- one tape, several threads, one after the other ----------------------- */

static ad_rev baton[INPUTS + 1];        // the inputs, and the result so far

static void *carry_on(void *argument)
{
    worker *w = argument;
    ad_use(w->tape);
    baton[INPUTS] = ad_rec(ad_mul(baton[INPUTS], baton[w->number]));
    ad_use(NULL);
    return NULL;
}

static void test_handed_on(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    for (int i = 0; i < INPUTS; i++)
        baton[i] = ad_input(2);
    baton[INPUTS] = ad_rec(ad_mul(baton[THREADS], 1));
    ad_use(NULL);
    for (int i = 0; i < THREADS; i++) {
        workers[i].tape = t;
        start(&workers[i], i, carry_on);
        pthread_join(workers[i].thread, NULL);
    }
    ad_real g[INPUTS];
    ad_status s = ad_gradient(t, baton[INPUTS], INPUTS, baton, g);
    CHECK(s == ADREV_OK, "got \"%s\"", ad_message(s));
    for (int i = 0; i < INPUTS; i++) {
        ad_real want = i <= THREADS ? 256 : 0;      // 2^8
        CHECK(g[i] == want, "g[%d]: got %g, want %g", i, (double)g[i],
              (double)want);
    }
    ad_tape_free(t);
}

// A tape that another thread cleared and used for a recording of its own.
static void test_handed_over(void)
{
    ad_tape *t = ad_tape_new();
    for (int i = 0; i < THREADS; i++) {
        alone.tape = t;
        start(&alone, i, work);
        pthread_join(alone.thread, NULL);
        CHECK(alone.status == ADREV_OK
                  && memcmp(alone.g, workers[i].g, sizeof alone.g) == 0,
              "thread %d: not the gradients of another tape", i);
        ad_use(t);
        ad_tape_clear(t);
        ad_rev x = ad_input(3);
        ad_rev y = ad_rec(ad_mul(x, x));
        ad_real g = 0;
        CHECK(ad_gradient(t, y, 1, &x, &g) == ADREV_OK && g == 6,
              "got %g, want 6", (double)g);
        ad_use(NULL);
    }
    ad_tape_free(t);
}

// What is current is a matter of each thread.
static void *has_none(void *argument)
{
    worker *w = argument;
    w->last[0] = ad_input(1);
    w->tape = ad_use(NULL);
    return NULL;
}

static void test_current(void)
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    start(&alone, 0, has_none);
    pthread_join(alone.thread, NULL);
    CHECK(alone.last[0].job == 0 && alone.tape == NULL,
          "a tape is current on a thread that never used one");
    CHECK(ad_input(1).job != 0, "and no longer on this one");
    ad_tape_free(t);
}

int main(void)
{
    run_all();
    test_same_bits();
    test_job_numbers();
    test_foreign();
    for (int i = 0; i < THREADS; i++)
        ad_tape_free(workers[i].tape);
    test_handed_on();
    test_handed_over();
    test_current();
    return check_done("threads");
}
