/* arguments.c - what a check passes to a function, and what it reads back.
 *
 * A function is written that unpacks the numbers of a point into the
 * parameters, calls the original, or its twin, and gathers what there is in
 * memory then. A parameter that is no input gets a value of its own: a whole
 * number one that check.c tries, or what --set says; a number a fixed one.
 * Pointers lead to arrays, of which the check keeps a list; a pointer to a
 * function leads to one that is made up.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Of an array of which no count is known: numbers, structures, rows. Behind the
// numbers of each array there are more, which are no inputs: a function may use
// more than the check knows of.
enum { ROOM = 64, MORE = 960, STRUCTURES = 8, ROWS = 8, MOST_DEPTH = 6 };

static bool twin;               // which of the two is written
static int own_unit;            // of the function
static buffer made_up;          // functions that are passed
static int made_up_count;
static buffer hidden;           // ends macros that have names of members

/* --- what the command line says ------------------------------------------- */

static const option *listed(const option *list, int n, text name)
{
    for (int i = 0; i < n; i++)
        if (same(list[i].name, name))
            return &list[i];
    return NULL;
}

static bool is_input(const node *p)
{
    return opt.all || listed(opt.with, opt.withs, p->name) != NULL;
}

static void put_count(buffer *b, const node *p)
{
    const option *o = listed(opt.with, opt.withs, p->name);
    if (o == NULL || o->count.n == 0)
        o = listed(opt.of, opt.ofs, p->name);
    if (o != NULL && o->count.n)
        putf(b, "(%.*s)", (int)o->count.n, o->count.at);
    else
        putf(b, "%d", ROOM);
}

// b.n of b[i0].n: what is set is set in all elements.
static text without_indices(text path)
{
    buffer b = { 0 };
    for (size_t i = 0; i < path.n;)
        if (path.at[i] == '[')
            i = closing(path, i);
        else
            put_char(&b, path.at[i++]);
    return text_in(&b);
}

static const setting *set_of(text path)
{
    path = without_indices(path);
    for (int i = 0; i < opt.sets; i++)
        if (same(opt.set[i].name, path))
            return opt.set[i].used = true, &opt.set[i];
    return NULL;
}

/* --- types ---------------------------------------------------------------- */

static const char *kind_of(const ty *t)
{
    return twin && active(t) ? "ad_rev" : t->single ? "float" : "double";
}

// A declaration of what can be assigned to.
static void put_variable(buffer *b, const ty *t, text name)
{
    ty copy = *t;
    copy.quals = 0;
    ty_print(b, &copy, name);
}

// A whole number that may count something.
static bool counts(const ty *t)
{
    return t->kind == T_OTHER
        && (find(t->name, "int") < t->name.n
            || find(t->name, "long") < t->name.n
            || find(t->name, "short") < t->name.n
            || is(t->name, "unsigned"))
        && find(t->name, "enum") == t->name.n;
}

static bool is_stream(const ty *t)
{
    return t->kind == T_REC && is(t->record->name, "_IO_FILE");
}

static ty *element(ty *t)
{
    while (t->kind == T_ARR)
        t = t->to;
    return t;
}

/* --- functions that are made up --------------------------------------------
 * The result, and numbers behind pointers that are not constant, are a function
 * of all other numbers. Arrays have as many as the first whole number says. */

static text parameter_name(int i)
{
    buffer b = { 0 };
    putf(&b, "a%d", i);
    return text_in(&b);
}

static bool leads_to_numbers(const ty *p)
{
    return p->kind == T_PTR && p->to->kind == T_NUM;
}

static void put_sum(buffer *b, const ty *p, int i)
{
    const char *step = "    s = %s(ad_add(s, ad_mul(0.25, ad_mul(%s, %s))));\n";
    buffer number = { 0 }, line = { 0 };
    const bool array = leads_to_numbers(p);
    if (p->kind != T_NUM && !(array && (p->to->quals & Q_CONST)))
        return;
    putf(&number, array ? "a%d[i]" : "a%d", i);
    if (array)
        put(b, "    for (int i = 0; i < n; i++)\n    ");
    if (twin)
        putf(&line, step, opt.rec, number.at, number.at);
    else
        putf(&line, "    s += 0.25 * (%s * %s);\n", number.at, number.at);
    put_text(b, text_in(&line));
}

static void put_results(buffer *b, const ty *p, int i)
{
    if (!leads_to_numbers(p) || (p->to->quals & Q_CONST))
        return;
    const bool value = twin && !active(p->to);
    putf(b, "    for (int i = 0; a%d != 0 && i < n; i++)\n        a%d[i] = %s;\n",
         i, i, value ? "ad_value(s)" : "s");
}

static void put_number(buffer *b, const ty *t, text path, bool input);

// The result is an array: other inputs, if all numbers are inputs.
static void put_memory(buffer *b, const ty *t)
{
    ty number = *t;
    number.quals = 0;
    const char *s = kind_of(&number);
    putf(b, "    %s *m = calloc(%d, sizeof *m);\n", s, ROOM + MORE);
    putf(b, "    for (int i = 0; i < %d; i++) {\n", ROOM);
    put_number(b, &number, T("m[i]"), opt.all);
    putf(b, "    }\n    PORT_KEEP(%s, m, %d);\n    return m;\n", s, ROOM);
}

// Its name.
static text make_up(const ty *f)
{
    buffer name = { 0 }, head = { 0 }, *b = &made_up;
    int n = -1;
    putf(&name, "port_call%d", made_up_count++);
    putf(&head, "%s(", name.at);
    for (int i = 0; i < f->pars; i++) {
        put(&head, i ? ", " : "");
        ty_print(&head, f->par[i], parameter_name(i));
        n = n < 0 && counts(f->par[i]) ? i : n;
    }
    put(&head, f->pars ? ")" : "void)");
    put(b, "static ");
    ty_print(b, f->to, text_in(&head));
    putf(b, "\n{\n    %s s = %s;\n    int n = 1;\n    (void)n;\n",
         twin ? "ad_rev" : "double", twin ? "{ .v = 0.5 }" : "0.5");
    if (n >= 0)
        putf(b, "    n = a%d < 0 || a%d > %d ? 1 : (int)a%d;\n", n, n, ROOM, n);
    for (int i = 0; i < f->pars; i++)
        put_sum(b, f->par[i], i);
    for (int i = 0; i < f->pars; i++)
        put_results(b, f->par[i], i);
    if (f->to->kind == T_NUM)
        putf(b, "    return %s;\n", twin && !active(f->to) ? "ad_value(s)" : "s");
    else if (leads_to_numbers(f->to))
        put_memory(b, f->to->to);
    else if (f->to->kind != T_VOID && f->to->kind != T_REC)
        put(b, "    return 0;\n");
    put(b, "}\n\n");
    return text_in(&name);
}

/* --- values --------------------------------------------------------------- */

static text joined(text a, const char *between, text c)
{
    buffer b = { 0 };
    put_text(&b, a);
    put(&b, between);
    put_text(&b, c);
    return text_in(&b);
}

// Of an anonymous one, what is in it.
static text member_of(text path, const node *member)
{
    if (member->name.n == 0)
        return path;
    for (int u = 0; u < unit_count; u++)
        if (macro_named(member->name, u) != NULL) {
            putf(&hidden, "#undef %.*s\n", (int)member->name.n, member->name.at);
            break;
        }
    return joined(path, ".", member->name);
}

// One number in its place: the next input, or a fixed value.
static void put_number(buffer *b, const ty *t, text path, bool input)
{
    const char *s = text_copy(path);
    if (t->quals & Q_CONST) {
        buffer constant = { 0 };
        putf(&constant, "*(%s *)&%s", kind_of(t), s);
        s = constant.at;
    }
    if (twin && active(t)) {
        putf(b, "    %s = %s;\n", s, input ? "port_x[port_k++]"
             : "ad_rec(port_fixed(&port_f))");
        if (t->single)
            putf(b, "    (%s).v = (float)(%s).v;\n", s, s);
    } else
        putf(b, "    %s = %s;\n", s, !input ? "port_fixed(&port_f)"
             : twin ? "ad_value(port_x[port_k++])" : "port_x[port_k++]");
}

// A pointer in its place, which may be constant.
static void put_pointer(buffer *b, text path, const char *value)
{
    putf(b, "    *(void **)&%.*s = (void *)%s;\n", (int)path.n, path.at, value);
}

static bool fill(buffer *b, const ty *t, text path, bool input, int depth);

// A member that says which case it is, and no text.
static bool is_small(const ty *t)
{
    return t->kind == T_OTHER && is(t->name, "char") && !(t->quals & Q_CONST);
}

// Of a union the first member.
static bool fill_record(buffer *b, const record *r, text path, bool input,
                        int depth)
{
    const node *d = r->decl;
    int k = 0;
    for (int i = 0; i < d->kids && k < (r->is_union ? 1 : r->fields); i++)
        if (d->kid[i]->kind == FieldDecl && d->kid[i]->ty != NULL) {
            const ty *f = r->field[k++];
            const text member = member_of(path, d->kid[i]);
            if (is_small(f) && set_of(member) == NULL)
                putf(b, "    %.*s = (char)port_whole;\n", (int)member.n, member.at);
            else if (!fill(b, f, member, input, depth))
                return false;
        }
    return true;
}

static text index_of(int depth)
{
    buffer b = { 0 };
    putf(&b, "[i%d]", depth);
    return text_in(&b);
}

// Behind a pointer: `count` of them, in memory of their own.
static bool fill_elements(buffer *b, ty *t, int count, text path, bool input,
                          int depth)
{
    buffer name = { 0 };
    ty *number = element(t);
    const bool numbers = number->kind == T_NUM;
    const bool kept = numbers && !(number->quals & Q_CONST)
        && !(t->quals & Q_CONST);
    t = numbers ? number : t;
    putf(&name, "q%d", depth);
    put(b, "    {\n    ");
    put_variable(b, t, joined(T("*"), "", text_in(&name)));
    putf(b, " = calloc(%d, sizeof *q%d);\n",
         count + (numbers || counts(t) ? MORE : 0), depth);
    const text each = joined(text_in(&name), "", index_of(depth));
    putf(b, "    for (size_t i%d = 0; i%d < %d; i%d++) {\n", depth, depth, count,
         depth);
    if (!fill(b, t, each, input, depth + 1))
        return false;
    put(b, "    }\n");
    if (numbers) {
        putf(b, "    for (size_t i%d = %d; i%d < %d; i%d++) {\n", depth, count,
             depth, count + MORE, depth);
        put_number(b, t, each, false);
        put(b, "    }\n");
    }
    if (kept)
        putf(b, "    PORT_KEEP(%s, q%d, %d);\n", kind_of(t), depth, count);
    put_pointer(b, path, name.at);
    put(b, "    }\n");
    return true;
}

static const record *open_records[MOST_DEPTH + 1];

// Lists end after the first element.
static bool is_open(const record *r, int depth)
{
    for (int i = 0; i < depth && i <= MOST_DEPTH; i++)
        if (open_records[i] == r)
            return true;
    return false;
}

static bool fill_pointer(buffer *b, const ty *t, text path, bool input,
                         int depth)
{
    ty *to = ty_bound(t->to);
    if (depth > MOST_DEPTH || to->kind == T_VOID)
        return true;
    if (to->kind == T_FUN) {
        put_pointer(b, path, make_up(to).at);
        return true;
    }
    if (is_stream(to)) {
        put_pointer(b, path, "fopen(\"/dev/null\", \"w+\")");
        return true;
    }
    if (to->kind == T_PTR)
        return fill_elements(b, to, ROWS, path, input, depth);
    if (element(to)->kind == T_NUM || counts(to))
        return fill_elements(b, to, ROOM, path, input, depth);
    if (to->kind != T_REC || to->record->fields == 0
        || is_open(to->record, depth) || !record_seen(to->record, own_unit))
        return true;
    open_records[depth] = to->record;
    const bool made = fill_elements(b, to, 1, path, input, depth);
    open_records[depth] = NULL;
    return made;
}

// Writes what fills the thing at `path`: a number of the point or a fixed one,
// what --set says, or what is in it, one after the other.
static bool fill(buffer *b, const ty *t, text path, bool input, int depth)
{
    const setting *s = set_of(path);
    if (t->kind == T_NUM) {
        put_number(b, t, path, input);
    } else if (t->kind == T_OTHER && s != NULL) {
        putf(b, "    %.*s = %.*s;\n", (int)path.n, path.at, (int)s->value.n,
             s->value.at);
    } else if (counts(t) && !(t->quals & Q_CONST)) {
        putf(b, "    %.*s = port_whole;\n", (int)path.n, path.at);
    } else if (t->kind == T_PTR) {
        return fill_pointer(b, t, path, input, depth);
    } else if (t->kind == T_REC) {
        return fill_record(b, t->record, path, input, depth);
    } else if (t->kind == T_ARR) {
        putf(b, "    for (size_t i%d = 0; i%d < sizeof %.*s / sizeof *%.*s; "
             "i%d++) {\n", depth, depth, (int)path.n, path.at, (int)path.n,
             path.at, depth);
        if (!fill(b, t->to, joined(path, "", index_of(depth)), input, depth + 1))
            return false;
        put(b, "    }\n");
    }
    return true;
}

/* --- parameters ----------------------------------------------------------- */

// An array behind a pointer: of the numbers of its innermost type.
static void array_parameter(buffer *b, const node *p, const ty *t, bool input)
{
    const char *s = text_copy(p->name);
    buffer path = { 0 };
    putf(b, "    const size_t port_n_%s = ", s);
    put_count(b, p);
    putf(b, ";\n    %s %s[port_n_%s + %d];\n    memset(%s, 0, sizeof %s);\n"
         "    for (size_t i = 0; i < port_n_%s; i++) {\n", kind_of(t), s, s, MORE,
         s, s, s);
    putf(&path, "%s[i]", s);
    put_number(b, t, text_in(&path), input);
    putf(b, "    }\n    for (size_t i = port_n_%s; i < port_n_%s + %d; i++) {\n",
         s, s, MORE);
    put_number(b, t, text_in(&path), false);
    put(b, "    }\n");
}

// Structures behind a pointer: COUNT of them, or some.
static bool structure_parameter(buffer *b, const node *p, const ty *t,
                                bool input)
{
    const option *o = listed(opt.with, opt.withs, p->name);
    buffer name = { 0 };
    const char *s = text_copy(p->name);
    if (o != NULL && o->count.n)
        putf(&name, "%s[%.*s]", s, (int)o->count.n, o->count.at);
    else
        putf(&name, "%s[%d]", s, STRUCTURES);
    put(b, "    ");
    put_variable(b, t, text_in(&name));
    putf(b, ";\n    memset(%s, 0, sizeof %s);\n", s, s);
    const ty all = { .kind = T_ARR, .to = (ty *)t };
    open_records[0] = t->record;
    const bool made = fill(b, &all, p->name, input, 1);
    open_records[0] = NULL;
    return made;
}

// Of any type: a variable that is filled.
static bool value_parameter(buffer *b, const node *p, const ty *t, bool input)
{
    const char *s = text_copy(p->name);
    put(b, "    ");
    put_variable(b, t, p->name);
    putf(b, ";\n    memset(&%s, 0, sizeof %s);\n", s, s);
    return fill(b, t, p->name, input, 1);
}

// A pointer to void is one to what it is used as.
static const ty *known_pointer(const ty *t)
{
    ty *to = t->kind == T_PTR ? ty_bound(t->to) : NULL;
    if (to == NULL || to == t->to)
        return t;
    ty *known = take(sizeof *known);
    *known = *t;
    known->alias = NULL;
    known->to = to;
    return known;
}

static const node *inner(const node *n)
{
    while (n->kids == 1
           && (n->kind == ImplicitCastExpr || n->kind == ParenExpr
               || n->kind == ConstantExpr
               || (n->kind == UnaryOperator && is(n->opcode, "*"))))
        n = n->kid[0];
    return n;
}

// A whole number that the text says: 3, 'p', an enumerator.
static text whole_of(const node *n)
{
    n = inner(n);
    if (n->kind == DeclRefExpr && n->decl != NULL && n->decl->kids
        && n->decl->kind == EnumConstantDecl)
        n = inner(n->decl->kid[0]);
    return n->kind == IntegerLiteral || n->kind == CharacterLiteral ? n->value
                                                                    : T("");
}

static text first_case(const node *n)
{
    text value = n->kind == CaseStmt ? whole_of(n->kid[0]) : T("");
    for (int i = 0; i < n->kids && value.n == 0; i++)
        value = first_case(n->kid[i]);
    return value;
}

// The whole number that a parameter, or what it points to, must be: `n == 3`, or
// the first case of a `switch`.
static text asked_of(const node *n, const node *p)
{
    text value = T("");
    if (n->kind == BinaryOperator && (is(n->opcode, "==") || is(n->opcode, "!="))
        && inner(n->kid[0])->decl == p)
        value = whole_of(n->kid[1]);
    if (n->kind == SwitchStmt && inner(n->kid[0])->decl == p)
        value = first_case(n);
    for (int i = 0; i < n->kids && value.n == 0; i++)
        value = asked_of(n->kid[i], p);
    return value;
}

static void put_whole(buffer *b, const node *p)
{
    const setting *set = set_of(p->name);
    const text asked = set ? T("") : asked_of(p->parent, p);
    if (set != NULL)
        put_text(b, set->value);
    else if (asked.n)
        putf(b, "(port_asked ? %.*s : port_whole)", (int)asked.n, asked.at);
    else
        put(b, "port_whole");
}

static bool put_parameter(buffer *b, const node *p)
{
    const ty *t = known_pointer(p->ty);
    const bool input = is_input(p);
    const char *s = text_copy(p->name);

    if (t->kind == T_OTHER) {
        put(b, "    ");
        put_variable(b, t, p->name);
        put(b, " = ");
        put_whole(b, p);
        put(b, ";\n");
        return true;
    }
    if (t->kind != T_PTR)
        return value_parameter(b, p, t, input);
    ty *to = t->to;
    if (to->kind == T_VOID)
        return putf(b, "    void *%s = NULL;\n", s), true;
    if (to->kind == T_OTHER) {
        put(b, "    ");
        put_variable(b, to, p->name);
        putf(b, "[%d] = { 0 };\n", ROOM + MORE);
        if (counts(to)) {
            putf(b, "    for (size_t i = 0; i < %d; i++)\n        %s[i] = ",
                 ROOM, s);
            put_whole(b, p);
            put(b, ";\n");
        }
        return true;
    }
    if (element(to)->kind == T_NUM)
        return array_parameter(b, p, element(to), input), true;
    if (to->kind == T_REC && !is_stream(to))
        return structure_parameter(b, p, to, input);
    return value_parameter(b, p, t, input);
}

static void put_argument(buffer *b, const node *p)
{
    const ty *t = p->ty;
    const bool cast = t->kind == T_PTR && ty_bound(t->to)->kind != T_FUN;
    put(b, cast ? "(void *)" : "");
    put_text(b, p->name);
}

/* --- what is read back ---------------------------------------------------- */

static void read_back(buffer *b, const ty *t, text path, int depth)
{
    if (t->kind == T_NUM && !(t->quals & Q_CONST)) {
        putf(b, twin && !active(t) ? "    port_y[port_m++] = ad_rec(%.*s);\n"
             : "    port_y[port_m++] = %.*s;\n", (int)path.n, path.at);
    } else if (t->kind == T_ARR) {
        putf(b, "    for (size_t i%d = 0; i%d < sizeof %.*s / sizeof *%.*s; "
             "i%d++) {\n", depth, depth, (int)path.n, path.at, (int)path.n,
             path.at, depth);
        read_back(b, t->to, joined(path, "", index_of(depth)), depth + 1);
        put(b, "    }\n");
    } else if (t->kind == T_REC && !t->record->is_union) {
        const node *d = t->record->decl;
        int k = 0;
        for (int i = 0; i < d->kids; i++)
            if (d->kid[i]->kind == FieldDecl && d->kid[i]->ty != NULL)
                read_back(b, t->record->field[k++], member_of(path, d->kid[i]),
                          depth);
    }
}

static void put_output(buffer *b, const node *p)
{
    const ty *t = known_pointer(p->ty);
    if (t->kind != T_PTR || (t->to->quals & Q_CONST)
        || (opt.ofs && !is_input(p) && !listed(opt.of, opt.ofs, p->name)))
        return;
    ty *to = element(t->to);
    const ty all = { .kind = T_ARR, .to = t->to };
    const char *s = text_copy(p->name);
    if (t->to->kind == T_REC && !is_stream(t->to)) {
        read_back(b, &all, p->name, 0);
    } else if (to->kind == T_NUM && !(to->quals & Q_CONST)) {
        putf(b, "    for (size_t i = 0; i < port_n_%s; i++)\n        "
             "port_y[port_m++] = ", s);
        putf(b, twin && !active(to) ? "ad_rec(%s[i]);\n" : "%s[i];\n", s);
    }
}

// Of memory that the check took, behind pointers in structures and in rows.
static const char kept[] =
"enum { PORT_MOST = 4096 };\n"
"static struct { void *at; size_t n; char kind; } port_kept[PORT_MOST];\n"
"static size_t port_kept_count;\n"
"#define PORT_KEEP(type, p, count) (port_kept_count < PORT_MOST ? \\\n"
"    (void)(port_kept[port_kept_count].at = p, \\\n"
"           port_kept[port_kept_count].n = count, \\\n"
"           port_kept[port_kept_count++].kind = #type[0]) : (void)0)\n";

static void put_kept(buffer *b)
{
    const char *number = twin ? "ad_rec" : "";
    put(b, "    for (size_t k = 0; k < port_kept_count; k++)\n"
        "        for (size_t i = 0; i < port_kept[k].n; i++)\n"
        "            port_y[port_m++] = ");
    if (twin)
        put(b, "port_kept[k].kind == 'a' ? ((ad_rev *)port_kept[k].at)[i] : ");
    putf(b, "port_kept[k].kind == 'f' ? %s(((float *)port_kept[k].at)[i])"
         "\n                : %s(((double *)port_kept[k].at)[i]);\n", number, number);
}

// Where the numbers of each parameter begin, for messages.
static const char inputs_named[] =
"const char *port_input_name[16];\n"
"size_t port_input_at[16], port_input_names;\n"
"#define PORT_INPUT(name) (port_input_names < 16 \\\n"
"    ? (void)(port_input_name[port_input_names] = #name, \\\n"
"             port_input_at[port_input_names++] = port_k) : (void)0)\n";

/* --- all of it ------------------------------------------------------------ */

static bool put_parameters(buffer *b, const function *f, bool whole)
{
    for (int i = 0; i < f->decl->kids; i++) {
        const node *p = f->decl->kid[i];
        if (p->kind != ParmVarDecl || (p->ty->kind == T_OTHER) != whole)
            continue;
        if (is_input(p) && !twin)
            putf(b, "    PORT_INPUT(%.*s);\n", (int)p->name.n, p->name.at);
        if (put_parameter(b, p))
            continue;
        fprintf(stderr, "adrev-port: --check cannot make a parameter %.*s\n",
                (int)p->name.n, p->name.at);
        return false;
    }
    return true;
}

static void put_call(buffer *b, const function *f)
{
    const char *between = "";
    const ty *result = f->type->to;
    put(b, "    ");
    if (result->kind == T_REC)
        put_variable(b, result, T("port_r")), put(b, " = ");
    else if (result->kind == T_NUM)
        put(b, "port_y[port_m++] = ");
    put_text(b, f->name);
    put(b, twin ? opt.suffix : "");
    put(b, "(");
    for (int i = 0; i < f->decl->kids; i++)
        if (f->decl->kid[i]->kind == ParmVarDecl) {
            put(b, between);
            between = ", ";
            put_argument(b, f->decl->kid[i]);
        }
    put(b, ");\n");
    if (result->kind == T_REC)
        read_back(b, result, T("port_r"), 0);
}

// A function that sets *port_inputs, and returns the number of outputs.
bool put_wrapper(buffer *b, const function *f, bool of_twin)
{
    buffer body = { 0 };
    const char *number = of_twin ? "ad_rev" : "double";

    twin = of_twin;
    own_unit = f->decl->unit;
    types_plain = !twin;
    made_up = hidden = (buffer){ 0 };
    made_up_count = 0;
    if (!put_parameters(&body, f, true)         // whole numbers first
        || !put_parameters(&body, f, false))
        return false;
    put_call(&body, f);
    for (int i = 0; i < f->decl->kids; i++)
        if (f->decl->kid[i]->kind == ParmVarDecl)
            put_output(&body, f->decl->kid[i]);
    put_kept(&body);
    put_text(b, text_in(&hidden));
    put(b, "#include <stddef.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        "#include <string.h>\n");
    put(b, "static inline double port_fixed(unsigned *s)\n{\n"
        "    *s = *s * 1103515245u + 12345u;\n"
        "    return 0.25 + (*s >> 16) % 1024 / 1024.0;\n}\n\n");
    put(b, kept);
    put(b, twin ? "" : inputs_named);
    putf(b, "static const %s *port_x;\nstatic size_t port_k;\n"
         "static unsigned port_f;\n", number);
    put_text(b, text_in(&made_up));
    putf(b, "size_t %s(const %s *port_given, %s *port_y,\n    size_t *port_inputs)\n"
         "{\n    size_t port_m = 0;\n    port_x = port_given;\n    port_k = 0;\n"
         "    port_f = 1;\n    port_kept_count = 0;\n%s",
         of_twin ? "port_twin" : "port_plain", number, number,
         of_twin ? "" : "    port_input_names = 0;\n");
    put_text(b, text_in(&body));
    put(b, "    *port_inputs = port_k;\n    return port_m;\n}\n");
    types_plain = false;
    return true;
}
