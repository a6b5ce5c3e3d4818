#!/bin/sh
# tags: cpp
# The parallel header from C++17, and oneTBB instead of the pool: one unit of C
# holds the implementation.                sh tests/parallel/tbb.sh CC FLAGS DIR
# Skipped where there is no C++ compiler, or no oneTBB.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$3
case $1 in clang*) cxx=clang++${1#clang} ;; *) cxx=g++${1#gcc} ;; esac
mkdir -p "$dir"
skip() {
    echo "tbb: skipped, $1"
    echo "tbb: 0 passed, 0 failed"
    exit 0
}
command -v "$cxx" > /dev/null 2>&1 || skip "$cxx is not installed"
cat > "$dir/probe.cpp" << 'END'
#include <tbb/global_control.h>
#include <tbb/task_group.h>
int main() { tbb::task_group g; g.run([] {}); g.wait(); }
END
# shellcheck disable=SC2086  # flags are lists
{ $cxx -std=c++17 $2 "$dir/probe.cpp" -o "$dir/probe" -ltbb && "$dir/probe"; } \
    > /dev/null 2>&1 || skip "needs oneTBB"
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion"
# Sanitizers make gcc see expressions that are not set.
case "$cxx $2" in
    g++*-fsanitize*) strict="$strict -Wno-maybe-uninitialized" ;;
esac
# shellcheck disable=SC2086  # flags are lists
if ! {
    "$1" -std=c11 $strict -Werror $2 -pthread -I"$root" -I"$root/tests/support" \
        -c "$root/tests/parallel/parallel_unit.c" -o "$dir/unit.o" \
        && $cxx -std=c++17 $strict -Werror $2 -pthread -I"$root" -I"$root/tests/support" \
            "$root/tests/parallel/tbb.cpp" "$dir/unit.o" -o "$dir/tbb" -ltbb -lm
}; then
    echo "tbb: 0 passed, 1 failed (does not build)"
    exit 1
fi
timeout 300 "$dir/tbb"
status=$?
[ $status -le 1 ] || echo "tbb: 0 passed, 1 failed (status $status)"
exit $status
