#pragma once

/* === function/operations ====================================================
 * A program is a list of nodes. Each node makes one number (an array node may
 * make several) from numbers made before. No number is ever overwritten. A
 * number is identified by its place: first come the inputs, then constants and
 * results in the order in which they were asked for.
 *
 *   needs   tape/memory
 *   offers  ADX_OP_guard ADX_OP_many ADX_OP_chain_add ADX_OP_chain_sub
 *           ADX_OP_mul_add ADX_OP_mul_sub ADX_OP_end ADX_ROUNDED_ALL
 *           ADX_FUSES_MUL adx_rounded ADX_FUSED_CHAIN ADX_FUSED
 *           adx_make_room_for
 * ========================================================================== */

/* --- operations ----------------------------------------------------------- */

enum {
    ADX_OP_guard = ADX_OP_COUNT,    // stops unless a is b; c: its number
    ADX_OP_many,                    // a: index in the list `many`
    ADX_OP_chain_add,               // in machines only: c + chain(a, b),
    ADX_OP_chain_sub,               // c - chain(a, b),
    ADX_OP_mul_add,                 // c + a * b, rounded twice,
    ADX_OP_mul_sub,                 // c - a * b
    ADX_OP_end
};

// The product and the sum are in two functions, because a compiler that
// contracts only within an expression then leaves them apart.
ADX_INLINE ad_real adx_more(ad_real z, ad_real product) { return z + product; }
ADX_INLINE ad_real adx_less(ad_real z, ad_real product) { return z - product; }

// ADX_ROUNDED(x), ADX_ROUNDED_ALL()   hide from the compiler how x, or what is
//   in memory, was computed: a product is rounded before a sum takes it, and
//   not contracted with it. Where a compiler has no such means (ADX_FUSES_MUL
//   is 0), products of the function itself and sums stay separate nodes.
#if defined __GNUC__ && defined __SSE2_MATH__
#define ADX_ROUNDED(x) __asm__("" : "+x"(x))
#elif defined __GNUC__ && defined __aarch64__
#define ADX_ROUNDED(x) __asm__("" : "+w"(x))
#endif
#ifdef ADX_ROUNDED
#define ADX_ROUNDED_ALL() __asm__("" : : : "memory")
#define ADX_FUSES_MUL 1
#else
#define ADX_ROUNDED(x) ((void)0)
#define ADX_ROUNDED_ALL() ((void)0)
#define ADX_FUSES_MUL 0
#endif

ADX_INLINE ad_real adx_rounded(ad_real x)
{
    ADX_ROUNDED(x);
    return x;
}

// A product and a sum as one node: DO(code, value), of x, y and z. ADX_FUSED is
// for a single point. In a loop over lanes, adx_rounded would prevent vectors,
// so function/run computes the products of mul_add and mul_sub in a loop of
// their own first.
#define ADX_FUSED_CHAIN(DO)                                                 \
    DO(ADX_OP_chain_add, adx_more(z, x * y))                                \
    DO(ADX_OP_chain_sub, adx_less(z, x * y))
#define ADX_FUSED(DO)                                                       \
    ADX_FUSED_CHAIN(DO)                                                     \
    DO(ADX_OP_mul_add, adx_more(z, adx_rounded(x * y)))                     \
    DO(ADX_OP_mul_sub, adx_less(z, adx_rounded(x * y)))

/* --- memory -------------------------------------------------------------- */

// Makes room for one more element than the n that an array has.
static inline bool adx_make_room_for(const ad_allocator *a, void **array,
                                     size_t *room, size_t n, size_t size)
{
    return adx_extend(a, array, room, n + 1, size);
}
