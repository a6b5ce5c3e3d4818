#pragma once

/* === core/cells =============================================================
 * The rows of the operator table, and behind them the operations that only
 * partials need: the rows PARTIAL of core/operations, and a few others. So a
 * partial is made of operations, and has partials itself.
 *
 * For that the cells of the tables, which are C expressions, are parsed here,
 * by recursive descent, into terms of one operation each.
 *
 *     choice   = either [ "?" choice ":" choice ]
 *     either   = both { "||" both }
 *     both     = relation { "&&" relation }
 *     relation = sum [ ("<" | ">" | "==" ...) sum ]
 *     sum      = product { ("+" | "-") product }
 *     product  = factor { ("*" | "/") factor }
 *     factor   = "-" factor | "(" choice ")" | number | x | y | z | v
 *              | name "(" choice { "," choice } ")"
 *
 *   needs   core/config core/types core/operations core/api
 *   offers  ADX_CHAIN ADX_DERIVED ADX_OP_* ADX_OP_COUNT adx_attributes
 *           ADX_EVERY adx_compute adx_partial_at adx_row_of ADX_TERM_NUMBER
 *           ADX_TERM_VALUE ADX_TERM_FIRST ADX_TERMS adx_term adx_formula
 *           adx_is_letter adx_is_digit adx_operation_named adx_read_decimal
 *           adx_parse_partial adx_moving_terms adx_cell_tangent
 * ========================================================================== */

/* --- operations -------------------------------------------------------------
 * Rows for the chain rule, and of what cells have besides: x || y, x && y. A
 * ratio is the tangent of a quotient, where a zero absorbs as in chain. At
 * x = y = 0 its partial by y is NaN; only ad_fn_taylor makes ratios.         */

// clang-format off
#define ADX_CHAIN(ROW)                                                                                     \
    ROW( chain,      2, adx_absorb(x, y),       y,    x,    0,    ADX_COST_SHORT | ADX_COMMUTES )
#define ADX_OTHERS(ROW)                                                                                    \
    ROW( or,         2, x != 0 || y != 0,       0,    0,    0,    ADX_COST_SHORT )                         \
    ROW( and,        2, x != 0 && y != 0,       0,    0,    0,    ADX_COST_SHORT )                         \
    ROW( ratio,      2, x == 0 ? 0 : x / y,     1 / y, -(v / y), 0, ADX_COST_SHORT )
// clang-format on
#define ADX_NO_ROW(...)
#define ADX_PARTIALS(ROW) ADX_HELPERS(ADX_NO_ROW, ROW)
// The columns of the two differ, so a ROW may use the names only.
#define ADX_DERIVED(ROW)  ADX_OTHERS(ROW) ADX_PARTIALS(ROW)

#define ADX_ENUM(name, ...) ADX_OP_##name,
enum {
    ADX_OP_BEFORE = ADREV_OP_COUNT - 1,
    ADX_CHAIN(ADX_ENUM)
    ADX_DERIVED(ADX_ENUM)
    ADX_OP_COUNT
};
#undef ADX_ENUM

// What is true of each operation: ADX_COST_SHORT and what follows it.
#define ADX_LAST_OF_OTHER(name, n, f, fx, fy, fz, how) how,
#define ADX_THIRD_OF_PARTIAL(name, n, how, ...) how,
static const unsigned short adx_attributes[ADX_OP_COUNT] ADX_UNUSED = {
    ADX_ATTRIBUTES
    ADX_CHAIN(ADX_LAST_OF_OTHER) ADX_OTHERS(ADX_LAST_OF_OTHER)
    ADX_PARTIALS(ADX_THIRD_OF_PARTIAL)
};
#undef ADX_LAST_OF_OTHER
#undef ADX_THIRD_OF_PARTIAL

// adx_f_name(x, y, z): the value of an operation, whatever its arity.
#define ADX_DEFINE(name, n, f, ...)                                         \
    ADX_INLINE ad_real adx_f_##name(ad_real x, ad_real y, ad_real z)        \
        { (void)x; (void)y; (void)z; return f; }
#define ADX_ARGUMENTS_1 (x)
#define ADX_ARGUMENTS_2 (x, y)
#define ADX_ARGUMENTS_3 (x, y, z)
#define ADX_DEFINE_PARTIAL(name, n, ...)                                    \
    ADX_DEFINE(name, n, adx_##name ADX_ARGUMENTS_##n, )
ADX_CHAIN(ADX_DEFINE)
ADX_OTHERS(ADX_DEFINE)
ADX_PARTIALS(ADX_DEFINE_PARTIAL)
#undef ADX_DEFINE
#undef ADX_DEFINE_PARTIAL

ADX_INLINE ad_real adx_f_detach(ad_real x) { return x; }

// ADX_DO(code, value), of x, y and z, for every operation of one result but
// chain: whether a zero absorbs there is for the place of use to say. ADX_DO is
// a name that each place defines, and not an argument, because ADREV_OPS gives
// its visitor the columns of a row and nothing else: ADX_EVERY_ROW cannot be
// told whom to pass them on to.
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

// The value of an operation, for use outside of loops.
ADX_APART ad_real adx_compute(uint32_t op, ad_real x, ad_real y, ad_real z)
{
    switch (op) {
#define ADX_DO(code, value) case code: return (ad_real)(value);
    ADX_EVERY
#undef ADX_DO
    case ADX_OP_chain: return adx_f_chain(x, y, z);
    default: return 0;
    }
}

#define ADX_CASE(code, fx, fy, fz)                                          \
    case code: return (ad_real)(i == 0 ? (fx) : i == 1 ? (fy) : (fz));
#define ADX_CASE_OF_ROW(name, ...)                                          \
    ADX_CASE(ADREV_OP_##name, adx_fx_##name(x, y, z, v),                    \
             adx_fy_##name(x, y, z, v), adx_fz_##name(x, y, z, v))
#define ADX_CASE_OF_OTHER(name, n, f, fx, fy, fz, ...)                      \
    ADX_CASE(ADX_OP_##name, fx, fy, fz)
#define ADX_CASE_OF_PARTIAL(name, n, how, fx, fy, fz, ...)                  \
    ADX_CASE(ADX_OP_##name, fx, fy, fz)

// The partial of an operation, whose value is v, with respect to argument i.
ADX_APART ad_real adx_partial_at(uint32_t op, uint32_t i, ad_real x, ad_real y,
                                 ad_real z, ad_real v)
{
    switch (op) {
    ADREV_OPS(ADX_CASE_OF_ROW)
    ADX_CHAIN(ADX_CASE_OF_OTHER)
    ADX_OTHERS(ADX_CASE_OF_OTHER)
    ADX_PARTIALS(ADX_CASE_OF_PARTIAL)
    default: return 0;
    }
}
#undef ADX_CASE
#undef ADX_CASE_OF_ROW
#undef ADX_CASE_OF_OTHER
#undef ADX_CASE_OF_PARTIAL

#define ADX_CALL_TEXT_1 "(x)"
#define ADX_CALL_TEXT_2 "(x, y)"
#define ADX_CALL_TEXT_3 "(x, y, z)"

// Name, arity, value and partials of an operation, as text.
static ADX_UNUSED const ad_op_info *adx_row_of(uint32_t op)
{
#define ADX_INFO(name, n, f, fx, fy, fz, ...)                               \
    { #name, n, #f, { #fx, #fy, #fz }, { 0, 0, 0, 0, 0, 0 } },
#define ADX_INFO_PARTIAL(name, n, how, fx, fy, fz, ...)                     \
    { #name, n, "adx_" #name ADX_CALL_TEXT_##n, { #fx, #fy, #fz },          \
      { 0, 0, 0, 0, 0, 0 } },
    static const ad_op_info derived[] = {
        ADX_CHAIN(ADX_INFO) ADX_OTHERS(ADX_INFO) ADX_PARTIALS(ADX_INFO_PARTIAL)
    };
#undef ADX_INFO
#undef ADX_INFO_PARTIAL
    return op < ADREV_OP_COUNT ? &ad_op_table()[op]
                               : &derived[op - ADREV_OP_COUNT];
}

/* --- cells ---------------------------------------------------------------- */

ADX_SELDOM_BEGIN

enum {
    ADX_TERM_NUMBER = ADX_OP_COUNT,
    ADX_TERM_VALUE = 3,         // v, behind x, y and z
    ADX_TERM_FIRST,
    ADX_TERMS = 60              // of a cell, at most: 64 bits of `moving`
};

// One operation of a cell of the operator table. Its arguments are indices: 0
// to 2 are the arguments of the operation whose partial the cell is, 3 is the
// result of that operation, and from 4 on they are the terms before this one.
typedef struct adx_term {
    uint16_t op;                // or ADX_TERM_NUMBER
    uint8_t arg[3];
    ad_real v;
} adx_term;

typedef struct adx_formula {
    const char *at;             // the rest of the text
    adx_term term[ADX_TERMS];
    uint8_t terms;
    uint8_t result;
    bool wrong;
} adx_formula;

static uint8_t adx_choice(adx_formula *f);

// Appends a term; returns its index as an argument. No cell of the tables is
// ever wrong: tests/function/function_ops.c reads all of them.
static uint8_t adx_new_term(adx_formula *f, uint32_t op, uint8_t x, uint8_t y,
                            uint8_t z, ad_real v)
{
    if (op > ADX_TERM_NUMBER || f->terms == ADX_TERMS) {
        f->wrong = true;
        return 0;
    }
    f->term[f->terms] = (adx_term){ (uint16_t)op, { x, y, z }, v };
    return (uint8_t)(ADX_TERM_FIRST + f->terms++);
}

static void adx_blank(adx_formula *f)
{
    while (*f->at == ' ')
        f->at++;
}

// Whether this text comes next, which is then passed over.
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

// The operation that the name of a function in a cell stands for, without its
// prefix; ADX_OP_COUNT: none.
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

// A call in a cell, behind its "(": adm_sin(...), adx_gauss(...) or ADX_K(...).
static uint8_t adx_application(adx_formula *f, const char *name, size_t n)
{
    uint8_t arg[3] = { 0 };
    size_t count = 0;
    do
        arg[count++] = adx_choice(f);
    while (count < 3 && adx_next_is(f, ","));
    adx_next_is(f, ")");
    if (strncmp(name, "ADX_K", n) == 0)
        return arg[0];
    uint32_t op = adx_operation_named(name + 4, n - 4);
    f->wrong |= op == ADX_OP_COUNT;
    return adx_new_term(f, op, arg[0], arg[1], arg[2], 0);
}

// A decimal of the tables, whatever the locale's decimal point is. It is
// correctly rounded if 19 digits decide what it is, and if the power of ten is
// at most the 22nd, which a double holds exactly.
static double adx_read_decimal(const char *at, const char **end)
{
    uint64_t digits = 0;
    int power = 0;
    bool point = false;
    for (; adx_is_digit(*at) || (*at == '.' && !point); at++)
        if (*at == '.')
            point = true;
        else if (digits < UINT64_C(1000000000000000000)) {
            digits = 10 * digits + (uint64_t)(*at - '0');
            power -= point;
        } else
            power += !point;
    if (*at == 'e') {
        bool below = *++at == '-';
        int e = 0;
        for (at += below || *at == '+'; adx_is_digit(*at); at++)
            e = e < 1000 ? 10 * e + (*at - '0') : e;
        power += below ? -e : e;
    }
    if (end != NULL)
        *end = at;
    // The digits in two parts, and what the quotient of the first leaves.
    double scale = 1;
    double high = (double)digits;
    double low = (double)(int64_t)(digits - (uint64_t)high);
    for (int i = power < 0 ? -power : power; i > 0; i--)
        scale *= 10;
    if (power >= 0)
        return high * scale + low * scale;
    double quotient = high / scale;
    return quotient + (fma(-quotient, scale, high) + low) / scale;
}

// A name without "(" is x, y, z or, whatever else it is, v.
static uint8_t adx_factor(adx_formula *f)
{
    adx_blank(f);
    if (adx_next_is(f, "-")) {
        uint8_t x = adx_factor(f);
        return adx_new_term(f, ADREV_OP_neg, x, x, x, 0);
    }
    if (adx_next_is(f, "(")) {
        uint8_t inner = adx_choice(f);
        adx_next_is(f, ")");
        return inner;
    }
    if (adx_is_digit(*f->at)) {
        ad_real v = (ad_real)adx_read_decimal(f->at, &f->at);
        return adx_new_term(f, ADX_TERM_NUMBER, 0, 0, 0, v);
    }
    const char *name = f->at;
    while (adx_is_letter(*f->at) || adx_is_digit(*f->at))
        f->at++;
    size_t n = (size_t)(f->at - name);
    if (adx_next_is(f, "("))
        return adx_application(f, name, n);
    return *name == 'x' ? 0 : *name == 'y' ? 1 : *name == 'z' ? 2 : 3;
}

// Binary operators of one level, from left to right.
typedef struct adx_operator {
    const char *text;
    uint32_t op;
} adx_operator;

typedef uint8_t adx_part_fn(adx_formula *f);

// Of two operators that begin alike, the longer one comes first in a table.
static uint8_t adx_operators(adx_formula *f, adx_part_fn *part,
                             const adx_operator *table, size_t n)
{
    uint8_t left = part(f);
    size_t i = 0;
    while (i < n)
        if (adx_next_is(f, table[i].text)) {
            left = adx_new_term(f, table[i].op, left, part(f), left, 0);
            i = 0;
        } else
            i++;
    return left;
}

#define ADX_LEVEL(name, part, ...)                                          \
    static uint8_t name(adx_formula *f)                                     \
    {                                                                       \
        static const adx_operator table[] = { __VA_ARGS__ };                \
        return adx_operators(f, part, table, sizeof table / sizeof *table); \
    }
ADX_LEVEL(adx_product_of, adx_factor, { "*", ADREV_OP_mul },
          { "/", ADREV_OP_div })
ADX_LEVEL(adx_sum_in, adx_product_of, { "+", ADREV_OP_add },
          { "-", ADREV_OP_sub })
ADX_LEVEL(adx_relation, adx_sum_in, { "<=", ADREV_OP_le },
          { ">=", ADREV_OP_ge }, { "==", ADREV_OP_eq }, { "!=", ADREV_OP_ne },
          { "<", ADREV_OP_lt }, { ">", ADREV_OP_gt })
ADX_LEVEL(adx_all_of, adx_relation, { "&&", ADX_OP_and })
ADX_LEVEL(adx_any_of, adx_all_of, { "||", ADX_OP_or })
#undef ADX_LEVEL

static uint8_t adx_choice(adx_formula *f)
{
    uint8_t condition = adx_any_of(f);
    if (!adx_next_is(f, "?"))
        return condition;
    uint8_t yes = adx_choice(f);
    adx_next_is(f, ":");
    uint8_t no = adx_choice(f);
    return adx_new_term(f, ADREV_OP_select, condition, yes, no, 0);
}

// Reads the cell with partial i of an operation.
static ADX_UNUSED void adx_parse_partial(uint32_t op, uint32_t i,
                                         adx_formula *f)
{
    f->at = adx_row_of(op)->partial[i];
    f->terms = 0;
    f->wrong = false;
    f->result = adx_choice(f);
}

/* --- derivatives of cells ------------------------------------------------ */

// Which of x, y, z, v and the terms move with some of the first four, as bits.
static ADX_UNUSED uint64_t adx_moving_terms(const adx_formula *f,
                                            uint64_t moving)
{
    for (uint8_t k = 0; k < f->terms; k++) {
        const adx_term *term = &f->term[k];
        bool number = term->op == ADX_TERM_NUMBER;
        int arity = number ? 0 : adx_row_of(term->op)->arity;
        for (int i = 0; i < arity; i++)
            if ((moving >> term->arg[i] & 1) != 0
                && strcmp(adx_row_of(term->op)->partial[i], "0") != 0)
                moving |= (uint64_t)1 << (ADX_TERM_FIRST + k);
    }
    return moving;
}

ADX_SELDOM_END

// The tangent of a cell, for values and tangents of x, y, z and v. Those that
// do not move (adx_moving_terms) have tangents that nobody reads.
static ADX_UNUSED ad_real adx_cell_tangent(const adx_formula *f,
                                           uint64_t moving,
                                           const ad_real value[ADX_TERM_FIRST],
                                           const ad_real dot[ADX_TERM_FIRST])
{
    ad_real v[ADX_TERM_FIRST + ADX_TERMS];
    ad_real d[ADX_TERM_FIRST + ADX_TERMS];
    memcpy(v, value, ADX_TERM_FIRST * sizeof *v);
    memcpy(d, dot, ADX_TERM_FIRST * sizeof *d);
    for (uint8_t k = 0; k < f->terms; k++) {
        const adx_term *term = &f->term[k];
        const uint8_t *arg = term->arg;
        ad_real x = v[arg[0]], y = v[arg[1]], z = v[arg[2]];
        ad_real r = term->op == ADX_TERM_NUMBER
                  ? term->v : adx_compute(term->op, x, y, z);
        v[ADX_TERM_FIRST + k] = r;
        d[ADX_TERM_FIRST + k] = 0;
        bool still = (moving >> (ADX_TERM_FIRST + k) & 1) == 0;
        int arity = still ? 0 : adx_row_of(term->op)->arity;
        for (int i = 0; i < arity; i++)
            if ((moving >> arg[i] & 1) != 0)
                d[ADX_TERM_FIRST + k] += adx_absorb(
                    adx_partial_at(term->op, (uint32_t)i, x, y, z, r),
                    d[arg[i]]);
    }
    return d[f->result];
}
