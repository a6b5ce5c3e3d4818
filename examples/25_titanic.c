/* 25  Who survived the Titanic: logistic regression on several ranks, none of
 *     which reads the whole file.
 *
 *     mpirun -n 4 25_titanic examples/titanic.txt
 *
 * The file is cut into 64 parts of equally many bytes; a line belongs to the
 * part in which it begins. Each rank reads the parts that ad_mpi_range gives
 * it. The sum of all parts and its gradient have the same bits on any number of
 * ranks. (R's glm finds 0.6853, -1.0181, -1.7778, -0.8577, 2.4201 and -1.0615.)
 *
 * Shows    ad_mpi_grad on data that are read in parts; a failure of one rank
 * Needs    02, 10; MPI
 * Prints   711 of 2201 survived; odds of a boy of the first class, and factors:
 *            boy, 1st class    0.6853    1.98
 *            2nd class        -1.0181    0.36
 *            3rd class        -1.7778    0.17
 *            crew             -0.8577    0.42
 *            female            2.4201   11.25
 *            adult            -1.0615    0.35
 *            deviance          2210.06
 *          L-BFGS: 35 gradients
 *
 * Exits with 0, or 2 usage, 3 data, 4 numerical failure.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev_mpi.h"
#include "minimise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USAGE = 2, DATA = 3, NUMERICS = 4 };

enum { PARTS = 64, COEFFICIENTS = 6, LINE = 100 };

typedef struct person {
    bool has[COEFFICIENTS];     // what it is, of the names below
    bool survived;
} person;

static const char *const name[COEFFICIENTS] = {
    "boy, 1st class", "2nd class", "3rd class", "crew", "female", "adult"
};

// What a rank has read: the people of its parts.
typedef struct share {
    size_t first[PARTS + 1];    // of each part, in `people`
    person *people;
    size_t n;
} share;

/* --- the file ------------------------------------------------------------- */

// Whether the line is that of a person, or nothing; *p is written in any case.
static bool parse_line(char *line, person *p, bool *nobody)
{
    char class, sex, age, more;
    int survived;
    line[strcspn(line, "#\n")] = '\0';
    *nobody = line[strspn(line, " \t\r")] == '\0';
    if (*nobody)
        return true;
    if (sscanf(line, " %c %c %c %d %c", &class, &sex, &age, &survived, &more)
        != 4)
        return false;
    *p = (person){ { true, class == '2', class == '3', class == 'c',
                     sex == 'f', age == 'a' }, survived == 1 };
    return strchr("123c", class) != NULL && strchr("mf", sex) != NULL
        && strchr("ac", age) != NULL && (survived == 0 || survived == 1);
}

// Appends the people whose lines begin before byte `end`. The file stands at
// the beginning of a line.
static bool read_part(FILE *file, long end, share *s, size_t *room)
{
    char line[LINE];
    while (ftell(file) < end && fgets(line, sizeof line, file) != NULL) {
        bool nobody;
        if (s->n == *room) {
            *room = 2 * *room + 64;
            person *more = realloc(s->people, *room * sizeof *more);
            if (more == NULL)
                return false;
            s->people = more;
        }
        if (strlen(line) + 1 == sizeof line
            || !parse_line(line, &s->people[s->n], &nobody))
            return false;
        s->n += !nobody;
    }
    return !ferror(file);
}

// Reads the parts from `begin` to `end` - 1. False: that is not possible.
static bool read_share(const char *path, size_t begin, size_t end, share *s)
{
    FILE *file = fopen(path, "rb");
    size_t room = 0;
    bool good = file != NULL && fseek(file, 0, SEEK_END) == 0;
    const long bytes = good ? ftell(file) : 0;
    const long from = (long)begin * bytes / PARTS;
    good = good && bytes > 0
        && fseek(file, from > 0 ? from - 1 : 0, SEEK_SET) == 0;
    for (int c = 0; good && from > 0 && c != '\n' && c != EOF;)
        c = fgetc(file);        // the line that began before
    for (size_t p = begin; good && p < end; p++) {
        s->first[p] = s->n;
        good = read_part(file, (long)(p + 1) * bytes / PARTS, s, &room);
        s->first[p + 1] = s->n;
    }
    if (file != NULL)
        fclose(file);
    return good;
}

/* --- the fit -------------------------------------------------------------- */

// Minus the logarithm of how likely it is what happened to people of a part.
static ad_rev surprise(size_t part, const ad_rev *b, void *ctx)
{
    const share *s = ctx;
    ad_rev sum = {0};
    for (size_t i = s->first[part]; i < s->first[part + 1]; i++) {
        const person *p = &s->people[i];
        ad_rev z = b[0];
        for (int k = 1; k < COEFFICIENTS; k++)
            if (p->has[k])
                z = ad_rec(ad_add(z, b[k]));
        ad_acc(&sum, p->survived ? ad_softplus(ad_neg(z)) : ad_softplus(z));
    }
    return sum;
}

typedef struct fit {
    ad_mpi *ranks;
    share *s;
} fit;

// All ranks get the same numbers, so all take the same steps.
static ad_status deviance(void *ctx, size_t n, const double b[], double *y,
                          double g[])
{
    const fit *f = ctx;
    return ad_mpi_grad(f->ranks, PARTS, surprise, f->s, n, b, y, g);
}

/* --- ranks ---------------------------------------------------------------- */

// Ends all ranks; one of them says why.
static void end(ad_mpi *ranks, share *s, int code, const char *why)
{
    if (code != 0 && ad_mpi_rank(ranks) == 0)
        fprintf(stderr, "25_titanic: %s\n", why);
    free(s->people);
    ad_mpi_free(ranks);
    MPI_Finalize();
    exit(code);
}

static void report(const minimum *found, const double b[], const long count[])
{
    printf("%ld of %ld survived; odds of a boy of the first class, and "
           "factors:\n", count[0], count[1]);
    for (int k = 0; k < COEFFICIENTS; k++)
        printf("  %-16s %7.4f %7.2f\n", name[k], b[k], exp(b[k]));
    printf("  deviance          %.2f\n", 2 * found->f);
    printf("%s: %d gradients\n", found->method, found->gradients);
}

int main(int argc, char *argv[])
{
    double b[COEFFICIENTS] = {0};
    share s = { .n = 0 };
    size_t begin, last;
    MPI_Init(&argc, &argv);
    ad_mpi *ranks = ad_mpi_new(MPI_COMM_WORLD);
    if (argc != 2)
        end(ranks, &s, USAGE, "usage: 25_titanic examples/titanic.txt");
    ad_mpi_range(ranks, PARTS, &begin, &last);
    bool good = read_share(argv[1], begin, last, &s);
    if (ad_mpi_agree(ranks, good ? ADREV_OK : ADREV_EEXTERNAL) != ADREV_OK)
        end(ranks, &s, DATA, "the file cannot be read, or has a bad line");

    long count[2] = { 0, (long)s.n };
    for (size_t i = 0; i < s.n; i++)
        count[0] += s.people[i].survived;
    MPI_Allreduce(MPI_IN_PLACE, count, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    fit f = { ranks, &s };
    minimum found = minimise_by(deviance, &f, COEFFICIENTS, b);
    if (!found.good)
        end(ranks, &s, NUMERICS, "no convergence");
    if (ad_mpi_rank(ranks) == 0)
        report(&found, b, count);
    end(ranks, &s, 0, "");
}
