#pragma once

/* === sundials/kinsol ========================================================
 * Nonlinear equations: residuals and Jacobians.
 *
 *   needs   sundials/matrices
 * ====================================================================== */

/* --- KINSOL --------------------------------------------------------------- */

static inline int adx_kinsol_g(N_Vector y, N_Vector residual, void *system)
{
    ad_system *s = (ad_system *)system;
    double *out = N_VGetArrayPointer(residual);
    adx_system_at(s, 0, N_VGetArrayPointer(y), NULL);
    return adx_sundials_code(s, adx_system_eval(s, out), s->n, out);
}

static inline int adx_kinsol_jacobian(N_Vector y, N_Vector residual,
                                      SUNMatrix A, void *system, N_Vector a,
                                      N_Vector b)
{
    ad_system *s = (ad_system *)system;
    (void)residual;
    (void)a;
    (void)b;
    adx_system_at(s, 0, N_VGetArrayPointer(y), NULL);
    return adx_sundials_matrix(s, A, 0, 1, false);
}

static inline int adx_kinsol_product(N_Vector v, N_Vector product, N_Vector y,
                                     sunbooleantype *fresh, void *system)
{
    ad_system *s = (ad_system *)system;
    *fresh = SUNFALSE;
    adx_system_at(s, 0, N_VGetArrayPointer(y), NULL);
    adx_system_direction(s, N_VGetArrayPointer(v), NULL, 0);
    return adx_sundials_product(s, product);
}

// Has KINSOL solve s, a system of ad_system_equations: KINInit and
// KINSetUserData. Where there is no finite residual it tries a shorter step.
//
//   like         in    a vector of n numbers, which is not changed
//
//   returns      as KINInit; KIN_MEM_FAIL: s is NULL; KIN_ILL_INPUT: as
//                CV_ILL_INPUT of ad_cvodes_init
static inline int ad_kinsol_init(void *kinsol, ad_system *s, N_Vector like)
{
    if (s == NULL)
        return KIN_MEM_FAIL;
    if (s->equations == NULL || !adx_sundials_fits(s, like, s->n))
        return KIN_ILL_INPUT;
    const int code = KINInit(kinsol, adx_kinsol_g, like);
    return code != KIN_SUCCESS ? code : KINSetUserData(kinsol, s);
}

// KINSetLinearSolver with the exact Jacobian or products, as
// ad_cvodes_linear_solver.
static inline int ad_kinsol_linear_solver(void *kinsol, SUNLinearSolver solver,
                                          SUNMatrix A)
{
    if (!adx_sundials_known(A))
        return KINLS_ILL_INPUT;
    const int code = KINSetLinearSolver(kinsol, solver, A);
    if (code != KINLS_SUCCESS)
        return code;
    return A != NULL ? KINSetJacFn(kinsol, adx_kinsol_jacobian)
                     : KINSetJacTimesVecFn(kinsol, adx_kinsol_product);
}
