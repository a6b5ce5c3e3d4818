// SPDX-License-Identifier: MIT-0
// tags:
/* lapack_names.c - adrev_lapack.h with a LAPACK whose integers have 64 bits and
 * whose routines have other names and a header of their own: here one of a few
 * lines, for solving. Numbers are known.                                     */

#include "implementation.h"
#include "adrev.h"

#define ADREV_LAPACK_INT int64_t
#define ADREV_LAPACK_NAME(name) plain_##name
#define ADREV_LAPACK_DECLARED

/* --- that LAPACK ---------------------------------------------------------- */

typedef const int64_t *wide;

void plain_dsyr2k(const char *, const char *, wide, wide, const double *,
                  const double *, wide, const double *, wide, const double *,
                  double *, wide, size_t, size_t);
void plain_dtrsm(const char *, const char *, const char *, const char *, wide,
                 wide, const double *, const double *, wide, double *, wide,
                 size_t, size_t, size_t, size_t);
void plain_dtrmm(const char *, const char *, const char *, const char *, wide,
                 wide, const double *, const double *, wide, double *, wide,
                 size_t, size_t, size_t, size_t);
void plain_dpotrf(const char *, wide, double *, wide, int64_t *, size_t);
void plain_dpotri(const char *, wide, double *, wide, int64_t *, size_t);
void plain_dgeqrf(wide, wide, double *, wide, double *, double *, wide,
                  int64_t *);
void plain_dormqr(const char *, const char *, wide, wide, wide, const double *,
                  wide, const double *, double *, wide, double *, wide,
                  int64_t *, size_t, size_t);
void plain_dsyevd(const char *, const char *, wide, double *, wide, double *,
                  double *, wide, int64_t *, wide, int64_t *, size_t, size_t);

static int factored, solved, multiplied;

// P A = L U of a matrix of two rows, which are exchanged if that is needed.
static void plain_dgetrf(wide m, wide n, double *A, wide ld, int64_t *pivot,
                         int64_t *info)
{
    factored += *m == 2 && *n == 2 && *ld == 2;
    pivot[0] = fabs(A[1]) > fabs(A[0]) ? 2 : 1;
    pivot[1] = 2;
    for (int j = 0; j < 4 && pivot[0] == 2; j += 2) {
        const double upper = A[j];
        A[j] = A[j + 1];
        A[j + 1] = upper;
    }
    A[1] /= A[0];
    A[3] -= A[1] * A[2];
    *info = A[3] == 0 ? 2 : 0;
}

static void plain_dgetrs(const char *t, wide n, wide k, const double *A, wide ld,
                         wide pivot, double *B, wide ldb, int64_t *info,
                         size_t length)
{
    (void)ld;
    (void)length;
    solved += *n == 2;
    for (int64_t i = 0; i < *k; i++) {
        double *b = B + i * *ldb;
        const double first = b[pivot[0] - 1], second = b[2 - pivot[0]];
        if (*t == 'N') {
            b[0] = first;
            b[1] = (second - A[1] * first) / A[3];
            b[0] = (b[0] - A[2] * b[1]) / A[0];
        } else {
            const double u = b[0] / A[0], v = (b[1] - A[2] * u) / A[3];
            b[pivot[0] - 1] = u - A[1] * v;
            b[2 - pivot[0]] = v;
        }
    }
    *info = 0;
}

static void plain_dgemm(const char *ta, const char *tb, wide m, wide n, wide k,
                        const double *a, const double *A, wide lda,
                        const double *B, wide ldb, const double *b, double *C,
                        wide ldc, size_t first, size_t second)
{
    (void)first;
    (void)second;
    multiplied++;
    for (int64_t i = 0; i < *m; i++)
        for (int64_t j = 0; j < *n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < *k; l++)
                sum += A[*ta == 'N' ? i + l * *lda : l + i * *lda]
                     * B[*tb == 'N' ? l + j * *ldb : j + l * *ldb];
            C[i + j * *ldc] = *b * C[i + j * *ldc] + *a * sum;
        }
}

#include <adrev_lapack.h>

#include "check.h"

/* --- the same numbers ----------------------------------------------------- */

int main(void)
{
    const double a[] = { 2, 3, 4, 1 }, b[] = { 2, 1 };
    const double want[] = { 0.01, 0.06, -0.03, -0.18 };
    double g[4], gb[2];
    ad_rev A[4], B[2], x[2];
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_inputs(4, a, A);
    ad_inputs(2, b, B);
    CHECK(sizeof(adx_lapack_int) == 8, "64 bits");
    CHECK(ad_lapack_solve(2, 1, A, B, x) == ADREV_OK
          && ad_gradient(t, x[0], 4, A, g) == ADREV_OK
          && ad_gradient(t, x[0], 2, B, gb) == ADREV_OK, "solves");
    CHECK_CLOSE(ad_value(x[0]), 0.1L, 4);
    CHECK_CLOSE(ad_value(x[1]), 0.6L, 4);
    for (int i = 0; i < 4; i++)
        CHECK_NEAR(g[i], want[i], 1e-15L);
    CHECK_NEAR(gb[0], -0.1L, 1e-15L);       // rows of the inverse
    CHECK_NEAR(gb[1], 0.3L, 1e-15L);
    CHECK(factored == 1 && solved == 3 && multiplied > 0,
          "by that LAPACK: %d, %d, %d", factored, solved, multiplied);
    ad_tape_free(t);
    return check_done("lapack_names");
}
