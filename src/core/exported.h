#pragma once

/* === core/exported ==========================================================
 * The operator table as data, and operators as functions of an operation's
 * code, for other languages. What is usual is written here, as
 * number/expression writes it; the rest is left to tape/apart.
 *
 *   needs   core/config core/types core/operations core/api number/recording
 *           tape/layout tape/hooks tape/apart core/cells
 * ========================================================================== */

/* --- the table ------------------------------------------------------------ */

#define ADX_INFO(name, n, f, fx, fy, fz, x0, x1, y0, y1, z0, z1, how)       \
    { #name, n, #f, { #fx, #fy, #fz }, { x0, x1, y0, y1, z0, z1 } },
#define ADX_INFO_STEP(name, f, x0, x1, how)                                 \
    { #name, 1, #f, { "0", "0", "0" }, { x0, x1, 0, 0, 0, 0 } },
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

/* --- operators ------------------------------------------------------------ */

#define ADX_EXPORTED_HOW (ADX_WATCHED | (ADREV_DEBUG ? ADX_NOTED : 0u))

static ad_rev adx_refuse_code(const char *why)
{
    if (adx_now.tape != NULL)
        adx_fail_because(adx_now.tape, ADREV_ESHAPE, why);
    return adx_passive((ad_real)NAN);
}

// A constant is a plain number here: it has no operand.
static adx_number adx_exported(ad_rev x)
{
    return (adx_number){ .v = x.v, .id = adx_word(&x),
                         .kind = x.job == 0 ? 0 : ADX_RECORDED };
}

// The id of a value; 0 of every constant.
ADX_INLINE uint64_t adx_variable(ad_rev x)
{
    const uint64_t id = adx_word(&x);
    return id >> 32 == 0 ? 0 : id;
}

// What is left to tape/apart. All arguments fit into registers, so operators
// need no memory on the stack.
#define ADX_EXPORTED_SUM 0x80000000u    // beside a code: the first partial is 1
ADX_NOINLINE static ad_rev adx_code_apart(ad_real x, ad_real y, ad_real z,
                                          unsigned op, uint64_t i, uint64_t j,
                                          uint64_t k, ad_real v, ad_real fx,
                                          ad_real fy, ad_real fz)
{
    const adx_number a[3] = { adx_exported(adx_numbered(x, i)),
                              adx_exported(adx_numbered(y, j)),
                              adx_exported(adx_numbered(z, k)) };
    const ad_real f[3] = { fx, fy, fz };
    const unsigned how = ADX_EXPORTED_HOW | (op & ADX_EXPORTED_SUM ? ADX_SUM
                                                                   : 0u);
    op &= ~ADX_EXPORTED_SUM;
    adx_number e = adx_call_any(how, (ad_opcode)op, v, ad_op_arity(op), a, f);
    return e.id == 0 ? adx_passive(v) : adx_numbered(v, e.id);
}

// Whether n arguments can be written as they are, if they are of this job:
// what `other` says in its upper half. While a hook is set there is no room.
#define ADX_WRITABLE(n, other)                                              \
    (((other) >> 32 == 0) & !ADREV_DEBUG                                    \
     & adx_room(sizeof(uint16_t) + (n) * sizeof(adx_operand)))
#if ADREV_COUNT
#define ADX_COUNT_CODE(op, active) adx_count_op((ad_opcode)(op), active)
#else
#define ADX_COUNT_CODE(op, active) ((void)0)
#endif

ADX_INLINE ad_rev adx_code_1(unsigned op, ad_real x, uint64_t i, ad_real v,
                             ad_real fx)
{
    const uint64_t here = adx_compound(adx_now.job, 0);
    if (ADX_LIKELY(ADX_WRITABLE(1, i ^ here))) {
        ADX_COUNT_CODE(op, 1);
        return adx_commit(v, adx_put(adx_now.op, fx, i), 1);
    }
    return adx_code_apart(x, x, x, op, i, i, i, v, fx, 0, 0);
}

// Two variables, or one and a constant.
ADX_INLINE ad_rev adx_code_2(unsigned op, ad_real x, uint64_t i, ad_real y,
                             uint64_t j, ad_real v, ad_real fx, ad_real fy,
                             bool sum)
{
    const uint64_t here = adx_compound(adx_now.job, 0);
    adx_operand *at = adx_now.op;
    if (ADX_LIKELY(ADX_WRITABLE(2, (i ^ here) | (j ^ here)) & (i != j))) {
        ADX_COUNT_CODE(op, 2);
        ADX_FETCH((uintptr_t)at + ADX_FAR);
        if (sum && (uint32_t)i == adx_now.seq)
            return adx_commit(v, adx_put(at, fy, j), ADX_SUM | 1u);
        return adx_commit(v, adx_put(adx_put(at, fx, i), fy, j), 2);
    }
    if (((i == 0) ^ (j == 0)) & ADX_WRITABLE(1, (i | j) ^ here)) {
        ADX_COUNT_CODE(op, 1);
        return adx_commit(v, adx_put(at, i == 0 ? fy : fx, i | j), 1);
    }
    return adx_code_apart(x, y, y, op | (sum ? ADX_EXPORTED_SUM : 0u), i, j, j,
                          v, fx, fy, 0);
}

ADX_INLINE ad_rev adx_code_3(unsigned op, ad_real x, uint64_t i, ad_real y,
                             uint64_t j, ad_real z, uint64_t k, ad_real v,
                             ad_real fx, ad_real fy, ad_real fz)
{
    const uint64_t here = adx_compound(adx_now.job, 0);
    if (ADX_LIKELY(ADX_WRITABLE(3, (i ^ here) | (j ^ here) | (k ^ here)))) {
        adx_operand *at = adx_put(adx_put(adx_now.op, fx, i), fy, j);
        ADX_COUNT_CODE(op, 3);
        return adx_commit(v, adx_put(at, fz, k), 3);
    }
    return adx_code_apart(x, y, z, op, i, j, k, v, fx, fy, fz);
}

// A step function makes a constant, and ad_detach one that hooks know.
static ad_rev adx_code_step(unsigned op, ad_rev x)
{
    const adx_number a = adx_exported(x);
    switch (op) {
#define ADX_DEFINE(name, ...)                                               \
    case ADREV_OP_##name:                                                   \
        return adx_passive(adx_call_##name(ADX_EXPORTED_HOW, a).v);
    ADREV_STEPS(ADX_DEFINE)
#undef ADX_DEFINE
    case ADREV_OP_detach: {
        const adx_number y = adx_call_detach(ADX_EXPORTED_HOW, a);
        return adx_numbered(y.v, y.id);
    }
    default:
        return adx_refuse_code("ad_op1: no operation of one argument has "
                               "this code");
    }
}

// Comparisons by their code. A hook is told of them.
static ad_rev adx_code_test(unsigned op, ad_rev x, ad_rev y)
{
    const adx_number a = adx_exported(x), b = adx_exported(y);
    switch (op) {
#define ADX_DEFINE(name, ...)                                               \
    case ADREV_OP_##name:                                                   \
        return adx_passive(adx_call_##name(ADX_EXPORTED_HOW, a, b));
    ADREV_COMPARISONS(ADX_DEFINE)
#undef ADX_DEFINE
    default:
        return adx_refuse_code("ad_op2: no operation of two arguments has "
                               "this code");
    }
}

// The side that is taken. Only a hook is told of the condition.
static ad_rev adx_code_choice(ad_rev c, ad_rev x, ad_rev y)
{
    const bool holds = c.v != 0;
    const ad_rev taken = holds ? x : y;
    if (ADX_TRACED)
        return adx_code_apart(c.v, x.v, y.v, ADREV_OP_select, adx_word(&c),
                              adx_word(&x), adx_word(&y), taken.v, 0, holds,
                              !holds);
    return taken.job == 0 ? taken
         : adx_numbered(taken.v, adx_known_id(adx_word(&taken)));
}

static bool adx_is_order(ad_real k, uint64_t id)
{
    return id == 0 && adm_trunc(k) == k && k - k == 0;
}

// A function for each row, with the arguments in the registers in which ad_op1
// and its kin have them: a call goes on by one jump. (One function with all
// rows in a switch takes twice as long.)
#define ADX_DEFINE_1(name, fx)                                              \
    static ad_rev adx_code_of_##name(unsigned op, ad_real x, uint64_t i)    \
    {                                                                       \
        const ad_real v = adx_f_##name(x, 0, 0);                            \
        return adx_code_1(op, x, i, v,                                      \
                          i == 0 ? 0 : adx_fx_##name(x, 0, 0, v));          \
    }
#define ADX_DEFINE_2(name, fx)                                              \
    static ad_rev adx_code_of_##name(unsigned op, ad_real x, uint64_t i,    \
                                     ad_real y, uint64_t j)                 \
    {                                                                       \
        const ad_real v = adx_f_##name(x, y, 0);                            \
        const unsigned how = adx_attributes[ADREV_OP_##name];               \
        if (((how & ADX_WHOLE_X) != 0 && !adx_is_order(x, i))               \
            || ((how & ADX_WHOLE_Y) != 0 && !adx_is_order(y, j)))           \
            return adx_refuse_code("ad_op2: an exponent or order is not "   \
                                   "a whole constant");                     \
        return adx_code_2(op, x, i, y, j, v,                                \
                          i == 0 ? 0 : adx_fx_##name(x, y, 0, v),           \
                          j == 0 ? 0 : adx_fy_##name(x, y, 0, v),           \
                          ADX_IS_ONE(fx));                                  \
    }
#define ADX_DEFINE_3(name, fx)                                              \
    static ad_rev adx_code_of_##name(unsigned op, ad_real x, uint64_t i,    \
                                     ad_real y, uint64_t j, ad_real z,      \
                                     uint64_t k)                            \
    {                                                                       \
        const ad_real v = adx_f_##name(x, y, z);                            \
        return adx_code_3(op, x, i, y, j, z, k, v,                          \
                          i == 0 ? 0 : adx_fx_##name(x, y, z, v),           \
                          j == 0 ? 0 : adx_fy_##name(x, y, z, v),           \
                          k == 0 ? 0 : adx_fz_##name(x, y, z, v));          \
    }
#define ADX_DEFINE(name, n, f, fx, ...) ADX_DEFINE_##n(name, fx)
ADREV_OPS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_DEFINE_1
#undef ADX_DEFINE_2
#undef ADX_DEFINE_3
#undef ADX_WRITABLE
#undef ADX_COUNT_CODE
#undef ADX_EXPORTED_HOW

// A table for each number of arguments; ADX_ENTER_12 leaves a row of two out of
// the table for one.
#define ADX_ENTER(name)    [ADREV_OP_##name] = adx_code_of_##name,
#define ADX_ENTER_11(name) ADX_ENTER(name)
#define ADX_ENTER_12(name)
#define ADX_ENTER_13(name)
#define ADX_ENTER_21(name)
#define ADX_ENTER_22(name) ADX_ENTER(name)
#define ADX_ENTER_23(name)
#define ADX_ENTER_31(name)
#define ADX_ENTER_32(name)
#define ADX_ENTER_33(name) ADX_ENTER(name)

ADX_API ad_rev (ad_op1)(unsigned op, ad_rev x)
{
#define ADX_DEFINE(name, n, ...) ADX_ENTER_1##n(name)
    static ad_rev (*const row[ADREV_OP_COUNT])(unsigned, ad_real, uint64_t) = {
        ADREV_OPS(ADX_DEFINE)
    };
#undef ADX_DEFINE
    if (op >= ADREV_OP_COUNT || row[op] == NULL)
        return adx_code_step(op, x);
    return row[op](op, x.v, adx_variable(x));
}

ADX_API ad_rev (ad_op2)(unsigned op, ad_rev x, ad_rev y)
{
#define ADX_DEFINE(name, n, ...) ADX_ENTER_2##n(name)
    static ad_rev (*const row[ADREV_OP_COUNT])(unsigned, ad_real, uint64_t,
                                               ad_real, uint64_t) = {
        ADREV_OPS(ADX_DEFINE)
    };
#undef ADX_DEFINE
    if (op >= ADREV_OP_COUNT || row[op] == NULL)
        return adx_code_test(op, x, y);
    return row[op](op, x.v, adx_variable(x), y.v, adx_variable(y));
}

ADX_API ad_rev (ad_op3)(unsigned op, ad_rev x, ad_rev y, ad_rev z)
{
#define ADX_DEFINE(name, n, ...) ADX_ENTER_3##n(name)
    static ad_rev (*const row[ADREV_OP_COUNT])(unsigned, ad_real, uint64_t,
                                               ad_real, uint64_t, ad_real,
                                               uint64_t) = {
        ADREV_OPS(ADX_DEFINE)
    };
#undef ADX_DEFINE
    if (op >= ADREV_OP_COUNT || row[op] == NULL)
        return adx_refuse_code("ad_op3: no operation of three arguments has "
                               "this code");
    if (op == ADREV_OP_select)
        return adx_code_choice(x, y, z);
    return row[op](op, x.v, adx_variable(x), y.v, adx_variable(y), z.v,
                   adx_variable(z));
}
#undef ADX_ENTER
#undef ADX_ENTER_11
#undef ADX_ENTER_12
#undef ADX_ENTER_13
#undef ADX_ENTER_21
#undef ADX_ENTER_22
#undef ADX_ENTER_23
#undef ADX_ENTER_31
#undef ADX_ENTER_32
#undef ADX_ENTER_33

ADX_API const char *ad_op_name(unsigned op)
{
    return op < ADREV_OP_COUNT ? ad_op_table()[op].name : NULL;
}

ADX_API unsigned ad_op_arity(unsigned op)
{
    return op < ADREV_OP_COUNT ? (unsigned)ad_op_table()[op].arity : 0;
}

ADX_API unsigned ad_op_find(const char *name)
{
    static const char *const other[][2] = {
        { "fabs", "abs" }, { "fmin", "min" }, { "fmax", "max" }
    };
    unsigned op = 0;
    if (name == NULL)
        return ADREV_OP_COUNT;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (strcmp(name, other[i][0]) == 0)
            name = other[i][1];
    while (op < ADREV_OP_COUNT && strcmp(ad_op_table()[op].name, name) != 0)
        op++;
    return op;
}
