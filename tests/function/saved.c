// SPDX-License-Identifier: MIT-0
// tags: recorded
// flags: -DADREV_DEBUG=1
// needs: xxhash.h
/* saved.c - saved functions: what was saved is what is loaded, in every way in
 * which a function is asked; and no bytes whatever do harm. Files are cut,
 * altered bit by bit, with and without a checksum that fits, and made up.   */

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define ADREV_IMPLEMENTATION
#include "adrev_function.h"

#include "check.h"
#include "heap.h"
#include "fronts.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { N = 8, M = 12, ROOM = 1 << 18 };

#define UNTOUCHED ((ad_real)-12345.5)
#define EPSILON (sizeof(ad_real) == 4 ? (double)FLT_EPSILON : DBL_EPSILON)

static uint64_t state = 88172645463325252u;

static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state >> 20) % n;
}

/* --- memory --------------------------------------------------------------- */

// Nothing here needs a block this large: a file that asks for it has made up
// its counts.
enum { LARGEST = 1 << 26 };

/* --- functions ------------------------------------------------------------ */

static void scalars(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < M; i++)
        y[i] = ad_rec(ad_mul(x[i % N], i));
    y[0] = ad_rec(ad_add(ad_sin(x[0]), ad_pow(x[1], x[2])));
    y[1] = ad_rec(ad_div(ad_erf(x[3]), ad_add(2, ad_sqr(x[4]))));
    y[2] = ad_rec(ad_fma(x[5], x[6], ad_tanh(x[7])));
    y[3] = ad_rec(0.1);
    y[4] = ad_rec(ad_mul(ad_sqrt(x[0]), x[1]));
    y[5] = ad_rec(ad_lgamma(ad_add(x[2], 1)));
}

static void guarded(const ad_rev *x, ad_rev *y, void *ctx)
{
    scalars(x, y, ctx);
    if (ad_lt(x[0], 1))
        y[6] = ad_rec(ad_exp(x[1]));
    y[7] = ad_rec(ad_mul(ad_floor(x[2]), x[3]));
    y[8] = ad_rec(ad_value(x[4]) > 0 ? ad_mul(x[4], 2) : ad_neg(x[4]));
}

static void arrays(const ad_rev *x, ad_rev *y, void *ctx)
{
    static const ad_real A[2 * N] = { 1, 2, 3, 0, 5, 6, 7, 8 };
    ad_rev z[N];
    (void)ctx;
    y[0] = ad_sum(N, x);
    y[1] = ad_dot_s(N / 2, x, 2, x + N - 1, -1);
    y[2] = ad_norm2(N, x);
    y[3] = ad_logsumexp(N, x);
    y[4] = ad_sqdist(N / 2, x, x + N / 2);
    ad_softmax(N, x, z);
    y[5] = ad_dotc(N, z, A);
    ad_matvecc(2, N, A, x, y + 6);
    ad_each(ADREV_OP_sin, N, x, NULL, NULL, z);
    ad_axpy(N, x[0], x, z);
    ad_scale(N, x[1], z, z);
    y[8] = ad_norm2(N, z);
    ad_trimatvec(3, x, x + 3, x + 5, z);
    y[9] = ad_dot(3, z, x);
    ad_matmul(2, 2, 2, x, x + 4, z);
    y[10] = ad_rec(ad_mul(z[0], z[3]));
    y[11] = ad_rec(ad_mul(z[1], z[2]));
}

static void nothing(const ad_rev *x, ad_rev *y, void *ctx)
{
    (void)x, (void)ctx;
    for (int i = 0; i < M; i++)
        y[i] = ad_rec(i);
}

// A step of each kind, and operations of one to three arguments.
static void kinds(const ad_rev *x, ad_rev *y, void *ctx)
{
    const ad_rev uneven[4] = { x[0], x[3], x[1], x[7] };
    ad_rev z[4];
    (void)ctx;
    y[0] = ad_sum(4, x);
    y[1] = ad_norm2(4, x + 2);
    ad_matmul(2, 2, 2, x, x + 4, z);
    y[2] = z[0];
    y[3] = ad_rec(ad_fma(z[1], z[2], z[3]));
    y[4] = ad_logsumexp(3, x + 1);
    ad_each(ADREV_OP_sqrt, 4, uneven, NULL, NULL, z);
    y[5] = z[1];
    ad_each(ADREV_OP_fma, 3, x, x + 2, x + 5, z);
    y[6] = z[2];
    y[7] = ad_rec(ad_mul(ad_sin(x[0]), 0.25));
    y[8] = ad_lt(x[0], 1) ? x[1] : x[2];
    y[9] = x[3];
    y[10] = ad_rec(1.5);
    y[11] = ad_dot(3, x, x + 3);
}

// Every row of the operator table.
#define FRONT_select(name, x, y, z)  ad_select(ad_value(x) > 0, y, z)
#define FRONT_integer(name, x, y, z) ad_##name(x, 3)
#define FRONT_order(name, x, y, z)   ad_##name(3, y)
static void rows(const ad_rev *x, ad_rev *y, void *ctx)
{
    int i = 0;
    (void)ctx;
    for (int k = 0; k < M; k++)
        y[k] = ad_rec(0);
#define ADD(name, n, ...)                                                   \
    y[i % M] = ad_rec(ad_add(y[i % M], CALL(name, n, x[i % N], x[1], x[2]))); \
    i++;
    ADREV_OPS(ADD)
#undef ADD
}

static ad_vector_fn *const functions[] = { scalars, guarded, arrays, nothing };
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

static const ad_real at[N] = {
    (ad_real)0.3, (ad_real)0.7, (ad_real)1.2, (ad_real)0.45, (ad_real)0.9,
    (ad_real)1.6, (ad_real)0.25, (ad_real)0.65
};

/* --- files ---------------------------------------------------------------- */

struct file {
    size_t bytes;
    size_t calls;
    unsigned char *data;
};

static void collect(const char *text, size_t length, void *user)
{
    struct file *f = user;
    f->calls++;
    if (f->bytes + length <= ROOM)
        memcpy(f->data + f->bytes, text, length);
    f->bytes += length;
}

static ad_fn *record_as(ad_vector_fn *f, bool plain)
{
    ad_fn *fn = NULL;
    const ad_fn_options options = { .plain = plain };
    ad_status s = ad_fn_record_with(&fn, &options, f, NULL, N, at, M);
    CHECK(s == ADREV_OK, "record: %s", ad_message(s));
    return fn;
}

static ad_fn *record(ad_vector_fn *f) { return record_as(f, false); }

static struct file save(const ad_fn *fn)
{
    struct file f = { 0, 0, malloc(ROOM) };
    ad_status s = ad_fn_save(fn, collect, &f);
    CHECK(s == ADREV_OK && f.calls == 1 && f.bytes <= ROOM,
          "save: %s, %zu calls, %zu bytes", ad_message(s), f.calls, f.bytes);
    return f;
}

// Of exactly so many bytes, so that a sanitizer sees what is read beyond.
static ad_status load(ad_fn **fn, const void *data, size_t bytes,
                      heap *h)
{
    ad_allocator a = { heap_alloc, heap_free, h };
    ad_fn_options options = { .allocator = &a };
    void *copy = malloc(bytes > 0 ? bytes : 1);
    memcpy(copy, data, bytes);
    *fn = (ad_fn *)(uintptr_t)copy;
    ad_status s = ad_fn_load(fn, copy, bytes, &options);
    CHECK((s == ADREV_OK) == (*fn != NULL), "%s, but fn is %p",
          ad_message(s), (void *)*fn);
    CHECK(s == ADREV_OK || s == ADREV_EFILE || s == ADREV_ENOMEM, "load: %s",
          ad_message(s));
    free(copy);
    return s;
}

/* --- asking --------------------------------------------------------------- */

enum { MODES = 11, MOST = 4096 };

static ad_status ask(int mode, ad_fn *fn, const ad_real *x, ad_real *out)
{
    ad_real *v = (ad_real *)(uintptr_t)x;
    ad_column in[N];
    ad_column y[M];
    ad_real w[M];
    for (int i = 0; i < M; i++) {
        w[i] = (ad_real)(1 - 0.25 * i);
        y[i] = (ad_column){ out + 3 * i, 1 };
    }
    for (int i = 0; i < N; i++)
        in[i] = (ad_column){ v + i, 0 };
    switch (mode) {
    case 0: return ad_fn_eval(fn, x, out);
    case 1: return ad_fn_jvp(fn, x, x, out);
    case 2: return ad_fn_vjp(fn, x, w, out);
    case 3: return ad_fn_hvp(fn, x, w, x, out);
    case 4: return ad_fn_jacobian(fn, x, out);
    case 5: return ad_fn_hessian(fn, x, w, out);
    case 6: return ad_fn_taylor(fn, x, x, 4, out);
    case 7: return ad_fn_jacobian_sparse(fn, x, out);
    case 8: return ad_fn_hessian_sparse(fn, x, w, out);
    case 9: return ad_fn_map(fn, 3, in, y, NULL);
    }
    return ad_fn_gradient(fn, x, out, out + 1);
}

static void reset(ad_real *out)
{
    for (int i = 0; i < MOST; i++)
        out[i] = UNTOUCHED;
}

static bool same(const ad_real *a, const ad_real *b)
{
    for (int i = 0; i < MOST; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && (a[i] == a[i]
                                                     || b[i] == b[i]))
            return false;
    return true;
}

static void check_patterns(ad_fn *fn, ad_fn *again)
{
    size_t a[2][N * M];
    size_t b[2][N * M];
    ad_sparsity about[2];
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    for (int i = 0; i < 2; i++) {
        ad_fn *f = i == 0 ? fn : again;
        CHECK(ad_fn_jacobian_pattern(f, &about[i], NULL, a[i], b[i])
                  == ADREV_OK, "pattern");
    }
    CHECK(memcmp(a[0], a[1], sizeof a[0]) == 0
              && memcmp(b[0], b[1], sizeof b[0]) == 0
              && memcmp(&about[0], &about[1], sizeof about[0]) == 0,
          "other patterns");
}

static void check_text(ad_fn *fn, ad_fn *again)
{
    const ad_c_options options = { .functions = ADREV_C_VALUE };
    struct file a = { 0, 0, malloc(ROOM) };
    struct file b = { 0, 0, malloc(ROOM) };
    ad_status s = ad_fn_write_c(fn, &options, collect, &a, NULL);
    ad_status r = ad_fn_write_c(again, &options, collect, &b, NULL);
    CHECK(s == ADREV_OK && r == ADREV_OK, "%s, %s", ad_message(s),
          ad_message(r));
    CHECK(a.bytes == b.bytes && a.bytes < ROOM
              && memcmp(a.data, b.data, a.bytes) == 0, "other C code");
    free(a.data);
    free(b.data);
}

static void check_same(ad_fn *fn, ad_fn *again, const char *what)
{
    static ad_real a[MOST];
    static ad_real b[MOST];
    CHECK(ad_fn_inputs(again) == N && ad_fn_outputs(again) == M, "shape");
    for (int point = 0; point < 3; point++)
        for (int mode = 0; mode < MODES; mode++) {
            ad_real x[N];
            for (int i = 0; i < N; i++)
                x[i] = at[i] + (ad_real)(point == 2 ? 0.9 : 0.01 * point);
            reset(a);
            reset(b);
            ad_status s = ask(mode, fn, x, a);
            ad_guard g = ad_fn_guard();
            ad_status r = ask(mode, again, x, b);
            ad_guard h = ad_fn_guard();
            CHECK(s == r && same(a, b), "%s, mode %d, point %d: %s, %s", what,
                  mode, point, ad_message(s), ad_message(r));
            CHECK(s != ADREV_EPATH
                      || (g.index == h.index && g.line == h.line
                          && h.file != NULL && strcmp(g.file, h.file) == 0),
                  "%s: another guard", what);
        }
    check_patterns(fn, again);
    check_text(fn, again);
}

static void calling_any(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_ignore(ad_fn_call(ctx, x, y));
}

static void calling(const ad_rev *x, ad_rev *y, void *ctx)
{
    ad_status s = ad_fn_call(ctx, x, y);
    CHECK(s == ADREV_OK, "call: %s", ad_message(s));
}

// A loaded function is called by one that is called, and freed: guards still
// know where they stand.
static void check_places(void)
{
    heap h = { .limit = LARGEST };
    struct file f;
    ad_real x[N];
    ad_real y[M];
    ad_fn *fn[3] = { NULL, NULL, NULL };
    ad_fn *first = record(guarded);
    f = save(first);
    ad_fn_free(first);
    CHECK(load(&fn[0], f.data, f.bytes, &h) == ADREV_OK, "load");
    free(f.data);
    for (int i = 1; i < 3; i++) {
        CHECK(ad_fn_record(&fn[i], calling, fn[i - 1], N, at, M) == ADREV_OK,
              "record");
        ad_fn_free(fn[i - 1]);
    }
    memcpy(x, at, sizeof x);
    x[0] = 2;
    CHECK(ad_fn_eval(fn[2], x, y) == ADREV_EPATH, "x[0] is not below 1");
    const char *file = ad_fn_guard().file;
    CHECK(file != NULL && strcmp(file, __FILE__) == 0, "in %s",
          file != NULL ? file : "NULL");
    ad_fn_free(fn[2]);
    CHECK(h.live == 0, "%zu blocks leaked", h.live);
}

static void check_round_trip(ad_vector_fn *function)
{
    heap h = { .limit = LARGEST };
    ad_fn *fn = record(function);
    ad_fn *again = NULL;
    ad_fn *third = NULL;
    struct file f = save(fn);
    ad_status s = load(&again, f.data, f.bytes, &h);
    if (!CHECK(s == ADREV_OK, "load: %s", ad_message(s)))
        return;
    check_same(fn, again, "loaded");
    ad_fn_report a = ad_fn_about(fn);
    ad_fn_report b = ad_fn_about(again);
    CHECK(a.operations == b.operations && a.arrays == b.arrays
              && a.guards == b.guards, "another report");
    struct file g = save(again);
    CHECK(g.bytes == f.bytes && memcmp(g.data, f.data, f.bytes) == 0,
          "saved again: other bytes");
    s = ad_fn_load(&third, f.data, f.bytes, NULL);
    CHECK(s == ADREV_OK, "without options: %s", ad_message(s));
    ad_fn_free(third);
    ad_fn_free(again);
    ad_fn_free(fn);
    CHECK(h.live == 0, "%zu blocks leaked", h.live);
    free(f.data);
    free(g.data);
}

/* --- files that are not right --------------------------------------------- */

static void repair(unsigned char *data, size_t bytes)
{
    if (bytes < 8)
        return;
    XXH64_hash_t sum = XXH3_64bits(data, bytes - 8);
    for (int i = 0; i < 8; i++)
        data[bytes - 8 + (size_t)i] = (unsigned char)(sum >> (8 * i));
}

// Accepted or not: nothing else may happen. Returns whether it was.
static bool harmless(const unsigned char *data, size_t bytes)
{
    static ad_real out[1 << 16];
    static ad_real in[1 << 12];
    heap h = { .limit = LARGEST };
    ad_fn *fn = NULL;
    ad_status s = load(&fn, data, bytes, &h);
    if (s == ADREV_OK && ad_fn_inputs(fn) <= 64 && ad_fn_outputs(fn) <= 64) {
        memcpy(in, at, sizeof at);
        CHECK(ad_fn_eval(fn, in, out) < ADREV_STATUS_COUNT, "eval");
    }
    // derivatives are made anew for each file: of one in 16
    if (s == ADREV_OK && ad_fn_inputs(fn) <= 64 && ad_fn_outputs(fn) <= 64
        && below(16) == 0) {
        CHECK(ad_fn_vjp(fn, in, in, out) < ADREV_STATUS_COUNT, "vjp");
        CHECK(ad_fn_jvp(fn, in, in, out) < ADREV_STATUS_COUNT, "jvp");
        CHECK(ad_fn_hvp(fn, in, in, in, out) < ADREV_STATUS_COUNT, "hvp");
    }
    ad_fn_free(fn);
    CHECK(h.live == 0, "%zu blocks leaked", h.live);
    CHECK(h.largest <= LARGEST, "a block of %zu bytes for a file of %zu",
          h.largest, bytes);
    return s == ADREV_OK;
}

static void check_cut(const struct file *f)
{
    unsigned char *data = malloc(f->bytes + 9);
    for (size_t n = 0; n < f->bytes; n += ONE_IN(7)) {
        CHECK(!harmless(f->data, n), "cut to %zu bytes: accepted", n);
        memcpy(data, f->data, n);
        repair(data, n);
        CHECK(!harmless(data, n), "cut to %zu, repaired: accepted", n);
    }
    for (size_t more = 1; more < 10; more++) {
        memset(data, 0, f->bytes + 9);
        memcpy(data, f->data, f->bytes);
        CHECK(!harmless(data, f->bytes + more), "%zu bytes more: accepted",
              more);
        repair(data, f->bytes + more);
        CHECK(!harmless(data, f->bytes + more), "%zu bytes more, repaired: "
              "accepted", more);
    }
    free(data);
}

static void check_flipped(const struct file *f)
{
    unsigned char *data = malloc(f->bytes);
    size_t accepted = 0;
    for (size_t bit = 0; bit < 8 * f->bytes; bit += ONE_IN(41)) {
        memcpy(data, f->data, f->bytes);
        data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        CHECK(!harmless(data, f->bytes), "bit %zu: accepted", bit);
        repair(data, f->bytes);
        accepted += harmless(data, f->bytes);
    }
    CHECK(accepted > 0, "no altered constant is accepted");
    free(data);
}

// Words are replaced by counts that are far too large, or nearly right.
static void check_counts(const struct file *f)
{
    const uint64_t counts[] = { 0, 1, 0x7FFFFFFF, 0x80000000u, 0xFFFFFFFF,
                                0x100000000u, UINT64_MAX, UINT64_MAX / 8,
                                UINT64_MAX / 2 + 1 };
    unsigned char *data = malloc(f->bytes);
    for (size_t i = 0; i + 16 <= f->bytes; i += 2 * ONE_IN(13))
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++)
            for (int width = 4; width <= 8; width *= 2) {
                memcpy(data, f->data, f->bytes);
                for (int b = 0; b < width; b++)
                    data[i + (size_t)b] = (unsigned char)(counts[k]
                                                          >> (8 * b));
                repair(data, f->bytes);
                harmless(data, f->bytes);
            }
    free(data);
}

static void check_garbage(const struct file *f)
{
    unsigned char data[600];
    for (int i = 0; i < 2000 / ONE_IN(10); i++) {
        size_t n = below(sizeof data);
        for (size_t k = 0; k < n; k++)
            data[k] = (unsigned char)below(256);
        size_t head = below(64);
        if (i % 2 == 0 && head < n && head < f->bytes)
            memcpy(data, f->data, head);
        if (i % 4 < 2)
            repair(data, n);
        CHECK(!harmless(data, n) || n > 16, "garbage: accepted");
    }
    for (int i = 0; i < 2000 / ONE_IN(10); i++) {
        unsigned char *copy = malloc(f->bytes);
        memcpy(copy, f->data, f->bytes);
        for (size_t k = 1 + below(6); k > 0; k--)
            copy[below(f->bytes)] = (unsigned char)below(256);
        repair(copy, f->bytes);
        harmless(copy, f->bytes);
        free(copy);
    }
}

/* --- made up -------------------------------------------------------------- */

static void put(struct file *f, uint64_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        f->data[f->bytes++] = (unsigned char)(v >> (8 * i));
}

// A file with one operation, up to its numbers.
static struct file begun(const char *op, size_t n, size_t numbers,
                         size_t steps)
{
    struct file f = { 0, 0, malloc(ROOM) };
    const uint64_t count[] = { n, 1, numbers, steps };
    put(&f, 0x6e666461, 4);
    put(&f, 1, 4);
    put(&f, sizeof(ad_real), 4);
    for (size_t i = 0; i < 12; i++)
        put(&f, i < 4 ? count[i] : 0, 8);
    put(&f, 1, 4);
    put(&f, strlen(op), 4);
    for (; *op != '\0'; op++)
        put(&f, (unsigned char)*op, 1);
    return f;
}

static ad_status ended(struct file *f, uint64_t output, ad_fn **fn)
{
    put(f, output, 4);
    put(f, 0, 8);
    repair(f->data, f->bytes);
    ad_status s = ad_fn_load(fn, f->data, f->bytes, NULL);
    free(f->data);
    return s;
}

static void put_step(struct file *f, uint32_t op, uint32_t r, uint32_t a,
                     uint32_t b, uint32_t c)
{
    const uint32_t word[] = { op, r, a, b, c };
    for (int i = 0; i < 5; i++)
        put(f, word[i], 4);
}

// What follows a step with many results.
static void put_many(struct file *f, const uint32_t size[5],
                     const uint32_t arg[9])
{
    for (int i = 0; i < 5; i++)
        put(f, size[i], 4);
    for (int i = 0; i < 9; i++)
        put(f, arg[i], 4);
}

// What no recording makes, though nothing might come of it: numbers made in
// another order or by no step, a byte that is read as another one, and a stride
// beyond all numbers to an element that is not there.
static void check_impossible(void)
{
    static const uint32_t size[] = { 1, 0, 0, 1, 0 };
    static const uint32_t stride[] = { 0, 2, (uint32_t)-2, INT32_MAX,
                                       0x80000000u };
    for (uint32_t wrong = 0; wrong < 4; wrong++) {
        ad_fn *fn = NULL;
        struct file f = begun("neg", 1, wrong == 1 ? 4 : 3, 2);
        for (int i = 0; i < (wrong == 1 ? 4 : 3); i++)
            put(&f, wrong == 2 && i == 1 ? 2 : 0, 1);
        put_step(&f, 0, wrong == 3 ? 2 : 1, 0, 0, 0);
        put_step(&f, 0, wrong == 3 ? 1 : 2, 0, 0, 0);
        ad_status s = ended(&f, 1, &fn);
        CHECK(s == (wrong == 0 ? ADREV_OK : ADREV_EFILE), "file %lu: %s",
              (unsigned long)wrong, ad_message(s));
        ad_fn_free(fn);
    }
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 1; k < 3; k++) {
            ad_fn *fn = NULL;
            uint32_t arg[9] = { 0 };
            struct file f = begun("neg", 1, 2, 1);
            arg[k] = arg[3 + k] = arg[6 + k] = stride[i];
            put(&f, 0, 2);
            put_step(&f, 2, 1, 0, 0, 0);
            put_many(&f, size, arg);
            ad_status s = ended(&f, 1, &fn);
            CHECK(s == (i < 3 ? ADREV_OK : ADREV_EFILE), "stride %zu: %s", i,
                  ad_message(s));
            ad_fn_free(fn);
        }
    for (uint32_t i = 0; i < 2; i++) {          // a list has no range
        static const uint32_t one[] = { 5, 0, 0, 0, 1 };
        const uint32_t arg[9] = { 0, 0, i, 0, 0, i, 0, 0, i };
        ad_fn *fn = NULL;
        struct file f = begun("neg", 1, 2, 1);
        put(&f, 0, 2);
        put_step(&f, 2, 1, 0, 0, 0);
        put_many(&f, one, arg);
        put(&f, 0, 4);
        ad_status s = ended(&f, 1, &fn);
        CHECK(s == (i == 0 ? ADREV_OK : ADREV_EFILE), "list %lu: %s",
              (unsigned long)i, ad_message(s));
        ad_fn_free(fn);
    }
}

// 2^31 elements are read or, where the step uses numbers that are not made, the
// first one shows that they are not. More than that are in no recording.
static void check_large(void)
{
    enum { K = 46000 };
    static const uint32_t arg[][9] = {
        { 0 }, { 0, 1, 1, 0, 1, 1, 0, 1, 1 }, { K, 0, 0, K, 0, 0, K, 0, 0 },
        { K - 1, 1, 1, K - 1, 1, 1, K - 1, 1, 1 }, { 0 }
    };
    const uint32_t size[][5] = { { 4, 0, K, K, 1 }, { 4, 0, K, 2 * K, 1 } };
    for (size_t i = 0; i < 5; i++) {
        ad_fn *fn = NULL;
        struct file f = begun("mul", K, 3 * K, 2);
        for (int k = 0; k < 3 * K; k++)
            put(&f, 0, 1);
        put_step(&f, 2, K, 0, 0, 0);
        put_many(&f, size[0], arg[0]);
        put_step(&f, 2, 2 * K, 1, 0, 0);
        put_many(&f, size[i == 4], arg[i]);
        ad_status want = i < 3 ? ADREV_OK : ADREV_EFILE;
        ad_status s = ended(&f, 2 * K, &fn);
        CHECK(s == want, "range %zu: %s", i, ad_message(s));
        ad_fn_free(fn);
    }
}

// What the library never writes: steps that are on nothing.
static void check_empty(void)
{
    static const uint32_t one[9] = { 0, 0, 1, 0, 0, 1, 0, 0, 1 };
    static const struct { uint32_t size[5], results; ad_status want; } c[] = {
        { { 0, 0, 0, 0, 1 }, 1, ADREV_OK }, { { 1, 0, 0, 1, 0 }, 1, ADREV_OK },
        { { 2, 0, 0, 1, 0 }, 1, ADREV_OK }, { { 3, 0, 0, 1, 0 }, 1, ADREV_OK },
        { { 4, 0, 1, 1, 1 }, 1, ADREV_OK },
        { { 0, 0, 0, 0, 0 }, 0, ADREV_EFILE },
        { { 1, 0, 0, 0, 0 }, 1, ADREV_EFILE },
        { { 2, 0, 0, 0, 0 }, 1, ADREV_EFILE },
        { { 3, 0, 0, 0, 0 }, 1, ADREV_EFILE },
        { { 4, 0, 1, 0, 1 }, 1, ADREV_EFILE },
        { { 4, 0, 0, 1, 1 }, 0, ADREV_EFILE },
        { { 4, 0, 1, 1, 0 }, 0, ADREV_EFILE },
        { { 5, 0, 0, 0, 0 }, 0, ADREV_EFILE }
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        ad_fn *fn = NULL;
        struct file f = begun("mul", 1, 1 + c[i].results, 1);
        put(&f, 0, 1 + c[i].results);
        put_step(&f, 2, 1, 0, 0, 0);
        put_many(&f, c[i].size, one);
        ad_status s = ended(&f, c[i].results, &fn);
        CHECK(s == c[i].want, "case %zu: %s", i, ad_message(s));
        ad_fn_free(fn);
    }
}

// A guard compares with a constant, its place is one of a guard, and its file's
// name has no end but its own.
static void check_guard(void)
{
    static const struct {
        bool fixed;
        uint32_t place, name;
        ad_status want;
    } c[] = {
        { false, 0, 0, ADREV_EFILE }, { true, 0, 0, ADREV_OK },
        { true, 1, 0, ADREV_EFILE },
        { true, 0, 0x632e6261, ADREV_OK }, { true, 0, 0x63006261, ADREV_EFILE }
    };
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        ad_fn *fn = NULL;
        struct file f = begun("neg", 2, 4, 1);
        f.data[12 + 11 * 8] = 1;
        put(&f, 0, 2);
        put(&f, 1, 1);
        put(&f, 0, sizeof(ad_real));
        put(&f, 0, 1);
        put_step(&f, 1, 3, 0, c[i].fixed ? 2 : 1, c[i].place);
        put(&f, 0, 4);          // the result, and then where the guard stands
        put(&f, 7, 4);
        if (c[i].name != 0)
            put(&f, 4, 4);
        ad_status s = ended(&f, c[i].name, &fn);
        CHECK(s == c[i].want, "case %zu: %s", i, ad_message(s));
        ad_fn_free(fn);
    }
}

// An order up to which nobody counts.
static void check_order(void)
{
    static const ad_real order[] = { (ad_real)3e38, (ad_real)INFINITY,
                                     (ad_real)NAN, 171 };
    for (size_t i = 0; i < 4; i++) {
        ad_fn *fn = NULL;
        struct file f = begun("polygamma", 1, 3, 1);
        uint64_t bits = 0;
        memcpy(&bits, &order[i], sizeof order[i]);  // little-endian
        put(&f, 0, 1);
        put(&f, 1, 1);
        put(&f, bits, sizeof(ad_real));
        put(&f, 0, 1);
        put_step(&f, 0, 2, 1, 0, 1);
        ad_status s = ended(&f, 2, &fn);
        ad_real x = (ad_real)0.5;
        ad_real y = 0;
        CHECK(s == ADREV_OK && ad_fn_eval(fn, &x, &y) == ADREV_OK && y != y,
              "order %g: %s, %g", (double)order[i], ad_message(s), (double)y);
        ad_fn_free(fn);
    }
}

/* --- every field ------------------------------------------------------------
 * What is accepted is what the library would write: it is saved as the same
 * bytes, and everything can be asked of it.                                 */

static void ignore(const char *text, size_t length, void *user)
{
    *(size_t *)user += text != NULL ? length : 0;
}

static bool answers(ad_status s)
{
    return s == ADREV_OK || s == ADREV_EPATH || s == ADREV_ELIMIT;
}

// Taken apart, only sums may come in another order.
static void check_apart(ad_fn *fn, const ad_real *x)
{
    ad_real y[M];
    ad_real series[2 * M];
    size_t m = ad_fn_outputs(fn);
    ad_status s = ad_fn_eval(fn, x, y);
    ad_status r = ad_fn_taylor(fn, x, x, 1, series);
    CHECK(s == r && answers(s), "%s, in series %s", ad_message(s),
          ad_message(r));
    for (size_t i = 0; i < m && s == ADREV_OK; i++)
        if (isfinite(y[i]))
            CHECK(fabs((double)(y[i] - series[i]))
                      <= 1e4 * EPSILON
                             * (1 + fabs((double)y[i])),
                  "%g, taken apart %g", (double)y[i], (double)series[i]);
}

static void use(ad_fn *fn)
{
    static ad_real out[MOST];
    const bool scalar = ad_fn_outputs(fn) == 1;
    const unsigned every = (1u << ADREV_C_COUNT) - 1;
    const ad_c_options all = {
        .functions = scalar ? every : every & ~(unsigned)ADREV_C_GRADIENT
    };
    size_t text = 0;
    ad_fn *caller = NULL;
    check_apart(fn, at);
    for (int mode = 0; mode < MODES; mode++)
        if (mode != MODES - 1 || scalar) {
            ad_status s = ask(mode, fn, at, out);
            CHECK(answers(s), "mode %d: %s", mode, ad_message(s));
        }
    ad_status s = ad_fn_write_c(fn, &all, ignore, &text, NULL);
    CHECK(s == ADREV_OK && text > 0, "C code: %s", ad_message(s));
    s = ad_fn_record(&caller, calling_any, fn, ad_fn_inputs(fn), at,
                     ad_fn_outputs(fn));
    CHECK(answers(s), "called: %s", ad_message(s));
    ad_fn_free(caller);
}

// Whether the file is accepted; then it is used, if that is wanted.
static bool try_file(const struct file *f, bool used)
{
    heap h = { .limit = LARGEST };
    ad_fn *fn = NULL;
    bool ok = load(&fn, f->data, f->bytes, &h) == ADREV_OK;
    if (ok) {
        struct file again = save(fn);
        CHECK(again.bytes == f->bytes
                  && memcmp(again.data, f->data, f->bytes) == 0,
              "accepted, but saved again as other bytes");
        free(again.data);
        if (used)
            use(fn);
    }
    ad_fn_free(fn);
    CHECK(h.live == 0, "%zu blocks leaked", h.live);
    return ok;
}

static uint32_t word_at(const struct file *f, size_t place)
{
    uint32_t v = 0;
    for (size_t i = 0; i < 4; i++)
        v |= (uint32_t)f->data[place + i] << (8 * i);
    return v;
}

static void set_word(struct file *f, size_t place, uint32_t v)
{
    for (size_t i = 0; i < 4; i++)
        f->data[place + i] = (unsigned char)(v >> (8 * i));
}

// Where the steps of a file begin, as docs/saved-functions.md has it, and where
// each ends. Returns how many there are.
enum { STEPS = 64 };
static size_t find_steps(const struct file *f, size_t end[STEPS + 1])
{
    size_t numbers = word_at(f, 12 + 2 * 8);
    size_t steps = word_at(f, 12 + 3 * 8);
    size_t at_byte = 12 + 12 * 8;
    uint32_t ops = word_at(f, at_byte);
    at_byte += 4;
    for (uint32_t i = 0; i < ops; i++)
        at_byte += 4 + word_at(f, at_byte);
    for (size_t i = 0; i < numbers; i++)
        at_byte += 1 + (f->data[at_byte] == 1 ? sizeof(ad_real) : 0);
    end[0] = at_byte;
    for (size_t i = 0; i < steps && i < STEPS; i++) {
        bool many = word_at(f, at_byte) == ops + 1;
        at_byte += 20;
        if (many && word_at(f, at_byte) == 5)
            at_byte += 4 * word_at(f, at_byte + 16);
        at_byte += many ? 14 * 4 : 0;
        end[i + 1] = at_byte;
    }
    return steps;
}

enum { ALTERATIONS = 20 };
static uint32_t alteration(size_t k, uint32_t was)
{
    static const uint32_t fixed[] = {
        0, 1, 2, 3, 4, 5, 8, 17, 40, 0x10000, 0x7fffffff, 0x80000000u,
        0x80000001u, 0xffffffff, 0xfffffffe, 0xfffffff0
    };
    return k < 16 ? fixed[k]
         : k == 16 ? was + 1 : k == 17 ? was - 1 : k == 18 ? was + 2
         : was ^ 0x80000000u;
}

static void check_plain(void)
{
    ad_vector_fn *const plain[] = { scalars, guarded, arrays, rows, kinds };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        ad_fn *fn = record_as(plain[i], true);
        struct file f = save(fn);
        CHECK(try_file(&f, true), "what was recorded plain is refused");
        ad_fn_free(fn);
        free(f.data);
    }
}

// Whether an integer of a step says something: of the first five, the 14 behind
// them, or a list.
static bool is_read(const struct file *f, size_t step, size_t i)
{
    enum { M_ = 1 << 7, K_ = 1 << 8, N_ = 1 << 9 };
    static const struct { unsigned counts; size_t arity; } kinds_of[] = {
        { N_, 0 }, { K_, 1 }, { K_, 1 }, { K_, 1 }, { M_ | K_ | N_, 2 },
        { N_, 0 }
    };
    const uint32_t ops = word_at(f, 12 + 12 * 8);
    const uint32_t op = word_at(f, step);
    if (op == ops || i < 2 || i > 18)           // a guard has three
        return true;
    if (op < ops)
        return i < 2 + (size_t)adx_row_of(op)->arity;
    const uint32_t kind = word_at(f, step + 5 * 4);
    const size_t arity = kind > 0 ? kinds_of[kind].arity
        : (size_t)adx_row_of(word_at(f, step + 6 * 4))->arity;
    return i == 5 || (i == 6 && (kind == 0 || kind == 4))
        || (i < 10 && kinds_of[kind].counts >> i & 1)
        || (i >= 10 && (i - 10) / 3 < arity);
}

static void check_fields(void)
{
    size_t end[STEPS + 1];
    size_t accepted = 0;
    size_t step_at = 0;
    ad_fn *fn = record(kinds);
    struct file f = save(fn);
    size_t steps = find_steps(&f, end);
    CHECK(steps < STEPS, "%zu steps", steps);
    for (size_t place = end[0]; place < end[steps]; place += 4) {
        uint32_t was = word_at(&f, place);
        step_at += place == end[step_at + 1];
        size_t word = (place - end[step_at]) / 4;
        bool read = is_read(&f, end[step_at], word);
        for (size_t k = 0; k < ALTERATIONS; k++) {
            bool other = alteration(k, was) != was;
            set_word(&f, place, alteration(k, was));
            repair(f.data, f.bytes);
            bool ok = try_file(&f, other);
            set_word(&f, place, was);
            CHECK(!ok || !other || read, "step %zu, integer %zu is not read, "
                  "but may be %lu", step_at, word,
                  (unsigned long)alteration(k, was));
            accepted += ok && other;
        }
    }
    CHECK(accepted > 0, "none was accepted");
    for (size_t i = 0; i < 50 * steps; i++) {       // two fields of one step
        size_t step = i % steps;
        uint32_t was[2];
        size_t place[2];
        for (size_t k = 0; k < 2; k++) {
            place[k] = end[step] + 4 * below((end[step + 1] - end[step]) / 4);
            was[k] = word_at(&f, place[k]);
            set_word(&f, place[k], alteration(below(ALTERATIONS), was[k]));
        }
        repair(f.data, f.bytes);
        try_file(&f, true);
        set_word(&f, place[1], was[1]);
        set_word(&f, place[0], was[0]);
    }
    ad_fn_free(fn);
    free(f.data);
}

// Operations of derivatives whose operands do not depend on one another.
static const char *const apart[] = {
    "share", "cosine", "over_square", "over_square_dx", "asin_dx", "atanh_dx",
    "atan_dx", "sigmoid_dx", "gauss", "exp_share"
};

static bool is_apart(const char *name)
{
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (strcmp(apart[i], name) == 0)
            return true;
    return false;
}

// Only third derivatives ask for their slopes: these are those of the values
// nearby, if numbers are double and finite.
static void check_slopes(const char *name, ad_fn *fn)
{
    enum { INPUTS = 6 };
    static const ad_real from[][3] = {
        { ADX_K(0.3), ADX_K(0.7), ADX_K(0.45) },
        { ADX_K(1.7), ADX_K(0.6), ADX_K(-0.35) },
        { ADX_K(-0.4), ADX_K(1.2), ADX_K(2.3) }
    };
    const ad_real h = ADX_K(0x1p-8);
    for (size_t i = 0; i < 9 && sizeof h == sizeof(double); i++) {
        ad_real x[INPUTS] = { from[i / 3][0], from[i / 3][1], from[i / 3][2] };
        ad_real v[INPUTS] = { 0 };
        ad_real y[5], slope = 0;
        const ad_real here = x[i % 3];
        v[i % 3] = 1;
        ad_status s = ad_fn_jvp(fn, x, v, &slope);
        for (int k = 0; k < 5 && s == ADREV_OK; k++) {
            x[i % 3] = here + h * (ad_real)(k - 2);
            s = ad_fn_eval(fn, x, &y[k]);
        }
        const ad_real want = (8 * (y[3] - y[1]) - (y[4] - y[0])) / (12 * h);
        CHECK(s == ADREV_OK
              && (!isfinite(want)
                  || fabs((double)(slope - want))
                         <= 1e-6 * (1 + fabs((double)want))),
              "%s, point %zu: slope %g, nearby %g", name, i, (double)slope,
              (double)want);
    }
}

// Operations that a recording has only in its derivatives may be steps of a
// file, too: alone, or on each of three numbers.
static void check_operation(const ad_op_info *op, bool each)
{
    const uint32_t size[] = { 0, 0, 0, 0, 3 };
    const uint32_t sizes[] = { 1, 0, 0, 3, 0 };
    const uint32_t arg[9] = { 0, 0, 1, op->arity > 1, 0, 1,
                              2 * (op->arity > 2), 0, 1 };
    const uint32_t sum[9] = { 6, 0, 1, 6, 0, 1, 6, 0, 1 };
    struct file f = begun(op->name, 6, each ? 10 : 7, each ? 2 : 1);
    ad_fn *fn = NULL;
    for (int i = 0; i < (each ? 10 : 7); i++)
        put(&f, 0, 1);
    if (each) {
        put_step(&f, 2, 6, 0, 0, 0);
        put_many(&f, size, arg);
        put_step(&f, 2, 9, 1, 0, 0);
        put_many(&f, sizes, sum);
    } else
        put_step(&f, 0, 6, arg[0], arg[3], arg[6]);
    ad_status s = ended(&f, each ? 9 : 6, &fn);
    if (CHECK(s == ADREV_OK, "%s: %s", op->name, ad_message(s))) {
        use(fn);
        if (!each && is_apart(op->name))
            check_slopes(op->name, fn);
    }
    ad_fn_free(fn);
}

static void check_operations(void)
{
    size_t found = 0;
    for (uint32_t op = 0; op < ADX_OP_COUNT; op++) {
        check_operation(adx_row_of(op), false);
        check_operation(adx_row_of(op), true);
        found += is_apart(adx_row_of(op)->name);
    }
    CHECK(found == sizeof apart / sizeof *apart, "%zu of them", found);
}

/* --- errors --------------------------------------------------------------- */

static bool attempt(size_t failing, bool for_ever, const struct file *f)
{
    heap h = { .failing = failing, .for_ever = for_ever };
    ad_fn *fn = NULL;
    ad_status s = load(&fn, f->data, f->bytes, &h);
    CHECK(s == ADREV_OK || s == ADREV_ENOMEM, "allocation %zu fails, and the "
          "answer is: %s", failing, ad_message(s));
    h.failing = 0;
    ad_fn_free(fn);
    CHECK(h.live == 0, "failing at %zu: %zu blocks leaked", failing, h.live);
    return s == ADREV_OK;
}

static void check_memory(const struct file *f)
{
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        size_t n = 1;
        while (n < 2000 && !attempt(n, for_ever, f))
            n++;
        CHECK(n > 1 && n < 2000, "%zu allocations", n - 1);
    }
}

static void check_errors(void)
{
    heap h = { .limit = LARGEST };
    ad_allocator a = { heap_alloc, heap_free, &h };
    ad_fn_options options = { .allocator = &a };
    ad_fn *fn = NULL;
    CHECK(ad_fn_record_with(&fn, &options, scalars, NULL, N, at, M)
              == ADREV_OK, "record");
    struct file f = save(fn);
    CHECK(ad_fn_save(fn, NULL, NULL) == ADREV_ESHAPE, "write is NULL");
    CHECK(ad_fn_load(NULL, f.data, f.bytes, NULL) == ADREV_ESHAPE, "out");
    ad_fn *out = fn;
    CHECK(ad_fn_load(&out, NULL, 4, NULL) == ADREV_ESHAPE && out == NULL,
          "data is NULL");
    struct file g = { 0, 0, malloc(ROOM) };
    heap_fails(&h, 1, false);
    h.for_ever = true;
    ad_status s = ad_fn_save(fn, collect, &g);
    CHECK(s == ADREV_OK || (s == ADREV_ENOMEM && g.calls == 0), "save: %s",
          ad_message(s));
    h.failing = 0;
    ad_fn_free(fn);
    CHECK(h.live == 0, "%zu blocks leaked", h.live);
    free(f.data);
    free(g.data);
}

static void check_file(size_t i)
{
    ad_fn *fn = record(functions[i]);
    struct file f = save(fn);
    check_cut(&f);
    check_flipped(&f);
    check_counts(&f);
    check_garbage(&f);
    check_memory(&f);
    ad_fn_free(fn);
    free(f.data);
}

int main(void)
{
    check_errors();
    check_large();
    check_empty();
    check_guard();
    check_impossible();
    check_order();
    check_places();
    check_fields();
    check_operations();
    for (size_t i = 0; i < FUNCTIONS; i++)
        check_round_trip(functions[i]);
    check_round_trip(rows);
    check_round_trip(kinds);
    check_plain();
    for (size_t i = 0; i < FUNCTIONS; i++)
        check_file(i);
    return check_done("saved");
}
