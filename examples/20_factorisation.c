/* 20  Three factors of a sparse tensor: X[i,j,k] = sum(s) A[i,s] B[j,s] C[k,s].
 *
 * The file has the form of those of FROSTT, frostt.io: each line has the
 * indices of an entry, counted from 1, and its value. Six entries of seven are
 * fitted; the seventh tests the fit. Only entries cost something: neither X nor
 * the product of the factors is ever computed as a whole.
 *
 * Shows    a relation, numbers on its entries; a relation that is given again;
 *          the mistakes that ad_tensor_bind finds in data
 * Needs    17
 * Usage    20_factorisation tensor.txt; with `make`, it prints such a file
 * Prints   20 by 15 by 10, of rank 3: 135 unknowns
 *          1715 entries fitted, off by 0.0285
 *           285 others, off by 0.0307
 *          215 gradients, L-BFGS
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "formulas.h"
#include "minimise.h"
#include "noise.h"

#include <errno.h>

enum { RANK = 3, MOST = 10000, LARGEST = 1000 };

static const char text[] =
    "rel T[l,m,n];\n"
    "in X[T], A[l,r], B[m,r], C[n,r];\n"
    "out f = sum(i,j,k: T(i,j,k))\n"
    "            (X[i,j,k] - sum(s) A[i,s]*B[j,s]*C[k,s])^2;\n";

typedef struct entries {
    int n;
    int index[3][MOST];
    double value[MOST];
} entries;

/* --- files ---------------------------------------------------------------- */

// 2000 of 3000 entries, with noise of 0.03.
static void make(void)
{
    uint32_t random = 20;
    for (int e = 0; e < 2000; e++) {
        int at = e * 1009 % 3000, i = at % 20, j = at / 20 % 15, k = at / 300;
        double x = 0.03 * 1.7320508 * noise(&random);
        for (int s = 1; s <= RANK; s++)
            x += cos(0.3 * s * i) * sin(0.4 * s * j + s) * exp(-0.1 * s * k);
        printf("%d %d %d %.4f\n", i + 1, j + 1, k + 1, x);
    }
}

// An entry; false: the line is something else.
static bool read_entry(const char *line, int index[3], double *value)
{
    char *end;
    for (int d = 0; d < 3; d++) {
        long i = strtol(line, &end, 10);
        if (end == line || i < 1 || i > LARGEST)
            return false;
        index[d] = (int)i - 1;
        line = end;
    }
    *value = strtod(line, &end);
    return end > line && isfinite(*value)
        && end[strspn(end, " \t\r\n")] == '\0';
}

static void read_tensor(const char *path, entries part[2], int size[3])
{
    FILE *file = fopen(path, "r");
    char line[200];
    if (file == NULL)
        fail(3, "cannot read %s: %s", path, strerror(errno));
    for (int row = 1; fgets(line, sizeof line, file) != NULL; row++) {
        entries *to = &part[row % 7 == 0];
        int index[3];
        if (to->n == MOST || !read_entry(line, index, &to->value[to->n]))
            fail(3, "%s:%d: no entry", path, row);
        for (int d = 0; d < 3; d++) {
            to->index[d][to->n] = index[d];
            size[d] = index[d] < size[d] ? size[d] : index[d] + 1;
        }
        to->n++;
    }
    bool good = feof(file) && part[1].n > 0;
    fclose(file);
    if (!good)
        fail(3, "%s: fewer than 7 entries", path);
}

/* --- the fit -------------------------------------------------------------- */

typedef struct fit { ad_tensor *t; const entries *of; int size[3]; } fit;

static ad_status misfit(void *ctx, size_t n, const double x[], double *f,
                        double g[])
{
    const fit *k = ctx;
    int b = k->size[0] * RANK, c = b + k->size[1] * RANK;
    const double *in[] = { k->of->value, x, x + b, x + c };
    double *by[] = { NULL, g, g + b, g + c };
    (void)n;
    return ad_tensor_gradient(k->t, in, f, by);
}

static void take(fit *k, const entries *of)
{
    const int *column[] = { of->index[0], of->index[1], of->index[2] };
    must(ad_tensor_relation(k->t, "T", (size_t)of->n, column));
    bind_formulas(k->t);
    k->of = of;
}

int main(int argc, char **argv)
{
    static entries part[2];
    double x[MINIMISE_MOST], g[MINIMISE_MOST], f = 0;
    uint32_t random = 1;
    if (argc == 2 && strcmp(argv[1], "make") == 0)
        return make(), 0;
    if (argc != 2)
        fail(2, "usage: 20_factorisation tensor.txt, or: make");
    fit k = { .t = formulas(text) };
    read_tensor(argv[1], part, k.size);
    int n = RANK * (k.size[0] + k.size[1] + k.size[2]);
    if (n > MINIMISE_MOST)
        fail(3, "%s: the indices are too large", argv[1]);
    for (int i = 0; i < n; i++)
        x[i] = noise(&random);

    must(ad_tensor_size(k.t, "l", (size_t)k.size[0]));
    must(ad_tensor_size(k.t, "m", (size_t)k.size[1]));
    must(ad_tensor_size(k.t, "n", (size_t)k.size[2]));
    must(ad_tensor_size(k.t, "r", RANK));
    take(&k, &part[0]);
    minimum found = minimise_by(misfit, &k, (size_t)n, x);
    must(found.status);
    printf("%d by %d by %d, of rank %d: %d unknowns\n", k.size[0], k.size[1],
           k.size[2], RANK, n);
    printf("%4d entries fitted, off by %.4f\n", part[0].n,
           sqrt(found.f / part[0].n));
    take(&k, &part[1]);
    must(misfit(&k, (size_t)n, x, &f, g));
    printf("%4d others, off by %.4f\n", part[1].n, sqrt(f / part[1].n));
    printf("%d gradients, %s\n", found.gradients, found.method);
    ad_tensor_free(k.t);
    return 0;
}
