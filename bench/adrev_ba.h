// SPDX-License-Identifier: MIT-0
/* adrev_ba.h - one observation of ba, for the tape and for recorded functions.
 * Included behind adrev.h, whichever way it was included.
 */

#ifndef BENCH_ADREV_BA_H
#define BENCH_ADREV_BA_H

#define DOT(a, b)                                                             \
    ad_add(ad_add(ad_mul(a[0], b[0]), ad_mul(a[1], b[1])),                    \
           ad_mul(a[2], b[2]))
#define CROSS(a, b, j, k) ad_sub(ad_mul(a[j], b[k]), ad_mul(a[k], b[j]))
#define TURNED(i, j, k)                                                       \
    ad_rec(ad_add(ad_add(ad_mul(o[i], c), ad_mul(CROSS(a, o, j, k), s)),      \
                  ad_mul(a[i], along)))

static inline void ba_rotate(const ad_rev *r, const ad_rev *o, ad_rev *y)
{
    const ad_rev angle = ad_rec(ad_sqrt(DOT(r, r)));

    if (ad_eq(angle, 0.0)) {
        y[0] = ad_rec(ad_add(o[0], CROSS(r, o, 1, 2)));
        y[1] = ad_rec(ad_add(o[1], CROSS(r, o, 2, 0)));
        y[2] = ad_rec(ad_add(o[2], CROSS(r, o, 0, 1)));
    } else {
        const ad_rev c = ad_rec(ad_cos(angle));
        const ad_rev s = ad_rec(ad_sin(angle));
        const ad_rev a[3] = { ad_rec(ad_div(r[0], angle)),
                              ad_rec(ad_div(r[1], angle)),
                              ad_rec(ad_div(r[2], angle)) };
        const ad_rev along = ad_rec(ad_mul(DOT(a, o), ad_sub(1.0, c)));

        y[0] = TURNED(0, 1, 2);
        y[1] = TURNED(1, 2, 0);
        y[2] = TURNED(2, 0, 1);
    }
}

#undef DOT
#undef CROSS
#undef TURNED

// The two errors of an observation; in: a camera, a point, a weight.
static inline void ba_errors(const ad_rev *in, const double *seen, ad_rev *e)
{
    const ad_rev *point = in + 11;
    const ad_rev w = in[14];
    const ad_rev o[3] = { ad_rec(ad_sub(point[0], in[3])),
                          ad_rec(ad_sub(point[1], in[4])),
                          ad_rec(ad_sub(point[2], in[5])) };
    ad_rev y[3];

    ba_rotate(in, o, y);
    const ad_rev px = ad_rec(ad_div(y[0], y[2]));
    const ad_rev py = ad_rec(ad_div(y[1], y[2]));
    const ad_expr s = ad_add(ad_sqr(px), ad_sqr(py));
    const ad_rev scale = ad_rec(ad_mul(in[6], ad_add(ad_add(1.0,
        ad_mul(in[9], s)), ad_mul(in[10], ad_sqr(s)))));

    e[0] = ad_rec(ad_mul(w, ad_sub(ad_add(ad_mul(scale, px), in[7]),
                                   seen[0])));
    e[1] = ad_rec(ad_mul(w, ad_sub(ad_add(ad_mul(scale, py), in[8]),
                                   seen[1])));
}

#endif
