#pragma once

/* === mpi/agreement ==========================================================
 * How a rank that fails stops the others, and how all of them come together
 * again.
 *
 * A rank that fails sends a note to each other one. Who waits for a message
 * looks for notes, too, and gives up; it goes on to the next agreement, as the
 * program does after an error. An agreement ends an epoch: all ranks learn the
 * worst status. If it is not ADREV_OK, they tell each other how many messages
 * with numbers they have sent in all, and throw away those that nobody has
 * taken, and do the same with words. So nothing is left of what failed. No rank
 * waits for its own words to be read before it has read those of others: MPI
 * need not keep any.
 *
 * Who looks for notes also tells of the progress of a sum, if that is wanted.
 *
 * Where an MPI function fails, there are no agreements any more: see
 * adx_mpi_break (mpi/context). Whoever waits looks for that, too.
 *
 * A note can come early: from a rank that fails right after an agreement, to
 * one that still waits in it. So as many notes are read in an agreement as the
 * rank says that it has sent; those of the next epoch are there when it has
 * begun.
 *
 *   needs   tape/memory mpi/api mpi/context
 *   offers  adx_mpi_say adx_mpi_hear adx_mpi_stop adx_mpi_begin_watch
 *           adx_mpi_look adx_mpi_reap adx_mpi_agree
 * ========================================================================== */

/* --- notes --------------------------------------------------------------- */

static void adx_mpi_send_word(ad_mpi *c, int to, int tag,
                              const adx_mpi_word *word, MPI_Request *request)
{
    adx_mpi_ok(c, MPI_Isend(word, ADX_MPI_WORDS, MPI_UINT64_T, to, tag,
                            c->control, request));
}

// Says a word with a tag below ADX_MPI_SLOTS. The one before with this tag must
// have been read: c->saying[tag].
static void adx_mpi_say(ad_mpi *c, int to, int tag, adx_mpi_word word)
{
    c->word[tag] = word;
    if (tag < ADX_MPI_SAID)
        c->said[tag]++;
    adx_mpi_send_word(c, to, tag, &c->word[tag], &c->saying[tag]);
}

// Reads a word that has arrived.
static adx_mpi_word adx_mpi_hear(ad_mpi *c, int from, int tag)
{
    adx_mpi_word word = {0};
    if (tag < ADX_MPI_SAID)
        c->heard[tag * c->size + from]++;
    adx_mpi_ok(c, MPI_Recv(&word, ADX_MPI_WORDS, MPI_UINT64_T, from, tag,
                           c->control, MPI_STATUS_IGNORE));
    return word;
}

// Fails: this rank now, the others as soon as they look. ADREV_EREMOTE is no
// failure of its own.
ADX_COLD static void adx_mpi_stop(ad_mpi *c, ad_status status, const char *why)
{
    if (c->own == ADREV_OK && status != ADREV_EREMOTE)
        c->own = status;
    if (c->stopped)
        return;                 // they know
    c->why = why == NULL ? ad_message(status) : why;
    c->stopped = true;
    c->said[ADX_MPI_NOTE]++;
    c->word[ADX_MPI_NOTE] = (adx_mpi_word){ .epoch = c->epoch,
                                            .status = (uint64_t)status };
    for (int r = 0; r < c->size && !c->broken; r++)
        if (r != c->rank)
            adx_mpi_send_word(c, r, ADX_MPI_NOTE, &c->word[ADX_MPI_NOTE],
                              &c->told[r]);
}

/* --- progress of a sum --------------------------------------------------- */

ADX_API void ad_mpi_watch(ad_mpi *c, double seconds, ad_mpi_watch_fn *watch,
                          void *user)
{
    if (c == NULL)
        return;
    c->watch = watch;
    c->watch_user = user;
    c->watch_seconds = seconds;
}

static void adx_mpi_begin_watch(ad_mpi *c, uint64_t parts)
{
    memset(c->done, 0, (size_t)c->size * sizeof *c->done);
    c->watch_parts = c->watch == NULL ? 0 : parts;
    c->watch_told = MPI_Wtime();
}

// The other ranks tell rank 0 how many parts they have done, if it has read
// what they told it before.
static void adx_mpi_tell_first(ad_mpi *c)
{
    if (!adx_mpi_finished(c, 1, &c->saying[ADX_MPI_DONE], false))
        return;
    adx_mpi_say(c, 0, ADX_MPI_DONE, (adx_mpi_word){
        .epoch = c->epoch, .status = c->done[c->rank] });
}

// Rank 0 tells the user what all have done.
static void adx_mpi_tell_user(ad_mpi *c)
{
    MPI_Status status;
    while (!c->broken && adx_mpi_arrived(c, c->control, MPI_ANY_SOURCE,
                                         ADX_MPI_DONE, &status)) {
        adx_mpi_word word = adx_mpi_hear(c, status.MPI_SOURCE, ADX_MPI_DONE);
        if (word.epoch == c->epoch)
            c->done[status.MPI_SOURCE] = word.status;
    }
    uint64_t sum = 0;
    for (int r = 0; r < c->size; r++)
        sum += c->done[r];
    if (!c->watch((size_t)sum, (size_t)c->watch_parts, c->watch_user))
        adx_mpi_stop(c, ADREV_EEXTERNAL,
                     "ad_mpi_watch: the function said stop");
}

// Tells of progress when it is time.
static void adx_mpi_tell(ad_mpi *c)
{
    double now = MPI_Wtime();
    if (now - c->watch_told < c->watch_seconds)
        return;
    c->watch_told = now;
    if (c->rank == 0)
        adx_mpi_tell_user(c);
    else
        adx_mpi_tell_first(c);
}

// Fails if something was refused where other ranks could not be told.
static void adx_mpi_tell_refused(ad_mpi *c)
{
    if (!c->refused)
        return;
    c->refused = false;
    adx_mpi_stop(c, ADREV_EBUSY, ADX_MPI_APART);
}

// Reads notes. Returns whether to go on.
static bool adx_mpi_look(ad_mpi *c)
{
    MPI_Status status;
    adx_mpi_tell_refused(c);
    if (c->watch_parts > 0 && !c->stopped)
        adx_mpi_tell(c);
    while (!c->broken && adx_mpi_arrived(c, c->control, MPI_ANY_SOURCE,
                                         ADX_MPI_NOTE, &status)) {
        adx_mpi_word note = adx_mpi_hear(c, status.MPI_SOURCE, ADX_MPI_NOTE);
        if (note.epoch == c->epoch && !c->stopped) {
            c->stopped = true;
            c->why = ad_message(ADREV_EREMOTE);
        }
    }
    return !c->stopped && !c->broken;
}

/* --- messages that are under way ----------------------------------------- */

// Frees messages that have been taken. all: waits for them.
static void adx_mpi_reap(ad_mpi *c, bool all)
{
    adx_mpi_parcel **at = &c->going;
    while (*at != NULL && !c->broken) {
        adx_mpi_parcel *p = *at;
        if (!adx_mpi_finished(c, p->pieces, p->request, all)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        c->going_numbers -= p->n;
        adx_drop(&c->memory, p);
    }
}

// Throws away what has been sent to this rank and not been taken.
static void adx_mpi_drain(ad_mpi *c)
{
    MPI_Status status;
    unsigned looks = 0;
    for (int r = 0; r < c->size && !c->broken; r++)
        while (c->taken[r] < c->met[r].sent && !c->broken) {
            if (!adx_mpi_arrived(c, c->data, r, MPI_ANY_TAG, &status)) {
                adx_mpi_rest(c, looks++);
                continue;
            }
            adx_mpi_ok(c, MPI_Recv(c->spare, ADREV_MPI_PIECE, adx_mpi_real(),
                                   r, status.MPI_TAG, c->data,
                                   MPI_STATUS_IGNORE));
            c->taken[r]++;
        }
    adx_mpi_reap(c, true);
}

/* --- agreements ---------------------------------------------------------- */

static adx_mpi_word adx_mpi_await_word(ad_mpi *c, int from, int tag)
{
    MPI_Status status;
    unsigned looks = 0;
    while (!c->broken && !adx_mpi_arrived(c, c->control, from, tag, &status))
        adx_mpi_rest(c, looks++);
    return c->broken ? (adx_mpi_word){0} : adx_mpi_hear(c, from, tag);
}

// The worse of two. ADREV_EREMOTE only says that there is a worse one.
static uint64_t adx_mpi_worse(uint64_t a, uint64_t b)
{
    return a == ADREV_OK || (a == ADREV_EREMOTE && b != ADREV_OK) ? b : a;
}

// Says a word of the tree. Whoever it is for waits for it, now or soon.
static void adx_mpi_pass(ad_mpi *c, int to, adx_mpi_word word)
{
    adx_mpi_say(c, to, ADX_MPI_TREE, word);
    adx_mpi_finished(c, 1, &c->saying[ADX_MPI_TREE], true);
}

// The worst status of all ranks, by a binomial tree; and whether one asks for
// something else than another.
static ad_status adx_mpi_tree(ad_mpi *c, ad_status mine, uint64_t print,
                              bool *differ)
{
    adx_mpi_word word = { .epoch = c->epoch, .status = (uint64_t)mine,
                          .print = print };
    int stride = 1;
    for (; (c->rank & stride) == 0 && stride < c->size; stride *= 2)
        if (c->rank + stride < c->size) {
            adx_mpi_word other = adx_mpi_await_word(c, c->rank + stride,
                                                    ADX_MPI_TREE);
            word.status = adx_mpi_worse(word.status, other.status);
            word.sent |= other.sent | (other.print != print);
        }
    if (c->rank != 0 && !c->broken) {
        adx_mpi_pass(c, c->rank - stride, word);
        word = adx_mpi_await_word(c, c->rank - stride, ADX_MPI_TREE);
    }
    for (stride /= 2; stride > 0 && !c->broken; stride /= 2)
        if (c->rank + stride < c->size)
            adx_mpi_pass(c, c->rank + stride, word);
    *differ = word.sent != 0 && word.status == ADREV_OK;
    return c->broken ? ADREV_EREMOTE
         : *differ ? ADREV_ESHAPE : (ad_status)word.status;
}

// Tells every rank how many messages it was sent, and how many words, and waits
// for all of them.
// Returns the worst status that one of them has.
static ad_status adx_mpi_meet(ad_mpi *c, ad_status mine)
{
    uint64_t worst = (uint64_t)mine;
    for (int r = 0; r < c->size && !c->broken; r++) {
        adx_mpi_word *word = &c->meeting[r];
        *word = (adx_mpi_word){ .epoch = c->epoch + 1,
                                .status = (uint64_t)mine, .sent = c->sent[r] };
        memcpy(word->said, c->said, sizeof word->said);
        if (r == c->rank)
            c->met[r] = *word;
        else
            adx_mpi_send_word(c, r, ADX_MPI_MEET, word, &c->told[c->size + r]);
    }
    for (int r = 0; r < c->size && !c->broken; r++) {
        if (c->met[r].epoch == 0)
            c->met[r] = adx_mpi_await_word(c, r, ADX_MPI_MEET);
        worst = adx_mpi_worse(worst, c->met[r].status);
    }
    adx_mpi_finished(c, (size_t)c->size, c->told + c->size, true);
    return c->broken ? ADREV_EREMOTE : (ad_status)worst;
}

// Whether rank r says words with this tag to this one.
static bool adx_mpi_is_told(const ad_mpi *c, int r, int tag)
{
    return r != c->rank
        && (tag == ADX_MPI_NOTE || (tag == ADX_MPI_DONE && c->rank == 0)
            || (tag == ADX_MPI_CALL && (r + 1) % c->size == c->rank));
}

// Reads what others have said up to this agreement, and waits until they have
// read what this rank has said.
static void adx_mpi_hear_rest(ad_mpi *c)
{
    for (int r = 0; r < c->size; r++)
        for (int tag = 0; tag < ADX_MPI_SAID; tag++)
            while (!c->broken && adx_mpi_is_told(c, r, tag)
                   && c->heard[tag * c->size + r] < c->met[r].said[tag])
                adx_mpi_await_word(c, r, tag);
    adx_mpi_finished(c, (size_t)c->size, c->told, true);
    adx_mpi_finished(c, ADX_MPI_SAID, c->saying, true);
}

// With ADREV_DEBUG: whether all messages that were sent here have been taken.
// Says nothing where a rank has failed already.
static ad_status adx_mpi_settled(ad_mpi *c, ad_status mine, bool strict)
{
    ad_status worst = adx_mpi_meet(c, mine);
    for (int r = 0; worst == ADREV_OK && strict && r < c->size; r++)
        if (c->met[r].sent != c->taken[r]) {
            c->own = ADREV_ESHAPE;
            c->why = "a rank sent a message here that was not asked for";
            return ADREV_ESHAPE;
        }
    return mine;
}

// Ends an epoch. Returns ADREV_OK if all ranks say so, then or since the last
// agreement; the status of this rank; or ADREV_EREMOTE.
//
//   print        in    of what is asked for: other numbers for other things
//   strict       in    messages that were sent must have been taken
static ad_status adx_mpi_agree(ad_mpi *c, ad_status mine, uint64_t print,
                               bool strict)
{
    adx_mpi_tell_refused(c);
    if (mine != ADREV_OK)
        adx_mpi_stop(c, mine, NULL);
    mine = adx_mpi_status_of(c);
    if (c->broken)
        return mine;
    if (ADREV_DEBUG)
        mine = adx_mpi_settled(c, mine, strict);
    bool differ = false;
    ad_status worst = adx_mpi_tree(c, mine, print, &differ);
    if (worst != ADREV_OK && !c->broken) {
        c->failures++;
        if (!ADREV_DEBUG)
            adx_mpi_meet(c, mine);
        adx_mpi_drain(c);
        adx_mpi_hear_rest(c);
    }
    if (mine == ADREV_OK && worst != ADREV_OK && !c->broken) {
        mine = differ ? ADREV_ESHAPE : ADREV_EREMOTE;
        c->why = differ ? "ranks ask for different things, or sizes differ"
                        : ad_message(ADREV_EREMOTE);
    }
    if (mine == ADREV_OK && worst == ADREV_OK)
        c->why = ad_message(ADREV_OK);
    memset(c->met, 0, (size_t)c->size * sizeof *c->met);
    c->own = ADREV_OK;
    c->epoch++;
    c->stopped = c->broken;
    return c->broken && mine == ADREV_OK ? ADREV_EREMOTE : mine;
}
