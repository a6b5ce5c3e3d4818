#pragma once

/* === tensor/derive ==========================================================
 * Derivatives of programs. A term of a tangent has the tangent of one factor in
 * place of the factor. A term of an adjoint exchanges what is written and what
 * is read: it has the adjoint of the result in place of a factor, and adds to
 * the adjoint of that factor. All that adds to one adjoint is one value.
 *
 * So a term has a derived term for each of its factors, with the same points:
 * the derivatives of sums and products take a small multiple of the operations
 * of the value, however sparse its points are.
 *
 *   needs   core/cells tensor/api tensor/arena tensor/sets tensor/binding
 *           tensor/programs tensor/sharing
 *   offers  adx_same_rows adx_is_square adx_need_all adx_derive_program
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Whether n forms of a set, from `one` on and from `other` on, are equal.
static bool adx_same_rows(const adx_set *s, uint32_t one, uint32_t other,
                          uint32_t n)
{
    return memcmp(adx_form_of(s, one), adx_form_of(s, other),
                  (size_t)n * s->width * sizeof *s->k) == 0;
}

// Whether a term is the product of a number with itself.
static bool adx_is_square(const ad_tensor *t, const adx_tensor_term *term)
{
    return term->factors == 2 && term->factor[0].value == term->factor[1].value
        && adx_same_rows(term->set, term->factor[0].row, term->factor[1].row,
                         adx_tensor_value_at(t, term->factor[0].value)->dims);
}

// Says whether a derived term, which has all factors of the term `of`, is a
// product of the chain rule: that is so if `of` is one, or a power.
static void adx_set_absorbing(const ad_tensor *t, adx_tensor_term *term,
                              const adx_tensor_term *of)
{
    if (term != NULL && term->factors == 2)
        term->absorbs = of->absorbs || of->in_power || adx_is_square(t, of);
}

// The partial of a function as a factor of a term, times a number.
typedef struct adx_tensor_partial {
    adx_access from;            // value 0: there is none but the number
    ad_real k;
} adx_tensor_partial;

// Finds, from its text in the table, a partial that is an argument, the result,
// or a number. False: it is none of these.
static bool adx_is_plain_partial(ad_tensor *t, uint32_t value, const char *text,
                                 adx_tensor_partial *to)
{
    const adx_tensor_term *of = adx_tensor_value_at(t, value)->term;
    static const char letters[] = "xyz";
    const char *letter = strchr(letters, text[0]);
    bool twice = strcmp(text, "2 * x") == 0;
    to->from.value = to->from.row = 0;
    to->k = twice ? 2 : text[0] == '-' ? -1 : 1;
    if (strcmp(text, "1") == 0 || strcmp(text, "-1") == 0)
        return true;
    if (strcmp(text, "v") == 0) {
        to->from.value = value;
        to->from.row = of->out;
        return true;
    }
    if (twice || (letter != NULL && text[1] == '\0'))
        to->from = of->factor[twice ? 0 : letter - letters];
    return to->from.value != 0;
}

// Returns an argument of a function. A power below 0 is stored as a quotient
// but is derived as a function of its base, because a product of the
// derivatives of the base would be 0 * infinity at 0.
static adx_access adx_argument_at(const adx_tensor_term *term, uint32_t i)
{
    return term->power != 0 && i == 1 ? term->base : term->factor[i];
}

// Makes a partial a value, at the points of a set. The partials of a quotient
// are quotients, 1/y and (x/y)/y, of which the second is subtracted; the
// partial of x^n is x^n/x, times n.
static adx_tensor_partial adx_tensor_partial_of(ad_tensor *t, uint32_t value,
                                         uint32_t which, const adx_set *s)
{
    uint32_t op = adx_tensor_value_at(t, value)->op;
    bool quotient = op == ADREV_OP_div;
    const adx_tensor_term of = adx_tensor_value_at(t, value)->term[0];
    adx_tensor_partial to;
    if (adx_is_plain_partial(t, value, ad_op_table()[op].partial[which], &to))
        return to;
    uint32_t one = quotient && which == 0 ? adx_constant_value(t, 1) : 0;
    uint32_t p = adx_value_like(t, value, quotient ? ADX_VALUE_APPLICATION
                                                   : ADX_VALUE_PARTIAL);
    to.from.value = p;
    to.from.row = of.out;
    to.k = !quotient || which == 0 ? 1 : of.power != 0 ? (ad_real)of.power : -1;
    if (p == 0)
        return to;
    const adx_access above = { which == 0 ? one : value, of.out };
    adx_tensor_value_at(t, p)->op = op;
    adx_tensor_value_at(t, p)->which = which;
    adx_lay_out(t, adx_tensor_value_at(t, p), NULL);
    adx_tensor_term *term = adx_new_tensor_term(t, p, s, of.out, 1);
    for (uint32_t i = 0; i < of.factors; i++)
        adx_add_factor(term, quotient && i == 0 ? above
                                                : adx_argument_at(&of, i));
    to.from.value = adx_complete_value(t, p);
    return to;
}

// Makes a term the product of a partial, if there is one, with a tangent or an
// adjoint.
static void adx_add_chain(adx_tensor_term *term, adx_access partial,
                          adx_access of)
{
    if (partial.value != 0)
        adx_add_factor(term, partial);
    adx_add_factor(term, of);
    if (term != NULL)
        term->absorbs = partial.value != 0;
}

// Whether the table says that this partial of an operation is not zero.
static bool adx_has_partial_text(uint32_t op, uint32_t which)
{
    return strcmp(ad_op_table()[op].partial[which], "0") != 0;
}

/* --- tangents ------------------------------------------------------------ */

// Returns the tangent of a value, which is made when it is first asked for.
static uint32_t adx_tangent_value(ad_tensor *t, uint32_t value)
{
    if (adx_tensor_value_at(t, value)->tangent == 0) {
        uint32_t d = adx_value_like(t, value, ADX_VALUE_SUM);
        adx_tensor_value_at(t, value)->tangent = d;
        adx_tensor_value_at(t, d)->result =
            adx_tensor_value_at(t, value)->result;
    }
    return adx_tensor_value_at(t, value)->tangent;
}

// Adds to the tangent of a value a term that has the tangent of factor `which`
// in place of the factor, times k.
static void adx_tangent_term(ad_tensor *t, uint32_t value,
                             const adx_tensor_term *of, uint32_t which,
                             ad_real k)
{
    adx_set *s = adx_copy_set(of->set);
    const adx_access moved =
        { adx_tensor_value_at(t, of->factor[which].value)->tangent,
            of->factor[which].row };
    if (s == NULL || !adx_restrict(t, &s, moved) || s->empty)
        return;
    uint32_t to = adx_tangent_value(t, value);
    adx_tensor_term *term =
        to == 0 ? NULL : adx_new_tensor_term(t, to, s, of->out, k);
    for (uint32_t i = 0; i < of->factors; i++)
        adx_add_factor(term, i == which ? moved : of->factor[i]);
    adx_set_absorbing(t, term, of);
    if (term != NULL) {
        term->most = of->most;
        term->at = of->at;
        term->picked = of->picked;
    }
}

// Makes the tangent of a function of its arguments: a term for each argument,
// the partial times the tangent of the argument.
static void adx_tangent_of_application(ad_tensor *t, uint32_t value)
{
    const adx_tensor_term of = adx_tensor_value_at(t, value)->term[0];
    for (uint32_t i = 0; i < of.factors; i++) {
        const adx_access x = adx_argument_at(&of, i);
        const adx_access moved =
            { adx_tensor_value_at(t, x.value)->tangent, x.row };
        adx_set *s = adx_copy_set(of.set);
        if (moved.value == 0
            || !adx_has_partial_text(adx_tensor_value_at(t, value)->op, i))
            continue;
        if (s == NULL || !adx_restrict(t, &s, moved))
            return;
        const adx_tensor_partial partial =
            adx_tensor_partial_of(t, value, i, s);
        uint32_t to = adx_tangent_value(t, value);
        adx_tensor_term *term = to == 0 ? NULL
                              : adx_new_tensor_term(t, to, s, of.out,
                                                    partial.k);
        adx_add_chain(term, partial.from, moved);
    }
}

// Makes the tangent of a minimum or maximum: each term has the tangent of the
// number that it looked at, and only that of the number picked counts.
static void adx_tangent_of_most(ad_tensor *t, uint32_t value)
{
    for (uint32_t i = 0; i < adx_tensor_value_at(t, value)->terms; i++) {
        const adx_tensor_term of = adx_tensor_value_at(t, value)->term[i];
        const adx_access moved =
            { adx_tensor_value_at(t, of.factor[0].value)->tangent,
                of.factor[0].row };
        uint32_t to = moved.value == 0 ? 0 : adx_tangent_value(t, value);
        if (to == 0)
            continue;
        adx_tensor_value_at(t, moved.value)->cleared = true;
        adx_tensor_term *term = adx_new_tensor_term(t, to, of.set, of.out, 1);
        adx_add_factor(term, moved);
        if (term != NULL) {
            term->most = value;
            term->at = of.out;
            term->picked = of.factor[0];
        }
    }
}

// Returns the derivative of a partial by argument `by`, at the points of a set.
// 0: it is 0 everywhere, or there is no memory. An argument without a partial
// is a whole number, as that of powi, and a constant in other partials, too.
static uint32_t adx_second_of(ad_tensor *t, uint32_t partial, uint32_t by,
                              const adx_set *s)
{
    const adx_tensor_value like = *adx_tensor_value_at(t, partial);
    const adx_tensor_term of = like.term[0];
    adx_tensor_second *second = !adx_has_partial_text(like.op, by) ? NULL
                              : ADX_GET(&t->arena, 1, adx_tensor_second);
    if (second == NULL)
        return 0;
    adx_parse_partial(like.op, like.which, &second->cell);
    second->by = by;
    second->moving = adx_moving_terms(
        &second->cell, (uint64_t)1 << by | (uint64_t)1 << ADX_TERM_VALUE);
    if (second->cell.wrong)     // no operation's is
        adx_arena_fail(&t->arena, ADREV_EEXTERNAL);
    if ((second->moving >> second->cell.result & 1) == 0)
        return 0;
    uint32_t value = adx_value_like(t, partial, ADX_VALUE_SECOND);
    if (value == 0)
        return 0;
    adx_tensor_value *v = adx_tensor_value_at(t, value);
    v->op = like.op;
    v->which = like.which;
    v->second = second;
    adx_tensor_term *term = adx_new_tensor_term(t, value, s, of.out, 1);
    for (uint32_t i = 0; i < of.factors; i++)
        adx_add_factor(term, of.factor[i]);
    adx_finish_value(t, value);
    return value;
}

// Makes the tangent of a partial: a term for each argument, the second partial
// times the tangent of the argument.
static void adx_tangent_of_partial(ad_tensor *t, uint32_t value)
{
    const adx_tensor_term of = adx_tensor_value_at(t, value)->term[0];
    for (uint32_t i = 0; i < of.factors; i++) {
        const adx_access moved = {
            adx_tensor_value_at(t, of.factor[i].value)->tangent,
            of.factor[i].row
        };
        adx_set *s = moved.value == 0 ? NULL : adx_copy_set(of.set);
        if (s == NULL || !adx_restrict(t, &s, moved) || s->empty)
            continue;
        const adx_access second = { adx_second_of(t, value, i, s), of.out };
        uint32_t to = second.value == 0 ? 0 : adx_tangent_value(t, value);
        adx_tensor_term *term = to == 0 ? NULL
                              : adx_new_tensor_term(t, to, s, of.out, 1);
        adx_add_chain(term, second, moved);
    }
}

// Makes the tangent of a value, if it depends on a number that moves. A square
// is derived once, with the factor 2.
static void adx_tangent_of(ad_tensor *t, uint32_t value)
{
    const adx_tensor_value *v = adx_tensor_value_at(t, value);
    if (v->fixed || v->kind <= ADX_VALUE_WEIGHT)
        return;
    if (v->kind == ADX_VALUE_APPLICATION && v->terms > 0)
        adx_tangent_of_application(t, value);
    else if (v->kind == ADX_VALUE_PARTIAL)
        adx_tangent_of_partial(t, value);
    else if (v->kind == ADX_VALUE_MOST)
        adx_tangent_of_most(t, value);
    else
        for (uint32_t i = 0; i < adx_tensor_value_at(t, value)->terms; i++) {
            const adx_tensor_term of = adx_tensor_value_at(t, value)->term[i];
            bool square = adx_is_square(t, &of);
            for (uint32_t j = 0; j < (square ? 1 : of.factors); j++)
                if (adx_tensor_value_at(t, of.factor[j].value)->tangent != 0)
                    adx_tangent_term(t, value, &of, j,
                                     square ? 2 * of.k : of.k);
        }
    uint32_t tangent = adx_tensor_value_at(t, value)->tangent;
    if (tangent != 0) {
        tangent = adx_complete_value(t, tangent);
        adx_tensor_value_at(t, value)->tangent = tangent;
    }
}

/* --- adjoints ------------------------------------------------------------ */

// Returns the adjoint of a value, which it gets when it is first asked for. 0:
// no memory.
static uint32_t adx_adjoint_value(ad_tensor *t, uint32_t value)
{
    if (adx_tensor_value_at(t, value)->adjoint == 0) {
        uint32_t d = adx_value_like(t, value, ADX_VALUE_SUM);
        adx_tensor_value_at(t, value)->adjoint = d;
    }
    return adx_tensor_value_at(t, value)->adjoint;
}

// Whether derivatives of a value are of use: it depends on inputs.
static bool adx_is_active(const ad_tensor *t, uint32_t value)
{
    return adx_tensor_value_at(t, value)->tangent != 0;
}

// Adds a term to the adjoint of factor `which`: of the other factors and the
// adjoint of the result, at the points of s, where that is.
static void adx_adjoint_term(ad_tensor *t, const adx_set *s,
                             const adx_tensor_term *of, uint32_t which,
                             adx_access above, ad_real k)
{
    uint32_t to = adx_adjoint_value(t, of->factor[which].value);
    adx_tensor_term *term =
        to == 0 ? NULL
                  : adx_new_tensor_term(t, to, s, of->factor[which].row, k);
    for (uint32_t i = 0; i < of->factors; i++)
        if (i != which)
            adx_add_factor(term, of->factor[i]);
    adx_add_factor(term, above);
    adx_set_absorbing(t, term, of);
    if (term != NULL) {
        term->most = of->most;
        term->at = of->at;
        term->picked = of->picked;
    }
}

// Adds, to the adjoint of each argument of a function, the partial times the
// adjoint of the result (above).
static void adx_adjoint_of_application(ad_tensor *t, uint32_t value,
                                       const adx_tensor_term *of,
                                       const adx_set *s, adx_access above)
{
    uint32_t op = adx_tensor_value_at(t, value)->op;
    for (uint32_t i = 0; i < of->factors; i++) {
        const adx_access x = adx_argument_at(of, i);
        if (!adx_is_active(t, x.value)
            || !adx_has_partial_text(op, i))
            continue;
        const adx_tensor_partial partial =
            adx_tensor_partial_of(t, value, i, s);
        uint32_t to = adx_adjoint_value(t, x.value);
        adx_tensor_term *term = to == 0 ? NULL
            : adx_new_tensor_term(t, to, s, x.row, partial.k);
        adx_add_chain(term, partial.from, above);
    }
}

// Adds what a value contributes to the adjoints of the values from which it is
// made. Its own adjoint is complete.
static void adx_adjoint_of(ad_tensor *t, uint32_t value)
{
    uint32_t y = adx_tensor_value_at(t, value)->adjoint;
    if (y == 0)
        return;
    if (adx_tensor_value_at(t, y)->kind == ADX_VALUE_SUM) {
        y = adx_complete_value(t, y);
        adx_tensor_value_at(t, value)->adjoint = y;
    }
    if (adx_tensor_value_at(t, value)->fixed)
        return;
    for (uint32_t i = 0; i < adx_tensor_value_at(t, value)->terms; i++) {
        adx_tensor_term of = adx_tensor_value_at(t, value)->term[i];
        adx_value_kind kind = adx_tensor_value_at(t, value)->kind;
        const adx_access above = { y, of.out };
        adx_set *s = adx_copy_set(of.set);
        if (s == NULL || !adx_restrict(t, &s, above) || s->empty)
            continue;
        if (kind == ADX_VALUE_APPLICATION) {
            adx_adjoint_of_application(t, value, &of, s, above);
            continue;
        }
        if (kind == ADX_VALUE_MOST) {
            of.most = value;
            of.at = of.out;
            of.picked = of.factor[0];
        }
        bool square = adx_is_square(t, &of);
        for (uint32_t j = 0; j < (square ? 1 : of.factors); j++)
            if (adx_is_active(t, of.factor[j].value))
                adx_adjoint_term(t, s, &of, j, above,
                                 square ? 2 * of.k : of.k);
    }
}

/* --- of a program -------------------------------------------------------- */

// Begins the adjoint of a result with its weight.
static void adx_begin_adjoint(ad_tensor *t, uint32_t out, uint32_t weight)
{
    const adx_access w = { weight, 0 };
    uint32_t to = adx_adjoint_value(t, out);
    adx_set *s =
        to == 0 ? NULL : adx_all_indices(t, adx_tensor_value_at(t, out));
    if (s != NULL && !s->empty)
        adx_add_factor(adx_new_tensor_term(t, to, s, 0, 1), w);
}

// Makes a value that the caller gives, with the indices of another: a tangent
// of an input, or a weight of a result.
static uint32_t adx_given_like(ad_tensor *t, uint32_t like, adx_value_kind kind,
                               uint32_t order)
{
    uint32_t v = adx_value_like(t, like, kind);
    if (v != 0)
        adx_tensor_value_at(t, v)->order = order;
    return v;
}

// Finds every value that a needed value needs.
static void adx_need_all(const adx_tensor_program *p, bool needed[])
{
    for (uint32_t i = p->steps; i-- > 0;) {
        const adx_tensor_value *v = &p->value[p->order[i]];
        for (uint32_t j = 0; needed[p->order[i]] && j < v->terms; j++) {
            for (uint32_t f = 0; f < v->term[j].factors; f++)
                needed[v->term[j].factor[f].value] = true;
            if (v->term[j].most != 0)
                needed[v->term[j].most] =
                    needed[v->term[j].picked.value] = true;
        }
    }
}

// Makes the tangents of what adjoints are made of: of their own values, and of
// those partials that tangents have, too.
static void adx_derive_adjoints(ad_tensor *t, uint32_t tangents)
{
    adx_tensor_program *p = t->program;
    bool *needed = ADX_GET(&t->arena, p->values, bool);
    uint32_t steps = p->steps;
    for (uint32_t i = 0; needed != NULL && i < t->tree.inputs; i++)
        needed[p->adjoint_in[i]] = true;
    if (needed != NULL)
        adx_need_all(p, needed);
    for (uint32_t i = p->primal; i < steps && t->arena.status == ADREV_OK; i++)
        if (i >= tangents || needed[p->order[i]])
            adx_tangent_of(t, p->order[i]);
}

// Adds tangents and adjoints of all values to the program.
static void adx_derive_program(ad_tensor *t)
{
    adx_tensor_program *p = t->program;
    for (uint32_t i = 0; i < t->tree.inputs; i++) {
        p->tangent_in[i] = adx_given_like(t, p->input[i], ADX_VALUE_TANGENT_IN,
                                          i);
        adx_tensor_value_at(t, p->input[i])->tangent = p->tangent_in[i];
    }
    p->primal = p->steps;
    for (uint32_t i = 0; i < p->primal && t->arena.status == ADREV_OK; i++)
        adx_tangent_of(t, p->order[i]);
    uint32_t tangents = p->steps;
    for (uint32_t i = 0; i < t->tree.outs; i++) {
        p->weight[i] = adx_given_like(t, p->out[i], ADX_VALUE_WEIGHT, i);
        p->tangent_out[i] = adx_tensor_value_at(t, p->out[i])->tangent;
        if (p->weight[i] != 0 && p->tangent_out[i] != 0)
            adx_begin_adjoint(t, p->out[i], p->weight[i]);
    }
    for (uint32_t i = p->primal; i-- > 0 && t->arena.status == ADREV_OK;)
        adx_adjoint_of(t, p->order[i]);
    for (uint32_t i = 0; i < t->tree.inputs; i++) {
        p->adjoint_in[i] = adx_tensor_value_at(t, p->input[i])->adjoint;
        if (p->adjoint_in[i] != 0) {
            adx_tensor_value_at(t, p->adjoint_in[i])->result = true;
            adx_complete_value(t, p->adjoint_in[i]);
        }
    }
    adx_derive_adjoints(t, tangents);
    for (uint32_t i = 0; i < t->tree.inputs; i++)
        p->second_in[i] = p->adjoint_in[i] == 0 ? 0
            : adx_tensor_value_at(t, p->adjoint_in[i])->tangent;
}

ADX_SELDOM_END
