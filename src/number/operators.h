#pragma once

/* === number/operators =======================================================
 * Operators on expressions: the slots of an operand are scaled by its partial
 * and appended. Then the ways out of a recording: ad_value, ad_detach, ad_dual,
 * ad_rec.
 *
 *
 *   needs   number/recording number/expression
 *   offers  ADX_SPLIT_X ADX_SPLIT_Y ADX_LEFT ADX_MAKE_1 ADX_MAKE_2 ADX_MAKE_3
 *           ADX_TAKE_CHOICE ADX_MAKE_CHOICE ADX_MAKE_STEP ADX_MAKE_TEST
 *           ADX_TAKE_MODF ADX_TAKE_FREXP ADX_AND_WHOLE ADX_AND_EXPONENT
 * ========================================================================== */

/* --- operators ----------------------------------------------------------- */

#if ADX_FUSES

// If two operands with nx and ny slots have no room in one statement, the
// larger is recorded first, and if there is still no room, the other one, too.
#define ADX_TOO_WIDE(nx, ny)                                                \
    ((nx) + (ny) > ADREV_FUSE && (nx) < ADX_FORWARD && (ny) < ADX_FORWARD)
#define ADX_SPLIT_X(nx, ny)                                                 \
    (ADX_TOO_WIDE(nx, ny) && ((nx) >= (ny) || 1 + (nx) > ADREV_FUSE))
#define ADX_SPLIT_Y(nx, ny)                                                 \
    (ADX_TOO_WIDE(nx, ny) && ((nx) < (ny) || 1 + (ny) > ADREV_FUSE))

// How many slots an operand has in the result: one, if it is recorded first.
#define ADX_LEFT(n, split) ((split) ? 1 : (n))

// Whether there is an ad_fwd and an ad_rev in one expression, which is refused:
// one would be a constant for the other, and nobody would see that it is not
// differentiated.
#define ADX_MIXED(nx, ny)                                                   \
    ((nx) / ADX_FORWARD * ((ny) % ADX_FORWARD) != 0                         \
     || (ny) / ADX_FORWARD * ((nx) % ADX_FORWARD) != 0)
#define ADX_UNMIXED                                                         \
    ADX_STATIC_ASSERT(!adx_mixed, "an ad_fwd and an ad_rev in one "         \
                      "expression: take ad_value of one of them")

#define ADX_SCALE(r, at, x, f, split)                                       \
    ADX_CALL(scale, x)(&(r).head, at, &(x), f, split);

#if ADREV_COUNT
#define ADX_COUNT_OP(name, active) adx_count_op(ADREV_OP_##name, active);
#else
#define ADX_COUNT_OP(name, active)
#endif

// The rest of an operator of one argument: its value, its partial, and the
// slots of the argument times the partial. The partial of a plain number is not
// computed.
#define ADX_MAKE_1(name)                                                    \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LOUD                                                            \
        enum { adx_n = ADX_WIDTH(adx_x) };                                  \
        ADX_OF_WIDTH(adx_n) adx_r;                                          \
        ADX_NEW(adx_r, adx_f_##name(adx_x.head.v, 0, 0))                    \
        const ad_real adx_fx = adx_n == 0 ? 0                               \
            : adx_fx_##name(adx_x.head.v, 0, 0, adx_r.head.v);              \
        ADX_SCALE(adx_r, 0, adx_x, adx_fx, false)                           \
        ADX_COUNT_OP(name, ADX_ACTIVE(adx_n))                               \
        ADX_WATCH(adx_r, adx_traced_1(ADREV_OP_##name, adx_r.head.v,        \
                                      ADX_NODE(adx_x), adx_fx))             \
        adx_made(adx_r);                                                    \
    })

// With two arguments, either may have to be recorded first. Where the slots of
// each begin in the result, and its width, are constants.
#define ADX_MAKE_2(name)                                                    \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LET adx_y = adx_own(adx_y_);                                    \
        ADX_LOUD                                                            \
        enum {                                                              \
            adx_nx = ADX_WIDTH(adx_x), adx_ny = ADX_WIDTH(adx_y),           \
            adx_sx = ADX_SPLIT_X(adx_nx, adx_ny),                           \
            adx_sy = ADX_SPLIT_Y(adx_nx, adx_ny),                           \
            adx_iy = ADX_LEFT(adx_nx, adx_sx),                              \
            adx_n = adx_iy + ADX_LEFT(adx_ny, adx_sy),                      \
            adx_mixed = ADX_MIXED(adx_nx, adx_ny)                           \
        };                                                                  \
        ADX_UNMIXED;                                                        \
        ADX_OF_WIDTH(adx_n) adx_r;                                          \
        ADX_NEW(adx_r, adx_f_##name(adx_x.head.v, adx_y.head.v, 0))         \
        const ad_real adx_fx = adx_nx == 0 ? 0                              \
            : adx_fx_##name(adx_x.head.v, adx_y.head.v, 0, adx_r.head.v);   \
        const ad_real adx_fy = adx_ny == 0 ? 0                              \
            : adx_fy_##name(adx_x.head.v, adx_y.head.v, 0, adx_r.head.v);   \
        ADX_SCALE(adx_r, 0, adx_x, adx_fx, adx_sx)                          \
        ADX_SCALE(adx_r, adx_iy, adx_y, adx_fy, adx_sy)                     \
        ADX_COUNT_OP(name, ADX_ACTIVE(adx_nx)                               \
                           + ADX_ACTIVE(adx_ny))                            \
        ADX_WATCH(adx_r, adx_traced_2(ADREV_OP_##name, adx_r.head.v,        \
                                      ADX_NODE(adx_x), adx_fx,              \
                                      ADX_NODE(adx_y), adx_fy))             \
        adx_made(adx_r);                                                    \
    })

// With three arguments it is simpler: if there is no room for all, each that
// has more than one slot is recorded first.
#define ADX_MAKE_3(name)                                                    \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LET adx_y = adx_own(adx_y_);                                    \
        ADX_LET adx_z = adx_own(adx_z_);                                    \
        ADX_LOUD                                                            \
        enum {                                                              \
            adx_nx = ADX_WIDTH(adx_x), adx_ny = ADX_WIDTH(adx_y),           \
            adx_nz = ADX_WIDTH(adx_z), adx_all = adx_nx + adx_ny + adx_nz,  \
            adx_wide = adx_all > ADREV_FUSE && adx_nx < ADX_FORWARD         \
                    && adx_ny < ADX_FORWARD && adx_nz < ADX_FORWARD,        \
            adx_sx = adx_wide && adx_nx > 1,                                \
            adx_sy = adx_wide && adx_ny > 1,                                \
            adx_sz = adx_wide && adx_nz > 1,                                \
            adx_iy = ADX_LEFT(adx_nx, adx_sx),                              \
            adx_iz = adx_iy + ADX_LEFT(adx_ny, adx_sy),                     \
            adx_n = adx_iz + ADX_LEFT(adx_nz, adx_sz),                      \
            adx_mixed = ADX_MIXED(adx_nx, adx_ny)                           \
                     || ADX_MIXED(adx_nx, adx_nz)                           \
                     || ADX_MIXED(adx_ny, adx_nz)                           \
        };                                                                  \
        ADX_UNMIXED;                                                        \
        ADX_OF_WIDTH(adx_n) adx_r;                                          \
        const ad_real adx_u = adx_x.head.v;                                 \
        const ad_real adx_v = adx_y.head.v;                                 \
        const ad_real adx_w = adx_z.head.v;                                 \
        ADX_NEW(adx_r, adx_f_##name(adx_u, adx_v, adx_w))                   \
        const ad_real adx_fx = adx_nx == 0 ? 0                              \
            : adx_fx_##name(adx_u, adx_v, adx_w, adx_r.head.v);             \
        const ad_real adx_fy = adx_ny == 0 ? 0                              \
            : adx_fy_##name(adx_u, adx_v, adx_w, adx_r.head.v);             \
        const ad_real adx_fz = adx_nz == 0 ? 0                              \
            : adx_fz_##name(adx_u, adx_v, adx_w, adx_r.head.v);             \
        ADX_SCALE(adx_r, 0, adx_x, adx_fx, adx_sx)                          \
        ADX_SCALE(adx_r, adx_iy, adx_y, adx_fy, adx_sy)                     \
        ADX_SCALE(adx_r, adx_iz, adx_z, adx_fz, adx_sz)                     \
        ADX_COUNT_OP(name, ADX_ACTIVE(adx_nx)                               \
                           + ADX_ACTIVE(adx_ny)                             \
                           + ADX_ACTIVE(adx_nz))                            \
        ADX_WATCH(adx_r, adx_traced(ADREV_OP_##name, adx_r.head.v,          \
                                    ADX_NODE(adx_x), adx_fx,                \
                                    ADX_NODE(adx_y), adx_fy,                \
                                    ADX_NODE(adx_z), adx_fz))               \
        adx_made(adx_r);                                                    \
    })

// While operations are traced, each is recorded by itself, so an expression is
// one recorded value. It keeps its type, with empty slots: `watch` puts the
// value in the first one, and `node` reads it there.
#define ADX_EMPTY(i)                                                        \
    r->slot[i].d = 0;                                                       \
    r->slot[i].id = 0;
#define ADX_OTHERS(i) others |= (i) == 0 ? 0 : e->slot[i].id;
#define ADX_DEFINE(N)                                                       \
    ADX_INLINE void ADX_NAME(watch, N)(ad_expr_##N *r, ad_rev y)            \
    {                                                                       \
        r->head.zero = 0;                                                   \
        r->head.risky = 0;                                                  \
        ADX_SLOTS_##N(ADX_EMPTY)                                            \
        r->slot[0].d = 1;                                                   \
        r->slot[0].id = adx_word(&y);                                       \
    }                                                                       \
    ADX_INLINE ad_rev ADX_NAME(node, N)(const ad_expr_##N *e)               \
    {                                                                       \
        uint64_t others = 0;                                                \
        ADX_SLOTS_##N(ADX_OTHERS)                                           \
        if (others != 0 || e->slot[0].d != 1)                               \
            adx_refuse();                                                   \
        return adx_numbered(e->head.v, e->slot[0].id);                      \
    }
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_EMPTY
#undef ADX_OTHERS

ADX_INLINE void ADX_NAME(watch, 0)(ad_expr_0 *r, ad_rev y) { (void)r; (void)y; }
ADX_INLINE void ADX_NAME(watch, dual)(ad_expr_dual *r, ad_rev y)
{
    (void)r;
    (void)y;
}
ADX_INLINE ad_rev ADX_NAME(node, 0)(const ad_expr_0 *e)
{
    return adx_passive(e->head.v);
}
ADX_INLINE ad_rev ADX_NAME(node, dual)(const ad_expr_dual *e)
{
    return adx_passive(e->head.v);
}

#define ADX_NODE(x) ADX_CALL(node, x)(&(x))
#if ADREV_TRACE
#define ADX_WATCH(r, told)                                                  \
    if (ADX_ACTIVE(adx_n) && ADX_UNLIKELY(ADX_TRACED))                      \
        ADX_CALL(watch, r)(&(r), told);
#define ADX_OBSERVE(code, v, x, y)                                          \
    if (ADX_ACTIVE(ADX_WIDTH(x) + ADX_WIDTH(y))                             \
        && ADX_UNLIKELY(ADX_TRACED))                                        \
        adx_observed(code, v, ADX_NODE(x), ADX_NODE(y));
#else
#define ADX_WATCH(r, told)
#define ADX_OBSERVE(code, v, x, y)
#endif

// ad_select copies the slots of the side that is taken, so the other side
// leaves neither an operand nor a NaN behind.
#define ADX_CHOOSE(i)                                                       \
    r->slot[i].d = c ? (i) < nx ? sx[i].d : 0 : (i) < ny ? sy[i].d : 0;     \
    r->slot[i].id = c ? (i) < nx ? sx[i].id : 0 : (i) < ny ? sy[i].id : 0;
#define ADX_DEFINE(N)                                                       \
    ADX_INLINE void ADX_NAME(choose, N)(ad_expr_##N *r, bool c,             \
                                        adx_head *x, unsigned nx,           \
                                        adx_head *y, unsigned ny)           \
    {                                                                       \
        const adx_slot *sx = adx_slots_of(x);                               \
        const adx_slot *sy = adx_slots_of(y);                               \
        r->head.zero = c ? x->zero : y->zero;                               \
        r->head.risky = x->risky | y->risky;                                \
        r->head.leaf = x->leaf & y->leaf;                                   \
        ADX_SLOTS_##N(ADX_CHOOSE)                                           \
    }
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE
#undef ADX_CHOOSE
ADX_INLINE void ADX_NAME(choose, 0)(ad_expr_0 *r, bool c, adx_head *x,
                                    unsigned nx, adx_head *y, unsigned ny)
{
    (void)r; (void)c; (void)x; (void)nx; (void)y; (void)ny;
}
ADX_INLINE void ADX_NAME(choose, dual)(ad_expr_dual *r, bool c, adx_head *x,
                                       unsigned nx, adx_head *y, unsigned ny)
{
    ad_real dx = nx == 0 ? 0 : ((ad_expr_dual *)x)->d;
    ad_real dy = ny == 0 ? 0 : ((ad_expr_dual *)y)->d;
    r->d = c ? dx : dy;
}

#define ADX_TAKE_CHOICE ADX_TAKE !!
#define ADX_MAKE_CHOICE                                                     \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_y_);                                    \
        ADX_LET adx_y = adx_own(adx_z_);                                    \
        const bool adx_c = adx_x_;                                          \
        ADX_LOUD                                                            \
        enum {                                                              \
            adx_nx = ADX_WIDTH(adx_x), adx_ny = ADX_WIDTH(adx_y),           \
            adx_n = adx_nx > adx_ny ? adx_nx : adx_ny,                      \
            adx_mixed = ADX_MIXED(adx_nx, adx_ny)                           \
        };                                                                  \
        ADX_UNMIXED;                                                        \
        ADX_OF_WIDTH(adx_n) adx_r;                                          \
        ADX_NEW(adx_r, adx_f_select(adx_c, adx_x.head.v, adx_y.head.v))     \
        ADX_CALL(choose, adx_r)(&adx_r, adx_c, &adx_x.head, adx_nx,         \
                                &adx_y.head, adx_ny);                       \
        ADX_COUNT_OP(select, ADX_ACTIVE(adx_nx)                             \
                             + ADX_ACTIVE(adx_ny))                          \
        ADX_WATCH(adx_r, adx_traced(ADREV_OP_select, adx_r.head.v,          \
                                    adx_passive(adx_c), 0,                  \
                                    ADX_NODE(adx_x), adx_c,                 \
                                    ADX_NODE(adx_y), !adx_c))               \
        adx_made(adx_r);                                                    \
    })

// A step function makes a constant; but of a forward number it makes a forward
// number.
#define ADX_MAKE_STEP(name)                                                 \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LOUD                                                            \
        enum { adx_nx = ADX_WIDTH(adx_x) / ADX_FORWARD * ADX_FORWARD };     \
        ADX_OF_WIDTH(adx_nx) adx_r;                                         \
        ADX_NEW(adx_r, adx_f_##name(adx_x.head.v))                          \
        ADX_CALL(choose, adx_r)(&adx_r, false, &adx_x.head, 0,              \
                                &adx_x.head, 0);                            \
        ADX_OBSERVE(ADREV_OP_##name, adx_r.head.v, adx_x, adx_x)            \
        adx_made(adx_r);                                                    \
    })

// A comparison is told to the hook, but recorded nowhere.
#define ADX_MAKE_TEST(name)                                                 \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LET adx_y = adx_own(adx_y_);                                    \
        ADX_LOUD                                                            \
        const bool adx_true = adx_f_##name(adx_x.head.v, adx_y.head.v);     \
        ADX_OBSERVE(ADREV_OP_##name, adx_true, adx_x, adx_y)                \
        adx_true;                                                           \
    })

/* --- leaving the recording ----------------------------------------------- */

#define ADX_DEFINE(N)                                                       \
    ADX_INLINE ad_real ADX_NAME(plain, N)(ad_expr_##N e)                    \
    {                                                                       \
        if (ADREV_TRACE && ADX_UNLIKELY(ADX_TRACED))                        \
            return adx_plain_rev(ADX_NAME(node, N)(&e));                    \
        return e.head.v;                                                    \
    }                                                                       \
    ADX_INLINE ad_rev ADX_NAME(detach, N)(ad_expr_##N e)                    \
    {                                                                       \
        if (ADREV_TRACE && ADX_UNLIKELY(ADX_TRACED))                        \
            return adx_detach_rev(ADX_NAME(node, N)(&e));                   \
        return adx_passive(e.head.v);                                       \
    }                                                                       \
    ADX_INLINE ad_fwd ADX_NAME(tangent, N)(ad_expr_##N e)                   \
    {                                                                       \
        ad_fwd y = ADX_ZERO;                                                \
        y.v = ADX_NAME(plain, N)(e);                                        \
        return y;                                                           \
    }                                                                       \
    ADX_INLINE bool ADX_NAME(last, N)(const ad_expr_##N *e)                 \
    {                                                                       \
        return (N) == 1 && e->head.leaf                                     \
            && e->slot[0].id == adx_compound(adx_now.job, adx_now.seq);     \
    }
ADX_WIDTHS(ADX_DEFINE)
#undef ADX_DEFINE

ADX_INLINE ad_real ADX_NAME(plain, 0)(ad_expr_0 e) { return e.head.v; }
ADX_INLINE ad_expr_0 ADX_NAME(detach, 0)(ad_expr_0 e) { return e; }
ADX_INLINE ad_fwd ADX_NAME(tangent, 0)(ad_expr_0 e)
{
    ad_fwd y = ADX_ZERO;
    y.v = e.head.v;
    return y;
}
ADX_INLINE bool ADX_NAME(last, 0)(const ad_expr_0 *e) { (void)e; return false; }

ADX_INLINE ad_real ADX_NAME(plain, dual)(ad_expr_dual e) { return e.head.v; }
ADX_INLINE ad_expr_dual ADX_NAME(detach, dual)(ad_expr_dual e)
{
    e.d = 0;
    return e;
}
ADX_INLINE ad_fwd ADX_NAME(tangent, dual)(ad_expr_dual e)
{
    return ADX_NAME(rec, dual)(e);
}
ADX_INLINE bool ADX_NAME(last, dual)(const ad_expr_dual *e)
{
    (void)e;
    return false;
}

#define ADX_MAKE_DUAL                                                       \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LOUD                                                            \
        ADX_CALL(tangent, adx_x)(adx_x);                                    \
    })

#define ADX_MAKE_EXPR                                                       \
        ;                                                                   \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LOUD                                                            \
        adx_x;                                                              \
    })

#define ADX_MAKE_REC                                                        \
        ;                                                                   \
        ADX_NOTE_PLACE      /* again: an operand may have recorded */       \
        ADX_LET adx_x = adx_own(adx_x_);                                    \
        ADX_LOUD                                                            \
        enum { adx_mixed = ADX_WIDTH(adx_x) >= ADX_FORWARD };               \
        ADX_STATIC_ASSERT(!adx_mixed, "an ad_fwd is not recorded: ad_dual " \
                          "evaluates it");                                  \
        ADX_CALL(rec, adx_x)(adx_x);                                        \
    })

// The number in which ad_acc keeps a sum. As a parameter it is const, so that
// clang notices if nobody has set it.
ADX_INLINE ad_rev *adx_sum_rev(const ad_rev *s)
{
    return (ad_rev *)(uintptr_t)s;
}

ADX_INLINE ad_fwd *adx_sum_fwd(const ad_fwd *s)
{
    return (ad_fwd *)(uintptr_t)s;
}

#ifdef __cplusplus
ADX_INLINE ad_rev *adx_accumulator(ad_rev *s) { return s; }
ADX_INLINE ad_fwd *adx_accumulator(ad_fwd *s) { return s; }
#else
#define adx_accumulator(s)                                                  \
    _Generic((s), ad_rev *: adx_sum_rev, ad_fwd *: adx_sum_fwd)(s)
#endif

// In the sum that ad_acc makes, a variable that was recorded last comes first:
// then it needs no operand (adx_may_sum), and in the sweep its adjoint is not
// written and read again. (bench: loop, 0.93.)
#define ADX_MAKE_SUM                                                        \
        ;                                                                   \
        ADX_LET adx_s = adx_x_;                                             \
        ADX_NOTE_PLACE                                                      \
        ADX_LET adx_t = adx_own(adx_y_);                                    \
        if (ADX_WIDTH(adx_t) == 1 && ADX_CALL(last, adx_t)(&adx_t)) {       \
            ADX_LET adx_r =                                                 \
                ADX_TAKE (adx_t) ADX_AND_Y (*adx_s) ADX_MAKE_2(add);        \
            *adx_s = ADX_CALL(rec, adx_r)(adx_r);                           \
        } else {                                                            \
            ADX_LET adx_r =                                                 \
                ADX_TAKE (*adx_s) ADX_AND_Y (adx_t) ADX_MAKE_2(add);        \
            *adx_s = ADX_CALL(rec, adx_r)(adx_r);                           \
        }                                                                   \
        ADX_LOUD                                                            \
    })

// Sine and cosine of the same operand.
#define ADX_MAKE_SINCOS                                                     \
        ;                                                                   \
        ADX_LET adx_t = adx_own(adx_x_);                                    \
        ADX_NOTE_PLACE                                                      \
        ADX_LET adx_s = ADX_TAKE (adx_t) ADX_MAKE_1(sin);                   \
        *adx_y_ = ADX_CALL(rec, adx_s)(adx_s);                              \
        ADX_LET adx_c = ADX_TAKE (adx_t) ADX_MAKE_1(cos);                   \
        *adx_z_ = ADX_CALL(rec, adx_c)(adx_c);                              \
        ADX_LOUD                                                            \
    })

#define ad_sincos(a, s, c)                                                  \
    (ADX_TAKE (a) ADX_AND_Y (s) ADX_AND_Z (c) ADX_MAKE_SINCOS)

// The parts without a derivative of modf and frexp.
#define ADX_TAKE_MODF  ADX_TAKE
#define ADX_TAKE_FREXP ADX_TAKE
#define ADX_AND_WHOLE(whole)                                                \
        ; ad_real *const adx_w_ = (whole);                                  \
        ADX_LET adx_t = adx_own(adx_x_);                                    \
        *adx_w_ = ad_value(ADX_TAKE (adx_t) ADX_MAKE_STEP(trunc))
#define ADX_AND_EXPONENT(exponent)                                          \
        ; int *const adx_w_ = (exponent);                                   \
        ADX_LET adx_t = adx_own(adx_x_);                                    \
        const int adx_k_ = adx_exponent_of(adx_t.head.v);                   \
        *adx_w_ = adx_k_;                                                   \
        ADX_KEEP_EXPONENT                                                   \
        ADX_LET adx_y_ = -(ad_real)adx_k_
#if ADREV_TRACE
#define ADX_KEEP_EXPONENT                                                   \
        if (ADX_ACTIVE(ADX_WIDTH(adx_t)) && ADX_UNLIKELY(ADX_TRACED))       \
            adx_observed_exponent(ADX_NODE(adx_t), adx_k_);
#else
#define ADX_KEEP_EXPONENT
#endif

#define ad_dual(e)    (ADX_TAKE (e) ADX_MAKE_DUAL)
#define ad_expr_of(a) (ADX_TAKE (a) ADX_MAKE_EXPR)
#define ad_acc(s, e)  (ADX_TAKE adx_accumulator(s) ADX_AND_Y (e) ADX_MAKE_SUM)

// In clang's C ad_rec is a function, so that its argument is in no macro.
#if defined __clang__ && !defined __cplusplus && !ADREV_DEBUG
#define ADX_REC_ANY(type) ADX_OVERLOAD ad_rev adx_rec_any(type e)
#define ADX_DEFINE(N)                                                       \
    ADX_REC_ANY(ad_expr_##N) { return adx_rec_##N(e); }
ADX_WIDTHS(ADX_DEFINE)
ADX_DEFINE(0)
#undef ADX_DEFINE
ADX_REC_ANY(ad_rev) { return adx_rec_1(adx_leaf(e)); }
#define ADX_DEFINE(type)                                                    \
    ADX_REC_ANY(type) { return adx_passive((ad_real)e); }
ADX_ARITHMETIC(ADX_DEFINE)
#undef ADX_DEFINE
#define ADX_NO_FORWARD                                                      \
    __attribute__((unavailable("an ad_fwd is not recorded: ad_dual evaluates " \
                               "it")))
ADX_REC_ANY(ad_fwd) ADX_NO_FORWARD;
ADX_REC_ANY(ad_expr_dual) ADX_NO_FORWARD;
#undef ADX_NO_FORWARD
#undef ADX_REC_ANY
#define ad_rec adx_rec_any
#else
#define ad_rec(e) (ADX_TAKE (e) ADX_MAKE_REC)
#endif

#ifdef __cplusplus
#define ad_expr auto
ADX_INLINE ad_real adx_plain(ad_rev x) { return adx_plain_rev(x); }
ADX_INLINE ad_real adx_plain(ad_fwd x) { return adx_plain_fwd(x); }
ADX_INLINE ad_rev adx_detach(ad_rev x) { return adx_detach_rev(x); }
ADX_INLINE ad_fwd adx_detach(ad_fwd x) { return adx_detach_fwd(x); }
template <class Plain, adrev::adx_if_plain<Plain> = 0>
ADX_INLINE ad_real adx_plain(Plain x) { return static_cast<ad_real>(x); }
template <class Plain, adrev::adx_if_plain<Plain> = 0>
ADX_INLINE ad_real adx_detach(Plain x) { return static_cast<ad_real>(x); }
template <class Any> ADX_INLINE ad_real ad_value(const Any &x)
{
    return adx_plain(x);
}
template <class Any> ADX_INLINE auto ad_detach(const Any &x)
    -> decltype(adx_detach(x))
{
    return adx_detach(x);
}
#else
#define ad_expr __auto_type
#define ad_value(x)                                                         \
    _Generic((x), ad_rev: adx_plain_rev, ad_fwd: adx_plain_fwd,             \
             ADX_EXPRS(plain), float: adx_plain_float,                      \
             default: adx_plain_number)(x)
#define ad_detach(x)                                                        \
    _Generic((x), ad_rev: adx_detach_rev, ad_fwd: adx_detach_fwd,           \
             ADX_EXPRS(detach), float: adx_plain_float,                     \
             default: adx_plain_number)(x)
#endif

#endif // ADX_FUSES
