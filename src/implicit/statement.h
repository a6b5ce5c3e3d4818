#pragma once

/* === implicit/statement =====================================================
 * The statement, its sweeps and its replay. With J = dg/dx and z = (x, p):
 *
 *     xd = -J^-1 gp pd                pb = -gp' l,  J' l = xb
 *     J' ld = xbd - (H zd)x           pbd = -gp' ld - (H zd)p
 *
 * where H is the Hessian of l g. The adjoint of the unknowns is what g's would
 * be with weights -l, so each line is one ad_fn_jvp, ad_fn_vjp or ad_fn_hvp.
 *
 *   needs   tape/layout tape/memory array/operands function/api implicit/api
 *           implicit/solve
 * ========================================================================== */

// What the tape has a pointer to.
typedef struct adx_implicit_call {
    adx_implicit c;
    adx_implicit_point at;      // of the recording
} adx_implicit_call;

// l = J^-T yb; then wide[n+q] is l dg/dz.
static bool adx_implicit_adjoint(const adx_implicit_point *at,
                                 const ad_real yb[], ad_real l[],
                                 ad_real wide[])
{
    const adx_implicit *c = at->c;
    memcpy(l, yb, c->n * sizeof *l);
    return adx_solve_linear(at, true, l)
        && ad_fn_vjp(c->g, at->z, l, wide) == ADREV_OK;
}

// zd[n+q] = (xd, pd)
static bool adx_implicit_tangent(const adx_implicit_point *at,
                                 const ad_real pd[], ad_real zd[],
                                 ad_real r[])
{
    const adx_implicit *c = at->c;
    memset(zd, 0, c->n * sizeof *zd);
    if (c->q > 0)
        memcpy(zd + c->n, pd, c->q * sizeof *zd);
    if (ad_fn_jvp(c->g, at->z, zd, r) != ADREV_OK
        || !adx_solve_linear(at, false, r))
        return false;
    for (size_t i = 0; i < c->n; i++)
        zd[i] = -r[i];
    return true;
}

// pb -= l dg/dp, since dx/dp = -J^-1 dg/dp. In `wide` this part, of n = q
// numbers here, lies behind that of the m unknowns.
static bool adx_implicit_pullback(const void *saved, size_t m,
                                  const ad_real dy[], size_t n, ad_real dx[])
{
    const adx_implicit_call *k = *(adx_implicit_call *const *)saved;
    ad_real *l = adx_implicit_reals(&k->c, m + m + n);
    bool ok = l != NULL && adx_implicit_adjoint(&k->at, dy, l, l + m);
    for (size_t i = 0; ok && i < n; i++)
        dx[i] -= l[2 * m + i];
    adx_drop(&k->c.g->memory, l);
    return ok;
}

static bool adx_implicit_pushforward(const void *saved, size_t n,
                                     const ad_real dx[], size_t m,
                                     ad_real dy[])
{
    const adx_implicit_call *k = *(adx_implicit_call *const *)saved;
    ad_real *zd = adx_implicit_reals(&k->c, m + n);
    bool ok = zd != NULL && adx_implicit_tangent(&k->at, dx, zd, dy);
    if (ok)
        memcpy(dy, zd, m * sizeof *dy);
    adx_drop(&k->c.g->memory, zd);
    return ok;
}

static void adx_free_implicit(adx_implicit_call *k)
{
    ad_fn *g = k->c.g;
    ad_allocator memory = g->memory;
    adx_close_point(&k->at);
    adx_drop(&memory, k->c.start);
    adx_drop(&memory, k->c.column);
    adx_drop(&memory, k->c.entry);
    adx_drop(&memory, k);
    ad_fn_free(g);
}

static void adx_implicit_destroy(const void *saved)
{
    adx_free_implicit(*(adx_implicit_call *const *)saved);
}

/* --- at other points ------------------------------------------------------ */

// The solution for p, factored. For the parameters of the recording it is the
// one that was recorded.
static bool adx_find_solution(const adx_implicit_call *k,
                              adx_implicit_point *at, const ad_real p[])
{
    const adx_implicit *c = &k->c;
    memcpy(at->z, k->at.z, c->n * sizeof *at->z);
    if (c->q > 0)
        memcpy(at->z + c->n, p, c->q * sizeof *p);
    if (memcmp(at->z, k->at.z, (c->n + c->q) * sizeof *at->z) == 0)
        return adx_factor_jacobian(at) == ADREV_OK;
    if (c->find == NULL)
        return adx_find_by_newton(at);
    return c->find(c->user, p, at->z) && adx_check_solution(at) == ADREV_OK;
}

// Tangents of the adjoints; h[n+q], ld[n], wide[n+q] are room.
static bool adx_implicit_second(const adx_implicit_point *at,
                                const ad_external_point *e,
                                const ad_real l[], const ad_real zd[],
                                ad_real h[])
{
    const adx_implicit *c = at->c;
    ad_real *ld = h + c->n + c->q;
    ad_real *right = ld + c->n;
    ad_real *wide = right + c->n;
    if (ad_fn_hvp(c->g, at->z, l, zd, h) != ADREV_OK)
        return false;
    for (size_t i = 0; i < c->n; i++)
        right[i] = e->ybd[i] - h[i];
    if (!adx_implicit_adjoint(at, right, ld, wide))
        return false;
    for (size_t i = 0; i < c->q; i++)
        e->xbd[i] = -wide[c->n + i] - h[c->n + i];
    return true;
}

// What a call is given and asked for, along its direction r alone.
static ad_external_point adx_along(const ad_external_point *e, size_t r)
{
    ad_external_point one = *e;
    one.k = 1;
    one.xd = e->xd == NULL ? NULL : e->xd + r * e->n;
    one.yb = e->yb == NULL ? NULL : e->yb + r * e->m;
    one.ybd = e->ybd == NULL ? NULL : e->ybd + r * e->m;
    one.yd = e->yd == NULL ? NULL : e->yd + r * e->m;
    one.xb = e->xb == NULL ? NULL : e->xb + r * e->n;
    one.xbd = e->xbd == NULL ? NULL : e->xbd + r * e->n;
    return one;
}

// Derivatives along one direction. room: l[n], wide[n+q], zd[n+q], r[n], then
// that of the second derivatives
static bool adx_implicit_along(const adx_implicit_point *at,
                               const ad_external_point *e, ad_real room[])
{
    const adx_implicit *c = at->c;
    ad_real *l = room;
    ad_real *wide = l + c->n;
    ad_real *zd = wide + c->n + c->q;
    ad_real *r = zd + c->n + c->q;
    if (e->xd != NULL && !adx_implicit_tangent(at, e->xd, zd, r))
        return false;
    if (e->yd != NULL)
        memcpy(e->yd, zd, c->n * sizeof *e->yd);
    if (e->xb == NULL)
        return true;
    if (!adx_implicit_adjoint(at, e->yb, l, wide))
        return false;
    for (size_t i = 0; i < c->q; i++)
        e->xb[i] = -wide[c->n + i];
    return e->xbd == NULL || adx_implicit_second(at, e, l, zd, r + c->n);
}

// Gives what is asked for at a point whose solution and factors are known, one
// direction after another.
static bool adx_implicit_at(const adx_implicit_point *at,
                            const ad_external_point *e, ad_real room[])
{
    bool ok = true;
    if (e->y != NULL)
        memcpy(e->y, at->z, at->c->n * sizeof *e->y);
    for (size_t r = 0; r < e->k && ok; r++) {
        const ad_external_point one = adx_along(e, r);
        ok = adx_implicit_along(at, &one, room);
    }
    return ok;
}

// The solution is found, and its Jacobian factored, once for all directions.
static bool adx_implicit_replay(const void *saved, const ad_external_point *e)
{
    const adx_implicit_call *k = *(adx_implicit_call *const *)saved;
    const adx_implicit *c = &k->c;
    adx_implicit_point at = { .c = c };
    ad_real *room = adx_implicit_reals(c, 8 * c->n + 4 * c->q);
    bool ok = adx_open_point(&at, c) && room != NULL
           && adx_find_solution(k, &at, e->x) && adx_implicit_at(&at, e, room);
    adx_drop(&c->g->memory, room);
    adx_close_point(&at);
    return ok;
}

static const ad_external_rule adx_implicit_rule = {
    .name = "implicit", .pullback = adx_implicit_pullback,
    .pushforward = adx_implicit_pushforward, .destroy = adx_implicit_destroy,
    .replay = adx_implicit_replay, .abreast = true
};

/* --- the call ------------------------------------------------------------ */

static bool adx_is_impossible(const ad_implicit_desc *d, const ad_rev p[],
                              const ad_rev x[])
{
    return d == NULL || d->g == NULL || d->x == NULL || x == NULL || d->n == 0
        || d->n > d->g->n || d->g->m != d->n || d->g->variables < d->g->n
        || (p == NULL && d->g->n > d->n)
        || (d->solver != NULL && d->solver->solve == NULL);
}

// The solution at the values of p, checked and factored.
static ad_status adx_begin_implicit(adx_implicit_call *k,
                                    const ad_implicit_desc *d,
                                    const ad_rev p[])
{
    adx_implicit *c = &k->c;
    double usual = sizeof(ad_real) == sizeof(float) ? 1e-3 : 1e-8;
    c->n = d->n;
    c->q = c->g->n - d->n;
    c->tolerance = d->tolerance > 0 ? (double)d->tolerance : usual;
    c->scale = (double)d->scale;
    if (d->solver != NULL)
        c->solver = *d->solver;
    c->find = d->find;
    c->user = d->user;
    ad_status status = c->solver.sparse ? adx_choose_entries(c) : ADREV_OK;
    if (status == ADREV_OK && !adx_open_point(&k->at, c))
        status = ADREV_ENOMEM;
    if (status != ADREV_OK)
        return status;
    memcpy(k->at.z, d->x, c->n * sizeof *d->x);
    for (size_t i = 0; i < c->q; i++)
        k->at.z[c->n + i] = p[i].v;
    return adx_check_solution(&k->at);
}

static const char *adx_why_unsolved(ad_status status)
{
    return status == ADREV_EUNSOLVED
         ? "ad_implicit: x is no solution, for Newton's step from there is too"
           " large"
         : status == ADREV_ESINGULAR
         ? "ad_implicit: dg/dx is singular, or the linear solver failed" : NULL;
}

static ad_status adx_fail_implicit(ad_status status, size_t n, ad_rev x[])
{
    for (size_t i = 0; i < n; i++)
        x[i] = adx_no_result();
    return ad_fail(status, adx_why_unsolved(status));
}

ADX_API ad_status ad_implicit(const ad_implicit_desc *d, const ad_rev p[],
                              ad_rev x[])
{
    if (adx_is_impossible(d, p, x))
        return adx_failed(ADREV_ESHAPE);
    adx_implicit_call *k =
        (adx_implicit_call *)adx_take(&d->g->memory, 1, sizeof *k);
    if (k == NULL)
        return adx_fail_implicit(ADREV_ENOMEM, d->n, x);
    memset(k, 0, sizeof *k);
    k->c.g = d->g;
    k->at.c = &k->c;
    // relaxed: the caller holds it
    atomic_fetch_add_explicit(&d->g->holders, 1, memory_order_relaxed);
    ad_status status = adx_begin_implicit(k, d, p);
    if (status != ADREV_OK) {
        adx_free_implicit(k);
        return adx_fail_implicit(status, d->n, x);
    }
    // the values lie in what is the tape's from here on
    return (ad_external)(&adx_implicit_rule, &k, sizeof k, k->c.q, p, k->c.n,
                         k->at.z, x);
}
