// SPDX-License-Identifier: MIT-0
/* tensor_eigen.cpp - values of programs of tensor.c by Eigen. */

#include "tensor.h"

#include <Eigen/Dense>
#include <Eigen/SparseCore>

namespace {

typedef Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>
    matrix;
typedef Eigen::Map<const matrix> in_matrix;
typedef Eigen::Map<const Eigen::VectorXd> in_vector;

Eigen::Index of(size_t n)
{
    return static_cast<Eigen::Index>(n);
}

void squares_value(const tensor_data *d, double *y)
{
    const in_matrix A(d->x[0], of(d->size[0]), of(d->size[1]));
    const in_vector x(d->x[1], A.cols());
    const in_vector b(d->x[2], A.rows());

    *y = 0.5 * (A * x - b).squaredNorm();
}

void squares_gradient(const tensor_data *d, double *y, double *const g[])
{
    const in_matrix A(d->x[0], of(d->size[0]), of(d->size[1]));
    const in_vector x(d->x[1], A.cols());
    const in_vector b(d->x[2], A.rows());
    const Eigen::VectorXd r = A * x - b;

    *y = 0.5 * r.squaredNorm();
    Eigen::Map<Eigen::VectorXd>(g[1], A.cols()).noalias() = A.transpose() * r;
}

void spmv_value(const tensor_data *d, double *y)
{
    const Eigen::Map<const Eigen::SparseMatrix<double, Eigen::RowMajor>> A(
        of(d->size[0]), of(d->size[1]), of(d->entries), d->start, d->column[1],
        d->x[0]);

    Eigen::Map<Eigen::VectorXd>(y, A.rows()).noalias()
        = A * in_vector(d->x[1], A.cols());
}

void matmul_value(const tensor_data *d, double *y)
{
    const in_matrix A(d->x[0], of(d->size[0]), of(d->size[1]));
    const in_matrix B(d->x[1], A.cols(), of(d->size[2]));

    Eigen::Map<matrix>(y, A.rows(), B.cols()).noalias() = A * B;
}

void matmul_gradient(const tensor_data *d, double *, double *const g[])
{
    const in_matrix A(d->x[0], of(d->size[0]), of(d->size[1]));
    const in_matrix B(d->x[1], A.cols(), of(d->size[2]));
    const in_matrix w(d->w, A.rows(), B.cols());

    Eigen::Map<matrix>(g[0], A.rows(), A.cols()).noalias() = w * B.transpose();
    Eigen::Map<matrix>(g[1], B.rows(), B.cols()).noalias() = A.transpose() * w;
}

tensor_tool tool()
{
    tensor_tool t = {};

    t.name = "eigen";
    t.run[TENSOR_SQUARES] = { squares_value, squares_gradient };
    t.run[TENSOR_SPMV] = { spmv_value, nullptr };
    t.run[TENSOR_MATMUL] = { matmul_value, matmul_gradient };
    return t;
}

}  // namespace

const tensor_tool tensor_eigen = tool();
