#!/bin/sh
# tags:
# The examples print what they say: sh tests/project/examples.sh CC FLAGS DIR
# With -DFEW=1 among FLAGS one of them makes fewer steps, and is asked only
# whether its derivatives are those by differences: it takes long without
# optimisation.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
build=$root/examples/build.sh
strict="-std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion"
strict="$strict -Wdouble-promotion -Werror"
# shellcheck disable=SC2086  # flags are lists
{
    for all in implementation implementation_mpi; do
        sh "$build" "$3/$all.o" $1 $strict $2           # for all of them
    done > /dev/null
    for source in "$root"/examples/[0-9]*.c "$root"/examples/[0-9]*.cpp \
        "$root"/adapters/examples/*.c; do
        [ -f "$source" ] || continue
        sh "$build" "$3/$(basename "${source%.c*}")" $1 $strict $2
    done > /dev/null
    mkdir -p "$3/plain"
    cp "$3/implementation.o" "$3/plain"
    for name in 10_gaussian_mixture 17_convolution 20_factorisation; do
        sh "$build" "$3/plain/$name" $1 $strict $2 -DNO_LBFGS
    done
    for data in mixture_data attitude_data; do
        $1 $strict $2 "$root/examples/$data.c" -o "$3/$data" -lm
    done
}
case $2 in *-DFEW*) export FEW=1 ;; esac
sh "$root/examples/check.sh" "$3"
