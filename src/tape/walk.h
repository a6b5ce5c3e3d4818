#pragma once

/* === tape/walk ==============================================================
 * Walking from entry to entry, forwards and backwards; sizes and statistics.
 *
 *   needs   number/recording tape/layout tape/memory tape/entries tape/hooks
 *   offers  adx_cursor adx_operands adx_values adx_put_cursor adx_next_entry
 *           adx_from adx_annexed_tape adx_adjoints
 * ========================================================================== */

typedef struct adx_cursor {
    const adx_block *block;
    const adx_operand *op;      // of the entry
    const uint16_t *head;       // of the entry
    const uint16_t *end;        // last header of the block
    size_t operands;            // of the entry
    size_t seq;                 // id of its last value
    const adx_place *until;     // where to stop; NULL: at the recording's end
} adx_cursor;

// Number of operands of an entry; edge: its first or its last operand.
static inline size_t adx_operands(unsigned header, const adx_operand *edge)
{
    return header == ADX_INPUTS ? 1
         : (ADREV_DEBUG || !ADREV_FIXED) && header == ADX_SITE
         ? ADX_SITE_OPERANDS
         : header >= ADX_DATA ? edge->id
         : header & ADX_COUNT;
}

// Number of values that an entry makes.
static inline size_t adx_values(unsigned header, const adx_operand *first)
{
    return !(header & ADX_OTHER) ? 1
         : header == ADX_INPUTS || header == ADX_GAP ? first->id
         : ADREV_FIXED == 2 || header != ADX_EXTENDED ? 0
         : ((const adx_extended *)adx_payload(first))->values;
}

// Puts a cursor between two entries.
static void adx_put_cursor(const ad_tape *t, adx_cursor *at,
                           const adx_place *place)
{
    const adx_block *last = at->until == NULL ? t->block : at->until->block;
    at->block = place->block;
    at->op = place->op;
    at->operands = 0;
    at->head = place->head;
    at->seq = place->seq;
    at->end = place->block == NULL ? place->head    // before the first block
            : place->block != last ? place->block->head
            : at->until == NULL ? adx_live(t)->head : at->until->head;
}

// Goes to the next entry; a new cursor goes to the first. Returns its header,
// or 0 at the end.
static inline unsigned adx_next_entry(const ad_tape *t, adx_cursor *at)
{
    const adx_block *last = at->until == NULL ? t->block : at->until->block;
    while (at->head == at->end) {
        const adx_block *b = at->block == NULL ? t->first : at->block->next;
        if (b == NULL || at->block == last)
            return 0;
        adx_place bottom = { b, adx_bottom(b), adx_top_of_block(b), at->seq };
        adx_put_cursor(t, at, &bottom);
    }
    unsigned header = *--at->head;
    at->op += at->operands;
    at->operands = adx_operands(header, at->op);
    at->seq += adx_values(header, at->op);
    return header;
}

// A cursor before the first entry behind a mark; of an empty mark, before all.
static adx_cursor adx_from(const ad_tape *t, const ad_mark *mark)
{
    adx_cursor at = { .seq = t->lead };
    const adx_place place = { (const adx_block *)mark->adx_block,
                              (const adx_operand *)mark->adx_op,
                              (const uint16_t *)mark->adx_head,
                              mark->adx_seq };

    if (place.block != NULL)
        adx_put_cursor(t, &at, &place);
    return at;
}

// The i-th further tape of the same recording; NULL: there are not so many.
static ad_tape *adx_annexed_tape(const ad_tape *t, size_t i)
{
    return adx_annex_of(t) == NULL ? NULL : adx_annex_of(t)->further(t, i);
}

// Adds the bytes of operands and headers in a block.
static void adx_count(const ad_tape *t, const adx_block *b, size_t *operands,
                      size_t *headers)
{
    const adx_context *c = adx_live(t);
    const adx_operand *op = b == t->block ? c->op : b->op;
    const uint16_t *head = b == t->block ? c->head : b->head;
    *operands += (size_t)((const char *)op - (const char *)adx_bottom(b));
    *headers += (size_t)((const char *)adx_top_of_block(b)
                         - (const char *)head);
}

ADX_API size_t ad_tape_bytes(const ad_tape *t)
{
    size_t operands = 0;
    size_t headers = 0;
    if (t == NULL)
        return 0;

    for (const adx_block *b = t->block; b != NULL; b = b->prev)
        adx_count(t, b, &operands, &headers);
    size_t adjoints = (adx_live(t)->seq + 1 + t->scratch) * sizeof(ad_real);
    size_t bytes = sizeof(ad_tape) + sizeof(adx_block)
        + adx_round_up(adx_round_up(operands) + adjoints + headers);
    for (size_t i = 0; adx_annexed_tape(t, i) != NULL; i++)
        if (adx_live(adx_annexed_tape(t, i))->seq > 0)
            bytes += ad_tape_bytes(adx_annexed_tape(t, i));
    return bytes;
}

ADX_API ad_stats ad_tape_stats(const ad_tape *t)
{
    ad_stats stats = {0};
    if (t == NULL)
        return stats;

    adx_cursor at = { .seq = t->lead };
    for (unsigned header; (header = adx_next_entry(t, &at)) != 0;)
        if (!(header & ADX_OTHER)) {
            stats.statements++;
            stats.operands += at.operands;
        } else if (header == ADX_EXTENDED) {
            const adx_extended *e = adx_payload(at.op);
            stats.statements++;
            stats.operands += e->operands;
        }
    stats.values = adx_live(t)->seq;
    stats.bytes_held = t->bytes;
    for (size_t i = 0; adx_annexed_tape(t, i) != NULL; i++) {
        ad_stats others = ad_tape_stats(adx_annexed_tape(t, i));
        stats.values += others.values;
        stats.statements += others.statements;
        stats.operands += others.operands;
        stats.bytes_held += others.bytes_held;
    }
    stats.bytes = ad_tape_bytes(t);
    stats.bytes_most = stats.bytes > t->most ? stats.bytes : t->most;
    return stats;
}

ADX_API void ad_tape_where(const ad_tape *t, ad_rev x, const char **file,
                           int *line)
{
    adx_site site = {0};

    if (t != NULL && adx_member(t, x)) {
        adx_cursor at = { .seq = t->lead };
        for (unsigned header; at.seq < x.seq
             && (header = adx_next_entry(t, &at)) != 0;) {
            if (header == ADX_SITE)
                memcpy(&site, at.op, sizeof site);
            else if (at.seq < x.seq || header == ADX_INPUTS)
                memset(&site, 0, sizeof site);
        }
    }
    *file = site.file;
    *line = site.line;
}

// Room for the adjoints of so many values in `width` directions, with one more
// for id 0, and for what a sweep needs besides. Not cleared; NULL: no memory.
static ad_real *adx_adjoints(ad_tape *t, size_t values, size_t width)
{
    size_t count = (values + 1 + t->scratch) * width;
    adx_context *c = adx_live(t);

    if (adx_has_fixed_memory(t)) {
        size_t offset = adx_round_up((size_t)((char *)c->op - (char *)t));
        ad_real *p = (ad_real *)((char *)t + offset);
        return (char *)p > (char *)c->head
            || (size_t)((char *)c->head - (char *)p) / sizeof *p < count
             ? NULL : p;
    }
#if ADREV_FIXED
    return NULL;
#else
    if (count > t->adjoint_count) {
        size_t bytes = (count + count / 8) * sizeof(ad_real);
        if (t->adjoint != NULL)
            adx_free(t, t->adjoint, t->adjoint_count * sizeof(ad_real));
        t->adjoint = (ad_real *)adx_alloc(t, bytes);
        t->adjoint_count = t->adjoint == NULL ? 0 : bytes / sizeof(ad_real);
    }
    return t->adjoint;
#endif
}

ADX_API ad_status ad_tape_reserve(ad_tape *t, size_t statements,
                                  size_t operands)
{
    if (t == NULL)
        return ADREV_ENOTAPE;
    adx_context *c = adx_live(t);
    if (t->status != ADREV_OK)
        return t->status;
    if (statements > ADX_MOST_ELEMENTS || operands > ADX_MOST_ELEMENTS)
        return adx_has_fixed_memory(t) ? ADREV_EFULL : ADREV_ENOMEM;

    size_t inputs = c->head == t->start ? 0 : ADX_LEAST;
    size_t need = inputs + statements * sizeof(uint16_t)
                + operands * sizeof(adx_operand);
    if (ADREV_DEBUG)
        need += statements * (sizeof(uint16_t)
                              + ADX_SITE_OPERANDS * sizeof(adx_operand));
    if (adx_has_fixed_memory(t)) {
        size_t adjoints = (c->seq + 1 + statements + t->scratch)
                        * sizeof(ad_real);
        return adx_gap(c) < need + adjoints + 8 ? ADREV_EFULL : ADREV_OK;
    }
#if !ADREV_FIXED
    if ((t->block == NULL || adx_gap(c) < need)
        && adx_next_block(t, need) == NULL)
        return ADREV_ENOMEM;
#endif
    if (t->block == NULL) {
        adx_enter_block(t, c, t->first);
        adx_settle(t, c);
    }
    return adx_adjoints(t, c->seq + statements, 1) == NULL ? ADREV_ENOMEM
                                                           : ADREV_OK;
}
