// SPDX-License-Identifier: MIT-0
/* statements.c - prints a function of COUNT random statements, to be compiled.
 *
 *     statements adrev|plain|infix COUNT > file
 *
 * Statements of about seven operations and five operands, as in equations of
 * motion: x[i] = ad_rec(...), the same of doubles, or x[i] = ... for a number
 * type T of C++ that the file which includes it defines.                     */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES = 40, DEPTH = 4 };

static uint64_t state = 88172645463325252u;

static unsigned below(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % n;
}

// Whether it has a variable.
static bool print_leaf(FILE *to)
{
    bool variable = below(5) > 0;
    if (variable)
        fprintf(to, "x[%u]", below(VARIABLES));
    else
        fprintf(to, "0.%02u", 2 + below(98));
    return variable;
}

static bool print_expression(FILE *to, int depth, bool infix)
{
    static const char *const two[] = { "add", "sub", "mul", "div" };
    static const char *const one[] = { "sin", "exp", "sqr" };

    if (depth == 0 || below(100) < 18)
        return print_leaf(to);
    if (below(3) == 0) {
        fprintf(to, "%s%s(", infix ? "" : "ad_", one[below(3)]);
        bool variable = print_expression(to, depth - 1, infix);
        fputc(')', to);
        return variable;
    }
    unsigned k = below(4);
    if (infix)
        fputc('(', to);
    else
        fprintf(to, "ad_%s(", two[k]);
    bool left = print_expression(to, depth - 1, infix);
    fprintf(to, infix ? " %c " : ", ", "+-*/"[k]);
    bool right = print_expression(to, depth - 1, infix);
    fputc(')', to);
    return left || right;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    bool adrev = strcmp(argv[1], "adrev") == 0;
    bool plain = strcmp(argv[1], "plain") == 0;
    const char *number = adrev ? "ad_rev" : plain ? "double" : "T";
    char text[4096];

    if (adrev)
        puts("#include \"adrev.h\"");
    if (plain)
        puts("#include <math.h>\n"
             "static inline double sqr(double x) { return x * x; }");
    printf("void statements(%s *x);\nvoid statements(%s *x)\n{\n", number, number);
    for (int i = 0; i < atoi(argv[2]);) {
        FILE *to = tmpfile();
        if (to == NULL)
            return 1;
        bool variable = print_expression(to, DEPTH, !adrev);
        rewind(to);
        size_t length = fread(text, 1, sizeof text - 1, to);
        fclose(to);
        text[length] = '\0';
        if (!variable)
            continue;
        printf(adrev ? "    x[%u] = ad_rec(%s);\n" : "    x[%u] = %s;\n",
               below(VARIABLES), text);
        i++;
    }
    puts("}");
    return 0;
}
