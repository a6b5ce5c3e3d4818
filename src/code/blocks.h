#pragma once

/* === code/blocks ============================================================
 * Loops of ad_fn_compile around a function: over a block of points, whose nodes
 * are cut into phases for it, and over the steps of a loop.
 *
 *   needs   tape/memory function/api function/program function/copy
 *           function/functions code/text code/layout code/statements
 *           code/repeats code/functions
 *   offers  adx_say_block adx_has_block adx_say_loop
 * ========================================================================== */

ADX_SELDOM_BEGIN

/* --- phases -----------------------------------------------------------------
 * The nodes of a block of points, cut into phases. A loop with a call of the
 * math library is no loop of vectors: so calls are in phases with odd numbers,
 * and what is before, between and behind them in those with even ones. For
 * ADREV_LANES_MOST points at a time each phase is a loop of its own, and hands
 * numbers on in short arrays. Calls come as early as they can, and everything
 * else as late as it can, so that little is handed on. (Without phases the
 * trapezoidal rule of bench/assemble took twice as long, compiled.)         */

#define ADX_PHASE_MOST 64       // numbers that are handed on, 256 bytes each;
                                // with more there is one phase

typedef struct adx_phases {
    const adx_writing *k;
    uint32_t *of;               // [nodes]
    uint32_t *last_of;          // [numbers] the last phase in which it may be
                                // made
    uint32_t last;              // the phase of the results
} adx_phases;

static void adx_end_phases(adx_phases *f)
{
    adx_drop(f->k->p->memory, f->of);
    adx_drop(f->k->p->memory, f->last_of);
}

// Whether an operation calls a function, or may call one.
static bool adx_is_call(uint32_t op)
{
    return (adx_attributes_of(op) & (ADX_COST | ADX_MAY_CALL)) != 0;
}

// A node as its text has it.
static adx_node adx_text_node(const adx_writing *k, size_t i)
{
    adx_node s = k->p->node[i];
    (void)adx_take_signs(k, &s);
    return s;
}

// Gives each node the first phase in which it can be.
static void adx_find_early(adx_phases *f)
{
    const adx_program *p = f->k->p;
    for (size_t i = 0; i < p->nodes; i++) {
        if (!adx_is_used(p, &p->node[i], f->k->used))
            continue;
        const adx_node s = adx_text_node(f->k, i);
        uint32_t phase = 0;
        for (int a = 0; a < adx_varying(&s); a++) {
            uint32_t from = p->from[adx_read_by(&s, a)];
            if (from < ADX_FROM_INPUT && phase < f->of[from])
                phase = f->of[from];
        }
        phase += phase & 1;     // behind a call
        f->of[i] = phase + adx_is_call(s.op);
        if (f->of[i] > f->last)
            f->last = f->of[i];
    }
    f->last += f->last & 1;
}

// Puts what is no call into the phase in which it is first read.
static void adx_find_late(adx_phases *f)
{
    const adx_program *p = f->k->p;
    for (size_t x = 0; x < p->numbers; x++)
        f->last_of[x] = f->last;
    for (size_t i = p->nodes; i-- > 0;) {
        if (!adx_is_used(p, &p->node[i], f->k->used))
            continue;
        const adx_node s = adx_text_node(f->k, i);
        if (!adx_is_call(s.op))
            f->of[i] = f->last_of[s.r];
        uint32_t before = f->of[i] & ~(uint32_t)1;
        for (int a = 0; a < adx_varying(&s); a++) {
            uint32_t *last = &f->last_of[adx_read_by(&s, a)];
            *last = *last < before ? *last : before;
        }
    }
}

// Hands x on if it is made in another phase than the one that reads it.
static void adx_hand_on(adx_phases *f, adx_writing *k, uint32_t x,
                        uint32_t phase)
{
    uint32_t from = k->p->from[x];
    if (from >= ADX_FROM_INPUT || f->of[from] == phase || k->stored[x])
        return;
    k->stored[x] = true;
    k->place[x] = (uint32_t)k->places++;
}

// Makes one phase of all.
static void adx_join_phases(adx_phases *f, adx_writing *k)
{
    memset(f->of, 0, k->p->nodes * sizeof *f->of);
    memset(k->stored, 0, k->p->numbers * sizeof *k->stored);
    f->last = 0;
    k->places = 0;
}

// Cuts the program of a block into phases. Afterwards numbers that are handed
// on are stored, in k->places arrays. false: no memory.
static bool adx_find_phases(adx_phases *f, adx_writing *k)
{
    const adx_program *p = k->p;
    *f = (adx_phases){ .k = k };
    f->of = (uint32_t *)adx_take(p->memory, p->nodes, sizeof *f->of);
    f->last_of = (uint32_t *)adx_take(p->memory, p->numbers,
                                      sizeof *f->last_of);
    if (f->of == NULL || f->last_of == NULL)
        return false;
    adx_find_early(f);
    adx_find_late(f);
    k->places = 0;
    for (size_t i = 0; i < p->nodes; i++) {
        const adx_node s = adx_text_node(k, i);
        for (int a = 0; adx_is_used(p, &p->node[i], k->used)
                        && a < adx_varying(&s); a++)
            adx_hand_on(f, k, adx_read_by(&s, a), f->of[i]);
    }
    for (size_t i = 0; i < p->outputs; i++)
        adx_hand_on(f, k, p->output[i], f->last);
    if (k->places > ADX_PHASE_MOST)
        adx_join_phases(f, k);
    return true;
}

/* --- loops around a function ---------------------------------------------- */

// Whether a point's results are finite, as far as their sum says so, which may
// overflow, too.
static void adx_say_fault(adx_writing *k)
{
    if (k->p->outputs == 0)
        return;
    adx_say(k->text, "    const %s all = ", k->text->real);
    adx_say_sum(k, k->p->output, k->p->outputs, false);
    adx_say(k->text, ";\n    fault |= all - all != 0;\n");
}

static void adx_say_block_results(adx_writing *k)
{
    const adx_program *p = k->p;
    for (size_t i = 0; i < p->outputs; i++) {
        adx_say(k->text, "    y[%lu + l] = ",
                (unsigned long)(i * adx_lanes_of(p->inputs, p->outputs)));
        adx_say_number(k, p->output[i]);
        adx_say(k->text, ";\n");
    }
    adx_say_fault(k);
}

static void adx_say_phase(adx_writing *k, const adx_phases *f, uint32_t phase)
{
    const adx_program *p = k->p;
    adx_say(k->text, "    for (l = 0; l < ROW; l++) {\n");
    for (size_t i = 0; i < p->nodes; i++)
        if (adx_is_used(p, &p->node[i], k->used) && f->of[i] == phase)
            adx_say_node(k, &p->node[i]);
    if (phase == f->last)
        adx_say_block_results(k);
    adx_say(k->text, "    }\n");
}

// Writes the points of a block, ROW at a time: so the compiler knows how often
// its loops run, and needs no other code for the last points of vectors. Inputs
// are read where they are. This is only for programs without guards and arrays.
static void adx_say_rows_of_points(adx_writing *k, const adx_phases *f)
{
    adx_text *t = k->text;
    const adx_program *p = k->p;
    adx_say(t, "    enum { ROW = %d };\n    long begin, l, fault = 0;\n",
            ADREV_LANES_MOST);
    for (size_t i = 0; i < k->places; i++)
        adx_say(t, "    %s t%lu[ROW];\n", t->real, (unsigned long)i);
    adx_say(t, "    for (begin = 0; begin < n; begin += ROW, y += ROW) {\n");
    for (size_t i = 0; i < p->inputs; i++)
        if (k->used[i])
            adx_say(t, "    const %s *const x%lu = x[%lu] + begin;\n", t->real,
                    (unsigned long)i, (unsigned long)i);
    for (uint32_t phase = 0; phase <= f->last; phase++)
        adx_say_phase(k, f, phase);
    adx_say(t, "    }\n    return fault;\n");
}

static void adx_say_block(adx_writing *k)
{
    adx_text *t = k->text;
    adx_phases phases;
    k->block = true;
    adx_say(t, "long %s_%s_block(const %s *const *x, %s *restrict y, "
            "long n)\n{\n", t->name, k->what, t->real, t->real);
    if (adx_find_phases(&phases, k))
        adx_say_rows_of_points(k, &phases);
    else
        t->failed = true;
    adx_say(t, "}\n\n");
    adx_end_phases(&phases);
    k->block = false;
}

static bool adx_has_block(const adx_writing *k)
{
    for (size_t i = 0; i < k->p->nodes; i++)
        if (k->p->node[i].op == ADX_OP_guard)
            return false;
    return k->p->manys == 0 && k->sections == 1 && k->rolled == NULL;
}

// What a loop keeps of a step is asked for long before it is needed. Each step
// waits for the one before, and must not wait for memory as well.
static const char adx_loop_fetch[] =
    "#ifdef __GNUC__\n"
    "#define FETCH(at) \\\n"
    "    __builtin_prefetch((const void *)((unsigned long)(at) + far))\n"
    "#else\n"
    "#define FETCH(at) ((void)(at), (void)far)\n"
    "#endif\n";

// The steps of a loop, as adx_compiled.loop describes them. Of the IN inputs of
// a step the first W are carried on, D are data, P are parameters, and the last
// one is the number of the step. STEP calls the step's function. Of each step
// ROW numbers are kept: what is carried on, the tag, and what is handed on.
static const char adx_loop_primal[] =
    "    real x[IN], y[W], *at = kept;\n"
    "    (void)sums; (void)fixed_sums;\n"
    "    for (i = 0; i < W; i++) x[i] = state[i];\n"
    "    for (i = 0; i < P; i++) x[W + D + i] = fixed[i];\n"
    "    for (s = 0; s < steps; s++) {\n"
    "        if (kept) {\n"
    "            at = kept + s * stride;\n"
    "            for (i = 0; i < ROW; i += 8) FETCH(at + i);\n"
    "            for (i = 0; i < W; i++) at[i] = x[i];\n"
    "            if (tag) at[W] = *tag;\n"
    "        }\n"
    "        for (i = 0; i < D; i++) x[W + i] = data[i][s * move[i]];\n"
    "        x[IN - 1] = (real)(first + s);\n"
    "        if (STEP) break;\n"
    "        for (i = 0; i < W; i++) x[i] = y[i];\n"
    "    }\n"
    "    for (i = 0; i < W; i++) state[i] = x[i];\n";

// The same backwards: w are the adjoints of what is carried on.
static const char adx_loop_pullback[] =
    "    real x[IN], w[W], dx[IN], sum[P + 1];\n"
    "    for (i = 0; i < W; i++) w[i] = state[i];\n"
    "    for (i = 0; i < P; i++) x[W + D + i] = fixed[i];\n"
    "    for (i = 0; i < P; i++) sum[i] = fixed_sums[i];\n"
    "    for (s = 0; s < steps; s++) {\n"
    "        real *at = kept + s * stride;\n"
    "        for (i = 0; i < ROW; i += 8) FETCH(at + i);\n"
    "        for (i = 0; i < W && w[i] == 0; i++) ;\n"
    "        if (i == W || (tag && at[W] != *tag)) break;\n"
    "        for (i = 0; i < W; i++) x[i] = at[i];\n"
    "        for (i = 0; i < D; i++) x[W + i] = data[i][s * move[i]];\n"
    "        x[IN - 1] = (real)(first - s);\n"
    "        if (STEP) break;\n"
    "        for (i = 0; i < D; i++) sums[i][s * move[i]] += dx[W + i];\n"
    "        for (i = 0; i < P; i++) sum[i] += dx[W + D + i];\n"
    "        for (i = 0; i < W; i++) w[i] = dx[i];\n"
    "    }\n"
    "    for (i = 0; i < W; i++) state[i] = w[i];\n"
    "    for (i = 0; i < P; i++) fixed_sums[i] = sum[i];\n";

// Writes the loop around a step's function: the constants W, D, P, IN, ROW, and
// one of the two bodies.
static void adx_say_loop(adx_writing *k, size_t carried, size_t parameters)
{
    adx_text *t = k->text;
    // The step's function is value or primal, or back vjp or pullback. primal
    // hands numbers on to pullback, behind the state and the tag.
    bool back = k->array[1] != NULL;
    const char *handed = back ? k->array[2] : k->results->array[1];
    size_t behind = handed == NULL ? 0
                  : 1 + (back ? k->length[2] : k->results->length[1]);
    adx_put_text(t, adx_loop_fetch, sizeof adx_loop_fetch - 1);
    adx_say(t, "#define STEP %s_%s(x, %s%s%s, work)\n", t->name, k->what,
            back ? "w, " : "y", handed != NULL ? back ? "at + W + 1, " :
            ", at + W + 1" : "", back ? "dx" : "");
    adx_say(t, "long %s_%s_loop(long steps, long first, %s *state, %s *kept, "
            "long stride, const %s *tag, const %s *const *data, "
            "%s *const *sums, const long *move, const %s *fixed, "
            "%s *fixed_sums, %s *work)\n{\n",
            t->name, k->what, t->real, t->real, t->real, t->real, t->real,
            t->real, t->real, t->real);
    adx_say(t, "    enum { W = %lu, D = %lu, P = %lu, IN = W + D + P + 1,\n"
            "           ROW = W + %lu, FAR = %d };\n    typedef %s real;\n"
            "    const unsigned long far = stride < 0 ? 0UL - FAR : FAR;\n"
            "    long s;\n    int i;\n", (unsigned long)carried,
            (unsigned long)(k->length[0] - carried - parameters - 1),
            (unsigned long)parameters, (unsigned long)behind, ADX_FAR,
            t->real);
    const char *body = back ? adx_loop_pullback : adx_loop_primal;
    adx_put_text(t, body, strlen(body));
    adx_say(t, "    return s;\n}\n#undef STEP\n#undef FETCH\n\n");
}

ADX_SELDOM_END
