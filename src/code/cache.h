#pragma once

/* === code/cache ===========================================================
 * The files of compiled code: the directory in which a call compiles, and the
 * cache. Every part of the cache's path must be one that nobody else can
 * change. Where ADREV_COMPILE is 0 there is only the reason that is reported.
 *
 *   needs   tape/memory core/hash function/program code/api code/text
 *   offers  adx_blame ADX_BLANKS ADX_PATH adx_cache adx_take_back_blame
 *           adx_close_library adx_blame_system adx_open_file adx_read_file
 *           adx_write_file adx_hex adx_hash_file adx_open_cache adx_make_own
 *           adx_own_file adx_remove_own
 * ========================================================================== */

// Puts a reason into the report, unless there is one already: the first one
// stays. Returns false, for its caller to return.
static bool adx_blame(ad_compile_report *r, ad_compile_reason reason,
                      const char *text, const char *more)
{
    if (r->reason != ADREV_COMPILE_DONE)
        return false;
    r->reason = reason;
    snprintf(r->text, sizeof r->text, "%s%s%s", text,
             *text != '\0' && *more != '\0' ? ": " : "", more);
    return false;
}

#if ADREV_COMPILE

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

// Strict C11 hides these from the headers of some systems. The parentheses are
// for those systems where some of them are macros.
extern int (lstat)(const char *restrict path, struct stat *restrict s);
extern ssize_t (readlink)(const char *restrict path, char *restrict to,
                          size_t room);
extern int (sigemptyset)(sigset_t *set);
extern int (sigaddset)(sigset_t *set, int signal);
extern char **environ;

#if defined O_NOFOLLOW && defined O_CLOEXEC
#define ADX_OPENING (O_NOFOLLOW | O_CLOEXEC)
#elif defined __O_NOFOLLOW && defined __O_CLOEXEC
#define ADX_OPENING (__O_NOFOLLOW | __O_CLOEXEC)
#else
#define ADX_OPENING 0
#endif
#define ADX_STICKY 01000        // in this directory only owners rename
#define ADX_BLANKS " \t\r\n"    // between the words of a command
#define ADX_PATH 900            // bytes of a path; longer ones are refused

// The state of one call of ad_fn_compile. A function that fails puts the reason
// into the report, or sets no_memory, and returns false or NULL.
typedef struct adx_cache {
    const ad_allocator *memory;
    ad_compile_report *report;
    bool no_memory;
    const char *compiler;
    const char *flags;
    char directory[ADX_PATH / 2];   // of the cache
    char own[ADX_PATH];         // where this call compiles
    char library[ADX_PATH];     // where the library is, or will be
    char key[33];               // key of the function, with which the name of
                                // its library begins
    adx_bytes code;             // C code
} adx_cache;

ADX_SELDOM_BEGIN

// Clears the reason if memory ran out: what was blamed is only a consequence of
// that.
static void adx_take_back_blame(ad_compile_report *r)
{
    r->reason = ADREV_COMPILE_DONE;
    r->text[0] = '\0';
}

/* --- files --------------------------------------------------------------- */

static void adx_close_library(void *library) { dlclose(library); }

// Whether a file is ours, and nobody else can write it.
static bool adx_is_ours(const struct stat *s)
{
    return s->st_uid == geteuid() && (s->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Whether nobody except us and root can rename or replace our files in this
// directory.
static bool adx_is_safe(const struct stat *s)
{
    return (s->st_uid == geteuid() || s->st_uid == 0)
        && ((s->st_mode & (S_IWGRP | S_IWOTH)) == 0
            || (s->st_mode & ADX_STICKY) != 0);
}

// Blames the system, by errno, for what it did with a file.
static bool adx_blame_system(adx_cache *k, const char *path)
{
    return adx_blame(k->report, ADREV_COMPILE_NO_CACHE, path, strerror(errno));
}

static int adx_open_any(const char *path, int flags)
{
    int file;
    do
        file = open(path, flags | ADX_OPENING, S_IRUSR | S_IWUSR);
    while (file < 0 && errno == EINTR);
    return file;
}

// Opens a file that no other process inherits. The file never gets the number
// 0, 1 or 2: a program that has closed these may go on printing, and must not
// print into what is compiled. So /dev/null takes those of them that are free
// until the file is open.
static int adx_open_file(const char *path, int flags)
{
    int low[3];                 // /dev/null, until the file is open
    size_t n = 0;
    while (n < 3 && (low[n] = adx_open_any("/dev/null", O_RDWR)) >= 0
           && low[n++] < 3)
        ;
    int file = adx_open_any(path, flags);
    int wrong = errno;
    while (n > 0)
        close(low[--n]);
    errno = wrong;
    return file;
}

// Reads all of an open file into memory that the caller drops; NULL: it cannot
// be read.
static char *adx_read_open(adx_cache *k, int file, size_t *bytes)
{
    char *data = NULL;
    size_t room = 0;
    size_t n = 0;
    for (;;) {
        if (!adx_make_room_for(k->memory, (void **)&data, &room, n + 4096,
                               1)) {
            k->no_memory = true;
            break;
        }
        ssize_t got = read(file, data + n, room - n);
        if (got == 0) {
            *bytes = n;
            return data;
        }
        if (got < 0 && errno != EINTR)
            break;
        n += got > 0 ? (size_t)got : 0;
    }
    adx_drop(k->memory, data);
    return NULL;
}

// Reads all of a file that is ours. The file is opened before its owner is
// checked, so the file that is checked is the one that is read.
static char *adx_read_file(adx_cache *k, const char *path, size_t *bytes)
{
    struct stat s;
    char *data = NULL;
    int file = adx_open_file(path, O_RDONLY);
    if (file < 0)
        return NULL;
    if (fstat(file, &s) == 0 && S_ISREG(s.st_mode) && adx_is_ours(&s))
        data = adx_read_open(k, file, bytes);
    close(file);
    return data;
}

// Makes a file that nobody else can read or write from the beginning, and that
// we can, whatever the umask is.
static bool adx_write_file(const char *path, const char *data, size_t n)
{
    int file = adx_open_file(path, O_WRONLY | O_CREAT | O_EXCL);
    if (file < 0)
        return false;
    size_t at = 0;
    while (at < n) {
        ssize_t put = write(file, data + at, n - at);
        if (put < 0 && errno != EINTR)
            break;
        at += put > 0 ? (size_t)put : 0;
    }
    bool closed = close(file) == 0 || errno == EINTR;
    return closed && at == n && chmod(path, S_IRUSR | S_IWUSR) == 0;
}

static void adx_hex(const adx_hash128 *h, char text[33])
{
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)h->high,
             (unsigned long long)h->low);
}

// The hash of a file's contents, as text.
static bool adx_hash_file(adx_cache *k, const char *path, char text[33])
{
    size_t n;
    char *data = adx_read_file(k, path, &n);
    if (data == NULL)
        return false;
    const adx_hash128 h = adx_xxh128(data, n);
    adx_hex(&h, text);
    adx_drop(k->memory, data);
    return true;
}

/* --- the cache --------------------------------------------------------------
 * Other users of the machine can make links and directories wherever they can
 * write, as in /tmp, and exchange them at any time. So the path of the cache is
 * walked from the root, name by name. Nothing is entered, followed or made in a
 * directory where others could exchange it. So what has been checked cannot
 * change any more.                                                           */

typedef struct adx_way {
    char path[ADX_PATH / 2];    // walked so far: safe directories, no links
    char rest[ADX_PATH];        // not walked yet
    int links;                  // how many were followed
} adx_way;

// The longest chain of links that is followed, as Linux has it.
#define ADX_LINKS_MOST 40

// Whether the program has more rights than the user who started it. If so,
// nothing may be run that the environment names (HOME, PATH).
static bool adx_is_privileged(void)
{
#ifdef AT_SECURE
    if (getauxval(AT_SECURE) != 0)
        return true;
#endif
    return geteuid() != getuid() || getegid() != getgid();
}

// Blames a directory that others could touch.
static bool adx_blame_open(adx_cache *k, const char *path)
{
    return adx_blame(k->report, ADREV_COMPILE_NOT_PRIVATE, "", path);
}

// Replaces a link at the end of the walked path by what it stands for, which is
// put in front of the rest of the way. Only links of ours or of root are
// followed.
static bool adx_follow_symlink(adx_cache *k, adx_way *w, const struct stat *s)
{
    char all[2 * ADX_PATH + 1];
    ssize_t n = readlink(w->path, all, ADX_PATH);
    if (s->st_uid != geteuid() && s->st_uid != 0)
        return adx_blame_open(k, w->path);
    if (n < 0)
        return adx_blame_system(k, w->path);
    snprintf(all + n, sizeof all - (size_t)n, "/%s", w->rest);
    if (++w->links > ADX_LINKS_MOST || strlen(all) >= sizeof w->rest)
        return adx_blame(k->report, ADREV_COMPILE_NO_CACHE, w->path,
                         "too many links, or too long");
    memcpy(w->rest, all, sizeof w->rest);
    *strrchr(w->path, '/') = '\0';
    if (*w->rest == '/')
        w->path[0] = '\0';
    return true;
}

// Makes the directory at the end of the walked path, for us alone, whatever the
// umask is. It may exist already, since another process may be making it, too.
static bool adx_make_directory(const char *path)
{
    return mkdir(path, S_IRWXU) == 0 ? chmod(path, S_IRWXU) == 0
                                     : errno == EEXIST;
}

// Checks what is at the end of the walked path, and makes a directory if there
// is nothing. A link is followed. The walk goes on only from a directory that
// is safe.
static bool adx_look_at(adx_cache *k, adx_way *w)
{
    struct stat s;
    const char *path = *w->path == '\0' ? "/" : w->path;
    if (lstat(path, &s) != 0
        && (errno != ENOENT || !adx_make_directory(path)
            || lstat(path, &s) != 0))
        return adx_blame_system(k, path);
    if (S_ISLNK(s.st_mode))
        return adx_follow_symlink(k, w, &s);
    if (!S_ISDIR(s.st_mode)) {
        errno = ENOTDIR;
        return adx_blame_system(k, path);
    }
    return adx_is_safe(&s) || adx_blame_open(k, path);
}

// Walks one name further along the path. `..` goes back one directory; `.` and
// an empty name stay where they are.
static bool adx_go_on(adx_cache *k, adx_way *w)
{
    char *name = w->rest + strspn(w->rest, "/");
    size_t n = strcspn(name, "/");
    size_t before = strlen(w->path);
    bool up = n == 2 && strncmp(name, "..", 2) == 0;
    bool stays = up || n == 0 || (n == 1 && *name == '.');
    if (!stays && before + n + 2 > sizeof w->path)
        return adx_blame(k->report, ADREV_COMPILE_NO_CACHE, w->path,
                         "a path that is too long");
    if (!stays)
        snprintf(w->path + before, sizeof w->path - before, "/%.*s", (int)n,
                 name);
    if (up && before > 0)
        *strrchr(w->path, '/') = '\0';
    memmove(w->rest, name + n, strlen(name + n) + 1);
    return stays || adx_look_at(k, w);
}

// Walks to the directory of the cache, and makes it if need be. Afterwards its
// path has no links, and the directory is ours alone.
static bool adx_walk_to_cache(adx_cache *k, const char *directory)
{
    adx_way w = {0};
    struct stat s;
    char here[ADX_PATH / 2] = "";
    if (*directory != '/' && getcwd(here, sizeof here) == NULL)
        return adx_blame_system(k, ".");
    if (strlen(directory) >= sizeof here)
        return adx_blame(k->report, ADREV_COMPILE_NO_CACHE, "",
                         "a path that is too long");
    snprintf(w.rest, sizeof w.rest, "%s/%.*s", here, (int)sizeof here - 1,
             directory);
    bool ok = adx_look_at(k, &w);
    while (ok && *w.rest != '\0')
        ok = adx_go_on(k, &w);
    if (ok && (stat(w.path, &s) != 0 || !adx_is_ours(&s)))
        ok = adx_blame_open(k, w.path);
    memcpy(k->directory, w.path, sizeof w.path);
    return ok;
}

static bool adx_open_cache(adx_cache *k, const char *directory)
{
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char name[ADX_PATH] = "";
    if (adx_is_privileged())
        return adx_blame(k->report, ADREV_COMPILE_PRIVILEGED, "", "");
    if (directory == NULL && xdg != NULL && *xdg == '/')
        snprintf(name, sizeof name, "%s/adrev", xdg);
    else if (directory == NULL && home != NULL && *home != '\0')
        snprintf(name, sizeof name, "%s/.cache/adrev", home);
    directory = directory == NULL ? name : directory;
    return *directory == '\0'
         ? adx_blame(k->report, ADREV_COMPILE_NO_CACHE, "",
                     "no directory is named, nor HOME")
         : adx_walk_to_cache(k, directory);
}

// Makes a directory that no other call uses. The name alone does not ensure
// that, since processes of several machines or containers may share the cache
// and have the same process number. But mkdir fails if the directory exists.
static bool adx_make_own(adx_cache *k)
{
    static atomic_uint calls;
    for (int tries = 0; tries < 10000; tries++) {
        // relaxed: it only has to be a different number each time
        unsigned call = atomic_fetch_add_explicit(&calls, 1,
                                                  memory_order_relaxed);
        snprintf(k->own, sizeof k->own, "%s/%ld-%u", k->directory,
                 (long)getpid(), call);
        if (mkdir(k->own, S_IRWXU) == 0)
            return chmod(k->own, S_IRWXU) == 0      // whatever the umask is
                || adx_blame_system(k, k->own);
        if (errno != EEXIST)
            break;
    }
    return adx_blame_system(k, k->own);
}

// Returns the path of a file in the directory of this call. File names are the
// same in every call, so that libraries are equal, too: their symbols name the
// source.
static const char *adx_own_file(const adx_cache *k, const char *name,
                                char path[ADX_PATH + 16])
{
    snprintf(path, ADX_PATH + 16, "%s/%s", k->own, name);
    return path;
}

static void adx_remove_own(const adx_cache *k)
{
    static const char *const name[] = { "said", "status", "f.c", "f.so" };
    char path[ADX_PATH + 16];
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        remove(adx_own_file(k, name[i], path));
    rmdir(k->own);
}

ADX_SELDOM_END

#endif // ADREV_COMPILE
