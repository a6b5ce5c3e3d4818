/* tree.c - reads the tree that clang prints as JSON.
 *
 * clang names a file, and a line, only where it differs from the one before; so
 * places must be read in the order of the text. Addresses are the names of
 * nodes: those of another translation unit may be the same, so the unit is
 * added to them.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdlib.h>
#include <string.h>

node *tree;

static int last_file;
static uint32_t last_line;
static int unit_read;

// Digits, or 0x and digits as clang writes them.
static uint64_t number(text t)
{
    const bool hex = t.n > 2 && t.at[1] == 'x';
    uint64_t n = 0;
    for (size_t i = hex ? 2 : 0; i < t.n && word_char(t.at[i]); i++) {
        const char c = t.at[i];
        n = n * (hex ? 16 : 10) + (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return n;
}

static uint64_t identity(text t)
{
    const uint64_t id = number(t);
    return id ? id ^ (uint64_t)unit_read << 48 : 0;
}

/* --- places --------------------------------------------------------------- */

static void read_spot_member(text name, spot *s, place *p)
{
    if (is(name, "offset")) {
        s->at = (uint32_t)number(json_scalar());
        s->file = last_file;
        s->line = last_line;
    } else if (is(name, "file")) {
        last_file = file_named(json_string());
        s->file = last_file;
    } else if (is(name, "line")) {
        last_line = (uint32_t)number(json_scalar());
        s->line = last_line;
    } else if (is(name, "col")) {
        s->col = (uint32_t)number(json_scalar());
    } else if (is(name, "tokLen")) {
        s->n = (uint32_t)number(json_scalar());
    } else if (is(name, "isMacroArgExpansion")) {
        p->argument = true;
        json_scalar();
    } else {
        json_skip();
    }
}

// `offset` comes before `file` and `line` in an object: the file of a spot is
// what is last when the object ends.
static void read_spot(spot *s, place *p)
{
    text name;
    bool first = true, any = false;

    if (!json_next('{'))
        return;
    while (json_member(&name, &first)) {
        any = true;
        read_spot_member(name, s, p);
    }
    s->file = any ? last_file : -1;
    s->line = last_line;
}

static void read_place(place *p)
{
    text name;
    bool first = true, any = false;

    p->spelled.file = p->expanded.file = -1;
    if (!json_next('{'))
        return;
    while (json_member(&name, &first)) {
        if (is(name, "spellingLoc")) {
            p->macro = true;
            read_spot(&p->spelled, p);
        } else if (is(name, "expansionLoc")) {
            read_spot(&p->expanded, p);
        } else {
            any = any || is(name, "offset");
            read_spot_member(name, &p->spelled, p);
        }
    }
    if (p->macro)
        return;
    p->spelled.file = any ? last_file : -1;
    p->spelled.line = last_line;
    p->expanded = p->spelled;
}

static void read_range(node *n)
{
    text name;
    bool first = true;

    if (!json_next('{'))
        return;
    while (json_member(&name, &first))
        if (is(name, "begin"))
            read_place(&n->begin);
        else if (is(name, "end"))
            read_place(&n->end);
        else
            json_skip();
}

/* --- nodes ---------------------------------------------------------------- */

static const char *const kind_names[] = {
#define ROW(name) #name,
    KINDS(ROW)
#undef ROW
};

static unsigned hash(text t)
{
    unsigned h = 5381;
    for (size_t i = 0; i < t.n; i++)
        h = h * 33 ^ (unsigned char)t.at[i];
    return h;
}

// The kind of this name, by a hash table that the first call makes.
static kind kind_of(text name)
{
    static unsigned char table[1024];
    static bool made;
    const unsigned count = sizeof kind_names / sizeof *kind_names;

    for (unsigned i = 0; !made && i < count; i++) {
        unsigned h = hash(text_of(kind_names[i])) % 1024;
        while (table[h])
            h = (h + 1) % 1024;
        table[h] = (unsigned char)(i + 1);
    }
    made = true;
    for (unsigned h = hash(name) % 1024; table[h]; h = (h + 1) % 1024)
        if (is(name, kind_names[table[h] - 1]))
            return (kind)(table[h] - 1 + (unsigned)TranslationUnitDecl);
    return UNKNOWN_KIND;
}

static node **ids;
static size_t id_room, id_count;

static void remember(node *n)
{
    if (2 * id_count >= id_room) {
        node **old = ids;
        const size_t room = id_room;
        id_room = room ? 4 * room : 1 << 14;
        ids = calloc(id_room, sizeof *ids);
        id_count = 0;
        for (size_t i = 0; i < room; i++)
            if (old[i] != NULL)
                remember(old[i]);
        free(old);
    }
    size_t h = (size_t)(n->id * 0x9e3779b97f4a7c15u >> 20) & (id_room - 1);
    while (ids[h] != NULL && ids[h]->id != n->id)
        h = (h + 1) & (id_room - 1);
    id_count += ids[h] == NULL;
    ids[h] = n;
}

node *node_by_id(uint64_t id)
{
    if (id_room == 0 || id == 0)
        return NULL;
    size_t h = (size_t)(id * 0x9e3779b97f4a7c15u >> 20) & (id_room - 1);
    while (ids[h] != NULL && ids[h]->id != id)
        h = (h + 1) & (id_room - 1);
    return ids[h];
}

static node *read_node(void);

static void read_kids(node *n)
{
    node **kid = NULL;
    size_t room = 0, count = (size_t)n->kids;

    if (count) {
        kid = grow(NULL, &room, count, sizeof *kid);
        memcpy(kid, n->kid, count * sizeof *kid);
    }
    if (!json_next('['))
        return;
    while (!json_next(']') && json_more()) {
        node *k = read_node();
        k->parent = n;
        kid = grow(kid, &room, count + 1, sizeof *kid);
        kid[count++] = k;
        json_next(',');
    }
    n->kid = kid;
    n->kids = (int)count;
}

static uint64_t fresh_id = 1;           // no address

static node *copied(const node *n, node *parent)
{
    node *c = take(sizeof *c);
    *c = *n;
    c->parent = parent;
    c->ty = NULL;
    c->visited = 0;             // its declarations are seen anew
    c->function = NULL;
    c->stores = NULL;
    c->places = NULL;
    ((node *)n)->copy = c;
    if (n->kind == VarDecl || n->kind == ParmVarDecl || n->kind == FunctionDecl) {
        c->id = fresh_id += 2;
        remember(c);
    }
    c->kid = take((size_t)(n->kids + 1) * sizeof *c->kid);
    for (int i = 0; i < n->kids; i++)
        c->kid[i] = copied(n->kid[i], c);
    return c;
}

bool is_under(const node *n, const node *root)
{
    while (n != NULL && n != root)
        n = n->parent;
    return n != NULL;
}

static void refer(node *c, const node *root)
{
    node *d = c->ref ? node_by_id(c->ref) : NULL;
    if (d != NULL && d->copy != NULL && is_under(d->copy, root)
        && (d->kind == VarDecl || d->kind == ParmVarDecl)) {
        c->ref = d->copy->id;
        c->decl = NULL;
    }
    for (int i = 0; i < c->kids; i++)
        refer(c->kid[i], root);
}

node *tree_copy(node *n)
{
    node *c = copied(n, n->parent);
    refer(c, c);
    return c;
}

static void read_reference(node *n)
{
    text name;
    bool first = true;

    if (!json_next('{'))
        return;
    while (json_member(&name, &first))
        if (is(name, "id"))
            n->ref = identity(json_string());
        else if (is(name, "name"))
            n->ref_name = json_string();
        else if (is(name, "kind"))
            n->ref_kind = json_string();
        else
            json_skip();
}

static void read_type(text *qual, text *desugared)
{
    text name;
    bool first = true;

    if (!json_next('{'))
        return;
    while (json_member(&name, &first))
        if (is(name, "qualType"))
            *qual = json_string();
        else if (is(name, "desugaredQualType"))
            *desugared = json_string();
        else
            json_skip();
}

// Members that are a text of the node.
static text *text_member(node *n, text name)
{
    switch (name.n) {
    case 4: return is(name, "name") ? &n->name : NULL;
    case 5: return is(name, "value") ? &n->value : NULL;
    case 6: return is(name, "opcode") ? &n->opcode : NULL;
    case 7: return is(name, "tagUsed") ? &n->tag : NULL;
    case 8: return is(name, "castKind") ? &n->cast : NULL;
    case 12: return is(name, "storageClass") ? &n->storage : NULL;
    default: return NULL;
    }
}

static bool flag_member(node *n, text name)
{
#define FLAG(text, field) if (is(name, text)) return n->field = 1, true
    FLAG("isArrow", arrow);
    FLAG("hasElse", has_else);
    FLAG("hasInit", has_init);
    FLAG("hasVar", has_var);
    FLAG("variadic", variadic);
    FLAG("isBitfield", bitfield);
    FLAG("isImplicit", implicit);
    FLAG("inline", is_inline);
    FLAG("completeDefinition", complete);
    FLAG("init", init);
    FLAG("selected", selected);
#undef FLAG
    return false;
}

static void read_member(node *n, text name)
{
    text *t = text_member(n, name);
    text unused = { 0 };

    if (t != NULL)
        *t = json_scalar();
    else if (is(name, "id"))
        n->id = identity(json_string());
    else if (is(name, "kind"))
        n->kind = kind_of(n->kind_name = json_string());
    else if (is(name, "loc"))
        read_place(&n->loc);
    else if (is(name, "range"))
        read_range(n);
    else if (is(name, "type"))
        read_type(&n->type, &n->desugared);
    else if (is(name, "argType"))
        read_type(&n->arg_type, &unused);
    else if (is(name, "inner"))
        read_kids(n);
    else if (is(name, "array_filler"))
        n->filled = 1, read_kids(n);
    else if (is(name, "referencedDecl") || is(name, "decl"))
        read_reference(n);
    else if (is(name, "referencedMemberDecl")
             || is(name, "targetLabelDeclId"))
        n->ref = identity(json_string());
    else if (is(name, "previousDecl"))
        n->previous = identity(json_string());
    else if (is(name, "isPostfix"))
        n->postfix = is(json_scalar(), "true");
    else if (is(name, "isArrow"))
        n->arrow = is(json_scalar(), "true");
    else if (flag_member(n, name))
        json_scalar();
    else
        json_skip();
}

static node *read_node(void)
{
    node *n = take(sizeof *n);
    text name;
    bool first = true;

    n->unit = unit_read;
    n->begin.expanded.file = n->begin.spelled.file = -1;
    n->end.expanded.file = n->end.spelled.file = -1;
    n->loc.expanded.file = n->loc.spelled.file = -1;
    if (!json_next('{')) {
        json_skip();
        return n;
    }
    while (json_member(&name, &first))
        read_member(n, name);
    if (n->id != 0)
        remember(n);
    return n;
}

// The first of the array fillers stands for elements that are not written.
node *tree_read(int unit)
{
    last_file = -1;
    last_line = 0;
    unit_read = unit;
    if (!json_object())
        return NULL;
    node *root = read_node();
    return root->kind == TranslationUnitDecl ? root : NULL;
}
