// tags: part
// Judges the twins that adrev-port made (port.sh): values bit by bit against
// the originals, derivatives of reverse and forward mode against differences
// in 113 bits. Each case runs in a process of its own.
// SPDX-License-Identifier: MIT-0
#define ADREV_IMPLEMENTATION
#include "adrev.h"
#include "cases.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 256 };

typedef struct port_case {
    const char *name;
    int n;
    int m;
    int points;
    double tolerance;
    const double *at;
    const double *jacobian;
} port_case;

#define PORT_ROW(name, n, m, points, tolerance, jacobian)                   \
    { #name, n, m, points, tolerance, name##_at, jacobian },
static const port_case cases[] = { PORT_CASES(PORT_ROW) };

extern void (*const port_plain[])(const double *, double *);
extern void (*const port_ad_rev[])(const ad_rev *, ad_rev *);
extern void (*const port_ad_fwd[])(const ad_fwd *, ad_fwd *);
extern int (*const port_quad)(int, int, int, const double *, double *);

static int passed, failed;

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void check_values(const port_case *c, const char *mode, int point,
                         const double *got, const double *want)
{
    for (int i = 0; i < c->m; i++) {
        const bool right = same_bits(got[i], want[i]);
        passed += right;
        failed += !right;
        if (!right)
            printf("%s: point %d, %s: y[%d] = %.17g in place of %.17g\n",
                   c->name, point + 1, mode, i, got[i], want[i]);
    }
}

static double row_size(const double *row, int n)
{
    double size = 0;
    for (int j = 0; j < n; j++)
        size = fmax(size, fabs(row[j]));
    return size;
}

static bool close_to(const port_case *c, double got, double want, double size)
{
    const double slack = c->tolerance * (fabs(want) + 1e-3 * size);
    return same_bits(got, want) || got == want || fabs(got - want) <= slack;
}

static void check_jacobian(const port_case *c, const char *mode, int point,
                           const double *got, const double *want)
{
    for (int i = 0; i < c->m; i++)
        for (int j = 0; j < c->n; j++) {
            const int k = i * c->n + j;
            const double size = row_size(want + i * c->n, c->n);
            const bool right = close_to(c, got[k], want[k], size);
            passed += right;
            failed += !right;
            if (!right)
                printf("%s: point %d, %s: dy[%d]/dx[%d] = %.17g in place of "
                       "%.17g\n", c->name, point + 1, mode, i, j, got[k],
                       want[k]);
        }
}

static void reverse(const port_case *c, const double *at, double *y, double *J)
{
    ad_rev x[MOST], r[MOST] = { 0 };
    ad_tape *t = ad_tape_new();
    ad_use(t);
    ad_inputs((size_t)c->n, at, x);
    port_ad_rev[c - cases](x, r);
    for (int i = 0; i < c->m; i++) {
        double *row = J + i * c->n;
        ad_status s;
        y[i] = ad_value(r[i]);
        s = ad_gradient(t, r[i], (size_t)c->n, x, row);
        if (s == ADREV_EPASSIVE)
            memset(row, 0, (size_t)c->n * sizeof *row);
        else if (s != ADREV_OK && ++failed)
            printf("%s: y[%d]: %s\n", c->name, i, ad_message(s));
    }
    ad_tape_free(t);
}

static void forward(const port_case *c, const double *at, double *y, double *J)
{
    ad_fwd x[MOST];
    for (int j = 0; j < c->n; j++) {
        ad_fwd r[MOST] = { 0 };
        for (int i = 0; i < c->n; i++) {
            x[i].v = at[i];
            x[i].d = i == j;
        }
        port_ad_fwd[c - cases](x, r);
        for (int i = 0; i < c->m; i++) {
            y[i] = r[i].v;
            J[i * c->n + j] = r[i].d;
        }
    }
}

// By central differences in double, extrapolated: for originals that need
// numbers of 8 bytes.
static void differences(const port_case *c, const double *at, double *J)
{
    double x[MOST], y[4][MOST] = { { 0 } };
    memcpy(x, at, (size_t)c->n * sizeof *x);
    for (int j = 0; j < c->n; j++) {
        const double h = 1e-3 * (fabs(at[j]) + 1e-3);
        for (int k = 0; k < 4; k++) {
            x[j] = at[j] + (k < 2 ? h : 2 * h) * (k % 2 ? -1 : 1);
            port_plain[c - cases](x, y[k]);
        }
        x[j] = at[j];
        for (int i = 0; i < c->m; i++)
            J[i * c->n + j] = (8 * (y[0][i] - y[1][i]) - (y[2][i] - y[3][i]))
                              / (12 * h);
    }
}

static void ask_oracle(const port_case *c, int point, double *J)
{
    const double *at = c->at + point * c->n;
    if (c->jacobian != NULL && point == 0)
        memcpy(J, c->jacobian, (size_t)(c->m * c->n) * sizeof *J);
    else if (port_quad((int)(c - cases), c->n, c->m, at, J) != 0)
        differences(c, at, J);
}

static void judge(const port_case *c, int point)
{
    static double want[MOST], y[MOST], J[MOST * MOST], oracle[MOST * MOST];
    const double *at = c->at + point * c->n;
    memset(want, 0, sizeof want);
    port_plain[c - cases](at, want);
    ask_oracle(c, point, oracle);
    memset(J, 0x7f, sizeof J);
    reverse(c, at, y, J);
    check_values(c, "reverse", point, y, want);
    check_jacobian(c, "reverse", point, J, oracle);
    memset(J, 0x7f, sizeof J);
    forward(c, at, y, J);
    check_values(c, "forward", point, y, want);
    check_jacobian(c, "forward", point, J, oracle);
}

// The child's counts, or a failure if it does not come to its end.
static void judge_apart(const port_case *c)
{
    int ends[2], counts[2] = { 0, 1 };
    pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child == 0) {
        passed = failed = 0;
        alarm(20);
        for (int point = 0; point < c->points; point++)
            judge(c, point);
        fflush(stdout);
        counts[0] = passed;
        counts[1] = failed;
        _exit(write(ends[1], counts, sizeof counts) != sizeof counts);
    }
    close(ends[1]);
    if (read(ends[0], counts, sizeof counts) != sizeof counts)
        printf("%s: does not come to its end\n", c->name);
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    passed += counts[0];
    failed += counts[1];
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        judge_apart(&cases[i]);
        fflush(stdout);
    }
    printf("port: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
