// SPDX-License-Identifier: MIT-0
// tags: formulas last-bits
/* entries.c - lists of points, points that joins find, numbers on entries.
 *
 *     entries                  some texts, and four hundred random conditions
 *     entries 10000 77         as many of them, from a seed on
 *
 * Random conditions with exists, relations, maps and `|` are true where they
 * are for a few lines of C here. Loops over a list, and values that are stored
 * on entries, give the bits of the loops over whole arrays, and take as many
 * operations. Then loops try no more values than a few times their points, and
 * memory has no more numbers, for any size; lists do not grow beyond their
 * limit; every allocation fails in turn.                                    */

#include <stdint.h>

static uint64_t entries_least, entries_most, stored_least;  // of the library
#define ADX_ENTRIES_LEAST entries_least
#define ADX_ENTRIES_MOST  entries_most
#define ADX_STORED_LEAST  stored_least

#define ADREV_IMPLEMENTATION
#include "adrev_tensor.h"
#include "check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { N = 7, M = 5, INPUTS = 4, OUTS = 2, NUMBERS = 4000, RANDOM = 400 };

static const uint64_t PLENTY = (uint64_t)1 << 26;

/* --- random conditions ---------------------------------------------------- */

enum { INDICES = 6, DEEP = 3 };

typedef struct drawing {
    uint64_t state;
    char text[2000];
    int indices;                // that are bound: i, j, and those of exists
} drawing;

static unsigned draw(drawing *d, unsigned below)
{
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(d->state >> 33) % below;
}

// A text is written and a tree is kept. kind: '<' '=' '!' of a form and 0, 'R'
// 'S' of relations, 'E' exists, '&' and '|'.
typedef struct condition {
    char kind;
    int k[INDICES], c, map;     // map: index whose map is added; -1: none
    int of[2], shift;           // of relations
    int index, range;           // of exists
    struct condition *part[3];
    int parts;
} condition;

static condition pool[200];
static int pooled;
static bool in_R[N][N], in_S[N][M];
static int map_g[N];

static const char *const index_name[INDICES] = { "i", "j", "a", "b", "c", "d" };

static void say(drawing *d, const char *format, ...) CHECK_PRINTF(2, 3);

static void say(drawing *d, const char *format, ...)
{
    size_t n = strlen(d->text);
    va_list args;
    va_start(args, format);
    vsnprintf(d->text + n, sizeof d->text - n, format, args);
    va_end(args);
}

static condition *draw_condition(drawing *d, int deep);

static void draw_comparison(drawing *d, condition *c)
{
    static const char kinds[] = "<==!";
    c->kind = kinds[draw(d, 4)];
    c->map = draw(d, 4) == 0 ? 0 : -1;          // g[i]
    c->c = (int)draw(d, 7) - 3;
    say(d, "%d", c->c);
    for (int i = 0; i < d->indices; i++) {
        c->k[i] = draw(d, 2) ? (int)draw(d, 7) - 3 : 0;
        if (c->k[i] != 0)
            say(d, "%+d*%s", c->k[i], index_name[i]);
    }
    say(d, c->map == 0 ? "+g[i] %s 0" : " %s 0", c->kind == '<' ? "<"
                          : c->kind == '=' ? "==" : "!=");
}

static void draw_member(drawing *d, condition *c)
{
    c->kind = draw(d, 2) ? 'R' : 'S';
    c->shift = (int)draw(d, 3) - 1;
    for (int i = 0; i < 2; i++)
        c->of[i] = (int)draw(d, (unsigned)d->indices);
    say(d, "%c(%s,%s%+d)", c->kind, index_name[c->of[0]], index_name[c->of[1]],
        c->shift);
}

static void draw_exists(drawing *d, condition *c, int deep)
{
    c->kind = 'E';
    c->index = d->indices++;
    c->range = 1 + (int)draw(d, N);
    say(d, "exists(%s<%d: ", index_name[c->index], c->range);
    c->part[0] = draw_condition(d, deep + 1);
    d->indices--;
    say(d, ")");
}

static condition *draw_part(drawing *d, int deep)
{
    condition *c = &pool[pooled++];
    memset(c, 0, sizeof *c);
    unsigned which = draw(d, 8);
    if (which < 3 && deep < DEEP && d->indices < INDICES)
        draw_exists(d, c, deep);
    else if (which < 6)
        draw_member(d, c);
    else
        draw_comparison(d, c);
    return c;
}

static condition *draw_condition(drawing *d, int deep)
{
    condition *any = &pool[pooled++];
    memset(any, 0, sizeof *any);
    any->kind = '|';
    any->parts = 1 + (int)draw(d, deep == 0 ? 3 : 2);
    for (int i = 0; i < any->parts; i++) {
        condition *all = any->part[i] = &pool[pooled++];
        memset(all, 0, sizeof *all);
        all->kind = '&';
        all->parts = 1 + (int)draw(d, 2);
        for (int j = 0; j < all->parts; j++) {
            say(d, j > 0 ? ", " : i > 0 ? " | " : "");
            all->part[j] = draw_part(d, deep);
        }
    }
    return any;
}

static bool is_true(const condition *c, int x[])
{
    int v = c->c + (c->map == 0 && strchr("<=!", c->kind) ? map_g[x[0]] : 0);
    bool any = c->kind == '|';
    if (any || c->kind == '&') {
        for (int i = 0; i < c->parts; i++)
            if (is_true(c->part[i], x) == any)
                return any;
        return !any;
    }
    if (c->kind == 'E') {
        for (x[c->index] = 0; x[c->index] < c->range; x[c->index]++)
            if (is_true(c->part[0], x))
                return true;
        return false;
    }
    int row = x[c->of[0]];
    int column = x[c->of[1]] + c->shift;
    if (c->kind == 'R' || c->kind == 'S')
        return column >= 0 && row < N && column < (c->kind == 'R' ? N : M)
            && (c->kind == 'R' ? in_R[row][column] : in_S[row][column]);
    for (int i = 0; i < INDICES; i++)
        v += c->k[i] == 0 ? 0 : c->k[i] * x[i];
    return c->kind == '<' ? v < 0 : c->kind == '=' ? v == 0 : v != 0;
}

/* --- texts that are bound ------------------------------------------------- */

static int column[4][16 * NUMBERS];
static ad_real given[3][INPUTS][NUMBERS];
static ad_real got[2][4][INPUTS][NUMBERS];

static void fill(void)
{
    uint32_t state = 1;
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < INPUTS; i++)
            for (int j = 0; j < NUMBERS; j++) {
                state = state * 1664525u + 1013904223u;
                given[p][i][j] = (ad_real)((double)state / 4294967296.0
                                           + 0.25);
            }
}

// Entries e of R and S, in no order; what a text has not is not given.
static void give(ad_tensor *t, size_t n, size_t entries)
{
    const int *const R[] = { column[0], column[1] };
    const int *const S[] = { column[2], column[3] };
    ad_tensor_size(t, "n", n);
    ad_tensor_size(t, "m", n);
    ad_tensor_map(t, "g", column[0]);
    ad_tensor_relation(t, "R", entries, R);
    ad_tensor_relation(t, "S", entries, S);
}

static ad_tensor *made(const char *text, const ad_allocator *memory)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 0 };
    const ad_tensor_options o = { .allocator = memory };
    CHECK(ad_tensor_new(&t, text, &o, &e) == ADREV_OK, "%s: %s", text, e.text);
    return t;
}

static void run(ad_tensor *t, int which)
{
    const ad_real *in[3][INPUTS];
    ad_real *out[4][INPUTS];
    memset(got[which], 0, sizeof got[which]);
    for (int i = 0; i < INPUTS; i++) {
        for (int p = 0; p < 3; p++)
            in[p][i] = given[p][i];
        for (int p = 0; p < 4; p++)
            out[p][i] = got[which][p][i];
    }
    CHECK(ad_tensor_jvp(t, in[0], in[1], out[0], out[1]) == ADREV_OK
              && ad_tensor_vjp(t, in[0], in[2], NULL, out[2]) == ADREV_OK
              && ad_tensor_hvp(t, in[0], in[2], in[1], out[3]) == ADREV_OK,
          "not evaluated");
}

static uint64_t operations(ad_tensor *t, ad_tensor_part part)
{
    ad_tensor_cost c = { 0 };
    CHECK(ad_tensor_count(t, part, NULL, &c) == ADREV_OK, "count");
    return c.add * 1000003 + c.mul * 1009 + c.fn;
}

// How many terms run over lists.
static int listed(const ad_tensor *t)
{
    const adx_tensor_program *p = t->program;
    int n = 0;
    for (uint32_t i = 1; i < p->values; i++)
        for (uint32_t j = 0; j < p->value[i].terms; j++) {
            const adx_loop *l = p->value[i].term[j].loop;
            n += l != NULL && l->nest != l->found_by;
        }
    return n;
}

// Both ways: the same bits, and the same operations.
static void compare(const char *what, ad_tensor *lists, ad_tensor *loops)
{
    run(lists, 0);
    run(loops, 1);
    CHECK(memcmp(got[0], got[1], sizeof got[0]) == 0, "%s: other bits", what);
    for (int p = 0; p < 4; p++)
        CHECK(operations(lists, (ad_tensor_part)p)
                  == operations(loops, (ad_tensor_part)p),
              "%s: other operations of part %d", what, p);
}

/* --- conditions ----------------------------------------------------------- */

static void draw_relations(drawing *d, ad_tensor *t)
{
    int at[4][N * N];
    size_t n[2] = { 0, 0 };
    for (int q = 0; q < N * N; q++) {
        int i = q * 5 % (N * N) / N;
        int j = q * 5 % N;
        in_R[i][j] = draw(d, 4) == 0;
        if (in_R[i][j]) {
            at[0][n[0]] = i;
            at[1][n[0]++] = j;
        }
        if (j >= M)
            continue;
        in_S[i][j] = draw(d, 3) == 0;
        if (in_S[i][j]) {
            at[2][n[1]] = i;
            at[3][n[1]++] = j;
        }
    }
    for (int i = 0; i < N; i++)
        map_g[i] = (int)draw(d, M);
    const int *const R[] = { at[0], at[1] }, *const S[] = { at[2], at[3] };
    CHECK(ad_tensor_size(t, "n", N) == ADREV_OK
              && ad_tensor_size(t, "m", M) == ADREV_OK
              && ad_tensor_map(t, "g", map_g) == ADREV_OK
              && ad_tensor_relation(t, "R", n[0], R) == ADREV_OK
              && ad_tensor_relation(t, "S", n[1], S) == ADREV_OK, "given");
}

static void check_condition(uint64_t seed)
{
    drawing d = { .state = seed * 77 + 5, .indices = 2 };
    ad_tensor *t[2];
    ad_tensor_error e = { 0 };
    say(&d, "rel R[n,n], S[n,m]; map g[n]->m; in x[n], z[m], q;"
            " out y[i<n,j<m] = [");
    pooled = 0;
    const condition *c = draw_condition(&d, 0);
    say(&d, "] x[i]*z[j]; p[i<n] = sum(j<m) y[i,j]*q; out f = sum(i) exp(p[i]);"
            " out u[j] = sum(i) y[i,j]*exp(x[i]);");
    uint64_t after = d.state;
    for (int k = 0; k < 2; k++) {
        entries_least = k == 0 ? 0 : UINT64_MAX;
        stored_least = k == 0 ? 1 : UINT64_MAX;
        d.state = after;
        t[k] = made(d.text, NULL);
        if (t[k] == NULL)
            return;
        draw_relations(&d, t[k]);
        CHECK(ad_tensor_bind(t[k], &e) == ADREV_OK, "%s: %s", d.text, e.text);
    }
    compare(d.text, t[0], t[1]);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++) {
            int x[INDICES] = { i, j };
            CHECK((got[0][0][0][i * M + j] != 0) == is_true(c, x),
                  "%" PRIu64 ": %s: at %d, %d", seed, d.text, i, j);
        }
    ad_tensor_free(t[0]);
    ad_tensor_free(t[1]);
}

// A map that is asked outside of its range in exists: that is not true.
static void check_outside(void)
{
    ad_tensor *t = made("map g[n]->n; in x[n];"
                        "out y[i<n] = [exists(a<n: g[a+1] == i)] x[i];", NULL);
    const ad_real x[] = { 1, 2, 3, 4 }, *in[] = { x };
    ad_real y[4], *out[] = { y };
    const int g[] = { 0, 2, 2, 1 };
    CHECK(ad_tensor_size(t, "n", 4) == ADREV_OK
              && ad_tensor_map(t, "g", g) == ADREV_OK
              && ad_tensor_eval(t, in, out) == ADREV_OK, "outside");
    CHECK(y[0] == 0 && y[1] == 2 && y[2] == 3 && y[3] == 0, "%g %g %g %g",
          (double)y[0], (double)y[1], (double)y[2], (double)y[3]);
    ad_tensor_free(t);
}

/* --- lists ---------------------------------------------------------------- */

static const char *const texts[] = {
    "rel R[n,n]; in h[n], x[n]; p[i<n,j<n] = [R(i,j)] exp(h[i]*h[j]);"
    " out y[i] = sum(j) p[i,j]*x[j];",
    "rel R[n,n], S[n,n]; in h[n], x[n];"
    " out y[i<n] = sum(j: exists(b: R(i,b), S(b,j))) x[j]*h[i];",
    "in h[n], x[n]; out y[i<n] = sum(j<n: exists(k<n: i == j + 7*k)) x[j]*h[i];",
    "in h[n], x[n]; p[i<n,j<n] = [i==j | i==j+1 | i==j-2 | i==j+3]"
    " exp(h[i]*h[j]); out y[i] = sum(j) p[i,j]*x[j];",
    "rel R[n,n]; in h[n], x[n]; out f = sum(i,j: R(i,j), 9*i < j) h[i]*x[j];",
    // loops in front of the list, and behind it
    "rel R[n,n]; in h[n], x[n], z[3]; p[i<n,j<n] = [R(i,j)] h[i];"
    " out f = sum(k<3,i,j) p[i,j]*x[j]*z[k]; out y[i] = sum(j) p[i,j]*z[1];",
    "rel R[n,n]; in h[n], x[n]; p[i<n,j<n] = [R(i,j)] h[i];"
    " out y[i,k<12] = sum(j) p[i,j]*x[j]*h[k];",
    // a strip behind that is empty more often than not
    "in h[n], x[n]; out f = sum(i<n,j<n: 0 <= 7*j-5*i < 1) h[i]*x[j];",
    // no point at all
    "rel R[n,n]; in h[n], x[n];"
    " out y[i<n] = sum(j: exists(b<n: R(i,b), 2*b == 2*j+1)) h[i]*x[j];",
    // a maximum: the first of the points
    // stored on entries, and read in other orders, twice at a point, and once
    // more than that
    "rel R[n,n]; in h[n], x[n]; p[i<n,j<n] = [R(i,j)] sin(h[i]*x[j]);"
    " out y[i] = sum(j) p[j,i]*x[j]; out f = sum(i,j) p[i,j]*p[i,j];"
    " out u[i<n] = sum(j) (p[i,j] + p[j,i])*h[j];",
    "rel R[n,n], S[n,n]; in h[n], x[n];"
    " p[i<n,j<n] = [R(i,j)] h[i]*x[j] + [S(i,j), i < 40] exp(x[i]);"
    " out y[i] = sum(j: S(i,j)) p[i,j]*x[j]; out u[j] = sum(i) exp(p[i,j]);",
    "rel R[n,n]; in h[n], x[n]; p[i<n,j<n] = [R(i,j), j < 3*i] h[i];"
    " q[i,j] = p[i,j]*p[i,j]; out f = sum(i,j) q[i,j]*x[i]*q[i,j];",
    // read where they are not written; compared with the largest
    "rel R[n,n], S[n,n]; in h[n], x[n]; p[i<n,j<n] = [R(i,j)] h[i]*x[j];"
    " out f = sum(i,j: S(i,j)) exp(p[i,j]); out y[i] = sum(j) p[i,j];"
    " out u[j<n] = sum(i<n: exists(k: R(i,k), S(k,j))) x[i];",
    "rel R[n,n]; in h[n], x[n]; p[i<n,j<n] = [R(i,j)] sin(h[i]*x[j]);"
    " out y[i] = maximum(j: R(i,j)) p[i,j]; out f = sum(i,j) p[i,j]*x[i]*x[j];"
    " out u[j<n] = sum(i<n: exists(k<n: R(i,k), k == j)) x[i];",
    "rel R[n,n]; in h[n], x[n]; p[i<n,j<n] = [R(i,j)] h[i];"
    " out y[i] = maximum(j: exists(a<n: R(i,a), a == j)) h[j];"
    " out f = sum(i,j) p[i,j]^2;",
};

enum { TEXTS = sizeof texts / sizeof texts[0] };

// Four entries in a row of R and of S, the last rows first; n is no multiple of
// 3 or 5.
static size_t give_band(size_t n)
{
    size_t e = 0;
    for (size_t i = n; i-- > 0;)
        for (size_t k = 0; k < 4; k++, e++) {
            column[0][e] = (int)i;
            column[1][e] = (int)((i + k * k) % n);
            column[2][e] = (int)((i * 3 + 1) % n);
            column[3][e] = (int)((i + 5 * k) % n);
        }
    return e;
}

static ad_tensor *bound(const char *text, size_t n, uint64_t least)
{
    ad_tensor *t = made(text, NULL);
    ad_tensor_error e = { 0 };
    entries_least = least;
    stored_least = least == UINT64_MAX ? UINT64_MAX : 16;
    give(t, n, give_band(n));
    CHECK(ad_tensor_bind(t, &e) == ADREV_OK, "%s: %s", text, e.text);
    return t;
}

static void check_texts(void)
{
    for (int i = 0; i < TEXTS; i++) {
        ad_tensor *lists = bound(texts[i], 61, 0);
        ad_tensor *loops = bound(texts[i], 61, UINT64_MAX);
        CHECK(listed(lists) > 0 && listed(loops) == 0, "%s: %d and %d lists",
              texts[i], listed(lists), listed(loops));
        compare(texts[i], lists, loops);
        ad_tensor_free(lists);
        ad_tensor_free(loops);
    }
}

/* --- how many values are tried -------------------------------------------- */

typedef struct tally {
    uint64_t tries, points;
} tally;

static tally count_tries(const ad_tensor *t)
{
    static int64_t x[100];
    static adx_nest_level room[20];
    const adx_tensor_program *p = t->program;
    tally sum = { 0, 0 };
    for (uint32_t i = 1; i < p->values; i++)
        for (uint32_t j = 0; j < p->value[i].terms; j++) {
            const adx_loop *l = p->value[i].term[j].loop;
            if (l == NULL || l->nest->empty)
                continue;
            const adx_entry_list all = { .nest = l->nest,
                                         .levels = l->nest->levels };
            sum.tries += adx_count_tries(&all, x, room);
            sum.points += adx_points_of_term(&p->value[i].term[j], x);
        }
    return sum;
}

static void check_tries(void)
{
    for (int i = 0; i < 4; i++) {
        double each[2];
        for (int big = 0; big < 2; big++) {
            ad_tensor *t = bound(texts[i], big ? 502 : 101, 64);
            tally n = count_tries(t);
            each[big] = (double)n.tries / (double)n.points;
            CHECK(n.points > 0 && each[big] < 4, "%s: %.1f values a point",
                  texts[i], each[big]);
            ad_tensor_free(t);
        }
        CHECK(each[1] < 1.5 * each[0], "%s: %.1f and %.1f values a point",
              texts[i], each[0], each[1]);
    }
    ad_tensor *t = bound(texts[0], 502, UINT64_MAX);
    tally n = count_tries(t);
    CHECK(n.tries > 20 * n.points, "without lists, %.1f values a point",
          (double)n.tries / (double)n.points);
    ad_tensor_free(t);
}

// Points that are found by trial would take minutes here, and more.
static void check_large_joins(void)
{
    ad_tensor *t = bound(texts[1], 2999, 64);
    CHECK(count_tries(t).points > 0, "no points");
    ad_tensor_free(t);
}

/* --- memory --------------------------------------------------------------- */

// Which texts have values on entries, and how many numbers there are for each
// index: as many for any size.
static void check_storage(void)
{
    static const struct { int text; bool all; } stored[] = {
        { 0, true }, { 3, true }, { 5, true }, { 9, true }, { 11, true },
        { 10, false }
    };
    for (size_t i = 0; i < sizeof stored / sizeof *stored; i++)
        for (int part = 0; part < 4; part++) {
            const char *text = texts[stored[i].text];
            double each[2];
            for (int big = 0; big < 2; big++) {
                ad_tensor_cost c = { 0 };
                size_t n = big ? 502 : 101;
                ad_tensor *t = bound(text, n, 64);
                CHECK(ad_tensor_count(t, (ad_tensor_part)part, NULL, &c)
                          == ADREV_OK, "count");
                each[big] = (double)c.work / (double)sizeof(ad_real)
                          / (double)n;
                ad_tensor_free(t);
            }
            CHECK(!stored[i].all || each[1] < 1.2 * each[0] + 1,
                  "%s: %g and %g numbers for an index, part %d", text, each[0],
                  each[1], part);
            CHECK(stored[i].all || part > 0 || each[1] > 400,
                  "%s: %g numbers for an index", text, each[1]);
        }
}

static void check_limit(void)
{
    entries_most = 300;
    ad_tensor *few = bound(texts[0], 61, 0);
    CHECK(few->program->entry_numbers <= 300, "%" PRIu64 " numbers",
          few->program->entry_numbers);
    entries_most = PLENTY;
    ad_tensor *all = bound(texts[0], 61, 0);
    CHECK(listed(few) < listed(all), "lists: %d and %d", listed(few),
          listed(all));
    compare("a limit", few, all);
    ad_tensor_free(few);
    ad_tensor_free(all);
}

static long left;

static void *some_alloc(size_t bytes, void *user)
{
    (void)user;
    return left-- <= 0 ? NULL : malloc(bytes);
}

static void some_free(void *block, void *user)
{
    (void)user;
    free(block);
}

static void check_failures(void)
{
    const ad_allocator memory = { some_alloc, some_free, NULL };
    ad_status s = ADREV_ENOMEM;
    entries_least = 0;
    for (long n = 0; s != ADREV_OK && n < 2000; n++) {
        ad_tensor *t = NULL;
        left = 1000000;
        t = made(texts[1], &memory);
        give(t, 61, give_band(61));
        left = n;
        s = ad_tensor_bind(t, NULL);
        CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "%s", ad_message(s));
        left = 1000000;
        CHECK(ad_tensor_bind(t, NULL) == ADREV_OK, "after %ld", n);
        ad_tensor_free(t);
    }
    CHECK(s == ADREV_OK, "never enough");
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : RANDOM / ONE_IN(4);
    uint64_t from = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    entries_most = PLENTY;
    fill();
    for (long i = 0; i < n; i++)
        check_condition(from + (uint64_t)i);
    check_outside();
    check_texts();
    check_tries();
    check_large_joins();
    check_storage();
    check_limit();
    check_failures();
    return check_done("entries");
}
