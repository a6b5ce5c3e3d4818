#pragma once

/* === array/external =========================================================
 * Forms of the array statements without strides, and statements with a rule of
 * the user's own.
 *
 *   needs   number/recording tape/layout tape/memory sweep/sweep
 *           array/operands array/linear
 *   offers  adx_external adx_external_kind adx_add_external adx_always_status
 *           adx_record_external_as
 * ========================================================================== */

/* --- contiguous forms ---------------------------------------------------- */

ADX_API ad_rev (ad_sum)(size_t n, const ad_rev x[])
{
    return (ad_sum_s)(n, x, 1);
}

ADX_API ad_rev (ad_dot)(size_t n, const ad_rev x[], const ad_rev y[])
{
    return (ad_dot_s)(n, x, 1, y, 1);
}

ADX_API ad_rev (ad_dotc)(size_t n, const ad_rev x[], const ad_real c[])
{
    return (ad_dotc_s)(n, x, 1, c, 1);
}

ADX_API ad_rev (ad_norm2)(size_t n, const ad_rev x[])
{
    return (ad_norm2_s)(n, x, 1);
}

ADX_API ad_rev (ad_sqdist)(size_t n, const ad_rev x[], const ad_rev y[])
{
    return (ad_sqdist_s)(n, x, 1, y, 1);
}

ADX_API ad_rev (ad_logsumexp)(size_t n, const ad_rev x[])
{
    return (ad_logsumexp_s)(n, x, 1);
}

ADX_API void (ad_softmax)(size_t n, const ad_rev x[], ad_rev y[])
{
    (ad_softmax_s)(n, x, 1, y, 1);
}

ADX_API void (ad_axpy)(size_t n, ad_rev a, const ad_rev x[], ad_rev y[])
{
    (ad_axpy_s)(n, a, x, 1, y, 1);
}

ADX_API void (ad_scale)(size_t n, ad_rev a, const ad_rev x[], ad_rev y[])
{
    (ad_scale_s)(n, a, x, 1, y, 1);
}

ADX_API void (ad_each)(ad_opcode op, size_t n, const ad_rev a[],
                       const ad_rev b[], const ad_rev c[], ad_rev y[])
{
    (ad_each_s)(op, n, a, 1, b, 1, c, 1, y, 1);
}

ADX_API void (ad_matvec)(size_t m, size_t n, const ad_rev A[],
                         const ad_rev x[], ad_rev y[])
{
    (ad_matvec_s)(m, n, A, (ptrdiff_t)n, 1, x, 1, y, 1);
}

ADX_API void (ad_matmul)(size_t m, size_t k, size_t n, const ad_rev A[],
                         const ad_rev B[], ad_rev C[])
{
    (ad_matmul_s)(m, k, n, A, (ptrdiff_t)k, 1, B, (ptrdiff_t)n, 1, C,
                  (ptrdiff_t)n, 1);
}

/* --- external statements ------------------------------------------------- */

typedef struct adx_external {
    adx_extended e;
    const ad_external_rule *rule;
    const void *saved;          // the tape's copy
    adx_ids ids;                // of the inputs
    size_t m;                   // results, as the user counts them
    bool always;                // of the rule
} adx_external;

// Direction w of the operands' tangents, as an array for the user's function.
static void adx_gather_ids(const adx_external *s, const ad_real adj[],
                           size_t W, size_t w, ad_real x[])
{
    for (size_t i = 0; i < s->e.operands; i++)
        x[i] = adx_is_constant(&s->ids) ? 0
                                        : adj[adx_id(&s->ids, i) * W + w];
}

// Gathers the adjoints of the results in those directions in which any is not
// zero, or in all of them if the statement is swept always: a row of dy each,
// whose direction goes to `which`. Returns how many rows there are.
static size_t adx_gather_rows(const adx_external *s, const ad_real adj[],
                              size_t W, ad_real dy[], size_t which[])
{
    size_t k = 0;
    for (size_t w = 0; w < W; w++) {
        ad_real *row = dy + k * s->m;
        for (size_t i = 0; i < s->m; i++)
            row[i] = adj[(s->e.first + i) * W + w];
        if (s->always || !adx_zeros(s->m, row))
            which[k++] = w;
    }
    return k;
}

// Calls the user's rule for k directions.
static bool adx_pull_rows(const adx_external *s, size_t k, const ad_real dy[],
                          ad_real dx[])
{
    const ad_external_rule *rule = s->rule;
    size_t n = s->e.operands;
    if (k > 1 && rule->pullback_n != NULL)
        return rule->pullback_n(s->saved, k, s->m, dy, n, dx);
    for (size_t r = 0; r < k; r++)
        if (!rule->pullback(s->saved, s->m, dy + r * s->m, n, dx + r * n))
            return false;
    return true;
}

// With one direction the adjoints of the results are an array already. (bench:
// external, 0.94.)
static bool adx_external_reverse_1(const adx_external *s, ad_real adj[],
                                   ad_real dx[])
{
    const ad_real *dy = &adj[s->e.first];
    size_t n = s->e.operands;
    if (!s->always && adx_zeros(s->m, dy))
        return true;
    memset(dx, 0, n * sizeof *dx);
    if (!s->rule->pullback(s->saved, s->m, dy, n, dx))
        return false;
    for (size_t i = 0; !adx_is_constant(&s->ids) && i < n; i++)
        adj[adx_id(&s->ids, i)] += dx[i];
    return true;
}

// The arrays of the user's rule lie in the scratch room, first the operands'
// adjoints, then the results'.
static bool adx_external_reverse(const adx_extended *e, ad_real adj[],
                                 ad_real scratch[], size_t W)
{
    const adx_external *s = (const adx_external *)e;
    if (W == 1)
        return adx_external_reverse_1(s, adj, scratch);
    size_t n = e->operands;
    ad_real *dx = scratch;
    ad_real *dy = scratch + W * n;
    size_t which[ADX_WIDEST];
    size_t k = adx_gather_rows(s, adj, W, dy, which);

    memset(dx, 0, k * n * sizeof *dx);
    if (!adx_pull_rows(s, k, dy, dx))
        return false;
    for (size_t r = 0; !adx_is_constant(&s->ids) && r < k; r++)
        for (size_t i = 0; i < n; i++)
            adj[adx_id(&s->ids, i) * W + which[r]] += dx[r * n + i];
    return true;
}

// Calls the user's rule for k directions.
static bool adx_push_rows(const adx_external *s, size_t k, const ad_real dx[],
                          ad_real dy[])
{
    const ad_external_rule *rule = s->rule;
    size_t n = s->e.operands;
    if (rule->pushforward == NULL)
        return false;
    if (k > 1 && rule->pushforward_n != NULL)
        return rule->pushforward_n(s->saved, k, n, dx, s->m, dy);
    for (size_t r = 0; r < k; r++)
        if (!rule->pushforward(s->saved, n, dx + r * n, s->m, dy + r * s->m))
            return false;
    return true;
}

// The arrays lie in the scratch room as in reverse.
static bool adx_external_forward(const adx_extended *e, ad_real tan[],
                                 ad_real scratch[], size_t W)
{
    const adx_external *s = (const adx_external *)e;
    size_t n = e->operands;
    ad_real *dx = scratch;
    ad_real *dy = scratch + W * n;

    for (size_t w = 0; w < W; w++)
        adx_gather_ids(s, tan, W, w, dx + w * n);
    if (!adx_push_rows(s, W, dx, dy))
        return false;
    for (size_t w = 0; w < W; w++)
        for (size_t i = 0; i < s->m; i++)
            tan[(e->first + i) * W + w] += dy[w * s->m + i];
    return true;
}

static void adx_external_destroy(const adx_extended *e)
{
    const adx_external *s = (const adx_external *)e;
    s->rule->destroy(s->saved);
}

static const char adx_external_kind_name[] = "external";
static const adx_rule adx_external_kind = {
    adx_external_kind_name, adx_external_reverse, adx_external_forward,
    adx_external_destroy
};

// What the rule saves.
static char *adx_saved_room(adx_external *s)
{
    return (char *)s + (sizeof *s + 15) / 16 * 16;
}

// Room that a sweep has for the operands and results of a statement.
static void adx_set_scratch(ad_tape *t, size_t numbers)
{
    t->scratch = numbers;
    if (ADREV_FIXED)                // it is at the end of the same memory
        adx_settle(t, &adx_now);
}

// Adds the entry: the struct, then what the rule saves, aligned to 16 bytes,
// then the list of ids. It also makes sure that a sweep has scratch room for
// the operands and results. NULL: nothing is recorded. If there are no results,
// one value is made all the same, which nobody uses: the values say where on
// the tape a statement is.
static adx_external *adx_add_external(const adx_view *x, const adx_ids *ids,
                                      size_t bytes, size_t m)
{
    ad_tape *t = adx_now.tape;
    size_t n = x->cols;
    size_t before = t->scratch;
    size_t saved = (bytes + 15) / 16 * 16;

    adx_set_scratch(t, n + m > before ? n + m : before);
    adx_external *s = adx_add_extended(&adx_external_kind,
        16 + sizeof *s + saved + (ids->listed ? n * sizeof(uint32_t) : 0),
        m == 0 ? 1 : m, n);
    if (s == NULL) {
        adx_set_scratch(t, before);
        return NULL;
    }
    s->ids = *ids;
    s->m = m;
    s->always = false;
    char *room = adx_saved_room(s);
    s->saved = room;
    adx_write_list(x, &s->ids, (uint32_t *)(void *)(room + saved));
    return s;
}

// Whether a statement with `always` can be recorded on the current tape, if
// there is one. If not, the tape fails.
static ad_status adx_always_status(void)
{
    ad_tape *t = adx_now.tape;
    if (t != NULL && adx_is_observed(t))
        adx_fail_because(t, ADREV_EHOOK, "a recorded function cannot have a "
                         "statement that is to be swept always");
    else if (t != NULL && t->selective)
        adx_fail_because(t, ADREV_EHOOK, "the function of a map cannot have a "
                         "statement that is to be swept always");
    return t == NULL ? ADREV_OK : t->status;
}

// What stands in the way of an external statement; ADREV_OK also means that a
// tape, if there is one, records.
static ad_status adx_external_status(const ad_external_rule *rule, bool always,
                                     size_t m, bool missing)
{
    ad_tape *t = adx_now.tape;
    ad_status wrong = rule == NULL || rule->pullback == NULL ? ADREV_EEXTERNAL
                    : (m == 0 && !always) || missing ? ADREV_ESHAPE
                    : always ? adx_always_status() : ADREV_OK;
    if (t != NULL && wrong != ADREV_OK)
        adx_fail(t, wrong);
    if (wrong == ADREV_OK && t != NULL && adx_recording())
        return ADREV_OK;
    return wrong == ADREV_OK && t != NULL ? t->status : wrong;
}

// As adx_tell_array does, before the results are named. A hook that keeps the
// rule and its data sets *kept, and then destroys them itself.
static void adx_tell_external(const adx_external *s, const adx_view *from,
                              size_t bytes, bool *kept)
{
#if ADREV_FIXED
    (void)s; (void)from; (void)bytes; (void)kept;
#else
    if (!ADX_UNLIKELY(ADX_TRACED))
        return;
    const ad_hooks *hooks = &adx_now.tape->hooks;
    ad_array_operation told = adx_array_operation(ADREV_ARRAY_external, &s->e);
    told.arg[0] = adx_public_view(from);
    told.results = s->m;
    told.rule = s->rule;
    told.saved = s->saved;
    told.bytes = bytes;
    told.kept = kept;
    hooks->array(hooks->user, &told);
#endif
}

// Writes what the rule saves, and tells the hook. Then the statement joins the
// tape's chain of those that a clear or a rewind must destroy, unless a hook
// has taken that over.
static void adx_fill_external(adx_external *s, const ad_external_rule *rule,
                              bool always, const void *saved, size_t bytes,
                              const adx_view *from)
{
    ad_tape *t = adx_now.tape;
    bool kept = false;

    s->rule = rule;
    s->always = always;
    if (bytes > 0)
        memcpy(adx_saved_room(s), saved, bytes);
    adx_tell_external(s, from, bytes, &kept);
    t->calls = true;
    t->always |= always;
    t->one_way |= rule->pushforward == NULL;
    if (rule->destroy != NULL && !kept) {
        s->e.before = t->last;
        t->last = &s->e;
    }
}

// As ad_external, but whether the statement is swept always is not up to the
// rule. If nothing is recorded, the results are constants and the rule is
// destroyed at once.
static ad_status adx_record_external_as(const ad_external_rule *rule,
                                        bool always, const void *saved,
                                        size_t bytes, size_t n,
                                        const ad_rev x[], size_t m,
                                        const ad_real v[], ad_rev y[])
{
    bool missing = adx_no_array(n, x) || adx_no_array(m, v)
                || adx_no_array(m, y)
                || (bytes > 0 && saved == NULL) || bytes > SIZE_MAX / 8;
    ad_status status = adx_external_status(rule, always, m, missing);
    ad_tape *t = adx_now.tape;
    const adx_view from = adx_vector(n, x, 1);
    adx_external *s = NULL;

    if (status == ADREV_OK && t != NULL) {
        adx_ids ids = adx_classify(&from);
        if ((always || !adx_is_constant(&ids)) && t->status == ADREV_OK)
            s = adx_add_external(&from, &ids, bytes, m);
        status = t->status;
    }
    if (s != NULL)
        adx_fill_external(s, rule, always, saved, bytes, &from);
    for (size_t i = 0; !adx_no_array(m, y) && v != NULL && i < m; i++)
        adx_set_result(&y[i], v[i], ADX_BASE(s), i);
    if (s == NULL && rule != NULL && rule->destroy != NULL
        && (saved || bytes == 0))
        rule->destroy(saved);
    return s == NULL ? status : ADREV_OK;
}

ADX_API ad_status (ad_external)(const ad_external_rule *rule,
                                const void *saved, size_t bytes, size_t n,
                                const ad_rev x[], size_t m,
                                const ad_real v[], ad_rev y[])
{
    return adx_record_external_as(rule, rule != NULL && rule->always, saved,
                                  bytes, n, x, m, v, y);
}
