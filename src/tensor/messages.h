#pragma once

/* === tensor/messages ========================================================
 * What is wrong with a text, in words: where, what, the line, and a caret
 * under the column.
 *
 *     2:24: ']' is missing before '*'
 *         out y[i] = sum(j) A[i,j*x[j];
 *                                ^
 *
 *   needs   tensor/api tensor/tree
 *   offers  adx_saying adx_say_string adx_say_whole adx_character adx_is_shown
 *           adx_locate adx_say_spot adx_explain_at adx_explain_text
 *           adx_explain_status
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Text of limited length; what is beyond is left out.
typedef struct adx_saying {
    char *text;
    size_t n;
    size_t room;            // with the zero byte
} adx_saying;

// Adds as many bytes of a text as there is room for.
static void adx_say_bytes(adx_saying *s, const char *text, size_t n)
{
    for (size_t i = 0; i < n && s->n + 1 < s->room; i++)
        s->text[s->n++] = text[i];
    s->text[s->n] = '\0';
}

static void adx_say_string(adx_saying *s, const char *text)
{
    adx_say_bytes(s, text, strlen(text));
}

// Adds a whole number in decimal digits.
static void adx_say_whole(adx_saying *s, uint32_t v)
{
    char digit[10];
    size_t n = 0;
    for (; n == 0 || v > 0; v /= 10)
        digit[n++] = (char)('0' + v % 10);
    while (n-- > 0)
        adx_say_bytes(s, &digit[n], 1);
}

/* --- characters ----------------------------------------------------------
 * Columns count characters: in UTF-8 all bytes but 10xxxxxx begin one.      */

// Whether a byte of UTF-8 is the first one of a character.
static bool adx_begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

// Returns how many bytes the character at `at` has, which is before `end`.
static size_t adx_character(const char *text, size_t at, size_t end)
{
    size_t n = 1;
    while (at + n < end && !adx_begins_character(text[at + n]))
        n++;
    return n;
}

// Whether these bytes are a character that can be shown as it is.
static bool adx_is_shown(const char *c, size_t n)
{
    unsigned char lead = (unsigned char)*c;
    return n == 1 ? lead >= ' ' && lead < 0x7f
         : n == 2 ? lead >= 0xc2 && lead < 0xe0
                    && (lead > 0xc2 || (unsigned char)c[1] >= 0xa0)
         : n == 3 ? lead >= 0xe0 && lead < 0xf0
         : n == 4 && lead >= 0xf0 && lead < 0xf5;
}

// Adds a character, in one column; a tab is a blank.
static void adx_say_character(adx_saying *s, const char *c, size_t n)
{
    if (*c == '\t')
        adx_say_string(s, " ");
    else if (!adx_is_shown(c, n))
        adx_say_string(s, "?");
    else if (s->n + n < s->room)
        adx_say_bytes(s, c, n);
}

// Finds the line and the column of a place in the text, and where its line
// begins.
static size_t adx_locate(const adx_tree *tree, size_t at, int *line,
                         int *column)
{
    size_t begin = 0;
    *line = *column = 1;
    for (size_t i = 0; i < at; i++) {
        *column += adx_begins_character(tree->text[i]);
        if (tree->text[i] == '\n') {
            ++*line;
            *column = 1;
            begin = i + 1;
        }
    }
    if (at > begin && !adx_begins_character(tree->text[begin]))
        ++*column;                          // a stray byte counts as one
    return begin;
}

/* --- the line and the caret ---------------------------------------------- */

#define ADX_INDENT "\n    "
#define ADX_CUT    "..."

// Returns where to begin the part of the line that is shown, so that room is
// left for the text behind the caret. The line of the caret takes as many bytes
// as that part has columns.
static size_t adx_cut_before(const char *text, size_t begin, size_t at,
                             size_t room)
{
    size_t from = at;
    size_t bytes = 0;
    while (from > begin) {
        size_t back = 1;
        while (from - back > begin
               && !adx_begins_character(text[from - back]))
            back++;
        bytes += back + 1;
        if (bytes > room)
            break;
        from -= back;
    }
    return from;
}

// Adds the line from `begin` to `end`, and a caret under `at`. Leading blanks
// are left out, and so is what there is no room for.
static void adx_say_line(adx_saying *s, const char *text, size_t begin,
                         size_t at, size_t end)
{
    const size_t fixed = 2 * strlen(ADX_INDENT) + 1;        // with the caret
    const size_t cut = strlen(ADX_CUT);
    size_t left = s->room - 1 - s->n;
    if (left < fixed + 10 * cut)
        return;
    left -= fixed;
    while (begin < at && (text[begin] == ' ' || text[begin] == '\t'))
        begin++;
    size_t behind = end - at < left / 3 ? end - at : left / 3;
    size_t from = adx_cut_before(text, begin, at, left - behind);
    if (from > begin)
        from = adx_cut_before(text, begin, at, left - behind - 2 * cut);

    size_t blanks = 0;
    adx_say_string(s, ADX_INDENT);
    if (from > begin) {
        adx_say_string(s, ADX_CUT);
        blanks += cut;
    }
    for (size_t n; from < at; from += n, blanks++) {
        n = adx_character(text, from, at);
        adx_say_character(s, text + from, n);
    }
    size_t most = s->room - 1 - strlen(ADX_INDENT) - blanks - 1;
    bool whole = s->n + (end - from) <= most;
    for (size_t n; from < end; from += n) {
        n = adx_character(text, from, end);
        if (!whole && s->n + n + cut > most) {
            adx_say_string(s, ADX_CUT);
            break;
        }
        adx_say_character(s, text + from, n);
    }
    adx_say_string(s, ADX_INDENT);
    for (size_t i = 0; i < blanks; i++)
        adx_say_string(s, " ");
    adx_say_string(s, "^");
}

/* --- the whole message --------------------------------------------------- */

// Adds a piece of the text to a message, shortened.
static void adx_say_spot(adx_saying *s, const adx_tree *tree, adx_spot spot)
{
    const size_t most = 28;
    const char *text = tree->text + spot.at;
    size_t end = spot.length > most ? most - strlen(ADX_CUT) : spot.length;
    for (size_t i = 0, n; i < end; i += n) {
        n = adx_character(text, i, spot.length);
        adx_say_character(s, text + i, n);
    }
    if (end < spot.length)
        adx_say_string(s, ADX_CUT);
}

// Adds a message to a text. %w: a piece of the text, adx_spot; %s: a string;
// %u: uint32_t.
static void adx_say_message(adx_saying *s, const adx_tree *tree,
                            const char *format, va_list *args)
{
    for (const char *f = format; *f != '\0'; f++)
        if (*f != '%')
            adx_say_bytes(s, f, 1);
        else if (*++f == 'w')
            adx_say_spot(s, tree, va_arg(*args, adx_spot));
        else if (*f == 's')
            adx_say_string(s, va_arg(*args, const char *));
        else
            adx_say_whole(s, va_arg(*args, uint32_t));
}

// Fills in the error: `at` is where in the text.
static void adx_explain_at(ad_tensor_error *error, const adx_tree *tree,
                           size_t at, const char *format, va_list *args)
{
    adx_saying s = { error->text, 0, sizeof error->text };
    size_t begin = adx_locate(tree, at, &error->line, &error->column);
    size_t end = at;
    while (end < tree->length && tree->text[end] != '\n')
        end++;
    if (end > at && tree->text[end - 1] == '\r')
        end--;
    adx_say_whole(&s, (uint32_t)error->line);
    adx_say_string(&s, ":");
    adx_say_whole(&s, (uint32_t)error->column);
    adx_say_string(&s, ": ");
    adx_say_message(&s, tree, format, args);
    adx_say_line(&s, tree->text, begin, at, end);
}

// Explains an error without a place.
static void adx_explain_text(ad_tensor_error *error, const char *text)
{
    adx_saying s = { error->text, 0, sizeof error->text };
    error->line = error->column = 0;
    adx_say_string(&s, text);
}

// Explains a status that has no place in the text, by its own message.
static void adx_explain_status(ad_tensor_error *error, ad_status status)
{
    adx_explain_text(error, ad_message(status));
}

ADX_SELDOM_END
