#pragma once

/* === tensor/scan ============================================================
 * The words of a text, one after another from left to right, and the first
 * thing that is wrong with it. After that, or where the text ends, all words
 * are the end: so no loop over words goes on.
 *
 *   needs   tensor/api tensor/tree tensor/messages
 *   offers  ADX_WORD_END ADX_WORD_NAME ADX_WORD_NUMBER ADX_WORD_LE ADX_WORD_GE
 *           ADX_WORD_EQ ADX_WORD_NE ADX_WORD_ARROW adx_parser adx_stop_parsing
 *           adx_wrong_at adx_ends_line adx_say_missing adx_is_figure
 *           adx_take_from adx_take_word adx_accept adx_expect adx_following
 *           adx_is_text adx_is_word adx_is_comparison adx_descend adx_ascend
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Words of one character are that character.
typedef enum adx_word_kind {
    ADX_WORD_END = 0, ADX_WORD_NAME = 256, ADX_WORD_NUMBER, ADX_WORD_LE,
    ADX_WORD_GE, ADX_WORD_EQ, ADX_WORD_NE, ADX_WORD_ARROW
} adx_word_kind;

typedef struct adx_parser {
    adx_tree *tree;
    ad_tensor_error *error;
    ad_status status;

    // The word at hand.
    int kind;               // adx_word_kind, or a character
    adx_spot spot;
    bool whole;             // a number: digits and nothing else
    uint32_t behind;        // where the word before it ends

    // What is open.
    unsigned depth;
    uint32_t bound[ADX_BOUND_MOST];     // indices in scope
    unsigned bounds;
    adx_spot making;        // the name that this formula is for
    uint32_t first;         // its first index

    // Terms of the affine forms that are being read, one above the other.
    adx_multiple *term;
    size_t terms, term_room;
} adx_parser;

/* --- errors -------------------------------------------------------------- */

// Ends the reading of the text with a status, unless it has ended already.
static void adx_stop_parsing(adx_parser *p, ad_status status)
{
    if (p->status == ADREV_OK) {
        p->status = status;
        adx_explain_status(p->error, status);
    }
    p->kind = ADX_WORD_END;
}

// Says that the text is wrong at `at`: the first time, that is the error.
ADX_COLD static void adx_wrong_at(adx_parser *p, uint32_t at,
                                  const char *format, ...)
{
    if (p->status == ADREV_OK) {
        va_list args;
        p->status = ADREV_ESYNTAX;
        va_start(args, format);
        adx_explain_at(p->error, p->tree, at, format, &args);
        va_end(args);
    }
    p->kind = ADX_WORD_END;
}

// Whether a line of the text ends between two places.
static bool adx_ends_line(const adx_parser *p, uint32_t from, uint32_t to)
{
    return memchr(p->tree->text + from, '\n', to - from) != NULL;
}

// Reports that something is missing in front of the current word. At the end of
// a line, the place of the error is that end.
static void adx_say_missing(adx_parser *p, const char *what)
{
    if (p->kind == ADX_WORD_END || adx_ends_line(p, p->behind, p->spot.at))
        adx_wrong_at(p, p->behind, "%s is missing", what);
    else
        adx_wrong_at(p, p->spot.at, "%s is missing before '%w'", what,
                     p->spot);
}

/* --- words --------------------------------------------------------------- */

static bool adx_is_figure(char c) { return c >= '0' && c <= '9'; }

// Whether a name can begin with this character.
static bool adx_begins_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool adx_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v'
        || c == '\f';
}

// Passes over blanks and comments. Returns where the next word begins.
static uint32_t adx_skip_blanks(adx_parser *p, uint32_t at)
{
    const char *text = p->tree->text;
    for (;;) {
        while (adx_is_blank(text[at]))
            at++;
        if (text[at] != '/' || text[at + 1] != '*')
            return at;
        uint32_t end = at + 2;
        while (text[end] != '\0' && (text[end] != '*' || text[end + 1] != '/'))
            end++;
        if (text[end] == '\0') {
            adx_wrong_at(p, at, "this comment does not end: '*/' is missing");
            return end;
        }
        at = end + 2;
    }
}

// Returns where the digits that begin at `at` end.
static uint32_t adx_skip_figures(const char *text, uint32_t at)
{
    while (adx_is_figure(text[at]))
        at++;
    return at;
}

// Takes a number: 12, 1.5, .5, 1., 2e-3. Returns its end.
static uint32_t adx_take_number(adx_parser *p, uint32_t at)
{
    const char *text = p->tree->text;
    p->kind = ADX_WORD_NUMBER;
    at = adx_skip_figures(text, at);
    p->whole = text[at] != '.';
    if (text[at] == '.')
        at = adx_skip_figures(text, at + 1);
    uint32_t e = at + 1;
    if (text[at] == 'e' || text[at] == 'E') {
        e += text[e] == '+' || text[e] == '-';
        if (adx_is_figure(text[e])) {
            at = adx_skip_figures(text, e);
            p->whole = false;
        }
    }
    if (adx_begins_name(text[at]))
        adx_wrong_at(p, at, "a number ends here; to multiply, write *");
    else if (text[at] == '.')
        adx_wrong_at(p, at, "a number has one point");
    return at;
}

// Takes a name: letters, digits and underscores. Returns its end.
static uint32_t adx_take_name(adx_parser *p, uint32_t at)
{
    const char *text = p->tree->text;
    uint32_t begin = at;
    p->kind = ADX_WORD_NAME;
    while (adx_begins_name(text[at]) || adx_is_figure(text[at]))
        at++;
    if (at - begin > ADX_NAME_MOST)
        adx_wrong_at(p, begin, "a name has at most %u letters",
                     (uint32_t)ADX_NAME_MOST);
    return at;
}

// Says that a character begins no word.
static void adx_unknown(adx_parser *p, uint32_t at)
{
    const char *text = p->tree->text;
    size_t n = adx_character(text, at, p->tree->length);
    adx_spot spot = { at, (uint32_t)n };
    unsigned char byte = (unsigned char)text[at];
    if (text[at] == '&')
        adx_wrong_at(p, at, "'&' is unknown; for 'and' write ','");
    else if (text[at] == '!')
        adx_wrong_at(p, at, "'!' is unknown; for 'not equal' write !=");
    else if (adx_is_shown(text + at, n))
        adx_wrong_at(p, at, "'%w' is an unknown character", spot);
    else
        adx_wrong_at(p, at, "a byte %u is no character", (uint32_t)byte);
}

// Takes a sign of one or two characters. Returns its end.
static uint32_t adx_take_sign(adx_parser *p, uint32_t at)
{
    static const struct { char text[3]; int kind; } two[] = {
        { "<=", ADX_WORD_LE }, { ">=", ADX_WORD_GE }, { "==", ADX_WORD_EQ },
        { "!=", ADX_WORD_NE }, { "->", ADX_WORD_ARROW },
    };
    const char *text = p->tree->text + at;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (strncmp(text, two[i].text, 2) == 0) {
            p->kind = two[i].kind;
            return at + 2;
        }
    if (strncmp(text, "//", 2) == 0)
        adx_wrong_at(p, at, "'//' is unknown; a comment is /* ... */");
    else if (strncmp(text, "**", 2) == 0)
        adx_wrong_at(p, at, "'**' is unknown; for a power write ^");
    else if (strncmp(text, "||", 2) == 0)
        adx_wrong_at(p, at, "'||' is unknown; for 'or' write '|'");
    else if (*text == '\0' || strchr("()[],;:+-*/^=<>|?", *text) == NULL)
        adx_unknown(p, at);
    else
        p->kind = *text;
    return at + 1;
}

// Goes to the word that begins at or behind `at`.
static void adx_take_from(adx_parser *p, uint32_t at)
{
    const char *text = p->tree->text;
    at = adx_skip_blanks(p, at);
    p->spot.at = at;
    p->kind = ADX_WORD_END;
    if (p->status == ADREV_OK && at < p->tree->length) {
        char c = text[at];
        at = adx_begins_name(c) ? adx_take_name(p, at)
           : adx_is_figure(c) || (c == '.' && adx_is_figure(text[at + 1]))
           ? adx_take_number(p, at) : adx_take_sign(p, at);
    }
    p->spot.length = at - p->spot.at;
}

// Goes to the next word. Returns where the last one was.
static adx_spot adx_take_word(adx_parser *p)
{
    adx_spot last = p->spot;
    p->behind = last.at + last.length;
    if (p->status == ADREV_OK)
        adx_take_from(p, p->behind);
    return last;
}

// Whether the word at hand is this one; if so, goes to the next.
static bool adx_accept(adx_parser *p, int kind)
{
    if (p->kind != kind || kind == ADX_WORD_END)
        return false;
    adx_take_word(p);
    return true;
}

// Takes the next word, which must be this one.
static void adx_expect(adx_parser *p, int kind, const char *what)
{
    if (!adx_accept(p, kind))
        adx_say_missing(p, what);
}

// Returns the character of the text behind the word at hand, and behind blanks.
static char adx_following(adx_parser *p)
{
    return p->tree->text[adx_skip_blanks(p, p->spot.at + p->spot.length)];
}

// Whether a piece of the text reads so.
static bool adx_is_text(const adx_tree *tree, adx_spot spot, const char *text)
{
    return spot.length == strlen(text)
        && memcmp(tree->text + spot.at, text, spot.length) == 0;
}

// Whether the word at hand is this name.
static bool adx_is_word(const adx_parser *p, const char *word)
{
    return p->kind == ADX_WORD_NAME && adx_is_text(p->tree, p->spot, word);
}

static bool adx_is_comparison(int kind)
{
    return kind == '<' || kind == '>' || kind == ADX_WORD_LE
        || kind == ADX_WORD_GE || kind == ADX_WORD_EQ || kind == ADX_WORD_NE;
}

/* --- brackets ------------------------------------------------------------ */

// Opens one bracket more. False: too many are open.
static bool adx_descend(adx_parser *p)
{
    if (p->depth < ADX_NESTING) {
        p->depth++;
        return true;
    }
    adx_wrong_at(p, p->spot.at, "this is nested deeper than %u levels",
                 (uint32_t)ADX_NESTING);
    return false;
}

static void adx_ascend(adx_parser *p) { p->depth--; }

ADX_SELDOM_END
