/* adrev_function.h - record once, then anything.
 *
 *     #define ADREV_IMPLEMENTATION      // in exactly one .c file
 *     #include "adrev_function.h"       // before adrev.h; needs <xxhash.h>
 *
 * A function is run once and kept as a program of elementary operations. From
 * the program come its value and its derivatives at any point:
 *
 *     #include <stdio.h>
 *
 *     static void f(const ad_rev *x, ad_rev *y, void *ctx)
 *     {
 *         (void)ctx;
 *         y[0] = ad_rec(ad_mul(ad_exp(x[0]), ad_sin(x[1])));
 *     }
 *
 *     int main(void)
 *     {
 *         ad_fn *fn;
 *         const double at[] = { 0, 0 }, x[] = { 1, 2 }, one = 1;
 *         double y, g[2], H[4];
 *         if (ad_fn_record(&fn, f, NULL, 2, at, 1) != ADREV_OK)
 *             return 1;
 *         ad_fn_gradient(fn, x, &y, g);
 *         ad_fn_hessian(fn, x, &one, H);
 *         printf("%.4f (%.4f, %.4f)\n", y, g[0], g[1]);
 *         printf("%.4f %.4f %.4f %.4f\n", H[0], H[1], H[2], H[3]);
 *         ad_fn_free(fn);
 *     }
 *
 *     2.4717 (2.4717, -1.1312)
 *     2.4717 -1.1312 -1.1312 -2.4717
 *
 * A program has no branches: every comparison that f made is kept as a guard.
 * At a point where one comes out differently the answer is ADREV_EPATH, and
 * nothing else has happened: record again there, or let ad_traced do it.
 *
 * Derivatives are programs, too: the rows of the operator table are read as
 * formulas (section 5), and differentiating a program yields a program.
 *
 *   1 >>config   2 >>types   3 >>api   4 >>programs   5 >>formulas
 *   6 >>rules    7 >>record  8 >>run   9 >>functions
 *
 * SPDX-License-Identifier: MIT-0                 (the text is in adrev.h)
 */

#ifndef ADREV_TRACE
#define ADREV_TRACE 1
#endif
#include "adrev.h"

#ifndef ADREV_FUNCTION_H
#define ADREV_FUNCTION_H

/* ===========================================================================
 * 1  CONFIGURATION                                                  >>config
 * ======================================================================== */

#if !ADREV_TRACE
#error "adrev_function.h: include it before adrev.h, or with ADREV_TRACE=1"
#endif

// ADREV_LANES_MOST   points evaluated side by side.       default 32, 4 to 256
//   A number of the program takes this many numbers of memory: more of them
//   hide the cost of reading the program, fewer stay in the cache.
#ifndef ADREV_LANES_MOST
#define ADREV_LANES_MOST 32
#endif

ADX_STATIC_ASSERT(ADREV_LANES_MOST >= 4 && ADREV_LANES_MOST <= 256
                  && ADREV_LANES_MOST % 4 == 0, "ADREV_LANES_MOST: 4 to 256");

/* ===========================================================================
 * 2  TYPES                                                           >>types
 * ======================================================================== */

typedef struct ad_fn ad_fn;

// How a function is recorded. All-zero: as ad_fn_record does it.
typedef struct ad_fn_options {
    const ad_allocator *allocator;  // NULL: malloc and free. Called from all
                                    // threads that use the function
    bool plain;                     // keep every operation: do not simplify
} ad_fn_options;

// What a recorded function is, and what simplifying it removed.
typedef struct ad_fn_report {
    size_t recorded;        // operations that f made
    size_t constant;        // of these: of constants alone
    size_t common;          // the same as one before
    size_t identity;        // x*1, x - 0, -(-x) ...: results that are operands
    size_t dead;            // no result depends on them
    size_t operations;      // kept
    size_t arrays;          // of these: operations on arrays, each counted once
    size_t guards;          // comparisons and steps that must not change
} ad_fn_report;

// A comparison (or floor, ad_value ...) that must come out as it was recorded.
typedef struct ad_guard {
    size_t index;           // in the order in which f made them
    const char *file;       // NULL and 0 unless f was compiled with ADREV_DEBUG
    int line;
} ad_guard;

/* ===========================================================================
 * 3  INTERFACE                                                         >>api
 *
 * A recorded function does not change: all threads may use it at once. What a
 * derivative needs is made when it is first asked for. Results are written
 * only if the answer is ADREV_OK; else it is
 *
 *     ADREV_EPATH    a guard came out differently at x: see ad_fn_guard
 *     ADREV_ENOMEM   the allocator returned NULL
 *     ADREV_ESHAPE   an array is NULL that must not be
 *     ADREV_EEXTERNAL  an external statement cannot do this, or it failed
 *
 * Values are those of the recorded program to the last bit, unless arrays of
 * more than one number are summed differently. A zero factor in the chain rule
 * gives zero, as on a tape.
 * ======================================================================== */

#ifdef __cplusplus
extern "C" {
#endif

/* --- 3.1  recording ------------------------------------------------------- */

// Runs f once, at x, and keeps what it computes.
//
//   out          out   the function, to be freed with ad_fn_free; NULL unless
//                      ADREV_OK is returned
//   f            in    must be compiled with ADREV_TRACE (this header does it)
//   x   [n]      in    where f is run; decides which way its branches go
//   m            in    results of f
//
//   returns      ADREV_OK; ADREV_EHOOK: f was compiled without ADREV_TRACE;
//                ADREV_EFOREIGN: f uses numbers of another recording;
//                ADREV_ESHAPE; ADREV_ENOMEM; ADREV_ELIMIT
//   cost         about five recordings on a tape
ADX_API ad_status ad_fn_record(ad_fn **out, ad_vector_fn *f, void *ctx,
                               size_t n, const ad_real x[], size_t m);
ADX_API ad_status ad_fn_record_with(ad_fn **out, const ad_fn_options *options,
                                    ad_vector_fn *f, void *ctx, size_t n,
                                    const ad_real x[], size_t m);
ADX_API void ad_fn_free(ad_fn *fn);

ADX_API size_t ad_fn_inputs(const ad_fn *fn);
ADX_API size_t ad_fn_outputs(const ad_fn *fn);
ADX_API ad_fn_report ad_fn_about(const ad_fn *fn);

// The guard for which this thread was last answered ADREV_EPATH.
ADX_API ad_guard ad_fn_guard(void);

/* --- 3.2  evaluation ------------------------------------------------------ */

//   x   [n]      in    any point
//   y   [m]      out   f(x)
ADX_API ad_status ad_fn_eval(ad_fn *fn, const ad_real x[], ad_real y[]);

// dy = J v.
ADX_API ad_status ad_fn_jvp(ad_fn *fn, const ad_real x[], const ad_real v[],
                            ad_real dy[]);

// dx = w J.
ADX_API ad_status ad_fn_vjp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            ad_real dx[]);

// Of a function with one result: its value (y may be NULL) and gradient.
ADX_API ad_status ad_fn_gradient(ad_fn *fn, const ad_real x[], ad_real *y,
                                 ad_real g[]);

// hv = H v, with H the second derivatives of the sum of w[i] y[i].
ADX_API ad_status ad_fn_hvp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            const ad_real v[], ad_real hv[]);

// Dense: J[i*n + j] = dy[i]/dx[j], H[i*n + j] = d2(w y)/dx[i]dx[j].
//
//   cost         J: n/ADREV_LANES_MOST forward passes or m/ADREV_LANES_MOST
//                reverse ones, whichever is less; H: n/ADREV_LANES_MOST of
//                both
ADX_API ad_status ad_fn_jacobian(ad_fn *fn, const ad_real x[], ad_real J[]);
ADX_API ad_status ad_fn_hessian(ad_fn *fn, const ad_real x[],
                                const ad_real w[], ad_real H[]);

#ifdef __cplusplus
}
#endif

#endif // ADREV_FUNCTION_H

#ifdef ADREV_IMPLEMENTATION
#ifndef ADREV_FUNCTION_IMPLEMENTED
#define ADREV_FUNCTION_IMPLEMENTED

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdatomic.h>
#include <stdlib.h>

/* ===========================================================================
 * 4  PROGRAMS                                                     >>programs
 *
 * A program is a list of steps, each of which makes one number (or, of arrays,
 * several) from numbers made before; nothing is ever overwritten. Numbers are
 * known by where they stand: first the inputs, then constants and results in
 * the order in which they were asked for.
 * ======================================================================== */

/* --- 4.1  operations ---------------------------------------------------------
 * Those of the operator table and, behind them, what occurs in its partials.
 * The rows are as there (adrev.h 4.3); an argument whose partial is 0 though
 * it matters is a function of the others, and stands for the last result.     */

// clang-format off
#define ADX_CHAIN(ROW)                                                                                     \
    ROW( chain,      2, adx_absorb(x, y),       y,                              x,                 0 )
#define ADX_DERIVED(ROW)                                                                                   \
    /*   name        n  value                   d/dx                            d/dy               d/dz */ \
    ROW( or,         2, x != 0 || y != 0,       0,                              0,                 0 )     \
    ROW( and,        2, x != 0 && y != 0,       0,                              0,                 0 )     \
    ROW( share,      2, adx_share(x, y),        0,                              0,                 0 )     \
    ROW( cosine,     2, adx_cosine(x, y),       x == 0 ? 0 : 1 / y,             x == 0 ? 0 : -v / y, 0 )   \
    ROW( over_square, 2, adx_over_square(x, y), adx_over_square(y, x) * adx_over_square(y, x) - v * v,     \
                                                -2 * v * adx_over_square(y, x), 0 )                        \
    ROW( atan_dx,    1, adx_atan_dx(x),         -2 * x * v * v,                 0,                 0 )     \
    ROW( tanh_dx,    2, adx_tanh_dx(x, y),      -2 * y * v,                     0,                 0 )     \
    ROW( expm1_dx,   2, adx_expm1_dx(x, y),     v,                              0,                 0 )     \
    ROW( sigmoid_dx, 1, adx_sigmoid_dx(x),      -v * adm_tanh(x / 2),           0,                 0 )     \
    ROW( gauss,      1, adx_gauss(x),           -2 * x * v,                     0,                 0 )     \
    ROW( pow_dx,     3, adx_pow_dx(x, y, z),    y * adx_pow_dx(x, y - 1, adm_pow(x, y - 1)),               \
                                                adm_pow(x, y - 1) + y * adx_pow_dy(x, y - 1, adm_pow(x, y - 1)), 0 ) \
    ROW( pow_dy,     3, adx_pow_dy(x, y, z),    y * adx_pow_dy(x, y - 1, adm_pow(x, y - 1)) + adm_pow(x, y - 1), \
                                                adx_pow_dy(x, y, v),            0 )                        \
    ROW( digamma,    1, adx_digamma(x),         adx_polygamma(1, x),            0,                 0 )     \
    ROW( polygamma,  2, adx_polygamma(x, y),    0,                              adx_polygamma(x + 1, y), 0 ) \
    ROW( weight,     2, adx_weight(x, y),       v,                              -v,                0 )
// clang-format on

#define ADX_ENUM(name, ...) ADX_OP_##name,
enum {
    ADX_OP_BEFORE = ADREV_OP_COUNT - 1,
    ADX_CHAIN(ADX_ENUM)
    ADX_DERIVED(ADX_ENUM)
    ADX_OP_COUNT,
    ADX_OP_guard = ADX_OP_COUNT,    // only if a is b; c: which guard
    ADX_OP_array,       // a: which
    ADX_OP_end
};
#undef ADX_ENUM

// The derivative of order k of digamma: recurrence to x >= 15 + k, and the
// asymptotic series, whose first term left out is below 1e-17 of the first.
static ad_real adx_polygamma(ad_real k, ad_real x)
{
    static const double bernoulli[] = {     // B(2j)/(2j)!
        1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600, 1.0 / 47900160,
        -691.0 / 1307674368000, 1.0 / 74724249600, -3617.0 / 10670622842880000
    };
    double n = (double)k;
    double z = (double)x;
    double sum = 0;

    if ((z <= 0 && z == floor(z)) || z < -1e6 || z != z)
        return ADX_K(NAN);
    for (; z < 15 + n; z++)
        sum += pow(z, -(n + 1));
    double factorial = tgamma(n + 1);
    double tail = pow(z, -n) / n + pow(z, -(n + 1)) / 2;
    double rising = 1;          // (n + 1)(n + 2)...(n + 2j - 1)
    for (size_t j = 1; j <= sizeof bernoulli / sizeof *bernoulli; j++) {
        double i = 2 * (double)j;
        rising *= j == 1 ? n + 1 : (n + i - 2) * (n + i - 1);
        tail += bernoulli[j - 1] * rising * pow(z, -(n + i));
    }
    return (ad_real)((fmod(n, 2) == 0 ? -1 : 1) * factorial * (sum + tail));
}

#define ADX_DEFINE(name, n, f, ...)                                         \
    ADX_INLINE ad_real adx_f_##name(ad_real x, ad_real y, ad_real z)        \
        { (void)x; (void)y; (void)z; return f; }
ADX_CHAIN(ADX_DEFINE)
ADX_DERIVED(ADX_DEFINE)
#undef ADX_DEFINE

ADX_INLINE ad_real adx_f_detach(ad_real x) { return x; }

// Every operation but chain by its row: ADX_DO(code, value), of x, y and z.
#define ADX_EVERY_STEP(name, ...) ADX_DO(ADREV_OP_##name, adx_f_##name(x))
#define ADX_EVERY_ROW(name, ...)  ADX_DO(ADREV_OP_##name, adx_f_##name(x, y, z))
#define ADX_EVERY_DERIVED(name, ...)                                        \
    ADX_DO(ADX_OP_##name, adx_f_##name(x, y, z))
#define ADX_EVERY_COMPARISON(name, operator)                                \
    ADX_DO(ADREV_OP_##name, x operator y)
#define ADX_EVERY                                                           \
    ADREV_OPS(ADX_EVERY_ROW) ADREV_STEPS(ADX_EVERY_STEP)                    \
    ADREV_COMPARISONS(ADX_EVERY_COMPARISON) ADX_EVERY_STEP(detach, )        \
    ADX_DERIVED(ADX_EVERY_DERIVED)

static const ad_op_info *adx_row_of(uint32_t op)
{
#define ADX_INFO(name, n, f, fx, fy, fz)                                    \
    { #name, n, #f, { #fx, #fy, #fz }, { 0, 0, 0, 0, 0, 0 } },
    static const ad_op_info derived[] = {
        ADX_CHAIN(ADX_INFO) ADX_DERIVED(ADX_INFO)
    };
#undef ADX_INFO
    return op < ADREV_OP_COUNT ? &ad_op_table()[op]
                               : &derived[op - ADREV_OP_COUNT];
}

/* --- 4.2  memory ---------------------------------------------------------- */

static const ad_allocator *adx_allocator_or(const ad_allocator *a)
{
    return a != NULL && a->alloc != NULL && a->free != NULL ? a : &adx_libc;
}

static void *adx_take(const ad_allocator *a, size_t n, size_t size)
{
    return n > SIZE_MAX / 4 / (size + 1) ? NULL
                                         : a->alloc(n * size + 1, a->user);
}

static void adx_drop(const ad_allocator *a, void *p)
{
    if (p != NULL)
        a->free(p, a->user);
}

// Room for one more, and for half as many again.
static bool adx_widen(const ad_allocator *a, void **array, size_t *room,
                      size_t n, size_t size)
{
    if (n < *room)
        return true;
    size_t more = n + n / 2 + 16;
    void *wide = adx_take(a, more, size);
    if (wide == NULL)
        return false;
    if (*array != NULL)
        memcpy(wide, *array, n * size);
    adx_drop(a, *array);
    *array = wide;
    *room = more;
    return true;
}

/* --- 4.3  programs -------------------------------------------------------- */

typedef struct adx_step {
    uint32_t op;
    uint32_t r;                 // the result; of arrays the first
    uint32_t a, b, c;           // arguments; those that there are not: a
} adx_step;

// Where a number comes from.
#define ADX_FROM_CONSTANT UINT32_MAX
#define ADX_FROM_INPUT    (UINT32_MAX - 1)
#define ADX_NOWHERE       UINT32_MAX        // no number

typedef struct adx_number {
    ad_real v;                  // of a constant
    uint32_t from;              // or which step
} adx_number;

// A program that grows.
typedef struct adx_program {
    const ad_allocator *memory;
    adx_step *step;
    size_t steps, step_room;
    adx_number *number;
    size_t numbers, number_room;
    uint32_t *output;
    size_t outputs, output_room;
    size_t inputs;
    uint32_t *seen;             // steps and constants by what they compute:
    size_t seen_room, seen_n;   // number + 1; 0: none
    bool plain;                 // do not simplify
    ad_status status;
    ad_fn_report report;
} adx_program;

static void adx_begin_program(adx_program *p, const ad_allocator *memory,
                              bool plain)
{
    memset(p, 0, sizeof *p);
    p->memory = memory;
    p->plain = plain;
}

static void adx_free_program(adx_program *p)
{
    adx_drop(p->memory, p->step);
    adx_drop(p->memory, p->number);
    adx_drop(p->memory, p->output);
    adx_drop(p->memory, p->seen);
    memset(p, 0, sizeof *p);
}

static void adx_spoil(adx_program *p, ad_status status)
{
    if (p->status == ADREV_OK)
        p->status = status;
}

static uint32_t adx_new_number(adx_program *p, ad_real v, uint32_t from)
{
    if (p->numbers >= ADX_FROM_INPUT)
        adx_spoil(p, ADREV_ELIMIT);
    else if (!adx_widen(p->memory, (void **)&p->number, &p->number_room,
                        p->numbers, sizeof *p->number))
        adx_spoil(p, ADREV_ENOMEM);
    if (p->status != ADREV_OK)
        return 0;
    p->number[p->numbers] = (adx_number){ v, from };
    return (uint32_t)p->numbers++;
}

// Number 0 is the first input or, if there is none, a constant: an index that
// is always good.
static void adx_new_inputs(adx_program *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        adx_new_number(p, 0, ADX_FROM_INPUT);
    p->inputs += n;
}

static void adx_new_output(adx_program *p, uint32_t number)
{
    if (!adx_widen(p->memory, (void **)&p->output, &p->output_room,
                   p->outputs, sizeof *p->output))
        adx_spoil(p, ADREV_ENOMEM);
    if (p->status == ADREV_OK)
        p->output[p->outputs++] = number;
}

static bool adx_is_fixed(const adx_program *p, uint32_t x)
{
    return p->status == ADREV_OK && p->number[x].from == ADX_FROM_CONSTANT;
}

// Whether x is that constant, its sign included.
static bool adx_is(const adx_program *p, uint32_t x, ad_real v)
{
    return adx_is_fixed(p, x)
        && memcmp(&p->number[x].v, &v, sizeof v) == 0;
}

// The step that makes x, if it is of this operation.
static const adx_step *adx_maker(const adx_program *p, uint32_t x,
                                 uint32_t op)
{
    uint32_t from = p->status == ADREV_OK ? p->number[x].from
                                          : ADX_FROM_CONSTANT;
    return from < ADX_FROM_INPUT && p->step[from].op == op ? &p->step[from]
                                                           : NULL;
}

/* --- 4.4  each number once ------------------------------------------------ */

// What a number is, as a key: a constant's bits, or operation and arguments.
typedef struct adx_key {
    uint32_t word[4];
} adx_key;

static adx_key adx_key_of(const adx_program *p, uint32_t x)
{
    const adx_number *number = &p->number[x];
    adx_key key = { { ADX_FROM_CONSTANT, 0, 0, 0 } };
    if (number->from == ADX_FROM_CONSTANT) {
        memcpy(&key.word[1], &number->v, sizeof number->v);
        return key;
    }
    const adx_step *s = &p->step[number->from];
    return (adx_key){ { s->op, s->a, s->b, s->op == ADX_OP_guard ? 0 : s->c } };
}

// Where it stands in the table, or where there is room for it.
static uint32_t *adx_find_key(const adx_program *p, const adx_key *key)
{
    size_t i = (size_t)XXH3_64bits(key, sizeof *key) & (p->seen_room - 1);
    for (; p->seen[i] != 0; i = (i + 1) & (p->seen_room - 1)) {
        adx_key other = adx_key_of(p, p->seen[i] - 1);
        if (memcmp(&other, key, sizeof other) == 0)
            break;
    }
    return &p->seen[i];
}

static bool adx_widen_seen(adx_program *p)
{
    size_t old_room = p->seen_room;
    uint32_t *old = p->seen;
    size_t room = old_room == 0 ? 64 : 2 * old_room;
    uint32_t *wide = (uint32_t *)adx_take(p->memory, room, sizeof *wide);
    if (wide == NULL) {
        adx_spoil(p, ADREV_ENOMEM);
        return false;
    }
    memset(wide, 0, room * sizeof *wide);
    p->seen = wide;
    p->seen_room = room;
    for (size_t i = 0; i < old_room; i++)
        if (old[i] != 0) {
            adx_key key = adx_key_of(p, old[i] - 1);
            *adx_find_key(p, &key) = old[i];
        }
    adx_drop(p->memory, old);
    return true;
}

// NULL: no memory.
static uint32_t *adx_seen(adx_program *p, const adx_key *key)
{
    if (p->status != ADREV_OK
        || (2 * p->seen_n >= p->seen_room && !adx_widen_seen(p)))
        return NULL;
    return adx_find_key(p, key);
}

static uint32_t adx_fixed(adx_program *p, ad_real v)
{
    adx_key key = { { ADX_FROM_CONSTANT, 0, 0, 0 } };
    memcpy(&key.word[1], &v, sizeof v);
    uint32_t *at = adx_seen(p, &key);
    if (at == NULL)
        return 0;
    if (*at == 0) {
        uint32_t x = adx_new_number(p, v, ADX_FROM_CONSTANT);
        if (p->status != ADREV_OK)
            return 0;
        *at = x + 1;
        p->seen_n++;
    }
    return *at - 1;
}

/* --- 4.5  steps -----------------------------------------------------------
 * Identities keep every bit: x + 0 is not one, for -0 + 0 is 0.              */

static ad_real adx_compute(uint32_t op, ad_real x, ad_real y, ad_real z)
{
    switch (op) {
#define ADX_DO(code, value) case code: return (ad_real)(value);
    ADX_EVERY
#undef ADX_DO
    case ADX_OP_chain: return adx_f_chain(x, y, z);
    default: return 0;
    }
}

// What x op y is without computing it; ADX_NOWHERE: no such identity.
static uint32_t adx_identity(adx_program *p, uint32_t op, uint32_t x,
                             uint32_t y, uint32_t z)
{
    const adx_step *s;
    switch (op) {
    case ADREV_OP_add:
        return adx_is(p, y, -ADX_K(0.0)) ? x : adx_is(p, x, -ADX_K(0.0)) ? y
             : ADX_NOWHERE;
    case ADREV_OP_sub:
        return adx_is(p, y, 0) ? x : ADX_NOWHERE;
    case ADREV_OP_mul:
        return adx_is(p, y, 1) ? x : adx_is(p, x, 1) ? y : ADX_NOWHERE;
    case ADREV_OP_div:
        return adx_is(p, y, 1) ? x : ADX_NOWHERE;
    case ADREV_OP_neg:
        s = adx_maker(p, x, ADREV_OP_neg);
        return s != NULL ? s->a : ADX_NOWHERE;
    case ADREV_OP_select:
        return y == z ? y
             : adx_is_fixed(p, x) ? p->number[x].v != 0 ? y : z : ADX_NOWHERE;
    case ADX_OP_chain:
        return adx_is(p, x, 1) ? y : adx_is(p, y, 1) ? x
             : adx_is(p, x, 0) ? x : adx_is(p, y, 0) ? y : ADX_NOWHERE;
    default:
        return ADX_NOWHERE;
    }
}

static bool adx_commutes(uint32_t op)
{
    return op == ADREV_OP_add || op == ADREV_OP_mul || op == ADX_OP_chain;
}

// The step as it is, without a look at what it computes.
static uint32_t adx_append_step(adx_program *p, uint32_t op, uint32_t x,
                                uint32_t y, uint32_t z)
{
    if (!adx_widen(p->memory, (void **)&p->step, &p->step_room, p->steps,
                   sizeof *p->step))
        adx_spoil(p, ADREV_ENOMEM);
    if (p->steps >= ADX_FROM_INPUT)
        adx_spoil(p, ADREV_ELIMIT);
    uint32_t r = adx_new_number(p, 0, (uint32_t)p->steps);
    if (p->status != ADREV_OK)
        return 0;
    p->step[p->steps++] = (adx_step){ op, r, x, y, z };
    return r;
}

// The same, unless it is known already.
static uint32_t adx_once(adx_program *p, uint32_t op, uint32_t x, uint32_t y,
                         uint32_t z)
{
    adx_key key = { { op, x, y, op == ADX_OP_guard ? 0 : z } };
    uint32_t *at = adx_seen(p, &key);
    if (at == NULL)
        return 0;
    if (*at != 0) {
        p->report.common++;
        return *at - 1;
    }
    uint32_t r = adx_append_step(p, op, x, y, z);
    if (p->status == ADREV_OK) {
        *at = r + 1;
        p->seen_n++;
    }
    return r;
}

// The number that an operation makes of others.
static uint32_t adx_emit(adx_program *p, uint32_t op, uint32_t x, uint32_t y,
                         uint32_t z)
{
    int arity = adx_row_of(op)->arity;
    y = arity > 1 ? y : x;
    z = arity > 2 ? z : x;
    if (p->status != ADREV_OK)
        return 0;
    if (adx_is_fixed(p, x) && adx_is_fixed(p, y) && adx_is_fixed(p, z)) {
        p->report.constant++;
        return adx_fixed(p, adx_compute(op, p->number[x].v, p->number[y].v,
                                        p->number[z].v));
    }
    if (p->plain)
        return adx_append_step(p, op, x, y, z);
    uint32_t same = adx_identity(p, op, x, y, z);
    if (same != ADX_NOWHERE) {
        p->report.identity++;
        return same;
    }
    return adx_commutes(op) && x > y ? adx_once(p, op, y, x, y)
                                     : adx_once(p, op, x, y, z);
}

static uint32_t adx_emit2(adx_program *p, uint32_t op, uint32_t x, uint32_t y)
{
    return adx_emit(p, op, x, y, x);
}

static uint32_t adx_emit1(adx_program *p, uint32_t op, uint32_t x)
{
    return adx_emit(p, op, x, x, x);
}

// The program goes on only where x is what it was.
static void adx_emit_guard(adx_program *p, uint32_t x, uint32_t was,
                           uint32_t which)
{
    if (!adx_is_fixed(p, x))
        adx_once(p, ADX_OP_guard, x, was, which);
}

/* ===========================================================================
 * 5  FORMULAS                                                     >>formulas
 *
 * The cells of the tables are C expressions. They are read here, and become
 * steps of a program: that is how a partial comes into it, and its partials.
 *
 *     choice  = either [ "?" choice ":" choice ]
 *     either  = both { "||" both }            both  = relation { "&&" relation }
 *     relation = sum [ ("<" | ">" | "==" ...) sum ]
 *     sum     = product { ("+" | "-") product }
 *     product = factor { ("*" | "/") factor }
 *     factor  = "-" factor | "(" choice ")" | number | x | y | z | v
 *             | name "(" choice { "," choice } ")"
 * ======================================================================== */

typedef struct adx_formula {
    adx_program *p;
    const char *at;             // the rest of the text
    uint32_t x, y, z, v;        // what these names stand for
} adx_formula;

static uint32_t adx_choice(adx_formula *f);

static void adx_blank(adx_formula *f)
{
    while (*f->at == ' ')
        f->at++;
}

static bool adx_next_is(adx_formula *f, const char *text)
{
    adx_blank(f);
    size_t n = strlen(text);
    if (strncmp(f->at, text, n) != 0)
        return false;
    f->at += n;
    return true;
}

static bool adx_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool adx_is_digit(char c) { return c >= '0' && c <= '9'; }

// The operation that a function in a cell stands for.
static uint32_t adx_operation_named(const char *name, size_t n)
{
    static const char *const other[][2] = {
        { "fabs", "abs" }, { "fmin", "min" }, { "fmax", "max" },
        { "absorb", "chain" }
    };
    char word[24] = "";
    memcpy(word, name, n < sizeof word ? n : sizeof word - 1);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (strcmp(word, other[i][0]) == 0)
            memcpy(word, other[i][1], strlen(other[i][1]) + 1);
    uint32_t op = 0;
    while (op < ADX_OP_COUNT && strcmp(adx_row_of(op)->name, word) != 0)
        op++;
    return op;
}

// adm_sin(...), adx_gauss(...) or ADX_K(...)
static uint32_t adx_call(adx_formula *f, const char *name, size_t n)
{
    uint32_t arg[3] = {0};
    size_t count = 0;
    do
        arg[count++] = adx_choice(f);
    while (count < 3 && adx_next_is(f, ","));
    adx_next_is(f, ")");
    if (strncmp(name, "ADX_K", n) == 0)
        return arg[0];
    uint32_t op = adx_operation_named(name + 4, n - 4);
    if (op == ADX_OP_COUNT) {
        adx_spoil(f->p, ADREV_EHOOK);       // tests/function.c reads all cells
        return 0;
    }
    return adx_emit(f->p, op, arg[0], arg[1], arg[2]);
}

static uint32_t adx_factor(adx_formula *f)
{
    adx_blank(f);
    if (adx_next_is(f, "-"))
        return adx_emit1(f->p, ADREV_OP_neg, adx_factor(f));
    if (adx_next_is(f, "(")) {
        uint32_t inner = adx_choice(f);
        adx_next_is(f, ")");
        return inner;
    }
    if (adx_is_digit(*f->at)) {
        char *end = NULL;
        ad_real v = (ad_real)strtod(f->at, &end);
        f->at = end;
        return adx_fixed(f->p, v);
    }
    const char *name = f->at;
    while (adx_is_letter(*f->at) || adx_is_digit(*f->at))
        f->at++;
    size_t n = (size_t)(f->at - name);
    if (adx_next_is(f, "("))
        return adx_call(f, name, n);
    return *name == 'x' ? f->x : *name == 'y' ? f->y : *name == 'z' ? f->z
                                                                    : f->v;
}

// Binary operators of one level, from left to right.
typedef struct adx_operator {
    const char *text;
    uint32_t op;
} adx_operator;

static uint32_t adx_level_of_operators(adx_formula *f, uint32_t (*part)(adx_formula *),
                                       const adx_operator *table, size_t n)
{
    uint32_t left = part(f);
    for (size_t i = 0; i < n; i++)
        if (adx_next_is(f, table[i].text)) {
            left = adx_emit2(f->p, table[i].op, left, part(f));
            i = (size_t)-1;
        }
    return left;
}

#define ADX_LEVEL(name, part, ...)                                          \
    static uint32_t name(adx_formula *f)                                    \
    {                                                                       \
        static const adx_operator table[] = { __VA_ARGS__ };                \
        return adx_level_of_operators(f, part, table,                       \
                                      sizeof table / sizeof *table);        \
    }
ADX_LEVEL(adx_product_of, adx_factor, { "*", ADREV_OP_mul },
          { "/", ADREV_OP_div })
ADX_LEVEL(adx_sum_in, adx_product_of, { "+", ADREV_OP_add },
          { "-", ADREV_OP_sub })
ADX_LEVEL(adx_relation, adx_sum_in, { "<=", ADREV_OP_le },
          { ">=", ADREV_OP_ge }, { "==", ADREV_OP_eq }, { "!=", ADREV_OP_ne },
          { "<", ADREV_OP_lt }, { ">", ADREV_OP_gt })
ADX_LEVEL(adx_both, adx_relation, { "&&", ADX_OP_and })
ADX_LEVEL(adx_either, adx_both, { "||", ADX_OP_or })
#undef ADX_LEVEL

static uint32_t adx_choice(adx_formula *f)
{
    uint32_t condition = adx_either(f);
    if (!adx_next_is(f, "?"))
        return condition;
    uint32_t yes = adx_choice(f);
    adx_next_is(f, ":");
    uint32_t no = adx_choice(f);
    return adx_emit(f->p, ADREV_OP_select, condition, yes, no);
}

// Partial k of an operation, for these arguments and this result.
static uint32_t adx_partial_of(adx_program *p, uint32_t op, int k, uint32_t x,
                               uint32_t y, uint32_t z, uint32_t v)
{
    adx_formula f = { p, adx_row_of(op)->partial[k], x, y, z, v };
    return adx_choice(&f);
}

/* ===========================================================================
 * 6  RULES                                                          >>rules
 *
 * From a program its tangent and its adjoint: programs again, which compute
 * what they need of the first one. (Griewank & Walther, chapter 3.)
 * ======================================================================== */

// A program made from another one: what its numbers became.
typedef struct adx_making {
    const adx_program *from;
    adx_program *to;
    bool *used;                 // numbers that a result depends on
    uint32_t *same;             // the same number
    uint32_t *derived;          // its tangent or adjoint; ADX_NOWHERE: zero
} adx_making;

// Numbers on which results or guards depend.
static void adx_mark_used(const adx_program *p, bool used[])
{
    memset(used, p->plain, p->numbers * sizeof *used);
    for (size_t i = 0; i < p->outputs; i++)
        used[p->output[i]] = true;
    for (size_t i = p->steps; i-- > 0;) {
        const adx_step *s = &p->step[i];
        if (!used[s->r] && s->op != ADX_OP_guard)
            continue;
        used[s->r] = true;
        used[s->a] = true;
        used[s->b] = true;
        if (s->op != ADX_OP_guard)
            used[s->c] = true;
    }
}

static void adx_end_making(adx_making *k)
{
    const ad_allocator *a = k->to->memory;
    adx_drop(a, k->used);
    adx_drop(a, k->same);
    adx_drop(a, k->derived);
}

// The inputs of the new program begin with those of the old one.
static bool adx_begin_making(adx_making *k, const adx_program *from,
                             adx_program *to, size_t more_inputs)
{
    const ad_allocator *a = from->memory;
    size_t n = from->numbers;
    memset(k, 0, sizeof *k);
    adx_begin_program(to, a, false);
    k->from = from;
    k->to = to;
    k->used = (bool *)adx_take(a, n, sizeof *k->used);
    k->same = (uint32_t *)adx_take(a, n, sizeof *k->same);
    k->derived = (uint32_t *)adx_take(a, n, sizeof *k->derived);
    if (k->used == NULL || k->same == NULL || k->derived == NULL) {
        adx_spoil(to, ADREV_ENOMEM);
        adx_end_making(k);
        return false;
    }
    adx_mark_used(from, k->used);
    adx_new_inputs(to, from->inputs + more_inputs);
    for (size_t i = 0; i < n; i++) {
        uint32_t kind = from->number[i].from;
        k->same[i] = kind == ADX_FROM_INPUT ? (uint32_t)i
                   : kind == ADX_FROM_CONSTANT && k->used[i]
                   ? adx_fixed(to, from->number[i].v) : 0;
        k->derived[i] = ADX_NOWHERE;
    }
    return true;
}

static void adx_copy_step(adx_making *k, const adx_step *s)
{
    const uint32_t *same = k->same;
    if (s->op == ADX_OP_guard)
        adx_emit_guard(k->to, same[s->a], same[s->b], s->c);
    else
        k->same[s->r] = adx_emit(k->to, s->op, same[s->a], same[s->b],
                                 same[s->c]);
}

// Partial i of a step, among the numbers of the new program.
static uint32_t adx_partial_in(adx_making *k, const adx_step *s, int i)
{
    return adx_partial_of(k->to, s->op, i, k->same[s->a], k->same[s->b],
                          k->same[s->c], k->same[s->r]);
}

static uint32_t adx_argument(const adx_step *s, int i)
{
    return i == 0 ? s->a : i == 1 ? s->b : s->c;
}

// sum += d x, where sum may be nothing so far.
static uint32_t adx_accumulate(adx_program *p, uint32_t sum, uint32_t d,
                               uint32_t x)
{
    if (adx_is(p, d, 0) || adx_is(p, d, -ADX_K(0.0)))
        return sum;
    if (adx_is(p, d, -1))
        return sum == ADX_NOWHERE ? adx_emit1(p, ADREV_OP_neg, x)
                                  : adx_emit2(p, ADREV_OP_sub, sum, x);
    uint32_t term = adx_emit2(p, ADX_OP_chain, d, x);
    return sum == ADX_NOWHERE ? term : adx_emit2(p, ADREV_OP_add, sum, term);
}

static uint32_t adx_or_zero(adx_program *p, uint32_t x)
{
    return x == ADX_NOWHERE ? adx_fixed(p, 0) : x;
}

static void adx_tangent_step(adx_making *k, const adx_step *s)
{
    uint32_t sum = ADX_NOWHERE;
    int arity = s->op == ADX_OP_guard ? 0 : adx_row_of(s->op)->arity;
    adx_copy_step(k, s);
    for (int i = 0; i < arity; i++) {
        uint32_t x = k->derived[adx_argument(s, i)];
        if (x != ADX_NOWHERE)
            sum = adx_accumulate(k->to, sum, adx_partial_in(k, s, i), x);
    }
    k->derived[s->r] = sum;
}

// Inputs: those of p, and tangents of the first `moving` of them. Outputs: the
// tangents of p's, and then p's.
static ad_status adx_make_tangent(adx_program *q, const adx_program *p,
                                  size_t moving)
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, moving))
        return q->status;
    for (size_t i = 0; i < moving; i++)
        k.derived[i] = (uint32_t)(p->inputs + i);
    for (size_t i = 0; i < p->steps; i++)
        if (k.used[p->step[i].r])
            adx_tangent_step(&k, &p->step[i]);
    for (size_t i = 0; i < p->outputs; i++)
        adx_new_output(q, adx_or_zero(q, k.derived[p->output[i]]));
    for (size_t i = 0; i < p->outputs; i++)
        adx_new_output(q, k.same[p->output[i]]);
    adx_end_making(&k);
    return q->status;
}

// Of numbers that an input moves, the adjoint is wanted.
static bool *adx_moved(const adx_making *k, size_t moving)
{
    const adx_program *p = k->from;
    bool *moved = (bool *)adx_take(p->memory, p->numbers, sizeof *moved);
    if (moved == NULL)
        return NULL;
    memset(moved, 0, p->numbers * sizeof *moved);
    for (size_t i = 0; i < moving; i++)
        moved[i] = true;
    for (size_t i = 0; i < p->steps; i++) {
        const adx_step *s = &p->step[i];
        moved[s->r] = s->op != ADX_OP_guard
                   && (moved[s->a] || moved[s->b] || moved[s->c]);
    }
    return moved;
}

static void adx_adjoint_step(adx_making *k, const adx_step *s,
                             const bool moved[])
{
    uint32_t y = k->derived[s->r];
    int arity = y == ADX_NOWHERE ? 0 : adx_row_of(s->op)->arity;
    for (int i = 0; i < arity; i++) {
        uint32_t x = adx_argument(s, i);
        if (moved[x])
            k->derived[x] = adx_accumulate(k->to, k->derived[x],
                                           adx_partial_in(k, s, i), y);
    }
}

// Inputs: those of p, and weights of its outputs. Outputs: the adjoints of the
// first `moving` inputs, and then p's.
static ad_status adx_make_adjoint(adx_program *q, const adx_program *p,
                                  size_t moving)
{
    adx_making k;
    if (!adx_begin_making(&k, p, q, p->outputs))
        return q->status;
    bool *moved = adx_moved(&k, moving);
    if (moved == NULL)
        adx_spoil(q, ADREV_ENOMEM);
    for (size_t i = 0; q->status == ADREV_OK && i < p->steps; i++)
        if (k.used[p->step[i].r])
            adx_copy_step(&k, &p->step[i]);
    for (size_t i = 0; q->status == ADREV_OK && i < p->outputs; i++) {
        uint32_t y = p->output[i];
        k.derived[y] = adx_accumulate(q, k.derived[y], adx_fixed(q, 1),
                                      (uint32_t)(p->inputs + i));
    }
    for (size_t i = p->steps; q->status == ADREV_OK && i-- > 0;)
        if (k.used[p->step[i].r] && moved[p->step[i].r])
            adx_adjoint_step(&k, &p->step[i], moved);
    for (size_t i = 0; i < moving; i++)
        adx_new_output(q, adx_or_zero(q, k.derived[i]));
    for (size_t i = 0; i < p->outputs; i++)
        adx_new_output(q, k.same[p->output[i]]);
    adx_drop(p->memory, moved);
    adx_end_making(&k);
    return q->status;
}

/* ===========================================================================
 * 7  RECORDING                                                      >>record
 *
 * The function runs on a tape of its own, whose trace hook writes the program.
 * ======================================================================== */

typedef struct adx_place_of {
    const char *file;
    int line;
} adx_place_of;

typedef struct adx_recorder {
    adx_program *p;
    uint32_t *number;           // [id] of the tape: the program's number
    size_t ids, room;
    adx_place_of *guard;        // where each guard stands
    size_t guard_room;
} adx_recorder;

static uint32_t adx_number_of(adx_recorder *r, ad_rev x)
{
    return x.job == 0 || x.seq >= r->ids ? adx_fixed(r->p, x.v)
                                         : r->number[x.seq];
}

// The tape's value `id` is that number.
static void adx_name_number(adx_recorder *r, size_t id, uint32_t number)
{
    while (r->ids <= id && r->p->status == ADREV_OK)
        if (adx_widen(r->p->memory, (void **)&r->number, &r->room, r->ids,
                      sizeof *r->number))
            r->number[r->ids++] = 0;
        else
            adx_spoil(r->p, ADREV_ENOMEM);
    if (r->p->status == ADREV_OK)
        r->number[id] = number;
}

static void adx_record_guard(adx_recorder *r, const ad_operation *o,
                             uint32_t x, uint32_t y)
{
    adx_program *p = r->p;
    size_t which = p->report.guards;
    if (!adx_widen(p->memory, (void **)&r->guard, &r->guard_room, which,
                   sizeof *r->guard)) {
        adx_spoil(p, ADREV_ENOMEM);
        return;
    }
    r->guard[which] = (adx_place_of){ o->file, o->line };
    p->report.guards++;
    adx_emit_guard(p, adx_emit2(p, o->code, x, y), adx_fixed(p, o->result.v),
                   (uint32_t)which);
}

static void adx_record_operation(void *user, const ad_operation *o)
{
    adx_recorder *r = (adx_recorder *)user;
    adx_program *p = r->p;
    int arity = ad_op_table()[o->code].arity;
    uint32_t x = adx_number_of(r, o->arg[0]);
    uint32_t y = arity > 1 ? adx_number_of(r, o->arg[1]) : x;
    uint32_t z = arity > 2 ? adx_number_of(r, o->arg[2]) : x;

    if (p->status != ADREV_OK)
        return;
    if (o->result.job == 0) {
        adx_record_guard(r, o, x, y);
        return;
    }
    p->report.recorded++;
    adx_name_number(r, o->result.seq, adx_emit(p, o->code, x, y, z));
}

static void adx_record_inputs(adx_recorder *r, size_t n, const ad_rev x[])
{
    adx_new_inputs(r->p, n);
    for (size_t i = 0; i < n; i++)
        adx_name_number(r, x[i].seq, (uint32_t)i);
}

// The results of f, which may be inputs, constants, or foreign.
static void adx_record_outputs(adx_recorder *r, const ad_tape *t, size_t m,
                               const ad_rev y[])
{
    for (size_t i = 0; i < m; i++) {
        if (y[i].job != 0 && !adx_member(t, y[i]))
            adx_spoil(r->p, ADREV_EFOREIGN);
        adx_new_output(r->p, adx_number_of(r, y[i]));
    }
    if (ad_tape_status(t) != ADREV_OK)
        adx_spoil(r->p, ad_tape_status(t));
}

/* ===========================================================================
 * 8  RUNNING                                                           >>run
 *
 * A machine is a program made ready: what no result depends on is gone, and
 * numbers whose last use is over give their place to others.
 * ======================================================================== */

typedef struct adx_preset {
    uint32_t at;
    ad_real v;
} adx_preset;

// Memory of one evaluation at a time.
typedef struct adx_work {
    size_t lanes;
    _Alignas(16) ad_real w[];
} adx_work;

typedef struct adx_machine {
    const ad_allocator *memory;
    adx_step *step;             // ends with ADX_OP_end
    adx_preset *preset;         // constants
    size_t presets;
    uint32_t *output;
    size_t outputs;
    size_t inputs;              // places 0 ... inputs - 1
    size_t places;
    _Atomic(adx_work *) spare;  // kept for the next evaluation
} adx_machine;

/* --- 8.1  places ---------------------------------------------------------- */

typedef struct adx_placing {
    const adx_program *p;
    adx_machine *machine;
    bool *used;
    uint32_t *place;            // of each number
    uint32_t *last;             // the step that uses it last
    uint32_t *idle;             // places that are free
    size_t idle_n;
} adx_placing;

static void adx_free_machine(adx_machine *m)
{
    if (m == NULL)
        return;
    // relaxed: nobody else has the function any more
    adx_work *work = atomic_load_explicit(&m->spare, memory_order_relaxed);
    adx_drop(m->memory, work);
    adx_drop(m->memory, m->step);
    adx_drop(m->memory, m->preset);
    adx_drop(m->memory, m->output);
    adx_drop(m->memory, m);
}

static void adx_end_placing(adx_placing *k)
{
    const ad_allocator *a = k->p->memory;
    adx_drop(a, k->used);
    adx_drop(a, k->place);
    adx_drop(a, k->last);
    adx_drop(a, k->idle);
}

static bool adx_begin_placing(adx_placing *k, const adx_program *p)
{
    const ad_allocator *a = p->memory;
    memset(k, 0, sizeof *k);
    k->p = p;
    k->used = (bool *)adx_take(a, p->numbers, sizeof *k->used);
    k->place = (uint32_t *)adx_take(a, p->numbers, sizeof *k->place);
    k->last = (uint32_t *)adx_take(a, p->numbers, sizeof *k->last);
    k->idle = (uint32_t *)adx_take(a, p->numbers, sizeof *k->idle);
    adx_machine *m = (adx_machine *)adx_take(a, 1, sizeof *m);
    if (m != NULL) {
        memset(m, 0, sizeof *m);
        m->memory = a;
        m->step = (adx_step *)adx_take(a, p->steps + 1, sizeof *m->step);
        m->preset = (adx_preset *)adx_take(a, p->numbers, sizeof *m->preset);
        m->output = (uint32_t *)adx_take(a, p->outputs, sizeof *m->output);
    }
    k->machine = m;
    return k->used != NULL && k->place != NULL && k->last != NULL
        && k->idle != NULL && m != NULL && m->step != NULL
        && m->preset != NULL && m->output != NULL;
}

static void adx_find_last_uses(adx_placing *k)
{
    const adx_program *p = k->p;
    memset(k->last, 0, p->numbers * sizeof *k->last);
    for (size_t i = 0; i < p->steps; i++) {
        const adx_step *s = &p->step[i];
        if (!k->used[s->r])
            continue;
        k->last[s->r] = (uint32_t)i;
        k->last[s->a] = (uint32_t)i;
        k->last[s->b] = (uint32_t)i;
        if (s->op != ADX_OP_guard)
            k->last[s->c] = (uint32_t)i;
    }
    for (size_t i = 0; i < p->outputs; i++)
        k->last[p->output[i]] = UINT32_MAX;
}

// Inputs and constants keep their places.
static void adx_place_given(adx_placing *k)
{
    const adx_program *p = k->p;
    adx_machine *m = k->machine;
    m->inputs = p->inputs;
    m->places = p->inputs;
    for (size_t i = 0; i < p->numbers; i++)
        if (p->number[i].from == ADX_FROM_INPUT)
            k->place[i] = (uint32_t)i;
        else if (p->number[i].from == ADX_FROM_CONSTANT && k->used[i]) {
            k->place[i] = (uint32_t)m->places++;
            m->preset[m->presets++] = (adx_preset){ k->place[i],
                                                    p->number[i].v };
        }
}

static void adx_release(adx_placing *k, uint32_t x, size_t step)
{
    if (k->p->number[x].from < ADX_FROM_INPUT && k->last[x] == step) {
        k->idle[k->idle_n++] = k->place[x];
        k->last[x] = UINT32_MAX;        // once
    }
}

static void adx_place_step(adx_placing *k, size_t i)
{
    const adx_step *s = &k->p->step[i];
    bool guard = s->op == ADX_OP_guard;
    adx_step to = { s->op, 0, k->place[s->a], k->place[s->b],
                    guard ? s->c : k->place[s->c] };
    adx_release(k, s->a, i);
    adx_release(k, s->b, i);
    if (!guard) {
        adx_release(k, s->c, i);
        to.r = k->idle_n > 0 ? k->idle[--k->idle_n]
                             : (uint32_t)k->machine->places++;
        k->place[s->r] = to.r;
    }
    *k->machine->step++ = to;
}

// NULL: no memory.
static adx_machine *adx_make_machine(const adx_program *p)
{
    adx_placing k;
    if (!adx_begin_placing(&k, p)) {
        adx_free_machine(k.machine);
        adx_end_placing(&k);
        return NULL;
    }
    adx_machine *m = k.machine;
    adx_step *first = m->step;
    adx_mark_used(p, k.used);
    adx_find_last_uses(&k);
    adx_place_given(&k);
    for (size_t i = 0; i < p->steps; i++)
        if (k.used[p->step[i].r])
            adx_place_step(&k, i);
    m->step->op = ADX_OP_end;
    m->step = first;
    m->outputs = p->outputs;
    for (size_t i = 0; i < p->outputs; i++)
        m->output[i] = k.place[p->output[i]];
    adx_end_placing(&k);
    return m;
}

/* --- 8.2  one point ------------------------------------------------------- */

static bool adx_same_value(ad_real a, ad_real b)
{
    return a == b || (a != a && b != b);
}

// Steps of one operation follow one another often enough that a loop over
// them saves half of the jumps. Returns the guard that stopped it, or NULL.
// careful: zeros absorb, see adx_run.
ADX_INLINE const adx_step *adx_steps(const adx_step *s, ad_real w[],
                                     const bool careful)
{
    for (;;)
        switch (s->op) {
#define ADX_DO(code, value)                                                 \
        case code:                                                          \
            do {                                                            \
                ad_real x = w[s->a];                                        \
                ad_real y = w[s->b];                                        \
                ad_real z = w[s->c];                                        \
                (void)x; (void)y; (void)z;                                  \
                w[s->r] = (ad_real)(value);                                 \
                s++;                                                        \
            } while (s->op == code);                                        \
            break;
        ADX_EVERY
        ADX_DO(ADX_OP_chain, careful ? adx_absorb(x, y) : x * y)
#undef ADX_DO
        case ADX_OP_guard:
            if (!adx_same_value(w[s->a], w[s->b]))
                return s;
            s++;
            break;
        default:
            return NULL;
        }
}

static const adx_step *adx_steps_plain(const adx_step *s, ad_real w[])
{
    return adx_steps(s, w, false);
}

static const adx_step *adx_steps_careful(const adx_step *s, ad_real w[])
{
    return adx_steps(s, w, true);
}

// Takes the memory that is kept, if it fits, or new memory; NULL: none.
static adx_work *adx_take_work(adx_machine *m, size_t lanes)
{
    // acquire: pairs with the release in adx_give_work, which makes the
    // constants in it visible.
    adx_work *work = atomic_exchange_explicit(&m->spare, NULL,
                                              memory_order_acquire);
    if (work != NULL && work->lanes == lanes)
        return work;
    adx_drop(m->memory, work);
    if (m->places > SIZE_MAX / 16 / lanes / sizeof *work->w)
        return NULL;
    work = (adx_work *)adx_take(m->memory,
        sizeof *work + m->places * lanes * sizeof *work->w, 1);
    if (work == NULL)
        return NULL;
    work->lanes = lanes;
    for (size_t i = 0; i < m->presets; i++)
        for (size_t l = 0; l < lanes; l++)
            work->w[m->preset[i].at * lanes + l] = m->preset[i].v;
    return work;
}

static void adx_give_work(adx_machine *m, adx_work *work)
{
    // release: pairs with the acquire in adx_take_work.
    adx_drop(m->memory, atomic_exchange_explicit(&m->spare, work,
                                                 memory_order_acq_rel));
}

/* --- 8.3  many points --------------------------------------------------------
 * The numbers of all lanes lie side by side; a step is a loop over them.      */

// One operation on n numbers of each argument.
typedef void adx_map_fn(size_t n, ad_real r[], const ad_real a[],
                        const ad_real b[], const ad_real c[]);

#if defined __clang__
#define ADX_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined __GNUC__
#define ADX_INDEPENDENT _Pragma("GCC ivdep")
#else
#define ADX_INDEPENDENT
#endif

// r may be a, b or c: number by number nothing is read after it is written.
#define ADX_MAP(name, value)                                                \
    static void adx_map_##name(size_t n, ad_real r[], const ad_real a[],    \
                               const ad_real b[], const ad_real c[])        \
    {                                                                       \
        ADX_INDEPENDENT                                                     \
        for (size_t i = 0; i < n; i++) {                                    \
            ad_real x = a[i];                                               \
            ad_real y = b[i];                                               \
            ad_real z = c[i];                                               \
            (void)x; (void)y; (void)z;                                      \
            r[i] = (ad_real)(value);                                        \
        }                                                                   \
    }
#define ADX_STEP(name, ...) ADX_MAP(name, adx_f_##name(x))
#define ADX_ROW(name, ...) ADX_MAP(name, adx_f_##name(x, y, z))
#define ADX_COMPARISON(name, operator) ADX_MAP(name, x operator y)
ADREV_OPS(ADX_ROW)
ADREV_STEPS(ADX_STEP)
ADREV_COMPARISONS(ADX_COMPARISON)
ADX_STEP(detach, )
ADX_CHAIN(ADX_ROW)
ADX_DERIVED(ADX_ROW)
#undef ADX_STEP
#undef ADX_ROW
#undef ADX_COMPARISON
#undef ADX_MAP

static adx_map_fn *adx_map_of(uint32_t op, bool careful)
{
#define ADX_NAMED(name, ...) [ADREV_OP_##name] = adx_map_##name,
#define ADX_OTHER_NAMED(name, ...) [ADX_OP_##name] = adx_map_##name,
    static adx_map_fn *const map[] = {
        ADREV_OPS(ADX_NAMED) ADREV_STEPS(ADX_NAMED)
        ADREV_COMPARISONS(ADX_NAMED) ADX_NAMED(detach, )
        ADX_CHAIN(ADX_OTHER_NAMED) ADX_DERIVED(ADX_OTHER_NAMED)
    };
#undef ADX_NAMED
#undef ADX_OTHER_NAMED
    return op == ADX_OP_chain && !careful ? adx_map_mul : map[op];
}

// The lanes whose guard this is the first to come out differently.
static void adx_guard_lanes(const adx_step *s, const ad_real w[],
                            size_t lanes, uint32_t flipped[])
{
    for (size_t l = 0; l < lanes; l++)
        if (flipped[l] == 0 && !adx_same_value(w[s->a * lanes + l],
                                               w[s->b * lanes + l]))
            flipped[l] = s->c + 1;
}

// flipped[lanes]: 1 + the guard that a lane did not pass; 0: none.
static void adx_run_lanes(const adx_machine *m, ad_real w[], size_t lanes,
                          bool careful, uint32_t flipped[])
{
    memset(flipped, 0, lanes * sizeof *flipped);
    for (const adx_step *s = m->step; s->op != ADX_OP_end; s++)
        if (s->op == ADX_OP_guard)
            adx_guard_lanes(s, w, lanes, flipped);
        else
            adx_map_of(s->op, careful)(lanes, w + s->r * lanes,
                                       w + s->a * lanes, w + s->b * lanes,
                                       w + s->c * lanes);
}

/* ===========================================================================
 * 9  FUNCTIONS                                                   >>functions
 * ======================================================================== */

typedef enum adx_kind {
    ADX_KIND_value,             // x -> y
    ADX_KIND_jvp,               // x, v -> dy, y
    ADX_KIND_vjp,               // x, w -> dx, y
    ADX_KIND_hvp,               // x, w, v -> H v, ...
    ADX_KINDS
} adx_kind;

struct ad_fn {
    ad_allocator memory;
    size_t n, m;
    adx_program program;
    adx_place_of *guard;
    _Atomic(adx_machine *) machine[ADX_KINDS];      // NULL: not made yet
};

static ADX_THREAD ad_guard adx_last_guard;

ADX_API ad_guard ad_fn_guard(void) { return adx_last_guard; }

/* --- 9.1  recording ------------------------------------------------------- */

ADX_API size_t ad_fn_inputs(const ad_fn *fn) { return fn == NULL ? 0 : fn->n; }
ADX_API size_t ad_fn_outputs(const ad_fn *fn)
{
    return fn == NULL ? 0 : fn->m;
}

ADX_API ad_fn_report ad_fn_about(const ad_fn *fn)
{
    static const ad_fn_report none;
    return fn == NULL ? none : fn->program.report;
}

ADX_API void ad_fn_free(ad_fn *fn)
{
    if (fn == NULL)
        return;
    for (size_t i = 0; i < ADX_KINDS; i++)
        // relaxed: nobody else has the function any more
        adx_free_machine(atomic_load_explicit(&fn->machine[i],
                                              memory_order_relaxed));
    adx_free_program(&fn->program);
    ad_allocator memory = fn->memory;
    adx_drop(&memory, fn->guard);
    adx_drop(&memory, fn);
}

// Runs f with the hook set, on a tape that is then gone.
static void adx_run_recorded(adx_recorder *r, ad_vector_fn *f, void *ctx,
                             size_t n, ad_rev x[], size_t m, ad_rev y[])
{
    ad_tape *t = ad_tape_new_with(r->p->memory);
    if (t == NULL) {
        adx_spoil(r->p, ADREV_ENOMEM);
        return;
    }
    const ad_hooks hooks = { .trace = adx_record_operation, .user = r };
    ad_tape *before = ad_use(t);
    for (size_t i = 0; i < n; i++)
        x[i] = ad_input(x[i].v);
    ad_tape_hooks(t, &hooks);
    adx_record_inputs(r, n, x);
    for (size_t i = 0; i < m; i++)
        y[i] = adx_passive(0);
    f(x, y, ctx);
    adx_record_outputs(r, t, m, y);
    ad_use(before);
    ad_tape_free(t);
}

static void adx_count_program(adx_program *p)
{
    bool *used = (bool *)adx_take(p->memory, p->numbers, sizeof *used);
    if (used == NULL) {
        adx_spoil(p, ADREV_ENOMEM);
        return;
    }
    adx_mark_used(p, used);
    for (size_t i = 0; i < p->steps; i++) {
        bool guard = p->step[i].op == ADX_OP_guard;
        p->report.operations += !guard && used[p->step[i].r];
        p->report.dead += !used[p->step[i].r];
    }
    adx_drop(p->memory, used);
}

static ad_status adx_record(ad_fn *fn, ad_vector_fn *f, void *ctx,
                            const ad_real x[])
{
    adx_program *p = &fn->program;
    size_t count = fn->n + fn->m;
    ad_rev *all = (ad_rev *)adx_take(p->memory, count, sizeof *all);
    adx_recorder r = { .p = p };
    if (all == NULL)
        return ADREV_ENOMEM;
    for (size_t i = 0; i < fn->n; i++)
        all[i] = adx_passive(x[i]);
    adx_run_recorded(&r, f, ctx, fn->n, all, fn->m, all + fn->n);
    adx_drop(p->memory, all);
    adx_drop(p->memory, r.number);
    fn->guard = r.guard;
    if (p->status == ADREV_OK)
        adx_count_program(p);
    return p->status;
}

ADX_API ad_status ad_fn_record_with(ad_fn **out, const ad_fn_options *options,
                                    ad_vector_fn *f, void *ctx, size_t n,
                                    const ad_real x[], size_t m)
{
    static const ad_fn_options none;
    const ad_fn_options *o = options == NULL ? &none : options;
    if (out == NULL)
        return ADREV_ESHAPE;
    *out = NULL;
    if (f == NULL || (n > 0 && x == NULL) || m == 0)
        return ADREV_ESHAPE;
    const ad_allocator *memory = adx_allocator_or(o->allocator);
    ad_fn *fn = (ad_fn *)adx_take(memory, 1, sizeof *fn);
    if (fn == NULL)
        return ADREV_ENOMEM;
    memset(fn, 0, sizeof *fn);
    fn->memory = *memory;
    fn->n = n;
    fn->m = m;
    adx_begin_program(&fn->program, &fn->memory, o->plain);
    ad_status status = adx_record(fn, f, ctx, x);
    if (status == ADREV_OK)
        *out = fn;
    else
        ad_fn_free(fn);
    return status;
}

ADX_API ad_status ad_fn_record(ad_fn **out, ad_vector_fn *f, void *ctx,
                               size_t n, const ad_real x[], size_t m)
{
    return ad_fn_record_with(out, NULL, f, ctx, n, x, m);
}

/* --- 9.2  machines -------------------------------------------------------- */

static ad_status adx_make_hvp(adx_program *q, const adx_program *p)
{
    adx_program adjoint;
    ad_status status = adx_make_adjoint(&adjoint, p, p->inputs);
    adjoint.outputs = p->inputs;        // without the values
    if (status == ADREV_OK)
        status = adx_make_tangent(q, &adjoint, p->inputs);
    else
        adx_begin_program(q, p->memory, false);
    q->outputs = q->outputs < p->inputs ? q->outputs : p->inputs;
    adx_free_program(&adjoint);
    return status;
}

static ad_status adx_make_kind(adx_machine **out, const adx_program *p,
                               adx_kind kind)
{
    adx_program made;
    ad_status status = ADREV_OK;
    *out = NULL;
    adx_begin_program(&made, p->memory, false);
    if (kind == ADX_KIND_jvp)
        status = adx_make_tangent(&made, p, p->inputs);
    else if (kind == ADX_KIND_vjp)
        status = adx_make_adjoint(&made, p, p->inputs);
    else if (kind == ADX_KIND_hvp)
        status = adx_make_hvp(&made, p);
    if (status == ADREV_OK) {
        *out = adx_make_machine(kind == ADX_KIND_value ? p : &made);
        status = *out == NULL ? ADREV_ENOMEM : ADREV_OK;
    }
    adx_free_program(&made);
    return status;
}

// The machine of a kind, made once. Two threads may make one at the same time;
// the second to be done throws its own away.
static ad_status adx_machine_of(ad_fn *fn, adx_kind kind, adx_machine **out)
{
    // acquire: pairs with the release below, which publishes what it points to.
    adx_machine *m = atomic_load_explicit(&fn->machine[kind],
                                          memory_order_acquire);
    if (m == NULL) {
        ad_status status = adx_make_kind(&m, &fn->program, kind);
        if (status != ADREV_OK)
            return status;
        adx_machine *other = NULL;
        if (!atomic_compare_exchange_strong_explicit(
                &fn->machine[kind], &other, m, memory_order_acq_rel,
                memory_order_acquire)) {
            adx_free_machine(m);
            m = other;
        }
    }
    *out = m;
    return ADREV_OK;
}

static ad_status adx_flip(const ad_fn *fn, uint32_t guard)
{
    const adx_place_of *at = &fn->guard[guard];
    adx_last_guard = (ad_guard){ guard, at->file, at->line };
    return ADREV_EPATH;
}

/* --- 9.3  evaluation ------------------------------------------------------ */

// Inputs of a machine: up to three arrays, one behind the other.
typedef struct adx_given {
    const ad_real *x;
    size_t n;
} adx_given;

static bool adx_has_nan(const adx_machine *m, const ad_real w[])
{
    ad_real fault = 0;
    for (size_t i = 0; i < m->outputs; i++)
        fault += w[m->output[i]] * 0;
    return fault != 0;
}

// Fills the inputs and runs. Products of the chain rule are plain ones, in
// which a zero does not absorb an infinity; but then a result is NaN, and all
// is done again with care.
static const adx_step *adx_run(const adx_machine *m, ad_real w[],
                               size_t parts, const adx_given given[])
{
    const adx_step *stopped = NULL;
    for (int careful = 0; careful < 2; careful++) {
        ad_real *at = w;
        for (size_t i = 0; i < parts; i++) {
            if (given[i].n > 0)
                memcpy(at, given[i].x, given[i].n * sizeof *at);
            at += given[i].n;
        }
        stopped = careful ? adx_steps_careful(m->step, w)
                          : adx_steps_plain(m->step, w);
        if (stopped != NULL || !adx_has_nan(m, w))
            break;
    }
    return stopped;
}

// Outputs `from` to `from + n` of a kind of function.
typedef struct adx_wanted {
    size_t from;
    size_t n;
    ad_real *to;
} adx_wanted;

static ad_status adx_evaluate_fn(ad_fn *fn, adx_kind kind, size_t parts,
                                 const adx_given given[], size_t wants,
                                 const adx_wanted wanted[])
{
    adx_machine *m;
    if (fn == NULL)
        return ADREV_ESHAPE;
    for (size_t i = 0; i < parts; i++)
        if (given[i].x == NULL && given[i].n > 0)
            return ADREV_ESHAPE;
    ad_status status = adx_machine_of(fn, kind, &m);
    if (status != ADREV_OK)
        return status;
    adx_work *work = adx_take_work(m, 1);
    if (work == NULL)
        return ADREV_ENOMEM;
    const adx_step *stopped = adx_run(m, work->w, parts, given);
    for (size_t k = 0; stopped == NULL && k < wants; k++)
        for (size_t i = 0; wanted[k].to != NULL && i < wanted[k].n; i++)
            wanted[k].to[i] = work->w[m->output[wanted[k].from + i]];
    adx_give_work(m, work);
    return stopped == NULL ? ADREV_OK : adx_flip(fn, stopped->c);
}

#define ADX_SHAPE(fn, array) ((fn) == NULL || (array) == NULL)

ADX_API ad_status ad_fn_eval(ad_fn *fn, const ad_real x[], ad_real y[])
{
    if (ADX_SHAPE(fn, y))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n } };
    const adx_wanted wanted[] = { { 0, fn->m, y } };
    return adx_evaluate_fn(fn, ADX_KIND_value, 1, given, 1, wanted);
}

ADX_API ad_status ad_fn_jvp(ad_fn *fn, const ad_real x[], const ad_real v[],
                            ad_real dy[])
{
    if (ADX_SHAPE(fn, dy))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { v, fn->n } };
    const adx_wanted wanted[] = { { 0, fn->m, dy } };
    return adx_evaluate_fn(fn, ADX_KIND_jvp, 2, given, 1, wanted);
}

ADX_API ad_status ad_fn_vjp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            ad_real dx[])
{
    if (ADX_SHAPE(fn, dx))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { w, fn->m } };
    const adx_wanted wanted[] = { { 0, fn->n, dx } };
    return adx_evaluate_fn(fn, ADX_KIND_vjp, 2, given, 1, wanted);
}

ADX_API ad_status ad_fn_gradient(ad_fn *fn, const ad_real x[], ad_real *y,
                                 ad_real g[])
{
    static const ad_real one = 1;
    if (ADX_SHAPE(fn, g) || fn->m != 1)
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { &one, 1 } };
    const adx_wanted wanted[] = { { 0, fn->n, g }, { fn->n, 1, y } };
    return adx_evaluate_fn(fn, ADX_KIND_vjp, 2, given, 2, wanted);
}

ADX_API ad_status ad_fn_hvp(ad_fn *fn, const ad_real x[], const ad_real w[],
                            const ad_real v[], ad_real hv[])
{
    if (ADX_SHAPE(fn, hv))
        return ADREV_ESHAPE;
    const adx_given given[] = { { x, fn->n }, { w, fn->m }, { v, fn->n } };
    const adx_wanted wanted[] = { { 0, fn->n, hv } };
    return adx_evaluate_fn(fn, ADX_KIND_hvp, 3, given, 1, wanted);
}

#endif // ADREV_FUNCTION_IMPLEMENTED
#endif // ADREV_IMPLEMENTATION
