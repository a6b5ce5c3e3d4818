// SPDX-License-Identifier: MIT-0
// tags: formulas
/* cases.c - tensor programs with known values, gradients and operations
 * (cases.h), whole programs beside C by hand (programs.h), and how counts,
 * memory and time grow with the size.                                       */

#define _POSIX_C_SOURCE 200809L
#include "implementation.h"
#include "adrev_tensor.h"
#include "check.h"
#include "cases.h"
#include "programs.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OK(call, name)                                                      \
    do {                                                                    \
        ad_status ok_status = (call);                                       \
        CHECK(ok_status == ADREV_OK, "%s: " #call ": %s", name,             \
              ad_message(ok_status));                                       \
    } while (0)

/* --- a case --------------------------------------------------------------- */

// A case's arrays, and room for results.
typedef struct arrays {
    int inputs, outs;
    const ad_real *x[CASE_INPUTS], *w[CASE_OUTS];
    ad_real *y[CASE_OUTS], *dy[CASE_OUTS];
    ad_real *dx[CASE_INPUTS];               // NULL where it is not wanted
    ad_real *v[CASE_INPUTS];
    bool wanted[CASE_INPUTS];
    ad_real room_y[2][CASE_OUTS][CASE_NUMBERS];
    ad_real room_x[2][CASE_INPUTS][CASE_NUMBERS];
} arrays;

static ad_real all_ones[CASE_NUMBERS];

static void give(const tensor_case *c, arrays *a)
{
    memset(a, 0, sizeof *a);
    for (int i = 0; i < CASE_INPUTS && c->in[i].n > 0; i++, a->inputs++) {
        a->x[i] = c->in[i].x ? c->in[i].x : all_ones;
        a->wanted[i] = !c->in[i].unwanted;
        a->dx[i] = a->wanted[i] ? a->room_x[0][i] : NULL;
        a->v[i] = a->room_x[1][i];
        for (size_t k = 0; k < c->in[i].n && a->wanted[i]; k++)
            a->v[i][k] = (ad_real)((int)(k + (size_t)i) % 5 - 2);
    }
    for (int i = 0; i < CASE_OUTS && c->out[i].n > 0; i++, a->outs++) {
        a->w[i] = c->out[i].w ? c->out[i].w : all_ones;
        a->y[i] = a->room_y[0][i];
        a->dy[i] = a->room_y[1][i];
    }
}

static ad_tensor *made(const tensor_case *c, bool rows)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 0 };
    ad_status s = ad_tensor_new(&t, c->text, NULL, &e);
    if (!CHECK(s == ADREV_OK, "%s: %s", c->name, e.text))
        return NULL;
    for (int i = 0; i < CASE_SIZES && c->size[i].name != NULL; i++)
        OK(ad_tensor_size(t, c->size[i].name, c->size[i].n), c->name);
    for (int i = 0; i < CASE_MAPS && c->map[i].name != NULL; i++)
        OK(ad_tensor_map(t, c->map[i].name, c->map[i].value), c->name);
    if (rows)
        OK(ad_tensor_csr(t, c->relation.name, c->relation.start,
                         c->relation.column[1]), c->name);
    else if (c->relation.name != NULL)
        OK(ad_tensor_relation(t, c->relation.name, c->relation.entries,
                              c->relation.column), c->name);
    s = ad_tensor_bind(t, &e);
    CHECK(s == ADREV_OK, "%s: %s", c->name, e.text);
    return t;
}

static void check_numbers(const char *name, const char *what, size_t n,
                          const ad_real *got, const ad_real *want)
{
    for (size_t k = 0; k < n && want != NULL; k++)
        CHECK(got[k] == want[k], "%s: %s[%zu]: got %g, want %g", name, what, k,
              (double)got[k], (double)want[k]);
}

static void check_values(const tensor_case *c, const arrays *a)
{
    for (int i = 0; i < a->outs; i++)
        check_numbers(c->name, "y", c->out[i].n, a->y[i], c->out[i].y);
}

static void check_gradient(const tensor_case *c, const arrays *a)
{
    for (int i = 0; i < a->inputs; i++)
        if (a->wanted[i])
            check_numbers(c->name, "dx", c->in[i].n, a->dx[i], c->in[i].g);
}

// <w, J v> = <J' w, v>, for v = 0 where no gradient is wanted
static void check_products(const tensor_case *c, const arrays *a)
{
    ad_real forward = 0;
    ad_real reverse = 0;
    for (int i = 0; i < a->outs; i++)
        for (size_t k = 0; k < c->out[i].n; k++)
            forward += a->w[i][k] * a->dy[i][k];
    for (int i = 0; i < a->inputs; i++)
        for (size_t k = 0; k < c->in[i].n && a->wanted[i]; k++)
            reverse += a->dx[i][k] * a->v[i][k];
    CHECK(forward == reverse, "%s: <w, J v> = %g, <J' w, v> = %g", c->name,
          (double)forward, (double)reverse);
}

/* --- operations ----------------------------------------------------------- */

// No more than the model's, and where nothing can be saved, exactly so many.
static void check_count(const char *name, const char *what,
                        const case_count *want, const ad_tensor_cost *got)
{
    uint64_t total = got->add + got->mul + got->fn;
    bool same = got->add == want->add && got->mul == want->mul
             && got->fn == want->fn;
    CHECK(want->exact ? same : total <= want->add + want->mul + want->fn,
          "%s, %s: (%llu, %llu, %llu) operations, %s (%u, %u, %u)", name, what,
          (unsigned long long)got->add, (unsigned long long)got->mul,
          (unsigned long long)got->fn, want->exact ? "not" : "more than",
          want->add, want->mul, want->fn);
}

// The count of a reverse sweep has the values that it needs: none but inputs
// where a case is linear, at most all.
static void check_operations(const tensor_case *c, ad_tensor *t,
                             const arrays *a)
{
    ad_tensor_cost value = { 0 };
    ad_tensor_cost reverse = { 0 };
    case_count both = { c->F.add + c->R.add, c->F.mul + c->R.mul,
                        c->F.fn + c->R.fn, false };
    OK(ad_tensor_count(t, ADREV_TENSOR_VALUE, NULL, &value), c->name);
    OK(ad_tensor_count(t, ADREV_TENSOR_VJP, a->wanted, &reverse), c->name);
    check_count(c->name, "value", &c->F, &value);
    check_count(c->name, "reverse", c->linear ? &c->R : &both, &reverse);
    CHECK(reverse.add + reverse.mul + reverse.fn + reverse.io
              <= 4 * (value.add + value.mul + value.fn + value.io),
          "%s: a gradient of more than 4 times the value", c->name);
}

/* --- all queries of a case ------------------------------------------------ */

static void run_queries(const tensor_case *c, ad_tensor *t, arrays *a)
{
    ad_real *none[CASE_INPUTS] = { NULL };
    OK(ad_tensor_eval(t, a->x, a->y), c->name);
    check_values(c, a);
    OK(ad_tensor_vjp(t, a->x, a->w, NULL, a->dx), c->name);
    check_gradient(c, a);
    memset(a->room_y, 0, sizeof a->room_y);
    memset(a->room_x[0], 0, sizeof a->room_x[0]);
    OK(ad_tensor_vjp(t, a->x, a->w, a->y, a->dx), c->name);
    check_values(c, a);
    check_gradient(c, a);
    OK(ad_tensor_vjp(t, a->x, a->w, a->y, none), c->name);
    OK(ad_tensor_jvp(t, a->x, (const ad_real *const *)a->v, a->y, a->dy),
       c->name);
    check_values(c, a);
    check_products(c, a);
}

static void run_gradient(const tensor_case *c, ad_tensor *t, arrays *a)
{
    ad_real f = 0;
    if (c->out[0].n != 1 || c->out[1].n != 0 || a->w[0][0] != 1)
        return;
    memset(a->room_x[0], 0, sizeof a->room_x[0]);
    OK(ad_tensor_gradient(t, a->x, &f, a->dx), c->name);
    check_numbers(c->name, "f", 1, &f, c->out[0].y);
    check_gradient(c, a);
    OK(ad_tensor_gradient(t, a->x, NULL, a->dx), c->name);
    check_gradient(c, a);
}

static void run_case(const tensor_case *c)
{
    static arrays a;
    for (int rows = 0; rows < 1 + (c->relation.start != NULL); rows++) {
        ad_tensor *t = made(c, rows != 0);
        if (t == NULL)
            return;
        give(c, &a);
        run_queries(c, t, &a);
        run_gradient(c, t, &a);
        check_operations(c, t, &a);
        ad_tensor_free(t);
    }
}

/* --- growth --------------------------------------------------------------- */

// What must be at most proportional to n, from 64 to 4096. The dense arrays of
// the band and the antidiagonal are n x n, but few of their numbers are used.
typedef struct grown {
    const char *name, *text;
    bool square;                // the first input is n x n
    bool relation;              // it has 3 numbers in each row, on R
} grown;

static const grown growing[] = {
    { "A1", CASE_DIAGONAL "out f = " CASE_TRACES_4 ";", false, false },
    { "A2", CASE_DIAGONAL "out f = sum(i) A[i,0]*A[0,i];", false, false },
    { "A3", CASE_DIAGONAL "out f = sum(c<4,i) A[i,c]*A[c,i];", false, false },
    { "A4", "in s[n]; A[i<n,j<n] = [i==j] s[0]; out f = sum(i) A[i,i];", false,
      false },
    { "A9", "in x[n]; out f = sum(i: i != 1) x[i];", false, false },
    { "A15", "in A[n,n]; out f = sum(i,j: i+j == n-1) A[i,j];", true, false },
    { "A18", "in A[n,n], x[n];"
      " out y[i] = sum(j: i-1 <= j <= i+1) A[i,j]*x[j];", true, false },
    { "A19", "rel R[n,n]; in A[R], x[n]; out y[i] = sum(j) A[i,j]*x[j];", false,
      true },
};

typedef struct measured {
    ad_tensor_cost value, reverse;
    double seconds;             // of vjp with respect to what is not n x n
} measured;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void give_rows(ad_tensor *t, int n)
{
    int *start = malloc(((size_t)n + 1) * sizeof *start);
    int *column = malloc(3 * (size_t)n * sizeof *column);
    for (int i = 0; i < n && start != NULL && column != NULL; i++) {
        start[i] = 3 * i;
        for (int k = 0; k < 3; k++)         // in order, and not beyond n
            column[3 * i + k] = (i + k * (n / 3)) % n;
        start[i + 1] = 3 * (i + 1);
    }
    OK(ad_tensor_csr(t, "R", start, column), "rows");
    free(start);
    free(column);
}

// The shortest of several runs.
static double time_vjp(const grown *g, ad_tensor *t, size_t n, size_t first)
{
    ad_real *room = calloc(first + 4 * n, sizeof *room);
    const ad_real *x[] = { room, room + first };
    const ad_real *w[] = { room + first + n };
    ad_real *y[] = { room + first + 2 * n };
    ad_real *square[] = { NULL, room + first + 3 * n };
    ad_real *plain[] = { room + first + 3 * n, NULL };
    double least = 1e9;
    for (int k = 0; k < 20 && room != NULL; k++) {
        double from = now();
        OK(ad_tensor_vjp(t, x, w, y, g->square || g->relation ? square : plain),
           g->name);
        double took = now() - from;
        least = took < least ? took : least;
    }
    free(room);
    return least;
}

static measured measure(const grown *g, size_t n)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 0 };
    measured m = { .seconds = 0 };
    bool wanted[2] = { !g->square && !g->relation, true };
    if (!CHECK(ad_tensor_new(&t, g->text, NULL, &e) == ADREV_OK, "%s: %s",
               g->name, e.text))
        return m;
    OK(ad_tensor_size(t, "n", n), g->name);
    if (g->relation)
        give_rows(t, (int)n);
    CHECK(ad_tensor_bind(t, &e) == ADREV_OK, "%s: %s", g->name, e.text);
    OK(ad_tensor_count(t, ADREV_TENSOR_VALUE, NULL, &m.value), g->name);
    OK(ad_tensor_count(t, ADREV_TENSOR_VJP, wanted, &m.reverse), g->name);
    m.seconds = time_vjp(g, t, n, g->square ? n * n : g->relation ? 3 * n : n);
    ad_tensor_free(t);
    return m;
}

static bool linear(uint64_t small, uint64_t large, uint64_t times)
{
    return large <= times * (small + 4);
}

static void check_growth(const grown *g, size_t n, const measured *a,
                         const measured *b)
{
    uint64_t k = n / 64;
    CHECK(linear(a->value.add, b->value.add, k)
              && linear(a->value.mul, b->value.mul, k)
              && linear(a->reverse.add, b->reverse.add, k)
              && linear(a->reverse.mul, b->reverse.mul, k),
          "%s, n = %zu: operations grow faster than n", g->name, n);
    CHECK(b->value.work <= k * a->value.work + 4096
              && b->reverse.work <= k * a->reverse.work + 4096,
          "%s, n = %zu: %zu bytes, for 64 %zu", g->name, n, b->reverse.work,
          a->reverse.work);
    // a factor of 4, and 50 us, for caches and for the clock
    CHECK(b->seconds <= 4 * (double)k * a->seconds + 5e-5,
          "%s, n = %zu: %g s, for 64 %g s", g->name, n, b->seconds, a->seconds);
}

static void run_growth(void)
{
    for (size_t i = 0; i < sizeof growing / sizeof growing[0]; i++) {
        measured least = measure(&growing[i], 64);
        for (size_t n = 128; n <= 4096; n *= 2) {
            measured more = measure(&growing[i], n);
            check_growth(&growing[i], n, &least, &more);
        }
    }
}

/* --- whole programs ------------------------------------------------------- */

static ad_tensor *program_made(const program *p)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 0 };
    if (!CHECK(ad_tensor_new(&t, p->text, NULL, &e) == ADREV_OK, "%s: %s",
               p->name, e.text))
        return NULL;
    for (int i = 0; i < PROGRAM_SIZES && p->size[i].name != NULL; i++)
        OK(ad_tensor_size(t, p->size[i].name, p->size[i].n), p->name);
    for (int i = 0; i < PROGRAM_MAPS && p->map[i].name != NULL; i++)
        OK(ad_tensor_map(t, p->map[i].name, p->map[i].value), p->name);
    if (p->relation != NULL)
        OK(ad_tensor_relation(t, p->relation, p->entries, p->column), p->name);
    CHECK(ad_tensor_bind(t, &e) == ADREV_OK, "%s: %s", p->name, e.text);
    return t;
}

// Relative to the largest number of an array.
static void check_array(const program *p, const char *what, int array, size_t n,
                        const ad_real *got, const double *want)
{
    double largest = 0;
    double epsilon = sizeof(ad_real) == sizeof(float) ? (double)FLT_EPSILON
                                                      : DBL_EPSILON;
    for (size_t k = 0; k < n; k++)
        largest = fabs(want[k]) > largest ? fabs(want[k]) : largest;
    for (size_t k = 0; k < n; k++)
        CHECK(fabs((double)got[k] - want[k]) <= 64 * epsilon * largest,
              "%s: %s %d[%zu]: got %.17g, want %.17g", p->name, what, array, k,
              (double)got[k], want[k]);
}

static void check_program(const program *p, ad_tensor *t)
{
    static ad_real room[4][PROGRAM_ARRAYS][PROGRAM_NUMBERS];
    const ad_real *x[PROGRAM_ARRAYS];
    const ad_real *w[PROGRAM_ARRAYS];
    ad_real *y[PROGRAM_ARRAYS];
    ad_real *dx[PROGRAM_ARRAYS];
    for (int i = 0; i < PROGRAM_ARRAYS; i++) {
        for (size_t k = 0; k < PROGRAM_NUMBERS; k++) {
            room[0][i][k] = (ad_real)program_x[i][k];
            room[1][i][k] = (ad_real)program_w[i][k];
        }
        x[i] = room[0][i];
        w[i] = room[1][i];
        y[i] = room[2][i];
        dx[i] = room[3][i];
    }
    OK(ad_tensor_eval(t, x, y), p->name);
    for (int i = 0; i < PROGRAM_ARRAYS && p->out[i] > 0; i++)
        check_array(p, "eval", i, p->out[i], y[i], program_y[i]);
    memset(room[2], 0, sizeof room[2]);
    OK(ad_tensor_vjp(t, x, w, y, dx), p->name);
    for (int i = 0; i < PROGRAM_ARRAYS && p->out[i] > 0; i++)
        check_array(p, "y", i, p->out[i], y[i], program_y[i]);
    for (int i = 0; i < PROGRAM_ARRAYS && p->in[i] > 0; i++)
        check_array(p, "dx", i, p->in[i], dx[i], program_g[i]);
}

static void run_programs(void)
{
    for (int i = 0; i < PROGRAMS; i++) {
        const program *p = program_at(i);
        program_compute(p);
        ad_tensor *t = program_made(p);
        if (t != NULL)
            check_program(p, t);
        ad_tensor_free(t);
    }
}

int main(void)
{
    for (int i = 0; i < CASE_NUMBERS; i++)
        all_ones[i] = 1;
    for (int i = 0; i < TENSOR_CASES; i++)
        run_case(&tensor_cases[i]);
    run_programs();
    run_growth();
    return check_done("cases");
}
