#pragma once

/* === check/explain ==========================================================
 * Which values are not finite, where a number comes from, and what a region
 * holds.
 *
 *   needs   number/recording tape/layout tape/entries tape/hooks tape/walk
 *           sweep/sweep sweep/queries check/differences
 *   offers  adx_next_with adx_use_of adx_uses ADX_BEGIN adx_edge_of_region
 * ========================================================================== */

/* --- statements, and what is not finite ---------------------------------- */

ADX_SELDOM_BEGIN

static ad_rev adx_value(const ad_tape *t, size_t seq)
{
    ad_rev x = { 0, (uint32_t)seq, 0 };
    x.job = seq == 0 ? 0 : adx_segment_of(t, seq)->job;
    return x;
}

// Goes to the next entry that is not a site, and copies the site that belongs
// to it, if any, to *site.
static unsigned adx_next_with(const ad_tape *t, adx_cursor *at,
                              adx_site *site)
{
    unsigned header = adx_next_entry(t, at);
    memset(site, 0, sizeof *site);
    if (header == ADX_SITE) {
        memcpy(site, at->op, sizeof *site);
        header = adx_next_entry(t, at);
    }
    return header;
}

// Operand i of the statement at the cursor. The implied operand of a running
// sum counts as the first.
static adx_operand adx_use_of(const adx_cursor *at, unsigned header, size_t i)
{
    adx_operand implied = { 1, (uint32_t)(at->seq - 1) };
    if (!(header & ADX_SUM))
        return at->op[i];
    return i == 0 ? implied : at->op[i - 1];
}

static size_t adx_uses(const adx_cursor *at, unsigned header)
{
    return at->operands + (header & ADX_SUM ? 1 : 0);
}

// The statement at the cursor as users see it. Only its first operands are
// listed.
static ad_statement adx_statement(const ad_tape *t, const adx_cursor *at,
                                  unsigned header, const adx_site *site)
{
    ad_statement s = { .result = adx_value(t, at->seq),
                       .operands = adx_uses(at, header),
                       .file = site->file, .line = site->line };

    s.result.v = site->value;
    for (size_t i = 0; i < s.operands && i < ADREV_SHOWN; i++) {
        adx_operand use = adx_use_of(at, header, i);
        s.operand[i] = adx_value(t, use.id);
        s.partial[i] = use.d;
    }
    return s;
}

static bool adx_all_finite(const adx_cursor *at)
{
    for (size_t i = 0; i < at->operands; i++)
        if (!adx_finite(at->op[i].d))
            return false;
    return true;
}

// Whether other tapes have parts of the recording.
static bool adx_scattered(const ad_tape *t)
{
    for (size_t i = 0; adx_annexed_tape(t, i) != NULL; i++)
        if (adx_live(adx_annexed_tape(t, i))->seq > 0)
            return true;
    return false;
}

// Runs a reverse sweep from y that leaves the adjoints of all values in place.
// A recording that other tapes have parts of is refused.
static ad_status adx_swept(ad_tape *t, ad_rev y, ad_real **adj)
{
    if (adx_scattered(t))
        return ADREV_EFOREIGN;
    *adj = adx_cleared(t, 1, 0);
    if (*adj == NULL)
        return ADREV_ENOMEM;
    if (y.job != 0)
        (*adj)[y.seq] = 1;
    return adx_sweep(t, adx_reverse_1, *adj) ? ADREV_OK : ADREV_EEXTERNAL;
}

// What ad_find_nonfinite looks at in a statement, for an extended statement,
// whose operands cannot be listed.
static void adx_nonfinite_in(const ad_tape *t, const adx_cursor *at,
                             const ad_real adj[], const adx_site *site,
                             ad_nonfinite *seen)
{
    const adx_extended *e = (const adx_extended *)adx_payload(at->op);
    ad_statement s = { .result = adx_value(t, e->first), .file = site->file,
                       .line = site->line };
    s.result.v = site->value;
    s.adjoint = adj[e->first];
    if (seen->value.result.job == 0 && !adx_finite(site->value))
        seen->value = s;
    if (seen->partial.result.job == 0 && e->care)
        seen->partial = s;
    for (size_t i = 0; i < e->values; i++)
        if (!adx_finite(adj[e->first + i])) {
            s.result.seq = (uint32_t)(e->first + i);
            s.adjoint = adj[e->first + i];
            seen->adjoint = s;
        }
}

// One reverse sweep, then a walk forwards over all entries. Of values and
// partials the first that is not finite is kept, since the others may follow
// from it. Of adjoints it is the last, since the sweep came to that one first.
ADX_API ad_status ad_find_nonfinite(ad_tape *t, ad_rev y, ad_nonfinite *found)
{
    ad_status status = ad_tape_status(t);
    ad_nonfinite seen = {0};
    ad_real *adj = NULL;
    bool run = false;
    adx_site site;

    if (status == ADREV_OK && y.job != 0)
        status = adx_check_query(t, 1, &y, 0, NULL, found == NULL, &run);
    if (status == ADREV_OK && found == NULL)
        status = ADREV_ESHAPE;
    if (status == ADREV_OK)
        status = adx_swept(t, y, &adj);
    if (status != ADREV_OK)
        return status;

    adx_cursor at = { .seq = t->lead };
    for (unsigned header; (header = adx_next_with(t, &at, &site)) != 0;) {
        if (header == ADX_EXTENDED)
            adx_nonfinite_in(t, &at, adj, &site, &seen);
        if (header & ADX_OTHER)
            continue;
        ad_statement s = adx_statement(t, &at, header, &site);
        s.adjoint = adj[at.seq];
        if (seen.value.result.job == 0 && !adx_finite(site.value))
            seen.value = s;
        if (seen.partial.result.job == 0 && !adx_all_finite(&at))
            seen.partial = s;
        if (!adx_finite(s.adjoint))
            seen.adjoint = s;
    }
    *found = seen;
    return ADREV_OK;
}

/* --- ad_explain ---------------------------------------------------------- */

// Inserts a term in the list, the largest first and of equals the earlier. What
// does not fit drops off the end, but is counted.
static void adx_insert(ad_explanation *sum, size_t room, ad_term term[],
                       ad_term new)
{
    ad_real size = adm_fabs(new.product);
    size_t i = sum->listed;

    while (i > 0 && !(adm_fabs(term[i - 1].product) >= size)) {
        if (i < room)
            term[i] = term[i - 1];
        i--;
    }
    if (i < room)
        term[i] = new;
    sum->listed += sum->listed < room;
    sum->terms++;
    sum->size += size;
}

// Adds the one term of an extended statement: what its reverse sweep adds to
// the adjoint of x. That sweep runs again here and changes the adjoints of its
// other operands too. These lie below the statement, where the walk has been
// already, so nobody reads them any more.
static void adx_term_of(ad_tape *t, const adx_cursor *at, ad_real adj[],
                        ad_rev x, const adx_site *site, ad_explanation *sum,
                        size_t room, ad_term term[])
{
    const adx_extended *e = (const adx_extended *)adx_payload(at->op);
    if (e->first <= x.seq)
        return;
    ad_real whole = adj[x.seq];
    adj[x.seq] = 0;
    ad_real product = adx_reverse_extended(t, NULL, at->op, adj, 1)
                    ? adj[x.seq] : 0;
    adj[x.seq] = whole;
    ad_real adjoint = e->values == 1 ? adj[e->first] : 1;
    ad_term new = { adx_value(t, e->first), product / adjoint, adjoint,
                    product, site->file, site->line };
    if (product != 0)
        adx_insert(sum, room, term, new);
}

// After a reverse sweep from y, a walk over all entries collects the uses of x.
// Each use is a term, its partial times the adjoint of the statement, and dy/dx
// is the sum of all terms.
ADX_API ad_status ad_explain(ad_tape *t, ad_rev y, ad_rev x, size_t room,
                             ad_term term[], ad_explanation *sum)
{
    bool missing = sum == NULL || (room > 0 && term == NULL);
    bool run = false;
    ad_status status = adx_check_query(t, 1, &y, 1, &x, missing, &run);
    ad_explanation all = {0};
    ad_real *adj = NULL;
    adx_site site;

    if (status == ADREV_OK)
        status = adx_swept(t, y, &adj);
    if (status != ADREV_OK)
        return status;

    adx_cursor at = { .seq = t->lead };
    for (unsigned header; (header = adx_next_with(t, &at, &site)) != 0;) {
        if (header == ADX_EXTENDED)
            adx_term_of(t, &at, adj, x, &site, &all, room, term);
        for (size_t i = 0; !(header & ADX_OTHER) && i < adx_uses(&at, header);
             i++) {
            adx_operand use = adx_use_of(&at, header, i);
            ad_term new = { adx_value(t, at.seq), use.d, adj[at.seq],
                            adx_absorb(use.d, adj[at.seq]), site.file,
                            site.line };
            if (use.id == x.seq && new.adjoint != 0)
                adx_insert(&all, room, term, new);
        }
    }
    all.derivative = adj[x.seq];
    all.size += x.seq == y.seq;         // dy/dy
    all.condition = all.size == 0 ? 1 : all.size / adm_fabs(all.derivative);
    *sum = all;
    return ADREV_OK;
}

/* --- regions ----------------------------------------------------------------
 * A region's edge is an entry of data. Its first partial, which is 0 in other
 * entries of data, says which edge; behind it lies the name.                 */

#define ADX_BEGIN 1
#define ADX_END   2

static void adx_note_region(const char *name, int edge)
{
    size_t operands = 2 + (sizeof name - 1) / sizeof(adx_operand);
    adx_operand *op = NULL;

    if (adx_now.tape != NULL)
        op = adx_entry(&adx_now, ADX_DATA, operands + 1, 0);
    if (op == NULL)
        return;
    memset(op, 0, (operands + 1) * sizeof *op);
    op[0].d = (ad_real)edge;
    op[0].id = (uint32_t)operands + 1;
    op[operands].id = (uint32_t)operands + 1;
    memcpy(op + 1, &name, sizeof name);
}

ADX_API void ad_region_begin(const char *name)
{
    adx_note_region(name, ADX_BEGIN);
}

ADX_API void ad_region_end(const char *name)
{
    adx_note_region(name, ADX_END);
}

// Which edge of a region an entry is: ADX_BEGIN, ADX_END, or 0 for an entry of
// another kind.
static int adx_edge_of_region(const adx_cursor *at, unsigned header,
                              const char **name)
{
    if (header != ADX_DATA || at->op->d == 0)
        return 0;
    memcpy(name, at->op + 1, sizeof *name);
    *name = *name == NULL ? "" : *name;
    return at->op->d == ADX_BEGIN ? ADX_BEGIN : ADX_END;
}

// Begins or ends a region of that name among the n that are listed, which is
// listed now if it was not. Regions of one name may nest, so each counts how
// often it is open. Returns how many are listed then.
static size_t adx_cross(ad_region region[], size_t n, size_t room,
                        const char *name, int edge)
{
    static const ad_region none = {0};
    size_t i = 0;

    while (i < n && strcmp(region[i].name, name) != 0)
        i++;
    if (i == n && (i == room || edge == ADX_END))
        return n;
    if (i == n) {
        region[n] = none;
        region[n++].name = name;
    }
    region[i].entered += edge == ADX_BEGIN && region[i].adx_open == 0;
    if (edge == ADX_BEGIN)
        region[i].adx_open++;
    else if (region[i].adx_open > 0)
        region[i].adx_open--;
    return n;
}

// Every entry counts for all regions that are open where it stands.
ADX_API size_t ad_tape_regions(const ad_tape *t, size_t room,
                               ad_region region[])
{
    size_t n = 0;
    if (t == NULL || region == NULL)
        return 0;

    adx_cursor at = { .seq = t->lead };
    size_t before = at.seq;
    for (unsigned header; (header = adx_next_entry(t, &at)) != 0;
         before = at.seq) {
        const char *name;
        int edge = adx_edge_of_region(&at, header, &name);
        bool statement = !(header & ADX_OTHER);
        for (size_t i = 0; edge == 0 && i < n; i++)
            if (region[i].adx_open > 0) {
                region[i].statements += statement;
                region[i].operands += statement ? at.operands : 0;
                region[i].values += at.seq - before;
                region[i].bytes += at.operands * sizeof(adx_operand)
                                 + sizeof(uint16_t)
                                 + (at.seq - before) * sizeof(ad_real);
            }
        if (edge != 0)
            n = adx_cross(region, n, room, name, edge);
    }
    return n;
}

ADX_SELDOM_END
