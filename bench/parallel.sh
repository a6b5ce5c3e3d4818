#!/bin/sh
# Builds and runs the table of the threads:  sh bench/parallel.sh CC FLAGS
#
# What follows FLAGS is for the program: [-r rounds] [program ...]
# SPDX-License-Identifier: MIT-0

cc=$1
flags=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/bench-$cc
if ! command -v "$cc" > /dev/null 2>&1; then
    echo "skipped: $cc is not installed"
    exit 0
fi
mkdir -p "$out"
# shellcheck disable=SC2086  # flags are a list
$cc -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
    -Wdouble-promotion -Werror $flags -pthread "-DBENCH_FLAGS=\"$flags\"" \
    "$root/bench/parallel.c" -o "$out/parallel" -lm || exit 1
# With pages of 4 kB, tapes of hundreds of megabytes differ by a tenth in speed
# depending on where they lie: glibc can ask for large ones.
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1
"$out/parallel" "$@" || { echo "WRONG: parallel"; exit 1; }
