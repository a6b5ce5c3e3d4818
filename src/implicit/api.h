#pragma once

/* === implicit/api ===========================================================
 * Solutions of equations as one statement: the types, and every public function
 * with its contract.
 *
 *   needs   function/api
 * ========================================================================== */

#ifdef __cplusplus
extern "C" {
#endif

// J = dg/dx at a solution, as a linear solver is given it.
typedef struct ad_implicit_matrix {
    size_t n;
    // Row by row: entries of row i are start[i] to start[i+1], columns
    // ascending. NULL and 0 unless the solver is `sparse`.
    size_t nonzeros;
    const size_t *start;        // [n+1]
    const size_t *column;       // [nonzeros]
    const ad_real *value;       // [nonzeros]
    const void *adx_point;
} ad_implicit_matrix;

// out = J v or, transposed, J' v: for solvers that need no matrix.
//
//   v, out [n]   in, out   may be the same array
//
//   returns      ADREV_OK; as ad_fn_jvp and ad_fn_vjp
//   cost         one tangent or adjoint of g
ADX_TRY ad_status ad_implicit_times(const ad_implicit_matrix *J,
                                    bool transposed, const ad_real v[],
                                    ad_real out[]);

// A linear solver of the user's. Several threads may call it at once.
//
// sparse       J is wanted row by row, from g's sparse Jacobian
// factor       prepares for J, which lives until `release`. Returns what
//              `solve` and `release` are given, not NULL; NULL: J is singular,
//              or factoring failed. The function may be NULL: nothing is
//              prepared
// solve        r[n] becomes J^-1 r or, transposed, J^-T r; false: it failed
// release      may be NULL
typedef struct ad_implicit_solver {
    bool sparse;
    void *(*factor)(void *user, const ad_implicit_matrix *J);
    bool (*solve)(void *user, void *factors, const ad_implicit_matrix *J,
                  bool transposed, ad_real r[]);
    void (*release)(void *user, void *factors);
    void *user;
} ad_implicit_solver;

// A solution x of g(x, p) = 0, whoever found it.
typedef struct ad_implicit_desc {
    ad_fn *g;               // inputs: x, then p; results: n. For a minimum, the
                            // gradient of the objective: ad_fn_derive_gradient
    size_t n;               // unknowns
    const ad_real *x;       // [n] the solution at the values of p
    ad_real tolerance;      // the largest step that Newton's method may still
                            // want to take there; 0: 1e-8 (float: 1e-3)
    ad_real scale;          // of that; 0: the largest |x|, or 1 if that is less
    const ad_implicit_solver *solver;   // copied; NULL: dense LU factors
    // Finds the solution for other parameters, when a recorded function is
    // evaluated there: x is that of the recording before, the solution after.
    // Several threads may call it at once. NULL: Newton's method, damped
    bool (*find)(void *user, const ad_real p[], ad_real x[]);
    void *user;
} ad_implicit_desc;

// The solution as one statement, which depends on p by the implicit function
// theorem: dx/dp = -(dg/dx)^-1 dg/dp. What the solver did is not looked at, nor
// recorded.
//
//   p   [q]      in    parameters; the inputs of g behind x. To solve inside of
//                      a function that is being recorded, read them as p[i].v:
//                      ad_value would bind the recording to this point
//   x   [n]      out   the values of d->x; NaN on failure. May be p
//
//   returns      ADREV_OK; ADREV_EUNSOLVED: d->x is no solution, as Newton's
//                step says; ADREV_ESINGULAR: dg/dx is singular, or the solver
//                failed; ADREV_ESHAPE: an array is NULL that must not be, or g
//                has other than n results, or inputs that derivatives are not
//                taken by (ad_fn_select); ADREV_ENOMEM; those of ad_fn_eval at
//                this point. With each of them the tape fails, too;
//                ad_tape_reason says more
//   cost         g's Jacobian, 2/3 n^3 for LU factors, a solve; each direction
//                of a sweep: a solve, and a tangent or adjoint of g. For second
//                derivatives another solve and an ad_fn_hvp of g. A recorded
//                function finds the solution again at each point, but not at
//                that of the recording: its values there are d->x. Directions
//                of its Jacobian or Hessian share one solution and its factors,
//                as many as ADREV_LANES_MOST
//   memory       n^2 + n + q numbers, or what the solver keeps, until the
//                statement leaves the tape
//   threads      g and the solver may be used by all sweeps of the tape
//   see          tests/implicit/implicit.c
ADX_API ad_status ad_implicit(const ad_implicit_desc *d, const ad_rev p[],
                              ad_rev x[]);

#ifdef __cplusplus
}
#endif
