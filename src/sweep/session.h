#pragma once

/* === sweep/session ==========================================================
 * ad_grad and ad_jac: record a function, query it, and leave the tape as it
 * was. A session is a segment of the current recording with a job number of its
 * own, so whatever refers to it after its end is found to be foreign. The
 * arrays that the function is given are closed off by some further numbers, of
 * a job that no recording has: a use of x[n] is noticed.
 *
 *   needs   number/recording tape/layout tape/entries tape/hooks tape/life
 *           sweep/queries
 *   offers  adx_session adx_array adx_open_session adx_alive adx_close_session
 *           adx_on_tape ADX_BEYOND adx_close_off adx_is_closed_off
 *           adx_array_closed_off adx_unset adx_all_set adx_begin_inputs
 *           adx_check_results
 * ========================================================================== */

// A part of a recording: behind what is on the current tape, or, if none is
// current, on a tape that lives as long as the call.
typedef struct adx_session {
    ad_tape *tape;
    ad_tape *own;               // the same, if no tape was current; else NULL
    ad_mark mark;               // where the tape was
    size_t segment;             // of this session
    uint32_t job;               // of the segment
} adx_session;

// Memory for n numbers, on the tape. NULL: the status of the tape says why.
static ad_rev *adx_array(adx_session *s, size_t n)
{
    adx_context *c = &adx_now;

    if (n > ADREV_VALUES / 2 || n > SIZE_MAX / 4 / sizeof(ad_rev)) {
        adx_fail(s->tape, ADREV_ELIMIT);
        return NULL;
    }
    void *p = adx_add_bytes(c, ADX_DATA, n * sizeof(ad_rev), 0);
    if (p != NULL)
        memset(p, 0, n * sizeof(ad_rev));
    return (ad_rev *)p;
}

// Begins a session: a segment on the current tape, or on a tape of its own
// where there is none. What the segment records has another job, so nothing
// outside can refer to it after adx_close_session.
static ad_status adx_open_session(adx_session *s)
{
    s->own = NULL;
    s->tape = adx_now.tape;
#if !defined ADREV_NO_STDLIB && !ADREV_FIXED
    if (s->tape == NULL) {
        s->own = ad_tape_new();
        if (s->own == NULL)
            return ADREV_ENOMEM;
        s->tape = s->own;
        ad_use(s->own);
    }
#endif
    if (ad_tape_status(s->tape) != ADREV_OK)
        return ad_tape_status(s->tape);
    ad_tape *t = s->tape;
    if (t->segments > ADREV_MARKS)
        return ADREV_EMARK;
    s->mark = ad_tape_mark(t);
    s->segment = t->segments;
    s->job = adx_new_job(t);
    adx_begin_segment(t, s->segment, &s->mark, s->job, true);
    return ADREV_OK;
}

// Whether the user's function has left the session's tape intact: not cleared,
// and not rewound to before the session.
static bool adx_alive(const adx_session *s)
{
    const ad_tape *t = s->tape;
    return s->segment < t->segments && t->segment[s->segment].job == s->job;
}

static ad_status adx_close_session(adx_session *s, ad_status status)
{
    if (status == ADREV_OK)
        status = s->tape->status;
    ad_tape *t = s->tape;
    if (!adx_alive(s))
        status = ADREV_EMARK;
    else {
        adx_return_to(t, &s->mark);
        t->segments = (uint32_t)s->segment;
        adx_live(t)->job = t->segment[s->segment - 1].job;
    }
    ad_tape_free(s->own);
    return status;
}

// y as a value of t itself, imported if another tape of the recording has it.
static ad_rev adx_on_tape(ad_tape *t, ad_rev y)
{
    if (y.job == 0 || adx_member(t, y) || adx_annex_of(t) == NULL
        || t->status != ADREV_OK)
        return y;
    uint64_t id = adx_annex_of(t)->import(t, adx_word(&y));
    if (id != 0)
        adx_name(&y, y.v, id);
    return y;
}

// A result may belong to a branch that joined before the session began. The
// sweep of the session does not reach its tape. An input stands for it, so it
// counts as constant, like the older values of the tape itself.
static void adx_own_results_of(ad_tape *t, size_t m, ad_rev y[])
{
    for (size_t i = 0; adx_annex_of(t) != NULL && i < m; i++)
        if (!adx_member(t, y[i]) && adx_annex_of(t)->owner(t, y[i]) == NULL)
            y[i] = adx_on_tape(t, y[i]);
}

// The arrays that a function is given have this many further numbers, which are
// of no recording. A function that takes n or m for larger than they are uses
// them, and that is noticed.
#define ADX_BEYOND ((size_t)4)

static void adx_close_off(size_t n, ad_rev x[])
{
    for (size_t i = n; i < n + ADX_BEYOND; i++)
        x[i] = (ad_rev){ ADX_K(NAN), 1, ADX_JOB_BEYOND };
}

// Whether f has left these numbers as they were.
static bool adx_is_closed_off(size_t n, const ad_rev x[])
{
    for (size_t i = n; i < n + ADX_BEYOND; i++)
        if (x[i].job != ADX_JOB_BEYOND)
            return false;
    return true;
}

static ad_rev *adx_array_closed_off(adx_session *s, size_t n)
{
    size_t all = n <= SIZE_MAX - ADX_BEYOND ? n + ADX_BEYOND : n;
    ad_rev *x = adx_array(s, all);
    if (x != NULL)
        adx_close_off(n, x);
    return x;
}

#define ADX_NOT_SET UINT32_MAX      // seq of a result that no function has set

// Results before a function is called. Sums that are added up in them begin at
// 0.
static void adx_unset(size_t n, ad_rev y[])
{
    for (size_t i = 0; i < n; i++)
        y[i] = (ad_rev){ 0, ADX_NOT_SET, 0 };
}

// Whether the function has set all of them.
static bool adx_all_set(size_t n, const ad_rev y[])
{
    for (size_t i = 0; i < n; i++)
        if (y[i].seq == ADX_NOT_SET && y[i].job == 0)
            return false;
    return true;
}

// The inputs of f: constants where only its value is asked for.
static void adx_begin_inputs(size_t n, const ad_real x[], ad_rev in[],
                             bool value_only)
{
    if (!value_only)
        (ad_inputs)(n, x, in);
    for (size_t i = 0; value_only && i < n; i++)
        in[i] = adx_passive(x[i]);
}

// The status that a query would give for results whose values alone are wanted.
static ad_status adx_check_results(const ad_tape *t, size_t m,
                                   const ad_rev y[])
{
    ad_status status = ad_tape_status(t);
    if (status == ADREV_OK)
        status = adx_check_values(t, m, y, true, false);
    return status == ADREV_EPASSIVE ? ADREV_OK : status;
}

ADX_API ad_status ad_grad(ad_scalar_fn *f, void *ctx, size_t n,
                          const ad_real x[], ad_real *y, ad_real g[])
{
    static const ad_mark whole = {0};
    adx_session s;
    ad_status status = adx_open_session(&s);
    if (status != ADREV_OK)
        return status;

    ad_rev *in = adx_array_closed_off(&s, n);
    if (in != NULL
        && (f == NULL || (n > 0 && (x == NULL || (g == NULL && y == NULL)))))
        status = ADREV_ESHAPE;
    if (in != NULL && status == ADREV_OK) {
        adx_begin_inputs(n, x, in, g == NULL);
        ad_rev out = f(in, ctx);
        ad_use(s.tape);
        s.tape->floor = s.mark;
        if (adx_alive(&s))
            adx_own_results_of(s.tape, 1, &out);
        status = !adx_alive(&s) ? ADREV_EMARK
               : n == 0 || g == NULL ? adx_check_results(s.tape, 1, &out)
               : ad_gradient(s.tape, out, n, in, g);
        s.tape->floor = whole;
        if (status == ADREV_OK && y != NULL)
            *y = out.v;
    }
    return adx_close_session(&s, status);
}

ADX_API ad_status ad_jac(ad_vector_fn *f, void *ctx, size_t n,
                         const ad_real x[], size_t m, ad_real y[],
                         ad_real J[])
{
    static const ad_mark whole = {0};
    adx_session s;
    ad_status status = adx_open_session(&s);
    if (status != ADREV_OK)
        return status;

    ad_rev *in = adx_array_closed_off(&s, n);
    ad_rev *out = in == NULL ? NULL : adx_array_closed_off(&s, m);
    if (out != NULL
        && (f == NULL || (n > 0 && (x == NULL || (m > 0 && J == NULL
                                                  && y == NULL)))))
        status = ADREV_ESHAPE;
    if (out != NULL && status == ADREV_OK) {
        adx_begin_inputs(n, x, in, J == NULL);
        adx_unset(m, out);
        f(in, out, ctx);
        ad_use(s.tape);
        s.tape->floor = s.mark;
        if (adx_alive(&s))
            adx_own_results_of(s.tape, m, out);
        status = !adx_alive(&s) ? ADREV_EMARK
               : s.tape->status != ADREV_OK ? s.tape->status
               : !adx_is_closed_off(m, out) ? ADREV_EBEYOND
               : !adx_all_set(m, out) ? ADREV_ESHAPE
               : n == 0 || J == NULL ? adx_check_results(s.tape, m, out)
               : ad_jacobian(s.tape, m, out, n, in, J);
        s.tape->floor = whole;
        for (size_t i = 0; status == ADREV_OK && y != NULL && i < m; i++)
            y[i] = out[i].v;
    }
    return adx_close_session(&s, status);
}
