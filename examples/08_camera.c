/* 08  A camera finds its lens and its place from a photo of twelve marks.
 *
 * Shows    ADREV_STRUCT: parameters as a struct, its twin, a Jacobian of it
 * Needs    02, 03
 * Prints   step 0: off by 4.3e+01 pixels
 *          step 1: off by 6.2e+00 pixels
 *          step 2: off by 3.6e+00 pixels
 *          step 3: off by 5.6e-02 pixels
 *          step 4: off by 1.4e-04 pixels
 *          north: focal length 1000.00, center (330.00, 250.00), bend -0.2000
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev_struct.h"

#include <stdio.h>

#define POSE(FIELD)   FIELD(reals, turn, [3]) FIELD(reals, place, [3])
#define CAMERA(FIELD)                                                       \
    FIELD(others, char, name, [8])  FIELD(real, focal)                      \
    FIELD(reals, center, [2])  FIELD(real, bend)  FIELD(record, pose, pose)
ADREV_STRUCT(pose, POSE);
ADREV_STRUCT(camera, CAMERA);

enum { MARKS = 12, M = 2 * MARKS, N = camera_most };

// Where the marks on the steps of a stair are seen, in pixels: turned about
// three axes, moved, projected, and bent by the lens.
static void take(const camera_rev *c, ad_rev photo[M])
{
    for (int k = 0; k < MARKS; k++) {
        const ad_rev *turn = c->pose.turn;
        ad_rev p[3] = { ad_rec(k % 4 - 1.5), ad_rec(k / 4 - 1),
                        ad_rec(0.5 * (k % 3) + 0.2 * (k / 4)) };
        for (int a = 0; a < 3; a++) {
            ad_rev *u = &p[(a + 1) % 3];
            ad_rev *v = &p[(a + 2) % 3];
            ad_expr x = ad_mul(ad_cos(turn[a]), *u);
            ad_expr y = ad_mul(ad_sin(turn[a]), *u);
            *u = ad_rec(ad_sub(x, ad_mul(ad_sin(turn[a]), *v)));
            *v = ad_rec(ad_add(y, ad_mul(ad_cos(turn[a]), *v)));
        }
        for (int a = 0; a < 3; a++)
            p[a] = ad_rec(ad_add(p[a], c->pose.place[a]));
        ad_rev u = ad_rec(ad_div(p[0], p[2]));
        ad_rev v = ad_rec(ad_div(p[1], p[2]));
        ad_rev r2 = ad_rec(ad_add(ad_sqr(u), ad_sqr(v)));
        ad_rev scale = ad_rec(ad_mul(c->focal, ad_fma(c->bend, r2, 1)));
        photo[2 * k] = ad_rec(ad_fma(scale, u, c->center[0]));
        photo[2 * k + 1] = ad_rec(ad_fma(scale, v, c->center[1]));
    }
}

// The least squares solution of J step = r, from the normal equations.
static void solve(const double J[M][N], const double r[M], double step[N])
{
    double A[N][N + 1] = { { 0 } };
    for (int k = 0; k < M; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j <= N; j++)
                A[i][j] += J[k][i] * (j < N ? J[k][j] : r[k]);
    for (int i = 0; i < N; i++)
        for (int k = i + 1; k < N; k++)
            for (int j = N; j >= i; j--)
                A[k][j] -= A[k][i] / A[i][i] * A[i][j];
    for (int i = N - 1; i >= 0; i--) {
        step[i] = A[i][N];
        for (int j = i + 1; j < N; j++)
            step[i] -= A[i][j] * step[j];
        step[i] /= A[i][i];
    }
}

// One step of Gauss and Newton. *off: how far off the guess was.
static ad_status improve(ad_tape *t, camera *guess, const ad_rev photo[M],
                         double *off)
{
    camera_rev x;
    ad_rev at[N], seen[M];
    double J[M][N], r[M], p[N], step[N], sum = 0;

    ad_tape_clear(t);
    ad_status status = camera_inputs(guess, &x);
    if (status != ADREV_OK)
        return status;
    take(&x, seen);
    status = camera_gather(&x, N, at);
    if (status == ADREV_OK)
        status = ad_jacobian(t, M, seen, N, at, *J);
    if (status == ADREV_OK)
        status = camera_pack(guess, N, p);
    if (status != ADREV_OK)
        return status;
    for (int i = 0; i < M; i++) {
        r[i] = ad_value(photo[i]) - ad_value(seen[i]);
        sum += r[i] * r[i] / M;
    }
    solve((const double (*)[N])J, r, step);
    for (int i = 0; i < N; i++)
        p[i] += step[i];
    *off = sqrt(sum);
    return camera_unpack(N, p, guess);
}

int main(void)
{
    const camera truth = { "north", 1000, { 330, 250 }, -0.2,
                           { { 0.2, -0.3, 0.1 }, { 0.1, -0.2, 6 } } };
    camera guess = { "north", 800, { 320, 240 }, 0, { { 0 }, { 0, 0, 5 } } };
    camera_rev x;
    ad_rev photo[M];

    // without a tape: constants
    ad_status status = camera_inputs(&truth, &x);
    if (status == ADREV_OK)
        take(&x, photo);
    ad_tape *t = ad_tape_new();
    ad_use(t);
    for (int k = 0; k < 5 && status == ADREV_OK; k++) {
        double off = 0;
        status = improve(t, &guess, photo, &off);
        printf("step %d: off by %.1e pixels\n", k, off);
    }
    ad_tape_free(t);
    if (status != ADREV_OK) {
        fprintf(stderr, "%s\n", ad_message(status));
        return 1;
    }
    printf("%s: focal length %.2f, center (%.2f, %.2f), bend %.4f\n",
           guess.name, guess.focal, guess.center[0], guess.center[1],
           guess.bend);
}
