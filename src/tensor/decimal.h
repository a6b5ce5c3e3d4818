#pragma once

/* === tensor/decimal =========================================================
 * The value of a number in a text: the nearest double, ties to even, whatever
 * the locale. The digits and the power of ten are a quotient of two long whole
 * numbers, which are divided bit by bit.
 *
 *   needs   tensor/scan
 *   offers  adx_whole_value adx_number_value
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- numbers ------------------------------------------------------------- */

// The whole number at hand; false: it does not fit.
static bool adx_whole_value(adx_parser *p, int64_t *value)
{
    *value = 0;
    for (uint32_t i = 0; i < p->spot.length; i++) {
        int64_t digit = p->tree->text[p->spot.at + i] - '0';
        if (*value > (INT64_MAX - digit) / 10) {
            adx_wrong_at(p, p->spot.at, "this whole number is above 2^63 - 1");
            return false;
        }
        *value = *value * 10 + digit;
    }
    return true;
}

/* --- natural numbers without limit --------------------------------------- */

// A natural number: 32 bits in each element, the lowest first.
typedef struct adx_natural {
    uint32_t v[48];         // 10^395 has 1313 bits
    unsigned n;
} adx_natural;

// Computes x = x*factor + plus.
static void adx_natural_times(adx_natural *x, uint32_t factor, uint32_t plus)
{
    uint64_t carry = plus;
    for (unsigned i = 0; i < x->n; i++) {
        carry += (uint64_t)x->v[i] * factor;
        x->v[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry > 0)
        x->v[x->n++] = (uint32_t)carry;
}

// Whether x < y.
static bool adx_is_below(const adx_natural *x, const adx_natural *y)
{
    if (x->n != y->n)
        return x->n < y->n;
    for (unsigned i = x->n; i-- > 0;)
        if (x->v[i] != y->v[i])
            return x->v[i] < y->v[i];
    return false;
}

// Computes x -= y, which is not larger.
static void adx_take_away(adx_natural *x, const adx_natural *y)
{
    uint64_t borrow = 0;
    for (unsigned i = 0; i < x->n; i++) {
        uint64_t away = (i < y->n ? y->v[i] : 0) + borrow;
        borrow = x->v[i] < away;
        x->v[i] = (uint32_t)(x->v[i] - away);
    }
    while (x->n > 0 && x->v[x->n - 1] == 0)
        x->n--;
}

// Returns x/y, rounded to the nearest double, ties to even. x and y are not 0.
static double adx_quotient(adx_natural *x, adx_natural *y)
{
    int exponent = 0;
    for (; !adx_is_below(x, y); exponent++)
        adx_natural_times(y, 2, 0);
    for (; adx_is_below(x, y); exponent--)
        adx_natural_times(x, 2, 0);
    // Now 1 <= x/y < 2, and the quotient is that times 2^exponent.
    int bits = exponent >= -1022 ? 53 : exponent + 1075;
    uint64_t v = 0;
    for (int i = 0; i < bits; i++) {
        bool one = !adx_is_below(x, y);
        if (one)
            adx_take_away(x, y);
        adx_natural_times(x, 2, 0);
        v = 2 * v + one;
    }
    // What is left is x/y of the last bit, doubled: above 1 is above a half.
    if (bits >= 0 && !adx_is_below(x, y))
        v += adx_is_below(y, x) || v % 2 == 1;
    return ldexp((double)v, exponent - (bits < 0 ? 0 : bits) + 1);
}

#define ADX_FIGURES_MOST 64

// Returns m * 10^e for the digits of m.
static double adx_decimal(const char *digit, unsigned n, int64_t e)
{
    adx_natural x = { { 0 }, 0 };
    adx_natural y = { { 1 }, 1 };
    if (n == 0 || (int64_t)n + e < -330)
        return 0;
    if ((int64_t)n + e > 310)
        return HUGE_VAL;
    for (unsigned i = 0; i < n; i++)
        adx_natural_times(&x, 10, (uint32_t)(digit[i] - '0'));
    for (; e > 0; e--)
        adx_natural_times(&x, 10, 0);
    for (; e < 0; e++)
        adx_natural_times(&y, 10, 0);
    return adx_quotient(&x, &y);
}

// The number at hand. It does not depend on the locale. (Apart: what it has on
// the stack would be there at each level of brackets.)
ADX_NOINLINE static ad_real adx_number_value(adx_parser *p)
{
    const char *text = p->tree->text + p->spot.at;
    const char *end = text + p->spot.length;
    char digit[ADX_FIGURES_MOST];
    unsigned n = 0;
    int64_t e = 0;
    bool point = false;
    for (; text < end && *text != 'e' && *text != 'E'; text++) {
        if (*text == '.')
            point = true;
        else if (n == ADX_FIGURES_MOST) {
            adx_wrong_at(p, p->spot.at, "this number has more than %u digits",
                         (uint32_t)ADX_FIGURES_MOST);
            return 0;
        } else {
            e -= point;
            if (n > 0 || *text != '0')
                digit[n++] = *text;
        }
    }
    if (text < end) {
        bool minus = *++text == '-';
        int64_t given = 0;
        for (text += *text == '-' || *text == '+'; text < end; text++)
            given = given > 99999 ? given : given * 10 + (*text - '0');
        e += minus ? -given : given;
    }
    ad_real value = (ad_real)adx_decimal(digit, n, e);
    if (value - value != 0)
        adx_wrong_at(p, p->spot.at, "this number is too large");
    return value;
}

ADX_SELDOM_END
