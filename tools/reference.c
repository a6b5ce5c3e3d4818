/* The reference of the operations, as Markdown: made from the rows of
 * ADREV_OPS, ADREV_STEPS, ADREV_EDGES and ADREV_EDGES_SECOND by `make docs`.
 *
 * SPDX-License-Identifier: MIT-0
 */
#define ADREV_IMPLEMENTATION
#include "adrev.h"

#include <stdio.h>
#include <stdlib.h>

// A cell: | would end it.
static void cell(const char *text)
{
    printf(" `");
    for (; *text != '\0'; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
    printf("` |");
}

static void operations(void)
{
    const ad_op_info *ops = ad_op_table();

    printf("| operation | value | d/dx | d/dy | d/dz |\n");
    printf("|---|---|---|---|---|\n");
    for (int i = 0; i < ADREV_OP_floor; i++) {
        printf("| `ad_%s` |", ops[i].name);
        cell(ops[i].value);
        for (int k = 0; k < 3; k++)
            if (k < ops[i].arity)
                cell(ops[i].partial[k]);
            else
                printf(" |");
        printf("\n");
    }
}

// Arguments that are whole numbers and constants.
static void whole(void)
{
    const char *between = "";
#define WHOLE(name, n, f, fx, fy, fz, x0, x1, y0, y1, z0, z1, how)          \
    if (((how) & (ADX_WHOLE_X | ADX_WHOLE_Y)) != 0) {                       \
        printf("%s`%s` of `ad_%s`", between,                                \
               ((how) & ADX_WHOLE_X) != 0 ? "x" : "y", #name);              \
        between = ", ";                                                     \
    }
    ADREV_OPS(WHOLE)
#undef WHOLE
    printf(".\n");
}

static void steps(void)
{
    const ad_op_info *ops = ad_op_table();

    for (int i = ADREV_OP_floor; i < ADREV_OP_lt; i++)
        printf("`ad_%s`%s", ops[i].name, i + 1 == ADREV_OP_lt ? "\n"
               : i == ADREV_OP_rint ? ",\n" : ", ");
}

// The shortest text that reads back as x.
static const char *number(double x, char text[40])
{
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, 40, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            return text;
    }
    return x != x ? "nan" : text;
}

// Of `partials` only those that a row of this arity has.
static void edge(const char *name, int arity, const double x[3], int partials,
                 const double want[3], double ulps, const char *because)
{
    char text[40];

    printf("| `ad_%s(", name);
    for (int k = 0; k < arity; k++)
        printf("%s%s", k > 0 ? ", " : "", number(x[k], text));
    printf(")` |");
    for (int k = 0; k < 3; k++)
        printf(" %s%s", k < partials ? number(want[k], text) : "",
               k < partials ? " |" : "|");
    printf(" %g | %s |\n", ulps, because);
}

int main(void)
{
    printf("# Operations\n\n"
           "Made by `make docs` from the tables in src/core/operations.h. "
           "`adm_sin` is `sin`\nof `<math.h>` at `ad_real`; `v` is the value "
           "just computed; the `adx_` helpers\nstand above the table.\n\n");
    operations();
    printf("\nStep functions, derivative 0 everywhere:\n");
    steps();
    printf("\nComparisons, of values: `ad_lt`, `ad_le`, `ad_gt`, `ad_ge`, "
           "`ad_eq`, `ad_ne`.\n\n"
           "Of `<math.h>` these are left out: `scalbn` and `scalbln`, which "
           "are `ad_ldexp`;\nwhat gives integers (`logb`, `ilogb`, `lrint`, "
           "`lround` ...), to be taken of\n`ad_value`; and `remquo`, "
           "`nextafter`, `nexttoward`.\n\n"
           "Made of rows: `ad_j0(x)`, `ad_j1`, `ad_y0` and `ad_y1` are "
           "`ad_jn(0, x)` and so on;\n`ad_modf(x, &whole)` is `ad_frac` and "
           "`ad_frexp(x, &k)` is `ad_ldexp`, with the\nother part through a "
           "pointer; `ad_sincos(x, &s, &c)` records both.\n\n"
           "Exponents and orders, which are ints:\n");
    whole();
    printf("\n`ad_gamma_p` and `ad_gamma_q` have derivatives with respect to the "
           "shape `x` up to\nthe order 8, from there on NaN; mixed ones, and "
           "those with respect to `y`, follow\nfrom these. `ad_beta_p` and "
           "`ad_beta_q` have them up to the second, third ones\nwith respect "
           "to `z` and one shape, and any with respect to `z`; others are NaN.\n"
           "These four take microseconds where the others take nanoseconds.\n\n"
           "## Kinks, ties, limits and extreme arguments\n\n"
           "Tested as they stand by tests/core/edges.c, in double precision; "
           "0 ulps: the\nvery same number.\n\n"
           "| at | d/dx | d/dy | d/dz | ulps | because |\n"
           "|---|---|---|---|---|---|\n");
#define EDGE(op, x, y, z, dx, dy, dz, ulps, because)                        \
    edge(#op, ad_op_table()[ADREV_OP_##op].arity,                           \
         (const double[]){ x, y, z }, ad_op_table()[ADREV_OP_##op].arity,   \
         (const double[]){ dx, dy, dz }, ulps, because);
    ADREV_EDGES(EDGE)
#undef EDGE
    printf("\nSecond partials, as recorded functions have them "
           "(adrev_function.h), tested by\ntests/core/second_partials.c.\n\n"
           "| at | d2/dx2 | d2/dxdy | d2/dy2 | ulps | because |\n"
           "|---|---|---|---|---|---|\n");
#define EDGE(op, x, y, dxx, dxy, dyy, ulps, because)                        \
    edge(#op, ad_op_table()[ADREV_OP_##op].arity,                           \
         (const double[]){ x, y, 0 },                                       \
         ad_op_table()[ADREV_OP_##op].arity == 1 ? 1 : 3,                   \
         (const double[]){ dxx, dxy, dyy }, ulps, because);
    ADREV_EDGES_SECOND(EDGE)
#undef EDGE
    return 0;
}
