// SPDX-License-Identifier: MIT-0
// tags: slow formulas
/* oracle.c - the oracle of the tensor programs tested itself: programs whose
 * values, gradients and operations are known, as trees; their text; and that
 * directions and gradients agree on random programs.                        */

#include "implementation.h"
#include "adrev.h"
#include "check.h"
#include "tensor_random.h"
#include "programs.h"

enum { NUMBERS = 400, MOST = 8 };

/* --- a case --------------------------------------------------------------- */

// What is known of a program at a point. Inputs and results follow each other.
typedef struct known {
    const char *name;
    enum tree_reading how;
    unsigned add, mul, fn;
    const double *x, *w;            // inputs, seeds; NULL: ones
    const double *y, *g;            // results, gradient; NULL: not compared
} known;

static double ones[NUMBERS];

// The arrays of a list of numbers, one for each input or for each result.
static void known_arrays(const tree *t, bool input, const double *all,
                         const double *each[])
{
    tree_run r;
    int n = 0;
    tree_open(&r, t, TREE_EXACT, 1);
    for (int i = 0; i < t->tensors; i++)
        if (input ? t->tensor[i].input : t->tensor[i].out) {
            each[n++] = all;
            all += tree_count_of(&r, i);
        }
    tree_close(&r);
}

static void check_values(const tree *t, const known *k, tree_run *r)
{
    int at = 0;
    for (int i = 0; i < t->tensors && k->y != NULL; i++)
        for (int j = 0; t->tensor[i].out && j < tree_count_of(r, i); j++, at++)
            CHECK(tree_at(r, i, j, 0) == (long double)k->y[at],
                  "%s: result %d is %Lg, not %g", k->name, at,
                  tree_at(r, i, j, 0), k->y[at]);
}

static void check_gradient(const known *k, const long double *g, int n)
{
    for (int i = 0; i < n && k->g != NULL; i++)
        CHECK(g[i] == (long double)k->g[i], "%s: gradient %d is %Lg, not %g",
              k->name, i, g[i], k->g[i]);
}

static void check_operations(const tree *t, const known *k)
{
    tree_cost c = tree_count(t, k->how);
    CHECK(c.there && c.add == k->add && c.mul == k->mul && c.fn == k->fn,
          "%s: (%" PRIu64 ", %" PRIu64 ", %" PRIu64 ") operations, not "
          "(%u, %u, %u)", k->name, c.add, c.mul, c.fn, k->add, k->mul, k->fn);
}

static void check_known(const tree *t, known k)
{
    static long double g[NUMBERS];
    const double *x[MOST] = { NULL };
    const double *w[MOST] = { NULL };
    const double *gs[MOST] = { NULL };
    long double *each[MOST] = { NULL };
    tree_run r;
    int n = 0;
    known_arrays(t, true, k.x ? k.x : ones, x);
    known_arrays(t, false, k.w ? k.w : ones, w);
    known_arrays(t, true, ones, gs);
    tree_open(&r, t, TREE_EXACT, 2);
    for (int i = 0, input = 0; i < t->tensors; i++)
        if (t->tensor[i].input) {
            each[input] = g + (gs[input] - ones);
            n = (int)(gs[input++] - ones) + tree_count_of(&r, i);
        }
    CHECK(tree_run_at(&r, x, NULL, NULL), "%s: not run, %s", k.name, r.where);
    check_values(t, &k, &r);
    CHECK(tree_gradient(&r, x, w, NULL, each), "%s: no gradient", k.name);
    check_gradient(&k, g, n);
    check_operations(t, &k);
    tree_close(&r);
}

static void check_text(const char *name, const tree *t, const char *want)
{
    tree_text o;
    tree_print(t, &o);
    CHECK(!o.full && strcmp(o.s, want) == 0, "%s: got\n%swant\n%s", name, o.s,
          want);
}

/* --- the programs: T1 to T21 ---------------------------------------------- */

#define AT(...) TREE_LIST(tree_i(t, __VA_ARGS__))
#define AT2(i, j) TREE_LIST(tree_i(t, i), tree_i(t, j))

// A[i,j] = [i==j] x[i], for a vector x or a scalar
static int diagonal(tree *t, int n, int x, bool scalar)
{
    int i = tree_under(t, "i", n);
    int j = tree_under(t, "j", n);
    int e = scalar ? tree_read(t, x, TREE_NONE) : tree_read(t, x, AT(i));
    int p = tree_compare(t, tree_i(t, i), TREE_EQ, tree_i(t, j));
    return tree_let(t, "A", TREE_LIST(i, j), tree_bracket(t, p, e));
}

static int trace(tree *t, int A, int n)
{
    int i = tree_under(t, "i", n);
    t->index[i].implied = true;
    return tree_sum(t, TREE_LIST(i), -1, tree_read(t, A, AT2(i, i)));
}

static void traces(tree *t, int size, int k)
{
    tree_start(t);
    int n = tree_size(t, "n", size);
    int x = tree_input(t, "x", TREE_LIST(n));
    int A = diagonal(t, n, x, false);
    int e = trace(t, A, n);
    for (int c = 1; c < k; c++)
        e = tree_add(t, e, trace(t, A, n));
    tree_out(t, "f", TREE_NONE, e);
}

static void run_traces(void)
{
    static const int rows[][2] = { { 3, 2 }, { 5, 4 }, { 16, 4 }, { 16, 8 } };
    static const double x[] = { 1, 2, 3, 4, 5 };
    static const double four[] = { 4, 4, 4, 4, 4 };
    static const double sixty = 60;
    tree t;
    for (int row = 0; row < 4; row++) {
        int n = rows[row][0];
        int k = rows[row][1];
        bool printed = n == 5;
        traces(&t, n, k);
        check_known(&t, (known){ "traces", TREE_LITERAL,
                                 (unsigned)(k * n - 1), 0, 0,
                                 printed ? x : NULL, NULL,
                                 printed ? &sixty : NULL,
                                 printed ? four : NULL });
    }
    traces(&t, 3, 2);
    check_text("traces", &t, "in x[n];\n"
                             "A[i<n,j<n] = [i == j] x[i];\n"
                             "out f = sum(i) A[i,i] + sum(i) A[i,i];\n");
    t.size[0].named = false;
    check_text("traces", &t, "in x[3];\n"
                             "A[i<3,j<3] = [i == j] x[i];\n"
                             "out f = sum(i) A[i,i] + sum(i) A[i,i];\n");
    tree one;
    tree_start(&one);
    int n = tree_size(&one, "n", 7);
    int s = tree_input(&one, "s", TREE_NONE);
    tree_out(&one, "f", TREE_NONE, trace(&one, diagonal(&one, n, s, true), n));
    static const double three = 3, twenty_one = 21, seven = 7;
    check_known(&one, (known){ "trace of s times eye", TREE_LITERAL, 6, 0, 0,
                               &three, NULL, &twenty_one, &seven });
}

// The sum over c < k of dot(A[:,c], A[c,:]), or that of column and row 0
static void dots(tree *t, int size, int most)
{
    tree_start(t);
    int n = tree_size(t, "n", size);
    int k = tree_size(t, "k", most);
    int A = diagonal(t, n, tree_input(t, "x", TREE_LIST(n)), false);
    int i = tree_under(t, "i", n);
    int c = tree_under(t, "c", k);
    int ci = most > 0 ? tree_i(t, c) : tree_whole(t, 0);
    int e = tree_mul(t, tree_read(t, A, TREE_LIST(tree_i(t, i), ci)),
                     tree_read(t, A, TREE_LIST(ci, tree_i(t, i))));
    e = most > 0 ? tree_sum(t, TREE_LIST(c, i), -1, e)
                 : tree_sum(t, TREE_LIST(i), -1, e);
    tree_out(t, "f", TREE_NONE, e);
}

static void run_dots(void)
{
    static const double x[16] = { 3, 4 };
    static const double nine = 9, twenty_five = 25;
    static const double first[16] = { 6 };
    static const double both[16] = { 6, 8 };
    tree t;
    for (int n = 2; n <= 16; n *= 2) {
        unsigned u = (unsigned)n;
        dots(&t, n, 0);
        check_known(&t, (known){ "dot of row and column", TREE_LITERAL, u - 1,
                                 u, 0, x, NULL, &nine, first });
        check_known(&t, (known){ "dot of row and column", TREE_SUPPORTS, 0, 1,
                                 0, x, NULL, &nine, first });
        if (n < 4)
            continue;
        dots(&t, n, 4);
        check_known(&t, (known){ "dots", TREE_LITERAL, 4 * u - 1, 4 * u, 0, x,
                                 NULL, &twenty_five, both });
        check_known(&t, (known){ "dots", TREE_SUPPORTS, 3, 4, 0, x, NULL,
                                 &twenty_five, both });
    }
}

// y[i] = the sum over j < m of x[i-j] c[j], x from -m+1
static int convolution(tree *t, int *n, int length, int taps)
{
    *n = tree_size(t, "n", length);
    int m = tree_size(t, "m", taps);
    int from = tree_plus(t, tree_whole(t, 1), -1, tree_n(t, m));
    int x = tree_input_from(t, "x", from, tree_n(t, *n));
    int c = tree_input(t, "c", TREE_LIST(m));
    int i = tree_under(t, "i", *n);
    int j = tree_under(t, "j", m);
    int at = tree_plus(t, tree_i(t, i), -1, tree_i(t, j));
    int e = tree_mul(t, tree_read(t, x, TREE_LIST(at)),
                     tree_read(t, c, AT(j)));
    t->index[j].implied = true;
    return tree_let(t, "y", TREE_LIST(i), tree_sum(t, TREE_LIST(j), -1, e));
}

static void convolved(tree *t, int n, int m)
{
    tree_start(t);
    t->tensor[convolution(t, &n, n, m)].out = true;
}

static void run_convolution(void)
{
    static const double x2[] = { 1, 2, 3, 4, 5, 2, -1 };
    static const double y2[] = { 3, 4, 5, 6 };
    static const double g2[] = { -1, 1, 1, 1, 2, 14, 10 };
    static const double x3[] = { 1, 2, 3, 4, 5, 6, 2, -1, 3 };
    static const double y3[] = { 7, 11, 15, 19 };
    static const double g3[] = { 3, 2, 4, 4, 1, 2, 18, 14, 10 };
    const double probe[5] = { 0, 0, 0, 1, 0 };      // x[2], x from -1
    const double *x[] = { x2, x2 + 5 };
    const double *const zeros[2] = { probe, (const double[2]){ 0, 0 } };
    static const double column[] = { 0, 0, 2, -1 };
    tree t;
    tree_run r;
    convolved(&t, 4, 2);
    check_known(&t, (known){ "convolution", TREE_LITERAL, 4, 8, 0, x2, NULL,
                             y2, g2 });
    check_text("convolution", &t,
               "in x[1-m:n];\nin c[m];\n"
               "out y[i<n] = sum(j) x[i-j]*c[j];\n");
    tree_open(&r, &t, TREE_EXACT, 2);
    CHECK(tree_run_at(&r, x, zeros, NULL), "probe");
    for (int i = 0; i < 4; i++)
        CHECK(tree_at(&r, 2, i, 1) == (long double)column[i], "column %d", i);
    tree_close(&r);
    convolved(&t, 4, 3);
    check_known(&t, (known){ "convolution", TREE_LITERAL, 8, 12, 0, x3, NULL,
                             y3, g3 });
    convolved(&t, 6, 3);
    check_known(&t, (known){ "convolution", TREE_LITERAL, 12, 18, 0, NULL,
                             NULL, NULL, NULL });
}

static void run_deconvolution(void)
{
    static const double x[] = { 1, 2, 3, 4, 5, 2, -1, 1, 1, 1, 1 };
    static const double f = 54;
    // with respect to x as printed; to c and z by hand, from r = (2,3,4,5)
    static const double g[] = { -4, 2, 4, 6, 20, 2 * (2 * 2 + 3 * 3 + 16 + 25),
                                2 * (2 + 3 * 2 + 4 * 3 + 5 * 4), -4, -6, -8,
                                -10 };
    tree made;
    tree *t = &made;
    int n = 4;
    tree_start(t);
    int y = convolution(t, &n, 4, 2);
    int z = tree_input(t, "z", TREE_LIST(n));
    int i = tree_under(t, "i", n);
    int j = tree_under(t, "i", n);
    int e = tree_sub(t, tree_read(t, y, AT(i)), tree_read(t, z, AT(i)));
    int d = tree_let(t, "r", TREE_LIST(i), e);
    t->index[j].implied = true;
    e = tree_pow(t, tree_read(t, d, AT(j)), 2);
    tree_out(t, "f", TREE_NONE, tree_sum(t, TREE_LIST(j), -1, e));
    check_known(t, (known){ "deconvolution", TREE_LITERAL, 11, 16, 0, x, NULL,
                            &f, g });
    check_text("deconvolution", t,
               "in x[1-m:n];\nin c[m];\nin z[n];\n"
               "y[i<n] = sum(j) x[i-j]*c[j];\n"
               "r[i<n] = y[i] - z[i];\n"
               "out f = sum(i) r[i]^2;\n");
}

static void run_batch(void)
{
    double x[10 + 2 + 8];
    static const double f = 1474;
    double g[20] = { 0 };
    tree made;
    tree *t = &made;
    tree_start(t);
    int b = tree_size(t, "b", 2);
    int n = tree_size(t, "n", 4);
    int m = tree_size(t, "m", 2);
    int w = tree_input(t, "w", TREE_LIST(m));
    int X = tree_input(t, "x", TREE_LIST(b, n));
    int z = tree_input(t, "z", TREE_LIST(b, n));
    t->tensor[X].from[1] = tree_plus(t, tree_whole(t, 1), -1, tree_n(t, m));
    int k = tree_under(t, "k", b);
    int i = tree_under(t, "i", n);
    int j = tree_under(t, "j", m);
    int at = tree_plus(t, tree_i(t, i), -1, tree_i(t, j));
    int e = tree_mul(t, tree_read(t, X, TREE_LIST(tree_i(t, k), at)),
                     tree_read(t, w, AT(j)));
    int y = tree_let(t, "y", TREE_LIST(k, i),
                     tree_sum(t, TREE_LIST(j), -1, e));
    e = tree_sub(t, tree_read(t, y, AT2(k, i)), tree_read(t, z, AT2(k, i)));
    tree_out(t, "f", TREE_NONE,
             tree_sum(t, TREE_LIST(k, i), -1, tree_pow(t, e, 2)));
    x[0] = 1, x[1] = 2;
    for (int q = 0; q < 10; q++)
        x[2 + q] = (q / 5 + 1) * (q % 5 - 1 + 2);
    for (int q = 0; q < 8; q++)
        x[12 + q] = 1;
    g[0] = 1256, g[1] = 940;
    for (int q = 0; q < 8; q++) {           // r, and 2 r w and -2 r
        const double *row = x + 2 + q / 4 * 5 + q % 4;
        double r = row[1] + 2 * row[0] - 1;
        g[2 + q / 4 * 5 + q % 4 + 1] += 2 * r;
        g[2 + q / 4 * 5 + q % 4] += 4 * r;
        g[12 + q] = -2 * r;
    }
    check_known(t, (known){ "batch", TREE_LITERAL, 23, 32, 0, x, NULL, &f, g });
}

// 2 x, and five copies of x that nothing reads
static void run_dead(void)
{
    static const char *const names[] = { "a", "b", "c", "d", "e" };
    static const double x = 3, y = 6, g = 2;
    tree made;
    tree *t = &made;
    tree_start(t);
    int in = tree_input(t, "x", TREE_NONE);
    for (int i = 0; i < 5; i++)
        tree_let(t, names[i], TREE_NONE, tree_read(t, in, TREE_NONE));
    tree_out(t, "y", TREE_NONE, tree_mul(t, tree_number_of(t, 2),
                                         tree_read(t, in, TREE_NONE)));
    check_known(t, (known){ "dead copies", TREE_LITERAL, 0, 1, 0, &x, NULL, &y,
                            &g });
}

static int scaled(tree *t, int by, int tensor)
{
    return tree_mul(t, tree_number_of(t, by), tree_read(t, tensor, TREE_NONE));
}

static void run_dag(void)
{
    static const double x[] = { 1, 2 };
    static const double y[] = { 8, 112 };
    static const double w[][2] = { { 1, 1 }, { 1, 0 }, { 0, 1 } };
    static const double g[][2] = { { 54, 33 }, { 8, 0 }, { 46, 33 } };
    tree made;
    tree *t = &made;
    tree_start(t);
    int in = tree_input(t, "x", TREE_NONE);
    int yy = tree_input(t, "y", TREE_NONE);
    int a = tree_let(t, "a", TREE_NONE,
                     tree_add(t, scaled(t, 2, in), scaled(t, 3, yy)));
    int b = tree_let(t, "b", TREE_NONE,
                     tree_add(t, scaled(t, 4, in), tree_read(t, a, TREE_NONE)));
    tree_out(t, "z", TREE_NONE, scaled(t, 8, in));
    tree_out(t, "w", TREE_NONE,
             tree_add(t, scaled(t, 5, a), scaled(t, 6, b)));
    for (int i = 0; i < 3; i++)
        check_known(t, (known){ "linear graph", TREE_LITERAL, 3, 6, 0, x, w[i],
                                y, g[i] });
}

// The sum of e(x[i]) over i < n, i != left_out
static void vector_sum(tree *t, int length, int left_out, int row, int power)
{
    tree_start(t);
    int n = tree_size(t, "n", length);
    int x = tree_input(t, "x", TREE_LIST(n));
    int i = tree_under(t, "i", n);
    int e = tree_read(t, x, AT(i));
    int p = tree_compare(t, tree_i(t, i), TREE_NE, tree_whole(t, left_out));
    e = row >= 0 ? tree_call(t, row, e, 0, 0) : e;
    e = power > 1 ? tree_pow(t, e, power) : e;
    t->index[i].implied = true;
    tree_out(t, "f", TREE_NONE,
             tree_sum(t, TREE_LIST(i), left_out >= 0 ? p : -1, e));
}

static void run_vectors(void)
{
    static const double x[] = { 1, 2, 3, 4, 5, 6 };
    static const double skipped = 19, seven = 7;
    static const double sevens[] = { 7, 0, 7, 7, 7, 7 };
    static const double squares = 91, without = 21;
    static const double twice[] = { 2, 4, 6, 8, 10, 12 };
    static const double some[] = { 2, 4, 0, 8 };
    tree t;
    vector_sum(&t, 6, 1, -1, 1);
    check_known(&t, (known){ "skipping sum", TREE_LITERAL, 4, 0, 0, x, &seven,
                             &skipped, sevens });
    check_text("skipping sum", &t, "in x[n];\n"
                                   "out f = sum(i: i != 1) x[i];\n");
    vector_sum(&t, 6, -1, -1, 2);
    check_known(&t, (known){ "sum of squares", TREE_LITERAL, 5, 6, 0, x, NULL,
                             &squares, twice });
    vector_sum(&t, 4, 2, TREE_SQR, 1);
    check_known(&t, (known){ "predicated function", TREE_LITERAL, 2, 0, 3, x,
                             NULL, &without, some });
    check_text("predicated function", &t,
               "in x[n];\nout f = sum(i: i != 2) sqr(x[i]);\n");
}

static void run_product(void)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "g", "h",
                                         "k" };
    static const double x[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    static const double all = 40320;
    double g[8];
    tree made;
    tree *t = &made;
    int e = -1;
    tree_start(t);
    for (int i = 0; i < 8; i++) {
        int in = tree_read(t, tree_input(t, names[i], TREE_NONE), TREE_NONE);
        e = e < 0 ? in : tree_mul(t, e, in);
        g[i] = all / x[i];
    }
    tree_out(t, "f", TREE_NONE, e);
    check_known(t, (known){ "product", TREE_LITERAL, 0, 7, 0, x, NULL, &all,
                            g });
}

// C[i,k] = sum(j) A[i,j] B[j,k], or without the sum: the outer product
static void run_products_of_matrices(void)
{
    static const double xy[] = { 1, 2, 3, 4, 5, 6, 7 };
    static const double g[] = { 22, 22, 22, 6, 6, 6, 6 };
    tree made;
    tree *t = &made;
    tree_start(t);
    int n = tree_size(t, "n", 3);
    int A = tree_input(t, "A", TREE_LIST(n, n));
    int B = tree_input(t, "B", TREE_LIST(n, n));
    int i = tree_under(t, "i", n);
    int j = tree_under(t, "j", n);
    int k = tree_under(t, "k", n);
    int e = tree_mul(t, tree_read(t, A, AT2(i, j)), tree_read(t, B, AT2(j, k)));
    tree_out(t, "C", TREE_LIST(i, k), tree_sum(t, TREE_LIST(j), -1, e));
    check_known(t, (known){ "matrix product", TREE_LITERAL, 18, 27, 0, NULL,
                            NULL, NULL, NULL });
    tree_start(t);
    n = tree_size(t, "n", 3);
    int m = tree_size(t, "m", 4);
    int x = tree_input(t, "x", TREE_LIST(n));
    int y = tree_input(t, "y", TREE_LIST(m));
    i = tree_under(t, "i", n);
    j = tree_under(t, "j", m);
    e = tree_mul(t, tree_read(t, x, AT(i)), tree_read(t, y, AT(j)));
    tree_out(t, "C", TREE_LIST(i, j), e);
    check_known(t, (known){ "outer product", TREE_LITERAL, 0, 12, 0, xy, NULL,
                            NULL, g });
}

// The sum of A[i,j] where i <= j, or where i + j == n - 1
static void matrix_sum(tree *t, int size, bool anti)
{
    tree_start(t);
    int n = tree_size(t, "n", size);
    int A = tree_input(t, "A", TREE_LIST(n, n));
    int i = tree_under(t, "i", n);
    int j = tree_under(t, "j", n);
    int sum = tree_plus(t, tree_i(t, i), 1, tree_i(t, j));
    int p = anti ? tree_compare(t, sum, TREE_EQ,
                                tree_shift(t, tree_n(t, n), -1))
                 : tree_compare(t, tree_i(t, i), TREE_LE, tree_i(t, j));
    t->index[i].implied = t->index[j].implied = true;
    tree_out(t, "f", TREE_NONE, tree_sum(t, TREE_LIST(i, j), p,
                                         tree_read(t, A, AT2(i, j))));
}

static void run_parts_of_matrices(void)
{
    static const double thirty = 30, more = 252;
    double A[64], g[64];
    tree t;
    for (int i = 0; i < 64; i++)
        A[i] = i;                           // n i + j for every n
    matrix_sum(&t, 4, false);
    for (int i = 0; i < 16; i++)
        g[i] = i / 4 <= i % 4;
    check_known(&t, (known){ "triangle", TREE_LITERAL, 9, 0, 0, A, NULL, NULL,
                             g });
    matrix_sum(&t, 4, true);
    for (int i = 0; i < 16; i++)
        g[i] = i / 4 + i % 4 == 3;
    check_known(&t, (known){ "antidiagonal", TREE_LITERAL, 3, 0, 0, A, NULL,
                             &thirty, g });
    check_text("antidiagonal", &t, "in A[n,n];\n"
                                   "out f = sum(i,j: i+j == n-1) A[i,j];\n");
    matrix_sum(&t, 8, true);
    check_known(&t, (known){ "antidiagonal", TREE_LITERAL, 7, 0, 0, A, NULL,
                             &more, NULL });
}

// The sum of x[a i + b] x[c i + d] over i < m
static void run_views(void)
{
    static const int rows[2][6] = { { 3, 6, 2, 0, 2, 1 },
                                    { 4, 4, 1, 0, -1, 3 } };
    static const double x[] = { 1, 2, 3, 4, 5, 6 };
    static const double f[] = { 44, 20 };
    static const double g[][6] = { { 2, 1, 4, 3, 6, 5 }, { 8, 6, 4, 2 } };
    tree made;
    tree *t = &made;
    for (int row = 0; row < 2; row++) {
        const int *k = rows[row];
        tree_start(t);
        int m = tree_size(t, "m", k[0]);
        int in = tree_input(t, "x", TREE_LIST(tree_size(t, "n", k[1])));
        int i = tree_under(t, "i", m);
        int a = tree_plus(t, tree_whole(t, k[3]), k[2], tree_i(t, i));
        int b = tree_plus(t, tree_whole(t, k[5]), k[4], tree_i(t, i));
        int e = tree_mul(t, tree_read(t, in, TREE_LIST(a)),
                         tree_read(t, in, TREE_LIST(b)));
        tree_out(t, "f", TREE_NONE, tree_sum(t, TREE_LIST(i), -1, e));
        check_known(t, (known){ "views", TREE_LITERAL, (unsigned)k[0] - 1,
                                (unsigned)k[0], 0, x, NULL, &f[row], g[row] });
    }
    check_text("reversed view", t, "in x[n];\n"
                                   "out f = sum(i<4) x[i]*x[3-i];\n");
}

static void run_masks(void)
{
    static const double g[] = { 1, 1, 1, 1, 0, 1, 2, 3 };
    tree made;
    tree *t = &made;
    tree_start(t);
    int n = tree_size(t, "n", 4);
    int x = tree_input(t, "x", TREE_LIST(n));
    int y = tree_input(t, "y", TREE_LIST(n));
    int i = tree_under(t, "i", n);
    int j = tree_under(t, "j", n);
    int p = tree_compare(t, tree_i(t, i), TREE_EQ, tree_i(t, j));
    int q = tree_compare(t, tree_i(t, i), TREE_LT, tree_i(t, j));
    int e = tree_add(t, tree_bracket(t, p, tree_read(t, x, AT(i))),
                     tree_bracket(t, q, tree_read(t, y, AT(j))));
    t->index[i].implied = t->index[j].implied = true;
    tree_out(t, "M", TREE_LIST(i, j), e);
    check_known(t, (known){ "masks", TREE_LITERAL, 0, 0, 0, NULL, NULL, NULL,
                            g });
    check_text("masks", t, "in x[n];\nin y[n];\n"
                           "out M[i,j] = [i == j] x[i] + [i < j] y[j];\n");
}

// y[i] = the sum of A[i,j] x[j] where |i - j| <= 1
static void run_band(void)
{
    static const double y[] = { 0, 0, 0, 0, 6 };
    tree made;
    tree *t = &made;
    for (int size = 5; size <= 10; size += 5) {
        double x[110] = { 0 }, g[110] = { 0 };
        unsigned u = (unsigned)size;
        tree_start(t);
        int n = tree_size(t, "n", size);
        int A = tree_input(t, "A", TREE_LIST(n, n));
        int in = tree_input(t, "x", TREE_LIST(n));
        int i = tree_under(t, "i", n);
        int j = tree_under(t, "j", n);
        int p = tree_within(t, tree_shift(t, tree_i(t, i), -1), tree_i(t, j),
                            tree_shift(t, tree_i(t, i), 2));
        int e = tree_mul(t, tree_read(t, A, AT2(i, j)),
                         tree_read(t, in, AT(j)));
        tree_out(t, "y", TREE_LIST(i), tree_sum(t, TREE_LIST(j), p, e));
        for (int q = 0; q < size * size; q++) {
            int off = q / size - q % size;
            x[q] = off == 0 ? 2 : off * off == 1 ? -1 : 77;
            g[q] = off * off <= 1 ? q % size + 1 : 0;
        }
        for (int q = 0; q < size; q++) {
            x[size * size + q] = q + 1;
            g[size * size + q] = q == 0 || q == size - 1;
        }
        check_known(t, (known){ "band", TREE_LITERAL, 2 * u - 2, 3 * u - 2, 0,
                                x, NULL, size == 5 ? y : NULL, g });
    }
}

static void run_sparse(void)
{
    static const int R[][2] = { { 0, 0 }, { 0, 2 }, { 1, 1 }, { 3, 0 },
                                { 3, 1 }, { 3, 3 } };
    static const double x[] = { 1, 3, 12, 31, 32, 34, 1, 2, 3, 4 };
    static const double w[] = { 1, 2, 3, 4 };
    static const double y[] = { 10, 24, 0, 231 };
    static const double g[] = { 1, 3, 4, 4, 8, 16, 125, 152, 3, 136 };
    tree made;
    tree *t = &made;
    tree_start(t);
    int n = tree_size(t, "n", 4);
    int r = tree_relation_of(t, "R", TREE_LIST(n, n));
    for (int e = 0; e < 6; e++)
        tree_entry(t, r, 2, R[e]);
    int A = tree_input_on(t, "A", r);
    int in = tree_input(t, "x", TREE_LIST(n));
    int i = tree_under(t, "i", n);
    int j = tree_under(t, "j", n);
    int e = tree_mul(t, tree_read(t, A, AT2(i, j)), tree_read(t, in, AT(j)));
    t->index[i].implied = t->index[j].implied = true;
    tree_out(t, "y", TREE_LIST(i), tree_sum(t, TREE_LIST(j), -1, e));
    check_known(t, (known){ "sparse", TREE_BRACKETS, 3, 6, 0, x, w, y, g });
    check_text("sparse", t, "rel R[n,n];\nin A[R];\nin x[n];\n"
                            "out y[i] = sum(j) A[i,j]*x[j];\n");
}

static void run_edges(void)
{
    static const int E[][2] = { { 0, 1 }, { 1, 2 }, { 0, 3 } };
    static const double x[] = { 1, 4, 2, 8 };
    static const double f = 62;
    static const double g[] = { -20, 10, -4, 14 };
    tree made;
    tree *t = &made;
    for (int shared = 0; shared < 2; shared++) {
        tree_start(t);
        int n = tree_size(t, "n", 4);
        int r = tree_relation_of(t, "E", TREE_LIST(n, n));
        for (int k = 0; k < 3; k++)
            tree_entry(t, r, 2, E[k]);
        int in = tree_input(t, "x", TREE_LIST(n));
        int i = tree_under(t, "i", n);
        int j = tree_under(t, "j", n);
        int d = tree_sub(t, tree_read(t, in, AT(i)), tree_read(t, in, AT(j)));
        int e = shared ? tree_pow(t, d, 2) : tree_mul(t, d, d);
        t->index[i].implied = t->index[j].implied = true;
        tree_out(t, "f", TREE_NONE,
                 tree_sum(t, TREE_LIST(i, j),
                          tree_related(t, r, AT2(i, j)), e));
        check_known(t, (known){ "edges", TREE_LITERAL, shared ? 5 : 8,
                                shared ? 6 : 9, 0, x, NULL, &f, g });
    }
    check_text("edges", t, "rel E[n,n];\nin x[n];\n"
                           "out f = sum(i,j: E(i,j)) (x[i] - x[j])^2;\n");
}

static void run_segments(void)
{
    static const int ids[] = { 0, 2, 0, 1, 2, 2 };
    static const double x[] = { 1, 2, 3, 4, 5, 6 };
    static const double w[] = { 1, 10, 100 };
    static const double y[] = { 4, 4, 13 };
    static const double g[] = { 1, 100, 1, 10, 100, 100 };
    tree made;
    tree *t = &made;
    tree_start(t);
    int n = tree_size(t, "n", 6);
    int m = tree_size(t, "m", 3);
    int map = tree_map_of(t, "seg", n, m);
    memcpy(t->map[map].value, ids, sizeof ids);
    int in = tree_input(t, "x", TREE_LIST(n));
    int s = tree_under(t, "s", m);
    int e = tree_under(t, "e", n);
    int p = tree_compare(t, tree_mapped(t, map, tree_i(t, e)), TREE_EQ,
                         tree_i(t, s));
    t->index[e].implied = true;
    tree_out(t, "y", TREE_LIST(s),
             tree_sum(t, TREE_LIST(e), p, tree_read(t, in, AT(e))));
    check_known(t, (known){ "segments", TREE_LITERAL, 3, 0, 0, x, w, y, g });
    check_text("segments", t, "map seg[n]->m;\nin x[n];\n"
                              "out y[s<m] = sum(e: seg[e] == s) x[e];\n");
}

/* --- text ----------------------------------------------------------------- */

// Parentheses, where the grammar needs them and nowhere else.
static void run_parentheses(void)
{
    tree made;
    tree *t = &made;
    tree_start(t);
    int n = tree_size(t, "n", 3);
    int in = tree_input(t, "x", TREE_LIST(n));
    int i = tree_under(t, "i", n);
    int a = tree_read(t, in, TREE_LIST(tree_whole(t, 0)));
    int back = tree_plus(t, tree_whole(t, 2), -1, tree_i(t, i));
    int b = tree_guard(t, tree_read(t, in, TREE_LIST(back)));
    int s = tree_sum(t, TREE_LIST(i), -1, tree_sub(t, b, a));
    int e = tree_mul(t, s, tree_mul(t, a, s));
    e = tree_sub(t, tree_sub(t, e, a), tree_sub(t, a, tree_pow(t, s, 2)));
    e = tree_call(t, TREE_FMA, e, tree_div(t, a, tree_mul(t, a, a)),
                  tree_fraction(t, 1, 2));
    int p = tree_and(t, tree_within(t, tree_whole(t, 0), tree_i(t, i),
                                    tree_n(t, n)),
                     tree_compare(t, tree_plus(t, tree_whole(t, 0), -2,
                                               tree_i(t, i)),
                                  TREE_GE, tree_whole(t, -5)));
    p = tree_or(t, p, tree_exists(t, TREE_LIST(i), tree_compare(
                                      t, tree_i(t, i), TREE_EQ,
                                      tree_whole(t, 1))));
    int j = tree_under(t, "j", n);
    e = tree_add(t, tree_over(t, TREE_MAXIMUM, TREE_LIST(i), p,
                              tree_read(t, in, AT(i))),
                 tree_mul(t, tree_bracket(t, tree_compare(t, tree_i(t, j),
                                                          TREE_NE,
                                                          tree_whole(t, 0)),
                                          e), tree_detach(t, a)));
    tree_out(t, "y", TREE_LIST(j), e);
    check_text("parentheses", t,
               "in x[n];\n"
               "out y[j<n] = maximum(i<n: 0 <= i < n, 0-2*i >= 0-5 | "
               "exists(i<n: i == 1)) x[i]"
               " + ([j != 0] fma((sum(i<n) (x?[2-i] - x[0]))"
               "*(x[0]*sum(i<n) (x?[2-i] - x[0])) - x[0]"
               " - (x[0] - (sum(i<n) (x?[2-i] - x[0]))^2), "
               "x[0]/(x[0]*x[0]), 0.5))*detach(x[0]);\n");
}

/* --- programs by hand ----------------------------------------------------- */

// w . y at a point, one number of which is moved
static double moved(const program *p, int array, size_t k, double by)
{
    double sum = 0;
    program_x[array][k] += by;
    p->value();
    program_x[array][k] -= by;
    for (int i = 0; i < PROGRAM_ARRAYS; i++)
        for (size_t j = 0; j < p->out[i]; j++)
            sum += program_w[i][j] * program_y[i][j];
    return sum;
}

// Adjoints by hand against differences of fourth order.
static void run_programs(void)
{
    const double h = 1.0 / 256;
    for (int n = 0; n < PROGRAMS; n++) {
        const program *p = program_at(n);
        program_compute(p);
        for (int i = 0; i < PROGRAM_ARRAYS; i++)
            for (size_t k = 0; k < p->in[i]; k++) {
                double near = moved(p, i, k, h) - moved(p, i, k, -h);
                double far = moved(p, i, k, 2 * h) - moved(p, i, k, -2 * h);
                double d = (8 * near - far) / (12 * h);
                CHECK(fabs(d - program_g[i][k]) < 1e-7,
                      "%s: dx %d[%zu] is %g, by differences %g", p->name, i, k,
                      program_g[i][k], d);
            }
    }
}

/* --- random programs ------------------------------------------------------ */

enum { RANDOM = 3000 };

typedef struct tally {
    long good, useless, overflow, undefined, long_ones;
    long structural;        // programs for which the readings differ
} tally;

static void print_program(const tree *t)
{
    tree_text o;
    tree_print(t, &o);
    printf("%s", o.s);
    for (int i = 0; i < t->sizes; i++)
        printf("/* %s = %d */ ", t->size[i].name, t->size[i].value);
    printf("\n");
}

// w . (J v), by the dual along v
static long double along(const tree *t, const draw_point *p, tree_run *r)
{
    tree_open(r, t, TREE_EXACT, 4);
    if (!tree_run_at(r, p->x, p->v, p->u))
        return (long double)NAN;
    return tree_wide_of(r, tree_seeded(r, p->w, 1));
}

// (J' w) . v, by a dual for each number of the inputs; or u . H v
static long double against(const tree *t, const draw_point *p,
                           const double *const *u, const double *const *v,
                           tree_run *r)
{
    static long double room[DRAW_ARRAYS][DRAW_NUMBERS];
    long double *g[DRAW_ARRAYS];
    long double sum = 0;
    for (int i = 0; i < DRAW_ARRAYS; i++)
        g[i] = room[i];
    tree_open(r, t, TREE_EXACT, u == NULL ? 2 : 4);
    if (!tree_gradient(r, p->x, p->w, u, g))
        return (long double)NAN;
    for (int i = 0; i < p->inputs; i++)
        for (int k = 0; k < p->size_in[i]; k++)
            sum += room[i][k] * (long double)v[i][k];
    return sum;
}

static bool readings_are_ordered(const tree *t, tally *n)
{
    tree_cost literal = tree_count(t, TREE_LITERAL);
    tree_cost brackets = tree_count(t, TREE_BRACKETS);
    tree_cost supports = tree_count(t, TREE_SUPPORTS);
    n->structural += tree_total(&supports) < tree_total(&literal);
    return literal.there && supports.add <= brackets.add
        && supports.mul <= brackets.mul && supports.fn <= brackets.fn
        && brackets.add <= literal.add && brackets.mul <= literal.mul
        && brackets.fn <= literal.fn;
}

// A long double holds whole numbers below 2^63 exactly.
static bool is_exact(const tree_run *r)
{
    return tree_good(r) && r->largest < 0x1p28L;
}

static void random_one(const tree *t, uint64_t seed, draw_point *p, tally *n)
{
    tree_run forward, reverse, second;
    draw_point_of(t, seed, p);
    long double a = along(t, p, &forward);
    long double b = against(t, p, NULL, p->v, &reverse);
    long double h = against(t, p, p->u, p->v, &second);
    CHECK(!forward.outside && !reverse.outside, "seed %" PRIu64 ": outside: %s",
          seed, forward.where);
    n->overflow += forward.overflow || reverse.overflow || second.overflow;
    n->undefined += forward.undefined;
    n->long_ones += forward.too_long;
    if (is_exact(&forward) && is_exact(&reverse) && is_exact(&second)) {
        tree_part vHu = tree_seeded(&forward, p->w, 3);
        n->good++;
        CHECK(a == b && h == tree_wide_of(&forward, vHu),
              "seed %" PRIu64 ": %Lg and %Lg, %Lg and %Lg", seed, a, b, h,
              tree_wide_of(&forward, vHu));
        if (!CHECK(readings_are_ordered(t, n), "seed %" PRIu64 ": counts",
                   seed))
            print_program(t);
    }
    tree_close(&forward);
    tree_close(&reverse);
    tree_close(&second);
}

static void run_random(void)
{
    static tree t;
    static draw_point p;
    tally n = { 0 };
    for (uint64_t i = 1; i <= RANDOM; i++) {
        uint64_t seed = i;
        tree_text o;
        if (!draw_program(&t, &seed, i % 4 ? DRAW_EXACT : DRAW_AFFINE)) {
            n.useless++;
            continue;
        }
        tree_print(&t, &o);
        CHECK(!o.full, "seed %" PRIu64 ": the text is too long", i);
        random_one(&t, i, &p, &n);
    }
    CHECK(n.good > RANDOM / 2 && n.structural > RANDOM / 20,
          "%ld good, %ld with structural zeros; %ld of no use, %ld too large, "
          "%ld undefined, %ld too long", n.good, n.structural, n.useless,
          n.overflow, n.undefined, n.long_ones);
    if (getenv("TREE_SHOW") != NULL)
        printf("%ld good, %ld with structural zeros; %ld of no use, %ld too "
               "large, %ld undefined, %ld too long\n", n.good, n.structural,
               n.useless, n.overflow, n.undefined, n.long_ones);
}

/* --- shrinking ------------------------------------------------------------ */

// As if programs with a bracket in a sum were wrong.
static bool has_bracket_in_sum(const tree *t, int node, bool in_sum)
{
    const tree_node *e = &t->node[node];
    bool found = in_sum && e->kind == TREE_BRACKET;
    for (int j = 0; j < tree_operands(e) && !found; j++)
        found = has_bracket_in_sum(t, tree_operand(e, j),
                                   in_sum || e->kind == TREE_SUM);
    return found;
}

static bool seems_wrong(const tree *t, void *user)
{
    ++*(int *)user;
    for (int i = 0; i < t->tensors; i++)
        if (!t->tensor[i].input && !t->tensor[i].gone
            && has_bracket_in_sum(t, t->tensor[i].body, false))
            return true;
    return false;
}

static void run_shrink(void)
{
    static tree t;
    int shrunk = 0;
    for (uint64_t i = 1; shrunk < 20; i++) {
        uint64_t seed = i;
        int asked = 0;
        tree_text o;
        if (!draw_program(&t, &seed, DRAW_EXACT) || !draw_is_good(&t)
            || !seems_wrong(&t, &asked))
            continue;
        draw_shrink(&t, seems_wrong, &asked);
        tree_print(&t, &o);
        CHECK(seems_wrong(&t, &asked) && o.n < 100, "seed %" PRIu64 ":\n%s", i,
              o.s);
        shrunk++;
    }
}

int main(void)
{
    for (int i = 0; i < NUMBERS; i++)
        ones[i] = 1;
    run_traces();
    run_dots();
    run_convolution();
    run_deconvolution();
    run_batch();
    run_dead();
    run_dag();
    run_vectors();
    run_product();
    run_products_of_matrices();
    run_parts_of_matrices();
    run_views();
    run_masks();
    run_band();
    run_sparse();
    run_edges();
    run_segments();
    run_parentheses();
    run_programs();
    run_random();
    run_shrink();
    return check_done("oracle");
}
