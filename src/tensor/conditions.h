#pragma once

/* === tensor/conditions ======================================================
 * Conditions, and the indices that sums and left sides bind.
 *
 *     condition  = both { "|" both }         both = comparison { , comparison }
 *     comparison = form (< <= == != >= > form)+ | relation "(" form, .. ")"
 *                | "exists" "(" index, .. : condition ")"
 *     index      = name | name < form | name "in" form : form
 *
 * a < b is stored as b - a - 1 >= 0: every comparison is of a form with 0.
 *
 *   needs   tensor/tree tensor/scan tensor/names tensor/forms
 *   offers  adx_new_tree_node adx_children adx_add_child adx_of_children
 *           adx_read_forms adx_read_bound adx_read_condition
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- nodes --------------------------------------------------------------- */

// Makes a node of the tree. 0: the reading has ended.
static uint32_t adx_new_tree_node(adx_parser *p, adx_tree_kind kind,
                                  adx_spot spot)
{
    uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(p->tree, node) : 0;
    if (i == 0)
        adx_stop_parsing(p, ADREV_ENOMEM);
    adx_tensor_node *n = &p->tree->node[i];
    n->kind = kind;
    n->spot = spot;
    return i;
}

// Children as they come.
typedef struct adx_children {
    uint32_t first;
    uint32_t last;
} adx_children;

// Hangs a child behind those that a node has so far.
static void adx_add_child(adx_parser *p, adx_children *c, uint32_t child)
{
    if (c->first == 0)
        c->first = child;
    else
        p->tree->node[c->last].next = child;
    c->last = child;
}

// Returns a node of the children; a single one, if it is not inverse, stands
// for itself.
static uint32_t adx_of_children(adx_parser *p, adx_tree_kind kind,
                                const adx_children *c)
{
    const adx_tensor_node *first = &p->tree->node[c->first];
    if (c->first == c->last && !first->inverse)
        return c->first;
    uint32_t i = adx_new_tree_node(p, kind, first->spot);
    p->tree->node[i].child = c->first;
    return i;
}

/* --- forms in parentheses or brackets ------------------------------------ */

// Reads forms up to `close`, as many as `dims` has, and goes to the word behind
// it. Each form can give an index its range, unless they are guarded.
static void adx_read_forms(adx_parser *p, uint32_t node, uint32_t dims,
                           uint32_t rank, int close, bool guarded)
{
    adx_tree *tree = p->tree;
    const adx_spot spot = tree->node[node].spot;
    uint32_t first = (uint32_t)tree->list_count;
    uint32_t count = 0;
    do {
        uint32_t form = adx_read_form(p, ADX_FORM_OF_INDICES);
        uint32_t i = p->status == ADREV_OK ? ADX_ONE_MORE(tree, list) : 0;
        if (i == 0)
            adx_stop_parsing(p, ADREV_ENOMEM);
        tree->list[i] = form;
        if (count < rank && !guarded)
            adx_stands_at(p, form, dims + count, spot.at);
        count++;
    } while (adx_accept(p, ','));
    adx_expect(p, close, close == ']' ? "']'" : "')'");
    if (count != rank)
        adx_wrong_at(p, spot.at, "'%w' has %u %s, not %u", spot, rank,
                     rank == 1 ? "index" : "indices", count);
    tree->node[node].first = first;
    tree->node[node].count = count;
    tree->node[node].end = p->behind;
}

/* --- indices that are bound ---------------------------------------------- */

// Reads the range behind the name of an index, if there is one.
static void adx_read_given_range(adx_parser *p, uint32_t index)
{
    uint32_t from = 1;
    uint32_t to = 0;
    if (adx_accept(p, '<'))
        to = adx_read_form(p, ADX_FORM_OF_RANGE);
    else if (adx_is_word(p, "in")) {
        adx_take_word(p);
        from = adx_read_form(p, ADX_FORM_OF_RANGE);
        adx_expect(p, ':', "':' of a range from:to");
        to = adx_read_form(p, ADX_FORM_OF_RANGE);
    } else if (p->kind == ADX_WORD_LE)
        adx_wrong_at(p, p->spot.at, "a range is written i<n or i in 0:n");
    adx_tensor_index *x = &p->tree->index[index];
    x->from = from;
    x->to = to;
    x->given = to != 0;
}

// Reads indices, until no comma follows; they are in scope from here on.
static void adx_read_bound(adx_parser *p)
{
    do
        adx_read_given_range(p, adx_bind_index(p));
    while (adx_accept(p, ','));
}

/* --- conditions ---------------------------------------------------------- */

static uint32_t adx_read_condition(adx_parser *p);

// Reads an `exists` from its '(' on: as a sum, but the condition must be there.
static uint32_t adx_read_exists(adx_parser *p, adx_spot spot)
{
    unsigned keep = p->bounds;
    uint32_t first = (uint32_t)p->tree->index_count;
    if (p->kind != '(')
        adx_say_missing(p, "'('");
    if (p->status != ADREV_OK || !adx_descend(p))
        return 0;
    adx_take_word(p);
    adx_read_bound(p);
    uint32_t count = p->bounds - keep;
    adx_expect(p, ':', "':' and a condition");
    uint32_t condition = adx_read_condition(p);
    adx_expect(p, ')', "')'");
    adx_unbind(p, keep);
    adx_ascend(p);
    uint32_t i = adx_new_tree_node(p, ADX_TREE_EXISTS, spot);
    adx_tensor_node *n = &p->tree->node[i];
    n->first = first;
    n->count = count;
    n->condition = condition;
    return i;
}

// Reads a membership, r(i,j): its name is at hand.
static uint32_t adx_read_member(adx_parser *p, uint32_t relation)
{
    const adx_tensor_relation *r = &p->tree->relation[relation];
    uint32_t i = adx_new_tree_node(p, ADX_TREE_MEMBER, p->spot);
    p->tree->node[i].of = relation;
    adx_take_word(p);
    if (p->kind != '(')
        adx_say_missing(p, "'('");
    if (p->status != ADREV_OK || !adx_descend(p))
        return 0;
    adx_take_word(p);
    adx_read_forms(p, i, r->first, r->arity, ')', false);
    adx_ascend(p);
    return i;
}

// Makes "one (sign) other" a node: a form and a sign that compares it with 0.
static uint32_t adx_comparison_node(adx_parser *p, adx_spot sign, int kind,
                                    uint32_t one, uint32_t other)
{
    bool equal = kind == ADX_WORD_EQ || kind == ADX_WORD_NE;
    bool more = kind == '>' || kind == ADX_WORD_GE || equal;
    bool strict = kind == '<' || kind == '>';
    uint32_t form = adx_difference(p, more ? one : other, more ? other : one,
                                   strict ? 1 : 0);
    uint32_t i = adx_new_tree_node(p, kind == ADX_WORD_EQ ? ADX_TREE_ZERO
                                   : kind == ADX_WORD_NE ? ADX_TREE_NOT_ZERO
                                   : ADX_TREE_NOT_NEGATIVE, sign);
    p->tree->node[i].of = form;
    return i;
}

// Reads "a < b <= c ...": comparisons of neighbours.
static void adx_read_chain(adx_parser *p, adx_children *both)
{
    uint32_t one = adx_read_form(p, ADX_FORM_OF_INDICES);
    if (p->kind == '=')
        adx_wrong_at(p, p->spot.at, "to compare, write ==");
    else if (!adx_is_comparison(p->kind))
        adx_say_missing(p, "a comparison such as '<' or '=='");
    while (adx_is_comparison(p->kind)) {
        int kind = p->kind;
        adx_spot sign = adx_take_word(p);
        uint32_t other = adx_read_form(p, ADX_FORM_OF_INDICES);
        adx_add_child(p, both, adx_comparison_node(p, sign, kind, one, other));
        one = other;
    }
    if (p->kind == '=')
        adx_wrong_at(p, p->spot.at, "to compare, write ==");
}

// Reads a chain of comparisons, a membership or an `exists`.
static void adx_read_comparison(adx_parser *p, adx_children *both)
{
    const adx_declared *d = p->kind == ADX_WORD_NAME
                          ? adx_declared_at(p->tree, p->spot) : NULL;
    if (adx_is_word(p, "exists")) {
        adx_spot spot = adx_take_word(p);
        adx_add_child(p, both, adx_read_exists(p, spot));
    } else if (d != NULL && d->kind == ADX_NAMES_RELATION)
        adx_add_child(p, both, adx_read_member(p, d->of));
    else if (p->kind == ADX_WORD_NAME && adx_following(p) == '('
             && adx_bound_at(p, p->spot) == 0)
        adx_wrong_at(p, p->spot.at, "'%w' is no relation", p->spot);
    else
        adx_read_chain(p, both);
}

// Reads a condition. Returns a node of one of the kinds for conditions.
static uint32_t adx_read_condition(adx_parser *p)
{
    adx_children any = { 0, 0 };
    do {
        adx_children both = { 0, 0 };
        do
            adx_read_comparison(p, &both);
        while (adx_accept(p, ','));
        adx_add_child(p, &any, adx_of_children(p, ADX_TREE_AND, &both));
    } while (adx_accept(p, '|'));
    return adx_of_children(p, ADX_TREE_OR, &any);
}

ADX_SELDOM_END
