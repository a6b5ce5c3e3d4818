// SPDX-License-Identifier: MIT-0
// tags: recorded code
// flags: -pthread
/* compiler.c - ad_fn_compile where others share the machine, in programs that
 * treat their signals, files and umask in their own way, and what it says where
 * it compiles nothing. Each reason of ADREV_COMPILE_TABLE is met.            */

#define _XOPEN_SOURCE 700       // sigaction, setitimer, setegid

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Files that were open as 0, 1 or 2.
static long low_files;

static int seen_close(int file)
{
    struct stat s;
    low_files += file < 3 && fstat(file, &s) == 0 && S_ISREG(s.st_mode);
    return close(file);
}

#define close(file) seen_close(file)
#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#undef close

#include "check.h"
#include "heap.h"
#include "shell.h"

static char top[64];            // of this test, for this user only
static bool met[ADREV_COMPILE_COUNT];

// What the text of each report should be about is checked by its callers.
static ad_compile_report report;

static void product(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_mul(x[0], ad_sin(x[1])));
}

static ad_fn *recorded(void)
{
    const ad_real at[2] = { 0.3, 0.7 };
    ad_fn *fn = NULL;
    CHECK(ad_fn_record(&fn, product, NULL, 2, at, 1) == ADREV_OK, "record");
    return fn;
}

static ad_status compiled(const ad_compile_options *options)
{
    const ad_real x[2] = { 0.5, 1.1 };
    ad_compile_options o = *options;
    ad_real y = 0;
    ad_fn *fn = recorded();
    o.report = &report;
    ad_status s = ad_fn_compile(fn, &o);
    CHECK(s == ADREV_OK || s == ADREV_ECOMPILE || s == ADREV_ENOMEM, "%s",
          ad_message(s));
    CHECK((s == ADREV_ECOMPILE) == (report.reason != ADREV_COMPILE_DONE),
          "%s, but %s", ad_message(s), ad_compile_message(report.reason));
    CHECK(s != ADREV_OK || fn->library != NULL, "nothing is loaded");
    CHECK(ad_fn_eval(fn, x, &y) == ADREV_OK, "value");
    CHECK_CLOSE(y, x[0] * sin(x[1]), 2);
    met[report.reason] = true;
    ad_fn_free(fn);
    return s;
}

static ad_status compiled_in(const char *cache)
{
    const ad_compile_options o = { .compiler = quick_compiler(), .cache = cache,
                                   .flags = "-O0" };
    return compiled(&o);
}

#define COMPILES(call) compiles_at(call, #call, __LINE__)

static void compiles_at(ad_status s, const char *call, int line)
{
    check_that(s == ADREV_OK, __FILE__, line, "%s: %s: %s %s", call,
               ad_message(s), ad_compile_message(report.reason), report.text);
}

#define REFUSED(call, reason, about)                                        \
    refused_at(call, ADREV_COMPILE_##reason, about, #call, __LINE__)

static void refused_at(ad_status s, ad_compile_reason reason,
                       const char *about, const char *call, int line)
{
    check_that(s == ADREV_ECOMPILE && report.reason == reason, __FILE__, line,
               "%s: %s: %s", call, ad_message(s),
               ad_compile_message(report.reason));
    check_that(strstr(report.text, about) != NULL, __FILE__, line,
               "%s: says \"%s\", nothing of \"%s\"", call, report.text, about);
}

static void run(const char *format, ...)
{
    char line[600];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    CHECK(system(line) == 0, "%s", line);
}

// A path in the test's directory; four of them at a time.
static const char *in(const char *name)
{
    static char path[4][160];
    static int next;
    char *to = path[next++ % 4];
    snprintf(to, sizeof path[0], "%s/%s", top, name);
    return to;
}

// Runs a test in a process of its own, which may change what it likes, as a
// user who has no rights if that can be. What it prints are its failures.
static void apart(void (*test)(void), int user, const char *name)
{
    int end = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        check_passed = check_failed = 0;
        if (user == 0 || setuid((uid_t)user) == 0)
            test();
        fflush(NULL);
        _exit(check_failed != 0);
    }
    waitpid(child, &end, 0);
    CHECK(WIFEXITED(end) && WEXITSTATUS(end) == 0, "%s as user %d", name,
          user);
}

/* --- names in which dlopen sees more than letters ------------------------- */

// A library at every place where dlopen could look instead, with the names of
// those in the cache. It makes a file when it is loaded.
static void plant(const char *where)
{
    run("mkdir -p '%s'; for f in %s/*/*.so; do"
        " cp %s/evil.so '%s'/$(basename $f); done", where, top, top, where);
}

static void test_dollar(void)
{
    static const char *const name[] = {
        "$LIB", "${LIB}", "$ORIGIN", "${ORIGIN}", "$PLATFORM", "a$PLATFORM",
        "$", "$$LIB", "no\\$LIB"
    };
    static const char *const instead[] = {
        "lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu",
        "x86_64", "haswell", "xeon_phi", "ax86_64", "ahaswell"
    };
    run("printf 'void __attribute__((constructor)) f(void)"
        " { __builtin_fclose(fopen(\"%s/evil\", \"w\")); }' | sed 's/^/"
        "#include <stdio.h>\\n/; s/__builtin_//' > %s/evil.c"
        " && cc -shared -fPIC -o %s/evil.so %s/evil.c", top, top, top, top);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
            COMPILES(compiled_in(in(name[i])));
            COMPILES(compiled_in(in(name[i])));
        }
        for (size_t i = 0; i < sizeof instead / sizeof *instead; i++)
            plant(in(instead[i]));
    }
    CHECK(access(in("evil"), F_OK) != 0, "another library has run");
    run("rm -r %s/evil* %s/lib* %s/*x86_64 %s/*haswell %s/xeon_phi", top, top,
        top, top, top);
}

/* --- directories and links of others -------------------------------------- */

// Where a directory may be exchanged, nothing is made behind it.
static void test_nothing_made(void)
{
    char open[160];
    snprintf(open, sizeof open, "%s", in("open"));
    CHECK(mkdir(open, 0700) == 0 && chmod(open, 0777) == 0, "mkdir");
    REFUSED(compiled_in(in("open/a/b")), NOT_PRIVATE, open);
    CHECK(access(in("open/a"), F_OK) != 0, "made in an open directory");
    CHECK(symlink("open", in("way")) == 0, "symlink");
    REFUSED(compiled_in(in("way/a/b")), NOT_PRIVATE, open);
    CHECK(access(in("open/a"), F_OK) != 0, "made by way of a link");
    CHECK(chmod(open, 01777) == 0, "chmod");
    COMPILES(compiled_in(in("way/../open/./a//b/")));
    CHECK(access(in("open/a/b"), F_OK) == 0, "where is it?");
    CHECK(chmod(in("open/a/b"), 0720) == 0, "chmod");
    REFUSED(compiled_in(in("way/a/b")), NOT_PRIVATE, "open/a/b");
    CHECK(chmod(in("open/a/b"), 0700) == 0, "chmod");
}

static void test_links(void)
{
    char deep[160] = "";
    CHECK(symlink("loop", in("loop")) == 0
          && symlink("missing/far", in("dangling")) == 0
          && symlink("/", in("root")) == 0, "symlink");
    REFUSED(compiled_in(in("loop/a")), NO_CACHE, "links");
    COMPILES(compiled_in(in("dangling")));
    CHECK(access(in("missing/far"), F_OK) == 0, "where is it?");
    snprintf(deep, sizeof deep, "root%s/by", top);
    COMPILES(compiled_in(in(deep)));
    CHECK(access(in("by"), F_OK) == 0, "where is it?");
    CHECK(chdir(top) == 0, "chdir");
    COMPILES(compiled_in("here/../there"));
    CHECK(access(in("there"), F_OK) == 0, "where is it?");
    CHECK(chdir("/") == 0, "chdir");
    run("echo x > %s", in("file"));
    REFUSED(compiled_in(in("file")), NO_CACHE, in("file"));
    REFUSED(compiled_in(in("file/a")), NO_CACHE, in("file"));
    REFUSED(compiled_in("/proc/none/a"), NO_CACHE, "/proc/none");
}

// By user 1, where user 2 has made links and a directory of his own.
static void test_shared(void)
{
    REFUSED(compiled_in(in("shared/link/new")), NOT_PRIVATE, "shared/link");
    REFUSED(compiled_in(in("shared/link")), NOT_PRIVATE, "shared/link");
    REFUSED(compiled_in(in("shared/theirs/new")), NOT_PRIVATE,
            "shared/theirs");
    REFUSED(compiled_in(in("shared/roots")), NOT_PRIVATE, "shared/roots");
    REFUSED(compiled_in(in("shared/roots/new")), NO_CACHE, "shared/roots/new");
    REFUSED(compiled_in(in("shared/byroot/../shared/theirs/new")), NOT_PRIVATE,
            "shared/theirs");
    COMPILES(compiled_in(in("shared/byroot/new")));
    CHECK(access(in("home/new/sub"), F_OK) != 0
          && access(in("theirs/new"), F_OK) != 0, "made by their link");
}

static void test_others(void)
{
    run("chmod 755 %s; mkdir -m 1777 %s/shared; mkdir -m 700 %s/home;"
        " chown 1 %s/home; cd %s/shared; ln -s ../home link;"
        " ln -s ../home byroot; mkdir -m 777 theirs; mkdir -m 755 roots;"
        " chown -h 2 link theirs", top, top, top, top, top);
    apart(test_shared, 1, "shared");
    CHECK(access(in("home/new"), F_OK) == 0, "by root's link");
    run("test $(ls %s/shared/theirs | wc -l) = 0; chmod 700 %s", top, top);
}

/* --- umask ---------------------------------------------------------------- */

static void test_umask(void)
{
    static const mode_t masks[] = { 0, 0277, 0777 };
    char name[32];
    char line[256];
    for (size_t i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "shared/u%o/a/b", (unsigned)masks[i]);
        mode_t before = umask(masks[i]);
        COMPILES(compiled_in(in(name)));
        umask(before);
        snprintf(line, sizeof line, "test -z \"$(find %s -perm /077)\"",
                 in(name));
        CHECK(system(line) == 0, "umask %o: others may read or write",
              (unsigned)masks[i]);
    }
}

/* --- signals and files of the program ------------------------------------- */

static void reap(int signal)
{
    int errno_before = errno;
    (void)signal;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    errno = errno_before;
}

static void nothing(int signal) { (void)signal; }

// Compiles anew, and once where the compiler refuses.
static void compile_twice(const char *flag)
{
    char flags[64];
    snprintf(flags, sizeof flags, "-O0 -D%s", flag);
    const ad_compile_options o = { .compiler = quick_compiler(),
                                   .cache = in("signals"), .flags = flags };
    const ad_compile_options bad = { .cache = in("signals"),
                                     .flags = "-no-such-flag" };
    COMPILES(compiled(&o));
    REFUSED(compiled(&bad), REFUSED, "no-such-flag");
}

static void handle(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = { .sa_flags = flags };
    action.sa_handler = handler;
    CHECK(sigaction(signal, &action, NULL) == 0, "sigaction");
}

static void test_ignored(void)
{
    handle(SIGCHLD, SIG_IGN, 0);
    handle(SIGPIPE, SIG_IGN, 0);
    compile_twice("IGNORED");
}

static void test_no_wait(void)
{
    handle(SIGCHLD, SIG_DFL, SA_NOCLDWAIT);
    compile_twice("NO_WAIT");
}

static void test_reaped(void)
{
    handle(SIGCHLD, reap, 0);
    compile_twice("REAPED");
}

static void nap(void)
{
    const struct timespec short_while = { 0, 50000 };
    nanosleep(&short_while, NULL);
}

// A thread that waits for any child, and takes what others wait for.
static void *reaper(void *unused)
{
    (void)unused;
    for (;;)
        if (wait(NULL) < 0)
            nap();
    return NULL;
}

static void test_reaper(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, reaper, NULL) == 0, "thread");
    for (int i = 0; i < 3; i++)
        compile_twice(i == 0 ? "R0" : i == 1 ? "R1" : "R2");
}

static void test_blocked(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    compile_twice("BLOCKED");
}

// A signal every 0.2 ms that interrupts every call.
static void test_interrupted(void)
{
    const struct itimerval often = { { 0, 200 }, { 0, 200 } };
    const struct itimerval never = { { 0, 0 }, { 0, 0 } };
    handle(SIGALRM, nothing, 0);
    setitimer(ITIMER_REAL, &often, NULL);
    compile_twice("INTERRUPTED");
    setitimer(ITIMER_REAL, &never, NULL);
}

// What the program prints then does not go into files of ours. Failures cannot
// be printed: they are the process's status.
static void test_closed(void)
{
    for (int file = 0; file < 3; file++)
        close(file);
    compile_twice("CLOSED");
    CHECK(low_files == 0, "a file is where the program prints");
    for (int file = 0; file < 3; file++)
        CHECK(fcntl(file, F_GETFD) < 0, "%d is left open", file);
}

// What the compiler is born with.
static void test_inherited(void)
{
    char script[128];
    char line[512];
    const ad_compile_options o = { .compiler = script, .cache = in("signals"),
                                   .flags = "-O0 -DINHERITED" };
    sigset_t all;
    snprintf(script, sizeof script, "%s/inherits", top);
    run("printf '#!/bin/sh\\n{ grep ^Sig /proc/self/status; umask;"
        " ls /proc/self/fd; } > %s.out\\ncc \"$@\"\\n' > %s; chmod 700 %s",
        script, script, script);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    handle(SIGCHLD, SIG_IGN, 0);
    handle(SIGPIPE, SIG_IGN, 0);
    umask(0777);
    COMPILES(compiled(&o));
    umask(077);
    // run() waits as system() does: not where SIGCHLD is ignored
    handle(SIGCHLD, SIG_DFL, 0);
    if (access("/proc/self/status", R_OK) == 0) {
        snprintf(line, sizeof line, "grep -q '^SigBlk:.0*$' %s.out"
                 " && grep -q 0077 %s.out", script, script);
        CHECK(system(line) == 0, "signals are blocked, or the umask");
        snprintf(line, sizeof line, "set -- $(grep ^SigIgn %s.out);"
                 " test $((0x$2 & 0x11000)) = 0", script);
        CHECK(system(line) == 0, "SIGCHLD or SIGPIPE is ignored");
    }
}

/* --- reasons -------------------------------------------------------------- */

static void test_compiler(void)
{
    ad_compile_options o = { .cache = in("reasons"), .flags = "-O0" };
    o.compiler = "no-such-compiler";
    REFUSED(compiled(&o), NO_COMPILER, "no-such-compiler");
    o.compiler = in("reasons");             // a directory
    REFUSED(compiled(&o), NO_COMPILER, "reasons");
    o.compiler = " ";
    REFUSED(compiled(&o), NO_COMPILER, "empty");
    o.compiler = "cc 'open";
    REFUSED(compiled(&o), QUOTE, "cc 'open");
    o.compiler = "false";
    REFUSED(compiled(&o), REFUSED, "status 1");
    o.compiler = "true";
    REFUSED(compiled(&o), REFUSED, "no library");
    o.compiler = NULL;
    o.flags = "-O0 \"open";
    REFUSED(compiled(&o), QUOTE, "-O0 \"open");
    o.flags = "-no-such-flag";
    REFUSED(compiled(&o), REFUSED, "-no-such-flag");
    o.flags = "-O0 -Wall -Werror -Dadrev_compiled_value=nowhere_at_all()";
    REFUSED(compiled(&o), REFUSED, "nowhere_at_all");
    o.flags = "-O0 -fvisibility=hidden";
    REFUSED(compiled(&o), NOT_LOADED, "hidden");
    char flags[160];
    run("echo 'extern int nowhere_at_all; int *p = &nowhere_at_all;' > %s.h",
        in("missing"));
    snprintf(flags, sizeof flags, "-O0 -include %s.h", in("missing"));
    o.flags = flags;
    REFUSED(compiled(&o), NOT_LOADED, "nowhere_at_all");
}

static void test_limit(void)
{
    ad_compile_options o = { .cache = in("reasons"), .limit = 100 };
    char bytes[32];
    REFUSED(compiled(&o), TOO_LONG, "limit 100");
    snprintf(bytes, sizeof bytes, "%zu bytes", report.bytes);
    CHECK(strstr(report.text, bytes) != NULL, "%s", report.text);
    o.flags = "-O0 -DLIMIT";
    o.limit = report.bytes;
    COMPILES(compiled(&o));
    o.limit--;
    REFUSED(compiled(&o), TOO_LONG, "limit");
}

// More is said than there is room for.
static void test_long_words(void)
{
    char script[128];
    const ad_compile_options o = { .compiler = script,
                                   .cache = in("reasons") };
    snprintf(script, sizeof script, "%s/talks", top);
    run("printf '#!/bin/sh\\nyes 1234567 | head -n 5000 >&2; exit 3\\n' > %s;"
        " chmod 700 %s", script, script);
    REFUSED(compiled(&o), REFUSED, "1234567\n1234567\n");
    CHECK(strlen(report.text) == sizeof report.text - 1, "%zu bytes",
          strlen(report.text));
}

static void test_no_cache(void)
{
    const ad_compile_options o = { .flags = "-O0" };
    char path[1000];
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    REFUSED(compiled(&o), NO_CACHE, "HOME");
    REFUSED(compiled_in(""), NO_CACHE, "");
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    REFUSED(compiled_in(path), NO_CACHE, "too long");
    setenv("HOME", in("home-of"), 1);
    COMPILES(compiled(&o));
    CHECK(access(in("home-of/.cache/adrev"), F_OK) == 0, "where is it?");
    setenv("XDG_CACHE_HOME", in("xdg"), 1);
    COMPILES(compiled(&o));
    CHECK(access(in("xdg/adrev"), F_OK) == 0, "where is it?");
}

static void test_privileged(void)
{
    CHECK(setegid(1) == 0, "setegid");
    REFUSED(compiled_in(in("reasons")), PRIVILEGED, "");
}

// Without report, and what else is said.
static void test_calls(void)
{
    ad_fn *fn = recorded();
    const ad_compile_options o = { .cache = in("reasons"), .flags = "-O0" };
    const ad_compile_options bad = { .cache = in("reasons"),
                                     .flags = "-no-such-flag" };
    ad_compile_options none = { .functions = 1u << 31, .report = &report };
    CHECK(ad_fn_compile(fn, &o) == ADREV_OK, "without report");
    CHECK(ad_fn_compile(fn, &bad) == ADREV_ECOMPILE, "without report");
    memset(&report, 1, sizeof report);
    CHECK(ad_fn_compile(fn, &none) == ADREV_ESHAPE
          && report.reason == ADREV_COMPILE_DONE && report.text[0] == '\0',
          "no such function");
    ad_fn_free(fn);
    for (int i = -1; i <= ADREV_COMPILE_COUNT; i++) {
        const char *text = ad_compile_message((ad_compile_reason)i);
        CHECK(text != NULL && text[0] != '\0', "no message for %d", i);
        for (int j = 0; j < i; j++)
            CHECK(strcmp(text, ad_compile_message((ad_compile_reason)j)) != 0,
                  "%d and %d read the same", i, j);
    }
}

/* --- memory --------------------------------------------------------------- */

// The n-th allocation fails, and all after it.
static void test_memory(void)
{
    heap h = { 0 };
    const ad_allocator a = { heap_alloc, heap_free, &h };
    const ad_fn_options options = { .allocator = &a };
    const ad_real at[2] = { 0.3, 0.7 };
    const ad_compile_options o = {
        .compiler = quick_compiler(), .cache = in("memory"), .flags = "-O0",
        .report = &report, .functions = ADREV_C_VALUE
    };
    ad_status s = ADREV_ENOMEM;
    for (size_t n = 0; s != ADREV_OK && n < 1000; n += 1 + n / 8) {
        ad_fn *fn = NULL;
        CHECK(ad_fn_record_with(&fn, &options, product, NULL, 2, at, 1)
              == ADREV_OK, "record");
        heap_fails(&h, n + 1, true);
        s = ad_fn_compile(fn, &o);
        heap_fails(&h, 0, false);
        CHECK(s == ADREV_OK ? fn->library != NULL : s == ADREV_ENOMEM,
              "%zu allocations: %s, %s", n, ad_message(s),
              ad_compile_message(report.reason));
        ad_fn_free(fn);
        CHECK(h.live == 0, "%zu blocks leak", h.live);
    }
    CHECK(s == ADREV_OK, "never");
}

int main(void)
{
    bool root = geteuid() == 0;
    snprintf(top, sizeof top, "/tmp/adrev-compiler-%ld", (long)getpid());
    CHECK(mkdir(top, 0700) == 0, "mkdir");
    test_dollar();
    test_nothing_made();
    test_links();
    if (root) {
        test_others();
        run("chmod 755 %s", top);
        apart(test_umask, 1, "umask");
        run("chmod 700 %s", top);
    }
    apart(test_ignored, 0, "SIGCHLD ignored");
    apart(test_no_wait, 0, "SA_NOCLDWAIT");
    apart(test_reaped, 0, "a handler that waits");
    apart(test_reaper, 0, "a thread that waits");
    apart(test_blocked, 0, "all signals blocked");
    apart(test_interrupted, 0, "interrupted");
    apart(test_closed, 0, "0, 1 and 2 closed");
    apart(test_inherited, 0, "inherited");
    compile_twice("PLAIN");
    test_compiler();
    test_limit();
    test_long_words();
    apart(test_no_cache, 0, "no cache");
    if (root)
        apart(test_privileged, 0, "privileged");
    test_calls();
    test_memory();
    // In a process of its own, and where there is no <dlfcn.h>.
    met[ADREV_COMPILE_PRIVILEGED] = met[ADREV_COMPILE_NOWHERE] = true;
#define ROW(name, text)                                                     \
    CHECK(met[ADREV_COMPILE_##name], #name " was never met: " text);
    ADREV_COMPILE_TABLE(ROW)
#undef ROW
    run("rm -r %s", top);
    return check_done("compiler");
}
