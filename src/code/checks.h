#pragma once

/* === code/checks ============================================================
 * For ad_fn_compile: code that looks whether results are finite before it writes
 * them. If they are not, the function returns -1, and the replay says what is
 * wrong.
 *
 *   needs   tape/memory core/cells function/program function/copy
 *           function/functions code/text code/layout
 *   offers  adx_has_check adx_say_sum adx_say_check
 * ========================================================================== */

ADX_SELDOM_BEGIN

// Whether the function looks at its results before it writes them. A caller
// that reads what has just been written has to wait for it.
static bool adx_has_check(const adx_writing *k)
{
    return k->text->loaded && k->p->manys == 0 && k->parts == 1
        && k->rolled == NULL && k->p->outputs > 0
        && k->p->outputs <= ADX_CHECKED_MOST;
}

// Writes the sum of some numbers, or of their squares, as a balanced tree, so
// that it is soon known.
static void adx_say_sum(adx_writing *k, const uint32_t *x, size_t n,
                        bool squares)
{
    if (n == 1) {
        adx_say_number(k, *x);
        adx_say(k->text, squares ? " * " : "");
        if (squares)
            adx_say_number(k, *x);
        return;
    }
    adx_say(k->text, "(");
    adx_say_sum(k, x, n / 2, squares);
    adx_say(k->text, n > (squares ? 4 : 8) ? "\n        + " : " + ");
    adx_say_sum(k, x + n / 2, n - n / 2, squares);
    adx_say(k->text, ")");
}

// Bounds the size of a node's result: arguments below 2^e in size, with e[] for
// each number, make a result below 2 to the power of what is returned. `most`:
// no bound is known.
static int adx_bits_of(const adx_node *s, const int e[], int most)
{
    int a = e[s->a];
    int b = adx_row_of(s->op)->arity > 1 ? e[s->b] : a;
    int bits = most;
    if (a >= most || b >= most)
        return most;
    switch (s->op) {
    case ADREV_OP_neg: bits = a; break;
    case ADREV_OP_sqr: bits = 2 * a; break;
    case ADREV_OP_add: case ADREV_OP_sub: bits = (a > b ? a : b) + 1; break;
    case ADREV_OP_mul: case ADX_OP_chain: bits = a + b; break;
    default: break;
    }
    return bits > most ? most : bits < -most ? -most : bits;
}

// Whether all results are finite where every input is below 2^small in size.
static bool adx_is_bounded(const adx_writing *k, int small, int most)
{
    const adx_program *p = k->p;
    int *e = (int *)adx_take(p->memory, p->numbers, sizeof *e);
    bool bounded = e != NULL;
    for (uint32_t i = 0; bounded && i < p->numbers; i++) {
        e[i] = small;
        if (!adx_is_constant_number(p, i))
            continue;
        double c = (double)*adx_constant_of(p, i);
        if (c - c == 0)
            (void)frexp(c, &e[i]);
        else
            e[i] = most;
    }
    for (size_t i = 0; bounded && i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], k->used)
            && p->node[i].op != ADX_OP_guard)
            e[p->node[i].r] = adx_bits_of(&p->node[i], e, most);
    for (size_t i = 0; bounded && i < p->outputs; i++)
        bounded = e[p->output[i]] < most;
    adx_drop(p->memory, e);
    return bounded;
}

// Few inputs are cheaper to look at than many results: with less than half as
// many inputs as n results, the code first asks whether all inputs are small,
// in a sense that leaves every result finite (adx_is_bounded). Then the results
// need not be looked at. The sum of the squares being below 2^(most/4), each
// input is below 2^(most/8). False: this would not pay, and nothing was
// written.
static bool adx_say_small_inputs(adx_writing *k, size_t n)
{
    const adx_program *p = k->p;
    uint32_t input[ADX_CHECKED_MOST / 2];
    size_t inputs = 0;
    int most = k->text->single ? FLT_MAX_EXP : DBL_MAX_EXP;
    for (uint32_t i = 0; i < p->inputs && 2 * inputs < n; i++)
        if (k->used[i])
            input[inputs++] = i;
    if (inputs == 0 || 2 * inputs >= n || !adx_is_bounded(k, most / 8, most))
        return false;
    adx_say(k->text, "    const int small = ");
    adx_say_sum(k, input, inputs, true);
    adx_say(k->text, " < ");
    adx_say_literal(k->text, (ad_real)ldexp(1, most / 4));
    adx_say(k->text, ";\n");
    return true;
}

// The check of adx_has_check: if the sum of all results, each counted once, is
// not finite, the function returns -1 and has written nothing.
static void adx_say_check(adx_writing *k)
{
    const adx_program *p = k->p;
    uint32_t seen[ADX_CHECKED_MOST];
    size_t n = 0;
    // the different results, without constants
    for (size_t i = 0; i < p->outputs - k->unchecked; i++) {
        uint32_t x = p->output[i];
        size_t j = 0;
        while (j < n && seen[j] != x)
            j++;
        if (j == n && !adx_is_constant_number(p, x))
            seen[n++] = x;
    }
    if (n == 0)
        return;
    bool small = adx_say_small_inputs(k, n);
    adx_say(k->text, "    const %s all = ", k->text->real);
    adx_say_sum(k, seen, n, false);
    adx_say(k->text, ";\n    if (%sall - all != 0)\n        return -1;\n",
            small ? "!small && " : "");
}

ADX_SELDOM_END
