/* main.c - the command line of adrev-port.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define _XOPEN_SOURCE 700
#include "port.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

options opt = { .suffix = "_ad", .number = "ad_rev", .clang = "clang",
                .rec = "ad_rec", .acc = "ad_acc", .points = 3, .seed = 1 };

static const char usage[] =
"adrev-port FILE.c --function NAME ... --with PARAMETER[:COUNT] ... -o OUT.h\n"
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
"  --clang PROGRAM          the compiler whose front end reads the file\n"
"  -p compile_commands.json the flags of FILE.c\n"
"\n"
"status: 0 converted, 1 refused, 2 wrong use\n";

static int wrong(const char *what, const char *which)
{
    fprintf(stderr, "adrev-port: %s%s%s\n%s", what, which ? ": " : "",
            which ? which : "", usage);
    return 2;
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

/* --- arguments ------------------------------------------------------------ */

static const char *const valued[] = {
    "--function", "--with", "--of", "--number", "--suffix", "--stubs",
    "--points", "--seed", "--set", "--clang", "-p", "-o",
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

static bool take_value(const char *name, const char *v)
{
    if (strcmp(name, "--function") == 0)
        return opt.entries < 64 && (opt.entry[opt.entries++] = text_of(v), true);
    if (strcmp(name, "--with") == 0 && strcmp(v, "all") == 0)
        return opt.all = true;
    if (strcmp(name, "--with") == 0)
        return opt.withs < 64 && (opt.with[opt.withs++] = option_of(v), true);
    if (strcmp(name, "--of") == 0)
        return opt.ofs < 64 && (opt.of[opt.ofs++] = option_of(v), true);
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
        if (e == NULL || opt.sets == 64)
            return false;
        opt.set[opt.sets++] = (setting){ { v, (size_t)(e - v) }, text_of(e + 1) };
        return true;
    }
    if (strcmp(name, "--clang") == 0)
        return opt.clang = v, true;
    if (strcmp(name, "-p") == 0)
        return opt.commands = v, true;
    return opt.out = v, true;
}

// 0, or the status of wrong use.
static int read_arguments(int argc, char **argv)
{
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
        else if (has_value(s) && i + 1 == argc)
            return wrong("a value is missing", s);
        else if (has_value(s) && !take_value(s, argv[i + 1]))
            return wrong("not understood", argv[i + 1]);
        else if (has_value(s))
            i++;
        else if (*s == '-')
            return wrong("no such option", s);
        else if (opt.file != NULL)
            return wrong("more than one file", s);
        else
            opt.file = s;
    }
    if (opt.file == NULL || opt.entries == 0 || (opt.withs == 0 && !opt.all))
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

/* --- clang ---------------------------------------------------------------- */

static void put_quoted(buffer *b, const char *s)
{
    put(b, " '");
    for (; *s; s++)
        if (*s == '\'')
            put(b, "'\\''");
        else
            put_char(b, *s);
    put(b, "'");
}

static text output_of(const char *command, int *status)
{
    FILE *f = popen(command, "r");
    buffer b = { 0 };

    if (f == NULL) {
        *status = -1;
        return text_in(&b);
    }
    for (size_t n = 1; n > 0; b.n += n) {
        b.at = grow(b.at, &b.room, b.n + (1 << 20), 1);
        n = fread(b.at + b.n, 1, (1 << 20) - 1, f);
    }
    *status = pclose(f);
    b.at[b.n] = 0;
    return text_in(&b);
}

static text clang(const char *what, int *status)
{
    buffer b = { 0 };
    putf(&b, "%s -std=gnu11 -w", opt.clang);
    for (int i = 0; i < opt.flag_count; i++)
        put_quoted(&b, opt.flags[i]);
    putf(&b, " %s", what);
    put_quoted(&b, opt.file);
    return output_of(b.at, status);
}

/* --- compile_commands.json ------------------------------------------------ */

// The text of a member of the object that t begins with.
static text member_of(text t, const char *name)
{
    const size_t at = find(t, name);
    if (at == t.n)
        return (text){ "", 0 };
    size_t i = at + strlen(name);
    while (i < t.n && t.at[i] != '"')
        i++;
    const size_t from = ++i;
    while (i < t.n && t.at[i] != '"')
        i += t.at[i] == '\\' ? 2 : 1;
    return (text){ t.at + from, i - from };
}

// Whether an entry is about the file that is read.
static bool entry_is(text directory, text name)
{
    buffer path = { 0 };
    if (name.n && name.at[0] != '/')
        putf(&path, "%.*s/", (int)directory.n, directory.at);
    put_text(&path, name);
    char *a = path.n ? realpath(path.at, NULL) : NULL;
    char *b = realpath(opt.file, NULL);
    const bool equal = a != NULL && b != NULL && strcmp(a, b) == 0;
    free(a);
    free(b);
    return equal;
}

// The words of "arguments": [ ... ], with blanks between them.
static text arguments_of(text object)
{
    buffer b = { 0 };
    size_t i = find(object, "\"arguments\":");
    while (i < object.n && object.at[i] != '[')
        i++;
    for (bool in = false; i < object.n && (in || object.at[i] != ']'); i++)
        if (object.at[i] == '"')
            in = !in, put(&b, " ");
        else if (in)
            put_char(&b, object.at[i]);
    return text_in(&b);
}

static bool wanted_flag(text w)
{
    return starts(w, "-I") || starts(w, "-D") || starts(w, "-U")
        || starts(w, "-std=") || starts(w, "-isystem") || starts(w, "-include");
}

// Words of a command that say how the file is read. -I of a relative folder is
// one of `directory`.
static void flags_of(text command, text directory)
{
    const char **list = take(256 * sizeof *list);
    int n = 0;
    bool next = false;

    for (size_t i = 0; i < command.n && n + opt.flag_count < 250;) {
        while (i < command.n && command.at[i] == ' ')
            i++;
        const size_t from = i;
        while (i < command.n && command.at[i] != ' ')
            i += command.at[i] == '\\' ? 2 : 1;
        const text w = { command.at + from, i - from };
        buffer flag = { 0 };
        if (starts(w, "-I") && w.n > 2 && w.at[2] != '/')
            putf(&flag, "-I%.*s/%.*s", (int)directory.n, directory.at,
                 (int)(w.n - 2), w.at + 2);
        else
            put_text(&flag, w);
        if (next || wanted_flag(w))
            list[n++] = flag.at;
        next = !next && (is(w, "-I") || is(w, "-D") || is(w, "-isystem")
                         || is(w, "-include"));
    }
    for (int i = 0; i < opt.flag_count; i++)
        list[n++] = opt.flags[i];
    opt.flags = list;
    opt.flag_count = n;
}

static bool read_commands(void)
{
    bool found;
    text t = read_file(opt.commands, &found);
    while (found && t.n > 0) {
        const size_t open = find(t, "{");
        t = (text){ t.at + open, t.n - open };
        const size_t close = find(t, "}");
        const text object = { t.at, close };
        const text directory = member_of(object, "\"directory\":");
        if (close < t.n && entry_is(directory, member_of(object, "\"file\":"))) {
            const text command = member_of(object, "\"command\":");
            flags_of(command.n ? command : arguments_of(object), directory);
            return true;
        }
        t = (text){ t.at + close, t.n - close };
        if (t.n)
            t = (text){ t.at + 1, t.n - 1 };
    }
    return false;
}

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
    int status = read_arguments(argc, argv);
    buffer out = { 0 };
    bool found;

    if (status)
        return status;
    if (!readable(opt.file))
        return wrong("no such file", opt.file);
    set_number();
    if (opt.commands != NULL && !read_commands())
        return wrong("the file is not in it", opt.commands);
    if (opt.stubs != NULL)
        opt.stub_text = read_file(opt.stubs, &found);
    const text json = clang("-fsyntax-only -Xclang -ast-dump=json", &status);
    if (status != 0 || tree_read(json) == NULL) {
        fprintf(stderr, "adrev-port: %s cannot read %s\n", opt.clang, opt.file);
        return 2;
    }
    main_file = file_named(text_of(opt.file));
    macros_read(clang("-dM -E", &status));
    flow_read();
    if (!flow_run())
        return wrong("no such function, or parameter", NULL);
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
    return opt.check ? check_run(text_in(&out)) : 0;
}
