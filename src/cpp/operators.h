#pragma once

/* === cpp/operators ==========================================================
 * Operators of C++ on numbers and expressions: x * y is ad_mul(x, y), of the
 * same type. An expression is recorded, as one statement, where it becomes an
 * ad_rev, and evaluated where it becomes an ad_fwd: by an initialisation, an
 * assignment, an argument or a return.
 *
 * These are templates for operands of any two types of which one is ours. Which
 * type they return is computed from the numbers of operands, as in
 * number/operators, and what they do is written there. Operands are passed by
 * value, as the macros take them: then they are read in the same order, and gcc
 * 12 keeps forward numbers in registers. (bench/operators.sh: forward numbers,
 * 0.38 of references.)
 *
 *   needs   cpp/members number/recording number/expression number/operators
 *           number/fronts
 *   offers  adx_give adx_result_2 adx_result_3
 * ========================================================================== */

#ifdef __cplusplus

// A macro that stands in a function of this file knows no place in the user's.
#pragma push_macro("ADX_NOTE_PLACE")
#undef ADX_NOTE_PLACE
#if ADREV_DEBUG
#define ADX_NOTE_PLACE adx_here(adx_at_file, adx_at_line);
#else
#define ADX_NOTE_PLACE
#endif
#if !ADX_FUSES
#pragma push_macro("ADX_OPERAND")
#undef ADX_OPERAND
#define ADX_OPERAND ::adx_own
#endif

namespace adrev {

/* --- from an expression to a number --------------------------------------- */

#if ADREV_DEBUG && !ADX_FUSES
#define ADX_HERE adx_here(adx_at_file, adx_at_line);
#else
#define ADX_HERE
#endif
#define ADX_DEFINE_FROM(number, record)                                     \
    template <class Expr>                                                   \
    static ADX_MEMBER number from(const Expr &e ADX_CALLER_IS)              \
    {                                                                       \
        ADX_HERE                                                            \
        return record(e);                                                   \
    }
#define ADX_DEFINE_WHOLE(number)                                            \
    static ADX_MEMBER bool whole(const number &x, bool *)                   \
    {                                                                       \
        ADX_UNPLACED                                                        \
        return ad_ne(x, 0);                                                 \
    }                                                                       \
    template <class Whole>                                                  \
    static ADX_MEMBER Whole whole(const number &x, Whole *)                 \
    {                                                                       \
        return static_cast<Whole>(ad_value(x));                             \
    }
#if ADREV_DEBUG && ADX_FUSES
#define ADX_UNPLACED                                                        \
    const char *adx_at_file = nullptr;                                      \
    int adx_at_line = 0;
#else
#define ADX_UNPLACED
#endif
#define ADX_DEFINE(number, record)                                          \
    template <> struct adx_convert<number, ADX_SWITCHES>                    \
    {                                                                       \
        ADX_DEFINE_FROM(number, record)                                     \
        ADX_DEFINE_WHOLE(number)                                            \
    };
ADX_DEFINE(ad_rev, ad_rec)
ADX_DEFINE(ad_fwd, ad_dual)
#undef ADX_DEFINE
#undef ADX_HERE

/* --- types of results ----------------------------------------------------- */

#if ADX_FUSES

static_assert(int(ADX_FORWARD) == ADX_DUAL_WIDTH, "of forward numbers");

// Those of an operation on operands with so many slots.
template <unsigned nx> struct adx_slots_1
{
    typedef typename adx_of_width<nx>::type type;
    typedef typename adx_of_width<nx / ADX_FORWARD * ADX_FORWARD>::type step;
};
template <unsigned nx, unsigned ny> struct adx_slots_2
{
    typedef typename adx_of_width<ADX_LEFT(nx, ADX_SPLIT_X(nx, ny))
                                  + ADX_LEFT(ny, ADX_SPLIT_Y(nx, ny))>::type
        type;
};
template <unsigned nx, unsigned ny, unsigned nz> struct adx_slots_3
{
    static constexpr bool wide = nx + ny + nz > ADREV_FUSE && nx < ADX_FORWARD
                              && ny < ADX_FORWARD && nz < ADX_FORWARD;
    typedef typename adx_of_width<ADX_LEFT(nx, wide && nx > 1)
                                  + ADX_LEFT(ny, wide && ny > 1)
                                  + ADX_LEFT(nz, wide && nz > 1)>::type type;
};

template <class Result, class Expr>
ADX_INLINE Result adx_give(const Expr &e) { return e; }

// A constant, or an expression with fewer operands: the other slots are those
// of constants. Under a trace hook the first one is the expression's only one.
#define ADX_EMPTY(i)                                                        \
    r.slot[i].d = (i) < n ? s[i].d : (i) == 0;                              \
    r.slot[i].id = (i) < n ? s[i].id : 0;
#define ADX_DEFINE(N)                                                       \
    template <> struct adx_convert<ad_expr_##N, ADX_SWITCHES>               \
    {                                                                       \
        template <class Any> static ADX_MEMBER ad_expr_##N widen(Any x)     \
        {                                                                   \
            ad_expr_##N r;                                                  \
            auto e = adx_own(x);                                            \
            const unsigned n = ADX_WIDTH(e);                                \
            const adx_slot *s = adx_slots_of(&e.head);                      \
            r.head = e.head;                                                \
            r.head.leaf = 0;                                                \
            ADX_SLOTS_##N(ADX_EMPTY)                                        \
            return r;                                                       \
        }                                                                   \
        ADX_DEFINE_WHOLE(ad_expr_##N)                                       \
    };
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_EMPTY
#define ADX_DEFINE(N, rest)                                                 \
    template <> struct adx_convert<ad_expr_##N, ADX_SWITCHES>               \
    {                                                                       \
        template <class Any> static ADX_MEMBER ad_expr_##N widen(Any x)     \
        {                                                                   \
            ad_expr_##N r;                                                  \
            r.head = adx_own(x).head;                                       \
            rest                                                            \
            return r;                                                       \
        }                                                                   \
        ADX_DEFINE_WHOLE(ad_expr_##N)                                       \
    };
ADX_DEFINE(0, )
ADX_DEFINE(dual, r.d = 0;)
#undef ADX_DEFINE

#else // ADX_FUSES

// Every operation is recorded already: it returns a number. What a macro
// returns may be a number of either kind.
template <unsigned kinds> struct adx_of_kinds;      // bits: 1 rev, 2 fwd, 4 any
template <> struct adx_of_kinds<0> { typedef adx_number type; };
template <> struct adx_of_kinds<1> { typedef ad_rev type; };
template <> struct adx_of_kinds<2> { typedef ad_fwd type; };
template <unsigned nx> struct adx_slots_1
{
    static constexpr unsigned kinds = nx % ADX_DUAL_WIDTH != 0 ? 1
                                    : nx != 0 ? 2 : 0;
    typedef typename adx_of_kinds<kinds>::type type;
    typedef adx_number step;
};
template <unsigned nx, unsigned ny> struct adx_slots_2
{
    static constexpr unsigned kinds = adx_slots_1<nx>::kinds
                                    | adx_slots_1<ny>::kinds;
    static_assert(kinds != 3, "an ad_fwd and an ad_rev in one expression: take "
                  "ad_value of one of them");
    typedef typename adx_of_kinds<kinds % 3>::type type;
};
template <unsigned nx, unsigned ny, unsigned nz> struct adx_slots_3
    : adx_slots_2<(nx | ny) % (2 * ADX_DUAL_WIDTH), nz> { };

template <> struct adx_convert<adx_number, ADX_SWITCHES>
{
    static ADX_MEMBER adx_number from(const adx_number &e,
                                      const char * = nullptr, int = 0)
    {
        return e;
    }
    template <class Any> static ADX_MEMBER adx_number widen(Any x)
    {
        return ::adx_own(x);
    }
    ADX_DEFINE_WHOLE(adx_number)
};
template <class Result> ADX_INLINE Result adx_give(const adx_number &e)
{
    return adx_convert<Result, ADX_SWITCHES>::from(e ADX_NO_PLACE);
}

#endif // ADX_FUSES

// From here on the place is not known, but where there is an adx_changed.
#define ADX_TARGETS (ADREV_DEBUG && ADX_FUSES)
#if ADREV_DEBUG
#undef ADX_NOTE_PLACE
#define ADX_NOTE_PLACE adx_here(nullptr, 0);
#endif
#undef ADX_UNPLACED
#undef ADX_DEFINE_WHOLE
#undef ADX_DEFINE_FROM

// No type, and so no operator, unless all are operands and one of them is ours.
template <class X, bool = adx_sort<X>::ours> struct adx_result_1 { };
template <class X> struct adx_result_1<X, true>
    : adx_slots_1<adx_sort<X>::width> { };

template <class X, class Y,
          bool = (adx_sort<X>::ours || adx_sort<Y>::ours)
              && adx_sort<X>::width >= 0 && adx_sort<Y>::width >= 0>
struct adx_result_2 { };
template <class X, class Y> struct adx_result_2<X, Y, true>
    : adx_slots_2<adx_sort<X>::width, adx_sort<Y>::width> { };

template <class X, class Y, class Z,
          bool = (adx_sort<X>::ours || adx_sort<Y>::ours || adx_sort<Z>::ours)
              && adx_sort<X>::width >= 0 && adx_sort<Y>::width >= 0
              && adx_sort<Z>::width >= 0>
struct adx_result_3 { };
template <class X, class Y, class Z> struct adx_result_3<X, Y, Z, true>
    : adx_slots_3<adx_sort<X>::width, adx_sort<Y>::width, adx_sort<Z>::width>
{ };

// Those of a comparison, and of an assignment to a number.
template <class X, class Y> using adx_if_compared =
    typename adx_if<sizeof(typename adx_result_2<X, Y>::type) != 0>::type;
template <class X> using adx_if_ours =
    typename adx_if<adx_sort<X>::ours>::type;
template <class S> using adx_if_number =
    typename adx_if<adx_sort<S>::ours && !adx_sort<S>::expr
                    && !(ADX_TARGETS && adx_sort<S>::width == 1)>::type;
template <class S> using adx_if_expr =
    typename adx_if<adx_sort<S>::expr>::type;

/* --- operators ------------------------------------------------------------ */

#define ADX_DEFINE(symbol, name)                                            \
    template <class X, class Y> ADX_INLINE ADX_CHECKED                      \
    typename adx_result_2<X, Y>::type operator symbol(X x, Y y)             \
    {                                                                       \
        typedef typename adx_result_2<X, Y>::type result;                   \
        return adx_give<result>(ad_##name(x, y));                           \
    }
ADX_DEFINE(+, add)
ADX_DEFINE(-, sub)
ADX_DEFINE(*, mul)
ADX_DEFINE(/, div)
#undef ADX_DEFINE

template <class X> ADX_INLINE ADX_CHECKED
typename adx_result_1<X>::type operator-(X x)
{
    return adx_give<typename adx_result_1<X>::type>(ad_neg(x));
}

template <class X, adx_if_ours<X> = 0> ADX_INLINE ADX_CHECKED
X operator+(X x) { return x; }

#define ADX_DEFINE(name, symbol)                                            \
    template <class X, class Y, adx_if_compared<X, Y> = 0>                  \
    ADX_INLINE ADX_CHECKED bool operator symbol(X x, Y y)                   \
    {                                                                       \
        return ad_##name(x, y);                                             \
    }
ADREV_COMPARISONS(ADX_DEFINE)
#undef ADX_DEFINE

template <class X, adx_if_ours<X> = 0> ADX_INLINE ADX_CHECKED
bool operator!(X x) { return ad_eq(x, 0); }

// What auto has declared is an expression, of one width for ever.
#define ADX_DEFINE(symbol)                                                  \
    template <class S, class Y, adx_if_expr<S> = 0>                         \
    ADX_INLINE S &operator symbol(S &s, const Y &)                          \
    {                                                                       \
        static_assert(sizeof(S) == 0, "auto made this an expression: write "\
                      "ad_rev, or ad_fwd, where it is declared");           \
        return s;                                                           \
    }
ADX_DEFINE(+=)
ADX_DEFINE(-=)
ADX_DEFINE(*=)
ADX_DEFINE(/=)
#undef ADX_DEFINE

template <class S, class Y, adx_if_number<S> = 0, adx_if_compared<S, Y> = 0>
ADX_INLINE S &operator+=(S &s, Y y)
{
    ad_acc(&s, y);
    return s;
}

#define ADX_DEFINE(symbol, name)                                            \
    template <class S, class Y, adx_if_number<S> = 0,                       \
              adx_if_compared<S, Y> = 0>                                    \
    ADX_INLINE S &operator symbol(S &s, Y y)                                \
    {                                                                       \
        return s = S(ad_##name(s, y) ADX_NO_PLACE);                         \
    }
ADX_DEFINE(-=, sub)
ADX_DEFINE(*=, mul)
ADX_DEFINE(/=, div)
#undef ADX_DEFINE

#define ADX_DEFINE(symbol)                                                  \
    template <class S, adx_if_number<S> = 0>                                \
    ADX_INLINE S &operator symbol##symbol(S &s) { return s symbol##= 1; }   \
    template <class S, adx_if_number<S> = 0>                                \
    ADX_INLINE S operator symbol##symbol(S &s, int)                         \
    {                                                                       \
        const S before = s;                                                 \
        s symbol##= 1;                                                      \
        return before;                                                      \
    }
ADX_DEFINE(+)
ADX_DEFINE(-)
#undef ADX_DEFINE

// The number that x += e changes, and where that stands: an operator has no
// default arguments, but what its operand is converted to may have.
#if ADX_TARGETS
struct adx_changed
{
    ad_rev &x;
    const char *file;
    int line;
    ADX_MEMBER adx_changed(ad_rev &x_, const char *at_file = __builtin_FILE(),
                          int at_line = __builtin_LINE())
        : x(x_), file(at_file), line(at_line) { }
};

#undef ADX_NOTE_PLACE
#define ADX_NOTE_PLACE adx_here(t.file, t.line);
template <class Y, adx_if_compared<ad_rev, Y> = 0>
ADX_INLINE ad_rev &operator+=(adx_changed t, Y y)
{
    ad_acc(&t.x, y);
    return t.x;
}

#define ADX_DEFINE(symbol, name)                                            \
    template <class Y, adx_if_compared<ad_rev, Y> = 0>                      \
    ADX_INLINE ad_rev &operator symbol(adx_changed t, Y y)                   \
    {                                                                       \
        return t.x = ad_rev(ad_##name(t.x, y), t.file, t.line);             \
    }
ADX_DEFINE(-=, sub)
ADX_DEFINE(*=, mul)
ADX_DEFINE(/=, div)
#undef ADX_DEFINE

#define ADX_DEFINE(symbol)                                                  \
    ADX_INLINE ad_rev &operator symbol##symbol(adx_changed t)                \
    {                                                                       \
        return t symbol##= 1;                                               \
    }                                                                       \
    ADX_INLINE ad_rev operator symbol##symbol(adx_changed t, int)            \
    {                                                                       \
        const ad_rev before = t.x;                                          \
        t symbol##= 1;                                                      \
        return before;                                                      \
    }
ADX_DEFINE(+)
ADX_DEFINE(-)
#undef ADX_DEFINE
#undef ADX_NOTE_PLACE
#define ADX_NOTE_PLACE adx_here(nullptr, 0);
#endif

// The value. Only to streams: << of other classes, such as Eigen's, may keep
// the number.
template <class Char, class Traits, class X, adx_if_ours<X> = 0>
ADX_INLINE std::basic_ostream<Char, Traits> &
operator<<(std::basic_ostream<Char, Traits> &stream, const X &x)
{
    return stream << ad_value(x);
}

} // namespace adrev

#undef ADX_TARGETS
#if !ADX_FUSES
#pragma pop_macro("ADX_OPERAND")
#endif
#pragma pop_macro("ADX_NOTE_PLACE")

#endif // __cplusplus
