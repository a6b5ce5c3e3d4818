/* check.c - builds and runs twin and original.
 *
 * Three files are compiled: the original with a function that unpacks numbers
 * into its parameters, the same for the twin, and a driver. It compares values
 * bit by bit, and derivatives by ad_check_jac, at random points. Parameters that
 * are no inputs get values of their own: whole numbers 4, or what --set says;
 * numbers and arrays fixed ones.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define _XOPEN_SOURCE 700
#include "port.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Numbers, and structures, of an array of which no count is known.
enum { ROOM = 64, STRUCTURES = 8 };

static bool twin;               // which of the two is written

static const option *listed(const option *list, int n, text name)
{
    for (int i = 0; i < n; i++)
        if (same(list[i].name, name))
            return &list[i];
    return NULL;
}

static bool is_input(const node *p)
{
    return opt.all || listed(opt.with, opt.withs, p->name) != NULL;
}

static void put_count(buffer *b, const node *p)
{
    const option *o = listed(opt.with, opt.withs, p->name);
    if (o == NULL || o->count.n == 0)
        o = listed(opt.of, opt.ofs, p->name);
    if (o != NULL && o->count.n)
        putf(b, "(%.*s)", (int)o->count.n, o->count.at);
    else
        putf(b, "%d", ROOM);
}

// b.n of b[i0].n: what is set is set in all elements.
static text without_indices(text path)
{
    buffer b = { 0 };
    for (size_t i = 0; i < path.n;)
        if (path.at[i] == '[')
            i = closing(path, i);
        else
            put_char(&b, path.at[i++]);
    return text_in(&b);
}

static const setting *set_of(text path)
{
    path = without_indices(path);
    for (int i = 0; i < opt.sets; i++)
        if (same(opt.set[i].name, path))
            return opt.set[i].used = true, &opt.set[i];
    return NULL;
}

static text joined(text a, const char *between, text c)
{
    buffer b = { 0 };
    put_text(&b, a);
    put(&b, between);
    put_text(&b, c);
    return text_in(&b);
}

/* --- parameters ----------------------------------------------------------- */

static const char *kind_of(const ty *t)
{
    return twin && active(t) ? "ad_rev" : t->single ? "float" : "double";
}

// One number in its place: the next input, or a fixed value.
static void put_number(buffer *b, const ty *t, text path, bool input)
{
    const char *s = text_copy(path);
    if (twin && active(t)) {
        putf(b, "    %s = %s;\n", s, input ? "port_x[port_k++]"
             : "ad_rec(port_fixed(&port_f))");
        if (t->single)
            putf(b, "    %s.v = (float)%s.v;\n", s, s);
    } else
        putf(b, "    %s = %s;\n", s, !input ? "port_fixed(&port_f)"
             : twin ? "ad_value(port_x[port_k++])" : "port_x[port_k++]");
}

static bool fill(buffer *b, const ty *t, text path, bool input, int depth)
{
    const setting *s = set_of(path);
    if (t->kind == T_NUM) {
        put_number(b, t, path, input);
    } else if (t->kind == T_OTHER && s != NULL) {
        putf(b, "    %.*s = %.*s;\n", (int)path.n, path.at, (int)s->value.n,
             s->value.at);
    } else if (t->kind == T_ARR) {
        buffer i = { 0 };
        putf(&i, "[i%d]", depth);
        putf(b, "    for (size_t i%d = 0; i%d < sizeof %.*s / sizeof *%.*s; "
             "i%d++) {\n", depth, depth, (int)path.n, path.at, (int)path.n,
             path.at, depth);
        if (!fill(b, t->to, joined(path, "", text_in(&i)), input, depth + 1))
            return false;
        put(b, "    }\n");
    } else if (t->kind == T_REC) {
        int k = 0;
        const node *d = t->record->decl;
        if (t->record->is_union)
            return false;
        for (int i = 0; i < d->kids; i++)
            if (d->kid[i]->kind == FieldDecl && d->kid[i]->ty != NULL) {
                const ty *f = t->record->field[k++];
                if (!fill(b, f, d->kid[i]->name.n
                          ? joined(path, ".", d->kid[i]->name) : path, input,
                          depth))
                    return false;
            }
    }
    return true;
}

static void put_plain_type(buffer *b, const ty *t, text name)
{
    ty copy = *t;
    copy.quals = 0;
    if (!twin && t->kind == T_REC) {
        if (t->alias != NULL)
            put_text(b, t->alias->name);
        else
            putf(b, "struct %.*s", (int)t->record->name.n, t->record->name.at);
        put(b, " ");
        put_text(b, name);
    } else {
        ty_print(b, &copy, name);
    }
}

// An array behind a pointer: of the numbers of its innermost type.
static bool array_parameter(buffer *b, const node *p, const ty *t, bool input)
{
    const char *s = text_copy(p->name);
    while (t->kind == T_ARR)
        t = t->to;
    if (t->kind != T_NUM)
        return false;
    putf(b, "    const size_t port_n_%s = ", s);
    put_count(b, p);
    putf(b, ";\n    %s %s[port_n_%s + 1];\n    memset(%s, 0, sizeof %s);\n"
         "    for (size_t i = 0; i < port_n_%s; i++) {\n", kind_of(t), s, s, s, s, s);
    buffer path = { 0 };
    putf(&path, "%s[i]", s);
    put_number(b, t, text_in(&path), input);
    put(b, "    }\n");
    return true;
}

// Structures behind a pointer: COUNT of them, or some.
static bool structure_parameter(buffer *b, const node *p, const ty *t, bool input)
{
    const option *o = listed(opt.with, opt.withs, p->name);
    buffer name = { 0 };
    const char *s = text_copy(p->name);
    if (o != NULL && o->count.n)
        putf(&name, "%s[%.*s]", s, (int)o->count.n, o->count.at);
    else
        putf(&name, "%s[%d]", s, STRUCTURES);
    put(b, "    ");
    put_plain_type(b, t, text_in(&name));
    putf(b, ";\n    memset(%s, 0, sizeof %s);\n", s, s);
    const ty all = { .kind = T_ARR, .to = (ty *)t };
    return fill(b, &all, p->name, input, 0);
}

static bool put_parameter(buffer *b, const node *p)
{
    const ty *t = p->ty;
    const bool input = is_input(p);
    const char *s = text_copy(p->name);
    const setting *set = set_of(p->name);

    if (t->kind == T_OTHER) {
        put(b, "    ");
        put_plain_type(b, t, p->name);
        put(b, " = ");
        put_text(b, set ? set->value : T("4"));
        put(b, ";\n");
        return true;
    }
    const ty *behind = t->kind == T_PTR ? t->to : t;
    while (behind->kind == T_VOID && behind->bound != NULL)
        behind = behind->bound;
    if (t->kind == T_PTR && behind->kind == T_VOID)
        return putf(b, "    void *%s = NULL;\n", s), true;
    if (t->kind == T_PTR && behind != t->to) {
        ty *known = take(sizeof *known);
        *known = *t;
        known->to = (ty *)behind;
        t = known;
    }
    if (t->kind == T_PTR && t->to->kind == T_OTHER) {
        put(b, "    ");
        put_plain_type(b, t->to, p->name);
        putf(b, "[%d] = { 0 };\n", ROOM);
        return true;
    }
    if (t->kind == T_PTR && t->to->kind != T_REC)
        return array_parameter(b, p, t->to, input);
    if (t->kind != T_NUM && t->kind != T_REC && t->kind != T_PTR)
        return false;
    if (t->kind == T_PTR)
        return structure_parameter(b, p, t->to, input);
    const ty *value = t;
    put(b, "    ");
    if (value->kind == T_NUM)
        putf(b, "%s %s", kind_of(value), s);
    else
        put_plain_type(b, value, p->name);
    putf(b, ";\n    memset(&%s, 0, sizeof %s);\n", s, s);
    return fill(b, value, p->name, input, 0);
}

static void put_argument(buffer *b, const node *p)
{
    const ty *t = p->ty;
    put(b, t->kind == T_PTR ? "(void *)" : "");
    put_text(b, p->name);
}

static void put_outputs(buffer *b, const function *f)
{
    for (int i = 0; i < f->decl->kids; i++) {
        const node *p = f->decl->kid[i];
        const ty *t = p->kind == ParmVarDecl ? p->ty : NULL;
        if (t == NULL || t->kind != T_PTR || (t->to->quals & Q_CONST))
            continue;
        t = t->to;
        while (t->kind == T_ARR)
            t = t->to;
        if (t->kind != T_NUM || (t->quals & Q_CONST))
            continue;
        if (opt.ofs && !is_input(p) && listed(opt.of, opt.ofs, p->name) == NULL)
            continue;
        const char *s = text_copy(p->name);
        putf(b, "    for (size_t i = 0; i < port_n_%s; i++)\n        port_y[port_m++] = ", s);
        putf(b, twin && !active(t) ? "ad_rec(%s[i]);\n" : "%s[i];\n", s);
    }
}

// How many inputs there are, and what they are set to.
static bool put_wrapper(buffer *b, const function *f)
{
    const char *number = twin ? "ad_rev" : "double";
    const bool result = f->type->to->kind == T_NUM;
    bool any = false;

    putf(b, "static inline double port_fixed(unsigned *s)\n{\n"
         "    *s = *s * 1103515245u + 12345u;\n"
         "    return 0.25 + (*s >> 16) %% 1024 / 1024.0;\n}\n\n"
         "size_t %s(const %s *port_x, %s *port_y,\n    size_t *port_inputs)\n{\n"
         "    size_t port_k = 0, port_m = 0;\n    unsigned port_f = 1;\n"
         "    (void)port_f;\n",
         twin ? "port_twin" : "port_plain", number, number);
    for (int i = 0; i < f->decl->kids; i++)     // whole numbers first
        if (f->decl->kid[i]->kind == ParmVarDecl
            && f->decl->kid[i]->ty->kind == T_OTHER)
            put_parameter(b, f->decl->kid[i]);
    for (int i = 0; i < f->decl->kids; i++)
        if (f->decl->kid[i]->kind == ParmVarDecl
            && f->decl->kid[i]->ty->kind != T_OTHER
            && !put_parameter(b, f->decl->kid[i])) {
            fprintf(stderr, "adrev-port: --check cannot make a parameter %.*s\n",
                    (int)f->decl->kid[i]->name.n, f->decl->kid[i]->name.at);
            return false;
        }
    put(b, result ? "    port_y[port_m++] = " : "    ");
    put_text(b, f->name);
    put(b, twin ? opt.suffix : "");
    put(b, "(");
    for (int i = 0; i < f->decl->kids; i++)
        if (f->decl->kid[i]->kind == ParmVarDecl) {
            put(b, any ? ", " : "");
            any = true;
            put_argument(b, f->decl->kid[i]);
        }
    put(b, ");\n");
    put_outputs(b, f);
    put(b, "    *port_inputs = port_k;\n    return port_m;\n}\n");
    return true;
}

/* --- files ---------------------------------------------------------------- */

static const char driver[] =
"#define ADREV_IMPLEMENTATION\n"
"#include \"adrev.h\"\n"
"#include <stdio.h>\n#include <stdlib.h>\n"
"enum { MOST = 4096 };\n"
"size_t port_plain(const double *, double *, size_t *);\n"
"size_t port_twin(const ad_rev *, ad_rev *, size_t *);\n"
"static double x[MOST], y[MOST];\n"
"static ad_rev rx[MOST], ry[MOST];\n"
"static void f(const ad_rev *v, ad_rev *w, void *unused)\n"
"{ size_t n; (void)unused; port_twin(v, w, &n); }\n"
"static int say(const char *s, int point) { printf(\"point %d: %s\\n\", point, s); return 1; }\n"
"int main(int argc, char **argv)\n{\n"
"    const int points = argc > 1 ? atoi(argv[1]) : 3;\n"
"    int wrong = 0;\n    size_t n = 0, m = 0, bits = 0;\n"
"    srand(argc > 2 ? (unsigned)atoi(argv[2]) : 1);\n"
"    for (int p = 1; p <= points; p++) {\n"
"        for (size_t i = 0; i < MOST; i++)\n"
"            x[i] = (p % 2 ? 0.2 : -1.0) + 1.6 * rand() / RAND_MAX;\n"
"        ad_tape *t = ad_tape_new();\n"
"        ad_use(t);\n"
"        m = port_plain(x, y, &n);\n"
"        ad_inputs(n, x, rx);\n"
"        if (port_twin(rx, ry, &n) != m)\n            wrong += say(\"other outputs\", p);\n"
"        for (size_t i = 0; i < m; i++) {\n"
"            const double v = ad_value(ry[i]);\n"
"            if (memcmp(&v, &y[i], sizeof v) == 0 || (v != v && y[i] != y[i]))\n"
"                bits++;\n"
"            else if (++wrong)\n"
"                printf(\"point %d: y[%zu] = %.17g in place of %.17g\\n\", p, i, v, y[i]);\n"
"        }\n"
"        bool finite = true;\n"
"        for (size_t i = 0; i < m; i++)\n            finite = finite && y[i] - y[i] == 0;\n"
"        if (argc > 3) {\n            ad_tape_free(t);\n            continue;\n        }\n"
"        if (!finite) {\n"
"            printf(\"point %d: not finite: derivatives are not judged\\n\", p);\n"
"            ad_tape_free(t);\n            continue;\n        }\n"
"        ad_check_report r = { 0 };\n"
"        ad_status s = ad_check_jac(f, NULL, n, x, m, &r);\n"
"        ad_tape_free(t);\n"
"        if (s != ADREV_OK)\n            wrong += say(ad_message(s), p);\n"
"        else if (!ad_check_passed(&r)) {\n"
"            printf(\"point %d: dy[%zu]/dx[%zu] = %.17g, differences say %.17g\\n\", p,\n"
"                   r.worst.output, r.worst.index, r.worst.gradient, r.worst.difference);\n"
"            wrong++;\n        }\n"
"    }\n"
"    printf(\"adrev-port: %d points, %zu inputs, %zu outputs: %s\\n\", points, n, m,\n"
"           wrong ? \"they differ\" : argc > 3 ? \"the same values bit by bit; in float, derivatives are not judged\"\n"
"           : \"the same values bit by bit, derivatives right\");\n"
"    return wrong != 0;\n}\n";

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

static int build_at(const char *dir, const translation *own, const char *how)
{
    buffer b = { 0 };
    level = how;
    for (int u = 0; u < unit_count; u++)
        if (units[u].root != NULL && &units[u] != own && !build_unit(dir, u))
            return 1;
    put_compiler(&b, own);
    putf(&b, " -I'%s' '%s/plain.c' '%s/twin.c' '%s/driver.c'", dir, dir, dir, dir);
    for (int u = 0; u < unit_count; u++)
        if (units[u].root != NULL && &units[u] != own)
            putf(&b, " '%s/unit%d.o'", dir, u);
    putf(&b, " -o '%s/run' -lm", dir);
    return system(b.at);
}

// At -O0, which is fastest; functions that are `inline` and nothing else are not
// there then, and are at -O1.
static int build(const char *dir, const translation *own)
{
    return build_at(dir, own, "-O0 2> /dev/null")
        && build_at(dir, own, "-O1 -Wl,-z,muldefs");
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

static int run_there(const char *dir, const function *f, text text_of_twin)
{
    buffer plain = { 0 }, other = { 0 }, run = { 0 };
    const translation *own = &units[f->decl->unit];
    char *full = realpath(own->path, NULL);

    putf(&plain, "#define main port_main\n#include \"%s\"\n#undef main\n"
         "#include <stddef.h>\n#include <string.h>\n", full ? full : own->path);
    put(&other, "#include \"twin.h\"\n#include <stddef.h>\n#include <string.h>\n");
    twin = false;
    if (!put_wrapper(&plain, f))
        return 2;
    twin = true;
    if (!put_wrapper(&other, f))
        return 2;
    if (!put_file(dir, "plain.c", text_in(&plain))
        || !put_file(dir, "twin.c", text_in(&other))
        || !put_file(dir, "twin.h", text_of_twin)
        || !put_file(dir, "driver.c", text_of(driver)) || build(dir, own) != 0) {
        fprintf(stderr, "adrev-port: twin and original do not compile\n");
        return 2;
    }
    putf(&run, "'%s/run' %d %u %s", dir, opt.points, opt.seed,
         any_float() ? "float" : "");
    fflush(stdout);
    return system(run.at) != 0;
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
