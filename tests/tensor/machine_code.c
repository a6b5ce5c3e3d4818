// SPDX-License-Identifier: MIT-0
// tags: formulas recorded code last-bits
// flags: -pthread -DADX_PART_LEAST=1 -DADX_ENTRIES_LEAST=1 -DADX_STORED_LEAST=2
/* machine_code.c - ad_tensor_compile: machine code gives the bits of the loops,
 * also where directions and seeds are missing; it is not used any more once
 * something is bound anew; texts that share a library do not disturb one
 * another; what fails leaves the text as it was; every failing allocation, also
 * of ad_tensor_write_c; several threads. Steps run in parts: backwards, odd
 * ones first, and on a pool; texts are bound and compiled where there is a
 * pool, so that points are listed (tensor/parts) and blocks are smaller, and
 * where there is none.
 *
 *     machine_code             some texts, and six random ones
 *     machine_code 100 12345   as many random texts, from a seed on, and all of
 *                              tensor_code.h in all of their sizes
 *
 * Parts are small (ADX_PART_LEAST), so that small programs have many.         */

#define _POSIX_C_SOURCE 200809L     // mkdtemp
#define ADREV_TRACE 1
#define ADREV_IMPLEMENTATION
#include "adrev_parallel.h"
#include "adrev_function.h"
#include "adrev_tensor.h"
#include "check.h"
#include "shell.h"
#include "tensor_bind.h"
#include "tensor_code.h"

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

enum { CALLS = 8, RANDOM = 6, EACH = 4 };

/* --- who runs the parts --------------------------------------------------- */

enum { SHARED_BY_NOBODY, SHARED_BACKWARDS, SHARED_ODD_FIRST, SHARED_ON_POOL,
       SHARED_WAYS };

static int shared_ways = SHARED_WAYS;
static bool compile_shared;     // code is made where threads share parts
static ad_pool *pool;
static size_t parts_run;        // by executors
static bool way_seen[ADX_STEP_SUMS + 1];
static bool cleared_seen, form_seen, list_seen;

static void backwards(size_t n, ad_call_fn *call, void *arg, void *user)
{
    (void)user;
    parts_run += n;
    for (size_t i = n; i-- > 0;)
        call(i, arg);
}

static void odd_first(size_t n, ad_call_fn *call, void *arg, void *user)
{
    (void)user;
    parts_run += n;
    for (size_t i = 1; i < n; i += 2)
        call(i, arg);
    for (size_t i = 0; i < n; i += 2)
        call(i, arg);
}

static void share(int way)
{
    ad_execute_fn *execute = way == SHARED_BACKWARDS ? backwards
                           : way == SHARED_ODD_FIRST ? odd_first : NULL;
    CHECK(ad_pool_use(way == SHARED_ON_POOL ? pool : NULL) == ADREV_OK
              && ad_executor_use(execute, NULL) == ADREV_OK, "way %d", way);
}

// Notes how the steps of machine code are cut.
static void see_ways(const ad_tensor *t)
{
    for (int part = 0; part <= ADREV_TENSOR_HVP; part++)
        for (uint32_t i = 1; i < t->program->values; i++) {
            if (t->code == NULL || t->code->step[part] == NULL
                || t->code->step[part][i] == NULL)
                continue;
            const adx_step_cut *c = &t->code->cut[part][i];
            way_seen[c->way] = true;
            cleared_seen = cleared_seen || c->clears;
            const adx_tensor_value *v = &t->program->value[i];
            for (uint32_t j = 0; c->way == ADX_STEP_TERMS && j < v->terms; j++)
            {
                form_seen = form_seen || v->cut->term[j].form.n > 1;
                list_seen = list_seen || v->cut->term[j].list != NULL;
            }
        }
}

/* --- compiling ------------------------------------------------------------ */

static char top[] = "/tmp/adrev-machine-XXXXXX";
static ad_compile_report report;

static ad_status compile(ad_tensor *t, unsigned functions,
                         const char *compiler, const char *flags)
{
    const ad_compile_options o = { .compiler = compiler, .cache = top,
                                   .flags = flags, .functions = functions,
                                   .report = &report };
    return ad_tensor_compile(t, &o);
}

static ad_status compile_quickly(ad_tensor *t, unsigned functions)
{
#ifdef __SANITIZE_THREAD__      // it looks into the code, too
    return compile(t, functions, "cc",
                   "-O0 -ffp-contract=off -fsanitize=thread");
#else
    return compile(t, functions, quick_compiler(), "-O0 -ffp-contract=off");
#endif
}

static void compiled(ad_tensor *t, unsigned functions, const char *what)
{
    share(compile_shared ? SHARED_BACKWARDS : SHARED_BY_NOBODY);
    ad_status s = compile_quickly(t, functions);
    share(SHARED_BY_NOBODY);
    CHECK(s == ADREV_OK && report.reason == ADREV_COMPILE_DONE
              && report.bytes > 0, "%s: %s: %s %s", what, ad_message(s),
          ad_compile_message(report.reason), report.text);
}

/* --- the same bits -------------------------------------------------------- */

// Two of the same text, with the same arrays: one will be compiled.
typedef struct pair { ad_tensor *t[2]; code_case c[2]; } pair;

static bool open_pair(pair *p, const char *text, size_t n, uint64_t seed,
                      bool layouts)
{
    for (int k = 0; k < 2; k++) {
        uint64_t same = seed;
        share(k == 0 && seed % 2 == 0 ? SHARED_BACKWARDS : SHARED_BY_NOBODY);
        p->t[k] = code_bind(text, n, &same, NULL);
        if (p->t[k] != NULL)
            code_open(&p->c[k], p->t[k], text, &same, layouts);
        share(SHARED_BY_NOBODY);
        if (p->t[k] == NULL)
            return false;
    }
    return true;
}

static void close_pair(pair *p)
{
    for (int k = 0; k < 2; k++) {
        code_close(&p->c[k]);
        ad_tensor_free(p->t[k]);
    }
}

static void compare_once(pair *p, enum code_part part, uint64_t seed,
                         const char *what)
{
    char why[200] = "";
    ad_status s[2];
    code_case *c = &p->c[0];
    code_fill_given(c, &seed, (enum code_kind)(seed % CODE_KINDS));
    code_ask(c, part, &seed);
    if (seed % 4 == 0)
        code_leave_out(c, &seed);
    s[0] = code_run_library(c, p->t[1]);
    code_keep(c);
    for (int way = 0; way < shared_ways; way++) {
        share(way);
        s[1] = code_run_library(c, p->t[0]);
        share(SHARED_BY_NOBODY);
        CHECK(s[0] == s[1] && code_is_kept(c, why), "%s, %s, way %d: %s, %s, %s",
              what, code_names[part], way, ad_message(s[1]), ad_message(s[0]),
              why);
    }
}

static void compare(pair *p, const char *what)
{
    see_ways(p->t[0]);
    for (int k = 0; k < CODE_PARTS; k++)
        for (uint64_t i = 0; i < CALLS; i++)
            if ((k != CODE_HVP || p->c[0].has_hvp)
                && (k != CODE_GRADIENT || p->c[0].has_gradient))
                compare_once(p, (enum code_part)k, i * 7 + (uint64_t)k, what);
}

// By the flags that are used if nobody says others.
static void test_texts(void)
{
    for (int i = 0; i < CODE_TEXTS; i += EACH) {
        pair p;
        const char *text = code_texts[i].text;
        int k = i % CODE_SIZES;
        while ((code_texts[i].sizes >> k & 1) == 0 || code_sizes[k] < 2)
            k = (k + 1) % CODE_SIZES;
        if (!open_pair(&p, text, code_sizes[k], (uint64_t)i, i % 2 == 0))
            return;
        ad_status s = compile(p.t[0], 0, NULL, NULL);
        CHECK(s == ADREV_OK, "%s: %s: %s", text, ad_message(s), report.text);
        compare(&p, text);
        close_pair(&p);
    }
}

// Zeros that absorb: of numbers one by one, and in sums of them. A maximum that
// has no points.
static void test_zeros(void)
{
    const char *text = "in x[n], a, b[n];"
                       "out y[i] = select(lt(x[i],a), 1, sqrt(x[i]*a)/b[i]^2);"
                       "out f = sum(i) select(lt(x[i],a), 1, pow(a,b[i])/a);"
                       "out m[i<n] = maximum(j: j < i) x[j];";
    pair p;
    if (!open_pair(&p, text, 9, 1, false))
        return;
    CHECK(compile(p.t[0], 0, NULL, NULL) == ADREV_OK, "%s", report.text);
    compare(&p, text);
    close_pair(&p);
}

// A value that is computed, and stored, in the sums of parts of another.
static void test_hosted_in_parts(void)
{
    const char *text = "in C[n,n]; out f = sum(i,j) exp(C[i,j]);";
    pair p;
    if (!open_pair(&p, text, 33, 1, false))
        return;
    CHECK(compile(p.t[0], 0, NULL, NULL) == ADREV_OK, "%s", report.text);
    compare(&p, text);
    close_pair(&p);
}

// Steps of all kinds, with more runs, points and numbers than those above.
static void test_parts(void)
{
    static const struct { const char *text; size_t n; } all[] = {
        // edges on both sides of a core
        { "in u[n,n]; out w[i,j] = u[i,j] + [0 < i < n-1, 0 < j < n-1]"
          " u[i-1,j]*u[i+1,j]*u[i,j+1] + [i == 0] u[j,0] + [i+j == n] 3;", 21 },
        { "in x[n,3]; out y[j<3,i<n] = exp(x[i,j]); out z[i] = x[i,0]*x[i,2];",
          70 },
        // blocks: what is between stays within a run
        { "in X[n,5], W[5,5]; h[e,i] = sum(j) W[i,j]*X[e,j];"
          "z[e] = sum(i) exp(h[e,i])*h[e,i];"
          "out y[e,i] = h[e,i]/z[e]; out q[e] = sum(i) h[e,i]*z[e];", 97 },
        { "in Q[n,5], K[9,5], V[9,4]; s[i,j] = sum(k) Q[i,k]*K[j,k];"
          "t[i] = detach(maximum(j) s[i,j]); p[i,j] = exp(s[i,j] - t[i]);"
          "z[i] = sum(j) p[i,j]; out O[i,k] = (sum(j) p[i,j]*V[j,k])/z[i];",
          80 },
        // sums of several terms, with several numbers each
        { "in A[n,n], B[n,n]; out f = (sum(i,j) A[i,j]^2) - sum(i,j: i < j)"
          " A[i,j]*B[j,i]; out g[k<3] = sum(i,j: i+k < n) A[i+k,j]*B[i,k];",
          33 },
        // indices of results that are sums of others
        { "in x[n], k[m]; out y[i<n] = sum(j) x?[2*i-j+3]*k[j];"
          "out z[i<n] = sum(j) x?[j-i]*k[j];", 61 },
        { "in A[n,n]; out y[i] = sum(j: j <= i) A[i,j]*A[j,i];"
          "out z[j] = sum(i: 2*i <= j) A[i,j];", 41 },
        { "in x[n], c[5]; out y[k in 0:3*n] = sum(i,j: 3*i - 2*j == k-9)"
          " x[i]*c[j];", 50 },
        // a part has a term with one number, or with those that a map gives
        { "map d[e]->n; in A[n,64], x[64], q[e], z[n];"
          "out y[i] = (sum(j) A[i,j]*x[j]) + (sum(a<e: d[a]==i) q[a])"
          " + [i == 3] z[5] + [i == 4] z[6]^2;", 40 },
        // points of a variable that has more values than any index
        { "in z[n,n]; out a[i in 0-2*n:n,j<n] = [0 <= 2*j+i < n] z[j,2*j+i];",
          9 },
        // maps and relations
        { "map s[e]->n, d[e]->n; in h[n,4];"
          "out g[i<n,k] = exp(sum(a: d[a]==i) h[s[a],k]);"
          "out p[i<n] = sum(a: d[a]==i) h[s[a],0]^2;", 70 },
        { "rel R[n,m]; in A[R], B[n,4], C[m,4], x[m];"
          "out y[i] = sum(j) A[i,j]*x[j]; out f = sum(i,j: R(i,j)) A[i,j]^2;"
          "out w[i,s] = sum(j: R(i,j)) A[i,j]*B[i,s]*C[j,s];", 40 },
        // a block of entries with what is added to here and there
        { "rel T[n,n,m]; in X[T], A[n,3], B[n,3], C[m,3];"
          "out f = sum(i,j,k: T(i,j,k)) (X[i,j,k]"
          " - sum(s) A[i,s]*B[j,s]*C[k,s])^2;", 8 },
        // maxima, and what picks
        { "in A[n,m]; t[i] = maximum(j: j != 7) A[i,j]*A[i,j];"
          "u[j] = minimum(i) A[i,j]; out f = sum(i) t[i];"
          "out y[j] = u[j]*t[0];", 31 },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        pair p;
        for (uint64_t listed = 0; listed < 2; listed++) {
            if (!open_pair(&p, all[i].text, all[i].n, 2*i + 1 - listed,
                           (i + listed) % 2 == 1))
                return;
            compile_shared = listed == 1;
            compiled(p.t[0], 0, all[i].text);
            compare(&p, all[i].text);
            close_pair(&p);
        }
    }
    compile_shared = false;
    CHECK(parts_run > 10000, "only %zu parts", parts_run);
    for (int way = 0; way <= ADX_STEP_SUMS; way++)
        CHECK(way_seen[way], "no step is cut in way %d", way);
    CHECK(form_seen, "no cut is of several variables");
    CHECK(list_seen, "no points are listed");
    CHECK(cleared_seen, "nothing is cleared before parts run");
}

// All texts in all sizes.
static void test_all_texts(void)
{
    for (int i = 0; i < CODE_TEXTS; i++)
        for (int k = 0; k < CODE_SIZES; k++) {
            pair p;
            if ((code_texts[i].sizes >> k & 1) == 0
                || !open_pair(&p, code_texts[i].text, code_sizes[k],
                              (uint64_t)i, k % 2 == 0))
                continue;
            compiled(p.t[0], 0, code_texts[i].text);
            compare(&p, code_texts[i].text);
            close_pair(&p);
        }
}

// Steps of a block whose sums have several terms; points that are listed.
static void test_entries(void)
{
    static const char *const text[] = {
        "rel R[n,n]; in x[n]; out f = sum(i,j: R(i,j)) exp(x[i]*x[j]);",
        "rel R[n,n]; in x[n], z[n]; p[i<n,j<n] = [exists(k<n: R(i,k), R(k,j),"
        " k < 3)] exp(x[i]*z[j]); out y[i] = sum(j) p[i,j]*z[j];",
    };
    for (int i = 0; i < 2; i++) {
        pair p;
        if (!open_pair(&p, text[i], 33, 1, false))
            return;
        compiled(p.t[0], 0, text[i]);
        compare(&p, text[i]);
        close_pair(&p);
    }
}

static void test_random(uint64_t from, int n)
{
    static tree program;
    static tree_text text;
    ad_tensor_error error;
    for (uint64_t number = from; n > 0; number++) {
        pair p;
        uint64_t seed = number;
        if (!draw_program(&program, &seed, number % 3 == 0 ? DRAW_WIDE
                                                           : DRAW_EXACT))
            continue;
        for (int k = 0; k < 2; k++) {
            uint64_t same = seed;
            p.t[k] = bind_tree(&program, NULL, &text, &error);
            if (!CHECK(p.t[k] != NULL, "%" PRIu64 ": %s", number, error.text))
                return;
            code_open(&p.c[k], p.t[k], text.s, &same, number % 2 == 0);
        }
        compile_shared = number % 2 == 0;
        compiled(p.t[0], 0, text.s);
        compile_shared = false;
        compare(&p, text.s);
        close_pair(&p);
        n--;
    }
}

// The derivative is a helper function of the text.
static void test_gamma(void)
{
    static const char text[] =
        "in x[n], y[n]; out f = sum(i) lgamma(3 + sqr(x[i]))*y[i];"
        "out g[i] = exp(x[i]);";
    pair p;
    if (!open_pair(&p, text, 9, 1, false))
        return;
    compiled(p.t[0], 0, text);
    shared_ways = SHARED_ON_POOL;       // glibc's lgamma writes to signgam
    compare(&p, text);
    shared_ways = SHARED_WAYS;
    close_pair(&p);
}

/* --- bound anew ----------------------------------------------------------- */

static const char changing[] =
    "rel R[n,m]; map s[n]->n; in A[R], x[m]; y[i] = sum(j) A[i,j]*x[j];"
    "out z[i<n] = y[s[i]]^2; out f = sum(i) y[i];";

static const int rows[2][3] = { { 2, 0, 1 }, { 1, 2, 0 } };
static const int columns[2][3] = { { 0, 3, 1 }, { 2, 2, 1 } };
static const int maps[2][4] = { { 2, 0, 1, 0 }, { 1, 1, 2, 3 } };

static ad_status give_changing(ad_tensor *t, size_t n, int relation, int map,
                               ptrdiff_t stride)
{
    const int *const column[] = { rows[relation], columns[relation] };
    ad_status s = ad_tensor_size(t, "n", n);
    s = s != ADREV_OK ? s : ad_tensor_size(t, "m", 4);
    s = s != ADREV_OK ? s : ad_tensor_relation(t, "R", 3, column);
    s = s != ADREV_OK ? s : ad_tensor_map(t, "s", maps[map]);
    return s != ADREV_OK ? s : ad_tensor_layout(t, "x", &stride);
}

static void open_changed(pair *p, size_t n, int relation, int map,
                         ptrdiff_t stride)
{
    uint64_t seed = 1;
    for (int k = 0; k < 2; k++) {
        CHECK(ad_tensor_new(&p->t[k], changing, NULL, NULL) == ADREV_OK
                  && give_changing(p->t[k], n, relation, map, stride)
                         == ADREV_OK
                  && ad_tensor_bind(p->t[k], NULL) == ADREV_OK, "changed");
        code_open(&p->c[k], p->t[k], changing, &seed, false);
    }
}

// Only one of them changes; the other was made so.
static void test_changes(void)
{
    static const struct { size_t n; int relation, map; ptrdiff_t stride; }
    to[] = { { 4, 0, 0, 1 }, { 3, 1, 0, 1 }, { 3, 0, 1, 1 }, { 3, 0, 0, 2 } };
    for (int i = 0; i < 4; i++) {
        const int *const column[] = { rows[to[i].relation],
                                      columns[to[i].relation] };
        pair before, after;
        ad_status s = ADREV_OK;
        open_changed(&before, 3, 0, 0, 1);
        open_changed(&after, to[i].n, to[i].relation, to[i].map, to[i].stride);
        ad_tensor *t = before.t[0];
        compiled(t, 0, "before");
        compare(&before, "before");
        if (i == 0)
            s = ad_tensor_size(t, "n", 4) != ADREV_OK
                  ? ADREV_ENOMEM : ad_tensor_map(t, "s", maps[0]);
        else if (i == 1)
            s = ad_tensor_relation(t, "R", 3, column);
        else if (i == 2)
            s = ad_tensor_map(t, "s", maps[1]);
        else
            s = ad_tensor_layout(t, "x", &to[i].stride);
        CHECK(s == ADREV_OK, "change %d: %s", i, ad_message(s));
        before.t[0] = after.t[0];
        after.t[0] = t;
        CHECK(ad_tensor_bind(t, NULL) == ADREV_OK && t->code == NULL,
              "change %d: old code", i);
        compare(&after, "after");
        compiled(t, 0, "again");
        CHECK(t->code != NULL, "change %d: no code", i);
        compare(&after, "compiled again");
        close_pair(&before);
        close_pair(&after);
    }
}

static int libraries(void)
{
    int n = 0;
    DIR *d = opendir(top);
    for (struct dirent *e = d == NULL ? NULL : readdir(d); e != NULL;
         e = readdir(d))
        n += strstr(e->d_name, ".so") != NULL;
    if (d != NULL)
        closedir(d);
    return n;
}

// Relations and maps are no part of the code. The first one that goes does not
// take the library along.
static void test_shared(void)
{
    pair p, q;
    open_changed(&p, 3, 0, 0, 1);
    open_changed(&q, 3, 1, 0, 1);
    compiled(p.t[0], ADREV_C_VALUE, "shared");
    int n = libraries();
    compiled(q.t[0], ADREV_C_VALUE, "shared");
    CHECK(libraries() == n, "another library");
    compare(&p, "the first one");
    compare(&q, "the second one");
    compare(&p, "the first one again");
    compiled(p.t[0], ADREV_C_VALUE, "twice");
    compare(&p, "the first one twice");
    close_pair(&p);
    compare(&q, "the second one alone");
    close_pair(&q);
}

/* --- what is asked for, and what fails ------------------------------------ */

static void check_parts(const ad_tensor *t, unsigned asked)
{
    for (int k = 0; k < CODE_GRADIENT; k++) {
        bool has = t->code != NULL && t->code->step[k] != NULL;
        CHECK(has == ((asked & code_bits[k]) != 0), "functions %u: %s", asked,
              code_names[k]);
    }
}

static void test_asked(void)
{
    static const char text[] = "in A[n,n], x[n]; y[i] = sum(j) A[i,j]*x[j];"
                               "out f = sum(i) y[i]^2; out g[i] = y[i];";
    pair p;
    if (!open_pair(&p, text, 3, 1, false))
        return;
    for (unsigned i = 1; i < 16; i += 3) {
        unsigned asked = 0;
        for (unsigned k = 0; k < 4; k++)
            asked |= i >> k & 1 ? code_bits[k] : 0;
        compiled(p.t[0], asked, text);
        check_parts(p.t[0], asked);
        compare(&p, text);
    }
    compiled(p.t[0], ADREV_C_GRADIENT, text);
    check_parts(p.t[0], ADREV_C_VJP);
    compiled(p.t[0], 0, text);
    check_parts(p.t[0], ADREV_C_VALUE | ADREV_C_JVP | ADREV_C_VJP
                        | ADREV_C_HVP);
    close_pair(&p);
}

typedef struct failure {
    ad_compile_options o;
    ad_status want;
    ad_compile_reason reason;
} failure;

static void test_failures(void)
{
    static const char text[] = "in x[n]; out f = sum(i) sin(x[i])*x[i];";
    char file[100];
    snprintf(file, sizeof file, "%s/file", top);
    fclose(fopen(file, "w"));
    const failure all[] = {
        { { .cache = top, .compiler = "no-such-compiler" }, ADREV_ECOMPILE,
          ADREV_COMPILE_NO_COMPILER },
        { { .cache = top, .flags = "-no-such-flag" }, ADREV_ECOMPILE,
          ADREV_COMPILE_REFUSED },
        { { .cache = top, .flags = "'" }, ADREV_ECOMPILE,
          ADREV_COMPILE_QUOTE },
        { { .cache = top, .limit = 1 }, ADREV_ECOMPILE,
          ADREV_COMPILE_TOO_LONG },
        { { .cache = file }, ADREV_ECOMPILE, ADREV_COMPILE_COUNT },
        { { .cache = top, .functions = ADREV_C_JACOBIAN }, ADREV_ESHAPE,
          ADREV_COMPILE_DONE },
        { { .cache = top, .functions = 1u << ADREV_C_COUNT }, ADREV_ESHAPE,
          ADREV_COMPILE_DONE },
    };
    pair p;
    if (!open_pair(&p, text, 5, 1, false))
        return;
    for (int before = 0; before < 2; before++) {
        const adx_tensor_code *code = p.t[0]->code;
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            ad_compile_options o = all[i].o;
            bool any = all[i].reason == ADREV_COMPILE_COUNT;
            memset(&report, 0x55, sizeof report);
            o.report = &report;
            ad_status s = ad_tensor_compile(p.t[0], &o);
            CHECK(s == all[i].want, "failure %zu: %s", i, ad_message(s));
            CHECK(any ? report.reason == ADREV_COMPILE_NO_CACHE
                        || report.reason == ADREV_COMPILE_NOT_PRIVATE
                      : report.reason == all[i].reason, "failure %zu: %s", i,
                  ad_compile_message(report.reason));
            o.report = NULL;
            CHECK(ad_tensor_compile(p.t[0], &o) == s, "failure %zu", i);
            CHECK(p.t[0]->code == code, "failure %zu: another code", i);
            compare(&p, "after a failure");
        }
        if (before == 0)
            compiled(p.t[0], 0, text);
    }
    close_pair(&p);
}

static void test_unbound(void)
{
    ad_tensor *t = NULL;
    size_t bytes = 0;
    CHECK(ad_tensor_compile(NULL, NULL) == ADREV_ESHAPE
              && ad_tensor_write_c(NULL, NULL, NULL, NULL, &bytes)
                     == ADREV_ESHAPE, "no text");
    CHECK(ad_tensor_new(&t, "in x[n]; out f = sum(i) x[i];", NULL, NULL)
              == ADREV_OK, "new");
    CHECK(compile_quickly(t, 0) == ADREV_ESHAPE
              && report.reason == ADREV_COMPILE_DONE
              && ad_tensor_write_c(t, NULL, NULL, NULL, &bytes)
                     == ADREV_ESHAPE, "not bound");
    ad_tensor_free(t);
}

/* --- memory --------------------------------------------------------------- */

typedef struct heap { long asked, failing, live; bool for_ever; } heap;

static void *heap_alloc(size_t bytes, void *user)
{
    heap *h = user;
    h->asked++;
    if (h->failing > 0 && (h->for_ever ? h->asked >= h->failing
                                       : h->asked == h->failing))
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
    "rel R[n,n]; map s[n]->n; in A[R], x[n]; y[i] = sum(j) A[i,j]*x[s[j]];"
    "z[i] = maximum(j<n) x[j]*y[i]; out f = sum(i) y[i]^2 + sum(i) z[i];";

// One call with a failing allocation; true: none failed.
static bool fail_at(heap *h, ad_tensor *t, bool write, long n)
{
    size_t bytes = 0;
    h->asked = 0;
    h->failing = n;
    long live = h->live;
    ad_status s = write ? ad_tensor_write_c(t, NULL, NULL, NULL, &bytes)
                        : compile_quickly(t, ADREV_C_VALUE | ADREV_C_VJP);
    h->failing = 0;
    CHECK(s == ADREV_ENOMEM || s == ADREV_OK, "%s, allocation %ld: %s",
          write ? "write_c" : "compile", n, ad_message(s));
    CHECK(s == ADREV_OK || report.reason == ADREV_COMPILE_DONE,
          "allocation %ld: %s", n, ad_compile_message(report.reason));
    // the arena of the text may have grown
    CHECK(!write || h->live == live, "allocation %ld: %ld more", n,
          h->live - live);
    return s == ADREV_OK;
}

static void check_works(pair *p, bool write)
{
    compare_once(p, CODE_VJP, 3, write ? "write_c" : "compile");
}

static void test_memory(void)
{
    for (int kind = 0; kind < 4; kind++) {
        heap h = { .for_ever = kind % 2 == 1 };
        ad_allocator from = { heap_alloc, heap_free, &h };
        ad_tensor_options options = { .allocator = &from };
        pair p;
        if (!open_pair(&p, memory_text, 3, 1, false))
            return;
        ad_tensor_free(p.t[0]);
        uint64_t seed = 1;
        p.t[0] = code_bind(memory_text, 3, &seed, &options);
        bool done = false;
        for (long n = 1; !done && n < 100000; n++) {
            done = fail_at(&h, p.t[0], kind < 2, n);
            if (n % 16 == 1)
                check_works(&p, kind < 2);
        }
        CHECK(done, "it never succeeds");
        check_works(&p, kind < 2);
        close_pair(&p);
        CHECK(h.live == 0, "%ld blocks are left", h.live);
    }
}

/* --- threads -------------------------------------------------------------- */

enum { THREADS = 4, RUNS = 100 };

typedef struct worker {
    pthread_t thread;
    ad_tensor *t;
    ad_real g[9 + 3], first[9 + 3];
    bool same;
} worker;

// CHECK is for the main thread: a worker writes down what it got.
static void *work(void *user)
{
    worker *me = user;
    const ad_real A[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    const ad_real v[3] = { (ad_real)0.5, -1, (ad_real)0.25 };
    const ad_real *x[] = { A, v };
    me->same = true;
    for (int i = 0; i < RUNS; i++) {
        ad_real f;
        ad_real *dx[] = { me->g, me->g + 9 };
        if (ad_tensor_gradient(me->t, x, &f, dx) != ADREV_OK)
            me->same = false;
        if (i == 0)
            memcpy(me->first, me->g, sizeof me->g);
        me->same = me->same && memcmp(me->first, me->g, sizeof me->g) == 0;
    }
    return NULL;
}

static void test_threads(void)
{
    static const char text[] =
        "in A[n,n], x[n]; y[i] = sum(j) A[i,j]*x[j];"
        "z[i] = maximum(j) A[j,i]*y[j];"
        "out f = sum(i) exp(y[i]/20)*z[i] + maximum(i) y[i];";
    worker workers[THREADS + 1];
    uint64_t seed = 1;
    memset(workers, 0, sizeof workers);
    ad_tensor *t[2] = { code_bind(text, 3, &seed, NULL),
                        code_bind(text, 3, &seed, NULL) };
    compiled(t[0], 0, text);
    for (int i = 0; i <= THREADS; i++)
        workers[i].t = t[i == THREADS];
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
    ad_tensor_free(t[0]);
    ad_tensor_free(t[1]);
}

int main(int argc, char **argv)
{
    char line[100];
    if (!CHECK(mkdtemp(top) != NULL, "no directory"))
        return check_done("machine_code");
    pool = ad_pool_new(4);
    CHECK(pool != NULL, "no pool");
    if (argc > 1)
        test_all_texts();
    else {
        test_texts();
        test_zeros();
        test_parts();
        test_hosted_in_parts();
        test_entries();
        test_gamma();
        test_changes();
        test_shared();
        test_asked();
        test_failures();
        test_unbound();
        test_memory();
        test_threads();
    }
    test_random(argc > 2 ? strtoull(argv[2], NULL, 10) : 1,
                argc > 1 ? atoi(argv[1]) : RANDOM);
    ad_pool_free(pool);
    snprintf(line, sizeof line, "rm -r %s", top);
    CHECK(system(line) == 0, "%s", line);
    return check_done("machine_code");
}
