#pragma once

/* === assemble/api ===========================================================
 * Functions that are sums of elements: the types, and every public function
 * with its contract.
 *
 *   needs   function/api code/api
 * ========================================================================== */

/* --- types ---------------------------------------------------------------- */

// Elements of one kind: the same function, with variables, parameters and
// results of its own in each element.
typedef struct ad_elements {
    ad_fn *fn;                  // of one element: nv = ad_fn_variables(fn)
                                // variables, then ad_fn_inputs(fn) - nv
                                // parameters (ad_fn_select)
    size_t count;               // of elements; may be 0
    const int32_t *variable;    // [count][nv] in x, which element e reads as
                                // its input i; below 0: the number 0
    const int32_t *parameter;   // [count][np] in p, the same
    const int32_t *result;      // [count][m] in y, to which its result i is
                                // added; below 0: it is not wanted
} ad_elements;

typedef struct ad_assembly_options {
    const ad_allocator *allocator;  // NULL: malloc and free; ADREV_NO_STDLIB:
                                    // ADREV_ENOMEM. Called from all threads
                                    // that use the assembly
    const bool *fixed;          // [n] variables that are held: there are no
                                // derivatives by them; NULL: none
} ad_assembly_options;

typedef struct ad_assembly ad_assembly;

typedef struct ad_assembly_size {
    size_t variables, parameters, results;      // n, np, m
    size_t kinds, elements;
} ad_assembly_size;

// Which element something is about.
typedef struct ad_element {
    size_t kind, element;       // counted from 0, within the kind
    const char *array;          // "variable", "parameter" or "result", if an
                                // index is out of range; else NULL
    size_t input;               // then: of the element, or its result
    int32_t index;              // then: what the array has there
} ad_element;

/* --- interface --------------------------------------------------------------
 * An assembly does not change: any number of threads may use it at once. After
 * the first call of each function, further evaluations allocate nothing. If
 * adrev_parallel.h is included before this header where both are implemented,
 * elements and sums run on the pool, whose threads may allocate their memory
 * each time. Results do not depend on the number of threads, on lanes, or on
 * whether elements are compiled (without contraction). Contributions to a
 * number are added kind by kind; of a kind, result by result of the element
 * function (adjoints: input by input; matrices: entry by entry); and then
 * element by element.
 *
 * Results are written only if ADREV_OK is returned, after all arguments have
 * been read, so that a result may lie where an argument does. Otherwise:
 *
 *     ADREV_EPATH    a guard of an element came out differently:
 *                    ad_assembly_element says of which element, ad_fn_guard
 *                    which guard. It is the first such element
 *     ADREV_EEXTERNAL  an external statement failed in an element: the same
 *     ADREV_ENOMEM   the allocator returned NULL
 *     ADREV_ESHAPE   an array is NULL that must not be
 *
 * There is no function for Taylor coefficients along v: the first one is J v,
 * the second one of a weighted sum is v H v / 2 (ad_assembly_hvp), and higher
 * ones are sums of those of the elements, each by ad_fn_taylor.
 *
 * Arrays: x [n], p [np], y, dy and w [m], v, dx and hv [n].                  */

#ifdef __cplusplus
extern "C" {
#endif

/* --- making --------------------------------------------------------------- */

// The function y = sum of elements, of n variables and np parameters, with m
// results.
//
//   out          out   to be freed with ad_assembly_free; NULL on failure
//   options      in    NULL: all-zero
//   kind [kinds] in    copied, with their functions and indices: all of it may
//                      be freed or changed afterwards. One element may read a
//                      variable several times, and add to a result several
//                      times. A result that nobody adds to is 0
//
//   returns      ADREV_OK; ADREV_ESHAPE: an index is n (np, m) or more: see
//                ad_assembly_element; or m is 0, or an array is NULL;
//                ADREV_ELIMIT: more than 2^31 - 1 variables, parameters or
//                results, or 2^32 - 2 contributions of elements; ADREV_ENOMEM
//   cost         some ns for each index. Programs and patterns are made when
//                they are first needed, in a time that depends on the length of
//                an element's program, and in a few ns for each of its entries
//                of each element
//   memory       of the assembly 8 to 16 bytes, and of an evaluation a number
//                for each contribution of each element
ADX_TRY ad_status ad_fn_assemble(ad_assembly **out,
                                 const ad_assembly_options *options, size_t n,
                                 size_t np, size_t m, size_t kinds,
                                 const ad_elements kind[]);
ADX_API void ad_assembly_free(ad_assembly *a);

// All zero of NULL.
ADX_API ad_assembly_size ad_assembly_about(const ad_assembly *a);

// What the last ADREV_EPATH or ADREV_EEXTERNAL of an assembly, or the last
// index out of range, was about, on this thread.
ADX_API ad_element ad_assembly_element(void);

// From now on elements are evaluated by machine code, in blocks. The time to
// compile depends on the element functions only, not on the number of elements.
// Elements with guards, array statements or external statements are replayed as
// before.
//
//   options      in    as of ad_fn_compile; functions 0: value, jvp, vjp, hvp
//                      and both sparse matrices
//
//   returns      as ad_fn_compile
//   threads      no other thread may use the assembly meanwhile
ADX_TRY ad_status ad_assembly_compile(ad_assembly *a,
                                      const ad_compile_options *options);

/* --- evaluation ----------------------------------------------------------- */

// y = the sum of all elements at x, with the parameters p.
ADX_TRY ad_status ad_assembly_eval(ad_assembly *a, const ad_real x[],
                                   const ad_real p[], ad_real y[]);

// dy = J v.
ADX_TRY ad_status ad_assembly_jvp(ad_assembly *a, const ad_real x[],
                                  const ad_real p[], const ad_real v[],
                                  ad_real dy[]);

// dx = w J.
ADX_TRY ad_status ad_assembly_vjp(ad_assembly *a, const ad_real x[],
                                  const ad_real p[], const ad_real w[],
                                  ad_real dx[]);

// Value (y may be NULL) and gradient, if there is one result.
ADX_TRY ad_status ad_assembly_gradient(ad_assembly *a, const ad_real x[],
                                       const ad_real p[], ad_real *y,
                                       ad_real g[]);

// hv = H v, with H the second derivatives of the sum of w[i] y[i].
ADX_TRY ad_status ad_assembly_hvp(ad_assembly *a, const ad_real x[],
                                  const ad_real p[], const ad_real w[],
                                  const ad_real v[], ad_real hv[]);

/* --- sparse matrices --------------------------------------------------------
 * As those of a recorded function: the Jacobian, and the lower triangle of the
 * Hessian, sorted by row, then column, or in any form of ad_layout. The pattern
 * is that of the elements; within one, that of its function. A fixed variable
 * has a column of the Jacobian, and a row and a column of the Hessian, without
 * entries.                                                                   */

//   nonzeros     out   may be NULL, as all others may
//   start        out   [m + 1], Hessian [n + 1]
ADX_TRY ad_status ad_assembly_jacobian_pattern(ad_assembly *a, size_t *nonzeros,
                                               size_t start[], size_t row[],
                                               size_t column[]);
ADX_TRY ad_status ad_assembly_hessian_pattern(ad_assembly *a, size_t *nonzeros,
                                              size_t start[], size_t row[],
                                              size_t column[]);

// The form that a solver takes, as ad_fn_jacobian_export.
ADX_TRY ad_status ad_assembly_jacobian_export(ad_assembly *a,
                                              const ad_layout *layout,
                                              ad_export **out);
ADX_TRY ad_status ad_assembly_hessian_export(ad_assembly *a,
                                             const ad_layout *layout,
                                             ad_export **out);

// Values of the entries.
//
//   e            in    the form; NULL: in the order of the pattern
//   value        out   [nonzeros]; or as ad_fn_jacobian_values
//
//   returns      as above; ADREV_ESHAPE: also if e does not fit
ADX_TRY ad_status ad_assembly_jacobian(ad_assembly *a, const ad_real x[],
                                       const ad_real p[], ad_export *e,
                                       ad_real value[]);
ADX_TRY ad_status ad_assembly_hessian(ad_assembly *a, const ad_real x[],
                                      const ad_real p[], const ad_real w[],
                                      ad_export *e, ad_real value[]);

/* --- dense matrices ---------------------------------------------------------
 * Of small assemblies: zeros stand where the pattern has no entry.           */

// J[i*n + j] = dy[i]/dx[j].
//
//   J [m*n]      out
//
//   cost         as the sparse matrix, and once through J
ADX_TRY ad_status ad_assembly_jacobian_dense(ad_assembly *a, const ad_real x[],
                                             const ad_real p[], ad_real J[]);

// H[i*n + j] = d2(w y)/dx[i]dx[j], both triangles.
//
//   H [n*n]      out
ADX_TRY ad_status ad_assembly_hessian_dense(ad_assembly *a, const ad_real x[],
                                            const ad_real p[],
                                            const ad_real w[], ad_real H[]);

#ifdef __cplusplus
}
#endif
