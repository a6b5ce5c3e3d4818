/* adrev_ipopt.h - nonlinear programs for Ipopt, with sparse Jacobian and exact
 * sparse Hessian of the Lagrangian.
 *
 *     minimise f(x)   where   g_lower <= g(x) <= g_upper,  x_lower <= x <= x_upper
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
 * Ipopt is told once where entries may stand. Another path of the model may have
 * others: if all of them were told, they are put in place; if not, Ipopt is
 * stopped and started again, where it was, with the union of all so far.    */

typedef struct adx_pattern {
    size_t count;               // of the union, sorted by row, then column
    size_t *row;
    size_t *column;
    size_t own;                 // of the present path
    size_t *place;              // [own] in the union
    double *value;              // [own] of the present path
} adx_pattern;

typedef ad_status adx_pattern_of(ad_fn *fn, ad_sparsity *about, size_t start[],
                                 size_t row[], size_t column[]);

static inline void adx_pattern_free(adx_pattern *p)
{
    free(p->row);
    free(p->column);
    free(p->place);
    free(p->value);
    memset(p, 0, sizeof *p);
}

// The union of p and row, column [own]: places of the own entries and, unless
// `row_to` is NULL, the entries of the union. Returns how many those are.
static inline size_t adx_pattern_merge(const adx_pattern *p, size_t own,
                                       const size_t row[],
                                       const size_t column[], size_t place[],
                                       size_t row_to[], size_t column_to[])
{
    size_t count = 0;
    for (size_t i = 0, k = 0; i < p->count || k < own; count++) {
        const bool a = i < p->count, b = k < own;
        const int order = !a ? 1 : !b ? -1
            : p->row[i] != row[k] ? (p->row[i] < row[k] ? -1 : 1)
            : p->column[i] != column[k]
                ? (p->column[i] < column[k] ? -1 : 1) : 0;
        if (row_to != NULL) {
            row_to[count] = order <= 0 ? p->row[i] : row[k];
            column_to[count] = order <= 0 ? p->column[i] : column[k];
        }
        if (order >= 0)
            place[k++] = count;
        i += order <= 0;
    }
    return count;
}

// Adds the pattern of fn to the union.
static inline ad_status adx_pattern_add(adx_pattern *p, ad_fn *fn,
                                        adx_pattern_of *query, bool *grown)
{
    ad_sparsity about;
    adx_pattern next = { 0, NULL, NULL, 0, NULL, NULL };
    ad_status status = query(fn, &about, NULL, NULL, NULL);
    if (status != ADREV_OK)
        return status;
    const size_t own = about.nonzeros;
    const size_t most = own + p->count + 1;     // + 1: malloc(0) may be NULL
    size_t *row = (size_t *)malloc(most * sizeof *row);
    size_t *column = (size_t *)malloc(most * sizeof *column);
    next.own = own;
    next.row = (size_t *)malloc(most * sizeof *row);
    next.column = (size_t *)malloc(most * sizeof *column);
    next.place = (size_t *)malloc(most * sizeof *row);
    next.value = (double *)malloc(most * sizeof *next.value);
    if (row == NULL || column == NULL || next.row == NULL
        || next.column == NULL || next.place == NULL || next.value == NULL)
        status = ADREV_ENOMEM;
    else
        status = query(fn, NULL, NULL, row, column);
    if (status == ADREV_OK) {
        next.count = adx_pattern_merge(p, own, row, column, next.place,
                                       next.row, next.column);
        *grown = *grown || next.count > p->count;
        adx_pattern_free(p);
        *p = next;
    } else
        adx_pattern_free(&next);
    free(row);
    free(column);
    return status;
}

// The entries of the union from those of the present path; `value` may be where
// those are if the two are the same.
static inline void adx_pattern_spread(const adx_pattern *p, double value[])
{
    memset(value, 0, p->count * sizeof *value);
    for (size_t k = 0; k < p->own; k++)
        value[p->place[k]] = p->value[k];
}

/* --- callbacks ----------------------------------------------------------- */

typedef struct adx_ipopt {
    ad_ipopt *problem;
    ad_model *model;
    size_t n;
    size_t m;                   // constraints
    adx_pattern jacobian;       // row 0: the gradient of the objective
    adx_pattern hessian;
    size_t gradient;            // entries of row 0
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

// Adds the patterns of the model's present path.
static inline ad_status adx_ipopt_learn(adx_ipopt *s)
{
    ad_fn *fn = s->model->fn;
    ad_status status = adx_pattern_add(&s->jacobian, fn,
                                       ad_fn_jacobian_pattern, &s->grown);
    if (status == ADREV_OK && !s->problem->first_order)
        status = adx_pattern_add(&s->hessian, fn, ad_fn_hessian_pattern,
                                 &s->grown);
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
    adx_pattern *p = &s->jacobian;
    double *to = p->own == p->count ? s->J : p->value;
    if (adx_model_keep(s->model, ad_fn_jacobian_sparse(s->model->fn, x, to))
        != ADREV_OK)
        return false;
    if (to != s->J)
        adx_pattern_spread(p, s->J);
    return s->derivatives = true;
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
    memset(to, 0, s->n * sizeof *to);
    for (size_t k = 0; k < s->gradient; k++)
        to[s->jacobian.column[k]] = s->J[k];
    return adx_model_finite(s->n, to);
}

// Ipopt asks once for rows and columns, without x, and then for values.
static inline adx_ipopt_bool adx_ipopt_jacobian(
    adx_ipopt_index n, adx_ipopt_number *x, adx_ipopt_bool fresh,
    adx_ipopt_index m, adx_ipopt_index count, adx_ipopt_index *row,
    adx_ipopt_index *column, adx_ipopt_number *value, void *user)
{
    adx_ipopt *s = (adx_ipopt *)user;
    const size_t first = s->gradient;
    (void)n;
    (void)m;
    if (value == NULL) {
        for (size_t k = 0; k < (size_t)count; k++) {
            row[k] = (adx_ipopt_index)(s->jacobian.row[first + k] - 1);
            column[k] = (adx_ipopt_index)s->jacobian.column[first + k];
        }
        return true;
    }
    if (!adx_ipopt_jacobian_at(s, x, fresh))
        return false;
    memcpy(value, s->J + first, (size_t)count * sizeof *value);
    return adx_model_finite((size_t)count, value);
}

static inline adx_ipopt_bool adx_ipopt_hessian(
    adx_ipopt_index n, adx_ipopt_number *x, adx_ipopt_bool fresh,
    adx_ipopt_number factor, adx_ipopt_index m, adx_ipopt_number *lambda,
    adx_ipopt_bool fresh_lambda, adx_ipopt_index count, adx_ipopt_index *row,
    adx_ipopt_index *column, adx_ipopt_number *value, void *user)
{
    adx_ipopt *s = (adx_ipopt *)user;
    adx_pattern *p = &s->hessian;
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
    double *to = p->own == p->count ? value : p->value;
    if (adx_model_keep(s->model,
                       ad_fn_hessian_sparse(s->model->fn, x, s->w, to))
        != ADREV_OK)
        return false;
    if (to != value)
        adx_pattern_spread(p, value);
    return adx_model_finite(p->count, value);
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
    adx_pattern_free(&s->jacobian);
    adx_pattern_free(&s->hessian);
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
    s->gradient = 0;
    while (s->gradient < s->jacobian.count
           && s->jacobian.row[s->gradient] == 0)
        s->gradient++;
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
                               (adx_ipopt_index)(s->jacobian.count
                                                 - s->gradient),
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
//                Invalid_Problem_Definition: no such bounds, or too large;
//                Insufficient_Memory; User_Requested_Stop: `each` returned
//                false, or the model has stopped. ad_model_status says why a
//                model has stopped, or has no values
//   cost         for each point that Ipopt tries an evaluation; where it asks
//                for derivatives one sparse Jacobian, for the gradient, too, and
//                one sparse Hessian of the Lagrangian
//   memory       patterns and vectors, freed on return; none in an evaluation,
//                except at a point of another path
static inline enum ApplicationReturnStatus ad_ipopt_solve(ad_ipopt *p,
                                                          double x[])
{
    adx_ipopt s;
    memset(&s, 0, sizeof s);
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
    else if (s.y != NULL && s.w != NULL && s.x != NULL) {
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
