// SPDX-License-Identifier: MIT-0
/* fronts.h - a row of the operator table by its front, as a user writes it:
 * CALL(name, n, x, y, z) is ad_name of as many of x, y, z as the row has.
 *
 * The file that includes this says how it makes the condition of a select and
 * an integer exponent:
 *
 *     #define FRONT_select(name, x, y, z)
 *     #define FRONT_integer(name, x, y, z)                                  */

#ifndef ADREV_TESTS_FRONTS_H
#define ADREV_TESTS_FRONTS_H

#define FRONT_1(name, x, y, z) ad_##name(x)
#define FRONT_2(name, x, y, z) ad_##name(x, y)
#define FRONT_3(name, x, y, z) ad_##name(x, y, z)

// FRONT_n, unless the row is named here.
#define SPECIAL_select ~, FRONT_select
#define SPECIAL_powi   ~, FRONT_integer
#define SPECIAL_ldexp  ~, FRONT_integer
#define SECOND_(first, second, ...) second
#define SECOND(...) SECOND_(__VA_ARGS__)
#define CALL(name, n, x, y, z)                                              \
    SECOND(SPECIAL_##name, FRONT_##n, ~)(name, x, y, z)

#endif
