// SPDX-License-Identifier: MIT-0
/* eigen.cpp - matrices of Eigen whose numbers are those of adrev: values as with
 * double, gradients against differences and, forward, against one another. Built
 * by eigen.sh, with -DMORE=1 for `make matrix`.                              */

#include "adrev_eigen.h"

#include <Eigen/Dense>

#include <cstdio>
#include <vector>

#include "check_cpp.h"

template <class T> using matrix = Eigen::Matrix<T, Eigen::Dynamic,
                                                Eigen::Dynamic>;
template <class T> using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

/* --- programs -------------------------------------------------------------- */

enum { N = 3, INPUTS = N * N };

template <class T> static matrix<T> square(const vector<T> &x)
{
    return Eigen::Map<const matrix<T>>(x.data(), N, N);
}

// Symmetric, and positive definite.
template <class T> static matrix<T> positive(const vector<T> &x)
{
    matrix<T> A = square(x);
    return A * A.transpose() + matrix<T>::Identity(N, N);
}

template <class T> static vector<T> right_side(const vector<T> &x)
{
    vector<T> b = x.head(N);
    b(0) += 2;
    return b;
}

struct products {
    template <class T> T operator()(const vector<T> &x) const
    {
        matrix<T> A = square(x);
        Eigen::MatrixXd B = Eigen::MatrixXd::Ones(N, N) * 0.5;
        vector<T> y = B.lazyProduct(A).transpose() * x.tail(N);
        y += B * x.tail(N) + B.transpose() * y;
        y += A * B.cast<T>() * y.cwiseProduct(y) / 3 + 2 * x.head(N);
        y = y + B.col(0).cwiseProduct(y) * 0.5;
        return y.dot(x.head(N)) + A.trace() + (A * A).sum();
    }
};

struct norms {
    template <class T> T operator()(const vector<T> &x) const
    {
        vector<T> unit = x.normalized();
        T most = x.cwiseAbs().maxCoeff();
        return x.norm() + x.squaredNorm() + unit(0) + most
             + x.template lpNorm<1>() + x.stableNorm()
             + x.array().exp().sum() + (x.array() * x.array().sin()).mean();
    }
};

// Numbers written one after the other, the first of them recorded.
struct written {
    template <class T> T operator()(const vector<T> &x) const
    {
        vector<T> v(4);
        v << x(0), x(1) * x(2), 2, x(3);
        matrix<T> A(2, 2);
        A << x(4) * x(5), x(6), x.tail(2).transpose();
        return v.squaredNorm() + A.determinant();
    }
};

struct lu {
    template <class T> T operator()(const vector<T> &x) const
    {
        vector<T> y = square(x).partialPivLu().solve(right_side(x));
        return y.squaredNorm();
    }
};

#ifdef MORE
struct determinant {
    template <class T> T operator()(const vector<T> &x) const
    {
        return square(x).determinant()
             + Eigen::Matrix<T, N, N>(square(x)).determinant();
    }
};

struct full_lu {
    template <class T> T operator()(const vector<T> &x) const
    {
        return square(x).fullPivLu().solve(right_side(x)).sum()
             + square(x).inverse().sum();
    }
};

struct cholesky {
    template <class T> T operator()(const vector<T> &x) const
    {
        vector<T> y = positive(x).llt().solve(right_side(x));
        return y.sum() + positive(x).ldlt().solve(y).squaredNorm();
    }
};

struct qr {
    template <class T> T operator()(const vector<T> &x) const
    {
        vector<T> y = square(x).householderQr().solve(right_side(x));
        return y.squaredNorm()
             + square(x).colPivHouseholderQr().solve(y).sum();
    }
};

struct eigenvalues {
    template <class T> T operator()(const vector<T> &x) const
    {
        Eigen::SelfAdjointEigenSolver<matrix<T>> s(positive(x));
        return s.eigenvalues()(0) * s.eigenvalues()(2);
    }
};

struct rotations {
    template <class T> T operator()(const vector<T> &x) const
    {
        Eigen::Matrix<T, 3, 1> axis = x.template head<3>();
        axis.normalize();
        Eigen::AngleAxis<T> turn(x(3), axis);
        Eigen::Quaternion<T> q(turn);
        Eigen::Matrix<T, 3, 1> v = x.template tail<3>();
        return (q * v)(0) + (turn.toRotationMatrix() * v)(1)
             + axis.cross(v)(2);
    }
};
#endif

/* --- checks ---------------------------------------------------------------- */

static Eigen::VectorXd point()
{
    Eigen::VectorXd x(INPUTS);
    x << 2.1, 0.3, -0.7, 0.4, 1.7, 0.9, -0.2, 0.6, -1.9;
    return x;
}

template <class F> static void differentiate(const char *name, F f)
{
    const Eigen::VectorXd at = point();
    ad_tape *t = ad_tape_new();
    ad_use(t);
    vector<ad_rev> x(INPUTS);
    ad_inputs(INPUTS, at.data(), x.data());
    ad_rev y = f(x);
    Eigen::VectorXd g(INPUTS);
    bool right = ad_gradient(t, y, INPUTS, x.data(), g.data()) == ADREV_OK;
    double scale = 1 + std::fabs(f(at));
    right = right && std::fabs(y.v - f(at)) <= 1e-12 * scale;
    for (int i = 0; i < INPUTS; i++) {
        vector<ad_fwd> d = at.cast<ad_fwd>();
        d(i).d = 1;
        const double h = 1e-6;
        Eigen::VectorXd up = at;
        Eigen::VectorXd down = at;
        up(i) += h;
        down(i) -= h;
        ad_fwd forward = f(d);
        double slope = (f(up) - f(down)) / (2 * h);
        double size = 1 + std::fabs(slope);
        right = right && std::fabs(forward.v - y.v) <= 1e-12 * scale
             && std::fabs(forward.d - g(i)) <= 1e-10 * size
             && std::fabs(slope - g(i)) <= 1e-6 * size * scale;
        if (!right)
            std::printf("  d/dx%d: %.12g, forward %.12g, difference %.12g\n", i,
                        g(i), forward.d, slope);
    }
    ad_tape_free(t);
    check(right, name, __FILE__, __LINE__);
}

#define DIFFERENTIATE(f) differentiate(#f, f())

// Jacobians and array statements on Eigen's memory.
static void test_memory()
{
    const Eigen::VectorXd at = point();
    ad_tape *t = ad_tape_new();
    ad_use(t);
    vector<ad_rev> x(INPUTS);
    ad_inputs(INPUTS, at.data(), x.data());
    vector<ad_rev> y = square(x) * x.head(N);
    vector<ad_rev> z(N);
    ad_matvec_s(N, N, x.data(), 1, N, x.data(), 1, z.data(), 1);
    Eigen::Matrix<double, N, INPUTS, Eigen::RowMajor> J, K;
    bool right = ad_jacobian(t, N, y.data(), INPUTS, x.data(), J.data())
                     == ADREV_OK
              && ad_jacobian(t, N, z.data(), INPUTS, x.data(), K.data())
                     == ADREV_OK;
    check(right && (J - K).norm() < 1e-13 && J.norm() > 1, "Jacobians",
          __FILE__, __LINE__);
    ad_tape_free(t);
}

int main()
{
    DIFFERENTIATE(products);
    DIFFERENTIATE(norms);
    DIFFERENTIATE(written);
    DIFFERENTIATE(lu);
    test_memory();
#ifdef MORE
    DIFFERENTIATE(determinant);
    DIFFERENTIATE(full_lu);
    DIFFERENTIATE(cholesky);
    DIFFERENTIATE(qr);
    DIFFERENTIATE(eigenvalues);
    DIFFERENTIATE(rotations);
#endif
    return check_done("eigen");
}
