/* kept.c - macros that stay.
 *
 * If all that changes in an expansion are whole arguments that remain plain C
 * (a condition in `assert`), the macro is kept and its arguments are written.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>

static bool find_arguments(node *n, node **list, int *count)
{
    span s;
    if (!touched(n))
        return true;
    if (n->kind >= DeclRefExpr && spelled_whole(n, &s) && !number_of(n)
        && n->ty != NULL && *count < 32) {
        list[(*count)++] = n;
        return true;
    }
    if (touched_itself(n))
        return false;
    for (int i = 0; i < n->kids; i++)
        if (!find_arguments(n->kid[i], list, count))
            return false;
    return true;
}

static int by_spelling(const void *a, const void *b)
{
    const node *x = *(node *const *)a, *y = *(node *const *)b;
    const uint32_t i = x->begin.spelled.at, j = y->begin.spelled.at;
    return (i > j) - (i < j);
}

static bool write_arguments(buffer *b, node *n)
{
    node *list[32];
    int count = 0;
    const span all = span_of(n);
    size_t at = all.begin;

    if (!find_arguments(n, list, &count) || count == 0)
        return false;
    qsort(list, (size_t)count, sizeof *list, by_spelling);
    for (int i = 0; i < count; i++) {
        span s;
        spelled_whole(list[i], &s);
        if (s.begin < at)
            continue;
        put_text(b, slice((span){ all.file, at, s.begin }));
        write_as(b, list[i], F_PLAIN, true);
        at = s.end;
    }
    put_text(b, slice((span){ all.file, at, all.end }));
    return true;
}

// What `assert` asks, in the expansion of glibc's: `({ if (it) ; else ... })`.
static node *asserted(node *n)
{
    node *found = n->kind == IfStmt ? n->kid[0] : NULL;
    for (int i = 0; i < n->kids && found == NULL; i++)
        found = asserted(n->kid[i]);
    return found;
}

// A macro stands in what is asked: assert(TEMPERATURE > 0).
static bool write_assertion(buffer *b, node *n)
{
    const text all = slice(span_of(n));
    node *condition = is((text){ all.at, skip_token(all, 0) }, "assert")
        ? asserted(n) : NULL;
    if (condition == NULL)
        return false;
    put(b, "assert(");
    write_as(b, condition, F_PLAIN, true);
    put(b, ")");
    return true;
}

bool write_kept(buffer *b, node *n)
{
    return write_arguments(b, n) || write_assertion(b, n);
}
