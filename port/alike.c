/* alike.c - types that several units declare.
 *
 * Units that include the same header declare the same types, each in a tree of
 * its own. A type of a later unit that is the same as one of an earlier unit
 * gets the same record, so that what is recorded in it is so in all units. Types
 * of two sources are the same if they have the same name and the same text.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"

static names types;             // the latest of a name in all units

static bool same_words(const node *a, const node *b)
{
    return a->kind == b->kind && a->kids == b->kids && same(a->name, b->name)
        && same(a->opcode, b->opcode) && same(a->value, b->value)
        && same(a->ref_name, b->ref_name) && same(a->tag, b->tag);
}

// Types without a name are told by their place, which the text then has.
static bool same_type(text a, text b)
{
    return same(a, b) || (find(a, " at ") < a.n && find(b, " at ") < b.n);
}

bool same_code(const node *a, const node *b)
{
    if (!same_words(a, b) || !same_type(a->type, b->type)
        || !same_type(a->desugared, b->desugared))
        return false;
    for (int i = 0; i < a->kids; i++)
        if (!same_code(a->kid[i], b->kid[i]))
            return false;
    return true;
}

// Now `later` is what `n` is, and so are the types in it.
static void identify(node *later, node *n)
{
    if (n->kind == RecordDecl) {
        later->alike = n;
        record_share(later, record_of(n));
    } else if (n->kind == TypedefDecl || n->kind == EnumDecl) {
        later->alike = n;
    }
    for (int i = 0; i < n->kids; i++)
        identify(later->kid[i], n->kid[i]);
}

// The structure without a tag that a typedef names.
static node *entitled(const node *in)
{
    node *r = in->ref ? node_by_id(in->ref) : NULL;
    if (r != NULL && r->kind == RecordDecl && r->complete && r->name.n == 0)
        return r;
    for (int i = 0; i < in->kids; i++)
        if ((r = entitled(in->kid[i])) != NULL)
            return r;
    return NULL;
}

static bool same_typedef(node *a, node *b)
{
    node *r = entitled(a), *s = entitled(b);
    if (!same_type(a->type, b->type) || (r == NULL) != (s == NULL))
        return false;
    if (r == NULL || r->record == s->record)
        return true;
    if (r->alike != NULL || s->alike != NULL || !same_code(r, s))
        return false;
    identify(r, s);
    return true;
}

static bool alike(node *a, node *b)
{
    if (a->kind != b->kind || !same(a->tag, b->tag))
        return false;
    if (a->kind == TypedefDecl)
        return same_typedef(a, b);
    return a->complete == b->complete && same_code(a, b);
}

static text key_of(const node *n)
{
    buffer b = { 0 };
    put(&b, n->kind == TypedefDecl ? "" : "struct ");
    put_text(&b, n->name);
    return text_in(&b);
}

static void note_type(node *n)
{
    const text key = key_of(n);
    node *older = name_find(&types, key, -1);

    for (node *o = older; o != NULL && n->alike == NULL; o = o->older)
        if (o->unit != n->unit && o->alike == NULL && o->parent == tree
            && n->parent == tree && alike(n, o))
            identify(n, o);
    n->older = older;
    name_set(&types, key, -1, n);
}

static void note_title(node *n, node *in)
{
    node *r = in->ref ? node_by_id(in->ref) : NULL;
    if (r != NULL && r->kind == RecordDecl && r->complete && r->name.n == 0
        && in->parent->parent == n)
        record_entitle(r, n->name);
    for (int i = 0; i < in->kids; i++)
        note_title(n, in->kid[i]);
}

static void note_inner(node *n)
{
    if ((n->kind == RecordDecl || n->kind == EnumDecl) && n->name.n)
        note_type(n);
    if (n->kind == TypedefDecl)
        note_type(n);
    if (n->kind == RecordDecl)
        record_of(n);
    if (n->kind == TypedefDecl) {
        typedef_note(n);
        note_title(n, n);
    }
    for (int i = 0; i < n->kids; i++)
        note_inner(n->kid[i]);
}

void alike_read(void)
{
    for (int i = 0; i < tree->kids; i++)
        note_inner(tree->kid[i]);
    records_link();
}
