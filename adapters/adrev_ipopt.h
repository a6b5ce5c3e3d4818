/* adrev_ipopt.h - nonlinear programs for Ipopt, with sparse Jacobian and exact
 * sparse Hessian of the Lagrangian.
 *
 *     minimise f(x)   where   g_lower <= g(x) <= g_upper,  x_lower <= x <=
 *     x_upper
 *
 * One function computes both: y[0] = f(x), and y[1] ... are g(x).
 *
 *     #include "adrev_ipopt.h"
 *
 *     ad_model *m = ad_model_vector(program, NULL, 4, 1 + 2);
 *     ad_ipopt p = { m };
 *     p.x_lower = low;  p.x_upper = high;
 *     p.g_lower = least;  p.g_upper = most;
 *     p.options = "print_level=0 tol=1e-9";
 *     enum ApplicationReturnStatus found = ad_ipopt_solve(&p, x);
 *     ... p.f, ad_model_status(m) ...
 *     ad_model_free(m);
 *
 * Debian: coinor-libipopt-dev (or a later Ipopt, found by its pkg-config file);
 * link with -lipopt -lm.
 *
 * SPDX-License-Identifier: MIT-0
 */

#ifndef ADREV_IPOPT_H
#define ADREV_IPOPT_H

#include "adrev_model.h"

#include <stdio.h>
#if defined __has_include
#if __has_include(<coin/IpStdCInterface.h>)
#include <coin/IpStdCInterface.h>
#define ADX_IPOPT_FOUND
#elif __has_include(<coin-or/IpStdCInterface.h>)
#include <coin-or/IpStdCInterface.h>
#define ADX_IPOPT_FOUND
#endif
#endif
#ifndef ADX_IPOPT_FOUND
#include <IpStdCInterface.h>
#endif

// Since 3.14 its types have other names.
#ifdef IPOPT_VERSION_MAJOR
typedef ipindex adx_ipopt_index;
typedef ipnumber adx_ipopt_number;
typedef bool adx_ipopt_bool;
#else
typedef Index adx_ipopt_index;
typedef Number adx_ipopt_number;
typedef Bool adx_ipopt_bool;
#endif
ADX_STATIC_ASSERT(sizeof(adx_ipopt_number) == sizeof(double),
                  "adrev_ipopt.h needs an Ipopt that computes with double");

// A problem, its options and what was found. Zero all but what you need. Arrays
// are yours.
typedef struct ad_ipopt {
    ad_model *model;            // y[0]: the objective; y[1] ... the constraints
    const double *x_lower;      // [n] bounds; NULL: none. Equal bounds fix a
    const double *x_upper;      // variable; beyond +-1e19, or infinite: none
    const double *g_lower;      // [outputs - 1], the same; NULL: none
    const double *g_upper;
    const char *options;        // "NAME=VALUE NAME=VALUE ...", Ipopt's options.
                                // A whole number is an integer; write 1.0 for
                                // options that are real numbers
    bool first_order;           // no Hessian: Ipopt approximates it. For models
                                // with external statements that have none
    Intermediate_CB each;       // called in each iteration; false stops Ipopt
    void *user;                 // given to it

    double f;                   // out: the objective at x
    double *g;                  // [outputs - 1] out; these four may be NULL
    double *lambda;             // [outputs - 1] out: multipliers of g; in, for
    double *z_lower;            // [n] the option warm_start_init_point=yes; the
    double *z_upper;            // same for bounds of x
} ad_ipopt;

/* --- patterns ---------------------------------------------------------------
 * Ipopt is told once where entries may stand. Another path of the model may
 * have others: if all of them were told, they are put in place; if not, they
 * are added, and Ipopt is started again where it was. Entries may then be told
 * twice: all but one of them stay 0, and Ipopt adds them.                    */

typedef struct adx_ipopt_pattern {
    size_t count;               // triplets of all paths so far
    int32_t *row;               // [count]
    int32_t *column;
    size_t dense;               // of these: the whole of row 0, at first
    ad_export *form;            // of the present path, into the triplets
} adx_ipopt_pattern;

static inline void adx_ipopt_pattern_free(adx_ipopt_pattern *p)
{
    ad_export_free(p->form);
    free(p->row);
    free(p->column);
    memset(p, 0, sizeof *p);
}

// Room for so many more entries.
static inline bool adx_ipopt_pattern_reserve(adx_ipopt_pattern *p, size_t more)
{
    const size_t size = (p->count + more + 1) * sizeof *p->row;
    int32_t *row = (int32_t *)realloc(p->row, size);
    if (row != NULL)
        p->row = row;
    int32_t *column = (int32_t *)realloc(p->column, size);
    if (column != NULL)
        p->column = column;
    return row != NULL && column != NULL;
}

// The triplets of a whole row 0, and no others.
static inline bool adx_ipopt_pattern_begin(adx_ipopt_pattern *p, size_t dense)
{
    if (!adx_ipopt_pattern_reserve(p, dense))
        return false;
    for (size_t j = 0; j < dense; j++) {
        p->row[j] = 0;
        p->column[j] = (int32_t)j;
    }
    p->count = p->dense = dense;
    return true;
}

// Adds the entries of the present path, behind the others.
static inline ad_status adx_ipopt_pattern_grow(adx_ipopt_pattern *p)
{
    const size_t own = ad_export_entries(p->form, NULL, NULL);
    if (!adx_ipopt_pattern_reserve(p, own))
        return ADREV_ENOMEM;
    int32_t *row = p->row + p->count;
    int32_t *column = p->column + p->count;
    ad_status status = ad_export_pattern(p->form, NULL, row, column);
    for (size_t k = 0; k < own && status == ADREV_OK; k++)
        if (p->dense == 0 || row[k] > 0) {
            p->row[p->count] = row[k];
            p->column[p->count++] = column[k];
        }
    return status;
}

// Has values of the model go to the triplets, which may grow for that.
static inline ad_status adx_ipopt_pattern_fit(adx_ipopt_pattern *p,
                                              const ad_model *m, bool hessian,
                                              bool *grown)
{
    ad_export_free(p->form);
    p->form = NULL;
    ad_status status = adx_model_export(m, hessian, NULL, &p->form);
    for (int tries = 0; status == ADREV_OK; tries++) {
        ad_matrix all;
        memset(&all, 0, sizeof all);
        ad_export_entries(p->form, &all.rows, &all.columns);
        all.entries = p->count;
        all.row = p->row;
        all.column = p->column;
        status = ad_export_into(p->form, &all, NULL);
        if (status != ADREV_ESHAPE || tries > 0)
            break;
        *grown = true;          // an entry is missing
        status = adx_ipopt_pattern_grow(p);
    }
    return status;
}

/* --- callbacks ----------------------------------------------------------- */

typedef struct adx_ipopt {
    ad_ipopt *problem;
    ad_model *model;
    size_t n;
    size_t m;                   // constraints
    adx_ipopt_pattern jacobian;       // dense: the gradient of the objective
    adx_ipopt_pattern hessian;
    size_t moves;               // of the model, when the patterns were its
    bool grown;                 // beyond what Ipopt was told
    bool values;                // y is of Ipopt's present x
    bool derivatives;           // J is
    double *y;                  // [1 + m]
    double *J;                  // [jacobian.count]
    double *w;                  // [1 + m] weights of the Lagrangian
    double *x;                  // [n] where the patterns grew
    enum ApplicationReturnStatus found;
} adx_ipopt;

static inline bool adx_ipopt_is_over(const adx_ipopt *s)
{
    return s->grown || s->model->stopped;
}

// y at x. Whether it has values there.
static inline bool adx_ipopt_values(adx_ipopt *s, const double x[], bool fresh)
{
    if (fresh)
        s->values = s->derivatives = false;
    if (!s->values && !adx_ipopt_is_over(s))
        s->values = ad_model_eval(s->model, x, s->y) == ADREV_OK;
    return s->values && !adx_ipopt_is_over(s);
}

// Fits the patterns to the model's present path.
static inline ad_status adx_ipopt_learn(adx_ipopt *s)
{
    ad_status status = adx_ipopt_pattern_fit(&s->jacobian, s->model, false,
                                             &s->grown);
    if (status == ADREV_OK && !s->problem->first_order)
        status = adx_ipopt_pattern_fit(&s->hessian, s->model, true, &s->grown);
    s->moves = s->model->moves;
    return adx_model_keep(s->model, status);
}

// Values at x, and patterns that fit the path there.
static inline bool adx_ipopt_ready(adx_ipopt *s, const double x[], bool fresh)
{
    if (!adx_ipopt_values(s, x, fresh))
        return false;
    if (s->moves != s->model->moves && adx_ipopt_learn(s) != ADREV_OK)
        return false;
    if (s->grown)
        memcpy(s->x, x, s->n * sizeof *x);
    return !s->grown;
}

static inline bool adx_ipopt_jacobian_at(adx_ipopt *s, const double x[],
                                         bool fresh)
{
    if (!adx_ipopt_ready(s, x, fresh) || s->derivatives)
        return s->derivatives && !adx_ipopt_is_over(s);
    memset(s->J, 0, s->jacobian.count * sizeof *s->J);
    s->derivatives
        = adx_model_keep(s->model,
                         adx_model_sparse(s->model, false, x, NULL,
                                          s->jacobian.form, s->J))
          == ADREV_OK;
    return s->derivatives;
}

static inline adx_ipopt_bool adx_ipopt_f(adx_ipopt_index n, adx_ipopt_number *x,
                                         adx_ipopt_bool fresh,
                                         adx_ipopt_number *f, void *user)
{
    adx_ipopt *s = (adx_ipopt *)user;
    (void)n;
    if (!adx_ipopt_values(s, x, fresh))
        return false;
    *f = s->y[0];
    return isfinite(*f) != 0;
}

static inline adx_ipopt_bool adx_ipopt_g(adx_ipopt_index n, adx_ipopt_number *x,
                                         adx_ipopt_bool fresh,
                                         adx_ipopt_index m, adx_ipopt_number *g,
                                         void *user)
{
    adx_ipopt *s = (adx_ipopt *)user;
    (void)n;
    (void)m;
    if (!adx_ipopt_values(s, x, fresh))
        return false;
    memcpy(g, s->y + 1, s->m * sizeof *g);
    return adx_model_finite(s->m, g);
}

static inline adx_ipopt_bool adx_ipopt_gradient(adx_ipopt_index n,
                                                adx_ipopt_number *x,
                                                adx_ipopt_bool fresh,
                                                adx_ipopt_number *to,
                                                void *user)
{
    adx_ipopt *s = (adx_ipopt *)user;
    (void)n;
    if (!adx_ipopt_jacobian_at(s, x, fresh))
        return false;
    memcpy(to, s->J, s->n * sizeof *to);
    return adx_model_finite(s->n, to);
}

// Ipopt asks once for rows and columns, without x, and then for values.
static inline adx_ipopt_bool adx_ipopt_jacobian(
    adx_ipopt_index n, adx_ipopt_number *x, adx_ipopt_bool fresh,
    adx_ipopt_index m, adx_ipopt_index count, adx_ipopt_index *row,
    adx_ipopt_index *column, adx_ipopt_number *value, void *user)
{
    adx_ipopt *s = (adx_ipopt *)user;
    (void)n;
    (void)m;
    if (value == NULL) {
        for (size_t k = 0; k < (size_t)count; k++) {
            row[k] = (adx_ipopt_index)(s->jacobian.row[s->n + k] - 1);
            column[k] = (adx_ipopt_index)s->jacobian.column[s->n + k];
        }
        return true;
    }
    if (!adx_ipopt_jacobian_at(s, x, fresh))
        return false;
    memcpy(value, s->J + s->n, (size_t)count * sizeof *value);
    return adx_model_finite((size_t)count, value);
}

static inline adx_ipopt_bool adx_ipopt_hessian(
    adx_ipopt_index n, adx_ipopt_number *x, adx_ipopt_bool fresh,
    adx_ipopt_number factor, adx_ipopt_index m, adx_ipopt_number *lambda,
    adx_ipopt_bool fresh_lambda, adx_ipopt_index count, adx_ipopt_index *row,
    adx_ipopt_index *column, adx_ipopt_number *value, void *user)
{
    adx_ipopt *s = (adx_ipopt *)user;
    adx_ipopt_pattern *p = &s->hessian;
    (void)n;
    (void)m;
    (void)fresh_lambda;
    if (value == NULL) {
        for (size_t k = 0; k < (size_t)count; k++) {
            row[k] = (adx_ipopt_index)p->row[k];
            column[k] = (adx_ipopt_index)p->column[k];
        }
        return true;
    }
    if (!adx_ipopt_ready(s, x, fresh))
        return false;
    s->w[0] = factor;
    memcpy(s->w + 1, lambda, s->m * sizeof *lambda);
    memset(value, 0, p->count * sizeof *value);
    return adx_model_keep(s->model,
                          adx_model_sparse(s->model, true, x, s->w, p->form,
                                           value)) == ADREV_OK
        && adx_model_finite(p->count, value);
}

static inline adx_ipopt_bool adx_ipopt_each(
    adx_ipopt_index mode, adx_ipopt_index iteration, adx_ipopt_number f,
    adx_ipopt_number primal, adx_ipopt_number dual, adx_ipopt_number mu,
    adx_ipopt_number step, adx_ipopt_number regularization,
    adx_ipopt_number dual_step, adx_ipopt_number primal_step,
    adx_ipopt_index trials, void *user)
{
    adx_ipopt *s = (adx_ipopt *)user;
    if (adx_ipopt_is_over(s))
        return false;
    return s->problem->each == NULL
        || s->problem->each(mode, iteration, f, primal, dual, mu, step,
                            regularization, dual_step, primal_step, trials,
                            s->problem->user);
}

/* --- options ------------------------------------------------------------- */

// Gives Ipopt one option, by the type that the value looks like.
static inline bool adx_ipopt_option(IpoptProblem ipopt, char *name, char *value)
{
    char *end = NULL;
    const long whole = strtol(value, &end, 10);
    if (*value != '\0' && *end == '\0' && whole >= INT_MIN && whole <= INT_MAX)
        return AddIpoptIntOption(ipopt, name, (adx_ipopt_index)whole);
    const double number = strtod(value, &end);
    if (*value != '\0' && *end == '\0')
        return AddIpoptNumOption(ipopt, name, number);
    return AddIpoptStrOption(ipopt, name, value);
}

// All options of the text; false: it is not NAME=VALUE, or Ipopt refuses it.
static inline bool adx_ipopt_options(IpoptProblem ipopt, const char *text)
{
    char name[64], value[256];
    int used = 0;
    for (; text != NULL && sscanf(text, " %63[^= ]=%255s%n", name, value, &used)
           == 2; text += used)
        if (!adx_ipopt_option(ipopt, name, value))
            return false;
    return text == NULL || text[strspn(text, " \n\t")] == '\0';
}

/* --- the solution -------------------------------------------------------- */

static inline void adx_ipopt_free(adx_ipopt *s)
{
    adx_ipopt_pattern_free(&s->jacobian);
    adx_ipopt_pattern_free(&s->hessian);
    free(s->y);
    free(s->J);
    free(s->w);
    free(s->x);
}

// Memory for the patterns of now, which are what Ipopt will be told.
static inline bool adx_ipopt_fit(adx_ipopt *s)
{
    double *J = (double *)realloc(s->J, (s->jacobian.count + 1) * sizeof *J);
    if (J == NULL)
        return false;
    s->J = J;
    s->grown = s->values = s->derivatives = false;
    return s->jacobian.count <= INT_MAX && s->hessian.count <= INT_MAX;
}

// Bounds as Ipopt takes them, in memory that it copies.
static inline void adx_ipopt_bounds(double to[], const double from[], size_t n,
                                    double none)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from == NULL ? none : from[i];
}

static inline IpoptProblem adx_ipopt_create(adx_ipopt *s)
{
    const ad_ipopt *p = s->problem;
    const size_t n = s->n, m = s->m;
    double *b = (double *)malloc((2 * n + 2 * m + 1) * sizeof *b);
    IpoptProblem ipopt = NULL;
    if (b == NULL)
        return NULL;
    adx_ipopt_bounds(b, p->x_lower, n, -2e19);
    adx_ipopt_bounds(b + n, p->x_upper, n, 2e19);
    adx_ipopt_bounds(b + 2 * n, p->g_lower, m, -2e19);
    adx_ipopt_bounds(b + 2 * n + m, p->g_upper, m, 2e19);
    ipopt = CreateIpoptProblem((adx_ipopt_index)n, b, b + n,
                               (adx_ipopt_index)m, b + 2 * n, b + 2 * n + m,
                               (adx_ipopt_index)(s->jacobian.count - n),
                               (adx_ipopt_index)s->hessian.count, 0,
                               adx_ipopt_f, adx_ipopt_g, adx_ipopt_gradient,
                               adx_ipopt_jacobian, adx_ipopt_hessian);
    free(b);
    return ipopt;
}

// One run of Ipopt from x.
static inline enum ApplicationReturnStatus adx_ipopt_run(adx_ipopt *s,
                                                         double x[])
{
    static char approximate[] = "hessian_approximation=limited-memory";
    ad_ipopt *p = s->problem;
    enum ApplicationReturnStatus found = Invalid_Option;
    IpoptProblem ipopt = adx_ipopt_create(s);
    if (ipopt == NULL)
        return Invalid_Problem_Definition;
    SetIntermediateCallback(ipopt, adx_ipopt_each);
    if (adx_ipopt_options(ipopt, p->first_order ? approximate : NULL)
        && adx_ipopt_options(ipopt, p->options))
        found = IpoptSolve(ipopt, x, p->g, &p->f, p->lambda, p->z_lower,
                           p->z_upper, s);
    FreeIpoptProblem(ipopt);
    return found;
}

// Minimises the model's first output, from x.
//
//   x   [n]      in/out
//
//   returns      as IpoptSolve; Invalid_Option: one of the options;
//                Invalid_Number_Detected: no values at the first x;
//                Invalid_Problem_Definition: no such bounds, or too large, or p
//                or x is NULL;
//                Insufficient_Memory; User_Requested_Stop: `each` returned
//                false, or the model has stopped. ad_model_status says why a
//                model has stopped, or has no values
//   cost         for each point that Ipopt tries an evaluation; where it asks
//                for derivatives one sparse Jacobian, for the gradient, too,
//                and one sparse Hessian of the Lagrangian
//   memory       patterns and vectors, freed on return; none in an evaluation,
//                except at a point of another path
static inline enum ApplicationReturnStatus ad_ipopt_solve(ad_ipopt *p,
                                                          double x[])
{
    adx_ipopt s;
    memset(&s, 0, sizeof s);
    if (p == NULL || x == NULL)
        return Invalid_Problem_Definition;
    if (p->model == NULL)
        return Insufficient_Memory;
    s.problem = p;
    s.model = p->model;
    s.n = p->model->n;
    s.m = p->model->m - 1;
    s.found = Insufficient_Memory;
    s.y = (double *)malloc((s.m + 1) * sizeof *s.y);
    s.w = (double *)malloc((s.m + 1) * sizeof *s.w);
    s.x = (double *)malloc((s.n + 1) * sizeof *s.x);
    if (s.n > INT_MAX || s.m > INT_MAX)
        s.found = Invalid_Problem_Definition;
    else if (s.y != NULL && s.w != NULL && s.x != NULL
             && adx_ipopt_pattern_begin(&s.jacobian, s.n)
             && adx_ipopt_pattern_begin(&s.hessian, 0)) {
        s.found = Invalid_Number_Detected;
        if (adx_ipopt_values(&s, x, true)
            && adx_ipopt_learn(&s) == ADREV_OK) {
            bool fits = adx_ipopt_fit(&s);
            s.found = fits ? s.found : Invalid_Problem_Definition;
            while (fits) {
                s.found = adx_ipopt_run(&s, x);
                if (!s.grown || s.model->stopped)
                    break;
                memcpy(x, s.x, s.n * sizeof *x);
                fits = adx_ipopt_fit(&s);
            }
        }
    }
    if (s.model->status == ADREV_ENOMEM)
        s.found = Insufficient_Memory;
    adx_ipopt_free(&s);
    return s.found;
}

#endif
