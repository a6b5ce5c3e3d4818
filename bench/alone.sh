#!/bin/sh
# Builds and runs a benchmark that is one file, parallel.c, sparse.c or
# recording.c:
#     sh bench/alone.sh parallel|sparse|recording CC FLAGS
#
# What follows FLAGS is for the program: the head of the file says what.
# SPDX-License-Identifier: MIT-0

name=$1
cc=$2
flags=$3
shift 3
. "$(dirname "$0")/common.sh"
if [ "$name" != parallel ] && ! has_xxhash; then
    echo "skipped: $name, xxhash.h is not installed"
    exit 0
fi
# shellcheck disable=SC2086  # flags are a list
$cc -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
    -Wdouble-promotion -Werror $flags -pthread "-DBENCH_FLAGS=\"$flags\"" \
    "$root/bench/$name.c" -o "$out/$name" -lm -ldl || exit 1
# With pages of 4 kB, tapes of hundreds of megabytes differ by a tenth in speed
# depending on where they lie: glibc can ask for large ones.
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1
"$out/$name" "$@" || { echo "WRONG: $name"; exit 1; }
