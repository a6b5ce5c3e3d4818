// SPDX-License-Identifier: MIT-0
// flags: -std=c++17
// with: include_other.c
/* include.cpp - the header in C++17, without a warning, and its operators on
 * every type of operand; the implementation is a unit in C.                 */

#include "adrev.h"
#include "adrev_loop.h"
#include "adrev_struct.h"
#include "adrev_tensor.h"
#include "adrev.h"

#include <cmath>
#include <cstdio>

#include "check_cpp.h"

extern "C" ad_rev include_other_record(ad_rev x, ad_rev y);
extern "C" double include_other_gradient(ad_tape *t, ad_rev y, ad_rev x);

static bool near(double got, double want)
{
    return std::fabs(got - want) <= 1e-14 * std::fabs(want);
}

static double gradient(ad_tape *t, ad_rev y, ad_rev x)
{
    ad_real g = 0;
    ad_status s = ad_gradient(t, y, 1, &x, &g);
    return s == ADREV_OK ? g : (double)NAN;
}

static void test_operators(ad_tape *t)
{
    ad_rev x = ad_input(2);
    ad_rev y = ad_rec(ad_add(ad_mul(x, ad_sin(x)), ad_div(1, x)));
    CHECK(near(gradient(t, y, x), std::sin(2) + 2 * std::cos(2) - 0.25));
    ad_rev z = ad_rec(ad_fma(x, 3u, ad_sub(2.5f, ad_powi(x, 3))));
    CHECK(near(gradient(t, z, x), 3 - 12));
    ad_rev s = {};
    ad_acc(&s, ad_mul(x, x));
    ad_acc(&s, ad_select(ad_lt(x, 3), ad_exp(x), 0));
    CHECK(near(gradient(t, s, x), 4 + std::exp(2)));
    CHECK(near(ad_value(s), 4 + std::exp(2)));
    CHECK(ad_value(ad_mul(x, 2)) == 4);
    CHECK(ad_rec(ad_detach(s)).job == 0);
    CHECK(near(gradient(t, ad_rec(ad_max(x, ad_floor(x))), x), 0.5));
    CHECK(near(gradient(t, ad_rec(ad_hypot(x, 1LL)), x), 2 / std::sqrt(5)));
}

static void test_forward(void)
{
    ad_fwd x = { 2, 1 };
    ad_fwd y = ad_dual(ad_mul(x, ad_sin(x)));
    CHECK(near(y.d, std::sin(2) + 2 * std::cos(2)));
    ad_acc(&y, ad_mul(x, x));
    CHECK(near(y.d, std::sin(2) + 2 * std::cos(2) + 4));
    CHECK(ad_dual(ad_detach(y)).d == 0);
}

static void test_units(ad_tape *t)
{
    ad_rev x = ad_input(2);
    ad_rev y = ad_input(3);
    ad_rev there = include_other_record(x, y);
    CHECK(near(gradient(t, there, x), 3 + std::exp(2)));
    ad_rev here = ad_rec(ad_mul(there, y));
    CHECK(near(include_other_gradient(t, here, x), 9 + 3 * std::exp(2)));
}

// The types, and conversions of every kind of field.
#define POINT(FIELD) FIELD(other, int, id) FIELD(real, w) FIELD(reals, x, [2])
ADREV_STRUCT(point, POINT);
enum kind { NOTHING, A_POINT };
#define MAYBE(CASE) CASE(A_POINT, point, point)
ADREV_UNION(maybe, MAYBE);
#define NODE(FIELD) FIELD(records, maybe, m, [2]) FIELD(pointer, node, next)
ADREV_STRUCT(node, NODE);

struct box { ad_real v; };
struct box_rev { ad_rev v; };
static void visit_box(ad_visitor *v, void *plain, void *twin)
{
    box *p = static_cast<box *>(plain);
    box_rev *r = static_cast<box_rev *>(twin);
    ad_visit_reals(v, 1, p ? &p->v : nullptr, r ? &r->v : nullptr);
}
ADREV_STRUCT_VISITED(box, visit_box);

static void test_structs(ad_tape *t)
{
    node second = {};
    node first = {};
    node_rev x2 = {};
    node_rev x = {};
    second.m[1].tag = A_POINT;
    second.m[1].as.point = { 7, 3, { 4, 5 } };
    first.next = &second;
    x.next = &x2;
    x2.m[1].tag = A_POINT;
    CHECK(node_inputs(&first, &x) == ADREV_OK && node_count(&x) == 3);
    const point_rev &p = x2.m[1].as.point;
    ad_rev y = ad_rec(ad_mul(p.w, ad_mul(p.x[0], p.x[1])));
    CHECK(p.id == 7 && node_gradient(t, y, &x, &first) == ADREV_OK);
    const point &g = second.m[1].as.point;
    CHECK(g.id == 7 && g.w == 20 && g.x[0] == 15 && g.x[1] == 12);

    box b = { 2 };
    box_rev r;
    CHECK(box_inputs(&b, &r) == ADREV_OK);
    CHECK(box_gradient(t, ad_rec(ad_sqr(r.v)), &r, &b) == ADREV_OK);
    CHECK(b.v == 4 && point_most == 3);
}

static ad_rev square_sum(const ad_rev *x, void *)
{
    return ad_rec(ad_add(ad_sqr(x[0]), ad_sqr(x[1])));
}

static void test_job(void)
{
    const ad_real x[2] = { 3, 4 };
    ad_real y = 0;
    ad_real g[2] = { 0, 0 };
    CHECK(ad_grad(square_sum, nullptr, 2, x, &y, g) == ADREV_OK);
    CHECK(y == 25 && g[0] == 6 && g[1] == 8);
}

// Operators where the types of their operands are not known yet.
template <class Number> static ad_rev times(Number x, Number y)
{
    return ad_rec(ad_mul(x, y));
}

static void test_templates(ad_tape *t)
{
    ad_tape_clear(t);
    ad_rev x = ad_input(3);
    auto plus = [&](auto y) { return ad_rec(ad_add(y, ad_powi(x, 2))); };
    ad_rev y = times(plus(ad_input(1)), x);
    ad_real g = 0;
    CHECK(ad_gradient(t, y, 1, &x, &g) == ADREV_OK);
    CHECK(y.v == 30 && g == 28);
}

static void test_texts(void)
{
    ad_tensor *t = nullptr;
    ad_tensor_error error;
    CHECK(ad_tensor_new(&t, "in x[n]; out y = sum(i) x[i]^2;", nullptr, &error)
          == ADREV_OK);
    ad_tensor_free(t);
    CHECK(ad_tensor_new(&t, "out y = x;", nullptr, &error) == ADREV_ESYNTAX
          && t == nullptr && error.line == 1 && error.column == 9);
}

int main()
{
    ad_tape *t = ad_tape_new();
    ad_use(t);
    test_operators(t);
    test_forward();
    test_units(t);
    test_structs(t);
    test_job();
    test_templates(t);
    test_texts();
    ad_tape_free(t);
    return check_done("include.cpp");
}
