// SPDX-License-Identifier: MIT-0
/* fuzz.h - what the fuzzers share: numbers from the input, and what must hold.
 *
 *     fuzz_input in = { data, size };
 *     while (fuzz_more(&in))
 *         switch (fuzz_below(&in, 3)) ...
 *     FUZZ_MUST(condition, "text %d", 1);    else says so and aborts
 *
 * A fuzzer defines LLVMFuzzerTestOneInput and includes this file after adrev.
 * With -DFUZZ_REPLAY it is an ordinary program that runs the files which it is
 * given: any compiler can replay the seeds, and what a fuzzer has found.     */

#ifndef ADREV_FUZZ_H
#define ADREV_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_MUST(condition, ...)                                           \
    ((condition) ? (void)0                                                  \
                 : (printf("%s:%d: ", __FILE__, __LINE__),                  \
                    printf(__VA_ARGS__), printf("\n"), fflush(stdout),      \
                    abort()))

/* --- numbers from the input ------------------------------------------------
 * Behind its end the input goes on with zeros.                               */

typedef struct fuzz_input {
    const uint8_t *at;
    size_t left;
} fuzz_input;

static inline bool fuzz_more(const fuzz_input *in)
{
    return in->left > 0;
}

static inline unsigned fuzz_byte(fuzz_input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

// From 0 to n - 1; n is at most 256.
static inline size_t fuzz_below(fuzz_input *in, size_t n)
{
    return fuzz_byte(in) % n;
}

static inline bool fuzz_rarely(fuzz_input *in)
{
    return fuzz_byte(in) >= 240;
}

// From -3 to 3.
static inline int fuzz_small(fuzz_input *in)
{
    return (int)fuzz_below(in, 7) - 3;
}

/* --- memory that is not always there -------------------------------------- */

typedef struct fuzz_heap {
    size_t left;                // allocations until one fails
    size_t live;
    size_t most;                // bytes of one block
} fuzz_heap;

// No input is so long that it needs a block of this size.
enum { FUZZ_LARGEST = 1 << 26 };

static inline void *fuzz_alloc(size_t bytes, void *user)
{
    fuzz_heap *h = user;
    h->most = bytes > h->most ? bytes : h->most;
    if (h->left == 0 || bytes > FUZZ_LARGEST)
        return NULL;
    h->left--;
    void *p = malloc(bytes);
    h->live += p != NULL;
    return p;
}

static inline void fuzz_free(void *block, void *user)
{
    fuzz_heap *h = user;
    h->live -= block != NULL;
    free(block);
}

// Arrays have exactly so many bytes, so that a sanitizer sees what is read or
// written beyond.
static inline void *fuzz_array(size_t n, size_t size)
{
    void *p = calloc(n * size > 0 ? n * size : 1, 1);
    FUZZ_MUST(p != NULL, "out of memory");
    return p;
}

// The same bits, or both NaN.
static inline bool fuzz_same(const ad_real *a, const ad_real *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && (a[i] == a[i]
                                                     || b[i] == b[i]))
            return false;
    return true;
}

/* --- files instead of libFuzzer ------------------------------------------- */

#ifdef FUZZ_REPLAY
static bool fuzz_replay(const char *name)
{
    FILE *file = fopen(name, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return false;
    long end = ftell(file);
    size_t size = end > 0 ? (size_t)end : 0;
    uint8_t *data = fuzz_array(size, 1);
    rewind(file);
    bool read = fread(data, 1, size, file) == size;
    fclose(file);
    if (read)
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    return read;
}

int main(int argc, char **argv)
{
    int passed = 0;
    for (int i = 1; i < argc; i++)
        passed += fuzz_replay(argv[i]);
    printf("%s: %d passed, %d failed\n", argv[0], passed, argc - 1 - passed);
    return passed != argc - 1;
}
#endif

#endif
