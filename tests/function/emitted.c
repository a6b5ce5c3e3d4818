// SPDX-License-Identifier: MIT-0
// tags: part
/* emitted.c - writes C code of recorded functions, and a driver that compares
 * what it computes with what the recordings yield. Run by emitted.sh:
 *
 *     emitted DIRECTORY
 *
 * writes code.c, code.h and driver.c, and prints how many checks of its own
 * passed and failed. Each row of ADREV_OPS is a function at a point of its
 * box; besides there are guards, arrays, sparse matrices, large functions in
 * parts, and the entry points that CasADi calls, called as it does.         */

#include <stdbool.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The C library as in a locale whose decimal point is a comma.
static double comma_strtod(const char *text, char **end)
{
    char whole[64];
    size_t n = strcspn(text, ".");
    n = n < sizeof whole ? n : sizeof whole - 1;
    memcpy(whole, text, n);
    whole[n] = '\0';
    double v = strtod(whole, end);
    if (end != NULL)
        *end = (char *)(uintptr_t)text + (*end - whole);
    return v;
}

#if defined __GNUC__ || defined __clang__
__attribute__((format(printf, 3, 4)))
#endif
static int comma_snprintf(char *to, size_t room, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(to, room, format, args);
    va_end(args);
    if (strchr(format, 'g') != NULL && strchr(to, '.') != NULL)
        *strchr(to, '.') = ',';
    return n;
}

#define strtod comma_strtod
#define snprintf comma_snprintf
#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#undef strtod
#undef snprintf

#include "check.h"
#include "heap.h"
#include "fronts.h"

enum { BIG = 9, CHAIN = 120, ALL = 1023, MODES = 10, SPARSE = 7,
       DENSE = 127, VECTORS = 31, CASADI = 1024 };

#define UNTOUCHED ((ad_real)-12345.5)
#define SINGLE    (sizeof(ad_real) == sizeof(float))

/* --- functions ------------------------------------------------------------ */

#define FRONT_select(name, x, y, z)  ad_select(p[0] != 0, y, z)
#define FRONT_integer(name, x, y, z) ad_##name(x, (int)p[1])
#define FRONT_order(name, x, y, z)   ad_##name((int)p[0], y)

#define DEFINE(name, n, ...)                                                \
    static void row_##name(const ad_rev *x, ad_rev *y, void *ctx)           \
    {                                                                       \
        const ad_real *p = ctx;                                             \
        (void)p;                                                            \
        y[0] = ad_rec(CALL(name, n, x[0], x[1], x[2]));                     \
    }
ADREV_OPS(DEFINE)
#undef DEFINE

static void several(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_sin(ad_mul(x[0], x[1])), ad_exp(x[2])));
    y[1] = ad_rec(ad_div(ad_log(x[0]), ad_add(x[1], ad_sqr(x[2]))));
    y[2] = x[1];
    y[3] = ad_rec(0.1);
}

static void guarded(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_floor(x[1])));
    if (ad_lt(x[0], 1))
        y[0] = ad_rec(ad_add(y[0], ad_exp(x[2])));
    if (ad_value(x[2]) > 0)
        y[0] = ad_rec(ad_mul(y[0], x[2]));
}

// Two comparisons, however often they are asked.
static void asked_twice(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    bool between = ad_gt(x[0], 0) && ad_lt(x[0], 2);
    between = between && ad_gt(x[0], 0) && ad_lt(x[0], 2);
    y[0] = between ? ad_rec(ad_sqr(x[0])) : x[0];
}

static void steps(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_mul(ad_floor(x[0]), x[1]), ad_round(x[1])));
    y[0] = ad_rec(ad_add(ad_mul(ad_ceil(x[0]), y[0]), ad_trunc(x[2])));
    y[0] = ad_rec(ad_add(ad_mul(ad_rint(x[0]), y[0]), ad_nearbyint(x[2])));
    y[0] = ad_rec(ad_mul(ad_sign(x[1]), y[0]));
    y[1] = ad_ge(x[0], x[1]) && ad_ne(x[0], 3) ? x[0] : x[1];
    y[2] = ad_le(x[0], x[2]) || ad_eq(x[0], 5) ? x[1] : x[2];
}

static void singular(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(ad_sqrt(x[0]), x[1]));
}

static void arrays(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ad_real A[2 * BIG] = { 1, 2, 3, 0, 5, 6, 7, 8, 9, 1, 1, 2 };
    ad_rev z[BIG];
    (void)ctx;
    y[0] = ad_sum(BIG, x);
    y[1] = ad_dot_s(BIG / 2, x, 2, x + BIG - 1, -1);
    y[2] = ad_norm2(BIG, x);
    y[3] = ad_logsumexp(BIG, x);
    y[4] = ad_sqdist(BIG / 2, x, x + BIG / 2);
    ad_softmax(BIG, x, z);
    y[5] = ad_dotc(BIG, z, A);
    ad_matvecc(2, BIG, A, x, y + 6);
    ad_each(ADREV_OP_sin, BIG, x, NULL, NULL, z);
    ad_axpy(BIG, x[0], x, z);
    ad_scale(BIG, x[1], z, z);
    y[8] = ad_norm2(BIG, z);
    ad_trimatvec(3, x, x + 3, x + 6, z);
    y[9] = ad_dot(3, z, x);
    ad_matmul(2, 2, 2, x, x + 4, z);
    y[10] = ad_rec(ad_mul(z[0], z[3]));
}

// Results of array statements that are results of the function: nobody else
// reads them, somebody does, or they are results twice.
static void lists(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    ad_softmax(BIG, x, y);
    ad_each(ADREV_OP_sin, BIG, x, NULL, NULL, y + BIG);
    y[2 * BIG] = ad_dot(BIG, y + BIG, x);
    ad_matvec(2, 4, x, x + 5, y + 2 * BIG + 1);
    y[2 * BIG + 3] = y[2 * BIG + 1];
}

// And a guard behind them: until it is passed nothing is to be written.
static void lists_guarded(const ad_rev *x, ad_rev *y, void *ctx)
{
    lists(x, y, ctx);
    if (ad_lt(x[0], 1))
        y[2 * BIG] = ad_rec(ad_neg(y[2 * BIG]));
}

// Sums over the rows of a matrix, whose adjoints need that matrix again: each
// row for itself, with something before and behind the loop over the rows; by a
// vector times one number; with adjoints that are known before; and what needs
// all rows before one of them is done. A row is two blocks, eights and a rest.
enum { ROWS = 3, LONG = 75, FIT = ROWS * LONG + LONG + ROWS };

static void residuals(const ad_rev *x, ad_rev p[ROWS], ad_rev r[ROWS])
{
    ad_matvec(ROWS, LONG, x, x + (size_t)ROWS * LONG, p);
    ad_each(ADREV_OP_sub, ROWS, p, x + (size_t)ROWS * LONG + LONG, NULL, r);
}

static void by_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev p[ROWS], r[ROWS];
    (void)ctx;
    residuals(x, p, r);
    ad_each(ADREV_OP_sin, ROWS, r, NULL, NULL, r);
    ad_each(ADREV_OP_mul, ROWS, r, p, NULL, r);
    y[0] = ad_rec(ad_add(ad_sum(ROWS, r),
                         ad_mul(ad_sum(ROWS, p), ad_sin(x[0]))));
}

static void fitted(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev p[ROWS], r[ROWS];
    (void)ctx;
    residuals(x, p, r);
    y[0] = ad_dot(ROWS, r, r);
}

static void scaled_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev p[ROWS], r[ROWS];
    (void)ctx;
    residuals(x, p, r);
    ad_scale(ROWS, x[1], r, r);
    y[0] = ad_sum(ROWS, r);
    y[1] = ad_dot(ROWS, p, x + 2);
}

static void weighed_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev p[ROWS], r[ROWS];
    (void)ctx;
    residuals(x, p, r);
    y[0] = ad_rec(ad_sub(ad_dot(ROWS, r, x + 7), ad_sin(x[1])));
}

// Two matrices of as many rows, one of them narrower than the other, and one
// whose rows are all the same.
static void narrow_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev p[ROWS], q[ROWS], r[ROWS];
    (void)ctx;
    residuals(x, p, r);
    ad_matvec(ROWS, BIG, x + 5, x + 40, q);
    y[0] = ad_dot(ROWS, p, q);
    y[1] = ad_dot(ROWS, q, x + 7);
    ad_matvec_s(ROWS, LONG, x, 0, 1, x + 9, 1, r, 1);
    y[2] = ad_dot(ROWS, r, x + 11);
}

static void wide_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev p[ROWS], q[ROWS], r[ROWS];
    (void)ctx;
    ad_matvec(ROWS, BIG, x + 5, x + 40, q);
    residuals(x, p, r);
    ad_each(ADREV_OP_sin, ROWS, p, NULL, NULL, p);
    y[0] = ad_dot(ROWS, q, p);
    y[1] = ad_dot(ROWS, q, x + 7);
}

static void all_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev p[ROWS], r[ROWS];
    (void)ctx;
    residuals(x, p, r);
    ad_softmax(ROWS, r, r);
    y[0] = ad_dot(ROWS, r, p);
}

// With signs of other rows, to which nothing goes back: from the last one to
// the first, from the second one on, and every other one.
static void other_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const int first[] = { ROWS - 1, 1, 0 };
    static const int step[] = { -1, 1, 2 };
    ad_rev p[ROWS], r[ROWS], both[2 * ROWS], q[ROWS];
    (void)ctx;
    residuals(x, p, r);
    ad_each(ADREV_OP_sin, ROWS, p, NULL, NULL, both);
    ad_each(ADREV_OP_sin, ROWS, r, NULL, NULL, both + ROWS);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < ROWS; i++)
            q[i] = both[first[k] + step[k] * i];
        ad_each(ADREV_OP_copysign, ROWS, both + ROWS, q, NULL, q);
        y[k] = ad_sum(ROWS, q);
    }
}

// Of a row a number that was there before, and the row above it.
static void late_rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev p[ROWS], r[ROWS], q[ROWS] = { ad_rec(0.5) };
    (void)ctx;
    residuals(x, p, r);
    for (int i = 1; i < ROWS; i++)
        q[i] = p[i - 1];
    ad_each(ADREV_OP_sin, ROWS, q, NULL, NULL, q);
    y[0] = ad_sum(ROWS, q);
}

static void large(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = x[0];
    for (int i = 0; i < 120; i++)
        y[0] = ad_rec(ad_add(ad_sin(ad_mul(y[0], x[i % 3])), x[(i + 1) % 3]));
}

// A full row, a full column, and entries in between; a result that is an input,
// a constant one, and one that depends on its input in steps only.
static void arrow(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = x[3];
    y[BIG - 1] = x[1];
    for (int i = 1; i < BIG; i++)
        y[BIG - 1] = ad_rec(ad_add(ad_mul(y[BIG - 1], x[i]), ad_exp(x[0])));
    for (int i = 1; i < BIG - 1; i++)
        y[i] = ad_rec(ad_mul(ad_sin(x[i]), ad_sub(x[0], ad_sqr(x[i + 1]))));
    y[BIG] = ad_rec(0.5);
    y[BIG + 1] = ad_rec(ad_add(ad_gt(x[2], 0), ad_div(x[2], x[5])));
}

// Few results of many inputs: rows are cheaper, all but one of them together.
static void wide(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 3; i++)
        y[i] = ad_rec(ad_mul(x[3 * i], ad_exp(ad_mul(x[3 * i + 1],
                                                     x[3 * i + 2]))));
}

static void constant(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    (void)x;
    y[0] = ad_rec(2);
}

static const struct function {
    const char *name;
    ad_vector_fn *f;
    size_t n;
    size_t m;
    double at[3];
    size_t split;
    bool arrays;                // a line of the text is not a statement
    unsigned asked;
} functions[] = {
    { "several",  several,  3, 4, { 0.7, 1.3, 0.4 }, 0, false, ALL },
    { "guarded",  guarded,  3, 1, { 0.7, 1.3, 0.4 }, 0, false, ALL },
    { "steps",    steps,    3, 3, { 2.3, 1.6, 3.2 }, 0, false, ALL },
    { "arrays",   arrays,   BIG, 11, { 0.7, 1.3, 0.4 }, 0, true, ALL },
    { "lists",    lists,    BIG, 22, { 0.7, 1.3, 0.4 }, 0, true, ALL },
    { "lists_split", lists, BIG, 22, { 0.7, 1.3, 0.4 }, 2, true, ALL },
    { "lists_guarded", lists_guarded, BIG, 22, { 0.7, 1.3, 0.4 }, 0, true,
      ALL },
    { "by_rows",  by_rows,  FIT, 1, { 0.7, 1.3, 0.4 }, 0, true, VECTORS },
    { "fitted",   fitted,   FIT, 1, { 0.7, 1.3, 0.4 }, 0, true, VECTORS },
    { "scaled_rows", scaled_rows, FIT, 2, { 0.7, 1.3, 0.4 }, 0, true,
      VECTORS },
    { "weighed_rows", weighed_rows, FIT, 1, { 0.7, 1.3, 0.4 }, 0, true,
      VECTORS },
    { "narrow_rows", narrow_rows, FIT, 3, { 0.7, 1.3, 0.4 }, 0, true,
      VECTORS },
    { "wide_rows", wide_rows, FIT, 2, { 0.7, 1.3, 0.4 }, 0, true, VECTORS },
    { "all_rows", all_rows, FIT, 1, { 0.7, 1.3, 0.4 }, 0, true, VECTORS },
    { "other_rows", other_rows, FIT, 3, { 0.7, 1.3, 0.4 }, 0, true,
      VECTORS },
    { "late_rows", late_rows, FIT, 1, { 0.7, 1.3, 0.4 }, 0, true, VECTORS },
    { "split_rows", by_rows, FIT, 1, { 0.7, 1.3, 0.4 }, 4, true, VECTORS },
    { "large",    large,    3, 1, { 0.7, 0.3, 0.4 }, 50, false, ALL },
    { "singular", singular, 2, 1, { 0.5, 0.3, 0 }, 0, false, ALL },
    { "arrow",    arrow,    BIG, BIG + 2, { 0.7, 1.3, 0.4 }, 0, false, ALL },
    { "wide",     wide,     BIG, 3, { 0.7, 1.3, 0.4 }, 7, false, ALL },
    { "constant", constant, 2, 1, { 0.5, 0.3, 0 }, 0, false, ALL },
    { "c_several", several, 3, 4, { 0.7, 1.3, 0.4 }, 0, false, ALL | CASADI },
    { "d_several", several, 3, 4, { 0.7, 1.3, 0.4 }, 0, false,
      DENSE | CASADI },
    { "c_guarded", guarded, 3, 1, { 0.7, 1.3, 0.4 }, 0, false, ALL | CASADI },
    { "c_arrow",  arrow,    BIG, BIG + 2, { 0.7, 1.3, 0.4 }, 9, false,
      ALL | CASADI },
    { "c_wide",   wide,     BIG, 3, { 0.7, 1.3, 0.4 }, 0, false, ALL | CASADI },
    { "c_constant", constant, 2, 1, { 0.5, 0.3, 0 }, 0, false, ALL | CASADI },
};

/* --- files ---------------------------------------------------------------- */

static FILE *code;
static FILE *header;
static FILE *driver;
static size_t written;

static char text[1 << 21];      // what was written last

static void to_code(const char *piece, size_t length, void *user)
{
    (void)user;
    if (written + length < sizeof text) {
        memcpy(text + written, piece, length);
        text[written + length] = '\0';
    }
    written += length;
    CHECK(fwrite(piece, 1, length, code) == length, "cannot write");
}

static FILE *opened(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        exit(2);
    return file;
}

// As many numbers as the driver reads; hex, so that every bit is there.
static void print_numbers(const char *name, size_t count, const ad_real *v)
{
    fprintf(driver, "    static const real %s[] = {", name);
    for (size_t i = 0; i < count; i++)
        if (isfinite(v[i]))
            fprintf(driver, "%s(real)%a,", i % 3 == 0 ? "\n        " : " ",
                    (double)v[i]);
        else
            fprintf(driver, " (real)%s%s,", v[i] < 0 ? "-" : "",
                    v[i] != v[i] ? "NAN" : "INFINITY");
    fprintf(driver, "\n    };\n");
}

static const struct mode {
    const char *name;
    const char *arguments;
    const char *parameters;
} modes[MODES] = {
    { "value",    "x, o",        "const real *x, real *y" },
    { "jvp",      "x, v, o",     "const real *x, const real *v, real *dy" },
    { "vjp",      "x, w, o",     "const real *x, const real *w, real *dx" },
    { "gradient", "x, o, o + 1", "const real *x, real *y, real *g" },
    { "hvp",      "x, w, v, o",
      "const real *x, const real *w, const real *v, real *hv" },
    { "jacobian", "x, o",        "const real *x, real *J" },
    { "hessian",  "x, w, o",     "const real *x, const real *w, real *H" },
    { "jacobian_sparse", "x, o", "const real *x, real *J" },
    { "hessian_sparse", "x, w, o", "const real *x, const real *w, real *H" },
    { "linearize", "x, o, o + %zu", "const real *x, real *y, real *J" },
};

static bool is_sparse(int mode) { return mode == SPARSE || mode == SPARSE + 1; }

static ad_status pattern(int mode, ad_fn *fn, ad_sparsity *about,
                         size_t *start, size_t *row, size_t *column)
{
    return mode == SPARSE
         ? ad_fn_jacobian_pattern(fn, about, start, row, column)
         : ad_fn_hessian_pattern(fn, about, start, row, column);
}

static size_t results(int mode, ad_fn *fn)
{
    size_t n = ad_fn_inputs(fn);
    size_t m = ad_fn_outputs(fn);
    const size_t count[] = { m, m, n, 1 + n, n, m * n, n * n };
    ad_sparsity about = { 0 };
    if (mode == MODES - 1)
        return m + m * n;
    if (!is_sparse(mode))
        return count[mode];
    CHECK(pattern(mode, fn, &about, NULL, NULL, NULL) == ADREV_OK, "pattern");
    return about.nonzeros;
}

static ad_status ask(int mode, ad_fn *fn, const ad_real *x, const ad_real *w,
                     const ad_real *v, ad_real *o)
{
    switch (mode) {
    case 0: return ad_fn_eval(fn, x, o);
    case 1: return ad_fn_jvp(fn, x, v, o);
    case 2: return ad_fn_vjp(fn, x, w, o);
    case 3: return ad_fn_gradient(fn, x, o, o + 1);
    case 4: return ad_fn_hvp(fn, x, w, v, o);
    case 5: return ad_fn_jacobian(fn, x, o);
    case 6: return ad_fn_hessian(fn, x, w, o);
    case 7: return ad_fn_jacobian_sparse(fn, x, o);
    case 9: return ad_fn_linearize(fn, x, o, o + ad_fn_outputs(fn));
    }
    return ad_fn_hessian_sparse(fn, x, w, o);
}

/* --- entry points --------------------------------------------------------- */

// Inputs: x, v, w, or none of n or m entries (N, M). Results: the answer to a
// mode, by its number; y and g are parts of that to a gradient, T is the
// transposed Jacobian, Z has no entries.
static const struct entry {
    const char *prefix;
    const char *modes;          // those without which it is not there
    const char *in;
    const char *in_names;
    const char *out;
    const char *out_names;
} entries[] = {
    { "",          "0",  "x",    "x ",                     "0", "y " },
    { "fwd1_",     "1",  "xMv",  "x out_y fwd_x ",         "1", "fwd_y " },
    { "adj1_",     "2",  "xMw",  "x out_y adj_y ",         "2", "adj_x " },
    { "grad_",     "3",  "x",    "x ",                     "yg", "y g " },
    { "hvp_",      "4",  "xwv",  "x w v ",                 "4", "hv " },
    { "jac_",      "5",  "xM",   "x out_y ",               "5", "jac_y_x " },
    { "hess_",     "6",  "xw",   "x w ",                   "6", "h " },
    { "jac_adj1_", "56", "xMwN", "x out_y adj_y out_adj_x ", "6ZT",
      "jac_adj_x_x jac_adj_x_out_y jac_adj_x_adj_y " },
};
#define ENTRIES (sizeof entries / sizeof entries[0])

static bool has_entry(const struct entry *e, unsigned mask)
{
    for (const char *mode = e->modes; *mode != '\0'; mode++)
        if (!(mask >> (*mode - '0') & 1))
            return false;
    return true;
}

static void print_input(char what, ad_fn *fn, bool zero)
{
    fprintf(driver, "            { %zu, 1, %d, 0, ",
            strchr("wM", what) ? ad_fn_outputs(fn) : ad_fn_inputs(fn),
            strchr("NM", what) == NULL);
    if (strchr("NM", what) || (zero && what == 'x'))
        fprintf(driver, "0 },\n");
    else
        fprintf(driver, "%c },\n", what);
}

static void print_result(char what, ad_fn *fn, bool answered)
{
    size_t n = ad_fn_inputs(fn);
    size_t m = ad_fn_outputs(fn);
    bool column = strchr("56ZT", what) == NULL;
    bool by_n = strchr("24g6ZT", what) != NULL;
    fprintf(driver, "            { %zu, %zu, %d, %d, ", by_n ? n : m,
            column ? (size_t)1 : strchr("ZT", what) ? m : n, what != 'Z',
            what == 'T');
    if (what == 'Z' || !answered)
        fprintf(driver, "0 },\n");
    else
        fprintf(driver, "want%c%s },\n",
                what == 'T' ? '5' : strchr("yg", what) ? '3' : what,
                what == 'g' ? " + 1" : "");
}

// One call by an entry point, with the answers to the modes. A point of zeros
// is not given at all.
static void print_entry(const char *name, const struct entry *e, ad_fn *fn,
                        bool zero, ad_status s)
{
    fprintf(driver, "    {\n        static const struct matrix in[] = {\n");
    for (const char *what = e->in; *what != '\0'; what++)
        print_input(*what, fn, zero);
    fprintf(driver,
            "        };\n        static const struct matrix out[] = {\n");
    for (const char *what = e->out; *what != '\0'; what++)
        print_result(*what, fn, s == ADREV_OK);
    fprintf(driver, "        };\n        play(&client_%s%s, \"%s\", \"%s\", in,"
            " out, %zu);\n    }\n", e->prefix, name, e->in_names,
            e->out_names, s == ADREV_OK ? 0 : 1 + ad_fn_guard().index);
}

/* --- the driver ----------------------------------------------------------- */

static const char preamble[] =
    "#include <math.h>\n#include <stdio.h>\n#include \"code.h\"\n"
    "static long passed, failed;\n"
    "static real o[400], work[60000];\n"
    "static void check(int ok, const char *what, int i, double got,\n"
    "                  double want)\n"
    "{\n"
    "    passed += ok;\n"
    "    failed += !ok;\n"
    "    if (!ok && failed < 20)\n"
    "        printf(\"%s: number %d: got %a, want %a\\n\", what, i, got,\n"
    "               want);\n"
    "}\n"
    "static void begin(int size, const char *what)\n"
    "{\n"
    "    int i;\n"
    "    for (i = 0; i < 60000; i++)\n"
    "        work[i] = (real)-77.25;\n"
    "    for (i = 0; i < 400; i++)\n"
    "        o[i] = (real)-12345.5;\n"
    "    check(size >= 1 && size < 60000, what, size, 0, 0);\n"
    "}\n"
    "static void end(const char *what, int size, int code, int want_code,\n"
    "                int count, const real *want, double ulps)\n"
    "{\n"
    "    int i;\n"
    "    double sum = 0;\n"
    "    check(code == want_code, what, -1, code, want_code);\n"
    "    for (i = size; i < 60000; i++)\n"
    "        if (work[i] < (real)-77.25 || work[i] > (real)-77.25)\n"
    "            check(0, what, -2, i, size);\n"
    "    for (i = 0; i < count; i++)\n"
    "        sum += fabs((double)want[i]);\n"
    "    for (i = 0; i < count; i++) {\n"
    "        double a = (double)o[i], b = (double)want[i];\n"
    "        int same = !(a < b) && !(a > b) && isnan(a) == isnan(b);\n"
    "        check(same || fabs(a - b) <= ulps * EPS * sum, what, i, a, b);\n"
    "    }\n"
    "    for (i = count; i < 400; i++)\n"
    "        if (o[i] < (real)-12345.5 || o[i] > (real)-12345.5)\n"
    "            check(0, what, i, (double)o[i], -12345.5);\n"
    "}\n"
    "/* Entries in o as a dense matrix. */\n"
    "static void scatter(const char *what, int rows, int cols, int lower,\n"
    "                    const int *start, const int *row, const int *column,\n"
    "                    const real *want)\n"
    "{\n"
    "    double full[400], sum = 0;\n"
    "    int i, k;\n"
    "    for (i = 0; i < rows * cols; i++) {\n"
    "        full[i] = 0;\n"
    "        sum += fabs((double)want[i]);\n"
    "    }\n"
    "    for (i = 0; i < rows; i++)\n"
    "        for (k = start[i]; k < start[i + 1]; k++) {\n"
    "            check(row[k] == i && (!lower || column[k] <= i), what, k,\n"
    "                  column[k], i);\n"
    "            full[i * cols + column[k]] = (double)o[k];\n"
    "            if (lower)\n"
    "                full[column[k] * cols + i] = (double)o[k];\n"
    "        }\n"
    "    for (i = 0; i < rows * cols; i++) {\n"
    "        double a = full[i], b = (double)want[i];\n"
    "        int same = !(a < b) && !(a > b) && isnan(a) == isnan(b);\n"
    "        check(same || fabs(a - b) <= 4 * EPS * sum, what, i, a, b);\n"
    "    }\n"
    "}\n"
    "static void same_list(const char *what, int n, const int *got,\n"
    "                      const int *want)\n"
    "{\n"
    "    int i;\n"
    "    for (i = 0; i < n; i++)\n"
    "        check(got[i] == want[i], what, i, got[i], want[i]);\n"
    "}\n";

// What a client looks up by name.
static void print_client(const char *name, const struct entry *e)
{
    static const char *const heads[][2] = {
        { "int %s%s(const real **, real **, client_int *, real *, int);\n",
          "" },
        { "client_int %s%s_n_in(void);\n", "n_in" },
        { "client_int %s%s_n_out(void);\n", "n_out" },
        { "const char *%s%s_name_in(client_int);\n", "name_in" },
        { "const char *%s%s_name_out(client_int);\n", "name_out" },
        { "const client_int *%s%s_sparsity_in(client_int);\n",
          "sparsity_in" },
        { "const client_int *%s%s_sparsity_out(client_int);\n",
          "sparsity_out" },
        { "int %s%s_work(client_int *, client_int *, client_int *,"
          " client_int *);\n", "work" },
        { "real %s%s_default_in(client_int);\n", "default_in" },
        { "int %s%s_alloc_mem(void);\n", "alloc_mem" },
        { "int %s%s_init_mem(int);\n", "init_mem" },
        { "int %s%s_checkout(void);\n", "checkout" },
        { "void %s%s_free_mem(int);\n", "free_mem" },
        { "void %s%s_release(int);\n", "release" },
        { "void %s%s_incref(void);\n", "incref" },
        { "void %s%s_decref(void);\n", "decref" },
    };
    size_t n = sizeof heads / sizeof heads[0];
    for (size_t i = 0; i < n; i++)
        fprintf(header, heads[i][0], e->prefix, name);
    fprintf(driver, "static const struct client client_%s%s = {\n"
            "    \"%s%s\"", e->prefix, name, e->prefix, name);
    for (size_t i = 0; i < n; i++)
        fprintf(driver, ",\n    %s%s%s%s", e->prefix, name, i > 0 ? "_" : "",
                heads[i][1]);
    fprintf(driver, "\n};\n");
}

// One call of the emitted code, with the answer of the recording.
static void print_call(const char *name, int mode, ad_fn *fn, ad_status s,
                       const ad_real *o)
{
    size_t count = s == ADREV_OK ? results(mode, fn) : 0;
    size_t guard = s == ADREV_EPATH ? 1 + ad_fn_guard().index : 0;
    char id[32];
    char of[80];
    char arguments[80];
    snprintf(id, sizeof id, "want%d", mode);
    snprintf(of, sizeof of, "%s_%s", name, modes[mode].name);
    print_numbers(id, count > 0 ? count : 1, o);
    snprintf(arguments, sizeof arguments, modes[mode].arguments,
             ad_fn_outputs(fn));
    fprintf(driver,
            "    begin(WORK_%s, \"%s\");\n"
            "    code = %s(%s, work);\n"
            "    end(\"%s\", WORK_%s, code, %zu, %zu, %s, 0);\n",
            of, of, of, arguments, of, of, guard, count, id);
    if (is_sparse(mode) && s == ADREV_OK)
        fprintf(driver, "    scatter(\"%s\", %zu, %zu, %d, %s_start, %s_row,"
                " %s_column, want%d);\n", of,
                mode == SPARSE ? ad_fn_outputs(fn) : ad_fn_inputs(fn),
                ad_fn_inputs(fn), mode > SPARSE, of, of, of, mode - 2);
}

static void print_prototypes(const char *name, unsigned mask)
{
    for (int mode = 0; mode < MODES; mode++) {
        const char *what = modes[mode].name;
        if (!(mask >> mode & 1))
            continue;
        fprintf(header, "int %s_%s(%s, real *work);\n"
                "extern const int WORK_%s_%s;\n", name, what,
                modes[mode].parameters, name, what);
        fprintf(code, "const int WORK_%s_%s = %s_%s_WORK;\n", name, what,
                name, what);
        if (!is_sparse(mode))
            continue;
        fprintf(header, "extern const int %s_%s_start[], %s_%s_row[],"
                " %s_%s_column[], NONZEROS_%s_%s;\n", name, what, name, what,
                name, what, name, what);
        fprintf(code, "const int NONZEROS_%s_%s = %s_%s_NONZEROS;\n", name,
                what, name, what);
    }
}

static void print_list(const char *of, const char *list, size_t n,
                       const size_t *v)
{
    fprintf(driver, "    {\n        static const int want[] = { ");
    for (size_t i = 0; i < n; i++)
        fprintf(driver, "%zu,%s", v[i], i % 12 == 11 ? "\n            " : " ");
    fprintf(driver, "0 };\n        same_list(\"%s_%s\", %zu, %s_%s, want);\n"
            "    }\n", of, list, n, of, list);
}

// The patterns of the code are those of the recording.
static void print_patterns(const char *name, ad_fn *fn, unsigned mask)
{
    fprintf(driver, "static void test_%s_patterns(void)\n{\n", name);
    for (int mode = SPARSE; is_sparse(mode); mode++) {
        size_t rows = mode == SPARSE ? ad_fn_outputs(fn) : ad_fn_inputs(fn);
        size_t start[CHAIN + 1];
        size_t row[400];
        size_t column[400];
        ad_sparsity about = { 0 };
        char of[80];
        snprintf(of, sizeof of, "%s_%s", name, modes[mode].name);
        if (!(mask >> mode & 1))
            continue;
        ad_status s = pattern(mode, fn, &about, start, row, column);
        CHECK(s == ADREV_OK, "%s: %s", of, ad_message(s));
        fprintf(driver, "    check(NONZEROS_%s == %zu, \"%s\", -3,"
                " NONZEROS_%s, %zu);\n", of, about.nonzeros, of, of,
                about.nonzeros);
        print_list(of, "start", rows + 1, start);
        print_list(of, "row", about.nonzeros, row);
        print_list(of, "column", about.nonzeros, column);
    }
    fprintf(driver, "}\n");
}

// Statements in the text from `at` on: assignments to variables, and guards.
static size_t count_statements(const char *at, size_t length)
{
    size_t n = 0;
    for (const char *end = at + length; at < end; at = strchr(at, '\n') + 1)
        n += strncmp(at, "    const ", 10) == 0
          || strncmp(at, "    if (", 8) == 0;
    return n;
}

// Sizes foretold against the text: where each function ends, the next begins.
static void check_sizes(const char *name, unsigned all, bool plain,
                        const ad_c_size size[])
{
    const char *begin = NULL;
    for (int mode = 0; mode < MODES; mode++) {
        char head[80];
        const ad_c_size *s = &size[mode];
        if (!(all >> mode & 1)) {
            CHECK(s->bytes == 0 && s->work == 0, "%s: %d", name, mode);
            continue;
        }
        snprintf(head, sizeof head, "int %s_%s(", name, modes[mode].name);
        const char *end = strstr(strstr(text, head), "\n}\n\n") + 4;
        if (begin != NULL) {
            size_t bytes = (size_t)(end - begin);
            CHECK(s->bytes == bytes, "%s: %zu bytes, not %zu", head, bytes,
                  s->bytes);
            size_t n = count_statements(begin, bytes);
            CHECK(!plain || s->statements == n, "%s: %zu statements, not %zu",
                  head, n, s->statements);
        }
        fprintf(driver, "static void size_%s_%s(void)\n{\n"
                "    check(WORK_%s_%s == %zu, \"size\", 0, WORK_%s_%s, %zu);"
                "\n}\n", name, modes[mode].name, name, modes[mode].name,
                s->work, name, modes[mode].name, s->work);
        begin = end;
    }
}

// What may be written of fn: all of the mask.
static unsigned write_all(const char *name, ad_fn *fn, unsigned asked,
                          size_t split, bool absorbing, bool plain)
{
    ad_c_options options = { .name = name, .single = SINGLE,
                             .absorbing = absorbing, .exported = true,
                             .split = split, .casadi = (asked & CASADI) != 0 };
    unsigned all = asked & (ad_fn_outputs(fn) == 1 ? ALL : ALL & ~8u);
    ad_c_size size[ADREV_C_COUNT];
    options.functions = all;
    size_t bytes = 77;
    size_t counted = 77;
    ad_status s = ad_fn_write_c(fn, &options, NULL, NULL, &counted);
    CHECK(s == ADREV_OK, "%s: count: %s", name, ad_message(s));
    written = 0;
    s = ad_fn_write_c(fn, &options, to_code, NULL, &bytes);
    CHECK(s == ADREV_OK && bytes == written && counted == written,
          "%s: %s, %zu bytes, %zu counted, %zu written", name, ad_message(s),
          bytes, counted, written);
    print_prototypes(name, all);
    s = ad_fn_c_size(fn, &options, size, &counted);
    CHECK(s == ADREV_OK && counted == written, "%s: %s, %zu bytes", name,
          ad_message(s), counted);
    check_sizes(name, all, plain, size);
    return all;
}

static void print_function(const char *name, ad_fn *fn, unsigned mask,
                           bool casadi, size_t points, const ad_real *xs)
{
    size_t n = ad_fn_inputs(fn);
    ad_real v[FIT];             // the most
    ad_real w[FIT];
    for (size_t i = 0; i < FIT; i++) {
        v[i] = (ad_real)(0.5 - 0.125 * (double)(i % 7));
        w[i] = (ad_real)(1 + 0.25 * (double)(i % 3));
    }
    for (size_t i = 0; i < ENTRIES && casadi; i++)
        if (has_entry(&entries[i], mask))
            print_client(name, &entries[i]);
    for (size_t p = 0; p < points; p++) {
        ad_status s = ADREV_OK;
        bool zero = true;
        for (size_t i = 0; i < n; i++)
            zero = zero && !(xs[p * n + i] < 0) && !(xs[p * n + i] > 0);
        fprintf(driver, "static void test_%s_%zu(void)\n{\n    int code;\n",
                name, p);
        print_numbers("x", n, xs + p * n);
        print_numbers("v", n, v);
        print_numbers("w", ad_fn_outputs(fn), w);
        for (int mode = 0; mode < MODES; mode++) {
            ad_real o[400] = { 0 };
            if ((mask >> mode & 1) == 0)
                continue;
            s = ask(mode, fn, xs + p * n, w, v, o);
            CHECK(s == ADREV_OK || s == ADREV_EPATH, "%s: %s", name,
                  ad_message(s));
            print_call(name, mode, fn, s, o);
        }
        for (size_t i = 0; i < ENTRIES && casadi; i++)
            if (has_entry(&entries[i], mask))
                print_entry(name, &entries[i], fn, zero, s);
        fprintf(driver, "    (void)v;\n    (void)w;\n}\n");
    }
}

/* --- everything ----------------------------------------------------------- */

static struct called {
    char name[40];
    size_t points;
    unsigned mask;
} called[200];
static size_t calls;

static void emit(const char *name, ad_vector_fn *f, void *ctx, size_t n,
                 size_t m, const ad_real *xs, size_t points, unsigned asked,
                 size_t split, bool arrays)
{
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record(&fn, f, ctx, n, xs, m);
    if (!CHECK(s == ADREV_OK, "%s: %s", name, ad_message(s)))
        return;
    unsigned mask = write_all(name, fn, asked, split, true,
                              split == 0 && !arrays);
    print_function(name, fn, mask, (asked & CASADI) != 0, points, xs);
    print_patterns(name, fn, mask);
    snprintf(called[calls].name, sizeof called[calls].name, "%s", name);
    called[calls].mask = mask;
    called[calls++].points = points;
    ad_fn_free(fn);
}

static void emit_rows(void)
{
    static ad_vector_fn *const rows[ADREV_OP_COUNT] = {
#define ENTER(name, ...) [ADREV_OP_##name] = row_##name,
        ADREV_OPS(ENTER)
#undef ENTER
    };
    for (int op = 0; op < ADREV_OP_COUNT; op++) {
        const ad_op_info *info = &ad_op_table()[op];
        ad_real xs[9];
        char name[40];
        if (rows[op] == NULL)
            continue;
        for (int p = 0; p < 3; p++)
            for (int k = 0; k < 3; k++) {
                double a = info->box[2 * k];
                double b = info->box[2 * k + 1];
                xs[3 * p + k] = (ad_real)(a + (b - a) * (0.3 + 0.17 * p
                                                         + 0.05 * k));
            }
        snprintf(name, sizeof name, "row_%s", info->name);
        emit(name, rows[op], xs, 3, 1, xs, 3, ALL, 0, false);
    }
}

static void emit_functions(void)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        const struct function *f = &functions[i];
        unsigned asked = SINGLE ? f->asked & ~(unsigned)CASADI : f->asked;
        ad_real xs[4 * FIT];        // the most
        for (size_t p = 0; p < 4; p++)
            for (size_t k = 0; k < f->n; k++)
                xs[p * f->n + k] = (ad_real)(f->at[k % 3] + 0.01 * (double)k
                                             + 0.37 * (double)p);
        for (size_t k = 0; k < f->n && (f->f == singular || f->f == wide); k++)
            xs[3 * f->n + k] = 0;
        emit(f->name, f->f, NULL, f->n, f->m, xs, 4, asked, f->split,
             f->arrays);
    }
}

// Without `absorbing`, 0*inf is NaN in C: d/dx0 of sqrt(x0) x1 at 0, 0.
static void emit_ieee(void)
{
    const ad_real at[] = { 1, 1 };
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record(&fn, singular, NULL, 2, at, 1);
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    write_all("ieee", fn, ALL, 0, false, true);
    fprintf(driver, "static void test_ieee(void)\n{\n"
            "    static const real x[] = { 0, 0 };\n"
            "    begin(1, \"ieee\");\n"
            "    check(ieee_gradient(x, o, o + 1, work) == 0, \"ieee\", 0, 0,"
            " 0);\n"
            "    check(isnan((double)o[1]), \"ieee\", 1, (double)o[1], 0);\n"
            "}\n");
    ad_fn_free(fn);
}

static void rosenbrock(const ad_rev *x, ad_rev *y, void *ctx)
{
    const size_t *n = ctx;
    y[0] = ad_rec(0);
    for (size_t i = 0; i + 1 < *n; i++)
        y[0] = ad_rec(ad_add(y[0],
                   ad_add(ad_sqr(ad_sub(1, x[i])),
                          ad_mul(100, ad_sqr(ad_sub(x[i + 1],
                                                    ad_sqr(x[i])))))));
}

static ad_fn *recorded_chain(size_t n)
{
    ad_real at[2 * CHAIN];
    ad_fn *fn = NULL;
    for (size_t i = 0; i < n; i++)
        at[i] = ADX_K(0.5);
    ad_status s = ad_fn_record(&fn, rosenbrock, &n, n, at, 1);
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    return fn;
}

// A chain has three directions, however long it is: twice its length is twice
// the code. Its second derivatives are known.
static void emit_chain(void)
{
    size_t bytes[2] = { 0 };
    ad_c_options options = { .name = "chain", .single = SINGLE,
                             .exported = true, .split = 100,
                             .functions = ADREV_C_HESSIAN_SPARSE };
    for (size_t i = 2; i-- > 0;) {
        ad_fn *fn = recorded_chain((i + 1) * CHAIN);
        ad_status s = ad_fn_write_c(fn, &options, i == 0 ? to_code : NULL,
                                    NULL, &bytes[i]);
        CHECK(s == ADREV_OK, "chain: %s", ad_message(s));
        ad_fn_free(fn);
    }
    CHECK(bytes[1] < bytes[0] * 21 / 10, "chain: %zu bytes, twice as long %zu",
          bytes[0], bytes[1]);
    print_prototypes("chain", ADREV_C_HESSIAN_SPARSE);
    fprintf(driver, "static void test_chain(void)\n{\n"
            "    real x[%d], w[1], want[400];\n    int i;\n"
            "    w[0] = 2;\n"
            "    for (i = 0; i < %d; i++)\n"
            "        x[i] = (real)(0.5 + 0.25 * (i %% 5));\n"
            "    for (i = 0; i < %d; i++) {\n"
            "        want[2 * i] = (i > 0 ? 400 : 0)\n"
            "            + (i < %d ? 2400 * x[i] * x[i] - 800 * x[i + 1] + 4\n"
            "                      : 0);\n"
            "        want[2 * i + 1] = -800 * x[i];\n"
            "    }\n"
            "    begin(WORK_chain_hessian_sparse, \"chain\");\n"
            "    i = chain_hessian_sparse(x, w, o, work);\n"
            "    end(\"chain\", WORK_chain_hessian_sparse, i, 0, %d, want,"
            " 1);\n}\n", CHAIN, CHAIN, CHAIN, CHAIN - 1, 2 * CHAIN - 1);
}

// Static functions, and patterns that nobody reads: no warning.
static void emit_static(void)
{
    ad_fn *fn = recorded_chain(3);
    ad_c_options options = { .name = "hidden", .single = SINGLE,
                             .functions = ADREV_C_JACOBIAN_SPARSE
                                        | ADREV_C_HESSIAN_SPARSE };
    ad_status s = ad_fn_write_c(fn, &options, to_code, NULL, NULL);
    CHECK(s == ADREV_OK, "hidden: %s", ad_message(s));
    // 100, 2 and -2; those of the program before it was simplified are gone.
    ad_c_size size[ADREV_C_COUNT];
    s = ad_fn_c_size(fn, &options, size, NULL);
    CHECK(s == ADREV_OK && size[8].constants == 3, "%s: %zu constants",
          ad_message(s), size[8].constants);
    fprintf(code, "int shown(const real *x, real *o, real *work)\n{\n"
            "    real w[1];\n    w[0] = 1;\n"
            "    return hidden_jacobian_sparse(x, o, work)\n"
            "        || hidden_hessian_sparse(x, w, o + 3, work);\n}\n");
    fprintf(header, "int shown(const real *x, real *o, real *work);\n");
    fprintf(driver, "static void test_static(void)\n{\n"
            "    static const real x[] = { 1, 1, 2 };\n"
            "    static const real want[] = { 0, -400, 200, 802, -400, 602,\n"
            "                                 -400, 200 };\n"
            "    begin(1, \"hidden\");\n"
            "    end(\"hidden\", 60000, shown(x, o, work), 0, 8, want, 1);\n"
            "}\n");
    ad_fn_free(fn);
}

static void extreme(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_real *by = ctx;
    for (int i = 0; i < 6; i++)
        y[i] = ad_rec(ad_mul(x[0], by[i]));
}

static void of_nothing(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)x;
    (void)ctx;
    y[0] = ad_rec(0.5);
}

// Code in float of constants that are none there, and of a function without
// inputs: no warning, and the constants as a conversion has them.
static void emit_alone(void)
{
    static const double by[] = { 1e300, -1e300, 1e-300, -1e-300, 0x1.fffffep127,
                                 0x1.fffffefp127 };
    ad_real narrow[6];
    ad_fn *fn = NULL;
    const ad_real one = 1;
    ad_c_options options = { .name = "extreme", .single = true,
                             .exported = true, .functions = ADREV_C_VALUE };
    for (int i = 0; i < 6; i++)
        narrow[i] = SINGLE && i > 4 ? 0 : (ad_real)by[i];
    CHECK(ad_fn_record(&fn, extreme, narrow, 1, &one, 6) == ADREV_OK, "record");
    CHECK(ad_fn_write_c(fn, &options, to_code, NULL, NULL) == ADREV_OK, "code");
    ad_fn_free(fn);
    fprintf(header, "int extreme_value(const float *x, float *y, float *work);"
            "\n");
    fprintf(driver, "static void test_alone(void)\n{\n"
            "    float x = 1, y[6], spare[20];\n"
            "    check(extreme_value(&x, y, spare) == 0, \"extreme\", 0, 0, 0);"
            "\n");
    for (int i = 0; i < 6; i++)
        if (isfinite((float)narrow[i]))
            fprintf(driver, "    check(y[%d] == %af, \"extreme\", %d, y[%d],"
                    " 0);\n", i, (double)(float)narrow[i], i, i);
        else
            fprintf(driver, "    check(isinf(y[%d]) && !signbit(y[%d]) == %d,"
                    " \"extreme\", %d, y[%d], 0);\n", i, i, narrow[i] > 0, i,
                    i);
    fprintf(driver, "}\n");
    CHECK(ad_fn_record(&fn, of_nothing, NULL, 0, &one, 1) == ADREV_OK,
          "record without inputs");
    options = (ad_c_options){ .name = "of_nothing", .single = SINGLE,
                              .exported = true, .functions = ALL,
                              .casadi = !SINGLE };
    CHECK(ad_fn_write_c(fn, &options, to_code, NULL, NULL) == ADREV_OK,
          "code without inputs");
    ad_fn_free(fn);
}

static void infinite(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const double by[] = { HUGE_VAL, -HUGE_VAL, (double)NAN };
    (void)ctx;
    for (int i = 0; i < 3; i++)
        y[i] = ad_rec(ad_mul(x[0], (ad_real)by[i]));
}

// Constants that are not finite: no warning in float, nor in double.
static void emit_infinite(void)
{
    ad_fn *fn = NULL;
    const ad_real one = 1;
    const ad_c_options options = { .name = "infinite", .single = SINGLE,
                                   .exported = true, .functions = ADREV_C_VALUE };
    CHECK(ad_fn_record(&fn, infinite, NULL, 1, &one, 3) == ADREV_OK, "record");
    CHECK(ad_fn_write_c(fn, &options, to_code, NULL, NULL) == ADREV_OK, "code");
    ad_fn_free(fn);
    fprintf(header, "int infinite_value(const real *x, real *y, real *work);\n");
    fprintf(driver, "static void test_infinite(void)\n{\n"
            "    real x = 2, y[3], spare[4];\n"
            "    check(infinite_value(&x, y, spare) == 0, \"infinite\", 0, 0, 0);"
            "\n    check(isinf(y[0]) && y[0] > 0, \"infinite\", 0, y[0], 0);\n"
            "    check(isinf(y[1]) && y[1] < 0, \"infinite\", 1, y[1], 0);\n"
            "    check(isnan(y[2]), \"infinite\", 2, y[2], 0);\n}\n");
}

// What may stand in front of all names.
static void check_names(void)
{
    static const char *const bad[] = {
        "", "1f", "my-f", "f()", "f ", " f", "int", "inline", "sin", "sinf",
        "atan2l", "isnan", "NAN", "signbit", "j0", "casadi_real", "\xc3\xa4"
    };
    static const char *const good[] = { "f", "_f1", "sine", "f_sin", "Int",
                                        "sin_", "exponential", "e", "l" };
    ad_fn *fn = NULL;
    char name[102];
    ad_c_options options = { .name = name, .functions = ALL, .casadi = true };
    size_t bytes[2];
    CHECK(ad_fn_record(&fn, singular, NULL, 2, (ad_real[]){ 1, 1 }, 1)
              == ADREV_OK, "record");
    memset(name, 'n', sizeof name);
    name[101] = '\0';
    CHECK(ad_fn_write_c(fn, &options, NULL, NULL, bytes) == ADREV_ESHAPE,
          "101 characters");
    // Each name takes as many bytes: nothing is cut.
    name[100] = '\0';
    CHECK(ad_fn_write_c(fn, &options, NULL, NULL, bytes) == ADREV_OK, "100");
    name[99] = '\0';
    CHECK(ad_fn_write_c(fn, &options, NULL, NULL, bytes + 1) == ADREV_OK, "99");
    size_t names = bytes[0] - bytes[1];
    name[1] = '\0';
    CHECK(ad_fn_write_c(fn, &options, NULL, NULL, bytes + 1) == ADREV_OK
          && bytes[0] - bytes[1] == 99 * names, "%zu names: %zu and %zu bytes",
          names, bytes[0], bytes[1]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options.name = bad[i];
        CHECK(ad_fn_write_c(fn, &options, NULL, NULL, NULL) == ADREV_ESHAPE,
              "the name '%s'", bad[i]);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        options.name = good[i];
        CHECK(ad_fn_write_c(fn, &options, NULL, NULL, NULL) == ADREV_OK,
              "the name '%s'", good[i]);
    }
    ad_fn_free(fn);
}

// Every allocation fails in turn, until none does.
static void check_memory(void)
{
    heap h = { 0 };
    const ad_allocator memory = { heap_alloc, heap_free, &h };
    const ad_fn_options options = { .allocator = &memory };
    const ad_c_options code_options = { .functions = ALL & ~8u,
                                        .casadi = true };
    const ad_real at[] = { 1, 1, 1 };
    ad_status s = ADREV_ENOMEM;
    for (size_t n = 0; s == ADREV_ENOMEM && n < 100000; n++) {
        ad_fn *fn = NULL;
        heap_fails(&h, 0, false);
        s = ad_fn_record_with(&fn, &options, several, NULL, 3, at, 4);
        CHECK(s == ADREV_OK, "%s", ad_message(s));
        heap_fails(&h, n + 1, true);
        s = ad_fn_write_c(fn, &code_options, NULL, NULL, NULL);
        CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "%s", ad_message(s));
        ad_fn_free(fn);
        CHECK(h.live == 0, "%zu allocations, %zu left", n, h.live);
    }
    CHECK(s == ADREV_OK, "never enough memory");
}

// Decimals of the tables, and others, to the last bit.
static void check_decimals(void)
{
#define DECIMAL(v) { #v, v }
    static const struct { const char *text; double v; } decimals[] = {
        DECIMAL(0), DECIMAL(1), DECIMAL(2.0), DECIMAL(0.5), DECIMAL(0.1),
        DECIMAL(0.43429448190325182765), DECIMAL(0.69314718055994530942),
        DECIMAL(1.4426950408889634074), DECIMAL(1.1283791670955125739),
        DECIMAL(3.14159265358979323846), DECIMAL(1.4616321449683622458),
        DECIMAL(9.5499954299656974e-17), DECIMAL(1e-20), DECIMAL(1e8),
        DECIMAL(1e22), DECIMAL(123456789012345678901.), DECIMAL(1e+3),
        DECIMAL(0.000123), DECIMAL(2.718281828459045235360287)
    };
    for (size_t i = 0; i < sizeof decimals / sizeof *decimals; i++) {
        const char *end = NULL;
        double v = adx_read_decimal(decimals[i].text, &end);
        CHECK(v == decimals[i].v && *end == '\0', "%s is read as %.17g",
              decimals[i].text, v);
    }
#undef DECIMAL
    (void)comma_strtod;         // nothing that is tested calls strtod
    for (int i = 0; i < 100000; i++) {
        char decimal[40];
        int digits = 1 + i % 17;
        snprintf(decimal, sizeof decimal, "%.*f", digits, sin((double)i) + 1);
        double v = adx_read_decimal(decimal, NULL);
        CHECK(v == strtod(decimal, NULL), "%s is read as %.17g", decimal, v);
    }
    char several[] = "-1\xd9\xab" "5e-07";
    adx_set_point(several);
    CHECK(strcmp(several, "-1.5e-07") == 0, "%s", several);
}

static void check_errors(void)
{
    const ad_real at[] = { 1, 1, 1 };
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record(&fn, several, NULL, 3, at, 4);
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    ad_c_options options = { .functions = ADREV_C_GRADIENT };
    size_t bytes = 77;
    s = ad_fn_write_c(fn, &options, NULL, NULL, &bytes);
    CHECK(s == ADREV_ESHAPE, "gradient of several results: %s",
          ad_message(s));
    options = (ad_c_options){ .single = true, .casadi = true };
    s = ad_fn_write_c(fn, &options, NULL, NULL, &bytes);
    CHECK(s == ADREV_ESHAPE, "CasADi's entry points with float: %s",
          ad_message(s));
    options.functions = 1u << ADREV_C_COUNT;
    s = ad_fn_write_c(fn, &options, NULL, NULL, &bytes);
    CHECK(s == ADREV_ESHAPE, "no such function: %s", ad_message(s));
    CHECK(bytes == 77, "bytes are written on failure");
    s = ad_fn_write_c(fn, NULL, NULL, NULL, NULL);
    CHECK(s == ADREV_OK, "without options: %s", ad_message(s));
    ad_c_size size[ADREV_C_COUNT] = { { 5, 5, 5, 5, 5 } };
    s = ad_fn_c_size(fn, &options, size, &bytes);
    CHECK(s == ADREV_ESHAPE && bytes == 77 && size[0].work == 5, "size of no"
          " such function: %s", ad_message(s));
    s = ad_fn_c_size(fn, NULL, NULL, &bytes);
    CHECK(s == ADREV_ESHAPE, "no sizes: %s", ad_message(s));
    // Eight operations, and the 0.1 of the last result.
    s = ad_fn_c_size(fn, NULL, size, NULL);
    CHECK(s == ADREV_OK && size[0].statements == 8 && size[0].constants == 1
          && size[0].work == 1 && size[1].bytes == 0 && size[2].bytes > 0,
          "%s: %zu statements, %zu constants", ad_message(s),
          size[0].statements, size[0].constants);
    ad_fn_free(fn);
}

// Each comparison and its guard once, and the square.
static void check_asked_twice(void)
{
    const ad_real at[1] = { 1 };
    ad_c_size size[ADREV_C_COUNT] = { { 0 } };
    ad_fn *fn = NULL;
    ad_status s = ad_fn_record(&fn, asked_twice, NULL, 1, at, 1);
    s = s == ADREV_OK ? ad_fn_c_size(fn, NULL, size, NULL) : s;
    CHECK(s == ADREV_OK && size[0].statements == 5, "%s: %zu statements",
          ad_message(s), size[0].statements);
    ad_fn_free(fn);
}

int main(int count, char **argument)
{
    if (count != 2)
        return 2;
    code = opened(argument[1], "code.c");
    header = opened(argument[1], "code.h");
    driver = opened(argument[1], "driver.c");
    fprintf(header, "typedef %s real;\n#define EPS %a\n",
            SINGLE ? "float" : "double",
            SINGLE ? (double)FLT_EPSILON : DBL_EPSILON);
    fprintf(code, "#include <math.h>\n#include \"code.h\"\n");
    fprintf(header, "#ifdef casadi_int\ntypedef casadi_int client_int;\n#else\n"
            "typedef long long int client_int;\n#endif\n");
    fputs(preamble, driver);
    fprintf(driver, "#include \"emitted_client.h\"\n");
    emit_rows();
    emit_functions();
    emit_ieee();
    emit_chain();
    emit_static();
    emit_alone();
    emit_infinite();
    check_names();
    check_decimals();
    check_errors();
    check_asked_twice();
    check_memory();
    fprintf(driver, "int main(void)\n{\n    test_ieee();\n"
            "    test_chain();\n    test_static();\n"
            "    test_alone();\n    test_infinite();\n");
    for (size_t i = 0; i < calls; i++)
        for (size_t p = 0; p < called[i].points; p++)
            fprintf(driver, "    test_%s_%zu();\n", called[i].name, p);
    for (size_t i = 0; i < calls; i++) {
        fprintf(driver, "    test_%s_patterns();\n", called[i].name);
        for (int mode = 0; mode < MODES; mode++)
            if (called[i].mask >> mode & 1)
                fprintf(driver, "    size_%s_%s();\n", called[i].name,
                        modes[mode].name);
    }
    fprintf(driver, "    printf(\"driver: %%ld passed, %%ld failed\\n\","
            " passed, failed);\n    return failed != 0;\n}\n");
    fclose(code);
    fclose(header);
    fclose(driver);
    return check_done("generator");
}
