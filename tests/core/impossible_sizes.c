// SPDX-License-Identifier: MIT-0
// tags: slow
// flags: -pthread
/* impossible_sizes.c - every public function that takes a length, a number of rows,
 * columns, steps or parameters, or a stride, with such numbers at the ends of
 * size_t: each number alone, and each pair of them. A call must come back soon,
 * with a status other than success if one of its arrays cannot exist; it may
 * not touch memory beyond its arrays, nor ask for much, nor keep any.
 * Statuses that a program may drop must be those of the tape, too.
 * tests/core/impossible_sizes.sh compares the rows below, and which statuses these are, with the
 * prototypes of the headers. With ADREV_FIXED the functions of adrev.h are
 * called, in fixed memory and without a tape.
 *
 * An array that can exist, but not here, is its beginning and a hole in the
 * address space behind it (before it, if the stride is negative). To fall into
 * the hole within the array is a good end of a call, and so is to call the
 * user's function very often, as it was asked to. Calls are made in a child. It
 * jumps out of a call that ends so; when that took too much memory along, or if
 * it cannot, the next child goes on with the next call.                      */

#define _GNU_SOURCE             // holes, timers
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef ADREV_FIXED
#define ADREV_FIXED 0
#endif
#define ADREV_IMPLEMENTATION
#if ADREV_FIXED                 // only adrev.h, and no malloc
#include "adrev.h"
#else
static void *size_malloc(size_t bytes);
static void *size_realloc(void *old, size_t bytes);
static void size_free(void *p);
#define malloc  size_malloc
#define calloc  size_calloc     // there is none: an allocator has no calloc
#define realloc size_realloc
#define free    size_free
#define ADREV_TRACE 1
#include "adrev_parallel.h"
#include "adrev_function.h"
#include "adrev_assemble.h"
#include "adrev_implicit.h"
#include "adrev_loop.h"
#include "adrev_struct.h"
#include "adrev_tensor.h"
#endif
#include "check.h"

#undef malloc
#undef calloc
#undef realloc
#undef free

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

// AddressSanitizer would look through all of what memcpy is given, before the
// hole is found.
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "replace_intrin=0"; }

/* --- the numbers ---------------------------------------------------------- */

// As strides: -2^63, 2^63 - 1 and -1 are among them.
static const size_t ends[] = {
    0, 1, (size_t)1 << 31, (size_t)1 << 32, SIZE_MAX / 16 + 1, SIZE_MAX / 8,
    SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX
};
enum { ENDS = sizeof ends / sizeof *ends, POSITIONS = 20 };

/* --- what all calls share ------------------------------------------------- */

typedef enum mode { GROWING, FIXED, NO_TAPE, TRACED, RECORDED, MODES } mode;
enum { ON_A_TAPE = ADREV_FIXED ? FIXED : GROWING };

static const char *const mode_names[] = {
    "on a tape", "in fixed memory", "without a tape", "under a hook",
    "while recorded"
};

// Survives the children.
static struct {
    size_t next;                // call
    long passed;
    long failed;
} *shared;

static mode now;
static size_t at[POSITIONS];    // the numbers of this call
static bool patient;            // it may take its time
static bool is_late;            // it has taken that, and gets the usual time
static long callbacks;
static size_t wanted;           // results of the user's function
static ad_rev own[64];          // recorded, where there is a tape
static ad_tape *tape;

/* --- memory --------------------------------------------------------------- */

enum { MOST_BYTES = 1 << 22 };  // of a call, in all

static size_t bytes_taken;
static long blocks;

#if !ADREV_FIXED
static void *size_malloc(size_t bytes)
{
    if (bytes > MOST_BYTES - bytes_taken)
        return NULL;
    bytes_taken += bytes;
    void *p = malloc(bytes);
    blocks += p != NULL;
    return p;
}

static void *size_realloc(void *old, size_t bytes)
{
    if (bytes > MOST_BYTES - bytes_taken)
        return NULL;
    bytes_taken += bytes;
    blocks += old == NULL;
    return realloc(old, bytes);
}

static void size_free(void *p)
{
    blocks -= p != NULL;
    free(p);
}
#endif

enum { USUAL_TIME = 2000000 };  // microseconds

// Processor time, so that a busy machine does no harm.
static void set_timer(long microseconds)
{
    const struct itimerval t = { { 0, 0 }, { microseconds / 1000000,
                                             microseconds % 1000000 } };
    setitimer(ITIMER_PROF, &t, NULL);
}

/* --- arrays --------------------------------------------------------------- */

#define HOLE ((size_t)80 << 30)     // 2^32 numbers, and more
enum { SOME = 4096, ARRAYS = 12 };  // bytes that are there

typedef struct array {
    char *hole;
    char *base;                 // element 0
    double from, to;            // bytes of the array, relative to that
    bool possible;
} array;

static array arrays[ARRAYS];
static int arrays_used;

static void make_holes(void)
{
    for (int i = 0; i < ARRAYS; i++) {
        char *p = mmap(NULL, 2 * HOLE + SOME, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED
            || mprotect(p + HOLE, SOME, PROT_READ | PROT_WRITE) != 0)
            exit(2);
        arrays[i].hole = p;
    }
}

// Elements low ... high of this size, or none.
static void *array_of(bool empty, double low, double high, size_t size)
{
    array *a = &arrays[arrays_used++];
    char *some = a->hole + HOLE;
    size_t room = SOME / size;
    a->from = empty ? 0 : low * (double)size;
    a->to = empty ? 0 : (high + 1) * (double)size;
    a->possible = a->to - a->from < 0x1p63;
    a->base = high - low < (double)room         // ends where the hole begins
            ? some + SOME - (empty ? 0 : (size_t)(high + 1) * size)
            : low < 0 ? some + SOME / 2 / size * size : some;
    if (empty)
        a->base = some + SOME;
    return a->base;
}

static void *vector(size_t n, size_t size)
{
    return array_of(n == 0, 0, (double)n - 1, size);
}

// Room for up to so many results, of which there are few.
static void *room_for(size_t n, size_t size)
{
    return vector(n < 1000 ? n : 1000, size);
}

static void *matrix_by(size_t rows, ptrdiff_t rs, size_t cols, ptrdiff_t cs,
                       size_t size)
{
    double down = ((double)rows - 1) * (double)rs;
    double across = ((double)cols - 1) * (double)cs;
    double low = (down < 0 ? down : 0) + (across < 0 ? across : 0);
    double high = (down > 0 ? down : 0) + (across > 0 ? across : 0);
    if ((rs == 0 && rows > 1) || (cs == 0 && cols > 1)) {
        patient = true;         // the same number, very often
        set_timer(4000);
    }
    return array_of(rows == 0 || cols == 0, low, high, size);
}

static ad_rev *fill(void *p)
{
    const array *a = &arrays[arrays_used - 1];
    char *some = a->hole + HOLE;
    size_t first = (size_t)(a->base - some) % sizeof(ad_rev);
    for (size_t i = first; i + sizeof(ad_rev) <= SOME; i += sizeof(ad_rev))
        memcpy(some + i, &own[i / sizeof(ad_rev) % 64], sizeof(ad_rev));
    return (ad_rev *)p;
}

static ad_rev *rev(size_t n) { return fill(vector(n, sizeof(ad_rev))); }

static ad_rev *rev2(size_t m, size_t n)
{
    return fill(array_of(m == 0 || n == 0, 0, (double)m * (double)n - 1,
                         sizeof(ad_rev)));
}

static ad_rev *rev_by(size_t n, size_t inc)
{
    return fill(matrix_by(1, 0, n, (ptrdiff_t)inc, sizeof(ad_rev)));
}

static ad_rev *rev2_by(size_t m, size_t rs, size_t n, size_t cs)
{
    return fill(matrix_by(m, (ptrdiff_t)rs, n, (ptrdiff_t)cs,
                          sizeof(ad_rev)));
}

static ad_real *zeros(void *p)
{
    memset(arrays[arrays_used - 1].hole + HOLE, 0, SOME);
    return (ad_real *)p;
}

static ad_real *real(size_t n) { return zeros(vector(n, sizeof(ad_real))); }

static ad_real *real2(size_t m, size_t n)
{
    return zeros(array_of(m == 0 || n == 0, 0, (double)m * (double)n - 1,
                          sizeof(ad_real)));
}

static ad_real *real_by(size_t n, size_t inc)
{
    return zeros(matrix_by(1, 0, n, (ptrdiff_t)inc, sizeof(ad_real)));
}

static void *plain(size_t n, size_t size)
{
    return zeros(vector(n, size));
}

static bool all_possible(void)
{
    for (int i = 0; i < arrays_used; i++)
        if (!arrays[i].possible)
            return false;
    return true;
}

/* --- ends of a call ------------------------------------------------------- */

typedef struct row row;
static const row *row_now;
static void say_call(void);

enum { JUMPS = 100 };           // of a child: each leaves memory behind

static sigjmp_buf next_call;
static thrd_t caller;       // jumps; no other thread can
static int jumps;

static void count(bool right, const char *why)
{
    if (right)
        shared->passed++;
    else if (shared->failed++ < CHECK_SHOWN) {
        say_call();
        printf("%s\n", why);
        fflush(stdout);
    }
}

// Ends this call, while no memory is being taken.
static void stop(bool right, const char *why)
{
    count(right, why);
    if (thrd_equal(thrd_current(), caller) && jumps++ < JUMPS)
        siglongjmp(next_call, 1);
    _exit(0);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    bool within = false;
    bool right = false;
    (void)signal;
    (void)context;
    for (int i = 0; i < arrays_used; i++) {
        double off = (double)((intptr_t)info->si_addr
                              - (intptr_t)arrays[i].base);
        if (off >= arrays[i].from && off < arrays[i].to) {
            within = true;
            right |= arrays[i].possible;
        }
    }
    stop(right,
         within ? "touched an array that cannot exist" : "a wild access");
}

// The time of patience is short: page faults alone may take it.
static void on_time(int signal)
{
    (void)signal;
    if (patient && !all_possible() && !is_late) {
        is_late = true;
        set_timer(USUAL_TIME);
        return;
    }
    count(patient && all_possible(), "does not come back");
    _exit(0);                   // it may be taking memory
}

static void called(void)
{
    if (++callbacks > 1000)
        stop(all_possible(), "runs a function for an array that cannot exist");
}

static void catch_signals(void)
{
    struct sigaction fault = { .sa_flags = SA_SIGINFO };
    struct sigaction time = { .sa_flags = 0 };
    fault.sa_sigaction = on_fault;
    time.sa_handler = on_time;
    sigaction(SIGSEGV, &fault, NULL);
    sigaction(SIGBUS, &fault, NULL);
    sigaction(SIGPROF, &time, NULL);
}

/* --- the user's functions ------------------------------------------------- */

static ad_rev scalar(const ad_rev *x, void *ctx)
{
    called();
    return ctx == NULL ? ad_rec(2) : ad_rec(ad_mul(x[0], x[0]));
}

static void several(const ad_rev *x, ad_rev *y, void *ctx)
{
    called();
    if (wanted > 0)
        y[0] = ctx == NULL ? ad_rec(2) : ad_rec(ad_mul(x[0], x[0]));
}

static bool pull(const void *saved, size_t m, const ad_real dy[], size_t n,
                 ad_real dx[])
{
    (void)saved, (void)m, (void)dy, (void)n, (void)dx;
    return true;
}

static const ad_external_rule rule = { .name = "rule", .pullback = pull };

static void ignore(const char *text, size_t length, void *user)
{
    (void)text, (void)length, (void)user;
}

static void *given(size_t n) { return n > 0 ? &wanted : NULL; }

/* --- statuses ------------------------------------------------------------- */

// Of a function that returns none: what the tape says; without a tape nobody
// knows.
static ad_status noted(void)
{
    ad_tape *t = ad_use(NULL);
    ad_use(t);
    return t == NULL ? ADREV_ESHAPE : ad_tape_status(t);
}

static ad_status noted_of(ad_rev y)
{
    return isnan(y.v) ? ADREV_ESHAPE : noted();
}

/* --- longer rows ---------------------------------------------------------- */

static ad_status do_tape_in(void)
{
    ad_tape *t = ad_tape_in(plain(at[0], 1), at[0]);
    ad_tape_free(t);
    return t == NULL ? ADREV_ESHAPE : ADREV_OK;
}

static ad_status do_check(void)
{
    ad_check_report r = { .room = at[1], .limit = at[2] };
    r.entry = room_for(at[1], sizeof *r.entry);
    return ad_check(scalar, given(at[0]), at[0], real(at[0]), &r);
}

static ad_status do_check_jac(void)
{
    ad_check_report r = { .room = at[2], .limit = at[3] };
    r.entry = room_for(at[2], sizeof *r.entry);
    wanted = at[1];
    return ad_check_jac(several, given(at[0]), at[0], real(at[0]), at[1], &r);
}

static ad_status do_print(void)
{
    const ad_check_report r = { .filled = true, .room = at[0],
                                .checks = at[1], .limit = at[2] };
    return ad_check_print(&r, ignore, NULL);
}

static ad_status do_passed(void)
{
    ad_check_report r = { .room = at[0], .checks = at[1], .listed = at[2] };
    return ad_check_passed(&r) ? ADREV_OK : ADREV_ESHAPE;
}

/* --- the rows --------------------------------------------------------------
 * name of the function, which of its rows, how many numbers, where it runs,
 * and a call that returns a status                                           */

// all modes that there are
#define ANY  (ADREV_FIXED ? 1u << FIXED | 1u << NO_TAPE : 31u)
#define ONCE (1u << NO_TAPE)    // has nothing to do with a tape
#define ROWS_CORE(ROW)                                                        \
    ROW(ad_tape_in, , 1, ONCE, do_tape_in())                                  \
    ROW(ad_tape_reserve, , 2, ANY, ad_tape_reserve(tape, at[0], at[1]))       \
    ROW(ad_fail, , 1, ANY,                                                    \
        ad_fail((ad_status)(at[0] % ADREV_STATUS_COUNT), NULL))               \
    ROW(ad_op_name, , 1, ONCE, (ad_op_name((unsigned)at[0]), ADREV_ESHAPE))   \
    ROW(ad_op_arity, , 1, ONCE, (ad_op_arity((unsigned)at[0]), ADREV_ESHAPE)) \
    ROW(ad_op1, , 1, ANY, noted_of(ad_op1((unsigned)at[0], own[0])))          \
    ROW(ad_op2, , 1, ANY, noted_of(ad_op2((unsigned)at[0], own[0], own[1])))  \
    ROW(ad_op3, , 1, ANY,                                                     \
        noted_of(ad_op3((unsigned)at[0], own[0], own[1], own[2])))            \
    ROW(ad_inputs, , 1, ANY, (ad_inputs(at[0], real(at[0]), rev(at[0])),      \
                              noted()))                                       \
    ROW(ad_gradient, , 1, ANY, ad_gradient(tape, own[0], at[0], rev(at[0]),   \
                                           real(at[0])))                      \
    ROW(ad_pullback, , 2, ANY,                                                \
        ad_pullback(tape, at[0], rev(at[0]), real(at[0]), at[1], rev(at[1]),  \
                    real(at[1])))                                             \
    ROW(ad_pushforward, , 2, ANY,                                             \
        ad_pushforward(tape, at[0], rev(at[0]), real(at[0]), at[1],           \
                       rev(at[1]), real(at[1])))                              \
    ROW(ad_jacobian, , 2, ANY,                                                \
        ad_jacobian(tape, at[0], rev(at[0]), at[1], rev(at[1]),               \
                    real2(at[0], at[1])))                                     \
    ROW(ad_grad, , 1, ANY,                                                    \
        ad_grad(scalar, given(at[0]), at[0], real(at[0]), NULL, real(at[0]))) \
    ROW(ad_jac, , 2, ANY,                                                     \
        (wanted = at[1], ad_jac(several, given(at[0]), at[0], real(at[0]),    \
                                at[1], real(at[1]), real2(at[1], at[0]))))    \
    ROW(ad_external, , 3, ANY,                                                \
        ad_external(&rule, plain(at[0], 1), at[0], at[1], rev(at[1]), at[2],  \
                    real(at[2]), rev(at[2])))                                 \
    ROW(ad_check, , 3, ANY, do_check())                                       \
    ROW(ad_check_jac, , 4, ANY, do_check_jac())                               \
    ROW(ad_check_print, , 3, ONCE, do_print())                                \
    ROW(ad_check_passed, , 3, ONCE, do_passed())                              \
    ROW(ad_dump_string, , 1, ANY,                                             \
        (ad_dump_string(tape, at[0], room_for(at[0], 1)), ADREV_OK))          \
    ROW(ad_explain, , 1, ANY,                                                 \
        ad_explain(tape, own[1], own[0], at[0],                               \
                   room_for(at[0], sizeof(ad_term)), &(ad_explanation){ 0 })) \
    ROW(ad_tape_regions, , 1, ANY,                                            \
        (ad_tape_regions(tape, at[0], room_for(at[0], sizeof(ad_region))),    \
         ADREV_ESHAPE))

#define ROWS_SUMS(ROW)                                                        \
    ROW(ad_sum, , 1, ANY, noted_of(ad_sum(at[0], rev(at[0]))))                \
    ROW(ad_sum_s, , 2, ANY,                                                   \
        noted_of(ad_sum_s(at[0], rev_by(at[0], at[1]), (ptrdiff_t)at[1])))    \
    ROW(ad_dot, , 1, ANY, noted_of(ad_dot(at[0], rev(at[0]), rev(at[0]))))    \
    ROW(ad_dot_s, , 3, ANY,                                                   \
        noted_of(ad_dot_s(at[0], rev_by(at[0], at[1]), (ptrdiff_t)at[1],      \
                          rev_by(at[0], at[2]), (ptrdiff_t)at[2])))           \
    ROW(ad_dotc, , 1, ANY, noted_of(ad_dotc(at[0], rev(at[0]), real(at[0])))) \
    ROW(ad_dotc_s, , 3, ANY,                                                  \
        noted_of(ad_dotc_s(at[0], rev_by(at[0], at[1]), (ptrdiff_t)at[1],     \
                           real_by(at[0], at[2]), (ptrdiff_t)at[2])))         \
    ROW(ad_norm2, , 1, ANY, noted_of(ad_norm2(at[0], rev(at[0]))))            \
    ROW(ad_norm2_s, , 2, ANY,                                                 \
        noted_of(ad_norm2_s(at[0], rev_by(at[0], at[1]), (ptrdiff_t)at[1])))  \
    ROW(ad_sqdist, , 1, ANY,                                                  \
        noted_of(ad_sqdist(at[0], rev(at[0]), rev(at[0]))))                   \
    ROW(ad_sqdist_s, , 3, ANY,                                                \
        noted_of(ad_sqdist_s(at[0], rev_by(at[0], at[1]), (ptrdiff_t)at[1],   \
                             rev_by(at[0], at[2]), (ptrdiff_t)at[2])))        \
    ROW(ad_logsumexp, , 1, ANY, noted_of(ad_logsumexp(at[0], rev(at[0]))))    \
    ROW(ad_logsumexp_s, , 2, ANY,                                             \
        noted_of(ad_logsumexp_s(at[0], rev_by(at[0], at[1]),                  \
                                (ptrdiff_t)at[1])))

#define ROWS_EACH(ROW)                                                        \
    ROW(ad_softmax, , 1, ANY,                                                 \
        (ad_softmax(at[0], rev(at[0]), rev(at[0])), noted()))                 \
    ROW(ad_softmax_s, , 3, ANY,                                               \
        (ad_softmax_s(at[0], rev_by(at[0], at[1]), (ptrdiff_t)at[1],          \
                      rev_by(at[0], at[2]), (ptrdiff_t)at[2]), noted()))      \
    ROW(ad_axpy, , 1, ANY,                                                    \
        (ad_axpy(at[0], own[0], rev(at[0]), rev(at[0])), noted()))            \
    ROW(ad_axpy_s, , 3, ANY,                                                  \
        (ad_axpy_s(at[0], own[0], rev_by(at[0], at[1]), (ptrdiff_t)at[1],     \
                   rev_by(at[0], at[2]), (ptrdiff_t)at[2]), noted()))         \
    ROW(ad_scale, , 1, ANY,                                                   \
        (ad_scale(at[0], own[0], rev(at[0]), rev(at[0])), noted()))           \
    ROW(ad_scale_s, , 3, ANY,                                                 \
        (ad_scale_s(at[0], own[0], rev_by(at[0], at[1]), (ptrdiff_t)at[1],    \
                    rev_by(at[0], at[2]), (ptrdiff_t)at[2]), noted()))        \
    ROW(ad_each, _fma, 1, ANY,                                                \
        (ad_each(ADREV_OP_fma, at[0], rev(at[0]), rev(at[0]), rev(at[0]),     \
                 rev(at[0])), noted()))                                       \
    ROW(ad_each, _floor, 1, ANY,                                              \
        (ad_each(ADREV_OP_floor, at[0], rev(at[0]), NULL, NULL, rev(at[0])),  \
         noted()))                                                            \
    ROW(ad_each_s, _add, 5, ANY,                                              \
        (ad_each_s(ADREV_OP_add, at[0], rev_by(at[0], at[1]),                 \
                   (ptrdiff_t)at[1], rev_by(at[0], at[2]), (ptrdiff_t)at[2],  \
                   NULL, (ptrdiff_t)at[3], rev_by(at[0], at[4]),              \
                   (ptrdiff_t)at[4]), noted()))                               \
    ROW(ad_each_s, _fma, 5, ANY,                                              \
        (ad_each_s(ADREV_OP_fma, at[0], rev_by(at[0], at[1]),                 \
                   (ptrdiff_t)at[1], rev_by(at[0], at[2]), (ptrdiff_t)at[2],  \
                   rev_by(at[0], at[3]), (ptrdiff_t)at[3],                    \
                   rev_by(at[0], at[4]), (ptrdiff_t)at[4]), noted()))

#define ROWS_PRODUCTS(ROW)                                                    \
    ROW(ad_matvec, , 2, ANY,                                                  \
        (ad_matvec(at[0], at[1], rev2(at[0], at[1]), rev(at[1]), rev(at[0])), \
         noted()))                                                            \
    ROW(ad_matvecc, , 2, ANY,                                                 \
        (ad_matvecc(at[0], at[1], real2(at[0], at[1]), rev(at[1]),            \
                    rev(at[0])), noted()))                                    \
    ROW(ad_matvec_s, , 6, ANY,                                                \
        (ad_matvec_s(at[0], at[1], rev2_by(at[0], at[2], at[1], at[3]),       \
                     (ptrdiff_t)at[2], (ptrdiff_t)at[3],                      \
                     rev_by(at[1], at[4]), (ptrdiff_t)at[4],                  \
                     rev_by(at[0], at[5]), (ptrdiff_t)at[5]), noted()))       \
    ROW(ad_matmul, , 3, ANY,                                                  \
        (ad_matmul(at[0], at[1], at[2], rev2(at[0], at[1]),                   \
                   rev2(at[1], at[2]), rev2(at[0], at[2])), noted()))         \
    ROW(ad_matmul_s, , 9, ANY,                                                \
        (ad_matmul_s(at[0], at[1], at[2],                                     \
                     rev2_by(at[0], at[3], at[1], at[4]),                     \
                     (ptrdiff_t)at[3], (ptrdiff_t)at[4],                      \
                     rev2_by(at[1], at[5], at[2], at[6]),                     \
                     (ptrdiff_t)at[5], (ptrdiff_t)at[6],                      \
                     rev2_by(at[0], at[7], at[2], at[8]),                     \
                     (ptrdiff_t)at[7], (ptrdiff_t)at[8]), noted()))           \
    ROW(ad_trimatvec, , 1, ANY,                                               \
        (ad_trimatvec(at[0], rev(at[0]),                                      \
                      at[0] % 2 == 0 ? rev2(at[0] / 2, at[0] - 1)             \
                                     : rev2(at[0], (at[0] - 1) / 2),          \
                      rev(at[0]), rev(at[0])), noted()))

/* --- the headers above adrev.h ----------------------------------------------
 * what their rows need, and the rows                                         */

#if ADREV_FIXED
#define ROWS_ABOVE(ROW)
#else
static void blind(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    several(x, y, NULL);
}

static void branch(size_t i, void *ctx)
{
    (void)i;
    (void)ctx;
    called();
}

static void part(size_t begin, size_t end, void *ctx)
{
    (void)end;
    branch(begin, ctx);
}

static ad_rev part_sum(size_t begin, size_t end, void *ctx)
{
    part(begin, end, ctx);
    return own[0];
}

static ad_rev combine(ad_rev a, ad_rev b, void *ctx)
{
    (void)ctx;
    called();
    return ad_rec(ad_add(a, b));
}

// y0 = x0^2 + x1, y1 = x1: recorded once.
static void two(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_sqr(x[0]), x[1]));
    y[1] = x[1];
}

// A new one for each call: functions keep what they have made.
static ad_fn *new_fn(void)
{
    static const ad_real x[2] = { 1, 2 };
    ad_fn *f = NULL;
    return ad_fn_record(&f, two, NULL, 2, x, 2) == ADREV_OK ? f : NULL;
}

static ad_status end_fn(ad_fn *f, ad_status status)
{
    ad_fn_free(f);
    return status;
}

/* --- structures ----------------------------------------------------------- */

#define PAIR(FIELD) FIELD(real, a) FIELD(real, b)
ADREV_STRUCT(pair, PAIR);

typedef struct wide wide;
struct wide { int none; };
struct wide_rev { int none; };

static struct {
    size_t n[2];
    ad_real *v[2];
    ad_rev *x[2];
    size_t bytes;
    char *from, *to;
} lying;                        // what a visitor leads to

static void visit_wide(ad_visitor *v, void *one, void *twin)
{
    (void)one, (void)twin;
    for (int i = 0; i < 2; i++)
        ad_visit_reals(v, lying.n[i], lying.v[i], lying.x[i]);
    ad_visit_other(v, lying.bytes, lying.from, lying.to);
}

ADREV_STRUCT_VISITED(wide, visit_wide);

static void lay(void)
{
    for (int i = 0; i < 2; i++) {
        lying.n[i] = at[i];
        lying.v[i] = real(at[i]);
        lying.x[i] = rev(at[i]);
    }
    lying.bytes = at[2];
    lying.from = plain(at[2], 1);
    lying.to = plain(at[2], 1);
}

static ad_status do_visit(int task)
{
    struct wide w = { 0 };
    wide_rev r = { 0 };
    lay();
    // the whole is as long as both parts
    double all = (double)at[0] + (double)at[1];
    size_t n = at[0] + at[1];
    void *x = array_of(all == 0, 0, all - 1, sizeof(ad_rev));
    return task == 0 ? wide_inputs(&w, &r)
         : task == 1 ? wide_values(&r, &w)
         : task == 2 ? wide_gather(&r, n, fill(x))
         : task == 3 ? wide_pack(&w, n, zeros(x))
                     : wide_unpack(n, zeros(x), &w);
}

static ad_status do_pair(int task)
{
    pair one = { 1, 2 };
    pair_rev twin = { own[0], own[1] };
    return task == 0 ? pair_gather(&twin, at[0], rev(at[0]))
         : task == 1 ? pair_pack(&one, at[0], real(at[0]))
         : task == 2 ? pair_unpack(at[0], real(at[0]), &one)
         : pair_pullback(tape, at[0], rev(at[0]), real(at[0]), &twin, &one);
}

static ad_status do_record(bool with)
{
    static const ad_fn_options none;
    ad_fn *f = NULL;
    wanted = at[1];
    ad_status status = with
        ? ad_fn_record_with(&f, &none, several, given(at[0]), at[0],
                            real(at[0]), at[1])
        : ad_fn_record(&f, several, given(at[0]), at[0], real(at[0]), at[1]);
    ad_fn_free(f);
    return status;
}

static ad_status do_traced(bool with)
{
    wanted = at[1];
    ad_traced *t = with
        ? ad_traced_new_with(NULL, several, given(at[0]), at[0], at[1], at[2])
        : ad_traced_new(several, given(at[0]), at[0], at[1], at[2]);
    ad_fn *f;
    ad_status status = t == NULL ? ADREV_ENOMEM
                                 : ad_traced_at(t, real(at[0]), &f);
    ad_traced_free(t);
    return status;
}

static ad_status do_map(int kind)
{
    const ad_column x[2] = { { real_by(at[0], at[1]), (ptrdiff_t)at[1] },
                             { real(1), 0 } };
    const size_t second = kind == 0 ? 1 : 2;
    const ad_column v[2] = { { real_by(at[0], at[second]),
                               (ptrdiff_t)at[second] }, { real(1), 0 } };
    const ad_column y[2] = { { real_by(at[0], at[second + 1]),
                               (ptrdiff_t)at[second + 1] }, { NULL, 0 } };
    const ad_column z[2] = { { real_by(at[0], at[4]), (ptrdiff_t)at[4] },
                             { NULL, 0 } };
    uint32_t *left = plain(at[0], sizeof *left);
    ad_fn *f = new_fn();
    return end_fn(f, kind == 0 ? ad_fn_map(f, at[0], x, y, left)
                   : kind == 1 ? ad_fn_map_jvp(f, at[0], x, v, y, left)
                               : ad_fn_map_vjp(f, at[0], x, v, y, z, left));
}

// Elements of two variables and two results, which are all 0 in x and y; of at
// most one kind.
static ad_status do_assemble(void)
{
    ad_fn *f = new_fn();
    ad_assembly *a = NULL;
    const size_t count = at[3] == 0 ? 0 : at[4];
    const int32_t *variable = plain(count, 2 * sizeof *variable);
    const int32_t *result = plain(count, 2 * sizeof *result);
    const ad_elements kind = { f, count, variable, NULL, result };
    ad_status status = ad_fn_assemble(&a, NULL, at[0], at[1], at[2],
                                      at[3] > 1 ? 1 : at[3], &kind);
    ad_assembly_free(a);
    return end_fn(f, status);
}

static ad_status do_assembled(int what)
{
    static const int32_t none[2];
    const ad_layout l = { .base = (unsigned)at[0], .width = (unsigned)at[1] };
    const ad_compile_options c = { .functions = (unsigned)at[0],
                                   .limit = at[1], .compiler = "/nowhere/cc",
                                   .cache = "/nowhere" };
    ad_fn *f = new_fn();
    ad_assembly *a = NULL;
    ad_export *e = NULL;
    const ad_elements kind = { f, 1, none, NULL, none };
    ad_status status = ad_fn_assemble(&a, NULL, 1, 0, 1, 1, &kind);
    if (status == ADREV_OK)
        status = what == 0 ? ad_assembly_jacobian_export(a, &l, &e)
               : what == 1 ? ad_assembly_hessian_export(a, &l, &e)
                           : ad_assembly_compile(a, &c);
    ad_export_free(e);
    ad_assembly_free(a);
    return end_fn(f, status);
}

static ad_status do_select(void)
{
    const size_t *variable = plain(at[0], sizeof *variable);
    const size_t *output = plain(at[1], sizeof *output);
    ad_fn *f = new_fn(), *chosen = NULL;
    ad_status status = ad_fn_select(&chosen, f, at[0], variable, at[1], output);
    ad_fn_free(chosen);
    return end_fn(f, status);
}

// The gradient of one result, for a number of inputs that it has not.
static ad_status do_derive_gradient(void)
{
    static const ad_real x[2] = { 1, 1 };
    ad_fn *f = NULL, *g = NULL;
    wanted = 1;
    ad_status status = ad_fn_record(&f, several, given(2), 2, x, 1);
    if (status == ADREV_OK)
        status = ad_fn_derive_gradient(&g, f, at[0]);
    ad_fn_free(g);
    return end_fn(f, status);
}

static ad_status do_implicit(void)
{
    ad_fn *f = new_fn();
    const ad_implicit_desc d = { .g = f, .n = at[0], .x = real(at[0]) };
    return end_fn(f, ad_implicit(&d, own, rev(at[0])));
}

static ad_status do_export(bool hessian)
{
    const ad_layout l = { .base = (unsigned)at[0], .width = (unsigned)at[1] };
    ad_export *e = NULL;
    ad_fn *f = new_fn();
    ad_status status = hessian ? ad_fn_hessian_export(f, &l, &e)
                               : ad_fn_jacobian_export(f, &l, &e);
    ad_export_free(e);
    return end_fn(f, status);
}

static ad_status do_into(void)
{
    const ad_layout l = { .form = ADREV_CSR, .width = 64 };
    const ad_matrix to = { at[0], at[1], at[2],
                           plain(at[0] == SIZE_MAX ? SIZE_MAX : at[0] + 1, 8),
                           NULL, plain(at[2], 8), at[3], at[4] };
    ad_export *e = NULL;
    ad_fn *f = new_fn();
    ad_status status = ad_fn_hessian_export(f, &l, &e);
    if (status == ADREV_OK)
        status = ad_export_into(e, &to, NULL);
    ad_export_free(e);
    return end_fn(f, status);
}

static ad_status do_write_c(int what)
{
    const ad_c_options o = { .name = "f", .functions = (unsigned)at[0],
                             .split = at[1] };
    const ad_compile_options c = { .functions = (unsigned)at[0],
                                   .limit = at[1], .compiler = "/nowhere/cc",
                                   .cache = "/nowhere" };
    ad_c_size size[ADREV_C_COUNT];
    size_t bytes;
    ad_fn *f = new_fn();
    return end_fn(f, what == 0 ? ad_fn_write_c(f, &o, ignore, NULL, &bytes)
                   : what == 1 ? ad_fn_c_size(f, &o, size, &bytes)
                   : what == 3 ? ad_fn_write_h(f, &o, ignore, NULL, &bytes)
                               : ad_fn_compile(f, &c));
}

static ad_status do_tensor(int what)
{
    static const char text[] =
        "rel R[n]; in A[R], x[n]; out y = sum(i) A[i]*x[i];";
    const ptrdiff_t stride[] = { (ptrdiff_t)at[0] };
    const int *column[1];
    ad_tensor *t = NULL;
    ad_status status = ad_tensor_new(&t, text, NULL, NULL);
    if (status != ADREV_OK)
        return status;
    if (what == 0)
        status = ad_tensor_size(t, "n", at[0]);
    else if (what == 1) {
        column[0] = plain(at[0], sizeof(int));
        status = ad_tensor_relation(t, "R", at[0], column);
    } else {
        static const int entries[] = { 0, 1 };
        const ad_c_options o = { .functions = (unsigned)at[0],
                                 .split = at[1] };
        const ad_compile_options c = { .functions = (unsigned)at[0],
                                       .limit = at[1],
                                       .compiler = "/nowhere/cc",
                                       .cache = "/nowhere" };
        size_t bytes;
        column[0] = entries;
        ad_tensor_size(t, "n", 2);
        ad_tensor_relation(t, "R", 2, column);
        if (what == 2)
            ad_tensor_layout(t, "x", stride);
        status = what == 2 ? ad_tensor_bind(t, NULL)
               : what == 3 ? ad_tensor_write_c(t, &o, ignore, NULL, &bytes)
                           : ad_tensor_compile(t, &c);
    }
    ad_tensor_free(t);
    return status;
}

static ad_status do_taylor(void)
{
    ad_fn *f = new_fn();
    ad_real *y = real2(at[0] == SIZE_MAX ? at[0] : at[0] + 1, 2);
    return end_fn(f, ad_fn_taylor(f, real(2), real(2), at[0], y));
}

static ad_status do_load(void)
{
    ad_fn *f = NULL;
    ad_status status = ad_fn_load(&f, plain(at[0], 1), at[0], NULL);
    ad_fn_free(f);
    return status;
}

// n elements, of one argument with size numbers at a step, or of many.
static ad_status do_bulk(int kind)
{
    ad_vector_fn *op = several;
    size_t n = at[0], d = at[1];
    ad_rows one = { NULL, at[3], (ptrdiff_t)at[2] };
    double far = n == 0 ? 0 : ((double)n - 1) * (double)one.step;
    one.x = fill(array_of(n == 0 || at[3] == 0 || at[4] == 0,
                          far < 0 ? far : 0,
                          (far > 0 ? far : 0) + (double)at[3] - 1,
                          sizeof(ad_rev)));
    ad_rows *x = plain(at[4], sizeof *x);
    if (at[4] > 0)
        x[0] = one;
    wanted = d;
    const ad_real *neutral = real(d);
    ad_rev *y = kind == 0 || kind == 2 ? rev2(n, d) : rev(d);
    return kind == 0 ? ad_map(several, NULL, n, at[4], x, d, y)
         : kind == 1 ? ad_map_reduce(several, op, NULL, n, at[4], x, d,
                                     neutral, y)
                     : ad_map_prefix(several, op, NULL, n, at[4], x, d, y);
}

static ad_status do_reduce(bool prefix)
{
    size_t n = at[0], d = at[1];
    wanted = d;
    return prefix ? ad_prefix(several, NULL, n, d, rev2(n, d), rev2(n, d))
                  : ad_reduce(several, NULL, n, d, rev2(n, d), real(d),
                              rev(d));
}

static ad_status do_gather(void)
{
    ptrdiff_t *ix = plain(at[0], sizeof *ix);
    return ad_gather(at[0], ix, at[1], at[2], rev2(at[1], at[2]),
                     rev2(at[0], at[2]));
}

static ad_status do_scatter(void)
{
    ptrdiff_t *ix = plain(at[0], sizeof *ix);
    return ad_scatter(at[0], ix, rev2(at[0], at[2]), at[1], at[2],
                      rev2(at[1], at[2]));
}

static ad_status do_histogram(ad_opcode op)
{
    ptrdiff_t *ix = plain(at[0], sizeof *ix);
    return ad_histogram(op, at[0], ix, rev(at[0]), at[1], rev(at[1]));
}

static ad_status do_rearrange(void)
{
    static const size_t order[3] = { 2, 1, 0 };
    size_t *shape = plain(at[0], sizeof *shape);
    size_t *to = plain(at[0], sizeof *to);
    double count = 1;
    for (size_t k = 0; k < at[0] && k < 3; k++) {
        shape[k] = at[1 + k];
        to[k] = at[0] < 3 ? k : order[k];
        count *= (double)at[1 + k];
    }
    return ad_rearrange(at[0], shape, to,
                        fill(array_of(count == 0, 0, count - 1,
                                      sizeof(ad_rev))),
                        fill(array_of(count == 0, 0, count - 1,
                                      sizeof(ad_rev))));
}

static ad_status do_concat(void)
{
    size_t *n = plain(at[0], sizeof *n);
    const ad_rev **x = plain(at[0], sizeof *x);
    double rows = 0;
    for (size_t k = 0; k < at[0] && k < 2; k++) {
        n[k] = at[1 + k];
        x[k] = rev2(n[k], at[3]);
        rows += (double)n[k];
    }
    double count = rows * (double)at[3];
    return ad_concat(at[0], n, x, at[3],
                     fill(array_of(count == 0, 0, count - 1,
                                   sizeof(ad_rev))));
}

static ad_status do_checkpoint(bool with)
{
    const ad_checkpoint_options o = { .keep = ADREV_KEEP_AUTOMATIC,
                                      .budget = at[2], .context = at[3] };
    void *ctx = plain(at[3], 1);
    wanted = at[1];
    return with ? ad_checkpoint_with(&o, blind, ctx, at[0], rev(at[0]),
                                     at[1], rev(at[1]))
                : ad_checkpoint(several, NULL, at[0], rev(at[0]), at[1],
                                rev(at[1]));
}

static bool put(void *user, size_t number, const void *state, size_t bytes)
{
    (void)user, (void)number, (void)state, (void)bytes;
    return true;
}

static bool get(void *user, size_t number, void *state, size_t bytes)
{
    (void)user, (void)number, (void)state, (void)bytes;
    return false;
}

static void step(ad_step *s, void *ctx)
{
    called();
    s->stop = true;
    if (ctx == NULL)
        return;
    s->next[0][0] = ad_rec(ad_mul(s->state[0][0], s->state[0][0]));
}

// Sizes of all that a scan has; the counts of states and others are small.
static ad_status do_scan(bool arrays_too)
{
    const int tap[1] = { at[9] > 1000 ? INT_MIN : -(int)at[9] };
    const int ahead[1] = { at[10] > 1000 ? INT_MAX : (int)at[10] };
    size_t steps = at[0];
    const ad_scan_state state = {
        .size = at[1], .initial = rev2(at[1], tap[0] == INT_MIN
                                       ? (size_t)1 << 31 : at[9]),
        .rows = arrays_too ? rev2(steps, at[1]) : NULL,
        .taps = 1, .tap = tap
    };
    const ad_scan_sequence sequence = {
        .size = at[2], .rows = at[3], .row = rev2(at[2], at[3]),
        .taps = 1, .tap = ahead
    };
    const ad_scan_output output = {
        .size = at[4], .row = arrays_too ? rev2(steps, at[4]) : NULL
    };
    static ad_store store;              // the tape calls it when it is cleared
    store = (ad_store){ .put = put, .get = get, .every = at[8] };
    char *untraced = plain(at[6], 1);
    const ad_scan_desc d = {
        .step = step, .ctx = given(at[1]), .steps = steps, .states = 1, .state = &state,
        .sequences = at[3] > 0, .sequence = &sequence, .outputs = at[4] != 1,
        .output = &output, .parameters = at[5], .parameter = rev(at[5]),
        .untraced = untraced, .untraced_bytes = at[6], .open_ended = true,
        .truncated = at[11] != 1, .reversed = at[11],
        .schedule = { arrays_too ? ADREV_BINOMIAL : ADREV_BYTES, at[7],
                      at[8] == 1 ? NULL : &store }
    };
    return ad_scan(&d, NULL);
}

// The counts: so many states, sequences, outputs and taps, all of size 1.
static ad_status do_scan_counts(void)
{
    ad_scan_state *state = plain(at[0], sizeof *state);
    ad_scan_sequence *sequence = plain(at[1], sizeof *sequence);
    ad_scan_output *output = plain(at[2], sizeof *output);
    int *tap = plain(at[3], sizeof *tap);
    int *ahead = plain(at[4], sizeof *ahead);
    if (at[3] > 0)
        tap[0] = -1;
    if (at[0] > 0)
        state[0] = (ad_scan_state){ .size = 1, .initial = rev(1),
                                    .taps = at[3], .tap = tap };
    if (at[1] > 0)
        sequence[0] = (ad_scan_sequence){ .size = 1, .rows = 1, .row = rev(1),
                                          .taps = at[4], .tap = ahead };
    if (at[2] > 0)
        output[0].size = 1;
    const ad_scan_desc d = {
        .step = step, .ctx = given(at[0]), .steps = 1, .states = at[0], .state = state,
        .sequences = at[1], .sequence = sequence, .outputs = at[2],
        .output = output
    };
    return ad_scan(&d, NULL);
}

static ad_status do_loop(ad_schedule_kind kind)
{
    const ad_schedule schedule = { .kind = kind, .n = at[3] };
    wanted = at[1];
    return ad_loop(several, NULL, at[0], at[1], rev(at[1]), at[2], rev(at[2]),
                   schedule);
}

static ad_status do_pool(bool with)
{
    const ad_allocator a = { adx_malloc, adx_libc_free, NULL };
    ad_pool *p = with ? ad_pool_new_with((unsigned)at[0], &a)
                      : ad_pool_new((unsigned)at[0]);
    ad_pool_free(p);
    return ADREV_OK;
}

static ad_status do_fork(void)
{
    ad_fork f;
    ad_branch b;
    ad_fork_open(&f, at[0]);
    ad_branch_enter(&b, &f, at[1]);
    ad_branch_leave(&b);
    ad_fork_close(&f);
    return noted();
}

static ad_status do_predict(void)
{
    ad_job *job = plain(at[0], sizeof *job);
    double seconds[2];
    if (at[0] > 0)
        job[0] = (ad_job){ .branches = at[2], .fork = at[3], .join = at[4] };
    return ad_job_predict(at[0], job, (unsigned)at[1], &seconds[0],
                          &seconds[1]);
}

static ad_status do_parallelism(void)
{
    ad_job *job = plain(at[0], sizeof *job);
    if (at[0] > 0)
        job[0] = (ad_job){ .branches = at[1], .fork = at[2], .join = at[3] };
    ad_job_parallelism(at[0], job);
    return ADREV_ESHAPE;
}

#define ROWS_BULK(ROW)                                                        \
    ROW(ad_map, , 5, ANY, do_bulk(0))                                         \
    ROW(ad_map_reduce, , 5, ANY, do_bulk(1))                                  \
    ROW(ad_map_prefix, , 5, ANY, do_bulk(2))                                  \
    ROW(ad_reduce, , 2, ANY, do_reduce(false))                                \
    ROW(ad_prefix, , 2, ANY, do_reduce(true))                                 \
    ROW(ad_reduce_op, _add, 1, ANY,                                           \
        ad_reduce_op(ADREV_OP_add, at[0], rev(at[0]), rev(1)))                \
    ROW(ad_reduce_op, _mul, 1, ANY,                                           \
        ad_reduce_op(ADREV_OP_mul, at[0], rev(at[0]), rev(1)))                \
    ROW(ad_prefix_op, _add, 1, ANY,                                           \
        ad_prefix_op(ADREV_OP_add, at[0], rev(at[0]), rev(at[0])))            \
    ROW(ad_prefix_op, _max, 1, ANY,                                           \
        ad_prefix_op(ADREV_OP_max, at[0], rev(at[0]), rev(at[0])))            \
    ROW(ad_histogram, _add, 2, ANY, do_histogram(ADREV_OP_add))               \
    ROW(ad_histogram, _mul, 2, ANY, do_histogram(ADREV_OP_mul))               \
    ROW(ad_gather, , 3, ANY, do_gather())                                     \
    ROW(ad_scatter, , 3, ANY, do_scatter())                                   \
    ROW(ad_replicate, , 2, ANY,                                               \
        ad_replicate(at[0], at[1], rev(at[1]), rev2(at[0], at[1])))           \
    ROW(ad_transpose, , 2, ANY,                                               \
        ad_transpose(at[0], at[1], rev2(at[0], at[1]), rev2(at[1], at[0])))   \
    ROW(ad_rearrange, , 4, ANY, do_rearrange())                               \
    ROW(ad_concat, , 4, ANY, do_concat())                                     \
    ROW(ad_slice, , 5, ANY,                                                   \
        ad_slice(at[0], at[1], rev2(at[0], at[1]), at[2], (ptrdiff_t)at[3],   \
                 at[4], rev2(at[4], at[1])))                                  \
    ROW(ad_rotate, , 3, ANY,                                                  \
        ad_rotate(at[0], at[1], (ptrdiff_t)at[2], rev2(at[0], at[1]),         \
                  rev2(at[0], at[1])))

#define ROWS_LOOP(ROW)                                                        \
    ROW(ad_checkpoint, , 2, ANY, do_checkpoint(false))                        \
    ROW(ad_checkpoint_with, , 4, ANY, do_checkpoint(true))                    \
    ROW(ad_scan, _rows, 12, ANY, do_scan(true))                               \
    ROW(ad_scan, _last, 12, ANY, do_scan(false))                              \
    ROW(ad_scan, _counts, 5, ANY, do_scan_counts())                           \
    ROW(ad_loop, _all, 4, ANY, do_loop(ADREV_STORE_ALL))                      \
    ROW(ad_loop, _binomial, 4, ANY, do_loop(ADREV_BINOMIAL))                  \
    ROW(ad_binomial_repeats, , 2, ONCE,                                       \
        (ad_binomial_repeats(at[0], at[1]), ADREV_ESHAPE))                    \
    ROW(ad_connected, , 2, ANY,                                               \
        ad_connected(tape, at[0], rev(at[0]), at[1], rev(at[1]),              \
                     plain(at[1], sizeof(ad_connection))))

#define ROWS_FUNCTION(ROW)                                                    \
    ROW(ad_fn_record, , 2, ONCE, do_record(false))                            \
    ROW(ad_fn_record_with, , 2, ONCE, do_record(true))                        \
    ROW(ad_fn_taylor, , 1, ONCE, do_taylor())                                 \
    ROW(ad_traced_new, , 3, ONCE, do_traced(false))                           \
    ROW(ad_traced_new_with, , 3, ONCE, do_traced(true))                       \
    ROW(ad_fn_map, , 3, ONCE, do_map(0))                                      \
    ROW(ad_fn_map_jvp, , 4, ONCE, do_map(1))                                  \
    ROW(ad_fn_map_vjp, , 5, ONCE, do_map(2))                                  \
    ROW(ad_fn_assemble, , 5, ONCE, do_assemble())                             \
    ROW(ad_assembly_jacobian_export, , 2, ONCE, do_assembled(0))              \
    ROW(ad_assembly_hessian_export, , 2, ONCE, do_assembled(1))               \
    ROW(ad_assembly_compile, , 2, ONCE, do_assembled(2))                      \
    ROW(ad_fn_select, , 2, ONCE, do_select())                                 \
    ROW(ad_fn_derive_gradient, , 1, ONCE, do_derive_gradient())               \
    ROW(ad_implicit, , 1, ANY, do_implicit())                                 \
    ROW(ad_fn_jacobian_export, , 2, ONCE, do_export(false))                   \
    ROW(ad_fn_hessian_export, , 2, ONCE, do_export(true))                     \
    ROW(ad_export_into, , 5, ONCE, do_into())                                 \
    ROW(ad_fn_write_c, , 2, ONCE, do_write_c(0))                              \
    ROW(ad_fn_c_size, , 2, ONCE, do_write_c(1))                               \
    ROW(ad_fn_write_h, , 2, ONCE, do_write_c(3))                              \
    ROW(ad_fn_compile, , 2, ONCE, do_write_c(2))                              \
    ROW(ad_fn_load, , 1, ONCE, do_load())

#define ROWS_PARALLEL(ROW)                                                    \
    ROW(ad_pool_new, , 1, ONCE, do_pool(false))                               \
    ROW(ad_pool_new_with, , 1, ONCE, do_pool(true))                           \
    ROW(ad_fork_n, , 1, ANY, (ad_fork_n(at[0], branch, NULL), noted()))       \
    ROW(ad_parallel_for, , 2, ANY,                                            \
        (ad_parallel_for(at[0], at[1], part, NULL), noted()))                 \
    ROW(ad_parallel_reduce, _sum, 2, ANY,                                     \
        noted_of(ad_parallel_reduce(at[0], at[1], part_sum, NULL, NULL)))     \
    ROW(ad_parallel_reduce, _any, 2, ANY,                                     \
        noted_of(ad_parallel_reduce(at[0], at[1], part_sum, combine, NULL)))  \
    ROW(ad_capture, , 1, ANY, (ad_capture(at[0], rev(at[0]), rev(at[0])),     \
                               noted()))                                      \
    ROW(ad_parallel_jacobian, , 2, ANY,                                       \
        ad_parallel_jacobian(tape, at[0], rev(at[0]), at[1], rev(at[1]),      \
                             real2(at[0], at[1])))                            \
    ROW(ad_fork_open, , 2, ANY, do_fork())                                    \
    ROW(ad_branch_enter, , 2, ANY, do_fork())                                 \
    ROW(ad_tape_jobs, , 1, ANY,                                               \
        (ad_tape_jobs(tape, at[0], room_for(at[0], sizeof(ad_job))),          \
         ADREV_ESHAPE))                                                       \
    ROW(ad_job_parallelism, , 4, ONCE, do_parallelism())                      \
    ROW(ad_job_predict, , 5, ONCE, do_predict())

#define ROWS_STRUCT(ROW)                                                      \
    ROW(adx_struct_gather, , 1, ANY, do_pair(0))                              \
    ROW(adx_struct_pack, , 1, ANY, do_pair(1))                                \
    ROW(adx_struct_unpack, , 1, ANY, do_pair(2))                              \
    ROW(adx_struct_pullback, , 1, ANY, do_pair(3))                            \
    ROW(ad_visit_reals, _inputs, 3, ANY, do_visit(0))                         \
    ROW(ad_visit_reals, _values, 3, ANY, do_visit(1))                         \
    ROW(ad_visit_reals, _gather, 3, ANY, do_visit(2))                         \
    ROW(ad_visit_other, _pack, 3, ANY, do_visit(3))                           \
    ROW(ad_visit_other, _unpack, 3, ANY, do_visit(4))

#define ROWS_TENSOR(ROW)                                                      \
    ROW(ad_tensor_size, , 1, ONCE, do_tensor(0))                              \
    ROW(ad_tensor_relation, , 1, ONCE, do_tensor(1))                          \
    ROW(ad_tensor_layout, , 1, ONCE, do_tensor(2))                            \
    ROW(ad_tensor_write_c, , 2, ONCE, do_tensor(3))                           \
    ROW(ad_tensor_compile, , 2, ONCE, do_tensor(4))

#define ROWS_ABOVE(ROW)                                                       \
    ROWS_BULK(ROW) ROWS_LOOP(ROW) ROWS_FUNCTION(ROW) ROWS_PARALLEL(ROW)       \
    ROWS_STRUCT(ROW) ROWS_TENSOR(ROW)
#endif

#define ROWS(ROW)                                                             \
    ROWS_CORE(ROW) ROWS_SUMS(ROW) ROWS_EACH(ROW) ROWS_PRODUCTS(ROW)           \
    ROWS_ABOVE(ROW)

#define ROW_FUNCTION(name, which, n, modes, ...)                              \
    static ad_status row_##name##which(void) { return __VA_ARGS__; }
ROWS(ROW_FUNCTION)

struct row {
    const char *name;
    const char *function;
    size_t n;
    unsigned modes;
    ad_status (*call)(void);
};

#define ROW_ENTRY(name, which, n, modes, ...)                                 \
    { #name #which, #name, n, modes, row_##name##which },
static const row rows[] = { ROWS(ROW_ENTRY) };
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* --- the calls ------------------------------------------------------------ */

// Each number alone, each pair, and all alike; the others are 1.
static size_t cases_of(const row *r)
{
    return ENDS + r->n * (r->n - 1) / 2 * ENDS * ENDS;
}

static void set_case(const row *r, size_t i)
{
    for (size_t k = 0; k < POSITIONS; k++)
        at[k] = i < ENDS && k < r->n ? ends[i] : 1;
    if (i < ENDS)
        return;
    size_t pair_of = (i - ENDS) / (ENDS * ENDS);
    size_t first = 0;
    while (pair_of >= r->n - 1 - first)
        pair_of -= r->n - 1 - first++;
    at[first] = ends[(i - ENDS) % ENDS];
    at[first + 1 + pair_of] = ends[(i - ENDS) / ENDS % ENDS];
}

static void say_call(void)
{
    printf("%s(", row_now->name);
    for (size_t k = 0; k < row_now->n; k++)
        printf("%s%#zx", k > 0 ? ", " : "", at[k]);
    printf(") %s: ", mode_names[now]);
}

static ad_status answer;

// Whose status compilers let a program drop, since it stays on the tape.
static const char *const kept[] = {
    "ad_external", "ad_map", "ad_reduce", "ad_prefix", "ad_map_reduce",
    "ad_map_prefix", "ad_reduce_op", "ad_prefix_op", "ad_histogram",
    "ad_gather", "ad_scatter", "ad_replicate", "ad_transpose", "ad_rearrange",
    "ad_concat", "ad_slice", "ad_rotate", "ad_checkpoint",
    "ad_checkpoint_with", "ad_scan", "ad_loop", "ad_fail", "ad_implicit"
};
static bool is_lost;                    // it did not

static void call_it(void)
{
    answer = row_now->call();
    is_lost = false;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (tape != NULL && strcmp(kept[i], row_now->function) == 0)
            is_lost = ad_tape_status(tape) != answer;
}

static void make_call(void)
{
    for (size_t i = 0; i < 64; i++)
        own[i] = ad_rec(1);
    if (now != NO_TAPE && now != RECORDED)
        for (size_t i = 0; i < 64; i++)
            own[i] = ad_input(1);
    call_it();
}

/* --- tapes that grow, and recorded functions ------------------------------ */

#if ADREV_FIXED
static ad_tape *growing_tape(void) { return NULL; }

static void call_recorded(void) {}

static void check_limits(void) {}
#else
static void trace(void *user, const ad_operation *o)
{
    (void)user, (void)o;
}

static void trace_array(void *user, const ad_array_operation *o)
{
    (void)user, (void)o;
}

static ad_tape *growing_tape(void)
{
    static const ad_hooks hooks = { .trace = trace, .array = trace_array };
    ad_tape *t = ad_tape_new();
    if (now == TRACED)
        ad_tape_hooks(t, &hooks);
    return t;
}

static void make_recorded(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    tape = ad_use(NULL);
    ad_use(tape);
    for (size_t i = 0; i < 64; i++)
        own[i] = x[i];
    call_it();
    y[0] = x[0];
}

static void call_recorded(void)
{
    static const ad_fn_options once = { .once = true };
    static const ad_real x[64] = { 0 };
    ad_fn *f = NULL;
    ad_ignore(ad_fn_record_with(&f, &once, make_recorded, NULL, 64, x, 1));
    ad_fn_free(f);
}

// More operands than 32 bits count, as the hook is told of them.
static void many_operands(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_hooks *hooks = &adx_now.tape->hooks;
    const ad_array_operation o = {
        .kind = ADREV_ARRAY_sum, .results = 1,
        .arg = { { .x = x, .rows = 1, .cols = *(const size_t *)ctx } }
    };
    hooks->array(hooks->user, &o);
    y[0] = x[0];
}

static void check_limits(void)
{
    const size_t n[] = { ADX_FROM_INPUT, ((size_t)1 << 32) + 3, SIZE_MAX };
    const ad_real x[1] = { 1 };
    for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
        size_t many = n[i];
        ad_fn *f = NULL;
        bytes_taken = 0;
        ad_status s = ad_fn_record(&f, many_operands, &many, 1, x, 1);
        CHECK(s == ADREV_ELIMIT, "%#zx operands: %s", many, ad_message(s));
        s = ad_fn_record(&f, several, NULL, 1, x, many);
        CHECK(s == ADREV_ELIMIT, "%#zx results: %s", many, ad_message(s));
    }
}
#endif

/* --- modes ---------------------------------------------------------------- */

static ad_status run_mode(void)
{
    static _Alignas(16) char buffer[1 << 16];
    answer = ADREV_ENOMEM;
    tape = NULL;
    if (now == RECORDED) {
        call_recorded();
        return answer;
    }
    if (now != NO_TAPE)
        tape = now == FIXED ? ad_tape_in(buffer, sizeof buffer)
                            : growing_tape();
    ad_use(tape);
    make_call();
    ad_tape_free(tape);
    ad_use(NULL);
    return answer;
}

static void check_call(void)
{
    long before = blocks;
    bytes_taken = 0;
    callbacks = 0;
    arrays_used = 0;
    patient = false;
    is_late = false;
    ad_status status = run_mode();
    bool possible = all_possible();
    // fewer, where malloc was called by the C library (realpath)
    bool right = (possible || status != ADREV_OK) && blocks <= before
              && !is_lost;
    shared->passed += right;
    shared->failed += !right;
    if (!right && shared->failed <= CHECK_SHOWN) {
        say_call();
        printf("\"%s\", %ld blocks left%s\n", ad_message(status),
               blocks - before, is_lost ? ", the tape knows nothing" : "");
        fflush(stdout);
    }
}

// After a jump no tape is in use, as before the call.
static void try_call(void)
{
    const adx_context none = adx_now;
    if (sigsetjmp(next_call, 1) == 0)
        check_call();
    else if (ADREV_FIXED)
        ad_use(NULL);
    else
        adx_now = none;
}

// Of a pair of numbers: whether their product is a small one as a size_t.
static bool wraps(size_t i)
{
    size_t a = ends[(i - ENDS) % ENDS];
    size_t b = ends[(i - ENDS) / ENDS % ENDS];
    return a > 1 && b > 1 && a * b < SOME;
}

// With -DFEW=1 half of the pairs are tried, in one of the modes, by turns; those
// that wrap also on a tape and while a function is recorded.
static bool is_left_out(const row *r, size_t m, size_t i)
{
    enum { TURNS = ONE_IN(2 * MODES) };
    return r->modes == ANY && i >= ENDS
        && (i + (size_t)(r - rows)) % TURNS != m % TURNS
        && !(wraps(i) && (m == ON_A_TAPE || m == RECORDED));
}

// From call number `begin` on; the numbers of the calls go over all of them.
static void run_calls(size_t begin, const row *only)
{
    size_t number = 0;
    for (size_t m = 0; m < MODES; m++)
        for (const row *r = rows; r < rows + ROW_COUNT; r++) {
            size_t cases = cases_of(r);
            if (!(r->modes >> m & 1) || (only != NULL && r != only))
                continue;
            size_t done = begin < number ? 0
                        : begin - number < cases ? begin - number : cases;
            number += done;
            for (size_t i = done; i < cases; i++, number++) {
                if (is_left_out(r, m, i))
                    continue;
                shared->next = number + 1;
                now = (mode)m;
                row_now = r;
                set_case(r, i);
                set_timer(USUAL_TIME);
                try_call();
            }
        }
    shared->next = SIZE_MAX;
    _exit(0);
}

static void run_children(const row *only)
{
    shared->next = 0;
    while (shared->next != SIZE_MAX) {
        int status = 0;
        size_t begin = shared->next;
        pid_t child = fork();
        if (child < 0)
            exit(2);
        if (child == 0) {
            catch_signals();
            caller = thrd_current();
            run_calls(begin, only);
        }
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            shared->failed++;
            printf("call %zu: a child has died (%d)\n", shared->next - 1,
                   status);
        }
    }
}

// sizes [NAME]: all rows, or this one
int main(int argc, char **argv)
{
    const row *only = NULL;
    for (const row *r = rows; argc > 1 && r < rows + ROW_COUNT; r++)
        if (strcmp(r->name, argv[1]) == 0)
            only = r;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    make_holes();
    run_children(only);
    check_limits();
    check_passed += shared->passed;
    check_failed += shared->failed;
    return check_done("impossible_sizes");
}
