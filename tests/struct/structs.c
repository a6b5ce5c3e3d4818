// SPDX-License-Identifier: MIT-0
// tags: debug
/* structs.c - structs of numbers in and out.
 *
 * The structured programs of dual-numbers reverse differentiation, with their
 * printed values; every kind of field there and back, bit for bit; lists, sum
 * types and visitors by hand; and what is refused, with outputs untouched.  */

#define ADREV_IMPLEMENTATION
#include "adrev_struct.h"

#include "check.h"
#include "heap.h"
#include "random_numbers.h"

#include <stdlib.h>
#include <string.h>

/* --- the types ------------------------------------------------------------ */

#define WRAPPED(FIELD) FIELD(real, value)
ADREV_STRUCT(wrapped, WRAPPED);

#define VEC3(FIELD) FIELD(real, x) FIELD(real, y) FIELD(real, z)
ADREV_STRUCT(vec3, VEC3);

#define QUAT(FIELD) FIELD(record, vec3, u) FIELD(real, s)
ADREV_STRUCT(quat, QUAT);

#define TURN(FIELD) FIELD(record, vec3, v) FIELD(record, quat, q)
ADREV_STRUCT(turn, TURN);

#define TUPLE_TURN(FIELD) FIELD(reals, v, [3]) FIELD(reals, q, [4])
ADREV_STRUCT(tuple_turn, TUPLE_TURN);

#define TUPLES(FIELD) FIELD(records, vec3, t, [5])
ADREV_STRUCT(tuples, TUPLES);

// slang S19
#define MIXED(FIELD) FIELD(real, a) FIELD(other, int, n) FIELD(real, b)
ADREV_STRUCT(mixed, MIXED);

enum { ONE = -1, TWO = 7 };
#define CASE_ONE(FIELD) FIELD(real, x) FIELD(other, int, i) FIELD(real, y)
ADREV_STRUCT(one, CASE_ONE);
#define CASE_TWO(FIELD) FIELD(other, int, i) FIELD(real, x)
ADREV_STRUCT(two, CASE_TWO);
#define EITHER(CASE) CASE(ONE, one, a) CASE(TWO, two, b)
ADREV_UNION(either, EITHER);

#define CELL(FIELD) FIELD(real, head) FIELD(pointer, cell, tail)
ADREV_STRUCT(cell, CELL);
#define LIST(FIELD) FIELD(pointer, cell, first)
ADREV_STRUCT(list, LIST);

// A list of (number, int), an int, and a factor behind the list.
#define ITEM(FIELD)                                                         \
    FIELD(pointer, item, next) FIELD(real, value) FIELD(other, int, label)
ADREV_STRUCT(item, ITEM);
#define LABELLED(FIELD)                                                     \
    FIELD(pointer, item, first) FIELD(other, int, n) FIELD(real, x)
ADREV_STRUCT(labelled, LABELLED);

// Two kinds of cells that take turns.
ADREV_STRUCT_AHEAD(odd);
#define EVEN(FIELD) FIELD(real, v) FIELD(pointer, odd, next)
ADREV_STRUCT(even, EVEN);
#define ODD(FIELD) FIELD(real, v) FIELD(pointer, even, next)
ADREV_STRUCT(odd, ODD);

// A list as a sum type: nil, cons(number, list) or last(number). Nil holds
// nothing, and needs no case.
enum { NIL, CONS, LAST };
ADREV_STRUCT_AHEAD(chain);
#define LINK(FIELD) FIELD(real, head) FIELD(pointer, chain, tail)
ADREV_STRUCT(link, LINK);
#define CHAIN(CASE) CASE(CONS, link, cons) CASE(LAST, wrapped, last)
ADREV_UNION(chain, CHAIN);

#define TREE(FIELD)                                                         \
    FIELD(pointer, tree, left) FIELD(real, v) FIELD(pointer, tree, right)
ADREV_STRUCT(tree, TREE);

// Numbers with a length, known to a visitor only.
typedef struct series {
    size_t n;
    ad_real *at;
} series;
typedef struct series_rev {
    size_t n;
    ad_rev *at;
} series_rev;

static void visit_series(ad_visitor *v, void *plain, void *twin)
{
    series *p = plain;
    series_rev *r = twin;
    size_t n = v->from_rev ? r->n : p->n;
    if (v->make != NULL) {
        void *at = v->make->alloc(n * sizeof(ad_rev), v->make->user);
        if (at == NULL)
            v->status = ADREV_ENOMEM;
        else if (v->from_rev)
            *p = (series){ n, at };
        else
            *r = (series_rev){ n, at };
    } else if (p != NULL && r != NULL && p->n != r->n)
        v->status = ADREV_ESHAPE;
    if (v->status == ADREV_OK)
        ad_visit_reals(v, n, p ? p->at : NULL, r ? r->at : NULL);
}
ADREV_STRUCT_VISITED(series, visit_series);

#define SIGNALS(FIELD)                                                      \
    FIELD(record, series, in) FIELD(real, gain) FIELD(records, series, out, [2])
ADREV_STRUCT(signals, SIGNALS);

#define BOXED(FIELD) FIELD(pointer, series, only)
ADREV_STRUCT(boxed, BOXED);

// A union one case of which holds nodes.
enum { LOOSE, LISTED, SAMPLED };
#define HOLDER(CASE)                                                        \
    CASE(LOOSE, vec3, v) CASE(LISTED, list, l) CASE(SAMPLED, series, s)
ADREV_UNION(holder, HOLDER);

// One of everything that lies in the struct itself.
typedef enum color { RED, GREEN } color;
#define PART(FIELD)                                                         \
    FIELD(others, char, name, [5]) FIELD(reals, matrix, [2][3])             \
    FIELD(records, mixed, pair, [2]) FIELD(other, color, hue)
ADREV_STRUCT(part, PART);
#define WHOLE(FIELD)                                                        \
    FIELD(other, const char *, text) FIELD(records, part, part, [2][2])     \
    FIELD(other, bool, flag) FIELD(record, either, sum)                     \
    FIELD(other, long double, wide) FIELD(real, last)
ADREV_STRUCT(whole, WHOLE);

enum { WHOLE_COUNT = 4 * (6 + 2 * 2) + 2 + 1 };     // with case ONE

/* --- memory for nodes ----------------------------------------------------- */

enum { NODES = 64 };

static struct pool {
    int made;
    size_t bytes;
    int failing;                // the number of the one that fails; 0: none
    void *node[NODES];
} pool;

static void *pool_alloc(size_t bytes, void *user)
{
    struct pool *p = user;
    if (++p->made == p->failing || p->made > NODES)
        return NULL;
    void *node = malloc(bytes);
    if (node != NULL)
        memset(node, 0x5a, bytes);
    p->bytes += bytes;
    return p->node[p->made - 1] = node;
}

static void pool_free(void *node, void *user)
{
    (void)node;
    (void)user;
}

static const ad_allocator nodes = { pool_alloc, pool_free, &pool };

static void pool_clear(int failing)
{
    for (int i = 0; i < pool.made && i < NODES; i++)
        free(pool.node[i]);
    memset(&pool, 0, sizeof pool);
    pool.failing = failing;
}

static ad_tape *tape;

static void start(void)
{
    pool_clear(0);
    ad_tape_clear(tape);
}

#define OK(call) CHECK((call) == ADREV_OK, "not ADREV_OK: " #call)
#define SAYS(status, call)                                                  \
    check_says(ADREV_##status, (call), #call, __LINE__)

static void check_says(ad_status want, ad_status got, const char *call,
                       int line)
{
    check_that(got == want, __FILE__, line, "%s: got \"%s\", want \"%s\"",
               call, ad_message(got), ad_message(want));
}

#define SAME(a, b)                                                          \
    CHECK(memcmp((a), (b), sizeof *(a)) == 0, "%s and %s differ", #a, #b)

/* --- records -------------------------------------------------------------- */

static void run_wrapped(void)
{
    wrapped in = { 4 };
    wrapped out = { 0 };
    wrapped g = { 0 };
    wrapped_rev x;
    start();
    OK(wrapped_inputs(&in, &x));
    wrapped_rev y = { ad_rec(ad_mul(2, x.value)) };
    OK(wrapped_values(&y, &out));
    OK(wrapped_gradient(tape, y.value, &x, &g));
    CHECK_CLOSE(out.value, 8, 0);
    CHECK_CLOSE(g.value, 2, 0);
}

static void run_mixed(void)
{
    mixed in = { 2, 3, 4 };
    mixed g = { 77, 77, 77 };
    mixed_rev x;
    start();
    OK(mixed_inputs(&in, &x));
    CHECK(x.n == 3, "n: got %d", x.n);
    ad_rev y = ad_rec(ad_add(ad_mul(x.a, x.n), ad_sqr(x.b)));
    CHECK_CLOSE(y.v, 22, 0);
    OK(mixed_gradient(tape, y, &x, &g));
    CHECK(g.a == 3 && g.n == 3 && g.b == 8, "got (%g, %d, %g)", (double)g.a,
          g.n, (double)g.b);
}

static vec3_rev vec3_pairs(vec3_rev v)
{
    return (vec3_rev){ ad_rec(ad_add(v.x, v.y)), ad_rec(ad_add(v.y, v.z)),
                       ad_rec(ad_add(v.z, v.x)) };
}

static void run_vec3(void)
{
    const ad_real rows[3][3] = { { 1, 1, 0 }, { 0, 1, 1 }, { 1, 0, 1 } };
    ad_rev xs[vec3_most];
    ad_rev ys[vec3_most];
    ad_real J[9] = { 0 };
    vec3 in = { 1, 2, 3 };
    vec3 out;
    vec3 g;
    vec3_rev x;
    start();
    OK(vec3_inputs(&in, &x));
    ad_rev sum = ad_rec(ad_add(ad_add(x.x, x.y), x.z));
    CHECK_CLOSE(sum.v, 6, 0);
    OK(vec3_gradient(tape, sum, &x, &g));
    CHECK(g.x == 1 && g.y == 1 && g.z == 1, "gradient of the sum");

    vec3_rev y = vec3_pairs(x);
    OK(vec3_values(&y, &out));
    CHECK(out.x == 3 && out.y == 5 && out.z == 4, "values of the pairs");
    OK(vec3_gather(&x, 3, xs));
    OK(vec3_gather(&y, 3, ys));
    OK(ad_jacobian(tape, 3, ys, 3, xs, J));
    for (int i = 0; i < 3; i++) {
        vec3 seed = { i == 0, i == 1, i == 2 };
        ad_real dy[3];
        OK(vec3_pack(&seed, 3, dy));
        OK(vec3_pullback(tape, 3, ys, dy, &x, &g));
        CHECK(g.x == rows[i][0] && g.y == rows[i][1] && g.z == rows[i][2],
              "row %d", i);
        CHECK(memcmp(J + 3 * i, rows[i], sizeof rows[i]) == 0, "J[%d]", i);
    }
}

static ad_rev dot(vec3_rev a, vec3_rev b)
{
    ad_expr xy = ad_add(ad_mul(a.x, b.x), ad_mul(a.y, b.y));
    return ad_rec(ad_add(xy, ad_mul(a.z, b.z)));
}

// 2 (u.v) u + (s^2 - u.u) v + 2 s (u x v), where the middle of the cross
// product is u.z v.z - u.x v.z, as in the program of the printed values.
static vec3_rev rotated(vec3_rev v, quat_rev q)
{
    vec3_rev u = q.u;
    ad_rev uv = ad_rec(ad_mul(2, dot(u, v)));
    ad_rev scale = ad_rec(ad_sub(ad_sqr(q.s), dot(u, u)));
    ad_rev s = ad_rec(ad_mul(2, q.s));
    ad_expr x = ad_sub(ad_mul(u.y, v.z), ad_mul(u.z, v.y));
    ad_expr y = ad_sub(ad_mul(u.z, v.z), ad_mul(u.x, v.z));
    ad_expr z = ad_sub(ad_mul(u.x, v.y), ad_mul(u.y, v.x));
    ad_expr along_x = ad_add(ad_mul(uv, u.x), ad_mul(scale, v.x));
    ad_expr along_y = ad_add(ad_mul(uv, u.y), ad_mul(scale, v.y));
    ad_expr along_z = ad_add(ad_mul(uv, u.z), ad_mul(scale, v.z));
    return (vec3_rev){ ad_rec(ad_add(along_x, ad_mul(s, ad_rec(x)))),
                       ad_rec(ad_add(along_y, ad_mul(s, ad_rec(y)))),
                       ad_rec(ad_add(along_z, ad_mul(s, ad_rec(z)))) };
}

static const ad_real rotation_rows[3][7] = {
    { 4, -44, 118, 64, 48, -16, 20 },
    { 40, 22, 88, -48, 64, 48, 40 },
    { -22, 116, 44, 16, -20, 64, 48 },
};

static void check_rotation(vec3_rev y, const ad_real row[7], int i)
{
    vec3 out;
    OK(vec3_values(&y, &out));
    CHECK(out.x == 270 && out.y == 348 && out.z == 342, "rotated vector");
    CHECK(memcmp(row, rotation_rows[i], sizeof rotation_rows[i]) == 0,
          "row %d", i);
}

static void run_rotation(void)
{
    turn in = { { 1, 2, 3 }, { { 4, 5, 6 }, 7 } };
    tuple_turn flat = { { 1, 2, 3 }, { 4, 5, 6, 7 } };
    for (int i = 0; i < 3; i++) {
        const ad_real seed[3] = { i == 0, i == 1, i == 2 };
        ad_rev ys[3];
        ad_real row[7];
        turn g;
        turn_rev x;
        start();
        OK(turn_inputs(&in, &x));
        vec3_rev y = rotated(x.v, x.q);
        OK(vec3_gather(&y, 3, ys));
        OK(turn_pullback(tape, 3, ys, seed, &x, &g));
        OK(turn_pack(&g, 7, row));
        check_rotation(y, row, i);

        tuple_turn tg;
        tuple_turn_rev t;
        start();
        OK(tuple_turn_inputs(&flat, &t));
        y = rotated((vec3_rev){ t.v[0], t.v[1], t.v[2] },
                    (quat_rev){ { t.q[0], t.q[1], t.q[2] }, t.q[3] });
        OK(vec3_gather(&y, 3, ys));
        OK(tuple_turn_pullback(tape, 3, ys, seed, &t, &tg));
        OK(tuple_turn_pack(&tg, 7, row));
        check_rotation(y, row, i);
    }
}

// Five tuples of which some places are filled later. Before, they are zero.
static void run_sections(void)
{
    vec3 in = { 1, 2, 3 };
    vec3 g;
    vec3_rev x;
    tuples_rev y = { .t = { { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } } } };
    tuples out;
    ad_rev all[15];
    ad_rev sum = ad_rec(0);
    start();
    OK(vec3_inputs(&in, &x));
    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < 5; t++) {
            y.t[t].x = (t & 1) == pass ? x.x : y.t[t].x;
            y.t[t].y = (t >> 1 & 1) == pass ? x.y : y.t[t].y;
            y.t[t].z = (t >> 2 & 1) == pass ? x.z : y.t[t].z;
        }
    OK(tuples_values(&y, &out));
    for (int t = 0; t < 5; t++)
        CHECK(memcmp(&out.t[t], &in, sizeof in) == 0, "tuple %d", t);
    OK(tuples_gather(&y, 15, all));
    for (int i = 0; i < 15; i++)
        ad_acc(&sum, all[i]);
    CHECK_CLOSE(sum.v, 30, 0);
    OK(vec3_gradient(tape, sum, &x, &g));
    CHECK(g.x == 5 && g.y == 5 && g.z == 5, "gradient of the sections");
}

/* --- sum types ------------------------------------------------------------ */

static ad_rev either_program(const either_rev *e)
{
    if (e->tag == ONE)
        return ad_rec(ad_mul(ad_mul(e->as.a.i, e->as.a.x), e->as.a.y));
    return ad_rec(ad_add(e->as.b.i, e->as.b.x));
}

static void run_sum_type(void)
{
    either in = { .tag = ONE, .as.a = { 2, 3, 5 } };
    either g;
    either_rev x;
    memset(&g, 0x77, sizeof g);
    start();
    OK(either_inputs(&in, &x));
    ad_rev y = either_program(&x);
    CHECK_CLOSE(y.v, 30, 0);
    OK(either_gradient(tape, y, &x, &g));
    CHECK(g.tag == ONE && g.as.a.x == 15 && g.as.a.i == 3 && g.as.a.y == 6,
          "One(15, 3, 6)");
    CHECK(either_count(&x) == 2, "numbers in One");

    in = (either){ .tag = TWO, .as.b = { 4, 2 } };
    start();
    OK(either_inputs(&in, &x));
    y = either_program(&x);
    CHECK_CLOSE(y.v, 6, 0);
    OK(either_gradient(tape, y, &x, &g));
    CHECK(g.tag == TWO && g.as.b.i == 4 && g.as.b.x == 1, "Two(4, 1)");
    CHECK(either_count(&x) == 1, "numbers in Two");

    // A tag of no case is copied, and nothing else.
    memset(&g, 0x77, sizeof g);
    either before = g;
    in.tag = 1;
    OK(either_inputs(&in, &x));
    CHECK(x.tag == 1 && either_count(&x) == 0, "no case");
    OK(either_values(&x, &g));
    before.tag = 1;
    SAME(&g, &before);
}

static either_rev either_result(ad_rev x)
{
    either_rev y = { .tag = ONE };
    if (ad_lt(x, 0)) {
        y.as.a = (one_rev){ ad_rec(0), 1, ad_rec(2) };
        return y;
    }
    y.tag = TWO;
    y.as.b.i = 0;
    y.as.b.x = ad_rec(ad_mul(3, x));
    return y;
}

static void run_sum_type_result(void)
{
    ad_rev ys[2];
    const ad_real ones[2] = { 1, 1 };
    wrapped in = { -1 };
    wrapped g = { 77 };
    wrapped_rev x;
    either out;
    start();
    OK(wrapped_inputs(&in, &x));
    either_rev y = either_result(x.value);
    OK(either_values(&y, &out));
    CHECK(out.tag == ONE && out.as.a.x == 0 && out.as.a.i == 1
          && out.as.a.y == 2, "One(0, 1, 2)");
    // Constants only: the derivative 0 is told as a status.
    OK(either_gather(&y, 2, ys));
    SAYS(EPASSIVE, wrapped_pullback(tape, 2, ys, ones, &x, &g));
    CHECK(g.value == 77, "touched");

    in.value = 2;
    start();
    OK(wrapped_inputs(&in, &x));
    y = either_result(x.value);
    OK(either_values(&y, &out));
    CHECK(out.tag == TWO && out.as.b.x == 6 && out.as.b.i == 0, "Two(6, 0)");
    OK(either_gather(&y, 1, ys));
    OK(wrapped_pullback(tape, 1, ys, ones, &x, &g));
    CHECK_CLOSE(g.value, 3, 0);
}

/* --- lists ---------------------------------------------------------------- */

static ad_rev list_argument(const list_rev *l)
{
    return l->first ? ad_rec(ad_add(l->first->head, 3)) : ad_rec(2);
}

static void run_list_argument(void)
{
    list empty = { NULL };
    cell c[3] = { { 7, &c[1] }, { 8, &c[2] }, { 9, NULL } };
    list in = { c };
    list g = { c };
    list_rev x;
    start();
    OK(list_make_rev(&nodes, &empty, &x));
    OK(list_inputs(&empty, &x));
    CHECK(pool.made == 0 && x.first == NULL && list_count(&x) == 0, "empty");
    ad_rev y = list_argument(&x);
    CHECK_CLOSE(y.v, 2, 0);
    SAYS(EPASSIVE, list_gradient(tape, y, &x, &empty));
    y = ad_input(1);
    OK(list_gradient(tape, y, &x, &empty));
    CHECK(empty.first == NULL, "the cotangent of [] is []");

    start();
    OK(list_make_rev(&nodes, &in, &x));
    OK(list_make_plain(&nodes, &x, &g));
    CHECK(pool.made == 6 && list_count(&x) == 3, "six cells");
    CHECK(pool.bytes == 3 * (sizeof(cell) + sizeof(cell_rev)), "%zu bytes",
          pool.bytes);
    OK(list_inputs(&in, &x));
    y = list_argument(&x);
    CHECK_CLOSE(y.v, 10, 0);
    OK(list_gradient(tape, y, &x, &g));
    CHECK(g.first->head == 1 && g.first->tail->head == 0
          && g.first->tail->tail->head == 0
          && g.first->tail->tail->tail == NULL, "[1, 0, 0]");
    OK(list_values(&x, &g));
    for (const cell *p = c, *q = g.first; p; p = p->tail, q = q->tail)
        CHECK(p->head == q->head, "a value of the list");
}

// (2x, 3x, x, x + 1) as a list that the program made.
static void run_list_result(void)
{
    const ad_real rows[4] = { 2, 3, 1, 1 };
    const ad_real values[4] = { 10, 15, 5, 6 };
    cell_rev c[4];
    list_rev y = { c };
    list out;
    ad_rev ys[4];
    start();
    ad_rev x = ad_input(5);
    c[0] = (cell_rev){ ad_rec(ad_mul(2, x)), &c[1] };
    c[1] = (cell_rev){ ad_rec(ad_mul(3, x)), &c[2] };
    c[2] = (cell_rev){ x, &c[3] };
    c[3] = (cell_rev){ ad_rec(ad_add(x, 1)), NULL };
    OK(list_make_plain(&nodes, &y, &out));
    OK(list_values(&y, &out));
    OK(list_gather(&y, 4, ys));
    for (int i = 0; i < 4; i++, out.first = out.first->tail) {
        ad_real g = 0;
        CHECK(out.first->head == values[i], "value %d", i);
        OK(ad_gradient(tape, ys[i], 1, &x, &g));
        CHECK_CLOSE(g, rows[i], 0);
    }
    CHECK(out.first == NULL, "four values");
}

// k = min(10, |n + sum of labels|) times all values by x, and their sum.
static ad_rev labelled_program(const labelled_rev *l)
{
    ad_rev sum = ad_rec(0);
    int k = l->n;
    for (const item_rev *i = l->first; i; i = i->next)
        k += i->label;
    k = abs(k) < 10 ? abs(k) : 10;
    for (const item_rev *i = l->first; i; i = i->next) {
        ad_rev v = i->value;
        for (int t = 0; t < k; t++)
            v = ad_rec(ad_mul(v, l->x));
        ad_acc(&sum, v);
    }
    return sum;
}

static void run_labelled(void)
{
    item c[2] = { { &c[1], 2, 1 }, { NULL, 3, -4 } };
    labelled in = { c, 1, 5 };
    labelled g;
    labelled_rev x;
    start();
    OK(labelled_make_rev(&nodes, &in, &x));
    CHECK(x.n == 1 && x.first->label == 1 && x.first->next->label == -4,
          "ints of the twin");
    OK(labelled_inputs(&in, &x));
    ad_rev y = labelled_program(&x);
    CHECK_CLOSE(y.v, 125, 0);
    OK(labelled_make_plain(&nodes, &x, &g));
    OK(labelled_gradient(tape, y, &x, &g));
    CHECK(g.first->value == 25 && g.first->next->value == 25 && g.x == 50,
          "gradient (25, 25, 50)");
    CHECK(g.n == 1 && g.first->label == 1 && g.first->next->label == -4
          && g.first->next->next == NULL, "ints of the cotangent");
    CHECK(labelled_count(&x) == 3, "numbers");
}

static void run_alternating(void)
{
    even c = { 3, NULL };
    odd b = { 2, &c };
    even in = { 1, &b };
    even g;
    even_rev x;
    start();
    OK(even_make_rev(&nodes, &in, &x));
    OK(even_make_plain(&nodes, &x, &g));
    OK(even_inputs(&in, &x));
    ad_rev y = ad_rec(ad_add(ad_add(x.v, x.next->v), x.next->next->v));
    CHECK_CLOSE(y.v, 6, 0);
    OK(even_gradient(tape, y, &x, &g));
    CHECK(g.v == 1 && g.next->v == 1 && g.next->next->v == 1
          && g.next->next->next == NULL, "all 1");
}

// A list of length clamp(n, 0, 10), all of whose values are v.
static void run_unfold(int n)
{
    int length = n < 0 ? 0 : n > 10 ? 10 : n;
    ad_real weights[10];
    ad_real sum = 0;
    ad_rev ys[10];
    even_rev evens[6];
    odd_rev odds[5];
    even out;
    start();
    ad_rev v = ad_input(7);
    for (int i = 0; i < length; i++)
        if (i % 2 == 0)
            evens[i / 2] = (even_rev){ v, i + 1 < length ? &odds[i / 2]
                                                          : NULL };
        else
            odds[i / 2] = (odd_rev){ v, i + 1 < length ? &evens[i / 2 + 1]
                                                        : NULL };
    if (length == 0)
        return;
    OK(even_make_plain(&nodes, evens, &out));
    CHECK(pool.made == length - 1, "%d nodes", pool.made);
    OK(even_values(evens, &out));
    for (int i = 0; i < length; i++) {
        weights[i] = (ad_real)(i + 1);
        sum += weights[i];
    }
    ad_real values[10] = { 0 };
    OK(even_pack(&out, (size_t)length, values));
    for (int i = 0; i < length; i++)
        CHECK(values[i] == 7, "value %d", i);

    // The cotangent has the shape of the value: here it is a list, too.
    ad_real dy[10] = { 0 };
    ad_real g = 0;
    OK(even_unpack((size_t)length, weights, &out));
    OK(even_pack(&out, (size_t)length, dy));
    OK(even_gather(evens, (size_t)length, ys));
    OK(ad_pullback(tape, (size_t)length, ys, dy, 1, &v, &g));
    CHECK_CLOSE(g, sum, 0);
}

// A million nodes, as cons cells and as a sum type: no recursion.
static void run_long_list(void)
{
    enum { LENGTH = 1000000 };
    chain *in = calloc(LENGTH + 1, sizeof *in);
    chain *g = calloc(LENGTH + 1, sizeof *g);
    chain_rev *x = calloc(LENGTH + 1, sizeof *x);
    if (!in || !g || !x)
        exit(EXIT_FAILURE);
    start();
    for (int i = 0; i < LENGTH; i++) {
        in[i] = (chain){ CONS, { .cons = { (ad_real)i, &in[i + 1] } } };
        g[i] = (chain){ CONS, { .cons = { 77, &g[i + 1] } } };
        x[i].tag = CONS;
        x[i].as.cons.tail = &x[i + 1];
    }
    OK(chain_inputs(in, x));
    CHECK(chain_count(x) == LENGTH, "%zu numbers", chain_count(x));
    ad_rev y = ad_rec(0);
    for (const chain_rev *c = x; c->tag == CONS; c = c->as.cons.tail)
        ad_acc(&y, ad_mul(c->as.cons.head, c->as.cons.head));
    OK(chain_gradient(tape, y, x, g));
    bool right = g[LENGTH].tag == NIL;
    for (int i = 0; i < LENGTH; i++)
        right = right && g[i].as.cons.head == (ad_real)(2 * i)
             && g[i].tag == CONS && g[i].as.cons.tail == &g[i + 1];
    CHECK(right, "the gradient of a long list");
    free(in);
    free(g);
    free(x);
}

static void run_tree(void)
{
    tree leaf[2] = { { NULL, 2, NULL }, { NULL, 3, NULL } };
    tree inner = { &leaf[0], 5, NULL };
    tree in = { &inner, 7, &leaf[1] };
    tree g;
    tree_rev x;
    ad_rev xs[4];
    ad_real order[4] = { 0 };
    const ad_real want[4] = { 2, 5, 7, 3 };     // left, node, right
    start();
    OK(tree_make_rev(&nodes, &in, &x));
    OK(tree_make_plain(&nodes, &x, &g));
    OK(tree_inputs(&in, &x));
    CHECK(tree_count(&x) == 4 && pool.made == 6, "numbers and nodes");
    OK(tree_gather(&x, 4, xs));
    OK(tree_pack(&in, 4, order));
    for (int i = 0; i < 4; i++)
        CHECK(xs[i].v == want[i] && order[i] == want[i], "number %d", i);
    ad_rev y = ad_rec(ad_mul(x.left->left->v, ad_mul(x.v, x.right->v)));
    OK(tree_gradient(tape, y, &x, &g));
    CHECK(g.left->left->v == 21 && g.left->v == 0 && g.v == 6
          && g.right->v == 14, "gradient of a tree");
}

/* --- random points, against gradients by hand ----------------------------- */

enum { TRIALS = 300 };

static int random_int(uint64_t *seed, int from, int to)
{
    return (int)floor(oracle_uniform(seed, from, to + 1));
}

static void random_labelled(uint64_t *seed)
{
    item c[4];
    int length = random_int(seed, 0, 4);
    labelled in = { length > 0 ? c : NULL, random_int(seed, -9, 9),
                    (ad_real)oracle_uniform(seed, -2, 2) };
    int k = in.n;
    long double sum = 0;
    labelled g;
    labelled_rev x;
    for (int i = 0; i < length; i++) {
        c[i] = (item){ i + 1 < length ? &c[i + 1] : NULL,
                       (ad_real)oracle_uniform(seed, 0.1, 2),
                       random_int(seed, -5, 5) };
        k += c[i].label;
        sum += (long double)c[i].value;
    }
    k = abs(k) < 10 ? abs(k) : 10;
    start();
    OK(labelled_make_rev(&nodes, &in, &x));
    OK(labelled_inputs(&in, &x));
    OK(labelled_make_plain(&nodes, &x, &g));
    ad_rev y = labelled_program(&x);
    if (length == 0) {
        SAYS(EPASSIVE, labelled_gradient(tape, y, &x, &g));
        return;
    }
    OK(labelled_gradient(tape, y, &x, &g));
    long double at = (long double)in.x;
    CHECK_CLOSE(g.x, k == 0 ? 0 : k * powl(at, k - 1) * sum, 40);
    for (int i = 0; i < length; i++, g.first = g.first->next) {
        CHECK_CLOSE(g.first->value, powl(at, k), 10);
        CHECK(g.first->label == c[i].label, "label %d", i);
    }
    CHECK(g.first == NULL && g.n == in.n, "length %d", length);
}

static void random_either(uint64_t *seed)
{
    either in = { .tag = random_int(seed, 0, 1) ? ONE : TWO };
    either g;
    either_rev x;
    int i = random_int(seed, -9, 9);
    ad_real a = (ad_real)oracle_uniform(seed, -3, 3);
    ad_real b = (ad_real)oracle_uniform(seed, -3, 3);
    if (in.tag == ONE)
        in.as.a = (one){ a, i, b };
    else
        in.as.b = (two){ i, a };
    start();
    OK(either_inputs(&in, &x));
    OK(either_gradient(tape, either_program(&x), &x, &g));
    CHECK(g.tag == in.tag, "tag");
    CHECK(in.tag == ONE ? g.as.a.i == i : g.as.b.i == i, "int");
    if (in.tag == ONE) {
        CHECK_CLOSE(g.as.a.x, (ad_real)i * b, 0);
        CHECK_CLOSE(g.as.a.y, (ad_real)i * a, 0);
    } else
        CHECK_CLOSE(g.as.b.x, 1, 0);
}

// Records and tuples, rows and columns, and the sums of pairs.
static void random_turn(uint64_t *seed)
{
    ad_real at[10];
    turn in;
    tuple_turn flat;
    turn_rev x;
    ad_rev xs[7];
    ad_rev ys[6];
    ad_real dy[6] = { 0 };
    ad_real dx[7] = { 0 };
    turn g;
    vec3_rev y[2];
    for (int i = 0; i < 10; i++)
        at[i] = (ad_real)oracle_uniform(seed, -3, 3);
    OK(turn_unpack(7, at, &in));
    OK(tuple_turn_unpack(7, at, &flat));
    CHECK(memcmp(flat.v, &in.v, sizeof flat.v) == 0
          && memcmp(flat.q, &in.q, sizeof flat.q) == 0, "the same numbers");
    start();
    OK(turn_inputs(&in, &x));
    y[0] = rotated(x.v, x.q);
    y[1] = vec3_pairs(x.v);
    OK(vec3_gather(&y[0], 3, ys));
    OK(vec3_gather(&y[1], 3, ys + 3));
    OK(turn_gather(&x, 7, xs));
    OK(turn_pullback(tape, 3, ys + 3, at + 7, &x, &g));
    CHECK_CLOSE(g.v.x, (ad_real)(at[7] + at[9]), 0);
    CHECK_CLOSE(g.v.y, (ad_real)(at[7] + at[8]), 0);
    CHECK_CLOSE(g.v.z, (ad_real)(at[8] + at[9]), 0);
    CHECK_CLOSE(g.q.s, 0, 0);

    // dy of a direction, weighed, is the direction in dx of the weights.
    OK(turn_pullback(tape, 6, ys, at, &x, &g));
    OK(turn_pack(&g, 7, dx));
    OK(ad_pushforward(tape, 7, xs, at + 3, 6, ys, dy));
    long double rows = 0;
    long double columns = 0;
    long double size = 0;
    for (int i = 0; i < 6; i++)
        rows += (long double)at[i] * (long double)dy[i];
    for (int i = 0; i < 7; i++) {
        columns += (long double)at[3 + i] * (long double)dx[i];
        size += fabsl((long double)at[3 + i] * (long double)dx[i]);
    }
    long double off = sizeof(ad_real) == sizeof(float) ? 1e-4L : 1e-13L;
    CHECK(fabsl(rows - columns) <= off * size,
          "rows give %.17Lg, columns %.17Lg", rows, columns);
}

static void run_random(void)
{
    uint64_t seed = 3;
    for (int t = 0; t < TRIALS; t++) {
        random_labelled(&seed);
        random_either(&seed);
        random_turn(&seed);
    }
}

/* --- visitors by hand ----------------------------------------------------- */

static void run_series(void)
{
    ad_real a[3] = { 1, 2, 3 };
    ad_real b[2] = { 5, 7 };
    signals in = { { 3, a }, 2, { { 2, b }, { 0, NULL } } };
    signals g;
    signals_rev x;
    start();
    OK(signals_make_rev(&nodes, &in, &x));
    OK(signals_make_plain(&nodes, &x, &g));
    OK(signals_inputs(&in, &x));
    CHECK(signals_count(&x) == 6, "%zu numbers", signals_count(&x));
    x.out[1].at = NULL;
    ad_rev xs[6];
    OK(signals_gather(&x, 6, xs));
    CHECK(xs[3].seq == x.gain.seq, "the order of series");
    ad_rev y = ad_rec(ad_mul(x.gain, ad_mul(x.in.at[2], x.out[0].at[1])));
    OK(signals_gradient(tape, y, &x, &g));
    CHECK(g.gain == 21 && g.in.at[0] == 0 && g.in.at[2] == 14
          && g.out[0].at[0] == 0 && g.out[0].at[1] == 6 && g.in.n == 3,
          "gradient of series");

    // A length that differs is seen before anything is written.
    signals before = g;
    x.out[0].n = 1;
    SAYS(ESHAPE, signals_values(&x, &g));
    SAME(&g, &before);
    CHECK(g.in.at[2] == 14, "touched");
}

/* --- every kind of field -------------------------------------------------- */

static void fill_whole(whole *w, uint64_t *seed)
{
    const ad_real odd_ones[] = {
        -ADX_K(0.0), ADX_K(INFINITY), -ADX_K(INFINITY), ADX_K(NAN),
        ADX_K(1e-40), 1 / (ad_real)3
    };
    ad_real numbers[WHOLE_COUNT];
    memset(w, 0, sizeof *w);
    w->text = "text";
    w->flag = true;
    w->wide = 0x1.123456789abcdefp3L;
    w->sum.tag = ONE;
    w->sum.as.a.i = -3;
    for (int i = 0; i < 4; i++) {
        part *p = &w->part[i / 2][i % 2];
        memcpy(p->name, "part", 5);
        p->hue = i % 2 ? GREEN : RED;
        p->pair[0].n = 100 + i;
        p->pair[1].n = 200 + i;
    }
    for (int i = 0; i < WHOLE_COUNT; i++)
        numbers[i] = i < 6 ? odd_ones[i]
                           : (ad_real)oracle_uniform(seed, -9, 9);
    OK(whole_unpack(WHOLE_COUNT, numbers, w));
}

// The order of the fields is the order of the array.
static void check_order(const whole *w)
{
    ad_real flat[WHOLE_COUNT];
    size_t n = 0;
    OK(whole_pack(w, WHOLE_COUNT, flat));
    for (int i = 0; i < 4; i++) {
        const part *p = &w->part[i / 2][i % 2];
        for (int k = 0; k < 6; k++)
            CHECK_CLOSE(p->matrix[k / 3][k % 3], flat[n++], 0);
        for (int k = 0; k < 2; k++) {
            CHECK_CLOSE(p->pair[k].a, flat[n++], 0);
            CHECK_CLOSE(p->pair[k].b, flat[n++], 0);
        }
    }
    CHECK_CLOSE(w->sum.as.a.x, flat[n++], 0);
    CHECK_CLOSE(w->sum.as.a.y, flat[n++], 0);
    CHECK_CLOSE(w->last, flat[n++], 0);
    CHECK(n == WHOLE_COUNT, "%zu numbers", n);
}

static void run_round_trip(void)
{
    uint64_t seed = 5;
    static whole in;
    static whole out;
    static whole_rev x;
    CHECK(whole_most == WHOLE_COUNT + 1, "a bound: all cases of the union");
    CHECK(tuples_most == 15 && list_most == 0 && part_most == 10, "constants");
    for (int t = 0; t < 20; t++) {
        ad_rev rev[WHOLE_COUNT];
        start();
        fill_whole(&in, &seed);
        check_order(&in);
        memset(&out, 0, sizeof out);
        memset(&x, 0x33, sizeof x);
        OK(whole_inputs(&in, &x));
        CHECK(ad_tape_stats(tape).values == WHOLE_COUNT, "inputs");
        OK(whole_values(&x, &out));
        SAME(&in, &out);
        CHECK(whole_count(&x) == WHOLE_COUNT, "count");
        OK(whole_gather(&x, WHOLE_COUNT, rev));
        for (uint32_t i = 0; i < WHOLE_COUNT; i++)
            CHECK(rev[i].seq == i + 1, "input %u is %u", i, rev[i].seq);

        // Numbers of another struct; all else stays.
        ad_real flat[WHOLE_COUNT] = { 0 };
        OK(whole_pack(&in, WHOLE_COUNT, flat));
        OK(whole_unpack(WHOLE_COUNT, (ad_real[WHOLE_COUNT]){ 0 }, &out));
        CHECK(out.last == 0 && strcmp(out.part[1][0].name, "part") == 0
              && out.part[1][1].pair[1].n == 203, "other fields stay");
        OK(whole_unpack(WHOLE_COUNT, flat, &out));
        SAME(&in, &out);
    }
}

// The gradient as a struct is that of the flat arrays.
static void run_whole_gradient(void)
{
    uint64_t seed = 6;
    static whole in;
    static whole g;
    static whole_rev x;
    ad_rev xs[WHOLE_COUNT];
    ad_real flat[WHOLE_COUNT] = { 0 };
    ad_real want[WHOLE_COUNT] = { 0 };
    start();
    fill_whole(&in, &seed);
    for (size_t i = 0; i < WHOLE_COUNT; i++)
        flat[i] = (ad_real)oracle_uniform(&seed, -3, 3);
    OK(whole_unpack(WHOLE_COUNT, flat, &in));
    OK(whole_inputs(&in, &x));
    OK(whole_gather(&x, WHOLE_COUNT, xs));
    ad_rev y = ad_rec(1);
    for (int i = 0; i < WHOLE_COUNT; i++)
        y = ad_rec(ad_sin(ad_add(ad_mul(y, xs[i]), i)));
    memset(&g, 0x77, sizeof g);
    OK(whole_gradient(tape, y, &x, &g));
    OK(ad_gradient(tape, y, WHOLE_COUNT, xs, want));
    OK(whole_pack(&g, WHOLE_COUNT, flat));
    CHECK(memcmp(flat, want, sizeof want) == 0, "gradients differ");
    CHECK(want[0] != 0 && want[WHOLE_COUNT - 1] != 0, "nothing to compare");
    CHECK(g.text == in.text && g.flag && g.wide == in.wide && g.sum.tag == ONE
          && g.sum.as.a.i == -3 && g.part[0][1].pair[1].n == 201
          && g.part[0][1].hue == GREEN
          && strcmp(g.part[1][1].name, "part") == 0, "fields of the primal");
}

/* --- constants, other tapes ----------------------------------------------- */

static void run_constants(void)
{
    vec3 in = { 2, 3, 5 };
    vec3 g = { 77, 77, 77 };
    vec3 before = g;
    vec3_rev x;
    start();
    OK(vec3_inputs(&in, &x));
    x.y = ad_detach(x.y);               // frozen
    ad_rev y = ad_rec(ad_mul(x.x, ad_mul(x.y, x.z)));
    OK(vec3_gradient(tape, y, &x, &g));
    CHECK(g.x == 15 && g.y == 0 && g.z == 6, "a frozen field has 0");
    g = before;
    SAYS(EPASSIVE, vec3_gradient(tape, ad_rec(1), &x, &g));
    x.z = ad_detach(x.z);
    OK(vec3_gradient(tape, y, &x, &g));
    CHECK(g.x == 15 && g.y == 0 && g.z == 0, "one left");
    g = before;
    x.x = ad_detach(x.x);
    SAYS(EPASSIVE, vec3_gradient(tape, y, &x, &g));
    SAME(&g, &before);

    // Without a tape, inputs are constants.
    ad_use(NULL);
    OK(vec3_inputs(&in, &x));
    CHECK(x.x.job == 0 && x.z.job == 0 && x.z.v == 5, "constants");
    ad_use(tape);
}

static void run_foreign(void)
{
    vec3 in = { 2, 3, 5 };
    vec3 g = { 77, 77, 77 };
    vec3 before = g;
    vec3_rev x;
    vec3_rev other;
    start();
    OK(vec3_inputs(&in, &other));
    start();
    OK(vec3_inputs(&in, &x));
    ad_rev y = ad_rec(ad_mul(x.x, x.z));
    SAYS(EFOREIGN, vec3_gradient(tape, y, &other, &g));
    x.y = other.y;
    SAYS(EFOREIGN, vec3_gradient(tape, y, &x, &g));
    x.y = x.x;                          // twice the same number
    SAME(&g, &before);
    OK(vec3_gradient(tape, y, &x, &g));
    CHECK(g.x == 5 && g.y == 5 && g.z == 2, "each has the whole adjoint");
    g = before;
    SAYS(EFOREIGN, vec3_gradient(tape, other.x, &x, &g));
    SAYS(ENOTAPE, vec3_gradient(NULL, y, &x, &g));
    SAME(&g, &before);
}

/* --- what is refused ------------------------------------------------------ */

static void run_null(void)
{
    const ad_allocator none = { NULL, NULL, NULL };
    vec3 in = { 2, 3, 5 };
    vec3_rev x;
    ad_rev xs[4];
    ad_real flat[4] = { 77, 77, 77, 77 };
    start();
    SAYS(ESHAPE, vec3_inputs(NULL, &x));
    SAYS(ESHAPE, vec3_inputs(&in, NULL));
    OK(vec3_inputs(&in, &x));
    SAYS(ESHAPE, vec3_values(NULL, &in));
    SAYS(ESHAPE, vec3_values(&x, NULL));
    SAYS(ESHAPE, vec3_gradient(tape, x.x, NULL, &in));
    SAYS(ESHAPE, vec3_gradient(tape, x.x, &x, NULL));
    SAYS(ESHAPE, vec3_pullback(tape, 1, NULL, flat, &x, &in));
    SAYS(ESHAPE, vec3_pullback(tape, 1, &x.x, NULL, &x, &in));
    SAYS(ESHAPE, vec3_gather(NULL, 3, xs));
    SAYS(ESHAPE, vec3_gather(&x, 3, NULL));
    SAYS(ESHAPE, vec3_gather(&x, 4, xs));
    SAYS(ESHAPE, vec3_gather(&x, 2, xs));
    SAYS(ESHAPE, vec3_pack(NULL, 3, flat));
    SAYS(ESHAPE, vec3_pack(&in, 3, NULL));
    SAYS(ESHAPE, vec3_pack(&in, 4, flat));
    CHECK(flat[0] == 77, "touched");
    SAYS(ESHAPE, vec3_unpack(3, NULL, &in));
    SAYS(ESHAPE, vec3_unpack(3, flat, NULL));
    SAYS(ESHAPE, vec3_unpack(2, flat, &in));
    SAYS(ESHAPE, vec3_make_rev(NULL, &in, &x));
    SAYS(ESHAPE, vec3_make_rev(&none, &in, &x));
    SAYS(ESHAPE, vec3_make_rev(&nodes, NULL, &x));
    SAYS(ESHAPE, vec3_make_plain(&nodes, &x, NULL));
    CHECK(vec3_count(NULL) == 0, "numbers of nothing");
    CHECK(in.x == 2 && in.y == 3 && in.z == 5, "touched");
}

// A node too few or too many on the side that is written.
static void run_unequal_lists(void)
{
    cell c[3] = { { 7, &c[1] }, { 8, &c[2] }, { 9, NULL } };
    cell_rev r[3];
    list in = { c };
    list_rev x = { r };
    start();
    for (int length = 0; length < 4; length++) {
        for (int i = 0; i < 3; i++)
            r[i] = (cell_rev){ { 77, 0, 0 }, i + 1 < length ? &r[i + 1]
                                                             : NULL };
        x.first = length > 0 ? r : NULL;
        ad_status s = list_inputs(&in, &x);
        CHECK(s == (length == 3 ? ADREV_OK : ADREV_ESHAPE), "length %d: %s",
              length, ad_message(s));
        CHECK(r[0].head.v == (length == 3 ? 7 : 77), "length %d", length);
    }
    c[1].tail = NULL;
    r[0].head = ad_input(77);
    SAYS(ESHAPE, list_values(&x, &in));
    SAYS(ESHAPE, list_gradient(tape, r[0].head, &x, &in));
    in.first = NULL;
    SAYS(ESHAPE, list_inputs(&in, &x));
    CHECK(c[0].head == 7 && x.first == r, "touched");
}

// Nodes in a case: the other side must be in that case already.
static void run_union_of_lists(void)
{
    cell c = { 7, NULL };
    cell_rev r = { { 77, 0, 0 }, NULL };
    ad_real a[2] = { 1, 2 };
    ad_rev b[2];
    holder in = { .tag = LISTED, .as.l = { &c } };
    holder_rev x = { .tag = LOOSE };
    start();
    memset(&x.as, 0x5a, sizeof x.as);
    SAYS(ESHAPE, holder_inputs(&in, &x));
    CHECK(x.tag == LOOSE, "touched");
    x = (holder_rev){ .tag = LISTED, .as.l = { &r } };
    OK(holder_inputs(&in, &x));
    CHECK(r.head.v == 7 && r.head.job != 0 && x.as.l.first == &r, "listed");

    // To a case without nodes from anywhere.
    in = (holder){ .tag = LOOSE, .as.v = { 1, 2, 3 } };
    OK(holder_inputs(&in, &x));
    CHECK(x.tag == LOOSE && x.as.v.z.v == 3, "no nodes");

    in = (holder){ .tag = SAMPLED, .as.s = { 2, a } };
    SAYS(ESHAPE, holder_inputs(&in, &x));
    CHECK(x.tag == LOOSE, "touched");
    x = (holder_rev){ .tag = SAMPLED, .as.s = { 2, b } };
    OK(holder_inputs(&in, &x));
    CHECK(b[1].v == 2 && holder_count(&x) == 2, "samples");
    ad_rev rev[2];
    ad_real flat[2] = { 0, 0 };
    OK(holder_gather(&x, 2, rev));
    OK(holder_pack(&in, 2, flat));
    CHECK(rev[1].seq == b[1].seq && flat[0] == 1 && flat[1] == 2, "arrays");

    holder_rev y;
    OK(holder_make_rev(&nodes, &in, &y));
    CHECK(y.tag == SAMPLED && y.as.s.n == 2 && pool.made == 1, "made");
}

/* --- memory that runs out ------------------------------------------------- */

// make: the n-th node is missing; what was made can be walked and freed.
static void run_missing_nodes(void)
{
    item c[3] = { { &c[1], 1, 1 }, { &c[2], 2, 2 }, { NULL, 3, 3 } };
    labelled in = { c, 9, 5 };
    for (int failing = 1; failing <= 4; failing++) {
        labelled_rev x;
        int length = 0;
        start();
        pool.failing = failing;
        memset(&x, 0x5a, sizeof x);
        ad_status s = labelled_make_rev(&nodes, &in, &x);
        CHECK(s == (failing == 4 ? ADREV_OK : ADREV_ENOMEM), "node %d: %s",
              failing, ad_message(s));
        for (const item_rev *i = x.first; i; i = i->next)
            length++;
        CHECK(length == failing - 1, "%d nodes", length);
        if (failing < 4)
            SAYS(ESHAPE, labelled_inputs(&in, &x));
    }
    ad_real a[1] = { 1 };
    series s = { 1, a };
    series_rev x;
    start();
    pool.failing = 1;
    SAYS(ENOMEM, series_make_rev(&nodes, &s, &x));
    CHECK(x.n == 0 && x.at == NULL, "zeroed");

    // The first failure is the last attempt.
    boxed box = { &s };
    boxed_rev boxed_x;
    tree leaf = { NULL, 2, NULL };
    tree root = { &leaf, 3, &leaf };
    tree_rev tree_x;
    start();
    pool.failing = 1;
    SAYS(ENOMEM, boxed_make_rev(&nodes, &box, &boxed_x));
    CHECK(boxed_x.only == NULL && pool.made == 1, "%d attempts", pool.made);
    start();
    pool.failing = 1;
    SAYS(ENOMEM, tree_make_rev(&nodes, &root, &tree_x));
    CHECK(tree_x.right == NULL && pool.made == 1, "%d attempts", pool.made);
}

// Each block of the tape is missing in turn.
static void run_missing_blocks(void)
{
    bool done = false;
    for (size_t n = 1; !done; n++) {
        heap h = { .failing = n };
        const ad_allocator a = { heap_alloc, heap_free, &h };
        vec3 in = { 2, 3, 5 };
        vec3 g = { 77, 77, 77 };
        vec3_rev x;
        ad_tape *t = ad_tape_new_with(&a);
        if (t == NULL)
            continue;
        ad_use(t);
        OK(vec3_inputs(&in, &x));
        ad_rev y = ad_rec(ad_mul(ad_mul(x.x, x.y), x.z));
        ad_status s = vec3_gradient(t, y, &x, &g);
        done = s == ADREV_OK;
        CHECK(done || s == ADREV_ENOMEM, "block %zu: %s", n, ad_message(s));
        CHECK(done ? g.x == 15 && g.y == 10 && g.z == 6
                   : g.x == 77 && g.y == 77 && g.z == 77, "block %zu", n);
        CHECK(x.x.v == 2 && x.z.v == 5, "values, even so");
        CHECK(n < 10, "never enough");
        done = done || n > 10;
        ad_tape_free(t);
        CHECK(h.live == 0, "block %zu: %zu leak", n, h.live);
    }
    ad_use(tape);
}

// In fixed memory the adjoints lie elsewhere.
static void run_fixed_memory(void)
{
    static _Alignas(max_align_t) unsigned char memory[2048];
    vec3 in = { 2, 3, 5 };
    vec3 g;
    vec3_rev x;
    ad_tape *t = ad_tape_in(memory, sizeof memory);
    ad_use(t);
    OK(vec3_inputs(&in, &x));
    ad_rev y = ad_rec(ad_mul(ad_mul(x.x, x.y), x.z));
    OK(vec3_gradient(t, y, &x, &g));
    CHECK(g.x == 15 && g.y == 10 && g.z == 6, "gradient in fixed memory");
    ad_use(tape);
}

/* --- checks ---------------------------------------------------------------- */

// A product of all numbers of a list, and a factor behind it; one of them may
// be frozen.
typedef struct frozen {
    const item_rev *which;
    int of;
} frozen;

static ad_rev list_product(const labelled_rev *l, void *ctx)
{
    const frozen *f = ctx;
    ad_rev y = l->x;
    int i = 0;
    for (const item_rev *p = l->first; p != NULL; p = p->next, i++) {
        ad_rev v = i == f->of ? ad_detach(p->value) : p->value;
        y = ad_rec(ad_mul(y, ad_add(v, p->label)));
    }
    return y;
}

static ad_rev volume(const vec3_rev *v, void *ctx)
{
    bool wrong = *(const bool *)ctx;
    ad_real x = ad_value(v->x);
    return wrong ? ad_rec(ad_mul(ad_mul(x, v->y), v->z))
                 : ad_rec(ad_mul(ad_mul(v->x, v->y), v->z));
}

static ad_rev of_case(const either_rev *e, void *ctx)
{
    (void)ctx;
    return e->tag == ONE ? ad_rec(ad_mul(e->as.a.x, ad_sin(e->as.a.y)))
                         : ad_rec(ad_mul(e->as.b.x, e->as.b.i));
}

static void run_check(void)
{
    start();
    ad_check_report r = {0};
    ad_check_entry entry[3];
    vec3 v = { 2, 3, 5 };
    vec3_rev twin;
    bool wrong = false;
    OK(vec3_check(volume, &wrong, &v, &twin, &r));
    CHECK(ad_check_passed(&r) && r.checks == 3 && r.value == 30, "a product");
    CHECK(twin.x.job == 0 && twin.z.v == 5, "the twin holds constants");
    wrong = true;
    r = (ad_check_report){ .entry = entry, .room = 3 };
    OK(vec3_check(volume, &wrong, &v, &twin, &r));
    CHECK(!ad_check_passed(&r) && r.counts[ADREV_DISAGREES] == 1
          && r.worst.index == 0 && entry[0].gradient == 0, "x is lost");

    item three[3] = { { three + 1, 2, 1 }, { three + 2, 3, 0 }, { NULL, 4, 2 } };
    labelled l = { three, 3, 7 };
    item_rev rev[3] = { { .next = rev + 1 }, { .next = rev + 2 }, { .next = NULL } };
    labelled_rev lr = { .first = rev };
    for (int of = -1; of < 3; of++) {
        frozen f = { .of = of };
        OK(labelled_check(list_product, &f, &l, &lr, &r));
        CHECK(r.checks == 4 && r.value == 7 * 3 * 3 * 6
              && ad_check_passed(&r) == (of < 0), "a list");
        CHECK(of < 0 || r.worst.index == 2 - (size_t)of,    // as gathered
              "node %d: input %zu", of, r.worst.index);
    }
    CHECK(lr.first == rev && rev[2].label == 2 && lr.n == 3, "other fields");
    rev[1].next = NULL;
    CHECK(labelled_check(list_product, NULL, &l, &lr, &r) == ADREV_ESHAPE
          && !ad_check_passed(&r), "lists of different lengths");

    either e = { .tag = ONE, .as.a = { 2, 3, 0.5 } };
    either_rev er;
    OK(either_check(of_case, NULL, &e, &er, &r));
    CHECK(ad_check_passed(&r) && r.checks == 2, "a union");
    e.tag = TWO;
    OK(either_check(of_case, NULL, &e, &er, &r));
    CHECK(ad_check_passed(&r) && r.checks == 1, "its other case");

    CHECK(vec3_check(NULL, NULL, &v, &twin, &r) == ADREV_ESHAPE
          && !ad_check_passed(&r), "no function");
    CHECK(vec3_check(volume, &wrong, NULL, &twin, &r) == ADREV_ESHAPE
          && vec3_check(volume, &wrong, &v, NULL, &r) == ADREV_ESHAPE
          && vec3_check(volume, &wrong, &v, &twin, NULL) == ADREV_ESHAPE,
          "null");
    ad_use(NULL);
    wrong = false;
    OK(vec3_check(volume, &wrong, &v, &twin, &r));
    CHECK(ad_check_passed(&r), "without a tape");
    ad_use(tape);
    CHECK(ad_tape_stats(tape).values == 0, "nothing is left on the tape");
}

#if ADREV_DEBUG
static void run_where(void)
{
    const char *file = NULL;
    int line = 0;
    wrapped in = { 4 };
    wrapped_rev x;
    start();
    ad_rev before = ad_rec(ad_sin(ad_input(1)));
    OK(wrapped_inputs(&in, &x));
    ad_tape_where(tape, before, &file, &line);
    CHECK(file != NULL && line > 100, "a statement of this test");
    CHECK(adx_now.line < 100, "line %d is that of ADREV_STRUCT", adx_now.line);
}
#endif

int main(void)
{
    tape = ad_tape_new();
    if (!tape)
        return EXIT_FAILURE;
    ad_use(tape);
    run_wrapped();
    run_mixed();
    run_vec3();
    run_rotation();
    run_sections();
    run_sum_type();
    run_sum_type_result();
    run_list_argument();
    run_list_result();
    run_labelled();
    run_alternating();
    for (int n = -1; n < 13; n++)
        run_unfold(n);
    run_long_list();
    run_tree();
    run_random();
    run_series();
    run_round_trip();
    run_whole_gradient();
    run_constants();
    run_foreign();
    run_null();
    run_unequal_lists();
    run_union_of_lists();
    run_missing_nodes();
    run_missing_blocks();
    run_fixed_memory();
    run_check();
#if ADREV_DEBUG
    run_where();
#endif
    pool_clear(0);
    ad_tape_free(tape);
    return check_done("structs");
}
