/* 18  Attention learns to read: which letter comes next.
 *
 * One layer. Each place of the text says what it looks for, q, what it has, p,
 * and what it hands on, v. Weights a, which add up to 1, choose among a place
 * and the seven before it; r depends on how far away they are. The letters are
 * a map of the text: numbers from 0 on.
 *
 * Shows    maps as indices, E[c[i],k]; a band, outside of which nothing is
 *          computed; detach; several results; Adam
 * Needs    16
 * Prints   slope along a line: 0.003179, by a difference 0.003179
 *          step   0: loss 3.395,   5 of 221 letters guessed
 *          step  50: loss 1.815,  96 of 221 letters guessed
 *          step 100: loss 0.920, 150 of 221 letters guessed
 *          step 150: loss 0.616, 164 of 221 letters guessed
 *          step 200: loss 0.517, 172 of 221 letters guessed
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adam.h"
#include "formulas.h"
#include "noise.h"

static const char text[] =
    "map c[n]->m;\n"
    "in E[m,d], Q[d,d], K[d,d], V[d,d], r[w], U[m,d];\n"
    "q[i<n,k] = sum(l) Q[k,l]*E[c[i],l];\n"
    "p[i<n,k] = sum(l) K[k,l]*E[c[i],l];\n"
    "v[i<n,k] = sum(l) V[k,l]*E[c[i],l];\n"
    "s[i,j] = [0 <= i-j < w] (r[i-j] + sum(k) q[i,k]*p[j,k]);\n"
    "most[i] = detach(maximum(j: 0 <= i-j < w) s[i,j]);\n"
    "a[i,j] = [0 <= i-j < w] exp(s[i,j] - most[i]);\n"
    "all[i] = sum(j) a[i,j];\n"
    "o[i,k] = E[c[i],k] + (sum(j) a[i,j]*v[j,k])/all[i];\n"
    "out t[i,b] = sum(k) U[b,k]*o[i,k];\n"      // how likely letter b is next
    "top[i] = detach(maximum(b) t[i,b]);\n"
    "z[i] = top[i] + log(sum(b) exp(t[i,b] - top[i]));\n"
    "out f = (sum(i<n-1) (z[i] - t[i,c[i+1]]))/(n-1);\n";

static const char sentence[] =
    "a text declares arrays and gives formulas. it is bound to sizes, and then"
    " evaluated with its derivatives. loops visit only the points where a"
    " condition is true. so zeros that are there for want of a condition cost"
    " nothing.";

enum { N = sizeof sentence - 1, M = 29, D = 12, W = 8, STEPS = 200 };

// All weights, and where each array of them begins.
enum { AT_Q = M * D, AT_K = AT_Q + D * D, AT_V = AT_K + D * D,
       AT_R = AT_V + D * D, AT_U = AT_R + W, WEIGHTS = AT_U + M * D };

static double x[WEIGHTS], g[WEIGHTS], likely[N * M];

static int letter(char c)
{
    return c == ' ' ? 0 : c == '.' ? 1 : c == ',' ? 2 : c - 'a' + 3;
}

static double loss(ad_tensor *t, const double at[])
{
    const double one = 1, *seed[] = { NULL, &one };
    const double *in[] = { at, at + AT_Q, at + AT_K, at + AT_V, at + AT_R,
                           at + AT_U };
    double *by[] = { g, g + AT_Q, g + AT_K, g + AT_V, g + AT_R, g + AT_U };
    double f = 0, *out[] = { likely, &f };
    must(ad_tensor_vjp(t, in, seed, out, by));
    return f;
}

// How many of the letters that come next are thought the most likely ones.
static int guessed(const int c[N])
{
    int right = 0;
    for (int i = 0; i < N - 1; i++) {
        int best = 0;
        for (int b = 1; b < M; b++)
            best = likely[i * M + b] > likely[i * M + best] ? b : best;
        right += best == c[i + 1];
    }
    return right;
}

// The slope along a line by the gradient, and by a difference.
static void compare(ad_tensor *t)
{
    static double line[WEIGHTS], at[WEIGHTS];
    double slope = 0, f[2];
    loss(t, x);
    for (int i = 0; i < WEIGHTS; i++) {
        line[i] = sin(i);
        slope += g[i] * line[i];
    }
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < WEIGHTS; i++)
            at[i] = x[i] + (side ? 1e-5 : -1e-5) * line[i];
        f[side] = loss(t, at);
    }
    printf("slope along a line: %.6f, by a difference %.6f\n", slope,
           (f[1] - f[0]) / 2e-5);
}

int main(void)
{
    static adam state;
    int c[N];
    uint32_t random = 18;
    for (int i = 0; i < N; i++)
        c[i] = letter(sentence[i]);
    for (int i = 0; i < WEIGHTS; i++)
        x[i] = 0.5 * noise(&random);
    ad_tensor *t = formulas(text);
    must(ad_tensor_size(t, "n", N));
    must(ad_tensor_size(t, "m", M));
    must(ad_tensor_size(t, "d", D));
    must(ad_tensor_size(t, "w", W));
    must(ad_tensor_map(t, "c", c));
    bind_formulas(t);

    compare(t);
    for (int k = 0; k <= STEPS; k++) {
        double f = loss(t, x);
        if (k % 50 == 0)
            printf("step %3d: loss %.3f, %3d of %d letters guessed\n", k, f,
                   guessed(c), N - 1);
        adam_step(&state, 0.01, WEIGHTS, x, g);
    }
    ad_tensor_free(t);
    return 0;
}
