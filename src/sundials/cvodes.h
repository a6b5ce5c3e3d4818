#pragma once

/* === sundials/cvodes ========================================================
 * Ordinary differential equations: rates, Jacobians, forward sensitivities, and
 * the adjoint problem.
 *
 *   needs   sundials/matrices
 *   offers  adx_sundials_set_scales adx_sundials_directed
 * ====================================================================== */

/* --- CVODES --------------------------------------------------------------- */

static inline int adx_cvodes_f(sunrealtype t, N_Vector y, N_Vector rate,
                               void *system)
{
    ad_system *s = (ad_system *)system;
    double *out = N_VGetArrayPointer(rate);
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    return adx_sundials_code(s, adx_system_eval(s, out), s->n, out);
}

static inline int adx_cvodes_jacobian(sunrealtype t, N_Vector y, N_Vector fy,
                                      SUNMatrix A, void *system, N_Vector a,
                                      N_Vector b, N_Vector c)
{
    ad_system *s = (ad_system *)system;
    (void)fy;
    (void)a;
    (void)b;
    (void)c;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    return adx_sundials_matrix(s, A, 0, 1, false);
}

static inline int adx_cvodes_product(N_Vector v, N_Vector product,
                                     sunrealtype t, N_Vector y, N_Vector fy,
                                     void *system, N_Vector a)
{
    ad_system *s = (ad_system *)system;
    (void)fy;
    (void)a;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    adx_system_direction(s, N_VGetArrayPointer(v), NULL, 0);
    return adx_sundials_product(s, product);
}

// The rate of sensitivity k: df/dy s + df/dp dp.
static inline int adx_cvodes_sensitivity(int count, sunrealtype t, N_Vector y,
                                         N_Vector rate, int k, N_Vector along,
                                         N_Vector out, void *system,
                                         N_Vector a, N_Vector b)
{
    ad_system *s = (ad_system *)system;
    (void)count;
    (void)rate;
    (void)a;
    (void)b;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    adx_system_direction(s, N_VGetArrayPointer(along), NULL, 0);
    adx_sundials_seed(s, (size_t)k);
    return adx_sundials_product(s, out);
}

// Has CVODES integrate s, from y at t0: CVodeInit and CVodeSetUserData. Set
// s->p first. Tolerances are set next, by CVodeSStolerances or another.
//
//   returns      as CVodeInit; CV_MEM_FAIL: s is NULL; CV_ILL_INPUT: s is no
//                system of ad_system_ode, or y is no vector of n numbers in one
//                place
static inline int ad_cvodes_init(void *cvodes, ad_system *s, double t0,
                                 N_Vector y)
{
    if (s == NULL)
        return CV_MEM_FAIL;
    if (s->ode == NULL || !adx_sundials_fits(s, y, s->n))
        return CV_ILL_INPUT;
    const int code = CVodeInit(cvodes, adx_cvodes_f, t0, y);
    return code != CV_SUCCESS ? code : CVodeSetUserData(cvodes, s);
}

// CVodeSetLinearSolver, with the exact Jacobian for A, or with products where A
// is NULL (SPGMR and others). A is dense, band or sparse; a sparse one may have
// less room than it needs, and its first pattern stays (ad_system_status).
//
//   returns      as CVodeSetLinearSolver; CVLS_ILL_INPUT: another matrix
//   cost         of a Jacobian: a sparse Jacobian of all inputs, also of p
static inline int ad_cvodes_linear_solver(void *cvodes, SUNLinearSolver solver,
                                          SUNMatrix A)
{
    if (!adx_sundials_known(A))
        return CVLS_ILL_INPUT;
    const int code = CVodeSetLinearSolver(cvodes, solver, A);
    if (code != CVLS_SUCCESS)
        return code;
    return A != NULL ? CVodeSetJacFn(cvodes, adx_cvodes_jacobian)
                     : CVodeSetJacTimes(cvodes, NULL, adx_cvodes_product);
}

// Sizes of the parameters, which tolerances of sensitivities are relative to.
// They are copied.
typedef int adx_sundials_scales(void *memory, sunrealtype *p,
                                sunrealtype *scale, int *list);

static inline int adx_sundials_set_scales(void *memory, const ad_system *s,
                                          adx_sundials_scales *set)
{
    if (s->directions != NULL || s->parameters == 0)
        return 0;
    for (size_t k = 0; k < s->parameters; k++)
        s->v[k] = s->p[k] != 0 ? fabs(s->p[k]) : 1;
    return set(memory, NULL, s->v, NULL);
}

// Whether there are so many sensitivities of s with these directions.
static inline bool adx_sundials_directed(ad_system *s, size_t count,
                                         const double directions[])
{
    s->directions = directions;
    return count > 0 && count <= INT_MAX
        && (directions != NULL || count <= s->parameters);
}

// Forward sensitivities: s_k = dy/dp along directions[k], by exact derivatives
// of f: CVodeSensInit1, tolerances from those of the state
// (CVodeSensEEtolerances), and error control.
//
//   count        in    of sensitivities
//   directions [count][parameters]   in    kept, not copied; NULL: that of each
//                      parameter in turn. All zero: of an initial value
//   method       in    CV_SIMULTANEOUS, CV_STAGGERED or CV_STAGGERED1
//   start [count] in   the sensitivities of the initial values
//
//   returns      as CVodeSensInit1; CV_ILL_INPUT: no such directions
static inline int ad_cvodes_sensitivities(void *cvodes, ad_system *s,
                                          size_t count,
                                          const double directions[], int method,
                                          N_Vector start[])
{
    if (s == NULL)
        return CV_MEM_FAIL;
    if (!adx_sundials_directed(s, count, directions))
        return CV_ILL_INPUT;
    int code = CVodeSensInit1(cvodes, (int)count, method,
                              adx_cvodes_sensitivity, start);
    if (code == CV_SUCCESS && count <= s->parameters)
        code = adx_sundials_set_scales(cvodes, s, CVodeSetSensParams);
    if (code == CV_SUCCESS)
        code = CVodeSensEEtolerances(cvodes);
    return code != CV_SUCCESS ? code : CVodeSetSensErrCon(cvodes, SUNTRUE);
}

/* --- CVODES, backwards: a' = -(df/dy)' a ---------------------------------- */

static inline int adx_cvodes_f_b(sunrealtype t, N_Vector y, N_Vector a,
                                 N_Vector rate, void *system)
{
    ad_system *s = (ad_system *)system;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    return adx_sundials_back(s, N_VGetArrayPointer(a), -1, 0, s->n,
                             N_VGetArrayPointer(rate));
}

static inline int adx_cvodes_quadrature_b(sunrealtype t, N_Vector y, N_Vector a,
                                          N_Vector rate, void *system)
{
    ad_system *s = (ad_system *)system;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    return adx_sundials_back(s, N_VGetArrayPointer(a), -1, s->p_at,
                             s->parameters, N_VGetArrayPointer(rate));
}

static inline int adx_cvodes_jacobian_b(sunrealtype t, N_Vector y, N_Vector a,
                                        N_Vector fa, SUNMatrix A, void *system,
                                        N_Vector b, N_Vector c, N_Vector d)
{
    ad_system *s = (ad_system *)system;
    (void)a;
    (void)fa;
    (void)b;
    (void)c;
    (void)d;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    return adx_sundials_matrix(s, A, 0, -1, true);
}

static inline int adx_cvodes_product_b(N_Vector v, N_Vector product,
                                       sunrealtype t, N_Vector y, N_Vector a,
                                       N_Vector fa, void *system, N_Vector b)
{
    ad_system *s = (ad_system *)system;
    (void)a;
    (void)fa;
    (void)b;
    adx_system_at(s, t, N_VGetArrayPointer(y), NULL);
    return adx_sundials_back(s, N_VGetArrayPointer(v), -1, 0, s->n,
                             N_VGetArrayPointer(product));
}

// The adjoint problem of s, from t back to where the forward one began
// (CVodeAdjInit, CVodeF): CVodeCreateB, CVodeInitB, CVodeQuadInitB.
//
// Let G be a function of y at t. With the adjoint a = dG/dy there, CVodeB ends
// with a(t0) = dG/dy(t0), and with q(t0) = dG/dp of all that lies between,
// y(t0) being fixed. For a sum over moments t_i stop at each of them (CVodeB,
// CVodeGetB, CVodeGetQuadB), add its dG/dy to a, and go on with CVodeReInitB
// and CVodeQuadReInitB. For an integral, make it a component of y.
//
//   which        out   the number of the problem, for CVodeSStolerancesB,
//                      CVodeQuadSStolerancesB, CVodeGetB and others
//   method       in    CV_BDF or CV_ADAMS
//   a   [n]      in    dG/dy at t
//   q   [parameters]   in    as a rule 0; NULL: no derivatives by p
//
//   returns      as these calls; CV_MEM_FAIL: s is NULL; CV_ILL_INPUT: no such
//                vectors. Quadratures are not in the error control, unless
//                CVodeSetQuadErrConB says so
//   cost         of each rate a reverse sweep of f, of the quadrature another
static inline int ad_cvodes_backward(void *cvodes, ad_system *s, int *which,
                                     int method, double t, N_Vector a,
                                     N_Vector q)
{
    if (s == NULL)
        return CV_MEM_FAIL;
    if (s->ode == NULL || !adx_sundials_adjoint(s, a, q))
        return CV_ILL_INPUT;
    int code = CVodeCreateB(cvodes, method, which);
    if (code == CV_SUCCESS)
        code = CVodeInitB(cvodes, *which, adx_cvodes_f_b, t, a);
    if (code == CV_SUCCESS)
        code = CVodeSetUserDataB(cvodes, *which, s);
    if (code == CV_SUCCESS && q != NULL)
        code = CVodeQuadInitB(cvodes, *which, adx_cvodes_quadrature_b, q);
    return code;
}

// As ad_cvodes_linear_solver, for an adjoint problem.
static inline int ad_cvodes_linear_solver_b(void *cvodes, int which,
                                            SUNLinearSolver solver, SUNMatrix A)
{
    if (!adx_sundials_known(A))
        return CVLS_ILL_INPUT;
    const int code = CVodeSetLinearSolverB(cvodes, which, solver, A);
    if (code != CVLS_SUCCESS)
        return code;
    return A != NULL ? CVodeSetJacFnB(cvodes, which, adx_cvodes_jacobian_b)
                     : CVodeSetJacTimesB(cvodes, which, NULL,
                                         adx_cvodes_product_b);
}
