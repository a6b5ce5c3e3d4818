#!/bin/sh
# Loops of the same statements in C++ and in C, as ratios of user times:
#                                   sh bench/operators.sh gcc g++ "-O3"
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$root/build"
out=$root/build/operators_$1
# shellcheck disable=SC2086  # flags are a list
"$2" -std=c++17 $3 -I"$root" -c "$root/bench/operators.cpp" -o "$out.o" \
    && "$1" -std=c11 $3 -I"$root" "$root/bench/operators.c" \
        "$root/bench/operators_loops.c" "$out.o" -o "$out" -lm && "$out"
