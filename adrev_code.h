/* Made from src/ by `make headers`: changes belong there. */
/* adrev_code.h - recorded functions as C code, as machine code, as files.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_function.h"       // includes this header
 *
 * Writes a recorded function and its derivatives as C99 that needs nothing but
 * <math.h>:
 *
 *     #include <stdio.h>
 *
 *     static void f(const ad_rev *x, ad_rev *y, void *ctx)
 *     {
 *         (void)ctx;
 *         y[0] = ad_rec(ad_mul(x[0], ad_sin(x[1])));
 *     }
 *
 *     static void put(const char *text, size_t length, void *file)
 *     {
 *         fwrite(text, 1, length, file);
 *     }
 *
 *     int main(void)
 *     {
 *         ad_fn *fn;
 *         const double at[] = { 1, 2 };
 *         const ad_c_options gradient = { .functions = ADREV_C_GRADIENT };
 *         if (ad_fn_record(&fn, f, NULL, 2, at, 1) != ADREV_OK
 *             || ad_fn_write_c(fn, &gradient, put, stdout, NULL) != ADREV_OK)
 *             return 1;
 *         ad_fn_free(fn);
 *     }
 *
 *     ...
 *         const double v2 = sin(x[1]);
 *         const double v3 = x[0] * v2;
 *         const double v5 = cos(x[1]);
 *         const double v6 = x[0] * v5;
 *         y[0] = v3;
 *         g[0] = v2;
 *         g[1] = v6;
 *         return 0;
 *
 * ad_fn_compile has the system's compiler turn that text into machine code and
 * evaluates the function by it; ad_fn_save and ad_fn_load keep a function in a
 * file.
 *
 * Rooms, each of which begins with a line `=== room`:
 *
 *   code/api          the interface
 *   code/text         names, literals and formulas as text
 *   code/layout       where a number is in C code
 *   code/statements   a C statement for each node
 *   code/matrix       one loop for a product and its adjoint
 *   code/repeats      what repeats in a program
 *   code/order        another order of nodes, in which more repeats
 *   code/access       what the statements of loops read
 *   code/loops        loops for what repeats
 *   code/lists        lists of integers as initialisers
 *   code/bodies       what stands in a C function
 *   code/functions    a C function; kernels of OpenCL and CUDA
 *   code/blocks       loops over points and steps, for machine code
 *   code/wanted       which functions, and their programs
 *   code/casadi       CasADi's entry points
 *   code/write        the C file, and its header
 *   code/save         files of recorded functions
 *   code/cache        files of compiled code, and their cache
 *   code/compile      machine code
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#ifndef ADREV_FUNCTION_H
#error include adrev_function.h, which includes this header
#endif

#ifndef ADREV_CODE_H
#define ADREV_CODE_H

/* === code/api ===============================================================
 * Recorded functions as C code, as machine code and as files: the interface.
 *
 *   needs   function/api
 * ========================================================================== */

/* --- configuration ------------------------------------------------------- */

// ADREV_COMPILE      0: no ad_fn_compile.          default 1 where <dlfcn.h>
//   exists, unless ADREV_NO_STDLIB is defined; 0 in WebAssembly
#ifndef ADREV_COMPILE
#if defined __has_include && !defined ADREV_NO_STDLIB && !defined __wasm__
#if __has_include(<dlfcn.h>) && __has_include(<sys/stat.h>)
#define ADREV_COMPILE 1
#endif
#endif
#endif
#ifndef ADREV_COMPILE
#define ADREV_COMPILE 0
#endif

/* --- interface ----------------------------------------------------------- */

#ifdef __cplusplus
extern "C" {
#endif

/* --- C code -----------------------------------------------------------------
 * The function and its derivatives as C99 that needs nothing but <math.h>: for
 * machines that have a compiler and little else, or for the greatest speed.
 * There is one function for each result asked for, with the name in front:
 *
 *     #define f_value_WORK 12           numbers of `work`, at least 1
 *     int f_value(const double *x, double *y, double *work);
 *     int f_jvp(const double *x, const double *v, double *dy, double *work);
 *     int f_vjp(const double *x, const double *w, double *dx, double *work);
 *     int f_gradient(const double *x, double *y, double *g, double *work);
 *     int f_hvp(const double *x, const double *w, const double *v, double *hv,
 *               double *work);
 *     int f_jacobian(const double *x, double *J, double *work);
 *     int f_linearize(const double *x, double *y, double *J, double *work);
 *     int f_hessian(const double *x, const double *w, double *H, double *work);
 *
 *     #define f_jacobian_sparse_NONZEROS 7        entries of J
 *     static const int f_jacobian_sparse_start[m + 1],
 *                      f_jacobian_sparse_row[7], f_jacobian_sparse_column[7];
 *     int f_jacobian_sparse(const double *x, double *J, double *work);
 *     int f_hessian_sparse(const double *x, const double *w, double *H,
 *                          double *work);
 *
 * They return 0, or 1 + the guard that x did not pass; then nothing but `work`
 * has been written. Arrays are as in adrev_function.h (evaluation), but do not
 * overlap (restrict). Several functions with different names may stand in one
 * file. A Jacobian and a Hessian are programs of their own, at most as many
 * times the length of the function as they have rows; sparse ones, at most as
 * many times as they have directions. The entries of sparse ones come in the
 * order of adrev_function.h (sparse matrices); of the Hessian only the lower
 * triangle. The constants of a pattern have at least one element, even if it is
 * empty.
 *
 * Operations that repeat are written as loops, where that saves at least 200
 * statements: the same operations again and again, with arguments at even
 * distances, or by a table of indices, or of their differences. The constants
 * that loops read are one array, which has each of them once. Loops nest up to
 * three deep. Operations keep their order, unless the code is half as long when
 * each comes as early as its arguments allow; arguments stay the same, and so
 * do the bits. Without such repetition, and with array nodes (each of which is
 * a loop already), the code has each operation once. Patterns that repeat are
 * written by macros, as the same constants.
 */

enum {
    ADREV_C_VALUE = 1, ADREV_C_JVP = 2, ADREV_C_VJP = 4, ADREV_C_GRADIENT = 8,
    ADREV_C_HVP = 16, ADREV_C_JACOBIAN = 32, ADREV_C_HESSIAN = 64,
    ADREV_C_JACOBIAN_SPARSE = 128, ADREV_C_HESSIAN_SPARSE = 256,
    ADREV_C_LINEARIZE = 512
};

enum { ADREV_C_COUNT = 10 };     // how many functions there are to ask for

// A size of a text (adrev_tensor.h) that its C functions have as an argument, a
// long.
typedef struct ad_c_argument {
    const char *name;
    size_t least;           // the largest is what ad_tensor_size said
} ad_c_argument;

// In which language code is written. HIP reads CUDA's.
typedef enum ad_c_dialect { ADREV_C99, ADREV_OPENCL, ADREV_CUDA } ad_c_dialect;

// How the code is written. All-zero: as the comments say first.
typedef struct ad_c_options {
    const char *name;       // in front of all names; NULL: "f". An identifier
                            // of C with at most 100 characters that is neither
                            // a keyword nor a name of <math.h>
    unsigned functions;     // ADREV_C_VALUE | ...; 0: value and vjp, and the
                            // gradient of a function with one result
    bool single;            // float instead of double
    bool absorbing;         // a zero factor in the chain rule absorbs
                            // infinities, as in adrev_function.h; otherwise
                            // 0*inf is NaN
    bool exported;          // functions and patterns are extern; otherwise
                            // static, for a file that includes the code and
                            // calls them: compilers warn of uncalled ones
    size_t split;           // statements of one C function at most; 0: 2000
    bool unrolled;          // no loops for what repeats: see above
    bool casadi;            // also write CasADi's entry points: see below; not
                            // with single
    ad_c_dialect dialect;   // ADREV_OPENCL, ADREV_CUDA: with a kernel for each
                            // function, see below; without casadi and header
    size_t common;          // of kernels: so many inputs, the last ones, are
                            // in an array of their own, c
    const char *header;     // a header that the code includes first: "f.h", as
                            // written by ad_fn_write_h, so that the compiler
                            // compares the two; NULL: none. With exported only
    // Of ad_tensor_write_c alone:
    const ad_c_argument *arguments; // up to one whose name is NULL; NULL: none
    char *reason;           // [240] out: why it failed, in words; NULL: not
                            // wanted
} ad_c_options;

// Kernels for graphics processors. With a dialect there is for each function,
// f_value, a kernel that calls it for many points, one work item a point:
//
//     __kernel void f_value_kernel(const long points,
//         __global const double *x, const long x_stride,
//         __global double *y, const long y_stride,
//         __global double *work, const long work_stride,
//         __global int *left);
//
// or, of CUDA and HIP,
//
//     extern "C" __global__ void f_value_kernel(const long long points,
//         const double *x, const long long x_stride, ... int *left);
//
// Arrays are columns: number i of point p is x[i*x_stride + p], so neighbours
// read and write neighbours. A stride is at least the number of points; that of
// an input may be 0: then it is the same for all points, x[i]. With `common`
// the last inputs are such an array, c, which stands behind x. work has
// f_value_WORK columns (ad_c_size.work). left[p] is what the function returns:
// 0, or 1 + the guard that point p did not pass, whose results are not written.
// Global sizes may exceed the number of points. Patterns of sparse matrices are
// not written: see ad_fn_jacobian_pattern. docs/kernels.md has programs.
//
// The bits are those of the host where the device's functions and roundings
// are: OpenCL's code forbids contractions, nvcc and hipcc take -fmad=false and
// -ffp-contract=off. OpenCL needs version 1.2 and, unless `single`, fp64; the
// text for CUDA is C++17.

// The entry points that CasADi's external("f", "./f.so"), acados and others
// load. They call the functions above. Arrays are columns of n or m numbers:
//
//   ADREV_C_VALUE      f         (x) -> (y)
//   ADREV_C_JVP        fwd1_f    (x, out_y, fwd_x) -> (fwd_y)
//   ADREV_C_VJP        adj1_f    (x, out_y, adj_y) -> (adj_x)
//   a Jacobian         jac_f     (x, out_y) -> (jac_y_x)         m x n
//   and a Hessian      jac_adj1_f (x, out_y, adj_y, out_adj_x)
//                                -> (jac_adj_x_x, jac_adj_x_out_y,
//                                    jac_adj_x_adj_y)
//   ADREV_C_GRADIENT   grad_f    (x) -> (y, g)
//   ADREV_C_HVP        hvp_f     (x, w, v) -> (hv)
//   a Hessian          hess_f    (x, w) -> (h)      both triangles, n x n
//
// The names down to jac_adj1_f are those under which CasADi looks for the first
// and second derivatives of f. out_y and out_adj_x are not read: they have no
// entries, and neither has jac_adj_x_out_y. A matrix is sparse if the sparse
// function is asked for, else dense, and stored by columns, as in CasADi.
//
//     int f(const casadi_real **arg, casadi_real **res, casadi_int *iw,
//           casadi_real *w, int mem);
//
// arg[i] NULL stands for zeros, and res[i] NULL for a result not asked for. The
// return value is as above. With each function come f_n_in, f_n_out, f_name_in,
// f_name_out, f_sparsity_in, f_sparsity_out, f_work, f_default_in, f_alloc_mem,
// f_init_mem, f_free_mem, f_checkout, f_release, f_incref and f_decref. There
// is no state, so a thread needs only a w of its own. casadi_int is long long
// int unless it is defined before (-Dcasadi_int=int, as acados expects). CasADi
// reads only double, so single code has no entry points.

// Writes C code. The numbers in it are those of the recording and constants,
// with all their digits.
//
//   bytes        out   how many were written, or would be; may be NULL
//   write        in    called often, with short pieces; NULL: only count
//
//   returns      ADREV_OK; ADREV_ENOMEM; ADREV_ESHAPE: no such function, no
//                such name, a gradient of several results, casadi with single,
//                or a header if its name has a quote, a line break or more than
//                200 characters, or if the functions are static; a dialect with
//                casadi or a header, more common inputs than there are, or some
//                without a dialect; ADREV_EEXTERNAL: an external statement, or
//                an operation that the dialect does not have: incomplete gamma
//                and beta functions, and in OpenCL Bessel functions
ADX_TRY ad_status ad_fn_write_c(ad_fn *fn, const ad_c_options *options,
                                ad_write_fn *write, void *user,
                                size_t *bytes);

// Writes the header of the code that ad_fn_write_c writes with the same options
// (which must say exported): prototypes for C and C++, with the length and
// meaning of each array in a comment, how many numbers of `work` each function
// needs, and the patterns of sparse matrices. `split` makes no difference. The
// comments derive units from those of x and y: an entry of a gradient has the
// unit of y divided by that of its x.
//
//   bytes, write       as for ad_fn_write_c
//
//   returns      as ad_fn_write_c; ADREV_ESHAPE: also for static functions,
//                and so without options
//   cost         as for the code: the same programs are made
ADX_TRY ad_status ad_fn_write_h(ad_fn *fn, const ad_c_options *options,
                                ad_write_fn *write, void *user,
                                size_t *bytes);

// The size of one C function.
typedef struct ad_c_size {
    size_t statements;      // operations; one on arrays counts once, as a loop,
                            // and one in a loop as often as it is written
    size_t work;            // numbers of `work`
    size_t constants;       // different numbers in the text
    size_t bytes;           // of the function's text
    size_t loops;           // that were found; the text may have a loop in
                            // several pieces
} ad_c_size;

// The exact size of what ad_fn_write_c would write. Fails where that would.
//
//   size [ADREV_C_COUNT]  out  element k is that of the function 1 << k; zeros
//                           if it is not asked for
//   bytes        out   of the whole text, with helper functions and entry
//                      points; may be NULL
//
//   returns      as ad_fn_write_c
//   cost         half of writing it. Most of that is making the programs, so an
//                estimate would hardly be cheaper
ADX_TRY ad_status ad_fn_c_size(ad_fn *fn, const ad_c_options *options,
                               ad_c_size size[], size_t *bytes);

// Why ad_fn_compile returned ADREV_ECOMPILE, and what its report's `text` is.
#define ADREV_COMPILE_TABLE(ROW)                                                        \
    ROW( DONE,        "nothing was refused" )                                           \
    ROW( NOWHERE,     "this system, or this build of adrev, loads no machine code" )    \
    ROW( TOO_LONG,    "the C code has more bytes than the options' limit" )             \
    ROW( PRIVILEGED,  "the program has more rights than its user (setuid)" )            \
    ROW( NO_CACHE,    "the cache directory cannot be found, made or written" )          \
    ROW( NOT_PRIVATE, "others could touch this directory, the cache or on the way to it" )   \
    ROW( QUOTE,       "in these words of the options a quote or a backslash is open" )  \
    ROW( NO_COMPILER, "no such compiler could be run" )                                 \
    ROW( REFUSED,     "the compiler refused its flags or the code" )                    \
    ROW( NOT_LOADED,  "the library that was compiled could not be loaded" )

#define ADX_ENUM(name, text) ADREV_COMPILE_##name,
typedef enum ad_compile_reason {
    ADREV_COMPILE_TABLE(ADX_ENUM) ADREV_COMPILE_COUNT
} ad_compile_reason;
#undef ADX_ENUM

// The reason in words; never NULL.
ADX_API const char *ad_compile_message(ad_compile_reason reason);

// What happened in a call of ad_fn_compile.
typedef struct ad_compile_report {
    ad_compile_reason reason;   // of ADREV_ECOMPILE; else ADREV_COMPILE_DONE
    size_t bytes;               // of C code; 0: none was written
    char text[2000];            // details of the reason: the directory, the
                                // words, the beginning of what the compiler or
                                // the system said, cut off if it is longer;
                                // "": there is nothing to add
} ad_compile_report;

// How ad_fn_compile works. All-zero: as the comments say first.
//
// compiler and flags are lists of words, as CC and CFLAGS of a makefile are:
// "ccache gcc", "-O2 -DX='\"s\"' -Wl,-rpath,$ORIGIN". Blanks end a word unless
// they are quoted; quotes and backslashes work as in a shell. All else is taken
// literally: $HOME, *, ; and > have no meaning, and variables are set by
// "env X=1 gcc". But the compiler is a program that is run, and flags can make
// it load plugins or write any file: never take either from untrusted input.
typedef struct ad_compile_options {
    const char *compiler;   // NULL: "cc"
    const char *flags;      // NULL: "-O3 -march=native -ffp-contract=off
                            // -fno-semantic-interposition
                            // -fno-tree-slp-vectorize", which gcc and clang
                            // know
    const char *cache;      // a directory, created if need be, for this user
                            // only; NULL: $XDG_CACHE_HOME/adrev, or
                            // $HOME/.cache/adrev
    size_t limit;           // the most bytes of C code that are compiled;
                            // 0: 2 MB
    bool unrolled;          // no loops for what repeats, as in ad_c_options
    unsigned functions;     // ADREV_C_VALUE | ...: only these; here
                            // ADREV_C_JACOBIAN and ADREV_C_GRADIENT mean
                            // ADREV_C_LINEARIZE; 0: see below
    ad_compile_report *report;  // out: the reason of a failure; may be NULL
} ad_compile_options;

// From now on the function is evaluated by machine code: its value, products,
// gradient, Hessian product and, if it has up to 1000 entries, the Jacobian at
// one point (also with the value: ad_fn_linearize); or what `functions` says.
// Everything else is replayed, even what an earlier call has compiled. To
// compile matrices of large functions, name these functions alone: their code
// may be several times as long as that of the value (see ad_fn_c_size), and
// compilers take seconds for each megabyte.
//
// Compiling pays for small functions that are evaluated often, and for large
// ones with repetition, which the code has as loops. Without repetition it does
// not pay beyond about 1 MB of C code, nor for fewer than about 10^6
// evaluations (docs/compiling.md has times).
//
// The code is written as C, compiled by the system's compiler, and kept in the
// cache under the XXH128 of the code, the flags, the compiler's version and, on
// Linux, the kind of processor. The next time, in any process, it is only
// loaded. A file of the cache is loaded only if it and its directory belong to
// the user, if nobody else can write them, and if its hash is that of what was
// compiled. Nobody but the user and root may be able to put another directory
// in the cache's place: the directories above it must belong to the user or to
// root, and must not be writable by a group or by all, unless they are sticky
// as /tmp is. The same holds for links on the way. Where it does not hold,
// nothing is created.
//
// The compiler runs in a child process, for which this one waits; a SIGCHLD
// handler that waits for any child may meet it. The child has a signal mask and
// a umask of its own, and has open only those files that this program passes on
// to all its children.
//
//   returns      ADREV_OK; ADREV_ECOMPILE: see ad_compile_reason; the function
//                is evaluated as before; ADREV_ESHAPE: no such function; else
//                as ad_fn_write_c. Nothing is printed, not
//                even what the compiler says: that is in the options' report
//   threads      no other thread may use the function meanwhile
ADX_TRY ad_status ad_fn_compile(ad_fn *fn, const ad_compile_options *options);

/* --- files ------------------------------------------------------------------
 * A saved function is the same bytes on every machine: integers little-endian,
 * numbers in the format of IEEE 754, a checksum at the end
 * (docs/saved-functions.md). A function recorded with double cannot be loaded
 * where ad_real is float, nor the other way round.                           */

// Writes the function, in one call of `write`.
//
//   returns      ADREV_OK; ADREV_ENOMEM; ADREV_ESHAPE; ADREV_EEXTERNAL: it has
//                an external statement, whose rule cannot be saved
ADX_TRY ad_status ad_fn_save(const ad_fn *fn, ad_write_fn *write, void *user);

// Makes the function that was saved. Any bytes are safe: the only outcomes are
// a function or a status.
//
//   out          out   to be freed with ad_fn_free; NULL on failure
//   data [bytes] in    everything that was written
//   options      in    `plain` is not used; may be NULL
//
//   returns      ADREV_OK; ADREV_EFILE; ADREV_ENOMEM; ADREV_ESHAPE
ADX_TRY ad_status ad_fn_load(ad_fn **out, const void *data, size_t bytes,
                             const ad_fn_options *options);

#ifdef __cplusplus
}
#endif

#endif // ADREV_CODE_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_CODE_IMPLEMENTED
#define ADREV_CODE_IMPLEMENTED

#include <float.h>
#include <stdarg.h>
#include <stdio.h>

/* === code/text ==============================================================
 * A program as text. A number is written as a literal, an input, a local
 * variable or, if another C function or an array needs it, as a place in
 * `work`. A literal has as many digits as tell its bits from all others (17; of
 * float 9). The text of an operation is its formula in the operator table, with
 * such names in place of the arguments.
 *
 *   needs   core/special core/incomplete core/beta core/cells function/program
 *           code/api
 *   offers  adx_bytes adx_put_bytes adx_put_word adx_text ADX_TABLES_HERE
 *           ADX_TABLES_ONLY ADX_TABLES_DONE ADX_LIST_WIDTH adx_put_text
 *           adx_say adx_say_index adx_open_element adx_close_element
 *           adx_function_space adx_table_space adx_array_space
 *           adx_restrict_word adx_stride_type adx_infinity adx_say_literal
 *           adx_say_element_literal adx_say_formula adx_say_math
 *           ADX_HELPER_COUNT adx_find_helpers adx_are_in_dialect
 *           adx_say_helpers
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- bytes in memory ----------------------------------------------------- */

// Bytes that grow as they are written.
typedef struct adx_bytes {
    const ad_allocator *memory;
    uint8_t *v;
    size_t n;                   // written
    size_t room;
    bool failed;                // no memory: the rest is lost
} adx_bytes;

// An ad_write_fn.
static void adx_put_bytes(const char *from, size_t n, void *user)
{
    adx_bytes *b = (adx_bytes *)user;
    while (n > 0 && !b->failed) {
        if (!adx_make_room_for(b->memory, (void **)&b->v, &b->room, b->n, 1)) {
            b->failed = true;
            return;
        }
        size_t part = b->room - b->n < n ? b->room - b->n : n;
        memcpy(b->v + b->n, from, part);
        b->n += part;
        from += part;
        n -= part;
    }
}

// The lowest byte first.
static void adx_put_word(adx_bytes *b, uint64_t v, size_t bytes)
{
    char text[8];
    for (size_t i = 0; i < bytes; i++)
        text[i] = (char)(uint8_t)(v >> (8 * i));
    adx_put_bytes(text, bytes, b);
}

/* --- text ---------------------------------------------------------------- */

typedef struct adx_text {
    ad_write_fn *write;
    void *user;
    size_t bytes;               // written so far, or counted if write is NULL
    const char *name;           // in front of all names
    const char *real;           // double or float
    bool single;                // float
    bool absorbing, exported;   // as of ad_c_options
    bool loaded;                // for ad_fn_compile: with checks, blocks
                                // and loops, and the size of work as data
    bool header;                // declarations only
    bool muted;                 // nothing is put
    bool failed;                // no memory for a part of it
    ad_c_dialect dialect;
    enum adx_tables {           // constants that loops read:
        ADX_TABLES_HERE,        // in the loop
        ADX_TABLES_ONLY,        // before the function, and nothing else
        ADX_TABLES_DONE         // they are there already
    } tables;
} adx_text;

#define ADX_LIST_WIDTH 64       // of lists: columns before a line is broken

static void adx_put_text(adx_text *t, const char *text, size_t n)
{
    if (t->muted)
        return;
    t->bytes += n;
    if (t->write != NULL && n > 0)
        t->write(text, n, t->user);
}

#if defined __GNUC__ || defined __clang__
__attribute__((format(printf, 2, 3)))
#endif
static void adx_say(adx_text *t, const char *format, ...)
{
    char line[1000];            // several names, and a few words: never cut
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    adx_put_text(t, line, n < 0 ? 0 : (size_t)n < sizeof line
                                    ? (size_t)n : sizeof line - 1);
}

// Writes `before`, the number in decimals, and `after`. Most of a program's
// text is of this form, and this is several times as fast as a format.
static void adx_say_index(adx_text *t, const char *before, size_t number,
                          const char *after)
{
    char digits[24];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    adx_put_text(t, before, strlen(before));
    adx_put_text(t, digits + at, sizeof digits - at);
    adx_put_text(t, after, strlen(after));
}

// Writes an element of an array up to its index; adx_close_element is what
// follows the index. In kernels the elements of a point are a stride apart.
static void adx_open_element(adx_text *t, const char *array)
{
    if (t->dialect == ADREV_C99) {
        adx_put_text(t, array, strlen(array));
        adx_put_text(t, "[", 1);
    } else
        adx_say(t, "%s_AT(%s, ", t->name, array);
}

static const char *adx_close_element(const adx_text *t)
{
    return t->dialect == ADREV_C99 ? "]" : ")";
}

// What stands in front of a function, of a constant array that functions read,
// and of a pointer to memory that all points share.
static const char *adx_function_space(const adx_text *t)
{
    return t->dialect == ADREV_CUDA
         ? t->exported ? "__device__ " : "static __device__ "
         : t->exported ? "" : "static ";
}

static const char *adx_table_space(const adx_text *t)
{
    return t->dialect == ADREV_OPENCL ? "__constant "
         : t->dialect == ADREV_CUDA ? "static __device__ const "
                                    : "static const ";
}

static const char *adx_array_space(const adx_text *t)
{
    return t->dialect == ADREV_OPENCL ? "__global " : "";
}

// C++ has no restrict.
static const char *adx_restrict_word(const adx_text *t)
{
    return t->dialect == ADREV_CUDA ? "__restrict__" : "restrict";
}

// The integer that a stride is: 64 bits.
static const char *adx_stride_type(const adx_text *t)
{
    return t->dialect == ADREV_CUDA ? "long long" : "long";
}

// Puts C's decimal point where the locale's is, which may be several bytes.
static void adx_set_point(char *number)
{
    size_t before = strspn(number, "+-0123456789e");
    size_t point = strcspn(number + before, "+-0123456789e");
    if (point == 0)
        return;
    number[before] = '.';
    memmove(number + before + 1, number + before + point,
            strlen(number + before + point) + 1);
}

// INFINITY and NAN are floats, which compilers may be told not to widen.
static const char *adx_infinity(const adx_text *t)
{
    return t->single ? "HUGE_VALF" : "HUGE_VAL";
}

// Writes a number so that it reads back as the same bits.
static void adx_say_literal(adx_text *t, ad_real v)
{
    char number[40];
    double d = (double)v;
    // A double that a float has no room for becomes an infinity, as it would by
    // rounding: from half an ulp above the largest float on. Likewise, what is
    // no more than half of the smallest float becomes 0.
    bool large = t->single && fabs(d) >= 0x1.ffffffp127;
    if (v != v) {
        adx_say(t, t->single ? "NAN" : "((double)NAN)");
        return;
    }
    if (v - v != 0 || large) {
        adx_say(t, v > 0 ? "%s" : "(-%s)", adx_infinity(t));
        return;
    }
    if (t->single && fabs(d) <= 0x1p-150)
        d = signbit(d) ? -0.0 : 0.0;
    snprintf(number, sizeof number, t->single ? "%.9g" : "%.17g", d);
    adx_set_point(number);
    bool whole = strpbrk(number, ".eE") == NULL;
    bool below = number[0] == '-';
    adx_say(t, "%s%s%s%s%s", below ? "(" : "", number, whole ? ".0" : "",
            t->single ? "f" : "", below ? ")" : "");
}

// The same among elements of a table, where the type says that it is no
// integer.
static void adx_say_element_literal(adx_text *t, ad_real v)
{
    const bool whole = v >= -999999 && v <= 999999 && v == (ad_real)(long)v;
    if (whole && !(v == 0 && signbit(v)))
        adx_say(t, "%ld", (long)v);
    else
        adx_say_literal(t, v);
}

// Writes a word for which a dialect has another one. OpenCL has no nearbyint,
// and half is a type; in device code arrays of functions are not static.
static bool adx_say_own_word(adx_text *t, const char *word, size_t n)
{
    static const char *const own[][2] = {
        { "static", "" }, { "half", "a_half" }, { "adm_nearbyint", "rint" },
    };
    for (size_t i = 0; t->dialect != ADREV_C99 && i < sizeof own / sizeof *own;
         i++)
        if (n == strlen(own[i][0]) && strncmp(word, own[i][0], n) == 0) {
            adx_say(t, "%s%s", own[i][1], n > 4 && word[3] == '_' && t->single
                    && t->dialect == ADREV_CUDA ? "f" : "");
            return true;
        }
    return false;
}

// What an identifier of the tables' text is called in the code: adm_sin is sin
// or sinf, adx_gauss is f_gauss. (Functions of OpenCL take both types.)
static void adx_say_name(adx_text *t, const char *word, size_t n)
{
    int length = (int)n;
    if (adx_say_own_word(t, word, n))
        return;
    if (n > 4 && strncmp(word, "adm_", 4) == 0)
        adx_say(t, "%.*s%s", length - 4, word + 4,
                t->single && t->dialect != ADREV_OPENCL ? "f" : "");
    else if (n > 4 && strncmp(word, "adx_", 4) == 0)
        adx_say(t, "%s_%.*s", t->name, length - 4, word + 4);
    else if (n == 7 && strncmp(word, "ad_real", 7) == 0)
        adx_say(t, "%s", t->real);
    else
        adx_put_text(t, word, n);
}

// Writes the number in ADX_K(number). Returns what follows it.
static const char *adx_say_constant(adx_text *t, const char *at)
{
    size_t n = strcspn(at, ")");
    const char *e = at + strcspn(at, "e)");
    bool tiny = *e == 'e' && e[1] == '-' && adx_read_decimal(e + 2, NULL) > 37;
    if (t->single && tiny)
        adx_say(t, "1e-37f");           // smaller ones stand for double only
    else {
        adx_put_text(t, at, n);
        adx_say(t, t->single ? "f" : "");
    }
    return at + n + 1;
}

typedef void adx_say_argument_fn(adx_text *t, char which, void *user);

// Writes a text of the operator table as C code: names are translated, and the
// letters x, y, z and v become what `argument` writes for them. If argument is
// NULL, they stay.
static void adx_say_formula(adx_text *t, const char *at,
                            adx_say_argument_fn *argument, void *user)
{
    while (*at != '\0') {
        const char *word = at;
        while (adx_is_letter(*at) || (at > word && adx_is_digit(*at)))
            at++;
        size_t n = (size_t)(at - word);
        if (n == 5 && strncmp(word, "ADX_K", 5) == 0)
            at = adx_say_constant(t, at + 1);
        else if (n == 1 && argument != NULL && strchr("xyzv", *word) != NULL)
            argument(t, *word, user);
        else if (n > 0)
            adx_say_name(t, word, n);
        else {          // an operator, or a number with all its letters
            while (adx_is_digit(*at) || *at == '.')
                at++;
            if (at == word)
                at++;
            adx_put_text(t, word, (size_t)(at - word));
        }
    }
}

// Writes the line for <math.h>. In code that this process loads and may run on
// threads, lgamma is lgamma_r, as core/operations has it: lgamma sets signgam,
// which all threads share.
static void adx_say_math(adx_text *t, bool loaded)
{
    const char *suffix = t->single ? "f" : "";
    adx_say(t, "#include <math.h>\n\n");
    if (!loaded || !ADX_HAS_LGAMMA_R)
        return;
    adx_say(t, "%s %s_with_sign(%s x, int *sign) __asm__(\"lgamma%s_r\");\n\n"
            "static inline %s %s_lgamma(%s x)\n{\n    int sign = 0;\n"
            "    return %s_with_sign(x, &sign);\n}\n\n", t->real, t->name,
            t->real, suffix, t->real, t->name, t->real, t->name);
    adx_say(t, "#define lgamma%s %s_lgamma\n\n", suffix, t->name);
}

/* --- helper functions ---------------------------------------------------- */

// A function of the library that formulas call, as C text.
typedef struct adx_helper {
    const char *name;
    const char *parameters;
    const char *body;           // an expression or a block
    const char *type;           // NULL: that of a value
} adx_helper;

#define ADX_TEXT(name, parameters, ...)                                     \
    { #name, #parameters, #__VA_ARGS__, NULL },
#define ADX_TEXT_TYPED(type, name, parameters, ...)                         \
    { #name, #parameters, #__VA_ARGS__, #type },
#define ADX_QUOTED(name, parameters, ...)                                   \
    ADX_TEXT(name, parameters, __VA_ARGS__)
#define ADX_TEXT_PARTIAL(name, n, how, fx, fy, fz, ...)                     \
    ADX_QUOTED(name, ADX_PARAMETERS_##n, __VA_ARGS__)
static const adx_helper adx_helpers[] = {
    ADX_LONG(ADX_TEXT, ADX_TEXT)
    ADX_LONG_SELDOM(ADX_TEXT, ADX_TEXT)
    { "libm_jn", "(int n, double x)",
      "extern double jn(int, double); return (ad_real)jn(n, x);", NULL },
    { "libm_yn", "(int n, double x)",
      "extern double yn(int, double); return (ad_real)yn(n, x);", NULL },
    ADX_BESSELS(ADX_TEXT)
    ADX_INCOMPLETE(ADX_TEXT, ADX_TEXT_TYPED)
    ADX_INCOMPLETE_BETA(ADX_TEXT, ADX_TEXT_TYPED)
    ADX_HELPERS(ADX_TEXT, ADX_TEXT_PARTIAL)
};
#undef ADX_TEXT
#undef ADX_TEXT_TYPED
#undef ADX_QUOTED
#undef ADX_TEXT_PARTIAL
#define ADX_HELPER_COUNT (sizeof adx_helpers / sizeof *adx_helpers)

// Finds the helper functions that a text calls, and those that they call in
// turn. False: one is not in the table.
static bool adx_find_helpers(const char *text, bool needed[])
{
    for (const char *at = text; (at = strstr(at, "adx_")) != NULL;) {
        at += 4;
        size_t n = 0;
        while (adx_is_letter(at[n]) || adx_is_digit(at[n]))
            n++;
        size_t i = 0;
        while (i < ADX_HELPER_COUNT
               && (strlen(adx_helpers[i].name) != n
                   || strncmp(adx_helpers[i].name, at, n) != 0))
            i++;
        if (i == ADX_HELPER_COUNT)
            return false;
        if (!needed[i]) {
            needed[i] = true;
            if (!adx_find_helpers(adx_helpers[i].body, needed))
                return false;
        }
    }
    return true;
}

// Bessel functions are declared by CUDA.
static const char *adx_helper_body(const adx_text *t, const adx_helper *h)
{
    return t->dialect != ADREV_CUDA || strncmp(h->name, "libm_", 5) != 0
         ? h->body : strcmp(h->name, "libm_jn") == 0
         ? "return (ad_real)jn(n, x);" : "return (ad_real)yn(n, x);";
}

// Whether a dialect has what a helper function needs: devices have no long
// double, and OpenCL no Bessel functions.
static bool adx_is_in_dialect(const adx_text *t, const adx_helper *h)
{
    return t->dialect == ADREV_C99
        || (strstr(h->parameters, "long") == NULL
            && strstr(h->body, "long double") == NULL
            && (h->type == NULL || strstr(h->type, "long") == NULL)
            && (t->dialect != ADREV_OPENCL
                || strncmp(h->name, "libm_", 5) != 0));
}

static bool adx_are_in_dialect(const adx_text *t, const bool needed[])
{
    for (size_t i = 0; i < ADX_HELPER_COUNT; i++)
        if (needed[i] && !adx_is_in_dialect(t, &adx_helpers[i]))
            return false;
    return true;
}

static void adx_say_helpers(adx_text *t, const bool needed[])
{
    for (size_t i = 0; i < ADX_HELPER_COUNT; i++) {
        const adx_helper *h = &adx_helpers[i];
        if (!needed[i])
            continue;
        adx_say(t, t->dialect == ADREV_CUDA ? "static __device__ " : "static ");
        adx_say_formula(t, h->type != NULL ? h->type : "ad_real", NULL, NULL);
        adx_say(t, " %s_%s", t->name, h->name);
        adx_say_formula(t, h->parameters, NULL, NULL);
        adx_say(t, "\n{\n    ");
        adx_say_formula(t, adx_helper_body(t, h), NULL, NULL);
        adx_say(t, "\n}\n\n");
    }
}

ADX_SELDOM_END

/* === code/layout ============================================================
 * Where a number is in C code: a constant is a literal, an input stays in its
 * array, and any other number is a local variable, v12. Two kinds of numbers
 * have to be in memory. What an array node reads or makes is an array; and if
 * the program is split into several C functions, what one of them makes and
 * another one reads cannot be a local variable. These numbers have places in
 * `work`. But results of an array node that are the function's results, one
 * after another, are written to the array of results at once: they are at home
 * there.
 *
 *   needs   tape/memory function/program function/copy function/pattern
 *           code/text
 *   offers  adx_results ADX_ARRAYS adx_writing adx_input_array adx_say_input
 *           adx_say_work adx_say_number adx_array_of ADX_HOME_ONE
 *           adx_end_writing adx_begin_writing
 * ========================================================================== */

ADX_SELDOM_BEGIN

// The function's arrays of results, and how many outputs are in each.
typedef struct adx_results {
    const char *array[2];
    size_t length[2];
} adx_results;

#define ADX_ARRAYS 4            // of inputs: x, w, v and, in kernels, c

// One C function while it is written.
typedef struct adx_writing {
    adx_text *text;
    const adx_program *p;
    const char *what;           // value, jvp ...
    const char *array[ADX_ARRAYS];  // names of the inputs, and how many of each
    size_t length[ADX_ARRAYS];
    size_t split;               // most statements of a C function
    bool unrolled;              // no loops are looked for
    bool *used;                 // [numbers] a result or a guard depends on it
    bool *stored;               // the number is in work
    uint32_t *place;            // where in work
    uint32_t *home;             // the output that a node with many results
                                // writes itself; ADX_NOWHERE
    const adx_results *results; // which arrays the results are in
    uint32_t *section;          // the C function that makes the number
    size_t places;              // numbers of work so far
    size_t sections;            // C functions that the program is split into
    size_t next;                // node, after the sections written so far
    bool guarded;               // there are guards
    bool block;                 // of points side by side: adx_lanes_of
    bool tells;                 // notes in `fault` if a result is not finite
    bool chosen;                // derivatives by some of the inputs only
    size_t unchecked;           // outputs at the end that may be not finite
    const adx_entries *entries; // of a sparse matrix; else NULL
    struct adx_rolled *rolled;  // its loops (code/repeats); NULL: it has none
} adx_writing;

// The array in which input x is, and its index there.
static const char *adx_input_array(const adx_writing *k, uint32_t x,
                                   uint32_t *at)
{
    size_t i = 0;
    for (; x >= k->length[i]; i++)
        x -= (uint32_t)k->length[i];
    *at = x;
    return k->array[i];
}

static void adx_say_input(adx_writing *k, uint32_t x)
{
    uint32_t at;
    if (k->block) {
        adx_say(k->text, "x%lu[l]", (unsigned long)x);
        return;
    }
    const char *array = adx_input_array(k, x, &at);
    adx_open_element(k->text, array);
    adx_say_index(k->text, "", at, adx_close_element(k->text));
}

static void adx_say_work(adx_writing *k, size_t place)
{
    if (k->block) {             // what its phases hand on: code/blocks
        adx_say(k->text, "t%lu[l]", (unsigned long)place);
        return;
    }
    adx_open_element(k->text, "work");
    adx_say_index(k->text, "", place, adx_close_element(k->text));
}

static void adx_say_number(adx_writing *k, uint32_t x)
{
    if (k->stored[x])
        adx_say_work(k, k->place[x]);
    else if (adx_is_constant_number(k->p, x))
        adx_say_literal(k->text, *adx_constant_of(k->p, x));
    else if (k->p->from[x] == ADX_FROM_INPUT)
        adx_say_input(k, x);
    else
        adx_say_index(k->text, "v", x, "");
}

// The array of inputs in which all elements of a range are; -1: there is none.
static int adx_array_of(const adx_writing *k, const adx_numbers *r,
                        size_t rows, size_t cols)
{
    uint32_t low;
    uint32_t high;
    uint32_t first = 0;
    adx_range_ends(r, rows, cols, &low, &high);
    for (int i = 0; i < ADX_ARRAYS; first += (uint32_t)k->length[i++])
        if (low >= first && high < first + k->length[i])
            return i;
    return -1;
}

// What `home` says of a number that has no home, besides ADX_NOWHERE.
#define ADX_HOME_NONE (ADX_NOWHERE - 1)     // a node reads it, or two outputs
#define ADX_HOME_ONE  (ADX_NOWHERE - 2)     // exactly one output is this number

// A node that reads numbers: the C function that it is in, and whether it is an
// array node, which reads memory.
typedef struct adx_reader {
    adx_writing *k;
    uint32_t section;
    bool in_range;
} adx_reader;

static void adx_note_reader(void *user, uint32_t x)
{
    adx_reader *r = (adx_reader *)user;
    adx_writing *k = r->k;
    uint32_t from = k->p->from[x];
    k->home[x] = ADX_HOME_NONE;
    if (r->in_range || (from < ADX_FROM_INPUT && k->section[x] != r->section))
        k->stored[x] = true;
}

// The same for the arguments of an array node. If all of an argument is in one
// array of inputs, the node reads it there, and nothing has to be stored. A
// gather reads its numbers one by one, wherever they are.
static void adx_note_ranges(adx_reader *r, const adx_many *m)
{
    for (int a = 0; a < 3; a++) {
        size_t rows;
        size_t cols;
        adx_extent(m, a, &rows, &cols);
        if (rows * cols == 0
            || adx_array_of(r->k, &m->arg[a], rows, cols) >= 0)
            continue;
        adx_add_span(r->k->place, r->k->p->numbers, &m->arg[a], rows, cols);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++)
                adx_note_reader(r, adx_in_range(&m->arg[a], i, j));
    }
    r->in_range = false;
    for (size_t i = 0; m->kind == ADX_MANY_gather && i < m->n; i++)
        adx_note_reader(r, m->list[i]);
    r->in_range = true;
}

// Decides which numbers are stored in work, by one walk over the used nodes,
// which also counts them into C functions of `split` nodes each. Where there
// are several, the outputs are stored as well, because the function that writes
// the results has no nodes of its own.
static void adx_find_stored(adx_writing *k)
{
    const adx_program *p = k->p;
    size_t count = 0;
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        if (!adx_is_used(p, s, k->used))
            continue;
        k->guarded |= s->op == ADX_OP_guard;
        adx_reader r = { k, (uint32_t)(count++ / k->split),
                         s->op == ADX_OP_many };
        if (r.in_range)
            adx_note_ranges(&r, adx_many_of(p, s));
        else
            adx_visit_reads(p, s, adx_note_reader, &r);
        for (size_t j = 0; j < adx_results_of(p, s); j++) {
            k->section[s->r + j] = r.section;
            k->stored[s->r + j] = k->stored[s->r + j] || r.in_range;
        }
    }
    k->sections = count == 0 ? 1 : (count + k->split - 1) / k->split;
    for (size_t i = 0; i < p->outputs && k->sections > 1; i++)
        if (p->from[p->output[i]] < ADX_FROM_INPUT)
            k->stored[p->output[i]] = true;
}

// Finds the nodes with many results whose results are at home: all of them are
// outputs, one after another, each is one output only, and no node reads them.
// But if a guard may fail, results must not have been written before; and a C
// function that makes only a part of the program has no results.
static void adx_find_homes(adx_writing *k)
{
    const adx_program *p = k->p;
    size_t at = 0;
    // how often each number is an output; what nodes read is known already
    for (size_t i = 0; i < p->outputs; i++) {
        uint32_t *home = &k->home[p->output[i]];
        *home = *home == ADX_NOWHERE ? ADX_HOME_ONE : ADX_HOME_NONE;
    }
    for (size_t a = 0; a < 2; a++)
        for (size_t i = 0, n; i < k->results->length[a]; i += n, at += n) {
            uint32_t x = p->output[at];
            uint32_t from = p->from[x];
            const adx_node *s = from < ADX_FROM_INPUT ? &p->node[from] : NULL;
            size_t most = k->results->length[a] - i;
            // Output `at` is the first result of an array node: are the next
            // outputs its other results?
            n = s == NULL || s->op != ADX_OP_many || s->r != x
              ? 1 : adx_results_of(p, s);
            bool all = n > 1 && n <= most && k->sections == 1 && !k->guarded;
            for (size_t j = 0; all && j < n; j++)
                all = p->output[at + j] == x + j
                   && k->home[x + j] == ADX_HOME_ONE;
            for (size_t j = 0; all && j < n; j++)
                k->stored[x + j] = false;
            n = all ? n : 1;
            k->home[x] = all ? (uint32_t)at : ADX_HOME_NONE;
        }
}

// Gives each stored number its place in work, in the order of their numbers.
// Within the span of a range no number is left out, so that it remains one;
// until then k->place counts the spans that begin and end (adx_add_span).
static void adx_find_places(adx_writing *k)
{
    const adx_program *p = k->p;
    uint32_t spans = 0;
    size_t end = 0;             // place of the next number
    for (size_t i = 0; p->manys > 0 && i < p->nodes; i++)
        if (p->node[i].op == ADX_OP_many && k->stored[p->node[i].r])
            adx_add_results_span(k->place, p->numbers, p->node[i].r,
                                 adx_many_of(p, &p->node[i]));
    for (size_t i = 0; i < p->numbers; i++) {
        spans += k->place[i];
        k->place[i] = (uint32_t)end;
        if (k->stored[i])
            k->places = end + 1;
        end += k->stored[i] || spans > 0;
    }
}

static void adx_end_writing(adx_writing *k)
{
    const ad_allocator *a = k->p->memory;
    adx_drop(a, k->used);
    adx_drop(a, k->stored);
    adx_drop(a, k->place);
    adx_drop(a, k->section);
    adx_drop(a, k->home);
}

// Decides for each number whether it is used, and where the text has it. False:
// no memory.
static bool adx_begin_writing(adx_writing *k)
{
    const adx_program *p = k->p;
    const ad_allocator *a = p->memory;
    k->used = (bool *)adx_take(a, p->numbers, sizeof *k->used);
    k->stored = (bool *)adx_take(a, p->numbers, sizeof *k->stored);
    k->place = (uint32_t *)adx_take(a, p->numbers, sizeof *k->place);
    k->section = (uint32_t *)adx_take(a, p->numbers, sizeof *k->section);
    k->home = (uint32_t *)adx_take(a, p->numbers, sizeof *k->home);
    if (k->used == NULL || k->stored == NULL || k->place == NULL
        || k->section == NULL || k->home == NULL)
        return false;
    memset(k->stored, 0, p->numbers * sizeof *k->stored);
    memset(k->home, 0xff, p->numbers * sizeof *k->home);    // ADX_NOWHERE
    memset(k->section, 0, p->numbers * sizeof *k->section);
    memset(k->place, 0, p->numbers * sizeof *k->place);
    adx_find_used(p, k->used);
    adx_find_stored(k);
    adx_find_homes(k);
    adx_find_places(k);
    return true;
}

ADX_SELDOM_END

/* === code/statements ========================================================
 * C text of single nodes. An operation is one declaration or assignment, whose
 * right side is its formula in the operator table; a guard is a conditional
 * return; and an array node is a loop, which the kind of the node decides. Sums
 * are added up in the order of array/linear, so the bits are those of a replay.
 *
 *   needs   core/cells function/program code/api code/text code/layout
 *   offers  adx_value_text adx_say_change adx_say_guard adx_take_signs
 *           adx_say_node adx_adds_in_place adx_tells_at_home adx_array_with
 *           adx_say_one adx_say_eight adx_say_sum_of_eight adx_say_row
 *           adx_is_inner adx_say_term adx_say_zeros adx_say_many
 * ========================================================================== */

ADX_SELDOM_BEGIN

static void adx_say_argument(adx_text *t, char which, void *user)
{
    const void *const *both = (const void *const *)user;
    adx_writing *k = (adx_writing *)(uintptr_t)both[0];
    const adx_node *s = (const adx_node *)both[1];
    (void)t;
    adx_say_number(k, which == 'x' ? s->a : which == 'y' ? s->b : s->c);
}

// The formula of an operation. A product of the chain rule is plain, unless a
// factor of zero is to absorb infinities.
static const char *adx_value_text(const adx_text *t, uint32_t op)
{
    return op == ADX_OP_chain && !t->absorbing ? "x * y"
                                               : adx_row_of(op)->value;
}

// Writes a number, or the name that it has in a loop.
static void adx_say_named(adx_writing *k, const char *name, uint32_t x)
{
    if (name != NULL)
        adx_put_text(k->text, name, strlen(name));
    else
        adx_say_number(k, x);
}

// Writes the condition that a number is not what it was, bit by bit as in a
// replay: the two zeros differ, and all NaNs are one.
static void adx_say_change(adx_writing *k, const char *name, uint32_t x,
                           ad_real was)
{
    adx_say_named(k, name, x);
    adx_say(k->text, was != was ? " == " : " != ");
    if (was != was)
        adx_say_named(k, name, x);
    else
        adx_say_literal(k->text, was);
    if (was != 0)
        return;
    adx_say(k->text, signbit(was) ? " || !signbit(" : " || signbit(");
    adx_say_named(k, name, x);
    adx_say(k->text, ")");
}

// A guard that flips ends the function; what it returns names the guard.
static void adx_say_guard(adx_writing *k, const adx_node *s)
{
    adx_say(k->text, "    if (");
    adx_say_change(k, NULL, s->a, *adx_constant_of(k->p, s->b));
    adx_say(k->text, ") return %lu;\n", (unsigned long)s->c + 1);
}

// What x is the negative of, and then *minus is flipped; or x itself.
static uint32_t adx_without_sign(const adx_program *p, uint32_t x, bool *minus)
{
    const adx_node *s = adx_made_by(p, x, ADREV_OP_neg);
    *minus ^= s != NULL;
    return s == NULL ? x : s->a;
}

// Takes the signs of a product's factors away: they are written in front of the
// product. So the compiler sees that it has computed the product of the same
// two numbers without signs already, and a sum subtracts it. Returns whether
// the product is to be negated.
static bool adx_take_signs(const adx_writing *k, adx_node *s)
{
    bool minus = false;
    if (k->text->loaded && k->sections == 1
        && (s->op == ADREV_OP_mul || s->op == ADX_OP_chain)) {
        s->a = adx_without_sign(k->p, s->a, &minus);
        s->b = adx_without_sign(k->p, s->b, &minus);
    }
    return minus;
}

// Writes one operation as one declaration or assignment. A negation may have no
// reader then (adx_take_signs), so it is also used as a void expression, which
// no compiler warns of.
static void adx_say_node(adx_writing *k, const adx_node *s)
{
    adx_node plain = *s;
    const void *both[] = { k, &plain };
    bool minus = adx_take_signs(k, &plain);
    if (k->stored[s->r]) {
        adx_say(k->text, "    ");
        adx_say_work(k, k->place[s->r]);
        adx_say(k->text, " = ");
    } else
        adx_say_index(k->text, k->text->single ? "    const float v"
                                               : "    const double v",
                      s->r, " = ");
    adx_say(k->text, minus ? "-(" : "");
    adx_say_formula(k->text, adx_value_text(k->text, s->op), adx_say_argument,
                    both);
    adx_say(k->text, minus ? ");\n" : ";\n");
    if (k->text->loaded && s->op == ADREV_OP_neg && !k->stored[s->r])
        adx_say_index(k->text, "    (void)v", s->r, ";\n");
}

// How an element of an array node's arguments is written: names of the loop
// variables for the row and the column of each argument.
typedef struct adx_element_text {
    const adx_writing *k;
    const adx_many *many;
    const char *i[3];           // of the row of each argument
    const char *j[3];
} adx_element_text;

// Writes an element of the argument that a letter of the formula stands for:
// its array, and an index that is linear in the loop variables.
static void adx_say_element(adx_text *t, char which, void *user)
{
    const adx_element_text *e = (const adx_element_text *)user;
    int a = which == 'x' ? 0 : which == 'y' ? 1 : 2;
    const adx_numbers *r = &e->many->arg[a];
    size_t rows;
    size_t cols;
    adx_extent(e->many, a, &rows, &cols);
    int array = adx_array_of(e->k, r, rows, cols);
    uint32_t base = array < 0 ? e->k->place[r->base] : r->base;
    for (int i = 0; i < array; i++)
        base -= (uint32_t)e->k->length[i];
    adx_open_element(t, array < 0 ? "work" : e->k->array[array]);
    adx_say(t, "%lu", (unsigned long)base);
    if (e->i[a] != NULL && r->rs != 0)
        adx_say(t, " + %ld*%s", (long)r->rs, e->i[a]);
    if (e->j[a] != NULL && r->cs != 0)
        adx_say(t, " + %ld*%s", (long)r->cs, e->j[a]);
    adx_say(t, "%s", adx_close_element(t));
}

// Writes where the results of a node begin, without the closing bracket, as in
// "work[7" or "J[0".
static void adx_say_home(adx_writing *k, const adx_node *s)
{
    const adx_results *r = k->results;
    size_t at = k->home[s->r];
    if (at >= ADX_HOME_ONE) {
        adx_open_element(k->text, "work");
        adx_say_index(k->text, "", k->place[s->r], "");
        return;
    }
    bool second = at >= r->length[0];
    adx_open_element(k->text, r->array[second]);
    adx_say_index(k->text, "", at - (second ? r->length[0] : 0), "");
}

// Whether a product is added up in place, along what is contiguous in memory:
// rows of the second argument or, if that is a column, columns of the first
// one.
static bool adx_adds_in_place(const adx_many *m)
{
    return (m->n == 1 ? m->arg[0].rs : m->arg[1].cs) == 1;
}

// Whether a node writes its results where they belong, each once, and notes
// there which are not finite, so that no second pass over them is needed.
static bool adx_tells_at_home(const adx_writing *k, const adx_node *s)
{
    const adx_many *m = adx_many_of(k->p, s);
    bool once = m->kind == ADX_MANY_each
             || (m->kind == ADX_MANY_product && m->k == 1
                 && adx_adds_in_place(m));
    return k->tells && once && k->home[s->r] < k->p->outputs - k->unchecked;
}

// Notes whether result i is finite or, with a width, the result in row i and
// column j.
static void adx_say_told(adx_writing *k, const adx_node *s, size_t width)
{
    char index[40] = " + i]";
    if (width > 0)
        snprintf(index, sizeof index, " + %lu*i + j]", (unsigned long)width);
    adx_say(k->text, "%*sfault |= ", width > 0 ? 20 : 12, "");
    adx_say_home(k, s);
    adx_say(k->text, "%s - ", index);
    adx_say_home(k, s);
    adx_say(k->text, "%s != 0;\n", index);
}

enum { ADX_RUN_LEAST = 8 };     // numbers of a gather that become a loop

// The array that a number is in, and its index there; NULL: it is in none.
static const char *adx_array_with(const adx_writing *k, uint32_t x, long *at)
{
    const char *array = "work";
    uint32_t place = 0;
    if (k->stored[x])
        place = k->place[x];
    else if (k->block || adx_is_constant_number(k->p, x)
             || k->p->from[x] != ADX_FROM_INPUT)
        array = NULL;
    else
        array = adx_input_array(k, x, &place);
    *at = (long)place;
    return array;
}

// A run of a gather: successive numbers of its list that are in the same array.
// If their indices are evenly spaced, the loop computes them; otherwise they
// are a table.
typedef struct adx_picked {
    const uint32_t *number;     // [n] of the list
    size_t n;
    const char *array;          // NULL: the first one stands in none
    long first, stride;         // index in the array, and how much is added to
                                // it from number to number
    bool even;                  // they are evenly spaced
    bool narrow;                // places fit into 16 bits
} adx_picked;

// The longest run at the beginning of the list.
static adx_picked adx_find_run(const adx_writing *k, const uint32_t number[],
                               size_t most)
{
    adx_picked r = { .number = number, .even = true, .narrow = true };
    long before = 0;
    long at;
    r.array = adx_array_with(k, number[0], &r.first);
    for (; r.array != NULL && r.n < most
           && adx_array_with(k, number[r.n], &at) == r.array; r.n++) {
        if (r.n == 1)
            r.stride = at - before;
        r.even = r.even && (r.n == 0 || at - before == r.stride);
        r.narrow = r.narrow && at <= 0xffff;
        before = at;
    }
    return r;
}

// Writes the indices as a table, ten in a line.
static void adx_say_table(const adx_writing *k, const adx_picked *r)
{
    adx_say(k->text, "        static const unsigned %s place[%lu] = {",
            r->narrow ? "short" : "long", (unsigned long)r->n);
    for (size_t i = 0; i < r->n; i++) {
        long at;
        (void)adx_array_with(k, r->number[i], &at);
        adx_say(k->text, "%s%ld%s", i % 10 == 0 ? "\n            " : " ", at,
                i + 1 < r->n ? "," : "");
    }
    adx_say(k->text, "\n        };\n");
}

// Writes the loop that copies a run to the results of s from `begin` on.
static void adx_say_picked(adx_writing *k, const adx_node *s, size_t begin,
                           const adx_picked *r)
{
    adx_text *t = k->text;
    adx_say(t, "    {\n");
    if (!r->even)
        adx_say_table(k, r);
    adx_say(t, "        long i;\n        for (i = 0; i < %lu; i++)\n"
            "            ", (unsigned long)r->n);
    adx_say_home(k, s);
    adx_say(t, " + %lu + i%s = ", (unsigned long)begin, adx_close_element(t));
    adx_open_element(t, r->array);
    if (r->even)
        adx_say(t, "%ld + %ld*i", r->first, r->stride);
    else
        adx_say(t, "place[i]");
    adx_say(t, "%s;\n    }\n", adx_close_element(t));
}

// A long run of a gather becomes a loop, every other number a statement.
static void adx_say_gather(adx_writing *k, const adx_node *s,
                           const adx_many *m)
{
    for (size_t i = 0; i < m->n;) {
        const adx_picked r = adx_find_run(k, &m->list[i], m->n - i);
        if (r.n >= ADX_RUN_LEAST
            && (r.even || k->text->dialect == ADREV_C99)) {
            adx_say_picked(k, s, i, &r);
            i += r.n;
            continue;
        }
        for (size_t end = i + (r.n == 0 ? 1 : r.n); i < end; i++) {
            adx_say(k->text, "    ");
            adx_say_home(k, s);
            adx_say(k->text, " + %lu%s = ", (unsigned long)i,
                    adx_close_element(k->text));
            adx_say_number(k, m->list[i]);
            adx_say(k->text, ";\n");
        }
    }
}

// A Euclidean length, by the formula of adx_length: nothing overflows on the
// way.
static void adx_say_norm(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_text *t = k->text;
    const char *f = t->single && t->dialect != ADREV_OPENCL ? "f" : "";
    adx_element_text e = { k, m, { NULL }, { "i" } };
    adx_say(t, "    {\n        %s most = 0, sum = 0;\n        long i;\n"
            "        for (i = 0; i < %lu; i++) {\n"
            "            const %s size = fabs%s(", t->real,
            (unsigned long)m->k, t->real, f);
    adx_say_element(t, 'x', &e);
    adx_say(t, ");\n            most = size > most || size != size ? size : "
            "most;\n        }\n"
            "        if (most == 0 || most * 0 != 0)\n            sum = 1;\n"
            "        else\n            for (i = 0; i < %lu; i++) {\n"
            "                const %s part = ", (unsigned long)m->k, t->real);
    adx_say_element(t, 'x', &e);
    adx_say(t, " / most;\n                sum += part * part;\n"
            "            }\n        ");
    adx_say_home(k, s);
    adx_say(t, "%s = most * sqrt%s(sum);\n    }\n", adx_close_element(t), f);
}

// A sum, or the largest of its numbers.
static void adx_say_fold(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_text *t = k->text;
    adx_element_text e = { k, m, { NULL }, { "i" } };
    bool most = m->kind == ADX_MANY_most;
    const char *zero = t->single ? "0.0f" : "0.0";
    adx_say(t, "    {\n        %s sum = %s%s;\n        long i;\n", t->real,
            most ? "-" : "", most ? adx_infinity(t) : zero);
    adx_say(t, "        for (i = 0; i < %lu; i++)\n            %s",
            (unsigned long)m->k, most ? "if (" : "sum += ");
    adx_say_element(t, 'x', &e);
    if (most) {
        adx_say(t, " > sum || ");
        adx_say_element(t, 'x', &e);
        adx_say(t, " != ");
        adx_say_element(t, 'x', &e);
        adx_say(t, ")\n                sum = ");
        adx_say_element(t, 'x', &e);
    }
    adx_say(t, ";\n        ");
    adx_say_home(k, s);
    adx_say(t, "%s = sum;\n    }\n", adx_close_element(t));
}

// The loop's body for element i of an operation on arrays.
static void adx_say_one(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_text *t = k->text;
    adx_element_text e = { k, m, { NULL }, { "i", "i", "i" } };
    adx_say(t, "            ");
    adx_say_home(k, s);
    adx_say(t, " + i%s = ", adx_close_element(t));
    adx_say_formula(t, adx_value_text(t, m->op), adx_say_element, &e);
    adx_say(t, ";\n");
    if (adx_tells_at_home(k, s))
        adx_say_told(k, s, 0);
}

static void adx_say_each(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_say(k->text, "    {\n        long i;\n"
            "        for (i = 0; i < %lu; i++) {\n", (unsigned long)m->n);
    adx_say_one(k, s, m);
    adx_say(k->text, "        }\n    }\n");
}

// Row i of a matrix times a column, in eight running sums as ad_dot and
// ad_matvec have them, so that the bits are the same: the terms l in from ..
// to, except the last ones that make no full eight.
static void adx_say_eight(adx_writing *k, const adx_many *m, const char *from,
                          const char *to)
{
    adx_element_text e = { k, m, { "i", "(l + j)" }, { "(l + j)" } };
    adx_say(k->text, "            for (l = %s; l + 8 <= %s; l += 8)\n"
            "                for (j = 0; j < 8; j++)\n"
            "                    sum[j] += ", from, to);
    adx_say_formula(k->text, adx_value_text(k->text, m->op), adx_say_element,
                    &e);
    adx_say(k->text, ";\n");
}

// Adds the eight sums up, and to them the last terms.
static void adx_say_sum_of_eight(adx_writing *k, const adx_node *s,
                                 const adx_many *m)
{
    adx_text *t = k->text;
    adx_element_text e = { k, m, { "i", "l" }, { "l" } };
    adx_say(t, "            for (j = 0; j < 4; j++)\n"
            "                sum[j] += sum[j + 4];\n"
            "            sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);\n"
            "            for (l = %lu; l < %lu; l++)\n"
            "                sum[0] += ", (unsigned long)(m->k / 8 * 8),
            (unsigned long)m->k);
    adx_say_formula(t, adx_value_text(t, m->op), adx_say_element, &e);
    adx_say(t, ";\n            ");
    adx_say_home(k, s);
    adx_say(t, " + i%s = sum[0];\n", adx_close_element(t));
}

// All of a row's product.
static void adx_say_row(adx_writing *k, const adx_node *s, const adx_many *m)
{
    char all[24];
    snprintf(all, sizeof all, "%lu", (unsigned long)m->k);
    adx_say(k->text, "            %s sum[8] = { 0 };\n", k->text->real);
    adx_say_eight(k, m, "0", all);
    adx_say_sum_of_eight(k, s, m);
}

static void adx_say_inner(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_say(k->text, "    {\n        long i, j, l;\n"
            "        for (i = 0; i < %lu; i++) {\n", (unsigned long)m->m);
    adx_say_row(k, s, m);
    adx_say(k->text, "        }\n    }\n");
}

// Whether a product is one of rows with a column, to be computed in eight sums.
static bool adx_is_inner(const adx_many *m)
{
    return m->kind == ADX_MANY_product && m->n == 1 && m->k >= 8
        && (!adx_adds_in_place(m) || m->op != ADX_OP_chain);
}

// Adds term l of result (i, j) in place. Even a sum of one term begins with 0,
// since 0 + -0 is 0 and -0 is not.
static void adx_say_term(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_text *t = k->text;
    adx_element_text e = { k, m, { "i", "l" }, { "l", "j" } };
    adx_say(t, "                    ");
    adx_say_home(k, s);
    adx_say(t, " + %lu*i + j%s %s ", (unsigned long)m->n, adx_close_element(t),
            m->k > 1 ? "+=" : "= 0 +");
    adx_say_formula(t, adx_value_text(t, m->op), adx_say_element, &e);
    adx_say(t, ";\n");
    if (adx_tells_at_home(k, s))
        adx_say_told(k, s, m->n);
}

static void adx_say_zeros(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_say(k->text, "        for (i = 0; i < %lu; i++)\n            ",
            (unsigned long)adx_many_results(m));
    adx_say_home(k, s);
    adx_say(k->text, " + i%s = 0;\n", adx_close_element(k->text));
}

// A product of matrices as three loops. If it is added up in place, the
// innermost loop runs along what is contiguous; otherwise it runs over the
// terms of one result and adds them up in a variable.
static void adx_say_product(adx_writing *k, const adx_node *s,
                            const adx_many *m)
{
    adx_text *t = k->text;
    adx_element_text e = { k, m, { "i", "l" }, { "l", "j" } };
    bool rows = m->n > 1 && adx_adds_in_place(m);
    bool columns = m->n == 1 && adx_adds_in_place(m);
    bool alone = !rows && !columns;
    if (adx_is_inner(m)) {
        adx_say_inner(k, s, m);
        return;
    }
    const char *order = rows ? "ilj" : columns ? "lij" : "ijl";
    adx_say(t, "    {\n        long i, j, l;\n");
    if (!alone && m->k > 1)
        adx_say_zeros(k, s, m);
    for (int depth = 0; depth < 3; depth++) {
        char v = order[depth];
        if (depth == 2 && alone)
            adx_say(t, "                %s sum = 0;\n", t->real);
        adx_say(t, "%*sfor (%c = 0; %c < %lu; %c++)%s\n", 8 + 4 * depth, "",
                v, v, (unsigned long)(v == 'i' ? m->m : v == 'j' ? m->n
                                                                 : m->k), v,
                depth == (alone ? 1 : 2) ? " {" : "");
    }
    if (alone) {
        adx_say(t, "                    sum += ");
        adx_say_formula(t, adx_value_text(t, m->op), adx_say_element, &e);
        adx_say(t, ";\n                ");
        adx_say_home(k, s);
        adx_say(t, " + %lu*i + j%s = sum;\n", (unsigned long)m->n,
                adx_close_element(t));
    } else
        adx_say_term(k, s, m);
    adx_say(t, "%*s}\n    }\n", alone ? 12 : 16, "");
}

static void adx_say_many(adx_writing *k, const adx_node *s)
{
    const adx_many *m = adx_many_of(k->p, s);
    switch (m->kind) {
    case ADX_MANY_each: adx_say_each(k, s, m); break;
    case ADX_MANY_sum: case ADX_MANY_most: adx_say_fold(k, s, m); break;
    case ADX_MANY_norm: adx_say_norm(k, s, m); break;
    case ADX_MANY_product: adx_say_product(k, s, m); break;
    case ADX_MANY_gather: adx_say_gather(k, s, m); break;
    case ADX_MANY_external: case ADX_MANY_COUNT: break;    // refused before
    }
}

/* === code/matrix ============================================================
 * The derivative of a product A x also needs a product with the transposed A.
 * The adjoint of one row's product needs no other row, so one loop does
 * everything that belongs to a row, and reads A once.
 *
 * Every node from the product to the product with the transposed matrix is in
 * one of four classes: done before the loop, done once for each row, done along
 * each row, or done after the loop. What runs along a row is done block by
 * block, while the block is in the cache. It is done together with the product
 * of the row if the adjoint of that product is known before, else after it
 * (`waits`).
 *
 *   needs   tape/memory core/cells function/program function/copy code/text
 *           code/layout code/statements
 *   offers  ADX_ROW_BLOCK ADX_BEFORE ADX_BY_ROW ADX_ALONG adx_row_loop
 *           adx_find_rows adx_say_of_row
 * ========================================================================== */

enum { ADX_ROW_BLOCK = 64 };

// Where a node is done. A node that is done along the rows (ADX_ALONG) is
// complete only when all rows are, so a node that reads it comes after the
// loop. The product itself is an exception: its element is complete at the end
// of its row.
enum { ADX_BEFORE = 0, ADX_BY_ROW = 1, ADX_AFTER = 2, ADX_ALONG = 4 };

// The nodes of a loop over rows: from the product to the product with the
// transposed matrix.
typedef struct adx_row_loop {
    const adx_program *p;
    size_t begin, end;
    uint32_t rows, columns;
    uint8_t *where;             // [number] where its node is done
    bool waits;                 // what goes along a row needs the row's product
    unsigned seen;
} adx_row_loop;

static void adx_see_where(void *user, uint32_t number)
{
    adx_row_loop *r = (adx_row_loop *)user;
    r->seen |= r->where[number];
}

// Whether row i has what it needs of an argument: either the argument is made
// before the loop, or it is a column, with elements `stride` apart, that one
// node makes, and row i makes element i of it.
static bool adx_is_at_hand(adx_row_loop *r, const adx_many *m, int a,
                           int32_t stride)
{
    const adx_numbers *x = &m->arg[a];
    size_t rows;
    size_t cols;
    adx_extent(m, a, &rows, &cols);
    r->seen = ADX_BEFORE;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            adx_see_where(r, adx_in_range(x, i, j));
    return r->seen == ADX_BEFORE
        || (r->seen == ADX_BY_ROW && stride == 1 && rows * cols == r->rows
            && r->where[x->base] == ADX_BY_ROW  // so a node makes it
            && r->p->node[r->p->from[x->base]].r == x->base);
}

// Whether a node is a vector times one number.
static bool adx_is_multiple(const adx_many *m)
{
    return m->kind == ADX_MANY_product && m->k == 1 && (m->m == 1 || m->n == 1);
}

// Whether a node is a column times a row, as the adjoint of the matrix is. Rows
// of it are written while rows of the matrix are read.
static bool adx_is_outer(const adx_many *m)
{
    return m != NULL && m->kind == ADX_MANY_product && m->k == 1 && m->n > 1
        && m->m > 1 && adx_adds_in_place(m);
}

// Whether m is the product with the transposed matrix that goes with a product.
static bool adx_is_transposed(const adx_many *m, const adx_many *first)
{
    return m != NULL && m->kind == ADX_MANY_product && m->n == 1
        && m->op == ADX_OP_chain && m->k == first->m && m->m == first->k
        && adx_adds_in_place(m) && m->arg[0].base == first->arg[0].base
        && m->arg[0].rs == first->arg[0].cs
        && m->arg[0].cs == first->arg[0].rs;
}

// Decides where node i is done, when this is known of the nodes before it. The
// node runs along the rows if it is the product with the transposed matrix, or
// an outer product of the same shape, and if row i has its element of the
// factor that varies from row to row. It is done for each row if it makes one
// number for each row, from numbers that the row has.
static uint8_t adx_where(adx_row_loop *r, size_t i)
{
    const adx_node *s = &r->p->node[i];
    const adx_many *m = adx_many_of(r->p, s);
    if (i == r->begin)
        return ADX_BY_ROW;
    // The argument that is tested last is the one of which row i needs one
    // element: it decides about `waits`.
    if (i == r->end
            ? adx_is_at_hand(r, m, 0, 0)
              && adx_is_at_hand(r, m, 1, m->arg[1].rs)
            : adx_is_outer(m) && m->m == r->rows && m->n == r->columns
              && adx_is_at_hand(r, m, 1, 0)
              && adx_is_at_hand(r, m, 0, m->arg[0].rs)) {
        r->waits |= r->seen == ADX_BY_ROW;
        return ADX_ALONG;
    }
    r->seen = ADX_BEFORE;
    adx_visit_reads(r->p, s, adx_see_where, r);
    if (r->seen == ADX_BEFORE)
        return ADX_BEFORE;
    bool by_row = m != NULL && adx_many_results(m) == r->rows
               && (m->kind == ADX_MANY_each || adx_is_multiple(m));
    int arity = !by_row ? 0 : m->kind == ADX_MANY_each
              ? adx_row_of(m->op)->arity : 2;
    for (int a = 0; by_row && a < arity; a++)
        by_row = adx_is_at_hand(r, m, a, m->n == 1 ? m->arg[a].rs
                                                   : m->arg[a].cs);
    return by_row ? ADX_BY_ROW : ADX_AFTER;
}

// Whether node `begin` begins a loop of this kind. If so, *r says where it ends
// and where its nodes are done. If the row's product need not wait, it is done
// along the row, too.
static bool adx_find_rows(const adx_writing *k, adx_row_loop *r, size_t begin)
{
    const adx_program *p = k->p;
    const adx_many *first = adx_many_of(p, &p->node[begin]);
    if (k->sections > 1 || k->guarded || first == NULL || !adx_is_inner(first))
        return false;
    size_t end = begin + 1;
    while (end < p->nodes
           && !(adx_is_used(p, &p->node[end], k->used)
                && adx_is_transposed(adx_many_of(p, &p->node[end]), first)))
        end++;
    *r = (adx_row_loop){ .p = p, .begin = begin, .end = end, .rows = first->m,
                         .columns = first->k };
    r->where = end < p->nodes ? (uint8_t *)adx_take(p->memory, p->numbers, 1)
                              : NULL;
    if (r->where == NULL)
        return false;
    memset(r->where, ADX_BEFORE, p->numbers);
    for (size_t i = begin; i <= end; i++) {
        const adx_node *s = &p->node[i];
        memset(&r->where[s->r], adx_where(r, i), adx_results_of(p, s));
    }
    if (!r->waits)
        r->where[p->node[begin].r] = ADX_ALONG;
    if (r->where[p->node[end].r] == ADX_ALONG)
        return true;
    adx_drop(p->memory, r->where);
    return false;
}

// Writes what one node does in row `row`, or in its columns from .. to. Loop
// variables get the names that the node's own text uses: i, j and l.
static void adx_say_of_row(adx_writing *k, const adx_row_loop *r,
                           const adx_node *s)
{
    const adx_many *m = adx_many_of(k->p, s);
    const char *names, *over = NULL;
    if (adx_is_inner(m))
        names = "const long i = row;\n            long j, l";
    else if (m->kind == ADX_MANY_each)
        names = "const long i = row";
    else if (adx_is_multiple(m))
        names = m->n == 1 ? "const long i = row, j = 0, l = 0"
                          : "const long i = 0, j = row, l = 0";
    else if (adx_is_outer(m)) {
        names = "const long i = row, l = 0;\n            long j";
        over = "j";
    } else {
        names = "const long l = row, j = 0;\n            long i";
        over = "i";
    }
    adx_say(k->text, "            {\n            %s;\n", names);
    if (over != NULL)
        adx_say(k->text, "            for (%s = from; %s < to; %s++)\n", over,
                over, over);
    if (adx_is_inner(m) && r->waits)
        adx_say_row(k, s, m);
    else if (adx_is_inner(m)) {
        adx_say(k->text, "            (void)i;\n");
        adx_say_eight(k, m, "from", "to");
    } else if (m->kind == ADX_MANY_each)
        adx_say_one(k, s, m);
    else {
        adx_say(k->text, "                {\n");
        adx_say_term(k, s, m);
        adx_say(k->text, "                }\n            (void)i; (void)l;\n");
    }
    adx_say(k->text, "            }\n");
}

ADX_SELDOM_END

/* === code/repeats ===========================================================
 * Finds what repeats in a program, so that its C code has loops. The used nodes
 * are a sequence of symbols: the operation, and for each argument whether it is
 * a result, a constant or an element of which array of inputs. Where a piece of
 * the sequence comes again and again right behind itself, it becomes one item,
 * a loop, and the search begins again with the shorter sequence: so loops nest.
 * The order of the nodes stays as it is, and therefore the bits do.
 *
 * A piece that begins at i - p comes again at i if a few symbols from i on were
 * met p before, and if both pieces have the same hash. One table for each of a
 * few numbers of symbols knows where they were met last, and prefix sums give
 * the hash of any piece at once (Karp and Rabin, Efficient randomized
 * pattern-matching algorithms, 1987); so the search takes a time that is linear
 * in the sequence. What has been found is compared symbol by symbol.
 *
 * Outputs are a sequence of their own: their symbol is the statement whose
 * instances they are. What is then in no loop is folded once more, by symbols
 * that do not say which statement that is. A loop is in no loop of this fold,
 * so none nest deeper than ADX_ROLL_DEPTH.
 *
 *   needs   tape/memory core/cells function/program function/unique
 *           function/copy code/layout
 *   offers  ADX_ROLL_DEPTH ADX_ROLL_LEAST adx_item adx_looped adx_rolled
 *           adx_free_rolled adx_join_equal adx_split_equal ADX_CLASS_RESULT
 *           ADX_CLASS_CONSTANT adx_class_of adx_varying adx_read_by
 *           adx_symbol_of adx_order adx_free_order adx_may_repeat adx_new_item
 *           adx_fold_again adx_entry_at adx_next_instance adx_roll
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_ROLL_DEPTH 3
#define ADX_ROLL_LEAST 200      // statements that a loop must save
#define ADX_ROLL_WIDTHS 6       // lengths of what is looked up: 1, 4, 16 ...

// A statement or a loop.
typedef struct adx_item {
    uint64_t symbol;
    uint32_t first;             // entry of the sequence that comes first
    uint32_t entries;           // how many it has, in all iterations
    uint32_t count;             // iterations; 1: a statement
    uint32_t body;              // where the list of its items begins, in `list`
    uint32_t items;
    uint32_t text;              // statements that are written
    uint32_t leaf;              // of a statement in loops, else 0
} adx_item;

// A statement in loops. Its instance at t[] is entry first + sum of t[l]
// stride[l]; instances are counted in their order.
typedef struct adx_looped {
    uint32_t depth;
    uint32_t loop[ADX_ROLL_DEPTH];  // items, the outermost first
    uint32_t stride[ADX_ROLL_DEPTH];  // of the entry, for each loop
    uint32_t count[ADX_ROLL_DEPTH]; // iterations of each loop
    uint32_t first;             // entry of the first instance
    uint32_t instances;         // the product of the counts
    uint32_t place;             // in work, of its first instance
    bool local;                 // read by other statements of its body
    bool stored;                // its results are in work
    bool all;                   // of all instances; else of the last one only
} adx_looped;

typedef struct adx_rolled {
    adx_item *item;
    size_t items, item_room;
    uint32_t *list;             // lists of items; the first is that of the file
    size_t listed, list_room;
    uint32_t *root;             // the sequence now
    size_t roots;
    adx_looped *leaf;             // leaf[0] stands for what is in no loop
    size_t leaves, leaf_room;
    size_t nodes, entries;
    uint32_t *entry;            // [entries] its node, or its output
    uint32_t *entry_of;         // [nodes of the program]
    uint32_t *leaf_of;          // [entries]
    uint32_t *index_of;         // [entries] which instance; or how many
                                // statements in no loop come before
    uint32_t *section_of;       // [roots] C function
    size_t next;                // root, after what is written so far
    size_t loops;               // found; a nested one in each iteration
    size_t written;             // of these
    adx_node *was;              // the program's, before equal ones were joined
    uint32_t *constant;         // [constants] the array that loops read
    uint32_t *constant_at;      // [numbers] 1 + where it is there; 0: nowhere
    size_t constants;
    bool failed;                // no memory
} adx_rolled;

static void adx_free_rolled(const ad_allocator *a, adx_rolled *r)
{
    if (r == NULL)
        return;
    adx_drop(a, r->item);
    adx_drop(a, r->list);
    adx_drop(a, r->root);
    adx_drop(a, r->leaf);
    adx_drop(a, r->entry);
    adx_drop(a, r->entry_of);
    adx_drop(a, r->leaf_of);
    adx_drop(a, r->index_of);
    adx_drop(a, r->section_of);
    adx_drop(a, r->was);
    adx_drop(a, r->constant);
    adx_drop(a, r->constant_at);
    adx_drop(a, r);
}

/* --- numbers that are the same ----------------------------------------------
 * The table of known numbers (function/unique) forgets some, which are then
 * made again here and there. Before loops are looked for, all that are the same
 * become one.                                                                */

static uint64_t adx_equal_hash(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ b * 0x9e3779b97f4a7c15u) * 0xd1342543de82ef95u;
    return (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
}

static adx_key adx_equal_key(const adx_program *p, uint32_t x)
{
    const adx_node *s = &p->node[p->from[x]];
    return adx_is_constant_number(p, x)
         ? adx_constant_key(*adx_constant_of(p, x))
         : adx_node_key(s->op, s->a, s->b, s->c);
}

// The number that x is the same as, if it is in the table; else x, which then
// is in it.
static uint32_t adx_first_equal(const adx_program *p, uint32_t table[],
                                int bits, uint32_t x)
{
    const adx_key key = adx_equal_key(p, x);
    size_t mask = ((size_t)1 << bits) - 1;
    size_t at = (size_t)(adx_equal_hash(key.word[0], key.word[1])
                         >> (64 - bits));
    for (; table[at] != 0; at = (at + 1) & mask) {
        const adx_key other = adx_equal_key(p, table[at] - 1);
        if (memcmp(&key, &other, sizeof key) == 0)
            return table[at] - 1;
    }
    table[at] = x + 1;
    return x;
}

static void adx_rename_reads(adx_node *s, const uint32_t as[])
{
    s->a = as[s->a];
    s->b = as[s->b];
    if (s->op != ADX_OP_guard)
        s->c = as[s->c];
    if (adx_commutes(s->op) && s->a > s->b) {       // as adx_emit has them
        uint32_t a = s->a;
        s->a = s->b;
        s->b = a;
        s->c = s->a;
    }
}

// Makes one of all numbers that are the same. Returns the nodes and outputs as
// they were; NULL: no memory, and nothing was done.
static adx_node *adx_join_equal(adx_program *q, bool used[])
{
    const ad_allocator *a = q->memory;
    int bits = 8;
    while ((size_t)1 << bits < 2 * q->numbers)
        bits++;
    size_t outputs = (q->outputs * sizeof *q->output + sizeof *q->node - 1)
                   / sizeof *q->node;
    adx_node *was = (adx_node *)adx_take(a, q->nodes + outputs, sizeof *was);
    uint32_t *as = (uint32_t *)adx_take(a, q->numbers, sizeof *as);
    uint32_t *table = (uint32_t *)adx_take(a, (size_t)1 << bits, sizeof *table);
    if (was != NULL && as != NULL && table != NULL) {
        memset(table, 0, ((size_t)1 << bits) * sizeof *table);
        memcpy(was, q->node, q->nodes * sizeof *was);
        memcpy(was + q->nodes, q->output, q->outputs * sizeof *q->output);
        for (uint32_t x = 0; x < q->numbers; x++) {
            bool input = q->from[x] == ADX_FROM_INPUT;
            if (!input && !adx_is_constant_number(q, x))
                adx_rename_reads(&q->node[q->from[x]], as);
            as[x] = input ? x : adx_first_equal(q, table, bits, x);
        }
        for (size_t i = 0; i < q->nodes; i++)
            if (q->node[i].op == ADX_OP_guard)
                adx_rename_reads(&q->node[i], as);
        for (size_t i = 0; i < q->outputs; i++)
            q->output[i] = as[q->output[i]];
        adx_find_used(q, used);
    } else {
        adx_drop(a, was);
        was = NULL;
    }
    adx_drop(a, as);
    adx_drop(a, table);
    return was;
}

// Undoes that.
static void adx_split_equal(adx_program *q, adx_node *was, bool used[])
{
    memcpy(q->node, was, q->nodes * sizeof *was);
    memcpy(q->output, was + q->nodes, q->outputs * sizeof *q->output);
    adx_drop(q->memory, was);
    adx_find_used(q, used);
}

/* --- symbols ------------------------------------------------------------- */

enum { ADX_CLASS_RESULT, ADX_CLASS_CONSTANT, ADX_CLASS_INPUT };

// What kind of number x is: a result, a constant, or an element of one of the
// arrays of inputs.
static unsigned adx_class_of(const adx_writing *k, uint32_t x)
{
    uint32_t at;
    if (adx_is_constant_number(k->p, x))
        return ADX_CLASS_CONSTANT;
    if (k->p->from[x] != ADX_FROM_INPUT)
        return ADX_CLASS_RESULT;
    const char *array = adx_input_array(k, x, &at);
    unsigned which = ADX_CLASS_INPUT;
    for (int i = 0; i < ADX_ARRAYS && k->array[i] != array; i++)
        which++;
    return which;
}

// How many numbers a node reads that may vary from instance to instance.
static int adx_varying(const adx_node *s)
{
    return s->op == ADX_OP_guard ? 1 : adx_row_of(s->op)->arity;
}

static uint32_t adx_read_by(const adx_node *s, int which)
{
    return which == 0 ? s->a : which == 1 ? s->b : s->c;
}

static uint64_t adx_symbol_of(const adx_writing *k, const adx_node *s)
{
    uint64_t symbol = s->op;
    for (int i = 0; i < adx_varying(s); i++)
        symbol |= (uint64_t)adx_class_of(k, adx_read_by(s, i)) << (8 + 4 * i);
    if (s->op == ADX_OP_guard)
        symbol |= (uint64_t)s->b << 24;
    return symbol;
}

// Another order of the used nodes than that of the program.
typedef struct adx_order {
    uint32_t *node;             // [used nodes]
    uint64_t *symbol;           // [nodes]
} adx_order;

static void adx_free_order(const ad_allocator *a, adx_order *order)
{
    adx_drop(a, order->node);
    adx_drop(a, order->symbol);
}

// Entry `at` of the sequence: which node it is, and its symbol. `next`: the
// used node that it is in the order of the program; order NULL: in this one.
static size_t adx_ordered_node(const adx_order *order, size_t at, size_t next)
{
    return order == NULL ? next : order->node[at];
}

static uint64_t adx_ordered_symbol(const adx_writing *k, const adx_order *order,
                                   size_t node)
{
    return order == NULL ? adx_symbol_of(k, &k->p->node[node])
                         : order->symbol[node];
}

// alike: what makes the output does not matter.
static uint64_t adx_output_symbol(const adx_writing *k, const adx_rolled *r,
                                  size_t output, bool alike)
{
    uint32_t x = k->p->output[output];
    unsigned which = adx_class_of(k, x);
    uint64_t leaf = which == ADX_CLASS_RESULT && !alike
                  ? r->leaf_of[r->entry_of[k->p->from[x]]] : 0;
    bool second = output >= k->results->length[0];
    return (uint64_t)1 << 62 | leaf << 8 | (uint64_t)which << 1 | second;
}

/* --- whether anything repeats ----------------------------------------------
 * A run that saves ADX_ROLL_LEAST statements is as long as that, or longer, and
 * the same as what comes a period before. So ADX_ROLL_AGAIN pieces of
 * ADX_ROLL_WINDOW symbols that end at multiples of ADX_ROLL_STEP come again,
 * somewhere behind. Programs that have fewer are left alone after one walk.
 * (So rsync finds blocks of a file at any place of another one: Tridgell,
 * Efficient Algorithms for Sorting and Synchronization, 1999.)               */

#define ADX_ROLL_WINDOW 64
#define ADX_ROLL_STEP 16
#define ADX_ROLL_AGAIN ((ADX_ROLL_LEAST - ADX_ROLL_WINDOW) / ADX_ROLL_STEP - 2)
#define ADX_ROLL_MULTIPLIER 0xd1342543de82ef95u

typedef struct adx_sampling {
    uint32_t *met;              // [2^bits] hashes of pieces; 0: none
    int bits;                   // of the size of the table
    uint64_t last[ADX_ROLL_WINDOW]; // the latest symbols, a ring
    uint64_t hash;              // of these
    uint64_t oldest;            // factor of the symbol that falls out
    size_t n, again;            // symbols so far; hashes that were met before
} adx_sampling;

static uint64_t adx_symbol_hash(uint64_t symbol)
{
    uint64_t mixed = (symbol + 1) * 0x9e3779b97f4a7c15u;
    return mixed ^ mixed >> 29;
}

// Takes the next symbol into the hash of the latest ones, which rolls on (Karp
// & Rabin), and counts it if this hash has been met.
static void adx_sample(adx_sampling *s, uint64_t symbol)
{
    uint64_t *bucket = &s->last[s->n++ % ADX_ROLL_WINDOW];
    s->hash = s->hash * ADX_ROLL_MULTIPLIER + adx_symbol_hash(symbol)
            - *bucket * s->oldest;
    *bucket = adx_symbol_hash(symbol);
    uint64_t key = s->hash * 0x9e3779b97f4a7c15u;
    uint32_t *met = &s->met[key >> (64 - s->bits)];
    s->again += *met == (uint32_t)key;
    if (s->n % ADX_ROLL_STEP == 0)
        *met = (uint32_t)key;
}

// Whether loops may pay, in the order of the program (NULL) or in another one.
// false with `failed`: no memory. (Array nodes read ranges, whose places are
// decided elsewhere: with them there are no other loops.)
static bool adx_may_repeat(const adx_writing *k, const adx_order *order,
                           bool *failed)
{
    const adx_program *p = k->p;
    adx_sampling s = { .bits = 8, .oldest = 1 };
    *failed = false;
    if (p->manys > 0 || p->nodes < 2 * ADX_ROLL_LEAST
        || p->nodes + p->outputs >= UINT32_MAX / 2)
        return false;
    while ((size_t)1 << s.bits < p->nodes / 2)
        s.bits++;
    for (int i = 0; i < ADX_ROLL_WINDOW; i++)
        s.oldest *= ADX_ROLL_MULTIPLIER;
    const size_t room = (size_t)1 << s.bits;
    s.met = (uint32_t *)adx_take(p->memory, room, sizeof *s.met);
    *failed = s.met == NULL;
    if (*failed)
        return false;
    memset(s.met, 0, room * sizeof *s.met);
    for (size_t i = 0, at = 0; i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], k->used))
            adx_sample(&s, adx_ordered_symbol(
                           k, order, adx_ordered_node(order, at++, i)));
    adx_drop(p->memory, s.met);
    return s.again >= ADX_ROLL_AGAIN;
}

/* --- runs ---------------------------------------------------------------- */

// A sequence while runs are looked for.
typedef struct adx_folding {
    adx_rolled *r;
    const uint32_t *from;       // [n] items
    size_t n;
    size_t low;                 // the sequence from here on is not folded yet
    uint64_t *hash;             // [n + 1] of the first so many symbols
    uint64_t *power;            // [n + 1]
    uint32_t *text;             // [n + 1] statements of the first so many items
    uint32_t *met[ADX_ROLL_WIDTHS];     // 1 + where; 0: nowhere
    int bits;                   // of a place in such a table
    size_t period, count;       // of the run that was found
} adx_folding;

static uint64_t adx_roll_hash(const adx_folding *f, size_t at, size_t n)
{
    return f->hash[at + n] - f->hash[at] * f->power[n];
}

// Prefix sums of hashes, powers and lengths of text, and empty tables. False:
// no memory.
static bool adx_begin_folding(adx_folding *f, const ad_allocator *a)
{
    bool ok = true;
    f->bits = 8;
    while ((size_t)1 << f->bits < 2 * f->n)
        f->bits++;
    f->hash = (uint64_t *)adx_take(a, f->n + 1, sizeof *f->hash);
    f->power = (uint64_t *)adx_take(a, f->n + 1, sizeof *f->power);
    f->text = (uint32_t *)adx_take(a, f->n + 1, sizeof *f->text);
    for (int i = 0; i < ADX_ROLL_WIDTHS; i++) {
        size_t size = (size_t)1 << f->bits;
        f->met[i] = (uint32_t *)adx_take(a, size, sizeof **f->met);
        ok = ok && f->met[i] != NULL;
        if (ok)
            memset(f->met[i], 0, size * sizeof **f->met);
    }
    if (!ok || f->hash == NULL || f->power == NULL || f->text == NULL)
        return false;
    f->hash[0] = 0;
    f->power[0] = 1;
    f->text[0] = 0;
    for (size_t i = 0; i < f->n; i++) {
        const adx_item *item = &f->r->item[f->from[i]];
        f->hash[i + 1] = f->hash[i] * ADX_ROLL_MULTIPLIER
                       + adx_symbol_hash(item->symbol);
        f->power[i + 1] = f->power[i] * ADX_ROLL_MULTIPLIER;
        f->text[i + 1] = f->text[i] + item->text;
    }
    return true;
}

static void adx_end_folding(adx_folding *f, const ad_allocator *a)
{
    adx_drop(a, f->hash);
    adx_drop(a, f->power);
    adx_drop(a, f->text);
    for (int i = 0; i < ADX_ROLL_WIDTHS; i++)
        adx_drop(a, f->met[i]);
}

// How often the piece of p symbols before i comes, one after another, as far as
// hashes say.
static size_t adx_count_folds(const adx_folding *f, size_t i, size_t p)
{
    size_t count = 1;
    uint64_t piece = adx_roll_hash(f, i - p, p);
    for (size_t at = i; at + p <= f->n && adx_roll_hash(f, at, p) == piece;
         at += p)
        count++;
    return count;
}

// Whether that is so, symbol by symbol.
static bool adx_are_pieces(const adx_folding *f, size_t i, size_t p,
                           size_t count)
{
    const adx_item *item = f->r->item;
    for (size_t at = i; at < i + (count - 1) * p; at++)
        if (item[f->from[at]].symbol != item[f->from[at - p]].symbol)
            return false;
    return true;
}

// Whether a run begins that has its second piece at i: the one that saves most.
static bool adx_find_folds(adx_folding *f, size_t i)
{
    size_t best = 0;
    size_t tried = 0;
    for (int w = 0; w < ADX_ROLL_WIDTHS; w++) {
        size_t width = (size_t)1 << 2 * w;
        if (i + width > f->n)
            break;
        uint64_t key = adx_roll_hash(f, i, width) * 0x9e3779b97f4a7c15u;
        uint32_t *met = &f->met[w][key >> (64 - f->bits)];
        size_t before = *met;
        *met = (uint32_t)i + 1;
        size_t p = i + 1 - before;
        if (before == 0 || before - 1 < f->low || p == tried)
            continue;
        tried = p;
        size_t count = adx_count_folds(f, i, p);
        size_t saves = (count - 1) * (f->text[i] - f->text[i - p]);
        if (count > 2 && saves >= ADX_ROLL_LEAST && saves > best
            && adx_are_pieces(f, i, p, count)) {
            best = saves;
            f->period = p;
            f->count = count;
        }
    }
    return best > 0;
}

static uint32_t adx_new_item(const ad_allocator *a, adx_rolled *r,
                             adx_item item)
{
    if (r->failed || !adx_make_room_for(a, (void **)&r->item, &r->item_room,
                                        r->items, sizeof *r->item)) {
        r->failed = true;
        return 0;
    }
    r->item[r->items] = item;
    return (uint32_t)r->items++;
}

static void adx_enter_item(const ad_allocator *a, adx_rolled *r, uint32_t item)
{
    if (r->failed || !adx_make_room_for(a, (void **)&r->list, &r->list_room,
                                        r->listed, sizeof *r->list)) {
        r->failed = true;
        return;
    }
    r->list[r->listed++] = item;
}

// Loops with the same bodies have the same symbol. One that is like none of the
// last few is taken for a new one.
static uint64_t adx_loop_symbol(const adx_rolled *r, const adx_item *loop)
{
    for (size_t back = 1, seen = 0; back < r->items && seen < 64; back++) {
        const adx_item *other = &r->item[r->items - back];
        if (other->count == 1)
            break;              // loops are behind all statements
        seen++;
        bool same = other->count == loop->count && other->items == loop->items;
        for (size_t i = 0; same && i < loop->items; i++)
            same = r->item[r->list[other->body + i]].symbol
                == r->item[r->list[loop->body + i]].symbol;
        if (same)
            return other->symbol;
    }
    return (uint64_t)1 << 63 | r->items;
}

// The run of f->count pieces, the first of which is at `begin`, as an item.
static uint32_t adx_new_loop(const ad_allocator *a, adx_folding *f,
                             size_t begin)
{
    adx_rolled *r = f->r;
    adx_item loop = { .first = r->item[f->from[begin]].first,
                      .count = (uint32_t)f->count, .body = (uint32_t)r->listed,
                      .items = (uint32_t)f->period };
    for (size_t i = begin; i < begin + f->period; i++) {
        loop.entries += r->item[f->from[i]].entries * (uint32_t)f->count;
        loop.text += r->item[f->from[i]].text;
        adx_enter_item(a, r, f->from[i]);
    }
    if (r->failed)
        return 0;
    loop.symbol = adx_loop_symbol(r, &loop);
    r->loops++;
    return adx_new_item(a, r, loop);
}

// Folds a sequence in place; returns its new length. (What is folded is never
// longer than what it comes from.)
static size_t adx_fold(const ad_allocator *a, adx_rolled *r, uint32_t *from,
                       size_t n)
{
    adx_folding f = { .r = r, .from = from, .n = n };
    size_t to = 0;
    bool ok = adx_begin_folding(&f, a);
    r->failed = r->failed || !ok;
    for (size_t i = 0; ok && i < n; i++) {
        if (!adx_find_folds(&f, i))
            continue;
        size_t begin = i - f.period;
        while (f.low < begin)
            from[to++] = from[f.low++];
        from[to++] = adx_new_loop(a, &f, begin);
        f.low = begin + f.count * f.period;
        i = f.low - 1;
    }
    while (ok && f.low < n)
        from[to++] = from[f.low++];
    adx_end_folding(&f, a);
    return ok ? to : n;
}

// As often as it helps, and as deep as loops may be.
static size_t adx_fold_again(const ad_allocator *a, adx_rolled *r,
                             uint32_t *from, size_t n)
{
    for (int depth = 0; depth < ADX_ROLL_DEPTH && !r->failed; depth++) {
        size_t loops = r->loops;
        n = adx_fold(a, r, from, n);
        if (r->loops == loops)
            break;
    }
    return n;
}

/* --- leaves -------------------------------------------------------------- */

static uint32_t adx_entry_at(const adx_looped *leaf, const uint32_t t[])
{
    uint32_t at = leaf->first;
    for (uint32_t l = 0; l < leaf->depth; l++)
        at += t[l] * leaf->stride[l];
    return at;
}

// The next t[] in the order of instances, with t[l] in low[l] .. high[l];
// false: there is none.
static bool adx_next_instance(uint32_t depth, uint32_t t[],
                              const uint32_t low[], const uint32_t high[])
{
    for (uint32_t l = depth; l-- > 0;) {
        if (++t[l] < high[l])
            return true;
        t[l] = low[l];
    }
    return false;
}

// Says of all instances of a statement which they are.
static void adx_number_instances(adx_rolled *r, uint32_t leaf)
{
    const adx_looped *f = &r->leaf[leaf];
    static const uint32_t none[ADX_ROLL_DEPTH];
    uint32_t t[ADX_ROLL_DEPTH] = { 0 };
    uint32_t index = 0;
    do {
        uint32_t at = adx_entry_at(f, t);
        r->leaf_of[at] = leaf;
        r->index_of[at] = index++;
    } while (adx_next_instance(f->depth, t, none, f->count));
}

// Makes the leaves of an item that is in the loops of `in`, which are fewer
// than ADX_ROLL_DEPTH if it is a loop.
static void adx_make_leaves(const ad_allocator *a, adx_rolled *r, uint32_t item,
                            const adx_looped *in)
{
    adx_item *s = &r->item[item];
    adx_looped leaf = *in;
    if (s->count > 1) {
        leaf.loop[leaf.depth] = item;
        leaf.count[leaf.depth] = s->count;
        leaf.stride[leaf.depth] = s->entries / s->count;
        leaf.depth++;
        leaf.instances *= s->count;
        r->written++;
        for (uint32_t i = 0; i < s->items && !r->failed; i++)
            adx_make_leaves(a, r, r->list[s->body + i], &leaf);
        return;
    }
    if (leaf.depth == 0) {
        r->index_of[s->first] = r->leaf[0].instances++;
        return;
    }
    if (!adx_make_room_for(a, (void **)&r->leaf, &r->leaf_room, r->leaves,
                           sizeof *r->leaf)) {
        r->failed = true;
        return;
    }
    leaf.first = s->first;
    s->leaf = (uint32_t)r->leaves;
    r->leaf[r->leaves++] = leaf;
    adx_number_instances(r, s->leaf);
}

/* --- a whole program ----------------------------------------------------- */

// Room for all entries, and leaf 0, to which everything belongs at first. NULL:
// no memory.
static adx_rolled *adx_begin_rolled(const adx_writing *k)
{
    const adx_program *p = k->p;
    const ad_allocator *a = p->memory;
    adx_rolled *r = (adx_rolled *)adx_take(a, 1, sizeof *r);
    if (r == NULL)
        return NULL;
    *r = (adx_rolled){ .leaves = 1 };
    size_t most = p->nodes + p->outputs;
    r->root = (uint32_t *)adx_take(a, most, sizeof *r->root);
    r->entry = (uint32_t *)adx_take(a, most, sizeof *r->entry);
    r->leaf_of = (uint32_t *)adx_take(a, most, sizeof *r->leaf_of);
    r->index_of = (uint32_t *)adx_take(a, most, sizeof *r->index_of);
    r->section_of = (uint32_t *)adx_take(a, most, sizeof *r->section_of);
    r->entry_of = (uint32_t *)adx_take(a, p->nodes, sizeof *r->entry_of);
    r->constant = (uint32_t *)adx_take(a, p->numbers, sizeof *r->constant);
    r->constant_at = (uint32_t *)adx_take(a, p->numbers,
                                          sizeof *r->constant_at);
    r->failed = r->root == NULL || r->entry == NULL || r->leaf_of == NULL
             || r->index_of == NULL || r->section_of == NULL
             || r->entry_of == NULL || r->constant == NULL
             || r->constant_at == NULL
             || !adx_make_room_for(a, (void **)&r->leaf, &r->leaf_room, 0,
                                   sizeof *r->leaf);
    if (!r->failed) {
        r->leaf[0] = (adx_looped){ .instances = 0 };
        memset(r->leaf_of, 0, most * sizeof *r->leaf_of);
        memset(r->constant_at, 0, p->numbers * sizeof *r->constant_at);
    }
    return r;
}

// Outputs that are in no loop yet, in whichever order they were computed: their
// places in work become a table. As single statements they would be a C
// function as long as they are many, which takes compilers a time that grows
// with the square of that. Each loop gets a symbol of its own, for it must not
// be folded: it may be as deep as loops may be.
static size_t adx_fold_alike(const adx_writing *k, adx_rolled *r,
                             uint32_t *from, size_t n)
{
    for (size_t i = 0; i < n && !r->failed; i++) {
        adx_item *s = &r->item[from[i]];
        s->symbol = s->count > 1
                  ? (uint64_t)1 << 63 | from[i]
                  : adx_output_symbol(k, r, r->entry[s->first], true);
    }
    return adx_fold(k->p->memory, r, from, n);
}

// Folds the statements of a sequence, from entry `begin` on, and makes their
// leaves.
static void adx_fold_entries(const adx_writing *k, adx_rolled *r, size_t begin)
{
    const ad_allocator *a = k->p->memory;
    uint32_t *from = r->root + r->roots;
    size_t n = adx_fold_again(a, r, from, r->entries - begin);
    static const adx_looped none = { .instances = 1 };
    if (begin > 0 && !r->failed)
        n = adx_fold_alike(k, r, from, n);
    for (size_t i = 0; i < n && !r->failed; i++)
        adx_make_leaves(a, r, from[i], &none);
    r->roots += n;
}

static uint32_t adx_new_statement(const ad_allocator *a, adx_rolled *r,
                                  uint64_t symbol, size_t what)
{
    r->entry[r->entries] = (uint32_t)what;
    return adx_new_item(a, r, (adx_item){ .symbol = symbol, .count = 1,
                                          .first = (uint32_t)r->entries++,
                                          .entries = 1, .text = 1 });
}

// Makes a statement of each used node, in the given order, and folds what
// repeats.
static void adx_roll_nodes(const adx_writing *k, adx_rolled *r,
                           const adx_order *order)
{
    const adx_program *p = k->p;
    for (size_t i = 0; i < p->nodes && !r->failed; i++) {
        if (!adx_is_used(p, &p->node[i], k->used))
            continue;
        size_t at = r->entries;
        size_t node = adx_ordered_node(order, at, i);
        r->entry_of[node] = (uint32_t)at;
        r->root[at] = adx_new_statement(
            p->memory, r, adx_ordered_symbol(k, order, node), node);
    }
    r->nodes = r->entries;
    if (!r->failed)
        adx_fold_entries(k, r, 0);
}

// The items of a program's nodes and outputs; without outputs if there are no
// loops. NULL: no memory.
static adx_rolled *adx_roll(const adx_writing *k, const adx_order *order)
{
    const adx_program *p = k->p;
    const ad_allocator *a = p->memory;
    adx_rolled *r = adx_begin_rolled(k);
    if (r == NULL)
        return NULL;
    if (!r->failed)
        adx_roll_nodes(k, r, order);
    for (size_t i = 0; i < p->outputs && !r->failed && r->loops > 0; i++)
        r->root[r->roots + i] =
            adx_new_statement(a, r, adx_output_symbol(k, r, i, false), i);
    if (!r->failed && r->loops > 0)
        adx_fold_entries(k, r, r->nodes);
    if (!r->failed)
        return r;
    adx_free_rolled(a, r);
    return NULL;
}

ADX_SELDOM_END

/* === code/order =============================================================
 * Another order of a program's nodes, in which more of them repeat. A number
 * that is computed once and read in many iterations spoils the iteration that
 * computes it: that one is not like the others. So nodes are put into the order
 * of levels: a node has the level behind the highest one of its arguments.
 * Within a level they are sorted by their symbols, and then by the places of
 * their arguments, so that loops go through arrays in order.
 *
 * A sum is a chain: each node reads the one before, which nobody else reads.
 * Its nodes stay together, behind all that they read, as one unit of the order;
 * chains of the same length follow one another. Guards, which nobody reads,
 * come last, in their own order.
 *
 * Every number is computed from the same numbers as before, so the bits are the
 * same. What suffers is locality: more numbers have to be in work.
 *
 *   needs   tape/memory function/program function/copy code/layout
 *           code/repeats
 *   offers  adx_order_by_levels
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Arrays have an element for each node, used or not, unless said otherwise.
typedef struct adx_reordering {
    adx_program *p;
    const bool *used;
    uint64_t *symbol;
    uint32_t *head;             // the first node of its chain; itself: of none
    uint32_t *length;           // of the chain that begins there
    uint32_t *level;            // of the chain that begins there; from 1 on
    uint32_t *rank;             // [numbers] place of what makes it
    uint32_t *readers;          // [numbers] how many nodes read it
    uint32_t *node;             // [n] the order
    uint32_t *other;            // [n] for sorting
    size_t n;
    uint32_t levels;            // the highest one, which is that of guards
} adx_reordering;

static bool adx_begin_ordering(adx_reordering *o)
{
    const adx_program *p = o->p;
    const ad_allocator *a = p->memory;
    uint32_t **const arrays[] = { &o->head, &o->length, &o->level };
    bool ok = true;
    for (size_t i = 0; i < p->nodes; i++)
        o->n += adx_is_used(p, &p->node[i], o->used);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = (uint32_t *)adx_take(a, p->nodes, sizeof **arrays[i]);
        ok = ok && *arrays[i] != NULL;
    }
    o->symbol = (uint64_t *)adx_take(a, p->nodes, sizeof *o->symbol);
    o->rank = (uint32_t *)adx_take(a, p->numbers, sizeof *o->rank);
    o->readers = (uint32_t *)adx_take(a, p->numbers, sizeof *o->readers);
    o->node = (uint32_t *)adx_take(a, o->n, sizeof *o->node);
    o->other = (uint32_t *)adx_take(a, o->n, sizeof *o->other);
    return ok && o->symbol != NULL && o->rank != NULL && o->readers != NULL
        && o->node != NULL && o->other != NULL;
}

static void adx_end_ordering(adx_reordering *o)
{
    const ad_allocator *a = o->p->memory;
    adx_drop(a, o->head);
    adx_drop(a, o->length);
    adx_drop(a, o->level);
    adx_drop(a, o->rank);
    adx_drop(a, o->readers);
    adx_drop(a, o->other);
}

/* --- chains and levels ---------------------------------------------------- */

static void adx_count_readers(adx_reordering *o)
{
    const adx_program *p = o->p;
    memset(o->readers, 0, p->numbers * sizeof *o->readers);
    for (size_t i = 0; i < p->nodes; i++)
        for (int a = 0; adx_is_used(p, &p->node[i], o->used)
                        && a < adx_varying(&p->node[i]); a++)
            o->readers[adx_read_by(&p->node[i], a)]++;
}

// Whether x is what node i goes on with.
static bool adx_is_link(const adx_reordering *o, size_t i, uint32_t x)
{
    uint32_t from = o->p->from[x];
    return from < ADX_FROM_INPUT && o->readers[x] == 1
        && o->symbol[from] == o->symbol[i];
}

// Finds the chain that node i goes on with. Where the order of arguments makes
// no difference, that is then its first one.
static void adx_find_chain(adx_reordering *o, size_t i)
{
    adx_node *s = &o->p->node[i];
    o->head[i] = (uint32_t)i;
    o->length[i] = 1;
    o->level[i] = 1;
    if (s->op == ADX_OP_guard)
        return;
    if (adx_commutes(s->op) && !adx_is_link(o, i, s->a)
        && adx_is_link(o, i, s->b)) {
        uint32_t a = s->a;
        s->a = s->b;
        s->b = a;
        s->c = s->a;
    }
    if (adx_is_link(o, i, s->a)) {
        o->head[i] = o->head[o->p->from[s->a]];
        o->length[o->head[i]]++;
    }
}

// Afterwards a link is another symbol than the node with which a chain begins.
static void adx_tell_links(adx_reordering *o)
{
    for (size_t i = 0; i < o->n; i++)
        if (o->head[o->node[i]] != o->node[i])
            o->symbol[o->node[i]] |= (uint64_t)1 << 61;
}

// Raises the level of node i, or of its chain, above that of an argument.
static void adx_raise_level(adx_reordering *o, size_t i, uint32_t x)
{
    uint32_t from = o->p->from[x];
    uint32_t *level = &o->level[o->head[i]];
    if (from >= ADX_FROM_INPUT || o->head[from] == o->head[i])
        return;
    if (*level <= o->level[o->head[from]])
        *level = o->level[o->head[from]] + 1;
    if (*level > o->levels)
        o->levels = *level;
}

// Finds the chain and the level of each node: a node's is one more than the
// highest of those that it reads outside of its chain. Guards have the last
// level of all.
static void adx_find_levels(adx_reordering *o, const adx_writing *k)
{
    const adx_program *p = o->p;
    o->levels = 1;
    for (uint32_t x = 0; x < p->numbers; x++)
        o->rank[x] = x;
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        if (!adx_is_used(p, s, o->used))
            continue;
        o->symbol[i] = adx_symbol_of(k, s);
        adx_find_chain(o, i);
        for (int a = 0; s->op != ADX_OP_guard && a < adx_varying(s); a++)
            adx_raise_level(o, i, adx_read_by(s, a));
    }
    o->levels++;
    for (size_t i = 0; i < p->nodes; i++)
        if (p->node[i].op == ADX_OP_guard)
            o->level[i] = o->levels;
}

// Lists the nodes level by level: a stable counting sort. begin[] has a place
// for each level and two more; afterwards it is where the next level begins.
static void adx_fill_levels(adx_reordering *o, uint32_t begin[])
{
    const adx_program *p = o->p;
    memset(begin, 0, (o->levels + 2) * sizeof *begin);
    for (size_t i = 0; i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], o->used))
            begin[o->level[o->head[i]] + 1]++;
    for (uint32_t l = 0; l < o->levels; l++)
        begin[l + 1] += begin[l];
    for (size_t i = 0; i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], o->used))
            o->node[begin[o->level[o->head[i]]]++] = (uint32_t)i;
}

/* --- the nodes of a level ------------------------------------------------- */

// Whether node i comes before node j of the same level.
static bool adx_is_before(const adx_reordering *o, uint32_t i, uint32_t j)
{
    uint32_t first = o->head[i];
    uint32_t second = o->head[j];
    const adx_node *s = &o->p->node[first];
    const adx_node *t = &o->p->node[second];
    if (first == second || s->op == ADX_OP_guard)
        return i < j;
    if (o->symbol[first] != o->symbol[second])
        return o->symbol[first] < o->symbol[second];
    if (o->length[first] != o->length[second])
        return o->length[first] < o->length[second];
    for (int a = 0; a < adx_varying(s); a++) {
        uint32_t mine = o->rank[adx_read_by(s, a)];
        uint32_t its = o->rank[adx_read_by(t, a)];
        if (mine != its)
            return mine < its;
    }
    return first < second;
}

// Merges two sorted pieces of a level: [low, middle) and [middle, high).
static void adx_merge_nodes(adx_reordering *o, size_t low, size_t middle,
                            size_t high)
{
    size_t a = low;
    size_t b = middle;
    if (!adx_is_before(o, o->node[middle], o->node[middle - 1]))
        return;
    for (size_t to = low; to < high; to++)
        o->other[to] = b == high
                    || (a < middle && !adx_is_before(o, o->node[b], o->node[a]))
                     ? o->node[a++] : o->node[b++];
    memcpy(&o->node[low], &o->other[low], (high - low) * sizeof *o->node);
}

// Sorts the nodes of a level; those of lower levels have their places.
static void adx_sort_level(adx_reordering *o, size_t low, size_t high)
{
    for (size_t width = 1; width < high - low; width *= 2)
        for (size_t at = low; at + width < high; at += 2 * width)
            adx_merge_nodes(o, at, at + width, high - at < 2 * width
                            ? high : at + 2 * width);
    for (size_t i = low; i < high; i++) {
        const adx_node *s = &o->p->node[o->node[i]];
        if (s->op != ADX_OP_guard)
            o->rank[s->r] = (uint32_t)i;
    }
}

// Orders the used nodes of q by levels. Some of their arguments may have
// changed places then. false: no memory. For programs without array nodes.
static bool adx_order_by_levels(const adx_writing *k, adx_program *q,
                                adx_order *order)
{
    const ad_allocator *a = q->memory;
    adx_reordering o = { .p = q, .used = k->used };
    uint32_t *begin = NULL;
    if (adx_begin_ordering(&o)) {
        adx_count_readers(&o);
        adx_find_levels(&o, k);
        begin = (uint32_t *)adx_take(a, o.levels + 2, sizeof *begin);
    }
    if (begin != NULL) {
        adx_fill_levels(&o, begin);
        for (uint32_t l = 1; l <= o.levels; l++)
            adx_sort_level(&o, begin[l - 1], begin[l]);
        adx_tell_links(&o);
    }
    *order = (adx_order){ o.node, o.symbol };
    bool ok = begin != NULL;
    adx_drop(a, begin);
    adx_end_ordering(&o);
    return ok;
}

ADX_SELDOM_END

/* === code/access ============================================================
 * What the statements of loops read. In a block of its instances, which is a
 * range for each loop around it, a statement reads an argument in one of four
 * ways:
 *
 *   same      all instances read one number
 *   local     each reads what another statement of the same iteration, or of a
 *             loop around it, has just made: a variable
 *   carried   each reads what a statement of the iteration before has made: a
 *             variable that is set at the end of an iteration
 *   array     each reads an element of `work`, of an array of inputs or of that
 *             of the constants that loops read. The index is linear in the
 *             loop variables, plus an element of a table where it is not; or,
 *             in one loop where that is less text, a variable to which each
 *             iteration adds an element of a table of differences
 *
 * All instances are looked at, so that a loop is right whatever was found.
 * Where arguments come from elsewhere in the first or last iterations, the loop
 * is cut there, and its body written again, so that tables are rare.
 *
 *   needs   function/program code/text code/layout code/statements
 *           code/repeats
 *   offers  ADX_ROLL_same ADX_ROLL_local ADX_ROLL_carried ADX_ROLL_array
 *           adx_roll_read adx_roll_box ADX_READS_GUARD ADX_READS_OUTPUT
 *           adx_loop_name adx_argument_letter adx_say_margin adx_node_at
 *           adx_read_at adx_reads_of adx_is_result adx_name_of adx_access_of
 *           adx_cuts adx_find_cuts adx_roll_index adx_roll_stream
 *           adx_declare_table adx_declare_walk adx_say_stream
 * ========================================================================== */

ADX_SELDOM_BEGIN

#define ADX_CUTS 6              // of one loop at most
#define ADX_CUTS_OF_ONE 3       // of one argument; with more it gets a table

typedef enum adx_roll_way {
    ADX_ROLL_same, ADX_ROLL_local, ADX_ROLL_carried, ADX_ROLL_array
} adx_roll_way;

typedef struct adx_roll_read {
    adx_roll_way way;
    uint32_t leaf;              // that makes it: local, carried
    uint32_t number;            // that the first instance reads
} adx_roll_read;

typedef struct adx_roll_box {
    uint32_t depth;
    uint32_t low[ADX_ROLL_DEPTH], high[ADX_ROLL_DEPTH];
} adx_roll_box;

// What varies besides the three arguments: which guard, and which output.
enum { ADX_READS_GUARD = 3, ADX_READS_OUTPUT = 4 };

static const char *const adx_loop_name[ADX_ROLL_DEPTH] = { "i", "j", "l" };
static const char adx_argument_letter[] = "xyz";

// Begins a line: `deep` loops are around it.
static void adx_say_margin(const adx_writing *k, uint32_t deep)
{
    adx_say(k->text, "%*s", 4 + 8 * (int)deep, "");
}

/* --- what instances read -------------------------------------------------- */

static const adx_node *adx_node_at(const adx_writing *k, uint32_t entry)
{
    return entry >= k->rolled->nodes ? NULL
         : &k->p->node[k->rolled->entry[entry]];
}

static uint32_t adx_read_at(const adx_writing *k, uint32_t entry, int which)
{
    const adx_node *s = adx_node_at(k, entry);
    return s == NULL ? k->p->output[k->rolled->entry[entry]]
                     : adx_read_by(s, which);
}

// How many arguments the statement of a leaf has.
static int adx_reads_of(const adx_writing *k, const adx_looped *f)
{
    const adx_node *s = adx_node_at(k, f->first);
    return s == NULL ? 1 : adx_varying(s);
}

static bool adx_is_result(const adx_writing *k, uint32_t x)
{
    return k->p->from[x] < ADX_FROM_INPUT;
}

// The number of a leaf's first instance, which is in the names of variables.
static uint32_t adx_name_of(const adx_writing *k, const adx_looped *f)
{
    const adx_node *s = adx_node_at(k, f->first);
    return s == NULL ? f->first : s->op == ADX_OP_guard ? s->c : s->r;
}

// Whether x is what one statement makes in the same iteration as instance t[]
// of f, or in the one before. The statement is in the same loops, or in some of
// the outer ones; *leaf is which, or 0 if this is the first question.
static bool adx_is_made_beside(const adx_writing *k, const adx_looped *f,
                               const uint32_t t[], uint32_t x, bool before,
                               uint32_t *leaf)
{
    const adx_rolled *r = k->rolled;
    uint32_t at[ADX_ROLL_DEPTH];
    if (!adx_is_result(k, x))
        return false;
    uint32_t entry = r->entry_of[k->p->from[x]];
    uint32_t made = r->leaf_of[entry];
    const adx_looped *g = &r->leaf[made];
    if (made == 0 || (*leaf != 0 && made != *leaf) || g->depth > f->depth
        || (before && g->depth < f->depth)
        || memcmp(g->loop, f->loop, g->depth * sizeof *g->loop) != 0)
        return false;
    *leaf = made;
    memcpy(at, t, sizeof at);
    at[f->depth - 1] -= before;
    return adx_entry_at(g, at) == entry;
}

// How the instances of a box read an argument: all the same number; each a
// number of its own iteration (local) or of the iteration before (carried),
// which is a variable then; or else from an array. What is carried into the
// first iteration must itself be no local variable of the same loop.
static adx_roll_read adx_access_of(const adx_writing *k, const adx_looped *f,
                                   int which, const adx_roll_box *b)
{
    uint32_t t[ADX_ROLL_DEPTH];
    uint32_t last = f->depth - 1;
    uint32_t beside = 0;
    uint32_t before = 0;
    memcpy(t, b->low, sizeof t);
    uint32_t first = adx_read_at(k, adx_entry_at(f, t), which);
    bool same = true;
    bool local = true;
    bool carried = b->high[last] - b->low[last] > 1;
    do {
        uint32_t x = adx_read_at(k, adx_entry_at(f, t), which);
        same = same && x == first;
        local = local && adx_is_made_beside(k, f, t, x, false, &beside);
        carried = carried
               && (t[last] == b->low[last]
                   || adx_is_made_beside(k, f, t, x, true, &before));
    } while ((same || local || carried)
             && adx_next_instance(f->depth, t, b->low, b->high));
    if (carried && !same && !local) {
        adx_roll_box begin = *b;   // what is carried into the first iteration
        begin.high[last] = begin.low[last] + 1;
        adx_roll_read in = adx_access_of(k, f, which, &begin);
        carried = in.way != ADX_ROLL_local
               || k->rolled->leaf[in.leaf].depth < f->depth;
    }
    return (adx_roll_read){ local ? ADX_ROLL_local : same ? ADX_ROLL_same
                         : carried ? ADX_ROLL_carried : ADX_ROLL_array,
                         local ? beside : before, first };
}

/* --- where loops are cut -------------------------------------------------- */

// Where an argument comes from, as far as one loop is concerned.
typedef struct adx_origin {
    uint64_t array;             // a number of the array, or of the statement
    long index;                 // in it; of a statement its instance
    bool carried;               // made by the iteration before
} adx_origin;

// Where instance t reads an argument. Instances with the same array, whose
// indices differ by the same stride, can be in one loop.
static adx_origin adx_origin_of(const adx_writing *k, const adx_looped *f,
                                const uint32_t t[], uint32_t level, int which)
{
    const adx_rolled *r = k->rolled;
    uint32_t x = adx_read_at(k, adx_entry_at(f, t), which);
    uint32_t at = 0;
    uint32_t leaf = 0;
    unsigned class = adx_class_of(k, x);
    if (class == ADX_CLASS_CONSTANT)
        return (adx_origin){ (uint64_t)1 << 40 | x, 0, false };
    if (class != ADX_CLASS_RESULT) {
        (void)adx_input_array(k, x, &at);
        return (adx_origin){ (uint64_t)class << 40, (long)at, false };
    }
    if (adx_is_made_beside(k, f, t, x, false, &leaf))
        return (adx_origin){ (uint64_t)20 << 40 | leaf, 0, false };
    leaf = 0;
    if (level + 1 == f->depth && t[level] > 0
        && adx_is_made_beside(k, f, t, x, true, &leaf))
        return (adx_origin){ (uint64_t)21 << 40 | leaf, 0, true };
    uint32_t entry = r->entry_of[k->p->from[x]];
    return (adx_origin){ (uint64_t)22 << 40 | r->leaf_of[entry],
                         (long)r->index_of[entry], false };
}

typedef struct adx_cuts {
    uint32_t at[ADX_CUTS];
    size_t n;
    bool many;                  // more than there is room for
} adx_cuts;

static void adx_add_cut(adx_cuts *c, uint32_t at)
{
    size_t i = 0;
    while (i < c->n && c->at[i] < at)
        i++;
    if (i < c->n && c->at[i] == at)
        return;
    if (c->n == ADX_CUTS) {
        c->many = true;
        return;
    }
    memmove(&c->at[i + 1], &c->at[i], (c->n - i) * sizeof *c->at);
    c->at[i] = at;
    c->n++;
}

// Where an argument's origin breaks off along the loop of that level, in the
// middle of all other loops.
static void adx_cut_for(const adx_writing *k, const adx_looped *f,
                        const adx_roll_box *b, uint32_t level, int which,
                        adx_cuts *cuts)
{
    uint32_t t[ADX_ROLL_DEPTH] = { 0 };
    uint32_t found[ADX_CUTS_OF_ONE];
    size_t n = 0;
    uint32_t begin = 0;
    long stride = 0;
    adx_origin before = { 0, 0, false };
    for (uint32_t l = 0; l < f->depth; l++)
        t[l] = l < level ? (b->low[l] + b->high[l]) / 2 : f->count[l] / 2;
    for (t[level] = 0; t[level] < f->count[level]; t[level]++) {
        adx_origin now = adx_origin_of(k, f, t, level, which);
        bool other = now.array != before.array;
        uint32_t length = t[level] - begin;
        bool uneven = length > 1 && now.index - before.index != stride;
        if (length == 1 && other && now.carried)
            begin = t[level];   // what is carried in may come from anywhere
        else if (length > 0 && (other || uneven)) {
            if (n == ADX_CUTS_OF_ONE)
                return;
            found[n++] = begin = t[level];
        }
        stride = now.index - before.index;
        before = now;
    }
    for (size_t i = 0; i < n; i++)
        adx_add_cut(cuts, found[i]);
}

// Adds the cuts for all arguments of the statements within an item.
static void adx_cut_within(const adx_writing *k, uint32_t item,
                           const adx_roll_box *b, uint32_t level,
                           adx_cuts *cuts)
{
    const adx_item *s = &k->rolled->item[item];
    for (uint32_t i = 0; s->count > 1 && i < s->items; i++)
        adx_cut_within(k, k->rolled->list[s->body + i], b, level, cuts);
    const adx_looped *f = &k->rolled->leaf[s->leaf];
    for (int a = 0; s->count == 1 && a < adx_reads_of(k, f); a++)
        adx_cut_for(k, f, b, level, a, cuts);
}

// Where a loop is cut. Each cut writes its body once more, so there are none if
// that makes a long text of what the loop saves.
static adx_cuts adx_find_cuts(const adx_writing *k, uint32_t item,
                              const adx_roll_box *b)
{
    const adx_item *s = &k->rolled->item[item];
    adx_cuts cuts = { .n = 0 };
    adx_cut_within(k, item, b, b->depth, &cuts);
    if (cuts.many || (s->text > 64 && s->text * cuts.n > s->entries / 16))
        cuts.n = 0;
    return cuts;
}

/* --- indices -------------------------------------------------------------- */

// Numbers that the instances of a block have, one each: base + sum of stride[l]
// t[l], plus an element of a table that depends on the loops with `apart`. What
// stands in the table is no less than 0.
typedef struct adx_roll_index {
    const adx_writing *k;
    const adx_looped *leaf;
    const adx_roll_box *b;
    int which;                  // argument of the statement, or ADX_READS_...
    bool constants;             // indices of the array of constants
    long base;
    long stride[ADX_ROLL_DEPTH];
    bool apart[ADX_ROLL_DEPTH];
    bool table;                 // there is one: some `apart` is true
    bool walked;                // the table has differences
    long least, most;           // of what stands in the table, or of an index
                                // without its linear part
} adx_roll_index;

// The number that instance t has: the code of its guard, the place of its
// output, or the index of its argument.
static long adx_stream_at(const adx_roll_index *s, const uint32_t t[])
{
    const adx_writing *k = s->k;
    uint32_t entry = adx_entry_at(s->leaf, t);
    long at = 0;
    if (s->which == ADX_READS_GUARD)
        return (long)adx_node_at(k, entry)->c + 1;
    if (s->which == ADX_READS_OUTPUT) {
        size_t output = k->rolled->entry[entry];
        size_t first = k->results->length[0];
        return (long)(output < first ? output : output - first);
    }
    uint32_t x = adx_read_at(k, entry, s->which);
    if (s->constants)
        return (long)k->rolled->constant_at[x] - 1;
    (void)adx_array_with(k, x, &at);
    return at;
}

// What is left of an element without its linear part.
static long adx_rest_at(const adx_roll_index *s, const uint32_t t[])
{
    long rest = adx_stream_at(s, t);
    for (uint32_t l = 0; l < s->leaf->depth; l++)
        rest -= s->stride[l] * ((long)t[l] - (long)s->b->low[l]);
    return rest;
}

static size_t adx_digits_of(unsigned long number)
{
    size_t digits = 1;
    for (; number > 9; number /= 10)
        digits++;
    return digits;
}

// Of the elements of a list: bounds, and how much text they are.
typedef struct adx_list_bounds {
    long least, most;
    size_t text;
} adx_list_bounds;

static void adx_widen_bounds(adx_list_bounds *l, long element)
{
    l->least = element < l->least ? element : l->least;
    l->most = element > l->most ? element : l->most;
    l->text += element < 0 ? 2 + adx_digits_of(0ul - (unsigned long)element)
                           : 1 + adx_digits_of((unsigned long)element);
}

// Decides what stands in a table of indices, and finds its bounds. (In code
// that is compiled at once nothing is gained by less text, and a table of
// differences takes up to a fifth more time: each index waits for the one
// before.)
static void adx_find_bounds(adx_roll_index *s)
{
    uint32_t t[ADX_ROLL_DEPTH];
    memcpy(t, s->b->low, sizeof t);
    long before = adx_rest_at(s, t);
    size_t n = 0;
    adx_list_bounds rest = { before, before, 0 };
    adx_list_bounds walk = { 0, 0, 0 };
    if (s->table)
        do {
            const long now = adx_rest_at(s, t);
            adx_widen_bounds(&rest, now);
            adx_widen_bounds(&walk, now - before);
            before = now;
            n++;
        } while (adx_next_instance(s->leaf->depth, t, s->b->low, s->b->high));
    const size_t most = adx_digits_of((unsigned long)(rest.most - rest.least));
    s->walked = !s->k->text->loaded && s->leaf->depth == 1
             && walk.text < n * (most + 1);
    s->least = s->walked ? walk.least : rest.least;
    s->most = s->walked ? walk.most : rest.most;
}

// The indices that the instances of a box have for an argument. A loop whose
// index is no sum of strides has its rest in the table; what does not depend on
// it stays linear.
static adx_roll_index adx_roll_stream(const adx_writing *k, const adx_looped *f,
                                      const adx_roll_box *b, int which)
{
    adx_roll_index s = { .k = k, .leaf = f, .b = b, .which = which };
    uint32_t t[ADX_ROLL_DEPTH];
    memcpy(t, b->low, sizeof t);
    s.constants = which < ADX_READS_GUARD
               && adx_is_constant_number(k->p, adx_read_at(
                      k, adx_entry_at(f, t), which));
    s.base = adx_stream_at(&s, t);
    for (uint32_t l = 0; l < f->depth; l++)
        if (b->high[l] - b->low[l] > 1) {
            t[l]++;
            s.stride[l] = adx_stream_at(&s, t) - s.base;
            t[l]--;
        }
    do
        for (uint32_t l = 0; l < f->depth; l++) {
            uint32_t was = t[l];
            long rest = adx_rest_at(&s, t);
            t[l] = b->low[l];
            s.apart[l] = s.apart[l] || rest != adx_rest_at(&s, t);
            t[l] = was;
        }
    while (adx_next_instance(f->depth, t, b->low, b->high));
    for (uint32_t l = 0; l < f->depth; l++) {
        s.table = s.table || s.apart[l];
        s.stride[l] = s.apart[l] ? 0 : s.stride[l];
    }
    adx_find_bounds(&s);
    for (uint32_t l = 0; l < f->depth; l++)
        s.base -= s.stride[l] * (long)b->low[l];
    return s;
}

// Names what belongs to an argument: `12x`.
static void adx_say_stream_name(const adx_roll_index *s)
{
    adx_say(s->k->text, "%lu%c", (unsigned long)adx_name_of(s->k, s->leaf),
            s->which == ADX_READS_GUARD ? 'g'
            : s->which == ADX_READS_OUTPUT ? 'o'
            : adx_argument_letter[s->which]);
}

// Names a table: of the places of what an argument reads; `k12x`, or `q12x` for
// what is carried into a loop. In front of functions names also say
// which function, and where the block begins.
static void adx_say_table_name(const adx_roll_index *s, char before)
{
    bool apart = s->k->text->tables != ADX_TABLES_HERE;
    if (apart)
        adx_say(s->k->text, "%s_%s_", s->k->text->name, s->k->what);
    for (uint32_t l = 0; apart && l < s->leaf->depth; l++)
        adx_say(s->k->text, "%lu_", (unsigned long)s->b->low[l]);
    adx_say(s->k->text, "%c", before);
    adx_say_stream_name(s);
}

// Writes the elements of the table, as many in a line as fit; `b` has those
// instances that differ in it.
static void adx_say_table_elements(const adx_roll_index *s,
                                   const adx_roll_box *b)
{
    adx_text *text = s->k->text;
    uint32_t t[ADX_ROLL_DEPTH];
    size_t line = text->bytes;
    const char *before = "\n    ";
    memcpy(t, b->low, sizeof t);
    long last = s->walked ? adx_rest_at(s, t) : s->least;
    do {
        const long now = adx_rest_at(s, t);
        adx_put_text(text, before, strlen(before));
        adx_say_index(text, now < last ? "-" : "",
                      (size_t)(now < last ? last - now : now - last), "");
        last = s->walked ? now : last;
        bool full = text->bytes - line > ADX_LIST_WIDTH;
        before = full ? ",\n    " : ",";
        line = full ? text->bytes : line;
    } while (adx_next_instance(s->leaf->depth, t, b->low, b->high));
}

static const char *adx_element_type(const adx_roll_index *s)
{
    if (s->walked)
        return s->least >= -127 && s->most <= 127 ? "signed char"
             : s->least >= -32767 && s->most <= 32767 ? "short" : "long";
    return s->most - s->least <= 0xffff ? "unsigned short" : "long";
}

// Writes the table of an index as a constant array, for all loops with which it
// changes, even if text is muted: tables stand in front of it.
static void adx_put_table(const adx_roll_index *s, char before)
{
    adx_text *text = s->k->text;
    adx_roll_box b = *s->b;
    size_t n = 1;
    for (uint32_t l = 0; l < s->leaf->depth; l++) {
        if (!s->apart[l])
            b.high[l] = b.low[l] + 1;
        n *= b.high[l] - b.low[l];
    }
    bool muted = text->muted;
    text->muted = false;
    adx_say_margin(s->k, s->b->depth);
    adx_say(text, "%s%s ", adx_table_space(text), adx_element_type(s));
    adx_say_table_name(s, before);
    adx_say(text, "[%lu] = {", (unsigned long)n);
    adx_say_table_elements(s, &b);
    adx_say(text, "\n");
    adx_say_margin(s->k, s->b->depth);
    adx_say(text, "};\n");
    text->muted = muted;
}

// Writes the element of the table that belongs to an instance.
static void adx_say_from_table(const adx_roll_index *s, char before)
{
    adx_text *text = s->k->text;
    bool first = true;
    adx_say_table_name(s, before);
    adx_say(text, "[");
    for (uint32_t l = 0; l < s->leaf->depth; l++) {
        if (!s->apart[l])
            continue;
        unsigned long size = 1;
        for (uint32_t inner = l + 1; inner < s->leaf->depth; inner++)
            size *= s->apart[inner] ? s->b->high[inner] - s->b->low[inner] : 1;
        adx_say(text, first ? "" : " + ");
        if (size > 1)
            adx_say(text, "%lu*", size);
        if (s->b->low[l] > 0)
            adx_say(text, "(%s - %lu)", adx_loop_name[l],
                    (unsigned long)s->b->low[l]);
        else
            adx_say(text, "%s", adx_loop_name[l]);
        first = false;
    }
    adx_say(text, "]");
}

// Declares the table of a stream, if it has one, and goes on to the next index.
static void adx_declare_table(const adx_roll_index *s, char before)
{
    adx_text *text = s->k->text;
    if (s->table && text->tables != ADX_TABLES_DONE)
        adx_put_table(s, before);
    if (!s->walked)
        return;
    adx_say_margin(s->k, s->b->depth);
    adx_say(text, "w");
    adx_say_stream_name(s);
    adx_say(text, " += ");
    adx_say_from_table(s, before);
    adx_say(text, ";\n");
}

// Declares the variable to which a table of differences is added, before its
// loop.
static void adx_declare_walk(const adx_roll_index *s)
{
    if (!s->walked)
        return;
    adx_say_margin(s->k, s->b->depth - 1);
    adx_say(s->k->text, "    long w");
    adx_say_stream_name(s);
    adx_say(s->k->text, " = %ld;\n", s->base);
}

// Writes the number that an instance has.
static void adx_say_stream(const adx_roll_index *s, char before)
{
    adx_text *text = s->k->text;
    bool first = !s->table;
    long base = s->table ? s->least : s->base;
    for (uint32_t l = 0; s->table && l < s->leaf->depth; l++)
        base -= s->stride[l] * (long)s->b->low[l];
    uint32_t begin = 0;
    while (begin + 1 < s->leaf->depth && s->stride[begin] == 0)
        begin++;
    if (s->walked) {
        adx_say(text, "w");
        adx_say_stream_name(s);
        return;
    }
    if (s->table)
        adx_say_from_table(s, before);
    else if (s->stride[begin] < 0 && base > 0) {    // 9 - i, not -i + 9
        adx_say(text, "%ld", base);
        first = false;
        base = 0;
    }
    for (uint32_t l = begin; l < s->leaf->depth; l++) {
        if (s->stride[l] == 0)
            continue;
        adx_say(text, s->stride[l] < 0 ? first ? "-" : " - "
                                       : first ? "" : " + ");
        if (s->stride[l] != 1 && s->stride[l] != -1)
            adx_say(text, "%ld*", labs(s->stride[l]));
        adx_say(text, "%s", adx_loop_name[l]);
        first = false;
    }
    if (base != 0 || first)
        adx_say(text, first ? "%ld" : base < 0 ? " - %ld" : " + %ld",
                base < 0 && !first ? -base : base);
}

ADX_SELDOM_END

/* === code/loops =============================================================
 * C text of what code/repeats has found, by what code/access says of it. A
 * statement in loops is written once for each block of its instances.
 * Everything is done twice: first without text, to learn which results have to
 * be in work.
 *
 *   needs   function/program code/text code/layout code/statements
 *           code/repeats code/order code/access
 *   offers  adx_say_constants adx_begin_loops adx_rolled_text adx_say_roots
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- constants ------------------------------------------------------------ */

static void adx_say_constants_name(const adx_writing *k)
{
    adx_say(k->text, "%s_%s_constants", k->text->name, k->what);
}

// Declares the array of the constants that loops read, if there are any.
static void adx_say_constants(const adx_writing *k)
{
    adx_text *t = k->text;
    if (k->rolled == NULL || k->rolled->constants == 0)
        return;
    adx_say(t, "%s%s ", adx_table_space(t), t->real);
    adx_say_constants_name(k);
    adx_say(t, "[%lu] = {", (unsigned long)k->rolled->constants);
    size_t line = t->bytes;
    for (size_t i = 0; i < k->rolled->constants; i++) {
        const bool begins = i == 0 || t->bytes - line > ADX_LIST_WIDTH;
        adx_say(t, "%s%s", i > 0 ? "," : "", begins ? "\n    " : "");
        line = begins ? t->bytes : line;
        adx_say_element_literal(t, *adx_constant_of(k->p,
                                                    k->rolled->constant[i]));
    }
    adx_say(t, "\n};\n");
}

/* --- statements ----------------------------------------------------------- */

// A statement of a loop, while it is noted or written.
typedef struct adx_instance {
    adx_writing *k;
    const adx_looped *leaf;
    const adx_roll_box *b;
} adx_instance;

// Writes what an instance reads for an argument, in the way that was found.
static void adx_say_access(const adx_instance *s, int which,
                           const adx_roll_read *a, char before)
{
    adx_writing *k = s->k;
    long at;
    if (a->way == ADX_ROLL_same) {
        adx_say_number(k, a->number);
    } else if (a->way == ADX_ROLL_local) {
        adx_say(k->text, "v%lu", (unsigned long)adx_name_of(
                    k, &k->rolled->leaf[a->leaf]));
    } else if (a->way == ADX_ROLL_carried) {
        adx_say(k->text, "c%lu%c", (unsigned long)adx_name_of(k, s->leaf),
                adx_argument_letter[which]);
    } else {
        adx_roll_index stream = adx_roll_stream(k, s->leaf, s->b, which);
        if (stream.constants) {
            adx_say_constants_name(k);
            adx_say(k->text, "[");
        } else
            adx_open_element(k->text, adx_array_with(k, a->number, &at));
        adx_say_stream(&stream, before);
        adx_say(k->text, "%s", stream.constants ? "]"
                                                : adx_close_element(k->text));
    }
}

static void adx_declare_for(const adx_instance *s, int which,
                            const adx_roll_read *a, char before)
{
    if (a->way != ADX_ROLL_array)
        return;
    adx_roll_index stream = adx_roll_stream(s->k, s->leaf, s->b, which);
    adx_declare_table(&stream, before);
}

static void adx_say_read(adx_text *t, char which, void *user)
{
    const adx_instance *s = (const adx_instance *)user;
    int a = which - 'x';
    adx_roll_read access = adx_access_of(s->k, s->leaf, a, s->b);
    (void)t;
    adx_say_access(s, a, &access, 'k');
}

// A guard: the number has a name, since its condition may be long.
static void adx_say_loop_guard(const adx_instance *s, const adx_node *node)
{
    adx_writing *k = s->k;
    adx_roll_index left = adx_roll_stream(k, s->leaf, s->b, ADX_READS_GUARD);
    char name[24];
    snprintf(name, sizeof name, "g%lu", (unsigned long)node->c);
    adx_declare_table(&left, 'k');
    adx_say_margin(k, s->b->depth);
    adx_say(k->text, "const %s %s = ", k->text->real, name);
    adx_say_read(k->text, 'x', (void *)(uintptr_t)s);
    adx_say(k->text, ";\n");
    adx_say_margin(k, s->b->depth);
    adx_say(k->text, "if (");
    adx_say_change(k, name, node->a, *adx_constant_of(k->p, node->b));
    adx_say(k->text, ") return (int)(");
    adx_say_stream(&left, 'k');
    adx_say(k->text, ");\n");
}

// Where an instance's result is in work.
static void adx_say_kept(const adx_instance *s)
{
    const adx_looped *f = s->leaf;
    adx_open_element(s->k->text, "work");
    bool first = true;
    for (uint32_t l = 0; f->all && l < f->depth; l++) {
        unsigned long stride = 1;
        for (uint32_t inner = l + 1; inner < f->depth; inner++)
            stride *= f->count[inner];
        adx_say(s->k->text, first ? "" : " + ");
        if (stride > 1)
            adx_say(s->k->text, "%lu*", stride);
        adx_say(s->k->text, "%s", adx_loop_name[l]);
        first = false;
    }
    if (f->place > 0 || first)
        adx_say(s->k->text, first ? "%lu" : " + %lu",
                (unsigned long)f->place);
    adx_say(s->k->text, "%s", adx_close_element(s->k->text));
}

// One declaration or assignment. Where other statements of the body read the
// result, it has a name; where memory needs it, it is in work.
static void adx_say_loop_node(const adx_instance *s, const adx_node *node)
{
    adx_writing *k = s->k;
    adx_text *t = k->text;
    bool named = s->leaf->local || !s->leaf->stored;
    adx_say_margin(k, s->b->depth);
    if (named)
        adx_say(t, "const %s v%lu", t->real,
                (unsigned long)adx_name_of(k, s->leaf));
    else
        adx_say_kept(s);
    adx_say(t, " = ");
    adx_say_formula(t, adx_value_text(t, node->op), adx_say_read,
                    (void *)(uintptr_t)s);
    adx_say(t, ";\n");
    if (named && s->leaf->stored) {
        adx_say_margin(k, s->b->depth);
        adx_say_kept(s);
        adx_say(t, " = v%lu;\n", (unsigned long)adx_name_of(k, s->leaf));
    }
}

// Writes an output, which is read as an argument is.
static void adx_say_loop_output(const adx_instance *s)
{
    adx_writing *k = s->k;
    adx_roll_index at = adx_roll_stream(k, s->leaf, s->b, ADX_READS_OUTPUT);
    size_t output = k->rolled->entry[s->leaf->first];
    adx_declare_table(&at, 'k');
    adx_say_margin(k, s->b->depth);
    bool second = output >= k->results->length[0];
    adx_open_element(k->text, k->results->array[second]);
    adx_say_stream(&at, 'k');
    adx_say(k->text, "%s = ", adx_close_element(k->text));
    adx_say_read(k->text, 'x', (void *)(uintptr_t)s);
    adx_say(k->text, ";\n");
}

// A statement of a loop, with the tables that its arguments need in front of
// it.
static void adx_say_leaf(const adx_instance *s)
{
    const adx_node *node = adx_node_at(s->k, s->leaf->first);
    for (int a = 0; a < adx_reads_of(s->k, s->leaf); a++) {
        adx_roll_read access = adx_access_of(s->k, s->leaf, a, s->b);
        adx_declare_for(s, a, &access, 'k');
    }
    if (node == NULL)
        adx_say_loop_output(s);
    else if (node->op == ADX_OP_guard)
        adx_say_loop_guard(s, node);
    else
        adx_say_loop_node(s, node);
}

/* --- what has to be in work ---------------------------------------------- */

// A constant that loops read with others gets a place among them.
static void adx_note_constant(adx_writing *k, uint32_t x)
{
    adx_rolled *r = k->rolled;
    if (!adx_is_constant_number(k->p, x) || r->constant_at[x] > 0)
        return;
    r->constant[r->constants++] = x;
    r->constant_at[x] = (uint32_t)r->constants;
}

// A number is read from memory, or by a statement of that section.
static void adx_note_use(adx_writing *k, uint32_t x, uint32_t section,
                         bool memory)
{
    adx_rolled *r = k->rolled;
    if (!adx_is_result(k, x))
        return;
    uint32_t entry = r->entry_of[k->p->from[x]];
    adx_looped *f = &r->leaf[r->leaf_of[entry]];
    if (f == r->leaf) {
        k->stored[x] = k->stored[x] || memory || k->section[x] != section;
        return;
    }
    f->stored = true;
    f->all = f->all || r->index_of[entry] + 1 < f->instances;
}

// Notes what an argument needs before the loop is written: variables that are
// local, numbers that must be stored, constants that must be in the array.
static void adx_roll_access(const adx_instance *s, int which, uint32_t section)
{
    adx_rolled *r = s->k->rolled;
    const adx_roll_read a = adx_access_of(s->k, s->leaf, which, s->b);
    uint32_t t[ADX_ROLL_DEPTH];
    if (a.way == ADX_ROLL_local || a.way == ADX_ROLL_carried)
        r->leaf[a.leaf].local = true;
    if (a.way == ADX_ROLL_same)
        adx_note_use(s->k, a.number, section, false);
    if (a.way == ADX_ROLL_carried) {
        adx_roll_box begin = *s->b;
        begin.high[begin.depth - 1] = begin.low[begin.depth - 1] + 1;
        adx_roll_access(&(adx_instance){ s->k, s->leaf, &begin }, which,
                        section);
    }
    memcpy(t, s->b->low, sizeof t);
    if (a.way == ADX_ROLL_array)
        do {
            uint32_t x = adx_read_at(s->k, adx_entry_at(s->leaf, t), which);
            adx_note_constant(s->k, x);
            adx_note_use(s->k, x, section, true);
        } while (adx_next_instance(s->leaf->depth, t, s->b->low, s->b->high));
}

/* --- loops ---------------------------------------------------------------- */

// Does something for each argument of a body's own statements that is carried.
static void adx_say_carried(adx_writing *k, uint32_t item,
                            const adx_roll_box *b, bool begins)
{
    const adx_rolled *r = k->rolled;
    const adx_item *s = &r->item[item];
    for (uint32_t i = 0; i < s->items; i++) {
        const adx_item *child = &r->item[r->list[s->body + i]];
        const adx_looped *f = &r->leaf[child->leaf];
        for (int a = 0; child->leaf > 0 && a < adx_reads_of(k, f); a++) {
            const adx_roll_read access = adx_access_of(k, f, a, b);
            if (access.way != ADX_ROLL_carried)
                continue;
            adx_roll_box begin = *b;
            begin.high[b->depth - 1] = begin.low[b->depth - 1] + 1;
            const adx_instance in = { k, f, begins ? &begin : b };
            const adx_roll_read first = adx_access_of(k, f, a, &begin);
            if (begins)
                adx_declare_for(&in, a, &first, 'q');
            adx_say_margin(k, begins ? b->depth - 1 : b->depth);
            if (begins)
                adx_say(k->text, "    %s ", k->text->real);
            adx_say_access(&in, a, &access, 'k');
            adx_say(k->text, " = ");
            if (begins)
                adx_say_access(&in, a, &first, 'q');
            else
                adx_say(k->text, "v%lu", (unsigned long)adx_name_of(
                            k, &r->leaf[access.leaf]));
            adx_say(k->text, ";\n");
        }
    }
}

static void adx_say_walk(const adx_writing *k, const adx_looped *f,
                         const adx_roll_box *b, int which)
{
    const adx_roll_index s = adx_roll_stream(k, f, b, which);
    adx_declare_walk(&s);
}

// Declares what the statements of a body walk by.
static void adx_say_walks(adx_writing *k, uint32_t item, const adx_roll_box *b)
{
    const adx_rolled *r = k->rolled;
    for (uint32_t i = 0; i < r->item[item].items; i++) {
        const uint32_t leaf = r->item[r->list[r->item[item].body + i]].leaf;
        const adx_looped *f = &r->leaf[leaf];
        for (int a = 0; leaf > 0 && a < adx_reads_of(k, f); a++)
            if (adx_access_of(k, f, a, b).way == ADX_ROLL_array)
                adx_say_walk(k, f, b, a);
        const adx_node *node = adx_node_at(k, f->first);
        if (leaf > 0 && node == NULL)
            adx_say_walk(k, f, b, ADX_READS_OUTPUT);
        else if (leaf > 0 && node->op == ADX_OP_guard)
            adx_say_walk(k, f, b, ADX_READS_GUARD);
    }
}

static void adx_roll_loop(adx_writing *k, uint32_t item, const adx_roll_box *b,
                          uint32_t section, bool notes);

// Does the items of a loop's body in their order: inner loops, and its own
// statements.
static void adx_do_body(adx_writing *k, uint32_t item, const adx_roll_box *b,
                        uint32_t section, bool notes)
{
    adx_rolled *r = k->rolled;
    for (uint32_t i = 0; i < r->item[item].items; i++) {
        uint32_t child = r->list[r->item[item].body + i];
        const adx_looped *f = &r->leaf[r->item[child].leaf];
        const adx_instance s = { k, f, b };
        if (r->item[child].count > 1)
            adx_roll_loop(k, child, b, section, notes);
        else if (!notes)
            adx_say_leaf(&s);
        else
            for (int a = 0; a < adx_reads_of(k, f); a++)
                adx_roll_access(&s, a, section);
    }
}

// Writes a loop, piece by piece between its cuts; or only notes what it reads.
static void adx_roll_loop(adx_writing *k, uint32_t item, const adx_roll_box *b,
                          uint32_t section, bool notes)
{
    adx_text *t = k->text;
    const uint32_t level = b->depth;
    const char *name = adx_loop_name[level];
    const adx_cuts cuts = adx_find_cuts(k, item, b);
    adx_roll_box piece = *b;
    piece.depth++;
    for (size_t c = 0; c <= cuts.n; c++) {
        piece.low[level] = c == 0 ? 0 : cuts.at[c - 1];
        piece.high[level] = c < cuts.n ? cuts.at[c]
                                       : k->rolled->item[item].count;
        bool once = piece.high[level] - piece.low[level] == 1;
        if (notes) {
            adx_do_body(k, item, &piece, section, true);
            continue;
        }
        adx_say_margin(k, level);
        adx_say(t, "{\n");
        if (once) {
            adx_say_margin(k, level + 1);
            adx_say(t, "const long %s = %lu;\n", name,
                    (unsigned long)piece.low[level]);
            adx_say_margin(k, level + 1);
            adx_say(t, "(void)%s;\n", name);
        } else {
            adx_say_margin(k, level);
            adx_say(t, "    long %s;\n", name);
            adx_say_carried(k, item, &piece, true);
            adx_say_walks(k, item, &piece);
            adx_say_margin(k, level);
            adx_say(t, "    for (%s = %lu; %s < %lu; %s++) {\n", name,
                    (unsigned long)piece.low[level], name,
                    (unsigned long)piece.high[level], name);
        }
        adx_do_body(k, item, &piece, section, false);
        if (!once) {
            adx_say_carried(k, item, &piece, false);
            adx_say_margin(k, level);
            adx_say(t, "    }\n");
        }
        adx_say_margin(k, level);
        adx_say(t, "}\n");
    }
}

/* --- the whole program --------------------------------------------------- */

// Which C function each item is in; outputs are in the last one.
static void adx_find_sections(adx_writing *k)
{
    adx_rolled *r = k->rolled;
    size_t text = 0;
    uint32_t section = 0;
    memset(k->section, 0, k->p->numbers * sizeof *k->section);
    for (size_t i = 0; i < r->roots; i++) {
        const adx_item *s = &r->item[r->root[i]];
        if (s->first < r->nodes) {
            if (text > 0 && text + s->text > k->split) {
                section++;
                text = 0;
            }
            text += s->text;
        }
        r->section_of[i] = section;
        if (s->count == 1 && s->first < r->nodes
            && adx_node_at(k, s->first)->op != ADX_OP_guard)
            k->section[adx_node_at(k, s->first)->r] = section;
    }
    k->sections = section + 1;
    for (size_t i = 0; section > 0 && i < r->roots; i++)
        if (r->item[r->root[i]].first >= r->nodes)
            r->section_of[i] = section + 1;
}

typedef struct adx_root_reads {
    adx_writing *k;
    uint32_t section;
} adx_root_reads;

static void adx_note_root_read(void *user, uint32_t x)
{
    const adx_root_reads *s = (const adx_root_reads *)user;
    adx_note_use(s->k, x, s->section, false);
}

// Notes what the items of the file need, before any of them is written.
static void adx_note_roots(adx_writing *k)
{
    adx_rolled *r = k->rolled;
    static const adx_roll_box none;
    for (size_t i = 0; i < r->roots; i++) {
        const adx_item *s = &r->item[r->root[i]];
        adx_root_reads reads = { k, r->section_of[i] };
        if (s->count > 1)
            adx_roll_loop(k, r->root[i], &none, r->section_of[i], true);
        else if (s->first < r->nodes)
            adx_visit_reads(k->p, adx_node_at(k, s->first),
                            adx_note_root_read, &reads);
        else
            adx_note_root_read(&reads, adx_read_at(k, s->first, 0));
    }
}

// Places in work: first what is in no loop, in its order, then statement by
// statement.
static void adx_find_loop_places(adx_writing *k)
{
    adx_rolled *r = k->rolled;
    uint32_t end = 0;
    for (size_t e = 0; e < r->nodes; e++) {
        const adx_node *s = adx_node_at(k, (uint32_t)e);
        uint32_t x = s->r;
        if (r->leaf_of[e] == 0 && s->op != ADX_OP_guard && k->stored[x])
            k->place[x] = end++;
    }
    for (size_t i = 1; i < r->leaves; i++)
        if (r->leaf[i].stored) {
            r->leaf[i].place = end;
            end += r->leaf[i].all ? r->leaf[i].instances : 1;
        }
    for (size_t e = 0; e < r->nodes; e++) {
        const adx_looped *f = &r->leaf[r->leaf_of[e]];
        uint32_t x = adx_node_at(k, (uint32_t)e)->r;
        if (f == r->leaf || !f->stored)     // a guard is never stored
            continue;
        k->stored[x] = true;
        k->place[x] = f->place + (f->all ? r->index_of[e] : 0);
    }
    k->places = end;
}

// The loops of a program in the order of levels; NULL without `failed`: none
// pay. (Programs of which little would be gained are left alone.)
static adx_rolled *adx_roll_levels(const adx_writing *k, adx_program *q,
                                   bool *failed)
{
    adx_order order = { NULL, NULL };
    adx_rolled *r = NULL;
    *failed = !adx_order_by_levels(k, q, &order);
    if (!*failed && adx_may_repeat(k, &order, failed)) {
        r = adx_roll(k, &order);
        *failed = r == NULL;
    }
    adx_free_order(q->memory, &order);
    return r;
}

// Gives the function loops if they pay, with its nodes in the order of levels
// or in their own; else it stays as it is. false: no memory.
static bool adx_begin_loops(adx_writing *k, adx_program *q, bool by_levels)
{
    bool failed = false;
    adx_rolled *r = NULL;
    if (!by_levels && !adx_may_repeat(k, NULL, &failed))
        return !failed;
    adx_node *nodes = adx_join_equal(q, k->used);
    if (nodes != NULL && by_levels)
        r = adx_roll_levels(k, q, &failed);
    else if (nodes != NULL)
        failed = (r = adx_roll(k, NULL)) == NULL;
    if (r == NULL || r->loops == 0) {
        adx_free_rolled(q->memory, r);
        if (nodes != NULL)
            adx_split_equal(q, nodes, k->used);
        return !failed && nodes != NULL;
    }
    k->rolled = r;
    r->was = nodes;
    memset(k->stored, 0, q->numbers * sizeof *k->stored);
    memset(k->place, 0, q->numbers * sizeof *k->place);
    adx_find_sections(k);
    adx_note_roots(k);
    adx_find_loop_places(k);
    return true;
}

// How many operations the text of a program with loops has; where a loop is
// cut, its body counts once.
static size_t adx_rolled_text(const adx_writing *k)
{
    const adx_rolled *r = k->rolled;
    size_t text = 0;
    for (size_t i = 0; i < r->roots; i++)
        if (r->item[r->root[i]].first < r->nodes)
            text += r->item[r->root[i]].text;
    return text;
}

static void adx_say_straight_output(adx_writing *k, uint32_t entry)
{
    size_t output = k->rolled->entry[entry];
    size_t first = k->results->length[0];
    adx_say(k->text, "    ");
    adx_open_element(k->text, k->results->array[output >= first]);
    adx_say(k->text, "%lu%s = ",
            (unsigned long)(output < first ? output : output - first),
            adx_close_element(k->text));
    adx_say_number(k, k->p->output[output]);
    adx_say(k->text, ";\n");
}

// Writes the nodes of a section, or the outputs; sections come in their order.
static void adx_say_roots(adx_writing *k, size_t section, bool outputs)
{
    adx_rolled *r = k->rolled;
    static const adx_roll_box none;
    if (section == 0 && !outputs)
        r->next = 0;
    for (; r->next < r->roots; r->next++) {
        const adx_item *s = &r->item[r->root[r->next]];
        if ((s->first >= r->nodes) != outputs
            || (!outputs && r->section_of[r->next] != section))
            return;
        if (s->count > 1)
            adx_roll_loop(k, r->root[r->next], &none, (uint32_t)section, false);
        else if (outputs)
            adx_say_straight_output(k, s->first);
        else if (adx_node_at(k, s->first)->op == ADX_OP_guard)
            adx_say_guard(k, adx_node_at(k, s->first));
        else
            adx_say_node(k, adx_node_at(k, s->first));
    }
}

ADX_SELDOM_END

/* === code/lists =============================================================
 * Lists of integers, such as the pattern of a sparse matrix, as initialisers of
 * constant arrays. A list in which differences of successive elements repeat is
 * one of loops, as a program is (code/repeats). C has no loops in initialisers,
 * but its preprocessor writes a piece again: a loop becomes a macro of its
 * first element, and macros for 10, 100 ... iterations, which call one another:
 *
 *     #define f_r1_1(v) v, v, v + 1
 *     #define f_r1_10(v) f_r1_1(v), f_r1_1(v + 2), f_r1_1(v + 4) ...
 *     0, f_r1_10(1), f_r1_10(21), f_r1_1(41), 49
 *
 *   needs   tape/memory code/text code/repeats
 *   offers  adx_say_list
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef struct adx_initialiser {
    adx_text *t;
    const uint32_t *v;          // the list
    adx_rolled *r;              // its loops; `leaf` is the number of the macro
    uint32_t macros;            // how many have been written
    bool inside;                // of a macro, where v is the first element
    bool begun;                 // an element stands before the next one
    size_t line;                // bytes of the text before this line
} adx_initialiser;

// Writes what stands before the next element.
static void adx_separate(adx_initialiser *l)
{
    if (l->begun)
        adx_say(l->t, ",");
    if (l->t->bytes - l->line > ADX_LIST_WIDTH) {
        adx_say(l->t, l->inside ? " \\\n    " : "\n    ");
        l->line = l->t->bytes;
    } else if (l->begun)
        adx_say(l->t, " ");
    l->begun = true;
}

// Writes an element, or its distance from the macro's first one.
static void adx_say_entry(adx_initialiser *l, long value)
{
    if (!l->inside)
        adx_say(l->t, "%ld", value);
    else if (value == 0)
        adx_say(l->t, "v");
    else
        adx_say(l->t, value < 0 ? "v - %ld" : "v + %ld",
                value < 0 ? -value : value);
}

static long adx_list_stride(const adx_initialiser *l, const adx_item *loop)
{
    return (long)l->v[loop->first + loop->entries / loop->count]
         - (long)l->v[loop->first];
}

// The macro of a loop like this one; 0: there is none yet. (Loops are behind
// all elements.)
static uint32_t adx_macro_of(const adx_initialiser *l, const adx_item *loop)
{
    for (size_t i = l->r->items; l->r->item[i - 1].count > 1; i--)
        if (l->r->item[i - 1].symbol == loop->symbol
            && l->r->item[i - 1].leaf != 0)
            return l->r->item[i - 1].leaf;
    return 0;
}

// Writes calls for so many iterations, the first of which begins with `value`.
static void adx_call_macro(adx_initialiser *l, const adx_item *loop,
                           uint32_t macro, size_t iterations, long value)
{
    size_t power = 1;
    while (10 * power <= iterations && 10 * power <= loop->count)
        power *= 10;
    if (l->inside && power == iterations && power > 1)
        power /= 10;            // its own definition
    for (; power > 0; power /= 10)
        for (; iterations >= power; iterations -= power) {
            adx_separate(l);
            adx_say(l->t, "%s_r%lu_%lu(", l->t->name, (unsigned long)macro,
                    (unsigned long)power);
            adx_say_entry(l, value);
            adx_say(l->t, ")");
            value += (long)power * adx_list_stride(l, loop);
        }
}

// Writes a sequence of elements and loops, less a number.
static void adx_say_elements(adx_initialiser *l, const uint32_t item[],
                             size_t n, long less)
{
    for (size_t i = 0; i < n; i++) {
        const adx_item *s = &l->r->item[item[i]];
        const long value = (long)l->v[s->first] - less;
        if (s->count > 1) {
            adx_call_macro(l, s, adx_macro_of(l, s), s->count, value);
            continue;
        }
        adx_separate(l);
        adx_say_entry(l, value);
    }
}

static void adx_begin_macro(adx_initialiser *l, uint32_t macro, size_t power)
{
    l->line = l->t->bytes;
    l->begun = false;
    adx_say(l->t, "#define %s_r%lu_%lu(v) ", l->t->name, (unsigned long)macro,
            (unsigned long)power);
}

// Defines the macros of a loop, after those of the loops in it.
static void adx_define_loop(adx_initialiser *l, uint32_t item)
{
    adx_item *loop = &l->r->item[item];
    if (loop->count == 1 || adx_macro_of(l, loop) != 0)
        return;
    for (uint32_t i = 0; i < loop->items; i++)
        adx_define_loop(l, l->r->list[loop->body + i]);
    loop->leaf = ++l->macros;
    adx_begin_macro(l, loop->leaf, 1);
    adx_say_elements(l, &l->r->list[loop->body], loop->items,
                     (long)l->v[loop->first]);
    for (size_t power = 10; power <= loop->count; power *= 10) {
        adx_say(l->t, "\n");
        adx_begin_macro(l, loop->leaf, power);
        adx_call_macro(l, loop, loop->leaf, power, 0);
    }
    adx_say(l->t, "\n");
}

static void adx_define_loops(adx_initialiser *l)
{
    l->inside = true;
    for (size_t i = 0; i < l->r->roots; i++)
        adx_define_loop(l, l->r->root[i]);
    l->inside = false;
}

static void adx_undefine_loops(const adx_initialiser *l)
{
    for (size_t i = l->r->items; l->r->item[i - 1].count > 1; i--) {
        const adx_item *loop = &l->r->item[i - 1];
        for (size_t power = 1; loop->leaf != 0 && power <= loop->count;
             power *= 10)
            adx_say(l->t, "\n#undef %s_r%lu_%lu", l->t->name,
                    (unsigned long)loop->leaf, (unsigned long)power);
    }
}

// The loops of a list. Elements are the same symbol that are as far from the
// element before. NULL: no memory.
static adx_rolled *adx_roll_list(const ad_allocator *a, const uint32_t v[],
                                 size_t n)
{
    uint32_t before = 0;
    adx_rolled *r = (adx_rolled *)adx_take(a, 1, sizeof *r);
    if (r == NULL)
        return NULL;
    *r = (adx_rolled){ .root = (uint32_t *)adx_take(a, n, sizeof *r->root) };
    r->failed = r->root == NULL;
    for (size_t i = 0; i < n && !r->failed; before = v[i++])
        r->root[i] = adx_new_item(a, r, (adx_item){
            .symbol = (uint64_t)1 << 33 | (uint32_t)(v[i] - before),
            .count = 1, .first = (uint32_t)i, .entries = 1, .text = 1 });
    if (!r->failed)
        r->roots = adx_fold_again(a, r, r->root, n);
    if (!r->failed)
        return r;
    adx_free_rolled(a, r);
    return NULL;
}

static void adx_say_rolled_list(adx_initialiser *l)
{
    adx_define_loops(l);
    l->line = l->t->bytes;
    l->begun = false;
    adx_say(l->t, "    ");
    adx_say_elements(l, l->r->root, l->r->roots, 0);
    adx_undefine_loops(l);
}

// Writes the elements of an initialiser, from the beginning of a line on; at
// least one, since there are no empty arrays. Without memory the text fails.
static void adx_say_list(adx_text *t, const ad_allocator *a, bool unrolled,
                         const uint32_t v[], size_t n)
{
    adx_rolled *r = NULL;
    if (!unrolled && !t->muted && n >= ADX_ROLL_LEAST) {
        r = adx_roll_list(a, v, n);
        t->failed = t->failed || r == NULL;
    }
    adx_initialiser l = { .t = t, .v = v, .r = r, .line = t->bytes };
    if (r != NULL && r->loops > 0)
        adx_say_rolled_list(&l);
    else {
        adx_say(t, n == 0 ? "    0" : "    ");
        for (size_t i = 0; i < n; i++) {
            adx_separate(&l);
            adx_say_entry(&l, (long)v[i]);
        }
    }
    adx_say(t, "\n");
    adx_free_rolled(a, r);
}

ADX_SELDOM_END

/* === code/bodies ============================================================
 * What stands in a C function: the inputs and constants that arrays need in
 * `work`, a statement for each used node in program order, and the results.
 * Nothing but `work` is written before all guards have been passed.
 *
 *   needs   tape/memory function/program function/copy function/places
 *           code/api code/text code/layout code/statements code/matrix
 *           code/loops
 *   offers  adx_say_array adx_say_passed adx_say_inputs adx_say_unused
 *           adx_say_loads adx_say_nodes adx_say_section adx_say_results
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Writes an array as a parameter, "const double *restrict x".
static void adx_say_array(adx_text *t, const char *array, bool constant)
{
    adx_say(t, "%s%s%s *%s %s", adx_array_space(t), constant ? "const " : "",
            t->real, adx_restrict_word(t), array);
    if (t->dialect != ADREV_C99)
        adx_say(t, ", const %s %s_stride", adx_stride_type(t), array);
}

// Writes an array as an argument.
static void adx_say_passed(adx_text *t, const char *array)
{
    adx_say(t, t->dialect == ADREV_C99 ? "%s" : "%s, %s_stride", array, array);
}

// Writes the inputs as parameters or as arguments, with a comma behind each.
static void adx_say_inputs(adx_writing *k, bool declared)
{
    for (int i = 0; i < ADX_ARRAYS && k->array[i] != NULL; i++) {
        if (declared)
            adx_say_array(k->text, k->array[i], true);
        else
            adx_say_passed(k->text, k->array[i]);
        adx_say(k->text, ", ");
    }
}

// So that no compiler warns of an input that the code does not use.
static void adx_say_unused(adx_writing *k)
{
    adx_say(k->text, "   ");
    for (int i = 0; i < ADX_ARRAYS && k->array[i] != NULL; i++)
        adx_say(k->text, k->text->dialect == ADREV_C99 ? " (void)%s;"
                : " (void)%s; (void)%s_stride;", k->array[i], k->array[i]);
    adx_say(k->text, k->text->dialect == ADREV_C99 ? " (void)work;\n"
                     : " (void)work; (void)work_stride;\n");
}

// Copies those inputs and constants to work that arrays need there.
static void adx_say_loads(adx_writing *k)
{
    const adx_program *p = k->p;
    for (uint32_t i = 0; i < p->numbers; i++) {
        if (!k->stored[i] || p->from[i] < ADX_FROM_INPUT)
            continue;
        adx_say(k->text, "    ");
        adx_say_work(k, k->place[i]);
        adx_say(k->text, " = ");
        if (adx_is_constant_number(p, i))
            adx_say_literal(k->text, *adx_constant_of(p, i));
        else
            adx_say_input(k, i);
        adx_say(k->text, ";\n");
    }
}

static void adx_say_any(adx_writing *k, const adx_node *s)
{
    if (s->op == ADX_OP_guard)
        adx_say_guard(k, s);
    else if (s->op == ADX_OP_many)
        adx_say_many(k, s);
    else
        adx_say_node(k, s);
}

// Writes the used nodes of a row loop that are done there.
static void adx_say_where(adx_writing *k, const adx_row_loop *r, uint8_t where)
{
    const adx_program *p = k->p;
    for (size_t i = r->begin; i <= r->end; i++) {
        const adx_node *s = &p->node[i];
        if (!adx_is_used(p, s, k->used) || r->where[s->r] != where)
            continue;
        if (where == ADX_BEFORE || where == ADX_AFTER)
            adx_say_any(k, s);
        else
            adx_say_of_row(k, r, s);
    }
}

// Writes what is done along row `row`, block by block.
static void adx_say_blocks(adx_writing *k, const adx_row_loop *r)
{
    const unsigned long columns = r->columns;
    adx_say(k->text, "            long from;\n"
            "            for (from = 0; from < %lu; from += %d) {\n"
            "            const long to = from + %d < %lu ? from + %d : %lu;\n",
            columns, ADX_ROW_BLOCK, ADX_ROW_BLOCK, columns, ADX_ROW_BLOCK,
            columns);
    adx_say_where(k, r, ADX_ALONG);
    adx_say(k->text, "            }\n");
}

// A row loop (code/matrix): what comes before it; zeros in the results of the
// product with the transposed matrix, which are added up in place; the rows;
// and what comes after. Where a row's product need not wait, it is added up
// block by block with the rest of the row; where the rest waits, all of the
// product comes first.
static void adx_say_rows(adx_writing *k, const adx_row_loop *r)
{
    const adx_node *first = &k->p->node[r->begin];
    const adx_node *last = &k->p->node[r->end];
    adx_say_where(k, r, ADX_BEFORE);
    adx_say(k->text, "    {\n        long i;\n");
    adx_say_zeros(k, last, adx_many_of(k->p, last));
    adx_say(k->text, "    }\n    {\n        long row;\n"
            "        for (row = 0; row < %lu; row++) {\n",
            (unsigned long)r->rows);
    if (!r->waits) {
        adx_say(k->text, "            %s sum[8] = { 0 };\n", k->text->real);
        adx_say_blocks(k, r);
        adx_say(k->text, "            {\n            const long i = row;\n"
                "            long j, l;\n");
        adx_say_sum_of_eight(k, first, adx_many_of(k->p, first));
        adx_say(k->text, "            }\n");
    }
    adx_say_where(k, r, ADX_BY_ROW);
    if (r->waits)
        adx_say_blocks(k, r);
    adx_say(k->text, "        }\n    }\n");
    adx_say_where(k, r, ADX_AFTER);
}

// Writes the nodes of the next section of the program; section 0 is the first.
// A row loop counts as one node.
static void adx_say_nodes(adx_writing *k, size_t section)
{
    const adx_program *p = k->p;
    adx_row_loop rows;
    size_t i = section == 0 ? 0 : k->next;
    if (k->rolled != NULL) {
        adx_say_roots(k, section, false);
        return;
    }
    for (size_t count = 0; i < p->nodes && count < k->split; i++) {
        if (!adx_is_used(p, &p->node[i], k->used))
            continue;
        count++;
        if (!adx_find_rows(k, &rows, i)) {
            adx_say_any(k, &p->node[i]);
            continue;
        }
        adx_say_rows(k, &rows);
        adx_drop(p->memory, rows.where);
        i = rows.end;
    }
    k->next = i;
}

// A C function that makes a section of the program.
static void adx_say_section(adx_writing *k, size_t section)
{
    adx_say(k->text, "static %sint %s_%s_%lu(",
            k->text->dialect == ADREV_CUDA ? "__device__ " : "",
            k->text->name, k->what, (unsigned long)section);
    adx_say_inputs(k, true);
    adx_say_array(k->text, "work", false);
    adx_say(k->text, ")\n{\n");
    adx_say_unused(k);
    if (section == 0)
        adx_say_loads(k);
    adx_say_nodes(k, section);
    adx_say(k->text, "    return 0;\n}\n\n");
}

// How many of the outputs from `at` on follow one another in work or in an
// array of inputs.
static size_t adx_run_length(const adx_writing *k, size_t at, size_t most)
{
    const adx_program *p = k->p;
    const uint32_t *output = p->output + at;
    adx_numbers run = { *output, 0, 1 };
    bool stored = k->stored[*output];
    size_t n = 1;
    if (!stored && p->from[*output] != ADX_FROM_INPUT)
        return 1;
    while (n < most && k->stored[output[n]] == stored
           && (stored ? k->place[output[n]] == k->place[*output] + n
               : output[n] == *output + n
                 && adx_array_of(k, &run, 1, n + 1) >= 0))
        n++;
    return n;
}

// Writes a run of outputs as a loop.
static void adx_say_run(adx_writing *k, const char *array, size_t i, size_t at,
                        size_t n)
{
    uint32_t first = k->p->output[at];
    const char *from = "work";
    size_t base = k->place[first];
    if (!k->stored[first]) {    // then it is an input: in array a, at base
        size_t a = 0;
        for (base = first; base >= k->length[a]; a++)
            base -= k->length[a];
        from = k->array[a];
    }
    adx_say(k->text, "    {\n        long i;\n"
            "        for (i = 0; i < %lu; i++)\n            ",
            (unsigned long)n);
    adx_open_element(k->text, array);
    adx_say(k->text, "%lu + i%s = ", (unsigned long)i,
            adx_close_element(k->text));
    adx_open_element(k->text, from);
    adx_say(k->text, "%lu + i%s;\n    }\n", (unsigned long)base,
            adx_close_element(k->text));
}

// Looks whether results i to i + n, which have been written, are finite.
static void adx_say_look(adx_writing *k, const char *array, size_t i, size_t n)
{
    if (n == 1)
        adx_say(k->text, "    fault |= %s[%lu] - %s[%lu] != 0;\n", array,
                (unsigned long)i, array, (unsigned long)i);
    else
        adx_say(k->text, "    {\n        long i;\n"
                "        for (i = %lu; i < %lu; i++)\n"
                "            fault |= %s[i] - %s[i] != 0;\n    }\n",
                (unsigned long)i, (unsigned long)(i + n), array, array);
}

// Writes results [i] on, the first of which is output `at`: those that an array
// node has written at home already, or a run, or a single one. Returns how
// many.
static size_t adx_say_some_results(adx_writing *k, const char *array,
                                   size_t i, size_t at, size_t most)
{
    const adx_program *p = k->p;
    uint32_t x = p->output[at];
    if (k->home[x] == at)       // a node has written them
        return adx_results_of(p, &p->node[p->from[x]]);
    size_t n = adx_run_length(k, at, most);
    if (n > 4) {
        adx_say_run(k, array, i, at, n);
        return n;
    }
    adx_say(k->text, "    ");
    adx_open_element(k->text, array);
    adx_say(k->text, "%lu%s = ", (unsigned long)i, adx_close_element(k->text));
    adx_say_number(k, x);
    adx_say(k->text, ";\n");
    return 1;
}

// Writes all results. Those that `tells` has to look at, and that no node has
// told of at home, are looked at here.
static void adx_say_results(adx_writing *k)
{
    const adx_program *p = k->p;
    const adx_results *results = k->results;
    size_t at = 0;
    if (k->rolled != NULL) {
        adx_say_roots(k, k->sections, true);
        return;
    }
    for (size_t a = 0; a < 2; a++)
        for (size_t i = 0, n; i < results->length[a]; i += n, at += n) {
            uint32_t x = p->output[at];
            bool told = k->home[x] == at
                     && adx_tells_at_home(k, &p->node[p->from[x]]);
            n = adx_say_some_results(k, results->array[a], i, at,
                                     results->length[a] - i);
            if (k->tells && !told && at < p->outputs - k->unchecked)
                adx_say_look(k, results->array[a], i, n);
        }
}

ADX_SELDOM_END

/* === code/functions =========================================================
 * A whole C function, with the pattern of a sparse matrix in front of it, or
 * its declaration. Compilers take too long for very long functions, so the
 * nodes of a long one are split into several C functions, f_value_0, f_value_1
 * ..., which f_value calls one after the other.
 *
 * Code for devices (OpenCL, CUDA) has more than functions: tables in front of
 * them, and kernels, which call them for one point a work item.
 *
 * At the beginning of this room are the checks that compiled functions have.
 *
 *   needs   tape/memory core/cells function/program function/copy
 *           function/functions function/pattern code/api code/text code/layout
 *           code/loops code/lists code/bodies
 *   offers  adx_has_check adx_say_sum adx_declare_function adx_say_function
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- checks -----------------------------------------------------------------
 * For ad_fn_compile: code that looks whether results are finite before it
 * writes them. If they are not, the function returns -1, and the replay says
 * what is wrong.                                                            */

// Whether the function looks at its results before it writes them. A caller
// that reads what has just been written has to wait for it.
static bool adx_has_check(const adx_writing *k)
{
    return k->text->loaded && k->p->manys == 0 && k->sections == 1
        && k->rolled == NULL && k->p->outputs > 0
        && k->p->outputs <= ADX_CHECKED_MOST;
}

// Writes the sum of some numbers, or of their squares, as a balanced tree, so
// that it is soon known.
static void adx_say_sum(adx_writing *k, const uint32_t *x, size_t n,
                        bool squares)
{
    if (n == 1) {
        adx_say_number(k, *x);
        adx_say(k->text, squares ? " * " : "");
        if (squares)
            adx_say_number(k, *x);
        return;
    }
    adx_say(k->text, "(");
    adx_say_sum(k, x, n / 2, squares);
    adx_say(k->text, n > (squares ? 4 : 8) ? "\n        + " : " + ");
    adx_say_sum(k, x + n / 2, n - n / 2, squares);
    adx_say(k->text, ")");
}

// Bounds the size of a node's result: arguments below 2^e in size, with e[] for
// each number, make a result below 2 to the power of what is returned. `most`:
// no bound is known, as of all operations but sums and products.
static int adx_bits_of(const adx_node *s, const int e[], int most)
{
    int a = e[s->a];
    int b = adx_row_of(s->op)->arity > 1 ? e[s->b] : a;
    int bits = most;
    if (a >= most || b >= most)
        return most;
    switch (s->op) {
    case ADREV_OP_neg: bits = a; break;
    case ADREV_OP_sqr: bits = 2 * a; break;
    case ADREV_OP_add: case ADREV_OP_sub: bits = (a > b ? a : b) + 1; break;
    case ADREV_OP_mul: case ADX_OP_chain: bits = a + b; break;
    default: break;
    }
    return bits > most ? most : bits < -most ? -most : bits;
}

// Whether all results are finite where every input is below 2^small in size.
static bool adx_is_bounded(const adx_writing *k, int small, int most)
{
    const adx_program *p = k->p;
    int *e = (int *)adx_take(p->memory, p->numbers, sizeof *e);
    bool bounded = e != NULL;
    for (uint32_t i = 0; bounded && i < p->numbers; i++) {
        e[i] = small;
        if (!adx_is_constant_number(p, i))
            continue;
        double c = (double)*adx_constant_of(p, i);
        if (c - c == 0)
            (void)frexp(c, &e[i]);
        else
            e[i] = most;
    }
    for (size_t i = 0; bounded && i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], k->used)
            && p->node[i].op != ADX_OP_guard)
            e[p->node[i].r] = adx_bits_of(&p->node[i], e, most);
    for (size_t i = 0; bounded && i < p->outputs; i++)
        bounded = e[p->output[i]] < most;
    adx_drop(p->memory, e);
    return bounded;
}

// Few inputs are cheaper to look at than many results: with less than half as
// many inputs as n results, the code first asks whether all inputs are small,
// in a sense that leaves every result finite (adx_is_bounded). Then the results
// need not be looked at. The sum of the squares being below 2^(most/4), each
// input is below 2^(most/8). False: this would not pay, and nothing was
// written.
static bool adx_say_small_inputs(adx_writing *k, size_t n)
{
    const adx_program *p = k->p;
    uint32_t input[ADX_CHECKED_MOST / 2];
    size_t inputs = 0;
    int most = k->text->single ? FLT_MAX_EXP : DBL_MAX_EXP;
    for (uint32_t i = 0; i < p->inputs && 2 * inputs < n; i++)
        if (k->used[i])
            input[inputs++] = i;
    if (inputs == 0 || 2 * inputs >= n || !adx_is_bounded(k, most / 8, most))
        return false;
    adx_say(k->text, "    const int small = ");
    adx_say_sum(k, input, inputs, true);
    adx_say(k->text, " < ");
    adx_say_literal(k->text, (ad_real)ldexp(1, most / 4));
    adx_say(k->text, ";\n");
    return true;
}

// The check of adx_has_check: if the sum of all results, each counted once, is
// not finite, the function returns -1 and has written nothing.
static void adx_say_check(adx_writing *k)
{
    const adx_program *p = k->p;
    uint32_t seen[ADX_CHECKED_MOST];
    size_t n = 0;
    // the different results, without constants
    for (size_t i = 0; i < p->outputs - k->unchecked; i++) {
        uint32_t x = p->output[i];
        size_t j = 0;
        while (j < n && seen[j] != x)
            j++;
        if (j == n && !adx_is_constant_number(p, x))
            seen[n++] = x;
    }
    if (n == 0)
        return;
    bool small = adx_say_small_inputs(k, n);
    adx_say(k->text, "    const %s all = ", k->text->real);
    adx_say_sum(k, seen, n, false);
    adx_say(k->text, ";\n    if (%sall - all != 0)\n        return -1;\n",
            small ? "!small && " : "");
}

/* --- kernels -------------------------------------------------------------- */

// Writes the tables of all loops, which device code has outside of functions.
static void adx_say_tables(adx_writing *k)
{
    adx_text *t = k->text;
    bool muted = t->muted;
    t->muted = true;
    t->tables = ADX_TABLES_ONLY;
    for (size_t section = 0; section < k->sections; section++)
        adx_say_nodes(k, section);
    adx_say_results(k);
    t->tables = ADX_TABLES_DONE;
    t->muted = muted;
}

// Writes an array as an argument, from point p on. An input of stride 0 is one
// number for all points.
static void adx_say_kernel_argument(adx_text *t, const char *array, bool input)
{
    if (input)
        adx_say(t, "%s_stride == 0 ? %s : %s + p, "
                "%s_stride == 0 ? 1 : %s_stride,\n            ", array, array,
                array, array, array);
    else
        adx_say(t, "%s + p, %s_stride,\n            ", array, array);
}

// Writes the kernel, which calls the function for one point.
static void adx_say_kernel(adx_writing *k)
{
    adx_text *t = k->text;
    const adx_results *results = k->results;
    bool cuda = t->dialect == ADREV_CUDA;
    adx_say(t, "%s void %s_%s_kernel(const %s points, ",
            cuda ? "extern \"C\" __global__" : "__kernel", t->name, k->what,
            adx_stride_type(t));
    adx_say_inputs(k, true);
    for (size_t a = 0; a < 2 && results->array[a] != NULL; a++) {
        adx_say_array(t, results->array[a], false);
        adx_say(t, ", ");
    }
    adx_say_array(t, "work", false);
    adx_say(t, ", %sint *%s left)\n{\n    const %s p = %s;\n"
            "    if (p < points)\n        left[p] = %s_%s(\n            ",
            adx_array_space(t), adx_restrict_word(t), adx_stride_type(t),
            cuda ? "(long long)blockIdx.x * blockDim.x + threadIdx.x"
                 : "(long)get_global_id(0)", t->name, k->what);
    for (int i = 0; i < ADX_ARRAYS && k->array[i] != NULL; i++)
        adx_say_kernel_argument(t, k->array[i], true);
    for (size_t a = 0; a < 2 && results->array[a] != NULL; a++)
        adx_say_kernel_argument(t, results->array[a], false);
    adx_say(t, "work + p, work_stride);\n}\n\n");
}

/* --- functions ------------------------------------------------------------ */

static void adx_say_pattern_list(adx_writing *k, const char *list,
                                 const uint32_t v[], size_t n)
{
    adx_say(k->text, "%sconst int %s_%s_%s[%lu] = {\n",
            k->text->exported ? "" : "static ", k->text->name, k->what, list,
            (unsigned long)(n == 0 ? 1 : n));
    adx_say_list(k->text, k->p->memory, k->unrolled, v, n);
    adx_say(k->text, "};\n");
}

// The row of each entry.
static uint32_t *adx_row_of_each(const ad_allocator *a, const adx_entries *g)
{
    uint32_t *row = (uint32_t *)adx_take(a, g->start[g->rows], sizeof *row);
    for (uint32_t i = 0; row != NULL && i < g->rows; i++)
        for (size_t j = g->start[i]; j < g->start[i + 1]; j++)
            row[j] = i;
    return row;
}

// The pattern of a sparse matrix, as lists of constants, which kernels do not
// need.
static void adx_say_pattern(adx_writing *k)
{
    const ad_allocator *a = k->p->memory;
    const adx_entries *g = k->entries;
    size_t n = g->start[g->rows];
    adx_say(k->text, "#define %s_%s_NONZEROS %lu\n", k->text->name, k->what,
            (unsigned long)n);
    if (k->text->dialect != ADREV_C99)
        return;
    uint32_t *row = adx_row_of_each(a, g);
    adx_say_pattern_list(k, "start", g->start, g->rows + 1);
    if (row != NULL)
        adx_say_pattern_list(k, "row", row, n);
    k->text->failed = k->text->failed || row == NULL;
    adx_say_pattern_list(k, "column", g->col, n);
    adx_say(k->text, "\n");
    adx_drop(a, row);
}

// So that no compiler warns of constants that are not used, or of results
// without entries.
static void adx_say_results_unused(adx_writing *k)
{
    const adx_results *results = k->results;
    static const char *const list[] = { "start", "row", "column" };
    for (size_t a = 0; a < 2; a++)
        if (results->array[a] != NULL && results->length[a] == 0)
            adx_say(k->text, "    (void)%s;\n", results->array[a]);
    for (size_t i = 0; k->entries != NULL && k->text->dialect == ADREV_C99
                       && i < 3; i++)
        adx_say(k->text, "    (void)%s_%s_%s;\n", k->text->name, k->what,
                list[i]);
}

// The body of a function whose nodes are in functions of their own.
static void adx_say_calls(adx_writing *k)
{
    for (size_t section = 0; section < k->sections; section++) {
        adx_say(k->text, "    left = %s_%s_%lu(", k->text->name, k->what,
                (unsigned long)section);
        adx_say_inputs(k, false);
        adx_say_passed(k->text, "work");
        adx_say(k->text, ");\n    if (left != 0) return left;\n");
    }
}

// What an array is, for the header. Of a sparse matrix the entries are listed.
static const char *adx_array_meaning(const adx_writing *k, const char *array)
{
    static const char *const meaning[][2] = {
        { "x", "the point" },
        { "y", "f(x)" },
        { "v", "a direction of x" },
        { "dy", "J v: how y changes along v" },
        { "w", "a weight of each y" },
        { "dx", "w J: dx[i] = d(w y)/dx[i]" },
        { "g", "g[i] = dy/dx[i]" },
        { "hv", "H v, where H has the second derivatives of w y" },
        { "J", "J[i*n + j] = dy[i]/dx[j], where n is the length of x" },
        { "H", "H[i*n + j] = d2(w y)/dx[i]dx[j], both triangles" },
    };
    if (k->chosen && k->entries == NULL && strcmp(array, "J") == 0)
        return "J[i*n + j] = dy[i]/dx[j], where n is the number of derivatives";
    if (k->entries != NULL && strchr("JH", *array) != NULL)
        return *array == 'J' ? "J[k] = dy[row[k]]/dx[column[k]]"
                             : "H[k] = d2(w y)/dx[row[k]]dx[column[k]], the"
                               " lower triangle";
    for (size_t i = 0; i < sizeof meaning / sizeof *meaning; i++)
        if (strcmp(array, meaning[i][0]) == 0)
            return meaning[i][1];
    return "";
}

static void adx_say_meaning(adx_writing *k, const char *array, size_t length,
                            bool out)
{
    adx_say(k->text, " *   %-2s [%lu]  %s  %s\n", array, (unsigned long)length,
            out ? "out" : "in ", adx_array_meaning(k, array));
}

// Declares the pattern in a header, with a comment that says what `start` is.
static void adx_declare_pattern(adx_writing *k)
{
    adx_text *t = k->text;
    const adx_entries *g = k->entries;
    size_t n = g->start[g->rows];
    size_t room = n == 0 ? 1 : n;
    adx_say(t, "/* Entries of %s_%s, row by row: those of row i are start[i] to"
            "\n * start[i + 1] - 1. */\n", t->name, k->what);
    adx_say(t, "#define %s_%s_NONZEROS %lu\n", t->name, k->what,
            (unsigned long)n);
    adx_say(t, "extern const int %s_%s_start[%lu];\n", t->name, k->what,
            (unsigned long)(g->rows + 1));
    adx_say(t, "extern const int %s_%s_row[%lu];\n", t->name, k->what,
            (unsigned long)room);
    adx_say(t, "extern const int %s_%s_column[%lu];\n\n", t->name, k->what,
            (unsigned long)room);
}

// Declares the function in a header, with a comment that says what its arrays
// are. (C++ has no restrict, which is no part of a function's type.)
static void adx_declare_function(adx_writing *k)
{
    adx_text *t = k->text;
    const adx_results *results = k->results;
    if (k->entries != NULL)
        adx_declare_pattern(k);
    adx_say(t, "/* %s_%s\n", t->name, k->what);
    for (int i = 0; i < ADX_ARRAYS && k->array[i] != NULL; i++)
        adx_say_meaning(k, k->array[i], k->length[i], false);
    for (size_t a = 0; a < 2 && results->array[a] != NULL; a++)
        adx_say_meaning(k, results->array[a], results->length[a], true);
    adx_say(t, " */\n#define %s_%s_WORK %lu\nint %s_%s(", t->name, k->what,
            (unsigned long)(k->places == 0 ? 1 : k->places), t->name, k->what);
    for (int i = 0; i < ADX_ARRAYS && k->array[i] != NULL; i++)
        adx_say(t, "const %s *%s, ", t->real, k->array[i]);
    for (size_t a = 0; a < 2 && results->array[a] != NULL; a++)
        adx_say(t, "%s *%s, ", t->real, results->array[a]);
    adx_say(t, "%s *work);\n\n", t->real);
}

// Writes the function up to its first node, and before it the length of `work`.
static void adx_say_opening(adx_writing *k)
{
    adx_text *t = k->text;
    const adx_results *results = k->results;
    adx_say(t, "#define %s_%s_WORK %lu\n%sint %s_%s(", t->name, k->what,
            (unsigned long)(k->places == 0 ? 1 : k->places),
            adx_function_space(t), t->name, k->what);
    adx_say_inputs(k, true);
    for (size_t a = 0; a < 2 && results->array[a] != NULL; a++) {
        adx_say_array(t, results->array[a], false);
        adx_say(t, ", ");
    }
    adx_say_array(t, "work", false);
    adx_say(t, ")\n{\n");
    if (k->sections > 1)
        adx_say(t, "    int left = 0;\n");
    if (k->tells)
        adx_say(t, "    long fault = 0;\n");
    adx_say_unused(k);
    adx_say_results_unused(k);
}

// Writes the whole function, in this order:
//
//     the pattern of a sparse matrix
//     the constants that its loops read
//     its sections, if it is split
//     #define f_value_WORK 12
//     int f_value(const double *restrict x, ...)
//     {
//         loads and nodes, or calls of the sections
//         a check of the results before they are written
//         results
//     }
//     const unsigned long f_value_size = f_value_WORK;
//     int f_value_checks(double x) { return x - x != 0; }
//
// The last two are for ad_fn_compile. It calls the last one, which is named
// f_value_tells where the results are looked at after they have been written,
// with an infinity. Flags such as -ffast-math make the compiler believe that
// there is none, and then the check is worth nothing.
static void adx_say_function(adx_writing *k)
{
    adx_text *t = k->text;
    bool checks = adx_has_check(k);
    k->tells = t->loaded && k->sections == 1 && k->p->manys > 0
            && k->p->outputs > 0;
    if (k->entries != NULL)
        adx_say_pattern(k);
    adx_say_constants(k);
    if (t->dialect != ADREV_C99)
        adx_say_tables(k);
    for (size_t i = 0; k->sections > 1 && i < k->sections; i++)
        adx_say_section(k, i);
    adx_say_opening(k);
    if (k->sections > 1)
        adx_say_calls(k);
    else {
        adx_say_loads(k);
        adx_say_nodes(k, 0);
    }
    if (checks)
        adx_say_check(k);
    adx_say_results(k);
    adx_say(t, "    return %s;\n}\n\n", k->tells ? "fault ? -1 : 0" : "0");
    if (t->dialect != ADREV_C99)
        adx_say_kernel(k);
    if (t->loaded)
        adx_say(t, "const unsigned long %s_%s_size = %s_%s_WORK;\n\n",
                t->name, k->what, t->name, k->what);
    if (checks || k->tells)
        adx_say(t, "int %s_%s_%s(%s x) { return x - x != 0; }\n\n",
                t->name, k->what, checks ? "checks" : "tells", t->real);
}

ADX_SELDOM_END

/* === code/blocks ============================================================
 * Loops of ad_fn_compile around a function: over a block of points, whose nodes
 * are cut into phases for it, and over the steps of a loop.
 *
 *   needs   tape/memory function/api function/program function/copy
 *           function/functions code/text code/layout code/statements
 *           code/repeats code/functions
 *   offers  adx_say_block adx_has_block adx_say_loop
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- phases -----------------------------------------------------------------
 * The nodes of a block of points, cut into phases. A loop with a call of the
 * math library is no loop of vectors: so calls are in phases with odd numbers,
 * and what is before, between and behind them in those with even ones. For
 * ADREV_LANES_MOST points at a time each phase is a loop of its own, and hands
 * numbers on in short arrays. Calls come as early as they can, and everything
 * else as late as it can, so that little is handed on. (Without phases the
 * trapezoidal rule of bench/assemble took twice as long, compiled.)         */

#define ADX_PHASE_MOST 64       // numbers that are handed on, 256 bytes each;
                                // with more there is one phase

typedef struct adx_phases {
    const adx_writing *k;
    uint32_t *of;               // [nodes]
    uint32_t *last_of;          // [numbers] the last phase in which it may be
                                // made
    uint32_t last;              // the phase of the results
} adx_phases;

static void adx_end_phases(adx_phases *f)
{
    adx_drop(f->k->p->memory, f->of);
    adx_drop(f->k->p->memory, f->last_of);
}

// Whether an operation calls a function, or may call one.
static bool adx_is_call(uint32_t op)
{
    return (adx_attributes_of(op) & (ADX_COST | ADX_MAY_CALL)) != 0;
}

// A node as its text has it.
static adx_node adx_text_node(const adx_writing *k, size_t i)
{
    adx_node s = k->p->node[i];
    (void)adx_take_signs(k, &s);
    return s;
}

// Gives each node the first phase in which it can be.
static void adx_find_early(adx_phases *f)
{
    const adx_program *p = f->k->p;
    for (size_t i = 0; i < p->nodes; i++) {
        if (!adx_is_used(p, &p->node[i], f->k->used))
            continue;
        const adx_node s = adx_text_node(f->k, i);
        uint32_t phase = 0;
        for (int a = 0; a < adx_varying(&s); a++) {
            uint32_t from = p->from[adx_read_by(&s, a)];
            if (from < ADX_FROM_INPUT && phase < f->of[from])
                phase = f->of[from];
        }
        phase += phase & 1;     // behind a call
        f->of[i] = phase + adx_is_call(s.op);
        if (f->of[i] > f->last)
            f->last = f->of[i];
    }
    f->last += f->last & 1;
}

// Puts what is no call into the phase in which it is first read.
static void adx_find_late(adx_phases *f)
{
    const adx_program *p = f->k->p;
    for (size_t x = 0; x < p->numbers; x++)
        f->last_of[x] = f->last;
    for (size_t i = p->nodes; i-- > 0;) {
        if (!adx_is_used(p, &p->node[i], f->k->used))
            continue;
        const adx_node s = adx_text_node(f->k, i);
        if (!adx_is_call(s.op))
            f->of[i] = f->last_of[s.r];
        uint32_t before = f->of[i] & ~(uint32_t)1;
        for (int a = 0; a < adx_varying(&s); a++) {
            uint32_t *last = &f->last_of[adx_read_by(&s, a)];
            *last = *last < before ? *last : before;
        }
    }
}

// Hands x on if it is made in another phase than the one that reads it.
static void adx_hand_on(adx_phases *f, adx_writing *k, uint32_t x,
                        uint32_t phase)
{
    uint32_t from = k->p->from[x];
    if (from >= ADX_FROM_INPUT || f->of[from] == phase || k->stored[x])
        return;
    k->stored[x] = true;
    k->place[x] = (uint32_t)k->places++;
}

// Makes one phase of all.
static void adx_join_phases(adx_phases *f, adx_writing *k)
{
    memset(f->of, 0, k->p->nodes * sizeof *f->of);
    memset(k->stored, 0, k->p->numbers * sizeof *k->stored);
    f->last = 0;
    k->places = 0;
}

// Cuts the program of a block into phases. Afterwards numbers that are handed
// on are stored, in k->places arrays. false: no memory.
static bool adx_find_phases(adx_phases *f, adx_writing *k)
{
    const adx_program *p = k->p;
    *f = (adx_phases){ .k = k };
    f->of = (uint32_t *)adx_take(p->memory, p->nodes, sizeof *f->of);
    f->last_of = (uint32_t *)adx_take(p->memory, p->numbers,
                                      sizeof *f->last_of);
    if (f->of == NULL || f->last_of == NULL)
        return false;
    adx_find_early(f);
    adx_find_late(f);
    k->places = 0;
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node s = adx_text_node(k, i);
        for (int a = 0; adx_is_used(p, &p->node[i], k->used)
                        && a < adx_varying(&s); a++)
            adx_hand_on(f, k, adx_read_by(&s, a), f->of[i]);
    }
    for (size_t i = 0; i < p->outputs; i++)
        adx_hand_on(f, k, p->output[i], f->last);
    if (k->places > ADX_PHASE_MOST)
        adx_join_phases(f, k);
    return true;
}

/* --- loops around a function ---------------------------------------------- */

// Whether a point's results are finite, as far as their sum says so, which may
// overflow, too.
static void adx_say_fault(adx_writing *k)
{
    if (k->p->outputs == 0)
        return;
    adx_say(k->text, "    const %s all = ", k->text->real);
    adx_say_sum(k, k->p->output, k->p->outputs, false);
    adx_say(k->text, ";\n    fault |= all - all != 0;\n");
}

static void adx_say_block_results(adx_writing *k)
{
    const adx_program *p = k->p;
    for (size_t i = 0; i < p->outputs; i++) {
        adx_say(k->text, "    y[%lu + l] = ",
                (unsigned long)(i * adx_lanes_of(p->inputs, p->outputs)));
        adx_say_number(k, p->output[i]);
        adx_say(k->text, ";\n");
    }
    adx_say_fault(k);
}

static void adx_say_phase(adx_writing *k, const adx_phases *f, uint32_t phase)
{
    const adx_program *p = k->p;
    adx_say(k->text, "    for (l = 0; l < ROW; l++) {\n");
    for (size_t i = 0; i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], k->used) && f->of[i] == phase)
            adx_say_node(k, &p->node[i]);
    if (phase == f->last)
        adx_say_block_results(k);
    adx_say(k->text, "    }\n");
}

// Writes the points of a block, ROW at a time: so the compiler knows how often
// its loops run, and needs no other code for the last points of vectors. Inputs
// are read where they are. This is only for programs without guards and arrays.
static void adx_say_rows_of_points(adx_writing *k, const adx_phases *f)
{
    adx_text *t = k->text;
    const adx_program *p = k->p;
    adx_say(t, "    enum { ROW = %d };\n    long begin, l, fault = 0;\n",
            ADREV_LANES_MOST);
    for (size_t i = 0; i < k->places; i++)
        adx_say(t, "    %s t%lu[ROW];\n", t->real, (unsigned long)i);
    adx_say(t, "    for (begin = 0; begin < n; begin += ROW, y += ROW) {\n");
    for (size_t i = 0; i < p->inputs; i++)
        if (k->used[i])
            adx_say(t, "    const %s *const x%lu = x[%lu] + begin;\n", t->real,
                    (unsigned long)i, (unsigned long)i);
    for (uint32_t phase = 0; phase <= f->last; phase++)
        adx_say_phase(k, f, phase);
    adx_say(t, "    }\n    return fault;\n");
}

static void adx_say_block(adx_writing *k)
{
    adx_text *t = k->text;
    adx_phases phases;
    k->block = true;
    adx_say(t, "long %s_%s_block(const %s *const *x, %s *restrict y, "
            "long n)\n{\n", t->name, k->what, t->real, t->real);
    if (adx_find_phases(&phases, k))
        adx_say_rows_of_points(k, &phases);
    else
        t->failed = true;
    adx_say(t, "}\n\n");
    adx_end_phases(&phases);
    k->block = false;
}

static bool adx_has_block(const adx_writing *k)
{
    for (size_t i = 0; i < k->p->nodes; i++)
        if (k->p->node[i].op == ADX_OP_guard)
            return false;
    return k->p->manys == 0 && k->sections == 1 && k->rolled == NULL;
}

// What a loop keeps of a step is asked for long before it is needed. Each step
// waits for the one before, and must not wait for memory as well.
static const char adx_loop_fetch[] =
    "#ifdef __GNUC__\n"
    "#define FETCH(at) \\\n"
    "    __builtin_prefetch((const void *)((unsigned long)(at) + far))\n"
    "#else\n"
    "#define FETCH(at) ((void)(at), (void)far)\n"
    "#endif\n";

// The steps of a loop, as adx_compiled.loop describes them. Of the IN inputs of
// a step the first W are carried on, D are data, P are parameters, and the last
// one is the number of the step. STEP calls the step's function. Of each step
// ROW numbers are kept: what is carried on, the tag, and what is handed on.
static const char adx_loop_primal[] =
    "    real x[IN], y[W], *at = kept;\n"
    "    (void)sums; (void)fixed_sums;\n"
    "    for (i = 0; i < W; i++) x[i] = state[i];\n"
    "    for (i = 0; i < P; i++) x[W + D + i] = fixed[i];\n"
    "    for (s = 0; s < steps; s++) {\n"
    "        if (kept) {\n"
    "            at = kept + s * stride;\n"
    "            for (i = 0; i < ROW; i += 8) FETCH(at + i);\n"
    "            for (i = 0; i < W; i++) at[i] = x[i];\n"
    "            if (tag) at[W] = *tag;\n"
    "        }\n"
    "        for (i = 0; i < D; i++) x[W + i] = data[i][s * move[i]];\n"
    "        x[IN - 1] = (real)(first + s);\n"
    "        if (STEP) break;\n"
    "        for (i = 0; i < W; i++) x[i] = y[i];\n"
    "    }\n"
    "    for (i = 0; i < W; i++) state[i] = x[i];\n";

// The same backwards: w are the adjoints of what is carried on.
static const char adx_loop_pullback[] =
    "    real x[IN], w[W], dx[IN], sum[P + 1];\n"
    "    for (i = 0; i < W; i++) w[i] = state[i];\n"
    "    for (i = 0; i < P; i++) x[W + D + i] = fixed[i];\n"
    "    for (i = 0; i < P; i++) sum[i] = fixed_sums[i];\n"
    "    for (s = 0; s < steps; s++) {\n"
    "        real *at = kept + s * stride;\n"
    "        for (i = 0; i < ROW; i += 8) FETCH(at + i);\n"
    "        for (i = 0; i < W && w[i] == 0; i++) ;\n"
    "        if (i == W || (tag && at[W] != *tag)) break;\n"
    "        for (i = 0; i < W; i++) x[i] = at[i];\n"
    "        for (i = 0; i < D; i++) x[W + i] = data[i][s * move[i]];\n"
    "        x[IN - 1] = (real)(first - s);\n"
    "        if (STEP) break;\n"
    "        for (i = 0; i < D; i++) sums[i][s * move[i]] += dx[W + i];\n"
    "        for (i = 0; i < P; i++) sum[i] += dx[W + D + i];\n"
    "        for (i = 0; i < W; i++) w[i] = dx[i];\n"
    "    }\n"
    "    for (i = 0; i < W; i++) state[i] = w[i];\n"
    "    for (i = 0; i < P; i++) fixed_sums[i] = sum[i];\n";

// Writes the loop around a step's function: the constants W, D, P, IN, ROW, and
// one of the two bodies.
static void adx_say_loop(adx_writing *k, size_t carried, size_t parameters)
{
    adx_text *t = k->text;
    // The step's function is value or primal, or back vjp or pullback. primal
    // hands numbers on to pullback, behind the state and the tag.
    bool back = k->array[1] != NULL;
    const char *handed = back ? k->array[2] : k->results->array[1];
    size_t behind = handed == NULL ? 0
                  : 1 + (back ? k->length[2] : k->results->length[1]);
    adx_put_text(t, adx_loop_fetch, sizeof adx_loop_fetch - 1);
    adx_say(t, "#define STEP %s_%s(x, %s%s%s, work)\n", t->name, k->what,
            back ? "w, " : "y", handed != NULL ? back ? "at + W + 1, " :
            ", at + W + 1" : "", back ? "dx" : "");
    adx_say(t, "long %s_%s_loop(long steps, long first, %s *state, %s *kept, "
            "long stride, const %s *tag, const %s *const *data, "
            "%s *const *sums, const long *move, const %s *fixed, "
            "%s *fixed_sums, %s *work)\n{\n",
            t->name, k->what, t->real, t->real, t->real, t->real, t->real,
            t->real, t->real, t->real);
    adx_say(t, "    enum { W = %lu, D = %lu, P = %lu, IN = W + D + P + 1,\n"
            "           ROW = W + %lu, FAR = %d };\n    typedef %s real;\n"
            "    const unsigned long far = stride < 0 ? 0UL - FAR : FAR;\n"
            "    long s;\n    int i;\n", (unsigned long)carried,
            (unsigned long)(k->length[0] - carried - parameters - 1),
            (unsigned long)parameters, (unsigned long)behind, ADX_FAR,
            t->real);
    const char *body = back ? adx_loop_pullback : adx_loop_primal;
    adx_put_text(t, body, strlen(body));
    adx_say(t, "    return s;\n}\n#undef STEP\n#undef FETCH\n\n");
}

ADX_SELDOM_END

/* === code/wanted ============================================================
 * Which C functions are asked for, and the programs from which they are made. A
 * sparse matrix is a program, too: it makes the entries in the order of the
 * pattern, by one derivation for each direction of the plan (function/plans),
 * all in one program.
 *
 *   needs   tape/memory core/cells function/api function/program
 *           function/unique function/copy function/adjoints function/matrices
 *           function/functions function/evaluation function/pattern
 *           function/plans code/api code/text code/layout code/statements
 *           code/repeats code/loops code/functions code/blocks
 *   offers  adx_make_sparse ADX_C_PRIMAL ADX_C_PULLBACK ADX_C_BLOCKS ADX_C_ALL
 *           adx_c_kind adx_c_kinds ADX_C_KINDS ADX_C_SPARSE ADX_C_LOADED
 *           adx_c_file adx_do_kinds
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Seeds direction d: the inputs (or, in reverse, the outputs) of its colour get
// the derivative 1, or the one full row or column that it is for.
static void adx_seed_direction(adx_making *k, const adx_pattern *s, uint32_t d)
{
    bool apart = d >= s->groups;
    bool reverse = s->by_rows != apart;
    const uint32_t *group = apart ? s->apart : s->group;
    size_t n = reverse ? s->g.rows : s->g.cols;
    adx_clear_derived(k);
    for (size_t i = 0; i < n; i++)
        if (group[i] == (apart ? d - s->groups : d))
            k->derived[reverse ? k->from->output[i] : i] = adx_fixed(k->to, 1);
}

// Makes the entries of a sparse matrix in the order of its pattern, as
// ad_fn_jacobian_pattern computes them: one sweep of derivation for all columns
// or rows of a colour, and in entry[] the number that it makes of each entry.
static ad_status adx_make_entries(adx_program *q, const adx_program *p,
                                  const adx_pattern *s, uint32_t entry[])
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, 0))
        return q->status;
    bool *moved = adx_find_moved(p, 0, s->g.cols);
    if (moved == NULL)
        adx_spoil(q, ADREV_ENOMEM);
    adx_copy_nodes(&k);
    for (uint32_t d = 0; d < s->groups + s->aparts; d++) {
        bool reverse = s->by_rows != (d >= s->groups);
        adx_seed_direction(&k, s, d);
        if (reverse)
            adx_adjoint_nodes(&k, moved);
        else
            adx_tangent_nodes(&k);
        for (uint32_t i = s->first[d]; i < s->first[d + 1]; i++) {
            uint32_t at = s->at[s->entry[i]];
            entry[s->entry[i]] = k.derived[reverse ? at : p->output[at]];
        }
    }
    adx_drop(p->memory, moved);
    adx_end_making(&k);
    return q->status;
}

// Makes the program of a sparse Jacobian. A sparse Hessian is the sparse
// Jacobian of the adjoint program, without the values that this has as outputs,
// too.
static ad_status adx_make_sparse(adx_program *q, ad_fn *fn, bool hessian)
{
    const ad_allocator *a = &fn->memory;
    const adx_program *p = &fn->program;
    adx_program adjoint;
    adx_pattern *s;
    adx_begin_program(&adjoint, a, false);
    ad_status status = adx_pattern_of(fn, hessian, &s);
    if (status == ADREV_OK && hessian)
        status = adx_make_adjoint(&adjoint, p, fn->variables,
                                  fn->repeated.carried > 0);
    if (status != ADREV_OK) {
        adx_free_program(&adjoint);
        return status;
    }
    size_t entries = s->g.start[s->g.rows];
    uint32_t *entry = (uint32_t *)adx_take(a, entries, sizeof *entry);
    if (hessian)
        adjoint.outputs = fn->variables;        // without the values
    status = entry == NULL ? ADREV_ENOMEM
           : adx_make_entries(q, hessian ? &adjoint : p, s, entry);
    if (status == ADREV_OK)
        adx_matrix_outputs(q, entries, entry);
    adx_drop(a, entry);
    adx_free_program(&adjoint);
    return status == ADREV_OK ? q->status : status;
}

// Functions besides those that users can ask for. They are for loops
// (function/matrices), and exist as machine code only.
enum {
    ADX_C_PRIMAL = 1 << ADREV_C_COUNT, ADX_C_PULLBACK = 2 << ADREV_C_COUNT,
    ADX_C_BLOCKS = 4 << ADREV_C_COUNT,  // every kind also for blocks of points
    ADX_C_ALL = (8 << ADREV_C_COUNT) - 1
};

// A kind of C function: what it computes, its name, inputs and results. For a
// Jacobian without values, and for sparse matrices, adx_make_c_kind decides
// what is computed, and `kind` only says where the code belongs.
typedef struct adx_c_kind {
    unsigned bit;               // ADREV_C_...
    adx_kind kind;
    const char *what;           // its name behind the prefix
    const char *in[3];
    const char *out[2];
} adx_c_kind;

static const adx_c_kind adx_c_kinds[] = {
    { ADREV_C_VALUE,    ADX_KIND_value,   "value",    { "x" },   { "y" } },
    { ADREV_C_JVP,      ADX_KIND_jvp,     "jvp", { "x", "v" },   { "dy" } },
    { ADREV_C_VJP,      ADX_KIND_vjp,     "vjp", { "x", "w" },   { "dx" } },
    { ADREV_C_GRADIENT, ADX_KIND_linear,  "gradient", { "x" },   { "y", "g" } },
    { ADREV_C_HVP,      ADX_KIND_hvp,     "hvp", { "x", "w", "v" }, { "hv" } },
    { ADREV_C_JACOBIAN, ADX_KIND_linear,  "jacobian", { "x" },   { "J" } },
    { ADREV_C_HESSIAN,  ADX_KIND_hessian, "hessian", { "x", "w" }, { "H" } },
    { ADREV_C_JACOBIAN_SPARSE, ADX_KIND_jacobian_sparse, "jacobian_sparse",
      { "x" }, { "J" } },
    { ADREV_C_HESSIAN_SPARSE, ADX_KIND_hessian_sparse, "hessian_sparse",
      { "x", "w" }, { "H" } },
    { ADREV_C_LINEARIZE, ADX_KIND_linear, "linearize", { "x" },  { "y", "J" } },
    { ADX_C_PRIMAL,     ADX_KIND_primal, "primal", { "x" }, { "y", "kept" } },
    { ADX_C_PULLBACK,   ADX_KIND_pullback, "pullback",
      { "x", "w", "kept" }, { "dx" } },
};
#define ADX_C_KINDS (sizeof adx_c_kinds / sizeof *adx_c_kinds)
#define ADX_C_SPARSE (ADREV_C_JACOBIAN_SPARSE | ADREV_C_HESSIAN_SPARSE)
// The kinds that evaluations use: gradients and Jacobians come with values.
#define ADX_C_LOADED (ADX_C_ALL & ~(ADREV_C_GRADIENT | ADREV_C_JACOBIAN))

// Makes the program behind a C function. Its outputs are the results of the
// first array, then those of the second.
static ad_status adx_make_c_kind(adx_program *q, ad_fn *fn,
                                 const adx_c_kind *kind)
{
    adx_begin_program(q, &fn->memory, false);
    if (kind->bit & ADX_C_SPARSE)
        return adx_make_sparse(q, fn, kind->bit == ADREV_C_HESSIAN_SPARSE);
    return kind->bit == ADREV_C_JACOBIAN
         ? adx_make_jacobian(q, &fn->program, false)
         : adx_make_derived(q, fn, kind->kind);
}

// The pattern of a sparse kind, which has been found when the program was made;
// NULL: the kind is not sparse.
static const adx_entries *adx_entries_of(ad_fn *fn, unsigned bit)
{
    adx_pattern *s;
    return !(bit & ADX_C_SPARSE)
        || adx_pattern_of(fn, bit == ADREV_C_HESSIAN_SPARSE, &s) != ADREV_OK
         ? NULL : &s->g;
}

// The length of an array, by its name.
static size_t adx_c_length(ad_fn *fn, const adx_c_kind *kind,
                           const char *array)
{
    bool matrix = array != NULL && (*array == 'J' || *array == 'H');
    const adx_entries *g = matrix ? adx_entries_of(fn, kind->bit) : NULL;
    size_t n = fn->variables;
    return array == NULL ? 0
         : g != NULL ? g->start[g->rows]
         : *array == 'k' ? adx_handed_on(fn)
         : strchr("yw", *array) != NULL || strcmp(array, "dy") == 0 ? fn->m
         : *array == 'J' ? fn->m * n
         : *array == 'H' ? n * n : strcmp(array, "x") == 0 ? fn->n : n;
}

#define ADX_LEVELS_LEAST 1000           // nodes, for the order of levels
#define ADX_LEVELS_LEAST_TEXT 50000     // bytes, without it

// Everything that is to be written.
typedef struct adx_c_file {
    ad_fn *fn;
    const ad_c_options *options;
    unsigned asked;             // functions
    adx_text *text;
    bool needed[ADX_HELPER_COUNT];      // helpers that a function calls
    ad_c_size *size;            // of each function; NULL: of no interest
} adx_c_file;

// Finds the helper functions that a program calls.
static ad_status adx_need_helpers(adx_c_file *file, const adx_program *q)
{
    bool *used = (bool *)adx_take(q->memory, q->numbers, sizeof *used);
    ad_status status = used == NULL ? ADREV_ENOMEM : ADREV_OK;
    if (used != NULL)
        adx_find_used(q, used);
    for (size_t i = 0; status == ADREV_OK && i < q->nodes; i++) {
        const adx_many *m = adx_many_of(q, &q->node[i]);
        uint32_t op = m == NULL ? q->node[i].op : m->op;
        bool external = m != NULL && m->kind == ADX_MANY_external;
        if (external && adx_is_used(q, &q->node[i], used))
            status = ADREV_EEXTERNAL;
        bool plain = op >= ADX_OP_COUNT
                  || (m != NULL && !adx_facts_of(m->kind)->operation);
        if (!plain && adx_is_used(q, &q->node[i], used)
            && !adx_find_helpers(adx_value_text(file->text, op), file->needed))
            status = ADREV_EEXTERNAL;
    }
    adx_drop(q->memory, used);
    return status == ADREV_OK && !adx_are_in_dialect(file->text, file->needed)
         ? ADREV_EEXTERNAL : status;
}

static void adx_measure_code(const adx_writing *k, size_t bytes,
                             ad_c_size *size)
{
    const adx_program *p = k->p;
    size->statements = k->rolled != NULL ? adx_rolled_text(k) : 0;
    for (size_t i = 0; i < p->nodes && k->rolled == NULL; i++)
        size->statements += adx_is_used(p, &p->node[i], k->used);
    for (size_t i = 0; i < p->numbers; i++)
        size->constants += k->used[i]
                        && adx_is_constant_number(p, i);
    size->work = k->places == 0 ? 1 : k->places;
    size->bytes = bytes;
    size->loops = k->rolled != NULL ? k->rolled->written : 0;
}

// Whether there is a function that makes many steps in one call. It pays for
// steps with few numbers, where the call itself takes a part of the time.
static bool adx_is_looped(const adx_writing *k, const ad_fn *fn, adx_kind kind)
{
    return fn->repeated.carried > 0 && fn->repeated.carried == fn->m
        && fn->n <= ADX_CHECKED_MOST
        && (kind == ADX_KIND_value || kind == ADX_KIND_vjp
            || kind == ADX_KIND_primal || kind == ADX_KIND_pullback)
        && adx_has_check(k);
}

// The arrays of a C function, and how many of its results nothing checks.
static void adx_name_arrays(adx_writing *k, adx_results *results,
                            const adx_c_file *file, const adx_c_kind *kind)
{
    ad_fn *fn = file->fn;
    size_t common = file->options->common;
    *results = (adx_results){ { kind->out[0], kind->out[1] },
                              { adx_c_length(fn, kind, kind->out[0]),
                                adx_c_length(fn, kind, kind->out[1]) } };
    k->results = results;
    k->chosen = fn->variables < fn->n;
    // Two kinds of results may be not finite without harm: of a step of a loop
    // the adjoint of its number, and what is handed on, since some of that may
    // not be needed.
    k->unchecked = kind->kind == ADX_KIND_primal ? results->length[1]
                 : fn->repeated.carried > 0
                   && (kind->kind == ADX_KIND_vjp
                       || kind->kind == ADX_KIND_pullback);
    for (int i = 0, at = 0; i < 3; i++) {
        k->array[at] = kind->in[i];
        k->length[at++] = adx_c_length(fn, kind, kind->in[i]);
        if (i == 0 && common > 0) {
            k->array[at] = "c";
            k->length[at++] = common;
            k->length[0] -= common;
        }
    }
}

// The length of a C function, without its pattern, as it would be written now.
static size_t adx_count_text(adx_writing *k)
{
    adx_text *t = k->text;
    const adx_entries *entries = k->entries;
    adx_text dry = *t;
    dry.write = NULL;
    dry.bytes = 0;
    k->text = &dry;
    k->entries = NULL;
    adx_say_function(k);
    k->text = t;
    k->entries = entries;
    return dry.bytes;
}

// Makes of a function what it was before loops were looked for. false: no
// memory.
static bool adx_undo_loops(adx_writing *k, adx_program *q)
{
    if (k->rolled != NULL)
        adx_split_equal(q, k->rolled->was, k->used);
    if (k->rolled != NULL)
        k->rolled->was = NULL;
    adx_free_rolled(q->memory, k->rolled);
    k->rolled = NULL;
    k->places = 0;
    adx_end_writing(k);
    return adx_begin_writing(k);
}

// Gives the function loops. The order of levels needs more memory, and is only
// tried for long texts, and taken if the text has half the length. false: no
// memory.
static bool adx_find_loops(adx_writing *k, adx_program *q)
{
    if (!adx_begin_loops(k, q, false))
        return false;
    size_t bytes = q->manys > 0 || q->nodes < ADX_LEVELS_LEAST
                 ? 0 : adx_count_text(k);
    if (bytes < ADX_LEVELS_LEAST_TEXT)
        return true;
    bool rolled = k->rolled != NULL;
    if (!adx_undo_loops(k, q) || !adx_begin_loops(k, q, true))
        return false;
    if (k->rolled != NULL && 2 * adx_count_text(k) < bytes)
        return true;
    return adx_undo_loops(k, q) && (!rolled || adx_begin_loops(k, q, false));
}

// Writes what ad_fn_compile needs besides a C function. q has more outputs than
// that: values behind the derivatives, which only blocks of points want.
static void adx_write_besides(adx_writing *k, const adx_program *q,
                              const adx_c_file *file, const adx_c_kind *kind)
{
    const ad_fn *fn = file->fn;
    bool wanted = kind->bit <= ADREV_C_VJP || (file->asked & ADX_C_BLOCKS);
    if (k->text->loaded && wanted && adx_has_block(k)) {
        adx_find_used(q, k->used);
        adx_say_block(k);
    }
    if (adx_is_looped(k, fn, kind->kind))
        adx_say_loop(k, fn->repeated.carried, fn->repeated.parameters);
}

// Writes one C function and what belongs to it, or its declaration.
static ad_status adx_write_program(adx_c_file *file, const adx_c_kind *kind,
                                   adx_program *q, ad_c_size *size)
{
    adx_text *t = file->text;
    size_t split = file->options->split;
    size_t before = t->bytes;
    size_t all = q->outputs;
    adx_results results;
    adx_writing k = { .text = t, .p = q, .what = kind->what,
                      .split = split == 0 ? 2000 : split,
                      .unrolled = file->options->unrolled,
                      .entries = adx_entries_of(file->fn, kind->bit) };
    adx_name_arrays(&k, &results, file, kind);
    q->outputs = results.length[0] + results.length[1];
    bool ok = adx_begin_writing(&k);
    if (ok && !k.unrolled)
        ok = adx_find_loops(&k, q);
    if (ok && t->header) {
        adx_declare_function(&k);
    } else if (ok) {
        adx_say_function(&k);
        if (size != NULL)
            adx_measure_code(&k, t->bytes - before, size);
        q->outputs = all;
        adx_write_besides(&k, q, file, kind);
    }
    adx_free_rolled(q->memory, k.rolled);
    adx_end_writing(&k);
    return ok && !t->failed ? ADREV_OK : ADREV_ENOMEM;
}

static ad_status adx_do_kind(adx_c_file *file, size_t which)
{
    const adx_c_kind *kind = &adx_c_kinds[which];
    adx_program q;
    ad_status status = adx_make_c_kind(&q, file->fn, kind);
    size_t all = q.outputs;
    if (status == ADREV_OK && !file->text->loaded)
        q.outputs = adx_c_length(file->fn, kind, kind->out[0])
                  + adx_c_length(file->fn, kind, kind->out[1]);
    if (status == ADREV_OK)
        status = adx_need_helpers(file, &q);
    q.outputs = all;
    if (status == ADREV_OK)
        status = adx_write_program(file, kind, &q, file->size == NULL
                                   ? NULL : &file->size[which]);
    adx_free_program(&q);
    return status;
}

// Writes all that are asked for, and finds what helpers they need.
static ad_status adx_do_kinds(adx_c_file *file)
{
    ad_status status = ADREV_OK;
    for (size_t i = 0; i < ADX_C_KINDS && status == ADREV_OK; i++)
        if (file->asked & adx_c_kinds[i].bit)
            status = adx_do_kind(file, i);
    return status;
}

ADX_SELDOM_END

/* === code/casadi ============================================================
 * CasADi's entry points call the functions of code/functions and store matrices
 * by columns. Their working memory w has three parts: zeros, for inputs that
 * are not given; scratch room for results that are not asked for or must be
 * reordered; and the work of the function that is called.
 *
 *   needs   tape/memory function/api function/functions function/pattern
 *           function/plans code/api code/text code/lists code/wanted
 *   offers  adx_write_points
 * ========================================================================== */

ADX_SELDOM_BEGIN

// A kind of entry point. `in` and `out` have a letter for the shape of each
// input and result: n, m is a column of that many numbers; N, M the same
// without entries; J a Jacobian; T a Jacobian transposed; H a Hessian; Z an n x
// m matrix without entries.
typedef struct adx_point_kind {
    unsigned functions;         // written if one of these is asked for,
    unsigned more;              // and one of these, unless it is 0
    const char *prefix;         // of the name
    const char *in;
    const char *in_name[4];
    const char *out;
    const char *out_name[3];
    const char *at;             // which inputs the functions take
} adx_point_kind;

#define ADX_C_JACOBIANS (ADREV_C_JACOBIAN | ADREV_C_JACOBIAN_SPARSE)
#define ADX_C_HESSIANS  (ADREV_C_HESSIAN | ADREV_C_HESSIAN_SPARSE)

static const adx_point_kind adx_point_kinds[] = {
    { ADREV_C_VALUE, 0, "", "n", { "x" }, "m", { "y" }, "0" },
    { ADREV_C_JVP, 0, "fwd1_", "nMn", { "x", "out_y", "fwd_x" },
      "m", { "fwd_y" }, "02" },
    { ADREV_C_VJP, 0, "adj1_", "nMm", { "x", "out_y", "adj_y" },
      "n", { "adj_x" }, "02" },
    { ADX_C_JACOBIANS, 0, "jac_", "nM", { "x", "out_y" },
      "J", { "jac_y_x" }, "0" },
    { ADX_C_HESSIANS, ADX_C_JACOBIANS, "jac_adj1_", "nMmN",
      { "x", "out_y", "adj_y", "out_adj_x" }, "HZT",
      { "jac_adj_x_x", "jac_adj_x_out_y", "jac_adj_x_adj_y" }, "02" },
    { ADREV_C_GRADIENT, 0, "grad_", "n", { "x" }, "mn", { "y", "g" }, "0" },
    { ADREV_C_HVP, 0, "hvp_", "nmn", { "x", "w", "v" }, "n", { "hv" },
      "012" },
    { ADX_C_HESSIANS, 0, "hess_", "nm", { "x", "w" }, "H", { "h" }, "01" },
};
#define ADX_POINT_KINDS (sizeof adx_point_kinds / sizeof *adx_point_kinds)

// A sparse matrix by columns, which are the rows of g.
typedef struct adx_by_columns {
    adx_entries g;
    uint32_t *order;            // of our entries; NULL: the same
    bool borrowed;              // g
} adx_by_columns;

// An entry point while it is written.
typedef struct adx_point {
    adx_text *text;
    ad_fn *fn;
    const adx_point_kind *kind;
    unsigned asked;             // functions that are written
    bool unrolled;              // lists are written without loops
    size_t zeros;               // at the beginning of work
    size_t scratch;             // behind them
    adx_by_columns matrix[3];   // of sparse results
} adx_point;

// Lists a matrix by columns, and for each entry where it is in `from`, which is
// by rows. If `lower`, `from` is the lower triangle of a symmetric matrix.
//
// The columns are visited in order. So the entries of a row i come in the order
// in which `from` has them, and next[i] is the next one of them. An entry of
// the upper triangle, (i, j) with i <= j, is the entry (j, i) of the lower one.
static bool adx_order_columns(const ad_allocator *a, const adx_entries *from,
                              bool lower, adx_by_columns *out)
{
    adx_entries *g = &out->g;
    uint32_t *next = (uint32_t *)adx_take(a, from->rows, sizeof *next);
    bool ok = next != NULL && (lower ? adx_symmetric(a, from, g)
                                     : adx_transpose(a, from, g));
    if (ok) {
        memcpy(next, from->start, from->rows * sizeof *next);
        out->order = (uint32_t *)adx_take(a, g->start[g->rows],
                                          sizeof *out->order);
        ok = out->order != NULL;
    }
    for (uint32_t j = 0; ok && j < g->rows; j++)
        for (uint32_t k = g->start[j]; k < g->start[j + 1]; k++) {
            uint32_t i = g->col[k];
            out->order[k] = lower && i <= j ? from->start[j] + k - g->start[j]
                                            : next[i]++;
        }
    adx_drop(a, next);
    return ok;
}

// Returns which of the functions that are asked for can compute a result of
// this shape.
static unsigned adx_bits_of_shape(const adx_point *e, char shape)
{
    unsigned bits = shape == 'J' || shape == 'T' ? ADX_C_JACOBIANS
                  : shape == 'H' ? ADX_C_HESSIANS : e->kind->functions;
    return shape == 'Z' ? 0 : bits & e->asked;
}

// Returns the function that computes a result; of two, the sparse one.
static const adx_c_kind *adx_kind_of_shape(const adx_point *e, char shape)
{
    size_t i = ADX_C_KINDS;
    while (i > 0 && !(adx_c_kinds[i - 1].bit & adx_bits_of_shape(e, shape)))
        i--;
    return i == 0 ? NULL : &adx_c_kinds[i - 1];
}

// How many numbers result r has.
static size_t adx_shape_length(const adx_point *e, size_t r)
{
    char shape = e->kind->out[r];
    const adx_entries *g = &e->matrix[r].g;
    size_t n = e->fn->n;
    size_t m = e->fn->m;
    return shape == 'n' ? n : shape == 'm' ? m : shape == 'Z' ? 0
         : g->start != NULL ? g->start[g->rows] : shape == 'H' ? n * n : m * n;
}

// Whether result r is a matrix that the function does not write by columns.
// Such a matrix goes through the scratch room.
static bool adx_is_moved(const adx_point *e, size_t r)
{
    return e->matrix[r].order != NULL || e->kind->out[r] == 'J';
}

// Adds up the scratch room. Either of two vectors may not be asked for, so both
// have room. Matrices are made one after another and share their room. Even an
// empty result has a place, because `work` begins behind it and must not
// overlap it (restrict).
static void adx_find_scratch(adx_point *e)
{
    bool two = strcmp(e->kind->out, "mn") == 0;
    for (size_t r = 0; e->kind->out[r] != '\0'; r++) {
        size_t length = adx_shape_length(e, r);
        length = length == 0 ? 1 : length;
        if (two)
            e->scratch += length;
        else if (adx_is_moved(e, r) && length > e->scratch)
            e->scratch = length;
    }
}

static void adx_end_point(adx_point *e)
{
    for (size_t r = 0; r < 3; r++) {
        if (!e->matrix[r].borrowed)
            adx_free_graph(&e->fn->memory, &e->matrix[r].g);
        adx_drop(&e->fn->memory, e->matrix[r].order);
    }
}

// Finds what the point needs before it is written: the order of sparse results
// by columns, zeros for inputs, and scratch room.
static ad_status adx_begin_point(adx_point *e)
{
    ad_status status = ADREV_OK;
    e->zeros = e->fn->n > e->fn->m ? e->fn->n : e->fn->m;
    for (size_t r = 0; e->kind->out[r] != '\0' && status == ADREV_OK; r++) {
        char shape = e->kind->out[r];
        unsigned sparse = adx_bits_of_shape(e, shape) & ADX_C_SPARSE;
        adx_pattern *s;
        if (sparse == 0)
            continue;
        status = adx_pattern_of(e->fn, shape == 'H', &s);
        if (status == ADREV_OK && shape == 'T')
            e->matrix[r] = (adx_by_columns){ s->g, NULL, true };
        else if (status == ADREV_OK
                 && !adx_order_columns(&e->fn->memory, &s->g, shape == 'H',
                                       &e->matrix[r]))
            status = ADREV_ENOMEM;
    }
    if (status == ADREV_OK)
        adx_find_scratch(e);
    return status;
}

static void adx_say_head(adx_point *e, const char *type, const char *what,
                         const char *parameters)
{
    adx_text *t = e->text;
    t->muted = false;
    adx_say(t, "CASADI_SYMBOL_EXPORT %s%s%s%s(%s)%s\n", type, e->kind->prefix,
            t->name, what, parameters, t->header ? ";" : "\n{");
    t->muted = t->header;       // what follows is the body
}

// Where columns begin, and the rows of all entries, as one list.
static void adx_say_columns(adx_point *e, const adx_entries *g)
{
    const ad_allocator *a = &e->fn->memory;
    size_t begins = g->rows + 1;
    size_t entries = g->start[g->rows];
    uint32_t *list = (uint32_t *)adx_take(a, begins + entries, sizeof *list);
    e->text->failed = e->text->failed || list == NULL;
    if (list == NULL)
        return;
    memcpy(list, g->start, begins * sizeof *list);
    memcpy(list + begins, g->col, entries * sizeof *list);
    adx_say_list(e->text, a, e->unrolled, list, begins + entries);
    adx_drop(a, list);
}

// Writes the shape of an input or result. By CasADi's convention a dense matrix
// has its size and a 1; any other one has where its columns begin, and the row
// of each entry.
static void adx_say_sparsity(adx_point *e, char shape, const adx_entries *g,
                             size_t which)
{
    adx_text *t = e->text;
    bool transposed = strchr("THZ", shape) != NULL;
    bool column = strchr("nmNM", shape) != NULL;
    unsigned long rows = strchr("nNTHZ", shape) != NULL ? e->fn->n : e->fn->m;
    unsigned long cols = column ? 1 : shape == 'H' || !transposed ? e->fn->n
                                                                  : e->fn->m;
    size_t entries = g == NULL || g->start == NULL ? rows * cols
                                                   : g->start[g->rows];
    if (strchr("NMZ", shape) != NULL) {         // the rest is zero
        adx_say(t, "    static const casadi_int s%lu[%lu] = { %lu, %lu };\n",
                (unsigned long)which, cols + 3, rows, cols);
        return;
    }
    adx_say(t, "    static const casadi_int s%lu[] = {\n    %lu, %lu,%s\n",
            (unsigned long)which, rows, cols,
            entries == rows * cols ? " 1" : "");
    if (entries < rows * cols)
        adx_say_columns(e, g);
    adx_say(t, "    };\n");
}

static void adx_say_sparsities(adx_point *e, const char *what,
                               const char *shapes, bool results)
{
    size_t n = strlen(shapes);
    adx_say_head(e, "const casadi_int *", what, "casadi_int i");
    for (size_t i = 0; i < n; i++)
        adx_say_sparsity(e, shapes[i], results ? &e->matrix[i].g : NULL, i);
    adx_say(e->text, "    switch (i) {\n");
    for (size_t i = 0; i < n; i++)
        adx_say(e->text, "    case %lu: return s%lu;\n", (unsigned long)i,
                (unsigned long)i);
    adx_say(e->text, "    default: return 0;\n    }\n}\n\n");
}

static void adx_say_point_names(adx_point *e, const char *what,
                                const char *const name[], size_t n)
{
    adx_say_head(e, "const char *", what, "casadi_int i");
    adx_say(e->text, "    switch (i) {\n");
    for (size_t i = 0; i < n; i++)
        adx_say(e->text, "    case %lu: return \"%s\";\n", (unsigned long)i,
                name[i]);
    adx_say(e->text, "    default: return 0;\n    }\n}\n\n");
}

// Writes the entry points of one line each, which differ only in their names.
static void adx_say_point_rest(adx_point *e)
{
    static const char *const rest[][4] = {
        { "casadi_real ", "_default_in", "casadi_int i",
          "    (void)i;\n    return 0;\n" },
        { "int ", "_alloc_mem", "void", "    return 0;\n" },
        { "int ", "_init_mem", "int mem", "    (void)mem;\n    return 0;\n" },
        { "void ", "_free_mem", "int mem", "    (void)mem;\n" },
        { "int ", "_checkout", "void", "    return 0;\n" },
        { "void ", "_release", "int mem", "    (void)mem;\n" },
        { "void ", "_incref", "void", "" },
        { "void ", "_decref", "void", "" },
    };
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        adx_say_head(e, rest[i][0], rest[i][1], rest[i][2]);
        adx_say(e->text, "%s}\n\n", rest[i][3]);
    }
}

// Writes the entry point that tells the sizes of the arrays: no integers, and
// as much work as the function that needs most.
static void adx_say_point_work(adx_point *e)
{
    adx_text *t = e->text;
    adx_say_head(e, "int ", "_work", "casadi_int *sz_arg, casadi_int *sz_res, "
                                     "casadi_int *sz_iw, casadi_int *sz_w");
    adx_say(t, "    casadi_int most = 0;\n");
    for (size_t r = 0; e->kind->out[r] != '\0'; r++) {
        const adx_c_kind *kind = adx_kind_of_shape(e, e->kind->out[r]);
        if (kind != NULL)
            adx_say(t, "    if (most < %s_%s_WORK) most = %s_%s_WORK;\n",
                    t->name, kind->what, t->name, kind->what);
    }
    adx_say(t, "    if (sz_arg) *sz_arg = %lu;\n    if (sz_res) *sz_res = %lu;"
            "\n    if (sz_iw) *sz_iw = 0;\n    if (sz_w) *sz_w = most + %lu;\n"
            "    return 0;\n}\n\n", (unsigned long)strlen(e->kind->in),
            (unsigned long)strlen(e->kind->out),
            (unsigned long)(e->zeros + e->scratch));
}

// Begins a call, as in "left = f_hessian(x0, x2, ".
static void adx_say_point_call(adx_point *e, const adx_c_kind *kind)
{
    adx_say(e->text, "        left = %s_%s(", e->text->name, kind->what);
    for (size_t i = 0; i < 3 && kind->in[i] != NULL; i++)
        adx_say(e->text, "x%c, ", e->kind->at[i]);
}

// Calls a function whose results are vectors. It writes them in place, or to
// scratch if they are not asked for.
static void adx_say_point_direct(adx_point *e)
{
    adx_text *t = e->text;
    size_t n = strlen(e->kind->out);
    size_t at = e->zeros;
    adx_say(t, "    if (res[0]%s) {\n", n == 2 ? " || res[1]" : "");
    adx_say_point_call(e, adx_kind_of_shape(e, *e->kind->out));
    for (size_t r = 0; r < n; at += adx_shape_length(e, r++))
        if (n == 1)
            adx_say(t, "res[0], ");
        else
            adx_say(t, "res[%lu] ? res[%lu] : w + %lu, ", (unsigned long)r,
                    (unsigned long)r, (unsigned long)at);
    adx_say(t, "w + %lu);\n        if (left) return left;\n    }\n",
            (unsigned long)(e->zeros + e->scratch));
}

static void adx_say_point_order(adx_point *e, size_t r)
{
    const adx_by_columns *matrix = &e->matrix[r];
    size_t entries = adx_shape_length(e, r);
    adx_say(e->text, "    static const int order%lu[] = {\n",
            (unsigned long)r);
    adx_say_list(e->text, &e->fn->memory, e->unrolled, matrix->order, entries);
    adx_say(e->text, "    };\n");
}

// Writes the call that computes result r, a matrix, and the loop that puts its
// entries in the order of columns.
static void adx_say_point_matrix(adx_point *e, size_t r)
{
    adx_text *t = e->text;
    char shape = e->kind->out[r];
    bool sparse = e->matrix[r].order != NULL;
    bool moved = adx_is_moved(e, r);
    unsigned long from = e->zeros;
    unsigned long n = e->fn->n;
    unsigned long m = e->fn->m;
    adx_say(t, "    if (res[%lu]) {\n", (unsigned long)r);
    adx_say_point_call(e, adx_kind_of_shape(e, shape));
    if (moved)
        adx_say(t, "w + %lu, ", from);
    else
        adx_say(t, "res[%lu], ", (unsigned long)r);
    adx_say(t, "w + %lu);\n        if (left) return left;\n",
            (unsigned long)(e->zeros + e->scratch));
    if (sparse)
        adx_say(t, "        for (i = 0; i < %lu; i++)\n"
                "            res[%lu][i] = w[%lu + order%lu[i]];\n",
                (unsigned long)adx_shape_length(e, r), (unsigned long)r, from,
                (unsigned long)r);
    else if (moved && m * n > 0)
        adx_say(t, "        for (i = 0; i < %lu; i++)\n"
                "            res[%lu][i] = w[%lu + i %% %lu * %lu + i / %lu];"
                "\n", m * n, (unsigned long)r, from, m, n, m);
    adx_say(t, "    }\n");
}

// Writes the entry point itself. Inputs that are not given become zeros, and
// then each result is computed.
static void adx_say_point(adx_point *e)
{
    adx_text *t = e->text;
    const char *out = e->kind->out;
    adx_say_head(e, "int ", "", "const casadi_real **arg, casadi_real **res, "
                                "casadi_int *iw, casadi_real *w, int mem");
    for (size_t r = 0; out[r] != '\0'; r++)
        if (e->matrix[r].order != NULL)
            adx_say_point_order(e, r);
    for (const char *at = e->kind->at; *at != '\0'; at++)
        adx_say(t, "    const casadi_real *x%c = arg[%c] ? arg[%c] : w;\n",
                *at, *at, *at);
    adx_say(t, "    long i;\n    int left = 0;\n    (void)iw; (void)mem;\n"
            "    for (i = 0; i < %lu; i++) w[i] = 0;\n",
            (unsigned long)e->zeros);
    if (strchr("nm", *out) != NULL)
        adx_say_point_direct(e);
    else
        for (size_t r = 0; out[r] != '\0'; r++)
            if (out[r] != 'Z')
                adx_say_point_matrix(e, r);
    adx_say(t, "    return left;\n}\n\n");
}

static ad_status adx_write_point(const adx_c_file *file,
                                 const adx_point_kind *kind)
{
    adx_text *t = file->text;
    adx_point e = { .text = t, .fn = file->fn, .kind = kind,
                    .asked = file->asked,
                    .unrolled = file->options->unrolled };
    size_t in = strlen(kind->in);
    size_t out = strlen(kind->out);
    ad_status status = adx_begin_point(&e);
    if (status == ADREV_OK) {
        adx_say_point(&e);
        adx_say_head(&e, "casadi_int ", "_n_in", "void");
        adx_say(t, "    return %lu;\n}\n\n", (unsigned long)in);
        adx_say_head(&e, "casadi_int ", "_n_out", "void");
        adx_say(t, "    return %lu;\n}\n\n", (unsigned long)out);
        adx_say_point_names(&e, "_name_in", kind->in_name, in);
        adx_say_point_names(&e, "_name_out", kind->out_name, out);
        adx_say_sparsities(&e, "_sparsity_in", kind->in, false);
        adx_say_sparsities(&e, "_sparsity_out", kind->out, true);
        adx_say_point_work(&e);
        adx_say_point_rest(&e);
    }
    adx_end_point(&e);
    return status;
}

static ad_status adx_write_points(const adx_c_file *file)
{
    adx_text *t = file->text;
    const unsigned asked = file->asked;
    ad_status status = ADREV_OK;
    adx_say(t, "#ifndef casadi_real\n#define casadi_real double\n#endif\n"
            "#ifndef casadi_int\n#define casadi_int long long int\n#endif\n"
            "#ifndef CASADI_SYMBOL_EXPORT\n#ifdef _WIN32\n"
            "#define CASADI_SYMBOL_EXPORT __declspec(dllexport)\n#else\n"
            "#define CASADI_SYMBOL_EXPORT\n#endif\n#endif\n\n");
    for (size_t i = 0; i < ADX_POINT_KINDS && status == ADREV_OK; i++) {
        const adx_point_kind *kind = &adx_point_kinds[i];
        if (kind->functions & asked && (kind->more == 0 || kind->more & asked))
            status = adx_write_point(file, kind);
        t->muted = false;
    }
    return status;
}

ADX_SELDOM_END

/* === code/write =============================================================
 * The whole C file, and its header: what stands at the top, then the functions,
 * one after another.
 *
 *   needs   tape/memory core/cells function/api code/api code/text code/wanted
 *           code/casadi
 *   offers  adx_is_usable adx_is_includable ADX_FORM_loaded adx_write_c
 * ========================================================================== */

ADX_SELDOM_BEGIN

// What a dialect has instead of <math.h>, and how code reads an array. NVRTC
// has no headers.
static void adx_say_dialect(adx_text *t)
{
    static const char opencl[] =
        "#ifdef cl_khr_fp64\n"
        "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
        "#endif\n"
        "#pragma OPENCL FP_CONTRACT OFF\n\n";
    static const char cuda[] =
        "#if defined __CUDACC_RTC__ || defined __HIPCC_RTC__\n"
        "#define NAN __int_as_float(0x7fffffff)\n"
        "#define HUGE_VALF __int_as_float(0x7f800000)\n"
        "#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)\n"
        "#else\n"
        "#ifdef __HIPCC__\n"
        "#include <hip/hip_runtime.h>\n"
        "#endif\n"
        "#include <math.h>\n"
        "#endif\n\n";
    const char *top = t->dialect == ADREV_OPENCL ? opencl : cuda;
    adx_put_text(t, top, strlen(top));
    adx_say(t, "#define %s_AT(array, i) array[(i) * array##_stride]\n\n",
            t->name);
}

// Writes the top of the file. In a header its comment says what is true of each
// function.
static void adx_say_top(const adx_c_file *file)
{
    adx_text *t = file->text;
    const char *includes = file->options->header;
    adx_say(t, "/* %lu inputs, ", (unsigned long)file->fn->n);
    if (file->fn->variables < file->fn->n)
        adx_say(t, "derivatives by the first %lu, ",
                (unsigned long)file->fn->variables);
    adx_say(t, "%lu results; written by adrev " ADREV_VERSION ".%s",
            (unsigned long)file->fn->m, t->header ? "" : " */\n\n");
    if (!t->header && includes != NULL) {
        adx_say(t, "#include \"");
        adx_put_text(t, includes, strlen(includes));
        adx_say(t, "\"\n");
    }
    if (t->dialect != ADREV_C99)
        adx_say_dialect(t);
    else if (!t->header)
        adx_say_math(t, t->loaded);
    else
        adx_say(t, "\n *\n * Functions return 0, or 1 + the guard that x did "
                "not pass: then nothing\n * but work has been written. work "
                "has %s_..._WORK numbers, whatever is in\n * them. Arrays do "
                "not overlap. A\n * derivative has the unit of its result "
                "divided by those of its inputs.\n */\n\n"
                "#ifndef %s_H\n#define %s_H\n\n"
                "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", t->name,
                t->name, t->name);
}

// Helper functions come first; but which are needed is known when all others
// have been written. So these wait in memory, and on failure nothing is
// written.
static ad_status adx_write_all(adx_c_file *file)
{
    adx_text *t = file->text;
    adx_text out = *t;
    adx_bytes functions = { .memory = &file->fn->memory };
    if (out.write != NULL) {
        t->write = adx_put_bytes;
        t->user = &functions;
    }
    ad_status status = adx_do_kinds(file);
    if (status == ADREV_OK && file->options->casadi)
        status = adx_write_points(file);
    if (status == ADREV_OK && (functions.failed || t->failed))
        status = ADREV_ENOMEM;
    out.bytes = t->bytes;
    *t = out;
    if (status == ADREV_OK) {
        adx_say_top(file);
        if (!t->header)
            adx_say_helpers(t, file->needed);
        if (functions.n > 0)
            t->write((const char *)functions.v, functions.n, t->user);
        if (t->header)
            adx_say(t, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    }
    adx_drop(functions.memory, functions.v);
    return status;
}

// Names that cannot be used: keywords, and what <math.h> declares.
static const char adx_taken_names[] =
    " auto break case char const continue default do double else enum extern"
    " float for goto if inline int long register restrict return short signed"
    " sizeof static struct switch typedef union unsigned void volatile while"
    " asm typeof main casadi_real casadi_int"
    " INFINITY NAN HUGE_VAL HUGE_VALF HUGE_VALL MATH_ERRNO MATH_ERREXCEPT"
    " math_errhandling double_t float_t signgam j0 j1 jn y0 y1 yn gamma"
    " fpclassify isfinite isinf isnan isnormal signbit isgreater"
    " isgreaterequal isless islessequal islessgreater isunordered ";
static const char adx_math_names[] =        // these also with an f or l behind
    " acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem"
    " erf erfc exp exp10 exp2 expm1 fabs fdim finite floor fma fmax fmin fmod"
    " frexp hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llrint llround log"
    " log10 log1p log2 logb lrint lround modf nan nearbyint nextafter"
    " nexttoward pow pow10 remainder remquo rint round scalb scalbln scalbn"
    " significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn ";

// Whether a name of n characters is in a list of names, each with a blank
// before and behind it.
static bool adx_is_listed(const char *list, const char *name, size_t n)
{
    for (; *list != '\0'; list += 1 + strcspn(list + 1, " "))
        if (strncmp(list + 1, name, n) == 0 && list[1 + n] == ' ')
            return true;
    return false;
}

static bool adx_is_usable(const char *name)
{
    size_t n = 0;
    while (n <= 100 && (adx_is_letter(name[n])
                        || (n > 0 && adx_is_digit(name[n]))))
        n++;
    return n > 0 && n <= 100 && name[n] == '\0'
        && !adx_is_listed(adx_taken_names, name, n)
        && !adx_is_listed(adx_math_names, name, n)
        && !(n > 1 && strchr("fl", name[n - 1]) != NULL
             && adx_is_listed(adx_math_names, name, n - 1));
}

// Whether a header of that name can be included. NULL is allowed.
static bool adx_is_includable(const char *name)
{
    return name == NULL || (strlen(name) <= 200
                            && strpbrk(name, "\"\r\n") == NULL);
}

// What is written besides a function's plain code.
typedef enum adx_form {
    ADX_FORM_code, ADX_FORM_loaded, ADX_FORM_header
} adx_form;

// Checks the options and writes the file; ADREV_ESHAPE: they contradict one
// another, or a name cannot be used.
static ad_status adx_write_c(ad_fn *fn, const ad_c_options *o, adx_form form,
                             ad_write_fn *write, void *user, size_t *bytes,
                             ad_c_size size[])
{
    bool loaded = form == ADX_FORM_loaded;
    bool declared = form == ADX_FORM_header || o->header != NULL;
    unsigned functions = o->functions != 0 ? o->functions
        : ADREV_C_VALUE | ADREV_C_VJP | (fn->m == 1 ? ADREV_C_GRADIENT : 0u);
    if ((functions & ~(unsigned)(loaded ? ADX_C_ALL : ADX_C_ALL >> 3)) != 0
        || (functions & ADREV_C_GRADIENT && fn->m != 1)
        || (o->casadi && (o->single || fn->variables < fn->n))
        || (declared && !o->exported)
        || (o->name != NULL && !adx_is_usable(o->name))
        || !adx_is_includable(o->header)
        || (o->dialect == ADREV_C99 ? o->common > 0
            : (unsigned)o->dialect > ADREV_CUDA || declared || o->casadi
              || loaded || o->common > fn->n))
        return ADREV_ESHAPE;
    adx_text t = { .write = write, .user = user,
                   .name = o->name == NULL ? "f" : o->name,
                   .real = o->single ? "float" : "double",
                   .single = o->single, .absorbing = o->absorbing,
                   .dialect = o->dialect,
                   .exported = o->exported, .loaded = loaded,
                   .header = form == ADX_FORM_header };
    adx_c_file file = { .fn = fn, .options = o, .asked = functions, .text = &t,
                    .size = size };
    ad_status status = adx_write_all(&file);
    if (bytes != NULL && status == ADREV_OK)
        *bytes = t.bytes;
    return status;
}

ADX_API ad_status ad_fn_write_c(ad_fn *fn, const ad_c_options *options,
                                ad_write_fn *write, void *user,
                                size_t *bytes)
{
    static const ad_c_options none;
    return fn == NULL ? ADREV_ESHAPE
         : adx_write_c(fn, options == NULL ? &none : options, ADX_FORM_code,
                       write, user, bytes, NULL);
}

ADX_API ad_status ad_fn_write_h(ad_fn *fn, const ad_c_options *options,
                                ad_write_fn *write, void *user,
                                size_t *bytes)
{
    return fn == NULL || options == NULL ? ADREV_ESHAPE
         : adx_write_c(fn, options, ADX_FORM_header, write, user, bytes, NULL);
}

ADX_API ad_status ad_fn_c_size(ad_fn *fn, const ad_c_options *options,
                               ad_c_size size[], size_t *bytes)
{
    static const ad_c_options none;
    ad_c_size found[ADREV_C_COUNT] = { { .bytes = 0 } };
    if (fn == NULL || size == NULL)
        return ADREV_ESHAPE;
    ad_status status = adx_write_c(fn, options == NULL ? &none : options,
                                   ADX_FORM_code, NULL, NULL, bytes, found);
    if (status == ADREV_OK)
        memcpy(size, found, sizeof found);
    return status;
}

ADX_SELDOM_END

/* === code/save ==============================================================
 * A function is written as it stands in memory, number by number. When it is
 * read, nothing is believed: every index is compared with what was read before
 * it, and whatever a node does not use must be as it would have been written.
 * So a file is accepted only if a recording can make the function, and saving
 * the function again gives the same bytes.
 *
 *   needs   tape/memory core/cells core/hash function/api function/program
 *           function/adjoints function/record function/functions
 *           function/evaluation code/text
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- writing ------------------------------------------------------------- */

#define ADX_FILE_MAGIC   0x6e666461u        // "adfn"
#define ADX_FILE_VERSION 1u
#define ADX_FILE_CHOSEN  2u     // the same, with a number of variables

static void adx_put_string(adx_bytes *b, const char *text)
{
    size_t n = text == NULL ? 0 : strlen(text);
    adx_put_word(b, n, 4);
    adx_put_bytes(text, n, b);
}

static void adx_put_real(adx_bytes *b, ad_real v)
{
    uint32_t narrow = 0;
    uint64_t wide = 0;
    if (sizeof v == sizeof narrow)
        memcpy(&narrow, &v, sizeof narrow);
    else
        memcpy(&wide, &v, sizeof wide < sizeof v ? sizeof wide : sizeof v);
    adx_put_word(b, narrow | wide, sizeof v);
}

// Lists all operations by name, since their codes may change from version to
// version.
static void adx_put_operations(adx_bytes *b)
{
    adx_put_word(b, ADX_OP_COUNT, 4);
    for (uint32_t op = 0; op < ADX_OP_COUNT; op++)
        adx_put_string(b, adx_row_of(op)->name);
}

// Kinds by number (docs/saved-functions.md), so these stay as they are.
ADX_STATIC_ASSERT(ADX_MANY_each == 0 && ADX_MANY_sum == 1 && ADX_MANY_most == 2
                  && ADX_MANY_norm == 3 && ADX_MANY_product == 4
                  && ADX_MANY_gather == 5,
                  "saved functions name these kinds by number: add new ones "
                  "behind ADX_MANY_gather");

static void adx_put_many(adx_bytes *b, const adx_many *k)
{
    const uint32_t word[] = { (uint32_t)k->kind, k->op, k->m, k->k, k->n };
    for (size_t i = 0; i < 5; i++)
        adx_put_word(b, word[i], 4);
    for (int i = 0; i < 3; i++) {
        const adx_numbers *arg = &k->arg[i < adx_many_arity(k) ? i : 0];
        adx_put_word(b, arg->base, 4);
        adx_put_word(b, (uint32_t)arg->rs, 4);
        adx_put_word(b, (uint32_t)arg->cs, 4);
    }
    for (size_t i = 0; k->kind == ADX_MANY_gather && i < k->n; i++)
        adx_put_word(b, k->list[i], 4);
}

static void adx_put_program(adx_bytes *b, const adx_program *p)
{
    for (size_t i = 0; i < p->numbers; i++) {
        bool fixed = adx_is_constant_number(p, i);
        adx_put_word(b, fixed ? 1 : 0, 1);
        if (fixed)
            adx_put_real(b, *adx_constant_of(p, i));
    }
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        const uint32_t word[] = { s->op, s->r, s->a, s->b, s->c };
        for (size_t k = 0; k < 5; k++)
            adx_put_word(b, word[k], 4);
        if (s->op == ADX_OP_many)
            adx_put_many(b, &p->many[s->a]);
    }
    for (size_t i = 0; i < p->outputs; i++)
        adx_put_word(b, p->output[i], 4);
}

// What comes before the program: a head, counts, and the names of operations.
static void adx_put_head(adx_bytes *b, const ad_fn *fn, const adx_program *p,
                         const ad_fn_report *report)
{
    bool chosen = fn->variables < fn->n;
    const uint64_t head[] = { ADX_FILE_MAGIC,
                              chosen ? ADX_FILE_CHOSEN : ADX_FILE_VERSION,
                              sizeof(ad_real) };
    const uint64_t count[] = {
        fn->n, fn->m, p->numbers, p->nodes, report->recorded, report->constant,
        report->common, report->identity, report->dead, report->operations,
        report->arrays, report->guards
    };
    for (size_t i = 0; i < 3; i++)
        adx_put_word(b, head[i], 4);
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        adx_put_word(b, count[i], 8);
    if (chosen)
        adx_put_word(b, fn->variables, 8);
    adx_put_operations(b);
}

// The file is what comes before the program, the program, the places of guards
// in the user's source, and a checksum of all that.
static ad_status adx_put_file(const ad_fn *fn, const adx_program *p,
                              const ad_fn_report *report, ad_write_fn *write,
                              void *user)
{
    if (adx_has_external(p))    // a file cannot hold functions of the user's
        return ADREV_EEXTERNAL;
    adx_bytes b = { .memory = &fn->memory };
    adx_put_head(&b, fn, p, report);
    adx_put_program(&b, p);
    for (size_t i = 0; i < report->guards; i++) {
        adx_put_word(&b, (uint32_t)fn->guard[i].line, 4);
        adx_put_string(&b, fn->guard[i].file);
    }
    if (!b.failed)
        adx_put_word(&b, adx_xxh3(b.v, b.n, 0), 8);
    if (!b.failed)
        write((const char *)b.v, b.n, user);
    adx_drop(&fn->memory, b.v);
    return b.failed ? ADREV_ENOMEM : ADREV_OK;
}

// What no result needs is left out.
ADX_API ad_status ad_fn_save(const ad_fn *fn, ad_write_fn *write, void *user)
{
    if (fn == NULL || write == NULL)
        return ADREV_ESHAPE;
    adx_program copy;           // the program without what no result needs
    const adx_program *p = &fn->program;
    ad_fn_report report;
    ad_status status = ADREV_OK;
    if (!adx_count_live(p, &report))
        return ADREV_ENOMEM;
    adx_begin_program(&copy, &fn->memory, false);
    if (!p->counted && report.dead > 0) {
        status = adx_make_copy(&copy, p);
        p = &copy;
    }
    if (status == ADREV_OK)
        status = adx_put_file(fn, p, &report, write, user);
    adx_free_program(&copy);
    return status;
}

/* --- reading ------------------------------------------------------------- */

// What is read of a file: the first failure ends all reading.
typedef struct adx_source_bytes {
    const uint8_t *v;           // the next byte
    size_t left;                // how many are left
    bool bad;                   // more was asked for than there is
} adx_source_bytes;

// The next bytes as an integer. Beyond the end of the file it is 0 and the file
// is bad, so a caller need not ask after each number.
static uint64_t adx_get_integer(adx_source_bytes *b, size_t bytes)
{
    uint64_t v = 0;
    if (b->bad || b->left < bytes) {
        b->bad = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)b->v[i] << (8 * i);
    b->v += bytes;
    b->left -= bytes;
    return v;
}

static uint32_t adx_get_word(adx_source_bytes *b)
{
    return (uint32_t)adx_get_integer(b, 4);
}

static ad_real adx_get_real(adx_source_bytes *b)
{
    ad_real v = 0;
    uint64_t wide = adx_get_integer(b, sizeof v);
    uint32_t narrow = (uint32_t)wide;
    if (sizeof v == sizeof narrow)
        memcpy(&v, &narrow, sizeof narrow);
    else
        memcpy(&v, &wide, sizeof wide < sizeof v ? sizeof wide : sizeof v);
    return v;
}

// A count of things that take that many bytes each: no more than there can be
// in the rest of the file.
static size_t adx_get_count(adx_source_bytes *b, size_t each)
{
    uint64_t n = adx_get_integer(b, 8);
    if (n > b->left / each || n >= ADX_FROM_INPUT)
        b->bad = true;
    return b->bad ? 0 : (size_t)n;
}

// A string, which stays where it is. *n becomes its length.
static const char *adx_get_string(adx_source_bytes *b, size_t *n)
{
    *n = adx_get_word(b);
    const char *text = (const char *)b->v;
    if (b->bad || *n > b->left) {
        b->bad = true;
        *n = 0;
        return text;
    }
    b->v += *n;
    b->left -= *n;
    return text;
}

typedef struct adx_loading {
    adx_source_bytes b;
    adx_program *p;
    uint32_t op[256];           // for each code of the file, the code here
    uint32_t ops;               // how many operations the file knows
    size_t made;                // all numbers below this one have been made
    uint32_t *guard;            // for each of these numbers: 1 + the last one
                                // up to it that a guard makes; 0: there is none
} adx_loading;

// The counts that a file begins with.
typedef struct adx_file_counts {
    size_t n, m;                // inputs and results
    size_t variables;           // of the inputs
    size_t numbers, nodes;
    ad_fn_report report;
} adx_file_counts;

static void adx_get_operations(adx_loading *k)
{
    k->ops = adx_get_word(&k->b);
    if (k->ops > 250)
        k->b.bad = true;
    for (uint32_t i = 0; i < k->ops && !k->b.bad; i++) {
        size_t n;
        const char *name = adx_get_string(&k->b, &n);
        uint32_t op = adx_operation_named(name, n);
        k->op[i] = op < ADX_OP_COUNT ? op : (uint32_t)ADX_OP_end;
    }
}

// The code here of an operation of the file; ADX_OP_end: there is none. Guards
// and array nodes have the two codes behind those of the operations.
static uint32_t adx_get_code(const adx_loading *k, uint32_t op)
{
    return op < k->ops ? k->op[op]
         : op == k->ops ? (uint32_t)ADX_OP_guard
         : op == k->ops + 1 ? (uint32_t)ADX_OP_many : (uint32_t)ADX_OP_end;
}

#define ADX_NOT_MADE (ADX_FROM_INPUT - 1)       // no node read so far makes it

// Whether a node may read a number: it has been made, and not by a guard.
static bool adx_is_readable(const adx_loading *k, uint64_t x)
{
    const adx_program *p = k->p;
    return x < k->made
        && (p->from[x] >= ADX_FROM_INPUT
            || p->node[p->from[x]].op != ADX_OP_guard);
}

static void adx_check_read(adx_loading *k, uint64_t x)
{
    if (!adx_is_readable(k, x))
        k->b.bad = true;
}

// Goes on after a node has been read: its results have been made, and so have
// the constants that follow them.
static void adx_note_made(adx_loading *k)
{
    const adx_program *p = k->p;
    while (k->made < p->numbers && p->from[k->made] != ADX_NOT_MADE) {
        size_t x = k->made++;
        k->guard[x] = !adx_is_readable(k, x) ? (uint32_t)x + 1
                    : x > 0 ? k->guard[x - 1] : 0;
    }
}

// Finds the first and the last number of a range that is not empty. False: they
// have not been made. Steps are bounded first, so that no sum overflows.
static bool adx_find_ends(const adx_loading *k, const adx_numbers *r,
                          size_t rows, size_t cols, int64_t end[2])
{
    const int64_t most = (int64_t)k->p->numbers;
    const int64_t step[2] = { r->rs, r->cs };
    const int64_t way[2] = { (int64_t)(rows - 1) * r->rs,
                             (int64_t)(cols - 1) * r->cs };
    end[0] = end[1] = r->base;
    for (int i = 0; i < 2; i++) {
        if (step[i] > most || step[i] < -most   // even if there is no step
            || way[i] > most || way[i] < -most)
            return false;
        end[way[i] > 0] += way[i];
    }
    return end[0] >= 0 && end[1] < (int64_t)k->made;
}

// Checks that all elements of a range can be read. A file of a few bytes can
// name ranges of 2^31 elements, so they are mostly not looked at one by one: if
// no number between the two ends is made by a guard, all can be read. Where
// there is a guard in between, a range with more elements than there are
// numbers is refused.
static void adx_check_range(adx_loading *k, const adx_numbers *r, size_t rows,
                            size_t cols)
{
    int64_t end[2];
    if (rows == 0 || cols == 0)
        return;
    if (!adx_find_ends(k, r, rows, cols, end)) {
        k->b.bad = true;
        return;
    }
    if (k->guard[end[1]] <= end[0])
        return;
    rows = r->rs == 0 ? 1 : rows;
    cols = r->cs == 0 ? 1 : cols;
    if ((uint64_t)rows * cols > k->p->numbers)
        k->b.bad = true;
    for (size_t i = 0; i < rows && !k->b.bad; i++)
        for (size_t j = 0; j < cols && !k->b.bad; j++)
            adx_check_read(k, adx_in_range(r, i, j));
}

// Checks that all that a node reads has been made. A guard compares with a
// constant.
static void adx_check_reads(adx_loading *k, const adx_node *s)
{
    const adx_many *m = adx_many_of(k->p, s);
    if (m == NULL) {
        adx_check_read(k, s->a);
        adx_check_read(k, s->b);
        if (s->op != ADX_OP_guard)
            adx_check_read(k, s->c);
        else if (!k->b.bad && !adx_is_fixed(k->p, s->b))
            k->b.bad = true;
        return;
    }
    for (size_t i = 0; i < adx_listed(m) && !k->b.bad; i++)
        adx_check_read(k, m->list[i]);
    for (int a = 0; a < 3; a++) {
        size_t rows;
        size_t cols;
        adx_extent(m, a, &rows, &cols);
        adx_check_range(k, &m->arg[a], rows, cols);
    }
}

static void adx_get_list(adx_loading *k, adx_many *m)
{
    if (m->n > k->b.left / 4) {
        k->b.bad = true;
        return;
    }
    m->list = (uint32_t *)adx_take(k->p->memory, m->n, sizeof *m->list);
    if (m->list == NULL)
        adx_spoil(k->p, ADREV_ENOMEM);
    for (size_t i = 0; m->list != NULL && i < m->n; i++)
        m->list[i] = adx_get_word(&k->b);
}

static bool adx_is_range(const adx_numbers *a, const adx_numbers *b)
{
    return a->base == b->base && a->rs == b->rs && a->cs == b->cs;
}

// Whether a kind of a file exists, and its operation.
static bool adx_is_known_kind(const adx_many *m)
{
    return m->kind < ADX_MANY_external
        && (m->kind == ADX_MANY_each ? m->op < ADX_OP_COUNT
            : m->kind == ADX_MANY_product ? m->op == ADREV_OP_mul
                                         || m->op == ADX_OP_chain
            : m->op == 0);
}

// Whether it has the counts of its kind, each other being 0, and no more
// operands or results than a sound file can have. Its arguments are checked
// afterwards, with those of all nodes.
static bool adx_is_plausible(const adx_loading *k, const adx_many *m)
{
    const uint64_t most = k->p->numbers;
    const adx_many_facts *f = adx_facts_of(m->kind);
    return (m->m > 0) == f->m && (m->k > 0) == f->k && (m->n > 0) == f->n
        && m->m <= most && m->k <= most && m->n <= most
        && (uint64_t)m->m * m->n <= most
        && (uint64_t)m->m * m->k < ADX_FROM_INPUT
        && (uint64_t)m->k * m->n < ADX_FROM_INPUT;
}

// Reads an array node. Arguments that it does not have must be as they are
// written.
static void adx_get_many(adx_loading *k, adx_many *m)
{
    static const adx_numbers none = { 0, 0, 0 };
    memset(m, 0, sizeof *m);
    m->kind = (adx_many_kind)adx_get_word(&k->b);
    m->op = adx_get_word(&k->b);
    if (m->kind == ADX_MANY_each || m->kind == ADX_MANY_product)
        m->op = adx_get_code(k, m->op);
    m->m = adx_get_word(&k->b);
    m->k = adx_get_word(&k->b);
    m->n = adx_get_word(&k->b);
    for (size_t i = 0; i < 3; i++) {
        m->arg[i].base = adx_get_word(&k->b);
        m->arg[i].rs = (int32_t)adx_get_word(&k->b);
        m->arg[i].cs = (int32_t)adx_get_word(&k->b);
    }
    if (!adx_is_known_kind(m)) {
        k->b.bad = true;
        return;
    }
    bool unused = m->kind != ADX_MANY_gather || adx_is_range(&m->arg[0], &none);
    for (int i = adx_many_arity(m); i < 3; i++)     // those repeat the first
        unused = unused && adx_is_range(&m->arg[i], &m->arg[0]);
    if (!unused || !adx_is_plausible(k, m))
        k->b.bad = true;
    else if (m->kind == ADX_MANY_gather)
        adx_get_list(k, m);
}

// Whether the arguments that an operation does not have are as they are
// written.
static bool adx_is_filled(const adx_node *s)
{
    int arity = s->op < ADX_OP_COUNT ? adx_row_of(s->op)->arity : 3;
    return (arity > 1 || s->b == s->a) && (arity > 2 || s->c == s->a);
}

// Reads node i, whose results must be the next numbers that have not been made,
// and whose arguments must have been made.
static void adx_get_node(adx_loading *k, size_t i, size_t guards)
{
    adx_program *p = k->p;
    adx_node s;
    s.op = adx_get_code(k, adx_get_word(&k->b));
    s.r = adx_get_word(&k->b);
    s.a = adx_get_word(&k->b);
    s.b = adx_get_word(&k->b);
    s.c = adx_get_word(&k->b);
    // Results are the next numbers, guards have a place, and array nodes are
    // listed in the order of their nodes.
    if (s.r != k->made || s.op > ADX_OP_many || !adx_is_filled(&s)
        || (s.op == ADX_OP_guard && s.c >= guards)
        || (s.op == ADX_OP_many && (s.a != p->manys || s.b != 0 || s.c != 0)))
        k->b.bad = true;
    if (s.op == ADX_OP_many && !k->b.bad) {
        if (!adx_make_room_for(p->memory, (void **)&p->many, &p->many_room,
                               p->manys, sizeof *p->many)) {
            adx_spoil(p, ADREV_ENOMEM);
            return;
        }
        adx_get_many(k, &p->many[p->manys++]);
    }
    if (k->b.bad || p->status != ADREV_OK)
        return;
    adx_check_reads(k, &s);
    for (size_t j = 0; j < adx_results_of(p, &s) && !k->b.bad; j++)
        if (s.r + j >= p->numbers || p->from[s.r + j] != ADX_NOT_MADE)
            k->b.bad = true;
        else
            p->from[s.r + j] = (uint32_t)i;
    p->node[p->nodes++] = s;
    adx_note_made(k);
}

// Reads what each number is: a constant, or not. Inputs come first; all others
// are still to be made by nodes.
static void adx_get_numbers(adx_loading *k, size_t inputs, size_t numbers)
{
    for (size_t i = 0; i < numbers && !k->b.bad; i++) {
        uint64_t kind = adx_get_integer(&k->b, 1);
        bool fixed = kind == 1;
        ad_real v = fixed ? adx_get_real(&k->b) : 0;
        if (fixed)
            adx_new_constant(k->p, v);
        else
            adx_new_number(k->p, i < inputs ? ADX_FROM_INPUT : ADX_NOT_MADE);
        if (kind > 1 || (fixed && i < inputs))
            k->b.bad = true;
    }
    k->p->inputs = inputs;
    if (inputs > numbers)
        k->b.bad = true;
}

// Reads where the user's source has the guards. Their file names share one
// block of memory, which is large enough: each takes no more than its bytes in
// the file and a 0.
static void adx_get_guards(adx_loading *k, ad_fn *fn, size_t guards)
{
    size_t room = k->b.left + guards;
    char *at = fn->names = (char *)adx_take(&fn->memory, room, 1);
    fn->guard = (adx_code_place *)adx_take(&fn->memory, guards,
                                           sizeof *fn->guard);
    if (at == NULL || fn->guard == NULL) {
        adx_spoil(k->p, ADREV_ENOMEM);
        return;
    }
    for (size_t i = 0; i < guards && !k->b.bad; i++) {
        size_t n;
        fn->guard[i].line = (int)adx_get_word(&k->b);
        const char *name = adx_get_string(&k->b, &n);
        fn->guard[i].file = n == 0 ? NULL : at;
        if (memchr(name, '\0', n) != NULL)
            k->b.bad = true;
        memcpy(at, name, n);
        at[n] = '\0';
        at += n == 0 ? 0 : n + 1;
    }
}

// Reads the counts. What is counted must fit into the rest of the file, so that
// no memory is asked for that the file could not fill.
static void adx_get_counts(adx_source_bytes *b, bool chosen, adx_file_counts *c)
{
    c->n = adx_get_count(b, 1);
    c->m = adx_get_count(b, 4);
    c->numbers = adx_get_count(b, 1);
    c->nodes = adx_get_count(b, 20);
    c->report.recorded = (size_t)adx_get_integer(b, 8);
    c->report.constant = (size_t)adx_get_integer(b, 8);
    c->report.common = (size_t)adx_get_integer(b, 8);
    c->report.identity = (size_t)adx_get_integer(b, 8);
    c->report.dead = (size_t)adx_get_integer(b, 8);
    c->report.operations = (size_t)adx_get_integer(b, 8);
    c->report.arrays = (size_t)adx_get_integer(b, 8);
    c->report.guards = adx_get_count(b, 8);
    c->variables = chosen ? adx_get_count(b, 1) : c->n;
    b->bad = b->bad || c->variables > c->n;
}

// Reads the program. When all nodes have been read, all numbers must have been
// made, and nothing may be left at the end of the file.
static void adx_get_program(adx_loading *k, ad_fn *fn, const adx_file_counts *c)
{
    adx_program *p = k->p;
    adx_get_operations(k);
    adx_get_numbers(k, fn->n, c->numbers);
    p->report = c->report;
    p->counted = true;
    k->guard = (uint32_t *)adx_take(p->memory, c->numbers, sizeof *k->guard);
    if (k->guard == NULL)
        adx_spoil(p, ADREV_ENOMEM);
    else if (!k->b.bad && p->status == ADREV_OK)
        adx_note_made(k);
    p->node = (adx_node *)adx_take(p->memory, c->nodes, sizeof *p->node);
    if (p->node == NULL)
        adx_spoil(p, ADREV_ENOMEM);
    p->node_room = p->node == NULL ? 0 : c->nodes;
    for (size_t i = 0; i < c->nodes && !k->b.bad && p->status == ADREV_OK; i++)
        adx_get_node(k, i, c->report.guards);
    if (k->made < p->numbers)
        k->b.bad = true;
    for (size_t i = 0; i < fn->m && !k->b.bad && p->status == ADREV_OK; i++) {
        uint32_t y = adx_get_word(&k->b);
        if (!adx_is_readable(k, y))
            k->b.bad = true;
        else
            adx_new_output(p, y);
    }
    if (!k->b.bad && p->status == ADREV_OK)
        adx_get_guards(k, fn, c->report.guards);
    if (k->b.left != 0)
        k->b.bad = true;
}

// Whether the first words and the checksum are those of a file that this build
// can read. Its end is looked for only behind a right beginning: there may be
// no such address if the length is made up.
static bool adx_is_file(const void *data, size_t bytes)
{
    const uint8_t *v = (const uint8_t *)data;
    adx_source_bytes head = { v, bytes, false };
    if (bytes <= 20 || adx_get_integer(&head, 4) != ADX_FILE_MAGIC
        || adx_get_integer(&head, 4) - ADX_FILE_VERSION
           > ADX_FILE_CHOSEN - ADX_FILE_VERSION
        || adx_get_integer(&head, 4) != sizeof(ad_real))
        return false;
    adx_source_bytes tail = { v + bytes - 8, 8, false };
    return adx_get_integer(&tail, 8) == adx_xxh3(v, bytes - 8, 0);
}

// Reads the counts, then the program.
ADX_API ad_status ad_fn_load(ad_fn **out, const void *data, size_t bytes,
                             const ad_fn_options *options)
{
    static const ad_fn_options none;
    if (out == NULL)
        return ADREV_ESHAPE;
    *out = NULL;
    if (data == NULL)
        return ADREV_ESHAPE;
    if (!adx_is_file(data, bytes))
        return ADREV_EFILE;
    adx_loading k = { .b = { (const uint8_t *)data + 12, bytes - 20, false } };
    adx_file_counts c;
    adx_source_bytes head = { (const uint8_t *)data + 4, 4, false };
    adx_get_counts(&k.b, adx_get_integer(&head, 4) == ADX_FILE_CHOSEN, &c);
    if (k.b.bad || c.m == 0)
        return ADREV_EFILE;
    ad_fn *fn = adx_new_fn(options == NULL ? &none : options, c.n, c.m);
    if (fn == NULL)
        return ADREV_ENOMEM;
    k.p = &fn->program;
    k.p->plain = false;
    k.p->fixed = c.n - c.variables;
    fn->variables = c.variables;
    adx_get_program(&k, fn, &c);
    adx_drop(&fn->memory, k.guard);
    ad_status status = fn->program.status != ADREV_OK ? fn->program.status
                     : k.b.bad ? ADREV_EFILE : ADREV_OK;
    if (status == ADREV_OK)
        *out = fn;
    else
        ad_fn_free(fn);
    return status;
}

ADX_SELDOM_END

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

#endif // ADREV_CODE_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
