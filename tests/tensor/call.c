// SPDX-License-Identifier: MIT-0
// tags: slow formulas recorded
// flags: -pthread -DADREV_TRACE=1
/* call.c - texts as statements of a recording: ad_tensor_call, A25.
 *
 * Each program exists twice: with a text for its middle part, and with scalars
 * in its place. Gradients, tangents, recorded functions and their Hessians,
 * scans, checkpoints and forks give the same, also with constants among the
 * arguments. Then layouts, results that are not wanted, arrays without numbers,
 * misuse, and every allocation that fails.                                  */

#include "implementation.h"
#include "adrev_parallel.h"
#include "adrev_function.h"
#include "adrev_loop.h"
#include "adrev_tensor.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

enum { M = 2, N = 3, INPUTS = M * N + N + 1 };      // A, x, c

#define CLOSE 1e-13

static const ad_real point[INPUTS] = {
    0.5, -0.25, 0.75, 1, 0.5, -0.5, 0.25, -1, 0.5, 0.375
};

static const char text[] =
    "in A[m,n], x[n], c;\n"
    "u[i] = tanh(c + sum(j) A[i,j]*x[j]);\n"
    "out y[i] = u[i]^3/(2 + c^2) + x[0]*u[i];\n"
    "out f = sum(i) exp(u[i])*maximum(j) A[i,j];\n";

static ad_tensor *made(const char *formulas, const ad_allocator *from)
{
    const ad_tensor_options options = { .allocator = from };
    ad_tensor_error error = { .text = "" };
    ad_tensor *t = NULL;
    CHECK(ad_tensor_new(&t, formulas, &options, &error) == ADREV_OK, "%s",
          error.text);
    ad_ignore(ad_tensor_size(t, "m", M));
    ad_ignore(ad_tensor_size(t, "n", N));
    CHECK(ad_tensor_bind(t, &error) == ADREV_OK, "%s", error.text);
    return t;
}

static void same(const char *what, size_t n, const ad_real got[],
                 const ad_real want[])
{
    for (size_t i = 0; i < n; i++)
        CHECK(fabs((double)(got[i] - want[i]))
                  <= CLOSE * (1 + fabs((double)want[i])),
              "%s, %zu: got %.17g, want %.17g", what, i, (double)got[i],
              (double)want[i]);
}

/* --- a program, once with the text and once without ----------------------- */

// How a program runs; NULL: with scalars.
typedef struct way {
    ad_tensor *t;
    ad_status status;
} way;

static void middle_by_scalars(const ad_rev A[M * N], const ad_rev x[N],
                              ad_rev c, ad_rev y[M], ad_rev *f)
{
    *f = ad_rec(0.0);
    for (size_t i = 0; i < M; i++) {
        ad_rev sum = c;
        ad_rev most = A[i * N];
        for (size_t j = 0; j < N; j++) {
            sum = ad_rec(ad_add(sum, ad_mul(A[i * N + j], x[j])));
            most = ad_gt(A[i * N + j], most) ? A[i * N + j] : most;
        }
        ad_rev u = ad_rec(ad_tanh(sum));
        y[i] = ad_rec(ad_add(ad_div(ad_mul(ad_sqr(u), u), ad_add(2, ad_sqr(c))),
                             ad_mul(x[0], u)));
        *f = ad_rec(ad_add(*f, ad_mul(ad_exp(u), most)));
    }
}

static void middle(way *w, const ad_rev A[M * N], const ad_rev x[N], ad_rev c,
                   ad_rev y[M], ad_rev *f)
{
    const ad_rev *in[] = { A, x, &c };
    ad_rev *out[] = { y, f };
    if (w->t == NULL)
        middle_by_scalars(A, x, c, y, f);
    else {
        ad_status s = ad_tensor_call(w->t, in, out);
        w->status = w->status == ADREV_OK ? s : w->status;
    }
}

// Scalar code, the text, scalar code, the text again, which reads the first
// one's results; two results.
static void program(const ad_rev *p, ad_rev *r, void *ctx)
{
    way *w = ctx;
    ad_rev x[N], y[M], f, z[N], again[M], last;
    for (size_t j = 0; j < N; j++)
        x[j] = ad_rec(ad_mul(p[M * N + j], ad_exp(ad_mul(0.25, p[j]))));
    middle(w, p, x, p[INPUTS - 1], y, &f);
    z[0] = y[1];
    z[1] = ad_rec(ad_mul(f, y[0]));
    z[2] = x[2];
    middle(w, p, z, f, again, &last);
    r[0] = ad_rec(ad_add(ad_sin(again[0]), ad_mul(again[1], last)));
    r[1] = ad_rec(ad_mul(p[0], last));
}

static void on_tape(way *w, const bool constant[INPUTS], ad_real v[2],
                    ad_real J[2 * INPUTS], ad_real tangent[2])
{
    ad_tape *t = ad_tape_new();
    ad_rev p[INPUTS], in[INPUTS], r[2];
    ad_real dot[INPUTS];
    size_t n = 0;
    ad_use(t);
    for (size_t i = 0; i < INPUTS; i++) {
        p[i] = constant[i] ? ad_rec(point[i]) : ad_input(point[i]);
        dot[n] = (ad_real)(n % 3) - (ad_real)0.75;
        if (!constant[i])
            in[n++] = p[i];
    }
    program(p, r, w);
    memset(J, 0, 2 * INPUTS * sizeof *J);
    for (size_t k = 0; k < 2; k++)
        v[k] = ad_value(r[k]);
    CHECK(ad_jacobian(t, 2, r, n, in, J) == ADREV_OK
              && ad_pushforward(t, n, in, dot, 2, r, tangent) == ADREV_OK,
          "sweeps");
    ad_tape_free(t);
}

static void run_tape(ad_tensor *t)
{
    for (unsigned mask = 0; mask < 8; mask++) {
        way scalars = { NULL, ADREV_OK }, called = { t, ADREV_OK };
        ad_real v[2][2], J[2][2 * INPUTS], tangent[2][2];
        bool constant[INPUTS];
        for (size_t i = 0; i < INPUTS; i++)
            constant[i] = i < M * N ? (mask & 1) != 0 && i % 4 != 1
                        : i < INPUTS - 1 ? (mask & 2) != 0 : (mask & 4) != 0;
        on_tape(&scalars, constant, v[0], J[0], tangent[0]);
        on_tape(&called, constant, v[1], J[1], tangent[1]);
        CHECK(called.status == ADREV_OK, "%s", ad_message(called.status));
        same("values", 2, v[1], v[0]);
        same("Jacobian", 2 * INPUTS, J[1], J[0]);
        same("tangents", 2, tangent[1], tangent[0]);
    }
}

// One call alone: the bits of ad_tensor_eval, ad_tensor_vjp and ad_tensor_jvp.
static void run_alone(ad_tensor *t)
{
    const ad_real *x[] = { point, point + M * N, point + M * N + N };
    const ad_real weight[] = { 1, -2, (ad_real)0.5 };
    const ad_real *w[] = { weight, weight + M };
    ad_real y[M + 1], dy[M + 1], dx[INPUTS], got[INPUTS];
    ad_real *ys[] = { y, y + M }, *dys[] = { dy, dy + M };
    ad_real *dxs[] = { dx, dx + M * N, dx + M * N + N };
    ad_tape *tape = ad_tape_new();
    ad_rev p[INPUTS], r[M + 1];
    const ad_rev *in[] = { p, p + M * N, p + M * N + N };
    ad_rev *out[] = { r, r + M };
    ad_use(tape);
    ad_inputs(INPUTS, point, p);
    CHECK(ad_tensor_call(t, in, out) == ADREV_OK, "call");
    CHECK(ad_tensor_vjp(t, x, w, ys, dxs) == ADREV_OK
              && ad_tensor_jvp(t, x, x, NULL, dys) == ADREV_OK, "evaluation");
    CHECK(ad_pullback(tape, M + 1, r, weight, INPUTS, p, got) == ADREV_OK
              && memcmp(got, dx, sizeof dx) == 0, "adjoints");
    CHECK(ad_pushforward(tape, INPUTS, p, point, M + 1, r, got) == ADREV_OK
              && memcmp(got, dy, sizeof dy) == 0, "tangents");
    for (size_t i = 0; i < M + 1; i++)
        CHECK(ad_value(r[i]) == y[i], "value %zu", i);
    CHECK(ad_tape_stats(tape).statements == 1, "%zu statements",
          ad_tape_stats(tape).statements);
    ad_tape_free(tape);
}

/* --- recorded functions --------------------------------------------------- */

static void ask(ad_fn *fn, const ad_real x[INPUTS], ad_real out[8][200])
{
    ad_real v[INPUTS];
    const ad_real w[] = { (ad_real)0.5, -2 };
    for (size_t i = 0; i < INPUTS; i++)
        v[i] = (ad_real)(i % 4) - (ad_real)1.25;
    memset(out, 0, 8 * sizeof *out);
    CHECK(ad_fn_eval(fn, x, out[0]) == ADREV_OK, "eval");
    CHECK(ad_fn_jvp(fn, x, v, out[1]) == ADREV_OK, "jvp");
    CHECK(ad_fn_vjp(fn, x, w, out[2]) == ADREV_OK, "vjp");
    CHECK(ad_fn_jacobian(fn, x, out[3]) == ADREV_OK, "Jacobian");
    CHECK(ad_fn_hvp(fn, x, w, v, out[4]) == ADREV_OK, "hvp");
    CHECK(ad_fn_hessian(fn, x, w, out[5]) == ADREV_OK, "Hessian");
}

static void run_recorded(ad_tensor *t)
{
    static ad_real out[2][8][200];
    way scalars = { NULL, ADREV_OK }, called = { t, ADREV_OK };
    ad_fn *fn[2] = { NULL };
    CHECK(ad_fn_record(&fn[0], program, &scalars, INPUTS, point, 2) == ADREV_OK
              && ad_fn_record(&fn[1], program, &called, INPUTS, point, 2)
                     == ADREV_OK && called.status == ADREV_OK, "recording");
    for (int k = 0; k < 4; k++) {       // nearby: the same maximum
        ad_real x[INPUTS];
        for (size_t i = 0; i < INPUTS; i++)
            x[i] = point[i] * (1 + (ad_real)k / 16);
        ask(fn[0], x, out[0]);
        ask(fn[1], x, out[1]);
        for (int j = 0; j < 6; j++)
            same("recorded", 200, out[1][j], out[0][j]);
    }
    size_t bytes = 0;
    const ad_c_options c = { .name = "f" };
    CHECK(ad_fn_write_c(fn[1], &c, NULL, NULL, &bytes) == ADREV_EEXTERNAL,
          "as C code");
    ad_fn_free(fn[0]);
    ad_fn_free(fn[1]);
}

// The text alone: its recorded Hessian against ad_tensor_hvp.
static void alone(const ad_rev *p, ad_rev *r, void *ctx)
{
    const ad_rev *in[] = { p, p + M * N, p + M * N + N };
    ad_rev *out[] = { r, r + M };
    ad_ignore(ad_tensor_call(ctx, in, out));
}

static void run_second(ad_tensor *t)
{
    const ad_real *x[] = { point, point + M * N, point + M * N + N };
    const ad_real weight[] = { 1, -2, (ad_real)0.5 };
    const ad_real *w[] = { weight, weight + M };
    ad_real H[INPUTS * INPUTS], want[INPUTS];
    ad_real *hv[] = { want, want + M * N, want + M * N + N };
    ad_fn *fn = NULL;
    CHECK(ad_fn_record(&fn, alone, t, INPUTS, point, M + 1) == ADREV_OK
              && ad_fn_hessian(fn, point, weight, H) == ADREV_OK, "Hessian");
    for (size_t i = 0; i < INPUTS; i++) {
        ad_real v[INPUTS] = { 0 };
        const ad_real *vs[] = { v, v + M * N, v + M * N + N };
        v[i] = 1;
        CHECK(ad_tensor_hvp(t, x, w, vs, hv) == ADREV_OK, "hvp");
        same("row of the Hessian", INPUTS, H + i * INPUTS, want);
    }
    ad_fn_free(fn);
}

/* --- scans, checkpoints, forks ---------------------------------------------
 * s becomes sin(B s) + s/2, B = 3 x 3, STEPS times.                          */

enum { STEPS = 6, LOOP = N * N + N };

static const char step_text[] =
    "in B[n,n], s[n]; out r[i] = sin(sum(j) B[i,j]*s[j]) + s[i]/2;";

static void take_step(way *w, const ad_rev B[], const ad_rev s[], ad_rev r[])
{
    const ad_rev *in[] = { B, s };
    ad_rev next[N], *out[] = { next };
    if (w->t != NULL)
        w->status = ad_tensor_call(w->t, in, out);
    for (size_t i = 0; i < N && w->t == NULL; i++) {
        ad_rev sum = ad_rec(ad_mul(B[i * N], s[0]));
        for (size_t j = 1; j < N; j++)
            sum = ad_rec(ad_add(sum, ad_mul(B[i * N + j], s[j])));
        next[i] = ad_rec(ad_add(ad_sin(sum), ad_div(s[i], 2)));
    }
    memcpy(r, next, sizeof next);
}

static void plain_loop(const ad_rev *p, ad_rev *r, void *ctx)
{
    memcpy(r, p + N * N, N * sizeof *r);
    for (size_t k = 0; k < STEPS; k++)
        take_step(ctx, p, r, r);
}

static void scan_step(ad_step *s, void *ctx)
{
    way *w = ctx;
    take_step(w, s->parameter, s->state[0], s->next[0]);
    s->status = w->status;
}

static bool whole;

static void scan_loop(const ad_rev *p, ad_rev *r, void *ctx)
{
    const ad_scan_state state = { .size = N, .initial = p + N * N, .last = r };
    ad_scan(&(ad_scan_desc){
        .step = scan_step, .ctx = ctx, .steps = STEPS, .states = 1,
        .state = &state, .parameters = N * N, .parameter = p, .whole = whole,
        .schedule = { ADREV_BINOMIAL, 2, NULL } }, NULL);
}

static void checkpoint_loop(const ad_rev *p, ad_rev *r, void *ctx)
{
    ad_checkpoint(plain_loop, ctx, LOOP, p, N, r);
}

typedef struct branches {
    way w[4];
    const ad_rev *p;
    ad_rev r[4][N];
} branches;

static void branch(size_t i, void *ctx)
{
    branches *b = ctx;
    ad_rev s[N];
    for (size_t j = 0; j < N; j++)
        s[j] = ad_rec(ad_mul(b->p[N * N + j], 1 + (double)i / 4));
    take_step(&b->w[i], b->p, s, b->r[i]);
    take_step(&b->w[i], b->p, b->r[i], b->r[i]);
}

// Four branches, whose sum is taken on.
static void fork_loop(const ad_rev *p, ad_rev *r, void *ctx)
{
    branches b = { .p = p };
    way *w = ctx;
    for (size_t i = 0; i < 4; i++)
        b.w[i] = *w;
    ad_fork_n(4, branch, &b);
    for (size_t j = 0; j < N; j++)
        r[j] = ad_rec(ad_add(ad_add(b.r[0][j], b.r[1][j]),
                             ad_add(b.r[2][j], b.r[3][j])));
    take_step(w, p, r, r);
}

static ad_real loop_point[LOOP];

static void sweep(ad_vector_fn *f, way *w, ad_real J[N * LOOP])
{
    ad_tape *t = ad_tape_new();
    ad_rev p[LOOP], r[N];
    ad_use(t);
    ad_inputs(LOOP, loop_point, p);
    f(p, r, w);
    CHECK(w->status == ADREV_OK && ad_jacobian(t, N, r, LOOP, p, J) == ADREV_OK,
          "sweep: %s", ad_message(ad_tape_status(t)));
    ad_tape_free(t);
}

static void run_loop(const char *what, ad_vector_fn *f, ad_vector_fn *like,
                     ad_tensor *t)
{
    static ad_real J[2][N * LOOP], H[2][LOOP * LOOP];
    const ad_real w[N] = { 1, -2, (ad_real)0.5 };
    way scalars = { NULL, ADREV_OK }, called = { t, ADREV_OK };
    ad_fn *fn[2] = { NULL };
    sweep(like, &scalars, J[0]);
    sweep(f, &called, J[1]);
    same(what, N * LOOP, J[1], J[0]);
    CHECK(ad_fn_record(&fn[0], like, &scalars, LOOP, loop_point, N) == ADREV_OK
              && ad_fn_record(&fn[1], f, &called, LOOP, loop_point, N)
                     == ADREV_OK, "%s: recording", what);
    for (int k = 0; k < 2; k++)
        CHECK(ad_fn_jacobian(fn[k], loop_point, J[k]) == ADREV_OK
                  && ad_fn_hessian(fn[k], loop_point, w, H[k]) == ADREV_OK,
              "%s: matrices", what);
    same(what, N * LOOP, J[1], J[0]);
    same(what, LOOP * LOOP, H[1], H[0]);
    ad_fn_free(fn[0]);
    ad_fn_free(fn[1]);
}

static void run_loops(void)
{
    ad_tensor *t = made(step_text, NULL);
    ad_pool *pool = ad_pool_new(3);
    for (size_t i = 0; i < LOOP; i++)
        loop_point[i] = (ad_real)((i * 5) % 7) / 4 - (ad_real)0.625;
    run_loop("calls in a loop", plain_loop, plain_loop, t);
    run_loop("scan", scan_loop, plain_loop, t);
    whole = true;
    run_loop("whole scan", scan_loop, plain_loop, t);
    run_loop("checkpoint", checkpoint_loop, plain_loop, t);
    run_loop("fork", fork_loop, fork_loop, t);
    CHECK(pool != NULL && ad_pool_use(pool) == ADREV_OK, "pool");
    for (int i = 0; i < 20; i++)
        run_loop("fork on a pool", fork_loop, fork_loop, t);
    ad_ignore(ad_pool_use(NULL));
    ad_pool_free(pool);
    ad_tensor_free(t);
}

/* --- layouts, what is not wanted, what is not there ----------------------- */

// A by columns, x backwards, y with gaps; f is not wanted.
static void run_layout(void)
{
    const ptrdiff_t by_column[] = { 1, M }, back[] = { -1 }, gaps[] = { 3 };
    ad_tensor *t = made(text, NULL);
    ad_tape *tape = ad_tape_new();
    ad_rev p[INPUTS], y[2][3 * M], f, columns[M * N], backwards[N];
    ad_real g[2][INPUTS];
    const ad_rev *in[] = { p, p + M * N, p + M * N + N };
    ad_rev *out[] = { y[0], &f };
    ad_use(tape);
    ad_inputs(INPUTS, point, p);
    for (size_t i = 0; i < 3 * M; i++)
        y[1][i] = ad_rec(7);
    CHECK(ad_tensor_call(t, in, out) == ADREV_OK, "call");
    ad_rev sum = ad_rec(ad_add(y[0][0], ad_mul(2, y[0][1])));
    CHECK(ad_gradient(tape, sum, INPUTS, p, g[0]) == ADREV_OK, "gradient");
    ad_tensor_free(t);          // its statement is not swept any more
    t = made(text, NULL);
    CHECK(ad_tensor_layout(t, "A", by_column) == ADREV_OK
              && ad_tensor_layout(t, "x", back) == ADREV_OK
              && ad_tensor_layout(t, "y", gaps) == ADREV_OK, "layouts");
    ad_tape_clear(tape);
    ad_inputs(INPUTS, point, p);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++)
            columns[j * M + i] = p[i * N + j];
    for (size_t j = 0; j < N; j++)
        backwards[N - 1 - j] = p[M * N + j];
    in[0] = columns;
    in[1] = backwards + N - 1;
    out[0] = y[1];
    out[1] = NULL;
    CHECK(ad_tensor_call(t, in, out) == ADREV_OK, "call");
    CHECK(ad_value(y[1][1]) == 7 && ad_value(y[1][2]) == 7
              && ad_value(y[1][4]) == 7, "gaps are written to");
    CHECK(ad_tape_stats(tape).statements == 1, "statements");
    sum = ad_rec(ad_add(y[1][0], ad_mul(2, y[1][3])));
    CHECK(ad_gradient(tape, sum, INPUTS, p, g[1]) == ADREV_OK, "gradient");
    same("layout", INPUTS, g[1], g[0]);
    ad_tape_free(tape);
    ad_tensor_free(t);
}

// Numbers that share a place have no adjoints of their own; as constants they
// need none.
static void run_shared(void)
{
    const ptrdiff_t same_row[] = { 0, 1 }, row[] = { 2, 1 };
    ad_tensor *t = made(text, NULL);
    ad_tape *tape = ad_tape_new();
    ad_rev p[INPUTS], y[M], f;
    const ad_rev *in[] = { p, p + M * N, p + M * N + N };
    ad_rev *out[] = { y, &f };
    ad_real g[N];
    ad_use(tape);
    ad_inputs(INPUTS, point, p);
    CHECK(ad_tensor_layout(t, "A", same_row) == ADREV_OK
              && ad_tensor_call(t, in, out) == ADREV_ESHAPE, "one row");
    CHECK(ad_tensor_layout(t, "A", row) == ADREV_OK
              && ad_tensor_call(t, in, out) == ADREV_ESHAPE, "rows overlap");
    CHECK(ad_tensor_layout(t, "A", same_row) == ADREV_OK, "layout");
    for (size_t i = 0; i < N; i++)
        p[i] = ad_rec(point[i]);
    CHECK(ad_tensor_call(t, in, out) == ADREV_OK
              && ad_value(y[0]) == ad_value(y[1])
              && ad_gradient(tape, f, N, p + M * N, g) == ADREV_OK,
          "one row of constants");
    ad_tape_free(tape);
    ad_tensor_free(t);
}

// The adjoint of sqrt(0) is not asked for: it would be infinite, times 0.
static void run_zeros(void)
{
    ad_tensor *t = NULL;
    ad_tape *tape = ad_tape_new();
    ad_rev x, y[2];
    const ad_rev *in[] = { &x };
    ad_rev *out[] = { &y[0], &y[1] };
    ad_real g = 0;
    ad_use(tape);
    x = ad_input(0);
    CHECK(ad_tensor_new(&t, "in x; out a = sqrt(x); out b = 2*x;", NULL, NULL)
              == ADREV_OK && ad_tensor_call(t, in, out) == ADREV_OK
              && ad_gradient(tape, y[1], 1, &x, &g) == ADREV_OK && g == 2,
          "got %g", (double)g);
    ad_tape_free(tape);
    ad_tensor_free(t);
}

// Constants, and no tape: values without a statement.
static void run_constants(ad_tensor *t)
{
    ad_tape *tape = ad_tape_new();
    ad_rev p[INPUTS], y[M], f, v;
    const ad_rev *in[] = { p, p + M * N, p + M * N + N };
    ad_rev *out[] = { y, &f }, *none[] = { NULL, NULL };
    ad_real g = 0;
    ad_use(tape);
    for (size_t i = 0; i < INPUTS; i++)
        p[i] = ad_rec(point[i]);
    CHECK(ad_tensor_call(t, in, out) == ADREV_OK
              && ad_tape_stats(tape).statements == 0, "constants");
    v = ad_input(1);
    f = ad_rec(ad_add(f, v));
    CHECK(ad_gradient(tape, f, 1, &v, &g) == ADREV_OK && g == 1
              && ad_value(f) > 3, "a constant");
    p[0] = v;
    CHECK(ad_tensor_call(t, in, none) == ADREV_OK
              && ad_tensor_call(t, in, NULL) == ADREV_OK
              && ad_tape_stats(tape).statements == 1, "nothing is wanted");
    // v is in A: x and c are no operands, and so have no adjoints
    size_t operands = ad_tape_stats(tape).operands;
    CHECK(ad_tensor_call(t, in, out) == ADREV_OK
              && ad_tape_stats(tape).operands == operands + M * N,
          "%zu operands", ad_tape_stats(tape).operands - operands);
    ad_use(NULL);
    CHECK(ad_tensor_call(t, in, out) == ADREV_OK, "without a tape");
    ad_tape_free(tape);
}

// Sizes 0: an input without numbers may be NULL; results without numbers.
static void run_nothing(void)
{
    ad_tensor *t = NULL;
    ad_tape *tape = ad_tape_new();
    ad_rev s, f, v[2];
    const ad_rev *in[] = { NULL, &s };
    ad_rev *out[] = { v, &f };
    ad_real g = 0;
    ad_use(tape);
    s = ad_input(3);
    CHECK(ad_tensor_new(&t, "in x[n], s; out y[i] = x[i]*s;"
                        "out f = sum(i) x[i] + s^2;", NULL, NULL) == ADREV_OK
              && ad_tensor_size(t, "n", 0) == ADREV_OK, "text");
    CHECK(ad_tensor_call(t, in, out) == ADREV_OK && ad_value(f) == 9
              && ad_gradient(tape, f, 1, &s, &g) == ADREV_OK && g == 6,
          "size 0");
    out[1] = NULL;
    CHECK(ad_tensor_call(t, in, out) == ADREV_OK
              && ad_tape_stats(tape).statements == 1, "no results");
    ad_tape_free(tape);
    ad_tensor_free(t);
}

// Results may lie where the inputs do.
static void run_in_place(void)
{
    ad_tensor *t = made("in x[n], c; out y[i] = x[i]*c*x[0]; out z[i] = x[i];",
                        NULL);
    ad_tape *tape = ad_tape_new();
    ad_rev p[N + 1], x[N], z[N];
    const ad_rev *in[] = { x, &p[N] };
    ad_rev *out[] = { x, z };
    ad_real g[N + 1];
    ad_use(tape);
    ad_inputs(N + 1, point, p);
    memcpy(x, p, sizeof x);
    CHECK(ad_tensor_call(t, in, out) == ADREV_OK
              && ad_value(x[1]) == point[1] * point[N] * point[0]
              && ad_value(z[1]) == point[1]
              && ad_gradient(tape, x[1], N + 1, p, g) == ADREV_OK, "in place");
    CHECK(g[0] == point[1] * point[N] && g[1] == point[0] * point[N]
              && g[2] == 0 && g[N] == point[0] * point[1], "gradient in place");
    ad_tape_free(tape);
    ad_tensor_free(t);
}

/* --- misuse --------------------------------------------------------------- */

static void not_bound(const ad_rev *p, ad_rev *r, void *ctx)
{
    const ad_rev *in[] = { p, p + M * N, p + M * N + N };
    ad_rev *out[] = { r, r + M };
    for (size_t i = 0; i <= M; i++)
        r[i] = p[i];
    ad_ignore(ad_tensor_call(ctx, in, out));
}

static void run_misuse(ad_tensor *t)
{
    ad_tensor *open = NULL;
    ad_tape *tape = ad_tape_new();
    ad_rev p[INPUTS], y[M], f = { 0 };
    const ad_rev *in[] = { p, p + M * N, NULL };
    ad_rev *out[] = { y, &f };
    ad_real g[INPUTS];
    ad_fn *fn = NULL;
    ad_use(tape);
    ad_inputs(INPUTS, point, p);
    CHECK(ad_tensor_new(&open, text, NULL, NULL) == ADREV_OK, "text");
    CHECK(ad_tensor_call(NULL, in, out) == ADREV_ESHAPE, "no text");
    CHECK(ad_tensor_call(open, in, out) == ADREV_ESHAPE, "no sizes");
    CHECK(ad_tensor_call(t, NULL, out) == ADREV_ESHAPE, "no inputs");
    CHECK(ad_tensor_call(t, in, out) == ADREV_ESHAPE, "an input is missing");
    CHECK(f.v == 0 && f.seq == 0, "f was touched");
    in[2] = p + M * N + N;
    CHECK(ad_tensor_call(t, in, out) == ADREV_OK
              && ad_gradient(tape, f, INPUTS, p, g) == ADREV_OK,
          "the tape goes on");
    CHECK(ad_fn_record(&fn, not_bound, open, INPUTS, point, M + 1)
              == ADREV_ESHAPE && fn == NULL, "a recorded function");
    ad_tensor_free(open);
    // a statement whose text has changed is not swept
    open = made(text, NULL);
    ad_tape_clear(tape);
    ad_inputs(INPUTS, point, p);
    CHECK(ad_tensor_call(open, in, out) == ADREV_OK
              && ad_tensor_size(open, "m", M + 1) == ADREV_OK
              && ad_gradient(tape, f, INPUTS, p, g) == ADREV_EEXTERNAL,
          "another size");
    CHECK(ad_tensor_size(open, "m", M) == ADREV_OK
              && ad_tensor_bind(open, NULL) == ADREV_OK
              && ad_gradient(tape, f, INPUTS, p, g) == ADREV_EEXTERNAL,
          "the old size again");
    ad_tape_free(tape);
    ad_tensor_free(open);
    // on a tape that has failed results are constants
    char memory[1000];
    tape = ad_tape_in(memory, sizeof memory);
    ad_use(tape);
    for (int i = 0; i < 1000; i++)
        p[0] = ad_input(1);
    CHECK(ad_tensor_call(t, in, out) == ADREV_EFULL
              && ad_tape_status(tape) == ADREV_EFULL && f.seq == 0,
          "a full tape");
    ad_tape_free(tape);
}

/* --- memory --------------------------------------------------------------- */

typedef struct heap {
    long asked, failing, live;
} heap;

static void *heap_alloc(size_t bytes, void *user)
{
    heap *h = user;
    if (++h->asked == h->failing)
        return NULL;
    h->live++;
    return malloc(bytes);
}

static void heap_free(void *block, void *user)
{
    heap *h = user;
    h->live -= block != NULL;
    free(block);
}

// The text's memory and the tape's fail in turn. The tape goes on where only
// the text had none, and sweeps again with memory.
static bool run_heap(long failing, bool of_tape)
{
    heap h = { 0, 0, 0 };
    const ad_allocator from = { heap_alloc, heap_free, &h };
    ad_tensor *t = made(text, of_tape ? NULL : &from);
    ad_tape *tape = of_tape ? ad_tape_new_with(&from) : ad_tape_new();
    ad_rev p[INPUTS], y[M], f = { 0 };
    const ad_rev *in[] = { p, p + M * N, p + M * N + N };
    ad_rev *out[] = { y, &f };
    ad_real g[INPUTS], dot;
    ad_use(tape);
    ad_inputs(INPUTS, point, p);
    h.failing = h.asked + failing;
    ad_status s = ad_tensor_call(t, in, out);
    CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "%s", ad_message(s));
    CHECK(of_tape || ad_tape_status(tape) == ADREV_OK, "the tape failed");
    if (s == ADREV_OK)
        s = ad_gradient(tape, f, INPUTS, p, g);
    if (s == ADREV_OK)
        s = ad_pushforward(tape, INPUTS, p, point, 1, &f, &dot);
    CHECK(s == ADREV_OK || s == (of_tape ? ADREV_ENOMEM : ADREV_EEXTERNAL)
              || s == ADREV_ENOMEM, "%s", ad_message(s));
    bool good = h.asked < h.failing;
    CHECK(good == (s == ADREV_OK), "allocation %ld", failing);
    h.failing = 0;
    ad_tape_clear(tape);
    ad_inputs(INPUTS, point, p);
    CHECK(ad_tensor_call(t, in, out) == ADREV_OK
              && ad_gradient(tape, f, INPUTS, p, g) == ADREV_OK,
          "with memory: %s", ad_message(ad_tape_status(tape)));
    ad_tape_free(tape);
    ad_tensor_free(t);
    CHECK(h.live == 0, "%ld blocks are left", h.live);
    return good;
}

static void run_memory(void)
{
    for (int of_tape = 0; of_tape < 2; of_tape++) {
        long n = 1;
        while (n < 1000 && !run_heap(n, of_tape != 0))
            n++;
        CHECK(n < 1000 && (of_tape != 0 || n > 10), "%ld allocations", n);
    }
}

int main(void)
{
    ad_tensor *t = made(text, NULL);
    run_alone(t);
    run_tape(t);
    run_recorded(t);
    run_second(t);
    run_loops();
    run_layout();
    run_shared();
    run_zeros();
    run_constants(t);
    run_nothing();
    run_in_place();
    run_misuse(t);
    run_memory();
    ad_tensor_free(t);
    return check_done("call");
}
