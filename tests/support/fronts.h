// SPDX-License-Identifier: MIT-0
/* fronts.h - a row of the operator table by its front, as a user writes it:
 * CALL(name, n, x, y, z) is ad_name of as many of x, y, z as the row has.
 *
 * The file that includes this says how it makes the condition of a select and
 * an integer exponent y or order x:
 *
 *     #define FRONT_select(name, x, y, z)
 *     #define FRONT_integer(name, x, y, z)
 *     #define FRONT_order(name, x, y, z)                                    */

#ifndef ADREV_TESTS_FRONTS_H
#define ADREV_TESTS_FRONTS_H

#define FRONT_1(name, x, y, z) ad_##name(x)
#define FRONT_2(name, x, y, z) ad_##name(x, y)
#define FRONT_3(name, x, y, z) ad_##name(x, y, z)

// FRONT_n, unless the row is named here.
#define SPECIAL_select ~, FRONT_select
#define SPECIAL_powi   ~, FRONT_integer
#define SPECIAL_ldexp  ~, FRONT_integer
#define SPECIAL_polygamma ~, FRONT_order
#define SPECIAL_jn     ~, FRONT_order
#define SPECIAL_yn     ~, FRONT_order
#define SECOND_(first, second, ...) second
#define SECOND(...) SECOND_(__VA_ARGS__)
#define CALL(name, n, x, y, z)                                              \
    SECOND(SPECIAL_##name, FRONT_##n, ~)(name, x, y, z)

// Which argument of a row is a whole number, an exponent or an order; 3: none.
static inline int whole_argument(int op)
{
    return op == ADREV_OP_powi || op == ADREV_OP_ldexp ? 1
         : op == ADREV_OP_polygamma || op == ADREV_OP_jn || op == ADREV_OP_yn
         ? 0 : 3;
}

#endif
