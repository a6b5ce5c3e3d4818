#!/bin/sh
# Builds and runs the benchmark:       sh bench/run.sh CC CXX FLAGS [case ...]
#
# ADOL-C and Sacado join when Debian's libadolc-dev and libtrilinos-sacado-dev
# are installed. One process per case, so that no tool pays for the memory of
# the case before.
# SPDX-License-Identifier: MIT-0

cc=$1
cxx=$2
flags=$3
shift 3
cases=$*
. "$(dirname "$0")/common.sh"
cd "$root/bench" || exit 2

# shellcheck disable=SC2086  # flags are a list
objects=
for unit in plain plain_real plain_skin hand hand_real hand_skin adrev \
    adrev_real arrays loops functions functions_real main; do
    $cc -std=c11 $flags "-DBENCH_FLAGS=\"$flags\"" -c $unit.c \
        -o "$out/$unit.o" || exit 1
    objects="$objects $out/$unit.o"
done
link=$cc
libraries=

# Loops whose steps are recorded functions.
# shellcheck disable=SC2086
$cc -std=c11 $flags -DLOOPS_REPLAYED -c loops.c -o "$out/loops_replayed.o" \
    || exit 1
objects="$objects $out/loops_replayed.o"

# The programs of plain.c, converted; adrev.c is their port by hand.
port=$root/build/adrev-port
[ -x "$port" ] || make -s -C "$root" adrev-port > /dev/null 2>&1
set --
for name in mul dot matvec nn particles loop burgers sir; do
    set -- "$@" --function "run_$name"
done
if "$port" plain.c "$@" --function release --with x --with in --with p --of y \
    -o "$out/converted.h" > "$out/converted.log" 2>&1; then
    # shellcheck disable=SC2086
    $cc -std=c11 $flags -I"$out" -I. -I"$root" -c converted.c \
        -o "$out/converted.o" || exit 1
    objects="$objects $out/converted.o"
else
    echo "skipped: converted, see $out/converted.log"
fi

# tool NAME LIBRARIES PROBE...: joins if the probe compiles
tool() {
    name=$1
    library=$2
    shift 2
    # shellcheck disable=SC2086
    if $cxx "$@" -x c++ -fsyntax-only /dev/null 2> /dev/null \
        && $cxx -std=c++17 $flags -isystem /usr/include/trilinos \
            -c "$name.cpp" -o "$out/$name.o" 2> "$out/$name.log"; then
        objects="$objects $out/$name.o"
        libraries="$libraries $library"
        link=$cxx
    else
        echo "skipped: $name is not installed"
    fi
}
if command -v "$cxx" > /dev/null 2>&1; then
    tool adolc -ladolc -include adolc/adolc.h
    tool sacado "" -isystem /usr/include/trilinos -DTRILINOS_NO_CONFIG_H \
        -include Sacado_trad.hpp
fi
# shellcheck disable=SC2086  # lists
$link $objects $libraries -lm -o "$out/bench" || exit 1

[ -n "$cases" ] || cases="mul rotquat dot-1e3 dot-1e5 dot-1e7 matvec nn \
particles loop forward burgers gmm-d10 gmm-d32 lstm ba skin sir"
pin=
command -v taskset > /dev/null 2>&1 && pin="taskset -c 1"
$pin true 2> /dev/null || pin=
first=1
for case in $cases; do
    # shellcheck disable=SC2086
    $pin "$out/bench" "$case" > "$out/table" || echo "WRONG: $case"
    if [ $first = 1 ]; then
        cat "$out/table"
    else
        sed '1,/^problem/d' "$out/table"
    fi | { [ "$case" = dot-1e7 ] && cat || sed '/^ceiling/,$d'; }
    first=0
done
