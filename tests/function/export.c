// SPDX-License-Identifier: MIT-0
// tags: recorded
/* export.c - sparse matrices in the forms of solvers.
 *
 * Random functions, every layout. What an export says is spread over a dense
 * matrix and compared with ad_fn_jacobian and ad_fn_hessian, which use neither
 * patterns nor exports for functions as small as these; that it is sorted, has
 * no entry twice and no other entries is looked at in the pattern itself. The
 * places in a solver's matrix are compared with a search through all of it.  */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "implementation.h"
#include "adrev_function.h"

#include "check.h"
#include "heap.h"

#define UNTOUCHED ((ad_real)-12345.5)

enum { MOST = 9, TERMS = 14, CELLS = 4 * MOST * MOST + 8 };

static uint64_t state = 88172645463325252u;

static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 20) % n;
}

/* --- memory that runs out ------------------------------------------------- */

static heap counted;
static const ad_allocator memory = { heap_alloc, heap_free, &counted };

/* --- functions ------------------------------------------------------------ */

// y[out] += c x[a] x[b], or sin(x[a]).
typedef struct term {
    size_t out, a, b;
    bool product;
} term;

typedef struct problem {
    size_t n, m, terms;
    term term[TERMS];
} problem;

static problem random_problem(void)
{
    problem p = { 1 + below(MOST), 1 + below(MOST), below(TERMS), { { 0 } } };
    for (size_t i = 0; i < p.terms; i++)
        p.term[i] = (term){ below(p.m), below(p.n), below(p.n), below(3) > 0 };
    return p;
}

static void f(const ad_rev *x, ad_rev *y, void *ctx)
{
    const problem *p = ctx;
    for (size_t i = 0; i < p->m; i++)
        y[i] = ad_rec(1);
    for (size_t i = 0; i < p->terms; i++) {
        const term *t = &p->term[i];
        y[t->out] = t->product
            ? ad_rec(ad_add(y[t->out], ad_mul(ad_mul(x[t->a], x[t->b]), 1.5)))
            : ad_rec(ad_add(y[t->out], ad_sin(x[t->a])));
    }
}

// A function with its matrices.
typedef struct subject {
    ad_fn *fn;
    bool hessian;
    size_t rows, columns;
    ad_real x[MOST], w[MOST];
    ad_real dense[MOST * MOST];
    bool there[MOST * MOST];    // of the pattern; both triangles
} subject;

static void begin_subject(subject *s, problem *p, bool hessian)
{
    const ad_fn_options o = { .allocator = &memory, .once = true };
    size_t row[MOST * MOST], column[MOST * MOST];
    ad_sparsity about = {0};
    *s = (subject){ .hessian = hessian, .rows = hessian ? p->n : p->m,
                    .columns = p->n };
    for (size_t i = 0; i < MOST; i++) {
        s->x[i] = (ad_real)(1 + (double)below(1000) / 500);
        s->w[i] = (ad_real)(1 + (double)below(1000) / 500);
    }
    CHECK(ad_fn_record_with(&s->fn, &o, f, p, p->n, s->x, p->m) == ADREV_OK,
          "record");
    ad_status a = hessian ? ad_fn_hessian(s->fn, s->x, s->w, s->dense)
                          : ad_fn_jacobian(s->fn, s->x, s->dense);
    ad_status b = hessian
        ? ad_fn_hessian_pattern(s->fn, &about, NULL, row, column)
        : ad_fn_jacobian_pattern(s->fn, &about, NULL, row, column);
    CHECK(a == ADREV_OK && b == ADREV_OK, "%s, %s", ad_message(a),
          ad_message(b));
    for (size_t k = 0; k < about.nonzeros; k++) {
        s->there[row[k] * s->columns + column[k]] = true;
        if (hessian)
            s->there[column[k] * s->columns + row[k]] = true;
    }
}

static ad_status values(const subject *s, ad_export *e, ad_real value[])
{
    return s->hessian ? ad_fn_hessian_values(s->fn, s->x, s->w, e, value)
                      : ad_fn_jacobian_values(s->fn, s->x, e, value);
}

static ad_status export_of(const subject *s, const ad_layout *l, ad_export **e)
{
    return s->hessian ? ad_fn_hessian_export(s->fn, l, e)
                      : ad_fn_jacobian_export(s->fn, l, e);
}

/* --- what an export says -------------------------------------------------- */

// Indices of 32 or 64 bits, from the base on.
typedef union indices {
    int32_t narrow[CELLS];
    int64_t wide[CELLS];
} indices;

static size_t at(const ad_layout *l, const indices *v, size_t k)
{
    return (size_t)((l->width == 64 ? v->wide[k] : v->narrow[k])
                    - (int64_t)l->base);
}

static void set(const ad_layout *l, indices *v, size_t k, size_t to)
{
    if (l->width == 64)
        v->wide[k] = (int64_t)(to + l->base);
    else
        v->narrow[k] = (int32_t)(to + l->base);
}

// Whether the export has to have an entry there.
static bool wanted(const subject *s, const ad_layout *l, size_t i, size_t j)
{
    bool inside = !s->hessian || l->triangle == ADREV_BOTH
               || (l->triangle == ADREV_LOWER ? i >= j : i <= j);
    size_t cell = l->transposed ? j * s->columns + i : i * s->columns + j;
    return inside && (s->there[cell] || (l->diagonal && i == j));
}

static ad_real entry(const subject *s, const ad_layout *l, size_t i, size_t j)
{
    return s->dense[l->transposed ? j * s->columns + i : i * s->columns + j];
}

static void check_entries(const subject *s, const ad_layout *l,
                          const ad_export *e, indices *row, indices *column)
{
    static indices start;
    size_t rows, columns, wants = 0, from, to;
    size_t n = ad_export_entries(e, &rows, &columns);
    bool by_columns = l->form == ADREV_CSC;
    CHECK(rows == (l->transposed ? s->columns : s->rows)
          && columns == (l->transposed ? s->rows : s->columns), "%zu x %zu",
          rows, columns);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            wants += wanted(s, l, i, j);
    CHECK(n == wants, "%zu entries, not %zu", n, wants);
    CHECK(ad_export_pattern(e, &start, row, column) == ADREV_OK, "pattern");
    const indices *line = by_columns ? column : row;
    const indices *across = by_columns ? row : column;
    for (size_t k = 0; k < n; k++) {
        size_t i = at(l, row, k), j = at(l, column, k);
        if (!CHECK(i < rows && j < columns && wanted(s, l, i, j),
                   "entry %zu, %zu", i, j))
            return;
        from = at(l, &start, at(l, line, k));
        to = at(l, &start, at(l, line, k) + 1);
        CHECK(k >= from && k < to, "entry %zu of %zu to %zu", k, from, to);
        CHECK(k == from || at(l, across, k) > at(l, across, k - 1), "sorted");
    }
    CHECK(at(l, &start, 0) == 0
          && at(l, &start, by_columns ? columns : rows) == n, "start");
    CHECK(ad_export_pattern(e, NULL, NULL, NULL) == ADREV_OK, "none wanted");
}

// Values are those of the dense matrix, added or not, and nothing else is
// written.
static void check_values(const subject *s, const ad_layout *l, ad_export *e,
                         const indices *row, const indices *column)
{
    ad_real value[CELLS];
    size_t n = ad_export_entries(e, NULL, NULL);
    for (size_t k = 0; k < CELLS; k++)
        value[k] = l->adds ? 3 : UNTOUCHED;
    CHECK(values(s, e, value) == ADREV_OK, "values");
    for (size_t k = 0; k < n; k++)
        CHECK_CLOSE(value[k], entry(s, l, at(l, row, k), at(l, column, k))
                              + (l->adds ? 3 : 0), 8);
    for (size_t k = n; k < CELLS; k++)
        CHECK(value[k] == (l->adds ? 3 : UNTOUCHED), "beyond the end");
}

/* --- the matrix of a solver ----------------------------------------------- */

// Shuffles entries of triplets, or those of each line.
static void shuffle(const ad_layout *l, indices *a, indices *b, size_t from,
                    size_t to)
{
    for (size_t k = from; k + 1 < to; k++) {
        size_t other = k + below(to - k);
        size_t i = at(l, a, k), j = at(l, b, k);
        set(l, a, k, at(l, a, other));
        set(l, b, k, at(l, b, other));
        set(l, a, other, i);
        set(l, b, other, j);
    }
}

// A larger matrix that has all entries of the export, and others, some twice.
typedef struct larger {
    ad_matrix m;
    indices start, row, column;
} larger;

static void make_larger(const subject *s, const ad_layout *l, larger *b,
                        size_t leave_out)
{
    size_t rows = l->transposed ? s->columns : s->rows;
    size_t columns = l->transposed ? s->rows : s->columns;
    bool by_columns = l->form == ADREV_CSC;
    b->m = (ad_matrix){ rows + below(4), columns + below(4), 0, NULL, &b->row,
                        &b->column, 0, 0 };
    b->m.at_row = below(b->m.rows - rows + 1);
    b->m.at_column = below(b->m.columns - columns + 1);
    size_t lines = by_columns ? b->m.columns : b->m.rows;
    size_t across = by_columns ? b->m.rows : b->m.columns;
    size_t n = 0, seen = 0;
    for (size_t i = 0; i < lines; i++) {
        size_t first = n;
        set(l, &b->start, i, n);
        for (size_t j = 0; j < across; j++) {
            size_t r = (by_columns ? j : i) - b->m.at_row;
            size_t c = (by_columns ? i : j) - b->m.at_column;
            bool ours = r < rows && c < columns && wanted(s, l, r, c);
            size_t copies = ours ? 1 + (below(6) == 0) : below(3) == 0;
            if (ours && seen++ == leave_out)
                copies = 0;
            for (; copies > 0 && n < CELLS - 1; copies--, n++) {
                set(l, &b->row, n, by_columns ? j : i);
                set(l, &b->column, n, by_columns ? i : j);
            }
        }
        shuffle(l, &b->row, &b->column, first, n);
    }
    set(l, &b->start, lines, n);
    b->m.entries = n;
    if (l->form == ADREV_TRIPLETS)
        shuffle(l, &b->row, &b->column, 0, n);
    else {
        b->m.start = &b->start;
        *(by_columns ? &b->m.column : &b->m.row) = NULL;
    }
}

// Whether entry k of the larger matrix is the first one at its row and column.
static bool is_first(const ad_layout *l, const larger *b, size_t k)
{
    for (size_t i = 0; i < k; i++)
        if (at(l, &b->row, i) == at(l, &b->row, k)
            && at(l, &b->column, i) == at(l, &b->column, k))
            return false;
    return true;
}

static void check_into(const subject *s, const ad_layout *l, ad_export *e)
{
    static larger b;
    ad_real value[CELLS];
    size_t missing[2] = { 77, 77 };
    size_t rows, columns;
    size_t n = ad_export_entries(e, &rows, &columns);
    make_larger(s, l, &b, SIZE_MAX);
    CHECK(ad_export_into(e, &b.m, missing) == ADREV_OK && missing[0] == 77,
          "into");
    for (size_t k = 0; k < CELLS; k++)
        value[k] = l->adds ? 3 : UNTOUCHED;
    CHECK(values(s, e, value) == ADREV_OK, "values");
    for (size_t k = 0; k < CELLS; k++) {
        size_t i = at(l, &b.row, k) - b.m.at_row;
        size_t j = at(l, &b.column, k) - b.m.at_column;
        bool ours = k < b.m.entries && i < rows && j < columns
                 && wanted(s, l, i, j) && is_first(l, &b, k);
        if (ours)
            CHECK_CLOSE(value[k], entry(s, l, i, j) + (l->adds ? 3 : 0), 8);
        else
            CHECK(value[k] == (l->adds ? 3 : UNTOUCHED), "not ours: %zu", k);
    }
    if (n == 0)
        return;
    static larger c;
    make_larger(s, l, &c, below(n));
    CHECK(ad_export_into(e, &c.m, missing) == ADREV_ESHAPE
          && missing[0] < rows && missing[1] < columns
          && wanted(s, l, missing[0], missing[1]), "one is missing");
    for (size_t k = 0; k < c.m.entries; k++)
        CHECK(at(l, &c.row, k) != missing[0] + c.m.at_row
              || at(l, &c.column, k) != missing[1] + c.m.at_column,
              "the one that is missing is there");
    ad_real again[CELLS];
    for (size_t k = 0; k < CELLS; k++)
        again[k] = l->adds ? 3 : UNTOUCHED;
    CHECK(values(s, e, again) == ADREV_OK
          && memcmp(again, value, sizeof value) == 0, "as before");
}

/* --- all layouts ---------------------------------------------------------- */

static ad_layout layout_of(unsigned bits)
{
    return (ad_layout){
        .form = (ad_form)(bits % 3), .triangle = (ad_triangle)(bits / 3 % 3),
        .base = bits / 9 % 2, .width = bits / 18 % 2 ? 64 : bits / 9 % 2 ? 32
                                                                         : 0,
        .transposed = bits / 36 % 2, .diagonal = bits / 72 % 2,
        .adds = bits / 144 % 2
    };
}

static void check_layouts(problem *p, bool hessian, unsigned from, unsigned by)
{
    static indices row, column;
    subject s;
    begin_subject(&s, p, hessian);
    for (unsigned bits = from; bits < 288; bits += by) {
        ad_layout l = layout_of(bits);
        ad_export *e = NULL;
        if (!CHECK(export_of(&s, &l, &e) == ADREV_OK, "export"))
            continue;
        check_entries(&s, &l, e, &row, &column);
        check_values(&s, &l, e, &row, &column);
        check_into(&s, &l, e);
        ad_export_free(e);
    }
    ad_fn_free(s.fn);
    CHECK(counted.live == 0, "%zu blocks are left", counted.live);
}

/* --- what is wrong -------------------------------------------------------- */

#define EXPECT(call, want)                                                  \
    do {                                                                    \
        ad_status got_ = (call);                                            \
        CHECK(got_ == (want), "%s: %s", #call, ad_message(got_));           \
    } while (0)

static void check_wrong_layouts(const subject *s)
{
    const ad_layout wrong[] = {
        { .base = 2 }, { .width = 16 }, { .form = (ad_form)3 },
        { .triangle = (ad_triangle)3 }, { .form = (ad_form)-1 },
    };
    ad_export *e = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        EXPECT(ad_fn_hessian_export(s->fn, &wrong[i], &e), ADREV_ESHAPE);
        EXPECT(ad_fn_jacobian_export(s->fn, &wrong[i], &e), ADREV_ESHAPE);
        CHECK(e == NULL, "a wrong layout has made an export");
    }
    EXPECT(ad_fn_hessian_export(NULL, NULL, &e), ADREV_ESHAPE);
    EXPECT(ad_fn_hessian_export(s->fn, NULL, NULL), ADREV_ESHAPE);
    EXPECT(ad_export_pattern(NULL, NULL, NULL, NULL), ADREV_ESHAPE);
    CHECK(ad_export_entries(NULL, NULL, NULL) == 0, "of NULL");
    ad_export_free(NULL);
}

// Indices of the solver's matrix that are out of range, or not there.
static void check_wrong_matrices(const subject *s)
{
    const ad_layout l = { .form = ADREV_CSR, .base = 1 };
    const int32_t start[] = { 1, 3, 4 }, column[] = { 1, 2, 2 };
    const int32_t wrong[][3] = { { 0, 3, 4 }, { 1, 5, 4 }, { 1, 3, 5 },
                                 { 1, 0, 4 }, { 1, -7, 4 } };
    const int32_t outside[][3] = { { 1, 3, 2 }, { 0, 2, 2 }, { 1, 2, -1 } };
    ad_matrix m = { 2, 2, 3, start, NULL, column, 0, 0 };
    ad_real value[8] = {0};
    ad_export *e = NULL;
    EXPECT(ad_fn_jacobian_export(s->fn, &l, &e), ADREV_OK);
    EXPECT(ad_export_into(e, &m, NULL), ADREV_OK);
    EXPECT(ad_export_into(NULL, &m, NULL), ADREV_ESHAPE);
    EXPECT(ad_export_into(e, NULL, NULL), ADREV_ESHAPE);
    for (size_t i = 0; i < 5; i++) {
        m.start = wrong[i];
        EXPECT(ad_export_into(e, &m, NULL), ADREV_ESHAPE);
    }
    m.start = start;
    for (size_t i = 0; i < 3; i++) {
        m.column = outside[i];
        EXPECT(ad_export_into(e, &m, NULL), ADREV_ESHAPE);
    }
    m.column = NULL;
    EXPECT(ad_export_into(e, &m, NULL), ADREV_ESHAPE);
    m = (ad_matrix){ 2, 2, 3, NULL, NULL, column, 0, 0 };
    EXPECT(ad_export_into(e, &m, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_hessian_values(s->fn, s->x, s->w, e, value), ADREV_ESHAPE);
    EXPECT(ad_fn_jacobian_values(s->fn, NULL, e, value), ADREV_ESHAPE);
    EXPECT(ad_fn_jacobian_values(s->fn, s->x, NULL, value), ADREV_ESHAPE);
    EXPECT(ad_fn_jacobian_values(s->fn, s->x, e, NULL), ADREV_ESHAPE);
    EXPECT(ad_fn_jacobian_values(NULL, s->x, e, value), ADREV_ESHAPE);
    ad_export_free(e);
}

// y0 = x0 x1 where x0 < x1, y1 = x1.
static void guarded(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_lt(x[0], x[1]) ? ad_rec(ad_mul(x[0], x[1])) : x[0];
    y[1] = x[1];
}

static void check_wrong(void)
{
    const ad_real w[] = { 1, 1 }, there[] = { 3, 2 };
    const ad_layout l = { .form = ADREV_CSC, .triangle = ADREV_BOTH };
    subject s = { .x = { 1, 2 }, .w = { 1, 1 } };
    problem other = { 2, 2, 1, { { 0, 0, 1, true } } };
    ad_real value[3] = { UNTOUCHED, UNTOUCHED, UNTOUCHED };
    ad_export *e = NULL, *h = NULL;
    ad_fn *fn = NULL;
    EXPECT(ad_fn_record(&s.fn, guarded, NULL, 2, s.x, 2), ADREV_OK);
    check_wrong_layouts(&s);
    check_wrong_matrices(&s);
    EXPECT(ad_fn_jacobian_export(s.fn, &l, &e), ADREV_OK);
    EXPECT(ad_fn_hessian_export(s.fn, &l, &h), ADREV_OK);
    EXPECT(ad_fn_jacobian_values(s.fn, there, e, value), ADREV_EPATH);
    EXPECT(ad_fn_hessian_values(s.fn, there, w, h, value), ADREV_EPATH);
    EXPECT(ad_fn_hessian_values(s.fn, s.x, NULL, h, value), ADREV_ESHAPE);
    EXPECT(ad_fn_record(&fn, f, &other, 2, s.x, 2), ADREV_OK);
    EXPECT(ad_fn_jacobian_values(fn, s.x, e, value), ADREV_ESHAPE);
    CHECK(value[0] == UNTOUCHED && value[2] == UNTOUCHED, "written");
    ad_fn_free(s.fn);           // the export outlives it
    CHECK(ad_export_entries(e, NULL, NULL) == 3, "three entries");
    ad_export_free(e);
    ad_export_free(h);
    ad_fn_free(fn);
}

// Each allocation fails in turn: a status, no leak, and the next try succeeds.
static void check_memory(problem *p, bool hessian)
{
    static larger b;
    const ad_layout l = { .form = ADREV_CSC, .base = 1, .diagonal = true };
    subject s;
    begin_subject(&s, p, hessian);
    size_t before = counted.live;
    make_larger(&s, &l, &b, SIZE_MAX);
    for (size_t k = 1; k < 100; k++) {
        ad_real value[CELLS] = {0};
        ad_export *e = NULL;
        counted.allocations = 0;
        counted.failing = k;
        ad_status made = export_of(&s, &l, &e);
        ad_status into = made != ADREV_OK ? made
                       : ad_export_into(e, &b.m, NULL);
        ad_status done = into != ADREV_OK ? into : values(&s, e, value);
        bool ran_out = counted.allocations >= counted.failing;
        counted.failing = 0;
        CHECK(done == (ran_out ? ADREV_ENOMEM : ADREV_OK), "allocation %zu: %s",
              k, ad_message(done));
        CHECK(made == ADREV_OK || e == NULL, "an export is left");
        if (made == ADREV_OK)
            CHECK(values(&s, e, value) == ADREV_OK, "again");
        ad_export_free(e);
        if (!ran_out)
            break;
        CHECK(k < 99, "it never succeeds");
    }
    ad_fn_free(s.fn);
    CHECK(before > 0 && counted.live == 0, "%zu blocks are left", counted.live);
}

int main(void)
{
    problem full = { 3, 2, 4, { { 0, 0, 1, true }, { 1, 1, 2, true },
                                { 0, 0, 0, false }, { 1, 2, 2, true } } };
    for (int hessian = 0; hessian < 2; hessian++) {
        check_layouts(&full, hessian, 0, 1);
        check_memory(&full, hessian);
        for (unsigned i = 0; i < 60; i++) {
            problem p = random_problem();
            check_layouts(&p, hessian, i % 13, 13);
        }
    }
    check_wrong();
    return check_done("export");
}
