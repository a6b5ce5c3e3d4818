/* check.c - builds and runs twin and original.
 *
 * Three files are compiled: the original with a function that unpacks numbers
 * into its parameters (arguments.c), the same for the twin, and a driver. It
 * compares values bit by bit, and derivatives by ad_check_jac, at random points,
 * and at points where inputs are equal (ties.c).
 *
 * SPDX-License-Identifier: MIT-0
 */

#define _XOPEN_SOURCE 700
#include "port.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- files ---------------------------------------------------------------- */

enum { RIGHT, WRONG, RANDOM, LOST, NO_MEMORY };     // what the driver finds

// What it finds stands in a file: what the original exits with must not pass for
// that.
static const char driver[] =
"#define ADREV_IMPLEMENTATION\n"
"#include \"adrev.h\"\n"
"#include <math.h>\n"
"#include <stdio.h>\n"
"#include <stdlib.h>\n"
"#include <sys/mman.h>\n"
"#include <sys/wait.h>\n"
"#include <unistd.h>\n"
"enum { RIGHT, WRONG, RANDOM, LOST, NO_MEMORY, MOST = 65536 };\n"
"enum { SUMS = 8, PICKED = 24, FEW = SUMS + PICKED };\n"
"int port_whole, port_asked;\n"
"size_t port_plain(const double *, double *, size_t *);\n"
"size_t port_twin(const ad_rev *, ad_rev *, size_t *);\n"
"static double x[MOST], y[MOST], again[MOST];\n"
"static ad_rev rx[MOST], ry[MOST];\n"
"static size_t n, m;\n"
"static void f(const ad_rev *v, ad_rev *w, void *unused)\n"
"{ size_t k; (void)unused; port_twin(v, w, &k); }\n"
"// Of many numbers: sums of all of them, with random signs, and some alone.\n"
"static size_t hash(size_t a, size_t b) { return (a * 2654435761u ^ b * 40503u) * 2246822519u >> 7; }\n"
"static double sign(size_t k, size_t i) { return hash(k, i) & 1 ? 1 : -1; }\n"
"static void few(const ad_rev *t, ad_rev *w, void *unused)\n"
"{\n"
"    (void)unused;\n"
"    for (size_t i = 0; i < n; i++) {\n"
"        rx[i] = (ad_rev){ .v = x[i] };\n"
"        for (size_t k = 0; k < SUMS; k++)\n"
"            rx[i] = ad_rec(ad_add(rx[i], ad_mul(sign(k, i), t[k])));\n"
"    }\n"
"    for (size_t k = SUMS; n && k < FEW; k++) {\n"
"        const size_t i = hash(k, 1) % n;\n"
"        rx[i] = ad_rec(ad_add(rx[i], t[k]));\n"
"    }\n"
"    port_twin(rx, ry, &n);\n"
"    for (size_t k = 0; k < SUMS; k++) {\n"
"        w[k] = (ad_rev){ 0 };\n"
"        for (size_t i = 0; i < m; i++)\n"
"            w[k] = ad_rec(ad_add(w[k], ad_mul(sign(k, i + 7), ry[i])));\n"
"    }\n"
"    for (size_t k = SUMS; k < FEW; k++)\n"
"        w[k] = m ? ry[hash(k, 2) % m] : (ad_rev){ 0 };\n"
"}\n"
"static int say(const char *s, int point) { printf(\"point %d: %s\\n\", point, s); return 1; }\n"
"static const char *finding;\n"
"static void finish(int found)\n"
"{\n"
"    FILE *f = fopen(finding, \"w\");\n"
"    if (f != NULL) {\n"
"        fputc(found, f);\n"
"        fclose(f);\n"
"    }\n"
"    exit(0);\n"
"}\n"
"static bool same(double a, double b) { return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }\n"
"static int derivatives(int p)\n"
"{\n"
"    static const double zero[FEW];\n"
"    const bool many = n * m > 16384;\n"
"    ad_check_report r = { 0 };\n"
"    const ad_status s = many ? ad_check_jac(few, NULL, FEW, zero, FEW, &r) : ad_check_jac(f, NULL, n, x, m, &r);\n"
"    if (s == ADREV_ENOMEM)\n"
"        finish(NO_MEMORY);\n"
"    if (s != ADREV_OK)\n"
"        return say(ad_message(s), p);\n"
"    if (ad_check_passed(&r))\n"
"        return 0;\n"
"    printf(\"point %d: %sdy[%zu]/dx[%zu] = %.17g, differences say %.17g\\n\", p, many ? \"of sums, \" : \"\",\n"
"           r.worst.output, r.worst.index, r.worst.gradient, r.worst.difference);\n"
"    return 1;\n"
"}\n"
"static int point(int p, bool in_float)\n"
"{\n"
"    int wrong = 0;\n"
"    bool finite = true;\n"
"    ad_tape *t = ad_tape_new();\n"
"    ad_use(t);\n"
"    m = port_plain(x, y, &n);\n"
"    port_plain(x, again, &n);\n"
"    for (size_t i = 0; i < m; i++)\n"
"        if (!same(y[i], again[i]))\n"
"            finish(RANDOM);\n"
"    ad_inputs(n, x, rx);\n"
"    if (port_twin(rx, ry, &n) != m)\n"
"        wrong += say(\"other outputs\", p);\n"
"    for (size_t i = 0; i < m; i++) {\n"
"        finite = finite && y[i] - y[i] == 0;\n"
"        if (same(ad_value(ry[i]), y[i]))\n"
"            continue;\n"
"        wrong++;\n"
"        printf(\"point %d: y[%zu] = %.17g in place of %.17g\\n\", p, i, ad_value(ry[i]), y[i]);\n"
"    }\n"
"    if (!finite)\n"
"        say(\"not finite: derivatives are not judged\", p);\n"
"    else if (!in_float)\n"
"        wrong += derivatives(p);\n"
"    ad_tape_free(t);\n"
"    return wrong;\n"
"}\n";

static const char driver_main[] =
"int main(int argc, char **argv)\n"
"{\n"
"    const int points = argc > 1 ? atoi(argv[1]) : 3;\n"
"    int wrong = 0, lost = 0;\n"
"    finding = argc > 3 ? argv[3] : \"\";\n"
"    port_whole = argc > 4 ? atoi(argv[4]) : 4;\n"
"    port_asked = argc > 5 ? atoi(argv[5]) : 0;\n"
"    srand((unsigned)(seed = argc > 2 ? (size_t)atoi(argv[2]) : 1));\n"
"    for (int p = 1; p <= points; p++) {\n"
"        for (size_t i = 0; i < MOST; i++)\n"
"            x[i] = (p % 2 ? 0.2 : -1.0) + 1.6 * rand() / RAND_MAX;\n"
"        wrong += point(p, argc > 6);\n"
"        if (!wrong && !lost && argc <= 6)\n"
"            lost = ties(p);\n"
"    }\n"
"    printf(\"adrev-port: %d points, %zu inputs, %zu outputs: %s\\n\", points, n, m,\n"
"           wrong ? \"they differ\" : lost ? \"a derivative is lost\" : argc > 6 ? \"the same values bit by bit; in float, derivatives are not judged\"\n"
"           : \"the same values bit by bit, derivatives right\");\n"
"    finish(wrong ? WRONG : lost ? LOST : RIGHT);\n"
"}\n";

static bool put_file(const char *dir, const char *name, text t)
{
    buffer path = { 0 };
    putf(&path, "%s/%s", dir, name);
    return write_file(path.at, t);
}

static const char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? text_copy((text){ path, (size_t)(slash - path) }) : ".";
}

// The folder of adrev.h, if it is above the program.
static const char *header_folder(void)
{
    buffer b = { 0 };
    putf(&b, "%s/..", folder_of(opt.self));
    return b.at;
}

static const char *level;       // of optimisation

// C before C11, which the twin is not: -std=c99, -std=gnu89, -std=iso9899:1990.
static bool old_standard(text flag)
{
    return starts(flag, "-std=iso") ? find(flag, ":199") < flag.n
        : starts(flag, "-std=")
          && (find(flag, "9") < flag.n || find(flag, "8") < flag.n)
          && find(flag, "18") == flag.n;
}

static bool any_old_standard(const translation *u)
{
    bool old = false;
    for (int i = 0; i < u->flags; i++)
        old |= old_standard(text_of(u->flag[i]));
    for (int i = 0; i < opt.flag_count; i++)
        old |= old_standard(text_of(opt.flags[i]));
    return old;
}

static void put_compiler(buffer *b, const translation *u)
{
    const char *cc = getenv("CC");
    putf(b, "%s -std=gnu11 %s -w -ffp-contract=off -I'%s' -I'%s'", cc ? cc : "cc",
         level,
         header_folder(), folder_of(u->path));
    flags_put(b, u);
}

// Another file of the original, as it is.
static bool build_unit(const char *dir, int u)
{
    buffer b = { 0 };
    put_compiler(&b, &units[u]);
    putf(&b, " -Dmain=port_main_%d -c '%s' -o '%s/unit%d.o'", u, units[u].path,
         dir, u);
    return system(b.at) == 0;
}

// Of the other files that are compiled, as they are.
static bool is_other(int u, const translation *own)
{
    return (units[u].root != NULL || units[u].linked) && &units[u] != own;
}

// Libraries are searched for what the objects before them need.
static void put_libraries(buffer *b, const translation *u)
{
    for (int i = 0; i < u->flags + opt.flag_count; i++) {
        const char *s = i < u->flags ? u->flag[i] : opt.flags[i - u->flags];
        const size_t n = strlen(s);
        if (starts(text_of(s), "-l") || (n > 2 && strcmp(s + n - 2, ".a") == 0))
            put_quoted(b, s);
    }
}

static int build_at(const char *dir, const translation *own, const char *how)
{
    buffer b = { 0 };
    level = how;
    for (int u = 0; u < unit_count; u++)
        if (is_other(u, own) && !build_unit(dir, u))
            return 1;
    put_compiler(&b, own);
    put(&b, any_old_standard(own) ? " -std=gnu11" : "");
    for (int u = 0; u < unit_count; u++)
        if (is_other(u, own))
            putf(&b, " -I'%s'", folder_of(units[u].path));
    putf(&b, " -I'%s' '%s/plain.c' '%s/twin.c' '%s/driver.c'", dir, dir, dir, dir);
    for (int u = 0; u < unit_count; u++)
        if (is_other(u, own))
            putf(&b, " '%s/unit%d.o'", dir, u);
    put_libraries(&b, own);
    putf(&b, " -o '%s/run' -lm", dir);
    return system(b.at);
}

// At -O0, which is fastest; functions that are `inline` and nothing else are not
// there then, and are at -O1. What no call leads to needs no other file.
static int build(const char *dir, const translation *own)
{
    const char *reached = "-ffunction-sections -fdata-sections -Wl,--gc-sections";
    buffer fast = { 0 }, slow = { 0 };
    putf(&fast, "-O0 %s 2> /dev/null", reached);
    putf(&slow, "-O1 -Wl,-z,muldefs %s", reached);
    return build_at(dir, own, fast.at) && build_at(dir, own, slow.at);
}

// Whether something is computed in float: differences are too coarse then.
static bool in_float(const node *n)
{
    if (active(n->ty) && n->ty->single)
        return true;
    for (int i = 0; i < n->kids; i++)
        if (in_float(n->kid[i]))
            return true;
    return false;
}

static bool any_float(void)
{
    for (const function *f = functions; f != NULL; f = f->next)
        if (f->reached && in_float(f->decl))
            return true;
    return false;
}

// `port_whole` is what parameters get that may count something; `port_asked`: those
// that the function compares with a whole number get that.
static const char beginning[] = "#include <stddef.h>\n#include <string.h>\n"
                                "extern int port_whole, port_asked;\n";

static text whole_driver(void)
{
    buffer b = { 0 };
    put(&b, driver);
    put_ties(&b);
    put(&b, driver_main);
    return text_in(&b);
}

static int build_there(const char *dir, const function *f, text text_of_twin)
{
    buffer plain = { 0 }, other = { 0 };
    const translation *own = &units[f->decl->unit];
    char *full = realpath(own->path, NULL);

    putf(&plain, "#define main port_main\n#include \"%s\"\n#undef main\n%s",
         full ? full : own->path, beginning);
    putf(&other, "#include \"twin.h\"\n%s", beginning);
    if (!put_wrapper(&plain, f, false) || !put_wrapper(&other, f, true))
        return 2;
    if (!put_file(dir, "plain.c", text_in(&plain))
        || !put_file(dir, "twin.c", text_in(&other))
        || !put_file(dir, "twin.h", text_of_twin)
        || !put_file(dir, "driver.c", whole_driver()) || build(dir, own) != 0) {
        fprintf(stderr, "adrev-port: twin and original do not compile\n");
        return 2;
    }
    return 0;
}

// What the driver finds; something else if the program ends before.
static int run_built(const char *dir, int whole, bool asked)
{
    buffer run = { 0 }, finding = { 0 };
    putf(&finding, "%s/finding", dir);
    putf(&run, "'%s/run' %d %u '%s' %d %d %s", dir, opt.points, opt.seed,
         finding.at, whole, asked, any_float() ? "float" : "");
    remove(finding.at);
    fflush(stdout);
    FILE *f = system(run.at) == -1 ? NULL : fopen(finding.at, "r");
    const int found = f ? fgetc(f) : -1;
    if (f != NULL)
        fclose(f);
    return found;
}

// With arguments that the original takes: of many functions a whole number says
// which case they are, and others end the program.
static int run_there(const char *dir, const function *f, text text_of_twin)
{
    static const int whole[] = { 4, 1, 2, 9, 0, 4 };
    const size_t tries = sizeof whole / sizeof *whole;
    const int status = build_there(dir, f, text_of_twin);
    if (status != 0)
        return status;
    for (size_t i = 0; i < tries; i++) {
        const int found = run_built(dir, whole[i], i == tries - 1);
        if (found == LOST)
            questions_print();
        if (found == RIGHT || found == WRONG || found == LOST)
            return found != RIGHT;
        if (found == RANDOM) {
            fprintf(stderr, "adrev-port: the original gives other values when it "
                    "is called again: it cannot be checked\n");
            return 2;
        }
        if (found == NO_MEMORY) {
            fprintf(stderr, "adrev-port: memory runs out: derivatives cannot be "
                    "checked\n");
            return 2;
        }
    }
    fprintf(stderr, "adrev-port: the original ends the program with arguments "
            "that are made up: give it others by --set\n");
    return 2;
}

// What --set names must be there, or the check is not of what the user means.
static int unused_settings(void)
{
    int status = 0;
    for (int i = 0; i < opt.sets; i++)
        if (!opt.set[i].used) {
            fprintf(stderr, "adrev-port: --set %.*s: the check passes no whole "
                    "number of that name; a member is PARAMETER.MEMBER\n",
                    (int)opt.set[i].name.n, opt.set[i].name.at);
            status = 2;
        }
    return status;
}

int check_run(text text_of_twin)
{
    char dir[] = "/tmp/adrev-port-XXXXXX";
    int status = 0;
    buffer clean = { 0 };

    if (mkdtemp(dir) == NULL)
        return 2;
    for (int i = 0; i < opt.entries && status == 0; i++)
        status = run_there(dir, entry_named(opt.entry[i]), text_of_twin);
    putf(&clean, "rm -r '%s'", dir);
    if (system(clean.at) != 0)
        return 2;
    return status ? status : unused_settings();
}
