#!/bin/sh
# Installs what the tests use beyond gcc and make, where that is possible; with
# the argument `examples` what those use, with `matrix` also what only that has, and
# with `portable`, `firmware`, `manual`, `manual-check`, `misra` or `analyse` what
# these targets use. What is missing afterwards is skipped by name.
# SPDX-License-Identifier: MIT-0

install() {
    [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null 2>&1 || return
    { apt-get install -y "$@" \
        || { apt-get update && apt-get install -y "$@"; }; } > /dev/null 2>&1
}

# Each by itself: Debian has no room for all of them beside gcc-multilib.
if [ "$1" = portable ]; then
    for pair in musl-gcc:musl-tools tcc:tcc qemu-arm:qemu-user \
        x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64; do
        command -v "${pair%%:*}" > /dev/null 2>&1 \
            || install --no-install-recommends "${pair##*:}"
    done
    command -v wine > /dev/null 2>&1 || [ -x /usr/lib/wine/wine64 ] \
        || install --no-install-recommends wine64
    for target in i686:i386 arm:armhf aarch64:arm64 s390x:s390x mips:mips; do
        abi=linux-gnu
        [ "$target" != arm:armhf ] || abi=linux-gnueabihf
        command -v "${target%:*}-$abi-gcc" > /dev/null 2>&1 \
            || install --no-install-recommends "gcc-${target%:*}-$abi" \
                "libc6-dev-${target#*:}-cross"
    done
    exit 0
fi

# Compilers and emulators for boards without an operating system.
# (Near a gigabyte: `make test` takes what is there.)
if [ "$1" = firmware ]; then
    command -v arm-none-eabi-gcc > /dev/null 2>&1 \
        || install --no-install-recommends gcc-arm-none-eabi \
            libnewlib-arm-none-eabi
    command -v riscv64-unknown-elf-gcc > /dev/null 2>&1 \
        || install --no-install-recommends gcc-riscv64-unknown-elf \
            picolibc-riscv64-unknown-elf
    [ -e /usr/lib/picolibc/arm-none-eabi ] \
        || install --no-install-recommends picolibc-arm-none-eabi
    command -v avr-gcc > /dev/null 2>&1 \
        || install --no-install-recommends gcc-avr avr-libc
    for pair in qemu-system-arm:qemu-system-arm \
        qemu-system-riscv32:qemu-system-misc; do
        command -v "${pair%%:*}" > /dev/null 2>&1 \
            || install --no-install-recommends "${pair##*:}"
    done
    exit 0
fi

case $1 in
    manual) tools="cmark-gfm" ;;
    manual-check) tools="man:man-db mandoc chromium" ;;
    misra) tools="cppcheck" ;;
    analyse) tools="clang cppcheck valgrind" ;;
    *) tools= ;;
esac
for pair in $tools; do
    command -v "${pair%%:*}" > /dev/null 2>&1 \
        || install --no-install-recommends "${pair##*:}"
done
[ -z "$tools" ] || exit 0

# All of what follows by one call, since each takes a second or two whatever it
# installs; if something is not to be had, one by one.
missing=
want() { missing="$missing $1"; }
finds() { echo "#include <$2>" | "$1" -fsyntax-only -x "$3" - > /dev/null 2>&1; }
install_missing() {
    [ -n "$missing" ] || return
    # shellcheck disable=SC2086  # a list
    install --no-install-recommends $missing || for package in $missing; do
        install --no-install-recommends "$package"
    done
    missing=
}

# Libraries of the examples, and of adapters: whether an empty program links
# with them; each by itself only if it does not link with all.
probe=$(mktemp -d)
libraries="lapack:liblapack-dev lbfgs:liblbfgs-dev"
[ "$1" = examples ] || libraries="$libraries nlopt:libnlopt-dev gsl:libgsl-dev
    ipopt:coinor-libipopt-dev ceres:libceres-dev
    sundials_cvodes:libsundials-dev petsc_real:libpetsc-real-dev"
echo 'int main(void) { return 0; }' > "$probe/main.c"
links() { gcc "$probe/main.c" -o "$probe/main" "$@" > /dev/null 2>&1; }
# shellcheck disable=SC2046  # a list
links $(printf ' -l%s' $(echo "$libraries" | sed 's/:[^ ]*//g')) \
    || for pair in $libraries; do
        links "-l${pair%%:*}" || want "${pair##*:}"
    done

# Ranks: Open MPI; `matrix` also has MPICH.
command -v mpicc.openmpi > /dev/null 2>&1 || want "libopenmpi-dev openmpi-bin"
[ "$1" != matrix ] || command -v mpicc.mpich > /dev/null 2>&1 \
    || want "mpich libmpich-dev"

if [ "$1" = examples ]; then
    rm -rf "$probe"
    install_missing
    exit 0
fi

# What core/hash is compared with.
finds gcc xxhash.h c || want libxxhash-dev

for pair in clang:clang clang++:clang g++:g++ gdb:gdb spin:spin tcc:tcc \
    pkg-config:pkgconf wasm-ld:lld ld.mold:mold node:nodejs; do
    command -v "${pair%%:*}" > /dev/null 2>&1 || want "${pair##*:}"
done
clang -fsanitize=address "$probe/main.c" -o "$probe/main" > /dev/null 2>&1 \
    || want libclang-rt-dev
rm -rf "$probe"

# WebAssembly, which node runs.
[ -d /usr/include/wasm32-wasi ] || want wasi-libc


# The module for Python, which is tried by the distribution's own.
/usr/bin/python3 -c "import numpy" > /dev/null 2>&1 || want python3-numpy

# Matrices of C++. (libboost-dev and libboost-math-dev, which are large, are used
# if they are there.)
[ -f /usr/include/eigen3/Eigen/Core ] || want libeigen3-dev

# OpenCL on the processor, for kernels.
ls /etc/OpenCL/vendors/*.icd > /dev/null 2>&1 || want pocl-opencl-icd
finds gcc CL/cl.h c || want "ocl-icd-opencl-dev opencl-headers"

# Clients of adrev_parallel.h.
for pair in tbb/version.h:libtbb-dev omp.h:libomp-dev; do
    finds g++ "${pair%%:*}" c++ || want "${pair##*:}"
done
install_missing

# The runtime for WebAssembly of the clang that there is now: another one's is of
# no use.
own=$(clang -print-resource-dir 2> /dev/null)
version=$(basename "${own:-14}")
[ -f "$own/lib/wasi/libclang_rt.builtins-wasm32.a" ] \
    || want "libclang-rt-${version%%.*}-dev-wasm32"
install_missing
exit 0
