// SPDX-License-Identifier: MIT-0
// tags: recorded code
/* emitted_header.c - ad_fn_write_h: the header is that of the code. Every kind
 * of function is declared and called through its header alone, from C and from
 * C++, with as much memory as the header says and numbers behind it that must
 * stay; the code, which includes the header, has no function without prototype.
 * Results are those of the recording.                                        */

#define _POSIX_C_SOURCE 200809L     // popen

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "implementation.h"
#include "adrev_function.h"

#include "check.h"

static char top[64];

enum { N = 4, M = 3 };

static const ad_real at[N] = { 0.3, 0.7, 1.1, 0.4 };
static const ad_real weight[M] = { 1, -2, 0.5 };
static const ad_real direction[N] = { 1, 2, 3, -1 };

static void curve(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_sin(ad_mul(x[1], x[2]))));
    y[1] = ad_rec(ad_exp(ad_mul(x[3], x[0])));
    y[2] = ad_rec(ad_mul(x[2], ad_mul(x[2], 3)));
    if (ad_lt(x[0], 2))
        y[2] = ad_rec(ad_add(y[2], ad_lgamma(ad_add(ad_mul(x[1], 0), 2.5))));
}

static void one(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev all[M];
    (void)ctx;
    curve(x, all, NULL);
    y[0] = ad_sum(2, all);
}

// No entries: patterns are empty.
static void constant(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)x;
    (void)ctx;
    for (int i = 0; i < M; i++)
        y[i] = ad_rec(i + 0.5);
}

/* --- writing -------------------------------------------------------------- */

static void put(const char *text, size_t n, void *file)
{
    CHECK(fwrite(text, 1, n, file) == n, "write");
}

typedef ad_status writer(ad_fn *fn, const ad_c_options *options,
                         ad_write_fn *write, void *user, size_t *bytes);

// With as many bytes as are counted without writing.
static void to_file(writer *as, ad_fn *fn, const ad_c_options *options,
                    const char *name)
{
    char path[128];
    size_t bytes[2] = { 0, 1 };
    snprintf(path, sizeof path, "%s/%s", top, name);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL, "%s", path);
    if (f == NULL)
        return;
    CHECK(as(fn, options, put, f, &bytes[0]) == ADREV_OK, "%s", name);
    CHECK(as(fn, options, NULL, NULL, &bytes[1]) == ADREV_OK, "%s", name);
    CHECK(bytes[0] == bytes[1] && (long)bytes[0] == ftell(f),
          "%s: %zu bytes counted, %zu written", name, bytes[1], bytes[0]);
    fclose(f);
}

// Runs a command; says what it says if it fails.
static bool run(const char *format, ...)
{
    char line[900];
    char said[2000];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line - 10, format, args);
    va_end(args);
    snprintf(line + n, 10, " 2>&1");
    fflush(NULL);
    FILE *f = popen(line, "r");
    size_t length = f == NULL ? 0 : fread(said, 1, sizeof said - 1, f);
    said[length] = '\0';
    bool well = f != NULL && pclose(f) == 0;
    CHECK(well, "%s\n%s", line, said);
    return well;
}

/* --- a client ------------------------------------------------------------- */

// A function of the header: what it is called with and how long its results
// are.
typedef struct called {
    unsigned bit;
    const char *name;
    const char *in;
    int out[2];                 // lengths of m results
} called;

static const called calls[] = {
    { ADREV_C_VALUE,     "value",     "x",       { -1, 0 } },
    { ADREV_C_JVP,       "jvp",       "x, v",    { -1, 0 } },
    { ADREV_C_VJP,       "vjp",       "x, w",    { N, 0 } },
    { ADREV_C_GRADIENT,  "gradient",  "x",       { 1, N } },
    { ADREV_C_HVP,       "hvp",       "x, w, v", { N, 0 } },
    { ADREV_C_JACOBIAN,  "jacobian",  "x",       { -N, 0 } },
    { ADREV_C_HESSIAN,   "hessian",   "x, w",    { N * N, 0 } },
    { ADREV_C_LINEARIZE, "linearize", "x",       { -1, -N } },
    { ADREV_C_JACOBIAN_SPARSE, "jacobian_sparse", "x",    { 0, 0 } },
    { ADREV_C_HESSIAN_SPARSE,  "hessian_sparse",  "x, w", { 0, 0 } },
};
enum { CALLS = sizeof calls / sizeof *calls };

static void write_numbers(FILE *f, const char *name, int n, const ad_real v[])
{
    fprintf(f, "static const real %s[] = {", name);
    for (int i = 0; i < n; i++)
        fprintf(f, " (real)%.17g,", (double)v[i]);
    fprintf(f, " 0 };\n");
}

// Prints results in the order of calls[], each with the number that is behind
// its memory; of sparse matrices the entries as those of full ones.
static void write_call(FILE *f, const called *c, const char *name, int m)
{
    int n = c->out[0] < 0 ? -c->out[0] * m : c->out[0];
    int more = c->out[1] < 0 ? -c->out[1] * m : c->out[1];
    bool sparse = n == 0;
    int full = c->bit == ADREV_C_HESSIAN_SPARSE ? N * N : m * N;
    fprintf(f, "    {\n        static real work[%s_%s_WORK + 1], a[%d], b[%d];\n"
            "        work[%s_%s_WORK] = 5; a[%d] = 5; b[%d] = 5;\n", name,
            c->name, full + N * N, more + 1, name, c->name, full + N * N - 1,
            more);
    fprintf(f, "        left |= %s_%s(%s, a, %swork);\n", name, c->name, c->in,
            more > 0 ? "b, " : "");
    fprintf(f, "        if (work[%s_%s_WORK] != 5 || a[%d] != 5 || b[%d] != 5)"
            "\n            return 2;\n", name, c->name, full + N * N - 1, more);
    if (!sparse) {
        fprintf(f, "        show(%d, a);\n        show(%d, b);\n    }\n", n,
                more);
        return;
    }
    fprintf(f, "        static real d[%d];\n        int i, k;\n"
            "        for (i = 0; i + 1 < (int)(sizeof %s_%s_start\n"
            "                          / sizeof *%s_%s_start); i++)\n"
            "            for (k = %s_%s_start[i]; k < %s_%s_start[i + 1]; k++) {\n"
            "                if (%s_%s_row[k] != i) return 3;\n"
            "                d[i * %d + %s_%s_column[k]] = a[k];\n            }\n"
            "        if (%s_%s_start[i] != %s_%s_NONZEROS) return 4;\n"
            "        show(%d, d);\n    }\n", full, name, c->name, name, c->name,
            name, c->name, name, c->name, name, c->name, N, name, c->name, name,
            c->name, name, c->name, full);
}

static void write_client(const ad_c_options *o, int m)
{
    char path[128];
    snprintf(path, sizeof path, "%s/client.c", top);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL, "%s", path);
    if (f == NULL)
        return;
    fprintf(f, "#include \"%s.h\"\n#include \"%s.h\"\n#include <stdio.h>\n"
            "typedef %s real;\n", o->name, o->name,
            o->single ? "float" : "double");
    write_numbers(f, "x", N, at);
    write_numbers(f, "w", M, weight);
    write_numbers(f, "v", N, direction);
    fprintf(f, "static void show(int n, const real *a)\n{\n    int i;\n"
            "    for (i = 0; i < n; i++)\n"
            "        printf(\"%%.17g \", (double)a[i]);\n}\n"
            "int main(void)\n{\n    int left = 0;\n"
            "    (void)x; (void)w; (void)v;\n");
    for (int i = 0; i < CALLS; i++)
        if (o->functions & calls[i].bit)
            write_call(f, &calls[i], o->name, m);
    if (o->casadi)
        fprintf(f, "    left |= %s_n_in() != 1 || jac_%s_n_out() != 1;\n",
                o->name, o->name);
    fprintf(f, "    return left;\n}\n");
    fclose(f);
}

/* --- what it should print ------------------------------------------------- */

static int lower(int n, ad_real H[])
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            H[i * n + j] = 0;
    return n * n;
}

static int wanted(ad_fn *fn, unsigned bit, int m, ad_real to[])
{
    ad_status s = ADREV_OK;
    int n = bit == ADREV_C_VALUE || bit == ADREV_C_JVP ? m
          : bit == ADREV_C_VJP || bit == ADREV_C_HVP ? N
          : bit == ADREV_C_GRADIENT ? 1 + N
          : bit & (ADREV_C_HESSIAN | ADREV_C_HESSIAN_SPARSE) ? N * N
          : bit == ADREV_C_LINEARIZE ? m + m * N : m * N;
    if (bit == ADREV_C_VALUE)
        s = ad_fn_eval(fn, at, to);
    else if (bit == ADREV_C_JVP)
        s = ad_fn_jvp(fn, at, direction, to);
    else if (bit == ADREV_C_VJP)
        s = ad_fn_vjp(fn, at, weight, to);
    else if (bit == ADREV_C_HVP)
        s = ad_fn_hvp(fn, at, weight, direction, to);
    else if (bit & (ADREV_C_HESSIAN | ADREV_C_HESSIAN_SPARSE))
        s = ad_fn_hessian(fn, at, weight, to);
    else if (bit & (ADREV_C_GRADIENT | ADREV_C_LINEARIZE))
        s = ad_fn_linearize(fn, at, to, to + m);
    else
        s = ad_fn_jacobian(fn, at, to);
    CHECK(s == ADREV_OK, "function %u: %s", bit, ad_message(s));
    return bit == ADREV_C_HESSIAN_SPARSE ? lower(N, to) : n;
}

static void compare(ad_fn *fn, const ad_c_options *o, int m, const char *client)
{
    char path[160];
    double got = 0;
    snprintf(path, sizeof path, "%s/client", top);
    FILE *f = popen(path, "r");
    for (int i = 0; f != NULL && i < CALLS; i++) {
        ad_real want[M + N * N + M * N];
        int n = o->functions & calls[i].bit
              ? wanted(fn, calls[i].bit, m, want) : 0;
        for (int k = 0; k < n; k++) {
            CHECK(fscanf(f, "%lf", &got) == 1, "%s: %s ends", client,
                  calls[i].name);
            CHECK(fabs(got - (double)want[k]) <= (o->single ? 1e-5 : 1e-14)
                  * (1 + fabs((double)want[k])), "%s: %s, %d: %.17g, want %.17g",
                  client, calls[i].name, k, got, (double)want[k]);
        }
    }
    CHECK(f != NULL && fscanf(f, "%lf", &got) == EOF, "%s: prints more", client);
    CHECK(f != NULL && pclose(f) == 0, "%s: a call failed", client);
}

// What the comments say.
static void check_lengths(const char *name, int m)
{
    const struct { const char *array; int length; } has[] = {
        { "x ", N }, { "y ", m }, { "v ", N }, { "w ", m }, { "dy", m },
        { "dx", N }, { "hv", N }, { "J ", m * N }, { "H ", N * N }
    };
    static char text[20000];
    char line[40];
    snprintf(text, sizeof text, "%s/%s", top, name);
    FILE *f = fopen(text, "r");
    CHECK(f != NULL, "%s", text);
    if (f == NULL)
        return;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    for (size_t i = 0; i < sizeof has / sizeof *has; i++) {
        snprintf(line, sizeof line, " *   %s [%d]  ", has[i].array,
                 has[i].length);
        CHECK(strstr(text, line) != NULL, "%s does not say%s", name, line + 2);
    }
}

#define STRICT "-Wall -Wextra -pedantic -Wshadow -Wconversion -Werror -O0 "

static void check_header(ad_vector_fn *f, int m, ad_c_options o)
{
    char name[64];
    ad_fn *fn = NULL;
    CHECK(ad_fn_record(&fn, f, NULL, N, at, (size_t)m) == ADREV_OK, "record");
    o.functions = ADREV_C_JACOBIAN * 32 - 1;
    o.functions &= ~(m > 1 ? (unsigned)ADREV_C_GRADIENT : 0u);
    o.exported = true;
    snprintf(name, sizeof name, "%s.h", o.name);
    to_file(ad_fn_write_h, fn, &o, name);
    check_lengths(name, m);
    o.header = name;
    to_file(ad_fn_write_c, fn, &o, "code.c");
    write_client(&o, m);
    if (run("cd %s && cc -std=c99 " STRICT "-Wmissing-prototypes"
            " -Wredundant-decls -c code.c -o code.o", top)
        && run("cd %s && cc -std=c99 " STRICT "client.c code.o -o client -lm",
               top))
        compare(fn, &o, m, "C");
    if (system("c++ --version > /dev/null 2>&1") != 0)
        printf("emitted_header: skipped, c++ is not installed\n");
    else if (run("cd %s && c++ -x c++ " STRICT "-c client.c -o client.o &&"
                 " c++ client.o code.o -o client -lm", top))
        compare(fn, &o, m, "C++");
    ad_fn_free(fn);
}

static void check_refused(void)
{
    char name[300];
    size_t bytes = 77;
    ad_fn *fn = NULL;
    ad_c_options o = { .exported = true };
    CHECK(ad_fn_record(&fn, curve, NULL, N, at, M) == ADREV_OK, "record");
    CHECK(ad_fn_write_h(NULL, &o, NULL, NULL, &bytes) == ADREV_ESHAPE
          && ad_fn_write_h(fn, NULL, NULL, NULL, &bytes) == ADREV_ESHAPE,
          "no function, or static functions");
    o.functions = ADREV_C_GRADIENT;
    CHECK(ad_fn_write_h(fn, &o, NULL, NULL, &bytes) == ADREV_ESHAPE,
          "a gradient of several results");
    o.functions = 0;
    o.name = "sin";
    CHECK(ad_fn_write_h(fn, &o, NULL, NULL, &bytes) == ADREV_ESHAPE, "sin");
    o.name = NULL;
    memset(name, 'a', sizeof name);
    name[201] = '\0';
    const char *const wrong[] = { "a\"b", "a\nb", name };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        o.header = wrong[i];
        CHECK(ad_fn_write_c(fn, &o, NULL, NULL, &bytes) == ADREV_ESHAPE,
              "a header called %s", wrong[i]);
    }
    name[200] = '\0';
    CHECK(bytes == 77, "bytes are written on failure");
    CHECK(ad_fn_write_c(fn, &o, NULL, NULL, &bytes) == ADREV_OK, "200 letters");
    o.exported = false;
    CHECK(ad_fn_write_c(fn, &o, NULL, NULL, &bytes) == ADREV_ESHAPE,
          "a header of static functions");
    ad_fn_free(fn);
}

int main(void)
{
    snprintf(top, sizeof top, "/tmp/adrev-header-%ld", (long)getpid());
    run("mkdir %s", top);
    check_header(curve, M, (ad_c_options){ .name = "curve" });
    check_header(curve, M, (ad_c_options){ .name = "narrow", .single = true });
    check_header(curve, M, (ad_c_options){ .name = "parts", .split = 3,
                                           .casadi = true });
    check_header(one, 1, (ad_c_options){ .name = "one", .absorbing = true });
    check_header(constant, M, (ad_c_options){ .name = "f" });
    check_refused();
    run("rm -r %s", top);
    return check_done("emitted_header");
}
