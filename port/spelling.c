/* spelling.c - types as C spells them.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"

static void put_quals(buffer *b, unsigned q)
{
    if (q & Q_CONST) put(b, "const ");
    if (q & Q_VOLATILE) put(b, "volatile ");
    if (q & Q_RESTRICT) put(b, "restrict ");
}

bool types_plain;

static void print_base(buffer *b, const ty *t)
{
    const bool recorded = active(t) && !types_plain;
    put_quals(b, t->quals);
    if (t->alias != NULL && !recorded) {
        put_text(b, t->alias->name);
        put(b, ty_changed(t) && !types_plain ? opt.suffix : "");
    } else if (t->kind == T_REC && t->record->name.n == 0
               && t->record->pointer.n) {
        putf(b, "__typeof__(*(%.*s%s)0)", (int)t->record->pointer.n,
             t->record->pointer.at,
             record_twin(t->record) && !types_plain ? opt.suffix : "");
    } else if (t->kind == T_REC) {
        if (!t->record->tagless)
            put(b, t->record->is_union ? "union " : "struct ");
        put_text(b, t->record->name);
        put(b, record_twin(t->record) && !types_plain ? opt.suffix : "");
    } else {
        put_text(b, recorded ? text_of(opt.number)
                 : t->name.n ? t->name : T("void"));
    }
}

static void print_into(buffer *b, const ty *t, text inner)
{
    buffer d = { 0 };

    if (t->alias != NULL || (t->kind != T_PTR && t->kind != T_ARR
                             && t->kind != T_FUN)) {
        print_base(b, t);
        if (inner.n && inner.at[0] != '[')
            put(b, " ");
        put_text(b, inner);
        return;
    }
    if (t->kind == T_PTR) {
        const bool group = t->to->alias == NULL
            && (t->to->kind == T_ARR || t->to->kind == T_FUN);
        put(&d, group ? "(*" : "*");
        put_quals(&d, t->quals);
        put_text(&d, inner);
        if (group)
            put(&d, ")");
    } else if (t->kind == T_ARR) {
        put_text(&d, inner);
        put(&d, "[");
        put_text(&d, t->size);
        put(&d, "]");
    } else {
        put_text(&d, inner);
        put(&d, "(");
        for (int i = 0; i < t->pars; i++) {
            put(&d, i ? ", " : "");
            print_into(&d, t->par[i], T(""));
        }
        put(&d, t->variadic ? ", ...)" : t->pars ? ")" : "void)");
    }
    print_into(b, t->to, text_in(&d));
}

// The declaration of `name` with this type; or the type, without a name.
void ty_print(buffer *b, const ty *t, text name)
{
    print_into(b, t, name);
}
