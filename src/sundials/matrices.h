#pragma once

/* === sundials/matrices ======================================================
 * What the solvers share: what callbacks return, the way of a Jacobian to a
 * matrix of SUNDIALS, and products.
 *
 *   offers  adx_sundials_code adx_sundials_fits adx_sundials_known
 *           adx_sundials_lines adx_sundials_put adx_sundials_matrix
 *           adx_sundials_product adx_sundials_back adx_sundials_adjoint
 *           adx_sundials_seed
 * ====================================================================== */

/* --- what they share ----------------------------------------------------- */

// What a callback returns for the status and its n results: 0; 1: recoverable;
// -1: the end.
static inline int adx_sundials_code(const ad_system *s, ad_status status,
                                    size_t n, const double result[])
{
    if (status == ADREV_OK)
        return adx_model_finite(n, result) ? 0 : 1;
    return s->model->stopped || status == ADREV_ESHAPE ? -1 : 1;
}

// Whether a vector is one for s: of n numbers, all in one place.
static inline bool adx_sundials_fits(const ad_system *s, N_Vector v, size_t n)
{
    return v != NULL && v->ops->nvgetarraypointer != NULL && s != NULL
        && (size_t)N_VGetLength(v) == n;
}

// Whether a matrix is none, or one that can be filled.
static inline bool adx_sundials_known(SUNMatrix A)
{
    if (A == NULL)
        return true;
    const SUNMatrix_ID id = SUNMatGetID(A);
    return id == SUNMATRIX_DENSE || id == SUNMATRIX_BAND
        || id == SUNMATRIX_SPARSE;
}

// factor * M to the columns of A, which is zero.
static inline ad_status adx_sundials_dense(const ad_system *s,
                                           const adx_system_matrix *M,
                                           double factor, SUNMatrix A)
{
    for (size_t j = 0; j < s->n; j++) {
        double *column = SM_COLUMN_D(A, j);
        for (size_t k = M->start[j]; k < M->start[j + 1]; k++)
            column[M->across[k]] = factor * M->value[k];
    }
    return ADREV_OK;
}

static inline ad_status adx_sundials_band(const ad_system *s,
                                          const adx_system_matrix *M,
                                          double factor, SUNMatrix A)
{
    const sunindextype above = SM_UBAND_B(A), below = SM_LBAND_B(A);
    for (size_t j = 0; j < s->n; j++) {
        double *column = SM_COLUMN_B(A, j);
        for (size_t k = M->start[j]; k < M->start[j + 1]; k++) {
            const sunindextype off
                = (sunindextype)M->across[k] - (sunindextype)j;
            if (off < -above || off > below)
                return ADREV_ESHAPE;
            column[off] = factor * M->value[k];
        }
    }
    return ADREV_OK;
}

// Pattern and values. A pattern other than the first one is an error, since the
// linear solver has not analysed it.
static inline ad_status adx_sundials_sparse(const ad_system *s,
                                            adx_system_matrix *M,
                                            double factor, SUNMatrix A)
{
    const bool other = M->told != 0 && M->told != M->changes;
    M->told = M->changes;
    if (other)
        return ADREV_ESHAPE;
    if ((size_t)SM_NNZ_S(A) < M->count
        && SUNSparseMatrix_Reallocate(A, (sunindextype)M->count) != 0)
        return ADREV_ENOMEM;
    for (size_t i = 0; i <= s->n; i++)
        SM_INDEXPTRS_S(A)[i] = (sunindextype)M->start[i];
    for (size_t k = 0; k < M->count; k++) {
        SM_INDEXVALS_S(A)[k] = (sunindextype)M->across[k];
        SM_DATA_S(A)[k] = factor * M->value[k];
    }
    return ADREV_OK;
}

// Whose lines are those of A, or of A'.
static inline adx_system_matrix *adx_sundials_lines(ad_system *s, SUNMatrix A,
                                                    bool transposed)
{
    const bool rows = SUNMatGetID(A) == SUNMATRIX_SPARSE
                   && SM_SPARSETYPE_S(A) == CSR_MAT;
    return rows != transposed ? &s->by_rows : &s->by_columns;
}

// Whether A has n rows and n columns.
static inline bool adx_sundials_is_square(SUNMatrix A, size_t n)
{
    const SUNMatrix_ID id = SUNMatGetID(A);
    const sunindextype rows = id == SUNMATRIX_DENSE ? SM_ROWS_D(A)
                            : id == SUNMATRIX_BAND ? SM_ROWS_B(A)
                            : SM_ROWS_S(A);
    const sunindextype columns = id == SUNMATRIX_DENSE ? SM_COLUMNS_D(A)
                               : id == SUNMATRIX_BAND ? SM_COLUMNS_B(A)
                               : SM_COLUMNS_S(A);
    return (size_t)rows == n && (size_t)columns == n;
}

// A = factor times M, whose values have this status.
static inline int adx_sundials_put(ad_system *s, adx_system_matrix *M,
                                   ad_status status, double factor, SUNMatrix A)
{
    const SUNMatrix_ID id = SUNMatGetID(A);
    if (status == ADREV_OK) {
        status = !adx_sundials_is_square(A, s->n) ? ADREV_ESHAPE
               : id == SUNMATRIX_DENSE ? adx_sundials_dense(s, M, factor, A)
               : id == SUNMATRIX_BAND ? adx_sundials_band(s, M, factor, A)
               : adx_sundials_sparse(s, M, factor, A);
        if (status == ADREV_ESHAPE)
            s->model->status = status;      // the model itself may go on
        else
            adx_model_keep(s->model, status);
    }
    return adx_sundials_code(s, status, M->count, M->value);
}

// A = factor J, or J', at s->x.
static inline int adx_sundials_matrix(ad_system *s, SUNMatrix A, double c,
                                      double factor, bool transposed)
{
    adx_system_matrix *M = adx_sundials_lines(s, A, transposed);
    return adx_sundials_put(s, M, adx_system_jacobian(s, M, c), factor, A);
}

// product = the derivative along s->v.
static inline int adx_sundials_product(ad_system *s, N_Vector product)
{
    double *out = N_VGetArrayPointer(product);
    return adx_sundials_code(s, adx_system_jvp(s, out), s->n, out);
}

// out = factor times a part of J' w.
static inline int adx_sundials_back(ad_system *s, const double w[],
                                    double factor, size_t at, size_t n,
                                    double out[])
{
    const ad_status status = adx_system_vjp(s, w);
    if (status == ADREV_OK)
        for (size_t i = 0; i < n; i++)
            out[i] = factor * s->v[at + i];
    return adx_sundials_code(s, status, n, out);
}

// Whether these can be an adjoint, and what is summed up for the parameters.
static inline bool adx_sundials_adjoint(const ad_system *s, N_Vector a,
                                        N_Vector q)
{
    return adx_sundials_fits(s, a, s->n)
        && (q == NULL || adx_sundials_fits(s, q, s->parameters));
}

// The direction of sensitivity k in the parameters, into s->v.
static inline void adx_sundials_seed(ad_system *s, size_t k)
{
    double *p = s->v + s->p_at;
    if (s->directions == NULL)
        p[k] = 1;
    else
        memcpy(p, s->directions + k * s->parameters,
               s->parameters * sizeof *p);
}
