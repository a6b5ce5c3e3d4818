#!/bin/sh
# tags: cpp
# Numbers in the templates of Boost.Math and odeint, without a warning:
#                                       sh tests/cpp/boost.sh CC FLAGS DIR
# Skipped where there is no Boost (libboost-dev, libboost-math-dev). It takes a
# minute to compile, so only `make matrix` runs it.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$3
case $1 in clang*) cxx=clang++${1#clang} ;; *) cxx=g++${1#gcc} ;; esac
skip() {
    echo "boost: skipped, $1"
    echo "boost: 0 passed, 0 failed"
    exit 0
}
command -v "$cxx" > /dev/null 2>&1 || skip "$cxx is not installed"
for header in numeric/odeint.hpp math/tools/roots.hpp; do
    echo "#include <boost/$header>" | $cxx -std=c++14 -fsyntax-only -x c++ - \
        > /dev/null 2>&1 || skip "Boost is not installed"
done
mkdir -p "$dir"
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
strict="$strict -I$root -I$root/tests/support"
printf '#define ADREV_IMPLEMENTATION\n#include "adrev.h"\n' > "$dir/unit.c"
# shellcheck disable=SC2086  # flags are lists
"$1" -std=c11 $strict $2 -c "$dir/unit.c" -o "$dir/unit.o" \
    && $cxx -std=c++14 $strict -DADREV_STRICT=1 $2 \
        "$root/tests/cpp/boost.cpp" "$dir/unit.o" -o "$dir/boost" -lm \
    && timeout 100 "$dir/boost"
