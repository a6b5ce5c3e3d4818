#pragma once

/* === check/print ============================================================
 * Dumps of a recording, and the report of ad_check in words.
 *
 *   needs   number/recording tape/layout tape/memory tape/walk check/examine
 *           check/explain
 *   offers  adx_writer adx_print
 * ========================================================================== */

/* --- dumps --------------------------------------------------------------- */

ADX_SELDOM_BEGIN

typedef struct adx_writer {
    ad_write_fn *write;
    void *user;
} adx_writer;

// Writes |x| as %.9g does, though the last digit may be off by one. Returns the
// end.
//
// The number is scaled to an integer of nine digits. Its exponent comes from
// log10, which may be off by one, and is put right if the integer has ten
// digits or eight. Below 1e-200 the scaling is done in two factors, since one
// would overflow. Zeros behind the point are dropped, and the digits are
// written from the last to the first.
static char *adx_digits(char *p, double x)
{
    double a = fabs(x);
    int e = a > 0 ? (int)floor(log10(a)) : 0;
    double whole = e < -200 ? a * 1e200 * pow(10, -192 - e)
                            : a * pow(10, 8 - e);

    e += whole >= 999999999.5 ? 1 : whole < 99999999.5 && a > 0 ? -1 : 0;
    whole = e < -200 ? a * 1e200 * pow(10, -192 - e) : a * pow(10, 8 - e);
    unsigned long long n = (unsigned long long)floor(whole + 0.5);
    // now the number is n * 10^(e - 8), and digit 0 is the first of n
    bool plain = e >= -5 && e < 9;
    int point = plain ? e : 0;          // the digit that it stands behind
    int i = 8;
    for (; i > 0 && i > point && n % 10 == 0; i--)
        n /= 10;
    // A number below 1 begins with zeros: when n is used up, its digits are 0.
    char *end = p + (point < 0 ? i - point : i) + (i > point);
    for (char *q = end; q >= p; i--, n /= 10) {
        *q-- = (char)('0' + n % 10);
        if (i == point + 1)
            *q-- = '.';
    }
    p = end + 1;
    if (plain)
        return p;
    *p++ = 'e';
    *p++ = e < 0 ? '-' : '+';
    e = e < 0 ? -e : e;
    *p++ = (char)('0' + e / 100);
    *p++ = (char)('0' + e / 10 % 10);
    *p++ = (char)('0' + e % 10);
    return p;
}

// A small printf: %z is a size_t, %g a double, %s a string in which quotes and
// backslashes are escaped.
static void adx_print(const adx_writer *w, const char *format, ...)
{
    char text[40];
    va_list args;

    va_start(args, format);
    for (const char *p = format; *p != 0; p++) {
        char *end = text;
        if (*p != '%')
            *end++ = *p;
        else if (*++p == 'z') {
            size_t n = va_arg(args, size_t);
            end = text + 1;
            for (size_t rest = n; rest > 9; rest /= 10)
                end++;
            for (char *q = end; q > text; n /= 10)
                *--q = (char)('0' + n % 10);
        } else if (*p == 'g') {
            double x = va_arg(args, double);
            if (x < 0)
                *end++ = '-';
            if (x - x == 0)
                end = adx_digits(end, x);
            else
                end = (char *)memcpy(end, x != x ? "nan" : "inf", 3) + 3;
        } else
            for (const char *q = va_arg(args, const char *); *q != 0; q++) {
                if (*q == '"' || *q == '\\')
                    w->write("\\", 1, w->user);
                w->write(q, 1, w->user);
            }
        if (end > text)
            w->write(text, (size_t)(end - text), w->user);
    }
    va_end(args);
}

/* --- a report in words --------------------------------------------------- */

// A column of a table: it counts what is written, and is filled up to its
// width.
typedef struct adx_cell_text {
    const adx_writer *w;
    size_t length;
} adx_cell_text;

static void adx_write_counted(const char *text, size_t length, void *user)
{
    adx_cell_text *f = (adx_cell_text *)user;
    f->length += length;
    f->w->write(text, length, f->w->user);
}

static void adx_fill_up(const adx_cell_text *f, size_t width)
{
    for (size_t i = f->length; i < width; i++)
        adx_print(f->w, " ");
    adx_print(f->w, " ");
}

static void adx_print_text(const adx_writer *w, const char *text, size_t width)
{
    adx_cell_text f = { w, 0 };
    adx_writer counted = { adx_write_counted, &f };
    adx_print(&counted, "%s", text);
    adx_fill_up(&f, width);
}

static void adx_print_real(const adx_writer *w, ad_real x, size_t width)
{
    adx_cell_text f = { w, 0 };
    adx_writer counted = { adx_write_counted, &f };
    adx_print(&counted, "%g", (double)x);
    adx_fill_up(&f, width);
}

static void adx_print_inputs(const adx_writer *w, const ad_check_entry *e,
                             size_t width)
{
    adx_cell_text f = { w, 0 };
    adx_writer counted = { adx_write_counted, &f };
    adx_print(&counted, e->inputs > 1 ? "%z to %z" : "%z", e->index,
              e->index + e->inputs - 1);
    adx_fill_up(&f, width);
}

#define ADX_VERDICT_WIDTH 9
#define ADX_INDEX_WIDTH  12
#define ADX_REAL_WIDTH   16

static void adx_print_check(const adx_writer *w, const ad_check_report *r,
                            const ad_check_entry *e)
{
    static const char *const verdict[ADREV_VERDICT_COUNT] = {
        "agrees", "DISAGREES", "kink", "noisy"
    };
    adx_print_text(w, verdict[e->verdict], ADX_VERDICT_WIDTH);
    if (r->outputs > 1) {
        ad_check_entry output = { .index = e->output, .inputs = 1 };
        adx_print_inputs(w, &output, ADX_INDEX_WIDTH);
    }
    adx_print_inputs(w, e, ADX_INDEX_WIDTH);
    adx_print_real(w, e->gradient, ADX_REAL_WIDTH);
    adx_print_real(w, e->difference, ADX_REAL_WIDTH);
    adx_print_real(w, e->error, 0);
    adx_print(w, "\n");
}

// The worst entry after `last` in the order of adx_is_worse, of two alike the
// earlier; NULL: none is left. So a table is sorted without memory of its own.
static const ad_check_entry *adx_next_worst(const ad_check_report *r,
                                            const ad_check_entry *last)
{
    const ad_check_entry *next = NULL;
    for (const ad_check_entry *e = r->entry; e < r->entry + r->listed; e++) {
        bool left = last == NULL || adx_is_worse(last, e)
                 || (e > last && !adx_is_worse(e, last));
        if (left && (next == NULL || adx_is_worse(e, next)))
            next = e;
    }
    return next;
}

static void adx_print_table(const adx_writer *w, const ad_check_report *r)
{
    const size_t most = 100;
    adx_print_text(w, "verdict", ADX_VERDICT_WIDTH);
    if (r->outputs > 1)
        adx_print_text(w, "output", ADX_INDEX_WIDTH);
    adx_print_text(w, "input", ADX_INDEX_WIDTH);
    adx_print_text(w, "derivative", ADX_REAL_WIDTH);
    adx_print_text(w, "differences", ADX_REAL_WIDTH);
    adx_print(w, "their error\n");
    if (r->entry == NULL || r->listed == 0)
        adx_print_check(w, r, &r->worst);
    const ad_check_entry *e = NULL;
    for (size_t i = 0; i < r->listed && i < most; i++) {
        e = adx_next_worst(r, e);
        adx_print_check(w, r, e);
    }
    if (r->listed > most)
        adx_print(w, "and %z more\n", r->listed - most);
}

// Says in words what to do about each verdict that occurs.
static void adx_print_advice(const adx_writer *w, const ad_check_report *r)
{
    static const char *const advice[ADREV_VERDICT_COUNT] = {
        "agree: the derivative is that of the differences.",
        "DISAGREE: a derivative was lost (.v, ad_value, ad_detach, a plain "
        "double), or a rule of your own is wrong. Take the first of them, and "
        "ask ad_explain what its derivative is made of.",
        "are on a kink: the slopes to both sides differ. Move x, or know that "
        "the derivative is one of many.",
        "cannot be told: f is too rough or too large here, or not finite. Take "
        "another x, or scale f."
    };
    static const int order[] = { ADREV_DISAGREES, ADREV_KINK, ADREV_NOISY,
                                 ADREV_AGREES };
    for (size_t i = 0; i < ADREV_VERDICT_COUNT; i++)
        if (r->counts[order[i]] > 0)
            adx_print(w, "%z of %z %s\n", r->counts[order[i]], r->checks,
                      advice[order[i]]);
    if (r->gap > 1)
        adx_print(w, "Forward and reverse sweeps DISAGREE, %g and %g along the "
                  "same direction: look for a pushforward that is not the "
                  "transpose of its pullback.\n", (double)r->forward,
                  (double)r->reverse);
}

ADX_API ad_status ad_check_print(const ad_check_report *report,
                                 ad_write_fn *write, void *user)
{
    const adx_writer w = { write, user };
    if (report == NULL || write == NULL || report->listed > report->room
        || adx_no_array(report->listed, report->entry))
        return ADREV_ESHAPE;
    if (!report->filled)
        adx_print(&w, "Nothing was checked: look at the status of ad_check.\n");
    else if (report->checks == 0)
        adx_print(&w, "Nothing was checked: there is no input or no output.\n");
    else {
        adx_print_table(&w, report);
        adx_print_advice(&w, report);
    }
    return ADREV_OK;
}

static void adx_write_inputs(const adx_writer *w, bool dot, size_t first,
                             size_t last)
{
    for (size_t i = first; dot && i <= last; i++)
        adx_print(w, "v%z [shape=box];\n", i);
    if (!dot && first <= last)
        adx_print(w, first < last ? "v%z to v%z: inputs\n" : "v%z: input\n",
                  first, last);
}

static void adx_write_statement(const adx_writer *w, bool dot,
                                const adx_cursor *at, unsigned header,
                                const adx_site *site)
{
    adx_print(w, dot ? "v%z [label=\"v%z" : "v%z =", at->seq, at->seq);
    for (size_t i = 0; i < adx_uses(at, header) && !dot; i++) {
        adx_operand use = adx_use_of(at, header, i);
        adx_print(w, i == 0 ? " " : " + ");
        if (i == 0 && header & ADX_SUM)
            adx_print(w, "sum v%z", (size_t)use.id);
        else
            adx_print(w, use.id == 0 ? "%g const" : "%g v%z", (double)use.d,
                      (size_t)use.id);
    }
    if (site->file != NULL)
        adx_print(w, dot ? "\\n%s:%z\\n%g" : "     %s:%z, value %g",
                  site->file, (size_t)site->line, (double)site->value);
    adx_print(w, dot ? "\"];\n" : "\n");
    for (size_t i = 0; i < adx_uses(at, header) && dot; i++) {
        adx_operand use = adx_use_of(at, header, i);
        if (use.id != 0)
            adx_print(w, "v%z -> v%z [label=\"%g\"];\n", at->seq,
                      (size_t)use.id, (double)use.d);
    }
}

// Writes where a region begins or ends. In a graph a region is a cluster, whose
// name has the number of its entry.
static void adx_write_edge(const adx_writer *w, bool dot, int edge,
                           const char *name, size_t entry, size_t *depth)
{
    if (edge == ADX_BEGIN) {
        adx_print(w, dot ? "subgraph cluster_%z { label=\"%s\";\n"
                         : "begin %z: %s\n", entry, name);
        ++*depth;
    } else if (!dot)
        adx_print(w, "end: %s\n", name);
    else if (*depth > 0) {
        adx_print(w, "}\n");
        --*depth;
    }
}

// Writes all entries in their order, as lines of text or as a graph of values
// (`dot`), in which a region that is never ended is closed at the end.
static ad_status adx_dump(const ad_tape *t, ad_write_fn *write, void *user,
                          bool dot)
{
    adx_writer w = { write, user };
    size_t depth = 0;
    size_t count = 0;
    adx_site site;

    if (t == NULL)
        return ADREV_ENOTAPE;
    adx_print(&w, dot ? "digraph tape {\nrankdir=BT;\n" : "");
    adx_write_inputs(&w, dot, 1, t->lead);
    adx_cursor at = { .seq = t->lead };
    size_t before = at.seq;
    for (unsigned header; (header = adx_next_with(t, &at, &site)) != 0;
         before = at.seq, count++) {
        const char *name = "";
        int edge = adx_edge_of_region(&at, header, &name);
        if (!(header & ADX_OTHER))
            adx_write_statement(&w, dot, &at, header, &site);
        else if (header == ADX_INPUTS)
            adx_write_inputs(&w, dot, before + 1, at.seq);
        else if (edge != 0)
            adx_write_edge(&w, dot, edge, name, count, &depth);
        else if (!dot)
            adx_print(&w, "other: kind %z, %z operands, %z values\n",
                      (size_t)header, at.operands, at.seq - before);
    }
    for (; dot && depth > 0; depth--)
        adx_print(&w, "}\n");
    adx_print(&w, dot ? "}\n" : "");
    return t->status;
}

ADX_API ad_status ad_dump_text(const ad_tape *t, ad_write_fn *write,
                               void *user)
{
    return adx_dump(t, write, user, false);
}

typedef struct adx_string {
    char *text;
    size_t room;
    size_t length;              // of all that was written
} adx_string;

static void adx_write_string(const char *text, size_t length, void *user)
{
    adx_string *s = (adx_string *)user;
    for (size_t i = 0; i < length; i++, s->length++)
        if (s->length + 1 < s->room)
            s->text[s->length] = text[i];
}

ADX_API size_t ad_dump_string(const ad_tape *t, size_t room, char text[])
{
    adx_string s = { text, text == NULL ? 0 : room, 0 };
    adx_dump(t, adx_write_string, &s, false);
    if (text != NULL && room > 0)
        text[s.length < s.room ? s.length : s.room - 1] = 0;
    return s.length;
}

ADX_API ad_status ad_dump_dot(const ad_tape *t, ad_write_fn *write,
                              void *user)
{
    return adx_dump(t, write, user, true);
}

ADX_SELDOM_END
