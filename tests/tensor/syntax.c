// SPDX-License-Identifier: MIT-0
// tags: formulas
/* syntax.c - texts of formulas: what is accepted and how it is understood, each
 * error with its place, mutated texts, memory that runs out, depth, length.
 *
 * How a text is understood is compared in its own language: adx_print_tree
 * writes the tree with all ranges, and what it writes is read again.        */

#define ADREV_IMPLEMENTATION
#include "adrev_tensor.h"
#include "check.h"
#include "heap.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- texts ---------------------------------------------------------------- */

typedef struct page {
    char *text;
    size_t n, room;
} page;

static void put(const char *text, size_t n, void *user)
{
    page *p = user;
    if (p->n + n + 1 > p->room) {
        p->room = 2 * (p->n + n + 1);
        p->text = realloc(p->text, p->room);
    }
    memcpy(p->text + p->n, text, n);
    p->n += n;
    p->text[p->n] = '\0';
}

static void put_text(page *p, const char *text) { put(text, strlen(text), p); }

static page printed(const ad_tensor *t)
{
    page p = { NULL, 0, 0 };
    put("", 0, &p);
    adx_print_tree(&t->tree, put, &p);
    return p;
}

// Reads a text that must be right.
static ad_tensor *read_text(const char *text, int line)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 7, 7, "untouched" };
    ad_status s = ad_tensor_new(&t, text, NULL, &e);
    check_that(s == ADREV_OK && t != NULL, __FILE__, line, "%.60s: %s", text,
               e.text);
    bool same = e.line == 7 && strcmp(e.text, "untouched") == 0;
    check_that(s != ADREV_OK || same, __FILE__, line, "the error was written");
    return t;
}

// A text is understood as `want` says, which is understood in the same way.
static void understood_at(const char *text, const char *want, int line)
{
    ad_tensor *t = read_text(text, line);
    if (t == NULL)
        return;
    page first = printed(t);
    check_that(strcmp(first.text, want) == 0, __FILE__, line,
               "%s\nis understood as\n%swant\n%s", text, first.text, want);
    ad_tensor *again = read_text(first.text, line);
    if (again != NULL) {
        page second = printed(again);
        check_that(strcmp(first.text, second.text) == 0, __FILE__, line,
                   "%sread again:\n%s", first.text, second.text);
        free(second.text);
    }
    free(first.text);
    ad_tensor_free(again);
    ad_tensor_free(t);
}

#define UNDERSTOOD(text, want) understood_at((text), (want), __LINE__)

/* --- the programs of the design ------------------------------------------- */

#define LEAST_SQUARES                                                       \
    "in A[m,n], x[n], b[m];\n"                                              \
    "r[i] = sum(j) A[i,j]*x[j] - b[i];\n"                                   \
    "out f = 0.5*sum(i) r[i]^2;"
#define CONVOLUTION                                                         \
    "in x[h,w], k[p,q], z[h,w];\n"                                          \
    "y[i<h,j<w] = sum(a,b) [0 <= i+a-1 < h, 0 <= j+b-1 < w]\n"              \
    "    x[i+a-1,j+b-1]*k[a,b];      /* or x?[..] */\n"                     \
    "out f = sum(i,j) (y[i,j] - z[i,j])^2;"
#define BURGERS                                                             \
    "in u[n,n], a, nu;\n"                                                   \
    "out w[i,j] = u[i,j] + [0 < i < n-1, 0 < j < n-1]\n"                    \
    "    (nu*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1] - 4*u[i,j])\n"      \
    "     - a*u[i,j]*(u[i,j] - u[i-1,j]));"
#define SPARSE                                                              \
    "rel R[m,n];\nin A[R], x[n];\nout y[i] = sum(j) A[i,j]*x[j];"
#define ATTENTION                                                           \
    "in Q[n,d], K[m,d], V[m,d], c;\n"                                       \
    "s[i,j] = c*sum(k) Q[i,k]*K[j,k];\n"                                    \
    "t[i] = detach(maximum(j) s[i,j]);\n"                                   \
    "p[i,j] = exp(s[i,j] - t[i]);\n"                                        \
    "z[i] = sum(j) p[i,j];\n"                                               \
    "out O[i,k] = (sum(j) p[i,j]*V[j,k])/z[i];"
#define GRAPH                                                               \
    "map src[e]->n, dst[e]->n;\n"                                           \
    "in h[n,d], W[d,d], q[n];\n"                                            \
    "m[i,k] = sum(l) W[k,l]*h[i,l];\n"                                      \
    "out g[i<n,k] = tanh(q[i]*sum(a: dst[a]==i) m[src[a],k]);"
#define TRACE                                                               \
    "in x[n];\nA[i<n,j<n] = [i==j] x[i];\n"                                 \
    "out f = sum(i) A[i,i] + sum(i) A[i,i];\n"                              \
    "out g = sum(i) A[i,0]*A[0,i];"
#define FACTORISATION                                                       \
    "rel T[l,m,n];\nin X[T], A[l,r], B[m,r], C[n,r];\n"                     \
    "out f = sum(i,j,k: T(i,j,k)) (X[i,j,k] - sum(s) "                      \
    "A[i,s]*B[j,s]*C[k,s])^2;"

static const char *const program[] = {
    LEAST_SQUARES, CONVOLUTION, BURGERS, SPARSE, ATTENTION, GRAPH, TRACE,
    FACTORISATION,
    "rel R[n,n], T[n]; map o[0:n+1]->-2:m; in F[R,d], v[1-m:n], c;\n"
    "y[i in 1-m:n] = -c*v[i]^2 - 1.5e-3/n + [R(i,2*i) | i != o[o[i]+1],\n"
    "  exists(k, l<n: R(k,l), T(k-l), k >= i)] relu(v?[i-1])^-2;\n"
    "out z[k<n] = minimum(i: i > -k) select(lt(y[i], 0), sub(c, -2), y[i]);\n"
    "out w = z[0]*sum(i,j,k) F[i,j,k];",
};
enum { PROGRAMS = sizeof program / sizeof program[0] };

static void test_programs(void)
{
    UNDERSTOOD(LEAST_SQUARES,
               "in A[m,n];\nin x[n];\nin b[m];\n"
               "r[i<m] = sum(j<n) A[i,j]*x[j] - b[i];\n"
               "out f = 0.5*sum(i<m) r[i]^2;\n");
    UNDERSTOOD(CONVOLUTION,
               "in x[h,w];\nin k[p,q];\nin z[h,w];\n"
               "y[i<h, j<w] = sum(a<p, b<q) [i+a-1 >= 0, h-i-a >= 0, "
               "j+b-1 >= 0, w-j-b >= 0] x[i+a-1,j+b-1]*k[a,b];\n"
               "out f = sum(i<h, j<w) (y[i,j] - z[i,j])^2;\n");
    UNDERSTOOD(BURGERS,
               "in u[n,n];\nin a;\nin nu;\n"
               "out w[i<n, j<n] = u[i,j] + [i-1 >= 0, n-i-2 >= 0, j-1 >= 0, "
               "n-j-2 >= 0] (nu*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1] "
               "- 4*u[i,j]) - a*u[i,j]*(u[i,j] - u[i-1,j]));\n");
    UNDERSTOOD(SPARSE, "rel R[m,n];\nin A[R];\nin x[n];\n"
                       "out y[i<m] = sum(j<n) A[i,j]*x[j];\n");
    UNDERSTOOD(ATTENTION,
               "in Q[n,d];\nin K[m,d];\nin V[m,d];\nin c;\n"
               "s[i<n, j<m] = c*sum(k<d) Q[i,k]*K[j,k];\n"
               "t[i<n] = detach(maximum(j<m) s[i,j]);\n"
               "p[i<n, j<m] = exp(s[i,j] - t[i]);\n"
               "z[i<n] = sum(j<m) p[i,j];\n"
               "out O[i<n, k<d] = (sum(j<m) p[i,j]*V[j,k])/z[i];\n");
    UNDERSTOOD(GRAPH,
               "map src[e] -> n;\nmap dst[e] -> n;\n"
               "in h[n,d];\nin W[d,d];\nin q[n];\n"
               "m[i<n, k<d] = sum(l<d) W[k,l]*h[i,l];\n"
               "out g[i<n, k<d] = tanh(q[i]*sum(a<e: dst[a]-i == 0) "
               "m[src[a],k]);\n");
    UNDERSTOOD(TRACE,
               "in x[n];\nA[i<n, j<n] = [i-j == 0] x[i];\n"
               "out f = sum(i<n) A[i,i] + sum(i<n) A[i,i];\n"
               "out g = sum(i<n) A[i,0]*A[0,i];\n");
    UNDERSTOOD(FACTORISATION,
               "rel T[l,m,n];\nin X[T];\nin A[l,r];\nin B[m,r];\nin C[n,r];\n"
               "out f = sum(i<l, j<m, k<n: T(i,j,k)) (X[i,j,k] - sum(s<r) "
               "A[i,s]*B[j,s]*C[k,s])^2;\n");
    UNDERSTOOD(program[8],
               "rel R[n,n];\nrel T[n];\nmap o[n+1] -> -2:m;\nin F[R,d];\n"
               "in v[-m+1:n];\nin c;\n"
               "y[i in -m+1:n] = -c*v[i]^2 - 1.5e-3/n + [R(i,2*i) | "
               "i-o[o[i]+1] != 0, exists(k<n, l<n: R(k,l), T(k-l), k-i >= 0)] "
               "relu(v?[i-1])^-2;\n"
               "out z[k<n] = minimum(i in -m+1:n: i+k-1 >= 0) "
               "select(lt(y[i], 0), c - -2, y[i]);\n"
               "out w = z[0]*sum(i<n, j<n, k<d) F[i,j,k];\n");
}

/* --- the tree ------------------------------------------------------------- */

static bool is_named(const adx_tree *tree, adx_spot spot, const char *name)
{
    return spot.length == strlen(name)
        && memcmp(tree->text + spot.at, name, spot.length) == 0;
}

// A form is constant + k0 * name0 + k1 * name1, in this order.
static void form_is(const adx_tree *tree, uint32_t form, int64_t constant,
                    uint32_t count, int64_t k0, const char *name0, int64_t k1,
                    const char *name1, int line)
{
    const adx_affine *f = &tree->form[form];
    const int64_t k[] = { k0, k1 };
    const char *const name[] = { name0, name1 };
    bool right = form > 0 && f->constant == constant && f->count == count;
    for (uint32_t i = 0; right && i < count; i++) {
        const adx_multiple *m = &tree->multiple[f->first + i];
        right = m->k == k[i]
             && is_named(tree, m->kind == ADX_OF_SIZE ? tree->size[m->of]
                         : m->kind == ADX_OF_INDEX ? tree->index[m->of].name
                         : tree->map[m->of].name, name[i]);
    }
    check_that(right, __FILE__, line, "form %u", (unsigned)form);
}

#define FORM(form, ...) form_is(tree, form, __VA_ARGS__, __LINE__)

static void test_tree(void)
{
    ad_tensor *t = read_text("rel R[p,q];\nmap s[n]->p;\n"
                             "in A[R,3], x[1-n:n], c;\n"
                             "out y[i,k] = [R(s[i]-2,k)] A[s[i],k,1]/c;\n"
                             "z[j] = x?[2*j+n]*x[j];\n"
                             "out w = sum(i<2) y[i,0] - z[3];", __LINE__);
    const adx_tree *tree = &t->tree;
    CHECK(tree->inputs == 3 && tree->outs == 2 && tree->array_count == 7
          && tree->size_count == 4 && tree->formula_count == 4, "counts");
    const adx_tensor_array *A = &tree->array[1];
    const adx_dim *d = &tree->dim[A->first];
    CHECK(A->rank == 3 && A->formula == 0 && A->order == 0, "A");
    CHECK(d[0].relation == 1 && d[0].column == 0 && d[1].relation == 1
          && d[1].column == 1 && d[2].relation == 0, "A is on R");
    FORM(d[0].to, 0, 1, 1, "p", 0, "");
    FORM(d[1].to, 0, 1, 1, "q", 0, "");
    FORM(d[2].to, 3, 0, 0, "", 0, "");
    const adx_tensor_array *x = &tree->array[2];
    CHECK(x->order == 1, "x");
    FORM(tree->dim[x->first].from, 1, 1, -1, "n", 0, "");
    FORM(tree->dim[x->first].to, 0, 1, 1, "n", 0, "");

    const adx_tensor_array *y = &tree->array[4];
    const adx_tensor_formula *f = &tree->formula[y->formula];
    CHECK(y->out && y->order == 0 && y->rank == 2 && f->array == 4
          && f->count == 2, "y");
    FORM(tree->dim[y->first].to, 0, 1, 1, "n", 0, "");
    FORM(tree->dim[y->first + 1].to, 0, 1, 1, "q", 0, "");
    CHECK(is_named(tree, tree->index[f->first].name, "i")
          && !tree->index[f->first].given, "i");
    const adx_tensor_node *body = &tree->node[f->body];
    const adx_tensor_node *member = &tree->node[body->condition];
    CHECK(body->kind == ADX_TREE_BRACKET && member->kind == ADX_TREE_MEMBER
          && member->of == 1 && member->count == 2, "the bracket");
    FORM(tree->list[member->first], -2, 1, 1, "s", 0, "");
    const adx_tensor_node *quotient = &tree->node[body->child];
    const adx_tensor_node *read = &tree->node[quotient->child];
    adx_spot whole = { read->spot.at, read->end - read->spot.at };
    CHECK(is_named(tree, whole, "A[s[i],k,1]"), "the text of a read");
    CHECK(quotient->kind == ADX_TREE_MUL && read->kind == ADX_TREE_READ
          && read->of == 1 && !read->inverse && read->count == 3, "A[..]");
    CHECK(tree->node[read->next].inverse && tree->node[read->next].of == 3
          && tree->node[read->next].next == 0, "/c");

    const adx_tensor_array *z = &tree->array[5];
    CHECK(!z->out && z->rank == 1, "z");
    FORM(tree->dim[z->first].from, 1, 1, -1, "n", 0, "");
    const adx_tensor_node *guarded
        = &tree->node[tree->node[tree->formula[z->formula].body].child];
    CHECK(guarded->guarded && !tree->node[guarded->next].guarded, "x?");
    FORM(tree->list[guarded->first], 0, 2, 2, "j", 1, "n");

    const adx_tensor_formula *last = &tree->formula[3];
    const adx_tensor_node *sum = &tree->node[tree->node[last->body].child];
    CHECK(sum->kind == ADX_TREE_SUM && sum->count == 1
          && sum->first == last->first && tree->index[sum->first].given
          && sum->condition == 0, "sum");
    CHECK(tree->node[sum->next].inverse, "- z[3]");
    CHECK(tree->array[6].order == 1 && tree->array[6].rank == 0, "w");

    int line;
    int column;
    adx_locate(tree, member->spot.at, &line, &column);
    CHECK(line == 4 && column == 15, "R at %d:%d", line, column);
    const adx_declared *n = adx_find_declared(tree, "n", 1);
    CHECK(n != NULL && n->kind == ADX_NAMES_SIZE
          && is_named(tree, tree->size[n->of], "n"), "n");
    CHECK(adx_find_declared(tree, "nn", 2) == NULL, "nn");
    ad_tensor_free(t);
}

// Children have lower numbers than their parents, and one parent each.
static void check_order(const adx_tree *tree)
{
    unsigned *parents = calloc(tree->node_count, sizeof *parents);
    bool right = true;
    for (uint32_t i = 1; i < tree->node_count; i++) {
        const adx_tensor_node *n = &tree->node[i];
        for (uint32_t c = n->child; c != 0; c = tree->node[c].next) {
            right = right && c < i;
            parents[c]++;
        }
        right = right && n->condition < i;
        parents[n->condition]++;
    }
    for (uint32_t i = 1; i < tree->formula_count; i++)
        parents[tree->formula[i].body]++;
    for (uint32_t i = 1; i < tree->node_count; i++)
        right = right && parents[i] == 1;
    for (uint32_t i = 1; i < tree->index_count; i++)
        right = right && tree->index[i].to != 0 && tree->index[i].from != 0;
    CHECK(right, "the order of nodes: %.60s", tree->text);
    free(parents);
}

/* --- corners of the grammar ----------------------------------------------- */

#define IN "in x[n], A[n,m], c;\n"
#define IN_PRINTED "in x[n];\nin A[n,m];\nin c;\n"
#define EXPRESSION(text, want)                                              \
    UNDERSTOOD(IN "out y = " text ";", IN_PRINTED "out y = " want ";\n")
#define CONDITION(text, want)                                               \
    UNDERSTOOD(IN "rel R[n,m]; map p[n]->m;"                                \
               "out y[i<n,j<m] = [" text "] c;",                            \
               IN_PRINTED "rel R[n,m];\nmap p[n] -> m;\n"                   \
               "out y[i<n, j<m] = [" want "] c;\n")

static void test_expressions(void)
{
    EXPRESSION("1", "1");
    EXPRESSION("-1", "-1");
    EXPRESSION("--1", "1");
    EXPRESSION("-(-c)", "-(-c)");
    EXPRESSION("---c", "-c");
    EXPRESSION("-0.", "-0.");
    EXPRESSION("c+1.5e3-.5*2E-1", "c + 1.5e3 - .5*2E-1");
    EXPRESSION("c-(c-c)-c", "c - (c - c) - c");
    EXPRESSION("(((c)))", "c");
    EXPRESSION("c*(c*c)/c/(c/c)", "c*(c*c)/c/(c/c)");
    EXPRESSION("-c^2", "-c^2");
    EXPRESSION("(-c)^2", "(-c)^2");
    EXPRESSION("(-2)^2", "(-2)^2");
    EXPRESSION("-2^2", "-2^2");
    EXPRESSION("2^-3", "2^-3");
    EXPRESSION("(c^2)^3", "(c^2)^3");
    EXPRESSION("c^2147483647", "c^2147483647");
    EXPRESSION("-c*-c", "-c*-c");
    EXPRESSION("c - -c", "c - -c");
    EXPRESSION("(c+1)^2*(c-1)", "(c + 1)^2*(c - 1)");
    EXPRESSION("1/n + m/(n*m)", "1/n + m/(n*m)");
    // A sum is over the product behind it, and no more.
    EXPRESSION("sum(i) x[i] + c", "sum(i<n) x[i] + c");
    EXPRESSION("sum(i) x[i]*c/n", "sum(i<n) x[i]*c/n");
    EXPRESSION("sum(i) (x[i] + c)", "sum(i<n) (x[i] + c)");
    EXPRESSION("(sum(i) x[i])*c", "(sum(i<n) x[i])*c");
    EXPRESSION("c*sum(i) x[i]*c", "c*sum(i<n) x[i]*c");
    EXPRESSION("-sum(i) -x[i]", "-sum(i<n) -x[i]");
    EXPRESSION("(-sum(i) x[i])*c", "(-sum(i<n) x[i])*c");
    EXPRESSION("sum(i) x[i]^2", "sum(i<n) x[i]^2");
    EXPRESSION("(sum(i) x[i])^2", "(sum(i<n) x[i])^2");
    EXPRESSION("sum(i) sum(j) A[i,j]", "sum(i<n) sum(j<m) A[i,j]");
    EXPRESSION("sum(i) x[i] + sum(i) x[i]", "sum(i<n) x[i] + sum(i<n) x[i]");
    EXPRESSION("maximum(i,j: i != j) A[i,j]",
               "maximum(i<n, j<m: i-j != 0) A[i,j]");
    EXPRESSION("[n < m] c*c + 1", "[m-n-1 >= 0] c*c + 1");
    EXPRESSION("([n < m] c)*c", "([m-n-1 >= 0] c)*c");
    EXPRESSION("[n < m] [n > 0] c", "[m-n-1 >= 0] [n-1 >= 0] c");
    // Functions are rows of the operator table; arithmetic is arithmetic.
    EXPRESSION("exp(-c)", "exp(-c)");
    EXPRESSION("fma(c,1,2)^2", "fma(c, 1, 2)^2");
    EXPRESSION("add(c,1)*sub(c,1)", "(c + 1)*(c - 1)");
    EXPRESSION("mul(c,2)/div(c,3)", "(c*2)/(c/3)");
    EXPRESSION("neg(c)^2", "(-c)^2");
    EXPRESSION("neg(1)*c", "neg(1)*c");
    EXPRESSION("floor(c) + sign(c)", "floor(c) + sign(c)");
    EXPRESSION("detach(c + 1)", "detach(c + 1)");
    EXPRESSION("max(c, min(c, 1))", "max(c, min(c, 1))");
    EXPRESSION("/* x */ c /**/ + /* * / */ 1", "c + 1");
}

static void test_indices(void)
{
    EXPRESSION("x[0]", "x[0]");
    EXPRESSION("x[n-1]", "x[n-1]");
    EXPRESSION("x?[-1]", "x?[-1]");
    EXPRESSION("x ? [ 1 ]", "x?[1]");
    EXPRESSION("sum(i<n-1) x[i+1]", "sum(i<n-1) x[i+1]");
    EXPRESSION("sum(i in 1:n) x[i]", "sum(i in 1:n) x[i]");
    EXPRESSION("sum(i in 0:n) x[i]", "sum(i<n) x[i]");
    EXPRESSION("sum(i in -n:2*n, j) A?[i,j]*A[0,j]",
               "sum(i in -n:2*n, j<m) A?[i,j]*A[0,j]");
    EXPRESSION("sum(i<3) x[2*i+1+i-i*1]", "sum(i<3) x[2*i+1]");
    EXPRESSION("sum(i<3) x[3*(i-(2-i))*2]", "sum(i<3) x[12*i-12]");
    EXPRESSION("sum(i<3) x[--i + -(i)]", "sum(i<3) x[0]");
    EXPRESSION("sum(i<3) x[i*-2+2*(3*2)]", "sum(i<3) x[-2*i+12]");
    EXPRESSION("sum(i<3) x[9223372036854775807*i]",
               "sum(i<3) x[9223372036854775807*i]");
    UNDERSTOOD("map p[n]->n; in x[n];\n"
               "out y[i] = x[2*p[p[i]+1]-p[i]-2*p[1+p[i]]];",
               "map p[n] -> n;\nin x[n];\nout y[i<n] = x[-p[i]];\n");
    // A result's dimensions are the ranges of its indices.
    UNDERSTOOD("in x[n]; y[i in 1:n] = x[i]; out z[i] = y[i];",
               "in x[n];\ny[i in 1:n] = x[i];\nout z[i in 1:n] = y[i];\n");
    UNDERSTOOD("in x[-1:n+1]; out y[i] = x[i]; out s = sum(k) y[k];",
               "in x[-1:n+1];\nout y[i in -1:n+1] = x[i];\n"
               "out s = sum(k in -1:n+1) y[k];\n");
    // Equal ranges are equal however they are written.
    UNDERSTOOD("in x[2*n+m], z[m+n+n]; out y[i] = x[i]*z[i];",
               "in x[2*n+m];\nin z[m+2*n];\nout y[i<2*n+m] = x[i]*z[i];\n");
    // Ranges from maps and relations; not from guarded reads.
    UNDERSTOOD("map p[e]->n; in x[n]; out y[i] = x[p[i]];",
               "map p[e] -> n;\nin x[n];\nout y[i<e] = x[p[i]];\n");
    UNDERSTOOD("rel R[a,b]; out y = sum(i,j: R(i,j)) 1;",
               "rel R[a,b];\nout y = sum(i<a, j<b: R(i,j)) 1;\n");
    UNDERSTOOD("in x[n], w[m]; out y = sum(i) x?[i]*w[i];",
               "in x[n];\nin w[m];\nout y = sum(i<m) x?[i]*w[i];\n");
    // A range that is given is the one, whatever is read.
    UNDERSTOOD("in x[n], w[m]; out y[i<3] = x[i]*w[i];",
               "in x[n];\nin w[m];\nout y[i<3] = x[i]*w[i];\n");
    UNDERSTOOD("in x; out y[i<5] = x; out z = sum(i<0) 1;",
               "in x;\nout y[i<5] = x;\nout z = sum(i<0) 1;\n");
    // Names that are used again, and names of functions.
    UNDERSTOOD("in x[n]; y[i] = x[i]; i[k] = y[k]; out exp = sum(k) i[k];",
               "in x[n];\ny[i<n] = x[i];\ni[k<n] = y[k];\n"
               "out exp = sum(k<n) i[k];\n");
    UNDERSTOOD("in x[R]; out y = sum(i) x[i];",
               "in x[R];\nout y = sum(i<R) x[i];\n");
}

static void test_conditions(void)
{
    CONDITION("i < j", "j-i-1 >= 0");
    CONDITION("i <= j", "j-i >= 0");
    CONDITION("i > j", "i-j-1 >= 0");
    CONDITION("i >= j", "i-j >= 0");
    CONDITION("i == j", "i-j == 0");
    CONDITION("i != j", "i-j != 0");
    CONDITION("0 <= i < j <= 5", "i >= 0, j-i-1 >= 0, -j+5 >= 0");
    CONDITION("1 < 2", "0 >= 0");
    CONDITION("i == i", "0 == 0");
    CONDITION("i==0, j==0 | i==1, j==1 | R(i,j)",
              "i == 0, j == 0 | i-1 == 0, j-1 == 0 | R(i,j)");
    CONDITION("p[i] == j", "p[i]-j == 0");
    CONDITION("R(i, p[i]+1)", "R(i,p[i]+1)");
    CONDITION("exists(k: R(k,j))", "exists(k<n: R(k,j))");
    CONDITION("exists(k<5, l: R(k,l), k<l | k == i)",
              "exists(k<5, l<m: R(k,l), l-k-1 >= 0 | k-i == 0)");
    CONDITION("exists(k: exists(l: R(k,l))), i<j",
              "exists(k<n: exists(l<m: R(k,l))), j-i-1 >= 0");
    CONDITION("(i+1)*2 < 3*(j-1)", "3*j-2*i-6 >= 0");
}

/* --- numbers -------------------------------------------------------------- */

// A number as the C library reads it, in the locale "C".
static void number_at(const char *number, int line)
{
    char text[200];
    snprintf(text, sizeof text, "out y = %s;", number);
    ad_tensor *t = read_text(text, line);
    if (t == NULL)
        return;
    ad_real got = t->tree.node[t->tree.formula[1].body].value;
    ad_real want = (ad_real)strtod(number, NULL);
    check_that(memcmp(&got, &want, sizeof got) == 0, __FILE__, line,
               "%s: got %.17g, want %.17g", number, (double)got, (double)want);
    ad_tensor_free(t);
}

static uint32_t state = 1;

static uint32_t below(uint32_t n)
{
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * n >> 32);
}

static void test_numbers(void)
{
    static const char *const number[] = {
        "0", "0.0", "1", "10", ".5", "0.1", "2.", "1e0", "1E+5", "1e-5",
        "9007199254740993", "9007199254740992.99999999999999999",
        "9007199254740993.00000000000000000000000000000000001",
        "123456789012345678901234567890", "0.30000000000000004",
        "00000000000000000000000000000000000000000000000000000000000000000001",
        "3.4028234663852886e38", "1e-37",
    };
    static const char *const wide[] = {
        "1.7976931348623157e308", "2.2250738585072014e-308",
        "2.2250738585072011e-308", "4.9406564584124654e-324",
        "2.4703282292062328e-324", "2.4703282292062327e-324",
        "7.4109846876186982e-324", "1e-400", "1e-99999999999999999999",
        "0e99999", "179769313486231570e291", "0.00000000000000000001e-300",
        "1e-323", "1.5e-320", "8.5e-310",
    };
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        number_at(number[i], __LINE__);
    for (size_t i = 0; i < sizeof wide / sizeof *wide && sizeof(ad_real) == 8;
         i++)
        number_at(wide[i], __LINE__);
    for (int i = 0; i < 4000; i++) {
        char text[80];
        char *at = text;
        uint32_t digits = 1 + below(i % 2 ? 19 : 40);
        for (uint32_t k = 0; k < digits; k++)
            *at++ = (char)('0' + below(10));
        int most = sizeof(ad_real) == 8 ? 300 - (int)digits : 0;
        snprintf(at, 20, ".%ue%d", (unsigned)below(1000),
                 i % 3 == 0 ? 0 : (int)below(600) % (most + 1)
                                  * (below(2) ? 1 : -1));
        if (sizeof(ad_real) == 8 || digits < 38)
            number_at(text, __LINE__);
    }
}

/* --- errors --------------------------------------------------------------- */

// The text is refused, and the message is this.
static void refused_at(const char *text, const char *want, int line)
{
    heap h = { 0 };
    const ad_allocator a = { heap_alloc, heap_free, &h };
    const ad_tensor_options o = { .allocator = &a };
    ad_tensor *t = (ad_tensor *)&h;
    ad_tensor_error e = { 0, 0, "" };
    ad_status s = ad_tensor_new(&t, text, &o, &e);
    char place[40];
    snprintf(place, sizeof place, "%d:%d: ", e.line, e.column);
    check_that(s == ADREV_ESYNTAX && t == NULL && h.live == 0, __FILE__, line,
               "%.60s: \"%s\"", text, ad_message(s));
    check_that(strncmp(e.text, place, strlen(place)) == 0, __FILE__, line,
               "%s, and the place is %s", e.text, place);
    size_t n = strlen(want);
    check_that(strncmp(e.text, want, n) == 0
               && (e.text[n] == '\n' || want[n - 1] == '^'), __FILE__, line,
               "got\n%s\nwant\n%s", e.text, want);
}

#define REFUSED(text, want) refused_at((text), (want), __LINE__)
#define REFUSED_SUM(text, want)                                             \
    refused_at(IN "out y = " text ";", want, __LINE__)
#define REFUSED_IF(text, want)                                              \
    refused_at(IN "rel R[n,m]; map p[n]->m;\nout y[i<n,j<m] = [" text       \
               "] c;", want, __LINE__)

#define SIZE(name) ": a size is named by a declaration, such as 'in a[" name "]'"
#define LONE(i) ": no array has it alone as an index; write " i "<size"
#define WHOLE   ": one factor must be a whole number"

// Whole messages: the line, and the caret under the column.
static void test_messages(void)
{
    REFUSED("in A[m,n], x[n];\nout y[i] = sum(j) A[j,i]*x[j];",
            "2:26: 'j' runs over another range here than before\n"
            "    out y[i] = sum(j) A[j,i]*x[j];\n"
            "                             ^");
    REFUSED("in x[n], c[m];\nout y[i] = sum(j) x[i-j]*c[j];",
            "2:7: the range of 'i' is not known: no array has it alone as an "
            "index; write i<size\n"
            "    out y[i] = sum(j) x[i-j]*c[j];\n"
            "          ^");
    REFUSED("in A[m,n], x[n];\nout y[i] = sum(j) A[i,j*x[j];",
            "2:24: ']' is missing before '*'\n"
            "    out y[i] = sum(j) A[i,j*x[j];\n"
            "                           ^");
    REFUSED("", "1:1: the text is empty\n    \n    ^");
    REFUSED(" \n /* nothing */", "1:1: the text is empty\n     \n    ^");
    // Leading blanks are left out, a tab is one column.
    REFUSED("in c;\n\t  out y\t= d;\r\n",
            "2:12: 'd' is not known here\n    out y = d;\n            ^");
    // Columns are characters.
    REFUSED("/* \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 */ out y = d;",
            "1:19: 'd' is not known here\n"
            "    /* \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 */ out y = d;\n"
            "                      ^");
    REFUSED("/* \xff\x80\xc0 \x01 */ out y = d;",
            "1:20: 'd' is not known here\n"
            "    /* ?? ? */ out y = d;\n"
            "                       ^");
    // What is missing at the end of a line is missing there.
    REFUSED("in c;\nout y = c\nout z = c;",
            "2:10: ';' is missing\n    out y = c\n             ^");
    REFUSED("in c; out y = c   /* that is all */  \n\n",
            "1:16: ';' is missing\n    in c; out y = c   /* that is all */  \n"
            "                   ^");
}

// A long line: a part of it around the column.
static void test_shortened(void)
{
    for (size_t before = 0; before <= 300; before += 7)
        for (size_t behind = 0; behind <= 300; behind += 7) {
            page p = { NULL, 0, 0 };
            put_text(&p, "in c; \n\tout y = ");
            for (size_t i = 0; i < before; i++)
                put_text(&p, i % 9 == 8 ? "/*\xc3\xa4*/" : "1+");
            put_text(&p, "d");
            for (size_t i = 0; i < behind; i++)
                put_text(&p, i % 9 == 8 ? "/*\xe2\x82\xac*/" : "+1");
            put_text(&p, ";\n");
            ad_tensor *t;
            ad_tensor_error e;
            CHECK(ad_tensor_new(&t, p.text, NULL, &e) == ADREV_ESYNTAX, "%s",
                  p.text);
            const char *shown = strchr(e.text, '\n') + 1;
            const char *caret = strchr(shown, '\n') + 1;
            size_t column = strlen(caret) - 1;
            for (size_t i = 0; i <= column; i++)
                column += !adx_begins_character(shown[i]);
            CHECK(strlen(e.text) < 240 && shown[column] == 'd'
                  && caret[strlen(caret) - 1] == '^', "%s", e.text);
            bool whole = strncmp(shown, "    out y", 9) == 0
                      && caret[-2] == ';';
            CHECK(whole || strlen(e.text) > 225, "%s", e.text);
            free(p.text);
        }
    REFUSED("in alpha_beta_gamma_delta_epsilon_zeta[n];\n"
            "out y = alpha_beta_gamma_delta_epsilon_zeta + 1;",
            "2:9: 'alpha_beta_gamma_delta_ep...' has 1 index: write "
            "alpha_beta_gamma_delta_ep...[..]\n"
            "    out y = alpha_beta_gamma_delta_epsilon_zeta + 1;\n"
            "            ^");
}

/* --- each error ----------------------------------------------------------- */

static void test_words(void)
{
    REFUSED_SUM("c @ 2", "2:11: '@' is an unknown character");
    REFUSED_SUM("c \xc2\xb7 2", "2:11: '\xc2\xb7' is an unknown character");
    REFUSED_SUM("c \x01", "2:11: a byte 1 is no character");
    REFUSED_SUM("c \xff", "2:11: a byte 255 is no character");
    REFUSED_SUM("c ** 2", "2:11: '**' is unknown; for a power write ^");
    REFUSED_SUM("c // 2", "2:11: '//' is unknown; a comment is /* ... */");
    REFUSED_IF("i<j && j<i", "3:23: '&' is unknown; for 'and' write ','");
    REFUSED_IF("i<j || j<i", "3:23: '||' is unknown; for 'or' write '|'");
    REFUSED_IF("!(i<j)", "3:19: '!' is unknown; for 'not equal' write !=");
    REFUSED_SUM("c /* and", "2:11: this comment does not end: '*/' is missing");
    REFUSED("/*", "1:1: this comment does not end: '*/' is missing");
    REFUSED_SUM("c + /*/", "2:13: this comment does not end: '*/' is missing");
    REFUSED_SUM("2c", "2:10: a number ends here; to multiply, write *");
    REFUSED_SUM("1.5ef", "2:12: a number ends here; to multiply, write *");
    REFUSED_SUM("1.2.3", "2:12: a number has one point");
    REFUSED_SUM("10000000000000000000000000000000000000000000000000000000000"
                "0000000", "2:9: this number has more than 64 digits");
    REFUSED_SUM("1e999", "2:9: this number is too large");
    REFUSED_SUM("-1.8e308", "2:10: this number is too large");
    REFUSED_SUM("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghij"
                "kl", "2:9: a name has at most 63 letters");
    REFUSED_SUM("x[9223372036854775808]",
                "2:11: this whole number is above 2^63 - 1");
    REFUSED_SUM("sum(i) x[9223372036854775807*i+i]",
                "2:18: a whole number here is beyond 2^63");
    REFUSED_SUM("sum(i) x[i*4611686018427387904*2]",
                "2:40: a whole number here is beyond 2^63");
    REFUSED_SUM("[-9223372036854775807 < n-9223372036854775807] c",
                "2:33: a whole number here is beyond 2^63");
    REFUSED_SUM("c^2147483648", "2:11: this exponent is above 2^31 - 1");
}

static void test_items(void)
{
    REFUSED("in x[n];", "1:9: the text has no 'out': write it before the "
                        "results that you want");
    REFUSED("in x[n]; y[i] = x[i];\n", "1:22: the text has no 'out': write it "
            "before the results that you want");
    REFUSED("; out y = 1;", "1:1: a declaration or a formula is missing before "
                            "';'");
    REFUSED("out y = 1;;", "1:11: a declaration or a formula is missing before "
                           "';'");
    REFUSED("out ;", "1:5: the name of a result is missing before ';'");
    REFUSED("out", "1:4: the name of a result is missing");
    REFUSED("y", "1:2: '=' or '[' is missing");
    REFUSED("y[i", "1:4: ']' is missing");
    REFUSED("y[i] 1", "1:6: '=' is missing before '1'");
    REFUSED("x[n]; out y = 1;", "1:5: '=', or 'in' before an input, is missing "
            "before ';'");
    REFUSED("x, y;", "1:2: '=', or 'in' before an input, is missing before "
            "','");
    REFUSED("out y == 1;", "1:7: a formula has one '='");
    REFUSED("out y = 1 = 2;", "1:11: ';' is missing before '='");
    REFUSED("out y[] = 1;", "1:7: an index is missing before ']'");
    REFUSED("out y[0] = 1;", "1:7: an index is missing before '0'");
    REFUSED("in;", "1:3: the name of an input is missing before ';'");
    REFUSED("in x[];", "1:6: an index or a whole number is missing before ']'");
    REFUSED("in x[n;", "1:7: ']' is missing before ';'");
    REFUSED("in x[n,", "1:8: an index or a whole number is missing");
    REFUSED("in x y;", "1:6: ',' or ';' is missing before 'y'");
    REFUSED("in x[1.5];", "1:6: here are whole numbers only");
    REFUSED("rel R;", "1:6: '[' is missing before ';'");
    REFUSED("map p[n];", "1:9: '->' and the range of the values is missing "
                         "before ';'");
    REFUSED("map p[n,m]->n;", "1:5: a map has one index");
    REFUSED("map p->n;", "1:6: '[' is missing before '->'");
    // Names.
    REFUSED("in x, x;", "1:7: 'x' is an input since line 1: take another name");
    REFUSED("in n[n];", "1:4: 'n' is a size since line 1: take another name");
    REFUSED("in x[n];\nin n;", "2:4: 'n' is a size since line 1: take another "
                               "name");
    REFUSED("in sum;", "1:4: 'sum' is a word of the language: take another "
                       "name");
    REFUSED("in x[in];", "1:6: 'in' is a word of the language: take another "
                         "name");
    REFUSED("in x[R]; rel R[n];", "1:14: 'R' is a size since line 1: take "
                                  "another name");
    REFUSED("rel R[n]; map R[n]->n;",
            "1:15: 'R' is a relation since line 1: take another name");
    REFUSED("map p[n]->n; in p;",
            "1:17: 'p' is a map since line 1: take another name");
    REFUSED("rel R[n]; rel T[R];", "1:17: 'R' is a relation: it can only be "
                                   "the first range of an input");
    REFUSED("rel R[n]; in x[2,R];", "1:18: 'R' is a relation: it can only be "
                                    "the first range of an input");
    REFUSED("in c, x[c];",
            "1:9: 'c' is an input: here are indices, sizes, maps and whole "
            "numbers");
    REFUSED("map p[n]->n; in x[p];", "1:19: a range is made of sizes and whole "
                                     "numbers, not of 'p': write a condition");
    REFUSED("in x[n*m];", "1:7: a product of two names is not affine: one "
                          "factor must be a whole number");
    REFUSED("in x[n*(m+1)];",
            "1:7: a product of two names is not affine" WHOLE);
    // Left sides.
    REFUSED("in x;\nx = 1;", "2:1: 'x' is an input: a formula cannot make it");
    REFUSED("y = 1;\nout y = 2;", "2:5: 'y' has a formula already, in line 1");
    REFUSED("in x[n];\nout n = 2;", "2:5: 'n' is a size since line 1: take "
                                    "another name");
    REFUSED("in x[n]; out y[i,i] = x[i];",
            "1:18: 'i' is an index already; take another name");
    REFUSED("in x[n]; out y[x] = 1;",
            "1:16: 'x' is an input since line 1: take another name");
    REFUSED("in x[n]; out y[i<k] = 1;",
            "1:18: 'k' is not known here" SIZE("k"));
    REFUSED("in x[n]; out y[i<=n] = 1;", "1:17: a range is written i<n or i in "
                                         "0:n");
    REFUSED("out y = 1 + y;", "1:13: 'y' is read in its own formula");
    REFUSED("in x[n]; out y[i] = y[i-1] + x[i];",
            "1:21: 'y' is read in its own formula");
    REFUSED("out y[i] = 1;", "1:7: the range of 'i' is not known" LONE("i"));
}

// A size that no declaration has.
static void test_sizes(void)
{
    REFUSED("in x[n]; out y[i in 1:k-1] = 1;",
            "1:23: 'k' is not known here" SIZE("k"));
    REFUSED("in x[n]; out f = sum(i<2*k) 1;",
            "1:26: 'k' is not known here" SIZE("k"));
    REFUSED("in x[node]; out y[i<nodes] = 1;",
            "1:21: 'nodes' is not known here; is it 'node'?");
    REFUSED("in x[n]; out y = x[k];", "1:20: 'k' is not known here");
}

static void test_names(void)
{
    REFUSED_SUM("d", "2:9: 'd' is not known here");
    REFUSED("in velocity[n];\nout v = sum(i) velocty[i];",
            "2:16: 'velocty' is not known here; is it 'velocity'?");
    REFUSED("in Mass; out v = mass;",
            "1:18: 'mass' is not known here; is it 'Mass'?");
    REFUSED("in A; out v = a;", "1:15: 'a' is not known here; is it 'A'?");
    REFUSED("in ab; out v = ac;", "1:16: 'ac' is not known here");
    REFUSED("in abc; out v = acb;",
            "1:17: 'acb' is not known here; is it 'abc'?");
    REFUSED_SUM("sum(i) x[j]", "2:18: 'j' is not known here");
    REFUSED_SUM("sum(i) x[i] + x[i]",
                "2:25: 'i' ends before: a sum reaches over a product; for "
                "more, write sum(i) (..+..)");
    REFUSED("in x[n]; y[i] = x[i]; out f = sum(j) x[j]*x[i];",
            "1:45: 'i' is not known here");
    REFUSED("in x[n]; y[i] = x[i]; out z[k<i] = 1;",
            "1:31: 'i' is not known here" SIZE("i"));
    REFUSED_SUM("sum(step<n) x[setp]",
                "2:23: 'setp' is not known here; is it 'step'?");
    REFUSED_SUM("x", "2:9: 'x' has 1 index: write x[..]");
    REFUSED_SUM("A", "2:9: 'A' has 2 indices: write A[..]");
    REFUSED_SUM("sum(i) x[i,0]", "2:16: 'x' has 1 index, not 2");
    REFUSED_SUM("sum(i) A[i]", "2:16: 'A' has 2 indices, not 1");
    REFUSED_SUM("c[0]", "2:9: 'c' is a number, it has no indices");
    REFUSED_SUM("c?[0]", "2:9: 'c' is a number, it has no indices");
    REFUSED_SUM("x?", "2:11: '[' is missing before ';'");
    REFUSED_SUM("x[]", "2:11: an index or a whole number is missing before "
                       "']'");
    REFUSED_SUM("x(1)", "2:10: 'x' is no function: indices stand in [ ], and a "
                        "product has *");
    REFUSED_SUM("c(1+c)", "2:10: 'c' is no function: indices stand in [ ], and "
                          "a product has *");
    REFUSED_SUM("sum(i) i*x[i]", "2:16: 'i' is an index, not a number: read an "
                                 "array that has its values");
    REFUSED_IF("i<j] p[i] + [j<i", "3:24: 'p' is a map: it stands in indices, "
                                   "as in x[p[i]]");
    REFUSED_IF("i<j] R(i,j) + [j<i", "3:24: 'R' is a relation: it stands in "
                                     "conditions, as in [R(i,j)]");
    REFUSED_SUM("exists(i: i<2) 1", "2:9: 'exists' stands in conditions, as in "
                                    "[exists(j: ..)]");
    // Functions.
    REFUSED_SUM("exp", "2:9: 'exp' is a function: write exp(..)");
    REFUSED_SUM("exp + 1", "2:9: 'exp' is a function: write exp(..)");
    REFUSED_SUM("Exp(c)", "2:9: 'Exp' is no function; is it 'exp'?");
    REFUSED_SUM("sqtr(c)", "2:9: 'sqtr' is no function; is it 'sqrt'?");
    REFUSED_SUM("mean(c)", "2:9: 'mean' is no function");
    REFUSED_SUM("exp(c,c)", "2:9: 'exp' has 1 argument, not 2");
    REFUSED_SUM("pow(c)", "2:9: 'pow' has 2 arguments, not 1");
    REFUSED_SUM("max(x[0])", "2:9: 'max' has 2 arguments, not 1; over an index "
                             "write maximum(i)");
    REFUSED_SUM("exp()", "2:13: a number, a name or '(' is missing before ')'");
    REFUSED_SUM("detach(c,c)", "2:9: 'detach' has 1 argument, not 2");
}

static void test_sums(void)
{
    REFUSED_SUM("", "2:9: a number, a name or '(' is missing before ';'");
    REFUSED_SUM("(c", "2:11: ')' is missing before ';'");
    REFUSED_SUM("c)", "2:10: ';' is missing before ')'");
    REFUSED_SUM("c c", "2:11: an operator is missing before 'c'");
    REFUSED_SUM("2 [n<m] c", "2:11: an operator is missing before '['");
    REFUSED_SUM("exp(2 c)", "2:15: an operator is missing before 'c'");
    REFUSED_SUM("(c 2)", "2:12: an operator is missing before '2'");
    REFUSED_SUM("(c)(c)", "2:12: an operator is missing before '('");
    REFUSED("in c; out y = c\n2;", "1:16: ';' is missing");
    REFUSED_SUM("c +", "2:12: a number, a name or '(' is missing before ';'");
    REFUSED_SUM("+c", "2:9: a number, a name or '(' is missing before '+'");
    REFUSED_SUM("c^0.5", "2:11: an exponent is a whole number here; for others "
                         "write pow(x, y)");
    REFUSED_SUM("c^n", "2:11: an exponent is a whole number here; for others "
                       "write pow(x, y)");
    REFUSED("in c; out y = c^", "1:17: an exponent is missing");
    REFUSED_SUM("c^2^3", "2:12: a power of a power needs brackets: (x^2)^3");
    REFUSED_SUM("sum x[i]", "2:13: '(' and an index is missing before 'x'");
    REFUSED_SUM("sum() c", "2:13: an index is missing before ')'");
    REFUSED_SUM("sum(i", "2:14: ')' is missing before ';'");
    REFUSED_SUM("sum(i) ", "2:16: a number, a name or '(' is missing before "
                           "';'");
    REFUSED_SUM("sum(2) c", "2:13: an index is missing before '2'");
    REFUSED_SUM("sum(x) c",
            "2:13: 'x' is an input since line 1: take another name");
    REFUSED_SUM("sum(n) c",
            "2:13: 'n' is a size since line 1: take another name");
    REFUSED_SUM("sum(i) sum(i) A[i,i]",
            "2:20: 'i' is an index already; take another name");
    REFUSED_SUM("sum(i,i) A[i,i]",
            "2:15: 'i' is an index already; take another name");
    REFUSED_SUM("sum(i) c", "2:13: the range of 'i' is not known" LONE("i"));
    REFUSED_SUM("sum(i) x?[i]",
            "2:13: the range of 'i' is not known" LONE("i"));
    REFUSED_SUM("sum(i) x[i+1]", "2:13: the range of 'i' is not known"
                LONE("i"));
    REFUSED_SUM("sum(i) x[2*i]", "2:13: the range of 'i' is not known"
                LONE("i"));
    REFUSED_SUM("sum(i) x[-i]", "2:13: the range of 'i' is not known"
                LONE("i"));
    REFUSED_SUM("sum(i: i < n) c",
            "2:13: the range of 'i' is not known" LONE("i"));
    REFUSED_SUM("sum(i) A[i,i]", "2:16: 'i' runs over another range here than "
                                 "before");
    REFUSED_SUM("sum(i,j<i) A[i,j]", "2:17: a range is made of sizes and whole "
                "numbers, not of 'i': write a condition");
    REFUSED_SUM("sum(i in 2) x[i]", "2:19: ':' of a range from:to is missing "
                                    "before ')'");
    REFUSED_SUM("sum(i<c) x[i]", "2:15: 'c' is an input: here are indices, "
                                 "sizes, maps and whole numbers");
    REFUSED_SUM("sum(i) x[i/2]", "2:19: an index is no quotient: write a "
                                 "condition such as [i == 2*j]");
    REFUSED_SUM("sum(i) x[1.0*i]", "2:18: here are whole numbers only");
    REFUSED_SUM("sum(i) x[i*i]",
            "2:19: a product of two names is not affine" WHOLE);
    REFUSED_SUM("sum(i) x[i*-n]",
            "2:18: a product of two names is not affine" WHOLE);
    REFUSED_SUM("sum(i) x[n*i]",
            "2:19: a product of two names is not affine" WHOLE);
    REFUSED_SUM("sum(i) x[c*i]",
            "2:18: 'c' is an input: here are indices, sizes, maps and whole "
            "numbers");
    REFUSED_SUM("sum(i) x[i", "2:19: ']' is missing before ';'");
    REFUSED_SUM("sum(i) x[i)", "2:19: ']' is missing before ')'");
    REFUSED_SUM("sum(i) x[exp(i)]", "2:18: 'exp' is not known here");
    REFUSED("map p[n]->n; in x[n]; out y = x[p];",
            "1:33: 'p' is a map: write p[i]");
    REFUSED("map p[n]->n; in x[n]; out y = x[p[0,1]];",
            "1:36: a map has one index");
    REFUSED("map p[e]->n; in x[n]; out y[i] = x[p[i]]*x[i];",
            "1:42: 'i' runs over another range here than before");
    // A range that differs in one bound only.
    REFUSED("in x[1:n], z[n]; out y[i] = x[i]*z[i];",
            "1:34: 'i' runs over another range here than before");
    REFUSED("in x[n], z[n+1]; out y[i] = x[i]*z[i];",
            "1:34: 'i' runs over another range here than before");
    REFUSED("in x[n], z[2*n]; out y[i] = x[i]*z[i];",
            "1:34: 'i' runs over another range here than before");
}

static void test_conditions_refused(void)
{
    REFUSED_IF("", "3:19: an index or a whole number is missing before ']'");
    REFUSED_IF("i", "3:20: a comparison such as '<' or '==' is missing before "
                    "']'");
    REFUSED_IF("i = j", "3:21: to compare, write ==");
    REFUSED_IF("0 < i = j", "3:25: to compare, write ==");
    REFUSED_IF("i <", "3:22: an index or a whole number is missing before ']'");
    REFUSED_IF("(i < j)", "3:22: a condition has no brackets around it; for "
               "two of them write [..] [..]");
    REFUSED_IF("(i,j) == 1", "3:21: ')' is missing before ','");
    REFUSED_IF("i < c", "3:23: 'c' is an input: here are indices, sizes, maps "
                        "and whole numbers");
    REFUSED_IF("i < x[0]",
            "3:23: 'x' is an input: here are indices, sizes, maps and whole "
            "numbers");
    REFUSED_IF("R", "3:20: '(' is missing before ']'");
    REFUSED_IF("R(i)", "3:19: 'R' has 2 indices, not 1");
    REFUSED_IF("R(i,j,0)", "3:19: 'R' has 2 indices, not 3");
    REFUSED_IF("R(i,j", "3:24: ')' is missing before ']'");
    REFUSED_IF("T(i,j)", "3:19: 'T' is no relation");
    REFUSED_IF("c(i,j)", "3:19: 'c' is no relation");
    REFUSED_IF("i < R",
            "3:23: 'R' is a relation: here are indices, sizes, maps and "
            "whole numbers");
    REFUSED_IF("exists", "3:25: '(' is missing before ']'");
    REFUSED_IF("exists(k<2)", "3:29: ':' and a condition is missing before "
                              "')'");
    REFUSED_IF("exists(k: k<i)",
            "3:26: the range of 'k' is not known" LONE("k"));
    REFUSED_IF("exists(k: R(k,k))", "3:29: 'k' runs over another range here "
                                    "than before");
    REFUSED_IF("exists(k: R(k,j)), k<2",
               "3:38: 'k' ends before: a sum reaches over a product; for more, "
               "write sum(k) (..+..)");
    REFUSED_IF("exists(i: R(i,j))",
            "3:26: 'i' is an index already; take another name");
    REFUSED_IF("i<j,", "3:23: an index or a whole number is missing before "
                       "']'");
    REFUSED_IF("i<j |", "3:24: an index or a whole number is missing before "
                        "']'");
}

/* --- limits --------------------------------------------------------------- */

static void put_times(page *p, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_text(p, text);
}

// before^n middle after^n, in an expression.
static ad_status nested(const char *before, const char *middle,
                        const char *after, size_t n, ad_tensor_error *e)
{
    page p = { NULL, 0, 0 };
    ad_tensor *t = NULL;
    put_text(&p, "rel R[n]; map p[n]->n; in x[n], c; out y = ");
    put_times(&p, before, n);
    put_text(&p, middle);
    put_times(&p, after, n);
    put_text(&p, ";");
    ad_status s = ad_tensor_new(&t, p.text, NULL, e);
    if (s == ADREV_OK) {
        page first = printed(t);
        check_order(&t->tree);
        free(first.text);
    }
    ad_tensor_free(t);
    free(p.text);
    return s;
}

static void test_nesting(void)
{
    static const struct { const char *before, *middle, *after; } of[] = {
        { "(", "c", ")" }, { "exp(", "c", ")" }, { "-(", "c", ")^2" },
        { "[0<n] ", "c", "" }, { "1+2*(", "c", "+c)/3" },
        { "max(c,", "c", ")" }, { "-[n!=0] (", "c", ")" },
        { "[0<n] -(-[1<n] ", "c", ")" },
        { "add(c,", "c", ")" },
    };
    ad_tensor_error e;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        size_t levels = i == 6 ? 2 : i == 7 ? 3 : 1;     // each of them
        size_t most = 200 / levels;
        e.text[0] = '\0';
        CHECK(nested(of[i].before, of[i].middle, of[i].after, most, &e)
              == ADREV_OK, "%s: %s", of[i].before, e.text);
        CHECK(nested(of[i].before, of[i].middle, of[i].after, most + 1, &e)
              == ADREV_ESYNTAX
              && strstr(e.text, ": this is nested deeper than 200 levels\n"),
              "%s: %s", of[i].before, e.text);
        CHECK(nested(of[i].before, of[i].middle, of[i].after, 1000000, &e)
              == ADREV_ESYNTAX
              && strstr(e.text, ": this is nested deeper than 200 levels\n"),
              "%s: %s", of[i].before, e.text);
    }
    CHECK(nested("x[p[", "0", "]]", 1, &e) == ADREV_OK, "a map");
    CHECK(nested("(", "x[p[p[0]]+(1)]", ")", 198, &e) == ADREV_OK, "maps");
    CHECK(nested("(", "x[p[p[(0)]]]", ")", 198, &e) != ADREV_OK, "maps");
    CHECK(nested("(", "[R(p[0])] [exists(k: R(k))] 1", ")", 196, &e)
          == ADREV_OK, "conditions: %s", e.text);
    CHECK(nested("(", "[R(p[0])] [exists(k: R(k))] 1", ")", 197, &e)
          != ADREV_OK, "conditions");
    CHECK(nested("(", "[exists(k: R(k))] 1", ")", 199, &e) != ADREV_OK,
          "conditions");
    // No brackets: as many as there are.
    CHECK(nested("-", "c", "", 1000000, &e) == ADREV_OK, "signs");
    CHECK(nested("c-", "c", "", 300000, &e) == ADREV_OK, "sums");
    CHECK(nested("c/", "c", "", 300000, &e) == ADREV_OK, "products");
    CHECK(nested("", "[0<n", "<n", 100000, &e) == ADREV_ESYNTAX, "chains");
    CHECK(nested("", "x[0", "+n-n", 100000, &e) == ADREV_ESYNTAX, "forms");
    CHECK(nested("/**/", "c", "", 100000, &e) == ADREV_OK, "comments");
}

static void test_limits(void)
{
    ad_tensor_error e;
    ad_tensor *t = NULL;
    EXPRESSION("sum(abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefg"
               "hijk<1) 1", "sum(abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrst"
               "uvwxyzabcdefghijk<1) 1");
    for (int n = 32; n <= 33; n++) {            // indices in one place
        page p = { NULL, 0, 0 };
        put_text(&p, "in x[1");
        put_times(&p, ",1", (size_t)n - 1);
        put_text(&p, "]; out y = x[0");
        put_times(&p, ",0", (size_t)n - 1);
        put_text(&p, "];");
        ad_status s = ad_tensor_new(&t, p.text, NULL, &e);
        CHECK(n == 32 ? s == ADREV_OK : s == ADREV_ESYNTAX, "%d dimensions", n);
        ad_tensor_free(t);
        p.n = 0;
        put_text(&p, "out y = sum(a0<1");
        for (int i = 1; i < n; i++) {
            char name[20];
            snprintf(name, sizeof name, ",a%d<2", i);
            put_text(&p, name);
        }
        put_text(&p, ") 1;");
        s = ad_tensor_new(&t, p.text, NULL, &e);
        CHECK(n == 32 ? s == ADREV_OK : s == ADREV_ESYNTAX
              && strstr(e.text, "more than 32 indices in one place"),
              "%d indices: %s", n, e.text);
        ad_tensor_free(t);
        free(p.text);
    }
    for (int n = 64; n <= 65; n++) {            // terms of a form
        page p = { NULL, 0, 0 };
        put_text(&p, "in x[a0");
        for (int i = 1; i < n; i++) {
            char name[20];
            snprintf(name, sizeof name, "+a%d", i);
            put_text(&p, name);
        }
        put_text(&p, "]; out y = x[0];");
        ad_status s = ad_tensor_new(&t, p.text, NULL, &e);
        CHECK(n == 64 ? s == ADREV_OK : s == ADREV_ESYNTAX
              && strstr(e.text, "this has more than 64 terms"), "%d terms", n);
        ad_tensor_free(t);
        free(p.text);
    }
}

// Seconds for a text of so many formulas, each with names of its own.
static double seconds_for(size_t formulas, int kind)
{
    page p = { NULL, 0, 0 };
    char line[100];
    double best = 1e9;
    put_text(&p, "in x0[n];\n");
    for (size_t i = 1; i <= formulas; i++) {
        snprintf(line, sizeof line, kind == 0
                 ? "x%zu[i] = 0.5*x%zu[i] + sum(k<3) x0?[i-k];\n"
                 : kind == 1 ? "in a%zu[s%zu];\n"
                 : "/* %zu */ /* %zu */\n", i, i - 1);
        put_text(&p, line);
    }
    put_text(&p, "out y = 1;");
    for (int i = 0; i < 3; i++) {
        ad_tensor *t;
        clock_t begin = clock();
        CHECK(ad_tensor_new(&t, p.text, NULL, NULL) == ADREV_OK, "long");
        double took = (double)(clock() - begin) / CLOCKS_PER_SEC;
        best = took < best ? took : best;
        ad_tensor_free(t);
    }
    free(p.text);
    return best;
}

// Of maps of maps, which differ only where they end.
static void put_maps(page *p, int depth, int *leaf)
{
    char number[20];
    snprintf(number, sizeof number, "i+%d", ++*leaf);
    if (depth == 0) {
        put_text(p, number);
        return;
    }
    put_text(p, "p[");
    put_maps(p, depth - 1, leaf);
    put_text(p, "]+p[");
    put_maps(p, depth - 1, leaf);
    put_text(p, "]");
}

static double seconds_for_maps(int depth)
{
    page p = { NULL, 0, 0 };
    int leaf = 0;
    ad_tensor *t;
    put_text(&p, "in x[n]; map p[n]->n; out y[i<n] = x[");
    put_maps(&p, depth, &leaf);
    put_text(&p, "];");
    clock_t begin = clock();
    CHECK(ad_tensor_new(&t, p.text, NULL, NULL) == ADREV_OK, "maps");
    double took = (double)(clock() - begin) / CLOCKS_PER_SEC;
    ad_tensor_free(t);
    free(p.text);
    return took;
}

static void test_long_texts(void)
{
    // 16 times as long, and each level is compared once.
    double few = seconds_for_maps(12);
    double many = seconds_for_maps(16);
    CHECK(many < 70 * few + 0.1, "maps: %g s, 16 times as long %g s", few,
          many);
    for (int kind = 0; kind < 3; kind++) {
        double small = seconds_for(2000, kind);
        double large = seconds_for(32000, kind);
        // 16 times as long; a square would be 256.
        CHECK(large < 70 * small + 0.02, "kind %d: %g s, 16 times as long %g s",
              kind, small, large);
    }
}

/* --- the interface -------------------------------------------------------- */

static void test_interface(void)
{
    ad_tensor *t = NULL;
    ad_tensor_error e = { 1, 1, "x" };
    CHECK(ad_tensor_new(NULL, "out y = 1;", NULL, &e) == ADREV_ESHAPE, "out");
    t = (ad_tensor *)&e;
    CHECK(ad_tensor_new(&t, NULL, NULL, &e) == ADREV_ESHAPE && t == NULL
          && e.line == 0 && e.column == 0
          && strcmp(e.text, ad_message(ADREV_ESHAPE)) == 0, "text");
    CHECK(ad_tensor_new(&t, NULL, NULL, NULL) == ADREV_ESHAPE, "no error");
    CHECK(ad_tensor_new(&t, "x", NULL, NULL) == ADREV_ESYNTAX && t == NULL,
          "no error");
    ad_tensor_free(NULL);

    // What is given may go away.
    heap h = { 0 };
    ad_allocator a = { heap_alloc, heap_free, &h };
    ad_tensor_options o = { .allocator = &a, .as_written = true };
    char text[] = "in x[n]; out y[i] = 2*x[i];";
    CHECK(ad_tensor_new(&t, text, &o, NULL) == ADREV_OK, "a text");
    memset(text, '@', sizeof text);
    memset(&a, 0, sizeof a);
    o.as_written = false;
    CHECK(t->options.as_written && !t->options.fused
          && t->options.allocator == &t->memory, "options");
    page p = printed(t);
    CHECK(strcmp(p.text, "in x[n];\nout y[i<n] = 2*x[i];\n") == 0, "%s",
          p.text);
    free(p.text);
    CHECK(h.live > 0, "its memory");
    ad_tensor_free(t);
    CHECK(h.live == 0, "%zu blocks are left", h.live);
    o.allocator = &a;           // half an allocator is none
    CHECK(ad_tensor_new(&t, "out y = 1;", &o, NULL) == ADREV_OK, "defaults");
    ad_tensor_free(t);
}

static void test_memory(void)
{
    // With a name that is refused late, too.
    for (int k = 0; k < 2 * (PROGRAMS + 1); k++)
        for (size_t n = 1, done = 0; !done; n++) {
            heap h = { .failing = n, .for_ever = k % 2 == 1 };
            const ad_allocator a = { heap_alloc, heap_free, &h };
            const ad_tensor_options o = { .allocator = &a };
            const char *text = k / 2 < PROGRAMS ? program[k / 2]
                             : LEAST_SQUARES " out z = q;";
            ad_status want = k / 2 < PROGRAMS ? ADREV_OK : ADREV_ESYNTAX;
            ad_tensor *t = (ad_tensor *)&h;
            ad_tensor_error e;
            ad_status s = ad_tensor_new(&t, text, &o, &e);
            done = h.allocations < n;
            CHECK(s == (done ? want : ADREV_ENOMEM), "program %d, allocation "
                  "%zu: %s", k / 2, n, ad_message(s));
            CHECK((s == ADREV_OK) == (t != NULL), "*out");
            CHECK(done || (e.line == 0 && e.column == 0
                           && strcmp(e.text, ad_message(ADREV_ENOMEM)) == 0),
                  "%s", e.text);
            ad_tensor_free(t);
            CHECK(h.live == 0, "program %d, allocation %zu: %zu blocks are "
                  "left", k / 2, n, h.live);
        }
}

/* --- mutated texts -------------------------------------------------------- */

static const char *const snippet[] = {
    "in ", "out ", "rel ", "map ", "sum(", "maximum(", "exists(", "x", "n",
    "i", "j", "A", "R", "[", "]", "(", ")", ",", ";", ":", "=", "==", "!=",
    "<", "<=", ">", ">=", "+", "-", "*", "/", "^", "|", "?", "->", "0", "1",
    "2.5", "1e9", "9223372036854775807", "9999999999", " ", "\n", "\t", "/*",
    "*/", "exp(", "detach(", "max(", "\xc3\xa4", "\xff", "@", "[i<j] ",
    "x?[i]", "sum(k<n) ", "(-", "in 1:n", "src[",
};

static char *mutated(void)
{
    page p = { NULL, 0, 0 };
    const char *from = program[below(PROGRAMS)];
    put_text(&p, from);
    for (uint32_t k = below(4); k < 4; k++) {
        size_t at = below((uint32_t)p.n + 1);
        size_t gone = below(3) == 0 ? below(8) : below(2);
        gone = gone > p.n - at ? p.n - at : gone;
        page q = { NULL, 0, 0 };
        put(p.text, at, &q);
        uint32_t what = below(8);
        if (what < 5)
            put_text(&q, snippet[below(sizeof snippet / sizeof *snippet)]);
        else if (what == 5 && p.n > 0) {        // a piece of the same text
            size_t from_at = below((uint32_t)p.n);
            size_t n = below(20);
            put(p.text + from_at, n > p.n - from_at ? p.n - from_at : n, &q);
        }
        put(p.text + at + gone, p.n - at - gone, &q);
        free(p.text);
        p = q;
    }
    return p.text;
}

// What an error must be, whatever the text.
static void check_error(const char *text, const ad_tensor_error *e)
{
    char place[40];
    int line = 1;
    int column = 1;
    snprintf(place, sizeof place, "%d:%d: ", e->line, e->column);
    bool right = strncmp(e->text, place, strlen(place)) == 0;
    bool there = false;
    for (const char *c = text;; c++) {
        there = there || (line == e->line && column == e->column);
        if (*c == '\0')
            break;
        column = *c == '\n' ? 1 : column + adx_begins_character(c[1]);
        line += *c == '\n';
    }
    const char *shown = strchr(e->text, '\n');
    const char *caret = shown == NULL ? NULL : strchr(shown + 1, '\n');
    right = right && caret != NULL && caret[strlen(caret) - 1] == '^'
         && strlen(e->text) < sizeof e->text;
    for (const char *c = e->text; *c != '\0'; c++)
        right = right && (*c == '\n' || (unsigned char)*c >= ' ');
    CHECK(right && there, "%s\nis refused with\n%s", text, e->text);
}

static void test_mutated(int texts)
{
    int accepted = 0;
    for (int i = 0; i < texts; i++) {
        char *text = mutated();
        ad_tensor *t = NULL;
        ad_tensor_error e = { -1, -1, "" };
        ad_status s = ad_tensor_new(&t, text, NULL, &e);
        CHECK(s == ADREV_OK || s == ADREV_ESYNTAX, "%s", ad_message(s));
        if (s == ADREV_OK) {
            page p = printed(t);
            check_order(&t->tree);
            understood_at(p.text, p.text, __LINE__);
            free(p.text);
            accepted++;
        } else
            check_error(text, &e);
        ad_tensor_free(t);
        free(text);
    }
    CHECK(accepted > texts / 50 && accepted < texts - texts / 50,
          "%d of %d are accepted", accepted, texts);
}

/* --- docs/tensor-language.md --------------------------------------------- */

// Every text that it shows is right, but for the one of an error.
static void test_documentation(void)
{
    FILE *file = fopen("docs/tensor-language.md", "r");
    char line[1000];
    bool open = false;
    int texts = 0;
    page p = { NULL, 0, 0 };
    CHECK(file != NULL, "docs/tensor-language.md");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        bool fence = strncmp(line, "```", 3) == 0;
        bool text = strncmp(p.text == NULL ? "" : p.text, "in ", 3) == 0
                 || strncmp(p.text == NULL ? "" : p.text, "rel ", 4) == 0
                 || strncmp(p.text == NULL ? "" : p.text, "map ", 4) == 0;
        if (fence && open && text) {
            ad_tensor_free(read_text(p.text, __LINE__));
            texts++;
        }
        if (fence) {
            open = !open;
            p.n = 0;
            put_text(&p, "");
        } else if (open)
            put_text(&p, line);
    }
    CHECK(texts >= 6, "%d texts", texts);
    free(p.text);
    if (file != NULL)
        fclose(file);
}

int main(int argc, char **argv)
{
    test_programs();
    test_tree();
    test_expressions();
    test_indices();
    test_conditions();
    test_numbers();
    test_messages();
    test_shortened();
    test_words();
    test_items();
    test_sizes();
    test_names();
    test_sums();
    test_conditions_refused();
    test_nesting();
    test_limits();
    test_long_texts();
    test_interface();
    test_memory();
    test_documentation();
    test_mutated(argc > 1 ? atoi(argv[1]) : 100000 / ONE_IN(25));
    return check_done("syntax");
}
