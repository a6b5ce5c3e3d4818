#pragma once

/* === code/save ==============================================================
 * A function is written as it stands in memory, number by number. When it is
 * read, nothing is believed: every index is compared with what was read before
 * it, and whatever a node does not use must be as it would have been written.
 * So a file is accepted only if a recording can make the function, and saving
 * the function again gives the same bytes.
 *
 *   needs   tape/memory core/cells core/hash function/api function/program
 *           function/adjoints function/record function/functions
 *           function/evaluation code/text
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- writing ------------------------------------------------------------- */

#define ADX_FILE_MAGIC   0x6e666461u        // "adfn"
#define ADX_FILE_VERSION 1u
#define ADX_FILE_CHOSEN  2u     // the same, with a number of variables

static void adx_put_string(adx_bytes *b, const char *text)
{
    size_t n = text == NULL ? 0 : strlen(text);
    adx_put_word(b, n, 4);
    adx_put_bytes(text, n, b);
}

static void adx_put_real(adx_bytes *b, ad_real v)
{
    uint32_t narrow = 0;
    uint64_t wide = 0;
    if (sizeof v == sizeof narrow)
        memcpy(&narrow, &v, sizeof narrow);
    else
        memcpy(&wide, &v, sizeof wide < sizeof v ? sizeof wide : sizeof v);
    adx_put_word(b, narrow | wide, sizeof v);
}

// Lists all operations by name, since their codes may change from version to
// version.
static void adx_put_operations(adx_bytes *b)
{
    adx_put_word(b, ADX_OP_COUNT, 4);
    for (uint32_t op = 0; op < ADX_OP_COUNT; op++)
        adx_put_string(b, adx_row_of(op)->name);
}

// Kinds by number (docs/saved-functions.md), so these stay as they are.
ADX_STATIC_ASSERT(ADX_MANY_each == 0 && ADX_MANY_sum == 1 && ADX_MANY_most == 2
                  && ADX_MANY_norm == 3 && ADX_MANY_product == 4
                  && ADX_MANY_gather == 5,
                  "saved functions name these kinds by number: add new ones "
                  "behind ADX_MANY_gather");

static void adx_put_many(adx_bytes *b, const adx_many *k)
{
    const uint32_t word[] = { (uint32_t)k->kind, k->op, k->m, k->k, k->n };
    for (size_t i = 0; i < 5; i++)
        adx_put_word(b, word[i], 4);
    for (int i = 0; i < 3; i++) {
        const adx_numbers *arg = &k->arg[i < adx_many_arity(k) ? i : 0];
        adx_put_word(b, arg->base, 4);
        adx_put_word(b, (uint32_t)arg->rs, 4);
        adx_put_word(b, (uint32_t)arg->cs, 4);
    }
    for (size_t i = 0; k->kind == ADX_MANY_gather && i < k->n; i++)
        adx_put_word(b, k->list[i], 4);
}

static void adx_put_program(adx_bytes *b, const adx_program *p)
{
    for (size_t i = 0; i < p->numbers; i++) {
        bool fixed = adx_is_constant_number(p, i);
        adx_put_word(b, fixed ? 1 : 0, 1);
        if (fixed)
            adx_put_real(b, *adx_constant_of(p, i));
    }
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node *s = &p->node[i];
        const uint32_t word[] = { s->op, s->r, s->a, s->b, s->c };
        for (size_t k = 0; k < 5; k++)
            adx_put_word(b, word[k], 4);
        if (s->op == ADX_OP_many)
            adx_put_many(b, &p->many[s->a]);
    }
    for (size_t i = 0; i < p->outputs; i++)
        adx_put_word(b, p->output[i], 4);
}

// What comes before the program: a head, counts, and the names of operations.
static void adx_put_head(adx_bytes *b, const ad_fn *fn, const adx_program *p,
                         const ad_fn_report *report)
{
    bool chosen = fn->variables < fn->n;
    const uint64_t head[] = { ADX_FILE_MAGIC,
                              chosen ? ADX_FILE_CHOSEN : ADX_FILE_VERSION,
                              sizeof(ad_real) };
    const uint64_t count[] = {
        fn->n, fn->m, p->numbers, p->nodes, report->recorded, report->constant,
        report->common, report->identity, report->dead, report->operations,
        report->arrays, report->guards
    };
    for (size_t i = 0; i < 3; i++)
        adx_put_word(b, head[i], 4);
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        adx_put_word(b, count[i], 8);
    if (chosen)
        adx_put_word(b, fn->variables, 8);
    adx_put_operations(b);
}

// The file is what comes before the program, the program, the places of guards
// in the user's source, and a checksum of all that.
static ad_status adx_put_file(const ad_fn *fn, const adx_program *p,
                              const ad_fn_report *report, ad_write_fn *write,
                              void *user)
{
    if (adx_has_external(p))    // a file cannot hold functions of the user's
        return ADREV_EEXTERNAL;
    adx_bytes b = { .memory = &fn->memory };
    adx_put_head(&b, fn, p, report);
    adx_put_program(&b, p);
    for (size_t i = 0; i < report->guards; i++) {
        adx_put_word(&b, (uint32_t)fn->guard[i].line, 4);
        adx_put_string(&b, fn->guard[i].file);
    }
    if (!b.failed)
        adx_put_word(&b, adx_xxh3(b.v, b.n, 0), 8);
    if (!b.failed)
        write((const char *)b.v, b.n, user);
    adx_drop(&fn->memory, b.v);
    return b.failed ? ADREV_ENOMEM : ADREV_OK;
}

// What no result needs is left out.
ADX_API ad_status ad_fn_save(const ad_fn *fn, ad_write_fn *write, void *user)
{
    if (fn == NULL || write == NULL)
        return ADREV_ESHAPE;
    adx_program copy;           // the program without what no result needs
    const adx_program *p = &fn->program;
    ad_fn_report report;
    ad_status status = ADREV_OK;
    if (!adx_count_live(p, &report))
        return ADREV_ENOMEM;
    adx_begin_program(&copy, &fn->memory, false);
    if (!p->counted && report.dead > 0) {
        status = adx_make_copy(&copy, p);
        p = &copy;
    }
    if (status == ADREV_OK)
        status = adx_put_file(fn, p, &report, write, user);
    adx_free_program(&copy);
    return status;
}

/* --- reading ------------------------------------------------------------- */

// What is read of a file: the first failure ends all reading.
typedef struct adx_source_bytes {
    const uint8_t *v;           // the next byte
    size_t left;                // how many are left
    bool bad;                   // more was asked for than there is
} adx_source_bytes;

// The next bytes as an integer. Beyond the end of the file it is 0 and the file
// is bad, so a caller need not ask after each number.
static uint64_t adx_get_integer(adx_source_bytes *b, size_t bytes)
{
    uint64_t v = 0;
    if (b->bad || b->left < bytes) {
        b->bad = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)b->v[i] << (8 * i);
    b->v += bytes;
    b->left -= bytes;
    return v;
}

static uint32_t adx_get_word(adx_source_bytes *b)
{
    return (uint32_t)adx_get_integer(b, 4);
}

static ad_real adx_get_real(adx_source_bytes *b)
{
    ad_real v = 0;
    uint64_t wide = adx_get_integer(b, sizeof v);
    uint32_t narrow = (uint32_t)wide;
    if (sizeof v == sizeof narrow)
        memcpy(&v, &narrow, sizeof narrow);
    else
        memcpy(&v, &wide, sizeof wide < sizeof v ? sizeof wide : sizeof v);
    return v;
}

// A count of things that take that many bytes each: no more than there can be
// in the rest of the file.
static size_t adx_get_count(adx_source_bytes *b, size_t each)
{
    uint64_t n = adx_get_integer(b, 8);
    if (n > b->left / each || n >= ADX_FROM_INPUT)
        b->bad = true;
    return b->bad ? 0 : (size_t)n;
}

// A string, which stays where it is. *n becomes its length.
static const char *adx_get_string(adx_source_bytes *b, size_t *n)
{
    *n = adx_get_word(b);
    const char *text = (const char *)b->v;
    if (b->bad || *n > b->left) {
        b->bad = true;
        *n = 0;
        return text;
    }
    b->v += *n;
    b->left -= *n;
    return text;
}

typedef struct adx_loading {
    adx_source_bytes b;
    adx_program *p;
    uint32_t op[256];           // for each code of the file, the code here
    uint32_t ops;               // how many operations the file knows
    size_t made;                // all numbers below this one have been made
    uint32_t *guard;            // for each of these numbers: 1 + the last one
                                // up to it that a guard makes; 0: there is none
} adx_loading;

// The counts that a file begins with.
typedef struct adx_file_counts {
    size_t n, m;                // inputs and results
    size_t variables;           // of the inputs
    size_t numbers, nodes;
    ad_fn_report report;
} adx_file_counts;

static void adx_get_operations(adx_loading *k)
{
    k->ops = adx_get_word(&k->b);
    if (k->ops > 250)
        k->b.bad = true;
    for (uint32_t i = 0; i < k->ops && !k->b.bad; i++) {
        size_t n;
        const char *name = adx_get_string(&k->b, &n);
        uint32_t op = adx_operation_named(name, n);
        k->op[i] = op < ADX_OP_COUNT ? op : (uint32_t)ADX_OP_end;
    }
}

// The code here of an operation of the file; ADX_OP_end: there is none. Guards
// and array nodes have the two codes behind those of the operations.
static uint32_t adx_get_code(const adx_loading *k, uint32_t op)
{
    return op < k->ops ? k->op[op]
         : op == k->ops ? (uint32_t)ADX_OP_guard
         : op == k->ops + 1 ? (uint32_t)ADX_OP_many : (uint32_t)ADX_OP_end;
}

#define ADX_NOT_MADE (ADX_FROM_INPUT - 1)       // no node read so far makes it

// Whether a node may read a number: it has been made, and not by a guard.
static bool adx_is_readable(const adx_loading *k, uint64_t x)
{
    const adx_program *p = k->p;
    return x < k->made
        && (p->from[x] >= ADX_FROM_INPUT
            || p->node[p->from[x]].op != ADX_OP_guard);
}

static void adx_check_read(adx_loading *k, uint64_t x)
{
    if (!adx_is_readable(k, x))
        k->b.bad = true;
}

// Goes on after a node has been read: its results have been made, and so have
// the constants that follow them.
static void adx_note_made(adx_loading *k)
{
    const adx_program *p = k->p;
    while (k->made < p->numbers && p->from[k->made] != ADX_NOT_MADE) {
        size_t x = k->made++;
        k->guard[x] = !adx_is_readable(k, x) ? (uint32_t)x + 1
                    : x > 0 ? k->guard[x - 1] : 0;
    }
}

// Finds the first and the last number of a range that is not empty. False: they
// have not been made. Steps are bounded first, so that no sum overflows.
static bool adx_find_ends(const adx_loading *k, const adx_numbers *r,
                          size_t rows, size_t cols, int64_t end[2])
{
    const int64_t most = (int64_t)k->p->numbers;
    const int64_t step[2] = { r->rs, r->cs };
    const int64_t way[2] = { (int64_t)(rows - 1) * r->rs,
                             (int64_t)(cols - 1) * r->cs };
    end[0] = end[1] = r->base;
    for (int i = 0; i < 2; i++) {
        if (step[i] > most || step[i] < -most   // even if there is no step
            || way[i] > most || way[i] < -most)
            return false;
        end[way[i] > 0] += way[i];
    }
    return end[0] >= 0 && end[1] < (int64_t)k->made;
}

// Checks that all elements of a range can be read. A file of a few bytes can
// name ranges of 2^31 elements, so they are mostly not looked at one by one: if
// no number between the two ends is made by a guard, all can be read. Where
// there is a guard in between, a range with more elements than there are
// numbers is refused.
static void adx_check_range(adx_loading *k, const adx_numbers *r, size_t rows,
                            size_t cols)
{
    int64_t end[2];
    if (rows == 0 || cols == 0)
        return;
    if (!adx_find_ends(k, r, rows, cols, end)) {
        k->b.bad = true;
        return;
    }
    if (k->guard[end[1]] <= end[0])
        return;
    rows = r->rs == 0 ? 1 : rows;
    cols = r->cs == 0 ? 1 : cols;
    if ((uint64_t)rows * cols > k->p->numbers)
        k->b.bad = true;
    for (size_t i = 0; i < rows && !k->b.bad; i++)
        for (size_t j = 0; j < cols && !k->b.bad; j++)
            adx_check_read(k, adx_in_range(r, i, j));
}

// Checks that all that a node reads has been made. A guard compares with a
// constant.
static void adx_check_reads(adx_loading *k, const adx_node *s)
{
    const adx_many *m = adx_many_of(k->p, s);
    if (m == NULL) {
        adx_check_read(k, s->a);
        adx_check_read(k, s->b);
        if (s->op != ADX_OP_guard)
            adx_check_read(k, s->c);
        else if (!k->b.bad && !adx_is_fixed(k->p, s->b))
            k->b.bad = true;
        return;
    }
    for (size_t i = 0; i < adx_listed(m) && !k->b.bad; i++)
        adx_check_read(k, m->list[i]);
    for (int a = 0; a < 3; a++) {
        size_t rows;
        size_t cols;
        adx_extent(m, a, &rows, &cols);
        adx_check_range(k, &m->arg[a], rows, cols);
    }
}

static void adx_get_list(adx_loading *k, adx_many *m)
{
    if (m->n > k->b.left / 4) {
        k->b.bad = true;
        return;
    }
    m->list = (uint32_t *)adx_take(k->p->memory, m->n, sizeof *m->list);
    if (m->list == NULL)
        adx_spoil(k->p, ADREV_ENOMEM);
    for (size_t i = 0; m->list != NULL && i < m->n; i++)
        m->list[i] = adx_get_word(&k->b);
}

static bool adx_is_range(const adx_numbers *a, const adx_numbers *b)
{
    return a->base == b->base && a->rs == b->rs && a->cs == b->cs;
}

// Whether a kind of a file exists, and its operation.
static bool adx_is_known_kind(const adx_many *m)
{
    return m->kind < ADX_MANY_external
        && (m->kind == ADX_MANY_each ? m->op < ADX_OP_COUNT
            : m->kind == ADX_MANY_product ? m->op == ADREV_OP_mul
                                         || m->op == ADX_OP_chain
            : m->op == 0);
}

// Whether it has the counts of its kind, each other being 0, and no more
// operands or results than a sound file can have. Its arguments are checked
// afterwards, with those of all nodes.
static bool adx_is_plausible(const adx_loading *k, const adx_many *m)
{
    const uint64_t most = k->p->numbers;
    const adx_many_facts *f = adx_facts_of(m->kind);
    return (m->m > 0) == f->m && (m->k > 0) == f->k && (m->n > 0) == f->n
        && m->m <= most && m->k <= most && m->n <= most
        && (uint64_t)m->m * m->n <= most
        && (uint64_t)m->m * m->k < ADX_FROM_INPUT
        && (uint64_t)m->k * m->n < ADX_FROM_INPUT;
}

// Reads an array node. Arguments that it does not have must be as they are
// written.
static void adx_get_many(adx_loading *k, adx_many *m)
{
    static const adx_numbers none = { 0, 0, 0 };
    memset(m, 0, sizeof *m);
    m->kind = (adx_many_kind)adx_get_word(&k->b);
    m->op = adx_get_word(&k->b);
    if (m->kind == ADX_MANY_each || m->kind == ADX_MANY_product)
        m->op = adx_get_code(k, m->op);
    m->m = adx_get_word(&k->b);
    m->k = adx_get_word(&k->b);
    m->n = adx_get_word(&k->b);
    for (size_t i = 0; i < 3; i++) {
        m->arg[i].base = adx_get_word(&k->b);
        m->arg[i].rs = (int32_t)adx_get_word(&k->b);
        m->arg[i].cs = (int32_t)adx_get_word(&k->b);
    }
    if (!adx_is_known_kind(m)) {
        k->b.bad = true;
        return;
    }
    bool unused = m->kind != ADX_MANY_gather || adx_is_range(&m->arg[0], &none);
    for (int i = adx_many_arity(m); i < 3; i++)     // those repeat the first
        unused = unused && adx_is_range(&m->arg[i], &m->arg[0]);
    if (!unused || !adx_is_plausible(k, m))
        k->b.bad = true;
    else if (m->kind == ADX_MANY_gather)
        adx_get_list(k, m);
}

// Whether the arguments that an operation does not have are as they are
// written.
static bool adx_is_filled(const adx_node *s)
{
    int arity = s->op < ADX_OP_COUNT ? adx_row_of(s->op)->arity : 3;
    return (arity > 1 || s->b == s->a) && (arity > 2 || s->c == s->a);
}

// Reads node i, whose results must be the next numbers that have not been made,
// and whose arguments must have been made.
static void adx_get_node(adx_loading *k, size_t i, size_t guards)
{
    adx_program *p = k->p;
    adx_node s;
    s.op = adx_get_code(k, adx_get_word(&k->b));
    s.r = adx_get_word(&k->b);
    s.a = adx_get_word(&k->b);
    s.b = adx_get_word(&k->b);
    s.c = adx_get_word(&k->b);
    // Results are the next numbers, guards have a place, and array nodes are
    // listed in the order of their nodes.
    if (s.r != k->made || s.op > ADX_OP_many || !adx_is_filled(&s)
        || (s.op == ADX_OP_guard && s.c >= guards)
        || (s.op == ADX_OP_many && (s.a != p->manys || s.b != 0 || s.c != 0)))
        k->b.bad = true;
    if (s.op == ADX_OP_many && !k->b.bad) {
        if (!adx_make_room_for(p->memory, (void **)&p->many, &p->many_room,
                               p->manys, sizeof *p->many)) {
            adx_spoil(p, ADREV_ENOMEM);
            return;
        }
        adx_get_many(k, &p->many[p->manys++]);
    }
    if (k->b.bad || p->status != ADREV_OK)
        return;
    adx_check_reads(k, &s);
    for (size_t j = 0; j < adx_results_of(p, &s) && !k->b.bad; j++)
        if (s.r + j >= p->numbers || p->from[s.r + j] != ADX_NOT_MADE)
            k->b.bad = true;
        else
            p->from[s.r + j] = (uint32_t)i;
    p->node[p->nodes++] = s;
    adx_note_made(k);
}

// Reads what each number is: a constant, or not. Inputs come first; all others
// are still to be made by nodes.
static void adx_get_numbers(adx_loading *k, size_t inputs, size_t numbers)
{
    for (size_t i = 0; i < numbers && !k->b.bad; i++) {
        uint64_t kind = adx_get_integer(&k->b, 1);
        bool fixed = kind == 1;
        ad_real v = fixed ? adx_get_real(&k->b) : 0;
        if (fixed)
            adx_new_constant(k->p, v);
        else
            adx_new_number(k->p, i < inputs ? ADX_FROM_INPUT : ADX_NOT_MADE);
        if (kind > 1 || (fixed && i < inputs))
            k->b.bad = true;
    }
    k->p->inputs = inputs;
    if (inputs > numbers)
        k->b.bad = true;
}

// Reads where the user's source has the guards. Their file names share one
// block of memory, which is large enough: each takes no more than its bytes in
// the file and a 0.
static void adx_get_guards(adx_loading *k, ad_fn *fn, size_t guards)
{
    size_t room = k->b.left + guards;
    char *at = fn->names = (char *)adx_take(&fn->memory, room, 1);
    fn->guard = (adx_code_place *)adx_take(&fn->memory, guards,
                                           sizeof *fn->guard);
    if (at == NULL || fn->guard == NULL) {
        adx_spoil(k->p, ADREV_ENOMEM);
        return;
    }
    for (size_t i = 0; i < guards && !k->b.bad; i++) {
        size_t n;
        fn->guard[i].line = (int)adx_get_word(&k->b);
        const char *name = adx_get_string(&k->b, &n);
        fn->guard[i].file = n == 0 ? NULL : at;
        if (memchr(name, '\0', n) != NULL)
            k->b.bad = true;
        memcpy(at, name, n);
        at[n] = '\0';
        at += n == 0 ? 0 : n + 1;
    }
}

// Reads the counts. What is counted must fit into the rest of the file, so that
// no memory is asked for that the file could not fill.
static void adx_get_counts(adx_source_bytes *b, bool chosen, adx_file_counts *c)
{
    c->n = adx_get_count(b, 1);
    c->m = adx_get_count(b, 4);
    c->numbers = adx_get_count(b, 1);
    c->nodes = adx_get_count(b, 20);
    c->report.recorded = (size_t)adx_get_integer(b, 8);
    c->report.constant = (size_t)adx_get_integer(b, 8);
    c->report.common = (size_t)adx_get_integer(b, 8);
    c->report.identity = (size_t)adx_get_integer(b, 8);
    c->report.dead = (size_t)adx_get_integer(b, 8);
    c->report.operations = (size_t)adx_get_integer(b, 8);
    c->report.arrays = (size_t)adx_get_integer(b, 8);
    c->report.guards = adx_get_count(b, 8);
    c->variables = chosen ? adx_get_count(b, 1) : c->n;
    b->bad = b->bad || c->variables > c->n;
}

// Reads the program. When all nodes have been read, all numbers must have been
// made, and nothing may be left at the end of the file.
static void adx_get_program(adx_loading *k, ad_fn *fn, const adx_file_counts *c)
{
    adx_program *p = k->p;
    adx_get_operations(k);
    adx_get_numbers(k, fn->n, c->numbers);
    p->report = c->report;
    p->counted = true;
    k->guard = (uint32_t *)adx_take(p->memory, c->numbers, sizeof *k->guard);
    if (k->guard == NULL)
        adx_spoil(p, ADREV_ENOMEM);
    else if (!k->b.bad && p->status == ADREV_OK)
        adx_note_made(k);
    p->node = (adx_node *)adx_take(p->memory, c->nodes, sizeof *p->node);
    if (p->node == NULL)
        adx_spoil(p, ADREV_ENOMEM);
    p->node_room = p->node == NULL ? 0 : c->nodes;
    for (size_t i = 0; i < c->nodes && !k->b.bad && p->status == ADREV_OK; i++)
        adx_get_node(k, i, c->report.guards);
    if (k->made < p->numbers)
        k->b.bad = true;
    for (size_t i = 0; i < fn->m && !k->b.bad && p->status == ADREV_OK; i++) {
        uint32_t y = adx_get_word(&k->b);
        if (!adx_is_readable(k, y))
            k->b.bad = true;
        else
            adx_new_output(p, y);
    }
    if (!k->b.bad && p->status == ADREV_OK)
        adx_get_guards(k, fn, c->report.guards);
    if (k->b.left != 0)
        k->b.bad = true;
}

// Whether the first words and the checksum are those of a file that this build
// can read. Its end is looked for only behind a right beginning: there may be
// no such address if the length is made up.
static bool adx_is_file(const void *data, size_t bytes)
{
    const uint8_t *v = (const uint8_t *)data;
    adx_source_bytes head = { v, bytes, false };
    if (bytes <= 20 || adx_get_integer(&head, 4) != ADX_FILE_MAGIC
        || adx_get_integer(&head, 4) - ADX_FILE_VERSION
           > ADX_FILE_CHOSEN - ADX_FILE_VERSION
        || adx_get_integer(&head, 4) != sizeof(ad_real))
        return false;
    adx_source_bytes tail = { v + bytes - 8, 8, false };
    return adx_get_integer(&tail, 8) == adx_xxh3(v, bytes - 8, 0);
}

// Reads the counts, then the program.
ADX_API ad_status ad_fn_load(ad_fn **out, const void *data, size_t bytes,
                             const ad_fn_options *options)
{
    static const ad_fn_options none;
    if (out == NULL)
        return ADREV_ESHAPE;
    *out = NULL;
    if (data == NULL)
        return ADREV_ESHAPE;
    if (!adx_is_file(data, bytes))
        return ADREV_EFILE;
    adx_loading k = { .b = { (const uint8_t *)data + 12, bytes - 20, false } };
    adx_file_counts c;
    adx_source_bytes head = { (const uint8_t *)data + 4, 4, false };
    adx_get_counts(&k.b, adx_get_integer(&head, 4) == ADX_FILE_CHOSEN, &c);
    if (k.b.bad || c.m == 0)
        return ADREV_EFILE;
    ad_fn *fn = adx_new_fn(options == NULL ? &none : options, c.n, c.m);
    if (fn == NULL)
        return ADREV_ENOMEM;
    k.p = &fn->program;
    k.p->plain = false;
    k.p->fixed = c.n - c.variables;
    fn->variables = c.variables;
    adx_get_program(&k, fn, &c);
    adx_drop(&fn->memory, k.guard);
    ad_status status = fn->program.status != ADREV_OK ? fn->program.status
                     : k.b.bad ? ADREV_EFILE : ADREV_OK;
    if (status == ADREV_OK)
        *out = fn;
    else
        ad_fn_free(fn);
    return status;
}

ADX_SELDOM_END
