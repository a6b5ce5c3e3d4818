#pragma once

/* === tensor/syntax ==========================================================
 * From a text to its tree: declarations and formulas. Each rule of the grammar
 * is a function (recursive descent), here and in tensor/expressions,
 * tensor/conditions and tensor/forms. A name stands for what the text before it
 * says, so one pass is enough.
 *
 *     text    = { item ";" }
 *     item    = "in" name [ "[" range, .. "]" ], ..
 *             | "rel" name "[" range, .. "]", ..
 *             | "map" name "[" range "]" -> range, ..
 *             | [ "out" ] name [ "[" index, .. "]" ] = sum
 *     range   = form | form : form | relation
 *
 *   needs   tape/memory tensor/api tensor/tree tensor/messages tensor/scan
 *           tensor/names tensor/forms tensor/conditions tensor/expressions
 *           tensor/binding
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- formulas ------------------------------------------------------------ */

// Adds a dimension to the array, relation or map that is being declared.
static void adx_add_dim(adx_parser *p, uint32_t from, uint32_t to,
                        uint32_t relation, uint32_t column)
{
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(p->tree, dim) : 0;
    const adx_dim dim = { from, to, relation, column };
    if (i == 0)
        adx_stop_parsing(p, ADREV_ENOMEM);
    p->tree->dim[i] = dim;
}

// Returns the array that a formula makes: its dimensions are the ranges of its
// indices.
static uint32_t adx_make_result(adx_parser *p, adx_spot name, uint32_t first,
                                uint32_t rank, bool out)
{
    adx_tree *tree = p->tree;
    uint32_t dims = (uint32_t)tree->dim_count;
    for (uint32_t i = 0; i < rank && p->status == ADREV_OK; i++)
        adx_add_dim(p, tree->index[first + i].from, tree->index[first + i].to,
                    0, 0);
    uint32_t array = p->status == ADREV_OK ? ADX_ONE_MORE(tree, array) : 0;
    if (array == 0)
        adx_stop_parsing(p, ADREV_ENOMEM);
    adx_tensor_array *a = &tree->array[array];
    a->name = name;
    a->first = dims;
    a->rank = rank;
    a->formula = (uint32_t)tree->formula_count;
    a->out = out;
    a->order = out ? tree->outs++ : 0;
    adx_declare(p, name, ADX_NAMES_ARRAY, array);
    return array;
}

// Reads the name on the left side of a formula. Inputs and others cannot stand
// there.
static adx_spot adx_read_left_name(adx_parser *p)
{
    const adx_declared *d = p->kind == ADX_WORD_NAME
                          ? adx_declared_at(p->tree, p->spot) : NULL;
    bool array = d != NULL && d->kind == ADX_NAMES_ARRAY;
    if (array && p->tree->array[d->of].formula == 0)
        adx_wrong_at(p, p->spot.at, "'%w' is an input: a formula cannot make "
                     "it", p->spot);
    else if (array)
        adx_wrong_at(p, p->spot.at, "'%w' has a formula already, in line %u",
                     p->spot, adx_line_of(p->tree, d->name.at));
    return adx_new_name(p, "the name of a result");
}

// Reads a formula: the name of the result with its indices, and the expression.
static void adx_read_formula(adx_parser *p, bool out)
{
    adx_tree *tree = p->tree;
    uint32_t first = (uint32_t)tree->index_count;
    p->first = first;
    adx_spot name = adx_read_left_name(p);
    if (adx_accept(p, '[')) {
        adx_read_bound(p);
        adx_expect(p, ']', "']'");
    }
    uint32_t rank = p->bounds;
    if (p->kind == ADX_WORD_EQ)
        adx_wrong_at(p, p->spot.at, "a formula has one '='");
    adx_expect(p, '=', p->kind == ';' || p->kind == ','
               ? "'=', or 'in' before an input," : rank == 0 ? "'=' or '['"
                                                             : "'='");
    p->making = name;
    uint32_t body = adx_read_sum(p);
    adx_unbind(p, 0);
    uint32_t array = adx_make_result(p, name, first, rank, out);
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(tree, formula) : 0;
    if (i == 0)
        adx_stop_parsing(p, ADREV_ENOMEM);
    const adx_tensor_formula formula = {
        array, first, (uint32_t)tree->index_count - first, body
    };
    tree->formula[i] = formula;
}

/* --- declarations -------------------------------------------------------- */

// Reads the relation at hand, as the first range of an array.
static void adx_read_columns(adx_parser *p, uint32_t relation, bool allowed)
{
    const adx_tensor_relation r = p->tree->relation[relation];
    if (!allowed)
        adx_wrong_at(p, p->spot.at, "'%w' is a relation: it can only be the "
                     "first range of an input", p->spot);
    for (uint32_t k = 0; k < r.arity; k++) {
        const adx_dim d = p->tree->dim[r.first + k];
        adx_add_dim(p, d.from, d.to, relation, k);
    }
    adx_take_word(p);
}

// Reads "[", ranges, "]", or nothing at all if that is allowed. Returns how
// many dimensions they are, from *first on.
static uint32_t adx_read_dims(adx_parser *p, uint32_t *first, bool array)
{
    adx_tree *tree = p->tree;
    *first = (uint32_t)tree->dim_count;
    if (array && p->kind != '[')
        return 0;
    adx_expect(p, '[', "'['");
    do {
        const adx_declared *d = p->kind == ADX_WORD_NAME
                              ? adx_declared_at(tree, p->spot) : NULL;
        uint32_t from = 1;
        uint32_t to = 0;
        if (d != NULL && d->kind == ADX_NAMES_RELATION)
            adx_read_columns(p, d->of, array && tree->dim_count == *first);
        else {
            adx_read_range(p, ADX_FORM_DECLARING, &from, &to);
            adx_add_dim(p, from, to, 0, 0);
        }
    } while (adx_accept(p, ','));
    uint32_t rank = (uint32_t)tree->dim_count - *first;
    if (rank > ADX_BOUND_MOST)
        adx_wrong_at(p, p->spot.at, "more than %u indices in one place",
                     (uint32_t)ADX_BOUND_MOST);
    adx_expect(p, ']', "']'");
    return rank;
}

// Reads one input of an `in`: its name and its ranges.
static void adx_read_input(adx_parser *p)
{
    adx_tree *tree = p->tree;
    uint32_t first;
    adx_spot name = adx_new_name(p, "the name of an input");
    uint32_t rank = adx_read_dims(p, &first, true);
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(tree, array) : 0;
    adx_tensor_array *a = &tree->array[i];
    a->name = name;
    a->first = first;
    a->rank = rank;
    a->order = tree->inputs++;
    adx_declare(p, name, ADX_NAMES_ARRAY, i);
}

// Reads one relation of a `rel`: its name and its ranges.
static void adx_read_relation(adx_parser *p)
{
    adx_tree *tree = p->tree;
    uint32_t first;
    adx_spot name = adx_new_name(p, "the name of a relation");
    uint32_t arity = adx_read_dims(p, &first, false);
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(tree, relation) : 0;
    const adx_tensor_relation relation = { name, first, arity };
    tree->relation[i] = relation;
    adx_declare(p, name, ADX_NAMES_RELATION, i);
}

// Reads the declaration of a map.
static void adx_read_map_declared(adx_parser *p)
{
    adx_tree *tree = p->tree;
    uint32_t first;
    uint32_t from;
    uint32_t to;
    adx_spot name = adx_new_name(p, "the name of a map");
    if (adx_read_dims(p, &first, false) > 1)
        adx_wrong_at(p, name.at, "a map has one index");
    adx_expect(p, ADX_WORD_ARROW, "'->' and the range of the values");
    adx_read_range(p, ADX_FORM_DECLARING, &from, &to);
    adx_add_dim(p, from, to, 0, 0);
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(tree, map) : 0;
    const adx_tensor_map map = { name, first, first + 1 };
    tree->map[i] = map;
    adx_declare(p, name, ADX_NAMES_MAP, i);
}

/* --- the text ------------------------------------------------------------ */

// Reads one declaration, of one or several names, or one formula.
static void adx_read_item(adx_parser *p)
{
    void (*read)(adx_parser *) = adx_is_word(p, "in") ? adx_read_input
                               : adx_is_word(p, "rel") ? adx_read_relation
                               : adx_is_word(p, "map") ? adx_read_map_declared
                               : NULL;
    if (read != NULL) {
        do {
            adx_take_word(p);           // the word, or a comma
            read(p);
        } while (p->kind == ',');
        adx_expect(p, ';', "',' or ';'");
    } else if (p->kind == ADX_WORD_NAME) {
        bool out = adx_is_word(p, "out");
        if (out)
            adx_take_word(p);
        adx_read_formula(p, out);
        adx_end_sum(p, ';');
    } else
        adx_say_missing(p, "a declaration or a formula");
}

// Reads all of the text, which must define a result.
static void adx_read_text(adx_parser *p)
{
    const adx_tree *tree = p->tree;
    adx_take_from(p, 0);
    if (p->kind == ADX_WORD_END)
        adx_wrong_at(p, 0, "the text is empty");
    while (p->kind != ADX_WORD_END)
        adx_read_item(p);
    if (p->status == ADREV_OK && tree->outs == 0)
        adx_wrong_at(p, p->behind, "the text has no 'out': write it before the "
                     "results that you want");
}

/* --- the interface ------------------------------------------------------- */

// Makes the tree of a text. What the tree has when this fails is freed with it.
static ad_status adx_read_tensor(ad_tensor *t, const char *text, size_t length,
                                 ad_tensor_error *error)
{
    adx_parser p;
    memset(&p, 0, sizeof p);
    p.tree = &t->tree;
    p.error = error;
    if (!adx_begin_tree(&t->tree, &t->memory, text, length)) {
        adx_explain_status(error, ADREV_ENOMEM);
        return ADREV_ENOMEM;
    }
    adx_read_text(&p);
    adx_drop(&t->memory, p.term);
    return p.status;
}

ADX_API void ad_tensor_free(ad_tensor *t)
{
    if (t == NULL)
        return;
    const ad_allocator memory = t->memory;
    adx_free_given(t);
    adx_free_tree(&t->tree);
    adx_drop(&memory, t);
}

// Makes a tensor from its text. On failure the error says why, and where.
static ad_status adx_new_tensor(ad_tensor **out, const char *text,
                                const ad_tensor_options *options,
                                ad_tensor_error *error)
{
    const ad_allocator *a =
        adx_allocator_or(options == NULL ? NULL : options->allocator);
    size_t length = text == NULL ? 0 : strlen(text);
    ad_status status = text == NULL || length > ADX_TEXT_MOST ? ADREV_ESHAPE
                                                              : ADREV_ENOMEM;
    ad_tensor *t = status == ADREV_ESHAPE || a == NULL
                 ? NULL : (ad_tensor *)adx_take(a, 1, sizeof *t);
    if (t == NULL) {
        adx_explain_status(error, status);
        return status;
    }
    memset(t, 0, sizeof *t);
    t->memory = *a;
    if (options != NULL)
        t->options = *options;
    t->options.allocator = &t->memory;
    status = adx_read_tensor(t, text, length, error);
    if (status == ADREV_OK && !adx_begin_given(t)) {
        adx_explain_status(error, ADREV_ENOMEM);
        status = ADREV_ENOMEM;
    }
    if (status == ADREV_OK)
        *out = t;
    else
        ad_tensor_free(t);
    return status;
}

ADX_API ad_status ad_tensor_new(ad_tensor **out, const char *text,
                                const ad_tensor_options *options,
                                ad_tensor_error *error)
{
    ad_tensor_error unwanted;
    if (out == NULL)
        return ADREV_ESHAPE;
    *out = NULL;
    return adx_new_tensor(out, text, options,
                          error == NULL ? &unwanted : error);
}

ADX_SELDOM_END
