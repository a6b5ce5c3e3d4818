#pragma once

/* === number/fronts ==========================================================
 * What users write. An operand may be an ad_rev, an ad_fwd, an expression or of
 * any arithmetic type (write a bit-field as +s.b), and is evaluated once. One
 * expression cannot have both an ad_fwd and an ad_rev: take ad_value of one.
 *
 *     ad_rec(e)      records the expression e as one statement; with more than
 *                    ADREV_FUSE operands it is split. Constants alone give a
 *                    constant. An ad_rev is returned as it is.
 *     ad_dual(e)     evaluates the expression e in forward mode. An expression
 *                    of recorded numbers gives its value, with derivative 0.
 *     ad_acc(s, e)   is *s += e, where s points to an ad_rev or ad_fwd. If *s
 *                    is the last value recorded, only operands of e are stored;
 *                    if e is the last value recorded, only one for *s.
 *     ad_value(x)    is the plain number. This does not need the recording, so
 *                    x may be of an earlier one.
 *     ad_detach(x)   is the same value without its derivative.
 *     ad_sincos(x, s, c)  is *s = sin x and *c = cos x, as ad_rec or ad_dual
 *                    returns them; x is evaluated once.
 *     ad_expr e = x; keeps an expression for later. Its type depends on the
 *                    number of recorded operands: three make an ad_expr_3. A
 *                    function that takes or returns expressions names such a
 *                    type, and should be static inline, since only then do they
 *                    stay in registers.
 *     ad_expr_of(x)  turns a number into an expression: an ad_rev into an
 *                    ad_expr_1.
 *
 *   needs   number/recording number/expression number/operators
 *   offers  adx_each_number ADX_LOOPED adx_each_op adx_each_op_of
 * ========================================================================== */

// a where the condition holds, else b. Both are evaluated; the one that is not
// taken has no influence on any derivative.
#define ad_select(condition, a, b)                                          \
    (ADX_TAKE_CHOICE (condition) ADX_AND_Y (a) ADX_AND_Z (b) ADX_MAKE_CHOICE)

// The exponent k is an int. It is a parameter, not an operand.
#define ad_powi(a, k)                                                       \
    (ADX_TAKE_2 (a) ADX_AND_Y (ADX_EXPONENT(k)) ADX_MAKE_2(powi))
#define ad_ldexp(a, k)                                                      \
    (ADX_TAKE_2 (a) ADX_AND_Y (ADX_EXPONENT(k)) ADX_MAKE_2(ldexp))

// Derivatives of digamma, and Bessel functions. The order n, an int, comes
// first, as in C. ADREV_NO_BESSEL leaves the latter out.
#define ad_polygamma(n, a)                                                  \
    (ADX_TAKE_2 (ADX_EXPONENT(n)) ADX_AND_Y (a) ADX_MAKE_2(polygamma))
#ifndef ADREV_NO_BESSEL
#define ad_jn(n, a)                                                         \
    (ADX_TAKE_2 (ADX_EXPONENT(n)) ADX_AND_Y (a) ADX_MAKE_2(jn))
#define ad_yn(n, a)                                                         \
    (ADX_TAKE_2 (ADX_EXPONENT(n)) ADX_AND_Y (a) ADX_MAKE_2(yn))
#define ad_j0(a) ad_jn(0, a)
#define ad_j1(a) ad_jn(1, a)
#define ad_y0(a) ad_yn(0, a)
#define ad_y1(a) ad_yn(1, a)
#endif

// As modf and frexp: the result carries the derivative. The other part goes to
// *whole, an ad_real, or *exponent, an int, and has none; a recorded function
// holds where that part is what it was. The exponent of infinities and NaNs
// is 0.
#define ad_modf(a, whole)                                                   \
    (ADX_TAKE_MODF (a) ADX_AND_WHOLE(whole) ADX_MAKE_1(frac))
#define ad_frexp(a, exponent)                                               \
    (ADX_TAKE_FREXP (a) ADX_AND_EXPONENT(exponent) ADX_MAKE_2(ldexp))

#define ad_add(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(add))
#define ad_sub(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(sub))
#define ad_mul(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(mul))
#define ad_div(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(div))
#define ad_fma(a, b, c)                                                     \
    (ADX_TAKE_3 (a) ADX_AND_Y (b) ADX_AND_Z (c) ADX_MAKE_3(fma))
#define ad_neg(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(neg))
#define ad_sqr(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(sqr))
#define ad_abs(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(abs))
#define ad_min(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(min))
#define ad_max(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(max))
#define ad_clamp(a, lo, hi)                                                 \
    (ADX_TAKE_3 (a) ADX_AND_Y (lo) ADX_AND_Z (hi) ADX_MAKE_3(clamp))
#define ad_fdim(a, b)      (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(fdim))
#define ad_fmod(a, b)      (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(fmod))
#define ad_remainder(a, b) (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(remainder))
#define ad_frac(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(frac))
#define ad_copysign(a, b)  (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(copysign))
#define ad_sqrt(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(sqrt))
#define ad_cbrt(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(cbrt))
#define ad_hypot(a, b)     (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(hypot))
#define ad_pow(a, b)       (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(pow))
#define ad_exp(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(exp))
#define ad_exp2(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(exp2))
#define ad_exp10(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(exp10))
#define ad_expm1(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(expm1))
#define ad_log(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(log))
#define ad_log2(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(log2))
#define ad_log10(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(log10))
#define ad_log1p(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(log1p))
#define ad_sin(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(sin))
#define ad_cos(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(cos))
#define ad_tan(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(tan))
#define ad_asin(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(asin))
#define ad_acos(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(acos))
#define ad_atan(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(atan))
#define ad_atan2(a, b)     (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(atan2))
#define ad_sinh(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(sinh))
#define ad_cosh(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(cosh))
#define ad_tanh(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(tanh))
#define ad_asinh(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(asinh))
#define ad_acosh(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(acosh))
#define ad_atanh(a)        (ADX_TAKE_1 (a) ADX_MAKE_1(atanh))
#define ad_relu(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(relu))
#define ad_sigmoid(a)      (ADX_TAKE_1 (a) ADX_MAKE_1(sigmoid))
#define ad_softplus(a)     (ADX_TAKE_1 (a) ADX_MAKE_1(softplus))
#define ad_log_add_exp(a, b)                                                \
    (ADX_TAKE_2 (a) ADX_AND_Y (b) ADX_MAKE_2(log_add_exp))
#define ad_erf(a)          (ADX_TAKE_1 (a) ADX_MAKE_1(erf))
#define ad_erfc(a)         (ADX_TAKE_1 (a) ADX_MAKE_1(erfc))
#define ad_lgamma(a)       (ADX_TAKE_1 (a) ADX_MAKE_1(lgamma))
#define ad_tgamma(a)       (ADX_TAKE_1 (a) ADX_MAKE_1(tgamma))
#define ad_digamma(a)      (ADX_TAKE_1 (a) ADX_MAKE_1(digamma))

// The incomplete gamma functions of shape a, regularised: P(a, x) is the
// probability that a gamma variable is below x, and Q = 1 - P.
#define ad_gamma_p(a, x)   (ADX_TAKE_2 (a) ADX_AND_Y (x) ADX_MAKE_2(gamma_p))
#define ad_gamma_q(a, x)   (ADX_TAKE_2 (a) ADX_AND_Y (x) ADX_MAKE_2(gamma_q))

// The incomplete beta functions of shapes a and b, regularised: I(a, b, x) is
// the probability that a beta variable is below x, and beta_q = 1 - I.
#define ad_beta_p(a, b, x)                                                  \
    (ADX_TAKE_3 (a) ADX_AND_Y (b) ADX_AND_Z (x) ADX_MAKE_3(beta_p))
#define ad_beta_q(a, b, x)                                                  \
    (ADX_TAKE_3 (a) ADX_AND_Y (b) ADX_AND_Z (x) ADX_MAKE_3(beta_q))

// Step functions: the result has derivative 0.
#define ad_floor(a)        (ADX_TAKE_1 (a) ADX_MAKE_STEP(floor))
#define ad_ceil(a)         (ADX_TAKE_1 (a) ADX_MAKE_STEP(ceil))
#define ad_trunc(a)        (ADX_TAKE_1 (a) ADX_MAKE_STEP(trunc))
#define ad_round(a)        (ADX_TAKE_1 (a) ADX_MAKE_STEP(round))
#define ad_rint(a)         (ADX_TAKE_1 (a) ADX_MAKE_STEP(rint))
#define ad_nearbyint(a)    (ADX_TAKE_1 (a) ADX_MAKE_STEP(nearbyint))
#define ad_sign(a)         (ADX_TAKE_1 (a) ADX_MAKE_STEP(sign))

// Comparisons of values: bool.
#define ad_lt(a, b)        (ADX_TAKE_TEST (a) ADX_AND_Y (b) ADX_MAKE_TEST(lt))
#define ad_le(a, b)        (ADX_TAKE_TEST (a) ADX_AND_Y (b) ADX_MAKE_TEST(le))
#define ad_gt(a, b)        (ADX_TAKE_TEST (a) ADX_AND_Y (b) ADX_MAKE_TEST(gt))
#define ad_ge(a, b)        (ADX_TAKE_TEST (a) ADX_AND_Y (b) ADX_MAKE_TEST(ge))
#define ad_eq(a, b)        (ADX_TAKE_TEST (a) ADX_AND_Y (b) ADX_MAKE_TEST(eq))
#define ad_ne(a, b)        (ADX_TAKE_TEST (a) ADX_AND_Y (b) ADX_MAKE_TEST(ne))

// Other names of <math.h> for the same operations.
#define ad_fabs ad_abs
#define ad_fmin ad_min
#define ad_fmax ad_max

// Private copies without array statements have nothing of these.
#if ADREV_FIXED < 2 || !defined ADREV_STATIC
// A row of the operator table as loops over n elements. The first loop computes
// the values; each further loop computes one partial, if there is room for it.
// A step function has no partials. With ADREV_FIXED it is one loop, which reads
// numbers and writes the values of results where they are, so that it needs no
// other memory.
#if ADREV_FIXED
typedef ad_rev adx_each_number;
#else
typedef ad_real adx_each_number;
#endif
#define ADX_LOOPED                                                          \
    size_t n, const adx_each_number *const x[3], adx_each_number v[],       \
    ad_real *const d[3]
typedef void adx_loops(ADX_LOOPED);

// What ad_each does with each element.
typedef struct adx_each_op {
    adx_loops *loops;           // NULL: not an operation, but a comparison
    ad_opcode op;
    unsigned char arity;
    bool step;
    bool linear;                // partials are constants
} adx_each_op;

#define ADX_DEFINE(name, ...)                                               \
    ADX_API void adx_loops_##name(ADX_LOOPED);
ADREV_OPS(ADX_DEFINE)
ADREV_STEPS(ADX_DEFINE)
#undef ADX_DEFINE
ADX_API void adx_each_s(adx_each_op row, size_t n, const ad_rev *a,
                        ptrdiff_t inca, const ad_rev *b, ptrdiff_t incb,
                        const ad_rev *c, ptrdiff_t incc, ad_rev *y,
                        ptrdiff_t incy);

// The row of a code. Where the compiler knows the code, it refers to the loops
// of that row alone, so the linker leaves out all others: 49 kB of a firmware.
ADX_INLINE adx_each_op adx_each_op_of(ad_opcode op)
{
    adx_each_op row = ADX_ZERO;
    row.op = op;
#define ADX_DEFINE(name, n, f, fx, fy, fz, x0, x1, y0, y1, z0, z1, how)     \
    case ADREV_OP_##name:                                                   \
        row.loops = adx_loops_##name;                                       \
        row.arity = n;                                                      \
        row.linear = ((how) & ADX_LINEAR) != 0;                             \
        break;
#define ADX_DEFINE_STEP(name, ...)                                          \
    case ADREV_OP_##name:                                                   \
        row.loops = adx_loops_##name;                                       \
        row.arity = 1;                                                      \
        row.step = true;                                                    \
        break;
    switch ((int)op) {
    ADREV_OPS(ADX_DEFINE)
    ADREV_STEPS(ADX_DEFINE_STEP)
    default: break;
    }
#undef ADX_DEFINE
#undef ADX_DEFINE_STEP
    return row;
}

ADX_INLINE void adx_each(adx_each_op row, size_t n, const ad_rev *a,
                         const ad_rev *b, const ad_rev *c, ad_rev *y)
{
    adx_each_s(row, n, a, 1, b, 1, c, 1, y, 1);
}

#if (defined __GNUC__ || defined __clang__) && defined __OPTIMIZE__
#define ADX_EACH(each, op, ...)                                             \
    (__builtin_constant_p(op) ? adx_##each(adx_each_op_of(op), __VA_ARGS__) \
                              : (ad_##each)(op, __VA_ARGS__))
#define ad_each(...)   ADX_EACH(each, __VA_ARGS__)
#define ad_each_s(...) ADX_EACH(each_s, __VA_ARGS__)
#endif
#endif

// With ADREV_DEBUG each statement knows its place in the source.
#if ADREV_DEBUG
#define ADX_PLACED(call) (adx_here(__FILE__, __LINE__), call)
#define ad_input(...)       ADX_PLACED(ad_input(__VA_ARGS__))
#define ad_inputs(...)      ADX_PLACED(ad_inputs(__VA_ARGS__))
#define ad_external(...)    ADX_PLACED(ad_external(__VA_ARGS__))
#define ad_op1(...)         ADX_PLACED(ad_op1(__VA_ARGS__))
#define ad_op2(...)         ADX_PLACED(ad_op2(__VA_ARGS__))
#define ad_op3(...)         ADX_PLACED(ad_op3(__VA_ARGS__))
#define ad_sum(...)         ADX_PLACED(ad_sum(__VA_ARGS__))
#define ad_sum_s(...)       ADX_PLACED(ad_sum_s(__VA_ARGS__))
#define ad_dot(...)         ADX_PLACED(ad_dot(__VA_ARGS__))
#define ad_dot_s(...)       ADX_PLACED(ad_dot_s(__VA_ARGS__))
#define ad_dotc(...)        ADX_PLACED(ad_dotc(__VA_ARGS__))
#define ad_dotc_s(...)      ADX_PLACED(ad_dotc_s(__VA_ARGS__))
#define ad_norm2(...)       ADX_PLACED(ad_norm2(__VA_ARGS__))
#define ad_norm2_s(...)     ADX_PLACED(ad_norm2_s(__VA_ARGS__))
#define ad_sqdist(...)      ADX_PLACED(ad_sqdist(__VA_ARGS__))
#define ad_sqdist_s(...)    ADX_PLACED(ad_sqdist_s(__VA_ARGS__))
#define ad_logsumexp(...)   ADX_PLACED(ad_logsumexp(__VA_ARGS__))
#define ad_logsumexp_s(...) ADX_PLACED(ad_logsumexp_s(__VA_ARGS__))
#define ad_softmax(...)     ADX_PLACED(ad_softmax(__VA_ARGS__))
#define ad_softmax_s(...)   ADX_PLACED(ad_softmax_s(__VA_ARGS__))
#define ad_axpy(...)        ADX_PLACED(ad_axpy(__VA_ARGS__))
#define ad_axpy_s(...)      ADX_PLACED(ad_axpy_s(__VA_ARGS__))
#define ad_scale(...)       ADX_PLACED(ad_scale(__VA_ARGS__))
#define ad_scale_s(...)     ADX_PLACED(ad_scale_s(__VA_ARGS__))
#undef ad_each
#undef ad_each_s
#define ad_each(...)        ADX_PLACED(ad_each(__VA_ARGS__))
#define ad_each_s(...)      ADX_PLACED(ad_each_s(__VA_ARGS__))
#define ad_matvec(...)      ADX_PLACED(ad_matvec(__VA_ARGS__))
#define ad_matvec_s(...)    ADX_PLACED(ad_matvec_s(__VA_ARGS__))
#define ad_matvecc(...)     ADX_PLACED(ad_matvecc(__VA_ARGS__))
#define ad_matmul(...)      ADX_PLACED(ad_matmul(__VA_ARGS__))
#define ad_matmul_s(...)    ADX_PLACED(ad_matmul_s(__VA_ARGS__))
#define ad_trimatvec(...)   ADX_PLACED(ad_trimatvec(__VA_ARGS__))
#endif

#undef ADX_LIBM1
#undef ADX_LIBM2
