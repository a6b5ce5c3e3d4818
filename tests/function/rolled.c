// SPDX-License-Identifier: MIT-0
// tags: recorded code
// needs: dlfcn.h
// libs: -ldl
/* rolled.c - loops in C code: what is written of programs with repetition is
 * compiled without a warning, by both compilers (FEW: gcc), and has the bits of
 * the replay; patterns of sparse matrices are those of the function. The
 * programs are random ones with pieces that come again, exactly or nearly, and
 * stencils, chains and sums of data; large ones must have little text.
 *
 *     rolled [programs]        how many random ones; default 3               */

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "implementation.h"
#include "adrev_function.h"
#include "check.h"
#include "heap.h"
#include "shell.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALL (ADREV_C_VALUE | ADREV_C_JVP | ADREV_C_VJP | ADREV_C_HVP          \
             | ADREV_C_JACOBIAN_SPARSE | ADREV_C_HESSIAN_SPARSE)

static char top[] = "/tmp/adrev-rolled-XXXXXX";
static uint64_t state = 88172645463325252u;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % n;
}

/* --- programs -------------------------------------------------------------- */

enum { BODY = 14, SIDE = 8, LONG = 10000,
       USUAL = 3 };

static void rosenbrock(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    ad_rev s = { 0 };
    for (size_t i = 0; i + 1 < n; i++)
        ad_acc(&s, ad_add(ad_sqr(ad_sub(1, x[i])),
                          ad_mul(100, ad_sqr(ad_sub(x[i + 1],
                                                    ad_sqr(x[i]))))));
    y[0] = s;
}

static void bratu(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    size_t m = 1;
    while (m * m < n)
        m++;
    for (size_t i = 0; i < n; i++) {
        ad_rev e = ad_rec(ad_sub(ad_mul(4, x[i]),
                                 ad_mul(1e-2, ad_exp(x[i]))));
        if (i >= m)
            e = ad_rec(ad_sub(e, x[i - m]));
        if (i % m > 0)
            e = ad_rec(ad_sub(e, x[i - 1]));
        if (i + m < n)
            e = ad_rec(ad_sub(e, x[i + m]));
        if ((i + 1) % m > 0)
            e = ad_rec(ad_sub(e, x[i + 1]));
        y[i] = e;
    }
}

// A soap film over a square, a sum over triangles: entries of its Hessian are
// sums that are computed in no order of theirs.
static void film(const ad_rev *x, ad_rev *y, void *ctx)
{
    const int side = *(const int *)ctx;
    const ad_rev frame = { 0 };
    ad_rev s = { 0 };
    for (int k = 0; k < 2 * (side + 1) * (side + 1); k++) {
        const int odd = k % 2, to = odd ? 1 : -1;
        const int i = k / 2 / (side + 1) - odd, j = k / 2 % (side + 1) - odd;
        const bool row = i >= 0 && i < side, column = j >= 0 && j < side;
        ad_rev at = row && column ? x[i * side + j] : frame;
        ad_rev p = i + to < 0 || i + to >= side || !column
                 ? at : ad_rec(ad_sub(x[(i + to) * side + j], at));
        ad_rev q = j + to < 0 || j + to >= side || !row
                 ? at : ad_rec(ad_sub(x[i * side + j + to], at));
        ad_acc(&s, ad_sqrt(ad_add(1, ad_add(ad_sqr(p), ad_sqr(q)))));
    }
    y[0] = s;
}

// Outputs of a pattern with four levels, one more than loops have.
static void deep(const ad_rev *x, ad_rev *y, void *ctx)
{
    enum { PIECE = 100 };
    const size_t n = *(const size_t *)ctx;
    const uint64_t was = state;
    ad_rev *sine = calloc(2 * n, sizeof *sine), *cosine = sine + n, e;
    size_t at = 0;
    if (sine == NULL)
        return;
    for (size_t i = 0; i < n; i++)
        sine[i] = ad_rec(ad_sin(x[i]));
    for (size_t i = 0; i < n; i++)
        cosine[i] = ad_rec(ad_cos(x[i]));
    e = ad_rec(ad_exp(x[1]));
    for (int i = 1; i <= 81; i++) {
        state = 88172645463325252u;
        for (int k = 0; k < PIECE; k++, at++)
            y[at] = below(2) ? sine[(at + (size_t)i) % n] : cosine[7 * at % n];
        if (i % 3 == 0)
            y[at++] = x[0];
        if (i % 9 == 0)
            y[at++] = (ad_rev){ .v = 2.5 };
        if (i % 27 == 0)
            y[at++] = e;
    }
    state = was;
    free(sine);
}

static void burgers(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    ad_rev *u = calloc(2 * n, sizeof *u);
    ad_rev s = { 0 };
    if (u == NULL)
        return;
    for (size_t i = 0; i < n; i++)
        u[i] = u[n + i] = x[i];
    for (size_t step = 0; step < 4; step++) {
        const ad_rev *from = u + step % 2 * n;
        ad_rev *to = u + (step + 1) % 2 * n;
        for (size_t i = 1; i + 1 < n; i++) {
            ad_rev d = ad_rec(ad_sub(from[i + 1], from[i - 1]));
            to[i] = ad_rec(ad_add(from[i], ad_sub(
                ad_mul(0.1, ad_sub(ad_add(from[i + 1], from[i - 1]),
                                   ad_mul(2, from[i]))),
                ad_mul(0.05, ad_mul(from[i], d)))));
        }
    }
    for (size_t i = 0; i < n; i++)
        ad_acc(&s, ad_sqr(u[i]));
    y[0] = s;
    free(u);
}

// A sum over data, which are constants, with a guard for each.
static void data(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    ad_rev s = { 0 };
    for (size_t i = 0; i < n; i++) {
        const double d = (double)(i * 7919 % 1000) / 64;
        ad_rev e = ad_rec(ad_sub(ad_mul(ad_exp(ad_mul(x[0], d / 8)),
                                        x[1 + i % 3]), d));
        ad_acc(&s, ad_select(ad_lt(ad_abs(e), 1000), ad_sqr(e), ad_abs(e)));
    }
    y[0] = s;
}

// The same without guards. `most` different data come in no order: what belongs
// to equal ones is computed once.
typedef struct sample {
    size_t n, most;
} sample;

static void unordered(const ad_rev *x, ad_rev *y, void *ctx)
{
    const sample *c = ctx;
    ad_rev s = { 0 };
    for (uint32_t i = 0; i < c->n; i++) {
        const double d = (double)((i * 2654435761u >> 7) % c->most) / 64;
        ad_acc(&s, ad_sqr(ad_sub(ad_mul(ad_exp(ad_mul(x[0], d / 8)), x[1]),
                                 d)));
    }
    y[0] = s;
}

// Constants of all kinds in no order: the angle of one says which zero it is.
static void kinds(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const double kind[] = { -0.0, 3, 0.1, -7, 0, 1234567, -1e300, 2.5,
                                   -999999, 1e-310, 4294967296.0 };
    const size_t n = *(const size_t *)ctx;
    const ad_rev below = ad_rec(ad_sub(-1, ad_sqr(x[0])));
    ad_rev s = { 0 };
    for (uint32_t i = 0; i < n; i++)
        ad_acc(&s, ad_mul(ad_atan2(kind[(i * 2654435761u >> 7) % 11], below),
                          ad_mul(x[1 + (i * 40503u >> 5) % (n - 1)], x[i])));
    y[0] = s;
}

// Here a sum is read on its way, by what is added to it.
static void compound(const ad_rev *x, ad_rev *y, void *ctx)
{
    const sample *c = ctx;
    ad_rev s = ad_rec(ad_mul(x[0], x[1]));
    for (uint32_t i = 0; i < c->n; i++) {
        const double d = (double)((i * 2654435761u >> 7) % c->most) / 64;
        ad_acc(&s, ad_mul(s, ad_mul(0.001, ad_sin(ad_mul(x[0], d)))));
    }
    y[0] = s;
}

// The value is also each entry of the gradient: one number in both arrays of
// results.
static void growth(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    ad_rev s = { 0 };
    for (size_t i = 0; i < n; i++)
        ad_acc(&s, x[i]);
    y[0] = ad_rec(ad_exp(s));
}

/* --- random programs -------------------------------------------------------- */

// One operation of a body, and where it finds its arguments: in an input, in
// what this iteration, the one before or the one LAG before has made, in a
// constant, or in what came before all.
typedef struct piece {
    int op;
    int kind[2];
    uint32_t at[2], step[2];
} piece;

typedef struct plan {
    piece body[BODY];
    uint32_t pieces, times, rows, n, m;
    uint64_t seed;
    uint32_t spoilt;            // one iteration in so many differs; 0: none
    int odd;                    // how iteration `middle` differs
    uint32_t middle;
    bool turns;                 // another result is used in each iteration
} plan;

// In one iteration: another constant, argument, operation, order of arguments,
// a result of the function, a guard, or nothing at all.
enum { CONSTANT, ARGUMENT, OPERATION, SWAPPED, RESULT, GUARD, EVEN, ODD };

enum { INPUT, HERE, BEFORE, LAG_BEFORE, NUMBER, DATUM, FIRST, KINDS, LAG = 5 };

static plan random_plan(int odd)
{
    plan p = { .pieces = 3 + below(BODY - 3), .times = 25 + below(25),
               .rows = below(2) ? 1 : 4 + below(SIDE - 4),
               .n = 200 + below(400),
               .spoilt = below(3) == 0 ? 17 + below(20) : 0,
               .turns = below(4) == 0 };
    p.seed = state;
    for (uint32_t i = 0; i < p.pieces; i++) {
        p.body[i].op = (int)below(7);
        for (int a = 0; a < 2; a++) {
            p.body[i].kind[a] = (int)below(KINDS);
            p.body[i].at[a] = below(1000);
            p.body[i].step[a] = below(4) ? below(3) : below(1000);
        }
    }
    p.m = 1 + below(3) * 7;
    p.odd = odd;
    p.middle = p.times * p.rows / 2 + below(7);
    return p;
}

// Values stay near 1, so that nothing overflows.
static ad_rev apply(int op, ad_rev a, ad_rev b)
{
    switch (op) {
    case 0:  return ad_rec(ad_mul(0.5, ad_add(a, b)));
    case 1:  return ad_rec(ad_sub(a, ad_mul(0.25, b)));
    case 2:  return ad_rec(ad_mul(a, ad_sin(b)));
    case 3:  return ad_rec(ad_tanh(ad_mul(a, b)));
    case 4:  return ad_rec(ad_div(a, ad_add(2, ad_sqr(b))));
    case 5:  return ad_rec(ad_cos(a));
    default: return ad_rec(ad_sqrt(ad_add(1, ad_sqr(ad_sub(a, b)))));
    }
}

// Operation i of a body, or in the middle what differs from it.
static ad_rev piece_of(const plan *p, uint32_t t, uint32_t i, ad_rev a[])
{
    const piece *s = &p->body[i];
    const bool here = t == p->middle && i == p->pieces / 2;
    const bool other = (p->spoilt != 0 && t % p->spoilt == 3 && i == 1)
                    || (here && p->odd == OPERATION);
    if (here && p->odd == CONSTANT)
        a[1] = ad_rec(0.7654321);
    if (here && p->odd == ARGUMENT)
        a[0] = ad_rec(ad_neg(a[0]));
    const bool swapped = here && p->odd == SWAPPED;
    ad_rev made = apply(other ? (s->op + 1) % 7 : s->op, a[swapped],
                        a[!swapped]);
    return here && p->odd == GUARD
         ? ad_rec(ad_select(ad_lt(made, 1000), made, a[0])) : made;
}

static void planned(const ad_rev *x, ad_rev *y, void *ctx)
{
    const plan *p = ctx;
    const uint32_t all = p->times * p->rows;
    ad_rev *made = calloc((size_t)all * BODY + 1, sizeof *made);
    ad_rev first = ad_rec(ad_mul(x[0], x[1]));
    if (made == NULL)
        return;
    state = p->seed;
    for (uint32_t t = 0; t < all; t++) {
        ad_rev *now = &made[(size_t)t * BODY];
        for (uint32_t i = 0; i < p->pieces; i++) {
            const piece *s = &p->body[i];
            ad_rev a[2];
            for (int k = 0; k < 2; k++) {
                uint32_t at = s->at[k] % p->pieces;
                uint32_t input = (s->at[k] + s->step[k] * t) % p->n;
                int kind = s->kind[k];
                a[k] = kind == HERE && at < i ? now[at]
                     : kind == BEFORE && t > 0 ? now[at - (ptrdiff_t)BODY]
                     : kind == LAG_BEFORE && t >= LAG
                       ? now[at - (ptrdiff_t)(LAG * BODY)]
                     : kind == NUMBER ? ad_rec(0.75)
                     : kind == DATUM ? ad_rec(0.5 + (double)(t * 37 % 64) / 64)
                     : kind == FIRST ? first : x[input];
            }
            now[i] = piece_of(p, t, i, a);
        }
        if (p->rows > 1 && t % p->times == p->times - 1)
            now[0] = ad_rec(ad_add(now[0], x[t / p->times % p->n]));
    }
    for (uint32_t i = 0; i < p->m; i++) {
        y[i] = first;
        for (uint32_t t = i; t < all; t += p->m)
            for (uint32_t k = 0; k < p->pieces; k += 2)
                ad_acc(&y[i], made[(size_t)t * BODY
                                   + (p->turns ? t + i : k) % p->pieces]);
    }
    if (p->odd == RESULT)
        y[0] = made[(size_t)p->middle * BODY];
    free(made);
}

/* --- code, written and compared ---------------------------------------------- */

typedef int code_fn(const ad_real *, ad_real *, ad_real *);
typedef int code_fn_2(const ad_real *, const ad_real *, ad_real *, ad_real *);
typedef int code_fn_g(const ad_real *, ad_real *, ad_real *, ad_real *);
typedef int code_fn_3(const ad_real *, const ad_real *, const ad_real *,
                      ad_real *, ad_real *);

static FILE *file;

static void put(const char *text, size_t n, void *user)
{
    (void)user;
    fwrite(text, 1, n, file);
}

typedef struct program {
    char name[32];
    ad_vector_fn *f;
    void *ctx;
    size_t n, m;
    unsigned functions;
    size_t split;
    ad_fn *fn;
    ad_real *x;
    size_t bytes, unrolled;
} program;

static ad_real *numbers(size_t n)
{
    ad_real *x = calloc(n + 1, sizeof *x);
    for (size_t i = 0; x != NULL && i < n; i++)
        x[i] = (ad_real)(0.25 + (double)below(1000) / 900);
    return x;
}

static void write_program(program *p)
{
    const ad_fn_options once = { .once = true };
    p->x = numbers(p->n);
    ad_status s = ad_fn_record_with(&p->fn, &once, p->f, p->ctx, p->n, p->x,
                                    p->m);
    CHECK(s == ADREV_OK, "%s: %s", p->name, ad_message(s));
    ad_c_options o = { .name = p->name, .functions = p->functions,
                       .absorbing = true, .exported = true,
                       .split = p->split,
                       .single = sizeof(ad_real) == 4 };
    s = ad_fn_write_c(p->fn, &o, put, NULL, &p->bytes);
    CHECK(s == ADREV_OK, "%s: %s", p->name, ad_message(s));
    o.unrolled = true;
    s = ad_fn_write_c(p->fn, &o, NULL, NULL, &p->unrolled);
    CHECK(s == ADREV_OK && p->bytes <= p->unrolled, "%s: %zu bytes, %zu "
          "without loops", p->name, p->bytes, p->unrolled);
}

static void *find(void *library, const program *p, const char *what,
                  size_t *work)
{
    char name[80];
    snprintf(name, sizeof name, "%s_%s_size", p->name, what);
    const unsigned long *size = dlsym(library, name);
    snprintf(name, sizeof name, "%s_%s", p->name, what);
    void *symbol = dlsym(library, name);
    *work = size == NULL ? 0 : *size;
    CHECK(symbol != NULL && size != NULL, "%s: not there", name);
    return symbol;
}

static void same(const program *p, const char *what, const char *cc, size_t n,
                 const ad_real *got, const ad_real *want)
{
    size_t i = 0;
    while (i < n && (memcmp(&got[i], &want[i], sizeof *got) == 0
                     || (got[i] != got[i] && want[i] != want[i])))
        i++;
    CHECK(i == n, "%s, %s %s: [%zu of %zu] is %a, want %a", p->name, cc, what,
          i, n, i < n ? (double)got[i] : 0, i < n ? (double)want[i] : 0);
}

typedef struct arrays {
    ad_real *x, *v, *w, *got, *want;
} arrays;

static const char *const names[] = { "value", "jvp", "vjp", "gradient", "hvp",
                                     "", "", "jacobian_sparse",
                                     "hessian_sparse" };

// Calls the C function, with as many arrays of inputs as it has.
static int call(void *symbol, const arrays *a, int k, ad_real *work)
{
    code_fn *f = NULL;
    code_fn_2 *f2 = NULL;
    code_fn_3 *f3 = NULL;
    code_fn_g *fg = NULL;
    switch (1 << k) {
    case ADREV_C_HVP:
        memcpy(&f3, &symbol, sizeof f3);
        return f3(a->x, a->w, a->v, a->got, work);
    case ADREV_C_VALUE: case ADREV_C_JACOBIAN_SPARSE:
        memcpy(&f, &symbol, sizeof f);
        return f(a->x, a->got, work);
    case ADREV_C_GRADIENT:
        memcpy(&fg, &symbol, sizeof fg);
        return fg(a->x, a->got, a->got + 1, work);
    default:
        memcpy(&f2, &symbol, sizeof f2);
        return f2(a->x, 1 << k == ADREV_C_JVP ? a->v : a->w, a->got, work);
    }
}

static ad_status replay(const program *p, const arrays *a, int k)
{
    switch (1 << k) {
    case ADREV_C_VALUE: return ad_fn_eval(p->fn, a->x, a->want);
    case ADREV_C_JVP:   return ad_fn_jvp(p->fn, a->x, a->v, a->want);
    case ADREV_C_VJP:   return ad_fn_vjp(p->fn, a->x, a->w, a->want);
    case ADREV_C_GRADIENT:
        return ad_fn_gradient(p->fn, a->x, a->want, a->want + 1);
    case ADREV_C_HVP:   return ad_fn_hvp(p->fn, a->x, a->w, a->v, a->want);
    case ADREV_C_JACOBIAN_SPARSE:
        return ad_fn_jacobian_sparse(p->fn, a->x, a->want);
    default:
        return ad_fn_hessian_sparse(p->fn, a->x, a->w, a->want);
    }
}

static size_t results(const program *p, int k)
{
    ad_sparsity about = { 0 };
    ad_status s = ADREV_OK;
    if (1 << k == ADREV_C_JACOBIAN_SPARSE)
        s = ad_fn_jacobian_pattern(p->fn, &about, NULL, NULL, NULL);
    if (1 << k == ADREV_C_HESSIAN_SPARSE)
        s = ad_fn_hessian_pattern(p->fn, &about, NULL, NULL, NULL);
    CHECK(s == ADREV_OK, "%s: %s", p->name, ad_message(s));
    return 1 << k >= ADREV_C_JACOBIAN_SPARSE ? about.nonzeros
         : 1 << k == ADREV_C_GRADIENT ? 1 + p->n
         : 1 << k == ADREV_C_VALUE || 1 << k == ADREV_C_JVP ? p->m : p->n;
}

static void same_list(void *library, const program *p, const char *what,
                      const char *list, size_t n, const size_t want[])
{
    char name[80];
    snprintf(name, sizeof name, "%s_%s_%s", p->name, what, list);
    const int *got = dlsym(library, name);
    size_t i = 0;
    while (got != NULL && i < n && got[i] == (int)want[i])
        i++;
    CHECK(got != NULL && i == n, "%s[%zu of %zu] is %d, want %zu", name, i, n,
          got == NULL || i == n ? -1 : got[i], i == n ? 0 : want[i]);
}

// The lists of a pattern, which has nonzeros entries.
static void compare_pattern(void *library, const program *p, int k,
                            size_t nonzeros)
{
    const bool hessian = 1 << k == ADREV_C_HESSIAN_SPARSE;
    const size_t rows = hessian ? p->n : p->m;
    ad_sparsity about;
    size_t *start = calloc(rows + 1, sizeof *start);
    size_t *row = calloc(nonzeros + 1, sizeof *row);
    size_t *column = calloc(nonzeros + 1, sizeof *column);
    ad_status s = hessian
        ? ad_fn_hessian_pattern(p->fn, &about, start, row, column)
        : ad_fn_jacobian_pattern(p->fn, &about, start, row, column);
    CHECK(s == ADREV_OK && about.nonzeros == nonzeros, "%s: %s", p->name,
          ad_message(s));
    same_list(library, p, names[k], "start", rows + 1, start);
    same_list(library, p, names[k], "row", nonzeros, row);
    same_list(library, p, names[k], "column", nonzeros, column);
    free(start);
    free(row);
    free(column);
}

// What each function gives at a point, and what the replay says.
static void compare(void *library, const program *p, const char *cc)
{
    for (int k = 0; p->functions >> k > 0; k++) {
        size_t work;
        if (!(p->functions >> k & 1))
            continue;
        const size_t n = results(p, k);
        void *symbol = find(library, p, names[k], &work);
        arrays a = { numbers(p->n), numbers(p->n), numbers(p->m), numbers(n),
                     numbers(n) };
        ad_real *room = numbers(work);
        ad_status s = replay(p, &a, k);
        int left = symbol == NULL ? -1 : call(symbol, &a, k, room);
        CHECK(left == 0 && s == ADREV_OK, "%s, %s %s: left at %d, %s", p->name,
              cc, names[k], left, ad_message(s));
        if (left == 0 && s == ADREV_OK)
            same(p, names[k], cc, n, a.got, a.want);
        if (1 << k >= ADREV_C_JACOBIAN_SPARSE)
            compare_pattern(library, p, k, n);
        free(a.x);
        free(a.v);
        free(a.w);
        free(a.got);
        free(a.want);
        free(room);
    }
}

// Compiles all programs as one file.
static void compile(const char *cc, const char *flags, program *p, size_t n)
{
    if (!CHECK(shell("%s -std=c99 -pedantic -Wall -Wextra -Wshadow -Wconversion "
                     "-Wdouble-promotion -Werror -ffp-contract=off %s -shared "
                     "-fPIC %s/code.c -o %s/code.so -lm", cc, flags, top, top),
               "%s %s: does not compile, or a warning", cc, flags))
        return;
    char path[200];
    snprintf(path, sizeof path, "%s/code.so", top);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!CHECK(library != NULL, "%s", dlerror()))
        return;
    for (size_t i = 0; i < n; i++)
        compare(library, &p[i], cc);
    dlclose(library);
}

static void begin_file(void)
{
    char path[200];
    snprintf(path, sizeof path, "%s/code.c", top);
    file = fopen(path, "w");
}

static void end_file(const program *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int k = 0; p[i].functions >> k > 0; k++)
            if (p[i].functions >> k & 1)
                fprintf(file, "extern const unsigned long %s_%s_size;\n"
                        "const unsigned long %s_%s_size = %s_%s_WORK;\n",
                        p[i].name, names[k], p[i].name, names[k], p[i].name,
                        names[k]);
    fclose(file);
}

static void free_programs(program p[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ad_fn_free(p[i].fn);
        free(p[i].x);
    }
}

// What ad_fn_write_c writes declares nothing, and -Wmissing-prototypes is not
// asked for.
static void test_random(size_t count)
{
    plan *plans = calloc(count + 1, sizeof *plans);
    program *p = calloc(count + 1, sizeof *p);
    size_t rolled = 0;
    begin_file();
    for (size_t i = 0; i < count; i++) {
        plans[i] = random_plan((int)(i % ODD));
        p[i] = (program){ .f = planned, .ctx = &plans[i], .n = plans[i].n,
                          .m = plans[i].m, .functions = ALL };
        snprintf(p[i].name, sizeof p[i].name, "r%zu", i);
        write_program(&p[i]);
        if (getenv("ROLLED_SAYS") != NULL)
            printf("%s: %zu bytes, %zu without loops\n", p[i].name, p[i].bytes,
                   p[i].unrolled);
        rolled += 2 * p[i].bytes < p[i].unrolled;
    }
    end_file(p, count);
    CHECK(count < USUAL || 3 * rolled >= count, "%zu of %zu programs have loops", rolled, count);
    compile("gcc", "-O0", p, count);
    if (count > USUAL)
        compile("gcc", "-O2", p, count);
    if (count > USUAL && shell("command -v clang > /dev/null"))
        compile("clang", "-O1", p, count);
    free_programs(p, count);
    free(plans);
    free(p);
}

// Large ones, whose text is bounded.
static void test_large(void)
{
    static size_t large = LONG;
    static sample many = { LONG, LONG / 10 };
    static const size_t most[] = { 4000, 20000, 15000, 20000, 10000, 200000 };
    program p[] = {
        { .name = "chain", .f = rosenbrock, .ctx = &large, .n = LONG, .m = 1,
          .functions = ADREV_C_VJP },
        { .name = "bratu", .f = bratu, .ctx = &large, .n = LONG, .m = LONG,
          .functions = ADREV_C_VJP },
        { .name = "chain_matrix", .f = rosenbrock, .ctx = &large, .n = LONG,
          .m = 1, .functions = ADREV_C_HESSIAN_SPARSE },
        { .name = "bratu_matrix", .f = bratu, .ctx = &large, .n = LONG,
          .m = LONG, .functions = ADREV_C_JACOBIAN_SPARSE },
        { .name = "bratu_second", .f = bratu, .ctx = &large, .n = LONG,
          .m = LONG, .functions = ADREV_C_HESSIAN_SPARSE },
        { .name = "sum", .f = unordered, .ctx = &many, .n = 2, .m = 1,
          .functions = ADREV_C_GRADIENT },
    };
    enum { N = sizeof p / sizeof *p };
    begin_file();
    for (size_t i = 0; i < N; i++) {
        write_program(&p[i]);
        CHECK(p[i].bytes < most[i] && p[i].bytes < p[i].unrolled / 7,
              "%s: %zu bytes, %zu without loops", p[i].name, p[i].bytes,
              p[i].unrolled);
    }
    end_file(p, N);
    compile("gcc", ONE_IN(2) > 1 ? "-O0" : "-O1", p, N);
    free_programs(p, N);
}

// Counts results that are written by a statement each. (A function of thousands
// of them took gcc minutes.)
static void count_lines(const char *text, size_t n, void *count)
{
    for (size_t i = 0; i + 7 < n; i++)
        if (memcmp(text + i, "\n    H[", 7) == 0)
            ++*(size_t *)count;
}

static void count_results(ad_fn *fn)
{
    const ad_c_options o = { .functions = ADREV_C_HESSIAN_SPARSE,
                             .absorbing = true };
    size_t count = 0;
    CHECK(ad_fn_write_c(fn, &o, count_lines, &count, NULL) == ADREV_OK, "film");
    CHECK(count < 20, "%zu results are statements", count);
}

// Two loops make the results; outputs have loops of three levels.
static void count_levels(ad_fn *fn)
{
    const ad_c_options o = { .functions = ADREV_C_VALUE };
    ad_c_size about[ADREV_C_COUNT];
    CHECK(ad_fn_c_size(fn, &o, about, NULL) == ADREV_OK, "deep");
    CHECK(about[0].loops >= 2 + 3, "deep: %zu loops", about[0].loops);
}

// Small ones with all functions.
static void test_small(void)
{
    static size_t size[] = { 200, 400, 300, 150, 1000, 500, 250 };
    static sample some = { 2000, 300 };
    static int side = 12;
    const unsigned some_of = ADREV_C_VALUE | ADREV_C_GRADIENT | ADREV_C_HVP;
    program p[] = {
        { .name = "chain", .f = rosenbrock, .ctx = &size[0], .n = 200, .m = 1,
          .functions = ALL },
        { .name = "bratu", .f = bratu, .ctx = &size[1], .n = 400, .m = 400,
          .functions = ALL },
        { .name = "burgers", .f = burgers, .ctx = &size[2], .n = 300, .m = 1,
          .functions = ALL & ~(unsigned)ADREV_C_HESSIAN_SPARSE },
        { .name = "data", .f = data, .ctx = &size[3], .n = 4, .m = 1,
          .functions = ALL },
        { .name = "sum", .f = unordered, .ctx = &some, .n = 2, .m = 1,
          .functions = some_of },
        { .name = "compound", .f = compound, .ctx = &some, .n = 2, .m = 1,
          .functions = some_of },
        { .name = "growth", .f = growth, .ctx = &size[4], .n = 1000, .m = 1,
          .functions = ADREV_C_GRADIENT },
        { .name = "parts", .f = bratu, .ctx = &size[1], .n = 400, .m = 400,
          .split = 30, .functions = ALL },
        { .name = "kinds", .f = kinds, .ctx = &size[5], .n = 500, .m = 1,
          .functions = some_of },
        { .name = "film", .f = film, .ctx = &side, .n = 144, .m = 1,
          .functions = ADREV_C_HESSIAN_SPARSE },
        { .name = "deep", .f = deep, .ctx = &size[6], .n = 250,
          .m = 81 * 100 + 27 + 9 + 3, .functions = ADREV_C_VALUE },
    };
    enum { N = sizeof p / sizeof *p };
    begin_file();
    for (size_t i = 0; i < N; i++)
        write_program(&p[i]);
    end_file(p, N);
    CHECK(2 * p[6].bytes < p[6].unrolled, "growth: no loop of results");
    count_results(p[9].fn);
    count_levels(p[10].fn);
    const bool few = ONE_IN(2) > 1;     // -O2 takes half a minute
    compile(few ? quick_compiler() : "gcc", few ? "-O0" : "-O2", p, N);
    if (!few && shell("command -v clang > /dev/null"))
        compile("clang", "-O1", p, N);
    free_programs(p, N);
}

/* --- what is not rolled, and what fails --------------------------------------- */

typedef struct text {
    char *v;
    size_t n;
} text;

static void append(const char *bytes, size_t n, void *user)
{
    text *t = user;
    char *wide = realloc(t->v, t->n + n + 1);
    if (wide == NULL)
        return;
    memcpy(wide + t->n, bytes, n);
    t->v = wide;
    t->n += n;
}

// Each operation and each argument is another one, by chance.
static void irregular(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    ad_rev *made = calloc(n + 2, sizeof *made);
    if (made == NULL)
        return;
    made[0] = x[0];
    made[1] = x[1];
    state = 88172645463325252u;
    for (uint32_t i = 2; i < n; i++)
        made[i] = apply((int)below(7), made[below(i)],
                        made[i - 1 - (i > 9 ? below(8) : 0)]);
    y[0] = ad_rec(ad_add(made[n - 1], made[n - 2]));
    free(made);
}

// What has no loops is written as if none had been looked for: short programs,
// long ones that repeat nothing, and a short chain just below the least length.
static void test_as_before(void)
{
    static size_t size[] = { 3, 40, 12, 300, 3000 };
    program p[] = {
        { .name = "tiny", .f = rosenbrock, .ctx = &size[0], .n = 3, .m = 1 },
        { .name = "short", .f = rosenbrock, .ctx = &size[1], .n = 12, .m = 1 },
        { .name = "grid", .f = bratu, .ctx = &size[2], .n = 12, .m = 12 },
        { .name = "some", .f = irregular, .ctx = &size[3], .n = 2, .m = 1 },
        { .name = "many", .f = irregular, .ctx = &size[4], .n = 2, .m = 1 },
    };
    size[1] = 12;
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) {
        text with = { NULL, 0 }, without = { NULL, 0 };
        const ad_fn_options once = { .once = true };
        ad_c_options o = { .name = "f", .functions = ADREV_C_VALUE
                                                   | ADREV_C_VJP };
        ad_c_size about[ADREV_C_COUNT];
        p[i].x = numbers(p[i].n);
        CHECK(ad_fn_record_with(&p[i].fn, &once, p[i].f, p[i].ctx, p[i].n,
                                p[i].x, p[i].m) == ADREV_OK
              && ad_fn_write_c(p[i].fn, &o, append, &with, NULL) == ADREV_OK
              && ad_fn_c_size(p[i].fn, &o, about, NULL) == ADREV_OK,
              "%s", p[i].name);
        o.unrolled = true;
        CHECK(ad_fn_write_c(p[i].fn, &o, append, &without, NULL) == ADREV_OK,
              "%s", p[i].name);
        CHECK(with.n > 0 && with.n == without.n
              && memcmp(with.v, without.v, with.n) == 0,
              "%s: %zu bytes, want %zu", p[i].name, with.n, without.n);
        CHECK(about[0].loops == 0 && about[2].loops == 0, "%s: loops",
              p[i].name);
        free(with.v);
        free(without.v);
        ad_fn_free(p[i].fn);
        free(p[i].x);
    }
}

// Each allocation of what writes loops fails (FEW: a third of them), once or
// with all later ones: that is said, nothing is lost, and afterwards the text
// is the same.
static void test_memory_of(program p, bool for_ever)
{
    heap h = { .for_ever = for_ever };
    const ad_allocator memory = { heap_alloc, heap_free, &h };
    const ad_fn_options options = { .once = true, .allocator = &memory };
    ad_fn *fn;
    ad_real *x = numbers(p.n);
    size_t want = 0, got = 0, failed = 0;
    const ad_c_options o = { .name = "f", .functions = p.functions };
    CHECK(ad_fn_record_with(&fn, &options, p.f, p.ctx, p.n, x, p.m) == ADREV_OK
          && ad_fn_write_c(fn, &o, NULL, NULL, &want) == ADREV_OK,
          "%s: written", p.name);
    const size_t live = h.live;
    const size_t step = ONE_IN(3);
    ad_status s = ADREV_ENOMEM;
    h.allocations = 0;
    const size_t first = step > 1 && for_ever ? 2 : 1;
    for (size_t at = first; at <= h.allocations + step; at += step) {
        h.allocations = 0;
        h.failing = at;
        s = ad_fn_write_c(fn, &o, NULL, NULL, &got);
        CHECK(s == ADREV_ENOMEM || (s == ADREV_OK && got == want),
              "allocation %zu: %s, %zu bytes, want %zu", at, ad_message(s), got,
              want);
        failed += s != ADREV_OK;
        h.failing = 0;
        CHECK(h.live == live, "allocation %zu: %zu blocks, want %zu", at,
              h.live, live);
    }
    CHECK(s == ADREV_OK && failed * step > 25, "%zu allocations failed", failed);
    ad_fn_free(fn);
    CHECK(h.live == 0, "%zu blocks are left", h.live);
    free(x);
}

static void test_memory(bool for_ever)
{
    static size_t n = 60, m = 300;
    static sample some = { 1000, 150 };
    test_memory_of((program){ .name = "chain", .f = rosenbrock, .ctx = &n,
                              .n = n, .m = 1, .functions = ADREV_C_VJP },
                   for_ever);
    test_memory_of((program){ .name = "pattern", .f = rosenbrock, .ctx = &m,
                              .n = m, .m = 1,
                              .functions = ADREV_C_HESSIAN_SPARSE }, for_ever);
    test_memory_of((program){ .name = "levels", .f = unordered, .ctx = &some,
                              .n = 2, .m = 1,
                              .functions = ADREV_C_GRADIENT }, for_ever);
}

// ad_c_size says how many loops there are, and ad_c_options that there are
// none.
static void test_count(void)
{
    static size_t n = 60;
    ad_real *x = numbers(n);
    ad_fn *fn;
    ad_c_options o = { .functions = ADREV_C_VJP };
    ad_c_size about[ADREV_C_COUNT];
    CHECK(ad_fn_record(&fn, rosenbrock, &n, n, x, 1) == ADREV_OK
          && ad_fn_c_size(fn, &o, about, NULL) == ADREV_OK
          && about[2].loops > 0 && about[2].loops < 5, "counted");
    o.unrolled = true;
    CHECK(ad_fn_c_size(fn, &o, about, NULL) == ADREV_OK && about[2].loops == 0,
          "%zu loops", about[2].loops);
    ad_fn_free(fn);
    free(x);
}

// ad_fn_c_size says how many loops there are: here one, none in short ones.
static void test_loops(void)
{
    static size_t size[] = { 300, 20 };
    for (size_t i = 0; i < 2; i++) {
        ad_real *x = numbers(size[i]);
        const ad_c_options o = { .functions = ADREV_C_VALUE };
        ad_c_size found[ADREV_C_COUNT];
        ad_fn *fn;
        CHECK(ad_fn_record(&fn, rosenbrock, &size[i], size[i], x, 1)
              == ADREV_OK, "recorded");
        CHECK(ad_fn_c_size(fn, &o, found, NULL) == ADREV_OK, "measured");
        CHECK(found[0].loops == 1 - i, "%zu loops in %zu", found[0].loops,
              size[i]);
        ad_fn_free(fn);
        free(x);
    }
}

// The guard that a point does not pass is named, wherever it is in a loop.
static void limits(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t n = *(const size_t *)ctx;
    ad_rev s = { 0 };
    for (size_t i = 0; i < n; i++)
        ad_acc(&s, ad_sqr(ad_select(ad_lt(x[i], 10), x[i], 10)));
    y[0] = s;
}

static void test_guards(void)
{
    static size_t n = 300;
    program p = { .name = "limits", .f = limits, .ctx = &n, .n = n, .m = 1,
                  .functions = ADREV_C_VALUE };
    size_t room;
    char path[200];
    begin_file();
    write_program(&p);
    end_file(&p, 1);
    CHECK(2 * p.bytes < p.unrolled, "loops: %zu of %zu bytes", p.bytes,
          p.unrolled);
    compile("gcc", "-O1", &p, 1);
    snprintf(path, sizeof path, "%s/code.so", top);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!CHECK(library != NULL, "%s", dlerror()))
        return;
    void *symbol = find(library, &p, "value", &room);
    ad_real *work = numbers(room);
    arrays a = { p.x, NULL, NULL, numbers(1), NULL };
    static const size_t at[] = { 0, 1, 150, 298, 299 };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        const ad_real was = p.x[at[i]];
        p.x[at[i]] = 11;
        CHECK(call(symbol, &a, 0, work) == (int)at[i] + 1, "guard %zu", at[i]);
        p.x[at[i]] = was;
    }
    dlclose(library);
    free(work);
    free(a.got);
    ad_fn_free(p.fn);
    free(p.x);
}

int main(int argc, char **argv)
{
    if (mkdtemp(top) == NULL)
        return 2;
    test_random(argc > 1 ? strtoul(argv[1], NULL, 10) : USUAL);
    test_as_before();
    test_memory(false);
    test_memory(true);
    test_count();
    test_loops();
    test_guards();
    test_small();
    test_large();
    (void)shell("rm -r %s", top);
    return check_done("rolled");
}
