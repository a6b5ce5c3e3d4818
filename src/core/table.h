#pragma once

/* === core/table =============================================================
 * The rows of the operator table as data; also digamma, which is too long to
 * inline.
 *
 *   needs   core/config core/types core/operations
 *   offers  adx_pi_cot_pi
 * ========================================================================== */

#define ADX_INFO(name, n, f, fx, fy, fz, ...)                               \
    { #name, n, #f, { #fx, #fy, #fz }, { __VA_ARGS__ } },
#define ADX_INFO_STEP(name, f, ...)                                         \
    { #name, 1, #f, { "0", "0", "0" }, { __VA_ARGS__ } },
#define ADX_INFO_COMPARISON(name, operator)                                 \
    { #name, 2, "x " #operator " y", { "0", "0", "0" }, { 0 } },
ADX_API const ad_op_info *ad_op_table(void)
{
    static const ad_op_info table[] = {
        ADREV_OPS(ADX_INFO)
        ADREV_STEPS(ADX_INFO_STEP)
        ADREV_COMPARISONS(ADX_INFO_COMPARISON)
        { "detach", 1, "x", { "0", "0", "0" }, { -3, 3, 0, 0, 0, 0 } },
    };
    return table;
}
#undef ADX_INFO
#undef ADX_INFO_STEP
#undef ADX_INFO_COMPARISON

ADX_API const char *ad_version(void) { return ADREV_VERSION; }

// Taylor series at the positive root, for |h| <= 1/4, where the next term is
// below 2^-60 of the first. The general formula would cancel here.
static ad_real adx_digamma_near_root(ad_real h)
{
    static const double c[] = {
        0.96767224544762117043,  -0.44276316898359210609,
        0.25849976095565101062,  -0.16394270544240652750,
        0.10782405069126236576,  -0.072199561256454710926,
        0.048804288164143107225, -0.033161126474847359292,
        0.022597648232218104660, -0.015424765904948959139,
        0.010538791616612175388, -0.0072045343863568682410,
        0.0049267813957298534464, -0.0033698016554393280828,
        0.0023051263267349278369, -0.0015769367714301972593,
        0.0010788252019162965807, -0.00073807093899600512957,
        0.00050495326583460203518, -0.00034546802510630769956,
        0.00023635601564027052792, -0.00016170622091974803449,
    };
    ad_real sum = 0;
    for (size_t i = sizeof c / sizeof *c; i-- > 0;)
        sum = sum * h + (ad_real)c[i];
    return sum * h;
}

// pi/tan(pi x). The argument is reduced so that neither end of a period loses
// digits.
static ad_real adx_pi_cot_pi(ad_real x)
{
    const ad_real pi = ADX_K(3.14159265358979323846);
    ad_real r = x - adm_round(x);
    ad_real half = 1 / (ad_real)2;
    if (adm_fabs(r) < half / 2)
        return pi / adm_tan(pi * r);
    return pi * adm_tan(pi * (r > 0 ? half - r : -half - r));
}

// Below 1/2 by reflection, up to 10 by recurrence, and from there by the
// asymptotic series, whose next term is below 2^-58. The error is 3 ulp for x >
// 0; for x < 0 it is relative to the larger of the two terms that cancel.
ADX_API ad_real adx_digamma(ad_real x)
{
    static const double bernoulli[] = {
        1 / 12., -1 / 120., 1 / 252., -1 / 240., 1 / 132., -691 / 32760.,
        1 / 12., -3617 / 8160.
    };
    // The root is 1.46163214496836234126..., in two parts: float and the
    // rest, double and the rest.
    const bool narrow = sizeof(ad_real) == 4;
    const ad_real root = narrow ? ADX_K(0x1.762d86p+0)
                                : ADX_K(1.4616321449683622458);
    const ad_real rest = narrow ? ADX_K(0x1.ab5f2p-27)
                                : ADX_K(9.5499954299656974e-17);
    ad_real shift = 0;
    ad_real low = 0;            // what rounding took from shift

    if (x <= 0 && x == adm_floor(x))
        return x - x == 0 ? ADX_K(NAN) : x;
    if (x < 1 / (ad_real)2)
        return adx_digamma(1 - x) - adx_pi_cot_pi(x);
    if (adm_fabs(x - root) < 1 / (ad_real)4)
        return adx_digamma_near_root(x - root - rest);
    for (; x < 10; x++) {
        ad_real sum = shift + 1 / x;
        low += 1 / x - (sum - shift);
        shift = sum;
    }

    ad_real r = 1 / x / x;
    ad_real sum = 0;
    for (size_t i = sizeof bernoulli / sizeof *bernoulli; i-- > 0;)
        sum = (sum + (ad_real)bernoulli[i]) * r;
    return adm_log(x) - shift - (1 / (2 * x) + sum + low);
}
