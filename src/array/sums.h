#pragma once

/* === array/sums =============================================================
 * Sums, operations element by element, and softmax. Each statement computes its
 * value, records spans of operands with their partials (array/linear), tells
 * the hook, and only then writes its results, which may lie where the operands
 * are.
 *
 *   needs   number/recording number/fronts tape/layout array/operands
 *           array/linear
 *   offers  adx_scalar_product adx_length adx_largest adx_any_each_op
 *           adx_softmax adx_softmax_rule
 * ========================================================================== */

/* --- sums ---------------------------------------------------------------- */

ADX_API ad_rev (ad_sum_s)(size_t n, const ad_rev *x, ptrdiff_t incx)
{
    if (adx_missing_s(n, x, incx))
        return adx_no_result();
    const adx_addend addend = { .x = adx_vector(n, x, incx), .scale = 1 };
    ad_real v = 0;
    for (size_t i = 0; i < n; i++)
        v += adx_element(&addend.x, 0, i);
    return adx_sum_of(v, n, &addend);
}

static ad_real adx_scalar_product(const adx_view *a, const adx_view *b)
{
    return adx_products(a->cols, a->v, a->cs * a->unit, b->v,
                        b->cs * b->unit);
}

ADX_API ad_rev (ad_dotc_s)(size_t n, const ad_rev *x, ptrdiff_t incx,
                           const ad_real *c, ptrdiff_t incc)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, c, incc))
        return adx_no_result();
    const adx_view factors = adx_constants(n, c, incc);
    const adx_addend addend = { .x = adx_vector(n, x, incx), .d = &factors,
                                .scale = 1 };
    return adx_sum_of(adx_scalar_product(&addend.x, &factors), n, &addend);
}

// Euclidean length. Dividing by the largest entry keeps the squares from
// overflowing and underflowing.
static ad_real adx_length(const adx_view *x)
{
    ad_real most = 0;
    ad_real sum = 0;
    for (size_t i = 0; i < x->cols; i++) {
        ad_real size = adm_fabs(adx_element(x, 0, i));
        most = size > most || size != size ? size : most;
    }
    if (most == 0 || most * 0 != 0)
        return most;
    for (size_t i = 0; i < x->cols; i++) {
        ad_real ratio = adx_element(x, 0, i) / most;
        sum += ratio * ratio;
    }
    return most * adm_sqrt(sum);
}

// v = |x| has the partials x/v, and 0 at the origin, the subgradient of least
// norm. They are written here (`own`), when the statement has been added.
ADX_API ad_rev (ad_norm2_s)(size_t n, const ad_rev *x, ptrdiff_t incx)
{
    if (adx_missing_s(n, x, incx))
        return adx_no_result();
    const adx_addend addend = { .x = adx_vector(n, x, incx), .scale = 1,
                                .own = true };
    ad_real v = adx_length(&addend.x);
    adx_linear *s = adx_add_linear(n, false, 1, &addend);
    ad_rev y;

    adx_tell_array(ADREV_ARRAY_norm2, ADREV_OP_COUNT,
                   ADX_BASE(s), &addend.x, NULL, NULL);
    ADX_TALLY(forward, add, s == NULL ? 0 : n - 1);
    ADX_TALLY(forward, mul, s == NULL ? 0 : 3 * n + 1);
    ADX_TALLY(forward, fn, s == NULL ? 0 : 1);
    for (size_t i = 0; s != NULL && i < n; i++)
        s->span[0].d[i] = v == 0 ? 0 : adx_element(&addend.x, 0, i) / v;
    if (s != NULL)
        adx_seal_linear(s);
    adx_set_result(&y, v, ADX_BASE(s), 0);
    return y;
}

// v = |x - y|^2: the partials are 2 (x - y), with the opposite sign for y.
ADX_API ad_rev (ad_sqdist_s)(size_t n, const ad_rev *x, ptrdiff_t incx,
                             const ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, y, incy))
        return adx_no_result();
    const adx_addend addend[2] = {
        { .x = adx_vector(n, x, incx), .scale = 1, .own = true },
        { .x = adx_vector(n, y, incy), .scale = 1, .own = true },
    };
    adx_linear *s = adx_add_linear(n, false, 2, addend);
    ad_real v = 0;
    ad_rev z;

    adx_tell_array(ADREV_ARRAY_sqdist, ADREV_OP_COUNT,
                   ADX_BASE(s), &addend[0].x, &addend[1].x, NULL);
    ADX_TALLY(forward, add, s == NULL ? 0 : 2 * n - 1);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n);
    for (size_t i = 0; i < n; i++) {
        ad_real d = adx_element(&addend[0].x, 0, i)
                  - adx_element(&addend[1].x, 0, i);
        v += d * d;
        for (size_t k = 0; s != NULL && k < 2; k++)
            if (s->span[k].d != NULL)
                s->span[k].d[i] = k == 0 ? 2 * d : -2 * d;
    }
    if (s != NULL)
        adx_seal_linear(s);
    adx_set_result(&z, v, ADX_BASE(s), 0);
    return z;
}

// The largest entry, or NaN if there is one.
static ad_real adx_largest(const adx_view *x)
{
    ad_real most = -ADX_K(INFINITY);
    for (size_t i = 0; i < x->cols; i++) {
        ad_real v = adx_element(x, 0, i);
        most = v > most || v != v ? v : most;
    }
    return most;
}

// The largest number is taken out of all exponents, so the weights exp(x -
// most) do not overflow. Divided by their sum they are the partials.
ADX_API ad_rev (ad_logsumexp_s)(size_t n, const ad_rev *x, ptrdiff_t incx)
{
    if (adx_missing_s(n, x, incx))
        return adx_no_result();
    const adx_addend addend = { .x = adx_vector(n, x, incx), .scale = 1,
                                .own = true };
    ad_real most = adx_largest(&addend.x);
    adx_linear *s = adx_add_linear(n, false, 1, &addend);
    ad_real sum = 0;
    ad_rev y;

    adx_tell_array(ADREV_ARRAY_logsumexp, ADREV_OP_COUNT,
                   ADX_BASE(s), &addend.x, NULL, NULL);
    ADX_TALLY(forward, add, s == NULL ? 0 : 2 * n);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n);
    ADX_TALLY(forward, fn, s == NULL ? 0 : n + 1);
    for (size_t i = 0; i < n; i++) {
        ad_real weight = adx_weight(adx_element(&addend.x, 0, i), most);
        sum += weight;
        if (s != NULL)
            s->span[0].d[i] = weight;
    }
    for (size_t i = 0; s != NULL && i < n; i++)
        s->span[0].d[i] /= sum;
    if (s != NULL)
        adx_seal_linear(s);
    adx_set_result(&y, n == 0 ? most : most + adm_log(sum), ADX_BASE(s), 0);
    return y;
}

/* --- element by element -------------------------------------------------- */

// y[i] + a x[i] as a linear statement of three spans: n times the number a,
// with the partials x; x, with the partial a; and y.
ADX_API void (ad_axpy_s)(size_t n, ad_rev a, const ad_rev *x, ptrdiff_t incx,
                         ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, y, incy))
        return;
    const adx_view factor = adx_vector(n, &a, 0);
    const adx_view from = adx_vector(n, x, incx);
    const adx_view partials = from;     // nobody has its address: faster
    const adx_addend addend[3] = {
        { .x = factor, .d = &partials, .scale = 1 },
        { .x = from, .scale = a.v },
        { .x = adx_vector(n, y, incy), .scale = 1 },
    };
    adx_linear *s = adx_add_linear(n, true, 3, addend);

    adx_tell_array(ADREV_ARRAY_axpy, ADREV_OP_COUNT,
                   ADX_BASE(s), &factor, &from, &addend[2].x);
    ADX_TALLY(forward, add, s == NULL ? 0 : n);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n);
    for (size_t i = 0; i < n; i++) {
        ad_rev *to = &y[(ptrdiff_t)i * incy];
        adx_set_result(to, a.v * adx_element(&from, 0, i) + to->v, ADX_BASE(s),
                       i);
    }
}

ADX_API void (ad_scale_s)(size_t n, ad_rev a, const ad_rev *x,
                          ptrdiff_t incx, ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, y, incy))
        return;
    const adx_view from = adx_vector(n, x, incx);
    const adx_addend addend[2] = {
        { .x = adx_vector(n, &a, 0), .d = &from, .scale = 1 },
        { .x = from, .scale = a.v },
    };
    adx_linear *s = adx_add_linear(n, true, 2, addend);

    adx_tell_array(ADREV_ARRAY_scale, ADREV_OP_COUNT,
                   ADX_BASE(s), &addend[0].x, &from, NULL);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n);
    for (size_t i = 0; i < n; i++)
        adx_set_result(&y[(ptrdiff_t)i * incy], a.v * adx_element(&from, 0, i),
                       ADX_BASE(s), i);
}

#if ADREV_FIXED
#define ADX_LOOP_IF(to, f)                                                  \
    if ((to) != NULL)                                                       \
        *(to)++ = f(a, b, c, y);
#define ADX_LOOPS_1(name) ADX_LOOP_IF(da, adx_fx_##name)
#define ADX_LOOPS_2(name) ADX_LOOPS_1(name) ADX_LOOP_IF(db, adx_fy_##name)
#define ADX_LOOPS_3(name) ADX_LOOPS_2(name) ADX_LOOP_IF(dc, adx_fz_##name)
// Of a linear operation the partials are the same for all elements: one of each
// is written.
#define ADX_ROW(name, arity, f, fx, fy, fz, x0, x1, y0, y1, z0, z1, how)    \
    ADX_API void adx_loops_##name(ADX_LOOPED)                               \
    {                                                                       \
        const bool linear = ((how) & ADX_LINEAR) != 0;                      \
        const ad_rev *xa = x[0];                                            \
        const ad_rev *xb = x[1];                                            \
        const ad_rev *xc = x[2];                                            \
        ad_real *da = d[0];                                                 \
        ad_real *db = d[1];                                                 \
        ad_real *dc = d[2];                                                 \
        (void)db; (void)dc;                                                 \
        do {                                                                \
            const ad_real a = xa->v;                                        \
            const ad_real b = xb->v;                                        \
            const ad_real c = xc->v;                                        \
            const ad_real y = adx_f_##name(a, b, c);                        \
            if (!linear || n == 1) {                                        \
                ADX_LOOPS_##arity(name)                                     \
            }                                                               \
            v->v = y;                                                       \
            xa++, xb++, xc++, v++;                                          \
        } while (--n > 0);                                                  \
    }
#define ADX_STEP(name, ...)                                                 \
    ADX_API void adx_loops_##name(ADX_LOOPED)                               \
    {                                                                       \
        (void)d;                                                            \
        for (size_t i = 0; i < n; i++)                                      \
            v[i].v = adx_f_##name(x[0][i].v);                               \
    }
#else
#define ADX_LOOP(to, value)                                                 \
    for (size_t i = 0; i < n; i++)                                          \
        (to)[i] = value
#define ADX_LOOP_IF(to, f)                                                  \
    if ((to) != NULL)                                                       \
        ADX_LOOP(to, f(a[i], b[i], c[i], v[i]))
#define ADX_LOOPS_1(name) ADX_LOOP_IF(d[0], adx_fx_##name)
#define ADX_LOOPS_2(name) ADX_LOOPS_1(name); ADX_LOOP_IF(d[1], adx_fy_##name)
#define ADX_LOOPS_3(name) ADX_LOOPS_2(name); ADX_LOOP_IF(d[2], adx_fz_##name)
#define ADX_ROW(name, arity, ...)                                           \
    ADX_API void adx_loops_##name(ADX_LOOPED)                               \
    {                                                                       \
        const ad_real *a = x[0];                                            \
        const ad_real *b = x[1];                                            \
        const ad_real *c = x[2];                                            \
        ADX_LOOP(v, adx_f_##name(a[i], b[i], c[i]));                        \
        ADX_LOOPS_##arity(name);                                            \
    }
#define ADX_STEP(name, ...)                                                 \
    ADX_API void adx_loops_##name(ADX_LOOPED)                               \
    {                                                                       \
        (void)d;                                                            \
        ADX_LOOP(v, adx_f_##name(x[0][i]));                                 \
    }
#endif
ADREV_OPS(ADX_ROW)
ADREV_STEPS(ADX_STEP)
#undef ADX_ROW
#undef ADX_STEP
#undef ADX_LOOP
#undef ADX_LOOP_IF
#undef ADX_LOOPS_1
#undef ADX_LOOPS_2
#undef ADX_LOOPS_3

// The row of a code that is known only now.
ADX_APART adx_each_op adx_any_each_op(ad_opcode op)
{
    return adx_each_op_of(op);
}

#if !ADREV_FIXED
// The value of an operation at a single element.
static ad_real adx_value_of(adx_each_op row, ad_real x, ad_real y, ad_real z)
{
    const ad_real *const at[3] = { &x, &y, &z };
    ad_real *const none[3] = { NULL, NULL, NULL };
    ad_real v;
    row.loops(1, at, &v, none);
    return v;
}
#endif

#if ADREV_FIXED
// The partials of a linear operation are the scales of its spans.
ADX_APART void adx_set_scales(adx_each_op row, adx_linear *s)
{
    const ad_rev zero = ADX_ZERO;
    const ad_rev *const at[3] = { &zero, &zero, &zero };
    ad_real *const d[3] = { &s->span[0].scale, &s->span[1].scale,
                            &s->span[2].scale };
    ad_rev v;
    row.loops(1, at, &v, d);
}

// Computes elements one by one where an array has a stride, and where each is
// to be looked at.
ADX_APART void adx_each_apart(adx_each_op row, size_t n, const ad_rev *x[3],
                              const ptrdiff_t inc[3], ad_real *d[3],
                              const adx_extended *e, ad_rev *y, ptrdiff_t incy)
{
    for (size_t i = 0; i < n; i++, y += incy) {
        row.loops(1, x, y, d);
        for (size_t k = 0; k < row.arity; k++) {
            x[k] += inc[k];
            d[k] = d[k] == NULL ? NULL : d[k] + 1;
        }
#if ADREV_COUNT
        adx_count_op(row.op, e == NULL ? 0 : (unsigned)row.arity);
#endif
        adx_set_result(y, y->v, e, i);
    }
}

// The operation becomes one linear statement with n results and a span for each
// operand. Sums and differences have a scale instead of partials.
ADX_API void adx_each_s(adx_each_op row, size_t n, const ad_rev *a,
                        ptrdiff_t inca, const ad_rev *b, ptrdiff_t incb,
                        const ad_rev *c, ptrdiff_t incc, ad_rev *y,
                        ptrdiff_t incy)
{
    const bool two = row.arity > 1;
    const bool three = row.arity > 2;
    if (row.loops == NULL) {
        adx_failed(ADREV_ESHAPE);
        return;
    }
    if (adx_missing_s(n, a, inca) || (two && adx_missing_s(n, b, incb))
        || (three && adx_missing_s(n, c, incc)) || adx_missing_s(n, y, incy)
        || n == 0)
        return;
    uint64_t spacing[3];
    adx_linear *s = NULL;
    if (!row.step && adx_recording()) {
        spacing[0] = adx_spacing(n, a, inca);
        if (two)
            spacing[1] = adx_spacing(n, b, incb);
        if (three)
            spacing[2] = adx_spacing(n, c, incc);
        s = adx_lay_linear(n, true, row.arity, spacing, row.linear ? 0 : 7);
    }
    const ad_rev *x[3] = { a, two ? b : a, three ? c : a };
    ad_real *d[3] = { NULL, NULL, NULL };
    if (s != NULL) {
        if (row.linear)
            adx_set_scales(row, s);
        d[0] = adx_fill_span(n, a, inca, &s->span[0]);
        if (two)
            d[1] = adx_fill_span(n, b, incb, &s->span[1]);
        if (three)
            d[2] = adx_fill_span(n, c, incc, &s->span[2]);
    }
    if (ADREV_COUNT || ADREV_DEBUG || incy != 1 || inca != 1
        || (two && incb != 1) || (three && incc != 1)) {
        const ptrdiff_t more = n > 1;       // a single number has no stride
        const ptrdiff_t inc[3] = { more * inca, more * incb, more * incc };
        adx_each_apart(row, n, x, inc, d, ADX_BASE(s), y, more * incy);
        return;
    }
    row.loops(n, x, y, d);
    adx_name_written(ADX_BASE(s), n, y);
}
#else
// The partial with respect to operand k where it is the same for all elements,
// so that none is stored; 0: it is not.
static ad_real adx_uniform(adx_each_op row, size_t k)
{
    const adx_each_number zero = {0};
    const adx_each_number *const at[3] = { &zero, &zero, &zero };
    adx_each_number v;
    ad_real uniform = 0;
    ad_real *d[3] = { NULL, NULL, NULL };
    d[k] = &uniform;
    if (row.linear)
        row.loops(1, at, &v, d);
    return uniform;
}

#define ADX_TOGETHER 64         // elements that are worked on at a time

// Elements from .. from + n. The operands are packed into small arrays that
// stay in the cache, so that one loop per formula serves every stride. The
// partials are written where the statement stores them.
static void adx_each_piece(adx_each_op row, size_t from, size_t n,
                           const adx_addend addend[], adx_linear *s, ad_rev y[],
                           ptrdiff_t incy)
{
    ad_real given[3][ADX_TOGETHER];
    ad_real v[ADX_TOGETHER];
    const ad_real *const x[3] = { given[0], given[row.arity > 1 ? 1 : 0],
                                  given[row.arity > 2 ? 2 : 0] };
    ad_real *d[3] = { NULL, NULL, NULL };

    for (size_t k = 0; k < 3 && k < row.arity; k++) {
        adx_view piece = addend[k].x;
        piece.v += (ptrdiff_t)from * piece.cs * piece.unit;
        piece.cols = n;
        adx_pack_one(&piece, 0, given[k]);
        if (s != NULL && s->span[k].d != NULL)
            d[k] = s->span[k].d + from;
    }
    row.loops(n, x, v, d);
#if ADREV_COUNT
    for (size_t i = 0; i < n; i++)
        adx_count_op(row.op, s == NULL ? 0 : (unsigned)row.arity);
#endif
    adx_put_results(ADX_BASE(s), from, n, v,
                    &y[(ptrdiff_t)from * incy], incy);
}

static void adx_record_each(adx_each_op row, size_t n,
                            const adx_addend addend[], adx_linear *s,
                            ad_rev y[], ptrdiff_t incy)
{
    for (size_t from = 0; from < n; from += ADX_TOGETHER)
        adx_each_piece(row, from,
                       n - from < ADX_TOGETHER ? n - from : ADX_TOGETHER,
                       addend, s, y, incy);
    if (s != NULL)
        adx_seal_linear(s);
}

// The results of a step function are constants and make no statement. The trace
// hook is told of each of them as of a single operation.
static void adx_watch_steps(adx_each_op row, const adx_view *a)
{
    for (size_t i = 0; i < a->cols; i++) {
        ad_rev x = a->x[adx_offset(a, 0, i)];
        if (x.job != 0)
            adx_observed(row.op, adx_value_of(row, x.v, 0, 0), x, x);
    }
}

// The operation becomes one linear statement with n results and a span for each
// operand. Sums and differences have a scale instead of partials.
ADX_API void adx_each_s(adx_each_op row, size_t n, const ad_rev *a,
                        ptrdiff_t inca, const ad_rev *b, ptrdiff_t incb,
                        const ad_rev *c, ptrdiff_t incc, ad_rev *y,
                        ptrdiff_t incy)
{
    const size_t arity = row.arity;
    if (row.loops == NULL) {
        adx_failed(ADREV_ESHAPE);
        return;
    }
    if (adx_missing_s(n, a, inca) || (arity > 1 && adx_missing_s(n, b, incb))
        || (arity > 2 && adx_missing_s(n, c, incc))
        || adx_missing_s(n, y, incy))
        return;
    const ad_rev *const x[3] = { a, b, c };
    const ptrdiff_t inc[3] = { inca, incb, incc };
    adx_addend addend[3];
    size_t k = 0;
    do {                            // there is a first operand: gcc is told
        ad_real scale = adx_uniform(row, k);
        addend[k].x = adx_vector(n, x[k], inc[k]);
        addend[k].d = NULL;
        addend[k].own = scale == 0;
        addend[k].scale = scale == 0 ? 1 : scale;
    } while (++k < 3 && k < arity);
    if (row.step && ADX_TRACED)
        adx_watch_steps(row, &addend[0].x);
    adx_linear *s = row.step ? NULL : adx_add_linear(n, true, arity, addend);
    adx_tell_array(ADREV_ARRAY_each, row.op, ADX_BASE(s),
                   &addend[0].x, arity > 1 ? &addend[1].x : NULL,
                   arity > 2 ? &addend[2].x : NULL);
    adx_record_each(row, n, addend, s, y, incy);
}
#endif

ADX_API void (ad_each_s)(ad_opcode op, size_t n, const ad_rev *a,
                         ptrdiff_t inca, const ad_rev *b, ptrdiff_t incb,
                         const ad_rev *c, ptrdiff_t incc, ad_rev *y,
                         ptrdiff_t incy)
{
    adx_each_s(adx_any_each_op(op), n, a, inca, b, incb, c, incc, y, incy);
}

/* --- softmax ------------------------------------------------------------- */

// Both sweeps have the same formula, y (b - s), where s is the sum of all y b.
// If b is the adjoint of y, it gives the adjoint of x; if b is the tangent of
// x, it gives the tangent of y.
typedef struct adx_softmax {
    adx_extended e;
    adx_ids ids;                // of x
    ad_real *y;                 // [n] the results, which both sweeps need
} adx_softmax;

// xb[i] += y[i] (yb[i] - sum over j of y[j] yb[j]).
static bool adx_softmax_reverse(const adx_extended *e, ad_real adj[],
                                ad_real scratch[], size_t W)
{
    const adx_softmax *s = (const adx_softmax *)e;
    const ad_real *yb = &adj[e->first * W];
    (void)scratch;

    for (size_t w = 0; w < W; w++) {
        ad_real sum = 0;
        for (size_t i = 0; i < e->values; i++)
            sum += adx_absorb(s->y[i], yb[i * W + w]);
        for (size_t i = 0; i < e->values; i++)
            adj[adx_id(&s->ids, i) * W + w] +=
                adx_absorb(s->y[i], yb[i * W + w] - sum);
    }
    ADX_TALLY(reverse, add, 3 * e->values);
    ADX_TALLY(reverse, mul, 2 * e->values);
    ADX_TALLY(reverse, written, e->values);
    return true;
}

// yd[i] = y[i] (xd[i] - sum over j of y[j] xd[j]).
static bool adx_softmax_forward(const adx_extended *e, ad_real tan[],
                                ad_real scratch[], size_t W)
{
    const adx_softmax *s = (const adx_softmax *)e;
    ad_real *yd = &tan[e->first * W];
    (void)scratch;

    for (size_t w = 0; w < W; w++) {
        ad_real sum = 0;
        for (size_t i = 0; i < e->values; i++)
            sum += adx_absorb(s->y[i], tan[adx_id(&s->ids, i) * W + w]);
        for (size_t i = 0; i < e->values; i++)
            yd[i * W + w] +=
                adx_absorb(s->y[i], tan[adx_id(&s->ids, i) * W + w] - sum);
    }
    return true;
}

static const char adx_softmax_rule_name[] = "softmax";
static const adx_rule adx_softmax_rule = {
    adx_softmax_rule_name, adx_softmax_reverse, adx_softmax_forward, NULL
};

// Adds the statement, whose y its caller fills. NULL: nothing is recorded.
static adx_softmax *adx_add_softmax(const adx_view *x)
{
    size_t n = x->cols;
    if (n == 0 || !adx_recording())
        return NULL;
    adx_ids ids = adx_classify(x);
    if (adx_is_constant(&ids) || adx_now.tape->status != ADREV_OK)
        return NULL;
    size_t bytes = sizeof(adx_softmax) + n * sizeof(ad_real)
                 + (ids.listed ? n * sizeof(uint32_t) : 0);
    adx_softmax *s = adx_add_extended(&adx_softmax_rule, bytes, n, n);
    if (s == NULL)
        return NULL;
    s->ids = ids;
    s->y = (ad_real *)(s + 1);
    adx_write_list(x, &s->ids, (uint32_t *)(void *)(s->y + n));
    return s;
}

// The largest number is taken out of all exponents. The weights are computed
// twice, once for their sum and once for the results.
ADX_API void (ad_softmax_s)(size_t n, const ad_rev *x, ptrdiff_t incx,
                            ad_rev *y, ptrdiff_t incy)
{
    if (adx_missing_s(n, x, incx) || adx_missing_s(n, y, incy))
        return;
    const adx_view from = adx_vector(n, x, incx);
    adx_softmax *s = adx_add_softmax(&from);
    ad_real most = adx_largest(&from);
    ad_real sum = 0;

    adx_tell_array(ADREV_ARRAY_softmax, ADREV_OP_COUNT,
                   ADX_BASE(s), &from, NULL, NULL);
    ADX_TALLY(forward, add, s == NULL ? 0 : 2 * n);
    ADX_TALLY(forward, mul, s == NULL ? 0 : n);
    ADX_TALLY(forward, fn, s == NULL ? 0 : n);
    for (size_t i = 0; i < n; i++)
        sum += adx_weight(adx_element(&from, 0, i), most);
    for (size_t i = 0; i < n; i++) {
        ad_real v = adx_weight(adx_element(&from, 0, i), most) / sum;
        if (s != NULL)
            s->y[i] = v;
        adx_set_result(&y[(ptrdiff_t)i * incy], v, ADX_BASE(s), i);
    }
}
