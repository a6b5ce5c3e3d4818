/* stubs.c - stubs for functions whose source is not seen.
 *
 * A stub is a function of recorded numbers that calls the original with their
 * values, and ad_external with partial derivatives that are left to be written.
 * A line of it does not compile until that is done.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <stdio.h>
#include <string.h>

bool stubbable(const function *f)
{
    bool any = false;
    if (f->type == NULL || f->type->to->kind != T_NUM || f->type->to->single)
        return false;
    for (int i = 0; i < f->type->pars; i++) {
        const ty *p = f->type->par[i];
        any |= p->kind == T_NUM;
        if ((p->kind != T_NUM && p->kind != T_OTHER) || p->single || p->odd)
            return false;
    }
    return any && !f->type->variadic;
}

static text parameter_name(const function *f, int at)
{
    static char made[8][8];
    static int next;
    int n = 0;
    for (int i = 0; i < f->decl->kids; i++)
        if (f->decl->kid[i]->kind == ParmVarDecl && n++ == at
            && f->decl->kid[i]->name.n)
            return f->decl->kid[i]->name;
    char *s = made[next++ % 8];
    snprintf(s, 8, "x%d", at % 100);
    return text_of(s);
}

static void put_parameters(buffer *b, const function *f)
{
    for (int i = 0; i < f->type->pars; i++) {
        const ty *p = f->type->par[i];
        const text name = parameter_name(f, i);
        put(b, i ? ", " : "");
        if (p->kind == T_NUM)
            putf(b, "%s ", opt.number), put_text(b, name);
        else
            ty_print(b, p, name);
    }
}

static void put_call(buffer *b, const function *f)
{
    put_text(b, f->name);
    put(b, "(");
    for (int i = 0; i < f->type->pars; i++) {
        const bool number = f->type->par[i]->kind == T_NUM;
        put(b, i ? ", " : "");
        put(b, number ? "ad_value(" : "");
        put_text(b, parameter_name(f, i));
        put(b, number ? ")" : "");
    }
    put(b, ")");
}

static int put_numbers(buffer *b, const function *f, const char *format)
{
    int n = 0;
    for (int i = 0; i < f->type->pars; i++)
        if (f->type->par[i]->kind == T_NUM) {
            const text name = parameter_name(f, i);
            put(b, n++ ? ", " : "");
            putf(b, format, (int)name.n, name.at);
        }
    return n;
}

static void put_rule(buffer *b, const char *s)
{
    putf(b,
"static bool %s_pullback(const void *saved, size_t m, const ad_real dy[],\n"
"                        size_t n, ad_real dx[])\n{\n"
"    const ad_real *d = (const ad_real *)saved;\n    (void)m;\n"
"    for (size_t i = 0; i < n; i++)\n        dx[i] += d[i] * dy[0];\n"
"    return true;\n}\n\n"
"static bool %s_pushforward(const void *saved, size_t n, const ad_real dx[],\n"
"                           size_t m, ad_real dy[])\n{\n"
"    const ad_real *d = (const ad_real *)saved;\n    (void)m;\n"
"    for (size_t i = 0; i < n; i++)\n        dy[0] += d[i] * dx[i];\n"
"    return true;\n}\n\n", s, s);
}

static void put_stub(buffer *b, const function *f)
{
    const char *s = text_copy(f->name);
    const bool reverse = strcmp(opt.number, "ad_fwd") != 0;

    putf(b, "/* A stub of %s: it needs the partial derivatives d[]. */\n"
         "#error \"write the partial derivatives of %s, and remove this line\"\n",
         s, s);
    ty_print(b, f->type, f->name);
    put(b, ";\n\n");
    if (reverse)
        put_rule(b, s);
    putf(b, "static inline %s %s%s(", opt.number, s, opt.suffix);
    put_parameters(b, f);
    put(b, ")\n{\n    const ad_real v = ");
    put_call(b, f);
    put(b, ";\n    const ad_real d[] = { ");
    put_numbers(b, f, "0 /* dv/d%.*s */");
    putf(b, " };\n    const %s x[] = { ", opt.number);
    const int n = put_numbers(b, f, "%.*s");
    put(b, " };\n");
    if (reverse)
        putf(b, "    static const ad_external_rule rule = { .name = \"%s\",\n"
             "        .pullback = %s_pullback, .pushforward = %s_pushforward };\n"
             "    %s y;\n    ad_external(&rule, d, sizeof d, %d, x, 1, &v, &y);\n"
             "    return y;\n}\n\n", s, s, s, opt.number, n);
    else
        putf(b, "    ad_fwd y = { v, 0 };\n    for (int i = 0; i < %d; i++)\n"
             "        y.d += d[i] * x[i].d;\n    return y;\n}\n\n", n);
}

// Adds stubs to the file for what was refused; what is there stays.
bool stubs_write(void)
{
    buffer b = { 0 };
    bool any = false;

    put_text(&b, opt.stub_text);
    if (b.n == 0)
        put(&b, "// Stubs for adrev-port, to be completed.\n#pragma once\n"
            "#include \"adrev.h\"\n\n");
    for (const function *f = functions; f != NULL; f = f->next)
        if (f->stub && f->body == NULL && stubbable(f) && !stub_given(f->name)) {
            put_stub(&b, f);
            any = true;
        }
    return !any || write_file(opt.stubs, text_in(&b));
}
