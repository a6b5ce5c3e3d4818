/* library.c - functions of the C library that adrev-port knows.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <string.h>

typedef struct row {
    const char *name;
    library_kind kind;
    const char *as;             // of L_OPERATION: the operator
    int numbers;
} row;

static const row rows[] = {
#define OP1(name)     { #name, L_OPERATION, #name, 1 },
#define OP2(name)     { #name, L_OPERATION, #name, 2 },
#define AS(name, as, n) { #name, L_OPERATION, #as, n },
#define HELPED(name)  { #name, L_HELPER, NULL, 1 },
#define IS(kind, name) { #name, kind, NULL, 0 },
    AS(fabs, abs, 1) AS(fmin, min, 2) AS(fmax, max, 2) AS(scalbn, ldexp, 1)
    AS(scalbln, ldexp, 1) AS(ldexp, ldexp, 1) AS(fma, fma, 3)
    OP1(sqrt) OP1(cbrt) OP1(exp) OP1(exp2) OP1(expm1) OP1(log) OP1(log2)
    OP1(log10) OP1(log1p) OP1(sin) OP1(cos) OP1(tan) OP1(asin) OP1(acos)
    OP1(atan) OP1(sinh) OP1(cosh) OP1(tanh) OP1(asinh) OP1(acosh) OP1(atanh)
    OP1(erf) OP1(erfc) OP1(lgamma) OP1(tgamma) OP1(floor) OP1(ceil) OP1(trunc)
    OP1(round) OP1(rint) OP1(nearbyint)
    OP2(pow) OP2(hypot) OP2(atan2) OP2(fdim) OP2(fmod) OP2(remainder)
    OP2(copysign) AS(drem, remainder, 2)
    OP1(exp10) AS(pow10, exp10, 1) OP1(j0) OP1(j1) OP1(y0) OP1(y1) OP2(jn) OP2(yn)
    IS(L_VALUE, isnan) IS(L_VALUE, isinf) IS(L_VALUE, isfinite)
    IS(L_VALUE, isnormal) IS(L_VALUE, signbit) IS(L_VALUE, fpclassify)
    IS(L_VALUE, isinf_sign) IS(L_VALUE, finite) IS(L_VALUE, __isnan)
    IS(L_VALUE, __isinf) IS(L_VALUE, __finite) IS(L_VALUE, __signbit)
    IS(L_VALUE, isgreater) IS(L_VALUE, isgreaterequal) IS(L_VALUE, isless)
    IS(L_VALUE, islessequal) IS(L_VALUE, islessgreater)
    IS(L_VALUE, isunordered) IS(L_VALUE, ilogb) IS(L_VALUE, lrint)
    IS(L_VALUE, llrint) IS(L_VALUE, lround) IS(L_VALUE, llround)
    IS(L_PASSIVE, printf) IS(L_PASSIVE, fprintf) IS(L_PASSIVE, sprintf)
    IS(L_PASSIVE, snprintf) IS(L_PASSIVE, puts) IS(L_PASSIVE, fputs)
    IS(L_PASSIVE, putchar) IS(L_PASSIVE, fputc) IS(L_PASSIVE, fflush)
    IS(L_PASSIVE, exit) IS(L_PASSIVE, abort) IS(L_PASSIVE, __assert_fail)
    IS(L_PASSIVE, perror) IS(L_PASSIVE, fwrite) IS(L_PASSIVE, expect)
    IS(L_ALLOC, malloc) IS(L_ALLOC, calloc) IS(L_ALLOC, realloc)
    IS(L_ALLOC, alloca) IS(L_ALLOC, aligned_alloc) IS(L_ALLOC, reallocarray)
    IS(L_COPY, memcpy) IS(L_COPY, memmove) IS(L_COPY, mempcpy)
    IS(L_SET, memset) IS(L_FREE, free) IS(L_PLACE, posix_memalign)
    IS(L_SORT, qsort) IS(L_SORT, bsearch) IS(L_SORT, memcmp)
    { "frexp", L_PARTS, NULL, 1 }, { "modf", L_PARTS, NULL, 1 },
    { "remquo", L_PARTS, NULL, 2 },
    { "sincos", L_PARTS, NULL, 1 }, { "lgamma_r", L_PARTS, NULL, 1 },
    HELPED(gsl_pow_2) HELPED(gsl_pow_3) HELPED(gsl_pow_4) HELPED(gsl_pow_5)
    HELPED(gsl_pow_6) HELPED(gsl_pow_7) HELPED(gsl_pow_8) HELPED(gsl_pow_9)
    HELPED(gsl_pow_int)
    AS(gsl_log1p, log1p, 1) AS(gsl_expm1, expm1, 1) AS(gsl_hypot, hypot, 2)
    AS(gsl_acosh, acosh, 1) AS(gsl_asinh, asinh, 1) AS(gsl_atanh, atanh, 1)
    AS(gsl_ldexp, ldexp, 1) AS(gsl_sf_exp, exp, 1) AS(gsl_sf_log, log, 1)
    AS(gsl_sf_sin, sin, 1) AS(gsl_sf_cos, cos, 1) AS(gsl_sf_hypot, hypot, 2)
    AS(gsl_sf_erf, erf, 1) AS(gsl_sf_erfc, erfc, 1)
    AS(gsl_sf_gamma, tgamma, 1) AS(gsl_sf_lngamma, lgamma, 1)
    AS(gsl_sf_psi, digamma, 1) AS(gsl_sf_psi_n, polygamma, 2)
    AS(gsl_sf_gamma_inc_P, gamma_p, 2) AS(gsl_sf_gamma_inc_Q, gamma_q, 2)
    AS(gsl_sf_bessel_J0, j0, 1) AS(gsl_sf_bessel_J1, j1, 1)
    AS(gsl_sf_bessel_Jn, jn, 2) AS(gsl_sf_bessel_Y0, y0, 1)
    AS(gsl_sf_bessel_Y1, y1, 1) AS(gsl_sf_bessel_Yn, yn, 2)
    IS(L_VALUE, gsl_isnan) IS(L_VALUE, gsl_isinf) IS(L_VALUE, gsl_finite)
    IS(L_VALUE, gsl_fcmp) IS(L_CONSTANT, gsl_nan) IS(L_CONSTANT, gsl_posinf)
    IS(L_CONSTANT, gsl_neginf)
    IS(L_REFUSED, nextafter) IS(L_REFUSED, nexttoward) IS(L_STEP, logb)
    IS(L_REFUSED, pthread_create) IS(L_REFUSED, thrd_create)
    IS(L_REFUSED, setjmp) IS(L_REFUSED, _setjmp) IS(L_REFUSED, longjmp)
    IS(L_REFUSED, __sigsetjmp) IS(L_REFUSED, sigsetjmp)
};

static library row_named(text name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is(name, rows[i].name))
            return (library){ rows[i].kind, rows[i].as, rows[i].numbers, false,
                              rows[i].name };
    return (library){ .kind = L_NONE };
}

static text without(text t, const char *prefix)
{
    const size_t n = strlen(prefix);
    return starts(t, prefix) ? (text){ t.at + n, t.n - n } : t;
}

// Also names of builtins, of <tgmath.h>, and those for float and long double.
library library_named(text name)
{
    library found = row_named(name);
    if (found.kind != L_NONE)
        return found;
    name = without(without(without(name, "__builtin___"), "__builtin_"),
                   "__tg_");
    if (name.n > 4 && memcmp(name.at + name.n - 4, "_chk", 4) == 0)
        name.n -= 4;
    found = row_named(name);
    const char last = name.n > 1 ? name.at[name.n - 1] : 0;
    if (found.kind == L_NONE && (last == 'f' || last == 'l')) {
        name.n--;
        found = row_named(name);
        found.single = last == 'f';     // long double is never recorded
        if (found.kind > L_VALUE && (last == 'l' || found.kind != L_REFUSED))
            found.kind = L_NONE;
    }
    return found;
}
