#!/bin/sh
# Builds an example:    sh examples/build.sh OUTPUT COMPILER FLAG ...
#
# Its source is the file in this folder, or in adapters/examples, with the name
# of OUTPUT. If there is an implementation.o beside OUTPUT, that is linked, and
# ADREV_IMPLEMENTATION left out: adrev is then compiled once for all of them. So
# is implementation_mpi.o for those that use adrev_mpi.h.
# Libraries that it can do without are used where they are (-DNO_LBFGS: not). If
# it needs one that is missing it is skipped: a line says so, and is left in
# OUTPUT.skipped. Examples of adapters name what they need at their heads.
#
# SPDX-License-Identifier: MIT-0

here=$(cd "$(dirname "$0")" && pwd)
out=$1
shift
name=${out##*/}
dir=$(dirname "$out")
[ -d "$dir" ] || mkdir -p "$dir"
rm -f "$out" "$out.skipped"
trap 'rm -f "$out.c" "$out.o" "$out.log"' EXIT

# skip WHAT: says why there is no program
skip() {
    echo "$name: skipped, $1" | tee "$out.skipped"
    exit 0
}

# has NEED COMPILER FLAG ...: a header, or a library `-lname`
has() {
    library=
    case $1 in
        -l*) library=$1; : > "$out.probe.c" ;;
        *) echo "#include <$1>" > "$out.probe.c" ;;
    esac
    echo 'int main(void) { return 0; }' >> "$out.probe.c"
    shift
    # shellcheck disable=SC2086  # nothing, or one word
    "$@" "$out.probe.c" -o "$out.probe" $library > /dev/null 2>&1
    found=$?
    rm -f "$out.probe" "$out.probe.c"
    return $found
}

# field NAME: what an example of adapters says of itself
field() {
    sed -n "1,6s|^// $1: *||p" "$original"
}

libraries=-lm
needs=              # without them it is skipped
optional=           # without these it is built with -DNO_LBFGS
source=$here/$name.c
[ -f "$source" ] || source=$here/../adapters/examples/$name.c
[ -f "$source" ] || source=$here/$name.cpp
original=$source
adrev=$dir/implementation.o
case $name in
    09_*)
        libraries="-llapack -lm"
        needs=-llapack ;;
    25_* | 28_* | implementation_mpi.o)     # by MPI's compiler, which calls $1
        command -v mpicc > /dev/null 2>&1 || skip "needs MPI"
        adrev=$dir/implementation_mpi.o
        export OMPI_CC="$1" MPICH_CC="$1"
        shift
        set -- mpicc "$@" ;;
esac
case $name in
    implementation*.o)
        exec "$@" -I"$here/.." -c "$here/${name%.o}.c" -o "$out" ;;
    10_* | 17_* | 20_* | 25_*)
        case " $* " in
            *" -DNO_LBFGS "*) ;;
            *) optional="lbfgs.h -llbfgs" ;;
        esac ;;
    11_* | 12_* | 13_kalman)
        libraries="-lm -pthread" ;;
    21_*)                       # C++, and a unit of C if there is none yet
        case $1 in clang*) cxx=clang++${1#clang} ;; *) cxx=g++${1#gcc} ;; esac
        command -v "$cxx" > /dev/null 2>&1 || skip "$cxx is not installed"
        if [ ! -s "$adrev" ]; then
            adrev=$out.o
            printf '#define ADREV_IMPLEMENTATION\n#include "adrev.h"\n' \
                > "$out.c"
            "$@" -I"$here/.." -c "$out.c" -o "$adrev" || exit
        fi
        shift
        for flag; do
            shift
            case $flag in -std=*) flag=-std=c++11 ;; esac
            set -- "$@" "$flag"
        done
        "$cxx" "$@" -I"$here/.." "$source" "$adrev" -o "$out" -lm -pthread
        exit ;;
    13_kalman_firmware)         # with the header that 13_kalman writes
        model=$dir/13_kalman
        [ -x "$model" ] || sh "$0" "$model" "$@" || exit
        "$model" "${model}_model.h" > /dev/null || exit
        set -- "$@" -std=c99 -I"$dir" ;;
esac
case $original in
    */adapters/*)
        needs=$(field needs)
        packages=$(field packages)
        libraries="$(field libs) -lm -pthread"
        # shellcheck disable=SC2046,SC2086  # lists
        if [ -n "$packages" ]; then
            pkg-config --exists $packages 2> /dev/null \
                || skip "needs $packages"
            libraries="$(pkg-config --libs $packages) $libraries"
            set -- "$@" $(pkg-config --cflags-only-I $packages)
        fi
        set -- "$@" -I"$here/../adapters" -I"$here/../adapters/examples" ;;
esac
case $name in
    05_* | 13_kalman_firmware) ;;   # without the C library; without adrev
    26_* | 27_*) ;;                 # in float, with fixed memory
    *)
        if [ -s "$adrev" ]; then
            source=$out.c
            { echo "#line 1 \"$original\""
              sed 's/^#define ADREV_IMPLEMENTATION$//' "$original"
            } > "$source"
            libraries="$adrev $libraries -pthread"
        fi ;;
esac

# build COMPILER FLAG ...
build() {
    # shellcheck disable=SC2086  # a list
    "$@" -I"$here" -I"$here/.." "$source" -o "$out" ${optional#* } $libraries
}

# What is missing is asked only if it does not build: that takes a compiler.
build "$@" > "$out.log" 2>&1
status=$?
[ $status = 0 ] || for need in $needs; do
    has "$need" "$@" || skip "needs $need"
done
[ $status = 0 ] || for need in $optional; do
    has "$need" "$@" && continue
    optional=
    build "$@" -DNO_LBFGS > "$out.log" 2>&1
    status=$?
    break
done
cat "$out.log" >&2
exit $status
