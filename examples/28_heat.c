/* 28  Where a plate was hot: the initial state of a nonlinear heat equation,
 *     found from few noisy observations, on several ranks.
 *
 *     mpirun -n 4 28_heat [picture.svg]
 *
 * u_t = div((1 + u) grad u) on an insulated plate of 24 x 24 points, by 40
 * explicit steps. Every third point of every third row has a sensor, read five
 * times. Each rank has a block of the plate; neighbours exchange its borders in
 * every step, forwards and, as adjoints, backwards. Unknown is the temperature
 * of every point at the beginning.
 *
 * Shows    ad_mpi_halo in ad_scan with a schedule; ad_mpi_allreduce and
 *          ad_mpi_gradient; L-BFGS on vectors that no rank has as a whole
 * Needs    14, 25; MPI
 * Prints   24 x 24 points, 40 steps, 320 observations with noise of 0.02
 *          misfit of a cold plate   6970.48, of what was found 167.70
 *          off by  0.186 before, by 0.035 after (root mean square)
 *          L-BFGS: 31 gradients
 *
 * Exits with 0, or 2 usage, 4 numerical failure, 5 output.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev_loop.h"
#include "adrev_mpi.h"
#include "noise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 2, NUMERICS = 4, OUTPUT = 5 };

enum { N = 24, STEPS = 40, EVERY = 8, READINGS = STEPS / EVERY, SENSORS = 3,
       POINTS = N * N, PADDED = (N + 2) * (N + 2) };

static const double SPEED = 0.1;        // of heat: dt/dx^2
static const double NOISE = 0.02;
static const double ROUGH = 20;          // weight of differences of neighbours

// The block of a rank: rows x cols points from row `top` and column `left` on.
// In a padded block, with a border of one point, its point (i, j) is number
// (i + 1) * (cols + 2) + j + 1.
typedef struct block {
    ad_mpi *ranks;
    int rows, cols, top, left;
    size_t index[8][N];                 // what is sent to each side, and where
    ad_mpi_side side[4];                // what comes from there goes
    double seen[READINGS][POINTS];      // by sensors: [i * cols + j]
} block;

static size_t at(const block *b, int i, int j)
{
    return (size_t)((i + 1) * (b->cols + 2) + j + 1);
}

/* --- the plate in blocks ---------------------------------------------------- */

static int first_of(int part, int parts) { return part * N / parts; }

// A border of the block: `inner` is sent, `outer` comes from the neighbour.
static void add_side(block *b, int side, int rank, int inner, int outer)
{
    size_t *from = b->index[2 * side];
    size_t *to = b->index[2 * side + 1];
    bool upright = side < 2;            // west and east
    int n = upright ? b->rows : b->cols;
    for (int k = 0; k < n; k++) {
        from[k] = upright ? at(b, k, inner) : at(b, inner, k);
        to[k] = upright ? at(b, k, outer) : at(b, outer, k);
    }
    b->side[side] = (ad_mpi_side){ .rank = rank, .sends = (size_t)n,
                                   .from = from, .receives = (size_t)n,
                                   .to = to };
}

// Cuts the plate into as many blocks as there are ranks. False: too many.
static bool make_block(block *b)
{
    int cut[2] = { 0, 0 }, whole[2] = { 0, 0 }, place[2], near[4];
    MPI_Comm grid;
    MPI_Dims_create(ad_mpi_size(b->ranks), 2, cut);
    if (cut[0] > N || cut[1] > N)
        return false;
    MPI_Cart_create(MPI_COMM_WORLD, 2, cut, whole, 0, &grid);
    MPI_Cart_coords(grid, ad_mpi_rank(b->ranks), 2, place);
    MPI_Cart_shift(grid, 1, 1, &near[0], &near[1]);
    MPI_Cart_shift(grid, 0, 1, &near[2], &near[3]);
    MPI_Comm_free(&grid);
    b->top = first_of(place[0], cut[0]);
    b->left = first_of(place[1], cut[1]);
    b->rows = first_of(place[0] + 1, cut[0]) - b->top;
    b->cols = first_of(place[1] + 1, cut[1]) - b->left;
    add_side(b, 0, near[0], 0, -1);
    add_side(b, 1, near[1], b->cols - 1, b->cols);
    add_side(b, 2, near[2], 0, -1);
    add_side(b, 3, near[3], b->rows - 1, b->rows);
    return true;
}

// Pads a block. What is beyond the plate is as warm as its border.
static void pad(const block *b, const ad_rev *u, ad_rev *padded)
{
    for (int i = -1; i <= b->rows; i++)
        for (int j = -1; j <= b->cols; j++) {
            int k = i < 0 ? 0 : i == b->rows ? i - 1 : i;
            int l = j < 0 ? 0 : j == b->cols ? j - 1 : j;
            padded[at(b, i, j)] = u[k * b->cols + l];
        }
    ad_mpi_halo(b->ranks, 4, b->side, PADDED, padded);
}

/* --- the equation ----------------------------------------------------------- */

// A sensor stands here, and is read after this step.
static bool is_seen(const block *b, int i, int j, size_t step)
{
    return (b->top + i) % SENSORS == 1 && (b->left + j) % SENSORS == 1
        && step % EVERY == EVERY - 1;
}

// A step, and what it contributes to the misfit. (1 + u) grad u is the gradient
// of u + u^2/2.
static void heat(ad_step *s, void *ctx)
{
    const block *b = ctx;
    const ad_rev *u = s->state[0];
    const size_t step = ad_step_index(s);
    ad_rev p[PADDED] = {{0}}, misfit = {0};
    pad(b, u, p);
    for (int k = 0; k < (b->rows + 2) * (b->cols + 2); k++)
        p[k] = ad_rec(ad_add(p[k], ad_mul(0.5, ad_sqr(p[k]))));
    for (int i = 0; i < b->rows; i++)
        for (int j = 0; j < b->cols; j++) {
            const int k = i * b->cols + j;
            ad_expr around = ad_add(
                ad_add(p[at(b, i, j - 1)], p[at(b, i, j + 1)]),
                ad_add(p[at(b, i - 1, j)], p[at(b, i + 1, j)]));
            ad_expr flow = ad_sub(around, ad_mul(4, p[at(b, i, j)]));
            s->next[0][k] = ad_rec(ad_add(u[k], ad_mul(SPEED, flow)));
            if (is_seen(b, i, j, step))
                ad_acc(&misfit, ad_sqr(ad_div(
                    ad_sub(s->next[0][k], b->seen[step / EVERY][k]), NOISE)));
        }
    s->output[0][0] = misfit;
}

// Runs the plate from u; the last temperatures are not wanted.
static ad_status run(block *b, size_t steps, const ad_rev *u, ad_rev *misfit,
                     ad_rev *last)
{
    const ad_scan_state state = { .size = (size_t)(b->rows * b->cols),
                                  .initial = u, .last = last };
    const ad_scan_output output = { .size = 1, .row = misfit };
    const ad_scan_desc d = {
        .step = heat, .ctx = b, .steps = steps, .states = 1, .state = &state,
        .outputs = 1, .output = &output, .schedule = { ADREV_BINOMIAL, 6, NULL }
    };
    return ad_scan(&d, NULL);
}

// Half the squared differences of neighbours. Those at the border of the block
// are counted by both of their ranks, and so by half.
static ad_rev roughness(const block *b, const ad_rev *u)
{
    ad_rev p[PADDED] = {{0}}, sum = {0};
    pad(b, u, p);
    for (int i = 0; i < b->rows; i++)
        for (int j = 0; j < b->cols; j++) {
            const ad_rev here = p[at(b, i, j)];
            ad_acc(&sum, ad_mul(0.25, ad_add(
                ad_add(ad_sqr(ad_sub(p[at(b, i, j - 1)], here)),
                       ad_sqr(ad_sub(p[at(b, i, j + 1)], here))),
                ad_add(ad_sqr(ad_sub(p[at(b, i - 1, j)], here)),
                       ad_sqr(ad_sub(p[at(b, i + 1, j)], here))))));
        }
    return sum;
}

// The misfit of all ranks, and its gradient by the temperatures of this one.
static ad_status misfit(block *b, const double *x, double *y, double *g)
{
    const size_t n = (size_t)(b->rows * b->cols);
    ad_rev u[POINTS], of_steps[STEPS] = {{0}}, sum;
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_inputs(n, x, u);
    run(b, STEPS, u, of_steps, NULL);
    sum = ad_rec(ad_add(ad_mul(0.5, ad_sum(STEPS, of_steps)),
                        ad_mul(ROUGH, roughness(b, u))));
    ad_mpi_allreduce(b->ranks, ADREV_MPI_SUM, 1, &sum, &sum);
    *y = ad_value(sum);
    ad_status status = ad_mpi_gradient(b->ranks, t, sum, n, u, g);
    ad_use(NULL);
    ad_tape_free(t);
    return status;
}

/* --- what really happened --------------------------------------------------- */

static double truth(const block *b, int i, int j)
{
    double y = (b->top + i + 0.5) / N, x = (b->left + j + 0.5) / N;
    return exp(-60 * ((x - 0.3) * (x - 0.3) + (y - 0.35) * (y - 0.35)))
         + 0.7 * exp(-90 * ((x - 0.7) * (x - 0.7) + (y - 0.6) * (y - 0.6)));
}

// Runs the plate as it was, without a tape, and reads its sensors. The noise of
// a reading is the same on any number of ranks.
static void observe(block *b)
{
    ad_rev u[POINTS] = {{0}}, unused[STEPS];
    for (int i = 0; i < b->rows; i++)
        for (int j = 0; j < b->cols; j++)
            u[i * b->cols + j] = ad_rec(truth(b, i, j));
    for (size_t r = 0; r < READINGS; r++) {
        run(b, EVERY, u, unused, u);
        uint32_t random = (uint32_t)r + 1;
        for (int k = 0; k < POINTS; k++) {
            double off = sqrt(3) * NOISE * noise(&random);
            int i = k / N - b->top, j = k % N - b->left;
            if (i >= 0 && i < b->rows && j >= 0 && j < b->cols)
                b->seen[r][i * b->cols + j] =
                    ad_value(u[i * b->cols + j]) + off;
        }
    }
}

/* --- L-BFGS, each rank with its part of all vectors --------------------------- */

enum { PAIRS = 8, MOST_GRADIENTS = 500 };

typedef struct descent {
    size_t n;
    double x[POINTS], g[POINTS], way[POINTS];
    double s[PAIRS][POINTS], y[PAIRS][POINTS], rho[PAIRS];
    int pairs;                          // so far
    double f;
} descent;

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static void add(size_t n, double a, const double *x, double *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] += a * x[i];
}

// The way down: minus the gradient, bent by the last pairs (Nocedal).
static void find_way(descent *d)
{
    double alpha[PAIRS];
    int first = d->pairs > PAIRS ? d->pairs - PAIRS : 0;
    for (size_t i = 0; i < d->n; i++)
        d->way[i] = -d->g[i];
    for (int k = d->pairs; k-- > first;) {
        int i = k % PAIRS;
        alpha[i] = d->rho[i] * dot(d->n, d->s[i], d->way);
        add(d->n, -alpha[i], d->y[i], d->way);
    }
    if (d->pairs > 0) {
        int i = (d->pairs - 1) % PAIRS;
        double scale = 1 / (d->rho[i] * dot(d->n, d->y[i], d->y[i]));
        for (size_t k = 0; k < d->n; k++)
            d->way[k] *= scale;
    }
    for (int k = first; k < d->pairs; k++) {
        int i = k % PAIRS;
        double beta = d->rho[i] * dot(d->n, d->y[i], d->way);
        add(d->n, alpha[i] - beta, d->s[i], d->way);
    }
}

// Goes on, less far if that is not down; keeps the pair. False: not down at
// all.
static ad_status go_on(block *b, descent *d, int *gradients, bool *down)
{
    static double x[POINTS], g[POINTS];
    double slope = dot(d->n, d->g, d->way);
    double step = d->pairs > 0 ? 1 : 1 / sqrt(-slope);
    double f = HUGE_VAL;
    *down = false;
    for (; !*down && step > 1e-10; step /= 2) {
        memcpy(x, d->x, sizeof x);
        add(d->n, step, d->way, x);
        ad_status status = misfit(b, x, &f, g);
        if (status != ADREV_OK)
            return status;
        ++*gradients;
        *down = f <= d->f + 1e-4 * step * slope;
    }
    int i = d->pairs % PAIRS;
    for (size_t k = 0; k < d->n; k++) {
        d->s[i][k] = x[k] - d->x[k];
        d->y[i][k] = g[k] - d->g[k];
    }
    double bend = dot(d->n, d->s[i], d->y[i]);
    d->rho[i] = 1 / bend;
    d->pairs += bend > 0;
    memcpy(d->x, x, sizeof x);
    memcpy(d->g, g, sizeof g);
    d->f = f;
    return ADREV_OK;
}

// From a cold plate. Returns how many gradients it took.
static int minimise(block *b, descent *d)
{
    int gradients = 1;
    bool down = true;
    ad_status status = misfit(b, d->x, &d->f, d->g);
    const double small = 1e-8 * dot(d->n, d->g, d->g);
    while (status == ADREV_OK && down && gradients < MOST_GRADIENTS
           && dot(d->n, d->g, d->g) > small) {
        find_way(d);
        status = go_on(b, d, &gradients, &down);
    }
    if (status != ADREV_OK) {
        fprintf(stderr, "28_heat: %s\n", ad_mpi_reason(b->ranks));
        MPI_Abort(MPI_COMM_WORLD, NUMERICS);
    }
    return gradients;
}

/* --- the report and the picture ----------------------------------------------- */

// The whole plate on rank 0.
static void collect(const block *b, const double *x, double whole[POINTS])
{
    memset(whole, 0, POINTS * sizeof *whole);
    for (int i = 0; i < b->rows; i++)
        for (int j = 0; j < b->cols; j++)
            whole[(b->top + i) * N + b->left + j] = x[i * b->cols + j];
    MPI_Allreduce(MPI_IN_PLACE, whole, POINTS, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
}

static void draw_plate(FILE *file, int left, const double u[POINTS],
                       const char *title)
{
    fprintf(file, "<text x='%d' y='20' font-family='sans-serif' "
            "font-size='14'>%s</text>\n", left, title);
    for (int k = 0; k < POINTS; k++) {      // black, red, yellow, white
        double hot = 2.5 * fmin(1, fmax(0, u[k]));
        unsigned red = (unsigned)(255 * fmin(1, hot));
        unsigned green = (unsigned)(255 * fmin(1, fmax(0, hot - 1)));
        unsigned blue = (unsigned)(255 * fmax(0, hot - 2) * 2);
        fprintf(file, "<rect x='%d' y='%d' width='11' height='11' "
                "fill='#%02x%02x%02x'/>\n", left + 10 * (k % N),
                30 + 10 * (k / N), red, green, blue);
    }
    for (int k = 0; k < POINTS; k++)
        if (k / N % SENSORS == 1 && k % N % SENSORS == 1)
            fprintf(file, "<circle cx='%d' cy='%d' r='1.5' fill='#9cf'/>\n",
                    left + 10 * (k % N) + 5, 35 + 10 * (k / N));
}

static bool draw(const char *path, double plate[3][POINTS])
{
    static const char *const title[] = {
        "as it was", "when it was last read", "as it was found"
    };
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return false;
    fprintf(file, "<svg xmlns='http://www.w3.org/2000/svg' width='800' "
            "height='285'>\n<rect width='800' height='285' fill='#fff'/>\n");
    for (int i = 0; i < 3; i++)
        draw_plate(file, 10 + 265 * i, plate[i], title[i]);
    fprintf(file, "</svg>\n");
    bool good = !ferror(file);
    return fclose(file) == 0 && good;
}

static double distance(const double a[POINTS], const double b[POINTS])
{
    double sum = 0;
    for (int k = 0; k < POINTS; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(sum / POINTS);
}

// The plates of the picture: as it was, as it was at the end, as it was found.
static void collect_all(block *b, const descent *d, double plate[3][POINTS])
{
    ad_rev u[POINTS] = {{0}}, unused[STEPS];
    double x[POINTS];
    for (int k = 0; k < b->rows * b->cols; k++) {
        x[k] = truth(b, k / b->cols, k % b->cols);
        u[k] = ad_rec(x[k]);
    }
    collect(b, x, plate[0]);
    run(b, STEPS, u, unused, u);
    for (int k = 0; k < b->rows * b->cols; k++)
        x[k] = ad_value(u[k]);
    collect(b, x, plate[1]);
    collect(b, d->x, plate[2]);
}

int main(int argc, char *argv[])
{
    static block b;
    static descent d;
    static double plate[3][POINTS], cold[POINTS];
    int code = 0;
    MPI_Init(&argc, &argv);
    b.ranks = ad_mpi_new(MPI_COMM_WORLD);
    if (argc > 2 || b.ranks == NULL || !make_block(&b)) {
        fprintf(stderr, "usage: 28_heat [picture.svg], on few ranks\n");
        MPI_Abort(MPI_COMM_WORLD, USAGE);
    }
    observe(&b);
    d.n = (size_t)(b.rows * b.cols);
    double before = 0;
    ad_status status = misfit(&b, d.x, &before, d.g);
    int gradients = status == ADREV_OK ? minimise(&b, &d) : 0;
    collect_all(&b, &d, plate);
    if (ad_mpi_rank(b.ranks) == 0) {
        printf("%d x %d points, %d steps, %d observations with noise of %.2f\n",
               N, N, STEPS, READINGS * (N / SENSORS) * (N / SENSORS), NOISE);
        printf("misfit of a cold plate %9.2f, of what was found %.2f\n",
               before, d.f);
        printf("off by %6.3f before, by %.3f after (root mean square)\n",
               distance(plate[0], cold), distance(plate[0], plate[2]));
        printf("L-BFGS: %d gradients\n", gradients);
        if (!draw(argc == 2 ? argv[1] : "heat.svg", plate)) {
            fprintf(stderr, "28_heat: cannot write the picture\n");
            code = OUTPUT;
        }
    }
    ad_mpi_free(b.ranks);
    MPI_Finalize();
    return code;
}
