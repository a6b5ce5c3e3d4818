// SPDX-License-Identifier: MIT-0
/* workloads.h - what the benchmark measures, and how a tool takes part.
 *
 * A case is a program at one size. A tool is anything that computes its
 * derivative: code written by hand, adrev, another library. The plain program
 * takes part as a tool without derivative; every other time is divided by its
 * time. This header is C11 and C++17, so that tools can be written in both.
 *
 *   mul        x*y: the fixed cost of a gradient
 *   rotquat    rotate a vector by a quaternion, full 3 x 7 Jacobian
 *   dot        one long chain of additions
 *   matvec     sum of A*x: as dot, but a million inputs meet a thousand
 *   nn         two dense layers and a softmax, 10 200 inputs
 *   particles  four damped springs: short statements, few variables alive
 *   loop       sin and exp in every step: the arithmetic outweighs the tape
 *   forward    the same program, one directional derivative in forward mode
 *   burgers    a two-dimensional stencil: long statements, the hard one
 *   gmm        log-likelihood of a mixture of 25 Gaussians, 10 or 32 dimensions
 *   lstm       loss of a recurrent network: mostly exponentials
 *   sir        an epidemic, step by step in time (Runge and Kutta's method)
 *   ba         bundle adjustment: the values of a sparse Jacobian, as 31843
 *              dense ones of 2 x 15
 *   skin       100 points on a hand, full 300 x 26 Jacobian
 *
 * loop is not representative of taping costs, since libm takes most of it; mul
 * and rotquat are too short to divide by, and are printed in nanoseconds.
 */

#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------
 * Sizes that are part of a program's definition
 * ------------------------------------------------------------------------- */

enum {
    BENCH_NN_IN = 50,
    BENCH_NN_HIDDEN = 100,
    BENCH_NN_OUT = 50,
    BENCH_NN_INPUTS = BENCH_NN_HIDDEN * BENCH_NN_IN + BENCH_NN_HIDDEN
                    + BENCH_NN_OUT * BENCH_NN_HIDDEN + BENCH_NN_OUT
                    + BENCH_NN_IN,
    BENCH_MAX_OUTPUTS = 3,          // except ba and skin
    BENCH_BA_SEEN = 31843           // observations, 31 derivatives each
};

// Particles: p' = p + H*v, v' = v + H*(-K*p - D*v)/M.
#define BENCH_SPRING_K 0.5
#define BENCH_SPRING_D 0.2
#define BENCH_SPRING_M 1.0
#define BENCH_SPRING_H 0.05

// Burgers: time step, viscosity; dx is 1/(side - 1).
#define BENCH_BURGERS_DT 1e-3
#define BENCH_BURGERS_NU 0.01

// Forward mode differentiates in this direction of (x0, a, b, c).
#define BENCH_DIRECTION { 1.0, 0.5, 0.25, 0.125 }

/* ---------------------------------------------------------------------------
 * The table of cases
 *
 *   workload    program
 *   name        what the command line calls it
 *   size,steps  length or side; number of steps, 0 where there are none. gmm:
 *               dimension; recordings into which a tape divides the points
 *   in,out      inputs, outputs; the derivative is out x in, row-major; of
 *               ba, whose outputs are 2 errors of each observation and then
 *               the terms of all weights: the values of the rows, in order
 *   operations  + - * / negation and functions of active values, one each
 *   value,norm  sum of the outputs, 2-norm of the derivative. dot and matvec
 *               are closed forms of integers; mul is obvious; the others were
 *               computed with other programs than these, to 15 digits
 *   rounds      how often everything is timed; 0: only if named in full
 *
 * Small versions of three programs have values of their own, because after a
 * thousand steps an error in the first ones may no longer be seen.
 * ------------------------------------------------------------------------- */

#define BENCH_NN_OPS                                                          \
    (2.0 * BENCH_NN_HIDDEN * BENCH_NN_IN + BENCH_NN_HIDDEN                    \
     + 2.0 * BENCH_NN_OUT * BENCH_NN_HIDDEN + BENCH_NN_OUT                    \
     + 7.0 * BENCH_NN_OUT)
#define BENCH_BURGERS_OPS(side, steps)                                        \
    (30.0 * (side - 2) * (side - 2) * steps + 4.0 * (side) * (side))

// sir: time step, boys; slopes of 6 operations, four times, and the rest.
#define BENCH_SIR_H 0.001
#define BENCH_SIR_N 763.0
#define BENCH_SIR_OPS(steps) (51.0 * (steps))

// external: factors of the statements, in turn; their product is 1.
#define BENCH_FACTORS { 1.25, 0.8 }

#define BENCH_GMM_OPS(d) (25e3 * ((d) * (d) + 3.0 * (d) + 4.0) + 3e3)
#define BENCH_SKIN_OPS   11128.0    // counted by ad_fn_record
#define BENCH_LSTM_OPS   (1023.0 * (2 * 14 * 26.0 + 14 * 8.0 + 2.0) + 2.0)

#define BENCH_CASES(ROW)                                                                        \
/*   workload   name            size  steps      in  out  operations                            \
                value                   norm                     rounds                     */  \
ROW( MUL,       "mul",             1,     0,      2,  1,  1.0,                                  \
                12.0,                   5.0,                     21 )                           \
ROW( ROTQUAT,   "rotquat",         1,     0,      7,  3,  38.0,                                 \
                960.0,                  256.896866465903,        21 )                           \
ROW( DOT,       "dot-1e3",      1000,     0,   2000,  1,  2e3,                                  \
                532.78335,              37.8954065158298572,     21 )                           \
ROW( DOT,       "dot-1e5",    100000,     0, 200000,  1,  2e5,                                  \
                38332783.335,           18378.2917237565908,     21 )                           \
ROW( DOT,       "dot-1e7",  10000000,  0, 20000000,  1,  2e7,                                   \
                33383328328333.5,       18348749.9891864119,      7 )                           \
ROW( MATVEC,    "matvec",       1000,     0, 1001000, 1,  2001e3,                               \
                501167167500000.0,      15811406789.7463507,     11 )                           \
ROW( NN,        "nn",              1,     0,  BENCH_NN_INPUTS, 1,  BENCH_NN_OPS,                \
                0.538786657618571,      2.24955951815912,        21 )                           \
ROW( PARTICLES, "particles",       4,  1000,     16,  1,  64008.0,                              \
                0.00106762335129008,    8.14815965296307e-4,     21 )                           \
ROW( PARTICLES, "particles-10",    4,    10,     16,  1,  648.0,                                \
                3.738104017647847,      3.855611893208768,        0 )                           \
ROW( LOOP,      "loop",            1, 1000000,    4,  1,  9e6 + 1,                              \
                1.20436829848037,       1.29375828907400,        11 )                           \
ROW( LOOP,      "loop-1e3",        1,  1000,      4,  1,  9e3 + 1,                              \
                1.204275481999601,      1.293558080012088,        0 )                           \
ROW( FORWARD,   "forward",         1, 1000000,    4,  1,  9e6 + 1,                              \
                1.20436829848037,       0.606249203024861586,    11 )                           \
ROW( BURGERS,   "burgers",       128,    50,  32768,  1,  BENCH_BURGERS_OPS(128, 50),           \
                34313.2568292928,       512.886390960074,        11 )                           \
ROW( BURGERS,   "burgers-1",     128,     1,  32768,  1,  BENCH_BURGERS_OPS(128, 1),            \
                34148.95783645386,      370.253394626367,         0 )                           \
ROW( GMM,       "gmm-d10",        10,    50,   1650,  1,  BENCH_GMM_OPS(10),                    \
                -10555.9247581997,      341.74334620543,     21 )                               \
ROW( GMM,       "gmm-d10-1",      10,     1,   1650,  1,  BENCH_GMM_OPS(10),                    \
                -10555.9247581997,      341.74334620543,      0 )                               \
ROW( GMM,       "gmm-d32",        32,   100,  14025,  1,  BENCH_GMM_OPS(32),                    \
                -14977.2117484556,      1086.86964888136,    11 )                               \
ROW( GMM,       "gmm-d32-1",      32,     1,  14025,  1,  BENCH_GMM_OPS(32),                    \
                -14977.2117484556,      1086.86964888136,     0 )                               \
ROW( LSTM,      "lstm",            1,  1024,    266,  1,  BENCH_LSTM_OPS,                       \
                1.47267554718516,       0.0686312155666058,  21 )                               \
ROW( BA,        "ba",              1,     0,  55710, 3 * BENCH_BA_SEEN, 66.0 * BENCH_BA_SEEN,   \
                420316.981361727,       90866.3663776772,    21 )                               \
ROW( SKIN,      "skin",            1,     0,     26, 300, BENCH_SKIN_OPS,                        \
                -18.1453179387089444,   24.0225786126112105,     21 )                           \
ROW( EXTERNAL,  "external",        1, 10000,      1,  1,  1e4,                                  \
                1.0,                    1.0,                     21 )                           \
ROW( SIR,       "sir",             1, 14000,      3,  1,  BENCH_SIR_OPS(14000),                 \
                116.06002982659823,     276.17908364440556,  21 )                               \
ROW( SIR,       "sir-100",         1,   100,      3,  1,  BENCH_SIR_OPS(100),                   \
                1.0640809451997113,       1.0667710399741844,   0 )

typedef enum bench_workload {
    BENCH_MUL,
    BENCH_ROTQUAT,
    BENCH_DOT,
    BENCH_MATVEC,
    BENCH_NN,
    BENCH_PARTICLES,
    BENCH_LOOP,
    BENCH_FORWARD,
    BENCH_BURGERS,
    BENCH_GMM,
    BENCH_LSTM,
    BENCH_BA,
    BENCH_SKIN,
    BENCH_SIR,
    BENCH_EXTERNAL,
    BENCH_WORKLOADS
} bench_workload;

typedef struct bench_case {
    bench_workload workload;
    const char *name;
    size_t size;
    size_t steps;
    size_t inputs;
    size_t outputs;
    double operations;
    double value;
    double norm;
    size_t rounds;
} bench_case;

/* ---------------------------------------------------------------------------
 * A tool
 * ------------------------------------------------------------------------- */

// One whole derivative: new recording on a reused tape, inputs, program,
// reverse sweep, read out.
//
//   x   [inputs]           in    and bench_data(c) more: no derivative
//   y   [outputs]          out   the program's value
//   dy  [outputs*inputs]   out   row-major; forward: [1], along BENCH_DIRECTION;
//                                ba: [31 BENCH_BA_SEEN]
typedef void bench_run(const bench_case *c, const double *x,
                       double *y, double *dy);

typedef struct bench_tool {
    const char *name;                   // column title, at most 9 letters
    const char *version;                // "" if it has none
    bench_run *run[BENCH_WORKLOADS];    // NULL: not available
    size_t (*bytes)(void);              // tape after the last run; may be NULL
    void (*release)(void);              // give back all memory; may be NULL
} bench_tool;

// Adds a tool to the program. Call it from a constructor: the driver then needs
// no list, and a tool is added by linking it.
void bench_register(const bench_tool *tool);

#define BENCH_REGISTER(tool)                                                  \
    __attribute__((constructor)) static void register_##tool(void)            \
    {                                                                         \
        bench_register(&tool);                                                \
    }

// These two are always present, and in files of their own, so that the compiler
// sees neither the inputs nor the use of the results.
extern const bench_tool bench_plain;    // computes y, leaves dy alone
extern const bench_tool bench_hand;     // defines what the right answer is

// How many numbers follow the inputs in x, which nobody differentiates.
size_t bench_data(const bench_case *c);

// Fills x with the inputs of a case and with those.
void bench_fill(const bench_case *c, double *x);

#ifdef __cplusplus
}
#endif

#endif
