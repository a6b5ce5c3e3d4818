// SPDX-License-Identifier: MIT-0
// tags: part
/* compare.c - the results of two boards:         compare ULPS ONE TWO
 *
 * Files whose first line has numbers as hexadecimal words. Fails if there are
 * not as many in both, or if two differ by more than ULPS units in the last
 * place of the largest.                                                     */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DOUBLE
typedef double number;
#define EPSILON 0x1p-52
enum { WORDS = 2 };
#else
typedef float number;
#define EPSILON 0x1p-23
enum { WORDS = 1 };
#endif

enum { MOST = 64 };

static size_t read_numbers(const char *name, number x[MOST])
{
    char line[2000] = "";
    size_t n = 0;
    FILE *file = fopen(name, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    if (file != NULL)
        (void)fclose(file);
    for (char *at = line; n < MOST; n++) {
        unsigned long long bits = 0;
        for (int i = 0; i < WORDS; i++) {
            char *end = at;
            bits = bits << 32 | strtoul(at, &end, 16);
            if (end == at)
                return n;
            at = end;
        }
        if (WORDS == 1) {
            const unsigned int word = (unsigned int)bits;
            memcpy(&x[n], &word, sizeof x[n]);
        } else {
            memcpy(&x[n], &bits, sizeof x[n]);
        }
    }
    return n;
}

int main(int argc, char **argv)
{
    number x[MOST], y[MOST];
    if (argc != 4)
        return EXIT_FAILURE;
    const double ulps = strtod(argv[1], NULL);
    const size_t n = read_numbers(argv[2], x), m = read_numbers(argv[3], y);
    double most = 0;
    if (n == 0 || n != m) {
        printf("%zu and %zu numbers\n", n, m);
        return EXIT_FAILURE;
    }
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)x[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= ulps * EPSILON * most)
            || (ulps == 0 && memcmp(&x[i], &y[i], sizeof x[i]) != 0)) {
            printf("number %zu is %.17g and %.17g\n", i, (double)x[i],
                   (double)y[i]);
            return EXIT_FAILURE;
        }
    return EXIT_SUCCESS;
}
