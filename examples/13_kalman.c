/* 13  A model for a microcontroller: a vehicle among beacons, as plain C.
 *
 *     13_kalman [header]                           default 13_kalman_model.h
 *
 * An extended Kalman filter needs the Jacobians of its model. Here the model is
 * written down once and recorded; values and Jacobians go to a header that
 * needs nothing but <math.h>. What runs on the vehicle is
 * 13_kalman_firmware.c: C99 with that header, no heap, no adrev. Both stages:
 * sh examples/13_kalman.sh
 *
 * Shows    ad_fn_record, ad_fn_write_c with float
 * Needs    05
 * Prints   predict: 9 operations, at most 2 kB of C with its Jacobian
 *          sight: 8 operations, at most 3 kB of C with its Jacobian
 *
 * Exits with 0, or 3 no function, 5 output.
 *
 * SPDX-License-Identifier: MIT-0
 */

#define ADREV_IMPLEMENTATION
#include "adrev_function.h"
#include "fail.h"

// State x y heading speed, then what moves it: turn rate and acceleration,
// as gyroscope and accelerometer measure them. One step takes 0.1 s.
static void predict(const ad_rev *in, ad_rev *out, void *ctx)
{
    const double dt = 0.1;
    (void)ctx;
    ad_rev way = ad_rec(ad_mul(dt, ad_fma(0.5 * dt, in[5], in[3])));
    ad_rev ahead = ad_rec(ad_fma(0.5 * dt, in[4], in[2]));
    out[0] = ad_rec(ad_fma(way, ad_cos(ahead), in[0]));
    out[1] = ad_rec(ad_fma(way, ad_sin(ahead), in[1]));
    out[2] = ad_rec(ad_fma(dt, in[4], in[2]));
    out[3] = ad_rec(ad_fma(dt, in[5], in[3]));
}

// Distance and bearing, from the heading to the left, of a beacon at in[4] and
// in[5].
static void sight(const ad_rev *in, ad_rev *out, void *ctx)
{
    (void)ctx;
    ad_rev u = ad_rec(ad_sub(in[4], in[0]));
    ad_rev v = ad_rec(ad_sub(in[5], in[1]));
    out[0] = ad_rec(ad_sqrt(ad_add(ad_sqr(u), ad_sqr(v))));
    out[1] = ad_rec(ad_sub(ad_atan2(v, u), in[2]));
}

static void put(const char *text, size_t length, void *user)
{
    fwrite(text, 1, length, user);          // errors: when it is closed
}

// Functions for the value, and for value and Jacobian together, appended to the
// header.
static void write_model(FILE *header, const char *name, ad_vector_fn *f,
                        size_t results)
{
    const double at[6] = { 0.5, 0.2, 0.3, 1, 4, 3 };
    const ad_c_options options = { .name = name, .single = true,
                                   .functions = ADREV_C_VALUE
                                              | ADREV_C_LINEARIZE };
    ad_fn *fn = NULL;
    size_t bytes = 0;
    ad_status s = ad_fn_record(&fn, f, NULL, 6, at, results);
    if (s == ADREV_OK)
        s = ad_fn_write_c(fn, &options, put, header, &bytes);
    if (s != ADREV_OK)
        fail(3, "13_kalman: %s: %s", name, ad_message(s));
    printf("%s: %zu operations, at most %zu kB of C with its Jacobian\n", name,
           ad_fn_about(fn).operations, (bytes + 1023) / 1024);
    ad_fn_free(fn);
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "13_kalman_model.h";
    FILE *header = fopen(path, "w");
    if (header == NULL)
        fail(5, "cannot open %s", path);
    write_model(header, "predict", predict, 4);
    write_model(header, "sight", sight, 2);
    bool bad = ferror(header) != 0;
    if (fclose(header) != 0 || bad)
        fail(5, "cannot write %s", path);
    return 0;
}
