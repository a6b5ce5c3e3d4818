/* words.c - the words of a declaration that say the type.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <string.h>

int unit_written;

// Storage and qualifiers.
static bool says_storage(text w)
{
    static const char *const some[] = { "static", "extern", "register", "const",
                                        "volatile", "inline" };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (is(w, some[i]))
            return true;
    return false;
}

static bool names_record(text word, const ty *base)
{
    return base->kind == T_REC && same(word, base->record->name);
}

// A macro that stands for the type.
static bool number_macro(text w, const ty *base)
{
    text t = w;
    for (int i = 0; i < 8; i++) {
        const macro *m = macro_named(t, unit_written);
        if (m == NULL || m->call)
            break;
        t = m->body;
        while (t.n && t.at[0] == ' ')
            t.at++, t.n--;
    }
    if (t.at == w.at)
        return false;
    return is(t, "double") || is(t, "float")
        || (base->alias != NULL && same(t, base->alias->name));
}

// A macro that stands for the structure: `#define POINT struct point`.
static bool record_macro(text w, const ty *base)
{
    const macro *m = base->kind == T_REC ? macro_named(w, unit_written) : NULL;
    size_t i = 0, last = 0;
    while (m != NULL && !m->call && (i = skip_blank(m->body, i)) < m->body.n) {
        last = i;
        i = skip_token(m->body, i);
    }
    return m != NULL && m->body.n > 0
        && same((text){ m->body.at + last, i - last }, base->record->name);
}

// Whether a macro with arguments is all that says the type: `TYPE(point) p`.
static bool only_call(text t, int unit)
{
    bool call = false, other = false;
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n;) {
        const size_t next = skip_token(t, i), behind = skip_blank(t, next);
        const text w = { t.at + i, next - i };
        const macro *m = word_char(w.at[0]) ? macro_named(w, unit) : NULL;
        i = next;
        if (m != NULL && m->call && behind < t.n && t.at[behind] == '(') {
            call = true;
            i = closing(t, behind);
        } else if (word_char(w.at[0]) && !says_storage(w)) {
            other = true;
        }
    }
    return call && !other;
}

// It may be another macro by now than the one that was expanded.
bool names_macro(text words, int unit)
{
    for (size_t i = 0; (i = skip_blank(words, i)) < words.n;) {
        const size_t next = skip_token(words, i);
        if (macro_named((text){ words.at + i, next - i }, unit) != NULL)
            return true;
        i = next;
    }
    return false;
}

static bool has_declarator(text t, int unit, int depth)
{
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n;) {
        const size_t next = skip_token(t, i);
        const text w = { t.at + i, next - i };
        const macro *m = word_char(w.at[0]) ? macro_named(w, unit) : NULL;
        if (strchr("*[(", w.at[0]) != NULL && depth > 0)
            return true;
        if (m != NULL && !m->call && depth < 8
            && has_declarator(m->body, unit, depth + 1))
            return true;
        i = next;
    }
    return false;
}

// Whether a macro among these words stands for more than a type's name: for
// `double *`; or makes it of its arguments.
bool macro_declares(text words, int unit)
{
    return has_declarator(words, unit, 0) || only_call(words, unit);
}

// Where no word is known to be the type: only storage and qualifiers stay.
static void words_anew(buffer *b, size_t from, text t)
{
    b->n = from;
    for (size_t i = 0; (i = skip_blank(t, i)) < t.n;) {
        const size_t next = skip_token(t, i);
        const text w = { t.at + i, next - i };
        if (says_storage(w))
            putf(b, "%.*s ", (int)w.n, w.at);
        i = next;
    }
    putf(b, "%s ", opt.number);
}

// The specifiers of a declaration, for what is recorded.
void write_type_words(buffer *b, text t, const ty *base)
{
    const size_t from = b->n;
    bool done = false;

    for (size_t i = 0; i < t.n;) {
        const size_t next = skip_token(t, i);
        const text w = { t.at + i, next - i };
        const bool number = is(w, "double") || is(w, "float")
            || number_macro(w, base) || (word_char(w.at[0]) && base->kind == T_NUM
                && base->alias != NULL && same(w, base->alias->name));
        i = next;
        if (active(base) && number) {
            put(b, opt.number);
            done = true;
        } else if (base->alias != NULL && ty_changed(base)
                   && same(w, base->alias->name)) {
            put_text(b, w);
            put(b, opt.suffix);
            done = true;
        } else if (!done && ty_changed(base) && typedef_named(w, unit_written) != NULL) {
            put_text(b, w);
            put(b, opt.suffix);
            done = true;
        } else if (ty_changed(base) && record_macro(w, base)) {
            putf(b, "%s%.*s%s", base->record->tagless ? "" : base->record->is_union
                 ? "union " : "struct ", (int)base->record->name.n,
                 base->record->name.at, opt.suffix);
            done = true;
        } else if (names_record(w, base) && ty_changed(base)) {
            put_text(b, w);
            put(b, opt.suffix);
            done = true;
        } else if (!done && is_passing(w, unit_written)) {
            ty plain = *base;
            plain.quals = 0;
            ty_print(b, &plain, T(""));
            done = true;
        } else {
            put_text(b, w);
        }
    }
    if (!done && ty_changed(base) && base->kind == T_NUM)
        words_anew(b, from, t);
}
