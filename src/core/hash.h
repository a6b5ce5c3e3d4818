#pragma once

/* === core/hash ==============================================================
 * XXH3 of 64 and 128 bits: places in hash tables, checksums of saved functions,
 * names of compiled ones. By xxHash where <xxhash.h> is installed. Elsewhere,
 * and with ADREV_NO_XXHASH, by what stands here, which is written from xxHash's
 * specification (doc/xxhash_spec.md) and gives the same bits, so that files can
 * be exchanged. (Long data: 9 GB/s instead of 17, clang. Recording a function
 * takes as long as with xxHash.)
 *
 * adrev_parallel.h and adrev_function.h have this room, each for itself.
 *
 *   needs   core/config
 *   offers  adx_hash128 adx_xxh3 adx_xxh128
 * ========================================================================== */

#ifndef ADX_HASH
#define ADX_HASH 1

// ADREV_NO_XXHASH   do not look for <xxhash.h>.
#if defined __has_include && !defined ADREV_NO_XXHASH
#if __has_include(<xxhash.h>)
#define ADX_XXHASH
#endif
#endif

typedef struct adx_hash128 {
    uint64_t low;
    uint64_t high;
} adx_hash128;

#ifdef ADX_XXHASH

#define XXH_INLINE_ALL
#ifdef ADREV_NO_STDLIB
#define XXH_NO_STDLIB       // xxHash 0.8.2; before, its malloc has no caller
#endif
#include <xxhash.h>

ADX_INLINE uint64_t adx_xxh3(const void *data, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, n, seed);
}

ADX_UNUSED static adx_hash128 adx_xxh128(const void *data, size_t n)
{
    const XXH128_hash_t h = XXH3_128bits(data, n);
    return (adx_hash128){ h.low64, h.high64 };
}

#else

#define ADX_P32_1 UINT64_C(0x9E3779B1)
#define ADX_P32_2 UINT64_C(0x85EBCA77)
#define ADX_P32_3 UINT64_C(0xC2B2AE3D)
#define ADX_P64_1 UINT64_C(0x9E3779B185EBCA87)
#define ADX_P64_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define ADX_P64_3 UINT64_C(0x165667B19E3779F9)
#define ADX_P64_4 UINT64_C(0x85EBCA77C2B2AE63)
#define ADX_P64_5 UINT64_C(0x27D4EB2F165667C5)
#define ADX_PMX_1 UINT64_C(0x165667919E3779F9)
#define ADX_PMX_2 UINT64_C(0x9FB21C651E98DF25)

#define ADX_STRIPE 64           /* bytes */
#define ADX_STRIPES 16          /* of a block */
#define ADX_SECRET 192          /* bytes */

static const uint8_t adx_secret[ADX_SECRET] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c,
    0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb,
    0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e,
    0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6,
    0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb,
    0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97,
    0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7,
    0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31,
    0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64, 0xea, 0xc5, 0xac, 0x83,
    0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26,
    0x29, 0xd4, 0x68, 0x9e, 0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc,
    0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e
};

// A number of 4 or 8 bytes, the lowest first.
ADX_INLINE uint64_t adx_read_little(const uint8_t *v, int bytes)
{
    uint64_t x = 0;
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&x, v, (size_t)bytes);
#else
    for (int i = bytes; i-- > 0;)
        x = x << 8 | v[i];
#endif
    return x;
}

ADX_INLINE uint64_t adx_read4(const uint8_t *v)
{
    return adx_read_little(v, 4);
}

ADX_INLINE uint64_t adx_read8(const uint8_t *v)
{
    return adx_read_little(v, 8);
}

ADX_INLINE uint64_t adx_secret8(size_t at)
{
    return adx_read8(adx_secret + at);
}

ADX_INLINE uint64_t adx_rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

// The lowest bytes of x, in the reverse order.
ADX_INLINE uint64_t adx_swap_bytes(uint64_t x, int bytes)
{
    uint64_t y = 0;
    for (int i = 0; i < bytes; i++)
        y = y << 8 | (x >> 8 * i & 0xff);
    return y;
}

// The two halves of a product of 128 bits, combined.
ADX_INLINE uint64_t adx_fold_product(uint64_t x, uint64_t y)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    const wide product = (wide)x * y;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    const uint64_t low = 0xffffffff;
    const uint64_t ll = (x & low) * (y & low);
    const uint64_t hl = (x >> 32) * (y & low);
    const uint64_t lh = (x & low) * (y >> 32) + (hl & low) + (ll >> 32);
    return (lh << 32 | (ll & low))
         ^ ((x >> 32) * (y >> 32) + (hl >> 32) + (lh >> 32));
#endif
}

ADX_INLINE uint64_t adx_avalanche(uint64_t x)
{
    x = (x ^ x >> 37) * ADX_PMX_1;
    return x ^ x >> 32;
}

ADX_INLINE uint64_t adx_avalanche_short(uint64_t x)
{
    x = (x ^ x >> 33) * ADX_P64_2;
    x = (x ^ x >> 29) * ADX_P64_3;
    return x ^ x >> 32;
}

// Up to 16 bytes.
ADX_INLINE uint64_t adx_hash_short(const uint8_t *v, size_t n, uint64_t seed)
{
    if (n > 8) {
        const uint64_t low = adx_read8(v)
                           ^ ((adx_secret8(24) ^ adx_secret8(32)) + seed);
        const uint64_t high = adx_read8(v + n - 8)
                            ^ ((adx_secret8(40) ^ adx_secret8(48)) - seed);
        return adx_avalanche(n + adx_swap_bytes(low, 8) + high
                             + adx_fold_product(low, high));
    }
    if (n > 3) {
        const uint64_t mixed = seed ^ adx_swap_bytes(seed, 4) << 32;
        uint64_t x = (adx_read4(v + n - 4) | adx_read4(v) << 32)
                   ^ ((adx_secret8(8) ^ adx_secret8(16)) - mixed);
        x ^= adx_rotate_left(x, 49) ^ adx_rotate_left(x, 24);
        x *= ADX_PMX_2;
        x = (x ^ ((x >> 35) + n)) * ADX_PMX_2;
        return x ^ x >> 28;
    }
    if (n > 0) {
        const uint64_t x = v[n - 1] | (uint64_t)n << 8 | (uint64_t)v[0] << 16
                         | (uint64_t)v[n / 2] << 24;
        return adx_avalanche_short(
            x ^ ((adx_read4(adx_secret) ^ adx_read4(adx_secret + 4)) + seed));
    }
    return adx_avalanche_short(seed ^ adx_secret8(56) ^ adx_secret8(64));
}

ADX_INLINE uint64_t adx_mix_secret(const uint8_t *v, size_t at, uint64_t seed)
{
    return adx_fold_product(adx_read8(v) ^ (adx_secret8(at) + seed),
                            adx_read8(v + 8) ^ (adx_secret8(at + 8) - seed));
}

// 17 to 240 bytes.
static uint64_t adx_hash_medium(const uint8_t *v, size_t n, uint64_t seed)
{
    uint64_t sum = n * ADX_P64_1;
    if (n <= 128) {
        for (size_t i = (n - 1) / 32 + 1; i-- > 0;)
            sum += adx_mix_secret(v + 16 * i, 32 * i, seed)
                 + adx_mix_secret(v + n - 16 * i - 16, 32 * i + 16, seed);
        return adx_avalanche(sum);
    }
    for (size_t i = 0; i < 8; i++)
        sum += adx_mix_secret(v + 16 * i, 16 * i, seed);
    sum = adx_avalanche(sum);
    for (size_t i = 8; i < n / 16; i++)
        sum += adx_mix_secret(v + 16 * i, 16 * (i - 8) + 3, seed);
    return adx_avalanche(sum + adx_mix_secret(v + n - 16, 119, seed));
}

// Adds a stripe to the sums. `secret` is that for this stripe.
ADX_INLINE void adx_add_stripe(uint64_t sum[8], const uint8_t *v,
                               const uint8_t *secret)
{
    for (int i = 0; i < 8; i++) {
        const uint64_t x = adx_read8(v + 8 * i);
        const uint64_t mixed = x ^ adx_read8(secret + 8 * i);
        sum[i ^ 1] += x;
        sum[i] += (mixed & 0xffffffff) * (mixed >> 32);
    }
}

// After each block.
static void adx_scramble(uint64_t sum[8], const uint8_t *secret)
{
    for (int i = 0; i < 8; i++)
        sum[i] = (sum[i] ^ sum[i] >> 47 ^ adx_read8(secret + 8 * i))
               * ADX_P32_1;
}

// More than 240 bytes: the sums of all stripes. The last one ends with the
// data, and may overlap the one before.
static void adx_add_stripes(uint64_t sum[8], const uint8_t *v, size_t n,
                            const uint8_t *secret)
{
    const uint64_t first[8] = { ADX_P32_3, ADX_P64_1, ADX_P64_2, ADX_P64_3,
                                ADX_P64_4, ADX_P32_2, ADX_P64_5, ADX_P32_1 };
    memcpy(sum, first, sizeof first);
    for (size_t i = 0; i < (n - 1) / ADX_STRIPE; i++) {
        adx_add_stripe(sum, v + ADX_STRIPE * i, secret + 8 * (i % ADX_STRIPES));
        if (i % ADX_STRIPES == ADX_STRIPES - 1)
            adx_scramble(sum, secret + ADX_SECRET - ADX_STRIPE);
    }
    adx_add_stripe(sum, v + n - ADX_STRIPE, secret + ADX_SECRET - 71);
}

static uint64_t adx_merge(const uint64_t sum[8], uint64_t h,
                          const uint8_t *secret)
{
    for (int i = 0; i < 8; i += 2)
        h += adx_fold_product(sum[i] ^ adx_read8(secret + 8 * i),
                              sum[i + 1] ^ adx_read8(secret + 8 * i + 8));
    return adx_avalanche(h);
}

// The secret of a seed.
static void adx_make_secret(uint8_t secret[ADX_SECRET], uint64_t seed)
{
    for (size_t i = 0; i < ADX_SECRET; i += 8) {
        const uint64_t x = adx_secret8(i) + (i % 16 == 0 ? seed : 0 - seed);
        for (size_t k = 0; k < 8; k++)
            secret[i + k] = (uint8_t)(x >> 8 * k);
    }
}

ADX_NOINLINE static uint64_t adx_hash_long(const uint8_t *v, size_t n,
                                           uint64_t seed)
{
    uint64_t sum[8];
    uint8_t secret[ADX_SECRET];
    adx_make_secret(secret, seed);
    adx_add_stripes(sum, v, n, secret);
    return adx_merge(sum, n * ADX_P64_1, secret + 11);
}

ADX_INLINE uint64_t adx_xxh3(const void *data, size_t n, uint64_t seed)
{
    const uint8_t *v = (const uint8_t *)data;
    return n <= 16 ? adx_hash_short(v, n, seed)
         : n <= 240 ? adx_hash_medium(v, n, seed) : adx_hash_long(v, n, seed);
}

// The names of compiled functions are made of more than 240 bytes. Of less, two
// hashes of 64 bits, which are not those of XXH3.
ADX_UNUSED static adx_hash128 adx_xxh128(const void *data, size_t n)
{
    const uint8_t *v = (const uint8_t *)data;
    uint64_t sum[8];
    if (n <= 240)
        return (adx_hash128){ adx_xxh3(data, n, 0), adx_xxh3(data, n, 1) };
    adx_add_stripes(sum, v, n, adx_secret);
    return (adx_hash128){
        adx_merge(sum, n * ADX_P64_1, adx_secret + 11),
        adx_merge(sum, ~(n * ADX_P64_2), adx_secret + ADX_SECRET - 75)
    };
}

#endif // ADX_XXHASH
#endif // ADX_HASH
