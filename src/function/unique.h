#pragma once

/* === function/unique ========================================================
 * Hash-consing: each number is made once. A number has a key: the bits of a
 * constant, or the operation of a node and its arguments. The arguments have
 * been looked up themselves, so equal keys mean equal computations. Before a
 * node is added, a table is searched for a number with the same key, in
 * constant time. (Ershov, On programming of arithmetic operations, 1958;
 * Filliatre & Conchon, Type-safe modular hash-consing, 2006.)
 *
 * The table is divided into sets. The hash of a key says in which set its
 * number is, if it is in the table. A full set gives up its oldest number. So
 * the table may forget a number, which is then made a second time, but it never
 * returns a wrong one: if a hash agrees, the key of that number is compared,
 * too.
 *
 *   needs   tape/memory core/hash function/program
 *   offers  adx_key adx_node_key adx_guard_key adx_constant_key adx_seen
 *           adx_enter_number adx_fixed_anew adx_fixed
 * ========================================================================== */

// The table has so many entries at most: 128 kB, which the cache holds. (bench:
// recording, 10^7 operations, 0.37 of a table of all numbers.)
#define ADX_SEEN_MOST ((size_t)1 << 14)

typedef struct adx_key {
    uint64_t word[2];
} adx_key;

static adx_key adx_node_key(uint32_t op, uint32_t x, uint32_t y, uint32_t z)
{
    return (adx_key){ { (uint64_t)op << 32 | x, (uint64_t)y << 32 | z } };
}

// The key of a guard does not say which guard it is, so a comparison that is
// repeated needs no second guard.
static adx_key adx_guard_key(uint32_t x, uint32_t was)
{
    return adx_node_key(ADX_OP_guard, x, was, 0);
}

// The key of a constant: its bits, so that 0 and -0 are two.
static adx_key adx_constant_key(ad_real v)
{
    adx_key key = { { (uint64_t)ADX_FROM_CONSTANT << 32, 0 } };
    memcpy(&key.word[1], &v, sizeof v);
    return key;
}

// Returns the key of a number in the table; results of array nodes are never
// there.
static adx_key adx_key_of(const adx_program *p, uint32_t x)
{
    if (adx_is_constant_number(p, x))
        return adx_constant_key(*adx_constant_of(p, x));
    const adx_node *s = &p->node[p->from[x]];
    return s->op == ADX_OP_guard ? adx_guard_key(s->a, s->b)
                                 : adx_node_key(s->op, s->a, s->b, s->c);
}

static uint32_t adx_hash(const adx_key *key)
{
    return (uint32_t)adx_xxh3(key, sizeof *key, 0);
}

static size_t adx_set_of(const adx_program *p, uint32_t hash)
{
    return hash & (p->seen_sets - 1);
}

// Whether any number of a set has this hash. Mostly none has. (Vectors, bench:
// recording, 10^5 operations, 0.89.)
ADX_INLINE bool adx_may_have(const adx_seen_set *set, uint32_t hash)
{
#ifdef __GNUC__
    typedef uint32_t four __attribute__((vector_size(16), aligned(4),
                                         may_alias));
    const four *h = (const four *)set->hash;
    union { __typeof__(h[0] == hash) same; uint64_t word[2]; } any = {
        (h[0] == hash) | (h[1] == hash)
    };
    return (any.word[0] | any.word[1]) != 0;
#else
    bool any = false;
    for (int i = 0; i < ADX_WAYS; i++)
        any |= set->hash[i] == hash;
    return any;
#endif
}

// Returns the number with this key; ADX_NOWHERE: the table does not have it. A
// node, which is far away in memory, is looked at only if its hash agrees.
ADX_INLINE uint32_t adx_find_key(const adx_program *p, const adx_key *key,
                                 uint32_t hash)
{
    const adx_seen_set *set = &p->seen[adx_set_of(p, hash)];
    if (!adx_may_have(set, hash))
        return ADX_NOWHERE;
    for (int i = 0; i < ADX_WAYS; i++) {
        if (set->hash[i] != hash || set->number[i] == 0)
            continue;
        adx_key other = adx_key_of(p, set->number[i] - 1);
        if (other.word[0] == key->word[0] && other.word[1] == key->word[1])
            return set->number[i] - 1;
    }
    return ADX_NOWHERE;
}

// Enters 1 + a number into its set, in place of the oldest one. The counter may
// overflow: 256 is a multiple of ADX_WAYS.
ADX_INLINE void adx_enter_entry(adx_program *p, uint32_t hash, uint32_t number)
{
    size_t at = adx_set_of(p, hash);
    uint8_t way = p->entered[at]++ % ADX_WAYS;
    p->seen[at].hash[way] = hash;
    p->seen[at].number[way] = number;
}

// Makes the table, or makes it eight times as large. The numbers enter their
// new sets by the hashes in the table, so no key is computed again.
ADX_NOINLINE static bool adx_widen_seen(adx_program *p)
{
    size_t old_sets = p->seen_sets;
    adx_seen_set *old = p->seen;
    size_t sets = old_sets == 0 ? 8 : 8 * old_sets;
    if (sets > ADX_SEEN_MOST / ADX_WAYS)
        sets = ADX_SEEN_MOST / ADX_WAYS;
    adx_seen_set *wide =
        (adx_seen_set *)adx_take(p->memory, sets, sizeof *wide + 1);
    if (wide == NULL) {
        adx_spoil(p, ADREV_ENOMEM);
        return false;
    }
    memset(wide, 0, sets * (sizeof *wide + 1));
    p->seen = wide;
    p->entered = (uint8_t *)(wide + sets);
    p->seen_sets = sets;
    for (size_t i = 0; i < old_sets; i++)       // of each set the oldest first
        for (size_t k = 0; k < ADX_WAYS && old[i].number[k] != 0; k++)
            adx_enter_entry(p, old[i].hash[k], old[i].number[k]);
    adx_drop(p->memory, old);
    return true;
}

// Like adx_find_key, but makes the table if there is none yet. *hash is what
// the number is to be entered with if it is not found.
ADX_INLINE uint32_t adx_seen(adx_program *p, const adx_key *key, uint32_t *hash)
{
    if (p->status != ADREV_OK || (p->seen_sets == 0 && !adx_widen_seen(p)))
        return ADX_NOWHERE;
    *hash = adx_hash(key);
    return adx_find_key(p, key, *hash);
}

// Enters a number into a full set. Before the set gives up a number, the table
// is made larger, if it may be.
ADX_NOINLINE static void adx_enter_in_full_set(adx_program *p, uint32_t hash,
                                               uint32_t number)
{
    while (p->status == ADREV_OK && p->seen_sets < ADX_SEEN_MOST / ADX_WAYS
           && p->entered[adx_set_of(p, hash)] == ADX_WAYS)
        adx_widen_seen(p);
    if (p->status == ADREV_OK)
        adx_enter_entry(p, hash, number + 1);
}

// Enters a number into its set. hash: as adx_seen gave it.
ADX_INLINE void adx_enter_number(adx_program *p, uint32_t hash,
                                 uint32_t number)
{
    if (p->entered[adx_set_of(p, hash)] == ADX_WAYS)
        adx_enter_in_full_set(p, hash, number);
    else
        adx_enter_entry(p, hash, number + 1);
}

// Makes a constant with a new number, even if the table has one, so that the
// constants of an array follow one another.
static uint32_t adx_fixed_anew(adx_program *p, ad_real v)
{
    adx_key key = adx_constant_key(v);
    uint32_t hash = 0;
    uint32_t known = adx_seen(p, &key, &hash);
    uint32_t x = adx_new_constant(p, v);
    if (known == ADX_NOWHERE && p->status == ADREV_OK)
        adx_enter_number(p, hash, x);
    return x;
}

// Returns the number of a constant, which is made if the table does not have
// it.
static uint32_t adx_fixed(adx_program *p, ad_real v)
{
    adx_key key = adx_constant_key(v);
    uint32_t hash = 0;
    uint32_t known = adx_seen(p, &key, &hash);
    if (known != ADX_NOWHERE || p->status != ADREV_OK)
        return known == ADX_NOWHERE ? 0 : known;
    uint32_t x = adx_new_constant(p, v);
    if (p->status == ADREV_OK)
        adx_enter_number(p, hash, x);
    return x;
}
