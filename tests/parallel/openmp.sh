#!/bin/sh
# tags:
# OpenMP instead of the pool: sh tests/parallel/openmp.sh CC FLAGS DIR
# Skipped where the compiler has no -fopenmp, or lacks its library.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$3
mkdir -p "$dir"
cat > "$dir/probe.c" << 'END'
#include <omp.h>
#ifndef _OPENMP
#error no OpenMP
#endif
int main(void) { return omp_get_max_threads() < 1; }
END
# shellcheck disable=SC2086  # flags are lists
if ! { $1 $2 -fopenmp "$dir/probe.c" -o "$dir/probe" && "$dir/probe"; } \
    > /dev/null 2>&1; then
    echo "openmp: skipped, $1 has no OpenMP"
    echo "openmp: 0 passed, 0 failed"
    exit 0
fi
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion"
case $2 in *-std=*) std= ;; *) std=-std=c11 ;; esac
# Teams are larger than the machine: threads that wait must not spin.
export OMP_WAIT_POLICY=passive
# LLVM 14's library has room for four times as many threads, at least 32. Where
# it needs more, it frees its table of threads while others still read it, and
# crashes about once in 400 runs; nested teams of 8 are 36 threads.
export OMP_NUM_THREADS=16
# What LLVM's library keeps of threads that have ended.
echo leak:libomp > "$dir/leaks"
export LSAN_OPTIONS="suppressions=$dir/leaks print_suppressions=0"
# shellcheck disable=SC2086  # flags are lists
if ! "$1" $std $strict -Werror $2 -pthread -fopenmp -I"$root" -I"$root/tests/support" \
    "$root/tests/parallel/openmp.c" -o "$dir/openmp" -lm; then
    echo "openmp: 0 passed, 1 failed (does not build)"
    exit 1
fi
timeout 300 "$dir/openmp"
status=$?
[ $status -le 1 ] || echo "openmp: 0 passed, 1 failed (status $status)"
exit $status
