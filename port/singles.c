/* singles.c - numbers each of which is made of one input.
 *
 *     if (x[i] == 0) ...;         if (x[0] - x[1] == 0) ...;
 *
 * Where a number is equal to a constant, a derivative is lost only if it is made of
 * several inputs: the twin asks the tape then (copies.c). Of most numbers it is seen
 * here that they are not. A number is made of none, of one input (a scalar), of one
 * that may be another each time (an element), or of several. What is known spreads
 * along the edges, as what varies does; where a number is computed of two, or added
 * to, these are put together.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"

// Of a value that num `from` gives, at a number that is computed of several: what it
// is made of then. An edge of the number that came first gives the same value.
static makeup put_together(const num *to, const num *from)
{
    if (to->mixes == ALONE || to->made == OF_NONE)
        return to->mixes == WITH_ITSELF && from->made == OF_EACH ? OF_SEVERAL
             : from->made;
    if (to->mixes == WITH_OTHERS && to->fed_by == from)
        return from->made;
    return to->made == OF_ONE && from->made == OF_ONE && to->only == from->only
        ? OF_ONE : OF_SEVERAL;
}

static bool feed(num *to, const num *from)
{
    if (from->made == OF_NONE)
        return false;
    makeup is = put_together(to, from);
    if (to->mixes == ALONE && to->made == OF_ONE && is == OF_ONE
        && to->only != from->only)
        is = OF_EACH;
    if (to->made >= is)
        return false;
    if (to->made == OF_NONE)
        to->fed_by = from;
    to->made = is;
    to->only = from->only;
    return true;
}

static unsigned *start, *list;  // edges

void singles_find(void)
{
    list = edge_lists(false, &start);
    bool more = true;
    while (more) {
        more = false;
        for (unsigned i = 0; num_at(i) != NULL; i++)
            for (unsigned k = start[i]; k < start[i + 1]; k++)
                more |= feed(num_at(list[k]), num_at(i));
    }
    edges_keep_repeated();
    list = edge_lists(false, &start);
}

// Some way along the edges leads back to it, each of which may be gone again: it is
// computed anew of what it was, as in an iteration.
bool num_returns(const num *n)
{
    static unsigned *work, stamp;
    static size_t room;
    size_t count = 0;
    const unsigned to = num_root((num *)n)->index;
    unsigned at = to;
    for (stamp++;; at = work[--count]) {
        for (unsigned k = start[at]; k < start[at + 1]; k++) {
            if (list[k] == to)
                return true;
            if (num_at(list[k])->stamp == stamp)
                continue;
            num_at(list[k])->stamp = stamp;
            work = grow(work, &room, count + 1, sizeof *work);
            work[count++] = list[k];
        }
        if (count == 0)
            return false;
    }
}

bool is_of_one(const ty *t)
{
    return t->kind == T_NUM && num_root(t->num)->made != OF_SEVERAL;
}
