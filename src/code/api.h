#pragma once

/* === code/api ===============================================================
 * C code, machine code and files of recorded functions: the interface.
 *
 *   needs   function/api
 * ========================================================================== */

/* --- configuration ------------------------------------------------------- */

// ADREV_COMPILE      0: without ad_fn_compile.     default 1 where <dlfcn.h> is,
//   but with ADREV_NO_STDLIB
#ifndef ADREV_COMPILE
#if defined __has_include && !defined ADREV_NO_STDLIB
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
 * machines that have a compiler and nothing else, or as fast as it gets. A
 * function for each of what is asked for, with the name in front:
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
 * They return 0, or 1 + the guard that x did not pass; then nothing but work has
 * been written. Arrays are as in adrev_function.h (evaluation), and do not overlap
 * (restrict). Several functions with different names may stand in one file.
 * Jacobian and Hessian are programs of their own, up to so many times as long
 * as they have rows; sparse ones, up to so many times as they have directions.
 * Entries of these are in the order of adrev_function.h (sparse matrices), the Hessian's is
 * its lower triangle; the constants of their patterns have one number at least.
 */

enum {
    ADREV_C_VALUE = 1, ADREV_C_JVP = 2, ADREV_C_VJP = 4, ADREV_C_GRADIENT = 8,
    ADREV_C_HVP = 16, ADREV_C_JACOBIAN = 32, ADREV_C_HESSIAN = 64,
    ADREV_C_JACOBIAN_SPARSE = 128, ADREV_C_HESSIAN_SPARSE = 256,
    ADREV_C_LINEARIZE = 512
};

enum { ADREV_C_COUNT = 10 };     // how many there are, none of them

// How it is written. All-zero: as the comments say first.
typedef struct ad_c_options {
    const char *name;       // in front of all names; NULL: "f". An identifier
                            // of C with at most 100 characters, which is no
                            // keyword and no name of <math.h>
    unsigned functions;     // ADREV_C_VALUE | ...; 0: value and vjp, and the
                            // gradient of a function with one result
    bool single;            // float instead of double
    bool absorbing;         // zeros in the chain rule absorb infinities, as in
                            // adrev_function.h; otherwise 0*inf is NaN
    bool exported;          // extern functions and patterns; otherwise static,
                            // to be included where they are called: compilers
                            // warn of those that nobody calls
    size_t split;           // statements of one C function at most; 0: 2000
    bool casadi;            // CasADi's entry points besides: see below; not
                            // with single
    const char *header;     // the code includes it first: "f.h", as written by
                            // ad_fn_write_h, so that compilers compare the two;
                            // NULL: none. With exported only
} ad_c_options;

// What CasADi's external("f", "./f.so"), acados and others load, besides the
// functions above, which they call. Arrays are columns of n or m numbers:
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
// Down to jac_adj1_f, these are the names where CasADi looks for derivatives of
// f, and for second ones. out_y and out_adj_x are not read: they have no
// entries, nor has jac_adj_x_out_y. A matrix is sparse if the sparse function
// is asked for, else dense, and stored by columns as CasADi has it.
//
//     int f(const casadi_real **arg, casadi_real **res, casadi_int *iw,
//           casadi_real *w, int mem);
//
// arg[i] NULL: zeros. res[i] NULL: not asked for. Answers other than 0 are as
// above. With each come f_n_in, f_n_out, f_name_in, f_name_out, f_sparsity_in,
// f_sparsity_out, f_work, f_default_in, f_alloc_mem, f_init_mem, f_free_mem,
// f_checkout, f_release, f_incref and f_decref; there is no state, so threads
// need only w of their own. casadi_int is long long int, unless it is defined
// before (-Dcasadi_int=int: acados takes that). CasADi reads double only, so
// there are none of single code.

// Writes C code. Only numbers of the recording and constants are in it, with
// all digits.
//
//   bytes        out   how many were written, or would be; may be NULL
//   write        in    called often, with short pieces; NULL: only counts
//
//   returns      ADREV_OK; ADREV_ENOMEM; ADREV_ESHAPE: no such function, no such
//                name (of the header: with a quote, a line's end or more than 200
//                characters, or of static functions), a gradient of several
//                results, or casadi with single;
//                ADREV_EEXTERNAL: lgamma, whose derivatives have no C text, or
//                an external statement
ADX_TRY ad_status ad_fn_write_c(ad_fn *fn, const ad_c_options *options,
                                ad_write_fn *write, void *user,
                                size_t *bytes);

// Writes the header of the code that ad_fn_write_c writes with the same options,
// which say exported: prototypes for C and C++, with the length and meaning of
// each array in a comment, how many numbers of `work` each function needs, and
// the patterns of sparse matrices. (`split` makes no difference.) Units are those
// of x and y: an entry of a gradient has that of y divided by that of its x.
//
//   bytes, write       as of ad_fn_write_c
//
//   returns      as ad_fn_write_c; ADREV_ESHAPE: also of static functions
//   cost         as of the code: the same programs are made
ADX_TRY ad_status ad_fn_write_h(ad_fn *fn, const ad_c_options *options,
                                ad_write_fn *write, void *user,
                                size_t *bytes);

// What a function of the code needs.
typedef struct ad_c_size {
    size_t statements;      // operations; those on arrays count once, as loops
    size_t work;            // numbers of `work`
    size_t constants;       // numbers in the text, each counted once
    size_t bytes;           // of its text
} ad_c_size;

// What ad_fn_write_c would write, exactly, and that nothing would refuse it.
//
//   size [ADREV_C_COUNT]  out  number k is of the function 1 << k; zeros if it
//                           is not asked for
//   bytes        out   of the whole text, with helper functions and entry
//                      points; may be NULL
//
//   returns      as ad_fn_write_c
//   cost         half of it, and mostly that of making the programs, so that an
//                estimate would hardly be cheaper
ADX_TRY ad_status ad_fn_c_size(ad_fn *fn, const ad_c_options *options,
                               ad_c_size size[], size_t *bytes);

// Why ad_fn_compile answered ADREV_ECOMPILE, and what `text` of its report is.
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

// What a call of ad_fn_compile met.
typedef struct ad_compile_report {
    ad_compile_reason reason;   // of ADREV_ECOMPILE; else ADREV_COMPILE_DONE
    size_t bytes;               // of C code; 0: none was written
    char text[2000];            // what the reason speaks of: the directory, the
                                // words, the beginning of what the compiler or
                                // the system said. Its end is cut off if it is
                                // longer; "": there is nothing to add
} ad_compile_report;

// How ad_fn_compile works. All-zero: as the comments say first.
//
// compiler and flags are words, as CC and CFLAGS of a makefile are: "ccache gcc",
// "-O2 -DX='\"s\"' -Wl,-rpath,$ORIGIN". Blanks end a word unless they are quoted;
// quotes and backslashes are those of a shell. All else is taken as it stands:
// $HOME, *, ; and > have no meaning, and variables are set by "env X=1 gcc". But
// the compiler is a program that is run, and flags can have it load plugins or
// write any file: neither may come from somebody else's input.
typedef struct ad_compile_options {
    const char *compiler;   // NULL: "cc"
    const char *flags;      // NULL: "-O3 -march=native -ffp-contract=off
                            // -fno-semantic-interposition
                            // -fno-tree-slp-vectorize", as gcc and clang know
    const char *cache;      // a directory that is made if need be, for this
                            // user only; NULL: $XDG_CACHE_HOME/adrev, or
                            // $HOME/.cache/adrev
    size_t limit;           // bytes of C code that are still compiled;
                            // 0: 2 MB
    unsigned functions;     // ADREV_C_VALUE | ...: only these, of which
                            // ADREV_C_JACOBIAN and ADREV_C_GRADIENT mean
                            // ADREV_C_LINEARIZE; 0: see below
    ad_compile_report *report;  // out: why not; NULL: of no interest
} ad_compile_options;

// Evaluates the function from now on by machine code: value, products, gradient,
// Hessian product and, up to 1000 entries, the Jacobian at one point (also with
// the value: ad_fn_linearize); or what `functions` says. All else is replayed, also
// what an earlier call compiled. For matrices of large functions ask for these
// alone: their code may be several times as long as that of the value (see
// ad_fn_c_size), and compilers take seconds for each megabyte.
//
// It pays for functions that are small and evaluated often: the code has every
// operation once, without loops. A gradient of 10, 1000, 10 000 inputs took 82 ns,
// 8.2 us, 86 us replayed, 12 ns, 3.2 us, 68 us compiled, and the compiler 0.1, 4 and
// 90 s; on a tape the last one took 56 us. Beyond about 1 MB of C code, and where
// fewer than some 10^6 evaluations follow, it does not pay (docs/compiling.md).
//
// The code is written as C, compiled by the system's compiler and kept in the
// cache under the XXH128 of the code, the flags, the compiler's version and, on
// Linux, what the processor is; next time, in any process, it is only loaded. A
// file of the cache is loaded only if it and its directory belong to the user
// and nobody else can write them, and if its hash is that of what was compiled.
// Nobody else but root may be able to put another directory in the cache's
// place: those above it belong to the user or to root, and are not writable by a
// group or by all, unless they are sticky, as /tmp is; so do links on the way.
// Where that is not so, nothing is made.
//
// The compiler runs in a process that this one waits for: where a handler of
// SIGCHLD waits for any child, it may meet this one. Its signals and its umask
// are its own, and no file of this program is open in it but those that the
// program hands on to all.
//
//   returns      ADREV_OK; ADREV_ECOMPILE: see ad_compile_reason; the function
//                is evaluated as before; ADREV_ESHAPE: no such function; else
//                as ad_fn_write_c. Nothing is printed, nor what the compiler
//                says: the options' report has that
//   threads      while no other thread uses the function
ADX_TRY ad_status ad_fn_compile(ad_fn *fn, const ad_compile_options *options);

/* --- files ------------------------------------------------------------------
 * A saved function is the same on every machine: little-endian, with numbers in
 * the format of IEEE 754, and a checksum at its end (docs/saved-functions.md).
 * A function that was recorded with double cannot be loaded where ad_real is
 * float, or the other way round.                                             */

// Writes the function, in one piece.
//
//   returns      ADREV_OK; ADREV_ENOMEM; ADREV_ESHAPE; ADREV_EEXTERNAL: an
//                external statement, whose rule is no part of a file
ADX_TRY ad_status ad_fn_save(const ad_fn *fn, ad_write_fn *write, void *user);

// The function that was saved. Whatever the bytes are, nothing else happens
// than that a function is made or a status returned.
//
//   out          out   to be freed with ad_fn_free; NULL unless ADREV_OK
//   data [bytes] in    all of what was written
//   options      in    `plain` is not used; may be NULL
//
//   returns      ADREV_OK; ADREV_EFILE; ADREV_ENOMEM; ADREV_ESHAPE
ADX_TRY ad_status ad_fn_load(ad_fn **out, const void *data, size_t bytes,
                             const ad_fn_options *options);

#ifdef __cplusplus
}
#endif
