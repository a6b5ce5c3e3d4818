// SPDX-License-Identifier: MIT-0
/* programs.h - eight tensor programs, and beside each the same in plain C:
 * values by straightforward loops, gradients by adjoints written by hand.
 *
 *     program_compute(p)       fills program_x and program_w, and computes
 *                              program_y, and program_g = J' w
 *
 * Numbers of inputs and seeds are eighths: floats hold them, too.           */

#ifndef ADREV_TESTS_TENSOR_PROGRAMS_H
#define ADREV_TESTS_TENSOR_PROGRAMS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    PROGRAMS = 8, PROGRAM_SIZES = 4, PROGRAM_MAPS = 2, PROGRAM_ARRAYS = 4,
    PROGRAM_NUMBERS = 64
};

typedef struct program {
    const char *name, *text;
    struct { const char *name; size_t n; } size[PROGRAM_SIZES];
    struct { const char *name; const int *value; } map[PROGRAM_MAPS];
    const char *relation;
    size_t entries;
    const int *column[3];
    size_t in[PROGRAM_ARRAYS];          // how many numbers each has
    size_t out[PROGRAM_ARRAYS];
    void (*value)(void);                // program_y of program_x
    void (*adjoint)(void);              // program_g, which is zero before
} program;

static double program_x[PROGRAM_ARRAYS][PROGRAM_NUMBERS];
static double program_w[PROGRAM_ARRAYS][PROGRAM_NUMBERS];
static double program_y[PROGRAM_ARRAYS][PROGRAM_NUMBERS];
static double program_g[PROGRAM_ARRAYS][PROGRAM_NUMBERS];

#define P_X(i) (program_x[i])
#define P_G(i) (program_g[i])

/* --- 1  least squares ----------------------------------------------------- */

enum { LS_M = 5, LS_N = 3 };

static double ls_residual(int i)
{
    double r = -P_X(2)[i];
    for (int j = 0; j < LS_N; j++)
        r += P_X(0)[i * LS_N + j] * P_X(1)[j];
    return r;
}

static void ls_value(void)
{
    double f = 0;
    for (int i = 0; i < LS_M; i++)
        f += ls_residual(i) * ls_residual(i);
    program_y[0][0] = 0.5 * f;
}

static void ls_adjoint(void)
{
    for (int i = 0; i < LS_M; i++) {
        double r = program_w[0][0] * ls_residual(i);
        P_G(2)[i] = -r;
        for (int j = 0; j < LS_N; j++) {
            P_G(0)[i * LS_N + j] = r * P_X(1)[j];
            P_G(1)[j] += r * P_X(0)[i * LS_N + j];
        }
    }
}

/* --- 2  convolution ------------------------------------------------------- */

enum { CV_H = 7, CV_W = 6, CV_K = 3 };

static bool cv_inside(int i, int j)
{
    return i >= 0 && i < CV_H && j >= 0 && j < CV_W;
}

static double cv_residual(int i, int j)
{
    double r = -P_X(2)[i * CV_W + j];
    for (int a = 0; a < CV_K; a++)
        for (int b = 0; b < CV_K; b++)
            if (cv_inside(i + a - 1, j + b - 1))
                r += P_X(0)[(i + a - 1) * CV_W + j + b - 1]
                   * P_X(1)[a * CV_K + b];
    return r;
}

static void cv_value(void)
{
    double f = 0;
    for (int i = 0; i < CV_H; i++)
        for (int j = 0; j < CV_W; j++)
            f += cv_residual(i, j) * cv_residual(i, j);
    program_y[0][0] = f;
}

static void cv_adjoint_at(int i, int j)
{
    double r = 2 * program_w[0][0] * cv_residual(i, j);
    P_G(2)[i * CV_W + j] = -r;
    for (int a = 0; a < CV_K; a++)
        for (int b = 0; b < CV_K; b++)
            if (cv_inside(i + a - 1, j + b - 1)) {
                int at = (i + a - 1) * CV_W + j + b - 1;
                P_G(0)[at] += r * P_X(1)[a * CV_K + b];
                P_G(1)[a * CV_K + b] += r * P_X(0)[at];
            }
}

static void cv_adjoint(void)
{
    for (int i = 0; i < CV_H; i++)
        for (int j = 0; j < CV_W; j++)
            cv_adjoint_at(i, j);
}

/* --- 3  Burgers ----------------------------------------------------------- */

enum { BU_N = 7 };

static void bu_value(void)
{
    const double *u = P_X(0);
    double a = P_X(1)[0], nu = P_X(2)[0];
    for (int i = 0; i < BU_N; i++)
        for (int j = 0; j < BU_N; j++) {
            int c = i * BU_N + j;
            program_y[0][c] = u[c];
            if (i > 0 && i < BU_N - 1 && j > 0 && j < BU_N - 1)
                program_y[0][c] += nu * (u[c - BU_N] + u[c + BU_N] + u[c - 1]
                                         + u[c + 1] - 4 * u[c])
                                 - a * u[c] * (u[c] - u[c - BU_N]);
        }
}

static void bu_adjoint_at(int c, double w)
{
    const double *u = P_X(0);
    double a = P_X(1)[0], nu = P_X(2)[0];
    double *g = P_G(0);
    P_G(2)[0] += w * (u[c - BU_N] + u[c + BU_N] + u[c - 1] + u[c + 1]
                      - 4 * u[c]);
    P_G(1)[0] -= w * u[c] * (u[c] - u[c - BU_N]);
    g[c - BU_N] += w * (nu + a * u[c]);
    g[c + BU_N] += w * nu;
    g[c - 1] += w * nu;
    g[c + 1] += w * nu;
    g[c] -= w * (4 * nu + a * (2 * u[c] - u[c - BU_N]));
}

static void bu_adjoint(void)
{
    for (int i = 0; i < BU_N; i++)
        for (int j = 0; j < BU_N; j++) {
            int c = i * BU_N + j;
            P_G(0)[c] += program_w[0][c];
            if (i > 0 && i < BU_N - 1 && j > 0 && j < BU_N - 1)
                bu_adjoint_at(c, program_w[0][c]);
        }
}

/* --- 4  sparse matrix times vector ---------------------------------------- */

enum { SP_E = 6, SP_N = 4 };

static const int sp_row[SP_E] = { 0, 0, 1, 3, 3, 3 };
static const int sp_column[SP_E] = { 0, 2, 1, 0, 1, 3 };

static void sp_value(void)
{
    for (int i = 0; i < SP_N; i++)
        program_y[0][i] = 0;
    for (int e = 0; e < SP_E; e++)
        program_y[0][sp_row[e]] += P_X(0)[e] * P_X(1)[sp_column[e]];
}

static void sp_adjoint(void)
{
    for (int e = 0; e < SP_E; e++) {
        double w = program_w[0][sp_row[e]];
        P_G(0)[e] = w * P_X(1)[sp_column[e]];
        P_G(1)[sp_column[e]] += w * P_X(0)[e];
    }
}

/* --- 5  attention --------------------------------------------------------- */

enum { AT_N = 4, AT_M = 5, AT_D = 3 };

// The row i of weights that add up to 1.
static void at_weights(int i, double p[AT_M])
{
    double most = -(double)INFINITY;
    double z = 0;
    for (int j = 0; j < AT_M; j++) {
        p[j] = 0;
        for (int k = 0; k < AT_D; k++)
            p[j] += P_X(3)[0] * P_X(0)[i * AT_D + k] * P_X(1)[j * AT_D + k];
        most = p[j] > most ? p[j] : most;
    }
    for (int j = 0; j < AT_M; j++)
        z += p[j] = exp(p[j] - most);
    for (int j = 0; j < AT_M; j++)
        p[j] /= z;
}

static void at_value(void)
{
    double p[AT_M];
    for (int i = 0; i < AT_N; i++) {
        at_weights(i, p);
        for (int k = 0; k < AT_D; k++) {
            double sum = 0;
            for (int j = 0; j < AT_M; j++)
                sum += p[j] * P_X(2)[j * AT_D + k];
            program_y[0][i * AT_D + k] = sum;
        }
    }
}

static void at_adjoint_row(int i)
{
    double p[AT_M], b[AT_M], mean = 0;
    at_weights(i, p);
    for (int j = 0; j < AT_M; j++) {
        b[j] = 0;
        for (int k = 0; k < AT_D; k++) {
            double w = program_w[0][i * AT_D + k];
            b[j] += w * P_X(2)[j * AT_D + k];
            P_G(2)[j * AT_D + k] += w * p[j];
        }
        mean += p[j] * b[j];
    }
    for (int j = 0; j < AT_M; j++)
        for (int k = 0; k < AT_D; k++) {
            double s = p[j] * (b[j] - mean);    // adjoint of the score
            double q = P_X(0)[i * AT_D + k], r = P_X(1)[j * AT_D + k];
            P_G(0)[i * AT_D + k] += s * P_X(3)[0] * r;
            P_G(1)[j * AT_D + k] += s * P_X(3)[0] * q;
            P_G(3)[0] += s * q * r;
        }
}

static void at_adjoint(void)
{
    for (int i = 0; i < AT_N; i++)
        at_adjoint_row(i);
}

/* --- 6  a graph ----------------------------------------------------------- */

enum { GR_E = 4, GR_N = 3, GR_D = 4 };

static const int gr_src[GR_E] = { 0, 1, 2, 2 };
static const int gr_dst[GR_E] = { 1, 2, 0, 1 };

static double gr_message(int i, int k)
{
    double m = 0;
    for (int l = 0; l < GR_D; l++)
        m += P_X(1)[k * GR_D + l] * P_X(0)[i * GR_D + l];
    return m;
}

static double gr_sum(int i, int k)
{
    double sum = 0;
    for (int e = 0; e < GR_E; e++)
        if (gr_dst[e] == i)
            sum += gr_message(gr_src[e], k);
    return sum;
}

static void gr_value(void)
{
    for (int i = 0; i < GR_N; i++)
        for (int k = 0; k < GR_D; k++)
            program_y[0][i * GR_D + k] = tanh(P_X(2)[i] * gr_sum(i, k));
}

static void gr_adjoint_message(int i, int k, double w)
{
    for (int l = 0; l < GR_D; l++) {
        P_G(1)[k * GR_D + l] += w * P_X(0)[i * GR_D + l];
        P_G(0)[i * GR_D + l] += w * P_X(1)[k * GR_D + l];
    }
}

static void gr_adjoint(void)
{
    for (int i = 0; i < GR_N; i++)
        for (int k = 0; k < GR_D; k++) {
            double g = tanh(P_X(2)[i] * gr_sum(i, k));
            double w = program_w[0][i * GR_D + k] * (1 - g * g);
            P_G(2)[i] += w * gr_sum(i, k);
            for (int e = 0; e < GR_E; e++)
                if (gr_dst[e] == i)
                    gr_adjoint_message(gr_src[e], k, w * P_X(2)[i]);
        }
}

/* --- 7  trace ------------------------------------------------------------- */

enum { TR_N = 9 };

static void tr_value(void)
{
    double f = 0;
    for (int i = 0; i < TR_N; i++)
        f += P_X(0)[i];
    program_y[0][0] = 2 * f;
    program_y[1][0] = P_X(0)[0] * P_X(0)[0];
}

static void tr_adjoint(void)
{
    for (int i = 0; i < TR_N; i++)
        P_G(0)[i] = 2 * program_w[0][0];
    P_G(0)[0] += 2 * program_w[1][0] * P_X(0)[0];
}

/* --- 8  factors of a sparse tensor ---------------------------------------- */

enum { CP_E = 60, CP_L = 5, CP_M = 6, CP_N = 7, CP_R = 3 };

static int cp_column[3][CP_E];

static double cp_residual(int e)
{
    double r = P_X(0)[e];
    for (int s = 0; s < CP_R; s++)
        r -= P_X(1)[cp_column[0][e] * CP_R + s]
           * P_X(2)[cp_column[1][e] * CP_R + s]
           * P_X(3)[cp_column[2][e] * CP_R + s];
    return r;
}

static void cp_value(void)
{
    double f = 0;
    for (int e = 0; e < CP_E; e++)
        f += cp_residual(e) * cp_residual(e);
    program_y[0][0] = f;
}

static void cp_adjoint(void)
{
    for (int e = 0; e < CP_E; e++) {
        double r = 2 * program_w[0][0] * cp_residual(e);
        P_G(0)[e] = r;
        for (int s = 0; s < CP_R; s++) {
            int i = cp_column[0][e] * CP_R + s;
            int j = cp_column[1][e] * CP_R + s;
            int k = cp_column[2][e] * CP_R + s;
            P_G(1)[i] -= r * P_X(2)[j] * P_X(3)[k];
            P_G(2)[j] -= r * P_X(1)[i] * P_X(3)[k];
            P_G(3)[k] -= r * P_X(1)[i] * P_X(2)[j];
        }
    }
}

/* --- the list ------------------------------------------------------------- */

static const program program_list[PROGRAMS] = {
    { "1 least squares",
      "in A[m,n], x[n], b[m];\n"
      "r[i] = sum(j) A[i,j]*x[j] - b[i];\n"
      "out f = 0.5*sum(i) r[i]^2;",
      .size = { { "m", LS_M }, { "n", LS_N } },
      .in = { LS_M * LS_N, LS_N, LS_M }, .out = { 1 },
      .value = ls_value, .adjoint = ls_adjoint },
    { "2 convolution",
      "in x[h,w], k[p,q], z[h,w];\n"
      "y[i<h,j<w] = sum(a,b) [0 <= i+a-1 < h, 0 <= j+b-1 < w]"
      " x[i+a-1,j+b-1]*k[a,b];\n"
      "out f = sum(i,j) (y[i,j] - z[i,j])^2;",
      .size = { { "h", CV_H }, { "w", CV_W }, { "p", CV_K }, { "q", CV_K } },
      .in = { CV_H * CV_W, CV_K * CV_K, CV_H * CV_W }, .out = { 1 },
      .value = cv_value, .adjoint = cv_adjoint },
    { "3 Burgers",
      "in u[n,n], a, nu;\n"
      "out w[i,j] = u[i,j] + [0 < i < n-1, 0 < j < n-1]\n"
      "    (nu*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1] - 4*u[i,j])\n"
      "     - a*u[i,j]*(u[i,j] - u[i-1,j]));",
      .size = { { "n", BU_N } }, .in = { BU_N * BU_N, 1, 1 },
      .out = { BU_N * BU_N }, .value = bu_value, .adjoint = bu_adjoint },
    { "4 sparse",
      "rel R[m,n];\n"
      "in A[R], x[n];\n"
      "out y[i] = sum(j) A[i,j]*x[j];",
      .size = { { "m", SP_N }, { "n", SP_N } },
      .relation = "R", .entries = SP_E, .column = { sp_row, sp_column },
      .in = { SP_E, SP_N }, .out = { SP_N },
      .value = sp_value, .adjoint = sp_adjoint },
    { "5 attention",
      "in Q[n,d], K[m,d], V[m,d], c;\n"
      "s[i,j] = c*sum(k) Q[i,k]*K[j,k];\n"
      "t[i] = detach(maximum(j) s[i,j]);\n"
      "p[i,j] = exp(s[i,j] - t[i]);\n"
      "z[i] = sum(j) p[i,j];\n"
      "out O[i,k] = (sum(j) p[i,j]*V[j,k])/z[i];",
      .size = { { "n", AT_N }, { "m", AT_M }, { "d", AT_D } },
      .in = { AT_N * AT_D, AT_M * AT_D, AT_M * AT_D, 1 },
      .out = { AT_N * AT_D }, .value = at_value, .adjoint = at_adjoint },
    { "6 graph",
      "map src[e]->n, dst[e]->n;\n"
      "in h[n,d], W[d,d], q[n];\n"
      "m[i,k] = sum(l) W[k,l]*h[i,l];\n"
      "out g[i<n,k] = tanh(q[i]*sum(a: dst[a]==i) m[src[a],k]);",
      .size = { { "e", GR_E }, { "n", GR_N }, { "d", GR_D } },
      .map = { { "src", gr_src }, { "dst", gr_dst } },
      .in = { GR_N * GR_D, GR_D * GR_D, GR_N }, .out = { GR_N * GR_D },
      .value = gr_value, .adjoint = gr_adjoint },
    { "7 trace",
      "in x[n];\n"
      "A[i<n,j<n] = [i==j] x[i];\n"
      "out f = sum(i) A[i,i] + sum(i) A[i,i];\n"
      "out g = sum(i) A[i,0]*A[0,i];",
      .size = { { "n", TR_N } }, .in = { TR_N }, .out = { 1, 1 },
      .value = tr_value, .adjoint = tr_adjoint },
    { "8 factors",
      "rel T[l,m,n];\n"
      "in X[T], A[l,r], B[m,r], C[n,r];\n"
      "out f = sum(i,j,k: T(i,j,k))"
      " (X[i,j,k] - sum(s) A[i,s]*B[j,s]*C[k,s])^2;",
      .size = { { "l", CP_L }, { "m", CP_M }, { "n", CP_N }, { "r", CP_R } },
      .relation = "T", .entries = CP_E,
      .column = { cp_column[0], cp_column[1], cp_column[2] },
      .in = { CP_E, CP_L * CP_R, CP_M * CP_R, CP_N * CP_R }, .out = { 1 },
      .value = cp_value, .adjoint = cp_adjoint },
};

static const program *program_at(int i)
{
    return &program_list[i];
}

static void program_compute(const program *p)
{
    for (int e = 0; e < CP_E; e++) {        // no two entries are the same
        cp_column[0][e] = e % CP_L;
        cp_column[1][e] = e / CP_L % CP_M;
        cp_column[2][e] = (2 * e + e / CP_L) % CP_N;
    }
    for (int i = 0; i < PROGRAM_ARRAYS; i++)
        for (int k = 0; k < PROGRAM_NUMBERS; k++) {
            program_x[i][k] = ((7 * k + 5 * i + k * k) % 17 - 8) / 8.0;
            program_w[i][k] = ((3 * k + i) % 5 - 1) / 4.0;
        }
    memset(program_g, 0, sizeof program_g);
    p->value();
    p->adjoint();
}

#undef P_X
#undef P_G

#endif
