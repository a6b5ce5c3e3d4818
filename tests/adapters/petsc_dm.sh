#!/bin/sh
# tags:
# adrev_petsc_dm.h on three ranks of this machine.
#                               sh tests/adapters/petsc_dm.sh CC FLAGS DIR
# Needs PETSc, Open MPI and pkg-config; without them it is skipped by name.
# SPDX-License-Identifier: MIT-0

root=$(cd "$(dirname "$0")/../.." && pwd)
cc=$1
flags=$2
dir=$3
script=petsc_dm.sh
mkdir -p "$dir"
. "$root/tests/support/check.sh"
export ASAN_OPTIONS=detect_leaks=0      # MPI leaves memory behind

if ! pkg-config --exists petsc mpi 2> /dev/null \
    || ! command -v mpirun.openmpi > /dev/null 2>&1; then
    echo "$script: skipped, petsc or openmpi is not installed"
    echo "$script: 0 passed, 0 failed"
    exit 0
fi

build() {
    # shellcheck disable=SC2046,SC2086  # lists
    $cc -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
        -Wdouble-promotion -Werror -DADREV_TRACE=1 $flags -I"$root" \
        -I"$root/adapters" -I"$root/tests/support" \
        $(pkg-config --cflags-only-I petsc mpi) \
        "$root/tests/adapters/petsc_dm.c" -o "$dir/petsc_dm" \
        $(pkg-config --libs petsc mpi) -lm -pthread
}

on_ranks() {
    timeout 120 mpirun.openmpi --allow-run-as-root --oversubscribe \
        --mca mpi_yield_when_idle 1 -n "$1" "$dir/petsc_dm"
}

check "does not build" build
check "three ranks" on_ranks 3
rm -f "$dir/petsc_dm"
echo "$script: $passed passed, $failed failed"
[ "$failed" = 0 ]
