/* types.c - types of C, with an activity for each number in them.
 *
 * Every declared thing has a tree of its own, whose leaves of floating type
 * refer to a `num`. Two things whose addresses may meet have joined numbers:
 * then both are recorded, or neither is. Between values there are edges
 * instead: a constant may go where a recorded number is expected. The members
 * of a structure belong to its type, not to one object of it.
 *
 * A pointer to void gets the type of what it was made of (`bound`).
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>
#include <string.h>

/* --- numbers -------------------------------------------------------------- */

static num **nums;
static size_t num_room;
static unsigned num_count;

typedef struct edge {
    unsigned from, to;
    const function *in;         // NULL: a value may move there several times
} edge;
static edge *edges;
static size_t edge_room, edge_count;
const function *edges_in;

num *num_new(void)
{
    num *n = take(sizeof *n);
    n->index = num_count;
    nums = grow(nums, &num_room, num_count + 1u, sizeof *nums);
    return nums[num_count++] = n;
}

num *num_root(num *n)
{
    while (n->same != NULL) {
        if (n->same->same != NULL)
            n->same = n->same->same;
        n = n->same;
    }
    return n;
}

void num_join(num *a, num *b)
{
    a = num_root(a);
    b = num_root(b);
    if (a == b)
        return;
    b->same = a;
    a->varied |= b->varied;
    if (b->made > a->made)
        a->made = b->made, a->only = b->only;
    if (b->mixes > a->mixes)
        a->mixes = b->mixes;
    a->useful |= b->useful;
    a->stepped |= b->stepped;
}

num *num_at(unsigned index) { return index < num_count ? nums[index] : NULL; }

void num_edge(num *from, num *to)
{
    edges = grow(edges, &edge_room, edge_count + 1, sizeof *edges);
    edges[edge_count++] = (edge){ from->index, to->index, edges_in };
}

// Sorts edges by the end that is `from`, as starts[] of a list of the others.
unsigned *edge_lists(bool back, unsigned **start)
{
    unsigned *first = take((num_count + 2u) * sizeof *first);
    unsigned *list = take((edge_count + 1) * sizeof *list);

    for (size_t i = 0; i < edge_count; i++)
        first[(back ? edges[i].to : edges[i].from) + 2]++;
    for (unsigned i = 2; i < num_count + 2; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < edge_count; i++)
        list[first[(back ? edges[i].to : edges[i].from) + 1]++]
            = back ? edges[i].from : edges[i].to;
    *start = first;
    return list;
}

// Leaves those along which a value may move several times, as in an iteration.
void edges_keep_repeated(void)
{
    size_t count = 0;
    for (size_t i = 0; i < edge_count; i++)
        if (edges[i].in == NULL || !edges[i].in->once)
            edges[count++] = edges[i];
    edge_count = count;
}

static bool *mark_of(num *n, bool back) { return back ? &n->useful : &n->varied; }

static void spread(bool back)
{
    unsigned *start, *list = edge_lists(back, &start);
    unsigned *work = take((num_count + 1u) * sizeof *work), n = 0;

    for (unsigned i = 0; i < num_count; i++)
        if (nums[i]->same == NULL && *mark_of(nums[i], back))
            work[n++] = i;
    while (n > 0) {
        const unsigned i = work[--n];
        for (unsigned k = start[i]; k < start[i + 1]; k++) {
            num *to = nums[list[k]];
            if (*mark_of(to, back))
                continue;
            *mark_of(to, back) = true;
            work[n++] = list[k];
        }
    }
}

// Which numbers depend on the inputs, and which ones results depend on.
void num_spread(void)
{
    for (size_t i = 0; i < edge_count; i++) {
        edges[i].from = num_root(nums[edges[i].from])->index;
        edges[i].to = num_root(nums[edges[i].to])->index;
    }
    spread(false);
    spread(true);
    singles_find();
}

bool num_active(const num *n)
{
    n = num_root((num *)n);
    return n->varied && n->useful;
}

bool active(const ty *t)
{
    return t != NULL && t->kind == T_NUM && !t->odd && num_active(t->num);
}

/* --- trees ---------------------------------------------------------------- */

ty *ty_new(ty_kind what)
{
    ty *t = take(sizeof *t);
    t->kind = what;
    return t;
}

ty *ty_number(void)
{
    ty *t = ty_new(T_NUM);
    t->name = T("double");
    t->num = num_new();
    t->num->mixes = WITH_ITSELF;
    return t;
}

/* --- typedefs and records ------------------------------------------------- */

static names typedefs;          // the latest of a name in a unit
static node **records;
static size_t record_room, record_count;

void typedef_note(node *decl)
{
    name_set(&typedefs, decl->name, decl->unit, decl);
}

node *typedef_named(text name, int unit)
{
    node *d = name_find(&typedefs, name, unit);
    return d != NULL && d->alike ? d->alike : d;
}

bool typedef_twin(const node *decl)
{
    for (size_t i = 0; i < decl->use_count; i++)
        if (ty_changed(decl->uses[i]))
            return true;
    return false;
}

bool typedef_plain(const node *decl)
{
    for (size_t i = 0; i < decl->use_count; i++)
        if (!ty_changed(decl->uses[i]))
            return true;
    return false;
}

// A structure without a tag has the name of its typedef.
void record_entitle(node *decl, text name)
{
    record *r = record_of(decl);
    if (r->name.n == 0)
        r->name = name;
}

static void record_list(node *decl)
{
    records = grow(records, &record_room, record_count + 1, sizeof decl);
    records[record_count++] = decl;
}

// Of the same structure, declared by another unit.
void record_share(node *decl, record *r)
{
    if (decl->record == NULL)
        record_list(decl);
    decl->record = r;
}

record *record_of(node *decl)
{
    if (decl->record != NULL)
        return decl->record;
    record_list(decl);
    record *r = decl->record = take(sizeof *r);
    r->decl = decl;
    r->name = decl->name;
    r->tagless = decl->name.n == 0;
    r->is_union = is(decl->tag, "union");
    return r;
}

static void record_link(record *r)
{
    int n = 0;
    if (r->linked)
        return;
    r->linked = true;
    r->field = take((size_t)(r->decl->kids + 1) * sizeof *r->field);
    for (int i = 0; i < r->decl->kids; i++) {
        node *f = r->decl->kid[i];
        if (f->kind != FieldDecl || (f->bitfield && f->name.n == 0))
            continue;
        f->ty = ty_of(f->type, f);
        r->field[n++] = f->ty;
    }
    r->fields = n;
}

// Of a structure that the unit only names, the one that another unit completes.
static record *record_named(text tag, text name, int unit)
{
    for (int turn = 0; turn < 3; turn++)
        for (size_t i = record_count; i-- > 0;) {
            node *d = records[i];
            if (same(record_of(d)->name, name) && same(tag, d->tag)
                && (turn == 1 || d->unit == unit) && (turn == 2 || d->complete))
                return record_of(d);
        }
    return NULL;
}

bool record_seen(const record *r, int unit)
{
    for (size_t i = 0; i < record_count; i++)
        if (records[i]->unit == unit && records[i]->complete
            && (records[i] == r->decl || records[i]->record == r))
            return true;
    return false;
}

// `(unnamed struct at FILE:LINE:COL)`, and other words for it.
static record *record_at(text where, int unit)
{
    size_t colon[2] = { 0, 0 };
    for (size_t i = 0; i < where.n; i++)
        if (where.at[i] == ':')
            colon[0] = colon[1], colon[1] = i;
    const size_t from = find(where, " at ") + 4;
    const text path = { where.at + from, colon[0] > from ? colon[0] - from : 0 };
    const unsigned line = (unsigned)atoi(where.at + colon[0] + 1);
    const unsigned col = (unsigned)atoi(where.at + colon[1] + 1);
    for (size_t i = record_count; i-- > 0;) {
        const spot *s = &records[i]->loc.expanded;
        if (records[i]->name.n == 0 && s->line == line && s->col == col
            && records[i]->unit == unit && file_named(path) == s->file)
            return record_of(records[i]);
    }
    return NULL;
}

/* --- reading types -------------------------------------------------------- */

typedef struct reader {
    text t;
    size_t i;
    const node *at;
} reader;

static char peek(reader *r)
{
    while (r->i < r->t.n && r->t.at[r->i] == ' ')
        r->i++;
    return r->i < r->t.n ? r->t.at[r->i] : 0;
}

static text next_word(reader *r)
{
    peek(r);
    const size_t from = r->i;
    while (r->i < r->t.n && word_char(r->t.at[r->i]))
        r->i++;
    return (text){ r->t.at + from, r->i - from };
}

static unsigned qualifier(text w)
{
    return is(w, "const") ? Q_CONST : is(w, "volatile") ? Q_VOLATILE
         : is(w, "restrict") || is(w, "__restrict") ? Q_RESTRICT : 0;
}

static ty *record_type(reader *r, text tag)
{
    ty *t = ty_new(T_REC);
    if (peek(r) == '(') {
        const size_t from = r->i, to = closing(r->t, r->i);
        t->record = record_at((text){ r->t.at + from, to - from },
                              r->at->unit);
        r->i = to;
        return t;
    }
    text name = next_word(r);
    while (r->i + 1 < r->t.n && r->t.at[r->i] == ':') {     // q::(anonymous ...)
        r->i += 2;
        if (peek(r) == '(')
            return record_type(r, tag);
        name = next_word(r);
    }
    t->record = record_named(tag, name, r->at->unit);
    return t;
}

// Sugar gives a fresh tree that remembers the name.
static ty *typedef_type(node *decl)
{
    ty *t = ty_of(decl->type, decl);
    ty *named = take(sizeof *named);
    if (t->kind == T_PTR && t->to->kind == T_REC)
        t->to->record->pointer = decl->name;
    if (t->kind == T_FUN || (t->kind == T_PTR && t->to->kind == T_FUN)) {
        if (decl->ty == NULL)
            decl->ty = t;
        t = decl->ty;               // one type for all that are named so
    }
    *named = *t;
    named->alias = decl;
    decl->uses = grow(decl->uses, &decl->use_room, decl->use_count + 1,
                      sizeof *decl->uses);
    decl->uses[decl->use_count++] = named;
    return named;
}

static ty *base_type(text words, bool single, bool odd, bool floating)
{
    ty *t = ty_new(floating ? T_NUM : is(words, "void") ? T_VOID : T_OTHER);
    t->name = words;
    t->single = single;
    t->odd = odd;
    if (t->kind == T_NUM)
        t->num = num_new();
    return t;
}

static ty *specifiers(reader *r)
{
    size_t from = (peek(r), r->i), to = from;
    unsigned quals = 0;
    bool floating = false, single = false, odd = false;
    ty *t = NULL;

    for (;;) {
        const char c = peek(r);
        const size_t before = r->i;
        if (!word_char(c))
            break;
        const text w = next_word(r);
        if (qualifier(w)) {
            quals |= qualifier(w);
            if (to == from)
                from = to = (peek(r), r->i);
            continue;
        }
        if (is(w, "struct") || is(w, "union")) {
            t = record_type(r, w);
            if (t->record == NULL)
                t->kind = T_OTHER, t->name = (text){ r->t.at + before, r->i - before };
            break;
        }
        if (is(w, "enum")) {
            if (peek(r) == '(')
                r->i = closing(r->t, r->i);
            else
                next_word(r);
            to = r->i;
            break;
        }
        if (starts(w, "__attribute__") || is(w, "typeof") || is(w, "_Atomic")) {
            if (peek(r) == '(')
                r->i = closing(r->t, r->i);
            odd = true;
        }
        node *td = to == from ? typedef_named(w, r->at->unit) : NULL;
        if (td != NULL) {
            t = typedef_type(td);
            break;
        }
        floating |= is(w, "double") || is(w, "float");
        single |= is(w, "float");
        odd |= is(w, "long") || is(w, "_Complex") || is(w, "__float128")
            || is(w, "_Float128");
        floating |= is(w, "__float128") || is(w, "_Float128");
        to = r->i;
    }
    if (t == NULL)
        t = base_type((text){ r->t.at + from, to - from }, single,
                      odd && floating, floating);
    if (quals && t->alias == NULL && t->kind != T_REC) {
        text w = t->name;           // without the qualifiers
        while (starts(w, "const ") || starts(w, "volatile ")) {
            const size_t n = starts(w, "const ") ? 6 : 9;
            w = (text){ w.at + n, w.n - n };
        }
        t->name = w;
    }
    t->quals |= quals;
    return t;
}

static ty *declarator(reader *r, ty *base);

static ty *parameters(reader *r, ty *result)
{
    ty *f = ty_new(T_FUN);
    size_t room = 0;

    r->i++;                         // (
    f->to = result;
    while (peek(r) != ')' && peek(r) != 0) {
        if (peek(r) == '.') {
            f->variadic = true;
            r->i += 3;
        } else {
            ty *p = declarator(r, specifiers(r));
            if (p->kind == T_VOID && f->pars == 0 && peek(r) == ')')
                break;
            f->par = grow(f->par, &room, (size_t)f->pars + 1, sizeof *f->par);
            f->par[f->pars++] = p;
        }
        if (peek(r) == ',')
            r->i++;
    }
    r->i++;
    return f;
}

// Suffixes bind outwards in: a[2][3] is an array of 2 arrays of 3.
static ty *suffixes(reader *r, ty *base)
{
    if (peek(r) == '[') {
        const size_t from = r->i + 1, to = closing(r->t, r->i);
        ty *a = ty_new(T_ARR);
        r->i = to;
        a->size = (text){ r->t.at + from, to - 1 - from };
        a->to = suffixes(r, base);
        return a;
    }
    if (peek(r) == '(')
        return parameters(r, base);
    if (starts((text){ r->t.at + r->i, r->t.n - r->i }, "__attribute__")) {
        next_word(r);
        if (peek(r) == '(')
            r->i = closing(r->t, r->i);
    }
    return base;
}

static ty *declarator(reader *r, ty *base)
{
    while (peek(r) == '*' || peek(r) == '^') {
        ty *p = ty_new(T_PTR);
        p->to = base;
        base = p;
        r->i++;
        while (word_char(peek(r))) {
            const size_t before = r->i;
            const unsigned q = qualifier(next_word(r));
            if (q == 0) {
                r->i = before;
                break;
            }
            base->quals |= q;
        }
    }
    if (peek(r) == '(') {
        const size_t after = r->i + 1;
        const char c = (r->i++, peek(r));
        r->i = after - 1;
        if (c == '*' || c == '(' || c == '[') {     // a grouped declarator
            reader inner = { r->t, after, r->at };
            const size_t close = closing(r->t, r->i);
            r->i = close;
            base = suffixes(r, base);
            inner.t.n = close - 1;
            return declarator(&inner, base);
        }
    }
    return suffixes(r, base);
}

ty *ty_of(text qual, const node *at)
{
    reader r = { qual, 0, at };
    ty *t = declarator(&r, specifiers(&r));

    if (t->kind == T_REC)
        record_link(t->record);
    return t;
}

/* --- joining -------------------------------------------------------------- */

// Pairs that do not fit: refused if a recorded number is in one of them.
typedef struct conflict {
    ty *a, *b;
    const node *at, *cause;
} conflict;

static conflict *conflicts;
static size_t conflict_room, conflict_count;

static void differ(ty *a, ty *b, const node *at, const node *cause)
{
    conflicts = grow(conflicts, &conflict_room, conflict_count + 1,
                     sizeof *conflicts);
    conflicts[conflict_count++] = (conflict){ a, b, at, cause };
}

ty *ty_bound(ty *t)
{
    while (t->kind == T_VOID && t->bound != NULL)
        t = t->bound;
    return t;
}

ty *ty_root(ty *t)
{
    while (t->same != NULL)
        t = t->same;
    return t;
}

static void join_parts(ty *a, ty *b, const node *at)
{
    join(a->to, b->to, at);
    for (int i = 0; i < a->pars && i < b->pars; i++)
        join(a->par[i], b->par[i], at);
}

// A pointer may have been cast to one of `void (void)` and back: the parameters
// are those of the types that have the most of them.
static void join_functions(ty *a, ty *b, const node *at)
{
    ty *x = ty_root(a), *y = ty_root(b);
    join_parts(a, b, at);
    if (x == y)
        return;
    ty *p = x->fullest ? x->fullest : x, *q = y->fullest ? y->fullest : y;
    y->same = x;
    x->known |= y->known;
    x->open |= y->open;
    x->fullest = p->pars >= q->pars ? p : q;
    join_parts(p, q, at);
}

// Where numbers got into a pointer to void: there is the cause of a conflict.
static const node *cause(const ty *t, const node *at)
{
    for (; t->kind == T_VOID && t->bound != NULL; t = t->bound)
        if (t->bound_at != NULL)
            return t->bound_at;
    return at;
}

// Whether there are but numbers of one type: that of `first`, once it is known.
static bool all_numbers(ty *t, ty **first)
{
    if (t->kind == T_ARR)
        return all_numbers(t->to, first);
    if (t->kind == T_NUM)
        *first = *first ? *first : t;
    if (t->kind != T_REC)
        return t->kind == T_NUM && !t->odd && t->single == (*first)->single;
    for (int i = 0; i < t->record->fields; i++)
        if (!all_numbers(t->record->field[i], first))
            return false;
    return true;
}

// The first of them; NULL: there is something else.
ty *only_numbers(ty *t)
{
    ty *first = NULL;
    return all_numbers(t, &first) ? first : NULL;
}

void join_number(ty *t, void *with)
{
    num_join(t->num, ((ty *)with)->num);
}

// A structure of numbers of one type is used as an array of them.
static bool join_whole(ty *whole, ty *number)
{
    const ty *first = whole->kind == T_REC ? only_numbers(whole) : NULL;
    if (first == NULL || first->single != number->single || number->odd)
        return false;
    each_number(whole, join_number, number);
    return true;
}

// A structure whose first member is one, as its address is that of the member.
static bool begins_with(const record *r, const record *part)
{
    const ty *first = r->fields ? r->field[0] : NULL;
    return !r->is_union && first != NULL && first->kind == T_REC
        && (first->record == part || begins_with(first->record, part));
}

// Blocks of a free list begin with the address of the next one: such a pointer to
// void points to itself, and gets no type from that.
static bool leads_to(const ty *t, const ty *to)
{
    while (t != to && (t->kind == T_PTR || t->kind == T_ARR
                       || (t->kind == T_VOID && t->bound != NULL)))
        t = t->kind == T_VOID ? t->bound : t->to;
    return t == to;
}

static void bind(ty *t, ty *to, const node *at)
{
    if (leads_to(to, t))
        return;
    t->bound = to;
    t->bound_at = at;
}

void join(ty *a, ty *b, const node *at)
{
    const node *from = cause(a, at);

    from = from == at ? cause(b, at) : from;
    a = ty_bound(a);
    b = ty_bound(b);
    if (a == b)
        return;
    if (a->kind == T_VOID)
        bind(a, b, at);
    else if (b->kind == T_VOID)
        bind(b, a, at);
    else if (a->kind == T_NUM && b->kind == T_NUM
             && a->single == b->single && a->odd == b->odd)
        num_join(a->num, b->num);
    else if ((a->kind == T_PTR || a->kind == T_ARR) && a->kind == b->kind)
        join(a->to, b->to, at);
    else if (a->kind == T_FUN && b->kind == T_FUN)
        join_functions(a, b, at);
    else if (a->kind == T_ARR && b->kind != T_ARR)
        join(a->to, b, at);
    else if (b->kind == T_ARR)
        join(a, b->to, at);
    else if (a->kind == T_REC && b->kind == T_REC
             && (a->record == b->record || begins_with(a->record, b->record)
                 || begins_with(b->record, a->record)))
        return;
    else if ((a->kind == T_NUM && join_whole(b, a))
             || (b->kind == T_NUM && join_whole(a, b)))
        return;
    else if (a->kind != T_OTHER || b->kind != T_OTHER)
        differ(a, b, at, from);
}

/* --- what is in a type ---------------------------------------------------- */

typedef struct walk {
    void (*f)(ty *, void *);
    void *ctx;
    record *open[64];
    int depth;
} walk;

static void walk_numbers(walk *w, ty *t)
{
    t = t ? ty_bound(t) : NULL;
    if (t == NULL)
        return;
    if (t->kind == T_NUM)
        w->f(t, w->ctx);
    else if (t->kind == T_PTR || t->kind == T_ARR)
        walk_numbers(w, t->to);
    if (t->kind == T_FUN) {
        walk_numbers(w, t->to);
        for (int i = 0; i < t->pars; i++)
            walk_numbers(w, t->par[i]);
    }
    if (t->kind != T_REC || w->depth == 64)
        return;
    for (int i = 0; i < w->depth; i++)
        if (w->open[i] == t->record)
            return;
    w->open[w->depth++] = t->record;
    for (int i = 0; i < t->record->fields; i++)
        walk_numbers(w, t->record->field[i]);
}

// A structure is looked at once.
void each_number(ty *t, void (*f)(ty *, void *), void *ctx)
{
    walk w = { f, ctx, { NULL }, 0 };
    walk_numbers(&w, t);
}

static void or_varied(ty *t, void *any)
{
    *(bool *)any |= num_root(t->num)->varied;
}

// Of memory that is used as another type what varies is lost: nothing that
// follows is known to depend on it. So it need not be useful.
static bool any_varied(ty *t)
{
    bool any = false;
    each_number(t, or_varied, &any);
    return any;
}

static void unions_check(void);

bool types_conflicts(void)
{
    for (size_t i = 0; i < conflict_count; i++) {
        const conflict *c = &conflicts[i];
        if (!any_varied(c->a) && !any_varied(c->b))
            continue;
        if (c->cause != c->at)
            refuse(c->cause, "give the parameter its type",
                   "a pointer to recorded numbers loses its type (aliasing)");
        if (c->at != NULL)
            refuse(c->at, "use one type for these numbers, or copy them one by one",
                   "memory of recorded numbers is used as another type "
                   "(aliasing)");
    }
    unions_check();
    return refused > 0;
}

bool record_twin(record *r)
{
    return r != NULL && r->twin;
}

bool ty_changed(const ty *t)
{
    if (t == NULL)
        return false;
    switch (t->kind) {
    case T_NUM: return active(t);
    case T_PTR:
    case T_ARR: return ty_changed(t->to);
    case T_REC: return record_twin(t->record);
    case T_FUN:
        for (int i = 0; i < t->pars; i++)
            if (ty_changed(t->par[i]))
                return true;
        return ty_changed(t->to);
    default: return false;
    }
}

static bool record_changed(const record *r)
{
    for (int i = 0; i < r->fields; i++)
        if (ty_changed(r->field[i]))
            return true;
    return false;
}

// Which structures have twins: those with something recorded, or with a pointer
// to such a structure.
void records_settle(void)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < record_count; i++) {
            record *r = record_of(records[i]);
            if (!r->twin && record_changed(r))
                r->twin = again = true;
        }
    }
}

static void first_number(ty *t, void *first)
{
    ty **f = first;
    if (*f == NULL)
        *f = t;
    else
        join(*f, t, NULL);
}

// The members of another declaration of the structure.
static void fields_share(node *decl, const record *r)
{
    if (decl == r->decl)
        return;
    for (int i = 0; i < decl->kids && i < r->decl->kids; i++)
        decl->kid[i]->ty = r->decl->kid[i]->ty;
}

// What overlaps in a union is recorded, or not, together.
void records_link(void)
{
    for (size_t i = 0; i < record_count; i++) {
        record *r = record_of(records[i]);
        ty *first = NULL;
        record_link(r);
        fields_share(records[i], r);
        for (int k = 0; r->is_union && k < r->fields; k++)
            each_number(r->field[k], first_number, &first);
    }
}

static void refuse_union(record *r)
{
    static const char way[] = "make the union a structure";
    static const char why[]
        = "a union of recorded numbers and other data (aliasing)";
    refuse(r->decl, way, "%s", why);
    if (r->use != NULL)
        refuse(r->use, way, "%s", why);
}

// Addresses of functions of several types: none is read as another.
static bool only_functions(const record *r)
{
    for (int i = 0; i < r->fields; i++)
        if (r->field[i]->kind != T_PTR || r->field[i]->to->kind != T_FUN)
            return false;
    return true;
}

static void unions_check(void)
{
    for (size_t i = 0; i < record_count; i++) {
        record *r = record_of(records[i]);
        ty t = { .kind = T_REC, .record = r };
        if (r->is_union && any_varied(&t) && r->fields > 1
            && only_numbers(&t) == NULL && !only_functions(r))
            refuse_union(r);
    }
}

ty *ty_base(ty *t)
{
    while (t != NULL && (t->kind == T_PTR || t->kind == T_ARR)
           && t->alias == NULL)
        t = t->to;
    return t;
}
