#pragma once

/* === tensor/names ===========================================================
 * What a name stands for: what is declared, and the indices that are bound
 * where the text is being read. A name stands for one thing: an index has no
 * name that is declared before it, nor that of an index that is in scope.
 *
 * An index runs over the range that the text gives it, or over that of the
 * dimensions where it stands alone in a read that is not guarded. Nothing is
 * guessed: two different ranges are an error, and so is no range at all.
 *
 *   needs   tape/memory tensor/tree tensor/messages tensor/scan
 *   offers  adx_find_declared adx_declared_at adx_kind_text adx_line_of
 *           adx_new_name adx_declare adx_size_at_hand adx_same_text
 *           adx_unknown_name adx_bound_at adx_bind_index adx_unbind
 *           adx_stands_at
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- declarations -------------------------------------------------------- */

static uint32_t adx_hash_of(const char *name, size_t length)
{
    uint32_t hash = 2166136261u;            // FNV-1a
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

// Returns the bucket of a name: it holds its number, or 0.
static uint32_t *adx_name_bucket(const adx_tree *tree, uint32_t hash,
                               const char *name, size_t length)
{
    size_t i = hash & (tree->buckets - 1);
    for (; tree->bucket[i] != 0; i = (i + 1) & (tree->buckets - 1)) {
        const adx_declared *d = &tree->declared[tree->bucket[i]];
        if (d->hash == hash && d->name.length == length
            && memcmp(tree->text + d->name.at, name, length) == 0)
            break;
    }
    return &tree->bucket[i];
}

// Finds the declaration of a name; NULL: there is none.
static const adx_declared *adx_find_declared(const adx_tree *tree,
                                             const char *name, size_t length)
{
    if (tree->buckets == 0)
        return NULL;
    uint32_t found = *adx_name_bucket(tree, adx_hash_of(name, length), name,
                                  length);
    return found == 0 ? NULL : &tree->declared[found];
}

// Returns what the name at this spot was declared as. NULL: it is not declared.
static const adx_declared *adx_declared_at(const adx_tree *tree, adx_spot spot)
{
    return adx_find_declared(tree, tree->text + spot.at, spot.length);
}

// Makes room for one name more; at most half of the buckets are taken.
static bool adx_widen_buckets(adx_tree *tree)
{
    size_t buckets = tree->buckets == 0 ? 32 : 2 * tree->buckets;
    if (2 * tree->declared_count + 2 < tree->buckets)
        return true;
    uint32_t *bucket = (uint32_t *)adx_take(tree->memory, buckets,
                                            sizeof *bucket);
    if (bucket == NULL)
        return false;
    memset(bucket, 0, buckets * sizeof *bucket);
    adx_drop(tree->memory, tree->bucket);
    tree->bucket = bucket;
    tree->buckets = buckets;
    for (uint32_t i = 1; i < tree->declared_count; i++) {
        const adx_declared *d = &tree->declared[i];
        *adx_name_bucket(tree, d->hash, tree->text + d->name.at,
                       d->name.length) = i;
    }
    return true;
}

// Returns what a message calls the thing that a name stands for.
static const char *adx_kind_text(const adx_tree *tree, const adx_declared *d)
{
    return d->kind == ADX_NAMES_SIZE ? "a size" : d->kind == ADX_NAMES_RELATION
         ? "a relation" : d->kind == ADX_NAMES_MAP ? "a map"
         : tree->array[d->of].formula == 0 ? "an input" : "a result";
}

// Returns the line of the text in which a place is, from 1 on.
static uint32_t adx_line_of(const adx_tree *tree, uint32_t at)
{
    int line;
    int column;
    adx_locate(tree, at, &line, &column);
    return (uint32_t)line;
}

// Whether a name is a word of the language.
static bool adx_is_reserved(const adx_tree *tree, adx_spot name)
{
    static const char *const word[] = {
        "in", "out", "rel", "map", "sum", "maximum", "minimum", "exists",
        "detach"
    };
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (adx_is_text(tree, name, word[i]))
            return true;
    return false;
}

// Whether a name is still free.
static bool adx_is_free(adx_parser *p, adx_spot name)
{
    const adx_declared *d = adx_declared_at(p->tree, name);
    if (adx_is_reserved(p->tree, name))
        adx_wrong_at(p, name.at, "'%w' is a word of the language: take another "
                     "name", name);
    else if (d != NULL)
        adx_wrong_at(p, name.at, "'%w' is %s since line %u: take another name",
                     name, adx_kind_text(p->tree, d),
                     adx_line_of(p->tree, d->name.at));
    return p->status == ADREV_OK;
}

// Returns the name at hand, which may be declared or bound; where it was.
static adx_spot adx_new_name(adx_parser *p, const char *what)
{
    const adx_spot none = { 0, 0 };
    if (p->kind != ADX_WORD_NAME)
        adx_say_missing(p, what);
    return p->status == ADREV_OK && adx_is_free(p, p->spot)
         ? adx_take_word(p) : none;
}

// Declares a name, unless it is used already.
static void adx_declare(adx_parser *p, adx_spot name, adx_declared_kind kind,
                        uint32_t of)
{
    adx_tree *tree = p->tree;
    if (p->status != ADREV_OK || !adx_is_free(p, name))
        return;
    uint32_t i = of != 0 && adx_widen_buckets(tree)
               ? ADX_ONE_MORE(tree, declared) : 0;
    if (i == 0) {
        adx_stop_parsing(p, ADREV_ENOMEM);
        return;
    }
    adx_declared *d = &tree->declared[i];
    const char *text = tree->text + name.at;
    d->name = name;
    d->kind = kind;
    d->of = of;
    d->hash = adx_hash_of(text, name.length);
    *adx_name_bucket(tree, d->hash, text, name.length) = i;
}

// Returns the size at hand, declared by being there for the first time.
static uint32_t adx_size_at_hand(adx_parser *p)
{
    const adx_declared *d = adx_declared_at(p->tree, p->spot);
    if (d != NULL && d->kind == ADX_NAMES_SIZE)
        return d->of;
    uint32_t size = ADX_ONE_MORE(p->tree, size);
    p->tree->size[size] = p->spot;
    adx_declare(p, p->spot, ADX_NAMES_SIZE, size);
    return size;
}

/* --- names that are not known -------------------------------------------- */

static char adx_lower_case(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

// Returns how many letters a must gain, lose, change or swap to be b; 9: more
// than two.
static unsigned adx_distance(const char *a, size_t m, const char *b, size_t n)
{
    unsigned row[3][ADX_NAME_MOST + 1];     // the last three, in turn
    if (m > n + 2 || n > m + 2 || n > ADX_NAME_MOST)
        return 9;
    for (size_t j = 0; j <= n; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= m; i++) {
        unsigned *now = row[i % 3];
        const unsigned *above = row[(i + 2) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            bool same = adx_lower_case(a[i - 1]) == adx_lower_case(b[j - 1]);
            unsigned least = above[j - 1] + !same;
            least = above[j] + 1 < least ? above[j] + 1 : least;
            least = now[j - 1] + 1 < least ? now[j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]
                && row[(i + 1) % 3][j - 2] + 1 < least)
                least = row[(i + 1) % 3][j - 2] + 1;
            now[j] = least;
        }
    }
    return row[m % 3][n] > 2 ? 9 : row[m % 3][n];
}

// The nearest name so far.
typedef struct adx_nearest {
    const char *wrong;
    size_t wrong_length;
    const char *name;
    size_t length;
    unsigned distance;
} adx_nearest;

// Keeps a name if it is nearer to the wrong one than all before it. Among names
// equally near, one as long as the wrong name is preferred.
static void adx_try_name(adx_nearest *k, const char *name, size_t length)
{
    unsigned d = adx_distance(k->wrong, k->wrong_length, name, length);
    bool fits = length == k->wrong_length && k->length != length;
    if (d < k->distance || (d == k->distance && k->name != NULL && fits)) {
        k->distance = d;
        k->name = name;
        k->length = length;
    }
}

// Whether the text reads the same at two spots.
static bool adx_same_text(const adx_tree *tree, adx_spot a, adx_spot b)
{
    return a.length == b.length
        && memcmp(tree->text + a.at, tree->text + b.at, a.length) == 0;
}

// Whether the name at hand was an index of this formula, whose scope has ended.
static bool adx_was_bound(const adx_parser *p)
{
    const adx_tree *tree = p->tree;
    for (size_t i = p->first; i > 0 && i < tree->index_count; i++)
        if (adx_same_text(tree, tree->index[i].name, p->spot))
            return true;
    return false;
}

// Says that the name at hand is not known, and which one is like it; if there
// is none, `text` of the name. Short names are all alike: of two letters only
// the case may differ.
ADX_COLD static void adx_unknown_name(adx_parser *p, bool function,
                                      const char *text)
{
    const adx_tree *tree = p->tree;
    const adx_spot spot = p->spot;
    const unsigned most = spot.length < 3 ? 0 : spot.length < 6 ? 1 : 2;
    adx_nearest k = { tree->text + spot.at, spot.length, NULL, 0, most + 1 };
    char copy[ADX_NAME_MOST + 1];
    if (p->status == ADREV_OK && !function && adx_was_bound(p))
        adx_wrong_at(p, spot.at, "'%w' ends before: a sum reaches over a "
                     "product; for more, write sum(%w) (..+..)", spot, spot);
    if (p->status != ADREV_OK)
        return;
    for (unsigned i = p->bounds; !function && i-- > 0;) {
        adx_spot name = tree->index[p->bound[i]].name;
        adx_try_name(&k, tree->text + name.at, name.length);
    }
    for (size_t i = 1; !function && i < tree->declared_count; i++) {
        adx_spot name = tree->declared[i].name;
        adx_try_name(&k, tree->text + name.at, name.length);
    }
    for (size_t i = 0; function && i < ADREV_OP_COUNT; i++)
        adx_try_name(&k, ad_op_table()[i].name, strlen(ad_op_table()[i].name));
    if (k.name == NULL) {
        adx_wrong_at(p, spot.at, text, spot, spot);
        return;
    }
    memcpy(copy, k.name, k.length);
    copy[k.length] = '\0';
    adx_wrong_at(p, spot.at, function ? "'%w' is no function; is it '%s'?"
                 : "'%w' is not known here; is it '%s'?", spot, copy);
}

/* --- indices ------------------------------------------------------------- */

// Returns the index of this name that is in scope; 0: none.
static uint32_t adx_bound_at(const adx_parser *p, adx_spot name)
{
    const adx_tree *tree = p->tree;
    for (unsigned i = p->bounds; i-- > 0;)
        if (adx_same_text(tree, tree->index[p->bound[i]].name, name))
            return p->bound[i];
    return 0;
}

// Binds the name at hand to an index from here on. Returns its number.
static uint32_t adx_bind_index(adx_parser *p)
{
    if (p->kind == ADX_WORD_NAME && adx_bound_at(p, p->spot) != 0)
        adx_wrong_at(p, p->spot.at, "'%w' is an index already; take another "
                     "name", p->spot);
    else if (p->bounds == ADX_BOUND_MOST)
        adx_wrong_at(p, p->spot.at, "more than %u indices in one place",
                     (uint32_t)ADX_BOUND_MOST);
    adx_spot name = adx_new_name(p, "an index");
    if (p->status != ADREV_OK)
        return 0;
    uint32_t i = ADX_ONE_MORE(p->tree, index);
    if (i == 0) {
        adx_stop_parsing(p, ADREV_ENOMEM);
        return 0;
    }
    p->tree->index[i].name = name;
    p->bound[p->bounds++] = i;
    return i;
}

// Ends the scope of all indices but the first `keep`. Each must have a range.
static void adx_unbind(adx_parser *p, unsigned keep)
{
    for (unsigned i = keep; i < p->bounds && p->status == ADREV_OK; i++) {
        const adx_tensor_index *x = &p->tree->index[p->bound[i]];
        if (x->to == 0)
            adx_wrong_at(p, x->name.at, "the range of '%w' is not known: no "
                         "array has it alone as an index; write %w<size",
                         x->name, x->name);
    }
    p->bounds = keep < p->bounds ? keep : p->bounds;
}

// The form at dimension `dim` of what is read at `at`: if it is an index and
// nothing else, the index runs over this dimension.
static void adx_stands_at(adx_parser *p, uint32_t form, uint32_t dim,
                          uint32_t at)
{
    adx_tree *tree = p->tree;
    const adx_affine *f = &tree->form[form];
    const adx_multiple *only = &tree->multiple[f->first];
    const adx_dim *d = &tree->dim[dim];
    if (p->status != ADREV_OK || f->count != 1 || f->constant != 0
        || only->kind != ADX_OF_INDEX || only->k != 1)
        return;
    adx_tensor_index *x = &tree->index[only->of];
    if (x->given)
        return;
    if (x->to == 0) {
        x->from = d->from;
        x->to = d->to;
    } else if (!adx_same_form(tree, x->from, d->from)
               || !adx_same_form(tree, x->to, d->to))
        adx_wrong_at(p, at, "'%w' runs over another range here than before",
                     x->name);
}

ADX_SELDOM_END
