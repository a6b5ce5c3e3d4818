// SPDX-License-Identifier: MIT-0
// tags: formulas recorded code last-bits
// flags: -DADX_PART_LEAST=1 -DADX_ENTRIES_LEAST=1 -DADX_STORED_LEAST=2
/* written.c - ad_tensor_write_c: C code of many texts, in one file, compiled
 * without a warning and loaded, gives the bits of the library.
 *
 *     written                  the texts of tensor_code.h and programs.h, every
 *                              function of the operator table, random texts
 *     written 500              more sizes of texts, and as many random ones;
 *                              written 1 12345 the one of a seed, nothing else
 *
 * In each case: random subsets of results, and nothing else is written; an
 * array that is missing; strides; ties, zeros, infinities and NaN; `work` of
 * exactly as many numbers as the text says, whatever is in them. Under
 * AddressSanitizer the code is compiled with it, too.                        */

#define _POSIX_C_SOURCE 200809L     // mkdtemp
#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#include "adrev_tensor.h"
#include "check.h"
#include "programs.h"
#include "shell.h"
#include "tensor_bind.h"
#include "tensor_code.h"

#include <dlfcn.h>
#include <unistd.h>

enum { RANDOM = 16 / ONE_IN(2), MOST = 2000, CALLS = 4 };

static const bool single = sizeof(ad_real) == sizeof(float);

static char top[] = "/tmp/adrev-written-XXXXXX";

typedef struct subject {
    char what[80];
    ad_tensor *t;
    unsigned functions;         // bits of enum code_part
    double low[3], high[3];     // of inputs: the box of a function
    code_case c;
} subject;

static subject *subjects;
static int count;

/* --- files ---------------------------------------------------------------- */

static void put(const char *text, size_t n, void *user)
{
    CHECK(fwrite(text, 1, n, user) == n, "fwrite");
}

static FILE *opened(const char *name)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s", top, name);
    return fopen(path, "w");
}

#define WARNINGS "-std=c99 -pedantic -Wall -Wextra -Werror"

#ifdef __SANITIZE_ADDRESS__
#define WATCHED "-g -fsanitize=address,undefined -fno-sanitize-recover=all"
#else
#define WATCHED ""
#endif

// Compiles NAME.c without a warning.
static void *loaded(const char *name, const char *flags)
{
    char path[100];
    bool right = shell("cd %s && cc " WARNINGS " %s %s -ffp-contract=off -fPIC"
                       " -shared %s.c -o %s.so -lm > log 2>&1"
                       " || { head -n 20 log; exit 1; }",
                       top, flags, WATCHED, name, name);
    CHECK(right, "%s.c is not compiled", name);
    snprintf(path, sizeof path, "%s/%s.so", top, name);
    return right ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

/* --- subjects ------------------------------------------------------------- */

static subject *added(ad_tensor *t, const char *text, uint64_t *seed,
                      bool layouts)
{
    if (t == NULL || count == MOST)
        return NULL;
    subject *s = &subjects[count++];
    memset(s, 0, sizeof *s);
    s->t = t;
    code_open(&s->c, t, text, seed, layouts);
    s->functions = 1u << CODE_VALUE | 1u << CODE_JVP | 1u << CODE_VJP;
    if (s->c.has_hvp)
        s->functions |= 1u << CODE_HVP;
    if (s->c.has_gradient)
        s->functions |= 1u << CODE_GRADIENT;
    return s;
}

// Unless all are asked for, a quarter of the sizes of each text.
static void add_texts(bool all)
{
    uint64_t seed = 1;
    for (int i = 0; i < CODE_TEXTS; i++)
        for (int k = 0; k < CODE_SIZES; k++) {
            if ((code_texts[i].sizes >> k & 1) == 0
                || (!all && (i + k) % 4 != 0))
                continue;
            const char *text = code_texts[i].text;
            ad_tensor *t = code_bind(text, code_sizes[k], &seed, NULL);
            subject *s = added(t, text, &seed, code_below(&seed, 3) == 0);
            if (s != NULL)
                snprintf(s->what, sizeof s->what, "n = %zu: %s", code_sizes[k],
                         text);
        }
}

static void add_programs(void)
{
    uint64_t seed = 2;
    for (int i = 0; i < PROGRAMS; i++) {
        const program *p = program_at(i);
        ad_tensor *t = NULL;
        program_compute(p);             // fills the columns of its relation
        CHECK(ad_tensor_new(&t, p->text, NULL, NULL) == ADREV_OK, "%s",
              p->name);
        for (int k = 0; k < PROGRAM_SIZES && p->size[k].name != NULL; k++)
            CHECK(ad_tensor_size(t, p->size[k].name, p->size[k].n) == ADREV_OK,
                  "%s", p->name);
        for (int k = 0; k < PROGRAM_MAPS && p->map[k].name != NULL; k++)
            CHECK(ad_tensor_map(t, p->map[k].name, p->map[k].value)
                      == ADREV_OK, "%s", p->name);
        if (p->relation != NULL)
            CHECK(ad_tensor_relation(t, p->relation, p->entries, p->column)
                      == ADREV_OK, "%s", p->name);
        CHECK(ad_tensor_bind(t, NULL) == ADREV_OK, "%s", p->name);
        subject *s = added(t, p->text, &seed, i % 2 == 1);
        if (s != NULL)
            snprintf(s->what, sizeof s->what, "%s", p->name);
    }
}

static void add_functions(void)
{
    static const char *const arguments[] = { "x[i]", "x[i],y[i]",
                                             "x[i],y[i],z[i]" };
    uint64_t seed = 3;
    for (int op = 0; op < ADREV_OP_COUNT; op++) {
        const ad_op_info *row = &ad_op_table()[op];
        char text[120];
        int n = row->arity;
        snprintf(text, sizeof text,
                 "in x[n], y[n], z[n]; out r[i<n] = %s(%s);"
                 "out f = sum(i) r[i];", row->name, arguments[n - 1]);
        ad_tensor *t = code_bind(text, 24, &seed, NULL);
        subject *s = added(t, text, &seed, false);
        if (s == NULL)
            continue;
        snprintf(s->what, sizeof s->what, "%s", row->name);
        for (int k = 0; k < n; k++) {
            s->low[k] = row->box[2 * k];
            s->high[k] = row->box[2 * k + 1];
        }
        size_t bytes = 0;
        const ad_c_options o = { .functions = ADREV_C_VJP, .single = single };
        ad_status status = ad_tensor_write_c(t, &o, NULL, NULL, &bytes);
        CHECK(status == ADREV_OK, "%s: %s", row->name, ad_message(status));
    }
}

static void add_random(uint64_t from, int n)
{
    static tree p;
    static tree_text text;
    for (uint64_t number = from; number < from + (uint64_t)n; number++) {
        uint64_t seed = number;
        ad_tensor_error error;
        if (!draw_program(&p, &seed, number % 3 == 0 ? DRAW_WIDE : DRAW_EXACT))
            continue;
        ad_tensor *t = bind_tree(&p, NULL, &text, &error);
        CHECK(t != NULL, "seed %" PRIu64 ": %s", number, error.text);
        subject *s = added(t, text.s, &seed, number % 2 == 0);
        if (s != NULL)
            snprintf(s->what, sizeof s->what, "random text %" PRIu64, number);
    }
}

/* --- the file ------------------------------------------------------------- */

static void write_all(void)
{
    FILE *f = opened("all.c");
    for (int i = 0; i < count; i++) {
        subject *s = &subjects[i];
        char name[16];
        ad_c_options o = { .name = name, .single = single, .exported = true };
        snprintf(name, sizeof name, "f%d", i);
        for (int k = 0; k < CODE_PARTS; k++)
            if (s->functions >> k & 1)
                o.functions |= code_bits[k];
        ad_status status = ad_tensor_write_c(s->t, &o, put, f, NULL);
        CHECK(status == ADREV_OK, "%s: %s", s->what, ad_message(status));
        fprintf(f, "extern const unsigned long f%d_work[%d];\n"
                "const unsigned long f%d_work[%d] = {\n", i, CODE_PARTS, i,
                CODE_PARTS);
        for (int k = 0; k < CODE_PARTS; k++)
            if (s->functions >> k & 1)
                fprintf(f, "    f%d_%s_WORK,\n", i, code_names[k]);
            else
                fprintf(f, "    0,\n");
        fprintf(f, "};\n");
    }
    fclose(f);
}

static bool find(void *library, const char *prefix, const char *name, void *to)
{
    char whole[160];
    snprintf(whole, sizeof whole, "%s_%s", prefix, name);
    void *code = dlsym(library, whole);
    memcpy(to, &code, sizeof code);
    return code != NULL;
}

static void find_all(void *library, int i, code_functions *f)
{
    const subject *s = &subjects[i];
    const unsigned long *work = NULL;
    char name[16];
    memset(f, 0, sizeof *f);
    snprintf(name, sizeof name, "f%d", i);
    bool found[CODE_PARTS] = {
        find(library, name, "value", &f->value),
        find(library, name, "jvp", &f->jvp),
        find(library, name, "vjp", &f->vjp),
        find(library, name, "hvp", &f->hvp),
        find(library, name, "gradient", &f->gradient)
    };
    CHECK(find(library, name, "work", &work), "%s: work", s->what);
    for (int k = 0; k < CODE_PARTS; k++) {
        CHECK(found[k] == ((s->functions >> k & 1) != 0), "%s: %s", s->what,
              code_names[k]);
        f->work[k] = work == NULL ? 0 : work[k];
        CHECK((f->work[k] > 0) == found[k], "%s: %s_WORK", s->what,
              code_names[k]);
    }
}

/* --- calls ---------------------------------------------------------------- */

// A function of the operator table is asked in its box, and around it.
static void fill(subject *s, uint64_t *seed, enum code_kind kind)
{
    code_fill_given(&s->c, seed, kind);
    for (int i = 0; i < 3 && kind == CODE_PLAIN && s->high[i] > s->low[i]; i++)
        for (size_t k = 0; k < s->c.x[i].numbers; k++) {
            double unit = (double)code_number(seed, CODE_PLAIN) / 4 + 0.5;
            s->c.x[i].all[k] = (ad_real)(s->low[i]
                                         + unit * (s->high[i] - s->low[i]));
        }
}

static void call_whole(subject *s, const code_functions *f)
{
    char why[200] = "";
    bool inside = true;
    ad_status want = code_run_library(&s->c, s->t);
    CHECK(want == ADREV_OK, "%s: %s", s->what, ad_message(want));
    code_keep(&s->c);
    int got = code_run_written(&s->c, f, &inside);
    CHECK(got == 0 && code_is_kept(&s->c, why), "%s, %s: %d, %s", s->what,
          code_names[s->c.part], got, why);
    CHECK(inside, "%s, %s: outside of work", s->what, code_names[s->c.part]);
}

// Without some of the arrays that are given. What they are needed for is for
// the code to say; then it writes nothing.
static void call_missing(subject *s, const code_functions *f, uint64_t *seed)
{
    char why[200] = "";
    bool inside = true;
    code_leave_out(&s->c, seed);
    if (code_below(seed, 4) == 0 && s->c.ins > 0)
        s->c.in_x[code_below(seed, s->c.ins)] = NULL;
    ad_status want = code_run_library(&s->c, s->t);
    CHECK(want == ADREV_OK || want == ADREV_ESHAPE, "%s: %s", s->what,
          ad_message(want));
    code_keep(&s->c);
    int got = code_run_written(&s->c, f, &inside);
    CHECK(got == 1 ? code_is_untouched(&s->c)
                   : got == 0 && want == ADREV_OK && code_is_kept(&s->c, why),
          "%s, %s, without an array: %d, %s, %s", s->what,
          code_names[s->c.part], got, ad_message(want), why);
    CHECK(inside, "%s, %s: outside of work", s->what, code_names[s->c.part]);
}

static void call_all(int i, const code_functions *f)
{
    subject *s = &subjects[i];
    uint64_t seed = (uint64_t)i + 77;
    for (int k = 0; k < CODE_PARTS; k++)
        for (int call = 0; call < CALLS && (s->functions >> k & 1); call++) {
            fill(s, &seed, (enum code_kind)(call % CODE_KINDS));
            code_ask(&s->c, (enum code_part)k, &seed);
            if (call < CALLS - 1)
                call_whole(s, f);
            else
                call_missing(s, f, &seed);
        }
}

static void close_all(void)
{
    for (int i = 0; i < count; i++) {
        code_close(&subjects[i].c);
        ad_tensor_free(subjects[i].t);
    }
    free(subjects);
}

/* --- options -------------------------------------------------------------- */

static struct { char *s; size_t n, room, calls; } got;

static void gather(const char *text, size_t n, void *user)
{
    (void)user;
    if (got.n + n + 1 > got.room) {
        got.room = 2 * (got.n + n) + 1000;
        got.s = realloc(got.s, got.room);
    }
    memcpy(got.s + got.n, text, n);
    got.n += n;
    got.s[got.n] = '\0';
    got.calls++;
}

// The text in got.s; counting alone gives its length.
static ad_status text_of(ad_tensor *t, const ad_c_options *o)
{
    size_t bytes = 1;
    size_t counted = 2;
    got.n = got.calls = 0;
    ad_status s = ad_tensor_write_c(t, o, gather, NULL, &bytes);
    ad_status again = ad_tensor_write_c(t, o, NULL, NULL, &counted);
    CHECK(s == again, "%s, to count %s", ad_message(s), ad_message(again));
    CHECK(s == ADREV_OK ? bytes == got.n && counted == got.n : got.calls == 0,
          "%s: %zu bytes, %zu, %zu counted", ad_message(s), got.n, bytes,
          counted);
    CHECK(ad_tensor_write_c(t, o, NULL, NULL, NULL) == s, "without bytes");
    return s;
}

static bool has(const char *format, const char *name)
{
    char what[200];
    snprintf(what, sizeof what, format, name);
    return strstr(got.s, what) != NULL;
}

static void check_functions(ad_tensor *t, bool number)
{
    for (unsigned i = 0; i < 1u << CODE_PARTS; i++) {
        ad_c_options o = { .functions = 0 };
        unsigned want = 0;
        for (int k = 0; k < CODE_PARTS; k++)
            if (i >> k & 1)
                o.functions |= code_bits[k];
        want = i != 0 ? o.functions
             : ADREV_C_VALUE | ADREV_C_VJP | (number ? ADREV_C_GRADIENT : 0u);
        ad_status s = text_of(t, &o);
        bool refused = !number && i >> CODE_GRADIENT & 1;
        CHECK(s == (refused ? ADREV_ESHAPE : ADREV_OK), "functions %u: %s", i,
              ad_message(s));
        // a gradient calls f_vjp
        if (want & ADREV_C_GRADIENT)
            want |= ADREV_C_VJP;
        for (int k = 0; k < CODE_PARTS && s == ADREV_OK; k++) {
            bool asked = (want & code_bits[k]) != 0;
            CHECK(has("static int f_%s(const double *const x[]",
                      code_names[k]) == asked
                      && has("#define f_%s_WORK ", code_names[k]) == asked,
                  "functions %u: %s", i, code_names[k]);
        }
    }
}

static void check_names(ad_tensor *t)
{
    static const char *const wrong[] = {
        "", "1f", "a-b", "a b", "for", "double", "restrict", "sin", "sinf",
        "f\n"
    };
    char name[102];
    ad_c_options o = { .name = name };
    memset(name, 'a', sizeof name);
    name[101] = '\0';
    CHECK(text_of(t, &o) == ADREV_ESHAPE, "a name of 101 letters");
    name[100] = '\0';
    CHECK(text_of(t, &o) == ADREV_OK && has("static int %s_value(", name),
          "a name of 100 letters");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        o.name = wrong[i];
        CHECK(text_of(t, &o) == ADREV_ESHAPE, "the name '%s'", wrong[i]);
    }
}

static void check_headers(ad_tensor *t)
{
    char name[202];
    ad_c_options o = { .exported = true, .header = "my.h" };
    CHECK(text_of(t, &o) == ADREV_OK && has("#include \"%s\"\n", "my.h")
              && has("\n%sint f_value(", "") && !has("static int f_%s", "v"),
          "exported, with a header");
    const char *first = strstr(got.s, "#include");
    CHECK(first != NULL && strncmp(first, "#include \"my.h\"", 15) == 0,
          "it is not the first");
    o.exported = false;
    CHECK(text_of(t, &o) == ADREV_ESHAPE, "a header without exported");
    o.exported = true;
    o.header = "a\"b.h";
    CHECK(text_of(t, &o) == ADREV_ESHAPE, "a quote in a header");
    o.header = "a\nb.h";
    CHECK(text_of(t, &o) == ADREV_ESHAPE, "a line break in a header");
    memset(name, 'h', sizeof name);
    name[201] = '\0';
    o.header = name;
    CHECK(text_of(t, &o) == ADREV_ESHAPE, "a header of 201 letters");
    name[200] = '\0';
    CHECK(text_of(t, &o) == ADREV_OK && has("#include \"%s\"\n", name),
          "a header of 200 letters");
}

static ad_tensor *simple(const char *text)
{
    uint64_t seed = 5;
    return code_bind(text, 3, &seed, NULL);
}

static void check_refused(void)
{
    ad_c_options o = { .functions = ADREV_C_HVP };
    ad_tensor *t = simple("in x[n]; out f = sum(i) lgamma(x[i])*x[i];");
    CHECK(text_of(t, &o) == ADREV_OK, "derivatives of lgamma");
    o.functions = ADREV_C_JACOBIAN;
    CHECK(text_of(t, &o) == ADREV_ESHAPE, "a Jacobian");
    o.functions = 1u << ADREV_C_COUNT;
    CHECK(text_of(t, &o) == ADREV_ESHAPE, "no such function");
    o.functions = ADREV_C_VALUE;
    CHECK(text_of(t, &o) == ADREV_OK, "the value of lgamma");
    o.casadi = true;
    CHECK(text_of(t, &o) == ADREV_ESHAPE, "casadi");
    ad_tensor_free(t);
}

static void check_options(void)
{
    ad_c_options o = { .single = true };
    ad_tensor *t = simple("in A[n,n], x[n]; y[i] = sum(j) A[i,j]*x[j];"
                          "out f = sum(i) y[i]^2;");
    check_functions(t, true);
    check_names(t);
    check_headers(t);
    CHECK(text_of(t, &o) == ADREV_OK && has("%s", "float")
              && !has("%s", "double"), "single");
    ad_tensor_free(t);
    t = simple("in x[n]; out y[i] = x[i]^2;");
    check_functions(t, false);
    ad_tensor_free(t);
    check_refused();
    free(got.s);
}

// Static code, which another file includes and calls, of three texts in one
// file: for each compiler, and of both kinds of numbers.
static void write_static(const char *file, bool of_floats)
{
    static const char *const texts[] = {
        "rel R[n,n]; in A[R], x[n]; out f = sum(i,j) A[i,j]*x[j];",
        "map s[n]->n; in x[n]; out y[i<n] = maximum(j<n: s[j] <= i) x[s[j]];",
        "in x[n]; out f = sum(i) fma(x[i], 2, 1)*sqr(x[i]); out g = x[0]^2;"
    };
    FILE *f = opened(file);
    for (int i = 0; i < 3; i++) {
        char name[4] = { 'k', (char)('0' + i), '\0', '\0' };
        const ad_c_options o = { .name = name, .single = of_floats,
                                 .functions = ADREV_C_VALUE | ADREV_C_JVP
                                              | ADREV_C_VJP };
        ad_tensor *t = simple(texts[i]);
        CHECK(ad_tensor_write_c(t, &o, put, f, NULL) == ADREV_OK, "%s",
              texts[i]);
        ad_tensor_free(t);
    }
    fprintf(f, "int main(void)\n{\n    %s work[1000];\n    return 0",
            of_floats ? "float" : "double");
    for (int i = 0; i < 3; i++)
        fprintf(f, "\n        + k%d_value(0, 0, work) + k%d_jvp(0, 0, 0, 0, "
                "work)\n        + k%d_vjp(0, 0, 0, 0, work)", i, i, i);
    fprintf(f, ";\n}\n");
    fclose(f);
}

// Nothing is wanted: nothing is needed, and all return 0.
static void check_compilers(void)
{
    static const char *const compilers[] = { "gcc -O2", "clang -O1", "tcc" };
    write_static("static.c", false);
    write_static("static1.c", true);
    for (int i = 0; i < 6; i++) {
        const char *compiler = compilers[i / 2];
        if (!shell("command -v %.*s > /dev/null 2>&1",
                   (int)strcspn(compiler, " "), compiler))
            continue;
        CHECK(shell("cd %s && %s %s static%s.c -o static -lm && ./static", top,
                    compiler, i < 4 ? WARNINGS " -Wshadow" : "-Wall -Werror",
                    i % 2 ? "1" : ""), "%s", compiler);
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : RANDOM;
    uint64_t from = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    code_functions f;
    subjects = code_get(MOST, sizeof *subjects);
    if (!CHECK(mkdtemp(top) != NULL, "no directory"))
        return check_done("written");
    if (argc < 3) {
        check_options();
        check_compilers();
        add_texts(argc > 1);
        add_programs();
        add_functions();
    }
    add_random(from, n);
    write_all();
    void *library = loaded("all", argc > 1 ? "-O2" : "-O0");
    for (int i = 0; i < count && library != NULL; i++) {
        find_all(library, i, &f);
        call_all(i, &f);
    }
    CHECK(library != NULL, "not loaded");
    if (library != NULL)
        dlclose(library);
    close_all();
    CHECK(shell("rm -r %s", top), "rm");
    return check_done("written");
}
