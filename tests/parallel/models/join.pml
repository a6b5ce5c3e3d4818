/* join.pml - how threads of a pool fork, join, sleep and wake each other.
 *
 * SPDX-License-Identifier: MIT-0
 *
 * Every thread has a deque, as in deque.pml, which is taken for granted here:
 * a steal is one step. Verified is that nobody sleeps for ever while there is
 * something to steal or what it waits for is done, that branches run once, and
 * that a join returns when its branch is done, and not before.
 *
 *     push    put the branch in the deque     bottom: seq_cst
 *             wake
 *     join    pop: it is the branch, to be run, or nothing
 *             until branch.done:              acquire
 *                 steal something and run it, else sleep
 *     finish  of a stolen branch
 *             branch.done = 1                 seq_cst
 *             wake                            touches the pool, no branch
 *     idle    until sleep says stop: steal something and run it, else sleep
 *     wake    if sleepers > 0:                seq_cst
 *                 lock; sleepers = 0; broadcast; unlock
 *     sleep   lock; sleepers++                seq_cst
 *             until stop, or what it waits for is done, or a deque has
 *             something:                      seq_cst loads
 *                 wait; sleepers++            who woke it has counted it out
 *             sleepers--; unlock              relaxed
 *     stop    lock; stop = 1; broadcast; unlock
 *
 * The program: the root forks A and B, and A forks C. THREADS threads run it;
 * thread 0 starts with the root and stops the others in the end. Between its
 * forks and its joins a branch may be busy until all deques are empty: who
 * sleeps then although there is something to steal does so for ever, which is
 * a deadlock. At any time one thread at least is not busy.
 *
 * Memory is that of x86 (TSO): stores of bottom, done, sleepers, stop and of
 * the mutex wait in a buffer per thread, and reach memory in order and
 * whenever they like. A seq_cst store waits until the buffer is empty; so does
 * a lock. Loads are in order: what a load weaker than seq_cst may do elsewhere,
 * as to come before an earlier seq_cst store, is not tried.
 *
 * What each part is good for is shown by leaving it out. Each of these makes
 * the verification fail with a deadlock:
 *
 *     WEAK_SLEEPERS   sleepers++ is not seq_cst, only release
 *     WEAK_DONE       the store of done is not seq_cst, only release
 *     WEAK_BOTTOM     the store of bottom in a push is not seq_cst, only
 *                     release
 *     WEAK_RECHECK    sleep waits before it looks
 *     WEAK_LOCK       wake does not lock
 *     WEAK_SIGNAL     wake wakes one sleeper, not all
 *     WEAK_STOP       stop does not lock
 */

#ifndef THREADS
#define THREADS 3                   /* 2 or 3 */
#endif

/* Wake-ups without a reason, by all condition variables together. They are
 * few, as they hide those that were lost.                                   */
#ifndef SPURIOUS
#define SPURIOUS 0
#endif

/* --- the program -------------------------------------------------------------
 * A branch runs once and by one thread: what that thread knows of it is here,
 * and is no memory that threads share. (`local` says so to the verifier, which
 * need not try what happens between two accesses then.)                     */

#define ROOT 0
#define A 1
#define B 2
#define C 3
#define BRANCHES 4
#define NONE BRANCHES

#define FORKS(branch) (branch == ROOT -> 2 : (branch == A -> 1 : 0))
#define CHILD(branch, i) (branch == ROOT -> A + (i) : C)

local byte step[BRANCHES] = 0;      /* forks, work, and joins, last first */
local byte waits[BRANCHES] = NONE;  /* for this branch, which was stolen */
local byte below[BRANCHES] = NONE;  /* what its thread resumes afterwards */
local bool stolen[BRANCHES] = false;

/* Bookkeeping of the verification. */
local bool begun[BRANCHES] = false;
local bool over[BRANCHES] = false;
byte busy = 0;                      /* so many branches */

/* --- memory ------------------------------------------------------------------
 * A thread never loads what its own buffer may hold, but for its bottom, of
 * which it has a copy, and sleepers, where a value too high makes it broadcast
 * without need.                                                             */

#define BOTTOM(thread) (thread)
#define DONE(branch) (THREADS + (branch))
#define SLEEPERS (THREADS + BRANCHES)
#define MUTEX (THREADS + BRANCHES + 1)
#define STOP (THREADS + BRANCHES + 2)
#define ADDRESSES (THREADS + BRANCHES + 3)

byte memory[ADDRESSES] = 0;

chan buffer[THREADS] = [3] of { byte, byte };

#define store(address, value) buffer[me]!address,value
#define DRAINED empty(buffer[me])

active proctype store_buffers()
{
    byte address = 0;
    byte value = 0;

end:
    do
    :: atomic { buffer[0]?address,value -> memory[address] = value }
    :: atomic { buffer[1]?address,value -> memory[address] = value }
#if THREADS > 2
    :: atomic { buffer[2]?address,value -> memory[address] = value }
#endif
    od
}

/* --- deques ------------------------------------------------------------------
 * Only CAS writes top, and acts on memory at once. No deque ever holds more
 * than two branches. Cells are visible when bottom is.                      */

byte top[THREADS] = 0;
local byte cell[2 * THREADS] = NONE;

#define CELL(thread, i) cell[2 * (thread) + (i)]
#define HOLDS(thread) (top[thread] < memory[BOTTOM(thread)])
#if THREADS > 2
#define ALL_EMPTY (!HOLDS(0) && !HOLDS(1) && !HOLDS(2))
#else
#define ALL_EMPTY (!HOLDS(0) && !HOLDS(1))
#endif

inline begin(which)
{
    assert(!begun[which]);          /* not twice */
    begun[which] = true;
    below[which] = branch;
    branch = which
}

inline push(child)
{
    assert(b < 2);
    CELL(me, b) = child;
    b++;
    store(BOTTOM(me), b);
#ifndef WEAK_BOTTOM
    DRAINED;
#endif
    wake()
}

/* A thief takes the oldest branch. If it has this child it has all that is
 * older: a pop finds the child of the join that pops, or nothing.           */
inline pop(child)
{
    b--;
    store(BOTTOM(me), b);
    DRAINED;
    atomic {
        if
        :: top[me] > b ->
            b++;
            store(BOTTOM(me), b);
            waits[branch] = child
        :: else ->
            x = CELL(me, b);
            CELL(me, b) = NONE;
            assert(x == child);
            if
            :: top[me] == b ->
                top[me]++;
                b++;
                store(BOTTOM(me), b)
            :: else
            fi;
            begin(x);
            x = NONE
        fi
    }
}

inline steal(victim)
{
    atomic {
        victim != me && HOLDS(victim) ->
        x = CELL(victim, top[victim]);
        CELL(victim, top[victim]) = NONE;
        top[victim]++;
        stolen[x] = true;
        begin(x);
        x = NONE
    }
}

/* --- sleep and wake ----------------------------------------------------------
 * A wait gives the mutex back and falls asleep in one step: so it looks to all
 * who broadcast while they hold the mutex. What only a holder of the mutex can
 * see is one step, too.                                                     */

bool asleep[THREADS] = false;
byte spurious = SPURIOUS;

inline lock()
{
    DRAINED && memory[MUTEX] == 0 -> memory[MUTEX] = 1
}

inline unlock()
{
    store(MUTEX, 0)
}

inline broadcast()
{
    atomic {
        asleep[0] = false;
        asleep[1] = false;
#if THREADS > 2
        asleep[2] = false
#endif
    }
}

inline signal()
{
    if
    :: asleep[0] -> asleep[0] = false
    :: asleep[1] -> asleep[1] = false
#if THREADS > 2
    :: asleep[2] -> asleep[2] = false
#endif
    :: else
    fi
}

inline wake()
{
    if
    :: memory[SLEEPERS] > 0 ->
#if defined WEAK_LOCK
        broadcast()
#elif defined WEAK_SIGNAL
        atomic { lock(); store(SLEEPERS, 0); signal(); unlock() }
#else
        atomic { lock(); store(SLEEPERS, 0); broadcast(); unlock() }
#endif
    :: else
    fi
}

/* Whether there is something to do, or nothing any more. */
inline look()
{
    if
    :: memory[STOP] -> ended = true; something = true
    :: branch != NONE && memory[DONE(waits[branch])] -> something = true
    :: else
    fi;
    do
    :: i < THREADS && !something -> something = HOLDS(i); i++
    :: else -> break
    od;
    i = 0
}

inline lock_and_count()
{
    atomic {
        lock();
        s = memory[SLEEPERS] + 1;
        store(SLEEPERS, s)
    };
#ifndef WEAK_SLEEPERS
    DRAINED
#endif
}

inline wait()
{
    atomic { unlock(); asleep[me] = true };
    if
    :: !asleep[me]
#if SPURIOUS > 0
    :: atomic { spurious > 0 -> spurious--; asleep[me] = false }
#endif
    fi;
    lock_and_count()
}

inline sleep()
{
    lock_and_count();
#ifdef WEAK_RECHECK
    wait();
#endif
    do
    :: look();
        if
        :: something -> break
        :: else -> wait()
        fi
    od;
    something = false;
    atomic {
        store(SLEEPERS, s - 1);
        s = 0;
        unlock()
    }
}

/* --- threads -------------------------------------------------------------- */

/* A thief may find nothing although there is something: somebody was faster,
 * and it goes to sleep.                                                     */
inline steal_or_sleep()
{
    if
    :: steal(0)
    :: steal(1)
#if THREADS > 2
    :: steal(2)
#endif
    :: sleep()
    fi
}

inline work()
{
    if
    :: true
    :: atomic { busy < THREADS - 1 -> busy++ };
        atomic { ALL_EMPTY -> busy-- }
    fi
}

inline finish()
{
    assert(FORKS(branch) < 1 || over[CHILD(branch, 0)]);
    assert(FORKS(branch) < 2 || over[CHILD(branch, 1)]);
    over[branch] = true;
    if
    :: stolen[branch] ->
        store(DONE(branch), 1);
#ifndef WEAK_DONE
        DRAINED;
#endif
        wake()
    :: else
    fi;
    atomic {
        x = branch;
        branch = below[x];
        below[x] = NONE;
        stolen[x] = false;
        x = NONE
    }
}

inline stop()
{
#ifdef WEAK_STOP
    store(STOP, 1);
    DRAINED;
    broadcast()
#else
    atomic { lock(); store(STOP, 1); broadcast(); unlock() }
#endif
}

active [THREADS] proctype thread()
{
    byte me = _pid - 1;
    byte branch = NONE;             /* that runs, or waits in a join */
    byte b = 0;                     /* bottom of its own deque */
    byte x = NONE;
    byte i = 0;
    byte s = 0;
    bool something = false;         /* to do */
    bool ended = false;

    if
    :: me == 0 -> begin(ROOT)
    :: else
    fi;
    do
    :: branch == NONE || waits[branch] != NONE ->
        if
        :: branch == NONE && (me == 0 || ended) -> break
        :: branch != NONE && memory[DONE(waits[branch])] ->
            assert(over[waits[branch]]);
            waits[branch] = NONE
        :: else -> steal_or_sleep()
        fi
    :: else ->
        step[branch]++;
        if
        :: step[branch] <= FORKS(branch) ->
            push(CHILD(branch, step[branch] - 1))
        :: step[branch] == FORKS(branch) + 1 ->
            work()
        :: step[branch] > FORKS(branch) + 1 &&
           step[branch] <= 2 * FORKS(branch) + 1 ->
            pop(CHILD(branch, 2 * FORKS(branch) + 1 - step[branch]))
        :: else ->
            finish()
        fi
    od;
    if
    :: me == 0 -> stop()
    :: else
    fi
}
