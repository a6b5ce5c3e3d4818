// SPDX-License-Identifier: MIT-0
/* quad.h - the originals with numbers of 113 bits: the judge of derivatives. */
#define _GNU_SOURCE
#include <errno.h>
#include <assert.h>
#include <float.h>
#include <math.h>
#include <quadmath.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef double port_double;

#define PUT(place, number) ((place) = (number))
#define NUM(number) (number)

#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-variable"

#define double __float128
#define float __float128
#define acos acosq
#define acosf acosq
#define acosh acoshq
#define acoshf acoshq
#define asin asinq
#define asinf asinq
#define asinh asinhq
#define asinhf asinhq
#define atan atanq
#define atanf atanq
#define atan2 atan2q
#define atan2f atan2q
#define atanh atanhq
#define atanhf atanhq
#define cbrt cbrtq
#define cbrtf cbrtq
#define ceil ceilq
#define ceilf ceilq
#define copysign copysignq
#define copysignf copysignq
#define cos cosq
#define cosf cosq
#define cosh coshq
#define coshf coshq
#define erf erfq
#define erff erfq
#define erfc erfcq
#define erfcf erfcq
#define exp expq
#define expf expq
#define exp2 exp2q
#define exp2f exp2q
#define exp10(x) powq(10, x)
#define expm1 expm1q
#define expm1f expm1q
#define fabs fabsq
#define fabsf fabsq
#define fdim fdimq
#define fdimf fdimq
#define floor floorq
#define floorf floorq
#define fma fmaq
#define fmaf fmaq
#define fmax fmaxq
#define fmaxf fmaxq
#define fmin fminq
#define fminf fminq
#define fmod fmodq
#define fmodf fmodq
#define frexp frexpq
#define frexpf frexpq
#define hypot hypotq
#define hypotf hypotq
#define ilogb ilogbq
#define ilogbf ilogbq
#define j0 j0q
#define j1 j1q
#define jn jnq
#define ldexp ldexpq
#define ldexpf ldexpq
#define lgamma lgammaq
#define lgammaf lgammaq
#define llrint llrintq
#define llrintf llrintq
#define llround llroundq
#define llroundf llroundq
#define log logq
#define logf logq
#define log10 log10q
#define log10f log10q
#define log1p log1pq
#define log1pf log1pq
#define log2 log2q
#define log2f log2q
#define logb logbq
#define logbf logbq
#define lrint lrintq
#define lrintf lrintq
#define lround lroundq
#define lroundf lroundq
#define modf modfq
#define modff modfq
#define nearbyint nearbyintq
#define nearbyintf nearbyintq
#define nextafter nextafterq
#define nextafterf nextafterq
#define pow powq
#define powf powq
#define remainder remainderq
#define remainderf remainderq
#define remquo remquoq
#define remquof remquoq
#define rint rintq
#define rintf rintq
#define round roundq
#define roundf roundq
#define scalbln scalblnq
#define scalblnf scalblnq
#define scalbn scalbnq
#define scalbnf scalbnq
#define sin sinq
#define sinf sinq
#define sincos sincosq
#define sinh sinhq
#define sinhf sinhq
#define sqrt sqrtq
#define sqrtf sqrtq
#define tan tanq
#define tanf tanq
#define tanh tanhq
#define tanhf tanhq
#define tgamma tgammaq
#define tgammaf tgammaq
#define trunc truncq
#define truncf truncq
#define y0 y0q
#define y1 y1q
#define yn ynq
#define lgamma_r(x, sign) port_lgamma_r(x, sign)

typedef double real;
typedef double single;

static __float128 port_lgamma_r(__float128 x, int *sign)
{
    *sign = x < 0 && fmodq(floorq(x), 2) != 0 ? -1 : 1;
    return lgammaq(x);
}
