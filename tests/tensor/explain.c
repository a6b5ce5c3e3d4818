// SPDX-License-Identifier: MIT-0
// tags: formulas
/* explain.c - what ad_tensor_explain says: A1 in full, shared and as written;
 * every kind of set, names that are not in the text; products of matrices,
 * parts, strides; operations that are those of ad_tensor_count, of all programs
 * and parts; texts that are not bound; every failing allocation.
 *
 * What is wanted is written by hand, after docs/tensor-walk.md.              */

#define ADREV_IMPLEMENTATION
#include "adrev_tensor.h"
#include "check.h"
#include "programs.h"
#include "tensor_bind.h"

#include <stdlib.h>

enum { RANDOM = 400 };

/* --- texts that are written ----------------------------------------------- */

typedef struct page { char text[1 << 20]; size_t n; } page;

static void put(const char *text, size_t n, void *user)
{
    page *p = user;
    if (n >= sizeof p->text - p->n)
        n = sizeof p->text - p->n - 1;
    memcpy(p->text + p->n, text, n);
    p->n += n;
    p->text[p->n] = '\0';
}

static page written;

static const char *explained(ad_tensor *t, ad_tensor_part part, ad_status want)
{
    written.n = 0;
    written.text[0] = '\0';
    ad_status s = ad_tensor_explain(t, part, put, &written);
    CHECK(s == want, "%s", ad_message(s));
    CHECK(s == ADREV_OK || written.n == 0, "it failed, and wrote\n%s",
          written.text);
    return written.text;
}

static ad_tensor *made_with(const char *text, const ad_tensor_options *options)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 0 };
    CHECK(ad_tensor_new(&t, text, options, &e) == ADREV_OK, "%s", e.text);
    return t;
}

static void give(ad_status s) { CHECK(s == ADREV_OK, "%s", ad_message(s)); }

static void bind(ad_tensor *t)
{
    ad_tensor_error e = { 0 };
    CHECK(ad_tensor_bind(t, &e) == ADREV_OK, "%s", e.text);
}

/* --- A1 in full ----------------------------------------------------------- */

#define A1                                                                  \
    "in x[n];\n"                                                            \
    "A[i<n, j<n] = [i-j == 0] x[i];\n"                                      \
    "out f = sum(i<n) A[i,i] + sum(i<n) A[i,i];\n"
#define A1_PARTS                                                             \
    "    #1, #2 ... are parts of formulas, without a name in the text\n"
#define A1_TANGENT                                                          \
    "    x' is the tangent of x; those of the inputs are given\n"
#define A1_ADJOINT                                                          \
    "    x~ is the adjoint of x; w(y), the weight of a result y, is given\n"
#define A1_WEIGHT                                                           \
    "  1  f~ = w(f)\n"                                                      \
    "      writes 1 number\n"                                               \
    "      1 point\n"                                                       \
    "      0 additions, 0 multiplications, 0 functions\n"
#define A1_TOGETHER(cost)                                                   \
    "\n"                                                                    \
    "Together: " cost ", 0 functions;\n"                                    \
    "    4 numbers of inputs and results; %zu bytes for the steps\n"

static const char *const a1_heads[] = {
    "Steps of the value:\n",
    "Steps of the tangents (jvp):\n" A1_TANGENT,
    "Steps of the adjoints (vjp):\n" A1_ADJOINT,
    "Steps of the tangents of the adjoints (hvp):\n" A1_TANGENT A1_ADJOINT
    "    x~' is the tangent of the adjoint of x\n"
};

static const struct a1 {
    const char *steps;          // %zu: bytes
    size_t numbers;
} a1[2][4] = { {                // one trace, times 2
    { A1_PARTS
      "\n"
      "  1  #1 = sum(i<3) x[i]\n"
      "      writes 1 number\n"
      "      loops over i in 0:3: 3 points\n"
      "      2 additions, 0 multiplications, 0 functions\n"
      "\n"
      "  2  f = 2*#1\n"
      "      writes 1 number\n"
      "      1 point\n"
      "      0 additions, 1 multiplication, 0 functions\n"
      A1_TOGETHER("2 additions, 1 multiplication"), 2 },
    { A1_PARTS
      "\n"
      "  1  #1' = sum(i<3) x'[i]\n"
      "      writes 1 number\n"
      "      loops over i in 0:3: 3 points\n"
      "      2 additions, 0 multiplications, 0 functions\n"
      "\n"
      "  2  f' = 2*#1'\n"
      "      writes 1 number\n"
      "      1 point\n"
      "      0 additions, 1 multiplication, 0 functions\n"
      A1_TOGETHER("2 additions, 1 multiplication"), 2 },
    { A1_PARTS
      "\n"
      A1_WEIGHT
      "\n"
      "  2  #1~ = 2*f~\n"
      "      writes 1 number\n"
      "      1 point\n"
      "      0 additions, 1 multiplication, 0 functions\n"
      "\n"
      "  3  x~[i] = #1~    for i<3\n"
      "      writes all 3 numbers\n"
      "      loops over i in 0:3: 3 points\n"
      "      0 additions, 0 multiplications, 0 functions\n"
      A1_TOGETHER("0 additions, 1 multiplication"), 5 },
    { A1_TOGETHER("0 additions, 0 multiplications"), 0 },
}, {                            // as written: two traces
    { "\n"
      "  1  f = sum(i<3) x[i]\n"
      "         + sum(i<3) x[i]\n"
      "      writes 1 number\n"
      "      loops over i in 0:3: 3 points\n"
      "      loops over i in 0:3: 3 points\n"
      "      5 additions, 0 multiplications, 0 functions\n"
      A1_TOGETHER("5 additions, 0 multiplications"), 1 },
    { "\n"
      "  1  f' = sum(i<3) x'[i]\n"
      "         + sum(i<3) x'[i]\n"
      "      writes 1 number\n"
      "      loops over i in 0:3: 3 points\n"
      "      loops over i in 0:3: 3 points\n"
      "      5 additions, 0 multiplications, 0 functions\n"
      A1_TOGETHER("5 additions, 0 multiplications"), 1 },
    { "\n"
      A1_WEIGHT
      "\n"
      "  2  x~[i] = f~\n"
      "         + f~    for i<3\n"
      "      writes all 3 numbers\n"
      "      loops over i in 0:3: 3 points\n"
      "      loops over i in 0:3: 3 points\n"
      "      3 additions, 0 multiplications, 0 functions\n"
      A1_TOGETHER("3 additions, 0 multiplications"), 4 },
    { A1_TOGETHER("0 additions, 0 multiplications"), 0 },
} };

static void check_a1(ad_tensor *t, int part, const struct a1 *c)
{
    char want[1000];
    int n = snprintf(want, sizeof want, A1 "\nwith n = 3\n\n%s",
                     a1_heads[part]);
    snprintf(want + n, sizeof want - (size_t)n, c->steps,
             c->numbers * sizeof(ad_real));
    const char *got = explained(t, (ad_tensor_part)part, ADREV_OK);
    CHECK(strcmp(got, want) == 0, "part %d: got\n%s\nwant\n%s", part, got,
          want);
}

static void test_a1(bool as_written)
{
    const ad_tensor_options options = { .as_written = as_written };
    ad_tensor *t = made_with("in x[n]; A[i<n,j<n] = [i==j] x[i];"
                             "out f = sum(i) A[i,i] + sum(i) A[i,i];",
                             &options);
    for (int i = 0; i < 2; i++) {       // not bound
        const char *got = explained(t, ADREV_TENSOR_VJP, ADREV_OK);
        CHECK(strcmp(got, A1) == 0, "not bound: got\n%s", got);
        give(ad_tensor_size(t, "n", 3));
    }
    bind(t);
    for (int part = 0; part < 4; part++)
        check_a1(t, part, &a1[as_written][part]);
    CHECK(ad_tensor_explain(NULL, ADREV_TENSOR_VALUE, put, &written)
          == ADREV_ESHAPE, "no tensor");
    CHECK(ad_tensor_explain(t, ADREV_TENSOR_VALUE, NULL, NULL)
          == ADREV_ESHAPE, "no write");
    explained(t, (ad_tensor_part)4, ADREV_ESHAPE);
    ad_tensor_free(t);
}

/* --- sets and names ------------------------------------------------------- */

enum { WANTS = 6 };

// n is 4, m is 7; R has four entries, and p and q are its columns.
static const struct telling {
    ad_tensor_part part;
    const char *text;
    const char *want[WANTS];    // lines, or parts of lines, in this order
} tellings[] = {
    // a box, and ranges from elsewhere than 0
    { ADREV_TENSOR_VALUE, "in x[1-n:n]; out y[i in 1:n] = x[i] - 2.5*x[-i];",
      { "in x[-n+1:n];\n", "  1  y[i] = x[i]\n         - 2.5*x[-i]    for i in "
        "1:4\n", "writes all 3 numbers\n", "      loops over i in 1:4: 3 "
        "points\n" } },
    { ADREV_TENSOR_VJP, "in x[m,m]; out y = sum(i in 1:4, j in 2:4) x[i,j];",
      { "  2  x~[i,j] = y~    for i in 1:4, j in 2:4\n",
        "writes 6 of 49 numbers, in [1:4,2:4], a box\n" } },
    // a triangle, and bounds with quotients
    { ADREV_TENSOR_VALUE, "in x[m,m]; out y[i] = sum(j: j > i) x[i,j];",
      { "  1  y[i] = sum(j<7: j >= i+1) x[i,j]    for i<7\n",
        "writes 6 of 7 numbers, in [0:7]\n",
        "loops over i in 0:6; j in i+1:7: 21 points\n" } },
    { ADREV_TENSOR_VALUE, "in x[m,m]; out y[i] = sum(j: j <= i) x[i,j];",
      { "sum(j<7: i >= j) x[i,j]", "loops over i in 0:7; j in 0:i+1: 28" } },
    { ADREV_TENSOR_VALUE,
      "in x[m,m]; out y[i] = sum(j: i <= 2*j, 3*j <= i + 4) x[i,j];",
      { "sum(j<7: 2*j >= i, i+4 >= 3*j) x[i,j]    for i<7\n",
        "loops over i in 0:7; j in ceil(i/2):floor((i+4)/3)+1: 9 points" } },
    // equations: solved, and one that whole numbers do not always solve
    { ADREV_TENSOR_VALUE, "in x[m]; out y = sum(i, j<m: j == i + 2) x[i]*x[j];",
      { "  1  y = sum(i<5) x[i]*x[i+2]\n" } },
    { ADREV_TENSOR_VALUE, "in x[m]; out y[i<m] = sum(j: 2*i == 3*j) x[j];",
      { "  1  y[i] = sum(j<7: 2*i == 3*j) x[j]    for i<7\n",
        "writes 3 of 7 numbers", "3*j/2 if whole: 3 points\n" } },
    // indices from which the number cannot be told; a sum of two kinds
    { ADREV_TENSOR_VJP, "in x[1-n:m]; out y[i<n] = sum(j<n) x[i-j];",
      { "  2  x~[i-j] += y~[i]    for i<4, j<4\n",
        "writes 7 of 10 numbers, in [-3:4], a box\n",
        "      9 additions, 0 multiplications" } },
    { ADREV_TENSOR_VJP, "in x[m]; out y[i<4] = x[i]*x[i+1];",
      { "  2  x~[i] += x[i+1]*y~[i]    for i<4\n"
        "     x~[i+1] += x[i]*y~[i]    for i<4\n",
        "writes 5 of 7 numbers, in [0:5], a box\n" } },
    { ADREV_TENSOR_VALUE, "in x[n]; out y[i] = x[i] + [i > 0] x[i];",
      { "  1  y[i] = x[i]    for i<4\n         + x[i]    for i in 1:4\n" } },
    { ADREV_TENSOR_VJP, "in x[n], z[n]; out y = -sum(i) x[i]*z[i];",
      { "  2  x~[i] = -z[i]*y~    for i<4\n",
        "  3  z~[i] = -x[i]*y~    for" } },
    // both sides of an `or` are disjoint; != is two sets
    { ADREV_TENSOR_VALUE, "in x[m]; out y = sum(i: i < 2 | i > 4) x[i];",
      { "  1  y = sum(i<2) x[i]\n         + sum(i in 5:7) x[i]\n" } },
    // maps, maps of maps; one whose value an index is
    { ADREV_TENSOR_VALUE, "map p[n]->n; in x[n]; out y[a<n] = x[p[p[a]]];",
      { "map p[n] -> n;\n", "  1  y[a] = x[p[p[a]]]    for a<4\n",
        "      loops over a in 0:4; p[a]; p[p[a]]: 4 points\n" } },
    { ADREV_TENSOR_VALUE,
      "map p[n]->n; in x[n]; out y[i<n] = sum(a: p[a] == i) x[a]*x[i];",
      { "  1  y[i] = sum(a<4: p[a] == i) x[a]*x[i]    for i<4\n", "= p[a]" } },
    { ADREV_TENSOR_VALUE, "map p[n]->n; in x[n];"
      "out y[i<n] = sum(a<n: p[a] == i + 1) x[a]*x[i];",
      { "sum(a<4: p[a] == i+1) x[a]*x[i]    for i<3\n",
        "writes 2 of 4 numbers, in [0:3]\n",
        "loops over a in 0:4; i+1 = p[a]: 3 points\n      1 addition, 3 m" } },
    { ADREV_TENSOR_VALUE, "map p[m]->n; in x[m,n];"
      "out y[i<n] = sum(a<n: p[a + 2] == 3 - i) x[a,i];",
      { "sum(a<4: p[a+2] == -i+3)", "a in 0:4; -i+3 = p[a+2]" } },
    { ADREV_TENSOR_VALUE, "map p[m]->n; in x[n,m];"
      "out y[i<n] = sum(a<m-2: p[a + 2] == i) x[i,a];",
      { "sum(a<5: p[a+2] == i)", "a in 0:5; i = p[a+2]: 5 points\n" } },
    { ADREV_TENSOR_VALUE, "map p[m]->n; in x[n,m];"
      "out y[i<n] = sum(a<m: p[m - 1 - a] == i) x[i,a];",
      { "sum(a<7: p[-a+6] == i)", "a in 0:7; i = p[-a+6]: 7 points\n" } },
    // few values of a map: over the arguments that have them
    { ADREV_TENSOR_VALUE, "map p[n]->m; in x[m,n];"
      "out y[i<2] = sum(a<n: p[a] == i) x[i,a];",
      { "sum(a<4: p[a] == i) x[i,a]    for i<2\n", "writes 1 of 2 numbers",
        "      loops over i in 0:2; a with p[a] = i: 1 point\n" } },
    { ADREV_TENSOR_VALUE, "map p[n]->m; in x[m,n];"
      "out y[i<2] = sum(a<n-1: p[3 - a] == i + 2) x[i,a];",
      { "sum(a<3: p[-a+3] == i+2)", "writes all 2 numbers\n",
        "i in 0:2; a with p[-a+3] = i+2: 3 points\n      1 addition, 0" } },
    { ADREV_TENSOR_VALUE, "map p[n]->n, q[n]->m; in x[m,n];"
      "out y[i<2] = sum(a<n: q[p[a]] == i) x[i,a];",
      { "sum(a<4: q[p[a]] == i) x[i,a]    for i<2\n", "writes 1 of 2 numbers",
        "i in 0:2; p[a] with q[p[a]] = i; a with p[a] = that: 1 point\n" } },
    { ADREV_TENSOR_VJP, "map p[n]->n; in x[n]; out y[a<n] = x[p[a]];",
      { "  2  x~[p[a]] = sum(a<4) y~[a]\n" } },
    { ADREV_TENSOR_VALUE, "map p[n]->n, q[n]->n; in x[n]; "
      "out y = sum(a<n, b<n: p[a] == q[b]) x[a]*x[b];",
      { "  1  y = sum(a<4, b<4: q[b] == p[a]) x[a]*x[b]\n" } },
    // relations, their entries, and what is not in them
    { ADREV_TENSOR_VJP,
      "rel R[n,n]; in A[R], x[n]; out y[i] = sum(j) A[i,j]*x[j];",
      { "rel R[n,n];\nin A[R];\n", "\nwith n = 4; R of 4 entries\n\nSteps",
        "    R[#e] is entry #e of a relation R, R.0[#e] its first number\n",
        "A~[#e] = x[j]*y~[i]    for i<4, j<4, #e<4: R[#e] == (i,j)\n",
        "; j = R.1[#e]: 4 points\n",
        "x~[j] = sum(i<4, #e<4: R[#e] == (i,j)) A[#e]*y~[i]    for j<4\n" } },
    { ADREV_TENSOR_VALUE,
      "rel R[n,n]; in x[n]; out y[i] = sum(j: R(i,j) | i == j) x[j]*x[i];",
      { "    bits say where a condition is true",
        "sum(j<4, #e<4: R[#e] == (i,j)) x[j]*x[i]",
        "x[i]^2    for i<4: no bit 5*i of R(i,j)\n", "if no bit 5*i: " } },
    { ADREV_TENSOR_VALUE, "rel R[n,n]; in x[n]; "
      "out y[i] = sum(j: exists(k<n: R(i,k), R(k,j))) x[j]*x[i];",
      { "sum(j<4: bit 4*i+j of exists(k<n: R(i,k), R(k,j))) x[j]*x[i]    for "
        "i<4\n", " if bit 4*i+j: " } },
    { ADREV_TENSOR_VALUE, "rel R[n,n]; in x[n]; A[i<n,j<n] = "
      "[exists(k<n: R(i,k), k > j | R(k,j))] x[i]*x[j]; out y = sum(p) A[p,p];",
      { "sum(p<4: bit 5*p of exists(k<n: R(i,k), k-j-1 >= 0 | R(k,j))) " } },
    { ADREV_TENSOR_VALUE, "in x[n]; out y[i] = sum(j: i != j, i + j != 2,"
      "2*i != 3*j, 3*i != 5*j, 5*i != 2*j) x[i]*x[j];",
      { "sum(j<4: bit 4*i+j of (i-j != 0, i+j-2 != 0, 2*i-3*j != 0, "
        "3*i-5*j != 0, 5*i-2*j != 0)) x[i]*x[j]    for i<4\n",
        "if bit 4*i+j: 9 points\n      5 additions, 9 mul" } },
    { ADREV_TENSOR_VALUE, "rel R[n,n]; in x[n]; out y[i<n] = "
      "[exists(k<n: R(i,k))] [exists(k<n: R(k,i))] x[i];",
      { "for i<4: bit i of exists(k<n: R(i,k)), bit i of exists(k<n: R(k,i))\n",
      } },
    { ADREV_TENSOR_VALUE, "rel S[9]; in x[S]; out y = sum(i) x[i];",
      { "\n\nwith S of 2 entries\n\nSteps" } },
    { ADREV_TENSOR_VALUE, "rel S[n]; in x[S]; out y = sum(i) x[i];",
      { "  1  y = sum(i<4, #e<2: S[#e] == i) x[#e]\n" } },
    // numbers that are written somewhere only, and that somebody multiplies
    { ADREV_TENSOR_VALUE, "map p[n]->n; in x[n];"
      "A[i<n] = sum(a: p[a] == i) x[a];"
      "out y = sum(i) A[i]^2;",
      { "  2  y = sum(i<4: A written at i) A[i]^2\n" } },
    // two entries; a view whose equation fixes its index
    { ADREV_TENSOR_VALUE, "rel R[n,n], S[n]; in x[n];"
      "out y = sum(i,j: R(i,j), S(j)) x[i]*x[j];",
      { "with n = 4; R of 4 entries, S of 2 entries\n",
        "R[#e] == (i,j), S[#e.2] == j) x[i]*x[j]\n" } },
    { ADREV_TENSOR_VALUE, "in x[n]; A[i<n,j<n] = [2*j == 3*i] x[i];"
      "out y = sum(j<n) A[j-j,j];", { "  1  y = x[0]\n" } },
    // parts, functions and their partials, quotients, extremes, constants
    { ADREV_TENSOR_JVP, "in x[n]; out y[i] = exp(2*x[i])/x[i];",
      { "    #1, #2 ... are parts of formulas",
        "  1  #1[i] = 2*x[i]    for i<4",
        "#2[i] = exp(#1[i])    for i<4\n", "0 multiplications, 4 functions\n",
        "= #2[i]/x[i]    for i<4\n" } },
    { ADREV_TENSOR_VJP, "in x[n], z[n]; out y = sum(i) atan2(x[i], z[i]);",
      { "    d1 f(..) is the partial of f by its first argument\n",
        " = d1 atan2(x[i], z[i])    for i<4\n",
        " = d2 atan2(x[i], z[i])    for i<4\n" } },
    { ADREV_TENSOR_VJP, "in x[n,m]; out y[i] = maximum(j) x[i,j];",
      { "  1  y[i] = maximum(j<7) x[i,j]    for i<4\n", "24 functions\n",
        "x~[i,j] = sum(first x[i,j] == y[i]) y~[i]    for i<4, j<7\n" } },
    { ADREV_TENSOR_JVP, "in x[n]; out y = minimum(j: j > 0) x[j];",
      { "  1  y = minimum(j in 1:4) x[j]\n",
        "  2  y' = sum(j in 1:4, first x[j] == y) x'[j]\n" } },
    { ADREV_TENSOR_VALUE, "in x; out y = 0.5 - x; out z[i<4] = 0;",
      { "  1  y = 0.5\n         - x\n      writes 1 number\n      1 point\n"
        "      1 point\n      1 addition, 0 mul",
        "  2  z[i] = 0    for i<4\n" } },
    { ADREV_TENSOR_HVP, "in x; out y = x^3;", { "x'", "x~'" } },
    // what is equal has the first name
    { ADREV_TENSOR_VALUE, "in x[n]; A[i] = exp(x[i]); B[j<n] = exp(x[j]);"
      "out y = sum(i) A[i]*B[i]; out z = sum(k) B[k]^2;",
      { "  1  A[i] = exp(x[i])    for i<4\n", "  2  y = sum(i<4) A[i]^2\n",
        "  3  z = y\n", "      1 point\n      0 additions, 0 m" } },
    { ADREV_TENSOR_JVP, "in x[n]; C[i] = x[i] + 1; D[i] = x[i] + 2;"
      "out y = sum(i) C[i]; out z = sum(i) D[i]^2;",
      { "  2  C'[i] = x'[i]    for i<4\n", "  3  y' = sum(i<4) C'[i]\n",
        "  4  z' = sum(i<4) 2*C'[i]*D[i]\n", "8 multiplications" } },
    // strides
    { ADREV_TENSOR_VALUE, "in c, L[n,m]; out M[i] = c*(sum(j) L[i,j]);",
      { "\nwith n = 4, m = 7; L by strides (1,4), M by strides (-2)\n\nSteps",
        "      loops over j in 0:7; i in 0:4: 28 points\n" } },
    { ADREV_TENSOR_VALUE, "rel R[4,4]; in L[R,2]; out y = sum(i,j,k) L[i,j,k];",
      { "\nwith R of 4 entries; L by strides (1,4)\n\nSteps" } },
    { ADREV_TENSOR_VALUE, "in L[4,7]; out y = sum(i,j) L[i,j];",
      { "\nwith L by strides (1,4)\n\nSteps" } },
    // products of matrices: in any order, several
    { ADREV_TENSOR_VALUE, "in A[30,10], B[10,20];"
      "out C[i,j] = sum(l) A[i,l]*B[l,j];",
      { "  1  C[i,j] = sum(l<10) A[i,l]*B[l,j]    for i<30, j<20\n",
        "      loops over i in 0:30; l in 0:10; j in 0:20: 6000 points\n"
        "      as 1 product of matrices, [i,l] times [l,j]\n"
        "      5400 additions, 6000 multiplications, 0 functions\n" } },
    { ADREV_TENSOR_VALUE, "in A[3,30,10], B[3,20,10];"
      "out C[b,j,i] = sum(l) A[b,i,l]*B[b,j,l];",
      { "b in 0:3; j in 0:20; l in 0:10; i in 0:30: 18000 points\n"
        "      as 3 products of matrices, [i,l] times [l,j]\n      16200" } },
    // parts
    { ADREV_TENSOR_VALUE, "in x[66000]; out y = sum(i) x[i];",
      { "      loops over i in 0:66000: 66000 points\n"
        "      in 4 parts with sums of their own\n      65999 additions" } },
    { ADREV_TENSOR_VJP, "in x[66000]; out y = sum(i) x[i];",
      { "  2  x~[i] = y~    for i<66000\n", "66000 points\n"
        "      in 16 parts, by i\n      0 additions" } },
    { ADREV_TENSOR_VJP, "in x[66000]; out y = sum(i) x[i];"
      "out z = sum(k) x[k]^2;",
      { "  x~[k] += 2*x[k]*z~    for k<66000\n     x~[i] += y~    for i<66000",
        "      in 32 parts, by k\n      66000 additions, 132000 mul" } },
    { ADREV_TENSOR_VALUE, "in x[150000];"      // of points
      "out y[j<150000] = sum(i: 2*i == 3*j) x[i];",
      { "  1  y[j] = sum(i<150000: 2*i == 3*j) x[i]    for j<150000\n",
        "writes 50000 of 150000 numbers, in [0:150000]\n",
        "i in 0:150000; j = 2*i/3 if whole: 50000 points, listed\n"
        "      in 12 parts, by j\n" } },
    { ADREV_TENSOR_VALUE, "in A[200,10], B[10,20];"
      "out C[j,i] = sum(l) A[i,l]*B[l,j];",
      { "j in 0:20; l in 0:10; i in 0:200: 40000 points\n"
        "      as 1 product of matrices, [i,l] times [l,j]\n"
        "      in 9 parts, by j\n" } },
    // nothing at all
    { ADREV_TENSOR_VALUE, "in x[0:0]; out y = sum(i) x[i];",
      { "  1  y = 0\n      writes 0 of 1 number\n      0 additions" } },
    { ADREV_TENSOR_HVP, "in x[n]; out y = sum(i) x[i];",
      { "    x~' is the tangent of the adjoint of x\n\nTogether: 0 add" } },
};

static void give_all(ad_tensor *t)
{
    static const int p[] = { 0, 2, 2, 3 };
    static const int q[] = { 1, 0, 3, 3 };
    static const int r[] = { 1, 0, 3, 2, 1, 3, 0 };     // [m]
    const int *const column[] = { p, q };
    static const ptrdiff_t there[] = { 1, 4 };
    static const ptrdiff_t back[] = { -2 };
    ad_ignore(ad_tensor_size(t, "n", 4));       // what the text has
    ad_ignore(ad_tensor_size(t, "m", 7));
    ad_ignore(ad_tensor_map(t, "p", strstr(t->tree.text, "p[m]") ? r : p));
    ad_ignore(ad_tensor_map(t, "q", q));
    ad_ignore(ad_tensor_relation(t, "R", 4, column));
    ad_ignore(ad_tensor_relation(t, "S", 2, column));
    ad_ignore(ad_tensor_layout(t, "c", there));
    ad_ignore(ad_tensor_layout(t, "L", there));
    ad_ignore(ad_tensor_layout(t, "M", back));
}

static void check_telling(const struct telling *c)
{
    ad_tensor *t = made_with(c->text, NULL);
    if (t == NULL)
        return;
    give_all(t);
    bind(t);
    const char *all = explained(t, c->part, ADREV_OK);
    const char *from = all;
    for (int i = 0; i < WANTS && c->want[i] != NULL; i++) {
        const char *at = strstr(from, c->want[i]);
        CHECK(at != NULL, "%s:\nthere is no\n%s\nin\n%s", c->text, c->want[i],
              from);
        from = at == NULL ? from : at + strlen(c->want[i]);
    }
    ad_tensor_free(t);
}

// The product of l numbers of A by those of B, and what is said of it.
static void check_product(int l, const ad_tensor_options *options,
                          const char *want)
{
    const char *at = "      as 1 product of matrices";
    ad_tensor *t = made_with("in A[30,k], B[k,20];"
                             "out C[i,j] = sum(l) A[i,l]*B[l,j];", options);
    give(ad_tensor_size(t, "k", (size_t)l));
    bind(t);
    const char *all = explained(t, ADREV_TENSOR_VALUE, ADREV_OK);
    const char *got = strstr(all, at);
    CHECK(want == NULL ? got == NULL : got != NULL
          && strncmp(got + strlen(at), want, strlen(want)) == 0,
          "with k = %d: got\n%s", l, all);
    ad_tensor_free(t);
}

static void multiply(size_t m, size_t k, size_t n, const ad_real *A,
                     ptrdiff_t ars, ptrdiff_t acs, const ad_real *B,
                     ptrdiff_t brs, ptrdiff_t bcs, ad_real *C, ptrdiff_t crs,
                     ptrdiff_t ccs)
{
    (void)m, (void)k, (void)n, (void)A, (void)ars, (void)acs;
    (void)B, (void)brs, (void)bcs, (void)C, (void)crs, (void)ccs;
}

static void test_products(void)
{
    const ad_tensor_options gemm = { .gemm = multiply };
    check_product(7, NULL, NULL);
    check_product(8, NULL, ", [i,l] times [l,j]\n");
    check_product(7, &gemm, NULL);
    check_product(8, &gemm, ", [i,l] times [l,j], by gemm\n");
}

/* --- the same operations as ad_tensor_count ------------------------------- */

// The number before the first `word` that comes after *at.
static uint64_t number_before(const char **at, const char *word)
{
    const char *p = *at == NULL ? NULL : strstr(*at, word);
    if (p == NULL) {
        CHECK(false, "there is no%s", word);
        return 0;
    }
    *at = p;
    while (p[-1] >= '0' && p[-1] <= '9')
        p--;
    return strtoull(p, NULL, 10);
}

// Of all steps together: every line with operations before the last one.
static void add_steps(const char *all, const char *end, ad_tensor_cost *sum)
{
    memset(sum, 0, sizeof *sum);
    for (const char *line = all; line < end; line = strchr(line, '\n') + 1) {
        const char *at = line;
        const char *stop = strchr(line, '\n');
        const char *add = strstr(line, " addition");
        if (add == NULL || add > stop)
            continue;
        sum->add += number_before(&at, " addition");
        sum->mul += number_before(&at, " multiplication");
        sum->fn += number_before(&at, " function");
    }
}

static void check_costs(const char *name, ad_tensor *t)
{
    for (int part = 0; part < 4; part++) {
        ad_tensor_cost want = { 0 };
        ad_tensor_cost steps;
        ad_status s = ad_tensor_count(t, (ad_tensor_part)part, NULL, &want);
        const char *all = explained(t, (ad_tensor_part)part, s);
        const char *at = strstr(all, "\nTogether: ");
        if (s != ADREV_OK || at == NULL)
            continue;
        add_steps(all, at, &steps);
        uint64_t add = number_before(&at, " addition");
        uint64_t mul = number_before(&at, " multiplication");
        uint64_t fn = number_before(&at, " function");
        uint64_t io = number_before(&at, " number");
        uint64_t work = number_before(&at, " byte");
        CHECK(add == want.add && mul == want.mul && fn == want.fn
              && io == want.io && work == want.work, "%s, part %d: not the "
              "same as ad_tensor_count\n%s", name, part, all);
        CHECK(steps.add == want.add && steps.mul == want.mul
              && steps.fn == want.fn, "%s, part %d: steps do not add up\n%s",
              name, part, all);
    }
}

static ad_tensor *bound_program(const program *p)
{
    ad_tensor *t = made_with(p->text, NULL);
    program_compute(p);
    for (int i = 0; i < PROGRAM_SIZES && p->size[i].name != NULL; i++)
        give(ad_tensor_size(t, p->size[i].name, p->size[i].n));
    for (int i = 0; i < PROGRAM_MAPS && p->map[i].name != NULL; i++)
        give(ad_tensor_map(t, p->map[i].name, p->map[i].value));
    if (p->relation != NULL)
        give(ad_tensor_relation(t, p->relation, p->entries, p->column));
    bind(t);
    return t;
}

// What is written first is the text as it is understood: it is read again, and
// understood in the same way.
static void check_text(ad_tensor *t)
{
    static char text[sizeof written.text];
    explained(t, ADREV_TENSOR_VALUE, ADREV_OK);
    char *end = strstr(written.text, "\nwith ");
    if (end == NULL)
        end = strstr(written.text, "\nSteps ");
    CHECK(end != NULL, "no steps in\n%s", written.text);
    if (end == NULL)
        return;
    *end = '\0';
    memcpy(text, written.text, (size_t)(end + 1 - written.text));
    ad_tensor *again = made_with(text, NULL);
    CHECK(strcmp(text, explained(again, ADREV_TENSOR_VALUE, ADREV_OK)) == 0,
          "%s\nread again:\n%s", text, written.text);
    ad_tensor_free(again);
}

static void test_programs(void)
{
    for (int i = 0; i < PROGRAMS; i++) {
        ad_tensor *t = bound_program(program_at(i));
        check_text(t);
        check_costs(program_at(i)->name, t);
        ad_tensor_free(t);
    }
}

// Nothing is known of these but that they are right.
static void test_random(void)
{
    static tree p;
    static tree_text text;
    int bound = 0;
    for (uint64_t i = 1; i <= RANDOM; i++) {
        uint64_t seed = i;
        ad_tensor_error error;
        if (!draw_program(&p, &seed, (enum draw_kind)(i % 3)))
            continue;
        ad_tensor *t = bind_tree(&p, NULL, &text, &error);
        if (t == NULL)
            continue;
        bound++;
        check_text(t);
        check_costs(text.s, t);
        ad_tensor_free(t);
    }
    CHECK(bound > RANDOM / 2, "only %d of %d are bound", bound, (int)RANDOM);
}

// Which numbers a step writes is found by its own loops: a map that nobody else
// has inverted must not be left with memory that is gone.
static void test_again(void)
{
    static const int p[] = { 0, 1, 2, 4, 4, 2, 1, 0 };
    ad_tensor *t = made_with("map p[e]->n; in x[e];"
                             "out y[i<n] = sum(a<e: p[a] == i) 1;", NULL);
    give(ad_tensor_size(t, "n", 5));
    give(ad_tensor_size(t, "e", 8));
    give(ad_tensor_map(t, "p", p));
    bind(t);
    for (int i = 0; i < 3; i++) {
        check_costs("a histogram", t);
        CHECK(strstr(explained(t, ADREV_TENSOR_VALUE, ADREV_OK),
                     "writes 4 of 5 numbers") != NULL, "%s", written.text);
    }
    ad_tensor_free(t);
}

/* --- memory that runs out ------------------------------------------------- */

typedef struct heap { long asked, failing, live; } heap;

static void *heap_alloc(size_t bytes, void *user)
{
    heap *h = user;
    if (++h->asked == h->failing)
        return NULL;
    void *p = malloc(bytes);
    if (p != NULL)
        memset(p, 0xa5, bytes);
    h->live += p != NULL;
    return p;
}

static void heap_free(void *p, void *user)
{
    heap *h = user;
    h->live--;
    free(p);
}

static void test_memory(void)
{
    heap h = { 0 };
    const ad_allocator from = { heap_alloc, heap_free, &h };
    const ad_tensor_options options = { .allocator = &from };
    ad_tensor *t = made_with("in x[n,n]; out y = sum(i,j: i < j) x[i,j];"
                             "out z[i<n] = sum(j: j > i) x[j,i];", &options);
    give(ad_tensor_size(t, "n", 9));
    bind(t);
    long live = h.live;
    for (int part = 0; part < 4; part++) {
        bool ok = false;
        for (long n = 1; !ok; n++) {
            h.asked = 0;
            h.failing = n;
            written.n = 0;
            ad_status s = ad_tensor_explain(t, (ad_tensor_part)part, put,
                                            &written);
            ok = h.asked < n;
            CHECK(s == (ok ? ADREV_OK : ADREV_ENOMEM), "allocation %ld: %s", n,
                  ad_message(s));
            CHECK(ok == (written.n > 0), "allocation %ld: %zu bytes written", n,
                  written.n);
            CHECK(h.live == live, "allocation %ld: %ld blocks left", n,
                  h.live - live);
        }
        CHECK(h.asked >= 7, "only %ld allocations", h.asked);
    }
    h.failing = 0;
    ad_tensor_free(t);
    CHECK(h.live == 0, "%ld blocks are left", h.live);
}

int main(void)
{
    test_a1(false);
    test_a1(true);
    for (size_t i = 0; i < sizeof tellings / sizeof *tellings; i++)
        check_telling(&tellings[i]);
    test_products();
    test_programs();
    test_random();
    test_again();
    test_memory();
    return check_done("explain");
}
