#pragma once

/* === number/expression ======================================================
 * What an expression is, and how it is written to the tape as one statement
 * (rec, write); unusual ones go to tape/apart.
 *
 * There is a type of expression for each number of slots, so unused slots are
 * never compiled: 100 statements take gcc 3 s instead of 41. All types have the
 * same functions, named adx_WHAT_WIDTH. These have no loops, since gcc 12 would
 * fold them and clang 14 would keep the expression in memory.
 *
 *   needs   cpp/members number/recording
 *   offers  ADX_FORWARD ADX_ACTIVE ADX_LET ADX_NAME ADX_CALL ADX_OF_WIDTH
 *           ADX_WIDTH ADX_EXPRS adx_slots_of ADX_NEW adx_leaf adx_own
 *           ADX_OVERLOAD adx_own_* adx_made ADX_TAKE ADX_TAKE_1 ADX_TAKE_2
 *           ADX_TAKE_3 ADX_TAKE_TEST ADX_AND_Y ADX_AND_Z
 * ========================================================================== */

#if ADX_FUSES

// Slots 0 to N - 1, and all pairs of them.
#define ADX_SLOTS_1(DO)  DO(0)
#define ADX_SLOTS_2(DO)  ADX_SLOTS_1(DO) DO(1)
#define ADX_SLOTS_3(DO)  ADX_SLOTS_2(DO) DO(2)
#define ADX_SLOTS_4(DO)  ADX_SLOTS_3(DO) DO(3)
#define ADX_SLOTS_5(DO)  ADX_SLOTS_4(DO) DO(4)
#define ADX_SLOTS_6(DO)  ADX_SLOTS_5(DO) DO(5)
#define ADX_SLOTS_7(DO)  ADX_SLOTS_6(DO) DO(6)
#define ADX_SLOTS_8(DO)  ADX_SLOTS_7(DO) DO(7)
#define ADX_SLOTS_9(DO)  ADX_SLOTS_8(DO) DO(8)
#define ADX_SLOTS_10(DO) ADX_SLOTS_9(DO) DO(9)
#define ADX_SLOTS_11(DO) ADX_SLOTS_10(DO) DO(10)
#define ADX_SLOTS_12(DO) ADX_SLOTS_11(DO) DO(11)

#define ADX_PAIRS_1(DO)
#define ADX_PAIRS_2(DO)  DO(0, 1)
#define ADX_PAIRS_3(DO)  ADX_PAIRS_2(DO) DO(0, 2) DO(1, 2)
#define ADX_PAIRS_4(DO)  ADX_PAIRS_3(DO) DO(0, 3) DO(1, 3) DO(2, 3)
#define ADX_PAIRS_5(DO)  ADX_PAIRS_4(DO) DO(0, 4) DO(1, 4) DO(2, 4) DO(3, 4)
#define ADX_PAIRS_6(DO)                                                     \
    ADX_PAIRS_5(DO) DO(0, 5) DO(1, 5) DO(2, 5) DO(3, 5) DO(4, 5)
#define ADX_PAIRS_7(DO)                                                     \
    ADX_PAIRS_6(DO) DO(0, 6) DO(1, 6) DO(2, 6) DO(3, 6) DO(4, 6) DO(5, 6)
#define ADX_PAIRS_8(DO)                                                     \
    ADX_PAIRS_7(DO) DO(0, 7) DO(1, 7) DO(2, 7) DO(3, 7) DO(4, 7) DO(5, 7)   \
    DO(6, 7)
#define ADX_PAIRS_9(DO)                                                     \
    ADX_PAIRS_8(DO) DO(0, 8) DO(1, 8) DO(2, 8) DO(3, 8) DO(4, 8) DO(5, 8)   \
    DO(6, 8) DO(7, 8)
#define ADX_PAIRS_10(DO)                                                    \
    ADX_PAIRS_9(DO) DO(0, 9) DO(1, 9) DO(2, 9) DO(3, 9) DO(4, 9) DO(5, 9)   \
    DO(6, 9) DO(7, 9) DO(8, 9)
#define ADX_PAIRS_11(DO)                                                    \
    ADX_PAIRS_10(DO) DO(0, 10) DO(1, 10) DO(2, 10) DO(3, 10) DO(4, 10)      \
    DO(5, 10) DO(6, 10) DO(7, 10) DO(8, 10) DO(9, 10)
#define ADX_PAIRS_12(DO)                                                    \
    ADX_PAIRS_11(DO) DO(0, 11) DO(1, 11) DO(2, 11) DO(3, 11) DO(4, 11)      \
    DO(5, 11) DO(6, 11) DO(7, 11) DO(8, 11) DO(9, 11) DO(10, 11)

// ADX_OF_WIDTH is the type of an expression with n operands, ADX_WIDTH how many
// an expression has, and ADX_CALL the function for its type. An expression of
// forward numbers counts as ADX_FORWARD operands, so a sum of widths says what
// it is made of.
#define ADX_FORWARD 16
#define ADX_ACTIVE(n) ((n) % ADX_FORWARD != 0)
#ifdef __cplusplus
#define ADX_LET auto
#define ADX_NAME(what, n) adx_##what
#define ADX_CALL(what, x) adx_##what
template <unsigned n> struct adx_of_width { typedef ad_expr_dual type; };
template <> struct adx_of_width<0> { typedef ad_expr_0 type; };
#define ADX_DEFINE(N)                                                       \
    template <> struct adx_of_width<N> { typedef ad_expr_##N type; };
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE
#define ADX_OF_WIDTH(n) typename adx_of_width<(n)>::type
#define ADX_WIDTH(x)    unsigned(adrev::adx_sort<decltype(x)>::width)
#else
#define ADX_LET __auto_type
#define ADX_NAME(what, n) adx_##what##_##n
#define ADX_EXPRS(what)                                                     \
    ad_expr_0: adx_##what##_0, ad_expr_1: adx_##what##_1,                   \
    ad_expr_2: adx_##what##_2, ad_expr_3: adx_##what##_3,                   \
    ad_expr_4: adx_##what##_4, ad_expr_5: adx_##what##_5,                   \
    ad_expr_6: adx_##what##_6, ad_expr_7: adx_##what##_7,                   \
    ad_expr_8: adx_##what##_8, ad_expr_9: adx_##what##_9,                   \
    ad_expr_10: adx_##what##_10, ad_expr_11: adx_##what##_11,               \
    ad_expr_12: adx_##what##_12, ad_expr_dual: adx_##what##_dual
#define ADX_CALL(what, x) _Generic((x), ADX_EXPRS(what))
#define ADX_OF_WIDTH(n)                                                     \
    __typeof__(*_Generic((char (*)[(n) + 1])0,                              \
        char (*)[1]: (ad_expr_0 *)0, char (*)[2]: (ad_expr_1 *)0,           \
        char (*)[3]: (ad_expr_2 *)0, char (*)[4]: (ad_expr_3 *)0,           \
        char (*)[5]: (ad_expr_4 *)0, char (*)[6]: (ad_expr_5 *)0,           \
        char (*)[7]: (ad_expr_6 *)0, char (*)[8]: (ad_expr_7 *)0,           \
        char (*)[9]: (ad_expr_8 *)0, char (*)[10]: (ad_expr_9 *)0,          \
        char (*)[11]: (ad_expr_10 *)0, char (*)[12]: (ad_expr_11 *)0,       \
        char (*)[13]: (ad_expr_12 *)0, default: (ad_expr_dual *)0))
#define ADX_WIDTH(x)                                                        \
    _Generic((x), ad_expr_0: 0, ad_expr_dual: ADX_FORWARD,                  \
             default: sizeof(x) / sizeof(adx_slot) - 1)
#endif

// What adx_slots_of and ADX_WIDTH take for granted.
#define ADX_DEFINE(N)                                                       \
    ADX_STATIC_ASSERT(                                                      \
        offsetof(ad_expr_##N, slot) == offsetof(ad_expr_1, slot)            \
            && sizeof(ad_expr_##N) / sizeof(adx_slot) == (N) + 1,           \
        "one layout of all expressions");
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE

// The slots behind a head.
ADX_INLINE adx_slot *adx_slots_of(adx_head *e)
{
    return (adx_slot *)((char *)e + offsetof(ad_expr_1, slot));
}

// Sets the head of a new expression. Its slots are still to be set.
#define ADX_NEW(r, value)                                                   \
    (r).head.v = (value);                                                   \
    (r).head.zero = 0;                                                      \
    (r).head.risky = 0;                                                     \
    (r).head.leaf = 0;

ADX_INLINE ad_expr_0 adx_constant(ad_real v)
{
    ad_expr_0 e;
    ADX_NEW(e, v)
    return e;
}

// What follows is made for each width. scale appends an operand to an
// expression: the slots of r from `at` on become those of a times f. If
// `split`, a is recorded first, and has one slot then.
//
// The products here do not obey the rule that a factor of zero gives zero
// (adx_times). But where that rule and IEEE differ, the product is NaN. So the
// one test that a statement makes (adx_fits_N) also looks for a NaN, and only
// in the cold branch is it asked which slots have a factor of exactly zero,
// which is why compilers compute the bits `zero` there only. (Instead of a test
// in each operator: 0.95 of a statement.)
#define ADX_DO(i)                                                           \
    s[i].d = f * a->slot[i].d;                                              \
    s[i].id = a->slot[i].id;                                                \
    ADX_TALLY(reverse, mul,                                                 \
              adx_is_counted(f) && adx_is_counted(a->slot[i].d));
#define ADX_DEFINE(N)                                                       \
    ADX_APART uint64_t ADX_NAME(split, N)(const ad_expr_##N *a);            \
    ADX_INLINE void ADX_NAME(scale, N)(adx_head *r, unsigned at,            \
                                       const ad_expr_##N *a, ad_real f,     \
                                       bool split)                          \
    {                                                                       \
        adx_slot *s = adx_slots_of(r) + at;                                 \
        unsigned nil = 0u - adx_is_zero(f);                                 \
        if (split) {                                                        \
            const ad_expr_##N copy = *a;    /* its address may be taken */  \
            s->d = f;                                                       \
            s->id = ADX_NAME(split, N)(&copy);                              \
            r->zero |= (nil & 1) << at;                                     \
            return;                                                         \
        }                                                                   \
        ADX_SLOTS_##N(ADX_DO)                                               \
        r->zero |= (a->head.zero | (nil & ((1u << (N)) - 1))) << at;        \
        r->risky |= a->head.risky | !(a->head.leaf | adx_proper(f));        \
    }
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_DO

ADX_INLINE void ADX_NAME(scale, 0)(adx_head *r, unsigned at,
                                   const ad_expr_0 *a, ad_real f, bool split)
{
    (void)r; (void)at; (void)a; (void)f; (void)split;
}

ADX_INLINE void ADX_NAME(scale, dual)(adx_head *r, unsigned at,
                                      const ad_expr_dual *a, ad_real f,
                                      bool split)
{
    ad_real *d = &((ad_expr_dual *)r)->d;
    ad_real p = adx_times(f, a->d);
    (void)split;
    *d = at < ADX_FORWARD ? p : *d + p;
}

/* --- operands ---------------------------------------------------------------
 * Any operand becomes an expression, once. A type that is not listed (a
 * pointer, _Float16, a complex number) does not compile.                     */

ADX_INLINE ad_expr_1 adx_leaf(ad_rev x)
{
    ad_expr_1 e;
    ADX_NEW(e, x.v)
    e.head.leaf = 1;
    e.slot[0].d = 1;
    e.slot[0].id = adx_compound(x.job, x.seq);
    return e;
}

ADX_INLINE ad_expr_dual adx_from_fwd(ad_fwd x)
{
    ad_expr_dual e;
    ADX_NEW(e, x.v)
    e.d = x.d;
    return e;
}

#ifdef __cplusplus
// One template: of many functions the compiler would try each, with all that an
// operand may be converted to.
template <class Any> struct adx_owner
{
    typedef ad_expr_0 type;
    static ADX_MEMBER type own(Any v)
    {
        return adx_constant(static_cast<ad_real>(v));
    }
};
#define ADX_DEFINE(operand, expr, owned)                                    \
    template <> struct adx_owner<operand>                                   \
    {                                                                       \
        typedef expr type;                                                  \
        static ADX_MEMBER type own(const operand &e) { return owned(e); }   \
    };
#define ADX_DEFINE_EXPR(N) ADX_DEFINE(ad_expr_##N, ad_expr_##N, )
ADX_WIDTHS(ADX_DEFINE_EXPR)
ADX_DEFINE_EXPR(0)
ADX_DEFINE_EXPR(dual)
ADX_DEFINE(ad_rev, ad_expr_1, adx_leaf)
ADX_DEFINE(ad_fwd, ad_expr_dual, adx_from_fwd)
#undef ADX_DEFINE_EXPR
#undef ADX_DEFINE
template <class Any>
ADX_INLINE typename adx_owner<Any>::type adx_own(const Any &x)
{
    return adx_owner<Any>::own(x);
}
#elif defined __clang__
#define ADX_OVERLOAD ADX_INLINE ADX_CHECKED __attribute__((overloadable))
#define ADX_DEFINE(N)                                                       \
    ADX_OVERLOAD ad_expr_##N adx_own(ad_expr_##N e) { return e; }           \
    ADX_OVERLOAD ad_expr_##N adx_made(ad_expr_##N e) { return e; }
ADX_WIDTHS(ADX_DEFINE)
ADX_DEFINE(0)
ADX_DEFINE(dual)
#undef ADX_DEFINE
#define ADX_DEFINE(type)                                                    \
    ADX_OVERLOAD ad_expr_0 adx_own(type v)                                  \
        { return adx_constant((ad_real)v); }
ADX_ARITHMETIC(ADX_DEFINE)
#undef ADX_DEFINE
ADX_OVERLOAD ad_expr_1 adx_own(ad_rev x) { return adx_leaf(x); }
ADX_OVERLOAD ad_expr_dual adx_own(ad_fwd x) { return adx_from_fwd(x); }
ad_expr_0 adx_own(const void *x) __attribute__((
    overloadable, error("a pointer is no number: x[0] or *x")));
#else
#define ADX_DEFINE(N)                                                       \
    ADX_INLINE ad_expr_##N adx_own_##N(ad_expr_##N e) { return e; }
ADX_WIDTHS(ADX_DEFINE)
ADX_DEFINE(0)
ADX_DEFINE(dual)
#undef ADX_DEFINE
#define ADX_DEFINE(name, type)                                              \
    ADX_INLINE ad_expr_0 adx_own_##name(type v)                             \
        { return adx_constant((ad_real)v); }
ADX_OWN_TYPES(ADX_DEFINE)
#undef ADX_DEFINE
#define adx_own(x)                                                          \
    _Generic((x), ad_rev: adx_leaf, ad_fwd: adx_from_fwd, ADX_EXPRS(own),   \
             ADX_NUMBERS(adx_own))(x)
#endif

// What an operator returns: clang warns if nobody uses it.
#if !defined __clang__ || defined __cplusplus
#define adx_made(e) e
#endif

// How an operator begins and goes on; how it ends is in number/operators. The
// operands stand in between, in the macro that the user calls: each further
// macro that passed them on would be three more lines in clang's messages about
// a mistake in them. Their names hide those of the operators around on purpose.
#define ADX_TAKE                                                            \
    __extension__({                                                         \
        ADX_QUIET                                                           \
        ADX_NOTE_PLACE                                                      \
        ADX_LET adx_x_ =
#define ADX_TAKE_1 ADX_TAKE
#define ADX_TAKE_2 ADX_TAKE
#define ADX_TAKE_3 ADX_TAKE
#define ADX_TAKE_TEST ADX_TAKE
#define ADX_AND_Y ; ADX_LET adx_y_ =
#define ADX_AND_Z ; ADX_LET adx_z_ =

/* --- one statement ------------------------------------------------------- */

// Whether two slots are the same variable, as far as the compiler can see,
// since both were read from the same place. This is never true by chance at run
// time.
#define ADX_SAME(a, b)                                                      \
    ((ADX_KNOWN((a).id == (b).id) != 0) & ((a).id == (b).id))

// A partial of 1 on the value just before, as in s = s + x*y, is stored as a
// flag. That saves 12 bytes, and in the sweep the adjoint of the sum stays in a
// register. The question is asked of a slot as it was before others were added
// to it: then gcc does not yet know that none are.
ADX_INLINE bool adx_may_sum(unsigned n, ad_real d)
{
    return (n > 1) & (ADX_KNOWN(d) != 0) & (d == 1);
}

// How a statement is recorded: `rec` asks whether it is an ordinary one, and
// then writes it, or leaves it to tape/apart. For each width there is
//
// here   whether all operands are of this job
// known  whether all operands are of this job or constants, and not all of them
//        constants. (The id of a constant is 0, which must be the sink.) This
//        asks in other words than `here`: otherwise compilers would keep what
//        `here` has computed, and burgers and gmm take 5 to 10 % longer
// fits   whether there is room, no partial is NaN, and nobody wants to look at
//        the statement
// into   4 bits for each slot: 0, or 1 + the slot to which it is added. This is
//        decided once, for both ways to record
// write  writes the statement. A variable that occurs several times, as in
//        w - a*w or sin(x)*exp(x), needs one operand: its later slots are added
//        to the first one and left out. (burgers: 7 operands a statement
//        instead of 12.)
// apart  has tape/apart record it, which merges the same slots
// rec    records the statement, in one way or the other
// split  records an operand that has no room in the expression around it, and
//        returns its id
#define ADX_INTO(k)      (into >> 4 * (k) & 15)
#define ADX_OUT(i)       (ADX_INTO(i) != 0)
#define ADX_LEAVE_OUT(i, k)                                                 \
    into |= (uint64_t)(ADX_SAME(e->slot[i], e->slot[k]) & !ADX_OUT(i)       \
                       & !ADX_OUT(k)) * ((i) + 1) << 4 * (k);
#define ADX_OTHER_JOB(i) other |= e->slot[i].id ^ here;
#define ADX_OTHER_VARIABLE(i)                                               \
    other |= ((e->slot[i].id >> 32) ^ job)                                  \
           & (0 - (uint64_t)(e->slot[i].id != 0));                          \
    any |= e->slot[i].id;
#define ADX_BESIDE(i)                                                       \
    ((i) + 1 < sizeof e->slot / sizeof *e->slot ? (i) + 1 : (i))
#define ADX_ADD_UP(i)                                                       \
    lost |= (i) % 2 == 0                                                    \
         && ADX_UNORDERED(e->slot[i].d, e->slot[ADX_BESIDE(i)].d);
#define ADX_LOCAL(i)     ad_real d##i = e->slot[i].d;
#define ADX_MERGE(i, k)                                                     \
    if (ADX_INTO(k) == (i) + 1)                                             \
        d##i += d##k;
#define ADX_COUNT_IN(i)  n += !ADX_OUT(i);
#define ADX_PUT(i)                                                          \
    if (!ADX_OUT(i) && !((i) == 0 && sum))                                  \
        op = adx_put(op, d##i, e->slot[i].id);
#define ADX_COPY(i)                                                         \
    slot[i].d = e->slot[i].d;                                               \
    slot[i].id = e->slot[i].id;
#define ADX_DEFINE(N)                                                       \
    ADX_INLINE bool ADX_NAME(here, N)(const ad_expr_##N *e)                 \
    {                                                                       \
        uint64_t here = adx_compound(adx_now.job, 0);                       \
        uint64_t other = 0;                                                 \
        ADX_SLOTS_##N(ADX_OTHER_JOB)                                        \
        return other >> 32 == 0;                                            \
    }                                                                       \
    ADX_INLINE bool ADX_NAME(known, N)(const ad_expr_##N *e)                \
    {                                                                       \
        const uint64_t job = adx_now.job;                                   \
        uint64_t other = 0;                                                 \
        uint64_t any = 0;                                                   \
        ADX_SLOTS_##N(ADX_OTHER_VARIABLE)                                   \
        return (other == 0) & (any >> 32 != 0) & (ADX_SINK == 0);           \
    }                                                                       \
    ADX_INLINE bool ADX_NAME(fits, N)(const ad_expr_##N *e)                 \
    {                                                                       \
        bool lost = false;                                                  \
        if (e->head.risky) {                                                \
            ADX_SLOTS_##N(ADX_ADD_UP)                                       \
        }                                                                   \
        return !lost & !ADX_LOOK                                            \
             & adx_room(sizeof(uint16_t) + (N) * sizeof(adx_operand));      \
    }                                                                       \
    ADX_INLINE uint64_t ADX_NAME(into, N)(const ad_expr_##N *e)             \
    {                                                                       \
        uint64_t into = 0;                                                  \
        ADX_PAIRS_##N(ADX_LEAVE_OUT)                                        \
        (void)e;                                                            \
        return into;                                                        \
    }                                                                       \
    ADX_INLINE ADX_CHECKED ad_rev ADX_NAME(write, N)(const ad_expr_##N *e,  \
                                                     uint64_t into)         \
    {                                                                       \
        adx_operand *op = adx_now.op;                                       \
        unsigned n = 0;                                                     \
        if ((N) == 1 && e->head.leaf)                                       \
            return adx_numbered(e->head.v, e->slot[0].id);                  \
        ADX_SLOTS_##N(ADX_LOCAL)                                            \
        ADX_PAIRS_##N(ADX_MERGE)                                            \
        ADX_SLOTS_##N(ADX_COUNT_IN)                                         \
        const size_t last = adx_now.seq;                                    \
        bool sum = adx_may_sum(n, e->slot[0].d) & (d0 == 1)                 \
                 & ((uint32_t)e->slot[0].id == last);                       \
        ADX_FETCH((uintptr_t)op + ADX_FAR);                                 \
        ADX_SLOTS_##N(ADX_PUT)                                              \
        return adx_commit(e->head.v, op, sum ? ADX_SUM | (n - 1) : n);      \
    }                                                                       \
    ADX_INLINE ADX_CHECKED ad_rev ADX_NAME(apart, N)(const ad_expr_##N *e,  \
                                                     uint64_t into)         \
    {                                                                       \
        adx_slot slot[N];                                                   \
        unsigned how = ADX_HOW | (e->head.leaf ? ADX_LEAF : 0)              \
                     | (adx_may_sum(N, e->slot[0].d) ? ADX_SUM : 0);        \
        ADX_SLOTS_##N(ADX_COPY)                                             \
        return adx_record_apart(e->head.v, how | (N), slot, e->head.zero,   \
                                into);                                      \
    }                                                                       \
    ADX_INLINE ADX_CHECKED ad_rev ADX_NAME(rec, N)(ad_expr_##N e)           \
    {                                                                       \
        uint64_t into = ADX_NAME(into, N)(&e);                              \
        if (ADX_LIKELY((ADX_NAME(here, N)(&e)                               \
                        || (!ADREV_FIXED && ADX_NAME(known, N)(&e)))        \
                       && ADX_NAME(fits, N)(&e)))                           \
            return ADX_NAME(write, N)(&e, into);                            \
        return ADX_NAME(apart, N)(&e, into);                                \
    }                                                                       \
    ADX_APART uint64_t ADX_NAME(split, N)(const ad_expr_##N *e)             \
    {                                                                       \
        ad_rev y = ADX_NAME(rec, N)(*e);                                    \
        return adx_word(&y);                                                \
    }
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_INTO
#undef ADX_OUT
#undef ADX_LEAVE_OUT
#undef ADX_OTHER_JOB
#undef ADX_OTHER_VARIABLE
#undef ADX_BESIDE
#undef ADX_ADD_UP
#undef ADX_LOCAL
#undef ADX_MERGE
#undef ADX_COUNT_IN
#undef ADX_PUT
#undef ADX_COPY

// Constants are not recorded, and forward numbers become an ad_fwd.
ADX_INLINE ADX_CHECKED ad_rev ADX_NAME(rec, 0)(ad_expr_0 e)
{
    return adx_passive(e.head.v);
}

ADX_INLINE ADX_CHECKED ad_fwd ADX_NAME(rec, dual)(ad_expr_dual e)
{
    ad_fwd y;
    y.v = e.head.v;
    y.d = e.d;
    return y;
}

#endif // ADX_FUSES
