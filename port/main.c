/* main.c - the command line of adrev-port.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define _XOPEN_SOURCE 700
#include "port.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT_VERSION "0.1.0"            // lint: that of adrev.h

static const char usage[] =
"adrev-port FILE.c ... --function NAME ... --with PARAMETER[:COUNT] ... -o OUT.h\n"
"           [-- flags of the compiler]\n"
"\n"
"  --function NAME          a function to convert, with all that it calls\n"
"  --with PARAMETER[:COUNT] an input; `all`: every number\n"
"  --of PARAMETER[:COUNT]   an output; default: every pointer that is written\n"
"  --number ad_rev|ad_fwd|real\n"
"  --suffix _ad             of the names of twins\n"
"  --stubs FILE             stubs for functions that are not seen\n"
"  --check [--points K] [--seed S]\n"
"                           runs twin and original\n"
"  --set NAME=VALUE         of a whole number that the check passes\n"
"  --equal FUNCTION         where it finds two numbers equal, no derivative is lost\n"
"  --whole                  no other file uses data of these, and of those of -p\n"
"  --clang PROGRAM          the compiler whose front end reads the file\n"
"  -p compile_commands.json flags of files, and more files\n"
"  --depend FILE            writes a rule of make: what the header is made of\n"
"  --version\n"
"\n"
"status: 0 converted, 1 refused, 2 wrong use\n";

static int wrong(const char *what, const char *which)
{
    fprintf(stderr, "adrev-port: %s%s%s (--help lists the options)\n", what,
            which ? ": " : "", which ? which : "");
    return 2;
}

// An option's value.
static int misunderstood(const char *name, const char *value)
{
    buffer b = { 0 };
    putf(&b, "%s %s", name, *value ? value : "''");
    return wrong("not understood", b.at);
}

static option option_of(const char *s)
{
    const char *colon = strchr(s, ':');
    option o = { { s, colon ? (size_t)(colon - s) : strlen(s) },
                 colon ? text_of(colon + 1) : (text){ "1", 1 } };
    if (colon == NULL)
        o.count.n = 0;
    return o;
}

// NAME or NAME:COUNT.
static bool take_option(option *list, int *count, const char *s)
{
    const option o = option_of(s);
    if (o.name.n == 0
        || (o.count.n == 0 && s[o.name.n] == ':'))
        return false;
    list[(*count)++] = o;
    return true;
}

/* --- arguments ------------------------------------------------------------ */

static const char *const valued[] = {
    "--function", "--with", "--of", "--number", "--suffix", "--stubs",
    "--points", "--seed", "--set", "--equal", "--clang", "--depend", "-p", "-o",
};

static bool has_value(const char *s)
{
    for (size_t i = 0; i < sizeof valued / sizeof *valued; i++)
        if (strcmp(s, valued[i]) == 0)
            return true;
    return false;
}

static bool number_known(const char *s)
{
    return strcmp(s, "ad_rev") == 0 || strcmp(s, "ad_fwd") == 0
        || strcmp(s, "real") == 0;
}

// 0.5, but not 4, 1e3 or the name of an enumerator.
static bool is_fraction(const char *s)
{
    char *end;
    const double v = strtod(s, &end);
    return *end == 0 && v != (double)(long long)v;
}

static bool take_value(const char *name, const char *v)
{
    if (strcmp(name, "--function") == 0)
        return opt.entry[opt.entries++] = text_of(v), true;
    if (strcmp(name, "--with") == 0 && strcmp(v, "all") == 0)
        return opt.all = true;
    if (strcmp(name, "--with") == 0)
        return take_option(opt.with, &opt.withs, v);
    if (strcmp(name, "--of") == 0)
        return take_option(opt.of, &opt.ofs, v);
    if (strcmp(name, "--number") == 0)
        return opt.number = v, number_known(v);
    if (strcmp(name, "--suffix") == 0)
        return opt.suffix = v, *v != 0;
    if (strcmp(name, "--stubs") == 0)
        return opt.stubs = v, true;
    if (strcmp(name, "--points") == 0)
        return (opt.points = atoi(v)) > 0;
    if (strcmp(name, "--seed") == 0)
        return opt.seed = (unsigned)atoi(v), true;
    if (strcmp(name, "--set") == 0) {
        const char *e = strchr(v, '=');
        if (e == NULL || e == v || e[1] == 0 || is_fraction(e + 1))
            return false;
        opt.set[opt.sets++] = (setting){ .name = { v, (size_t)(e - v) },
                                         .value = text_of(e + 1) };
        return true;
    }
    if (strcmp(name, "--equal") == 0)
        return opt.equal[opt.equals++] = text_of(v), true;
    if (strcmp(name, "--clang") == 0)
        return opt.clang = v, true;
    if (strcmp(name, "--depend") == 0)
        return opt.depend = v, true;
    if (strcmp(name, "-p") == 0)
        return opt.commands = v, true;
    return opt.out = v, true;
}

static void make_room(size_t arguments)
{
    opt.file = take(arguments * sizeof *opt.file);
    opt.with = take(arguments * sizeof *opt.with);
    opt.of = take(arguments * sizeof *opt.of);
    opt.entry = take(arguments * sizeof *opt.entry);
    opt.equal = take(arguments * sizeof *opt.equal);
    opt.set = take(arguments * sizeof *opt.set);
}

// 0, or the status of wrong use.
static int read_arguments(int argc, char **argv)
{
    make_room((size_t)argc);
    for (int i = 1; i < argc; i++) {
        const char *s = argv[i];
        if (strcmp(s, "--") == 0) {
            opt.flags = (const char **)argv + i + 1;
            opt.flag_count = argc - i - 1;
            break;
        }
        if (strcmp(s, "--check") == 0)
            opt.check = true;
        else if (strcmp(s, "--notes") == 0)
            opt.notes = true;
        else if (strcmp(s, "--whole") == 0)
            opt.whole = true;
        else if (has_value(s) && i + 1 == argc)
            return wrong("a value is missing", s);
        else if (has_value(s) && !take_value(s, argv[i + 1]))
            return misunderstood(s, argv[i + 1]);
        else if (has_value(s))
            i++;
        else if (*s == '-')
            return wrong("no such option", s);
        else
            opt.file[opt.files++] = s;
    }
    if (opt.files == 0 || opt.entries == 0 || (opt.withs == 0 && !opt.all))
        return wrong("a file, --function and --with are needed", NULL);
    if (opt.out == NULL && !opt.check)
        return wrong("-o is missing", NULL);
    if (opt.check && strcmp(opt.number, "ad_rev") != 0)
        return wrong("--check goes with --number ad_rev", NULL);
    opt.self = argv[0];
    if (opt.out == NULL)
        opt.out = "twin.h";
    return 0;
}

/* --- all of it ------------------------------------------------------------ */

static bool readable(const char *path)
{
    FILE *f = fopen(path, "r");
    if (f != NULL)
        fclose(f);
    return f != NULL;
}

static void set_number(void)
{
    if (strcmp(opt.number, "ad_fwd") == 0)
        opt.rec = "ad_dual";
    if (strcmp(opt.number, "real") == 0) {
        opt.rec = "real_rec";
        opt.acc = "real_acc";
    }
}

int main(int argc, char **argv)
{
    buffer out = { 0 };
    bool found;

    if (argc == 2 && strcmp(argv[1], "--version") == 0)
        return puts("adrev-port " PORT_VERSION) < 0 ? 2 : 0;
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return fputs(usage, stdout) < 0 ? 2 : 0;
    const int status = read_arguments(argc, argv);
    if (status)
        return status;
    for (int i = 0; i < opt.files; i++)
        if (!readable(opt.file[i]))
            return wrong("no such file", opt.file[i]);
    set_number();
    if (!units_list())
        return wrong("-p: not a list of commands", opt.commands);
    if (opt.stubs != NULL)
        opt.stub_text = read_file(opt.stubs, &found);
    if (!units_read())
        return 2;
    if (!flow_run())
        return 2;
    write_output(&out);
    if (refused) {
        refusals_print();
        if (opt.stubs != NULL)
            stubs_write();
        return 1;
    }
    if (strcmp(opt.out, "twin.h") != 0 && !write_file(opt.out, text_in(&out))) {
        fprintf(stderr, "adrev-port: cannot write %s\n", opt.out);
        return 2;
    }
    if (opt.depend != NULL && !depend_write()) {
        fprintf(stderr, "adrev-port: cannot write %s\n", opt.depend);
        return 2;
    }
    return opt.check ? check_run(text_in(&out)) : 0;
}
