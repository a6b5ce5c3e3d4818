// SPDX-License-Identifier: MIT-0
// tags: part
// flags: -O1
/* calls.c - any calls on tapes, in any order.
 *
 * Tapes that grow, of fixed memory and of an allocator that fails; values that
 * live, are constants, or are of recordings that are gone. Every number is an
 * integer, and so is every partial: a shadow of each value carries what its
 * derivatives must be, exactly, whatever is cut into statements how.         */

#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include "fuzz.h"

enum {
    TAPES = 3,
    POOL = 24,
    INPUTS = 6,                 // of a recording, whose derivatives are checked
    MARKS = 4,
    WIDE = 4,                   // numbers of a row
    TERMS = 64,
    CALLS = 400                 // of one input: more only take longer
};

// Sums and products below are exact.
#define EXACT 1e12

typedef struct value {
    ad_rev r;
    int home;                   // recording; 0: none that is still there
    int born;                   // how many values there were before
    bool exact;
    double v;
    double d[INPUTS];
    double size[INPUTS];        // sum of the absolute values of all paths
} value;

struct place {
    ad_mark mark;
    int tape;                   // -1: no mark yet
    int recording;
    int born;
    int inputs;
};

struct tape {
    ad_tape *t;
    void *memory;               // of a fixed one
    fuzz_heap heap;
    bool scarce;                // memory can run out in a sweep
    int recording;
    int inputs;
    value input[INPUTS];
};

static struct world {
    fuzz_input in;
    struct tape tape[TAPES];
    int used;                   // -1: none
    int recordings;
    int born;
    value pool[POOL];
    struct place place[MARKS];
    long made;                  // external statements
    long destroyed;
} w;

static struct tape *used(void)
{
    return w.used < 0 ? NULL : &w.tape[w.used];
}

static size_t below(size_t n) { return fuzz_below(&w.in, n); }

static bool constant(const value *x) { return x->r.job == 0; }

static bool lives(const value *x, const struct tape *t)
{
    return t != NULL && x->home != 0 && x->home == t->recording;
}

// Whether the tape that is used, if any, records.
static bool sound(void)
{
    return w.used < 0 || ad_tape_status(used()->t) == ADREV_OK;
}

/* --- shadows -------------------------------------------------------------- */

typedef struct term {
    const value *x;
    double partial;
} term;

typedef struct linear {
    double v;
    int n;
    term term[TERMS];
} linear;

static void add_term(linear *l, const value *x, double partial)
{
    if (l->n < TERMS)
        l->term[l->n++] = (term){ x, partial };
}

static value passive(double v)
{
    return (value){ .r = { .v = (ad_real)v }, .exact = true, .v = v };
}

static value shadow(const linear *l)
{
    value y = passive(l->v);
    for (int k = 0; k < l->n; k++) {
        const value *x = l->term[k].x;
        y.exact = y.exact && x->exact;
        for (int j = 0; j < INPUTS; j++) {
            y.d[j] += l->term[k].partial * x->d[j];
            y.size[j] += fabs(l->term[k].partial) * x->size[j];
        }
    }
    for (int j = 0; j < INPUTS; j++)
        y.exact = y.exact && y.size[j] < EXACT;
    y.exact = y.exact && fabs(y.v) < EXACT;
    return y;
}

// Whether r can be what was recorded of these operands, and what it is.
static value result(ad_rev r, const linear *l)
{
    value y = shadow(l);
    const struct tape *t = used();
    y.r = r;
    y.born = w.born++;
    if (!sound()) {
        y.exact = false;
        return y;
    }
    for (int k = 0; k < l->n; k++) {
        const value *x = l->term[k].x;
        FUZZ_MUST(constant(x) || lives(x, t) || t == NULL,
                  "a foreign operand was recorded");
    }
    FUZZ_MUST(!y.exact || (double)r.v == y.v, "value %g, want %g",
              (double)r.v, y.v);
    if (constant(&y))
        memset(y.d, 0, sizeof y.d), memset(y.size, 0, sizeof y.size);
    else
        y.home = t->recording;
    return y;
}

// The same of a statement with one result: that of constants is a constant.
static value only_result(ad_rev r, const linear *l)
{
    bool any = false;
    for (int k = 0; k < l->n; k++)
        any = any || !constant(l->term[k].x);
    FUZZ_MUST(any || r.job == 0, "a value of constants is recorded");
    return result(r, l);
}

static value *any_value(void) { return &w.pool[below(POOL)]; }

static void keep(value y) { *any_value() = y; }

/* --- tapes ---------------------------------------------------------------- */

static void forget(int recording, int born)
{
    for (int i = 0; i < POOL; i++)
        if (w.pool[i].home == recording && w.pool[i].born >= born)
            w.pool[i].home = 0;
}

static void begin_recording(struct tape *t)
{
    if (t->recording != 0)
        forget(t->recording, 0);
    t->recording = ++w.recordings;
    t->inputs = 0;
}

static void end_tape(int i)
{
    struct tape *t = &w.tape[i];
    if (t->recording != 0)
        forget(t->recording, 0);
    ad_tape_free(t->t);
    free(t->memory);
    FUZZ_MUST(t->heap.live == 0, "%zu blocks leaked", t->heap.live);
    memset(t, 0, sizeof *t);
    if (w.used == i)
        w.used = -1;
}

static void new_tape(int i)
{
    struct tape *t = &w.tape[i];
    size_t bytes = 0;
    end_tape(i);
    switch (below(3)) {
    case 0:
        t->t = ad_tape_new();
        break;
    case 1:
        bytes = 16 * below(256);
        bytes = fuzz_byte(&w.in) & 1 ? 16 * bytes : bytes;
        t->memory = fuzz_array(bytes, 1);
        t->t = ad_tape_in(t->memory, bytes);
        break;
    default:
        t->heap.left = 1 + below(8);
        t->scarce = true;
        t->t = ad_tape_new_with(
            &(ad_allocator){ fuzz_alloc, fuzz_free, &t->heap });
    }
    if (t->t != NULL)
        begin_recording(t);
}

static void use_tape(int i)
{
    ad_use(i < TAPES ? w.tape[i].t : NULL);
    w.used = i < TAPES && w.tape[i].t != NULL ? i : -1;
}

static void clear_tape(int i)
{
    ad_tape_clear(w.tape[i].t);
    if (w.tape[i].t != NULL)
        begin_recording(&w.tape[i]);
    FUZZ_MUST(w.tape[i].t == NULL || ad_tape_status(w.tape[i].t) == ADREV_OK,
              "a cleared tape has failed");
}

static void mark_tape(int i)
{
    struct tape *t = &w.tape[i];
    struct place *p = &w.place[below(MARKS)];
    if (t->t != NULL)
        *p = (struct place){ ad_tape_mark(t->t), i, t->recording, w.born,
                             t->inputs };
}

static void rewind_tape(int i)
{
    struct tape *t = &w.tape[i];
    const struct place *p = &w.place[below(MARKS)];
    if (p->tape < 0 || t->t == NULL)
        return;
    ad_status s = ad_tape_rewind(t->t, p->mark);
    FUZZ_MUST(s == ADREV_OK || s == ADREV_EMARK, "rewind: %s", ad_message(s));
    if (s != ADREV_OK)
        return;
    FUZZ_MUST(p->recording == t->recording, "a mark of another recording");
    forget(t->recording, p->born);
    t->inputs = p->inputs < t->inputs ? p->inputs : t->inputs;
    // What was marked in between is not on the recording any more, unless it
    // is the same place: then it is a place like this one.
    for (int k = 0; k < MARKS; k++)
        if (w.place[k].recording == t->recording
            && w.place[k].inputs > t->inputs)
            w.place[k].inputs = t->inputs;
}

/* --- statements ----------------------------------------------------------- */

static void one_input(void)
{
    struct tape *t = used();
    double v = fuzz_small(&w.in);
    value y = passive(v);
    y.r = ad_input((ad_real)v);
    y.born = w.born++;
    FUZZ_MUST(t != NULL || constant(&y), "an input without a tape");
    if (!sound())
        y.exact = false;
    else if (t != NULL) {
        y.home = t->recording;
        if (t->inputs < INPUTS) {
            y.d[t->inputs] = y.size[t->inputs] = 1;
            t->input[t->inputs++] = y;
        }
    }
    keep(y);
}

static void many_inputs(void)
{
    size_t n = below(WIDE + 1);
    ad_real v[WIDE];
    ad_rev *x = fuzz_array(n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        v[i] = (ad_real)fuzz_small(&w.in);
    ad_inputs(n, v, x);
    for (size_t i = 0; i < n; i++) {
        value y = passive((double)v[i]);
        y.r = x[i];
        y.born = w.born++;
        y.exact = sound();
        y.home = sound() && w.used >= 0 ? used()->recording : 0;
        keep(y);
    }
    free(x);
}

static void expression(void)
{
    const value *a = any_value();
    const value *b = any_value();
    const value *c = any_value();
    const double k = fuzz_small(&w.in);
    const double av = a->v, bv = b->v, cv = c->v;
    linear l = { .n = 0 };
    ad_rev r;
    switch (below(8)) {
    case 0:
        l.v = av + bv;
        add_term(&l, a, 1), add_term(&l, b, 1);
        r = ad_rec(ad_add(a->r, b->r));
        break;
    case 1:
        l.v = av * bv;
        add_term(&l, a, bv), add_term(&l, b, av);
        r = ad_rec(ad_mul(a->r, b->r));
        break;
    case 2:
        l.v = k * av - bv;
        add_term(&l, a, k), add_term(&l, b, -1);
        r = ad_rec(ad_sub(ad_mul(a->r, k), b->r));
        break;
    case 3:
        l.v = av * bv + cv;
        add_term(&l, a, bv), add_term(&l, b, av), add_term(&l, c, 1);
        r = ad_rec(ad_fma(a->r, b->r, c->r));
        break;
    case 4:
        l.v = av * av - bv * cv;
        add_term(&l, a, 2 * av), add_term(&l, b, -cv), add_term(&l, c, -bv);
        r = ad_rec(ad_sub(ad_sqr(a->r), ad_mul(b->r, c->r)));
        break;
    case 5:
        l.v = -av + k;
        add_term(&l, a, -1);
        r = ad_rec(ad_add(ad_neg(a->r), k));
        break;
    case 6:                     // the same number more than once
        l.v = (av + bv) * (av - cv);
        add_term(&l, a, av - cv), add_term(&l, b, av - cv);
        add_term(&l, a, av + bv), add_term(&l, c, -(av + bv));
        r = ad_rec(ad_mul(ad_add(a->r, b->r), ad_sub(a->r, c->r)));
        break;
    default:
        keep(passive(k));
        return;
    }
    keep(only_result(r, &l));
}

// A row of n numbers with this stride, in an array that ends where they do.
struct row {
    const value *x[WIDE];
    ptrdiff_t step;
    ad_rev *all;
    ad_rev *first;
};

static void make_row(struct row *row, size_t n)
{
    static const ptrdiff_t steps[] = { 1, 1, 2, -1, 0 };
    row->step = steps[below(5)];
    size_t stride = (size_t)(row->step < 0 ? -row->step : row->step);
    row->all = fuzz_array(n > 0 ? (n - 1) * stride + 1 : 0,
                          sizeof *row->all);
    row->first = row->step < 0 && n > 0 ? row->all + (n - 1) * stride
                                        : row->all;
    for (size_t i = 0; i < n; i++) {
        row->x[i] = row->step == 0 && i > 0 ? row->x[0] : any_value();
        row->first[(ptrdiff_t)i * row->step] = row->x[i]->r;
    }
}

static void fold(void)
{
    const size_t n = below(WIDE + 1);
    struct row x, y;
    ad_real c[WIDE] = { 0 };
    linear l = { .n = 0 };
    ad_rev r;
    make_row(&x, n);
    make_row(&y, n);
    size_t kind = below(4);
    for (size_t i = 0; i < n; i++) {
        double xv = x.x[i]->v;
        double yv = y.x[i]->v;
        c[i] = (ad_real)fuzz_small(&w.in);
        l.v += kind == 0 ? xv : kind == 1 ? xv * yv
             : kind == 2 ? xv * (double)c[i] : (xv - yv) * (xv - yv);
        add_term(&l, x.x[i], kind == 0 ? 1 : kind == 1 ? yv
                           : kind == 2 ? (double)c[i] : 2 * (xv - yv));
        if (kind == 1 || kind == 3)
            add_term(&l, y.x[i], kind == 1 ? xv : -2 * (xv - yv));
    }
    switch (kind) {
    case 0:  r = ad_sum_s(n, x.first, x.step); break;
    case 1:  r = ad_dot_s(n, x.first, x.step, y.first, y.step); break;
    case 2:  r = ad_dotc_s(n, x.first, x.step, c, 1); break;
    default: r = ad_sqdist_s(n, x.first, x.step, y.first, y.step);
    }
    keep(only_result(r, &l));
    free(x.all);
    free(y.all);
}

// y = a x + y, a x, or x op y.
static void rows(void)
{
    const size_t n = below(WIDE + 1);
    const value a = *any_value();
    struct row x;
    value to[WIDE];
    linear l[WIDE];
    ad_rev *y = fuzz_array(n, sizeof *y);
    make_row(&x, n);
    size_t kind = below(4);
    for (size_t i = 0; i < n; i++) {
        double xv = x.x[i]->v;
        to[i] = *any_value();
        y[i] = to[i].r;
        l[i] = (linear){ .v = kind == 0 ? a.v * xv + to[i].v
                            : kind == 1 ? a.v * xv
                            : kind == 2 ? xv * to[i].v : xv - to[i].v };
        add_term(&l[i], x.x[i], kind < 2 ? a.v : kind == 2 ? to[i].v : 1);
        if (kind < 2)
            add_term(&l[i], &a, xv);
        if (kind != 1)
            add_term(&l[i], &to[i], kind == 0 ? 1 : kind == 2 ? xv : -1);
    }
    if (kind == 0)
        ad_axpy_s(n, a.r, x.first, x.step, y, 1);
    else if (kind == 1)
        ad_scale_s(n, a.r, x.first, x.step, y, 1);
    else
        ad_each_s(kind == 2 ? ADREV_OP_mul : ADREV_OP_sub, n, x.first, x.step,
                  y, 1, NULL, 0, y, 1);
    for (size_t i = 0; i < n; i++)
        to[i] = result(y[i], &l[i]);
    for (size_t i = 0; i < n; i++)
        keep(to[i]);
    free(x.all);
    free(y);
}

static void product(void)
{
    const size_t m = 1 + below(2), k = 1 + below(WIDE), n = 1 + below(2);
    const bool turned = below(2) != 0;      // A is stored column by column
    const ptrdiff_t ars = turned ? 1 : (ptrdiff_t)k;
    const ptrdiff_t acs = turned ? (ptrdiff_t)m : 1;
    const value *a[2 * WIDE], *b[2 * WIDE];
    ad_rev *A = fuzz_array(m * k, sizeof *A);
    ad_rev *B = fuzz_array(k * n, sizeof *B);
    ad_rev *C = fuzz_array(m * n, sizeof *C);
    value y[4];
    for (size_t i = 0; i < m * k; i++)
        A[i] = (a[i] = any_value())->r;
    for (size_t i = 0; i < k * n; i++)
        B[i] = (b[i] = any_value())->r;
    ad_matmul_s(m, k, n, A, ars, acs, B, (ptrdiff_t)n, 1, C, (ptrdiff_t)n, 1);
    for (size_t i = 0; i < m * n; i++) {
        linear l = { .n = 0 };
        for (size_t j = 0; j < k; j++) {
            const value *p = a[i / n * (size_t)ars + j * (size_t)acs];
            const value *q = b[j * n + i % n];
            l.v += p->v * q->v;
            add_term(&l, p, q->v), add_term(&l, q, p->v);
        }
        y[i] = result(C[i], &l);
    }
    for (size_t i = 0; i < m * n; i++)
        keep(y[i]);
    free(A), free(B), free(C);
}

/* --- external statements: y = A x, with A saved --------------------------- */

struct saved {
    double A[2 * WIDE];
};

static bool pull(const void *saved, size_t m, const ad_real dy[], size_t n,
                 ad_real dx[])
{
    const struct saved *s = saved;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            dx[j] += dy[i] * (ad_real)s->A[i * n + j];
    return true;
}

static bool push(const void *saved, size_t n, const ad_real dx[], size_t m,
                 ad_real dy[])
{
    const struct saved *s = saved;
    for (size_t i = 0; i < m; i++) {
        dy[i] = 0;
        for (size_t j = 0; j < n; j++)
            dy[i] += (ad_real)s->A[i * n + j] * dx[j];
    }
    return true;
}

static void destroy(const void *saved)
{
    w.destroyed += saved != NULL;
}

static void external(void)
{
    static const ad_external_rule rule = { .name = "A x", .pullback = pull,
                                           .pushforward = push,
                                           .destroy = destroy };
    const size_t m = below(3), n = below(WIDE + 1);
    struct saved s;
    struct row x;
    linear l[2] = { { .n = 0 }, { .n = 0 } };
    ad_real v[2] = { 0 };
    ad_rev in[WIDE], y[2];
    value out[2];
    make_row(&x, n);
    for (size_t j = 0; j < n; j++)
        in[j] = x.x[j]->r;
    for (size_t i = 0; i < m * n; i++) {
        s.A[i] = fuzz_small(&w.in);
        l[i / n].v += s.A[i] * x.x[i % n]->v;
        add_term(&l[i / n], x.x[i % n], s.A[i]);
    }
    for (size_t i = 0; i < m; i++)
        v[i] = (ad_real)l[i].v;
    w.made++;
    ad_status r = ad_external(&rule, &s, sizeof s, n, in, m, v, y);
    FUZZ_MUST((r == ADREV_OK) == sound() || w.used < 0, "external: %s",
              ad_message(r));
    for (size_t i = 0; i < m && r == ADREV_OK; i++)
        out[i] = result(y[i], &l[i]);
    for (size_t i = 0; i < m && r == ADREV_OK; i++)
        keep(out[i]);
    free(x.all);
}

/* --- queries -------------------------------------------------------------- */

// What a query of y by all tracked inputs must answer.
static void check_status(const struct tape *t, size_t m, const value *const y[],
                         ad_status s)
{
    bool foreign = false;
    bool active = false;
    for (size_t i = 0; i < m; i++) {
        foreign = foreign || (!constant(y[i]) && !lives(y[i], t));
        active = active || lives(y[i], t);
    }
    if (t->t == NULL)
        FUZZ_MUST(s == ADREV_ENOTAPE, "no tape: %s", ad_message(s));
    else if (ad_tape_status(t->t) != ADREV_OK)
        FUZZ_MUST(s == ad_tape_status(t->t), "failed: %s", ad_message(s));
    else if (foreign)
        FUZZ_MUST(s == ADREV_EFOREIGN || (s == ADREV_ENOMEM && t->scarce),
                  "foreign: %s", ad_message(s));
    else if (!active)
        FUZZ_MUST(s == ADREV_EPASSIVE || (s == ADREV_ENOMEM && t->scarce),
                  "passive: %s", ad_message(s));
    else
        FUZZ_MUST(s == ADREV_OK || (s == ADREV_ENOMEM && t->scarce),
                  "query: %s", ad_message(s));
}

static void check_number(const char *how, ad_real got, double want)
{
    FUZZ_MUST((double)got == want, "%s: %g, want %g", how, (double)got, want);
}

static void query(const struct tape *t)
{
    const size_t n = (size_t)t->inputs;
    const size_t m = 1 + below(3);
    const value *y[3];
    ad_rev x[INPUTS], out[3];
    ad_real a[INPUTS], b[3], J[3 * INPUTS];
    if (n == 0)
        return;
    bool exact = true;
    for (size_t i = 0; i < m; i++) {
        y[i] = any_value();
        out[i] = y[i]->r;
        b[i] = (ad_real)fuzz_small(&w.in);
        exact = exact && y[i]->exact;
    }
    for (size_t j = 0; j < n; j++) {
        x[j] = t->input[j].r;
        a[j] = (ad_real)fuzz_small(&w.in);
    }
    size_t kind = below(5);
    size_t of = kind == 0 || kind == 4 ? 1 : m;
    ad_explanation sum;
    ad_term uses[3];
    ad_status s = kind == 0 ? ad_gradient(t->t, out[0], n, x, J)
                : kind == 1 ? ad_pullback(t->t, m, out, b, n, x, J)
                : kind == 2 ? ad_pushforward(t->t, n, x, a, m, out, J)
                : kind == 3 ? ad_jacobian(t->t, m, out, n, x, J)
                : ad_explain(t->t, out[0], x[0], below(4), uses, &sum);
    check_status(t, of, y, s);
    if (s != ADREV_OK || !exact)
        return;
    if (kind == 4)
        check_number("explain", sum.derivative, y[0]->d[0]);
    for (size_t j = 0; j < n && kind == 0; j++)
        check_number("gradient", J[j], y[0]->d[j]);
    for (size_t i = 0; i < m * n && kind == 3; i++)
        check_number("jacobian", J[i], y[i / n]->d[i % n]);
    for (size_t j = 0; j < n && kind == 1; j++) {
        double want = 0;
        for (size_t i = 0; i < m; i++)
            want += (double)b[i] * y[i]->d[j];
        check_number("pullback", J[j], want);
    }
    for (size_t i = 0; i < m && kind == 2; i++) {
        double want = 0;
        for (size_t j = 0; j < n; j++)
            want += y[i]->d[j] * (double)a[j];
        check_number("pushforward", J[i], want);
    }
}

// Any values as x: forward equals reverse where both are exact.
static void query_any(const struct tape *t)
{
    const size_t n = below(WIDE + 1);
    ad_rev y = any_value()->r;
    ad_rev x[WIDE];
    ad_real g[WIDE], dx[WIDE], dy = 0;
    double back = 0;
    for (size_t j = 0; j < n; j++) {
        x[j] = any_value()->r;
        dx[j] = (ad_real)fuzz_small(&w.in);
        for (size_t k = 0; k < j; k++)      // twice the same is another question
            if (x[k].seq == x[j].seq && x[k].job == x[j].job)
                return;
    }
    ad_status r = ad_gradient(t->t, y, n, x, g);
    ad_status f = ad_pushforward(t->t, n, x, dx, 1, &y, &dy);
    FUZZ_MUST(r == f || t->scarce, "reverse %s, forward %s", ad_message(r),
              ad_message(f));
    if (n == 1 && r == ADREV_OK && f == ADREV_OK && fabs((double)g[0]) < EXACT) {
        back = (double)g[0] * (double)dx[0];
        FUZZ_MUST(fabs((double)dy) >= EXACT || (double)dy == back,
                  "reverse %g, forward %g", back, (double)dy);
    }
}

// A gradient within the recording: x0 x1 + c x0, where c comes from outside.
static ad_rev within(const ad_rev *x, void *ctx)
{
    const value *c = ctx;
    return ad_rec(ad_fma(x[0], x[1], ad_mul(c->r, x[0])));
}

static void gradient_within(void)
{
    value c = *any_value();
    const ad_real x[] = { (ad_real)fuzz_small(&w.in),
                          (ad_real)fuzz_small(&w.in) };
    ad_real y, g[2];
    ad_status before = w.used < 0 ? ADREV_OK : ad_tape_status(used()->t);
    ad_status s = ad_grad(within, &c, 2, x, &y, g);
    FUZZ_MUST(w.used < 0 || ad_tape_status(used()->t) == before,
              "ad_grad left its tape with: %s",
              ad_message(ad_tape_status(used()->t)));
    bool foreign = !constant(&c) && !lives(&c, used());
    FUZZ_MUST(s != ADREV_OK || w.used < 0 || !foreign, "a foreign operand");
    if (s != ADREV_OK || !c.exact)
        return;
    check_number("ad_grad", g[0], (double)x[1] + c.v);
    check_number("ad_grad", g[1], (double)x[0]);
}

static void count_bytes(const char *text, size_t length, void *user)
{
    (void)text;
    *(size_t *)user += length;
}

static void look(const struct tape *t)
{
    ad_region region[3];
    const char *file;
    int line;
    size_t text = 0, dot = 0, room = below(256);
    ad_dump_text(t->t, count_bytes, &text);
    ad_dump_dot(t->t, count_bytes, &dot);
    char *string = room > 0 ? fuzz_array(room, 1) : NULL;
    FUZZ_MUST(ad_dump_string(t->t, room, string) == text, "other lengths");
    free(string);
    FUZZ_MUST(ad_tape_regions(t->t, below(4), region) <= 3, "regions");
    ad_tape_where(t->t, any_value()->r, &file, &line);
    ad_tape_failure(t->t, &file, &line);
    FUZZ_MUST(ad_tape_reason(t->t) != NULL, "no reason");
    ad_stats s = ad_tape_stats(t->t);
    FUZZ_MUST(s.bytes <= s.bytes_most, "%zu bytes, at most %zu", s.bytes,
              s.bytes_most);
    FUZZ_MUST(t->t == NULL || ad_tape_bytes(t->t) == s.bytes, "bytes");
}

static void look_for_nonfinite(const struct tape *t)
{
    const value *y = any_value();
    ad_nonfinite found;
    ad_status s = ad_find_nonfinite(t->t, y->r, &found);
    FUZZ_MUST(s != ADREV_OK || !y->exact || found.adjoint.result.job == 0
                  || !isfinite((double)found.adjoint.adjoint),
              "a finite adjoint is called one that is not");
}

static void reserve(const struct tape *t)
{
    ad_status s = ad_tape_reserve(t->t, below(256), below(256));
    FUZZ_MUST(t->t == NULL || s == ADREV_OK || s == ADREV_ENOMEM
                  || s == ADREV_EFULL || s == ad_tape_status(t->t),
              "reserve: %s", ad_message(s));
}

static void name_region(void)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    const char *name = names[below(4)];
    if (below(2))
        ad_region_begin(name);
    else
        ad_region_end(name);
}

static void step(void)
{
    int i = (int)below(TAPES);
    switch (below(26)) {
    case 0:  new_tape(i); break;
    case 1:  use_tape((int)below(TAPES + 1)); break;
    case 2:  clear_tape(i); break;
    case 3:  mark_tape(i); break;
    case 4:  rewind_tape(i); break;
    case 5:  end_tape(i); break;
    case 6: case 7: one_input(); break;
    case 8:  many_inputs(); break;
    case 9: case 10: case 11: expression(); break;
    case 12: fold(); break;
    case 13: rows(); break;
    case 14: product(); break;
    case 15: external(); break;
    case 16: case 17: case 18: query(&w.tape[i]); break;
    case 19: query_any(&w.tape[i]); break;
    case 20: gradient_within(); break;
    case 21: look(&w.tape[i]); break;
    case 22: look_for_nonfinite(&w.tape[i]); break;
    case 23: reserve(&w.tape[i]); break;
    case 24: name_region(); break;
    default: ad_tape_stop_nonfinite(w.tape[i].t, below(2) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memset(&w, 0, sizeof w);
    w.in = (fuzz_input){ data, size };
    w.used = -1;
    for (int i = 0; i < POOL; i++)
        w.pool[i] = passive(i % 4);
    for (int i = 0; i < MARKS; i++)
        w.place[i].tape = -1;
    for (int i = 0; i < TAPES; i++)     // most inputs are of recordings
        new_tape(i);
    use_tape((int)below(TAPES));
    for (int calls = 0; calls < CALLS && fuzz_more(&w.in); calls++)
        step();
    for (int i = 0; i < TAPES; i++)
        end_tape(i);
    FUZZ_MUST(w.made == w.destroyed, "%ld external statements, %ld destroyed",
              w.made, w.destroyed);
    return 0;
}
