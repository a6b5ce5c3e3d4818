#pragma once

/* === function/formulas ======================================================
 * Makes nodes of a program from the cells of the operator table. In this way
 * partials enter a program, and partials of partials.
 *
 *   needs   tape/memory core/cells function/program function/unique
 *           function/emit
 *   offers  adx_partial_of
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Keeps the terms of a cell for the next time. If there is no memory, nothing
// is lost: the cell is then read again.
static void adx_keep_cell(adx_program *p, uint32_t op, int i,
                          const adx_formula *f)
{
    if (p->cells == NULL) {
        p->cells = (adx_cells *)adx_take(p->memory, 1, sizeof *p->cells);
        if (p->cells != NULL)
            memset(p->cells, 0, sizeof *p->cells);
    }
    adx_cells *k = p->cells;
    if (k == NULL || !adx_extend(p->memory, (void **)&k->term, &k->room,
                                 k->terms + f->terms, sizeof *k->term))
        return;
    k->of[op][i] = (adx_known_cell){ (uint16_t)k->terms, f->terms, f->result,
                                     true };
    for (size_t j = 0; j < f->terms; j++)
        k->term[k->terms++] = f->term[j];
}

// Returns the terms of a cell, which are in f or in the cells that the program
// keeps. f says how many there are, and which of them is the result.
static const adx_term *adx_read_cell(adx_program *p, uint32_t op, int i,
                                     adx_formula *f)
{
    const adx_known_cell *cell = p->cells == NULL ? NULL
                               : &p->cells->of[op][i];
    if (cell != NULL && cell->known) {
        f->terms = cell->terms;
        f->result = cell->result;
        return cell->terms > 0 ? p->cells->term + cell->first : f->term;
    }
    adx_parse_partial(op, (uint32_t)i, f);
    if (f->wrong)
        adx_spoil(p, ADREV_EHOOK);
    adx_keep_cell(p, op, i, f);
    return f->term;
}

// Makes partial i of an operation on n numbers of each argument, whose result
// is v: the terms of the cell become nodes, in their order. made[] has the
// range that each index of a term stands for.
static adx_numbers adx_partial_of(adx_program *p, size_t n, uint32_t op, int i,
                                  const adx_numbers arg[3], adx_numbers v)
{
    adx_formula f;
    const adx_term *term = adx_read_cell(p, op, i, &f);
    adx_numbers made[ADX_TERM_FIRST + ADX_TERMS];
    adx_numbers *to = made + ADX_TERM_FIRST;
    for (int k = 0; k < 3; k++)
        made[k] = arg[k];
    made[3] = v;
    for (; f.terms > 0; f.terms--, term++)
        *to++ = term->op == ADX_TERM_NUMBER
              ? adx_single(adx_fixed(p, term->v))
              : adx_emit_each(p, n, term->op, made[term->arg[0]],
                              made[term->arg[1]], made[term->arg[2]]);
    return made[f.result];
}

ADX_SELDOM_END
