// SPDX-License-Identifier: MIT-0
// tags: part
/* lapack_hand.h - what LAPACK computes, in plain loops: no pivots, no blocks.
 * Included once for each kind of number N, with the operations ADD SUB MUL DIV
 * SQRT LOG ATAN COS SIN, CONST(c), LESS(a, b), and NAME(function).
 * Matrices lie row by row.                                                   */

// B[n*k] = A^-1 B; A is overwritten. Returns log |det A|.
static N NAME(solve)(size_t n, size_t k, N A[], N B[])
{
    N logdet = CONST(0);
    for (size_t p = 0; p < n; p++) {
        logdet = ADD(logdet, DIV(LOG(MUL(A[p * n + p], A[p * n + p])),
                                 CONST(2)));
        for (size_t i = p + 1; i < n; i++) {
            N l = DIV(A[i * n + p], A[p * n + p]);
            for (size_t j = p + 1; j < n; j++)
                A[i * n + j] = SUB(A[i * n + j], MUL(l, A[p * n + j]));
            for (size_t j = 0; j < k; j++)
                B[i * k + j] = SUB(B[i * k + j], MUL(l, B[p * k + j]));
        }
    }
    for (size_t i = n; i-- > 0;)
        for (size_t j = 0; j < k; j++) {
            for (size_t p = i + 1; p < n; p++)
                B[i * k + j] = SUB(B[i * k + j],
                                   MUL(A[i * n + p], B[p * k + j]));
            B[i * k + j] = DIV(B[i * k + j], A[i * n + i]);
        }
    return logdet;
}

// The lower triangle of A becomes L.
static void NAME(cholesky)(size_t n, N A[])
{
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            N s = A[i * n + j];
            for (size_t p = 0; p < j; p++)
                s = SUB(s, MUL(A[i * n + p], A[j * n + p]));
            A[i * n + j] = i == j ? SQRT(s) : DIV(s, A[j * n + j]);
        }
}

// B = L^-1 B, or L^-T B
static void NAME(lower)(size_t n, size_t k, const N L[], bool transposed,
                        bool unit, N B[])
{
    for (size_t step = 0; step < n; step++) {
        size_t i = transposed ? n - 1 - step : step;
        for (size_t c = 0; c < k; c++) {
            N s = B[i * k + c];
            for (size_t q = 0; q < step; q++) {
                size_t p = transposed ? n - 1 - q : q;
                s = SUB(s, MUL(transposed ? L[p * n + i] : L[i * n + p],
                               B[p * k + c]));
            }
            B[i * k + c] = unit ? s : DIV(s, L[i * n + i]);
        }
    }
}

// X = (A'A)^-1 A'B
static void NAME(least_squares)(size_t m, size_t n, size_t k, const N A[],
                                const N B[], N X[])
{
    static N G[HAND_MOST * HAND_MOST];
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            G[i * n + j] = CONST(0);
            for (size_t p = 0; p < m; p++)
                G[i * n + j] = ADD(G[i * n + j],
                                   MUL(A[p * n + i], A[p * n + j]));
        }
        for (size_t c = 0; c < k; c++) {
            X[i * k + c] = CONST(0);
            for (size_t p = 0; p < m; p++)
                X[i * k + c] = ADD(X[i * k + c],
                                   MUL(A[p * n + i], B[p * k + c]));
        }
    }
    NAME(cholesky)(n, G);
    NAME(lower)(n, k, G, false, false, X);
    NAME(lower)(n, k, G, true, false, X);
}

// One rotation of Jacobi's method: A = J' A J, V = V J.
static void NAME(rotate)(size_t n, size_t p, size_t q, N A[], N V[])
{
    N angle = DIV(ATAN(DIV(MUL(CONST(2), A[p * n + q]),
                           SUB(A[q * n + q], A[p * n + p]))), CONST(2));
    N c = COS(angle);
    N s = SIN(angle);
    for (size_t i = 0; i < n; i++) {
        N a = A[i * n + p], b = A[i * n + q];
        A[i * n + p] = SUB(MUL(c, a), MUL(s, b));
        A[i * n + q] = ADD(MUL(s, a), MUL(c, b));
        a = V[i * n + p], b = V[i * n + q];
        V[i * n + p] = SUB(MUL(c, a), MUL(s, b));
        V[i * n + q] = ADD(MUL(s, a), MUL(c, b));
    }
    for (size_t i = 0; i < n; i++) {
        N a = A[p * n + i], b = A[q * n + i];
        A[p * n + i] = SUB(MUL(c, a), MUL(s, b));
        A[q * n + i] = ADD(MUL(s, a), MUL(c, b));
    }
}

// Eigenvalues of the symmetric A [n*n] in ascending order, and vectors, the
// largest component of each positive.
static void NAME(eigen)(size_t n, N A[], N w[], N V[])
{
    static N U[HAND_MOST * HAND_MOST];
    for (size_t i = 0; i < n * n; i++)
        U[i] = CONST(i % (n + 1) == 0);
    for (int sweep = 0; sweep < 10; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                NAME(rotate)(n, p, q, A, U);
    for (size_t i = 0; i < n; i++) {
        size_t place = 0;
        size_t most = 0;
        for (size_t j = 0; j < n; j++) {
            place += LESS(A[j * n + j], A[i * n + i]);
            if (LESS(MUL(U[most * n + i], U[most * n + i]),
                     MUL(U[j * n + i], U[j * n + i])))
                most = j;
        }
        w[place] = A[i * n + i];
        for (size_t j = 0; j < n; j++)
            V[j * n + place] = LESS(U[most * n + i], CONST(0))
                             ? SUB(CONST(0), U[j * n + i]) : U[j * n + i];
    }
}

static void NAME(mirror)(size_t n, N A[])
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            A[i * n + j] = A[j * n + i];
}

/* --- programs: see struct program in tests/adapters/lapack.c ---------------- */

static void NAME(by_solve)(const program *p, size_t n, N A[], N B[], N y[])
{
    NAME(solve)(n, p->sides, A, B);
    memcpy(y, B, n * p->sides * sizeof *y);
}

static void NAME(by_logdet)(const program *p, size_t n, N A[], N B[], N y[])
{
    *y = NAME(solve)(n, p->sides, A, B);
}

static void NAME(by_spd)(const program *p, size_t n, N A[], N B[], N y[])
{
    NAME(mirror)(n, A);
    y[n * p->sides] = NAME(solve)(n, p->sides, A, B);
    memcpy(y, B, n * p->sides * sizeof *y);
}

static void NAME(by_cholesky)(const program *p, size_t n, N A[], N B[], N y[])
{
    (void)p;
    (void)B;
    NAME(cholesky)(n, A);
    for (size_t i = 0; i < n * n; i++)
        y[i] = i % n > i / n ? CONST(0) : A[i];
}

static void NAME(by_factored)(const program *p, size_t n, N A[], N B[], N y[])
{
    NAME(lower)(n, p->sides, A, false, false, B);
    NAME(lower)(n, p->sides, A, true, false, B);
    memcpy(y, B, n * p->sides * sizeof *y);
}

// The lower triangle holds that of T, or the upper one of T transposed.
static void NAME(by_tri)(const program *p, size_t n, N A[], N B[], N y[])
{
    bool upper = p->flags & ADREV_LAPACK_UPPER;
    bool transposed = p->flags & ADREV_LAPACK_TRANSPOSED;
    NAME(lower)(n, p->sides, A, upper != transposed,
                p->flags & ADREV_LAPACK_UNIT, B);
    memcpy(y, B, n * p->sides * sizeof *y);
}

static void NAME(by_eigen)(const program *p, size_t n, N A[], N B[], N y[])
{
    static N V[HAND_MOST * HAND_MOST];
    (void)B;
    NAME(mirror)(n, A);
    NAME(eigen)(n, A, y, V);
    if (p->flags)
        memcpy(y + n, V, n * n * sizeof *y);
}

static void NAME(by_lsq)(const program *p, size_t n, N A[], N B[], N y[])
{
    NAME(least_squares)(n + 3, n, p->sides, A, B, y);
}
