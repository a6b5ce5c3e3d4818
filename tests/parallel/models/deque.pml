/* deque.pml - a work-stealing deque of fixed capacity, two thieves at it.
 *
 * SPDX-License-Identifier: MIT-0
 *
 * The deque of Chase and Lev without growth: CAP cells used as a ring, items
 * at top, ..., bottom - 1. The owner pushes and pops at bottom, thieves steal
 * at top, which only grows. A push that finds the deque full is refused, and
 * the owner executes the item itself.
 *
 *     push    t = top                         acquire
 *             bottom - t >= CAP: refused
 *             cell[bottom % CAP] = item       relaxed
 *             bottom = bottom + 1             release
 *     pop     b = bottom - 1
 *             bottom = b                      seq_cst
 *             t = top                         seq_cst
 *             t > b: empty; bottom = b + 1    relaxed
 *             t = b: the last item, and ours if CAS(top, t, t + 1) succeeds;
 *                    bottom = b + 1 in either case
 *             t < b: cell[b % CAP] is ours
 *     steal   t = top; b = bottom             seq_cst, in this order
 *             t >= b: empty
 *             x = cell[t % CAP]               relaxed
 *             x is ours if CAS(top, t, t + 1) succeeds
 *
 * The owner makes every sequence of ITEMS pushes and of pops between and after
 * them; the thieves steal when they like. Verified: every item is executed
 * exactly once, and none is read before it was written.
 *
 * Memory is that of x86 (TSO) and a little weaker. The owner's stores wait in
 * a buffer and reach memory whenever they like: first in, first out, but a
 * relaxed store of a cell may overtake stores of bottom. A seq_cst store waits
 * until the buffer is empty. Loads are in order. Thieves store with CAS only,
 * which acts on memory at once. Stronger stores than those above are fine,
 * too: who wakes sleepers after a push needs a seq_cst store (join.pml).
 *
 * What each part is good for is shown by leaving it out. Each of these makes
 * the verification fail:
 *
 *     WEAK_POP     the store of bottom in a pop is not seq_cst, only release
 *     WEAK_PUSH    the store of bottom in a push is relaxed, and may become
 *                  visible before the cell
 *     WEAK_CAS     the owner takes the last item without a CAS
 *     WEAK_STEAL   a thief loads bottom before top
 *     WEAK_READ    a thief reads the cell after its CAS
 *     WEAK_FULL    a push does not look whether the deque is full
 */

#ifndef CAP
#define CAP 2
#endif
#ifndef ITEMS
#define ITEMS 5
#endif
#ifndef THIEVES
#define THIEVES 2
#endif

/* --- memory ------------------------------------------------------------------
 * Items are numbered from 1; a cell that was never written holds 0. Indices
 * are signed: a pop from a deque that never held an item sets bottom to -1 for
 * a moment.                                                                 */

short top = 0;
short bottom = 0;
byte cell[CAP] = 0;

/* Bookkeeping of the verification. */
bool executed[ITEMS + 1] = false;
bool finished = false;
byte thieves = THIEVES;

inline execute(which)
{
    assert(which > 0);                  /* written before it was read */
    assert(!executed[which]);           /* not twice */
    executed[which] = true
}

/* --- the owner's store buffer ------------------------------------------------
 * Stores are (CELL, index, item) and (BOTTOM, 0, value).                    */

mtype = { CELL, BOTTOM };

chan buffer = [4] of { mtype, byte, short };

inline reaches_memory(kind, i, value)
{
    if
    :: kind == BOTTOM -> bottom = value
    :: kind == CELL -> cell[i] = value
    fi;
    kind = 0;
    i = 0;
    value = 0
}

active proctype store_buffer()
{
    mtype kind = 0;
    byte i = 0;
    short value = 0;

end:
    do
    :: atomic {
        buffer?kind,i,value ->
        reaches_memory(kind, i, value)
    }
    :: atomic {
        buffer??CELL,i,value ->         /* the first of them, wherever it is */
        kind = CELL;
        reaches_memory(kind, i, value)
    }
#ifdef WEAK_PUSH
    :: atomic {
        buffer??BOTTOM,i,value ->
        kind = BOTTOM;
        reaches_memory(kind, i, value)
    }
#endif
    od
}

/* --- the owner ---------------------------------------------------------------
 * b is bottom and mine the cells as the owner knows them: it is their only
 * writer, and a load sees the thread's own stores first.                    */

inline push()
{
    t = top;
    if
#ifndef WEAK_FULL
    :: b - t >= CAP -> execute(item)    /* refused */
#endif
    :: else ->
        mine[b % CAP] = item;
        buffer!CELL,b % CAP,item;
        b++;
        buffer!BOTTOM,0,b
    fi;
    t = 0
}

inline pop()
{
    b--;
    buffer!BOTTOM,0,b;
#ifndef WEAK_POP
    empty(buffer);
#endif
    t = top;
    if
    :: t > b ->
        b++;
        buffer!BOTTOM,0,b;
        none = true
    :: t == b ->
#ifdef WEAK_CAS
        execute(mine[b % CAP]);
        top = t + 1;
#else
        atomic {
            empty(buffer) ->            /* a CAS is a seq_cst store, too */
            if
            :: top == t -> top = t + 1; execute(mine[b % CAP])
            :: else                     /* a thief was faster */
            fi
        }
#endif
        b++;
        buffer!BOTTOM,0,b
    :: t < b ->
        execute(mine[b % CAP])
    fi;
    t = 0
}

active proctype owner()
{
    short b = 0;
    short t = 0;
    byte item = 0;
    byte mine[CAP] = 0;
    bool none = false;                  /* the last pop found nothing */

    do
    :: item < ITEMS ->
        item++;
        none = false;
        push()
    :: !none || item < ITEMS ->
        none = false;
        pop()
    :: none && item == ITEMS -> break
    od;

    /* Empty to its owner: every item was executed or belongs to a thief. */
    finished = true;
    thieves == 0;
    for (item : 1 .. ITEMS) {
        assert(executed[item])          /* not lost */
    }
}

/* --- the thieves ---------------------------------------------------------- */

active [THIEVES] proctype thief()
{
    short t = 0;
    short b = 0;
    byte x = 0;

    do
    :: finished -> break
    :: else ->
#ifdef WEAK_STEAL
        b = bottom;
        t = top;
#else
        t = top;
        b = bottom;
#endif
        if
        :: t >= b                       /* empty */
        :: else ->
#ifdef WEAK_READ
            if
            :: atomic { top == t -> top = t + 1 };
                x = cell[t % CAP];
                execute(x)
            :: top != t
            fi
#else
            x = cell[t % CAP];
            atomic {
                if
                :: top == t -> top = t + 1; execute(x)
                :: else                 /* somebody was faster */
                fi
            }
#endif
        fi;
        atomic { t = 0; b = 0; x = 0 }
    od;
    thieves--
}
