// SPDX-License-Identifier: MIT-0
/* adbench_files.h - reads the input and reference files of the ADBench
 * problems.
 *
 * A reader holds the text of one file and everything made from it. The first
 * thing that is wrong stays in reader.error; what is read afterwards is zero,
 * and nothing may be computed from it.
 *
 *     struct reader r = reader_open(file);
 *     struct gmm g = read_gmm(&r, false);
 *     if (!r.error) ...
 *     reader_close(&r);                                                     */

#ifndef ADREV_TESTS_ADBENCH_FILES_H
#define ADREV_TESTS_ADBENCH_FILES_H

#include "adbench_programs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    READER_BLOCKS = 16,
    READER_WORD = 256,
    MANY = 10000000,        // points, observations, characters
    SOME = 4096             // dimensions, components, layers
};

struct reader {
    const char *error;              // NULL: none
    char *at;
    void *block[READER_BLOCKS];     // the text, then what was made from it
    size_t blocks;
};

/* --- text ----------------------------------------------------------------- */

static inline void reader_fail(struct reader *r, const char *why)
{
    r->error = r->error ? r->error : why;
}

// Memory that lives as long as the reader.
static inline void *reader_get(struct reader *r, size_t count, size_t size)
{
    void *p = adbench_get(count, size);
    if (r->blocks == READER_BLOCKS) {
        free(p);
        exit(EXIT_FAILURE);
    }
    return r->block[r->blocks++] = p;
}

static inline void reader_close(struct reader *r)
{
    while (r->blocks > 0)
        free(r->block[--r->blocks]);
}

// The whole of a file, which is closed; NULL is an error like any other.
static inline struct reader reader_open(FILE *f)
{
    struct reader r = { .error = NULL };
    long size = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    size_t n = size > 0 ? (size_t)size : 0;
    r.at = reader_get(&r, n + 1, 1);
    if (size < 0)
        reader_fail(&r, "cannot be opened");
    else if (fseek(f, 0, SEEK_SET) != 0 || fread(r.at, 1, n, f) != n)
        reader_fail(&r, "cannot be read");
    if (f)
        fclose(f);
    return r;
}

// White space and colons lie between the numbers.
static inline void reader_skip(struct reader *r)
{
    r->at += strspn(r->at, " \t\r\n:");
}

static inline bool reader_at_end(struct reader *r)
{
    reader_skip(r);
    return *r->at == '\0';
}

// Every file ends where its sizes say.
static inline void reader_end(struct reader *r)
{
    if (!reader_at_end(r))
        reader_fail(r, "goes on after its end");
}

static inline bool reader_ended_word(struct reader *r, const char *end)
{
    if (end == r->at)
        reader_fail(r, reader_at_end(r) ? "ends too early" : "not a number");
    else if (strcspn(end, " \t\r\n:") != 0 && *end != '\0')
        reader_fail(r, "not a number");
    return !r->error;
}

static inline double read_real(struct reader *r)
{
    reader_skip(r);
    char *end = r->at;
    double x = strtod(r->at, &end);
    if (r->error || !reader_ended_word(r, end))
        return 0;
    if (!isfinite(x))
        reader_fail(r, "a number that is not finite");
    r->at = end;
    return r->error ? 0 : x;
}

static inline long read_integer(struct reader *r, long low, long high)
{
    reader_skip(r);
    char *end = r->at;
    long k = strtol(r->at, &end, 10);
    if (r->error || !reader_ended_word(r, end))
        return 0;
    if (k < low || k > high)
        reader_fail(r, "an integer out of range");
    r->at = end;
    return r->error ? 0 : k;
}

static inline size_t read_size(struct reader *r, size_t low, size_t high)
{
    return (size_t)read_integer(r, (long)low, (long)high);
}

// An index below n.
static inline size_t read_index(struct reader *r, size_t n)
{
    return n > 0 ? read_size(r, 0, n - 1) : 0;
}

static inline void read_word(struct reader *r, char word[READER_WORD])
{
    reader_skip(r);
    size_t n = strcspn(r->at, " \t\r\n:");
    if (n == 0 || n >= READER_WORD)
        reader_fail(r, n == 0 ? "ends too early" : "a word that is too long");
    n = r->error ? 0 : n;
    memcpy(word, r->at, n);
    word[n] = '\0';
    r->at += n;
}

// A count that the rest of the text cannot hold is found before there is
// memory for it: a number is a digit and a space at least.
static inline bool reader_holds(struct reader *r, size_t n)
{
    if (n > 0 && n > (strlen(r->at) + 1) / 2)
        reader_fail(r, "ends too early");
    return !r->error;
}

static inline double *read_reals(struct reader *r, size_t n)
{
    bool fits = reader_holds(r, n);
    double *x = reader_get(r, fits ? n : 0, sizeof *x);
    for (size_t i = 0; fits && i < n; i++)
        x[i] = read_real(r);
    return x;
}

// Copies, which the files of the replicated problems do not contain.
static inline double *repeat_reals(struct reader *r, size_t n, size_t times)
{
    double *one = read_reals(r, n);
    double *all = reader_get(r, r->error ? 0 : n * times, sizeof *all);
    for (size_t i = 0; !r->error && i < n * times; i++)
        all[i] = one[i % n];
    return all;
}

/* --- gmm, lstm, ba -------------------------------------------------------- */

// replicate: one point stands for all.
static inline struct gmm read_gmm(struct reader *r, bool replicate)
{
    struct gmm g = { 0 };
    g.d = read_size(r, 2, SOME);
    g.K = read_size(r, 1, SOME);
    g.n = read_size(r, 1, MANY);
    g.stride = replicate ? 0 : g.d;
    g.in = read_reals(r, gmm_inputs(&g));
    g.points = read_reals(r, replicate ? g.d : g.n * g.d);
    g.gamma = read_real(r);
    g.m = (double)read_integer(r, 0, SOME);
    if (!r->error && g.gamma <= 0)
        reader_fail(r, "gamma is not positive");
    reader_end(r);
    return g;
}

static inline struct lstm read_lstm(struct reader *r)
{
    struct lstm p = { 0 };
    p.l = read_size(r, 1, SOME);
    p.c = read_size(r, 2, MANY);
    p.b = read_size(r, 1, SOME);
    p.in = read_reals(r, lstm_inputs(&p));
    p.state = read_reals(r, 2 * p.l * p.b);
    p.text = read_reals(r, p.c * p.b);
    for (size_t i = 0; !r->error && i < p.c * p.b; i++)
        if (p.text[i] != 0 && p.text[i] != 1)
            reader_fail(r, "a bit that is neither 0 nor 1");
    reader_end(r);
    return p;
}

static inline void read_seen(struct reader *r, struct ba *b, bool replicate)
{
    size_t n = replicate || reader_holds(r, 4 * b->p) ? b->p : 0;
    struct ba_seen *seen = reader_get(r, n, sizeof *seen);
    double *at = replicate ? read_reals(r, 2) : NULL;
    for (size_t i = 0; !r->error && i < n; i++)
        if (replicate) {
            seen[i] = (struct ba_seen){ i % b->n, i % b->m, { at[0], at[1] } };
        } else {
            seen[i].camera = read_index(r, b->n);
            seen[i].point = read_index(r, b->m);
            seen[i].at[0] = read_real(r);
            seen[i].at[1] = read_real(r);
        }
    b->seen = seen;
}

// replicate: one camera, point, weight and measurement stand for all.
static inline struct ba read_ba(struct reader *r, bool replicate)
{
    struct ba b = { 0 };
    b.n = read_size(r, 1, MANY);
    b.m = read_size(r, 1, MANY);
    b.p = read_size(r, 1, MANY);
    if (replicate) {
        b.cameras = repeat_reals(r, BA_CAMERA, b.n);
        b.points = repeat_reals(r, BA_POINT, b.m);
        b.weights = repeat_reals(r, 1, b.p);
    } else {
        b.cameras = read_reals(r, BA_CAMERA * b.n);
        b.points = read_reals(r, BA_POINT * b.m);
        b.weights = read_reals(r, b.p);
    }
    read_seen(r, &b, replicate);
    reader_end(r);
    return b;
}

/* --- hand ----------------------------------------------------------------- */

// Records of a model file: lines that are not empty.
static inline size_t reader_lines(const struct reader *r)
{
    size_t n = 0;
    for (const char *p = r->at; *p != '\0'; p += strcspn(p, "\n")) {
        p += strspn(p, "\r\n");
        n += *p != '\0';
    }
    return n;
}

static inline void read_matrix(struct reader *r, double *a)
{
    static const double last[4] = { 0, 0, 0, 1 };
    for (size_t i = 0; i < HAND_MATRIX; i++)
        a[i] = read_real(r);
    for (size_t i = 0; i < 4; i++)
        if (!r->error && a[12 + i] != last[i])
            reader_fail(r, "a matrix whose last row is not 0 0 0 1");
}

static inline void read_bones(struct reader *r, struct hand_model *h)
{
    char name[READER_WORD];
    for (int q = 0; q < HAND_BONES; q++) {
        read_word(r, name);
        h->parent[q] = (int)read_integer(r, -1, q - 1);
        read_matrix(r, h->base[q]);
        read_matrix(r, h->inverse[q]);
    }
    reader_end(r);
}

// Of a vertex: position, five numbers that are not used, and its bones.
static inline void read_vertices(struct reader *r, struct hand_model *h)
{
    h->vertices = reader_lines(r);
    double *rest = reader_get(r, 3 * h->vertices, sizeof *rest);
    double *weight = reader_get(r, HAND_BONES * h->vertices, sizeof *weight);
    for (size_t v = 0; !r->error && v < h->vertices; v++) {
        for (size_t e = 0; e < 3; e++)
            rest[3 * v + e] = read_real(r);
        for (size_t e = 0; e < 5; e++)
            read_real(r);
        for (size_t k = read_size(r, 0, HAND_BONES); k > 0; k--) {
            size_t q = read_index(r, HAND_BONES);
            weight[HAND_BONES * v + q] = read_real(r);
        }
    }
    h->rest = rest;
    h->weight = weight;
    reader_end(r);
}

static inline void read_triangles(struct reader *r, struct hand_model *h)
{
    h->triangles = reader_lines(r);
    size_t *corner = reader_get(r, 3 * h->triangles, sizeof *corner);
    for (size_t i = 0; !r->error && i < 3 * h->triangles; i++)
        corner[i] = read_index(r, h->vertices);
    h->corner = corner;
    reader_end(r);
}

static inline struct hand read_hand(struct reader *r,
                                    const struct hand_model *h,
                                    bool complicated)
{
    struct hand p = { .model = h, .complicated = complicated };
    p.n = read_size(r, 1, MANY);
    read_size(r, HAND_THETA, HAND_THETA);
    size_t n = reader_holds(r, 4 * p.n) ? p.n : 0;
    size_t *at = reader_get(r, n, sizeof *at);
    double *measured = reader_get(r, 3 * n, sizeof *measured);
    for (size_t i = 0; !r->error && i < n; i++) {
        at[i] = read_index(r, complicated ? h->triangles : h->vertices);
        for (size_t e = 0; e < 3; e++)
            measured[3 * i + e] = read_real(r);
    }
    p.at = at;
    p.measured = measured;
    p.us = read_reals(r, complicated ? 2 * p.n : 0);
    p.theta = read_reals(r, HAND_THETA);
    reader_end(r);
    return p;
}

/* --- the manifest and the references -------------------------------------- */

struct listed {
    char name[READER_WORD];
    char kind[READER_WORD];
    char input[READER_WORD];
    char reference[READER_WORD];
    char model[READER_WORD];        // "-": none
    double value;                   // tolerances: of F,
    double normal;                  // of J relative to its largest entry,
    double component;               // and to each entry
};

static inline struct listed read_listed(struct reader *r)
{
    struct listed c;
    read_word(r, c.name);
    read_word(r, c.kind);
    read_word(r, c.input);
    read_word(r, c.reference);
    read_word(r, c.model);
    c.value = read_real(r);
    c.normal = read_real(r);
    c.component = read_real(r);
    return c;
}

enum { SECTIONS = 5 };

struct section {
    char label[READER_WORD];
    size_t n;
    const double *v;
};

struct reference {
    char name[READER_WORD];
    char kind[READER_WORD];
    size_t dims[3];
    struct section section[SECTIONS];
    size_t sections;
    unsigned long long hash[2];     // of section HASH, which has no reals
};

static inline void expect_word(struct reader *r, const char *want)
{
    char word[READER_WORD];
    read_word(r, word);
    if (!r->error && strcmp(word, want) != 0)
        reader_fail(r, "another word than expected");
}

static inline void read_hash(struct reader *r, unsigned long long hash[2])
{
    for (size_t i = 0; i < 2; i++) {
        reader_skip(r);
        char *end = r->at;
        hash[i] = strtoull(r->at, &end, 10);
        if (r->error || !reader_ended_word(r, end))
            return;
        r->at = end;
    }
}

static inline void read_section(struct reader *r, struct reference *f)
{
    struct section *s = &f->section[f->sections];
    if (f->sections == SECTIONS) {
        reader_fail(r, "too many sections");
        return;
    }
    read_word(r, s->label);
    s->n = read_size(r, 1, MANY);
    if (strcmp(s->label, "HASH") == 0)
        read_hash(r, f->hash);
    else
        s->v = read_reals(r, s->n);
    f->sections++;
}

static inline struct reference read_reference(struct reader *r)
{
    struct reference f = { .sections = 0 };
    char word[READER_WORD];
    expect_word(r, "ADREVREF");
    read_size(r, 1, 1);
    expect_word(r, "case");
    read_word(r, f.name);
    expect_word(r, "kind");
    read_word(r, f.kind);
    expect_word(r, "dims");
    read_size(r, 3, 3);
    for (size_t i = 0; i < 3; i++)
        f.dims[i] = read_size(r, 1, MANY);
    for (read_word(r, word); !r->error && strcmp(word, "section") == 0;
         read_word(r, word))
        read_section(r, &f);
    if (!r->error && strcmp(word, "end") != 0)
        reader_fail(r, "another word than section or end");
    reader_end(r);
    return f;
}

// The numbers of a section that must have n of them; NULL otherwise.
static inline const double *reference_of(const struct reference *f,
                                         const char *label, size_t n)
{
    for (size_t i = 0; i < f->sections; i++)
        if (strcmp(f->section[i].label, label) == 0)
            return f->section[i].n == n ? f->section[i].v : NULL;
    return NULL;
}

#endif
