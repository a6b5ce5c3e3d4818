// SPDX-License-Identifier: MIT-0
// tags: recorded slow
// flags: -pthread
// needs: xxhash.h
/* hash.c - core/hash without xxHash against xxHash itself: data of all lengths
 * to 2200 bytes (two blocks and more), of several seeds, at places that are not
 * aligned. (Tests that are built with ADREV_NO_XXHASH use it.)              */

#define ADREV_NO_XXHASH 1
#define ADREV_IMPLEMENTATION
#include "adrev_parallel.h"
#ifdef XXHASH_H_5627135585666179
#error ADREV_NO_XXHASH includes xxhash.h
#endif

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "check.h"

enum { MOST = 2200, SHIFT = 7 };

static const uint64_t seeds[] = { 0, 1, 0x0123456789abcdef, UINT64_MAX };

static void compare(const uint8_t *v, size_t n)
{
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        const uint64_t want = XXH3_64bits_withSeed(v, n, seeds[i]);
        CHECK(adx_xxh3(v, n, seeds[i]) == want, "%zu bytes, seed %llx", n,
              (unsigned long long)seeds[i]);
    }
    if (n > 240) {
        const XXH128_hash_t want = XXH3_128bits(v, n);
        const adx_hash128 got = adx_xxh128(v, n);
        CHECK(got.low == want.low64 && got.high == want.high64, "%zu bytes", n);
    }
}

int main(void)
{
    static uint8_t v[MOST + SHIFT];
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof v; i++) {
        random = random * 1664525 + 1013904223;
        v[i] = (uint8_t)(random >> 24);
    }
    for (size_t n = 0; n <= MOST; n++)
        compare(v + n % SHIFT, n);
    return check_done("hash");
}
