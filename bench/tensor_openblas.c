// SPDX-License-Identifier: MIT-0
/* tensor_openblas.c - products of matrices by OpenBLAS, on one thread. */

#include "tensor.h"

#include <cblas.h>

// C = A B, or with one of the two transposed.
static void product(const tensor_data *d, CBLAS_TRANSPOSE ta,
                    CBLAS_TRANSPOSE tb, const size_t mnk[3], const double *A,
                    const double *B, double *C)
{
    const int lda = (int)d->size[tb == CblasTrans ? 2 : 1];
    const int ldb = (int)d->size[2];

    openblas_set_num_threads(1);
    cblas_dgemm(CblasRowMajor, ta, tb, (int)mnk[0], (int)mnk[1], (int)mnk[2],
                1.0, A, lda, B, ldb, 0.0, C, (int)mnk[1]);
}

static void matmul_value(const tensor_data *d, double *y)
{
    const size_t mnk[] = { d->size[0], d->size[2], d->size[1] };

    product(d, CblasNoTrans, CblasNoTrans, mnk, d->x[0], d->x[1], y);
}

static void matmul_gradient(const tensor_data *d, double *y, double *const g[])
{
    const size_t of_a[] = { d->size[0], d->size[1], d->size[2] };
    const size_t of_b[] = { d->size[1], d->size[2], d->size[0] };

    (void)y;
    product(d, CblasNoTrans, CblasTrans, of_a, d->w, d->x[1], g[0]);
    product(d, CblasTrans, CblasNoTrans, of_b, d->x[0], d->w, g[1]);
}

// The processor that it takes this one for.
const char *tensor_openblas_core(void)
{
    return openblas_get_corename();
}

const tensor_tool tensor_openblas = {
    .name = "openblas",
    .run = { [TENSOR_MATMUL] = { matmul_value, matmul_gradient } },
};
