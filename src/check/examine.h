#pragma once

/* === check/examine ==========================================================
 * ad_check and ad_check_jac: how one direction and one input are examined, and
 * the report. A check makes up to four passes of differences
 * (check/differences), whose increments begin with an eighth of |x| and end
 * where rounding is all that is left. It ends as soon as the gradient is
 * confirmed. Where it is not, the slopes to either side tell a kink, and the
 * errors of the differences tell noise, from a mistake.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/walk
 *           sweep/sweep sweep/session check/differences
 *   offers  adx_is_worse adx_array_of_reals
 * ========================================================================== */

/* --- one check ----------------------------------------------------------- */

ADX_SELDOM_BEGIN

// The first increment of a pass, in units of d. Pass 0 begins with an eighth of
// the size of x; pass 1 with an eighth, if x is smaller than 1; pass 2 with a
// much smaller one; pass 3 with a smaller one still, for an input that is 0. A
// result of 0 says that the pass is not needed.
static ad_real adx_first_increment(const adx_probe *p, int pass)
{
    const ad_real eighth = 1 / (ad_real)8;
    switch (pass) {
    case 0: return eighth;
    case 1: return p->unit < 1 ? eighth / p->unit : 0;
    case 2: return ADX_NARROW ? ADX_K(0x1p-12) : ADX_K(0x1p-23);
    default: return p->count > 1 || p->x[p->first] != 0 ? 0
                  : ADX_NARROW ? ADX_K(0x1p-30) : ADX_K(0x1p-43);
    }
}

// One pass of rows. It ends early only where the gradient is confirmed to many
// digits, which also undoes a kink that larger increments saw.
static ad_verdict adx_examine_pass(adx_probe *p, ad_real h, ad_real g,
                                   bool kinked)
{
    const adx_row *begin = p->row + p->rows;
    size_t rows = ADX_NARROW ? ADX_ROWS - 4 : ADX_ROWS;
    ad_real T[ADX_ROWS];

    for (size_t i = 0, k = 0; i < rows; i++, h /= 4) {
        k = adx_add_row(p, h, T, k);
        p->by = p->row + p->rows - 1;
        p->kink = adx_judge_kink(p->row, begin, p->by + 1, g);
        if (p->kink == ADREV_AGREES && k > 2 && adx_agrees(p, p->by, g, 0)
            && adx_has_converged(p, p->by, g, 0, ADX_TIGHT)) {
            p->sure = true;
            return ADREV_AGREES;
        }
    }
    return kinked || p->kink == ADREV_KINK ? ADREV_KINK : adx_judge(p, g, 0);
}

// Paths through an extended statement. All that is known of its partials is its
// forward sweep, so of the paths through it only the signed sum is to be had.
static bool adx_paths_through(ad_tape *t, const adx_operand *op,
                              ad_real size[])
{
    const adx_extended *e = (const adx_extended *)adx_payload(op);
    bool known = adx_forward_extended(t, NULL, op, size, 1);
    for (size_t i = 0; known && i < e->values; i++)
        size[e->first + i] = adm_fabs(size[e->first + i]);
    return known;
}

// The sum of the absolute values of all paths from the inputs of this check to
// y: a forward sweep with the absolute value of every partial. 0 if it is not
// known.
static ad_real adx_paths(const adx_probe *p)
{
    ad_tape *t = p->session.tape;
    size_t values = adx_live(t)->seq;
    ad_real *size = adx_adjoints(t, values, 1);

    if (size == NULL || p->id == 0)
        return 0;
    memset(size, 0, (values + 1) * sizeof *size);
    for (size_t j = p->first; j < p->first + p->count; j++)
        size[p->in + j] = adm_fabs(p->d[j]);
    adx_cursor at = adx_from(t, &p->session.mark);
    for (unsigned header; (header = adx_next_entry(t, &at)) != 0;) {
        if (header == ADX_EXTENDED && !adx_paths_through(t, at.op, size))
            return 0;
        if (header & ADX_OTHER)
            continue;
        ad_real sum = header & ADX_SUM ? size[at.seq - 1] : 0;
        for (size_t i = 0; i < at.operands; i++)
            sum += adx_absorb(adm_fabs(at.op[i].d), size[at.op[i].id]);
        size[at.seq] = sum;
    }
    return adx_finite(size[p->id]) ? size[p->id] : 0;
}

// Whether f does not change at any increment, but does at a much larger one.
// Rounding may then hide that it changes here, as in (x + 1e17) - 1e17.
static bool adx_absorbed(adx_probe *p)
{
    for (const adx_row *r = p->row; r < p->row + p->rows; r++)
        if (adm_fabs(r->left) > 0 || adm_fabs(r->right) > 0)
            return false;
    ad_real far = ADX_K(0x1p50);
    while (far > 1 && adx_evaluate(p, far) == p->y)
        far /= 16;
    return far > 1;
}

// Makes the components first .. first + count of d those of the next check.
// Returns the slope along them that the gradient gives.
static ad_real adx_take_inputs(adx_probe *p, size_t first, size_t count)
{
    static const adx_row nothing = {
        .slope = ADX_K(NAN), .left = ADX_K(NAN), .right = ADX_K(NAN),
        .error = ADX_K(INFINITY)
    };
    ad_real g = 0;

    // Cached values are of the same inputs only.
    if (p->first != first || p->count != count)
        p->tries = 0;
    p->first = first;
    p->count = count;
    p->rows = 0;
    p->by = &nothing;
    p->kink = ADREV_AGREES;
    p->sure = false;
    if (count == 1)
        p->d[first] = adm_fabs(p->d[first]);
    p->unit = 0;
    for (size_t j = first; j < first + count; j++) {
        p->unit = adx_most(p->unit, adm_fabs(p->d[j]));
        g += adx_absorb(p->g[j], p->d[j]);
    }
    p->unit = p->unit < 1 ? p->unit : 1;
    return g;
}

// Passes go on until one confirms the gradient. If pass 0 does, but not to many
// digits, and inputs are smaller than 1, the next pass has to confirm it as
// well. A kink that is seen only after a pass has confirmed the gradient is
// further away than x.
static ad_verdict adx_examine_passes(adx_probe *p, ad_real g)
{
    ad_verdict verdict = ADREV_NOISY;
    for (int pass = 0; pass < ADX_PASSES && adx_finite(p->y); pass++) {
        ad_real h = adx_first_increment(p, pass);
        ad_verdict before = verdict;
        const adx_row *by = p->by;
        if (h > 0)
            verdict = adx_examine_pass(p, h, g, before == ADREV_KINK
                                       && adx_finite(p->by->slope));
        if (before == ADREV_AGREES && verdict == ADREV_KINK) {
            verdict = before;           // a kink, but further away
            p->by = by;
        }
        if (verdict == ADREV_AGREES && (p->sure || pass > 0 || p->unit == 1))
            break;
    }
    return verdict;
}

// If no pass confirms the gradient or sees a kink, the paths are added up,
// which costs a walk over the tape, and all rows are judged again with the
// rounding that they allow.
static ad_verdict adx_examine_again(adx_probe *p, ad_real g,
                                    ad_verdict verdict, ad_real *paths)
{
    if (p->status == ADREV_OK && verdict != ADREV_AGREES
        && verdict != ADREV_KINK) {
        *paths = adx_paths(p);
        verdict = adx_judge(p, g, *paths);
        if (verdict == ADREV_NOISY)
            verdict = p->kink == ADREV_DISAGREES ? p->kink : ADREV_NOISY;
    }
    return verdict == ADREV_DISAGREES && adx_absorbed(p) ? ADREV_NOISY
                                                         : verdict;
}

// Checks the slope of the output at hand along the components first .. first +
// count of d.
static ad_check_entry adx_examine(adx_probe *p, size_t first, size_t count)
{
    ad_check_entry e = { .output = p->which, .index = first,
                         .inputs = count };
    ad_real paths = 0;
    ad_real g = adx_take_inputs(p, first, count);
    e.verdict = adx_examine_again(p, g, adx_examine_passes(p, g), &paths);

    // Of a single input the report shows derivatives, not slopes along d.
    ad_real unit = count == 1 ? p->d[first] : 1;
    e.gradient = count == 1 ? p->g[first] : g;
    e.difference = p->by->slope / unit;
    e.error = p->by->error / unit;
    e.left = p->by->left / unit;
    e.right = p->by->right / unit;
    e.mismatch = e.gradient == e.difference ? 0
               : adm_fabs(p->by->slope - g) / adx_allowed(p->by, g, paths);
    if (e.mismatch != e.mismatch)
        e.mismatch = e.verdict == ADREV_DISAGREES ? ADX_K(INFINITY) : 0;
    return e;
}

// Bisects a group of inputs that does not agree, down to one input if that does
// not agree by itself.
static ad_check_entry adx_bisect(adx_probe *p, ad_check_entry group)
{
    while (group.inputs > 1 && group.verdict != ADREV_AGREES
           && p->status == ADREV_OK) {
        size_t half = group.inputs / 2;
        ad_check_entry e = adx_examine(p, group.index, half);
        if (e.verdict == ADREV_AGREES)
            e = adx_examine(p, group.index + half, group.inputs - half);
        if (e.verdict == ADREV_AGREES)
            break;
        group = e;
    }
    return group;
}

/* --- ad_check ------------------------------------------------------------ */

// Whether an entry is to be shown before another: the order is disagrees, kink,
// noisy, agrees, and of two alike the larger mismatch comes first.
static bool adx_is_worse(const ad_check_entry *e, const ad_check_entry *than)
{
    static const int rank[ADREV_VERDICT_COUNT] = { 0, 3, 2, 1 };
    int worse = rank[e->verdict] - rank[than->verdict];
    return worse > 0 || (worse == 0 && e->mismatch > than->mismatch);
}

// Enters a check in the report. If there is not room for all checks, those that
// agree are only counted.
static void adx_enter_check(ad_check_report *report, size_t n,
                            const ad_check_entry *e)
{
    bool all = report->room >= n;

    report->counts[e->verdict]++;
    if (report->checks++ == 0 || adx_is_worse(e, &report->worst))
        report->worst = *e;
    if (report->entry != NULL && report->listed < report->room
        && (all || e->verdict != ADREV_AGREES))
        report->entry[report->listed++] = *e;
}

// Makes one output the output at hand.
static void adx_take_output(adx_probe *p, size_t which)
{
    p->which = which;
    p->g = p->J + which * p->n;
    p->y = p->out[which].v;
    p->id = p->out[which].job == 0 ? 0 : p->out[which].seq;
}

// The dot-product test of an output: its tangent along d from a forward sweep
// must be its gradient times d. `gap` is the difference in units of what
// rounding allows, and the report keeps the largest.
static void adx_compare_sweeps(adx_probe *p, ad_real forward,
                               ad_check_report *report)
{
    ad_real reverse = 0;
    for (size_t j = 0; j < p->n; j++)
        reverse += adx_absorb(p->g[j], p->d[j]);
    p->first = 0;
    p->count = p->n;
    ad_real values = adm_sqrt((ad_real)(adx_live(p->session.tape)->seq
                                        - p->in));
    ad_real off = adm_fabs(forward - reverse);
    ad_real allowed = ADX_EPSILON * (64 + values) * adx_paths(p);
    bool nan = forward != forward && reverse != reverse;
    ad_real gap = off == 0 || nan || forward == reverse ? 0 : off / allowed;
    if (gap != gap)
        gap = ADX_K(INFINITY);
    if (p->which > 0 && !(gap > report->gap))
        return;
    report->forward = forward;
    report->reverse = reverse;
    report->gap = gap;
}

// The gradients of all outputs, each by a reverse sweep, because a forward
// sweep would not see a mistake in a pullback. Then one forward sweep to
// compare them with.
static ad_status adx_sweep_outputs(adx_probe *p, ad_check_report *report)
{
    ad_tape *t = p->session.tape;
    ad_status status = ADREV_OK;
    bool active = false;

    for (size_t i = 0; i < p->m && status == ADREV_OK; i++) {
        ad_real *g = p->J + i * p->n;
        for (size_t j = 0; j < p->n; j++)
            g[j] = 0;
        if (p->out[i].job != 0)
            status = ad_gradient(t, p->out[i], p->n, p->at, g);
        active = active || p->out[i].job != 0;
    }
    if (status == ADREV_OK && active && !t->one_way) {
        status = ad_pushforward(t, p->n, p->at, p->d, p->m, p->out, p->slope);
        for (size_t i = 0; status == ADREV_OK && i < p->m; i++) {
            adx_take_output(p, i);
            adx_compare_sweeps(p, p->slope[i], report);
        }
    }
    return status;
}

// Records f, chooses the direction d with signs at random, and takes the
// gradients.
static ad_status adx_differentiate(adx_probe *p, ad_check_report *report)
{
    static const ad_mark whole = {0};
    ad_tape *t = p->session.tape;
    uint32_t random = 1;

    (ad_inputs)(p->n, p->x, p->at);
    p->in = p->at[0].seq;
    bool alone = t->alone;
    t->alone = true;            // its paths are walked, on this tape
    adx_unset(p->m, p->out);
    p->f(p->at, p->out, p->ctx);
    t->alone = alone;
    ad_use(t);
    if (!adx_alive(&p->session))
        return ADREV_EMARK;
    for (size_t i = 0; i < p->m; i++)
        p->out[i] = adx_on_tape(t, p->out[i]);
    if (t->status != ADREV_OK)
        return t->status;
    if (!adx_is_closed_off(p->m, p->out))
        return ADREV_EBEYOND;
    if (!adx_all_set(p->m, p->out))
        return ADREV_ESHAPE;
    for (size_t j = 0; j < p->n; j++) {
        random = random * 1664525u + 1013904223u;
        p->d[j] = adx_scale_of(p->x[j]) * (random >> 31 ? 1 : -1);
    }
    t->floor = p->session.mark;
    ad_status status = adx_sweep_outputs(p, report);
    t->floor = whole;
    return status;
}

// Checks the output at hand along `count` inputs from j on.
static void adx_check_output(adx_probe *p, size_t j, size_t count,
                             ad_check_report *report)
{
    p->largest = 0;
    for (size_t i = 0; i < p->n; i++) {
        ad_real slope = adm_fabs(p->g[i]) * adx_most(1, adm_fabs(p->d[i]));
        p->largest = adx_finite(slope) ? adx_most(slope, p->largest)
                                       : p->largest;
    }
    ad_check_entry e = adx_bisect(p, adx_examine(p, j, count));
    if (p->status == ADREV_OK)
        adx_enter_check(report, p->m * p->n, &e);
}

// Runs all checks once f is recorded. With more inputs than checks,
// neighbouring inputs form groups of nearly the same size. For each group all
// outputs are checked in turn, so that values of f in the cache serve all of
// them.
static void adx_compare(adx_probe *p, ad_check_report *report)
{
    size_t limit = report->limit == 0 ? 1000 : report->limit;
    size_t checks = p->n < limit ? p->n : limit;

    p->mark = ad_tape_mark(p->session.tape);
    adx_restart(p);
    for (size_t j = 0; j < p->n; j++)
        p->at[j] = adx_passive(p->x[j]);
    for (size_t i = 0, j = 0; i < checks && p->status == ADREV_OK; i++) {
        size_t count = p->n / checks + (i < p->n % checks);
        for (size_t k = 0; k < p->m && p->status == ADREV_OK; k++) {
            adx_take_output(p, k);
            adx_check_output(p, j, count, report);
        }
        j += count;
    }
}

static ad_real *adx_array_of_reals(adx_session *s, size_t n)
{
    return (ad_real *)adx_array(s, n / (sizeof(ad_rev) / sizeof(ad_real)) + 1);
}

// Takes the memory of a check from the session. False: the tape's status says
// why.
static bool adx_take_check_memory(adx_probe *p)
{
    adx_session *s = &p->session;
    size_t m = p->m;
    if (adx_size_times(m, p->n) == SIZE_MAX
        || adx_size_times(m, ADX_CACHED) == SIZE_MAX) {
        adx_fail(s->tape, ADREV_ELIMIT);
        return false;
    }
    return (p->at = adx_array_closed_off(s, p->n)) != NULL
        && (p->to = adx_array_closed_off(s, m)) != NULL
        && (p->out = adx_array_closed_off(s, m)) != NULL
        && (p->d = adx_array_of_reals(s, p->n)) != NULL
        && (p->J = adx_array_of_reals(s, m * p->n)) != NULL
        && (p->slope = adx_array_of_reals(s, m)) != NULL
        && (m == 1
            || (p->cached = adx_array_of_reals(s, ADX_CACHED * m)) != NULL);
}

// Works in a session of its own, which leaves the tape as it was, and fills
// *report only if all of it went well.
ADX_API ad_status ad_check_jac(ad_vector_fn *f, void *ctx, size_t n,
                               const ad_real x[], size_t m,
                               ad_check_report *report)
{
    adx_probe p = { .f = f, .ctx = ctx, .x = x, .n = n, .m = m };
    if (report == NULL)
        return ADREV_ESHAPE;
    report->filled = false;
    if (f == NULL || adx_no_array(n, x))
        return ADREV_ESHAPE;
    ad_status status = adx_open_session(&p.session);
    if (status != ADREV_OK)
        return status;

    ad_check_report r = { .entry = report->entry, .room = report->room,
                          .limit = report->limit, .filled = true,
                          .outputs = m };
    bool any = n > 0 && m > 0;
    if (any && adx_take_check_memory(&p)) {
        p.status = adx_differentiate(&p, &r);
        if (p.status == ADREV_OK)
            adx_compare(&p, &r);
        r.value = p.out[r.worst.output].v;
    }
    r.evaluations = p.evaluations + any;
    status = adx_close_session(&p.session, p.status);
    if (status == ADREV_OK)
        *report = r;
    return status;
}

// A function with one result, as ad_check_jac wants it.
typedef struct adx_scalar {
    ad_scalar_fn *f;
    void *ctx;
} adx_scalar;

static void adx_as_row(const ad_rev *x, ad_rev *y, void *ctx)
{
    const adx_scalar *of = (const adx_scalar *)ctx;
    y[0] = of->f(x, of->ctx);
}

ADX_API ad_status ad_check(ad_scalar_fn *f, void *ctx, size_t n,
                           const ad_real x[], ad_check_report *report)
{
    adx_scalar one = { f, ctx };
    return ad_check_jac(f == NULL ? NULL : adx_as_row, &one, n, x, 1, report);
}

ADX_API bool ad_check_passed(const ad_check_report *report)
{
    return report != NULL && report->filled && report->gap <= 1
        && report->counts[ADREV_AGREES] == report->checks;
}

ADX_SELDOM_END
