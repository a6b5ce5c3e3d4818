// SPDX-License-Identifier: MIT-0
// flags: -pthread
// tags: formulas threads
/* tensor_errors.c - tensor programs that are refused, and their edges: texts
 * with the place of what is wrong; sizes 0, 1 and too large; what is not bound;
 * entries and accesses out of range; NULL and strides; every failing
 * allocation; one bound program in several threads.                         */

#define _POSIX_C_SOURCE 200809L
#include "implementation.h"
#include "adrev_tensor.h"
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define UNTOUCHED 77

#define OK(call) CHECK_STATUS(OK, call)
#define CHECK_STATUS(want, call)                                            \
    check_status(ADREV_##want, (call), #call, __LINE__)

static void check_status(ad_status want, ad_status got, const char *call,
                         int line)
{
    check_that(got == want, __FILE__, line, "%s: got \"%s\", want \"%s\"",
               call, ad_message(got), ad_message(want));
}

static ad_tensor *made(const char *text)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 0 };
    CHECK(ad_tensor_new(&t, text, NULL, &e) == ADREV_OK, "%s", e.text);
    return t;
}

/* --- texts ---------------------------------------------------------------- */

// line 0: no place is asked for
static const struct refused {
    int line, column;
    const char *text;
} refused[] = {
    { 2, 26, "in A[m,n], x[n];\nout y[i] = sum(j) A[j,i]*x[j];" },
    { 2, 7, "in x[1-m:n], c[m];\nout y[i] = sum(j) x[i-j]*c[j];" },
    { 0, 0, "in x[n]" },                                // no semicolon
    { 1, 20, "in x[n]; out f = x[;" },
    { 1, 18, "in x[n]; out f = y[0];" },                // not declared
    { 1, 18, "in x[n]; out f = g(x[0]);" },             // no such function
    { 0, 0, "in x[n]; out f = sin(x[0], x[1]);" },      // two arguments
    { 0, 0, "in x[n]; out f = x[0,0];" },               // two indices of one
    { 0, 0, "in x[n]; out f = x;" },                    // none of one
    { 0, 0, "in x; out f = x[0];" },                    // one of none
    { 0, 0, "in x[n]; out f = x[i];" },                 // i is not bound
    { 0, 0, "in x[n]; out f = sum(i) x[i*i];" },        // not affine
    { 0, 0, "in x[n]; out f = sum(i) x[i/2];" },
    { 0, 0, "in x[n]; out f = sum(i) x[0.5];" },
    { 0, 0, "in x[n]; out f[i] = x[i]; out f[i] = x[i];" },     // twice
    { 0, 0, "in x[n], x[n]; out f[i] = x[i];" },
    { 0, 0, "in x[n]; x[i] = 2*x[i]; out f[i] = x[i];" },
    { 0, 0, "in x[n]; out y[i<n] = y[i];" },            // of itself
    { 0, 0, "in x[n]; out f = a; a = x[0];" },          // later
    { 0, 0, "in x[n]; out f = sum(i,i) x[i];" },        // i twice
    { 0, 0, "in x[n]; out f = x[0]^x[1];" },            // no whole exponent
    { 0, 0, "in x[n]; out f = x[0]^0.5;" },
    { 0, 0, "in x[n]; out f = sum(j) 2;" },             // no range
    { 0, 0, "in x[n]; out f = (x[0];" },
    { 0, 0, "in x[n]; out f = x[0]);" },
    { 0, 0, "in x[n]; out f = [0 < 1 x[0];" },
    { 0, 0, "in x[n]; out f = [R(0)] x[0];" },          // no such relation
    { 0, 0, "rel R[n]; in x[n]; out f = sum(i) [R(i,i)] x[i];" },
    { 0, 0, "in x[n]; out f = sum(i) x[s[i]];" },       // no such map
    { 0, 0, "rel R[n,n]; in A[R]; out f = sum(i) A[i];" },
    { 0, 0, "in x[n]; out f = x[0] @ x[0];" },
    { 0, 0, "in x[n]; /* without an end" },
    { 0, 0, "in x[99999999999999999999]; out f = x[0];" },
};

static void run_refused(void)
{
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const struct refused *r = &refused[i];
        ad_tensor *t = NULL;
        ad_tensor_error e = { -1, -1, "" };
        ad_status s = ad_tensor_new(&t, r->text, NULL, &e);
        CHECK(s == ADREV_ESYNTAX && t == NULL, "%s: %s", r->text,
              ad_message(s));
        CHECK(r->line == 0 || (e.line == r->line && e.column == r->column),
              "%s: at %d:%d, not %d:%d", r->text, e.line, e.column, r->line,
              r->column);
        CHECK(e.text[0] != '\0' && memchr(e.text, 0, sizeof e.text) != NULL,
              "%s: no reason", r->text);
        CHECK(e.line <= 0 || strchr(e.text, '^') != NULL, "%s: no caret in %s",
              r->text, e.text);
        CHECK_STATUS(ESYNTAX, ad_tensor_new(&t, r->text, NULL, NULL));
        if (s == ADREV_OK)
            ad_tensor_free(t);
    }
}

// Every text that is cut off somewhere, or has one other character, is taken
// or refused; nothing else happens.
static void run_spoilt(void)
{
    static const char text[] =
        "rel R[m,n]; map s[m]->n; in A[R], x[1-m:n]; /* c */\n"
        "y[i<m] = sum(j: R(i,j), j != 1 | i < 2) A[i,j]*x?[s[i]-j]^2;\n"
        "out f = sum(i) [exists(j<n: R(i,j))] exp(y[i]/2.5) - detach(y[0]);";
    static const char others[] = "[](),;:=<>!?*+-/^ \n0z\x7f\xff";
    char spoilt[sizeof text];
    for (size_t cut = 0; cut < sizeof text - 1; cut++)
        for (size_t k = 0; k < sizeof others; k++) {
            ad_tensor *t = NULL;
            ad_tensor_error e;
            memcpy(spoilt, text, sizeof text);
            spoilt[cut] = others[k];            // the last is the end
            ad_status s = ad_tensor_new(&t, spoilt, NULL, &e);
            CHECK((s == ADREV_OK) == (t != NULL)
                      && (s == ADREV_OK || s == ADREV_ESYNTAX),
                  "%s: %s", spoilt, ad_message(s));
            ad_tensor_free(t);
        }
}

// depth times what opens, a 1, and depth times what closes
static ad_status nested(const char *opens, const char *closes, size_t depth)
{
    ad_tensor *t = NULL;
    size_t each = strlen(opens) + strlen(closes);
    char *text = malloc(each * depth + 32);
    if (text == NULL)
        return ADREV_ENOMEM;
    size_t at = (size_t)sprintf(text, "in x; out f = ");
    for (size_t i = 0; i < depth; i++)
        at += (size_t)sprintf(text + at, "%s", opens);
    text[at++] = 'x';
    for (size_t i = 0; i < depth; i++)
        at += (size_t)sprintf(text + at, "%s", closes);
    memcpy(text + at, ";", 2);
    ad_status s = ad_tensor_new(&t, text, NULL, NULL);
    ad_tensor_free(t);
    free(text);
    return s;
}

static void run_nested(void)
{
    static const char *const kinds[][2] = {
        { "(", ")" }, { "sin(", ")" }, { "[0 < 1] ", "" }, { "1 + (", ")" },
        { "detach(", ")" }
    };
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        OK(nested(kinds[k][0], kinds[k][1], 200));
        CHECK_STATUS(ESYNTAX, nested(kinds[k][0], kinds[k][1], 1000000));
    }
}

/* --- binding -------------------------------------------------------------- */

// The status of bind, where text has size n, and m where that is not negative.
static ad_status bound(const char *text, int n, int m, const char *names)
{
    ad_tensor_error e = { 0 };
    ad_tensor *t = made(text);
    if (t == NULL)
        return ADREV_ESYNTAX;
    OK(ad_tensor_size(t, "n", (size_t)n));
    if (m >= 0)
        OK(ad_tensor_size(t, "m", (size_t)m));
    ad_status s = ad_tensor_bind(t, &e);
    CHECK(names == NULL || strstr(e.text, names) != NULL, "%s: no %s in %s",
          text, names, e.text);
    ad_tensor_free(t);
    return s;
}

static void run_accesses(void)
{
    static const char plain[] =
        "in x[n], c[m]; out y[i<n] = sum(j) x[i-j]*c[j];";
    CHECK_STATUS(ESHAPE, bound(plain, 4, 2, "x[-1]"));
    OK(bound(plain, 4, 1, NULL));                   // j is 0
    OK(bound(plain, 4, 0, NULL));                   // there is no j
    OK(bound("in x[n], c[m]; out y[i<n] = sum(j) x?[i-j]*c[j];", 4, 2, NULL));
    OK(bound("in x[n], c[m]; out y[i<n] = sum(j: j <= i) x[i-j]*c[j];", 4, 2,
             NULL));
    OK(bound("in x[n], c[m];"
             " out y[i<n] = [i >= m-1] sum(j) x[i-j]*c[j];", 4, 2, NULL));
    CHECK_STATUS(ESHAPE,
                 bound("in x[n]; out f = sum(i<n) x[i+1];", 3, -1, "x[3]"));
    OK(bound("in x[n]; out f = sum(i: i != n-1) (x[i+1] + x[i]);", 3, -1,
             NULL));
    CHECK_STATUS(ESHAPE, bound("in x[n]; out f = x[2];", 2, -1, "x[2]"));
    OK(bound("in x[n]; out f = x[2];", 3, -1, NULL));
    CHECK_STATUS(ESHAPE, bound("in x[n]; y[i<n] = x[i]; out f = y[3];", 3, -1,
                               "y[3]"));
}

// A program that is not bound as a whole computes nothing.
static void run_unbound(void)
{
    static const char text[] =
        "rel R[n,n]; map s[n]->n; in A[R], x[n];"
        " out y[i] = sum(j) A[i,j]*x[s[j]];";
    static const int rows[] = { 0, 1 }, columns[] = { 1, 0 };
    static const int s[] = { 1, 0 };
    const int *const column[] = { rows, columns };
    const ad_real A[] = { 2, 3 }, v[] = { 5, 7 };
    const ad_real *x[] = { A, v };
    for (int given = 0; given < 8; given++) {
        ad_real y[] = { UNTOUCHED, UNTOUCHED };
        ad_real *ys[] = { y };
        ad_tensor *t = made(text);
        if (t == NULL)
            return;
        if (given & 1)
            OK(ad_tensor_size(t, "n", 2));
        if (given & 2)
            OK(ad_tensor_relation(t, "R", 2, column));
        if (given & 4)      // on n, whose size it needs
            check_status((given & 1) ? ADREV_OK : ADREV_ESHAPE,
                         ad_tensor_map(t, "s", s), "map", __LINE__);
        ad_status got = ad_tensor_eval(t, x, ys);
        CHECK(got == (given == 7 ? ADREV_OK : ADREV_ESHAPE), "%d: %s", given,
              ad_message(got));
        CHECK(given == 7 ? y[0] == 10 && y[1] == 21
                         : y[0] == UNTOUCHED && y[1] == UNTOUCHED,
              "%d: (%g, %g)", given, (double)y[0], (double)y[1]);
        ad_tensor_free(t);
    }
}

// NULL; and ranges whose size has not been given.
static void run_missing(ad_tensor *t, const int *const column[],
                        const ptrdiff_t stride[])
{
    const int *const half[] = { column[0], NULL };
    const int falling[] = { 0, 1, 0 };
    CHECK_STATUS(ESHAPE, ad_tensor_size(NULL, "n", 2));
    CHECK_STATUS(ESHAPE, ad_tensor_size(t, NULL, 2));
    CHECK_STATUS(ESHAPE, ad_tensor_relation(t, "R", 1, NULL));
    CHECK_STATUS(ESHAPE, ad_tensor_relation(t, "R", 1, half));
    CHECK_STATUS(ESHAPE, ad_tensor_layout(t, "x", NULL));
    CHECK_STATUS(ESHAPE, ad_tensor_layout(NULL, "x", stride));
    CHECK_STATUS(ESHAPE, ad_tensor_csr(t, "R", falling, column[0]));
    CHECK_STATUS(ESHAPE, ad_tensor_map(t, "s", column[0]));
    OK(ad_tensor_size(t, "n", 2));
    CHECK_STATUS(ESHAPE, ad_tensor_csr(t, "R", falling, column[0]));
    CHECK_STATUS(ESHAPE, ad_tensor_csr(t, "R", NULL, column[0]));
    CHECK_STATUS(ESHAPE, ad_tensor_map(t, "s", NULL));
}

// Rows are not those of another size; they are when the size is as before, or
// they are given again.
static void run_other_rows(void)
{
    const int start[] = { 0, 1, 2, 2 }, column[] = { 1, 0 };
    ad_tensor *t = made("rel R[m,n]; in A[R]; out y[i] = sum(j) A[i,j];");
    ad_tensor_error e = { 0 };
    if (t == NULL)
        return;
    OK(ad_tensor_size(t, "m", 2));
    OK(ad_tensor_size(t, "n", 2));
    OK(ad_tensor_csr(t, "R", start, column));
    for (size_t m = 1; m < 4; m++) {
        OK(ad_tensor_size(t, "m", m));
        ad_status s = ad_tensor_bind(t, &e);
        CHECK(s == (m == 2 ? ADREV_OK : ADREV_ESHAPE)
                  && (m == 2 || strstr(e.text, "the rows of the relation 'R'")),
              "%zu rows: %s, %s", m, ad_message(s), e.text);
    }
    OK(ad_tensor_csr(t, "R", start, column));
    OK(ad_tensor_bind(t, NULL));
    ad_tensor_free(t);
}

static void run_names(void)
{
    ad_tensor *t = made("rel R[n,n], T[n,n,n]; map s[n]->n; in A[R], x[n];"
                        " w[i] = x[i]; out y[i] = sum(j) A[i,j]*w[s[j]];");
    const int zero[] = { 0 };
    const int *const column[] = { zero, zero };
    const ptrdiff_t stride[] = { 1 };
    if (t == NULL)
        return;
    CHECK_STATUS(ESYNTAX, ad_tensor_size(t, "m", 2));
    CHECK_STATUS(ESYNTAX, ad_tensor_size(t, "x", 2));
    CHECK_STATUS(ESYNTAX, ad_tensor_relation(t, "S", 1, column));
    CHECK_STATUS(ESYNTAX, ad_tensor_relation(t, "s", 1, column));
    CHECK_STATUS(ESYNTAX, ad_tensor_csr(t, "n", zero, zero));
    CHECK_STATUS(ESYNTAX, ad_tensor_csr(t, "T", zero, zero));
    CHECK_STATUS(ESYNTAX, ad_tensor_map(t, "R", zero));
    CHECK_STATUS(ESYNTAX, ad_tensor_layout(t, "w", stride));
    CHECK_STATUS(ESYNTAX, ad_tensor_layout(t, "z", stride));
    CHECK_STATUS(ELIMIT, ad_tensor_size(t, "n", (size_t)INT32_MAX + 1));
    CHECK_STATUS(ELIMIT, ad_tensor_relation(t, "R", (size_t)INT32_MAX + 1,
                                            column));
    run_missing(t, column, stride);
    ad_tensor_free(t);
    ad_tensor_free(NULL);
    CHECK_STATUS(ESHAPE, ad_tensor_new(NULL, "in x; out f = x;", NULL, NULL));
    CHECK_STATUS(ESHAPE, ad_tensor_new(&t, NULL, NULL, NULL));
}

// Entries of relations, whichever way they are given.
static void run_entries(void)
{
    static const struct { int entries, row[3], column[3]; const char *names; }
    wrong[] = {
        { 1, { 2 }, { 0 }, "0" }, { 1, { -1 }, { 0 }, "0" },
        { 2, { 0, 0 }, { 0, 3 }, "1" }, { 2, { 0, 1 }, { 0, -1 }, "1" },
        { 3, { 0, 1, 0 }, { 1, 1, 1 }, "2" }
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const int *const column[] = { wrong[i].row, wrong[i].column };
        ad_tensor_error e = { 0 };
        ad_tensor *t = made("rel R[m,n]; in A[R];"
                            " out y[i] = sum(j) A[i,j];");
        OK(ad_tensor_size(t, "m", 2));
        OK(ad_tensor_size(t, "n", 3));
        ad_status s = ad_tensor_relation(t, "R", (size_t)wrong[i].entries,
                                         column);
        bool later = s == ADREV_OK;
        if (later)
            s = ad_tensor_bind(t, &e);
        CHECK(s == ADREV_ESHAPE
                  && (!later || strstr(e.text, wrong[i].names) != NULL),
              "entries %zu: %s, %s", i, ad_message(s), e.text);
        ad_tensor_free(t);
    }
}

static void run_rows_and_maps(void)
{
    static const int starts[][3] = { { 0, 2, 1 }, { 1, 1, 2 }, { 0, -1, 2 },
                                     { 0, 1, 2 } };
    static const int columns[] = { 0, 3 };
    static const int values[][2] = { { 0, 2 }, { -1, 0 } };
    for (int i = 0; i < 4; i++) {
        ad_tensor *t = made("rel R[m,n]; in A[R]; out y[i] = sum(j) A[i,j];");
        OK(ad_tensor_size(t, "m", 2));
        OK(ad_tensor_size(t, "n", 3));
        ad_status s = ad_tensor_csr(t, "R", starts[i], columns);
        CHECK(s == ADREV_ESHAPE
                  || (s == ADREV_OK && ad_tensor_bind(t, NULL) == ADREV_ESHAPE),
              "rows %d", i);
        ad_tensor_free(t);
    }
    for (int i = 0; i < 2; i++) {
        ad_tensor *t = made("map s[m]->n; in x[n]; out y[i<m] = x[s[i]];");
        OK(ad_tensor_size(t, "m", 2));
        OK(ad_tensor_size(t, "n", 2));
        ad_status s = ad_tensor_map(t, "s", values[i]);
        CHECK(s == ADREV_ESHAPE
                  || (s == ADREV_OK && ad_tensor_bind(t, NULL) == ADREV_ESHAPE),
              "map %d", i);
        ad_tensor_free(t);
    }
}

/* --- sizes ---------------------------------------------------------------- */

static void run_small_sizes(void)
{
    for (size_t n = 0; n < 3; n++) {
        const ad_real A[] = { 2, 3, 5, 7 }, v[] = { 1, 10 };
        const ad_real *x[] = { A, v };
        const ad_real w[] = { 1, 1 }, one = 1;
        const ad_real *ws[] = { w, &one };
        ad_real y[] = { UNTOUCHED, UNTOUCHED, UNTOUCHED };
        ad_real f = UNTOUCHED;
        ad_real *ys[] = { y, &f };
        ad_real g[] = { UNTOUCHED, UNTOUCHED, UNTOUCHED };
        ad_real *gs[] = { NULL, g };
        ad_tensor *t = made("in A[n,n], x[n]; out y[i] = sum(j) A[i,j]*x[j];"
                            " out f = 4 + sum(i) y[i];");
        OK(ad_tensor_size(t, "n", n));
        OK(ad_tensor_vjp(t, x, ws, ys, gs));
        CHECK(y[n] == UNTOUCHED && g[n] == UNTOUCHED, "n = %zu: beyond", n);
        if (n == 0)
            CHECK(f == 4, "an empty sum: got %g", (double)f);
        if (n == 1)
            CHECK(y[0] == 2 && f == 6 && g[0] == 4, "n = 1: %g, %g, %g",
                  (double)y[0], (double)f, (double)g[0]);
        if (n == 2)
            CHECK(y[0] == 32 && y[1] == 75 && f == 111 && g[0] == 14
                  && g[1] == 20, "n = 2: %g", (double)f);
        ad_tensor_free(t);
    }
}

static void run_large_sizes(void)
{
    static const size_t sizes[] = { (size_t)1 << 31, (size_t)1 << 40,
                                    (size_t)-1 / 2, (size_t)-1 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ad_tensor *t = made("in A[n,n,n]; out y[i,j] = sum(k) A[i,j,k];");
        ad_status s = ad_tensor_size(t, "n", sizes[i]);
        CHECK(s == ADREV_ELIMIT, "n = %zu: %s", sizes[i],
              ad_message(s));
        ad_tensor_free(t);
    }
}

/* --- arrays --------------------------------------------------------------- */

static ad_tensor *product(void)
{
    ad_tensor *t = made("in A[m,n], x[n]; out y[i] = sum(j) A[i,j]*x[j];"
                        " out f = sum(j) x[j]^2;");
    if (t != NULL) {
        OK(ad_tensor_size(t, "m", 2));
        OK(ad_tensor_size(t, "n", 3));
    }
    return t;
}

static const ad_real A6[] = { 1, 2, 3, 4, 5, 6 }, x3[] = { 1, 10, 100 };

static void run_null(void)
{
    ad_tensor *t = product();
    const ad_real *x[] = { A6, x3 }, *half[] = { A6, NULL };
    const ad_real w2[] = { 1, 1 }, *w[] = { w2, NULL };
    ad_real f = UNTOUCHED, y2[] = { UNTOUCHED, UNTOUCHED }, g[3] = { 0 };
    ad_real dA[6] = { 0 };
    ad_real *only_f[] = { NULL, &f }, *y[] = { y2, NULL };
    ad_real *dx[] = { NULL, g }, *both[] = { dA, g };
    if (t == NULL)
        return;
    OK(ad_tensor_eval(t, x, only_f));
    CHECK(f == 10101, "f: got %g", (double)f);
    CHECK_STATUS(ESHAPE, ad_tensor_eval(t, half, y));
    CHECK_STATUS(ESHAPE, ad_tensor_eval(t, NULL, y));
    CHECK_STATUS(ESHAPE, ad_tensor_eval(NULL, x, y));
    CHECK(y2[0] == UNTOUCHED, "touched");
    OK(ad_tensor_vjp(t, x, w, NULL, dx));           // no seed for f: zero
    CHECK(g[0] == 5 && g[1] == 7 && g[2] == 9, "A' w: %g", (double)g[0]);
    OK(ad_tensor_vjp(t, x, w, y, both));
    CHECK(g[0] == 5 && dA[5] == 100 && y2[1] == 654, "both: %g", (double)dA[5]);
    OK(ad_tensor_vjp(t, x, NULL, NULL, dx));        // no seeds at all
    CHECK(g[0] == 0 && g[2] == 0, "no seeds: %g", (double)g[0]);
    OK(ad_tensor_jvp(t, x, half, y, NULL));
    CHECK_STATUS(ESHAPE, ad_tensor_gradient(t, x, &f, both));   // two results
    ad_tensor_free(t);
}

// A stored by columns, y with gaps.
static void run_layout(void)
{
    const ad_real columns[] = { 1, 4, 2, 5, 3, 6 };
    const ptrdiff_t by_column[] = { 1, 2 }, gaps[] = { 2 };
    const ad_real *x[] = { columns, x3 }, w2[] = { 1, 0, 1 };
    const ad_real *w[] = { w2, NULL };
    ad_real y2[] = { 0, UNTOUCHED, 0 }, dA[6] = { 0 }, *y[] = { y2, NULL };
    ad_real *dx[] = { dA, NULL };
    ad_tensor *t = product();
    if (t == NULL)
        return;
    OK(ad_tensor_layout(t, "A", by_column));
    OK(ad_tensor_layout(t, "y", gaps));
    OK(ad_tensor_vjp(t, x, w, y, dx));
    CHECK(y2[0] == 321 && y2[1] == UNTOUCHED && y2[2] == 654, "y: %g, %g, %g",
          (double)y2[0], (double)y2[1], (double)y2[2]);
    CHECK(dA[0] == 1 && dA[1] == 1 && dA[2] == 10 && dA[5] == 100, "dA");
    ad_tensor_free(t);
}

/* --- memory --------------------------------------------------------------- */

typedef struct heap { long asked, failing, live; bool for_ever; } heap;

static void *heap_alloc(size_t bytes, void *user)
{
    heap *h = user;
    h->asked++;
    if (h->for_ever ? h->failing > 0 && h->asked >= h->failing
                    : h->asked == h->failing)
        return NULL;
    void *block = malloc(bytes);
    h->live += block != NULL;
    return block;
}

static void heap_free(void *block, void *user)
{
    heap *h = user;
    h->live -= block != NULL;
    free(block);
}

static const char memory_text[] =
    "rel R[n,n]; map s[n]->n; in A[R], x[n];\n"
    "y[i] = sum(j) A[i,j]*x[s[j]]; z[i] = maximum(j<n) x[j]*y[i];\n"
    "out f = sum(i) (atan2(y[i], x[i])/x[i] + exp(y[i]))"
    " + sum(i: i != 1) z[i]^3;";

// A step's status is OK or ENOMEM; true: OK.
static bool clean(ad_status s)
{
    CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "got \"%s\"", ad_message(s));
    return s == ADREV_OK;
}

static bool bind_three(ad_tensor *t)
{
    static const int rows[] = { 2, 0, 1 }, columns[] = { 0, 1, 1 };
    static const int s[] = { 2, 0, 1 };
    const int *const column[] = { rows, columns };
    return clean(ad_tensor_size(t, "n", 3))
        && clean(ad_tensor_relation(t, "R", 3, column))
        && clean(ad_tensor_map(t, "s", s)) && clean(ad_tensor_bind(t, NULL));
}

static bool query_three(ad_tensor *t, ad_real g[6])
{
    const ad_real A[] = { 1, 2, 3 }, v[] = { 0.5, -1, 0.25 }, one = 1;
    const ad_real *x[] = { A, v }, *w[] = { &one };
    ad_real f = UNTOUCHED, df = UNTOUCHED;
    ad_real *y[] = { &f }, *dy[] = { &df }, *dx[] = { g, g + 3 };
    bool good = clean(ad_tensor_eval(t, x, y));
    CHECK(good || f == UNTOUCHED, "eval touched f");
    if (!good || !clean(ad_tensor_jvp(t, x, x, NULL, dy)))
        return false;
    good = clean(ad_tensor_vjp(t, x, w, NULL, dx));
    CHECK(good || g[0] == UNTOUCHED, "vjp touched the gradient");
    if (!good)
        return false;
    ad_real hv[6] = { UNTOUCHED };
    ad_real *hvs[] = { hv, hv + 3 };
    good = clean(ad_tensor_hvp(t, x, w, x, hvs));
    CHECK(good || hv[0] == UNTOUCHED, "hvp touched hv");
    return good;
}

// True: nothing failed.
static bool run_with(heap *h, ad_real g[6])
{
    ad_allocator from = { heap_alloc, heap_free, h };
    ad_tensor_options options = { .allocator = &from };
    ad_tensor *t = NULL;
    bool good = clean(ad_tensor_new(&t, memory_text, &options, NULL));
    bool is_bound = good && bind_three(t);
    good = is_bound && query_three(t, g);
    if (!good && t != NULL) {       // with memory back everything works
        h->failing = 0;
        CHECK((is_bound || bind_three(t)) && query_three(t, g),
              "after a failure");
    }
    ad_tensor_free(t);
    CHECK(h->live == 0, "allocation %ld: %ld blocks are left", h->failing,
          h->live);
    return good;
}

static void run_memory(void)
{
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        bool good = false;
        for (long n = 1; !good && n < 100000; n++) {
            heap h = { .failing = n, .for_ever = for_ever != 0 };
            ad_real g[6] = { UNTOUCHED };
            good = run_with(&h, g);
        }
        CHECK(good, "it never succeeds");
    }
}

/* --- threads -------------------------------------------------------------- */

enum { THREADS = 4, RUNS = 200 };

typedef struct worker {
    pthread_t thread;
    ad_tensor *t;
    ad_real g[6];
    bool same;
} worker;

// CHECK is for the main thread: a worker writes down what it got.
static void *work(void *user)
{
    worker *me = user;
    const ad_real v[] = { 0.5, -1, 0.25 }, A[] = { 1, 2, 3 }, one = 1;
    const ad_real *x[] = { A, v }, *w[] = { &one };
    me->same = true;
    for (int i = 0; i < RUNS; i++) {
        ad_real g[6];
        ad_real *dx[] = { g, g + 3 };
        if (ad_tensor_vjp(me->t, x, w, NULL, dx) != ADREV_OK)
            me->same = false;
        else if (i == 0)
            memcpy(me->g, g, sizeof g);
        else
            me->same = me->same && memcmp(me->g, g, sizeof g) == 0;
    }
    return NULL;
}

/* --- a size that only a result has ---------------------------------------- */

static void run_size_of_result(void)
{
    const ad_real v[] = { 3, 1 }, w[] = { 1, 10, 100 };
    ad_real y[3], g[2], d[3], h[2];
    const ad_real *const x[] = { v, NULL }, *const seed[] = { w };
    ad_real *const to[] = { y }, *const dx[] = { g, NULL };
    ad_real *const dy[] = { d }, *const hv[] = { h, NULL };
    ad_tensor *t = made("in x[n], a[k]; out y[i<k] = x[0]^2 + [i==1] x[1];");
    if (t == NULL)
        return;
    OK(ad_tensor_size(t, "n", 2));
    OK(ad_tensor_size(t, "k", 3));
    OK(ad_tensor_eval(t, x, to));
    OK(ad_tensor_vjp(t, x, seed, NULL, dx));
    OK(ad_tensor_jvp(t, x, x, NULL, dy));
    OK(ad_tensor_hvp(t, x, seed, x, hv));
    CHECK(y[0] == 9 && y[1] == 10 && y[2] == 9 && g[0] == 666 && g[1] == 10
              && d[0] == 18 && d[1] == 19 && h[0] == 666 && h[1] == 0,
          "(%g, %g, %g), (%g, %g)", (double)y[0], (double)y[1], (double)y[2],
          (double)g[0], (double)g[1]);
    ad_tensor_free(t);
}

static void run_threads(void)
{
    worker workers[THREADS + 1];
    ad_tensor *t = made(memory_text);
    if (t == NULL || !bind_three(t))
        return;
    for (int i = 0; i <= THREADS; i++)
        workers[i].t = t;
    work(&workers[THREADS]);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0,
              "no thread");
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK(workers[i].same && memcmp(workers[i].g, workers[THREADS].g,
                                        sizeof workers[i].g) == 0,
              "thread %d has other bits", i);
    }
    ad_tensor_free(t);
}

int main(void)
{
    run_refused();
    run_spoilt();
    run_nested();
    run_accesses();
    run_unbound();
    run_names();
    run_other_rows();
    run_entries();
    run_rows_and_maps();
    run_small_sizes();
    run_large_sizes();
    run_null();
    run_layout();
    run_size_of_result();
    run_memory();
    run_threads();
    return check_done("tensor_errors");
}
