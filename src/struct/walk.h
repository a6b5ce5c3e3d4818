#pragma once

/* === struct/walk ============================================================
 * Every conversion is a walk through the fields of a struct and of its twin. A
 * shape lists the fields, and a task says what is done with each of them. If a
 * conversion has only one of the two structs, the other pointer is NULL. If
 * there may be pointers, a first walk only checks that both structs have the
 * same nodes.
 *
 *   needs   number/recording tape/layout tape/memory tape/walk sweep/queries
 *           sweep/session check/examine struct/api
 * ========================================================================== */

// Checks numbers whose adjoints are asked for: they must be values of this
// tape, or constants.
static void adx_check_reals(ad_visitor *v, size_t n, const ad_rev x[])
{
    ad_status status = adx_check_values(v->adx_tape, n, x, true, false);

    if (status == ADREV_EFOREIGN)
        v->status = status;
    v->adx_active |= status == ADREV_OK;
}

// Does what the task says with the next n numbers. They are numbers adx_count
// ... adx_count + n - 1 in the order of all. A walk that checks only counts
// them.
ADX_API void ad_visit_reals(ad_visitor *v, size_t n, ad_real *plain,
                            ad_rev *twin)
{
    size_t at = v->adx_count;

    if (n > ADX_MOST_ELEMENTS - at)
        v->status = ADREV_ESHAPE;
    if (v->status != ADREV_OK)
        return;
    v->adx_count += n;
    if (v->adx_check && v->adx_tape != NULL)
        adx_check_reals(v, n, twin);
    if (v->adx_check || n == 0)
        return;
    switch (v->adx_work) {
    case ADX_TASK_INPUTS:
        (ad_inputs)(n, plain, twin);
        break;
    case ADX_TASK_CONSTANTS:
        for (size_t i = 0; i < n; i++)
            twin[i] = adx_passive(plain[i]);
        break;
    case ADX_TASK_VALUES:
        for (size_t i = 0; i < n; i++)
            plain[i] = twin[i].v;
        break;
    case ADX_TASK_ADJOINTS:
        for (size_t i = 0; i < n; i++)
            plain[i] = twin[i].job == 0 ? 0
                     : *adx_derivative(v->adx_tape, v->adx_real, twin[i], 1);
        break;
    case ADX_TASK_GATHER:
        memcpy(v->adx_rev + at, twin, n * sizeof *twin);
        break;
    case ADX_TASK_SPREAD:
        memcpy(twin, v->adx_rev + at, n * sizeof *twin);
        break;
    case ADX_TASK_PACK:
        memcpy(v->adx_real + at, plain, n * sizeof *plain);
        break;
    case ADX_TASK_UNPACK:
        memcpy(plain, v->adx_real + at, n * sizeof *plain);
        break;
    case ADX_TASK_MAKE_REV: case ADX_TASK_MAKE_PLAIN: case ADX_TASK_COUNT:
        break;                  // numbers of nodes that are made are 0 already
    }
}

// Copies bytes that are not numbers.
ADX_API void ad_visit_other(ad_visitor *v, size_t bytes, void *plain,
                            void *twin)
{
    if (bytes > ADX_MOST_ELEMENTS)
        v->status = ADREV_ESHAPE;
    if (v->status != ADREV_OK)
        return;
    if (!v->adx_check && v->adx_work < ADX_TASK_COUNT && bytes > 0)
        memcpy(v->from_rev ? plain : twin, v->from_rev ? twin : plain, bytes);
}

// Whether a struct of this shape is compact: all of it lies in the struct
// itself, without pointers, and no visitor is written by hand.
static bool adx_compact(const ad_shape *s)
{
    bool compact = s->visit == NULL;

    for (size_t i = 0; compact && i < s->count; i++) {
        adx_field_kind kind = s->field[i].kind;
        compact = kind < ADX_RECORDS
               || (kind != ADX_POINTER && adx_compact(s->field[i].shape()));
    }
    return compact;
}

// All pointers to structs have the same representation, so one type stands for
// all.
typedef struct adx_any adx_any;

// Returns the node to which the pointer at p leads.
static char *adx_load_node(const char *p)
{
    adx_any *node = NULL;
    memcpy(&node, p, sizeof node);
    return (char *)node;
}

// Allocates a node, all zero, and makes the pointer at p lead to it.
static char *adx_make_node(ad_visitor *v, size_t bytes, char *p)
{
    adx_any *node = (adx_any *)v->make->alloc(bytes, v->make->user);

    if (node == NULL)
        v->status = ADREV_ENOMEM;
    else
        memset((void *)node, 0, bytes);
    memcpy(p, &node, sizeof node);
    return (char *)node;
}

// Follows a pointer on both sides. If the task says so, it makes the node on
// the side that is written. Otherwise both sides must have a node, or neither.
// False: there is no node, or the walk has failed.
static bool adx_follow_link(ad_visitor *v, const ad_shape *s, char **from,
                            char **to)
{
    char *node = adx_load_node(*from);
    char *other = node;

    if (*to != NULL && v->make == NULL)
        other = adx_load_node(*to);
    else if (*to != NULL && node != NULL)
        other = adx_make_node(v, v->from_rev ? s->plain : s->twin, *to);
    if ((node == NULL) != (other == NULL) && v->status == ADREV_OK)
        v->status = ADREV_ESHAPE;
    *from = node;
    *to = *to == NULL ? NULL : other;
    return node != NULL && v->status == ADREV_OK;
}

// Whether a union is in this case. If the case may have pointers, both tags
// must agree. Otherwise only the tag that is read matters: the one that will be
// written may be uninitialised.
static bool adx_is_case(ad_visitor *v, const adx_field *f, const char *from,
                        const char *to)
{
    bool same = memcmp(from, &f->tag, sizeof f->tag) == 0;

    if (same && to != NULL && !adx_compact(f->shape())
        && memcmp(to, &f->tag, sizeof f->tag) != 0)
        v->status = ADREV_ESHAPE;
    return same && v->status == ADREV_OK;
}

static char *adx_at_offset(char *base, size_t offset)
{
    return base == NULL ? NULL : base + offset;
}

static void adx_walk_shape(ad_visitor *v, const ad_shape *s, char *plain,
                           char *twin);

// Visits a field that has no pointer itself: numbers, bytes or records.
static void adx_visit_part(ad_visitor *v, const adx_field *f, char *plain,
                           char *twin)
{
    if (f->kind == ADX_REALS)
        ad_visit_reals(v, f->count, (ad_real *)(void *)plain,
                       (ad_rev *)(void *)twin);
    else if (f->kind == ADX_BYTES)
        ad_visit_other(v, f->count, plain, twin);
    else
        for (size_t i = 0; i < f->count; i++)
            adx_walk_shape(v, f->shape(),
                           adx_at_offset(plain, i * f->shape()->plain),
                           adx_at_offset(twin, i * f->shape()->twin));
}

// Visits the fields of one struct. A pointer that is the last field, or the
// case of a union, is not visited: its node is put in *plain and *twin, and its
// shape is returned, so that the caller follows a list in a loop. NULL: there
// is nothing more.
static const ad_shape *adx_visit_fields(ad_visitor *v, const ad_shape *s,
                                        char **plain, char **twin)
{
    for (size_t i = 0; i < s->count && v->status == ADREV_OK; i++) {
        const adx_field *f = &s->field[i];
        char *p = adx_at_offset(*plain, f->plain);
        char *r = adx_at_offset(*twin, f->twin);
        // A union has one case, so nothing follows it.
        bool last = i + 1 == s->count || f->kind == ADX_CASE;
        if (f->kind < ADX_POINTER)
            adx_visit_part(v, f, p, r);
        else if (f->kind == ADX_CASE
                 ? !adx_is_case(v, f, v->from_rev ? *twin : *plain,
                                v->from_rev ? *plain : *twin)
                 : !adx_follow_link(v, f->shape(), v->from_rev ? &r : &p,
                                    v->from_rev ? &p : &r))
            continue;
        else if (!last)
            adx_walk_shape(v, f->shape(), p, r);
        else {
            *plain = p;
            *twin = r;
            return f->shape();
        }
    }
    return NULL;
}

static void adx_walk_shape(ad_visitor *v, const ad_shape *s, char *plain,
                           char *twin)
{
    while (s != NULL && s->visit == NULL)
        s = adx_visit_fields(v, s, &plain, &twin);
    if (s != NULL)
        s->visit(v, plain, twin);
}

// Walks once through both structs. `from_rev` says in which direction numbers
// go: from the twin to the plain struct, or the other way.
static ad_status adx_visit(ad_visitor *v, adx_visit_task task, bool check,
                           const ad_shape *s, const void *from, void *to)
{
    char *source = (char *)from;
    char *target = (char *)to;

    v->adx_work = task;
    v->adx_check = check;
    v->adx_count = 0;
    v->from_rev = task != ADX_TASK_INPUTS && task != ADX_TASK_CONSTANTS
               && task != ADX_TASK_MAKE_REV && task != ADX_TASK_PACK
               && task != ADX_TASK_UNPACK;
    adx_walk_shape(v, s, v->from_rev ? target : source,
                   v->from_rev ? source : target);
    return v->status;
}

ADX_API ad_status adx_struct_convert(adx_visit_task task, const ad_shape *s,
                                     const ad_allocator *make,
                                     const void *from, void *to)
{
    ad_visitor v = { .make = make };
    bool makes = task == ADX_TASK_MAKE_REV || task == ADX_TASK_MAKE_PLAIN;
    ad_status status = ADREV_OK;

    if (from == NULL || to == NULL
        || (makes && (make == NULL || make->alloc == NULL)))
        return ADREV_ESHAPE;
    // What is made has no nodes yet that could fail to match.
    if (makes)
        memset(to, 0, task == ADX_TASK_MAKE_REV ? s->twin : s->plain);
    else if (!adx_compact(s))
        status = adx_visit(&v, task, true, s, from, to);
    return status == ADREV_OK ? adx_visit(&v, task, false, s, from, to)
                              : status;
}

ADX_API size_t adx_struct_count(const ad_shape *s, const void *twin)
{
    ad_visitor v = {0};

    if (twin != NULL)
        adx_visit(&v, ADX_TASK_COUNT, false, s, twin, NULL);
    return v.adx_count;
}

// Converts between one struct and an array of its numbers. A first walk checks
// the length.
static ad_status adx_visit_array(ad_visitor *v, adx_visit_task task,
                                 const ad_shape *s, const void *one, size_t n)
{
    if (one == NULL || (n > 0 && v->adx_real == NULL && v->adx_rev == NULL))
        return ADREV_ESHAPE;
    ad_status status = adx_visit(v, task, true, s, one, NULL);
    if (status != ADREV_OK)
        return status;
    return v->adx_count != n ? ADREV_ESHAPE
                             : adx_visit(v, task, false, s, one, NULL);
}

ADX_API ad_status adx_struct_gather(const ad_shape *s, const void *twin,
                                    size_t n, ad_rev x[])
{
    ad_visitor v = { .adx_rev = x };
    return adx_visit_array(&v, ADX_TASK_GATHER, s, twin, n);
}

ADX_API ad_status adx_struct_pack(const ad_shape *s, const void *plain,
                                  size_t n, ad_real x[])
{
    ad_visitor v = { .adx_real = x };
    return adx_visit_array(&v, ADX_TASK_PACK, s, plain, n);
}

ADX_API ad_status adx_struct_unpack(const ad_shape *s, size_t n,
                                    const ad_real x[], void *plain)
{
    ad_visitor v = { .adx_real = (ad_real *)x };
    return adx_visit_array(&v, ADX_TASK_UNPACK, s, plain, n);
}

// A first walk checks that all numbers are values of this tape or constants;
// after the sweep a second one reads the adjoints of the values.
ADX_API ad_status adx_struct_pullback(const ad_shape *s, ad_tape *t, size_t m,
                                      const ad_rev y[], const ad_real dy[],
                                      const void *twin, void *plain)
{
    ad_visitor v = { .adx_tape = t };
    ad_status status = ad_tape_status(t);

    if (status == ADREV_OK && (twin == NULL || plain == NULL))
        status = ADREV_ESHAPE;
    if (status == ADREV_OK)
        status = adx_visit(&v, ADX_TASK_ADJOINTS, true, s, twin, plain);
    if (status == ADREV_OK && v.adx_count > 0 && !v.adx_active)
        status = ADREV_EPASSIVE;
    if (status == ADREV_OK)
        status = adx_pullback(t, m, y, dy, 0, NULL, NULL);
    if (status != ADREV_OK)
        return status;
    v.adx_real = adx_adjoints(t, adx_live(t)->seq, 1);
    return adx_visit(&v, ADX_TASK_ADJOINTS, false, s, twin, plain);
}

ADX_API ad_status adx_struct_gradient(const ad_shape *s, ad_tape *t, ad_rev y,
                                      const void *twin, void *plain)
{
    static const ad_real one = 1;
    return adx_struct_pullback(s, t, 1, &y, &one, twin, plain);
}

// The function that ad_check is given: it spreads the numbers over a twin, and
// calls f of the twin.
static ad_rev adx_struct_at(const ad_rev *x, void *ctx)
{
    const adx_struct_fn *of = (const adx_struct_fn *)ctx;
    ad_visitor v = { .adx_rev = (ad_rev *)x };
    adx_visit(&v, ADX_TASK_SPREAD, false, of->shape, of->twin, NULL);
    return of->call(of, of->twin);
}

ADX_API ad_status adx_struct_check(adx_struct_fn *of, const void *plain,
                                   ad_check_report *report)
{
    adx_session s;
    if (report == NULL)
        return ADREV_ESHAPE;
    report->filled = false;
    ad_status status = of->f == NULL ? ADREV_ESHAPE
        : adx_struct_convert(ADX_TASK_CONSTANTS, of->shape, NULL, plain,
                             of->twin);
    if (status == ADREV_OK)
        status = adx_open_session(&s);
    if (status != ADREV_OK)
        return status;

    of->n = adx_struct_count(of->shape, of->twin);
    ad_real *x = adx_array_of_reals(&s, of->n);
    if (x != NULL)
        status = adx_struct_pack(of->shape, plain, of->n, x);
    if (x != NULL && status == ADREV_OK)
        status = ad_check(adx_struct_at, of, of->n, x, report);
    status = adx_close_session(&s, status);
    // The twin gets its constants back, and the nodes behind its pointers are
    // still there.
    ad_ignore(adx_struct_convert(ADX_TASK_CONSTANTS, of->shape, NULL, plain,
                                 of->twin));
    return status;
}
