// SPDX-License-Identifier: MIT-0
/* tensor_bind.h - a tree as a program of the library: its text, with sizes,
 * relations and maps. Include it after adrev_tensor.h and check.h.          */

#ifndef ADREV_TESTS_TENSOR_BIND_H
#define ADREV_TESTS_TENSOR_BIND_H

#include "tensor_random.h"

static inline ad_status bind_relation(ad_tensor *t, const tree_relation *r)
{
    const int *column[TREE_DIMS];
    for (int d = 0; d < TREE_DIMS; d++)
        column[d] = r->entry[d];
    return ad_tensor_relation(t, r->name, (size_t)r->entries, column);
}

// Everything that the text has a name for. The first status that is not OK.
static inline ad_status bind_all(ad_tensor *t, const tree *p)
{
    ad_status s = ADREV_OK;
    for (int i = 0; i < p->sizes && s == ADREV_OK; i++)
        if (tree_is_named(p, i))
            s = ad_tensor_size(t, p->size[i].name, (size_t)p->size[i].value);
    for (int i = 0; i < p->relations && s == ADREV_OK; i++)
        if (!p->relation[i].gone)
            s = bind_relation(t, &p->relation[i]);
    for (int i = 0; i < p->maps && s == ADREV_OK; i++)
        if (!p->map[i].gone)
            s = ad_tensor_map(t, p->map[i].name, p->map[i].value);
    return s;
}

// A bound program; NULL, and the reason in error, if the library says no.
static inline ad_tensor *bind_tree(const tree *p,
                                   const ad_tensor_options *options,
                                   tree_text *text, ad_tensor_error *error)
{
    ad_tensor *t = NULL;
    memset(error, 0, sizeof *error);
    tree_print(p, text);
    ad_status s = ad_tensor_new(&t, text->s, options, error);
    if (s != ADREV_OK)
        return NULL;
    s = bind_all(t, p);
    if (s == ADREV_OK)
        s = ad_tensor_bind(t, error);
    if (s == ADREV_OK)
        return t;
    if (error->text[0] == '\0')
        snprintf(error->text, sizeof error->text, "%s", ad_message(s));
    ad_tensor_free(t);
    return NULL;
}

#endif
