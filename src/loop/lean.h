#pragma once

/* === loop/lean ============================================================
 * A scan is lean if its steps carry on one row of each state and nothing else.
 * Then most steps in a row take the same path. In this room one function does
 * many of them, without the layers that other loops need. Inputs that do not
 * change stay where the function reads them. The run ends at a step that is
 * special in any way, which the other layers then do: a step that takes another
 * path, that is compared with its function, or that has a result that is not
 * finite. If runs turn out to be short, no new one is begun for a while.
 * (bench: loop, scan comp, 0.5; scan repl, 0.88.)
 *
 *   needs   array/linear function/api function/program function/matrices
 *           function/run function/functions function/evaluation loop/schedule
 *           loop/scan loop/step loop/replay
 *   offers  adx_go_lean
 * ========================================================================== */

#ifdef ADREV_FUNCTION_IMPLEMENTED

enum { ADX_SHORT_RUN = 4, ADX_REST = 64 };

// A run of lean steps by one function.
typedef struct adx_lean {
    adx_stepping *k;
    size_t path;
    adx_kept_level *level;      // of the states; NULL: they are not kept
    size_t base;                // state 0 is that before this step
    char *at;                   // the latest state
    size_t near;                // states that follow it in the same block, in
                                // the direction of the run
    ptrdiff_t stride;           // from a state to the next, in bytes
    ad_real tag;                // in front of the numbers handed on: 1 + the
                                // path, or 0
    size_t kept;                // numbers that are handed on
    const adx_evaluation *by;
    bool cut;                   // it ended at a step that is not for `by`
} adx_lean;

// Begins a run: in the way `handing` if numbers are handed on, else in the way
// `plain`.
static bool adx_begin_lean(adx_lean *r, int plain, int handing)
{
    r->by = adx_evaluation_of(r->k, r->path, r->kept > 0 ? handing : plain);
    return r->by != NULL;
}

// Whether no run should begin now, because the latest one was short.
static bool adx_has_rest(adx_stepping *k)
{
    if (k->replay.rest == 0)
        return false;
    k->replay.rest--;
    return true;
}

static void adx_end_lean(const adx_lean *r, size_t steps)
{
    r->k->scan->report->evaluations += steps;
    r->k->scan->report->replayed += steps;
    r->k->replay.rest = r->cut && steps < ADX_SHORT_RUN ? ADX_REST : 0;
}

// Finds state s, which begins a new block or a run. False: there is no room.
static bool adx_find_state(adx_lean *r, size_t s)
{
    adx_state_pool *pool = &r->level->pool;
    r->at = adx_in_state_pool(&r->k->scan->timetable, pool, s - r->base);
    size_t last = ((size_t)1 << pool->bits) - 1;
    size_t number = (s - r->base) & last;
    r->near = r->at == NULL ? 0 : r->stride < 0 ? number : last - number;
    return r->at != NULL;
}

// Returns state s, which follows the latest one. *behind becomes the tag
// behind it. NULL: there is no room. Memory further on is fetched before it is
// needed. (bench: loop, scan repl, 10^6 steps, 0.93.)
ADX_INLINE ad_real *adx_next_state(adx_lean *r, size_t s, ad_real **behind)
{
    if (r->near > 0) {
        r->near--;
        r->at += r->stride;
    } else
        adx_find_state(r, s);
    ADX_FETCH((uintptr_t)r->at + (r->stride < 0 ? (uintptr_t)0 - ADX_FAR
                                                : ADX_FAR));
    *behind = adx_behind_state(&r->k->scan->timetable, r->level, r->at);
    return (ad_real *)(void *)r->at;
}

// Keeps x as state s, if states are kept, and says where the numbers handed on
// are to be written. False: no memory.
ADX_INLINE bool adx_keep_lean(adx_lean *r, size_t s, const ad_real x[],
                              ad_real **handed)
{
    ad_real *behind;
    *handed = NULL;
    if (r->level == NULL)
        return true;
    ad_real *at = adx_next_state(r, s, &behind);
    if (at == NULL)
        return false;
    adx_copy_few(r->k->scan->n.window, x, at);
    if (behind != NULL)
        *behind = r->tag;
    *handed = r->kept > 0 ? behind + 1 : NULL;
    return true;
}

// Returns the state before step s, and the numbers that were handed on with it.
// NULL: its tag differs from that of the run.
ADX_INLINE const ad_real *adx_fetch_lean(adx_lean *r, size_t s,
                                         const ad_real **handed)
{
    ad_real *behind;
    const ad_real *at = adx_next_state(r, s, &behind);
    *handed = behind == NULL ? NULL : behind + 1;
    return behind != NULL && *behind != r->tag ? NULL : at;
}

// Returns the weights of step s, from the adjoints of the state; NULL: all are
// 0. If all results are the state, its adjoints are the weights.
ADX_INLINE const ad_real *adx_weigh_lean(const adx_stepping *k, size_t s,
                                         const ad_real carried[])
{
    const adx_scan *c = k->scan;
    if (c->n.told > 0 || c->n.out > c->n.window)
        return adx_weigh(c, s, &k->f, carried) ? k->f.weight : NULL;
    return adx_zeros(c->n.window, carried) ? NULL : carried;
}

// Gathers those inputs of a step, besides its state, that change.
ADX_INLINE void adx_gather_lean(const adx_scan *c, size_t s, ad_real x[])
{
    adx_gather_sequences(c, s, c->value, x);
    x[c->n.in - 1] = (ad_real)s;
}

// Takes n results of a replay. Returns whether all are finite.
ADX_INLINE bool adx_take_results(const adx_evaluation *by, size_t first,
                                 size_t n, ad_real y[])
{
    const uint32_t *from = by->machine->output + first;
    const ad_real *w = by->work->w;
    ad_real fault = 0;
    size_t i = 0;
    for (; i + 1 < n; i += 2) {     // two at a time: see adx_copy_few
        ad_real a = w[from[i]];
        ad_real b = w[from[i + 1]];
        fault += a * 0 + b * 0;
        y[i] = a;
        y[i + 1] = b;
    }
    if (i < n) {
        y[i] = w[from[i]];
        fault += y[i] * 0;
    }
    return fault == 0;
}

// Computes the results of a step, and what it hands on, by machine code or a
// replay. False: the function cannot do this step.
ADX_INLINE bool adx_lean_primal(const adx_lean *r, bool compiled,
                               const ad_real x[], ad_real y[], ad_real handed[])
{
    const adx_scan *c = r->k->scan;
    const adx_evaluation *by = r->by;
    const adx_compiled *code = &by->fn->compiled[by->kind];
    const adx_given given = { x, c->n.in };
    if (compiled)
        return adx_call_compiled(code, 1, &given, y, handed, by->room->w) == 0
            && (code->checks || adx_finite_few(c->n.out, y));
    return adx_nodes_plain(by->machine, by->work->w) == NULL
        && adx_take_results(by, 0, c->n.out, y)
        && adx_take_results(by, c->n.out, r->kept, handed);
}

// Computes the adjoints dx of the inputs of a step from its weights. False: the
// function cannot do this step.
ADX_INLINE bool adx_lean_pullback(const adx_lean *r, bool compiled,
                                  const ad_real x[], const ad_real w[],
                                  const ad_real handed[], ad_real dx[])
{
    const adx_scan *c = r->k->scan;
    const adx_evaluation *by = r->by;
    const adx_compiled *code = &by->fn->compiled[by->kind];
    const adx_given given[] = { { x, c->n.in }, { w, c->n.out },
                                { handed, r->kept } };
    if (compiled)
        return adx_call_compiled(code, r->kept > 0 ? 3 : 2, given, dx, NULL,
                                 by->room->w) == 0
            && (code->checks || adx_finite_few(c->n.in - 1, dx));
    adx_copy_few(c->n.out, w, by->work->w + c->n.in);
    adx_copy_few(r->kept, handed, by->work->w + c->n.in + c->n.out);
    return adx_nodes_plain(by->machine, by->work->w) == NULL
        && adx_take_results(by, 0, c->n.in - 1, dx);
}

// Whether there is machine code that does many steps at once. It can do so only
// if no step has results of the scan.
static bool adx_has_loop(const adx_lean *r)
{
    return r->k->scan->n.told == 0
        && r->by->fn->compiled[r->by->kind].loop != NULL;
}

// The numbers of sequences that a step reads: for each number, where it is at
// one step, and how far it moves from step to step.
typedef struct adx_moving_data {
    const ad_real *data[ADX_CHECKED_MOST];
    ad_real *sums[ADX_CHECKED_MOST];       // adjoints; back only
    long move[ADX_CHECKED_MOST];
} adx_moving_data;

// Lists the numbers of sequences that step s reads; `back`: with where their
// adjoints are added.
static void adx_list_data(adx_moving_data *d, const adx_stepping *k, size_t s,
                          bool back)
{
    const adx_scan *c = k->scan;
    for (size_t i = c->shape.state_pieces; i < c->shape.pieces; i++) {
        const adx_piece *p = &c->shape.piece[i];
        size_t from = p->from + (size_t)((ptrdiff_t)s * p->move);
        for (size_t j = 0; j < p->size; j++) {
            size_t at = p->at - c->n.window + j;
            d->data[at] = c->value + from + j;
            d->sums[at] = back ? k->f.dx + c->n.window + from + j : NULL;
            d->move[at] = (long)(back ? -p->move : p->move);
        }
    }
}

// Lets machine code do many of the next `steps` steps, beginning with step s,
// as long as their states are in one block. Returns how many it did. (bench:
// loop, scan comp, 0.86.)
static size_t adx_do_loop(adx_lean *r, bool back, size_t s, size_t steps)
{
    const adx_stepping *k = r->k;
    const adx_scan *c = k->scan;
    ad_real *behind = NULL;
    adx_moving_data d;
    if (r->level != NULL) {
        if (!adx_find_state(r, s))
            return 0;
        steps = steps <= r->near ? steps : r->near + 1;
        behind = adx_behind_state(&c->timetable, r->level, r->at);
        r->near = 0;            // the next one is looked for
    }
    adx_list_data(&d, k, s, back);
    return (size_t)r->by->fn->compiled[r->by->kind].loop(
        (long)steps, (long)s, back ? k->f.carried : k->io.in,
        (ad_real *)(void *)r->at,
        (long)(r->stride / (ptrdiff_t)sizeof(ad_real)),
        behind != NULL ? &r->tag : NULL, d.data, d.sums, d.move,
        k->io.in + c->n.in - 1 - c->n.parameters,
        back ? k->f.dx + c->n.window + c->n.data : NULL, r->by->room->w);
}

// Steps are unrolled only if they have few operations; otherwise the operations
// take nearly all of the time. If the program is made for one scan only, it
// must save more than it costs to make it, which is what some 2000 steps save.
enum { ADX_UNROLLED_NODES = 64, ADX_UNROLLED_PAYS = 2000 };

// Whether a step is short enough to be unrolled, and has the shape for it. An
// unrolled pullback does not test guards. So there must be none, or the steps
// must be known to be on this path (passed).
static bool adx_may_unroll(const ad_fn *fn, bool passed)
{
    const adx_program *p = &fn->program;
    const adx_repeated *step = &fn->repeated;
    bool fits = step->carried > 0 && p->outputs == step->carried
             && p->manys == 0
             && p->inputs == step->carried + step->parameters + 1
             && p->nodes <= ADX_UNROLLED_NODES;
    for (size_t i = 0; fits && !passed && i < p->nodes; i++)
        fits = p->node[i].op != ADX_OP_guard;
    return fits;
}

// Returns the evaluation that replays ADX_UNROLLED pullbacks at once; `steps`
// steps are to be done. NULL: there is none, or it does not pay.
static const adx_evaluation *adx_unrolled_of(const adx_lean *r, size_t steps)
{
    const adx_scan *c = r->k->scan;
    if (steps < (r->path < c->replay.known ? ADX_UNROLLED : ADX_UNROLLED_PAYS)
        || c->n.told > 0
        || !adx_may_unroll(r->by->fn, r->tag > 0))
        return NULL;
    size_t n = ADX_UNROLLED * (c->n.window + r->kept + 1)
             + 2 * c->n.parameters + c->n.window;
    const adx_evaluation *by =
        adx_evaluation_of(r->k, r->path, ADX_CALL_unrolled);
    return by != NULL && by->machine->inputs == n ? by : NULL;
}

// Reverses steps before s, down to `from`, ADX_UNROLLED at a time, as long as
// they keep to the function. Returns the earliest step that is reversed then.
// f.carried are the adjoints of the state, before and after. (bench: loop, scan
// repl, 0.90.)
//
// The inputs of the unrolled program are in its workspace, in the order of
// adx_make_unrolled. Adjoints of the state and of the parameters are among them
// (w): they are the results of each group of steps, and go back there as inputs
// of the next.
static size_t adx_run_unrolled(adx_lean *r, size_t from, size_t s)
{
    const adx_frame *f = &r->k->f;
    const adx_scan *c = r->k->scan;
    const size_t n = c->n.window;
    const size_t each = n + r->kept;
    const adx_evaluation *by = adx_unrolled_of(r, s - from);
    if (by == NULL)
        return s;
    ad_real *sums = f->dx + n + c->n.data;
    ad_real *x = by->work->w;           // its inputs: see adx_make_unrolled
    ad_real *number = x + ADX_UNROLLED * each + c->n.parameters;
    ad_real *w = number + ADX_UNROLLED;
    adx_copy_few(c->n.parameters, r->k->io.in + n, number - c->n.parameters);
    adx_copy_few(n, f->carried, w);
    adx_copy_few(c->n.parameters, sums, w + n);
    for (; s - from >= ADX_UNROLLED && !adx_zeros(n, w); s -= ADX_UNROLLED) {
        const ad_real *at = x;
        for (size_t i = ADX_UNROLLED; i-- > 0;) {
            const ad_real *handed;
            size_t step = s - ADX_UNROLLED + i;
            at = adx_fetch_lean(r, step, &handed);
            if (at == NULL)
                break;
            adx_copy_few(n, at, x + i * each);
            adx_copy_few(r->kept, handed, x + i * each + n);
            number[i] = (ad_real)step;
        }
        if (at == NULL || adx_nodes_plain(by->machine, x) != NULL
            || !adx_take_results(by, 0, n + c->n.parameters, f->product))
            break;
        adx_copy_few(n + c->n.parameters, f->product, w);
    }
    r->near = 0;                // the next state is looked for
    adx_copy_few(n, w, f->carried);
    adx_copy_few(c->n.parameters, w + n, sums);
    return s;
}

// Returns where the function reads its inputs: machine code in io.in, a replay
// in its workspace, to which the inputs are copied once.
ADX_INLINE ad_real *adx_given_to(const adx_lean *r, bool compiled)
{
    if (compiled)
        return r->k->io.in;
    adx_copy_few(r->k->scan->n.in, r->k->io.in, r->by->work->w);
    return r->by->work->w;
}

// Does steps from s on, as far as `to`. Returns the step at which the run ends.
// io.in begins with the state, before the run and after it. If the results of
// machine code are the state and nothing else, they become the inputs of the
// next step without a copy: two arrays take turns.
ADX_INLINE size_t adx_run_primal(adx_lean *r, bool compiled, size_t s,
                                 size_t to)
{
    adx_stepping *k = r->k;
    const adx_scan *c = k->scan;
    ad_real *handed;
    for (size_t n = 1; n > 0 && s < to && compiled && adx_has_loop(r); s += n)
        n = adx_do_loop(r, false, s, to - s);
    ad_real *x = adx_given_to(r, compiled);
    ad_real *y = k->io.in_next;
    bool turns = compiled && c->n.out == c->n.window;
    if (turns)
        adx_copy_few(c->n.in, x, y);
    for (; s < to && adx_keep_lean(r, s, x, &handed); s++) {
        adx_gather_lean(c, s, x);
        r->cut = !adx_lean_primal(r, compiled, x, y, handed);
        if (r->cut)
            break;
        if (k->list != NULL)
            adx_tell_results(c, k->list, y);
        if (turns) {
            ad_real *t = x;
            x = y;
            y = t;
        } else
            adx_copy_few(c->n.window, y, x);
    }
    if (x != k->io.in)
        adx_copy_few(c->n.window, x, k->io.in);
    return s;
}

// Reverses steps before s, down to `from`. Returns the earliest step that is
// reversed. f.carried are the adjoints of the state, before the run and after
// it. Machine code, or an unrolled program, first does many steps at once. The
// others are done one by one, and the adjoints of each are the weights of the
// step before it.
ADX_INLINE size_t adx_run_pullback(adx_lean *r, bool compiled, size_t from,
                                   size_t s)
{
    const adx_stepping *k = r->k;
    const adx_scan *c = k->scan;
    const adx_frame *f = &k->f;
    const ad_real *handed;
    for (size_t n = 1; n > 0 && s > from && compiled && adx_has_loop(r); s -= n)
        n = adx_do_loop(r, true, s - 1, s - from);
    if (!compiled)
        s = adx_run_unrolled(r, from, s);
    const ad_real *carried = f->carried;
    ad_real *x = adx_given_to(r, compiled);
    ad_real *dx = f->product;
    for (; s > from; s--) {
        const ad_real *at = adx_fetch_lean(r, s - 1, &handed);
        const ad_real *w = adx_weigh_lean(k, s - 1, carried);
        if (at == NULL || w == NULL)
            break;
        adx_copy_few(c->n.window, at, x);
        adx_gather_lean(c, s - 1, x);
        r->cut = !adx_lean_pullback(r, compiled, x, w, handed, dx);
        if (r->cut)
            break;
        adx_spread_given(c, s - 1, dx, f->dx + c->n.window);
        carried = dx;
        dx = dx == f->product ? k->sweep.room : f->product;
    }
    if (carried != f->carried)
        adx_copy_few(c->n.window, carried, f->carried);
    return s;
}

// See adx_timetable.advance_some. Tries the path of the latest step, up to the
// next step that is to be compared.
static size_t adx_advance_lean(void *user, adx_kept_level *l, size_t base,
                               size_t from, size_t to)
{
    adx_stepping *k = (adx_stepping *)user;
    adx_scan *c = k->scan;
    const adx_step_path *p = &c->replay.used->path[k->replay.latest];
    adx_lean r = { .k = k, .path = k->replay.latest, .level = l, .base = base };
    if (adx_is_varying(c) || c->replay.known <= r.path || p->stop)
        return from;
    size_t look = adx_next_look(k, from);
    if (look == from || adx_has_rest(k))
        return from;
    r.stride = l == NULL ? 0 : (ptrdiff_t)l->pool.bytes;
    if (l != NULL && l->behind > p->kept && p->kept > 0) {
        r.kept = p->kept;
        r.tag = (ad_real)(r.path + 1);
    }
    if (!adx_begin_lean(&r, ADX_CALL_value, ADX_CALL_primal))
        return from;
    to = look < to ? look : to;
    if (k->list != NULL && !adx_expect_results(c, k->list, to - from))
        return from;
    size_t s = r.by->room == NULL ? adx_run_primal(&r, false, from, to)
                                  : adx_run_primal(&r, true, from, to);
    c->replay.by_function |= k->first && s > from;
    adx_end_lean(&r, s - from);
    return s;
}

// See adx_timetable.reverse_some. Tries the path whose primal ran at step to -
// 1, or that of the latest step, down to the next step that is to be compared.
static size_t adx_reverse_lean(void *user, adx_kept_level *l, size_t base,
                               size_t from, size_t to)
{
    adx_stepping *k = (adx_stepping *)user;
    adx_scan *c = k->scan;
    const ad_real *behind;
    adx_lean r = { .k = k, .level = l, .base = base,
                   .stride = -(ptrdiff_t)l->pool.bytes };
    if (k->sweep.connects || adx_is_varying(c)
        || (c->n.told == 0 && adx_zeros(c->n.window, k->f.carried))
        || !adx_find_state(&r, to - 1))
        return to;
    behind = adx_behind_state(&c->timetable, l, r.at);
    r.near = 0;                 // this is the next one, not the latest
    r.tag = behind == NULL ? 0 : *behind;
    r.path = r.tag > 0 ? (size_t)r.tag - 1 : k->replay.latest;
    const adx_step_path *p = &c->replay.used->path[r.path];
    r.kept = r.tag > 0 ? p->kept : 0;
    if (r.path >= (c->replay.swept ? c->replay.limit : c->replay.used->paths)
        || (r.path >= c->replay.known && to > p->upto) || adx_has_rest(k)
        || !adx_begin_lean(&r, ADX_CALL_vjp, ADX_CALL_pullback))
        return to;
    size_t look = adx_next_look_back(c, to - 1);
    if (look != SIZE_MAX && look >= from)
        from = look + 1;
    size_t s = r.by->room == NULL ? adx_run_pullback(&r, false, from, to)
                                  : adx_run_pullback(&r, true, from, to);
    adx_end_lean(&r, to - s);
    return s;
}

static void adx_go_lean(adx_stepping *k)
{
    adx_timetable *p = &k->scan->timetable;
    p->advance_some = k->io.lean ? adx_advance_lean : NULL;
    p->reverse_some = k->io.lean ? adx_reverse_lean : NULL;
}

#else

static void adx_go_lean(adx_stepping *k) { (void)k; }

#endif
