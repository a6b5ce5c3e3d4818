#pragma once

/* === sundials/idas ==========================================================
 * Differential-algebraic equations: residuals, Jacobians, forward
 * sensitivities.
 *
 *   needs   sundials/matrices sundials/cvodes
 * ====================================================================== */

/* --- IDAS ----------------------------------------------------------------- */

static inline int adx_ida_residual(sunrealtype t, N_Vector y, N_Vector rate,
                                   N_Vector residual, void *system)
{
    ad_system *s = (ad_system *)system;
    double *out = N_VGetArrayPointer(residual);
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    return adx_sundials_code(s, adx_system_eval(s, out), s->n, out);
}

static inline int adx_ida_jacobian(sunrealtype t, sunrealtype c, N_Vector y,
                                   N_Vector rate, N_Vector residual,
                                   SUNMatrix A, void *system, N_Vector a,
                                   N_Vector b, N_Vector d)
{
    ad_system *s = (ad_system *)system;
    (void)residual;
    (void)a;
    (void)b;
    (void)d;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    return adx_sundials_matrix(s, A, c, 1, false);
}

static inline int adx_ida_product(sunrealtype t, N_Vector y, N_Vector rate,
                                  N_Vector residual, N_Vector v,
                                  N_Vector product, sunrealtype c, void *system,
                                  N_Vector a, N_Vector b)
{
    ad_system *s = (ad_system *)system;
    (void)residual;
    (void)a;
    (void)b;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    adx_system_direction(s, N_VGetArrayPointer(v), NULL, c);
    return adx_sundials_product(s, product);
}

static inline int adx_ida_sensitivity(int count, sunrealtype t, N_Vector y,
                                      N_Vector rate, N_Vector residual,
                                      N_Vector along[], N_Vector rates[],
                                      N_Vector out[], void *system, N_Vector a,
                                      N_Vector b, N_Vector c)
{
    ad_system *s = (ad_system *)system;
    int code = 0;
    (void)residual;
    (void)a;
    (void)b;
    (void)c;
    adx_system_at(s, t, N_VGetArrayPointer(y), N_VGetArrayPointer(rate));
    for (int k = 0; k < count && code == 0; k++) {
        adx_system_direction(s, N_VGetArrayPointer(along[k]),
                             N_VGetArrayPointer(rates[k]), 0);
        adx_sundials_seed(s, (size_t)k);
        code = adx_sundials_product(s, out[k]);
    }
    return code;
}

// Has IDAS integrate s, a system of ad_system_dae, from y and dy/dt at t0:
// IDAInit and IDASetUserData. They must be consistent (IDACalcIC helps).
//
//   returns      as IDAInit; IDA_MEM_FAIL: s is NULL; IDA_ILL_INPUT: as
//                CV_ILL_INPUT of ad_cvodes_init
static inline int ad_ida_init(void *ida, ad_system *s, double t0, N_Vector y,
                              N_Vector rate)
{
    if (s == NULL)
        return IDA_MEM_FAIL;
    if (s->dae == NULL || !adx_sundials_fits(s, y, s->n)
        || !adx_sundials_fits(s, rate, s->n))
        return IDA_ILL_INPUT;
    const int code = IDAInit(ida, adx_ida_residual, t0, y, rate);
    return code != IDA_SUCCESS ? code : IDASetUserData(ida, s);
}

// IDASetLinearSolver with dF/dy + c dF/d(dy/dt), as ad_cvodes_linear_solver.
static inline int ad_ida_linear_solver(void *ida, SUNLinearSolver solver,
                                       SUNMatrix A)
{
    if (!adx_sundials_known(A))
        return IDALS_ILL_INPUT;
    const int code = IDASetLinearSolver(ida, solver, A);
    if (code != IDALS_SUCCESS)
        return code;
    return A != NULL ? IDASetJacFn(ida, adx_ida_jacobian)
                     : IDASetJacTimes(ida, NULL, adx_ida_product);
}

// Forward sensitivities of a DAE, as ad_cvodes_sensitivities. method:
// IDA_SIMULTANEOUS or IDA_STAGGERED; `rates`: the derivatives of `start` by t.
static inline int ad_ida_sensitivities(void *ida, ad_system *s, size_t count,
                                       const double directions[], int method,
                                       N_Vector start[], N_Vector rates[])
{
    if (s == NULL)
        return IDA_MEM_FAIL;
    if (!adx_sundials_directed(s, count, directions))
        return IDA_ILL_INPUT;
    int code = IDASensInit(ida, (int)count, method, adx_ida_sensitivity, start,
                           rates);
    if (code == IDA_SUCCESS && count <= s->parameters)
        code = adx_sundials_set_scales(ida, s, IDASetSensParams);
    if (code == IDA_SUCCESS)
        code = IDASensEEtolerances(ida);
    return code != IDA_SUCCESS ? code : IDASetSensErrCon(ida, SUNTRUE);
}
