// SPDX-License-Identifier: MIT-0
/* assemble.c - what it gains to say that a function is a sum of elements:
 *
 *     assemble [-r rounds] [n ...]     default: 100, 300 and 1000
 *
 * Collocation of a cart with a pole in n intervals, by the trapezoidal rule and
 * by that of Hermite and Simpson: the sparse Jacobian of the defects, and the
 * sparse Hessian of their weighted sum. Bratu's problem, - Laplace u = 6 exp u,
 * on 60 x 60 points: w J. Each as one recorded function of all variables
 * (`whole`), and as an assembly of elements, replayed and compiled.
 *
 *   ratio        whole / assembly, replayed and compiled: medians of rounds,
 *                which take turns, in processor time
 *   compile      seconds, once, with an empty cache
 *   error        largest difference of an entry, relative to the largest one
 *
 * Not representative: elements here are alike in cost and few variables wide. */

#define ADREV_IMPLEMENTATION
#include "../adrev_assemble.h"

#include "report.h"

#include <unistd.h>

static const double tolerance = 1e-12;

enum { WIDTH = 5, STATES = 4, SIDE = 60 };

/* ---------------------------------------------------------------------------
 * Elements
 * ------------------------------------------------------------------------- */

// x: place, angle, their speeds, force. (M. Kelly, An introduction to
// trajectory optimization, 2017.)
static void cart_pole(const ad_rev x[WIDTH], ad_rev d[STATES])
{
    const ad_rev s = ad_rec(ad_sin(x[1]));
    const ad_rev c = ad_rec(ad_cos(x[1]));
    const ad_rev down = ad_rec(ad_sub(1.3, ad_mul(0.3, ad_sqr(c))));
    const ad_rev spin = ad_rec(ad_mul(ad_mul(0.15, s), ad_sqr(x[3])));

    d[0] = x[2];
    d[1] = x[3];
    d[2] = ad_rec(ad_div(ad_add(ad_add(spin, x[4]),
                                ad_mul(2.943, ad_mul(c, s))), down));
    d[3] = ad_rec(ad_neg(ad_div(ad_add(ad_mul(c, ad_add(spin, x[4])),
                                       ad_mul(12.753, s)),
                                ad_mul(0.5, down))));
}

static const double step = 0.01;

// x: the state and force at both ends.
static void trapezoid(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev a[STATES], b[STATES];

    (void)ctx;
    cart_pole(x, a);
    cart_pole(x + WIDTH, b);
    for (int i = 0; i < STATES; i++) {
        y[i] = ad_rec(ad_sub(ad_sub(x[WIDTH + i], x[i]),
                             ad_mul(step / 2.0, ad_add(a[i], b[i]))));
    }
}

// The force in the middle is the mean.
static void hermite_simpson(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_rev a[STATES], b[STATES], m[STATES], middle[WIDTH];

    (void)ctx;
    cart_pole(x, a);
    cart_pole(x + WIDTH, b);
    for (int i = 0; i < STATES; i++) {
        middle[i] = ad_rec(ad_add(ad_mul(0.5, ad_add(x[i], x[WIDTH + i])),
                                  ad_mul(step / 8.0, ad_sub(a[i], b[i]))));
    }
    middle[4] = ad_rec(ad_mul(0.5, ad_add(x[4], x[WIDTH + 4])));
    cart_pole(middle, m);
    for (int i = 0; i < STATES; i++) {
        y[i] = ad_rec(ad_sub(ad_sub(x[WIDTH + i], x[i]),
                             ad_mul(step / 6.0,
                                    ad_add(ad_add(a[i], b[i]),
                                           ad_mul(4.0, m[i])))));
    }
}

// x: a point and its neighbours.
static void bratu(const ad_rev *x, ad_rev *y, void *ctx)
{
    const double h = 1.0 / (SIDE + 1);

    (void)ctx;
    y[0] = ad_rec(ad_sub(ad_sub(ad_sub(ad_mul(4.0, x[0]), ad_add(x[1], x[2])),
                                ad_add(x[3], x[4])),
                         ad_mul(6.0 * h * h, ad_exp(x[0]))));
}

/* ---------------------------------------------------------------------------
 * Problems
 * ------------------------------------------------------------------------- */

typedef struct problem {
    const char *name;
    ad_vector_fn *element;
    size_t width, results;      // of an element
    size_t count, n, m;
    int32_t *variable, *result;
} problem;

static problem collocation(const char *name, ad_vector_fn *element, size_t count)
{
    problem p = { name, element, 2 * WIDTH, STATES, count, WIDTH * (count + 1),
                  STATES * count, NULL, NULL };

    p.variable = get(count * p.width, sizeof *p.variable);
    p.result = get(count * p.results, sizeof *p.result);
    for (size_t i = 0; i < count * p.width; i++) {
        p.variable[i] = (int32_t)(i / p.width * WIDTH + i % p.width);
    }
    for (size_t i = 0; i < count * p.results; i++) {
        p.result[i] = (int32_t)i;
    }
    return p;
}

// Beyond the border u is 0.
static problem bratu_square(void)
{
    const size_t count = (size_t)SIDE * SIDE;
    static const int down[] = { 0, -1, 1, 0, 0 }, right[] = { 0, 0, 0, -1, 1 };
    problem p = { "bratu 60 x 60", bratu, 5, 1, count, count, count, NULL,
                  NULL };

    p.variable = get(count * p.width, sizeof *p.variable);
    p.result = get(count, sizeof *p.result);
    for (int i = 0; i < SIDE * SIDE; i++) {
        for (int k = 0; k < 5; k++) {
            const int r = i / SIDE + down[k];
            const int c = i % SIDE + right[k];
            const bool inside = r >= 0 && r < SIDE && c >= 0 && c < SIDE;

            p.variable[5 * i + k] = inside ? r * SIDE + c : -1;
        }
        p.result[i] = i;
    }
    return p;
}

// All elements, one after the other.
static void whole(const ad_rev *x, ad_rev *y, void *ctx)
{
    const problem *p = ctx;
    ad_rev in[2 * WIDTH], out[STATES];

    for (size_t e = 0; e < p->count; e++) {
        for (size_t i = 0; i < p->width; i++) {
            const int32_t at = p->variable[e * p->width + i];

            in[i] = at < 0 ? ad_rec(0.0) : x[at];
        }
        p->element(in, out, NULL);
        for (size_t i = 0; i < p->results; i++) {
            y[p->result[e * p->results + i]] = out[i];
        }
    }
}

/* ---------------------------------------------------------------------------
 * Measurements
 * ------------------------------------------------------------------------- */

enum task { JACOBIAN, HESSIAN, ADJOINT };

static const char *const task_names[] = { "J", "H", "w J" };

typedef struct run {
    enum task task;
    ad_fn *fn;
    ad_assembly *a, *compiled;
    const double *x, *w;
    size_t results;
    double *want, *got;
    double seconds[3][REPORT_ROUNDS];
} run;

static void ask(run *r, ad_assembly *a, double *to)
{
    const ad_status s =
        a == NULL ? (r->task == JACOBIAN ? ad_fn_jacobian_sparse(r->fn, r->x, to)
                     : r->task == HESSIAN
                     ? ad_fn_hessian_sparse(r->fn, r->x, r->w, to)
                     : ad_fn_vjp(r->fn, r->x, r->w, to))
                  : (r->task == JACOBIAN
                     ? ad_assembly_jacobian(a, r->x, NULL, NULL, to)
                     : r->task == HESSIAN
                     ? ad_assembly_hessian(a, r->x, NULL, r->w, NULL, to)
                     : ad_assembly_vjp(a, r->x, NULL, r->w, to));

    if (s != ADREV_OK) {
        fprintf(stderr, "%s\n", ad_message(s));
        to[0] = HUGE_VAL;
    }
}

// Processor time of several evaluations, so that neither the clock nor other
// programs matter.
static double time_of(run *r, ad_assembly *a, double *to)
{
    const int repeats = a == NULL ? 10 : 100;
    const clock_t begin = clock();

    for (int i = 0; i < repeats; i++) {
        ask(r, a, to);
    }
    return (double)(clock() - begin) / CLOCKS_PER_SEC / repeats;
}

static bool row(const problem *p, run *r, double compile, size_t rounds)
{
    ad_assembly *const how[3] = { NULL, r->a, r->compiled };
    double error = 0.0, largest = 0.0;

    ask(r, NULL, r->want);
    for (int k = 1; k < 3; k++) {
        ask(r, how[k], r->got);
        for (size_t i = 0; i < r->results; i++) {
            error = fmax(error, fabs(r->got[i] - r->want[i]));
            largest = fmax(largest, fabs(r->want[i]));
        }
    }
    for (size_t i = 0; i < rounds; i++) {
        for (int k = 0; k < 3; k++) {
            r->seconds[k][i] = time_of(r, how[k], r->got);
        }
    }
    error /= largest;
    const bool right = error <= tolerance;
    const summary replayed = summarise(rounds, r->seconds[0], r->seconds[1]);
    const summary compiled = summarise(rounds, r->seconds[0], r->seconds[2]);

    printf("%-18s %6zu  %-4s", p->name, p->count, task_names[r->task]);
    for (int k = 0; k < 3; k++) {
        print_seconds(summarise(rounds, r->seconds[k], NULL).median);
    }
    printf(" %7.1f %3.0f%% %7.1f %3.0f%%", replayed.median,
           100.0 * replayed.spread, compiled.median, 100.0 * compiled.spread);
    print_seconds(compile);
    printf("  %.1e %s\n", error, right ? "" : "  WRONG");
    return right;
}

static ad_assembly *assemble(const problem *p, ad_fn *element)
{
    const ad_elements of = { element, p->count, p->variable, NULL, p->result };
    ad_assembly *a = NULL;

    if (ad_fn_assemble(&a, NULL, p->n, 0, p->m, 1, &of) != ADREV_OK) {
        exit(EXIT_FAILURE);
    }
    return a;
}

// A cache of its own, so that the compiler does run.
static double compile(ad_assembly *a)
{
    char cache[64];
    char command[80];
    ad_compile_report report;
    snprintf(cache, sizeof cache, "/tmp/bench-assemble-%ld", (long)getpid());
    const ad_compile_options o = { .cache = cache, .report = &report };
    const double begin = wall();
    const ad_status s = ad_assembly_compile(a, &o);
    const double took = wall() - begin;

    if (s != ADREV_OK) {
        printf("not compiled: %s %s\n", ad_compile_message(report.reason),
               report.text);
    }
    snprintf(command, sizeof command, "rm -rf %s", cache);
    return system(command) == 0 ? took : HUGE_VAL;
}

static bool rows(problem p, bool matrices, size_t rounds)
{
    const double one[2 * WIDTH] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    double *x = get(p.n, sizeof *x);
    double *w = get(p.m, sizeof *w);
    ad_fn *element = NULL;
    run r = { .x = x, .w = w };
    bool right = true;

    for (size_t i = 0; i < p.n; i++) {
        x[i] = 0.5 + 0.3 * sin((double)i);
    }
    for (size_t i = 0; i < p.m; i++) {
        w[i] = cos((double)i);
    }
    if (ad_fn_record(&element, p.element, NULL, p.width, one, p.results)
        || ad_fn_record(&r.fn, whole, &p, p.n, x, p.m)) {
        return false;
    }
    r.a = assemble(&p, element);
    r.compiled = assemble(&p, element);
    const double took = compile(r.compiled);
    for (int task = matrices ? JACOBIAN : ADJOINT;
         task <= (matrices ? (int)HESSIAN : (int)ADJOINT); task++) {
        ad_sparsity about = { p.n, 0, 0 };

        if (task == JACOBIAN
            ? ad_fn_jacobian_pattern(r.fn, &about, NULL, NULL, NULL)
            : task == HESSIAN
            ? ad_fn_hessian_pattern(r.fn, &about, NULL, NULL, NULL) : 0) {
            return false;
        }
        r.task = (enum task)task;
        r.results = about.nonzeros;
        r.want = get(r.results, sizeof *r.want);
        r.got = get(r.results, sizeof *r.got);
        right = row(&p, &r, took, rounds) && right;
        free(r.want);
        free(r.got);
    }
    ad_assembly_free(r.a);
    ad_assembly_free(r.compiled);
    ad_fn_free(r.fn);
    ad_fn_free(element);
    free(x);
    free(w);
    free(p.variable);
    free(p.result);
    return right;
}

static bool intervals(size_t n, size_t rounds)
{
    const bool a = rows(collocation("trapezoid", trapezoid, n), true, rounds);

    return rows(collocation("hermite-simpson", hermite_simpson, n), true,
                rounds) && a;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = { "100", "300", "1000" };
    const size_t rounds = take_rounds(&argc, &argv, 15);

    print_machine(ADREV_VERSION);
    printf("\nassemblies                        whole  replayed  compiled"
           "    ratio        ratio       compile  error\n");
    const bool right = rows(bratu_square(), false, rounds);
    return print_rows(argc, argv, usual, rounds, intervals) && right
         ? EXIT_SUCCESS : EXIT_FAILURE;
}
