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
name=$(basename "$out")
mkdir -p "$(dirname "$out")"
rm -f "$out" "$out.skipped"

# links PROGRAM COMPILER FLAG ...: whether this program can be built
links() {
    printf '%s\n' "$1" > "$out.probe.c"
    shift
    "$@" > /dev/null 2>&1
    found=$?
    rm -f "$out.probe" "$out.probe.c"
    return $found
}

lapack='void dgetrf_(void); int main(void) { dgetrf_(); return 0; }'
lbfgs='#include <lbfgs.h>
       int main(void) { lbfgs_free(lbfgs_malloc(1)); return 0; }'
libraries=-lm
source=$here/$name.c
[ -f "$source" ] || source=$here/../adapters/examples/$name.c
[ -f "$source" ] || source=$here/$name.cpp
original=$source
adrev=$(dirname "$out")/implementation.o
case $name in
    09_*)
        libraries="-llapack -lm"
        if ! links "$lapack" "$@" "$out.probe.c" -o "$out.probe" -llapack; then
            echo "$name: skipped, needs LAPACK" | tee "$out.skipped"
            exit 0
        fi ;;
    25_* | 28_* | implementation_mpi.o)     # by MPI's compiler, which calls $1
        if ! command -v mpicc > /dev/null 2>&1; then
            echo "$name: skipped, needs MPI" | tee "$out.skipped"
            exit 0
        fi
        adrev=$(dirname "$out")/implementation_mpi.o
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
            *) if links "$lbfgs" "$@" "$out.probe.c" -o "$out.probe" -llbfgs
               then
                   libraries="-llbfgs -lm"
               else
                   set -- "$@" -DNO_LBFGS
               fi ;;
        esac ;;
    11_* | 12_* | 13_kalman)
        libraries="-lm -pthread" ;;
    21_*)                       # C++, and a unit of C if there is none yet
        case $1 in clang*) cxx=clang++${1#clang} ;; *) cxx=g++${1#gcc} ;; esac
        if ! command -v "$cxx" > /dev/null 2>&1; then
            echo "$name: skipped, $cxx is not installed" | tee "$out.skipped"
            exit 0
        fi
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
        status=$?
        rm -f "$out.c" "$out.o"
        exit $status ;;
    13_kalman_firmware)         # with the header that 13_kalman writes
        model=$(dirname "$out")/13_kalman
        [ -x "$model" ] || sh "$0" "$model" "$@" || exit
        "$model" "${model}_model.h" > /dev/null || exit
        set -- "$@" -std=c99 -I"$(dirname "$out")" ;;
esac
field() {
    sed -n "1,6s|^// $1: *||p" "$original"
}

for need in $(field needs); do
    case $need in
        -l*) program='int main(void) { return 0; }' library=$need ;;
        *) program="#include <$need>
                    int main(void) { return 0; }" library= ;;
    esac
    # shellcheck disable=SC2086  # a list
    if ! links "$program" "$@" "$out.probe.c" -o "$out.probe" $library; then
        echo "$name: skipped, needs $need" | tee "$out.skipped"
        exit 0
    fi
done
packages=$(field packages)
# shellcheck disable=SC2086  # a list
if [ -n "$packages" ] && ! pkg-config --exists $packages 2> /dev/null; then
    echo "$name: skipped, needs $packages" | tee "$out.skipped"
    exit 0
fi
# shellcheck disable=SC2046,SC2086  # lists
if [ -n "$packages" ]; then
    set -- "$@" $(pkg-config --cflags-only-I $packages)
fi
case $original in
    */adapters/*) libraries="$(field libs) -lm -pthread"
        # shellcheck disable=SC2086  # a list
        [ -z "$packages" ] \
            || libraries="$(pkg-config --libs $packages) $libraries"
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
# shellcheck disable=SC2086  # a list
"$@" -I"$here" -I"$here/.." "$source" -o "$out" $libraries
status=$?
rm -f "$out.c"
exit $status
