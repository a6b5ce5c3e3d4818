// SPDX-License-Identifier: MIT-0
/* tensor_text.h - what tests of texts share. Include it after adrev_tensor.h
 * and check.h.
 *
 *     OK(ad_tensor_eval(t, x, y));     the call returns ADREV_OK
 *     bound(text, as_written)          a text without sizes, bound
 *     drawn(n)                         a whole number below n, by chance     */

#ifndef ADREV_TESTS_TENSOR_TEXT_H
#define ADREV_TESTS_TENSOR_TEXT_H

#include <stdint.h>

#define OK(call)                                                            \
    do {                                                                    \
        ad_status ok_status = (call);                                       \
        CHECK(ok_status == ADREV_OK, #call ": %s", ad_message(ok_status));  \
    } while (0)

static inline ad_tensor *bound(const char *text, bool as_written)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 0 };
    const ad_tensor_options o = { .as_written = as_written };
    CHECK(ad_tensor_new(&t, text, &o, &e) == ADREV_OK, "%s", e.text);
    CHECK(ad_tensor_bind(t, &e) == ADREV_OK, "%s", e.text);
    return t;
}

static inline uint64_t drawn(uint64_t below)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

#endif
