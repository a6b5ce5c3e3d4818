#!/bin/sh
# Builds and runs a benchmark that is one program: NAME is assemble, parallel,
# sparse, recording, exported, tensor, adapters, adjoints, petsc, tao, mpi or
# mpi_scale.
#     sh bench/alone.sh NAME CC FLAGS
#
# What follows FLAGS is for the program: the head of the file says what.
# SPDX-License-Identifier: MIT-0

name=$1
cc=$2
flags=$3
shift 3
. "$(dirname "$0")/common.sh"
more=
libraries=
pin=

# peer NAME COMPILER FILE LIBRARIES: joins if its file compiles and links
peer() {
    # shellcheck disable=SC2086  # lists
    if $2 $flags -w -c "$root/bench/$3" -o "$out/$1.o" 2> "$out/$1.log" \
        && echo 'int main(void) { return 0; }' \
        | $cc -x c - -x none "$out/$1.o" $4 $loose -lstdc++ -lm \
            -o "$out/probe" 2>> "$out/$1.log"; then
        more="$more $out/$1.o -DBENCH_TENSOR_$(echo "$1" | tr a-z A-Z)"
        libraries="$libraries $4 $loose -lstdc++"
    else
        echo "skipped: $1 is not installed"
    fi
}

# Of Debian: libopenblas-dev, libeigen3-dev, libtorch-dev. Where they lie
# elsewhere, CPATH, LIBRARY_PATH and LD_LIBRARY_PATH say so. (What libtorch needs
# is looked for when it is loaded.)
if [ "$name" = tensor ]; then
    more=-DBENCH_TENSOR_COMPILED
    cxx=$(echo "$cc" | sed 's/gcc/g++/; s/clang/clang++/')
    torch=/usr/include/torch/csrc/api/include
    loose=-Wl,--allow-shlib-undefined
    more="$more $root/bench/tensor_hand.c"
    peer openblas "$cc" tensor_openblas.c -lopenblas
    peer eigen "$cxx -std=c++17 -isystem /usr/include/eigen3" \
        tensor_eigen.cpp ""
    peer torch "$cxx -std=c++17 -isystem $torch" tensor_torch.cpp \
        "-ltorch -ltorch_cpu -lc10"
    # The kernels that OpenBLAS itself finds best here.
    unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
    command -v taskset > /dev/null 2>&1 && pin="taskset -c 1"
    $pin true 2> /dev/null || pin=
fi

# Of Debian: coinor-libipopt-dev, libnlopt-dev, liblbfgs-dev, libgsl-dev,
# libsundials-dev.
case $name in
    adapters) libraries="-lipopt -lnlopt -llbfgs -lgsl -lgslcblas
        -lsundials_cvodes -lsundials_kinsol -lsundials_nvecserial" ;;
    adjoints) libraries="-lsundials_cvodes -lsundials_idas
        -lsundials_nvecserial" ;;
esac
if [ "$name" = adapters ] || [ "$name" = adjoints ]; then
    more="-I$root -I$root/adapters"
    # shellcheck disable=SC2086  # a list
    if ! echo 'int main(void) { return 0; }' \
        | $cc -x c - $libraries -o "$out/probe" 2> /dev/null; then
        echo "skipped: $name, one of $libraries is not installed"
        exit 0
    fi
fi

# Of Debian: libpetsc-real-dev.
if [ "$name" = petsc ] || [ "$name" = tao ]; then
    if ! pkg-config --exists petsc mpi 2> /dev/null; then
        echo "skipped: $name, petsc is not installed, or not pkg-config"
        exit 0
    fi
    libraries="$(pkg-config --libs petsc mpi)"
    more="-I$root -I$root/adapters $(pkg-config --cflags-only-I petsc mpi)"
fi

# Of Debian: libopenmpi-dev, openmpi-bin. RANKS=2.
if [ "$name" = mpi ] || [ "$name" = mpi_scale ]; then
    if ! command -v mpicc.openmpi > /dev/null 2>&1; then
        echo "skipped: $name, openmpi is not installed"
        exit 0
    fi
    export OMPI_CC="$cc"
    cc=mpicc.openmpi
    pin="mpirun.openmpi --allow-run-as-root --oversubscribe
        --mca mpi_yield_when_idle 1 -n ${RANKS:-2}"
fi

# shellcheck disable=SC2086  # flags are a list
$cc -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion \
    -Wdouble-promotion -Werror $flags -pthread "-DBENCH_FLAGS=\"$flags\"" \
    "$root/bench/$name.c" $more -o "$out/$name" $libraries -lm -ldl || exit 1
# With pages of 4 kB, tapes of hundreds of megabytes differ by a tenth in speed
# depending on where they lie: glibc can ask for large ones.
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1
# shellcheck disable=SC2086
$pin "$out/$name" "$@" || { echo "WRONG: $name"; exit 1; }
