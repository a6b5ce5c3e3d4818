#pragma once

/* === function/run ===========================================================
 * The interpreter of programs, for one point or for many side by side in lanes.
 * It goes through the nodes once, in order. A number has `lanes` places in
 * memory, one for each lane, side by side: with one point a node is an
 * operation, with many a loop over lanes, so that reading the program costs a
 * small part of the time.
 *
 * A guard that fails at one point ends the run. In lanes it is noted for the
 * lane, which goes on: its results are not used.
 *
 *   needs   tape/memory core/cells function/api function/program
 *           function/places function/arrays
 *   offers  adx_same_value adx_nodes_plain adx_nodes_careful adx_take_work
 *           adx_give_work adx_run_lanes
 * ========================================================================== */

/* --- one point ----------------------------------------------------------- */

// Whether a guard is passed. The bits must be equal, since f may treat 0 and -0
// differently; but all NaNs are the same.
static bool adx_same_value(ad_real a, ad_real b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

// ADX_GOTO   1: the code of each node jumps to that of the next one; 0: a
//   switch, for compilers without computed goto, and for tests. Processors
//   foresee these jumps better than those of a switch, which all come from one
//   place (a tenth of particles replayed, bench/, gcc). Nodes of one operation
//   follow one another often enough that a loop over them saves half of the
//   jumps.
#ifndef ADX_GOTO
#ifdef __GNUC__
#define ADX_GOTO 1
#else
#define ADX_GOTO 0
#endif
#endif

#if ADX_GOTO
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#define ADX_GO_BEGIN goto *to[s->op];
#define ADX_GO_AT(label, code) label:
#ifdef __clang__
#define ADX_GO_FUNCTION
// clang 14 would merge all jumps that follow a condition into one. (bench: sir,
// scan repl, 0.73.)
#define ADX_GO_NEXT do { ADX_OPAQUE(s); goto *to[s->op]; } while (0)
#else
// gcc's pass `gcse` loads constants that many operations have before the jump,
// which is then too long to be copied: one jump for all of them. (bench:
// particles, replay, gcc 12, 0.80.)
#define ADX_GO_FUNCTION __attribute__((optimize("no-gcse")))
#define ADX_GO_NEXT goto *to[s->op]
#endif
#else
#define ADX_GO_FUNCTION
#define ADX_GO_BEGIN for (;;) switch (s->op)
#define ADX_GO_AT(label, code) case code:
#define ADX_GO_NEXT break
#endif

// Runs the nodes at one point. `last` is the result of the node before, which
// nodes with a code of adx_fuse_after use. A product of the chain rule is a
// plain product here, which is right as long as all results are finite. Returns
// the guard or external node at which it stopped, or NULL.
ADX_GO_FUNCTION
static const adx_node *adx_nodes_plain(const adx_machine *m, ad_real w[])
{
    const adx_node *s = m->node;
    ad_real last = 0;
    uint32_t failed = 0;
#if ADX_GOTO
#define ADX_DO(code, value) [code] = &&at_##code,
#define ADX_X(code, value) [code + ADX_AFTER_X] = &&x_##code,
#define ADX_Y(code, value) [code + ADX_AFTER_Y] = &&y_##code,
#define ADX_Z(code, value) [code + ADX_AFTER_Z] = &&z_##code,
    static const void *const to[ADX_CODES] = {
        ADX_EVERY ADX_DO(ADX_OP_chain, ) ADX_FUSED(ADX_DO)
        ADX_AFTER(ADX_X, ADX_Y, ADX_Z)
        [ADX_OP_guard] = &&at_guard, [ADX_OP_many] = &&at_many,
        [ADX_OP_end] = &&at_end
    };
#undef ADX_DO
#undef ADX_X
#undef ADX_Y
#undef ADX_Z
#endif
    ADX_GO_BEGIN {
    // The code of an operation with these arguments: a loop over successive
    // nodes of the operation, and then a jump to the code of the next node.
#define ADX_DO_STEP(label, code, first, second, third, value)               \
        ADX_GO_AT(label, code)                                              \
            do {                                                            \
                ad_real x = first;                                          \
                ad_real y = second;                                         \
                ad_real z = third;                                          \
                (void)x; (void)y; (void)z;                                  \
                last = (ad_real)(value);                                    \
                w[s->r] = last;                                             \
                s++;                                                        \
            } while (s->op == (code));                                      \
            ADX_GO_NEXT;
#define ADX_DO(code, value)                                                 \
        ADX_DO_STEP(at_##code, code, w[s->a], w[s->b], w[s->c], value)
#define ADX_X(code, value)                                                  \
        ADX_DO_STEP(x_##code, code + ADX_AFTER_X, last, w[s->b], w[s->c], value)
#define ADX_Y(code, value)                                                  \
        ADX_DO_STEP(y_##code, code + ADX_AFTER_Y, w[s->a], last, w[s->c], value)
#define ADX_Z(code, value)                                                  \
        ADX_DO_STEP(z_##code, code + ADX_AFTER_Z, w[s->a], w[s->b], last, value)
        ADX_EVERY
        ADX_DO(ADX_OP_chain, x * y)
        ADX_FUSED(ADX_DO)
        ADX_AFTER(ADX_X, ADX_Y, ADX_Z)
#undef ADX_DO
#undef ADX_X
#undef ADX_Y
#undef ADX_Z
#undef ADX_DO_STEP
        ADX_GO_AT(at_guard, ADX_OP_guard)
            if (!adx_same_value(w[s->a], w[s->b]))
                return s;
            s++;
            ADX_GO_NEXT;
        ADX_GO_AT(at_many, ADX_OP_many)
            adx_run_many(m, s, w, 1, false, &failed);
            if (failed != 0)
                return s;
            s++;
            ADX_GO_NEXT;
        ADX_GO_AT(at_end, ADX_OP_end)
            return NULL;
    }
}

#if ADX_GOTO
#pragma GCC diagnostic pop
#endif
#undef ADX_GO_BEGIN
#undef ADX_GO_AT
#undef ADX_GO_FUNCTION
#undef ADX_GO_NEXT

// Runs the nodes with care: in the chain rule, zeros absorb. This is rare, so
// there is no second interpreter for it: each node is a call of the loop over
// lanes, with one lane.
static const adx_node *adx_nodes_careful(const adx_machine *m, ad_real w[])
{
    uint32_t failed = 0;
    for (const adx_node *s = m->node; s->op != ADX_OP_end; s++)
        if (s->op == ADX_OP_guard && !adx_same_value(w[s->a], w[s->b]))
            return s;
        else if (s->op == ADX_OP_many) {
            adx_run_many(m, s, w, 1, true, &failed);
            if (failed != 0)
                return s;
        } else if (s->op != ADX_OP_guard)
            adx_map_of(s->op & ADX_CODE, true)(1, w + s->r,
                                               (adx_stream){ w + s->a, 1 },
                                               (adx_stream){ w + s->b, 1 },
                                               (adx_stream){ w + s->c, 1 });
    return NULL;
}

// Takes memory for so many lanes, with the constants filled in. NULL: there is
// none.
static adx_workspace *adx_take_work(adx_machine *m, size_t lanes)
{
    if (m->places + 2 * m->room > SIZE_MAX / 16 / lanes)
        return NULL;
    adx_workspace *work = adx_take_workspace(&m->spare, m->memory,
                                             adx_machine_room(m, lanes));
    if (work == NULL || work->lanes == lanes)
        return work;
    work->lanes = lanes;
    for (size_t i = 0; i < m->presets; i++)
        for (size_t l = 0; l < lanes; l++)
            work->w[m->preset[i].at * lanes + l] = m->preset[i].v;
    return work;
}

// Leaves the memory for the next evaluation, in place of what was left there
// before.
static void adx_give_work(adx_machine *m, adx_workspace *work)
{
    adx_give_workspace(&m->spare, m->memory, work);
}

/* --- many points ------------------------------------------------------------
 * The numbers of all lanes are side by side. Each node is a loop over
 * lanes.                                                                    */

// Adds the lanes that fail at this guard and have not failed before.
static void adx_guard_lanes(const adx_node *s, const ad_real w[],
                            size_t lanes, uint32_t flipped[])
{
    for (size_t l = 0; l < lanes; l++)
        if (flipped[l] == 0 && !adx_same_value(w[s->a * lanes + l],
                                               w[s->b * lanes + l]))
            flipped[l] = s->c + 1;
}

// gcc -O2 vectorises a loop only if it need not test whether arrays overlap
// (bench: gmm-d10, replay, -O2, 0.77), and -O3 writes a loop of up to 16 lanes
// out before it looks for vectors, and then finds none (bench: sparse J, 7
// directions, 0.5). A longer one it writes out as vectors, as it should (bench:
// gmm-d10, replay, 0.83; skin, 0.87).
#if defined __GNUC__ && !defined __clang__
#define ADX_MANY_LANES _Pragma("GCC ivdep")
#define ADX_FEW_LANES  _Pragma("GCC unroll 1") _Pragma("GCC ivdep")
#else
#define ADX_MANY_LANES
#define ADX_FEW_LANES
#endif

// A block of L lanes: all loops have the same constant length, since this is
// inlined where L is known. (bench: burgers, replay, 0.67 of calls of
// adx_map_of.)
ADX_INLINE void adx_run_block(const adx_machine *m, ad_real w[], const size_t L,
                              uint32_t flipped[])
{
    for (const adx_node *s = m->node;; s++)
        switch (s->op & ADX_CODE) {
#define ADX_EACH_LANE(value)                                                \
                for (size_t l = 0; l < L; l++) {                            \
                    ad_real x = a[l];                                       \
                    ad_real y = b[l];                                       \
                    ad_real z = c[l];                                       \
                    (void)x; (void)y; (void)z;                              \
                    r[l] = (ad_real)(value);                                \
                }
#define ADX_BLOCK_DO(value)                                                 \
            do {                                                            \
                ad_real *restrict r = w + s->r * L;                         \
                const ad_real *a = w + s->a * L;                            \
                const ad_real *b = w + s->b * L;                            \
                const ad_real *c = w + s->c * L;                            \
                if (L > 16) {                                               \
                    ADX_MANY_LANES                                          \
                    ADX_EACH_LANE(value)                                    \
                } else {                                                    \
                    ADX_FEW_LANES                                           \
                    ADX_EACH_LANE(value)                                    \
                }                                                           \
            } while (0)
#define ADX_DO(code, value)                                                 \
        case code:                                                          \
            ADX_BLOCK_DO(value);                                            \
            break;
        ADX_EVERY
        ADX_DO(ADX_OP_chain, x * y)
        ADX_FUSED_CHAIN(ADX_DO)
        // There are two loops, so that a product is in memory before it is
        // used, and is not contracted. An asm within a loop would prevent
        // vectors. gcc writes the second loop out as vectors by itself, which
        // is better than a loop (0.31 instead of 0.35 of eight products).
#define ADX_DO_TWICE(code, operator)                                        \
        case code:                                                          \
            ADX_BLOCK_DO(x * y);                                            \
            ADX_ROUNDED_ALL();                                              \
            for (size_t l = 0; l < L; l++)                                  \
                w[s->r * L + l] = w[s->c * L + l] operator w[s->r * L + l]; \
            break;
        ADX_DO_TWICE(ADX_OP_mul_add, +)
        ADX_DO_TWICE(ADX_OP_mul_sub, -)
#undef ADX_DO
#undef ADX_DO_TWICE
#undef ADX_EACH_LANE
#undef ADX_BLOCK_DO
        case ADX_OP_guard:
            adx_guard_lanes(s, w, L, flipped);
            break;
        case ADX_OP_many:
            adx_run_many(m, s, w, L, false, flipped);
            break;
        default:
            return;
        }
}

#undef ADX_MANY_LANES
#undef ADX_FEW_LANES

#define ADX_BLOCK(name, L)                                                  \
    ADX_NOINLINE static void adx_run_block_##name(const adx_machine *m,     \
                                                  ad_real w[],              \
                                                  uint32_t flipped[])       \
    {                                                                       \
        adx_run_block(m, w, L, flipped);                                    \
    }
ADX_BLOCK(4, 4)
ADX_BLOCK(8, 8)
ADX_BLOCK(16, 16)
ADX_BLOCK(most, ADREV_LANES_MOST)
#undef ADX_BLOCK

// Runs the nodes at `lanes` points. flipped[lanes]: 0; or 1 + the guard at
// which the lane failed; or ADX_FAILED: an external node failed.
static void adx_run_lanes(const adx_machine *m, ad_real w[], size_t lanes,
                          bool careful, uint32_t flipped[])
{
    static const struct {
        size_t lanes;
        void (*run)(const adx_machine *m, ad_real w[], uint32_t flipped[]);
    } block[] = {
        { ADREV_LANES_MOST, adx_run_block_most }, { 16, adx_run_block_16 },
        { 8, adx_run_block_8 }, { 4, adx_run_block_4 }
    };
    memset(flipped, 0, lanes * sizeof *flipped);
    for (size_t i = 0; !careful && i < sizeof block / sizeof *block; i++)
        if (lanes == block[i].lanes) {
            block[i].run(m, w, flipped);
            return;
        }
    for (const adx_node *s = m->node; s->op != ADX_OP_end; s++)
        if (s->op == ADX_OP_guard)
            adx_guard_lanes(s, w, lanes, flipped);
        else if (s->op == ADX_OP_many)
            adx_run_many(m, s, w, lanes, careful, flipped);
        else
            adx_map_of(s->op & ADX_CODE, careful)(lanes, w + s->r * lanes,
                                       (adx_stream){ w + s->a * lanes, 1 },
                                       (adx_stream){ w + s->b * lanes, 1 },
                                       (adx_stream){ w + s->c * lanes, 1 });
}
