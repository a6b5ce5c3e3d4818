// SPDX-License-Identifier: MIT-0
// tags: part
/* files.c - files that ad_fn_load is given, and functions that come of them.
 *
 * An input is a list of changes to a saved function, or a file of its own; the
 * checksum is made to fit. What is accepted is then asked for derivatives, and
 * saved and loaded once more.                                                */

#include <stdbool.h>
#include <stddef.h>


#define ADREV_IMPLEMENTATION
#include "adrev_function.h"

#include "fuzz.h"

enum { N = 6, M = 6, MOST = 32, ORDER = 3, POINTS = 3, ROOM = 1 << 16 };

/* --- what is saved -------------------------------------------------------- */

static void scalars(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    y[0] = ad_rec(ad_add(ad_sin(x[0]), ad_pow(x[1], x[2])));
    y[1] = ad_rec(ad_div(ad_erf(x[3]), ad_add(2, ad_sqr(x[4]))));
    y[2] = ad_rec(ad_fma(x[5], x[0], ad_tanh(x[1])));
    y[3] = ad_rec(0.1);
    y[4] = ad_rec(ad_mul(ad_sqrt(x[0]), ad_lgamma(x[2])));
    y[5] = x[5];
}

static void guarded(const ad_rev *x, ad_rev *y, void *ctx)
{
    scalars(x, y, ctx);
    if (ad_lt(x[0], 1))
        y[1] = ad_rec(ad_exp(x[1]));
    y[2] = ad_rec(ad_mul(ad_floor(x[2]), x[3]));
    y[3] = ad_rec(ad_value(x[4]) > 0 ? ad_mul(x[4], 2) : ad_neg(x[4]));
}

static void arrays(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ad_real A[2 * N] = { 1, 2, 3, 0, 5, 6, 7, 8 };
    ad_rev z[N];
    (void)ctx;
    y[0] = ad_dot_s(N / 2, x, 2, x + N - 1, -1);
    y[1] = ad_logsumexp(N, x);
    ad_softmax(N, x, z);
    y[2] = ad_norm2(N, z);
    ad_matvecc(2, N, A, x, y + 3);
    ad_each(ADREV_OP_sin, N, x, NULL, NULL, z);
    ad_axpy(N, x[0], x, z);
    y[5] = ad_sqdist(N, z, x);
}

typedef struct file {
    size_t bytes;
    unsigned char data[ROOM];
} file;

static ad_vector_fn *const functions[] = { scalars, guarded, arrays };
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };
static file saved[FUNCTIONS];

static const ad_real at[MOST] = {
    (ad_real)0.3, (ad_real)0.7, (ad_real)1.2, (ad_real)0.45, (ad_real)0.9,
    (ad_real)1.6
};

static void collect(const char *text, size_t length, void *user)
{
    file *f = user;
    if (length <= ROOM - f->bytes)
        memcpy(f->data + f->bytes, text, length);
    f->bytes += length <= ROOM - f->bytes ? length : 0;
}

static void save_all(void)
{
    for (size_t i = 0; i < FUNCTIONS && saved[i].bytes == 0; i++) {
        ad_fn *fn;
        FUZZ_MUST(ad_fn_record(&fn, functions[i], NULL, N, at, M) == ADREV_OK
                      && ad_fn_save(fn, collect, &saved[i]) == ADREV_OK,
                  "%s", ad_fn_reason());
        ad_fn_free(fn);
    }
}

/* --- what is loaded ------------------------------------------------------- */

static void repair(unsigned char *data, size_t bytes)
{
    uint64_t sum = adx_xxh3(data, bytes - 8, 0);
    for (size_t i = 0; i < 8; i++)
        data[bytes - 8 + i] = (unsigned char)(sum >> (8 * i));
}

// Changes of 1, 2, 4 or 8 bytes: a number nearby, a limit, or any other.
static void change(file *f, fuzz_input *in)
{
    static const uint64_t limits[] = { 0, 1, 0x7fffffff, 0x80000000u,
                                       0xffffffff, UINT64_MAX, UINT64_MAX / 8 };
    while (fuzz_more(in)) {
        unsigned how = fuzz_byte(in);
        size_t width = (size_t)1 << (how & 3);
        size_t place = fuzz_byte(in) | (size_t)fuzz_byte(in) << 8;
        unsigned by = fuzz_byte(in);
        uint64_t v = 0;
        place %= f->bytes;
        width = width > f->bytes - place ? 1 : width;
        for (size_t i = width; i-- > 0;)
            v = v << 8 | f->data[place + i];
        switch (how >> 2 & 3) {
        case 0:  v += by; break;
        case 1:  v -= by; break;
        case 2:  v = limits[by % 7]; break;
        default: v = by | (uint64_t)fuzz_byte(in) << 8; break;
        }
        for (size_t i = 0; i < width; i++, v >>= 8)
            f->data[place + i] = (unsigned char)v;
    }
}

static bool answer(ad_status s)
{
    return s == ADREV_OK || s == ADREV_EPATH || s == ADREV_ENOMEM
        || s == ADREV_ESHAPE || s == ADREV_EEXTERNAL;
}

enum { QUESTIONS = 8 };

// Of x, w, and `out` with room for any answer.
static ad_status ask_for(size_t question, ad_fn *fn, ad_real *x, ad_real *w,
                         ad_real *out)
{
    const size_t n = ad_fn_inputs(fn);
    const size_t m = ad_fn_outputs(fn);
    ad_column in[MOST], y[MOST];
    ad_sparsity about = { .nonzeros = 0 };
    ad_status s;
    switch (question) {
    case 0: return ad_fn_jvp(fn, x, x, out);
    case 1: return ad_fn_vjp(fn, x, w, out);
    case 2: return ad_fn_hvp(fn, x, w, x, out);
    case 3: return ad_fn_linearize(fn, x, out, out + m);
    case 4: return ad_fn_taylor(fn, x, x, ORDER, out);
    case 5:
        s = ad_fn_jacobian_pattern(fn, &about, NULL, NULL, NULL);
        FUZZ_MUST(about.nonzeros <= n * m, "%zu entries", about.nonzeros);
        return s == ADREV_OK ? ad_fn_jacobian_sparse(fn, x, out) : s;
    case 6:
        s = ad_fn_hessian_pattern(fn, &about, NULL, NULL, NULL);
        FUZZ_MUST(about.nonzeros <= n * n, "%zu entries", about.nonzeros);
        return s == ADREV_OK ? ad_fn_hessian_sparse(fn, x, w, out) : s;
    }
    for (size_t i = 0; i < m; i++)
        y[i] = (ad_column){ out + POINTS * i, 1 };
    for (size_t i = 0; i < n; i++)
        in[i] = (ad_column){ x + i, 0 };
    return ad_fn_map(fn, POINTS, in, y, NULL);
}

static void ask(ad_fn *fn, size_t n, size_t m, size_t question)
{
    ad_real *x = fuzz_array(n, sizeof *x);
    ad_real *w = fuzz_array(m, sizeof *w);
    ad_real *out = fuzz_array((n + m) * (n + m) + (ORDER + 1) * m,
                              sizeof *out);
    memcpy(x, at, n * sizeof *x);
    for (size_t i = 0; i < m; i++)
        w[i] = (ad_real)(1 - 0.25 * (double)i);
    ad_status s = ask_for(question, fn, x, w, out);
    FUZZ_MUST(answer(s), "question %zu: %s", question, ad_message(s));
    s = ad_fn_write_c(fn, NULL, NULL, NULL, NULL);
    FUZZ_MUST(answer(s), "C code: %s", ad_message(s));
    free(x), free(w), free(out);
}

static void save_again(ad_fn *fn, size_t n, size_t m)
{
    file *f = fuzz_array(1, sizeof *f);
    ad_fn *again = NULL;
    ad_real *x = fuzz_array(n, sizeof *x);
    ad_real *y = fuzz_array(2 * m, sizeof *y);
    ad_status s = ad_fn_save(fn, collect, f);
    FUZZ_MUST(s == ADREV_OK, "save: %s", ad_message(s));
    s = ad_fn_load(&again, f->data, f->bytes, NULL);
    FUZZ_MUST(s == ADREV_OK, "load what was loaded: %s", ad_message(s));
    memcpy(x, at, n * sizeof *x);
    s = ad_fn_eval(fn, x, y);
    FUZZ_MUST(answer(s) && s == ad_fn_eval(again, x, y + m), "eval: %s",
              ad_message(s));
    FUZZ_MUST(s != ADREV_OK || fuzz_same(y, y + m, m), "other values");
    ad_fn_free(again);
    free(f), free(x), free(y);
}

static void load(const unsigned char *data, size_t bytes, size_t question)
{
    fuzz_heap h = { .left = SIZE_MAX };
    ad_allocator a = { fuzz_alloc, fuzz_free, &h };
    ad_fn *fn = NULL;
    ad_status s = ad_fn_load(&fn, data, bytes, &(ad_fn_options){
                                 .allocator = &a });
    FUZZ_MUST((s == ADREV_OK) == (fn != NULL), "%s", ad_message(s));
    FUZZ_MUST(s == ADREV_OK || s == ADREV_EFILE || s == ADREV_ENOMEM,
              "load: %s", ad_message(s));
    size_t n = ad_fn_inputs(fn);
    size_t m = ad_fn_outputs(fn);
    if (s == ADREV_OK && n <= MOST && m <= MOST) {
        save_again(fn, n, m);
        ask(fn, n, m, question);
    }
    ad_fn_free(fn);
    FUZZ_MUST(h.live == 0, "%zu blocks leaked", h.live);
    FUZZ_MUST(h.most <= FUZZ_LARGEST, "a block of %zu bytes for a file of %zu",
              h.most, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = { data, size };
    file *f = fuzz_array(1, sizeof *f);
    save_all();
    size_t which = fuzz_below(&in, FUNCTIONS + 1);
    size_t question = fuzz_below(&in, QUESTIONS);
    if (which < FUNCTIONS) {
        *f = saved[which];
        f->bytes -= fuzz_rarely(&in) ? fuzz_byte(&in) : 0;
        change(f, &in);
    } else {
        f->bytes = in.left < ROOM ? in.left : ROOM;
        if (f->bytes > 0)
            memcpy(f->data, in.at, f->bytes);
    }
    if (f->bytes >= 8)
        repair(f->data, f->bytes);
    unsigned char *exact = fuzz_array(f->bytes, 1);
    memcpy(exact, f->data, f->bytes);
    load(exact, f->bytes, question);
    free(exact);
    free(f);
    return 0;
}
