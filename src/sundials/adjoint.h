#pragma once

/* === sundials/adjoint =======================================================
 * The adjoint problem of differential-algebraic equations, and what it begins
 * with.
 *
 *   needs   function/api sundials/matrices
 * ====================================================================== */

/* --- IDAS, backwards ---------------------------------------------------------
 * With the adjoint a of the equations, (F_r' a)' = F_y' a, where F_y = dF/dy
 * and F_r = dF/d(dy/dt); so F_r' a is the adjoint of y. The solver integrates
 *
 *     F_r' a' + (dF_r/dt)' a - F_y' a = 0
 *
 * and, for parameters, F_p' a (Cao, Li, Petzold and Serban, 2003). dF_r/dt is
 * the derivative along (dy/dt, 1) in (y, t): a product with second derivatives,
 * where F_r is not constant.                                                 */

// Finds out what F_r depends on, on the model's present path.
static inline ad_status adx_ida_bend(ad_system *s)
{
    ad_fn *fn = s->model->fn;
    ad_sparsity about;
    if (s->bent == s->model->moves)
        return ADREV_OK;
    ad_status status = ad_fn_hessian_pattern(fn, &about, NULL, NULL, NULL);
    if (status != ADREV_OK)
        return status;
    size_t *row = (size_t *)malloc((2 * about.nonzeros + 1) * sizeof *row);
    if (row == NULL)
        return ADREV_ENOMEM;
    const size_t *column = row + about.nonzeros;
    status = ad_fn_hessian_pattern(fn, NULL, NULL, row, row + about.nonzeros);
    s->bends = s->squares = false;
    for (size_t k = 0; k < about.nonzeros && status == ADREV_OK; k++) {
        const bool by_row = row[k] >= s->n && row[k] < 2 * s->n;
        const bool by_column = column[k] >= s->n && column[k] < 2 * s->n;
        s->squares = s->squares || (by_row && by_column);
        s->bends = s->bends || (by_row && column[k] < s->p_at)
                || (by_column && row[k] < s->p_at);
    }
    free(row);
    if (status == ADREV_OK)
        s->bent = s->model->moves;
    return status;
}

// out += (dF_r/dt)' w, with the path that w was multiplied on.
static inline ad_status adx_ida_add_bend(ad_system *s, const double w[],
                                         double out[])
{
    ad_model *m = s->model;
    ad_status status = adx_ida_bend(s);
    if (status != ADREV_OK || !s->bends)
        return adx_model_keep(m, status);
    if (s->squares)
        return m->status = ADREV_ESHAPE;    // there is no d2y/dt2 here
    double *change = adx_model_room(m, m->n);
    if (change == NULL)
        return ADREV_ENOMEM;
    double *along = adx_system_direction(s, s->x + s->n, NULL, 0);
    along[s->t_at] = 1;
    status = ad_model_hvp(m, s->x, w, along, change);
    for (size_t i = 0; i < s->n && status == ADREV_OK; i++)
        out[i] += change[s->n + i];
    return status;
}

// out = F_r' w_rate + (dF_r/dt)' w - F_y' w; w_rate NULL: c w.
static inline ad_status adx_ida_adjoint(ad_system *s, const double w[],
                                        const double w_rate[], double c,
                                        double out[])
{
    ad_status status = adx_system_vjp(s, w);
    for (size_t i = 0; i < s->n && status == ADREV_OK; i++)
        out[i] = (w_rate == NULL ? c * s->v[s->n + i] : 0) - s->v[i];
    if (status == ADREV_OK && w_rate != NULL) {
        status = adx_system_vjp(s, w_rate);
        for (size_t i = 0; i < s->n && status == ADREV_OK; i++)
            out[i] += s->v[s->n + i];
    }
    return status != ADREV_OK ? status : adx_ida_add_bend(s, w, out);
}

static inline int adx_ida_residual_b(sunrealtype t, N_Vector y, N_Vector rate,
                                     N_Vector a, N_Vector a_rate,
                                     N_Vector residual, void *system)
{
    ad_system *s = (ad_system *)system;
    double *out = N_VGetArrayPointer(residual);
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    const ad_status status = adx_ida_adjoint(s, N_VGetArrayPointer(a),
                                             N_VGetArrayPointer(a_rate), 0,
                                             out);
    return adx_sundials_code(s, status, s->n, out);
}

static inline int adx_ida_quadrature_b(sunrealtype t, N_Vector y, N_Vector rate,
                                       N_Vector a, N_Vector a_rate, N_Vector q,
                                       void *system)
{
    ad_system *s = (ad_system *)system;
    (void)a_rate;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    return adx_sundials_back(s, N_VGetArrayPointer(a), 1, s->p_at,
                             s->parameters, N_VGetArrayPointer(q));
}

// Without dF_r/dt, which is small beside c F_r in short steps: Newton's method
// takes an approximation.
static inline int adx_ida_jacobian_b(sunrealtype t, sunrealtype c, N_Vector y,
                                     N_Vector rate, N_Vector a, N_Vector a_rate,
                                     N_Vector residual, SUNMatrix A,
                                     void *system, N_Vector b, N_Vector d,
                                     N_Vector e)
{
    ad_system *s = (ad_system *)system;
    (void)a;
    (void)a_rate;
    (void)residual;
    (void)b;
    (void)d;
    (void)e;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    return adx_sundials_matrix(s, A, -c, -1, true);
}

static inline int adx_ida_product_b(sunrealtype t, N_Vector y, N_Vector rate,
                                    N_Vector a, N_Vector a_rate,
                                    N_Vector residual, N_Vector v,
                                    N_Vector product, sunrealtype c,
                                    void *system, N_Vector b, N_Vector d)
{
    ad_system *s = (ad_system *)system;
    double *out = N_VGetArrayPointer(product);
    (void)a;
    (void)a_rate;
    (void)residual;
    (void)b;
    (void)d;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    const ad_status status = adx_ida_adjoint(s, N_VGetArrayPointer(v), NULL, c,
                                             out);
    return adx_sundials_code(s, status, s->n, out);
}

// The adjoint problem of a system of ad_system_dae, from t back to where the
// forward one began (IDAAdjInit, IDASolveF): IDACreateB, IDAInitB,
// IDAQuadInitB. Let G be a function of y at t. ad_ida_backward_at makes of
// dG/dy what it begins with; at the end q is dG/dp, y at the start being fixed,
// and ad_ida_backward_gradient says what dG/dy is there.
//
//   which        out   the number of the problem, for IDASStolerancesB, IDAGetB
//                      and others
//   a, a_rate [n]   in    the adjoint of the equations at t, and its derivative
//   q   [parameters]   in    NULL: no derivatives by p
//
//   returns      as these calls; IDA_MEM_FAIL: s is NULL; IDA_ILL_INPUT: no
//                such vectors; or F is not linear in dy/dt (should another path
//                of F be so, the integration ends with ADREV_ESHAPE)
//   cost         of each residual two reverse sweeps of F; one of second order
//                besides, if dF/d(dy/dt) depends on y or t
static inline int ad_ida_backward(void *ida, ad_system *s, int *which, double t,
                                  N_Vector a, N_Vector a_rate, N_Vector q)
{
    if (s == NULL)
        return IDA_MEM_FAIL;
    if (s->dae == NULL || !adx_sundials_adjoint(s, a, q)
        || !adx_sundials_fits(s, a_rate, s->n)
        || (s->model->fn != NULL && adx_ida_bend(s) == ADREV_OK && s->squares))
        return IDA_ILL_INPUT;
    int code = IDACreateB(ida, which);
    if (code == IDA_SUCCESS)
        code = IDAInitB(ida, *which, adx_ida_residual_b, t, a, a_rate);
    if (code == IDA_SUCCESS)
        code = IDASetUserDataB(ida, *which, s);
    if (code == IDA_SUCCESS && q != NULL)
        code = IDAQuadInitB(ida, *which, adx_ida_quadrature_b, q);
    return code;
}

// As ad_cvodes_linear_solver, for an adjoint problem.
static inline int ad_ida_linear_solver_b(void *ida, int which,
                                         SUNLinearSolver solver, SUNMatrix A)
{
    if (!adx_sundials_known(A))
        return IDALS_ILL_INPUT;
    const int code = IDASetLinearSolverB(ida, which, solver, A);
    if (code != IDALS_SUCCESS)
        return code;
    return A != NULL ? IDASetJacFnB(ida, which, adx_ida_jacobian_b)
                     : IDASetJacTimesB(ida, which, NULL, adx_ida_product_b);
}

/* --- what the adjoint problem of IDAS begins with ----------------------------
 * Equations without dy/dt are algebraic, and so are variables whose derivative
 * no equation has; there must be as many (a semi-explicit DAE of index 1). Let
 * K have the rows of F_r, but for algebraic equations those of F_y. With
 * K' x = dG/dy, x is what dG/dy adds to a; for algebraic equations it is what G
 * depends on p by way of these alone, at once. There a follows from the others:
 * algebraic rows of F_y' a are 0.                                            */

typedef struct adx_ida_start {
    ad_system *system;
    SUNLinearSolver solver;
    N_Vector x, b;              // K' x = b
    double *to, *from;          // their numbers
    size_t *line;               // [entries] where each entry is
    bool *equation;             // [n] is algebraic
    bool *variable;             // [n]
} adx_ida_start;

static inline void adx_ida_end(adx_ida_start *k)
{
    if (k->x != NULL)
        N_VDestroy(k->x);
    if (k->b != NULL)
        N_VDestroy(k->b);
    free(k->line);
    free(k->equation);
    free(k->variable);
}

static inline bool adx_ida_begin(adx_ida_start *k, const adx_system_matrix *M,
                                 N_Vector like)
{
    k->x = N_VClone(like);
    k->b = N_VClone(like);
    k->line = (size_t *)malloc((M->count + 1) * sizeof *k->line);
    k->equation = (bool *)malloc(M->lines + 1);
    k->variable = (bool *)malloc(M->lines + 1);
    if (k->x == NULL || k->b == NULL || k->line == NULL || k->equation == NULL
        || k->variable == NULL)
        return false;
    k->to = N_VGetArrayPointer(k->x);
    k->from = N_VGetArrayPointer(k->b);
    return true;
}

// Finds what is algebraic, and puts the values of K in place of those of M.
// Whether there are as many equations as variables.
static inline bool adx_ida_split(adx_ida_start *k, adx_system_matrix *M)
{
    const size_t own = ad_export_entries(M->form, NULL, NULL);
    const size_t *row = M->by_rows ? k->line : M->across;
    const size_t *column = M->by_rows ? M->across : k->line;
    size_t more = 0;                    // equations than variables, mod 2^64
    for (size_t i = 0; i < M->lines; i++) {
        k->equation[i] = k->variable[i] = true;
        for (size_t e = M->start[i]; e < M->start[i + 1]; e++)
            k->line[e] = i;
    }
    if (M->direct)                          // no dy/dt at all: K is F_y
        return true;
    for (size_t e = 0; e < own; e++)
        if (M->place[e] != SIZE_MAX && M->rate[e])
            k->equation[row[M->place[e]]] = k->variable[column[M->place[e]]]
                = false;
    memset(M->value, 0, M->count * sizeof *M->value);
    for (size_t e = 0; e < own; e++)
        if (M->place[e] != SIZE_MAX
            && (M->rate[e] || k->equation[row[M->place[e]]]))
            M->value[M->place[e]] += M->raw[e];
    for (size_t i = 0; i < M->lines; i++)
        more += (size_t)k->equation[i] - (size_t)k->variable[i];
    return more == 0;
}

// K' to A, and factors it.
static inline int adx_ida_factor(adx_ida_start *k, SUNMatrix A,
                                 adx_system_matrix *M, ad_status status)
{
    SUNMatZero(A);
    const int code = adx_sundials_put(k->system, M, status, 1, A);
    return code != 0 ? IDA_RES_FAIL
         : SUNLinSolInitialize(k->solver) != 0 ? IDA_LINIT_FAIL
         : SUNLinSolSetup(k->solver, A) != 0 ? IDA_LSETUP_FAIL : IDA_SUCCESS;
}

// dG/dy, which is in b, to a and q.
static inline int adx_ida_take(adx_ida_start *k, SUNMatrix A, double a[],
                               double q[])
{
    ad_system *s = k->system;
    if (SUNLinSolSolve(k->solver, A, k->x, k->b, 0) != 0)
        return IDA_LSOLVE_FAIL;
    for (size_t i = 0; i < s->n; i++) {
        k->from[i] = k->equation[i] ? k->to[i] : 0;
        a[i] = k->equation[i] ? 0 : a[i] + k->to[i];
    }
    if (q == NULL)
        return IDA_SUCCESS;
    if (adx_system_vjp(s, k->from) != ADREV_OK)
        return IDA_RES_FAIL;
    for (size_t j = 0; j < s->parameters; j++)
        q[j] -= s->v[s->p_at + j];
    return IDA_SUCCESS;
}

// The algebraic part of a, and a'.
static inline int adx_ida_follow(adx_ida_start *k, SUNMatrix A, double a[],
                                 double a_rate[])
{
    ad_system *s = k->system;
    for (int part = 0; part < 2; part++) {
        if (adx_ida_adjoint(s, a, NULL, 0, k->from) != ADREV_OK)
            return IDA_RES_FAIL;
        for (size_t i = 0; i < s->n; i++)
            k->from[i] = k->variable[i] == (part == 0) ? k->from[i] : 0;
        for (size_t i = 0; i < s->n && part == 1; i++)
            k->from[i] = -k->from[i];
        if (SUNLinSolSolve(k->solver, A, k->x, k->b, 0) != 0)
            return IDA_LSOLVE_FAIL;
        for (size_t i = 0; i < s->n; i++)
            if (part == 1)
                a_rate[i] = k->equation[i] ? 0 : k->to[i];
            else if (k->equation[i])
                a[i] = k->to[i];
    }
    return IDA_SUCCESS;
}

// Takes dG/dy at a moment into the adjoint: before ad_ida_backward, and, for a
// sum over moments, before IDAReInitB and IDAQuadReInitB at each of them.
//
//   y, rate [n]  in    what IDASolveF has found at t, or IDAGetAdjY
//   g   [n]      in    dG/dy, also by algebraic variables
//   solver, A    in    as for ad_ida_linear_solver_b, and may be the same; A is
//                      not NULL
//   a   [n]      in/out   0 at first
//   a_rate [n]   out
//   q   [parameters]   in/out   0 at first; NULL: no derivatives by p
//
//   returns      IDA_SUCCESS; IDA_MEM_FAIL: s is NULL, or out of memory;
//                IDA_ILL_INPUT: no such vectors or matrix, or algebraic
//                equations and variables are not as many; IDA_LSETUP_FAIL: K is
//                singular (of a higher index, or not semi-explicit);
//                IDA_LSOLVE_FAIL; IDA_RES_FAIL: see ad_system_status
static inline int ad_ida_backward_at(ad_system *s, double t, N_Vector y,
                                     N_Vector rate, N_Vector g,
                                     SUNLinearSolver solver, SUNMatrix A,
                                     N_Vector a, N_Vector a_rate, N_Vector q)
{
    if (s == NULL)
        return IDA_MEM_FAIL;
    if (s->dae == NULL || solver == NULL || A == NULL || !adx_sundials_known(A)
        || !adx_sundials_fits(s, y, s->n) || !adx_sundials_fits(s, rate, s->n)
        || !adx_sundials_fits(s, g, s->n) || !adx_sundials_adjoint(s, a, q)
        || !adx_sundials_fits(s, a_rate, s->n))
        return IDA_ILL_INPUT;
    adx_ida_start k = { s, solver, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
    adx_system_matrix *M = adx_sundials_lines(s, A, true);
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    const ad_status status = adx_system_jacobian(s, M, 1);
    int code = status != ADREV_OK ? IDA_RES_FAIL
             : !adx_ida_begin(&k, M, a) ? IDA_MEM_FAIL
             : !adx_ida_split(&k, M) ? IDA_ILL_INPUT
             : adx_ida_factor(&k, A, M, status);
    if (code == IDA_SUCCESS) {
        N_VScale(1, g, k.b);
        code = adx_ida_take(&k, A, N_VGetArrayPointer(a),
                            q == NULL ? NULL : N_VGetArrayPointer(q));
    }
    if (code == IDA_SUCCESS)
        code = adx_ida_follow(&k, A, N_VGetArrayPointer(a),
                              N_VGetArrayPointer(a_rate));
    adx_ida_end(&k);
    return code;
}

// dG/dy at a moment, of what lies behind it: F_r' a. It is 0 for algebraic
// variables, which follow from the others.
//
//   y, rate [n]  in    there
//   a   [n]      in    the adjoint there (IDAGetB)
//   g   [n]      out   may be a
//
//   returns      IDA_SUCCESS; IDA_MEM_FAIL: s is NULL; IDA_ILL_INPUT: no such
//                vectors; IDA_RES_FAIL: see ad_system_status
static inline int ad_ida_backward_gradient(ad_system *s, double t, N_Vector y,
                                           N_Vector rate, N_Vector a,
                                           N_Vector g)
{
    if (s == NULL)
        return IDA_MEM_FAIL;
    if (s->dae == NULL || !adx_sundials_fits(s, y, s->n)
        || !adx_sundials_fits(s, rate, s->n) || !adx_sundials_fits(s, a, s->n)
        || !adx_sundials_fits(s, g, s->n))
        return IDA_ILL_INPUT;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    return adx_sundials_back(s, N_VGetArrayPointer(a), 1, s->n, s->n,
                             N_VGetArrayPointer(g)) == 0 ? IDA_SUCCESS
                                                         : IDA_RES_FAIL;
}
