/* helpers.c - small functions that twins call, such as modf of recorded numbers.
 *
 * SPDX-License-Identifier: MIT-0
 */

#include "port.h"
#include <string.h>

typedef struct helper {
    const char *name, *text;
} helper;

// @: the number; #: the suffix; $: how an expression is recorded.
// *x += y and the like, and the same of floats.
#define CHANGE(name, operation)                                             \
    { name, "static inline @ " name "#(@ *x, @ y)\n{\n"                     \
      "    return *x = $(ad_" operation "(*x, y));\n}\n" }
#define CHANGE_IN_FLOAT(name, operation)                                    \
    { name "_in_float", "static inline @ " name "_in_float#(@ *x, @ y)\n"   \
      "{\n    y = $(ad_" operation "(*x, y));\n    y.v = (float)y.v;\n"     \
      "    return *x = y;\n}\n" }

// What is lost where two numbers are equal: ad_tie.
#define FAIL(inputs, why)                                                   \
    "    if (ad_eq(x, y) && ad_tie(x, y) " inputs ")\n"                     \
    "        ad_fail(ADREV_EHOOK, \"" why ": see adrev-port --equal\");\n"
#define FAIL_IF_EQUAL FAIL("> 0", "two numbers are equal, and not so nearby, too")

static const helper parts[] = {
    { "float", "// x as a float: its derivative is that of x.\n"
      "static inline @ float#(@ x)\n{\n    x.v = (float)x.v;\n"
      "    return x;\n}\n" },
    { "same_or_fail", "// Whether x and y are equal. If they are not so nearby, too, their "
      "derivatives\n// need not be equal: the tape fails, and does not take a way of one.\n"
      "static inline bool same_or_fail#(@ x, @ y)\n{\n" FAIL_IF_EQUAL
      "    return ad_eq(x, y);\n}\n" },
    { "apart_or_fail", "// x, which is compared with y. If they are equal, and not so nearby, "
      "too, the tape\n// fails.\n"
      "static inline @ apart_or_fail#(@ x, @ y)\n{\n" FAIL_IF_EQUAL "    return x;\n}\n" },
    { "constant_or_fail", "// Whether x is y. If so, and if x depends on several inputs, these may "
      "be\n// compared: the tape fails.\n"
      "static inline bool constant_or_fail#(@ x, double constant)\n{\n"
      "    const @ y = $(constant);\n"
      FAIL("> 1", "a number of several inputs is equal to a constant")
      "    return ad_eq(x, y);\n}\n" },
    { "modf", "static inline @ modf#(@ x, @ *whole)\n{\n"
      "    *whole = $(ad_trunc(x));\n"
      "    return isinf(ad_value(x)) ? $(ad_copysign(0.0, x))\n"
      "                              : $(ad_sub(x, *whole));\n}\n" },
    { "frexp", "static inline @ frexp#(@ x, int *e)\n{\n"
      "    (void)frexp(ad_value(x), e);\n"
      "    return $(ad_ldexp(x, -*e));\n}\n" },
    { "remquo", "static inline @ remquo#(@ x, @ y, int *q)\n{\n"
      "    (void)remquo(ad_value(x), ad_value(y), q);\n"
      "    return $(ad_remainder(x, y));\n}\n" },
    { "sincos", "static inline void sincos#(@ x, @ *s, @ *c)\n{\n"
      "    *s = $(ad_sin(x));\n    *c = $(ad_cos(x));\n}\n" },
    { "lgamma_r", "static inline @ lgamma_r#(@ x, int *sign)\n{\n"
      "    const double v = ad_value(x);\n"
      "    *sign = signbit(v) && (v == 0 || fmod(floor(v), 2) != 0) ? -1 : 1;\n"
      "    return $(ad_lgamma(x));\n}\n" },
    { "gsl_pow_2", "static inline @ gsl_pow_2#(@ x)\n{\n"
      "    return $(ad_mul(x, x));\n}\n" },
    { "gsl_pow_3", "static inline @ gsl_pow_3#(@ x)\n{\n"
      "    return $(ad_mul(ad_mul(x, x), x));\n}\n" },
    { "gsl_pow_4", "static inline @ gsl_pow_4#(@ x)\n{\n"
      "    const @ x2 = $(ad_mul(x, x));\n    return $(ad_mul(x2, x2));\n}\n" },
    { "gsl_pow_5", "static inline @ gsl_pow_5#(@ x)\n{\n"
      "    const @ x2 = $(ad_mul(x, x));\n"
      "    return $(ad_mul(ad_mul(x2, x2), x));\n}\n" },
    { "gsl_pow_6", "static inline @ gsl_pow_6#(@ x)\n{\n"
      "    const @ x2 = $(ad_mul(x, x));\n"
      "    return $(ad_mul(ad_mul(x2, x2), x2));\n}\n" },
    { "gsl_pow_7", "static inline @ gsl_pow_7#(@ x)\n{\n"
      "    const @ x3 = $(ad_mul(ad_mul(x, x), x));\n"
      "    return $(ad_mul(ad_mul(x3, x3), x));\n}\n" },
    { "gsl_pow_8", "static inline @ gsl_pow_8#(@ x)\n{\n"
      "    const @ x2 = $(ad_mul(x, x)), x4 = $(ad_mul(x2, x2));\n"
      "    return $(ad_mul(x4, x4));\n}\n" },
    { "gsl_pow_9", "static inline @ gsl_pow_9#(@ x)\n{\n"
      "    const @ x3 = $(ad_mul(ad_mul(x, x), x));\n"
      "    return $(ad_mul(ad_mul(x3, x3), x3));\n}\n" },
    { "gsl_pow_int", "static inline @ gsl_pow_int#(@ x, int n)\n{\n"
      "    unsigned left = n < 0 ? -(unsigned)n : (unsigned)n;\n"
      "    @ value = $(1);\n"
      "    x = n < 0 ? $(ad_div(1, x)) : x;\n"
      "    for (; left; left >>= 1) {\n"
      "        value = left & 1 ? $(ad_mul(value, x)) : value;\n"
      "        x = $(ad_mul(x, x));\n    }\n    return value;\n}\n" },
    CHANGE("added", "add"),
    CHANGE("subtracted", "sub"),
    CHANGE("multiplied", "mul"),
    CHANGE("divided", "div"),
    CHANGE_IN_FLOAT("added", "add"),
    CHANGE_IN_FLOAT("subtracted", "sub"),
    CHANGE_IN_FLOAT("multiplied", "mul"),
    CHANGE_IN_FLOAT("divided", "div"),
    { "then_added", "static inline @ then_added#(@ *x, @ y)\n{\n"
      "    const @ before = *x;\n    *x = $(ad_add(*x, y));\n"
      "    return before;\n}\n" },
    { "then_subtracted", "static inline @ then_subtracted#(@ *x, @ y)\n{\n"
      "    const @ before = *x;\n    *x = $(ad_sub(*x, y));\n"
      "    return before;\n}\n" },
};

// Writes a helper, of which several headers may bring a copy. In its text @
// stands for the type of numbers, # for the suffix, $ for what records.
static void put_helper(buffer *b, const char *name, const char *s)
{
    putf(b, "#ifndef ADREV_PORT_%s%s\n#define ADREV_PORT_%s%s\n", name,
         opt.suffix, name, opt.suffix);
    for (; *s; s++)
        if (*s == '@')
            put(b, opt.number);
        else if (*s == '#')
            put(b, opt.suffix);
        else if (*s == '$')
            put(b, opt.rec);
        else
            put_char(b, *s);
    put(b, "#endif\n\n");
}

static bool calls(text all, text name)
{
    const char *s = text_copy(name);
    for (size_t i = find(all, s); i < all.n;) {
        if (i == 0 || !word_char(all.at[i - 1]))
            return true;
        all = (text){ all.at + i + 1, all.n - i - 1 };
        i = find(all, s);
    }
    return false;
}

void add_parts(buffer *b, text all)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buffer name = { 0 };
        putf(&name, "%s%s(", parts[i].name, opt.suffix);
        if (calls(all, text_in(&name)))
            put_helper(b, parts[i].name, parts[i].text);
    }
}

// A function of the C library with the name and the type that its twin has: a
// parameter is recorded only if what is given by a pointer to it is.
static void put_operation(buffer *b, const function *f, library l)
{
    static const char *const letter[] = { "x", "y", "z" };
    const bool recorded = active(f->type->to);
    buffer head = { 0 };
    buffer call = { 0 };
    putf(&head, "%.*s%s(", (int)f->name.n, f->name.at, opt.suffix);
    if (l.single && recorded)
        putf(&call, "float%s(", opt.suffix);
    putf(&call, "%s(ad_%s(", recorded ? opt.rec : "ad_value", l.name);
    for (int i = 0; i < f->type->pars && i < 3; i++) {
        put(&head, i > 0 ? ", " : "");
        ty_print(&head, f->type->par[i], text_of(letter[i]));
        putf(&call, "%s%s", i > 0 ? ", " : "", letter[i]);
    }
    put(&head, ")");
    put(b, "static inline ");
    ty_print(b, f->type->to, text_in(&head));
    putf(b, "\n{\n    return %.*s))%s;\n}\n", (int)call.n, call.at,
         l.single && recorded ? ")" : "");
}

// Its value is that of the C library, its derivative that of the operation.
static void put_with_value(buffer *b, const function *f, library l)
{
    static const char letter[] = "xyz";
    buffer head = { 0 }, call = { 0 }, plain = { 0 };
    for (int i = 0; i < f->type->pars && i < 3; i++) {
        const bool number = f->type->par[i]->kind == T_NUM;
        const text name = { letter + i, 1 };
        put(&head, i ? ", " : "");
        if (number)
            putf(&head, "%s %c", opt.number, letter[i]);
        else
            ty_print(&head, f->type->par[i], name);
        putf(&call, "%s%c", i ? ", " : "", letter[i]);
        putf(&plain, "%s%s%c%s", i ? ", " : "", number && l.single ? "(float)" : "",
             letter[i], number ? ".v" : "");
    }
    if (is(f->name, "exp10") || is(f->name, "exp10f"))     // for who has no _GNU_SOURCE
        putf(b, l.single ? "float exp10f(float);\n" : "double exp10(double);\n");
    putf(b, "static inline %s %.*s%s(%s)\n{\n    %s v = %s(ad_%s(%s));\n"
         "    v.v = %.*s(%s);\n    return v;\n}\n", opt.number, (int)f->name.n,
         f->name.at, opt.suffix, head.at, opt.number, opt.rec, l.name, call.at,
         (int)f->name.n, f->name.at, plain.at);
}

// Writes twins of the C library's operations whose addresses are taken, and of those
// whose bits are others than the operation's.
void add_wrappers(buffer *b)
{
    for (function *f = functions; f != NULL; f = f->next) {
        const library l = library_named(f->name);
        if (f->body != NULL || l.kind != L_OPERATION
            || !(f->with_value || (f->addressed && ty_changed(f->type))))
            continue;
        putf(b, "#ifndef ADREV_PORT_%.*s%s\n#define ADREV_PORT_%.*s%s\n",
             (int)f->name.n, f->name.at, opt.suffix, (int)f->name.n,
             f->name.at, opt.suffix);
        if (f->with_value)
            put_with_value(b, f, l);
        else
            put_operation(b, f, l);
        put(b, "#endif\n\n");
    }
}
