#pragma once

/* === lapack/routines ========================================================
 * Configuration, and the routines of LAPACK and BLAS by their names for
 * ad_real.
 *
 *   offers  adx_lapack_int ADX_LAPACK adx_lapack_gemm adx_lapack_trmm
 *           adx_lapack_trsm adx_lapack_potrs
 * ====================================================================== */

/* --- configuration -------------------------------------------------------- */

// ADREV_LAPACK_INT   INTEGER of the LAPACK that is linked.          default int
//   int64_t for one with 64-bit integers.
#ifndef ADREV_LAPACK_INT
#define ADREV_LAPACK_INT int
#endif

// ADREV_LAPACK_NAME  a routine's name as the linker knows it.   default name##_
#ifndef ADREV_LAPACK_NAME
#define ADREV_LAPACK_NAME(name) name##_
#endif

// ADREV_LAPACK_DECLARED   another header has declared the routines below, with
//   the lengths of strings at the end.                     default: not defined

/* --- LAPACK --------------------------------------------------------------- */

typedef ADREV_LAPACK_INT adx_lapack_int;

#define ADX_LAPACK_double(name) ADREV_LAPACK_NAME(d##name)
#define ADX_LAPACK_float(name)  ADREV_LAPACK_NAME(s##name)
#define ADX_LAPACK_PASTE(real, name) ADX_LAPACK_##real(name)
#define ADX_LAPACK_OF(real, name)    ADX_LAPACK_PASTE(real, name)
#define ADX_LAPACK(name)             ADX_LAPACK_OF(ADREV_REAL, name)

// gfortran passes the length of each string behind all arguments, and may rely
// on it (since version 8); libraries written in C ignore it.
#ifndef ADREV_LAPACK_DECLARED
#ifdef __cplusplus
extern "C" {
#endif
typedef const adx_lapack_int *adx_lapack_n;
void ADX_LAPACK(gemm)(const char *, const char *, adx_lapack_n, adx_lapack_n,
                      adx_lapack_n, const ad_real *, const ad_real *,
                      adx_lapack_n, const ad_real *, adx_lapack_n,
                      const ad_real *, ad_real *, adx_lapack_n, size_t, size_t);
void ADX_LAPACK(syr2k)(const char *, const char *, adx_lapack_n, adx_lapack_n,
                       const ad_real *, const ad_real *, adx_lapack_n,
                       const ad_real *, adx_lapack_n, const ad_real *,
                       ad_real *, adx_lapack_n, size_t, size_t);
void ADX_LAPACK(trsm)(const char *, const char *, const char *, const char *,
                      adx_lapack_n, adx_lapack_n, const ad_real *,
                      const ad_real *, adx_lapack_n, ad_real *, adx_lapack_n,
                      size_t, size_t, size_t, size_t);
void ADX_LAPACK(trmm)(const char *, const char *, const char *, const char *,
                      adx_lapack_n, adx_lapack_n, const ad_real *,
                      const ad_real *, adx_lapack_n, ad_real *, adx_lapack_n,
                      size_t, size_t, size_t, size_t);
void ADX_LAPACK(getrf)(adx_lapack_n, adx_lapack_n, ad_real *, adx_lapack_n,
                       adx_lapack_int *, adx_lapack_int *);
void ADX_LAPACK(getrs)(const char *, adx_lapack_n, adx_lapack_n,
                       const ad_real *, adx_lapack_n, adx_lapack_n, ad_real *,
                       adx_lapack_n, adx_lapack_int *, size_t);
void ADX_LAPACK(potrf)(const char *, adx_lapack_n, ad_real *, adx_lapack_n,
                       adx_lapack_int *, size_t);
void ADX_LAPACK(potri)(const char *, adx_lapack_n, ad_real *, adx_lapack_n,
                       adx_lapack_int *, size_t);
void ADX_LAPACK(geqrf)(adx_lapack_n, adx_lapack_n, ad_real *, adx_lapack_n,
                       ad_real *, ad_real *, adx_lapack_n, adx_lapack_int *);
void ADX_LAPACK(ormqr)(const char *, const char *, adx_lapack_n, adx_lapack_n,
                       adx_lapack_n, const ad_real *, adx_lapack_n,
                       const ad_real *, ad_real *, adx_lapack_n, ad_real *,
                       adx_lapack_n, adx_lapack_int *, size_t, size_t);
void ADX_LAPACK(syevd)(const char *, const char *, adx_lapack_n, ad_real *,
                       adx_lapack_n, ad_real *, ad_real *, adx_lapack_n,
                       adx_lapack_int *, adx_lapack_n, adx_lapack_int *,
                       size_t, size_t);
#ifdef __cplusplus
}
#endif
#endif

// C[m,n] += a op(A) op(B), where op is "N" (as it is) or "T" (transposed), and
// the inner dimension is k. Matrices lie column by column, `ld` apart.
static inline void adx_lapack_gemm(const char *ta, const char *tb, size_t m,
                                   size_t n, size_t k, ad_real a,
                                   const ad_real *A, size_t lda,
                                   const ad_real *B, size_t ldb, ad_real *C,
                                   size_t ldc)
{
    const adx_lapack_int M = (adx_lapack_int)m;
    const adx_lapack_int N = (adx_lapack_int)n;
    const adx_lapack_int K = (adx_lapack_int)k;
    const adx_lapack_int LDA = (adx_lapack_int)lda;
    const adx_lapack_int LDB = (adx_lapack_int)ldb;
    const adx_lapack_int LDC = (adx_lapack_int)ldc;
    const ad_real one = 1;
    if (m > 0 && n > 0 && k > 0)
        ADX_LAPACK(gemm)(ta, tb, &M, &N, &K, &a, A, &LDA, B, &LDB, &one, C,
                         &LDC, 1, 1);
}

// B[m,n] = a op(L) B ("L"), or a B op(L) ("R"), L lower triangular.
static inline void adx_lapack_trmm(const char *side, const char *t,
                                   const char *unit, size_t m, size_t n,
                                   ad_real a, const ad_real *L, size_t ldl,
                                   ad_real *B, size_t ldb)
{
    const adx_lapack_int M = (adx_lapack_int)m;
    const adx_lapack_int N = (adx_lapack_int)n;
    const adx_lapack_int LDL = (adx_lapack_int)ldl;
    const adx_lapack_int LDB = (adx_lapack_int)ldb;
    if (m > 0 && n > 0)
        ADX_LAPACK(trmm)(side, "L", t, unit, &M, &N, &a, L, &LDL, B, &LDB, 1,
                         1, 1, 1);
}

// The same with the inverse of op(L); uplo "U": of the upper triangle.
static inline void adx_lapack_trsm(const char *side, const char *uplo,
                                   const char *t, const char *unit, size_t m,
                                   size_t n, const ad_real *L, size_t ldl,
                                   ad_real *B, size_t ldb)
{
    const adx_lapack_int M = (adx_lapack_int)m;
    const adx_lapack_int N = (adx_lapack_int)n;
    const adx_lapack_int LDL = (adx_lapack_int)ldl;
    const adx_lapack_int LDB = (adx_lapack_int)ldb;
    const ad_real one = 1;
    if (m > 0 && n > 0)
        ADX_LAPACK(trsm)(side, uplo, t, unit, &M, &N, &one, L, &LDL, B, &LDB,
                         1, 1, 1, 1);
}

// B[n,k] = (L L')^-1 B
static inline void adx_lapack_potrs(size_t n, size_t k, const ad_real *L,
                                    ad_real *B)
{
    adx_lapack_trsm("L", "L", "N", "N", n, k, L, n, B, n);
    adx_lapack_trsm("L", "L", "T", "N", n, k, L, n, B, n);
}
