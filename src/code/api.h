#pragma once

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
