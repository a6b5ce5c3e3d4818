#!/bin/sh
# tags: cpp
# The header from C++17, without a warning: sh tests/core/include_cpp.sh CC FLAGS DIR
# One unit of C holds the implementation, one of C++ uses the operators.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$3
case $1 in clang) cxx=clang++ ;; *) cxx=g++ ;; esac
if ! command -v "$cxx" > /dev/null 2>&1; then
    echo "include_cpp: 0 passed, 0 failed, skipped: $cxx is not installed"
    exit 0
fi
mkdir -p "$dir"
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
# shellcheck disable=SC2086  # flags are lists
"$1" -std=c11 $strict $2 -I"$root" -I"$root/tests/support" -c "$root/tests/core/include_other.c" \
    -o "$dir/unit.o" \
    && $cxx -std=c++17 $strict $2 -I"$root" -I"$root/tests/support" "$root/tests/core/include.cpp" \
        "$dir/unit.o" -o "$dir/include_cpp" -lm \
    && "$dir/include_cpp"
