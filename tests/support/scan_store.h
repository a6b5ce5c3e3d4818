// SPDX-License-Identifier: MIT-0
/* scan_store.h - a store for states that notices misuse: a number that is put
 * twice, got before it is put, or after the store was dropped. Include it after
 * check.h, in the one file of the program.                                   */

#ifndef ADREV_TESTS_SCAN_STORE_H
#define ADREV_TESTS_SCAN_STORE_H

#include <stdlib.h>
#include <string.h>

enum { PLACES = 2048 };

struct shelf {
    void *state[PLACES];
    size_t bytes[PLACES];
    size_t puts;
    size_t gets;
    size_t drops;
    size_t failing_put;     // the number of the one that fails, from 1; 0: none
    size_t failing_get;
};

static bool shelf_put(void *user, size_t number, const void *state,
                      size_t bytes)
{
    struct shelf *s = user;
    if (++s->puts == s->failing_put)
        return false;
    CHECK(s->drops == 0, "put after drop");
    if (!CHECK(number < PLACES && s->state[number] == NULL,
               "state %zu is put twice, or there are too many", number))
        return false;
    s->state[number] = malloc(bytes + 1);
    s->bytes[number] = bytes;
    if (s->state[number] != NULL)
        memcpy(s->state[number], state, bytes);
    return s->state[number] != NULL;
}

static bool shelf_get(void *user, size_t number, void *state, size_t bytes)
{
    struct shelf *s = user;
    if (++s->gets == s->failing_get)
        return false;
    CHECK(s->drops == 0, "get after drop");
    if (!CHECK(number < PLACES && s->state[number] != NULL
               && s->bytes[number] == bytes, "state %zu was never put, or in "
               "another size", number))
        return false;
    memcpy(state, s->state[number], bytes);
    return true;
}

static void shelf_drop(void *user)
{
    struct shelf *s = user;
    s->drops++;
    for (size_t i = 0; i < PLACES; i++) {
        free(s->state[i]);
        s->state[i] = NULL;
    }
}

static ad_store store_in(struct shelf *s, size_t every)
{
    return (ad_store){ .put = shelf_put, .get = shelf_get,
                       .drop = shelf_drop, .user = s, .every = every };
}

#endif
