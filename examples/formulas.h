/* formulas.h - a text of adrev_tensor.h with what it needs, or the end of the
 * program, for the examples.
 *
 *     ad_tensor *t = formulas(text);
 *     must(ad_tensor_size(t, "n", 9));
 *     bind_formulas(t);
 *     must(ad_tensor_gradient(t, in, &f, g));
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef FORMULAS_H
#define FORMULAS_H

#include "adrev_tensor.h"
#include "fail.h"

static void must(ad_status status)
{
    if (status != ADREV_OK)
        fail(4, "%s", ad_message(status));
}

static ad_tensor *formulas(const char *text)
{
    ad_tensor *t = NULL;
    ad_tensor_error error;
    if (ad_tensor_new(&t, text, NULL, &error) != ADREV_OK)
        fail(3, "%s", error.text);
    return t;
}

static void bind_formulas(ad_tensor *t)
{
    ad_tensor_error error;
    if (ad_tensor_bind(t, &error) != ADREV_OK)
        fail(3, "%s", error.text);
}

#endif
