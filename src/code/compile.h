#pragma once

/* === code/compile ===========================================================
 * Compiles the C code of code/write by the system's compiler and keeps the
 * library in a cache, under a key: the hash of all that it depends on. Each
 * call compiles in a directory of its own. Then it puts the library into the
 * cache by a rename, under a name of the key and the hash of its contents. So
 * processes that compile the same function at the same time replace equal
 * files, and none of them finds an incomplete one.
 *
 *   needs   tape/memory core/cells core/hash function/api function/functions
 *           code/api code/text code/wanted code/write code/cache
 *   offers  adx_compile ADX_C_NAME ADX_LOOP_FLAGS adx_library_of
 *           adx_blame_hidden
 * ========================================================================== */

#if !ADREV_COMPILE

static ad_status adx_compile(ad_fn *fn, const ad_compile_options *options,
                             ad_compile_report *report, unsigned more)
{
    (void)options;
    (void)more;
    if (fn == NULL)
        return ADREV_ESHAPE;
    adx_blame(report, ADREV_COMPILE_NOWHERE, "", "");
    return ADREV_ECOMPILE;
}

#else

ADX_SELDOM_BEGIN

/* --- commands ---------------------------------------------------------------
 * The shell only starts commands: every word is between single quotes, where no
 * character but that quote has a meaning. What a command says and its status go
 * into files, because a program that ignores SIGCHLD, or waits for any child,
 * takes the status before we can.                                            */

static void adx_add_text(adx_bytes *b, const char *text)
{
    adx_put_bytes(text, strlen(text), b);
}

static void adx_add_letter(adx_bytes *b, char c)
{
    if (c == '\'')
        adx_add_text(b, "'\\''");
    else
        adx_put_bytes(&c, 1, b);
}

static void adx_add_quoted(adx_bytes *b, const char *word)
{
    adx_add_text(b, "'");
    while (*word != '\0')
        adx_add_letter(b, *word++);
    adx_add_text(b, "' ");
}

// Adds one word of a text, without its quotes and backslashes, as a shell reads
// it. Returns where the word ends; NULL: a quote or a backslash is open.
static const char *adx_add_word(adx_bytes *b, const char *at)
{
    char quote = '\0';
    for (; *at != '\0' && (quote != '\0' || strchr(ADX_BLANKS, *at) == NULL);
         at++) {
        bool escapes = *at == '\\' && (quote == '\0' || (quote == '"'
                       && at[1] != '\0' && strchr("\"\\$`", at[1]) != NULL));
        if (escapes && *++at == '\0')
            return NULL;
        if (escapes)
            adx_add_letter(b, *at);
        else if (quote == '\0' && (*at == '\'' || *at == '"'))
            quote = *at;
        else if (quote != '\0' && *at == quote)
            quote = '\0';
        else
            adx_add_letter(b, *at);
    }
    return quote == '\0' ? at : NULL;
}

// Adds all words of a text, each between quotes. False: the last one is open.
static bool adx_add_words(adx_bytes *b, const char *text)
{
    while (text != NULL && *(text += strspn(text, ADX_BLANKS)) != '\0') {
        adx_add_text(b, "'");
        text = adx_add_word(b, text);
        adx_add_text(b, "' ");
    }
    return text != NULL;
}

// Begins a command: "umask 077; { 'compiler' ". False: no compiler is named.
// (The umask is set because compilers hand files on to one another, and one
// that takes away the owner's rights would stop them.)
static bool adx_begin_command(adx_cache *k, adx_bytes *b)
{
    adx_add_text(b, "umask 077; { ");
    if (k->compiler[strspn(k->compiler, ADX_BLANKS)] == '\0')
        return adx_blame(k->report, ADREV_COMPILE_NO_COMPILER, "",
                         "its name is empty");
    return adx_add_words(b, k->compiler)
        || adx_blame(k->report, ADREV_COMPILE_QUOTE, "", k->compiler);
}

// Runs the shell in a process of its own, in which no signal is blocked and
// those that compilers rely on have their defaults. Returns 0 when it has
// ended, or an error.
static int adx_run_shell(char *command)
{
    static char name[] = "sh";
    static char option[] = "-c";
    char *words[] = { name, option, command, NULL };
    sigset_t signals;
    posix_spawnattr_t how;
    pid_t process;
    int wrong = posix_spawnattr_init(&how);
    if (wrong != 0)
        return wrong;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&how, &signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGPIPE);
    posix_spawnattr_setsigdefault(&how, &signals);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK
                                   | POSIX_SPAWN_SETSIGDEF);
    wrong = posix_spawn(&process, "/bin/sh", NULL, &how, words, environ);
    posix_spawnattr_destroy(&how);
    // Anything but EINTR says that it has ended, whoever asked for its status.
    while (wrong == 0 && waitpid(process, NULL, 0) < 0 && errno == EINTR)
        ;
    return wrong;
}

// The number in the file; -1: there is none, so the shell itself was ended.
static int adx_read_status(adx_cache *k, const char *path)
{
    size_t n = 0;
    int status = 0;
    char *data = adx_read_file(k, path, &n);
    for (size_t i = 0; i + 1 < n && adx_is_digit(data[i]); i++)
        status = 10 * status + (data[i] - '0');
    adx_drop(k->memory, data);
    return n < 2 ? -1 : status;
}

// Blames the compiler, with the beginning of what it said.
static bool adx_blame_compiler(adx_cache *k, int status, const char *said)
{
    char text[sizeof k->report->text];
    size_t n = 0;
    int file = adx_open_file(said, O_RDONLY);
    for (ssize_t got = 1; file >= 0 && n + 1 < sizeof text && got != 0;) {
        got = read(file, text + n, sizeof text - 1 - n);
        if (got < 0 && errno != EINTR)
            break;
        n += got > 0 ? (size_t)got : 0;
    }
    if (file >= 0)
        close(file);
    while (n > 0 && strchr(ADX_BLANKS, text[n - 1]) != NULL)
        n--;
    text[n] = '\0';
    if (n == 0)
        snprintf(text, sizeof text, "status %d, and not a word", status);
    // 126 and 127 are of the shell, which found nothing to run.
    return adx_blame(k->report, status == 126 || status == 127
                     ? ADREV_COMPILE_NO_COMPILER : ADREV_COMPILE_REFUSED, "",
                     text);
}

// Ends a command, runs it if `ok` says that all of it is there, and drops it.
// Nothing is printed, not even that there is no such program.
static bool adx_end_command(adx_cache *k, adx_bytes *b, bool ok)
{
    char said[ADX_PATH + 16];
    char status[ADX_PATH + 16];
    adx_own_file(k, "said", said);
    adx_own_file(k, "status", status);
    adx_add_text(b, "; } < /dev/null > ");
    adx_add_quoted(b, said);
    adx_add_text(b, "2>&1; echo $? > ");
    adx_add_quoted(b, status);
    adx_put_bytes("", 1, b);
    k->no_memory = k->no_memory || b->failed;
    ok = ok && !k->no_memory;
    if (ok) {
        remove(status);
        int wrong = adx_run_shell((char *)b->v);
        int code = wrong != 0 ? -1 : adx_read_status(k, status);
        ok = code == 0
          || (wrong != 0 ? adx_blame(k->report, ADREV_COMPILE_NO_COMPILER,
                                     "/bin/sh", strerror(wrong))
                         : adx_blame_compiler(k, code, said));
    }
    adx_drop(b->memory, b->v);
    return ok;
}

// What the compiler says of itself.
static char *adx_compiler_version(adx_cache *k, size_t *n)
{
    char path[ADX_PATH + 16];
    adx_bytes command = { .memory = k->memory };
    bool ok = adx_begin_command(k, &command);
    adx_add_text(&command, "--version");
    return adx_end_command(k, &command, ok)
         ? adx_read_file(k, adx_own_file(k, "said", path), n) : NULL;
}

// Adds what the processor is, where the system says it: with -march=native,
// another machine that shares the cache needs other code.
static void adx_keep_processor(adx_bytes *b)
{
    static const char *const about[] = {
        "vendor_id", "cpu family", "model", "flags", "CPU ", "Features", "isa",
        "uarch"
    };
    char line[256];
    bool begins = true;         // a line of the file, not a part of a long one
    bool counts = false;        // the line, with all its parts
    FILE *f = fopen("/proc/cpuinfo", "r");
    if (f == NULL)
        return;
    while (fgets(line, sizeof line, f) != NULL && line[0] != '\n') {
        for (size_t i = 0; begins && i < sizeof about / sizeof *about; i++)
            if (strncmp(line, about[i], strlen(about[i])) == 0)
                counts = true;
        if (counts)
            adx_put_bytes(line, strlen(line), b);
        begins = strchr(line, '\n') != NULL;
        counts = counts && !begins;
    }
    fclose(f);
}

// Makes the key: a hash of the compiler's version, the processor, the command,
// the flags and the code.
static bool adx_make_key(adx_cache *k)
{
    size_t n;
    char *version = adx_compiler_version(k, &n);
    if (version == NULL)
        return false;
    adx_bytes all = { .memory = k->memory };
    adx_put_bytes(version, n, &all);
    adx_keep_processor(&all);
    adx_put_bytes(k->compiler, strlen(k->compiler) + 1, &all);
    adx_put_bytes(k->flags, strlen(k->flags) + 1, &all);
    adx_put_bytes((const char *)k->code.v, k->code.n, &all);
    adx_drop(k->memory, version);
    if (!all.failed) {
        const adx_hash128 h = adx_xxh128(all.v, all.n);
        adx_hex(&h, k->key);
    }
    adx_drop(k->memory, all.v);
    k->no_memory = k->no_memory || all.failed;
    return !all.failed;
}

// A library is named KEY-HASH.so.
static void adx_name_library(adx_cache *k, const char *hash)
{
    snprintf(k->library, sizeof k->library, "%s/%s-%.32s.so", k->directory,
             k->key, hash);
}

// Looks in the cache for a library of this function whose contents are what was
// compiled.
static bool adx_find_library(adx_cache *k)
{
    DIR *all = opendir(k->directory);
    bool found = false;
    if (all == NULL)
        return false;
    for (struct dirent *e; !found && (e = readdir(all)) != NULL;) {
        const char *name = e->d_name;
        char hash[33];
        if (strlen(name) != 68 || strncmp(name, k->key, 32) != 0)
            continue;
        adx_name_library(k, name + 33);
        found = adx_hash_file(k, k->library, hash)
             && memcmp(hash, name + 33, 32) == 0;
    }
    closedir(all);
    return found;
}

// Compiles the code and puts the library into the cache.
static bool adx_build(adx_cache *k)
{
    char source[ADX_PATH + 16];
    char made[ADX_PATH + 16];
    char hash[33];
    adx_bytes command = { .memory = k->memory };
    adx_own_file(k, "f.c", source);
    adx_own_file(k, "f.so", made);
    if (!adx_write_file(source, (const char *)k->code.v, k->code.n))
        return adx_blame_system(k, source);
    bool ok = adx_begin_command(k, &command)
           && (adx_add_words(&command, k->flags)
               || adx_blame(k->report, ADREV_COMPILE_QUOTE, "", k->flags));
    adx_add_text(&command, "-fPIC -shared -o ");
    adx_add_quoted(&command, made);
    adx_add_quoted(&command, source);
    adx_add_text(&command, "-lm");
    if (!adx_end_command(k, &command, ok))
        return false;
    if (chmod(made, S_IRWXU) != 0 || !adx_hash_file(k, made, hash))
        return adx_blame(k->report, ADREV_COMPILE_REFUSED, "",
                         "it made no library");
    adx_name_library(k, hash);
    return rename(made, k->library) == 0 || adx_blame_system(k, k->library);
}

/* --- loading ------------------------------------------------------------- */

#define ADX_C_NAME "adrev_compiled"

static void *adx_symbol(void *library, const char *what, const char *more)
{
    char name[64];
    snprintf(name, sizeof name, ADX_C_NAME "_%s%s", what, more);
    return dlsym(library, name);
}

// Puts the address of a function where a pointer to it is; NULL: there is none.
// memcpy turns a pointer to data into one to a function, as POSIX allows.
static void adx_take_function(void *to, void *library, const char *what,
                              const char *more)
{
    void *code = adx_symbol(library, what, more);
    memcpy(to, &code, sizeof code);
}

// Whether the code of a check sees infinities: flags may say that there are
// none (-ffast-math).
static bool adx_finds_infinity(void *library, const adx_c_kind *kind,
                               const char *what)
{
    int (*f)(ad_real x);
    adx_take_function(&f, library, kind->what, what);
    return f != NULL && f((ad_real)INFINITY) != 0;
}

// Takes the functions of one kind from a library. Which pointer the main one
// goes to depends on how many arrays the kind has. The loop relies on the
// check.
static void adx_take_code(adx_compiled *c, void *library,
                          const adx_c_kind *kind)
{
    const unsigned long *size =
        (const unsigned long *)adx_symbol(library, kind->what, "_size");
    void *f = kind->out[1] != NULL ? (void *)&c->call_matrix
            : kind->in[1] == NULL ? (void *)&c->call_x
            : kind->in[2] == NULL ? (void *)&c->call_xv : (void *)&c->call_xwv;
    void *code = size == NULL ? NULL : adx_symbol(library, kind->what, "");
    memcpy(f, &code, sizeof code);
    adx_take_function(&c->block, library, kind->what, "_block");
    adx_take_function(&c->loop, library, kind->what, "_loop");
    c->work = size == NULL ? 0 : (size_t)*size;
    c->checks = code != NULL && adx_finds_infinity(library, kind, "_checks");
    c->tells = code != NULL && adx_finds_infinity(library, kind, "_tells");
    if (!c->checks)
        c->loop = NULL;
}

// Loads the library. In a path dlopen would replace $ORIGIN, $LIB and
// $PLATFORM, so a path with a $ is named differently: by the number of its
// directory, which is open. It is checked that this is the directory, so what
// is loaded is what was looked at.
static void *adx_open_library(const char *directory, const char *path)
{
    struct stat s;
    struct stat by;
    char name[ADX_PATH];
    void *library = NULL;
    if (strchr(path, '$') == NULL)
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int file = adx_open_file(directory, O_RDONLY);
    int n = snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    if (file >= 0 && fstat(file, &s) == 0 && stat(name, &by) == 0
        && s.st_dev == by.st_dev && s.st_ino == by.st_ino) {
        snprintf(name + n, sizeof name - (size_t)n, "%s", strrchr(path, '/'));
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (file >= 0)
        close(file);
    return library;
}

// -fno-semantic-interposition allows a loop (code/blocks) to contain the
// code of its steps, although both are exported. -fno-tree-slp-vectorize keeps
// the compiler from gathering the numbers of single expressions into vectors,
// which costs more than it gains.
#define ADX_LOOP_FLAGS "-O3 -march=native -ffp-contract=off " \
    "-fno-semantic-interposition"
#define ADX_C_FLAGS ADX_LOOP_FLAGS " -fno-tree-slp-vectorize"

static bool adx_is_within(adx_cache *k, size_t bytes, size_t limit)
{
    char text[64];
    k->report->bytes = bytes;
    snprintf(text, sizeof text, "%zu bytes, limit %zu", bytes, limit);
    return bytes <= limit
        || adx_blame(k->report, ADREV_COMPILE_TOO_LONG, "", text);
}

// Opens the library. NULL: the report says why it cannot be loaded.
static void *adx_load(adx_cache *k)
{
    dlerror();                  // forgets errors of other calls
    void *library = adx_open_library(k->directory, k->library);
    if (library == NULL) {
        const char *why = dlerror();
        adx_blame(k->report, ADREV_COMPILE_NOT_LOADED, "",
                  why != NULL ? why : "a $ in the cache's path");
    }
    return library;
}

// The library of the text k->code: from the cache, or compiled now, with these
// flags unless the options have others. NULL: the report says why not, or
// k->no_memory.
static void *adx_library_of(adx_cache *k, const ad_compile_options *o,
                            const char *flags)
{
    void *library = NULL;
    k->compiler = o->compiler == NULL ? "cc" : o->compiler;
    k->flags = o->flags == NULL ? flags : o->flags;
    k->no_memory = k->code.failed;
    if (k->no_memory
        || !adx_is_within(k, k->code.n, o->limit == 0 ? 2000000 : o->limit)
        || !adx_open_cache(k, o->cache) || !adx_make_own(k))
        return NULL;
    if (adx_make_key(k) && (adx_find_library(k) || adx_build(k)))
        library = adx_load(k);
    adx_remove_own(k);
    if (k->no_memory)
        adx_take_back_blame(k->report);
    return library;
}

// Blames a library without the symbols that it should have, and closes it.
static bool adx_blame_hidden(adx_cache *k, void *library)
{
    dlclose(library);
    return adx_blame(k->report, ADREV_COMPILE_NOT_LOADED, "",
                     "its functions are hidden");
}

static bool adx_offers_code(void *library)
{
    for (size_t i = 0; i < ADX_C_KINDS; i++)
        if (adx_symbol(library, adx_c_kinds[i].what, "") != NULL)
            return true;
    return false;
}

// Makes the functions of a library those of fn, in place of earlier ones.
static bool adx_take_library(ad_fn *fn, adx_cache *k, void *library)
{
    if (!adx_offers_code(library))
        return adx_blame_hidden(k, library);
    for (size_t i = 0; i < ADX_C_KINDS; i++)
        if (adx_c_kinds[i].bit & ADX_C_LOADED)
            adx_take_code(&fn->compiled[adx_c_kinds[i].kind], library,
                          &adx_c_kinds[i]);
    if (fn->library != NULL)
        dlclose(fn->library);
    fn->library = library;
    fn->unload = adx_close_library;
    return true;
}

static unsigned adx_to_compile(const ad_fn *fn, unsigned asked)
{
    const unsigned linear = ADREV_C_GRADIENT | ADREV_C_JACOBIAN
                          | ADREV_C_LINEARIZE;
    if (asked == 0)
        return ADREV_C_VALUE | ADREV_C_JVP | ADREV_C_VJP | ADREV_C_HVP
             | (fn->m == 1 || fn->variables * fn->m <= 1000 ? ADREV_C_LINEARIZE
                                                            : 0u);
    return asked & linear ? (asked & ~linear) | ADREV_C_LINEARIZE : asked;
}

// more: functions besides those that ad_fn_compile promises.
static ad_status adx_compile(ad_fn *fn, const ad_compile_options *options,
                             ad_compile_report *report, unsigned more)
{
    static const ad_compile_options none;
    const ad_compile_options *o = options == NULL ? &none : options;
    if (fn == NULL || o->functions >> ADREV_C_COUNT != 0)
        return ADREV_ESHAPE;
    adx_cache k = { .memory = &fn->memory, .report = report,
                    .code = { .memory = &fn->memory } };
    const ad_c_options code = {
        .name = ADX_C_NAME, .single = sizeof(ad_real) == sizeof(float),
        .exported = true, .split = more & ADX_C_BLOCKS ? 20000 : 0,
        .unrolled = o->unrolled,
        .functions = more | adx_to_compile(fn, o->functions)
    };
    ad_status status = adx_write_c(fn, &code, ADX_FORM_loaded, adx_put_bytes,
                                   &k.code, NULL, NULL);
    void *library = status == ADREV_OK ? adx_library_of(&k, o, ADX_C_FLAGS)
                                       : NULL;
    bool ok = library != NULL && adx_take_library(fn, &k, library);
    adx_drop(k.memory, k.code.v);
    return status != ADREV_OK ? status : k.no_memory ? ADREV_ENOMEM
         : ok ? ADREV_OK : ADREV_ECOMPILE;
}

ADX_SELDOM_END

#endif // ADREV_COMPILE

ADX_API ad_status ad_fn_compile(ad_fn *fn, const ad_compile_options *options)
{
    ad_compile_report unread;
    ad_compile_report *report = options == NULL || options->report == NULL
                              ? &unread : options->report;
    memset(report, 0, sizeof *report);
    return adx_compile(fn, options, report, 0);
}

#define ADX_TEXT(name, text) text,
ADX_API const char *ad_compile_message(ad_compile_reason reason)
{
    static const char *const texts[] = { ADREV_COMPILE_TABLE(ADX_TEXT) };
    return (unsigned)reason < ADREV_COMPILE_COUNT ? texts[reason]
                                                  : "no reason of adrev";
}
#undef ADX_TEXT
