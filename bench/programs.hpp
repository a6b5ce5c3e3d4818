// SPDX-License-Identifier: MIT-0
/* programs.hpp - the programs of plain.c for any C++ number type.
 *
 * For tools that overload operators: the file of a tool says how to record and
 * how to sweep, and takes the programs from here. Each statement of plain.c is
 * one statement. Functions are found by the argument's namespace, so <cmath>
 * need not know the type.
 */

#ifndef BENCH_PROGRAMS_HPP
#define BENCH_PROGRAMS_HPP

#include "workloads.h"

#include <cmath>
#include <cstddef>
#include <vector>

namespace bench {

using std::exp;
using std::size_t;
using std::sin;

template <class T> T product3(const T *a, const T *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// With the cross product as the paper prints it, see plain.c.
template <class T> void rotate(const T *v, const T *u, const T &s, T *y)
{
    const T uv = product3(u, v);
    const T uu = product3(u, u);
    const T along = 2.0 * uv;
    const T scale = s * s - uu;
    const T twice = 2.0 * s;

    y[0] = along * u[0] + scale * v[0] + twice * (u[1] * v[2] - u[2] * v[1]);
    y[1] = along * u[1] + scale * v[1] + twice * (u[2] * v[2] - u[0] * v[2]);
    y[2] = along * u[2] + scale * v[2] + twice * (u[0] * v[1] - u[1] * v[0]);
}

// A local T is a number of the tool: it may register itself with the tape when
// it is made, and take itself off when it goes out of scope.
template <class T> T dot(size_t n, const T *x, const T *y)
{
    T s = 0.0;

    for (size_t i = 0; i < n; i++) {
        s += x[i] * y[i];
    }
    return s;
}

template <class T> T matvec(size_t n, const T *a, const T *v)
{
    T sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        sum += dot(n, a + i * n, v);
    }
    return sum;
}

// Assigning in both branches, since not every tool has a conditional of
// expressions.
template <class T>
const T *dense_relu(size_t m, size_t n, const T *w, const T *x, T *y)
{
    const T *b = w + m * n;

    for (size_t i = 0; i < m; i++) {
        T s = b[i];

        for (size_t j = 0; j < n; j++) {
            s += w[i * n + j] * x[j];
        }
        if (s >= 0.0) {
            y[i] = s;
        } else {
            y[i] = 0.0;
        }
    }
    return b + m;
}

template <class T> T weighted_softmax(size_t n, T *h)
{
    T top = 0.0;
    T total = 0.0;
    T sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        if (h[i] > top) {
            top = h[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        h[i] = exp(h[i] - top);
        total += h[i];
    }
    for (size_t i = 0; i < n; i++) {
        sum += double(i + 1) / double(n) * (h[i] / total);
    }
    return sum;
}

// The parameters come first, the 50 inputs of the network last.
template <class T> T nn(const T *x)
{
    const T *in = x + BENCH_NN_INPUTS - BENCH_NN_IN;
    T hidden[BENCH_NN_HIDDEN];
    T out[BENCH_NN_OUT];

    x = dense_relu(BENCH_NN_HIDDEN, BENCH_NN_IN, x, in, hidden);
    dense_relu(BENCH_NN_OUT, BENCH_NN_HIDDEN, x, hidden, out);
    return weighted_softmax(BENCH_NN_OUT, out);
}

// One particle.
template <class T> void spring(size_t steps, T *p, T *v)
{
    for (size_t k = 0; k < steps; k++) {
        for (int i = 0; i < 2; i++) {
            const T a = (-BENCH_SPRING_K * p[i] - BENCH_SPRING_D * v[i])
                      / BENCH_SPRING_M;

            p[i] = p[i] + BENCH_SPRING_H * v[i];
            v[i] = v[i] + BENCH_SPRING_H * a;
        }
    }
}

template <class T> T particles(size_t count, size_t steps, const T *x)
{
    T sum = 0.0;

    for (size_t i = 0; i < count; i++) {
        T p[2] = { x[4 * i], x[4 * i + 1] };
        T v[2] = { x[4 * i + 2], x[4 * i + 3] };

        spring(steps, p, v);
        sum += p[0] * p[1];
    }
    return sum;
}

template <class T> T loop(size_t steps, const T *in)
{
    T x = in[0];
    T sum = 0.0;

    for (size_t k = 0; k < steps; k++) {
        x = sin(x) * in[1] + exp(-x * x) * in[2] + in[3];
        sum += x;
    }
    return sum / double(steps);
}

// One step of one component w, which is u or v, inside the boundary: one
// statement of 15 operations.
template <class T>
void advance(size_t side, double a, double r, const T *u, const T *v,
             const T *w, T *next)
{
    for (size_t i = 1; i + 1 < side; i++) {
        for (size_t k = i * side + 1; k + 1 < (i + 1) * side; k++) {
            next[k] = w[k] - a * u[k] * (w[k] - w[k - 1])
                           - a * v[k] * (w[k] - w[k - side])
                           + r * (w[k + 1] + w[k - 1] + w[k + side]
                                  + w[k - side] - 4.0 * w[k]);
        }
    }
}

// room [4*side*side] holds two fields now and two fields next.
template <class T> T burgers(size_t side, size_t steps, const T *x, T *room)
{
    const size_t cells = side * side;
    const double a = BENCH_BURGERS_DT * double(side - 1);
    const double r = BENCH_BURGERS_NU * a * double(side - 1);
    T *now = room;
    T *next = room + 2 * cells;

    for (size_t k = 0; k < 2 * cells; k++) {
        now[k] = x[k];
        next[k] = x[k];
    }
    for (size_t k = 0; k < steps; k++) {
        T *swap = now;

        advance(side, a, r, now, now + cells, now, next);
        advance(side, a, r, now, now + cells, now + cells, next + cells);
        now = next;
        next = swap;
    }
    return dot(2 * cells, now, now);
}

// How many numbers a program needs besides its inputs.
inline size_t room(const bench_case *c)
{
    return c->workload == BENCH_BURGERS ? 4 * c->size * c->size : 0;
}

// Runs program W. work [room(c)]; y [outputs] is assigned.
template <bench_workload W, class T>
inline void run(const bench_case *c, const T *x, T *y, T *work)
{
    const size_t n = c->size;

    (void)work;
    if constexpr (W == BENCH_MUL) {
        y[0] = x[0] * x[1];
    } else if constexpr (W == BENCH_ROTQUAT) {
        rotate(x, x + 3, x[6], y);
    } else if constexpr (W == BENCH_DOT) {
        y[0] = dot(n, x, x + n);
    } else if constexpr (W == BENCH_MATVEC) {
        y[0] = matvec(n, x, x + n * n);
    } else if constexpr (W == BENCH_NN) {
        y[0] = nn(x);
    } else if constexpr (W == BENCH_PARTICLES) {
        y[0] = particles(n, c->steps, x);
    } else if constexpr (W == BENCH_LOOP) {
        y[0] = loop(c->steps, x);
    } else {
        static_assert(W == BENCH_BURGERS);
        y[0] = burgers(n, c->steps, x, work);
    }
}

// The run functions of a tool, whose gradient is a template over the program;
// forward mode is not part of it.
#define BENCH_ALL_PROGRAMS(gradient)                                          \
    {                                                                         \
        gradient<BENCH_MUL>, gradient<BENCH_ROTQUAT>, gradient<BENCH_DOT>,    \
        gradient<BENCH_MATVEC>, gradient<BENCH_NN>,                           \
        gradient<BENCH_PARTICLES>, gradient<BENCH_LOOP>, nullptr,             \
        gradient<BENCH_BURGERS>                                               \
    }

}  // namespace bench

#endif
