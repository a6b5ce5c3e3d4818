#pragma once

/* === function/record ========================================================
 * The function to be recorded runs on a tape of its own. The trace hook of that
 * tape is told of every operation, and writes the program: number[id] is the
 * number of the program for the value `id` of the tape. Comparisons become
 * guards. Array statements become array nodes, some of them several.
 *
 * Each operation is simplified at once (function/emit) and looked up among
 * those before it (function/unique), so it takes constant time, and what is
 * found again takes no memory.
 *
 *   needs   tape/layout tape/memory tape/hooks sweep/session core/cells
 *           function/api function/program function/unique function/emit
 *           function/copy
 *   offers  adx_code_place adx_file_name adx_recorder adx_record_node
 *           adx_record_operation adx_saved_call adx_call_rule adx_record_array
 *           adx_record_inputs adx_refuse_recording adx_record_outputs
 * ========================================================================== */

typedef struct adx_code_place {
    const char *file;
    int line;
} adx_code_place;

// A list of copied file names, which belong to the function.
typedef struct adx_file_name {
    struct adx_file_name *next;
    char text[];
} adx_file_name;

typedef struct adx_recorder {
    adx_program *p;
    const ad_tape *tape;
    uint32_t *number;           // [id] the number of each value of the tape
    size_t ids, room;
    adx_segment segment[ADREV_MARKS + 1];   // the tape's, as these ids were
    size_t segments;                        // given out
    uint32_t job;               // of the last of them
    adx_code_place *guard;        // where each guard stands
    size_t guard_room;
    adx_file_name *files;       // of guards of functions that f calls
    const char *why;            // it failed; NULL: as the status says
} adx_recorder;

// Forgets the numbers of values that a rewind has removed. If f rewinds the
// tape, itself or by ad_grad, the last segments of the tape go, and their ids
// are given out again. So numbers are forgotten from the first segment on that
// is not as it was.
ADX_NOINLINE static void adx_forget_rewound(adx_recorder *r)
{
    const ad_tape *t = r->tape;
    size_t same = 0;
    while (same < r->segments && same < t->segments
           && r->segment[same].job == t->segment[same].job)
        same++;
    if (same < r->segments && r->ids > r->segment[same].begin)
        r->ids = (size_t)r->segment[same].begin + 1;
    if (same < t->segments && r->ids > t->segment[same].begin)
        r->ids = (size_t)t->segment[same].begin + 1;
    memcpy(r->segment, t->segment, sizeof r->segment);
    r->segments = t->segments;
    r->job = t->segment[t->segments - 1].job;
}

// Returns the number of a value of an earlier segment; ADX_NOWHERE: the value
// is not of this tape.
ADX_NOINLINE static uint32_t adx_number_elsewhere(adx_recorder *r,
                                                  ad_rev x)
{
    adx_forget_rewound(r);
    return x.seq < r->ids && adx_member(r->tape, x) ? r->number[x.seq]
                                                    : ADX_NOWHERE;
}

// Returns the number of something that f computes with. What f brings along is
// a constant, and so is an input that f makes itself.
static inline uint32_t adx_number_of(adx_recorder *r, ad_rev x)
{
    uint32_t number = x.job == r->job
                    ? x.seq < r->ids ? r->number[x.seq] : ADX_NOWHERE
                    : x.job == 0 ? ADX_NOWHERE : adx_number_elsewhere(r, x);
    return number != ADX_NOWHERE ? number : adx_fixed(r->p, x.v);
}

// Notes that the value `id` of the tape is this number of the program. Ids that
// are passed over have no number; they are those of inputs that f makes itself,
// for example.
static void adx_name_number(adx_recorder *r, size_t id, uint32_t number)
{
    if (!adx_make_room_for(r->p->memory, (void **)&r->number, &r->room, id,
                           sizeof *r->number)) {
        adx_spoil(r->p, ADREV_ENOMEM);
        return;
    }
    if (adx_now.job != r->job)
        adx_forget_rewound(r);
    while (r->ids < id)
        r->number[r->ids++] = ADX_NOWHERE;
    r->number[id] = number;
    r->ids = id + 1;
}

// Records a comparison, or a step such as floor: its result becomes a node, and
// a guard says that it must have this value. The report counts neither as an
// operation of f.
ADX_NOINLINE static void adx_record_guard(adx_recorder *r,
                                          const ad_operation *o)
{
    adx_program *p = r->p;
    size_t which = p->report.guards;
    uint32_t x = adx_number_of(r, o->arg[0]);
    uint32_t y = ad_op_table()[o->code].arity > 1
               ? adx_number_of(r, o->arg[1]) : x;
    if (!adx_make_room_for(p->memory, (void **)&r->guard, &r->guard_room, which,
                   sizeof *r->guard)) {
        adx_spoil(p, ADREV_ENOMEM);
        return;
    }
    r->guard[which] = (adx_code_place){ o->file, o->line };
    p->report.guards++;
    const ad_fn_report before = p->report;
    size_t nodes = p->nodes;
    uint32_t outcome = adx_emit2(p, o->code, x, y);
    p->conditions += p->nodes - nodes;
    p->report = before;
    adx_emit_guard(p, outcome, adx_fixed(p, o->result.v), (uint32_t)which);
    p->report = before;
}

// Records any operation, also one with arguments of other segments.
ADX_NOINLINE static ad_rev adx_record_any(void *user, ad_opcode code, ad_rev a,
                                          ad_rev b, ad_rev c, ad_real v,
                                          uint32_t id)
{
    adx_recorder *r = (adx_recorder *)user;
    int arity = ad_op_table()[code].arity;
    uint32_t x = adx_number_of(r, a);
    uint32_t y = arity > 1 ? adx_number_of(r, b) : x;
    uint32_t z = arity > 2 ? adx_number_of(r, c) : x;
    ad_rev made = { v, id, (uint32_t)adx_now.job };
    r->p->report.recorded++;
    adx_name_number(r, id, adx_emit(r->p, code, x, y, z));
    return made;
}

// Records an operation. Nearly all take the short way: the value is the next
// one of the tape, and all arguments have numbers.
static ad_rev adx_record_node(void *user, ad_opcode code, ad_rev a, ad_rev b,
                              ad_rev c, ad_real v, uint32_t id)
{
    adx_recorder *r = (adx_recorder *)user;
    if (id != r->ids || id >= r->room || adx_now.job != r->job)
        return adx_record_any(user, code, a, b, c, v, id);
    uint32_t x = r->number[a.seq];
    uint32_t y = r->number[b.seq];
    uint32_t z = r->number[c.seq];
    if ((x | y | z) == ADX_NOWHERE)     // true if one of them is
        return adx_record_any(user, code, a, b, c, v, id);
    ad_rev made = { v, id, r->job };
    r->p->report.recorded++;
    r->number[id] = adx_emit_of(r->p, code, x, y, z);
    r->ids = (size_t)id + 1;
    return made;
}

static void adx_record_operation(void *user, const ad_operation *o)
{
    if (o->result.job == 0)
        adx_record_guard((adx_recorder *)user, o);
    else
        adx_record_node(user, o->code, o->arg[0], o->arg[1], o->arg[2],
                        o->result.v, o->result.seq);
}

/* --- arrays -------------------------------------------------------------- */

// Returns the operands of an array statement as a range.
static adx_numbers adx_view_range(adx_recorder *r, const ad_array_view *v)
{
    adx_program *p = r->p;
    size_t n = v->rows * v->cols;
    adx_numbers range = adx_single(0);
    uint32_t *list = (uint32_t *)adx_take(p->memory, n, sizeof *list);
    if (list == NULL) {
        adx_spoil(p, ADREV_ENOMEM);
        return range;
    }
    for (size_t i = 0; i < n; i++) {
        ptrdiff_t at = (ptrdiff_t)(i / v->cols) * v->rs
                     + (ptrdiff_t)(i % v->cols) * v->cs;
        list[i] = v->x != NULL ? adx_number_of(r, v->x[at])
                               : adx_fixed(p, v->c[at]);
    }
    range = adx_numbers_of(p, list, v->rows, v->cols);
    adx_drop(p->memory, list);
    return range;
}

// Makes exp(x - max x), with which logsumexp and softmax begin.
static adx_numbers adx_record_weights(adx_program *p, size_t n, adx_numbers x,
                                      uint32_t *most)
{
    *most = adx_emit_fold(p, ADX_MANY_most, n, x);
    return adx_emit_each2(p, n, ADX_OP_weight, x, adx_single(*most));
}

static adx_numbers adx_record_logsumexp(adx_program *p, size_t n, adx_numbers x)
{
    uint32_t most;
    adx_numbers w = adx_record_weights(p, n, x, &most);
    uint32_t sum = adx_emit_fold(p, ADX_MANY_sum, n, w);
    return adx_single(adx_emit2(p, ADREV_OP_add, most,
                               adx_emit2(p, ADREV_OP_log, sum, sum)));
}

static adx_numbers adx_record_softmax(adx_program *p, size_t n, adx_numbers x)
{
    uint32_t most;
    adx_numbers w = adx_record_weights(p, n, x, &most);
    uint32_t sum = adx_emit_fold(p, ADX_MANY_sum, n, w);
    return adx_emit_each2(p, n, ADREV_OP_div, w, adx_single(sum));
}

static adx_numbers adx_record_sqdist(adx_program *p, size_t n, adx_numbers x,
                                     adx_numbers y)
{
    adx_numbers d = adx_emit_each2(p, n, ADREV_OP_sub, x, y);
    adx_numbers square = adx_emit_each2(p, n, ADREV_OP_mul, d, d);
    return adx_single(adx_emit_fold(p, ADX_MANY_sum, n, square));
}

// Makes sums of one term as a tape does: they start at 0, so that -0 becomes 0.
static adx_numbers adx_from_zero(adx_program *p, size_t n, adx_numbers x)
{
    adx_numbers r = adx_emit_each2(p, n, ADREV_OP_add, x,
                                   adx_single(adx_fixed(p, 0)));
    r.rs = r.cs;
    return r;
}

static adx_numbers adx_record_sum(adx_program *p, size_t n, adx_numbers x)
{
    adx_numbers sum = adx_single(adx_emit_fold(p, ADX_MANY_sum, n, x));
    return n == 1 ? adx_from_zero(p, 1, sum) : sum;
}

static adx_numbers adx_record_product(adx_program *p, size_t m, size_t k,
                                      size_t n, adx_numbers a, adx_numbers b)
{
    bool each = k == 1 && (m == 1 || n == 1) && !p->plain;
    adx_numbers y = adx_emit_product(p, ADREV_OP_mul, m, k, n, a, b);
    return each ? adx_from_zero(p, m * n, y) : y;
}

static adx_numbers adx_record_axpy(adx_program *p, size_t n, adx_numbers a,
                                   adx_numbers x, adx_numbers y)
{
    return adx_emit_each2(p, n, ADREV_OP_add,
                          adx_emit_each2(p, n, ADREV_OP_mul, a, x), y);
}

// Returns a range without its first n numbers.
static adx_numbers adx_range_after(adx_numbers r, size_t n)
{
    r.base = adx_in_range(&r, 0, n);
    return r;
}

// Records a triangle times a vector, column by column as ad_trimatvec computes
// it. y begins as the diagonal times x. Column i, below the diagonal, adds its
// product with x[i] to the rest of y; after that the first number of y is
// result i + 1.
static void adx_record_triangle(adx_recorder *r, const ad_array_operation *o,
                                adx_numbers d, adx_numbers l, adx_numbers x)
{
    adx_program *p = r->p;
    size_t n = o->arg[2].cols;
    adx_numbers y = adx_emit_each2(p, n, ADREV_OP_mul, d, x);
    for (size_t i = 0; i < n; i++) {
        adx_name_number(r, o->result.seq + i, y.base);
        if (i + 1 == n)
            break;
        size_t below = n - 1 - i;
        adx_numbers xi = adx_single(adx_in_range(&x, 0, i));
        adx_numbers term = adx_emit_each2(p, below, ADREV_OP_mul, l, xi);
        y = adx_emit_each2(p, below, ADREV_OP_add, adx_range_after(y, 1), term);
        l = adx_range_after(l, below);
    }
}

// Records an external statement. What it saved is copied, because the tape is
// freed at the end of the recording. Once nothing can fail any more, the
// statement on the tape no longer has to destroy it (*kept), and the program
// has to.
static adx_numbers adx_record_external(adx_recorder *r,
                                       const ad_array_operation *o)
{
    adx_program *p = r->p;
    size_t n = o->arg[0].cols;
    adx_numbers y = { 0, 0, 1 };
    if (o->rule->replay == NULL)
        adx_spoil(p, ADREV_EEXTERNAL);
    if (n > UINT32_MAX / 8 || o->results > UINT32_MAX / 8)
        adx_spoil(p, ADREV_ELIMIT);
    adx_shared_rule *shared = p->status != ADREV_OK ? NULL
                            : adx_new_shared_rule(p->memory, o);
    if (shared == NULL) {
        adx_spoil(p, ADREV_ENOMEM);
        return y;
    }
    uint32_t *list = (uint32_t *)adx_take(p->memory, n, sizeof *list);
    for (size_t i = 0; list != NULL && i < n; i++)
        list[i] = adx_number_of(r, o->arg[0].x[i]);
    const adx_many of = { .m = (uint32_t)o->results, .n = (uint32_t)n,
                          .shared = shared };
    y.base = adx_emit_external(p, &of, ADX_EXTERNAL_value, list);
    shared->destroys = p->status == ADREV_OK;
    *o->kept = shared->destroys;
    adx_release_rule(shared);
    return y;
}

// Makes the nodes of an array statement. Returns its results; ADX_NOWHERE: they
// have been given numbers already.
static adx_numbers adx_record_many(adx_recorder *r, const ad_array_operation *o)
{
    adx_program *p = r->p;
    const size_t n = o->arg[0].cols;
    adx_numbers arg[3] = { adx_single(0), adx_single(0), adx_single(0) };
    for (int i = 0; i < 3; i++)         // those that the statement has
        if (o->arg[i].rows * o->arg[i].cols > 0)
            arg[i] = adx_view_range(r, &o->arg[i]);
    switch (o->kind) {
    case ADREV_ARRAY_sum:
        return adx_record_sum(p, n, arg[0]);
    case ADREV_ARRAY_dot:
        arg[1].rs = arg[1].cs;
        return adx_record_product(p, 1, n, 1, arg[0], arg[1]);
    case ADREV_ARRAY_norm2:
        return adx_single(adx_emit_fold(p, ADX_MANY_norm, n, arg[0]));
    case ADREV_ARRAY_sqdist:
        return adx_record_sqdist(p, n, arg[0], arg[1]);
    case ADREV_ARRAY_logsumexp:
        return adx_record_logsumexp(p, n, arg[0]);
    case ADREV_ARRAY_softmax:
        return adx_record_softmax(p, n, arg[0]);
    case ADREV_ARRAY_axpy:
        return adx_record_axpy(p, n, arg[0], arg[1], arg[2]);
    case ADREV_ARRAY_scale:
        return adx_emit_each2(p, n, ADREV_OP_mul, arg[0], arg[1]);
    case ADREV_ARRAY_each:
        return adx_emit_each(p, n, o->code, arg[0], arg[1], arg[2]);
    case ADREV_ARRAY_matmul:
        return adx_record_product(p, o->arg[0].rows, n, o->arg[1].cols,
                                  arg[0], arg[1]);
    case ADREV_ARRAY_trimatvec:
        adx_record_triangle(r, o, arg[0], arg[1], arg[2]);
        return adx_single(ADX_NOWHERE);
    case ADREV_ARRAY_external:
        break;
    }
    return adx_record_external(r, o);
}

/* --- calls of recorded functions ----------------------------------------- */

// What a call of a recorded function saves on the tape: the function, and where
// it was called.
typedef struct adx_saved_call {
    ad_fn *fn;
    const adx_program *program; // of the function
    const adx_code_place *guard;    // places of its guards
    const ad_allocator *memory;
    ad_real x[];                // the inputs at the point of the call
} adx_saved_call;

// The rule of a call of a recorded function: its vjp at the point of the call.
static bool adx_call_pullback(const void *saved, size_t m, const ad_real dy[],
                              size_t n, ad_real dx[])
{
    const adx_saved_call *call = (const adx_saved_call *)saved;
    ad_real few[16];
    ad_real *g = n <= 16 ? few : (ad_real *)adx_take(call->memory, n,
                                                     sizeof *g);
    (void)m;
    bool ok = g != NULL && ad_fn_vjp(call->fn, call->x, dy, g) == ADREV_OK;
    for (size_t i = 0; ok && i < adx_variables_of(call->program); i++)
        dx[i] += g[i];
    if (g != few)
        adx_drop(call->memory, g);
    return ok;
}

static bool adx_call_pushforward(const void *saved, size_t n,
                                 const ad_real dx[], size_t m, ad_real dy[])
{
    const adx_saved_call *call = (const adx_saved_call *)saved;
    (void)n;
    (void)m;
    return ad_fn_jvp(call->fn, call->x, dx, dy) == ADREV_OK;
}

static void adx_call_destroy(const void *saved)
{
    ad_fn_free(((const adx_saved_call *)saved)->fn);
}

static const ad_external_rule adx_call_rule = {
    .name = "call", .pullback = adx_call_pullback,
    .pushforward = adx_call_pushforward, .destroy = adx_call_destroy
};

// Copies, once, the name of a file that belongs to a called function, because
// that function may be freed.
static const char *adx_keep_file(adx_recorder *r, const char *file)
{
    adx_file_name *own = r->files;
    if (file == NULL)
        return NULL;
    while (own != NULL && strcmp(own->text, file) != 0)
        own = own->next;
    if (own != NULL)
        return own->text;
    size_t length = strlen(file) + 1;
    own = (adx_file_name *)adx_take(r->p->memory, 1, sizeof *own + length);
    if (own == NULL) {
        adx_spoil(r->p, ADREV_ENOMEM);
        return NULL;
    }
    memcpy(own->text, file, length);
    own->next = r->files;
    r->files = own;
    return own->text;
}

// Appends the places of the guards of a called function to those of this one.
static void adx_record_guards(adx_recorder *r, size_t n,
                              const adx_code_place place[])
{
    adx_program *p = r->p;
    for (size_t i = 0; i < n; i++, p->report.guards++) {
        if (!adx_make_room_for(p->memory, (void **)&r->guard, &r->guard_room,
                               p->report.guards, sizeof *r->guard)) {
            adx_spoil(p, ADREV_ENOMEM);
            return;
        }
        r->guard[p->report.guards] = (adx_code_place){
            adx_keep_file(r, place[i].file), place[i].line
        };
    }
}

// Records a call of a recorded function: its nodes are copied, and its guards
// are counted on from those of this function.
static void adx_record_call(adx_recorder *r, const ad_array_operation *o)
{
    const adx_saved_call *call = (const adx_saved_call *)o->saved;
    const adx_program *called = call->program;
    adx_making k;
    uint32_t first = (uint32_t)r->p->report.guards;
    adx_record_guards(r, called->report.guards, call->guard);
    if (r->p->status != ADREV_OK || !adx_start_making(&k, called, r->p))
        return;
    k.guards = first;
    for (size_t i = 0; i < called->inputs; i++)
        k.same[i] = adx_number_of(r, o->arg[0].x[i]);
    for (size_t i = adx_variables_of(called); i < called->inputs; i++)
        k.same[i] = adx_emit2(r->p, ADREV_OP_detach, k.same[i], k.same[i]);
    for (size_t i = 0; i < called->nodes; i++)
        if (adx_is_used(called, &called->node[i], k.used))
            adx_copy_node(&k, &called->node[i]);
    for (size_t i = 0; i < called->outputs; i++)
        adx_name_number(r, o->result.seq + i, k.same[called->output[i]]);
    r->p->report.recorded += called->nodes;
    adx_end_making(&k);
}

// Refuses an array statement with too many operands. Rows, columns and operands
// of a node are counted in 32 bits. With stride 0 there may be more operands
// than numbers.
static void adx_limit_operands(adx_program *p, const ad_array_operation *o)
{
    for (int i = 0; i < 3; i++)
        if (adx_size_times(o->arg[i].rows, o->arg[i].cols) >= ADX_FROM_INPUT)
            adx_spoil(p, ADREV_ELIMIT);
}

// The array hook: records an array statement or a call.
static void adx_record_array(void *user, const ad_array_operation *o)
{
    adx_recorder *r = (adx_recorder *)user;
    adx_limit_operands(r->p, o);
    if (r->p->status != ADREV_OK)
        return;
    if (o->rule == &adx_call_rule) {
        adx_record_call(r, o);
        return;
    }
    r->p->report.recorded++;
    adx_numbers y = adx_record_many(r, o);
    if (y.base == ADX_NOWHERE || r->p->status != ADREV_OK)
        return;
    for (size_t i = 0; i < o->results; i++)
        adx_name_number(r, o->result.seq + i, adx_in_range(&y, 0, i));
}

/* --- from inputs to outputs ---------------------------------------------- */

static void adx_record_inputs(adx_recorder *r, size_t n, const ad_rev x[])
{
    adx_new_inputs(r->p, n);
    for (size_t i = 0; i < n; i++)
        adx_name_number(r, x[i].seq, (uint32_t)i);
}

// Makes the recording fail for this reason, unless it has failed already.
static void adx_refuse_recording(adx_recorder *r, ad_status status,
                                 const char *why)
{
    if (r->p->status == ADREV_OK)
        r->why = why;
    adx_spoil(r->p, status);
}

// Makes the results of f outputs; they may be inputs, constants, or foreign.
static void adx_record_outputs(adx_recorder *r, const ad_tape *t, size_t m,
                               const ad_rev y[])
{
    if (ad_tape_status(t) != ADREV_OK)
        adx_refuse_recording(r, ad_tape_status(t), ad_tape_reason(t));
    for (size_t i = 0; i < m; i++) {
        if (y[i].job != 0 && !adx_member(t, y[i]))
            adx_spoil(r->p, y[i].job == ADX_JOB_BEYOND ? ADREV_EBEYOND
                                                       : ADREV_EFOREIGN);
        adx_new_output(r->p, adx_number_of(r, y[i]));
    }
    if (!adx_is_closed_off(m, y))
        adx_spoil(r->p, ADREV_EBEYOND);
    if (!adx_all_set(m, y))
        adx_spoil(r->p, ADREV_ESHAPE);
}
