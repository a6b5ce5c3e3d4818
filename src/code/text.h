#pragma once

/* === code/text ==============================================================
 * A program as text. A number is written as a literal, an input, a local
 * variable or, if another C function or an array needs it, as a place in
 * `work`. A literal has as many digits as tell its bits from all others (17; of
 * float 9). The text of an operation is its formula in the operator table, with
 * such names in place of the arguments.
 *
 *   needs   core/special core/incomplete core/beta core/cells function/program
 *           code/api
 *   offers  adx_bytes adx_put_bytes adx_put_word adx_text ADX_TABLES_HERE
 *           ADX_TABLES_ONLY ADX_TABLES_DONE ADX_LIST_WIDTH adx_put_text
 *           adx_say adx_say_index adx_open_element adx_close_element
 *           adx_function_space adx_table_space adx_array_space
 *           adx_restrict_word adx_stride_type adx_infinity adx_say_literal
 *           adx_say_element_literal adx_say_formula adx_say_math
 *           ADX_HELPER_COUNT adx_find_helpers adx_are_in_dialect
 *           adx_say_helpers
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- bytes in memory ----------------------------------------------------- */

// Bytes that grow as they are written.
typedef struct adx_bytes {
    const ad_allocator *memory;
    uint8_t *v;
    size_t n;                   // written
    size_t room;
    bool failed;                // no memory: the rest is lost
} adx_bytes;

// An ad_write_fn.
static void adx_put_bytes(const char *from, size_t n, void *user)
{
    adx_bytes *b = (adx_bytes *)user;
    while (n > 0 && !b->failed) {
        if (!adx_make_room_for(b->memory, (void **)&b->v, &b->room, b->n, 1)) {
            b->failed = true;
            return;
        }
        size_t part = b->room - b->n < n ? b->room - b->n : n;
        memcpy(b->v + b->n, from, part);
        b->n += part;
        from += part;
        n -= part;
    }
}

// The lowest byte first.
static void adx_put_word(adx_bytes *b, uint64_t v, size_t bytes)
{
    char text[8];
    for (size_t i = 0; i < bytes; i++)
        text[i] = (char)(uint8_t)(v >> (8 * i));
    adx_put_bytes(text, bytes, b);
}

/* --- text ---------------------------------------------------------------- */

typedef struct adx_text {
    ad_write_fn *write;
    void *user;
    size_t bytes;               // written so far, or counted if write is NULL
    const char *name;           // in front of all names
    const char *real;           // double or float
    bool single;                // float
    bool absorbing, exported;   // as of ad_c_options
    bool loaded;                // for ad_fn_compile: with checks, blocks
                                // and loops, and the size of work as data
    bool header;                // declarations only
    bool muted;                 // nothing is put
    bool failed;                // no memory for a part of it
    ad_c_dialect dialect;
    enum adx_tables {           // constants that loops read:
        ADX_TABLES_HERE,        // in the loop
        ADX_TABLES_ONLY,        // before the function, and nothing else
        ADX_TABLES_DONE         // they are there already
    } tables;
} adx_text;

#define ADX_LIST_WIDTH 64       // of lists: columns before a line is broken

static void adx_put_text(adx_text *t, const char *text, size_t n)
{
    if (t->muted)
        return;
    t->bytes += n;
    if (t->write != NULL && n > 0)
        t->write(text, n, t->user);
}

#if defined __GNUC__ || defined __clang__
__attribute__((format(printf, 2, 3)))
#endif
static void adx_say(adx_text *t, const char *format, ...)
{
    char line[1000];            // several names, and a few words: never cut
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    adx_put_text(t, line, n < 0 ? 0 : (size_t)n < sizeof line
                                    ? (size_t)n : sizeof line - 1);
}

// Writes `before`, the number in decimals, and `after`. Most of a program's
// text is of this form, and this is several times as fast as a format.
static void adx_say_index(adx_text *t, const char *before, size_t number,
                          const char *after)
{
    char digits[24];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    adx_put_text(t, before, strlen(before));
    adx_put_text(t, digits + at, sizeof digits - at);
    adx_put_text(t, after, strlen(after));
}

// Writes an element of an array up to its index; adx_close_element is what
// follows the index. In kernels the elements of a point are a stride apart.
static void adx_open_element(adx_text *t, const char *array)
{
    if (t->dialect == ADREV_C99) {
        adx_put_text(t, array, strlen(array));
        adx_put_text(t, "[", 1);
    } else
        adx_say(t, "%s_AT(%s, ", t->name, array);
}

static const char *adx_close_element(const adx_text *t)
{
    return t->dialect == ADREV_C99 ? "]" : ")";
}

// What stands in front of a function, of a constant array that functions read,
// and of a pointer to memory that all points share.
static const char *adx_function_space(const adx_text *t)
{
    return t->dialect == ADREV_CUDA
         ? t->exported ? "__device__ " : "static __device__ "
         : t->exported ? "" : "static ";
}

static const char *adx_table_space(const adx_text *t)
{
    return t->dialect == ADREV_OPENCL ? "__constant "
         : t->dialect == ADREV_CUDA ? "static __device__ const "
                                    : "static const ";
}

static const char *adx_array_space(const adx_text *t)
{
    return t->dialect == ADREV_OPENCL ? "__global " : "";
}

// C++ has no restrict.
static const char *adx_restrict_word(const adx_text *t)
{
    return t->dialect == ADREV_CUDA ? "__restrict__" : "restrict";
}

// The integer that a stride is: 64 bits.
static const char *adx_stride_type(const adx_text *t)
{
    return t->dialect == ADREV_CUDA ? "long long" : "long";
}

// Puts C's decimal point where the locale's is, which may be several bytes.
static void adx_set_point(char *number)
{
    size_t before = strspn(number, "+-0123456789e");
    size_t point = strcspn(number + before, "+-0123456789e");
    if (point == 0)
        return;
    number[before] = '.';
    memmove(number + before + 1, number + before + point,
            strlen(number + before + point) + 1);
}

// INFINITY and NAN are floats, which compilers may be told not to widen.
static const char *adx_infinity(const adx_text *t)
{
    return t->single ? "HUGE_VALF" : "HUGE_VAL";
}

// Writes a number so that it reads back as the same bits.
static void adx_say_literal(adx_text *t, ad_real v)
{
    char number[40];
    double d = (double)v;
    // A double that a float has no room for becomes an infinity, as it would by
    // rounding: from half an ulp above the largest float on. Likewise, what is
    // no more than half of the smallest float becomes 0.
    bool large = t->single && fabs(d) >= 0x1.ffffffp127;
    if (v != v) {
        adx_say(t, t->single ? "NAN" : "((double)NAN)");
        return;
    }
    if (v - v != 0 || large) {
        adx_say(t, v > 0 ? "%s" : "(-%s)", adx_infinity(t));
        return;
    }
    if (t->single && fabs(d) <= 0x1p-150)
        d = signbit(d) ? -0.0 : 0.0;
    snprintf(number, sizeof number, t->single ? "%.9g" : "%.17g", d);
    adx_set_point(number);
    bool whole = strpbrk(number, ".eE") == NULL;
    bool below = number[0] == '-';
    adx_say(t, "%s%s%s%s%s", below ? "(" : "", number, whole ? ".0" : "",
            t->single ? "f" : "", below ? ")" : "");
}

// The same among elements of a table, where the type says that it is no
// integer.
static void adx_say_element_literal(adx_text *t, ad_real v)
{
    const bool whole = v >= -999999 && v <= 999999 && v == (ad_real)(long)v;
    if (whole && !(v == 0 && signbit(v)))
        adx_say(t, "%ld", (long)v);
    else
        adx_say_literal(t, v);
}

// Writes a word for which a dialect has another one. OpenCL has no nearbyint,
// and half is a type; in device code arrays of functions are not static.
static bool adx_say_own_word(adx_text *t, const char *word, size_t n)
{
    static const char *const own[][2] = {
        { "static", "" }, { "half", "a_half" }, { "adm_nearbyint", "rint" },
    };
    for (size_t i = 0; t->dialect != ADREV_C99 && i < sizeof own / sizeof *own;
         i++)
        if (n == strlen(own[i][0]) && strncmp(word, own[i][0], n) == 0) {
            adx_say(t, "%s%s", own[i][1], n > 4 && word[3] == '_' && t->single
                    && t->dialect == ADREV_CUDA ? "f" : "");
            return true;
        }
    return false;
}

// What an identifier of the tables' text is called in the code: adm_sin is sin
// or sinf, adx_gauss is f_gauss. (Functions of OpenCL take both types.)
static void adx_say_name(adx_text *t, const char *word, size_t n)
{
    int length = (int)n;
    if (adx_say_own_word(t, word, n))
        return;
    if (n > 4 && strncmp(word, "adm_", 4) == 0)
        adx_say(t, "%.*s%s", length - 4, word + 4,
                t->single && t->dialect != ADREV_OPENCL ? "f" : "");
    else if (n > 4 && strncmp(word, "adx_", 4) == 0)
        adx_say(t, "%s_%.*s", t->name, length - 4, word + 4);
    else if (n == 7 && strncmp(word, "ad_real", 7) == 0)
        adx_say(t, "%s", t->real);
    else
        adx_put_text(t, word, n);
}

// Writes the number in ADX_K(number). Returns what follows it.
static const char *adx_say_constant(adx_text *t, const char *at)
{
    size_t n = strcspn(at, ")");
    const char *e = at + strcspn(at, "e)");
    bool tiny = *e == 'e' && e[1] == '-' && adx_read_decimal(e + 2, NULL) > 37;
    if (t->single && tiny)
        adx_say(t, "1e-37f");           // smaller ones stand for double only
    else {
        adx_put_text(t, at, n);
        adx_say(t, t->single ? "f" : "");
    }
    return at + n + 1;
}

typedef void adx_say_argument_fn(adx_text *t, char which, void *user);

// Writes a text of the operator table as C code: names are translated, and the
// letters x, y, z and v become what `argument` writes for them. If argument is
// NULL, they stay.
static void adx_say_formula(adx_text *t, const char *at,
                            adx_say_argument_fn *argument, void *user)
{
    while (*at != '\0') {
        const char *word = at;
        while (adx_is_letter(*at) || (at > word && adx_is_digit(*at)))
            at++;
        size_t n = (size_t)(at - word);
        if (n == 5 && strncmp(word, "ADX_K", 5) == 0)
            at = adx_say_constant(t, at + 1);
        else if (n == 1 && argument != NULL && strchr("xyzv", *word) != NULL)
            argument(t, *word, user);
        else if (n > 0)
            adx_say_name(t, word, n);
        else {          // an operator, or a number with all its letters
            while (adx_is_digit(*at) || *at == '.')
                at++;
            if (at == word)
                at++;
            adx_put_text(t, word, (size_t)(at - word));
        }
    }
}

// Writes the line for <math.h>. In code that this process loads and may run on
// threads, lgamma is lgamma_r, as core/operations has it: lgamma sets signgam,
// which all threads share.
static void adx_say_math(adx_text *t, bool loaded)
{
    const char *suffix = t->single ? "f" : "";
    adx_say(t, "#include <math.h>\n\n");
    if (!loaded || !ADX_HAS_LGAMMA_R)
        return;
    adx_say(t, "%s %s_with_sign(%s x, int *sign) __asm__(\"lgamma%s_r\");\n\n"
            "static inline %s %s_lgamma(%s x)\n{\n    int sign = 0;\n"
            "    return %s_with_sign(x, &sign);\n}\n\n", t->real, t->name,
            t->real, suffix, t->real, t->name, t->real, t->name);
    adx_say(t, "#define lgamma%s %s_lgamma\n\n", suffix, t->name);
}

/* --- helper functions ---------------------------------------------------- */

// A function of the library that formulas call, as C text.
typedef struct adx_helper {
    const char *name;
    const char *parameters;
    const char *body;           // an expression or a block
    const char *type;           // NULL: that of a value
} adx_helper;

#define ADX_TEXT(name, parameters, ...)                                     \
    { #name, #parameters, #__VA_ARGS__, NULL },
#define ADX_TEXT_TYPED(type, name, parameters, ...)                         \
    { #name, #parameters, #__VA_ARGS__, #type },
#define ADX_QUOTED(name, parameters, ...)                                   \
    ADX_TEXT(name, parameters, __VA_ARGS__)
#define ADX_TEXT_PARTIAL(name, n, how, fx, fy, fz, ...)                     \
    ADX_QUOTED(name, ADX_PARAMETERS_##n, __VA_ARGS__)
static const adx_helper adx_helpers[] = {
    ADX_LONG(ADX_TEXT, ADX_TEXT)
    ADX_LONG_SELDOM(ADX_TEXT, ADX_TEXT)
    { "libm_jn", "(int n, double x)",
      "extern double jn(int, double); return (ad_real)jn(n, x);", NULL },
    { "libm_yn", "(int n, double x)",
      "extern double yn(int, double); return (ad_real)yn(n, x);", NULL },
    ADX_BESSELS(ADX_TEXT)
    ADX_INCOMPLETE(ADX_TEXT, ADX_TEXT_TYPED)
    ADX_INCOMPLETE_BETA(ADX_TEXT, ADX_TEXT_TYPED)
    ADX_HELPERS(ADX_TEXT, ADX_TEXT_PARTIAL)
};
#undef ADX_TEXT
#undef ADX_TEXT_TYPED
#undef ADX_QUOTED
#undef ADX_TEXT_PARTIAL
#define ADX_HELPER_COUNT (sizeof adx_helpers / sizeof *adx_helpers)

// Finds the helper functions that a text calls, and those that they call in
// turn. False: one is not in the table.
static bool adx_find_helpers(const char *text, bool needed[])
{
    for (const char *at = text; (at = strstr(at, "adx_")) != NULL;) {
        at += 4;
        size_t n = 0;
        while (adx_is_letter(at[n]) || adx_is_digit(at[n]))
            n++;
        size_t i = 0;
        while (i < ADX_HELPER_COUNT
               && (strlen(adx_helpers[i].name) != n
                   || strncmp(adx_helpers[i].name, at, n) != 0))
            i++;
        if (i == ADX_HELPER_COUNT)
            return false;
        if (!needed[i]) {
            needed[i] = true;
            if (!adx_find_helpers(adx_helpers[i].body, needed))
                return false;
        }
    }
    return true;
}

// Bessel functions are declared by CUDA.
static const char *adx_helper_body(const adx_text *t, const adx_helper *h)
{
    return t->dialect != ADREV_CUDA || strncmp(h->name, "libm_", 5) != 0
         ? h->body : strcmp(h->name, "libm_jn") == 0
         ? "return (ad_real)jn(n, x);" : "return (ad_real)yn(n, x);";
}

// Whether a dialect has what a helper function needs: devices have no long
// double, and OpenCL no Bessel functions.
static bool adx_is_in_dialect(const adx_text *t, const adx_helper *h)
{
    return t->dialect == ADREV_C99
        || (strstr(h->parameters, "long") == NULL
            && strstr(h->body, "long double") == NULL
            && (h->type == NULL || strstr(h->type, "long") == NULL)
            && (t->dialect != ADREV_OPENCL
                || strncmp(h->name, "libm_", 5) != 0));
}

static bool adx_are_in_dialect(const adx_text *t, const bool needed[])
{
    for (size_t i = 0; i < ADX_HELPER_COUNT; i++)
        if (needed[i] && !adx_is_in_dialect(t, &adx_helpers[i]))
            return false;
    return true;
}

static void adx_say_helpers(adx_text *t, const bool needed[])
{
    for (size_t i = 0; i < ADX_HELPER_COUNT; i++) {
        const adx_helper *h = &adx_helpers[i];
        if (!needed[i])
            continue;
        adx_say(t, t->dialect == ADREV_CUDA ? "static __device__ " : "static ");
        adx_say_formula(t, h->type != NULL ? h->type : "ad_real", NULL, NULL);
        adx_say(t, " %s_%s", t->name, h->name);
        adx_say_formula(t, h->parameters, NULL, NULL);
        adx_say(t, "\n{\n    ");
        adx_say_formula(t, adx_helper_body(t, h), NULL, NULL);
        adx_say(t, "\n}\n\n");
    }
}

ADX_SELDOM_END
