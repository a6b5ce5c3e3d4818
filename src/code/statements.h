#pragma once

/* === code/statements ========================================================
 * C text of single nodes. An operation is one declaration or assignment, whose
 * right side is its formula in the operator table; a guard is a conditional
 * return; and an array node is a loop, which the kind of the node decides. Sums
 * are added up in the order of array/linear, so the bits are those of a replay.
 *
 *   needs   core/cells function/program code/api code/text code/layout
 *   offers  adx_value_text adx_say_change adx_say_guard adx_take_signs
 *           adx_say_node adx_adds_in_place adx_tells_at_home adx_array_with
 *           adx_say_one adx_say_eight adx_say_sum_of_eight adx_say_row
 *           adx_is_inner adx_say_term adx_say_zeros adx_say_many
 * ========================================================================== */

ADX_SELDOM_BEGIN

static void adx_say_argument(adx_text *t, char which, void *user)
{
    const void *const *both = (const void *const *)user;
    adx_writing *k = (adx_writing *)(uintptr_t)both[0];
    const adx_node *s = (const adx_node *)both[1];
    (void)t;
    adx_say_number(k, which == 'x' ? s->a : which == 'y' ? s->b : s->c);
}

// The formula of an operation. A product of the chain rule is plain, unless a
// factor of zero is to absorb infinities.
static const char *adx_value_text(const adx_text *t, uint32_t op)
{
    return op == ADX_OP_chain && !t->absorbing ? "x * y"
                                               : adx_row_of(op)->value;
}

// Writes a number, or the name that it has in a loop.
static void adx_say_named(adx_writing *k, const char *name, uint32_t x)
{
    if (name != NULL)
        adx_put_text(k->text, name, strlen(name));
    else
        adx_say_number(k, x);
}

// Writes the condition that a number is not what it was, bit by bit as in a
// replay: the two zeros differ, and all NaNs are one.
static void adx_say_change(adx_writing *k, const char *name, uint32_t x,
                           ad_real was)
{
    adx_say_named(k, name, x);
    adx_say(k->text, was != was ? " == " : " != ");
    if (was != was)
        adx_say_named(k, name, x);
    else
        adx_say_literal(k->text, was);
    if (was != 0)
        return;
    adx_say(k->text, signbit(was) ? " || !signbit(" : " || signbit(");
    adx_say_named(k, name, x);
    adx_say(k->text, ")");
}

// A guard that flips ends the function; what it returns names the guard.
static void adx_say_guard(adx_writing *k, const adx_node *s)
{
    adx_say(k->text, "    if (");
    adx_say_change(k, NULL, s->a, *adx_constant_of(k->p, s->b));
    adx_say(k->text, ") return %lu;\n", (unsigned long)s->c + 1);
}

// What x is the negative of, and then *minus is flipped; or x itself.
static uint32_t adx_without_sign(const adx_program *p, uint32_t x, bool *minus)
{
    const adx_node *s = adx_made_by(p, x, ADREV_OP_neg);
    *minus ^= s != NULL;
    return s == NULL ? x : s->a;
}

// Takes the signs of a product's factors away: they are written in front of the
// product. So the compiler sees that it has computed the product of the same
// two numbers without signs already, and a sum subtracts it. Returns whether
// the product is to be negated.
static bool adx_take_signs(const adx_writing *k, adx_node *s)
{
    bool minus = false;
    if (k->text->loaded && k->sections == 1
        && (s->op == ADREV_OP_mul || s->op == ADX_OP_chain)) {
        s->a = adx_without_sign(k->p, s->a, &minus);
        s->b = adx_without_sign(k->p, s->b, &minus);
    }
    return minus;
}

// Writes one operation as one declaration or assignment. A negation may have no
// reader then (adx_take_signs), so it is also used as a void expression, which
// no compiler warns of.
static void adx_say_node(adx_writing *k, const adx_node *s)
{
    adx_node plain = *s;
    const void *both[] = { k, &plain };
    bool minus = adx_take_signs(k, &plain);
    if (k->stored[s->r]) {
        adx_say(k->text, "    ");
        adx_say_work(k, k->place[s->r]);
        adx_say(k->text, " = ");
    } else
        adx_say_index(k->text, k->text->single ? "    const float v"
                                               : "    const double v",
                      s->r, " = ");
    adx_say(k->text, minus ? "-(" : "");
    adx_say_formula(k->text, adx_value_text(k->text, s->op), adx_say_argument,
                    both);
    adx_say(k->text, minus ? ");\n" : ";\n");
    if (k->text->loaded && s->op == ADREV_OP_neg && !k->stored[s->r])
        adx_say_index(k->text, "    (void)v", s->r, ";\n");
}

// How an element of an array node's arguments is written: names of the loop
// variables for the row and the column of each argument.
typedef struct adx_element_text {
    const adx_writing *k;
    const adx_many *many;
    const char *i[3];           // of the row of each argument
    const char *j[3];
} adx_element_text;

// Writes an element of the argument that a letter of the formula stands for:
// its array, and an index that is linear in the loop variables.
static void adx_say_element(adx_text *t, char which, void *user)
{
    const adx_element_text *e = (const adx_element_text *)user;
    int a = which == 'x' ? 0 : which == 'y' ? 1 : 2;
    const adx_numbers *r = &e->many->arg[a];
    size_t rows;
    size_t cols;
    adx_extent(e->many, a, &rows, &cols);
    int array = adx_array_of(e->k, r, rows, cols);
    uint32_t base = array < 0 ? e->k->place[r->base] : r->base;
    for (int i = 0; i < array; i++)
        base -= (uint32_t)e->k->length[i];
    adx_open_element(t, array < 0 ? "work" : e->k->array[array]);
    adx_say(t, "%lu", (unsigned long)base);
    if (e->i[a] != NULL && r->rs != 0)
        adx_say(t, " + %ld*%s", (long)r->rs, e->i[a]);
    if (e->j[a] != NULL && r->cs != 0)
        adx_say(t, " + %ld*%s", (long)r->cs, e->j[a]);
    adx_say(t, "%s", adx_close_element(t));
}

// Writes where the results of a node begin, without the closing bracket, as in
// "work[7" or "J[0".
static void adx_say_home(adx_writing *k, const adx_node *s)
{
    const adx_results *r = k->results;
    size_t at = k->home[s->r];
    if (at >= ADX_HOME_ONE) {
        adx_open_element(k->text, "work");
        adx_say_index(k->text, "", k->place[s->r], "");
        return;
    }
    bool second = at >= r->length[0];
    adx_open_element(k->text, r->array[second]);
    adx_say_index(k->text, "", at - (second ? r->length[0] : 0), "");
}

// Whether a product is added up in place, along what is contiguous in memory:
// rows of the second argument or, if that is a column, columns of the first
// one.
static bool adx_adds_in_place(const adx_many *m)
{
    return (m->n == 1 ? m->arg[0].rs : m->arg[1].cs) == 1;
}

// Whether a node writes its results where they belong, each once, and notes
// there which are not finite, so that no second pass over them is needed.
static bool adx_tells_at_home(const adx_writing *k, const adx_node *s)
{
    const adx_many *m = adx_many_of(k->p, s);
    bool once = m->kind == ADX_MANY_each
             || (m->kind == ADX_MANY_product && m->k == 1
                 && adx_adds_in_place(m));
    return k->tells && once && k->home[s->r] < k->p->outputs - k->unchecked;
}

// Notes whether result i is finite or, with a width, the result in row i and
// column j.
static void adx_say_told(adx_writing *k, const adx_node *s, size_t width)
{
    char index[40] = " + i]";
    if (width > 0)
        snprintf(index, sizeof index, " + %lu*i + j]", (unsigned long)width);
    adx_say(k->text, "%*sfault |= ", width > 0 ? 20 : 12, "");
    adx_say_home(k, s);
    adx_say(k->text, "%s - ", index);
    adx_say_home(k, s);
    adx_say(k->text, "%s != 0;\n", index);
}

enum { ADX_RUN_LEAST = 8 };     // numbers of a gather that become a loop

// The array that a number is in, and its index there; NULL: it is in none.
static const char *adx_array_with(const adx_writing *k, uint32_t x, long *at)
{
    const char *array = "work";
    uint32_t place = 0;
    if (k->stored[x])
        place = k->place[x];
    else if (k->block || adx_is_constant_number(k->p, x)
             || k->p->from[x] != ADX_FROM_INPUT)
        array = NULL;
    else
        array = adx_input_array(k, x, &place);
    *at = (long)place;
    return array;
}

// A run of a gather: successive numbers of its list that are in the same array.
// If their indices are evenly spaced, the loop computes them; otherwise they
// are a table.
typedef struct adx_picked {
    const uint32_t *number;     // [n] of the list
    size_t n;
    const char *array;          // NULL: the first one stands in none
    long first, stride;         // index in the array, and how much is added to
                                // it from number to number
    bool even;                  // they are evenly spaced
    bool narrow;                // places fit into 16 bits
} adx_picked;

// The longest run at the beginning of the list.
static adx_picked adx_find_run(const adx_writing *k, const uint32_t number[],
                               size_t most)
{
    adx_picked r = { .number = number, .even = true, .narrow = true };
    long before = 0;
    long at;
    r.array = adx_array_with(k, number[0], &r.first);
    for (; r.array != NULL && r.n < most
           && adx_array_with(k, number[r.n], &at) == r.array; r.n++) {
        if (r.n == 1)
            r.stride = at - before;
        r.even = r.even && (r.n == 0 || at - before == r.stride);
        r.narrow = r.narrow && at <= 0xffff;
        before = at;
    }
    return r;
}

// Writes the indices as a table, ten in a line.
static void adx_say_table(const adx_writing *k, const adx_picked *r)
{
    adx_say(k->text, "        static const unsigned %s place[%lu] = {",
            r->narrow ? "short" : "long", (unsigned long)r->n);
    for (size_t i = 0; i < r->n; i++) {
        long at;
        (void)adx_array_with(k, r->number[i], &at);
        adx_say(k->text, "%s%ld%s", i % 10 == 0 ? "\n            " : " ", at,
                i + 1 < r->n ? "," : "");
    }
    adx_say(k->text, "\n        };\n");
}

// Writes the loop that copies a run to the results of s from `begin` on.
static void adx_say_picked(adx_writing *k, const adx_node *s, size_t begin,
                           const adx_picked *r)
{
    adx_text *t = k->text;
    adx_say(t, "    {\n");
    if (!r->even)
        adx_say_table(k, r);
    adx_say(t, "        long i;\n        for (i = 0; i < %lu; i++)\n"
            "            ", (unsigned long)r->n);
    adx_say_home(k, s);
    adx_say(t, " + %lu + i%s = ", (unsigned long)begin, adx_close_element(t));
    adx_open_element(t, r->array);
    if (r->even)
        adx_say(t, "%ld + %ld*i", r->first, r->stride);
    else
        adx_say(t, "place[i]");
    adx_say(t, "%s;\n    }\n", adx_close_element(t));
}

// A long run of a gather becomes a loop, every other number a statement.
static void adx_say_gather(adx_writing *k, const adx_node *s,
                           const adx_many *m)
{
    for (size_t i = 0; i < m->n;) {
        const adx_picked r = adx_find_run(k, &m->list[i], m->n - i);
        if (r.n >= ADX_RUN_LEAST
            && (r.even || k->text->dialect == ADREV_C99)) {
            adx_say_picked(k, s, i, &r);
            i += r.n;
            continue;
        }
        for (size_t end = i + (r.n == 0 ? 1 : r.n); i < end; i++) {
            adx_say(k->text, "    ");
            adx_say_home(k, s);
            adx_say(k->text, " + %lu%s = ", (unsigned long)i,
                    adx_close_element(k->text));
            adx_say_number(k, m->list[i]);
            adx_say(k->text, ";\n");
        }
    }
}

// A Euclidean length, by the formula of adx_length: nothing overflows on the
// way.
static void adx_say_norm(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_text *t = k->text;
    const char *f = t->single && t->dialect != ADREV_OPENCL ? "f" : "";
    adx_element_text e = { k, m, { NULL }, { "i" } };
    adx_say(t, "    {\n        %s most = 0, sum = 0;\n        long i;\n"
            "        for (i = 0; i < %lu; i++) {\n"
            "            const %s size = fabs%s(", t->real,
            (unsigned long)m->k, t->real, f);
    adx_say_element(t, 'x', &e);
    adx_say(t, ");\n            most = size > most || size != size ? size : "
            "most;\n        }\n"
            "        if (most == 0 || most * 0 != 0)\n            sum = 1;\n"
            "        else\n            for (i = 0; i < %lu; i++) {\n"
            "                const %s part = ", (unsigned long)m->k, t->real);
    adx_say_element(t, 'x', &e);
    adx_say(t, " / most;\n                sum += part * part;\n"
            "            }\n        ");
    adx_say_home(k, s);
    adx_say(t, "%s = most * sqrt%s(sum);\n    }\n", adx_close_element(t), f);
}

// A sum, or the largest of its numbers.
static void adx_say_fold(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_text *t = k->text;
    adx_element_text e = { k, m, { NULL }, { "i" } };
    bool most = m->kind == ADX_MANY_most;
    const char *zero = t->single ? "0.0f" : "0.0";
    adx_say(t, "    {\n        %s sum = %s%s;\n        long i;\n", t->real,
            most ? "-" : "", most ? adx_infinity(t) : zero);
    adx_say(t, "        for (i = 0; i < %lu; i++)\n            %s",
            (unsigned long)m->k, most ? "if (" : "sum += ");
    adx_say_element(t, 'x', &e);
    if (most) {
        adx_say(t, " > sum || ");
        adx_say_element(t, 'x', &e);
        adx_say(t, " != ");
        adx_say_element(t, 'x', &e);
        adx_say(t, ")\n                sum = ");
        adx_say_element(t, 'x', &e);
    }
    adx_say(t, ";\n        ");
    adx_say_home(k, s);
    adx_say(t, "%s = sum;\n    }\n", adx_close_element(t));
}

// The loop's body for element i of an operation on arrays.
static void adx_say_one(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_text *t = k->text;
    adx_element_text e = { k, m, { NULL }, { "i", "i", "i" } };
    adx_say(t, "            ");
    adx_say_home(k, s);
    adx_say(t, " + i%s = ", adx_close_element(t));
    adx_say_formula(t, adx_value_text(t, m->op), adx_say_element, &e);
    adx_say(t, ";\n");
    if (adx_tells_at_home(k, s))
        adx_say_told(k, s, 0);
}

static void adx_say_each(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_say(k->text, "    {\n        long i;\n"
            "        for (i = 0; i < %lu; i++) {\n", (unsigned long)m->n);
    adx_say_one(k, s, m);
    adx_say(k->text, "        }\n    }\n");
}

// Row i of a matrix times a column, in eight running sums as ad_dot and
// ad_matvec have them, so that the bits are the same: the terms l in from ..
// to, except the last ones that make no full eight.
static void adx_say_eight(adx_writing *k, const adx_many *m, const char *from,
                          const char *to)
{
    adx_element_text e = { k, m, { "i", "(l + j)" }, { "(l + j)" } };
    adx_say(k->text, "            for (l = %s; l + 8 <= %s; l += 8)\n"
            "                for (j = 0; j < 8; j++)\n"
            "                    sum[j] += ", from, to);
    adx_say_formula(k->text, adx_value_text(k->text, m->op), adx_say_element,
                    &e);
    adx_say(k->text, ";\n");
}

// Adds the eight sums up, and to them the last terms.
static void adx_say_sum_of_eight(adx_writing *k, const adx_node *s,
                                 const adx_many *m)
{
    adx_text *t = k->text;
    adx_element_text e = { k, m, { "i", "l" }, { "l" } };
    adx_say(t, "            for (j = 0; j < 4; j++)\n"
            "                sum[j] += sum[j + 4];\n"
            "            sum[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);\n"
            "            for (l = %lu; l < %lu; l++)\n"
            "                sum[0] += ", (unsigned long)(m->k / 8 * 8),
            (unsigned long)m->k);
    adx_say_formula(t, adx_value_text(t, m->op), adx_say_element, &e);
    adx_say(t, ";\n            ");
    adx_say_home(k, s);
    adx_say(t, " + i%s = sum[0];\n", adx_close_element(t));
}

// All of a row's product.
static void adx_say_row(adx_writing *k, const adx_node *s, const adx_many *m)
{
    char all[24];
    snprintf(all, sizeof all, "%lu", (unsigned long)m->k);
    adx_say(k->text, "            %s sum[8] = { 0 };\n", k->text->real);
    adx_say_eight(k, m, "0", all);
    adx_say_sum_of_eight(k, s, m);
}

static void adx_say_inner(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_say(k->text, "    {\n        long i, j, l;\n"
            "        for (i = 0; i < %lu; i++) {\n", (unsigned long)m->m);
    adx_say_row(k, s, m);
    adx_say(k->text, "        }\n    }\n");
}

// Whether a product is one of rows with a column, to be computed in eight sums.
static bool adx_is_inner(const adx_many *m)
{
    return m->kind == ADX_MANY_product && m->n == 1 && m->k >= 8
        && (!adx_adds_in_place(m) || m->op != ADX_OP_chain);
}

// Adds term l of result (i, j) in place. Even a sum of one term begins with 0,
// since 0 + -0 is 0 and -0 is not.
static void adx_say_term(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_text *t = k->text;
    adx_element_text e = { k, m, { "i", "l" }, { "l", "j" } };
    adx_say(t, "                    ");
    adx_say_home(k, s);
    adx_say(t, " + %lu*i + j%s %s ", (unsigned long)m->n, adx_close_element(t),
            m->k > 1 ? "+=" : "= 0 +");
    adx_say_formula(t, adx_value_text(t, m->op), adx_say_element, &e);
    adx_say(t, ";\n");
    if (adx_tells_at_home(k, s))
        adx_say_told(k, s, m->n);
}

static void adx_say_zeros(adx_writing *k, const adx_node *s, const adx_many *m)
{
    adx_say(k->text, "        for (i = 0; i < %lu; i++)\n            ",
            (unsigned long)adx_many_results(m));
    adx_say_home(k, s);
    adx_say(k->text, " + i%s = 0;\n", adx_close_element(k->text));
}

// A product of matrices as three loops. If it is added up in place, the
// innermost loop runs along what is contiguous; otherwise it runs over the
// terms of one result and adds them up in a variable.
static void adx_say_product(adx_writing *k, const adx_node *s,
                            const adx_many *m)
{
    adx_text *t = k->text;
    adx_element_text e = { k, m, { "i", "l" }, { "l", "j" } };
    bool rows = m->n > 1 && adx_adds_in_place(m);
    bool columns = m->n == 1 && adx_adds_in_place(m);
    bool alone = !rows && !columns;
    if (adx_is_inner(m)) {
        adx_say_inner(k, s, m);
        return;
    }
    const char *order = rows ? "ilj" : columns ? "lij" : "ijl";
    adx_say(t, "    {\n        long i, j, l;\n");
    if (!alone && m->k > 1)
        adx_say_zeros(k, s, m);
    for (int depth = 0; depth < 3; depth++) {
        char v = order[depth];
        if (depth == 2 && alone)
            adx_say(t, "                %s sum = 0;\n", t->real);
        adx_say(t, "%*sfor (%c = 0; %c < %lu; %c++)%s\n", 8 + 4 * depth, "",
                v, v, (unsigned long)(v == 'i' ? m->m : v == 'j' ? m->n
                                                                 : m->k), v,
                depth == (alone ? 1 : 2) ? " {" : "");
    }
    if (alone) {
        adx_say(t, "                    sum += ");
        adx_say_formula(t, adx_value_text(t, m->op), adx_say_element, &e);
        adx_say(t, ";\n                ");
        adx_say_home(k, s);
        adx_say(t, " + %lu*i + j%s = sum;\n", (unsigned long)m->n,
                adx_close_element(t));
    } else
        adx_say_term(k, s, m);
    adx_say(t, "%*s}\n    }\n", alone ? 12 : 16, "");
}

static void adx_say_many(adx_writing *k, const adx_node *s)
{
    const adx_many *m = adx_many_of(k->p, s);
    switch (m->kind) {
    case ADX_MANY_each: adx_say_each(k, s, m); break;
    case ADX_MANY_sum: case ADX_MANY_most: adx_say_fold(k, s, m); break;
    case ADX_MANY_norm: adx_say_norm(k, s, m); break;
    case ADX_MANY_product: adx_say_product(k, s, m); break;
    case ADX_MANY_gather: adx_say_gather(k, s, m); break;
    case ADX_MANY_external: case ADX_MANY_COUNT: break;    // refused before
    }
}
