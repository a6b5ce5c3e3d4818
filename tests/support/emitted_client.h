// SPDX-License-Identifier: MIT-0
/* emitted_client.h - calls generated code by CasADi's interface, as CasADi
 * does, and knows nothing else of it. Part of the driver that emitted.c writes,
 * whose check(), begin(), work and EPS it uses.                              */

#include <string.h>

struct matrix {
    int rows, cols, filled, transposed;
    const real *v;
};

struct client {
    const char *name;
    int (*eval)(const real **, real **, client_int *, real *, int);
    client_int (*n_in)(void), (*n_out)(void);
    const char *(*name_in)(client_int), *(*name_out)(client_int);
    const client_int *(*sparsity_in)(client_int);
    const client_int *(*sparsity_out)(client_int);
    int (*work)(client_int *, client_int *, client_int *, client_int *);
    real (*default_in)(client_int);
    int (*alloc_mem)(void), (*init_mem)(int), (*checkout)(void);
    void (*free_mem)(int), (*release)(int), (*incref)(void),
         (*decref)(void);
};

static client_int nonzeros(const client_int *s)
{
    return s[2] == 1 ? s[0] * s[1] : s[2 + s[1]];
}

static void check_names(const struct client *c, const char *want,
                        client_int n, const char *(*name)(client_int))
{
    char all[200] = { 0 };
    client_int i;
    for (i = 0; i < n; i++) {
        strcat(all, name(i));
        strcat(all, " ");
    }
    check(strcmp(all, want) == 0 && !name(n) && !name(-1), c->name, -10,
          (double)n, 0);
}

// Sorted entries within the matrix, or none, or all of them.
static void check_shape(const struct client *c, const client_int *s,
                        const struct matrix *m)
{
    client_int j, k, nnz = nonzeros(s);
    const client_int *row = s + 3 + s[1];
    check(s[0] == m->rows && s[1] == m->cols, c->name, -11,
          (double)s[0], m->rows);
    check(m->filled || nnz == 0, c->name, -12, (double)nnz, 0);
    for (j = 0; s[2] != 1 && j < s[1]; j++)
        for (k = s[2 + j]; k < s[3 + j]; k++)
            check(row[k] >= 0 && row[k] < s[0]
                  && (k == s[2 + j] || row[k] > row[k - 1]), c->name,
                  -13, (double)row[k], 0);
}

// The nonzeros as a dense matrix by rows.
static void spread(const client_int *s, const real *v, real *full)
{
    client_int i, j, k;
    for (i = 0; i < s[0] * s[1]; i++)
        full[i] = 0;
    for (j = 0; j < s[1]; j++)
        if (s[2] == 1)
            for (i = 0; i < s[0]; i++)
                full[i * s[1] + j] = v[j * s[0] + i];
        else
            for (k = s[2 + j]; k < s[3 + j]; k++)
                full[s[3 + s[1] + k] * s[1] + j] = v[k];
}

static void check_values(const struct client *c, const client_int *s,
                         const real *v, const struct matrix *m)
{
    real full[400];
    double sum = 0;
    int i, j;
    spread(s, v, full);
    for (i = 0; i < m->rows * m->cols && m->filled; i++)
        sum += fabs((double)m->v[i]);
    for (i = 0; i < m->rows && m->filled; i++)
        for (j = 0; j < m->cols; j++) {
            double a = (double)full[i * m->cols + j];
            double b = (double)m->v[m->transposed ? j * m->rows + i
                                                  : i * m->cols + j];
            check(fabs(a - b) <= 4 * EPS * sum, c->name, i, a, b);
        }
}

// One call. Bit i of none: argument i is NULL. Bit r of wanted: result r
// is asked for.
static int call(const struct client *c, const struct matrix *in, int none,
                int wanted, real got[3][400])
{
    const real *arg[8] = { 0 };
    real *res[8] = { 0 };
    client_int sz_arg, sz_res, sz_iw, sz_w, iw[1], i;
    int mem, code;
    begin(1, c->name);
    code = c->work(&sz_arg, &sz_res, &sz_iw, &sz_w);
    check(code == 0 && sz_arg >= c->n_in() && sz_arg <= 8 && sz_iw == 0
          && sz_res >= c->n_out() && sz_res <= 8 && sz_w < 60000,
          c->name, -14, (double)sz_w, 0);
    for (i = 0; i < c->n_in(); i++)
        arg[i] = none >> i & 1 ? 0 : in[i].v;
    for (i = 0; i < c->n_out(); i++)
        res[i] = wanted >> i & 1 ? got[i] : 0;
    for (i = 0; i < 1200; i++)
        got[i / 400][i % 400] = (real)-12345.5;
    c->incref();
    mem = c->checkout();
    code = c->eval(arg, res, iw, work, mem);
    c->release(mem);
    c->decref();
    for (i = sz_w; i < 60000; i++)
        if (work[i] < (real)-77.25 || work[i] > (real)-77.25)
            check(0, c->name, -15, (double)i, (double)sz_w);
    for (i = 0; i < c->n_out(); i++) {
        client_int k = res[i] && code == 0
            ? nonzeros(c->sparsity_out(i)) : 0;
        for (; k < 400; k++)
            if (got[i][k] < (real)-12345.5 || got[i][k] > (real)-12345.5)
                check(0, c->name, -16, (double)got[i][k], (double)i);
    }
    return code;
}

// An argument that is not given is one of zeros.
static void play_without(const struct client *c, const struct matrix *in,
                         int without)
{
    static const real zeros[400];
    static real got[3][400], want[3][400];
    struct matrix other[8];
    int i, code;
    for (i = 0; i < (int)c->n_in(); i++)
        other[i] = in[i];
    other[without].v = zeros;
    code = call(c, other, 0, 7, want);
    check(call(c, in, 1 << without, 7, got) == code, c->name, -17, code,
          without);
    check(memcmp(got, want, sizeof got) == 0, c->name, -18, 0, without);
}

static void play(const struct client *c, const char *in_names,
                 const char *out_names, const struct matrix *in,
                 const struct matrix *out, int want_code)
{
    static real got[3][400], alone[3][400];
    int i, code, n = (int)c->n_out();
    check_names(c, in_names, c->n_in(), c->name_in);
    check_names(c, out_names, n, c->name_out);
    check(!c->sparsity_in(c->n_in()) && !c->sparsity_out(n), c->name, -19,
          0, 0);
    check(c->init_mem(c->alloc_mem()) == 0 && !(c->default_in(0) < 0)
          && !(c->default_in(0) > 0), c->name, -20, 0, 0);
    c->free_mem(0);
    for (i = 0; i < (int)c->n_in(); i++)
        check_shape(c, c->sparsity_in(i), &in[i]);
    for (i = 0; i < n; i++)
        check_shape(c, c->sparsity_out(i), &out[i]);
    code = call(c, in, 0, 7, got);
    check(code == want_code, c->name, -21, code, want_code);
    for (i = 0; i < n && code == 0; i++) {
        check_values(c, c->sparsity_out(i), got[i], &out[i]);
        check(call(c, in, 0, 1 << i, alone) == 0, c->name, -22, 0, i);
        check(memcmp(got[i], alone[i], sizeof got[i]) == 0, c->name, -23,
              0, i);
    }
    check(call(c, in, 0, 0, alone) == 0, c->name, -24, 0, 0);
    for (i = 0; i < (int)c->n_in(); i++)
        if (in[i].filled)
            play_without(c, in, i);
}
