// SPDX-License-Identifier: MIT-0
// tags: formulas recorded code last-bits
/* sizes.c - ad_tensor_write_c with sizes as arguments: one file of C code,
 * compiled once, gives at all sizes what the library gives that is bound to
 * them.
 *
 *     sizes                    the texts below, and random ones
 *     sizes 500                as many random ones; sizes 1 12345 the one of a
 *                              seed, nothing else
 *
 * Each text is called at its least and its largest sizes, and at some between,
 * with arrays of exactly as many numbers as there are at these sizes; what lies
 * between two results stays. Code that reads only what the text says gives the
 * same numbers but for rounding: sums may be in another order. Where a random
 * text is refused because a read is outside for some sizes, the library refuses
 * it for those, too.                                                        */

#define _POSIX_C_SOURCE 200809L     // mkdtemp
#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#include "adrev_tensor.h"
#include "check.h"
#include "shell.h"
#include "tensor_bind.h"
#include "tensor_code.h"

#include <dlfcn.h>
#include <unistd.h>

enum { RANDOM = 40, MOST = 3000, OPEN = 3, REFS = 125, CALLS = 2 };

static const bool single = sizeof(ad_real) == sizeof(float);

static char top[] = "/tmp/adrev-sizes-XXXXXX";

typedef struct size_range {
    const char *name;
    size_t least, most;
} size_range;

typedef struct subject {
    char what[100];
    char text[CODE_TEXT];
    tree *of;                   // NULL: it has neither relations nor maps
    size_range size[2 * OPEN];  // open ones first
    int sizes, open;
    unsigned functions;         // bits of enum code_part
    bool exact;                 // whole numbers give whole ones, or halves
    int number;                 // of its code
    ad_tensor *ref[REFS];       // bound to given sizes
    size_t at[REFS][OPEN];
    int refs;
} subject;

static subject *subjects;
static int count;
static int written, outside, undecided;

/* --- the library at given sizes ------------------------------------------- */

// A text with these open sizes; bound or not.
static ad_tensor *given(subject *s, const size_t at[], ad_tensor_error *e)
{
    ad_tensor *t = NULL;
    ad_status status = ad_tensor_new(&t, s->text, NULL, e);
    if (!CHECK(status == ADREV_OK, "%s: %s", s->what, e->text))
        return NULL;
    for (int i = 0; i < s->sizes && status == ADREV_OK; i++)
        status = ad_tensor_size(t, s->size[i].name,
                                i < s->open ? at[i] : s->size[i].most);
    for (int i = 0; s->of != NULL && i < s->of->relations; i++)
        if (!s->of->relation[i].gone && status == ADREV_OK)
            status = bind_relation(t, &s->of->relation[i]);
    for (int i = 0; s->of != NULL && i < s->of->maps; i++)
        if (!s->of->map[i].gone && status == ADREV_OK)
            status = ad_tensor_map(t, s->of->map[i].name, s->of->map[i].value);
    uint64_t seed = 99;
    for (uint32_t i = 1; s->of == NULL && i < t->tree.relation_count; i++)
        status = code_give_relation(t, code_name(s->text,
                                                 t->tree.relation[i].name), i,
                                    &seed);
    for (uint32_t i = 1; s->of == NULL && i < t->tree.map_count; i++)
        status = code_give_map(t, code_name(s->text, t->tree.map[i].name), i,
                               &seed);
    CHECK(status == ADREV_OK, "%s: %s", s->what, ad_message(status));
    return t;
}

// The next sizes: of a range with more than five numbers its ends, those next
// to them and the middle. False: there are no more.
static bool next_sizes(const subject *s, size_t at[])
{
    for (int i = 0; i < s->open; i++) {
        size_t least = s->size[i].least, most = s->size[i].most;
        size_t middle = (least + most) / 2;
        if (at[i] < most) {
            at[i] = most - least < 5 || at[i] == least || at[i] + 1 >= most
                  ? at[i] + 1 : at[i] < middle ? middle : most - 1;
            return true;
        }
        at[i] = least;
    }
    return false;
}

// Strides are those of the largest number of each index.
static void share_layout(subject *s, bool input, int order)
{
    int64_t extent[8] = { 0 };
    ptrdiff_t stride[8];
    char name[70] = "";
    const adx_tree *tree = &s->ref[0]->tree;
    int dims = (int)code_value_of(s->ref[0], input, order)->dims;
    for (int r = 0; r < s->refs; r++)
        for (int d = 0; d < dims; d++) {
            int64_t n = code_value_of(s->ref[r], input, order)->extent[d];
            extent[d] = n > extent[d] ? n : extent[d];
        }
    for (uint32_t i = 1; i < tree->array_count; i++) {
        const adx_tensor_array *a = &tree->array[i];
        if ((input ? a->formula == 0 : a->out) && (int)a->order == order)
            memcpy(name, s->text + a->name.at, a->name.length);
    }
    ptrdiff_t step = 1;
    for (int d = dims; d-- > 0; step *= (ptrdiff_t)extent[d])
        stride[d] = step;
    for (int r = 0; r < s->refs && dims > 0; r++)
        CHECK(ad_tensor_layout(s->ref[r], name, stride) == ADREV_OK
                  && ad_tensor_bind(s->ref[r], NULL) == ADREV_OK,
              "%s: layout of %s", s->what, name);
}

// False: it cannot be bound to some of the sizes.
static bool bind_refs(subject *s)
{
    size_t at[OPEN];
    ad_tensor_error e = { 0, 0, "" };
    for (int i = 0; i < s->open; i++)
        at[i] = s->size[i].least;
    do {
        ad_tensor *t = given(s, at, &e);
        memcpy(s->at[s->refs], at, sizeof at);
        s->ref[s->refs++] = t;
        if (ad_tensor_bind(t, &e) != ADREV_OK)
            return false;
    } while (next_sizes(s, at) && s->refs < REFS);
    return true;
}

/* --- writing -------------------------------------------------------------- */

static void put(const char *text, size_t n, void *user)
{
    if (user != NULL)
        CHECK(fwrite(text, 1, n, user) == n, "fwrite");
}

static FILE *all;

// f7_value(n_, m_, x, ...) by the arrays alone; sizes are in f7_size.
static void put_wrapper(const subject *s, enum code_part k)
{
    static const char *const parameters[CODE_PARTS] = {
        "const % *const x[], % *const y[], % *work",
        "const % *const x[], const % *const v[], % *const y[], % *const dy[], "
        "% *work",
        "const % *const x[], const % *const w[], % *const y[], % *const dx[], "
        "% *work",
        "const % *const x[], const % *const w[], const % *const v[], "
        "% *const hv[], % *work",
        "const % *const x[], % *f, % *const g[], % *work"
    };
    static const char *const arguments[CODE_PARTS] = {
        "x, y, work", "x, v, y, dy, work", "x, w, y, dx, work",
        "x, w, v, hv, work", "x, f, g, work"
    };
    const char *name = code_names[k];
    for (int line = 0; line < 2; line++) {
        fprintf(all, line == 0 ? "extern int w%d_%s(" : ";\nint w%d_%s(",
                s->number, name);
        for (const char *c = parameters[k]; *c != '\0'; c++)
            if (*c == '%')
                fprintf(all, single ? "float" : "double");
            else
                fputc(*c, all);
        fprintf(all, ")");
    }
    fprintf(all, "\n{\n    return f%d_%s(", s->number, name);
    for (int i = 0; i < s->open; i++)
        fprintf(all, "w%d_size[%d], ", s->number, i);
    fprintf(all, "%s);\n}\n", arguments[k]);
}

static void put_wrappers(const subject *s)
{
    fprintf(all, "extern long w%d_size[%d];\nlong w%d_size[%d];\n", s->number,
            OPEN, s->number, OPEN);
    for (int k = 0; k < CODE_PARTS; k++)
        if (s->functions >> k & 1)
            put_wrapper(s, (enum code_part)k);
    fprintf(all, "extern const long w%d_work[%d];\nconst long w%d_work[%d] = {\n",
            s->number, CODE_PARTS, s->number, CODE_PARTS);
    for (int k = 0; k < CODE_PARTS; k++)
        if (s->functions >> k & 1)
            fprintf(all, "    f%d_%s_WORK,\n", s->number, code_names[k]);
        else
            fprintf(all, "    0,\n");
    fprintf(all, "};\nextern const long w%d_limit[%d];\n"
            "const long w%d_limit[%d] = { ", s->number, 2 * OPEN + 1, s->number,
            2 * OPEN + 1);
    for (int i = 0; i < s->open; i++)
        fprintf(all, "f%d_%s_LEAST, f%d_%s_MOST, ", s->number, s->size[i].name,
                s->number, s->size[i].name);
    fprintf(all, "0 };\n");
}

// The code of a subject; to NULL: it is only tried.
static ad_status write_one(subject *s, ad_tensor *t, FILE *to,
                           ad_tensor_error *e)
{
    char name[16];
    ad_c_argument a[OPEN + 1] = { { NULL, 0 } };
    ad_c_options o = { .name = name, .single = single, .exported = true,
                       .arguments = a, .reason = e->text };
    snprintf(name, sizeof name, "f%d", s->number);
    for (int i = 0; i < s->open; i++)
        a[i] = (ad_c_argument){ s->size[i].name, s->size[i].least };
    for (int k = 0; k < CODE_PARTS; k++)
        if (s->functions >> k & 1)
            o.functions |= code_bits[k];
    return ad_tensor_write_c(t, &o, put, to, NULL);
}

// What cannot be written is told by its words.
static void refuse(subject *s, const ad_tensor_error *e, bool bound)
{
    bool beyond = strstr(e->text, " is ") != NULL
               && strstr(e->text, " at ") != NULL;
    CHECK(s->of != NULL, "%s: refused: %s", s->what, e->text);
    CHECK(e->text[0] != '\0', "%s: no words", s->what);
    CHECK(!beyond || !bound || s->of == NULL, "%s: can be bound, but: %s",
          s->what, e->text);
    outside += beyond;
    undecided += !beyond;
    if (getenv("SIZES_VERBOSE"))
        printf("%s\n%s\n%s\n", s->what, s->text, e->text);
}

static void close_refs(subject *s)
{
    for (int i = 0; i < s->refs; i++)
        ad_tensor_free(s->ref[i]);
    s->refs = 0;
}

// Binds and writes a subject. False: it was refused.
static bool add(subject *s)
{
    ad_tensor_error e = { 0, 0, "" };
    ad_tensor_cost cost;
    size_t at[OPEN];
    bool bound = bind_refs(s);
    for (int i = 0; i < s->open; i++)
        at[i] = s->size[i].most;
    ad_tensor *t = given(s, at, &e);
    s->functions = 1u << CODE_VALUE | 1u << CODE_JVP | 1u << CODE_VJP;
    ad_status status = ad_tensor_bind(t, &e);
    if (status == ADREV_OK
        && ad_tensor_count(t, ADREV_TENSOR_HVP, NULL, &cost) == ADREV_OK)
        s->functions |= 1u << CODE_HVP;
    if (status == ADREV_OK && t->tree.outs == 1
        && code_value_of(t, false, 0)->dims == 0)
        s->functions |= 1u << CODE_GRADIENT;
    if (status == ADREV_OK)
        status = write_one(s, t, NULL, &e);
    if (status == ADREV_OK && CHECK(bound, "%s: cannot be bound to all sizes",
                                    s->what)) {
        status = write_one(s, t, all, &e);
        CHECK(status == ADREV_OK, "%s: %s", s->what, e.text);
        put_wrappers(s);
        for (int i = 0; i < (int)s->ref[0]->tree.inputs; i++)
            share_layout(s, true, i);
        for (int i = 0; i < (int)s->ref[0]->tree.outs; i++)
            share_layout(s, false, i);
        written++;
    } else {
        refuse(s, &e, bound);
        close_refs(s);
    }
    ad_tensor_free(t);
    return s->refs > 0;
}

/* --- texts ---------------------------------------------------------------- */

static subject *next(const char *what)
{
    subject *s = &subjects[count < MOST ? count : MOST - 1];
    memset(s, 0, sizeof *s);
    snprintf(s->what, sizeof s->what, "%.90s", what);
    s->number = count++;
    return s;
}

typedef struct sized_text {
    const char *text;
    size_range open[OPEN], closed[OPEN];
} sized_text;

static const sized_text texts[] = {
    // the programs of the design
    { "in A[m,n], x[n], b[m]; r[i] = sum(j) A[i,j]*x[j] - b[i];"
      "out f = 0.5*sum(i) r[i]^2;", { { "m", 0, 9 }, { "n", 0, 18 } }, { { 0 } } },
    { "in x[h,w], k[p,q], z[h,w]; y[i<h,j<w] = sum(a,b)"
      " [0 <= i+a-1 < h, 0 <= j+b-1 < w] x[i+a-1,j+b-1]*k[a,b];"
      "out f = sum(i,j) (y[i,j] - z[i,j])^2;",
      { { "h", 0, 7 }, { "w", 1, 6 } }, { { "p", 3, 3 }, { "q", 3, 3 } } },
    { "in u[n,n], a, nu; out w[i,j] = u[i,j] + [0 < i < n-1, 0 < j < n-1]"
      " (nu*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1] - 4*u[i,j])"
      " - a*u[i,j]*(u[i,j] - u[i-1,j]));", { { "n", 0, 9 } }, { { 0 } } },
    { "in Q[n,d], K[m,d], V[m,d], c; s[i,j] = c*sum(k) Q[i,k]*K[j,k];"
      "t[i] = detach(maximum(j) s[i,j]); p[i,j] = exp(s[i,j] - t[i]);"
      "z[i] = sum(j) p[i,j]; out O[i,k] = (sum(j) p[i,j]*V[j,k])/z[i];",
      { { "n", 0, 5 }, { "m", 1, 9 }, { "d", 1, 4 } }, { { 0 } } },
    { "in x[n]; A[i<n,j<n] = [i==j] x[i]; out f = sum(i) A[i,i]"
      " + sum(i) A[i,i]; out g = sum(i) A[i,0]*A[0,i];",
      { { "n", 1, 6 } }, { { 0 } } },
    { "in X[l,m,n], A[l,r], B[m,r], C[n,r]; out f = sum(i,j,k)"
      " (X[i,j,k] - sum(s) A[i,s]*B[j,s]*C[k,s])^2;",
      { { "n", 1, 4 }, { "l", 0, 5 } }, { { "m", 3, 3 }, { "r", 2, 2 } } },
    // data of fixed sizes, for any number of cases
    { "rel R[m,m]; in A[R], X[m,n]; Y[i,k] = sum(j) A[i,j]*X[j,k];"
      "out f = sum(i,k) Y[i,k]^2;", { { "n", 0, 9 } }, { { "m", 4, 4 } } },
    { "map s[e]->m, d[e]->m; in h[n,m], q[e];"
      "out g[k<n,i<m] = sum(a: d[a]==i) q[a]*h[k,s[a]];",
      { { "n", 0, 5 } }, { { "m", 4, 4 }, { "e", 6, 6 } } },
    { "rel R[m]; in x[n,m], y[m]; out z[k,i] = [R(i)] x[k,i]*y[i];"
      "out u[k<n] = sum(i<m: R(i) | i == 1) x[k,i];",
      { { "n", 1, 5 } }, { { "m", 4, 4 } } },
    // what several terms write together
    { "in u[n,m], c; y[i,j] = c*u[i,j]; out f = sum(i,j: i < n-1)"
      " (y[i+1,j] - y[i,j])^2 + sum(i,j: j < m-1) (y[i,j+1] - y[i,j])^2;",
      { { "n", 2, 7 }, { "m", 2, 6 } }, { { 0 } } },
    // sizes as numbers, and what conditions ask of sizes alone
    { "in x[n]; a = (sum(i) x[i])/n; out v = sum(i) (x[i] - a)^2/(n - 1) + n^3;"
      "out y[i] = exp(0-n)*x[i] + n;", { { "n", 2, 20 } }, { { 0 } } },
    { "in x[n], y[m]; out f = [n >= 5] x[0] + [n == m] y[0] + [m < 2*n] x[n-1]"
      " + [n != 3] 2;", { { "n", 1, 9 }, { "m", 1, 9 } }, { { 0 } } },
    { "in x[n], y[m]; out f = m*sum(i) x[i] + n*(sum(i) y[i])/m;",
      { { "n", 1, 9 }, { "m", 1, 9 } }, { { 0 } } },
    { "in x[k], a[n], b[m]; out f = sum(i<n) x[i]^2;"
      "out g = sum(i<m) x[i]^2;",
      { { "n", 0, 9 }, { "m", 0, 9 } }, { { "k", 9, 9 } } },
    { "in x[n]; y[i] = [n >= 4] x[i]^2; z[i] = [n < 7] x[i]^2;"
      "out f = sum(i) y[i]^2*x[i] + sum(i) z[i]^2*x[i];",
      { { "n", 0, 9 } }, { { 0 } } },
    // parts of expressions at some of the indices
    { "in x[n]; out f = sum(i: i < 3) (x[i] + sqr(x[i]))*x[i];",
      { { "n", 0, 9 } }, { { 0 } } },
    { "in x[n]; a[i] = sqr(x[i]) + x[i]; out u[i<n] = [i < n-1] a[i]*x[i];"
      "out v[i] = a[i];", { { "n", 0, 9 } }, { { 0 } } },
    // ranges that begin and end anywhere, diagonals, edges, strides
    { "in x[1-m:n], c[m]; out y[i<n] = sum(j) x[i-j]*c[j];",
      { { "n", 0, 11 }, { "m", 1, 4 } }, { { 0 } } },
    { "in x[n:2*n]; out y[i in n:2*n] = x[i]^2; out f = y[n] + y[2*n-1];",
      { { "n", 1, 9 } }, { { 0 } } },
    { "in A[n,n]; out f = sum(i,j: i <= j) A[i,j];"
      "out g = sum(i,j: i+j == n-1 | i == j+2, i > 1) A[i,j]^2;"
      "out d[i<n] = A[i,n-1-i]*A[n-1,i];", { { "n", 0, 7 } }, { { 0 } } },
    { "in x[n]; out y[k<2*n] = sum(i,j<3: 2*i + j == k) x[i];"
      "out z[i<n] = x?[2*i+1] + x?[i-n];", { { "n", 0, 9 } }, { { 0 } } },
    { "in x[2*n], c[n]; out y[i] = c[i]*x[2*i]*x[2*i+1];",
      { { "n", 0, 9 } }, { { 0 } } },
    { "in x[n,m]; out y[i] = maximum(j) x[i,j]; out z = minimum(i,j) x[i,j];"
      "out u[i] = y[i]^2 + maximum(j<m: j < i) x[i,j];",
      { { "n", 0, 6 }, { "m", 0, 9 } }, { { 0 } } },
    { "in x[n], y[n]; a[i] = sqr(x[i])*y[i]; out u[i] = a[i] - select(lt(x[i],"
      " y[i]), x[i], y[i])/2; out f = sum(i) a[i]*u[i];",
      { { "n", 1, 17 } }, { { 0 } } },
    { "in A[n,m], B[m,n], x[n]; out C[i,j] = sum(k) A[i,k]*B[k,j];"
      "out y[i] = sum(j,k) A[i,k]*B[k,j]*x[j];",
      { { "n", 0, 9 }, { "m", 0, 10 } }, { { 0 } } },
    { "in x[n]; y[i] = 2*x[i]; out z[i<n] = y[n-1-i]; out f = sum(i) y[i];"
      "out u[i] = y[i] + y[i]; out c[i<n] = 2;", { { "n", 0, 9 } }, { { 0 } } },
};

// What is refused, and in which words.
static const struct refusal {
    const char *text, *words;
    size_range open[OPEN];
} refusals[] = {
    { "in x[n], y[m]; out f = sum(i<m) x[i]*y[i];", "is x[3] at n=3, m=4, i=3",
      { { "n", 3, 9 }, { "m", 4, 4 } } },
    { "in x[n]; out f = x[0];", "is x[0] at n=0", { { "n", 0, 9 } } },
    { "rel R[n,2]; in A[R]; out f = sum(i,j) A[i,j];",
      "1:5: the ranges of the relation 'R' depend", { { "n", 1, 2 } } },
    { "map s[2]->n; in x[n]; out y[i<2] = x[s[i]];",
      "1:5: the ranges of the map 's' depend", { { "n", 2, 3 } } },
    { "in x[n]; out y[i<n] = [exists(j<n: 3*j == i)] x[i];",
      "1:24: this depends on sizes", { { "n", 1, 9 } } },
    { "in x[n]; y[i<n] = [i < 2] x[i] + [i > n - 2] x[i];"
      "out f = sum(i) y[i]^2;", "which numbers of an array are 0",
      { { "n", 1, 9 } } },
    { "in x[n]; out y[i] = x[i];", "an argument is no size", { { "k", 1, 9 } } },
    { "in x[n]; out y[i] = x[i];", "an argument twice",
      { { "n", 1, 9 }, { "n", 1, 9 } } },
    { "in x[n]; out y[i] = x[i];", "larger than its largest",
      { { "n", 10, 9 } } },
};

static void add_texts(void)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        subject *s = next(texts[i].text);
        snprintf(s->text, sizeof s->text, "%s", texts[i].text);
        for (int k = 0; k < OPEN && texts[i].open[k].name != NULL; k++)
            s->size[s->open++] = texts[i].open[k];
        s->sizes = s->open;
        s->exact = strstr(s->text, "exp(") == NULL;
        for (int k = 0; k < OPEN && texts[i].closed[k].name != NULL; k++)
            s->size[s->sizes++] = texts[i].closed[k];
        add(s);
    }
}

// Data has the sizes that it was drawn for.
static bool may_be_open(const tree *p, int size)
{
    bool closed = false;
    for (int i = 0; i < p->relations; i++)
        for (int d = 0; d < p->relation[i].n && !p->relation[i].gone; d++)
            closed = closed || tree_mentions(p, p->relation[i].size[d], size);
    for (int i = 0; i < p->maps; i++)
        closed = closed || (!p->map[i].gone
                            && (tree_mentions(p, p->map[i].from, size)
                                || tree_mentions(p, p->map[i].to, size)));
    return !closed;
}

// A random text: its sizes in any ranges around those that it was drawn for.
static void add_random(uint64_t from, int n)
{
    static tree_text text;
    for (uint64_t number = from; number < from + (uint64_t)n; number++) {
        uint64_t seed = number;
        tree *p = code_get(1, sizeof *p);
        char what[40];
        bool good = draw_program(p, &seed, number % 3 == 0 ? DRAW_WIDE
                                 : number % 3 == 1 ? DRAW_EXACT : DRAW_AFFINE);
        snprintf(what, sizeof what, "random text %" PRIu64, number);
        subject *s = next(what);
        tree_print(p, &text);
        snprintf(s->text, sizeof s->text, "%s", text.s);
        s->of = p;
        s->exact = number % 3 != 0;
        for (int open = 1; open >= 0; open--)
            for (int i = 0; i < p->sizes; i++) {
                size_t value = (size_t)p->size[i].value;
                if (!tree_is_named(p, i) || may_be_open(p, i) != (open == 1))
                    continue;
                size_range r = { p->size[i].name, value, value };
                if (open) {
                    r.least -= (size_t)code_below(&seed, (int)value + 1);
                    r.most += (size_t)code_below(&seed, 4);
                    s->open++;
                }
                s->size[s->sizes++] = r;
            }
        if (good && s->open > 0)
            add(s);
    }
}

/* --- what is refused, and lacks of memory ---------------------------------- */

static ad_tensor *bound_at_most(const struct refusal *r,
                                const ad_tensor_options *o)
{
    ad_tensor *t = NULL;
    uint64_t seed = 99;
    CHECK(ad_tensor_new(&t, r->text, o, NULL) == ADREV_OK, "%s", r->text);
    for (int i = 0; i < OPEN && r->open[i].name != NULL; i++)
        if (r->open[i].name[0] != 'k')
            CHECK(ad_tensor_size(t, r->open[i].name, r->open[i].most)
                      == ADREV_OK, "%s", r->text);
    for (uint32_t i = 1; i < t->tree.relation_count; i++)
        code_give_relation(t, "R", i, &seed);
    for (uint32_t i = 1; i < t->tree.map_count; i++)
        code_give_map(t, "s", i, &seed);
    if (r->open[0].name[0] == 'k')
        CHECK(ad_tensor_size(t, "n", 9) == ADREV_OK, "%s", r->text);
    return t;
}

static void check_refusals(void)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *r = &refusals[i];
        ad_tensor *t = bound_at_most(r, NULL);
        ad_c_argument a[OPEN + 1] = { { NULL, 0 } };
        char reason[240] = "";
        size_t bytes = 7;
        for (int k = 0; k < OPEN && r->open[k].name != NULL; k++)
            a[k] = (ad_c_argument){ r->open[k].name, r->open[k].least };
        const ad_c_options o = { .arguments = a, .reason = reason };
        ad_status s = ad_tensor_write_c(t, &o, NULL, NULL, &bytes);
        CHECK(s == (a[0].name[0] == 'k' ? ADREV_ESYNTAX : ADREV_ESHAPE)
                  && strstr(reason, r->words) != NULL && bytes == 7,
              "%s: %s, %s", r->text, ad_message(s), reason);
        const ad_c_options silent = { .arguments = a };
        CHECK(ad_tensor_write_c(t, &silent, NULL, NULL, NULL) == s,
              "%s, without words", r->text);
        ad_tensor_free(t);
    }
}

typedef struct heap { long left, live; } heap;

static void *heap_alloc(size_t bytes, void *user)
{
    heap *h = user;
    void *p = h->left-- > 0 ? malloc(bytes) : NULL;
    h->live += p != NULL;
    return p;
}

static void heap_free(void *p, void *user)
{
    ((heap *)user)->live--;
    free(p);
}

// Every allocation of it fails once.
static void check_memory(void)
{
    static const struct refusal as = {
        "in A[n,m], x[m], s; y[i] = sum(j) A[i,j]*x[j]/m;"
        "out f = sum(i: i < n-1) exp(y[i])*y[i+1] + maximum(i) y[i];", "",
        { { "n", 2, 9 }, { "m", 1, 5 } }
    };
    const ad_c_argument a[] = { { "n", 2 }, { "m", 1 }, { NULL, 0 } };
    const ad_c_options o = { .arguments = a };
    heap h = { 1000000, 0 };
    const ad_allocator from = { heap_alloc, heap_free, &h };
    const ad_tensor_options options = { .allocator = &from };
    ad_tensor *t = bound_at_most(&as, &options);
    ad_status s = ad_tensor_bind(t, NULL);
    long before = h.live;
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    s = ADREV_ENOMEM;
    for (long n = 0; s == ADREV_ENOMEM && n < 10000; n++) {
        h.left = n;
        s = ad_tensor_write_c(t, &o, NULL, NULL, NULL);
        CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "allocation %ld: %s", n,
              ad_message(s));
        CHECK(h.live == before, "allocation %ld: %ld blocks more", n,
              h.live - before);
    }
    CHECK(s == ADREV_OK, "%s", ad_message(s));
    ad_tensor_free(t);
    CHECK(h.live == 0, "%ld blocks are left", h.live);
}

/* --- calls ---------------------------------------------------------------- */

static bool find(void *library, const subject *s, const char *name, void *to)
{
    char whole[60];
    snprintf(whole, sizeof whole, "w%d_%s", s->number, name);
    void *code = dlsym(library, whole);
    memcpy(to, &code, sizeof code);
    return code != NULL;
}

static bool near(ad_real got, ad_real want, bool exact)
{
    double scale = fabs((double)want) + 1;
    double error = single ? 1e-3 : 1e-9;
    return got == want || (isnan(got) && isnan(want))
        || (!exact && fabs((double)got - (double)want) <= error * scale);
}

static bool is_near(const code_array *a, bool asked, bool exact, char why[120])
{
    for (size_t i = 0; i < a->numbers; i++)
        if (asked && a->place[i] ? !near(a->all[i], a->kept[i], exact)
                                 : a->all[i] != CODE_UNTOUCHED) {
            snprintf(why, 120, "[%zu]: got %.17g, want %.17g", i,
                     (double)a->all[i], (double)a->kept[i]);
            return false;
        }
    return true;
}

static bool all_near(code_case *c, bool exact, char why[120])
{
    bool same = true;
    for (int i = 0; i < c->outs; i++)
        same = same
            && is_near(&c->y[i], c->any_y && c->to_y[i] != NULL, exact, why)
            && is_near(&c->dy[i], c->part == CODE_JVP && c->any_d
                                      && c->to_d[i] != NULL, exact, why);
    for (int i = 0; i < c->ins; i++)
        same = same
            && is_near(&c->dx[i], c->part != CODE_JVP && c->part != CODE_VALUE
                                      && c->any_d && c->to_d[i] != NULL, exact,
                       why);
    return same;
}

static void say_sizes(const subject *s, int r, char to[60])
{
    int n = 0;
    to[0] = '\0';
    for (int i = 0; i < s->open && n < 50; i++)
        n += snprintf(to + n, 60 - (size_t)n, "%s%.8s = %zu", i > 0 ? ", " : "",
                      s->size[i].name, s->at[r][i]);
}

static void call_at(subject *s, int r, code_functions *f, bool exact)
{
    code_case c;
    uint64_t seed = (uint64_t)(s->number * 1000 + r);
    char at[60];
    say_sizes(s, r, at);
    code_open(&c, s->ref[r], s->text, &seed, false);
    for (int k = 0; k < CODE_PARTS; k++)
        for (int call = 0; call < CALLS && (s->functions >> k & 1); call++) {
            char why[120] = "";
            bool inside = true;
            bool whole = call % 2 == 0;
            code_fill_given(&c, &seed, whole ? CODE_WHOLE : CODE_PLAIN);
            code_ask(&c, (enum code_part)k, &seed);
            ad_status want = code_run_library(&c, s->ref[r]);
            CHECK(want == ADREV_OK, "%s: %s", s->what, ad_message(want));
            code_keep(&c);
            int got = code_run_written(&c, f, &inside);
            CHECK(got == 0 && all_near(&c, exact && whole, why),
                  "%s, %s, %s: %d, %s", s->what, at, code_names[k], got, why);
            CHECK(inside, "%s, %s, %s: outside of work", s->what, at,
                  code_names[k]);
        }
    code_close(&c);
}

// Sizes beyond their ranges.
static void call_beyond(subject *s, long size[], code_functions *f)
{
    code_case c;
    uint64_t seed = (uint64_t)s->number;
    bool inside = true;
    code_open(&c, s->ref[s->refs - 1], s->text, &seed, false);
    code_fill_given(&c, &seed, CODE_PLAIN);
    for (int i = 0; i < 2 * s->open; i++) {
        for (int k = 0; k < s->open; k++)
            size[k] = (long)s->size[k].most;
        size[i / 2] = i % 2 ? (long)s->size[i / 2].most + 1
                            : (long)s->size[i / 2].least - 1;
        for (int k = 0; k < CODE_PARTS; k++) {
            if ((s->functions >> k & 1) == 0)
                continue;
            code_ask(&c, (enum code_part)k, &seed);
            CHECK(code_run_written(&c, f, &inside) == 2 && inside
                      && code_is_untouched(&c), "%s: %s beyond", s->what,
                  s->size[i / 2].name);
        }
    }
    code_close(&c);
}

static void call_all(void *library, subject *s)
{
    code_functions f = { 0 };
    const long *work = NULL, *limit = NULL;
    long *size = NULL;
    bool found = find(library, s, "work", &work)
              && find(library, s, "size", &size)
              && find(library, s, "limit", &limit);
    find(library, s, "value", &f.value);
    find(library, s, "jvp", &f.jvp);
    find(library, s, "vjp", &f.vjp);
    find(library, s, "hvp", &f.hvp);
    find(library, s, "gradient", &f.gradient);
    if (!CHECK(found, "%s: not found", s->what))
        return;
    for (int k = 0; k < CODE_PARTS; k++)
        f.work[k] = (size_t)work[k];
    for (int i = 0; i < s->open; i++)
        CHECK(limit[2 * i] == (long)s->size[i].least
                  && limit[2 * i + 1] == (long)s->size[i].most, "%s: limits",
              s->what);
    for (int r = 0; r < s->refs; r++) {
        for (int i = 0; i < s->open; i++)
            size[i] = (long)s->at[r][i];
        call_at(s, r, &f, s->exact);
    }
    call_beyond(s, size, &f);
}

/* --- the file ------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__
#define WATCHED "-g -fsanitize=address,undefined -fno-sanitize-recover=all"
#else
#define WATCHED ""
#endif

// Compiles all.c without a warning.
static void *loaded(void)
{
    char path[100];
    const char *cc = WATCHED[0] != '\0' ? "cc" : quick_compiler();
    bool right = shell("cd %s && %s -std=c99 -pedantic -Wall -Wextra -Werror"
                       " -O0 " WATCHED " -ffp-contract=off -fPIC -shared all.c"
                       " -o all.so -lm > log 2>&1"
                       " || { head -n 20 log; exit 1; }", top, cc);
    CHECK(right, "all.c is not compiled");
    snprintf(path, sizeof path, "%s/all.so", top);
    return right ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : RANDOM;
    uint64_t from = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    char path[100];
    subjects = code_get(MOST, sizeof *subjects);
    if (!CHECK(mkdtemp(top) != NULL, "no directory"))
        return check_done("sizes");
    snprintf(path, sizeof path, "%s/all.c", top);
    all = fopen(path, "w");
    if (argc < 3) {
        check_refusals();
        check_memory();
        add_texts();
    }
    add_random(from, n);
    fclose(all);
    void *library = loaded();
    for (int i = 0; i < count && library != NULL; i++)
        if (subjects[i].refs > 0)
            call_all(library, &subjects[i]);
    if (library != NULL)
        dlclose(library);
    for (int i = 0; i < count; i++) {
        close_refs(&subjects[i]);
        free(subjects[i].of);
    }
    free(subjects);
    if (argc > 1)
        printf("written %d, outside %d, undecided %d\n", written, outside,
               undecided);
    CHECK(getenv("SIZES_KEEP") || shell("rm -r %s", top), "rm");
    return check_done("sizes");
}
