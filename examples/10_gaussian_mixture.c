/* 10  Four clouds of points, fitted by a mixture of four Gaussians.
 *
 *     10_gaussian_mixture examples/mixture.txt [picture.svg]
 *
 * Cluster k has the weight exp(alpha[k]) / sum of exp(alpha), a centre mu, and
 * the inverse covariance Q'Q with Q lower triangular, exp(q) on its diagonal.
 *
 * Shows    the array statements ad_each, ad_sum, ad_dot, ad_trimatvec and
 *          ad_logsumexp; ad_grad inside somebody else's optimiser
 * Needs    02; libLBFGS (liblbfgs-dev), or without it some more gradients
 * Prints   400 points, log-likelihood -1324.233
 *          weight 0.433 at (-2.512,  0.445)
 *          weight 0.297 at ( 2.000,  1.581)
 *          weight 0.153 at ( 0.414, -1.594)
 *          weight 0.117 at ( 3.964, -1.095)
 *          91 gradients, L-BFGS
 *
 * Exits with 0, or 2 usage, 3 data, 4 numerical failure, 5 output.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev.h"
#include "minimise.h"
#include "mixture.h"

_Static_assert((int)MOST_PARAMETERS <= (int)MINIMISE_MOST, "too many");

// Sum over the points of the logarithm of their density.
static ad_rev likelihood(const ad_rev *p, const mixture *m)
{
    const ad_rev *alpha = p;
    const ad_rev *mu = p + m->K;
    const ad_rev *icf = p + m->K * (1 + D);
    ad_rev diagonal[MOST_CLUSTERS][D];
    ad_rev top[MOST_CLUSTERS];      // logarithm of weight times density at mu
    ad_rev t[MOST_CLUSTERS];
    ad_rev sum = ad_rec(-m->n * D / 2.0 * log(2 * 3.14159265358979324));

    for (int k = 0; k < m->K; k++) {
        const ad_rev *q = icf + k * T;
        ad_each(ADREV_OP_exp, D, q, NULL, NULL, diagonal[k]);
        top[k] = ad_rec(ad_add(alpha[k], ad_sum(D, q)));
    }
    for (int s = 0; s < m->n; s++) {
        for (int k = 0; k < m->K; k++) {
            ad_rev c[D];
            ad_rev z[D];
            for (int i = 0; i < D; i++)
                c[i] = ad_rec(ad_sub(m->x[s * D + i], mu[k * D + i]));
            ad_trimatvec(D, diagonal[k], icf + k * T + D, c, z);
            t[k] = ad_rec(ad_sub(top[k], ad_mul(0.5, ad_dot(D, z, z))));
        }
        ad_acc(&sum, ad_logsumexp((size_t)m->K, t));
    }
    ad_acc(&sum, ad_mul(-m->n, ad_logsumexp((size_t)m->K, alpha)));
    return sum;
}

// What is minimised. The Wishart prior keeps a cluster from closing in on a
// single point, where its density would grow without limit.
static ad_rev objective(const ad_rev *p, void *ctx)
{
    const mixture *m = ctx;
    ad_rev sum = ad_rec(ad_neg(likelihood(p, m)));
    for (int k = 0; k < m->K; k++) {
        const ad_rev *q = p + m->K * (1 + D) + k * T;
        ad_rev diagonal[D];
        ad_each(ADREV_OP_exp, D, q, NULL, NULL, diagonal);
        ad_expr square = ad_add(ad_dot(D, diagonal, diagonal),
                                ad_dot(T - D, q + D, q + D));
        ad_acc(&sum, ad_mul(m->gamma * m->gamma / 2, square));
        ad_acc(&sum, ad_mul(-m->m, ad_sum(D, q)));
    }
    return sum;
}

static void report(const mixture *m, const double p[], const minimum *found)
{
    ad_rev constant[MOST_PARAMETERS];       // nothing is recorded of them
    for (int j = 0; j < PER_CLUSTER * m->K; j++)
        constant[j] = ad_rec(p[j]);
    double total = ad_value(ad_logsumexp((size_t)m->K, constant));

    printf("%d points, log-likelihood %.3f\n", m->n,
           ad_value(likelihood(constant, m)));
    for (int k = 0; k < m->K; k++)
        printf("weight %.3f at (%6.3f, %6.3f)\n", exp(p[k] - total),
               p[m->K + k * D], p[m->K + k * D + 1]);
    printf("%d gradients, %s\n", found->gradients, found->method);
}

int main(int argc, char **argv)
{
    static mixture m;
    double p[MOST_PARAMETERS];

    if (argc < 2 || argc > 3)
        fail(2, "usage: 10_gaussian_mixture points.txt [picture.svg]");
    read_mixture(argv[1], &m);
    memcpy(p, m.start, sizeof p);

    ad_tape *t = ad_tape_new();
    ad_use(t);
    minimum found = minimise(objective, &m, (size_t)(PER_CLUSTER * m.K), p);
    ad_tape_free(t);
    if (found.status != ADREV_OK)
        fail(4, "10_gaussian_mixture: %s", ad_message(found.status));
    if (!found.good)
        fail(4, "10_gaussian_mixture: no minimum near the start in the file"
             " (%d gradients)", found.gradients);

    report(&m, p, &found);
    if (fflush(stdout) != 0 || ferror(stdout))
        fail(5, "cannot write the report: %s", strerror(errno));
    draw_mixture(argc == 3 ? argv[2] : "mixture.svg", &m, p);
    return 0;
}
