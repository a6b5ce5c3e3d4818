#!/bin/sh
# tags: cpp
# Numbers in Eigen's matrices, without a warning:
#                                       sh tests/cpp/eigen.sh CC FLAGS DIR
# With -DMORE=1 among FLAGS more decompositions. Skipped where there is no Eigen
# (libeigen3-dev).
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$3
case $1 in clang*) cxx=clang++${1#clang} ;; *) cxx=g++${1#gcc} ;; esac
skip() {
    echo "eigen: skipped, $1"
    echo "eigen: 0 passed, 0 failed"
    exit 0
}
has() {
    printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" \
        | $cxx -isystem /usr/include/eigen3 -E -x c++ - > /dev/null 2>&1
}
command -v "$cxx" > /dev/null 2>&1 || skip "$cxx is not installed"
has Eigen/Core || skip "Eigen is not installed"
mkdir -p "$dir"
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
strict="$strict -I$root -I$root/tests/support"
printf '#define ADREV_IMPLEMENTATION\n#include "adrev.h"\n' > "$dir/unit.c"
# shellcheck disable=SC2086  # flags are lists
"$1" -std=c11 $strict $2 -c "$dir/unit.c" -o "$dir/unit.o" \
    && $cxx -std=c++14 $strict -DADREV_STRICT=1 $2 \
        -isystem /usr/include/eigen3 \
        "$root/tests/cpp/eigen.cpp" "$dir/unit.o" -o "$dir/eigen" -lm \
    && timeout 100 "$dir/eigen"
