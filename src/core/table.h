#pragma once

/* === core/table =============================================================
 * The rows of the operator table as data.
 *
 *   needs   core/config core/operations
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
