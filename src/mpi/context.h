#pragma once

/* === mpi/context ============================================================
 * What a rank knows of the others, and how it waits for them. There are two
 * communicators: one for the numbers of statements and sums, one for what ranks
 * tell each other about themselves.
 *
 * Messages are found by MPI_Iprobe and then received, and MPI's collective
 * operations are not used, for three reasons. A rank that waits can be told
 * that another has failed, and stop waiting. The length of a message is known
 * before it is written anywhere. And a rank that waits lets others run that
 * share its processor.
 *
 *   needs   parallel/pool mpi/api
 *   offers  adx_mpi_word ADX_MPI_WORDS ADX_MPI_BY_ID ADX_MPI_ID_TAGS
 *           ADX_MPI_LAST_ID ADX_MPI_NOTE ADX_MPI_DONE ADX_MPI_CALL
 *           ADX_MPI_SAID ADX_MPI_TREE ADX_MPI_SLOTS ADX_MPI_MEET
 *           adx_mpi_parcel adx_mpi_exchange adx_mpi_flag adx_mpi_count
 *           adx_mpi_real adx_mpi_ok adx_mpi_arrived adx_mpi_rest
 *           adx_mpi_finished adx_mpi_status_of ADX_MPI_APART adx_mpi_in_part
 *           adx_mpi_is_apart adx_mpi_ready
 * ========================================================================== */

// What ranks tell each other about themselves, as seven words.
typedef struct adx_mpi_word {
    uint64_t epoch;             // of the one who says it
    uint64_t status;
    uint64_t print;             // what is asked for, and its sizes
    uint64_t sent;              // messages with numbers, to the one who is told
    uint64_t said[3];           // words with the tags below ADX_MPI_SAID
} adx_mpi_word;

#define ADX_MPI_WORDS 7

_Static_assert(sizeof(adx_mpi_word) == ADX_MPI_WORDS * sizeof(uint64_t),
               "adx_mpi_word must be seven words without gaps");
_Static_assert(ADREV_MPI_PIECE <= 100000000,
               "ADREV_MPI_PIECE is out of range");

// Adjoints and tangents have the tags from here on: ADX_MPI_ID_TAGS of them, if
// MPI has so many.
#define ADX_MPI_BY_ID 1024
#ifndef ADX_MPI_ID_TAGS
#define ADX_MPI_ID_TAGS INT32_MAX
#endif

// The largest id of a message. A float has all integers up to this one.
#define ADX_MPI_LAST_ID (sizeof(ad_real) > 4 ? UINT32_MAX : 0xffffffu)

// Tags of the second communicator.
enum {
    ADX_MPI_NOTE,               // the rank has failed: to all others
    ADX_MPI_DONE,               // parts that it has done: to rank 0
    ADX_MPI_CALL,               // the collective statement that it makes: to
                                // the next rank
    ADX_MPI_SAID,               // up to here words that need not be read soon
    ADX_MPI_TREE = ADX_MPI_SAID,    // up and down the tree of an agreement
    ADX_MPI_SLOTS,              // up to here one of each can be under way
    ADX_MPI_MEET = ADX_MPI_SLOTS,   // how many messages the rank has sent
    ADX_MPI_BROKEN              // MPI has failed there, or it was told so
};

// A message that is being sent. Its memory is that of the requests of its
// pieces, and its numbers, if they are not the caller's.
typedef struct adx_mpi_parcel adx_mpi_parcel;
struct adx_mpi_parcel {
    adx_mpi_parcel *next;
    size_t n;                   // numbers
    size_t pieces;
    MPI_Request request[];      // [pieces]
};

typedef struct adx_mpi_exchange adx_mpi_exchange;   // mpi/statements

// Something that has been started: the links whose messages will be received.
// Its memory is also that of their numbers.
struct ad_mpi_request {
    ad_mpi_request *next;
    ad_mpi *c;
    adx_mpi_exchange *exchange; // NULL: it was a send
    bool *got;                  // [links]
    ad_real *v;                 // numbers that have come
    size_t m;                   // how many will
    size_t *to;                 // halo: [m] where they go; else NULL
    ad_rev *y;                  // irecv: where they go
    uint64_t failures;          // of the communicator, when it was started
};

#ifdef ADREV_PARALLEL_IMPLEMENTED
typedef atomic_bool adx_mpi_flag;
typedef atomic_size_t adx_mpi_count;
#else
typedef bool adx_mpi_flag;
typedef size_t adx_mpi_count;
#endif

struct ad_mpi {
    ad_allocator memory;
    MPI_Comm data;
    MPI_Comm control;
    int rank, size;

    // Epochs are the times between agreements. What is told says in which it
    // was said: what is old does not count any more.
    uint64_t epoch;
    ad_status own;              // what failed on this rank in this epoch
    bool stopped;               // a rank has failed in this epoch
    bool broken;                // an MPI function failed, here or elsewhere:
                                // nothing works any more
    const char *why;            // what ended the last call

    adx_mpi_word *met;          // [size] what others said when they met; epoch
                                // 0: nothing yet
    uint64_t *sent;             // [size] messages with numbers, to each rank
    uint64_t *taken;            // [size] from each rank
    uint64_t messages;          // of statements, sweeps and sums
    adx_mpi_word *meeting;      // [size] what this rank said to them then
    MPI_Request *told;          // [2*size] notes of this epoch; then `meeting`
    MPI_Request saying[ADX_MPI_SLOTS];  // words that may not have been read yet
    adx_mpi_word word[ADX_MPI_SLOTS];   // they, by tag; and the note
    uint64_t said[ADX_MPI_SAID];    // how many, by tag
    uint64_t *heard;            // [ADX_MPI_SAID*size] how many were read here
    adx_mpi_parcel *going;      // messages that may not have been taken yet
    size_t going_numbers;
    ad_real *spare;             // [ADREV_MPI_PIECE] fronts, and what is thrown
                                // away
    uint32_t *next_id;          // [size] of the next message to each rank
    uint32_t id_tags;           // tags by which ids are found
    ad_mpi_request *posted;     // what has been started, oldest first
    uint64_t failures;          // agreements that ended what had been started
    ad_real *room;              // [room_size] rows of adjoints that come
    size_t room_size;
    bool summing;               // parts of a sum are being computed
    unsigned sum_stamp;         // of its messages: 24 bits, as a float has
    adx_mpi_flag refused;       // a branch or a part of another sum was; the
                                // others are not told yet
    uint64_t *keys;             // [2*size] of the sides of a halo; 0 between
                                // calls

    // Sums of parts.
    size_t parts;               // for which the cuts are; 0: none
    uint64_t *cut;              // [size + 1] rank r has cut[r] ... cut[r+1] - 1
    uint64_t *cut_next;         // [size + 1] those of the next call
    bool balance;
    uint64_t *done;             // [size] parts that ranks have done
    ad_mpi_watch_fn *watch;
    void *watch_user;
    double watch_seconds;
    double watch_told;          // when it was told last
    uint64_t watch_parts;       // of the sum that is going on; 0: of none
};

// The type of a number.
static MPI_Datatype adx_mpi_real(void)
{
    return sizeof(ad_real) == sizeof(double) ? MPI_DOUBLE : MPI_FLOAT;
}

// Gives up the communicator. MPI says nothing of what works after a failure, so
// nothing is tried any more but to tell the others, once. Each of them tells
// all others, too: so one such message is enough for each rank.
ADX_COLD static void adx_mpi_break(ad_mpi *c, const char *why)
{
    static const adx_mpi_word word = {0};
    if (c->broken)
        return;
    c->broken = true;
    c->stopped = true;
    c->why = why;
    for (int r = 0; r < c->size; r++) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (r != c->rank
            && MPI_Isend(&word, ADX_MPI_WORDS, MPI_UINT64_T, r, ADX_MPI_BROKEN,
                         c->control, &request) == MPI_SUCCESS
            && request != MPI_REQUEST_NULL)
            MPI_Request_free(&request);     // nobody waits for it
    }
}

// Whether an MPI function worked. (By default MPI ends the program if not.)
static bool adx_mpi_ok(ad_mpi *c, int code)
{
    if (code != MPI_SUCCESS)
        adx_mpi_break(c, "an MPI function failed: the communicator cannot be "
                      "used any more");
    return code == MPI_SUCCESS;
}

// Whether a message is there.
static bool adx_mpi_arrived(ad_mpi *c, MPI_Comm comm, int from, int tag,
                            MPI_Status *status)
{
    int there = 0;
    return adx_mpi_ok(c, MPI_Iprobe(from, tag, comm, &there, status))
        && there != 0;
}

// Between two looks at messages. The first ones follow at once, since most
// messages are there soon; then others may have the processor. Where a message
// does not come for long, MPI may have failed on a rank.
static void adx_mpi_rest(ad_mpi *c, unsigned looks)
{
    MPI_Status status;
    if (looks % 64 == 63 && !c->broken
        && adx_mpi_arrived(c, c->control, MPI_ANY_SOURCE, ADX_MPI_BROKEN,
                           &status))
        adx_mpi_break(c, "MPI failed on another rank: the communicator cannot "
                      "be used any more");
    if (looks > 64)
        sched_yield();
}

// Whether n requests are finished; wait: until they are. MPI_Wait would go on
// waiting if MPI has failed on the other rank.
static bool adx_mpi_finished(ad_mpi *c, size_t n, MPI_Request request[],
                             bool wait)
{
    unsigned looks = 0;
    for (size_t i = 0; i < n && !c->broken;) {
        int done = 0;
        adx_mpi_ok(c, MPI_Test(&request[i], &done, MPI_STATUS_IGNORE));
        if (done == 0 && !wait)
            return false;
        if (done == 0)
            adx_mpi_rest(c, looks++);
        i += done != 0;
    }
    return !c->broken;
}

// What a call returns in the present state.
static ad_status adx_mpi_status_of(const ad_mpi *c)
{
    return c->own != ADREV_OK ? c->own
         : c->stopped || c->broken ? ADREV_EREMOTE : ADREV_OK;
}

#define ADX_MPI_APART "a branch of a fork, or a part of ad_mpi_grad, cannot " \
                      "exchange messages with other ranks"

// Whether this thread computes a part of a sum.
static ADX_THREAD bool adx_mpi_in_part;

// Whether this is a branch, which may run on any thread.
static bool adx_mpi_in_branch(void)
{
    const ad_tape *t = adx_now.tape;
#ifdef ADREV_PARALLEL_IMPLEMENTED
    if (t == NULL)
        return adx_mine.inside > 0;
#endif
    return t != NULL && t->open > 0;
}

// Whether this is a part of a sum, of c or of another one, or a branch.
static bool adx_mpi_is_apart(const ad_mpi *c)
{
    return c->summing || adx_mpi_in_part || adx_mpi_in_branch();
}

// Whether all ranks can be asked for something. They cannot in a part of a sum,
// where other ranks compute other parts, nor in a branch: neither calls MPI, as
// this may be one of several threads. A part fails, and its sum tells the
// others; those that a branch has, or another ad_mpi, are told at the next
// call.
static ad_status adx_mpi_ready(ad_mpi *c)
{
    if (c == NULL)
        return ADREV_ENOTAPE;
    if (!adx_mpi_is_apart(c))
        return ADREV_OK;
    if (!c->summing)
        c->refused = true;
    return ad_fail(ADREV_EBUSY, ADX_MPI_APART);
}
