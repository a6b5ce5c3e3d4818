// SPDX-License-Identifier: MIT-0
/* tensor.h - the programs of tensor.c, as those who compute them see them. */

#ifndef BENCH_TENSOR_H
#define BENCH_TENSOR_H

#include <stddef.h>

enum { TENSOR_INPUTS = 4, TENSOR_SIZES = 4, TENSOR_COLUMNS = 3 };

// Another order of these is another order of every tool's table.
typedef enum tensor_name {
    TENSOR_SQUARES, TENSOR_CONV, TENSOR_CORE, TENSOR_BURGERS, TENSOR_SPMV,
    TENSOR_MATMUL, TENSOR_ATTENTION, TENSOR_CP, TENSOR_TRACES, TENSOR_DOT,
    TENSOR_DOTS, TENSOR_PROGRAMS
} tensor_name;

typedef struct tensor_data {
    size_t size[TENSOR_SIZES];          // as the program lists its sizes
    size_t count[TENSOR_INPUTS];        // numbers of each input; 0: no more
    const double *x[TENSOR_INPUTS];
    size_t results;
    const double *w;                    // adjoint of the results
    size_t entries;                     // of the relation
    const int *column[TENSOR_COLUMNS];
    const int *start;                   // of its rows, if it has two columns
} tensor_data;

// Of the result y; and of y, which is NULL where the program is linear, and the
// adjoints g of the inputs, NULL where they are not wanted.
typedef void tensor_value(const tensor_data *d, double *y);
typedef void tensor_gradient(const tensor_data *d, double *y,
                             double *const g[]);

typedef struct tensor_run {
    tensor_value *value;                // NULL: not by this tool
    tensor_gradient *gradient;
} tensor_run;

typedef struct tensor_tool {
    const char *name;
    tensor_run run[TENSOR_PROGRAMS];
} tensor_tool;

#ifdef __cplusplus
extern "C" {
#endif

extern const tensor_tool tensor_hand;
extern const tensor_tool tensor_openblas;
const char *tensor_openblas_core(void);
extern const tensor_tool tensor_eigen;
extern const tensor_tool tensor_torch;

#ifdef __cplusplus
}
#endif

#endif
