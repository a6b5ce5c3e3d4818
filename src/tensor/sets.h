#pragma once

/* === tensor/sets ============================================================
 * Sets of integer points. A set has variables, each with a least and a largest
 * value, and rows: a row is an affine form c + sum k[v]*x[v] of the variables,
 * which must be 0, not be negative, be the value of a map, or have a bit. Rows
 * that are no condition are carried along: the indices of what is read and
 * written at a point. So a variable that an equation gives can be replaced
 * everywhere at once.
 *
 * A variable is replaced only by an equation in which its coefficient is 1 or
 * -1, so that the points stay whole, each in place of one. A variable that is
 * forgotten leaves what its bounds say of the others (Fourier and Motzkin);
 * where that can have points which the set has not, who asked is told.
 *
 * Sizes are numbers here: sets are made when a text is bound. But a size can be
 * open (code of ad_tensor_write_c has it as an argument): then it is one of the
 * first variables of every set, from its least to its largest number. Such a
 * variable is never replaced or forgotten, nor a loop: what a set says holds
 * for all numbers of the sizes. Where conditions narrow its range, the points
 * are those of these sizes only.
 *
 *   needs   tensor/arena
 *   offers  adx_int_table adx_bitmap adx_has_bit adx_set_bit ADX_BITS_MOST
 *           adx_new_bitmap adx_invert_table adx_row_kind ADX_ROW_GONE
 *           ADX_ROW_FORM ADX_ROW_ZERO ADX_ROW_SIGN ADX_ROW_VALUE ADX_ROW_BIT
 *           ADX_ROW_NO_BIT adx_set_row adx_set adx_form_of adx_new_set
 *           adx_copy_set adx_new_var adx_new_row ADX_WHOLE_MOST adx_whole_add
 *           adx_add_multiple adx_extreme adx_floor_div adx_ceil_div
 *           adx_divisor_of adx_vars_of adx_fix_var adx_simplify_set
 *           adx_box_points adx_is_definition adx_map_vars adx_find_map_vars
 *           ADX_ROWS_MOST adx_combine_all adx_project
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- tables and bitmaps -------------------------------------------------- */

// A map, or a column of a relation: value[a - from] for an argument a.
typedef struct adx_int_table {
    const int32_t *value;
    int64_t from;
    size_t n;
    int64_t low, high;          // bounds of the values
    bool ascending;             // it is known that they never fall
    uint32_t *start;            // [high - low + 2]: the arguments with value v
    uint32_t *argument;         // are [n] argument[start[v - low]...],
                                // less `from`; NULL: not made yet
} adx_int_table;

typedef struct adx_bitmap {
    uint64_t *word;
    uint64_t n;                 // bits
    uint64_t set;               // how many are 1
    uint32_t node;              // the condition in the text; 0: it is of none
} adx_bitmap;

// Whether bit i is set.
static bool adx_has_bit(const adx_bitmap *b, uint64_t i)
{
    return b->word[i / 64] >> (i % 64) & 1;
}

// Sets bit i, and counts those that are set.
static void adx_set_bit(adx_bitmap *b, uint64_t i)
{
    b->set += !adx_has_bit(b, i);
    b->word[i / 64] |= (uint64_t)1 << (i % 64);
}

// More than this is not covered bit by bit.
#define ADX_BITS_MOST ((uint64_t)1 << 36)

// Makes a bitmap without bits set. NULL: no memory, or too many bits.
static adx_bitmap *adx_new_bitmap(adx_arena *a, uint64_t n)
{
    if (n > ADX_BITS_MOST) {
        adx_arena_fail(a, ADREV_ELIMIT);
        return NULL;
    }
    adx_bitmap *b = ADX_GET(a, 1, adx_bitmap);
    if (b == NULL)
        return NULL;
    b->n = n;
    b->word = ADX_GET(a, (size_t)(n / 64 + 1), uint64_t);
    return b->word == NULL ? NULL : b;
}

// Lists for each value the arguments that have it, in their order. False: no
// memory.
static bool adx_invert_table(adx_arena *a, adx_int_table *t)
{
    if (t->start != NULL)
        return true;
    size_t range = (size_t)(t->high - t->low + 1);
    t->argument = ADX_GET(a, t->n, uint32_t);
    uint32_t *start = ADX_GET(a, range + 1, uint32_t);
    if (t->argument == NULL || start == NULL)
        return false;
    for (size_t i = 0; i < t->n; i++)
        start[t->value[i] - t->low + 1]++;
    for (size_t i = 0; i < range; i++)
        start[i + 1] += start[i];
    for (size_t i = 0; i < t->n; i++)
        t->argument[start[t->value[i] - t->low]++] = (uint32_t)i;
    for (size_t i = range; i > 0; i--)
        start[i] = start[i - 1];
    start[0] = 0;
    t->start = start;
    return true;
}

/* --- sets ---------------------------------------------------------------- */

typedef enum adx_row_kind {
    ADX_ROW_GONE,               // says nothing any more
    ADX_ROW_FORM,               // is carried along
    ADX_ROW_ZERO,               // the form is 0
    ADX_ROW_SIGN,               // the form is at least 0
    ADX_ROW_VALUE,              // the form is table[the form of row `at`]
    ADX_ROW_BIT,                // the bit of this number is 1
    ADX_ROW_NO_BIT              // ... is 0
} adx_row_kind;

typedef struct adx_set_row {
    adx_row_kind kind;
    uint32_t at;
    adx_int_table *table;
    const adx_bitmap *bits;
} adx_set_row;

typedef struct adx_set {
    adx_arena *arena;
    uint32_t vars;
    uint32_t width;             // room for forms: 1 + variables
    int64_t *low, *high;        // [width - 1] of each variable
    bool *gone;                 // [width - 1] it has been replaced
    uint32_t *called;           // [width - 1] the index of the text; 0: none
    adx_set_row *row;
    int64_t *k;                 // [rows][width] constant, then coefficients
    uint32_t rows, room;
    uint32_t open;              // the first variables: open sizes
    bool empty;
} adx_set;

// Returns the form of a row: [0] its constant, [1 + v] the coefficient of
// variable v.
static int64_t *adx_form_of(const adx_set *s, uint32_t row)
{
    return s->k + (size_t)row * s->width;
}

// Makes room for so many rows and variables. False: no memory.
static bool adx_widen_set(adx_set *s, uint32_t room, uint32_t width)
{
    adx_set to = *s;
    to.room = room;
    to.width = width;
    to.low = ADX_GET(s->arena, width, int64_t);
    to.high = ADX_GET(s->arena, width, int64_t);
    to.gone = ADX_GET(s->arena, width, bool);
    to.called = ADX_GET(s->arena, width, uint32_t);
    to.row = ADX_GET(s->arena, room, adx_set_row);
    to.k = ADX_GET(s->arena, (size_t)room * width, int64_t);
    if (to.low == NULL || to.high == NULL || to.gone == NULL
        || to.called == NULL || to.row == NULL || to.k == NULL)
        return false;
    for (uint32_t i = 0; i < s->rows; i++) {
        to.row[i] = s->row[i];
        memcpy(adx_form_of(&to, i), adx_form_of(s, i),
               (1 + s->vars) * sizeof *s->k);
    }
    if (s->vars > 0) {
        memcpy(to.low, s->low, s->vars * sizeof *s->low);
        memcpy(to.high, s->high, s->vars * sizeof *s->high);
        memcpy(to.gone, s->gone, s->vars * sizeof *s->gone);
        memcpy(to.called, s->called, s->vars * sizeof *s->called);
    }
    *s = to;
    return true;
}

// Returns the set of one point without coordinates. NULL: no memory.
static adx_set *adx_new_set(adx_arena *a)
{
    adx_set *s = ADX_GET(a, 1, adx_set);
    if (s == NULL)
        return NULL;
    s->arena = a;
    return adx_widen_set(s, 8, 8) ? s : NULL;
}

// Returns a copy with room for some more rows and variables. NULL: no memory.
static adx_set *adx_copy_set(const adx_set *s)
{
    adx_set *to = ADX_GET(s->arena, 1, adx_set);
    if (to == NULL)
        return NULL;
    *to = *s;
    return adx_widen_set(to, s->rows + 4, s->vars + 4) ? to : NULL;
}

// Adds a variable from low to high. Returns its number; UINT32_MAX: no memory.
static uint32_t adx_new_var(adx_set *s, int64_t low, int64_t high)
{
    if (1 + s->vars == s->width && !adx_widen_set(s, s->room, 2 * s->width))
        return UINT32_MAX;
    s->low[s->vars] = low;
    s->high[s->vars] = high;
    s->empty = s->empty || low > high;
    return s->vars++;
}

// Adds a row, all zeros. Returns its number; UINT32_MAX: no memory.
static uint32_t adx_new_row(adx_set *s, adx_row_kind kind)
{
    if (s->rows == s->room && !adx_widen_set(s, 2 * s->room, s->width))
        return UINT32_MAX;
    memset(&s->row[s->rows], 0, sizeof *s->row);
    memset(adx_form_of(s, s->rows), 0, s->width * sizeof *s->k);
    s->row[s->rows].kind = kind;
    return s->rows++;
}

/* --- arithmetic of forms ------------------------------------------------- */

#define ADX_WHOLE_MOST ((int64_t)1 << 60)

// Returns to + a*b, within what a text can need.
static int64_t adx_whole_add(adx_arena *arena, int64_t to, int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return to;
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    if (y > (uint64_t)ADX_WHOLE_MOST / x) {
        adx_arena_fail(arena, ADREV_ELIMIT);
        return 0;
    }
    to += a * b;
    if (to > ADX_WHOLE_MOST || to < -ADX_WHOLE_MOST) {
        adx_arena_fail(arena, ADREV_ELIMIT);
        return 0;
    }
    return to;
}

// Computes to += c * from, for forms.
static void adx_add_multiple(const adx_set *s, int64_t to[], int64_t c,
                             const int64_t from[])
{
    for (uint32_t i = 0; c != 0 && i <= s->vars; i++)
        to[i] = adx_whole_add(s->arena, to[i], c, from[i]);
}

// Returns the least or largest value of a form, for all values of its
// variables.
static int64_t adx_extreme(const adx_set *s, const int64_t form[], bool most)
{
    int64_t sum = form[0];
    for (uint32_t v = 0; v < s->vars; v++)
        sum = adx_whole_add(s->arena, sum, form[1 + v],
                            (form[1 + v] > 0) == most ? s->high[v] : s->low[v]);
    return sum;
}

// Returns a/b, rounded down.
static int64_t adx_floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

// Returns a/b, rounded up.
static int64_t adx_ceil_div(int64_t a, int64_t b)
{
    return -adx_floor_div(-a, b);
}

static int64_t adx_gcd(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Returns the greatest common divisor of the coefficients; says how many there
// are, and the variable of one of them.
static int64_t adx_divisor_of(const adx_set *s, const int64_t form[],
                              uint32_t *count, uint32_t *some)
{
    int64_t d = 0;
    *count = 0;
    for (uint32_t v = 0; v < s->vars; v++)
        if (form[1 + v] != 0) {
            d = adx_gcd(d, form[1 + v]);
            *some = v;
            ++*count;
        }
    return d;
}

// Returns the variables of a form that are no open sizes: how many, and one of
// them.
static uint32_t adx_vars_of(const adx_set *s, const int64_t form[],
                            uint32_t *some)
{
    uint32_t count = 0;
    for (uint32_t v = s->open; v < s->vars; v++)
        if (form[1 + v] != 0) {
            *some = v;
            count++;
        }
    return count;
}

/* --- simpler sets -------------------------------------------------------- */

// Leaves x[v] this value only. That of an open size is still to be asked for.
static void adx_fix_var(adx_set *s, uint32_t v, int64_t value)
{
    if (value < s->low[v] || value > s->high[v])
        s->empty = true;
    for (uint32_t r = 0; r < s->rows; r++) {
        int64_t *form = adx_form_of(s, r);
        form[0] = adx_whole_add(s->arena, form[0], form[1 + v], value);
        form[1 + v] = 0;
    }
    if (v < s->open)
        s->low[v] = s->high[v] = value;
    else
        s->gone[v] = true;
}

// Makes the bounds of a variable rows.
static void adx_bounds_as_rows(adx_set *s, uint32_t v)
{
    for (int upper = 0; upper < 2; upper++) {
        uint32_t r = adx_new_row(s, ADX_ROW_SIGN);
        if (r == UINT32_MAX)
            return;
        adx_form_of(s, r)[0] = upper ? s->high[v] : -s->low[v];
        adx_form_of(s, r)[1 + v] = upper ? -1 : 1;
    }
}

// Replaces x[v] by what the row, in which its coefficient is 1 or -1 and which
// must be 0, makes of it. Its bounds become rows.
static void adx_replace_var(adx_set *s, uint32_t v, uint32_t by)
{
    adx_bounds_as_rows(s, v);
    const int64_t *from = adx_form_of(s, by);
    int64_t a = from[1 + v];
    for (uint32_t r = 0; r < s->rows; r++)
        if (r != by) {
            int64_t *form = adx_form_of(s, r);
            adx_add_multiple(s, form, -form[1 + v] * a, from);
        }
    s->row[by].kind = ADX_ROW_GONE;
    memset(adx_form_of(s, by), 0, s->width * sizeof *s->k);
    s->gone[v] = true;
}

// Simplifies by a row that must be 0: it says nothing, fixes a variable, or
// replaces one: the latest with coefficient 1 or -1 that is no open size.
// Returns whether something changed.
static bool adx_use_zero(adx_set *s, uint32_t r)
{
    int64_t *form = adx_form_of(s, r);
    uint32_t count;
    uint32_t v = 0;
    int64_t d = adx_divisor_of(s, form, &count, &v);
    if (count == 0 || form[0] % d != 0) {
        s->empty = s->empty || form[0] != 0;
        s->row[r].kind = ADX_ROW_GONE;
        return true;
    }
    for (uint32_t i = 0; d > 1 && i <= s->vars; i++)
        form[i] /= d;
    if (count == 1) {
        s->row[r].kind = ADX_ROW_GONE;
        adx_fix_var(s, v, -form[0] / form[1 + v]);
        return true;
    }
    for (v = s->vars; v-- > s->open;)
        if (form[1 + v] == 1 || form[1 + v] == -1) {
            adx_replace_var(s, v, r);
            return true;
        }
    return false;
}

// Whether row r is not needed, because an earlier one says as much: of the same
// kind and form, it may differ in the constant of an inequality, and then takes
// the stronger one.
static bool adx_is_said_before(adx_set *s, uint32_t r)
{
    const int64_t *form = adx_form_of(s, r);
    for (uint32_t q = 0; q < r; q++) {
        int64_t *before = adx_form_of(s, q);
        if (s->row[q].kind != s->row[r].kind || s->row[q].bits != s->row[r].bits
            || memcmp(before + 1, form + 1, s->vars * sizeof *form) != 0)
            continue;
        if (s->row[r].kind != ADX_ROW_SIGN && before[0] != form[0])
            continue;
        before[0] = form[0] < before[0] ? form[0] : before[0];
        return true;
    }
    return false;
}

// Simplifies by a row that must not be negative: it always is so, never is, or
// bounds a variable. Returns whether something changed.
static bool adx_use_sign(adx_set *s, uint32_t r)
{
    int64_t *form = adx_form_of(s, r);
    uint32_t count;
    uint32_t v = 0;
    int64_t d = adx_divisor_of(s, form, &count, &v);
    bool never = adx_extreme(s, form, true) < 0;
    if (never || adx_extreme(s, form, false) >= 0) {
        s->empty = s->empty || never;
        s->row[r].kind = ADX_ROW_GONE;
        return true;
    }
    for (uint32_t i = 1; d > 1 && i <= s->vars; i++)
        form[i] /= d;
    form[0] = d > 1 ? adx_floor_div(form[0], d) : form[0];
    if (count > 1 && adx_is_said_before(s, r)) {
        s->row[r].kind = ADX_ROW_GONE;
        return true;
    }
    if (count > 1)
        return false;
    if (form[1 + v] > 0 && -form[0] > s->low[v])
        s->low[v] = -form[0];
    if (form[1 + v] < 0 && form[0] < s->high[v])
        s->high[v] = form[0];
    s->row[r].kind = ADX_ROW_GONE;
    return true;
}

// Simplifies by a row that must be a map's value at an argument: once that is a
// constant, it is an equation. Returns whether something changed.
static bool adx_use_value(adx_set *s, uint32_t r)
{
    const adx_int_table *t = s->row[r].table;
    const int64_t *argument = adx_form_of(s, s->row[r].at);
    uint32_t count;
    uint32_t some;
    adx_divisor_of(s, argument, &count, &some);
    if (count > 0)
        return false;
    int64_t at = argument[0] - t->from;
    s->row[r].kind = ADX_ROW_ZERO;
    if (at < 0 || (uint64_t)at >= t->n)
        s->empty = true;
    else
        adx_form_of(s, r)[0] = adx_whole_add(s->arena, adx_form_of(s, r)[0], -1,
                                             t->value[at]);
    return true;
}

// Simplifies by a row that asks for a bit: it is decided where its form is a
// constant, and gone where another row asks the same. Returns whether something
// changed.
static bool adx_use_bit(adx_set *s, uint32_t r)
{
    const int64_t *form = adx_form_of(s, r);
    uint32_t count;
    uint32_t some;
    adx_divisor_of(s, form, &count, &some);
    if (count > 0 && adx_is_said_before(s, r)) {
        s->row[r].kind = ADX_ROW_GONE;
        return true;
    }
    if (count > 0)
        return false;
    bool set = form[0] >= 0 && (uint64_t)form[0] < s->row[r].bits->n
            && adx_has_bit(s->row[r].bits, (uint64_t)form[0]);
    s->empty = s->empty || set != (s->row[r].kind == ADX_ROW_BIT);
    s->row[r].kind = ADX_ROW_GONE;
    return true;
}

// Simplifies a set by what one row says. Returns whether anything changed.
static bool adx_use_row(adx_set *s, uint32_t r)
{
    switch (s->row[r].kind) {
    case ADX_ROW_ZERO: return adx_use_zero(s, r);
    case ADX_ROW_SIGN: return adx_use_sign(s, r);
    case ADX_ROW_VALUE: return adx_use_value(s, r);
    case ADX_ROW_BIT: case ADX_ROW_NO_BIT: return adx_use_bit(s, r);
    case ADX_ROW_GONE: case ADX_ROW_FORM: break;
    }
    return false;
}

// Replaces what equations give, tightens bounds, and forgets what always holds,
// until no row changes anything any more.
static void adx_simplify_set(adx_set *s)
{
    bool changed = true;
    while (changed && !s->empty && s->arena->status == ADREV_OK) {
        changed = false;
        for (uint32_t v = 0; v < s->vars; v++) {
            s->empty = s->empty || (!s->gone[v] && s->low[v] > s->high[v]);
            if (!s->gone[v] && s->low[v] == s->high[v] && v >= s->open)
                adx_fix_var(s, v, s->low[v]);
        }
        for (uint32_t r = 0; r < s->rows && !s->empty; r++)
            changed = adx_use_row(s, r) || changed;
    }
}

// Returns how many points a set has for given sizes, if only bounds of
// variables are left; else UINT64_MAX.
static uint64_t adx_box_points(const adx_set *s)
{
    uint64_t n = 1;
    if (s->empty)
        return 0;
    for (uint32_t r = 0; r < s->rows; r++)
        if (s->row[r].kind > ADX_ROW_FORM)
            return UINT64_MAX;
    for (uint32_t v = s->open; v < s->vars; v++)
        if (!s->gone[v]) {
            uint64_t extent = (uint64_t)(s->high[v] - s->low[v]) + 1;
            if (n > UINT64_MAX / 2 / extent)
                return UINT64_MAX;
            n *= extent;
        }
    return n;
}

/* --- variables that maps give -------------------------------------------- */

// Whether a row is x[v] = sign*(table[argument] - c) for any value that the
// table has, and all arguments are there; *v says which variable.
static bool adx_is_definition(const adx_set *s, uint32_t r, uint32_t *v)
{
    const int64_t *form = adx_form_of(s, r);
    const adx_int_table *t = s->row[r].table;
    uint32_t count;
    if (s->row[r].kind != ADX_ROW_VALUE)
        return false;
    const int64_t *argument = adx_form_of(s, s->row[r].at);
    adx_divisor_of(s, form, &count, v);
    if (count != 1 || *v < s->open || (form[1 + *v] != 1 && form[1 + *v] != -1)
        || argument[1 + *v] != 0)
        return false;
    int64_t one = (t->low - form[0]) * form[1 + *v];
    int64_t other = (t->high - form[0]) * form[1 + *v];
    return (one < other ? one : other) >= s->low[*v]
        && (one < other ? other : one) <= s->high[*v]
        && adx_extreme(s, argument, false) >= t->from
        && adx_extreme(s, argument, true) < t->from + (int64_t)t->n;
}

// The variables that maps give from others, and those that nothing gives.
typedef struct adx_map_vars {
    bool *given;                // [vars] by a map; NULL: no memory
    uint32_t *row;              // [rows] by which rows, each after those that
    uint32_t rows;              // give its argument
    uint32_t free;              // variables that are left, and not gone
    bool all;                   // the set has no other condition
} adx_map_vars;

// Whether no argument of a row is a variable that a map will give.
static bool adx_knows_argument(const adx_set *s, uint32_t r,
                               const bool given[])
{
    const int64_t *argument = adx_form_of(s, s->row[r].at);
    bool known = true;
    for (uint32_t q = 0; q < s->rows && known; q++) {
        uint32_t u = 0;
        known = !adx_is_definition(s, q, &u) || given[u]
             || argument[1 + u] == 0;
    }
    return known;
}

// Finds the variables that maps give, one after the other: a row is taken when
// its argument is known, until no row is taken any more.
static adx_map_vars adx_find_map_vars(const adx_set *s)
{
    adx_map_vars to = { ADX_GET(s->arena, s->vars, bool),
                        ADX_GET(s->arena, s->rows, uint32_t), 0, 0, false };
    uint32_t conditions = 0;
    uint32_t before = UINT32_MAX;
    if (to.row == NULL)
        to.given = NULL;
    if (to.given == NULL)
        return to;
    while (to.rows != before) {
        before = to.rows;
        for (uint32_t r = 0; r < s->rows; r++) {
            uint32_t v = 0;
            if (!adx_is_definition(s, r, &v) || to.given[v]
                || !adx_knows_argument(s, r, to.given))
                continue;
            to.given[v] = true;
            to.row[to.rows++] = r;
        }
    }
    for (uint32_t r = 0; r < s->rows; r++)
        conditions += s->row[r].kind > ADX_ROW_FORM;
    for (uint32_t v = s->open; v < s->vars; v++)
        to.free += !s->gone[v] && !to.given[v];
    to.all = to.rows == conditions;
    return to;
}

/* --- projections ---------------------------------------------------------
 * Projects a set onto some of its variables, which stay. Where the projection
 * cannot be exact, it is left to bits (tensor/nests).                        */

// Counts the rows of conditions that a variable is in; of them, those with
// signs.
static uint32_t adx_rows_with(const adx_set *s, uint32_t v, uint32_t *signs)
{
    uint32_t n = 0;
    *signs = 0;
    for (uint32_t r = 0; r < s->rows; r++)
        if (adx_form_of(s, r)[1 + v] != 0) {
            bool argument = s->row[r].kind == ADX_ROW_FORM;
            n += s->row[r].kind != ADX_ROW_GONE && !argument;
            *signs += s->row[r].kind == ADX_ROW_SIGN;
        }
    for (uint32_t r = 0; r < s->rows; r++)
        n += s->row[r].kind == ADX_ROW_VALUE
          && adx_form_of(s, s->row[r].at)[1 + v] != 0;
    return n;
}

// Whether all pairs of bounds from below and from above have a coefficient 1 or
// -1 among them: then whole numbers are between them as often as real ones.
static bool adx_bounds_are_whole(const adx_set *s, uint32_t v)
{
    bool lower = true;          // all are 1
    bool upper = true;
    for (uint32_t r = 0; r < s->rows; r++) {
        int64_t k = adx_form_of(s, r)[1 + v];
        if (s->row[r].kind == ADX_ROW_SIGN && k != 0) {
            lower = lower && k <= 1;
            upper = upper && k >= -1;
        }
    }
    return lower || upper;
}

// Adds the row that follows from a lower and an upper bound of v, without v
// (Fourier and Motzkin).
static void adx_combine_bounds(adx_set *s, uint32_t v, uint32_t below,
                               uint32_t above)
{
    uint32_t to = adx_new_row(s, ADX_ROW_SIGN);
    if (to == UINT32_MAX)
        return;
    int64_t a = adx_form_of(s, below)[1 + v];
    int64_t b = -adx_form_of(s, above)[1 + v];
    adx_add_multiple(s, adx_form_of(s, to), b, adx_form_of(s, below));
    adx_add_multiple(s, adx_form_of(s, to), a, adx_form_of(s, above));
}

#define ADX_ROWS_MOST 200

// Combines each bound from below with each from above (Fourier and Motzkin), of
// the first `rows`, while there are fewer than `most`.
static void adx_combine_all(adx_set *s, uint32_t v, uint32_t rows,
                            uint32_t most)
{
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < rows && s->rows < most; j++)
            if (s->row[i].kind == ADX_ROW_SIGN && s->row[j].kind == ADX_ROW_SIGN
                && adx_form_of(s, i)[1 + v] > 0 && adx_form_of(s, j)[1 + v] < 0)
                adx_combine_bounds(s, v, i, j);
}

// Takes v out of a set: every pair of its bounds becomes a row without it.
static void adx_drop_bounded(adx_set *s, uint32_t v)
{
    adx_bounds_as_rows(s, v);
    uint32_t rows = s->rows;
    adx_combine_all(s, v, rows, UINT32_MAX);
    for (uint32_t i = 0; i < rows; i++)
        if (s->row[i].kind == ADX_ROW_SIGN && adx_form_of(s, i)[1 + v] != 0)
            s->row[i].kind = ADX_ROW_GONE;
    s->gone[v] = true;
}

// Returns the row that makes v the value of a map, where any value will do; or
// UINT32_MAX.
static uint32_t adx_any_value(const adx_set *s, uint32_t v)
{
    for (uint32_t r = 0; r < s->rows; r++) {
        const int64_t *form = adx_form_of(s, r);
        uint32_t count;
        uint32_t some;
        if (s->row[r].kind != ADX_ROW_VALUE || form[1 + v] == 0)
            continue;
        adx_divisor_of(s, form, &count, &some);
        const adx_int_table *t = s->row[r].table;
        if (count == 1 && form[1 + v] == 1 && s->low[v] + form[0] <= t->low
            && s->high[v] + form[0] >= t->high)
            return r;
    }
    return UINT32_MAX;
}

// Forgets a variable. False: that would lose something.
static bool adx_drop_var(adx_set *s, uint32_t v)
{
    uint32_t signs;
    uint32_t n = adx_rows_with(s, v, &signs);
    uint32_t value = adx_any_value(s, v);
    if (n == 0)
        s->gone[v] = true;
    else if (n == signs && adx_bounds_are_whole(s, v)
             && s->rows < ADX_ROWS_MOST)
        adx_drop_bounded(s, v);
    else if (n == 1 && value != UINT32_MAX) {
        s->row[value].kind = ADX_ROW_GONE;
        s->gone[v] = true;
    } else
        return false;
    return true;
}

// Forgets all variables except open sizes and those in keep[]. The forms that
// are carried along may have no other variables. False: a step was not exact,
// and the set is of no use.
static bool adx_project(adx_set *s, const bool keep[])
{
    bool changed = true;
    bool left = true;
    adx_simplify_set(s);
    while (changed && left && !s->empty && s->arena->status == ADREV_OK) {
        changed = left = false;
        for (uint32_t v = s->open; v < s->vars; v++)
            if (!s->gone[v] && !keep[v]) {
                bool done = adx_drop_var(s, v);
                changed = changed || done;
                left = left || !done;
            }
        adx_simplify_set(s);
    }
    return !left || s->empty;
}

ADX_SELDOM_END
