#pragma once

/* === tensor/print ===========================================================
 * A tree as text of the language, with all ranges: what adrev has understood.
 * Read again, it gives the same text.
 *
 *   needs   tensor/tree
 *   offers  adx_tree_printer adx_put_string_of adx_put_spot adx_put_natural
 *           adx_put_condition adx_print_tree
 * ========================================================================== */

ADX_SELDOM_BEGIN

typedef struct adx_tree_printer {
    const adx_tree *tree;
    ad_write_fn *write;
    void *user;
} adx_tree_printer;

static void adx_put_string_of(const adx_tree_printer *k, const char *text)
{
    k->write(text, strlen(text), k->user);
}

// Writes what the text has at a spot.
static void adx_put_spot(const adx_tree_printer *k, adx_spot spot)
{
    k->write(k->tree->text + spot.at, spot.length, k->user);
}

// Writes a number in decimal digits.
static void adx_put_natural(const adx_tree_printer *k, uint64_t v)
{
    char digit[20];
    size_t at = sizeof digit;
    do
        digit[--at] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    k->write(digit + at, sizeof digit - at, k->user);
}

/* --- forms --------------------------------------------------------------- */

static void adx_put_form(const adx_tree_printer *k, uint32_t form);

// Writes one term of a form, with its sign.
static void adx_put_multiple(const adx_tree_printer *k, const adx_multiple *m,
                             bool first)
{
    const adx_tree *tree = k->tree;
    uint64_t size = m->k < 0 ? 0 - (uint64_t)m->k : (uint64_t)m->k;
    adx_put_string_of(k, m->k < 0 ? "-" : first ? "" : "+");
    if (size != 1) {
        adx_put_natural(k, size);
        adx_put_string_of(k, "*");
    }
    adx_put_spot(k, m->kind == ADX_OF_SIZE ? tree->size[m->of]
                 : m->kind == ADX_OF_INDEX ? tree->index[m->of].name
                                           : tree->map[m->of].name);
    if (m->kind == ADX_OF_MAP) {
        adx_put_string_of(k, "[");
        adx_put_form(k, m->argument);
        adx_put_string_of(k, "]");
    }
}

// Writes a form; a form of nothing is 0.
static void adx_put_form(const adx_tree_printer *k, uint32_t form)
{
    const adx_affine *f = &k->tree->form[form];
    int64_t c = f->constant;
    for (uint32_t i = 0; i < f->count; i++)
        adx_put_multiple(k, &k->tree->multiple[f->first + i], i == 0);
    if (c != 0 || f->count == 0) {
        adx_put_string_of(k, c < 0 ? "-" : f->count > 0 ? "+" : "");
        adx_put_natural(k, c < 0 ? 0 - (uint64_t)c : (uint64_t)c);
    }
}

// Writes the indices of a read or a membership, between commas.
static void adx_put_forms(const adx_tree_printer *k, const adx_tensor_node *n)
{
    for (uint32_t i = 0; i < n->count; i++) {
        adx_put_string_of(k, i == 0 ? "" : ",");
        adx_put_form(k, k->tree->list[n->first + i]);
    }
}

static bool adx_is_zero_form(const adx_tree *tree, uint32_t form)
{
    return tree->form[form].constant == 0 && tree->form[form].count == 0;
}

// Writes a range; one that begins at 0 as its end alone.
static void adx_put_range(const adx_tree_printer *k, uint32_t from,
                          uint32_t to)
{
    if (!adx_is_zero_form(k->tree, from)) {
        adx_put_form(k, from);
        adx_put_string_of(k, ":");
    }
    adx_put_form(k, to);
}

// Writes indices that are bound together: they stand one after another.
static void adx_put_bound(const adx_tree_printer *k, uint32_t first,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const adx_tensor_index *x = &k->tree->index[first + i];
        bool zero = adx_is_zero_form(k->tree, x->from);
        adx_put_string_of(k, i == 0 ? "" : ", ");
        adx_put_spot(k, x->name);
        adx_put_string_of(k, zero ? "<" : " in ");
        adx_put_range(k, x->from, x->to);
    }
}

/* --- conditions ---------------------------------------------------------- */

static void adx_put_condition(const adx_tree_printer *k, uint32_t node);

// Writes conditions with a sign between them.
static void adx_put_conditions(const adx_tree_printer *k, uint32_t child,
                               const char *sign)
{
    for (uint32_t i = child; i != 0; i = k->tree->node[i].next) {
        adx_put_string_of(k, i == child ? "" : sign);
        adx_put_condition(k, i);
    }
}

// Writes a condition.
static void adx_put_condition(const adx_tree_printer *k, uint32_t node)
{
    const adx_tensor_node *n = &k->tree->node[node];
    switch (n->kind) {
    case ADX_TREE_OR:
        adx_put_conditions(k, n->child, " | ");
        break;
    case ADX_TREE_AND:
        adx_put_conditions(k, n->child, ", ");
        break;
    case ADX_TREE_MEMBER:
        adx_put_spot(k, k->tree->relation[n->of].name);
        adx_put_string_of(k, "(");
        adx_put_forms(k, n);
        adx_put_string_of(k, ")");
        break;
    case ADX_TREE_EXISTS:
        adx_put_string_of(k, "exists(");
        adx_put_bound(k, n->first, n->count);
        adx_put_string_of(k, ": ");
        adx_put_condition(k, n->condition);
        adx_put_string_of(k, ")");
        break;
    default:
        adx_put_form(k, n->of);
        adx_put_string_of(k, n->kind == ADX_TREE_ZERO ? " == 0"
                          : n->kind == ADX_TREE_NOT_ZERO ? " != 0" : " >= 0");
    }
}

/* --- expressions --------------------------------------------------------- */

// How tightly a node binds.
enum { ADX_BINDS_SUM, ADX_BINDS_PRODUCT, ADX_BINDS_UNARY, ADX_BINDS_POWER,
       ADX_BINDS_ATOM };

// Returns how tightly an expression binds, for brackets around it.
static int adx_binds(const adx_tensor_node *n)
{
    switch (n->kind) {
    case ADX_TREE_ADD:
        return ADX_BINDS_SUM;
    case ADX_TREE_MUL:
        return ADX_BINDS_PRODUCT;
    case ADX_TREE_NEG: case ADX_TREE_SUM: case ADX_TREE_MAXIMUM:
    case ADX_TREE_MINIMUM: case ADX_TREE_BRACKET:
        return ADX_BINDS_UNARY;
    case ADX_TREE_NUMBER:
        return signbit(n->value) ? ADX_BINDS_UNARY : ADX_BINDS_ATOM;
    case ADX_TREE_POWER:
        return ADX_BINDS_POWER;
    default:
        return ADX_BINDS_ATOM;
    }
}

// Whether the text of a node goes on with the factors behind it.
static bool adx_is_open_ended(const adx_tree *tree, const adx_tensor_node *n)
{
    while (n->kind == ADX_TREE_NEG)
        n = &tree->node[n->child];
    return n->kind == ADX_TREE_BRACKET || n->kind == ADX_TREE_SUM
        || n->kind == ADX_TREE_MAXIMUM || n->kind == ADX_TREE_MINIMUM;
}

static void adx_put_node(const adx_tree_printer *k, uint32_t node);

// Writes an operand, in brackets unless it may stand bare.
static void adx_put_within(const adx_tree_printer *k, uint32_t node, bool bare)
{
    adx_put_string_of(k, bare ? "" : "(");
    adx_put_node(k, node);
    adx_put_string_of(k, bare ? "" : ")");
}

// Writes operands, which must bind as tightly as this.
static void adx_put_operands(const adx_tree_printer *k, uint32_t child,
                             int binds, const char *sign, const char *inverse)
{
    for (uint32_t i = child; i != 0; i = k->tree->node[i].next) {
        const adx_tensor_node *n = &k->tree->node[i];
        bool open = binds == ADX_BINDS_UNARY && n->next != 0
                 && adx_is_open_ended(k->tree, n);
        adx_put_string_of(k, i == child ? "" : n->inverse ? inverse : sign);
        adx_put_within(k, i, adx_binds(n) >= binds && !open);
    }
}

// Writes a sum, a maximum, a minimum or a bracket, and what it is of.
static void adx_put_reduction(const adx_tree_printer *k,
                              const adx_tensor_node *n, const char *word)
{
    adx_put_string_of(k, word);
    adx_put_bound(k, n->first, n->count);
    if (n->condition != 0) {
        adx_put_string_of(k, n->count > 0 ? ": " : "");
        adx_put_condition(k, n->condition);
    }
    adx_put_string_of(k, n->count > 0 ? ") " : "] ");
    adx_put_within(k, n->child, adx_binds(&k->tree->node[n->child])
                                    >= ADX_BINDS_PRODUCT);
}

// Writes a function and its arguments.
static void adx_put_call(const adx_tree_printer *k, const adx_tensor_node *n)
{
    adx_put_string_of(k, ad_op_table()[n->of].name);
    adx_put_string_of(k, "(");
    for (uint32_t i = n->child; i != 0; i = k->tree->node[i].next) {
        adx_put_string_of(k, i == n->child ? "" : ", ");
        adx_put_node(k, i);
    }
    adx_put_string_of(k, ")");
}

// Writes a read of an array.
static void adx_put_read(const adx_tree_printer *k, const adx_tensor_node *n)
{
    adx_put_spot(k, k->tree->array[n->of].name);
    if (n->count == 0)
        return;
    adx_put_string_of(k, n->guarded ? "?[" : "[");
    adx_put_forms(k, n);
    adx_put_string_of(k, "]");
}

// Writes a power.
static void adx_put_power(const adx_tree_printer *k, const adx_tensor_node *n)
{
    int64_t power = n->power;
    adx_put_within(k, n->child, adx_binds(&k->tree->node[n->child])
                                    >= ADX_BINDS_ATOM);
    adx_put_string_of(k, power < 0 ? "^-" : "^");
    adx_put_natural(k, (uint64_t)(power < 0 ? -power : power));
}

// Writes an expression.
static void adx_put_node(const adx_tree_printer *k, uint32_t node)
{
    const adx_tensor_node *n = &k->tree->node[node];
    const adx_tensor_node *child = &k->tree->node[n->child];
    switch (n->kind) {
    case ADX_TREE_NUMBER:
        adx_put_string_of(k, signbit(n->value) ? "-" : "");
        adx_put_spot(k, n->spot);
        break;
    case ADX_TREE_SIZE:
        adx_put_spot(k, k->tree->size[n->of]);
        break;
    case ADX_TREE_READ:
        adx_put_read(k, n);
        break;
    case ADX_TREE_ADD:
        adx_put_operands(k, n->child, ADX_BINDS_PRODUCT, " + ", " - ");
        break;
    case ADX_TREE_MUL:
        adx_put_operands(k, n->child, ADX_BINDS_UNARY, "*", "/");
        break;
    case ADX_TREE_NEG:          // -1 would be read as a number
        adx_put_string_of(k, child->kind == ADX_TREE_NUMBER ? "neg" : "-");
        adx_put_within(k, n->child, adx_binds(child) >= ADX_BINDS_UNARY
                                    && child->kind != ADX_TREE_NEG
                                    && child->kind != ADX_TREE_NUMBER);
        break;
    case ADX_TREE_POWER:
        adx_put_power(k, n);
        break;
    case ADX_TREE_CALL:
        adx_put_call(k, n);
        break;
    case ADX_TREE_SUM:
        adx_put_reduction(k, n, "sum(");
        break;
    case ADX_TREE_MAXIMUM:
        adx_put_reduction(k, n, "maximum(");
        break;
    case ADX_TREE_MINIMUM:
        adx_put_reduction(k, n, "minimum(");
        break;
    default:
        adx_put_reduction(k, n, "[");
    }
}

/* --- the whole tree ------------------------------------------------------ */

// Writes the dimensions of an array in brackets; a relation stands for all of
// its columns.
static void adx_put_dims(const adx_tree_printer *k, uint32_t first,
                         uint32_t rank)
{
    adx_put_string_of(k, rank > 0 ? "[" : "");
    for (uint32_t i = first; i < first + rank; i++) {
        const adx_dim *d = &k->tree->dim[i];
        if (d->relation != 0 && d->column > 0)
            continue;
        adx_put_string_of(k, i == first ? "" : ",");
        if (d->relation != 0)
            adx_put_spot(k, k->tree->relation[d->relation].name);
        else
            adx_put_range(k, d->from, d->to);
    }
    adx_put_string_of(k, rank > 0 ? "]" : "");
}

// Writes the declaration of an input, or a formula.
static void adx_put_array(const adx_tree_printer *k, const adx_tensor_array *a)
{
    const adx_tensor_formula *f = &k->tree->formula[a->formula];
    adx_put_string_of(k, a->formula == 0 ? "in " : a->out ? "out " : "");
    adx_put_spot(k, a->name);
    if (a->formula == 0) {
        adx_put_dims(k, a->first, a->rank);
        return;
    }
    adx_put_string_of(k, a->rank > 0 ? "[" : "");
    adx_put_bound(k, f->first, a->rank);
    adx_put_string_of(k, a->rank > 0 ? "] = " : " = ");
    adx_put_node(k, f->body);
}

// Writes a declaration.
static void adx_put_declared(const adx_tree_printer *k, const adx_declared *d)
{
    const adx_tree *tree = k->tree;
    if (d->kind == ADX_NAMES_RELATION) {
        adx_put_string_of(k, "rel ");
        adx_put_spot(k, d->name);
        adx_put_dims(k, tree->relation[d->of].first,
                     tree->relation[d->of].arity);
    } else if (d->kind == ADX_NAMES_MAP) {
        const adx_dim *values = &tree->dim[tree->map[d->of].values];
        adx_put_string_of(k, "map ");
        adx_put_spot(k, d->name);
        adx_put_dims(k, tree->map[d->of].domain, 1);
        adx_put_string_of(k, " -> ");
        adx_put_range(k, values->from, values->to);
    } else
        adx_put_array(k, &tree->array[d->of]);
    adx_put_string_of(k, ";\n");
}

// Writes all declarations and formulas, in the order of the text.
static void adx_print_tree(const adx_tree *tree, ad_write_fn *write,
                           void *user)
{
    const adx_tree_printer k = { tree, write, user };
    for (size_t i = 1; i < tree->declared_count; i++)
        if (tree->declared[i].kind != ADX_NAMES_SIZE)
            adx_put_declared(&k, &tree->declared[i]);
}

ADX_SELDOM_END
