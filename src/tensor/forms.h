#pragma once

/* === tensor/forms ===========================================================
 * Affine forms: what stands in the brackets of a read, in conditions and in
 * ranges. Coefficients are whole, of 64 bits; what does not fit is an error.
 *
 *     form   = term { + - term }         term = factor { * factor }
 *     factor = { - } ( whole | name | map "[" form "]" | "(" form ")" )
 *
 * Of a term's factors one at most is not a number.
 *
 *   needs   tape/memory tensor/tree tensor/scan tensor/decimal tensor/names
 *   offers  ADX_FORM_OF_INDICES ADX_FORM_OF_RANGE ADX_FORM_DECLARING
 *           adx_difference adx_read_form adx_read_range
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Which names a form may have.
typedef enum adx_form_kind {
    ADX_FORM_OF_INDICES,    // indices, sizes and maps
    ADX_FORM_OF_RANGE,      // sizes
    ADX_FORM_DECLARING      // sizes, which it declares
} adx_form_kind;

/* --- arithmetic ----------------------------------------------------------
 * A form that is open has its terms at the top of p->term.                  */

typedef struct adx_open_form {
    int64_t constant;
    size_t first;           // of its terms
    uint32_t at;
} adx_open_form;

// Says that a whole number does not fit.
static void adx_say_too_large(adx_parser *p, uint32_t at)
{
    adx_wrong_at(p, at, "a whole number here is beyond 2^63");
}

// Returns a + b. Like adx_whole_times it never gives -2^63, so that a sign can
// always change.
static int64_t adx_whole_plus(adx_parser *p, int64_t a, int64_t b, uint32_t at)
{
    if (b > 0 ? a > INT64_MAX - b : a < -INT64_MAX - b) {
        adx_say_too_large(p, at);
        return 0;
    }
    return a + b;
}

// Returns a product of two whole numbers, or 0 and an error if it does not fit.
static int64_t adx_whole_times(adx_parser *p, int64_t a, int64_t b, uint32_t at)
{
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    if (x != 0 && y > (uint64_t)INT64_MAX / x) {
        adx_say_too_large(p, at);
        return 0;
    }
    return (int64_t)(x * y) * ((a < 0) == (b < 0) ? 1 : -1);
}

// Puts a term on the stack of forms that are being read.
static void adx_push_term(adx_parser *p, int64_t k, adx_multiple_kind kind,
                          uint32_t of, uint32_t argument)
{
    if (p->status != ADREV_OK)
        return;
    if (!adx_extend(p->tree->memory, (void **)&p->term, &p->term_room,
                    p->terms + 1, sizeof *p->term)) {
        adx_stop_parsing(p, ADREV_ENOMEM);
        return;
    }
    const adx_multiple term = { k, kind, of, argument };
    p->term[p->terms++] = term;
}

// Computes f *= k.
static void adx_scale_form(adx_parser *p, adx_open_form *f, int64_t k)
{
    f->constant = adx_whole_times(p, f->constant, k, f->at);
    for (size_t i = f->first; i < p->terms; i++)
        p->term[i].k = adx_whole_times(p, p->term[i].k, k, f->at);
}

// Computes f += g. g lies above f on the stack, and is gone then.
static void adx_add_form(adx_parser *p, adx_open_form *f,
                         const adx_open_form *g)
{
    size_t end = g->first;
    f->constant = adx_whole_plus(p, f->constant, g->constant, f->at);
    for (size_t i = g->first; i < p->terms; i++) {
        size_t k = f->first;
        while (k < end && !adx_are_like(p->tree, &p->term[k], &p->term[i]))
            k++;
        if (k < end)
            p->term[k].k = adx_whole_plus(p, p->term[k].k, p->term[i].k, f->at);
        else
            p->term[end++] = p->term[i];
    }
    p->terms = end;
    if (end - f->first > ADX_TERMS_MOST)
        adx_wrong_at(p, f->at, "this has more than %u terms",
                     (uint32_t)ADX_TERMS_MOST);
}

// Begins a form, without terms, at the word at hand.
static adx_open_form adx_empty_form(const adx_parser *p)
{
    const adx_open_form f = { 0, p->terms, p->spot.at };
    return f;
}

// Enters the form into the tree. Returns its number.
static uint32_t adx_enter_form(adx_parser *p, const adx_open_form *f)
{
    adx_tree *tree = p->tree;
    uint32_t first = (uint32_t)tree->multiple_count;
    for (size_t i = f->first; i < p->terms && p->status == ADREV_OK; i++) {
        uint32_t at = p->term[i].k == 0 ? 0 : ADX_ONE_MORE(tree, multiple);
        if (at != 0)
            tree->multiple[at] = p->term[i];
        else if (p->term[i].k != 0)
            adx_stop_parsing(p, ADREV_ENOMEM);
    }
    p->terms = f->first;
    uint32_t form = p->status == ADREV_OK ? ADX_ONE_MORE(tree, form) : 0;
    if (form == 0) {
        adx_stop_parsing(p, ADREV_ENOMEM);
        return 0;
    }
    adx_affine entered = { f->constant, first,
                           (uint32_t)tree->multiple_count - first, f->at, 0 };
    entered.hash = adx_hash_form(tree, &entered);
    tree->form[form] = entered;
    return form;
}

// Computes f += k * a form of the tree.
static void adx_add_tree_form(adx_parser *p, adx_open_form *f, uint32_t form,
                              int64_t k)
{
    const adx_affine *of = &p->tree->form[form];
    adx_open_form g = { of->constant, p->terms, f->at };
    for (uint32_t i = 0; i < of->count; i++) {
        adx_multiple m = p->tree->multiple[of->first + i];
        adx_push_term(p, m.k, m.kind, m.of, m.argument);
    }
    adx_scale_form(p, &g, k);
    adx_add_form(p, f, &g);
}

// Returns one - other - less, as a new form.
static uint32_t adx_difference(adx_parser *p, uint32_t one, uint32_t other,
                               int64_t less)
{
    adx_open_form f = { -less, p->terms, p->tree->form[one].at };
    adx_add_tree_form(p, &f, one, 1);
    adx_add_tree_form(p, &f, other, -1);
    return adx_enter_form(p, &f);
}

/* --- reading -------------------------------------------------------------- */

static adx_open_form adx_read_open_form(adx_parser *p, adx_form_kind kind);
static uint32_t adx_read_form(adx_parser *p, adx_form_kind kind);

// Reads a map at a form; the name is at hand.
static void adx_read_map(adx_parser *p, uint32_t map)
{
    adx_spot name = adx_take_word(p);
    if (p->kind != '[' || !adx_descend(p)) {
        adx_wrong_at(p, name.at, "'%w' is a map: write %w[i]", name, name);
        return;
    }
    adx_take_word(p);
    uint32_t argument = adx_read_form(p, ADX_FORM_OF_INDICES);
    if (p->kind == ',')
        adx_wrong_at(p, p->spot.at, "a map has one index");
    adx_expect(p, ']', "']'");
    adx_ascend(p);
    adx_stands_at(p, argument, p->tree->map[map].domain, name.at);
    adx_push_term(p, 1, ADX_OF_MAP, map, argument);
}

// Says what is wrong with the name at hand in a form.
ADX_COLD static void adx_no_form(adx_parser *p, adx_form_kind kind, bool index,
                                 const adx_declared *d)
{
    const adx_spot name = p->spot;
    if (index || (kind != ADX_FORM_OF_INDICES && d != NULL
                  && d->kind == ADX_NAMES_MAP))
        adx_wrong_at(p, name.at, "a range is made of sizes and whole numbers, "
                     "not of '%w': write a condition", name);
    else if (d != NULL)
        adx_wrong_at(p, name.at, "'%w' is %s: here are indices, sizes, maps "
                     "and whole numbers", name, adx_kind_text(p->tree, d));
    else
        adx_unknown_name(p, false, kind == ADX_FORM_OF_INDICES
                         ? "'%w' is not known here"
                         : "'%w' is not known here: a size is named by a "
                           "declaration, such as 'in a[%w]'");
}

// Reads a name in a form.
static void adx_read_form_name(adx_parser *p, adx_form_kind kind)
{
    const adx_declared *d = adx_declared_at(p->tree, p->spot);
    uint32_t index = adx_bound_at(p, p->spot);
    bool declares = kind == ADX_FORM_DECLARING && d == NULL;
    if (index != 0 && kind == ADX_FORM_OF_INDICES) {
        adx_push_term(p, 1, ADX_OF_INDEX, index, 0);
        adx_take_word(p);
    } else if (declares || (d != NULL && d->kind == ADX_NAMES_SIZE)) {
        adx_push_term(p, 1, ADX_OF_SIZE, adx_size_at_hand(p), 0);
        adx_take_word(p);
    } else if (d != NULL && d->kind == ADX_NAMES_MAP
               && kind == ADX_FORM_OF_INDICES)
        adx_read_map(p, d->of);
    else
        adx_no_form(p, kind, index != 0, d);
}

// Reads a whole number into the constant of a form.
static void adx_read_whole(adx_parser *p, adx_open_form *f)
{
    if (!p->whole)
        adx_wrong_at(p, p->spot.at, "here are whole numbers only");
    else if (adx_whole_value(p, &f->constant))
        adx_take_word(p);
}

// Reads a factor of a form: a whole number, a name, or a form in brackets, each
// perhaps with signs.
static adx_open_form adx_read_factor(adx_parser *p, adx_form_kind kind)
{
    adx_open_form f = adx_empty_form(p);
    bool minus = false;
    for (; adx_accept(p, '-'); minus = !minus) {}
    if (p->kind == ADX_WORD_NUMBER)
        adx_read_whole(p, &f);
    else if (p->kind == ADX_WORD_NAME)
        adx_read_form_name(p, kind);
    else if (p->kind != '(')
        adx_say_missing(p, "an index or a whole number");
    else if (adx_descend(p)) {
        adx_take_word(p);
        f = adx_read_open_form(p, kind);
        if (adx_is_comparison(p->kind))
            adx_wrong_at(p, p->spot.at, "a condition has no brackets around "
                         "it; for two of them write [..] [..]");
        adx_expect(p, ')', "')'");
        adx_ascend(p);
    }
    if (minus)
        adx_scale_form(p, &f, -1);
    return f;
}

// Whether the name behind the sign at hand can stand in a form.
ADX_NOINLINE static bool adx_form_follows(adx_parser *p, adx_form_kind kind)
{
    adx_parser ahead = *p;          // it takes no memory
    adx_take_word(&ahead);
    const adx_declared *d = adx_declared_at(p->tree, ahead.spot);
    if (ahead.kind != ADX_WORD_NAME)
        return ahead.kind == '(';
    return d == NULL ? kind == ADX_FORM_DECLARING
                       || adx_bound_at(p, ahead.spot) != 0
                     : d->kind == ADX_NAMES_SIZE || d->kind == ADX_NAMES_MAP;
}

// Whether the word behind the one at hand begins a number.
static bool adx_number_follows(adx_parser *p)
{
    char c = adx_following(p);
    return adx_is_figure(c) || c == '-' || c == '.';
}

// Says that a form is not affine.
static void adx_say_product_of_names(adx_parser *p, uint32_t at)
{
    adx_wrong_at(p, at, "a product of two names is not affine: one factor must "
                 "be a whole number");
}

// Reads a term of a form: a product of factors, of which only one may have
// names.
static adx_open_form adx_read_form_term(adx_parser *p, adx_form_kind kind)
{
    adx_open_form f = adx_read_factor(p, kind);
    while (p->kind == '*') {
        bool number = p->terms == f.first;
        if (!number && !adx_number_follows(p)) {
            if (adx_form_follows(p, kind))
                adx_say_product_of_names(p, p->spot.at);
            break;                  // a bracket is missing
        }
        adx_take_word(p);
        adx_open_form g = adx_read_factor(p, kind);
        if (!number && p->terms > g.first)
            adx_say_product_of_names(p, f.at);
        int64_t k = number ? f.constant : g.constant;
        g.constant = number ? g.constant : f.constant;
        g.first = f.first;
        adx_scale_form(p, &g, k);
        f.constant = g.constant;
    }
    if (p->kind == '/')
        adx_wrong_at(p, p->spot.at, "an index is no quotient: write a "
                     "condition such as [i == 2*j]");
    return f;
}

// Reads a form, whose terms stay on the stack.
static adx_open_form adx_read_open_form(adx_parser *p, adx_form_kind kind)
{
    adx_open_form f = adx_read_form_term(p, kind);
    while (p->kind == '+' || p->kind == '-') {
        bool minus = p->kind == '-';
        adx_take_word(p);
        adx_open_form g = adx_read_form_term(p, kind);
        if (minus)
            adx_scale_form(p, &g, -1);
        adx_add_form(p, &f, &g);
    }
    return f;
}

// Reads a form and stores it in the tree. Returns its number.
static uint32_t adx_read_form(adx_parser *p, adx_form_kind kind)
{
    adx_open_form f = adx_read_open_form(p, kind);
    return adx_enter_form(p, &f);
}

/* --- ranges -------------------------------------------------------------- */

// Reads a range, `size` or `from : to`, as the numbers of two forms.
static void adx_read_range(adx_parser *p, adx_form_kind kind, uint32_t *from,
                           uint32_t *to)
{
    *from = 1;
    *to = adx_read_form(p, kind);
    if (adx_accept(p, ':')) {
        *from = *to;
        *to = adx_read_form(p, kind);
    }
}

ADX_SELDOM_END
