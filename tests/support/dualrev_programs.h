// SPDX-License-Identifier: MIT-0
/* dualrev_programs.h - the programs of dualrev.c, written once for any number.
 *
 * The file that includes this defines NUM, NAME(f), REC(e), the constant K(c),
 * and for long double the operations ADD SUB MUL DIV SQRT EXP LOG SIN COS and
 * LT(a, b); all but K are undefined again at the end.
 *
 * Every program maps numbers x, and what stands beside them, to numbers y.  */

#ifndef ADREV_TESTS_DUALREV_PROGRAMS_H
#define ADREV_TESTS_DUALREV_PROGRAMS_H

// What a program has beside its numbers.
struct beside {
    int i[6];
    const char *graph;
};

// A graph is "S" (source), "E" graph (extend, by one constant), or "P" and
// three graphs: left branch, right branch, and what comes before both.
static size_t graph_length(const char *g)
{
    if (*g == 'S')
        return 1;
    size_t n = 1 + graph_length(g + 1);
    if (*g == 'P') {
        n += graph_length(g + n);
        n += graph_length(g + n);
    }
    return n;
}

static size_t graph_constants(const char *g)
{
    size_t n = 0;
    for (size_t i = graph_length(g); i-- > 0;)
        n += g[i] == 'E';
    return n;
}

#endif

#ifndef ADD
#define ADD(a, b) ad_add(a, b)
#define SUB(a, b) ad_sub(a, b)
#define MUL(a, b) ad_mul(a, b)
#define DIV(a, b) ad_div(a, b)
#define SQRT(a)   ad_sqrt(a)
#define EXP(a)    ad_exp(a)
#define LOG(a)    ad_log(a)
#define SIN(a)    ad_sin(a)
#define COS(a)    ad_cos(a)
#define LT(a, b)  ad_lt(a, b)
#endif

#define PROGRAM(f)                                                          \
    static void NAME(f)(const NUM *x, const struct beside *k, NUM *y)

/* --- scalars -------------------------------------------------------------- */

PROGRAM(same) { (void)k; y[0] = x[0]; }
PROGRAM(twin) { (void)k; y[0] = x[0]; y[1] = x[0]; }
PROGRAM(sum) { (void)k; y[0] = REC(ADD(x[0], x[1])); }
PROGRAM(product) { (void)k; y[0] = REC(MUL(x[0], x[1])); }

PROGRAM(root)
{
    (void)k;
    y[0] = REC(SQRT(ADD(MUL(x[0], x[0]), K(1))));
}

PROGRAM(logarithm) { (void)k; y[0] = REC(LOG(x[0])); }

PROGRAM(logexp)
{
    (void)k;
    y[0] = REC(ADD(ADD(LOG(x[0]), EXP(x[1])), EXP(LOG(MUL(x[0], x[1])))));
}

PROGRAM(let)
{
    NUM t = REC(ADD(K(3), x[0]));
    (void)k;
    y[0] = REC(MUL(x[0], t));
}

PROGRAM(letrec)
{
    NUM x1 = REC(MUL(K(2), x[0]));
    NUM x2 = REC(MUL(x1, ADD(x[0], x1)));
    NUM x3 = REC(SUB(ADD(x1, x2), K(1)));
    (void)k;
    y[0] = REC(SUB(MUL(x[0], x3), x2));
}

PROGRAM(letrec4)
{
    NUM x1 = REC(MUL(K(2), x[0]));
    NUM x2 = REC(MUL(x1, ADD(x[0], x1)));
    NUM x3 = REC(SUB(ADD(x1, x2), K(1)));
    NUM x4 = REC(ADD(x3, x2));
    (void)k;
    y[0] = REC(SUB(MUL(x[0], x3), x4));
}

/* --- functions: local, closures, passed on, recursive --------------------- */

static NUM NAME(plus1)(NUM x) { return REC(ADD(x, K(1))); }
static NUM NAME(times2)(NUM x) { return REC(MUL(K(2), x)); }
static NUM NAME(times2_plus1)(NUM x) { return NAME(times2)(NAME(plus1)(x)); }

static NUM NAME(two_functions)(NUM x, NUM (*f)(NUM), NUM (*g)(NUM))
{
    NUM x1 = f(g(x));
    NUM x2 = REC(ADD(g(x1), K(1)));
    return REC(ADD(x1, x2));
}

PROGRAM(functions)
{
    (void)k;
    y[0] = NAME(two_functions)(x[0], NAME(plus1), NAME(times2));
}

PROGRAM(functions2)
{
    (void)k;
    y[0] = NAME(two_functions)(x[0], NAME(plus1), NAME(times2_plus1));
}

// A closure: a function and the numbers it holds.
struct NAME(closure) {
    NUM (*call)(const struct NAME(closure) *f, NUM z);
    NUM a;
    NUM b;
};

static NUM NAME(line)(const struct NAME(closure) *f, NUM z)
{
    return REC(ADD(MUL(f->a, z), f->b));
}

static NUM NAME(square)(const struct NAME(closure) *f, NUM z)
{
    (void)f;
    return REC(MUL(z, z));
}

static NUM NAME(mirror)(const struct NAME(closure) *f, NUM z)
{
    return REC(ADD(MUL(K(2), SUB(f->a, z)), f->b));
}

static NUM NAME(compose)(const struct NAME(closure) *f,
                         const struct NAME(closure) *g, NUM z)
{
    return f->call(f, g->call(g, z));
}

PROGRAM(closure)
{
    struct NAME(closure) f = { NAME(line), x[0], x[1] };
    (void)k;
    y[0] = REC(MUL(f.call(&f, x[1]), f.call(&f, x[0])));
}

PROGRAM(composition)
{
    struct NAME(closure) f = { NAME(square), x[0], x[1] };
    struct NAME(closure) g = { NAME(mirror), x[0], x[1] };
    (void)k;
    y[0] = REC(ADD(NAME(compose)(&g, &f, x[1]), NAME(compose)(&f, &g, x[0])));
}

PROGRAM(fibonacci)
{
    NUM a = x[0];
    NUM b = x[1];
    (void)k;
    for (int i = 0; i < 10; i++) {
        NUM next = REC(ADD(a, b));
        b = a;
        a = next;
    }
    y[0] = REC(MUL(a, a));
}

PROGRAM(doubling)
{
    NUM v = x[0];
    (void)k;
    for (int i = 0; i < 10; i++)
        v = REC(SUB(SUB(SUB(ADD(ADD(ADD(ADD(v, v), v), v), v), v), v), v));
    y[0] = REC(MUL(K(1e-6), MUL(v, v)));
}

PROGRAM(branch)
{
    (void)k;
    y[0] = LT(x[1], x[0]) ? REC(MUL(x[0], x[1])) : REC(ADD(x[0], x[1]));
}

static NUM NAME(mutual_g)(NUM x);

static NUM NAME(mutual_f)(NUM x)
{
    if (LT(x, K(10)))
        return REC(ADD(NAME(mutual_g)(REC(MUL(K(0.6), x))), K(1)));
    return REC(ADD(NAME(mutual_g)(REC(MUL(K(0.1), x))), K(2)));
}

static NUM NAME(mutual_g)(NUM x)
{
    if (LT(x, K(1)))
        return x;
    return REC(ADD(NAME(mutual_f)(REC(SUB(x, K(1)))), K(2)));
}

PROGRAM(mutual) { (void)k; y[0] = NAME(mutual_f)(x[0]); }

/* --- a vector turned by a quaternion -------------------------------------- */

static NUM NAME(dot3)(const NUM *a, const NUM *b)
{
    return REC(ADD(ADD(MUL(a[0], b[0]), MUL(a[1], b[1])), MUL(a[2], b[2])));
}

// 2 (u.v) u + (s^2 - u.u) v + 2 s (u x v); u and s are x[3..6], v is x[0..2].
// k->i[0]: the second component of the cross product as it is printed in the
// source of the benchmark, u_z v_z - u_x v_z, and not as it should be.
PROGRAM(rotation)
{
    const NUM *u = x + 3;
    NUM two_uv = REC(MUL(K(2), NAME(dot3)(u, x)));
    NUM scale = REC(SUB(MUL(x[6], x[6]), NAME(dot3)(u, u)));
    NUM two_s = REC(MUL(K(2), x[6]));
    const NUM *printed = k->i[0] ? &x[2] : &x[0];
    NUM cross[3] = {
        REC(SUB(MUL(u[1], x[2]), MUL(u[2], x[1]))),
        REC(SUB(MUL(u[2], *printed), MUL(u[0], x[2]))),
        REC(SUB(MUL(u[0], x[1]), MUL(u[1], x[0]))),
    };
    for (int i = 0; i < 3; i++)
        y[i] = REC(ADD(ADD(MUL(two_uv, u[i]), MUL(scale, x[i])),
                       MUL(two_s, cross[i])));
}

/* --- the worked examples, and the parallel programs one after the other --- */

PROGRAM(running)
{
    NUM z = REC(ADD(x[0], x[1]));
    (void)k;
    y[0] = REC(MUL(x[0], z));
}

PROGRAM(parallel_a)
{
    NUM a = REC(MUL(MUL(x[0], x[1]), x[0]));
    NUM b = REC(ADD(ADD(x[1], x[1]), x[0]));
    (void)k;
    y[0] = REC(ADD(a, b));
}

PROGRAM(parallel_b)
{
    NUM a = REC(MUL(x[0], x[1]));
    NUM p = REC(ADD(x[0], K(1)));
    NUM q = REC(MUL(x[1], x[1]));
    NUM b = REC(MUL(p, q));
    (void)k;
    y[0] = REC(ADD(a, b));
}

PROGRAM(parallel_c)
{
    NUM a = REC(MUL(x[0], x[0]));
    NUM b = REC(MUL(x[1], x[1]));
    NUM s = REC(ADD(a, b));
    NUM p = REC(MUL(s, x[0]));
    NUM q = REC(MUL(s, x[1]));
    NUM r = REC(ADD(s, s));
    (void)k;
    y[0] = REC(ADD(ADD(p, q), r));
}

static void NAME(rotate300)(NUM *x, NUM *y)
{
    for (int i = 300; i >= 1; i--) {
        NUM angle = REC(K(0.1 + 0.05 * sin(i)));
        NUM c = REC(COS(angle));
        NUM s = REC(SIN(angle));
        NUM u = REC(SUB(MUL(*x, c), MUL(*y, s)));
        *y = REC(ADD(MUL(*x, s), MUL(*y, c)));
        *x = u;
    }
}

PROGRAM(parallel_large)
{
    NUM a[2] = { x[0], x[1] };
    NUM b[2] = { x[1], x[0] };
    (void)k;
    NAME(rotate300)(&a[0], &a[1]);
    NAME(rotate300)(&b[0], &b[1]);
    y[0] = REC(ADD(ADD(a[0], a[1]), ADD(b[0], b[1])));
}

// k->graph: "S", "E" graph, or "P" graph graph graph, see graph_length.
static NUM NAME(run_graph)(const char *g, const NUM *a, NUM s)
{
    if (*g == 'S')
        return s;
    if (*g == 'E') {
        NUM r = NAME(run_graph)(g + 1, a + 1, s);
        NUM t = REC(ADD(a[0], r));
        return REC(DIV(MUL(a[0], r), LOG(ADD(MUL(t, t), K(2)))));
    }
    const char *left = g + 1;
    const char *right = left + graph_length(left);
    const char *first = right + graph_length(right);
    const NUM *a_right = a + graph_constants(left);
    NUM r = NAME(run_graph)(first, a_right + graph_constants(right), s);
    NUM u = NAME(run_graph)(left, a, REC(ADD(r, K(2))));
    NUM v = NAME(run_graph)(right, a_right, REC(ADD(r, K(1))));
    return REC(ADD(u, MUL(K(0.9), v)));
}

PROGRAM(graph)
{
    y[0] = NAME(run_graph)(k->graph, x, x[graph_constants(k->graph)]);
}

/* --- the benchmarks ------------------------------------------------------- */

// k->i[0]: the length; a in front of b.
PROGRAM(dot_product)
{
    NUM s = REC(K(0));
    for (int i = 0; i < k->i[0]; i++)
        s = REC(ADD(s, MUL(x[i], x[k->i[0] + i])));
    y[0] = s;
}

// k->i[0]: rows and columns; the matrix in front of the vector.
PROGRAM(sum_mat_vec)
{
    int n = k->i[0];
    y[0] = REC(K(0));
    for (int i = 0; i < n; i++) {
        NUM s = REC(K(0));
        for (int j = 0; j < n; j++)
            s = REC(ADD(s, MUL(x[i * n + j], x[n * n + j])));
        y[0] = REC(ADD(y[0], s));
    }
}

static void NAME(layer)(int m, int n, const NUM *W, const NUM *b, const NUM *x,
                        NUM *y)
{
    for (int i = 0; i < m; i++) {
        NUM s = b[i];
        for (int j = 0; j < n; j++)
            s = REC(ADD(s, MUL(W[i * n + j], x[j])));
        y[i] = LT(s, K(0)) ? REC(K(0)) : s;
    }
}

// k: { inputs, first layer, second layer }. x: inputs, W1, b1, W2, b2.
PROGRAM(neural)
{
    NUM h1[100];
    NUM h2[50];
    int n = k->i[0];
    int m1 = k->i[1];
    int m2 = k->i[2];
    const NUM *W1 = x + n;
    const NUM *b1 = W1 + m1 * n;
    const NUM *W2 = b1 + m1;
    const NUM *b2 = W2 + m2 * m1;
    NAME(layer)(m1, n, W1, b1, x, h1);
    NAME(layer)(m2, m1, W2, b2, h1, h2);

    NUM shift = REC(K(0));
    for (int i = 0; i < m2; i++)
        shift = LT(shift, h2[i]) ? h2[i] : shift;
    NUM total = REC(K(0));
    NUM weighted = REC(K(0));
    for (int i = 0; i < m2; i++) {
        NUM e = REC(EXP(SUB(h2[i], shift)));
        total = REC(ADD(total, e));
        weighted = REC(ADD(weighted, MUL(K(i + 1), e)));
    }
    y[0] = REC(DIV(weighted, total));
    y[1] = REC(DIV(total, total));
}

// k: { particles, steps }; p_x p_y v_x v_y of each.
PROGRAM(particles)
{
    y[0] = REC(K(0));
    for (int i = 0; i < k->i[0]; i++) {
        NUM p[2] = { x[4 * i], x[4 * i + 1] };
        NUM v[2] = { x[4 * i + 2], x[4 * i + 3] };
        for (int t = 0; t < k->i[1]; t++)
            for (int d = 0; d < 2; d++) {
                NUM a = REC(SUB(MUL(K(-0.5), p[d]), MUL(K(0.2), v[d])));
                p[d] = REC(ADD(p[d], MUL(K(0.05), v[d])));
                v[d] = REC(ADD(v[d], MUL(K(0.05), a)));
            }
        y[0] = REC(ADD(y[0], MUL(p[0], p[1])));
    }
}

#undef PROGRAM

#undef ADD
#undef SUB
#undef MUL
#undef DIV
#undef SQRT
#undef EXP
#undef LOG
#undef SIN
#undef COS
#undef LT
#undef NUM
#undef REC
#undef NAME
