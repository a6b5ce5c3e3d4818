#pragma once

/* === loop/stage =============================================================
 * A stage is a tape apart, on which a part of a program runs: with constants,
 * for its values, or recorded, for a sweep. When the part uses a number from
 * outside, the foreign hook of that tape is called, and the number becomes a
 * further input. If something that runs on a stage needs a stage itself, it
 * uses the inner stage.
 *
 *   needs   number/recording tape/layout tape/memory tape/hooks sweep/sweep
 *           sweep/queries array/external parallel/threads bulk/captured
 *   offers  adx_stage adx_long_loop adx_free_stage adx_new_stage adx_staged
 *           adx_destroy_staged adx_share_stage adx_borrow_stage
 *           adx_return_stage adx_begin_sweep adx_end_sweep adx_enter_stage
 *           adx_begin_run adx_pull_fn adx_stage_pull adx_stage_pull_rows
 *           adx_stage_push
 * ========================================================================== */

// A flag that one thread at a time can take.
#if !defined ADREV_NO_THREADS && !defined __STDC_NO_ATOMICS__
typedef atomic_flag adx_flag;

// Takes the flag. False: another thread has it. The acquire pairs with the
// release in adx_clear_flag, so that what the last holder did comes before.
static bool adx_take_flag(adx_flag *f)
{
    return !atomic_flag_test_and_set_explicit(f, memory_order_acquire);
}

static void adx_clear_flag(adx_flag *f)
{
    atomic_flag_clear_explicit(f, memory_order_release);
}
#else
typedef bool adx_flag;

static bool adx_take_flag(adx_flag *f)
{
    bool free = !*f;
    *f = true;
    return free;
}

static void adx_clear_flag(adx_flag *f) { *f = false; }
#endif

typedef struct adx_stage {
    ad_allocator memory;
    ad_tape *tape;
    struct adx_stage *inner;
    size_t holders;         // statements and outer stages
    adx_captured *captured; // of the run in progress (bulk/passes)
    uint32_t *local;        // [captured number] the input that stands for it;
                            // 0: none
    size_t locals;          // room of that array
    bool recorded;          // the run in progress is recorded
    bool complete;          // it must capture nothing new
    bool temporary;         // the stage serves one run only
    adx_flag busy;
    bool full;              // checkpoints: no room for more recordings
    size_t kept;            // bytes of the recordings that are kept
} adx_stage;

/* --- captured numbers ---------------------------------------------------- */

// Returns the index of a captured number, which is entered if it is new.
// SIZE_MAX: it is new but must not be, or there is no memory, or the caller
// does not run on this tape.
static size_t adx_capture(adx_stage *s, uint64_t id)
{
    adx_captured *k = s->captured;
    size_t before = s->locals;
    if (!adx_runs_on(s->tape))
        return SIZE_MAX;
    uint32_t known = adx_find_captured(k, id);
    if (known != 0)
        return known - 1;
    if (s->complete || !adx_add_captured(&s->memory, k, id)
        || !adx_extend(&s->memory, (void **)&s->local, &s->locals, k->n,
                       sizeof *s->local))
        return SIZE_MAX;
    for (size_t i = before; i < s->locals; i++)
        s->local[i] = 0;
    return k->n - 1;
}

// The foreign hook. A number from outside becomes a constant if only values are
// computed, else the input that stands for it.
static ad_rev adx_from_outside(void *user, ad_rev x)
{
    adx_stage *s = (adx_stage *)user;
    ad_tape *t = s->tape;
    size_t i = adx_capture(s, adx_compound(x.job, x.seq));
    if (i == SIZE_MAX && !s->complete && adx_runs_on(t))
        adx_fail(t, ADREV_ENOMEM);
    if (i == SIZE_MAX)
        return x;
    if (!s->recorded)
        return adx_passive(0);
    if (s->local[i] == 0)
        s->local[i] = (ad_input)(0).seq;
    return adx_known(x, s->local[i]);
}

// Set when a long loop or a checkpoint is unrolled under a hook.
static ADX_THREAD bool adx_long_loop;

/* --- stages -------------------------------------------------------------- */

static void adx_free_stage(adx_stage *s)
{
    if (s == NULL || --s->holders > 0)
        return;
    ad_tape_free(s->tape);
    adx_free_stage(s->inner);
    ad_allocator memory = s->memory;
    adx_drop(&memory, s->local);
    adx_drop(&memory, s);
}

// Makes a stage with a tape of its own. NULL: no memory.
static adx_stage *adx_new_stage(const ad_allocator *a)
{
    adx_stage *s = (adx_stage *)adx_take(a, 1, sizeof *s);
    if (s == NULL)
        return NULL;
    memset(s, 0, sizeof *s);
    s->memory = *a;
    s->holders = 1;
    s->tape = adx_new_tape_apart(a, adx_from_outside, s);
    if (s->tape == NULL) {
        adx_drop(a, s);
        return NULL;
    }
    return s;
}

// What a statement with a stage saves begins with this.
typedef struct adx_staged {
    adx_stage *stage;
    ad_allocator memory;
    adx_flag busy;              // rows of a Jacobian may be swept side by side:
                                // here one after the other
    void (*free)(struct adx_staged *of);
} adx_staged;

// Frees what the statement saved: the tape has only a pointer to it. A rule
// that has this function is that of a statement with a stage.
static void adx_destroy_staged(const void *saved)
{
    adx_staged *of = *(adx_staged *const *)saved;
    of->free(of);
}

#define ADX_STAGE_NEAR 64       // statements that are looked through

// Finds the stage of the latest statement on t that has one. NULL: none of the
// last few has.
static adx_stage *adx_stage_below(const ad_tape *t)
{
    const adx_extended *e = t->last;
    for (int i = 0; e != NULL && i < ADX_STAGE_NEAR; i++, e = e->before) {
        const adx_external *x = (const adx_external *)e;
        if (e->rule == &adx_external_kind
            && x->rule->destroy == adx_destroy_staged)
            return (*(adx_staged *const *)x->saved)->stage;
    }
    return NULL;
}

// Gives a new statement its stage. On a stage, that is the inner one; otherwise
// the stage of an earlier statement, or a new one. In recordings with forks a
// statement has no stage, but makes one for each run. False: no memory.
static bool adx_share_stage(adx_staged *of)
{
    const ad_tape *t = adx_now.tape;
    if (t->annex != NULL)
        return true;
    adx_stage *outer = t->hooks.foreign == adx_from_outside
                     ? (adx_stage *)t->hooks.user : NULL;
    of->stage = outer != NULL ? outer->inner : adx_stage_below(t);
    if (of->stage == NULL) {
        of->stage = adx_new_stage(&of->memory);
        if (of->stage == NULL || outer == NULL)
            return of->stage != NULL;
        outer->inner = of->stage;
    }
    of->stage->holders++;
    return true;
}

// Finds a stage for one run: that of the statement, or a temporary one if it is
// busy or there is none. NULL: no memory.
static adx_stage *adx_borrow_stage(adx_staged *of)
{
    if (of->stage != NULL && adx_take_flag(&of->stage->busy))
        return of->stage;
    adx_stage *s = adx_new_stage(&of->memory);
    if (s != NULL)
        s->temporary = true;
    return s;
}

static void adx_return_stage(adx_stage *s)
{
    if (s != NULL && s->temporary)
        adx_free_stage(s);
    else if (s != NULL)
        adx_clear_flag(&s->busy);
}

// Waits until no other thread sweeps this statement.
static void adx_begin_sweep(adx_staged *of)
{
    for (size_t turns = 0; !adx_take_flag(&of->busy); turns++) {
#ifdef ADX_THREAD_YIELD
        if (turns > 100)        // the other one may want this processor
            ADX_THREAD_YIELD();
#endif
    }
    adx_mine_rows.statements += adx_mine_rows.rows > 0;
}

static void adx_end_sweep(adx_staged *of)
{
    adx_mine_rows.statements -= adx_mine_rows.rows > 0;
    adx_clear_flag(&of->busy);
}

// Makes a stage's tape current, for runs. Returns the tape to go back to.
static ad_tape *adx_enter_stage(adx_stage *s, adx_captured *k, bool complete)
{
    s->captured = k;
    s->complete = complete;
    return ad_use(s->tape);
}

// Makes the tape empty before a run. In a run that is recorded, no input stands
// for a captured number yet.
static void adx_begin_run(adx_stage *s, bool recorded)
{
    size_t n = s->captured->n;
    s->recorded = recorded;
    if (adx_now.seq > 0 || s->tape->status != ADREV_OK)
        ad_tape_clear(s->tape);
    if (!recorded || n == 0)
        return;
    if (adx_extend(&s->memory, (void **)&s->local, &s->locals, n,
                   sizeof *s->local))
        memset(s->local, 0, s->locals * sizeof *s->local);
    else
        adx_fail(s->tape, ADREV_ENOMEM);
}

/* --- derivatives of a run ---------------------------------------------------
 * The derivatives of m results with respect to n inputs and to the captured
 * numbers, taken on the tape of the stage as the run has left it. If all
 * results are constants there is nothing to sweep, but for statements with
 * `always`: then the sweep has no results.                                   */

static bool adx_all_passive(size_t m, const ad_rev y[])
{
    for (size_t i = 0; i < m; i++)
        if (y[i].job != 0)
            return false;
    return true;
}

// Computes dx = dy J, and adds the adjoints of captured numbers to da.
typedef ad_status adx_pull_fn(const adx_stage *s, size_t m, const ad_rev y[],
                              const ad_real dy[], size_t n, const ad_rev x[],
                              ad_real dx[], const adx_captured *k,
                              ad_real da[]);

// Adjoints of the stage's inputs x, and, added to da, of the numbers that it
// captured.
static ad_status adx_stage_pull(const adx_stage *s, size_t m, const ad_rev y[],
                                const ad_real dy[], size_t n, const ad_rev x[],
                                ad_real dx[], const adx_captured *k,
                                ad_real da[])
{
    bool passive = adx_all_passive(m, y);
    if (passive && !s->tape->always) {
        memset(dx, 0, n * sizeof *dx);
        return s->tape->status;
    }
    ad_status status = ad_pullback(s->tape, passive ? 0 : m, y, dy, n, x, dx);
    for (size_t i = 0; i < k->n && status == ADREV_OK; i++)
        if (s->local[i] != 0)
            da[i] += s->tape->adjoint[s->local[i]];
    return status;
}

// The same for k <= ADX_WIDEST rows of dy by one sweep, which adds to dx: row r
// is that of dy times J, dx_step behind the row before; rows of da likewise.
static ad_status adx_stage_pull_rows(const adx_stage *s, size_t k, size_t m,
                                     const ad_rev y[], const ad_real dy[],
                                     size_t n, const ad_rev x[], ad_real dx[],
                                     size_t dx_step, const adx_captured *c,
                                     ad_real da[], size_t da_step)
{
    ad_tape *t = s->tape;
    const size_t W = k == 1 ? 1 : k <= 4 ? 4 : 8;
    bool run;
    bool passive = adx_all_passive(m, y);
    if (passive && !t->always)
        return t->status;
    ad_status status = adx_check_query(t, passive ? 0 : m, y, n, x, false,
                                       &run);
    ad_real *adj = status == ADREV_OK ? adx_cleared(t, W, 0) : NULL;
    if (adj == NULL)
        return status == ADREV_OK ? ADREV_ENOMEM : status;
    for (size_t r = 0; r < k; r++)
        for (size_t i = 0; i < m; i++)
            if (y[i].job != 0)
                adx_derivative(t, adj, y[i], W)[r] += dy[r * m + i];
    if (!adx_sweep(t, ADX_FOR_WIDTH(W, adx_reverse), adj))
        return ADREV_EEXTERNAL;
    for (size_t r = 0; r < k; r++) {
        for (size_t j = 0; j < n; j++)
            dx[r * dx_step + j] += adx_derivative(t, adj, x[j], W)[r];
        for (size_t i = 0; i < c->n; i++)
            if (s->local[i] != 0)
                da[r * da_step + i] += adj[s->local[i] * W + r];
    }
    return ADREV_OK;
}

// Computes dy = J dx. Behind its n numbers dx has the tangents of captured
// numbers, and x has room for the inputs that stand for them.
static ad_status adx_stage_push(const adx_stage *s, size_t m, const ad_rev y[],
                                ad_real dy[], size_t n, ad_rev x[],
                                const ad_real dx[], const adx_captured *k,
                                ad_real tangents[])
{
    size_t all = n;
    bool passive = adx_all_passive(m, y);
    if (passive || s->tape->status != ADREV_OK)
        memset(dy, 0, m * sizeof *dy);
    if ((passive && !s->tape->always) || s->tape->status != ADREV_OK)
        return s->tape->status;
    memcpy(tangents, dx, n * sizeof *dx);
    for (size_t i = 0; i < k->n; i++)
        if (s->local[i] != 0) {
            uint32_t job = adx_segment_of(s->tape, s->local[i])->job;
            x[all] = (ad_rev){ 0, s->local[i], job };
            tangents[all++] = dx[n + i];
        }
    return ad_pushforward(s->tape, all, x, tangents, passive ? 0 : m, y, dy);
}
