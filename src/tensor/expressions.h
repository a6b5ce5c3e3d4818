#pragma once

/* === tensor/expressions =====================================================
 * The right sides of formulas.
 *
 *     sum     = product { + - product }
 *     product = unary { * / unary }
 *     unary   = - unary | "[" condition "]" product | atom [ ^ [ - ] whole ]
 *             | ("sum" | "maximum" | "minimum")
 *               "(" index, .. [ : condition ] ")" product
 *     atom    = number | name | name [ ? ] "[" form, .. "]"
 *             | function "(" sum, .. ")" | "(" sum ")"
 *
 *   needs   tensor/tree tensor/scan tensor/decimal tensor/names
 *           tensor/conditions
 *   offers  adx_end_sum adx_read_sum
 * ========================================================================== */

ADX_SELDOM_BEGIN

static uint32_t adx_read_sum(adx_parser *p);
static uint32_t adx_read_product(adx_parser *p);

// What ends a sum: ')' or ';'. Two operands without an operator between them
// are another mistake.
static void adx_end_sum(adx_parser *p, int kind)
{
    bool operand = p->kind == ADX_WORD_NAME || p->kind == ADX_WORD_NUMBER
                || p->kind == '(' || p->kind == '[';
    if (operand && !adx_ends_line(p, p->behind, p->spot.at))
        adx_say_missing(p, "an operator");
    adx_expect(p, kind, kind == ')' ? "')'" : "';'");
}

/* --- atoms --------------------------------------------------------------- */

// Reads a number as a node of its own.
static uint32_t adx_read_number(adx_parser *p)
{
    ad_real value = adx_number_value(p);
    uint32_t i = adx_new_tree_node(p, ADX_TREE_NUMBER, p->spot);
    p->tree->node[i].value = value;
    adx_take_word(p);
    return i;
}

// Reads an expression in brackets: "(", what is in it, ")".
static uint32_t adx_read_inner(adx_parser *p)
{
    if (!adx_descend(p))
        return 0;
    adx_take_word(p);
    uint32_t i = adx_read_sum(p);
    adx_end_sum(p, ')');
    adx_ascend(p);
    return i;
}

// Reads an array, read at forms or, if it is a number, as it is. The name is at
// hand.
static uint32_t adx_read_read(adx_parser *p, uint32_t array)
{
    const adx_tensor_array a = p->tree->array[array];
    uint32_t i = adx_new_tree_node(p, ADX_TREE_READ, p->spot);
    adx_spot name = adx_take_word(p);
    bool guarded = adx_accept(p, '?');
    p->tree->node[i].of = array;
    p->tree->node[i].guarded = guarded;
    p->tree->node[i].end = p->behind;
    if (p->kind == '[' && a.rank == 0)
        adx_wrong_at(p, name.at, "'%w' is a number, it has no indices", name);
    else if (p->kind == '(' && p->status == ADREV_OK)
        adx_wrong_at(p, p->spot.at, "'%w' is no function: indices stand in "
                     "[ ], and a product has *", name);
    else if (p->kind != '[' && guarded)
        adx_say_missing(p, "'['");
    else if (p->kind != '[' && a.rank > 0)
        adx_wrong_at(p, name.at, "'%w' has %u %s: write %w[..]", name,
                     a.rank, a.rank == 1 ? "index" : "indices", name);
    if (p->kind != '[')
        return i;
    adx_take_word(p);
    adx_read_forms(p, i, a.first, a.rank, ']', guarded);
    return i;
}

// Returns the operation of this name, ADREV_OP_detach among them.
// ADREV_OP_COUNT: none.
static uint32_t adx_operation_at(const adx_tree *tree, adx_spot name)
{
    uint32_t op = 0;
    while (op < ADREV_OP_COUNT
           && !adx_is_text(tree, name, ad_op_table()[op].name))
        op++;
    return op;
}

// Returns the kind of node that an operation becomes in the tree: arithmetic
// has kinds of its own.
static adx_tree_kind adx_kind_of_operation(uint32_t op)
{
    return op == ADREV_OP_add || op == ADREV_OP_sub ? ADX_TREE_ADD
         : op == ADREV_OP_mul || op == ADREV_OP_div ? ADX_TREE_MUL
         : op == ADREV_OP_neg ? ADX_TREE_NEG : ADX_TREE_CALL;
}

// Reads the arguments of a function; '(' is at hand. Returns how many there
// are.
static uint32_t adx_read_arguments(adx_parser *p, adx_children *c)
{
    uint32_t count = 0;
    if (!adx_descend(p))
        return 0;
    adx_take_word(p);
    do {
        adx_add_child(p, c, adx_read_sum(p));
        count++;
    } while (adx_accept(p, ','));
    adx_end_sum(p, ')');
    adx_ascend(p);
    return count;
}

// Reads an operation that is written as a function; its name is at hand.
static uint32_t adx_read_call(adx_parser *p, uint32_t op)
{
    adx_children c = { 0, 0 };
    adx_spot name = adx_take_word(p);
    uint32_t count = adx_read_arguments(p, &c);
    uint32_t arity = (uint32_t)ad_op_table()[op].arity;
    bool largest = op == ADREV_OP_max || op == ADREV_OP_min;
    if (count != arity)
        adx_wrong_at(p, name.at, largest && count == 1
                     ? "'%w' has %u %s, not %u; over an index write %wimum(i)"
                     : "'%w' has %u %s, not %u", name, arity,
                     arity == 1 ? "argument" : "arguments", count, name);
    uint32_t i = adx_new_tree_node(p, adx_kind_of_operation(op), name);
    adx_tensor_node *n = &p->tree->node[i];
    n->child = c.first;
    n->of = n->kind == ADX_TREE_CALL ? op : 0;
    p->tree->node[c.last].inverse = op == ADREV_OP_sub || op == ADREV_OP_div;
    return i;
}

// Says what is wrong with the name at hand as a number.
ADX_COLD static void adx_no_number(adx_parser *p, const adx_declared *d)
{
    const adx_spot name = p->spot;
    bool call = adx_following(p) == '(';
    if (adx_bound_at(p, name) != 0)
        adx_wrong_at(p, name.at, "'%w' is an index, not a number: read an "
                     "array that has its values", name);
    else if (d != NULL && d->kind == ADX_NAMES_MAP)
        adx_wrong_at(p, name.at, "'%w' is a map: it stands in indices, as in "
                     "x[%w[i]]", name, name);
    else if (d != NULL)
        adx_wrong_at(p, name.at, "'%w' is a relation: it stands in conditions, "
                     "as in [%w(i,j)]", name, name);
    else if (adx_is_word(p, "exists"))
        adx_wrong_at(p, name.at, "'exists' stands in conditions, as in "
                     "[exists(j: ..)]");
    else if (adx_same_text(p->tree, p->making, name))
        adx_wrong_at(p, name.at, "'%w' is read in its own formula", name);
    else if (!call && adx_operation_at(p->tree, name) < ADREV_OP_COUNT)
        adx_wrong_at(p, name.at, "'%w' is a function: write %w(..)", name,
                     name);
    else
        adx_unknown_name(p, call, call ? "'%w' is no function"
                                       : "'%w' is not known here");
}

// Reads a name in an expression.
static uint32_t adx_read_named(adx_parser *p)
{
    const adx_declared *d = adx_declared_at(p->tree, p->spot);
    uint32_t op = d == NULL && adx_following(p) == '('
                ? adx_operation_at(p->tree, p->spot) : ADREV_OP_COUNT;
    if (op < ADREV_OP_COUNT)
        return adx_read_call(p, op);
    if (d != NULL && d->kind == ADX_NAMES_ARRAY
        && adx_bound_at(p, p->spot) == 0)
        return adx_read_read(p, d->of);
    if (d != NULL && d->kind == ADX_NAMES_SIZE) {
        uint32_t i = adx_new_tree_node(p, ADX_TREE_SIZE, p->spot);
        p->tree->node[i].of = d->of;
        adx_take_word(p);
        return i;
    }
    adx_no_number(p, d);
    return 0;
}

// Reads an atom of the grammar above.
static uint32_t adx_read_atom(adx_parser *p)
{
    if (p->kind == ADX_WORD_NUMBER)
        return adx_read_number(p);
    if (p->kind == ADX_WORD_NAME)
        return adx_read_named(p);
    if (p->kind == '(')
        return adx_read_inner(p);
    adx_say_missing(p, "a number, a name or '('");
    return 0;
}

/* --- products and sums --------------------------------------------------- */

// Reads the whole exponent behind '^', which is at hand.
static int32_t adx_read_exponent(adx_parser *p)
{
    int64_t value = 0;
    adx_take_word(p);
    bool minus = adx_accept(p, '-');
    if (p->kind == ADX_WORD_END)
        adx_say_missing(p, "an exponent");
    else if (p->kind != ADX_WORD_NUMBER || !p->whole)
        adx_wrong_at(p, p->spot.at, "an exponent is a whole number here; for "
                     "others write pow(x, y)");
    else if (adx_whole_value(p, &value) && value > INT32_MAX)
        adx_wrong_at(p, p->spot.at, "this exponent is above 2^31 - 1");
    adx_take_word(p);
    if (p->kind == '^')
        adx_wrong_at(p, p->spot.at, "a power of a power needs brackets: "
                     "(x^2)^3");
    return (int32_t)(p->status != ADREV_OK ? 0 : minus ? -value : value);
}

// Reads an atom and the power that it is raised to, if there is one.
static uint32_t adx_read_power(adx_parser *p)
{
    const adx_spot spot = p->spot;
    uint32_t child = adx_read_atom(p);
    if (p->kind != '^')
        return child;
    int32_t power = adx_read_exponent(p);
    uint32_t i = adx_new_tree_node(p, ADX_TREE_POWER, spot);
    p->tree->node[i].child = child;
    p->tree->node[i].power = power;
    return i;
}

// Reads "[condition] product"; '[' is at hand.
static uint32_t adx_read_bracket(adx_parser *p)
{
    const adx_spot spot = p->spot;
    if (!adx_descend(p))
        return 0;
    adx_take_word(p);
    uint32_t condition = adx_read_condition(p);
    adx_expect(p, ']', "']'");
    uint32_t body = adx_read_product(p);
    adx_ascend(p);
    uint32_t i = adx_new_tree_node(p, ADX_TREE_BRACKET, spot);
    p->tree->node[i].condition = condition;
    p->tree->node[i].child = body;
    return i;
}

// Reads "sum(indices: condition) product", and the like; the word is at hand.
static uint32_t adx_read_reduction(adx_parser *p, adx_tree_kind kind)
{
    unsigned keep = p->bounds;
    uint32_t first = (uint32_t)p->tree->index_count;
    adx_spot spot = adx_take_word(p);
    if (p->kind != '(')
        adx_say_missing(p, "'(' and an index");
    if (p->status != ADREV_OK || !adx_descend(p))
        return 0;
    adx_take_word(p);
    adx_read_bound(p);
    uint32_t count = p->bounds - keep;
    uint32_t condition = adx_accept(p, ':') ? adx_read_condition(p) : 0;
    adx_expect(p, ')', "')'");
    uint32_t body = adx_read_product(p);
    adx_unbind(p, keep);
    adx_ascend(p);
    uint32_t i = adx_new_tree_node(p, kind, spot);
    adx_tensor_node *n = &p->tree->node[i];
    n->first = first;
    n->count = count;
    n->condition = condition;
    n->child = body;
    return i;
}

// Makes an expression its negative: a number changes its sign, all else gets a
// node above it.
static uint32_t adx_negate(adx_parser *p, adx_spot sign, uint32_t child)
{
    adx_tensor_node *n = &p->tree->node[child];
    if (n->kind == ADX_TREE_NUMBER) {
        n->value = -n->value;
        return child;
    }
    uint32_t i = adx_new_tree_node(p, ADX_TREE_NEG, sign);
    p->tree->node[i].child = child;
    return i;
}

// Reads an expression with any signs in front. Two signs are none.
static uint32_t adx_read_unary(adx_parser *p)
{
    const adx_spot sign = p->spot;
    bool minus = false;
    for (; adx_accept(p, '-'); minus = !minus) {}
    uint32_t i = p->kind == '[' ? adx_read_bracket(p)
               : adx_is_word(p, "sum") ? adx_read_reduction(p, ADX_TREE_SUM)
               : adx_is_word(p, "maximum")
               ? adx_read_reduction(p, ADX_TREE_MAXIMUM)
               : adx_is_word(p, "minimum")
               ? adx_read_reduction(p, ADX_TREE_MINIMUM) : adx_read_power(p);
    return minus ? adx_negate(p, sign, i) : i;
}

// Reads operands of two signs that bind alike, of which the second one inverts.
static uint32_t adx_read_operands(adx_parser *p, adx_tree_kind kind,
                                  uint32_t (*read)(adx_parser *), char sign,
                                  char inverse)
{
    adx_children c = { 0, 0 };
    adx_add_child(p, &c, read(p));
    while (p->kind == sign || p->kind == inverse) {
        bool inverts = p->kind == inverse;
        adx_take_word(p);
        uint32_t child = read(p);
        p->tree->node[child].inverse = inverts;
        adx_add_child(p, &c, child);
    }
    return adx_of_children(p, kind, &c);
}

// Reads factors between * and /, from left to right.
static uint32_t adx_read_product(adx_parser *p)
{
    return adx_read_operands(p, ADX_TREE_MUL, adx_read_unary, '*', '/');
}

// Reads summands between + and -, from left to right.
static uint32_t adx_read_sum(adx_parser *p)
{
    return adx_read_operands(p, ADX_TREE_ADD, adx_read_product, '+', '-');
}

ADX_SELDOM_END
